"""Which conversations and turns are measured."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from copilog.analysis import Selection, choose, measure
from copilog.analysis.selection import Chosen
from copilog.analysis.totals import totals
from copilog.errors import UsageError
from copilog.model import Conversation, Message, Text, Turn
from copilog.store.archive import Archive
from copilog.store.query import QueryError
from tests.stored import concluded_entry

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def ids(chosen: Chosen) -> set[str]:
    return {name.partition(":")[2] for (name,) in chosen.connection.execute("SELECT id FROM chosen")}


def turns(chosen: Chosen) -> set[tuple[str, int]]:
    rows = chosen.connection.execute(
        "SELECT c.id, t.turn FROM chosen_turn AS t JOIN chosen AS c USING (conversation) WHERE t.is_turn"
    )
    return {(name.partition(":")[2], turn) for name, turn in rows}


def test_everything_but_empty_conversations_is_measured(chosen: Chosen) -> None:
    assert ids(chosen) == {"harbour", "lighthouse", "lighthouse-2", "beacon"}
    assert (chosen.conversations, chosen.turns) == (4, 8)


def test_a_turn_that_a_fork_repeats_is_measured_once(chosen: Chosen) -> None:
    assert ("lighthouse", 0) in turns(chosen)
    assert ("lighthouse-2", 0) not in turns(chosen)


def test_a_fork_that_is_chosen_alone_is_measured_completely(archive: Archive) -> None:
    assert turns(choose(archive, Selection(conversation="cli:lighthouse-2"))) == {
        ("lighthouse-2", 0),
        ("lighthouse-2", 1),
    }


def test_a_turn_that_vscode_copied_into_a_fork_is_measured_once(tmp_path: Path) -> None:
    def asked(name: str, *prompts: tuple[str, str, int]) -> Conversation:
        made = Conversation(id=f"vscode:{name}", native_id=name, source="vscode-session-log", started_at=NOON)
        for index, (request_id, prompt, second) in enumerate(prompts):
            made.turns.append(Turn(index=index, request_id=request_id))
            made.turns[-1].timing.started_at = NOON + timedelta(seconds=second)
            made.messages.append(Message(role="user", parts=[Text(text=prompt)], turn=index))
        return made

    parent = asked("parent", ("request_1", "When is high tide?", 0), ("request_2", "And the next?", 600))
    fork = asked("fork", ("5698", "When is high tide?", 2), ("request_3", "And the next?", 602))
    fork.turns[0].copied_from = "vscode:parent"
    with Archive(tmp_path / "own.db", write=True) as archive:
        for made in (parent, fork):
            archive.put(concluded_entry(made), "made up")

        assert turns(choose(archive, Selection())) == {("parent", 0), ("parent", 1), ("fork", 1)}
        assert turns(choose(archive, Selection(conversation="vscode:fork"))) == {("fork", 0), ("fork", 1)}


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(workspace="TIDE"), {"harbour"}),
        (Selection(source="cli-events"), {"lighthouse", "lighthouse-2"}),
        (Selection(model="gpt-4.1"), {"beacon"}),
        (Selection(mode="Navigator"), {"harbour"}),
        (Selection(query="fog"), {"lighthouse-2"}),
        (Selection(query="tool:edit_file"), {"harbour"}),
        (Selection(query="lamp NOT source:cli-*"), {"beacon"}),
        (Selection(query="workspace:lighthouse", model="claude"), {"lighthouse"}),
        (Selection(query="no such words"), set()),
        (Selection(conversation="harb"), {"harbour"}),
    ],
    ids=lambda value: str(value) if isinstance(value, Selection) else "",
)
def test_filters_choose_entire_conversations(archive: Archive, selection: Selection, expected: set[str]) -> None:
    assert ids(choose(archive, selection)) == expected


def test_filters_match_substrings_or_after_an_equals_sign_entire_names(archive: Archive) -> None:
    assert ids(choose(archive, Selection(model="=gpt-5"))) == {"harbour"}
    assert ids(choose(archive, Selection(model="gpt-5"))) == {"harbour", "lighthouse", "lighthouse-2"}
    assert ids(choose(archive, Selection(agent="Keeper", tool="bash"))) == {"lighthouse"}
    assert ids(choose(archive, Selection(error=True, query="lamp"))) == {"beacon", "lighthouse"}


def test_filters_by_star_and_label(archive: Archive) -> None:
    archive.star("vscode:harbour")
    archive.label("vscode:beacon", "later")

    assert ids(choose(archive, Selection(starred=True))) == {"harbour"}
    assert ids(choose(archive, Selection(label="LATER"))) == {"beacon"}


def test_a_period_applies_to_turns(archive: Archive) -> None:
    since, until = datetime(2026, 5, 5, tzinfo=UTC), datetime(2026, 5, 6, tzinfo=UTC)

    chosen = choose(archive, Selection(since=since, until=until))

    assert turns(chosen) == {("harbour", 2), ("lighthouse", 0), ("lighthouse", 1)}
    assert ids(chosen) == {"harbour", "lighthouse"}


def test_facts_without_a_turn_belong_to_the_conversations_own_time(archive: Archive) -> None:
    before = choose(archive, Selection(until=datetime(2026, 5, 5, tzinfo=UTC)))

    rows = before.connection.execute("SELECT count(*) FROM chosen_turn WHERE NOT is_turn").fetchone()

    assert turns(before) == {("harbour", 0), ("harbour", 1)}
    assert rows == (0,)  # it was touched last on the day after


def test_days_hours_and_weekdays_are_local(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    time = pytest.importorskip("time")
    if not hasattr(time, "tzset"):
        pytest.skip("this system has no tzset")
    monkeypatch.setenv("TZ", "XXX-2")  # two hours east of Greenwich
    time.tzset()

    chosen = choose(archive, Selection(conversation="vscode:beacon"))

    rows = chosen.connection.execute("SELECT turn, day, hour, weekday FROM chosen_turn WHERE is_turn ORDER BY turn")
    assert rows.fetchall() == [(0, "2026-05-07", 1, 3), (1, "2026-05-07", 1, 3)]


def test_the_last_selection_counts(archive: Archive) -> None:
    choose(archive, Selection(workspace="tide"))

    assert choose(archive).conversations == 4


def test_choosing_leaves_no_transaction_and_no_lock(archive: Archive) -> None:
    choose(archive)

    assert not archive.connection.in_transaction
    with closing(sqlite3.connect(archive.path, timeout=0)) as other, other:
        other.execute("INSERT INTO meta VALUES ('written', 'meanwhile')")


def test_an_archive_that_is_only_read_can_be_measured(archive: Archive) -> None:
    with Archive(Path(archive.path)) as reader:
        assert choose(reader).conversations == 4


def test_an_invalid_query_is_reported(archive: Archive) -> None:
    with pytest.raises(QueryError):
        choose(archive, Selection(query='"open'))


def test_a_missing_conversation_is_an_error(archive: Archive) -> None:
    with pytest.raises(UsageError, match="no conversation has an id"):
        choose(archive, Selection(conversation="nobody"))


def test_totals_count_chosen_conversations(chosen: Chosen) -> None:
    section = totals(chosen)

    assert (section.conversations, section.turns, section.workspaces) == (4, 8, 2)
    # harbour 8, lighthouse 3 + 3, lighthouse-2 2 (its first three are copies), beacon 4
    assert section.messages == 20
    assert section.tool_calls == 11  # a0 to a6, b0 to b3
    assert section.edits == 2
    assert [(row.name, row.times) for row in section.sources] == [("cli-events", 2), ("vscode-session", 2)]


def test_figures_contain_their_period(archive: Archive) -> None:
    since, until = datetime(2026, 5, 5, tzinfo=UTC), datetime(2026, 5, 6, tzinfo=UTC)

    stats = measure(archive, Selection(since=since, until=until), prices=False)

    assert (stats.since, stats.until) == ("2026-05-05T00:00:00.000Z", "2026-05-06T00:00:00.000Z")
    assert (stats.totals.turns, stats.work.turns, stats.time.active_days) == (3, 3, 1)


def test_totals_of_a_period(archive: Archive) -> None:
    section = totals(choose(archive, Selection(since=datetime(2026, 5, 6, tzinfo=UTC))))

    assert (section.conversations, section.turns, section.messages, section.tool_calls) == (2, 3, 6, 0)


@pytest.mark.parametrize(("request_id", "measured"), [("req-001", 2), ("request_5f0c7a52-88d1", 1)])
def test_turns_without_a_time_are_copies_only_with_a_long_id(tmp_path: Path, request_id: str, measured: int) -> None:
    with Archive(tmp_path / "own.db", write=True) as own:
        for name in ("one", "other"):
            turn = Turn(index=0, request_id=request_id)
            made = Conversation(id=f"export:{name}", source="chat-export", turns=[turn])
            made.messages = [Message(role="user", turn=0, parts=[Text(text="why?")])]
            own.put(concluded_entry(made), "made up")

        chosen = choose(own)

        assert (chosen.turns, chosen.is_whole, totals(chosen).messages) == (measured, measured == 2, measured)
