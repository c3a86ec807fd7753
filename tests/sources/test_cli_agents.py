"""Copilot CLI logs: sub-agents, whose words stand beside those of the main agent."""

from __future__ import annotations

from pathlib import Path

from copilog.model import ToolCall
from tests.sources.cli_builders import Log, notice, parts_like, read_cleanly

TASK = {"agent_type": "explore", "description": "find callers", "prompt": "Who calls total()?"}
STARTED = {"toolCallId": "T", "agentName": "explore", "agentDisplayName": "find callers", "model": "haiku"}


def session() -> Log:
    return Log().start(selectedModel="opus").ask().call("T", "task", TASK).begin("T", "task", TASK)


def test_messages_of_a_sub_agent_name_the_call_that_started_it(tmp_path: Path) -> None:
    log = session().add("subagent.started", STARTED, agentId="a-1")
    log.add("user.message", {"content": "Who calls total()?", "source": "agent-main"}, agentId="a-1")
    request = {"toolCallId": "U", "name": "grep", "arguments": {"pattern": "total("}}
    log.add("assistant.message", {"content": "", "toolRequests": [request]}, agentId="a-1")
    log.add("tool.execution_start", {"toolCallId": "U", "toolName": "grep"}, agentId="a-1")
    log.add("tool.execution_complete", {"toolCallId": "U", "success": True, "result": {"content": "x"}})
    log.add("assistant.message", {"content": "cart.py calls it"}, agentId="a-1")
    done = {"durationMs": 19950, "totalTokens": 5120, "totalToolCalls": 3}
    log.add("subagent.completed", {**STARTED, **done}, agentId="a-1").end("T", "cart.py calls it").say("Only one.")

    conversation = read_cleanly(tmp_path, log)

    main = [message for message in conversation.messages if message.parent_call_id is None]
    inner = [message for message in conversation.messages if message.parent_call_id == "T"]
    assert [message.role for message in main] == ["user", "assistant", "tool", "assistant"]
    assert [message.role for message in inner] == ["user", "assistant", "tool", "assistant"]
    assert len(conversation.turns) == 1
    call = next(part for part in parts_like(conversation, ToolCall) if part.id == "T")
    subagent = call.subagent
    assert subagent is not None
    assert (subagent.run_id, subagent.name, subagent.description) == ("a-1", "explore", "find callers")
    assert (subagent.prompt, subagent.model, subagent.elapsed_ms) == ("Who calls total()?", "haiku", 19950)
    assert (subagent.result, subagent.extra) == ("cart.py calls it", {"totalTokens": 5120, "totalToolCalls": 3})


def test_the_model_of_a_sub_agent_is_its_own(tmp_path: Path) -> None:
    log = session().add("subagent.started", STARTED, agentId="a-1")
    log.add("assistant.message", {"content": "hm"}, agentId="a-1").say("main")

    conversation = read_cleanly(tmp_path, log)

    inner, main = conversation.messages[-2:]
    assert (inner.model, inner.model_source) == ("haiku", "subagent.started")
    assert (main.model, main.model_source) == ("opus", "session.start")


def test_a_sub_agent_has_the_model_of_its_answers_if_its_start_names_none(tmp_path: Path) -> None:
    log = session().add("subagent.started", {**STARTED, "model": None}, agentId="a-1")
    log.add("assistant.message", {"content": "hm", "model": "haiku"}, agentId="a-1").say("main", model="opus")

    call = next(part for part in parts_like(read_cleanly(tmp_path, log), ToolCall) if part.id == "T")

    assert call.subagent is not None
    assert call.subagent.model == "haiku"


def test_before_agents_had_ids_there_was_another_mark(tmp_path: Path) -> None:
    log = session().add("assistant.message", {"content": "inner", "parentToolCallId": "T"})
    log.add("tool.execution_start", {"toolCallId": "U", "toolName": "grep", "parentToolCallId": "T"})

    conversation = read_cleanly(tmp_path, log)

    assert [message.parent_call_id for message in conversation.messages] == [None, None, "T", "T"]


def test_an_event_with_both_marks_joins_an_agent_id_to_its_call(tmp_path: Path) -> None:
    log = session().add("assistant.message", {"content": "inner", "parentToolCallId": "T"}, agentId="a-1")
    log.add("assistant.message", {"content": "more"}, agentId="a-1")

    conversation = read_cleanly(tmp_path, log)

    assert [message.parent_call_id for message in conversation.messages] == [None, None, "T", "T"]


def test_an_agent_may_be_named_before_its_call(tmp_path: Path) -> None:
    log = session().add("assistant.message", {"content": "early"}, agentId="a-1")
    log.add("subagent.started", STARTED, agentId="a-1").ask("next")
    log.add("assistant.message", {"content": "nobody knows"}, agentId="a-9")

    conversation = read_cleanly(tmp_path, log)

    parents = {message.parent_call_id for message in conversation.messages if message.role == "assistant"}
    assert parents == {None, "T", "a-9"}


def test_the_main_agent_may_name_itself(tmp_path: Path) -> None:
    log = Log().start().ask().add("assistant.message", {"content": "me"}, agentId="main")

    assert read_cleanly(tmp_path, log).messages[-1].parent_call_id is None


def test_a_sub_agent_may_start_another(tmp_path: Path) -> None:
    log = session().add("subagent.started", STARTED, agentId="a-1")
    request = {"toolCallId": "V", "name": "task", "arguments": TASK}
    log.add("assistant.message", {"content": "", "toolRequests": [request]}, agentId="a-1")
    log.add("subagent.started", {**STARTED, "toolCallId": "V"}, agentId="a-2")
    log.add("assistant.message", {"content": "deep"}, agentId="a-2")

    conversation = read_cleanly(tmp_path, log)

    assert [message.parent_call_id for message in conversation.messages] == [None, None, "T", "V"]


def test_a_background_sub_agent_ends_long_after_its_call(tmp_path: Path) -> None:
    log = session().add("subagent.started", STARTED, agentId="a-1").end("T", "started in the background").say("wait")
    kind = {"type": "agent_completed", "agentId": "a-1", "agentType": "explore", "status": "completed"}
    log.ask("and?").add("subagent.completed", {**STARTED, "totalTokens": 9}, agentId="a-1")
    log.add("system.notification", {"content": "done", "kind": kind}).say("done")

    conversation = read_cleanly(tmp_path, log)

    (call,) = parts_like(conversation, ToolCall)
    assert call.subagent is not None
    assert (call.subagent.elapsed_ms, call.subagent.extra) == (4000, {"totalTokens": 9})
    assert (notice(conversation, "notification").data or {})["kind"] == kind


def test_a_failed_sub_agent_has_its_error(tmp_path: Path) -> None:
    log = session().add("subagent.started", STARTED).add("subagent.failed", {**STARTED, "error": "no more turns"})

    (call,) = parts_like(read_cleanly(tmp_path, log), ToolCall)

    assert call.subagent is not None
    assert call.subagent.extra == {"error": "no more turns", "failed": True}


def test_a_sub_agent_without_its_call_becomes_notices(tmp_path: Path) -> None:
    log = Log().start().ask().add("subagent.started", STARTED).add("subagent.completed", STARTED)

    conversation = read_cleanly(tmp_path, log)

    assert notice(conversation, "subagent-started").text == "find callers"
    assert notice(conversation, "subagent-completed").text == "find callers"


def test_an_end_without_a_start_still_has_its_call(tmp_path: Path) -> None:
    log = session().add("subagent.completed", {**STARTED, "durationMs": 7}, agentId="a-1")

    (call,) = parts_like(read_cleanly(tmp_path, log), ToolCall)

    assert call.subagent is not None
    assert (call.subagent.name, call.subagent.elapsed_ms, call.subagent.started_at) == ("explore", 7, None)


def test_the_interactions_of_sub_agents_begin_no_turn(tmp_path: Path) -> None:
    log = session().add("subagent.started", STARTED, agentId="a-1")
    log.add("assistant.turn_start", {"turnId": "0", "interactionId": "own"}, agentId="a-1")
    log.add("assistant.message", {"content": "x", "interactionId": "own"}, agentId="a-1")

    conversation = read_cleanly(tmp_path, log)

    assert len(conversation.turns) == 1
    assert (conversation.messages[-1].extra or {})["interactionId"] == "own"
    assert (conversation.turns[0].rounds[0].extra or {})["parent_call_id"] == "T"


def test_an_error_of_a_sub_agent_does_not_fail_the_turn(tmp_path: Path) -> None:
    log = session().add("subagent.started", STARTED, agentId="a-1")
    log.add("session.error", {"message": "inner"}, agentId="a-1").end("T").say("fine")

    conversation = read_cleanly(tmp_path, log)

    assert [turn.status for turn in conversation.turns] == ["complete"]
    assert notice(conversation, "error").text == "inner"
