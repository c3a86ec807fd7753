"""The archive: conversations are stored and read back, its ledgers balance, and other programs can read it."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from copilog.diagnostics import Ledger
from copilog.errors import CopilogError
from copilog.ingest.scanning import scan
from copilog.model import Conversation, Provenance
from copilog.sample import home
from copilog.sources.roots import roots_from
from copilog.store.archive import Archive, open_archive
from copilog.store.entries import entry_of
from copilog.store.schema import VIEWS
from tests.store.archive_rows import HARBOUR, MOORING, hits, put_all, rows, words_with
from tests.stored import conversation, entry

# --- in and out -----------------------------------------------------------------------------------------------------


def test_a_stored_conversation_is_read_back_unchanged(archive: Archive) -> None:
    given_in = conversation("a1", HARBOUR, MOORING, tool="read_file")

    assert archive.put(entry_of(given_in), "files-1") == "new"

    assert archive.get("vscode:a1") == given_in
    assert archive.signature_of("vscode:a1") == "files-1"
    assert archive.signatures() == {"vscode:a1": "files-1"}
    assert archive.signature_of("vscode:other") is None


def test_every_view_can_be_read_and_names_conversations_by_their_id(archive: Archive) -> None:
    put_all(archive, entry("a1", HARBOUR, tool="read_file"))
    archive.put_ledger(Ledger(path="/home/ana/chatSessions/a1.json", source="vscode-session", seen=1, used=1))

    assert rows(archive, "SELECT id, turns, messages, tool_calls FROM conversations") == [("vscode:a1", 1, 2, 1)]
    assert rows(archive, "SELECT conversation, position, role, user, answer FROM messages") == [
        ("vscode:a1", 0, "user", HARBOUR[0], None),
        ("vscode:a1", 1, "assistant", None, HARBOUR[1]),
    ]
    assert rows(archive, "SELECT conversation, name FROM tool_calls") == [("vscode:a1", "read_file")]
    assert rows(archive, "SELECT path FROM files") == [("/home/ana/chatSessions/a1.json",)]
    for view in VIEWS:
        archive.connection.execute(f"SELECT * FROM {view}").fetchall()


def test_an_unchanged_conversation_is_not_written_again(archive: Archive) -> None:
    given_in = conversation("a1", HARBOUR)
    put_all(archive, entry_of(given_in))
    before = rows(archive, "SELECT rowid, stored_at FROM conversation")
    given_in.provenance[0].size = 200

    assert archive.put(entry_of(given_in), "files-2") == "unchanged"

    assert rows(archive, "SELECT rowid, stored_at FROM conversation") == before
    assert archive.signature_of("vscode:a1") == "files-2"
    assert archive.get("a1").provenance[0].size == 200  # it was seen again, with its files as they are
    assert not archive.has_pending()


def test_a_change_replaces_all_rows_and_keeps_the_number(archive: Archive) -> None:
    put_all(archive, entry("a1", HARBOUR, tool="read_file"), entry("b2", MOORING))
    before = rows(archive, "SELECT rowid FROM conversation WHERE id = 'vscode:a1'")

    assert put_all(archive, entry("a1", MOORING)) == ["changed"]

    assert rows(archive, "SELECT rowid FROM conversation WHERE id = 'vscode:a1'") == before
    assert rows(archive, "SELECT count(*) FROM tool_call") == [(0,)]
    assert hits(archive, "harbour") == []
    assert hits(archive, "mooring") == [("vscode:a1", 0), ("vscode:a1", 2), ("vscode:b2", 0), ("vscode:b2", 2)]
    assert archive.check() == []


def test_messages_that_stay_are_not_indexed_again(archive: Archive) -> None:
    put_all(archive, entry("a1", HARBOUR, title="Tides"))

    archive.put(entry("a1", HARBOUR, MOORING, title="Tides"), "files-2")

    assert rows(archive, "SELECT indexed, is_indexed FROM conversation") == [(2, 0)]
    assert hits(archive, "harbour") == [("vscode:a1", 1)]
    assert hits(archive, "mooring OR tides") == []  # the title's row has moved
    archive.index_pending()
    assert hits(archive, "mooring OR tides") == [("vscode:a1", 2), ("vscode:a1", 4)]
    assert rows(archive, "SELECT indexed, is_indexed FROM conversation") == [(5, 1)]
    assert archive.check() == []


def test_more_messages_than_can_be_numbered_are_refused(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copilog.store.writing.MOST_MESSAGES", 3)

    assert archive.put(entry("b2", HARBOUR, MOORING), "files-1") == "refused"
    assert archive.put(entry("a1", HARBOUR), "files-1") == "new"
    assert archive.put(entry("a1", HARBOUR, MOORING), "files-2") == "refused"

    assert [(each.id, each.messages) for each in archive.list()] == [("vscode:a1", 2)]


# --- files that go --------------------------------------------------------------------------------------------------


def with_traces(given_in: Conversation, *paths: str) -> Conversation:
    given_in.provenance = [
        Provenance(source="vscode-session", path=path, role="index" if path.endswith(".vscdb") else "lead")
        for path in paths
    ]
    return given_in


def test_the_archive_outlives_files_and_marks_conversations_as_gone(archive: Archive) -> None:
    put_all(archive, entry("a1", HARBOUR), entry("b2", MOORING))

    assert archive.mark_gone(["vscode:a1", "vscode:other"]) == ["vscode:a1"]
    assert archive.mark_gone(["vscode:a1"]) == []  # no news

    assert [each.id for each in archive.list(include_gone=False)] == ["vscode:b2"]
    (gone,) = [each for each in archive.list() if each.gone_at is not None]
    assert archive.get(gone.id).messages
    archive.put(entry("a1", HARBOUR), "files-2")
    assert archive.list(include_gone=False)[0].gone_at is None  # it is back


def test_an_entry_of_an_index_does_not_replace_the_conversation(archive: Archive) -> None:
    whole = with_traces(conversation("a1", HARBOUR, MOORING), "/home/ana/a1.json", "/home/ana/state.vscdb")
    put_all(archive, entry_of(whole))
    remnant = with_traces(conversation("a1"), "/home/ana/state.vscdb")

    assert archive.put(entry_of(remnant), "files-2") == "unchanged"

    assert archive.get("a1") == whole
    assert archive.list()[0].gone_at is not None
    assert archive.signature_of("vscode:a1") == "files-2"  # not to be read again at each scan


def test_an_older_copy_does_not_replace_the_stored_conversation(archive: Archive, tmp_path: Path) -> None:
    session = tmp_path / "a1.json"
    session.touch()
    whole = with_traces(conversation("a1", HARBOUR, MOORING), str(session))
    put_all(archive, entry_of(whole))

    archive.put(entry_of(with_traces(conversation("a1", HARBOUR), "/home/ana/export.json")), "files-2")

    assert archive.get("a1") == whole
    assert archive.list()[0].gone_at is None


def test_turns_that_a_new_reading_lacks_are_removed(archive: Archive) -> None:
    put_all(archive, entry("a1", HARBOUR, MOORING))

    assert put_all(archive, entry("a1", HARBOUR)) == ["changed"]

    assert len(archive.get("a1").turns) == 1


# --- the books ------------------------------------------------------------------------------------------------------


def ledger_of(path: str, *, bad: int = 0) -> Ledger:
    ledger = Ledger(path=path, source="cli-events", seen=3 + bad, used=2, ignored={"hook": 1}, unknown={"x": 1})
    ledger.parts.seen = ledger.parts.used = 4
    for line in range(bad):
        ledger.reject("bad-json", "is not JSON", line=line + 1, offset=10 * line)
    ledger.note("torn-tail", "the last line is cut off", "info")
    return ledger


def test_problems_are_stored_with_their_positions(archive: Archive) -> None:
    archive.put_ledgers([ledger_of("/home/ana/b.jsonl"), ledger_of("/home/ana/a.jsonl", bad=1)])

    problems = archive.problems()

    assert [(each.path, each.level, each.code, each.place) for each in problems] == [
        ("/home/ana/a.jsonl", "error", "bad-json", ":1 (byte 0)"),
        ("/home/ana/a.jsonl", "info", "torn-tail", None),
        ("/home/ana/b.jsonl", "info", "torn-tail", None),
    ]
    assert problems[0].advice == "the record is not JSON; nothing else of the file is affected"
    assert [each.path for each in archive.problems(code="torn-tail", path="b.json")] == ["/home/ana/b.jsonl"]
    assert len(archive.problems(level="error")) == len(archive.problems(limit=1)) == 1
    assert archive.problems(source="vscode-session") == []


def test_reading_a_file_again_replaces_its_problems(archive: Archive) -> None:
    archive.put_ledger(ledger_of("/home/ana/a.jsonl", bad=2))
    archive.put_ledger(ledger_of("/home/ana/a.jsonl"))

    assert [each.code for each in archive.problems()] == ["torn-tail"]


def test_stored_ledgers_balance(archive: Archive) -> None:
    archive.put_ledgers([ledger_of("/home/ana/a.jsonl", bad=2), ledger_of("/home/ana/b.jsonl")])

    totals = archive.ledger_totals()

    assert (totals.files, totals.seen, totals.used, totals.bad) == (2, 8, 4, 2)
    assert (totals.ignored, totals.unknown, totals.parts.seen) == ({"hook": 2}, {"x": 2}, 8)
    assert totals.balances()


# --- as a file ------------------------------------------------------------------------------------------------------


def test_an_archive_is_opened_to_be_read(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    put_all(archive, entry("a1", HARBOUR))
    monkeypatch.setenv("COPILOG_ARCHIVE", str(archive.path))

    with open_archive() as reader:
        assert [each.title for each in reader.list()] == [HARBOUR[0]]
        assert reader.index_pending() == 0
        with pytest.raises(CopilogError, match="opened read-only"):
            reader.star("a1")


def test_vacuum_frees_space_and_drops_words(archive: Archive) -> None:
    put_all(archive, entry("a1", HARBOUR), *(entry(f"b{number}", ("Big " * 5000, "bigger")) for number in range(9)))
    archive.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for number in range(9):
        archive.remove(f"b{number}")

    before, after = archive.vacuum()

    assert after < before / 2
    assert words_with(archive, "arb") == ["harbour"]
    assert words_with(archive, "igg") == []
    assert archive.check() == []
    assert b"bigger" not in archive.path.read_bytes()


def test_other_programs_can_read_the_views(archive: Archive) -> None:
    put_all(archive, entry("a1", HARBOUR))

    with closing(sqlite3.connect(archive.path)) as other:
        assert other.execute("SELECT answer FROM messages WHERE role = 'assistant'").fetchall() == [(HARBOUR[1],)]


# --- the page about it ----------------------------------------------------------------------------------------------

PAGE = (Path(__file__).parents[2] / "docs" / "archive.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "query", [text for text in re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL) if "ATTACH" not in text]
)
def test_the_queries_of_the_page_run(archive: Archive, query: str) -> None:
    put_all(archive, entry("a1", ("How does a migration work?", "In steps."), tool="read_file"))
    archive.label("a1", "tides")

    archive.connection.execute(query).fetchall()


@pytest.mark.parametrize("view", VIEWS)
def test_the_page_names_every_column_of_a_view(archive: Archive, view: str) -> None:
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{view}` |")]
    columns = rows(archive, "SELECT name FROM pragma_table_info(?)", view)

    assert {name for (name,) in columns} <= set(re.findall(r"`(\w+)`", line.split("|")[3]))


# --- rows of an earlier version -------------------------------------------------------------------------------------


def test_rows_of_an_earlier_version_are_made_again_from_the_documents(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    with Archive(path, write=True) as archive:
        archive.put(entry("tides", ("When is high tide?", "At noon."), tool="read_file"), "1")
        archive.put(entry("ebb", ("And low tide?", "At six."), days=1), "2")
        archive.mark_gone(["vscode:ebb"])
        archive.index_pending()
        before = archive.fingerprint()
        stored = rows(archive, "SELECT id, stored_at, gone_at, signature FROM conversation")
        with archive.connection as connection:
            connection.execute("DELETE FROM spend")
            connection.execute("UPDATE tool_call SET outcome = 'as it was once'")
            connection.execute("UPDATE conversation SET rows_version = 1")

    with Archive(path, write=True) as archive:
        assert archive.rebuild_rows() == 2
        assert archive.fingerprint() == before
        assert rows(archive, "SELECT id, stored_at, gone_at, signature FROM conversation") == stored
        assert not archive.has_pending()
        assert archive.rebuild_rows() == 0


def test_a_file_whose_name_is_not_valid_text_can_be_queried(archive: Archive) -> None:
    archive.put(entry("one", path="/home/ana/beds-\udce4.json"), "1")

    assert archive.ids_at(["/home/ana/beds-\udce4.json", "/home/ana/other.json"]) == ["vscode:one"]


def test_checking_a_read_only_archive_reports_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    with Archive(path, write=True) as archive:
        archive.put(entry("a1", HARBOUR), "files-1")
        archive.index_pending()

    with Archive(path) as archive:
        assert archive.check() == []


@pytest.mark.parametrize("word", ["µm", "آب", "Ǡnd", "ᾈδης", "ſilt", "ΟΔΟΣ", "Ångström"])
def test_a_matching_word_is_highlighted(archive: Archive, word: str) -> None:
    archive.put(entry("c1", (f"some {word} here", "yes")), "files-1")
    archive.index_pending()

    hits = archive.search(word).hits

    assert {hit.role for hit in hits} == {"title", "user"}
    assert all([hit.snippet[start:end] for start, end in hit.highlights] == [word] for hit in hits)


def test_the_recipe_for_duckdb_over_arrow_runs_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.setenv("COPILOG_ARCHIVE", str(tmp_path / "archive.db"))
    with Archive(tmp_path / "archive.db", write=True) as archive:
        scan(archive, roots=roots_from(home(), "bundled sample"))
    [recipe] = [code for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "duckdb" in code]
    duckdb.sql("SET autoinstall_known_extensions = false; SET autoload_known_extensions = false")

    exec(recipe, {})

    assert "claude-sonnet-4.5" in capsys.readouterr().out
