"""A conversation divided over traces is restored completely, whatever the order and grouping of merges.

Each turn carries an id or a time. Each trace has some of the turns, and of each some of the fields, so that every field
is in at least one. One of the traces may be a session file; two of them would be copies, which have rules of their own
(test_identity_pairs.py).
"""

from __future__ import annotations

import itertools
from datetime import timedelta
from itertools import permutations
from random import Random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog.identity import merge
from copilog.identity.part_order import _stored_orders
from copilog.model import (
    Approval,
    Confirmation,
    Conversation,
    Message,
    Mode,
    Model,
    Provenance,
    SubAgent,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
    Vote,
    prose_of,
)
from tests.trace_builders import LOG, NOON

TRACES = (
    (LOG, ""),
    ("transcripts", "transcript"),
    ("debug-logs", "debug-log"),
    ("agent-traces", "trace"),
    ("trajectory-file", "trajectory"),
)
SCALARS = ("status", "details", "command", "vote", "mode", "model", "confirmation", "usage")
TIMES = ("completed_at", "elapsed_ms", "waited_ms")
TEXTS = ("prompt", "answer")
OF_CALL = ("arguments", "result", "display", "detail", "rule", "agent", "report")
OF_QUESTION = ("reply", "feedback")
OF_EVERY = (*OF_CALL, *OF_QUESTION)
WORDS = ("the harbour of Norrvik", "the ferry to Tarn", "the light on Skarv", "the pilot's log", "the old breakwater")


class Whole(msgspec.Struct):
    """One turn with everything in it."""

    number: int
    has_id: bool
    has_time: bool
    fields: dict[str, Any]
    steps: list[str]  # calls, thinking and questions before the answer, in their order


def whole_turn(number: int, has_id: bool, has_time: bool, kinds: list[str]) -> Whole:
    fields: dict[str, Any] = {
        "status": "complete",
        "details": f"model {number}",
        "command": f"fix{number}",
        "vote": Vote(is_up=bool(number % 2), reason=f"The reason for vote {number}"),
        "mode": Mode(kind="agent", name=f"mode {number}"),
        "model": Model(id=f"model-{number}", name=f"model-{number}"),
        "confirmation": f"Yes {number}",
        "usage": [Usage(input=number, source="made up")],
        "completed_at": NOON + timedelta(minutes=10 * number + 5),
        "elapsed_ms": 300_000.0 + number,
        "waited_ms": 20_000.0 + number,
        "prompt": f"Please tell me more about {WORDS[number]}, as of turn {number}",
        "answer": f"Here is what the chart says about {WORDS[number]}",
    }
    steps = [f"{kind} {number}.{place}" for place, kind in enumerate(kinds)]
    for step in steps:
        if step.startswith("call"):
            fields |= {f"arguments of {step}": f'{{"place": "{step}"}}', f"result of {step}": f"The chart for {step}"}
            others = ("display", "detail", "rule", "agent", "report")
            fields |= {f"{name} of {step}": f"The {name} that {step} has" for name in others}
        elif step.startswith("question"):
            fields |= {f"{name} of {step}": f"The {name} to {step}" for name in OF_QUESTION}
        else:
            fields[step] = f"{step}: I should look at the chart of {WORDS[number]}"
    return Whole(number, has_id, has_time, fields, steps)


def names_of_texts(turn: Whole) -> list[str]:
    names: list[str] = [*TEXTS, "reason of the vote"]
    for step in turn.steps:
        if step.startswith("call"):
            names += [f"{name} of {step}" for name in OF_CALL]
        elif step.startswith("question"):
            names += [f"{name} of {step}" for name in OF_QUESTION]
        else:
            names += [step, f"beginning of {step}"]
    return names


@st.composite
def divided(draw: st.DrawFn) -> tuple[list[Whole], list[Conversation]]:
    """Draw a conversation, and its traces."""
    turns: list[Whole] = []
    for number in range(draw(st.integers(1, 5))):
        # What has no time is found behind the turn that it follows: of two in a row nobody could say which is first.
        may_lack_time = number > 0 and turns[-1].has_time
        has_time = draw(st.booleans()) if may_lack_time else True
        kinds = draw(st.lists(st.sampled_from(("call", "thinking", "question")), max_size=4))
        turns.append(whole_turn(number, draw(st.booleans()) if has_time else True, has_time, kinds))
    sources = draw(st.lists(st.sampled_from(TRACES), min_size=2, max_size=4, unique=True))
    holders = [draw(st.sets(st.sampled_from(range(len(sources))), min_size=1)) for _ in turns]
    for number, turn in enumerate(turns):
        if not turn.has_time:
            holders[number - 1] |= holders[number]
    traces = [
        Conversation(id="vscode:s", native_id="s", source=source, marks=[m] if m else []) for source, m in sources
    ]
    for trace, (source, _) in zip(traces, sources, strict=True):
        trace.provenance = [Provenance(source=source, path=f"/traces/{source}")]
    for turn, held in zip(turns, holders, strict=True):
        deal(draw, turn, [traces[number] for number in sorted(held)])
    return turns, [trace for trace in traces if trace.turns]


def deal(draw: st.DrawFn, turn: Whole, traces: list[Conversation]) -> None:
    """Give each trace some of a turn: what it is recognised by, and each field to at least one of them."""
    by_id = {number: turn.has_id and draw(st.booleans()) for number in range(len(traces))}
    both = draw(st.sampled_from(range(len(traces))))
    names_of_all = (*SCALARS, *TIMES, *names_of_texts(turn))
    given_to = {name: draw(st.sets(st.sampled_from(range(len(traces))), min_size=1)) for name in names_of_all}
    for number, trace in enumerate(traces):
        names = {name for name, numbers in given_to.items() if number in numbers}
        has_id = turn.has_id and (by_id[number] or number == both or not turn.has_time)
        has_time = turn.has_time and (not has_id or number == both or draw(st.booleans()))
        if not has_id or number == both:
            names.add("prompt")
        add_turn(trace, turn, names, has_id=has_id, has_time=has_time)


def add_turn(trace: Conversation, turn: Whole, names: set[str], *, has_id: bool, has_time: bool) -> None:
    made = Turn(index=len(trace.turns), request_id=f"r{turn.number}" if has_id else None)
    if has_time:
        made.timing.started_at = NOON + timedelta(minutes=10 * turn.number)
    for name in names.intersection(SCALARS):
        setattr(made, name, turn.fields[name])
    if "reason of the vote" in names:
        made.vote = turn.fields["vote"]
    elif "vote" in names:
        made.vote = Vote(is_up=turn.fields["vote"].is_up)
    for name in names.intersection(TIMES):
        setattr(made.timing, name, turn.fields[name])
    trace.turns.append(made)
    if "prompt" in names:
        trace.messages.append(Message(role="user", parts=[Text(text=turn.fields["prompt"])], turn=made.index))
    for step in turn.steps:
        of_step = {name: turn.fields[f"{name} of {step}"] for name in OF_EVERY if f"{name} of {step}" in names}
        if step.startswith("call"):
            add_call(trace, step, of_step)
        elif step.startswith("question"):
            add_question(trace, step, of_step)
        elif step in names:
            add_answer(trace, Thinking(text=turn.fields[step]))
        elif f"beginning of {step}" in names:
            add_answer(trace, Thinking(text=turn.fields[step][: -len("of the harbour")]))
    if "answer" in names:
        add_answer(trace, Text(text=turn.fields["answer"]))


def add_call(trace: Conversation, step: str, fields: dict[str, str]) -> None:
    """Add a call with these fields, and its result: what the model saw, else what the user saw."""
    if not fields:
        return
    call = ToolCall(id=id_of(step), name="chart", arguments=fields.get("arguments"))
    if "detail" in fields or "rule" in fields:
        call.approval = Approval(kind="user", detail=fields.get("detail"), rule=fields.get("rule"))
    if "agent" in fields or "report" in fields:
        call.subagent = SubAgent(name=fields.get("agent"), result=fields.get("report"))
    add_answer(trace, call)
    shown = fields.get("display")
    result = ToolResult(call_id=call.id, text=shown or "", origin="display")
    if "result" in fields:
        result = ToolResult(call_id=call.id, text=fields["result"], origin="model", display=shown)
    if "result" in fields or shown:
        trace.messages.append(Message(role="tool", parts=[result], turn=trace.turns[-1].index))


def add_question(trace: Conversation, step: str, fields: dict[str, str]) -> None:
    """Add a question, which every trace of the turn has, with these fields."""
    notes = {"feedback": fields["feedback"]} if "feedback" in fields else {}
    state = "answered" if "reply" in fields else "unanswered"
    reply = fields.get("reply")
    add_answer(trace, Confirmation(type="plan", title=step, answer=reply, state=state, notes=notes))


def add_answer(trace: Conversation, part: Any) -> None:
    trace.messages.append(Message(role="assistant", parts=[part], turn=trace.turns[-1].index))


def id_of(step: str) -> str:
    return step.replace(" ", "_")


def expected(turn: Whole) -> dict[str, Any]:
    started_at = NOON + timedelta(minutes=10 * turn.number) if turn.has_time else None
    return {**turn.fields, "id": f"r{turn.number}" if turn.has_id else None, "started_at": started_at}


def found(conversation: Conversation, turn: Turn) -> dict[str, Any]:
    """Return everything that a merged conversation has of a turn, each text joined so that doubles show."""
    messages = [message for message in conversation.messages if message.turn == turn.index]
    parts = [part for message in messages for part in message.parts]
    calls = {part.id: part for part in parts if isinstance(part, ToolCall)}
    assert len(calls) == sum(isinstance(part, ToolCall) for part in parts)
    results = [part for part in parts if isinstance(part, ToolResult)]
    steps = [id_.replace("_", " ") for id_ in calls]
    questions = {part.title: part for part in parts if isinstance(part, Confirmation)}
    assert len(questions) == sum(isinstance(part, Confirmation) for part in parts)
    assert all(part.state == "answered" for part in questions.values())
    assert all(part.origin == "model" for part in results)
    return {
        "id": turn.request_id,
        "started_at": turn.timing.started_at,
        **{name: getattr(turn, name) for name in SCALARS},
        **{name: getattr(turn.timing, name) for name in TIMES},
        "prompt": "".join(prose_of(message.parts) for message in messages if message.role == "user"),
        "answer": "".join(prose_of(message.parts) for message in messages if message.role == "assistant"),
        **{part.text.partition(":")[0]: part.text for part in parts if isinstance(part, Thinking)},
        **{f"{name} of {step}": text for step in steps for name, text in found_of_call(calls[id_of(step)]).items()},
        **{
            f"display of {step}": "".join(part.display or "" for part in results if part.call_id == id_of(step))
            for step in steps
        },
        **{f"reply of {step}": part.answer for step, part in questions.items()},
        **{f"feedback of {step}": part.notes["feedback"] for step, part in questions.items()},
        **{
            f"result of {step}": "".join(part.text for part in results if part.call_id == id_of(step)) for step in steps
        },
    }


def found_of_call(call: ToolCall) -> dict[str, str | None]:
    approval, subagent = call.approval or Approval(kind="unknown"), call.subagent or SubAgent()
    return {
        "arguments": call.arguments,
        "detail": approval.detail,
        "rule": approval.rule,
        "agent": subagent.name,
        "report": subagent.result,
    }


def order_in(conversation: Conversation, turn: Turn) -> list[str]:
    """Return the calls, thinking and answer of a turn as they follow each other."""
    parts = [part for message in conversation.messages if message.turn == turn.index for part in message.parts]
    answers = [part for part in parts if not isinstance(part, ToolResult | Confirmation)]
    return [part.id if isinstance(part, ToolCall) else str(getattr(part, "text", "")) for part in answers]


def is_in_order(some: list[str], every: list[str]) -> bool:
    rest = iter(every)
    return all(one in rest for one in some)


def whole_texts(order: list[str], whole: list[str]) -> list[str]:
    """Return the parts of a trace with the complete text of what it has cut."""
    return [next((text for text in whole if text.startswith(part)), part) for part in order]


def clone(conversation: Conversation) -> Conversation:
    return msgspec.json.decode(msgspec.json.encode(conversation), type=Conversation)


def merged_in_groups(traces: list[Conversation], random: Random) -> Conversation:
    """Merge in a random order and grouping."""
    left = [clone(trace) for trace in traces]
    while len(left) > 1:
        random.shuffle(left)
        number = random.randint(2, len(left))
        left = [merge(left[:number]), *left[number:]]
    return left[0]


@settings(max_examples=150)
@given(divided(), st.integers(0, 1_000_000).map(Random))
def test_a_divided_conversation_is_merged_to_the_original(
    made: tuple[list[Whole], list[Conversation]], random: Random
) -> None:
    turns, traces = made

    merged = merged_in_groups(traces, random)

    assert [found(merged, turn) for turn in merged.turns] == [expected(turn) for turn in turns]
    orders = [order_in(merged, turn) for turn in merged.turns]
    for trace in traces:
        for turn in trace.turns:
            order = order_in(trace, turn)
            assert any(is_in_order(whole_texts(order, whole), whole) for whole in orders), f"{order} in {orders}"
    assert all(turn.superseded is None and turn.branch is None for turn in merged.turns)
    assert [place.conflicts for place in merged.provenance] == [[] for _ in traces]


@settings(max_examples=100)
@given(divided(), st.integers(0, 1_000_000).map(Random))
def test_the_grouping_of_merges_makes_no_difference(
    made: tuple[list[Whole], list[Conversation]], random: Random
) -> None:
    _, traces = made

    first, second = merged_in_groups(traces, random), merged_in_groups(traces, random)

    assert [order_in(first, turn) for turn in first.turns] == [order_in(second, turn) for turn in second.turns]
    assert [found(first, turn) for turn in first.turns] == [found(second, turn) for turn in second.turns]
    assert [turn.part_orders for turn in first.turns] == [turn.part_orders for turn in second.turns]


@settings(max_examples=100)
@given(divided(), st.integers(0, 1_000_000).map(Random))
def test_where_traces_contradict_each_other_the_order_makes_no_difference(
    made: tuple[list[Whole], list[Conversation]], random: Random
) -> None:
    _, traces = made
    for number, trace in enumerate(traces):
        for turn in trace.turns:
            turn.command = f"other {number}"

    first = merge([clone(trace) for trace in traces])
    shuffled = [clone(trace) for trace in traces]
    random.shuffle(shuffled)

    assert msgspec.to_builtins(merge(shuffled)) == msgspec.to_builtins(first)
    for number, trace in enumerate(traces):
        [place] = [place for place in first.provenance if place.path == trace.provenance[0].path]
        for turn in [turn for turn in first.turns if place.path in (turn.traces or [place.path])]:
            lost = [conflict.value for conflict in place.conflicts if conflict.turn == turn.index]
            assert (turn.command == f"other {number}") != (f"other {number}" in lost)


def test_every_order_of_three_traces_that_disagree_is_the_same() -> None:
    def trace(source: str, mark: str, title: str, answer: str) -> Conversation:
        made = Conversation(id="vscode:s", native_id="s", source=source, title=title, marks=[mark] if mark else [])
        made.provenance = [Provenance(source=source, path=f"/traces/{source}")]
        made.turns = [Turn(index=0, request_id="r1", status="complete")]
        made.messages = [
            Message(role="user", parts=[Text(text="When?")], turn=0),
            Message(role="assistant", parts=[Text(text=answer)], turn=0),
        ]
        return made

    made = [
        trace(LOG, "", "Tides", "At noon."),
        trace("transcripts", "transcript", "Ebb", "At six, says the table."),
        trace("debug-logs", "debug-log", "Flood", "At noon."),
    ]

    merged = [msgspec.to_builtins(merge([clone(one) for one in order])) for order in permutations(made)]

    assert all(one == merged[0] for one in merged)
    assert [conflict.value for place in merge(made).provenance for conflict in place.conflicts] == [
        "At six, says the table."
    ]


def test_conflicts_follow_their_turns_when_a_merged_conversation_is_merged_again() -> None:
    def trace(source: str, mark: str, *numbers: int, answer: str) -> Conversation:
        made = Conversation(id="vscode:s", native_id="s", source=source, marks=[mark] if mark else [])
        made.provenance = [Provenance(source=source, path=f"/traces/{source}")]
        for index, number in enumerate(numbers):
            made.turns.append(Turn(index=index, request_id=f"r{number}"))
            made.turns[-1].timing.started_at = NOON + timedelta(minutes=10 * number)
            made.messages.append(Message(role="user", parts=[Text(text=f"question {number}")], turn=index))
            made.messages.append(Message(role="assistant", parts=[Text(text=answer)], turn=index))
        return made

    merged = merge(
        [trace(LOG, "", 2, answer="At noon, says the log"), trace("debug-logs", "debug-log", 2, answer="At six")]
    )
    again = merge([merged, trace("transcripts", "transcript", 1, answer="Yes")])

    [conflict] = [conflict for place in again.provenance for conflict in place.conflicts]
    assert [turn.request_id for turn in again.turns] == ["r1", "r2"]
    assert (conflict.value, conflict.turn) == ("At six", 1)


KEYS = [f"text:{number}" for number in range(6)]


@given(st.lists(st.sets(st.sampled_from(KEYS), min_size=1), min_size=1, max_size=6))
def test_stored_orders_have_the_same_consequences_as_those_of_the_traces(traces: list[set[str]]) -> None:
    orders = [sorted(keys) for keys in traces]
    keys = sorted(set().union(*traces))

    stored = _stored_orders(set(map(tuple, orders)), keys)

    assert followers_in(stored) == followers_in(orders)
    assert {key for order in stored for key in order} == set(keys)
    assert _stored_orders(set(map(tuple, stored)), keys) == stored


def followers_in(chains: list[list[str]]) -> set[tuple[str, str]]:
    """Return every pair of a key and one that follows it, directly or through others."""
    pairs = {pair for chain in chains for pair in itertools.pairwise(chain)}
    while more := {(one, last) for one, middle in pairs for other, last in pairs if middle == other} - pairs:
        pairs |= more
    return pairs
