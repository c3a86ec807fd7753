"""Order united turns, and find the branches of copies that continued separately."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple

from copilog.identity.traces import LOG, Late, Trace, own_name
from copilog.identity.turn_views import Group


def in_order(groups: list[Group], traces: dict[str, Trace]) -> list[Group]:
    """Return the turns in the order of each trace, and by time where no trace decides.

    Of traces that disagree the better one wins. A turn without a time follows its predecessor in its trace.
    """
    order: list[Group] = []
    index: dict[int, int] = {}
    sequences = _best_first(groups, traces)
    for sequence in sequences:
        place = 0
        for position, group in enumerate(sequence):
            if id(group) not in index:
                end = _next_index(sequence, position, index, place)
                place = _index_by_time(group, order, place, end, is_first=position == 0)
                order.insert(place, group)
                index = {id(placed): at for at, placed in enumerate(order)} if place < len(order) - 1 else index
                index[id(group)] = place
            place = index[id(group)] + 1
    return _with_order_of(sequences, order)


def _with_order_of(sequences: list[list[Group]], order: list[Group]) -> list[Group]:
    """Return the turns with the order of each trace, of which an insertion in between may know too little.

    A trace that contradicts better ones keeps the order of the turns about which they say nothing.
    """
    place = {id(group): at for at, group in enumerate(order)}
    after: dict[int, list[Group]] = {}
    for sequence in sequences:
        for group, following in pairwise(sequence):
            if place[id(group)] > place[id(following)]:
                if _is_reached(group, following, after):
                    continue
                after.setdefault(id(group), []).append(following)
                order = _sorted(order, after)
                place = {id(each): at for at, each in enumerate(order)}
            else:
                after.setdefault(id(group), []).append(following)
    return order


def _is_reached(group: Group, start: Group, after: dict[int, list[Group]]) -> bool:
    """Return whether a turn follows another one, directly or not."""
    waiting, seen = [start], {id(start)}
    while waiting:
        for following in after.get(id(waiting.pop()), ()):
            if following is group:
                return True
            if id(following) not in seen:
                seen.add(id(following))
                waiting.append(following)
    return False


def _sorted(order: list[Group], after: dict[int, list[Group]]) -> list[Group]:
    """Return the turns so that each is before those that follow it, else in the given order."""
    place = {id(group): at for at, group in enumerate(order)}
    missing = Counter(id(following) for group in order for following in after.get(id(group), ()))
    ready = [at for at, group in enumerate(order) if not missing[id(group)]]
    made: list[Group] = []
    while ready:
        group = order[heappop(ready)]
        made.append(group)
        for following in after.get(id(group), ()):
            missing[id(following)] -= 1
            if not missing[id(following)]:
                heappush(ready, place[id(following)])
    return made


def _best_first(groups: list[Group], traces: dict[str, Trace]) -> list[list[Group]]:
    """Return the turns of each trace; of equally good ones the turns decide, wherever the files are."""
    found = [(trace, sequence_of(groups, trace.name)) for trace in traces.values()]
    found.sort(key=lambda each: (each[0].rank(), _late_key(each[1]), each[0].name), reverse=True)
    return [sequence for _, sequence in found]


def _late_key(groups: list[Group]) -> Late:
    return Late(lambda: [_key_of(group) for group in groups])


def _key_of(group: Group) -> tuple[Any, ...]:
    """Return a sort key of what a turn is, wherever its files are."""
    ids = sorted({name for view in group.views for name in view.ids})
    return str(group.time or ""), ids, sorted({view.prompt for view in group.views})


def sequence_of(groups: list[Group], name: str) -> list[Group]:
    """Return the turns that a trace has, in its own order."""
    numbered: list[tuple[int, int, Group]] = []
    for place, group in enumerate(groups):
        if name in group.names:
            numbers = [view.turn.index for view in group.views if name in view.names]
            numbered.append((min(numbers), place, group))
    return [group for _, _, group in sorted(numbered, key=lambda item: item[:2])]


def _next_index(sequence: list[Group], position: int, index: dict[int, int], place: int) -> int | None:
    """Return the index of the next turn of a trace that is already placed, if it is after the given one."""
    for group in sequence[position + 1 :]:
        if id(group) in index:
            return index[id(group)] if index[id(group)] >= place else None
    return None


def _index_by_time(group: Group, order: list[Group], start: int, end: int | None, *, is_first: bool) -> int:
    """Return the index for a turn between two others of its trace: after the turns that began before it."""
    last = end if end is not None else len(order)
    if group.time is None:
        return last if is_first else start
    place = start
    for at in range(start, last):
        time = order[at].time
        if time is not None and time <= group.time:
            place = at + 1
    while place < last and order[place].time is None:
        place += 1
    return place


# --- branches ---------------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """A copy of the session: the turns in one home, in order."""

    name: str  # of the trace that represents the copy
    groups: list[Group]
    is_broken: bool
    span: tuple[datetime, datetime] | None  # times of its first and last turn; no turn between them can be lost

    def would_have(self, group: Group) -> bool:
        """Return whether the copy would contain a turn if the turn had been made in it."""
        return self.span is not None and group.time is not None and self.span[0] < group.time < self.span[1]


class Fork(NamedTuple):
    """The turn that a branch leaves from, and the trace that has the branch."""

    leaves_from: Group | None
    name: str


def forks_in(
    order: list[Group], traces: dict[str, Trace], superseded: set[int], newest: dict[str, str]
) -> dict[int, Fork]:
    """Return the branch of each turn that is not on the trunk, by the `id()` of its group.

    The trunk is the copy that was used last. A copy branches off if both it and the copy that it leaves continued. What
    a damaged copy lacks may be lost: that counts only if one of the two would have a turn that only the other has.
    """
    lines = _lines(order, traces, newest)
    if len(lines) < 2:
        return {}
    place_of = {id(group): place for place, group in enumerate(order)}
    lines.sort(
        key=lambda line: (_last_use(line, superseded), len(line.groups), _late_key(line.groups), line.name),
        reverse=True,
    )
    forks: dict[int, Fork] = {}
    placed = {id(group) for group in lines[0].groups}
    broken = lines[0].is_broken
    for number, line in enumerate(lines[1:], start=1):
        common = [place for place, group in enumerate(line.groups) if id(group) in placed]
        tail = line.groups[common[-1] + 1 :] if common else line.groups
        # A superseded turn is not shown: the branch leaves from the last turn that is shown.
        base = next((line.groups[at] for at in reversed(common) if id(line.groups[at]) not in superseded), None)
        beyond = _continuation(base, order, placed, forks, place_of)
        continued = _has_counted(tail, superseded) and _has_counted(beyond, superseded)
        is_sure = not (broken or line.is_broken) or _are_apart(line, tail, lines[:number], beyond, superseded)
        if continued and is_sure:
            forks |= {id(group): Fork(base, line.name) for group in tail}
        elif base is not None and id(base) in forks:
            forks |= {id(group): forks[id(base)] for group in tail}
        placed |= {id(group) for group in line.groups}
        broken = broken or line.is_broken
    return forks


def _lines(order: list[Group], traces: dict[str, Trace], newest: dict[str, str]) -> list[Line]:
    """Return the copies of the session, each with the other traces of its home. Outdated files are not copies."""
    homes: dict[object, list[Trace]] = {}
    for trace in traces.values():
        if trace.is_session_file and trace.name not in newest:
            homes.setdefault(trace.home, []).append(trace)
    lines: list[Line] = []
    for home, copies in homes.items():
        names = {trace.name for trace in traces.values() if trace.home == home and trace.name not in newest}
        best = max(copies, key=lambda trace: (trace.place.source == LOG, trace.turns, trace.name))
        groups = [group for group in order if not names.isdisjoint(group.names)]
        lines.append(Line(best.name, groups, any(trace.is_broken for trace in copies), _span(groups, copies)))
    return lines


def _span(groups: list[Group], copies: list[Trace]) -> tuple[datetime, datetime] | None:
    """Return when the first and the last turn of a copy began, if no turn between them can be lost."""
    if any(trace.has_holes for trace in copies):
        return None
    names = {trace.name for trace in copies}
    times = [group.time for group in groups if group.time is not None and not names.isdisjoint(group.names)]
    return (min(times), max(times)) if times else None


def _are_apart(line: Line, tail: list[Group], others: list[Line], beyond: list[Group], superseded: set[int]) -> bool:
    """Return whether a copy and the copies before it continued separately, though one of them is damaged."""
    own = {id(group) for group in line.groups}
    theirs = [group for group in beyond if id(group) not in own | superseded]
    if any(line.would_have(group) for group in theirs):
        return True
    found = {id(group) for group in theirs}
    rivals = [other for other in others if any(id(group) in found for group in other.groups)]
    return any(rival.would_have(group) for rival in rivals for group in tail if id(group) not in superseded)


def _last_use(line: Line, superseded: set[int]) -> float:
    """Return when a copy was used last: when its last turn began, else the time that the copy itself records."""
    times = [group.time for group in line.groups if group.time is not None and id(group) not in superseded]
    if not times:
        views = [view for group in line.groups for view in group.views if own_name(view.conversation) == line.name]
        times = [view.conversation.updated_at for view in views if view.conversation.updated_at is not None]
    return max((time.timestamp() for time in times), default=0.0)


def _has_counted(groups: list[Group], superseded: set[int]) -> bool:
    return any(id(group) not in superseded for group in groups)


def _continuation(
    base: Group | None, order: list[Group], placed: set[int], forks: dict[int, Fork], place_of: dict[int, int]
) -> list[Group]:
    """Return the turns after the given one on its branch, or all turns of the trunk."""
    fork = forks.get(id(base)) if base is not None else None
    start = place_of[id(base)] + 1 if base is not None else 0
    return [group for group in order[start:] if id(group) in placed and forks.get(id(group)) == fork]


def numbered(order: list[Group], forks: dict[int, Fork]) -> list[Group]:
    """Return the turns in the order of their numbers: the trunk, then each branch followed by its own branches."""
    if not forks:
        return order
    made = [group for group in order if id(group) not in forks]
    waiting = [group for group in order if id(group) in forks]
    while waiting:
        placed = {id(group): place for place, group in enumerate(made)}
        ready = {forks[id(group)] for group in waiting if _is_placed(forks[id(group)], placed)}
        begin = {forks[id(waiting[place])]: place for place in reversed(range(len(waiting)))}
        first = min(ready, key=lambda fork: (placed.get(id(fork.leaves_from), -1), begin[fork]))
        made += [group for group in waiting if forks[id(group)] == first]
        waiting = [group for group in waiting if forks[id(group)] != first]
    return made


def _is_placed(fork: Fork, placed: dict[int, int]) -> bool:
    return fork.leaves_from is None or id(fork.leaves_from) in placed
