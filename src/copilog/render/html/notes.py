"""What is shown with a part or a turn beyond its own text, on the page."""

from __future__ import annotations

from copilog.derive.notes import Note, notes_of
from copilog.model import AnyPart
from copilog.render.html.blocks import Labelled, Stage
from copilog.render.html.passages import long_text
from copilog.render.safe import clean_line

FIELD = "note-"  # and its index: the name of a note's text in a link


def notes_shown(part: AnyPart, number: int, position: int, stage: Stage) -> list[Labelled]:
    """The notes of a part."""
    notes = notes_of(part)
    return [
        labelled(note, stage, stage.addresses.text(number, position, f"{FIELD}{index}"))
        for index, note in enumerate(notes)
    ]


def labelled(note: Note, stage: Stage, link: str | None = None) -> Labelled:
    """A note with its label; a long one, or a detail, is folded."""
    body = long_text(note.text, link, is_whole=stage.is_whole)
    return Labelled(label=clean_line(note.label, 80), body=body, is_folded=note.is_detail)
