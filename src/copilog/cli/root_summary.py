"""What the search below a named folder found and what it did not search, as commands print it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from copilog.cli.common import plural, printable

if TYPE_CHECKING:
    from copilog.sources.root_search import Skipped
    from copilog.sources.roots import Root

MOST_LISTED = 50


def list_roots(roots: Sequence[Root], skipped: Sequence[Skipped]) -> None:
    """Print each folder that was found, and each that was not searched, to standard error."""
    click.echo(f"found {len(roots):,} {plural(len(roots), 'folder')} with Copilot data:", err=True)
    for root in roots[:MOST_LISTED]:
        click.echo(f"  {printable(str(root.path))}  ({_root_label(root)})", err=True)
    if len(roots) > MOST_LISTED:
        more = len(roots) - MOST_LISTED
        click.echo(f"  and {more:,} more; `copilog doctor` with the same --root lists all", err=True)
    for path, reason in skipped[:MOST_LISTED]:
        click.echo(f"  ! {printable(str(path))} {printable(reason)}", err=True)
    if len(skipped) > MOST_LISTED:
        more = len(skipped) - MOST_LISTED
        click.echo(f"  ! and {more:,} more; `copilog doctor` with the same --root lists all", err=True)


def mention_roots(named: Sequence[Path], roots: Sequence[Root], skipped: Sequence[Skipped]) -> None:
    """Print in one line that folders were found below the named ones, or that some were not searched."""
    folders = {path.absolute() for path in named}
    nested = [root for root in roots if not _is_usual(root, folders)]
    if not nested and not skipped:
        return
    line = f"found {len(roots):,} {plural(len(roots), 'folder')} with Copilot data below the named ones"
    if skipped:
        line += f", {len(skipped):,} not searched"
    click.echo(f"{line}; `copilog doctor` with the same --root lists them", err=True)


def roots_as_data(roots: Sequence[Root], skipped: Sequence[Skipped]) -> dict[str, Any]:
    """Return the same as data."""
    return {
        "places": [
            {"path": str(root.path), "kind": root.kind, "application": root.application, "why": root.why}
            for root in roots
            if root.exists
        ],
        "not_searched": skipped_as_data(skipped),
    }


def skipped_as_data(skipped: Sequence[Skipped]) -> list[dict[str, str]]:
    return [{"path": str(path), "reason": reason} for path, reason in skipped]


def _root_label(root: Root) -> str:
    if root.kind == "copilot-home":
        return "Copilot CLI"
    return root.application or {"file": "file"}.get(root.kind, "VS Code")


def _is_usual(root: Root, folders: set[Path]) -> bool:
    """Return whether a root is a folder that was named, or at a usual path in a named home."""
    from copilog.sources.roots import is_default_path_in

    return root.path.absolute() in folders or any(
        is_default_path_in(folder, root.path.absolute()) for folder in folders
    )
