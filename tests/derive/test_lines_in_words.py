"""Lines added and removed are written by one rule: what is unknown is left out, and so is a change of no line."""

from __future__ import annotations

import pytest
from rich.text import Text

from copilog.derive.line_counts import Lines, line_counts_text, sum_of_lines
from copilog.render.report import amounts
from copilog.writers.terminal_blocks import append_lines


@pytest.mark.parametrize(
    ("lines", "words", "in_figures"),
    [
        ((1200, 3), "+1,200 -3", "+1,200 −3 lines"),
        ((0, 3), "+0 -3", "+0 −3 lines"),
        ((None, 3), "-3", "−3 lines"),
        ((2, None), "+2", "+2 lines"),
        ((0, 0), "", "no lines"),
        ((None, None), "", "lines not known"),
    ],
)
def test_every_writer_writes_lines_the_same_way(lines: Lines, words: str, in_figures: str) -> None:
    line = Text("x")
    append_lines(line, lines)

    assert line_counts_text(lines) == words
    assert line.plain == (f"x  {words}" if words else "x")
    assert amounts.lines(*lines) == in_figures


def test_the_sum_of_unknown_line_counts_is_unknown() -> None:
    assert sum_of_lines([(None, None), (None, 2), (None, 3)]) == (None, 5)
    assert sum_of_lines([]) == (None, None)
