"""File edits: which file, how many lines, and the diff."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.text import Text

from copilog.derive.line_counts import Lines, changed_lines, signed_lines
from copilog.derive.outcomes import is_made
from copilog.derive.unapplied import shown_diff
from copilog.model import FileChange, FileEdit, TextEdit
from copilog.render.layout import TAB_COLUMNS, Block, Scene, folded
from copilog.render.safe import clean, json_text
from copilog.render.words import counted, path_words

DIFF_LINES = 20
LINE_STYLES = {"+": "green", "-": "red", "@": "cyan"}
PATCH_STYLES = {**LINE_STYLES, "*": "bold"}
UNMADE = {"failed": "failed", "denied": "was denied", "skipped": "was skipped", "cancelled": "was cancelled"}
VERBS = {"edit": "edited", "create": "created", "delete": "deleted", "rename": "renamed"}


def edit_blocks(edit: FileEdit, scene: Scene, level: int) -> Iterator[Block]:
    """One edit of the answer."""
    ranges = [change for batch in edit.batches for change in batch]
    line = change_line(edit.action, edit.path or edit.uri, edit.new_uri, changed_lines(edit), scene)
    if not is_made(edit):
        line.append(f"  not made: the call {UNMADE.get(edit.outcome or '', edit.outcome)}", "yellow")
    if edit.diff is None and ranges:
        line.append(f"  {counted(len(ranges), 'text edit')}", "dim")
    if edit.cells:
        line.append(f"  {counted(len(edit.cells), 'notebook operation')}", "dim")
    if edit.is_done is False:
        line.append("  not finished", "yellow")
    yield Block(line, level, hangs=True)
    if edit.diff:
        yield Block(diff_lines(edit.diff, scene), level + 2)
    elif ranges:
        yield Block(diff_lines(as_hunks(ranges), scene), level + 2)
    if edit.cells and scene.options.full:
        yield Block(folded("\n".join(json_text(cell) for cell in edit.cells), None, "dim"), level + 2)


def change_blocks(change: FileChange, scene: Scene, level: int, *, with_diff: bool) -> Iterator[Block]:
    """One change of the editing history."""
    old = change.old_uri if change.action == "rename" else None
    path, new = (old, change.path or change.uri) if old else (change.path or change.uri, None)
    line = change_line(change.action, path, new, changed_lines(change), scene)
    if change.is_undone:
        line.append("  undone", "yellow")
    yield Block(line, level, hangs=True)
    if with_diff and (diff := shown_diff(change)):
        yield Block(diff_lines(diff, scene), level + 2)


def change_line(action: str, path: str | None, new: str | None, lines: Lines, scene: Scene) -> Text:
    """`✎ edited src/app.py  +12 -3`"""
    line = Text.assemble(("✎ ", "cyan"), (VERBS.get(action, action), "cyan"), " ")
    line.append(path_words(path, scene.folder) if path else "an unknown file", "bold")
    if new:
        line.append(f" to {path_words(new, scene.folder)}")
    append_lines(line, lines)
    return line


def append_lines(line: Text, lines: Lines) -> None:
    """Add `  +12 -3`; what is not known is left out."""
    for number, words in enumerate(signed_lines(lines)):
        line.append(" " if number else "  ").append(words, "green" if words.startswith("+") else "red")


def diff_lines(diff: str, scene: Scene, styles: dict[str, str] = LINE_STYLES) -> RenderableType:
    """A diff in colours, without the names of its files, and without its end unless all is to be shown."""
    lines = clean(diff).strip("\n").split("\n")
    first = next((index for index, line in enumerate(lines) if line.startswith("@@")), 0)
    if lines[0].startswith(("--- ", "diff --git ")):
        lines = lines[first:]
    limit = None if scene.options.full else DIFF_LINES
    shown = folded("\n".join(lines), limit)
    pieces: list[RenderableType] = []
    for style, group in groupby(shown.plain.split("\n"), key=lambda line: _style_of(line, styles)):
        pieces.append(Text("\n".join(group), style, tab_size=TAB_COLUMNS))
    return Group(*pieces)


def _style_of(line: str, styles: dict[str, str]) -> str:
    return styles.get(line[:1], "dim")


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
