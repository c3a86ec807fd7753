"""`copilog recover`"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from copilog.cli.common import (
    Settings,
    archive_option,
    json_option,
    one_line,
    pass_settings,
    plural,
    print_unread,
    printable,
    reading_options,
    short_id,
    strict_option,
)
from copilog.diagnostics import Report
from copilog.errors import CopilogError

if TYPE_CHECKING:
    from copilog.recover.losses import Loss
    from copilog.store.summary import Summary


@click.command(
    "recover",
    epilog="""\b
Examples:
  copilog recover
  copilog recover --cause not-in-index --cause workspace-gone
  copilog recover --root /mnt/backup/home/ana
  copilog recover --json | jq -r '.losses[] | [.id, .reasons[0].cause] | @tsv'""",
)
@click.option("--cause", "causes", multiple=True, metavar="NAME", help="Only losses with this cause. Repeatable.")
@json_option
@strict_option
@archive_option
@reading_options
@pass_settings
def command(
    settings: Settings,
    causes: tuple[str, ...],
    as_json: bool,
    strict: bool | None,
    archive: Path | None,
    roots: tuple[Path, ...],
    sample: bool,
) -> int:
    """List conversations that VS Code or Copilot CLI do not show, and why.

    A session can be missing from VS Code's index, its workspace may have moved, or VS Code refuses its file for one
    broken line. Of others only traces are left: edits, transcripts, logs, exports, prompts, or their copy in copilog's
    archive. Each is listed with the evidence, and with what to do. Nothing is changed.

    The exit code is 0 if nothing was lost, and also if something was; with --strict it is 1 then.
    """
    from copilog.recover.causes import CAUSES

    unknown = [cause for cause in causes if cause not in CAUSES]
    if unknown:
        raise click.UsageError(f"there is no cause {unknown[0]!r}; there are {', '.join(CAUSES)}")
    settings = settings.with_reading(roots, sample).with_archive(archive)
    report = Report()
    losses = _losses(settings, report)
    if causes:
        losses = [loss for loss in losses if any(reason.cause in causes for reason in loss.reasons)]
    if as_json:
        from copilog.cli.json_output import print_json

        print_json({"losses": msgspec.to_builtins(losses), "causes": _counts(losses)})
    else:
        _print(settings, losses)
    print_unread(settings, report)
    number = len(losses)
    what = f"{number:,} {plural(number, 'conversation')} that the programs do not show" if number else "nothing is lost"
    click.echo(what, err=True)
    return 1 if losses and settings.is_strict(strict) else 0


def _losses(settings: Settings, report: Report) -> list[Loss]:
    from copilog.ingest import discover, read
    from copilog.recover.losses import Losses
    from copilog.sources.roots import storage_folders

    places = [root for root in settings.places() if root.exists]
    founds = list(discover(places, report=report))
    folders = [folder for root in places if root.kind != "file" for folder in storage_folders(root)]
    with settings.progress("judging", len(founds)) as advance:

        def counted() -> Iterable[Any]:
            for found in founds:
                yield found
                advance()

        return Losses(folders, lambda found: read(found, report=report)).find(counted(), _archived(settings))


def _archived(settings: Settings) -> list[Summary]:
    """Return what the archive has, as it is: only conversations whose files are gone matter."""
    from copilog.store.archive import Archive
    from copilog.store.database import archive_path

    path = archive_path(settings.archive)
    if settings.reads_disk() or not path.exists():
        return []
    try:
        with Archive(path) as archive:
            return archive.list(include_empty=True, include_gone=True)
    except CopilogError as error:
        click.echo(f"  ! {printable(str(error))}", err=True)
        return []


def _counts(losses: list[Loss]) -> dict[str, int]:
    from copilog.recover.causes import CAUSES

    return {cause: count for cause in CAUSES if (count := sum(loss.cause == cause for loss in losses))}


def _print(settings: Settings, losses: list[Loss]) -> None:
    from copilog.recover.causes import CAUSES, ORDER

    def echo(line: str) -> None:
        click.echo(line, color=settings.in_color())

    losses = sorted(losses, key=lambda loss: (ORDER[loss.cause], loss.workspace or "", loss.id))
    for position, (cause, group) in enumerate(groupby(losses, key=lambda loss: loss.cause)):
        made = list(group)
        if position:
            echo("")
        echo(click.style(f"{cause}: {CAUSES[cause].meaning} ({len(made):,})", bold=True))
        echo(click.style(f"  what to do: {CAUSES[cause].advice}", dim=True))
        for loss in made:
            for line in _lines(loss):
                echo(line)


def _lines(loss: Loss) -> Iterable[str]:
    turns = f"{loss.turns:,} {plural(loss.turns, 'turn')}"
    yield f"  {click.style(short_id(loss.id), fg='cyan')}  {one_line(loss.title, 80)}  ({turns})"
    for reason in loss.reasons:
        line = f":{reason.line}" if reason.line is not None else ""
        yield f"      {one_line(reason.reason)}"
        yield click.style(f"        {printable(reason.path)}{line}", dim=True)
    if loss.likely_folder is not None:
        evidence = "; ".join(map(one_line, loss.likely_folder.evidence))
        yield f"      likely now {one_line(loss.likely_folder.folder)} ({evidence})"
