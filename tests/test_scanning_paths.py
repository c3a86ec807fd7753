"""Scans of a named path: only changed files are read, unless files may concern each other's conversations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from copilog.diagnostics import Report
from copilog.ingest import find_roots, scanning
from copilog.ingest.scan_result import ScanResult
from copilog.ingest.scanning import scan
from copilog.sample import home
from copilog.store.archive import Archive
from tests.cli.homes import Home, session


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "data" / "archive.db", write=True) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "kept"
    made.mkdir()
    for number in range(4):
        write(made / f"{number}.json", session_file(number, "leeks"))
    return made


def session_file(number: int, *subjects: str) -> dict[str, Any]:
    """Return a session with requests that have ids of their own."""
    made = session(f"kept-{number}", *(f"Question {number} about {subject}" for subject in subjects))
    for position, request in enumerate(made["requests"]):
        request["requestId"] = f"request_{number}_{position}"
    return made


def write(path: Path, document: object) -> None:
    path.write_text(json.dumps(document))


def test_one_file_that_changed_is_read_and_the_others_are_not(archive: Archive, folder: Path) -> None:
    assert scan(archive, paths=[folder]).new == 4
    write(folder / "2.json", session_file(2, "leeks", "onions"))
    result = scan(archive, paths=[folder])

    assert (result.changed, result.unchanged, result.files_read) == (1, 3, 1)
    assert len(archive.search("onions").hits) > 0


def test_conversations_of_files_removed_from_a_folder_are_gone(archive: Archive, folder: Path) -> None:
    scan(archive, paths=[folder])
    (folder / "3.json").unlink()
    result = scan(archive, paths=[folder])

    assert (result.gone_ids, result.unchanged, result.files_read) == (["vscode:kept-3"], 3, 0)
    assert scan(archive, paths=[folder]).gone == 0


def test_where_a_file_may_fit_any_conversation_all_are_read_again(archive: Archive, folder: Path) -> None:
    scan(archive, paths=[folder])
    exported = {
        name: value for name, value in session_file(1, "leeks").items() if name in ("responderUsername", "requests")
    }
    write(folder / "exported.json", exported)
    joined = scan(archive, paths=[folder])

    assert (joined.new, joined.gone, joined.files_read) == (0, 0, 5)
    assert {Path(trace.path).name for trace in archive.get("kept-1").provenance} == {"1.json", "exported.json"}
    assert scan(archive, paths=[folder]).unchanged == 4

    (folder / "exported.json").unlink()
    parted = scan(archive, paths=[folder])
    assert (parted.new, parted.gone) == (0, 0)
    assert {Path(trace.path).name for trace in archive.get("kept-1").provenance} == {"1.json"}


@pytest.mark.parametrize("has_export", [False, True])
def test_skills_are_detected_for_every_format_in_a_folder(archive: Archive, folder: Path, has_export: bool) -> None:
    told = {"value": "Read [](file:///home/ana/garden/.github/skills/frost-chart/SKILL.md)"}
    call = {"kind": "toolInvocationSerialized", "toolCallId": "1", "toolId": "copilot_readFile", "isComplete": True}
    chart = session_file(4, "frost")
    chart["requests"][0]["response"] = [{**call, "pastTenseMessage": told}]
    write(folder / "4.json", chart)
    if has_export:
        write(
            folder / "exported.json",
            {"responderUsername": "GitHub Copilot", "requests": session_file(5, "hail")["requests"]},
        )
    scan(archive, paths=[folder])

    assert [skill.name for skill in archive.get("kept-4").turns[0].skills] == ["frost-chart"]


def test_a_scan_of_paths_ends_as_one_of_everything_at_once(archive: Archive, folder: Path, tmp_path: Path) -> None:
    for number in (1, 2, 5):
        write(folder / f"{number}.json", session_file(number, "peas"))
        scan(archive, paths=[folder])
    with Archive(tmp_path / "other.db", write=True) as other:
        scan(other, paths=[folder])
        assert other.fingerprint() == archive.fingerprint()


def test_ledgers_of_files_without_texts_are_stored_as_one_sum(archive: Archive, folder: Path) -> None:
    (folder / "broken.json").write_text('{"sessionId": "broken", "requests": [')
    report = Report()
    scan(archive, paths=[folder], report=report)

    assert [Path(path).name for path in report.files] == ["broken.json"]
    assert (report.quiet_files, report.quiet.conversations) == (4, 4)
    assert report.balances()
    assert archive.ledger_totals().files == 5


@pytest.mark.parametrize("kind", ["roots", "files", "exports"])
def test_the_next_scan_reports_gone_conversations_after_an_interrupted_one(
    kind: str, archive: Archive, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "home")
    gone = home.add(home.workspace(1, "/home/ana/garden"), session("session-1", "Beans?")) if kind == "roots" else None
    home.add(home.workspace(1), session("session-2", "Peas?"))
    if kind == "exports":
        exported = {"responderUsername": "GitHub Copilot", "requests": session_file(7, "hail")["requests"]}
        write(folder / "exported.json", exported)

    def scanned() -> ScanResult:
        return scan(archive, roots=find_roots([home.root])) if kind == "roots" else scan(archive, paths=[folder])

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    scanned()
    (gone or folder / "3.json").unlink()
    with monkeypatch.context() as patched:
        patched.setattr(scanning, "put_states", end)
        with pytest.raises(KeyboardInterrupt):
            scanned()

    assert scanned().gone_ids == ["vscode:session-1" if kind == "roots" else "vscode:kept-3"]
    assert scanned().gone == 0


def test_lines_without_a_conversation_are_not_an_error(archive: Archive, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "numbers.jsonl").write_text('{"a": 1}\n')

    result = scan(archive, paths=[tmp_path / "notes"])

    assert (result.new, result.files) == (0, 1)
    assert archive.ledger_totals().seen == 1


def test_all_conversations_of_an_emptied_folder_are_gone(archive: Archive, folder: Path) -> None:
    stored = scan(archive, paths=[folder]).new
    for path in folder.rglob("*"):
        if path.is_file():
            path.unlink()

    assert scan(archive, paths=[folder]).gone == stored > 0


def test_the_number_of_read_files_does_not_exceed_the_number_of_files(tmp_path: Path) -> None:
    storage = home() / ".config" / "Code" / "User" / "workspaceStorage"
    for number, paths in enumerate(([storage], sorted(storage.glob("*/chatSessions/*.json*"))[:1], [storage, storage])):
        with Archive(tmp_path / f"{number}.db", write=True) as archive:
            result = scan(archive, paths=paths)
        assert 0 < result.files_read <= result.files, paths
