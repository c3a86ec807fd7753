"""Runs that a rewind cut out of a log keep what their own ends recorded, and stay out of the totals that are left."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from copilog.ingest import find_roots
from copilog.ingest.scanning import scan
from copilog.store.archive import Archive
from tests.sources.cli_builders import Json, Log, write_log

Row = tuple[int, str | None, int | None, float | None, float | None, str]


def ended(tokens: int, output: int, requests: int, credits_: float, *, is_cumulative: bool = True) -> Json:
    """Return the end of a run: `requests` premium requests."""
    usage = {"inputTokens": tokens, "outputTokens": output}
    metrics = {"opus": {"requests": {"count": requests, "cost": requests}, "usage": usage}}
    totals = {"modelMetrics": metrics, "totalPremiumRequests": requests, "totalNanoAiu": credits_ * 1e9}
    return {**totals, **({"eventsFileSizeBytes": 9} if is_cumulative else {})}


def three_runs(*, is_cumulative: bool = True) -> Log:
    """One turn in each run: 1,000, 2,000 and 3,000 tokens in; 1, 2 and 3 credits; a premium request each."""
    ends = [(1_000, 10, 1, 1), (2_000, 20, 1, 2), (3_000, 30, 1, 3)]
    log = Log().start(selectedModel="opus")
    told = [0.0, 0.0, 0.0, 0.0]
    for number, used in enumerate(ends):
        if number:
            log.add("session.resume")
        told = [before + now for before, now in zip(told, used, strict=True)] if is_cumulative else list(used)
        tokens, output, requests, paid = told
        log.ask(f"question {number}").say(outputTokens=used[1])
        log.shut_down(**ended(int(tokens), int(output), int(requests), paid, is_cumulative=is_cumulative))
    return log


def rewound(log: Log) -> Log:
    """Return the log after a rewind to the end of its first run."""
    cut = Log()
    cut.events = copy.deepcopy(log.events[:4])
    for number in range(9):  # later events have later times
        cut.add("session.info", {"message": f"Ready {number}", "infoType": "notification"})
    return cut.add("session.info", {"message": "Rewound the conversation.", "infoType": "rewind"})


@pytest.fixture
def rows_after(tmp_path: Path) -> Iterator[Callable[[Log, Log], list[Row]]]:
    """Yield a function that returns the rows of `spending` after scans of two states of a log."""
    with Archive(tmp_path / "archive.db", write=True) as archive:

        def rows(before: Log, now: Log) -> list[Row]:
            for log in (before, now):
                write_log(tmp_path / "home", log)
                scan(archive, roots=find_roots([tmp_path / "home"]))
            return archive.connection.execute(
                "SELECT turn, superseded, sum(input), sum(credits), sum(premium_requests), max(method) FROM spending"
                " GROUP BY turn ORDER BY turn"
            ).fetchall()

        yield rows


@pytest.mark.parametrize("is_cumulative", [True, False])
def test_turns_of_lost_runs_keep_their_own_totals(
    rows_after: Callable[[Log, Log], list[Row]], is_cumulative: bool
) -> None:
    log = three_runs(is_cumulative=is_cumulative)

    assert rows_after(log, rewound(log)) == [
        (0, None, 1_000, 1, 1, "recorded"),
        (1, "rewound", 2_000, 2, 1, "recorded"),
        (2, "rewound", 3_000, 3, 1, "recorded"),
    ]


def test_next_run_that_counts_from_the_beginning_of_the_log_has_its_total_for_itself(
    rows_after: Callable[[Log, Log], list[Row]],
) -> None:
    log = three_runs()
    now = rewound(log).add("session.resume").ask("once more").say(outputTokens=40).shut_down(**ended(5_000, 50, 2, 5))

    assert rows_after(log, now) == [
        (0, None, 1_000, 1, 1, "recorded"),
        (1, "rewound", 2_000, 2, 1, "recorded"),
        (2, "rewound", 3_000, 3, 1, "recorded"),
        (3, None, 4_000, 4, 1, "recorded"),
    ]


def test_next_run_that_counts_on_shares_its_total_with_the_lost_ones(
    rows_after: Callable[[Log, Log], list[Row]],
) -> None:
    log = three_runs()
    now = rewound(log).add("session.resume").ask("once more").say(outputTokens=40)
    now.shut_down(**ended(10_000, 100, 4, 10))

    # 9,000 of 90 tokens of output: 20, 30 and 40.
    assert rows_after(log, now) == [
        (0, None, 1_000, 1, 1, "recorded"),
        (1, "rewound", 2_000, 2, 1, "spread"),
        (2, "rewound", 3_000, 3, 1, "spread"),
        (3, None, 4_000, 4, 1, "spread"),
    ]
