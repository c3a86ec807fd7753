"""The command line's reference is the commands' own help, and each command has an example."""

from __future__ import annotations

import click

from copilog.cli import COMMANDS, cli
from tests.cli_reference import PAGE, reference


def test_the_reference_is_current() -> None:
    assert PAGE.read_text() == reference(), "run `make docs`"


def test_each_command_has_help_and_an_example() -> None:
    for name, (_, summary) in COMMANDS.items():
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert command.help, name
        assert summary.endswith("."), name
        assert command.epilog, name
        assert "copilog" in command.epilog, name
