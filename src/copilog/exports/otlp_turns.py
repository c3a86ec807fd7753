"""Make the spans of one turn."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby
from typing import Any

import msgspec

from copilog.derive import model_of
from copilog.derive.models import model_of_message
from copilog.exports.otlp_json import CLIENT, ERROR, INTERNAL, OK, Clock, Json, Span, nanoseconds, span_id, trace_id
from copilog.exports.paired_messages import arguments_object
from copilog.exports.recorded_usage import Amounts, Place, RecordedUsage
from copilog.exports.uncarried import is_picture
from copilog.model import (
    Attachment,
    Conversation,
    Message,
    Prompt,
    Reference,
    ResultItem,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    prose_of,
)
from copilog.trajectory import encoded
from copilog.trajectory.messages import MessageWriter

PROVIDER = "github"
NOT_RUN = frozenset({"denied", "skipped", "cancelled"})
NOT_RECORDED = ("first prompt", "placeholder")  # origins of titles that copilog concluded
NANO = 1_000_000_000


class Run(msgspec.Struct):
    """What one agent does in the turn."""

    caller: str | None
    span: Span
    chats: list[Span] = []
    input: list[Json] = []  # messages since the last chat
    system: list[str] = []


class Called(msgspec.Struct):
    """A call of a tool, and the span of its execution."""

    call: ToolCall
    span: Span
    has_run: bool = False


class TurnSpans:
    """The spans of one turn: add its messages, and finish it."""

    def __init__(self, conversation: Conversation, turn: Turn, writer: MessageWriter, clock: Clock) -> None:
        self.results_without_call = 0
        self._conversation = conversation
        self._turn = turn
        self._writer = writer
        self._clock = clock
        self._session = conversation.native_id or conversation.id
        self._trace = trace_id(conversation.id, turn.index)
        self._runs: dict[str | None, Run] = {}
        self._calls: dict[tuple[str | None, str], Called] = {}
        self._others: list[Span] = []  # chats and executions

    def spans(self) -> Iterator[Span]:
        """Yield the spans of agents, then the others in their order."""
        yield from (run.span for run in self._runs.values())
        yield from self._others

    def add(self, messages: list[Message]) -> None:
        first = self._turn.timing.started_at or next((each.created_at for each in messages if each.created_at), None)
        self._runs[None] = Run(None, self._agent_span(None, first))
        for message in messages:
            run = self._run_of(message)
            if message.role == "user":
                self._add_prompt(run, message)
                self._add_calls(run, message, self._clock.now)  # the user ran a command
            elif message.role == "system":
                run.system += [part.text for part in message.parts if isinstance(part, Prompt) and part.text]
                if pictures := _pictures(message):
                    run.input.append({"role": "system", "parts": pictures})
                self._add_calls(run, message, self._clock.now)
            elif message.role == "assistant":
                self._add_answer(run, message)
            for part in message.parts:
                if isinstance(part, ToolResult):
                    self._add_result(run, part, message)

    # --- agents ---

    def _agent_span(self, caller: str | None, at: datetime | None) -> Span:
        called = next((known for (_, name), known in self._calls.items() if name == caller), None)
        agent = called.call.subagent if called is not None else None
        name = (agent.name if agent is not None else None) if caller is not None else self._agent_name()
        parent = None
        if caller is not None:  # without the call, the parent is a span that is not there
            parent = called.span.id if called is not None else span_id(self._trace, "missing", caller)
        return Span(
            self._trace,
            span_id(self._trace, "agent", caller),
            f"invoke_agent {name}" if name else "invoke_agent",
            INTERNAL,
            self._clock.at(at),
            parent=parent,
            attributes={
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.provider.name": PROVIDER,
                "gen_ai.conversation.id": self._session,
                "gen_ai.agent.name": name,
                "gen_ai.agent.description": agent.description if agent is not None else None,
            },
        )

    def _agent_name(self) -> str | None:
        agent = self._turn.agent
        return (agent.name or agent.id) if agent is not None else None

    def _run_of(self, message: Message) -> Run:
        caller = message.parent_call_id
        if caller not in self._runs:
            self._runs[caller] = Run(caller, self._agent_span(caller, message.created_at))
        return self._runs[caller]

    # --- messages ---

    def _add_prompt(self, run: Run, message: Message) -> None:
        words = prose_of(message.parts)
        begins = not run.span.events and not run.chats
        at = self._clock.not_before(message.created_at) if begins else self._clock.at(message.created_at)
        if words.strip():
            run.span.events.append(("user_message", at, {"content": words}))
        pictures = _pictures(message)
        for written in self._writer.write([message]):
            parts = [*([{"type": "text", "content": written.content}] if written.content else []), *pictures]
            if parts:
                run.input.append({"role": "user", "parts": parts})
            pictures = []

    def _add_answer(self, run: Run, message: Message) -> None:
        parts = [*self._output_parts(message)]
        if not parts:
            return
        model = model_of_message(message, self._turn) or (model_of(self._turn) if run.caller is None else None)
        start = self._clock.now
        span = Span(
            self._trace,
            span_id(self._trace, "chat", run.caller, len(run.chats)),
            f"chat {model}" if model else "chat",
            CLIENT,
            start,
            self._clock.at(message.created_at),
            run.span.id,
        )
        calls = any(part["type"] == "tool_call" for part in parts)
        output = [{"role": "assistant", "parts": parts, "finish_reason": "tool_call" if calls else "stop"}]
        span.attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": PROVIDER,
            "gen_ai.conversation.id": self._session,
            "gen_ai.request.model": model,
            "gen_ai.response.model": model,
            "gen_ai.response.finish_reasons": [output[0]["finish_reason"]],
            **_input(run),
            "gen_ai.output.messages": _json_text(output),
        }
        run.chats.append(span)
        self._others.append(span)
        self._add_calls(run, message, span.end)

    def _output_parts(self, message: Message) -> Iterator[Json]:
        """Yield the parts of an answer in their order; prose with its links is one part."""
        for is_prose, group in groupby(message.parts, lambda part: isinstance(part, Text | Reference)):
            parts = list(group)
            if is_prose and (text := prose_of(parts)):
                yield {"type": "text", "content": text}
            for part in parts:
                if isinstance(part, Thinking) and part.text:
                    yield {"type": "reasoning", "content": part.text}
                elif isinstance(part, ToolCall) and part.status != "prepared":
                    spelled = self._writer.spelled(part.id)
                    yield {"type": "tool_call", "id": spelled, "name": part.name, "arguments": _arguments(part)}

    # --- tools ---

    def _add_calls(self, run: Run, message: Message, at: int) -> None:
        for call in (part for part in message.parts if isinstance(part, ToolCall) and part.status != "prepared"):
            number = len(self._calls)
            span = Span(
                self._trace,
                span_id(self._trace, "tool", run.caller, call.id, number),
                f"execute_tool {call.name}",
                INTERNAL,
                max(at, nanoseconds(call.started_at)),
                parent=run.span.id,
                attributes={
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.provider.name": PROVIDER,
                    "gen_ai.conversation.id": self._session,
                    "gen_ai.tool.name": call.name,
                    "gen_ai.tool.call.id": self._writer.spelled(call.id),
                    "gen_ai.tool.type": "function",
                    "gen_ai.tool.call.arguments": call.arguments,
                },
            )
            self._calls[run.caller, call.id] = Called(call, span)

    def _add_result(self, run: Run, result: ToolResult, message: Message) -> None:
        called = self._calls.get((run.caller, result.call_id))
        if called is None:
            self.results_without_call += 1
            return
        if called.has_run:  # another record of the same result
            again = span_id(called.span.id, len(self._others))
            called = Called(called.call, msgspec.structs.replace(called.span, id=again, status=0))
        span = called.span
        called.has_run = True
        span.end = self._clock.at(message.created_at)
        span.start = min(span.start, span.end)
        span.attributes = {**span.attributes, "gen_ai.tool.call.result": result.text}
        self._set_outcome(called, result.is_error)
        self._others.append(span)
        spelled = self._writer.spelled(result.call_id)
        response: Json = {"type": "tool_call_response", "id": spelled, "response": result.text}
        run.input.append({"role": "tool", "parts": [response, *_made_pictures(result.items)]})

    def _set_outcome(self, called: Called, is_error: bool) -> None:
        outcome = called.call.outcome
        if is_error or called.call.status == "failed" or (outcome is not None and outcome.kind == "failed"):
            called.span.status = ERROR
            called.span.status_message = outcome.reason if outcome is not None else None
            called.span.attributes = {**called.span.attributes, "error.type": "_OTHER"}

    # --- the end ---

    def finish(self, usage: RecordedUsage, *, is_first: bool) -> None:
        for called in self._calls.values():
            kind = called.call.outcome.kind if called.call.outcome is not None else called.call.status
            if not called.has_run and (called.call.id in self._runs or kind not in NOT_RUN):
                called.span.end = max(called.span.start, self._clock.now)
                self._set_outcome(called, False)
                self._others.append(called.span)
        self._name_subagents()
        main = self._runs[None]
        main.span.end = max(self._clock.now, nanoseconds(self._turn.timing.completed_at))
        self._clock.now = main.span.end
        for run in self._runs.values():
            if run.caller is not None:
                run.span.end = max([run.span.start, *(chat.end for chat in run.chats)])
            if not run.chats:
                run.span.attributes |= _input(run)
        self._add_usage(usage)
        self._describe(main.span)
        if is_first:
            main.span.attributes |= self._about()

    def _name_subagents(self) -> None:
        """Add the agents of calls that record a sub-agent without its messages."""
        for called in self._calls.values():
            if called.call.subagent is not None and called.call.id not in self._runs:
                self._runs[called.call.id] = Run(called.call.id, self._agent_span(called.call.id, None))

    def _add_usage(self, usage: RecordedUsage) -> None:
        """Add tokens to each chat if all of the turn were recorded so, else their sums to the agents."""
        places = {run.caller: Place(self._turn.index, run.caller) for run in self._runs.values()}
        by_chat = {
            run.caller: usage.of_answers(places[run.caller], len(run.chats))
            for run in self._runs.values()
            if usage.of_turn(places[run.caller])
        }
        for caller, amounts in by_chat.items():
            run = self._runs[caller]
            if None in by_chat.values() or amounts is None:
                run.span.attributes |= _usage(usage.of_turn(places[caller]))
                continue
            for chat, amount in zip(run.chats, amounts, strict=True):
                chat.attributes |= _usage(amount)

    def _describe(self, span: Span) -> None:
        turn = self._turn
        mode = turn.mode.name or turn.mode.kind if turn.mode is not None else None
        span.attributes |= {
            "gen_ai.agent.version": turn.agent.extension_version if turn.agent is not None else None,
            "gen_ai.request.model": turn.model.id if turn.model is not None else None,
            "gen_ai.response.model": model_of(turn),
            "copilot_chat.mode_name": mode,
            "copilog.request_id": turn.request_id,
            "copilog.response_id": turn.response_id,
        }
        if turn.status == "cancelled":
            span.attributes["copilot_chat.canceled"] = True
        elif turn.status == "failed" or turn.error is not None:
            span.status = ERROR
            span.status_message = turn.error.message if turn.error is not None else None
            span.attributes["error.type"] = (turn.error.code if turn.error is not None else None) or "_OTHER"
        elif turn.status == "complete":
            span.status = OK

    def _about(self) -> Json:
        whole = self._conversation
        workspace = whole.workspace
        return {
            "copilog.title": whole.title if whole.title_origin not in NOT_RECORDED else None,
            "copilog.workspace": workspace.folder if workspace is not None else None,
            "github.copilot.git.repository": workspace.repository if workspace is not None else None,
            "github.copilot.git.branch": workspace.branch if workspace is not None else None,
            "github.copilot.git.commit_sha": workspace.commit if workspace is not None else None,
        }


def _input(run: Run) -> Json:
    """Take the messages and the system prompt that were sent since the last chat."""
    system = [{"type": "text", "content": text} for text in run.system]
    made: Json = {
        "gen_ai.system_instructions": _json_text(system) if system else None,
        "gen_ai.input.messages": _json_text(run.input) if run.input else None,
        "copilog.input_is_new": True if run.input else None,
    }
    run.input, run.system = [], []
    return made


def _arguments(call: ToolCall) -> Any:
    value = arguments_object(call.arguments or "{}")
    return call.arguments if value is None else value


def _pictures(message: Message) -> list[Json]:
    attachments = (part for part in message.parts if isinstance(part, Attachment) and part.is_sent)
    return _made_pictures(part for part in attachments if is_picture(part.type, part.mime_type))


def _made_pictures(items: Iterable[Attachment | ResultItem]) -> list[Json]:
    """Return pictures as parts: with their content, else with their address."""
    made: list[Json] = []
    for item in items:
        about: Json = {"modality": "image", "mime_type": item.mime_type}
        uri = (item.place.uri or item.place.path) if item.place is not None else None
        if isinstance(item, ResultItem) and not is_picture("", item.mime_type):
            continue
        if item.data is not None:
            made.append({"type": "blob", **about, "content": base64.b64encode(item.data).decode()})
        elif uri is not None:
            made.append({"type": "uri", **about, "uri": uri})
    return made


def _usage(amounts: Amounts) -> Json:
    return {
        "gen_ai.usage.input_tokens": amounts.input,
        "gen_ai.usage.output_tokens": amounts.output,
        "gen_ai.usage.cache_read.input_tokens": amounts.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": amounts.cache_write,
        "gen_ai.usage.reasoning.output_tokens": amounts.reasoning,
        "github.copilot.cost": amounts.premium_requests,
        "copilot_chat.copilot_usage_nano_aiu": round(amounts.credits * NANO) if amounts.credits is not None else None,
    }


def _json_text(value: Any) -> str:
    return encoded(value).decode()
