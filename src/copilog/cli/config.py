"""`copilog config`"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import click

from copilog.cli.common import Settings, json_option, pass_settings
from copilog.cli.json_output import print_json
from copilog.cli.settings import COLORS, EXAMPLE, Config
from copilog.errors import UsageError
from copilog.store.config_file import config_path


@click.command(
    "config",
    epilog="""\b
Examples:
  copilog config
  copilog config --example > ~/.config/copilog/config.toml""",
)
@click.option("--example", is_flag=True, help="Print an example of a config file.")
@json_option
@pass_settings
def command(settings: Settings, example: bool, as_json: bool) -> int:
    """Show the settings in use, and where each comes from.

    The settings come from a TOML file, whose path is printed. The environment variable COPILOG_CONFIG may name
    another file.
    """
    if example:
        click.echo(EXAMPLE, nl=False)
        return 0
    if settings.config_problem:
        raise UsageError(settings.config_problem)
    path, why = config_path()
    rows = [
        (setting.name, _plain(setting.name, getattr(settings.config, setting.name).value), origin)
        for setting in fields(Config)
        for origin in [getattr(settings.config, setting.name).origin]
    ]
    if as_json:
        document = {
            "file": {"path": str(path), "exists": path.is_file(), "why": why},
            "settings": {name: {"value": value, "origin": origin} for name, value, origin in rows},
        }
        print_json(document)
        return 0
    click.echo(f"config file  {path}  ({why}{'' if path.is_file() else ', does not exist'})")
    for name, value, origin in rows:
        shown = ", ".join(value) or "none" if isinstance(value, list | dict) else str(value).lower()
        click.echo(f"{name:<12} {shown}  ({origin})")
    return 0


def _plain(name: str, value: Any) -> Any:
    if name == "roots":
        return [str(path) for path in value]
    if name == "color":
        return next(word for word, meaning in COLORS.items() if meaning is value)
    return value
