"""Sessions that VS Code forked: their first turns are copies of another session's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from copilog.model import Conversation, Relation
from tests.sources.vscode_builders import read_session, request, session
from tests.store.spent import spent, total

ASKED = datetime(2026, 5, 4, 12, tzinfo=UTC)
FORKED = ASKED + timedelta(hours=1)
PARENT = "186119c3-0000-4000-8000-000000000001"


def milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def copy(**fields: Any) -> dict[str, Any]:
    metadata = {"sessionId": PARENT, "outputTokens": 7}
    return request(
        requestId="56986ae3",
        timestamp=milliseconds(FORKED),
        responseTimestamp=milliseconds(ASKED),
        completionTokens=7,
        modelState={"value": 1, "completedAt": milliseconds(FORKED)},
        result={"timings": {"firstProgress": 10, "totalElapsed": 4519}, "metadata": metadata},
        **fields,
    )


def forked(tmp_path: Path, *requests: dict[str, Any]) -> Conversation:
    own = request(requestId="request_2", timestamp=milliseconds(FORKED) + 463, completionTokens=5)
    return read_session(session(*requests, own), tmp_path)[0]


def test_a_copied_turn_has_the_time_of_the_first_one_and_leaves_its_tokens_there(tmp_path: Path) -> None:
    made = forked(tmp_path, copy())
    first, second = made.turns

    assert made.relations == [Relation(kind="fork", other_id=f"vscode:{PARENT}", reason="forked in VS Code")]
    assert (first.timing.started_at, first.timing.completed_at) == (ASKED, None)
    assert (first.copied_from, second.copied_from) == (f"vscode:{PARENT}", None)
    assert [usage.output for usage in second.usage] == [5]
    assert next(one.created_at for one in made.messages if one.turn == 0) == ASKED
    assert first.extra is not None
    assert [usage["output"] for usage in first.extra["copied_usage"]] == [7, 7]
    assert {row.turn for row in spent(made)} == {1}
    assert total(spent(made), "output") == 5


@pytest.mark.parametrize(
    "fields",
    [{"responseTimestamp": milliseconds(FORKED)}, {"result": {"metadata": {}}}, {"responseTimestamp": None}],
)
def test_a_copied_turn_has_an_older_answer_of_another_session(tmp_path: Path, fields: dict[str, Any]) -> None:
    made = forked(tmp_path, {**copy(), **fields})

    assert made.relations == []
    assert made.turns[0].timing.started_at == FORKED
