"""Compare turns of different conversations: whether two of them may be the same turn.

`alignment` decides which turns match; this module compares one turn with another, or with a group of turns that
are already matched. Docs: docs/identity.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise

from copilog import jsonio
from copilog.identity.calls import same_calls
from copilog.identity.traces import SECONDARY, id_space, names_of
from copilog.model import Conversation, Message, Prompt, ToolCall, Turn, prose_of
from copilog.similarity import DISTINCTIVE_LENGTH, SAME_MOMENT_SECONDS, ids_of, plain, without_blanks

SAME_TIME = timedelta(seconds=SAME_MOMENT_SECONDS)
SAME_STEP = timedelta(seconds=1)  # two records of one step
SAME_CLOCK = timedelta(seconds=15)  # two writers that each read the clock when they write
LONGEST_TURN = timedelta(days=1)  # of a last turn whose end is not recorded
LONG_WORD = 4  # shorter words are in every text
WORD = re.compile(r"[^\W_]+")
UNDIVIDED = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}"  # slow to compile, so only where it is needed
SHARE_OF_WORDS = 0.5  # two versions of an answer have more words in common
CUT_LENGTH = 90  # a store of sessions may cut prompts at a hundred characters


class View:
    """A turn as one conversation has it, with the fields that identify it."""

    __slots__ = (
        "conversation",
        "ids",
        "inside",
        "is_late",
        "is_secondary",
        "is_sparse",
        "messages",
        "prompt",
        "source",
        "time",
        "turn",
        "until",
    )

    def __init__(self, conversation: Conversation, turn: Turn, messages: list[Message], following: Turn | None) -> None:
        self.conversation = conversation
        self.turn = turn
        self.messages = messages
        self.source = conversation.source
        self.ids = ids_of(turn)
        self.prompt = plain(" ".join(prose_of(message.parts) for message in prompts_in(messages)))
        self.is_sparse = "rewind" in conversation.marks  # only turns that changed files: neighbours prove nothing
        self.time = turn.timing.started_at
        # A store of sessions writes a turn's row when the turn has ended.
        self.is_late = "store-row" in conversation.marks
        if self.time is None and self.is_sparse:  # newer snapshots are taken at the end of a turn, too
            self.is_late = True
            self.time = next((message.created_at for message in messages), None)
        self.is_secondary = not (SECONDARY | {"rewind"}).isdisjoint(conversation.marks)
        # Not a turn of its own: the prompt of the sub-agent of this call, or "" for what the product inserted.
        self.inside: str | None = None
        self.until = self._end(following)

    def _end(self, following: Turn | None) -> datetime | None:
        """Return the time by which the turn has ended, and a store of sessions has written its row."""
        if self.time is None:
            return None
        if following is None:
            return self.time + LONGEST_TURN
        return max(following.timing.started_at or self.time, self.time)

    @property
    def names(self) -> list[str]:
        """Return the names of the traces that have the turn."""
        return names_of(self.conversation, self.turn.traces)

    @property
    def is_distinctive(self) -> bool:
        return len(self.prompt) >= DISTINCTIVE_LENGTH


def prompts_in(messages: list[Message]) -> Iterator[Message]:
    return (message for message in messages if message.role == "user" and message.parent_call_id is None)


class Group:
    """One turn in all conversations that have it, the best first."""

    __slots__ = ("names", "views")

    def __init__(self, view: View) -> None:
        self.views = [view]
        self.names = set(view.names)

    def add(self, view: View) -> None:
        self.views.append(view)
        self.names.update(view.names)

    @property
    def time(self) -> datetime | None:
        """Return the start of the turn; the time when a row was written counts only if there is no other."""
        times = [view.time for view in self.views if view.time is not None and not view.is_late and view.inside is None]
        return times[0] if times else min((view.time for view in self.views if view.time is not None), default=None)


def by_turn(conversation: Conversation) -> dict[int | None, list[Message]]:
    messages: dict[int | None, list[Message]] = {}
    for message in conversation.messages:
        messages.setdefault(message.turn, []).append(message)
    return messages


def has_answer(messages: list[Message]) -> bool:
    return any(message.role == "assistant" for message in messages)


def may_be_same_turn(view: View, group: Group, comparable: set[str]) -> bool:
    if has_other_ids(view, group, comparable):
        return False
    may_be = any(
        _has_same_prompt(view, other) and may_be_same_time(view, other) is not False and _may_share_answer(view, other)
        for other in group.views
    )
    return may_be and not any(has_other_contents(view, other) for other in group.views)


def has_other_contents(view: View, other: View) -> bool:
    """Return whether two turns with one prompt are clearly two: other times, other answers, no common call.

    Where a trace has no time or no answer, or one of the answers may be a version of the other, nothing is proven.
    """
    if view.time is None or other.time is None or view.is_late or other.is_late or other.inside is not None:
        return False
    calls, others = _calls_of(view), _calls_of(other)
    most_apart = SAME_STEP if calls and others else SAME_CLOCK
    if abs(view.time - other.time) <= most_apart or not _have_other_answers(view, other):
        return False
    return not same_calls(calls, others)


def _have_other_answers(view: View, other: View) -> bool:
    """Return whether both turns have an answer, and the two have few words in common."""
    mine, theirs = _all_answers(view), _all_answers(other)
    if min(len(mine), len(theirs)) < DISTINCTIVE_LENGTH / 2 or mine in theirs or theirs in mine:
        return False
    words, others = _answer_words(view), _answer_words(other)
    return len(words & others) < SHARE_OF_WORDS * min(len(words), len(others))


def _answer_words(view: View) -> set[str]:
    """Return the longer words of all answers; of a text without blanks, such as a Chinese one, its pairs of letters."""
    found: set[str] = set()
    for message in view.messages:
        if message.role == "assistant":
            text = prose_of(message.parts).lower()
            found.update(word for word in WORD.findall(text) if len(word) >= LONG_WORD)
            if not text.isascii():
                found.update(pair for run in re.findall(UNDIVIDED, text) for pair in map("".join, pairwise(run)))
    return found


def _may_share_answer(view: View, other: View) -> bool:
    """Return whether two answers may be of one turn. Only a row of a store can fail this: its time proves little."""
    if not (view.is_late or other.is_late) or (view.is_late and other.is_late):
        return True
    late, begun = (view, other) if view.is_late else (other, view)
    row, answer = _answer(late).removesuffix("...").removesuffix("…"), _all_answers(begun)
    return not row or not answer or row in answer or answer in row


def has_other_ids(view: View, group: Group, comparable: set[str]) -> bool:
    return bool(view.ids) and any(
        other.ids and id_space(other.source) in comparable and not _is_same_record(view, other) for other in group.views
    )


def _is_same_record(view: View, other: View) -> bool:
    """Return whether two turns are one whose id was damaged: same prompt, in the same millisecond."""
    if view.time is None or view.time != other.time or view.is_late or other.is_late:
        return False
    return bool(view.prompt) and view.prompt == other.prompt and view.source == other.source


def _has_same_prompt(one: View, other: View) -> bool:
    if one.prompt == other.prompt:
        return True
    return _is_cut(one, other) or _is_cut(other, one)


def _is_cut(short: View, long: View) -> bool:
    """Return whether a prompt is the other one as truncated by a store of sessions."""
    if not short.is_late or len(short.prompt) < CUT_LENGTH:
        return False
    return long.prompt.startswith(short.prompt.removesuffix("...").removesuffix("…").rstrip())


def may_be_same_time(one: View, other: View) -> bool | None:
    """Return whether two turns may be of the same time; None if one has no time."""
    if one.time is None or other.time is None:
        return None
    if one.is_late == other.is_late:
        return abs(one.time - other.time) <= SAME_TIME
    late, begun = (one, other) if one.is_late else (other, one)
    assert late.time is not None
    assert begun.time is not None
    return begun.time - SAME_STEP <= late.time <= (begun.until or begun.time) + SAME_TIME


def is_simultaneous(view: View, group: Group) -> bool:
    return any(may_be_same_time(view, other) for other in group.views)


def began_within(most_apart: timedelta, view: View, group: Group) -> bool:
    """Return whether a turn began within some time of another. Times of rows that are written late do not count."""
    times = [other.time for other in group.views if other.time is not None and not other.is_late]
    return view.time is not None and not view.is_late and any(abs(view.time - time) <= most_apart for time in times)


def began_later(view: View, group: Group) -> bool:
    """Return whether a turn began after a record that may be of it, so that a turn before it fits better.

    Without a prompt the record begins with the answer, and is never before its turn.
    """
    allowed = SAME_STEP if view.prompt else timedelta()
    return view.time is not None and group.time is not None and group.time > view.time + allowed


def seconds_apart(view: View, group: Group) -> float:
    """Return the seconds between the starts of two turns; for a row of a store, between the start and the row."""
    if view.time is None or group.time is None:
        return 0
    return abs((view.time - group.time).total_seconds())


def evidence_rank(view: View, group: Group, shares_calls: bool) -> int | None:
    """Rank how well a view fits into the group, the smaller the better: by text, calls, answer, or time alone."""
    found: list[int] = []
    for other in group.views:
        if other.inside is not None or (may_be_same_time(view, other) is False and not _began_during(view, other)):
            continue
        if inserted_by(other, view) is not None:
            found.append(0)
        elif shares_calls and not _has_other_prompt(view, other):
            found.append(1)
        elif (
            not view.is_late
            and _began_during(view, other)
            and (_has_similar_answer(view, other) or not (view.prompt or view.ids))
        ):
            found.append(2 if _has_similar_answer(view, other) else 3)
    return min(found, default=None)


def _has_other_prompt(view: View, other: View) -> bool:
    """Return whether two prompts cannot be of the same turn: both are long enough, and they differ."""
    return view.is_distinctive and other.is_distinctive and not _has_same_prompt(view, other)


def _began_during(view: View, other: View) -> bool:
    if view.time is None or other.time is None or other.until is None:
        return False
    return other.time - SAME_TIME <= view.time < other.until


def has_equal_answer(view: View, other: View) -> bool:
    mine, theirs = _answer(view), _answer(other)
    return len(mine) >= DISTINCTIVE_LENGTH / 2 and mine == theirs


def _has_similar_answer(view: View, other: View) -> bool:
    mine, theirs = _answer(view), _answer(other)
    return len(mine) >= DISTINCTIVE_LENGTH and (mine in theirs or theirs in mine) and bool(theirs)


def _all_answers(view: View) -> str:
    """Return the text of all answers, including those of sub-agents."""
    return "".join(without_blanks(prose_of(message.parts)) for message in view.messages if message.role == "assistant")


def _answer(view: View) -> str:
    answers = [message for message in view.messages if message.role == "assistant" and message.parent_call_id is None]
    return "".join(without_blanks(prose_of(message.parts)) for message in answers)


def _calls_of(view: View) -> list[ToolCall]:
    return [part for message in view.messages for part in message.parts if isinstance(part, ToolCall)]


def call_ids(view: View) -> set[str]:
    return {name for call in _calls_of(view) for name in (call.id, *call.native_ids)}


def inserted_by(other: View, view: View) -> str | None:
    """Return the id of the call that gave this prompt to a sub-agent, "" if the product inserted it, else None."""
    if not view.prompt or view.prompt == other.prompt:  # the same prompt at another time is another turn
        return None
    for message in other.messages:
        for part in message.parts:
            if isinstance(part, ToolCall) and _is_prompt_of(view.prompt, part):
                return part.id
        if any(view.prompt == plain(text) for text in _inserted_texts(message)):
            return ""
    return None


def _is_prompt_of(prompt: str, call: ToolCall) -> bool:
    if call.subagent is not None and call.subagent.prompt is not None:
        return plain(call.subagent.prompt) == prompt
    return call.arguments is not None and _json_quoted(prompt) in plain(call.arguments.replace("\\n", " "))


def _json_quoted(prompt: str) -> str:
    """Return a prompt as JSON arguments contain it."""
    return jsonio.encode(prompt)


def _inserted_texts(message: Message) -> Iterator[str]:
    if message.role in ("user", "system"):
        yield prose_of(message.parts)
        yield from (part.text for part in message.parts if isinstance(part, Prompt))
