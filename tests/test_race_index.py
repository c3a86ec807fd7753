"""The race of archives runs, with what there is to race. How fast anybody is, is not tested."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.contender_index import Agentsview, Copilog, FailedError, bare_environment, counts, run
from benchmarks.generate_home import RARE_WORD, STATE_FOLDER, write_both, write_messages
from benchmarks.race_changes import lengthen_a_log, replace_a_session
from benchmarks.race_report import print_report
from copilog import ingest
from copilog.diagnostics import Report, add_counts
from copilog.model import Conversation

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs processes as POSIX has them")

SESSIONS = 12

# As much of agentsview as the race needs; it refuses to run with its daemon or its telemetry.
STAND_IN = f"""#!{sys.executable}
import os, sqlite3, sys
if "--version" in sys.argv:
    print("agentsview v0.0.0 (made up)")
    sys.exit()
wanted = {{"AGENTSVIEW_NO_DAEMON": "1", "AGENTSVIEW_TELEMETRY_ENABLED": "0", "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1"}}
if sys.argv[1:] != ["sync"] or any(os.environ.get(name) != value for name, value in wanted.items()):
    sys.exit("not like this")
store = sqlite3.connect(os.path.join(os.environ["AGENTSVIEW_DATA_DIR"], "sessions.db"))
store.execute("CREATE TABLE IF NOT EXISTS sessions (id)")
store.execute("INSERT INTO sessions VALUES (?)", [os.environ["HOME"]])
store.commit()
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    path = tmp_path / "agentsview"
    path.write_text(STAND_IN, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_both(tmp_path / "home", SESSIONS, 1)
    return tmp_path / "home"


def digests(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in ingest.walk(folder)}


def read_home(home: Path) -> list[Conversation]:
    """All conversations of a home, which has to be read without a flaw."""
    report = Report()
    conversations = [
        each for found in ingest.discover([home], report=report) for each in ingest.read(found, report=report)
    ]
    assert report.balances()
    assert [diagnostic.place() for diagnostic in report.diagnostics()] == []
    assert add_counts(tally.unknown for ledger in report.files.values() for tally in (ledger, ledger.parts)) == {}
    return conversations


def race(*arguments: object) -> str:
    command = [sys.executable, "-m", "benchmarks.race_index", "--sessions", SESSIONS, "--rounds", "1", "--growth", "0"]
    done = subprocess.run(
        [*map(str, command), *map(str, arguments)],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


# --- the homes ------------------------------------------------------------------------------------------------------


def test_a_home_has_sessions_of_both_programs_and_is_read_without_a_flaw(home: Path) -> None:
    sources = [conversation.source for conversation in read_home(home)]

    assert sources.count("cli-events") == SESSIONS // 2
    assert {"vscode-session", "vscode-session-log"} < set(sources)


def test_what_was_written_of_both_is_counted_and_the_same_for_the_same_seed(home: Path, tmp_path: Path) -> None:
    written = write_both(tmp_path / "again", SESSIONS, 1)

    again = digests(tmp_path / "again")
    assert list(again.values()) == list(digests(home).values())
    assert written == (sum(Path(path).stat().st_size for path in again), SESSIONS, len(again))


def test_a_home_to_search_has_its_messages_and_the_rare_word_once(tmp_path: Path) -> None:
    written = write_messages(tmp_path, 100, 1)

    conversations = read_home(tmp_path)
    messages = [message for conversation in conversations for message in conversation.messages]
    assert written.sessions == len(conversations)
    assert written.messages == sum(message.role != "system" for message in messages) >= 100
    texts = [msgspec.json.encode(message).decode() for message in messages]
    assert sum(RARE_WORD in text for text in texts) == 1
    assert sum(written.common_word in text for text in texts) > 10


# --- what changes between two scans ---------------------------------------------------------------------------------


def test_a_log_grows_at_its_end_and_nothing_else_changes(home: Path) -> None:
    before = {path: path.read_bytes() for path in ingest.walk(home)}

    lengthen_a_log(home)

    ((path, data),) = [(path, path.read_bytes()) for path in before if path.read_bytes() != before[path]]
    assert path.parent.parent == home / STATE_FOLDER
    assert data.startswith(before[path])
    read_home(home)


def test_a_session_is_replaced_by_one_with_a_further_request(home: Path) -> None:
    before = {path: path.read_bytes() for path in ingest.walk(home)}

    replace_a_session(home)

    ((path, data),) = [(path, path.read_bytes()) for path in before if path.read_bytes() != before[path]]
    assert path.parent.name == "chatSessions"
    assert len(json.loads(data)["requests"]) == len(json.loads(before[path])["requests"]) + 1
    assert set(ingest.walk(home)) == set(before)
    read_home(home)


# --- the contenders -------------------------------------------------------------------------------------------------


def test_the_time_of_a_process_and_what_it_printed_are_known(tmp_path: Path) -> None:
    done = run([sys.executable, "-c", "print('done')"], bare_environment(tmp_path))

    assert done.output == "done\n"
    assert done.seconds > 0
    assert done.cpu_seconds > 0


def test_a_process_that_fails_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match=r"ended with 1: no such thing"):
        run([sys.executable, "-c", "import sys; sys.exit('no such thing')"], bare_environment(tmp_path))
    with pytest.raises(FailedError, match=r"nowhere"):
        run([str(tmp_path / "nowhere")], bare_environment(tmp_path))


def test_what_a_database_holds_is_counted_and_what_it_has_no_table_for_is_unknown(tmp_path: Path) -> None:
    database = tmp_path / "a.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript("CREATE TABLE messages (text); INSERT INTO messages VALUES ('a'), ('b')")

    found = counts(database, {"messages": "SELECT count(*) FROM messages", "edits": "SELECT count(*) FROM file_edits"})

    assert found == {"messages": 2, "edits": None}


def test_both_count_the_same_things() -> None:
    assert list(Copilog.queries) == list(Agentsview.queries)


# --- the race -------------------------------------------------------------------------------------------------------


def test_the_race_runs_and_homes_are_used_again_and_left_as_they_are(stand_in: Path, tmp_path: Path) -> None:
    arguments = ["--agentsview", stand_in, "--messages", "20", "--data", tmp_path / "data", "--json"]

    first = json.loads(race(*arguments))
    before = digests(tmp_path / "data")
    second = json.loads(race(*arguments))

    assert digests(tmp_path / "data") == before
    assert first["home"] == second["home"]
    assert first["agentsview"] == "agentsview v0.0.0"
    assert first["contenders"]["agentsview"]["stored"]["sessions"] == 6
    steps = ["first scan", "nothing changed", "one log longer", "one session replaced"]
    assert [list(row["steps"]) for row in first["contenders"].values()] == [steps] * len(first["contenders"])
    assert ("copilog" in first["contenders"]) != any("copilog, first scan" in line for line in first["missing"])


def test_without_agentsview_the_numbers_of_copilog_stand_alone(tmp_path: Path) -> None:
    printed = race("--agentsview", tmp_path / "nowhere", "--messages", "0")

    assert "missing: agentsview: " in printed
    assert "copilog --help" in printed
    assert "What these numbers do not show" in printed


def test_the_report_says_how_many_times_faster(capsys: pytest.CaptureFixture[str]) -> None:
    stored = {"sessions": 12, "edits": None}
    memory = {"home": {"shared_once": 100 << 20}}
    large = {"large_home": {"shared_once": 110 << 20}, "large_home_written": {"sessions": 48, "bytes": 4 << 20}}
    spread = {"seconds": 0.1, "median_seconds": 0.2}
    measured: dict[str, Any] = {
        "machine": "a machine",
        "seed": 1,
        "agentsview": "agentsview v1",
        "home": {"sessions": 12, "files": 30, "bytes": 1 << 20},
        "contenders": {
            name: {
                "steps": {"first scan": {"seconds": seconds, "cpu_seconds": 2 * seconds}},
                "database_bytes": 3 << 20,
                "stored": stored,
            }
            for name, seconds in (("copilog", 0.5), ("agentsview", 5.0))
        },
        "memory": {"copilog": memory | large, "agentsview": memory},
        "search": {
            "home": {"sessions": 3, "messages": 20, "bytes": 1 << 20},
            "scan": spread,
            "stored": {"messages": 21},
            "database_bytes": 2 << 20,
            "rare": spread,
            "warm": {"rare": spread},
        },
        "help": spread,
        "missing": ["copilog, search: no such word"],
    }

    print_report(measured)

    printed = capsys.readouterr().out
    assert next(line for line in printed.splitlines() if line.startswith("first scan")).endswith("10.00")
    assert "48 sessions, 4 MiB: 110 MiB" in printed
    assert "copilog search, rare word" in printed
    assert "in a warm process, rare word" in printed
    assert "missing: copilog, search: no such word" in printed
