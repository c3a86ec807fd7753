"""Which files are read, in which order (R-1), of which kind each is (R-2), and in which parts it is read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

import msgspec

from copilog.diagnostics import Level
from copilog.errors import BadFile, BadRecord, UsageError
from copilog.intake.files import opened, why_missing
from copilog.jsonio import UTF8_MARK, wide_encoding_of
from copilog.telemetry import parquet
from copilog.telemetry.json_values import LINE_END, NOT_BLANK, ValueScan, chunks, decode_value, find
from copilog.telemetry.spool import Packing, as_utf8, packing_of, plain_pieces, unpacked, write_spool

Kind = Literal["lines", "array", "objects"]

LINES_ENDINGS = (".jsonl", ".ndjson")
PLAIN_ENDINGS = (".json", *LINES_ENDINGS)
PACKED_ENDINGS: dict[str, Packing] = {".gz": "gzip", ".zst": "zstd", ".parquet": "parquet"}
ENDINGS = (*PLAIN_ENDINGS, *(plain + packed for plain in PLAIN_ENDINGS for packed in (".gz", ".zst")), ".parquet")
# Folders that are not searched: they hold copies of the files beside them, under other names.
VERSION_CONTROL = {".git", ".hg", ".svn"}
# Beginnings of files that users take for text, with a hint for each.
OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive; unpack it and name the files",
    b"BZh": "packed with bzip2; unpack it first",
    b"\xfd7zXZ\x00": "packed with xz; unpack it first",
    b"SQLite format 3\x00": "a SQLite database, not telemetry",
}
# The first value of a larger file is judged by its brackets alone.
MOST_DECODED_BYTES = 64 << 20
_HEAD_BYTES = 4096


class InputFile(msgspec.Struct, frozen=True):
    """One input, numbered in the order of R-1."""

    index: int
    path: str
    shown: str  # the spelling of R-22


class Readable(msgspec.Struct, frozen=True):
    """An input as plain bytes on disk.

    A note reports what is wrong with the file. If nothing of it can be used, its size is 0.
    """

    index: int
    path: str
    shown: str
    kind: Kind
    start: int  # after a byte order mark
    size: int
    spooled: bool
    note: str | None = None
    code: str | None = None

    @property
    def level(self) -> Level:
        """Return the level of the note."""
        return "warning" if self.code in ("utf-16", "utf-32") else "error"


class Part(msgspec.Struct, frozen=True):
    """The lines of a file that begin in [start, end); of other kinds the complete file."""

    file: Readable
    start: int
    end: int


class LeftOut(NamedTuple):
    """A path in a folder that could be an input, and is not read."""

    shown: str
    note: str
    code: str


class _Found(NamedTuple):
    shown: str
    path: str


def list_files(paths: Sequence[str | os.PathLike[str]], left_out: list[LeftOut] | None = None) -> list[InputFile]:
    """Return all inputs, each once, sorted by their shown paths. Raise UsageError if a path leads to no input.

    Skipped paths, such as links out of a folder, are added to `left_out`.
    """
    if not paths:
        raise UsageError("nothing to read; name at least one file or folder")
    passed_over: list[LeftOut] = []
    found = [entry for path in paths for entry in _inputs_at(os.fspath(path), passed_over)]
    by_place: dict[str, _Found] = {}
    for entry in sorted(found, key=lambda entry: (entry.shown.replace(os.sep, "/"), entry.path)):
        by_place.setdefault(os.path.realpath(entry.path), entry)
    if left_out is not None:
        left_out += sorted(set(passed_over))
    return [InputFile(index, entry.path, entry.shown) for index, entry in enumerate(by_place.values())]


def prepare(file: InputFile, spool: str) -> Readable:
    """Make a file readable as plain bytes, and detect its kind. Packed files are unpacked into the spool folder.

    An error in the input is in the result; an OSError is about the spool folder.
    """
    try:
        with opened(Path(file.path)) as plain:
            head = plain.read(_HEAD_BYTES)
        packing = packing_of(head)
        ending = Path(file.path).suffix.lower()
        note = None
        if packing is None and head and ending in PACKED_ENDINGS:
            note = f"is named {ending}, but is not packed with {PACKED_ENDINGS[ending]}"
            if head.removeprefix(UTF8_MARK).lstrip()[:1] not in (b"{", b"["):
                return _unusable(file, note)
            note += "; read as it is"
        if packing is None and wide_encoding_of(head)[0] is None:
            return _plain_input(file, file.path, note)
    except BadFile as error:
        return _unusable(file, str(error), error.code)
    return _unpacked(file, packing, spool, note)


def parts_of(file: Readable, part_bytes: int, *, streaming: bool = True) -> list[Part]:
    """Return the parts that a file is read in: ranges of bytes for lines, else all of it; no parts if it is empty."""
    if file.size <= file.start:
        return []
    if file.kind != "lines" or not streaming:
        return [Part(file, file.start, file.size)]
    starts = range(file.start, file.size, max(part_bytes, 1))
    return [Part(file, start, min(start + starts.step, file.size)) for start in starts]


def kind_of(file: BinaryIO, start: int, size: int) -> Kind:
    """Detect the kind of a file by R-2, with two interpretations of our own.

    Line 1 is the first that is not blank. A first object that is open at the end of line 1 does not continue when
    that would be inside a text, or when the next line begins an object and the two do not fit together: then line 1
    was cut off, and the lines that follow are read.
    """
    first = find(file, NOT_BLANK, start, size)
    file.seek(first)
    bracket = file.read(1)
    if bracket not in (b"{", b"["):
        return "lines"
    line_end = find(file, LINE_END, first, size)
    following = find(file, NOT_BLANK, line_end, size)
    if following == size:
        return "array" if bracket == b"[" else "objects"
    end, is_inside_text = _end_of_value(file, first, line_end)
    if bracket == b"[":
        is_whole_line = end is not None and find(file, NOT_BLANK, end, line_end) == line_end
        return "lines" if is_whole_line and _is_json(file, first, end) else "array"
    if end is not None or is_inside_text:
        return "lines"
    file.seek(following)
    if file.read(1) != b"{":
        return "objects"
    end, _ = _end_of_value(file, first, size)
    return "objects" if _is_json(file, first, end) else "lines"


def _end_of_value(file: BinaryIO, start: int, limit: int) -> tuple[int | None, bool]:
    """Return where the value ends, if before the limit, and whether a text is open there."""
    scan = ValueScan()
    for offset, data in chunks(file, start, limit):
        end = scan.feed(data)
        if end >= 0:
            return offset + end, False
    return None, scan.is_inside_text


def _is_json(file: BinaryIO, start: int, end: int | None) -> bool:
    if end is None:
        return False
    if end - start > MOST_DECODED_BYTES:
        return True
    file.seek(start)
    try:
        decode_value(file.read(end - start))
    except BadRecord:
        return False
    return True


def _plain_input(
    file: InputFile, path: str, note: str | None, code: str = "bad-file", *, kind: Kind | None = None
) -> Readable:
    """Return a file of plain bytes, the input or its unpacked copy, with its kind. The code is about the note."""
    is_spooled = path != file.path
    with opened(Path(path)) as plain:
        size = os.fstat(plain.fileno()).st_size
        head = plain.read(_HEAD_BYTES)
        start = len(UTF8_MARK) if head.startswith(UTF8_MARK) else 0
        for magic, what in OTHER_FORMATS.items():
            if head.startswith(magic):
                return _unusable(file, _both(note, f"is {what}"))
        kind = kind or kind_of(plain, start, size)
    return Readable(file.index, path, file.shown, kind, start, size, is_spooled, note, code if note else None)


def _both(note: str | None, more: str) -> str:
    return f"{note}; {more}" if note else more


def _unusable(file: InputFile, note: str, code: str | None = None) -> Readable:
    return Readable(file.index, file.path, file.shown, "lines", 0, 0, False, note, code or "bad-file")


def _unpacked(file: InputFile, packing: Packing | None, spool: str, before: str | None = None) -> Readable:
    """Write the plain copy of an input that is packed, or not UTF-8."""
    damage: list[str] = []
    remarks: list[str] = []
    kind: Kind | None = None
    try:
        if packing == "parquet":
            data = parquet.lines(file.path, damage)
            kind = "lines"
        else:
            plain = unpacked(file.path, packing, damage) if packing else plain_pieces(file.path)
            data = as_utf8(plain, remarks)
        path, size = write_spool(spool, file.index, data)
    except BadFile as error:
        return _unusable(file, str(error), error.code)
    if damage and not size:
        return _unusable(file, damage[0])
    if damage:
        note = _both(before, f"{damage[0]}; what is before that is used")
        return _plain_input(file, path, note, "salvaged-document", kind=kind)
    if remarks:
        return _plain_input(file, path, _both(before, remarks[0]), "utf-32" if "UTF-32" in remarks[0] else "utf-16")
    return _plain_input(file, path, before, kind=kind)


def _inputs_at(given: str, left_out: list[LeftOut]) -> Iterator[_Found]:
    """Yield the inputs at one given path."""
    shown = _readable(given)
    try:
        mode = os.stat(given).st_mode  # noqa: PTH116 - the text as given, not as Path would spell it
    except FileNotFoundError:
        raise UsageError(f"{shown}: {why_missing(given)}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{shown}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if stat.S_ISREG(mode):
        yield _Found(shown, given)
    elif stat.S_ISDIR(mode):
        passed_over: list[LeftOut] = []
        found = list(_inputs_below(given, passed_over))
        if not found:
            hint = f"; {passed_over[0].shown} {passed_over[0].note}" if passed_over else ""
            raise UsageError(f"{shown}: no input in this folder; looked for {', '.join(ENDINGS)}{hint}")
        left_out += passed_over
        yield from found
    else:
        raise UsageError(f"{shown}: is {_special(mode)}; save it as a file and name that")


def _inputs_below(given: str, left_out: list[LeftOut]) -> Iterator[_Found]:
    root = os.path.realpath(given)
    prefix = _readable(given).rstrip("/" + os.sep)
    folders = [""]
    while folders:
        folder = folders.pop()
        path = os.path.join(given, folder) if folder else given  # noqa: PTH118
        try:
            entries = list(os.scandir(path))
        except OSError as error:
            shown = f"{prefix}/{_readable(folder)}".rstrip("/")
            left_out.append(LeftOut(shown, f"cannot be read: {error.strerror}", "unreadable"))
            continue
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            shown = f"{prefix}/{_readable(name)}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in VERSION_CONTROL:
                    folders.append(name)
            elif reason := _reason_against(entry, root):
                left_out.append(LeftOut(shown, *reason))
            elif _is_named_so(entry) and entry.is_file():
                yield _Found(shown, entry.path)


def _reason_against(entry: os.DirEntry[str], root: str) -> tuple[str, str] | None:
    """Return why a path in a folder is not read, with a code; None for an input, and for files of other kinds."""
    try:
        mode = entry.stat().st_mode
    except OSError:
        return ("is a link that leads nowhere", "broken-link") if _is_named_so(entry) else None
    if not stat.S_ISDIR(mode) and not _is_named_so(entry):
        return None
    if entry.is_symlink() and not Path(os.path.realpath(entry.path)).is_relative_to(root):
        return f"is a link out of the folder, to {os.path.realpath(entry.path)}, and was not followed", "broken-link"
    if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
        return None
    return f"is {_special(mode)}, not a file", "unreadable"


def _is_named_so(entry: os.DirEntry[str]) -> bool:
    return entry.name.lower().endswith(ENDINGS)


def _special(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"


def _readable(path: str) -> str:
    """Return a path as text that can be written everywhere, with U+FFFD for bytes of a name that are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")
