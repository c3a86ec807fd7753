"""`copilog rm`, `restore` and `vacuum`: what leaves the archive, comes back, and what space that gives."""

from __future__ import annotations

import sys

import click

from copilog.cli.archives import candidate_rows, changes_archive, kept_archive, meant_in
from copilog.cli.common import Settings, one_line, pass_settings, plural
from copilog.errors import UsageError


@click.command(
    "rm",
    epilog="""\b
Examples:
  copilog rm 5f0c2a9e
  copilog rm 5f0c2a9e 77aa01c3 --yes
  copilog restore 5f0c2a9e""",
)
@click.argument("targets", nargs=-1, required=True, metavar="ID...")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@pass_settings
@changes_archive
def remove(settings: Settings, /, targets: tuple[str, ...], yes: bool) -> int:
    """Remove conversations from the archive.

    The files they were read from stay as they are: copilog never changes those. Scans leave the conversations out from
    then on, until `copilog restore` lets them in again. Their stars, labels and notes are kept.
    """
    with kept_archive(settings) as archive:
        ids = list(dict.fromkeys(meant_in(archive, target) for target in targets))
        summaries = archive.summaries(ids)
        number = f"{len(ids):,} {plural(len(ids), 'conversation')}"
        if not yes:
            _ask(f"{candidate_rows(list(summaries.values()))}\nRemove {number} from the archive?")
        for conversation_id in ids:
            archive.remove(conversation_id)
    lost = sum(summary.gone_at is not None for summary in summaries.values())
    click.echo(
        f"removed {number}; {_files_stay(len(ids), lost)}. Scans leave {_them(ids)} out from now on; "
        "`copilog restore ID` takes that back, and `copilog vacuum` frees the space",
        err=True,
    )
    return 0


def can_be_asked() -> bool:
    return sys.stdin.isatty()


def _ask(question: str) -> None:
    if not can_be_asked():
        raise UsageError("--yes is required when there is no terminal to ask on")
    if not click.confirm(question, err=True):
        raise click.Abort


def _files_stay(number: int, lost: int) -> str:
    if lost == number:
        return "there were no source files left"
    return "the source files stay as they are"


def _them(ids: list[str]) -> str:
    return "it" if len(ids) == 1 else "them"


@click.command(
    "restore",
    epilog="""\b
Examples:
  copilog restore 5f0c2a9e
  copilog restore""",
)
@click.argument("targets", nargs=-1, metavar="[ID...]")
@pass_settings
@changes_archive
def restore(settings: Settings, /, targets: tuple[str, ...]) -> int:
    """Let conversations come back that were removed.

    The next scan reads them again, if their files are still there. Without an ID the removed ones are listed.
    """
    with kept_archive(settings) as archive:
        if not targets:
            for conversation_id, removed_at in archive.removed().items():
                click.echo(f"{one_line(conversation_id)}  removed {removed_at[:10]}")
            return 0
        for target in targets:
            restored = one_line(archive.restore(target))
            click.echo(f"{restored}: comes back with the next scan, if its files are there", err=True)
    return 0


@click.command(
    "vacuum",
    epilog="""\b
Examples:
  copilog vacuum""",
)
@pass_settings
@changes_archive
def vacuum(settings: Settings, /) -> int:
    """Give the space back that the archive no longer needs, and tidy its index.

    What was removed is not to be found in the file afterwards.
    """
    from copilog.view.wording import size_words

    with kept_archive(settings) as archive:
        before, after = archive.vacuum()
        click.echo(f"{archive.path}: {size_words(after)}, was {size_words(before)}", err=True)
    return 0
