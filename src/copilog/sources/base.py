"""The contract of a source, and its small input and output values.

A source answers three questions: where its files are (`locate`), whether a file is of its format (`claims`), and what
the file contains (`read`). It holds no state between calls, so it can run in any process, and it never writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from msgspec.structs import force_setattr, replace

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadFile, CopilogError
from copilog.intake.files import opened, read_bytes
from copilog.intake.long_documents import LongDocument, long_document
from copilog.intake.records import JsonLines, first_record
from copilog.model import Conversation, Provenance, Workspace
from copilog.sources.roots import StorageFolder

HEAD_BYTES = 4096
MOST_FIRST_RECORDS = 50
LOG_SUFFIXES = (".jsonl", ".ndjson")


class Found(msgspec.Struct, frozen=True):
    """One trace of a conversation: a file (or a row of one), what is available without reading it, and its siblings."""

    path: Path
    source: str
    native_id: str | None = None
    workspace: Workspace | None = None
    application: str | None = None
    hint: Conversation | None = None  # the fields in an index
    others: tuple[Found, ...] = ()
    is_index_entry: bool = False  # only an index lists it
    state: str | None = (
        None  # of a row in a larger file: it changes only when the row does, not with the rest of the file
    )

    def __post_init__(self) -> None:
        """Escape the bytes of an id that are not text, as an id may be the name of a file."""
        if self.native_id is not None and not self.native_id.isascii():
            data = self.native_id.encode("utf-8", "surrogatepass")
            force_setattr(self, "native_id", data.decode("utf-8", "backslashreplace"))

    def alone(self) -> Found:
        """Return this trace without the other ones."""
        return replace(self, others=()) if self.others else self

    def traces(self) -> tuple[Found, ...]:
        """Return this and the other traces of the same conversation."""
        return (self.alone(), *self.others)


class Probe:
    """The cheap checks of one file for all sources, each made at most once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self.suffix = path.suffix.lower()
        self.folders = path.parent.parts[-4:]  # the names of the folders around it, nearest last
        # Files that tools wrote or read: their content says nothing about their role here.
        self.is_content = (
            "chat-session-resources" in self.folders
            or (self.folders[-1:] == ("contents",) and self.folders[-3:-2] == ("chatEditingSessions",))
            or ("session-state" in self.folders and bool({"files", "research"} & set(self.folders)))
        )

    def is_directly_in(self, *names: str) -> bool:
        """Return whether the file's own folder has one of these names."""
        return bool(self.folders) and self.folders[-1] in names

    @cached_property
    def head(self) -> bytes:
        """Return the first bytes, without a byte order mark."""
        try:
            with opened(self.path, buffering=HEAD_BYTES) as file:
                head = file.read(HEAD_BYTES)
        except BadFile:
            return b""
        return jsonio.as_utf8(head)[0]

    @cached_property
    def begins_with_object(self) -> bool:
        return self.head.lstrip(b"\0 \t\r\n")[:1] == b"{"

    @cached_property
    def may_hold_records(self) -> bool:
        """Return whether to look for a first record: a log may begin with anything, other files only with an object."""
        return self.suffix in LOG_SUFFIXES or self.begins_with_object

    @cached_property
    def first_record(self) -> dict[str, Any] | None:
        """Return the first record of a file of JSON lines, even after damaged lines."""
        return None if self.is_content or self._long is not None else first_record(self.path)

    @cached_property
    def first_records(self) -> list[dict[str, Any]]:
        """Return the first intact records of a file of JSON lines."""
        found: list[dict[str, Any]] = []
        with suppress(BadFile):
            records = JsonLines(self.path, Ledger(), lambda _: False)
            found += (value for value, *_ in islice(records, MOST_FIRST_RECORDS))
        return found

    @cached_property
    def keys(self) -> frozenset[str]:
        """Return the top-level keys of a JSON document, or those in its first bytes if the document is broken."""
        if self.is_content or self.suffix not in (".json", "") or not self.begins_with_object:
            return frozenset()
        keys = frozenset(self._document)
        return keys or frozenset(name.decode() for name in re.findall(rb'"([A-Za-z]\w{0,40})"\s*:', self.head))

    @cached_property
    def _document(self) -> dict[str, memoryview]:
        """Return the top-level values of a JSON document, still encoded; none for anything else.

        Of a large session, the list of requests is empty here.
        """
        try:
            data = self._long.shell() if self._long is not None else jsonio.as_utf8(read_bytes(self.path))[0]
        except CopilogError:
            return {}
        if data is None:
            return {}
        return jsonio.top_level_values(data.rstrip(b"\0 \r\n\t"))

    @cached_property
    def _long(self) -> LongDocument | None:
        """Return the requests of a large session; None for anything else."""
        if self.suffix not in (".json", "") or not self.begins_with_object:
            return None
        try:
            return long_document(self.path, "requests")
        except BadFile:
            return None

    def text_value(self, key: str) -> str | None:
        """Return a top-level value of a JSON document if it is a string."""
        try:
            value = jsonio.decode(bytes(self._document[key]))[0]
        except (KeyError, CopilogError):
            return None
        return value if isinstance(value, str) else None

    def first_item_keys(self, key: str) -> frozenset[str]:
        """Return the keys of the first object in a top-level list of a JSON document."""
        value: Any
        try:
            if self._long is not None and key == "requests":
                value = [self._long.first()]
            else:
                value = jsonio.decode(bytes(self._document[key]))[0]
        except (KeyError, CopilogError):
            return frozenset()
        first = value[0] if isinstance(value, list) and value else None
        return frozenset(first) if isinstance(first, dict) else frozenset()

    @cached_property
    def tables(self) -> dict[str, list[str]]:
        """Return the tables of a SQLite database; none for anything else."""
        from copilog import sqliteio  # which few files need

        if self.is_content or not sqliteio.is_sqlite(self.head):
            return {}
        try:
            with sqliteio.open_copy(self.path) as snapshot:
                return sqliteio.tables(snapshot.connection)
        except CopilogError:
            return {}


class Source:
    """One format. Subclasses fill in the three methods; see docs/adding-a-source.md."""

    name: ClassVar[str]
    title: ClassVar[str]
    is_index: ClassVar[bool] = False  # its files list several conversations, which `index` returns
    is_companion: ClassVar[bool] = False  # its files belong to a conversation in another file
    is_nameless: ClassVar[bool] = False  # its files do not name their conversation

    def locate(self, folder: StorageFolder) -> Iterator[Found]:  # noqa: ARG002
        """Yield the files of this format in one storage folder of a root; none for formats that users save anywhere."""
        return iter(())

    def claims(self, file: Probe) -> bool:
        """Return whether this file is of this format."""
        raise NotImplementedError

    def native_id(self, file: Probe) -> str | None:  # noqa: ARG002
        """Return the id of the one conversation in this file if that is cheap to read."""
        return None

    def index(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:  # noqa: ARG002
        """Yield a stub of each conversation that an index file lists.

        A stub with the mark `inside` is of a conversation in this very file.
        """
        return iter(())

    def state_of(self, stub: Conversation) -> str | None:  # noqa: ARG002
        """Return a value that changes when a conversation inside this file does, if `index` has read all of it."""
        return None

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Yield the conversations of the file. Bad records go to the ledger, unreadable files raise BadFile."""
        raise NotImplementedError


def marks_of_trace(ledger: Ledger) -> list[str]:
    """Return the marks of a log that concern its file alone: whether its last line is torn."""
    return ["torn"] if any(diagnostic.code == "torn-tail" for diagnostic in ledger.bad) else []


def provenance_of(found: Found, **where: Any) -> Provenance:
    """Return the trace of a file for its conversation."""
    try:
        stat = found.path.stat()
    except OSError:
        return Provenance(source=found.source, path=str(found.path), **where)
    return Provenance(
        source=found.source,
        path=str(found.path),
        size=stat.st_size,
        modified_at=datetime.fromtimestamp(stat.st_mtime, UTC),
        workspace=found.workspace.folder if found.workspace else None,
        **where,
    )
