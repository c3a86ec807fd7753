"""What a sub-agent did is marked by the call that started it."""

from __future__ import annotations

from typing import Any

from copilog.model import Message, ToolCall, ToolResult
from tests.sources.vscode_builders import all_parts, read_parts
from tests.sources.vscode_part_samples import uri
from tests.sources.vscode_tool_samples import tool_part


def starts(call_id: str, **fields: Any) -> dict[str, Any]:
    """Make a call that starts a sub-agent."""
    return tool_part("runSubagent", call_id, toolSpecificData={"kind": "subagent", "prompt": "go"}, **fields)


def of_run(call_id: str, run_id: str, **fields: Any) -> dict[str, Any]:
    return tool_part("copilot_readFile", call_id, subAgentInvocationId=run_id, **fields)


def of_some_run(call_id: str) -> dict[str, Any]:
    return tool_part("copilot_readFile", call_id, fromSubAgent=True)


def callers(messages: list[Message]) -> dict[str, str | None]:
    """Return the caller of each call."""
    return {
        part.id: message.parent_call_id for message in messages for part in message.parts if isinstance(part, ToolCall)
    }


def test_a_run_is_identified_by_the_id_of_its_call() -> None:
    messages, _ = read_parts(starts("s1"), of_run("c1", "s1"), of_run("c2", "s1"), tool_part(call_id="c3"))

    assert callers(messages) == {"s1": None, "c1": "s1", "c2": "s1", "c3": None}


def test_a_run_may_be_identified_by_another_id_of_its_call() -> None:
    messages, _ = read_parts(starts("s1", subAgentInvocationId="run-1"), of_run("c1", "run-1"))

    assert callers(messages) == {"s1": None, "c1": "s1"}
    (caller, _) = [part for part in all_parts(messages) if isinstance(part, ToolCall)]
    assert caller.subagent is not None
    assert caller.subagent.run_id == "run-1"


def test_a_caller_may_carry_its_own_id() -> None:
    assert callers(read_parts(starts("s1", subAgentInvocationId="s1"), of_run("c1", "s1"))[0]) == {
        "s1": None,
        "c1": "s1",
    }


def test_an_own_run_id_of_an_ordinary_call_stays_in_extra() -> None:
    ((part,),) = [message.parts for message in read_parts(of_run("c1", "c1"))[0]]

    assert part.extra == {"invocationMessage": "Working", "subAgentInvocationId": "c1"}


def test_the_caller_may_come_after_its_children() -> None:
    for caller in (starts("s1"), starts("s1", subAgentInvocationId="s1")):
        assert callers(read_parts(of_run("c1", "s1"), of_run("c2", "s1"), caller)[0]) == {
            "c1": "s1",
            "c2": "s1",
            "s1": None,
        }
    shared = [of_run("c1", "run-1"), starts("s1", subAgentInvocationId="run-1")]
    assert callers(read_parts(*shared)[0]) == {"c1": "s1", "s1": None}


def test_a_sub_agent_may_start_another() -> None:
    parts = [starts("s1"), starts("s2", subAgentInvocationId="s1"), of_run("c1", "s2"), of_run("c2", "s1")]

    assert callers(read_parts(*parts)[0]) == {"s1": None, "s2": "s1", "c1": "s2", "c2": "s1"}


def test_two_sub_agents_side_by_side() -> None:
    parts = [starts("s1"), starts("s2"), of_run("c1", "s1"), of_run("c2", "s2"), of_run("c3", "s1")]

    assert callers(read_parts(*parts)[0]) == {"s1": None, "s2": None, "c1": "s1", "c2": "s2", "c3": "s1"}


def test_cycles_of_callers_are_cut() -> None:
    parts = [starts("s1", subAgentInvocationId="s2"), starts("s2", subAgentInvocationId="s1")]

    assert callers(read_parts(*parts)[0]) == {"s1": "s2", "s2": None}


def test_a_run_without_its_caller_has_its_own_id() -> None:
    assert callers(read_parts(of_run("c1", "run-9"))[0]) == {"c1": "run-9"}


def test_parts_name_the_caller_by_its_id_in_the_model() -> None:
    rounds = [{"toolCalls": [{"id": "toolu_1__vscode-5", "name": "runSubagent", "arguments": "{}"}]}]

    messages, _ = read_parts(starts("uuid-1"), of_run("c1", "uuid-1"), result={"metadata": {"toolCallRounds": rounds}})

    assert callers(messages) == {"toolu_1": None, "c1": "toolu_1"}


def test_the_caller_may_be_recorded_only_in_the_rounds() -> None:
    rounds = [{"toolCalls": [{"id": "toolu_1__vscode-5", "name": "runSubagent", "arguments": "{}"}]}]

    messages, _ = read_parts(of_run("c1", "toolu_1__vscode-5"), result={"metadata": {"toolCallRounds": rounds}})

    assert callers(messages) == {"toolu_1": None, "c1": "toolu_1"}


def test_calls_of_a_sub_agent_are_not_paired_with_the_main_agents_records() -> None:
    rounds = [
        {
            "toolCalls": [
                {"id": "r1", "name": "runSubagent", "arguments": "{}"},
                {"id": "r2", "name": "read_file", "arguments": '{"filePath": "/mine"}'},
            ]
        }
    ]
    parts = [starts("s1"), of_run("c1", "s1"), tool_part("copilot_readFile", "u2")]

    messages, _ = read_parts(*parts, result={"metadata": {"toolCallRounds": rounds}})

    calls = {part.position: part for part in all_parts(messages) if isinstance(part, ToolCall)}
    assert (calls[1].id, calls[1].arguments) == ("c1", None)
    assert (calls[2].id, calls[2].arguments) == ("r2", '{"filePath": "/mine"}')


def test_older_files_mark_calls_of_sub_agents_without_a_caller() -> None:
    parts = [starts("s1"), of_some_run("c1"), tool_part(call_id="c2"), starts("s2"), of_some_run("c3")]

    assert callers(read_parts(*parts)[0]) == {"s1": None, "c1": "s1", "c2": None, "s2": None, "c3": "s2"}


def test_in_older_files_the_caller_may_come_after_its_children() -> None:
    parts = [of_some_run("c1"), starts("s1"), of_some_run("c2"), of_some_run("c3"), starts("s2")]

    assert callers(read_parts(*parts)[0]) == {"c1": "s1", "s1": None, "c2": "s2", "c3": "s2", "s2": None}


def test_a_sub_agent_of_older_files_is_recognized_by_the_tool() -> None:
    parts = [tool_part("runSubagent", "s1"), of_some_run("c1")]

    assert callers(read_parts(*parts)[0]) == {"s1": None, "c1": "s1"}


def test_a_call_without_a_recorded_sub_agent_is_of_the_main_agent() -> None:
    assert callers(read_parts(of_some_run("c1"))[0]) == {"c1": None}
    assert callers(read_parts({**starts("s1"), "fromSubAgent": True})[0]) == {"s1": None}


def test_other_parts_of_a_run_belong_to_it() -> None:
    edit = {"kind": "externalEdit", "uri": uri("/a"), "editKind": "edit", "subAgentInvocationId": "s1"}
    hook = {"kind": "hook", "hookType": "Stop", "subAgentInvocationId": "s1"}

    messages, _ = read_parts(starts("s1"), edit, hook, {"value": "Done."})

    assert [(message.parent_call_id, len(message.parts)) for message in messages] == [(None, 1), ("s1", 2), (None, 1)]


def test_edits_belong_to_the_sub_agents_call_that_made_them() -> None:
    edit = {"kind": "textEditGroup", "uri": uri("/a"), "edits": []}

    messages, _ = read_parts(starts("s1"), {**of_run("c1", "s1"), "toolId": "copilot_createFile"}, edit)

    assert [message.parent_call_id for message in messages] == [None, "s1"]


def test_the_result_of_a_sub_agent_follows_its_parts() -> None:
    data = {"kind": "subagent", "result": "found it"}
    parts = [
        tool_part("runSubagent", "s1", toolSpecificData=data),
        of_run("c1", "s1", resultDetails={"input": "", "output": "page"}),
        {"value": "So it is there."},
    ]

    messages, _ = read_parts(*parts)

    assert [(message.role, message.parent_call_id, type(message.parts[0]).__name__) for message in messages] == [
        ("assistant", None, "ToolCall"),
        ("assistant", "s1", "ToolCall"),
        ("tool", "s1", "ToolResult"),
        ("tool", None, "ToolResult"),
        ("assistant", None, "Text"),
    ]
    assert [part.call_id for part in all_parts(messages) if isinstance(part, ToolResult)] == ["c1", "s1"]
