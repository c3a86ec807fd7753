"""Superseded turns are in no figure of work, and each turn of a branch is counted once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from copilog.analysis import Selection, choose, measure
from copilog.analysis.drill_down import drill_down
from copilog.analysis.graphs import graph
from copilog.analysis.lineage.blame import blame
from copilog.analysis.statusline import status_of
from copilog.analysis.timeline import timeline_of
from copilog.derive import without_superseded
from copilog.model import Conversation
from copilog.store.archive import Archive
from copilog.store.facets import facets_of, tools_of
from copilog.store.library import SORTS, rows_of
from copilog.store.selection import Selected
from tests.branched import branched_conversation
from tests.stored import concluded_entry

NOW = datetime(2026, 5, 4, 18, 0, tzinfo=UTC)
Store = Callable[[Conversation], Archive]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened: list[Archive] = []

    def stored(conversation: Conversation) -> Archive:
        archive = Archive(tmp_path / f"{len(opened)}.db", write=True)
        archive.put(concluded_entry(conversation), "made up")
        archive.index_pending()
        opened.append(archive)
        return archive

    yield stored
    for archive in opened:
        archive.close()


def plain(value: Any) -> Any:
    return msgspec.to_builtins(value)


def selected(archive: Archive, wanted: Selection | None = None) -> Selected:
    return Selected(archive.connection, wanted or Selection())


def work_of(archive: Archive, wanted: Selection | None = None) -> dict[str, Any]:
    """Return all figures but those of spending, which superseded turns are in."""
    stats = plain(measure(archive, wanted, prices=False, now=NOW))
    return {name: section for name, section in stats.items() if name != "tokens"}


FIGURES: dict[str, Callable[[Archive], Any]] = {
    "stats": work_of,
    "stats of a period": lambda archive: work_of(archive, Selection(since=datetime(2026, 5, 4, 12, 1, tzinfo=UTC))),
    "status line": lambda archive: status_of(archive.connection, NOW)[:4],
    "graph": lambda archive: graph(choose(archive, now=NOW)),
    "list": lambda archive: [msgspec.structs.replace(row, stored_at="") for row in archive.list()],
    "library": lambda archive: [
        [msgspec.structs.replace(row, tokens=None) for row in rows_of(selected(archive), sort=sort)] for sort in SORTS
    ],
    "facets": lambda archive: facets_of(selected(archive)),
    "tools": lambda archive: [
        tools_of(selected(archive)),
        tools_of(selected(archive, Selection(source="vscode-session-log"))),
    ],
    "switches": lambda archive: drill_down(choose(archive, now=NOW), "models.switching_conversations"),
    "handovers": lambda archive: drill_down(
        choose(archive, now=NOW), "agents.handovers.times", "switch", "pilot", "pilot"
    ),
    "retries": lambda archive: drill_down(choose(archive, now=NOW), "work.retried"),
}


@pytest.mark.parametrize("figure", FIGURES)
def test_figures_are_those_of_the_turns_that_count(store: Store, figure: str) -> None:
    conversation = branched_conversation()

    whole, left = store(conversation), store(without_superseded(conversation))

    measured = plain(FIGURES[figure](whole))
    assert measured == plain(FIGURES[figure](left))
    assert "ghost" not in str(measured)


def test_each_turn_of_a_branch_is_counted_once(store: Store) -> None:
    stats = measure(store(branched_conversation()), prices=False, now=NOW)

    assert (stats.totals.conversations, stats.totals.turns, stats.totals.messages) == (1, 5, 20)
    assert stats.tokens.total.input == sum(1000 + index for index in (0, 2, 3, 4, 6)) + 2 * 900_000


def test_models_switch_at_the_start_of_a_branch_not_at_the_end_of_the_trunk(store: Store) -> None:
    stats = measure(store(branched_conversation()), prices=False, now=NOW)

    # Turn 5 leaves from turn 3 with another model, turn 7 from turn 5 with the first one.
    assert [(row.before, row.after, row.times) for row in stats.models.switches] == [
        ("gull-2", "tern-5", 1),
        ("tern-5", "gull-2", 1),
    ]


def test_agents_switch_at_the_start_of_a_branch(store: Store) -> None:
    conversation = branched_conversation()
    for index, name in ((3, "printer"), (6, "painter")):
        agent = conversation.turns[index].custom_agent
        assert agent is not None
        agent.name = name

    section = measure(store(conversation), prices=False, now=NOW).agents

    switches = sorted((row.before, row.after, row.times) for row in section.handovers if row.kind == "switch")
    assert switches == [("pilot", "painter", 1), ("pilot", "printer", 1)]


def test_a_conversation_whose_turns_are_all_superseded_is_empty(store: Store) -> None:
    conversation = branched_conversation()
    for turn in conversation.turns:
        turn.superseded = "removed"

    archive = store(conversation)

    assert measure(archive, prices=False, now=NOW).totals.conversations == 0
    assert archive.list() == []
    assert [summary.turns for summary in archive.list(include_empty=True)] == [0]


def test_an_edit_of_a_superseded_turn_is_no_evidence_for_blame(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "tide-tables"
    folder.mkdir()
    for name in ("ghost-tide1.py", "tide2.py"):
        (folder / name).write_text("tide\n")
    conversation = branched_conversation()
    archive = store(_moved(conversation, str(tmp_path)))

    real = blame(choose(archive, now=NOW), folder / "tide2.py")
    ghost = blame(choose(archive, now=NOW), folder / "ghost-tide1.py")

    assert [touch.conversation for touch in real.touches] == ["vscode:1c"]
    assert ghost.touches == []


def _moved(conversation: Conversation, home: str) -> Conversation:
    """Return the same conversation in another home folder."""
    text = msgspec.json.encode(conversation).decode().replace("/home/ana", home)
    return msgspec.json.decode(text, type=Conversation)


def test_the_timeline_has_no_superseded_turns() -> None:
    timeline = timeline_of(branched_conversation())

    assert sorted({span.turn for span in timeline.spans}) == [0, 2, 3, 4, 6]
    assert "ghost" not in str(plain(timeline))


def test_the_timeline_has_a_track_for_each_branch() -> None:
    timeline = timeline_of(branched_conversation())

    turns = [(span.turn, timeline.tracks[span.track], span.start_ms) for span in timeline.spans if span.kind == "turn"]
    assert [(turn, track) for turn, track, _ in turns] == [
        (0, "main"),
        (2, "main"),
        (3, "main"),
        (4, "branch from turn 3"),
        (6, "branch from turn 5"),
    ]
    assert [start for _, _, start in turns] == sorted(start for _, _, start in turns)
    calls = [(span.turn, timeline.tracks[span.track]) for span in timeline.spans if span.name == "run_in_terminal"]
    assert calls == [(turn, track) for turn, track, _ in turns]


def test_tables_contain_superseded_turns_with_a_mark(store: Store) -> None:
    connection = store(branched_conversation()).connection

    for view in ("messages", "tool_calls", "file_edits", "usage", "spending", "prompt_shares", "skills"):
        rows = connection.execute(f"SELECT DISTINCT turn, superseded FROM {view} ORDER BY turn")
        reasons = {turn: reason for turn, reason in rows if turn is not None}
        assert reasons == {0: None, 1: "removed", 2: None, 3: None, 4: None, 5: "undone", 6: None}, view
    columns = "position, superseded, branch_from, branch_trace, only_trace"
    turns = connection.execute(f"SELECT {columns} FROM turns WHERE position > 2 ORDER BY position").fetchall()
    assert [(turn[0], turn[1], turn[2]) for turn in turns] == [
        (3, None, None),
        (4, None, 2),
        (5, "undone", 2),
        (6, None, 4),
    ]
    assert [bool(turn[4]) for turn in turns] == [True, False, True, True]
