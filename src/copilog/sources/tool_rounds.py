"""Tool calls that the Copilot extension recorded beside the response: rounds of the model, and their results.

VS Code's own record of a call (`toolInvocationSerialized`) lacks the arguments and the result for the model; the
extension stores both in `toolCallRounds` and `toolCallResults`. `vscode/tool_calls.py` matches each call to a part of
the response. Format notes: docs/formats/vscode-chat.md, "Tool calls".
"""

from __future__ import annotations

from typing import Any

import msgspec

from copilog.fields import Json, json_text, put_back, rest, take_dict, take_list, take_str, take_time
from copilog.model import Round


class RecordedCall(msgspec.Struct, gc=False, eq=False):
    """One call of a tool by the model, as the extension recorded it."""

    native_id: str
    id: str
    name: str
    arguments: str | None
    round: Round
    extra: Json | None = None
    is_placed: bool = False  # whether a part of the response was matched to it


class RecordedCalls:
    """The rounds and calls of a turn in order, and the results without a call yet, by id."""

    def __init__(self, rounds: list[Round], calls: list[RecordedCall], results: Json) -> None:
        self.rounds = rounds
        self.calls = calls
        self.results = results

    def take_result(self, *native_ids: str) -> Any:
        """Take the result of a call with one of these ids; return None if it was not recorded."""
        if not self.results:
            return None
        for native_id in native_ids:
            if native_id in self.results:
                return self.results.pop(native_id)
        wanted = {clean_id(native_id) for native_id in native_ids if native_id}
        key = next((key for key in self.results if clean_id(key) in wanted), None)
        return None if key is None else self.results.pop(key)


def calls_from(metadata: Json) -> RecordedCalls:
    """Take the rounds and results out of a result's metadata."""
    rounds: list[Round] = []
    calls: list[RecordedCall] = []
    unread: list[Any] = []
    for raw in take_list(metadata, "toolCallRounds") or []:
        if isinstance(raw, dict):
            summary = take_str(raw, "summary")
            rounds.append(_round_from(raw, calls))
            if summary:
                _add_summary(metadata, summary, rounds[-1].id)
        elif raw is not None:
            unread.append(raw)
    put_back(metadata, "toolCallRounds", unread)
    _restore_full_ids(calls)
    for call in calls:
        call.round.call_ids.append(call.id)
    return RecordedCalls(rounds, calls, take_dict(metadata, "toolCallResults") or {})


def _add_summary(metadata: Json, text: str, round_id: str | None) -> None:
    """Add the summary of a round to those of the turn."""
    known = metadata.get("summaries")
    metadata["summaries"] = [*(known if isinstance(known, list) else []), {"text": text, "toolCallRoundId": round_id}]


def _restore_full_ids(calls: list[RecordedCall]) -> None:
    """Restore the full id of calls whose short id is not unique."""
    owners: dict[str, RecordedCall] = {}
    for call in calls:
        first = owners.setdefault(call.id, call)
        if first is not call:
            first.id = first.native_id
            call.id = call.native_id


def _round_from(raw: Json, calls: list[RecordedCall]) -> Round:
    made = Round(
        id=take_str(raw, "id"),
        text=take_str(raw, "response") or "",
        thinking=_thinking_text(raw) if "thinking" in raw else None,
        started_at=take_time(raw, "timestamp"),
        model=take_str(raw, "modelId"),
        hook_context=take_str(raw, "hookContext"),
    )
    unread: list[Any] = []
    for item in take_list(raw, "toolCalls") or []:
        call = _call_from(item, made) if isinstance(item, dict) else None
        if call is None:
            unread.append(item)
        else:
            calls.append(call)
    put_back(raw, "toolCalls", unread)
    if raw.get("toolInputRetry") == 0:
        del raw["toolInputRetry"]
    made.extra = rest(raw)
    return made


def _call_from(item: Json, of_round: Round) -> RecordedCall | None:
    native_id, name, arguments = item.get("id"), item.get("name"), item.get("arguments")
    if not isinstance(native_id, str) or not isinstance(name, str):
        return None
    if arguments is not None and not isinstance(arguments, str):
        arguments = json_text(arguments)
    call = RecordedCall(native_id, clean_id(native_id), name, arguments, of_round)
    if len(item) > 3 or arguments is None:
        taken = ("id", "name") if arguments is None else ("id", "name", "arguments")
        call.extra = {key: value for key, value in item.items() if key not in taken} or None
    return call


def _thinking_text(raw: Json) -> str | None:
    """Return the readable part of a round's thinking; ids, marks and encrypted parts stay in `extra`."""
    thinking = raw.get("thinking")
    if isinstance(thinking, str):
        return take_str(raw, "thinking")
    if not isinstance(thinking, dict):
        return None
    text = thinking.get("text")
    if isinstance(text, list) and all(isinstance(item, str) for item in text):
        text = "".join(text)
    if not isinstance(text, str):
        return None
    del thinking["text"]
    if not thinking:
        del raw["thinking"]
    return text


def clean_id(native_id: str) -> str:
    """Return a call's id without the suffix that the extension adds."""
    return native_id.partition("__vscode-")[0] or native_id
