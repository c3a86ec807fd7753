"""The main figures on one screen: `copilog stats` without a section."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from copilog.analysis.allowance import month_label
from copilog.analysis.breakdowns import PAYERS, requests_of_credits
from copilog.analysis.estimate_method import method_text
from copilog.analysis.numbers import added
from copilog.analysis.periods import before_label, days_label
from copilog.cli.common import folder_name, one_line, plural
from copilog.cli.tables import cell, duration, money, print_table, short_number
from copilog.derive.line_counts import line_counts_text

if TYPE_CHECKING:
    from copilog.analysis.figures import ActivityRow, EstimateEnd, Prices, SpendRow, Stats, TokensSection, WorkSection
    from copilog.cli.common import Settings

HEIGHTS = " ▁▂▃▄▅▆▇█"
MOST_DAYS = 60


def print_overview(settings: Settings, stats: Stats) -> None:
    """Print the main figures and short tables of all sections."""
    from copilog.cli.stats import COST_DRAWN

    out = settings.out
    for line in (*_heads(stats), ""):
        out.print(line)
    for line in activity_lines(stats.time.by_day, out.width - 2):
        out.print(line)
    tokens = stats.tokens
    workspaces = [_with_short_name(row) for row in tokens.by_workspace]
    spent = (
        "name", "turns", "input", "output", "spread", "estimated_output", "premium_requests", "spread_requests",
        "credits", "spread_credits", "computed_credits", "dollars",
    )  # fmt: skip
    print_table(settings, tokens.by_model, title="models", columns=spent, bars=COST_DRAWN)
    print_table(settings, workspaces, title="workspaces", columns=spent, bars=COST_DRAWN)
    print_table(
        settings,
        stats.tools.tools,
        title="tools",
        columns=("name", "calls", "failed", "failure_rate", "command_errors", "retries", "median_ms", "p95_ms"),
        bars="calls",
    )
    print_table(
        settings,
        stats.agents.agents,
        title="agents",
        columns=("name", "kind", "turns", "conversations", "tool_calls", "failed"),
        bars="turns",
    )
    print_table(
        settings,
        stats.skills.skills,
        title="skills",
        columns=("name", "offered", "loaded", "conversations"),
        bars="loaded",
    )
    files = ("path", "edits", "added", "removed", "undone")
    print_table(settings, stats.work.top_files, title="files", columns=files, bars="edits")
    out.print("more: copilog stats tokens|models|tools|agents|skills|work|time; copilog report -o report.html")


def _heads(stats: Stats) -> Iterator[str]:
    totals, work, time = stats.totals, stats.work, stats.time
    counts = (
        (totals.conversations, "conversation"),
        (totals.turns, "turn"),
        (totals.messages, "message"),
        (totals.tool_calls, "tool call"),
    )
    yield ", ".join(f"{number:,} {plural(number, word)}" for number, word in counts)
    yield from spend_lines(stats.tokens)
    if work.edits:
        fates = ((work.kept, "kept"), (work.undone, "undone"), (work.changed, "changed"), (work.pending, "pending"))
        known = ", ".join(f"{number:,} {word}" for number, word in fates if number)
        yield (
            f"{work.edits:,} {plural(work.edits, 'edit')} of {work.files:,} {plural(work.files, 'file')}"
            + _lines(work)
            + (f": {known}" if known else "")
        )
    tools = stats.tools
    if tools.failed or tools.command_errors:
        commands = f"{tools.command_errors:,} {plural(tools.command_errors, 'command')} ended with an error"
        yield f"tool calls: {tools.failed:,} failed; {commands}"
    ends = ((work.cancelled, "cancelled"), (work.failed, "failed"), (work.retried, "asked again"))
    ended = ", ".join(f"{number:,} {word}" for number, word in ends if number)
    if ended:
        yield f"turns: {ended}"
    if work.timed_turns:
        waiting = f", {duration(work.waiting_ms)} waiting for the user" if work.waiting_ms else ""
        without = ", without superseded ones" if stats.tokens.superseded_turns else ""
        known = (
            f" (time known for {work.timed_turns:,} of {work.turns:,} turns{without})"
            if work.timed_turns < work.turns
            else ""
        )
        yield f"{duration(work.elapsed_ms)} elapsed, {duration(work.working_ms)} working{waiting}{known}"
    if time.active_days:
        streak = f"; longest streak {time.longest_streak:,} {plural(time.longest_streak, 'day')}"
        parallel = f"; up to {time.most_parallel} at the same time" if time.most_parallel > 1 else ""
        yield f"{time.active_days:,} active {plural(time.active_days, 'day')}{streak}{parallel}"


def _lines(work: WorkSection) -> str:
    words = line_counts_text((work.added, work.removed))
    return f" ({words})" if words else ""


def spend_lines(tokens: TokensSection) -> Iterator[str]:
    """Yield lines about tokens and cost, each figure with its meaning."""
    total = tokens.total
    if total.input is not None:
        cached = f" ({total.cache_share:.0%} from a cache)" if total.cache_share else ""
        output = f"{short_number(total.output)} out" if total.output is not None else "output not recorded"
        yield f"tokens recorded: {short_number(total.input)} in{cached}, {output}"
    elif total.output is not None:
        yield f"tokens recorded: {short_number(total.output)} out; those that went in were not"
    if total.turns and tokens.input_turns < total.turns:
        yield f"  input recorded for {tokens.input_turns:,} of {total.turns:,} turns that used a model"
    if tokens.superseded_turns:
        number = tokens.superseded_turns
        yield f"  with {number:,} superseded {plural(number, 'turn')} (undone, rewound, retried), charged all the same"
    if total.spread:
        yield f"  {short_number(total.spread)} of them are parts of totals of several turns"
    estimates = ((total.estimated_input, "in"), (total.estimated_output, "out"))
    estimated = ", ".join(f"{short_number(number)} {word}" for number, word in estimates if number)
    if estimated:
        lowest = _ends(tokens.at_least)
        lowest = f"at least {lowest}; " if lowest else ""
        highest = _ends(tokens.at_most)
        highest = f"; at most {highest}" if highest else ""
        method = method_text(tokens.calibration)
        yield f"tokens estimated, where none were recorded: {lowest}likely {estimated}{highest} ({method})"
    yield from _bills(tokens)
    yield from _dollars(total, tokens.prices, tokens.at_least, tokens.at_most)
    for row in tokens.by_payer:
        if row.name != PAYERS["copilot"]:
            recorded = added(row.input, row.output)
            used = f"{short_number(recorded)} tokens" if recorded is not None else "tokens not recorded"
            cost = f", {money(row.dollars)} at list prices" if row.dollars is not None else ""
            yield f"  of that on {row.name}: {used}{cost}"
    yield from _before(tokens)
    if month := month_label(tokens.month):
        yield month
    if tokens.cache_turns:
        yield f"turns that missed the cache: {tokens.missed_cache_turns:,} of {tokens.cache_turns:,} that tell"


def _ends(end: EstimateEnd | None) -> str:
    ends = ((end.input, "in"), (end.output, "out")) if end is not None else ()
    return ", ".join(f"{short_number(number)} {word}" for number, word in ends if number)


def _bills(tokens: TokensSection) -> Iterator[str]:
    """Yield a line for premium requests and one for AI credits: the two are never added up."""
    total = tokens.total
    if total.premium_requests is not None or total.unanswered_requests is not None:
        apart = total.unanswered_requests
        more = f"; {cell('premium_requests', apart)} more of failed or cancelled turns" if apart else ""
        spread = f", {cell('premium_requests', total.spread_requests)} of them spread" if total.spread_requests else ""
        other = requests_of_credits(tokens.by_system)
        if other:
            spread += f", {cell('premium_requests', other)} of them in turns that are billed by credits"
        if total.premium_requests is None:
            yield f"premium requests: {cell('premium_requests', apart)}, all of failed or cancelled turns (as recorded)"
        else:
            number = cell("premium_requests", total.premium_requests)
            yield f"premium requests: {number} (as recorded{spread}){more}"
    known = []
    if total.credits is not None:
        spread = f", {cell('credits', total.spread_credits)} of them spread" if total.spread_credits else ""
        turns = f"{tokens.credit_turns:,} {plural(tokens.credit_turns, 'turn')}"
        known.append(f"{cell('credits', total.credits)} (recorded for {turns}{spread})")
    if total.computed_credits is not None:
        known.append(f"{cell('credits', total.computed_credits)} (computed from list prices)")
    if known:
        yield f"AI credits: {' + '.join(known)}"


def _dollars(
    total: SpendRow, prices: Prices | None, least: EstimateEnd | None, most: EstimateEnd | None
) -> Iterator[str]:
    if prices is None:
        return
    for name, other in prices.unknown.items():
        yield f"  config file: {one_line(name)} has the prices of {one_line(other)}, which is not in the table"
    if total.dollars is None and total.estimated_dollars is None:
        if prices.unpriced:
            yield f"no price for {', '.join(prices.unpriced)} ({prices.source})"
        return
    dollars = [money(total.dollars)] if total.dollars is not None else []
    if total.estimated_dollars:
        lowest = f"at least {money(least.dollars)}, likely " if least is not None and least.dollars else ""
        highest = f", at most {money(most.dollars)}" if most is not None and most.dollars else ""
        dollars.append(f"{lowest}~{money(total.estimated_dollars)}{highest} for what is estimated")
    table = f"{prices.source}{f' of {prices.date}' if prices.date else ''}"
    table += ", and the config file" if prices.own else ""
    table += f", less {prices.discount:.0%}" if prices.discount else ""
    missing = f"; no price for {', '.join(prices.unpriced)}" if prices.unpriced else ""
    yield f"at list prices ({table}): {' + '.join(dollars)}{missing}"
    if total.averaged_dollars:
        yield f"  {money(total.averaged_dollars)} of it computed with the average prompt of several calls, long or not"


def _before(tokens: TokensSection) -> Iterator[str]:
    """Yield a line with the main figures of the period and of the time right before it, if anything was used then."""
    period, shown_amount = tokens.period, partial(cell, "credits")
    compared: tuple[tuple[float | None, float | None, str, Callable[[Any], str]], ...] = (
        (period.turns, period.turns_before, "turns", str),
        (period.tokens, period.tokens_before, "tokens", short_number),
        (period.credits, period.credits_before, "credits", shown_amount),
        (
            period.premium_requests,
            period.premium_requests_before,
            "premium requests",
            lambda number: cell("credits", number),
        ),
        (period.dollars, period.dollars_before, "", money),
    )
    known = [
        f"{shown(now)} {word}".strip() + f" after {shown(before)}"
        for now, before, word, shown in compared
        if now is not None and before
    ]
    if known:
        days = days_label(period.since, period.until)
        yield f"{days}, compared with what was {before_label(period)}: {', '.join(known)}"


def _with_short_name(row: SpendRow) -> SpendRow:
    import msgspec

    return msgspec.structs.replace(row, name=folder_name(row.name) or row.name)


def activity_lines(days: Sequence[ActivityRow], room: int = MOST_DAYS) -> Iterator[str]:
    """Yield a small chart of turns by day, one character each, for as many days as fit."""
    if not days:
        return
    turns = {row.name: row.turns for row in days}
    last = date.fromisoformat(days[-1].name)
    first = max(date.fromisoformat(days[0].name), last - timedelta(days=max(min(MOST_DAYS, room), 1) - 1))
    length = (last - first).days + 1
    counts = [turns.get(str(first + timedelta(days=number)), 0) for number in range(length)]
    most = max(counts)
    chart = "".join(HEIGHTS[_height(count, most)] for count in counts)
    yield f"turns by day, {first} to {last}, {most:,} at most"
    yield f"  {chart}"
    yield ""


def _height(count: int, most: int) -> int:
    if not count:
        return 0
    return max(1, round(count / most * (len(HEIGHTS) - 1)))
