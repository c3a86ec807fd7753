"""Made-up homes with sessions of VS Code and of Copilot CLI side by side, the same bytes for the same seed.

Another home has logs of Copilot CLI alone: so many that search has something to do, and in a few of them a word that is
nowhere else.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.bench_events import LogWriter
from benchmarks.generate import Written, write_home
from benchmarks.words import Json, Words

STATE_FOLDER = ".copilot/session-state"
# How long the logs of Copilot CLI are, in bytes. A log ends with the model's turn that reaches its length.
LOG_SIZES = (
    *(8_000, 50_000, 12_000, 130_000, 20_000, 65_000, 8_000, 80_000, 30_000, 10_000),
    *(15_000, 180_000, 12_000, 40_000, 105_000, 15_000, 60_000, 8_000, 250_000, 25_000),
)
MESSAGE_EVENTS = {"user.message", "assistant.message", "tool.execution_complete"}
RARE_WORD = "quillwort"  # no word that is made of syllables comes out like this
RARE_EVERY = 2000  # so many logs, and in one of them is the rare word
COMMON_LENGTH = 4  # the least for a word that an index of trigrams can find, too


class WrittenLogs(NamedTuple):
    """What a home of logs came to."""

    bytes: int
    sessions: int
    messages: int
    rare_word: str
    common_word: str


class _Log(NamedTuple):
    bytes: int
    messages: int


def write_both(folder: Path, sessions: int, seed: int) -> Written:
    """Write a home in which half of the sessions are of VS Code and half of Copilot CLI."""
    logs = sessions // 2
    vscode = write_home(folder, sessions - logs, seed)
    maker = _LogMaker(folder, seed)
    size = sum(maker.write().bytes for _ in range(logs))
    return Written(vscode.bytes + size, sessions, vscode.files + 2 * logs)


def write_messages(folder: Path, messages: int, seed: int) -> WrittenLogs:
    """Write sessions of Copilot CLI until they have so many messages, the results of tools among them."""
    maker = _LogMaker(folder, seed)
    size = sessions = written = 0
    while written < messages:
        log = maker.write(RARE_WORD if sessions % RARE_EVERY == 0 else None)
        size, sessions, written = size + log.bytes, sessions + 1, written + log.messages
    return WrittenLogs(size, sessions, written, RARE_WORD, common_word(maker.writer.words))


def common_word(words: Words) -> str:
    """The word that is used most, of those that are long enough for any index."""
    counts = Counter(word for word in words.words if len(word) >= COMMON_LENGTH)
    return min(counts, key=lambda word: (-counts[word], word))


class _LogMaker:
    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder / STATE_FOLDER
        self.writer = LogWriter(seed)
        self.rng = random.Random(seed)

    def write(self, planted: str | None = None) -> _Log:
        """Write one more session; a planted word stands in its first prompt."""
        least = int(self.rng.choice(LOG_SIZES) * self.rng.uniform(0.5, 1.5))
        self.writer.last_id = None
        events = self.writer.events()
        start = next(events)
        lines, messages = [_line(start)], 0
        for event in _until(events, least):
            if planted and event["type"] == "user.message":
                event["data"]["content"] += f" {planted}"
                planted = None
            messages += event["type"] in MESSAGE_EVENTS
            lines.append(_line(event))
        return _Log(self._save(start["data"], b"".join(lines)), messages)

    def _save(self, start: Json, log: bytes) -> int:
        context = start["context"]
        about = f"id: {start['sessionId']}\ncwd: {context['cwd']}\nbranch: {context['branch']}\n"
        about += f"summary: {self.writer.words.sentence()}\n"
        session = self.folder / start["sessionId"]
        session.mkdir(parents=True)
        (session / "events.jsonl").write_bytes(log)
        (session / "workspace.yaml").write_bytes(about.encode())
        return len(log) + len(about.encode())


def _until(events: Iterator[Json], least: int) -> Iterator[Json]:
    """Events that take up at least so many bytes and end with a whole turn of the model."""
    written = 0
    for event in events:
        yield event
        written += len(_line(event))
        if written >= least and event["type"] == "assistant.turn_end":
            return


def _line(event: Json) -> bytes:
    return msgspec.json.encode(event) + b"\n"
