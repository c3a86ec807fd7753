"""`copilog check`: whether raw telemetry is consistent, and which events it contains"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from copilog.cli.common import Settings, json_option, pass_settings, plural
from copilog.cli.json_output import print_json
from copilog.cli.ledger_output import figures, ledger_entry, print_bad_records, print_columns, reading_bar, safe_line

if TYPE_CHECKING:
    from copilog.diagnostics import Ledger
    from copilog.telemetry.checks import RecordPosition
    from copilog.telemetry.event_types import EventTypes
    from copilog.telemetry.model_correlation import Coverage, Invariant, ModelCorrelation
    from copilog.telemetry.turns import Gap

FEW = 3  # positions that are shown without -v

COVERAGE = {
    "snapshots": "snapshots with messages",
    "cut": "  whose end was cut off, so that the last role is not known",
    "without_conversation_id": "  without a conversation id",
    "mode_by_request_id": "  with a mode, found by headerRequestId",
    "mode_by_message_id": "  with a mode, found by messageId",
    "mode_by_turn_alone": "  with modes found by turnIndex alone",
    "without_mode": "  without any mode",
    "session_model_by_request_id": "  with the session's model, found by headerRequestId",
    "session_model_by_message_id": "  with the session's model, found by messageId",
    "without_session_model": "  without a model of the session",
    "conversations": "conversations",
    "turns": "turns with a text of the user",
    "turns_without_mode": "  without a mode",
    "turns_without_message_id": "  without a messageId",
    "conversations_with_gaps": "conversations that miss turns",
}

paths_argument = click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")


class Checks(click.Group):
    """A group that accepts an older spelling of one of its commands."""

    ALIASES = {"telemetry-type-search": "telemetry-types"}

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return super().get_command(ctx, self.ALIASES.get(name, name))


@click.group(
    "check",
    cls=Checks,
    epilog="""\b
Examples:
  copilog check model-correlation telemetry/
  copilog check telemetry-types telemetry/ --contains engine""",
)
def command() -> None:
    """Check what raw telemetry contains, and whether it is consistent.

    Inputs are files and folders of JSONL, JSON arrays or Parquet, compressed or not, as for `copilog extract`.
    """


# --- model-correlation ------------------------------------------------------------------------------------------


@command.command(
    "model-correlation",
    short_help="Check that models, modes and messages match.",
    epilog="""\b
Examples:
  copilog check model-correlation telemetry.jsonl
  copilog check model-correlation telemetry/ -v
  copilog check model-correlation --json telemetry/ | jq '.invariants[] | select(.broken > 0)'""",
)
@paths_argument
@click.option("-v", "--verbose", is_flag=True, help="Show more positions of each violation.")
@json_option
@pass_settings
def model_correlation(settings: Settings, paths: tuple[Path, ...], verbose: bool, as_json: bool) -> int:
    """Check the invariants that tie models and modes to messages.

    Also counts the snapshots whose mode or session model is found in other events, and the conversations with missing
    turns. The exit code is 1 if an invariant is violated. A session that names a different model than the engine
    does not count as a violation: `copilog extract` marks such messages with model_conflict.
    """
    from copilog.telemetry.inputs import list_files
    from copilog.telemetry.model_correlation import check_model_correlation

    files = list_files(paths)
    with reading_bar(settings, (file.path for file in files)) as heard:
        found = check_model_correlation(files, heard)
    most = None if verbose else FEW
    if as_json:
        _print_json(
            {
                "is_broken": found.is_broken,
                "invariants": [_invariant_entry(invariant) for invariant in found.invariants],
                "coverage": found.coverage,
            },
            found.files,
        )
    else:
        _print_correlation(settings, found, most)
    _close(found.files, most)
    return 1 if found.is_broken else 0


def _invariant_entry(invariant: Invariant) -> dict[str, Any]:
    first = [{**breach.spot._asdict(), "found": breach.found} for breach in invariant.first]
    return {
        "code": invariant.code,
        "statement": invariant.statement,
        "must_hold": invariant.must_hold,
        "checked": invariant.checked,
        "broken": invariant.broken,
        "first": first,
    }


def _print_correlation(settings: Settings, found: ModelCorrelation, most: int | None) -> None:
    from rich.text import Text

    rows = [
        [
            Text(f"{invariant.checked:,}"),
            Text(f"{invariant.broken:,}", _style_of(invariant)),
            Text(invariant.statement),
        ]
        for invariant in found.invariants
    ]
    print_columns(settings, ["checked", "broken", "invariant"], rows, right=2)
    for invariant in found.invariants:
        if invariant.broken:
            _print_breaches(settings, invariant, most)
    settings.out.print()
    _print_coverage(settings, found.coverage, most)


def _style_of(invariant: Invariant) -> str:
    if not invariant.broken:
        return "green"
    return "red" if invariant.must_hold else "yellow"


def _print_breaches(settings: Settings, invariant: Invariant, most: int | None) -> None:
    from rich.text import Text

    heading = "broken" if invariant.must_hold else "reported, but not a failure"
    settings.out.print(Text(f"\n{heading}: {invariant.statement}", f"bold {_style_of(invariant)}"))
    for breach in invariant.first[:most]:
        line = Text.assemble("  ", (safe_line(str(breach.spot)), "cyan"), f"  {safe_line(breach.found)}")
        settings.out.print(line)
    _print_rest(settings, invariant.broken, len(invariant.first[:most]))


def _print_coverage(settings: Settings, coverage: Coverage, most: int | None) -> None:
    from rich.text import Text

    rows = [[Text(f"{getattr(coverage, name):,}"), Text(words)] for name, words in COVERAGE.items()]
    print_columns(settings, ["number", "coverage"], rows, right=1)
    for gap in coverage.first_gaps[:most]:
        settings.out.print(Text.assemble("  ", (safe_line(gap.conversation_id), "cyan"), f"  {_gap_text(gap)}"))
    _print_rest(settings, coverage.conversations_with_gaps, len(coverage.first_gaps[:most]))


def _gap_text(gap: Gap) -> str:
    numbers = ", ".join(f"{index:,}" for index in gap.first_missing)
    more = ", ..." if gap.missing > len(gap.first_missing) else ""
    return f"no text of the user for {plural(gap.missing, 'turn')} {numbers}{more} of {gap.expected:,}"


def _print_rest(settings: Settings, number: int, shown: int) -> None:
    from rich.text import Text

    if number > shown:
        settings.out.print(Text(f"  and {number - shown:,} more", "dim"))


# --- telemetry-types --------------------------------------------------------------------------------------------


@command.command(
    "telemetry-types",
    short_help="Count the events by name.",
    epilog="""\b
Examples:
  copilog check telemetry-types telemetry/
  copilog check telemetry-types telemetry/ --contains engine
  copilog check telemetry-types --json telemetry/ | jq '.names[] | select(.serves == null) | .name'""",
)
@paths_argument
@click.option("--contains", metavar="TEXT", help="Only events whose full name contains this text; case is ignored.")
@json_option
@pass_settings
def telemetry_types(settings: Settings, paths: tuple[Path, ...], contains: str | None, as_json: bool) -> int:
    """Count the events by name, with what `copilog extract` reads from each.

    The exit code is 1 if no event name contains the text of --contains. The older name `telemetry-type-search` still
    works.
    """
    from copilog.telemetry.event_types import count_event_types
    from copilog.telemetry.inputs import list_files

    files = list_files(paths)
    with reading_bar(settings, (file.path for file in files)) as heard:
        found = count_event_types(files, contains, heard)
    if as_json:
        names = [_with_position(name, name.first) for name in found.names]
        _print_json({"contains": contains, "names": names, "bases": found.bases}, found.files)
    else:
        _print_types(settings, found)
    _close(found.files, FEW)
    return 1 if contains and not found.names else 0


def _with_position(value: Any, spot: RecordPosition) -> dict[str, Any]:
    import msgspec

    entry: dict[str, Any] = msgspec.to_builtins(value)
    return {**entry, "first": spot._asdict()}


def _print_types(settings: Settings, found: EventTypes) -> None:
    from rich.text import Text

    if not found.names:
        return
    rows = [
        [
            Text(f"{name.count:,}"),
            Text(f"{name.bytes:,}"),
            Text(safe_line(name.name), "bold"),
            Text(name.serves or "not used", "green" if name.serves else "dim"),
            Text(safe_line(name.earliest or "-"), "dim"),
            Text(safe_line(name.latest or "-"), "dim"),
            Text(safe_line(str(name.first)), "cyan"),
        ]
        for name in found.names
    ]
    heads = ["events", "bytes", "name", "serves for", "from", "to", "first seen at"]
    print_columns(settings, heads, rows, right=2)
    several = [base for base in found.bases if len(base.prefixes) > 1]
    if several:
        settings.out.print(Text("\nnames with several prefixes", "bold"))
    for base in several:
        prefixes = ", ".join(f"{prefix or 'none'} {number:,}" for prefix, number in base.prefixes.items())
        settings.out.print(Text(f"  {safe_line(base.base)}  {base.count:,}: {safe_line(prefixes)}"))


# --- both -------------------------------------------------------------------------------------------------------


def _print_json(document: dict[str, Any], ledgers: Sequence[Ledger]) -> None:

    whole = {**document, "files": [ledger_entry(ledger) for ledger in ledgers]}
    print_json(whole)


def _close(ledgers: Sequence[Ledger], most: int | None) -> None:
    print_bad_records(ledgers, most)
    click.echo(figures(ledgers), err=True)
