"""What the page covers, and what of it is estimated."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from copilog.analysis.figures import Stats
from copilog.render.report import amounts
from copilog.render.report.blocks import Block, Facts, Paragraph, Row, Section, number, table_of, text
from copilog.view.wording import timestamp_text

ESTIMATES = (
    "Where Copilot recorded no tokens, likely ones are estimated: every call of a model sends its instructions, the "
    "definitions of tools and the conversation so far again. One estimate may be off by a factor of two. They stand in "
    "columns and colours of their own and are never added to what was recorded."
)
COUNTING = (
    "A turn is one question and all that followed from it. Nothing is counted twice: turns that were copied into "
    "another conversation count once, and so do the tokens of sessions that were resumed or compacted. What was not "
    "recorded is shown as a dash, not as 0."
)
ANONYMOUS = (
    "This page is anonymous: workspaces, conversations, files, custom agents, skills and servers have numbers instead "
    "of names, and texts, paths and ids were left out before it was made. Where several rows became one, its "
    "conversations are those of the largest, because it is unknown how many they have in common."
)


def method(
    stats: Stats, *, made_at: datetime, made_by: str, selection: Sequence[tuple[str, str]], is_anonymous: bool
) -> Section:
    """Return the section on what the page covers and how its figures are computed."""
    totals = stats.totals
    facts = [
        ("Period", period_text(stats)),
        ("Found in it", f"{amounts.moment(stats.time.first_at)} to {amounts.moment(stats.time.last_at)}"),
        *((amounts.shown(name), amounts.shown(value)) for name, value in selection),
        ("Conversations", amounts.whole(totals.conversations)),
        ("Turns", amounts.whole(totals.turns)),
        ("Messages", amounts.whole(totals.messages)),
        ("Workspaces", amounts.whole(totals.workspaces)),
        ("Made", f"{timestamp_text(made_at)} by {made_by}"),
    ]
    beside: list[Block] = [Facts("What this page covers", facts)]
    if totals.sources:
        columns = [text("Source", "name"), number("Conversations", "times")]
        beside.append(table_of("Where conversations were read from", totals.sources, columns))
    if totals.documents:
        columns = [text("Kind", "name"), number("Documents", "times")]
        beside.append(table_of("Checkpoints, plans, memories and other documents", totals.documents, columns))
    blocks: list[Block] = [Row(beside), Paragraph(COUNTING), Paragraph(ESTIMATES)]
    prices = stats.tokens.prices
    if prices is not None:
        date = f", of {amounts.shown(prices.date)}" if prices.date else ""
        blocks.append(
            Paragraph(f"Dollars are recorded tokens at the list prices of {amounts.shown(prices.source)}{date}.")
        )
    if is_anonymous:
        blocks.append(Paragraph(ANONYMOUS))
    return Section("method", "Method", "", blocks)


def period_text(stats: Stats) -> str:
    """Return the selected period as text."""
    if stats.since and stats.until:
        return f"{amounts.moment(stats.since)} to {amounts.moment(stats.until)}"
    if stats.since:
        return f"since {amounts.moment(stats.since)}"
    return f"until {amounts.moment(stats.until)}" if stats.until else "everything there is"
