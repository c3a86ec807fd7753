"""One session as the earliest releases wrote it: the messages as the model had them, and what the screen showed.

The messages have no times and the rows of the screen have no roles; they are joined by what they say and by order.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, get_args

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
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
from copilog.sources._cli.calls import arguments_text
from copilog.sources._cli.event import take_iso
from copilog.sources._cli.prompts import words_of
from copilog.sources._vscode.take import Json, rest, take_dict, take_list, take_str, text_from

ROLES: tuple[str, ...] = get_args(Role)
PROMPT_ROWS = ("user",)
ANSWER_ROWS = ("copilot", "assistant")
CALL_ROWS = ("tool_call_completed", "tool_call_failed", "tool_call_requested")
NOTICE_ROWS = ("info", "warning", "error")
FAILURES = ("failure", "failed", "error", "rejected", "denied")


class History:
    """Reads the two lists of a session."""

    def __init__(self, conversation: Conversation, ledger: Ledger, model: str | None) -> None:
        self.conversation = conversation
        self.ledger = ledger
        self.model = model
        self.calls: dict[str, ToolCall] = {}
        self.results: dict[str, Message] = {}
        self._unmatched: dict[str, Any] = {}  # calls without a row, and their arguments
        self._notices: dict[int | None, list[Message]] = {}

    # --- what the model had -----------------------------------------------------------------------------------------

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
            self.ledger.meet_unknown(f"role:{role}")
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

    # --- what the screen showed -------------------------------------------------------------------------------------

    def read_timeline(self, rows: list[Any]) -> None:
        """Join the rows to the messages; a row that belongs to none is a notice of its own."""
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
                    self._tell(kind, row, at, turn)
        self._place_notices()

    def _join(self, kind: str, row: Json, at: datetime | None, turn: int | None) -> bool:
        if kind in ANSWER_ROWS:
            return self._join_answer(row, at, turn)
        return kind in CALL_ROWS and self._join_call(kind, row, at)

    def _join_prompt(self, prompt: Message, row: Json, at: datetime | None) -> None:
        """The screen has the user's own words, the model had them with all that was put around them."""
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
        """The call of a row: by its id, else the next one with the same arguments."""
        for key in ("callId", "toolCallId", "id"):
            value = row.get(key)
            if isinstance(value, str) and value in self.calls:
                return self.calls[value]
        wanted = _same_form(row.get("arguments"))
        return next((self.calls[call_id] for call_id, form in self._unmatched.items() if form == wanted), None)

    def _tell(self, kind: str, row: Json, at: datetime | None, turn: int | None) -> None:
        if kind not in (*NOTICE_ROWS, *PROMPT_ROWS, *ANSWER_ROWS, *CALL_ROWS):
            self.ledger.meet_unknown(f"timeline:{kind}")
        part = Notice(topic=kind or "timeline", text=take_str(row, "text") or "", native=kind, data=rest(row))
        message = Message(role="system", parts=[part], turn=turn, created_at=at)
        self._notices.setdefault(turn, []).append(message)

    def _place_notices(self) -> None:
        """Notices stand at the end of their turn; those before the first prompt at the beginning."""
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
    """The parts of a message: a text, or a list of texts, images and whatever else there is."""
    if isinstance(content, str):
        if role == "user":
            yield from words_of(content)
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
    """Arguments in a form that can be compared, whether they came as text or as an object."""
    if isinstance(arguments, str):
        try:
            return jsonio.decode(arguments.encode("utf-8", "replace"))[0]
        except BadRecord:
            return arguments
    return arguments
