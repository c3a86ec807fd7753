"""Every damage over every format of JSON lines: the same messages are kept, and what is lost is reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from copilog import Report, ingest
from copilog.diagnostics import Ledger
from copilog.intake.records import JsonLines, record_at
from tests.sources.cli_builders import Log
from tests.telemetry.streams import assistant, reported, snapshot, system, user

Json = dict[str, Any]
MESSAGES = range(4)
ENTRY = {"dur": 1, "sid": "s1", "type": "user_message", "name": "x", "status": "ok"}


def text(number: int) -> str:
    return f"the words of message {number}, and no other"


def cli_events() -> list[Json]:
    return Log().start().ask(text(0)).say(text(1)).ask(text(2)).say(text(3)).events


def session_log() -> list[Json]:
    state = {"version": 3, "sessionId": "s1", "requests": []}
    requests = [{"requestId": f"r{n}", "message": {"text": text(n)}, "response": [], "timestamp": n} for n in MESSAGES]
    return [{"kind": 0, "v": state}, *({"kind": 2, "k": ["requests"], "v": [request]} for request in requests)]


def transcript() -> list[Json]:
    def event(number: int, kind: str, data: Json) -> Json:
        return {"type": kind, "data": data, "id": f"e{number}", "timestamp": "2026-05-04T10:00:00.000Z"}

    start = {"sessionId": "s1", "version": 1, "producer": "copilot-agent", "vscodeVersion": "1.110.0"}
    asked = [event(n, "user.message", {"content": text(n), "attachments": []}) for n in MESSAGES]
    return [event(9, "session.start", start), *asked]


def debug_log() -> list[Json]:
    start = {**ENTRY, "ts": 1777888800000, "spanId": "s", "type": "session_start", "attrs": {}}
    asked = [{**ENTRY, "ts": 1777888800000 + n, "spanId": f"a{n}", "attrs": {"content": text(n)}} for n in MESSAGES]
    return [start, *asked]


def span(number: int, content: str) -> Json:
    output = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": content}]}])
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": f"s{number}",
        "gen_ai.output.messages": output,
    }
    span_id = {"traceId": f"t{number}", "spanId": f"c{number}", "name": "chat m"}
    return {
        **span_id,
        "startTime": [1777888800 + number, 0],
        "endTime": [1777888801 + number, 0],
        "attributes": attributes,
    }


def otel_file() -> list[Json]:
    return [span(9, "first"), *(span(n, text(n)) for n in MESSAGES)]


def otlp_export() -> list[Json]:
    def document(number: int, content: str) -> Json:
        one = span(number, content)
        pairs = [{"key": key, "value": {"stringValue": value}} for key, value in one.pop("attributes").items()]
        del one["startTime"], one["endTime"]
        one |= {"startTimeUnixNano": f"177788880{number}000000000", "endTimeUnixNano": f"177788880{number}500000000"}
        return {
            "resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": [{**one, "attributes": pairs}]}]}]
        }

    return [document(9, "first"), *(document(n, text(n)) for n in MESSAGES)]


def trajectories() -> list[Json]:
    def line(number: int, content: str) -> Json:
        messages = [{"role": "user", "content": content}]
        return {"conversation_id": f"c{number}", "messages": messages, "metadata": {}, "telemetry_type": "x"}

    return [line(9, "first"), *(line(n, text(n)) for n in MESSAGES)]


def telemetry() -> list[Json]:
    return [
        snapshot([system(), user(text(n) if n in MESSAGES else "first"), assistant()], f"c{n}") for n in (9, *MESSAGES)
    ]


FORMATS: dict[str, Callable[[], list[Json]]] = {
    "cli-events": cli_events,
    "vscode-session-log": session_log,
    "transcripts": transcript,
    "debug-logs": debug_log,
    "otel-file": otel_file,
    "otlp-export": otlp_export,
    "trajectory-file": trajectories,
    "telemetry": telemetry,
}


class Damage(NamedTuple):
    """What is done to the lines of a file, which messages that may cost, and the code that reports it."""

    do: Callable[[list[bytes]], bytes]
    lost: frozenset[int]
    code: str | None


def lines(records: list[bytes], end: bytes = b"\n") -> bytes:
    return b"".join(record + end for record in records)


def as_text(encoding: str) -> Callable[[list[bytes]], bytes]:
    return lambda records: lines(records).decode().encode(encoding)


PARAGRAPH = "\u2029".encode()
NONE: frozenset[int] = frozenset()
DAMAGES: dict[str, Damage] = {
    "nothing": Damage(lines, NONE, None),
    "CRLF": Damage(lambda records: lines(records, b"\r\n"), NONE, None),
    "blank lines": Damage(lambda records: b"\n" + lines(records, b"\n\r\n \n"), NONE, None),
    "CR alone": Damage(lambda records: lines(records, b"\r"), NONE, "joined-records"),
    "all on one line": Damage(lambda records: lines(records, b"") + b"\n", NONE, "joined-records"),
    "two on one line": Damage(
        lambda records: lines(records[:2]) + records[2] + lines(records[3:]), NONE, "joined-records"
    ),
    "U+2028 for line feeds": Damage(
        lambda records: "\u2028".encode().join(records), NONE, "raw-line-separator"
    ),
    "U+2029 between two": Damage(
        lambda records: lines(records[:2]) + records[2] + PARAGRAPH + lines(records[3:]), NONE, "raw-line-separator"
    ),
    "byte order mark": Damage(lambda records: b"\xef\xbb\xbf" + lines(records), NONE, "byte-order-mark"),
    "UTF-16": Damage(as_text("utf-16"), NONE, "utf-16"),
    "UTF-16 without a mark": Damage(as_text("utf-16-be"), NONE, "utf-16"),
    "UTF-32": Damage(as_text("utf-32"), NONE, "utf-32"),
    "NUL tail": Damage(lambda records: lines(records) + b"\0" * 700, NONE, "nul-tail"),
    "NUL hole between two": Damage(
        lambda records: lines(records[:2]) + b"\0" * 90 + lines(records[2:]), NONE, "nul-tail"
    ),
    "NUL hole in one": Damage(
        lambda records: lines(records[:2]) + records[2][:20] + b"\0" * 9 + records[2][29:] + b"\n" + lines(records[3:]),
        frozenset({1}),
        "bad-json",
    ),
    "last line torn": Damage(lambda records: lines(records)[:-9], frozenset({3}), "torn-tail"),
    "first line cut": Damage(lambda records: lines(records)[17:], NONE, "torn-head"),
    "one torn, the next behind it": Damage(
        lambda records: lines(records[:2]) + records[2][:-9] + lines(records[3:]), frozenset({1}), "bad-json"
    ),
    "a raw line break in a text": Damage(
        lambda records: lines(records).replace(b"message 1, and", b"message 1, and\n", 1), NONE, "raw-control-character"
    ),
}  # fmt: skip
# The rules of telemetry (R-2, R-4, R-8b) allow no repair without --json-recovery, and of a line one record.
OF_TELEMETRY = {
    "NUL hole in one": NONE,  # the flag takes the bytes out
    "two on one line": frozenset({2}),
    "U+2029 between two": frozenset({2}),
    "one torn, the next behind it": frozenset({1, 2}),
    "a raw line break in a text": frozenset({1}),
}


def kept(folder: Path, name: str, data: bytes) -> tuple[frozenset[int], set[str]]:
    """Return which messages of a file are read, and the codes of what was reported."""
    path = folder / "elsewhere" / "some.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    report = Report()
    if name == "telemetry":
        found, report = reported(path, json_recovery=True)
        everything = json.dumps([line.messages for line in found], default=str)
    else:
        conversations = list(ingest.read(path, report=report))
        for conversation in conversations:
            conversation.extra = None
        everything = msgspec.json.encode(conversations).decode()
    assert report.balances()
    flat = everything.replace("\\n", "")
    return frozenset(n for n in MESSAGES if text(n) in flat), {bad.code for bad in report.diagnostics()}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", FORMATS)
def test_intact_records_are_read_with_any_damage(name: str, damage: str, tmp_path: Path) -> None:
    do, lost, code = DAMAGES[damage]
    records = [json.dumps(record, separators=(",", ":")).encode() for record in FORMATS[name]()]

    messages, codes = kept(tmp_path, name, do(records))

    allowed = OF_TELEMETRY.get(damage, lost) if name == "telemetry" else lost
    assert frozenset(MESSAGES) - messages == allowed
    if name != "telemetry":
        assert code is None or code in codes, codes


def test_offsets_are_those_of_the_bytes_on_disk(tmp_path: Path) -> None:
    records = [{"a": "潮😀", "n": n} for n in range(4)]
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"):
        for end in ("\n", "\r\n", "\u2028", "\0\n\0"):
            path = tmp_path / "x.jsonl"
            path.write_bytes(
                "".join(json.dumps(record, ensure_ascii=False) + end for record in records).encode(encoding)
            )

            met = list(JsonLines(path, Ledger(), lambda value: "n" in value))

            assert [value for value, *_ in met] == records, (encoding, end)
            assert [record_at(path, offset, size) for _, _, offset, size in met] == records, (encoding, end)
            assert all(one[2] + one[3] <= two[2] for one, two in pairwise(met))
