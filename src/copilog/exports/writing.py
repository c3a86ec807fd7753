"""Write conversations to files: which files, each complete or not at all, and an index for a folder.

    export(archive, "markdown", "notes")     what Python programs call
    write(chosen, kind, output, making)      a file, or a folder with a file for each conversation
    pieces_of(chosen, kind, making)          the content of one file, for whoever sends it elsewhere

A file that `output` names is replaced. In a folder, `copilog-export.json` tells which file is of which conversation, so
that a later export into it replaces the files that it wrote itself, and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from copilog.atomic_files import atomic_file, atomic_folder, folder_in_turn
from copilog.derive import ends_of, is_counted
from copilog.derive.counting import is_branched
from copilog.errors import CopilogError, UsageError
from copilog.exports.chosen import Chosen, chosen_in, chosen_of, redacted
from copilog.exports.details import count_details
from copilog.exports.file_names import name_of, numbered
from copilog.exports.folder_index import FolderIndex
from copilog.exports.formats import NAMES, Format, Making, format_named, options_for
from copilog.exports.index import Entry, entry_of
from copilog.exports.left_out import UNCOUNTED_TURNS, LeftOut
from copilog.model import Conversation
from copilog.redaction import Redactor
from copilog.store.archive import Archive
from copilog.store.selection import Selection
from copilog.version import __version__

NOTHING_CARRIED = "conversations with nothing that this format carries"


class NothingToWrite(CopilogError):  # noqa: N818 - it is news about the conversations
    """No conversation has what the format carries; the file that was there before is unchanged."""


class Exported(NamedTuple):
    """What was written, and what was not."""

    paths: list[Path]
    folder: Path | None
    conversations: int
    left_out: list[LeftOut]
    failed: list[tuple[str, str]]  # ids of conversations that could not be read, and why


def export(
    conversations: Archive | Iterable[Conversation],
    format: str,  # noqa: A002 - as the command calls it
    output: Path | str,
    *,
    selection: Selection | None = None,
    redactor: Redactor | None = None,
    **options: Any,
) -> Exported:
    """Write conversations to a file or a folder, as `copilog export` does.

    Of an archive, all conversations are written, or those of a selection. With a `copilog.redaction.Redactor`, nothing
    is written unless all could be redacted. The options are the fields of `Options`.
    """
    kind = format_named(format)
    if kind is None:
        raise UsageError(f"there is no format {format!r}; the formats are {', '.join(NAMES)}")
    if isinstance(conversations, Archive):
        selected = conversations.list_selected(selection if selection is not None else Selection())
        chosen = chosen_in(conversations, [summary.id for summary in selected])
    else:
        chosen = chosen_of(conversations)
    making = Making(
        by=f"copilog {__version__}",
        at=datetime.now(UTC),
        options=options_for(kind, options),
        is_redacted=redactor is not None,
    )
    with redacted(chosen, redactor) as to_write:
        return write(to_write, kind, Path(output), making)


def write(
    chosen: Chosen, kind: Format, output: Path | None, making: Making, advance: Callable[[], None] = lambda: None
) -> Exported:
    """Write conversations to a file or a folder; without a name, to one in the current folder named after them."""
    reading = Reading(chosen, advance)
    making.calibration = chosen.calibration
    folder = _folder_for(output, kind, len(chosen.entries))
    if folder is None:
        path = output if output is not None else free_path(Path(), f"conversations{kind.ending}")
        if not _write_file(path, _unless_none(reading, pieces_of(reading, kind, making))):
            raise _nothing(kind, path, reading)
        paths = [path]
    elif kind.write_folder is not None:
        paths = _write_dataset(reading, kind, folder, making)
    else:
        is_indexed = output is not None or len(chosen.entries) > 1 or FolderIndex.is_in(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with folder_in_turn(folder):
            paths = _write_each(reading, kind, folder, making, is_indexed)
    return Exported(paths, folder, reading.count, list(making.left_out), reading.failed)


class Reading:
    """Reads the chosen conversations, and remembers those that could not be read."""

    def __init__(self, chosen: Chosen, advance: Callable[[], None] = lambda: None) -> None:
        self.entries = chosen.entries
        self.calibration = chosen.calibration
        self.failed: list[tuple[str, str]] = []
        self.count = 0
        self._get = chosen.get
        self._advance = advance

    def all(self, kind: Format, making: Making) -> Iterator[Conversation]:
        """Yield all conversations as a format can carry them, without those that cannot be read."""
        for each in self.entries:
            for conversation in self.one(each):
                yield from _ends(conversation, kind, making)

    def one(self, entry: Entry) -> Iterator[Conversation]:
        """Yield one conversation, if it can be read."""
        try:
            conversation = self._get(entry.id)
        except CopilogError as error:
            self.failed.append((entry.id, str(error)))
        else:
            self.count += 1
            yield conversation
        self._advance()


def pieces_of(reading: Reading, kind: Format, making: Making) -> Iterator[bytes]:
    """Yield the content of the one file that contains all conversations."""
    if kind.write_folder is not None or (kind.shape == "single" and len(reading.entries) > 1):
        raise UsageError(f"the format {kind.name} cannot be written as one file; name a folder, as in -o a-folder/")
    making.calibration = reading.calibration
    conversations = reading.all(kind, making)
    if kind.shape == "single":
        conversations = _trunk_of(conversations, making)
    if kind.shape == "lines":
        return _counting_empty(conversations, kind, reading.entries, making)
    return _encoded(kind.pieces(conversations, reading.entries, making))


def _counting_empty(
    conversations: Iterator[Conversation], kind: Format, entries: Sequence[Entry], making: Making
) -> Iterator[bytes]:
    """Yield the lines of all conversations, and count those of which there is none."""
    last: list[tuple[str, int]] = []  # the conversation that is being written, and how many pieces there were before
    written = 0

    def check() -> None:
        if last and last[0][1] == written:
            making.left_out.add(last[0][0], NOTHING_CARRIED)

    def watched() -> Iterator[Conversation]:
        for conversation in conversations:
            check()
            last[:] = [(conversation.id, written)]
            yield conversation

    for piece in _encoded(kind.pieces(watched(), entries, making)):
        written += 1
        yield piece
    check()


def free_path(folder: Path, name: str, taken: Iterable[str] = ()) -> Path:
    """Return a path in the folder that does not exist yet."""
    path, number = folder / name, 1
    while path.name in taken or path.exists() or path.is_symlink():
        number += 1
        path = folder / numbered(name, number)
    return path


# --- which files ----------------------------------------------------------------------------------------------------


def _folder_for(output: Path | None, kind: Format, number: int) -> Path | None:
    """Return the folder to write into; None if everything is to be in one file."""
    if output is not None:
        is_folder = kind.shape == "dataset" or output.is_dir() or not (output.suffix or output.exists())
        if not is_folder and kind.shape == "single" and number > 1:
            raise UsageError(
                f"{output}: a {kind.title} file contains one conversation, and {number:,} are selected; "
                "name a folder, as in -o a-folder/"
            )
        return output if is_folder else None
    if kind.shape == "lines":
        return None
    return Path() if number == 1 and kind.shape != "dataset" else Path(f"conversations-{kind.name}")


def _write_each(reading: Reading, kind: Format, folder: Path, making: Making, is_indexed: bool) -> list[Path]:
    """Write a file for each conversation.

    The index of a folder is written first, too: an export that is repeated after an interruption uses its names.
    """
    index = FolderIndex.read(folder)
    names = _names(reading.entries, kind, folder, index)
    if is_indexed:
        index.add(kind, names, reading.entries, making)
    paths = []
    for each in reading.entries:
        for conversation in reading.one(each):
            trunk, *branches = _ends(conversation, kind, making)
            written = [(each, trunk), *((entry_of(branch), branch) for branch in branches)]
            if branches:
                names |= _names([branch for branch, _ in written[1:]], kind, folder, index)
                index.add(kind, names, [branch for branch, _ in written[1:]], making)
            for line, end in written:
                path = folder / names[line.id]
                if _write_file(path, _encoded(kind.pieces([end], [line], making))):
                    paths.append(path)
                else:
                    making.left_out.add(each.id, NOTHING_CARRIED)
    if not paths:
        raise _nothing(kind, folder, reading)
    return [*paths, *index.finish(kind, making)] if is_indexed else paths


def _ends(conversation: Conversation, kind: Format, making: Making) -> list[Conversation]:
    """Return what a format can carry: one conversation, or of a branched one a conversation for each end.

    What it does not carry of the conversation is counted.
    """
    count_details(conversation, kind.name, making.left_out)
    if not (kind.is_linear and is_branched(conversation)):
        return [conversation]
    uncounted = sum(not is_counted(turn) for turn in conversation.turns)
    making.left_out.add(conversation.id, UNCOUNTED_TURNS, uncounted)
    ends = ends_of(conversation)
    for end in ends:
        end.turns = [msgspec.structs.replace(turn, branch=None) for turn in end.turns]
    return ends


def _trunk_of(ends: Iterator[Conversation], making: Making) -> Iterator[Conversation]:
    """Yield the first end of the one conversation that the file contains."""
    trunk = next(ends, None)
    if trunk is None:
        return
    yield trunk
    for branch in ends:
        own = {turn.request_id or turn.index for turn in branch.turns} - {
            turn.request_id or turn.index for turn in trunk.turns
        }
        making.left_out.add(trunk.id, "turns of branches, which are files of their own in a folder", len(own))


def _names(entries: Sequence[Entry], kind: Format, folder: Path, index: FolderIndex) -> dict[str, str]:
    """Return the file name of each conversation: the one that it has in the folder, else one that is free."""
    names: dict[str, str] = {}
    taken = set(index.names())
    for each in entries:
        known = index.name_of(each.id, kind)
        if known is None:
            known = free_path(folder, name_of(each.started_at, each.title, kind), taken).name
        names[each.id] = known
        taken.add(known)
    return names


def _write_dataset(reading: Reading, kind: Format, folder: Path, making: Making) -> list[Path]:
    """Write a folder of files that belong together: it appears, or is replaced, when all of them are complete."""
    assert kind.write_folder is not None
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: is a file; the format {kind.name} writes a folder")
    if folder.exists() and not FolderIndex.may_replace(folder, kind):
        raise UsageError(f"{folder}: has files that copilog did not write; name a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with atomic_folder(folder) as draft:
        paths = kind.write_folder(reading.all(kind, making), draft, making)
        if not paths:
            raise _nothing(kind, folder, reading)
        index = FolderIndex.read(draft)
        index.add(kind, {}, reading.entries, making)
    return [folder / path.relative_to(draft) for path in paths]


# --- content --------------------------------------------------------------------------------------------------------


class _Empty(Exception):  # noqa: N818 - a signal within this module
    """There is nothing to write."""


def _write_file(path: Path, pieces: Iterator[bytes]) -> bool:
    """Write a file, and return whether it has content; otherwise nothing changes."""
    try:
        with atomic_file(path, is_private=True) as file:
            size = 0
            for piece in pieces:
                size += len(piece)
                file.write(piece)
            if size == 0:
                raise _Empty
    except _Empty:
        return False
    return True


def _unless_none(reading: Reading, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces of a file; without any conversation there is nothing to write, even if a format has a frame."""
    yield from pieces
    if not reading.count:
        raise _Empty


def _encoded(pieces: Iterator[str | bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield piece if isinstance(piece, bytes) else piece.encode("utf-8", "replace")


def _nothing(kind: Format, path: Path, reading: Reading) -> NothingToWrite:
    if reading.failed and not reading.count:
        return NothingToWrite(f"{path}: not written, no conversation could be read: {reading.failed[0][1]}")
    return NothingToWrite(
        f"{path}: not written, the selected conversations have nothing that a {kind.title} file contains"
    )
