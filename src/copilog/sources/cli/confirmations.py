"""Make one part of two events: a hook and its end, a permission and its decision, a question and its answer."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from copilog.fields import Json, rest, take_bool, take_dict, take_str, text_from
from copilog.model import Approval, Confirmation, Hook, Question, Turn
from copilog.sources.cli.event import Event, ms_between, notes_in, with_more

# Events in pairs: a hook and its end, a permission and its answer, a question and its answer.


ApprovalKind = Literal["denied", "not-needed", "setting", "granted", "user", "skipped", "unknown"]
QUESTION_TYPES = {"user_input": "questions", "elicitation": "elicitation", "exit_plan_mode": "plan"}
SCOPES = {"approved-for-session": "session", "approved-for-location": "location"}
SUBJECTS = ("intention", "fullCommandText", "path", "fileName", "url", "toolName", "toolTitle", "message", "subject")
ASKED = ("question", "message", "prompt", "summary", "title", "reason")
ANSWERED = ("answer", "response", "action", "result", "selectedAction")


class PendingPart(msgspec.Struct, gc=False):
    """A part that waits for its second event."""

    part: Confirmation | Hook
    asked_at: datetime | None
    call_id: str | None = None
    by_hook: bool = False
    turn: Turn | None = None


class PendingParts:
    """Parts that wait for their second event, by id. Overlapping times of waiting for the user count once."""

    def __init__(self) -> None:
        self._open: dict[str, PendingPart] = {}
        self._late: dict[str, PendingPart] = {}  # of turns that are over
        self._people = 0
        self._since: datetime | None = None

    def add(self, key: str | None, ask: PendingPart) -> None:
        if key:
            self._open[key] = ask

    def get(self, key: str) -> PendingPart | None:
        """Return the part that waits under an id, and leave it waiting."""
        return self._open.get(key) or self._late.get(key)

    def pop(self, key: str | None) -> PendingPart | None:
        if not key:
            return None
        ask = self._open.pop(key, None)
        return self._late.pop(key, None) if ask is None else ask

    @property
    def is_waiting(self) -> bool:
        """Return whether an answer may still come in this turn."""
        return bool(self._open)

    def stop_waiting(self) -> None:
        """Close the waiting parts of a finished turn. A late answer still counts."""
        self._late.update(self._open)
        self._open.clear()
        self._people, self._since = 0, None

    def wait_for_user(self, ask: PendingPart, turn: Turn | None) -> None:
        ask.turn = turn
        if self._people == 0:
            self._since = ask.asked_at
        self._people += 1

    def user_answered(self, ask: PendingPart, at: datetime | None) -> None:
        self._people = max(0, self._people - 1)
        waited_ms = ms_between(self._since, at)
        if self._people == 0 and waited_ms is not None and ask.turn is not None:
            ask.turn.timing.waited_ms = (ask.turn.timing.waited_ms or 0) + waited_ms


# --- hooks ------------------------------------------------------------------------------------------------------


def hook_from_start(event: Event) -> Hook:
    data = event.data
    given = data.get("input")
    tool = given.get("toolName") if isinstance(given, dict) else None
    kind = take_str(data, "hookType") or ""
    data.pop("input", None)
    return Hook(
        type=kind,
        tool=tool if isinstance(tool, str) else None,
        given=given or None,
        native=event.native,
        extra=rest(data),
    )


def end_hook(hook: Hook, event: Event, started_at: datetime | None) -> None:
    """Read the result of a hook, and whether it stopped something."""
    data = event.data
    said = data.get("output")
    if isinstance(said, dict):
        hook.is_blocking = (
            said.get("permissionDecision") == "deny" or said.get("decision") == "block" or said.get("continue") is False
        )
        hook.reason = _text_in(said, ("permissionDecisionReason", "stopReason", "reason"))
        hook.message = _text_in(said, ("systemMessage", "additionalContext"))
    error = data.get("error")
    if isinstance(error, dict) and hook.message is None:
        hook.message = _text_in(error, ("message",))
    for record in (said, error):
        if isinstance(record, dict):
            hook.notes = hook.notes | notes_in(record, hook.reason, hook.message)
    if not hook.type:
        hook.type = take_str(data, "hookType") or ""
    elif data.get("hookType") == hook.type:
        del data["hookType"]
    if data.get("success") is True:
        del data["success"]
    elapsed_ms = ms_between(started_at, event.at)
    if elapsed_ms is not None:
        data["elapsed_ms"] = elapsed_ms
    hook.extra = with_more(hook.extra, data)


def _text_in(obj: Json, names: tuple[str, ...]) -> str | None:
    return next((value for name in names if isinstance(value := obj.get(name), str) and value), None)


# --- permissions ------------------------------------------------------------------------------------------------


def permission_from(data: Json) -> tuple[Confirmation, str | None]:
    """Return what the user was asked to allow, and the call that it is about."""
    request = take_dict(data, "permissionRequest") or {}
    call_id = request.get("toolCallId")
    made = Confirmation(type="permission", title=take_str(request, "kind"), message=_text_in(request, SUBJECTS))
    if request:
        data["permissionRequest"] = request
    made.notes = notes_in(request, made.message) | notes_in(data)
    made.extra = rest(data)
    return made, call_id if isinstance(call_id, str) else None


def answer_permission(ask: Confirmation, data: Json) -> None:
    """Record how the user, a rule or a hook decided."""
    result = data.get("result")
    kind = result.get("kind") if isinstance(result, dict) else result
    if isinstance(kind, str):
        ask.answer = kind
        ask.state = "accepted" if kind.startswith("approved") else "rejected"
    if isinstance(result, dict):
        ask.notes = ask.notes | notes_in(result)
    ask.notes = ask.notes | notes_in(data)
    ask.extra = with_more(ask.extra, data)


def approval_from(ask: Confirmation, by_hook: bool) -> Approval:
    """Return who allowed or refused a call."""
    answer = ask.answer or ""
    kind: ApprovalKind
    if answer.startswith("denied"):
        kind = "denied"
    elif answer == "cancelled":
        kind = "skipped"
    elif answer in SCOPES:
        return Approval(kind="granted", detail=SCOPES[answer])
    elif answer.startswith("approved"):
        kind = "setting" if by_hook else "user"
    else:
        kind = "unknown"
    return Approval(kind=kind, detail="hook" if by_hook else answer or None)


# --- other questions --------------------------------------------------------------------------------------------


def question_from(family: str, data: Json) -> Confirmation:
    made = Confirmation(type=QUESTION_TYPES.get(family, "confirmation"), message=_text_in(data, ASKED))
    choices = data.get("choices", data.get("actions"))
    if isinstance(choices, list) and all(isinstance(choice, str) for choice in choices):
        made.options = choices
    made.state = "unanswered"
    made.notes = notes_in(data, made.message)
    made.extra = rest(data)
    return made


def answer_question(ask: Confirmation, data: Json) -> None:
    approved = take_bool(data, "approved")
    answer: Any = next((data[name] for name in ANSWERED if name in data), None)
    ask.answer = answer if isinstance(answer, str) else None
    ask.state = "answered" if approved is None else "accepted" if approved else "rejected"
    ask.notes = ask.notes | notes_in(data, ask.answer)
    ask.extra = with_more(ask.extra, data)


def read_response(ask: Confirmation, data: Json) -> None:
    """Read the user's answer, field by field for a form."""
    response: Any = data.pop("response", None)
    if not isinstance(response, dict):
        ask.answer = text_from(response) or ask.answer
        ask.state = "answered" if response is not None else "unanswered"
        return
    ask.type = QUESTION_TYPES.get(str(response.get("responseKind")), ask.type)
    ask.message = ask.message or _text_in(response, ASKED)
    content: Any = next((response[name] for name in ("content", *ANSWERED) if name in response), None)
    schema: Any = response.get("requestedSchema")
    fields: Any = schema.get("properties") if isinstance(schema, dict) else None
    if isinstance(content, dict):
        ask.questions = [_question(name, value, fields) for name, value in content.items()]
    elif content is not None:
        ask.answer = text_from(content)
    approved = response.get("approved")
    is_accepted = approved if isinstance(approved, bool) else content is not None
    ask.state = "rejected" if not is_accepted else "answered" if approved is None else "accepted"
    left = {name: value for name, value in response.items() if value is not content}
    ask.notes = ask.notes | notes_in(left, ask.message, ask.answer)
    ask.extra = with_more(ask.extra, {"response": response})


def _question(name: str, value: Any, fields: Any) -> Question:
    """Return one field of a form, with its label and its options."""
    field: Any = fields.get(name) if isinstance(fields, dict) else None
    field = field if isinstance(field, dict) else {}
    options = field.get("enum")
    return Question(
        id=name,
        title=_text_in(field, ("title",)),
        text=_text_in(field, ("description",)),
        type=_text_in(field, ("type",)),
        options=[str(option) for option in options] if isinstance(options, list) else [],
        answer=text_from(value) if value is not None else None,
    )
