"""workspace.json: the folder that the storage of a workspace belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from copilog.diagnostics import Ledger
from copilog.model import Workspace
from copilog.sources.base import Found, Probe
from copilog.sources.vscode.workspace import VSCodeWorkspace, workspace_from

SOURCE = VSCodeWorkspace()


def workspace_file(tmp_path: Path, content: str, storage: str = "workspaceStorage") -> Path:
    path = tmp_path / storage / "3f2a" / "workspace.json"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    return path


def books(path: Path) -> Ledger:
    ledger = Ledger(path=str(path), source=SOURCE.name)
    assert list(SOURCE.read(Found(path, SOURCE.name), ledger)) == []
    assert ledger.balances()
    return ledger


@pytest.mark.parametrize(
    ("content", "workspace"),
    [
        (
            '{"folder": "file:///home/ana/my%20tides"}',
            Workspace(folder="/home/ana/my tides", uri="file:///home/ana/my%20tides", kind="folder", storage_id="3f2a"),
        ),
        (
            '{"workspace": "file:///home/ana/shore.code-workspace"}',
            Workspace(
                folder="/home/ana/shore.code-workspace",
                uri="file:///home/ana/shore.code-workspace",
                kind="workspace",
                storage_id="3f2a",
            ),
        ),
        (
            '{"folder": "vscode-remote://ssh-remote%2Bpi/home/ana"}',
            Workspace(
                folder="/home/ana",
                uri="vscode-remote://ssh-remote%2Bpi/home/ana",
                kind="folder",
                authority="ssh-remote+pi",
                storage_id="3f2a",
            ),
        ),
    ],
)
def test_a_workspace_is_a_local_or_remote_folder_or_workspace_file(
    tmp_path: Path, content: str, workspace: Workspace
) -> None:
    path = workspace_file(tmp_path, content)

    assert workspace_from(path.parent) == workspace
    assert SOURCE.claims(Probe(path))
    ledger = books(path)
    assert (ledger.seen, ledger.used, ledger.diagnostics()) == (1, 1, [])


def test_a_window_without_a_folder_has_no_workspace(tmp_path: Path) -> None:
    assert workspace_from(tmp_path) is None


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"folder": 7}', '{"folder": "file:///ho', "\0\0\0"])
def test_a_broken_workspace_record_is_claimed_and_reported(tmp_path: Path, content: str) -> None:
    path = workspace_file(tmp_path, content)

    assert SOURCE.claims(Probe(path))
    assert [bad.code for bad in books(path).bad] == ["bad-record"]
    with pytest.raises(ValueError, match=r"workspace\.json"):
        workspace_from(path.parent)


def test_outside_of_storage_a_workspace_record_is_recognized_by_its_keys(tmp_path: Path) -> None:
    assert SOURCE.claims(Probe(workspace_file(tmp_path, '{"folder": "file:///a"}', "copy")))
    assert not SOURCE.claims(Probe(workspace_file(tmp_path, '{"name": "an npm workspace"}', "npm")))
    assert not SOURCE.claims(Probe(workspace_file(tmp_path, "", "empty")))
