"""The benchmarks run, and what they read is as real as a made-up home can be. How fast it is read is not tested."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from benchmarks.contenders import json_files, session_files
from benchmarks.generate import EXPORT_FOLDER, Written, write_home
from benchmarks.logs import log_lines
from benchmarks.sessions import SessionMaker
from benchmarks.words import Words
from copilog import ingest
from copilog.diagnostics import Ledger, Report, add_counts
from copilog.model import Conversation, FileEdit, Text, Thinking, ToolCall, ToolResult, parts_of
from copilog.sources import Found
from copilog.sources.vscode.session_log import replay

SESSIONS = 30


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    write_home(folder, SESSIONS, 1)
    return folder


def digest_of(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in ingest.walk(folder):
        digest.update(str(path.relative_to(folder)).encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def read_home(home: Path, report: Report) -> list[Conversation]:
    found: list[Found | Path] = [*ingest.discover([home], report=report)]
    found += sorted((home / EXPORT_FOLDER).iterdir())
    return [conversation for target in found for conversation in ingest.read(target, report=report)]


def test_the_same_seed_writes_the_same_bytes(home: Path, tmp_path: Path) -> None:
    write_home(tmp_path, SESSIONS, 1)

    assert digest_of(tmp_path) == digest_of(home)


def test_another_seed_writes_other_bytes(home: Path, tmp_path: Path) -> None:
    write_home(tmp_path, SESSIONS, 2)

    assert digest_of(tmp_path) != digest_of(home)


def test_written_records_are_counted(tmp_path: Path) -> None:
    written = write_home(tmp_path, SESSIONS, 3)

    paths = list(ingest.walk(tmp_path))
    assert written == Written(sum(path.stat().st_size for path in paths), SESSIONS, len(paths))


def test_copilog_reads_all_of_a_home_and_the_books_balance(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOG_RAISE", "1")
    report = Report()

    conversations = read_home(home, report)

    assert len({conversation.id for conversation in conversations}) == len(conversations) == SESSIONS
    assert report.balances()
    # Exports outside of the folders of programs are only named; here they are read by their names.
    assert [found.place() for found in report.diagnostics() if found.code != "not-searched"] == []
    assert add_counts(tally.unknown for ledger in report.files.values() for tally in (ledger, ledger.parts)) == {}


def test_a_home_has_sessions_of_both_kinds_and_all_that_goes_with_them(home: Path) -> None:
    conversations = read_home(home, Report())

    sources = {trace.source for conversation in conversations for trace in conversation.provenance}
    assert sources == {"vscode-session", "vscode-session-log", "chat-export", "vscode-state", "vscode-editing"}
    twins = [c for c in conversations if {"lead", "copy"} <= {trace.role for trace in c.provenance}]
    assert twins
    kinds = {type(part) for conversation in conversations for part in parts_of(conversation)}
    assert kinds >= {Text, Thinking, ToolCall, ToolResult, FileEdit}
    assert any(change.diff for conversation in conversations for change in conversation.file_changes)


def test_editing_sessions_come_in_three_shapes(home: Path) -> None:
    states = [json.loads(path.read_bytes()) for path in home.rglob("state.json")]

    assert any(state.get("timeline", {}).get("operations") for state in states)
    assert {state["version"] for state in states if "linearHistory" in state} == {1, 2}


def test_every_call_of_a_made_up_session_finds_its_arguments_and_result(home: Path) -> None:
    parts = [part for conversation in read_home(home, Report()) for part in parts_of(conversation)]

    calls = [part for part in parts if isinstance(part, ToolCall)]
    results = {part.call_id for part in parts if isinstance(part, ToolResult) and part.origin == "model"}
    assert all(call.arguments for call in calls)
    assert {call.id for call in calls} == results


def test_a_made_up_log_replays_to_its_session() -> None:
    words = Words(random.Random(5))
    session = SessionMaker(words).session("/home/ana/project", "medium", is_new=True)
    state = msgspec.json.decode(msgspec.json.encode(session.state))

    lines = log_lines(session, words)
    log = replay(b"".join(msgspec.json.encode(line) + b"\n" for line in lines), Ledger())

    assert any("i" in line for line in lines)
    assert log.state == state


def test_all_session_files_are_among_the_json_files(home: Path) -> None:
    assert set(session_files(home)) < set(json_files(home))


def test_the_benchmark_runs_and_prints_a_ratio() -> None:
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_read", "--sessions", "12"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )

    rows = {line[:24].strip(): line[24:].split() for line in done.stdout.splitlines() if "," in line[:24]}
    assert rows["orjson, session files"][3] == "1.00"
    assert float(rows["copilog, everything"][3]) > 0
    assert "What these numbers do not show" in done.stdout


def test_the_benchmark_prints_json_and_leaves_an_existing_home_alone(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.bench_read", "--sessions", "2", "--rounds", "1"]
    command += ["--folder", str(tmp_path), "--json"]
    root = Path(__file__).parent.parent

    first = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    second = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)

    assert json.loads(first.stdout)["contenders"]["copilog, session files"]["ratio"] > 0
    assert second.returncode == 1
    assert "already there" in second.stderr
