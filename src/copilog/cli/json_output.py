"""JSON for standard output, which may be a terminal."""

from __future__ import annotations

from typing import Any

import click

from copilog.exports.json_text import document_pieces, json_text


def print_json(value: Any, *, is_compact: bool = False, err: bool = False) -> None:
    """Print a value as an indented document, or as one line."""
    if is_compact:
        click.echo(json_text(value, is_compact=True), err=err)
        return
    for piece in document_pieces(value):
        click.echo(piece, err=err, nl=False)
    click.echo(err=err)
