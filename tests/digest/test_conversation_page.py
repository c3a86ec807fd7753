"""The page of a conversation: a section for each kind of record, and none without one."""

from __future__ import annotations

import re

from copilog.derive import conclude
from copilog.digest import digest_of
from copilog.digest.conversation_page import NO_RECORDS, conversation_page
from copilog.model import (
    CheckpointDocument,
    Compaction,
    Conversation,
    MemoryDocument,
    Message,
    PlanDocument,
    ReferenceDocument,
    SummaryDocument,
    Text,
    Thinking,
    TodoItem,
    TodoList,
    TodosDocument,
    ToolResult,
)
from tests.analysis.made_up_edits import conversation_with
from tests.digest.test_pitfalls import ran


def page_of(conversation: Conversation) -> str:
    conclude(conversation)
    return "\n\n".join(block for block in conversation_page(digest_of(conversation)) if block)


def headings(page: str) -> list[str]:
    return re.findall(r"^## (.*)", page, re.MULTILINE)


def test_without_records_a_page_has_what_can_be_counted_and_says_so() -> None:
    page = page_of(conversation_with("tides", ran("a", "pytest", 0), title="Tides [at] <night>"))

    assert headings(page) == ["Commands that matter", "Prompts"]
    assert NO_RECORDS in page
    assert "# Tides \\[at\\] &lt;night&gt;" in page
    assert "- `pytest`: exit code 0, [turn 1](#turn-1)" in page


def test_each_kind_of_record_has_its_section() -> None:
    conversation = conversation_with("tides", [Text(text="Done.")])
    conversation.documents = [
        CheckpointDocument(
            number=1,
            title="Half way",
            turn=0,
            sections={
                "overview": "O1", "work_done": "W1", "technical_details": "T1", "important_files": "I1",
                "next_steps": "N1", "history": "H1",
            },
        ),
        PlanDocument(text="# The plan\n\nP1"),
        MemoryDocument(text="M1", scope="session"),
        SummaryDocument(text="<analysis>reasoning</analysis><summary>S1</summary>"),
        TodosDocument(items=[TodoItem(title="Old", status="not-started")]),
        TodosDocument(items=[TodoItem(title="New", status="completed")]),
        ReferenceDocument(type="pr", value="12", turn=0),
    ]  # fmt: skip
    page = page_of(conversation)

    assert headings(page) == [
        "Overview", "Work done", "Technical details", "Important files", "Plan", "Memories", "History", "To do",
        "Commits, pull requests and issues", "Next steps", "Prompts",
    ]  # fmt: skip
    assert all(text in page for text in ("O1", "W1", "T1", "I1", "N1", "H1", "### The plan", "P1", "M1", "S1"))
    assert "- [x] New" in page
    assert "Old" not in page
    assert "reasoning" not in page
    assert NO_RECORDS not in page
    assert "Half way, [turn 1](#turn-1)" in page


def test_the_last_checkpoint_that_has_a_section_counts() -> None:
    conversation = conversation_with("tides", [Text(text="Done.")])
    conversation.documents = [
        CheckpointDocument(number=1, sections={"overview": "old", "next_steps": "open"}),
        CheckpointDocument(number=2, sections={"overview": "new"}),
    ]
    page = page_of(conversation)

    assert "new" in page
    assert "old" not in page
    assert "open" in page


def test_output_and_reasoning_are_never_on_a_page() -> None:
    conversation = conversation_with("tides", [*ran("a", "pytest", 1), *ran("b", "pytest", 0)])
    conversation.messages += [
        Message(role="assistant", turn=0, parts=[Thinking(text="SECRET THOUGHT"), Text(text="SECRET ANSWER")]),
        Message(role="tool", turn=0, parts=[ToolResult(call_id="a", text="SECRET OUTPUT")]),
    ]

    assert "SECRET" not in page_of(conversation)


def test_a_summary_of_the_history_is_an_overview() -> None:
    conversation = conversation_with("tides", [Compaction(text="What was said so far.")])

    assert "Overview" in headings(page_of(conversation))


def test_superseded_turns_are_only_counted() -> None:
    conversation = conversation_with("tides", ran("a", "pytest", 0), ran("b", "make", 0))
    conversation.turns[1].superseded = "removed"
    page = page_of(conversation)

    assert "make" not in page
    assert "1 turn undone or replaced" in page


def test_every_link_to_a_turn_has_its_heading() -> None:
    page = page_of(conversation_with("tides", ran("a", "pytest", 0), ran("b", "make", 0)))

    linked = set(re.findall(r"\(#turn-(\d+)\)", page))
    assert linked == {"1", "2"}
    assert linked <= set(re.findall(r"^### Turn (\d+)$", page, re.MULTILINE))


def test_the_last_state_of_each_to_do_list_is_told() -> None:
    def todos(status: str, title: str = "Trim") -> list[TodoItem]:
        return [TodoItem(id="1", title=title, status=status)]

    conversation = conversation_with(
        "tides", [TodoList(items=todos("not-started"))], [TodoList(items=todos("in-progress"))],
        [TodoList(items=todos("completed"))],
    )  # fmt: skip
    conversation.documents = [TodosDocument(text="- [x] Trim", items=todos("completed"))]
    [same] = digest_of(conversation).tasks
    conversation.documents = [TodosDocument(text="- [ ] Light", items=todos("not-started", "Light"), path="session.db")]
    both = digest_of(conversation).tasks

    assert [task.status for task in same.tasks] == ["completed"]
    assert [[(task.title, task.status) for task in listed.tasks] for listed in both] == [
        [("Trim", "completed")],
        [("Light", "not-started")],
    ]
