"""Charts as inline SVG, drawn by pure functions: no script, no colour, no font of their own.

Widths are in percent and heights in pixels, so that a chart fills any width and its labels keep their size, on a phone
too. Classes (`tone-1`, `heat-3`) leave the colours to the stylesheet of the page. Each chart has a title and a
description in text; each mark shows its value as a tooltip.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import zip_longest

from markupsafe import Markup, escape

from copilog.view.terminal_text import clean_line

LONGEST_LABEL = 34  # characters that fit beside a value on a phone
MOST_VALUES = 12  # columns that have room for a value above them
MOST_LABELS = 4  # below columns, if not each can have one
SHORT_LABEL = 4  # characters that fit below a column if there are few
HEAT_LEVELS = 4
CELL, GAP = 12, 3  # of a calendar, in pixels
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

Words = Callable[[float], str]


@dataclass(frozen=True)
class Series:
    """One value for each column, in one colour."""

    label: str
    values: Sequence[float]
    tone: int = 1
    is_hatched: bool = False  # what is not recorded


@dataclass(frozen=True)
class Bar:
    """A bar with its name: one part, or several that are stacked."""

    label: str
    parts: Sequence[float]


def plain_number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


# --- columns --------------------------------------------------------------------------------------------------------


def columns(
    key: str,
    title: str,
    labels: Sequence[str],
    series: Sequence[Series],
    *,
    words: Words = plain_number,
    height: int = 150,
    mark: tuple[str, float] | None = None,
    ranges: Sequence[tuple[float, float] | None] = (),
) -> Markup:
    """Columns side by side, the series stacked; with lines for the scale, and labels as far as there is room.

    `mark` is a line at a value, such as an allowance, with its name. `ranges` are the ends of columns that are
    estimated, each drawn as a vertical line.
    """
    sums = [sum(_positive(one.values[index]) for one in series) for index in range(len(labels))]
    highest_ends = [ends[1] for ends in ranges if ends is not None]
    top = nice_ceiling(max([*sums, *highest_ends, mark[1] if mark is not None else 0], default=0))
    pieces = [_hatches(key, [one.tone for one in series if one.is_hatched]), _scale(top, height, words)]
    slot = 100 / max(1, len(labels))
    gap = slot * 0.18
    for index, label in enumerate(labels):
        rects, base = [], float(height)
        for one in series:
            tall = _positive(one.values[index]) / top * height
            if tall > 0:
                base -= tall
                x, wide = f"{index * slot + gap / 2:.3f}%", f"{slot - gap:.3f}%"
                rects.append(_part(key, x, base, wide, tall, one.tone, is_hatched=one.is_hatched))
        if rects:
            pieces.append(
                Markup("<g>{}{}</g>").format(_tip(label, _spoken(series, index, words)), Markup("").join(rects))
            )
        ends = ranges[index] if index < len(ranges) else None
        if ends is not None:
            y_of = [height - _positive(end) / top * height for end in ends]
            pieces.append(_range(f"{(index + 0.5) * slot:.3f}%", y_of, label, ends, words))
            base = min(base, *y_of)
        if len(labels) <= MOST_VALUES and sums[index] > 0:
            pieces.append(_text(f"{(index + 0.5) * slot:.3f}%", base - 4, words(sums[index]), "middle", "value"))
    if mark is not None:
        pieces.append(_mark(mark, height - _positive(mark[1]) / top * height, words))
    pieces += _labels_below(labels, slot, height)
    highest = max(range(len(labels)), key=lambda index: sums[index], default=None)
    about = "nothing" if highest is None else f"Highest: {words(sums[highest])} ({labels[highest]}). "
    about += f"Together: {words(sum(sums))}."
    return _svg(key, "columns", title, about, pieces, height=height + 22)


def _mark(mark: tuple[str, float], y: float, words: Words) -> Markup:
    return Markup('<g>{1}<line class="mark" x1="0" x2="100%" y1="{0}" y2="{0}"/></g>').format(
        _px(y), _tip(mark[0], words(mark[1]))
    )


def _range(x: str, y_of: Sequence[float], label: str, ends: tuple[float, float], words: Words) -> Markup:
    return Markup('<g class="range">{3}<line x1="{0}" x2="{0}" y1="{1}" y2="{2}"/></g>').format(
        x, *map(_px, y_of), _tip(label, f"at least {words(ends[0])}, at most {words(ends[1])}")
    )


def _scale(top: float, height: int, words: Words) -> Markup:
    lines = [
        Markup('<line class="grid" x1="0" x2="100%" y1="{0}" y2="{0}"/>{1}').format(
            _px(height - height * share), _text("-6", height - height * share + 4, words(top * share), "end", "axis")
        )
        for share in (0, 0.5, 1)
    ]
    return Markup("").join(lines)


def _labels_below(labels: Sequence[str], slot: float, height: int) -> list[Markup]:
    is_roomy = len(labels) <= MOST_VALUES and all(len(label) <= SHORT_LABEL for label in labels)
    step = 1 if is_roomy else math.ceil(len(labels) / MOST_LABELS)
    pieces = []
    for index in range(0, len(labels), step):
        anchor = "start" if index == 0 and step > 1 else "middle"
        place = index * slot if anchor == "start" else (index + 0.5) * slot
        pieces.append(_text(f"{place:.3f}%", height + 16, labels[index], anchor, "axis"))
    return pieces


def _spoken(series: Sequence[Series], index: int, words: Words) -> str:
    if len(series) == 1:
        return words(series[0].values[index])
    return ", ".join(f"{one.label} {words(one.values[index])}" for one in series if one.values[index])


# --- bars -----------------------------------------------------------------------------------------------------------


def bars(
    key: str,
    title: str,
    rows: Sequence[Bar],
    *,
    words: Words = plain_number,
    tones: Sequence[int] = (1, 2, 3, 4),
    hatched: Sequence[bool] = (),
    full: float | None = None,
) -> Markup:
    """Bars below one another, each with its name and its value above it. `full` is the value of a bar across."""
    styles = list(zip_longest(tones, hatched, fillvalue=False))[: len(tones)]
    longest = full or max((sum(map(_positive, row.parts)) for row in rows), default=0) or 1
    pieces = [_hatches(key, [tone for tone, is_hatched in styles if is_hatched])]
    for number, row in enumerate(rows):
        y, start, rects = number * 34, 0.0, []
        for (tone, is_hatched), part in zip(styles, map(_positive, row.parts), strict=False):
            wide = min(part / longest * 100, 100 - start)
            if wide > 0:
                x = f"{start:.3f}%"
                rects.append(_part(key, x, y + 18, f"{wide:.3f}%", 9, tone, is_hatched=is_hatched))
                start += wide
        value = words(sum(map(_positive, row.parts)))
        pieces.append(
            Markup("<g>{}{}{}{}{}</g>").format(
                _tip(row.label, value),
                _text("0", y + 13, clean_line(row.label, LONGEST_LABEL), "start", "name"),
                _text("100%", y + 13, value, "end", "value"),
                _rect("0", y + 18, "100%", 9, "track"),
                Markup("").join(rects),
            )
        )
    about = "; ".join(f"{row.label}: {words(sum(map(_positive, row.parts)))}" for row in rows[:3])
    about += f"; and {len(rows) - 3} more" if len(rows) > 3 else ""
    return _svg(key, "bars", title, about, pieces, height=max(1, len(rows)) * 34)


# --- calendar -------------------------------------------------------------------------------------------------------


def calendar(key: str, title: str, values: Mapping[date, float], *, unit: str = "turns") -> Markup:
    """Return a heat map of the days of one year, from the first month with a value; weeks are columns."""
    days = sorted(values)
    if not days:
        return Markup("")
    first, last = days[0].replace(day=1), days[-1]
    monday = first - timedelta(days=first.weekday())
    limits = heat_limits([value for value in values.values() if value > 0])
    pieces = [_text("0", 18 + row * (CELL + GAP) + CELL - 2, WEEKDAYS[row], "start", "axis") for row in (0, 2, 4)]
    for step in range((last - first).days + 1):
        day = first + timedelta(days=step)
        x = 34 + (day - monday).days // 7 * (CELL + GAP)
        if day.day == 1:
            month = MONTHS[day.month - 1] if step else f"{MONTHS[day.month - 1]} {day.year}"
            pieces.append(_text(str(x + (CELL + GAP if day.weekday() else 0)), 10, month, "start", "axis"))
        value = values.get(day, 0)
        pieces.append(
            Markup('<rect class="heat-{}" x="{}" y="{}" width="{}" height="{}" rx="2">{}</rect>').format(
                heat_level(value, limits),
                x,
                18 + day.weekday() * (CELL + GAP),
                CELL,
                CELL,
                _tip(day.isoformat(), f"{plain_number(value)} {unit}") if value else "",
            )
        )
    busiest = max(days, key=lambda day: values[day])
    active = sum(value > 0 for value in values.values())
    about = f"{active} days with {unit}; most on {busiest.isoformat()}: {plain_number(values[busiest])}."
    wide = 34 + ((last - monday).days // 7 + 1) * (CELL + GAP)
    return _svg(key, "calendar", title, about, pieces, height=18 + 7 * (CELL + GAP), width=str(wide))


def heat_limits(values: Sequence[float]) -> list[float]:
    """Return the highest value of each level but the last, so that each has a quarter of the days if possible."""
    ordered = sorted(values)
    return (
        [ordered[math.ceil(len(ordered) * level / HEAT_LEVELS) - 1] for level in range(1, HEAT_LEVELS)]
        if ordered
        else []
    )


def heat_level(value: float, limits: Sequence[float]) -> int:
    return 0 if value <= 0 else 1 + sum(value > limit for limit in limits)


# --- sparkline ------------------------------------------------------------------------------------------------------


def sparkline(key: str, title: str, values: Sequence[float]) -> Markup:
    """Return a line chart without a scale."""
    if len(values) < 2:
        return Markup("")
    top = max(map(_positive, values)) or 1
    points = " ".join(
        f"{index / (len(values) - 1) * 100:.2f},{22 - _positive(value) / top * 20:.2f}"
        for index, value in enumerate(values)
    )
    about = f"{len(values)} values, at most {plain_number(top)}."
    line = Markup('<polyline class="line" points="{}" vector-effect="non-scaling-stroke"/>').format(points)
    return _svg(key, "sparkline", title, about, [line], height=24, box="0 0 100 24")


# --- parts ----------------------------------------------------------------------------------------------------------


def nice_ceiling(value: float) -> float:
    """Return the next round number that is not below a value: a digit times a power of ten, with a short half."""
    if value <= 0 or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((step * power for step in (1, 2, 3, 4, 5, 6, 8) if step * power >= value), 10 * power)


def _positive(value: float) -> float:
    return value if math.isfinite(value) and value > 0 else 0.0


def _svg(
    key: str,
    kind: str,
    title: str,
    about: str,
    pieces: Sequence[Markup],
    *,
    height: float,
    width: str = "100%",
    box: str = "",
) -> Markup:
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" class="chart {kind}" width="{width}" height="{height}"{box}'
        ' role="img" aria-labelledby="{key}-title {key}-about">'
        '<title id="{key}-title">{title}</title><desc id="{key}-about">{about}</desc>{body}</svg>'
    ).format(
        kind=kind,
        key=key,
        width=width,
        height=_px(height),
        box=Markup(' viewBox="{}" preserveAspectRatio="none"').format(box) if box else "",
        title=_shown(title),
        about=_shown(about),
        body=Markup("").join(pieces),
    )


def _hatches(key: str, tones: Sequence[int]) -> Markup:
    """Return the patterns of what is hatched in a chart."""
    patterns = [
        Markup(
            '<pattern id="{0}-hatched-{1}" width="5" height="5" patternUnits="userSpaceOnUse"'
            ' patternTransform="rotate(45)"><rect class="tone-{1}" width="2.4" height="5"/></pattern>'
        ).format(key, tone)
        for tone in sorted(set(tones))
    ]
    return Markup("<defs>{}</defs>").format(Markup("").join(patterns)) if patterns else Markup("")


def _part(key: str, x: str, y: float, width: str, height: float, tone: int, *, is_hatched: bool) -> Markup:
    """Return a part of a stack."""
    if not is_hatched:
        return _rect(x, y, width, height, f"tone-{tone}")
    return Markup('<rect fill="url(#{}-hatched-{})" x="{}" y="{}" width="{}" height="{}"/>').format(
        key, tone, x, _px(y), width, _px(height)
    )


def _rect(x: str, y: float, width: str, height: float, kind: str) -> Markup:
    return Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>').format(kind, x, _px(y), width, _px(height))


def _text(x: str, y: float, words: str, anchor: str, kind: str) -> Markup:
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(
        kind, x, _px(y), anchor, _shown(words)
    )


def _tip(label: str, value: str) -> Markup:
    return Markup("<title>{}: {}</title>").format(_shown(label), _shown(value))


def _shown(words: str) -> Markup:
    return escape(clean_line(words, 300))


def _px(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
