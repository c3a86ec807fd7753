"""`copilog export`"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from copilog.cli.archives import meant_in, reads_archive, searched_archive
from copilog.cli.common import Settings, pass_settings, plural, printable
from copilog.cli.selection_options import selects
from copilog.diagnostics import Report
from copilog.errors import UsageError
from copilog.export.formats import NAMES

if TYPE_CHECKING:
    from copilog.analysis import Selection
    from copilog.export.formats import Format
    from copilog.model import Conversation
    from copilog.store.archive import Archive

PRIVATE = 0o077  # only the user may read the file
STANDARD_OUTPUT = Path("-")


@click.command(
    "export",
    epilog="""\b
Examples:
  copilog export last
  copilog export 5f0c2a9e --format markdown -o tides.md
  copilog export -w tide-tables --since 30d -o tides.html
  copilog export --starred --format markdown -o notes/""",
)
@click.argument("targets", metavar="[ID|last]...", nargs=-1)
@click.option(
    "-f",
    "--format",
    "format_name",
    type=click.Choice(NAMES),
    default="html",
    show_default=True,
    help="A self-contained HTML page, or a Markdown document.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE|DIR",
    help="A file for all conversations, a folder for one file each, or `-` for standard output. "
    "Default, for one conversation: a file in the current folder, named after its title.",
)
@pass_settings
@selects
@reads_archive
def command(
    settings: Settings,
    /,
    targets: tuple[str, ...],
    format_name: str,
    output: Path | None,
    selection: Selection,
) -> int:
    """Write conversations to files that can be read without copilog.

    Select conversations by id (its beginning is enough), by `last` for the newest, or by options such as --since.
    A file that -o names is replaced. In a folder no file is replaced: if a name is taken, a number is added. Only you
    may read the files. They contain the full conversations: check them before you share them.
    """
    from copilog.export.formats import format_named

    kind = format_named(format_name)
    assert kind is not None
    with searched_archive(settings, Report()) as archive:
        ids = _selected_ids(archive, targets, selection)
        if output is None and len(ids) > 1:
            raise UsageError(
                f"-o is required for {len(ids):,} conversations: -o all{kind.ending} for one file, "
                "or -o a-folder/ for one file each"
            )
        folder = Path() if output is None else output if _is_folder(output) else None
        if folder is not None:
            paths = _write_each(archive, ids, kind, folder)
            where = str(paths[0]) if len(paths) == 1 else str(folder)
        else:
            assert output is not None
            _write_all(archive, ids, kind, output)
            where = "" if output == STANDARD_OUTPUT else str(output)
    told = f"{len(ids):,} {plural(len(ids), 'conversation')}"
    click.echo(f"{printable(where)}: {told}" if where else told, err=True)
    return 0


# --- which conversations --------------------------------------------------------------------------------------------


def _selected_ids(archive: Archive, targets: tuple[str, ...], selection: Selection) -> list[str]:
    """Return the ids of the conversations to write, each once."""
    from copilog.store.selection import Selection

    is_chosen = selection != Selection()
    if targets and is_chosen:
        raise UsageError("ids and options that select conversations cannot be used together")
    if not targets and not is_chosen:
        raise UsageError(
            "no conversation is named; use `copilog export ID`, `copilog export last`, or options such as --since 7d"
        )
    if targets:
        return list(dict.fromkeys(meant_in(archive, target) for target in targets))
    ids = [summary.id for summary in archive.list_selected(selection)]
    if not ids:
        raise UsageError("no conversation matches; `copilog list` lists all")
    return ids


# --- output files ---------------------------------------------------------------------------------------------------


def _is_folder(output: Path) -> bool:
    """Return whether the path means a folder: it is one, or ends with a slash."""
    return output != STANDARD_OUTPUT and (output.is_dir() or not output.suffix)


def _write_each(archive: Archive, ids: list[str], kind: Format, folder: Path) -> list[Path]:
    from copilog.export.file_names import file_name

    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for conversation_id in ids:
        conversation = archive.get(conversation_id)
        path = _free_path(folder, file_name(conversation, kind))
        with _private_file(path) as file:
            _write(file, _pieces(archive, [conversation], [conversation_id], kind))
        paths.append(path)
    return paths


def _write_all(archive: Archive, ids: list[str], kind: Format, output: Path) -> None:
    conversations = (archive.get(conversation_id) for conversation_id in ids)
    with _private_file(output) as file:
        _write(file, _pieces(archive, conversations, ids, kind))


def _pieces(archive: Archive, conversations: Iterable[Conversation], ids: list[str], kind: Format) -> Iterator[str]:
    from datetime import UTC, datetime

    from copilog import __version__
    from copilog.export.formats import Making
    from copilog.export.index import entry

    summaries = archive.summaries(ids)
    index = [
        entry(summary.title, summary.updated_at or summary.started_at, summary.turns)
        for summary in (summaries[each] for each in ids)
    ]
    return kind.pieces(conversations, index, Making(f"copilog {__version__}", datetime.now(UTC)))


def _write(file: IO[bytes], pieces: Iterator[str]) -> None:
    for piece in pieces:
        file.write(piece.encode("utf-8", "replace"))


def _free_path(folder: Path, name: str) -> Path:
    """Return a path in the folder that does not exist yet."""
    from copilog.export.file_names import numbered

    path, number = folder / name, 1
    while path.exists() or path.is_symlink():
        number += 1
        path = folder / numbered(name, number)
    return path


@contextmanager
def _private_file(output: Path) -> Iterator[IO[bytes]]:
    from copilog.atomic_files import atomic_file

    if output == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    mask = os.umask(PRIVATE)
    try:
        with atomic_file(output) as file:
            yield file
    finally:
        os.umask(mask)
