"""Calls as VS Code shows them and as the extension recorded them are one and the same."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.derive.tool_names import tool_key
from copilog.exports.html import html_page
from copilog.ingest.leaves.lookup import Lookup
from copilog.model import Conversation, Message, Text, Thinking, ToolCall, ToolResult
from tests.sources.vscode_builders import all_parts, read_parts
from tests.sources.vscode_tool_samples import tool_part


def call(name: str, call_id: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "id": call_id, "arguments": json.dumps(arguments)}


def rounds(*of_calls: list[dict[str, Any]] | tuple[str, list[dict[str, Any]]], **results: str) -> dict[str, Any]:
    """Return the result of a request whose rounds made these calls, perhaps after some text."""
    made = []
    for number, one in enumerate(of_calls):
        text, calls = one if isinstance(one, tuple) else ("", one)
        made.append({"id": f"round-{number}", "response": text, "toolCalls": calls, "toolInputRetry": 0})
    content = {key: {"content": [{"value": text}]} for key, text in results.items()}
    return {"metadata": {"toolCallRounds": made, "toolCallResults": content}}


def shown(messages: list[Message]) -> list[tuple[str, str | None]]:
    """Return the calls in order: the tool that VS Code shows, and the file or command that the model named."""
    found = []
    for part in all_parts(messages):
        if isinstance(part, ToolCall):
            arguments = json.loads(part.arguments or "{}")
            found.append((part.tool_id or part.name, arguments.get("filePath") or arguments.get("command")))
    return found


def results_in(messages: list[Message]) -> dict[str, str]:
    return {part.call_id: part.text for part in all_parts(messages) if isinstance(part, ToolResult)}


@pytest.mark.parametrize("part_id", ["call_a", "call_a__vscode-17", "call_a__vscode-18"])
@pytest.mark.parametrize("recorded_id", ["call_a", "call_a__vscode-17"])
def test_calls_are_paired_by_id_with_or_without_the_suffix(part_id: str, recorded_id: str) -> None:
    result = rounds([call("read_file", recorded_id, filePath="/a")], **{recorded_id: "text of a"})

    messages, _ = read_parts(tool_part("some_other_tool", part_id), result=result)

    (made,) = [part for part in all_parts(messages) if isinstance(part, ToolCall)]
    assert (made.id, made.name, made.tool_id) == ("call_a", "read_file", "some_other_tool")
    assert set(made.native_ids) == {part_id, recorded_id} - {"call_a"}
    assert results_in(messages) == {"call_a": "text of a"}


def test_ids_take_precedence_over_the_order() -> None:
    parts = [tool_part("copilot_readFile", "b"), tool_part("copilot_readFile", "a")]

    messages, _ = read_parts(
        *parts, result=rounds([call("read_file", "a", filePath="/a"), call("read_file", "b", filePath="/b")])
    )

    assert shown(messages) == [("copilot_readFile", "/b"), ("copilot_readFile", "/a")]


def test_calls_with_other_ids_are_paired_in_order_by_the_name_of_the_tool() -> None:
    parts = [
        tool_part("copilot_readFile", "uuid-1"),
        tool_part("copilot_findTextInFiles", "uuid-2"),
        tool_part("copilot_readFile", "uuid-3"),
    ]
    recorded = [
        call("read_file", "c1", filePath="/a"),
        call("grep_search", "c2"),
        call("read_file", "c3", filePath="/b"),
    ]

    messages, _ = read_parts(*parts, result=rounds(recorded, c1="A", c2="hits", c3="B"))

    assert shown(messages) == [
        ("copilot_readFile", "/a"),
        ("copilot_findTextInFiles", None),
        ("copilot_readFile", "/b"),
    ]
    assert results_in(messages) == {"c1": "A", "c2": "hits", "c3": "B"}


def test_a_hidden_internal_call_is_not_paired_with_anothers_record() -> None:
    parts = [
        tool_part("copilot_insertEdit", "u1"),
        tool_part("vscode_editFile_internal", "u2", presentation="hidden"),
        tool_part("copilot_insertEdit", "u3"),
        tool_part("vscode_editFile_internal", "u4", presentation="hidden"),
    ]
    recorded = [call("insert_edit_into_file", "c1", filePath="/a"), call("insert_edit_into_file", "c2", filePath="/b")]

    messages, _ = read_parts(*parts, result=rounds(recorded))

    assert shown(messages) == [("copilot_insertEdit", "/a"), ("copilot_insertEdit", "/b")]


def test_the_order_of_other_calls_identifies_the_one_without_a_part() -> None:
    parts = [tool_part("copilot_findTextInFiles", "u1"), tool_part("copilot_readFile", "u2")]
    recorded = [
        call("read_file", "c1", filePath="/never-shown"),
        call("grep_search", "c2", filePath="hits"),
        call("read_file", "c3", filePath="/b"),
    ]

    messages, _ = read_parts(*parts, result=rounds(recorded))

    assert shown(messages) == [
        ("read_file", "/never-shown"),
        ("copilot_findTextInFiles", "hits"),
        ("copilot_readFile", "/b"),
    ]


def test_parts_are_paired_with_the_calls_that_they_mention() -> None:
    parts = [
        tool_part("copilot_readFile", "u1", invocationMessage={"value": "Reading [](file:///home/ana/till.py)"}),
        tool_part("copilot_readFile", "u2", pastTenseMessage="Read bag.py, lines 20 to 40"),
        tool_part("run_in_terminal", "u3", toolSpecificData={"kind": "terminal", "command": 'grep "x" a'}),
    ]
    recorded = [
        call("read_file", "c1", filePath="/home/ana/other.py"),
        call("read_file", "c2", filePath="/home/ana/till.py"),
        call("read_file", "c3", filePath="/home/ana/bag.py", startLine=1, endLine=19),
        call("read_file", "c4", filePath="/home/ana/bag.py", startLine=20, endLine=40),
        call("run_in_terminal", "c5", command="ls"),
        call("run_in_terminal", "c6", command='grep "x" a'),
    ]

    messages, _ = read_parts(*parts, result=rounds(recorded))

    paired = {
        part.position: part.id
        for part in all_parts(messages)
        if isinstance(part, ToolCall) and part.position is not None
    }
    assert paired == {0: "c2", 1: "c4", 2: "c6"}


def test_arguments_that_are_not_json_are_ignored_in_pairing() -> None:
    parts = [tool_part("copilot_readFile", "u1", pastTenseMessage="Read bag.py")]
    recorded = [{"name": "read_file", "id": "c1", "arguments": "{broken"}, call("read_file", "c2", filePath="bag.py")]

    messages, _ = read_parts(*parts, result=rounds(recorded))

    assert [(part.id, part.position) for part in all_parts(messages) if isinstance(part, ToolCall)] == [
        ("c1", None),
        ("c2", 0),
    ]


def test_a_part_without_a_record_is_not_paired() -> None:
    parts = [tool_part("copilot_readFile", "u1"), tool_part("configure_things", "u2")]

    messages, _ = read_parts(*parts, result=rounds([call("read_file", "c1", filePath="/a")], u2="set up"))

    assert shown(messages) == [("copilot_readFile", "/a"), ("configure_things", None)]
    assert results_in(messages) == {"u2": "set up"}


def test_surplus_parts_at_the_end_are_not_paired() -> None:
    parts = [tool_part("copilot_readFile", f"u{number}") for number in range(3)]

    messages, _ = read_parts(*parts, result=rounds([call("read_file", "c1", filePath="/a")]))

    assert shown(messages) == [("copilot_readFile", "/a"), ("copilot_readFile", None), ("copilot_readFile", None)]


def test_very_many_calls_are_paired_without_comparing_each_with_each() -> None:
    parts = [tool_part("copilot_readFile", f"u{number}") for number in range(400)]
    recorded = [call("read_file", f"c{number}", filePath=f"/{number}") for number in range(401)]

    messages, _ = read_parts(*parts, result=rounds(recorded))

    assert [file for _, file in shown(messages)] == [f"/{number}" for number in range(401)]


def test_ids_that_differ_only_in_the_suffix_stay_distinct() -> None:
    recorded = [call("read_file", "call__vscode-1", filePath="/a"), call("read_file", "call__vscode-2", filePath="/b")]
    result = rounds(recorded, **{"call__vscode-1": "A", "call__vscode-2": "B"})

    messages, _ = read_parts(tool_part(call_id="call__vscode-1"), tool_part(call_id="call__vscode-2"), result=result)

    assert results_in(messages) == {"call__vscode-1": "A", "call__vscode-2": "B"}
    assert [file for _, file in shown(messages)] == ["/a", "/b"]


# --- calls that only the rounds know ----------------------------------------------------------------------------


def outline(messages: list[Message]) -> list[str]:
    """Return texts unchanged, thinking in brackets, calls by their id."""
    lines = []
    for part in all_parts(messages):
        if isinstance(part, Text):
            lines.append(part.text)
        elif isinstance(part, Thinking):
            lines.append(f"({part.text})")
        elif isinstance(part, ToolCall):
            lines.append(part.id)
    return lines


def test_a_call_without_a_part_follows_the_text_of_its_round() -> None:
    result = rounds(
        ("First I look.", [call("read_file", "c1")]),
        ("Then I search.", [call("grep_search", "c2"), call("file_search", "c3")]),
        ("Done.", []),
    )

    messages, _ = read_parts({"value": "First I look."}, {"value": "Then I search."}, {"value": "Done."}, result=result)

    assert outline(messages) == ["First I look.", "c1", "Then I search.", "c2", "c3", "Done."]


def test_a_call_without_a_part_is_between_its_neighbours() -> None:
    parts = [
        {"value": "One."},
        tool_part("a_tool", "c1"),
        {"value": "Two."},
        tool_part("a_tool", "c3"),
        {"value": "End."},
    ]
    result = rounds(("One.", [call("a_tool", "c1")]), ("Two.", [call("b_tool", "c2"), call("a_tool", "c3")]))

    assert outline(read_parts(*parts, result=result)[0]) == ["One.", "c1", "Two.", "c2", "c3", "End."]


def test_a_call_without_a_part_does_not_separate_a_call_from_its_edits() -> None:
    edit = {"kind": "textEditGroup", "uri": {"$mid": 1, "scheme": "file", "path": "/a"}, "edits": []}
    parts = [tool_part("copilot_createFile", "c1"), {"value": "\n```\n"}, edit, {"value": "\n```\n"}, {"value": "End."}]
    result = rounds([call("create_file", "c1", filePath="/a"), call("b_tool", "c2")])

    messages, _ = read_parts(*parts, result=result)
    assert outline(messages) == ["c1", "c2", "End."]
    assert [type(part).__name__ for part in messages[0].parts] == ["ToolCall", "FileEdit", "ToolCall", "Text"]


def test_a_call_recorded_only_in_the_rounds_has_its_result() -> None:
    messages, _ = read_parts(
        {"value": "Hm."}, result=rounds(("Hm.", [call("think", "c1__vscode-3")]), **{"c1__vscode-3": "ok"})
    )

    (made,) = [part for part in all_parts(messages) if isinstance(part, ToolCall)]
    assert (made.id, made.status, made.native, made.native_ids) == (
        "c1",
        "complete",
        "toolCallRounds",
        ["c1__vscode-3"],
    )
    assert results_in(messages) == {"c1": "ok"}


def test_a_result_without_a_call_is_included() -> None:
    messages, _ = read_parts({"value": "Hm."}, result=rounds([], lost="nobody asked"))

    assert results_in(messages) == {"lost": "nobody asked"}
    assert [message.role for message in messages] == ["assistant", "tool"]


def test_recorded_thinking_comes_before_its_round_if_the_response_has_none() -> None:
    result = rounds(("Look.", [call("read_file", "c1")]), ("Done.", []))
    result["metadata"]["toolCallRounds"][0]["thinking"] = {"id": "t", "text": ["let", " me"]}
    result["metadata"]["toolCallRounds"][1]["thinking"] = {"text": "good"}

    parts = [{"value": "Look."}, tool_part("copilot_readFile", "c1"), {"value": "Done."}]

    assert outline(read_parts(*parts, result=result)[0]) == ["(let me)", "Look.", "c1", "(good)", "Done."]


def test_a_call_without_a_part_follows_the_thinking_of_its_round() -> None:
    result = rounds([call("a_tool", "c1")], [call("b_tool", "c2")])
    result["metadata"]["toolCallRounds"][1]["thinking"] = {"text": "hm"}

    parts = [tool_part("a_tool", "c1"), {"kind": "thinking", "value": "hm"}, {"value": "End."}]

    assert outline(read_parts(*parts, result=result)[0]) == ["c1", "(hm)", "c2", "End."]


def test_recorded_thinking_is_not_repeated() -> None:
    result = rounds(("Done.", []))
    result["metadata"]["toolCallRounds"][0]["thinking"] = {"text": "good"}

    parts = [{"kind": "thinking", "value": "goo"}, {"value": "Done."}]

    assert outline(read_parts(*parts, result=result)[0]) == ["(goo)", "Done."]


def test_further_fields_of_a_recorded_call_are_in_extra() -> None:
    recorded = {**call("read_file", "c1"), "signature": "xyz"}

    (made,) = all_parts(read_parts(result=rounds([recorded]))[0])

    assert made.extra == {"toolCallRounds": {"signature": "xyz"}}


# --- preparations -----------------------------------------------------------------------------------------------


def preparation(name: str) -> dict[str, Any]:
    return {"kind": "prepareToolInvocation", "toolName": name}


def test_a_preparation_that_led_to_a_call_is_ignored() -> None:
    parts = [preparation("insert_edit_into_file")] * 2 + [tool_part("copilot_insertEdit", f"c{n}") for n in (1, 2)]

    messages, ledger = read_parts(*parts)

    assert outline(messages) == ["c1", "c2"]
    assert ledger.parts.ignored == {"tool-preparation": 2}


def test_preparation_of_a_call_that_only_the_extension_recorded_is_that_call() -> None:
    parts = [preparation("copilot_multiReplaceString"), preparation("b_tool")]
    rounds = [{"id": "r", "toolCalls": [{"id": "c1", "name": "multi_replace_string_in_file", "arguments": "{}"}]}]

    messages, ledger = read_parts(*parts, result={"metadata": {"toolCallRounds": rounds}})

    calls = [part for part in all_parts(messages) if isinstance(part, ToolCall)]
    assert sorted(call.name for call in calls) == ["b_tool", "multi_replace_string_in_file"]
    assert ledger.parts.ignored == {"tool-preparation": 1}


def test_call_by_which_a_tool_has_vscode_apply_its_edit_is_one_with_the_tools_own() -> None:
    parts = [tool_part("copilot_insertEdit", "c1"), tool_part("vscode_editFile_internal", "inner")]

    messages, _ = read_parts(*parts)

    (call,) = [part for part in all_parts(messages) if isinstance(part, ToolCall)]
    assert (call.tool_id, call.native_ids) == ("copilot_insertEdit", ["inner"])


def test_call_by_which_vscode_fetches_a_page_is_one_with_the_tools_own() -> None:
    urls = ["https://tide.example/1", "https://tide.example/2"]
    recorded = [call("fetch_webpage", f"c{number}", urls=[url]) for number, url in enumerate(urls)]
    outer = [tool_part("copilot_fetchWebPage", f"outer{number}") for number in range(2)]
    inner = [tool_part("vscode_fetchWebPage_internal", f"inner{number}") for number in range(2)]

    for parts in ([outer[0], inner[0], outer[1], inner[1]], [*outer, *inner]):
        messages, _ = read_parts(*copy.deepcopy(parts), result=rounds(recorded, c0="low water", c1="high water"))

        calls = [part for part in all_parts(messages) if isinstance(part, ToolCall)]
        assert [(call.id, call.native_ids) for call in calls] == [
            ("c0", ["outer0", "inner0"]), ("c1", ["outer1", "inner1"]),
        ]  # fmt: skip
        assert results_in(messages) == {"c0": "low water", "c1": "high water"}


@pytest.mark.parametrize(
    ("prepared", "tool_id", "name"),
    [
        ("copilot_fetchWebPage", "vscode_fetchWebPage_internal", "fetch_webpage"),
        ("fetch_webpage", "vscode_fetchWebPage_internal", "fetch_webpage"),
        ("vscode_fetchWebPage_internal", "vscode_fetchWebPage_internal", "fetch_webpage"),
        ("vscode_listCodeUsages", "copilot_listCodeUsages", "list_code_usages"),
        ("list_code_usages", "vscode_listCodeUsages", "list_code_usages"),
        ("insert_edit_into_file", "vscode_editFile_internal", "insert_edit_into_file"),
    ],
)
@pytest.mark.parametrize("native_id", ["c1", "another"])
def test_preparation_is_merged_into_the_call_under_either_name(
    prepared: str, tool_id: str, name: str, native_id: str
) -> None:
    recorded = rounds([call(name, "c1", given="tide")], c1="low water")

    messages, ledger = read_parts(preparation(prepared), tool_part(tool_id, native_id), result=recorded)

    (made,) = [part for part in all_parts(messages) if isinstance(part, ToolCall)]
    assert (made.id, made.name, made.arguments) == ("c1", name, '{"given": "tide"}')
    assert results_in(messages) == {"c1": "low water"}
    assert ledger.parts.ignored == {"tool-preparation": 1}


def inner_edit(given: str, output: str) -> dict[str, Any]:
    details = {"input": given, "output": [{"type": "embed", "isText": True, "value": output}], "isError": False}
    return tool_part("vscode_editFile_internal", "inner", resultDetails=details)


def test_arguments_and_result_of_the_inner_call_go_to_the_outer_call() -> None:
    messages, _ = read_parts(
        tool_part("copilot_insertEdit", "c1"), inner_edit('{"code": "tide = 3"}', "the tide is set")
    )

    (call,) = [part for part in all_parts(messages) if isinstance(part, ToolCall)]
    (result,) = [part for part in all_parts(messages) if isinstance(part, ToolResult)]
    assert (call.id, call.arguments) == ("c1", '{"code": "tide = 3"}')
    assert (result.call_id, result.text) == ("c1", "the tide is set")


def test_the_message_of_the_inner_call_goes_to_the_outer_call() -> None:
    outer = tool_part("copilot_fetchWebPage", "c1", pastTenseMessage="Fetched the page")
    inner = tool_part("vscode_fetchWebPage_internal", "inner", pastTenseMessage="Fetched 3 resources")

    messages, _ = read_parts(outer, inner)

    (made,) = [part for part in all_parts(messages) if isinstance(part, ToolCall)]
    assert made.message == "Fetched the page · Fetched 3 resources"


def test_arguments_and_result_of_both_calls_are_stored() -> None:
    recorded = rounds([call("insert_edit_into_file", "c1", filePath="/a")], c1="The edit was made.")

    messages, _ = read_parts(
        tool_part("copilot_insertEdit", "c1"), inner_edit('{"code": "tide = 3"}', "the tide is set"), result=recorded
    )

    (made,) = [part for part in all_parts(messages) if isinstance(part, ToolCall)]
    (result,) = [part for part in all_parts(messages) if isinstance(part, ToolResult)]
    assert (made.arguments, result.call_id, result.text) == ('{"filePath": "/a"}', "c1", "The edit was made.")
    shown_on = Conversation(id="vscode:s-1", source="vscode-session", messages=messages)
    for text in ("tide = 3", "the tide is set"):
        assert Lookup([result]).has(text)
        assert text in html_page(shown_on, made_by="x")


def test_a_preparation_without_a_call_is_a_prepared_call() -> None:
    parts = [preparation("a_tool"), tool_part("a_tool", "c1"), preparation("a_tool"), preparation("b_tool")]

    messages, ledger = read_parts(*parts)

    calls = [part for part in all_parts(messages) if isinstance(part, ToolCall)]
    assert [(made.id, made.name, made.status) for made in calls] == [
        ("c1", "a_tool", "complete"),
        ("prepared-2", "a_tool", "prepared"),
        ("prepared-3", "b_tool", "prepared"),
    ]
    assert ledger.parts.ignored == {"tool-preparation": 1}


# --- names and laws ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of_model", "registered"),
    [
        ("read_file", "copilot_readFile"),
        ("list_dir", "copilot_listDirectory"),
        ("grep_search", "copilot_findTextInFiles"),
        ("file_search", "copilot_findFiles"),
        ("semantic_search", "copilot_searchCodebase"),
        ("test_search", "copilot_findTestFiles"),
        ("replace_string_in_file", "copilot_replaceString"),
        ("multi_replace_string_in_file", "copilot_multiReplaceString"),
        ("insert_edit_into_file", "copilot_insertEdit"),
        ("edit_notebook_file", "copilot_editNotebook"),
        ("apply_patch", "copilot_applyPatch"),
        ("get_vscode_api", "copilot_getVSCodeAPI"),
        ("fetch_webpage", "copilot_fetchWebPage"),
        ("copilot_getNotebookSummary", "copilot_getNotebookSummary"),
        ("run_in_terminal", "copilot_runInTerminal"),
        ("mcp_books_get-page", "mcp_books_get-page"),
    ],
)
def test_a_tool_has_two_names(of_model: str, registered: str) -> None:
    assert tool_key(of_model) == tool_key(registered)


tools = st.sampled_from(["copilot_readFile", "copilot_findFiles", "run_in_terminal"])
names = st.sampled_from(["read_file", "file_search", "run_in_terminal", "think"])


@given(st.lists(tools, max_size=8), st.lists(st.lists(names, max_size=3), max_size=4))
def test_every_part_and_every_call_is_shown_exactly_once(of_parts: list[str], of_rounds: list[list[str]]) -> None:
    numbered = iter(range(100))
    made = [[call(name, f"c{next(numbered)}") for name in one] for one in of_rounds]
    parts = [tool_part(tool_id, f"u{index}") for index, tool_id in enumerate(of_parts)]

    messages, _ = read_parts(*parts, result=rounds(*made))

    calls = [part for part in all_parts(messages) if isinstance(part, ToolCall)]
    ids = [made_call.id for made_call in calls]
    assert len(set(ids)) == len(ids)
    assert [part.position for part in calls if part.position is not None] == list(range(len(parts)))
    assert {name for name in ids if name.startswith("c")} == {one["id"] for calls_of in made for one in calls_of}
    paired = [part for part in calls if part.tool_id is not None]
    assert all(tool_key(part.tool_id or "") == tool_key(part.name) for part in paired)
