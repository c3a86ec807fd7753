"""The files that the most conversations worked with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from copilog.analysis.work_outcomes import work
from copilog.model import AnyPart, ToolCall, ToolResult
from tests.analysis.made_up_edits import Shelf, conversation_with


def called(name: str, path: str, *, error: bool = False, **arguments: Any) -> list[AnyPart]:
    text = json.dumps({"path": path, **arguments})
    return [
        ToolCall(id=f"{name}-{path}", name=name, arguments=text, status="complete"),
        ToolResult(call_id=f"{name}-{path}", text="done", is_error=error),
    ]


def test_files_are_ranked_by_conversations_then_by_changes(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).put(
        conversation_with("one", called("view", "/lamp.py"), called("view", "/lens.py")),
        conversation_with("two", called("view", "/lamp.py"), hours=9),
        conversation_with("three", called("create", "/new.py", file_text="x\n"), hours=12),
        conversation_with(
            "four", called("grep", "/src", pattern="x"), called("view", "/gone.py", error=True), hours=20
        ),
    )

    rows = work(shelf.choose()).important_files

    assert [(row.path, row.conversations, row.turns, row.touches, row.changes) for row in rows] == [
        ("/lamp.py", 2, 2, 2, 0),
        ("/new.py", 1, 1, 1, 1),
        ("/lens.py", 1, 1, 1, 0),
    ]
    shelf.close()


def test_a_path_on_a_windows_drive_is_one_file_however_it_is_spelled(tmp_path: Path) -> None:
    spellings = ("c:\\quay\\src\\lamp.py", "C:\\quay\\src\\lamp.py", "c:/quay/src/lamp.py")
    made = [
        conversation_with(str(number), called("view", path), called("create", path, file_text="x\n"))
        for number, path in enumerate(spellings)
    ]
    shelf = Shelf(tmp_path).put(*made)

    found = work(shelf.choose())

    assert [(row.path, row.conversations) for row in found.important_files] == [("c:\\quay\\src\\lamp.py", 3)]
    assert [(row.path, row.edits) for row in found.top_files] == [("c:\\quay\\src\\lamp.py", 3)]
    assert found.files == 1
    shelf.close()
