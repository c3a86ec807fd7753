"""The smallest change by which VS Code loads a session again; what it then shows is what copilog reads of the file."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from copilog.errors import UsageError
from copilog.ingest import read
from copilog.recover.refusals import examine
from copilog.recover.repairing import Plan, plan_repair
from tests.cli.homes import move_in, request, run, session
from tests.database_builders import other_process
from tests.recover.lost_homes import LostHome, healthy, log_lines, storage_id
from tests.recover.test_refusals import DAMAGE, HEAD, INTACT, REST, damaged, is_refused
from tests.recover.vscode_replay import loaded
from tests.soaking import SEED, counted
from tests.sources.session_log_builders import line


def planned(folder: Path, data: bytes, name: str = "s1.jsonl") -> Plan:
    folder = folder / "chatSessions"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return plan_repair(folder / name)


def texts(requests: list[dict[str, Any]]) -> list[str]:
    return [each["message"]["text"] for each in requests]


def conversation_of(path: Path) -> list[tuple[str, str | None, str]]:
    """Return all that is said in the session of a file, as copilog reads it, but for turns that do not count."""
    said: list[tuple[str, str | None, str]] = []
    for conversation in read(path, links_prompts=False):
        counted_turns = {turn.index for turn in conversation.turns if turn.superseded is None}
        for message in conversation.messages:
            text = "".join(getattr(part, "text", "") or "" for part in message.parts)
            if text and message.turn in counted_turns:
                said.append((message.role, message.id, text))
    return said


@pytest.mark.parametrize(
    ("_code", "data", "_number"), [case for case in DAMAGE if case[0] not in ("empty-file", "headless-log")]
)
def test_vscode_shows_a_repaired_log_as_copilog_read_it(
    _code: str, data: bytes, _number: int | None, tmp_path: Path
) -> None:
    plan = planned(tmp_path, data)
    shown = loaded(plan.after)
    assert texts(shown["requests"])[:3] == ["first", "second", "third"]
    before = conversation_of(plan.path)
    plan.path.write_bytes(plan.after)
    assert conversation_of(plan.path) == before
    assert plan.turns == len(shown["requests"])


def test_lines_that_vscode_takes_stay_as_they_are(tmp_path: Path) -> None:
    broken = HEAD + b"{not JSON\n" + b"".join(REST)
    plan = planned(tmp_path, broken)
    assert plan.after == INTACT
    assert [(change.action, change.line, change.before) for change in plan.changes] == [("dropped", 2, "{not JSON")]


@pytest.mark.parametrize("noise", [b"\xef\xbb\xbf", bytes(64)])
def test_marks_and_zeros_are_removed(noise: bytes, tmp_path: Path) -> None:
    assert planned(tmp_path, noise + INTACT if noise[0] else INTACT + noise).after == INTACT


def test_joined_lines_are_taken_apart(tmp_path: Path) -> None:
    plan = planned(tmp_path, INTACT.replace(b"\n", b"", 1))
    assert plan.after == INTACT
    assert [(change.action, change.line) for change in plan.changes] == [("mended", 1)]


def test_a_bad_request_is_mended_by_one_more_line(tmp_path: Path) -> None:
    bad = {"requestId": "r9", "response": [{"value": "an answer"}]}
    plan = planned(tmp_path, INTACT + line(2, ["requests"], v=[None, bad]))
    assert plan.after.startswith(INTACT)
    shown = loaded(plan.after)["requests"]
    assert texts(shown) == ["first", "second", "third", ""]
    assert shown[3]["response"] == bad["response"]


def test_the_prompt_of_a_bad_request_comes_back_from_the_older_file(tmp_path: Path) -> None:
    folder = tmp_path / "chatSessions"
    folder.mkdir()
    (folder / "s1.json").write_text(json.dumps(session("s1", "the prompt that was lost")))
    bad = {"requestId": "request_1", "response": []}
    plan = planned(tmp_path, HEAD + line(2, ["requests"], v=[bad]))
    assert texts(loaded(plan.after)["requests"]) == ["the prompt that was lost"]


def test_a_log_without_its_beginning_gets_it_from_the_older_file(tmp_path: Path) -> None:
    folder = tmp_path / "chatSessions"
    folder.mkdir()
    (folder / "s1.json").write_text(json.dumps(session("s1", "first", "second")))
    rest = line(1, ["requests", 1, "vote"], v=1) + line(2, ["requests"], i=2, v=[request(3, "third")])
    plan = planned(tmp_path, rest)
    shown = loaded(plan.after)["requests"]
    assert texts(shown) == ["first", "second", "third"]
    assert shown[1]["vote"] == 1


def test_what_was_taken_back_does_not_come_back(tmp_path: Path) -> None:
    folder = tmp_path / "chatSessions"
    folder.mkdir()
    (folder / "s1.json").write_text(json.dumps(session("s1", "first", "taken back")))
    lines = line(2, ["requests"], i=1, v=[]) + b"{torn"
    plan = planned(tmp_path, line(0, v=session("s1", "first", "taken back")) + lines)
    assert texts(loaded(plan.after)["requests"]) == ["first"]


def test_a_log_without_its_beginning_alone_keeps_what_it_has(tmp_path: Path) -> None:
    plan = planned(tmp_path, b"".join(REST))
    assert texts(loaded(plan.after)["requests"]) == ["first", "second", "third"]


@pytest.mark.parametrize(
    ("cut", "expected"),
    [(slice(0, -1), ["first", "second"]), (slice(0, None), ["first", "second"])],
)
def test_a_document_is_mended(cut: slice, expected: list[str], tmp_path: Path) -> None:
    data = json.dumps(session("s1", "first", "second")).encode()
    plan = planned(tmp_path, data[cut] + (bytes(8) if cut.stop is None else b""), "s1.json")
    assert texts(loaded(plan.after, is_log=False)["requests"]) == expected
    if cut.stop is None:
        assert plan.after == data


@pytest.mark.parametrize(
    ("data", "why"), [(INTACT, "does not refuse it"), (b"", "nothing left"), (b"nothing\n", "nothing left")]
)
def test_files_that_need_no_repair_or_have_nothing_left(data: bytes, why: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=why):
        planned(tmp_path, data)


# --- writing ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LostHome:
    made = healthy(tmp_path)
    move_in(monkeypatch, tmp_path, made)
    return made


@pytest.fixture
def broken(home: LostHome) -> Path:
    storage = home.user / "workspaceStorage" / storage_id(home.project("tides"))
    path = home.put_log(storage, "s1", INTACT + b'{"kind":1,"k":["customTit')
    path.chmod(0o640)
    os.utime(path, ns=(1_776_000_000_123_456_789, 1_776_000_001_987_654_321))
    return path


def state_of(path: Path) -> tuple[bytes, int, int, int]:
    status = path.stat()
    return path.read_bytes(), status.st_mode, status.st_uid, status.st_mtime_ns


def test_a_dry_run_writes_nothing_and_shows_the_change(broken: Path) -> None:
    before = state_of(broken)
    outcome = run("repair", "s1")
    assert outcome.code == 0, outcome.err
    assert "  line 8: dropped: the last line breaks off\n" in outcome.out
    assert '    - {"kind":1,"k":["customTit\n' in outcome.out
    assert "VS Code then shows 3 turns" in outcome.out
    assert state_of(broken) == before
    repair = run("repair", "--all", "--json").json["repairs"][0]
    assert (repair["path"], repair["is_applied"], repair["turns"]) == (str(broken), False, 3)


def test_apply_writes_it_and_undo_puts_it_back_to_the_byte(broken: Path) -> None:
    before = state_of(broken)
    assert list(recovered()) == ["s1"]
    outcome = run("repair", "s1", "--apply")
    assert outcome.code == 0, outcome.err
    assert broken.read_bytes() == INTACT
    assert broken.stat().st_mode == before[1]
    assert recovered() == set()
    undone = run("repair", "--undo")
    assert undone.code == 0, undone.err
    assert state_of(broken) == before
    assert run("repair", "--undo").code == 2


def recovered() -> set[str]:
    return {loss["id"].partition(":")[2] for loss in run("recover", "--json").json["losses"]}


def test_undo_leaves_a_file_that_has_changed_since(broken: Path) -> None:
    run("repair", broken, "--apply")
    broken.write_bytes(INTACT + line(1, ["customTitle"], v="new"))
    outcome = run("repair", "--undo", broken)
    assert outcome.code == 2
    assert "has changed since it was repaired" in outcome.err
    assert broken.read_bytes().startswith(INTACT)


@contextmanager
def holding(path: Path) -> Iterator[None]:
    with other_process("import sys; f = open(sys.argv[1]); print('ready', flush=True); sys.stdin.readline()", path):
        yield


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nothing_is_written_while_a_program_uses_the_folder(home: LostHome, broken: Path) -> None:
    before = state_of(broken)
    with holding(home.user / "globalStorage" / "state.vscdb"):
        outcome = run("repair", "s1", "--apply")
        assert outcome.code == 2
        assert "is in use by process" in outcome.err
        assert state_of(broken) == before
    assert run("repair", "s1", "--apply").code == 0
    with holding(broken):
        assert run("repair", "--undo").code == 2


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_program_that_was_started_with_the_folder_counts_as_using_it(home: LostHome, broken: Path) -> None:
    script = "import sys; print('ready', flush=True); sys.stdin.readline()"
    with other_process(script, "--user-data-dir", home.user.parent):
        assert "was started with it" in run("repair", broken, "--apply").err


def test_the_lock_file_of_a_process_that_runs(home: LostHome, broken: Path) -> None:
    lock = home.user.parent / "code.lock"
    lock.write_text(str(os.getpid()))
    assert "which holds" in run("repair", broken, "--apply").err
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    lock.write_text(str(ended.pid))
    assert run("repair", broken, "--apply").code == 0


@pytest.mark.parametrize(
    "arguments", [(), ("--all", "--apply"), ("--apply", "--undo", "s1"), ("s1", "--all"), ("nothing",)]
)
def test_wrong_uses(arguments: tuple[str, ...], broken: Path) -> None:
    before = state_of(broken)
    assert run("repair", *arguments).code == 2
    assert state_of(broken) == before


# --- in large numbers -------------------------------------------------------------------------------------------------


@pytest.mark.soak(kind="flips")
def test_random_damage_is_repaired_and_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    """What VS Code loads of a repaired log is what copilog reads of the damaged one; undo gives all bytes back."""
    from copilog.recover import journal

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    luck = random.Random(SEED)
    text = b"".join(json.dumps(each).encode() + b"\n" for each in log_lines("s1", "one", "two", "three", "four"))
    (tmp_path / "chatSessions").mkdir()
    path = tmp_path / "chatSessions" / "s1.jsonl"
    repaired = 0
    for _ in range(counted(60)):
        data = damaged(damaged(text, luck), luck)
        path.write_bytes(data)
        if not is_refused(data):
            continue
        if examine(path).state is None:
            with pytest.raises(UsageError, match="nothing left"):
                plan_repair(path)
            continue
        plan = plan_repair(path)
        said = conversation_of(path)
        entry = journal.apply(plan)
        shown = loaded(path.read_bytes())
        assert len(shown["requests"]) == plan.turns
        assert conversation_of(path) == said, data
        assert journal.undo(entry)
        assert path.read_bytes() == data
        repaired += 1
    assert repaired
    record_property("cases", repaired)
