"""`copilog archive`: check the archive, and get back what a damaged one still has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from copilog.cli.archives import changes_archive, existing_archive
from copilog.cli.common import Settings, json_option, one_line, pass_settings, plural
from copilog.errors import CopilogError, UsageError

if TYPE_CHECKING:
    from copilog.store.checking import Fault


@click.group("archive")
def command() -> None:
    """Check the archive, and get back what a damaged one still has.

    The archive may be the only copy of conversations whose files are gone. Nothing here changes a damaged file.
    """


@command.command(
    "check",
    epilog="""\b
Examples:
  copilog archive check
  copilog archive check --archive work.db --json""",
)
@json_option
@pass_settings
@changes_archive
def check(settings: Settings, /, as_json: bool) -> int:
    """Check that the archive is sound.

    SQLite's own checks run, then the checksums of all conversations, and of stars, labels and notes, and the full-text
    index is compared with its texts. Damage is listed with the conversation that has it. The exit code is 1 if
    anything is damaged. Each scan checks a small sample in the same way.
    """
    from copilog.store.archive import Archive
    from copilog.store.checking import Fault, faults
    from copilog.store.database import archive_path

    path = archive_path(settings.archive)
    count = 0
    found: list[Fault]
    try:
        with existing_archive(settings) as archive:
            assert isinstance(archive, Archive)
            archive.seal()
            found = faults(archive.connection)
            if not any(fault.what == "file" for fault in found):
                count = archive.count(include_gone=True)
    except UsageError:
        raise
    except CopilogError as error:
        found = [Fault("file", None, None, str(error))]
    if as_json:
        from copilog.cli.json_output import print_json

        print_json({"archive": str(path), "is_sound": not found, "faults": [fault._asdict() for fault in found]})
    else:
        _print_faults(found)
    if found:
        lines = f"{len(found):,} {plural(len(found), 'fault')}"
        click.echo(
            f"{path}: {lines}. Keep this file: `copilog archive salvage` makes a new archive of what can be read",
            err=True,
        )
        return 1
    click.echo(f"{path}: sound, {count:,} {plural(count, 'conversation')}", err=True)
    return 0


def _print_faults(found: list[Fault]) -> None:
    for fault in found:
        click.echo(one_line(str(fault), 400))
