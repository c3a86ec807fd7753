"""What is shown with a part or a turn beyond its own text, in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from copilog.derive.notes import Note
from copilog.render.layout import Block, Scene, folded
from copilog.render.safe import clean_line, clean_output
from copilog.render.words import markdown_words

LIMIT = 300  # characters of a note, unless all is to be shown


def note_blocks(notes: Iterable[Note], scene: Scene, level: int) -> Iterator[Block]:
    """A line for each note, without details; all of them, and all of their lines, if all is to be shown."""
    for note in notes:
        label = clean_line(note.label, 80)
        if scene.options.full:
            yield Block(folded(f"{label}: {clean_output(note.text)}", None, "dim"), level, hangs=True)
        elif not note.is_detail:
            text = clean_line(markdown_words(note.text), LIMIT)
            yield Block(folded(f"{label}: {text}", None, "dim"), level, hangs=True)
