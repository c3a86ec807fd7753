"""Superseded turns and branches on the page of a conversation: frames, folded blocks, outline, panel."""

from __future__ import annotations

import re

import pytest

from copilog.exports.markdown import markdown_page
from copilog.model import Message, Text, Turn
from copilog.render.pages import render_page
from copilog.view.blocks import TurnHead
from copilog.view.conversation_info import panel_of
from copilog.view.frames import BranchFrame, SupersededFrame
from copilog.view.turns import framed_outline, outline_of
from copilog.writers.html.addresses import ServedAddresses
from copilog.writers.html.conversation import Pages
from copilog.writers.html.outline_page import outline_page
from tests.branched import ANSWERS, COPY, PROMPTS, THIRD, TRUNK, branched_conversation
from tests.writers.html_builders import drawn, shown

ADDRESSES = ServedAddresses("vscode:1c")
BLOCK = re.compile(
    r'<details class="superseded"( open)?>\s*<summary>([^<]*)</summary>(.*?)</details>\s*(?=<|$)', re.DOTALL
)


def heads(items: list[object]) -> list[object]:
    """Return the turns of a window, with those of frames in lists."""
    found: list[object] = []
    for item in items:
        if isinstance(item, TurnHead):
            found.append(item.number)
        elif isinstance(item, BranchFrame | SupersededFrame):
            found.append([item.title if isinstance(item, BranchFrame) else item.words, *heads(item.items)])
    return found


def test_branches_are_drawn_where_they_leave_and_superseded_turns_are_folded() -> None:
    assert heads(Pages(branched_conversation()).whole().items) == [
        1,
        ["Turn 2 no longer counts (removed)", 2],
        3,
        [
            "Branch from turn 3",
            5,
            ["Branch from turn 5", 7],
            ["Turn 6 no longer counts (undone)", 6],
        ],
        4,
    ]


def test_a_folded_block_holds_all_of_its_turns_and_needs_no_script() -> None:
    page = shown(branched_conversation())

    assert page.count('<details class="superseded">') == 2
    assert page.index("Turn 2 no longer counts (removed)</summary>") < page.index(PROMPTS[1]) < page.index(ANSWERS[2])
    assert page.count('class="badge is-superseded">removed') == 1
    assert 'is-undone">' not in page  # reported once


def test_a_frame_names_the_trace_and_how_many_turns_it_has() -> None:
    page = shown(branched_conversation())

    assert re.search(
        rf'<section class="branch" aria-label="Branch from turn 3">.*?1 turn</span> <code>{COPY}', page, re.DOTALL
    )
    assert re.search(rf'aria-label="Branch from turn 5">.*?<code>{THIRD}', page, re.DOTALL)


def test_a_turn_of_one_trace_has_a_badge_that_says_which() -> None:
    page = shown(branched_conversation())

    assert page.count("one trace only") == 1
    assert f'title="only in {TRUNK}"' in page


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_windows_cover_all_messages_with_complete_frames(count: int) -> None:
    conversation = branched_conversation()
    view = Pages(conversation, ADDRESSES)
    pages, first = [], 0
    while True:
        window = view.window(first, count)
        pages.append(drawn(window))
        if window.next is None:
            break
        first = window.next

    for page in pages:
        assert page.count("<details") == page.count("</details>")
        assert page.count("<section") == page.count("</section>")
    texts = re.findall("|".join(map(re.escape, (*PROMPTS, *ANSWERS))), "".join(pages))
    assert texts == [text for index in (0, 1, 2, 4, 6, 5, 3) for text in (PROMPTS[index], ANSWERS[index])]


def test_a_window_that_begins_in_a_branch_says_so() -> None:
    conversation = branched_conversation()
    view = Pages(conversation, ADDRESSES)
    answer = next(n for n, m in enumerate(conversation.messages) if m.turn == 4 and m.role == "assistant")

    [frame] = view.window(answer, 1).items

    assert frame.title == "Branch from turn 3, continued"


def test_windows_before_and_after_meet() -> None:
    view = Pages(branched_conversation(), ADDRESSES)
    window = view.window(0, 4)
    assert window.next is not None

    assert heads(view.window_before(window.next, 4).items) == heads(window.items)
    assert view.start_before(window.next, 100) == 0


def test_the_folded_block_with_a_requested_message_is_open() -> None:
    conversation = branched_conversation()
    view = Pages(conversation, ADDRESSES)

    page = drawn(view.window_around(view.view.first_message_of(1)))

    assert [bool(opened) for opened, _, _ in BLOCK.findall(page)][:1] == [True]


def test_the_outline_has_branches_and_folded_turns() -> None:
    conversation = branched_conversation()
    entries = framed_outline(conversation, outline_of(conversation))

    html = render_page("conversation_part.html", what="outline", entries=entries, addresses=ADDRESSES, facts=[])

    turns = re.findall(r'data-turn="(\d)"', html)
    assert turns == ["0", "1", "2", "4", "6", "5", "3"]
    assert html.count("data-superseded") == 2
    assert "Branch from turn 5" in html
    assert re.search(r"<summary[^>]*>Turn 2 no longer counts \(removed\)</summary>", html)
    page = outline_page(conversation, None, 300)
    assert len(page.entries) == 5  # three turns of the trunk, a folded one, and a branch


def test_the_panel_counts_turns_and_shows_overruled_facts() -> None:
    panel = panel_of(branched_conversation())

    assert ("Superseded", "2 turns no longer count (removed, undone)") in panel.facts
    assert "ghost" not in str(panel).lower()
    assert [row.turn for row in panel.turns] == [0, 2, 3, 4, 6]
    assert [trace.overruled for trace in panel.traces] == [
        [],
        ["title: Tides elsewhere", "status of turn 3: cancelled"],
        [],
    ]


def test_turns_without_messages_are_framed_as_well() -> None:
    conversation = branched_conversation()
    conversation.messages = [message for message in conversation.messages if message.turn not in (1, 6)]

    found = heads(Pages(conversation).whole().items)

    assert found[:2] == [1, ["Turn 2 no longer counts (removed)", 2]]
    assert "Branch from turn 5" in str(found)


def test_messages_after_the_last_turn_stay_at_the_end_and_in_no_frame() -> None:
    conversation = branched_conversation()
    conversation.messages.append(Message(role="assistant", parts=[Text(text="a stray remark")], turn=None))

    page, text = shown(conversation), markdown_page(conversation)

    assert page.index(ANSWERS[3]) < page.index("a stray remark")
    assert page.rindex("</section>") < page.index("a stray remark")
    assert re.search("^a stray remark$", text, re.MULTILINE)
    assert text.index(ANSWERS[3]) < text.index("a stray remark")


def test_a_linear_conversation_has_no_frames() -> None:
    conversation = branched_conversation()
    conversation.turns = [Turn(index=index) for index in range(7)]

    assert heads(Pages(conversation).whole().items) == [1, 2, 3, 4, 5, 6, 7]
