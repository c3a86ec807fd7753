"""Details of a bill: branches of turns, tiers of prices, the config file, equal lengths of time, spread parts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import genai_prices
import pytest

from copilog.analysis.allowance import month_label
from copilog.analysis.drill_down import drill_down
from copilog.analysis.fast_statusline import texts_of
from copilog.analysis.figures import CreditRow
from copilog.analysis.plans import LongPrice, OwnPrice, Plan
from copilog.analysis.prices import price_table
from copilog.analysis.selection import Selection, choose
from copilog.analysis.statusline import Month, status_of
from copilog.analysis.tokens import spend_by, tokens
from copilog.cli.stats_headlines import spend_lines
from copilog.derive.git_contexts import git_contexts
from copilog.model import Conversation, Message, Model, Text, Timing, Turn, Usage
from copilog.store.archive import Archive
from tests.sources.cli_builders import Log, read_cleanly
from tests.stored import concluded_entry


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "archive.db", write=True) as made:
        yield made


def store(archive: Archive, conversation: Conversation) -> None:
    archive.put(concluded_entry(conversation), "made up")


def daily(*days: str, name: str = "vscode:days", model: str = "gpt-5", **used: Any) -> Conversation:
    """Return a conversation with a turn at noon of each day, of 1 credit."""
    turns = [
        Turn(
            index=index, request_id=f"{name}-{index}", status="complete",
            model=Model(id=f"copilot/{model}", name=model, vendor="copilot"),
            timing=Timing(started_at=datetime.fromisoformat(f"{day}T12:00:00Z")),
            usage=[Usage(**{"model": model, "input": 10, "output": 1, "credits": 1, "source": "request", **used})],
        )
        for index, day in enumerate(days)
    ]  # fmt: skip
    messages = [Message(role="assistant", parts=[Text(text="because")], turn=turn.index) for turn in turns]
    started, ended = turns[0].timing.started_at, turns[-1].timing.started_at
    return Conversation(
        id=name, source="vscode-session", turns=turns, messages=messages, started_at=started, updated_at=ended
    )


# --- branches -------------------------------------------------------------------------------------------------------


def context(branch: str | None, repository: str = "ana/harbour") -> dict[str, Any]:
    return {"cwd": "/home/ana", "repository": repository, **({"branch": branch} if branch else {})}


def moved() -> Log:
    """One turn on `main`, one on `fix`, one in another repository without a branch, one on `fix` after a resume."""
    log = Log().start(selectedModel="opus", context=context("main")).ask().record(1, 10).say()
    log.add("session.context_changed", context("fix")).ask().record(2, 20).say()
    log.add("session.context_changed", {**context("no"), "pendingGitContext": True})
    log.add("session.context_changed", context(None, "ana/gauge")).ask().record(3, 40).say()
    return log.add("session.resume", {"context": context("fix")}).ask().record(4, 80).say()


def test_turns_have_the_branch_that_was_recorded_for_them(tmp_path: Path) -> None:
    found = git_contexts(read_cleanly(tmp_path, moved()))

    assert found == {0: ("ana/harbour", "main"), 2: ("ana/gauge", "")}


def test_usage_is_of_the_branch_and_the_repository_of_its_turn(tmp_path: Path, archive: Archive) -> None:
    store(archive, read_cleanly(tmp_path, moved()))
    chosen = choose(archive)

    branches = {
        row.name: (row.conversations, row.turns, row.output) for row in spend_by(chosen, "branch", prices=False)
    }
    repositories = {row.name: row.output for row in spend_by(chosen, "repository", prices=False)}

    assert branches == {"ana/harbour main": (1, 1, 10), "ana/harbour fix": (1, 2, 100)}
    assert repositories == {"ana/harbour": 110, "ana/gauge": 40}
    [total] = spend_by(chosen, "total", prices=False)
    assert (total.conversations, total.turns, total.output) == (1, 4, 150)
    [row] = drill_down(chosen, "tokens.by_branch.output", "ana/harbour fix").rows
    assert (row.amount, row.turn) == (100, 1)
    names = "SELECT git_repository, git_branch FROM turns ORDER BY position"
    assert archive.connection.execute(names).fetchall() == [
        ("ana/harbour", "main"),
        ("ana/harbour", "fix"),
        ("ana/gauge", None),
        ("ana/harbour", "fix"),
    ]


# --- prices ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["claude-sonnet-4.6", "claude-opus-4.6", "gpt-5.4", "gemini-2.5-pro", "gpt-5-mini"])
@pytest.mark.parametrize("prompt", [100, 199_999, 200_001, 272_001, 900_000])
def test_prompt_of_a_call_has_the_price_of_its_tier(archive: Archive, tmp_path: Path, model: str, prompt: int) -> None:
    read = prompt // 2
    store(archive, daily("2026-06-02", model=model, input=prompt, output=1_000, cache_read=read, scope="call"))

    section = tokens(choose(archive), cache=tmp_path)

    used = genai_prices.Usage(input_tokens=prompt, output_tokens=1_000, cache_read_tokens=read)
    at = datetime(2026, 6, 2, 12, tzinfo=UTC)
    names = {"claude-sonnet-4.6": "claude-sonnet-4-6", "claude-opus-4.6": "claude-opus-4-6"}
    expected = genai_prices.calc_price(used, names.get(model, model), genai_request_timestamp=at)
    assert section.total.dollars == pytest.approx(float(expected.total_price))
    assert section.total.averaged_dollars is None


def test_price_of_the_config_file_keeps_the_tiers_of_the_package(tmp_path: Path) -> None:
    plan = Plan(
        prices={"gpt-5.4": OwnPrice(input=5), "gemini-2.5-pro": OwnPrice(long=LongPrice(above=9, input=8, output=7))}
    )

    table = price_table(["gpt-5.4", "gemini-2.5-pro"], tmp_path, plan)

    assert table is not None
    dearer, replaced = (table.price_at(model, "2026-06-02") for model in ("gpt-5.4", "gemini-2.5-pro"))
    assert dearer is not None
    assert replaced is not None
    # Half as much again of the output, and twice the input: as in the package.
    assert (dearer.input, dearer.output) == (5, 15)
    long = dearer.of_prompts(272_001)
    assert (long.input, long.output, dearer.of_prompts(272_000)) == (10, 22.5, dearer)
    assert (replaced.above, replaced.of_prompts(10).input) == (9, 8)


def test_unknown_model_that_the_config_file_names_is_reported(archive: Archive, tmp_path: Path) -> None:
    store(archive, daily("2026-06-02", model="mine"))
    plan = Plan(prices={"mine": OwnPrice(same_as="gpt-99"), "other": OwnPrice(same_as="gpt-5")})

    section = tokens(choose(archive, plan=plan), cache=tmp_path)

    assert section.prices is not None
    assert (section.prices.unknown, section.prices.unpriced) == ({"mine": "gpt-99"}, ["mine"])
    assert "  config file: mine has the prices of gpt-99, which is not in the table" in list(spend_lines(section))


def test_tokens_without_a_price_are_empty_where_none_are_recorded(archive: Archive, tmp_path: Path) -> None:
    guessed = daily("2026-06-02", name="vscode:guessed")
    guessed.turns[0].usage = []
    store(archive, guessed)
    store(archive, daily("2026-06-03"))
    store(archive, daily("2026-06-04", name="vscode:odd", model="odd"))

    rows = {row.name: row for row in tokens(choose(archive), cache=tmp_path).by_day}

    assert rows["2026-06-02"].estimated_input is not None
    assert {day: row.unpriced for day, row in rows.items()} == {"2026-06-02": None, "2026-06-03": 0, "2026-06-04": 11}


# --- the period before ----------------------------------------------------------------------------------------------

NOW = datetime(2026, 6, 17, 15, tzinfo=UTC)  # a Wednesday
MAY_AND_JUNE = [f"2026-05-{day:02}" for day in range(1, 32)] + [f"2026-06-{day:02}" for day in range(1, 18)]


def by_name(rows: list[CreditRow]) -> dict[str, tuple[float | None, float | None]]:
    return {row.name: (row.recorded, row.before) for row in rows}


def test_running_week_and_month_are_compared_with_the_same_days_before(archive: Archive) -> None:
    store(archive, daily(*MAY_AND_JUNE))

    section = tokens(choose(archive, Selection(utc=True), now=NOW), prices=False)

    months, weeks = by_name(section.credits.outcomes), by_name(section.credits.weeks)
    assert months == {"2026-05": (31, None), "2026-06": (17, 17)}
    assert (weeks["2026-06-15"], weeks["2026-06-08"]) == ((3, 3), (7, 7))
    assert (section.period.days, section.period.credits, section.period.credits_before) == (17, 17, 17)


def test_selected_part_of_a_month_is_compared_with_the_same_part_before(archive: Archive) -> None:
    store(archive, daily(*MAY_AND_JUNE))
    part = Selection(since=datetime(2026, 6, 3, tzinfo=UTC), until=datetime(2026, 6, 11, tzinfo=UTC), utc=True)

    section = tokens(choose(archive, part, now=NOW), prices=False)

    assert by_name(section.credits.outcomes) == {"2026-06": (8, 8)}
    # From Wednesday to Sunday, and from Monday to Wednesday.
    assert by_name(section.credits.weeks) == {"2026-06-01": (5, 5), "2026-06-08": (3, 3)}


def test_period_that_goes_on_is_compared_with_the_same_length_before(archive: Archive) -> None:
    store(archive, daily(*MAY_AND_JUNE))
    june = Selection(since=datetime(2026, 6, 1, tzinfo=UTC), until=datetime(2026, 7, 1, tzinfo=UTC), utc=True)

    period = tokens(choose(archive, june, now=NOW), prices=False).period

    assert (period.since, period.until, period.days) == ("2026-06-01", "2026-06-17", 17)
    assert (period.before_since, period.before_until) == ("2026-05-15", "2026-05-31")
    # From 15 May, 9 o'clock, on, as 17 June is not over.
    assert (period.credits, period.credits_before) == (17, 17)


# --- spread parts ---------------------------------------------------------------------------------------------------


def test_status_line_marks_what_is_divided_among_turns(tmp_path: Path, archive: Archive) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=30).ask().say(outputTokens=10)
    metrics = {"opus": {"requests": {"count": 2, "cost": 2}, "usage": {"inputTokens": 1_000, "outputTokens": 40}}}
    log.shut_down(modelMetrics=metrics, totalPremiumRequests=2, totalNanoAiu=8e9)
    store(archive, read_cleanly(tmp_path, log))
    evening = datetime(2026, 6, 2, 20, tzinfo=UTC)

    status = status_of(archive.connection, evening, month=Month(budget=100), zone=UTC)
    texts = texts_of(status, evening)

    assert (status.tokens_today, status.spread_tokens_today) == (1_040, 1_040)
    assert (status.premium_requests_today, status.spread_premium_requests_today) == (2, 2)
    assert (status.credits_today, status.spread_credits_today, status.spread_credits_turn) == (8, 8, 2)
    assert (texts["tokens_today"], texts["premium_requests_today"]) == ("1.0k÷", "2÷")
    assert (texts["credits_today"], texts["credits_turn"], texts["month_used"]) == ("8÷", "2÷", "8÷")
    month = tokens(choose(archive, Selection(utc=True), now=evening), prices=False).month
    assert (month.used, month.spread) == (8, 8)
    assert ": 8, 8.0 of them spread; 28 days left" in month_label(month)
    # The parts of a conversation are its own.
    assert texts["credits_conversation"] == "8"


def test_status_line_has_no_mark_where_nothing_is_divided(archive: Archive) -> None:
    store(archive, daily("2026-06-02"))
    evening = datetime(2026, 6, 2, 20, tzinfo=UTC)

    texts = texts_of(status_of(archive.connection, evening, zone=UTC), evening)

    assert (texts["tokens_today"], texts["credits_today"]) == ("11", "1")


# --- lines of stats -------------------------------------------------------------------------------------------------


def test_premium_requests_of_turns_that_are_billed_by_credits_are_named(tmp_path: Path, archive: Archive) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=30)
    metrics = {"opus": {"requests": {"count": 1, "cost": 1}, "usage": {"inputTokens": 1_000, "outputTokens": 30}}}
    log.shut_down(modelMetrics=metrics, totalPremiumRequests=1, totalNanoAiu=8e9)
    store(archive, read_cleanly(tmp_path, log))

    lines = list(spend_lines(tokens(choose(archive), prices=False)))

    assert "premium requests: 1 (as recorded, 1 of them in turns that are billed by credits)" in lines


def test_premium_requests_of_answered_turns_are_not_0_where_none_is_recorded(archive: Archive) -> None:
    failed = daily("2026-05-02", credits=None, premium_requests=2)
    failed.turns[0].status = "failed"
    store(archive, failed)

    lines = list(spend_lines(tokens(choose(archive), prices=False)))

    assert "premium requests: 2, all of failed or cancelled turns (as recorded)" in lines
