"""What people defined for Copilot on this machine: for all workspaces, and in the folders of some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from copilog.definitions import Definition, definitions_in, definitions_of_user
from copilog.sources.roots import Root


def definitions_on_this_machine(workspaces: Iterable[str], places: Iterable[Root]) -> list[Definition]:
    """The definitions in these folders, as far as they are here, then those of the user; each file once."""
    found = {definition.path: definition for definition in _in_folders(workspaces)}
    for definition in definitions_of_places(places):
        found.setdefault(definition.path, definition)
    return list(found.values())


def definitions_of_places(places: Iterable[Root]) -> Iterator[Definition]:
    """What a person defined for all workspaces, in the places where VS Code and Copilot CLI keep their things."""
    for root in places:
        if root.exists and root.kind in ("copilot-home", "vscode"):
            yield from definitions_of_user(root.path, root.path / "User" if root.kind == "vscode" else None)


def _in_folders(workspaces: Iterable[str]) -> Iterator[Definition]:
    for folder in dict.fromkeys(map(Path, workspaces)):
        if folder.is_absolute() and folder.is_dir():  # others are of another machine
            yield from definitions_in(folder)
