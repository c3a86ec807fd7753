"""Tool calls from two sides: the model's answer announces a call, and a span tells how it ran."""

from __future__ import annotations

from typing import Any

from copilog import jsonio
from copilog.errors import BadRecord
from copilog.model import UNASKED, Message, ResultItem, SubAgent, ToolCall, ToolResult
from copilog.sources._extension.cut_json import is_cut, without_cut_mark
from copilog.sources._extension.genai import CUT
from copilog.sources._extension.moments import ms_between
from copilog.sources._extension.spans import ERROR, Span
from copilog.sources._vscode.promptx import result_content
from copilog.sources._vscode.rounds import clean_id
from copilog.sources._vscode.take import Json, rest, take_str

TREE = '{"node"'  # how a result begins that was recorded as VS Code has it: a tree of texts
ARGUMENTS, RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"


class ToolRuns:
    """The calls of one tree of spans."""

    def __init__(self) -> None:
        self._announced: dict[str, ToolCall] = {}  # by id
        self._waiting: list[tuple[ToolCall, str | None]] = []  # calls without a run, and the span of the tool above
        self._by_span: dict[str, ToolCall] = {}
        self._results: dict[str, str] = {}

    def announce(self, call: ToolCall, span: Span, above: Span | None) -> None:
        """A model asked for a call."""
        if not call.id:
            call.id = f"{span.id}:{len(self._announced)}"
        self._announced[call.id] = call
        self._waiting.append((call, above.id if above is not None else None))

    def call_id(self, span: Span) -> str:
        """The id of the call that a span ran."""
        call = self._by_span.get(span.id)
        return call.id if call is not None else clean_id(span.text("gen_ai.tool.call.id") or span.id)

    def run(self, span: Span, above: Span | None) -> tuple[ToolCall, bool]:
        """The call that a span ran, and whether nothing but the span tells of it."""
        native_id = span.take_text("gen_ai.tool.call.id")
        name = span.take_text("gen_ai.tool.name") or span.name.partition(" ")[2] or span.name
        arguments = span.take_text(ARGUMENTS)
        call = self._announced.get(clean_id(native_id)) if native_id else self._match(name, arguments, above)
        is_new = call is None
        if call is None:
            call = ToolCall(id=clean_id(native_id or span.id), name=name, arguments=arguments)
            if not native_id:
                call.native = UNASKED
            if arguments is not None and is_cut(arguments):
                call.extra = dict(CUT)
        self._waiting = [entry for entry in self._waiting if entry[0] is not call]
        self._by_span[span.id] = call
        if native_id and native_id != call.id and native_id not in call.native_ids:
            call.native_ids.append(native_id)
        if name != call.name:
            call.tool_id = name
        if call.arguments is None:
            call.arguments = arguments
        elif arguments is not None and not _says_the_same(arguments, call.arguments):
            call.notes = {**call.notes, "arguments it ran with": arguments}
        call.started_at = span.started_at
        call.status = "failed" if span.status == ERROR else "complete"
        call.origin = _origin(span.take_text("gen_ai.tool.type"))
        call.elapsed_ms = ms_between(span.started_at, span.ended_at)
        return call, is_new

    def _match(self, name: str, arguments: str | None, above: Span | None) -> ToolCall | None:
        """The announced call that a run without an id belongs to: one with these arguments, else the next by name."""
        scope = above.id if above is not None else None
        of_name = [call for call, owner in self._waiting if call.name == name and owner == scope]
        wanted = _parsed(arguments)
        same = [call for call in of_name if wanted is not None and _parsed(call.arguments) == wanted]
        return next(iter(same or of_name), None)

    def result(self, span: Span, call: ToolCall, responses: dict[str, str]) -> ToolResult | None:
        """What a run gave back. A text that was cut is completed from a later prompt, where that has it."""
        heard = responses.get(call.id)
        recorded = span.take_text(RESULT)
        if recorded is None and heard is None and span.status == ERROR:
            recorded, span.status_message = span.status_message, None  # all that came back is why it failed
        if recorded is None and heard is None:
            return None
        text = recorded if recorded is not None else heard or ""
        extra = None
        if is_cut(text):
            if heard is not None and heard.startswith(without_cut_mark(text)):
                text = heard
            else:
                extra = dict(CUT)
        items: list[ResultItem] = []
        if text.startswith(TREE):
            said, items = result_content([{"value": text}])
            text = said if said or items else text
        self._results[call.id] = text
        result = ToolResult(call_id=call.id, text=text, is_error=span.status == ERROR, origin="model", extra=extra)
        result.items = items
        return result

    def name_subagent(self, span: Span, above: Span, left: Json) -> None:
        """An agent ran below a tool: say so at the call. `left` is what else is known of the agent."""
        call = self._by_span[above.id]
        asked = _parsed(call.arguments)
        prompt = asked.get("prompt") if isinstance(asked, dict) else None
        call.subagent = SubAgent(
            run_id=span.text("gen_ai.conversation.id"),
            name=take_str(left, "gen_ai.agent.name") or span.name.removeprefix("invoke_agent").strip() or None,
            description=take_str(left, "gen_ai.agent.description"),
            prompt=prompt if isinstance(prompt, str) else None,
            result=self._results.get(call.id),
            model=span.text("gen_ai.response.model", "gen_ai.request.model"),
            started_at=span.started_at,
            elapsed_ms=ms_between(span.started_at, span.ended_at),
            extra=rest(left),
        )

    def unheard(self, responses: dict[str, str], messages: list[Message]) -> list[Message]:
        """Results of calls that have no span of their own, as a later prompt repeats them."""
        callers = {id(part): message for message in messages for part in message.parts}
        made: list[Message] = []
        for call, _ in self._waiting:
            if call.id in responses:
                asking = callers.get(id(call))
                part = ToolResult(call_id=call.id, text=responses[call.id], origin="model")
                message = Message(role="tool", parts=[part], created_at=asking.created_at if asking else None)
                message.parent_call_id = asking.parent_call_id if asking is not None else None
                made.append(message)
        return made


def _origin(kind: str | None) -> str | None:
    return {"function": "internal", "extension": "extension"}.get(kind or "", kind)


def _says_the_same(arguments: str, others: str) -> bool:
    """Whether two records of the arguments of a call say the same, or one of them as far as it was cut."""
    value = _parsed(arguments)
    if value is not None and value == _parsed(others):
        return True
    one, other = ("".join(without_cut_mark(text).split()) for text in (arguments, others))
    return one == other or (is_cut(arguments) and other.startswith(one)) or (is_cut(others) and one.startswith(other))


def _parsed(arguments: str | None) -> Any:
    if not arguments:
        return None
    try:
        return jsonio.decode(arguments.encode("utf-8", "replace"))[0]
    except BadRecord:
        return None
