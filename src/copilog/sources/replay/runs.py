"""Join the requests of one run of an agent: each repeats the history, and every message is included once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from copilog.model import Role
from copilog.sources.replay.content import SUMMARY, RawMessage
from copilog.sources.replay.entries import Request, Tool

# One run of an agent: its requests joined to messages, each message once. All requests of a run repeat the messages of
# those before. The requests are read in order: a repeated message is replaced by its newer copy, a new one is added,
# and the answer to a request stays at the end until the next request shows it with its tool calls. So rounds that a
# later prompt has summarised are still there.


Key = tuple[object, ...]
SplitRequest = tuple[Request, list[RawMessage], list[RawMessage]]  # a request, its prompts, its own messages


@dataclass(slots=True, eq=False)
class Step:
    """One message under construction. An answer has no message until a later request repeats it."""

    role: Role
    message: RawMessage | None = None
    request: Request | None = None  # the request that it answers
    tools: list[Tool] = field(default_factory=list)  # calls that only the log records

    @property
    def text(self) -> str:
        if self.message is not None:
            return self.message.text
        return (self.request.text or "") if self.request else ""

    def call_ids(self) -> list[str]:
        known = [call.id for call in self.message.calls] if self.message else []
        return known + [tool.id for tool in self.tools if tool.id not in known]


class Run:
    """The requests and tool calls of one agent in one turn."""

    def __init__(self) -> None:
        self.log: list[SplitRequest | Tool] = []
        self.requests: list[Request] = []
        self.steps: list[Step] = []
        self.tools: dict[str, Tool] = {}
        self.prompts: list[RawMessage] = []
        self._by_key: dict[Key, Step] = {}
        self._by_call: dict[str, Step] = {}
        self._answers: list[Step] = []  # those that no request has repeated yet

    @property
    def is_empty(self) -> bool:
        return not self.requests and not self.tools

    def add_request(self, request: Request, prompts: list[RawMessage], own: list[RawMessage]) -> None:
        self.log.append((request, prompts, own))
        self.requests.append(request)
        self.prompts += prompts
        self.add_history(own)
        if request.answer is not None:
            step = self._step_for(request.answer, {})
            step.request = request
            if step not in self.steps:
                self.steps.append(step)
        elif request.text is not None:
            self._add_answer(Step("assistant", request=request))

    def add_history(self, own: list[RawMessage]) -> None:
        """Add the messages of a turn that are missing, each before the one that follows it in the turn.

        A log may begin with a tool call whose request is lost; the next request then shows the prompt before it.
        """
        counts: dict[Key, int] = {}
        self._add_in_order([self._step_for(message, counts) for message in own])

    def add_answers(self, messages: list[RawMessage]) -> None:
        """Add answers and results of this turn that a later request repeats and no request of its own has.

        Existing ones stay unchanged, because a later request may have shortened them.
        """
        steps: list[Step] = []
        for message in messages:
            if message.role not in ("assistant", "tool") or (message.role == "tool" and message.call_id in self.tools):
                continue
            step = self._existing_answer(message)
            if step is None:
                step = self._step_for(message, {})
            elif step.message is None and not _is_shortened(step, message):
                step.message = message
            steps.append(step)
        self._add_in_order(steps)

    def _add_in_order(self, steps: list[Step]) -> None:
        known = {id(step) for step in self.steps}
        new: list[Step] = []
        for step in steps:
            if id(step) not in known:
                new.append(step)
                known.add(id(step))
            elif new and step not in new:
                at = self.steps.index(step)
                self.steps[at:at] = new
                new = []
        self.steps += new

    def _existing_answer(self, message: RawMessage) -> Step | None:
        if message.role == "tool":
            return self._by_key.get(_key_of(message, {}))
        for call in message.calls:
            if call.id in self._by_call:
                return self._by_call[call.id]
        said = (step for step in self.steps if step.role == "assistant")
        return None if message.calls else next((step for step in said if _is_same_text(step.text, message.text)), None)

    def _step_for(self, message: RawMessage, counts: dict[Key, int]) -> Step:
        """Return the step that a message is a newer copy of, else a new one, which is in no list yet."""
        key = _key_of(message, counts)
        step = self._by_key.get(key) or self._answer_like(message) or Step(message.role)
        self._by_key[key] = step
        step.message = message
        for call in message.calls:
            self._by_call[call.id] = step
        return step

    def add_tool(self, tool: Tool) -> None:
        self.log.append(tool)
        self.tools[tool.id] = tool
        if tool.id in self._by_call:
            return
        if not self._answers or self._answers[-1] is not self.steps[-1]:
            self._add_answer(Step("assistant"))
        self._answers[-1].tools.append(tool)
        self._by_call[tool.id] = self._answers[-1]

    def add_all(self, other: Run) -> None:
        """Add all that another run logged to this one."""
        for event in other.log:
            if isinstance(event, Tool):
                self.add_tool(event)
            else:
                self.add_request(*event)

    def _add_answer(self, step: Step) -> None:
        self.steps.append(step)
        self._answers.append(step)

    def _answer_like(self, message: RawMessage) -> Step | None:
        """Return the answer that a message repeats: the one with the same calls, else the last with the same text."""
        if message.role != "assistant":
            return None
        for answer in self._answers:
            if any(message.has_call(tool.id) for tool in answer.tools):
                self._answers.remove(answer)
                return answer
        if self._answers and _is_same_text(self._answers[-1].text, message.text):
            return self._answers.pop()
        return None

    def steps_with_content(self) -> list[Step]:
        """Return the steps with content."""
        return [step for step in self.steps if step.message is not None or step.tools or step.text]

    @property
    def is_continued(self) -> bool:
        """Return whether the first request already shows an answer, so that the run began before it."""
        first = next((event for event in self.log if not isinstance(event, Tool)), None)
        return first is not None and any(message.role == "assistant" for message in first[2])

    def first_user_text(self) -> str | None:
        """Return the task of the run."""
        messages = [step.message for step in self.steps if step.message is not None]
        return next((message.user_text for message in messages if message.user_text is not None), None)


def _is_shortened(step: Step, message: RawMessage) -> bool:
    """Return whether a message is shorter than the answer that it repeats, and has no call that the log lacks."""
    is_shorter = len(message.text.strip()) < len(step.text.strip())
    return is_shorter and all(call.id in step.call_ids() for call in message.calls)


def _key_of(message: RawMessage, counts: dict[Key, int]) -> Key:
    """Return the key that a message has in every request; equal texts are distinguished by their order."""
    if message.role == "tool" and message.call_id is not None:
        return "tool", message.call_id
    if message.calls:
        return "calls", *(call.id for call in message.calls)
    key: Key = (message.role, message.text.strip())
    counts[key] = counts.get(key, 0) + 1
    return *key, counts[key]


def _is_same_text(answer: str, repeated: str) -> bool:
    """Return whether a later request repeats an answer, which loses white space at the ends."""
    answer, repeated = answer.strip(), repeated.strip()
    if not answer or not repeated:
        return answer == repeated
    return answer in repeated or repeated in answer


# A request repeats the messages before it: find where in it the present turn begins, and what precedes it.


REQUEST_TAGS = ("<userRequest", "<user_query", "<prompt>", "<userPrompt>", "<UserRequest>")


class Sent(NamedTuple):
    """The messages of a request: the product's prompts, earlier turns, and the turn itself."""

    prompts: list[RawMessage]
    earlier: list[list[RawMessage]]
    own: list[RawMessage]

    @property
    def user_text(self) -> str | None:
        """Return the user's prompt of this turn."""
        return user_text_of(self.own)

    @property
    def has_summary(self) -> bool:
        """Return whether earlier turns were replaced by a summary."""
        return any(is_summary(message) for message in self.prompts)


def split(messages: list[RawMessage], label: str | None) -> Sent:
    """Cut the messages of a request. The label of its group is the user's text in most cases."""
    start = _start_of_turn(messages, label)
    prompts: list[RawMessage] = []
    earlier: list[list[RawMessage]] = []
    for message in messages[:start]:
        if message.role == "system" or (message.is_injected and message.role == "user" and not earlier):
            prompts.append(message)
        elif not earlier or (message.role == "user" and not message.is_injected):
            earlier.append([message])
        else:
            earlier[-1].append(message)
    own: list[RawMessage] = []
    for message in messages[start:]:
        (prompts if message.role == "system" else own).append(message)
    if earlier:
        own = _leading_context(earlier[-1]) + own
    return Sent(prompts, earlier, own)


def user_text_of(messages: list[RawMessage]) -> str | None:
    """Return the text that the user typed, in the first message of a turn that has any such text."""
    return next((message.user_text for message in messages if message.user_text is not None), None)


def is_summary(message: RawMessage) -> bool:
    """Return whether a message replaces earlier ones by their summary."""
    return message.role == "user" and message.text.lstrip().startswith(SUMMARY)


def _start_of_turn(messages: list[RawMessage], label: str | None) -> int:
    """Return the last message that can be the user's request, by the best available indication."""
    from_user = [index for index, message in enumerate(messages) if message.role == "user"]
    typed = [index for index in from_user if not messages[index].is_injected]
    wanted = label.strip() if label else None
    labelled = [index for index in typed if messages[index].user_text == wanted]
    tagged = [index for index in typed if any(tag in messages[index].text for tag in REQUEST_TAGS)]
    for candidates in (labelled, tagged, typed, from_user):
        if candidates:
            return candidates[-1]
    return next((index for index, message in enumerate(messages) if message.role != "system"), len(messages))


def _leading_context(turn: list[RawMessage]) -> list[RawMessage]:
    """Take the product's context before the next request out of the turn that precedes it."""
    end = len(turn)
    while end > 1 and turn[end - 1].role == "user" and turn[end - 1].is_injected:
        end -= 1
    taken = turn[end:]
    del turn[end:]
    return taken
