"""Which session files VS Code refuses, at which line, and why; compared with a replay by VS Code's own rules."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from copilog.recover.refusals import Refusal, examine, examine_cli_events
from tests.cli.homes import request, session
from tests.recover.lost_homes import log_bytes, log_lines
from tests.recover.vscode_replay import RefusedError, loaded
from tests.soaking import SEED, counted
from tests.sources.session_log_builders import line

INTACT = log_bytes()
HEAD, *REST = INTACT.splitlines(keepends=True)


def refusals(folder: Path, data: bytes, name: str = "s1.jsonl") -> list[Refusal]:
    path = folder / name
    path.write_bytes(data)
    return examine(path).refusals


def is_refused(data: bytes, *, is_log: bool = True) -> bool:
    try:
        loaded(data, is_log=is_log)
    except RefusedError:
        return True
    return False


def with_request(made: Any) -> bytes:
    return INTACT + line(2, ["requests"], v=[made])


DAMAGE = [
    ("torn-tail", INTACT[:-20], 7),
    ("byte-order-mark", b"\xef\xbb\xbf" + INTACT, 1),
    ("nul-tail", INTACT + bytes(64), 8),
    ("headless-log", b"".join(REST), 1),
    ("empty-file", b"", 1),
    ("utf-16", INTACT.decode().encode("utf-16"), 1),
    ("bad-json", HEAD + b"{not JSON\n" + b"".join(REST), 2),
    ("unknown-mutation", INTACT + line(7, ["requests"]), 8),
    ("orphan-mutation", INTACT + line(1, ["requests", 9, "vote"], v=1), 8),
    ("pathless-change", INTACT + line(2, v=[request(4, "fourth")]), 8),
    ("joined-records", INTACT.replace(b"\n", b"", 1), 1),
    ("bad-request", with_request(None), None),
    ("bad-request", with_request({"requestId": "r9", "response": []}), None),
    ("bad-request", with_request(request(9, "x", message={"text": "x"})), None),
    ("bad-request", with_request(request(9, "x", message={"text": "x", "parts": [{"kind": "new"}]})), None),
]


@pytest.mark.parametrize(("code", "data", "number"), DAMAGE)
def test_a_damaged_log_is_refused_with_its_line_and_reason(
    code: str, data: bytes, number: int | None, tmp_path: Path
) -> None:
    found = refusals(tmp_path, data)
    assert (found[0].code, found[0].line) == (code, number)
    assert found[0].reason
    assert is_refused(data)


@pytest.mark.parametrize(
    "data",
    [
        INTACT,
        INTACT.removesuffix(b"\n"),
        INTACT.replace(b"\n", b"\r\n"),
        INTACT.replace(b"first", b"fi\xffrst"),
        INTACT.replace(b"first", b"\\ud83d"),
        INTACT.replace(b"first", "\u2028".encode()),
        INTACT.replace(b"\n", b"\n\n"),
        INTACT + line(1, []),
    ],
)
def test_a_log_that_vscode_loads_is_not_refused(data: bytes, tmp_path: Path) -> None:
    assert refusals(tmp_path, data) == []
    assert not is_refused(data)


def test_what_comes_before_an_initial_state_is_refused_though_it_does_not_count(tmp_path: Path) -> None:
    found = refusals(tmp_path, line(1, ["customTitle"], v="Tides") + INTACT)
    assert [(each.code, each.line) for each in found] == [("headless-log", 1)]


@pytest.mark.parametrize(
    ("code", "data"),
    [
        ("torn-document", json.dumps(session("s1", "first", "second")).encode()[:-30]),
        ("byte-order-mark", b"\xef\xbb\xbf" + json.dumps(session("s1", "first")).encode()),
        ("nul-tail", json.dumps(session("s1", "first")).encode() + bytes(9)),
        ("bad-request", json.dumps(session("s1", requests=[None])).encode()),
    ],
)
def test_a_damaged_document_is_refused(code: str, data: bytes, tmp_path: Path) -> None:
    assert refusals(tmp_path, data, "s1.json")[0].code == code
    assert is_refused(data, is_log=False)


def test_a_session_of_copilot_cli_needs_its_first_event(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    start = {"type": "session.start", "id": "e1", "timestamp": "2026-04-12T12:00:00Z", "data": {"version": 1}}
    path.write_text(json.dumps(start) + "\n")
    assert examine_cli_events(path) == []
    for field in ("id", "timestamp", "data"):
        path.write_text(json.dumps({**start, field: None}) + "\n")
        assert [each.code for each in examine_cli_events(path)] == ["bad-record"]
    path.write_text(json.dumps({**start, "type": "user.message"}) + "\n")
    assert [each.code for each in examine_cli_events(path)] == ["headless-log"]


@pytest.mark.soak(kind="flips")
def test_random_damage_is_refused_exactly_where_vscode_refuses_it(tmp_path: Path) -> None:
    luck = random.Random(SEED)
    text = b"".join(json.dumps(each).encode() + b"\n" for each in log_lines("s1", "one", "two", "three", "four"))
    for _ in range(counted(200)):
        data = damaged(text, luck)
        assert bool(refusals(tmp_path, data)) == is_refused(data), data


def damaged(data: bytes, luck: random.Random) -> bytes:
    """Damage a file as crashes, disks and other programs do."""
    at, to = sorted(luck.sample(range(len(data)), 2))
    kind = luck.choice(["cut", "flip", "hole", "zeros", "drop", "twice", "mark", "tail"])
    lines = data.splitlines(keepends=True)
    if kind == "cut":
        return data[:at]
    if kind == "flip":
        return data[:at] + bytes([data[at] ^ 1 << luck.randrange(8)]) + data[at + 1 :]
    if kind == "hole":
        return data[:at] + data[to:]
    if kind == "zeros":
        return data[:at] + bytes(to - at) + data[to:]
    if kind == "drop":
        del lines[luck.randrange(len(lines))]
    elif kind == "twice":
        lines.insert(luck.randrange(len(lines)), luck.choice(lines))
    elif kind == "mark":
        lines[0] = b"\xef\xbb\xbf" + lines[0]
    else:
        lines.append(bytes(luck.randrange(1, 99)))
    return b"".join(lines)
