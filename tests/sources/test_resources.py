"""Spilled tool output, and how the files of one session on a disk come together."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from copilog import ingest
from copilog.derive import without_superseded
from copilog.diagnostics import Ledger, Report
from copilog.errors import BadFile
from copilog.model import Conversation, ToolResult, parts_of, prose_of
from copilog.sources.base import Found, Probe
from copilog.sources.roots import StorageFolder
from copilog.sources.vscode.state_database import INDEX
from copilog.sources.vscode.tool_resources import VSCodeResources

Json = dict[str, Any]
SESSION = "5d0c7f1e-9a43-4f0e-8a55-3f6b1c2d4e5f"
SOURCE = VSCodeResources()


# --- the source itself ------------------------------------------------------------------------------------------


def spill(folder: Path, text: bytes, call: str = "call_1__vscode-17", extension: str = "GitHub.copilot-chat") -> Path:
    path = folder / extension / "chat-session-resources" / SESSION / call / "content.txt"
    path.parent.mkdir(parents=True)
    path.write_bytes(text)
    return path


def read_resource(path: Path) -> tuple[Conversation, Ledger]:
    ledger = Ledger(path=str(path), source=SOURCE.name)
    [conversation] = SOURCE.read(Found(path, SOURCE.name, native_id=SESSION), ledger)
    assert ledger.balances()
    assert ledger.seen == 1
    return conversation, ledger


def test_spilled_output_is_a_result_of_the_session_and_call_that_its_folders_name(tmp_path: Path) -> None:
    path = spill(tmp_path, b"Flut\n")

    conversation, ledger = read_resource(path)

    assert (conversation.id, conversation.marks) == (f"vscode:{SESSION}", ["resource"])
    [result] = parts_of(conversation)
    assert isinstance(result, ToolResult)
    assert (result.call_id, result.full_text, result.origin) == ("call_1", "Flut\n", "resource file")
    assert result.full_text_path == str(path)
    assert conversation.provenance[0].role == "resource"
    assert ledger.diagnostics() == []


@pytest.mark.parametrize("data", [b"\xff and on", "\ufffd and ".encode() + b"\xff"])
def test_output_with_invalid_utf8_is_read_and_reported(tmp_path: Path, data: bytes) -> None:
    conversation, ledger = read_resource(spill(tmp_path, data))

    assert "\ufffd" in str(next(parts_of(conversation)))
    assert [note.code for note in ledger.notes] == ["invalid-utf8"]


def test_a_real_replacement_character_is_not_reported(tmp_path: Path) -> None:
    assert read_resource(spill(tmp_path, "\ufffd".encode()))[1].notes == []


def test_output_that_cannot_be_read_is_not_counted(tmp_path: Path) -> None:
    ledger = Ledger(path="gone")

    with pytest.raises(BadFile):
        list(SOURCE.read(Found(tmp_path / "a/b/gone", SOURCE.name), ledger))
    assert ledger.balances()


@pytest.mark.parametrize("extension", ["GitHub.copilot-chat", "github.copilot-chat", ""])
def test_output_is_located_under_every_spelling_of_the_extension(tmp_path: Path, extension: str) -> None:
    path = spill(tmp_path, b"text", extension=extension)

    [found] = SOURCE.locate(StorageFolder(tmp_path, "workspace", "Code", None))

    assert found == Found(path, "vscode-resources", native_id=SESSION, application="Code")


def test_links_and_stray_files_are_not_read(tmp_path: Path) -> None:
    path = spill(tmp_path / "elsewhere", b"text")
    session = tmp_path / "here" / "GitHub.copilot-chat" / "chat-session-resources" / SESSION
    (session / "call_2").mkdir(parents=True)
    (session / "call_2" / "content.txt").symlink_to(path)
    (session / "call_3").symlink_to(path.parent)
    (session / "notes.txt").write_text("stray")

    assert list(SOURCE.locate(StorageFolder(tmp_path / "here", "workspace", None, None))) == []


def test_output_is_claimed_by_its_path_which_names_the_session(tmp_path: Path) -> None:
    probe = Probe(spill(tmp_path, b"text"))
    stray = tmp_path / "content.txt"
    stray.write_text("text")

    assert SOURCE.claims(probe)
    assert SOURCE.native_id(probe) == SESSION
    assert not SOURCE.claims(Probe(stray))
    assert SOURCE.native_id(Probe(stray)) is None


# --- all files of a session -------------------------------------------------------------------------------------


def request(number: int, answer: list[Json] | None = None) -> Json:
    return {
        "requestId": f"r{number}",
        "timestamp": 1767000000000 + number * 60_000,
        "message": {"text": f"question {number}", "parts": []},
        "response": [{"value": f"answer {number}"}] if answer is None else answer,
    }


def state(*requests: Json, **fields: Any) -> Json:
    return {"version": 3, "sessionId": SESSION, "creationDate": 1767000000000, "requests": list(requests), **fields}


class Disk:
    """A user data folder in the making."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.user = root / "Code" / "User"
        (self.user / "workspaceStorage").mkdir(parents=True)

    def workspace(self, name: str, folder: str | None = None) -> Path:
        made = self.user / "workspaceStorage" / (name * 32)
        if not made.exists():
            made.mkdir()
            (made / "workspace.json").write_text(json.dumps({"folder": f"file://{folder or f'/home/ana/{name}'}"}))
        return made

    def file(self, session: Json, workspace: str = "a") -> Path:
        return self._write(self.workspace(workspace) / "chatSessions" / f"{SESSION}.json", json.dumps(session))

    def log(self, *records: Json, workspace: str = "a", torn: str = "") -> Path:
        path = self.workspace(workspace) / "chatSessions" / f"{SESSION}.jsonl"
        return self._write(path, "".join(json.dumps(record) + "\n" for record in records) + torn)

    def empty_window(self, session: Json) -> Path:
        path = self.user / "globalStorage" / "emptyWindowChatSessions" / f"{SESSION}.json"
        return self._write(path, json.dumps(session))

    def index(self, workspace: str = "a", **fields: Any) -> Path:
        entry = {"sessionId": SESSION, "title": "Tide times", "lastMessageDate": 1767000000000, **fields}
        path = self.workspace(workspace) / "state.vscdb"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
            value = json.dumps({"version": 1, "entries": {SESSION: entry}})
            connection.execute("INSERT INTO ItemTable VALUES (?, ?)", (INDEX, value))
        return path

    def editing(self, request_id: str, before: str, after: str, workspace: str = "a") -> Path:
        """Write the editing session of one request that changed one file."""
        folder = self.workspace(workspace) / "chatEditingSessions" / SESSION
        names = [hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:7] for text in (before, after)]
        for name, text in zip(names, (before, after), strict=True):
            self._write(folder / "contents" / name, text)
        uri = "file:///home/ana/tides.py"
        entry = {"resource": uri, "languageId": "python", "originalHash": names[0], "currentHash": names[1], "state": 0}
        history = {"requestId": request_id, "stops": [{"entries": []}], "postEdit": [entry]}
        document = {
            "version": 2,
            "sessionId": SESSION,
            "linearHistory": [history],
            "linearHistoryIndex": 1,
            "initialFileContents": [[uri, names[0]]],
            "recentSnapshot": {"entries": [entry]},
        }
        return self._write(folder / "state.json", json.dumps(document))

    def _write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def read(self) -> tuple[list[Conversation], Report]:
        """Return all conversations, discovered in a home folder and by walking, which must be equal."""
        report = Report()
        found = [
            made for one in ingest.discover([self.root], report=report) for made in ingest.read(one, report=report)
        ]
        assert report.balances()
        walked = Report()
        others = list(ingest.read(self.root, report=walked))
        assert walked.balances()
        assert [essence(made) for made in found] == [essence(made) for made in others]
        return found, report

    def read_one(self) -> Conversation:
        conversations, _ = self.read()
        assert len(conversations) == 1
        assert conversations[0].id == f"vscode:{SESSION}"
        return conversations[0]


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


def essence(conversation: Conversation) -> Any:
    places = sorted((place.path, place.role) for place in conversation.provenance)
    return conversation.id, conversation.title, conversation.marks, prose(conversation), places


def prose(conversation: Conversation) -> list[str]:
    return [prose_of(message.parts) for message in conversation.messages]


def places(conversation: Conversation, disk: Disk) -> list[tuple[str, str]]:
    return [
        (place.role, Path(place.path).relative_to(disk.user).as_posix().replace(SESSION, "ID"))
        for place in conversation.provenance
    ]


def test_a_valid_log_takes_precedence_over_an_outdated_file(disk: Disk) -> None:
    disk.file(state(request(1), request(2), request(3), customTitle="stale"))
    disk.log({"kind": 0, "v": state(request(1), request(2))})

    conversation = disk.read_one()

    assert prose(without_superseded(conversation)) == ["question 1", "answer 1", "question 2", "answer 2"]
    assert [turn.superseded for turn in conversation.turns] == [None, None, "absent"]
    assert conversation.marks == []
    assert places(conversation, disk) == [
        ("lead", f"workspaceStorage/{'a' * 32}/chatSessions/ID.jsonl"),
        ("copy", f"workspaceStorage/{'a' * 32}/chatSessions/ID.json"),
    ]


def test_a_headless_log_is_completed_from_the_file_beside_it(disk: Disk) -> None:
    disk.file(state(request(1), request(2), customTitle="Tides"))
    disk.log({"kind": 2, "k": ["requests"], "v": [request(3)]})

    conversation = disk.read_one()

    assert prose(conversation)[0::2] == ["question 1", "question 2", "question 3"]
    assert (conversation.title, conversation.marks) == ("Tides", ["headless"])


def test_a_damaged_log_is_completed_from_the_file_beside_it(disk: Disk) -> None:
    disk.file(state(request(1), request(2)))
    disk.log(
        {"kind": 0, "v": state(request(1))},
        {"kind": 1, "k": ["requests", 1, "vote"], "v": 1},  # the line that pushed the second request is lost
        {"kind": 2, "k": ["requests"], "v": [request(3)]},
    )

    conversation = disk.read_one()

    assert prose(conversation)[0::2] == ["question 1", "question 2", "question 3"]
    assert conversation.marks == ["damaged"]


def test_a_log_with_a_truncated_last_line_is_valid(disk: Disk) -> None:
    disk.file(state(request(1), request(2)))
    disk.log({"kind": 0, "v": state(request(1))}, torn='{"kind":1,"k":["custom')

    conversation = disk.read_one()

    assert prose(without_superseded(conversation))[0::2] == ["question 1"]
    assert conversation.marks == []


def test_copies_in_several_workspaces_are_merged_to_the_most_complete(disk: Disk) -> None:
    disk.log({"kind": 0, "v": state(request(1))}, workspace="a")
    disk.log({"kind": 0, "v": state(request(1), request(2))}, workspace="b")

    conversation = disk.read_one()

    assert len(conversation.turns) == 2
    assert conversation.workspace is not None
    assert conversation.workspace.folder == "/home/ana/b"
    assert [role for role, _ in places(conversation, disk)] == ["lead", "copy"]


def test_an_empty_window_session_continued_in_a_workspace_belongs_there(disk: Disk) -> None:
    disk.empty_window(state(request(1)))
    disk.log({"kind": 0, "v": state(request(1), request(2))}, workspace="b")

    conversation = disk.read_one()

    assert len(conversation.turns) == 2
    assert places(conversation, disk)[1] == ("copy", "globalStorage/emptyWindowChatSessions/ID.json")


def test_an_empty_window_session_belongs_to_no_workspace(disk: Disk) -> None:
    disk.empty_window(state(request(1)))

    assert disk.read_one().workspace is None


def test_the_index_gives_a_title_to_a_session_without_one(disk: Disk) -> None:
    disk.log({"kind": 0, "v": state(request(1))})
    disk.index(stats={"fileCount": 1, "added": 2, "removed": 0})

    conversation = disk.read_one()

    assert conversation.title == "Tide times"
    assert conversation.marks == []
    assert conversation.extra is not None
    assert conversation.extra["index"]["stats"]["added"] == 2
    assert places(conversation, disk)[1] == ("index", f"workspaceStorage/{'a' * 32}/state.vscdb")


def test_a_session_that_is_only_in_the_index_is_a_stub(disk: Disk) -> None:
    disk.index(isExternal=True)

    conversation = disk.read_one()

    assert (conversation.title, conversation.marks) == ("Tide times", ["stub", "external"])
    assert [role for role, _ in places(conversation, disk)] == ["index"]


def test_file_changes_are_attached_to_their_turns(disk: Disk) -> None:
    disk.log({"kind": 0, "v": state(request(1), request(2))})
    disk.editing("r2", "ebb = 1\n", "ebb = 2\n")

    conversation = disk.read_one()

    [change] = [made for made in conversation.file_changes if made.checkpoint is None]
    assert (change.turn, change.before, change.after) == (1, "ebb = 1\n", "ebb = 2\n")
    assert change.diff is not None
    assert conversation.marks == []
    assert ("edits", f"workspaceStorage/{'a' * 32}/chatEditingSessions/ID/state.json") in places(conversation, disk)


def test_an_editing_session_without_its_session_is_reported_as_orphan(disk: Disk) -> None:
    path = disk.editing("r2", "ebb = 1\n", "ebb = 2\n")

    [conversation], report = disk.read()

    assert conversation.marks == ["orphan-edits"]
    assert [made.turn for made in conversation.file_changes] == [None]
    assert "orphan-editing-session" in [found.code for found in report.files[str(path)].diagnostics()]


def test_an_editing_session_whose_log_lost_its_requests_is_reported(disk: Disk) -> None:
    disk.log({"kind": 0, "v": state()})
    path = disk.editing("r2", "ebb = 1\n", "ebb = 2\n")

    [conversation], report = disk.read()

    assert len(conversation.file_changes) == 1
    assert "orphan-editing-session" in [found.code for found in report.files[str(path)].diagnostics()]


def call(number: int) -> Json:
    return {
        "kind": "toolInvocationSerialized",
        "toolCallId": f"call_{number}__vscode-17",
        "toolId": "copilot_readFile",
        "isConfirmed": {"type": 1},
        "isComplete": True,
        "resultDetails": {"input": "{}", "output": [{"type": "embed", "isText": True, "value": "long ou"}]},
    }


def test_spilled_output_is_joined_to_its_call(disk: Disk) -> None:
    disk.log({"kind": 0, "v": state(request(1, [call(1), {"value": "done"}]), request(2))})
    path = spill(disk.workspace("a"), b"long output")

    conversation = disk.read_one()

    [result] = [part for part in parts_of(conversation) if isinstance(part, ToolResult)]
    assert (result.call_id, result.text, result.full_text) == ("call_1", "long ou", "long output")
    assert result.full_text_path == str(path)
    assert conversation.marks == []
    assert places(conversation, disk)[-1][0] == "resource"


def test_all_traces_of_a_session_come_together(disk: Disk) -> None:
    disk.file(state(request(1)))
    disk.log({"kind": 0, "v": state(request(1, [call(1)]), request(2))})
    disk.log({"kind": 0, "v": state(request(1, [call(1)]))}, workspace="b")
    disk.empty_window(state(request(1)))
    disk.index()
    disk.index("b")
    disk.editing("r1", "ebb = 1\n", "ebb = 2\n")
    spill(disk.workspace("a"), b"long output")

    conversation = disk.read_one()

    roles = [role for role, _ in places(conversation, disk)]
    assert roles[0] == "lead"
    assert sorted(roles) == ["copy", "copy", "copy", "edits", "index", "index", "lead", "resource"]
    assert len(conversation.turns) == 2


def test_a_session_given_by_path_has_companions_but_no_duplicate(disk: Disk) -> None:
    path = disk.file(state(request(1, [call(1)])))
    disk.log({"kind": 0, "v": state(request(1), request(2))})
    disk.index()
    spill(disk.workspace("a"), b"long output")

    [conversation] = ingest.read(path)

    assert [role for role, _ in places(conversation, disk)] == ["lead", "resource", "index"]
    assert conversation.title == "Tide times"
