"""Turns and windows of a conversation as HTML, and that nothing in it is obeyed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from copilog.model import (
    Agent,
    Attachment,
    Citation,
    Compaction,
    Confirmation,
    Conversation,
    Draft,
    Duration,
    EditedFileEvent,
    FileEdit,
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
    PromptShare,
    Provenance,
    Queued,
    Reference,
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
    Turn,
    TurnError,
    Unknown,
    Usage,
    UsedReference,
    Vote,
)
from copilog.render.pages import render_page
from copilog.store.summary import Summary
from copilog.view.conversation_info import panel_of
from copilog.view.turns import outline_of
from copilog.writers.html.addresses import Addresses, ServedAddresses
from copilog.writers.html.conversation import Pages
from tests.writers.html_builders import answered, asked, drawn, shown, told

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def with_turns(messages: list[Message], turns: list[Turn], **more: object) -> Conversation:
    made = told(*messages, **more)  # type: ignore[arg-type]
    made.turns = turns
    return made


# --- turns ------------------------------------------------------------------------------------------------------


def full_turn(index: int, **more: object) -> Turn:
    values: dict[str, object] = {
        "index": index,
        "pointer": f"/requests/{index}",
        "status": "complete",
        "model": Model(id="copilot/gpt-5", name="gpt-5"),
        "mode": Mode(kind="agent"),
        "timing": Timing(started_at=NOON + timedelta(minutes=index), first_progress_ms=900),
        "duration": Duration(elapsed_ms=4000, working_ms=4000),
        **more,
    }
    return Turn(**values)  # type: ignore[arg-type]


def test_turns_show_changes_outcome_and_references() -> None:
    first = full_turn(0, status="failed", error=TurnError(message="Too **many** requests", code="rate_limited"))
    second = full_turn(
        1,
        model=Model(id="copilot/auto", name="auto", resolved="gpt-5-mini"),
        mode=Mode(kind="ask"),
        agent=Agent(id="github.copilot", name="agent"),
        vote=Vote(is_up=False, reason="wrong"),
        followups=[Followup(text="And tomorrow?")],
        references=[UsedReference(place=Place(path="/home/ana/tide-tables/a.py"), status="partial")],
        citations=[Citation(uri="https://example.com/c", license="MIT")],
        edited_files=[EditedFileEvent(uri="file:///home/ana/tide-tables/a.py", action="undo")],
        usage=[Usage(input=10, output=20, source="turn")],
        details="auto • 0.9x",
        confirmation="Continue",
    )
    third = full_turn(2, status="cancelled", is_undone=True, error=TurnError(message="Canceled", code="canceled"))
    messages = [asked(Text(text=words), turn=turn) for turn, words in enumerate(("Tide?", "Tide?", "Stop"))]
    html = shown(with_turns(messages, [first, second, third]))

    for words in ("Too <strong>many</strong> requests", "rate_limited", "Model changed from gpt-5 to auto: gpt-5-mini"):
        assert words in html
    for words in (
        "Mode changed from agent mode to ask mode",
        "voted down: wrong",
        "And tomorrow?",
        "asked again",
        "0.9x",
    ):
        assert words in html
    for words in ("MIT", "Undid the edits to a.py", "10 in, 20 out", "Continue", "undone", "Cancelled", "partial"):
        assert words in html


def test_a_turn_without_messages_is_not_lost() -> None:
    html = shown(with_turns([asked(Text(text="Hello"), turn=1)], [full_turn(0), full_turn(1), full_turn(2)]))

    assert html.index('id="t-0"') < html.index('id="t-1"') < html.index("Hello") < html.index('id="t-2"')


def test_queued_prompts_and_the_draft_are_at_the_end() -> None:
    html = shown(
        told(
            answered(Text(text="Done.")),
            queued=[Queued(type="steering", message=Message(role="user", parts=[Text(text="Also this")]))],
            draft=Draft(text="And th"),
        )
    )

    assert html.index("Done.") < html.index("Never sent (steering)") < html.index("Also this") < html.index("And th")


def test_the_outline_has_a_line_for_each_turn() -> None:
    messages = [asked(Text(text="Tide?"), turn=0), answered(ToolCall(id="c", name="x"), turn=0)]
    entries = outline_of(with_turns(messages, [full_turn(0), full_turn(1, status="failed", command="fix")]))

    assert [(entry.words, entry.status, entry.calls) for entry in entries] == [
        ("Tide?", "complete", 1),
        ("/fix", "failed", 0),
    ]
    assert entries[1].marks == ["failed"]


def test_the_panel_shows_traces_and_usage() -> None:
    usage = Usage(input=10, output=5, source="metadata", by_category=[PromptShare(category="System", percent=12.5)])
    conversation = with_turns(
        [asked(Text(text="Tide?"))],
        [full_turn(0, usage=[usage])],
        provenance=[Provenance(source="vscode-session", path="/home/ana/1.json", size=2000, pointer="/requests")],
    )
    summary = Summary(id="vscode:1", title="Tides", source="vscode-session")
    panel = panel_of(conversation)
    html = render_page(
        "conversation_part.html",
        what="panel",
        panel_values=panel,
        addresses=Addresses(),
        summary=summary,
        similar=[],
        similar_url="/conversation/similar?id=1",
    )

    for words in ("/home/ana/1.json", "metadata", "12.50 %", "System", "4.0 s", "lead"):
        assert words in html


# --- windows ----------------------------------------------------------------------------------------------------


def long_conversation(count: int) -> Conversation:
    messages = [answered(Text(text=f"answer {number}.")) for number in range(count)]
    return told(asked(Text(text="Count.")), *messages)


def test_windows_follow_each_other_without_gap_or_overlap() -> None:
    view = Pages(long_conversation(500), ServedAddresses("vscode:1"))
    seen: list[int] = []
    at: int | None = 0
    while at is not None:
        window = view.window(at)
        seen += [item.number for item in window.items if item.kind == "message"]
        at = window.next

    assert seen == list(range(501))


def test_windows_lead_upwards_too() -> None:
    view = Pages(long_conversation(500), ServedAddresses("vscode:1"))
    window = view.window_around(300)
    seen = [item.number for item in window.items if item.kind == "message"]
    assert 300 in seen
    while window.previous is not None:
        window = view.window_before(window.previous)
        seen = [item.number for item in window.items if item.kind == "message"] + seen

    assert seen == list(range(seen[-1] + 1))


def test_a_window_in_the_middle_of_a_turn_says_which() -> None:
    html = drawn(Pages(long_conversation(100), ServedAddresses("vscode:1")).window(50))

    assert "Turn 1, continued" in html
    assert "answer 10." not in html


def test_an_invalid_position_still_gives_a_window() -> None:
    view = Pages(long_conversation(5), ServedAddresses("vscode:1"))

    assert [item.number for item in view.window(9999).items if item.kind == "message"] == [5]
    assert "t-0" in drawn(Pages(told(), ServedAddresses("x")).window(3))
    assert Pages(told(), ServedAddresses("x")).window().next is None


def test_long_texts_are_cut_on_a_served_page_and_complete_on_an_exported_one() -> None:
    result = ToolResult(call_id="c1", text="x\n" * 20_000 + "the end")
    conversation = told(answered(ToolCall(id="c1", name="cat")), Message(role="tool", turn=0, parts=[result]))

    served = shown(conversation, is_served=True)

    assert "the end" not in served
    assert "/conversation/text?id=vscode%3A1&amp;message=1&amp;part=0&amp;field=text" in served
    assert "the end" in shown(conversation)


def test_text_of_a_conversation_cannot_inject_html() -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    conversation = with_turns(
        [
            asked(
                Text(text=evil),
                Attachment(type=evil, name=evil, text=evil),
                Prompt(text=evil),
                Mention(type=evil, name=evil),
            ),
            answered(
                Text(text=evil + " [x](javascript:alert(1))"),
                Thinking(text=evil, title=evil),
                ToolCall(id=evil, name=evil, arguments=evil, message=evil, subagent=SubAgent(name=evil, prompt=evil)),
                Terminal(command=evil, output=evil, original=evil + "x"),
                TodoList(items=[TodoItem(title=evil, status=evil)]),
                FileEdit(path=evil, diff=evil),
                Confirmation(type=evil, title=evil, message=evil, options=[evil], answer=evil, state=evil),
                Hook(type=evil, reason=evil, message=evil),
                Unknown(type=evil, raw={evil: evil}),
                Notice(topic=evil, text=evil),
                Compaction(text=evil),
                FileTree(root=TreeNode(label=evil)),
                Reference(text=evil, place=Place(path=evil)),
            ),
        ],
        [full_turn(0, error=TurnError(message=evil, code=evil), followups=[Followup(text=evil)], details=evil)],
        assistant=evil,
        title=evil,
    )
    html = shown(conversation, is_served=True)

    assert "<script" not in html
    assert "<img" not in html
    assert 'href="javascript' not in html
