"""What an earlier reading of a conversation had, and its files no longer have.

An archive outlives the files that it was read from. The earlier reading is one more trace: a file that is gone keeps
its turns, and a file that was read again and now lacks a turn is the newer state of what it was before.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from copilog.identity import merge
from copilog.identity.alignment import View, align
from copilog.identity.overruled import Texts, overruled
from copilog.identity.traces import EARLIER, name_of
from copilog.model import Conversation, Provenance, Turn


def with_earlier(now: Conversation, before: Conversation) -> Conversation:
    """Return the present reading united with what only the earlier one has. Both may be changed."""
    earlier = _earlier_trace(now, before)
    if earlier is None:
        return now
    united = merge([now, earlier])
    for place in united.provenance:
        # What was overruled when the earlier reading was merged is overruled again.
        place.conflicts = [one for at, one in enumerate(place.conflicts) if one not in place.conflicts[:at]]
    return united


def _earlier_trace(now: Conversation, before: Conversation) -> Conversation | None:
    """Return the turns that are to be kept, as a trace; None if there are none."""
    places = {name_of(place): place for place in before.provenance}
    present = {name_of(place) for place in now.provenance}
    gone = {name for name, place in places.items() if name not in present and place.role != EARLIER}
    pairs = list(_pairs(now, before))
    telling = {name for view, mine in pairs if mine is not None and _says_more(view, mine, gone) for name in view.names}
    telling |= {name for view, mine in pairs if mine is None for name in view.names}
    turns: dict[int, Turn] = {}
    used: dict[str, Provenance] = {}
    for view, mine in pairs:
        # A turn that the present reading has is kept only for what a file said that is gone.
        names = telling.intersection(view.names, places if mine is None else gone)
        if names:
            kept = [_kept_place(places[name], is_read_again=name in present) for name in names]
            used |= {name_of(place): place for place in kept}
            traces = sorted(name_of(place) for place in kept)
            turns[view.turn.index] = msgspec.structs.replace(view.turn, traces=traces, branch=None)
    if not turns:
        return None
    for place in used.values():
        place.conflicts = [conflict for conflict in place.conflicts if conflict.turn in turns]
    requests = {turn.request_id for turn in turns.values() if turn.request_id is not None}
    return Conversation(
        id=now.id,
        native_id=now.native_id,
        source=before.source,
        turns=[turns[index] for index in sorted(turns)],
        messages=[message for message in before.messages if message.turn in turns],
        file_changes=[change for change in before.file_changes if change.request_id in requests],
        provenance=[used[name] for name in sorted(used)],
    )


def _pairs(now: Conversation, before: Conversation) -> Iterator[tuple[View, View | None]]:
    """Yield each turn of the earlier reading with the same turn of the present one, if there is one."""
    for group in align([now, before]):
        mine = next((view for view in group.views if view.conversation is now), None)
        for view in group.views:
            if view.conversation is before:
                yield view, mine


def _says_more(view: View, mine: View, gone: set[str]) -> bool:
    """Return whether a turn was read from a file that is gone and has texts that the present reading lacks."""
    if gone.isdisjoint(view.names):
        return False
    return any(overruled(view, Texts(mine.messages, mine.turn), mine.turn.index))


def _kept_place(place: Provenance, *, is_read_again: bool) -> Provenance:
    role = EARLIER if is_read_again or place.role == EARLIER else "copy"
    return msgspec.structs.replace(place, role=role)
