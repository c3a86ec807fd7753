"""`copilog rm`, `restore` and `vacuum`: remove conversations from the archive, let them return, and free space."""

from __future__ import annotations

import sys

import click

from copilog.cli.archives import candidate_rows, changes_archive, existing_archive, meant_in
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
@click.option("-y", "--yes", is_flag=True, help="Remove without asking.")
@pass_settings
@changes_archive
def remove(settings: Settings, /, targets: tuple[str, ...], yes: bool) -> int:
    """Remove conversations from the archive.

    The source files stay as they are: copilog never changes them. Later scans skip these conversations until
    `copilog restore` is run. Their stars, labels and notes remain. The beginning of an id is enough, and `last` is the
    newest conversation.
    """
    with existing_archive(settings) as archive:
        ids = list(dict.fromkeys(meant_in(archive, target) for target in targets))
        summaries = archive.summaries(ids)
        number = f"{len(ids):,} {plural(len(ids), 'conversation')}"
        if not yes:
            _ask(f"{candidate_rows(list(summaries.values()))}\nRemove {number} from the archive?")
        for conversation_id in ids:
            archive.remove(conversation_id)
    lost = sum(summary.gone_at is not None for summary in summaries.values())
    click.echo(
        f"removed {number}; {_files_stay(len(ids), lost)}. Scans skip {_pronoun(ids)} from now on; "
        "`copilog restore ID` undoes that, and `copilog vacuum` frees the space",
        err=True,
    )
    return 0


def can_confirm() -> bool:
    return sys.stdin.isatty()


def _ask(question: str) -> None:
    if not can_confirm():
        raise UsageError("--yes is required when there is no terminal to ask on")
    if not click.confirm(question, err=True):
        raise click.Abort


def _files_stay(number: int, lost: int) -> str:
    if lost == number:
        return "there were no source files left"
    return "the source files stay as they are"


def _pronoun(ids: list[str]) -> str:
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
    """Let the next scan read removed conversations again.

    It does so if their files still exist. Without an ID, the removed conversations are listed.
    """
    with existing_archive(settings) as archive:
        if not targets:
            for conversation_id, removed_at in archive.removed().items():
                click.echo(f"{one_line(conversation_id)}  removed {removed_at[:10]}")
            return 0
        for target in targets:
            restored = one_line(archive.restore(target))
            click.echo(f"{restored}: the next scan reads it again, if its files still exist", err=True)
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
    """Free the space that the archive no longer needs, and rebuild its index.

    Afterwards the file contains nothing of the conversations that `copilog rm` removed.
    """
    from copilog.view.wording import size_text

    with existing_archive(settings) as archive:
        before, after = archive.vacuum()
        click.echo(f"{archive.path}: {size_text(after)}, was {size_text(before)}", err=True)
    return 0
