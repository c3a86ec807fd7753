"""Whatever happens to a log of Copilot CLI: reading never raises, and the books balance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from copilog.diagnostics import Ledger
from copilog.intake.joined_records import pieces_of
from copilog.model import Conversation, ToolResult
from copilog.sources.base import Found
from copilog.sources.cli.event import PASSING, PERSISTED, STREAMED, is_event_object
from copilog.sources.cli.events import stream_messages
from tests.sources.cli_builders import SESSION, SOURCE, Log, log_path, only, read_log, read_path, roles
from tests.sources.cli_samples import SAMPLES

DATA = Path(__file__).parent.parent / "data" / "cli_events"
WHOLE = next(DATA.rglob("events.jsonl")).read_bytes()
STREAM = (DATA / "stream.json").read_bytes()
same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

FIELDS = sorted({key for sample in SAMPLES.values() for key in sample} | {"deltaContent", "toolName", "requestId"})
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.sampled_from(["auto", "T", "i"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=8,
)


def read_bytes(tmp_path: Path, data: bytes) -> tuple[list[Conversation], Ledger]:
    """Read a log in both ways. What is read can be written, and read back."""
    path = log_path(tmp_path)
    path.write_bytes(data)
    conversations, ledger = read_path(path)
    for conversation in conversations:
        assert msgspec.json.decode(msgspec.json.encode(conversation), type=Conversation).id == conversation.id
    streamed = Ledger(path=str(path))
    count = sum(1 for _ in stream_messages(Found(path, SOURCE.name, SESSION), streamed))
    assert streamed.balances()
    assert [len(conversation.messages) for conversation in conversations] in ([], [count])
    return conversations, ledger


@same_folder
@given(st.integers(0, len(WHOLE)), st.integers(0, len(WHOLE)))
def test_logs_cut_at_any_byte_are_read(tmp_path: Path, start: int, end: int) -> None:
    read_bytes(tmp_path, WHOLE[min(start, end) : max(start, end)])


@same_folder
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.binary(max_size=6), st.integers(0, 40)), max_size=8))
def test_logs_with_replaced_bytes_are_read(tmp_path: Path, wounds: list[tuple[int, bytes, int]]) -> None:
    data = WHOLE
    for at, replacement, length in wounds:
        data = data[:at] + replacement + data[at + length :]

    read_bytes(tmp_path, data)


@same_folder
@given(st.lists(st.sampled_from(WHOLE.splitlines() + STREAM.splitlines()), max_size=30), st.sampled_from([b"\n", b""]))
def test_logs_with_shuffled_lines_are_read(tmp_path: Path, lines: list[bytes], ending: bytes) -> None:
    conversations, ledger = read_bytes(tmp_path, b"\n".join(lines) + ending)

    assert ledger.bad == []
    assert len(conversations) == bool(lines)


@same_folder
@given(
    st.lists(st.sampled_from([*WHOLE.splitlines()[:9], b"\0\0", b"", b"{", b'{"type":"', b'"}}', b"\xff"]), max_size=12)
)
def test_logs_without_line_breaks_are_read(tmp_path: Path, pieces: list[bytes]) -> None:
    read_bytes(tmp_path, b"".join(pieces))


@same_folder
@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(PERSISTED | PASSING | STREAMED | {"result", "new.type"})),
            st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=6) | json_values,
            st.sampled_from([None, "a-1", "T"]),
            st.booleans(),
        ),
        max_size=12,
    )
)
def test_events_that_hold_anything(tmp_path: Path, events: list[tuple[str, Any, str | None, bool]]) -> None:
    lines = [
        json.dumps({"type": kind, "data": data, "id": str(number), "agentId": agent, "ephemeral": passes})
        for number, (kind, data, agent, passes) in enumerate(events)
    ]

    _, ledger = read_bytes(tmp_path, "\n".join(lines).encode())

    assert ledger.bad == []
    assert ledger.seen == len(events)


@given(st.text(alphabet=st.sampled_from('{}[]":,ab type data id\\n é'), max_size=80))
def test_pieces_of_a_line_are_the_line(text: str) -> None:
    pieces = pieces_of(text.encode(), is_event_object)

    assert "".join("".join(piece.data.decode() for piece in pieces).split()) == "".join(text.split())
    assert all(text.encode()[piece.start :].lstrip().startswith(piece.data) for piece in pieces)


def test_a_long_line_of_almost_events_is_read_in_bounded_time(tmp_path: Path) -> None:
    nested = b'{"type":' * 30_000

    _, ledger = read_bytes(tmp_path, nested + b"\n" + nested + b"\n" + WHOLE)

    assert len(ledger.bad) == 2


def test_too_deep_nesting_is_one_bad_record(tmp_path: Path) -> None:
    deep = b'{"type":"user.message","data":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001

    _, ledger = read_bytes(tmp_path, WHOLE + deep + b"\n")

    assert len(ledger.bad) == 1


@pytest.mark.parametrize("kind", [None, 7, ["text"], {"text": 1}])
def test_a_block_with_a_type_that_is_not_text_is_stored(kind: Any, tmp_path: Path) -> None:
    log = Log().start().ask().run("c1", "docs", result={"content": "x", "contents": [{"type": kind, "depth": 3}]})

    conversation, ledger = read_log(tmp_path, log.say("done"))

    assert roles(conversation)[-1] == "assistant"
    assert (only(conversation, ToolResult).items[0].extra or {})["depth"] == 3
    assert sum(ledger.parts.unknown.values()) == 1
