"""The first two sections: the main figures, and when they happened."""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup

from copilog.analysis.breakdowns import requests_of_credits
from copilog.analysis.figures import ActivityRow, EstimateEnd, Stats, TimeSection, TokensSection
from copilog.analysis.numbers import added
from copilog.render import charts
from copilog.render.report import amounts
from copilog.render.report.blocks import Block, Chart, Figure, Figures, Paragraph, Row, Section, table_of, text
from copilog.render.report.columns import columns_of
from copilog.render.report.credits import before_note
from copilog.render.report.timeline import Timeline, by_year, timeline_of

MOST_YEARS = 5


def overview(stats: Stats) -> Section:
    """Return the main figures."""
    totals, time = stats.totals, stats.time
    days = timeline_of(time.by_day)
    figures = [
        Figure(
            "Conversations",
            amounts.whole(totals.conversations),
            f"in {amounts.counted(totals.workspaces, 'workspace')}",
            _spark("conversations", days),
        ),
        Figure(
            "Turns",
            amounts.whole(totals.turns),
            f"{totals.messages:,} messages{compared(stats, 'turns', amounts.whole)}",
            _spark("turns", days),
        ),
        Figure(
            "Active days",
            amounts.whole(time.active_days),
            f"longest streak {amounts.counted(time.longest_streak, 'day')}",
        ),
        *_cost_figures(stats),
        Figure(
            "Tool calls",
            amounts.whole(totals.tool_calls),
            f"{amounts.whole(stats.tools.failed)} failed,"
            f" {amounts.counted(stats.tools.command_errors, 'command')} with an error",
            _spark("tool_calls", days),
        ),
        Figure(
            "Edits",
            amounts.whole(stats.work.edits),
            f"{amounts.lines(stats.work.added, stats.work.removed)} in {amounts.counted(stats.work.files, 'file')}",
        ),
        Figure(
            "Elapsed",
            amounts.duration(stats.work.elapsed_ms) if stats.work.timed_turns else amounts.NONE,
            f"{amounts.duration(stats.work.working_ms)} working"
            + (f", {amounts.duration(stats.work.waiting_ms)} waiting for the user" if stats.work.waiting_ms else "")
            + _coverage("; time known", stats.work.timed_turns, stats.work.turns),
        ),
    ]
    return Section("overview", "Overview", "", [Figures(figures)])


def compared(stats: Stats, name: str, shown: Callable[[float | None], str]) -> str:
    """Return what a headline was in the same length of time right before the selected period.

    Empty if all time is selected, or if nothing is known of that time.
    """
    period = stats.tokens.period
    before = getattr(period, f"{name}_before")
    return f"; {before_note(before, period, shown)}" if stats.since is not None and before is not None else ""


def source_of(tokens: TokensSection, name: str, words: str) -> str:
    """Return the note of a recorded amount: `words`, how many turns record it, and how much of it is spread."""
    total = tokens.total
    known = {"tokens": tokens.input_turns, "credits": tokens.credit_turns}
    spread, shown = {
        "tokens": (total.spread, amounts.short),
        "credits": (total.spread_credits, amounts.decimal),
        "premium_requests": (total.spread_requests, amounts.decimal),
    }[name]
    coverage = _coverage("", known[name], total.turns) if name in known else ""
    if tokens.superseded_turns and name == "tokens":
        coverage = coverage or f" for {amounts.counted(total.turns, 'turn')}"
        coverage += f" ({tokens.superseded_turns:,} superseded)"
    other = requests_of_credits(tokens.by_system) if name == "premium_requests" else None
    beside = f", {amounts.decimal(other)} of them in turns that are billed by credits" if other else ""
    return words + coverage + (f", {shown(spread)} of them spread over several turns" if spread else "") + beside


def _coverage(words: str, known: int, turns: int) -> str:
    return f"{words} for {known:,} of {amounts.counted(turns, 'turn')}" if known < turns else ""


def _cost_figures(stats: Stats) -> list[Figure]:
    total = stats.tokens.total
    least, most = stats.tokens.at_least or EstimateEnd(), stats.tokens.at_most or EstimateEnd()
    estimated = added(total.estimated_input, total.estimated_output)
    range_ = amounts.estimate(estimated, least.input + least.output, amounts.short, most.input + most.output)
    more = f"; {range_} more are estimated"
    tokens = Figure(
        "Tokens",
        amounts.short(added(total.input, total.output)),
        source_of(stats.tokens, "tokens", "recorded")
        + (more if estimated else "")
        + compared(stats, "tokens", amounts.short),
    )
    figures = [tokens]
    if total.dollars is not None or total.estimated_dollars is not None:
        range_ = amounts.estimate(total.estimated_dollars, least.dollars, amounts.dollars, most.dollars)
        more = f"; {range_} more for estimated tokens"
        note = "recorded tokens at list prices" + (more if total.estimated_dollars else "")
        note += compared(stats, "dollars", amounts.dollars)
        figures.append(Figure("Cost", amounts.dollars(total.dollars), note))
    if total.premium_requests is not None:
        note = source_of(stats.tokens, "premium_requests", "as Copilot counted them")
        note += compared(stats, "premium_requests", amounts.decimal)
        figures.append(Figure("Premium requests", amounts.decimal(total.premium_requests), note))
    if total.credits is not None:
        note = source_of(stats.tokens, "credits", "as Copilot recorded them")
        figures.append(Figure("AI credits", amounts.decimal(total.credits), note))
    return figures


def _spark(field_name: str, days: Timeline[ActivityRow]) -> Markup | None:
    title = f"{field_name.replace('_', ' ').capitalize()} by {days.unit}"
    return charts.sparkline(f"spark-{field_name}", title, days.values(lambda row: getattr(row, field_name))) or None


# --- when -----------------------------------------------------------------------------------------------------------


def activity(stats: Stats) -> Section:
    """Return the calendar, the hours and the weekdays."""
    time = stats.time
    if not time.by_day:
        return Section("activity", "Activity", "Nothing in this period has a time.", [])
    blocks: list[Block] = [_calendar(time), Row([_weekdays(time), _hours(time)])]
    blocks.append(Paragraph(_activity_sentences(time)))
    return Section("activity", "Activity", "When prompts were sent, in local time.", blocks)


def _calendar(time: TimeSection) -> Chart:
    years = by_year(time.by_day, lambda row: row.turns)
    shown = list(years.items())[-MOST_YEARS:]
    left_out = len(years) - len(shown)
    return Chart(
        "Turns by day",
        [charts.calendar(f"calendar-{year}", f"Turns by day in {year}", values) for year, values in shown],
        legend=[(f"heat-{level}", word) for level, word in enumerate(("none", "few", "some", "many", "most"))],
        note=f"The calendar leaves out {amounts.counted(left_out, 'earlier year')}." if left_out else None,
        table=table_of("Activity by day", time.by_day, [text("Day", "name"), *columns_of("time.by_day", time.by_day)]),
        is_wide=True,
    )


def _weekdays(time: TimeSection) -> Chart:
    return Chart(
        "Turns by weekday",
        [
            charts.columns(
                "weekdays",
                "Turns by weekday",
                [row.name[:3] for row in time.by_weekday],
                [charts.Series("turns", [row.turns for row in time.by_weekday])],
                words=amounts.short,
            )
        ],
        table=table_of(
            "Activity by weekday",
            time.by_weekday,
            [text("Weekday", "name"), *columns_of("time.by_weekday", time.by_weekday)],
        ),
    )


def _hours(time: TimeSection) -> Chart:
    by_name = {row.name: row.turns for row in time.by_hour}
    hours = [f"{hour:02}" for hour in range(24)]
    return Chart(
        "Turns by hour",
        [
            charts.columns(
                "hours",
                "Turns by hour of the day",
                [f"{hour} h" for hour in hours],
                [charts.Series("turns", [by_name.get(hour, 0) for hour in hours])],
                words=amounts.short,
            )
        ],
        table=table_of(
            "Activity by hour", time.by_hour, [text("Hour", "name"), *columns_of("time.by_hour", time.by_hour)]
        ),
    )


def _activity_sentences(time: TimeSection) -> str:
    words = [f"From {amounts.moment(time.first_at)} to {amounts.moment(time.last_at)}."]
    if time.longest_streak > 1:
        end = f", up to {amounts.moment(time.longest_streak_end)}" if time.longest_streak_end else ""
        words.append(f"The longest streak was {time.longest_streak:,} days in a row{end}.")
    if time.current_streak > 1:
        words.append(f"The current one has {time.current_streak:,} days.")
    if time.most_parallel > 1:
        at = f" ({amounts.moment(time.most_parallel_at)})" if time.most_parallel_at else ""
        words.append(
            f"At most {time.most_parallel:,} conversations were at work at once{at}; "
            f"for {amounts.duration(time.parallel_ms)} there were two or more."
        )
    return " ".join(words)
