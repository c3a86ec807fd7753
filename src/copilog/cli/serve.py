"""`copilog serve`"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from copilog.cli.archives import reads_archive, searched_archive
from copilog.cli.common import Settings, pass_settings
from copilog.cli.libraries import missing_libraries
from copilog.cli.redacting import private_in
from copilog.cli.tokens import checked_token, new_token, token_from
from copilog.diagnostics import Report

if TYPE_CHECKING:
    from copilog.web.scans import Places

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8765
SAMPLE = "This is the sample that comes with copilog; nothing in it is real."
NOT_STORED = (
    "These conversations are not stored in your archive: stars, labels and notes are lost when the viewer ends."
)
NO_DATA = "No Copilot data was found on this machine."


class ShownArchive(NamedTuple):
    """What the viewer shows."""

    archive: Path
    notice: str | None
    is_followed: bool  # whether changes on disk appear on the pages


class Binding(NamedTuple):
    """How the viewer is reached."""

    host: str
    port: int | None
    token: str
    files: tuple[Path, ...]  # of trajectories
    no_browser: bool


@click.command(
    "serve",
    epilog="""\b
Examples:
  copilog serve
  copilog serve --no-browser --port 9000
  copilog serve --root /mnt/backup/home/ana
  copilog serve before.jsonl after.jsonl      to read and compare trajectories, too
  copilog --sample serve                      to try it with the made-up sample""",
)
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    help=f"The port; 0 selects a free one. Default: {DEFAULT_PORT}, or a free one if that is in use.",
)
@click.option(
    "--host",
    default=DEFAULT_HOST,
    show_default=True,
    metavar="ADDRESS",
    help="The address to listen on. With any but the default, other machines can connect if they have the token.",
)
@click.option("--no-browser", is_flag=True, help="Print the address, but open no browser.")
@click.option(
    "--token",
    envvar="COPILOG_TOKEN",
    metavar="TEXT",
    help="The token that requests need. Other users can see it in the list of processes: prefer --token-file, or the "
    "environment variable COPILOG_TOKEN. Without any of these, each start makes a new token.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The file with the token. If it does not exist, it is created, and only you may read it.",
)
@click.argument(
    "files", nargs=-1, type=click.Path(path_type=Path, exists=True, dir_okay=False, readable=True), metavar="[FILE...]"
)
@pass_settings
@reads_archive
def command(
    settings: Settings,
    /,
    files: tuple[Path, ...],
    port: int | None,
    host: str,
    no_browser: bool,
    token: str | None,
    token_file: Path | None,
) -> int:
    """Read, search and measure conversations in the browser.

    copilog updates the archive and opens the viewer in your browser. It runs until Ctrl-C. Conversations that change
    meanwhile are updated on its pages; with --no-scan, the pages show the archive as it is. The address is printed to
    standard output. It contains a token, and requests without the token are refused. If there is no Copilot data, the
    bundled sample is shown.

    FILEs are trajectories that `copilog extract` wrote; the viewer's page "Trajectories" shows them.
    """
    if token_file is not None:  # a file is more specific than the environment variable
        token = token_from(token_file)
    elif token is not None:
        token = checked_token(token, "--token")
    try:
        with _ending_on_signal(), _archive_to_serve(settings) as served:
            wanted = Binding(host, port, token or new_token(), files, no_browser)
            _serve(settings, served, wanted)
    except KeyboardInterrupt:  # interrupted before the server started
        pass
    click.echo("the viewer has ended", err=True)
    return 0


@contextmanager
def _ending_on_signal() -> Iterator[None]:
    """Treat the signal to end as Ctrl-C, so that temporary files are removed."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# --- the archive to show --------------------------------------------------------------------------------------------


@contextmanager
def _archive_to_serve(settings: Settings) -> Iterator[ShownArchive]:
    """Return the archive, updated; if there is no data at all, the sample in a temporary one."""
    with searched_archive(settings, Report()) as archive:
        has_any = archive.count(include_empty=True) > 0
        archive.close()  # each request opens it
        if has_any or settings.roots or settings.sample:
            if not has_any:
                click.echo("the named folders contain no conversation", err=True)
            notice = SAMPLE if settings.sample else NOT_STORED if settings.reads_disk() else None
            yield ShownArchive(archive.path, notice, is_followed=not (settings.sample or settings.no_scan))
            return
    with searched_archive(replace(settings, sample=True), Report()) as archive:
        archive.close()
        yield ShownArchive(archive.path, f"{NO_DATA} {SAMPLE}", is_followed=False)


def _folders_to_watch(settings: Settings, served: ShownArchive) -> Places | None:
    """Return the folders to watch while the viewer runs."""
    from copilog.web.scans import Places

    if not served.is_followed or not os.access(served.archive, os.W_OK):
        return None
    return Places(served.archive, settings.places, has_definitions=not (settings.roots or settings.sample))


# --- serving --------------------------------------------------------------------------------------------------------


def _serve(settings: Settings, served: ShownArchive, wanted: Binding) -> None:
    from copilog.web.app import create_app
    from copilog.web.serving import ViewerServer, address_of, is_loopback, listen, names_for, serve
    from copilog.web.viewer import ViewerSettings

    host, port, token = wanted.host, wanted.port, wanted.token
    listener = listen(host, DEFAULT_PORT if port is None else port, or_any=port is None)
    address = address_of(listener, host)
    entry = new_token()
    viewer_settings = ViewerSettings(
        archive=served.archive,
        token=token,
        entry=entry,
        hosts=names_for(host),
        notice=served.notice,
        is_of_this_machine=not (settings.roots or settings.sample) and served.notice in (None, NOT_STORED),
        files=wanted.files,
        plan=settings.config.plan,
        is_redacted=settings.config.redact.value,
        private=private_in(settings),
    )
    server = ViewerServer(create_app(viewer_settings, _folders_to_watch(settings, served)), is_talkative=settings.debug)
    if not is_loopback(host):
        click.echo(_warning(host), err=True)
    if served.notice:
        click.echo(served.notice, err=True)
    if missing_libraries():
        click.echo("browser libraries are missing: no charts are drawn; see `copilog doctor`", err=True)
    click.echo(f"{address}?token={token}")
    opens = not wanted.no_browser and has_display()
    click.echo(f"{'opening' if opens else 'open'} the address in a browser; end the viewer with Ctrl-C", err=True)
    serve(server, listener, (lambda: _open(f"{address}?token={entry}")) if opens else (lambda: None))


def _warning(host: str) -> str:
    return (
        f"warning: with --host {host} other machines can reach the viewer. Anyone with the token can read all "
        "conversations, and the connection is not encrypted; a tunnel such as `ssh -L` is safer."
    )


def has_display() -> bool:
    """Return whether the user would see a browser that is started here."""
    if os.environ.get("BROWSER"):
        return True
    if os.environ.get("SSH_CONNECTION") and not os.environ.get("DISPLAY"):
        return False
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open(address: str) -> None:
    import webbrowser

    try:
        is_open = webbrowser.open(address)
    except (OSError, webbrowser.Error):
        is_open = False
    if not is_open:
        click.echo("no browser could be opened; open the address yourself", err=True)
