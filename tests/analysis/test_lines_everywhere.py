"""Lines added and removed are the same on every surface, for edits of every kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from copilog.analysis.lineage.blame import blame
from copilog.analysis.totals import totals
from copilog.analysis.work_outcomes import work
from copilog.derive.line_counts import Lines, counted_edits, total_lines
from copilog.exports.markdown import markdown_page
from copilog.jsonio import encode
from copilog.mcp.records import conversations_of_file
from copilog.model import AnyPart, Conversation, FileChange, FileEdit, ToolCall, ToolResult
from copilog.store.selection import Selection
from copilog.summaries import of_conversation
from copilog.view.conversation_info import facts_of
from copilog.writers.mcp import pieces_of
from tests.analysis.made_up_edits import Shelf, conversation_with, edit
from tests.writers.html_builders import shown as html_of
from tests.writers.text_builders import shown as text_of

DIFF = "--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n same\n-old\n+new\n+newer\n"


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path)
    yield made
    made.close()


def call(name: str, call_id: str, status: str = "complete", **arguments: object) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=encode(arguments), status=status)  # type: ignore[arg-type]


def all_kinds(folder: Path) -> Conversation:
    """Return a conversation with every kind of edit; each file is named by its kind."""
    first: list[AnyPart] = [
        edit(folder / "diff.py", "a\n", "a\nb\n"),  # +1 -0
        FileEdit(path=str(folder / "uncounted.py"), diff=DIFF),  # +2 -1, recorded only in the diff
        FileEdit(path=str(folder / "unknown.py")),
        call("create_file", "c1", filePath=str(folder / "argued.py"), content="1\n2\n3\n4\n"),  # +4 -0
        call("replace_string_in_file", "c2", filePath=str(folder / "argued.py"), oldString="1", newString="one"),  # 1 1
        call("create_file", "c3", "failed", filePath=str(folder / "failed.py"), content="1\n2\n"),
        call("create_file", "c4", filePath=str(folder / "told.py"), content="1\n2\n"),
        edit(folder / "told.py", None, "1\n2\n", call_id="c4"),  # +2 -0, recorded in its arguments as well
        call(
            "replace_string_in_file", "c5", "failed", filePath=str(folder / "not_made.py"), oldString="1", newString=""
        ),
        edit(folder / "not_made.py", "1\n", "", call_id="c5"),
        call("insert_edit_into_file", "c6", filePath=str(folder / "rough.py"), code="# ...\nx = 1\n"),
        call("edit_notebook_file", "c10", filePath=str(folder / "cells.ipynb"), editType="insert", newCode="x = 1"),
        call("edit_notebook_file", "c11", filePath=str(folder / "cells.ipynb"), editType="delete", cellId="#1"),
        call("edit_notebook_file", "c12", "failed", filePath=str(folder / "failed.ipynb"), editType="insert"),
        call("str_replace", "c8", path=str(folder / "vague.py"), old_str="1", new_str="1\n2"),  # +1 -0
        FileEdit(path=str(folder / "vague.py"), call_id="c8"),
        call("read_file", "c7", filePath=str(folder / "argued.py"), content="1\n"),
        ToolResult(call_id="c7", text="1\n2"),
    ]
    replacements = [
        {"filePath": str(folder / name), "oldString": "1", "newString": "2\n3"} for name in ("partly.py", "no_match.py")
    ]
    failed = f"Edit at index 1: String replacement failed: {folder / 'no_match.py'} has no such text."
    first += [
        call("multi_replace_string_in_file", "c9", replacements=replacements),
        ToolResult(
            call_id="c9",
            text=f"{failed}\nThe following files were successfully edited:\n{folder / 'partly.py'}",
        ),
    ]
    second: list[AnyPart] = [
        edit(folder / "history.py", "a\n", "b\n"),
        call("create_file", "d1", filePath=str(folder / "both.py"), content="1\n"),
    ]
    changes = [
        FileChange(
            uri=f"file://{folder / name}", path=str(folder / name), turn=1, request_id="all-1", added=a, removed=r
        )
        for name, a, r in (("history.py", 10, 3), ("both.py", 7, 0), ("alone.py", 5, 5))
    ]
    return conversation_with("all", first, second, file_changes=changes)


LINES: dict[str, Lines] = {
    "diff.py": (1, 0), "uncounted.py": (2, 1), "unknown.py": (None, None), "argued.py": (5, 1), "told.py": (2, 0),
    "rough.py": (None, None), "vague.py": (1, 0), "history.py": (10, 3), "both.py": (7, 0), "alone.py": (5, 5),
    "partly.py": (None, None), "cells.ipynb": (None, None),
}  # fmt: skip
NO_EDITS = ("failed.py", "not_made.py", "no_match.py", "failed.ipynb")
ADDED, REMOVED = 33, 10


def test_sums_are_the_same_on_every_surface(shelf: Shelf, tmp_path: Path) -> None:
    shelf.put(all_kinds(tmp_path))
    stored = shelf.archive.get("vscode:all")
    figures = work(shelf.choose(), limit=None)
    rows = shelf.archive.connection.execute(
        "SELECT count(*), sum(added), sum(removed) FROM file_edits WHERE is_counted AND superseded IS NULL"
    ).fetchone()

    assert total_lines(counted_edits(stored)) == (ADDED, REMOVED)
    assert (figures.added, figures.removed, figures.files) == (ADDED, REMOVED, len(LINES))
    assert rows == (figures.edits, ADDED, REMOVED)
    words = f"{len(LINES)} files edited +{ADDED} -{REMOVED}"
    assert words in " ".join(text_of(stored).split())
    assert words in dict(facts_of(stored))["Content"]
    [listed] = shelf.archive.list()
    assert listed.edits == of_conversation(stored).edits == totals(shelf.choose()).edits == figures.edits == 14


def test_lines_of_each_file_are_the_same_for_figures_mcp_and_blame(shelf: Shelf, tmp_path: Path) -> None:
    shelf.put(all_kinds(tmp_path))
    figures = {Path(row.path).name: (row.added, row.removed) for row in work(shelf.choose(), limit=None).top_files}
    asked: dict[str, Lines] = {}
    blamed: dict[str, Lines] = {}
    for name in (*LINES, *NO_EDITS):
        (tmp_path / name).write_text("line\n")
        for found in conversations_of_file(shelf.archive, Selection(), name, 5, 0).conversations:
            asked[name] = found.added, found.removed
        for touch in blame(shelf.choose(), tmp_path / name).touches:
            if touch.edits:
                blamed[name] = touch.added, touch.removed

    assert figures == LINES
    assert asked == LINES
    assert blamed == LINES


@pytest.mark.parametrize("surface", ["terminal", "HTML", "Markdown", "MCP"])
def test_edit_recorded_only_by_arguments_shows_its_lines(shelf: Shelf, tmp_path: Path, surface: str) -> None:
    shelf.put(
        conversation_with("one", [call("create_file", "c1", filePath="/x/a.py", content="1\n2\n3\n")]),
        conversation_with("two", [call("insert_edit_into_file", "c1", filePath="/x/a.py", code="1\n2\n3\n")]),
        conversation_with("three", [call("create_file", "c1", "failed", filePath="/x/a.py", content="1\n2\n3\n")]),
    )
    writers: dict[str, Callable[[Conversation], str]] = {
        "terminal": text_of,
        "HTML": lambda made: re.sub("<[^>]*>", "", html_of(made)),
        "Markdown": markdown_page,
        "MCP": lambda made: "\n".join(piece.written(None) for piece in pieces_of(made)),
    }

    stored = [shelf.archive.get(f"vscode:{name}") for name in ("one", "two", "three")]
    pages = [" ".join(writers[surface](made).split()) for made in stored]

    assert [bool(re.search(r"\+3 [-−]0", page)) for page in pages] == [True, False, False]


# --- calls of which some edits failed ---------------------------------------------------------------------------


def partly_failed(folder: Path, name: str, *edits: FileEdit) -> Conversation:
    """Return a conversation with one call, whose edits of `form.tsx` were applied and those of `form.ts` were not."""
    texts = [("form.ts", "missing", "one\ntwo\nthree"), ("form.tsx", "uno", "one"), ("form.tsx", "gone", "1\n2\n3")]
    replacements = [{"filePath": str(folder / to), "oldString": a, "newString": b} for to, a, b in texts]
    said = f"Edit at index 0: String replacement failed.\nThe following files were successfully edited:\n{folder}/"
    parts: list[AnyPart] = [
        call("multi_replace_string_in_file", "c1", replacements=replacements),
        ToolResult(call_id="c1", text=f"{said}form.tsx"),
    ]
    return conversation_with(name, [*parts, *edits])


@pytest.mark.parametrize("is_in_answer", [False, True])
def test_file_counts_only_under_its_whole_name(shelf: Shelf, tmp_path: Path, is_in_answer: bool) -> None:
    edits = [FileEdit(path=str(tmp_path / "form.tsx"), call_id="c1")] if is_in_answer else []
    shelf.put(partly_failed(tmp_path, "partly", *edits))

    counted = counted_edits(shelf.archive.get("vscode:partly"))
    assert [(edit.path, edit.added, edit.removed) for edit in counted] == [(str(tmp_path / "form.tsx"), None, None)]
    assert [Path(row.path).name for row in work(shelf.choose(), limit=None).top_files] == ["form.tsx"]


def test_arguments_of_a_call_that_failed_in_part_give_no_lines(shelf: Shelf, tmp_path: Path) -> None:
    """The diff was made of all replacements of the file in the arguments, also of those that failed."""
    whole = edit(tmp_path / "form.tsx", "uno\ngone\n", "one\n1\n2\n3\n", call_id="c1")
    shelf.put(partly_failed(tmp_path, "partly", whole))
    (tmp_path / "form.tsx").write_text("one\n1\n2\n3\n")

    stored = shelf.archive.get("vscode:partly")
    assert total_lines(counted_edits(stored)) == (None, None)
    assert work(shelf.choose(), limit=None).added in (None, 0)
    [found] = [touch for touch in blame(shelf.choose(), tmp_path / "form.tsx").touches if touch.edits]
    assert (found.added, found.removed) == (None, None)
