"""What conversations can be narrowed down by, in an archive of a few made-up ones."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from copilog.errors import UsageError
from copilog.model import Conversation, CustomAgent, FileEdit, Skill, Timing, TurnError, Usage
from copilog.store.archive import Archive
from copilog.store.facets import facets_of, tools_of
from copilog.store.library import SORTS, rows_among, rows_of
from copilog.store.query import And, Field, Or, Text
from copilog.store.search import search
from copilog.store.selection import FLAGS, NAME_FIELDS, Selected, Selection, UnknownName, exactly
from tests.stored import NOON, concluded_entry, conversation


def gauges() -> Conversation:
    """Return a conversation that edits a file, by a custom agent."""
    made = conversation(
        "gauges", ("read the gauges", "done"), ("once more", "done"), title="Gauges", tool="read_file", days=2
    )
    made.turns[0].custom_agent = CustomAgent(name="Harbour")
    made.turns[1].custom_agent = CustomAgent(name="harbour")
    made.turns[0].skills = [Skill(name="tides", is_loaded=True)]
    made.turns[0].timing = Timing(elapsed_ms=4_000)
    made.messages[1].parts.append(FileEdit(path="/home/ana/tide-tables/gauges.py", diff="+1"))
    return made


def storm() -> Conversation:
    """Return a failed conversation, in another folder whose name begins with that of the first."""
    made = conversation(
        "storm", ("warn of storms", "no"), title="storm", folder="/home/ana/tide-tables-2", model="gpt-5-mini",
        mode="ask", days=30,
    )  # fmt: skip
    made.turns[0].status = "failed"
    made.turns[0].error = TurnError(message="The quota is used up.")
    made.turns[0].usage = [Usage(input=900, output=100)]
    return made


def seeds() -> Conversation:
    """Return a conversation without a folder, by a model under its long name."""
    return conversation("seeds", ("which seeds", "these"), title="Äpfel", folder=None, model="GPT-5 (Preview)", days=1)


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "archive.db", write=True) as made:
        for number, one in enumerate((gauges(), storm(), seeds(), conversation("empty", title="Nothing"))):
            made.put(concluded_entry(one), f"signature {number}")
        made.index_pending()
        made.star("vscode:storm")
        made.label("vscode:storm", "weather", "to do")
        made.label("vscode:seeds", "to do")
        yield made


def selected(archive: Archive, **wanted: object) -> Selected:
    return Selected(archive.connection, Selection(**wanted))  # type: ignore[arg-type]


def counts(archive: Archive, facet: str, **wanted: object) -> dict[str, int]:
    found = [one for one in facets_of(selected(archive, **wanted)).facets if one.name == facet]
    return {value.name: value.conversations for value in found[0].values}


def titles(archive: Archive, sort: str = "title", **wanted: object) -> list[str]:
    return [row.title for row in rows_of(selected(archive, **wanted), sort=sort)]


def test_every_name_is_counted_once_for_each_conversation(archive: Archive) -> None:
    assert counts(archive, "workspace") == {
        "/home/ana/tide-tables": 1, "/home/ana/tide-tables-2": 1, "(no workspace)": 1
    }  # fmt: skip
    assert counts(archive, "mode") == {"agent": 2, "ask": 1, "Harbour": 1}
    assert counts(archive, "agent") == {"Harbour": 1, "(no agent)": 2}
    assert counts(archive, "skill") == {"tides": 1}
    assert counts(archive, "label") == {"to do": 2, "weather": 1}
    assert counts(archive, "is") == {"starred": 1, "error": 1, "edit": 1}
    assert counts(archive, "month") == {"2026-06": 1, "2026-05": 2}


def test_all_names_of_a_model_are_one(archive: Archive) -> None:
    assert counts(archive, "model") == {"gpt-5": 2, "gpt-5-mini": 1}
    assert titles(archive, model="=GPT 5") == ["Gauges", "Äpfel"]


def test_empty_conversations_are_never_listed(archive: Archive) -> None:
    facets = facets_of(selected(archive))
    assert (facets.matching, facets.total) == (3, 3)
    assert "Nothing" not in titles(archive)


def test_the_numbers_of_a_facet_respect_all_filters_but_its_own(archive: Archive) -> None:
    assert counts(archive, "label", label="weather") == {"weather": 1, "to do": 2}
    assert counts(archive, "model", edit=True) == {"gpt-5": 1}
    assert counts(archive, "model", label="to do", model="=gpt-5") == {"GPT-5 (Preview)": 1, "gpt-5-mini": 1}
    assert counts(archive, "is", error=True, label="to do") == {"starred": 1, "error": 1, "edit": 0}


def test_tools_are_counted_on_request(archive: Archive) -> None:
    def tools(**wanted: object) -> dict[str, int]:
        return {value.name: value.conversations for value in tools_of(selected(archive, **wanted)).values}

    assert tools() == {"read_file": 1}
    assert tools(tool="read_file", edit=True) == {"read_file": 1}
    assert tools(starred=True) == {}
    assert titles(archive, tool="read_file") == ["Gauges"]
    assert titles(archive, tool="READ") == ["Gauges"]


@pytest.mark.parametrize("others", [{}, {"label": "to do"}, {"model": "=gpt-5"}, {"query": "seeds OR gauges"}])
def test_each_count_equals_the_length_of_the_filtered_list(archive: Archive, others: dict[str, object]) -> None:
    facets = facets_of(selected(archive, **others)).facets
    for facet in (*facets, tools_of(selected(archive, **others))):
        for value in facet.values:
            own = (
                {value.name: True}
                if facet.name == "is"
                else {facet.name: value.name if facet.name == "month" else exactly(facet.name, value.name)}
            )
            behind = rows_of(selected(archive, **(others | own)))
            assert len(behind) == value.conversations, (facet.name, value)


def test_a_value_is_a_part_of_a_name_and_after_an_equals_sign_all_of_it(archive: Archive) -> None:
    assert titles(archive, workspace="/home/ana/tide-tables") == ["Gauges", "storm"]
    assert titles(archive, workspace="=/home/ana/tide-tables") == ["Gauges"]
    assert titles(archive, model="gpt-5") == ["Gauges", "storm", "Äpfel"]
    assert titles(archive, model="=gpt-5") == ["Gauges", "Äpfel"]
    assert titles(archive, agent="HARB") == ["Gauges"]
    assert titles(archive, workspace="*tables") == ["Gauges"]


def test_labels_match_full_names(archive: Archive) -> None:
    assert titles(archive, label="Weather") == titles(archive, label="weath*") == ["storm"]
    with pytest.raises(UnknownName, match="no conversation has the label 'weath'; the nearest is weather"):
        titles(archive, label="weath")


def test_a_piece_of_a_name_is_among_the_choices(archive: Archive) -> None:
    (chosen, *_) = next(
        facet for facet in facets_of(selected(archive, workspace="tide")).facets if facet.name == "workspace"
    ).values
    assert chosen == ("tide", 2, True)


NAMELESS = [name for name, field in NAME_FIELDS.items() if field.nameless is not None]


@pytest.mark.parametrize("name", NAMELESS)
def test_one_can_ask_for_those_without_a_name(archive: Archive, name: str) -> None:
    nameless = str(NAME_FIELDS[name].nameless)
    assert len(titles(archive, **{name: nameless})) == counts(archive, name).get(nameless, 0)


def test_a_period_holds_conversations_with_a_turn_in_it(archive: Archive) -> None:
    late = conversation("late", ("begin", "so"), ("end", "so"), title="Late", days=40)
    late.turns[0].timing = Timing(started_at=NOON - timedelta(days=10))
    archive.put(concluded_entry(late), "late")
    assert titles(archive, until=NOON) == ["Late"]
    assert titles(archive, since=NOON + timedelta(days=35)) == ["Late"]
    assert titles(archive, since=NOON - timedelta(days=9), until=NOON) == []


def test_a_month_is_that_of_the_last_touch(archive: Archive) -> None:
    assert titles(archive, month="2026-05") == ["Gauges", "Äpfel"]
    assert titles(archive, month="may") == ["Gauges", "Äpfel"]
    with pytest.raises(UsageError, match="not a date"):
        selected(archive, month="2026-13")


def test_facets_count_the_matches_without_each_filter(archive: Archive) -> None:
    facets = facets_of(selected(archive, workspace="=/home/ana/tide-tables", error=True))
    assert facets.matching == 0
    assert facets.without == {"workspace": 1, "error": 1}
    assert facets_of(selected(archive, starred=True, edit=True, query="seeds")).without == dict.fromkeys(
        ("starred", "edit", "query"), 0
    )


def test_rows_have_the_values_of_a_list(archive: Archive) -> None:
    (row,) = rows_of(selected(archive, starred=True))
    assert (row.title, row.status, row.error) == ("storm", "failed", "The quota is used up.")
    assert (row.is_starred, row.labels, row.gone_at) == (True, ["to do", "weather"], None)
    assert (row.tokens, row.estimated) == (1_000, 0)
    (row,) = rows_of(selected(archive, edit=True))
    assert (row.turns, row.tool_calls, row.edits, row.working_ms) == (2, 2, 1, 4_000)
    assert row.tokens == row.estimated > 0


def test_every_order_lists_all(archive: Archive) -> None:
    for sort in SORTS:
        assert sorted(titles(archive, sort)) == ["Gauges", "storm", "Äpfel"]
    assert titles(archive, "newest") == ["storm", "Gauges", "Äpfel"]
    assert titles(archive, "oldest") == ["Äpfel", "Gauges", "storm"]
    assert titles(archive, "longest")[0] == "Gauges"
    assert titles(archive, "tokens")[0] == "Gauges"  # two turns of which nothing was recorded
    assert titles(archive, "tools")[0] == "Gauges"


def test_pages_follow_one_another(archive: Archive) -> None:
    pages = [rows_of(selected(archive), offset=offset, limit=2) for offset in (0, 2, 4)]
    assert [[row.title for row in page] for page in pages] == [["storm", "Gauges"], ["Äpfel"], []]


def test_ids_are_filtered_by_a_selection(archive: Archive) -> None:
    ids = ["vscode:storm", "vscode:seeds", "vscode:gone-with-the-wind"]
    assert list(rows_among(selected(archive, error=True), ids)) == ["vscode:storm"]
    assert set(rows_among(selected(archive), ids)) == {"vscode:storm", "vscode:seeds"}


def test_conversations_without_files_are_still_listed(archive: Archive) -> None:
    archive.mark_gone(["vscode:seeds"])
    (row,) = rows_of(selected(archive, workspace=NAME_FIELDS["workspace"].nameless))
    assert row.gone_at is not None
    assert datetime.fromisoformat(row.gone_at) > NOON - timedelta(days=365)


def test_an_archive_can_be_empty(tmp_path: Path) -> None:
    with Archive(tmp_path / "archive.db", write=True) as archive:
        facets = facets_of(selected(archive, model="gpt-5", **dict.fromkeys(FLAGS, True)))
        assert (facets.matching, facets.total) == (0, 0)
        assert tools_of(selected(archive)).values == []
        assert rows_of(selected(archive)) == []
        assert msgspec.to_builtins(facets_of(selected(archive)).without) == {}


def test_a_search_gets_the_filters_that_it_supports(archive: Archive) -> None:
    wanted = selected(archive, query="seeds OR storms", model="=gpt-5", label="to do", tool="read_file", starred=True)
    query = wanted.query_with_filters().query
    assert query.text == "seeds OR storms"
    assert query.root == And(
        (
            Or((Text("words", "seeds"), Text("words", "storms"))),
            Field("model", "=gpt-5"),
            Field("label", "to do"),
            Field("is", "starred"),
        )
    )
    assert [hit.title for hit in search(archive.connection, selected(archive, query="seeds").query_with_filters()).hits]
