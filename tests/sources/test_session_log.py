"""The session log as a conversation, complete or cut at any byte."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.diagnostics import Ledger
from copilog.model import Conversation, prose_of
from copilog.sources.base import Found
from copilog.sources.vscode.session_log import VSCodeSessionLog
from tests.sources.session_log_builders import Json, is_complete, line, written

# --- as a conversation ------------------------------------------------------------------------------------------


def read_log(path: Path, data: bytes) -> tuple[list[Conversation], Ledger]:
    path.write_bytes(data)
    source = VSCodeSessionLog()
    ledger = Ledger(path=str(path), source=source.name)
    conversations = list(source.read(Found(path, source.name, native_id=path.stem), ledger))
    assert ledger.balances()
    return conversations, ledger


def request(number: int, text: str, answer: str | None = None) -> Json:
    made: Json = {
        "requestId": f"request_{number}",
        "timestamp": 1767000000000 + number * 60_000,
        "message": {"text": text, "parts": []},
        "variableData": {"variables": []},
    }
    return made if answer is None else {**made, "response": [{"value": answer}]}


def prose(conversation: Conversation) -> list[str]:
    return [prose_of(message.parts) for message in conversation.messages]


def test_empty_slots_among_the_requests_are_skipped_and_reported(tmp_path: Path) -> None:
    start = {"version": 3, "sessionId": "s", "requests": [None, request(1, "hi", "hello"), None]}

    [conversation], ledger = read_log(tmp_path / "s.jsonl", line(0, v=start))

    assert prose(conversation) == ["hi", "hello"]
    assert [turn.pointer for turn in conversation.turns] == ["/requests/1"]
    assert [(note.code, note.pointer) for note in ledger.notes] == [
        ("null-request", "/requests/0"),
        ("null-request", "/requests/2"),
    ]
    assert conversation.marks == []


def test_damaged_logs_have_marks(tmp_path: Path) -> None:
    start = line(0, v={"version": 3, "requests": []})
    pushed = line(2, ["requests"], v=[request(0, "hi", "hello")])
    orphan = line(1, ["requests", 4, "vote"], v=1)

    def marks(*lines: bytes) -> list[str]:
        [conversation], _ = read_log(tmp_path / "s.jsonl", b"".join(lines))
        assert prose(conversation) == ["hi", "hello"]
        return conversation.marks

    assert marks(start, pushed) == []
    assert marks(pushed) == ["headless"]
    assert marks(start, orphan, pushed) == ["damaged"]
    assert marks(b"{\n", pushed) == ["headless", "damaged"]
    assert marks(start, pushed, orphan[:-4]) == []


def test_the_id_is_the_file_name_and_another_id_inside_is_in_extra(tmp_path: Path) -> None:
    [conversation], _ = read_log(tmp_path / "name.jsonl", line(0, v={"sessionId": "inside", "requests": []}))

    assert (conversation.id, conversation.native_id) == ("vscode:name", "name")
    assert conversation.extra == {"sessionId": "inside"}


def test_requests_that_are_not_a_list_are_reported_and_stay_in_extra(tmp_path: Path) -> None:
    [conversation], ledger = read_log(tmp_path / "s.jsonl", line(0, v={"requests": "none"}))

    assert conversation.extra == {"requests": "none"}
    assert [(note.level, note.pointer) for note in ledger.notes] == [("error", "/requests")]


# --- cut at any byte --------------------------------------------------------------------------------------------


RICH = [
    {
        "kind": 0,
        "v": {
            "version": 3,
            "creationDate": 1767000000000,
            "initialLocation": "panel",
            "responderUsername": "GitHub Copilot",
            "sessionId": "rich",
            "requests": [],
            "pendingRequests": [],
            "inputState": {"inputText": "Wie hoch ist die Flut?", "attachments": [], "mode": {"id": "agent"}},
        },
    },
    {"kind": 2, "k": ["requests"], "v": [request(0, "Wann ist Hochwasser in Büsum? 🌊")]},
    {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "Um "}]},
    {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "Um 14:30 Uhr – morgen später."}], "i": 0},
    {"kind": 1, "k": ["customTitle"], "v": 'Tide \\ "times" \t 潮汐'},
    {
        "kind": 2,
        "k": ["requests", 0, "response"],
        "v": [
            {
                "kind": "toolInvocationSerialized",
                "toolCallId": "call_1",
                "toolId": "copilot_readFile",
                "invocationMessage": {"value": "Reading tides.csv"},
                "isConfirmed": {"type": 1},
                "isComplete": True,
            },
            {"value": "See "},
            {
                "kind": "inlineReference",
                "inlineReference": {"$mid": 1, "path": "/home/ana/tides.csv", "scheme": "file"},
            },
            {"kind": "undoStop", "id": "stop_1"},
            {"kind": "somethingNew", "data": [1, 2.5, None]},
        ],
    },
    {"kind": 1, "k": ["requests", 0, "modelState"], "v": {"value": 1, "completedAt": 1767000005000}},
    {"kind": 2, "k": ["requests"], "v": [request(1, "And in Husum?", "Earlier."), request(2, "Thanks")]},
    {"kind": 1, "k": ["requests", 1, "vote"], "v": 1},
    {"kind": 2, "k": ["requests"], "i": 2},
    {"kind": 3, "k": ["inputState"]},
    {"kind": 1, "k": ["requests", 1, "followups"], "v": [{"kind": "reply", "message": "And in Tönning?"}]},
    {"kind": 1, "k": ["customTitle"]},
]


def essence(conversations: list[Conversation]) -> list[bytes]:
    """Encode conversations without the fields that depend on the file's size and time."""
    return [msgspec.json.encode(msgspec.structs.replace(made, provenance=[])) for made in conversations]


def test_a_full_log_cut_at_every_byte_gives_its_complete_lines(tmp_path: Path) -> None:
    lines = written(RICH)
    path = tmp_path / "rich.jsonl"
    wholes = [read_log(path, b"".join(lines[:count])) for count in range(len(lines) + 1)]
    assert [turn.superseded for turn in wholes[-1][0][0].turns] == [None, None, "removed"]
    assert all(ledger.diagnostics() == [] for conversations, ledger in wholes if conversations)

    data = b"".join(lines)
    for cut in range(len(data) + 1):
        conversations, ledger = read_log(path, data[:cut])
        complete = data[:cut].count(b"\n")
        rest = data[:cut].rpartition(b"\n")[2]
        if rest and is_complete(rest):
            complete, rest = complete + 1, b""
        assert essence(conversations) == essence(wholes[complete][0])
        codes = [diagnostic.code for diagnostic in ledger.diagnostics()]
        assert codes == (["torn-tail"] if rest else [] if cut else ["empty-file"])


words = st.text(max_size=20)
parts = st.fixed_dictionaries({"value": words}) | st.fixed_dictionaries({"kind": st.just("undoStop"), "id": words})


@st.composite
def session_logs(draw: st.DrawFn) -> list[Json]:
    """Draw the log of a session that grew turn by turn, as VS Code would write it."""
    records: list[Json] = [{"kind": 0, "v": {"version": 3, "sessionId": "made", "requests": []}}]
    for number in range(draw(st.integers(0, 3))):
        records.append({"kind": 2, "k": ["requests"], "v": [request(number, draw(words))]})
        for _ in range(draw(st.integers(0, 3))):
            push = {"kind": 2, "k": ["requests", number, "response"], "v": draw(st.lists(parts, max_size=3))}
            records.append(push | draw(st.sampled_from([{}, {"i": 0}])))
        if draw(st.booleans()):
            records.append({"kind": 1, "k": ["customTitle"], "v": draw(words)})
    return records


@given(session_logs(), st.data())
def test_any_session_cut_at_any_byte_gives_its_complete_lines(
    tmp_path_factory: pytest.TempPathFactory, records: list[Json], data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "made.jsonl"
    lines = written(records)
    whole = b"".join(lines)
    cut = data.draw(st.integers(0, len(whole)))
    rest = whole[:cut].rpartition(b"\n")[2]
    kept = lines[: whole[:cut].count(b"\n") + is_complete(rest)]

    expected, _ = read_log(path, b"".join(kept))
    conversations, ledger = read_log(path, whole[:cut])

    assert essence(conversations) == essence(expected)
    assert bool(conversations) == bool(kept)
    codes = [found.code for found in ledger.diagnostics() if found.code != "raw-line-separator"]
    assert codes == (["torn-tail"] if rest and not is_complete(rest) else [] if cut else ["empty-file"])
