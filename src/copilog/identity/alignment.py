"""Match turns of several traces that are the same turn.

Ids of requests and answers decide. Without them the prompt does, together with the time: the same text at another time
is another turn. Prompts that everybody types ("continue") need neighbours, the time or an equal answer.
Docs: docs/identity.md
"""

from __future__ import annotations

from copilog.identity.traces import id_space
from copilog.identity.turn_views import (
    CUT_LENGTH,
    SAME_CLOCK,
    SAME_STEP,
    Group,
    View,
    began_later,
    began_within,
    by_turn,
    call_ids,
    evidence_rank,
    has_answer,
    has_equal_answer,
    has_other_ids,
    inserted_by,
    is_simultaneous,
    may_be_same_time,
    may_be_same_turn,
    seconds_apart,
)
from copilog.model import Conversation


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


class Taken:
    """The groups that already have a turn of one conversation: one turn each, or one per trace if it was merged."""

    def __init__(self) -> None:
        self._names: dict[int, set[str]] = {}

    def is_free(self, group: Group, view: View) -> bool:
        taken = self._names.get(id(group))
        return not taken or taken.isdisjoint(view.names)

    def add(self, group: Group, view: View) -> None:
        self._names.setdefault(id(group), set()).update(view.names)


def _with_views(groups: list[Group], views: list[View]) -> list[Group]:
    """Add the turns of one more conversation, each to the group it belongs to, or as a new group."""
    matched = _by_ids(groups, views)
    _by_prompts(groups, views, matched)
    _by_time(groups, views, matched)
    if len(matched) < len(views) and views[0].is_secondary:
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
    """Join groups that a turn shows to be one: it has the id of the first and the prompt of the second."""
    ungrouped = {id(group) for group in groups}.difference(id(group) for group in matched.values())
    if not ungrouped or not any(view.ids for view in views):
        return list(groups)
    comparable = _sources_with_common_ids(views, matched)
    absorbed: set[int] = set()
    for position, view in enumerate(views):
        group = matched.get(position)
        if group is None or not view.is_distinctive:
            continue
        for other in groups:
            is_free = id(other) in ungrouped and id(other) not in absorbed and other.names.isdisjoint(group.names)
            if is_free and may_be_same_turn(view, other, comparable):
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
    """Match turns without a common id by prompt and time, between the matches around them."""
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
    # The nearest in time first, so that a repeated prompt is matched with its own turn. Short, common prompts need
    # neighbours that are matched already.
    nearest = (True, SAME_STEP), (True, SAME_CLOCK), (True, None), (False, SAME_STEP), (False, None)
    for is_distinctive, most_apart in nearest:
        ahead = _next_matches(len(views), matched, place_of, len(groups))
        before = -1
        for position, view in enumerate(views):
            if position not in matched and view.prompt and view.is_distinctive == is_distinctive:
                low, high = (before + 1, ahead[position]) if before < ahead[position] else (0, len(groups))
                candidates = [
                    place
                    for place in by_prompt.get(view.prompt[:CUT_LENGTH], ())
                    if (low <= place < high or is_simultaneous(view, groups[place]))
                    and (most_apart is None or began_within(most_apart, view, groups[place]))
                    and taken.is_free(groups[place], view)
                    and may_be_same_turn(view, groups[place], comparable)
                    and (
                        is_distinctive
                        or (view.is_sparse and is_simultaneous(view, groups[place]))
                        or _is_supported(position, place, views, groups, matched, comparable)
                    )
                ]
                if candidates:
                    found = groups[min(candidates, key=lambda place: seconds_apart(view, groups[place]))]
                    matched[position] = found
                    taken.add(found, view)
            if position in matched:
                before = place_of[id(matched[position])]


def _by_time(groups: list[Group], views: list[View], matched: dict[int, Group]) -> None:
    """Match turns that began at the same time if one of them has no prompt."""
    taken = {id(group) for group in matched.values()}
    comparable = _sources_with_common_ids(views, matched)
    for position, view in enumerate(views):
        if position in matched or view.time is None:
            continue
        for group in groups:
            has_prompt = any(other.prompt for other in group.views)
            is_free = id(group) not in taken and not (view.prompt and has_prompt)
            if is_free and began_within(SAME_STEP, view, group) and not has_other_ids(view, group, comparable):
                matched[position] = group
                taken.add(id(group))
                break


def _next_matches(count: int, matched: dict[int, Group], place_of: dict[int, int], most: int) -> list[int]:
    """Return, for each view, the index of the group that the next matched view belongs to."""
    ahead = [most] * count
    for position in range(count - 2, -1, -1):
        following = matched.get(position + 1)
        ahead[position] = place_of[id(following)] if following is not None else ahead[position + 1]
    return ahead


def _sources_with_common_ids(views: list[View], matched: dict[int, Group]) -> set[str]:
    """Return the sources whose ids can be compared with those of the views: unequal ids are different turns."""
    found = {id_space(view.source) for view in views}
    for position, group in matched.items():
        found |= {id_space(view.source) for view in group.views if not view.ids.isdisjoint(views[position].ids)}
    return found


def _is_supported(
    position: int, place: int, views: list[View], groups: list[Group], matched: dict[int, Group], comparable: set[str]
) -> bool:
    """Return whether the neighbours of a turn match those of a group: both, or one if the times agree.

    Two first turns count as having the same neighbour before them, and two last turns after them.
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
            found += bool(beside.prompt) and may_be_same_turn(beside, group, comparable)
    view, group = views[position], groups[place]
    is_end_of_beginning = position == place == len(views) - 1  # the trace is a prefix of the others
    if found == 2 or (found == 1 and is_end_of_beginning) or began_within(SAME_STEP, view, group):
        return True
    has_answer_too = any(may_be_same_time(view, other) and has_equal_answer(view, other) for other in group.views)
    return has_answer_too or (found == 1 and is_simultaneous(view, group))


def _by_contents(groups: list[Group], views: list[View], matched: dict[int, Group]) -> None:
    """Match turns of a trace that divides a conversation differently: what it records as a turn is part of one.

    A transcript that begins late has no prompt, or prompts of sub-agents; a store has rows for what the product
    inserted, such as the text of a skill.
    """
    comparable = _sources_with_common_ids(views, matched)
    by_call = _groups_by_call(groups)
    for position, view in enumerate(views):
        if position in matched:
            continue
        calls = {group for name in call_ids(view) for group in by_call.get(name, ())}
        eligible = [group for group in groups if not has_other_ids(view, group, comparable)]
        found = [
            (evidence, began_later(view, group), seconds_apart(view, group), place, group)
            for place, group in enumerate(eligible)
            if (evidence := evidence_rank(view, group, group in calls)) is not None
        ]
        if found:
            matched[position] = group = min(found, key=lambda item: item[:4])[4]
            view.inside = next((name for other in group.views if (name := inserted_by(other, view)) is not None), None)


def _groups_by_call(groups: list[Group]) -> dict[str, list[Group]]:
    found: dict[str, list[Group]] = {}
    for group in groups:
        for name in {name for view in group.views for name in call_ids(view)}:
            found.setdefault(name, []).append(group)
    return {name: holders for name, holders in found.items() if len(holders) == 1}


def _by_following(views: list[View], matched: dict[int, Group]) -> None:
    """Match views that are not turns, such as the summary that begins a cut history, with the following turn."""
    following: Group | None = None
    for position in range(len(views) - 1, -1, -1):
        view = views[position]
        if position in matched:
            following = matched[position]
        elif following is not None and not (view.prompt or view.ids or view.time or has_answer(view.messages)):
            matched[position] = following
        else:
            following = None
