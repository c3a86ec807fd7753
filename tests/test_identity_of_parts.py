"""Parts that several traces have: their fields are united, whichever trace leads and in whichever folder it is."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import msgspec
import pytest

from copilog.identity import merge
from copilog.identity.part_union import united_part
from copilog.model import (
    AnyPart,
    Approval,
    Confirmation,
    Conversation,
    FileEdit,
    Hook,
    Notice,
    Question,
    SubAgent,
    Terminal,
    Text,
    TextEdit,
    Thinking,
    TodoItem,
    TodoList,
    ToolCall,
    Vote,
)
from tests.trace_builders import ELSEWHERE, FILE, LOG, NOON, STORAGE, trace

NORRVIK = "file:///home/ana/norrvik.py"
EDIT = TextEdit(start_line=1, start_column=1, end_line=1, end_column=1, text="HARBOUR = 1")


def turn_with(*parts: AnyPart, folder: str = STORAGE, source: str = LOG) -> Conversation:
    made = trace(source, 1, folder=folder)
    made.messages[1].parts = [*parts, Text(text="That is all")]
    return made


def parts_of(conversation: Conversation) -> list[AnyPart]:
    """Return the parts of the answer, calls without what the other trace says of their end."""
    parts = [part for message in conversation.messages if message.role != "user" for part in message.parts]
    for part in parts:
        if isinstance(part, ToolCall):
            part.verdicts = []
    return [part for part in parts if part != Text(text="That is all")]


def conflicts_in(conversation: Conversation) -> str:
    return str([msgspec.to_builtins(place.conflicts) for place in conversation.provenance])


def call(**fields: Any) -> ToolCall:
    return ToolCall(id="c1", name="chart", native="toolInvocationSerialized", **fields)


# Each part as an early copy has it, and as a late one has it.
GROWN: dict[str, tuple[AnyPart, AnyPart]] = {
    "answers to questions": (
        Confirmation(type="questions", questions=[Question(id="q1", title="Which port?")], state="unanswered"),
        Confirmation(
            type="questions",
            questions=[Question(id="q1", title="Which port?", answer="The one in the north")],
            state="answered",
        ),
    ),
    "feedback on a plan": (
        Confirmation(type="plan", title="The plan", options=["Go"], state="unanswered"),
        Confirmation(
            type="plan",
            title="The plan",
            options=["Go"],
            answer="Go",
            state="accepted",
            notes={"feedback": "Test first"},
        ),
    ),
    "the result of an elicitation": (
        Confirmation(type="elicitation", title="Port", message="Which one?", state="pending"),
        Confirmation(type="elicitation", title="Port", message="Which one?", state="accepted", answer="Norrvik"),
    ),
    "edits of a notebook": (
        FileEdit(uri=NORRVIK, is_done=False),
        FileEdit(uri=NORRVIK, cells=[{"cell": "print(HARBOUR)"}], is_done=True),
    ),
    "edits of an unfinished group": (
        FileEdit(uri=NORRVIK, is_done=False),
        FileEdit(uri=NORRVIK, batches=[[EDIT]], is_done=True),
    ),
    "edits of a group that had begun": (
        FileEdit(uri=NORRVIK, batches=[[EDIT]], is_done=False),
        FileEdit(uri=NORRVIK, batches=[[EDIT], [EDIT]], is_done=True),
    ),
    "later to-dos": (
        TodoList(call_id="c1", items=[TodoItem(id="1", title="Read the chart", status="not-started")]),
        TodoList(
            call_id="c1",
            items=[
                TodoItem(id="1", title="Read the chart", status="completed"),
                TodoItem(id="2", title="Draw the port", status="not-started"),
            ],
        ),
    ),
    "warnings of a task": (
        Notice(topic="task", text="Working on it"),
        Notice(topic="task", text="Working on it", notes={"progress": "The chart is old"}),
    ),
    "thinking that breaks off": (
        Thinking(text="The port of", id="t1"),
        Thinking(text="The port of Norrvik has a light", id="t1", title="On ports"),
    ),
    "the description of a vulnerability": (
        Text(text="Use eval", vulnerabilities=["Code injection"]),
        Text(text="Use eval", vulnerabilities=["Code injection: anybody can run code"]),
    ),
    "the agent and the result of a sub-agent": (
        call(subagent=SubAgent(prompt="Find the light")),
        call(subagent=SubAgent(prompt="Find the light", name="Explore", result="It is on Skarv")),
    ),
    "the button that allowed a call": (
        call(approval=Approval(kind="user")),
        call(approval=Approval(kind="user", detail="Allow in this session")),
    ),
    "the rule that allowed a command": (
        call(approval=Approval(kind="setting")),
        call(approval=Approval(kind="setting", rule="Allowed by the rule for make")),
    ),
    "an approval": (call(approval=Approval(kind="unknown")), call(approval=Approval(kind="denied"))),
    "the server of a call": (call(), call(server="Harbour server")),
    "fields without an equivalent": (call(extra={"a": {"b": 1}}), call(extra={"a": {"b": 1, "c": "Skarv"}})),
}


@pytest.mark.parametrize(("early", "late"), GROWN.values(), ids=GROWN)
@pytest.mark.parametrize("folders", [(STORAGE, ELSEWHERE), (ELSEWHERE, STORAGE)], ids=["one leads", "the other leads"])
def test_a_part_is_as_the_later_copy_has_it(early: AnyPart, late: AnyPart, folders: tuple[str, str]) -> None:
    first, second = turn_with(early, folder=folders[0]), turn_with(late, folder=folders[1])

    merged = merge([first, second])

    assert parts_of(merged) == [late]
    assert conflicts_in(merged) == "[[], []]"


@pytest.mark.parametrize(("early", "late"), GROWN.values(), ids=GROWN)
def test_uniting_a_part_with_itself_changes_nothing(early: AnyPart, late: AnyPart) -> None:
    assert united_part(early, early, is_tied=True) == early
    assert united_part(late, united_part(early, late)) == late


def test_the_output_of_a_terminal_is_the_longer_one() -> None:
    begun = Terminal(call_id="c1", command="make", output="compiling", is_output_cut=True)
    ended = Terminal(call_id="c1", command="make", output="compiling, linking", exit_code=0)

    for early, late in ((STORAGE, ELSEWHERE), (ELSEWHERE, STORAGE)):
        merged = merge([turn_with(call(), begun, folder=early), turn_with(call(), ended, folder=late)])
        assert parts_of(merged)[1] == ended


def test_the_reason_of_a_vote_is_taken_from_the_trace_that_has_it() -> None:
    for folders in ((STORAGE, ELSEWHERE), (ELSEWHERE, STORAGE)):
        one, other = (turn_with(folder=folder) for folder in folders)
        one.turns[0].vote, other.turns[0].vote = Vote(is_up=False), Vote(is_up=False, reason="It was wrong")

        assert merge([one, other]).turns[0].vote == Vote(is_up=False, reason="It was wrong")


def test_the_reason_of_another_vote_is_not_that_of_this_one() -> None:
    one, other = turn_with(folder=ELSEWHERE), turn_with()
    one.updated_at = NOON  # it leads
    one.turns[0].vote, other.turns[0].vote = Vote(is_up=True), Vote(is_up=False, reason="It was wrong")

    merged = merge([one, other])

    assert merged.turns[0].vote == Vote(is_up=True)
    assert "It was wrong" in conflicts_in(merged)


def test_of_two_answers_the_same_one_wins_in_any_folder_and_the_other_is_kept() -> None:
    answers = [
        Confirmation(type="plan", title="The plan", answer=text, state="answered") for text in ("Go on", "Stop it")
    ]
    made = []
    for (one, other), folders in zip(permutations(answers), permutations((STORAGE, ELSEWHERE)), strict=True):
        for order in ((0, 1), (1, 0)):
            copies = [turn_with(part, folder=folders[at]) for at, part in enumerate((one, other))]
            made.append(merge([copies[at] for at in order]))

    answered = {part.answer for merged in made for part in parts_of(merged) if isinstance(part, Confirmation)}
    assert answered == {"Stop it"}
    assert all("Go on" in conflicts_in(merged) for merged in made)


def test_questions_and_hooks_of_another_copy_are_added() -> None:
    asked = [Confirmation(type="plan", title=f"Plan {name}", state="unanswered") for name in "ab"]
    hook = [Hook(type="PreToolUse", tool=name) for name in "ab"]

    merged = merge([turn_with(asked[0], hook[0]), turn_with(*asked, *hook, folder=ELSEWHERE)])

    assert sorted(map(repr, parts_of(merged))) == sorted(map(repr, [*asked, *hook]))


def test_repeated_parts_are_paired_with_their_own() -> None:
    edits = [
        FileEdit(uri=NORRVIK, batches=[[msgspec.structs.replace(EDIT, text=text)]], is_done=True) for text in "xyz"
    ]
    begun = FileEdit(uri=NORRVIK, is_done=False)

    merged = merge([turn_with(edits[0], edits[1], begun), turn_with(*edits, folder=ELSEWHERE)])

    assert parts_of(merged) == edits


def test_an_outdated_file_gives_the_answer_that_a_newer_one_lacks() -> None:
    asked = Confirmation(type="plan", title="The plan", state="unanswered")
    answered = Confirmation(type="plan", title="The plan", answer="Go", state="answered")

    assert parts_of(merge([turn_with(asked), turn_with(answered, source=FILE)])) == [answered]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_thinking_of_which_traces_have_beginnings_is_one_part_in_its_place(order: tuple[int, ...]) -> None:
    chart = ToolCall(id="c1", name="chart")
    traces = [
        turn_with(Thinking(text="I should"), chart),
        turn_with(Thinking(text="I should look at"), chart, folder=ELSEWHERE),
        turn_with(Thinking(text="I should look at the chart"), folder=ELSEWHERE.replace("bbbb", "cccc")),
    ]
    one, two, three = (traces[at] for at in order)

    merged = merge([merge([one, two]), three])

    assert parts_of(merged) == [Thinking(text="I should look at the chart"), chart]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_terminal_output_that_the_leading_trace_loses_is_in_the_provenance(order: tuple[int, int]) -> None:
    rising = Terminal(command="gauge", call_id="c1", output="the tide rises")
    gale = Terminal(command="gauge", call_id="c1", output="a gale", exit_code=3)
    traces = [
        turn_with(call(), rising, folder=ELSEWHERE),  # leads
        turn_with(call(), gale),
    ]

    merged = merge([traces[at] for at in order])

    everywhere = str(msgspec.to_builtins(merged.messages)) + conflicts_in(merged)
    assert "the tide rises" in everywhere
    assert "a gale" in everywhere
