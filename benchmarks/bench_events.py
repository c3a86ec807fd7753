"""How long it takes to read one long log of Copilot CLI, and how much memory, against a fast parser alone.

    python -m benchmarks.bench_events [--megabytes 300] [--seed 1] [--rounds 3] [--folder DIR] [--json]

A log is made up from the seed and written line by line. Each contender then reads it in a process of its own, on one
core: orjson decodes each line and forgets it; copilog reads the whole conversation; copilog streams its messages.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import processes

SMALLEST_TIME = 1e-9
BASELINE = "orjson, line by line"
Json = dict[str, Any]

FOLDER = "/home/ana/shop"
MODEL = "claude-sonnet-4.6"
# What interactions have on average, measured on real logs.
ROUNDS = 6
CALLS = (1, 1, 2, 2, 3)  # of tools in one round
PROMPT_BYTES = 280
ANSWER_BYTES = 350
NEW_FILE_BYTES = 9_000
SYSTEM_BYTES = 16_000
WITH_SYSTEM = 0.2  # part of the prompts before which the system's prompt is written again
WITH_HOOK = 0.78  # part of the calls after which a hook runs; it gets arguments and result once more

CAVEATS = """\
Seconds are those of the processor, so that a busy machine matters less. What these numbers do not show:
- cold disks: the log was just written, so it comes from memory;
- your own logs: the text is made up, and long tool output makes a log faster to read than many short events do;
- what orjson would need to do the same: it decodes and forgets, copilog pairs calls with results, counts each record
  and keeps the model of the whole conversation (read) or of the current turn (stream)."""


def main() -> None:
    options = _parser().parse_args()
    if options.make is not None:
        print(json.dumps(write_log(options.make, options.megabytes * 1_000_000, options.seed)))
    elif options.contender is not None:
        _run_contender(options.contender, options.log)
    elif options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
        _print(_measure(options.folder, options), as_json=options.json)
    else:
        with tempfile.TemporaryDirectory(prefix="copilog-bench-") as folder:
            _print(_measure(Path(folder), options), as_json=options.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_events", description="How fast logs are read.")
    parser.add_argument("--megabytes", type=int, default=300, help="how long the log is to be (300)")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes another log (1)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each contender runs (3)")
    parser.add_argument("--folder", type=Path, help="where to write the log, which then stays there")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    for internal in ("--make", "--log"):
        parser.add_argument(internal, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--contender", help=argparse.SUPPRESS)
    return parser


# --- the log --------------------------------------------------------------------------------------------------------


def write_log(path: Path, size: int, seed: int) -> Json:
    """Write a log of about this size, and say what is in it."""
    written = count = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb", buffering=1 << 20) as file:
        for event in LogWriter(seed).events():
            line = json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
            file.write(line)
            written += len(line)
            count += 1
            if written >= size:
                break
    return {"bytes": written, "events": count}


class Tool(NamedTuple):
    """How often a tool is called, and how long what it gives back is on average."""

    weight: int
    result_bytes: int


TOOLS = {
    "report_intent": Tool(21, 0),
    "view": Tool(24, 7_000),
    "bash": Tool(26, 1_300),
    "edit": Tool(9, 0),
    "create": Tool(6, 0),
    "web_search": Tool(8, 8_000),
    "grep": Tool(6, 2_000),
}


class LogWriter:
    """Makes up the events of one endless session."""

    def __init__(self, seed: int) -> None:
        from benchmarks.words import Words

        self.words = Words(random.Random(seed))
        self.at = datetime(2026, 3, 1, 8, tzinfo=UTC)
        self.last_id: str | None = None
        self.session_id = ""

    def event(self, event_type: str, data: Json) -> Json:
        self.at += timedelta(milliseconds=self.words.rng.randint(1, 4000))
        event_id = self.words.uuid()
        made = {
            "type": event_type,
            "data": data,
            "id": event_id,
            "timestamp": self._moment(),
            "parentId": self.last_id,
        }
        self.last_id = event_id
        return made

    def _moment(self) -> str:
        return self.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def events(self) -> Iterator[Json]:
        self.session_id = self.words.uuid()
        start: Json = {
            "sessionId": self.session_id,
            "version": 1,
            "producer": "copilot-agent",
            "copilotVersion": "1.0.60",
        }
        context = {"cwd": FOLDER, "gitRoot": FOLDER, "branch": "main", "repository": "ana/shop", "hostType": "github"}
        start |= {"startTime": self._moment(), "selectedModel": MODEL}
        yield self.event("session.start", {**start, "context": context, "alreadyInUse": False})
        while True:
            yield from self._interaction()

    def _interaction(self) -> Iterator[Json]:
        words = self.words
        interaction = words.uuid()
        if words.chance(WITH_SYSTEM):
            yield self.event("system.message", {"role": "system", "content": words.prose_of(SYSTEM_BYTES)})
        prompt = words.prose_of(words.size(PROMPT_BYTES, 1.5))
        sent = f"<current_datetime>{self.at.isoformat()}</current_datetime>\n\n{prompt}\n\n{words.prose(2, 3)}"
        data = {"content": prompt, "transformedContent": sent, "attachments": [], "interactionId": interaction}
        yield self.event("user.message", data)
        rounds = words.rng.randint(1, 2 * ROUNDS)
        for number in range(rounds):
            is_last = number == rounds - 1
            calls = 0 if is_last else words.rng.choice(CALLS)
            yield from self._round(str(number), interaction, calls)

    def _round(self, turn_id: str, interaction: str, calls: int) -> Iterator[Json]:
        words = self.words
        yield self.event("assistant.turn_start", {"turnId": turn_id, "interactionId": interaction})
        requests = [self._request() for _ in range(calls)]
        text = words.prose_of(words.size(ANSWER_BYTES)) if not requests or words.chance(0.2) else ""
        message: Json = {"messageId": words.uuid(), "content": text}
        message |= {"toolRequests": requests, "interactionId": interaction, "turnId": turn_id}
        message |= {"model": MODEL, "outputTokens": words.rng.randint(20, 900)}
        if words.chance(0.45):
            message["reasoningOpaque"] = words.opaque(words.size(590, 0.5))
        if words.chance(0.4):
            message["encryptedContent"] = words.opaque(words.size(3_200, 0.5))
        if words.chance(0.23):
            message["reasoningText"] = words.prose_of(words.size(620, 0.5))
        yield self.event("assistant.message", message)
        for request in requests:
            yield from self._run(request, interaction)
        yield self.event("assistant.turn_end", {"turnId": turn_id})

    def _request(self) -> Json:
        words = self.words
        path = f"{FOLDER}/{words.path()}"
        name = words.rng.choices(list(TOOLS), [tool.weight for tool in TOOLS.values()])[0]
        arguments: Json = {"path": path}
        if name == "bash":
            command = f"cat {path} | head -50 && python -m {words.word()} --{words.word()}"
            arguments = {"command": command, "description": words.sentence()}
        elif name == "create":
            arguments["file_text"] = words.code_of(words.size(NEW_FILE_BYTES))
        elif name == "edit":
            arguments |= {"old_str": words.code_of(words.size(700)), "new_str": words.code_of(words.size(1_100))}
        elif name == "report_intent":
            arguments = {"intent": " ".join(words.word() for _ in range(4))}
        elif name == "web_search":
            arguments = {"query": words.sentence()}
        elif name == "grep":
            arguments |= {"pattern": words.word(), "output_mode": "content"}
        return {
            "toolCallId": f"toolu_{words.rng.getrandbits(96):024x}",
            "name": name,
            "arguments": arguments,
            "type": "function",
        }

    def _run(self, request: Json, interaction: str) -> Iterator[Json]:
        words, name, arguments = self.words, request["name"], request["arguments"]
        call = {"toolCallId": request["toolCallId"], "toolName": name, "arguments": arguments}
        yield self.event("tool.execution_start", call)
        content, detailed = self._result(name, arguments)
        properties = {"command": name, "options": words.sentence()[:80], "fileExtension": ".py"}
        telemetry = {"properties": properties, "metrics": {"resultLength": len(content)}}
        if words.chance(WITH_HOOK):
            hook = {"hookInvocationId": words.uuid(), "hookType": "postToolUse"}
            result = {"resultType": "success", "textResultForLlm": content, "sessionLog": detailed}
            given = {"sessionId": self.session_id, "timestamp": int(self.at.timestamp() * 1000), "cwd": FOLDER}
            given |= {"toolName": name, "toolArgs": arguments, "toolResult": {**result, "toolTelemetry": telemetry}}
            yield self.event("hook.start", {**hook, "input": given})
            yield self.event("hook.end", {**hook, "success": True})
        done = {"toolCallId": request["toolCallId"], "model": MODEL, "interactionId": interaction, "success": True}
        done["result"] = {"content": content, "detailedContent": detailed}
        yield self.event("tool.execution_complete", {**done, "toolTelemetry": telemetry})

    def _result(self, name: str, arguments: Json) -> tuple[str, str]:
        """What a tool told the model, and what it showed."""
        words = self.words
        if name == "report_intent":
            return "Intent logged", str(arguments["intent"])
        if name == "edit":
            return "updated", _diff(arguments["old_str"], arguments["new_str"])
        if name == "create":
            return "created", _diff("", arguments["file_text"])
        text = words.code_of(words.size(TOOLS[name].result_bytes))
        return text, text


def _diff(old: str, new: str) -> str:
    removed, added = old.splitlines(), new.splitlines()
    counts = f"@@ -{min(1, len(removed))},{len(removed)} +{min(1, len(added))},{len(added)} @@"
    lines = [f"-{line}" for line in removed] + [f"+{line}" for line in added]
    return "\n".join(["", "diff --git a/x b/x", "--- a/x", "+++ b/x", counts, *lines, ""])


# --- in a process of its own ----------------------------------------------------------------------------------------


def _orjson(path: Path) -> int:
    import orjson

    count = 0
    with path.open("rb", buffering=1 << 20) as file:
        for line in file:
            orjson.loads(line)
            count += 1
    return count


def _copilog_read(path: Path) -> int:
    from copilog.diagnostics import Ledger
    from copilog.sources.base import Found
    from copilog.sources.cli.events import CliEvents

    ledger = Ledger(path=str(path))
    conversations = list(CliEvents().read(Found(path, CliEvents.name, path.stem), ledger))
    return _checked(ledger, len(conversations) == 1)


def _copilog_stream(path: Path) -> int:
    from copilog.diagnostics import Ledger
    from copilog.sources.base import Found
    from copilog.sources.cli.events import CliEvents, stream_messages

    ledger = Ledger(path=str(path))
    count = sum(1 for _ in stream_messages(Found(path, CliEvents.name, path.stem), ledger))
    return _checked(ledger, count > 0)


def _checked(ledger: Any, is_there: bool) -> int:
    if not is_there or not ledger.balances() or ledger.bad:
        raise SystemExit("the made-up log was not read cleanly; its numbers mean nothing")
    return int(ledger.seen)


CONTENDERS: dict[str, Callable[[Path], int]] = {
    BASELINE: _orjson,
    "copilog, read": _copilog_read,
    "copilog, stream": _copilog_stream,
}


def _run_contender(name: str, log: Path) -> None:
    processes.stay_on_one_core()
    begun = time.process_time()
    events = CONTENDERS[name](log)
    seconds = max(time.process_time() - begun, SMALLEST_TIME)
    print(json.dumps({"seconds": seconds, "events": events, "peak_bytes": processes.peak_bytes()}))


# --- measuring and showing ------------------------------------------------------------------------------------------


def _measure(folder: Path, options: argparse.Namespace) -> Json:
    log = folder / f"events-{options.megabytes}-{options.seed}.jsonl"
    if log.exists():
        raise SystemExit(f"{log} is already there; name another --folder")
    written = _child("--make", log, "--megabytes", options.megabytes, "--seed", options.seed)
    rows: dict[str, Json] = {}
    for _ in range(options.rounds):
        for name in CONTENDERS:
            result = _child("--contender", name, "--log", log)
            best = rows.setdefault(name, result)
            best["seconds"] = min(best["seconds"], result["seconds"])
    for row in rows.values():
        row["bytes_per_second"] = written["bytes"] / row["seconds"]
        row["ratio"] = row["seconds"] / rows[BASELINE]["seconds"]
    return {"machine": processes.machine(), "seed": options.seed, "log": written, "contenders": rows}


def _child(*arguments: object) -> Json:
    return processes.child("benchmarks.bench_events", *arguments)


def _print(measured: Json, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(measured, indent=2))
        return
    log = measured["log"]
    print(f"{measured['machine']}; seed {measured['seed']}; {log['bytes'] / 1e6:,.0f} MB, {log['events']:,} events\n")
    print(f"{'':24}{'seconds':>10}{'MB/s':>8}{'ratio':>8}{'peak MB':>10}")
    for name, row in measured["contenders"].items():
        peak = "-" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 1e6:,.0f}"
        speed = f"{row['bytes_per_second'] / 1e6:,.0f}"
        print(f"{name:24}{row['seconds']:>10.3f}{speed:>8}{row['ratio']:>8.2f}{peak:>10}")
    print(f"\nratio: seconds against those of {BASELINE}; peak: the most memory of the process\n")
    print(CAVEATS)


if __name__ == "__main__":
    main()
