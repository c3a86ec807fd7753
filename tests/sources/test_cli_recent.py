"""What releases up to 1.0.102 of Copilot CLI write otherwise than earlier ones."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from copilog import identity
from copilog.derive.documents import documents_of
from copilog.model import (
    Attachment,
    CheckpointDocument,
    Compaction,
    Confirmation,
    FileEdit,
    Question,
    Terminal,
    ToolCall,
    prose_of,
)
from copilog.sources.extension.session_store import SessionStore
from tests.sources.cli_builders import SESSION, Log, notice, only, parts_like, read_cleanly, read_path, write_log
from tests.sources.extension_builders import database_from, found_at, read

BODY = "# Lamp care\nTrim the wick every evening.\n"
BODY_ID = f"sha256:{sha256(BODY.encode()).hexdigest()}"


# --- sub-agents -------------------------------------------------------------------------------------------------------


def delegated() -> Log:
    log = Log().start(selectedModel="opus").ask().call("T", "task", {"agent_type": "explore"}).begin("T", "task")
    return log.add("subagent.started", {"toolCallId": "T", "agentName": "explore"}, agentId="a-1")


def test_an_agent_that_a_sub_agent_selects_stays_there(tmp_path: Path) -> None:
    log = delegated().add("subagent.selected", {"agentName": "explore", "tools": ["view"]}, agentId="a-1")
    log.end("T").say().ask().say()

    made = read_cleanly(tmp_path, log)

    assert [turn.custom_agent for turn in made.turns] == [None, None]
    (selected,) = [message for message in made.messages if any(p.native == "subagent.selected" for p in message.parts)]
    assert selected.parent_call_id == "T"


def test_an_agent_that_a_sub_agent_leaves_stays_with_the_conversation(tmp_path: Path) -> None:
    log = delegated().add("subagent.selected", {"agentName": "reviewer"}).add("subagent.deselected", agentId="a-1")

    made = read_cleanly(tmp_path, log.end("T").say().ask().say())

    agent = made.turns[1].custom_agent
    assert agent is not None
    assert agent.name == "reviewer"


def test_a_sub_agent_has_its_configured_model(tmp_path: Path) -> None:
    log = delegated().add("subagent.configured", {"model": "haiku", "multiTurn": True}, agentId="a-1")
    log.add("assistant.message", {"content": "found"}, agentId="a-1").end("T").say()

    made = read_cleanly(tmp_path, log)

    call = only(made, ToolCall)
    assert call.subagent is not None
    assert (call.subagent.model, call.subagent.extra) == ("haiku", {"multiTurn": True})
    assert [message.model for message in made.messages if message.parent_call_id == "T"] == ["haiku"]


# --- questions --------------------------------------------------------------------------------------------------------


def test_the_answer_to_a_form_is_there_field_by_field(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"oil": {"type": "string", "title": "Oil", "enum": ["colza", "sperm"]}}}
    response = {"responseKind": "ask_user", "message": "Which oil?", "content": {"oil": "colza"}}
    recorded = {"requestId": "r", "toolCallId": "Q", "response": {**response, "requestedSchema": schema}}
    log = Log().start().ask().call("Q", "ask_user").begin("Q", "ask_user")
    log.add("human_response.recorded", recorded).end("Q", "User responded: colza").say()

    made = read_cleanly(tmp_path, log)

    asked = only(made, Confirmation)
    assert (asked.type, asked.message, asked.answer, asked.state) == ("questions", "Which oil?", None, "answered")
    assert asked.questions == [
        Question(id="oil", title="Oil", type="string", options=["colza", "sperm"], answer="colza"),
    ]
    assert made.turns[0].timing.waited_ms == 1000  # from the start of the call to the answer


@pytest.mark.parametrize(("is_approved", "state"), [(True, "accepted"), (False, "rejected")])
def test_answer_to_a_plan_accepts_or_rejects_it(tmp_path: Path, is_approved: bool, state: str) -> None:
    response = {"responseKind": "exit_plan_mode", "summary": "- Trim it", "approved": is_approved}
    recorded = {"requestId": "r", "toolCallId": "P", "response": {**response, "selectedAction": "interactive"}}
    log = Log().start().ask().call("P", "exit_plan_mode").begin("P", "exit_plan_mode")
    log.add("human_response.recorded", recorded).end("P", "Plan approved!").say()

    asked = only(read_cleanly(tmp_path, log), Confirmation)

    assert (asked.type, asked.message, asked.answer, asked.state) == ("plan", "- Trim it", "interactive", state)


def test_a_stream_with_the_question_and_the_response_has_it_once(tmp_path: Path) -> None:
    log = Log().start().ask().call("Q", "ask_user").begin("Q", "ask_user")
    log.pass_by("elicitation.requested", requestId="r", message="Which oil?", toolCallId="Q")
    log.add("human_response.recorded", {"requestId": "r", "toolCallId": "Q", "response": "colza"})
    log.pass_by("elicitation.completed", requestId="r", action="accept").end("Q", "colza").say()

    made = read_cleanly(tmp_path, log)

    assert only(made, Confirmation).message == "Which oil?"
    assert made.turns[0].timing.waited_ms == 2000


# --- skills -----------------------------------------------------------------------------------------------------------


def test_a_skill_is_delivered_with_the_text_that_an_earlier_event_has(tmp_path: Path) -> None:
    around = {"prefix": "<skill-context>\n", "suffix": "</skill-context>", "source": "skill-lamp-care"}
    log = Log().start().ask().add("skill.invoked", {"name": "lamp-care", "path": "/s/SKILL.md", "content": BODY})
    log.add("skill.context_delivered_ref", {"contentId": BODY_ID, **around})
    log.ask().add("skill.invoked_ref", {"name": "lamp-care", "path": "/s/SKILL.md", "contentId": BODY_ID}).say()

    made = read_cleanly(tmp_path, log)

    assert [(part.type, part.name, part.text) for part in parts_like(made, Attachment)] == [
        ("skill", "lamp-care", BODY),
        ("skill-context", "lamp-care", f"<skill-context>\n{BODY}</skill-context>"),
        ("skill", "lamp-care", BODY),
    ]
    assert [[skill.name for skill in turn.skills if skill.is_loaded] for turn in made.turns] == [["lamp-care"]] * 2


def test_a_skill_whose_text_is_in_no_event_keeps_the_id_of_the_text(tmp_path: Path) -> None:
    log = Log().start().ask().add("skill.invoked_ref", {"name": "lamp-care", "contentId": BODY_ID})

    part = only(read_cleanly(tmp_path, log), Attachment)

    assert (part.text, part.extra) == (None, {"contentId": BODY_ID})


# --- tools ------------------------------------------------------------------------------------------------------------


def test_a_call_that_a_kill_interrupted_is_cancelled(tmp_path: Path) -> None:
    error = {"code": "interrupted", "message": "Interrupted before a result was recorded."}
    log = Log().start(selectedModel="opus").ask().call("B", "bash", {"command": "sleep 60"}).begin("B", "bash")
    log.add("session.resume").add(
        "tool.execution_complete",
        {"toolCallId": "B", "success": False, "model": "resumed", "interactionId": "resume", "error": error},
    )
    log.ask().say()

    made = read_cleanly(tmp_path, log)

    assert only(made, ToolCall).status == "cancelled"
    assert {message.model for message in made.messages} == {"opus", None}


def test_the_title_of_a_tool_is_that_of_its_start(tmp_path: Path) -> None:
    log = Log().start().ask().call("V", "view").begin("V", "view", toolTitle="Reading file").end("V").say()

    assert only(read_cleanly(tmp_path, log), ToolCall).title == "Reading file"


def test_recorded_file_edits_have_absolute_paths_and_files_missing_in_arguments(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Add File: lamps/wick.txt\n+cotton\n*** End Patch\n"
    edits = [{"path": "/home/ana/lamps/wick.txt", "kind": "create"}, {"path": "/home/ana/old.txt", "kind": "delete"}]
    log = Log().start().ask().call("P", "apply_patch", patch).begin("P", "apply_patch", patch)
    log.end("P", fileEdits=edits).run("M", "tidy", fileEdits=[{"path": "/home/ana/log.md", "kind": "edit"}]).say()

    made = read_cleanly(tmp_path, log)

    assert [(edit.call_id, edit.action, edit.path) for edit in parts_like(made, FileEdit)] == [
        ("P", "create", "/home/ana/lamps/wick.txt"),
        ("P", "delete", "/home/ana/old.txt"),
        ("M", "edit", "/home/ana/log.md"),
    ]


def test_a_command_that_the_user_ran_has_its_exit_code(tmp_path: Path) -> None:
    log = Log().start().ask()
    log.add("tool.user_requested", {"toolCallId": "U", "toolName": "local_shell", "arguments": {"command": "false"}})
    log.add(
        "tool.execution_complete",
        {"toolCallId": "U", "success": False, "isUserRequested": True, "shellExecution": {"exitCode": 4}},
    )

    made = read_cleanly(tmp_path, log.say())

    assert (only(made, ToolCall).origin, only(made, Terminal).exit_code) == ("user", 4)


# --- the session ------------------------------------------------------------------------------------------------------


def test_a_turn_has_no_model_after_its_model_was_withdrawn(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say().add("session.model_deselected", {"previousModel": "opus"})
    log.ask("anybody there?")

    made = read_cleanly(tmp_path, log)

    assert [turn.model.name if turn.model else None for turn in made.turns] == ["opus", None]
    assert notice(made, "model-deselected").text == "opus"


def test_a_compaction_that_log_file_and_store_have_is_there_once(tmp_path: Path) -> None:
    sections = "<overview>Lamps.</overview>\n<next_steps>Trim.</next_steps>"
    log = Log().start().ask().say()
    summary = f"{sections}\n<checkpoint_title>Lamp talk</checkpoint_title>"
    done = {"success": True, "summaryContent": summary, "checkpointNumber": 1}
    path = write_log(tmp_path, log.add("session.compaction_complete", done).say())
    checkpoints = path.parent / "checkpoints"
    checkpoints.mkdir()
    (checkpoints / "001-lamp-talk.md").write_text(sections)
    (checkpoints / "index.md").write_text("| # | Title | File |\n|---|---|---|\n| 1 | Lamp talk | 001-lamp-talk.md |\n")
    columns = "id INTEGER, session_id TEXT, checkpoint_number INTEGER, title TEXT, overview TEXT, next_steps TEXT"
    script = f"""
        CREATE TABLE sessions (id TEXT PRIMARY KEY, cwd TEXT);
        CREATE TABLE turns (id INTEGER, session_id TEXT, turn_index INTEGER, user_message TEXT);
        CREATE TABLE checkpoints ({columns});
        INSERT INTO sessions VALUES ('{SESSION}', '/home/ana');
        INSERT INTO checkpoints VALUES (1, '{SESSION}', 1, 'Lamp talk', 'Lamps.', 'Trim.');
    """
    store = database_from(script, tmp_path / ".copilot" / "session-store.db")
    source = SessionStore()

    made = identity.merge([read_cleanly(tmp_path, log), *read(source, found_at(source, store))[0]])

    assert (only(made, Compaction).title, only(made, Compaction).text) == ("Lamp talk", summary)
    [(checkpoint, message)] = documents_of(made)
    assert isinstance(checkpoint, CheckpointDocument)
    assert (checkpoint.number, checkpoint.title, checkpoint.sections) == (
        1, "Lamp talk", {"overview": "Lamps.", "next_steps": "Trim."},
    )  # fmt: skip
    assert message is not None
    assert made.messages[message].parts == [only(made, Compaction)]


@pytest.mark.parametrize(("of_provider", "model"), [({}, "opus"), ({"model": "opus-4.5"}, "opus-4.5")])
def test_a_compaction_has_the_model_of_its_event_if_the_provider_names_none(
    of_provider: dict[str, str], model: str, tmp_path: Path
) -> None:
    used = {"inputTokens": 9, "outputTokens": 2, **of_provider}
    done = {"success": True, "summaryContent": "so far", "model": "opus", "compactionTokensUsed": used}

    made = read_cleanly(tmp_path, Log().start().ask().say().add("session.compaction_complete", done))

    assert (only(made, Compaction).model, [usage.model for usage in made.usage]) == (model, [model])


def test_a_prompt_typed_in_the_cli_is_complete_with_any_tags(tmp_path: Path) -> None:
    typed = "Explain this:\n```\n<reminder>not a reminder</reminder>\n```"
    path = write_log(tmp_path, Log().start().ask(typed).say())
    (path.parent / "workspace.yaml").write_text(f"id: {SESSION}\nclient_name: github/cli\n")

    (made,), _ = read_path(path)

    assert prose_of(made.messages[0].parts) == typed


def test_reasons_in_newer_fields_are_read(tmp_path: Path) -> None:
    done = {"success": True, "summaryContent": "so far", "activeWorkflowSummary": "The lamp workflow is half done."}
    log = delegated().add("session.compaction_complete", done)
    log.add("permission.requested", {"requestId": "p", "permissionRequest": {"kind": "shell"}})
    log.add("permission.completed", {"requestId": "p", "result": {"kind": "approved"}, "blocker": "a harbour rule"})
    ended = {"toolCallId": "T", "agentName": "explore", "modelOverrideReason": "the task asked for it"}
    made = read_cleanly(tmp_path, log.add("subagent.completed", ended, agentId="a-1").end("T").say())

    assert only(made, Compaction).notes == {"active workflow": "The lamp workflow is half done."}
    assert only(made, Confirmation).notes == {"blocker": "a harbour rule"}
    assert only(made, ToolCall).notes["reason for the model"] == "the task asked for it"
