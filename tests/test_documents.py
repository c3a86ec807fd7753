"""Documents from file to search hit: typed, each once, on every surface, whatever the order of reading."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from copilog import identity
from copilog.analysis.memories import memories
from copilog.derive import conclude
from copilog.derive.document_kinds import with_known_kinds
from copilog.derive.document_union import sections_in, united
from copilog.derive.documents import documents_of
from copilog.exports.html import html_page
from copilog.exports.markdown import markdown_page
from copilog.ingest import find_roots
from copilog.ingest.scanning import scan
from copilog.model import (
    AnyDocument,
    CheckpointDocument,
    Conversation,
    MemoryDocument,
    OtherDocument,
    PlanDocument,
    Provenance,
    ResearchDocument,
    SessionFileDocument,
)
from copilog.store.archive import Archive
from copilog.store.documents import conversation_from, document_of
from copilog.store.entries import entry_of
from copilog.writers.mcp import pieces_of
from tests.made_up_documents import SUMMARY, WORDS, documented_conversation
from tests.sources.cli_builders import SESSION, Log, write_log
from tests.sources.extension_builders import database_from

KINDS = sorted(WORDS)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    conversation = documented_conversation()
    conclude(conversation)
    made = Archive(tmp_path_factory.mktemp("archive") / "archive.db", write=True)
    made.put(entry_of(conversation), "1")
    made.index_pending()
    return made


# --- the same document from several records -----------------------------------------------------------------------


def test_a_checkpoint_that_a_message_and_a_store_have_is_one_with_the_number_of_the_store() -> None:
    checkpoints = [made for made in documents_of(documented_conversation()) if made.document.kind == "checkpoint"]

    assert [(isinstance(one, CheckpointDocument) and one.number, message) for one, message in checkpoints] == [
        (1, 2), (2, None),
    ]  # fmt: skip
    first = checkpoints[0].document
    assert isinstance(first, CheckpointDocument)
    assert (first.title, first.sections) == (
        "Lantern",
        {"overview": "The lantern burns.", "next_steps": "Trim the wick."},
    )


def test_each_state_of_a_to_do_list_is_a_document() -> None:
    todos = [made for made in documents_of(documented_conversation()) if made.document.kind == "todos"]

    assert [(made.document.text, made.message) for made in todos] == [
        ("- [x] Trim the scupper\n- [ ] Light it", None),
        ("- [ ] Light it", 1),
    ]


def test_a_number_that_is_given_again_after_a_rewind_is_another_checkpoint() -> None:
    one = CheckpointDocument(number=1, text="<overview>\nThe tide\n</overview>")

    assert united(one, CheckpointDocument(number=1, text="<overview>\nThe moon\n</overview>")) is None


@pytest.mark.parametrize("swaps", [False, True])
def test_uniting_keeps_the_fuller_text_all_fields_and_all_traces(swaps: bool) -> None:
    file = CheckpointDocument(
        text=SUMMARY, sections=sections_in(SUMMARY), path="checkpoints/001-a.md", traces=["/file"]
    )
    log = CheckpointDocument(
        text=f"{SUMMARY}\n<checkpoint_title>A</checkpoint_title>", number=1, title="A", traces=["/log"]
    )

    made = united(log, file) if swaps else united(file, log)

    assert isinstance(made, CheckpointDocument)
    assert (made.text, made.number, made.title, made.path) == (log.text, 1, "A", file.path)
    assert made.traces == ["/file", "/log"]


def test_merging_gives_documents_the_turns_of_the_conversation() -> None:
    whole, part = documented_conversation(), documented_conversation()
    part.turns = [msgspec.structs.replace(part.turns[1], index=0)]
    part.messages = [msgspec.structs.replace(part.messages[3], turn=0)]
    part.provenance = [Provenance(source="cli-events", path="/copy/events.jsonl")]
    part.documents = [SessionFileDocument(path="/home/ana/lantern/oil.py", tool="edit", turn=0)]

    merged = identity.merge([whole, part])

    [oil] = [made for made in merged.documents if made.path == "/home/ana/lantern/oil.py"]
    assert (oil.turn, len(merged.turns)) == (1, 2)


# --- JSON -----------------------------------------------------------------------------------------------------------


def test_a_foreign_kind_keeps_its_fields_in_the_archive_and_in_json() -> None:
    foreign = {"kind": "logbook", "text": "Calm sea", "title": "Day 1", "wind": 3}
    written = {"id": "cli:t1", "source": "x", "documents": [foreign, {"kind": "plan", "text": "Sail"}]}

    made = msgspec.convert(with_known_kinds(written), Conversation)

    assert made.documents == [
        OtherDocument(type="logbook", text="Calm sea", title="Day 1", extra={"wind": 3}),
        PlanDocument(text="Sail"),
    ]
    assert [document.kind for document in made.documents] == ["logbook", "plan"]
    assert conversation_from(document_of(made).data) == made


def test_an_archive_with_documents_of_an_earlier_version_is_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    older = b'{"id":"cli:t1","source":"x","documents":[{"kind":"file","text":"a","path":"research/a.md"}]}'
    monkeypatch.setattr("copilog.store.documents.unpack", lambda _: older)

    assert conversation_from(b"").documents == [ResearchDocument(text="a", path="research/a.md")]


def test_every_kind_has_a_tag_of_its_own() -> None:
    tags = [kind.__struct_config__.tag for kind in get_args(AnyDocument)]

    assert len(set(tags)) == len(tags)


# --- surfaces -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_word_of_a_document_finds_it_by_its_kind(kind: str, archive: Archive) -> None:
    [hit] = archive.search(f"in:{kind} {WORDS[kind]}").hits

    assert (hit.document, hit.role) == (kind, "document")
    assert {other.document for other in archive.search(WORDS[kind]).hits} == {kind}
    others = [other for other in KINDS if other != kind]
    assert [archive.search(f"in:{other} {WORDS[kind]}", reading="query").total for other in others] == [0] * len(others)


def test_a_kind_alone_lists_its_documents_where_their_texts_are(archive: Archive) -> None:
    hits = archive.search("in:checkpoint").hits

    assert [(hit.position, hit.turn, hit.document_title) for hit in hits] == [(2, 0, "Lantern"), (4, None, "Masts")]
    assert archive.search("in:todos").total == 2
    assert archive.search("NOT in:checkpoint mizzen").total == 0


def test_rows_of_documents_are_no_messages(archive: Archive) -> None:
    connection = archive.connection

    assert connection.execute("SELECT count(*) FROM messages").fetchone() == (4,)
    assert connection.execute("SELECT messages FROM conversations").fetchone() == (4,)
    assert connection.execute("SELECT kind, count(*) FROM documents GROUP BY kind").fetchall() == [
        ("artifact", 2), ("checkpoint", 2), ("memory", 1), ("plan", 1), ("reference", 1), ("research", 1),
        ("session-file", 1), ("summary", 1), ("todos", 2),
    ]  # fmt: skip


@pytest.mark.parametrize("word", [*WORDS.values(), "ship.png", "4,096 bytes", "wick.py · edit · turn 1"])
def test_every_document_is_on_every_surface(word: str) -> None:
    conversation = documented_conversation()
    conclude(conversation)
    said = word.replace(".", "\\.") if "." in word else word

    mcp = "".join(piece.written(None) for piece in pieces_of(conversation))
    assert word in mcp.replace("\\", "")
    assert said in markdown_page(conversation) or word in markdown_page(conversation).replace("\\", "")
    assert word in html_page(conversation, made_by="a test", made_at=datetime(2026, 7, 1, tzinfo=UTC))


def test_every_document_is_in_json() -> None:
    conversation = documented_conversation()

    assert msgspec.json.decode(msgspec.json.encode(conversation), type=Conversation).documents == conversation.documents


# --- memories -------------------------------------------------------------------------------------------------------


def test_memories_have_their_scope_and_use(archive: Archive) -> None:
    [memory] = memories(archive.connection, has_text=True)

    assert (memory.scope, memory.path, memory.uses) == ("session", "/memories/session/wick.md", 1)
    assert memory.text == "The binnacle is lit by oil."
    assert memories(archive.connection, scopes=["user"]) == []


def test_a_memory_that_a_prompt_contained_was_used(tmp_path: Path) -> None:
    conversation = documented_conversation()
    user = Conversation(
        id="memory:user:1",
        source="memories",
        marks=["memory", "collection"],
        documents=[MemoryDocument(text="Metric units", path="/memories/preferences.md", scope="user")],
        provenance=[Provenance(source="memories", path="/home/ana/preferences.md")],
    )
    with Archive(tmp_path / "archive.db", write=True) as archive:
        for one in (conversation, user):
            conclude(one)
            archive.put(entry_of(one), "1")
        archive.index_pending()

        [memory] = memories(archive.connection, scopes=["user"])
        assert (memory.uses, memory.last_used_at) == (1, "2026-07-01T12:00:00.000Z")
        assert [summary.id for summary in archive.list()] == ["cli:t1"]
        assert [hit.conversation for hit in archive.search("in:memory metric").hits] == ["memory:user:1"]


# --- every order of scanning ----------------------------------------------------------------------------------------


def _write_log(home: Path) -> None:
    done = {"success": True, "summaryContent": f"{SUMMARY}\n<checkpoint_title>Lantern</checkpoint_title>"}
    log = Log().start().ask("Light it").say().add("session.compaction_complete", {**done, "checkpointNumber": 1})
    write_log(home, log.ask("Thanks").say())


def _write_checkpoint(home: Path) -> None:
    folder = session_folder(home) / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "001-lantern.md").write_text(SUMMARY)


def _write_plan(home: Path) -> None:
    session_folder(home).mkdir(parents=True, exist_ok=True)
    (session_folder(home) / "plan.md").write_text("Hoist the halyard")


def _write_store(home: Path) -> None:
    checkpoint = "id INTEGER, session_id TEXT, checkpoint_number INTEGER, title TEXT, overview TEXT, next_steps TEXT"
    script = f"""
        CREATE TABLE sessions (id TEXT PRIMARY KEY, cwd TEXT);
        CREATE TABLE turns (id INTEGER, session_id TEXT, turn_index INTEGER, user_message TEXT);
        CREATE TABLE checkpoints ({checkpoint}, created_at TEXT);
        CREATE TABLE session_files (id INTEGER, session_id TEXT, file_path TEXT, tool_name TEXT, turn_index INTEGER);
        CREATE TABLE session_refs (id INTEGER, session_id TEXT, ref_type TEXT, ref_value TEXT, turn_index INTEGER);
        INSERT INTO sessions VALUES ('{SESSION}', '/home/ana/lantern');
        INSERT INTO turns VALUES (1, '{SESSION}', 0, 'Light it'), (2, '{SESSION}', 1, 'Thanks');
        INSERT INTO checkpoints
            VALUES (1, '{SESSION}', 1, 'Lantern', 'The lantern burns.', 'Trim the wick.', '2026-07-01 12:00:00');
        INSERT INTO checkpoints VALUES (2, '{SESSION}', 2, 'Masts', 'The mizzen came down.', NULL, NULL);
        INSERT INTO session_files VALUES (1, '{SESSION}', '/home/ana/lantern/wick.py', 'edit', 1);
        INSERT INTO session_refs VALUES (1, '{SESSION}', 'commit', 'a1b2c3d4e5', 1);
    """
    database_from(script, home / ".copilot" / "session-store.db")


def _write_memory(home: Path) -> None:
    folder = home / ".config/Code/User/workspaceStorage/8a1b/GitHub.copilot-chat/memory-tool/memories" / SESSION
    folder.mkdir(parents=True)
    (folder / "wick.md").write_text("The binnacle is lit by oil.")


WRITERS = (_write_log, _write_checkpoint, _write_plan, _write_store, _write_memory)
ORDERS = st.permutations(WRITERS)


def session_folder(home: Path) -> Path:
    return home / ".copilot" / "session-state" / SESSION


def _facts(conversation: Conversation) -> list[tuple[object, ...]]:
    """Return what the documents of a conversation say, in no particular order."""
    facts: list[tuple[object, ...]] = []
    for document, _ in documents_of(conversation):
        number = document.number if isinstance(document, CheckpointDocument) else None
        sections = tuple(document.sections.items()) if isinstance(document, CheckpointDocument) else ()
        traces = tuple(sorted({Path(trace).name for trace in document.traces}))
        facts.append((document.kind, document.title, document.path, number, sections, traces, document.turn))
    return sorted(facts, key=str)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=ORDERS)
def test_nothing_is_lost_in_any_order_of_scanning(order: list[Callable[[Path], None]]) -> None:
    with TemporaryDirectory() as folder:
        home, together = Path(folder, "ana"), Path(folder, "together")
        home.mkdir()
        together.mkdir()
        with Archive(Path(folder, "a.db"), write=True) as archive:
            for number, write in enumerate(order):
                write(home)
                scan(archive, roots=find_roots([home]))
                stored = archive.get(f"cli:{SESSION}")
                assert ("memory" in stored.marks) is ([_write_memory] == order[: number + 1])
            one_by_one = _facts(archive.get(f"cli:{SESSION}"))
        for write in WRITERS:
            write(together)
        with Archive(Path(folder, "b.db"), write=True) as archive:
            scan(archive, roots=find_roots([together]))
            at_once = _facts(archive.get(f"cli:{SESSION}"))

    assert one_by_one == at_once
    kinds = [str(fact[0]) for fact in at_once]
    assert kinds == ["checkpoint", "checkpoint", "memory", "plan", "reference", "session-file"]
    first = at_once[0]
    assert (first[1], first[3], first[5]) == ("Lantern", 1, ("001-lantern.md", "session-store.db"))
