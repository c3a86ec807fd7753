"""Keep what an earlier reading of a conversation had and the present reading lacks.

An archive outlives the files that it was read from. The stored conversation is one more trace:

- a file that was not read this time, or that no longer exists, keeps its turns;
- a file that was not read this time, and is still there, keeps what it says about the conversation as a whole; if it
  leads the stored conversation, it leads on unless the present reading is fuller, so that a copy changes nothing;
- a document of a file that was not read this time stays, whether the file exists or not;
- a file that was read again and now lacks a turn is a newer state of the file. Its earlier state is a
  trace of its own, with the role `earlier`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import NamedTuple

import msgspec

from copilog.derive.document_union import add_document
from copilog.derive.running import OPEN
from copilog.identity import merge
from copilog.identity.alignment import align
from copilog.identity.conflicts import Texts, lost_values, overruled
from copilog.identity.field_union import contradictions_of, fill_workspace
from copilog.identity.superseding import emptied_at
from copilog.identity.traces import BROKEN, EARLIER, TORN, has_turns, name_of, own_name, traces_in
from copilog.identity.turn_views import View, by_turn, prompts_in
from copilog.model import Conversation, Message, Provenance, Text, ToolCall, ToolResult, Turn, read_traces

BAD_OUTCOMES = frozenset({"failed", "denied", "skipped", "cancelled"})
DAMAGED = BROKEN | {TORN}
# Their files are generated from other data each time, with other wording for the same content.
GENERATED_SOURCES = frozenset({"trajectory-file", "copilot-markdown"})

# Of a conversation as a whole; not what changes with each reading, such as its draft.
FACTS = (
    "title", "title_origin", "assistant", "application", "location", "files", "documents", "usage",
)  # fmt: skip


def with_earlier(now: Conversation, before: Conversation, is_gone: Callable[[str], bool]) -> Conversation:
    """Unite the present reading with what only the earlier one has, and return it. Both may be changed.

    `is_gone` returns whether the file at a path no longer exists.
    """
    read = {name_of(place) for place in read_traces(now)}
    places = _provenance_by_name(before)
    left = [name for name, place in places.items() if name not in read and not is_gone(place.path)]
    leads = own_name(before) in left
    if not before.turns and leads:
        before.provenance = [places[name] for name in left]
        return merge([before, now])
    if not has_turns(before) or not (has_turns(now) or was_emptied(now)):
        return now
    earlier = _earlier_trace(now, before, is_gone)
    if earlier is None:
        return now
    if leads:
        earlier = _standing(before, earlier, [places[name] for name in left])
    _separate_lost_turns(now, earlier)
    united = merge([earlier, now] if leads else [now, earlier])
    if left and not leads:
        _keep_facts(united, before)
    for place in united.provenance:
        # What was overruled when the earlier reading was merged is overruled again.
        place.conflicts = [one for at, one in enumerate(place.conflicts) if one not in place.conflicts[:at]]
    return united


def _standing(before: Conversation, earlier: Conversation, left: list[Provenance]) -> Conversation:
    """Return the stored conversation with the turns to keep, and with the files that were not read this time first."""
    names = {name_of(place) for place in left}
    kept = {name_of(place): place for place in earlier.provenance}
    for place in left:
        known = kept.get(name_of(place), place)
        place.conflicts = known.conflicts
    turns = {turn.index for turn in earlier.turns}
    return msgspec.structs.replace(
        before,
        turns=earlier.turns,
        messages=[message for message in before.messages if message.turn is None or message.turn in turns],
        provenance=[*left, *(place for name, place in kept.items() if name not in names)],
    )


def keep_documents(now: Conversation, before: Conversation) -> None:
    """Add the documents of files that were not read this time, and these files: a program deletes old memories."""
    read = {place.path for place in read_traces(now)}
    index_of = {turn.request_id: turn.index for turn in now.turns if turn.request_id is not None}
    turns = {turn.index: index_of.get(turn.request_id or "") for turn in before.turns}
    now.documents = list(now.documents)
    kept: set[str] = set()
    for document in before.documents:
        if document.traces and read.isdisjoint(document.traces):
            turn = turns.get(document.turn) if document.turn is not None else None
            add_document(now.documents, msgspec.structs.replace(document, turn=turn))
            kept.update(document.traces)
    known = {place.path for place in now.provenance}
    now.provenance += [place for place in before.provenance if place.path in kept - known]


def _keep_facts(now: Conversation, before: Conversation) -> None:
    """Fill what the present reading says nothing of with what a file says that was not read this time."""
    for name in FACTS:
        if not getattr(now, name):
            setattr(now, name, getattr(before, name))
    fill_workspace(now, before)
    origins = {title.origin for title in now.titles}
    now.titles = [*now.titles, *(title for title in before.titles if title.origin not in origins)]
    if before.extra:
        now.extra = {**before.extra, **(now.extra or {})}


def was_emptied(now: Conversation) -> bool:
    """Return whether a conversation without turns was rewound to its beginning, so that it lost them on purpose."""
    return not now.turns and emptied_at([now]) is not None


def _separate_lost_turns(now: Conversation, earlier: Conversation) -> None:
    """Take messages of turns that only the earlier reading has out of the other turns of the present one.

    Where the line of a prompt is damaged, the messages after it seem to belong to the turn before, and are removed from
    it, or to a turn without a prompt, which is that turn.
    """
    if all(trace.marks.isdisjoint(DAMAGED) for trace in traces_in([now]).values()):
        return
    views = (view for group in align([now, earlier]) for view in group.views[:1])
    lost = {view.turn.index: view.turn for view in views if view.conversation is earlier}
    if not lost:
        return
    lost_texts = _LostTexts(lost, earlier.messages)
    messages = by_turn(now)
    kept: list[Message] = []
    for turn in now.turns:
        mine = messages.pop(turn.index, [])
        found = [lost_texts.turn_of(message) for message in mine]
        owner = None
        if turn.request_id is None and not any(True for _ in prompts_in(mine)):
            # A turn of which only the start is left is the first lost one.
            owner = next((index for index in (found if mine else lost) if index in lost), None)
        if owner is not None:
            one = lost.pop(owner)
            turn.request_id, turn.timing = one.request_id, one.timing
        kept += [message for message, index in zip(mine, found, strict=True) if index in (None, owner)]
    now.messages = [*kept, *(message for left in messages.values() for message in left)]


class _LostTexts:
    """The calls and texts of some turns, to recognise their messages in another reading of the same log."""

    def __init__(self, turns: dict[int, Turn], messages: list[Message]) -> None:
        self._starts = {index: turn.timing.started_at for index, turn in turns.items()}
        self._calls: dict[str, int] = {}
        self._texts: dict[str, int] = {}
        for message in messages:
            if message.turn in turns:
                self._calls.update(dict.fromkeys(_calls_of(message), message.turn))
                self._texts.update(dict.fromkeys(_texts_of(message), message.turn))

    def turn_of(self, message: Message) -> int | None:
        """Return the turn that a message belongs to; None if it is not one of these turns."""
        texts = _texts_of(message)
        if message.role == "user" or not all(text in self._texts for text in texts):
            return None
        names = [self._texts[text] for text in texts] or [
            self._calls[call] for call in _calls_of(message) if call in self._calls
        ]
        begun = self._starts[names[0]] if names else None
        if begun is not None and message.created_at is not None and message.created_at < begun:
            return None  # a repeated text: it was there before this turn
        return names[0] if names else None


def _calls_of(message: Message) -> list[str]:
    parts = (part for part in message.parts if isinstance(part, ToolCall | ToolResult))
    return [part.id if isinstance(part, ToolCall) else part.call_id for part in parts]


def _texts_of(message: Message) -> list[str]:
    return [part.text for part in message.parts if isinstance(part, Text) and part.text.strip()]


class Pair(NamedTuple):
    """A turn of the earlier reading, and the same turn of the present one, if there is one."""

    before: View
    now: View | None

    def says_more(self) -> bool:
        """Return whether the earlier turn has a text, or an outcome of a call, that the present one lacks."""
        if self.now is None:
            return True
        if _outcomes(self.before) - _outcomes(self.now):
            return True
        return any(overruled(self.before, Texts(self.now.messages, self.now.turn), self.now.turn.index))

    def has_other_values(self) -> bool:
        """Return whether the present turn contradicts a number, a time or another short value of the earlier one."""
        if self.now is None or self.before.turn.status in OPEN:
            return False
        if any(True for _ in contradictions_of(self.now.turn, self.before.turn)):
            return True
        return bool(lost_values(self.before, self.now.messages))

    def was_removed(self) -> bool:
        """Return whether the turn was superseded, and the present reading has no record of it."""
        return self.before.turn.superseded is not None and (self.now is None or self.now.turn.superseded is None)


def _earlier_trace(now: Conversation, before: Conversation, is_gone: Callable[[str], bool]) -> Conversation | None:
    """Return the turns to keep, as a trace; None if there are none."""
    places = _provenance_by_name(before)
    states = _States(now, places)
    pairs = list(_pairs(now, before))
    unread = {name for name, place in places.items() if name not in states.present and place.role != EARLIER}
    gone = {name for name in unread if is_gone(places[name].path)}
    # A deleted file keeps its texts, values and records of removed turns; a file that only moved has nothing to keep.
    if not any(pair.was_removed() for pair in pairs):
        deleted = gone - _moved(gone, places, now)
        telling = {
            name
            for pair in pairs
            if (not gone.isdisjoint(pair.before.names) and pair.says_more())
            or (not deleted.isdisjoint(pair.before.names) and pair.has_other_values())
            for name in pair.before.names
        }
        known = [(one.field, one.value) for place in now.provenance for one in place.conflicts]
        telling |= {
            name for name in deleted if any((one.field, one.value) not in known for one in places[name].conflicts)
        }
        unread -= gone - telling
    turns: dict[int, Turn] = {}
    used: dict[str, Provenance] = {}
    for pair in pairs:
        kept = [
            msgspec.structs.replace(places[name], role="copy" if name in unread else EARLIER)
            for name in pair.before.names
            if name in unread or (name in places and states.has_lost(name, pair))
        ]
        if kept:
            used |= {name_of(place): place for place in kept}
            traces = sorted({name_of(place) for place in kept})
            turn = pair.before.turn
            turns[turn.index] = msgspec.structs.replace(turn, traces=traces, branch=None)
    if not turns:
        return None
    for place in used.values():
        place.conflicts = [conflict for conflict in place.conflicts if conflict.turn is None or conflict.turn in turns]
    requests = {turn.request_id for turn in turns.values() if turn.request_id is not None}
    return Conversation(
        id=now.id,
        native_id=now.native_id,
        source=before.source,
        marks=[EARLIER],
        turns=[turns[index] for index in sorted(turns)],
        messages=[message for message in before.messages if message.turn in turns],
        file_changes=[change for change in before.file_changes if change.request_id in requests],
        provenance=[used[name] for name in sorted(used)],
    )


def _moved(gone: set[str], places: dict[str, Provenance], now: Conversation) -> set[str]:
    """Return the files that no longer exist at their place, and that the present reading found at another one."""
    found = {(PurePath(place.path).name, place.source) for place in read_traces(now) if name_of(place) not in places}
    return {name for name in gone if (PurePath(places[name].path).name, places[name].source) in found}


def _outcomes(view: View) -> set[tuple[str, str]]:
    """Return the calls of a turn that did not succeed, with their outcomes."""
    calls = (part for message in view.messages for part in message.parts if isinstance(part, ToolCall))
    return {
        (call.id, call.outcome.kind) for call in calls if call.outcome is not None and call.outcome.kind in BAD_OUTCOMES
    }


def _provenance_by_name(before: Conversation) -> dict[str, Provenance]:
    """Return the traces of the earlier reading by name, each with its own marks: a damaged file stays damaged."""
    marks = {name: sorted(trace.marks) for name, trace in traces_in([before]).items()}
    return {
        name: msgspec.structs.replace(place, marks=marks.get(name, place.marks))
        for place in before.provenance
        if place.source not in GENERATED_SOURCES
        for name in [name_of(place)]
    }


class _States:
    """The files of the earlier reading in their present state."""

    def __init__(self, now: Conversation, places: dict[str, Provenance]) -> None:
        self.present = {name_of(place) for place in read_traces(now)}
        self._provenance = places
        traces = traces_in([now]).values()
        self._damaged = {trace.name for trace in traces if not trace.marks.isdisjoint(DAMAGED)}

    def has_lost(self, name: str, pair: Pair) -> bool:
        """Return whether a file lost a turn, or texts of it, since the earlier reading."""
        place = self._provenance[name]
        is_earlier = place.role == EARLIER
        if is_earlier:
            name = name_of(msgspec.structs.replace(place, role="copy"))
        elif name not in self.present:
            return False
        if pair.now is None or name not in pair.now.names:
            return True
        return name in self._damaged and pair.says_more()


def _pairs(now: Conversation, before: Conversation) -> Iterator[Pair]:
    for group in align([now, before]):
        mine = next((view for view in group.views if view.conversation is now), None)
        for view in group.views:
            if view.conversation is before:
                yield Pair(view, mine)
