"""Arrange spans in trees, find the session of each tree, and match tool spans with the calls that announced them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from copilog import jsonio, tags
from copilog.errors import BadRecord
from copilog.fields import Json, ms_between, rest, take_str
from copilog.model import UNASKED, Message, ResultItem, SubAgent, ToolCall, ToolResult, Turn
from copilog.model.recorded_names import LEFT_OUT
from copilog.sources.extension.genai_messages import CUT, is_cut, without_cut_mark
from copilog.sources.extension.spans import (
    AGENT,
    CHAT,
    ERROR,
    LABEL,
    PARENT_SESSION,
    SESSION_KEYS,
    TOOL,
    USER_REQUEST,
    Span,
    UserPrompt,
)
from copilog.sources.tool_results import result_content
from copilog.sources.tool_rounds import clean_id

# Trees of spans, and the sessions that the trees belong to.


LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
SUBAGENT = "runSubagent"
# Calls of a model that serve the product and not the conversation, by the names that the extension gives them.
HELPERS = frozenset(
    {
        "title",
        "categorization",
        "promptCategorization",
        "progressMessages",
        "contextualProgressMessage",
        "healStringReplace",
        "healApplyPatch",
        "notebookPlanning",
        "copilotLanguageModelWrapper",
    }
)


@dataclass(slots=True)
class Tree:
    """An operation with all that ran below it. The top may be missing: it was lost, or is never written."""

    key: str  # the id of the top
    top: Span | None
    spans: list[Span] = field(default_factory=list)
    asked: list[UserPrompt] = field(default_factory=list)
    session: str | None = None
    label: str | None = None  # of a helper
    caller: str | None = None  # for a sub-agent whose call is missing: the substitute for that call

    @property
    def started_at(self) -> datetime | None:
        return min((span.started_at for span in self.spans if span.started_at is not None), default=None)

    @property
    def ended_at(self) -> datetime | None:
        return max((span.ended_at for span in self.spans if span.ended_at is not None), default=None)

    @property
    def is_agent(self) -> bool:
        """Return whether an agent worked here, so that this is a turn."""
        if self.top is not None:
            return self.top.operation == AGENT
        return any(span.operation in (CHAT, TOOL) for span in self.spans)

    @property
    def has_chat(self) -> bool:
        return any(span.operation == CHAT for span in self.spans)


class Parents:
    """The spans above each span."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.by_id = {span.id: span for span in spans}

    def above(self, span: Span) -> list[Span]:
        """Return the spans above, nearest first. A cycle ends where it closes."""
        found: list[Span] = []
        seen = {span.id}
        parent_id = span.parent_id
        while parent_id is not None and parent_id in self.by_id and parent_id not in seen:
            seen.add(parent_id)
            found.append(self.by_id[parent_id])
            parent_id = found[-1].parent_id
        return found


def trees_of(spans: list[Span], asked: list[UserPrompt]) -> tuple[list[Tree], list[UserPrompt]]:
    """Return the trees by their beginning, and the prompts that belong to none of them."""
    parents = Parents(spans)
    trees: dict[str, Tree] = {}
    tree_of: dict[str, Tree] = {}
    for span in spans:
        above = parents.above(span)
        top = above[-1] if above else span
        is_top_there = top.parent_id is None or top.parent_id in parents.by_id
        key = top.id if is_top_there else top.parent_id or ""
        tree = trees.setdefault(key, Tree(key, top if is_top_there else None))
        tree.spans.append(span)
        tree_of[span.id] = tree
    loose: list[UserPrompt] = []
    for prompt in asked:
        owner = tree_of.get(prompt.span_id or "") or trees.get(prompt.span_id or "")
        (owner.asked if owner is not None else loose).append(prompt)
    for tree in trees.values():
        tree.spans.sort(key=lambda span: span.started_at or LONG_AGO)
        tree.asked.sort(key=lambda prompt: prompt.at or LONG_AGO)
        _name(tree)
    return sorted(trees.values(), key=lambda tree: tree.started_at or LONG_AGO), loose


def _name(tree: Tree) -> None:
    """Set the session of a tree, and whether it only helps another one. Deeper spans have names of their own."""
    uppermost = [tree.top] if tree.top is not None else [span for span in tree.spans if span.parent_id == tree.key]
    parent = _first_text(uppermost, PARENT_SESSION)
    label = _first_text(uppermost, LABEL)
    named = _first_text(uppermost, "copilot_chat.debug_name")
    tree.session = parent or _first_text(uppermost, *SESSION_KEYS) or _first_text(tree.spans, *SESSION_KEYS)
    is_orphan = tree.top is None and all(span.operation == AGENT for span in uppermost)
    if is_orphan or (label or "").startswith(SUBAGENT):
        tree.caller = tree.key
    elif label is not None:
        tree.label = label
    elif not tree.is_agent and (named or "").rpartition("/")[2] in HELPERS:
        tree.label = named
    elif tree.session is None and tree.top is not None and tree.top.operation == CHAT:
        agent = tree.top.text("gen_ai.agent.name")
        tree.label = agent if agent in HELPERS else None


def _first_text(spans: list[Span], *keys: str) -> str | None:
    return next((text for span in spans if (text := span.text(*keys))), None)


# Tool calls from two records: the model's answer announces a call, and a span records how it ran.


TREE = '{"node"'  # the beginning of a result that was recorded in VS Code's own form: a tree of texts
UNNAMED_AGENT = "GitHub Copilot Chat"  # what VS Code calls its main agent, and sub-agents without a type
PARAMETERS = "github.copilot.tool.parameters."  # of Copilot CLI: what it knows of a call
ARGUMENTS, RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"


class ToolRuns:
    """The calls of one tree of spans."""

    def __init__(self) -> None:
        self._announced: dict[str, ToolCall] = {}  # by id
        self._waiting: list[tuple[ToolCall, str | None]] = []  # calls without a run, and the tool span above
        self._by_span: dict[str, ToolCall] = {}
        self._results: dict[str, str] = {}

    def announce(self, call: ToolCall, span: Span, above: Span | None) -> None:
        """Add a call that a model requested."""
        if not call.id:
            call.id = f"{span.id}:{len(self._announced)}"
        self._announced[call.id] = call
        self._waiting.append((call, above.id if above is not None else None))

    def call_id(self, span: Span) -> str:
        """Return the id of the call that a span ran."""
        call = self._by_span.get(span.id)
        return call.id if call is not None else clean_id(span.text("gen_ai.tool.call.id") or span.id)

    def run(self, span: Span, above: Span | None) -> tuple[ToolCall, bool]:
        """Return the call that a span ran, and whether the span is its only record."""
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
        if call.arguments is None or (arguments is not None and _is_begun(call, arguments)):
            call.arguments = arguments
        elif arguments is not None and not _are_same_arguments(arguments, call.arguments):
            call.notes = {**call.notes, "arguments it ran with": arguments}
        call.started_at = span.started_at
        call.status = "failed" if span.status == ERROR else "complete"
        server, tool_id = span.take_text(f"{PARAMETERS}mcp_server_name"), span.take_text(f"{PARAMETERS}mcp_tool_name")
        call.server, call.tool_id = call.server or server, call.tool_id or tool_id
        origin = _origin(span.take_text("gen_ai.tool.type"))
        call.origin = "mcp" if call.server else origin
        call.elapsed_ms = ms_between(span.started_at, span.ended_at)
        return call, is_new

    def _match(self, name: str, arguments: str | None, above: Span | None) -> ToolCall | None:
        """Return the announced call of a run without an id: one with these arguments, else the next by name."""
        scope = above.id if above is not None else None
        of_name = [call for call, owner in self._waiting if call.name == name and owner == scope]
        wanted = _parsed(arguments)
        same = [call for call in of_name if wanted is not None and _parsed(call.arguments) == wanted]
        begun = [
            call
            for call, owner in self._waiting
            if owner == scope and name.startswith(call.name) and _is_begun(call, arguments or "")
        ]
        found = next(iter(same or of_name or begun), None)
        if found is not None and found.name != name:
            found.name = name  # the answer that announces the call was cut within the name
        return found

    def result(self, span: Span, call: ToolCall, responses: dict[str, str]) -> ToolResult | None:
        """Return the result of a run. A truncated text is completed from a later prompt, if that has it."""
        heard = responses.get(call.id)
        recorded = span.take_text(RESULT)
        if recorded is None and heard is None and span.status == ERROR:
            recorded, span.status_message = span.status_message, None  # the only output is the reason of the failure
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
        """Name the agent that ran below a tool at the tool's call. `left` has the other fields of the agent."""
        call = self._by_span[above.id]
        asked = _parsed(call.arguments)
        prompt = asked.get("prompt") if isinstance(asked, dict) else None
        typed = take_str(left, USER_REQUEST)
        if typed and typed not in (prompt, call.arguments):
            call.notes = {**call.notes, "prompt it ran with": typed}
        name = take_str(left, "gen_ai.agent.name") or span.name.removeprefix("invoke_agent").strip()
        if name == UNNAMED_AGENT:
            left["gen_ai.agent.name"] = name
        call.subagent = SubAgent(
            run_id=span.text("gen_ai.conversation.id"),
            name=name if name and name != UNNAMED_AGENT else None,
            description=take_str(left, "gen_ai.agent.description"),
            prompt=prompt if isinstance(prompt, str) else None,
            result=self._results.get(call.id),
            model=span.text("gen_ai.response.model", "gen_ai.request.model"),
            started_at=span.started_at,
            elapsed_ms=ms_between(span.started_at, span.ended_at),
            extra=rest(left),
        )

    def set_model(self, call_id: str, model: str | None) -> None:
        """Set the model of the sub-agent that a call started, if the sub-agent's own span does not name it."""
        call = next((call for call in self._by_span.values() if call.id == call_id), None)
        if call is not None and call.subagent is not None and call.subagent.model is None:
            call.subagent.model = model

    def results_without_span(self, responses: dict[str, str], messages: list[Message]) -> list[Message]:
        """Return results of calls that have no span of their own, as a later prompt repeats them."""
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


def _are_same_arguments(arguments: str, others: str) -> bool:
    """Return whether two records of a call's arguments are the same, or one is the truncated other."""
    value = _parsed(arguments)
    if value is not None and value == _parsed(others):
        return True
    one, other = ("".join(without_cut_mark(text).split()) for text in (arguments, others))
    return one == other or (is_cut(arguments) and other.startswith(one)) or (is_cut(others) and one.startswith(other))


def _is_begun(call: ToolCall, arguments: str) -> bool:
    """Return whether a call is at the end of an answer that was cut, and its run has the rest of its arguments."""
    if (call.extra or {}).get("possibly_cut") is not True:
        return False
    return arguments.startswith(without_cut_mark(call.arguments or "")) and arguments != call.arguments


def _parsed(arguments: str | None) -> Any:
    if not arguments:
        return None
    try:
        return jsonio.decode(arguments.encode("utf-8", "replace"))[0]
    except BadRecord:
        return None


# Turns from trees of spans and prompts: a prompt begins a turn, and what ran below it belongs to it.


@dataclass(slots=True)
class Outline:
    """A turn under construction: its prompts, the first of which begins it, and the trees that belong to it."""

    at: datetime | None = None
    asked: list[UserPrompt] = field(default_factory=list)
    trees: list[Tree] = field(default_factory=list)

    def add(self, tree: Tree) -> None:
        self.trees.append(tree)
        self.asked += tree.asked


def outlines_of(trees: list[Tree], loose: list[UserPrompt]) -> list[Outline]:
    """Sort trees and prompts into turns, by time.

    The tree of an agent is a turn. What ran outside of any agent belongs to the turn that ran at that time.
    """
    items: list[tuple[datetime, int, Tree | UserPrompt]] = [(prompt.at or LONG_AGO, 0, prompt) for prompt in loose]
    for tree in trees:
        first = min((prompt.at for prompt in tree.asked if prompt.at is not None), default=None)
        items.append((first or tree.started_at or LONG_AGO, 1, tree))
    outlines: list[Outline] = []
    early: list[Tree] = []
    for moment, _, item in sorted(items, key=lambda entry: entry[:2]):
        at = moment if moment != LONG_AGO else None
        if isinstance(item, UserPrompt):
            outlines.append(Outline(at, [item]))
        elif outlines and _belongs_to(outlines[-1], item):
            outlines[-1].add(item)
        elif item.asked or item.has_chat or item.is_agent:
            outlines.append(Outline(at))
            outlines[-1].add(item)
        else:
            early.append(item)
    if early and not outlines:
        outlines.append(Outline(early[0].started_at))
    for tree in early:
        outlines[0].add(tree)
    return outlines


def _belongs_to(current: Outline, tree: Tree) -> bool:
    """Return whether a tree belongs to the turn before it."""
    if tree.caller is not None:
        return True
    if tree.asked:
        return False
    is_awaited = not any(known.is_agent for known in current.trees)  # the agent that the prompt was sent to
    return is_awaited or not tree.is_agent


# Turns that VS Code had dropped before it called a model again: those that a retry or an edited prompt replaced. The
# traces of the extension contain them, and nothing in them records that they were replaced. But the prompt of a later
# turn repeats the conversation so far, and lacks them. It may lack turns for want of space, too, so this alone decides
# nothing: `identity.superseding` checks whether the session file lacks the turn as well.


class PromptedTurn(NamedTuple):
    """A turn, its prompt, and the users' messages that its first call of a model sent; None if not recorded."""

    turn: Turn
    prompt: str
    sent: list[str] | None


def mark_left_out(asked: list[PromptedTurn]) -> None:
    """Mark the turns that are missing from the last prompt that repeats the conversation from its beginning."""
    last = next((place for place in range(len(asked) - 1, 0, -1) if _is_from_beginning(asked[place].sent)), None)
    if last is None:
        return
    sent = "\n".join(_squeezed(text) for text in asked[last].sent or [])
    if _squeezed(asked[last].prompt) not in sent:
        return  # its own prompt was sent with another text, and so may be those before it
    by_prompt: dict[str, list[Turn]] = {}
    for asking in asked[: last + 1]:
        by_prompt.setdefault(_squeezed(asking.prompt), []).append(asking.turn)
    for prompt, turns in by_prompt.items():
        missing = len(turns) - sent.count(prompt) if prompt else 0
        # Of several with the same prompt the last one was sent; it replaced those right before it.
        replaced = turns[-1 - missing : -1] if missing < len(turns) else turns
        for turn in replaced if missing > 0 else ():
            turn.extra = {**(turn.extra or {}), LEFT_OUT: True}


def _is_from_beginning(sent: list[str] | None) -> bool:
    """Return whether messages repeat a conversation from its beginning, and not from a summary on."""
    return sent is not None and not any(tags.begins_with_summary(text) for text in sent)


def _squeezed(text: str) -> str:
    """Return a text without white space, which varies between prompts."""
    return "".join(text.split())
