"""The main figures, and activity by day, weekday and hour."""

from __future__ import annotations

from datetime import timedelta

from copilog.analysis.figures import ActivityRow, EstimateEnd, Stats, TimeSection, WorkSection
from copilog.analysis.numbers import added
from copilog.render.report import amounts
from copilog.render.report.blocks import Figure, text
from copilog.render.report.columns import columns_of
from copilog.render.report.overview import compared, source_of
from copilog.web.dashboard.links import Links
from copilog.web.dashboard.panels import Chart, Panel, Section, Series, figure_table, linked_table, make_point
from copilog.web.dashboard.panels import columns as column_chart
from copilog.web.dashboard.time_buckets import day_of

MOST_YEARS = 5
TURNS = [Series("turns", "tone-1")]


def overview(stats: Stats, links: Links) -> Section:
    totals, work = stats.totals, stats.work
    tiles = [
        Figure(
            label="Conversations",
            value=amounts.whole(totals.conversations),
            note=f"in {amounts.counted(totals.workspaces, 'workspace')}",
            link=links.library(),
        ),
        Figure(
            label="Turns",
            value=amounts.whole(totals.turns),
            note=f"{totals.messages:,} messages{compared(stats, 'turns', amounts.whole)}",
            link=links.link_unless_zero(totals.turns, "totals.turns"),
        ),
        *_cost_tiles(stats, links),
        Figure(
            label="Tool calls",
            value=amounts.whole(totals.tool_calls),
            note=f"{stats.tools.failed:,} failed,"
            f" {amounts.counted(stats.tools.command_errors, 'command')} with an error",
            link=links.link_unless_zero(totals.tool_calls, "totals.tool_calls"),
        ),
        Figure(
            label="Edits",
            value=amounts.whole(work.edits),
            note=f"{amounts.lines(work.added, work.removed)} in {amounts.counted(work.files, 'file')}",
            link=links.link_unless_zero(work.edits, "work.edits"),
        ),
        Figure(
            label="Elapsed",
            value=amounts.duration(work.elapsed_ms) if work.timed_turns else amounts.NONE,
            note=f"time known for {work.timed_turns:,} of {amounts.counted(work.turns, 'turn')}",
            link=links.link_unless_zero(work.timed_turns, "work.elapsed_ms"),
        ),
        Figure(
            label="Working",
            value=amounts.duration(work.working_ms) if work.working_turns else amounts.NONE,
            note=f"of {amounts.counted(work.working_turns, 'turn')}, without waiting for the user",
            link=links.link_unless_zero(work.working_turns, "work.working_ms"),
        ),
        *_waiting_tile(work, links),
        *_time_tiles(stats.time, links),
    ]
    return Section(key="overview", title="Overview", tiles=tiles)


def _waiting_tile(work: WorkSection, links: Links) -> list[Figure]:
    if not work.waiting_ms:
        return []
    return [
        Figure(
            label="Waiting for the user", value=amounts.duration(work.waiting_ms), link=links.behind("work.waiting_ms")
        )
    ]


def _cost_tiles(stats: Stats, links: Links) -> list[Figure]:
    tokens = stats.tokens
    total, least, most = tokens.total, tokens.at_least or EstimateEnd(), tokens.at_most or EstimateEnd()
    recorded, estimated = added(total.input, total.output), added(total.estimated_input, total.estimated_output)
    range_ = amounts.estimate(estimated, least.input + least.output, amounts.short, most.input + most.output)
    more = f"; {range_} more are estimated"
    link = links.link_unless_zero(recorded, "tokens.total.recorded")
    tiles = [
        Figure(
            label="Tokens",
            value=amounts.short(recorded),
            note=source_of(tokens, "tokens", "recorded")
            + (more if estimated else "")
            + compared(stats, "tokens", amounts.short),
            link=link,
        )
    ]
    if total.dollars is not None or total.estimated_dollars is not None:
        range_ = amounts.estimate(total.estimated_dollars, least.dollars, amounts.dollars, most.dollars)
        more = f"; {range_} more for estimates"
        note = "at list prices" + (more if total.estimated_dollars else "")
        note += compared(stats, "dollars", amounts.dollars)
        link = links.link_unless_zero(total.dollars, "tokens.total.dollars")
        tiles.append(Figure(label="Cost", value=amounts.dollars(total.dollars), note=note, link=link))
    for label, what, amount in (
        ("Premium requests", "premium_requests", total.premium_requests),
        ("AI credits", "credits", total.credits),
    ):
        if amount is not None:
            link = links.link_unless_zero(amount, f"tokens.total.{what}")
            note = source_of(tokens, what, "as recorded")
            if what == "premium_requests":
                note += compared(stats, what, amounts.decimal)
            tiles.append(Figure(label=label, value=amounts.decimal(amount), note=note, link=link))
    return tiles


def _time_tiles(time: TimeSection, links: Links) -> list[Figure]:
    streak = f"longest streak {amounts.counted(time.longest_streak, 'day')}"
    link = links.link_unless_zero(time.active_days, "time.active_days")
    tiles = [Figure(label="Active days", value=amounts.whole(time.active_days), note=streak, link=link)]
    if time.most_parallel > 1:
        tiles.append(
            Figure(
                label="At the same time",
                value=amounts.whole(time.most_parallel),
                note=f"conversations at most; two or more for {amounts.duration(time.parallel_ms)}",
                link=links.behind("time.most_parallel"),
            )
        )
    return tiles


# --- when -----------------------------------------------------------------------------------------------------------


def activity(stats: Stats, links: Links) -> Section:
    time = stats.time
    if not time.by_day:
        return Section(key="activity", title="Activity", lead="Nothing in this period has a time.")
    panels = [
        _calendar(time, links),
        _clock("weekdays", "Turns by weekday", "weekday", time.by_weekday, links),
        _clock("hours", "Turns by hour of the day", "hour", time.by_hour, links),
    ]
    lead = "When prompts were sent, in this machine's time zone."
    return Section(key="activity", title="Activity", lead=lead, panels=panels, remarks=[_activity_sentences(time)])


def _calendar(time: TimeSection, links: Links) -> Panel:
    years = sorted({row.name[:4] for row in time.by_day})
    shown = [row for row in time.by_day if row.name[:4] in years[-MOST_YEARS:] and day_of(row.name) is not None]
    points = [
        make_point(row.name, TURNS, [row.turns], "count", _day_link(row.name, links), words=_day_tooltip(row))
        for row in shown
    ]
    title = "Turns by day"
    columns = [text("Day", "name"), *columns_of("time.by_day", shown)]
    table = linked_table(title, shown, columns, {"Day": lambda row: _day_link(row.name, links)})
    left_out = len(years) - MOST_YEARS
    return Panel(
        key="calendar",
        title=title,
        chart=Chart(
            key="calendar",
            kind="calendar",
            title=title,
            unit="count",
            across="week",
            up="weekday",
            series=TURNS,
            points=points,
        ),
        table=table,
        note=f"The calendar leaves out {amounts.counted(left_out, 'earlier year')}." if left_out > 0 else None,
        is_wide=True,
    )


def _day_tooltip(row: ActivityRow) -> str:
    turns, conversations = (
        amounts.counted(row.turns, "turn"),
        amounts.counted(row.conversations, "conversation"),
    )
    return f"{row.name}: {turns} in {conversations}, {amounts.counted(row.tool_calls, 'tool call')}"


def _day_link(name: str, links: Links) -> str | None:
    day = day_of(name)
    return links.period(day, day + timedelta(days=1)) if day is not None else None


def _clock(key: str, title: str, what: str, rows: list[ActivityRow], links: Links) -> Panel:
    def link(row: ActivityRow) -> str | None:
        return links.behind(f"time.by_{what}.turns", row) if row.turns else None

    points = [
        make_point(row.name, TURNS, [row.turns], "count", link(row), label=row.name[:3], words=_day_tooltip(row))
        for row in rows
    ]
    head = what.capitalize()
    table = figure_table(title, f"time.by_{what}", rows, [text(head, "name")], links, {head: link})
    chart = column_chart(key, title, "count", what, "turns", TURNS, points)
    return Panel(key=key, title=title, chart=chart, table=table)


def _activity_sentences(time: TimeSection) -> str:
    words = [f"From {amounts.moment(time.first_at)} to {amounts.moment(time.last_at)}."]
    if time.longest_streak > 1:
        words.append(
            f"The longest streak was {time.longest_streak:,} days in a row, up to {time.longest_streak_end or '?'}."
        )
    if time.current_streak > 1:
        words.append(f"The current one has {time.current_streak:,} days.")
    if time.most_parallel > 1:
        words.append(
            f"At most {time.most_parallel:,} conversations were at work at once"
            f" ({amounts.moment(time.most_parallel_at)}); for {amounts.duration(time.parallel_ms)} two or more were."
        )
    return " ".join(words)
