"""Sessions of Copilot CLI that are resumed over days, made up from a seed, and what each day used.

A session runs on two to four days, and writes totals of each run or, as releases since 1.0.61 do, of all runs so far.
Every run uses one of two models, which makes each day's tokens a sum that is known. A turn has several calls, so that
no prompt is long: programs differ in what a long one costs.
"""

from __future__ import annotations

import json
import random
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

Json = dict[str, Any]

MODELS = ("claude-sonnet-4.5", "gpt-5")
CALLS = 4  # of a model, in each turn
FIRST = datetime(2026, 6, 1, 9, tzinfo=UTC)
STATE_FOLDER = Path(".copilot/session-state")


class Used(NamedTuple):
    """Tokens of a day: all that went in, the part of it that came from a cache, and what came out; and the calls."""

    input: int = 0
    cached: int = 0
    output: int = 0
    calls: int = 0

    def plus(self, other: Used) -> Used:
        return Used(*(one + more for one, more in zip(self, other, strict=True)))


Truth = dict[str, dict[str, Used]]  # by day, then by model


def write_home(home: Path, sessions: int, seed: int, *, cumulative: bool) -> Truth:
    """Write the sessions below a home, and return what they used."""
    chance = random.Random(seed)
    truth: Truth = {}
    for number in range(sessions):
        _write_session(home, number, chance, truth, is_cumulative=cumulative)
    return truth


class _Log:
    def __init__(self, session: str) -> None:
        self.session = session
        self.lines: list[str] = []
        self._last: str | None = None

    def add(self, kind: str, at: datetime, data: Json) -> None:
        name = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.session}/{len(self.lines)}"))
        stamp = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        event = {"type": kind, "data": data, "id": name, "timestamp": stamp, "parentId": self._last}
        self.lines.append(json.dumps(event, separators=(",", ":")))
        self._last = name


def _write_session(home: Path, number: int, chance: random.Random, truth: Truth, *, is_cumulative: bool) -> None:
    session = str(uuid.uuid5(uuid.NAMESPACE_URL, f"resumed/{number}"))
    log = _Log(session)
    at = FIRST + timedelta(days=chance.randrange(20), minutes=chance.randrange(300))
    data = {"sessionId": session, "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.70"}
    context = {"cwd": f"/home/ana/work-{number % 5}"}
    log.add("session.start", at, data | {"startTime": at.isoformat(), "context": context})
    so_far: dict[str, Used] = {}
    for run in range(chance.randrange(2, 5)):
        if run:
            at += timedelta(days=chance.randrange(1, 4))
            log.add("session.resume", at, {"resumeTime": at.isoformat(), "eventCount": len(log.lines)})
        model = chance.choice(MODELS)
        used = _write_turns(log, at, model, chance)
        day = truth.setdefault(at.date().isoformat(), {})
        day[model] = day.get(model, Used()).plus(used)
        so_far = {**so_far, model: so_far.get(model, Used()).plus(used)} if is_cumulative else {model: used}
        at += timedelta(hours=1)
        newer: Json = {"eventsFileSizeBytes": 1} if is_cumulative else {}
        log.add("session.shutdown", at, _totals(so_far, run + 1) | newer)
    path = home / STATE_FOLDER / session / "events.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(log.lines) + "\n", encoding="utf-8")


def _write_turns(log: _Log, at: datetime, model: str, chance: random.Random) -> Used:
    """Write some turns, and return what they used; the answers tell only what came out."""
    output = 0
    turns = chance.randrange(1, 4)
    for turn in range(turns):
        then = at + timedelta(minutes=10 * turn)
        answer = chance.randrange(50, 900)
        output += answer
        log.add("user.message", then, {"content": f"Please look at part {turn}.", "attachments": []})
        for call in range(CALLS):
            part = answer // CALLS + (answer % CALLS if call == 0 else 0)
            said = {"messageId": f"m{len(log.lines)}", "content": "Done.", "model": model, "outputTokens": part}
            log.add("assistant.message", then + timedelta(minutes=call + 1), said)
    given = chance.randrange(20_000, 400_000)
    return Used(given, chance.randrange(given // 2, given), output, turns * CALLS)


def _totals(models: dict[str, Used], requests: int) -> Json:
    metrics = {
        model: {
            "requests": {"count": used.calls, "cost": requests},
            "usage": {
                "inputTokens": used.input,
                "outputTokens": used.output,
                "cacheReadTokens": used.cached,
                "cacheWriteTokens": 0,
            },
        }
        for model, used in models.items()
    }
    whole = {"totalPremiumRequests": requests, "totalApiDurationMs": 1, "modelMetrics": metrics}
    return {"shutdownType": "routine", **whole}
