"""Conversations of the archive by their id, and in lists."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from copilog.errors import UsageError
from copilog.store.archive import Archive
from copilog.store.selection import UnknownName
from tests.store.archive_rows import HARBOUR, MOORING, put_all, rows
from tests.stored import NOON, entry

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

    with pytest.raises(UsageError, match=r"'ab' matches 2 conversations: vscode:abc-1, vscode:abd-2"):
        archive.get("ab")


def test_an_id_that_is_not_there_is_answered_with_the_nearest(archive: Archive) -> None:
    put_all(archive, entry("abc-1", HARBOUR), entry("xyz-2", MOORING))

    with pytest.raises(UsageError, match=r"begins with 'abx'; the nearest are vscode:abc-1$"):
        archive.get("abx")
    with pytest.raises(UsageError, match="`copilog list` shows all conversations"):
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
        ({"source": "vscode-session"}, ["b2", "a1"]),
        ({"model": "SONNET"}, ["b2"]),
        ({"mode": "Ask"}, ["a1"]),
        ({"mode": "as*"}, ["a1"]),
        ({"since": "2026-05-06", "utc": True}, ["b2"]),
        ({"text": "änd"}, ["b2"]),
        ({"since": NOON + timedelta(days=2)}, ["b2"]),
        ({"until": NOON + timedelta(days=3)}, ["a1"]),
        ({"mode": "agent", "model": "claude", "text": "knots"}, ["b2"]),
        ({"starred": True}, []),
        ({"starred": False}, ["b2", "a1"]),
    ],
)
def test_a_list_is_newest_first_and_can_be_filtered(
    harbour: Archive, filters: dict[str, Any], expected: list[str]
) -> None:
    assert [each.native_id for each in harbour.list(**filters)] == expected
    if "limit" not in filters:
        assert harbour.count(**filters) == len(expected)


def test_a_summary_agrees_with_the_conversation(harbour: Archive) -> None:
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


@pytest.mark.parametrize(
    ("field", "value", "nearest"),
    [
        ("workspace", "tide-tabels", ["/home/ana/tide-tables"]),
        ("workspace", "%", []),
        ("source", "vscode-sesion", ["vscode-session"]),
        ("source", "vscode", ["vscode-session"]),
        ("model", "claude-sonet", ["claude-sonnet-4"]),
        ("model", "=gpt", ["gpt-5"]),
        ("mode", "as", ["ask"]),
        ("label", "later", []),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_names(
    harbour: Archive, field: str, value: str, nearest: list[str]
) -> None:
    wanted: dict[str, Any] = {field: value}
    for asked in (harbour.list, harbour.count):
        with pytest.raises(UnknownName) as caught:
            asked(**wanted)
        assert set(nearest) <= set(caught.value.nearest)
    with pytest.raises(UnknownName):
        harbour.search(f"knots {field}:{value}")


def test_an_empty_archive_has_no_nearest_names(archive: Archive) -> None:
    assert archive.list(workspace="tide") == []
    assert archive.count(model="gpt-5", label="later") == 0


def test_a_field_that_there_is_not_is_refused(archive: Archive) -> None:
    with pytest.raises(UsageError, match="flavour"):
        archive.list(flavour="mint")
