"""A request repeats all that was said before it: where in it the present turn begins, and what stands before."""

from __future__ import annotations

from typing import NamedTuple

from copilog.sources._replay.content import SUMMARY
from copilog.sources._replay.raw import RawMessage

REQUEST_TAGS = ("<userRequest", "<user_query", "<prompt>", "<userPrompt>", "<UserRequest>")


class Sent(NamedTuple):
    """The messages of a request: the product's prompts, earlier turns, and the turn itself."""

    prompts: list[RawMessage]
    earlier: list[list[RawMessage]]
    own: list[RawMessage]

    @property
    def words(self) -> str | None:
        """What the user asked in this turn."""
        return words_of(self.own)

    @property
    def has_summary(self) -> bool:
        """Whether earlier turns were replaced by a summary."""
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


def words_of(messages: list[RawMessage]) -> str | None:
    """What the user typed, in the first message of a turn that has any such words."""
    return next((message.words for message in messages if message.words is not None), None)


def is_summary(message: RawMessage) -> bool:
    """Whether a message replaces earlier ones by their summary."""
    return message.role == "user" and message.text.lstrip().startswith(SUMMARY)


def _start_of_turn(messages: list[RawMessage], label: str | None) -> int:
    """The last message that can be the user's request, by the best sign there is."""
    from_user = [index for index, message in enumerate(messages) if message.role == "user"]
    typed = [index for index in from_user if not messages[index].is_injected]
    wanted = label.strip() if label else None
    labelled = [index for index in typed if messages[index].words == wanted]
    tagged = [index for index in typed if any(tag in messages[index].text for tag in REQUEST_TAGS)]
    for candidates in (labelled, tagged, typed, from_user):
        if candidates:
            return candidates[-1]
    return next((index for index, message in enumerate(messages) if message.role != "system"), len(messages))


def _leading_context(turn: list[RawMessage]) -> list[RawMessage]:
    """Take what the product put before the next request out of the turn that it follows."""
    end = len(turn)
    while end > 1 and turn[end - 1].role == "user" and turn[end - 1].is_injected:
        end -= 1
    taken = turn[end:]
    del turn[end:]
    return taken
