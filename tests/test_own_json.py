"""Conversations that copilog wrote as JSON: read again they are equal, and met again they are one more trace."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import copilog
from copilog import analysis
from copilog.diagnostics import Report
from copilog.ingest import find_roots
from copilog.ingest.scanning import scan
from copilog.model import Conversation, is_recorded
from copilog.sample import home
from copilog.store.archive import Archive
from tests.cli.homes import run
from tests.export_places import Places, asked, beans, files_of, ids

# What names files, and is therefore not the same once there is one file more.
OF_FILES = {"archive", "files", "traces"}


def figures(archive: Archive) -> Any:
    """Return all figures of an archive."""
    measured = msgspec.to_builtins(analysis.measure(archive))
    return {name: value for name, value in measured.items() if name not in OF_FILES}


def without_traces(conversation: Conversation) -> Any:
    """Return all of a conversation but which traces have it; messages that belong to no turn may come last."""
    made = msgspec.to_builtins(conversation)
    del made["provenance"]
    for turn in made["turns"]:
        turn.pop("traces", None)
    for message in made["messages"]:
        for part in message["parts"]:
            part.pop("verdicts", None)  # how the call ended, by trace
            part.get("outcome", {}).pop("evidence", None) if isinstance(part.get("outcome"), dict) else None
    made["messages"].sort(key=lambda message: message.get("turn") is None)
    return made


def assert_equal(back: Conversation, conversation: Conversation, path: Path) -> None:
    """Assert that a conversation was read from a file with all that it had, and with the file as its first trace."""
    own, *others = back.provenance
    assert own.path == str(path)
    assert is_recorded(back)
    assert others == conversation.provenance
    assert replace(back, provenance=[]) == replace(conversation, provenance=[])


def assert_round_trip(archive: Archive, folder: Path) -> None:
    """Assert that all conversations of an archive are equal when they are read from a file each, and from one file."""
    copilog.export(archive, "json", folder / "each")
    one = copilog.export(archive, "json", folder / "all.jsonl").paths[0]
    index = json.loads((folder / "each" / "copilog-export.json").read_text())
    paths = {line["id"]: folder / "each" / line["file"] for line in index["conversations"]}
    together = {conversation.id: conversation for conversation in copilog.read(one)}
    assert len(paths) == len(together) == len(ids(archive))
    for name, path in paths.items():
        conversation = archive.get(name)
        [back] = copilog.read(path)
        assert_equal(back, conversation, path)
        assert_equal(together[name], conversation, one)


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "data" / "archive.db", write=True) as opened:
        yield opened


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def written(archive: Archive, path: Path, name: str) -> Path:
    return copilog.export([archive.get(name)], "json", path).paths[0]


# --- read again -----------------------------------------------------------------------------------------------------


def test_all_conversations_of_the_sample_are_equal_when_they_are_read_again(archive: Archive, tmp_path: Path) -> None:
    scan(archive, roots=find_roots([home()]), paths=[home() / "Documents"])
    assert_round_trip(archive, tmp_path)


@pytest.mark.corpus
def test_all_conversations_of_real_homes_are_equal_when_they_are_read_again(
    archive: Archive, tmp_path: Path, corpus: Path
) -> None:
    scan(archive, roots=find_roots([corpus]), paths=[corpus / "files"])
    assert_round_trip(archive, tmp_path)


def test_a_file_is_what_show_prints(archive: Archive, places: Places, tmp_path: Path) -> None:
    places.keep("kept", *beans(2))
    places.scan_home(archive)
    path = written(archive, tmp_path / "kept.json", "vscode:kept")

    shown = run("show", "vscode:kept", "--json", "--root", places.home.root)
    assert json.loads(path.read_text()) == shown.json
    assert path.read_text() == shown.out
    again = run("show", path, "--json").json
    assert again["provenance"][1:] == shown.json["provenance"]
    assert {**again, "provenance": []} == {**shown.json, "provenance": []}


def test_a_file_is_read_from_a_root_and_listed(archive: Archive, places: Places, tmp_path: Path) -> None:
    places.keep("kept", *beans(2))
    places.keep("other", *[asked("peas", number) for number in range(3)])
    places.scan_home(archive)
    path = copilog.export(archive, "json", tmp_path / "both.jsonl").paths[0]

    listed = run("list", "--root", path, "--json").json
    assert sorted(line["id"] for line in listed) == ["vscode:kept", "vscode:other"]
    assert run("show", "other", "--root", path, "--json").json["id"] == "vscode:other"
    assert run("inspect", path, "--strict").code == 0


# --- met again ------------------------------------------------------------------------------------------------------


def test_scanning_what_was_written_changes_no_figure(tmp_path: Path) -> None:
    with Archive(tmp_path / "origin.db", write=True) as origin, Archive(tmp_path / "other.db", write=True) as other:
        roots = find_roots([home()])
        scan(origin, roots=roots)
        before, conversations = figures(origin), {name: origin.get(name) for name in ids(origin)}
        path = copilog.export(origin, "json", tmp_path / "all.jsonl").paths[0]
        scan(origin, paths=[path])
        assert figures(origin) == before
        for name, conversation in conversations.items():
            after = origin.get(name)
            assert {trace.path for trace in after.provenance} == {
                *(trace.path for trace in conversation.provenance), str(path)
            }  # fmt: skip
            assert without_traces(after) == without_traces(conversation)

        scan(other, paths=[path])  # another machine, on which nothing else is
        assert figures(other) == before
        scan(other, roots=roots)
        assert figures(other) == before
        for name, conversation in conversations.items():
            assert without_traces(other.get(name)) == without_traces(conversation)


@pytest.mark.parametrize("order", list(itertools.permutations(("old", "new", "home"))), ids="-".join)
def test_an_older_file_takes_nothing_away_and_a_newer_one_adds_its_turns(
    places: Places, tmp_path: Path, order: tuple[str, ...]
) -> None:
    files = {}
    with Archive(tmp_path / "origin.db", write=True) as origin:
        for name, count in (("old", 1), ("new", 3)):
            places.keep("kept", *beans(count))
            places.scan_home(origin)
            files[name] = written(origin, tmp_path / f"{name}.json", "vscode:kept")
        expected = origin.get("vscode:kept")
    session = places.keep("kept", *beans(2))  # as on another machine, which has an older copy

    with Archive(tmp_path / "archive.db", write=True) as archive:
        for name in order:
            if name == "home":
                places.scan_home(archive)
            else:
                scan(archive, paths=[files[name]])
        kept = archive.get("vscode:kept")
        assert [turn.superseded for turn in kept.turns] == [None, None, None]
        assert [message.parts for message in kept.messages] == [message.parts for message in expected.messages]
        assert files_of(archive, "vscode:kept") == {"kept.json", "old.json", "new.json"}

        session.write_bytes(json.dumps({**json.loads(session.read_text()), "requests": beans(4)}).encode())
        places.scan_home(archive)
        assert [turn.superseded for turn in archive.get("vscode:kept").turns] == [None] * 4
        assert ids(archive) == ["vscode:kept"]
        assert archive.check() == []


def test_a_conversation_stays_when_its_file_is_all_that_is_left(
    archive: Archive, places: Places, tmp_path: Path
) -> None:
    session = places.keep("kept", *beans(2))
    places.scan_home(archive)
    path = written(archive, tmp_path / "kept.json", "vscode:kept")
    scan(archive, paths=[path])
    session.unlink()
    places.scan_home(archive)
    path.unlink()
    places.scan_home(archive)
    assert len(archive.get("vscode:kept").turns) == 2


# --- from others ----------------------------------------------------------------------------------------------------

HOSTILE = {
    "no_program": {"id": "kept"},
    "turns_out_of_order": {"turns": [{"index": 3}]},
    "message_before_all_turns": {"messages": [{"role": "user", "parts": [], "turn": -1}]},
    "number_of_no_size": {"usage": [{"input": 1 << 70}]},
    "unknown_part": {"messages": [{"role": "user", "parts": [{"type": "bomb"}]}]},
    "unknown_role": {"messages": [{"role": "root", "parts": []}]},
}
SOUND = {"id": "vscode:kept", "native_id": "kept", "source": "vscode-session", "provenance": []}


@pytest.mark.parametrize("fields", HOSTILE.values(), ids=HOSTILE)
def test_a_file_that_is_not_as_copilog_writes_it_is_reported(archive: Archive, tmp_path: Path, fields: Any) -> None:
    path = tmp_path / "hostile.jsonl"
    good = {**SOUND, "turns": [{"index": 0}], "messages": [{"role": "user", "turn": 0, "parts": []}]}
    path.write_text("\n".join(map(json.dumps, (good, {**good, **fields}))))
    report = Report()
    scan(archive, paths=[path], report=report)
    assert report.bad_records() == 1
    assert ids(archive) == ["vscode:kept"]


def test_nothing_is_opened_or_reported_because_a_file_names_it(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret" / "workspaceStorage" / "1" / "chatSessions" / "kept.json"
    secret.parent.mkdir(parents=True)
    secret.write_text("{}")
    agents = tmp_path / "project" / ".github" / "agents"
    agents.mkdir(parents=True)
    (agents / "spy.agent.md").write_text("---\nname: spy\n---\n")
    roles = ("lead", "copy", "index", "edits", "resource", "earlier")
    named = [{"source": "vscode-session", "path": str(secret), "role": role} for role in roles]
    path = tmp_path / "hostile.json"
    turn = {"index": 0, "traces": [str(secret)]}
    workspace = {"folder": str(tmp_path / "project")}
    change = {"uri": f"file://{secret}", "path": str(secret)}
    content = {**SOUND, "provenance": named, "turns": [turn], "file_changes": [change], "workspace": workspace}
    path.write_text(json.dumps(content))
    opened: list[str] = []
    real = os.open

    def watched(name: Any, *arguments: Any, **fields: Any) -> int:
        opened.append(str(name))
        return real(name, *arguments, **fields)

    monkeypatch.setattr(os, "open", watched)
    report = Report()
    scan(archive, paths=[path], report=report, definitions=copilog.WorkspaceDefinitions())
    [conversation] = copilog.read(path, report=report, definitions=copilog.WorkspaceDefinitions())
    assert conversation.provenance[0].path == str(path)
    assert not [name for name in opened if "secret" in name or "project" in name]
    assert set(report.files) == {str(path)}


def test_a_file_may_claim_no_trace_of_the_archive(archive: Archive, places: Places, tmp_path: Path) -> None:
    session = places.keep("kept", *beans(2))
    places.scan_home(archive)
    before = archive.get("vscode:kept")
    claimed = {**msgspec.to_builtins(before), "turns": [], "messages": []}
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(claimed))
    scan(archive, paths=[path])
    assert [turn.superseded for turn in archive.get("vscode:kept").turns] == [None, None]
    shutil.rmtree(session.parent)
    places.scan_home(archive)
    assert len(archive.get("vscode:kept").turns) == 2
