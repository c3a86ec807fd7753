"""Writes docs/cli.md from the commands' own help: `make docs`. A test checks that it is current."""

from __future__ import annotations

from pathlib import Path

import click

from copilog.cli import COMMANDS, cli

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
INTRODUCTION = """\
# The command line

Written by `make docs` from the commands' own help.

Data is printed to standard output, messages to standard error. `--json` prints JSON. Exit codes: 0 done; 1 a failed
run, a failed check, or bad records with `--strict`; 2 a usage error or a wrong path; 130 interrupted; 143 ended by the
system.
"""


def reference() -> str:
    """The whole page."""
    top = click.Context(cli, info_name="copilog", help_option_names=["-h", "--help"], terminal_width=100)
    sections = [INTRODUCTION, _section("copilog", cli.get_help(top))]
    for name in COMMANDS:
        command = cli.get_command(top, name)
        assert command is not None
        sections += _sections_of(command, name, top)
    return "\n".join(sections)


def _sections_of(command: click.Command, name: str, parent: click.Context) -> list[str]:
    """The section of a command, and those of its own commands."""
    context = click.Context(command, info_name=name, parent=parent, terminal_width=100)
    sections = [_section(context.command_path, command.get_help(context))]
    if isinstance(command, click.Group):
        for inner_name in command.list_commands(context):
            inner = command.get_command(context, inner_name)
            assert inner is not None
            sections += _sections_of(inner, inner_name, context)
    return sections


def _section(title: str, text: str) -> str:
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return f"## {title}\n\n```text\n{lines}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(reference())
