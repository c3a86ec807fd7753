"""Edits by ranges, whose file is not available, as text similar to a diff."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from copilog.model import TextEdit


def as_hunks(edits: Iterable[TextEdit]) -> str:
    """Return edits whose file is not available: the position of each, and its new text."""
    lines: list[str] = []
    for edit in _joined(edits):
        first, last = edit.start_line, edit.end_line
        where = f"line {first}" if first == last else f"lines {first}-{last}"
        lines.append(f"@ {where}{'' if edit.text else ' deleted'}")
        if edit.text:
            lines += ["+" + line for line in edit.text.removesuffix("\n").split("\n")]
    return "\n".join(lines)


def _joined(edits: Iterable[TextEdit]) -> Iterator[TextEdit]:
    """Yield the edits, with consecutive ones joined: text arrives line by line."""
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
    """Return the position after the text that an edit inserts; its column counts UTF-16 units."""
    head, line_break, last = edit.text.rpartition("\n")
    width = len(last.encode("utf-16-le", "surrogatepass")) // 2
    if not line_break:
        return edit.start_line, edit.start_column + width
    return edit.start_line + head.count("\n") + 1, width + 1
