"""A session that was resumed over several days uses its tokens on its own days, by the clock of the user."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from copilog.analysis.selection import Selection, choose
from copilog.analysis.tokens import spend_by
from copilog.ingest import find_roots
from copilog.ingest.scanning import scan
from copilog.store.archive import Archive
from tests.sources.cli_builders import Log, read_cleanly
from tests.store.test_spending_of_cli import NEWER, shutdown
from tests.store.test_spending_segments import resumed
from tests.stored import concluded_entry


@pytest.mark.parametrize("cumulative", [False, True])
def test_days_have_what_was_used_on_them(tmp_path: Path, cumulative: bool) -> None:
    with Archive(tmp_path / "archive.db", write=True) as archive:
        archive.put(concluded_entry(read_cleanly(tmp_path, resumed(cumulative=cumulative))), "made up")
        rows = spend_by(choose(archive), "day", prices=False)

    assert [(row.name, row.input, row.credits, row.spread) for row in rows] == [
        ("2026-06-02", 100_000, 10, None),
        ("2026-06-03", 200_000, 20, None),
        ("2026-06-05", 300_000, 30, None),
    ]


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of the clock cannot be set here")
def test_days_are_those_of_the_users_zone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=10).shut_down(**shutdown(opus=10), **NEWER)
    log.add("session.resume").ask().say(outputTokens=5).shut_down(**shutdown(opus=30), **NEWER)
    for number, event in enumerate(log.events):  # the second run is after midnight in Auckland alone
        hour = "08" if number < 4 else "13"
        event["timestamp"] = f"2026-06-02T{hour}{event['timestamp'][13:]}"
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()

    with Archive(tmp_path / "archive.db", write=True) as archive:
        archive.put(concluded_entry(read_cleanly(tmp_path, log)), "made up")
        local = spend_by(choose(archive), "day", prices=False)
        utc = spend_by(choose(archive, Selection(utc=True)), "day", prices=False)

    assert [(row.name, row.input) for row in local] == [("2026-06-02", 100), ("2026-06-03", 200)]
    assert [(row.name, row.input) for row in utc] == [("2026-06-02", 300)]


def test_fork_counts_only_its_own_runs(tmp_path: Path) -> None:
    parent_id, child_id = "0f1e2d3c-0000-4000-8000-00000000000a", "0f1e2d3c-0000-4000-8000-000000000001"

    def run() -> Log:
        return Log().start(selectedModel="opus").ask().say(outputTokens=90).shut_down(**shutdown(opus=100), **NEWER)

    fork = run().add(
        "session.info",
        {"infoType": "fork", "message": f'Forked from "Lamps" ({parent_id}) as "Other lamps" ({child_id}).'},
    )
    fork.ask("else?").say(outputTokens=10).shut_down(**shutdown(opus=400), **NEWER)
    parent = read_cleanly(tmp_path / "parent", run())
    parent.id, parent.native_id = f"cli:{parent_id}", parent_id

    with Archive(tmp_path / "archive.db", write=True) as archive:
        for conversation in (parent, read_cleanly(tmp_path / "fork", fork)):
            archive.put(concluded_entry(conversation), "made up")
        (total,) = spend_by(choose(archive), "total", prices=False)

    assert total.input == 1_000 + 3_000  # and not a share of the fork's 4,000


def test_fork_without_a_notice_is_a_conversation_of_its_own(tmp_path: Path) -> None:
    """Releases before 1.0.102 copied the events of a session, with their ids, and did not tell of it in a known way."""

    def run(session: str) -> Log:
        log = Log().start(selectedModel="opus", sessionId=session).ask().say(outputTokens=90)
        log.shut_down(**shutdown(opus=100), **NEWER)
        for event in log.events:
            event["id"] = f"{event['id']:0>36}"
        return log

    parent, child = "0f1e2d3c-0000-4000-8000-00000000000a", "0f1e2d3c-0000-4000-8000-000000000001"
    fork = run(child).ask("else?").say(outputTokens=10).shut_down(**shutdown(opus=400), **NEWER)
    for session, log in ((parent, run(parent)), (child, fork)):
        path = tmp_path / ".copilot" / "session-state" / session / "events.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text("\n".join(log.lines()) + "\n")

    with Archive(tmp_path / "archive.db", write=True) as archive:
        scan(archive, roots=find_roots([tmp_path]))
        (total,) = spend_by(choose(archive), "total", prices=False)
        assert [row.id for row in archive.list()] == [f"cli:{child}", f"cli:{parent}"]

    assert (total.turns, total.input) == (2, 1_000 + 3_000)
