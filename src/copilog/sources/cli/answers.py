"""Answers of the assistant: text, thinking, the tools that it requests, and its rounds."""

from __future__ import annotations

from collections.abc import Iterator

from copilog.derive.tool_names import SHELL_READERS, tool_key
from copilog.fields import Json, put_back, rest, strings_at, take_dict, take_list, take_str
from copilog.model import (
    Message,
    Notice,
    Place,
    Round,
    Text,
    Thinking,
    ToolCall,
    Turn,
    UsedReference,
)
from copilog.sources.cli.event import Event, with_more
from copilog.sources.cli.lifecycle import notice
from copilog.sources.cli.reader import Reader
from copilog.sources.cli.tool_calls import requested_call
from copilog.sources.cli.tool_parts import parts_at_start

# Answers: the text and thinking of the assistant, the tools that it requested, and its rounds.

OF_PROGRAM = "program"  # `origin` of a call that the program made by itself
READERS = SHELL_READERS | {"readagent"}
FROM_MODEL = (
    "model",
    "apiCallId",
    "interactionId",
    "turnId",
    "outputTokens",
)  # a message of the model has some of them


def assistant_message(reader: Reader, event: Event) -> None:
    data = event.data
    parent = reader.agents.parent_of(event)
    interaction = reader.take_interaction(event, parent)
    turn = reader.answering(interaction)
    if reader.deltas.waiting:
        message_id = data.get("messageId")
        reader.deltas.complete(reader, "message", message_id if isinstance(message_id, str) else None)
    is_of_program = _is_of_program(data)
    message = reader.add(event, "system" if is_of_program else "assistant", [], turn=turn, parent=parent)
    if turn.mode is not None:
        message.mode = turn.mode.id
    text = take_str(data, "reasoningText")
    if text:
        _add_reasoning(reader, text, message)
    if "reasoningBlocks" in data:
        _read_reasoning_blocks(data["reasoningBlocks"], message)
    content = data.pop("content", None)
    if isinstance(content, str):
        if content:
            message.parts.append(Text(text=content))
    elif content is not None:
        data["content"] = content
    open_round = reader.turns.round_of(parent)
    requests = take_list(data, "toolRequests")
    if requests:
        _add_calls(reader, event, message, requests, None if is_of_program else open_round)
    if open_round is not None and data.get("turnId") == open_round.id:
        data.pop("turnId", None)
    if is_of_program:
        _mark_calls(message)
    else:
        reader.models.set_model_of(message, take_str(data, "model"), open_round.model if open_round else None)
    reader.meter.add_message(data, message.model, turn, parent)
    if parent is None:
        reader.models.correct_turn(turn, message)
        reader.turns.note_activity(turn, event.at, is_open=bool(requests), has_answer=True)
        reader.turns.recover(turn)
    if "citations" in data:
        _read_citations(data, turn, message)
    if "serverTools" in data:
        _read_server_tools(data, message)
    message.extra = event.extra()


def _is_of_program(data: Json) -> bool:
    """Return whether the program wrote a message by itself, to read the output of what has ended.

    It names neither a model nor a round, and its calls have no type.
    """
    requests = data.get("toolRequests")
    if data.get("content") or data.get("reasoningText") or not isinstance(requests, list) or not requests:
        return False
    return not any(name in data for name in FROM_MODEL) and all(_reads_output(request) for request in requests)


def _reads_output(request: object) -> bool:
    if not isinstance(request, dict) or "type" in request:
        return False
    name = request.get("name")
    return isinstance(name, str) and tool_key(name) in READERS


def _mark_calls(message: Message) -> None:
    for part in message.parts:
        if isinstance(part, ToolCall):
            part.origin = OF_PROGRAM


def _add_reasoning(reader: Reader, text: str, message: Message) -> None:
    """Add the readable reasoning, unless the event just before had the same text."""
    thinking = Thinking(text=text)
    said = reader.said_reasoning.pop(message.parent_call_id, None)
    if said is not None and isinstance(part := said.parts[0], Thinking) and part.text.strip() == text.strip():
        thinking.id = part.id
        reader.withdraw(said)
    if reader.deltas.waiting:
        reader.deltas.complete_reasoning(reader, text)
    message.parts.append(thinking)
    reader.last_thinking[message.parent_call_id] = thinking


def _read_reasoning_blocks(blocks: object, message: Message) -> None:
    """Add what the provider's form of the reasoning contains beyond the readable text."""
    known = next((part for part in message.parts if isinstance(part, Thinking)), None)
    texts = dict.fromkeys(_reasoning_in(blocks))
    more = "\n".join(text for text in texts if text and (known is None or text.strip() not in known.text))
    if more and known is None:
        message.parts.append(Thinking(text=more, native="reasoningBlocks"))
    elif more and known is not None:
        known.notes = {**known.notes, "more of it": more}


def _reasoning_in(value: object, name: str = "") -> Iterator[str]:
    if isinstance(value, str):
        if name in ("text", "thinking", "summary", "content", "reasoning"):
            yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _reasoning_in(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _reasoning_in(item, name)


def assistant_reasoning(reader: Reader, event: Event) -> None:
    """Read reasoning in an event of its own; mostly the message before or after it has the same text."""
    data = event.data
    parent = reader.agents.parent_of(event)
    reasoning_id, text = take_str(data, "reasoningId"), take_str(data, "content") or ""
    reader.deltas.complete(reader, "reasoning", reasoning_id)
    last = reader.last_thinking.get(parent)
    if last is not None and last.id is None and last.text.strip() == text.strip():
        last.id = reasoning_id
        return
    turn = reader.answering(None)
    message = reader.add(event, "assistant", [Thinking(text=text, id=reasoning_id)], parent=parent)
    message.turn = turn.index
    message.extra = event.extra()
    reader.models.set_model_of(message, None, None)
    reader.said_reasoning[parent] = message


def _add_calls(
    reader: Reader, event: Event, message: Message, requests: list[object], open_round: Round | None
) -> None:
    parts, calls = message.parts, reader.calls
    for position, request in reader.count_parts(requests, event, "/data/toolRequests"):
        part, arguments = requested_call(request, position)
        if not part.id:
            part.id = f"{event.id or event.line}-{position}"
        if reader.deltas.waiting:
            reader.deltas.complete(reader, "call", part.id)
        parts.append(part)
        if calls.get(part.id) is None:
            parts += parts_at_start(calls.add(part, message, arguments))
        if open_round is not None:
            open_round.call_ids.append(part.id)


def _read_citations(data: Json, turn: Turn, message: Message) -> None:
    """Read what an answer refers to. The offsets in its text stay with the message."""
    citations = take_dict(data, "citations")
    if citations is None:
        return
    sources = take_list(citations, "sources") or []
    put_back(citations, "sources", [source for source in sources if not isinstance(source, dict)])
    for source in sources:
        if not isinstance(source, dict):
            continue
        place = Place(uri=take_str(source, "url"), path=take_str(source, "path"), name=take_str(source, "title"))
        turn.references.append(UsedReference(place=place, extra=rest(source)))
    if cited := _cited_in(citations.get("spans")):
        message.parts.append(Notice(topic="cited", text="\n".join(cited)))
    put_back(data, "citations", citations)


def _cited_in(spans: object) -> list[str]:
    """Return the texts that an answer cites, each once."""
    references = [span.get("references") for span in spans if isinstance(span, dict)] if isinstance(spans, list) else []
    cited = [each for items in references if isinstance(items, list) for each in items if isinstance(each, dict)]
    return list(dict.fromkeys(text for each in cited if isinstance(text := each.get("citedText"), str) and text))


def _read_server_tools(data: Json, message: Message) -> None:
    """Add the calls of the provider's own tools, such as a web search: no event records them."""
    tools = data["serverTools"]
    texts = [strings_at(tools, key) for key in ("items", "rawContentBlocks")] if isinstance(tools, dict) else []
    if text := "\n".join(filter(None, texts)):
        message.parts.append(Notice(topic="server-tools", text=text))


def turn_start(reader: Reader, event: Event) -> None:
    data = event.data
    parent = reader.agents.parent_of(event)
    interaction = reader.take_interaction(event, parent)
    turn = reader.answering(interaction)
    made = Round(id=take_str(data, "turnId"), started_at=event.at, model=take_str(data, "model"), extra=event.extra())
    if parent is not None:
        made.extra = with_more(made.extra, {"parent_call_id": parent})
    else:
        reader.turns.note_activity(turn, event.at, is_open=True)
    reader.turns.begin_round(turn, parent, made)


def turn_end(reader: Reader, event: Event) -> None:
    parent = reader.agents.parent_of(event)
    turn = reader.turns.current or (reader.turns.all[-1] if reader.turns.all else None)
    if turn is None:
        notice(reader, event, "turn-end", "turnId")
        return
    turn_id, model = take_str(event.data, "turnId"), take_str(event.data, "model")
    ended = reader.turns.end_round(parent, event.at)
    if ended is None:
        ended = Round(id=turn_id)  # its beginning is lost
        turn.rounds.append(ended)
    ended.model = ended.model or model
    left = event.extra()
    if left:
        ended.extra = with_more(ended.extra, left)
    if parent is None:
        reader.turns.note_activity(turn, event.at, is_open=False)


def model_call_start(reader: Reader, event: Event) -> None:
    """Read from a captured stream which model a round calls."""
    open_round = reader.turns.round_of(reader.agents.parent_of(event))
    if open_round is None:
        notice(reader, event, "model-call", "model")
        return
    take_str(event.data, "turnId")
    open_round.model = open_round.model or take_str(event.data, "model")
    if event.data:
        open_round.extra = with_more(open_round.extra, event.data)
