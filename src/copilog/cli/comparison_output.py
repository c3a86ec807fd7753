"""What the commands that compare trajectories share: positions and values."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from copilog.cli.common import Settings, plural
from copilog.cli.ledger_output import safe_line
from copilog.trajectory_compare import Difference, LinePosition, shown, text_diff

if TYPE_CHECKING:
    from rich.text import Text

SHORT = 60  # characters of a value
OLD_STYLE, NEW_STYLE = "red", "green"

existing_file = click.Path(exists=True, dir_okay=False, path_type=Path)

Side = tuple[Path, LinePosition | None, dict[str, Any] | None]


def position_entry(
    path: Path, sighting: LinePosition | None, trajectory: dict[str, Any] | None
) -> dict[str, Any] | None:
    """Return the position of a conversation as data; None if the file does not have it."""
    if sighting is None or trajectory is None:
        return None
    return {
        "path": shown(path),
        "line": sighting.number,
        "offset": sighting.offset,
        "repeats": sighting.repeats,
        "messages": len(messages_of(trajectory)),
    }


def messages_of(trajectory: dict[str, Any]) -> list[Any]:
    messages = trajectory.get("messages")
    return messages if isinstance(messages, list) else []


def report_repeats(sides: Iterable[Side]) -> None:
    for path, sighting, _ in sides:
        if sighting is not None and sighting.repeats:
            more = f"{sighting.repeats:,} more {plural(sighting.repeats, 'line')}"
            click.echo(f"{safe_line(shown(path))}: {more} with this id; line {sighting.number:,} is compared", err=True)


def print_positions(settings: Settings, sides: Iterable[Side]) -> None:
    """Print the id, and its position in each file."""
    from rich.text import Text

    sides = list(sides)
    name = next(sighting.conversation_id for _, sighting, _ in sides if sighting is not None)
    settings.out.print(Text(safe_line(name), "bold cyan"))
    for label, style, (path, sighting, trajectory) in zip(("OLD", "NEW"), (OLD_STYLE, NEW_STYLE), sides, strict=True):
        line = Text.assemble("  ", (label, style), f"  {safe_line(shown(path))}")
        if sighting is None or trajectory is None:
            line.append("  does not have it", "yellow")
        else:
            number = len(messages_of(trajectory))
            line.append(f":{sighting.number} (byte {sighting.offset})  {number:,} {plural(number, 'message')}")
        settings.out.print(line)


def difference_text(difference: Difference) -> Text:
    """Return in a few words how a field changed."""
    from rich.text import Text

    from copilog.textdiff import count_changes

    if difference.kind == "only-old":
        return Text.assemble(("only in OLD  ", "dim"), (short_value(difference.old), OLD_STYLE))
    if difference.kind == "only-new":
        return Text.assemble(("only in NEW  ", "dim"), (short_value(difference.new), NEW_STYLE))
    diff = text_diff(difference)
    if diff is not None:
        added, removed = count_changes(diff)
        return Text.assemble("lines ", (f"+{added:,}", NEW_STYLE), (f" -{removed:,}", OLD_STYLE))
    return Text.assemble((short_value(difference.old), OLD_STYLE), " → ", (short_value(difference.new), NEW_STYLE))


def short_value(value: Any) -> str:
    """Return the beginning of a value, as JSON."""
    from copilog.view.terminal_text import clean_line, json_text

    return clean_line(json_text(value), SHORT)
