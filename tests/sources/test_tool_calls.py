"""Tool calls: arguments, approval, result, and parts beside them."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from copilog.derive import conclude
from copilog.model import (
    AnyPart,
    Approval,
    Confirmation,
    Message,
    Notice,
    Place,
    Range,
    Reference,
    ResultItem,
    SubAgent,
    Terminal,
    TodoItem,
    TodoList,
    ToolCall,
    ToolResult,
)
from tests.sources.vscode_builders import all_parts, read_parts, read_session, request, session
from tests.sources.vscode_part_samples import span, uri
from tests.sources.vscode_tool_samples import APPROVALS, TOOL_DATA, tool_part

PIXEL = b"\x89PNG\r\n"


def call_in(messages: list[Message]) -> ToolCall:
    (call,) = [part for part in all_parts(messages) if isinstance(part, ToolCall)]
    return call


def result_in(messages: list[Message]) -> ToolResult:
    (result,) = [part for part in all_parts(messages) if isinstance(part, ToolResult)]
    return result


def beside(data: dict[str, Any]) -> AnyPart:
    """Return the part that tool data makes beside its call."""
    call, part, *_ = all_parts(read_parts(tool_part(toolSpecificData=data))[0])
    assert isinstance(call, ToolCall)
    return part


def recorded(call_id: str, name: str, arguments: str, result: Any = None) -> dict[str, Any]:
    """Return what the extension recorded about a single call."""
    rounds = [{"id": "round-1", "toolCalls": [{"id": call_id, "name": name, "arguments": arguments}]}]
    results = {} if result is None else {call_id: {"$mid": 20, "content": [{"$mid": 21, "value": result}]}}
    return {"metadata": {"toolCallRounds": rounds, "toolCallResults": results}}


def test_a_call_has_its_arguments_and_its_result_as_text(tmp_path: Path) -> None:
    part = tool_part("copilot_readFile", "call-1", pastTenseMessage="Read it", generatedTitle="Looking")
    metadata = recorded("call-1", "read_file", '{"filePath": "/a.py"}', "print(1)")

    conversation, _ = read_session(session(request(response=[part], result=metadata)), tmp_path)

    _, answer, tool = conversation.messages
    assert answer.parts == [
        ToolCall(
            id="call-1",
            name="read_file",
            tool_id="copilot_readFile",
            arguments='{"filePath": "/a.py"}',
            status="complete",
            message="Read it",
            title="Looking",
            approval=Approval(kind="not-needed"),
            round_id="round-1",
            native="toolInvocationSerialized",
            position=0,
            extra={"invocationMessage": "Working", "pastTenseMessage": "Read it"},
        )
    ]
    assert (tool.role, tool.parts) == ("tool", [ToolResult(call_id="call-1", text="print(1)", origin="model")])


def test_the_message_names_files_whose_links_have_no_label() -> None:
    message = {"value": "Read [](file:///home/ana/till.py#L3-L9), [](file:///home/ana/b%20c.py)"}

    messages, _ = read_parts(tool_part(pastTenseMessage=message))

    assert call_in(messages).message == "Read `till.py:3-9`, `b c.py`"


@pytest.mark.parametrize("presentation", ["hidden", "hiddenAfterComplete"])
def test_hidden_calls_are_marked(presentation: str) -> None:
    assert call_in(read_parts(tool_part(presentation=presentation))[0]).is_hidden
    assert not call_in(read_parts(tool_part())[0]).is_hidden


@pytest.mark.parametrize(("is_confirmed", "kind", "detail"), APPROVALS)
def test_the_record_of_who_allowed_a_call(is_confirmed: Any, kind: str, detail: str | None) -> None:
    approval = call_in(read_parts(tool_part(isConfirmed=is_confirmed))[0]).approval

    assert approval is not None
    assert (approval.kind, approval.detail) == (kind, detail)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, "complete"),
        ({"isComplete": False}, "unknown"),
        ({"isConfirmed": {"type": 0}}, "denied"),
        ({"isConfirmed": False}, "denied"),
        ({"isConfirmed": {"type": 5}}, "skipped"),
        ({"resultError": True}, "failed"),
        ({"resultError": "no such file"}, "failed"),
        ({"resultError": ""}, "failed"),
        ({"resultError": False}, "complete"),
        ({"resultDetails": {"input": "{}", "output": "boom", "isError": True}}, "failed"),
        ({"resultDetails": {"input": "{}", "output": "fine", "isError": False}}, "complete"),
        ({"resultError": "stopped", "isConfirmed": {"type": 0}}, "denied"),
    ],
)
def test_how_a_call_ended_is_recorded(fields: dict[str, Any], status: str) -> None:
    assert call_in(read_parts(tool_part(**fields))[0]).status == status


def test_an_error_is_the_result_where_nothing_else_came_back() -> None:
    result = result_in(read_parts(tool_part(resultError="no such file"))[0])

    assert (result.text, result.is_error, result.origin) == ("no such file", True, "display")


def test_the_models_view_is_the_result_and_the_users_view_the_display() -> None:
    part = tool_part(resultDetails={"input": "{}", "output": [{"type": "embed", "isText": True, "value": "shown"}]})

    result = result_in(read_parts(part, result=recorded("call-1", "read_file", "{}", "for the model"))[0])

    assert (result.text, result.display, result.origin) == ("for the model", "shown", "model")


@pytest.mark.parametrize(
    ("source", "origin", "server"),
    [
        ({"type": "internal", "label": "Built-In"}, "internal", None),
        ({"type": "extension", "label": "Shop", "extensionId": {"value": "ana.shop"}}, "extension", "Shop"),
        ({"type": "mcp", "label": "b", "serverLabel": "Books", "definitionId": "d"}, "mcp", "Books"),
        ({"type": "mcp", "label": "Maps"}, "mcp", "Maps"),
        ({"type": "user", "label": "mine", "file": uri("/tools.json")}, "user", None),
        ({"type": "external", "label": "External"}, "external", None),
        ({"type": "hologram"}, "hologram", None),
        (None, None, None),
    ],
)
def test_the_origin_of_a_tool_is_read(source: Any, origin: str | None, server: str | None) -> None:
    call = call_in(read_parts(tool_part(source=source))[0])

    assert (call.origin, call.server) == (origin, server)


def test_a_picture_in_a_result_is_read() -> None:
    metadata = recorded("call-1", "look", "{}")
    picture = {"$mid": 24, "mimeType": "image/png", "data": {"$base64": base64.b64encode(PIXEL).decode()}}
    metadata["metadata"]["toolCallResults"] = {"call-1": {"$mid": 20, "content": [{"value": "here: "}, picture]}}

    result = result_in(read_parts(tool_part(), result=metadata)[0])

    assert (result.text, result.items) == ("here: ", [ResultItem(mime_type="image/png", data=PIXEL)])


def test_a_result_may_be_marked_as_failed() -> None:
    metadata = recorded("call-1", "book", "{}")
    metadata["metadata"]["toolCallResults"] = {"call-1": {"content": [{"value": "no"}], "hasError": True}}

    messages, _ = read_parts(tool_part(), result=metadata)

    assert call_in(messages).status == "failed"
    assert result_in(messages).extra == {"hasError": True}


# --- output that VS Code stored --------------------------------------------------------------------------------


def test_locations_in_a_result_are_read() -> None:
    details = [uri("/home/ana/a.py"), {"uri": uri("/home/ana/b.py"), "range": span(3)}]

    messages, _ = read_parts(tool_part(resultDetails=details))

    assert result_in(messages).places == [
        Place(uri="file:///home/ana/a.py", path="/home/ana/a.py"),
        Place(
            uri="file:///home/ana/b.py",
            path="/home/ana/b.py",
            range=Range(start_line=3, start_column=4, end_line=5, end_column=6),
        ),
    ]
    assert call_in(messages).extra == {"invocationMessage": "Working"}


def test_shown_input_and_output_replace_missing_records() -> None:
    picture = base64.b64encode(PIXEL).decode()
    output = [
        {"type": "embed", "isText": True, "value": "first"},
        {"type": "embed", "isText": True, "value": "second", "mimeType": "text/plain"},
        {"type": "embed", "value": picture, "mimeType": "image/png"},
        {"type": "embed", "value": base64.b64encode(b"third").decode(), "mimeType": "text/csv"},
        {"type": "ref", "uri": uri("/tool/1", "vscode-chat-response-resource"), "mimeType": "text/html"},
    ]

    messages, _ = read_parts(tool_part(resultDetails={"input": '{"page": 1}', "output": output}))

    assert call_in(messages).arguments == '{"page": 1}'
    result = result_in(messages)
    assert result.text == "first\nsecond\nthird"
    assert result.items == [
        ResultItem(mime_type="image/png", data=PIXEL),
        ResultItem(mime_type="text/csv"),
        ResultItem(mime_type="text/html", place=Place(uri="vscode-chat-response-resource:/tool/1", path="/tool/1")),
    ]


def test_output_may_be_plain_text_or_one_image() -> None:
    data = {"output": {"type": "data", "mimeType": "image/png", "base64Data": base64.b64encode(PIXEL).decode()}}

    assert result_in(read_parts(tool_part(resultDetails={"input": "", "output": "words"}))[0]).text == "words"
    assert result_in(read_parts(tool_part(resultDetails=data))[0]).items == [
        ResultItem(mime_type="image/png", data=PIXEL)
    ]


def test_recorded_arguments_take_precedence_over_the_shown_input() -> None:
    part = tool_part(resultDetails={"input": "page: 1", "output": "x"})

    call = call_in(read_parts(part, result=recorded("call-1", "book", '{"page":1}'))[0])

    assert call.arguments == '{"page":1}'
    assert call.notes == {"input as shown": "page: 1"}


# --- details by kind of tool ------------------------------------------------------------------------------------


def test_a_terminal_with_everything() -> None:
    part = beside(TOOL_DATA["terminal"])

    assert isinstance(part, Terminal)
    part.extra = None
    assert part == Terminal(
        call_id="call-1",
        command="pytest -q",
        original="pytest",
        edited_by_tool="python -m pytest",
        edited_by_user="pytest -q",
        shown="tests",
        output="3 passed",
        is_output_cut=True,
        exit_code=2,
        cwd="/home/ana/shop",
        language="sh",
        is_background=True,
        started_at=datetime.fromtimestamp(1767000001, UTC),
        elapsed_ms=1500,
        native="terminal",
        position=0,
        notes={
            "intention": "check the work",
            "recommended instead": "use the test tool",
            "reason for network access": "downloads",
            "command as displayed": "run the tests",
            "command to be confirmed": "pytest?",
            "folder to be confirmed": "~/shop",
            "change of folder to be confirmed": "cd shop && ",
        },
    )


@pytest.mark.parametrize(
    ("data", "command", "shown"),
    [
        ({"commandLine": {"original": "ls"}}, "ls", None),
        ({"commandLine": {"original": "ls", "toolEdited": " ls"}}, " ls", None),
        ({"commandLine": {"original": "ls", "toolEdited": " ls", "userEdited": "ls -l"}}, "ls -l", None),
        ({"commandLine": {"original": "ls", "forDisplay": "list"}}, "ls", "list"),
        ({"commandLine": {"original": "ls"}, "presentationOverrides": {"commandLine": "files"}}, "ls", "files"),
        ({"commandLine": {"original": "ls", "userEdited": ""}}, "", None),
        ({"command": "npm test"}, "npm test", None),
    ],
)
def test_both_the_run_and_the_shown_command_are_read(data: Any, command: str, shown: str | None) -> None:
    part = beside({"kind": "terminal", "language": "sh", **data})

    assert isinstance(part, Terminal)
    assert (part.command, part.shown) == (command, shown)
    assert part.original == data.get("command", "ls")


def test_terminal_data_without_a_command_stays_with_the_call() -> None:
    data = {"kind": "terminal", "language": "sh", "commandLine": {"original": 5}}

    call = call_in(read_parts(tool_part(toolSpecificData=data))[0])

    assert call.extra == {"invocationMessage": "Working", "toolSpecificData": data}


def test_terminal_output_is_the_result_once() -> None:
    part = tool_part(toolSpecificData={"kind": "terminal", "command": "ls", "terminalCommandOutput": {"text": "a.py"}})

    alone = result_in(read_parts(part)[0])
    with_record = result_in(read_parts(part, result=recorded("call-1", "run_in_terminal", "{}", "a.py\n$"))[0])

    assert (alone.text, alone.origin) == ("a.py", "terminal")
    assert (with_record.text, with_record.origin, with_record.display) == ("a.py\n$", "model", None)


def test_a_todo_list() -> None:
    part = beside(TOOL_DATA["todoList"])

    assert part == TodoList(
        call_id="call-1",
        items=[
            TodoItem(id="31", title="Read", status="completed", description="all of it"),
            TodoItem(id="b", title="Write", status="in-progress"),
        ],
        native="todoList",
        position=0,
        extra={"sessionId": "s-1", "todoList": [{"colour": "red"}]},
    )


def test_a_sub_agent_call_has_its_request_and_result() -> None:
    messages, _ = read_parts(tool_part("runSubagent", toolSpecificData=TOOL_DATA["subagent"]))

    subagent = call_in(messages).subagent
    assert subagent is not None
    extra, subagent.extra = subagent.extra, None
    assert subagent == SubAgent(
        name="scout",
        description="Look it up",
        prompt="Find the till",
        result="It is in till.py",
        model="GPT X",
        started_at=datetime.fromtimestamp(1767000001, UTC),
        elapsed_ms=777,
    )
    assert extra is not None
    assert extra["modelId"] == "copilot/gpt-x"
    assert result_in(messages).text == "It is in till.py"


def test_raw_input_becomes_the_arguments() -> None:
    part = tool_part(toolSpecificData=TOOL_DATA["input"])

    assert call_in(read_parts(part)[0]).arguments == '{"page":1}'
    assert call_in(read_parts(part, result=recorded("call-1", "book", '{"page": 2}'))[0]).arguments == '{"page": 2}'


def test_a_simple_call_has_its_input_and_output() -> None:
    messages, _ = read_parts(tool_part(toolSpecificData=TOOL_DATA["simpleToolInvocation"]))

    assert call_in(messages).arguments == "what was asked"
    assert result_in(messages).text == "what came back"


def test_resources_are_locations_of_the_result() -> None:
    messages, _ = read_parts(tool_part(toolSpecificData=TOOL_DATA["resources"]))

    assert [place.path for place in result_in(messages).places] == ["/home/ana/a.md", "/home/ana/b.md"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("extensions", Notice(topic="extensions", text="example.linter")),
        (
            "pullRequest",
            Reference(
                text="",
                type="pull-request",
                place=Place(uri="https:/p/1", name="Add a bag"),
                notes={"description": "holds things", "author": "Ana", "number": "#1"},
            ),
        ),
        (
            "modifiedFilesConfirmation",
            Confirmation(type="confirmation", options=["Keep them", "Undo"], notes={"files": "/home/ana/c.py\nc"}),
        ),
        ("agentFeedbackReviewConfirmation", Confirmation(type="confirmation", options=["Send"])),
        ("sessionCreated", Notice(topic="session-created", text="New chat", notes={"title": "A new chat"})),
        ("generatedImage", Notice(topic="generated-image")),
        ("automationConfigured", Notice(topic="automation", text="Nightly")),
        ("automationConfiguration", Notice(topic="automation")),
        ("search", Notice(topic="search")),
    ],
)
def test_other_tool_data_is_a_part_after_the_call(kind: str, expected: AnyPart) -> None:
    part = beside(TOOL_DATA[kind])

    assert part.native == kind
    part.extra = part.native = part.position = None
    assert part == expected


def test_tool_data_of_an_unknown_kind_is_stored_and_counted() -> None:
    data = {"kind": "hologram", "beam": 7}

    messages, ledger = read_parts(tool_part(toolSpecificData=data))

    assert call_in(messages).extra == {"invocationMessage": "Working", "toolSpecificData": data}
    assert ledger.parts.unknown == {"tool-data:hologram": 1}


def test_a_call_without_an_id_is_identified_by_its_position() -> None:
    part = tool_part()
    del part["toolCallId"]

    assert call_in(read_parts({"value": "a"}, part)[0]).id == "part-1"


@pytest.mark.parametrize(("is_error", "kind"), [(False, "succeeded"), (True, "failed")])
def test_error_text_that_vscode_stored_as_output_is_output(tmp_path: Path, is_error: bool, kind: str) -> None:
    text = "ERROR while calling tool: no such tide\nPlease check your input and try again."
    output = [{"type": "embed", "isText": True, "value": text}]
    details = {"input": "{}", "output": output, "isError": is_error}
    part = tool_part("mcp_log_read", "c1", resultDetails=details)
    result = recorded("c1", "mcp_log_read", "{}", text)

    conversation, _ = read_session(session(request(response=[part], result=result)), tmp_path)
    conclude(conversation)

    call = call_in(conversation.messages)
    assert call.outcome is not None
    assert call.outcome.kind == kind
