"""Sessions that were imported from an export are one with their original, which grows by added turns alone."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

import copilog
from copilog import analysis
from copilog.derive.prompts import HISTORIES
from copilog.exports.copilot_cli import FORMAT
from copilog.exports.formats import Making
from copilog.exports.index import entry_of
from copilog.ingest import find_roots
from copilog.ingest.scanning import scan
from copilog.model import Conversation, Message, Text, Timing, Turn, Usage
from copilog.sample import home
from copilog.store.archive import Archive
from tests.cli.homes import STARTED, Home
from tests.export_places import Places, asked, ids
from tests.samples import DATA
from tests.sources.extension_builders import database_from
from tests.sources.state_builders import make_store
from tests.test_own_json import figures

LATER = datetime(2026, 6, 1, 9, tzinfo=UTC)
SECOND = timedelta(seconds=1)
SPENT: dict[str, Any] = {"input": 1000, "output": 10, "credits": 2.0}


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "data" / "archive.db", write=True) as opened:
        yield opened


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def tides(count: int, **fields: Any) -> list[dict[str, Any]]:
    """Return requests with ids as VS Code makes them."""
    made = [asked("tides", number, **fields) for number in range(count)]
    return [{**each, "requestId": f"request_{uuid.UUID(int=number, version=4)}"} for number, each in enumerate(made)]


def has_totals(conversation: Conversation) -> bool:
    """Return whether the tokens of turns are those that a session total has."""
    return conversation.id.startswith("cli:")


def added_turn(conversation: Conversation) -> Conversation:
    """Return a conversation with one more turn, of which something is known in each section of the figures."""
    index = len(conversation.turns)
    turn = Turn(
        index=index,
        request_id=f"request_{uuid.uuid4()}",
        status="complete",
        timing=Timing(started_at=LATER, completed_at=LATER + 9 * SECOND),
        usage=[] if has_totals(conversation) else [Usage(scope="turn", source="copilot-usage", **SPENT)],
    )
    messages = [
        Message(role="user", turn=index, parts=[Text(text="And at the equinox?")], created_at=LATER),
        Message(role="assistant", turn=index, parts=[Text(text="Higher.")], created_at=LATER + 9 * SECOND),
    ]
    return msgspec.structs.replace(
        conversation, turns=[*conversation.turns, turn], messages=[*conversation.messages, *messages]
    )


def counts(archive: Archive) -> dict[str, Any]:
    measured = analysis.measure(archive)
    total = measured.tokens.total
    return {
        "conversations": measured.totals.conversations,
        "turns": measured.totals.turns,
        "messages": measured.totals.messages,
        "tool_calls": measured.totals.tool_calls,
        "edits": measured.totals.edits,
        "input": total.input or 0,
        "output": total.output or 0,
        "credits": total.credits or 0,
    }


def grown(before: dict[str, Any], by: Sequence[Conversation]) -> dict[str, Any]:
    """Return the counts with a turn more for each of these conversations."""
    spent = {name: value * sum(not has_totals(each) for each in by) for name, value in SPENT.items()}
    added = {"turns": len(by), "messages": 2 * len(by), **spent}
    return {name: value + added.get(name, 0) for name, value in before.items()}


# --- what VS Code makes of an import --------------------------------------------------------------------------------


def imported_into(home: Home, requests: list[dict[str, Any]], **fields: Any) -> str:
    """Write a session as VS Code does after an import: with a new id, later than the original, in any window."""
    session_id = str(uuid.uuid4())
    state = {"version": 3, "sessionId": session_id, "creationDate": STARTED + 86_400_000, **fields}
    home.add(home.workspace(2, "/home/ana/elsewhere"), {**state, "responderUsername": "GitHub Copilot",
                                                        "requests": requests})  # fmt: skip
    return session_id


def test_an_import_is_one_more_trace_and_its_added_turn_counts(archive: Archive, places: Places) -> None:
    places.keep("kept", *tides(3))
    places.scan_home(archive)
    before = counts(archive)
    session_id = imported_into(places.home, tides(3))
    places.scan_home(archive)
    assert counts(archive) == before
    assert ids(archive) == ["vscode:kept"]

    later = asked("equinox", 9, requestId=f"request_{uuid.uuid4()}")
    path = next(places.home.root.rglob(f"{session_id}.json"))
    path.write_text(json.dumps({**json.loads(path.read_text()), "requests": [*tides(3), later]}))
    places.scan_home(archive)
    assert ids(archive) == ["vscode:kept"]
    assert counts(archive) == {**before, "turns": before["turns"] + 1, "messages": before["messages"] + 2}
    kept = archive.get("vscode:kept")
    assert [turn.branch for turn in kept.turns] == [None] * 4
    assert str(path) in {trace.path for trace in kept.provenance}
    assert kept.workspace is not None
    assert kept.workspace.folder == "/home/ana/garden"
    assert archive.get(f"vscode:{session_id}").id == "vscode:kept"
    assert archive.check() == []


@pytest.mark.parametrize("order", list(itertools.permutations(("original", "import", "export"))), ids="-".join)
def test_the_order_of_scans_makes_no_difference(places: Places, tmp_path: Path, order: tuple[str, ...]) -> None:
    places.keep("kept", *tides(3))
    other = Home(tmp_path / "other")
    imported_into(other, [*tides(3), asked("equinox", 9, requestId=f"request_{uuid.uuid4()}")])
    export = places.export("chat.json", *tides(3))
    with Archive(tmp_path / "archive.db", write=True) as archive:
        for name in order:
            if name == "original":
                places.scan_home(archive)
            elif name == "import":
                scan(archive, roots=find_roots([other.root]))
            else:
                scan(archive, paths=[export])
        assert ids(archive) == ["vscode:kept"]
        assert [turn.branch for turn in archive.get("vscode:kept").turns] == [None] * 4
        assert archive.check() == []


def test_if_both_continue_the_import_is_a_branch(archive: Archive, places: Places) -> None:
    places.keep("kept", *tides(4))
    imported_into(places.home, [*tides(2), asked("equinox", 9, requestId=f"request_{uuid.uuid4()}")])
    places.scan_home(archive)
    [name] = ids(archive)
    branches = [turn.branch.leaves_from if turn.branch else None for turn in archive.get(name).turns]
    assert branches == [None] * 4 + [1]
    assert counts(archive)["turns"] == 5


def test_sessions_with_other_requests_stay_apart(archive: Archive, places: Places) -> None:
    places.keep("kept", *tides(3))
    imported_into(places.home, [{**each, "requestId": f"request_{uuid.uuid4()}"} for each in tides(3)])
    places.scan_home(archive)
    assert len(ids(archive)) == 2


def test_requests_that_copilog_named_are_known_by_their_texts(archive: Archive, places: Places) -> None:
    """The oldest sessions have no ids of requests, so that an export gives them some."""
    plain = [{name: value for name, value in each.items() if name != "requestId"} for each in tides(3)]
    named = [
        {**each, "requestId": f"request_{uuid.uuid5(uuid.NAMESPACE_URL, str(at))}"} for at, each in enumerate(plain)
    ]
    places.keep("kept", *plain)
    places.scan_home(archive)
    before = counts(archive)
    imported_into(places.home, [*named, asked("equinox", 9, requestId=f"request_{uuid.uuid4()}")])
    places.scan_home(archive)
    assert ids(archive) == ["vscode:kept"]
    assert counts(archive)["turns"] == before["turns"] + 1


def test_an_import_of_typed_prompts_is_a_conversation_and_takes_them_over(archive: Archive, places: Places) -> None:
    prompts = [f"Where is the tide table of harbour number {number}?" for number in range(2)]
    workspace = places.home.workspace(1, "/home/ana/garden")
    typed = {"history": {"copilot": [{"text": text} for text in prompts]}}
    make_store(workspace / "state.vscdb", {"memento/interactive-session": typed})
    places.scan_home(archive)
    [history] = ids(archive)
    given = [f"request_{uuid.uuid5(uuid.NAMESPACE_URL, text)}" for text in prompts]
    requests = [
        {**asked("tides", at), "requestId": name, "message": {"text": text, "parts": []}}
        for at, (name, text) in enumerate(zip(given, prompts, strict=True))
    ]
    later = asked("equinox", 9, requestId=f"request_{uuid.uuid4()}")
    session_id = imported_into(places.home, [*requests, later])
    places.scan_home(archive)
    assert f"vscode:{session_id}" in ids(archive)
    assert counts(archive)["turns"] == 3
    assert [name for name in ids(archive) if name != history] == [f"vscode:{session_id}"]


# --- what copilog reads itself --------------------------------------------------------------------------------------


def with_long_ids(conversation: Conversation) -> bool:
    return all(len(turn.request_id or "") >= 20 for turn in conversation.turns)


@pytest.mark.parametrize("ending", [".json", ".jsonl", ".copilog.zip"])
def test_figures_grow_by_an_added_turn_alone(archive: Archive, tmp_path: Path, ending: str) -> None:
    scan(archive, roots=find_roots([home()]))
    before = counts(archive)
    conversations = [archive.get(name) for name in ids(archive)]
    chosen = [each for each in conversations if each.turns and with_long_ids(each)]
    assert len(chosen) > 12
    (tmp_path / "imports").mkdir()
    for at, conversation in enumerate(chosen):
        new_id = str(uuid.uuid4())
        made = msgspec.structs.replace(added_turn(conversation), id=f"vscode:{new_id}", native_id=new_id)
        kind = "bundle" if ending == ".copilog.zip" else "json"
        copilog.export([made], kind, tmp_path / "imports" / f"{at}{ending}")
    scan(archive, paths=[tmp_path / "imports"])
    assert ids(archive) == sorted(each.id for each in conversations)
    assert counts(archive) == grown(before, chosen)
    scan(archive, roots=find_roots([home()]))
    assert counts(archive) == grown(before, chosen)


@pytest.mark.parametrize("kind", ["json", "bundle"])
def test_turns_that_were_added_to_a_file_are_added_to_the_conversation(
    archive: Archive, tmp_path: Path, kind: str
) -> None:
    scan(archive, roots=find_roots([home()]))
    before = counts(archive)
    conversations = [archive.get(name) for name in ids(archive)]
    path = tmp_path / ("all.jsonl" if kind == "json" else "all.copilog.zip")
    copilog.export(map(added_turn, conversations), kind, path)
    scan(archive, paths=[path])
    assert counts(archive) == grown(before, conversations)


def test_sessions_for_vscode_under_new_ids_are_one_with_the_conversations(archive: Archive, tmp_path: Path) -> None:
    """They begin at the same moment, so that the time does not tell which of both is the original."""
    scan(archive, roots=find_roots([home()]))
    before, known = counts(archive), ids(archive)
    conversations = [archive.get(name) for name in known]
    copilog.export(conversations, "vscode", tmp_path / "sessions", new_id=True)
    scan(archive, paths=[tmp_path / "sessions"])
    assert ids(archive) == known
    assert counts(archive) == before


def test_chats_made_of_conversations_change_no_figure(tmp_path: Path) -> None:
    """A chat of a session of Copilot CLI repeats its notices in another form, which are no messages of their own."""
    (tmp_path / "exports").mkdir()
    conversations = [one for found in copilog.discover([home()]) for one in copilog.read(found) if one.turns]
    for at, conversation in enumerate(conversations):
        copilog.export([conversation], "chat", tmp_path / "exports" / f"{at}.json")
    for names, after, expected in scanned_in_both_orders(tmp_path, [home()], files_in(tmp_path / "exports")):
        assert names == sorted(each.id for each in conversations)
        assert after == expected


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


@pytest.mark.parametrize("kind", ["chat", "vscode", "copilot-cli", "trajectory", "atif", "otlp", "json", "bundle"])
def test_exports_of_every_kind_change_no_figure(archive: Archive, tmp_path: Path, kind: str) -> None:
    """Also not the sources, the days and the hours: what is an export never leads before what it is of."""
    scan(archive, roots=find_roots([home()]))
    before = figures(archive)
    path = tmp_path / ("all.copilog.zip" if kind == "bundle" else "exports")
    copilog.export([archive.get(name) for name in ids(archive)], kind, path)
    for _ in range(2):
        scan(archive, paths=[path])
        assert figures(archive) == before
    scan(archive, roots=find_roots([home()]))
    assert figures(archive) == before


def test_a_turn_without_a_time_stays_on_its_day_when_an_import_continues(archive: Archive, places: Places) -> None:
    first, second = (asked("tides", at, requestId=f"request_{uuid.uuid4()}") for at in range(2))
    del second["timestamp"]
    places.keep("kept", first, second)
    places.scan_home(archive)
    [day] = analysis.measure(archive).time.by_day
    assert day.turns == 2
    later = asked("equinox", 9_000, requestId=f"request_{uuid.uuid4()}")
    imported_into(places.home, [first, second, later])
    places.scan_home(archive)

    time = analysis.measure(archive).time
    assert next((row.name, row.turns) for row in time.by_day if row.turns) == (day.name, 2)
    assert sum(row.turns for row in time.by_day) == sum(row.turns for row in time.by_hour) == 3


# --- what Copilot CLI makes of an import ----------------------------------------------------------------------------


def imported_by_cli(folder: Path, conversation: Conversation, *added: tuple[str, dict[str, Any]]) -> str:
    """Write the log that `copilot sessions import` 1.0.102 makes of an export: new ids, and the time of the import."""
    pieces = FORMAT.pieces([conversation], [entry_of(conversation)], Making(by="copilog 1.0"))
    head, *records = [json.loads(line) for line in b"".join(map(_as_bytes, pieces)).splitlines()]
    session_id = str(uuid.uuid4())
    start = {"sessionId": session_id, "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.102",
             "startTime": head["createdAt"], "context": {"cwd": "/tmp/work"}, "alreadyInUse": False}  # fmt: skip
    events: list[tuple[str, dict[str, Any]]] = [("session.start", start)]
    names = {record["id"]: str(uuid.uuid4()) for record in records}
    for record in records:
        text = record["content"][0]["text"] if record["type"] == "message" else ""
        if record["type"] == "message" and record["role"] == "user":
            events.append(("user.message", {"content": text}))
        elif record["type"] == "message":
            data = {"messageId": str(uuid.uuid4()), "content": text, "turnId": record["turnId"], "toolRequests": []}
            events.append(("assistant.message", data))
        elif record["type"] == "tool-call":
            call = {"name": record["name"], "toolCallId": names[record["id"]], "arguments": record["arguments"]}
            if events[-1][0] == "assistant.message":
                events[-1][1]["toolRequests"].append(call)
            begun = {"toolCallId": call["toolCallId"], "toolName": call["name"], "arguments": call["arguments"]}
            events.append(("tool.execution_start", begun))
        else:
            ended = {"toolCallId": names[record["toolCallId"]], "success": record["success"],
                     "result": {"content": record["content"]}}  # fmt: skip
            events.append(("tool.execution_complete", ended))
    path = folder / ".copilot" / "session-state" / session_id / "events.jsonl"
    path.parent.mkdir(parents=True)
    lines = [_event(kind, data, LATER + timedelta(milliseconds=at)) for at, (kind, data) in enumerate(events)]
    lines += [_event(kind, data, LATER + timedelta(hours=1, seconds=at)) for at, (kind, data) in enumerate(added)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (path.parent / "workspace.yaml").write_text(f"id: {session_id}\ncwd: /tmp/work\nclient_name: github/cli\n")
    return session_id


def _as_bytes(piece: str | bytes) -> bytes:
    return piece if isinstance(piece, bytes) else piece.encode()


def _event(kind: str, data: dict[str, Any], at: datetime) -> dict[str, Any]:
    return {
        "type": kind,
        "data": data,
        "id": str(uuid.uuid4()),
        "timestamp": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z",
    }


def test_an_import_by_copilot_cli_is_one_more_trace(archive: Archive, tmp_path: Path) -> None:
    scan(archive, roots=find_roots([home()]))
    before, known = figures(archive), ids(archive)
    for name in known:
        imported_by_cli(tmp_path / "cli", archive.get(name))
    scan(archive, roots=find_roots([tmp_path / "cli"]))
    assert ids(archive) == known
    assert figures(archive) == before
    scan(archive, roots=find_roots([home()]))
    assert figures(archive) == before


def test_a_turn_added_in_copilot_cli_counts(tmp_path: Path) -> None:
    added = (
        ("user.message", {"content": "And at the equinox?"}),
        ("assistant.message", {"messageId": "m1", "content": "Higher.", "turnId": "0", "toolRequests": []}),
    )
    for is_original_first in (True, False):
        folder = tmp_path / str(is_original_first)
        with Archive(folder / "archive.db", write=True) as archive, Archive(folder / "origin.db", write=True) as origin:
            scan(origin, roots=find_roots([home()]))
            before, known = counts(origin), ids(origin)
            if is_original_first:
                scan(archive, roots=find_roots([home()]))
            for name in known:
                imported_by_cli(folder / "cli", origin.get(name), *added)
            scan(archive, roots=find_roots([folder / "cli"]))
            if not is_original_first:
                scan(archive, roots=find_roots([home()]))
            assert ids(archive) == known
            expected = {
                **before,
                "turns": before["turns"] + len(known),
                "messages": before["messages"] + 2 * len(known),
            }
            assert counts(archive) == expected
            assert archive.check() == []


# --- what has less than the conversation that was exported ----------------------------------------------------------


def scanned_in_both_orders(tmp_path: Path, roots: list[Path], paths: list[Path]) -> list[tuple[list[str], Any, Any]]:
    """Return the ids and figures with what was exported, in both orders, each with the figures without it."""
    found = []
    with Archive(tmp_path / "origin.db", write=True) as origin:
        scan(origin, roots=find_roots(roots))
        expected = figures(origin)
    for number, is_home_first in enumerate((True, False)):
        with Archive(tmp_path / f"{number}.db", write=True) as archive:
            for is_home in (is_home_first, not is_home_first, is_home_first):
                scan(archive, roots=find_roots(roots) if is_home else [], paths=[] if is_home else paths)
            found.append((ids(archive), figures(archive), expected))
            assert archive.check() == []
            last = [archive.get(name).provenance for name in ids(archive)]
            assert {str(path) for path in paths} <= {trace.path for traces in last for trace in traces}
    return found


def test_trajectories_of_conversations_change_no_figure(tmp_path: Path) -> None:
    path, folders = tmp_path / "trajectories.jsonl", [home() / ".config", home() / ".copilot"]
    made = [msgspec.to_builtins(each) for each in copilog.extract(folders, require_system_first=False)]
    made = [each for each in made if each["telemetry_type"] not in HISTORIES]  # their prompts are in conversations
    path.write_bytes(b"\n".join(map(msgspec.json.encode, made)))
    with Archive(tmp_path / "origin.db", write=True) as origin:
        scan(origin, roots=find_roots([home()]))
        before, known = figures(origin), ids(origin)
        scan(origin, paths=[path])
        assert ids(origin) == known
        assert figures(origin) == before
    with Archive(tmp_path / "other.db", write=True) as other:
        scan(other, paths=[path])
        scan(other, roots=find_roots([home()]))
        assert ids(other) == known
        assert figures(other) == before


def test_spans_that_copilog_exported_change_no_figure(tmp_path: Path) -> None:
    extension = tmp_path / "home" / "Code" / "User" / "globalStorage" / "github.copilot-chat"
    database_from(DATA / "agent_traces" / "ferry.sql", extension / "agent-traces.db")
    spans = json.loads((DATA / "otlp_export" / "ferry.json").read_text())
    for group in spans["resourceSpans"]:
        group["resource"]["attributes"].append({"key": "copilog.written_by", "value": {"stringValue": "copilog 1.0"}})
        for scope in group["scopeSpans"]:
            for span in scope["spans"]:  # ids of their own, as those of the original are not kept
                span["traceId"] = span["traceId"][::-1]
                span["spanId"] = span["spanId"][::-1]
                if span.get("parentSpanId"):
                    span["parentSpanId"] = span["parentSpanId"][::-1]
    path = tmp_path / "spans.json"
    path.write_text(json.dumps(spans))
    for names, after, expected in scanned_in_both_orders(tmp_path, [tmp_path / "home"], [path]):
        assert "vscode:7d1f0000-0000-4000-8000-00000000000d" in names
        assert after == expected


def test_agent_trajectories_that_copilog_exported_change_no_figure(places: Places, tmp_path: Path) -> None:
    call = {
        "kind": "toolInvocationSerialized",
        "toolId": "runSubagent",
        "toolCallId": "call_sub",
        "isComplete": True,
        "invocationMessage": "Look",
        "source": {"type": "internal", "label": "Built-In"},
    }
    places.keep("kept", *tides(2, response=[call, {"value": "Done."}]))

    def step(number: int, source: str, text: str) -> dict[str, Any]:
        return {"step_id": number, "source": source, "message": text, "timestamp": "2026-04-12T10:00:00Z"}

    texts = [("user", "Question 0 about the tides in the garden"), ("agent", "Done."),
             ("user", "Question 1 about the tides in the garden"), ("agent", "Done.")]  # fmt: skip
    agent = {"name": "copilot", "version": "unknown"}
    inner = {"schema_version": "ATIF-v1.8", "session_id": "kept", "trajectory_id": "kept#call_sub", "agent": agent,
             "steps": [step(1, "user", "Look around"), step(2, "agent", "Nothing there.")]}  # fmt: skip
    outer = {
        "schema_version": "ATIF-v1.8",
        "session_id": "kept",
        "trajectory_id": "vscode:kept",
        "agent": agent,
        "steps": [step(at, source, text) for at, (source, text) in enumerate(texts, 1)],
        "final_metrics": {"total_prompt_tokens": 900, "total_completion_tokens": 90},
        "subagent_trajectories": [inner],
        "extra": {"copilog": {"id": "vscode:kept", "written_by": "copilog 1.0"}},
    }
    path = tmp_path / "kept.trajectory.json"
    path.write_text(json.dumps(outer))
    for names, after, expected in scanned_in_both_orders(tmp_path, [places.home.root], [path]):
        assert names == ["vscode:kept"]
        assert after == expected
