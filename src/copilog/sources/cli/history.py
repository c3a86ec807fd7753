"""Sessions of the first releases of Copilot CLI: `history-session-state/*.json`.

Format notes: docs/formats/copilot-cli.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.fields import Json, rest, take_dict, take_list, take_str, text_from
from copilog.intake.folders import is_link
from copilog.model import (
    AnyPart,
    Conversation,
    Message,
    Model,
    Notice,
    Prompt,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    Unknown,
)
from copilog.sources.base import Found, Probe, Source, provenance_of
from copilog.sources.cli.event import APPLICATION, ASSISTANT, take_iso
from copilog.sources.cli.tool_calls import arguments_text
from copilog.sources.folders import files_in
from copilog.sources.roots import StorageFolder

FOLDER = "history-session-state"
PREFIX = "session_"
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


class CliHistory(Source):
    name = "cli-history"
    title = "Copilot CLI session, first form"

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        place = folder.path / FOLDER
        if folder.kind != "copilot-home" or is_link(place):
            return
        for path in files_in(place):
            if path.suffix.lower() == ".json":
                yield Found(path, self.name, native_id=self.native_id(Probe(path)))

    def claims(self, file: Probe) -> bool:
        if file.suffix == ".json" and file.is_directly_in(FOLDER):
            return True
        return {"sessionId", "chatMessages"} <= file.keys

    def native_id(self, file: Probe) -> str | None:
        return file.text_value("sessionId") or _id_in_name(file.path)

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        from copilog.sources.documents import read_document

        state = read_document(found.path, ledger)
        if state is None:
            return
        ledger.seen += 1
        conversation = _conversation_from(state, found, ledger)
        ledger.used += 1
        conversation.provenance = [provenance_of(found)]
        yield conversation


def _id_in_name(path: Path) -> str:
    match = _UUID.search(path.stem)
    return match[0] if match else path.stem.removeprefix(PREFIX)


def _conversation_from(state: Json, found: Found, ledger: Ledger) -> Conversation:
    session_id = take_str(state, "sessionId")
    native_id = found.native_id or session_id or _id_in_name(found.path)
    if session_id is not None and session_id != native_id:
        state["sessionId"] = session_id
    conversation = Conversation(
        id=f"cli:{native_id}",
        native_id=native_id,
        source=found.source,
        assistant=ASSISTANT,
        application=APPLICATION,
        started_at=take_iso(state, "startTime"),
        updated_at=take_iso(state, "endTime"),
    )
    history = History(conversation, ledger, take_str(state, "selectedModel"))
    history.read_messages(take_list(state, "chatMessages") or [])
    history.read_timeline(take_list(state, "timeline") or [])
    if conversation.updated_at is None:
        times = [message.created_at for message in conversation.messages if message.created_at is not None]
        conversation.updated_at = max(times, default=conversation.started_at)
    conversation.extra = rest(state)
    return conversation


# A session as the earliest releases wrote it: the messages that the model had, and the rows on the screen.
# Messages have no times and rows have no roles; they are joined by their text and their order.


ROLES: tuple[str, ...] = get_args(Role)
PROMPT_ROWS = ("user",)
ANSWER_ROWS = ("copilot", "assistant")
CALL_ROWS = ("tool_call_completed", "tool_call_failed", "tool_call_requested")
NOTICE_ROWS = ("info", "warning", "error")
FAILURES = ("failure", "failed", "error", "rejected", "denied")


class History:
    """A reader of the two lists of a session."""

    def __init__(self, conversation: Conversation, ledger: Ledger, model: str | None) -> None:
        self.conversation = conversation
        self.ledger = ledger
        self.model = model
        self.calls: dict[str, ToolCall] = {}
        self.results: dict[str, Message] = {}
        self._unmatched: dict[str, Any] = {}  # calls without a row, and their arguments
        self._notices: dict[int | None, list[Message]] = {}

    # --- messages of the model --------------------------------------------------------------------------------------

    def read_messages(self, items: list[Any]) -> None:
        for index, item in enumerate(items):
            with self.ledger.record(pointer=f"/chatMessages/{index}"):
                role = item.get("role") if isinstance(item, dict) else None
                if not isinstance(role, str):
                    raise BadRecord("a message without a role")
                self._read_message(role, item, index)
        for turn in self.conversation.turns:
            said = [message.role for message in self.conversation.messages if message.turn == turn.index]
            turn.status = "complete" if "assistant" in said else "unanswered"

    def _read_message(self, role: str, item: Json, index: int) -> None:
        conversation = self.conversation
        del item["role"]
        if role == "user":
            turn = Turn(index=len(conversation.turns), pointer=f"/chatMessages/{index}")
            turn.model = Model(id=self.model, name=self.model) if self.model else None
            conversation.turns.append(turn)
        parts = list(_content_parts(item.pop("content", None), role))
        if role == "developer":
            role = "system"
        if role not in ROLES:
            self.ledger.count_unknown(f"role:{role}")
            item["role"], role = role, "system"
        message = Message(role=_as_role(role), parts=parts, turn=self._turn_index())
        if role == "assistant":
            message.model, message.model_source = self.model, "session" if self.model else None
            parts += self._calls_from(item, f"/chatMessages/{index}/tool_calls")
        elif role == "tool":
            self._make_result(message, item)
        message.extra = rest(item)
        conversation.messages.append(message)

    def _turn_index(self) -> int | None:
        return len(self.conversation.turns) - 1 if self.conversation.turns else None

    def _calls_from(self, item: Json, pointer: str) -> list[AnyPart]:
        made: list[AnyPart] = []
        for position, raw in enumerate(take_list(item, "tool_calls") or []):
            tally = self.ledger.parts
            tally.seen += 1
            function = take_dict(raw, "function") if isinstance(raw, dict) else None
            if function is None:
                self.ledger.reject_part("a tool call without a function", f"{pointer}/{position}")
                continue
            tally.used += 1
            arguments = arguments_text(function.pop("arguments", None))
            call = ToolCall(
                id=take_str(raw, "id") or f"call-{len(self.calls)}",
                name=take_str(function, "name") or "",
                arguments=arguments,
                position=position,
            )
            if raw.get("type") == "function":
                del raw["type"]
            call.extra = {**raw, **function} or None
            self.calls[call.id] = call
            self._unmatched[call.id] = _same_form(arguments)
            made.append(call)
        return made

    def _make_result(self, message: Message, item: Json) -> None:
        call_id = take_str(item, "tool_call_id") or ""
        text = "".join(part.text for part in message.parts if isinstance(part, Text))
        message.parts = [part for part in message.parts if not isinstance(part, Text)]
        message.parts.insert(0, ToolResult(call_id=call_id, text=text, origin="model"))
        self.results[call_id] = message
        if call_id in self.calls:
            self.calls[call_id].status = "complete"

    # --- rows on the screen -----------------------------------------------------------------------------------------

    def read_timeline(self, rows: list[Any]) -> None:
        """Join the rows to the messages. A row without a message becomes a notice."""
        prompts = iter([message for message in self.conversation.messages if message.role == "user"])
        turn: int | None = None
        for index, row in enumerate(rows):
            with self.ledger.record(pointer=f"/timeline/{index}"):
                if not isinstance(row, dict):
                    raise BadRecord(f"a row that is {type(row).__name__}")
                kind = take_str(row, "type") or ""
                at = take_iso(row, "timestamp")
                if kind in PROMPT_ROWS and (prompt := next(prompts, None)) is not None:
                    turn = prompt.turn
                    self._join_prompt(prompt, row, at)
                elif not self._join(kind, row, at, turn):
                    self._add_notice(kind, row, at, turn)
        self._insert_notices()

    def _join(self, kind: str, row: Json, at: datetime | None, turn: int | None) -> bool:
        if kind in ANSWER_ROWS:
            return self._join_answer(row, at, turn)
        return kind in CALL_ROWS and self._join_call(kind, row, at)

    def _join_prompt(self, prompt: Message, row: Json, at: datetime | None) -> None:
        """Join a prompt: the row has the user's own text, the message has it with everything that was put around it."""
        shown = take_str(row, "text")
        words = prompt.parts[0] if prompt.parts and isinstance(prompt.parts[0], Text) else None
        if shown is not None and words is not None and words.text != shown:
            prompt.parts[:1] = [Text(text=shown)]
            if not any(isinstance(part, Prompt) for part in prompt.parts):
                prompt.parts.append(Prompt(text=words.text, native="content"))
        prompt.created_at = at
        if prompt.turn is not None:
            self.conversation.turns[prompt.turn].timing.started_at = at
        prompt.extra = {**(prompt.extra or {}), **row} or None

    def _join_answer(self, row: Json, at: datetime | None, turn: int | None) -> bool:
        text = row.get("text")
        for message in self.conversation.messages:
            if message.role != "assistant" or message.created_at is not None or (turn and (message.turn or 0) < turn):
                continue
            if any(isinstance(part, Text) and part.text == text for part in message.parts):
                message.created_at = at
                del row["text"]
                message.extra = {**(message.extra or {}), **row} or None
                return True
        return False

    def _join_call(self, kind: str, row: Json, at: datetime | None) -> bool:
        call = self._call_of(row)
        if call is None:
            return False
        call.title = take_str(row, "toolTitle") or call.title
        if _same_form(row.get("arguments")) == _same_form(call.arguments):
            row.pop("arguments", None)
        if kind == "tool_call_requested":
            call.started_at = at
        else:
            self._join_result(kind, call, row, at)
        call.extra = {**(call.extra or {}), **row} or None
        return True

    def _join_result(self, kind: str, call: ToolCall, row: Json, at: datetime | None) -> None:
        self._unmatched.pop(call.id, None)
        result = row.get("result")
        has_failed = kind == "tool_call_failed" or (isinstance(result, dict) and result.get("type") in FAILURES)
        call.status = "failed" if has_failed else "complete"
        message = self.results.get(call.id)
        if message is None:
            return
        message.created_at = at
        part = message.parts[0]
        if isinstance(part, ToolResult) and isinstance(result, dict):
            part.is_error = has_failed
            log = take_str(result, "log")
            part.display = log if log is not None and log != part.text else None
            if not result:
                del row["result"]

    def _call_of(self, row: Json) -> ToolCall | None:
        """Return the call of a row: by its id, else the next one with the same arguments."""
        for key in ("callId", "toolCallId", "id"):
            value = row.get(key)
            if isinstance(value, str) and value in self.calls:
                return self.calls[value]
        wanted = _same_form(row.get("arguments"))
        return next((self.calls[call_id] for call_id, form in self._unmatched.items() if form == wanted), None)

    def _add_notice(self, kind: str, row: Json, at: datetime | None, turn: int | None) -> None:
        if kind not in (*NOTICE_ROWS, *PROMPT_ROWS, *ANSWER_ROWS, *CALL_ROWS):
            self.ledger.count_unknown(f"timeline:{kind}")
        part = Notice(topic=kind or "timeline", text=take_str(row, "text") or "", native=kind, data=rest(row))
        message = Message(role="system", parts=[part], turn=turn, created_at=at)
        self._notices.setdefault(turn, []).append(message)

    def _insert_notices(self) -> None:
        """Put notices at the end of their turn, and those before the first prompt at the beginning."""
        placed = self._notices.pop(None, [])
        messages = self.conversation.messages
        for index, message in enumerate(messages):
            placed.append(message)
            is_last = index + 1 == len(messages) or messages[index + 1].turn != message.turn
            if is_last:
                placed += self._notices.pop(message.turn, [])
        self.conversation.messages = placed


def _as_role(role: str) -> Role:
    return next((known for known in get_args(Role) if known == role), "system")


def _content_parts(content: Any, role: str) -> Iterator[AnyPart]:
    """Yield the parts of a message: of a text, or of a list of texts, images and other values."""
    if isinstance(content, str):
        if role == "user":
            from copilog.sources.cli.user_messages import user_text_parts

            yield from user_text_parts(content)
        elif content:
            yield Prompt(text=content, scope="system") if role in ("system", "developer") else Text(text=content)
        return
    for position, item in enumerate(content if isinstance(content, list) else [content] if content else []):
        text = item.get("text") if isinstance(item, dict) else item
        if isinstance(text, str):
            yield Text(text=text, position=position)
        elif isinstance(item, dict):
            yield Unknown(type=f"content:{item.get('type')}", raw=item, position=position)
        else:
            yield Text(text=text_from(item) or "", position=position)


def _same_form(arguments: Any) -> Any:
    """Return arguments in a form that can be compared, whether they are text or an object."""
    if isinstance(arguments, str):
        try:
            return jsonio.decode(arguments.encode("utf-8", "replace"))[0]
        except BadRecord:
            return arguments
    return arguments
