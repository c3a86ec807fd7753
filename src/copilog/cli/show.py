"""`copilog show`"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from copilog.cli.archives import MOST_CANDIDATES, candidate_rows, fresh_archive, meant_in, reads_archive_or_disk
from copilog.cli.common import (
    Settings,
    end_with,
    finish,
    json_option,
    pass_settings,
    plural,
    print_unread,
    printable,
    strict_option,
)
from copilog.cli.dates import when
from copilog.cli.json_output import print_json
from copilog.derive import without_superseded
from copilog.diagnostics import Report
from copilog.errors import UsageError
from copilog.ingest import discover, read
from copilog.model import Conversation
from copilog.sources import Found
from copilog.store.summary import Summary as Archived
from copilog.summaries import find_by_id, fitting, last_changed_at, of_conversation, summarise

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from copilog.derive.charges import Charge
    from copilog.store.archive import Archive
    from copilog.writers.terminal import TextOptions

MOST_NAMED = 20  # documents of an error
WIDEST = 120  # longer lines are hard to read
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
FILE_ENDINGS = (".json", ".jsonl", ".vscdb", ".db", ".zip")

_TURNS = re.compile(r"(\d+)(?:-(\d+))?")


def as_turns(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Return an option's value as the first and the last turn."""
    if value is None:
        return None
    match = _TURNS.fullmatch(value.strip())
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last:
        raise click.BadParameter(f"{value!r} is not a turn; write 3, or 3-5 for several", ctx, param)
    return first, last


@click.command(
    "show",
    epilog="""\b
Examples:
  copilog show last
  copilog show 5f0c2a9e --turn 3-5 --full
  copilog show 5f0c2a9e --document plan.md
  copilog show ~/Downloads/chat.json --thinking
  copilog show last --json | jq '.turns[].model.id'
  copilog show last --save-attachments pictures/""",
)
@click.argument("target", metavar="ID|PATH|last")
@click.option(
    "-t", "--turn", "turns", metavar="N[-M]", callback=as_turns, help="Show only this turn, or this range of turns."
)
@click.option(
    "--document", metavar="NAME", help="Show only documents with this in their kind, title or path: plan, checkpoint."
)
@click.option("-f", "--full", is_flag=True, help="Show arguments, results and diffs in full, and checkpoints.")
@click.option("--thinking", is_flag=True, help="Show the model's thinking, as far as it was recorded.")
@click.option(
    "--context", is_flag=True, help="Show the context that Copilot added to the prompts; with --full, all of it."
)
@click.option(
    "--superseded", is_flag=True, help="Show superseded turns, too: removed, undone, hidden or replaced ones."
)
@click.option("--pager", is_flag=True, help="Use a pager if the output is longer than the terminal.")
@click.option(
    "--save-attachments",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write images and other binary data to files in this folder. No file is overwritten.",
)
@json_option
@strict_option
@pass_settings
@reads_archive_or_disk
def command(
    settings: Settings,
    /,
    target: str,
    turns: tuple[int, int] | None,
    document: str | None,
    pager: bool,
    save_attachments: Path | None,
    as_json: bool,
    strict: bool | None,
    **chosen: bool,
) -> int:
    """Show one conversation.

    Name it by its id (the beginning is enough), by `last` for the newest, or by the path of a file or folder that
    contains just one conversation. It is read from the archive, which is updated first, or from the files on disk with
    --live, --root or --sample. Superseded turns are shown only with --superseded. If the user copied the conversation
    and continued the copy, the branch is shown after the turn where it begins. --json prints everything that was read.
    """
    if not target.strip():
        raise click.UsageError("ID is empty; `copilog list` shows the ids, and `last` is the newest conversation")
    if as_json and turns is not None:
        raise click.UsageError("--turn cannot be used with --json, which prints the whole conversation")
    if document is not None and (as_json or turns is not None):
        raise click.UsageError("--document cannot be used with --turn or --json")
    report = Report()
    kept: ArchivedFacts | None = None
    charges: tuple[Charge, ...] = ()
    with fresh_archive(replace(settings, live=True) if _is_path(target) else settings, report) as archive:
        if archive is None:
            conversation = _found_on_disk(settings, target, report)
        else:
            kept = _archived_facts(archive, target)
            conversation = archive.get(kept.summary.id)
            charges = () if as_json else _charges(archive, kept.summary.id)
    if turns is not None and turns[0] > len(conversation.turns):
        number = len(conversation.turns)
        raise UsageError(f"there is no turn {turns[0]}; the conversation has {number:,} {plural(number, 'turn')}")
    if as_json:
        print_json(conversation)  # bytes become base64
    else:
        from copilog.writers.terminal import TextOptions

        options = TextOptions(**chosen, markdown=settings.out.is_terminal, turns=turns, charges=charges)
        _print(settings.out, _pieces(conversation, options, document), options, kept, pager=pager)
    if save_attachments is not None:
        _save(conversation if chosen["superseded"] else without_superseded(conversation), save_attachments)
    files = len(conversation.provenance)
    what = f"1 conversation from {files:,} {plural(files, 'file')}"
    if kept is None:
        return finish(settings, report, strict, what)
    if kept.summary.gone_at is not None:
        what += f", files gone since {when(kept.summary.gone_at)}; this is the copy in the archive"
    return end_with(settings, kept.bad_records, 0, strict, what, "copilog problems")


def _charges(archive: Archive, conversation_id: str) -> tuple[Charge, ...]:
    from copilog.store.charges import charges_of

    return tuple(charges_of(archive.connection, conversation_id))


def _pieces(conversation: Conversation, options: TextOptions, document: str | None) -> Iterator[RenderableType]:
    """Return what is to be printed: the conversation, or some of its documents."""
    from copilog.view.documents import documents_named
    from copilog.writers.terminal import render_conversation, render_documents

    if document is None:
        return render_conversation(conversation, options)
    found = documents_named(conversation, document)
    if not found:
        titles = [printable(shown.title) for shown in documents_named(conversation, "")[:MOST_NAMED]]
        there = f"it has {'; '.join(titles)}" if titles else "it has none"
        raise UsageError(f"no document of the conversation has {printable(document)!r} in its name; {there}")
    return render_documents(conversation, found)


def _print(
    console: Console,
    pieces: Iterator[RenderableType],
    options: TextOptions,
    kept: ArchivedFacts | None,
    *,
    pager: bool,
) -> None:
    def print_to_console() -> None:
        if kept is not None:
            for line in _annotations(kept.summary):
                console.print(line, soft_wrap=True)
        for piece in pieces:
            if options.markdown:
                console.print(piece, width=min(console.width, WIDEST), soft_wrap=False)
            else:
                console.print(piece, soft_wrap=True)

    if not (pager and console.is_terminal):
        print_to_console()
        return
    with console.capture() as captured:
        print_to_console()
    text = captured.get()
    if text.count("\n") < console.height:
        click.echo(text, nl=False, color=True)
    else:
        click.echo_via_pager(text)  # it shows colours if the pager supports them


def _save(conversation: Conversation, folder: Path) -> None:
    from copilog.cli.attachments import binaries_of, save
    from copilog.view.wording import size_text

    number = 0
    for written in save(binaries_of(conversation), folder):
        number += 1
        verb = "wrote" if written.is_new else "already there:"
        click.echo(f"{verb} {printable(str(written.path))} ({size_text(len(written.binary.data))})", err=True)
    if not number:
        click.echo("no images or other binary data in this conversation; nothing written", err=True)


# --- in the archive ---------------------------------------------------------------------------------------------


class ArchivedFacts(NamedTuple):
    """What the archive stores about a conversation besides its text."""

    summary: Archived
    bad_records: int


def _archived_facts(archive: Archive, target: str) -> ArchivedFacts:
    conversation_id = meant_in(archive, target)
    summary = archive.summaries([conversation_id])[conversation_id]
    problems = [problem for path in set(summary.paths) for problem in archive.problems(path=path, level="error")]
    return ArchivedFacts(summary, sum(problem.path in summary.paths for problem in problems))


def _annotations(summary: Archived) -> Iterator[Text]:
    """Yield the star, labels and note of the conversation, and whether its files still exist."""
    from rich.text import Text

    from copilog.view.terminal_text import clean, clean_line

    if summary.is_starred or summary.labels:
        line = Text("★" if summary.is_starred else "", "yellow")
        line.append("".join(f"  #{clean_line(label)}" for label in summary.labels), "green")
        yield line
    if summary.note:
        yield Text(clean(summary.note), "italic")
    if summary.gone_at is not None:
        yield Text(f"gone: its files no longer exist (since {when(summary.gone_at)})", "yellow")
    if summary.is_starred or summary.labels or summary.note or summary.gone_at is not None:
        yield Text("")


# --- on disk ----------------------------------------------------------------------------------------------------


def _found_on_disk(settings: Settings, target: str, report: Report) -> Conversation:
    """Return the conversation; if there is none, print what could not be read, as it may be there."""
    try:
        return find_conversation(settings, target, report)
    except UsageError:
        print_unread(settings, report)
        raise


def find_conversation(settings: Settings, target: str, report: Report) -> Conversation:
    """Return the one conversation that `target` names; raise UsageError with the next step if it is not exactly one."""
    if target == "last":
        return _last(settings, report)
    if _is_path(target):
        return _only(list(read(Path(target), report=report, definitions=settings.definitions())), Path(target), report)
    return _by_id(settings, target, report)


def _is_path(target: str) -> bool:
    """Return whether the target is a file or folder: it exists, or it cannot be an id."""
    if "/" in target or os.sep in target or target.lower().endswith(FILE_ENDINGS):
        return True
    try:
        return Path(target).exists()
    except OSError:  # too long for a name
        return False


def _by_id(settings: Settings, target: str, report: Report) -> Conversation:
    founds = find_by_id(target, discover(settings.places(), report=report))
    if not founds:
        raise UsageError(
            f"no conversation has an id that begins with {target!r}; `copilog list --all` lists all ids, "
            "and `copilog doctor` shows which folders were searched"
        )
    if len(founds) > 1:
        founds.sort(key=last_changed_at, reverse=True)
        summaries = [summary for found in founds[:MOST_CANDIDATES] for summary in summarise(found, report=report)]
        raise _ambiguous(target, len(founds), candidate_rows(summaries, max(0, len(founds) - MOST_CANDIDATES)))
    conversations = fitting(target, list(read(founds[0], report=report, definitions=settings.definitions())))
    if len(conversations) > 1:  # VS Code and Copilot CLI may have the same id
        rows = candidate_rows([of_conversation(conversation) for conversation in conversations], 0)
        raise _ambiguous(target, len(conversations), rows)
    return _only(conversations, founds[0].path, report)


def _ambiguous(target: str, number: int, rows: str) -> UsageError:
    return UsageError(f"{target!r} matches {number:,} ids; type more characters of one of these:\n{rows}")


def _last(settings: Settings, report: Report) -> Conversation:
    """Return the newest conversation that has messages.

    A file is at least as new as its contents, so that reading stops at the first file that is older than the best one.
    """
    newest: tuple[datetime, Found] | None = None
    for found in sorted(discover(settings.places(), report=report), key=last_changed_at, reverse=True):
        if newest is not None and last_changed_at(found) <= newest[0]:
            break
        for summary in summarise(found, report=report):
            moment = summary.updated_at or summary.started_at or LONG_AGO
            if not summary.is_empty and (newest is None or moment > newest[0]):
                newest = moment, found
    if newest is None:
        raise UsageError("no conversation was found; `copilog doctor` shows which folders were searched")
    return _only(list(read(newest[1], report=report, definitions=settings.definitions())), newest[1].path, report)


def _only(conversations: list[Conversation], path: Path, report: Report) -> Conversation:
    if not conversations:
        raise UsageError(_why_nothing(path, report))
    if len(conversations) > 1:
        conversations.sort(key=lambda conversation: conversation.updated_at or LONG_AGO, reverse=True)
        summaries = [of_conversation(conversation) for conversation in conversations[:MOST_CANDIDATES]]
        table = candidate_rows(summaries, len(conversations) - len(summaries), with_path=True)
        raise UsageError(
            f"{path} contains {len(conversations):,} conversations; name one of the files, "
            f"or {path} with --root and one of the ids:\n{table}"
        )
    return conversations[0]


def _why_nothing(path: Path, report: Report) -> str:
    from copilog.view.terminal_text import clean_line

    reason = next((diagnostic for diagnostic in report.diagnostics() if diagnostic.level == "error"), None)
    if reason is not None:
        return clean_line(f"{reason.place()}: {reason.reason}; it has nothing to show")
    return f"{path}: contains no conversation; `copilog inspect` reports what was read"
