"""Read the folder that a workspace's storage belongs to: workspace.json. Format notes: docs/formats/vscode-chat.md"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from copilog.diagnostics import Ledger
from copilog.jsonio import replace_lone_surrogates
from copilog.model import Conversation, Workspace
from copilog.sources.base import Found, Probe, Source
from copilog.sources.roots import workspace_of

UNNAMED_FILE = "workspace.json"


class VSCodeWorkspace(Source):
    """A companion: it holds no conversation, but the workspace of those beside it."""

    name = "vscode-workspace"
    title = "VS Code workspace (workspace.json)"

    def claims(self, file: Probe) -> bool:
        if file.name != "workspace.json":
            return False
        is_at_home = file.folders[-2:-1] == ("workspaceStorage",)
        return is_at_home or bool(file.keys & {"folder", "workspace", "configuration"})

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        ledger.seen += 1
        try:
            workspace_of(found.path.parent)
        except ValueError as error:
            ledger.reject("bad-record", str(error), pointer="")
        else:
            ledger.used += 1
        return iter(())


def workspace_from(folder: Path) -> Workspace | None:
    """Return the workspace of a storage folder; raise ValueError if its workspace.json is broken."""
    record = workspace_of(folder)
    if record is None:
        return None
    folder_path = record.path
    if record.kind == "workspace" and folder_path is not None:
        folder_path = _folder_of_workspace_file(folder_path)
    return Workspace(
        folder=folder_path,
        uri=record.uri,
        kind=record.kind,
        authority=record.authority,
        storage_id=replace_lone_surrogates(folder.name),
    )


def _folder_of_workspace_file(path: str) -> str:
    """Return the folder of a workspace file without its own name: all windows with unsaved folders use that name."""
    parent, _, name = path.replace("\\", "/").rpartition("/")
    return path[: len(parent)] if name.casefold() == UNNAMED_FILE and parent else path
