"""Decide whether two documents are one thing, and unite them. The order of the two makes no difference to the text."""

from __future__ import annotations

import re
from typing import Any

from copilog.model import SECTIONS, AnyDocument, ArtifactDocument, CheckpointDocument, ResearchDocument

_SECTION = re.compile(r"^<([a-z][a-z_]{0,40})>(.*?)</\1>", re.MULTILINE | re.DOTALL)
TITLE = "checkpoint_title"  # what a log has as a section, and files and stores beside the text
# Fields that the same document may have differently in two files; a copy of a checkpoint may be .md or .json.
_FREE = frozenset({"text", "title", "turn", "created_at", "updated_at", "traces", "extra", "sections", "items"})
_FREE_OF_SUMMARIES = frozenset({"path"})
_SUMMARIES = ("checkpoint", "summary")
_DISTINGUISHED_BY_TITLE = ("helper", "table", "skill")
_DISTINGUISHED_BY_TURN = ("todos", "choice", "prediction")


def sections_in(text: str) -> dict[str, str]:
    """Return the sections of a checkpoint's text by name, in their order; empty if it has none of the usual ones."""
    found = _tagged(text)
    found.pop(TITLE, None)
    return found if any(name in SECTIONS for name in found) else {}


def title_in(text: str) -> str | None:
    """Return the title that a log has within a checkpoint's text."""
    return _tagged(text).get(TITLE) or None


def _tagged(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for match in _SECTION.finditer(text):
        name, section = match[1], match[2].strip()
        found[name] = f"{found[name]}\n\n{section}" if name in found else section
    return found


def add_document(documents: list[AnyDocument], added: AnyDocument) -> int:
    """Add a document to a list, united with the one that is the same if there is one; return its position."""
    for position, known in enumerate(documents):
        if (made := united(known, added)) is not None:
            documents[position] = made
            return position
    documents.append(added)
    return len(documents) - 1


def united(one: AnyDocument, other: AnyDocument) -> AnyDocument | None:
    """Return a document with what both have, or None if they are two: the first one decides where both are equal."""
    if type(one) is not type(other):
        return None
    if one.path != other.path and None not in (one.path, other.path) and one.kind not in _SUMMARIES:
        return None  # as all other fields, but most documents differ in this one
    if one.kind != other.kind or not _agree(one, other):
        return None
    first, second = (one, other) if _fullness(one) >= _fullness(other) else (other, one)
    values: dict[str, Any] = {}
    for name in first.__struct_fields__:
        mine, theirs = getattr(first, name), getattr(second, name)
        values[name] = mine if mine not in (None, "", [], {}) else theirs
    values["turn"] = one.turn if one.turn is not None else other.turn
    values["created_at"] = min(filter(None, (one.created_at, other.created_at)), default=None)
    values["updated_at"] = max(filter(None, (one.updated_at, other.updated_at)), default=None)
    values["traces"] = sorted({*one.traces, *other.traces})
    values["extra"] = {**(other.extra or {}), **(one.extra or {})} or None
    return type(first)(**values)


def is_same_text(one: AnyDocument, other: AnyDocument) -> bool:
    """Return whether two documents have the same text, whatever their blanks."""
    return one.text == other.text or _plain(one.text) == _plain(other.text)


def _agree(one: AnyDocument, other: AnyDocument) -> bool:
    free = _FREE | _FREE_OF_SUMMARIES if one.kind in _SUMMARIES else _FREE
    fields = [name for name in one.__struct_fields__ if name not in free]
    if one.kind in _DISTINGUISHED_BY_TITLE:
        fields.append("title")
    if one.kind in _DISTINGUISHED_BY_TURN:
        fields.append("turn")
    for name in fields:
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine != theirs and mine is not None and theirs is not None:
            return False
    return _has_same_text(one, other)


def _has_same_text(one: AnyDocument, other: AnyDocument) -> bool:
    if one.text == other.text:
        return True
    if isinstance(one, ArtifactDocument | ResearchDocument) and not (one.text and other.text):
        return one.path == other.path  # one store has its text, the other one only its name
    if isinstance(one, CheckpointDocument) and isinstance(other, CheckpointDocument):
        mine, theirs = ({name: _plain(text) for name, text in each.sections.items()} for each in (one, other))
        if mine and mine == theirs:
            return True
    if one.kind not in _SUMMARIES:
        return False
    shorter, longer = sorted((_plain(one.text), _plain(other.text)), key=len)
    return bool(shorter) and shorter in longer  # a file leaves out the title that the log has


def _fullness(document: AnyDocument) -> tuple[int, str, str]:
    return len(document.text), document.text, document.path or ""


def _plain(text: str) -> str:
    return "".join(text.split())
