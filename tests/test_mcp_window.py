"""Windows of conversations: what fits a budget, what is shortened first, and that paging loses nothing."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog import discover, read
from copilog.errors import UsageError
from copilog.mcp.window import Cursor, Reader, ToolResults, Window
from copilog.model import (
    AnyPart,
    Conversation,
    FileChange,
    Message,
    Prompt,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    TurnError,
)
from copilog.sample import home
from copilog.writers.mcp import pieces_of
from copilog.writers.mcp_text import beginning_of, fenced, one_line, plain, shortened, size_of, tokens_of


def message_of(role: Role, turn: int, *parts: AnyPart) -> Message:
    return Message(role=role, turn=turn, parts=list(parts))


def conversation_of(*messages: Message, **fields: object) -> Conversation:
    turns = sorted({message.turn for message in messages if message.turn is not None})
    fields = {"turns": [Turn(index=index) for index in turns], **fields}
    return Conversation(id="vscode:made-up", source="vscode-session", messages=list(messages), **fields)  # type: ignore[arg-type]


def long_conversation(turns: int = 6) -> Conversation:
    """Return a conversation whose turns are a question, a call with a long result, and an answer."""
    messages: list[Message] = []
    for turn in range(turns):
        result = "\n".join(f"line {number} of the tide table" for number in range(200))
        messages += [
            message_of("user", turn, Text(text=f"Question {turn + 1}: when is high water?")),
            message_of("assistant", turn, Thinking(text="Tables first."), ToolCall(id=f"c{turn}", name="read_file")),
            message_of("tool", turn, ToolResult(call_id=f"c{turn}", text=result)),
            message_of("assistant", turn, Text(text=f"Answer {turn + 1}: at noon.")),
        ]
    return conversation_of(*messages)


def pages(conversation: Conversation, budget: int, start: Cursor | None = None) -> list[Window]:
    """Return all windows, one after the other."""
    reader = Reader(conversation)
    windows = [reader.window(start or Cursor(), budget)]
    while (cursor := windows[-1].next_cursor) is not None:
        windows.append(reader.window(Cursor.parse(cursor), budget))
        assert len(windows) < 1000, "the windows do not come to an end"
    return windows


@cache
def sample() -> list[Conversation]:
    return [conversation for found in discover([home()]) for conversation in read(found)]


# --- the command, where the SDK is missing ----------------------------------------------------------------------------


def test_without_the_sdk_the_command_names_the_package_to_install() -> None:
    script = "import sys; sys.modules['mcp'] = None; from copilog.cli.mcp import command; command([], obj=Settings())"
    lines = f"from copilog.cli.common import Settings; {script}"

    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "pip install 'copilog[mcp]'" in done.stderr


# --- what is in a window --------------------------------------------------------------------------------------------


def test_a_short_conversation_is_one_window_in_the_order_of_what_happened() -> None:
    conversation = conversation_of(
        message_of("user", 0, Text(text="Which tide is next?"), Prompt(text="<context>all of the workspace</context>")),
        message_of(
            "assistant", 0, Text(text="I look."), ToolCall(id="c1", name="read_file", arguments='{"path": "t.csv"}')
        ),
        message_of("tool", 0, ToolResult(call_id="c1", text="06:12 low")),
        message_of("assistant", 0, Text(text="Low water at 06:12.")),
    )

    (window,) = pages(conversation, 1000)

    assert window.text.split("\n\n") == [
        "## Turn 1 of 1",
        "### User",
        "Which tide is next?",
        "### Assistant",
        "I look.",
        '- called `read_file`\n```json\n{"path": "t.csv"}\n```',
        "- result of `read_file`:\n```\n06:12 low\n```",
        "Low water at 06:12.",
    ]
    assert (window.first_turn, window.last_turn, window.is_shortened) == (1, 1, False)


def test_thinking_is_left_out_and_counted_unless_it_is_requested() -> None:
    conversation = long_conversation(2)

    without = pages(conversation, 20_000)[0]
    with_it = pages(conversation, 20_000, Cursor(thinking=True))[0]

    assert ("Tables first." in without.text, without.thinking_left_out) == (False, 2)
    assert ("Tables first." in with_it.text, with_it.thinking_left_out) == (True, 0)


def test_results_are_shortened_before_messages_are_left_out() -> None:
    (window,) = pages(long_conversation(6), 1500)

    assert window.is_shortened
    assert all(f"Question {turn}" in window.text and f"Answer {turn}" in window.text for turn in range(1, 7))
    assert "characters left out" in window.text


def test_a_shortened_result_keeps_its_beginning_and_its_end() -> None:
    window = pages(long_conversation(6), 1500)[0]

    assert "line 0 of the tide table" in window.text
    assert "line 199 of the tide table" in window.text
    assert "line 100 of the tide table" not in window.text


def test_results_can_be_left_out_or_requested_in_full() -> None:
    conversation = long_conversation(2)

    none = "".join(window.text for window in pages(conversation, 400, Cursor(tool_results="none")))
    full = "".join(window.text for window in pages(conversation, 400, Cursor(tool_results="full")))

    assert "tide table" not in none
    assert "called `read_file`" in none
    assert all(full.count(f"line {number} of the tide table") == 2 for number in (0, 57, 121, 199))


def test_a_turn_ends_with_its_error_and_its_changed_files() -> None:
    conversation = conversation_of(
        message_of("user", 0, Text(text="Rename it.")),
        turns=[Turn(index=0, status="failed", error=TurnError(message="quota exceeded"))],
        file_changes=[FileChange(uri="file:///home/ana/t.py", path="/home/ana/t.py", turn=0, added=2, removed=1)],
    )

    (window,) = pages(conversation, 1000)

    assert "- the turn failed: quota exceeded\n- file on disk: edit `/home/ana/t.py` (+2 -1)" in window.text


def test_an_empty_conversation_has_an_empty_window() -> None:
    (window,) = pages(conversation_of(), 1000)

    assert (window.text, window.first_turn, window.next_cursor) == ("", None, None)


# --- where it begins ------------------------------------------------------------------------------------------------


def test_a_window_begins_at_the_turn_that_was_named() -> None:
    reader = Reader(long_conversation(6))

    window = reader.window(reader.at_turn(5), 20_000)

    assert window.text.startswith("## Turn 5 of 6\n\n### User\n\nQuestion 5")
    assert (window.first_turn, window.last_turn) == (5, 6)


def test_a_window_around_a_message_shows_it_in_full_and_some_text_before_it() -> None:
    conversation = long_conversation(6)
    budget = 900
    position = 4 * 4 + 2  # the result of the fifth turn
    reader = Reader(conversation)

    window = reader.window(reader.around(position, budget), budget, focus=position)

    assert "Question 5" in window.text
    assert "Answer 5" in window.text
    before, _, of_fifth = window.text.partition("## Turn 5")
    assert before
    assert len(of_fifth.partition("Answer 5")[0]) > 400  # shortened less than the others
    assert window.tokens <= budget


def test_the_position_of_a_title_opens_the_beginning() -> None:
    conversation = long_conversation(2)

    assert Reader(conversation).around(len(conversation.messages), 500) == Cursor()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (lambda reader: reader.at_turn(9), "there is no turn 9: its turns are numbered 1 to 6"),
        (lambda reader: reader.around(99, 500), "there is no message 99: the conversation has 24"),
        (lambda reader: reader.window(Cursor(piece=4000), 500), "is after the end"),
        (lambda _: Cursor.parse("page 2"), "'page 2' is not a cursor"),
    ],
)
def test_a_position_out_of_range_is_refused_with_the_valid_range(asked: object, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        asked(Reader(long_conversation(6)))  # type: ignore[operator]


@given(st.integers(0, 999_999), st.integers(0, 999_999), st.sampled_from(["short", "full", "none"]), st.booleans())
def test_a_cursor_survives_being_written(piece: int, offset: int, results: ToolResults, thinking: bool) -> None:
    cursor = Cursor(piece, offset, results, thinking)

    assert Cursor.parse(str(cursor)) == cursor


# --- budgets and pages ----------------------------------------------------------------------------------------------


@given(st.integers(0, 18), st.integers(200, 3000), st.sampled_from(["short", "full", "none"]), st.booleans())
def test_every_window_fits_its_budget_and_pages_lose_nothing(
    index: int, budget: int, results: ToolResults, thinking: bool
) -> None:
    conversation = sample()[index]

    windows = pages(conversation, budget, Cursor(0, 0, results, thinking))

    assert all(window.tokens <= budget for window in windows)
    shown = "".join("".join(window.text.split()) for window in windows)
    for piece in pieces_of(conversation):
        wanted = piece.kind in ("prose", "note") or (piece.kind == "thinking" and thinking)
        if wanted and size_of(piece.text) <= budget:  # longer ones may be cut by a heading
            assert "".join(piece.text.split()) in shown


@given(st.text(min_size=3000, max_size=6000, alphabet=st.sampled_from("abc é日\n 😀")), st.integers(200, 600))
def test_a_message_longer_than_the_budget_continues_in_the_next_window(text: str, budget: int) -> None:
    conversation = conversation_of(message_of("assistant", 0, Text(text=text)))

    windows = pages(conversation, budget)

    bodies = [window.text.split("\n\n", 2)[2] for window in windows]
    assert "".join(bodies) == plain(text).strip()
    assert all(window.tokens <= budget for window in windows)


def test_the_sample_reads_without_anything_hidden() -> None:
    for conversation in sample():
        for window in pages(conversation, 2000, Cursor(thinking=True)):
            assert window.text == plain(window.text)


# --- text -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x1b[31mred\x1b[0m b", "ared b"),
        ("title\x1b]0;evil\x07!", "title!"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("tab\tstays", "tab\tstays"),
        ("nul\x00bell\x07", "nulbell"),
        ("left\u202eright\u2066x", "leftrightx"),
        ("seen\U000e0041\U000e0042", "seen"),
        ("half\ud83d", "half"),
        ("família 日本 😀", "família 日本 😀"),
    ],
)
def test_invisible_characters_are_removed(text: str, expected: str) -> None:
    assert plain(text) == expected


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    assert fenced("a\n````\nb", "md") == "`````md\na\n````\nb\n`````"


def test_lines_and_lengths() -> None:
    assert one_line("  two\n words ", 20) == "two words"
    assert one_line("x" * 50, 10) == "x" * 9 + "…"
    assert shortened("abcdef", None) == "abcdef"
    assert shortened("a" * 60 + "b" * 30, 30) == "a" * 20 + "\n… 60 characters left out …\n" + "b" * 10
    assert tokens_of("four and then some.") == 5
    assert tokens_of("日本") == 2
    assert beginning_of("日本日本", 7) == "日本"
