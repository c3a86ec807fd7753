"""Results: edits, turns, votes, errors, references."""

from __future__ import annotations

from urllib.parse import urlsplit

from copilog.analysis.figures import CountRow, ReferenceRow, Stats, WorkSection
from copilog.render import charts
from copilog.render.report import amounts
from copilog.render.report.blocks import (
    Block,
    Cell,
    Chart,
    Figure,
    Figures,
    Row,
    Section,
    Table,
    number,
    table_of,
    text,
    worded,
)
from copilog.render.report.columns import columns_of

MOST_BARS = 10
LONGEST_ADDRESS = 500
KINDS = {"commit": "commit", "pull-request": "pull request", "issue": "issue"}


def work(stats: Stats) -> Section:
    """Return the section of results."""
    section = stats.work
    blocks: list[Block] = [_figures(section)]
    ends = _edit_outcomes(section)
    if ends:
        blocks.append(Row(ends))
    beside: list[Block] = []
    if section.languages:
        beside.append(_languages(section))
    if section.vote_reasons:
        beside.append(_counts("Why answers were voted down", "Reason", section.vote_reasons))
    if section.errors:
        beside.append(_counts("Errors", "Error", section.errors))
    if beside:
        blocks.append(Row(beside))
    if section.top_files:
        blocks.append(_files(section))
    if section.important_files:
        columns = [text("File", "path"), *columns_of("work.important_files", section.important_files)]
        blocks.append(table_of("Files of most conversations", section.important_files, columns))
    if section.references:
        blocks.append(_references(section.references))
    return Section(
        "work", "Work", "What was changed and whether it was accepted, how turns ended, and votes on answers.", blocks
    )


def _figures(section: WorkSection) -> Figures:
    judged = section.kept + section.undone + section.changed
    return Figures(
        [
            Figure(
                "Edits kept",
                amounts.percent(section.kept / judged if judged else None),
                f"of {amounts.counted(judged, 'edit')} of which the end is known",
            ),
            Figure(
                "Lines added",
                amounts.whole(section.added),
                f"and {amounts.whole(section.removed)} removed, in {amounts.counted(section.files, 'file')}",
            ),
            Figure(
                "Turns completed",
                amounts.percent(section.completed / section.turns if section.turns else None),
                f"{section.cancelled:,} cancelled, {section.failed:,} failed, {section.retried:,} retried",
            ),
            Figure("Votes up", amounts.whole(section.votes_up), f"and {section.votes_down:,} down"),
            Figure(
                "Elapsed",
                amounts.duration(section.elapsed_ms) if section.timed_turns else amounts.NONE,
                f"in {amounts.counted(section.timed_turns, 'turn')} whose time is known",
            ),
            Figure(
                "Working",
                amounts.duration(section.working_ms) if section.working_turns else amounts.NONE,
                f"in {amounts.counted(section.working_turns, 'turn')}, without waiting for the user",
            ),
            Figure(
                "Waiting for the user", amounts.duration(section.waiting_ms) if section.timed_turns else amounts.NONE
            ),
        ]
    )


def _edit_outcomes(section: WorkSection) -> list[Block]:
    edits = (
        ("kept", section.kept),
        ("changed afterwards", section.changed),
        ("undone", section.undone),
        ("not decided yet", section.pending),
        ("nothing recorded", section.undecided),
    )
    others = section.turns - section.completed - section.cancelled - section.failed
    turns = (
        ("completed", section.completed),
        ("cancelled", section.cancelled),
        ("failed", section.failed),
        ("not known", max(0, others)),
    )
    made: list[Block] = []
    for key, caption, rows in (("fates", "What became of edits", edits), ("ends", "How turns ended", turns)):
        if any(value for _, value in rows):
            parts = [charts.Bar(label, [value]) for label, value in rows]
            made.append(Chart(caption, [charts.bars(key, caption, parts, words=amounts.whole)]))
    return made


def _languages(section: WorkSection) -> Chart:
    picture = charts.bars(
        "languages",
        "Edits by language",
        [charts.Bar(amounts.shown(row.name), [row.edits]) for row in section.languages[:MOST_BARS]],
        words=amounts.whole,
    )
    columns = [text("Language", "name"), *columns_of("work.languages", section.languages)]
    return Chart("Edits by language", [picture], table=table_of("Languages", section.languages, columns))


def _counts(caption: str, head: str, rows: list[CountRow]) -> Table:
    return table_of(caption, rows, [text(head, "name"), number("Times", "times")])


def _files(section: WorkSection) -> Table:
    columns = [text("File", "path"), *columns_of("work.top_files", section.top_files)]
    return table_of("Files most edited", section.top_files, columns)


# --- references -----------------------------------------------------------------------------------------------------


def _references(rows: list[ReferenceRow]) -> Table:
    columns = [
        text("What", "name"),
        worded("Kind", lambda row: KINDS.get(row.kind, row.kind) + (", made here" if row.is_made else "")),
        worded("Host", lambda row: host_of(row.url), optional=True),
        *columns_of("work.references", rows),
    ]
    table = table_of("Commits, pull requests and issues", rows, columns)
    for cells, row in zip(table.rows, rows, strict=True):
        if host_of(row.url):
            cells[0] = Cell(cells[0].text, link=row.url)
    return table


def host_of(url: str | None) -> str | None:
    """Return the host of a web address; None if it is not safe to link to."""
    if (
        not url
        or len(url) > LONGEST_ADDRESS
        or not url.isascii()
        or not url.isprintable()
        or any(sign in url for sign in " \"'<>\\`")
    ):
        return None
    try:
        parts = urlsplit(url)
        has_user = parts.username is not None or parts.password is not None
    except ValueError:
        return None
    return parts.hostname if parts.scheme == "https" and parts.hostname and not has_user else None
