"""JSON for standard output, which may be a terminal."""

from __future__ import annotations

import re
from typing import Any

import click

# JSON escapes what terminals obeyed first, but not what they obey as well: C1 codes, DEL, line separators, marks that
# turn the direction of what follows. They stand in strings alone, where an escape means the same.
_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def json_text(value: Any, *, is_compact: bool = False) -> str:
    """A value as JSON without anything that a terminal obeys; whoever reads it gets the value as it is."""
    import msgspec

    try:
        data = msgspec.json.encode(value)
        text = (data if is_compact else msgspec.json.format(data, indent=2)).decode()
    except UnicodeEncodeError:  # the name of a file that is no UTF-8, which only escapes can express
        import json

        text = json.dumps(msgspec.to_builtins(value), indent=None if is_compact else 2)
    return text if text.isascii() and "\x7f" not in text else _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def print_json(value: Any, *, is_compact: bool = False, err: bool = False) -> None:
    """Print a value as a document of its own, or as a line."""
    click.echo(json_text(value, is_compact=is_compact), err=err)
