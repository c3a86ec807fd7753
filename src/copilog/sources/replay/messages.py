"""Convert the steps of a run to messages of the model, with the tool calls and results that only the log records."""

from __future__ import annotations

from typing import Any

from copilog.diagnostics import Ledger
from copilog.fields import Json, rest, strings_at, take_str
from copilog.model import AnyPart, FileEdit, Message, SubAgent, Text, Thinking, ToolCall, ToolResult, Unknown
from copilog.sources.replay.content import (
    RawMessage,
    Scope,
    assistant_parts,
    prompt_parts,
    result_from_log,
    result_from_message,
    thinking_text,
)
from copilog.sources.replay.entries import Servers, Tool, parsed, starts_subagent
from copilog.sources.replay.groups import SubRun
from copilog.sources.replay.runs import Run, Step


class MessageMaker:
    """Makes the messages of one conversation; prompts that were shown before are not repeated."""

    def __init__(self, ledger: Ledger, servers: Servers) -> None:
        self._ledger = ledger
        self._servers = servers
        self._shown: set[tuple[str, str]] = set()

    def messages(self, run: Run, turn: int, subruns: dict[str, list[SubRun]], parent: str | None) -> list[Message]:
        """Return the messages of a run, and below the calls that started them those of sub-agents.

        Uses up `subruns`.
        """
        made = [message for raw in run.prompts if (message := self._prompt(raw)) is not None]
        has_result = {step.message.call_id for step in run.steps if step.role == "tool" and step.message}
        for step in run.steps_with_content():
            if step.role == "assistant":
                message = self._answer(step, run)
                made.append(message)
                calls = [part for part in message.parts if isinstance(part, ToolCall)]
                for call in calls:
                    for subrun in subruns.pop(call.id, []):
                        made += self.messages(subrun.run, turn, subruns, call.id)
                made += [
                    self._result_message(None, run.tools[call.id])
                    for call in calls
                    if call.id not in has_result and call.id in run.tools and run.tools[call.id].has_response
                ]
                _set_status(calls, run, has_result)
            elif step.message is not None and step.role == "tool":
                made.append(self._result_message(step.message, run.tools.get(step.message.call_id or "")))
            elif step.message is not None:
                made.append(self._prompt_message(step.message, "turn"))
        for message in made:
            message.turn = turn
            message.parent_call_id = message.parent_call_id or parent
        return made

    def _prompt(self, raw: RawMessage) -> Message | None:
        key = (raw.role, raw.text.strip())
        if key in self._shown:
            return None
        self._shown.add(key)
        return self._prompt_message(raw, "conversation")

    def _prompt_message(self, raw: RawMessage, scope: Scope) -> Message:
        parts, beside = prompt_parts(raw, self._ledger, scope)
        if raw.unknown_role is not None:
            self._ledger.parts.count_unknown(f"role:{raw.unknown_role}")
        if raw.calls or raw.native_call_id:
            beside["calls"] = [call.native_id for call in raw.calls] + ([raw.native_call_id] * bool(raw.native_call_id))
        return Message(role=raw.role, parts=parts, extra=rest({**(raw.extra or {}), **beside}))

    def _answer(self, step: Step, run: Run) -> Message:
        beside: Json = {}
        parts: list[AnyPart] = [Text(text=step.text)] if step.text and step.message is None else []
        if step.message is not None:
            parts, beside = assistant_parts(step.message, self._ledger)
            beside = {**(step.message.extra or {}), **beside}
        known = {part.id for part in parts if isinstance(part, ToolCall)}
        parts += [
            ToolCall(id=tool.id, name=tool.name, arguments=tool.arguments)
            for tool in step.tools
            if tool.id not in known
        ]
        for call in [part for part in parts if isinstance(part, ToolCall)]:
            self._complete(call, run.tools.get(call.id), parts)
        message = Message(role="assistant", parts=parts, extra=rest(beside))
        request = step.request
        if request is not None:
            message.id = request.id
            message.created_at = request.started_at
            if request.model is not None:
                message.model = request.model.resolved or request.model.name
                message.model_source = "request"
            for call in (part for part in parts if isinstance(part, ToolCall)):
                call.round_id = request.id
        return message

    def _complete(self, call: ToolCall, tool: Tool | None, parts: list[AnyPart]) -> None:
        """Add the fields of a call that only the log records."""
        call.server = self._servers.of_tool(call.name)
        call.origin = "mcp" if call.server else None
        if tool is None:
            return
        if tool.native_id != tool.id and tool.native_id not in call.native_ids:
            call.native_ids.append(tool.native_id)
        if tool.is_server:
            call.origin = "external"
            call.native = f"{tool.name} [server]"
        if call.arguments is None:
            call.arguments = tool.arguments
        elif tool.arguments is not None and parsed(tool.arguments) != parsed(call.arguments):
            call.notes = {**call.notes, "arguments as logged": tool.arguments}
        if tool.name != call.name:
            call.tool_id = tool.name
        if starts_subagent(tool.name) or "subAgentInvocationId" in tool.metadata:
            call.subagent = _subagent(tool)
        left = {**(tool.extra or {}), **({"toolMetadata": tool.metadata} if tool.metadata else {})}
        if left:
            call.extra = {**(call.extra or {}), **left}
        thought = _thought(tool)
        if thought is not None and not _has_thought(thought, parts):
            parts.insert(0, thought)

    def _result_message(self, raw: RawMessage | None, tool: Tool | None) -> Message:
        """Return a result: as the model received it, completed from the log."""
        call_id = raw.call_id if raw is not None else tool.id if tool is not None else None
        result = ToolResult(call_id=call_id or "", origin="model" if raw is not None else "log")
        beside: Json = {}
        if raw is not None:
            result.text, result.items, beside = result_from_message(raw, self._ledger)
            beside = {**(raw.extra or {}), **beside}
        parts: list[AnyPart] = [result]
        if tool is not None:
            text, items = result_from_log(tool.response)
            if raw is None:
                result.text = text
            elif text.strip() != result.text.strip():
                result.full_text = text
            result.items += [item for item in items if item not in result.items]
            _add_error(result, tool.error)
            parts += _edits(tool)
        made = Message(role="tool", parts=parts, extra=rest(beside))
        made.created_at = tool.time if tool is not None else None
        return made


def _add_error(result: ToolResult, error: str | None) -> None:
    if error is None:
        return
    result.is_error = True
    if not result.text:
        result.text = error
    elif error not in result.text:
        result.display = error


def _set_status(calls: list[ToolCall], run: Run, has_result: set[str | None]) -> None:
    for call in calls:
        if call.id in has_result or call.id in run.tools:
            tool = run.tools.get(call.id)
            call.status = "failed" if tool is not None and tool.error is not None else "complete"


def _subagent(tool: Tool) -> SubAgent:
    """Return a sub-agent and its task. Takes the fields that it understands out of the call's metadata."""
    arguments = parsed(tool.arguments)
    prompt = arguments.get("prompt")
    named = arguments.get("agentName")
    described = arguments.get("description")
    return SubAgent(
        run_id=take_str(tool.metadata, "subAgentInvocationId"),
        name=take_str(tool.metadata, "agentName") or (named if isinstance(named, str) else None),
        description=take_str(tool.metadata, "description") or (described if isinstance(described, str) else None),
        prompt=prompt if isinstance(prompt, str) else None,
        result=result_from_log(tool.response)[0] or None,
    )


def _thought(tool: Tool) -> Thinking | None:
    if not tool.thinking:
        return None
    thought = dict(tool.thinking)
    text = thinking_text(thought)
    return Thinking(text=text or "", id=take_str(thought, "id"), extra=rest(thought))


def _has_thought(thought: Thinking, parts: list[AnyPart]) -> bool:
    return any(
        isinstance(part, Thinking)
        and (part.text == thought.text or (part.id is not None and part.id == thought.id and not thought.text.strip()))
        for part in parts
    )


def _edits(tool: Tool) -> list[AnyPart]:
    """Return a call's changes of files, if they were traced: offsets into texts that are not in the file."""
    return [_edit(edit, tool.id) for edit in tool.edits]


def _edit(edit: Any, call_id: str) -> AnyPart:
    if not isinstance(edit, dict):
        return Unknown(type="edit", raw=edit)
    path = edit.get("path")
    return FileEdit(
        path=path if isinstance(path, str) else None,
        call_id=call_id,
        notes={"changes": text} if (text := strings_at(edit, "edits")) else {},
        native="edits",
        extra={key: value for key, value in edit.items() if key != "path" or not isinstance(path, str)} or None,
    )
