"""What came of it: edits and their fate, files, how turns ended, errors and votes."""

from __future__ import annotations

from collections.abc import Sequence

from copilog.analysis.figures import CountRow, FileRow, LanguageRow, WorkSection
from copilog.render.report import amounts
from copilog.render.report.blocks import Figure, number, text
from copilog.render.report.spending import folder_names
from copilog.web.dashboard.links import Links
from copilog.web.dashboard.panels import (
    Link,
    Panel,
    Section,
    Series,
    bars,
    linked_table,
    make_point,
    table_of_points,
)

EDITS = [Series("edits", "tone-1")]
TURNS = [Series("turns", "tone-1")]
LINES = [Series("lines added", "good"), Series("lines removed", "bad")]
FATES = (
    ("kept", "kept", "good"),
    ("changed", "changed by hand afterwards", "tone-5"),
    ("undone", "undone", "bad"),
    ("pending", "pending", "warn"),
    ("undecided", "unknown", "tone-4"),
)
ENDS = (("completed", "completed", "good"), ("cancelled", "cancelled", "warn"), ("failed", "failed", "bad"))


def work(section: WorkSection, links: Links) -> Section:
    panels: list[Panel] = []
    if section.edits:
        panels.append(_fates(section, links))
    if section.turns:
        panels.append(_ends(section, links))
    if section.top_files:
        panels.append(_files(section.top_files, links))
    if section.languages:
        panels.append(_languages(section.languages, links))
    if section.errors:
        panels.append(_counts("errors", "Errors", "Error", section.errors, lambda row: links.behind("error", row.name)))
    if section.vote_reasons:
        title = "Why answers were voted down"
        panels.append(
            _counts(
                "vote-reasons", title, "Reason", section.vote_reasons, lambda row: links.behind("vote-reason", row.name)
            )
        )
    lead = "What was changed and what became of it, how turns ended, and what people said."
    return Section(key="work", title="Work", lead=lead, tiles=_tiles(section, links), panels=panels)


def _tiles(section: WorkSection, links: Links) -> list[Figure]:
    judged = section.kept + section.undone + section.changed
    return [
        Figure(
            label="Edits kept",
            value=amounts.percent(section.kept / judged if judged else None),
            note=f"of {amounts.counted(judged, 'edit')} of which the end is known",
            link=links.behind_if(section.kept, "fate", "kept"),
        ),
        Figure(
            label="Turns failed",
            value=amounts.whole(section.failed),
            note=f"of {section.turns:,}; {section.cancelled:,} cancelled",
            link=links.behind_if(section.failed, "status", "failed"),
        ),
        Figure(
            label="Asked again",
            value=amounts.whole(section.retried),
            note="with the same words",
            link=links.behind_if(section.retried, "retry"),
        ),
        Figure(
            label="Votes up",
            value=amounts.whole(section.votes_up),
            link=links.behind_if(section.votes_up, "vote", "up"),
        ),
        Figure(
            label="Votes down",
            value=amounts.whole(section.votes_down),
            link=links.behind_if(section.votes_down, "vote", "down"),
        ),
    ]


def _fates(section: WorkSection, links: Links) -> Panel:
    title = "Acceptance of edits"
    points = []
    for key, name, tone in FATES:
        times = getattr(section, key)
        link = links.behind_if(times, "fate", key)
        aside = f"{times:,}, {amounts.percent(times / section.edits)}"
        points.append(make_point(name, EDITS, [times], "count", link, tone=tone, aside=aside))
    chart = bars("fates", title, "count", "edits", EDITS, points)
    note = "Unknown: nothing was recorded afterwards. Pending: nobody had decided when it was last saved."
    return Panel(key="fates", title=title, chart=chart, table=table_of_points(chart, "Fate"), note=note)


def _ends(section: WorkSection, links: Links) -> Panel:
    title = "How turns ended"
    points = []
    for key, name, tone in ENDS:
        times = getattr(section, key)
        link = links.behind_if(times, "status", key)
        points.append(make_point(name, TURNS, [times], "count", link, tone=tone))
    others = section.turns - section.completed - section.cancelled - section.failed
    if others > 0:
        points.append(
            make_point("not known", TURNS, [others], "count", links.behind("status", "unknown"), tone="tone-4")
        )
    chart = bars("ends", title, "count", "turns", TURNS, points)
    return Panel(key="ends", title=title, chart=chart, table=table_of_points(chart, "End"))


def _files(rows: Sequence[FileRow], links: Links) -> Panel:
    def link(row: FileRow) -> str:
        return links.file(row.path)

    title = "Files most edited"
    labels = folder_names([row.path for row in rows])
    points = [
        make_point(
            row.path,
            EDITS,
            [row.edits],
            "count",
            link(row),
            label=label,
            aside=f"{row.edits:,} ({amounts.lines(row.added, row.removed)})",
            words=f"{amounts.shown(row.path)}: {amounts.counted(row.edits, 'edit')},"
            f" {amounts.lines(row.added, row.removed)}, {row.undone:,} undone",
        )
        for row, label in zip(rows, labels, strict=True)
    ]
    columns = [
        text("File", "path"),
        number("Edits", "edits"),
        number("Lines added", "added"),
        number("Lines removed", "removed"),
        number("Undone", "undone", optional=True),
        number("Conversations", "conversations"),
    ]
    chart = bars("files", title, "count", "edits", EDITS, points)
    table = linked_table(
        title,
        rows,
        columns,
        {
            "File": link,
            "Edits": lambda row: links.behind("file", row.path),
            "Undone": lambda row: links.behind("undone-file", row.path),
            "Conversations": lambda row: links.behind("file", row.path),
        },
    )
    return Panel(key="files", title=title, chart=chart, table=table)


def _languages(rows: Sequence[LanguageRow], links: Links) -> Panel:
    def link(row: LanguageRow) -> str:
        return links.behind("language", row.name)

    title = "Lines by language"
    points = [make_point(row.name, LINES, [row.added or 0, row.removed or 0], "count", link(row)) for row in rows]
    columns = [
        text("Language", "name"),
        number("Edits", "edits"),
        number("Files", "files"),
        number("Lines added", "added"),
        number("Lines removed", "removed"),
    ]
    chart = bars("languages", title, "count", "lines", LINES, points)
    return Panel(
        key="languages", title=title, chart=chart, table=linked_table(title, rows, columns, {"Language": link})
    )


def _counts(key: str, title: str, head: str, rows: Sequence[CountRow], link: Link) -> Panel:
    points = [make_point(row.name, TURNS, [row.times], "count", link(row), tone="bad") for row in rows]
    table = linked_table(title, rows, [text(head, "name"), number("Turns", "times")], {head: link})
    return Panel(key=key, title=title, chart=bars(key, title, "count", "turns", TURNS, points), table=table)
