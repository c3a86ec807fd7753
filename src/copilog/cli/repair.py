"""`copilog repair`"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from copilog.cli.common import Settings, json_option, one_line, pass_settings, plural, printable, reading_options
from copilog.diagnostics import Report
from copilog.errors import UsageError

if TYPE_CHECKING:
    from copilog.recover.index_repair import IndexPlan
    from copilog.recover.journal import Entry
    from copilog.recover.repairing import Plan

STORE = "state.vscdb"
WIDTH = 160  # characters of a line that are printed


@click.command(
    "repair",
    epilog="""\b
Examples:
  copilog repair 5f0c2a9e
  copilog repair 5f0c2a9e --apply
  copilog repair ~/backup/chatSessions/5f0c2a9e-6f0b-4c39-9d0a-2d2f6f6f3c11.jsonl
  copilog repair ~/.config/Code/User/workspaceStorage/0c7e5f1a9b3d4c5e8f7a6b5c4d3e2f10/state.vscdb
  copilog repair --all
  copilog repair 5f0c2a9e --undo""",
)
@click.argument("targets", nargs=-1, metavar="[FILE|ID]...")
@click.option("--all", "is_all", is_flag=True, help="Show the repairs of all sessions that VS Code refuses.")
@click.option("--apply", "applies", is_flag=True, help="Write the repaired files.")
@click.option("--undo", "undoes", is_flag=True, help="Put the files back as they were; without a name all of them.")
@json_option
@reading_options
@pass_settings
def command(
    settings: Settings,
    targets: tuple[str, ...],
    is_all: bool,
    applies: bool,
    undoes: bool,
    as_json: bool,
    roots: tuple[Path, ...],
    sample: bool,
) -> int:
    """Repair session files that VS Code refuses, and its index, with the smallest change.

    Broken lines are dropped or mended, and every other line stays as it is. Of a `state.vscdb`, the index is completed
    from the session files beside it, and nothing else is touched. Without --apply, nothing is written: what would
    change is printed. With it, a copy of what is replaced is stored in copilog's data folder first; --undo puts it back
    to the byte. While VS Code runs, nothing is written.
    """
    settings = settings.with_reading(roots, sample)
    stores = [Path(target) for target in targets if Path(target).name == STORE and Path(target).is_file()]
    targets = tuple(target for target in targets if Path(target) not in stores)
    if applies + undoes > 1 or (is_all and (applies or undoes)):
        raise click.UsageError("--all only shows what would change; --apply and --undo cannot be combined")
    if undoes:
        return _undo((*targets, *map(str, stores)))
    if bool(targets or stores) == is_all:
        raise click.UsageError("name files or ids of sessions, or give --all")
    plans = list(_plans(settings, targets)) if targets or is_all else []
    indexes = [_index_plan(store) for store in stores]
    from copilog.recover import journal

    applied = [journal.apply(plan) for plan in plans] if applies else []
    applied += [journal.apply_index(plan) for plan in indexes] if applies else []
    if as_json:
        from copilog.cli.json_output import print_json

        repairs = [_as_data(plan, applies) for plan in plans]
        print_json({"repairs": repairs, "indexes": [_index_as_data(plan, applies) for plan in indexes]})
    else:
        for plan in plans:
            _print(settings, plan)
        for index in indexes:
            _print_index(settings, index)
    files = len(plans) + len(indexes)
    number = f"{files:,} {plural(files, 'file')}"
    done = f"repaired {number}; `copilog repair --undo` puts back what was there" if applied else f"{number} to repair"
    click.echo(done if applied or not files else f"{done}; --apply writes what is shown", err=True)
    return 0


def _plans(settings: Settings, targets: tuple[str, ...]) -> Iterator[Plan]:
    from copilog.recover.repairing import plan_repair

    if targets:
        for path in dict.fromkeys(path for target in targets for path in _paths_of(settings, target)):
            yield plan_repair(path)
        return
    for path in _refused(settings, None):
        try:
            yield plan_repair(path)
        except UsageError as error:
            click.echo(f"  ! {printable(str(error))}", err=True)


def _paths_of(settings: Settings, target: str) -> list[Path]:
    """Return the file that a target names, or the refused files of the session whose id begins like it."""
    if Path(target).is_file():
        return [Path(target)]
    found = _refused(settings, target)
    if not found:
        raise UsageError(f"{target}: there is no such file, and no session with this id that VS Code refuses")
    if len({path.stem for path in found}) > 1:
        raise UsageError(f"{target}: {len(found)} sessions begin so: {', '.join(path.stem for path in found)}")
    return found


def _refused(settings: Settings, beginning: str | None) -> list[Path]:
    from copilog.ingest import discover
    from copilog.recover.losses import read_by_vscode
    from copilog.recover.refusals import examine

    paths: list[Path] = []
    for found in discover([root for root in settings.places() if root.exists], report=Report()):
        native_id = found.native_id or ""
        if beginning is None or native_id.startswith(beginning.rpartition(":")[2]):
            paths += [trace.path for trace in read_by_vscode(found.traces())]
    return [path for path in paths if examine(path).refusals]


def _index_plan(store: Path) -> IndexPlan:
    from copilog.ingest import read
    from copilog.ingest.discovery import discover_in
    from copilog.recover.index_repair import plan_index
    from copilog.sources.roots import folder_around

    store = store.resolve()
    folder = folder_around(store)
    if folder is None or folder.path != store.parent:
        raise UsageError(f"{store}: is not in a storage folder of VS Code")
    return plan_index(store, discover_in([folder], Report()), read)


def _undo(targets: tuple[str, ...]) -> int:
    from copilog.recover import journal

    chosen = [entry for entry in journal.entries() if not targets or any(_is_meant(entry, each) for each in targets)]
    if not chosen:
        raise UsageError("there is no repair to undo")
    failed: list[UsageError] = []
    for entry in chosen:  # the newest first; one that cannot be undone keeps none of the others
        try:
            restored = journal.undo(entry)
        except UsageError as error:
            failed.append(error)
        else:
            click.echo(f"{printable(entry.path)}: {'as before' if restored else 'was not changed'}", err=True)
    if failed:
        raise UsageError("; ".join(map(str, failed)))
    return 0


def _is_meant(entry: Entry, target: str) -> bool:
    path = Path(entry.path)
    return path == Path(target).resolve() or (entry.row is None and path.stem.startswith(target.rpartition(":")[2]))


# --- what would change ------------------------------------------------------------------------------------------------


def _as_data(plan: Plan, is_applied: bool) -> dict[str, Any]:
    return {
        "path": str(plan.path),
        "is_applied": is_applied,
        "refusals": plan.refusals,
        "changes": plan.changes,
        "turns": plan.turns,
        "size": {"before": len(plan.before), "after": len(plan.after)},
    }


def _print(settings: Settings, plan: Plan) -> None:
    def echo(line: str, color: str | None = None) -> None:
        click.echo(click.style(line, fg=color) if color else line, color=settings.in_color())

    echo(click.style(printable(str(plan.path)), bold=True))
    for change in plan.changes:
        where = f"line {change.line}" if change.line is not None else "at the end"
        echo(f"  {where}: {change.action}: {one_line(change.why)}")
        for mark, text, color in (("-", change.before, "red"), ("+", change.after, "green")):
            for line in (text or "").split("\n") if text is not None else ():
                echo(f"    {mark} {one_line(line, WIDTH)}", color)
    echo(f"  VS Code then shows {plan.turns:,} {plural(plan.turns, 'turn')}")


def _index_as_data(plan: IndexPlan, is_applied: bool) -> dict[str, Any]:
    return {
        "path": str(plan.path),
        "is_applied": is_applied,
        "discarded": plan.why,
        "changes": plan.changes,
        "listed": plan.listed,
    }


def _print_index(settings: Settings, plan: IndexPlan) -> None:
    click.echo(click.style(printable(str(plan.path)), bold=True), color=settings.in_color())
    if plan.why is not None:
        click.echo(f"  VS Code does not use its index: {one_line(plan.why)}")
    for change in plan.changes:
        title = (change.after or {}).get("title", "")
        click.echo(f"  {one_line(change.session_id)}: {change.action}: {one_line(change.why)}  {one_line(title, 80)}")
    click.echo(f"  VS Code then lists {plan.listed:,} {plural(plan.listed, 'session')}")
