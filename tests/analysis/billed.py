"""A made-up corpus with bills.

before    VS Code, 2026-05-30: gpt-5, 1,000 in, 100 out, nothing recorded of its cost
after     VS Code, 2026-06-02, in ana/harbour on main
  turn 0  gpt-5, 1,000,000 in (900,000 from a cache), 10,000 out, nothing recorded of its cost
  turn 1  gpt-5, 2,000 in (none from a cache), 100 out, 3 credits recorded; failed
  turn 2  gpt-5, 500 in, 20 out, "GPT-5 • 2x": a turn of the old system, whatever its date; cancelled
  turn 3  openrouter/gpt-5, 4,000 in, 200 out: on a key of the user's own
  turn 4  openrouter/gpt-5, 40 in, 2 out, "GPT-5 • 1x": the payer is unknown
  turn 5  copilot/odd, 10 in, 1 out: a model without a price; the next turn has the same prompt
  turn 6  the same, of 2026-06-02 23:30 UTC

gpt-5 costs 2 dollars for a million tokens in, 0.2 from a cache, and 10 out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from copilog.analysis.figures import SpendRow, TokensSection
from copilog.analysis.plans import Plan
from copilog.analysis.prices import PricedModel, PriceTable, UnitPrice
from copilog.analysis.selection import Selection, choose
from copilog.analysis.tokens import tokens
from copilog.model import (
    Conversation,
    Message,
    Model,
    Round,
    Text,
    Timing,
    Turn,
    TurnError,
    Usage,
    Workspace,
)
from copilog.store.archive import Archive
from tests.stored import concluded_entry

GPT = PricedModel(name="x/gpt-5", prices=[UnitPrice(input=2, output=10, cache_read=0.2, cache_write=2)])


def turn(index: int, at: datetime, used: Usage, *, model: str = "copilot/gpt-5", **more: Any) -> Turn:
    vendor, _, name = model.partition("/")
    known: dict[str, Any] = {"request_id": f"{at:%d}-{index}", "status": "complete", **more}
    usage = [used, *known.pop("usage", [])]
    timing = Timing(started_at=at)
    return Turn(index=index, model=Model(id=model, name=name, vendor=vendor), timing=timing, usage=usage, **known)


def used(given: int, answered: int, cached: int | None = None, model: str = "gpt-5") -> Usage:
    return Usage(model=model, input=given, output=answered, cache_read=cached, source="modelTotals")


def said(turns: list[Turn], prompts: list[str] | None = None) -> list[Message]:
    made = []
    for one in turns:
        text = prompts[one.index] if prompts else f"prompt {one.index}"
        made.append(Message(role="user", parts=[Text(text=text)], turn=one.index))
        made.append(Message(role="assistant", parts=[Text(text="because")], turn=one.index))
    return made


def conversations() -> list[Conversation]:
    day = datetime(2026, 6, 2, 9, tzinfo=UTC)
    first = turn(0, datetime(2026, 5, 30, 9, tzinfo=UTC), used(1_000, 100))
    failed, error = {"status": "failed"}, TurnError(message="no")
    turns = [
        turn(0, day, used(1_000_000, 10_000, 900_000)),
        turn(1, day, used(2_000, 100, 0), usage=[Usage(credits=3, source="request")], error=error, **failed),
        turn(2, day, used(500, 20), details="GPT-5 • 2x", status="cancelled"),
        turn(3, day, used(4_000, 200), model="openrouter/gpt-5"),
        turn(4, day, used(40, 2), model="openrouter/gpt-5", details="GPT-5 • 1x"),
        turn(5, day, used(10, 1, model="odd"), model="copilot/odd"),
        turn(6, day.replace(hour=23, minute=30), used(10, 1, model="odd"), model="copilot/odd"),
    ]
    prompts = ["a", "b", "c", "d", "e", "again", "again"]
    made: dict[str, Any] = {"source": "vscode-session", "application": "code"}
    return [
        Conversation(
            id="vscode:before", turns=[first], messages=said([first]), started_at=first.timing.started_at, **made
        ),
        Conversation(
            id="vscode:after",
            turns=turns,
            messages=said(turns, prompts),
            started_at=day,
            workspace=Workspace(folder="/home/ana", repository="ana/harbour", branch="main"),
            **made,
        ),
    ]


def by_name(rows: list[SpendRow]) -> dict[str, SpendRow]:
    return {row.name: row for row in rows}


def with_usage(name: str, *usages: Usage, rounds: int = 0) -> Conversation:
    one = turn(0, datetime(2026, 6, 2, 12, tzinfo=UTC), usages[0], usage=[*usages[1:]])
    one.request_id, one.rounds = name, [Round() for _ in range(rounds)]
    return Conversation(id=f"vscode:{name}", source="vscode-session", turns=[one], messages=said([one]))


@contextmanager
def billed_archive(path: Path) -> Iterator[Archive]:
    """Yield an archive of these conversations."""
    with Archive(path, write=True) as made:
        for conversation in conversations():
            made.put(concluded_entry(conversation), "made up")
        yield made


def measured_by(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what measures an archive at made-up prices."""
    table = PriceTable(source="made up", date="2026-05-01", models={"gpt-5": GPT, "odd": None})
    monkeypatch.setattr("copilog.analysis.prices._table_of_package", lambda models, folder: table)

    def measure(plan: Plan | None = None, **selected: Any) -> TokensSection:
        return tokens(choose(archive, Selection(**selected), plan=plan))

    return measure


def guessed() -> Conversation:
    """Return a conversation of June of which nothing is recorded: 400 characters asked, 40 answered."""
    asked = Turn(
        index=0, model=Model(id="copilot/gpt-5", name="gpt-5", vendor="copilot"), request_id="guess",
        timing=Timing(started_at=datetime(2026, 6, 3, 12, tzinfo=UTC)), status="complete",
    )  # fmt: skip
    texts = [
        Message(role="user", parts=[Text(text="u" * 400)], turn=0),
        Message(role="assistant", parts=[Text(text="a" * 40)], turn=0),
    ]
    return Conversation(id="vscode:guess", source="vscode-session", turns=[asked], messages=texts)
