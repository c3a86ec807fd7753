"""The archive: what is put in comes out, is found, stays, and is the same whichever way it came about."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog.diagnostics import Ledger
from copilog.errors import CopilogError, UsageError
from copilog.model import Conversation, Provenance
from copilog.store import indexing
from copilog.store.archive import Archive, open_archive
from copilog.store.entries import Entry, entry_of
from copilog.store.schema import VIEWS
from tests.stored import NOON, conversation, entry

HARBOUR = ("When is high water?", "At noon, harbour time.")
MOORING = ("And the mooring?", "Two knots, café side.")


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "archive.db", write=True) as archive:
        yield archive


def put_all(archive: Archive, *entries: Entry) -> list[str]:
    outcomes = [archive.put(each, "files-1") for each in entries]
    archive.index_pending()
    return list(outcomes)


def rows(archive: Archive, query: str, *values: Any) -> list[tuple[Any, ...]]:
    return archive.connection.execute(query, values).fetchall()


def hits(archive: Archive, words: str) -> list[tuple[str, int]]:
    """Where words stand, straight from the index."""
    return rows(
        archive,
        "SELECT conversation.id, message.position FROM words JOIN message ON message.rowid = words.rowid "
        "JOIN conversation ON conversation.rowid = message.conversation WHERE words MATCH ? ORDER BY 1, 2",
        words,
    )


def words_with(archive: Archive, piece: str) -> list[str]:
    found = rows(
        archive,
        "SELECT word FROM word WHERE rowid IN (SELECT rowid FROM word_part WHERE word_part MATCH ?) ORDER BY word",
        piece,
    )
    return [word for (word,) in found]


# --- in and out -----------------------------------------------------------------------------------------------------


def test_a_conversation_comes_out_as_it_went_in(archive: Archive) -> None:
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


def test_what_is_unchanged_is_not_written_again(archive: Archive) -> None:
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

    with pytest.raises(CopilogError, match=r"^vscode:a1: has more than 2 messages"):
        archive.put(entry("a1", HARBOUR, MOORING), "files-1")


# --- the index ------------------------------------------------------------------------------------------------------


def test_what_is_stored_is_found_after_indexing(archive: Archive) -> None:
    archive.put(entry("a1", HARBOUR), "files-1")
    assert archive.has_pending()
    assert hits(archive, "harbour") == []

    assert archive.index_pending() == 1

    assert not archive.has_pending()
    assert hits(archive, "harbour") == [("vscode:a1", 1)]
    assert archive.index_pending() == 0


def test_a_title_is_found_in_a_row_of_its_own(archive: Archive) -> None:
    put_all(archive, entry("a1", HARBOUR, title="Spring tides"))

    assert hits(archive, "title : spring") == [("vscode:a1", 2)]


@pytest.mark.parametrize("is_large", [True, False])
def test_words_are_found_by_a_part_of_them(archive: Archive, is_large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "FEW_BYTES", 0 if is_large else 1 << 20)

    put_all(archive, entry("a1", HARBOUR), entry("b2", MOORING))

    assert words_with(archive, "oor") == ["mooring"]
    assert words_with(archive, "caf") == ["cafe"]  # as the index spells it
    assert ("at",) in rows(archive, "SELECT word FROM word")


def test_words_of_a_few_changes_are_added_to_those_there_are(archive: Archive) -> None:
    put_all(archive, entry("a1", HARBOUR))
    put_all(archive, entry("a1", HARBOUR, MOORING))

    assert words_with(archive, "oor") == ["mooring"]
    assert words_with(archive, "arb") == ["harbour"]


def test_in_the_middle_of_a_scan_words_may_wait(archive: Archive) -> None:
    archive.put(entry("a1", HARBOUR), "files-1")

    archive.index_pending(finish=False)

    assert (hits(archive, "harbour"), words_with(archive, "arb")) == ([("vscode:a1", 1)], [])
    assert archive.has_pending()
    archive.index_pending()
    assert words_with(archive, "arb") == ["harbour"]
    assert not archive.has_pending()


def test_a_limit_leaves_the_rest_for_later(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "BATCH_BYTES", 1)
    for name in ("a1", "b2", "c3"):
        archive.put(entry(name, HARBOUR), "files-1")

    assert archive.index_pending(limit_bytes=1) == 1
    assert archive.index_pending() == 2


exchanges = st.lists(
    st.tuples(st.sampled_from(["high water", "mooring", "knots", ""]), st.sampled_from(["noon", "harbour", "ebb"])),
    max_size=4,
)
puts = st.lists(st.tuples(st.sampled_from(["a1", "b2", "c3"]), exchanges), max_size=8)


@given(puts, st.lists(st.booleans(), min_size=8, max_size=8), st.booleans())
@settings(max_examples=25)
def test_the_archive_is_the_same_whichever_way_it_came_about(
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[tuple[str, list[tuple[str, str]]]],
    indexed_after: list[bool],
    finish: bool,
) -> None:
    folder = tmp_path_factory.mktemp("archives")
    with Archive(folder / "slow.db", write=True) as slow, Archive(folder / "quick.db", write=True) as quick:
        for (name, exchanged), is_indexed in zip(changes, indexed_after, strict=False):
            slow.put(entry(name, *exchanged), "s")
            if is_indexed:
                slow.index_pending(finish=finish)
        slow.index_pending()
        for name, exchanged in sorted(dict(changes).items(), reverse=True):
            quick.put(entry(name, *exchanged), "q")
        quick.index_pending()

        assert slow.fingerprint() == quick.fingerprint()
        assert slow.check() == quick.check() == []


def test_a_fingerprint_tells_archives_apart(tmp_path: Path) -> None:
    prints = set()
    for number, entries in enumerate(
        (
            [entry("a1", HARBOUR)],
            [entry("a1", MOORING)],
            [entry("a1", HARBOUR, title="Tides")],
            [entry("a1", HARBOUR), entry("b2", HARBOUR)],
            [],
        )
    ):
        with Archive(tmp_path / f"{number}.db", write=True) as archive:
            put_all(archive, *entries)
            prints.add(archive.fingerprint())

    assert len(prints) == 5


WRITER = """
import sys
from pathlib import Path
from copilog.store import indexing
from copilog.store.archive import Archive
from tests.stored import entry

indexing.BATCH_BYTES = 2_000
with Archive(Path(sys.argv[1]), write=True) as archive:
    print("begun", flush=True)
    for number in range(60):
        texts = [(f"question {number} {word}", "noon " * word) for word in range(1 + number % 7)]
        archive.put(entry(f"n{number % 20}", *texts), "s")
        if number % 5 == 4:
            archive.index_pending(finish=number % 2 == 0)
    archive.index_pending()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_writer_that_is_killed_leaves_an_archive_that_the_next_makes_good(tmp_path: Path) -> None:
    def start(name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", WRITER, str(tmp_path / name)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])

    start("whole.db").communicate()
    for delay in (0.0, 0.002, 0.01, 0.02, 0.05, 0.1):
        process = start("killed.db")
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    assert start("killed.db").communicate()[0] == "begun\n"

    with Archive(tmp_path / "whole.db", write=True) as whole, Archive(tmp_path / "killed.db", write=True) as killed:
        assert killed.check() == []
        assert killed.fingerprint() == whole.fingerprint()


def test_two_that_index_at_once_do_not_index_twice(tmp_path: Path) -> None:
    with Archive(tmp_path / "archive.db", write=True) as one, Archive(tmp_path / "archive.db", write=True) as other:
        one.put(entry("a1", HARBOUR), "files-1")

        assert (one.index_pending(), other.index_pending()) == (1, 0)
        assert one.check() == []


# --- files that go --------------------------------------------------------------------------------------------------


def with_traces(given_in: Conversation, *paths: str) -> Conversation:
    given_in.provenance = [
        Provenance(source="vscode-session", path=path, role="index" if path.endswith(".vscdb") else "lead")
        for path in paths
    ]
    return given_in


def test_the_archive_outlives_files_and_says_that_they_are_gone(archive: Archive) -> None:
    put_all(archive, entry("a1", HARBOUR), entry("b2", MOORING))

    assert archive.mark_gone(["vscode:a1", "vscode:other"]) == ["vscode:a1"]
    assert archive.mark_gone(["vscode:a1"]) == []  # no news

    assert [each.id for each in archive.list(include_gone=False)] == ["vscode:b2"]
    (gone,) = [each for each in archive.list() if each.gone_at is not None]
    assert archive.get(gone.id).messages
    archive.put(entry("a1", HARBOUR), "files-2")
    assert archive.list(include_gone=False)[0].gone_at is None  # it is back


def test_what_an_index_still_has_does_not_replace_the_conversation(archive: Archive) -> None:
    whole = with_traces(conversation("a1", HARBOUR, MOORING), "/home/ana/a1.json", "/home/ana/state.vscdb")
    put_all(archive, entry_of(whole))
    remnant = with_traces(conversation("a1"), "/home/ana/state.vscdb")

    assert archive.put(entry_of(remnant), "files-2") == "unchanged"

    assert archive.get("a1") == whole
    assert archive.list()[0].gone_at is not None
    assert archive.signature_of("vscode:a1") == "files-2"  # not to be read again at each scan


def test_an_older_copy_does_not_replace_what_is_still_there(archive: Archive, tmp_path: Path) -> None:
    session = tmp_path / "a1.json"
    session.touch()
    whole = with_traces(conversation("a1", HARBOUR, MOORING), str(session))
    put_all(archive, entry_of(whole))

    archive.put(entry_of(with_traces(conversation("a1", HARBOUR), "/home/ana/export.json")), "files-2")

    assert archive.get("a1") == whole
    assert archive.list()[0].gone_at is None


def test_turns_that_were_taken_back_are_taken_back(archive: Archive) -> None:
    put_all(archive, entry("a1", HARBOUR, MOORING))

    assert put_all(archive, entry("a1", HARBOUR)) == ["changed"]

    assert len(archive.get("a1").turns) == 1


# --- finding by id --------------------------------------------------------------------------------------------------


def test_the_beginning_of_an_id_is_enough(archive: Archive) -> None:
    put_all(archive, entry("abc-1", HARBOUR), entry("abd-2", MOORING))

    for wanted in ("vscode:abc-1", "abc-1", "abc", "vscode:abc"):
        assert archive.find_id(wanted) == "vscode:abc-1"


def test_an_id_that_is_exactly_so_wins_over_longer_ones(archive: Archive) -> None:
    put_all(archive, entry("abc", HARBOUR), entry("abcd", MOORING))

    assert archive.find_id("abc") == "vscode:abc"


def test_the_last_part_of_an_address_is_enough(archive: Archive) -> None:
    put_all(archive, entry("agent://elsewhere/task-7", HARBOUR))

    assert archive.find_id("task") == "vscode:agent://elsewhere/task-7"


def test_an_id_that_may_be_several_is_refused_with_their_names(archive: Archive) -> None:
    put_all(archive, entry("abc-1", HARBOUR), entry("abd-2", MOORING))

    with pytest.raises(UsageError, match=r"'ab' may be any of 2 conversations: vscode:abc-1, vscode:abd-2"):
        archive.get("ab")


def test_an_id_that_is_not_there_is_answered_with_the_nearest(archive: Archive) -> None:
    put_all(archive, entry("abc-1", HARBOUR), entry("xyz-2", MOORING))

    with pytest.raises(UsageError, match=r"begins with 'abx'; the nearest are vscode:abc-1$"):
        archive.get("abx")
    with pytest.raises(UsageError, match="`copilog list` shows what there is"):
        archive.get("q")
    with pytest.raises(UsageError, match="no conversation"):
        archive.get("")


# --- lists ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def harbour(archive: Archive) -> Archive:
    put_all(
        archive,
        entry("a1", HARBOUR, title="Tides", days=1, model="gpt-5", mode="ask"),
        entry("b2", MOORING, title="Knots ÄND ropes", days=3, model="claude-sonnet-4", folder="/home/ana/Élan"),
        entry("c3", title="Nothing yet", days=2),
    )
    return archive


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["b2", "a1"]),
        ({"include_empty": True}, ["b2", "c3", "a1"]),
        ({"include_empty": True, "limit": 1, "offset": 1}, ["c3"]),
        ({"workspace": "élan"}, ["b2"]),
        ({"workspace": "%"}, []),
        ({"source": "vscode-session"}, ["b2", "a1"]),
        ({"source": "cli-events"}, []),
        ({"model": "SONNET"}, ["b2"]),
        ({"mode": "Ask"}, ["a1"]),
        ({"mode": "as"}, []),
        ({"text": "änd"}, ["b2"]),
        ({"since": NOON + timedelta(days=2)}, ["b2"]),
        ({"until": NOON + timedelta(days=3)}, ["a1"]),
        ({"mode": "agent", "model": "claude", "text": "knots"}, ["b2"]),
        ({"starred": True}, []),
        ({"starred": False}, ["b2", "a1"]),
    ],
)
def test_a_list_is_newest_first_and_narrowed_down(
    harbour: Archive, filters: dict[str, Any], expected: list[str]
) -> None:
    assert [each.native_id for each in harbour.list(**filters)] == expected
    if "limit" not in filters:
        assert harbour.count(**filters) == len(expected)


def test_a_summary_says_what_the_conversation_says(harbour: Archive) -> None:
    summary = harbour.list(text="tides")[0]

    assert (summary.id, summary.title, summary.workspace) == ("vscode:a1", "Tides", "/home/ana/tide-tables")
    assert (summary.models, summary.modes, summary.labels, summary.is_starred) == (["gpt-5"], ["ask"], [], False)
    assert (summary.updated_at, summary.started_at) == (NOON + timedelta(days=1), NOON + timedelta(hours=23))
    assert summary.paths == ["/home/ana/chatSessions/a1.json"]
    assert summary.stored_at is not None
    assert harbour.summaries(["vscode:a1", "vscode:other"]) == {"vscode:a1": summary}
    assert harbour.count_messages(["vscode:a1", "vscode:b2", "vscode:other"]) == 4


def test_a_filter_that_does_not_exist_is_named(harbour: Archive) -> None:
    with pytest.raises(UsageError, match="colour"):
        harbour.list(colour="blue")


def test_a_long_list_is_read_in_the_order_of_an_index(archive: Archive) -> None:
    plan = rows(
        archive, "EXPLAIN QUERY PLAN SELECT * FROM conversations ORDER BY coalesce(updated_at, started_at) DESC LIMIT 9"
    )

    assert "USING INDEX conversation_touched" in plan[0][3]
    assert not any("TEMP B-TREE" in step[3] for step in plan)


# --- the books ------------------------------------------------------------------------------------------------------


def ledger_of(path: str, *, bad: int = 0) -> Ledger:
    ledger = Ledger(path=path, source="cli-events", seen=3 + bad, used=2, ignored={"hook": 1}, unknown={"x": 1})
    ledger.parts.seen = ledger.parts.used = 4
    for line in range(bad):
        ledger.reject("bad-json", "is not JSON", line=line + 1, offset=10 * line)
    ledger.note("torn-tail", "the last line is cut off", "info")
    return ledger


def test_problems_are_kept_with_their_places(archive: Archive) -> None:
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


def test_a_file_that_is_read_again_has_its_problems_anew(archive: Archive) -> None:
    archive.put_ledger(ledger_of("/home/ana/a.jsonl", bad=2))
    archive.put_ledger(ledger_of("/home/ana/a.jsonl"))

    assert [each.code for each in archive.problems()] == ["torn-tail"]


def test_the_books_add_up(archive: Archive) -> None:
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
        with pytest.raises(CopilogError, match="opened to be read only"):
            reader.star("a1")


def test_vacuum_gives_back_space_and_forgets_words(archive: Archive) -> None:
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
            connection.execute("UPDATE tool_call SET status = 'as it was once'")
            connection.execute("UPDATE conversation SET rows_version = 1")

    with Archive(path, write=True) as archive:
        assert archive.rebuild_rows() == 2
        assert archive.fingerprint() == before
        assert rows(archive, "SELECT id, stored_at, gone_at, signature FROM conversation") == stored
        assert not archive.has_pending()
        assert archive.rebuild_rows() == 0
