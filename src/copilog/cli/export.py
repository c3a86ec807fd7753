"""`copilog export`"""

from __future__ import annotations

import os
import stat
import sys
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from copilog.cli.archives import meant_in, reads_archive, searched_archive
from copilog.cli.common import Settings, default_jobs, json_option, pass_settings, plural, printable
from copilog.cli.json_output import print_json
from copilog.cli.redacting import (
    is_redacted,
    print_replaced,
    redact_option,
    redacted_conversations,
    redactor_for,
    review_option,
)
from copilog.cli.redacting import review as review_findings
from copilog.cli.selection_options import selects
from copilog.diagnostics import Report
from copilog.errors import UsageError
from copilog.exports.formats import NAMES

if TYPE_CHECKING:
    from copilog.analysis import Selection
    from copilog.exports.chosen import Chosen
    from copilog.exports.formats import Format, Making
    from copilog.exports.writing import Exported
    from copilog.store.archive import Archive

STANDARD_OUTPUT = Path("-")
WHOLE = ("json", "bundle")  # formats with everything, also what belongs to no conversation
MOST_FAILED = 20  # conversations that could not be read, of those that are printed


@click.command(
    "export",
    epilog="""\b
Examples:
  copilog export last
  copilog export 5f0c2a9e --format markdown -o tides.md
  copilog export -w tide-tables --since 30d -o tides.html
  copilog export --starred --format markdown -o notes/
  copilog export --all --format markdown -o notes/
  copilog export --all --format openai --kept-only --unique -o train.jsonl
  copilog export --all --format parquet -o dataset/""",
)
@click.argument("targets", metavar="[ID|last]...", nargs=-1)
@click.option(
    "-f",
    "--format",
    "format_name",
    type=click.Choice(NAMES),
    default="html",
    show_default=True,
    help="The kind of file; docs/exports.md describes each.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE|DIR",
    help="A file for all conversations, a folder for one file each, or `-` for standard output. Default: a file or a "
    "folder in the current folder.",
)
@click.option("-a", "--all", "is_all", is_flag=True, help="Export all conversations.")
@click.option("--release", metavar="VERSION", help="The release that is to read them, such as 1.107 (chat, vscode).")
@click.option(
    "--new-id", is_flag=True, default=None, help="Write sessions under new ids, beside the old ones (vscode)."
)
@click.option("--prompts-only", is_flag=True, default=None, help="Only what the user wrote (markdown).")
@click.option(
    "--thinking/--no-thinking",
    default=None,
    help="Include the thinking of models (openai, sharegpt). Default: no.",
)
@click.option(
    "--system-prompt/--no-system-prompt",
    default=None,
    help="Include the system prompt (openai, sharegpt). Default: yes.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    metavar="N",
    help="Cut each example to about so many tokens, after an answer (openai, sharegpt).",
)
@click.option(
    "--kept-only", is_flag=True, default=None, help="Only turns with edits, all of them kept (openai, sharegpt)."
)
@click.option(
    "--unique", is_flag=True, default=None, help="Leave out what nearly repeats an earlier example (openai, sharegpt)."
)
@redact_option
@review_option
@click.option("--no-annotations", is_flag=True, default=None, help="Without stars, labels and notes (bundle).")
@json_option
@pass_settings
@selects
@reads_archive
def command(
    settings: Settings,
    /,
    targets: tuple[str, ...],
    format_name: str,
    output: Path | None,
    is_all: bool,
    redact: bool | None,
    review: bool,
    as_json: bool,
    selection: Selection,
    **chosen_options: Any,
) -> int:
    """Write conversations to files that people, or other programs, can read without copilog.

    Select conversations by id (its beginning is enough), by `last` for the newest, by options such as --since, or all.
    A file that -o names is replaced. A folder gets an index, and a later export into it replaces the files that copilog
    wrote there, and no others. Only you may read new files. Without --redact they contain the full conversations: check
    them before you share them. What a format cannot contain is listed at the end.
    """
    from datetime import UTC, datetime

    from copilog import __version__
    from copilog.exports.formats import Making, format_named, options_for

    kind = format_named(format_name)
    assert kind is not None
    making = Making(
        by=f"copilog {__version__}",
        at=datetime.now(UTC),
        options=options_for(kind, chosen_options),
        is_redacted=review or is_redacted(settings, redact),
    )
    with searched_archive(settings, Report()) as archive, ExitStack() as open_files:
        ids = _selected_ids(archive, targets, selection, is_all, is_whole=kind.name in WHOLE)
        chosen, replaced = _chosen(settings, archive, ids, making.is_redacted, review, open_files)
        if output == STANDARD_OUTPUT:
            exported = _print(chosen, kind, making)
        else:
            exported = _write(settings, chosen, kind, output, making)
    _print_summary(exported)
    if replaced is not None:
        print_replaced(replaced)
    if as_json and output != STANDARD_OUTPUT:
        print_json(_as_json(exported))
    return 1 if exported.failed else 0


# --- which conversations --------------------------------------------------------------------------------------------


def _selected_ids(
    archive: Archive, targets: tuple[str, ...], selection: Selection, is_all: bool, *, is_whole: bool
) -> list[str]:
    """Return the ids of the conversations to write, each once; of a whole archive, also of memories of none of them."""
    from copilog.store.selection import Selection

    is_chosen = is_all or selection != Selection()
    if targets and is_chosen:
        raise UsageError("ids cannot be used together with --all or options that select conversations")
    if not targets and not is_chosen:
        raise UsageError(
            "no conversation is named; use `copilog export ID`, `copilog export last`, --all, or options such as "
            "--since 7d"
        )
    if targets:
        return list(dict.fromkeys(meant_in(archive, target) for target in targets))
    ids = [summary.id for summary in archive.list_selected(selection)]
    if is_all and is_whole and selection == Selection():
        ids += archive.collections()
    if not ids:
        raise UsageError("no conversation matches; `copilog list` lists all")
    return ids


def _chosen(
    settings: Settings, archive: Archive, ids: list[str], is_redacted: bool, is_reviewed: bool, open_files: ExitStack
) -> tuple[Chosen, Counter[str] | None]:
    """Return what is to be written, and what was replaced in it if it is redacted."""
    from copilog.exports.chosen import chosen_in, held

    chosen = chosen_in(archive, ids)
    if not is_redacted:
        return chosen, None

    own = None if settings.reads_disk() else archive.path
    if is_reviewed:
        redactor = review_findings(settings, (archive.get(each) for each in ids), own)
    else:
        found = redactor_for(settings, True, own)
        assert found is not None
        redactor = found
    ids = [each.id for each in chosen.entries]
    conversations = redacted_conversations(archive, ids, redactor, default_jobs())
    return open_files.enter_context(held(chosen, conversations, redactor)), redactor.counts


# --- output ---------------------------------------------------------------------------------------------------------


def _write(settings: Settings, chosen: Chosen, kind: Format, output: Path | None, making: Making) -> Exported:
    from copilog.exports.writing import write

    if len(chosen.entries) == 1:
        return write(chosen, kind, output, making)
    with settings.progress("exporting", len(chosen.entries)) as advance:
        return write(chosen, kind, output, making, advance)


def _print(chosen: Chosen, kind: Format, making: Making) -> Exported:
    from copilog.exports.writing import Exported, Reading, pieces_of

    reading = Reading(chosen)
    for piece in pieces_of(reading, kind, making):
        _send(piece)
    _send(b"")
    return Exported([], None, reading.count, list(making.left_out), reading.failed)


def _send(piece: bytes) -> None:
    """Print a piece of a file; without one, all that waits to be printed."""
    from copilog.atomic_files import CannotWrite, reason_of

    try:
        if piece:
            sys.stdout.buffer.write(piece)
        else:
            sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        with suppress(OSError, ValueError):  # what waits would be tried again at the end of the program
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise CannotWrite(
            f"standard output: cannot be written: {reason_of(error)}; what was printed before is not complete"
        ) from None


def _print_summary(exported: Exported) -> None:
    """Print what was written, what the files do not contain, and what could not be read."""
    words = f"{exported.conversations:,} {plural(exported.conversations, 'conversation')}"
    where = exported.folder if exported.folder and exported.folder != Path() else next(iter(exported.paths), None)
    click.echo(f"{printable(str(where))}: {words}" if where is not None else words, err=True)
    if readable := sum(map(_can_be_read_by_others, exported.paths)):
        which = (
            "it can be read by others" if len(exported.paths) == 1 else f"{readable:,} of them can be read by others"
        )
        click.echo(f"{which}: a file that is replaced keeps its permissions", err=True)
    if exported.left_out:
        click.echo("not in what was written:", err=True)
    for left_out in exported.left_out:
        click.echo(f"  {printable(left_out.words)}", err=True)
    for conversation_id, reason in exported.failed[:MOST_FAILED]:
        click.echo(f"not exported: {printable(conversation_id)}: {printable(reason)}", err=True)
    if len(exported.failed) > MOST_FAILED:
        click.echo(f"not exported: {len(exported.failed) - MOST_FAILED:,} more", err=True)


def _can_be_read_by_others(path: Path) -> bool:
    return os.name != "nt" and stat.S_ISREG(path.stat().st_mode) and bool(path.stat().st_mode & 0o044)


def _as_json(exported: Exported) -> dict[str, Any]:
    return {
        "files": [str(path) for path in exported.paths],
        "folder": str(exported.folder) if exported.folder is not None else None,
        "conversations": exported.conversations,
        "left_out": [left_out._asdict() for left_out in exported.left_out],
        "failed": [{"id": conversation_id, "reason": reason} for conversation_id, reason in exported.failed],
    }
