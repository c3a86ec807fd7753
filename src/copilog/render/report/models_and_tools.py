"""Models and tools."""

from __future__ import annotations

from copilog.analysis.figures import ModelRow, SequenceRow, Stats, ToolRow, ToolsSection
from copilog.render import charts
from copilog.render.report import amounts
from copilog.render.report.blocks import (
    Block,
    Chart,
    Figure,
    Figures,
    Paragraph,
    Row,
    Section,
    number,
    table_of,
    text,
    worded,
)
from copilog.render.report.columns import columns_of

MOST_BARS = 10


# --- models ---------------------------------------------------------------------------------------------------------


def models(stats: Stats) -> Section:
    """Return the section of models: which answered, and how fast."""
    section = stats.models
    blocks: list[Block] = []
    if section.models:
        shares = charts.bars(
            "model-turns",
            "Turns by model",
            [charts.Bar(amounts.shown(row.name), [row.turns]) for row in section.models[:MOST_BARS]],
            words=amounts.whole,
        )
        charted: list[Block] = [Chart("Turns by model", [shares])]
        if (speed := _speed(section.models)) is not None:
            charted.append(speed)
        blocks += [Row(charted), _models_table(section.models)]
    if section.switches:
        switches = table_of(
            "Switches within a conversation",
            section.switches,
            [text("From", "before"), text("To", "after"), *columns_of("models.switches", section.switches)],
            f"In {amounts.counted(section.switching_conversations, 'conversation')}.",
        )
        blocks.append(switches)
    if section.conflicts:
        conflicts = table_of(
            "Another model than the one that was asked for",
            section.conflicts,
            [
                text("Asked for", "asked"),
                text("Answered", "answered"),
                *columns_of("models.conflicts", section.conflicts),
            ],
        )
        blocks.append(conflicts)
    if section.unknown_turns:
        blocks.append(Paragraph(f"Of {amounts.counted(section.unknown_turns, 'turn')} no model was recorded."))
    return Section("models", "Models", "Which models answered, how often and how fast.", blocks)


def _speed(rows: list[ModelRow]) -> Chart | None:
    timed = [row for row in rows[:MOST_BARS] if row.median_ms is not None]
    if not timed:
        return None
    picture = charts.bars(
        "model-speed",
        "Median time of a turn by model",
        [charts.Bar(amounts.shown(row.name), [row.median_ms or 0]) for row in timed],
        words=amounts.duration,
    )
    return Chart("Median time of a turn", [picture])


def _models_table(rows: list[ModelRow]) -> Block:
    turns, *others = columns_of("models.models", rows)
    return table_of(
        "Models",
        rows,
        [text("Model", "name"), turns, number("Share", "share", amounts.percent), *others],
        "Times are of whole turns; 95 % were not slower than the figure of that name.",
    )


# --- tools ----------------------------------------------------------------------------------------------------------


def tools(stats: Stats) -> Section:
    """Return the section of tools: which were called, and with what outcome."""
    section = stats.tools
    blocks: list[Block] = [_tool_figures(section)]
    if section.tools:
        calls = charts.bars(
            "tool-calls",
            "Calls by tool",
            [charts.Bar(amounts.shown(row.name), _ends(row)) for row in section.tools[:MOST_BARS]],
            words=amounts.whole,
        )
        legend = [("tone-1", "well or unknown"), ("tone-2", "failed")]
        blocks += [Chart("Calls by tool", [calls], legend=legend), _tools_table(section.tools)]
    blocks += _tables_of_calls(section)
    return Section("tools", "Tools", "Which tools were called, which calls failed, and who approved them.", blocks)


def _ends(row: ToolRow) -> list[float]:
    return [max(0, row.calls - row.failed), row.failed]


def _tool_figures(section: ToolsSection) -> Figures:
    asked = f"{section.denied:,} denied, {section.unknown_confirmations:,} unknown"
    return Figures(
        [
            Figure("Calls", amounts.whole(section.calls), amounts.counted(section.retries, "retry", "retries")),
            Figure(
                "Failed",
                amounts.whole(section.failed),
                f"{amounts.percent(_share(section.failed, section.calls))} of all",
            ),
            Figure("Commands with an error", amounts.whole(section.command_errors), "ended with a code other than 0"),
            Figure(
                "Ran by themselves", amounts.whole(section.automatic), "by a setting, an earlier grant, or without need"
            ),
            Figure("Confirmed by a person", amounts.whole(section.by_user), asked),
        ]
    )


def _share(part: int, all_of_it: int) -> float | None:
    return part / all_of_it if all_of_it else None


def _tools_table(rows: list[ToolRow]) -> Block:
    return table_of(
        "Tools",
        rows,
        [text("Tool", "name"), *columns_of("tools.tools", rows)],
        "The failure rate is of the calls whose end is known; times are of those that were timed.",
    )


def _tables_of_calls(section: ToolsSection) -> list[Block]:
    beside: list[Block] = [
        table_of(caption, rows, [first, *columns_of(name, rows)])
        for caption, name, rows, first in (
            ("MCP servers", "tools.servers", section.servers, text("Server", "name")),
            ("Programs run in the terminal", "tools.programs", section.programs, text("Program", "name")),
            ("Tools that follow one another", "tools.sequences", section.sequences, worded("Tools", _in_sequence)),
        )
        if rows
    ]
    return [Row(beside)] if beside else []


def _in_sequence(row: SequenceRow) -> str:
    return " → ".join(amounts.shown(name, 60) for name in row.tools)
