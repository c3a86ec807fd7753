"""What is shown with a part or a turn beyond its own text is on every surface, and found by search."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from copilog import identity
from copilog.exports.html import html_page
from copilog.exports.markdown import markdown_page
from copilog.model import (
    AnyPart,
    Approval,
    Attachment,
    CodeBlock,
    Compaction,
    Confirmation,
    Conversation,
    Followup,
    Hook,
    Message,
    Notice,
    Place,
    Reference,
    Terminal,
    Text,
    ToolCall,
    Turn,
    TurnError,
)
from copilog.store.texts import texts_of
from copilog.writers.mcp import pieces_of
from copilog.writers.terminal import TextOptions, render_conversation

WORDS = "the tide comes in at nine"


def conversation_of(*parts: AnyPart, asked: AnyPart | None = None, **of_turn: object) -> Conversation:
    turn = Turn(index=0, **of_turn)  # type: ignore[arg-type]
    user = Message(role="user", parts=[Text(text="When?"), *([asked] if asked is not None else [])], turn=0)
    answer = Message(role="assistant", parts=[Text(text="Soon."), *parts], turn=0)
    return Conversation(id="vscode:s-1", source="vscode-session", turns=[turn], messages=[user, answer])


def shown(conversation: Conversation, *, full: bool = False) -> str:
    console = Console(width=200, file=StringIO(), record=True)
    for renderable in render_conversation(conversation, TextOptions(full=full)):
        console.print(renderable)
    return console.export_text()


def has_words(conversation: Conversation) -> dict[str, bool]:
    """Whether each surface has the words."""
    surfaces = {
        "show": shown(conversation),
        "show --full": shown(conversation, full=True),
        "html": html_page(conversation, made_by="copilog"),
        "markdown": markdown_page(conversation),
        "mcp": "\n".join(piece.written(None) for piece in pieces_of(conversation)),
        "search": "\n".join(text for row in texts_of(conversation) for text in row if text),
    }
    return {name: WORDS in text for name, text in surfaces.items()}


EVERYWHERE = dict.fromkeys(("show", "show --full", "html", "markdown", "mcp", "search"), True)
# What repeats other texts, or is the same for every call, is a detail: not in short views, and not searched.
WHERE_ALL_IS_SHOWN = {**EVERYWHERE, "show": False, "mcp": False, "search": False}


@pytest.mark.parametrize(
    "part",
    [
        Terminal(command="make", call_id="c-1", notes={"intention": WORDS}),
        Terminal(command="make", notes={"reason for network access": WORDS}),
        ToolCall(id="c-1", name="runSubagent", notes={"activity": WORDS}),
        Notice(topic="command", text="Open", is_prose=True, notes={"tooltip": WORDS}),
        Notice(topic="session-created", text="New chat", notes={"title": WORDS}),
        Reference(text="", type="pull-request", place=Place(name="A bag"), notes={"description": WORDS}),
        Confirmation(type="plan", options=["Start"], notes={"Start": WORDS}),
        Hook(type="context", message=WORDS),
        Compaction(text="All of it", title=WORDS),
        Compaction(text="All of it", instructions=WORDS),
    ],
)
def test_a_note_is_on_every_surface(part: AnyPart) -> None:
    call = ToolCall(id="c-1", name="run_in_terminal")
    parts = [call, part] if isinstance(part, Terminal) and part.call_id else [part]

    assert has_words(conversation_of(*parts)) == EVERYWHERE


def test_a_note_of_an_attachment_is_on_every_surface() -> None:
    attachment = Attachment(type="element", name="a bed", notes={"text of the element": WORDS})

    assert has_words(conversation_of(asked=attachment)) == EVERYWHERE


def test_what_a_hook_was_given_is_where_all_is_shown() -> None:
    assert has_words(conversation_of(Hook(type="PreToolUse", given=f'{{"prompt": "{WORDS}"}}'))) == WHERE_ALL_IS_SHOWN


def test_the_rule_that_allowed_a_command_is_where_all_is_shown() -> None:
    call = ToolCall(id="c-1", name="run_in_terminal", approval=Approval(kind="setting", rule=f"Allowed as {WORDS}"))

    assert has_words(conversation_of(call)) == WHERE_ALL_IS_SHOWN


def test_prose_before_a_code_block_is_shown_where_the_answer_lacks_it() -> None:
    blocks = [CodeBlock(code="tide()", before=f"{WORDS}:\n")]

    assert has_words(conversation_of(code_blocks=blocks)) == EVERYWHERE
    assert shown(conversation_of(Text(text=f" {WORDS}:\n```\ntide()\n```"), code_blocks=blocks)).count(WORDS) == 1


def test_what_a_user_was_offered_after_an_error_is_on_every_surface() -> None:
    error = TurnError(message="Rate limited", buttons=[WORDS])

    assert has_words(conversation_of(status="failed", error=error)) == EVERYWHERE


def test_the_tooltip_of_a_next_question_is_on_every_surface() -> None:
    assert has_words(conversation_of(followups=[Followup(text="And then?", tooltip=WORDS)])) == EVERYWHERE


def test_notes_of_a_call_are_united_over_traces() -> None:
    def trace(source: str, notes: dict[str, str]) -> Conversation:
        made = conversation_of(ToolCall(id="c-1", name="runSubagent", notes=notes), request_id="r-1")
        made.native_id, made.source = "s-1", source
        return made

    traces = [trace("vscode-session-log", {"agent": "Release helper"}), trace("vscode-session", {"activity": WORDS})]
    merged = identity.merge(traces)

    assert [part.notes for message in merged.messages for part in message.parts if isinstance(part, ToolCall)] == [
        {"agent": "Release helper", "activity": WORDS}
    ]
