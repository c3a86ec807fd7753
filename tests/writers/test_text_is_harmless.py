"""Nothing in a conversation can harm the terminal that it is printed on."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime

import pytest
from rich.console import Console

from copilog.model import (
    Agent,
    AnyPart,
    Approval,
    Attachment,
    Checkpoint,
    Citation,
    Compaction,
    Confirmation,
    Conversation,
    Draft,
    EditedFileEvent,
    FileChange,
    FileEdit,
    FileState,
    FileTree,
    Followup,
    Hook,
    Mention,
    Message,
    Mode,
    Model,
    Notice,
    Place,
    Prompt,
    Provenance,
    Queued,
    Reference,
    Relation,
    ResultItem,
    SubAgent,
    Terminal,
    Text,
    Thinking,
    Timing,
    TodoItem,
    TodoList,
    ToolCall,
    ToolResult,
    TreeNode,
    TurnError,
    Unknown,
    UsedReference,
    Vote,
    Workspace,
)
from copilog.writers.terminal import TextOptions, render_conversation
from tests.writers.text_builders import conversation, shown

NASTY = (
    "\x1b[31mred\x1b]0;title\x07\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\ \x9b2J \x00\x07\x08\x7f "
    "[red]markup[/red] [link=https://example.com]x[/link] :smile: \ud800 \u202egnp.exe\u2066 \u2028end"
)


def hostile() -> Conversation:
    """Return a conversation with such text in every string."""
    place = Place(path=NASTY, name=NASTY, uri=NASTY)
    made = conversation(
        Text(text=f"{NASTY}\n\n[{NASTY}](https://example.com/{NASTY})\n\n```{NASTY}\n{NASTY}\n```\n"),
        Text(text=f"| a |\n|---|\n| {NASTY} |\n\n![{NASTY}](<{NASTY}>)"),
        Thinking(text=NASTY, title=NASTY),
        ToolCall(
            id=NASTY,
            name=NASTY,
            arguments='{"filePath": "\\u001b[1mx", "other": "\\u001b]8;;x\\u0007"}',
            message=NASTY,
            server=NASTY,
            approval=Approval(kind="setting", detail=NASTY),
            subagent=SubAgent(name=NASTY, prompt=NASTY, model=NASTY),
        ),
        ToolResult(call_id=NASTY, text=NASTY, display=NASTY + "x", places=[place], items=[ResultItem(text=NASTY)]),
        ToolCall(id="2", name="x", arguments=NASTY),
        Terminal(command=NASTY, original=NASTY + "x", output=NASTY, cwd=NASTY),
        TodoList(items=[TodoItem(title=NASTY, status=NASTY)]),
        FileEdit(path=NASTY, new_uri=NASTY, diff=NASTY, cells=[{"nasty": NASTY}]),
        FileTree(root=TreeNode(label=NASTY)),
        Confirmation(type=NASTY, title=NASTY, message=NASTY, options=[NASTY], answer=NASTY, state=NASTY),
        Checkpoint(id=NASTY),
        Compaction(text=NASTY, model=NASTY, trigger=NASTY),
        Hook(type=NASTY, reason=NASTY, message=NASTY, tool=NASTY, is_blocking=True),
        Notice(topic=NASTY, text=NASTY),
        Reference(text=NASTY, type=NASTY, place=place),
        Unknown(type=NASTY, raw={NASTY: NASTY}),
        asked=[
            Text(text=NASTY),
            Mention(type="agent", name=NASTY, start=0, end=999),
            Mention(type="agent", name=NASTY),
            Attachment(type=NASTY, name=NASTY, place=place, text=NASTY),
            Attachment(type="image", name=NASTY, mime_type=NASTY, data=b"x"),
            Prompt(text=f"<context>{NASTY}</context>"),
        ],
        model=Model(id=NASTY, name=NASTY, resolved=NASTY + "x"),
        details=NASTY,
        mode=Mode(name=NASTY),
        agent=Agent(id=NASTY),
        command=NASTY,
        confirmation=NASTY,
        error=TurnError(message=NASTY, code=NASTY, flags=[NASTY]),
        vote=Vote(is_up=False, reason=NASTY),
        followups=[Followup(text=NASTY)],
        references=[UsedReference(text=NASTY)],
        citations=[Citation(uri=NASTY, license=NASTY)],
        edited_files=[EditedFileEvent(uri=NASTY, action=NASTY)],
        is_system_initiated=True,
        system_label=NASTY,
    )
    made.id = made.title = made.assistant = made.application = NASTY
    made.marks = [NASTY]
    made.workspace = Workspace(folder=NASTY, branch=NASTY)
    made.relations = [Relation(kind=NASTY, other_id=NASTY)]
    made.provenance = [Provenance(source="x", path=NASTY, pointer=NASTY)]
    made.file_changes = [FileChange(uri=NASTY, turn=0, diff=NASTY)]
    made.files = [FileState(uri=NASTY)]
    made.queued = [Queued(type=NASTY, message=Message(role="user", parts=[Text(text=NASTY)]))]
    made.draft = Draft(text=NASTY)
    return made


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("full", [False, True])
def test_text_of_a_conversation_cannot_control_the_terminal(terminal: bool, full: bool) -> None:
    page = shown(hostile(), terminal=terminal, full=full, thinking=True, context=True)

    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028]", page)
    page.encode("utf-8")
    assert "[red]markup[/red]" in page, "content is no markup"
    assert ":smile:" in page
    assert "␛[31mred" in page


def test_on_a_coloured_terminal_nothing_but_colours_is_sent() -> None:
    page = io.StringIO()
    console = Console(file=page, width=100, force_terminal=True, color_system="truecolor", legacy_windows=False)
    for piece in render_conversation(hostile(), TextOptions(full=True, thinking=True, context=True)):
        console.print(piece)

    without_colours = re.sub(r"\x1b\[[\d;]*m", "", page.getvalue())
    assert "\x1b" in page.getvalue()
    assert "\x1b" not in without_colours


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "x" * 500_000,
        "[" * 50_000,
        "> " * 5_000 + "deep",
        "\n".join("  " * depth + "- item" for depth in range(300)),
        "|" + "a|" * 3_000 + "\n|" + "-|" * 3_000 + "\n",
        "```python\n" + "(" * 100_000 + "\n```",
        "\n" * 20_000 + "end",
    ],
    ids=["line", "brackets", "quotes", "lists", "table", "code", "blank"],
)
def test_any_text_can_be_printed(text: str, terminal: bool) -> None:
    parts: list[AnyPart] = [Text(text=text), ToolCall(id="c", name="x"), ToolResult(call_id="c", text=text)]

    assert "Turn 1 of 1" in shown(conversation(*parts, asked=[Text(text=text)]), terminal=terminal)


def test_arguments_nested_beyond_reason_are_shown_as_text() -> None:
    call = ToolCall(id="c", name="x", arguments='{"a":' * 5_000)
    whole = ToolCall(id="d", name="y", arguments='{"a":' + "[" * 5_000 + "]" * 5_000 + "}")

    page = shown(conversation(call, whole))

    assert '      {"a":{"a":' in page
    assert "  · y\n" in page


def test_a_timestamp_without_local_time_is_printed() -> None:
    timing = Timing(started_at=datetime(1, 1, 1, tzinfo=UTC))

    assert "Turn 1 of 1 · " in shown(conversation(timing=timing))
