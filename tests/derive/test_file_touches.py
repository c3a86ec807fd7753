"""Every file that tools and attachments touched: tool, turn, lines, outcome."""

from __future__ import annotations

import json
from typing import Any

import pytest

from copilog.derive import conclude
from copilog.derive.file_touches import file_touches
from copilog.model import (
    AnyPart,
    Attachment,
    FileChange,
    FileEdit,
    Place,
    Range,
    ToolCall,
    ToolResult,
)
from copilog.view.conversation_info import panel_of
from tests.analysis.made_up_edits import conversation_with

LAMP = "/home/ana/lamp.py"


def called(name: str, *, error: bool = False, **arguments: Any) -> list[AnyPart]:
    return [
        ToolCall(id=f"{name}-1", name=name, arguments=json.dumps(arguments), status="complete"),
        ToolResult(call_id=f"{name}-1", text="done", is_error=error),
    ]


def touched(*turns: list[AnyPart], **more: Any) -> list[tuple[object, ...]]:
    conversation = conversation_with("lighthouse", *turns, **more)
    conclude(conversation)
    return [
        (touch.turn, touch.action, touch.path, touch.first_line, touch.last_line, touch.outcome)
        for touch in file_touches(conversation)
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "action", "lines"),
    [
        ("read_file", {"filePath": LAMP, "startLine": 3, "endLine": 9}, "read", (3, 9)),
        ("read_file", {"filePath": LAMP, "offset": 5, "limit": 10}, "read", (5, 14)),
        ("view", {"path": LAMP, "view_range": [2, 4]}, "viewed", (2, 4)),
        ("list_dir", {"path": LAMP}, "viewed", (None, None)),
        ("grep", {"pattern": "lamp", "path": LAMP}, "searched", (None, None)),
        ("edit", {"path": LAMP, "old_str": "a", "new_str": "b"}, "edited", (None, None)),
        ("create_file", {"filePath": LAMP, "content": "x"}, "created", (None, None)),
        ("str_replace_editor", {"command": "view", "path": LAMP}, "viewed", (None, None)),
        ("spell_check", {"path": LAMP}, "named", (None, None)),
    ],
)
def test_action_and_lines_of_a_call(
    name: str, arguments: dict[str, Any], action: str, lines: tuple[int | None, int | None]
) -> None:
    assert touched(called(name, **arguments)) == [(0, action, LAMP, *lines, "succeeded")]


def test_call_that_failed_touched_the_file_too() -> None:
    assert touched(called("view", error=True, path=LAMP)) == [(0, "viewed", LAMP, None, None, "failed")]


def test_path_of_a_shell_command_is_no_file() -> None:
    assert touched(called("bash", command="ls", path="/home/ana")) == []


def test_hits_of_a_search_are_found() -> None:
    call, result = called("grep_search", query="lamp")
    assert isinstance(result, ToolResult)
    result.places = [Place(path=LAMP, range=Range(start_line=7, end_line=7))]

    assert touched([call, result]) == [(0, "found", LAMP, 7, 7, "succeeded")]


def test_edit_of_the_answer_and_its_call_are_one_touch() -> None:
    parts = called("replace_string_in_file", filePath=LAMP, oldString="a", newString="b")

    edit = FileEdit(path=LAMP, uri=f"file://{LAMP}", call_id="replace_string_in_file-1")

    assert touched([*parts, edit]) == [(0, "edited", LAMP, None, None, "succeeded")]


def test_attachments_and_the_editing_history() -> None:
    attached = Attachment(type="file", place=Place(path=LAMP, range=Range(start_line=1, end_line=5)))
    switched_off = Attachment(type="file", place=Place(path="/other.py"), is_sent=False)
    change = FileChange(uri="file:///home/ana/new.py", path="/home/ana/new.py", action="create", after="x", turn=0)

    assert touched([attached, switched_off], file_changes=[change]) == [
        (0, "attached", LAMP, 1, 5, None),
        (0, "created", "/home/ana/new.py", None, None, None),
    ]


def test_panel_ranks_changed_files_and_those_of_many_turns_first() -> None:
    reads = [called("read_file", filePath="/often.py") for _ in range(2)]
    conversation = conversation_with(
        "h",
        *reads,
        [*called("view", error=True, path="/once.py"), *called("create_file", filePath=LAMP, content="")],
    )
    conclude(conversation)

    files = panel_of(conversation).files

    assert [(file.path, file.actions, file.turns) for file in files] == [
        (LAMP, "created", [2]),
        ("/often.py", "read 2 times", [0, 1]),
        ("/once.py", "viewed (failed)", [2]),
    ]
