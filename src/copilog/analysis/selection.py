"""Select what is measured: the conversations of a selection, and their turns within its period.

    chosen        the conversations
    chosen_turn   their turns, with day, hour, weekday and outcome; and turn -1, to which facts without a turn belong
    renamed       earlier names of custom agents, with the present one

They are temporary tables, so that every figure is one join away: nothing is written to the archive. A period applies
to turns, other filters to entire conversations. A conversation that was continued under another id repeats the turns
of the first; such copies are left out, so that no turn is measured twice. So are superseded turns.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Any

import msgspec

from copilog.analysis.plans import Plan
from copilog.analysis.renames import TABLE, renames
from copilog.store.match_candidates import SHORTEST_UNIQUE_ID
from copilog.store.schema import UNANSWERED, turn_at
from copilog.store.selection import Selection, where
from copilog.store.times import text_of

if TYPE_CHECKING:
    from copilog.store.archive import Archive

__all__ = ["NO_TURN", "Chosen", "Selection", "choose"]

NO_TURN = -1
TABLES = ("chosen", "chosen_turn", "renamed")


class Chosen:
    """A selection, prepared for measuring."""

    def __init__(self, archive: Archive, selection: Selection, now: datetime, *, is_whole: bool, plan: Plan) -> None:
        self._archive = archive
        self.connection = archive.connection
        self.plan = plan
        self.selection = selection
        self.now = now
        self._has_outcomes = False
        self.is_whole = is_whole  # all turns of the conversations: no period, no copies
        self.conversations = self._count("SELECT count(*) FROM chosen")
        self.turns = self._count("SELECT count(*) FROM chosen_turn WHERE is_turn")

    def note_outcomes(self) -> None:
        """Fill `chosen_turn.outcome`, once."""
        if not self._has_outcomes:
            _note_outcomes(self.connection)
            self._has_outcomes = True

    @property
    def has_period(self) -> bool:
        return self.selection.since is not None or self.selection.until is not None

    @property
    def today(self) -> date:
        """Return the present day in the zone of the selection."""
        return self.now.astimezone(self.selection.zone).date()

    def midnight(self, day: date) -> datetime:
        """Return when a day begins in the zone of the selection."""
        begin = datetime.combine(day, time())
        zone = self.selection.zone
        return begin.replace(tzinfo=zone) if zone is not None else begin.astimezone()

    @contextmanager
    def in_period(self, since: datetime, until: datetime) -> Iterator[Chosen]:
        """Choose the same conversations in another period, for as long as the context lasts."""
        other = msgspec.structs.replace(self.selection, since=since, until=until)
        for table in TABLES:
            self.connection.execute(f"ALTER TABLE temp.{table} RENAME TO {table}_aside")
        try:
            yield choose(self._archive, other, now=self.now, plan=self.plan)
        finally:
            for table in TABLES:
                self.connection.execute(f"DROP TABLE IF EXISTS temp.{table}")
                self.connection.execute(f"ALTER TABLE temp.{table}_aside RENAME TO {table}")

    def _count(self, sql: str) -> int:
        (count,) = self.connection.execute(sql).fetchone()
        return int(count)


def choose(
    archive: Archive,
    selection: Selection | None = None,
    *,
    now: datetime | None = None,
    plan: Plan | None = None,
) -> Chosen:
    """Make a selection the one that figures are taken of. The last one made on an archive counts."""
    selection = selection if selection is not None else Selection()
    connection = archive.connection
    _make_tables(connection)
    _choose_conversations(archive, selection)
    is_whole = _choose_turns(connection, selection)
    return Chosen(archive, selection, now or datetime.now(UTC), is_whole=is_whole, plan=plan or Plan())


def _make_tables(connection: sqlite3.Connection) -> None:
    connection.executescript(
        """
        DROP TABLE IF EXISTS temp.chosen;
        DROP TABLE IF EXISTS temp.chosen_turn;
        DROP TABLE IF EXISTS temp.renamed;
        CREATE TEMP TABLE chosen (
            conversation INTEGER PRIMARY KEY, id TEXT, title TEXT, workspace TEXT, repository TEXT, branch TEXT,
            source TEXT, at TEXT
        );
        CREATE TEMP TABLE chosen_turn (
            conversation INTEGER, turn INTEGER, at TEXT, day TEXT, hour INTEGER, weekday INTEGER, is_turn INTEGER,
            outcome TEXT, PRIMARY KEY (conversation, turn)
        ) WITHOUT ROWID;
        """
    )
    connection.execute(TABLE)
    names = renames(connection)
    _execute_many(connection, "INSERT INTO temp.renamed VALUES (?, ?)", list(names.items()))


def _choose_conversations(archive: Archive, selection: Selection) -> None:
    # Which turns a period leaves out is decided turn by turn.
    whole = msgspec.structs.replace(archive.with_id(selection), since=None, until=None)
    condition, parameters = where(archive.connection, whole)
    columns = (
        "c.rowid, c.id, c.title, c.workspace, c.repository, c.branch, c.source, coalesce(c.updated_at, c.started_at)"
    )
    sql = f"INSERT INTO temp.chosen SELECT {columns} FROM conversation AS c WHERE {condition}"  # noqa: S608
    _execute(archive.connection, sql, parameters)


def _choose_turns(connection: sqlite3.Connection, selection: Selection) -> bool:
    """Fill `chosen_turn`, and return whether it has all turns of the chosen conversations."""
    period, parameters = _period(selection)
    zone = "" if selection.zone is UTC else ", 'localtime'"
    # SQLite counts weekdays from Sunday. Without MATERIALIZED, it would read the clock once for each column.
    _execute(
        connection,
        f"""
        INSERT INTO temp.chosen_turn
        WITH found AS (
            SELECT t.conversation, t.position AS turn, {turn_at("c.at")} AS at, 1 AS is_turn
            FROM temp.chosen AS c JOIN turn AS t ON t.conversation = c.conversation WHERE t.superseded IS NULL
            UNION ALL
            SELECT conversation, {NO_TURN}, at, 0 FROM temp.chosen
        ),
        timed AS MATERIALIZED (SELECT *, strftime('%w%H%Y-%m-%d', at{zone}) AS clock FROM found {period})
        SELECT conversation, turn, at, substr(clock, 4), CAST(substr(clock, 2, 2) AS INTEGER),
               (CAST(substr(clock, 1, 1) AS INTEGER) + 6) % 7, is_turn, NULL
        FROM timed
        """,  # noqa: S608
        parameters,
    )
    has_copies = _leave_out_copies(connection)
    has_copies = _leave_out_copies_of_parents(connection) or has_copies
    if period:
        _execute(
            connection,
            "DELETE FROM temp.chosen WHERE conversation NOT IN (SELECT conversation FROM temp.chosen_turn)",
            [],
        )
    return not period and not has_copies


def _note_outcomes(connection: sqlite3.Connection) -> None:
    """Note what became of each turn: failed, cancelled, undone, asked again, kept; NULL where nothing says so.

    A turn whose edits were undone in part is undone if more of them were undone than kept.
    """
    _execute(
        connection,
        f"""
        UPDATE temp.chosen_turn AS c SET outcome = found.outcome FROM (
            SELECT t.conversation, t.position,
                   CASE WHEN t.status IN {UNANSWERED} THEN t.status
                        WHEN coalesce(e.undone, 0) > coalesce(e.kept, 0) THEN 'undone'
                        WHEN after.is_retry THEN 'asked again'
                        WHEN e.kept THEN 'kept' END AS outcome
            FROM temp.chosen AS v CROSS JOIN turn AS t ON t.conversation = v.conversation
            LEFT JOIN turn AS after ON after.conversation = t.conversation AND after.position = t.position + 1
            LEFT JOIN (
                SELECT f.conversation, f.turn, sum(f.fate = 'undone') AS undone,
                       sum(f.fate IN ('kept', 'changed')) AS kept
                FROM temp.chosen AS w CROSS JOIN file_edit AS f ON f.conversation = w.conversation
                WHERE f.fate IS NOT NULL AND f.is_counted GROUP BY 1, 2
            ) AS e ON e.conversation = t.conversation AND e.turn = t.position
            WHERE t.superseded IS NULL
        ) AS found
        WHERE found.conversation = c.conversation AND found.position = c.turn AND found.outcome IS NOT NULL
        """,  # noqa: S608 - a constant
        [],
    )


def _period(selection: Selection) -> tuple[str, list[Any]]:
    wanted = [
        (f"at {sign} ?", text_of(moment))
        for sign, moment in ((">=", selection.since), ("<", selection.until))
        if moment is not None
    ]
    where = " AND ".join(condition for condition, _ in wanted)
    return (f"WHERE {where}" if where else ""), [value for _, value in wanted]


def _leave_out_copies(connection: sqlite3.Connection) -> bool:
    """Leave out turns that several of the conversations have, except in the conversation that began first.

    A copy has the same id and the same time. Without a time the id must be a long one, as short ones may be counted
    from one in every conversation. Return whether there were any.
    """
    has_copies = False
    repeated = connection.execute(
        "SELECT request_id, started_at FROM turn"
        " WHERE request_id IS NOT NULL AND superseded IS NULL AND (started_at IS NOT NULL OR length(request_id) >= ?)"
        " GROUP BY request_id, started_at HAVING min(conversation) <> max(conversation)",
        (SHORTEST_UNIQUE_ID,),
    ).fetchall()
    for key in repeated:
        rows = connection.execute(
            "SELECT t.conversation, t.position FROM turn AS t JOIN conversation AS c ON c.rowid = t.conversation"
            " JOIN temp.chosen AS v ON v.conversation = t.conversation"
            " WHERE t.request_id = ? AND t.started_at IS ? AND t.superseded IS NULL"
            " ORDER BY c.started_at IS NULL, c.started_at, c.rowid",
            key,
        ).fetchall()
        copies = [row for row in rows if row[0] != rows[0][0]]
        _execute_many(connection, "DELETE FROM temp.chosen_turn WHERE conversation = ? AND turn = ?", copies)
        has_copies = has_copies or bool(copies)
    return has_copies


def _leave_out_copies_of_parents(connection: sqlite3.Connection) -> bool:
    """Leave out the turns that forks are recorded to have copied, if the original ones are measured."""
    copies = connection.execute(
        "SELECT f.conversation, f.position FROM turn AS f"
        " JOIN temp.chosen AS v ON v.conversation = f.conversation"
        " JOIN conversation AS parent ON parent.id = f.copied_from"
        " JOIN temp.chosen AS w ON w.conversation = parent.rowid"
        " WHERE f.copied_from IS NOT NULL AND EXISTS (SELECT 1 FROM turn AS p"
        " WHERE p.conversation = parent.rowid AND p.prompt IS f.prompt AND p.superseded IS NULL)"
    ).fetchall()
    _execute_many(connection, "DELETE FROM temp.chosen_turn WHERE conversation = ? AND turn = ?", copies)
    return bool(copies)


def _execute(connection: sqlite3.Connection, sql: str, parameters: list[Any]) -> None:
    _execute_many(connection, sql, [tuple(parameters)])


def _execute_many(connection: sqlite3.Connection, sql: str, rows: list[tuple[Any, ...]]) -> None:
    """Change temporary tables, without a transaction, for which Python would lock the archive."""
    level = connection.isolation_level
    connection.isolation_level = None
    try:
        connection.executemany(sql, rows)
    finally:
        connection.isolation_level = level
