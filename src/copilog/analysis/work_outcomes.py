"""Outcomes of conversations: edits that were kept or undone, how turns ended, votes, working and waiting time."""

from __future__ import annotations

from collections import Counter
from typing import Any

from copilog.analysis.edits import COUNTED_EDITS, one_path
from copilog.analysis.facts import CHOSEN_TURNS, DISTINCT, KNOWN_SUM, REAL_SUM, Amount, SqlTable
from copilog.analysis.figures import CountRow, FileRow, LanguageRow, TouchedFileRow, WorkSection
from copilog.analysis.references import references
from copilog.analysis.selection import NO_TURN, Chosen

LONGEST_NAME = 120  # characters of an error or a reason

# --- edits ----------------------------------------------------------------------------------------------------------

EDITS = {
    "edits": Amount("1", "Edits"),
    "added": Amount("c.added", "Lines added by edits", KNOWN_SUM, head="Lines added"),
    "removed": Amount("c.removed", "Lines removed by edits", KNOWN_SUM, head="Lines removed"),
}
FILES = {"files": Amount("c.path", "Files edited", DISTINCT)}
UNDONE = {"undone": Amount("c.fate = 'undone'", "Edits that were undone", is_optional=True)}
FATES = {
    "kept": Amount("c.fate = 'kept'", "Edits that were kept"),
    **UNDONE,
    "changed": Amount("c.fate = 'changed'", "Edits that were changed afterwards"),
    "pending": Amount("c.fate = 'pending'", "Edits that are still pending"),
    "undecided": Amount("c.fate IS NULL", "Edits of which no more is known"),
}
CONVERSATIONS = {"conversations": Amount("c.conversation", "Conversations with edits", DISTINCT)}

EDIT_SOURCE = f"({COUNTED_EDITS}) AS c"
EDIT_FIGURES = SqlTable(name="work", amounts=EDITS | FILES | FATES, source=EDIT_SOURCE)
TOP_FILES = SqlTable(
    name="work.top_files",
    amounts=EDITS | UNDONE | CONVERSATIONS,
    keys=("path",),
    by=("c.path",),
    of=" of {}",
    source=EDIT_SOURCE,
    where="c.path IS NOT NULL",
)
LANGUAGES = SqlTable(
    name="work.languages",
    amounts=EDITS | FILES,
    keys=("name",),
    by=("c.language",),
    of=" in {}",
    source=EDIT_SOURCE,
    where="c.language IS NOT NULL",
)

# Files that a search only listed, or a tool only named, were not worked with.
IMPORTANT_FILES = SqlTable(
    name="work.important_files",
    amounts={
        "conversations": Amount("c.conversation", "Conversations that touched a file", DISTINCT, head="Conversations"),
        "turns": Amount("(c.conversation << 32) + c.turn", "Turns that touched a file", DISTINCT, head="Turns"),
        "touches": Amount("1", "Touches of a file", head="Touches"),
        "changes": Amount(
            "f.action IN ('edited', 'created', 'deleted', 'renamed')", "Touches that changed a file", head="Changes"
        ),
    },
    keys=("path",),
    by=(one_path("f.path"),),
    of=": {}",
    source=f"""
        temp.chosen AS k CROSS JOIN file_touch AS f ON f.conversation = k.conversation
        CROSS JOIN temp.chosen_turn AS c ON c.conversation = f.conversation AND c.turn = coalesce(f.turn, {NO_TURN})
    """,
    where="f.action NOT IN ('found', 'searched', 'named')"
    " AND ifnull(f.outcome, '') NOT IN ('failed', 'denied', 'skipped', 'cancelled')",
)

# --- turns ----------------------------------------------------------------------------------------------------------

_KNOWN_ENDS = "('complete', 'cancelled', 'failed')"
TURN_FIGURES = SqlTable(
    name="work",
    source=CHOSEN_TURNS,
    amounts={
        "turns": Amount("1", "Turns"),
        "completed": Amount("t.status = 'complete'", "Turns that ended completed"),
        "cancelled": Amount("t.status = 'cancelled'", "Turns that ended cancelled"),
        "failed": Amount("t.status = 'failed'", "Turns that ended failed"),
        "unknown_ends": Amount(f"coalesce(t.status, '') NOT IN {_KNOWN_ENDS}", "Turns whose end is not known"),
        "retried": Amount("t.is_retry", "Turns that asked the same again"),
        "votes_up": Amount("t.vote > 0", "Turns that were voted up"),
        "votes_down": Amount("t.vote < 0", "Turns that were voted down"),
        "elapsed_ms": Amount("t.elapsed_ms", "Elapsed time of turns", REAL_SUM, "ms"),
        "working_ms": Amount("t.working_ms", "Working time of turns", REAL_SUM, "ms"),
        "waiting_ms": Amount("t.waited_ms", "Time that turns waited for the user", REAL_SUM, "ms"),
        "timed_turns": Amount("t.elapsed_ms IS NOT NULL", "Turns whose elapsed time is known"),
        "working_turns": Amount("t.working_ms IS NOT NULL", "Turns whose working time is known"),
    },
)


def first_line(text: str) -> str:
    """Return the first line of an error or a reason, shortened if it is long. Texts are grouped by it."""
    line = " ".join(text.strip().partition("\n")[0].split())
    return line if len(line) <= LONGEST_NAME else line[: LONGEST_NAME - 1] + "…"


def _by_first_line(name: str, text: str, where: str, of: str) -> SqlTable:
    return SqlTable(
        name=name,
        amounts={"times": Amount("1", "Turns", head="Turns")},
        keys=("name",),
        by=(text,),
        of=of,
        fold=first_line,
        source=CHOSEN_TURNS,
        where=f"{where} AND {text} <> ''",
    )


VOTE_REASONS = _by_first_line("work.vote_reasons", "t.vote_reason", "t.vote IS NOT NULL", " that were voted down: {}")
# A cancelled turn has an error record, too, but did not fail.
ERRORS = _by_first_line(
    "work.errors", "coalesce(nullif(t.error_code, ''), t.error)", "t.status IS NOT 'cancelled'", " that failed with {}"
)


def work(chosen: Chosen, *, limit: int | None = 20) -> WorkSection:
    """Return the outcomes of the chosen turns."""
    edits, top_files, languages = _edits(chosen, limit)
    (turns,) = TURN_FIGURES.sums(chosen)
    del turns["unknown_ends"]  # a reader can compute it from the others
    return WorkSection(
        **edits,
        **turns,
        top_files=top_files,
        important_files=important_files(chosen, limit=limit),
        languages=languages,
        vote_reasons=_counts(chosen, VOTE_REASONS)[:limit],
        errors=_counts(chosen, ERRORS)[:limit],
        references=references(chosen, limit=limit),
    )


def important_files(chosen: Chosen, *, limit: int | None = 20) -> list[TouchedFileRow]:
    """Return the files that conversations worked with, those of the most conversations first."""
    rows = IMPORTANT_FILES.sums(chosen, order="conversations DESC, changes DESC, touches DESC, 1", limit=limit)
    return [TouchedFileRow(**row) for row in rows]


def _edits(chosen: Chosen, limit: int | None) -> tuple[dict[str, Any], list[FileRow], list[LanguageRow]]:
    """Return all figures of edits. The edits are selected once, into a temporary table."""
    chosen.connection.execute("DROP TABLE IF EXISTS temp.counted_edit")
    chosen.connection.execute(f"CREATE TEMP TABLE counted_edit AS {COUNTED_EDITS}")
    source = "temp.counted_edit AS c"
    try:
        (edits,) = EDIT_FIGURES.sums(chosen, source=source)
        files = TOP_FILES.sums(chosen, source=source, order="edits DESC, 1", limit=limit)
        languages = LANGUAGES.sums(chosen, source=source, order="edits DESC, 1", limit=limit)
    finally:
        chosen.connection.execute("DROP TABLE temp.counted_edit")
    if not edits["edits"]:
        edits |= {"added": 0, "removed": 0}  # no edits: the sums are 0, not unknown
    return edits, [FileRow(**row) for row in files], [LanguageRow(**row) for row in languages]


def _counts(chosen: Chosen, table: SqlTable) -> list[CountRow]:
    """Return the texts of a table by their first line, with how often each occurs, most frequent first."""
    counts: Counter[str] = Counter()
    for name, times in table.grouped(chosen, *table.by):
        counts[first_line(name)] += times
    ordered = sorted((-times, name) for name, times in counts.items() if name)
    return [CountRow(name=name, times=-negative) for negative, name in ordered]
