"""How the pieces of an answer are joined: in trajectories, in the terminal, in HTML and in Markdown."""

from __future__ import annotations

import pytest

from copilog.exports.markdown import markdown_page
from copilog.model import AnyPart, Conversation, Notice, Place, Reference, Text, ToolCall, prose_of
from copilog.trajectory import trajectories_of
from copilog.writers.mcp import pieces_of
from tests.writers.html_builders import answered, asked, told
from tests.writers.html_builders import shown as html_of
from tests.writers.text_builders import shown as text_of

LINK = Reference(text="tides.py", place=Place(path="/home/ana/tide-tables/tides.py"))
WARNING = Notice(topic="warning", text="Low water!", is_prose=True)
BUTTON = Notice(topic="command", text="Open the chart", is_prose=True)


def answering(*parts: AnyPart) -> Conversation:
    return told(asked(Text(text="When?")), answered(*parts))


def content(made: Conversation) -> str:
    (trajectory,) = trajectories_of(made)
    return trajectory.messages[-1].content


@pytest.mark.parametrize("notice", [WARNING, BUTTON, Notice(topic="info", text="Tides turn.", is_prose=True)])
def test_a_notice_is_a_paragraph_of_its_own_in_a_trajectory(notice: Notice) -> None:
    made = answering(
        Text(text="At noon."), notice, Text(text=""), Reference(text="", type="code-block"), Text(text="Go.")
    )

    assert content(made) == f"At noon.\n\n{notice.text}\n\nGo."
    assert content(answering(notice, Text(text="Go."))) == f"{notice.text}\n\nGo."


def test_a_reference_right_after_a_closing_fence_begins_a_line() -> None:
    made = answering(Text(text="Run:\n```sh\ntides\n```"), LINK, Text(text=" has it."))

    assert content(made) == "Run:\n```sh\ntides\n```\ntides.py has it."
    assert "```\ntides.py has it." in markdown_page(made)
    assert "```\n  tides.py has it." in text_of(made)
    assert "has it.</p>" in html_of(made), "it is a paragraph, not code"
    assert any("```\ntides.py has it." in piece.text for piece in pieces_of(made))


def test_a_reference_within_a_sentence_stays_there() -> None:
    assert prose_of([Text(text="See `a` and\n"), LINK, Text(text=", ```b``` and "), LINK]) == (
        "See `a` and\ntides.py, ```b``` and tides.py"
    )


def test_withdrawn_text_is_stored_but_not_shown() -> None:
    withdrawn = Notice(topic="cleared", text="A line from a book.")
    call = ToolCall(id="c1", name="read_file", status="complete")
    made = answering(Text(text="First."), call, withdrawn, WARNING, Text(text="Anew."))

    assert content(made) == "First.\n\nLow water!\n\nAnew."
    assert "A line from a book" not in text_of(made)
    assert "A line from a book" in text_of(made, full=True)
    assert not any("A line from a book" in piece.text for piece in pieces_of(made))
    for page in (html_of(made), markdown_page(made)):
        folded = page.partition("Text that was withdrawn")[0].rpartition("<details")[2]
        assert "</details>" not in folded
        assert "A line from a book" in page
