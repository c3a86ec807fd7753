"""Export a conversation for `copilot sessions import`, so that Copilot CLI can go on with it.

A line for each message, call and result. The importer refuses a file for one bad line, so every rule of it that was
found is kept here: a title of at most 100 characters without quotation marks, no two records of one id, calls after a
message of the assistant, results before the next message, and an error for each call that did not succeed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from copilog import jsonio
from copilog.derive import without_superseded
from copilog.derive.documents import kinds_of_documents
from copilog.derive.models import model_of_message
from copilog.derive.outcomes import is_done, outcome_of
from copilog.exports.formats import Format, Making
from copilog.exports.index import Entry
from copilog.exports.left_out import UNCOUNTED_TURNS
from copilog.model import (
    AnyPart,
    Attachment,
    Conversation,
    FileEdit,
    Hook,
    Message,
    Notice,
    Prompt,
    Terminal,
    Thinking,
    TodoList,
    ToolCall,
    Unknown,
    Workspace,
    parts_of,
    prose_of,
    results_by_call,
    title_of,
)

LONGEST_TITLE = 100
LONGEST_ERROR = 500
HOSTS = ("github.com", "dev.azure.com", "visualstudio.com")  # of repositories; a file with any other is refused
NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
NOT_CARRIED: dict[type[Any], str] = {
    Thinking: "texts of thinking",
    Prompt: "texts of context around prompts",
    FileEdit: "records of edits (the calls that made them are there)",
    Terminal: "records of terminals (the calls that used them are there)",
    TodoList: "to-do lists",
    Unknown: "parts of unknown kinds",
}

_REPOSITORY = re.compile(r"(?:.*[/@:])?(?P<host>[\w.-]+\.\w+)[/:](?P<owner>[^/:]+)/(?P<name>[^/]+?)(?:\.git)?/?")
_SHORT = re.compile(r"(?P<owner>[^/:@\s]+)/(?P<name>[^/:@\s]+)")


class _Writer:
    """Writes the records of one conversation, in order."""

    def __init__(self, conversation: Conversation) -> None:
        self.left_out: Counter[str] = Counter()
        self._conversation = conversation
        self._turns = {turn.index: turn for turn in conversation.turns}
        self._results = results_by_call(conversation)
        self._ids: set[str] = set()
        self._at = conversation.started_at or conversation.updated_at or NO_TIME

    def records(self) -> Iterator[dict[str, Any]]:
        written = [record for message in self._messages() for record in self._of_message(message)]
        if not written:
            return
        yield self._head()
        yield from written

    def _messages(self) -> Iterator[Message]:
        for message in self._conversation.messages:
            if message.parent_call_id is not None:
                self.left_out["messages of sub-agents (what they answered is there)"] += 1
            elif message.role == "system":
                yield from self._calls_of_program(message)
            elif message.role != "tool":
                yield message
        for kind, words in NOT_CARRIED.items():
            self.left_out[words] += sum(isinstance(part, kind) for part in parts_of(self._conversation))
        self.left_out.update(kinds_of_documents(self._conversation))
        self.left_out["prompts that were waiting"] += len(self._conversation.queued)

    def _calls_of_program(self, message: Message) -> Iterator[Message]:
        """Yield the calls that the program made by itself, as an answer; count what else a system message has."""
        calls: list[AnyPart] = [part for part in message.parts if isinstance(part, ToolCall)]
        if calls:
            yield Message(role="assistant", turn=message.turn, created_at=message.created_at, parts=calls)
        self.left_out["notices of the program"] += sum(isinstance(part, Notice | Hook) for part in message.parts)
        self.left_out["system prompts"] += bool(prose_of(message.parts))

    def _head(self) -> dict[str, Any]:
        made = self._conversation
        started = made.started_at or made.updated_at or NO_TIME
        return {
            "type": "session",
            "version": 1,
            "externalId": made.id,
            "createdAt": _time(started),
            "updatedAt": _time(max(started, made.updated_at or started)),
            "title": _title(made),
            "source": {"application": made.application or made.assistant or "GitHub Copilot"},
            **_workspace(made.workspace),
        }

    # --- messages ---

    def _of_message(self, message: Message) -> Iterator[dict[str, Any]]:
        if message.created_at is not None:
            self._at = max(self._at, message.created_at)
        if message.role == "user":
            made = [prose_of(message.parts), *self._commands(message), *self._attachments(message)]
            text = "\n\n".join(filter(None, made))
            if text:
                yield self._message(message, text)
            return
        prose: list[AnyPart] = []
        is_open = False  # whether a message of the assistant precedes
        for part in message.parts:
            if not isinstance(part, ToolCall):
                prose.append(part)
            elif part.status != "prepared":
                if prose_of(prose) or not is_open:
                    yield self._message(message, prose_of(prose))
                prose, is_open = [], True
                yield from self._call(message, part)
        if prose_of(prose):
            yield self._message(message, prose_of(prose))

    def _commands(self, message: Message) -> Iterator[str]:
        """Yield what the user ran without the model, which has no record of its own in this format."""
        terminals = {part.call_id: part for part in message.parts if isinstance(part, Terminal)}
        for part in message.parts:
            if isinstance(part, ToolCall):
                terminal, result = terminals.get(part.id), self._results.get(part.id)
                ran = terminal.command if terminal is not None else part.arguments or ""
                output = result.text if result is not None else ""
                yield f"[Ran {part.name}: {ran}]" + (f"\n{output}" if output else "")

    def _attachments(self, message: Message) -> Iterator[str]:
        for part in message.parts:
            if isinstance(part, Attachment) and not (part.is_sent and not part.is_automatic):
                self.left_out["attachments that were switched off, or added by the program"] += 1
            elif isinstance(part, Attachment):
                place = part.place.path or part.place.uri if part.place is not None else None
                self.left_out["contents of attachments (their names are there)"] += 1
                yield f"[Attached {part.type}: {place or part.name or part.id or 'without a name'}]"

    def _message(self, message: Message, text: str) -> dict[str, Any]:
        turn = self._turns.get(message.turn) if message.turn is not None else None
        is_prompt = message.role == "user"
        name = turn.request_id if turn is not None and is_prompt else message.id
        model = None if is_prompt else model_of_message(message, turn)
        return {
            **self._record("message", name, message),
            "role": "user" if is_prompt else "assistant",
            "content": [{"type": "text", "text": text}],
            **({"model": model} if model else {}),
        }

    def _call(self, message: Message, call: ToolCall) -> Iterator[dict[str, Any]]:
        record = self._record("tool-call", call.id, message)
        yield {**record, "name": call.name or "unknown", "arguments": _arguments(call.arguments)}
        result = self._results.get(call.id)
        text = result.text if result is not None else ""
        if result is None and call.subagent is not None:
            text = call.subagent.result or ""
        if result is not None:
            self.left_out["pictures and other data in results"] += sum(item.data is not None for item in result.items)
        elif not text:
            self.left_out["results that were not recorded"] += 1
        is_known = result is not None or bool(text) or outcome_of(call).kind == "succeeded"
        is_success = is_done(call) and is_known
        error = {} if is_success else {"error": {"message": _reason(call, text)}}
        yield {
            **self._record("tool-result", None, message),
            "toolCallId": record["id"],
            "success": is_success,
            "content": text,
            **error,
        }

    def _record(self, kind: str, name: str | None, message: Message) -> dict[str, Any]:
        """Return the fields of every record; an id is used once."""
        if not name or name in self._ids:
            name = f"{kind}-{len(self._ids) + 1}"
        while name in self._ids:
            name += "x"
        self._ids.add(name)
        return {"type": kind, "id": name, "timestamp": _time(self._at), "turnId": f"turn-{message.turn or 0}"}


def _title(conversation: Conversation) -> str:
    """Return a title that the importer accepts: one line, not long, without quotation marks."""
    return " ".join(title_of(conversation).replace('"', "'").split())[:LONGEST_TITLE].strip() or "Conversation"


def _reason(call: ToolCall, text: str) -> str:
    outcome = outcome_of(call)
    words = outcome.reason or text.strip() or (outcome.kind if not is_done(call) else "no result was recorded")
    return words[:LONGEST_ERROR]


def _arguments(given: str | None) -> dict[str, Any]:
    """Return arguments as an object, which models expect; what is none is the value of `input`."""
    if not (given or "").strip():
        return {}
    assert given is not None
    value: Any
    try:
        value = jsonio.decode_strictly(given.encode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        value = given
    return value if isinstance(value, dict) else {"input": value}


def _workspace(workspace: Workspace | None) -> dict[str, Any]:
    if workspace is None:
        return {}
    found: dict[str, Any] = {}
    if workspace.folder and (workspace.folder.startswith("/") or workspace.folder[1:3] in (":\\", ":/")):
        found["workingDirectory"] = workspace.folder
    if workspace.branch:
        found["branch"] = workspace.branch
    name = workspace.repository or ""
    match = _REPOSITORY.fullmatch(name) or _SHORT.fullmatch(name)
    if match is not None:
        host = match.groupdict().get("host") or HOSTS[0]
        if host in HOSTS:
            found["repository"] = {"host": host, "owner": match["owner"], "name": match["name"]}
    return {"workspace": found} if found else {}


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _pieces(conversations: Iterable[Conversation], index: Sequence[Entry], making: Making) -> Iterator[bytes]:  # noqa: ARG001
    for conversation in conversations:
        counted = without_superseded(conversation)
        making.left_out.add(conversation.id, UNCOUNTED_TURNS, len(conversation.turns) - len(counted.turns))
        writer = _Writer(counted)
        for record in writer.records():
            yield json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        for what, number in writer.left_out.items():
            making.left_out.add(conversation.id, what, number)


FORMAT = Format(
    "copilot-cli",
    "Copilot CLI import",
    ".jsonl",
    "application/jsonl",
    _pieces,
    shape="single",
    is_linear=True,
)
