"""Read transcripts of the Copilot Chat extension: `transcripts/<session>.jsonl`.

Format notes: docs/formats/copilot-chat-extension.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.fields import (
    Json,
    json_text,
    ms_between,
    put_back,
    rest,
    strings_at,
    take_bool,
    take_dict,
    take_list,
    take_str,
    take_timestamp,
    text_from,
)
from copilog.intake.records import read_records
from copilog.model import (
    AnyPart,
    Attachment,
    Conversation,
    Message,
    Place,
    Role,
    Round,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    Unknown,
)
from copilog.sources.base import Found, Probe, Source, marks_of_trace, provenance_of
from copilog.sources.folders import EXTENSION, extension_folders, files_in
from copilog.sources.roots import StorageFolder
from copilog.sources.tool_rounds import clean_id
from copilog.sources.transcript_events import is_headless_transcript
from copilog.uris import take_uri, uri_to_path

FOLDER = "transcripts"


class Transcripts(Source):
    name = "transcripts"
    title = "Copilot Chat transcript"

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        for place in extension_folders(folder, FOLDER):
            for path in files_in(place):
                if path.suffix.lower() == ".jsonl":
                    yield Found(path, self.name, native_id=path.stem, application=folder.application)

    def claims(self, file: Probe) -> bool:
        if file.suffix != ".jsonl":
            return False
        if file.is_directly_in(FOLDER) and file.folders[-2:-1] and file.folders[-2].lower() == EXTENSION:
            return True

        first = file.first_record or {}
        data = first.get("data")
        if not isinstance(data, dict) or first.get("type") not in EVENTS:
            return False
        return "vscodeVersion" in data or file.is_directly_in(FOLDER) or is_headless_transcript(file)

    def native_id(self, file: Probe) -> str | None:
        if file.is_directly_in(FOLDER):
            return file.path.stem
        data = (file.first_record or {}).get("data")
        session_id = data.get("sessionId") if isinstance(data, dict) else None
        return session_id if isinstance(session_id, str) and session_id else file.path.stem

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:

        transcript = Transcript(ledger)
        read_records(found.path, ledger, transcript.use, _is_event)
        if ledger.seen == 0:
            ledger.note("empty-file", "the transcript has no events")
            return
        native_id = found.native_id or transcript.session_id or found.path.stem
        extra: Json = {"transcript": transcript.header} if transcript.header else {}
        if transcript.session_id not in (None, native_id):
            extra["session_id"] = transcript.session_id
        made = Conversation(
            id=f"vscode:{native_id}",
            native_id=native_id,
            source=self.name,
            application=found.application,
            workspace=found.workspace,
            started_at=transcript.started_at or transcript.first_at,
            updated_at=transcript.last_at,
            turns=transcript.turns,
            messages=transcript.messages,
            marks=["transcript"],
            provenance=[provenance_of(found, marks=marks_of_trace(ledger))],
            extra=extra or None,
        )
        from copilog.sources.extension.prompts_of_forks import mark_prompts_of_forks

        mark_prompts_of_forks(made, found.path)
        yield made


def _is_event(value: Json) -> bool:
    return isinstance(value.get("type"), str) and "data" in value


# The events of a transcript, one after the other, as turns and messages. The order of the lines counts, not their
# times: turns from before the transcript began are written into it with their original times. The writer leaves out
# tool output; a call only records whether it succeeded.


EVENTS = (
    "session.start",
    "user.message",
    "assistant.turn_start",
    "assistant.message",
    "tool.execution_start",
    "tool.execution_complete",
    "assistant.turn_end",
)
ALIASES = {"tool.execution_end": "tool.execution_complete"}  # a name that is only in descriptions of the format


class Event(NamedTuple):
    """One event: its data, from which handlers take what they understand, and its time and line number."""

    data: Json
    at: datetime | None
    line: int


class Transcript:
    """The conversation that the events of one transcript have built so far."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.turns: list[Turn] = []
        self.messages: list[Message] = []
        self.header: Json = {}
        self.session_id: str | None = None
        self.started_at: datetime | None = None
        self.first_at: datetime | None = None
        self.last_at: datetime | None = None
        self._calls: dict[str, ToolCall] = {}
        self._open: dict[str, ToolCall] = {}  # calls of the current turn that have not ended
        self._callers: list[str] = []  # calls whose sub-agents are at work, the last begun at the end
        self._callers_round: Round | None = None  # the main agent's, which continues after its sub-agents
        self._round: Round | None = None
        self._is_answered = False
        self._is_replayed = False  # the current turn was written later
        self._seen: set[tuple[str, str]] = set()
        self._handlers: dict[str, Callable[[Event], None]] = {
            "session.start": self._start,
            "user.message": self._add_user_message,
            "assistant.turn_start": self._begin_round,
            "assistant.message": self._answered,
            "tool.execution_start": self._call_began,
            "tool.execution_complete": self._call_ended,
            "assistant.turn_end": self._end_round,
        }

    def use(self, event: Json, line: int) -> str | None:
        """Add one event. An event that was added before is skipped."""
        kind = event.get("type")
        if not isinstance(kind, str) or not kind:
            raise BadRecord("an object without a type, which is not an event")
        kind = ALIASES.get(kind, kind)
        event_id = take_str(event, "id")
        if event_id is not None:
            if (event_id, kind) in self._seen:
                return "duplicate-event"
            self._seen.add((event_id, kind))
        at = take_timestamp(event, "timestamp")
        if at is not None:
            self.first_at = min(self.first_at or at, at)
            self.last_at = max(self.last_at or at, at)
        data = take_dict(event, "data") or {}
        if kind not in self._handlers:
            self._ledger.count_unknown(kind)
            self._add("system", [Unknown(type=kind, raw={**event, **({"data": data} if data else {})})], at)
            return None
        del event["type"]
        event.pop("parentId", None)  # names the line before, unless the writer was restarted
        self._handlers[kind](Event(data, at, line))
        left = {**data, **({"envelope": event} if event else {})}
        if left:
            self._store_unrecognized(kind, left)
        return None

    # --- the events -------------------------------------------------------------------------------------------------

    def _start(self, event: Event) -> None:
        self.session_id = take_str(event.data, "sessionId") or self.session_id
        self.started_at = take_timestamp(event.data, "startTime") or self.started_at
        self.header.update(event.data)
        event.data.clear()

    def _add_user_message(self, event: Event) -> None:
        attachments = take_list(event.data, "attachments") or []
        text = text_from(event.data.pop("content", None)) or ""
        caller = self._caller_of(text)
        if caller is None:
            self._begin_turn(event)
        else:
            self._callers_round = self._callers_round if self._callers else self._round
            self._callers.append(caller.id)
            self._round = None
        self._add("user", [Text(text=text), *map(_attachment_from, attachments)], event.at)

    def _caller_of(self, text: str) -> ToolCall | None:
        """Return the call under way that gave this prompt to a sub-agent: it is written as a user's prompt is."""
        waiting = (call for call in self._open.values() if call.id not in self._callers)
        return next((call for call in waiting if _asks_subagent(call, text)), None)

    def _begin_round(self, event: Event) -> None:
        number = take_str(event.data, "turnId")
        self._round = None
        if number is not None and "." in number:  # only turns that were written later are numbered so
            turn = self.turns[-1] if self.turns else self._begin_turn(event)
            turn.extra = {**(turn.extra or {}), "is_replayed": True}
            self._is_replayed = True
        else:
            turn = self._turn(event)
        self._round = Round(id=number, started_at=event.at)
        if not self._callers:
            turn.rounds.append(self._round)

    def _answered(self, event: Event) -> None:
        self._turn(event)
        message_id = take_str(event.data, "messageId")
        content = text_from(event.data.pop("content", None)) or ""
        thought = take_str(event.data, "reasoningText")
        parts: list[AnyPart] = []
        if thought is not None:
            parts.append(Thinking(text=thought))
        if content:
            parts.append(Text(text=content))
        unread: list[Any] = []
        calls = [
            call for item in take_list(event.data, "toolRequests") or [] if (call := self._call_from(item, unread))
        ]
        put_back(event.data, "toolRequests", unread)
        message = self._add("assistant", [*parts, *calls], event.at)
        message.id = message_id
        if not self._callers:
            self._is_answered = not calls
        if self._round is not None:
            self._round.text += content
            self._round.thinking = thought if self._round.thinking is None else self._round.thinking
            self._round.call_ids += [call.id for call in calls]

    def _call_from(self, item: Any, unread: list[Any]) -> ToolCall | None:
        native_id = item.get("toolCallId") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not isinstance(native_id, str):
            unread.append(item)
            return None
        del item["toolCallId"]
        if item.get("type") == "function":
            del item["type"]
        arguments = item.pop("arguments", None)
        call = ToolCall(id=clean_id(native_id), name=take_str(item, "name") or "")
        call.arguments = arguments if isinstance(arguments, str) or arguments is None else json_text(arguments)
        call.native_ids = [native_id] if native_id != call.id else []
        call.round_id = self._round.id if self._round is not None else None
        call.extra = rest(item)
        self._calls[call.id] = self._open[call.id] = call
        return call

    def _call_began(self, event: Event) -> None:
        call = self._call_of(event)
        name = take_str(event.data, "toolName")
        call.started_at = event.at
        if not call.name and name is not None:
            call.name = name
        elif name is not None and name != call.name:
            call.tool_id = name
        arguments = event.data.pop("arguments", None)
        if call.arguments is None and arguments is not None:
            call.arguments = arguments if isinstance(arguments, str) else json_text(arguments)
        elif arguments is not None and arguments not in (call.arguments, _parsed(call.arguments)):
            text = arguments if isinstance(arguments, str) else json_text(arguments)
            call.notes = {**call.notes, "arguments it ran with": text or ""}

    def _call_ended(self, event: Event) -> None:
        call = self._call_of(event)
        success = take_bool(event.data, "success")
        if success is not None:
            call.status = "complete" if success else "failed"
        call.elapsed_ms = ms_between(call.started_at, event.at)
        self._end_call(call)
        result = take_dict(event.data, "result")  # declared by the writer, but never written so far, like `error`
        error = take_dict(event.data, "error") or {}
        message = take_str(error, "message") or take_str(event.data, "error")
        put_back(event.data, "error", error)
        if result is None and message is None:
            return
        text = text_from((result or {}).pop("content", None)) or ""
        part = ToolResult(call_id=call.id, text=text or message or "", is_error=success is False, origin="model")
        if message is not None and message not in part.text:
            part.display = message
        part.extra = rest(result or {})
        self._add("tool", [part], event.at)

    def _end_call(self, call: ToolCall) -> None:
        """Note that a call has ended: what follows a sub-agent is its caller's again."""
        self._open.pop(call.id, None)
        if call.id in self._callers:
            self._callers.remove(call.id)
            self._round = None if self._callers else self._callers_round

    def _end_round(self, event: Event) -> None:
        number = take_str(event.data, "turnId")
        if self._round is not None and self._round.id == number:
            elapsed_ms = ms_between(self._round.started_at, event.at)
            if elapsed_ms is not None:
                self._round.extra = {**(self._round.extra or {}), "elapsed_ms": elapsed_ms}
        if self.turns and not self._callers:
            self.turns[-1].timing.completed_at = event.at
            if self._is_answered:
                self.turns[-1].status = "complete"
        self._round = None

    # --- turns ------------------------------------------------------------------------------------------------------

    def _begin_turn(self, event: Event) -> Turn:
        self._round = None
        self._is_answered = self._is_replayed = False
        self._open.clear()
        self._callers.clear()
        turn = Turn(index=len(self.turns), pointer=f"line:{event.line}")
        turn.timing.started_at = event.at
        self.turns.append(turn)
        return turn

    def _turn(self, event: Event) -> Turn:
        """Return the turn that an event belongs to; start a turn if its prompt is not in the file.

        The prompt is missing if the transcript began in the middle of a turn: it has the turns before, and then
        continues.
        """
        is_under_way = self.turns and not (self._is_replayed and self._round is None)
        return self.turns[-1] if is_under_way else self._begin_turn(event)

    def _call_of(self, event: Event) -> ToolCall:
        native_id = take_str(event.data, "toolCallId")
        if native_id is None:
            raise BadRecord("a tool's event without the id of its call")
        call_id = clean_id(native_id)
        if call_id not in self._calls:
            self._turn(event)
            self._calls[call_id] = ToolCall(id=call_id, name="")
            self._add("assistant", [self._calls[call_id]], event.at)
        return self._calls[call_id]

    def _add(self, role: Role, parts: list[AnyPart], at: datetime | None) -> Message:
        turn = self.turns[-1].index if self.turns else None
        caller = self._callers[-1] if self._callers else None
        message = Message(role=role, parts=parts, turn=turn, parent_call_id=caller, created_at=at)
        self.messages.append(message)
        return message

    def _store_unrecognized(self, kind: str, left: Json) -> None:
        """Store unrecognized fields in the `extra` of the last message, or in the header before there is one."""
        message = self.messages[-1] if self.messages else None
        if message is None:
            self.header.setdefault("events", []).append({kind: left})
        else:
            message.extra = {**(message.extra or {}), kind: left}


def _attachment_from(item: Any) -> AnyPart:
    """Return what went with a prompt: all of its texts. No release has written any so far, only the empty list."""
    if not isinstance(item, dict):
        path = item if isinstance(item, str) else None
        return Attachment(type="file", place=Place(path=path)) if path else Unknown(type="attachment", raw=item)
    made = Attachment(
        type=take_str(item, "type") or "file", name=take_str(item, "displayName") or take_str(item, "name")
    )
    path, uri = take_str(item, "path") or take_str(item, "filePath"), take_uri(item, "uri")
    if path or uri:
        made.place = Place(path=path or uri_to_path(uri), uri=uri)
    made.text = take_str(item, "text") or take_str(item, "content")
    made.mime_type = take_str(item, "mimeType")
    more = strings_at({"left": item}, "left")
    made.notes = {"more of it": more} if more else {}
    made.extra = rest(item)
    return made


def _asks_subagent(call: ToolCall, text: str) -> bool:
    """Return whether a call has a text as the prompt among its arguments."""
    arguments = _parsed(call.arguments)
    prompt = arguments.get("prompt") if isinstance(arguments, dict) else None
    return isinstance(prompt, str) and bool(prompt.strip()) and prompt.strip() == text.strip()


def _parsed(arguments: str | None) -> Any:
    try:
        return jsonio.decode((arguments or "").encode())[0]
    except BadRecord:
        return None
