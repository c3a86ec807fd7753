"""What superseded turns used is in the bill, under the outcome `undone`, and in no figure of work.

The figures are worked out by hand. A conversation of VS Code of 2 June 2026 has five turns:

  0  1,000 in, 10 out, 1 credit
  1  2,000 in, 20 out, 2 credits: rewound
  2  4,000 in, 40 out, 4 credits: failed, then replaced by a retry, with a premium request
  3  8,000 in, 80 out, 8 credits: the retry
  4  16,000 in, 160 out, 16 credits: hidden, on the next day
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pytest

from copilog import ingest
from copilog.analysis import Selection, choose, measure
from copilog.analysis.drill_down import drill_down
from copilog.analysis.statusline import Month, status_of
from copilog.analysis.token_methods import tokens_by_method
from copilog.analysis.tokens import as_if, spend_by
from copilog.cli.stats_headlines import spend_lines
from copilog.mcp.questions import get_usage
from copilog.model import Conversation, Message, Model, Relation, Text, Timing, Turn, Usage
from copilog.store.archive import Archive
from copilog.store.charges import charges_of
from copilog.store.library import rows_of
from copilog.store.selection import Selected
from copilog.view.conversation_info import panel_of
from copilog.writers.terminal import TextOptions, render_conversation
from copilog.writers.terminal_layout import Labelled
from tests.sources.cli_builders import Log, read_cleanly, write_log
from tests.stored import concluded_entry
from tests.test_rewound_sessions import rewound, write_store

NOON = datetime(2026, 6, 2, 12, tzinfo=UTC)
EVENING = NOON.replace(hour=20)
NAME = "vscode:undone"
Store = Callable[..., Archive]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Archive(tmp_path / "archive.db", write=True) as archive:

        def stored(*conversations: Conversation) -> Archive:
            for one in conversations:
                archive.put(concluded_entry(one), "made up")
            archive.index_pending()
            return archive

        yield stored


def turn(index: int, *, superseded: str | None = None, day: int = 0, **more: Any) -> Turn:
    size = 2**index
    usage = [Usage(model="gpt-5", input=1_000 * size, output=10 * size, credits=size, source="request")]
    if index == 2:
        usage[0].premium_requests = 1
    return Turn(
        index=index, request_id=f"request-{index}", superseded=superseded, usage=usage,
        **{"status": "complete", **more},
        model=Model(id="copilot/gpt-5", name="gpt-5", vendor="copilot"),
        timing=Timing(started_at=NOON + timedelta(minutes=index, days=day)),
    )  # fmt: skip


def conversation(turns: list[Turn], name: str = NAME, **more: Any) -> Conversation:
    roles: tuple[Literal["user", "assistant"], ...] = ("user", "assistant")
    messages = [
        Message(role=role, parts=[Text(text=f"{role} {one.index}")], turn=one.index) for one in turns for role in roles
    ]
    return Conversation(
        id=name, source="vscode-session", title="Tides", started_at=turns[0].timing.started_at,
        updated_at=turns[-1].timing.started_at, turns=turns, messages=messages, **more,
    )  # fmt: skip


def undone() -> Conversation:
    turns = [turn(0), turn(1, superseded="rewound"), turn(2, superseded="replaced", status="failed"), turn(3)]
    return conversation([*turns, turn(4, superseded="hidden", day=1)])


def test_bill_is_the_sum_of_all_turns_and_work_is_that_of_the_turns_that_count(store: Store) -> None:
    stats = measure(store(undone()), prices=False, now=NOON)

    assert (stats.totals.turns, stats.totals.messages, stats.work.failed) == (2, 4, 0)
    total = stats.tokens.total
    assert (total.turns, total.input, total.output, total.credits) == (5, 31_000, 310, 31)
    assert (total.premium_requests, total.unanswered_requests) == (None, 1)
    assert (stats.tokens.superseded_turns, stats.tokens.input_turns, stats.tokens.credit_turns) == (3, 5, 5)


def test_superseded_turns_are_undone_whatever_their_end(store: Store) -> None:
    section = measure(store(undone()), prices=False, now=NOON).tokens

    assert {row.name: (row.turns, row.credits) for row in section.by_outcome} == {"undone": (3, 22), "unknown": (2, 9)}
    assert {row.of: row.recorded for row in section.credits.outcomes} == {"undone": 22, "unknown": 9}


@pytest.mark.parametrize(
    "by",
    ["total", "day", "week", "month", "workspace", "model", "conversation", "turn", "source", "payer", "outcome"],
)
def test_every_table_of_spending_adds_up_to_the_bill(store: Store, by: str) -> None:
    rows = spend_by(choose(store(undone()), now=NOON), by, prices=False)

    assert sum(row.input or 0 for row in rows) == 31_000
    assert sum(row.credits or 0 for row in rows) == 31


def test_period_has_the_superseded_turns_of_its_days(store: Store) -> None:
    archive = store(undone())
    next_day = Selection(since=NOON.replace(day=3, hour=0))

    stats = measure(archive, next_day, prices=False, now=NOON + timedelta(days=1))

    assert (stats.totals.turns, stats.tokens.total.input, stats.tokens.total.credits) == (0, 16_000, 16)
    assert stats.tokens.period.credits_before == 15


def test_other_surfaces_show_the_same_bill(store: Store) -> None:
    archive = store(undone())
    status = status_of(archive.connection, EVENING, month=Month(), zone=UTC)
    usage = get_usage(archive, None, Selection())
    [row] = rows_of(Selected(archive.connection, Selection()))

    assert (status.turns_today, status.failed_today) == (2, 0)
    assert (status.tokens_today, status.credits_today, status.month_used) == (15_150, 15, 15)
    assert status.premium_requests_today is None
    later = status_of(archive.connection, EVENING + timedelta(days=1), zone=UTC)
    assert (later.credits_conversation, later.credits_turn) == (31, 8)
    assert [(model.input, model.output) for model in usage.models] == [(31_000, 310)]
    assert (usage.credits, usage.premium_requests, usage.unanswered_requests) == (31, None, 1)
    assert get_usage(archive, NAME, Selection()).credits == 31
    assert row.tokens == 31_310
    assert sum(one.recorded for one in tokens_by_method(choose(archive))) == 31_310


def test_page_of_a_conversation_and_show_have_its_whole_bill(store: Store) -> None:
    made = undone()
    made.turns[3].details, made.turns[3].usage = "GPT-5 • 8 credits", []
    charges = charges_of(store(made).connection, NAME)

    panel = panel_of(made, charges=charges)
    pieces = render_conversation(made, TextOptions(charges=tuple(charges)))

    [(name, counts, source)] = panel.usage
    assert (name, source) == ("spent", "5 turns, 3 superseded")
    assert dict(counts)["credits"] == "31"
    assert dict(counts)["premium requests of failed or cancelled turns"] == "1"
    assert "premium requests" not in dict(counts)
    assert [row.cost for row in panel.turns] == ["1 credits", "8 credits"]
    [line] = [str(piece.body) for piece in pieces if isinstance(piece, Labelled) and piece.label.plain == "spent"]
    assert line.endswith("· 31 credits · 1 premium request failed or cancelled · 5 turns, 3 superseded")


def test_what_several_turns_cost_together_is_marked_in_each(tmp_path: Path, store: Store) -> None:
    log = Log().start(selectedModel="opus").ask("one").say(outputTokens=30).ask("two").say(outputTokens=10)
    log.shut_down(modelMetrics={"opus": {"usage": {"inputTokens": 10, "outputTokens": 40}}}, totalNanoAiu=4e9)
    made = read_cleanly(tmp_path, log)

    panel = panel_of(made, charges=charges_of(store(made).connection, made.id))

    assert [row.cost for row in panel.turns] == ["÷3 credits", "÷1 credits"]


def test_drill_down_reaches_superseded_turns(store: Store) -> None:
    chosen = choose(store(undone()), now=NOON)

    [row] = drill_down(chosen, "tokens.superseded_turns").rows
    [spent] = drill_down(chosen, "tokens.by_outcome.credits", "undone").rows

    assert (row.id, row.amount, row.turn) == (NAME, 3, 1)
    assert (spent.id, spent.amount, spent.turn) == (NAME, 22, 1)


def test_conversation_of_which_everything_was_removed_is_billed_but_not_listed(store: Store) -> None:
    archive = store(conversation([turn(0, superseded="removed"), turn(1, superseded="removed")]))

    stats = measure(archive, prices=False, now=NOON)
    [row] = drill_down(choose(archive, now=NOON), "tokens.total.credits").rows

    assert (stats.totals.conversations, stats.totals.turns) == (0, 0)
    assert (stats.tokens.total.conversations, stats.tokens.total.credits) == (1, 3)
    assert (row.id, row.amount) == (NAME, 3)
    assert status_of(archive.connection, EVENING, zone=UTC).credits_today == 3
    assert get_usage(archive, None, Selection()).credits == 3


def test_lines_of_stats_say_what_they_count(store: Store) -> None:
    made = undone()
    made.turns[3].usage = [Usage(model="gpt-5", output=80, source="request")]

    lines = list(spend_lines(measure(store(made), prices=False, now=NOON).tokens))

    assert "  input recorded for 4 of 5 turns that used a model" in lines
    assert "  with 3 superseded turns (undone, rewound, retried), charged all the same" in lines


def test_comparison_with_another_model_has_superseded_turns(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from copilog.analysis.prices import PricedModel, PriceTable, UnitPrice

    model = PricedModel(name="x", prices=[UnitPrice(input=1, output=1, cache_read=1, cache_write=1)])
    table = PriceTable(source="made up", models={"gpt-5": model})
    monkeypatch.setattr("copilog.analysis.prices._table_of_package", lambda models, folder: table)

    row = as_if(choose(store(undone()), now=NOON), "gpt-5")

    assert (row.input, row.selected_turns, row.turns_without_tokens) == (31_000, 5, 0)


# --- turns that several conversations have --------------------------------------------------------------------------


def fork_of(turns: list[Turn], *, is_recorded: bool = True) -> Conversation:
    """Return a fork of an hour later with these turns."""
    relations = [Relation(kind="fork", other_id=NAME, reason="forked")] if is_recorded else []
    made = conversation(turns, "vscode:fork", relations=relations)
    made.started_at = NOON + timedelta(hours=1)
    return made


@pytest.mark.parametrize("superseded", [(None, None), ("rewound", None), (None, "rewound"), ("rewound", "rewound")])
def test_turn_of_two_conversations_is_billed_once(store: Store, superseded: tuple[str | None, str | None]) -> None:
    first, second = superseded
    archive = store(
        conversation([turn(0), turn(1, superseded=first)]),
        fork_of([turn(0), turn(1, superseded=second), turn(2)], is_recorded=False),
    )

    stats = measure(archive, prices=False, now=NOON)

    counted = 2 if first and second else 3
    assert (stats.totals.turns, stats.tokens.total.credits) == (counted, 1 + 2 + 4)
    assert status_of(archive.connection, EVENING, zone=UTC).credits_today == 1 + 2 + 4
    rows = {row.name: row.credits for row in stats.tokens.by_outcome}
    assert rows.get("undone") == (2 if first and second else None)


@pytest.mark.parametrize("superseded", [None, "rewound"])
def test_copy_whose_usage_is_with_its_original_is_billed_there(store: Store, superseded: str | None) -> None:
    copy = turn(1, copied_from=NAME)
    copy.request_id, copy.usage = "another", []
    archive = store(conversation([turn(0), turn(1, superseded=superseded)]), fork_of([copy, turn(2)]))

    stats = measure(archive, prices=False, now=NOON)

    assert (stats.totals.turns, stats.tokens.total.credits) == (3, 1 + 2 + 4)
    status = status_of(archive.connection, EVENING, zone=UTC)
    assert (status.turns_today, status.credits_today) == (3, 1 + 2 + 4)


@pytest.mark.parametrize("superseded", [None, "rewound"])
def test_copy_with_usage_of_its_own_is_billed_once(store: Store, superseded: str | None) -> None:
    copy = turn(1, copied_from=NAME)
    copy.request_id = "another"
    archive = store(conversation([turn(0), turn(1, superseded=superseded)]), fork_of([copy, turn(2)]))

    stats = measure(archive, prices=False, now=NOON)

    assert (stats.totals.turns, stats.tokens.total.credits) == (3, 1 + 2 + 4)
    status = status_of(archive.connection, EVENING, zone=UTC)
    assert (status.turns_today, status.credits_today) == (3, 1 + 2 + 4)


# --- runs of the CLI ------------------------------------------------------------------------------------------------


def test_rewound_turns_of_a_run_have_their_share_of_its_total(tmp_path: Path, store: Store) -> None:
    log = Log().start(selectedModel="opus").ask("one").say(outputTokens=30).ask("two").say(outputTokens=60)
    log.ask("three").say(outputTokens=10)
    metrics = {"opus": {"requests": {"count": 3, "cost": 3}, "usage": {"inputTokens": 1_000, "outputTokens": 100}}}
    log.shut_down(modelMetrics=metrics, totalPremiumRequests=3, totalNanoAiu=20e9)
    made = read_cleanly(tmp_path, log)
    made.turns[1].superseded = "rewound"

    section = measure(store(made), prices=False, now=NOON).tokens

    total = section.total
    assert (total.input, total.output, total.premium_requests, total.credits) == (1_000, 100, 3, 20)
    assert {row.name: (row.input, row.credits) for row in section.by_outcome} == {
        "undone": (600, 12),
        "unknown": (400, 8),
    }


def test_turns_that_only_the_store_has_after_a_rewind_share_the_total_of_their_run(
    tmp_path: Path, store: Store
) -> None:
    metrics = {"opus": {"requests": {"count": 3, "cost": 3}, "usage": {"inputTokens": 1_000, "outputTokens": 100}}}
    log = rewound().ask("And in Tarn?").say(outputTokens=10)
    log.shut_down(modelMetrics=metrics, totalPremiumRequests=3, totalNanoAiu=20e9)
    write_log(tmp_path, log)
    write_store(tmp_path)
    [made] = ingest.read(tmp_path)

    section = measure(store(made), prices=False, now=NOON).tokens

    # The log has 10 of the 100 tokens of output: the two turns before the rewind have the others.
    assert {row.name: (row.input, row.output, row.credits, row.premium_requests) for row in section.by_outcome} == {
        "undone": (900, 90, 18, 2),
        "unknown": (100, 10, 2, 1),
    }
    assert section.total.spread == 1_100
