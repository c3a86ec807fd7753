"""Which turns of several traces are the same turn.

Ids of requests and answers decide. Without them the prompt does, together with the time: the same text at another time
is another turn. Prompts that everybody types ("continue") need the time and a neighbour. Docs: docs/identity.md
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from copilog import jsonio
from copilog.identity.traces import RETOLD, id_space, names_of
from copilog.model import Conversation, Message, Prompt, ToolCall, Turn, prose_of
from copilog.similarity import SAME_MOMENT_SECONDS, TELLING_LENGTH, ids_of, plain, without_blanks

SAME_TIME = timedelta(seconds=SAME_MOMENT_SECONDS)
SAME_STEP = timedelta(seconds=1)  # two records of one step
SAME_CLOCK = timedelta(seconds=15)  # two writers that each read the clock when they come to it
LONGEST_TURN = timedelta(days=1)  # of a last turn that does not say when it ended
CUT_LENGTH = 90  # a store of sessions may cut prompts at a hundred characters


class View:
    """A turn as one conversation has it, with what it is recognised by."""

    __slots__ = (
        "conversation",
        "ids",
        "inside",
        "is_late",
        "is_retold",
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
        self.is_sparse = "rewind" in conversation.marks  # only of turns that changed files: neighbours say nothing
        self.time = turn.timing.started_at
        # A store of sessions writes a turn's row when the turn has ended.
        self.is_late = "store-row" in conversation.marks
        if self.time is None and self.is_sparse:  # newer snapshots are taken then, too
            self.is_late = True
            self.time = next((message.created_at for message in messages), None)
        self.is_retold = not (RETOLD | {"rewind"}).isdisjoint(conversation.marks)
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
        """The names of the traces that have the turn."""
        return names_of(self.conversation, self.turn.traces)

    @property
    def is_telling(self) -> bool:
        return len(self.prompt) >= TELLING_LENGTH


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
        """The start of the turn; the time at which a row was written counts only if there is no other."""
        times = [view.time for view in self.views if view.time is not None and not view.is_late and view.inside is None]
        return times[0] if times else min((view.time for view in self.views if view.time is not None), default=None)


class Taken:
    """The groups that turns of one conversation were added to: once, or once for each trace of a merged one."""

    def __init__(self) -> None:
        self._names: dict[int, set[str]] = {}

    def is_free(self, group: Group, view: View) -> bool:
        taken = self._names.get(id(group))
        return not taken or taken.isdisjoint(view.names)

    def add(self, group: Group, view: View) -> None:
        self._names.setdefault(id(group), set()).update(view.names)


def by_turn(conversation: Conversation) -> dict[int | None, list[Message]]:
    messages: dict[int | None, list[Message]] = {}
    for message in conversation.messages:
        messages.setdefault(message.turn, []).append(message)
    return messages


def align(conversations: list[Conversation]) -> list[Group]:
    """Return the united turns of conversations, best conversation first. The order of the groups is preliminary."""
    groups: list[Group] = []
    for conversation in conversations:
        messages = by_turn(conversation)
        following = [*conversation.turns[1:], None] if conversation.turns else []
        views = [
            View(conversation, turn, messages.get(turn.index, []), after)
            for turn, after in zip(conversation.turns, following, strict=True)
        ]
        groups = _with_views(groups, views) if groups else [Group(view) for view in views]
    return groups


def _with_views(groups: list[Group], views: list[View]) -> list[Group]:
    """Add the turns of one more conversation, each to the group it belongs to, or as a group of its own."""
    matched = _by_ids(groups, views)
    _by_prompts(groups, views, matched)
    _by_time(groups, views, matched)
    if len(matched) < len(views) and views[0].is_retold:
        _by_contents(groups, views, matched)
    _by_following(views, matched)
    order = _joined(groups, views, matched)
    place = 0
    for position, view in enumerate(views):
        found = matched.get(position)
        group = found if found is not None else Group(view)
        if position not in matched:
            while place < len(order) and _begins_before(order[place], view):
                place += 1
            order.insert(place, group)
        else:
            group.add(view)
        place = order.index(group) + 1
    return order


def _begins_before(group: Group, view: View) -> bool:
    return group.time is not None and view.time is not None and group.time < view.time


def _joined(groups: list[Group], views: list[View], matched: dict[int, Group]) -> list[Group]:
    """Return the groups, those made one that a turn shows to be one: it has the id of this and the prompt of that."""
    ungrouped = {id(group) for group in groups}.difference(id(group) for group in matched.values())
    if not ungrouped or not any(view.ids for view in views):
        return list(groups)
    comparable = _sources_with_common_ids(views, matched)
    absorbed: set[int] = set()
    for position, view in enumerate(views):
        group = matched.get(position)
        if group is None or not view.is_telling:
            continue
        for other in groups:
            is_free = id(other) in ungrouped and id(other) not in absorbed and other.names.isdisjoint(group.names)
            if is_free and _may_be(view, other, comparable):
                group.views += other.views
                group.names |= other.names
                absorbed.add(id(other))
    return [group for group in groups if id(group) not in absorbed]


def _by_ids(groups: list[Group], views: list[View]) -> dict[int, Group]:
    by_id: dict[str, list[Group]] = {}
    for group in groups:
        for name in {name for view in group.views for name in view.ids}:
            by_id.setdefault(name, []).append(group)
    matched: dict[int, Group] = {}
    taken = Taken()
    for position, view in enumerate(views):
        candidates = (group for name in sorted(view.ids) for group in by_id.get(name, ()))
        found = next((group for group in candidates if taken.is_free(group, view)), None)
        if found is not None:
            matched[position] = found
            taken.add(found, view)
    return matched


def _by_prompts(groups: list[Group], views: list[View], matched: dict[int, Group]) -> None:
    """Match what has no id in common by prompt and time, between the matches around it."""
    if len(matched) == len(views):
        return
    place_of = {id(group): place for place, group in enumerate(groups)}
    by_prompt: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        for start in {view.prompt[:CUT_LENGTH] for view in group.views}:
            by_prompt.setdefault(start, []).append(place)
    comparable = _sources_with_common_ids(views, matched)
    taken = Taken()
    for position, group in matched.items():
        taken.add(group, views[position])
    # The nearest in time first, so that a prompt that was typed again goes to its own turn. What everybody types needs
    # neighbours that are matched already.
    nearest = (True, SAME_STEP), (True, SAME_CLOCK), (True, None), (False, SAME_STEP), (False, None)
    for is_telling, most_apart in nearest:
        ahead = _next_matches(len(views), matched, place_of, len(groups))
        before = -1
        for position, view in enumerate(views):
            if position not in matched and view.prompt and view.is_telling == is_telling:
                low, high = (before + 1, ahead[position]) if before < ahead[position] else (0, len(groups))
                candidates = [
                    place
                    for place in by_prompt.get(view.prompt[:CUT_LENGTH], ())
                    if (low <= place < high or _is_simultaneous(view, groups[place]))
                    and (most_apart is None or _is_near(most_apart, view, groups[place]))
                    and taken.is_free(groups[place], view)
                    and _may_be(view, groups[place], comparable)
                    and (
                        is_telling
                        or (view.is_sparse and _is_simultaneous(view, groups[place]))
                        or _has_neighbour(position, place, views, groups, matched, comparable)
                    )
                ]
                if candidates:
                    found = groups[min(candidates, key=lambda place: _distance(view, groups[place]))]
                    matched[position] = found
                    taken.add(found, view)
            if position in matched:
                before = place_of[id(matched[position])]


def _by_time(groups: list[Group], views: list[View], matched: dict[int, Group]) -> None:
    """Match turns of the very same time of which one has no prompt."""
    taken = {id(group) for group in matched.values()}
    comparable = _sources_with_common_ids(views, matched)
    for position, view in enumerate(views):
        if position in matched or view.time is None:
            continue
        for group in groups:
            has_prompt = any(other.prompt for other in group.views)
            is_free = id(group) not in taken and not (view.prompt and has_prompt)
            if is_free and _is_near(SAME_STEP, view, group) and not _have_other_ids(view, group, comparable):
                matched[position] = group
                taken.add(id(group))
                break


def _next_matches(count: int, matched: dict[int, Group], place_of: dict[int, int], most: int) -> list[int]:
    """Return, for each view, the place of the group that the next matched view belongs to."""
    ahead = [most] * count
    for position in range(count - 2, -1, -1):
        following = matched.get(position + 1)
        ahead[position] = place_of[id(following)] if following is not None else ahead[position + 1]
    return ahead


def _sources_with_common_ids(views: list[View], matched: dict[int, Group]) -> set[str]:
    """Return the sources whose ids can be compared with those of the views: unequal ones are different turns."""
    found = {id_space(view.source) for view in views}
    for position, group in matched.items():
        found |= {id_space(view.source) for view in group.views if not view.ids.isdisjoint(views[position].ids)}
    return found


def _may_be(view: View, group: Group, comparable: set[str]) -> bool:
    if _have_other_ids(view, group, comparable):
        return False
    return any(
        _same_prompt(view, other) and _same_time(view, other) is not False and _may_answer(view, other)
        for other in group.views
    )


def _may_answer(view: View, other: View) -> bool:
    """Return whether two answers may be of one turn. Only of a store's row this is asked: its time says little."""
    if not (view.is_late or other.is_late) or (view.is_late and other.is_late):
        return True
    late, begun = (view, other) if view.is_late else (other, view)
    row, answer = _answer(late).removesuffix("...").removesuffix("…"), _all_answers(begun)
    return not row or not answer or row in answer or answer in row


def _have_other_ids(view: View, group: Group, comparable: set[str]) -> bool:
    return bool(view.ids) and any(
        other.ids and id_space(other.source) in comparable and not _is_same_record(view, other) for other in group.views
    )


def _is_same_record(view: View, other: View) -> bool:
    """Return whether two turns are one whose id was damaged: nobody asks the same twice in a thousandth of a second."""
    if view.time is None or view.time != other.time or view.is_late or other.is_late:
        return False
    return bool(view.prompt) and view.prompt == other.prompt and view.source == other.source


def _same_prompt(one: View, other: View) -> bool:
    if one.prompt == other.prompt:
        return True
    return _is_cut(one, other) or _is_cut(other, one)


def _is_cut(short: View, long: View) -> bool:
    """Return whether a prompt is the other one as a store of sessions cuts it."""
    if not short.is_late or len(short.prompt) < CUT_LENGTH:
        return False
    return long.prompt.startswith(short.prompt.removesuffix("...").removesuffix("…").rstrip())


def _same_time(one: View, other: View) -> bool | None:
    """Return whether two turns may be of the same time; None if one does not say."""
    if one.time is None or other.time is None:
        return None
    if one.is_late == other.is_late:
        return abs(one.time - other.time) <= SAME_TIME
    late, begun = (one, other) if one.is_late else (other, one)
    assert late.time is not None
    assert begun.time is not None
    return begun.time - SAME_STEP <= late.time <= (begun.until or begun.time) + SAME_TIME


def _is_simultaneous(view: View, group: Group) -> bool:
    return any(_same_time(view, other) for other in group.views)


def _is_same_answer(view: View, other: View) -> bool:
    mine, theirs = _answer(view), _answer(other)
    return len(mine) >= TELLING_LENGTH / 2 and mine == theirs


def _is_near(most_apart: timedelta, view: View, group: Group) -> bool:
    """Return whether a turn began within some time of another. Times of rows that are written late say nothing."""
    times = [other.time for other in group.views if other.time is not None and not other.is_late]
    return view.time is not None and not view.is_late and any(abs(view.time - time) <= most_apart for time in times)


def _has_neighbour(
    position: int, place: int, views: list[View], groups: list[Group], matched: dict[int, Group], comparable: set[str]
) -> bool:
    """Return whether the turns beside this one may be the turns beside that group: both, or one if the times agree.

    The first turn of both has the same neighbour before it, none; so has the last behind it.
    """
    found = 0
    for step, edge, end in ((-1, 0, 0), (1, len(views) - 1, len(groups) - 1)):
        if position == edge or not 0 <= place + step < len(groups):
            found += position == edge and place == end
            continue
        beside, group = views[position + step], groups[place + step]
        known = matched.get(position + step)
        if known is not None:
            found += known is group
        else:
            found += bool(beside.prompt) and _may_be(beside, group, comparable)
    view, group = views[position], groups[place]
    is_end_of_beginning = position == place == len(views) - 1  # the trace is how the others begin
    if found == 2 or (found == 1 and is_end_of_beginning) or _is_near(SAME_STEP, view, group):
        return True
    has_answer_too = any(_same_time(view, other) and _is_same_answer(view, other) for other in group.views)
    return has_answer_too or (found == 1 and _is_simultaneous(view, group))


def _began_later(view: View, group: Group) -> bool:
    """Return whether a turn began after a record that may be of it, so that a turn before it fits better.

    Without a prompt the record begins with the answer, and is never before its turn.
    """
    allowed = SAME_STEP if view.prompt else timedelta()
    return view.time is not None and group.time is not None and group.time > view.time + allowed


def _distance(view: View, group: Group) -> float:
    """Return how far apart two turns began; of a store's row, how long before it the turn had begun."""
    if view.time is None or group.time is None:
        return 0
    return abs((view.time - group.time).total_seconds())


def _by_contents(groups: list[Group], views: list[View], matched: dict[int, Group]) -> None:
    """Match turns of a trace that divides a conversation in other ways: what it takes for a turn is part of one.

    A transcript that begins late has no prompt, and the prompts of sub-agents; a store has rows for what the product
    inserted, such as the text of a skill.
    """
    comparable = _sources_with_common_ids(views, matched)
    by_call = _groups_by_call(groups)
    for position, view in enumerate(views):
        if position in matched:
            continue
        calls = {group for name in _call_ids(view) for group in by_call.get(name, ())}
        eligible = [group for group in groups if not _have_other_ids(view, group, comparable)]
        found = [
            (evidence, _began_later(view, group), _distance(view, group), place, group)
            for place, group in enumerate(eligible)
            if (evidence := _evidence(view, group, group in calls)) is not None
        ]
        if found:
            matched[position] = group = min(found, key=lambda item: item[:4])[4]
            view.inside = next((name for other in group.views if (name := _inserted_by(other, view)) is not None), None)


def _evidence(view: View, group: Group, shares_calls: bool) -> int | None:
    """Return how well a view fits into the group, the smaller the better: by its text, calls, answer, time alone."""
    found: list[int] = []
    for other in group.views:
        if other.inside is not None or (_same_time(view, other) is False and not _is_within(view, other)):
            continue
        if _inserted_by(other, view) is not None:
            found.append(0)
        elif shares_calls and not _is_unlike(view, other):
            found.append(1)
        elif (
            not view.is_late
            and _is_within(view, other)
            and (_same_answer(view, other) or not (view.prompt or view.ids))
        ):
            found.append(2 if _same_answer(view, other) else 3)
    return min(found, default=None)


def _is_unlike(view: View, other: View) -> bool:
    """Return whether two prompts cannot be the same turn: both say something, and something else."""
    return view.is_telling and other.is_telling and not _same_prompt(view, other)


def _is_within(view: View, other: View) -> bool:
    if view.time is None or other.time is None or other.until is None:
        return False
    return other.time - SAME_TIME <= view.time < other.until


def _same_answer(view: View, other: View) -> bool:
    mine, theirs = _answer(view), _answer(other)
    return len(mine) >= TELLING_LENGTH and (mine in theirs or theirs in mine) and bool(theirs)


def _all_answers(view: View) -> str:
    """Return all that was answered, by sub-agents as well."""
    return "".join(without_blanks(prose_of(message.parts)) for message in view.messages if message.role == "assistant")


def _answer(view: View) -> str:
    answers = [message for message in view.messages if message.role == "assistant" and message.parent_call_id is None]
    return "".join(without_blanks(prose_of(message.parts)) for message in answers)


def _groups_by_call(groups: list[Group]) -> dict[str, list[Group]]:
    found: dict[str, list[Group]] = {}
    for group in groups:
        for name in {name for view in group.views for name in _call_ids(view)}:
            found.setdefault(name, []).append(group)
    return {name: holders for name, holders in found.items() if len(holders) == 1}


def _call_ids(view: View) -> set[str]:
    calls = (part for message in view.messages for part in message.parts if isinstance(part, ToolCall))
    return {name for call in calls for name in (call.id, *call.native_ids)}


def _by_following(views: list[View], matched: dict[int, Group]) -> None:
    """Match what is not a turn, such as the summary that a cut history begins with, with the turn that follows it."""
    following: Group | None = None
    for position in range(len(views) - 1, -1, -1):
        view = views[position]
        if position in matched:
            following = matched[position]
        elif following is not None and not (view.prompt or view.ids or view.time or has_answer(view.messages)):
            matched[position] = following
        else:
            following = None


def has_answer(messages: list[Message]) -> bool:
    return any(message.role == "assistant" for message in messages)


def _inserted_by(other: View, view: View) -> str | None:
    """Return the call of a turn whose sub-agent was given this prompt, "" if the product inserted it; else None."""
    if not view.prompt or view.prompt == other.prompt:  # the same prompt at another time is another turn
        return None
    for message in other.messages:
        for part in message.parts:
            if isinstance(part, ToolCall) and _is_given(view.prompt, part):
                return part.id
        if any(view.prompt == plain(text) for text in _inserted_texts(message)):
            return ""
    return None


def _is_given(prompt: str, call: ToolCall) -> bool:
    if call.subagent is not None and call.subagent.prompt is not None:
        return plain(call.subagent.prompt) == prompt
    return call.arguments is not None and _quoted(prompt) in plain(call.arguments.replace("\\n", " "))


def _quoted(prompt: str) -> str:
    """Return a prompt as it is within the JSON of arguments."""
    return jsonio.encode(prompt)


def _inserted_texts(message: Message) -> Iterator[str]:
    if message.role in ("user", "system"):
        yield prose_of(message.parts)
        yield from (part.text for part in message.parts if isinstance(part, Prompt))
