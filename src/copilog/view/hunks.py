"""Edits by ranges of a file that is not at hand, as something that reads like a diff."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from copilog.model import TextEdit


def as_hunks(edits: Iterable[TextEdit]) -> str:
    """Edits whose file is not at hand: where each one begins, and the text that it puts there."""
    lines: list[str] = []
    for edit in _joined(edits):
        first, last = edit.start_line, edit.end_line
        where = f"line {first}" if first == last else f"lines {first}-{last}"
        lines.append(f"@ {where}{'' if edit.text else ' deleted'}")
        if edit.text:
            lines += ["+" + line for line in edit.text.removesuffix("\n").split("\n")]
    return "\n".join(lines)


def _joined(edits: Iterable[TextEdit]) -> Iterator[TextEdit]:
    """The edits, with those made one that continue one another: text arrives line by line."""
    texts: list[str] = []
    begun: TextEdit | None = None
    end = (0, 0)
    for edit in edits:
        start = (edit.start_line, edit.start_column)
        is_insertion = start == (edit.end_line, edit.end_column)
        if begun is None or not is_insertion or start != end:
            if begun is not None:
                yield replace(begun, text="".join(texts))
            begun, texts = edit, []
        texts.append(edit.text)
        end = _end_of(edit)
    if begun is not None:
        yield replace(begun, text="".join(texts))


def _end_of(edit: TextEdit) -> tuple[int, int]:
    """The position after the text that an edit puts in, its column in UTF-16 units."""
    head, line_break, last = edit.text.rpartition("\n")
    width = len(last.encode("utf-16-le", "surrogatepass")) // 2
    if not line_break:
        return edit.start_line, edit.start_column + width
    return edit.start_line + head.count("\n") + 1, width + 1
