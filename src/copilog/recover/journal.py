"""Write repaired files, and put them back: each change has a journal entry and a copy of the file in copilog's data.

repairs/<date>-<token>/journal.json      which file, what it was and became, its owner, mode and times
repairs/<date>-<token>/before            its bytes before

Of a store, only the row that is changed is copied. The entry is complete before the file is replaced, and the file is
replaced at once: a crash leaves the old file or the new one, and an entry by which the new one is put back.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from copilog.atomic_files import atomic_file, atomic_folder
from copilog.errors import UsageError
from copilog.recover.index_repair import IndexPlan
from copilog.recover.repairing import Plan
from copilog.recover.running import require_idle
from copilog.recover.store_rows import Value, replace_value, value_in
from copilog.sources.vscode.state_database import INDEX
from copilog.store.database import own_archive_path

FOLDER, JOURNAL, BEFORE = "repairs", "journal.json", "before"


class Entry(msgspec.Struct, kw_only=True):
    """One change of a file: what the file was, and what it became."""

    name: str
    path: str
    applied_at: str
    before: str  # SHA-256
    after: str
    mode: int
    user: int
    group: int
    accessed_ns: int
    modified_ns: int
    undone_at: str | None = None
    row: str | None = None  # of a store, if only that row was changed
    kind: Literal["text", "bytes", "absent"] = "absent"  # of its value before


def journal_folder() -> Path:
    """Return the folder of the journal, beside the user's own archive."""
    return own_archive_path().parent / FOLDER


def apply(plan: Plan) -> Entry:
    """Replace a file by its repaired form. Raise UsageError if a program uses it, or if it has changed meanwhile."""
    path = Path(os.path.realpath(plan.path))
    require_idle(path)
    entry = _entry(path, plan.before, plan.after)
    _require_unchanged(path, entry.before)
    with _journalled(entry, plan.before):
        _replace(path, plan.after, entry, instead_of=entry.before)
    return entry


def apply_index(plan: IndexPlan) -> Entry:
    """Replace the index in a store by its repaired form; other rows of it stay."""
    path = Path(os.path.realpath(plan.path))
    require_idle(path)
    before = plan.before.data if plan.before is not None else b""
    entry = _entry(path, before, plan.after.data)
    entry.row = INDEX
    if plan.before is not None:
        entry.kind = "text" if plan.before.is_text else "bytes"
    with _journalled(entry, before):
        replace_value(path, INDEX, plan.before, plan.after)
    return entry


def _entry(path: Path, before: bytes, after: bytes) -> Entry:
    status = path.stat()
    now = datetime.now(UTC)
    return Entry(
        name=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(4)}",
        path=str(path),
        applied_at=now.isoformat(),
        before=_digest(before),
        after=_digest(after),
        mode=status.st_mode & 0o7777,
        user=status.st_uid,
        group=status.st_gid,
        accessed_ns=status.st_atime_ns,
        modified_ns=status.st_mtime_ns,
    )


def undo(entry: Entry) -> bool:
    """Put a file back as it was; return False if it was not changed. Raise UsageError if it has changed since."""
    path = Path(entry.path)
    require_idle(path)
    current = _digest_now(entry, path)
    if current not in (entry.before, entry.after):
        what = "has changed since it was repaired" if current else "does not exist any more"
        copy = journal_folder() / entry.name / BEFORE
        raise UsageError(f"{path}: {what}, and was left as it is; its bytes before the repair are in {copy}")
    if current == entry.after:
        before = (journal_folder() / entry.name / BEFORE).read_bytes()
        if _digest(before) != entry.before:
            raise UsageError(f"{path}: the copy in {journal_folder() / entry.name} is damaged; nothing was changed")
        if entry.row is not None:
            old = Value(before, entry.kind == "text") if entry.kind != "absent" else None
            replace_value(path, entry.row, value_in(path, entry.row), old)
        else:
            _replace(path, before, entry, instead_of=entry.after)
    if entry.row is None:
        os.utime(path, ns=(entry.accessed_ns, entry.modified_ns))
    entry.undone_at = datetime.now(UTC).isoformat()
    with atomic_file(journal_folder() / entry.name / JOURNAL, is_private=True) as file:
        file.write(msgspec.json.encode(entry))
    return current == entry.after


def _digest_now(entry: Entry, path: Path) -> str | None:
    """Return the digest of what is there now: the file, or the one row of it that was changed."""
    if not path.is_file():
        return None
    if entry.row is None:
        return _digest(path.read_bytes())
    value = value_in(path, entry.row)
    return _digest(value.data if value is not None else b"")


def entries() -> list[Entry]:
    """Return the changes that can be undone, the newest first."""
    return sorted(_all_entries(), key=lambda entry: entry.applied_at, reverse=True)


def _all_entries() -> Iterator[Entry]:
    folder = journal_folder()
    if not folder.is_dir():
        return
    for each in folder.iterdir():
        with suppress(OSError, msgspec.MsgspecError):
            entry = msgspec.json.decode((each / JOURNAL).read_bytes(), type=Entry)
            if entry.undone_at is None and entry.name == each.name:
                yield entry


@contextmanager
def _journalled(entry: Entry, before: bytes) -> Iterator[None]:
    """Store an entry before a change is made, and remove it if the change was not made."""
    _store(entry, before)
    try:
        yield
    except BaseException:
        if _digest_now(entry, Path(entry.path)) != entry.after:
            shutil.rmtree(journal_folder() / entry.name, ignore_errors=True)
        raise


def _store(entry: Entry, before: bytes) -> None:
    folder = journal_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with atomic_folder(folder / entry.name) as draft:
        for name, data in ((BEFORE, before), (JOURNAL, msgspec.json.encode(entry))):
            with os.fdopen(os.open(draft / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())


def _replace(path: Path, data: bytes, entry: Entry, *, instead_of: str) -> None:
    """Replace a file at once, with the owner and mode that it had. Nothing changes if it is not the expected one."""
    with atomic_file(path) as file:
        file.write(data)
        file.flush()
        with suppress(OSError, AttributeError):  # only the superuser can, and Windows has no owners
            os.fchown(file.fileno(), entry.user, entry.group)
        os.fsync(file.fileno())
        _require_unchanged(path, instead_of)
    path.chmod(entry.mode)


def _require_unchanged(path: Path, expected: str) -> None:
    if _digest(path.read_bytes()) != expected:
        raise UsageError(f"{path}: has changed meanwhile; nothing was written, repeat the command")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
