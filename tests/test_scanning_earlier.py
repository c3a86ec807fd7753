"""What a scan read before stays: turns that a file lost are superseded, those of a file that is gone are not."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from copilog.ingest import find_roots
from copilog.ingest.scanning import scan
from copilog.model import Conversation, ToolCall
from copilog.sample import home as sample_home
from copilog.store.archive import Archive
from tests.export_places import Places, asked, beans, files_of, ids
from tests.test_identity_keeps_texts import lost, texts

ID = "vscode:kept"


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "data" / "archive.db", write=True) as opened:
        yield opened


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def turns_of(archive: Archive) -> list[str]:
    """Return the turns in order: the prompt, `~` with the reason if it is superseded, `^` if it is on a branch."""
    told = []
    for turn in archive.get(ID).turns:
        name = (turn.request_id or "").removeprefix("request_")
        told.append(name + (f"~{turn.superseded}" if turn.superseded else "") + ("^" if turn.branch else ""))
    return told


def write_log(places: Places, *requests: dict[str, Any], tail: str = "") -> Path:
    path = places.home.add_log(
        places.home.workspace(1, "/home/ana/garden"),
        "kept",
        [{"kind": 0, "v": {"version": 3, "sessionId": "kept", "requests": list(requests)}}],
    )
    path.write_text(path.read_text() + tail)
    return path


def test_a_turn_that_the_file_lost_between_two_scans_is_superseded(archive: Archive, places: Places) -> None:
    places.keep("kept", *beans(3))
    places.scan_home(archive)
    places.keep("kept", beans(3)[0], beans(3)[2])
    result = places.scan_home(archive)

    assert result.changed == 1
    assert turns_of(archive) == ["beans_0", "beans_1~absent", "beans_2"]
    assert archive.list()[0].turns == 2
    assert archive.search('"Question 1"').hits == []
    assert len(archive.search('"Question 1" is:superseded').hits) == 1


def test_a_rewritten_log_keeps_its_earlier_turns(archive: Archive, places: Places) -> None:
    write_log(places, *beans(2))
    places.scan_home(archive)
    write_log(places, beans(1)[0], asked("leeks", 3))
    places.scan_home(archive)

    assert turns_of(archive) == ["beans_0", "beans_1~absent", "leeks_3"]


def test_the_turn_stays_superseded_and_the_file_unchanged_however_often_it_is_read(
    archive: Archive, places: Places
) -> None:
    places.keep("kept", *beans(3))
    places.scan_home(archive)
    kept = places.keep("kept", *beans(2))
    places.scan_home(archive)
    before = archive.digest_of(ID)
    for number in range(2):
        kept.write_text(kept.read_text() + " " * (1 + number))
        assert places.scan_home(archive).unchanged == 1
    assert archive.digest_of(ID) == before

    places.keep("kept", *beans(2), asked("leeks", 4))
    places.scan_home(archive)
    assert turns_of(archive) == ["beans_0", "beans_1", "beans_2~absent", "leeks_4"]


def test_a_turn_that_comes_back_counts_again(archive: Archive, places: Places) -> None:
    for count in (3, 2, 3):
        places.keep("kept", *beans(count))
        places.scan_home(archive)

    assert turns_of(archive) == ["beans_0", "beans_1", "beans_2"]
    assert files_of(archive, ID) == {"kept.json"}
    assert len(archive.get(ID).provenance) == 1


@pytest.mark.parametrize("tail", ['{"kind": 2, "k": ["requests"], "v": [{"requestId": "reque', "lost\n{}\n"])
def test_turns_that_a_damaged_file_lost_are_not_superseded(archive: Archive, places: Places, tail: str) -> None:
    write_log(places, *beans(3))
    places.scan_home(archive)
    write_log(places, *beans(2), tail=tail)
    places.scan_home(archive)

    assert turns_of(archive) == ["beans_0", "beans_1", "beans_2"]


def test_turns_of_a_deleted_copy_are_still_a_branch(archive: Archive, places: Places) -> None:
    places.keep("kept", *beans(2), asked("leeks", 3))
    elsewhere = copy_elsewhere(places, *beans(2), asked("melons", 4))
    places.scan_home(archive)
    assert turns_of(archive) == ["beans_0", "beans_1", "melons_4", "leeks_3^"]

    elsewhere.unlink()
    places.keep("kept", *beans(2), asked("leeks", 3), asked("leeks", 5))
    places.scan_home(archive)

    assert turns_of(archive) == ["beans_0", "beans_1", "leeks_3", "leeks_5", "melons_4^"]
    assert archive.get(ID).turns[-1].branch.leaves_from == 1  # type: ignore[union-attr]


def test_a_file_that_only_moved_leaves_no_trace_behind(archive: Archive, places: Places) -> None:
    kept = places.keep("kept", *beans(2))
    places.scan_home(archive)
    moved = places.home.workspace(2, "/home/ana/garden") / "chatSessions" / kept.name
    moved.parent.mkdir()
    shutil.move(kept, moved)
    places.scan_home(archive)

    assert [trace.path for trace in archive.get(ID).provenance] == [str(moved)]
    assert turns_of(archive) == ["beans_0", "beans_1"]


def test_a_finished_answer_replaces_an_unfinished_one(archive: Archive, places: Places) -> None:
    places.keep("kept", *beans(1), asked("leeks", 1, "Le"))
    places.scan_home(archive)
    places.keep("kept", *beans(1), asked("leeks", 1, "Leeks are sown in March."))
    places.scan_home(archive)

    conversation = archive.get(ID)
    assert turns_of(archive) == ["beans_0", "leeks_1"]
    assert [place.conflicts for place in conversation.provenance] == [[]]


def test_removing_the_conversation_removes_its_superseded_turns(archive: Archive, places: Places) -> None:
    places.keep("kept", *beans(3))
    places.scan_home(archive)
    places.keep("kept", *beans(2))
    places.scan_home(archive)
    archive.remove(ID)
    places.keep("kept", *beans(1))
    places.scan_home(archive)

    assert ids(archive) == []
    assert archive.search('"Question 2" is:superseded').hits == []


def copy_elsewhere(places: Places, *requests: dict[str, Any]) -> Path:
    state = {"version": 3, "sessionId": "kept", "requests": list(requests)}
    return places.home.add(places.home.workspace(2, "/home/ana/orchard"), state)


@pytest.mark.parametrize("requests", [[], [None], None])
def test_a_file_that_lost_all_its_turns_removes_nothing_from_the_archive(
    archive: Archive, places: Places, requests: list[Any] | None
) -> None:
    kept = places.keep("kept", *beans(2))
    places.scan_home(archive)
    kept.write_text(json.dumps({"version": 3, "sessionId": "kept", "requests": requests}))
    places.scan_home(archive)

    assert turns_of(archive) == ["beans_0", "beans_1"]
    assert archive.list()[0].gone_at is None


def test_a_removed_turn_stays_removed_when_its_file_moves(archive: Archive, places: Places) -> None:
    places.keep("kept", *beans(3))
    places.scan_home(archive)
    kept = places.keep("kept", *beans(2))
    places.scan_home(archive)
    moved = places.home.workspace(2, "/home/ana/garden") / "chatSessions" / kept.name
    moved.parent.mkdir()
    shutil.move(kept, moved)
    places.scan_home(archive)

    assert turns_of(archive) == ["beans_0", "beans_1", "beans_2~absent"]


def test_a_removed_turn_stays_removed_when_its_file_is_damaged(archive: Archive, places: Places) -> None:
    for requests, tail in ((beans(3), ""), (beans(2), ""), (beans(2), "lost\n{}\n")):
        write_log(places, *requests, tail=tail)
        places.scan_home(archive)

    assert turns_of(archive) == ["beans_0", "beans_1", "beans_2~absent"]


def test_a_recorded_removal_outlives_the_file_that_records_it(archive: Archive, places: Places) -> None:
    mark = {"shouldBeRemovedOnSend": {"requestId": "request_beans_1"}}
    kept = places.keep("kept", beans(1)[0], {**beans(2)[1], **mark})
    copy_elsewhere(places, *beans(2))
    places.scan_home(archive)
    assert turns_of(archive) == ["beans_0", "beans_1~undone"]

    kept.unlink()
    copy_elsewhere(places, *beans(2), asked("leeks", 3))
    places.scan_home(archive)
    assert turns_of(archive) == ["beans_0", "beans_1~undone", "leeks_3"]


def test_a_scan_of_one_file_does_not_bring_back_what_its_newer_file_removed(archive: Archive, places: Places) -> None:
    kept = places.keep("kept", *beans(3))
    log = write_log(places, *beans(2))
    places.scan_home(archive)
    assert turns_of(archive) == ["beans_0", "beans_1", "beans_2~absent"]

    before = kept.stat().st_mtime_ns
    kept.write_text(kept.read_text() + " ")
    os.utime(kept, ns=(before, before))  # a flat file that was written after its log would be the newer one
    scan(archive, paths=[kept])
    assert turns_of(archive) == ["beans_0", "beans_1", "beans_2~absent"]
    assert str(log) in {trace.path for trace in archive.get(ID).provenance}


def test_a_turn_that_a_file_lost_is_superseded_in_a_copy_too(archive: Archive, places: Places) -> None:
    places.keep("kept", *beans(3))
    copy_elsewhere(places, *beans(3))
    places.scan_home(archive)
    places.keep("kept", *beans(2))
    places.scan_home(archive)
    assert turns_of(archive) == ["beans_0", "beans_1", "beans_2~absent"]


def test_a_turn_that_a_file_lost_stays_superseded_when_a_copy_appears(archive: Archive, places: Places) -> None:
    for count in (3, 2):
        places.keep("kept", *beans(count))
        places.scan_home(archive)
    copy_elsewhere(places, *beans(3))
    places.scan_home(archive)
    assert turns_of(archive) == ["beans_0", "beans_1", "beans_2~absent"]


def test_turns_of_a_copy_are_stored_though_fewer_count_than_before(archive: Archive, places: Places) -> None:
    elsewhere = copy_elsewhere(places, *beans(3))
    places.scan_home(archive)
    elsewhere.unlink()
    mark: dict[str, Any] = {"shouldBeRemovedOnSend": {}}
    places.keep("kept", beans(1)[0], *({**request, **mark} for request in beans(3)[1:]), asked("leeks", 4))
    places.scan_home(archive)

    assert turns_of(archive) == ["beans_0", "beans_1~undone", "beans_2~undone", "leeks_4"]
    assert len(archive.search("leeks").hits) > 0


def test_an_answer_in_a_line_that_is_torn_later_stays(archive: Archive, places: Places) -> None:
    later = {"kind": 1, "k": ["requests", 1, "response"], "v": [{"value": "Prune the courgettes on Tuesdays."}]}
    path = write_log(places, beans(1)[0], {**beans(2)[1], "response": []}, tail=json.dumps(later) + "\n")
    places.scan_home(archive)
    path.write_text(path.read_text()[:-30])
    places.scan_home(archive)

    assert turns_of(archive) == ["beans_0", "beans_1"]
    assert len(archive.search("courgettes").hits) == 1


def test_turns_that_a_damaged_file_lost_stay_when_the_file_is_deleted(archive: Archive, places: Places) -> None:
    copy_elsewhere(places, *beans(2))
    for requests, tail in ((beans(3), ""), (beans(1), "lost\n{}\n")):
        log = write_log(places, *requests, tail=tail)
        places.scan_home(archive)
    log.unlink()
    places.scan_home(archive)

    assert turns_of(archive) == ["beans_0", "beans_1", "beans_2"]


def test_a_session_that_an_export_has_joined_keeps_its_turns_when_its_file_is_emptied(
    archive: Archive, places: Places
) -> None:
    places.keep("kept", *beans(3))
    places.scan_home(archive)
    scan(archive, paths=[places.export("chat.json", *beans(2))])
    places.keep("kept")
    places.scan_home(archive)

    assert ids(archive) == [ID]
    assert turns_of(archive) == ["beans_0", "beans_1", "beans_2"]


@pytest.mark.parametrize("is_torn", [False, True])
def test_the_failure_that_a_transcript_records_outlives_its_line(
    archive: Archive, places: Places, is_torn: bool
) -> None:
    call = {
        "kind": "toolInvocationSerialized",
        "toolCallId": "call-1",
        "toolId": "copilot_createFile",
        "invocationMessage": "Creating",
        "isComplete": True,
    }
    rounds = [{"id": "r", "response": "", "toolCalls": [{"id": "call-1", "name": "create_file", "arguments": "{}"}]}]
    done = {"call-1": {"content": [{"value": "Done"}]}}
    result = {"metadata": {"toolCallRounds": rounds, "toolCallResults": done}}
    request = asked("beans", 0, response=[call, {"value": "It is there."}], result=result)
    kept = places.keep("kept", request)
    transcript = kept.parent.parent / "GitHub.copilot-chat" / "transcripts" / "kept.jsonl"
    transcript.parent.mkdir(parents=True)
    events = [
        ("session.start", {"sessionId": "kept", "version": 1, "producer": "copilot-agent"}),
        ("user.message", {"content": request["message"]["text"], "attachments": []}),
        ("assistant.message", {"messageId": "m", "content": "", "toolRequests": [
            {"toolCallId": "call-1", "name": "create_file", "arguments": "{}", "type": "function"}]}),
        ("tool.execution_start", {"toolCallId": "call-1", "toolName": "create_file", "arguments": {}}),
        ("tool.execution_complete", {"toolCallId": "call-1", "success": False}),
    ]  # fmt: skip
    at = datetime.fromtimestamp(request["timestamp"] / 1000, UTC).isoformat()
    transcript.write_text(
        "".join(
            json.dumps({"type": kind, "data": data, "id": f"e{number}", "timestamp": at}) + "\n"
            for number, (kind, data) in enumerate(events)
        )
    )
    places.scan_home(archive)
    assert outcomes_of(archive) == ["failed"]

    if is_torn:
        transcript.write_text(transcript.read_text()[:-30])
    else:
        transcript.unlink()
    places.keep("kept", request, asked("leeks", 3))
    places.scan_home(archive)
    assert outcomes_of(archive) == ["failed"]


def outcomes_of(archive: Archive) -> list[str]:
    parts = [part for message in archive.get(ID).messages for part in message.parts]
    return [part.outcome.kind for part in parts if isinstance(part, ToolCall) and part.outcome is not None]


# --- on the sample, trace by trace ----------------------------------------------------------------------------------


def test_no_text_of_the_sample_is_lost_if_any_of_its_files_is_deleted(tmp_path: Path) -> None:
    """Delete each file that is one of several of a conversation, touch another one, and scan."""
    home = tmp_path / "home"
    shutil.copytree(sample_home(), home)
    with Archive(tmp_path / "archive.db", write=True) as archive:
        scan(archive, roots=find_roots([home]))
        united = {name: _with_turns(archive.get(name)) for name in ids(archive)}
        before = {name: list(texts(_in_turns(archive.get(name)))) for name in united}
        tried = 0
        for name, paths in united.items():
            for gone in paths if len(paths) > 1 else []:
                _scan_without(archive, home, Path(gone), [Path(path) for path in paths if path != gone])
                assert lost(before[name], archive.get(name)) == [], (name, gone)
                tried += 1
        assert tried > 5


def _scan_without(archive: Archive, home: Path, gone: Path, others: list[Path]) -> None:
    data, state = gone.read_bytes(), gone.stat()
    gone.unlink()
    for path in others:
        os.utime(path)
    scan(archive, roots=find_roots([home]))
    gone.write_bytes(data)
    os.utime(gone, ns=(state.st_atime_ns, state.st_mtime_ns))
    scan(archive, roots=find_roots([home]))


def _with_turns(conversation: Conversation) -> list[str]:
    """Return the paths of files that are each one of several traces with turns."""
    named = {name for turn in conversation.turns for name in turn.traces}
    paths = {place.path for place in conversation.provenance if place.path in named}
    return sorted(path for path in paths if path.endswith((".json", ".jsonl")))


def _in_turns(conversation: Conversation) -> list[Any]:
    return [msgspec.to_builtins(message.parts) for message in conversation.messages if message.turn is not None]


def test_a_copy_that_is_scanned_alone_takes_no_fact_away(archive: Archive, places: Places) -> None:
    """A copy in a folder that is not VS Code's knows neither the workspace nor the program."""
    kept = places.keep("kept", *beans(2), customTitle="Beans")
    places.scan_home(archive)
    before = archive.get(ID)
    assert before.workspace is not None
    assert before.application is not None
    folder = places.folder / "copies" / "chatSessions"
    folder.mkdir(parents=True)
    state = json.loads(kept.read_text())
    for requests in (beans(2), beans(3)):  # as it is, and then continued
        (folder / kept.name).write_text(json.dumps({**state, "requests": requests}))
        scan(archive, paths=[folder])
        after = archive.get(ID)
        assert (after.workspace, after.application) == (before.workspace, before.application)
        assert {place.path for place in before.provenance} < {place.path for place in after.provenance}
    places.scan_home(archive)
    assert archive.get(ID).workspace == before.workspace
    assert len(archive.get(ID).turns) == 3


def test_what_the_sample_has_beside_its_sessions_stays_when_copies_are_scanned(
    archive: Archive, tmp_path: Path
) -> None:
    scan(archive, roots=find_roots([sample_home()]))
    before = {name: archive.get(name) for name in ids(archive)}
    copies = tmp_path / "copies" / "chatSessions"
    copies.mkdir(parents=True)
    for path in sample_home().glob(".config/Code/User/workspaceStorage/*/chatSessions/*"):
        shutil.copy(path, copies)
    scan(archive, paths=[copies])
    assert ids(archive) == list(before)
    for name, known in before.items():
        now = archive.get(name)
        assert (now.workspace, now.application, now.location) == (known.workspace, known.application, known.location)
        assert {file.uri for file in now.files} == {file.uri for file in known.files}
        assert [each for each in known.documents if each not in now.documents] == []
        assert known.usage == now.usage
