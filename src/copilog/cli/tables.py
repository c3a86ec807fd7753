"""Rows of figures as tables for people, as CSV and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from copilog.cli.common import one_line, short_id

if TYPE_CHECKING:
    from copilog.cli.common import Settings

BAR_WIDTH = 16
EIGHTHS = " ▏▎▍▌▋▊▉"
NAME_WIDTH, NARROW = 44, 12
SHORT = {
    "premium_requests": "premium",
    "conversations": "convs",
    "first_median_ms": "first",
    "first_p95_ms": "first p95",
}
TOKENS = frozenset({"input", "output", "cache_read", "cache_write", "reasoning", "unpriced"})
THOUSAND, MINUTE_MS, HOUR_MS = 1000, 60_000, 3_600_000


def print_table(
    settings: Settings,
    rows: Sequence[msgspec.Struct],
    *,
    title: str | None = None,
    columns: Sequence[str] | None = None,
    bars: str | None = None,
) -> None:
    """One line for each row. Columns that say nothing in any row are left out.

    `bars` names the column that is drawn as well, or several whose sum is: "output+estimated_output".
    """
    from rich.table import Table
    from rich.text import Text

    if not rows:
        return
    names = [name for name in columns or rows[0].__struct_fields__ if not _is_empty(rows, name)]
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="dim", title_style="bold")
    texts = {name: [cell(name, getattr(row, name)) for row in rows] for name in names}
    for name in names:
        is_number = all(isinstance(getattr(row, name), int | float | None) for row in rows)
        table.add_column(
            heading(name),
            justify="right" if is_number else "left",
            overflow="ellipsis",
            no_wrap=True,
            min_width=_narrowest([heading(name), *texts[name]], is_number),
        )
    drawn = [sum(getattr(row, name) or 0 for name in bars.split("+")) for row in rows] if bars else []
    most = max(drawn, default=0)
    if most:
        table.add_column("", no_wrap=True)
    for number in range(len(rows)):
        cells = [Text(texts[name][number]) for name in names]
        if most:
            cells.append(Text(bar(drawn[number] / most), style="cyan"))
        table.add_row(*cells)
    settings.out.print(table)
    settings.out.print()


def _narrowest(texts: list[str], is_number: bool) -> int:
    """What a column is not made narrower than: a number that was cut would say something else."""
    longest = max(map(len, texts))
    return longest if is_number else min(longest, NARROW)


def print_figures(settings: Settings, figures: Sequence[tuple[str, object]]) -> None:
    """Single figures, each on a line with its name."""
    told = [(name, cell(name, value)) for name, value in figures if value is not None]
    width = max((len(heading(name)) for name, _ in told), default=0)
    for name, text in told:
        settings.out.print(f"{heading(name):<{width}}  {text}")


def print_csv(rows: Sequence[msgspec.Struct]) -> None:
    """The rows, with a line of names first; lists and dictionaries are JSON."""
    import csv
    import io

    if not rows:
        return
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0].__struct_fields__)
    for row in rows:
        writer.writerow([_csv_value(getattr(row, name)) for name in row.__struct_fields__])
    click.echo(text.getvalue(), nl=False)


def print_json(value: Any) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))


def _csv_value(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"  # a spreadsheet would take it for a formula
    return msgspec.json.encode(value).decode() if isinstance(value, list | dict) else value


def _is_empty(rows: Sequence[msgspec.Struct], name: str) -> bool:
    return name != "name" and all(getattr(row, name) in (None, 0, "", [], {}) for row in rows)


# --- how values read --------------------------------------------------------------------------------------------


def heading(name: str) -> str:
    if name.startswith("estimated_"):
        return f"~{name.removeprefix('estimated_')}"
    return SHORT.get(name) or name.removesuffix("_ms").removesuffix("_at").replace("_", " ")


def cell(name: str, value: Any) -> str:
    """A value as people read it; the name of its field tells what it is."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_ms"):
        return duration(value)
    if name.endswith("dollars"):
        return money(value)
    if name in ("share", "failure_rate"):
        return f"{value:.0%}" if value in (0, 1) or value >= 0.1 else f"{value:.1%}"
    if name.endswith("bytes"):
        return size(value)
    if name.removeprefix("estimated_") in TOKENS:
        return short_number(value)
    if name == "path":
        return _end_of(value)
    if name == "id":
        return short_id(value.partition("#")[0])
    if name.endswith("_at"):
        return str(value)[:16].replace("T", " ")
    if isinstance(value, float):
        return f"{value:,.1f}".removesuffix(".0")
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        value = [f"{key} ({count})" for key, count in value.items()]
    if isinstance(value, list):
        value = (" > " if name == "tools" else ", ").join(map(str, value))
    return one_line(str(value), NAME_WIDTH)


def _end_of(path: str) -> str:
    """A path as far as it fits, its end rather than its beginning."""
    line = one_line(path)
    return line if len(line) <= NAME_WIDTH else "…" + line[1 - NAME_WIDTH :]


def duration(milliseconds: float) -> str:
    if milliseconds < THOUSAND:
        return f"{milliseconds:.0f} ms"
    if milliseconds < MINUTE_MS:
        return f"{milliseconds / THOUSAND:.1f} s"
    if milliseconds < HOUR_MS:
        return f"{milliseconds / MINUTE_MS:.0f} min"
    return f"{milliseconds / HOUR_MS:,.1f} h"


def money(dollars: float) -> str:
    return f"${dollars:,.2f}" if dollars >= 0.01 or not dollars else f"${dollars:.4f}"


def size(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < THOUSAND or unit == "GB":
            return f"{count:,.0f} {unit}" if unit == "B" or count >= 100 else f"{count:,.1f} {unit}"
        count /= THOUSAND
    raise AssertionError


def short_number(number: float) -> str:
    """A number in few characters: 950, 12.3K, 4.5M."""
    for unit in ("", "K", "M", "G"):
        text = f"{number:.0f}" if not unit or number >= 99.95 else f"{number:.1f}"
        if float(text) < THOUSAND or unit == "G":
            return text + unit
        number /= THOUSAND
    raise AssertionError


def bar(share: float, width: int = BAR_WIDTH) -> str:
    """A bar of blocks, in eighths of a character."""
    eighths = round(min(max(share, 0), 1) * width * 8)
    if share > 0:
        eighths = max(eighths, 1)
    full, rest = divmod(eighths, 8)
    return "█" * full + (EIGHTHS[rest] if rest else "")
