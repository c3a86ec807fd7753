"""The figures for a prompt or a status bar: today's turns, tokens and cost, and the latest conversation.

A shell runs this for every prompt, so it neither scans nor waits: whatever it needs is in an index or in the few
conversations of the day, and as little as possible is imported.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import NamedTuple

from copilog.analysis.billing_months import forecast_of, month_of
from copilog.store.billed import IS_BILLED, counts_elsewhere
from copilog.store.database import ArchiveError, map_file
from copilog.store.migrations import MIGRATIONS
from copilog.store.schema import APPLICATION_ID, UNANSWERED, turn_at

BUSY_SECONDS = 0.02
NEWEST = 1_000  # conversations that are searched for the latest one of a workspace

IsWanted = Callable[..., bool]  # of a workspace, and its repository if that is known

TOUCHED = "coalesce(c.updated_at, c.started_at)"
TURN_AT = turn_at(TOUCHED)  # usage without a turn has the time of its conversation
# Of conversations of the day, by the index of their times.
OF_TODAY = f"""
    {TOUCHED} >= :since AND (c.started_at IS NULL OR c.started_at < :until)
    AND {TURN_AT} >= :since AND {TURN_AT} < :until
    AND (:is_anywhere OR is_wanted(c.workspace, c.repository))
    AND (:conversations IS NULL OR c.rowid IN (SELECT value FROM json_each(:conversations)))
"""  # noqa: S608
COUNTED = f"t.superseded IS NULL AND NOT c.is_empty AND NOT {counts_elsewhere()}"
TURNS = f"""
    SELECT count(DISTINCT c.rowid), count(*), coalesce(sum(t.status IS 'failed'), 0)
    FROM conversation AS c JOIN turn AS t ON t.conversation = c.rowid WHERE {OF_TODAY} AND {COUNTED}
"""  # noqa: S608
_ROWS = f"""
    FROM conversation AS c JOIN spend AS s ON s.conversation = c.rowid
    LEFT JOIN turn AS t ON t.conversation = s.conversation AND t.position = s.turn WHERE {OF_TODAY} AND {IS_BILLED}
"""
_IS_SPREAD = "s.method = 'spread'"
_REQUESTS = f"iif(t.status IN {UNANSWERED}, NULL, s.premium_requests)"
SPENT = f"""
    SELECT coalesce(sum(iif(s.method = 'estimated', 0, coalesce(s.input, 0) + coalesce(s.output, 0))), 0),
           coalesce(sum(iif(s.method = 'estimated', coalesce(s.input, 0) + coalesce(s.output, 0), 0)), 0),
           coalesce(sum(coalesce(s.input_at_least, 0) + coalesce(s.output_at_least, 0)), 0),
           sum({_REQUESTS}), sum(s.credits),
           coalesce(sum(iif({_IS_SPREAD}, coalesce(s.input, 0) + coalesce(s.output, 0), 0)), 0),
           sum(iif({_IS_SPREAD}, {_REQUESTS}, NULL)), sum(iif({_IS_SPREAD}, s.credits, NULL))
    {_ROWS}
"""
# The recorded sums, and whether anything billed has no record. Prices are not looked up here.
OF_MONTH = f"""
    SELECT sum(s.credits), sum({_REQUESTS}),
           max(NOT s.has_credits AND s.payer = 'copilot' AND s.billing IS NOT 'requests'),
           sum(iif({_IS_SPREAD}, s.credits, NULL)), sum(iif({_IS_SPREAD}, {_REQUESTS}, NULL))
    {_ROWS}
"""
_IS_LAST = "s.turn = (SELECT max(position) FROM turn WHERE conversation = c.rowid AND superseded IS NULL)"
OF_LATEST = f"""
    SELECT sum(s.credits), sum(iif({_IS_LAST}, s.credits, NULL)),
           sum(iif({_IS_LAST} AND {_IS_SPREAD}, s.credits, NULL))
    FROM conversation AS c JOIN spend AS s ON s.conversation = c.rowid WHERE c.id = ?
"""  # noqa: S608
LATEST = f"""
    SELECT c.id, c.title, c.workspace, {TOUCHED},
           (SELECT coalesce(t.resolved_model, t.model) FROM turn AS t WHERE t.conversation = c.rowid
            AND coalesce(t.resolved_model, t.model) IS NOT NULL AND t.superseded IS NULL
            ORDER BY t.branch_trace IS NOT NULL, t.position DESC LIMIT 1)
    FROM conversation AS c
    WHERE c.rowid = (
        SELECT rowid FROM (
            SELECT c.rowid, c.workspace, c.repository FROM conversation AS c WHERE {TOUCHED} < :until AND NOT c.is_empty
            ORDER BY {TOUCHED} DESC LIMIT :newest
        ) WHERE (:is_anywhere OR is_wanted(workspace, repository))
        AND (:conversations IS NULL OR rowid IN (SELECT value FROM json_each(:conversations))) LIMIT 1
    )
"""  # noqa: S608


class Month(NamedTuple):
    """The user's plan, as far as the status line shows it."""

    budget: float | None = None
    billing: str | None = None
    first_day: int = 1


class Status(NamedTuple):
    """Figures of one local day, and the conversation that was updated last. What was not recorded is None."""

    day: str
    conversations_today: int
    turns_today: int
    failed_today: int  # turns
    tokens_today: int  # input and output, recorded or estimated
    estimated_tokens_today: int  # the part of them that is likely, and not recorded
    least_tokens_today: int  # the lower end of all of them
    premium_requests_today: float | None
    credits_today: float | None
    model: str | None  # of the latest conversation, as everything below
    title: str | None
    workspace: str | None
    conversation: str | None
    latest_at: str | None
    scanned_at: str | None  # the time of the last scan for changes
    credits_conversation: float | None = None  # of the latest conversation
    credits_turn: float | None = None  # of its last turn
    month_used: float | None = None  # of the billing month: credits, or premium requests if these are billed
    month_is_partial: bool = False  # something in the month has no record
    month_budget: float | None = None
    month_pace: float | None = None  # by day, today included
    month_forecast: float | None = None
    month_days_left: int | None = None
    spread_tokens_today: int = 0  # recorded for several turns together, and divided among them; as all below
    spread_premium_requests_today: float | None = None
    spread_credits_today: float | None = None
    spread_credits_turn: float | None = None
    spread_month: float | None = None


def connect(path: Path) -> sqlite3.Connection:
    """Open an archive read-only without waiting. Raise ArchiveError with a short reason if that is impossible."""
    try:
        path = Path(os.path.abspath(path))  # noqa: PTH100 - links are followed by SQLite itself
        if not path.stat().st_size:
            raise FileNotFoundError
        return _connection(path)
    except FileNotFoundError:
        raise ArchiveError("no archive yet; `copilog scan` makes one") from None
    except (OSError, sqlite3.Error) as error:
        is_busy = isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF in _BUSY
        raise ArchiveError("the archive is busy" if is_busy else "the archive cannot be read") from None


_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def status_of(
    connection: sqlite3.Connection,
    now: datetime,
    *,
    period: tuple[datetime | None, datetime | None] = (None, None),
    conversations: str | None = None,
    is_wanted: IsWanted | None = None,
    scanned_at: str | None = None,
    month: Month | None = None,
    zone: tzinfo | None = None,
) -> Status:
    """Return the figures of the day of `now`, or of a period, for all conversations or for the selected ones.

    `zone` is whose days count; None: the user's.
    """
    midnight = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=zone)
    connection.create_function("is_wanted", 2, is_wanted or (lambda *_: True), deterministic=True)
    values = {
        "since": text_of(period[0] or midnight),
        "until": text_of(period[1] or midnight + timedelta(days=1)),
        "conversations": conversations,
        "is_anywhere": is_wanted is None,
        "newest": NEWEST,
    }
    count, turns, failed = connection.execute(TURNS, values).fetchone()
    recorded, estimated, least, premium, credit, *spread = connection.execute(SPENT, values).fetchone()
    latest = connection.execute(LATEST, values).fetchone() or (None,) * 5
    of_latest = connection.execute(OF_LATEST, (latest[0],)).fetchone()
    status = Status(
        day=midnight.date().isoformat(),
        conversations_today=count,
        turns_today=turns,
        failed_today=failed,
        tokens_today=recorded + estimated,
        estimated_tokens_today=estimated,
        least_tokens_today=recorded + least,
        premium_requests_today=premium,
        credits_today=credit,
        model=latest[4],
        title=latest[1],
        workspace=latest[2],
        conversation=latest[0],
        latest_at=latest[3],
        scanned_at=scanned_at,
        credits_conversation=of_latest[0],
        credits_turn=of_latest[1],
        spread_tokens_today=spread[0],
        spread_premium_requests_today=spread[1],
        spread_credits_today=spread[2],
        spread_credits_turn=of_latest[2],
    )
    return _with_month(connection, status, midnight, values, month) if month is not None else status


def _with_month(
    connection: sqlite3.Connection, status: Status, midnight: datetime, values: Mapping[str, object], month: Month
) -> Status:
    """Return the status with the billing month up to the end of the day."""
    since, _ = month_of(midnight.date(), month.first_day)
    begin = text_of(datetime.combine(since, midnight.timetz()))
    end = text_of(midnight + timedelta(days=1))
    row = connection.execute(OF_MONTH, {**values, "since": begin, "until": end}).fetchone()
    used = row[1] if month.billing == "requests" else row[0]
    ahead = forecast_of(used, midnight.date(), month.first_day)
    return status._replace(
        month_used=used,
        month_is_partial=bool(row[2]) and month.billing != "requests",
        month_budget=month.budget,
        month_pace=ahead.pace,
        month_forecast=ahead.total,
        month_days_left=ahead.days_left,
        spread_month=row[4] if month.billing == "requests" else row[3],
    )


def text_of(moment: datetime) -> str:
    """Return a time as `store.times` writes it. Importing that module would take longer than everything else here."""
    return moment.astimezone(UTC).isoformat("T", "milliseconds")[:23] + "Z"


def last_scan(archive: Path) -> datetime | None:
    """Return when the last scan began: each writes its process id to the lock file, even if it finds nothing new."""
    for suffix in (".lock", "-wal", ""):
        try:
            return datetime.fromtimestamp(archive.with_name(archive.name + suffix).stat().st_mtime).astimezone()
        except OSError:
            continue
    return None


# --- the workspace filter -------------------------------------------------------------------------------------------


def workspace_filter(wanted: str) -> IsWanted:
    """Return a filter of workspaces: by a folder that contains them, or by a part of their or their repository's name.

    `.` means the current folder, or the repository that it is in.
    """
    if wanted == ".":
        folders = _spellings(*map(_repository, _here()))
    elif names_folder(wanted):
        folders = _spellings(wanted)
    else:
        part = wanted.casefold()
        return lambda *names: any(part in name.casefold() for name in names if name is not None)

    def is_there(workspace: str | None, _: str | None = None) -> bool:
        if workspace is None:
            return False
        place = _plain(workspace)
        return any(place == folder or place.startswith(f"{folder}/") for folder in folders)

    return is_there


def names_folder(wanted: str) -> bool:
    """Return whether a workspace is given as a folder, and not by its name."""
    return wanted == "." or os.path.isabs(wanted) or os.path.isdir(wanted)  # noqa: PTH117, PTH112 - no paths need be made of it


def _here() -> list[str]:
    """Return the current folder, and its path in the shell, which may contain links."""
    called = os.environ.get("PWD")
    return [".", called] if called and os.path.isdir(called) and os.path.samefile(called, ".") else ["."]  # noqa: PTH112, PTH121


def _repository(folder: str) -> str:
    """Return the nearest folder with a `.git`, from this one upwards; this one if there is none."""
    folder = os.path.abspath(folder)  # noqa: PTH100 - links stay as they are written
    place = folder
    while not os.path.lexists(os.path.join(place, ".git")):  # noqa: PTH118
        above = os.path.dirname(place)  # noqa: PTH120
        if above == place:
            return folder
        place = above
    return place


def _spellings(*folders: str) -> set[str]:
    """Return the paths of folders as written and with links resolved: either may have been recorded."""
    return {_plain(spell(folder)) for folder in folders for spell in (os.path.abspath, os.path.realpath)}


def _plain(path: str) -> str:
    return os.path.normcase(path).replace("\\", "/").rstrip("/")


# --- the file -------------------------------------------------------------------------------------------------------


def _connection(path: Path) -> sqlite3.Connection:
    address = path.as_uri() + "?mode=ro"
    try:
        return _checked(address)
    except sqlite3.OperationalError as error:
        log = path.with_name(path.name + "-wal")
        if error.sqlite_errorcode & 0xFF in _BUSY or (log.exists() and log.stat().st_size):
            raise
        # The folder is not writable: SQLite cannot create its -shm file, and no other process is writing either.
        return _checked(address + "&immutable=1")


def _checked(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)
    try:
        map_file(connection)
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID:
            raise ArchiveError("this is not an archive of copilog")
        if version < len(MIGRATIONS):
            raise ArchiveError("the archive was made by an older copilog; `copilog scan` brings it up to date")
        if version > len(MIGRATIONS):
            raise ArchiveError("the archive was made by a newer copilog")
    except BaseException:
        connection.close()
        raise
    return connection
