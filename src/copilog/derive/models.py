"""Conclude which model a turn ran, which may differ from the requested one.

`Turn.model` is what was recorded; `Turn.ran_model` is concluded from all records of the model that ran.
"""

from __future__ import annotations

from collections.abc import Iterator

from copilog.derive.calls import TurnsOfCalls, is_side_call
from copilog.derive.model_names import DEPLOYMENT, is_router, is_same_model, key_of, name_in_details
from copilog.model import Conversation, Message, RanModel, Turn, Usage

TOTALS = "modelTotals"  # the source of a turn's totals by model
OF_TURN = "session"  # the source of a message's model where its trace names only that of the turn


def model_of(turn: Turn) -> str | None:
    """Return the model that a turn ran; the requested one if no record shows which model ran."""
    if turn.ran_model is not None:
        return turn.ran_model.name
    return turn.model.resolved or turn.model.name if turn.model is not None else None


def model_of_message(message: Message, turn: Turn | None) -> str | None:
    """Return the model that wrote a message; that of the turn if its trace only names the model of the turn."""
    if turn is not None and message.model_source == OF_TURN and message.role == "assistant":
        return model_of(turn) or message.model
    return message.model


def names_of(turn: Turn) -> list[str]:
    """Return every name of a turn's model: as requested, as resolved, and as it ran."""
    recorded = (turn.model.name, turn.model.id, turn.model.resolved) if turn.model is not None else ()
    return [name for name in (*recorded, turn.ran_model.name if turn.ran_model is not None else None) if name]


def requested_model(turn: Turn) -> str | None:
    """Return the requested model if another one ran: `auto`, for instance."""
    ran = model_of(turn)
    if turn.model is None or ran is None or key_of(turn.model.name) == key_of(ran):
        return None
    return turn.model.name


def conclude_models(conversation: Conversation) -> None:
    """Set the model that ran in each turn."""
    answered = _answers_in(conversation.messages)
    if conversation.usage:
        answered = _models_of_calls(conversation) | answered
    for turn in conversation.turns:
        turn.ran_model = _ran_model(turn, answered.get(turn.index))


def _answers_in(messages: list[Message]) -> dict[int, str]:
    """Return the model that first answered in each turn, if a message names it, ignoring sub-agents."""
    found: dict[int, str] = {}
    for message in messages:
        turn, model = message.turn, message.model
        if turn is None or not model or message.role != "assistant" or message.model_source == OF_TURN:
            continue
        if turn not in found and message.parent_call_id is None and not is_router(model):
            found[turn] = model
    return found


def _models_of_calls(conversation: Conversation) -> dict[int, str]:
    """Return the model that the main agent called first in each turn, if calls are recorded outside the turns."""
    found: dict[int, str] = {}
    turns: TurnsOfCalls | None = None
    for usage in conversation.usage:
        if usage.scope == "call" and usage.model and not is_side_call(usage) and not is_router(usage.model):
            turns = turns or TurnsOfCalls(conversation.turns)
            turn = turns.of(usage)
            if turn is not None:
                found.setdefault(turn, usage.model)
    return found


def _ran_model(turn: Turn, answered: str | None) -> RanModel | None:
    best = next(_evidence(turn, answered), None)
    if best is None:
        return None
    name, evidence = best
    if turn.model is not None:
        name = name.removeprefix(f"{turn.model.vendor}/") if turn.model.vendor else name
        if is_same_model(turn.model.name, name):
            name = turn.model.name  # other turns have the spelling of the request as well
    return RanModel(name=name, evidence=evidence)


def _evidence(turn: Turn, answered: str | None) -> Iterator[tuple[str, str]]:
    """Yield the evidence for the model that ran, the best first."""
    label = name_in_details(turn.details) if turn.details else ""
    for name, evidence in _recorded(turn, answered, label):
        if name and key_of(name) and not is_router(name) and not (label and name.startswith(DEPLOYMENT)):
            yield name, evidence
    if label and _is_evidence(turn, label):
        yield label, "details"


def _recorded(turn: Turn, answered: str | None, label: str) -> Iterator[tuple[str | None, str]]:
    """Yield every model that a record names, the best first."""
    resolved = turn.model.resolved if turn.model is not None else None
    if turn.usage:
        totals = [usage for usage in turn.usage if usage.source == TOTALS]
        yield _largest(totals, resolved or answered or label), "model totals"
    yield resolved, "resolved model"
    yield answered, "call record"
    for each in turn.rounds:
        yield each.model, "call record"
    for usage in turn.usage:
        if usage.scope == "call" and not is_side_call(usage):
            yield usage.model, "call record"


def _largest(totals: list[Usage], preferred: str | None) -> str | None:
    """Return the model of a turn's totals: the one that other evidence names, else the one with most output."""
    named = [usage for usage in totals if usage.model]
    for usage in named:
        if preferred and key_of(usage.model or "") == key_of(preferred):
            return usage.model
    return max(named, key=lambda usage: usage.output or 0).model if named else None


def _is_evidence(turn: Turn, label: str) -> bool:
    """Return whether the line under the answer proves what ran: users name models of other vendors freely."""
    asked = turn.model
    return (
        asked is None or asked.vendor in (None, "copilot") or is_router(asked.name) or is_same_model(asked.name, label)
    )
