"""Scans: what changed is read, nothing else; and a scan that is ended anywhere is taken up by the next."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.generate_home import write_both
from copilog.diagnostics import Report
from copilog.errors import BadFile
from copilog.ingest import WorkspaceDefinitions, find_roots
from copilog.ingest.discovery import discover, discover_seen
from copilog.ingest.footprints import Look
from copilog.ingest.scan_result import ScanResult
from copilog.ingest.scanning import scan
from copilog.ingest.spool import Spool
from copilog.intake.folders import entries_in
from copilog.intake.long_documents import DocumentText, document_text
from copilog.sample import home as sample_home
from copilog.sources import Found
from copilog.store.archive import Archive
from tests.cli.homes import Home, session
from tests.soaking import SEED, counted

KILLS = 30


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    workspace = made.workspace(1, "/home/ana/code/garden")
    for number in range(3):
        made.add(workspace, session(f"session-{number}", f"Question {number} about beans"))
    return made


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "data" / "archive.db", write=True) as opened:
        yield opened


def scanned(archive: Archive, home: Home) -> ScanResult:
    return scan(archive, roots=find_roots([home.root]))


def ids(archive: Archive) -> list[str]:
    return sorted(summary.id for summary in archive.list(include_gone=True))


def test_a_first_scan_stores_everything(archive: Archive, home: Home) -> None:
    result = scanned(archive, home)

    assert (result.new, result.changed, result.unchanged, result.gone) == (3, 0, 0, 0)
    assert ids(archive) == ["vscode:session-0", "vscode:session-1", "vscode:session-2"]
    assert archive.get("session-1").turns[0].request_id == "request_1"
    assert len(archive.search("beans").hits) >= 3


def test_a_second_scan_reads_nothing(archive: Archive, home: Home) -> None:
    scanned(archive, home)
    result = scanned(archive, home)

    assert (result.new, result.changed, result.unchanged, result.gone) == (0, 0, 3, 0)
    assert result.files_read == 0


def test_one_changed_file_costs_one_conversation(archive: Archive, home: Home) -> None:
    scanned(archive, home)
    home.add(home.workspace(1), session("session-1", "Question 1 about beans", "And about peas?"))
    result = scanned(archive, home)

    assert (result.new, result.changed, result.unchanged) == (0, 1, 2)
    assert result.changed_ids == ["vscode:session-1"]
    assert [hit.conversation for hit in archive.search("peas").hits] == ["vscode:session-1"]


def test_a_file_that_was_only_touched_changes_nothing(archive: Archive, home: Home) -> None:
    scanned(archive, home)
    path = next(home.root.rglob("session-2.json"))
    os.utime(path, (2_000_000_000, 2_000_000_000))
    result = scanned(archive, home)

    assert (result.new, result.changed, result.unchanged) == (0, 0, 3)


def test_a_conversation_outlives_its_file(archive: Archive, home: Home) -> None:
    scanned(archive, home)
    next(home.root.rglob("session-0.json")).unlink()
    result = scanned(archive, home)

    assert (result.gone, result.gone_ids, result.unchanged) == (1, ["vscode:session-0"], 2)
    assert archive.get("session-0").turns
    assert [summary.id for summary in archive.list(include_gone=True) if summary.gone_at] == ["vscode:session-0"]

    home.add(home.workspace(1), session("session-0", "Question 0 about beans"))
    assert scanned(archive, home).changed_ids == ["vscode:session-0"]
    assert not any(summary.gone_at for summary in archive.list(include_gone=True))


def test_a_file_that_could_not_be_read_is_tried_again(
    archive: Archive, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> DocumentText:
        if path.name == "session-1.json":
            raise BadFile("cannot be read: Permission denied", "unreadable")
        return document_text(path)

    with monkeypatch.context() as patched:
        patched.setattr("copilog.sources.documents.document_text", refuse)
        assert (scanned(archive, home).new, scanned(archive, home).new) == (2, 0)

    assert scanned(archive, home).new_ids == ["vscode:session-1"]
    assert scanned(archive, home).files_read == 0


def test_removed_conversations_are_not_counted_as_unchanged(archive: Archive, home: Home) -> None:
    scanned(archive, home)
    archive.remove("session-0")

    assert scanned(archive, home).unchanged == 2
    home.add(home.workspace(1), session("session-3", "Another question"))
    result = scanned(archive, home)
    assert (result.new, result.unchanged, result.removed) == (1, 2, 0)


def test_a_removed_conversation_does_not_come_back(archive: Archive, home: Home) -> None:
    scanned(archive, home)
    archive.remove("vscode:session-1")
    home.add(home.workspace(1), session("session-1", "Question 1 about beans", "once more"))
    result = scanned(archive, home)

    assert result.removed == 1
    assert "vscode:session-1" not in ids(archive)


def test_stars_labels_and_notes_are_kept(archive: Archive, home: Home) -> None:
    scanned(archive, home)
    archive.star("vscode:session-1")
    archive.label("vscode:session-1", "garden")
    home.add(home.workspace(1), session("session-1", "Question 1 about beans", "And about peas?"))
    scanned(archive, home)

    (starred,) = archive.list(starred=True)
    assert (starred.id, starred.labels) == ("vscode:session-1", ["garden"])


def test_a_folder_of_files_is_scanned_by_its_path(archive: Archive, tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "old.json").write_text(json.dumps(session("old", "Question about leeks")))
    first, second = (scan(archive, paths=[folder]) for _ in range(2))

    assert (first.new, second.unchanged, second.files_read) == (1, 1, 0)
    assert ids(archive) == ["vscode:old"]


def test_telemetry_joins_the_archive(archive: Archive, tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "You help."}, {"role": "user", "content": "Where is the spade?"}]
    properties = {"conversationId": "talk", "messagesJson": json.dumps(messages)}
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps({"name": "copilot-chat/engine.messages", "properties": properties}) + "\n{}\n")
    result = scan(archive, paths=[path])

    assert result.new == 1
    assert {hit.conversation for hit in archive.search("spade").hits} == {"vscode:talk"}
    assert archive.get("talk").provenance[0].path == str(path)


def test_bad_files_are_reported_and_stored_as_problems(archive: Archive, home: Home) -> None:
    (home.workspace(1) / "chatSessions" / "broken.json").write_text('{"sessionId": "broken", "requests": [')
    report = Report()
    scan(archive, roots=find_roots([home.root]), report=report)

    assert report.balances()
    assert any("broken.json" in problem.path for problem in archive.problems())


def test_jobs_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copilog.ingest.scanning.WORTH_PROCESSES", 1)
    prints = set()
    for jobs in (1, 2):
        with Archive(tmp_path / f"{jobs}.db", write=True) as archive:
            result = scan(archive, roots=find_roots([sample_home()]), jobs=jobs)
            assert result.new > 15
            prints.add(archive.fingerprint())
    assert len(prints) == 1


@pytest.mark.soak(kind="kills")
def test_the_next_scan_continues_a_scan_that_was_killed_anywhere(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("cases", counted(KILLS))
    folder = tmp_path / "home"
    write_both(folder, 40, 3)
    shutil.copytree(sample_home(), folder, dirs_exist_ok=True)
    undisturbed, disturbed = tmp_path / "undisturbed.db", tmp_path / "disturbed.db"
    started = time.monotonic()
    run_scan(undisturbed, folder).wait()
    seconds = time.monotonic() - started

    moments = random.Random(SEED)
    for _ in range(counted(KILLS)):
        process = run_scan(disturbed, folder)
        time.sleep(moments.uniform(0, seconds))
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert run_scan(disturbed, folder).wait() == 0

    with Archive(undisturbed) as one, Archive(disturbed) as other:
        assert one.fingerprint() == other.fingerprint()
        assert one.search("the").total == other.search("the").total
    with closing(sqlite3.connect(disturbed)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def run_scan(archive: Path, folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "copilog", "scan", "--archive", str(archive), "--root", str(folder), "--jobs", "2"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_conversations_that_only_an_index_names_are_found_when_it_changes(
    archive: Archive, home: Home, tmp_path: Path
) -> None:
    scanned(archive, home)
    entry = {"sessionId": "remembered", "title": "Leeks", "lastMessageDate": 1_776_000_000_000, "isEmpty": False}
    home.index(home.workspace(2, "/home/ana/code/shed"), remembered=entry)

    assert scanned(archive, home).new_ids == ["vscode:remembered"]
    with Archive(tmp_path / "other.db", write=True) as other:
        scanned(other, home)
        assert other.fingerprint() == archive.fingerprint()


def test_conversations_that_an_index_no_longer_names_are_gone(archive: Archive, home: Home) -> None:
    entry = {"title": "Leeks", "lastMessageDate": 1_776_000_000_000, "isEmpty": False}
    shed = home.workspace(2, "/home/ana/code/shed")
    both = {name: {"sessionId": name, **entry} for name in ("kept", "forgotten")}
    index = home.index(shed, **both)
    scanned(archive, home)
    index.unlink()
    os.utime(home.index(shed, kept=both["kept"]), (2_000_000_000, 2_000_000_000))
    result = scanned(archive, home)

    assert (result.gone_ids, result.unchanged) == (["vscode:forgotten"], 4)


def test_traces_in_several_roots_are_one_conversation(archive: Archive, tmp_path: Path) -> None:
    folder = tmp_path / "home"
    stable, insiders = Home(folder), Home(folder, "Code - Insiders")
    stable.add(stable.workspace(1, "/home/ana/a"), session("both", "Question about beans", "And peas?"))
    insiders.add(insiders.workspace(1, "/home/ana/a"), session("both", "Question about beans"))
    result = scan(archive, roots=find_roots([folder]))

    assert (result.new, result.changed) == (1, 0)
    assert len(archive.get("both").provenance) == 2
    assert scan(archive, roots=find_roots([folder])).unchanged == 1


def test_a_change_is_read_as_a_scan_of_everything_would_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    shutil.copytree(sample_home(), folder)
    with Archive(tmp_path / "one.db", write=True) as one, Archive(tmp_path / "two.db", write=True) as two:
        scan(one, roots=find_roots([folder]))
        files = sorted(path for path in folder.rglob("*") if path.name in ("events.jsonl", "state.vscdb"))
        files += sorted(folder.rglob("chatSessions/*.json*"))
        for path in files:
            os.utime(path, (2_000_000_000, 2_000_000_000))
            result = scan(one, roots=find_roots([folder]))
            assert (result.new, result.changed, result.gone) == (0, 0, 0), path
            os.utime(path, (2_000_000_001, 2_000_000_001))
        scan(one, roots=find_roots([folder]))
        scan(two, roots=find_roots([folder]))
        assert one.fingerprint() == two.fingerprint()


def test_a_workspace_that_moved_is_noticed(archive: Archive, home: Home) -> None:
    scanned(archive, home)
    home.workspace(1, "/home/ana/code/orchard-and-garden")
    result = scanned(archive, home)

    assert result.changed == 3
    assert {summary.workspace for summary in archive.list()} == {"/home/ana/code/orchard-and-garden"}


def test_definitions_are_read_only_if_some_file_is_read(archive: Archive, home: Home) -> None:
    asked: list[str] = []

    def definitions() -> WorkspaceDefinitions:
        asked.append("once")
        return WorkspaceDefinitions()

    for _ in range(2):
        scan(archive, roots=find_roots([home.root]), definitions=definitions)

    assert asked == ["once"]


def test_a_storage_folder_of_two_roots_is_searched_once(archive: Archive, home: Home, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(home.workspace(1), target_is_directory=True)
    roots = [*find_roots([home.root]), *find_roots([home.workspace(1)]), *find_roots([link])]

    first = scan(archive, roots=roots)
    second = scan(archive, roots=roots)

    assert (first.new, first.files) == (3, 4)
    assert (second.unchanged, second.files) == (3, 4)


def waiting(spool: Spool) -> tuple[list[str], list[Found]]:
    for unread in spool.unread():
        spool.add_unit(unread, unread.signature())
    units = [unit for unit, _ in spool.units()]
    return [unit.signature for unit in units], [unit.found() for unit in units]


def test_discovery_with_a_look_equals_discovery_without(tmp_path: Path) -> None:
    home = Path(shutil.copytree(sample_home(), tmp_path / "home"))
    (home / ".config/Code/User/workspaceStorage/astray").symlink_to(tmp_path, target_is_directory=True)
    roots = find_roots([home])
    found_anew, found_again = Report(), Report()

    anew = list(discover(roots, report=found_anew))
    with Spool() as one, Spool() as other:
        discover_seen(Look(roots), one, one.add_trace_files, report=found_again)
        for found in anew:
            other.add_found(found)
        (signatures, founds), (others, _) = waiting(one), waiting(other)

    assert len(anew) > 10
    assert founds == anew
    assert found_again == found_anew
    assert "broken-link" in {note.code for note in found_again.diagnostics()}
    assert signatures == others


def test_links_seen_before_a_scan_are_not_among_its_problems(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "link").symlink_to(tmp_path)
    entries_in(elsewhere)
    report = Report()

    with Spool() as spool:
        discover_seen(Look(find_roots([sample_home()])), spool, spool.add_trace_files, report=report)

    assert [note for note in report.diagnostics() if note.code == "broken-link"] == []


def test_readers_are_imported_only_if_some_file_is_read() -> None:
    code = "import sys, copilog.ingest.scanning; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    loaded = set(done.stdout.split())
    assert "copilog.sources.vscode.session_json" in loaded
    readers = ("conversation", "conversations", "documents", "editing", "reader", "session", "span_source")
    assert [name for name in sorted(loaded) if "._" in name and name.rpartition(".")[2] in readers] == []
    assert loaded.isdisjoint(
        {"copilog.detection", "copilog.identity", "copilog.ingest.reading", "copilog.store.entries"}
    )
