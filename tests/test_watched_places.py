"""The watched folders are those where sources find their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from copilog.ingest.watched_folders import WatchedFolders, rules_of
from copilog.sample import home as sample_home
from copilog.sources import SOURCES, Source
from copilog.sources.roots import roots_from, storage_folders

PLACES = (
    ".config/Code/User/workspaceStorage/w1/workspace.json",
    ".config/Code/User/workspaceStorage/w1/state.vscdb",
    ".config/Code/User/workspaceStorage/w1/chatSessions/s1.json",
    ".config/Code/User/workspaceStorage/w1/chatSessions/s2.jsonl",
    ".config/Code/User/workspaceStorage/w1/chatEditingSessions/s1/state.json",
    ".config/Code/User/workspaceStorage/w1/chatEditingSessions/s1/contents/abcdef1",
    ".config/Code/User/workspaceStorage/w1/chat-session-resources/s1/call/content.txt",
    ".config/Code/User/workspaceStorage/w1/GitHub.copilot-chat/chat-session-resources/s1/call/content.txt",
    ".config/Code/User/workspaceStorage/w1/GitHub.copilot-chat/transcripts/s1.jsonl",
    ".config/Code/User/workspaceStorage/w1/GitHub.copilot-chat/debug-logs/s1/main.jsonl",
    ".config/Code/User/workspaceStorage/w1/GitHub.copilot-chat/memory-tool/memories/repo/garden.md",
    ".config/Code/User/workspaceStorage/w2/state.vscdb.backup",
    ".config/Code/User/workspaceStorage/w2/chatEditingSessions/s8/contents/abcdef2",
    ".config/Code/User/globalStorage/state.vscdb",
    ".config/Code/User/globalStorage/emptyWindowChatSessions/s3.json",
    ".config/Code/User/globalStorage/transferredChatSessions/s4.json",
    ".config/Code/User/globalStorage/github.copilot-chat/agent-traces.db",
    ".config/Code/User/globalStorage/github.copilot-chat/session-store.db",
    ".config/Code/User/globalStorage/github.copilot-chat/memory-tool/memories/garden.md",
    ".config/Code/User/profiles/p1/globalStorage/state.vscdb",
    ".copilot/command-history-state.json",
    ".copilot/command-history-state/1.json",
    ".copilot/session-store.db",
    ".copilot/session-state/s5/events.jsonl",
    ".copilot/session-state/s5/session.db",
    ".copilot/session-state/s5/rewind-snapshots/index.json",
    ".copilot/session-state/s6.jsonl",
    ".copilot/history-session-state/session_s7_1776000000000.json",
    ".copilot/otel/copilot.jsonl",
)


def located(home: Path, source: Source) -> set[Path]:
    folders = [folder for root in roots_from(home) for folder in storage_folders(root)]
    return {found.path for folder in folders for found in source.locate(folder)}


def watched(home: Path) -> set[Path]:
    known = WatchedFolders(rules_of(roots_from(home)))
    return {Path(name, file) for name, folder in known.folders.items() for file in folder.files}


@pytest.fixture(scope="module")
def full_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("full")
    for place in PLACES:
        path = home / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    return home


@pytest.mark.parametrize(
    "source", [source for source in SOURCES if type(source).locate is not Source.locate], ids=lambda source: source.name
)
def test_the_folders_of_every_source_are_watched(full_home: Path, source: Source) -> None:
    assert located(full_home, source), "add a file of this source to PLACES"
    assert located(full_home, source) <= watched(full_home)
    assert located(sample_home(), source) <= watched(sample_home())


def test_all_default_folders_are_watched(full_home: Path) -> None:
    assert watched(full_home) == {full_home / place for place in PLACES}


def test_watched_trees_begin_at_folders_with_conversations(full_home: Path) -> None:
    known = WatchedFolders(rules_of(roots_from(full_home)))
    user = full_home / ".config/Code/User"

    assert {Path(name) for name in known.trees()} == {
        user / "workspaceStorage",
        user / "globalStorage",
        user / "profiles/p1/globalStorage",
        full_home / ".copilot",
    }
