"""A log of Copilot CLI that was damaged between two scans: all turns are there, and nothing is there twice."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from copilog.derive import conclude
from copilog.identity.earlier import with_earlier
from copilog.model import Conversation, Text, ToolCall
from tests.sources.cli_builders import Log, read_log

NOON = datetime(2026, 6, 2, 12, tzinfo=UTC)
PAUSES = {"user.message": 7.0, "assistant.turn_start": 0.05}


def history(random: Random) -> Log:
    """Return a session of some turns with calls, answers and pauses."""
    log = Log().start()
    for turn in range(random.randint(1, 4)):
        log.ask(random.choice(["continue", f"question {turn} about the garden and its beds"]))
        log.add("assistant.turn_start", {"turnId": str(turn)})
        for step in range(random.randint(0, 2)):
            names = [f"toolu_{turn}{step}{number}" for number in range(random.randint(1, 3))]
            requests = [{"toolCallId": name, "name": "bash", "arguments": {}, "type": "function"} for name in names]
            log.say(random.choice(["", f"step {step} of turn {turn}"]), toolRequests=requests)
            for name in names:
                log.begin(name, "bash").end(name, f"output of {name}", success=random.random() < 0.7)
        if random.random() < 0.8:
            log.say(f"answer {turn}, which is long enough to be known again")
    at = NOON
    for event in log.events:
        at += timedelta(seconds=PAUSES.get(event["type"]) or random.choice([0.01, 0.4, 3]))
        event["timestamp"] = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return log


def mangled(line: str, random: Random) -> str:
    """Return a line that is torn, or in which ids of calls or of the event are wrong."""
    match random.choice(["cut", "calls", "event"]):
        case "cut":
            return line[: random.randint(1, len(line))]
        case "calls":
            return re.sub(r"toolu_\d+", lambda found: found[0][:-1] + random.choice(["x", '"', "\\u00e9", ""]), line)
        case _:
            return line.replace('"id": "e', f'"id": "mangled{random.randint(0, 9)}')


def damaged(log: Log, random: Random) -> str:
    lines = log.lines()
    for _ in range(random.randint(1, 2)):
        number = random.randrange(1, len(lines))
        lines[number] = mangled(lines[number], random)
    return "\n".join(lines) + "\n"


def content_counts(conversation: Conversation) -> Counter[str]:
    """Count the prompts, answers and calls."""
    counts: Counter[str] = Counter()
    for message in conversation.messages:
        for part in message.parts:
            if isinstance(part, ToolCall):
                counts[f"call {part.id}"] += 1
            elif isinstance(part, Text):
                counts[f"{message.role} {part.text}"] += 1
    return counts


@given(st.randoms(use_true_random=False))
def test_no_turn_is_lost_or_repeated_if_lines_are_damaged_between_scans(random: Random) -> None:
    log = history(random)
    with tempfile.TemporaryDirectory() as folder:
        before, _ = read_log(Path(folder), log)
        conclude(before)
        expected, turns = content_counts(before), len(before.turns)
        kept = before
        for _ in range(random.randint(1, 2)):
            now, _ = read_log(Path(folder), damaged(log, random))
            conclude(now)
            stored = msgspec.msgpack.decode(msgspec.msgpack.encode(kept), type=Conversation)
            kept = with_earlier(now, stored, lambda path: False)
            conclude(kept)

    found = content_counts(kept)
    assert {text: number for text, number in found.items() if 0 < expected[text] < number} == {}
    assert [text for text in expected if text.startswith("user ") and found[text] != expected[text]] == []
    assert len(kept.turns) == turns
