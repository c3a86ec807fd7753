"""Copilot CLI logs: turns, who put a prompt there, how a turn ended, which model answered."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from copilog.model import Attachment, Compaction, Prompt, Text, Thinking, ToolCall, messages_of, title_of
from tests.sources.cli_builders import SESSION, Log, log_path, notice, only, parts_like, read_cleanly, read_log, roles


def test_a_turn_runs_from_one_prompt_to_the_next(tmp_path: Path) -> None:
    log = Log().start().ask("one").say("first").ask("two").say("second").say("and more")

    conversation = read_cleanly(tmp_path, log)

    assert (conversation.id, conversation.native_id) == (f"cli:{SESSION}", SESSION)
    assert [turn.request_id for turn in conversation.turns] == ["e1", "e3"]
    assert [turn.pointer for turn in conversation.turns] == ["line:2", "line:4"]
    assert [(message.role, message.turn) for message in conversation.messages] == [
        ("user", 0),
        ("assistant", 0),
        ("user", 1),
        ("assistant", 1),
        ("assistant", 1),
    ]
    assert title_of(conversation) == "one"


def test_the_order_of_the_lines_counts_and_not_the_chain_of_parents_or_times(tmp_path: Path) -> None:
    log = Log().start().ask("one").say("first").say("second")
    log.events[3] |= {"parentId": "nowhere", "timestamp": "2026-06-01T00:00:00.000Z"}

    conversation = read_cleanly(tmp_path, log)

    assert [part.text for part in parts_like(conversation, Text)] == ["one", "first", "second"]
    assert conversation.updated_at == datetime(2026, 6, 2, 8, 0, 2, tzinfo=UTC)


def test_a_late_answer_belongs_to_the_interaction_that_it_names(tmp_path: Path) -> None:
    log = Log().start().ask("one", interactionId="i1").ask("two", interactionId="i2", delivery="queued")
    log.say("first", interactionId="i1").say("second", interactionId="i2")

    conversation = read_cleanly(tmp_path, log)

    assert [message.turn for message in conversation.messages] == [0, 1, 0, 1]
    assert [turn.status for turn in conversation.turns] == ["complete", "complete"]


def test_prompts_sent_while_the_assistant_works_stay_in_its_turn(tmp_path: Path) -> None:
    log = Log().start().ask("one", interactionId="i1").call("c1", "view")
    log.ask("faster!", interactionId="i1", delivery="steering").end("c1").say("done", interactionId="i1")

    conversation = read_cleanly(tmp_path, log)

    assert len(conversation.turns) == 1
    assert [part.text for part in parts_like(conversation, Text)] == ["one", "faster!", "done"]


def test_an_interaction_without_a_prompt_is_a_turn_of_the_programs_own(tmp_path: Path) -> None:
    log = Log().start().ask("one", interactionId="i1").say("first", interactionId="i1")
    log.add("assistant.turn_start", {"turnId": "0", "interactionId": "i9"}).say("woken up", interactionId="i9")

    first, second = read_cleanly(tmp_path, log).turns

    assert (first.is_system_initiated, second.is_system_initiated) == (False, True)
    assert second.request_id is None


def test_a_prompt_without_an_interaction_gets_that_of_its_answer(tmp_path: Path) -> None:
    log = Log().start().ask("one").say("first", interactionId="i1").say("more", interactionId="i1")

    assert len(read_cleanly(tmp_path, log).turns) == 1


# --- who put it there ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "label"),
    [
        ({"source": "schedule-7"}, "schedule-7"),
        ({"source": "system"}, "system"),
        ({"isAutopilotContinuation": True}, "autopilot"),
        ({"source": "agent-a1", "interactionId": "i2"}, "agent-a1"),
        ({"source": "user"}, None),
        ({"source": ""}, None),
        ({}, None),
    ],
)
def test_not_every_user_message_is_from_the_user(data: dict[str, object], label: str | None, tmp_path: Path) -> None:
    log = Log().start().ask("one", interactionId="i1").say(interactionId="i1").ask("go on", **data)

    turn = read_cleanly(tmp_path, log).turns[-1]

    assert (turn.index, turn.is_system_initiated, turn.system_label) == (1, label is not None, label)


def test_the_text_of_a_skill_is_no_prompt_and_no_turn(tmp_path: Path) -> None:
    log = Log().start().ask("write an invoice", interactionId="i1").call("c1", "skill", {"skill": "invoices"})
    log.end("c1").ask("<skill-context>How to</skill-context>", source="skill-invoices", interactionId="i1").say()

    conversation = read_cleanly(tmp_path, log)

    (turn,) = conversation.turns
    assert [(skill.name, skill.is_loaded) for skill in turn.skills] == [("invoices", True)]
    injected = conversation.messages[3]
    assert [type(part) for part in injected.parts] == [Prompt]
    assert (injected.extra or {})["source"] == "skill-invoices"


def test_an_invoked_skill_is_stored_with_its_full_text(tmp_path: Path) -> None:
    data = {"name": "invoices", "path": "/home/ana/SKILL.md", "content": "# How to", "trigger": "user-invoked"}
    log = Log().start().ask("bill it").add("skill.invoked", data).ask("# How to", source="skill-invoices").say()

    conversation = read_cleanly(tmp_path, log)

    (skill,) = conversation.turns[0].skills
    assert (skill.file, skill.is_loaded, skill.evidence) == (
        "/home/ana/SKILL.md",
        True,
        "skill.invoked (user-invoked); user.message",
    )
    assert only(conversation, Attachment).text == "# How to"


def test_prompts_have_the_users_text_and_the_sent_text(tmp_path: Path) -> None:
    sent = "<current_datetime>now</current_datetime>\n\nwhy?"
    log = Log().start().ask("why?", transformedContent=sent).ask("same", transformedContent="same")

    first, second = read_cleanly(tmp_path, log).messages

    assert first.parts == [Text(text="why?"), Prompt(text=sent, native="transformedContent")]
    assert second.parts == [Text(text="same")]


def test_text_that_early_logs_put_around_a_prompt_is_removed(tmp_path: Path) -> None:
    content = "why?\n\n<current_datetime>2026-06-02T08:00:00.000Z</current_datetime>"

    (message,) = read_cleanly(tmp_path, Log().start().ask(content)).messages

    assert message.parts == [Text(text="why?"), Prompt(text=content, native="content")]


TAGGED = "see <reminder>mine</reminder> and\n<context>\nmine\n</context>"


def test_a_typed_prompt_with_a_sent_one_keeps_the_typed_tags(tmp_path: Path) -> None:
    sent = f"<current_datetime>now</current_datetime>\n\n{TAGGED}"

    (message,) = read_cleanly(tmp_path, Log().start().ask(TAGGED, transformedContent=sent)).messages

    assert message.parts == [Text(text=TAGGED), Prompt(text=sent, native="transformedContent")]


@pytest.mark.parametrize(
    ("version", "name", "text"),
    [
        ("unknown", None, ""),
        ("1.0.46", "vscode.metadata.json", '{"writtenToDisc": true}'),
        ("1.0.46", "vscode.requests.metadata.json", '[{"copilotRequestId": "r1"}]'),
        ("1.0.60", "workspace.yaml", "client_name: other"),
    ],
)
def test_reminders_that_another_program_added_to_a_prompt_are_removed(
    tmp_path: Path, version: str, name: str | None, text: str
) -> None:
    content = "why? <reminder>\nbe brief\n</reminder>\n<attachments>\na file\n</attachments>"
    sent = f"<current_datetime>now</current_datetime>\n\n{content}"
    if name is not None:
        (log_path(tmp_path).parent / name).write_text(text)

    conversation = read_cleanly(tmp_path, Log().start(copilotVersion=version).ask(content, transformedContent=sent))

    (message,) = conversation.messages
    assert message.parts[:2] == [Text(text="why?"), Prompt(text=content, native="content")]


# --- how it ended -------------------------------------------------------------------------------------------------


def test_error_after_a_turn_is_not_the_turns_own(tmp_path: Path) -> None:
    log = Log().start()
    log.ask("answered").say().add("session.error", {"errorType": "network", "message": "no route"})
    log.ask("asked again").add("session.error", {"message": "still none"})

    conversation = read_cleanly(tmp_path, log)

    assert [turn.status for turn in conversation.turns] == ["complete", "failed"]
    assert conversation.turns[0].error is None


def test_turns_have_their_outcome(tmp_path: Path) -> None:
    log = Log().start()
    log.ask("answered").say()
    log.ask("cut off").call("c1", "bash").begin("c1", "bash").add("abort", {"reason": "user initiated"})
    log.ask("failed").add("session.error", {"errorType": "quota", "message": "402", "statusCode": 402})
    log.ask("never answered")
    log.ask("recovered").add("session.error", {"message": "retry"}).say()
    log.ask("stopped halfway").call("c2", "bash").add("session.resume")
    log.ask("still at it").call("c3", "bash").begin("c3", "bash")

    conversation = read_cleanly(tmp_path, log)

    assert [turn.status for turn in conversation.turns] == [
        "complete",
        "cancelled",
        "failed",
        "unanswered",
        "complete",
        "cancelled",
        "pending",
    ]
    error = conversation.turns[2].error
    assert error is not None
    assert (error.message, error.code, error.flags) == ("402", "quota", ["quota-exceeded"])
    assert conversation.turns[4].error is None
    assert notice(conversation, "abort").text == "user initiated"


def test_a_turn_that_ends_with_a_tool_is_complete_when_its_round_ended(tmp_path: Path) -> None:
    log = Log().start().ask().add("assistant.turn_start", {"turnId": "0"}).call("c1", "task_complete")
    log.begin("c1", "task_complete").end("c1").add("assistant.turn_end", {"turnId": "0"})

    assert read_cleanly(tmp_path, log).turns[0].status == "complete"


def test_rounds_and_times_of_a_turn(tmp_path: Path) -> None:
    log = Log().start().ask().add("assistant.turn_start", {"turnId": "0"}).call("c1", "view", turnId="0").end("c1")
    log.add("assistant.turn_end", {"turnId": "0"}).add("assistant.turn_start", {"turnId": "1"}).say(turnId="1")
    log.add("assistant.turn_end", {"turnId": "1"})

    (turn,) = read_cleanly(tmp_path, log).turns

    assert [(made.id, made.call_ids, made.extra) for made in turn.rounds] == [
        ("0", ["c1"], {"elapsed_ms": 3000}),
        ("1", [], {"elapsed_ms": 2000}),
    ]
    times = turn.timing
    assert [time and time.second for time in (times.started_at, times.responded_at, times.completed_at)] == [1, 2, 8]


def test_events_between_two_runs_belong_to_the_next_turn(tmp_path: Path) -> None:
    log = Log().start().add("session.info", {"message": "hello"}).ask("one").say().shut_down()
    log.add("session.resume").add("session.info", {"message": "again"}).ask("two").say()

    conversation = read_cleanly(tmp_path, log)

    assert [(message.role, message.turn) for message in conversation.messages] == [
        ("system", 0),
        ("user", 0),
        ("assistant", 0),
        ("system", 0),
        ("system", 1),
        ("system", 1),
        ("user", 1),
        ("assistant", 1),
    ]
    assert len(messages_of(conversation, 1)) == 4


def test_events_after_the_last_turn_belong_to_it(tmp_path: Path) -> None:
    ended = read_cleanly(tmp_path, Log().start().ask().say().shut_down().add("session.resume"))
    silent = read_cleanly(tmp_path, Log().start().add("session.info", {"message": "hello"}))

    assert [message.turn for message in ended.messages] == [0, 0, 0, 0]
    assert [message.turn for message in silent.messages] == [None]


def test_work_that_continues_after_a_resume_stays_in_its_turn(tmp_path: Path) -> None:
    log = Log().start().ask("one", interactionId="i1").call("c1", "bash").begin("c1", "bash")
    log.add("session.resume", {"continuePendingWork": True}).end("c1", interactionId="i1").say("done")

    conversation = read_cleanly(tmp_path, log)

    assert [turn.status for turn in conversation.turns] == ["complete"]
    assert {message.turn for message in conversation.messages} == {0}


# --- which model --------------------------------------------------------------------------------------------------


def test_the_model_of_a_message_comes_from_the_nearest_record(tmp_path: Path) -> None:
    log = Log().start(selectedModel="m-start").ask().say("1")
    log.add("session.model_change", {"newModel": "m-change", "reasoningEffort": "high"}).say("2")
    log.add("assistant.turn_start", {"turnId": "0", "model": "m-round"}).say("3").say("4", model="m-message")
    log.add("assistant.turn_end").call("c1", "view").end("c1", model="m-tool")
    log.add("session.resume", {"selectedModel": "m-resume"}).ask().say("6")

    answers = [message for message in read_cleanly(tmp_path, log).messages if message.role == "assistant"]

    assert [(message.model, message.model_source) for message in answers] == [
        ("m-start", "session.start"),
        ("m-change", "session.model_change"),
        ("m-round", "assistant.turn_start"),
        ("m-message", "assistant.message"),
        ("m-tool", "tool.execution_complete"),
        ("m-resume", "session.resume"),
    ]


def test_the_resolved_model_replaces_auto(tmp_path: Path) -> None:
    log = Log().start(selectedModel="auto").ask("one").say("unknown")
    log.add("session.auto_mode_resolved", {"chosenModel": "gpt-5.4-mini"}).ask("two").say("known")

    conversation = read_cleanly(tmp_path, log)

    models = [message.model for message in conversation.messages if message.role == "assistant"]
    assert models == [None, "gpt-5.4-mini"]
    first, second = (turn.model for turn in conversation.turns)
    assert first is not None
    assert second is not None
    assert (first.id, first.resolved, second.id, second.resolved) == ("auto", None, "auto", "gpt-5.4-mini")


def test_a_turn_has_the_selected_model_and_the_one_that_answered(tmp_path: Path) -> None:
    log = Log().start(selectedModel="m1", reasoningEffort="low").ask().say(model="m2").ask()

    first, second = (turn.model for turn in read_cleanly(tmp_path, log).turns)

    assert first is not None
    assert second is not None
    assert (first.id, first.resolved) == ("m1", "m2")
    assert (second.id, second.resolved, second.extra) == ("m1", None, {"reasoning_effort": "low"})


# --- how the session ran ------------------------------------------------------------------------------------------


def test_modes_and_permissions_hold_from_then_on(tmp_path: Path) -> None:
    log = Log().start().ask("one")
    log.add("session.mode_changed", {"previousMode": "interactive", "newMode": "plan"}).ask("two")
    log.add("session.permissions_changed", {"mode": "allow-all", "previousMode": "manual"}).ask("three")
    log.add("session.permissions_changed", {"allowAllPermissions": False}).ask("four", agentMode="shell")
    log.add("session.permissions_changed", {"allowAllPermissions": True}).ask("five")

    modes = [turn.mode for turn in read_cleanly(tmp_path, log).turns]

    assert [(mode.id, mode.permission_level, mode.evidence) if mode else None for mode in modes] == [
        None,
        ("plan", None, "session.mode_changed"),
        ("plan", "allow-all", "session.mode_changed"),
        ("shell", None, "agentMode"),
        ("plan", "allow-all", "session.mode_changed"),
    ]


def test_a_custom_agent_is_active_until_it_is_deselected(tmp_path: Path) -> None:
    log = Log().start().ask("one").say().add("subagent.selected", {"agentName": "reviewer", "tools": ["view"]})
    log.ask("two").say().add("subagent.deselected").ask("three").add("subagent.selected", {"agentName": "late"}).say()

    agents = [turn.custom_agent for turn in read_cleanly(tmp_path, log).turns]

    assert [(agent.name, agent.tools) if agent else None for agent in agents] == [
        None,
        ("reviewer", ["view"]),
        ("late", []),
    ]


def test_the_workspace_follows_the_session(tmp_path: Path) -> None:
    log = Log().start(context={"cwd": "/home/ana/a", "branch": "main", "repository": "ana/a"}).ask()
    log.add("session.context_changed", {"cwd": "/home/ana/b", "headCommit": "c0ffee", "hostType": "ado"})

    workspace = read_cleanly(tmp_path, log).workspace

    assert workspace is not None
    assert (workspace.folder, workspace.branch, workspace.commit) == ("/home/ana/b", None, "c0ffee")
    assert workspace.extra == {"host_type": "ado"}


def test_sessions_have_their_provenance(tmp_path: Path) -> None:
    log = Log().start(detachedFromSpawningParentSessionId="s-parent").ask()
    log.add("session.handoff", {"sourceType": "remote", "remoteSessionId": "s-remote", "summary": "half done"})

    conversation = read_cleanly(tmp_path, log)

    assert [(relation.kind, relation.other_id) for relation in conversation.relations] == [
        ("subagent", "cli:s-parent"),
        ("continuation", "cli:s-remote"),
    ]
    assert conversation.marks == ["detached"]


def test_repeated_reasoning_is_shown_once(tmp_path: Path) -> None:
    after = Log().start().ask().say("hi", reasoningText="Hm.", reasoningOpaque="b3BhcXVl")
    after.add("assistant.reasoning", {"reasoningId": "r1", "content": "Hm."})
    before = Log().start().ask().add("assistant.reasoning", {"reasoningId": "r1", "content": "Hm."})
    before.say("hi", reasoningText="Hm.")
    alone = Log().start().ask().add("assistant.reasoning", {"reasoningId": "r1", "content": "Hm."}).say("hi")

    for log in (after, before, alone):
        conversation = read_cleanly(tmp_path, log)
        thinking = only(conversation, Thinking)
        assert (thinking.text, thinking.id) == ("Hm.", "r1")
    assert roles(read_cleanly(tmp_path, before)) == ["user", "assistant"]
    assert (read_cleanly(tmp_path, after).messages[1].extra or {})["reasoningOpaque"] == "b3BhcXVl"


def test_a_compaction_replaces_nothing_in_the_log(tmp_path: Path) -> None:
    log = Log().start().ask("one").say("first").add("session.compaction_start", {"trigger": "manual"})
    log.add("session.compaction_complete", {"success": True, "summaryContent": "<overview>x</overview>"})
    log.add("session.compaction_complete", {"success": False, "error": "too long"}).say("second")

    conversation = read_cleanly(tmp_path, log)

    compaction = only(conversation, Compaction)
    assert (compaction.text, compaction.elapsed_ms) == ("<overview>x</overview>", 1000)
    assert notice(conversation, "compaction-failed").text == "too long"
    assert [part.text for part in parts_like(conversation, Text)] == ["one", "first", "second"]


def test_references_of_an_answer_are_in_its_turn(tmp_path: Path) -> None:
    citations = {"sources": [{"id": "s1", "url": "https://example.com", "title": "Docs"}, 7], "spans": []}

    conversation = read_cleanly(tmp_path, Log().start().ask().say(citations=citations))

    (reference,) = conversation.turns[0].references
    assert reference.place is not None
    assert (reference.place.uri, reference.place.name) == ("https://example.com", "Docs")


def test_pieces_that_are_no_objects_are_bad_parts(tmp_path: Path) -> None:
    log = Log().start().ask(attachments=["x"]).say(toolRequests=[7])

    _, ledger = read_log(tmp_path, log)

    assert [(bad.line, bad.pointer) for bad in ledger.parts.bad] == [
        (2, "/data/attachments/0"),
        (3, "/data/toolRequests/0"),
    ]


def test_a_call_that_the_program_makes_by_itself_is_not_the_models(tmp_path: Path) -> None:
    reading = {"toolCallId": "c2", "name": "read_bash", "arguments": {"shellId": "0"}, "toolTitle": "Read shell output"}
    of_model = {"model": "opus", "turnId": "0", "interactionId": "i1"}
    log = Log().start().ask(interactionId="i1")
    log.add("assistant.turn_start", {"turnId": "0", "interactionId": "i1"}).call("c1", "bash", **of_model)
    log.begin("c1", "bash", turnId="0").end("c1", turnId="0", model="opus")
    log.add("assistant.message", {"messageId": "m2", "content": "", "toolRequests": [reading]})
    log.begin("c2", "read_bash").end("c2", "completed with exit code 6").say("Done.", **of_model)
    conversation = read_cleanly(tmp_path, log)

    found = [
        (message.role, message.model, part.id, part.origin, part.status)
        for message in conversation.messages
        for part in message.parts
        if isinstance(part, ToolCall)
    ]
    assert found == [("assistant", "opus", "c1", None, "complete"), ("system", None, "c2", "program", "complete")]
    assert [one.call_ids for one in conversation.turns[0].rounds] == [["c1"]]
    assert {one.turn for one in conversation.messages} == {0}
