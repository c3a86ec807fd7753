"""Each figure is the sum of the rows behind it, in each of its groups, and the list of conversations has all of it."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.generate_home import write_both
from copilog.analysis import Selection, measure_chosen
from copilog.analysis.drill_down import FIGURES, TABLES, Figure, drill_down
from copilog.analysis.facts import DISTINCT, MEAN, MEDIAN, P95, Key
from copilog.analysis.figures import Stats, TokensSection
from copilog.analysis.selection import NO_TURN, Chosen, choose
from copilog.analysis.tokens import TOKENS, spend_by
from copilog.errors import UsageError
from copilog.ingest import find_roots
from copilog.ingest.scanning import scan
from copilog.model import TurnError
from copilog.sample import home
from copilog.store.archive import Archive
from tests.analysis.conftest import NOW
from tests.analysis.counted_from_models import counted_from
from tests.measured import harbour, measured_archive
from tests.stored import concluded_entry, conversation

SESSIONS, SEED = 14, 5
FEW = 3  # keys of a table whose conversations are listed: all of them are summed up
# What is a number and no sum of rows.
NOT_SUMMED = {
    "tokens.composition.percent": "an average over turns, of which many have no row of the category",
    "tokens.prices.discount": "a setting",
    **{
        f"tokens.month.{name}": "of the rows of days, whatever the selection's period"
        for name in (
            "recorded",
            "computed",
            "used",
            "spread",
            "budget",
            "left",
            "pace",
            "days_left",
            "forecast",
            "before",
        )
    },
    **{
        f"tokens.month.{name}": "of the range of estimates, whose likely value is summed"
        for name in (
            "estimated",
            "at_least",
            "at_most",
            "estimated_pace",
            "estimated_forecast",
            "forecast_at_least",
            "forecast_at_most",
        )
    },
    **{
        f"tokens.period.{name}{suffix}": "what rows of tokens.* add up to, in two periods"
        for name in ("turns", "tokens", "credits", "premium_requests", "dollars")
        for suffix in ("", "_before")
    },
    "tokens.period.days": "of the clock",
    **{f"tokens.calibration.{name}": "a rate of estimates" for name in ("low", "likely", "high", "conversations")},
    **{
        f"tokens.credits.{table}.{name}": "what rows of tokens.* add up to, by two keys"
        for table in ("weeks", "repositories", "outcomes")
        for name in ("recorded", "computed", "spread", "estimated", "at_least", "at_most", "period", "before")
    },
    "tokens.input_turns": "turns that have a number in common, which their rows have only together",
    "tokens.credit_turns": "turns that have a number in common, which their rows have only together",
    "tokens.cache_turns": "turns that have a number in common, which their rows have only together",
    "tokens.missed_cache_turns": "turns that have a number in common, which their rows have only together",
    **{
        f"tokens.{table}.cache_share": "a part of the input of those rows that tell"
        for table in TokensSection.__struct_fields__
        if table.startswith("by_") or table == "total"
    },
    "tokens.at_least.input": "the low end of a range, whose likely value is summed",
    "tokens.at_least.output": "likewise",
    "tokens.at_least.dollars": "likewise",
    "tokens.at_most.input": "the high end, likewise",
    "tokens.at_most.output": "likewise",
    "tokens.at_most.dollars": "likewise",
    "models.models.share": "a part of what other rows have",
    "time.longest_streak": "days in a row",
    "time.current_streak": "days in a row",
    "time.parallel_ms": "what the times of several conversations have in common",
    "skills.skills.evidence": "how what is loaded is known",
}
# Rows of which there are parts only: what does not recur is in no row of the table.
CUT = {"tools.sequences"}
# What a section has no number for, but for what its others leave.
ONLY_LISTED = {"work.unknown_ends", "tokens.origins.records"}
ONLY_LISTED |= {f"{table.name}.{name}" for table in TABLES for name in ("tokens", "recorded", "estimated")}
NOT_IN_STATS = ("week", "month", "source")  # ways to sum tokens up that only --by asks for
SELECTIONS = {
    "all": Selection(),
    "since": Selection(since=datetime(2026, 5, 5, tzinfo=UTC)),
    "until": Selection(until=datetime(2026, 5, 5, 10, 0, 5, tzinfo=UTC)),
    "source": Selection(source="cli-events"),
}


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("archives")
    write_both(folder / "made", SESSIONS, SEED)
    paths = {name: folder / f"{name}.db" for name in ("sample", "generated", "measured")}
    for name, place in (("sample", home()), ("generated", folder / "made")):
        with Archive(paths[name], write=True) as archive:
            scan(archive, roots=find_roots([place]))
    with measured_archive(paths["measured"]) as archive:
        for name in ("quay", "pier"):  # so that sequences recur
            more = harbour()
            more.id, more.native_id, more.title = f"vscode:{name}", name, name
            for turn in more.turns:
                turn.request_id = f"{name}-{turn.index}"
            archive.put(concluded_entry(more), "made up")
        archive.index_pending()
    return paths


@pytest.fixture(params=["sample", "generated", "measured"])
def opened(request: pytest.FixtureRequest, archives: dict[str, Path]) -> Iterator[Archive]:
    with Archive(archives[request.param]) as archive:
        yield archive


@pytest.fixture(params=list(SELECTIONS))
def chosen(request: pytest.FixtureRequest, opened: Archive) -> Chosen:
    return choose(opened, SELECTIONS[request.param], now=NOW)


def numbers_in(stats: Stats) -> Iterator[tuple[Figure, Key, Any, tuple[str, ...]]]:
    """Yield every number that has a figure: the figure, its key, the number, and the values that name the key."""
    for name, figure in FIGURES.items():
        table = figure.table
        if name in ONLY_LISTED or table.name.removeprefix("tokens.by_") in NOT_IN_STATS:
            continue
        found: Any = stats
        for field in table.name.split("."):
            found = getattr(found, field)
        for row in found if table.keys else [found]:
            values = tuple(table.values_of(row))
            yield figure, table.key_of(values), getattr(row, figure.field), values


def equal(number: Any) -> Any:
    return pytest.approx(number, rel=1e-9, abs=1e-8) if isinstance(number, float) else number


def group(rows: Iterator[Any]) -> dict[Key, list[Any]]:
    groups: dict[Key, list[Any]] = {}
    for row in rows:
        groups.setdefault(row.key, []).append(row.amount)
    return groups


# --- number, groups, conversations ----------------------------------------------------------------------------------


def test_every_number_is_the_sum_of_its_rows(chosen: Chosen) -> None:
    stats = measure_chosen(chosen, limit=None)
    groups: dict[str, dict[Key, list[Any]]] = {}
    seen: set[tuple[str, Key]] = set()
    for figure, key, number, _ in numbers_in(stats):
        if figure.name not in groups:
            groups[figure.name] = group(figure.table.rows(chosen, figure.field))
        summed = figure.amount.aggregate.of(groups[figure.name].get(key, []))
        if figure.name.startswith("work.references") and (figure.name, key) in seen:
            continue  # the same number in several folders, of which none names its repository
        seen.add((figure.name, key))
        if figure.name in ("work.added", "work.removed") and not stats.work.edits:
            summed = 0  # which is known
        assert number == equal(summed), (figure.name, key)
    for name, by_key in groups.items():
        rows = {key for found, key in seen if found == name}
        extra = by_key.keys() - rows
        assert not extra or FIGURES[name].table.name in CUT or extra == {("",)}, (name, extra)


def test_listed_conversations_add_up_to_the_number(chosen: Chosen) -> None:
    listed: dict[str, int] = {}
    for figure, key, number, values in numbers_in(measure_chosen(chosen, limit=None)):
        if listed.get(figure.name, 0) == FEW:
            continue
        listed[figure.name] = listed.get(figure.name, 0) + 1
        rows = drill_down(chosen, figure.name, *values).rows
        aggregate = figure.amount.aggregate
        if aggregate in (MEAN, MEDIAN, P95):
            assert bool(rows) == (number is not None), (figure.name, key)
        elif aggregate is not DISTINCT:
            rounded = len(rows) if aggregate is TOKENS else 1e-6
            assert sum(row.amount for row in rows) == pytest.approx(number or 0, rel=1e-9, abs=rounded), figure.name
        elif figure.field in ("conversations", "switching_conversations", "most_parallel"):
            assert len(rows) == number, (figure.name, key)
        else:
            assert sum(row.amount for row in rows) >= number, (figure.name, key)
        amounts = [row.amount for row in rows]
        assert amounts == sorted(amounts, reverse=True)
        for row in rows:
            assert row.turn is None or row.turn >= 0


def test_sums_without_a_section_are_those_of_their_rows(opened: Archive) -> None:
    chosen = choose(opened, now=NOW)
    for by in NOT_IN_STATS:
        rows = spend_by(chosen, by, None)
        assert rows
        for row in rows:
            for field in ("input", "output", "estimated_input", "dollars", "conversations"):
                figure = FIGURES[f"tokens.by_{by}.{field}"]
                assert getattr(row, field) == equal(figure.number(chosen, (row.name,))), (by, row.name, field)


# --- the registry ---------------------------------------------------------------------------------------------------


def number_fields(struct: type[msgspec.Struct], above: str = "") -> Iterator[str]:
    """Yield the full names of all fields that hold numbers, down to the columns of tables."""
    for name, kind in typing.get_type_hints(struct).items():
        full = f"{above}.{name}" if above else name
        kinds = [kind, *(inner for part in typing.get_args(kind) for inner in (part, *typing.get_args(part)))]
        rows = [one for one in kinds if isinstance(one, type) and issubclass(one, msgspec.Struct)]
        if rows:
            yield from number_fields(rows[0], full)
        elif int in kinds or float in kinds:
            yield full


def test_every_number_of_a_section_is_a_figure() -> None:
    missing = set(number_fields(Stats)) - FIGURES.keys() - NOT_SUMMED.keys()
    assert {name for name in missing if not name.startswith("tokens.by_tool.")} == set()
    assert NOT_SUMMED.keys() <= set(number_fields(Stats))
    assert ONLY_LISTED & set(number_fields(Stats)) == set()


def test_no_two_tables_have_the_same_figure() -> None:
    assert sum(len(table.amounts) for table in TABLES) == len(FIGURES)


def test_every_figure_has_a_heading(archives: dict[str, Path]) -> None:
    with Archive(archives["measured"]) as archive:
        chosen = choose(archive, now=NOW)
        for figure, _, _, values in numbers_in(measure_chosen(chosen, limit=None)):
            heading = drill_down(chosen, figure.name, *values).heading
            assert heading.strip() == heading
            assert "{" not in heading


@pytest.mark.parametrize(
    "asked",
    [
        ("work.moods",),
        ("work.votes_up", "up"),
        ("tools.tools.calls",),
        ("time.by_hour.turns", "25"),
        ("models.switches.times", "gpt-5"),
        ("agents.agents.turns", "spy", "Navigator"),
        ("tools.sequences.times", "bash"),
    ],
)
def test_an_unknown_figure_is_refused(archives: dict[str, Path], asked: tuple[str, ...]) -> None:
    with Archive(archives["measured"]) as archive, pytest.raises(UsageError):
        drill_down(choose(archive, now=NOW), *asked)


def test_an_error_ending_with_dots_is_not_a_prefix(tmp_path: Path) -> None:
    made = conversation("dots", ("One?", "No."), ("Two?", "No."))
    for turn, message in zip(made.turns, ("Waiting…", "Waiting for the tide"), strict=True):
        turn.status, turn.error = "failed", TurnError(message=message)
    with Archive(tmp_path / "archive.db", write=True) as archive:
        archive.put(concluded_entry(made), "made up")
        rows = drill_down(choose(archive), "work.errors.times", "Waiting…").rows

    assert [(row.amount, row.turn) for row in rows] == [(1, 0)]


# --- against the conversations themselves ---------------------------------------------------------------------------


def test_figures_agree_with_the_conversations(opened: Archive) -> None:
    chosen = choose(opened, now=NOW)
    ids = dict(opened.connection.execute("SELECT conversation, id FROM temp.chosen"))
    counted = counted_from([opened.get(id_) for id_ in ids.values()])
    compared = 0
    for name in counted:
        figure = FIGURES[name]
        rows: dict[Key, dict[str, float]] = {}
        for key, number, turn, amount in figure.table.rows(chosen, figure.field):
            if amount:
                of_key = rows.setdefault(key, {})
                of_key[ids[number]] = of_key.get(ids[number], 0) + amount
            assert turn is None or turn >= NO_TURN
        assert rows == counted[name], name
        compared += len(rows)
    assert len(counted) > 30
    assert compared > 30
