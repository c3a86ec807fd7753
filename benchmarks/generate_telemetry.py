"""Made-up telemetry of Copilot Chat: overlapping snapshots of agents at work, and all the small events around them.

    python -m benchmarks.generate_telemetry OUT_DIR --mib 64 --seed 1

Every round of an agent sends the whole conversation so far, so a few megabytes of text become a gigabyte of events.
The same seed and size give the same bytes. Format notes: docs/formats/telemetry.md
"""

from __future__ import annotations

import argparse
import random
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from benchmarks.telemetry_events import Sender, TextPool
from benchmarks.telemetry_turns import ConversationMaker

MIB = 1 << 20
MOST_AT_ONCE = 12  # conversations that are under way at the same time, in several windows of several people
LEAST_AT_ONCE = 3
LARGEST_FILE = 96 * MIB
LEAST_FILES = 3
OVERLAP = 6  # lines that an export has in common with the next
BROKEN_LINES = (
    b'{"name":"copilot-chat/engine.messages","data":{"baseData":{"properties":{"conversationId":"cut',
    b"<html><body>502 Bad Gateway</body></html>",
    b'{"name":"copilot-chat/request.sent","note":"\xff\xfe"}',
    b'["copilot-chat/request.sent"]',
    b"",
)


class Written(NamedTuple):
    """What a folder of telemetry holds."""

    bytes: int
    events: int
    conversations: int
    files: int


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generate_telemetry", description="Make up telemetry.")
    parser.add_argument("folder", type=Path, metavar="OUT_DIR")
    parser.add_argument("--mib", type=float, default=64, help="how much to write, in MiB (64)")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other events (1)")
    options = parser.parse_args()
    written = write_telemetry(options.folder, int(options.mib * MIB), options.seed)
    print(
        f"{written.bytes:,} bytes, {written.events:,} events of {written.conversations:,} conversations"
        f" in {written.files} files"
    )


def write_telemetry(folder: Path, size: int, seed: int) -> Written:
    """Write about this many bytes of telemetry below a folder, in files as exports of single hours would be."""
    maker = _Stream(seed, min(max(size // MIB, LEAST_AT_ONCE), MOST_AT_ONCE))
    largest_file = min(LARGEST_FILE, size // LEAST_FILES + 1)
    total = events = files = 0
    last_lines: deque[bytes] = deque(maxlen=OVERLAP)
    lines = maker.lines()
    while total < size:
        path = folder / f"{8 + files // 24:02}" / f"{files % 24:02}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb", buffering=MIB) as file:
            in_file = _write_lines(file, list(last_lines))
            events += len(last_lines)
            for line in lines:
                in_file += _write_lines(file, [line])
                events += 1
                last_lines.append(line)
                if in_file >= largest_file or total + in_file >= size:
                    break
        total += in_file
        files += 1
    return Written(total, events, maker.begun, files)


def _write_lines(file: BinaryIO, lines: list[bytes]) -> int:
    return sum(file.write(line + b"\n") for line in lines)


class _Stream:
    """The endless stream of lines of everybody's conversations."""

    def __init__(self, seed: int, at_once: int) -> None:
        self.rng = random.Random(seed)
        self.at_once = at_once
        self.pools = [TextPool(self.rng, is_ascii=is_ascii) for is_ascii in (True, False)]
        self.begun = 0

    def lines(self) -> Iterator[bytes]:
        """All lines, with what exports do to them: some come twice, and now and then one is broken."""
        rng = self.rng
        remembered = b'{"name":"copilot-chat/extension.activate"}'
        for line in self._events():
            yield line
            chance = rng.random()
            if chance < 0.02:
                remembered = line
            elif chance < 0.03:
                yield remembered
            elif chance < 0.0305:
                yield rng.choice(BROKEN_LINES)

    def _events(self) -> Iterator[bytes]:
        under_way = [self._new_conversation() for _ in range(self.at_once)]
        while True:
            index = self.rng.randrange(self.at_once)
            some = next(under_way[index], None)
            if some is None:
                under_way[index] = self._new_conversation()
            else:
                yield from some

    def _new_conversation(self) -> Iterator[list[bytes]]:
        self.begun += 1
        pool = self.pools[self.rng.random() < 0.35]
        return ConversationMaker(pool, Sender(self.rng, self.begun)).rounds()


if __name__ == "__main__":
    main()
