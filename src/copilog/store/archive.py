"""Provide the archive to programs: store, list, read, search and annotate conversations.

with copilog.open() as archive:
    for summary in archive.list(workspace="tide-tables", limit=5):
        print(summary.title, len(archive.get(summary.id).messages))
"""

from __future__ import annotations

import builtins
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from copilog.errors import UsageError
from copilog.jsonio import replace_lone_surrogates
from copilog.store import annotations as added
from copilog.store import indexing, ledgers, summary
from copilog.store.database import ArchiveError, archive_path, fault_of, open_database
from copilog.store.schema import ROWS_VERSION
from copilog.store.selection import Selection, selection_of
from copilog.store.summary import Summary
from copilog.store.times import now

if TYPE_CHECKING:
    from types import TracebackType

    from copilog.diagnostics import Ledger
    from copilog.model import Conversation
    from copilog.store.entries import Entry
    from copilog.store.ledgers import Problem, StoredLedger
    from copilog.store.search import SearchResult
    from copilog.store.similar import Similar
    from copilog.store.writing import Outcome

CLOSING_SECONDS = 1.0  # to make checksums for; the rest is for the next process
SHOWN_IDS = 5  # examples to show for an ambiguous id


def open_archive(path: Path | str | None = None, *, write: bool = False) -> Archive:
    """Open the named archive, else that of COPILOG_ARCHIVE, else the user's own; read-only by default."""
    return Archive(archive_path(Path(path) if path is not None else None), write=write)


class Archive:
    """One SQLite file with all conversations. Use `connection` for queries that have no method."""

    def __init__(self, path: Path, *, write: bool = False) -> None:
        self.path = path
        self.is_writable = write
        self.connection: sqlite3.Connection = open_database(path, write=write)

    def close(self) -> None:
        if self.is_writable:
            with suppress(sqlite3.Error, ArchiveError):  # a lock, a damaged or closed file; the next one seals it
                self.seal(CLOSING_SECONDS)
        self.connection.close()

    def seal(self, seconds: float | None = None) -> None:
        """Store checksums of what was written, for `check`."""
        from copilog.store.checksums import is_sealed, seal

        if not is_sealed(self.connection):
            seal(self.connection, seconds)

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        reason = fault_of(error, self.path)
        if reason is not None:
            raise ArchiveError(reason) from error

    # --- what a scan puts in -------------------------------------------------------------------------------------

    def put(self, entry: Entry, signature: str, let_go: Collection[str] = (), *, is_united: bool = False) -> Outcome:
        """Store a conversation in one transaction. Searches find its texts after the next `index_pending`."""
        from copilog.store.writing import put

        return put(self.connection, entry, signature, let_go, is_united=is_united)

    def index_pending(self, limit_bytes: int | None = None, *, finish: bool = True) -> int:
        """Update the full-text index; return how many conversations were pending. `finish=False`: more will follow."""
        return indexing.index_pending(self.connection, limit_bytes, finish=finish)

    def rebuild_rows(self) -> int:
        """Make rows again if an earlier version of copilog made them, or if they list an abandoned call as running.

        Return the number of these conversations.
        """
        (oldest,) = self.connection.execute("SELECT min(rows_version) FROM conversation").fetchone()
        has_running = self.connection.execute("SELECT 1 FROM tool_call WHERE outcome = 'running' LIMIT 1").fetchone()
        if oldest is None or (oldest >= ROWS_VERSION and not has_running):
            return 0
        from copilog.store.rebuilding import rebuild_rows

        return rebuild_rows(self.connection)

    def recalibrate(self) -> None:
        """Update estimates if conversations that they are calibrated by were added, changed or removed."""
        from copilog.store.calibration import is_settled

        if is_settled(self.connection):
            return
        from copilog.store.calibrating import recalibrate

        recalibrate(self.connection)

    def has_pending(self) -> bool:
        """Return whether some stored text is not in the full-text index yet."""
        return indexing.has_pending(self.connection)

    def put_ledgers(self, made: Iterable[Ledger]) -> None:
        """Store the ledgers of files that were read."""
        ledgers.put_ledgers(self.connection, made, now())

    def put_ledger(self, ledger: Ledger) -> None:
        self.put_ledgers([ledger])

    def mark_gone(self, ids: Iterable[str]) -> builtins.list[str]:
        """Mark conversations whose files no longer exist; return those that were not marked before."""
        return ledgers.mark_gone(self.connection, ids, now())

    def signature_of(self, conversation_id: str) -> str | None:
        row = self.connection.execute("SELECT signature FROM conversation WHERE id = ?", (conversation_id,)).fetchone()
        return str(row[0]) if row else None

    def digest_of(self, conversation_id: str) -> bytes | None:
        """Return the digest of the stored document."""
        row = self.connection.execute("SELECT digest FROM conversation WHERE id = ?", (conversation_id,)).fetchone()
        return bytes(row[0]) if row else None

    def signatures(self) -> dict[str, str]:
        """Return, by id, the state of the files that each conversation was read from."""
        return dict(self.connection.execute("SELECT id, signature FROM conversation").fetchall())

    # --- what is there -------------------------------------------------------------------------------------------

    def get(self, wanted: str) -> Conversation:
        """Return a conversation, by its id or a unique prefix of it."""
        from copilog.store.documents import stored_conversation
        from copilog.store.prompts import histories_of

        conversation_id = self.find_id(wanted)
        (rowid,) = self.connection.execute("SELECT rowid FROM conversation WHERE id = ?", (conversation_id,)).fetchone()
        conversation = stored_conversation(self.connection, rowid)
        if conversation is None:
            raise UsageError(f"{conversation_id} has just been removed by another process")
        found = histories_of(self.connection, conversation_id)
        conversation.relations += [relation for relation in found if relation not in conversation.relations]
        return conversation

    def find_id(self, wanted: str) -> str:
        """Resolve an id or its prefix to one conversation; raise UsageError if there is none, or more than one."""
        wanted = replace_lone_surrogates(wanted)
        ids = _ids_like(self.connection, wanted) or _merged_ids_like(self.connection, wanted)
        if len(ids) == 1:
            return ids[0]
        if ids:
            named = ", ".join(ids[:SHOWN_IDS]) + (", ..." if len(ids) > SHOWN_IDS else "")
            raise UsageError(f"{wanted!r} matches {len(ids):,} conversations: {named}; type more of the id")
        near = _similar_ids(self.connection, wanted)
        hint = f"the nearest are {', '.join(near)}" if near else "`copilog list` shows all conversations"
        raise UsageError(f"no conversation has an id that begins with {wanted!r}; {hint}")

    def list(self, *, limit: int | None = None, offset: int = 0, **filters: Any) -> builtins.list[Summary]:
        """Return conversations, newest first. The filters are fields of `Selection`: workspace, model, since, ..."""
        return self.list_selected(selection_of(**filters), limit, offset)

    def list_selected(self, selection: Selection, limit: int | None = None, offset: int = 0) -> builtins.list[Summary]:
        """Return the conversations of a selection, newest first."""
        return summary.list_summaries(self.connection, self.with_id(selection), limit, offset)

    def collections(self) -> builtins.list[str]:
        """Return the ids of the memories that belong to no conversation, which no list has."""
        from copilog.store.rows import NO_CONVERSATION

        rows = self.connection.execute("SELECT id FROM conversation WHERE is_empty = ? ORDER BY id", (NO_CONVERSATION,))
        return [name for (name,) in rows.fetchall()]

    def with_id(self, selection: Selection) -> Selection:
        """Return the selection with the full id of the conversation that it names, if any."""
        if selection.conversation is None:
            return selection
        return msgspec.structs.replace(selection, conversation=self.find_id(selection.conversation))

    def count(self, **filters: Any) -> int:
        """Return how many conversations `list` would return without a limit."""
        return summary.count_summaries(self.connection, self.with_id(selection_of(**filters)))

    def summaries(self, ids: Sequence[str]) -> dict[str, Summary]:
        """Return the summaries of these ids, as far as they are stored."""
        return summary.summaries_of(self.connection, builtins.list(ids))

    def count_messages(self, ids: Iterable[str]) -> int:
        """Return the number of messages of these conversations; a part counts as its merged conversation."""
        (count,) = self.connection.execute(
            "SELECT coalesce(sum(messages), 0) FROM conversation WHERE id IN "
            "(SELECT value FROM json_each(?1) UNION ALL "
            "SELECT whole FROM part WHERE +id IN (SELECT value FROM json_each(?1)))",
            (msgspec.json.encode(builtins.list(ids)).decode(),),
        ).fetchone()
        return int(count)

    def ids_at(self, paths: Iterable[str]) -> builtins.list[str]:
        """Return the conversations that were read from these files."""
        stored = [replace_lone_surrogates(path) for path in paths]  # as traces spell them
        rows = self.connection.execute(
            "SELECT DISTINCT conversation.id FROM trace JOIN conversation ON conversation.rowid = trace.conversation "
            "WHERE trace.path IN (SELECT value FROM json_each(?))",
            (msgspec.json.encode(stored).decode(),),
        )
        return [name for (name,) in rows]

    def paths_of(self, ids: Iterable[str]) -> builtins.list[str]:
        """Return the files that these conversations were read from."""
        rows = self.connection.execute(
            "SELECT DISTINCT trace.path FROM trace JOIN conversation ON conversation.rowid = trace.conversation "
            "WHERE conversation.id IN (SELECT value FROM json_each(?))",
            (msgspec.json.encode(builtins.list(ids)).decode(),),
        )
        return [path for (path,) in rows]

    def search(self, query: str, **options: Any) -> SearchResult:
        """Return matching messages, best first; the query language is that of `copilog search`."""
        from copilog.store.search import search

        if self.is_writable and self.has_pending():
            self.index_pending()
        return search(self.connection, query, **options)

    def similar(self, wanted: str, *, limit: int = 10) -> builtins.list[Similar]:
        """Return the conversations related to one, by its id or a unique prefix of it, or else to a text."""
        from copilog.store.similar import similar_to, similar_to_text

        if self.is_writable and self.has_pending():
            self.index_pending()
        try:
            conversation_id = self.find_id(wanted)
        except UsageError:
            if _ids_like(self.connection, wanted):  # several
                raise
            return similar_to_text(self.connection, wanted, limit)
        return similar_to(self.connection, conversation_id, limit)

    def problems(self, **filters: Any) -> builtins.list[Problem]:
        """Return the diagnostics of files; filter by path, source, level, code, include_gone, limit."""
        return ledgers.problems(self.connection, **filters)

    def ledger_totals(self) -> StoredLedger:
        """Return the sum of the ledgers of all existing files."""
        return ledgers.ledger_totals(self.connection)

    # --- what a person adds and takes away -----------------------------------------------------------------------

    def star(self, wanted: str, on: bool = True) -> str:
        """Set or remove the star; return the id, as the other annotation methods do."""
        conversation_id = self.find_id(wanted)
        added.star(self.connection, conversation_id, on)
        return conversation_id

    def label(self, wanted: str, *names: str) -> str:
        conversation_id = self.find_id(wanted)
        added.label(self.connection, conversation_id, names)
        return conversation_id

    def unlabel(self, wanted: str, *names: str) -> str:
        """Remove labels; all of them if none is named."""
        conversation_id = self.find_id(wanted)
        added.unlabel(self.connection, conversation_id, names)
        return conversation_id

    def note(self, wanted: str, text: str | None) -> str:
        """Replace the note; None or an empty text removes it."""
        conversation_id = self.find_id(wanted)
        added.note(self.connection, conversation_id, text)
        return conversation_id

    def labels(self) -> dict[str, int]:
        """Return all labels in use, with their counts."""
        return added.labels(self.connection)

    def remove(self, wanted: str) -> str:
        """Delete a conversation and leave a tombstone, so that no scan stores it again."""
        from copilog.store.writing import remove

        conversation_id = self.find_id(wanted)
        remove(self.connection, conversation_id)
        return conversation_id

    def removed(self) -> dict[str, str]:
        """Return the ids of removed conversations, with the time of removal."""
        return added.removed(self.connection)

    def restore(self, wanted: str) -> str:
        """Delete the tombstone: the next scan stores the conversation again, if its files still exist."""
        return added.restore(self.connection, replace_lone_surrogates(wanted))

    def vacuum(self) -> tuple[int, int]:
        """Free and wipe the space of deleted data, and delete kept copies; return the bytes before and after."""
        from copilog.store.keeping import forget_copies

        forget_copies(self.path)
        before = _size_on_disk(self.path)
        self.index_pending()
        indexing.optimise(self.connection)
        self.connection.execute("PRAGMA temp_store = FILE")  # the archive may not fit into memory
        self.connection.execute("VACUUM")
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.connection.execute("PRAGMA temp_store = MEMORY")
        return before, _size_on_disk(self.path)

    # --- the archive itself ----------------------------------------------------------------------------------------

    def arrow(self, view: str) -> Any:
        """Return a view of the archive (`conversations`, `messages`, `tool_calls`, ...) as a pyarrow.Table."""
        from copilog.store import frames

        return frames.arrow(frames.columns_of_view(self.connection, view))

    def polars(self, view: str) -> Any:
        """Return a view of the archive as a polars.DataFrame."""
        from copilog.store import frames

        return frames.polars(frames.columns_of_view(self.connection, view))

    def pandas(self, view: str) -> Any:
        """Return a view of the archive as a pandas.DataFrame."""
        from copilog.store import frames

        return frames.pandas(frames.columns_of_view(self.connection, view))

    def fingerprint(self) -> str:
        """Return a digest of the archive's content: equal for archives of the same conversations."""
        from copilog.store.checking import fingerprint

        return fingerprint(self.connection)

    def check(self) -> builtins.list[str]:
        """Return the faults of the file, of what it holds, or of its index; empty for a sound archive."""
        from copilog.store.checking import check

        return check(self.connection)

    def look_after(self, seconds: float, *, has_changed: bool) -> str | None:
        """Seal what was written; after changes, check a sample and copy what cannot be made again. Return a fault."""
        self.seal(seconds)
        if not has_changed:
            return None
        from copilog.store.checking import sampled_fault
        from copilog.store.keeping import keep_copy

        found = sampled_fault(self.connection)
        keep_copy(self.connection, self.path)
        return None if found is None else str(found)


def _ids_like(connection: sqlite3.Connection, wanted: str) -> builtins.list[str]:
    """Return the ids equal to a text, else those that begin with it, with or without the part before the colon."""
    if not wanted:
        return []
    exact = connection.execute("SELECT id FROM conversation WHERE id = ?1 OR native_id = ?1", (wanted,)).fetchall()
    if len(exact) == 1:
        return [exact[0][0]]
    rows = connection.execute(
        "SELECT id FROM conversation WHERE id >= ?1 AND id < ?1 || char(1114111) "
        "UNION SELECT id FROM conversation WHERE native_id >= ?1 AND native_id < ?1 || char(1114111) "
        # An export has no native id: its id is made of its content.
        "UNION SELECT id FROM conversation WHERE native_id IS NULL "
        "AND substr(id, instr(id, ':') + 1, length(?1)) = ?1",
        (wanted,),
    ).fetchall()
    if not rows:  # the id of a remote agent is an address: users see its last part
        rows = connection.execute(
            "SELECT id FROM conversation WHERE instr(native_id, ?) ORDER BY id", (f"/{wanted.rpartition(':')[2]}",)
        ).fetchall()
    return [name for (name,) in rows]


def _merged_ids_like(connection: sqlite3.Connection, wanted: str) -> builtins.list[str]:
    """Return the merged conversations of parts whose id is a text, or begins with it."""
    rows = connection.execute(
        "SELECT DISTINCT whole FROM part JOIN conversation ON conversation.id = whole "
        "WHERE ?1 <> '' AND (instr(part.id, ?1) = 1 OR instr(part.id, ':' || ?1) > 0)",
        (wanted,),
    )
    return [whole for (whole,) in rows]


def _similar_ids(connection: sqlite3.Connection, wanted: str) -> builtins.list[str]:
    """Return similar ids: the neighbours of a text in the order of ids."""
    native = wanted.rpartition(":")[2]
    rows = connection.execute(
        "SELECT id FROM (SELECT id FROM conversation WHERE native_id < ?1 ORDER BY native_id DESC LIMIT 2) "
        "UNION SELECT id FROM (SELECT id FROM conversation WHERE native_id > ?1 ORDER BY native_id LIMIT 2)",
        (native,),
    )
    return [name for (name,) in rows if name.rpartition(":")[2][:2] == native[:2]]


def _size_on_disk(path: Path) -> int:
    files = (path.with_name(path.name + suffix) for suffix in ("", "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())
