"""Select what is measured: the conversations of a selection, and their turns within its period.

    chosen        the conversations
    chosen_turn   their turns, with day, hour and weekday; and turn -1, to which facts without a turn belong
    renamed       earlier names of custom agents, with the present one

They are temporary tables, so that every figure is one join away: nothing is written to the archive. A period applies
to turns, other filters to entire conversations. A conversation that was continued under another id repeats the turns
of the first; such copies are left out, so that no turn is measured twice. So are superseded turns, except in the bill,
for which `billed` has the conversations and `billed_turn` the turns (`bill`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING

import msgspec

from copilog.analysis.bill import fill_bill
from copilog.analysis.chosen_tables import (
    NO_TURN,
    OF_CONVERSATION,
    TABLES,
    execute,
    execute_many,
    make_tables,
    put_turns,
)
from copilog.analysis.plans import Plan
from copilog.analysis.renames import renames
from copilog.store.schema import SHORTEST_UNIQUE_ID, turn_at
from copilog.store.selection import Selected, Selection, where

if TYPE_CHECKING:
    from copilog.store.archive import Archive

__all__ = ["NO_TURN", "Chosen", "Selection", "choose"]


class Chosen:
    """A selection, prepared for measuring."""

    def __init__(self, archive: Archive, selection: Selection, now: datetime, *, is_whole: bool, plan: Plan) -> None:
        self._archive = archive
        self.connection = archive.connection
        self.plan = plan
        self.selection = selection
        self.now = now
        self._has_bill = False
        self.is_whole = is_whole  # all turns of the conversations: no period, no copies
        self.conversations = self._count("SELECT count(*) FROM chosen")
        self.turns = self._count("SELECT count(*) FROM chosen_turn WHERE is_turn")

    def note_bill(self) -> None:
        """Fill `billed_turn`, once."""
        if not self._has_bill:
            fill_bill(self.connection, self.selection)
            self._has_bill = True

    def billed_turns(self) -> int:
        """Return the number of turns in the bill: those that count, and superseded ones."""
        self.note_bill()
        return self._count("SELECT count(*) FROM billed_turn WHERE turn >= 0")

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
    make_tables(connection)
    execute_many(connection, "INSERT INTO temp.renamed VALUES (?, ?)", list(renames(connection).items()))
    _choose_conversations(archive, selection)
    is_whole = _choose_turns(connection, selection)
    return Chosen(archive, selection, now or datetime.now(UTC), is_whole=is_whole, plan=plan or Plan())


def _choose_conversations(archive: Archive, selection: Selection) -> None:
    # Which turns a period leaves out is decided turn by turn.
    whole = msgspec.structs.replace(archive.with_id(selection), since=None, until=None, include_empty=True)
    condition, parameters = where(archive.connection, whole)
    is_listed = Selected(archive.connection, Selection(include_empty=selection.include_empty)).base
    columns = (
        "c.rowid, c.id, c.title, c.workspace, c.repository, c.branch, c.source, coalesce(c.updated_at, c.started_at)"
    )
    sql = f"INSERT INTO temp.billed SELECT {columns}, {is_listed} FROM conversation AS c WHERE {condition}"  # noqa: S608
    execute(archive.connection, sql, parameters)
    listed = f"SELECT {OF_CONVERSATION} FROM temp.billed WHERE is_listed"  # noqa: S608 - names of our own
    execute(archive.connection, f"INSERT INTO temp.chosen {listed}")


def _choose_turns(connection: sqlite3.Connection, selection: Selection) -> bool:
    """Fill `chosen_turn`, and return whether it has all turns of the chosen conversations."""
    columns = (
        "conversation, turn, at, substr(clock, 4), CAST(substr(clock, 2, 2) AS INTEGER),"
        " (CAST(substr(clock, 1, 1) AS INTEGER) + 6) % 7, is_turn"
    )
    turns = f"""
        SELECT t.conversation, t.position AS turn, {turn_at("c.at")} AS at, 1 AS is_turn
        FROM temp.chosen AS c JOIN turn AS t ON t.conversation = c.conversation WHERE t.superseded IS NULL
        UNION ALL
        SELECT conversation, {NO_TURN}, at, 0 FROM temp.chosen
    """  # noqa: S608 - a number of our own
    put_turns(connection, selection, "chosen_turn", columns, turns)
    has_copies = _leave_out_copies(connection)
    has_copies = _leave_out_copies_of_parents(connection) or has_copies
    has_period = selection.since is not None or selection.until is not None
    if has_period:
        unused = "conversation NOT IN (SELECT conversation FROM temp.chosen_turn)"
        execute(connection, f"DELETE FROM temp.chosen WHERE {unused}")  # noqa: S608
    return not has_period and not has_copies


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
        execute_many(connection, "DELETE FROM temp.chosen_turn WHERE conversation = ? AND turn = ?", copies)
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
    execute_many(connection, "DELETE FROM temp.chosen_turn WHERE conversation = ? AND turn = ?", copies)
    return bool(copies)
