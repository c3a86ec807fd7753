"""`copilog star`, `unstar`, `label` and `note`: what the user adds to conversations. Scans do not change it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from copilog.cli.archives import changes_archive, existing_archive, meant_in
from copilog.cli.common import Settings, one_line, pass_settings, short_id
from copilog.errors import UsageError

if TYPE_CHECKING:
    from copilog.store.summary import Summary


@click.command(
    "star",
    epilog="""\b
Examples:
  copilog star 5f0c2a9e
  copilog star last
  copilog list --starred""",
)
@click.argument("targets", nargs=-1, required=True, metavar="ID...")
@pass_settings
@changes_archive
def star(settings: Settings, /, targets: tuple[str, ...]) -> int:
    """Star conversations, so that `copilog list --starred` finds them.

    The beginning of an id is enough, and `last` is the newest conversation.
    """
    return _set_stars(settings, targets, on=True)


@click.command(
    "unstar",
    epilog="""\b
Examples:
  copilog unstar 5f0c2a9e""",
)
@click.argument("targets", nargs=-1, required=True, metavar="ID...")
@pass_settings
@changes_archive
def unstar(settings: Settings, /, targets: tuple[str, ...]) -> int:
    """Remove the stars of conversations.

    The beginning of an id is enough, and `last` is the newest conversation.
    """
    return _set_stars(settings, targets, on=False)


def _set_stars(settings: Settings, targets: tuple[str, ...], *, on: bool) -> int:
    with existing_archive(settings) as archive:
        ids = [meant_in(archive, target) for target in targets]  # resolve all ids before the first change
        for conversation_id in ids:
            archive.star(conversation_id, on)
        summaries = archive.summaries(ids)
    for conversation_id in ids:
        click.echo(f"{'★' if on else '☆'} {_title(summaries[conversation_id])}", err=True)
    return 0


@click.command(
    "label",
    epilog="""\b
Examples:
  copilog label 5f0c2a9e harbour tides
  copilog label 5f0c2a9e tides --remove
  copilog list --label harbour
  copilog label 5f0c2a9e""",
)
@click.argument("target", metavar="ID")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--remove", is_flag=True, help="Remove these labels; without a NAME, all labels.")
@pass_settings
@changes_archive
def label(settings: Settings, /, target: str, names: tuple[str, ...], remove: bool) -> int:
    """Add labels to a conversation, or remove them.

    The beginning of an id is enough, and `last` is the newest conversation. Without a NAME, its labels are printed.
    """
    with existing_archive(settings) as archive:
        conversation_id = meant_in(archive, target)
        if remove:
            archive.unlabel(conversation_id, *names)
        elif names:
            archive.label(conversation_id, *names)
        summary = archive.summaries([conversation_id])[conversation_id]
    if names or remove:
        labels = "".join(f"  #{one_line(name)}" for name in summary.labels) or "  no labels"
        click.echo(_title(summary) + labels, err=True)
    else:
        for name in summary.labels:
            click.echo(one_line(name))
    return 0


@click.command(
    "note",
    epilog="""\b
Examples:
  copilog note 5f0c2a9e 'the dates of November were wrong'
  copilog note 5f0c2a9e
  copilog note 5f0c2a9e --remove
  git log -1 | copilog note last -""",
)
@click.argument("target", metavar="ID")
@click.argument("text", required=False, metavar="[TEXT | -]")
@click.option("--remove", is_flag=True, help="Remove the note.")
@pass_settings
@changes_archive
def note(settings: Settings, /, target: str, text: str | None, remove: bool) -> int:
    """Write a note on a conversation; it replaces an earlier note.

    The beginning of an id is enough, and `last` is the newest conversation. With `-` as TEXT, the note is read from
    standard input. Without a TEXT, the note is printed.
    """
    if remove and text is not None:
        raise UsageError("TEXT and --remove cannot be used together")
    if text == "-":
        text = sys.stdin.read()
    if text is not None and not text.strip():
        raise UsageError("the note is empty; use --remove to remove a note")
    with existing_archive(settings) as archive:
        conversation_id = meant_in(archive, target)
        if remove or text is not None:
            archive.note(conversation_id, text)
        summary = archive.summaries([conversation_id])[conversation_id]
    if remove or text is not None:
        click.echo(f"{_title(summary)}  {'note removed' if remove else 'note written'}", err=True)
    elif summary.note:
        from copilog.view.terminal_text import clean

        click.echo(clean(summary.note))
    return 0


def _title(summary: Summary) -> str:
    return f"{short_id(summary.id)}  {one_line(summary.title, 70)}"
