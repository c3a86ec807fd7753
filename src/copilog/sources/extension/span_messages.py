"""Convert a tree of spans to messages: calls of a model become answers, tool runs become calls and results."""

from __future__ import annotations

from datetime import datetime

from copilog.diagnostics import Ledger
from copilog.fields import Json, ms_between
from copilog.model import (
    AnyPart,
    Confirmation,
    Hook,
    Message,
    Notice,
    Role,
    Round,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
)
from copilog.sources.extension.genai_messages import (
    CUT,
    GenAiMessage,
    is_cut,
    messages_from,
    parts_from,
    result_text,
    text_of,
)
from copilog.sources.extension.span_trees import Parents, ToolRuns, Tree
from copilog.sources.extension.spans import (
    AGENT,
    CHAT,
    CONTENT,
    CORE,
    EMBEDDINGS,
    ERROR,
    HOOK,
    INPUT,
    INPUT_IS_NEW,
    LABEL,
    OPERATION,
    OUTPUT,
    PARENT_SESSION,
    PERMISSION,
    SESSION_KEYS,
    SYSTEM,
    TOOL,
    TOOL_DEFINITIONS,
    USER_REQUEST,
    Span,
    UserPrompt,
    usage_of,
)
from copilog.sources.tool_rounds import clean_id

HANDLED_ATTRIBUTES = (OPERATION, LABEL, PARENT_SESSION, *SESSION_KEYS)


class TreeMessages:
    """The messages and calls of one tree."""

    def __init__(self, tree: Tree, ledger: Ledger, source: str) -> None:
        self.tree = tree
        self._ledger = ledger
        self._source = source
        self._parents = Parents(tree.spans)
        self.messages: list[Message] = []
        self.usages: list[Usage] = []
        self.rounds: list[Round] = []
        self.system_prompts: dict[str, datetime | None] = {}
        self.tool_definitions: list[str] = []
        self.prompt: str | None = None  # the user's message as the model received it
        self.sent: dict[str, None] = {}  # every text that was sent to a model in the user's name
        self.repeated: list[str] | None = None  # all texts sent in the user's name with the first call of a model
        self.opening: list[GenAiMessage] = []  # all messages sent with the first call of a model
        self.typed: str | None = None  # the user's own text, as a call of a model names it
        self.is_answered: bool | None = (
            None  # whether the main agent's last call has an answer; None: there was no call
        )
        self.failure: str | None = None  # of the main agent's last call of a model
        self.inner_agents: list[Json] = []  # agents within the agent that no tool started
        self.responses: dict[str, str] = {}  # output of tools, as later prompts repeat it
        self._span_of: dict[int, Span] = {}  # the span that a message was made from
        self._counted: list[tuple[Round | Usage, Span]] = []
        self._tools = ToolRuns()
        self._read()

    def _read(self) -> None:
        spans = self.tree.spans
        for span in spans:
            if span.operation == CHAT:
                self._add_answer(span)
        for span in spans:
            if span.operation == TOOL:
                self._add_tool(span)
        for span in spans:
            if span.operation not in (CHAT, TOOL):
                self._add_other(span)
        for message in self.messages:
            message.parent_call_id = self._caller_of(self._span_of[id(message)])
        for counted, span in self._counted:
            caller = self._caller_of(span)
            if caller is not None:
                counted.extra = {**(counted.extra or {}), "parent_call_id": caller}
                self._tools.set_model(caller, counted.model)
        self.messages += self._tools.results_without_span(self.responses, self.messages)
        set_responses(self.messages, self.responses)
        self.messages.sort(key=_timestamp_of)

    # --- callers ----------------------------------------------------------------------------------------------------

    def _tool_above(self, span: Span) -> Span | None:
        return next((above for above in self._parents.above(span) if above.operation == TOOL), None)

    def _caller_of(self, span: Span) -> str | None:
        """Return the call that a span works for: that of a sub-agent, or of a tool that calls a model."""
        above = self._tool_above(span)
        return self._tools.call_id(above) if above is not None else self.tree.caller

    def caller_of_prompt(self, prompt: UserPrompt) -> str | None:
        """Return the call below which a prompt was sent: that of a sub-agent; None for the user's own."""
        span = self._parents.by_id.get(prompt.span_id or "")
        return self._caller_of(span) if span is not None else self.tree.caller

    def _is_main(self, span: Span) -> bool:
        return self._tool_above(span) is None and self.tree.caller is None

    # --- calls of a model -------------------------------------------------------------------------------------------

    def _add_answer(self, span: Span) -> None:
        self._read_prompt(span)
        usage = usage_of(span, self._source)
        model = span.text("gen_ai.response.model", "gen_ai.request.model")
        made = Round(id=span.id, started_at=span.started_at, model=model)
        parts = self._parts_of(span, made)
        calls = [part for part in parts if isinstance(part, ToolCall)]
        for call in calls:
            call.round_id = span.id
            self._tools.announce(call, span, self._tool_above(span))
        if parts:
            message = self._add("assistant", parts, span, span.ended_at)
            message.model, message.model_source = model, ("span" if model else None)
        made.call_ids = [call.id for call in calls]
        for key in ("gen_ai.response.model", "gen_ai.request.model"):
            if model is not None and span.attributes.get(key) == model:
                del span.attributes[key]
        made.extra = {**(made.extra or {}), **remaining_attributes(span)} or None
        self.rounds.append(made)
        self._counted.append((made, span))
        if usage is not None:
            self.usages.append(usage)
            self._counted.append((usage, span))
        if self._is_main(span):
            self.is_answered = bool(parts) and not calls
            self.failure = (span.status_message or "failed") if span.status == ERROR else None

    def _parts_of(self, span: Span, made: Round) -> list[AnyPart]:
        """Return the parts of a model's answer, and add them to the round."""
        parts: list[AnyPart] = []
        for output in messages_from(span.attributes.pop(OUTPUT, None)):
            parts += parts_from(output, self._ledger, f"span:{span.id}/output")
            if output.raw:
                made.extra = {**(made.extra or {}), **output.raw}
        thought = span.take_text("copilot_chat.reasoning_content")
        if thought and not any(isinstance(part, Thinking) for part in parts):
            parts.insert(0, Thinking(text=thought, extra=dict(CUT) if is_cut(thought) else None))
        made.text = "".join(part.text for part in parts if isinstance(part, Text))
        made.thinking = thought
        return parts

    def _read_prompt(self, span: Span) -> None:
        """Take the new messages out of a prompt; the rest repeats earlier messages."""
        is_main = self._is_main(span)
        prompts = messages_from(span.attributes.pop(INPUT, None))
        has_history = not span.take_flag(INPUT_IS_NEW)
        if is_main and not self.rounds and has_history:
            self.opening = prompts
        if is_main and not self.rounds and has_history and prompts and not prompts[-1].is_cut:
            self.repeated = [text_of(prompt) for prompt in prompts if prompt.role == "user"]
        for prompt in prompts:
            if prompt.role == "user" and (text := text_of(prompt)):
                self.sent[text] = None
                if is_main and not self.rounds:
                    self.prompt = text
            for part in prompt.parts:
                if isinstance(part, dict) and part.get("type") == "tool_call_response":
                    native_id = part.get("id")
                    if isinstance(native_id, str):
                        self.responses[clean_id(native_id)] = result_text(dict(part))
        self._read_typed(span, is_main=is_main)
        system = _system_text(span.attributes.pop(SYSTEM, None))
        given = [text_of(prompt) for prompt in prompts if prompt.role == "system"]
        for text in (system, *(text for text in given if text.strip() not in system)):
            if text:
                self.system_prompts.setdefault(text, span.started_at)
        tools = span.take_text(TOOL_DEFINITIONS)
        if tools and tools not in self.tool_definitions:
            self.tool_definitions.append(tools)

    def _read_typed(self, span: Span, *, is_main: bool) -> None:
        """Take the text that a span calls the user's request."""
        typed = span.take_text(USER_REQUEST)
        if is_main and self.typed is None:
            self.typed = typed
        if typed and not any(typed.strip() in text for text in self.sent):
            self.sent[typed] = None  # not the text of the prompt that was sent

    # --- everything else --------------------------------------------------------------------------------------------

    def _add_tool(self, span: Span) -> None:
        call, is_new = self._tools.run(span, self._tool_above(span))
        if is_new:
            self._add("assistant", [call], span, span.started_at)
        result = self._tools.result(span, call, self.responses)
        call.extra = {**(call.extra or {}), **remaining_attributes(span)} or None
        if result is not None:
            self._add("tool", [result], span, span.ended_at)

    def _add_other(self, span: Span) -> None:
        operation = span.operation
        if operation == AGENT:
            above = self._tool_above(span)
            if self._is_main(span):
                self._read_typed(span, is_main=True)
                if not self.rounds and (system := _system_text(span.attributes.pop(SYSTEM, None))):
                    self.system_prompts.setdefault(system, span.started_at)
            if above is not None:
                self._add_total(span)
                self._tools.name_subagent(span, above, remaining_attributes(span))
            elif span is not self.tree.top:
                self.inner_agents.append({"name": span.name, **remaining_attributes(span)})
            if above is None and (span is not self.tree.top or self.tree.caller is not None):
                self._add_agent(span)
            return
        if operation == EMBEDDINGS:
            usage = usage_of(span, self._source)
            if usage is not None:
                usage.extra = {**(usage.extra or {}), "operation": EMBEDDINGS, **remaining_attributes(span)}
                self.usages.append(usage)
            return
        part: AnyPart
        if operation == HOOK:
            part = hook_of(span)
        elif operation in (CONTENT, CORE):
            text = span.take_text("copilot_chat.markdown_content", "copilot_chat.event_details") or ""
            name = span.take_text("copilot_chat.debug_name") or span.name
            part = Notice(topic="event", text=text, native=name, data=remaining_attributes(span) or None)
        elif operation == PERMISSION:
            part = Confirmation(
                type=PERMISSION,
                title=span.take_text("github.copilot.permission.kind"),
                answer=span.take_text("github.copilot.permission.result"),
                native=span.name,
                extra=remaining_attributes(span) or None,
            )
        else:
            self._ledger.count_unknown(f"operation:{operation or 'none'}")
            part = Unknown(type=operation or span.name, raw={"name": span.name, **remaining_attributes(span)})
        self._add("system", [part], span, span.started_at)

    def _add_total(self, span: Span) -> None:
        """Add the total of a sub-agent if no call of a model below it records what it used."""
        if any(isinstance(counted, Usage) and span in self._parents.above(each) for counted, each in self._counted):
            return
        total = usage_of(span, self._source)
        if total is not None:
            total.scope = "turn"
            self.usages.append(total)
            self._counted.append((total, span))

    def _add_agent(self, span: Span) -> None:
        """Add the description of an agent, and why it failed, if no call of a tool has that."""
        name = span.text("gen_ai.agent.name", LABEL) or span.name.removeprefix("invoke_agent").strip()
        description = span.text("gen_ai.agent.description")
        failure = span.status_message if span.status == ERROR else None
        if description or failure:
            text = "\n".join(filter(None, (name, description)))
            notes = {"sub-agent failed": failure} if failure else {}
            part = Notice(topic="sub-agent", text=text, native=span.name, notes=notes)
            self._add("system", [part], span, span.started_at)

    def _add(self, role: Role, parts: list[AnyPart], span: Span, at: datetime | None) -> Message:
        message = Message(role=role, parts=parts, created_at=at or span.started_at)
        self.messages.append(message)
        self._span_of[id(message)] = span
        return message


def set_responses(messages: list[Message], responses: dict[str, str]) -> None:
    """Set the text that the model received as a result's text; that of the tool's own span becomes the display."""
    for message in messages:
        for part in message.parts:
            response = responses.get(part.call_id, "") if isinstance(part, ToolResult) else ""
            if isinstance(part, ToolResult) and response.strip() and response.strip() not in part.text:
                if part.text.strip() not in response:
                    part.display = part.display or part.text
                part.text = response


def hook_of(span: Span) -> Hook:
    """Return a hook that ran; it blocks if it ended in an error that is not called harmless."""
    kind = span.take_text("copilot_chat.hook_type", "github.copilot.hook.type") or span.name
    result = span.text("copilot_chat.hook_result_kind")
    decision = span.text("github.copilot.hook.decision")
    made = Hook(type=kind, is_blocking=result == "error" or decision == "block", reason=span.status_message)
    made.message = span.take_text("copilot_chat.hook_output")
    made.given = span.take_text("copilot_chat.hook_input")
    if command := span.take_text("copilot_chat.hook_command"):
        made.notes = {"command": command}
    elapsed_ms = ms_between(span.started_at, span.ended_at)
    timing: Json = {"elapsed_ms": elapsed_ms} if elapsed_ms else {}
    made.extra = {**timing, **remaining_attributes(span)} or None
    if made.message is not None and is_cut(made.message):
        made.extra = {**(made.extra or {}), **CUT}
    return made


def remaining_attributes(span: Span) -> Json:
    """Return the fields of a span that no reader has taken."""
    left = {key: value for key, value in span.attributes.items() if key not in HANDLED_ATTRIBUTES}
    if span.status == ERROR and span.status_message:
        left["error"] = span.status_message
    if span.events:
        left["events"] = [{"name": event.name, **event.attributes} for event in span.events]
    return {**left, **span.extra}


def _system_text(value: object) -> str:
    """Return system instructions: text, or JSON text of a list of blocks."""
    if isinstance(value, str) and not value.lstrip().startswith("["):
        return value
    texts = [text_of(message) for message in messages_from(value)]
    if not any(texts):
        blocks = messages_from(value)
        texts = [block.raw.get("content", "") for block in blocks if isinstance(block.raw.get("content"), str)]
    return "\n".join(texts) or (value if isinstance(value, str) else "")


def _timestamp_of(message: Message) -> float:
    return message.created_at.timestamp() if message.created_at is not None else 0.0
