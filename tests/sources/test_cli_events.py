"""Copilot CLI sessions as a source: where they lie, which files are theirs, which conversation they make."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.bench_events import write_log as make_log
from copilog.diagnostics import Ledger
from copilog.identity import merge
from copilog.model import Conversation, Text
from copilog.sources.base import Found, Probe
from copilog.sources.cli.events import CliEvents, stream_messages
from copilog.sources.roots import Root, StorageFolder
from tests.sources.cli_builders import SESSION, SOURCE, Log, parts_like, read_path, write_log

DATA = Path(__file__).parent.parent / "data" / "cli_events"


def home(path: Path) -> StorageFolder:
    return StorageFolder(path, "copilot-home", None, Root("copilot-home", path, None, "test", True))


def located(path: Path) -> list[tuple[str, str | None]]:
    return [(str(found.path.relative_to(path)), found.native_id) for found in SOURCE.locate(home(path))]


def put(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# --- where they lie -----------------------------------------------------------------------------------------------


def test_sessions_are_folders_with_any_name_and_logs_without_a_folder(tmp_path: Path) -> None:
    state = tmp_path / "session-state"
    put(state / "user-123-task" / "events.jsonl")
    put(state / "user-123-task" / "workspace.yaml")
    put(state / "silent" / "workspace.yaml")
    put(state / "planned" / "plan.md")
    put(state / "summed-up" / "checkpoints" / "index.md")
    (state / "empty").mkdir()
    put(state / "old.jsonl")
    put(state / "user-123-task.jsonl")
    put(state / "notes.txt")

    assert located(tmp_path) == [
        ("session-state/planned/plan.md", "planned"),
        ("session-state/silent/workspace.yaml", "silent"),
        ("session-state/summed-up/checkpoints/index.md", "summed-up"),
        ("session-state/user-123-task/events.jsonl", "user-123-task"),
        ("session-state/old.jsonl", "old"),
        ("session-state/user-123-task.jsonl", "user-123-task"),
    ]


def test_links_and_other_folders_are_not_deleted(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere" / "events.jsonl")
    state = tmp_path / "session-state"
    state.mkdir()
    (state / "linked").symlink_to(tmp_path / "elsewhere")
    (state / "file.jsonl").symlink_to(tmp_path / "elsewhere" / "events.jsonl")
    root = Root("vscode-workspace", tmp_path, None, "test", True)

    assert located(tmp_path) == []
    assert list(SOURCE.locate(StorageFolder(tmp_path, "workspace", None, root))) == []


def test_a_linked_folder_of_sessions_is_not_entered(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere" / "s" / "events.jsonl")
    (tmp_path / "session-state").symlink_to(tmp_path / "elsewhere")

    assert located(tmp_path) == []


# --- which files are theirs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "is_ours"),
    [
        ("session-state/s/events.jsonl", "anything", True),
        ("session-state/s.jsonl", "", True),
        ("session-state/s/files/paste.txt", "x", True),
        ("session-state/s/session.db", "x", False),
        ("copy.jsonl", '{"type":"session.start","data":{"producer":"copilot-agent"}}', True),
        ("copy.jsonl", '{"type":"session.start","data":{"producer":"copilot-agent","vscodeVersion":"1.110"}}', False),
        ("copy.jsonl", '{"type":"session.start","data":{"producer":"somebody else"}}', False),
        ("copy.jsonl", '{"type":"user.message","data":{"content":"x"}}', True),
        ("out.json", '{"type":"session.mcp_server_status_changed","data":{},"ephemeral":true}\n{}', True),
        ("out.json", '{"type":"factory.run_started","data":{}}', True),
        ("out.json", '{"type":"factory.whatever","data":{}}', False),
        ("out.txt", '{"type":"user.message","data":{}}', False),
        ("transcripts/s.jsonl", '{"type":"user.message","data":{"content":"x"}}', False),
        ("log.jsonl", '{"type":"user.message"}', False),
        ("log.jsonl", '{"type":"something.else","data":{}}', False),
        ("log.jsonl", '{"kind":0,"v":{}}', False),
        ("log.jsonl", "[1]", False),
        ("log.jsonl", "", False),
        ("result.json", '{"type":"result","data":{}}', False),
        ("plan.md", "# no session", False),
        ("workspace.yaml", "id: x", False),
    ],
)
def test_files_are_claimed_by_path_and_first_event(name: str, text: str, is_ours: bool, tmp_path: Path) -> None:
    assert SOURCE.claims(Probe(put(tmp_path / name, text))) is is_ours


@pytest.mark.parametrize(
    ("name", "text", "native_id"),
    [
        ("session-state/user-1/events.jsonl", '{"type":"session.start","data":{"sessionId":"other"}}', "user-1"),
        ("session-state/flat.jsonl", "", "flat"),
        ("copy.jsonl", '{"type":"session.start","data":{"sessionId":"inner"}}', "inner"),
        ("out.json", '{"type":"abort","data":{}}\n{"type":"result","sessionId":"last"}\n\0\0', "last"),
        ("out.json", '{"type":"abort","data":{}}\n{"type":"result"}\n', None),
        ("out.json", '{"type":"abort","data":{}}\n{"torn', None),
    ],
)
def test_the_id_of_a_session(name: str, text: str, native_id: str | None, tmp_path: Path) -> None:
    assert SOURCE.native_id(Probe(put(tmp_path / name, text))) == native_id


# --- which conversation they make ---------------------------------------------------------------------------------


def test_a_copied_folder_has_its_own_id_and_names_the_original(tmp_path: Path) -> None:
    path = write_log(tmp_path, Log().start(sessionId="the-original").ask())

    (conversation,), ledger = read_path(path)

    assert conversation.id == f"cli:{SESSION}"
    assert (conversation.extra or {})["session_id"] == "the-original"
    assert [(relation.kind, relation.other_id) for relation in conversation.relations] == [
        ("possible-duplicate", "cli:the-original")
    ]
    assert [note.code for note in ledger.notes] == ["other-session-id"]


def test_a_log_without_a_folder_has_no_companions(tmp_path: Path) -> None:
    log = Log().start().ask().say()
    path = put(tmp_path / "session-state" / f"{SESSION}.jsonl", "\n".join(log.lines()))
    put(tmp_path / "session-state" / "workspace.yaml", "name: not mine")

    (conversation,), _ = read_path(path)

    assert (conversation.title, len(conversation.turns)) == (None, 1)


def test_a_session_folder_that_was_copied_away_keeps_its_companions(tmp_path: Path) -> None:
    log = Log().start().ask().say()
    path = put(tmp_path / "backup" / "events.jsonl", "\n".join(log.lines()))
    put(tmp_path / "backup" / "workspace.yaml", "name: Cart")

    (conversation,), _ = read_path(path, SOURCE.native_id(Probe(path)))

    assert (conversation.title, conversation.id) == ("Cart", f"cli:{SESSION}")


def test_an_early_log_and_its_later_folder_are_one_conversation(tmp_path: Path) -> None:
    early = Log().start().ask("one").say("first")
    early_path = put(tmp_path / "session-state" / f"{SESSION}.jsonl", "\n".join(early.lines()))
    early.add("session.resume").ask("two").say("second")
    path = put(tmp_path / "session-state" / SESSION / "events.jsonl", "\n".join(early.lines()))

    merged = merge([read_path(early_path)[0][0], read_path(path)[0][0]])

    assert [part.text for part in parts_like(merged, Text)] == ["one", "first", "two", "second"]
    assert len(merged.provenance) == 2


def test_reading_leaves_no_trace(tmp_path: Path) -> None:
    path = write_log(tmp_path, Log().start().ask().say())
    before = {item: item.stat().st_mtime_ns for item in tmp_path.rglob("*")}

    read_path(path)

    assert {item: item.stat().st_mtime_ns for item in tmp_path.rglob("*")} == before


def test_the_log_of_the_benchmark_is_read_cleanly(tmp_path: Path) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    written = make_log(one, 200_000, seed=7)
    make_log(other, 200_000, seed=7)

    (conversation,), ledger = read_path(one, native_id=None)

    assert one.read_bytes() == other.read_bytes()
    assert (ledger.used, ledger.bad, ledger.notes, ledger.unknown) == (written["events"], [], [], {})
    assert len(conversation.turns) > 1


# --- the samples --------------------------------------------------------------------------------------------------


SAMPLES = [path for path in sorted(DATA.rglob("*")) if path.is_file() and ".expected." not in path.name]


def read_sample(path: Path) -> tuple[list[Conversation], Ledger]:
    return read_path(path, CliEvents().native_id(Probe(path)))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: str(path.relative_to(DATA)))
def test_samples_are_claimed_and_read_the_same_twice(path: Path) -> None:
    assert SOURCE.claims(Probe(path))

    once, ledger = read_sample(path)
    again, _ = read_sample(path)

    assert once == again
    assert ledger.unknown == {}


def test_a_complete_session_is_read(tmp_path: Path) -> None:
    (path,) = DATA.rglob("events.jsonl")

    (conversation,), ledger = read_sample(path)

    assert (ledger.bad, ledger.notes) == ([], [])
    assert conversation.title == "Cart: rounding bug"
    assert [turn.status for turn in conversation.turns] == ["complete", "cancelled", "complete"]
    assert [usage.source for usage in conversation.usage] == [
        "session.shutdown",
        "session.shutdown",
        "session.shutdown",
        "session.compaction_complete",
    ]
    sonnet, haiku, bill, _ = conversation.usage
    said = [usage for turn in conversation.turns for usage in turn.usage]
    assert sonnet.output == sum(usage.output or 0 for usage in said if usage.model == "claude-sonnet-4.6")
    assert haiku.output == sum(usage.output or 0 for usage in said if usage.model == "claude-haiku-4.5")
    assert (bill.premium_requests, bill.credits) == (3, 1.5)
    inner = [message for message in conversation.messages if message.parent_call_id == "toolu_05"]
    assert [message.role for message in inner] == ["assistant", "tool", "assistant"]
    assert list(stream_messages(Found(path, SOURCE.name), Ledger())) == conversation.messages


def test_a_damaged_session() -> None:
    (path,) = DATA.rglob("damaged.jsonl")

    (conversation,), ledger = read_sample(path)

    assert [part.text for part in parts_like(conversation, Text)] == ["one", "two\nlines", "three", "four"]
    assert [(bad.line, bad.code) for bad in ledger.bad] == [(7, "bad-json"), (9, "torn-tail")]
    assert sorted(note.code for note in ledger.notes) == [
        "duplicate-event",
        "joined-records",
        "nul-tail",
        "raw-control-character",
    ]
    assert json.dumps(conversation.marks) == '["damaged"]'
