"""Every writer draws all that a block holds, whatever combination of it some part needs."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable

import pytest
from rich.console import Console

from copilog.derive.notes import Note
from copilog.model import Conversation
from copilog.render.pages import environment
from copilog.view import View
from copilog.view.blocks import AnyBlock, Chip, Chips, Edit, EventNote, QuestionForm, Result, Shell, Thought, Todo
from copilog.writers import markdown, mcp
from copilog.writers.html.addresses import Addresses
from copilog.writers.html.page import Page
from copilog.writers.missing import Missing
from copilog.writers.terminal_blocks import Drawer
from copilog.writers.terminal_layout import TextOptions, stacked

VIEW = View(Conversation(id="vscode:1", source="vscode-session"))
NOTES = [Note("note-label", "note-text")]


def terminal(block: AnyBlock) -> str:
    page = io.StringIO()
    console = Console(file=page, width=300, color_system=None)
    options = TextOptions(full=True, thinking=True, markdown=False)
    for piece in stacked(Drawer(VIEW, options).blocks([block], 1)):
        console.print(piece, soft_wrap=True)
    return page.getvalue()


def page(block: AnyBlock) -> str:
    drawn = environment().get_template("parts.html").module.part(block, Page(VIEW, Addresses(), is_whole=True))  # type: ignore[attr-defined]
    return html.unescape(re.sub("<[^>]*>", "", str(drawn)))


def document(block: AnyBlock) -> str:
    return "\n".join(markdown.BlockWriter(VIEW, Missing()).block(block))


def agents(block: AnyBlock) -> str:
    return "\n".join([f"{each.text} {each.body}" for each in mcp.scraps_of(block)] + mcp.note_lines(block.notes))


WRITERS: dict[str, Callable[[AnyBlock], str]] = {
    "terminal": terminal,
    "HTML": page,
    "Markdown": document,
    "agents": agents,
}
LOOKS = ("notice", "warning", "switch", "hook", "undone")
BLOCKS: list[tuple[AnyBlock, list[str]]] = [
    *(
        (EventNote(look=look, title="The title", words="The words", facts=["fact"]), ["title", "words", "fact"])
        for look in LOOKS
    ),
    (EventNote(look="compaction", title="The title", facts=["fact"], text="The text"), ["title", "fact", "text"]),
    (Thought(title="The title", text="The text"), ["title", "text"]),
    (Chips(chips=[Chip(label="kind", name="name", where="where", facts=["fact"], text="text")]),
     ["kind", "name", "where", "fact", "text"]),
    (Shell(command="make", asked="build", changed_by="the user", output="out", exit_code=7, facts=["fact"]),
     ["make", "build", "the user", "out", "exit code 7", "fact"]),
    (Result(lost_call="gone", text="text", pieces=[(0, "piece")], full_path="/all"), ["gone", "text", "piece"]),
    (Edit(action="edit", verb="edited", path="a.py", new_path="b.py", lines=(3, 1), outcome="kept",
          outcome_words="accepted", facts=["fact"], warnings=["warning"], diff="@@ -1 +1 @@\n-low\n+high\n"),
     ["a.py", "b.py", "3", "accepted", "fact", "warning", "high"]),
    (Todo(tasks=[("done", "one", "first"), ("open", "two", "")]), ["one", "first", "two"]),
    (QuestionForm(title="title", state="state", message="message", questions=[("words", ["option"], "answer")]),
     ["title", "state", "message", "words", "option", "answer"]),
]  # fmt: skip


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize(("block", "words"), BLOCKS, ids=lambda given: getattr(given, "look", type(given).__name__))
def test_all_of_a_block_is_drawn(block: AnyBlock, words: list[str], writer: str) -> None:
    block.notes = NOTES
    text = WRITERS[writer](block)

    assert [word for word in [*words, "note-label", "note-text"] if word not in text] == []
