"""Rows of figures as text tables, as CSV and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import click
import msgspec

from copilog.cli.common import one_line, short_id
from copilog.exports.json_text import json_text
from copilog.view.csv_text import csv_cell

if TYPE_CHECKING:
    from copilog.cli.columns import Column
    from copilog.cli.common import Settings

EIGHTHS = " ▏▎▍▌▋▊▉"
NAME_WIDTH = 44
NOTHING = "-"
SHORT = {
    "premium_requests": "premium",
    "unanswered_requests": "unanswered",
    "spread_requests": "spread premium",
    "cache_share": "cached",
    "conversations": "convs",
    "first_median_ms": "first",
    "first_p95_ms": "first p95",
}
TOKENS = frozenset({"input", "output", "cache_read", "cache_write", "reasoning", "spread", "unpriced"})
THOUSAND, MINUTE_MS, HOUR_MS = 1000, 60_000, 3_600_000


def print_table(
    settings: Settings,
    rows: Sequence[msgspec.Struct],
    *,
    title: str | None = None,
    columns: Sequence[str] | None = None,
    bars: str | None = None,
) -> None:
    """Print one line for each row. Columns that are empty in all rows, or do not fit, are left out.

    `bars` names the column that is drawn as well, or several whose sum is ("dollars+estimated_dollars"), and after `|`
    what is drawn where these are empty. The heading above the bars says which: "dollars, all" is the sum of several.
    """
    from rich.table import Table
    from rich.text import Text

    from copilog.cli.columns import cut, laid_out

    if not rows:
        return
    shown = [_column(rows, name) for name in columns or rows[0].__struct_fields__ if not _is_empty(rows, name)]
    room = settings.out.width if settings.out.is_terminal else None
    layout = laid_out(shown, room)
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="dim", title_style="bold")
    for column in shown:
        if (width := layout.widths.get(column.name)) is not None:
            justify: Literal["left", "right"] = "right" if _are_numbers(rows, column.name) else "left"
            table.add_column(cut(column.texts[0], width), justify=justify, no_wrap=True, min_width=width)
    legend, drawn = _drawn(rows, bars) if bars else ("", [])
    most = max(drawn, default=0) if layout.bar >= len(legend) else 0
    if most:
        table.add_column(legend, no_wrap=True, min_width=layout.bar)
    for number in range(len(rows)):
        cells = [
            Text(cut(column.texts[number + 1], layout.widths[column.name], keeps_end=column.name == "path"))
            for column in shown
            if column.name in layout.widths
        ]
        if most:
            cells.append(Text(bar(drawn[number] / most, layout.bar), style="cyan"))
        table.add_row(*cells)
    settings.out.print(table)
    if layout.left_out:
        left_out = ", ".join(map(heading, layout.left_out))
        settings.out.print(f"no room for {left_out}; use a wider window, or --json", style="dim")
    settings.out.print()


def _drawn(rows: Sequence[msgspec.Struct], bars: str) -> tuple[str, list[float]]:
    """Return the legend of the bars and how long they are."""
    for names in (group.split("+") for group in bars.split("|")):
        known = [name for name in names if any(getattr(row, name) for row in rows)]
        if known:
            legend = heading(known[0]) + (", all" if len(known) > 1 else "")
            return legend, [sum(getattr(row, name) or 0 for name in known) for row in rows]
    return "", []


def _column(rows: Sequence[msgspec.Struct], name: str) -> Column:
    from copilog.cli.columns import Column

    texts = [heading(name), *(cell(name, getattr(row, name)) for row in rows)]
    return Column(name, texts, name == "id" or name.endswith("_at") or _are_numbers(rows, name))


def _are_numbers(rows: Sequence[msgspec.Struct], name: str) -> bool:
    return all(isinstance(getattr(row, name), int | float | None) for row in rows)


def print_figures(settings: Settings, figures: Sequence[tuple[str, object]]) -> None:
    """Print single figures, each on a line with its name."""
    labelled = [(_field_label(name), cell(name, value)) for name, value in figures if value is not None]
    width = max((len(words) for words, _ in labelled), default=0)
    for words, text in labelled:
        settings.out.print(f"{words:<{width}}  {text}")


def print_csv(rows: Sequence[msgspec.Struct], *, for_excel: bool = False) -> None:
    """Print the rows below a line of names; lists and dictionaries are JSON."""
    if rows:
        names = rows[0].__struct_fields__
        print_csv_lines(names, [[getattr(row, name) for name in names] for row in rows], for_excel=for_excel)


def print_csv_lines(names: Sequence[str], rows: Sequence[Sequence[Any]], *, for_excel: bool = False) -> None:
    """Print values below a line of names, even if there are none.

    Excel takes a file for UTF-8 only if it begins with a byte order mark, and ends lines with CR LF.
    """
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n" if for_excel else "\n")
    writer.writerow(names)
    writer.writerows([_csv_value(value) for value in row] for row in rows)
    click.echo(text.getvalue().encode("utf-8-sig") if for_excel else text.getvalue(), nl=False)


def _csv_value(value: Any) -> Any:
    if isinstance(value, str):
        return csv_cell(value)
    return json_text(value, is_compact=True) if isinstance(value, list | dict) else value


def _is_empty(rows: Sequence[msgspec.Struct], name: str) -> bool:
    values = [getattr(row, name) for row in rows]
    return name != "name" and all(value is not False and value in (None, 0, "", [], {}) for value in values)


# --- values as text ---------------------------------------------------------------------------------------------


def heading(name: str) -> str:
    if name.startswith("estimated_"):
        return f"~{name.removeprefix('estimated_')}"
    return SHORT.get(name) or _field_label(name)


def _field_label(name: str) -> str:
    if name == "most_parallel_at":
        return "first so many at"
    return name.removesuffix("_ms").removesuffix("_at").replace("_", " ")


def cell(name: str, value: Any) -> str:
    """Return a value as text; the name of its field determines the format."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_ms"):
        return duration(value)
    if name.endswith("dollars"):
        return money(value)
    if name in ("share", "failure_rate", "cache_share"):
        return f"{value:.0%}" if value in (0, 1) or value >= 0.1 else f"{value:.1%}"
    if name.endswith("bytes"):
        return size(value)
    if name.removeprefix("estimated_") in TOKENS:
        return short_number(value) if value else NOTHING  # nothing was recorded: a call does not have 0 tokens
    if name == "path":
        from copilog.cli.columns import cut

        return cut(one_line(value), NAME_WIDTH, keeps_end=True)
    if name == "id":
        conversation, mark, turn = value.partition("#")
        return f"{short_id(conversation)}{mark}{turn}"
    if name.endswith("_at"):
        return _local(value)
    if isinstance(value, float):
        return f"{value:,.1f}".removesuffix(".0")
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        value = [f"{key} ({count})" for key, count in value.items()]
    if isinstance(value, list):
        value = (" > " if name == "tools" else ", ").join(map(str, value))
    return one_line(str(value), NAME_WIDTH)


def _local(moment: str) -> str:
    """Return a timestamp as local time."""
    from copilog.store.times import timestamp_from

    found = timestamp_from(moment)
    return found.astimezone().strftime("%Y-%m-%d %H:%M") if found is not None else moment


def duration(milliseconds: float) -> str:
    if milliseconds < THOUSAND:
        return f"{milliseconds:.0f} ms"
    if milliseconds < MINUTE_MS:
        return f"{milliseconds / THOUSAND:.1f} s"
    if milliseconds < HOUR_MS:
        return f"{milliseconds / MINUTE_MS:.0f} min"
    return f"{milliseconds / HOUR_MS:,.1f} h"


def money(dollars: float) -> str:
    if dollars >= 0.01 or not dollars:
        return f"${dollars:,.2f}"
    return f"${dollars:.4f}" if dollars >= 0.0001 else "<$0.0001"


def size(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < THOUSAND or unit == "GB":
            return f"{count:,.0f} {unit}" if unit == "B" or count >= 100 else f"{count:,.1f} {unit}"
        count /= THOUSAND
    raise AssertionError


def short_number(number: float) -> str:
    """Return a number in few characters: 950, 12.3K, 4.5M."""
    for unit in ("", "K", "M", "G"):
        text = f"{number:.0f}" if not unit or number >= 99.95 else f"{number:.1f}"
        if float(text) < THOUSAND or unit == "G":
            return text + unit
        number /= THOUSAND
    raise AssertionError


def bar(share: float, width: int) -> str:
    """Return a bar of blocks, in eighths of a character."""
    eighths = round(min(max(share, 0), 1) * width * 8)
    if share > 0:
        eighths = max(eighths, 1)
    full, rest = divmod(eighths, 8)
    return "█" * full + (EIGHTHS[rest] if rest else "")
