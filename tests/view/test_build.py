"""What a reader sees of a conversation is decided once, and every surface draws the same decision."""

from __future__ import annotations

import pytest

from copilog.model import (
    AnyPart,
    Approval,
    Conversation,
    CustomAgent,
    FileEdit,
    FileState,
    Message,
    Notice,
    Place,
    Reference,
    SubAgent,
    Terminal,
    Text,
    Thinking,
    TodoItem,
    TodoList,
    ToolCall,
    ToolResult,
    Turn,
    UsedReference,
)
from copilog.view import View
from copilog.view.blocks import Call, Edit, EventNote, Prose, Shown, Thought, TurnFoot, TurnHead
from tests.view.surfaces import WRITERS


def said(*parts: AnyPart, role: str = "assistant", turn: int | None = 0, below: str | None = None) -> Message:
    return Message(role=role, turn=turn, parts=list(parts), parent_call_id=below)  # type: ignore[arg-type]


def told(*messages: Message, **turn: object) -> Conversation:
    question = said(Text(text="Why?"), role="user")
    return Conversation(
        id="vscode:1",
        source="vscode-session",
        turns=[Turn(index=0, **turn)],  # type: ignore[arg-type]
        messages=[question, *messages],
    )


def shown(conversation: Conversation) -> list[Shown]:
    return [item for item in View(conversation).items() if isinstance(item, Shown)]


def blocks(conversation: Conversation) -> list[object]:
    return [block for message in shown(conversation)[1:] for block in message.blocks]


def test_a_turn_has_a_head_its_messages_and_a_foot() -> None:
    items = list(View(told(said(Text(text="So.")))).items())

    assert [type(item) for item in items] == [TurnHead, Shown, Shown, TurnFoot]


def test_prose_is_joined_until_something_else_comes() -> None:
    words, target = Text(text="One "), Reference(text="two")
    parts: list[AnyPart] = [words, target, Text(text=" three."), Notice(topic="info", text="x"), Text(text="4")]
    first, notice, last = blocks(told(said(*parts)))

    assert isinstance(first, Prose)
    assert [link.words for link in first.links] == ["two"]
    assert isinstance(notice, EventNote)
    assert isinstance(last, Prose)
    assert last.text == "4"


def test_thoughts_in_a_row_are_one() -> None:
    [thought] = blocks(told(said(Thinking(text="Hm."), Thinking(text="So.", title="Weighing"))))

    assert isinstance(thought, Thought)
    assert (thought.title, thought.text) == ("Weighing", "Hm.\n\nSo.")


def test_a_result_is_shown_with_its_call_wherever_it_was_recorded() -> None:
    call = ToolCall(id="c", name="look", status="complete")
    conversation = told(said(call), said(Text(text="Then.")), said(ToolResult(call_id="c", text="42"), role="tool"))
    made, prose = blocks(conversation)

    assert isinstance(made, Call)
    assert [result.text for result in made.results] == ["42"]
    assert isinstance(prose, Prose)


def test_what_a_sub_agent_did_is_below_its_call() -> None:
    call = ToolCall(id="c", name="task", subagent=SubAgent(name="Scout"))
    conversation = told(said(call), said(Text(text="Looked."), below="c"), said(Text(text="Done.")))
    made, _ = blocks(conversation)

    assert isinstance(made, Call)
    assert made.helper is not None
    [message] = View(conversation).messages(made.below)
    assert "Looked." in str(message.blocks)


@pytest.mark.parametrize(
    ("beside", "part", "result"),
    [
        ("list", TodoList(call_id="c", items=[TodoItem(title="a")]), "updated"),
        ("edit", FileEdit(call_id="c", path="/a", diff="@@ -1 +1 @@\n-a\n+b\n"), "edited"),
        ("output", Terminal(call_id="c", command="x", output="a\nb"), "a\nb\nand a note"),
        ("", Terminal(call_id="c", command="x"), "a"),
        ("list", TodoList(call_id="c", items=[TodoItem(title="a")]), "x" * 60),
        ("", TodoList(call_id="c", items=[TodoItem(title="a")]), "x" * 61),
        ("edit", FileEdit(call_id="c", path="/a", diff="@@ -1 +1 @@\n-a\n+b\n"), "x" * 300),
        ("", FileEdit(call_id="c", path="/a", diff="@@ -1 +1 @@\n-a\n+b\n"), "x" * 301),
    ],
)
def test_a_result_that_repeats_another_block_is_folded(beside: str, part: AnyPart, result: str) -> None:
    call = ToolCall(id="c", name="tool", status="complete")
    made = next(
        block
        for block in blocks(told(said(call, part), said(ToolResult(call_id="c", text=result), role="tool")))
        if isinstance(block, Call)
    )

    assert [each.beside for each in made.results] == [beside]


def test_an_edit_whose_call_has_shown_the_change_is_not_drawn_twice() -> None:
    arguments = '{"filePath": "/a.py", "oldString": "low", "newString": "high"}'
    call = ToolCall(id="c", name="replace", status="complete", arguments=arguments)
    made, edit = blocks(told(said(call, FileEdit(call_id="c", path="/a.py", uri="file:///a.py"))))

    assert isinstance(made, Call)
    assert "+high" in made.patch
    assert isinstance(edit, Edit)
    assert edit.is_in_call


# --- one decision, every surface ----------------------------------------------------------------------------------


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("first", [1, 2, 3])
def test_the_point_where_a_turn_was_undone_is_marked(first: int, writer: str) -> None:
    kept, gone = Text(text="kept-words", position=0), Text(text="gone-words", position=3)
    text = WRITERS[writer](told(said(kept, ToolCall(id="c", name="a_tool"), gone), undone_from=first)).lower()

    assert "partly undone" in text
    assert text.index("kept-words") < text.index("from here on undone") < text.index("gone-words")


@pytest.mark.parametrize("writer", WRITERS)
def test_the_outcome_of_an_edit_is_shown(writer: str) -> None:
    edit = FileEdit(path="/x/a.py", uri="file:///x/a.py", diff="@@ -1 +1 @@\n-a\n+b\n")
    conversation = told(said(edit))
    conversation.files = [FileState(uri="file:///x/a.py", path="/x/a.py", decision="undecided")]

    assert "not decided" in WRITERS[writer](conversation)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_retried_prompt_and_a_vote_are_shown(writer: str) -> None:
    conversation = told(said(Text(text="So.")))
    conversation.turns.append(Turn(index=1))
    conversation.messages.append(said(Text(text="Why?"), role="user", turn=1))

    assert "asked again" in WRITERS[writer](conversation)


@pytest.mark.parametrize("writer", WRITERS)
def test_the_agent_and_the_references_of_an_answer_are_shown(writer: str) -> None:
    used = [UsedReference(place=Place(path="/x/tides.csv"), status="partial")]
    agent = CustomAgent(name="harbour-master")
    text = WRITERS[writer](told(said(Text(text="So.")), custom_agent=agent, command="explain", references=used))

    assert [words for words in ("harbour-master", "/explain", "/x/tides.csv", "partial") if words not in text] == []


def test_the_reason_for_no_approval_is_shown_in_full_output() -> None:
    call = ToolCall(id="c", name="look", approval=Approval(kind="not-needed", detail="Looking is harmless."))

    assert "no approval needed (Looking is harmless.)" in WRITERS["terminal"](told(said(call)))


def test_a_notice_without_a_label_shows_its_text() -> None:
    text = WRITERS["Markdown"](told(said(Notice(topic="progress", text="Looking around"))))

    assert "\n> Looking around\n" in text


def test_a_call_without_arguments_and_result_says_so() -> None:
    call = ToolCall(id="c", name="look", message="Looked at the tides")
    said_once = WRITERS["HTML"](told(said(call))).partition("<body")[2]

    assert "Nothing else was recorded." in said_once
    assert "Shown as" not in said_once


@pytest.mark.parametrize("writer", WRITERS)
def test_files_that_only_a_superseded_turn_touched_are_not_listed(writer: str) -> None:
    conversation = told(said(FileEdit(uri="file:///x/tides.py", path="/x/tides.py")), request_id="kept")
    conversation.turns.append(Turn(index=1, request_id="gone", superseded="removed"))
    conversation.files = [
        FileState(uri=f"file:///x/{name}", path=f"/x/{name}", decision="undecided", request_id="gone")
        for name in ("zebra.py", "tides.py")
    ]
    conversation.files.append(FileState(uri="unnamed:1", current="stripes of a zebra", request_id="gone"))
    text = WRITERS[writer](conversation)

    assert "zebra" not in text
    assert text.count("tides.py") > 1 or writer == "agents"  # edited in the turn that counts, and listed
