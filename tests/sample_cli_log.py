"""Sessions of Copilot CLI in the making: events one after another, each with the time at which it was written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import unified_diff
from typing import Any

from tests.sample_forms import Json, encoded, made_up_id, made_up_word
from tests.sample_home import Home

SESSIONS = ".copilot/session-state"
STEP_MS = 40  # between two events that follow at once


def iso(when: int) -> str:
    """A moment as the command line writes it."""
    moment = datetime.fromtimestamp(when / 1000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{when % 1000:03d}Z"


@dataclass(slots=True)
class Asked:
    """A call of a tool that the model asks for, and what will come of it."""

    name: str
    arguments: Json
    outcome: Json
    takes: float = 0.2
    server: str | None = None
    about: Json = field(default_factory=dict)  # more that the start of the call says
    between: Callable[[Asked], None] | None = None  # writes what happens while it runs
    id: str = ""

    @property
    def tool_name(self) -> str:
        return f"{self.server}-{self.name}" if self.server else self.name

    @property
    def mcp(self) -> Json:
        return {"mcpServerName": self.server, "mcpToolName": self.name} if self.server else {}


class CliLog:
    """The log of one session."""

    def __init__(self, key: str, session_id: str, started: int, model: str) -> None:
        self.key = key
        self.session_id = session_id
        self.started = self.now = started
        self.model = model
        self.events: list[Json] = []
        self._interaction = 0
        self._turns: dict[str | None, int] = {}  # calls of a model, by agent
        self._calls = 0

    def emit(self, kind: str, data: Json, agent: str | None = None, after: float = 0.0) -> Json:
        """Write an event, some seconds after the one before."""
        self.now += int(after * 1000) or STEP_MS
        event: Json = {"type": kind, "data": data, "id": made_up_id(self.key, "event", str(len(self.events)))}
        event |= {"timestamp": iso(self.now), "parentId": self.events[-1]["id"] if self.events else None}
        self.events.append(event | ({"agentId": agent} if agent else {}))
        return event

    def at(self, when: int) -> None:
        """Let some time pass."""
        assert when >= self.now, iso(self.now)
        self.now = when

    def start(self, version: str, context: Json) -> None:
        data = {"sessionId": self.session_id, "version": 1, "producer": "copilot-agent", "copilotVersion": version}
        data |= {"startTime": iso(self.started), "selectedModel": self.model, "context": context}
        self.emit("session.start", data)

    def resume(self, context: Json) -> None:
        data = {"resumeTime": iso(self.now), "eventCount": len(self.events), "eventsFileSizeBytes": len(self.data())}
        self.emit("session.resume", {**data, "selectedModel": self.model, "context": context})

    def shutdown(self, **data: Any) -> None:
        made = {"shutdownType": "routine", "sessionStartTime": self.started, "eventsFileSizeBytes": len(self.data())}
        made["codeChanges"] = self._code_changes()
        self.emit("session.shutdown", {**made, **data, "currentModel": self.model}, after=2)

    def _code_changes(self) -> Json:
        """How many lines were changed so far, and in which files of the project."""
        added = removed = 0
        paths: dict[str, None] = {}
        for event in self.events:
            detail = event["data"].get("result", {}).get("detailedContent", "")
            path, _, body = detail.partition("\n+++ b")[2].partition("\n")
            signs = [line[:1] for line in body.splitlines()]
            if "/session-state/" not in path and {"+", "-"} & set(signs):
                added, removed = added + signs.count("+"), removed + signs.count("-")
                paths[path] = None
        return {"linesAdded": added, "linesRemoved": removed, "filesModified": list(paths)}

    # --- what is said -----------------------------------------------------------------------------------------------

    def asks(self, text: str, **more: Any) -> Json:
        """Ana's prompt, and what was sent for it."""
        self._interaction += 1
        self._turns.clear()
        sent = f"<current_datetime>{iso(self.now)}</current_datetime>\n\n{text}"
        data = {"content": text, "transformedContent": sent, "attachments": [], "agentMode": "interactive"}
        return self.emit("user.message", {**data, "interactionId": self._interaction_id, **more})

    def answers(
        self, text: str, *asked: Asked, tokens: int, after: float = 3.0, agent: str | None = None, **more: Any
    ) -> None:
        """What a model says, and which tools it wants; these run at once."""
        model = more.pop("model", self.model)
        turn_id = self.begins_turn(agent)
        for call in asked:
            call.id = self._call_id()
        message_id = made_up_id(self.key, "message", str(len(self.events)))
        data = {"messageId": message_id, "model": model, "content": text, "interactionId": self._interaction_id}
        data |= {"turnId": turn_id, "toolRequests": [_request(call) for call in asked], "outputTokens": tokens}
        self.emit("assistant.message", {**data, **more}, agent, after)
        for call in asked:
            self.run(call, agent, turn_id)
        self.emit("assistant.turn_end", {"turnId": turn_id}, agent)

    def begins_turn(self, agent: str | None = None) -> str:
        """The beginning of a call of a model."""
        turn_id = str(self._turns.get(agent, 0))
        self._turns[agent] = int(turn_id) + 1
        self.emit("assistant.turn_start", {"turnId": turn_id, "interactionId": self._interaction_id}, agent)
        return turn_id

    def run(self, call: Asked, agent: str | None = None, turn_id: str = "0") -> None:
        """A call from its start to its end; without an outcome it never ends."""
        data = {"toolCallId": call.id, "toolName": call.tool_name, "arguments": call.arguments, "turnId": turn_id}
        self.emit("tool.execution_start", {**data, **call.mcp, **call.about}, agent)
        if call.between is not None:
            call.between(call)
        if call.outcome:
            done = {"toolCallId": call.id, "model": self.model, "interactionId": self._interaction_id}
            self.emit("tool.execution_complete", {**done, **call.outcome, "turnId": turn_id}, agent, call.takes)

    def permission(self, call: Asked, request: Json, result: str, after: float = 4.0) -> None:
        """A call that asks first."""
        request_id = made_up_id(self.key, "permission", call.id)
        request = {**request, "toolCallId": call.id}
        self.emit("permission.requested", {"requestId": request_id, "permissionRequest": request})
        done = {"requestId": request_id, "toolCallId": call.id, "result": {"kind": result}}
        self.emit("permission.completed", done, after=after)

    def hook(self, kind: str, given: Json, output: Json) -> None:
        hook_id = made_up_id(self.key, "hook", str(len(self.events)))
        self.emit("hook.start", {"hookInvocationId": hook_id, "hookType": kind, "input": given})
        done = {"hookInvocationId": hook_id, "hookType": kind, "output": output, "success": True}
        self.emit("hook.end", done, after=0.3)

    @property
    def _interaction_id(self) -> str:
        return made_up_id(self.key, "interaction", str(self._interaction))

    def _call_id(self) -> str:
        self._calls += 1
        return f"toolu_01{made_up_word(22, self.key, 'call', str(self._calls))}"

    # --- the folder -------------------------------------------------------------------------------------------------

    def data(self) -> bytes:
        return "".join(f"{encoded(event)}\n" for event in self.events).encode()

    def put(self, home: Home, companions: dict[str, str]) -> None:
        """Put the log into its folder, with the files beside it."""
        folder = f"{SESSIONS}/{self.session_id}"
        home.files[f"{folder}/events.jsonl"] = self.data()
        for name, text in companions.items():
            home.files[f"{folder}/{name}"] = text.encode()

    def metrics(self, read: dict[str, tuple[int, int, int, int]]) -> Json:
        """What models took so far: what they wrote is counted; given are input, read from and put into caches, cost."""
        made: Json = {}
        for model, (tokens, cached, kept, cost) in read.items():
            said = [event["data"] for event in self.events if event["data"].get("outputTokens") is not None]
            written = [data["outputTokens"] for data in said if data["model"] == model]
            usage = {"inputTokens": tokens, "outputTokens": sum(written), "cacheReadTokens": cached}
            usage |= {"cacheWriteTokens": kept, "reasoningTokens": 0}
            made[model] = {"requests": {"count": len(written), "cost": cost}, "usage": usage}
        return {"modelMetrics": made, "totalPremiumRequests": sum(cost for *_, cost in read.values())}

    def workspace(self, **facts: Any) -> str:
        """The text of workspace.yaml."""
        lines = {"id": self.session_id, **facts, "created_at": iso(self.started), "updated_at": iso(self.now)}
        return "".join(f"{name}: {_scalar(value)}\n" for name, value in lines.items())


def _scalar(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _request(call: Asked) -> Json:
    made: Json = {"toolCallId": call.id, "name": call.tool_name, "arguments": call.arguments, "type": "function"}
    return made | call.mcp


# --- outcomes ---------------------------------------------------------------------------------------------------


def gives(text: str, detail: str | None = None, **more: Any) -> Json:
    """The outcome of a call that went well."""
    result: Json = {"content": text, "detailedContent": text if detail is None else detail}
    return {"success": True, "result": {**result, **more}}


def fails(message: str, code: str = "failure") -> Json:
    return {"success": False, "error": {"message": message, "code": code}}


def shell(command: str, why: str, output: str, exit_code: int = 0, takes: float = 1.0) -> Asked:
    """A command in the shell."""
    done = f"{output}\n<exited with exit code {exit_code}>"
    ended = [{"type": "shell_exit", "shellId": "0", "exitCode": exit_code, "outputPreview": output}]
    return Asked("bash", {"command": command, "description": why}, gives(done, output, contents=ended), takes)


def intent(text: str) -> Asked:
    """What the model says it is up to; shown above its calls."""
    return Asked("report_intent", {"intent": text}, gives("Intent logged", text), takes=0.01)


def view(path: str, text: str) -> Asked:
    numbered = "\n".join(f"{number}. {line}" for number, line in enumerate(text.splitlines(), 1))
    return Asked("view", {"path": path}, gives(numbered, diff_of(path, text, text)))


def create(path: str, text: str) -> Asked:
    outcome = gives(f"Created file {path} with {len(text)} characters", diff_of(path, None, text))
    return Asked("create", {"path": path, "file_text": text}, outcome)


def edit(path: str, text: str, old: str, new: str) -> Asked:
    """An edit of a text in which the old piece occurs once."""
    assert text.count(old) == 1, f"{old!r} in {path}"
    outcome = gives(f"File {path} updated with changes.", diff_of(path, text, text.replace(old, new)))
    return Asked("edit", {"path": path, "old_str": old, "new_str": new}, outcome)


def diff_of(path: str, before: str | None, after: str) -> str:
    """A diff as the command line shows it; of an unchanged file, all lines."""
    head = f"\ndiff --git a{path} b{path}\n"
    old = f"a{path}"
    if before is None:
        head += "create file mode 100644\n"
        old = "a/dev/null"
    head += f"index 0000000..0000000 100644\n--- {old}\n+++ b{path}\n"
    if before == after:
        lines = after.splitlines()
        return head + f"@@ -1,{len(lines)} +1,{len(lines)} @@\n" + "".join(f" {line}\n" for line in lines)
    changed = unified_diff((before or "").splitlines(), after.splitlines(), lineterm="")
    return head + "".join(f"{line}\n" for line in list(changed)[2:])
