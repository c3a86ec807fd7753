"""`copilog mcp`"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from copilog.cli.archives import bring_up_to_date, reads_archive
from copilog.cli.common import Settings, pass_settings
from copilog.cli.redacting import redact_option, redactor_for
from copilog.cli.tokens import checked_token, new_token, token_from
from copilog.errors import CopilogError, UsageError
from copilog.sqliteio import remove_own_copies

if TYPE_CHECKING:
    from copilog.mcp.refreshing import Refresher

DEFAULT_PORT = 7117
LIBRARIES = frozenset({"mcp", "mcp_types", "pydantic", "anyio", "uvicorn", "starlette"})
LOCK_SECONDS = 5.0


@click.command(
    "mcp",
    epilog="""\b
Examples:
  copilog mcp                                 what an agent's configuration starts
  copilog mcp --http --token-file ~/.config/copilog/mcp-token
  copilog --sample mcp                        to try it with the made-up sample""",
)
@click.option(
    "--http",
    "over_http",
    is_flag=True,
    help="Serve HTTP on 127.0.0.1 instead of standard input and output; requests need the token.",
)
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    help=f"The port for --http; 0 selects a free one. Default: {DEFAULT_PORT}.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The file with the token for --http; it is created if it does not exist. The token may also be in the "
    "environment variable COPILOG_TOKEN. Without either, each start prints a new token.",
)
@redact_option
@pass_settings
@reads_archive
def command(
    settings: Settings, over_http: bool, port: int | None, token_file: Path | None, redact: bool | None
) -> None:
    """Let coding agents search and read the archive, over the Model Context Protocol (MCP).

    The agent starts this command and gets tools that search and read conversations, explain a line or a commit, and
    list commands, files, memories and usage. No tool changes anything. The archive is updated at the start, and by a
    later request after a pause; with --no-scan it is never updated. With --redact, the answers have placeholders
    instead of secrets and private names; the ids in them stay valid as long as they have none. docs/mcp.md describes
    the tools, and how to configure an agent.
    """
    if not over_http and (port is not None or token_file is not None):
        raise UsageError("--port and --token-file can only be used with --http")
    try:
        from copilog.mcp import over_http as web
        from copilog.mcp import server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in LIBRARIES:
            raise
        raise CopilogError(
            f"the server needs version 2 of the SDK, and {error.name} is missing: pip install 'copilog[mcp]'"
        ) from None
    with _archive_to_serve(settings) as path:
        _end_on_signal(path.parent if settings.reads_disk() else None)
        redactor = redactor_for(settings, redact, None if settings.reads_disk() else path)
        built = server.build_server(path, _refresher(settings, path), redactor)
        if not over_http:
            server.serve_stdio(built)
            return
        named = os.environ.get("COPILOG_TOKEN")
        if token_file is not None:
            token, origin = token_from(token_file), f"in {token_file}"
        elif named:
            token, origin = checked_token(named, "COPILOG_TOKEN"), "in COPILOG_TOKEN"
        else:
            token = origin = new_token()
        listener = web.listen(DEFAULT_PORT if port is None else port)
        address = f"http://{web.LOOPBACK}:{listener.getsockname()[1]}{web.PATH}"
        click.echo(f"serving {address}; end it with Ctrl-C", err=True)
        click.echo(f"token: {origin}", err=True)
        web.serve(built, token, listener)


@contextmanager
def _archive_to_serve(settings: Settings) -> Iterator[Path]:
    """Return the user's archive; if only the disk is to be read, a temporary one."""
    from copilog.store.database import archive_path

    if not settings.reads_disk():
        yield archive_path(settings.archive)
        return
    from copilog.telemetry.spool import spool_folder

    with spool_folder() as folder:
        yield Path(folder, "archive.db")


def _end_on_signal(folder: Path | None) -> None:
    """End at once on a signal, and remove temporary files.

    The thread that reads standard input cannot be interrupted. A conversation is stored completely or not at all.
    """

    def end(number: int, _: object) -> None:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        remove_own_copies()  # of databases that are being read just now
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


def _refresher(settings: Settings, path: Path) -> Refresher | None:
    """Return what updates the archive, its first scan started; None if the archive is served as it is."""
    from copilog.mcp.refreshing import Refresher
    from copilog.store.archive import Archive
    from copilog.store.database import ArchiveError

    if settings.no_scan and not settings.reads_disk():
        Archive(path).close()  # reports a missing archive now, and not at the first question
        return None
    try:
        with Archive(path, write=True) as archive:
            is_first = archive.count() == 0
    except ArchiveError as error:
        Archive(path).close()
        click.echo(f"{error}; this is the archive as it is", err=True)
        return None
    refresher = Refresher(lambda: _scan(settings, path), is_first=is_first)
    refresher.start()
    return refresher


def _scan(settings: Settings, path: Path) -> None:
    from copilog.store.archive import Archive

    with Archive(path, write=True) as archive:
        # In this process: its standard input and output belong to the protocol.
        bring_up_to_date(settings, archive, jobs=1, lock_seconds=LOCK_SECONDS)
