"""What commands share: options, settings, consoles, and exit codes."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from copilog.cli.settings import Config, read_config
from copilog.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from copilog.diagnostics import Report
    from copilog.ingest import WorkspaceDefinitions
    from copilog.sources.root_search import Skipped
    from copilog.sources.roots import Root

EMPTY = "empty file"
PLAIN_WIDTH = 100
MOST_UNREAD = 20  # paths that could not be read, of those that a command prints
MOST = 2**31 - 1  # rows, processes, ...: the largest number that SQLite and the operating system accept
NO_CONFIG_NEEDED = frozenset({"doctor", "config"})  # commands that run although the config file is wrong, and report it

COUNT = click.IntRange(1, MOST)
OFFSET = click.IntRange(0, MOST)

Function = TypeVar("Function", bound=Callable[..., Any])


class NonEmptyPath(click.Path):
    """A path. An empty one, as from an unset variable of a script, is an error, and not the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            self.fail("the path is empty; write . for the current folder", param, ctx)
        return super().convert(value, param, ctx)


def reading_options(function: Function) -> Function:
    """Add the options that select what to read. The user may write them before or after the command."""
    function = click.option(
        "--root",
        "roots",
        multiple=True,
        type=NonEmptyPath(path_type=Path),
        metavar="PATH",
        help="Read only this path: a home folder (of any system), a user data folder, its User/, a workspaceStorage/, "
        "one workspace's folder, a .copilot/, a folder that contains any of these at any depth (such as a backup "
        "disk), a folder of files with conversations, or a single file. Repeatable.",
    )(function)
    return click.option("--sample", is_flag=True, help="Read the sample that comes with copilog; it is made up.")(
        function
    )


def archive_options(function: Function) -> Function:
    """Add the options of the archive, and --live. The user may write them before or after the command."""
    live = click.option("--live", is_flag=True, help="Read Copilot's files directly, and do not use the archive.")
    return archive_option(live(no_scan_option(function)))


def no_scan_option(function: Function) -> Function:
    return click.option("--no-scan", is_flag=True, help="Use the archive without updating it first.")(function)


def archive_option(function: Function) -> Function:
    return click.option(
        "--archive",
        type=click.Path(path_type=Path, dir_okay=False, readable=False),  # opening it gives a better message
        metavar="FILE",
        help="The archive file to use. Default: the one that COPILOG_ARCHIVE names, or your own, whose path "
        "`copilog doctor` prints.",
    )(function)


def json_option(function: Function) -> Function:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


class CsvCommand(click.Command):
    """A command with `--csv`, which may be followed by `=excel`; a separate word after it is not its value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, ["--csv=plain" if argument == "--csv" else argument for argument in args])


def csv_option(help_text: str) -> Callable[[Function], Function]:
    return click.option(
        "--csv",
        "as_csv",
        type=click.Choice(["plain", "excel"]),
        metavar="[=excel]",
        help=f"{help_text} `--csv=excel` writes it so that Excel shows accents and emoji.",
    )


def strict_option(function: Function) -> Function:
    return click.option("--strict/--no-strict", default=None, help="Exit with code 1 if any record could not be read.")(
        function
    )


@dataclass(frozen=True)
class Settings:
    """The settings of this run, from options, config file and defaults."""

    roots: tuple[Path, ...] = ()
    sample: bool = False
    archive: Path | None = None
    live: bool = False
    no_scan: bool = False
    color: bool | None = None
    debug: bool = False
    config: Config = field(default_factory=Config)
    config_problem: str | None = None

    @classmethod
    def load(cls, command: str | None, *, color: bool | None, **chosen: Any) -> Settings:
        """Read the config file; raise UsageError if it is wrong and the command needs it."""
        problem = None
        try:
            config = read_config()
        except UsageError as error:
            if command not in NO_CONFIG_NEEDED:
                raise
            config, problem = Config(), str(error)
        return cls(
            color=config.color.value if color is None else color, config=config, config_problem=problem, **chosen
        )

    def with_reading(self, roots: tuple[Path, ...], sample: bool) -> Settings:
        """Return the settings with the options that follow the command."""
        return replace(self, roots=(*self.roots, *roots), sample=self.sample or sample)

    def with_archive(self, archive: Path | None, live: bool = False, no_scan: bool = False) -> Settings:
        """Return the settings with the archive options that follow the command."""
        return replace(self, archive=archive or self.archive, live=self.live or live, no_scan=self.no_scan or no_scan)

    def reads_disk(self) -> bool:
        """Return whether the archive is not used: named folders are stored only if an archive is named, too."""
        return self.live or (self.names_roots() and self.archive is None)

    def names_roots(self) -> bool:
        """Return whether the user named what to read."""
        return self.sample or bool(self.roots)

    def places(self) -> list[Root]:
        """Return the folders to read, and print once what was found below the named ones."""
        roots, skipped = self.search_named_roots()
        self.__dict__["_found"] = roots
        if self.roots and not self.__dict__.get("_has_mentioned"):
            from copilog.cli.root_summary import mention_roots
            from copilog.intake.folders import UNREADABLE

            self.__dict__["_has_mentioned"] = True
            mention_roots(self.roots, roots, skipped)
            _print_paths(self, {str(path): reason for path, reason in skipped if reason.startswith(UNREADABLE)})
        return roots

    def places_found(self) -> list[Root]:
        """Return the folders that this command has already found, or find them, for commands that end soon."""
        found: list[Root] | None = self.__dict__.get("_found")
        return self.places() if found is None else found

    def search_named_roots(self) -> tuple[list[Root], list[Skipped]]:
        """Return the folders to read, and the folders below the named ones that were not searched.

        If the user names roots, no others are read, not even those of the config file.
        """
        from copilog.ingest import find_roots
        from copilog.sources.roots import roots_from

        skipped: list[Skipped] = []
        if self.sample:
            return roots_from(sample_home(), "bundled sample"), []
        if self.roots:
            return find_roots(self.roots, skipped), skipped
        more = [root for path in self.config.roots.value for root in _config_roots(path, skipped)]
        return [*find_roots(), *more], skipped

    def definitions(self) -> WorkspaceDefinitions | None:
        """Return the custom agents and skills of this machine; None if only named folders are to be read."""
        if self.roots or self.sample:
            return None
        from copilog.ingest import WorkspaceDefinitions
        from copilog.ingest.defined_here import definitions_in_roots

        return WorkspaceDefinitions(*definitions_in_roots(self.places()))

    def is_strict(self, option: bool | None) -> bool:
        return self.config.strict.value if option is None else option

    @cached_property
    def out(self) -> Console:
        """Return the console for data: standard output."""
        return self._console(stderr=False)

    @cached_property
    def err(self) -> Console:
        """Return the console for messages: standard error."""
        return self._console(stderr=True)

    def has_colors(self) -> bool:
        """Return whether escape sequences may be printed: options and config file first, then NO_COLOR."""
        return not os.environ.get("NO_COLOR") if self.color is None else self.color

    def in_color(self) -> bool:
        """Return whether standard output is coloured: options first, then the environment and the terminal."""
        if self.color is not None:
            return self.color
        if os.environ.get("NO_COLOR"):
            return False
        return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")

    def has_bars(self) -> bool:
        """Return whether to draw progress bars: standard error is a terminal, and may get escape sequences."""
        return sys.stderr.isatty() and self.has_colors()

    def _console(self, *, stderr: bool) -> Console:
        from copilog.cli.consoles import PipeConsole

        stream = sys.stderr if stderr else sys.stdout
        is_terminal = stream.isatty()
        return PipeConsole(
            stderr=stderr,
            force_terminal=True if self.color else None,
            color_system="auto" if self.has_colors() else None,  # not `no_color`, which leaves bold text and links
            width=None if is_terminal else PLAIN_WIDTH,
            highlight=False,
            markup=False,
            emoji=False,
            soft_wrap=not is_terminal,
        )

    @contextmanager
    def progress(self, text: str, total: int | None = None) -> Iterator[Callable[[], None]]:
        """Show a bar on standard error while a step takes long; nothing if that is not a terminal."""
        if not self.has_bars():
            yield lambda: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self.err, transient=True) as bar:
            task = bar.add_task(text, total=total)
            yield lambda: bar.advance(task)


def sample_home() -> Path:
    from copilog.sample import home

    return home()


def _config_roots(path: Path, skipped: list[Skipped]) -> list[Root]:
    """Return what a root of the config file contains; a missing one is included, so that `doctor` reports it."""
    from copilog.ingest.scan_roots import roots_below
    from copilog.sources.roots import Root

    return roots_below(path, "config file", skipped) or [Root("vscode", path, None, "config file", False)]


pass_settings = click.make_pass_decorator(Settings)


def print_unread(settings: Settings, report: Report) -> None:
    """Print to standard error which files and folders could not be read, each once in a run."""
    from copilog.ingest.skipped import CODES

    _print_paths(settings, {note.path: note.reason for note in report.diagnostics() if note.code in CODES})


def _print_paths(settings: Settings, paths: dict[str, str]) -> None:
    printed: set[str] = settings.__dict__.setdefault("_unread", set())
    unread = {path: reason for path, reason in paths.items() if path not in printed}
    printed.update(unread)
    for path, reason in list(unread.items())[:MOST_UNREAD]:
        click.echo(f"  ! {printable(path)} {printable(reason)}", err=True)
    if len(unread) > MOST_UNREAD:
        click.echo(f"  ! and {len(unread) - MOST_UNREAD:,} more; `copilog doctor` lists all", err=True)


def finish(
    settings: Settings, report: Report, strict: bool | None, what: str, unread: Counter[str] | None = None
) -> int:
    """Print what could not be read, and in one line what was; return the exit code."""
    print_unread(settings, report)
    crashed = sum(diagnostic.code == "crash" for diagnostic in report.diagnostics())
    return end_with(settings, report.bad_records(), crashed, strict, what, "copilog inspect", unread)


def end_with(
    settings: Settings,
    bad: int,
    crashed: int,
    strict: bool | None,
    what: str,
    more: str,
    unread: Counter[str] | None = None,
) -> int:
    """Print in one line what was read and what was not, and return the exit code; `more` lists the latter.

    `unread` counts files that were not read, by why.
    """
    line = what
    for why, number in (unread or {}).items():
        line += (
            f"; {number:,} {plural(number, why)}" if why == EMPTY else f"; {number:,} {plural(number, 'file')} {why}"
        )
    if bad:
        line += f"; {bad:,} bad {plural(bad, 'record')} ({more} shows them)"
    if crashed:
        line += f"; copilog failed on {crashed:,} {plural(crashed, 'file')} (a bug: please report it)"
    click.echo(line, err=True)
    return 1 if crashed or ((bad or unread) and settings.is_strict(strict)) else 0


def unread_files(codes: Mapping[str, int]) -> Counter[str]:
    """Return how many files that the user named are empty or of unknown format, from the numbers of their codes."""
    words = {"empty-file": EMPTY, "unknown-format": "of unknown format"}
    return Counter({why: codes[code] for code, why in words.items() if code in codes})


def default_jobs() -> int:
    """Return the number of cores that this process may use."""
    count = getattr(os, "sched_getaffinity", None)
    return len(count(0)) if count else os.cpu_count() or 1


def plural(number: int, word: str) -> str:
    return word if number == 1 else f"{word}s"


def printable(text: str) -> str:
    """Return the text without characters that control a terminal."""
    return "".join(char if char.isprintable() or char in "\n\t" else "�" for char in text)


def short_id(conversation_id: str) -> str:
    """Return the first characters of an id, enough to identify the conversation."""
    native_id = conversation_id.partition(":")[2] or conversation_id
    return one_line(native_id.rpartition("/")[2][:8])


def folder_name(folder: str | None) -> str:
    return one_line((folder or "").rstrip("/\\").replace("\\", "/").rpartition("/")[2])


def one_line(text: str, limit: int | None = None) -> str:
    """Return the text as one line, cut to a length."""
    line = " ".join(printable(text).split())
    return line if limit is None or len(line) <= limit else line[: limit - 1] + "…"
