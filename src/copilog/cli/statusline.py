"""`copilog statusline`. For prompts, `print_quickly` prints the same line before this module is imported."""

from __future__ import annotations

from pathlib import Path

import click

from copilog.analysis.fast_statusline import FIELDS, Wishes, line_for
from copilog.analysis.statusline import Month, names_folder
from copilog.cli.common import Settings, archive_option, json_option, no_scan_option, pass_settings
from copilog.cli.selection_options import selects
from copilog.errors import UsageError
from copilog.store.dates import period_of
from copilog.store.selection import Selection


@click.command(
    "statusline",
    epilog="""\b
Examples:
  copilog statusline
  copilog statusline --workspace .
  copilog statusline --format '{turns_today} turns · {tokens_today} tokens'
  PS1='$(copilog statusline -w .) \\$ '""",
)
@click.option(
    "--format",
    "template",
    metavar="TEMPLATE",
    help=f"The line with fields in braces: {', '.join(FIELDS)}. What was not recorded is shown as -.",
)
@click.option("--at", metavar="WHEN", help="The day of this date, such as yesterday, not today.")
@json_option
@no_scan_option
@archive_option
@pass_settings
@selects
def command(
    settings: Settings,
    /,
    template: str | None,
    at: str | None,
    selection: Selection,
    as_json: bool,
    no_scan: bool,
    archive: Path | None,
) -> None:
    """Print today's figures in one line, for a prompt or a status bar.

    Turns, conversations, tokens (with ~ where a part is estimated, and >= for what they are at least), premium
    requests, credits (with ÷ where a part was recorded for several turns together and is divided among them), what was
    used of the `budget` of the config file in the billing month with its pace and forecast, failures, and the model
    that was used last. The archive is read as it is, and nothing is waited for: `copilog watch` or `copilog scan` keeps
    it up to date, and the line says so when that was not done for a day. Where there is no archive yet, the line says
    that, and the exit code is 0 all the same.

    With --since and --until, the figures are those of that period, whatever the names of the fields are; --workspace
    may also be a folder, or `.` for the current repository.
    """
    settings = settings.with_archive(archive, no_scan=no_scan)
    if settings.live or settings.names_roots():
        raise UsageError("the status line reads the archive, and cannot be used with --root, --sample or --live")
    plan = settings.config.plan
    wishes = Wishes(
        template=template,
        workspace=selection.workspace if _is_folder(selection) else None,
        archive=settings.archive,
        since=selection.since,
        until=selection.until,
        conversations=_chosen(settings, selection),
        as_json=as_json,
        in_colour=settings.in_color(),
        at=period_of(at, zone=selection.zone).start if at is not None else None,
        month=Month(plan.budget, plan.billing, plan.billing_day),
        utc=selection.utc,
    )
    line = line_for(wishes)
    click.echo(line, color=True)


def _chosen(settings: Settings, selection: Selection) -> str | None:
    """Return the numbers of the selected conversations, as JSON; None if only workspace and time select."""
    import msgspec

    from copilog.analysis.selection import choose
    from copilog.store.archive import open_archive
    from copilog.store.database import ArchiveError

    workspace = None if _is_folder(selection) else selection.workspace
    rest = msgspec.structs.replace(selection, workspace=workspace, since=None, until=None)
    if rest == Selection():
        return None
    try:
        with open_archive(settings.archive) as archive:
            rows = choose(archive, rest).connection.execute("SELECT conversation FROM temp.chosen").fetchall()
    except ArchiveError:
        return None  # the line itself reports the error
    return msgspec.json.encode([number for (number,) in rows]).decode()


def _is_folder(selection: Selection) -> bool:
    return selection.workspace is not None and names_folder(selection.workspace)
