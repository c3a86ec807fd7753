"""Results: edits and their outcomes, files, how turns ended, errors and votes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from copilog.analysis.figures import CountRow, FileRow, LanguageRow, TouchedFileRow, WorkSection
from copilog.render.report import amounts
from copilog.render.report.blocks import Figure, text
from copilog.render.report.spending import folder_names
from copilog.web.dashboard.links import Links
from copilog.web.dashboard.panels import (
    Panel,
    Section,
    Series,
    bars,
    figure_table,
    make_point,
    table_of_points,
)

EDITS = [Series("edits", "tone-1")]
TURNS = [Series("turns", "tone-1")]
CONVERSATIONS = [Series("conversations", "tone-1")]
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
        panels.append(_edit_outcomes(section, links))
    if section.turns:
        panels.append(_ends(section, links))
    if section.top_files:
        panels.append(_files(section.top_files, links))
    if section.important_files:
        panels.append(important_files_panel(section.important_files, links))
    if section.languages:
        panels.append(_languages(section.languages, links))
    if section.errors:
        panels.append(_counts("errors", "Errors", "Error", section.errors, links))
    if section.vote_reasons:
        title = "Why answers were voted down"
        panels.append(_counts("vote_reasons", title, "Reason", section.vote_reasons, links))
    lead = "What was changed and whether it was accepted, how turns ended, and votes on answers."
    return Section(key="work", title="Work", lead=lead, tiles=_tiles(section, links), panels=panels)


def _tiles(section: WorkSection, links: Links) -> list[Figure]:
    judged = section.kept + section.undone + section.changed
    return [
        Figure(
            label="Edits kept",
            value=amounts.percent(section.kept / judged if judged else None),
            note=f"of {amounts.counted(judged, 'edit')} of which the end is known",
            link=links.link_unless_zero(section.kept, "work.kept"),
        ),
        Figure(
            label="Turns failed",
            value=amounts.whole(section.failed),
            note=f"of {section.turns:,}; {section.cancelled:,} cancelled",
            link=links.link_unless_zero(section.failed, "work.failed"),
        ),
        Figure(
            label="Asked again",
            value=amounts.whole(section.retried),
            note="with the same words",
            link=links.link_unless_zero(section.retried, "work.retried"),
        ),
        Figure(
            label="Votes up",
            value=amounts.whole(section.votes_up),
            link=links.link_unless_zero(section.votes_up, "work.votes_up"),
        ),
        Figure(
            label="Votes down",
            value=amounts.whole(section.votes_down),
            link=links.link_unless_zero(section.votes_down, "work.votes_down"),
        ),
    ]


def _edit_outcomes(section: WorkSection, links: Links) -> Panel:
    title = "Acceptance of edits"
    points = []
    for key, name, tone in FATES:
        times = getattr(section, key)
        link = links.link_unless_zero(times, f"work.{key}")
        aside = f"{times:,}, {amounts.percent(times / section.edits)}"
        points.append(make_point(name, EDITS, [times], "count", link, tone=tone, aside=aside))
    chart = bars("fates", title, "count", "edits", EDITS, points)
    note = "Unknown: nothing was recorded afterwards. Pending: neither accepted nor undone when it was last saved."
    return Panel(key="fates", title=title, chart=chart, table=table_of_points(chart, "Fate"), note=note)


def _ends(section: WorkSection, links: Links) -> Panel:
    title = "How turns ended"
    points = []
    for key, name, tone in ENDS:
        times = getattr(section, key)
        link = links.link_unless_zero(times, f"work.{key}")
        points.append(make_point(name, TURNS, [times], "count", link, tone=tone))
    others = section.turns - section.completed - section.cancelled - section.failed
    if others > 0:
        points.append(
            make_point("not known", TURNS, [others], "count", links.behind("work.unknown_ends"), tone="tone-4")
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
    chart = bars("files", title, "count", "edits", EDITS, points)
    table = figure_table(title, "work.top_files", rows, [text("File", "path")], links, {"File": link})
    return Panel(key="files", title=title, chart=chart, table=table)


def important_files_panel(rows: Sequence[TouchedFileRow], links: Links, *, is_wide: bool = False) -> Panel:
    def link(row: TouchedFileRow) -> str:
        return links.behind("work.important_files.conversations", row)

    title = "Files of most conversations"
    points = [
        make_point(row.path, CONVERSATIONS, [row.conversations], "count", link(row), label=label)
        for row, label in zip(rows, folder_names([row.path for row in rows]), strict=True)
    ]
    chart = bars("important_files", title, "count", "conversations", CONVERSATIONS, points)
    table = figure_table(title, "work.important_files", rows, [text("File", "path")], links, {"File": link})
    return Panel(key="important_files", title=title, chart=chart, table=table, is_wide=is_wide)


def _languages(rows: Sequence[LanguageRow], links: Links) -> Panel:
    def link(row: LanguageRow) -> str:
        return links.behind("work.languages.edits", row)

    title = "Lines by language"
    points = [make_point(row.name, LINES, [row.added or 0, row.removed or 0], "count", link(row)) for row in rows]
    chart = bars("languages", title, "count", "lines", LINES, points)
    table = figure_table(title, "work.languages", rows, [text("Language", "name")], links, {"Language": link})
    return Panel(key="languages", title=title, chart=chart, table=table)


def _counts(key: str, title: str, head: str, rows: Sequence[CountRow], links: Links) -> Panel:
    link = partial(links.behind, f"work.{key}.times")
    points = [make_point(row.name, TURNS, [row.times], "count", link(row), tone="bad") for row in rows]
    table = figure_table(title, f"work.{key}", rows, [text(head, "name")], links, {head: link})
    key = key.replace("_", "-")
    return Panel(key=key, title=title, chart=bars(key, title, "count", "turns", TURNS, points), table=table)
