"""What the programs answered, in the terms of `truth`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from conformance.compare import Observations
from conformance.contenders.forms import in_form, place_in_form, texts_of
from conformance.contenders.tools import Archive, Json, Reports
from conformance.facts import Truth

Seen = Iterator[tuple[str, str, Any]]  # kind, where, value
OUTCOMES = {"completed": "succeeded", "errored": "failed"}


def from_agentsview(archive: Archive, truth: Truth) -> Observations:
    """Return what agentsview stored, by kind and place."""
    return _in_form([*_stored(archive, truth), *_days(archive.daily)])


def from_ccusage(reports: Reports, truth: Truth) -> Observations:
    """Return what ccusage reports, by kind and place."""
    names = {id_: name for name, id_ in truth.sessions.items()}
    seen: list[tuple[str, str, Any]] = [*_days(reports.daily)]
    for row in reports.sessions:
        session = names.get(row["sessionId"])
        if session is not None:
            seen += _report_sums(row, session)
            for model in row.get("modelBreakdowns") or []:
                seen += _report_sums(model, f"{session}/model {model['modelName']}")
    return _in_form(seen)


def _in_form(seen: Iterable[tuple[str, str, Any]]) -> Observations:
    return {(kind, place_in_form(where)): in_form(kind, value) for kind, where, value in seen}


def _days(rows: list[Json]) -> Seen:
    for row in rows:
        yield from _report_sums(row, f"all/day {row['date']}")


def _report_sums(row: Json, where: str) -> Seen:
    """Yield sums of a report. Both programs report the input without what came from a cache or went into it."""
    cached = row["cacheReadTokens"]
    yield "tokens.input", where, row["inputTokens"] + cached + row["cacheCreationTokens"]
    yield "tokens.output", where, row["outputTokens"]
    yield "tokens.cached", where, cached


# --- rows of agentsview ---------------------------------------------------------------------------------------------


def _stored(archive: Archive, truth: Truth) -> Seen:
    yield "conversations", "all", len(archive.sessions)
    names = {id_: name for name, id_ in truth.sessions.items()}
    calls = _by(archive.tool_calls, "message_id")
    events = _by(archive.tool_result_events, "tool_use_id")
    for row in archive.sessions:
        session = names.get(row["id"].partition(":")[2])
        if session is None:
            continue
        yield "turns", session, row["user_message_count"]
        yield "title", session, row["display_name"] or row["session_name"] or row["first_message"]
        yield "folder", session, row["cwd"] or row["project"]
        messages = [one for one in archive.messages if one["session_id"] == row["id"]]
        messages.sort(key=lambda one: int(one["ordinal"]))
        usage = [one for one in archive.usage_events if one["session_id"] == row["id"]]
        yield from _usage(usage or [_spent(one) for one in messages], session)
        if row["has_total_output_tokens"]:
            yield "tokens.output", session, row["total_output_tokens"]
        for number, turn in turns_of(messages, truth.turns.get(session, [])):
            where = f"{session}/{number}"
            yield from _turn(turn, where, truth)
            yield from _calls([call for message in turn for call in calls[message["id"]]], events, where)


def _by(rows: list[Json], key: str) -> dict[Any, list[Json]]:
    grouped: dict[Any, list[Json]] = defaultdict(list)
    for row in rows:
        grouped[row[key]].append(row)
    return grouped


def _spent(message: Json) -> Json:
    """Return the tokens of a message as a row of usage: its reports count messages where a session has no usage."""
    inputs = dict.fromkeys(("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"), 0)
    return {**inputs, "reasoning_tokens": 0, "output_tokens": message["output_tokens"], "model": message["model"]}


def _usage(rows: list[Json], session: str) -> Seen:
    by_model = _by(rows, "model")
    for where, some in [(session, rows), *((f"{session}/model {name}", found) for name, found in by_model.items())]:
        cached = sum(row["cache_read_input_tokens"] for row in some)
        fresh = sum(row["input_tokens"] + row["cache_creation_input_tokens"] for row in some)
        yield "tokens.input", where, fresh + cached
        yield "tokens.output", where, sum(row["output_tokens"] for row in some)
        yield "tokens.cached", where, cached
        yield "tokens.reasoning", where, sum(row["reasoning_tokens"] for row in some)


def turns_of(messages: list[Json], known: list[list[str]]) -> Iterator[tuple[int, list[Json]]]:
    """Yield the messages of each known turn: from the prompt that has its texts to the prompt of the next.

    A turn without texts is one that was replaced.
    """
    starts: dict[int, int] = {}  # position -> number
    for number, texts in enumerate(known, 1):
        for position, message in enumerate(messages):
            has_texts = bool(texts) and all(text in message["content"] for text in texts)
            if message["role"] == "user" and has_texts and position not in starts:
                starts[position] = number
                break
    positions = sorted(starts)
    for start, end in zip(positions, [*positions[1:], len(messages)], strict=True):
        yield starts[start], messages[start:end]


def _turn(messages: list[Json], where: str, truth: Truth) -> Seen:
    """Yield texts and model of a turn. Thinking and answers are one text here: each expected one must be in it."""
    yield "prompt", where, messages[0]["content"]
    answers = [one for one in messages if one["role"] == "assistant"]
    if not answers:
        return
    yield "model", where, answers[-1]["model"] or None
    shown = "\n".join(one["content"] for one in answers)
    for fact in truth.facts:
        if fact.kind in ("answer", "thinking") and fact.where.startswith(f"{where}/"):
            yield fact.kind, fact.where, shown


def _calls(calls: list[Json], events: dict[Any, list[Json]], where: str) -> Seen:
    yield "calls", where, len(calls)
    for call in calls:
        at = f"{where}/{call['tool_use_id']}"
        yield "call.name", at, call["tool_name"]
        yield "call.arguments", at, _value(call["input_json"])
        ended = [one for one in events[call["tool_use_id"]] if one["status"] in OUTCOMES]
        yield "call.outcome", at, OUTCOMES[ended[-1]["status"]] if ended else None
        results = [texts_of(one["content"]) for one in ended] or [texts_of(call["result_content"])]
        yield "call.result", at, "\n".join(text for text in results if text) or None


def _value(text: str | None) -> Any:
    """Return the value of arguments that are JSON; the text itself where they are not."""
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text
