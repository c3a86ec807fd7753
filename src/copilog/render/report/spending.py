"""Tokens and cost: over time, by model and workspace, and where the numbers come from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from copilog.analysis.estimate_method import method_text
from copilog.analysis.figures import EstimateEnd, OriginRow, Prices, ShareRow, SpendRow, Stats, TokensSection
from copilog.analysis.numbers import added
from copilog.render import charts
from copilog.render.report import amounts
from copilog.render.report.blocks import (
    Block,
    Chart,
    Column,
    Figure,
    Figures,
    Paragraph,
    Row,
    Section,
    Table,
    number,
    table_of,
    text,
    worked_out,
)
from copilog.render.report.timeline import timeline_of

MOST_BARS = 8
COUNTS = ("conversations", "turns")
COMPOSITION = "What prompts are made of"
KINDS = ("new input", "from a cache", "output", "estimated")
TONES = (1, 5, 3, 4)
LEGEND = [(f"tone-{tone}", kind) for tone, kind in zip(TONES, KINDS, strict=True)]


def spending(stats: Stats) -> Section:
    """Return the section of tokens and cost."""
    tokens = stats.tokens
    blocks: list[Block] = [_figures(tokens), *_over_time(tokens.by_day)]
    charted: list[Block] = [
        chart
        for key, caption, rows in (
            ("model", "Tokens by model", tokens.by_model),
            ("workspace", "Tokens by workspace", tokens.by_workspace),
            ("agent", "Tokens by agent", tokens.by_agent),
            ("subagent", "Tokens by sub-agent", tokens.by_subagent),
        )
        if (chart := _bars(key, caption, rows)) is not None
    ]
    if charted:
        blocks.append(Row(charted))
    for caption, rows, kept, note in (
        ("Most expensive conversations", tokens.by_conversation, ("turns",), None),
        ("Most expensive turns", tokens.by_turn, (), None),
        ("By skill", tokens.by_skill, COUNTS, "Of the turns in which the skill was loaded: rows overlap."),
        ("By tool", tokens.by_tool, COUNTS, "Estimated: what a call was given is output, what it gave back is input."),
    ):
        if rows:
            blocks.append(spend_table(caption, rows, note, counts=kept))
    if tokens.composition:
        blocks.append(_composition(tokens.composition, tokens.composition_turns, stats.totals.turns))
    blocks += _origins(tokens)
    lead = "Recorded counts come first. Where nothing was recorded, there is an estimate beside them, never among them."
    return Section("tokens", "Tokens and cost", lead, blocks)


def _figures(tokens: TokensSection) -> Figures:
    total, least = tokens.total, tokens.at_least or EstimateEnd()
    made = [
        Figure("Input", amounts.short(total.input), f"{amounts.short(total.cache_read)} of it from a cache"),
        Figure("Output", amounts.short(total.output), f"{amounts.short(total.reasoning)} of it reasoning"),
    ]
    estimated = added(total.estimated_input, total.estimated_output)
    if estimated:
        estimate = f"{amounts.short(total.estimated_input)} in, {amounts.short(total.estimated_output)} out"
        if least.input or least.output:
            estimate += f"; at least {amounts.short(least.input)} in, {amounts.short(least.output)} out"
        if tokens.at_most is not None:
            most = tokens.at_most
            estimate += f"; at most {amounts.short(most.input)} in, {amounts.short(most.output)} out"
        made.append(Figure("Likely besides", amounts.short(estimated), estimate))
    if total.unpriced:
        made.append(
            Figure("Without a price", amounts.short(total.unpriced), "recorded tokens of models not in the table")
        )
    return Figures(made)


# --- charts ---------------------------------------------------------------------------------------------------------


def parts_of(row: SpendRow) -> tuple[int, int, int, int]:
    """Tokens by kind, in the order of KINDS."""
    given = row.input or 0
    cached = min(row.cache_read or 0, given)
    return given - cached, cached, row.output or 0, added(row.estimated_input, row.estimated_output) or 0


def _part_of(at: int, row: SpendRow) -> int:
    return parts_of(row)[at]


def _over_time(rows: Sequence[SpendRow]) -> list[Block]:
    time = timeline_of(rows)
    if not time.buckets:
        return []
    series = [charts.Series(kind, time.values(partial(_part_of, at)), tone=TONES[at]) for at, kind in enumerate(KINDS)]
    tokens = Chart(
        f"Tokens by {time.unit}",
        [charts.columns("tokens-time", f"Tokens by {time.unit}", time.labels, series, words=amounts.short)],
        legend=LEGEND,
        table=spend_table("Tokens and cost by day", rows, head="Day"),
    )
    costs = [
        charts.Series("recorded", time.values(lambda row: row.dollars), tone=1),
        charts.Series("estimated", time.values(lambda row: row.estimated_dollars), tone=4),
    ]
    if not any(any(one.values) for one in costs):
        return [tokens]
    cost = Chart(
        f"Cost by {time.unit}",
        [charts.columns("cost-time", f"Cost by {time.unit}", time.labels, costs, words=amounts.dollars)],
        legend=[("tone-1", "of recorded tokens"), ("tone-4", "of estimated tokens")],
    )
    return [tokens, cost]


def _bars(key: str, caption: str, rows: Sequence[SpendRow]) -> Chart | None:
    shown = [row for row in rows if sum(parts_of(row))][:MOST_BARS]
    if not shown:
        return None
    names = [row.name for row in shown]
    labels = folder_names(names) if key == "workspace" else names
    picture = charts.bars(
        f"tokens-{key}",
        caption,
        [charts.Bar(amounts.shown(label), parts_of(row)) for label, row in zip(labels, shown, strict=True)],
        words=amounts.short,
        tones=TONES,
    )
    return Chart(caption, [picture], legend=LEGEND, table=spend_table(caption, rows))


def folder_names(paths: Sequence[str]) -> list[str]:
    """Return folders by their last name, with as many parents as are needed to distinguish them."""
    parts = [[part for part in path.replace("\\", "/").split("/") if part] or [path] for path in paths]
    names = []
    for mine in parts:
        length = 1
        while length < len(mine) and sum(other[-length:] == mine[-length:] for other in parts) > 1:
            length += 1
        names.append("/".join(mine[-length:]))
    return names


# --- tables ---------------------------------------------------------------------------------------------------------


def spend_table(
    caption: str,
    rows: Sequence[SpendRow],
    note: str | None = None,
    *,
    head: str = "Name",
    counts: Sequence[str] = COUNTS,
) -> Table:
    columns: list[Column] = [
        text(head, "name"),
        *(number(name.capitalize(), name, optional=True) for name in counts),
        number("Input", "input", optional=True),
        number("From cache", "cache_read", optional=True),
        number("Output", "output", optional=True),
        number("Reasoning", "reasoning", optional=True),
        worked_out("Estimated tokens", lambda row: added(row.estimated_input, row.estimated_output), optional=True),
        number("Premium requests", "premium_requests", amounts.decimal, optional=True),
        number("Spread requests", "spread_requests", amounts.decimal, optional=True),
        number("Credits", "credits", amounts.decimal, optional=True),
        number("Spread credits", "spread_credits", amounts.decimal, optional=True),
        number("Cost", "dollars", amounts.dollars, optional=True),
        number("Estimated cost", "estimated_dollars", amounts.dollars, optional=True),
    ]
    return table_of(caption, rows, columns, note)


def _composition(rows: Sequence[ShareRow], composed: int, turns: int) -> Chart:
    picture = charts.bars(
        "composition",
        COMPOSITION,
        [charts.Bar(amounts.shown(row.name), [row.percent]) for row in rows],
        words=lambda value: amounts.percent(value / 100),
        full=100,
    )
    return Chart(COMPOSITION, [picture], note=composed_of(composed, turns))


def composed_of(composed: int, turns: int) -> str:
    """Return of how many turns the composition of prompts is recorded, in words."""
    return f"On average over the {composed:,} of {amounts.counted(turns, 'turn')} that record it."


def _origins(tokens: TokensSection) -> list[Block]:
    blocks: list[Block] = []
    if tokens.origins:
        blocks.append(origins_table(tokens.origins))
    if tokens.calibration:
        blocks.append(Paragraph(estimates_words(tokens)))
    blocks.append(Paragraph(prices_words(tokens.prices)))
    return blocks


def estimates_words(tokens: TokensSection) -> str:
    """Return how estimates were made, in words."""
    return f"Estimates: {amounts.shown(method_text(tokens.calibration), 600)}."


def prices_words(prices: Prices | None) -> str:
    """Return which prices dollars and computed credits come from, in words."""
    if prices is None:
        return "No price table was used, so nothing here is in dollars."
    date = f" of {amounts.shown(prices.date)}" if prices.date else ""
    own = f", and of the config file for {_names(prices.own)}" if prices.own else ""
    less = f", less {amounts.percent(prices.discount)}" if prices.discount else ""
    words = f"Dollars are list prices from {amounts.shown(prices.source)}{date}{own}{less}."
    words += " Computed credits are a hundred for a dollar, where Copilot recorded none."
    if prices.unpriced:
        words += f" No price is known of {_names(prices.unpriced)}."
    for name, other in prices.unknown.items():
        words += f" The config file gives {name} the prices of {other}, which is not in the table."
    return words


def _names(models: Sequence[str]) -> str:
    return ", ".join(amounts.shown(name, 60) for name in models)


def origins_table(rows: Sequence[OriginRow]) -> Table:
    return table_of(
        "Where the numbers come from",
        rows,
        [
            text("Source", "source"),
            text("Method", "method"),
            number("Conversations", "conversations"),
            number("Input", "input"),
            number("Output", "output"),
            number("Premium requests", "premium_requests", amounts.decimal, optional=True),
            number("Credits", "credits", amounts.decimal, optional=True),
        ],
        "Recorded: as Copilot wrote it down. Spread: recorded for a whole session, and divided among its turns. "
        "Estimated: what calls of a model likely took.",
    )
