"""`copilog extract`"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from copilog.cli.common import (
    COUNT,
    OFFSET,
    Settings,
    default_jobs,
    json_option,
    pass_settings,
    plural,
    printable,
    strict_option,
)
from copilog.cli.json_output import print_json
from copilog.cli.redacting import print_replaced, redact_option, redactor_for
from copilog.exports.json_text import with_escapes

if TYPE_CHECKING:
    from copilog.diagnostics import Ledger
    from copilog.ingest.trajectories import Trajectories
    from copilog.redaction import Redactor
    from copilog.telemetry.pipeline import Progress

SHOWN_BAD = 5
_SYSTEM_FIRST = "--require-system-first"
_YES, _NO = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}


class ExtractCommand(click.Command):
    """A command that accepts `--require-system-first false`, as older scripts write it, besides `--no-...`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _with_plain_switch(args))


def _with_plain_switch(args: list[str]) -> list[str]:
    plain: list[str] = []
    rest = iter(args)
    for word in rest:
        name, is_joined, value = word.partition("=")
        if name != _SYSTEM_FIRST:
            plain.append(word)
            if word == "--":
                plain += rest
            continue
        following = [] if is_joined else list(rest)
        value = (value if is_joined else "".join(following[:1])).lower()
        if value in _YES | _NO:
            following = following[1:]
        elif is_joined:
            raise click.UsageError(f"{_SYSTEM_FIRST} must be true or false, not {value!r}")
        plain.append("--no-require-system-first" if value in _NO else _SYSTEM_FIRST)
        rest = iter([*following, *rest])
        return [*plain, *_with_plain_switch(list(rest))]
    return plain


@click.command(
    "extract",
    cls=ExtractCommand,
    epilog="""\b
Examples:
  copilog extract cooked/08/17 -o trajectories.jsonl
  copilog extract events.jsonl.gz more.parquet | jq .conversation_id
  copilog extract telemetry/ --sample 100 --seed 7 --regex 'flaky test'
  copilog extract ~/.copilot/session-state -o sessions.jsonl""",
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write to this file, once all lines are complete. Default: standard output.",
)
@click.option("--sample", type=OFFSET, metavar="N", help="Extract only a sample of N conversations.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="The random seed of the sample.")
@click.option(
    "--sample-mode",
    type=click.Choice(["random", "first"]),
    default="random",
    show_default=True,
    help="Which conversations the sample contains.",
)
@click.option(
    "--regex", metavar="PATTERN", help="Only conversations in which a user message matches this regular expression."
)
@click.option(
    f"{_SYSTEM_FIRST}/--no-require-system-first",
    default=True,
    show_default=True,
    help="Only snapshots that begin with a system message.",
)
@click.option("--json-recovery", is_flag=True, help="Repair broken lines and broken messagesJson as far as possible.")
@click.option(
    "--context-tag-map",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="PROMPT_CONTEXT_TAG_MAP",
    show_envvar=True,
    metavar="FILE",
    help="Use this tag catalogue instead of the built-in one.",
)
@click.option(
    "--context-tag-summary-dir",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder for the summary of tags. Default: a new folder below analysis/prompt_context/.",
)
@click.option("--no-context-tag-summary", is_flag=True, help="Write no summary of tags.")
@click.option("--no-merge-tool-metadata", is_flag=True, help="Do not add tool calls and ids from other snapshots.")
@click.option("--compat", is_flag=True, help="Write what earlier extractors wrote.")
@click.option("--jobs", type=COUNT, metavar="N", help="The number of processes. Default: the number of cores.")
@click.option(
    "-v", "--verbose", is_flag=True, help="Print each file as it is read, and the position of every bad record."
)
@redact_option
@json_option
@strict_option
@pass_settings
def command(
    settings: Settings,
    /,
    paths: tuple[Path, ...],
    output: Path | None,
    context_tag_map: Path | None,
    context_tag_summary_dir: Path | None,
    no_context_tag_summary: bool,
    no_merge_tool_metadata: bool,
    jobs: int | None,
    verbose: bool,
    redact: bool | None,
    as_json: bool,
    strict: bool | None,
    **chosen: Any,
) -> int:
    """Rebuild conversations from telemetry, one JSON line each.

    PATHs are files and folders of telemetry events: JSONL, JSON arrays (plain, .gz or .zst) or Parquet. The output has
    one line, a trajectory, for each conversation: its most complete snapshot, with the modes, models, tool calls and
    final answer that other snapshots add. Session files, CLI folders and exports become lines of the same kind.

    The exit code is 1, and FILE is not changed, if an input cannot be opened or decoded, if a library for it is
    missing, or if no input has a usable record.

    With --json, the counts of the run are printed as JSON: on standard output if -o names a file, else on standard
    error.
    """
    from copilog.ingest.trajectories import Trajectories
    from copilog.telemetry.pipeline import Options

    options = Options(
        context_tag_map=None if context_tag_map is None else str(context_tag_map),
        wants_tag_summary=not no_context_tag_summary,
        merge_tool_metadata=not no_merge_tool_metadata,
        jobs=jobs or default_jobs(),
        **chosen,
    )
    with progress_bar(settings) as progress:
        run = Trajectories(paths, options, progress=progress)
        _refuse_to_overwrite(run, output)
        redactor = redactor_for(settings, redact)
        failures = _write(run, output, redactor)
    if not no_context_tag_summary and not failures:
        _write_summary(run, context_tag_summary_dir)
    code = _print_summary(settings, run, verbose, as_json=as_json, to_stdout=output is not None, strict=strict)
    if redactor is not None:
        print_replaced(redactor.counts)
    for reason in failures:
        click.echo(f"copilog: {printable(reason)}", err=True)
    if failures and output is not None:
        click.echo(f"copilog: {printable(str(output))} was not changed", err=True)
    return 1 if failures else code


class _NothingToKeep(Exception):  # noqa: N818 - it undoes the output, and is reported
    """Raised if the run has no output worth writing."""


def _write(run: Trajectories, output: Path | None, redactor: Redactor | None) -> list[str]:
    """Write the lines; return why they do not replace the old file, or None if they do."""
    failures: list[str] = []
    is_terminal = output is None and sys.stdout.isatty()
    with suppress(_NothingToKeep), _target(output) as file, closing(run.lines_in_pieces()) as lines:
        for line in lines:
            for piece in line if redactor is None else [_redacted(redactor, line)]:
                file.write(with_escapes(piece.decode()).encode() if is_terminal else piece)
            file.write(b"\n")
        failures = run.failures()
        if failures:
            raise _NothingToKeep
    return failures


def _redacted(redactor: Redactor, pieces: Iterable[bytes]) -> bytes:
    """Return a line with placeholders; a string of its JSON at a time, so that it stays JSON."""
    import msgspec

    return msgspec.json.encode(redactor.value(msgspec.json.decode(b"".join(pieces))))


def _refuse_to_overwrite(run: Trajectories, output: Path | None) -> None:
    if output is None or not output.exists():
        return
    if any(output.samefile(path) for path in run.inputs.paths()):
        raise click.UsageError(f"{output} is one of the inputs; name another output")


@contextmanager
def _target(output: Path | None) -> Iterator[IO[bytes]]:
    from copilog.atomic_files import atomic_file

    if output is not None:
        with atomic_file(output, is_private=True) as file:
            yield file
        return
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


@contextmanager
def progress_bar(settings: Settings) -> Iterator[Progress | None]:
    """Show a bar with bytes, rate and time left; nothing if standard error is not a terminal."""
    if not settings.has_bars():
        yield None
        return
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    in_bytes = (DownloadColumn(binary_units=True), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(
        TextColumn("{task.description}"), BarColumn(), *in_bytes, console=settings.err, transient=True
    ) as bar:
        tasks: dict[str, TaskID] = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                for earlier in tasks.values():
                    bar.update(earlier, visible=False)
                tasks[stage] = bar.add_task(stage, total=total)
            bar.update(tasks[stage], completed=done, total=total)

        yield show


def _write_summary(run: Trajectories, folder: Path | None) -> None:
    from copilog.errors import CopilogError
    from copilog.telemetry.summary import run_folder, write_summary

    assert run.summary is not None
    try:
        path = write_summary(run.summary, folder or run_folder())
    except (OSError, CopilogError) as error:
        click.echo(f"the summary of tags could not be written: {error}", err=True)
        return
    click.echo(f"tags of this run: {path}", err=True)


def _print_summary(
    settings: Settings, run: Trajectories, verbose: bool, *, as_json: bool, to_stdout: bool, strict: bool | None
) -> int:
    from copilog.cli.ledger_output import figures, print_bad_records, safe_line

    ledgers = list(run.report.files.values())
    bad = run.report.bad_records()
    crashed = any(note.code == "crash" for note in run.report.diagnostics())
    if as_json:
        print_json(_as_data(run, ledgers), err=not to_stdout)
    else:
        if verbose:
            for ledger in ledgers:
                click.echo(safe_line(f"{ledger.path}: {figures([ledger])}"), err=True)
            for path in run.inputs.unknown:
                click.echo(safe_line(f"{path}: neither telemetry nor a conversation; not read"), err=True)
        print_bad_records(ledgers, None if verbose else SHOWN_BAD)
        click.echo(_closing_line(run, ledgers), err=True)
    has_warnings = any(note.level != "info" for note in run.report.diagnostics())
    is_perfect = not (bad or has_warnings or run.inputs.unknown)
    return 1 if crashed or (not is_perfect and settings.is_strict(strict)) else 0


def _closing_line(run: Trajectories, ledgers: list[Ledger]) -> str:
    from copilog.cli.ledger_output import figures

    line = f"{run.conversations:,} {plural(run.conversations, 'conversation')}; {figures(ledgers)}"
    if run.told_already:
        line += f"; {run.told_already:,} of other sources left out, because telemetry has them"
    if run.inputs.unknown:
        number = len(run.inputs.unknown)
        line += f"; {number:,} {plural(number, 'file')} of unknown format not read (-v names them)"
    if not run.conversations:
        line += f"; {_why_nothing(run, ledgers)}"
    return line


def _why_nothing(run: Trajectories, ledgers: list[Ledger]) -> str:
    if run.options.sample == 0:
        return "--sample 0 selects none"
    if any(ledger.ignored.get("not_system_first") for ledger in ledgers):
        return "no snapshot begins with a system message; --no-require-system-first includes those without"
    if not any(ledger.used for ledger in ledgers):
        return "no input contains telemetry of conversations; `copilog check telemetry-types` lists its events"
    if run.options.regex is not None:
        return "no user message matches --regex"
    return "the events contain no snapshot of a conversation"


def _as_data(run: Trajectories, ledgers: list[Ledger]) -> dict[str, Any]:
    from copilog.cli.ledger_output import ledger_entry

    return {
        "conversations": run.conversations,
        "told_already": run.told_already,
        "unknown": run.inputs.unknown,
        "files": [ledger_entry(ledger) for ledger in ledgers],
    }
