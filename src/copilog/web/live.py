"""Changes of the archive, sent to open pages as server-sent events.

The archive itself shows what has changed, so it does not matter who wrote: the scans of this viewer, `copilog watch` in
another window, or the user who starred a conversation.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from copilog.errors import CopilogError
from copilog.store.archive import Archive

LOOK_SECONDS = 0.4
LOOKS_TO_A_THOROUGH_ONE = 25
SILENCE_SECONDS = 15.0  # before an empty event is sent, by which the server notices that a page was closed
MOST_IDS = 500
RETRY_MS = 2000

State = tuple[int, ...]


class Change(msgspec.Struct, frozen=True):
    """A change: the ids of conversations (not all, if there are very many), and how many of them are new."""

    ids: list[str] = []
    new: int = 0
    count: int = 0
    mark: str = ""  # the time of the last change, from which a page continues


# --- publishing -----------------------------------------------------------------------------------------------------


class Changes:
    """Passes changes to all listeners. Any thread may publish; listeners are in an event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: set[tuple[asyncio.AbstractEventLoop, asyncio.Queue[Change | None]]] = set()
        self._is_closed = False

    def publish(self, change: Change) -> None:
        self._put(change)

    def close(self) -> None:
        """End all listeners, so that the server can end."""
        with self._lock:
            self._is_closed = True
        self._put(None)

    @contextmanager
    def listening(self) -> Iterator[asyncio.Queue[Change | None]]:
        """Return a queue of all changes while the block runs; None in it means the end."""
        queue: asyncio.Queue[Change | None] = asyncio.Queue()
        listener = (asyncio.get_running_loop(), queue)
        with self._lock:
            self._listeners.add(listener)
            if self._is_closed:
                queue.put_nowait(None)
        try:
            yield queue
        finally:
            with self._lock:
                self._listeners.discard(listener)

    def _put(self, change: Change | None) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for loop, queue in listeners:
            try:
                loop.call_soon_threadsafe(queue.put_nowait, change)
            except RuntimeError:  # its loop has ended
                continue


# --- detecting changes ----------------------------------------------------------------------------------------------


_TOUCHED = "max(c.stored_at, coalesce(c.gone_at, ''), coalesce(a.changed_at, ''))"
_FROM = "FROM conversation AS c LEFT JOIN annotation AS a ON a.id = c.id"


def touched_since(archive: Archive, mark: str) -> list[tuple[str, str]]:
    """Return conversations that were stored, deleted or annotated at that time or later, and when; the latest first."""
    query = f"SELECT c.id, {_TOUCHED} AS touched {_FROM} WHERE touched >= ? ORDER BY touched DESC"
    return archive.connection.execute(query, (mark,)).fetchall()


def latest_mark(archive: Archive) -> str:
    """Return the time of the last change; for an empty archive a time before all others."""
    (mark,) = archive.connection.execute(f"SELECT max({_TOUCHED}) {_FROM}").fetchone()
    return mark or "0"


class ChangeDetector:
    """Finds what has changed in an archive since the last check.

    The archive is opened only if its files have changed, and never stays open: it may be moved or replaced.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._state: State = ()
        self._mark: str | None = None
        self._reported: set[tuple[str, str]] = set()  # those that changed at exactly the time of the mark
        self._newest = 0
        self._count = 0

    def look(self, *, is_thorough: bool = False) -> Change | None:
        """Return what has changed; None if nothing has, and the first time. An unreadable archive has not changed.

        A thorough check does not rely on file times, which some systems update late.
        """
        state = _state_of(self._path)
        if state == self._state and not is_thorough:
            return None
        try:
            with Archive(self._path) as archive:
                change = self._changed_in(archive)
        except (CopilogError, OSError, sqlite3.Error):  # it is being created, moved or repaired
            return None
        self._state = state  # of the earlier check: later changes are found by the next one
        return change

    def _changed_in(self, archive: Archive) -> Change | None:
        is_first, before = self._mark is None, self._count
        mark = latest_mark(archive) if self._mark is None else self._mark
        touched = touched_since(archive, mark)
        fresh = [(name, moment) for name, moment in touched if (name, moment) not in self._reported]
        (new,) = archive.connection.execute(
            "SELECT count(*) FROM conversation WHERE rowid > ?", (self._newest,)
        ).fetchone()
        self._newest, self._count = archive.connection.execute(
            "SELECT coalesce(max(rowid), 0), count(*) FROM conversation"
        ).fetchone()
        self._mark = touched[0][1] if touched else mark
        self._reported = {(name, moment) for name, moment in touched if moment == self._mark}
        if is_first or not (fresh or self._count < before):
            return None
        return Change([name for name, _ in fresh[:MOST_IDS]], new, len(fresh), self._mark)


def _state_of(path: Path) -> State:
    """Return sizes and times of the archive and of its log, to which changes are written first."""
    found: list[int] = []
    for file in (path, path.with_name(path.name + "-wal")):
        try:
            status = file.stat()
        except OSError:
            found.append(-1)
        else:
            found += [status.st_ino, status.st_size, status.st_mtime_ns]
    return tuple(found)


class DetectorThread:
    """A thread that checks the archive and publishes changes, until it is stopped."""

    def __init__(self, path: Path, changes: Changes) -> None:
        self._lookout = ChangeDetector(path)
        self._changes = changes
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="copilog lookout", daemon=True)

    def start(self) -> None:
        self._lookout.look()  # from now on, updates count as changes
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        for number in count(1):
            if self._stopped.wait(LOOK_SECONDS):
                return
            change = self._lookout.look(is_thorough=number % LOOKS_TO_A_THOROUGH_ONE == 0)
            if change is not None:
                self._changes.publish(change)


# --- events ---------------------------------------------------------------------------------------------------------


async def _events(request: Request) -> Response:
    """Send `event: changed` with the ids, for as long as the page is open.

    A page that reconnects sends the mark of its last event, and gets later changes at once.
    """
    since = request.headers.get("last-event-id") or request.query_params.get("since")
    return StreamingResponse(_stream(request, since), media_type="text/event-stream")


async def _stream(request: Request, since: str | None) -> AsyncIterator[bytes]:
    viewer = request.app.state.viewer
    yield f"retry: {RETRY_MS}\n\n".encode()
    with viewer.changes.listening() as queue:
        missed = await asyncio.to_thread(missed_since, viewer.settings.archive, since)
        yield event_of("changed" if missed.ids else "ready", missed)
        while True:
            try:
                change = await asyncio.wait_for(queue.get(), SILENCE_SECONDS)
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if change is None:
                return
            yield event_of("changed", change)


def missed_since(path: Path, since: str | None) -> Change:
    """Return the changes after a mark; without a mark, only the current one to continue from."""
    try:
        with Archive(path) as archive:
            if not since:
                return Change(mark=latest_mark(archive))
            later = [(name, moment) for name, moment in touched_since(archive, since) if moment > since]
            ids = [name for name, _ in later[:MOST_IDS]]
            return Change(ids, count=len(later), mark=later[0][1] if later else since)
    except (CopilogError, OSError, sqlite3.Error):
        return Change(mark=since or "")


def event_of(name: str, change: Change) -> bytes:
    """Return a change as a server-sent event. JSON has no line breaks."""
    mark = "".join(change.mark.splitlines())
    return b"event: %b\nid: %b\ndata: %b\n\n" % (name.encode(), mark.encode(), msgspec.json.encode(change))


routes = [Route("/events", _events)]
