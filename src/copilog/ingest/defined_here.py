"""What people defined for Copilot on this machine: for all workspaces, and in the folders of some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from copilog.definitions import Definition, definitions_in, definitions_in_store, definitions_of_user
from copilog.sources.roots import Root, storage_folders


def definitions_on_this_machine(workspaces: Iterable[str], places: Iterable[Root]) -> list[Definition]:
    """The definitions in these folders, as far as they are here, then those of the user; each file once.

    Last come agents that VS Code remembers: their files may be gone, or in an extension.
    """
    places = list(places)
    found: dict[tuple[str, str], Definition] = {}
    for definition in (*_in_folders(workspaces), *definitions_of_places(places), *_in_stores(places)):
        found.setdefault((definition.path, definition.name), definition)
    return list(found.values())


def _in_stores(places: Iterable[Root]) -> Iterator[Definition]:
    for root in places:
        if root.exists and root.kind not in ("copilot-home", "file"):
            for folder in storage_folders(root):
                yield from definitions_in_store(folder.path)


def definitions_of_places(places: Iterable[Root]) -> Iterator[Definition]:
    """What a person defined for all workspaces, in the places where VS Code and Copilot CLI keep their things."""
    for root in places:
        if root.exists and root.kind in ("copilot-home", "vscode"):
            yield from definitions_of_user(root.path, root.path / "User" if root.kind == "vscode" else None)


def _in_folders(workspaces: Iterable[str]) -> Iterator[Definition]:
    for folder in dict.fromkeys(map(Path, workspaces)):
        if folder.is_absolute() and folder.is_dir():  # others are of another machine
            yield from definitions_in(folder)
