"""Charts: sizes, labels and descriptions are right, and names are only text."""

from __future__ import annotations

from datetime import date
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from copilog.render import charts
from copilog.render.charts import Bar, Series

SVG = "{http://www.w3.org/2000/svg}"


def drawn(picture: Markup) -> ElementTree.Element:
    """Return the picture as a tree, for which it must be well-formed."""
    return ElementTree.fromstring(picture)


def texts(picture: Markup, kind: str) -> list[str]:
    return [element.text or "" for element in drawn(picture).iter(f"{SVG}text") if element.get("class") == kind]


def tips(picture: Markup) -> list[str]:
    """Return the tooltips of marks."""
    return [element.text or "" for element in list(drawn(picture).iter(f"{SVG}title"))[1:]]


def rects(picture: Markup, kind: str) -> list[ElementTree.Element]:
    return [element for element in drawn(picture).iter(f"{SVG}rect") if element.get("class") == kind]


def test_every_chart_has_a_title_and_a_description_that_it_points_to() -> None:
    pictures = {
        "a": charts.columns("a", "Turns by day", ["Mon"], [Series("turns", [3])]),
        "b": charts.bars("b", "Turns by model", [Bar("gpt-5", [3])]),
        "c": charts.calendar("c", "Turns in 2026", {date(2026, 5, 4): 3}),
        "d": charts.sparkline("d", "Turns", [1, 2]),
    }

    for key, picture in pictures.items():
        root = drawn(picture)
        named = {element.get("id"): element.text for element in root if element.get("id")}
        assert root.get("role") == "img"
        assert (root.get("aria-labelledby") or "").split() == list(named) == [f"{key}-title", f"{key}-about"]
        assert all(named.values())


def test_columns_are_as_tall_as_their_values_and_stand_on_one_another() -> None:
    picture = charts.columns("k", "t", ["Mon", "Tue"], [Series("in", [6, 0], 1), Series("out", [4, 5], 3)], height=100)

    [first] = rects(picture, "tone-1")
    second, third = rects(picture, "tone-3")
    assert [(first.get("y"), first.get("height")), (second.get("y"), second.get("height"))] == [
        ("40", "60"),
        ("0", "40"),
    ]
    assert (third.get("y"), third.get("height")) == ("50", "50")
    assert tips(picture) == ["Mon: in 6, out 4", "Tue: out 5"]
    assert texts(picture, "value") == ["10", "5"]
    assert texts(picture, "axis") == ["0", "5", "10", "Mon", "Tue"]


def test_many_columns_have_few_labels_and_no_values() -> None:
    labels = [f"{hour:02} h" for hour in range(24)]

    picture = charts.columns("k", "t", labels, [Series("turns", range(24))])

    assert texts(picture, "axis")[3:] == ["00 h", "06 h", "12 h", "18 h"]
    assert texts(picture, "value") == []
    assert len(tips(picture)) == 23  # nothing is drawn of nothing


def test_bars_share_the_width_by_value() -> None:
    picture = charts.bars("k", "t", [Bar("read_file", [6, 2]), Bar("grep", [4])])

    assert [bar.get("width") for bar in rects(picture, "tone-1")] == ["75.000%", "50.000%"]
    assert [(bar.get("x"), bar.get("width")) for bar in rects(picture, "tone-2")] == [("75.000%", "25.000%")]
    assert texts(picture, "name") == ["read_file", "grep"]
    assert texts(picture, "value") == ["8", "4"]


def test_a_bar_of_shares_has_the_width_of_its_share() -> None:
    picture = charts.bars("k", "t", [Bar("System", [25]), Bar("Odd", [140])], full=100)

    assert [bar.get("width") for bar in rects(picture, "tone-1")] == ["25.000%", "100.000%"]


def test_a_calendar_has_a_cell_for_each_day_from_the_first_of_the_month() -> None:
    picture = charts.calendar("k", "t", {date(2026, 3, 3): 1, date(2026, 4, 2): 8})

    cells = list(drawn(picture).iter(f"{SVG}rect"))
    assert len(cells) == 31 + 2
    assert tips(picture) == ["2026-03-03: 1 turns", "2026-04-02: 8 turns"]
    assert [text for text in texts(picture, "axis") if text not in charts.WEEKDAYS] == ["Mar 2026", "Apr"]
    # 3 March 2026 is a Tuesday of the second week that the month touches, 1 March a Sunday of the first.
    [third] = [cell for cell in cells if cell.find(f"{SVG}title") is not None][:1]
    assert (third.get("x"), third.get("y")) == (str(34 + 15), str(18 + 15))
    assert (cells[0].get("x"), cells[0].get("y")) == ("34", str(18 + 6 * 15))


def test_the_first_and_the_last_year_of_the_calendar_can_be_drawn() -> None:
    assert rects(charts.calendar("k", "t", {date(9999, 12, 31): 1}), "heat-1")
    assert rects(charts.calendar("k", "t", {date(1, 1, 1): 1}), "heat-1")


def test_heat_levels_are_quarters_of_the_active_days() -> None:
    limits = charts.heat_limits([1, 2, 3, 4, 5, 6, 7, 100])

    assert limits == [2, 4, 6]
    assert [charts.heat_level(value, limits) for value in (0, 1, 2, 3, 5, 7, 100)] == [0, 1, 1, 2, 3, 4, 4]
    assert charts.heat_limits([]) == []


@pytest.mark.parametrize(
    ("value", "top"), [(0, 1), (1, 1), (7, 8), (8.1, 10), (12, 20), (0.03, 0.03), (2_300_000, 3_000_000), (1e12, 1e12)]
)
def test_scales_end_at_a_round_number(value: float, top: float) -> None:
    assert charts.nice_ceiling(value) == pytest.approx(top)


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -5.0])
def test_values_that_cannot_be_drawn_are_left_out(odd: float) -> None:
    for picture in (
        charts.columns("k", "t", ["Mon", "Tue"], [Series("turns", [odd, 2])], words=str),
        charts.bars("k", "t", [Bar("a", [odd]), Bar("b", [2])], words=str),
        charts.sparkline("k", "t", [odd, 2]),
    ):
        numbers = " ".join(
            value for element in drawn(picture).iter() for name, value in element.items() if name != "class"
        )
        assert "nan" not in numbers
        assert "inf" not in numbers
    assert len(rects(charts.bars("k", "t", [Bar("a", [odd]), Bar("b", [2])], words=str), "tone-1")) == 1


def test_charts_can_be_drawn_without_values() -> None:
    drawn(charts.columns("k", "t", [], []))
    drawn(charts.bars("k", "t", []))
    assert charts.calendar("k", "t", {}) == ""
    assert charts.sparkline("k", "t", [1]) == ""


def test_a_name_is_text_and_nothing_else() -> None:
    evil = '</title><script>alert(1)</script>"\x1b[31m\u202e'

    for picture in (
        charts.bars("k", evil, [Bar(evil, [1])]),
        charts.columns("k", evil, [evil], [Series(evil, [1]), Series("b", [2])], words=lambda value: evil),
    ):
        tree = drawn(picture)
        assert {element.tag.removeprefix(SVG) for element in tree.iter()} <= {
            "svg", "title", "desc", "g", "rect", "text", "line",
        }  # fmt: skip
        assert not {"\x1b", "\u202e"} & set(picture)


def test_a_long_name_is_cut_where_a_phone_would_end() -> None:
    picture = charts.bars("k", "t", [Bar("a" * 500, [1])])

    [name] = texts(picture, "name")
    assert len(name) == charts.LONGEST_LABEL
    assert name.endswith("…")
