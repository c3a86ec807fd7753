"""What programs printed: its colours stay, and nothing that a terminal would obey."""

from __future__ import annotations

import pytest
from hypothesis import given

from copilog.writers.html import terminal_html
from copilog.writers.html.code import LONGEST_TEXT
from tests.safe_html import confusing_text, harmless


def test_colours_and_weights_become_classes() -> None:
    page = harmless(terminal_html("\x1b[1;31mfailed\x1b[0m \x1b[4;3;92mok\x1b[m plain"))
    assert page.text == "failed ok plain"
    assert [attributes["class"] for attributes in page.attributes("span")] == [
        "t-red t-bold",
        "t-bright-green t-italic t-underline",
    ]


@pytest.mark.parametrize(
    ("sequence", "classes"),
    [
        ("38;5;9", "t-bright-red"),
        ("38;5;196", "t-bright-red"),
        ("38;5;16", "t-black"),
        ("38;5;244", "t-bright-black"),
        ("48;5;21", "t-on-blue"),
        ("38;2;250;250;250", "t-bright-white"),
        ("38;2;10;10;10", "t-black"),
        ("38:2:0:200:0", "t-green"),
        ("38:2::0:200:0", "t-green"),
        ("48;2;0;0;0;1", "t-on-black t-bold"),
        ("41;97", "t-bright-white t-on-red"),
        ("100", "t-on-bright-black"),
        ("7", "t-reverse"),
        ("7;31", "t-on-red"),
        ("7;31;44", "t-blue t-on-red"),
        ("2", "t-dim"),
        ("2;31", "t-red"),
        ("9;4", "t-underline t-strike"),
    ],
)
def test_fine_colours_become_the_nearest_of_sixteen(sequence: str, classes: str) -> None:
    page = harmless(terminal_html(f"\x1b[{sequence}mx"))
    assert [attributes["class"] for attributes in page.attributes("span")] == [classes]


@pytest.mark.parametrize(
    "sequence", ["", "0", "38", "38;5", "38;9;1", "1;0", "999", "31;39", "41;49", "1;22", "?25", "8"]
)
def test_odd_sequences_leave_text_as_it_is(sequence: str) -> None:
    page = harmless(terminal_html(f"\x1b[{sequence}mx"))
    assert page.text == "x"
    assert not page.attributes("span")


def test_text_that_should_have_been_invisible_is_shown() -> None:
    assert harmless(terminal_html("\x1b[8msecret\x1b[28m")).text == "secret"


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("10 %\r20 %\r100 %\n", "100 %\n"),
        ("downloading\rdone", "doneloading"),
        ("downloading\r\x1b[Kdone", "done"),
        ("abc\x1b[2K\rx", "x"),
        ("abc\x08\x08X", "aXc"),
        ("\x08\x08a", "a"),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("\x1b[2J\x1b[Htop\x1b[3A", "top"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0\x1b\\after", "after"),
        ("\x1b]0;never ends\nnext", "\nnext"),
        ("cut off\x1b[", "cut off"),
        ("\x1b", ""),
        ("\x9b31mred", "red"),
        ("bell\x07", "bell"),
        ("\u202eback", "⟨U+202E⟩back"),
        ("\n\nfirst", "\n\nfirst"),
    ],
)
def test_the_cursor_moves_within_its_line_and_nowhere_else(printed: str, shown: str) -> None:
    assert harmless(terminal_html(printed)).text == shown


def test_a_progress_bar_of_many_steps_is_its_last_step() -> None:
    steps = "".join(f"\r\x1b[32m{step:>6}\x1b[0m of 20000" for step in range(20_001))
    assert harmless(terminal_html(steps)).text == " 20000 of 20000"


def test_markup_is_text() -> None:
    assert harmless(terminal_html("</samp></pre><script>x()</script>")).text == "</samp></pre><script>x()</script>"


def test_huge_output_is_cut_with_a_note() -> None:
    page = harmless(terminal_html("x" * (LONGEST_TEXT + 5)))
    assert page.text.endswith("5 more characters not shown here")


@given(confusing_text)
def test_any_terminal_output_gives_valid_html(text: str) -> None:
    assert "\x1b" not in harmless(terminal_html(text)).text
