"""Tables fit into a window: numbers are never cut, and columns without room are named."""

from __future__ import annotations

import pytest

from copilog.cli.columns import Column, cut, laid_out

NAME = Column("name", ["name", "Why do the tests of the harbour fail at night?"], is_fixed=False)
INPUT = Column("input", ["input", "12.3K"], is_fixed=True)
CACHED = Column("cache_read", ["cache read", "8.0K"], is_fixed=True)
DOLLARS = Column("dollars", ["dollars", "$0.25"], is_fixed=True)
ALL = [NAME, INPUT, CACHED, DOLLARS]
WIDEST = {"name": 46, "input": 5, "cache_read": 10, "dollars": 7}


def test_without_a_window_nothing_is_cut() -> None:
    layout = laid_out(ALL, None)

    assert (layout.widths, layout.left_out, layout.bar) == (WIDEST, [], 16)


@pytest.mark.parametrize(("room", "bar"), [(200, 16), (92, 16), (91, 15), (82, 6), (81, 0), (74, 0)])
def test_bars_use_the_remaining_width(room: int, bar: int) -> None:
    layout = laid_out(ALL, room)  # 68 and three gaps of 2

    assert (layout.widths, layout.bar) == (WIDEST, bar)


def test_texts_get_narrower_before_anything_is_left_out() -> None:
    assert laid_out(ALL, 73).widths == {**WIDEST, "name": 45}
    assert laid_out(ALL, 40) == ({**WIDEST, "name": 12}, [], 0)


def test_the_least_important_columns_are_left_out_first() -> None:
    assert laid_out(ALL, 39) == ({"name": 23, "input": 5, "dollars": 7}, ["cache_read"], 0)
    assert laid_out(ALL, 27).left_out == ["cache_read", "dollars"]
    assert laid_out(ALL, 3).widths == {"name": 12}


def test_a_text_is_cut_at_its_end_and_a_path_at_its_beginning() -> None:
    assert cut("harbour", 7) == "harbour"
    assert cut("lighthouse", 7) == "lighth…"
    assert cut("src/tides.py", 9, keeps_end=True) == "…tides.py"
    assert cut("灯台の光", 6) == "灯台…"
