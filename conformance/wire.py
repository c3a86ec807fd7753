"""The two wire formats that the model server speaks: chat completions and responses, whole or as a stream.

`history_of` reduces a request to the roles and texts of its messages, whatever its format; `chunks_of` gives the events
of a streamed answer, in groups between which the server may wait.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from conformance.scenario import Call, Step, Tokens
from conformance.served import Served

PIECE = 40  # characters of text in one event
Json = dict[str, Any]


class Said(msgspec.Struct, frozen=True):
    """One message of a request: who wrote it, and its text."""

    role: str
    text: str


def is_responses(path: str) -> bool:
    """Return whether a request is of the responses format."""
    return path.split("?")[0].endswith("/responses")


def history_of(body: Json) -> list[Said]:
    """Return the messages of a request; the items of one answer of the model become one message."""
    if "messages" in body:
        return [Said(message.get("role", ""), _text(message.get("content"))) for message in body["messages"]]
    given = body.get("input") or []
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    history = [Said("system", body.get("instructions") or "")]
    for item in items:
        role = item.get("role") or ("tool" if str(item.get("type", "")).endswith("_output") else "assistant")
        if role == "assistant" and history[-1].role == "assistant":
            continue
        history.append(Said(role, _text(item.get("content"))))
    return history


def tools_of(body: Json) -> list[str]:
    """Return the names of the tools that a request offers."""
    tools = body.get("tools") or []
    return [str(tool.get("function", tool.get("custom", tool)).get("name")) for tool in tools]


def error_of(step: Step) -> Json:
    """Return the body of an HTTP error."""
    return {"error": {"message": step.text or "scripted failure", "type": "server_error", "code": "scripted"}}


def whole_of(step: Step, served: Served, *, responses: bool) -> Json:
    """Return an answer that is not streamed."""
    if responses:
        return _response(step, served, _items(step, served), "completed")
    message: Json = {"role": "assistant", "content": step.text}
    if step.thinking:
        message["reasoning_content"] = step.thinking
    if step.calls:
        message["tool_calls"] = _completion_calls(step, served)
    choice = {"index": 0, "message": message, "finish_reason": _finish(step)}
    return {**_completion(served, "chat.completion"), "choices": [choice], "usage": _completion_usage(step)}


def chunks_of(step: Step, served: Served, *, responses: bool) -> Iterator[list[Json]]:
    """Yield the events of a streamed answer: what begins it, its text, and what ends it."""
    yield from _response_chunks(step, served) if responses else _completion_chunks(step, served)


def event(data: Json) -> bytes:
    """Return one server-sent event."""
    name = f"event: {data['type']}\n" if "type" in data else ""
    return f"{name}data: {json.dumps(data)}\n\n".encode()


def word_of(served: Served, *, responses: bool) -> Json:
    """Return an event with a further piece of text, for an answer that takes long."""
    if responses:
        return {"type": "response.output_text.delta", "item_id": f"msg_{served.id}", "output_index": 0,
                "content_index": 0, "delta": " ."}  # fmt: skip
    return _delta(served, {"content": " ."})


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return ""


def _pieces(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


def _given(call: Call) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)


def _tokens(step: Step) -> Tokens:
    return step.tokens or Tokens(input=0, output=0)


# --- chat completions -------------------------------------------------------------------------------------------------


def _completion(served: Served, kind: str) -> Json:
    return {"id": served.id, "object": kind, "created": int(served.began_at.timestamp()), "model": served.model}


def _completion_usage(step: Step) -> Json:
    tokens = _tokens(step)
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
    }


def _completion_calls(step: Step, served: Served) -> list[Json]:
    calls: list[Json] = []
    for index, (call, id_) in enumerate(zip(step.calls, served.call_ids, strict=True)):
        if call.custom:
            tool: Json = {"type": "custom", "custom": {"name": call.name, "input": _given(call)}}
        else:
            tool = {"type": "function", "function": {"name": call.name, "arguments": _given(call)}}
        calls.append({"index": index, "id": id_, **tool})
    return calls


def _finish(step: Step) -> str:
    return "tool_calls" if step.calls else "stop"


def _delta(served: Served, delta: Json, finish: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {**_completion(served, "chat.completion.chunk"), "choices": [choice]}


def _completion_chunks(step: Step, served: Served) -> Iterator[list[Json]]:
    first = [_delta(served, {"role": "assistant", "content": ""})]
    if step.thinking:
        first.append(_delta(served, {"reasoning_content": step.thinking}))
    yield first
    yield [_delta(served, {"content": piece}) for piece in _pieces(step.text)]
    last = [_delta(served, {"tool_calls": [call]}) for call in _completion_calls(step, served)]
    last.append(_delta(served, {}, _finish(step)))
    last.append({**_completion(served, "chat.completion.chunk"), "choices": [], "usage": _completion_usage(step)})
    yield last


# --- responses --------------------------------------------------------------------------------------------------------


def _response(step: Step, served: Served, output: list[Json], status: str) -> Json:
    tokens = _tokens(step)
    usage = {
        "input_tokens": tokens.input,
        "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.input + tokens.output,
    }
    return {
        "id": served.id,
        "object": "response",
        "created_at": int(served.began_at.timestamp()),
        "status": status,
        "model": served.model,
        "output": output,
        "error": None,
        "incomplete_details": None,
        "usage": usage if status == "completed" else None,
    }


def _items(step: Step, served: Served) -> list[Json]:
    items: list[Json] = []
    if step.thinking:
        summary = [{"type": "summary_text", "text": step.thinking}]
        items.append({"id": f"rs_{served.id}", "type": "reasoning", "summary": summary})
    if step.text or not step.calls:
        content = [{"type": "output_text", "text": step.text, "annotations": []}]
        message = {"id": f"msg_{served.id}", "type": "message", "status": "completed", "role": "assistant"}
        items.append({**message, "content": content})
    for call, id_ in zip(step.calls, served.call_ids, strict=True):
        kind, field = ("custom_tool_call", "input") if call.custom else ("function_call", "arguments")
        named = {"id": f"fc_{id_}", "type": kind, "status": "completed", "call_id": id_, "name": call.name}
        items.append({**named, field: _given(call)})
    return items


def _response_chunks(step: Step, served: Served) -> Iterator[list[Json]]:
    number = 0

    def numbered(kind: str, **fields: Any) -> Json:
        nonlocal number
        number += 1
        return {"type": kind, "sequence_number": number - 1, **fields}

    items = _items(step, served)
    yield [numbered("response.created", response=_response(step, served, [], "in_progress"))]
    events: list[Json] = []
    for index, item in enumerate(items):
        where = {"item_id": item["id"], "output_index": index}
        bare = {**item, "content": []} if item["type"] == "message" else {**item, "status": "in_progress"}
        if item["type"] == "reasoning":
            bare = {**item, "summary": []}
        events.append(numbered("response.output_item.added", output_index=index, item=bare))
        if item["type"] == "message":
            part = item["content"][0]
            empty = {**part, "text": ""}
            events.append(numbered("response.content_part.added", **where, content_index=0, part=empty))
            events.extend(
                numbered("response.output_text.delta", **where, content_index=0, delta=piece)
                for piece in _pieces(part["text"])
            )
            events.append(numbered("response.output_text.done", **where, content_index=0, text=part["text"]))
            events.append(numbered("response.content_part.done", **where, content_index=0, part=part))
        elif item["type"] == "reasoning":
            part = item["summary"][0]
            empty = {**part, "text": ""}
            events.append(numbered("response.reasoning_summary_part.added", **where, summary_index=0, part=empty))
            text = part["text"]
            events.append(numbered("response.reasoning_summary_text.delta", **where, summary_index=0, delta=text))
            events.append(numbered("response.reasoning_summary_text.done", **where, summary_index=0, text=text))
            events.append(numbered("response.reasoning_summary_part.done", **where, summary_index=0, part=part))
        elif item["type"] == "function_call":
            text = item["arguments"]
            events.append(numbered("response.function_call_arguments.delta", **where, delta=text))
            events.append(numbered("response.function_call_arguments.done", **where, arguments=text))
        else:
            events.append(numbered("response.custom_tool_call_input.delta", **where, delta=item["input"]))
            events.append(numbered("response.custom_tool_call_input.done", **where, input=item["input"]))
        events.append(numbered("response.output_item.done", output_index=index, item=item))
    yield events
    yield [numbered("response.completed", response=_response(step, served, items, "completed"))]
