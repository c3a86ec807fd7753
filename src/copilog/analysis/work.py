"""What came of conversations: edits and their fate, turns and how they ended, votes, time for work and for waiting."""

from __future__ import annotations

from collections import Counter
from typing import Any

from copilog.analysis.edits import COUNTED_EDITS
from copilog.analysis.figures import CountRow, FileRow, LanguageRow, WorkSection
from copilog.analysis.references import references
from copilog.analysis.selection import Chosen

LONGEST_NAME = 120  # characters of an error or a reason


def work(chosen: Chosen, *, limit: int | None = 20) -> WorkSection:
    """What came of the chosen turns."""
    connection = chosen.connection
    connection.execute("DROP TABLE IF EXISTS temp.counted_edit")
    connection.execute(f"CREATE TEMP TABLE counted_edit AS {COUNTED_EDITS}")
    try:
        edits = _edit_totals(chosen)
        top_files, languages = _top_files(chosen, limit), _languages(chosen, limit)
    finally:
        connection.execute("DROP TABLE temp.counted_edit")
    return WorkSection(
        **edits,
        **_turn_totals(chosen),
        top_files=top_files,
        languages=languages,
        vote_reasons=_counts(chosen, "t.vote_reason", "t.vote IS NOT NULL", limit),
        # That a turn was cancelled is recorded as an error, too; but nothing went wrong.
        errors=_counts(chosen, "coalesce(nullif(t.error_code, ''), t.error)", "t.status IS NOT 'cancelled'", limit),
        references=references(chosen, limit=limit),
    )


def _edit_totals(chosen: Chosen) -> dict[str, Any]:
    return _row(
        chosen,
        """
        SELECT count(*) AS edits, count(DISTINCT path) AS files,
               CASE count(*) WHEN 0 THEN 0 ELSE sum(added) END AS added,
               CASE count(*) WHEN 0 THEN 0 ELSE sum(removed) END AS removed,
               count(*) FILTER (WHERE fate = 'kept') AS kept, count(*) FILTER (WHERE fate = 'undone') AS undone,
               count(*) FILTER (WHERE fate = 'changed') AS changed, count(*) FILTER (WHERE fate = 'pending') AS pending,
               count(*) FILTER (WHERE fate IS NULL) AS undecided
        FROM temp.counted_edit
        """,
    )


def _turn_totals(chosen: Chosen) -> dict[str, Any]:
    return _row(
        chosen,
        """
        SELECT count(*) AS turns,
               count(*) FILTER (WHERE t.status = 'complete') AS completed,
               count(*) FILTER (WHERE t.status = 'cancelled') AS cancelled,
               count(*) FILTER (WHERE t.status = 'failed') AS failed,
               count(*) FILTER (WHERE t.is_retry) AS retried,
               count(*) FILTER (WHERE t.vote > 0) AS votes_up, count(*) FILTER (WHERE t.vote < 0) AS votes_down,
               coalesce(sum(t.elapsed_ms), 0.0) AS elapsed_ms, coalesce(sum(t.working_ms), 0.0) AS working_ms,
               coalesce(sum(t.waited_ms), 0.0) AS waiting_ms, count(t.elapsed_ms) AS timed_turns,
               count(t.working_ms) AS working_turns
        FROM temp.chosen_turn AS c JOIN turn AS t ON t.conversation = c.conversation AND t.position = c.turn
        """,
    )


def _row(chosen: Chosen, sql: str) -> dict[str, Any]:
    """The one row of a query, by the names of its columns."""
    rows = chosen.connection.execute(sql)
    names = [column[0] for column in rows.description]
    return dict(zip(names, rows.fetchone(), strict=True))


def _top_files(chosen: Chosen, limit: int | None) -> list[FileRow]:
    rows = chosen.connection.execute(
        """
        SELECT path, count(*) AS edits, sum(added), sum(removed),
               count(*) FILTER (WHERE fate = 'undone'), count(DISTINCT conversation)
        FROM temp.counted_edit WHERE path IS NOT NULL GROUP BY path ORDER BY edits DESC, path LIMIT ?
        """,
        (_most(limit),),
    )
    return [
        FileRow(path=path, edits=edits, added=added, removed=removed, undone=undone, conversations=conversations)
        for path, edits, added, removed, undone, conversations in rows
    ]


def _languages(chosen: Chosen, limit: int | None) -> list[LanguageRow]:
    rows = chosen.connection.execute(
        """
        SELECT language, count(*) AS edits, count(DISTINCT path), sum(added), sum(removed)
        FROM temp.counted_edit WHERE language IS NOT NULL GROUP BY language ORDER BY edits DESC, language LIMIT ?
        """,
        (_most(limit),),
    )
    return [
        LanguageRow(name=name, edits=edits, files=files, added=added, removed=removed)
        for name, edits, files, added, removed in rows
    ]


def _counts(chosen: Chosen, what: str, where: str, limit: int | None) -> list[CountRow]:
    """How often turns tell each of something, by its first line."""
    rows = chosen.connection.execute(
        f"""
        SELECT {what} AS name, count(*)
        FROM temp.chosen_turn AS c JOIN turn AS t ON t.conversation = c.conversation AND t.position = c.turn
        WHERE {where} AND name <> '' GROUP BY name
        """  # noqa: S608 - names of our own
    )
    counts: Counter[str] = Counter()
    for name, times in rows:
        counts[_first_line(name)] += times
    ordered = sorted((-times, name) for name, times in counts.items() if name)
    return [CountRow(name=name, times=-negative) for negative, name in ordered[:limit]]


def _first_line(text: str) -> str:
    line = " ".join(text.strip().partition("\n")[0].split())
    return line if len(line) <= LONGEST_NAME else line[: LONGEST_NAME - 1] + "…"


def _most(limit: int | None) -> int:
    return -1 if limit is None else limit
