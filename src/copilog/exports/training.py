"""Choose what models may be trained with, the same for all formats of fine-tuning.

An example is a conversation, one of its ends if it has branches, or a sub-agent of it, as the model saw it. Turns that
no longer count are in none, nor are those that the user undid in part.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

from copilog.derive import is_counted
from copilog.derive.replayed_calls import rough_tokens
from copilog.exports.formats import Making
from copilog.exports.near_duplicates import NearDuplicates
from copilog.exports.paired_messages import Exchange, exchanges_of
from copilog.exports.uncarried import count_uncarried
from copilog.model import AnyPart, Conversation, Message, Terminal, Text, Thinking, ToolCall, ToolResult, parts_of
from copilog.store.details import edit_rows
from copilog.store.texts import Calls
from copilog.trajectory import trajectories_of

OPTIONS = frozenset({"system_prompt", "thinking", "max_tokens", "kept_only", "unique"})
CARRIED = frozenset({"text", "prompt", "thinking", "tool-call", "tool-result", "attachment", "mention", "reference"})
SEEN = "examples so far"  # what is remembered over the files of one export


class Example(msgspec.Struct):
    """A conversation to train with."""

    id: str
    system: str
    exchanges: list[Exchange]
    tools: list[dict[str, Any]]  # definitions of the tools that it uses, in the form of chat completions

    def texts(self) -> Iterator[str]:
        yield self.system
        for exchange in self.exchanges:
            yield from exchange.texts()


def examples_of(conversation: Conversation, making: Making) -> Iterator[Example]:
    """Yield the examples of a conversation; what the user did not choose, and what has no use, is counted."""

    def count(what: str, number: int = 1) -> None:
        making.left_out.add(conversation.id, what, number)

    count_uncarried(conversation, making, CARRIED)
    definitions = definitions_in(conversation)
    for trajectory in trajectories_of(_prepared(_chosen(conversation, making))):
        system, exchanges = exchanges_of(trajectory.messages, count)
        if making.options.system_prompt is False:
            count("system prompts", int(bool(system)))
            system = ""
        if making.options.thinking is not True:
            count("thoughts of models", _without_thinking(exchanges))
        example = Example(trajectory.conversation_id, system, exchanges, [])
        _shorten(example, making.options.max_tokens, count)
        if not example.exchanges:
            continue
        if making.options.unique and _is_repeated(example, making):
            count("examples that nearly repeat another one")
            continue
        example.tools = _tools_of(example, definitions)
        yield example


# --- turns ----------------------------------------------------------------------------------------------------------


def _chosen(conversation: Conversation, making: Making) -> Conversation:
    """Return the conversation with the turns that must not be used marked as superseded."""
    reasons = _undone_in_part(conversation)
    if making.options.kept_only:
        reasons = _not_kept(conversation) | reasons
    if not reasons:
        return conversation
    turns = list(conversation.turns)
    for position, turn in enumerate(turns):
        if turn.index in reasons and is_counted(turn):
            making.left_out.add(conversation.id, reasons[turn.index])
            turns[position] = msgspec.structs.replace(turn, superseded="left out")
    return msgspec.structs.replace(conversation, turns=turns)


def _undone_in_part(conversation: Conversation) -> dict[int, str]:
    starts = {turn.index: turn.undone_from for turn in conversation.turns if turn.undone_from is not None}
    undone: dict[int, str] = {}
    for message in conversation.messages if starts else ():
        start = starts.get(message.turn) if message.turn is not None and message.role == "assistant" else None
        if start is not None and any(part.position is not None and part.position >= start for part in message.parts):
            undone[message.turn or 0] = "turns that were undone in part"
    return undone


def _not_kept(conversation: Conversation) -> dict[int, str]:
    """Return the turns without edits, and those with an edit that is not known to be kept."""
    outcomes: defaultdict[int | None, set[str | None]] = defaultdict(set)
    for row in edit_rows(conversation, Calls(conversation)):
        outcomes[row.turn].add(row.fate)
    reasons: dict[int, str] = {}
    for turn in conversation.turns:
        found = outcomes.get(turn.index)
        if not found:
            reasons[turn.index] = "turns without edits"
        elif found - {"kept", None}:
            reasons[turn.index] = "turns whose edits were not kept"
        elif None in found:
            reasons[turn.index] = "turns whose edits have no recorded decision"
    return reasons


# --- messages -------------------------------------------------------------------------------------------------------


def _prepared(conversation: Conversation) -> Conversation:
    """Return the conversation with each text after a call in a message of its own, and output of terminals as results.

    A call without a result takes the output that the terminal recorded.
    """
    answered = {part.call_id for part in parts_of(conversation) if isinstance(part, ToolResult)}
    messages: list[Message] = []
    for message in conversation.messages:
        if message.role != "assistant":
            messages.append(message)
            continue
        for parts in _split(message.parts):
            messages.append(msgspec.structs.replace(message, parts=parts))
            messages += (
                msgspec.structs.replace(
                    message, role="tool", parts=[ToolResult(call_id=part.call_id, text=part.output)]
                )
                for part in parts
                if isinstance(part, Terminal) and part.output and part.call_id and part.call_id not in answered
            )
    return msgspec.structs.replace(conversation, messages=messages)


def _split(parts: list[AnyPart]) -> list[list[AnyPart]]:
    """Divide the parts of a message before each text or thought that follows a call."""
    pieces: list[list[AnyPart]] = [[]]
    has_call = False
    for part in parts:
        if has_call and isinstance(part, Text | Thinking) and part.text.strip():
            pieces.append([])
            has_call = False
        pieces[-1].append(part)
        has_call = has_call or isinstance(part, ToolCall)
    return pieces


def _without_thinking(exchanges: list[Exchange]) -> int:
    """Remove what models thought; return how many answers had it."""
    number = 0
    for exchange in exchanges:
        for answer in exchange.answers:
            number += bool(answer.thinking)
            answer.thinking = ""
    return number


def _shorten(example: Example, max_tokens: int | None, count: Any) -> None:
    """Leave out exchanges from the end until the example has no more than so many rough tokens."""
    if max_tokens is None:
        return
    size = rough_tokens(example.system)
    for number, exchange in enumerate(example.exchanges):
        size += sum(map(rough_tokens, exchange.texts()))
        size += sum(rough_tokens(answer.thinking) for answer in exchange.answers)
        if size > max_tokens:
            left_out = len(example.exchanges) - number
            count("prompts with their answers beyond the maximum of tokens", left_out)
            del example.exchanges[number:]
            return


def _is_repeated(example: Example, making: Making) -> bool:
    """Return whether an example nearly repeats an earlier one: in what the user and the assistant wrote."""
    seen = making.memory.setdefault(SEEN, NearDuplicates())
    texts = (
        text
        for exchange in example.exchanges
        for text in (
            exchange.prompt,
            *(part for each in exchange.answers for part in (each.text, *(call.arguments for call in each.calls))),
        )
    )
    return bool(seen.has_like("\n".join(texts)))


# --- tools ----------------------------------------------------------------------------------------------------------


def definitions_in(conversation: Conversation) -> dict[str, dict[str, Any]]:
    """Return the recorded definitions of tools by their name, in the form of chat completions."""
    extra = conversation.extra or {}
    agent = extra.get("agent")
    recorded = [extra.get("tools"), agent.get("tool_definitions") if isinstance(agent, dict) else None]
    found: dict[str, dict[str, Any]] = {}
    for definition in _flat(recorded):
        function = definition.get("function", definition)
        name = function.get("name") if isinstance(function, dict) else None
        if isinstance(name, str) and name:
            schema = function.get("parameters", function.get("input_schema"))
            made: dict[str, Any] = {"name": name}
            if isinstance(function.get("description"), str):
                made["description"] = function["description"]
            made["parameters"] = schema if isinstance(schema, dict) and schema.get("type") == "object" else ANYTHING
            found.setdefault(name, {"type": "function", "function": made})
    return found


ANYTHING: dict[str, Any] = {"type": "object", "properties": {}}  # the schema of a tool whose own was not recorded


def _flat(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for item in value:
            yield from _flat(item)
    elif isinstance(value, dict):
        yield value


def _tools_of(example: Example, definitions: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the definitions of the tools that an example calls; one without a record accepts any arguments."""
    calls = (call for exchange in example.exchanges for answer in exchange.answers for call in answer.calls)
    names = dict.fromkeys(call.name for call in calls)
    return [
        definitions.get(name) or {"type": "function", "function": {"name": name, "parameters": ANYTHING}}
        for name in names
    ]
