"""Convert one turn of a trace with its messages: prompts, answers, calls, results, and the outcome."""

from __future__ import annotations

from copilog import tags
from copilog.diagnostics import Ledger
from copilog.fields import Json, ms_between
from copilog.model import (
    Agent,
    AnyPart,
    Message,
    Mode,
    Model,
    Prompt,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    TurnError,
    prose_of,
)
from copilog.sources.extension.genai_messages import GenAiMessage, text_of
from copilog.sources.extension.span_history import History, turn_from_history
from copilog.sources.extension.span_messages import TreeMessages, remaining_attributes, set_responses
from copilog.sources.extension.span_trees import LONG_AGO, Outline, PromptedTurn
from copilog.sources.extension.spans import AGENT, ERROR, OK, Span, usage_of


class TurnMaker:
    """Makes the turns of one conversation; a system prompt that was shown before is not repeated."""

    def __init__(self, ledger: Ledger, source: str) -> None:
        self._ledger = ledger
        self._source = source
        self._shown: set[str] = set()
        self._history = History(ledger)
        self.asked: list[PromptedTurn] = []
        self.tool_definitions: list[str] = []
        self.responses: dict[str, str] = {}  # output of tools, as prompts repeat it

    def make(self, outline: Outline, index: int) -> list[tuple[Turn, list[Message]]]:
        """Return a turn with its messages, after earlier turns that only its prompt repeats."""
        readings = [TreeMessages(tree, self._ledger, self._source) for tree in outline.trees]
        turn = Turn(index=index)
        messages: list[Message] = []
        for reading in readings:
            messages += reading.messages
            self.responses |= reading.responses
            turn.rounds += reading.rounds
            turn.usage += reading.usages
            self.tool_definitions += [text for text in reading.tool_definitions if text not in self.tool_definitions]
        messages.sort(key=lambda message: message.created_at or LONG_AGO)
        earlier, messages = self._with_history(outline, readings, messages, index)
        turn.index = index + len(earlier)
        prompts = _prompts(outline, readings)
        for message in (message for message in prompts if message.parent_call_id is not None):
            _insert_after_call(messages, message)
        own = [message for message in prompts if message.parent_call_id is None]
        self._add_context(own or prompts, readings)
        messages = [*self._system_prompts(readings), *own[:1], *messages]
        for message in own[1:]:
            _put_in_time(messages, message)
        for message in messages:
            message.turn = turn.index
        self._history.learn(messages)
        _read_outcome(turn, outline, readings)
        sent = next((reading.repeated for reading in readings if reading.repeated is not None), None)
        self.asked.append(PromptedTurn(turn, prose_of(own[0].parts) if own else "", sent))
        for top in _agents_of(outline):
            _read_agent(turn, top, self._source)
        return [*earlier, (turn, messages)]

    def _with_history(
        self, outline: Outline, readings: list[TreeMessages], messages: list[Message], index: int
    ) -> tuple[list[tuple[Turn, list[Message]]], list[Message]]:
        """Return the earlier turns that only a prompt repeats, and the messages with such answers in front."""
        reading = next((reading for reading in readings if reading.opening), None)
        turns = self._history.turns_in(reading.opening) if reading is not None else []
        if reading is None or not turns:
            return [], messages
        place = f"prompt:{reading.tree.key}"
        asked = ["".join(prompt.text.split()) for prompt in outline.asked]
        last = next((at for at in range(len(turns) - 1, -1, -1) if _asks(turns[at], asked)), len(turns) - 1)
        if reading.opening[-1].is_cut and asked and not _asks(turns[last], asked):
            last, reading.prompt = len(turns), None  # the end of the prompt is missing, and the user's words with it
        lost = self._history.lost_turns(turns[:last], f"{place}/history")
        self._history.learn(messages)
        for said in lost:
            self._history.learn(said)
            self._shown |= {part.text for message in said for part in message.parts if isinstance(part, Text | Prompt)}
        earlier = [(turn_from_history(index + number, said), said) for number, said in enumerate(lost)]
        own = [message for said in turns[last:] for message in said]
        return earlier, [*self._history.lost_answers(own, place), *messages]

    def add_late_results(self, messages: list[Message]) -> None:
        """Add results that are only in the prompt of a later turn because the call itself was cut short."""
        set_responses(messages, self.responses)
        results = {part.call_id for message in messages for part in message.parts if isinstance(part, ToolResult)}
        for position in range(len(messages) - 1, -1, -1):
            message = messages[position]
            for part in reversed(message.parts):
                text = self.responses.get(part.id) if isinstance(part, ToolCall) else None
                if isinstance(part, ToolCall) and text and part.id not in results:
                    late: list[AnyPart] = [ToolResult(call_id=part.id, text=text, origin="model")]
                    made = Message(role="tool", parts=late, turn=message.turn, parent_call_id=message.parent_call_id)
                    messages.insert(position + 1, made)

    def _add_context(self, prompts: list[Message], readings: list[TreeMessages]) -> None:
        """Add the context that was sent before the user's text, such as the environment, to the prompt that it belongs
        to.
        """
        said = {part.text for message in prompts for part in message.parts if isinstance(part, Text | Prompt)}
        self._shown |= said
        for text in [text for reading in readings for text in reading.sent]:
            if text not in self._shown and prompts and not any(text.strip() in other for other in said):
                self._shown.add(text)
                prompts[0].parts.append(Prompt(text=text, scope="conversation"))

    def _system_prompts(self, readings: list[TreeMessages]) -> list[Message]:
        made = []
        for reading in readings:
            for text, at in reading.system_prompts.items():
                if text not in self._shown:
                    self._shown.add(text)
                    made.append(Message(role="system", parts=[Prompt(text=text, scope="system")], created_at=at))
        return made


# --- prompts ----------------------------------------------------------------------------------------------------


def _prompts(outline: Outline, readings: list[TreeMessages]) -> list[Message]:
    made: list[Message] = []
    for prompt in sorted(outline.asked, key=lambda asked: asked.at or LONG_AGO):
        owner = next((reading for reading in readings if prompt in reading.tree.asked), None)
        message = Message(role="user", parts=[Text(text=prompt.text, extra=prompt.extra)], created_at=prompt.at)
        message.parent_call_id = owner.caller_of_prompt(prompt) if owner is not None else None
        made.append(message)
    sent = next((reading.prompt for reading in readings if reading.prompt), None)
    typed = next((reading.typed for reading in readings if reading.typed), None)
    if all(message.parent_call_id is not None for message in made):
        words = typed or (tags.user_text(sent) if sent is not None else None)
        if words or sent:
            made.insert(0, Message(role="user", parts=[Text(text=words)] if words else [], created_at=outline.at))
    asking = next((message for message in made if message.parent_call_id is None), None)
    if sent is not None and asking is not None and not any(_is_text(part, sent) for part in asking.parts):
        asking.parts.append(Prompt(text=sent, scope="turn"))  # the text that was sent, around the user's own
    return made


def _asks(messages: list[GenAiMessage], asked: list[str]) -> bool:
    """Return whether messages have the words of one of these prompts, which are without white space."""
    sent = "".join("".join(text_of(message) for message in messages if message.role == "user").split())
    return any(words in sent for words in asked)


def _is_text(part: AnyPart, text: str) -> bool:
    return isinstance(part, Text) and part.text == text


def _insert_after_call(messages: list[Message], message: Message) -> None:
    """Insert the prompt of a sub-agent right after the call that started it."""
    for position, asking in enumerate(messages):
        if any(isinstance(part, ToolCall) and part.id == message.parent_call_id for part in asking.parts):
            messages.insert(position + 1, message)
            return
    _put_in_time(messages, message)


def _put_in_time(messages: list[Message], message: Message) -> None:
    at = message.created_at or LONG_AGO
    later = (position for position, other in enumerate(messages) if (other.created_at or LONG_AGO) > at)
    messages.insert(next(later, len(messages)), message)


# --- outcome ----------------------------------------------------------------------------------------------------


def _agents_of(outline: Outline) -> list[Span]:
    tops = [tree.top for tree in outline.trees if tree.caller is None]
    return [top for top in tops if top is not None and top.operation == AGENT]


def _read_outcome(turn: Turn, outline: Outline, readings: list[TreeMessages]) -> None:
    begun = [tree.started_at for tree in outline.trees if tree.started_at is not None]
    ended = [tree.ended_at for tree in outline.trees if tree.ended_at is not None]
    turn.timing.started_at = outline.at or min(begun, default=None)
    turn.timing.completed_at = max(ended, default=None)
    for usage in turn.usage:
        first_token_ms = (usage.extra or {}).get("first_token_ms")
        if turn.timing.first_progress_ms is None and first_token_ms is not None:
            turn.timing.first_progress_ms = first_token_ms
    main = [reading for reading in readings if reading.is_answered is not None]
    if main and main[-1].failure is not None:
        turn.status, turn.error = "failed", TurnError(message=main[-1].failure)
    elif main and main[-1].is_answered:
        turn.status = "complete"
    model = next((used.model for used in turn.rounds if used.model), None)
    turn.model = Model(id=model, name=model) if model is not None else None
    inner = [agent for reading in readings for agent in reading.inner_agents]
    if inner:
        turn.extra = {"inner_agents": inner}


def _read_agent(turn: Turn, top: Span, source: str) -> None:
    """Read the fields that the agent's own span has about the turn."""
    turn.pointer = f"span:{top.id}"
    turn.request_id, turn.response_id = top.take_text("copilog.request_id"), top.take_text("copilog.response_id")
    turn.timing.elapsed_ms = ms_between(top.started_at, top.ended_at)
    name = top.take_text("gen_ai.agent.name")
    if name is not None:
        turn.agent = Agent(id=name, name=name, extension_version=top.take_text("gen_ai.agent.version"))
    mode = top.take_text("copilot_chat.mode_name")
    if mode is not None:
        turn.mode = Mode(name=mode, evidence="span")
    requested, answered = top.text("gen_ai.request.model"), top.text("gen_ai.response.model")
    if requested is not None:
        turn.model = Model(id=requested, name=requested, resolved=answered if answered != requested else None)
    if top.take_flag("copilot_chat.canceled"):
        turn.status = "cancelled"
    elif top.status == ERROR:
        turn.status, turn.error = "failed", TurnError(message=top.status_message or "failed")
    elif top.status == OK:
        turn.status, turn.error = "complete", None
    total = usage_of(top, source)
    if total is not None:
        total.scope = "turn"
        turn.usage.insert(0, total)
    left: Json = remaining_attributes(top)
    if left:
        turn.extra = {**(turn.extra or {}), "span": left}
