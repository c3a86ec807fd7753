"""What differs between two trajectories: section by section, and field by field down to the leaves.

A field that is null and one that is absent are equal, and the order of an object's keys does not count: programs
write them differently. Everything else counts, the type of a number too.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from copilog.errors import BadRecord
from copilog.jsonio import decode_strictly
from copilog.textdiff import unified_diff

Kind = Literal["changed", "only-old", "only-new"]

CONTEXT = "context"
SECTIONS = ("messages", "metadata", "mode_distribution", "provenance", "other", CONTEXT)
DIGEST_BYTES = 16
LONG_TEXT = 72  # longer texts are shown as a diff
LEVELS = 24  # deeper values are compared as one

_HOME = {"messages": "messages", "metadata": "metadata", "mode_distribution": "mode_distribution", CONTEXT: CONTEXT}
_PROVENANCE = ("telemetry_type", "file_path")
_in_order = msgspec.json.Encoder(order="sorted").encode


class Difference(msgspec.Struct):
    """One difference between two trajectories; the side that lacks the field has no value."""

    path: str
    kind: Kind
    old: Any = msgspec.UNSET
    new: Any = msgspec.UNSET


def sections_of(trajectory: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the top-level fields of a trajectory, without nulls, by section.

    The origin of merged fields is provenance too: it changes with the names of the input files.
    """
    sections: dict[str, dict[str, Any]] = {name: {} for name in SECTIONS}
    for key, value in trajectory.items():
        value = without_nulls(value)
        if value is None or key == "conversation_id":
            continue
        if key == "metadata" and isinstance(value, dict) and "merge_log" in value:
            sections["provenance"]["metadata.merge_log"] = value.pop("merge_log")
        section = "provenance" if key in _PROVENANCE else _HOME.get(key, "other")
        sections[section][key] = value
    return sections


def without_nulls(value: Any) -> Any:
    """Return the value without the null fields of its objects. Raise BadRecord if it is nested too deeply."""
    try:
        return _without_nulls(value)
    except RecursionError:
        raise BadRecord("nested too deeply to be compared") from None


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) if isinstance(item, (dict, list)) else item for item in value]
    return value


def digests_of(trajectory: dict[str, Any]) -> bytes:
    """Return the digests of all sections, one after the other: equal if the sections are."""
    sections = sections_of(trajectory)
    return b"".join(blake2b(_in_order(sections[name]), digest_size=DIGEST_BYTES).digest() for name in SECTIONS)


def different_sections(old: bytes, new: bytes) -> list[str]:
    """Return the names of the sections whose digests differ."""
    starts = range(0, len(SECTIONS) * DIGEST_BYTES, DIGEST_BYTES)
    pairs = zip(SECTIONS, starts, strict=True)
    return [name for name, at in pairs if old[at : at + DIGEST_BYTES] != new[at : at + DIGEST_BYTES]]


def compare_trajectories(old: dict[str, Any], new: dict[str, Any]) -> dict[str, list[Difference]]:
    """Return all differences of two trajectories, by section, without equal sections."""
    mine, theirs = sections_of(old), sections_of(new)
    found = {name: list(differences(mine[name], theirs[name])) for name in SECTIONS}
    return {name: items for name, items in found.items() if items}


def compare_messages(old: Any, new: Any) -> list[Difference]:
    """Return the differences of two messages, field by field; UNSET is a missing message."""
    return list(differences(without_nulls(old), without_nulls(new)))


def differences(old: Any, new: Any, path: str = "", levels: int = LEVELS) -> Iterator[Difference]:
    """Yield the leaves in which two values differ. Lists are compared item by item, by index."""
    if old is msgspec.UNSET or new is msgspec.UNSET:
        if old is not new:
            yield Difference(path, "only-new" if old is msgspec.UNSET else "only-old", old, new)
    elif isinstance(old, dict) and isinstance(new, dict) and levels:
        for key in [*old, *(key for key in new if key not in old)]:
            inner = f"{path}.{key}" if path else key
            yield from differences(old.get(key, msgspec.UNSET), new.get(key, msgspec.UNSET), inner, levels - 1)
    elif isinstance(old, list) and isinstance(new, list) and levels:
        for index in range(max(len(old), len(new))):
            mine, theirs = (side[index] if index < len(side) else msgspec.UNSET for side in (old, new))
            yield from differences(mine, theirs, f"{path}[{index}]", levels - 1)
    elif _in_order(old) != _in_order(new):
        yield Difference(path, "changed", old, new)


def text_diff(difference: Difference) -> str | None:
    """Return a unified diff of a text that changed, if one is long or has several lines; None for anything else.

    JSON inside a text, as the arguments of a tool call, is laid out first, unless only its spacing changed.
    """
    old, new = difference.old, difference.new
    if not isinstance(old, str) or not isinstance(new, str):
        return None
    if max(len(old), len(new)) <= LONG_TEXT and "\n" not in old + new:
        return None
    laid_out = _laid_out(old), _laid_out(new)
    if all(laid_out) and laid_out[0] != laid_out[1]:
        old, new = laid_out
    return unified_diff(old, new, difference.path)


def _laid_out(text: str) -> str:
    """Return a JSON object or list with one field to a line; empty for any other text."""
    if text[:1] not in ("{", "["):
        return ""
    try:
        return msgspec.json.format(msgspec.json.encode(decode_strictly(text)), indent=2).decode() + "\n"
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return ""
