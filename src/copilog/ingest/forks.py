"""Mark prompts of forks in the archive, as a fork may be stored later than the transcript of its parent."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from itertools import groupby

from copilog.derive import conclude
from copilog.derive.fork_prompts import mark_asked_in_fork, may_be_same_prompt, unanswered_turns
from copilog.identity.traces import traces_in
from copilog.model import Conversation
from copilog.store.documents import stored_conversation
from copilog.store.entries import entry_of
from copilog.store.forks import PromptOfFork, prompts_of_forks
from copilog.store.writing import replace_rows

TRANSCRIPT = "transcript"  # the mark of such a trace


def mark_stored_prompts_of_forks(connection: sqlite3.Connection, fresh: Collection[int]) -> None:
    """Mark turns that were asked in a fork, where the fork or its parent was stored since the last call."""
    for number, found in groupby(prompts_of_forks(connection, fresh), key=lambda one: one.parent):
        parent = stored_conversation(connection, number)
        if parent is not None and _mark(parent, list(found)):
            conclude(parent)
            replace_rows(connection, number, entry_of(parent))


def _mark(parent: Conversation, found: list[PromptOfFork]) -> bool:
    """Mark the turns that only the transcript has, without an answer; return whether there are any."""
    traces = traces_in([parent])
    transcripts = {name for name, trace in traces.items() if TRANSCRIPT in trace.marks}
    unanswered = unanswered_turns(parent)
    turns = {turn.index: turn for turn in parent.turns}
    is_changed = False
    for one in found:
        turn = turns.get(one.turn)
        if turn is None or turn.index not in unanswered or not turn.traces or not transcripts.issuperset(turn.traces):
            continue
        if turn.superseded is None and may_be_same_prompt(turn.timing.started_at, one.sent_at):
            mark_asked_in_fork(turn, one.fork_id.partition(":")[2])
            is_changed = True
    return is_changed
