"""Conclusions are made from what was recorded: again, or in another order with merging, they are the same."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from copilog.derive import conclude, model_of
from copilog.derive.exit_codes import exit_code_of
from copilog.derive.models import requested_model
from copilog.identity import merge
from copilog.model import Conversation, FileEdit, Message, Model, Round, Terminal, Text, ToolCall, ToolResult
from tests.trace_builders import ELSEWHERE, FILE, LOG, trace

models = st.none() | st.sampled_from(["copilot/auto", "copilot/gpt-5", "litellm/mine"]).map(
    lambda name: Model(id=name, name=name.partition("/")[2], vendor=name.partition("/")[0])
)
details = st.none() | st.sampled_from(["GPT-5 mini • 1x", "GPT-5 • 1x", "auto • 1x"])
codes = st.none() | st.integers(0, 2)
texts = st.sampled_from(["", "done", "x\n<exited with exit code 3>", "ERROR while calling tool: no such file"])


@st.composite
def answers(draw: st.DrawFn, turn: int) -> Message:
    call = ToolCall(
        id=f"c{turn}",
        name="bash",
        exit_code=draw(codes),
        status=draw(st.sampled_from(["complete", "failed", "unknown"])),
    )
    parts: list[Any] = [Text(text="Six."), call]
    if draw(st.booleans()):
        parts.append(Terminal(call_id=call.id, command="make", exit_code=draw(codes)))
    if draw(st.booleans()):
        parts.append(ToolResult(call_id=call.id, text=draw(texts), is_error=draw(st.booleans())))
    parts.append(FileEdit(uri="file:///home/ana/tides.py", call_id=call.id))
    return Message(
        role="assistant",
        turn=turn,
        parts=parts,
        model=draw(st.sampled_from([None, "auto", "gpt-5"])),
        model_source=draw(st.sampled_from(["session", "assistant.message"])),
    )


@st.composite
def recorded(draw: st.DrawFn, source: str, folder: str) -> Conversation:
    made = trace(source, *draw(st.sampled_from([(1,), (1, 2)])), folder=folder)
    made.assistant = draw(st.sampled_from([None, "Copilot", "GitHubCopilot", "GitHub Copilot", "Other"]))
    made.title = draw(st.sampled_from([None, "Tides"]))
    for turn in made.turns:
        turn.model, turn.details = draw(models), draw(details)
        turn.rounds = draw(st.sampled_from([[], [Round(model="o3")]]))
        turn.timing.elapsed_ms = draw(st.sampled_from([None, 0.0, 5_000.0]))
    users = [message for message in made.messages if message.role == "user"]
    made.messages = [each for user in users for each in (user, draw(answers(user.turn or 0)))]
    return made


def concluded(conversation: Conversation) -> Conversation:
    conclude(conversation)
    return conversation


def copies(conversations: list[Conversation]) -> list[Conversation]:
    return msgspec.json.decode(msgspec.json.encode(conversations), type=list[Conversation])


pairs = st.tuples(recorded(LOG, ELSEWHERE), recorded(FILE, ELSEWHERE)).map(list)


@given(pairs)
def test_conclusions_that_are_made_again_are_the_same(made: list[Conversation]) -> None:
    first = concluded(copies(made)[0])

    assert concluded(copies([first])[0]) == first


@given(pairs)
def test_merging_concluded_conversations_equals_merging_their_traces(made: list[Conversation]) -> None:
    at_once = concluded(merge(copies(made)))
    in_steps = concluded(merge([concluded(one) for one in copies(made)]))

    assert msgspec.to_builtins(in_steps) == msgspec.to_builtins(at_once)


def test_model_that_ran_in_one_trace_does_not_hide_the_requested_model_of_another() -> None:
    without, asking = trace(LOG, 1), trace(FILE, 1)
    without.turns[0].details = "GPT-5 mini • 1x"
    asking.turns[0].model = Model(id="copilot/auto", name="auto", vendor="copilot")

    turn = concluded(merge([concluded(without), concluded(asking)])).turns[0]

    assert (model_of(turn), requested_model(turn)) == ("gpt-5-mini", "auto")


def test_exit_code_in_a_text_is_not_treated_as_recorded() -> None:
    terminal, call = Terminal(call_id="c1", command="make"), ToolCall(id="c1", name="bash")
    made = trace(LOG, 1)
    made.messages[1].parts += [call, terminal, ToolResult(call_id="c1", text="x\n<exited with exit code 3>")]

    conclude(made)

    assert (call.exit_code, terminal.exit_code) == (None, None)
    assert (exit_code_of(call), exit_code_of(terminal)) == (3, 3)
