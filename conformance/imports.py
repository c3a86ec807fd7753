"""Judge what `copilog export --format copilot-cli` writes by the program it is for.

Each conversation is exported, checked by `copilot sessions import --dry-run`, and imported: the session that the
program wrote has to contain, in order, what the conversation has. Some are resumed against the model server, which has
to get their prompts and the last answer; of all else the program sends what it finds worth its length.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from conformance.cli_driver import KEPT
from conformance.model_server import ModelServer
from conformance.programs import command_of, prepare, unpacked_folder
from conformance.scenario import Script, Step
from copilog.cli.common import sample_home
from copilog.derive import ends_of
from copilog.exports.copilot_cli import FORMAT
from copilog.exports.formats import Making
from copilog.exports.index import entry_of
from copilog.ingest import discover, read
from copilog.model import Conversation, Text, ToolCall, ToolResult

MARK = "GOES-ON"
SECONDS = 120
BEGINNING = 80  # characters of a result that are compared: the program may cut what is long


class Judged(msgspec.Struct, kw_only=True):
    """What the program said of one conversation."""

    id: str
    messages: int
    calls: int
    problem: str | None = None
    is_resumed: bool = False


def judge(folders: Iterable[Path], version: str, resumed: int) -> Iterator[Judged]:
    """Import every conversation below the folders, and resume the first few of each source."""
    prepare(version)
    seen: dict[str, int] = {}
    for conversation in _conversations(folders):
        for end in ends_of(conversation):
            text = b"".join(map(_as_bytes, FORMAT.pieces([end], [entry_of(end)], Making(by="copilog"))))
            if not text:
                continue
            number = seen[end.source] = seen.get(end.source, 0) + 1
            with tempfile.TemporaryDirectory(prefix="copilog-import-") as scratch:
                yield _judged(end, text, version, Path(scratch), is_resumed=number <= resumed)


def _conversations(folders: Iterable[Path]) -> Iterator[Conversation]:
    for folder in folders:
        for found in discover([folder]):
            yield from read(found)


def _judged(conversation: Conversation, text: bytes, version: str, scratch: Path, *, is_resumed: bool) -> Judged:
    records = [json.loads(line) for line in text.splitlines()]
    kinds = [record["type"] for record in records]
    judged = Judged(id=conversation.id, messages=kinds.count("message"), calls=kinds.count("tool-call"))
    path, work = scratch / "conversation.jsonl", scratch / "work"
    path.write_bytes(text)
    work.mkdir()
    options = ["--output", "json", "--working-directory", str(work), str(path)]
    wanted = {"messages": judged.messages, "toolCalls": judged.calls, "toolResults": kinds.count("tool-result")}
    for more in (["--dry-run"], []):
        answer = _run([*command_of(version), "sessions", "import", *more, *options], scratch, work)
        said = json.loads(answer.stdout or "{}")
        if not said.get("ok") or any(said["imported"][name] != number for name, number in wanted.items()):
            judged.problem = f"{' '.join(more)}: {answer.stdout[:500]}{answer.stderr[:500]}"
            return judged
    events = scratch / "home" / ".copilot" / "session-state" / said["sessionId"] / "events.jsonl"
    judged.problem = _missing(list(_wanted(conversation)), list(_recorded(events)))
    if is_resumed and judged.problem is None:
        judged.is_resumed = True
        judged.problem = _resume(conversation, said["sessionId"], version, scratch, work)
    return judged


def _resume(conversation: Conversation, session_id: str, version: str, scratch: Path, work: Path) -> str | None:
    """Return what the model did not get; None if it got everything in order."""
    with ModelServer({MARK: Script(steps=[Step(text="So be it.")])}) as server:
        command = [*command_of(version), "-p", f"[[{MARK}]] Go on", "--allow-all-tools", f"--resume={session_id}"]
        answer = _run(command, scratch, work, server.url)
        bodies = [body for served, body in zip(server.log, server.requests, strict=True) if served.script == MARK]
    if not bodies:
        return f"resume: the model was not asked: {answer.stdout[-500:]}{answer.stderr[-500:]}"
    wanted = list(_wanted(conversation))
    last_answer = [said for said in wanted if said.kind == "assistant"][-1:]
    texts = [said for said in wanted if said.kind == "user" or said in last_answer]
    return _missing(texts, list(_sent(bodies[0]["messages"])))


class Said(NamedTuple):
    """Something of a conversation: a text of a role, the name of a call, or a result."""

    kind: str
    text: str


def _missing(wanted: list[Said], sent: list[Said]) -> str | None:
    """Return what is not there of what has to be: texts and calls in their order, results anywhere."""
    results = [said.text for said in sent if said.kind in ("result", "user")]  # users run commands, too
    position = 0
    for said in wanted:
        if said.kind == "result":
            found = any(said.text in text for text in results)
        else:
            places = (
                place
                for place in range(position, len(sent))
                if sent[place].kind == said.kind and said.text in sent[place].text
            )
            place = next(places, None)
            found, position = place is not None, position if place is None else place
        if not found:
            return f"this {said.kind} is not there, or not in this order: {said.text[:200]!r}"
    return None


def _wanted(conversation: Conversation) -> Iterator[Said]:
    """Yield what the model has to get of a conversation: its prompts, answers, calls and results."""
    for message in conversation.messages:
        if message.parent_call_id is not None:
            continue
        for part in message.parts:
            if isinstance(part, Text) and part.text.strip() and message.role != "system":
                yield Said(message.role, max(part.text.strip().splitlines(), key=len).strip())
            elif isinstance(part, ToolCall) and part.status != "prepared":
                yield Said("user" if message.role == "user" else "call", part.name)
            elif isinstance(part, ToolResult) and part.text.strip():
                yield Said("result", part.text.strip().splitlines()[0][:BEGINNING])


def _recorded(events: Path) -> Iterator[Said]:
    """Yield what the program wrote into the session."""
    for line in events.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        kind, data = event["type"], event["data"]
        if kind in ("user.message", "assistant.message"):
            yield Said(kind.partition(".")[0], data["content"])
            for call in data.get("toolRequests", ()):
                yield Said("call", call["name"])
        elif kind == "tool.execution_complete":
            yield Said("result", (data.get("result") or data.get("error") or {}).get("content") or str(data))


def _sent(messages: list[dict[str, Any]]) -> Iterator[Said]:
    for message in messages:
        content = message.get("content") or ""
        text = content if isinstance(content, str) else "".join(piece.get("text", "") for piece in content)
        yield Said(message["role"], text)


def _run(command: list[str], scratch: Path, work: Path, url: str | None = None) -> subprocess.CompletedProcess[str]:
    home = scratch / "home"
    home.mkdir(exist_ok=True)
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    environment |= {
        "HOME": str(home),
        "COPILOT_HOME": str(home / ".copilot"),
        "COPILOT_CACHE_HOME": str(unpacked_folder()),
        "COPILOT_PKG_CACHE_HOME": str(unpacked_folder()),
        "XDG_CACHE_HOME": str(unpacked_folder()),
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
    }
    if url is not None:
        environment |= {
            "COPILOT_ALLOW_ALL": "true",
            "COPILOT_PROVIDER_BASE_URL": url,
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_PROVIDER_WIRE_API": "completions",
            "COPILOT_MODEL": "gpt-5-mini",
        }
    return subprocess.run(
        command, cwd=work, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def _as_bytes(piece: str | bytes) -> bytes:
    return piece if isinstance(piece, bytes) else piece.encode()


def print_judged(folders: list[Path], version: str, resumed: int) -> int:
    """Judge, print a line for each conversation that was refused and the sum, and return the exit status."""
    judged = list(judge(folders or [sample_home()], version, resumed))
    for one in judged:
        if one.problem is not None:
            print(f"{one.id}: {one.problem}")
    refused = sum(one.problem is not None for one in judged)
    again = sum(one.is_resumed for one in judged)
    print(f"Copilot CLI {version}: {len(judged)} conversations imported, {again} of them resumed; {refused} problems")
    return 1 if refused or not judged else 0
