"""Memory: of users, of repositories, and of sessions, whose folders are named in base64."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.diagnostics import Ledger
from copilog.errors import BadFile
from copilog.model import MemoryDocument, PlanDocument
from copilog.sources.base import Found, Probe
from copilog.sources.extension.memories import Memories, session_of_folder
from copilog.sources.roots import StorageFolder
from tests.sources.extension_builders import DATA, codes, read_one, read_or_refuse

SOURCE = Memories()
USER = DATA / "memories" / "ana" / ".config" / "Code" / "User"
GLOBAL = USER / "globalStorage"
WORKSPACE = USER / "workspaceStorage" / "8a1b2c3d4e5f60718293a4b5c6d7e8f9"
SESSION = "7d1f0000-0000-4000-8000-00000000000a"
CLI_SESSION = "5a3e0c11-0000-4000-8000-000000000001"


def memories(folder: Path) -> Path:
    return folder / "GitHub.copilot-chat" / "memory-tool" / "memories"


def write(path: Path, text: str = "remember\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


# --- whose memory it is -----------------------------------------------------------------------------------------


def test_the_memory_of_a_session_belongs_to_its_conversation_and_the_plan_is_marked() -> None:
    path = memories(WORKSPACE) / base64.b64encode(SESSION.encode()).decode().rstrip("=") / "plan.md"

    conversation, ledger = read_one(SOURCE, path)

    assert (conversation.id, conversation.native_id, conversation.marks) == (f"vscode:{SESSION}", SESSION, ["memory"])
    plan = "## Plan: tide curve\n\n1. Read the table\n2. Draw the curve\n"
    assert conversation.documents == [PlanDocument(text=plan, path="/memories/session/plan.md")]
    assert (ledger.seen, ledger.used, codes(ledger)) == (1, 1, [])


def test_the_memory_of_a_user_and_of_a_repository_are_collections_of_their_own() -> None:
    found = [*SOURCE.locate(StorageFolder(GLOBAL, "global", "Code", None))]
    found += SOURCE.locate(StorageFolder(WORKSPACE, "workspace", "Code", None))

    read = [read_one(SOURCE, trace)[0] for trace in found]

    assert [conversation.native_id for conversation in read] == [trace.native_id for trace in found]
    entries = [document for conversation in read for document in conversation.documents]
    assert [(entry.scope if isinstance(entry, MemoryDocument) else None, entry.path) for entry in entries] == [
        ("user", "/memories/preferences.md"),
        ("user", "/memories/notes/moon.md"),
        ("session", "/memories/session/findings.md"),
        (None, "/memories/session/plan.md"),
        ("repository", "/memories/repo/build.md"),
    ]
    user, more_of_user, *_, repository = read
    assert user.id == more_of_user.id
    assert user.id.startswith("memory:user:")
    assert repository.id.startswith("memory:repo:")
    assert [document.kind for document in repository.documents] == ["memory"]


def test_a_collection_has_the_same_name_when_a_home_is_copied_elsewhere(tmp_path: Path) -> None:
    shutil.copytree(DATA / "memories", tmp_path / "memories")
    copy = tmp_path / "memories" / "ana" / ".config" / "Code" / "User"
    other = tmp_path / "memories" / "ben" / ".config" / "Code" / "User"
    shutil.copytree(copy, other)

    names = [
        {trace.native_id for trace in SOURCE.locate(StorageFolder(user / "globalStorage", "global", None, None))}
        for user in (USER, copy, other)
    ]

    assert names[0] == names[1]
    assert names[1] != names[2]


@pytest.mark.parametrize(
    ("folder", "session"),
    [
        (base64.b64encode(SESSION.encode()).decode().rstrip("="), f"vscode:{SESSION}"),
        (CLI_SESSION, f"cli:{CLI_SESSION}"),
        ("some_other_name", "vscode:some_other_name"),
    ],
)
def test_a_folder_names_its_session_in_base64_or_plainly(tmp_path: Path, folder: str, session: str) -> None:
    path = write(memories(tmp_path) / folder / "deep" / "note.md")

    conversation, _ = read_one(SOURCE, path)

    assert conversation.id == session
    assert conversation.documents[0].path == "/memories/session/deep/note.md"


def test_memory_without_a_session_belongs_to_the_workspace(tmp_path: Path) -> None:
    conversation, _ = read_one(SOURCE, write(memories(tmp_path) / "note.md"))

    assert conversation.id.startswith("memory:workspace:")


@given(st.text(min_size=1, max_size=60))
def test_any_folder_name_gives_a_session_id(name: str) -> None:
    assert session_of_folder(name)


@given(st.uuids(version=4))
def test_every_session_is_found_again_behind_its_base64(session: object) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        assert session_of_folder(encode(str(session).encode()).decode().rstrip("=")) == str(session)


# --- which files ------------------------------------------------------------------------------------------------


def test_only_files_of_the_memory_tool_are_claimed(tmp_path: Path) -> None:
    mine = write(memories(tmp_path) / "repo" / "build.md")
    others = [
        write(tmp_path / "memory-tool" / "memories" / "x.md"),
        write(memories(tmp_path).parent / "other" / "x.md"),
        write(tmp_path / "memories" / "x.md"),
    ]

    assert SOURCE.claims(Probe(mine))
    assert [SOURCE.claims(Probe(path)) for path in others] == [False] * 3


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = write(tmp_path / "elsewhere" / "secret.md")
    folder = memories(tmp_path / "ws")
    write(folder / "repo" / "build.md")
    (folder / "repo" / "link.md").symlink_to(outside)
    (folder / "linked").symlink_to(outside.parent)
    (tmp_path / "ws2" / "GitHub.copilot-chat").mkdir(parents=True)
    (tmp_path / "ws2" / "GitHub.copilot-chat" / "memory-tool").symlink_to(folder.parent)

    found = [
        trace.path.name
        for name in ("ws", "ws2")
        for trace in SOURCE.locate(StorageFolder(tmp_path / name, "workspace", None, None))
    ]

    assert found == ["build.md"]


# --- damage -----------------------------------------------------------------------------------------------------


def test_broken_bytes_are_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    path = write(memories(tmp_path) / "repo" / "build.md")
    path.write_bytes(b"\xffmake test")

    conversation, ledger = read_one(SOURCE, path)

    assert conversation.documents[0].text == "\ufffdmake test"
    assert codes(ledger) == ["invalid-utf8"]


def test_missing_and_misplaced_files_are_refused(tmp_path: Path) -> None:
    for path in (memories(tmp_path) / "repo" / "gone.md", tmp_path / "note.md"):
        with pytest.raises(BadFile):
            list(SOURCE.read(Found(path, SOURCE.name), Ledger()))


@given(data=st.binary(max_size=200))
def test_memory_of_any_bytes_is_read(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = write(memories(tmp_path_factory.getbasetemp() / "any-memory") / "repo" / "note")
    path.write_bytes(data)

    read_or_refuse(SOURCE, path)
