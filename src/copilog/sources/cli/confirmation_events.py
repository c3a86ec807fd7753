"""Events of hooks, permissions and questions."""

from __future__ import annotations

from copilog.fields import take_str
from copilog.model import Confirmation, Hook
from copilog.sources.cli.confirmations import (
    QUESTION_TYPES,
    PendingPart,
    answer_permission,
    answer_question,
    approval_from,
    end_hook,
    hook_from_start,
    permission_from,
    question_from,
    read_response,
)
from copilog.sources.cli.event import Event, with_more
from copilog.sources.cli.lifecycle import notice
from copilog.sources.cli.reader import Reader

# Hooks, permissions and questions: events in pairs, each pair made one part.


# --- hooks ------------------------------------------------------------------------------------------------------


def _name(event: Event, key: str) -> str | None:
    value = event.data.get(key)
    return value if isinstance(value, str) else None


def hook_start(reader: Reader, event: Event) -> None:
    key = _name(event, "hookInvocationId")
    parent = reader.agents.parent_of(event)
    part = hook_from_start(event)
    reader.add(event, "system", [part], parent=parent, extra={"envelope": event.rest} if event.rest else None)
    reader.asks.add(key and f"hook:{key}", PendingPart(part, event.at))


def hook_end(reader: Reader, event: Event) -> None:
    key = _name(event, "hookInvocationId")
    ask = reader.asks.pop(key and f"hook:{key}")
    if ask is not None and isinstance(ask.part, Hook):
        reader.agents.parent_of(event)
        end_hook(ask.part, event, ask.asked_at)
        return
    part = Hook(type="", native=event.native)
    parent = reader.agents.parent_of(event)
    end_hook(part, event, None)
    reader.add(event, "system", [part], parent=parent)


# --- permissions and questions ----------------------------------------------------------------------------------


def permission_requested(reader: Reader, event: Event) -> None:
    key = _name(event, "requestId")
    by_hook = event.data.get("resolvedByHook") is True
    parent = reader.agents.parent_of(event)
    part, call_id = permission_from(event.data)
    part.native = event.native
    call = reader.calls.get(call_id)
    if call is not None and part.notes and isinstance(call.arguments, dict):
        asked = list(call.arguments.values())  # the call itself has these
        part.notes = {label: text for label, text in part.notes.items() if text not in asked}
    reader.add(event, "system", [part], parent=parent, extra={"envelope": event.rest} if event.rest else None)
    ask = PendingPart(part, event.at, call_id, by_hook)
    reader.asks.add(key and f"permission:{key}", ask)
    if key and not by_hook:
        reader.asks.wait_for_user(ask, reader.turns.current)


def permission_completed(reader: Reader, event: Event) -> None:
    data = event.data
    key = take_str(data, "requestId")
    ask = reader.asks.pop(key and f"permission:{key}")
    call_id = take_str(data, "toolCallId")
    parent = reader.agents.parent_of(event)
    if ask is None or not isinstance(ask.part, Confirmation):
        part = Confirmation(type="permission", native=event.native)
        reader.add(event, "system", [part], parent=parent)
        ask = PendingPart(part, event.at)
    elif not ask.by_hook:
        reader.asks.user_answered(ask, event.at)
    assert isinstance(ask.part, Confirmation)
    call = reader.calls.get(call_id or ask.call_id)
    if call is None and call_id is not None:
        data["toolCallId"] = call_id
    answer_permission(ask.part, data)
    if call is not None:
        call.part.approval = approval_from(ask.part, ask.by_hook)
        if call.part.approval.kind == "denied":
            call.part.status = "denied"


def user_question(reader: Reader, event: Event) -> None:
    """Read a question to the user. On disk only its answer is left, as the result of a tool."""
    family = event.type.rpartition(".")[0]
    key = _name(event, "requestId")
    parent = reader.agents.parent_of(event)
    part = question_from(family, event.data)
    part.native = event.native
    reader.add(event, "system", [part], parent=parent)
    ask = PendingPart(part, event.at)
    if key is not None:
        reader.asks.add(f"{family}:{key}", ask)
        reader.asks.wait_for_user(ask, reader.turns.current)


def question_answered(reader: Reader, event: Event) -> None:
    family = event.type.rpartition(".")[0]
    key = _name(event, "requestId")
    ask = reader.asks.pop(key and f"{family}:{key}")
    if ask is None or not isinstance(ask.part, Confirmation):
        notice(reader, event, event.type.replace(".", "-").replace("_", "-"))
        return
    reader.asks.user_answered(ask, event.at)
    del event.data["requestId"]
    reader.agents.parent_of(event)
    answer_question(ask.part, event.data)


def human_response(reader: Reader, event: Event) -> None:
    """Read the user's answer to a tool that asks. A captured stream has the question as well, in an event before."""
    data = event.data
    parent = reader.agents.parent_of(event)
    key = data.get("requestId")
    known = next((ask for family in QUESTION_TYPES if (ask := reader.asks.get(f"{family}:{key}")) is not None), None)
    part = known.part if known is not None else None
    if not isinstance(part, Confirmation):
        part = Confirmation(type="questions", native=event.native)
        reader.add(event, "system", [part], parent=parent)
        call = reader.calls.get(name if isinstance(name := data.get("toolCallId"), str) else None)
        if call is not None and reader.turns.current is not None:
            reader.asks.wait_for_user(ask := PendingPart(part, call.started_at), reader.turns.current)
            reader.asks.user_answered(ask, event.at)
    read_response(part, data)
    part.extra = with_more(part.extra, event.extra() or {})
