"""Groups put together to turns, and turns to conversations.

A turn may be spread over several groups, and an export may hold turns of several conversations. Both show in what
the requests repeat: a request that goes on with a turn has the same user's words in it, and one that goes on with a
conversation repeats the turns before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from copilog.sources._replay.groups import Group, SubRun
from copilog.sources._replay.history import Sent, words_of
from copilog.sources._replay.linking import calls_in, link
from copilog.sources._replay.raw import RawMessage
from copilog.sources._replay.runs import Run


@dataclass(slots=True, eq=False)
class Draft:
    """A turn in the making. One that only the history of a later request knows has no groups."""

    run: Run
    words: str | None
    pointer: str
    groups: list[Group] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    subruns: dict[str, list[SubRun]] = field(default_factory=dict)  # by the call that started them
    orphan: SubRun | None = None  # the turn stands for a sub-agent whose caller is not in the file

    @property
    def opening(self) -> Sent | None:
        """What was sent first, as far as it is recorded."""
        return next((sent for sent in self.sent if sent.own), None)

    @property
    def our_ids(self) -> set[str]:
        return {request.our_id for request in self.run.requests if request.our_id}


class Thread:
    """The turns of one conversation."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []

    def texts(self) -> list[str | None]:
        return [draft.words for draft in self.drafts]

    def add(self, draft: Draft) -> None:
        """Add a turn, and before it the turns of its history that are not known yet."""
        position = 0
        texts = self.texts()
        for earlier in draft.opening.earlier if draft.opening else []:
            words = words_of(earlier)
            if words in texts[position:]:
                position = texts.index(words, position) + 1
                self.drafts[position - 1].run.add_answers(earlier)
                continue
            self.drafts.insert(position, _from_history(earlier, words))
            texts.insert(position, words)
            position += 1
        self.drafts.append(draft)


def threads_from(groups: list[Group]) -> list[Thread]:
    """The conversations of an export, in the order in which they begin."""
    drafts, loose = _drafts_from(groups)
    _nest(drafts, loose)
    threads: list[Thread] = []
    for draft in _by_time(drafts):
        _thread_for(draft, threads).add(draft)
    return threads


def _by_time(drafts: list[Draft]) -> list[Draft]:
    """The turns in the order in which they began; one that does not say when stays behind the one before it."""
    times: list[datetime] = []
    for draft in drafts:
        began = [request.started_at for request in draft.run.requests if request.started_at is not None]
        times.append(min(began) if began else times[-1] if times else datetime.min.replace(tzinfo=UTC))
    return [draft for _, draft in sorted(zip(times, drafts, strict=True), key=lambda pair: pair[0])]


# --- turns ------------------------------------------------------------------------------------------------------


def _drafts_from(groups: list[Group]) -> tuple[list[Draft], list[SubRun]]:
    drafts: list[Draft] = []
    loose: list[SubRun] = []
    for group in groups:
        for subrun in group.subruns:
            _add_subrun(loose, subrun)
        if group.is_helper or (group.run.is_empty and not group.remarks and (group.subruns or not group.label)):
            continue
        draft = _continued(drafts, group)
        if draft is None:
            drafts.append(Draft(group.run, group.words, group.pointer, [group], group.sent))
        else:
            _join(draft, group)
    return drafts, loose


def _continued(drafts: list[Draft], group: Group) -> Draft | None:
    """The turn that a group goes on with."""
    ids = {request.our_id for request in group.run.requests if request.our_id}
    for draft in reversed(drafts):
        if ids & draft.our_ids:
            return draft
    last = drafts[-1] if drafts else None
    if last is None or group.label != last.groups[-1].label:
        return None
    if not group.sent:
        return last if not group.run.is_empty else None
    return last if group.run.goes_on and group.sent[0].words == last.words else None


def _add_subrun(loose: list[SubRun], subrun: SubRun) -> None:
    """Add a sub-agent's run; one that goes on with a run of another group is joined to it."""
    key = (subrun.base, subrun.run.first_words())
    for known in loose:
        if subrun.run.goes_on and (known.base, known.run.first_words()) == key:
            known.run.add_all(subrun.run)
            return
    loose.append(subrun)


def _join(draft: Draft, group: Group) -> None:
    draft.groups.append(group)
    draft.sent = draft.sent + group.sent
    draft.run.add_all(group.run)


def _from_history(messages: list[RawMessage], words: str | None) -> Draft:
    """A turn that happened before the log begins."""
    run = Run()
    run.add_history(messages)
    return Draft(run, words, messages[0].pointer)


def _nest(drafts: list[Draft], loose: list[SubRun]) -> None:
    """Put the runs of sub-agents under the calls that started them; those of nobody become turns."""
    draft_of: dict[int, Draft] = {id(draft.run): draft for draft in drafts}
    calls = [call for draft in drafts for call in calls_in(draft.run)]
    calls += [call for subrun in loose for call in calls_in(subrun.run)]
    found = link(loose, calls)
    for position, subrun in enumerate(loose):
        call = found.get(position)
        if call is not None and id(call.run) in draft_of:
            draft = draft_of[id(call.run)]
            draft.subruns.setdefault(call.id, []).append(subrun)
        else:
            draft = Draft(subrun.run, subrun.run.first_words() or subrun.label, subrun.pointer, orphan=subrun)
            drafts.append(draft)
        draft_of[id(subrun.run)] = draft


# --- conversations ----------------------------------------------------------------------------------------------


def _thread_for(draft: Draft, threads: list[Thread]) -> Thread:
    """The conversation that a turn belongs to: the one whose turns it repeats, else a new one."""
    sent = draft.opening
    if threads and (sent is None or draft.orphan is not None or (sent.has_summary and not sent.earlier)):
        return threads[-1]
    earlier = [words_of(turn) for turn in sent.earlier] if sent else []
    best = max(reversed(threads), key=lambda thread: _overlap(thread, earlier), default=None)
    if best is not None and _overlap(best, earlier) > (0, 0):
        return best
    threads.append(Thread())
    return threads[-1]


def _overlap(thread: Thread, earlier: list[str | None]) -> tuple[int, int]:
    """How well the turns of a conversation match those that a request repeats."""
    texts = thread.texts()
    goes_on = int(bool(earlier and texts) and texts[-1] == earlier[-1])
    return goes_on, len({text for text in texts if text is not None} & set(earlier))
