"""Read log entries of the Copilot extension as Markdown: single .copilotmd files, and archives of them.

Format notes: docs/formats/chat-replay.md, "Markdown"
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadFile, BadRecord
from copilog.intake.files import opened, read_bytes
from copilog.intake.folders import is_regular_file
from copilog.model import Conversation
from copilog.sources.base import HEAD_BYTES, Found, Probe, Source, provenance_of
from copilog.sources.replay.entries import request_name

SUFFIX = ".copilotmd"
MAX_ENTRY_BYTES = 64 << 20
MAX_ARCHIVE_BYTES = 512 << 20

_GZIP = b"\x1f\x8b"
_REQUEST = re.compile(
    r"(?:> 🚨[^\n]*\n\s*)?# [^\n]+ - [0-9a-f]{8}\n.*^## Metadata\n.*^ourRequestId +:", re.DOTALL | re.MULTILINE
)
_TOOL_CALL = re.compile(r"# Tool Call - [^\n]+\n\s*## Request\n~~~\nid   : ")


class Shown(NamedTuple):
    """One entry, as text, and its source."""

    place: str
    text: str


class CopilotMarkdown(Source):
    name = "copilot-markdown"
    title = "Chat debug log as Markdown (.copilotmd)"
    is_nameless = True

    def claims(self, file: Probe) -> bool:
        if file.path.is_dir():
            return any(path.suffix == SUFFIX for path in file.path.iterdir())
        if file.suffix == SUFFIX:
            return True
        if file.suffix == ".md":
            return _is_entry(file.head)
        return file.suffix in (".gz", ".tgz") and file.head.startswith(_GZIP) and _is_archive(file.path)

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Yield the conversations of the entries, usually one; a folder is read as one export, too."""
        from copilog.sources.replay.conversations import conversations_from
        from copilog.sources.replay.groups import Group, read_entries
        from copilog.sources.replay.markdown_entries import entry_from_markdown

        entries: list[tuple[Any, str]] = []
        for shown in shown_in(found.path, ledger):
            try:
                entry = entry_from_markdown(shown.text)
            except BadRecord as error:
                ledger.seen += 1
                ledger.reject(error.code, str(error), pointer=shown.place)
                continue
            if entry is None:
                ledger.seen += 1
                ledger.ignore("not-available")
                continue
            entries.append((entry, shown.place))
        if not entries:
            return
        is_known = any(_is_of_conversation(entry) for entry, _ in entries)
        groups: list[Group] = []
        for batch in _batches(_in_order(entries)):
            groups.append(Group(batch[0][1], None))
            read_entries(groups[-1], batch, ledger, is_known)
        yield from conversations_from(
            groups, ledger, source=self.name, servers=None, extra={}, provenance=provenance_of(found)
        )


def _in_order(entries: list[tuple[Any, str]]) -> list[tuple[Any, str]]:
    """Return entries by their time. Tool calls have none: they stay after the request that they follow."""
    time = ""
    keyed: list[tuple[str, tuple[Any, str]]] = []
    for item in entries:
        started = item[0].get("metadata", {}).get("startTime")
        time = started if isinstance(started, str) else time
        keyed.append((time, item))
    return [item for _, item in sorted(keyed, key=lambda it: it[0])]


def _batches(entries: list[tuple[Any, str]]) -> list[list[tuple[Any, str]]]:
    """Return each request with the tool calls that follow it; entries before the first request go with it."""
    batches: list[list[tuple[Any, str]]] = [[]]
    has_request = False
    for item in entries:
        if item[0]["kind"] == "request":
            if has_request:
                batches.append([])
            has_request = True
        batches[-1].append(item)
    return batches


def _is_of_conversation(entry: Any) -> bool:
    """Return whether an entry's name marks it as part of a conversation."""

    return request_name(entry.get("name", "")).purpose in ("main", "subagent")


def _is_entry(head: bytes) -> bool:
    text = head.decode("utf-8", "ignore").replace("\r\n", "\n")
    return _REQUEST.match(text) is not None or _TOOL_CALL.match(text) is not None


def _is_archive(path: Path) -> bool:
    """Return whether the first file in an archive is a log entry."""
    import tarfile

    try:
        with opened(path) as file, tarfile.open(fileobj=file, mode="r|gz") as archive:
            first = next((member for member in archive if member.isfile()), None)
            content = archive.extractfile(first) if first is not None else None
            return content is not None and _is_entry(content.read(HEAD_BYTES))
    except (BadFile, EOFError, tarfile.TarError, zlib.error):
        return False


def shown_in(path: Path, ledger: Ledger) -> Iterator[Shown]:
    if path.is_dir():
        for child in sorted(path.iterdir()):
            if child.suffix == SUFFIX and is_regular_file(child):
                yield Shown(f"/{child.name}", _text(read_bytes(child), ledger))
    elif _starts_with_gzip(path):
        yield from _members(path, ledger)
    else:
        yield Shown("", _text(read_bytes(path), ledger))


def _starts_with_gzip(path: Path) -> bool:
    try:
        with opened(path) as file:
            return file.read(2) == _GZIP
    except BadFile:
        return False


def _text(data: bytes, ledger: Ledger) -> str:
    data, repairs = jsonio.as_utf8(data)
    for repair in repairs:
        ledger.note(repair.code, repair.reason, "info")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        ledger.note("invalid-utf8", f"invalid UTF-8 at byte {error.start}", "info")
        return data.decode("utf-8", errors="replace")


def _members(path: Path, ledger: Ledger) -> Iterator[Shown]:
    """Yield the files of an archive, read in memory; nothing is ever unpacked to disk."""
    import tarfile

    total = 0
    try:
        with opened(path) as file, tarfile.open(fileobj=file, mode="r|gz") as archive:
            for position, member in enumerate(archive):
                place = f"/{position}"
                total += member.size
                if total > MAX_ARCHIVE_BYTES:
                    _refuse(
                        ledger, place, f"the archive holds more than {MAX_ARCHIVE_BYTES} bytes; the rest was not read"
                    )
                    return
                if not member.isfile():
                    ledger.seen += 1
                    ledger.ignore("not-a-file")
                elif member.size > MAX_ENTRY_BYTES:
                    _refuse(
                        ledger, place, f"{member.size} bytes, more than the {MAX_ENTRY_BYTES} that an entry may have"
                    )
                else:
                    content = archive.extractfile(member)
                    yield Shown(place, _text(content.read() if content else b"", ledger))
    except (BadFile, EOFError, tarfile.TarError, zlib.error) as error:
        ledger.seen += 1
        ledger.reject("torn-document", f"the archive cannot be read to its end: {type(error).__name__}", pointer="")


def _refuse(ledger: Ledger, place: str, reason: str) -> None:
    ledger.seen += 1
    ledger.reject("too-large", reason, pointer=place)
