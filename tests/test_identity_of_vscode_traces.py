"""What VS Code's session and the extension's own records make together."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations

import pytest

from copilog.identity import merge
from copilog.model import (
    Conversation,
    Message,
    Provenance,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    prose_of,
)
from copilog.model.recorded_names import LEFT_OUT, UNDONE_REQUESTS
from tests.trace_builders import LOG, NOON, STORAGE

ASKED = "Say it again"  # too short to tell turns apart by itself


def traced(source: str, mark: str | None, *turns: tuple[float, str | None, str]) -> Conversation:
    """Return a trace with turns: seconds after noon, the prompt, the answer."""
    made = Conversation(id="vscode:s", native_id="s", source=source, marks=[mark] if mark else [])
    for index, (second, prompt, answer) in enumerate(turns):
        at = NOON + timedelta(seconds=second)
        made.turns.append(Turn(index=index, request_id=f"r{second}" if source == LOG else None))
        made.turns[-1].timing.started_at = at
        if prompt is not None:
            made.messages.append(Message(role="user", parts=[Text(text=prompt)], turn=index, created_at=at))
        made.messages.append(Message(role="assistant", parts=[Text(text=answer)], turn=index, created_at=at))
    made.provenance = [Provenance(source=source, path=f"{STORAGE}/{source}/s.jsonl")]
    return made


def session(*turns: tuple[float, str | None, str]) -> Conversation:
    made = traced(LOG, None, *turns)
    made.provenance[0].path = f"{STORAGE}/chatSessions/s.jsonl"
    return made


def reasons_and_answers(conversation: Conversation) -> list[tuple[str | None, list[str]]]:
    """Return the reason why each turn is superseded, and its answers."""
    return [
        (turn.superseded, [prose_of(one.parts) for one in conversation.messages
                           if one.turn == turn.index and one.role == "assistant"])
        for turn in conversation.turns
    ]  # fmt: skip


def replaced() -> list[Conversation]:
    traces = traced("agent-traces", "trace", (0, ASKED, "The first answer"), (2.5, ASKED, "The second answer"))
    traces.turns[0].extra = {LEFT_OUT: True}
    return [session((2.4, ASKED, "The second answer")), traces]


@pytest.mark.parametrize("order", list(permutations(range(2))))
def test_a_turn_missing_in_the_session_and_in_later_prompts_is_superseded(order: tuple[int, ...]) -> None:
    traces = replaced()
    made = merge([traces[number] for number in order])

    assert reasons_and_answers(made) == [("absent", ["The first answer"]), (None, ["The second answer"])]


def test_a_turn_that_only_later_prompts_lack_counts() -> None:
    lacking, traces = replaced()
    whole = session((0, ASKED, "The first answer"), (2.4, ASKED, "The second answer"))

    assert [reason for reason, _ in reasons_and_answers(merge([whole, traces]))] == [None, None]
    damaged = session((2.4, ASKED, "The second answer"))
    damaged.marks = ["damaged"]
    assert [reason for reason, _ in reasons_and_answers(merge([damaged, replaced()[1]]))] == [None, None]
    traces = replaced()[1]
    traces.turns[0].extra = None
    assert [reason for reason, _ in reasons_and_answers(merge([lacking, traces]))] == [None, None]


def history(*undone: str) -> Conversation:
    place = Provenance(source="vscode-editing", path=f"{STORAGE}/chatEditingSessions/s/state.json", role="edits")
    made = Conversation(id="vscode:s", native_id="s", source="vscode-editing", marks=["orphan-edits"])
    made.extra, made.provenance = {UNDONE_REQUESTS: list(undone)}, [place]
    return made


def test_last_turns_before_which_the_history_of_edits_was_rewound_are_undone() -> None:
    turns = [(number, f"question number {number} of three", "Yes.") for number in range(3)]

    def reasons(*undone: str) -> list[str | None]:
        return [reason for reason, _ in reasons_and_answers(merge([session(*turns), history(*undone)]))]

    assert reasons("r2") == [None, None, "undone"]
    assert reasons("r1", "r2") == [None, "undone", "undone"]
    assert reasons("r1") == [None, None, None]  # a later turn that counts: the history is older than the session
    assert reasons() == [None, None, None]


def test_a_turn_after_the_last_of_the_session_counts() -> None:
    traces = traced("agent-traces", "trace", (0, "How deep is it here?", "Deep"), (9, "And over there?", "Deeper"))
    traces.turns[1].extra = {LEFT_OUT: True}

    assert reasons_and_answers(merge([session((0, "How deep is it here?", "Deep")), traces])) == [
        (None, ["Deep"]),
        (None, ["Deeper"]),
    ]


@pytest.mark.parametrize("following", [2.6, 3.9])
def test_messages_of_a_transcript_before_its_first_prompt_join_the_turn_before(following: float) -> None:
    transcript = traced("transcripts", "transcript", (2.5, None, "Yes."), (5, "And over there?", "No."))
    transcript.messages[0].parts.insert(0, Thinking(text="It is deep."))
    made = merge([session((0, "Is it deep?", "Yes."), (following, "And over there?", "No.")), transcript])

    thoughts = [(one.turn, part.text) for one in made.messages for part in one.parts if isinstance(part, Thinking)]
    assert thoughts == [(0, "It is deep.")]


def test_texts_of_sub_agents_and_the_models_names_of_their_tools_come_from_traces() -> None:
    own = session((0, "Find out how deep it is", "They are back."))
    asking = ToolCall(id="c1", name="runSubagent", tool_id="runSubagent")
    reading = ToolCall(id="c2", name="copilot_readFile", tool_id="copilot_readFile")
    own.messages[1:1] = [
        Message(role="assistant", parts=[asking], turn=0),
        Message(role="assistant", parts=[Thinking(text="Where?"), reading], turn=0, parent_call_id="c1"),
        Message(role="tool", parts=[ToolResult(call_id="c2", text="7 m")], turn=0, parent_call_id="c1"),
        Message(role="tool", parts=[ToolResult(call_id="c1", text="It is 7 m deep.")], turn=0),
    ]
    traces = traced("agent-traces", "trace", (0, "Find out how deep it is", "They are back."))
    traces.messages[1:1] = [
        Message(role="assistant", parts=[ToolCall(id="c1", name="runSubagent")], turn=0),
        Message(
            role="assistant",
            parts=[Text(text="I look."), ToolCall(id="c2", name="read_file")],
            turn=0,
            parent_call_id="c1",
        ),
        Message(role="assistant", parts=[Text(text="It is 7 m deep.")], turn=0, parent_call_id="c1"),
    ]
    made = merge([own, traces])

    inner = [one for one in made.messages if one.parent_call_id == "c1"]
    parts = [[getattr(part, "text", None) or getattr(part, "name", None) for part in one.parts] for one in inner]
    assert parts == [["Where?", "I look.", "read_file"], ["7 m"], ["It is 7 m deep."]]
    assert merge([made, traces]).messages == made.messages
