"""A scripted model server on loopback.

A marker `[[NAME]]` in a prompt picks the script, and the number of assistant messages after that prompt picks the step
(a count of calls where the script says `counted`). Requests of the program's own, such as that for a summary, are
recognized by their text and answered by the script of that name, or by a fixed answer. Every request is logged.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal

import msgspec

from conformance import wire
from conformance.scenario import MARKER, Script, Step, Tokens
from conformance.served import Kind, Served, call_id

# Requests of the programs' own, by texts of their first or last message: the script that answers them. Some quote the
# user's prompt with its marker, so they are looked for first.
OWN_TEXTS: dict[Literal["compaction", "title", "progress"], tuple[str, ...]] = {
    "compaction": ("<overview>", "checkpoint_title"),
    "title": ("Please write a brief title",),
    "progress": ("unique progress messages",),
}
UNSCRIPTED = Step(text="UNSCRIPTED ANSWER", tokens=Tokens(input=51, output=5))
POLL_SECONDS = 0.02
WORD_SECONDS = 0.2
MATCH = re.compile(r"\{match:([^}]+)\}")


class ModelServer:
    """Serve scripts from a thread, at 127.0.0.1 and a free port, while the `with` block runs.

    `fill` replaces the placeholders of a step's texts and arguments, when it is served.
    """

    def __init__(self, scripts: Mapping[str, Script], fill: Callable[[Step], Step] = lambda step: step) -> None:
        self._scripts = scripts
        self._fill = fill
        self._counts: Counter[str] = Counter()
        self._errors: Counter[tuple[str, int]] = Counter()
        self._lock = threading.Lock()
        self.log: list[Served] = []
        self.requests: list[dict[str, Any]] = []  # bodies, by number - 1
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._http.daemon_threads = True

    @property
    def url(self) -> str:
        """The base address for programs."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> ModelServer:
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()

    def wait(self, script: str, step: int = 0, *, answered: bool = False, seconds: float = 60.0) -> Served:
        """Wait until a step was asked for, or answered to its end. Raise TimeoutError after `seconds`."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for served in list(self.log):
                if (served.script, served.step) == (script, step) and (served.ended_at is not None or not answered):
                    return served
            time.sleep(POLL_SECONDS)
        raise TimeoutError(f"{script} {step} was not {'answered' if answered else 'asked for'} in {seconds:g} s")

    def take(self, path: str, body: dict[str, Any]) -> tuple[Step, Served]:
        """Choose the step for a request, and log it."""
        with self._lock:
            history = wire.history_of(body)
            kind, script, index, step = self._choose(history)
            step = _with_matches(self._fill(step), history)
            number = len(self.log) + 1
            served = Served(
                number=number,
                id=f"chatcmpl-scripted{number:04d}",
                kind=kind,
                script=script,
                step=index,
                model=str(body.get("model", "")),
                path=path,
                status=step.status,
                tokens=step.tokens if step.status == 200 else None,
                answer=step,
                call_ids=[call_id(script or "", index, position) for position in range(len(step.calls))],
                tools=wire.tools_of(body),
                began_at=datetime.now(UTC),
            )
            self.log.append(served)
            self.requests.append(body)
        return step, served

    def _choose(self, history: list[wire.Said]) -> tuple[Kind, str | None, int, Step]:
        first = history[0].text[:6000] if history else ""
        last = history[-1].text if history else ""
        for kind, texts in OWN_TEXTS.items():
            if any(text in first or text in last for text in texts):
                return self._own(kind)
        name, answers = self._find(history)
        if name is None:
            return "unscripted", None, 0, UNSCRIPTED
        script = self._scripts[name]
        if script.counted:
            answers = self._counts[name]
            self._counts[name] += 1
        index = self._step_after(name, script, answers)
        return "chat", name, index, script.steps[index]

    def _own(self, kind: Kind) -> tuple[Kind, str | None, int, Step]:
        """Return the next step of the script that is named like a kind of request, in capitals."""
        name = kind.upper()
        script = self._scripts.get(name)
        if script is None:
            return kind, None, 0, UNSCRIPTED
        index = min(self._counts[name], len(script.steps) - 1)
        self._counts[name] += 1
        return kind, name, index, script.steps[index]

    def _find(self, history: list[wire.Said]) -> tuple[str | None, int]:
        """Return the script that the last marked prompt names, and the number of answers since."""
        for position in range(len(history) - 1, -1, -1):
            if history[position].role != "user":
                continue
            names = [name for name in MARKER.findall(history[position].text) if name in self._scripts]
            if names:
                return names[-1], sum(said.role == "assistant" for said in history[position + 1 :])
        return None, 0

    def _step_after(self, name: str, script: Script, answers: int) -> int:
        """Return the index of the step after so many answers: errors are repeated, and then passed over."""
        for index, step in enumerate(script.steps):
            if step.status != 200 or step.cut:
                if self._errors[name, index] < step.times:
                    self._errors[name, index] += 1
                    return index
            elif answers == 0:
                return index
            else:
                answers -= 1
        return len(script.steps) - 1


def _with_matches(step: Step, history: list[wire.Said]) -> Step:
    """Replace `{match:PATTERN}` in the arguments of calls by what the pattern last matched in results of tools."""

    def found(match: re.Match[str]) -> str:
        for said in reversed(history):
            hits = re.findall(match[1], said.text) if said.role == "tool" else []
            if hits:
                return str(hits[-1])
        return match[0]

    if not any(MATCH.search(str(call.arguments)) for call in step.calls):
        return step
    return msgspec.json.decode(MATCH.sub(found, msgspec.json.encode(step).decode()), type=Step)


def _handler_of(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
            """Print nothing."""

        def do_GET(self) -> None:
            if self.path.endswith("/models"):
                self._send(200, {"object": "list", "data": [{"id": "scripted-model", "object": "model"}]})
            else:
                self._send(404, {"error": {"message": f"there is no {self.path}"}})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
            step, served = server.take(self.path, body)
            time.sleep(step.delay)
            responses = wire.is_responses(self.path)
            try:
                if step.status != 200:
                    self._send(step.status, wire.error_of(step))
                elif body.get("stream"):
                    self._stream(step, served, responses=responses)
                else:
                    self._send(200, wire.whole_of(step, served, responses=responses))
            except (BrokenPipeError, ConnectionResetError):
                served.is_closed_early = True
                self.close_connection = True
            served.ended_at = datetime.now(UTC)

        def _send(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, step: Step, served: Served, *, responses: bool) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.close_connection = True
            groups = list(wire.chunks_of(step, served, responses=responses))
            for events in groups[:-1]:
                self._write(events)
            if step.cut:
                return
            end = time.monotonic() + step.hold
            while time.monotonic() < end:
                time.sleep(WORD_SECONDS)
                self._write([wire.word_of(served, responses=responses)])
            self._write(groups[-1])
            self.wfile.write(b"data: [DONE]\n\n")
            self.wfile.flush()

        def _write(self, events: list[dict[str, Any]]) -> None:
            for event in events:
                self.wfile.write(wire.event(event))
            self.wfile.flush()

    return Handler
