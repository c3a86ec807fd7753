"""Find definitions for Copilot on this machine: those for all workspaces, and those in workspace folders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from copilog.definitions import Definition, definitions_in, definitions_in_store, definitions_of_user
from copilog.sources.roots import Root, storage_folders


def definitions_on_this_machine(workspaces: Iterable[str], places: Iterable[Root]) -> list[Definition]:
    """Return the definitions in these folders, if they exist here, then those of the user; each file once.

    Agents that VS Code remembers come last: their files may be deleted, or in an extension.
    """
    places = list(places)
    found: dict[tuple[str, str], Definition] = {}
    for definition in (*_in_folders(workspaces), *definitions_in_roots(places), *_in_stores(places)):
        found.setdefault((definition.path, definition.name), definition)
    return list(found.values())


def _in_stores(places: Iterable[Root]) -> Iterator[Definition]:
    for root in places:
        if root.exists and root.kind not in ("copilot-home", "file"):
            for folder in storage_folders(root):
                yield from definitions_in_store(folder.path)


def definitions_in_roots(places: Iterable[Root]) -> Iterator[Definition]:
    """Yield the user's definitions for all workspaces, in the folders of VS Code and Copilot CLI."""
    for root in places:
        if root.exists and root.kind in ("copilot-home", "vscode"):
            yield from definitions_of_user(root.path, root.path / "User" if root.kind == "vscode" else None)


def _in_folders(workspaces: Iterable[str]) -> Iterator[Definition]:
    for folder in dict.fromkeys(map(Path, workspaces)):
        if folder.is_absolute() and folder.is_dir():  # other paths are of another machine
            yield from definitions_in(folder)
