"""Models, tools, MCP servers and programs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from copilog.analysis.figures import ModelRow, ModelsSection, ProgramRow, ServerRow, ToolRow, ToolsSection
from copilog.render.report import amounts
from copilog.render.report.blocks import Figure, number, text, worded
from copilog.web.dashboard.links import Links
from copilog.web.dashboard.panels import (
    Panel,
    Point,
    Section,
    Series,
    bars,
    figure_table,
    make_point,
    ranges,
)

ENDS = [Series("well or unknown", "tone-1"), Series("failed", "bad")]
TURN_ENDS = [Series("turns", "tone-1"), Series("failed", "bad")]
# Columns that have tables of their own.
TIMED = {"timed", "median_ms", "p95_ms", "total_ms", "first_median_ms", "first_p95_ms"}
TIMES = [Series("median", "tone-1"), Series("95 %", "tone-5")]


# --- models ---------------------------------------------------------------------------------------------------------


def models(section: ModelsSection, links: Links) -> Section:
    panels: list[Panel] = []
    if section.models:
        panels.append(_shares(section.models, links))
        panels += _speeds(section.models, links)
    if section.switches:
        title = "Switches within a conversation"
        first = [text("From", "before"), text("To", "after")]
        table = figure_table(title, "models.switches", section.switches, first, links)
        panels.append(Panel(key="switches", title=title, table=table))
    if section.conflicts:
        title = "Another model than the one that was asked for"
        first = [text("Asked for", "asked"), text("Answered", "answered")]
        table = figure_table(title, "models.conflicts", section.conflicts, first, links)
        panels.append(Panel(key="conflicts", title=title, table=table))
    lead = "Which models answered, how often and how fast."
    return Section(key="models", title="Models", lead=lead, tiles=_model_tiles(section, links), panels=panels)


def _model_tiles(section: ModelsSection, links: Links) -> list[Figure]:
    tiles = []
    if section.switching_conversations:
        tiles.append(
            Figure(
                label="Switched models",
                value=amounts.whole(section.switching_conversations),
                note="conversations",
                link=links.behind("models.switching_conversations"),
            )
        )
    if section.unknown_turns:
        tiles.append(
            Figure(
                label="Model unknown",
                value=amounts.whole(section.unknown_turns),
                note="turns of which none was recorded",
                link=links.behind("models.unknown_turns"),
            )
        )
    return tiles


def _shares(rows: Sequence[ModelRow], links: Links) -> Panel:
    title = "Turns by model"
    points = [
        make_point(
            row.name,
            TURN_ENDS,
            [max(0, row.turns - row.failed), row.failed],
            "count",
            links.named("model", row.name),
            aside=f"{row.turns:,}, {amounts.percent(row.share)}",
            words=f"{amounts.shown(row.name)}: {amounts.counted(row.turns, 'turn')},"
            f" {amounts.percent(row.share)} of all whose model is known; {row.failed:,} failed",
        )
        for row in rows
    ]
    table = figure_table(
        title,
        "models.models",
        rows,
        [text("Model", "name")],
        links,
        {"Model": lambda row: links.named("model", row.name)},
        last=[number("Share", "share", amounts.percent)],
        without=TIMED,
    )
    return Panel(
        key="models", title=title, chart=bars("models", title, "count", "turns", TURN_ENDS, points), table=table
    )


def _speeds(rows: Sequence[ModelRow], links: Links) -> list[Panel]:
    def link(row: ModelRow) -> str | None:
        return links.named("model", row.name)

    panels = []
    for key, title, median, slow in (
        ("latency", "Time of a turn by model", "median_ms", "p95_ms"),
        ("first-token", "Time to the first token by model", "first_median_ms", "first_p95_ms"),
    ):
        timed = [row for row in rows if getattr(row, median) is not None]
        if timed:
            points = [_range(row.name, getattr(row, median), getattr(row, slow), link(row)) for row in timed]
            first = [text("Model", "name")]
            without = TIMED - {median, slow} | {"turns", "conversations", "failed"}
            table = figure_table(title, "models.models", timed, first, links, {"Model": link}, without=without)
            panels.append(Panel(key=key, title=title, chart=ranges(key, title, TIMES, points), table=table, note=SLOW))
    return panels


SLOW = "From the median to the time that 95 % did not exceed, on a logarithmic scale."


def _range(name: str, median: float, slow: float | None, link: str | None) -> Point:
    words = f"{amounts.shown(name)}: median {amounts.duration(median)}, 95 % within {amounts.duration(slow)}"
    times = [amounts.duration(median)] + ([amounts.duration(slow)] if slow is not None and slow > median else [])
    return make_point(name, TIMES, [median, slow], "ms", link, words=words, aside=" – ".join(times))


# --- tools ----------------------------------------------------------------------------------------------------------


def tools(section: ToolsSection, links: Links) -> Section:
    panels: list[Panel] = []
    if section.tools:
        panels.append(_calls(section.tools, links))
        panels += _durations(section.tools, links)
    if section.servers:
        panels.append(_by_name("servers", "MCP servers", "Server", section.servers, links))
    if section.programs:
        title = "Programs run in the terminal"
        panels.append(_by_name("programs", title, "Program", section.programs, links))
    if section.sequences:
        title = "Tools that follow one another"
        first = [worded("Tools", lambda row: " → ".join(amounts.shown(name, 60) for name in row.tools))]
        link = partial(links.behind, "tools.sequences.times")
        table = figure_table(title, "tools.sequences", section.sequences, first, links, {"Tools": link})
        panels.append(Panel(key="sequences", title=title, table=table))
    lead = "Which tools were called, which calls failed, how long they took, and who approved them."
    return Section(key="tools", title="Tools", lead=lead, tiles=_tool_tiles(section, links), panels=panels)


def _tool_tiles(section: ToolsSection, links: Links) -> list[Figure]:
    rate = amounts.percent(section.failed / section.calls if section.calls else None)
    return [
        Figure(
            label="Calls",
            value=amounts.whole(section.calls),
            link=links.link_unless_zero(section.calls, "tools.calls"),
        ),
        Figure(
            label="Failed",
            value=amounts.whole(section.failed),
            note=f"{rate} of all",
            link=links.link_unless_zero(section.failed, "tools.failed"),
        ),
        Figure(
            label="Commands with an error",
            value=amounts.whole(section.command_errors),
            note="ended with a code other than 0",
            link=links.link_unless_zero(section.command_errors, "tools.command_errors"),
        ),
        Figure(
            label="Retries",
            value=amounts.whole(section.retries),
            note="after a failure",
            link=links.link_unless_zero(section.retries, "tools.retries"),
        ),
        *(
            Figure(
                label=label,
                value=amounts.whole(count),
                note=note,
                link=links.link_unless_zero(count, f"tools.{by}"),
            )
            for label, by, count, note in (
                ("Ran by themselves", "automatic", section.automatic, "a setting, a grant, or no need"),
                ("Confirmed by a person", "by_user", section.by_user, None),
                ("Denied", "denied", section.denied, None),
                ("Confirmation unknown", "unknown_confirmations", section.unknown_confirmations, None),
            )
        ),
    ]


def _calls(rows: Sequence[ToolRow], links: Links) -> Panel:
    title = "Calls by tool"
    points = [
        make_point(
            row.name,
            ENDS,
            [max(0, row.calls - row.failed), row.failed],
            "count",
            links.named("tool", row.name),
            aside=f"{row.calls:,}" + (f", {amounts.percent(row.failure_rate)} failed" if row.failed else ""),
            words=f"{amounts.shown(row.name)}: {amounts.counted(row.calls, 'call')}, {row.failed:,} failed"
            f" ({amounts.percent(row.failure_rate)} of those whose end is known)"
            + (f", {amounts.counted(row.command_errors, 'command')} with an error" if row.command_errors else ""),
        )
        for row in rows
    ]
    named = {"Tool": lambda row: links.named("tool", row.name)}
    table = figure_table(title, "tools.tools", rows, [text("Tool", "name")], links, named, without=TIMED)
    note = "The failure rate is of the calls whose end is known."
    return Panel(
        key="tools", title=title, chart=bars("tools", title, "count", "calls", ENDS, points), table=table, note=note
    )


def _durations(rows: Sequence[ToolRow], links: Links) -> list[Panel]:
    timed = [row for row in rows if row.median_ms is not None]
    if not timed:
        return []

    def link(row: ToolRow) -> str | None:
        return links.named("tool", row.name)

    title = "Time of a call by tool"
    points = [_range(row.name, row.median_ms or 0, row.p95_ms, link(row)) for row in timed]
    counted = set(ToolRow.__struct_fields__) - TIMED
    table = figure_table(title, "tools.tools", timed, [text("Tool", "name")], links, {"Tool": link}, without=counted)
    return [
        Panel(key="tool-times", title=title, chart=ranges("tool-times", title, TIMES, points), table=table, note=SLOW)
    ]


def _by_name(key: str, title: str, head: str, rows: Sequence[ServerRow | ProgramRow], links: Links) -> Panel:
    link = partial(links.behind, f"tools.{key}.calls")
    points = [
        make_point(row.name, ENDS, [max(0, row.calls - row.failed), row.failed], "count", link(row)) for row in rows
    ]
    table = figure_table(title, f"tools.{key}", rows, [text(head, "name")], links, {head: link})
    return Panel(key=key, title=title, chart=bars(key, title, "count", "calls", ENDS, points), table=table)
