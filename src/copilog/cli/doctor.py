"""`copilog doctor`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from copilog import __version__
from copilog.cli.common import (
    Settings,
    archive_option,
    json_option,
    pass_settings,
    plural,
    printable,
    reading_options,
)
from copilog.cli.json_output import print_json
from copilog.cli.libraries import HOW_TO_GET, missing_libraries
from copilog.cli.root_summary import skipped_as_data
from copilog.diagnostics import Report
from copilog.ingest import discover
from copilog.sources import SOURCES
from copilog.sources.roots import Root


@click.command(
    "doctor",
    epilog="""\b
Examples:
  copilog doctor
  copilog doctor --root /mnt/backup/home/ana
  copilog doctor --json""",
)
@click.option("-v", "--verbose", is_flag=True, help="List folders that do not exist, too.")
@json_option
@archive_option
@reading_options
@pass_settings
def command(
    settings: Settings, verbose: bool, as_json: bool, archive: Path | None, roots: tuple[Path, ...], sample: bool
) -> int:
    """Show which folders copilog searches, what it found there, and what is wrong.

    Start here if conversations are missing. Each problem is printed with its reason. An invalid config file is
    reported, and defaults are used instead.
    """
    settings = settings.with_reading(roots, sample).with_archive(archive)
    places, skipped = settings.search_named_roots()
    checked = [_check(root) for root in places]
    if as_json:
        document = {
            "version": __version__,
            "archive": _check_archive(settings.archive),
            "config_problem": settings.config_problem,
            "viewer": {"missing_libraries": missing_libraries()},
            "roots": checked,
            "not_searched": skipped_as_data(skipped),
        }
        print_json(document)
    else:
        _print(settings, checked, verbose)
        for path, reason in skipped:
            settings.out.print(f"!  {printable(str(path))} {printable(reason)}", style="yellow")
        _print_archive(settings, _check_archive(settings.archive))
        for warning in _warnings(settings):
            settings.out.print(f"!  {printable(warning)}", style="yellow")
    return 0


def _warnings(settings: Settings) -> list[str]:
    """Return what is wrong with this installation and its settings."""
    warnings = [settings.config_problem] if settings.config_problem else []
    if missing := missing_libraries():
        warnings.append(f"the viewer draws no charts, as {', '.join(missing)} could not be fetched. {HOW_TO_GET}")
    return warnings


def _check_archive(named: Path | None) -> dict[str, Any]:
    """Return where the archive is, how much it contains, and what is wrong with it."""
    from copilog.errors import CopilogError
    from copilog.store.archive import Archive
    from copilog.store.database import archive_path

    path = archive_path(named)
    state: dict[str, Any] = {"path": str(path), "exists": path.exists(), "conversations": 0, "problem": None}
    if state["exists"]:
        try:
            with Archive(path) as archive:
                state["conversations"] = archive.count(include_empty=True, include_gone=True)
        except CopilogError as error:
            state["problem"] = str(error)
    return state


def _check(root: Root) -> dict[str, Any]:
    """Return what one folder contains."""
    report = Report()
    founds = list(discover([root], report=report)) if root.exists else []
    files: dict[str, int] = {}
    for found in founds:
        for trace in found.traces():
            files[trace.source] = files.get(trace.source, 0) + 1
    problems = [
        {"place": diagnostic.place(), "code": diagnostic.code, "reason": diagnostic.reason, "advice": diagnostic.advice}
        for diagnostic in report.diagnostics()
        if diagnostic.level != "info"
    ]
    return {
        "path": str(root.path),
        "kind": root.kind,
        "application": root.application,
        "why": root.why,
        "exists": root.exists,
        "conversations": len(founds),
        "workspaces": len({found.workspace.storage_id for found in founds if found.workspace is not None}),
        "files": files,
        "problems": problems,
    }


def _print(settings: Settings, checked: list[dict[str, Any]], verbose: bool) -> None:
    from rich.text import Text

    out = settings.out
    out.print(Text(f"copilog {__version__}", "bold"))
    titles = {source.name: source.title for source in SOURCES}
    missing = 0
    for place in checked:
        if not place["exists"]:
            missing += 1
            if verbose:
                out.print(Text(f"–  {printable(place['path'])}  ({place['why']}) does not exist", "dim"))
            continue
        number = place["conversations"]
        line = Text("✓  " if number else "·  ", "green" if number else "dim")
        line.append(printable(place["path"]), "bold")
        line.append(f"  ({place['why']})", "dim")
        out.print(line)
        folders = place["workspaces"]
        out.print(Text(f"   {number:,} {plural(number, 'conversation')} in {folders:,} {plural(folders, 'workspace')}"))
        for name, count in place["files"].items():
            out.print(Text(f"     {count:>6,}  {titles[name]}", "dim"))
        for problem in place["problems"]:
            out.print(Text(f"   !  {printable(problem['place'])}: {printable(problem['reason'])}", "yellow"))
            if problem["advice"]:
                out.print(Text(f"      {problem['advice']}", "dim"))
    if missing and not verbose:
        out.print(
            Text(f"{missing:,} more {plural(missing, 'folder')} searched for, not found (--verbose lists them)", "dim")
        )


def _print_archive(settings: Settings, archive: dict[str, Any]) -> None:
    from rich.text import Text

    if archive["problem"]:
        settings.out.print(Text(f"!  {printable(archive['problem'])}", "yellow"))
        return
    number = archive["conversations"]
    said = (
        f"{number:,} {plural(number, 'conversation')}"
        if archive["exists"]
        else "does not exist yet; `copilog scan` makes it"
    )
    line = Text("archive  ", "bold")
    line.append(f"{printable(archive['path'])}  {said}")
    settings.out.print(line)
