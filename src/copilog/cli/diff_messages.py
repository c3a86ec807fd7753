"""`copilog diff-messages`"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
from msgspec import UNSET

from copilog.cli.common import Settings, json_option, pass_settings, plural
from copilog.cli.comparison_output import (
    NEW_STYLE,
    OLD_STYLE,
    difference_text,
    existing_file,
    messages_of,
    position_entry,
    print_positions,
    report_repeats,
)
from copilog.cli.json_output import print_json
from copilog.cli.ledger_output import reading_bar
from copilog.errors import UsageError
from copilog.trajectory_compare import Difference, compare_messages, find_conversation, read_back, shown, text_diff
from copilog.trajectory_compare.differences import LONG_TEXT

LINE_STYLES = {"+": NEW_STYLE, "-": OLD_STYLE, "@": "cyan"}


class MessagePair(NamedTuple):
    """Two messages to compare; the index is None if there is none."""

    old_index: int | None
    new_index: int | None
    role: str
    differences: list[Difference]


@click.command(
    "diff-messages",
    epilog="""\b
Examples:
  copilog diff-messages before.jsonl after.jsonl 5f0c2a9e
  copilog diff-messages before.jsonl after.jsonl 5f0c2a9e --idx 3
  copilog diff-messages before.jsonl after.jsonl 5f0c2a9e --idx -1 --json""",
)
@click.argument("old", type=existing_file, metavar="OLD")
@click.argument("new", type=existing_file, metavar="NEW")
@click.argument("wanted", metavar="CID")
@click.option(
    "--idx",
    type=int,
    metavar="N",
    help="Compare only this message, counted from 0; -1 is the last. Default: all that differ.",
)
@json_option
@pass_settings
def command(settings: Settings, old: Path, new: Path, wanted: str, idx: int | None, as_json: bool) -> int:
    """Compare the messages of one conversation in two files, field by field.

    OLD and NEW are files of trajectories, and CID is the conversation's id or its beginning. Long texts are shown as
    a diff. The exit code is 0 if the messages are equal, 1 if they differ, and 2 if there is no such conversation or
    message.
    """
    with reading_bar(settings, [old, new]) as heard:
        mine, theirs = find_conversation(old, new, wanted, heard)
    if mine is None or theirs is None:
        there, lacking = (new, old) if mine is None else (old, new)
        raise UsageError(f"only {shown(there)} has the conversation {wanted!r}; {shown(lacking)} does not")
    sides = [(old, mine, read_back(old, mine)), (new, theirs, read_back(new, theirs))]
    report_repeats(sides)
    pairs = list(_pairs(messages_of(sides[0][2]), messages_of(sides[1][2]), idx))
    if as_json:
        places = {side: position_entry(*each) for side, each in zip(("old", "new"), sides, strict=True)}
        entries = [_entry(pair) for pair in pairs]
        document = {"conversation_id": mine.conversation_id, **places, "messages": entries}
        print_json(document)
    else:
        print_positions(settings, sides)
        for pair in pairs:
            _print_pair(settings, pair)
    differing = sum(bool(pair.differences) for pair in pairs)
    click.echo(f"{differing:,} {plural(differing, 'message')} {'differs' if differing == 1 else 'differ'}", err=True)
    return 1 if differing else 0


def _pairs(old: list[Any], new: list[Any], idx: int | None) -> Iterator[MessagePair]:
    """Yield the messages at one index, or all pairs that differ."""
    if idx is None:
        for index in range(max(len(old), len(new))):
            pair = _pair(old, new, index if index < len(old) else None, index if index < len(new) else None)
            if pair.differences:
                yield pair
        return
    indexes = [(len(side) + idx if idx < 0 else idx) if -len(side) <= idx < len(side) else None for side in (old, new)]
    if indexes == [None, None]:
        raise UsageError(f"there is no message {idx}: OLD has {_numbers(old)}, NEW has {_numbers(new)}")
    yield _pair(old, new, *indexes)


def _numbers(messages: list[Any]) -> str:
    if not messages:
        return "no messages"
    return "one message, 0" if len(messages) == 1 else f"{len(messages):,} messages, 0 to {len(messages) - 1}"


def _pair(old: list[Any], new: list[Any], old_index: int | None, new_index: int | None) -> MessagePair:
    mine = old[old_index] if old_index is not None else UNSET
    theirs = new[new_index] if new_index is not None else UNSET
    roles = [str(side.get("role")) for side in (mine, theirs) if isinstance(side, dict)]
    if mine is UNSET and isinstance(theirs, dict):  # reported field by field, too
        mine = {}
    elif theirs is UNSET and isinstance(mine, dict):
        theirs = {}
    return MessagePair(old_index, new_index, " → ".join(dict.fromkeys(roles)), compare_messages(mine, theirs))


def _entry(pair: MessagePair) -> dict[str, Any]:
    """Return a pair as data; changed texts with their diff."""
    import msgspec

    entries = []
    for difference in pair.differences:
        entry = msgspec.to_builtins(difference)
        diff = text_diff(difference)
        entries.append(entry if diff is None else {**entry, "diff": diff})
    return {"old_index": pair.old_index, "new_index": pair.new_index, "role": pair.role, "differences": entries}


def _print_pair(settings: Settings, pair: MessagePair) -> None:
    from rich.text import Text

    from copilog.view.terminal_text import clean_line

    index = pair.old_index if pair.old_index is not None else pair.new_index
    title = Text.assemble((f"\nmessage {index}", "bold"))
    if pair.new_index is not None and pair.old_index is not None and pair.new_index != pair.old_index:
        title.append(f" of OLD, {pair.new_index} of NEW")
    title.append(f"  {clean_line(pair.role)}", "dim")
    if pair.old_index is None or pair.new_index is None:
        title.append(f"  only in {'NEW' if pair.old_index is None else 'OLD'}", "yellow")
    if not pair.differences:
        title.append("  equal", "dim")
    settings.out.print(title)
    for difference in pair.differences:
        _print_difference(settings, difference)


def _print_difference(settings: Settings, difference: Difference) -> None:
    from rich.text import Text

    from copilog.view.terminal_text import clean, clean_line

    name = Text.assemble((f"  {clean_line(difference.path) or 'the whole message'}", "bold"))
    diff = text_diff(difference)
    if diff is None and not _is_long(difference):
        settings.out.print(name.append("  ").append_text(difference_text(difference)))
        return
    where = {"only-old": "  only in OLD", "only-new": "  only in NEW"}.get(difference.kind, "")
    settings.out.print(name.append(where, "dim"))
    lines = diff.split("\n")[2:-1] if diff is not None else list(_both_sides(difference))
    for line in lines:
        for piece in clean(line).split("\n"):
            settings.out.print(Text(f"    {piece}", LINE_STYLES.get(line[:1], "dim"), tab_size=4))


def _is_long(difference: Difference) -> bool:
    return any(len(_laid_out(value)) > LONG_TEXT for value in (difference.old, difference.new))


def _both_sides(difference: Difference) -> Iterator[str]:
    """Yield the lines of the old value, then those of the new one."""
    for mark, value in (("-", difference.old), ("+", difference.new)):
        if value is not UNSET:
            yield from (mark + line for line in _laid_out(value).split("\n"))


def _laid_out(value: Any) -> str:
    """Return a text as it is, and any other value as JSON with one field to a line."""
    import msgspec

    if value is UNSET:
        return ""
    return value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
