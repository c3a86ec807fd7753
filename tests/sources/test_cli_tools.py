"""Copilot CLI logs: tool calls, what came back, and what they did: commands, edits, lists, questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from copilog.derive import conclude
from copilog.derive.exit_codes import exit_code_of
from copilog.model import Attachment, Confirmation, Hook, Terminal, TodoList, ToolCall, ToolResult
from tests.sources.cli_builders import Json, Log, notice, only, parts_like, read_cleanly, read_log, roles


def test_a_call_is_a_request_a_start_and_an_end(tmp_path: Path) -> None:
    log = Log().start().ask().run("c1", "view", {"path": "/home/ana/cart.py"}, content="1. total").say("done")

    conversation = read_cleanly(tmp_path, log)

    assert roles(conversation) == ["user", "assistant", "tool", "assistant"]
    call, result = only(conversation, ToolCall), only(conversation, ToolResult)
    assert (call.id, call.name, call.arguments, call.status) == (
        "c1",
        "view",
        '{"path":"/home/ana/cart.py"}',
        "complete",
    )
    assert (call.extra, call.elapsed_ms) == (None, 1000)
    assert call.started_at is not None
    assert (result.call_id, result.text, result.is_error, result.origin) == ("c1", "1. total", False, "model")


def test_results_are_in_the_order_of_their_events(tmp_path: Path) -> None:
    requests: list[Json] = [{"toolCallId": name, "name": "view", "arguments": {}} for name in ("c1", "c2")]
    log = Log().start().ask().say("", toolRequests=requests).begin("c1", "view").begin("c2", "view")
    log.end("c2", "second").end("c1", "first")

    results = parts_like(read_cleanly(tmp_path, log), ToolResult)

    assert [(result.call_id, result.text) for result in results] == [("c2", "second"), ("c1", "first")]


@pytest.mark.parametrize(
    ("end", "status", "text"),
    [
        ({"success": True, "result": {"content": "fine"}}, "complete", "fine"),
        ({"success": True, "result": "fine"}, "complete", "fine"),
        ({"success": False, "error": {"message": "no", "code": "failure"}}, "failed", "no"),
        ({"success": False, "error": {"message": "no", "code": "denied"}}, "denied", "no"),
        ({"success": False, "result": {"content": "exit code: 1"}}, "failed", "exit code: 1"),
        ({"success": False}, "cancelled", ""),
        ({"result": {"content": "fine"}}, "complete", "fine"),
        ({}, "cancelled", ""),
    ],
)
def test_how_a_call_ended_is_recorded(end: Json, status: str, text: str, tmp_path: Path) -> None:
    log = Log().start().ask().call("c1", "view").add("tool.execution_complete", {"toolCallId": "c1", **end})

    conversation = read_cleanly(tmp_path, log)

    assert (only(conversation, ToolCall).status, only(conversation, ToolResult).text) == (status, text)
    assert only(conversation, ToolResult).is_error == (status in ("failed", "denied"))


def test_calls_that_never_ended(tmp_path: Path) -> None:
    log = Log().start().ask().call("before abort", "bash").add("abort").call("before resume", "bash")
    log.add("session.resume").ask().call("before a prompt", "bash").begin("before a prompt", "bash").ask()
    log.call("only asked for", "bash").call("running", "bash").begin("running", "bash")

    calls = parts_like(read_cleanly(tmp_path, log), ToolCall)

    assert {call.id: call.status for call in calls} == {
        "before abort": "cancelled",
        "before resume": "cancelled",
        "before a prompt": "cancelled",
        "only asked for": "prepared",
        "running": "unknown",
    }


def test_a_late_end_still_counts(tmp_path: Path) -> None:
    log = Log().start().ask().call("c1", "bash").begin("c1", "bash").add("session.resume").ask().end("c1", "late")

    assert only(read_cleanly(tmp_path, log), ToolCall).status == "complete"


def test_calls_without_a_request_in_a_message(tmp_path: Path) -> None:
    log = Log().start().ask().begin("c1", "view", {"path": "x"}).end("c1").end("c2", "an end alone")

    conversation = read_cleanly(tmp_path, log)

    call = only(conversation, ToolCall)
    assert (call.id, call.name, call.status, call.native) == ("c1", "view", "complete", "tool.execution_start")
    assert [result.call_id for result in parts_like(conversation, ToolResult)] == ["c1", "c2"]


def test_a_tool_that_the_user_ran(tmp_path: Path) -> None:
    data = {"toolCallId": "c1", "toolName": "bash", "arguments": {"command": "git status"}}
    log = Log().start().ask().say().add("tool.user_requested", data).begin("c1", "bash", data["arguments"])
    log.end("c1", "clean", isUserRequested=True)

    conversation = read_cleanly(tmp_path, log)

    assert roles(conversation) == ["user", "assistant", "user", "tool"]
    assert (only(conversation, ToolCall).origin, only(conversation, Terminal).output) == ("user", "clean")


def test_arguments_changed_before_the_start_are_stored_beside_the_original(tmp_path: Path) -> None:
    log = Log().start().ask().call("c1", "view", {"path": "a"}).begin("c1", "view", {"path": "b"})

    call = only(read_cleanly(tmp_path, log), ToolCall)

    assert (call.arguments, call.extra) == ('{"path":"a"}', {"arguments": {"path": "b"}})


def test_arguments_as_text_equal_arguments_as_an_object(tmp_path: Path) -> None:
    log = Log().start().ask().call("c1", "bash", '{"command": "ls"}').begin("c1", "bash", {"command": "ls"}).end("c1")

    conversation = read_cleanly(tmp_path, log)

    assert only(conversation, Terminal).command == "ls"
    assert only(conversation, ToolCall).elapsed_ms == 1000


def test_mcp_tools_name_their_server(tmp_path: Path) -> None:
    log = Log().start().ask().begin("c1", "docs-search", mcpServerName="docs", mcpToolName="search")

    call = only(read_cleanly(tmp_path, log), ToolCall)

    assert (call.name, call.origin, call.server, call.tool_id) == ("docs-search", "mcp", "docs", "search")


def test_an_intent_is_the_title_of_its_call(tmp_path: Path) -> None:
    log = Log().start().ask().run("c1", "report_intent", {"intent": "Reading the cart"})

    assert only(read_cleanly(tmp_path, log), ToolCall).title == "Reading the cart"


def test_tools_of_the_program_around_the_agent(tmp_path: Path) -> None:
    asked = {"requestId": "x1", "toolCallId": "c1", "toolName": "lookup", "arguments": {"key": "cart"}}
    log = Log().start().ask().call("c1", "lookup", {"key": "cart"}).add("external_tool.requested", asked)
    log.add("external_tool.completed", {"requestId": "x1"}).end("c1", "found")
    log.add("external_tool.completed", {"requestId": "x9"})

    conversation = read_cleanly(tmp_path, log)

    call = only(conversation, ToolCall)
    assert (call.origin, call.status, (call.extra or {})["requestId"]) == ("external", "complete", "x1")
    assert notice(conversation, "external-tool").text == "x9"


# --- commands -----------------------------------------------------------------------------------------------------


def test_a_command_has_its_output_and_exit_code(tmp_path: Path) -> None:
    exited = {"type": "shell_exit", "shellId": "0", "exitCode": 3, "cwd": "/home/ana", "outputTruncated": True}
    result = {"content": "boo\n<exited 3>", "contents": [{**exited, "outputPreview": "boo\n"}]}
    log = Log().start().ask().run("c1", "bash", {"command": "make", "mode": "async"}, result=result)

    conversation = read_cleanly(tmp_path, log)

    terminal = only(conversation, Terminal)
    assert (terminal.command, terminal.output, terminal.exit_code) == ("make", "boo\n<exited 3>", 3)
    assert (terminal.cwd, terminal.is_output_cut, terminal.is_background) == ("/home/ana", True, True)
    assert (terminal.language, terminal.elapsed_ms, terminal.call_id) == ("bash", 1000, "c1")
    assert [type(part) for part in conversation.messages[1].parts] == [ToolCall, Terminal]


@pytest.mark.parametrize(
    "beside",
    [{"shellExecution": {"exitCode": 7}}, {"toolTelemetry": {"properties": {}, "metrics": {"exit_code": 7}}}],
)
def test_newer_releases_record_the_exit_code_beside_the_result(beside: dict[str, Any], tmp_path: Path) -> None:
    log = Log().start().ask().run("c1", "bash", {"command": "make"}, **beside)

    conversation = read_cleanly(tmp_path, log)
    conclude(conversation)

    call = only(conversation, ToolCall)
    assert (only(conversation, Terminal).exit_code, exit_code_of(call), call.status) == (7, 7, "complete")
    assert call.outcome is not None
    assert call.outcome.kind == "succeeded"


def test_command_of_the_user_that_ended_with_an_error_has_run(tmp_path: Path) -> None:
    log = Log().start().ask().add("tool.user_requested", {"toolCallId": "u1", "toolName": "local_shell"})
    log.begin("u1", "local_shell", {"command": "make"})
    ended = {"success": False, "shellExecution": {"exitCode": 4}, "error": {"message": "no rule"}}
    log.add("tool.execution_complete", {"toolCallId": "u1", "isUserRequested": True, **ended})

    conversation = read_cleanly(tmp_path, log)
    conclude(conversation)

    call = only(conversation, ToolCall)
    assert call.outcome is not None
    assert (call.outcome.kind, exit_code_of(call)) == ("succeeded", 4)


def test_the_exit_code_is_never_guessed_from_the_text(tmp_path: Path) -> None:
    log = Log().start().ask().run("c1", "powershell", {"command": "ls"}, content="<exited with exit code 1>")

    assert only(read_cleanly(tmp_path, log), Terminal).exit_code is None


def test_older_results_have_a_terminal_block(tmp_path: Path) -> None:
    result = {"content": "hi", "contents": [{"type": "terminal", "text": "hi", "exitCode": 0, "cwd": "/tmp"}]}
    log = Log().start().ask().run("c1", "bash", {"command": "echo hi"}, result=result)

    assert only(read_cleanly(tmp_path, log), Terminal).exit_code == 0


@pytest.mark.parametrize("tool", ["bash", "read_bash"])
@pytest.mark.parametrize("is_reversed", [False, True])
def test_every_text_of_a_shell_is_kept(tool: str, is_reversed: bool, tmp_path: Path) -> None:
    blocks = [
        {"type": "terminal", "text": "the whole output\nin two lines", "exitCode": 2},
        {"type": "shell_exit", "shellId": "0", "exitCode": 2, "outputPreview": "in two lines"},
        {"type": "shell_exit", "shellId": "0", "exitCode": 2, "outputPreview": "another preview"},
        {"type": "shell_exit", "shellId": "0", "exitCode": 2, "outputPreview": "short"},
    ]
    result = {"content": "short content", "contents": blocks[::-1] if is_reversed else blocks}
    log = Log().start().ask().run("c1", tool, {"command": "make"}, result=result)

    conversation = read_cleanly(tmp_path, log)

    beside = [item.text for item in only(conversation, ToolResult).items]
    noted = [text for part in parts_like(conversation, Terminal) for text in part.notes.values()]
    assert sorted("\n".join([*filter(None, beside), *noted]).split("\n")) == [
        "another preview", "in two lines", "the whole output",
    ]  # fmt: skip


def test_reading_a_shell_is_no_command(tmp_path: Path) -> None:
    result = {"content": "more", "contents": [{"type": "shell_exit", "shellId": "0", "exitCode": 0}]}
    log = Log().start().ask().run("c1", "read_bash", {"shellId": "0"}, result=result)

    conversation = read_cleanly(tmp_path, log)

    assert parts_like(conversation, Terminal) == []
    shells = (only(conversation, ToolResult).extra or {})["shells"]
    assert shells == [{"type": "shell_exit", "shellId": "0", "exitCode": 0}]


# --- things to do -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "todos",
    [
        "# Plan\n- [x] read\n- [>] write\n1. [ ] test\nnot an item",
        [
            {"id": 1, "title": "read", "status": "done"},
            {"id": 2, "content": "write", "status": "in_progress"},
            {"id": 3, "title": "test", "status": "pending"},
            7,
        ],
    ],
)
def test_todo_lists_are_read_from_arguments(todos: Any, tmp_path: Path) -> None:
    log = Log().start().ask().run("c1", "update_todo", {"todos": todos})

    items = only(read_cleanly(tmp_path, log), TodoList).items

    assert [(item.title, item.status) for item in items] == [
        ("read", "completed"),
        ("write", "in-progress"),
        ("test", "not-started"),
    ]


# --- more than text -----------------------------------------------------------------------------------------------


def test_blocks_of_a_result(tmp_path: Path) -> None:
    blocks = [
        {"type": "text", "text": "words"},
        {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "file:///home/ana/a", "name": "a"},
        {"type": "resource", "resource": {"uri": "file:///b", "blob": "AAEC", "mimeType": "x/y"}},
        {"type": "hologram", "depth": 3},
    ]
    log = Log().start().ask().run("c1", "docs", result={"content": "x", "contents": [*blocks, "odd"]})

    conversation, ledger = read_log(tmp_path, log)

    text, image, link, resource, hologram = only(conversation, ToolResult).items
    assert (text.text, image.data, image.mime_type) == ("words", b"\x89PNG", "image/png")
    assert link.place is not None
    assert (link.place.uri, link.place.name, resource.data) == ("file:///home/ana/a", "a", b"\0\1\2")
    assert hologram.extra == {"type": "hologram", "depth": 3}
    assert ledger.parts.unknown == {"content:hologram": 1}
    assert [bad.pointer for bad in ledger.parts.bad] == ["/data/result/contents/5"]


def test_assets_are_read_from_before_and_after_their_use(tmp_path: Path) -> None:
    asset = {"assetId": "sha256:1", "type": "image", "mimeType": "image/png", "byteLength": 4, "data": "iVBORw=="}
    later = {**asset, "assetId": "sha256:2", "data": "AAEC"}
    binary = [
        {"type": "image", "assetId": "sha256:2", "byteLength": 3, "mimeType": "image/png"},
        {"type": "image", "assetId": "sha256:gone", "byteLength": 3, "mimeType": "image/png"},
        {"type": "image", "byteLength": 9, "omittedReason": "too_large", "mimeType": "image/png"},
        {"type": "image", "data": "AAEC", "mimeType": "image/png"},
    ]
    blob = {"type": "blob", "mimeType": "image/png", "displayName": "shot", "assetId": "sha256:1", "byteLength": 4}
    log = Log().start().add("session.binary_asset", asset).ask(attachments=[blob])
    log.run("c1", "view", result={"content": "x", "binaryResultsForLlm": binary})
    log.add("session.binary_asset", later)

    conversation = read_cleanly(tmp_path, log)

    kept, attached, kept_later = parts_like(conversation, Attachment)
    assert (kept.id, kept.data, attached.data, attached.type) == ("sha256:1", b"\x89PNG", b"\x89PNG", "image")
    assert kept_later.data == b"\0\1\2"
    items = only(conversation, ToolResult).items
    assert [item.data for item in items] == [b"\0\1\2", None, None, b"\0\1\2"]
    assert (items[2].extra or {})["omittedReason"] == "too_large"


def test_many_assets_are_read_again_when_they_are_named(tmp_path: Path) -> None:
    log = Log().start()
    for number in range(9):
        log.add("session.binary_asset", {"assetId": f"sha256:{number}", "data": "AAE" + "ABCDEFGHI"[number]})
    log.ask(attachments=[{"type": "blob", "assetId": f"sha256:{number}"} for number in range(9)])

    attachments = parts_like(read_cleanly(tmp_path, log), Attachment)

    assert [part.data for part in attachments[:9]] == [part.data for part in attachments[9:]]


def test_attachments_of_all_kinds(tmp_path: Path) -> None:
    selection = {"start": {"line": 4, "character": 0}, "end": {"line": 6, "character": 2}}
    items: list[Json] = [
        {"type": "file", "path": "/home/ana/a.py", "displayName": "a.py", "lineRange": {"start": 3, "end": 9}},
        {"type": "directory", "path": "/home/ana", "displayName": "ana"},
        {"type": "selection", "filePath": "/home/ana/a.py", "text": "x = 1", "selection": selection},
        {
            "type": "github_reference",
            "number": 7,
            "title": "Drift",
            "referenceType": "issue",
            "url": "https://x.test/7",
        },
        {"type": "github_file", "path": "src/a.py", "url": "https://x.test/a", "repo": {"owner": "ana"}},
        {"type": "blob", "mimeType": "text/csv", "displayName": "b.csv", "data": "AAEC"},
        {"type": "blob", "mimeType": "application/pdf", "omittedReason": "too_large", "byteLength": 9},
        {"type": "extension_context", "extensionId": "ana.board", "title": "Board", "payload": {"rows": 3}},
    ]

    made = parts_like(read_cleanly(tmp_path, Log().start().ask(attachments=items)), Attachment)

    assert [part.type for part in made] == [item["type"] for item in items]
    file, folder, selected, issue, remote, blob, left_out, context = made
    assert file.place is not None
    assert file.place.range is not None
    assert (file.name, file.place.path, file.place.range.start_line, file.place.range.end_line) == (
        "a.py",
        "/home/ana/a.py",
        3,
        9,
    )
    assert folder.place is not None
    assert folder.place.path == "/home/ana"
    assert selected.place is not None
    assert selected.place.range is not None
    assert (selected.text, selected.place.range.start_line, selected.extra) == ("x = 1", 5, {"selection": selection})
    assert issue.place is not None
    assert (issue.id, issue.name, issue.place.uri) == ("7", "Drift", "https://x.test/7")
    assert remote.place is not None
    assert (remote.place.path, remote.extra) == ("src/a.py", {"repo": {"owner": "ana"}})
    assert (blob.data, left_out.omitted, context.text) == (b"\0\1\2", "too_large", '{"rows":3}')


def test_an_attachment_of_an_unknown_kind_survives(tmp_path: Path) -> None:
    conversation, ledger = read_log(tmp_path, Log().start().ask(attachments=[{"type": "scent", "strength": 3}]))

    attachment = only(conversation, Attachment)
    assert (attachment.type, attachment.extra) == ("scent", {"strength": 3})
    assert ledger.parts.unknown == {"attachment:scent": 1}


# --- asking and hooks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "by_hook", "kind", "detail", "status"),
    [
        ("approved", False, "user", "approved", "complete"),
        ("approved", True, "setting", "hook", "complete"),
        ("approved-for-session", False, "granted", "session", "complete"),
        ("approved-for-location", False, "granted", "location", "complete"),
        ("denied-interactively-by-user", False, "denied", "denied-interactively-by-user", "denied"),
        ("denied-by-rules", False, "denied", "denied-by-rules", "denied"),
        ("cancelled", False, "skipped", "cancelled", "complete"),
        ("levitated", False, "unknown", "levitated", "complete"),
    ],
)
def test_the_record_of_who_allowed_a_call(
    answer: str, by_hook: bool, kind: str, detail: str, status: str, tmp_path: Path
) -> None:
    request = {"kind": "shell", "toolCallId": "c1", "intention": "clean", "fullCommandText": "rm -r build"}
    log = Log().start().ask().call("c1", "bash", {"command": "rm -r build"})
    log.add("permission.requested", {"requestId": "p1", "permissionRequest": request, "resolvedByHook": by_hook})
    log.add("permission.completed", {"requestId": "p1", "toolCallId": "c1", "result": {"kind": answer}})
    log.end("c1")

    conversation = read_cleanly(tmp_path, log)

    approval, asked = only(conversation, ToolCall).approval, only(conversation, Confirmation)
    assert approval is not None
    assert (approval.kind, approval.detail) == (kind, detail)
    assert only(conversation, ToolCall).status == status
    assert (asked.type, asked.title, asked.message, asked.answer) == ("permission", "shell", "clean", answer)
    assert asked.state == ("accepted" if answer.startswith("approved") else "rejected")
    assert conversation.turns[0].timing.waited_ms == (None if by_hook else 1000)


def test_waiting_for_two_answers_at_once_is_counted_once(tmp_path: Path) -> None:
    log = Log().start().ask()
    for name in ("p1", "p2"):
        log.add("permission.requested", {"requestId": name, "permissionRequest": {"kind": "read"}})
    for name in ("p1", "p2"):
        log.add("permission.completed", {"requestId": name, "result": {"kind": "approved"}})

    assert read_cleanly(tmp_path, log).turns[0].timing.waited_ms == 3000


def test_a_permission_without_its_decision_is_stored(tmp_path: Path) -> None:
    log = Log().start().ask().add("permission.requested", {"requestId": "p1"})
    log.add("permission.completed", {"requestId": "p2", "result": {"kind": "approved"}})

    asked, answered = parts_like(read_cleanly(tmp_path, log), Confirmation)

    assert (asked.answer, asked.state, answered.answer) == (None, None, "approved")


def test_hooks_record_what_they_stopped(tmp_path: Path) -> None:
    start = {"hookInvocationId": "h1", "hookType": "preToolUse", "input": {"toolName": "bash"}}
    said = {"permissionDecision": "deny", "permissionDecisionReason": "not today", "systemMessage": "sorry"}
    log = Log().start().ask().add("hook.start", start)
    log.add("hook.end", {"hookInvocationId": "h1", "hookType": "preToolUse", "success": True, "output": said})
    log.add("hook.start", {"hookInvocationId": "h2", "hookType": "sessionStart"})
    log.add("hook.end", {"hookInvocationId": "h3", "hookType": "x", "success": False, "error": {"message": "boom"}})

    first, second, third = parts_like(read_cleanly(tmp_path, log), Hook)

    assert (first.type, first.tool, first.is_blocking, first.reason) == ("preToolUse", "bash", True, "not today")
    assert (first.message, (first.extra or {})["elapsed_ms"]) == ("sorry", 1000)
    assert (second.type, second.is_blocking) == ("sessionStart", False)
    assert (third.type, third.message, (third.extra or {})["success"]) == ("x", "boom", False)


def test_a_list_of_things_to_do_that_was_refused_is_none(tmp_path: Path) -> None:
    log = Log().start().ask().run("c1", "update_todo", {"todos": "- [ ] pay"})
    log.run("c2", "update_todo", {"todos": "- [x] pay"}, success=False, error={"message": "no"})
    conversation = read_cleanly(tmp_path, log)

    assert [part.call_id for part in parts_like(conversation, TodoList)] == ["c1"]
