"""Merge all traces of a conversation into one conversation.

Equal ids connect traces: a session as .json and as .jsonl, its copies in other workspaces, its entry in the index, its
editing history and its spilled tool output all carry the session's id. Turns are aligned over all traces and united;
no trace is trusted to be complete. The fullest trace wins where traces contradict each other, gaps are filled from all
traces, and every trace stays in `provenance`, with its values that were overruled. The order of the traces makes no
difference. docs/identity.md has the rules.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from copilog.derive import unite_titles
from copilog.identity.alignment import align
from copilog.identity.conflicts import Texts, lost_values, overruled
from copilog.identity.edits import join_edits, join_full_results, mark_undone
from copilog.identity.field_union import (
    conflicts_of,
    fill,
    fill_conversation,
    fill_turn,
    leave_out_read_traces,
    own_turn,
    unite_provenance,
)
from copilog.identity.messages import own_message, unite_inside, unite_messages, without_repeated_checkpoints
from copilog.identity.order import Fork, forks_in, in_order, numbered
from copilog.identity.part_order import put_in_order
from copilog.identity.superseding import emptied_at, newest_files, superseded_in
from copilog.identity.traces import (
    OF_ONE_TRACE,
    fullness,
    has_turns,
    is_equally_full,
    lead_of,
    outdated_traces,
    own_name,
    traces_in,
)
from copilog.identity.turn_views import Group, has_answer
from copilog.model import RECORDED, Branch, Conversation, Message, Turn

__all__ = ["copy_of", "fill", "merge", "together"]


def merge(traces: list[Conversation]) -> Conversation:
    """Return one conversation from all its traces: the leading trace, changed. The others may be changed too."""
    if len(traces) == 1:
        return traces[0]
    recorded = leave_out_read_traces(traces)
    stale = outdated_traces(traces)
    lead = lead_of(traces, stale)
    others = [trace for trace in traces if trace is not lead]
    if len(others) > 1:
        others.sort(key=fullness, reverse=True)
    with_turns = [one for one in (lead, *others) if has_turns(one)]
    if len(with_turns) > 1 or (with_turns and with_turns[0] is not lead):
        _unite_turns(lead, with_turns, stale, emptied_at(traces))
    _take_loose_messages(lead, others)
    _take_id(lead, others)
    unite_titles(lead, others)
    for other in others:
        fill_conversation(lead, other, is_stale=id(other) in stale)
    if len(with_turns) > 1 and lead.updated_at is not None:
        begun = (turn.timing.started_at for turn in lead.turns if turn.superseded is None)
        lead.updated_at = max(filter(None, (lead.updated_at, *begun)))
    mark_undone(lead, others)
    join_edits(lead, others)
    join_full_results(lead, others)
    for other in others:
        lead.marks += [mark for mark in other.marks if mark not in OF_ONE_TRACE and mark not in lead.marks]
    unite_provenance(lead, others)
    for place in recorded:  # its turns are listed now
        place.marks = [mark for mark in place.marks if mark != RECORDED]
    return lead


def together(traces: list[Conversation]) -> list[list[Conversation]]:
    """Group traces by conversation. A trajectory does not record its program: it joins the session that has its id."""
    named: dict[str, str] = {}
    for trace in traces:
        if trace.native_id is not None and "trajectory" not in trace.marks:
            named.setdefault(trace.native_id, trace.id)
    groups: dict[str, list[Conversation]] = {}
    for trace in traces:
        if trace.native_id is not None and "trajectory" in trace.marks:
            trace.id = named.get(trace.native_id, trace.id)
        groups.setdefault(trace.id, []).append(trace)
    return list(groups.values())


def copy_of(trace: Conversation) -> Conversation:
    """Return a copy with lists of its own; turns, messages and file changes are shared, and merging may change them."""
    return msgspec.structs.replace(
        trace,
        marks=list(trace.marks),
        relations=list(trace.relations),
        provenance=[msgspec.structs.replace(place, conflicts=list(place.conflicts)) for place in trace.provenance],
        turns=list(trace.turns),
        messages=list(trace.messages),
    )


# --- turns ------------------------------------------------------------------------------------------------------


def _unite_turns(
    lead: Conversation, conversations: list[Conversation], stale: set[int], rewound_at: datetime | None
) -> None:
    """Give the lead the turns of all conversations, in order, each with its messages."""
    loose = loose_messages(lead)
    own = own_name(lead)
    traces = traces_in(conversations)
    order = in_order(align(conversations), traces)
    superseded = superseded_in(order, traces, rewound_at)
    forks = forks_in(order, traces, set(superseded), newest_files(traces))
    order = numbered(order, forks)
    index_of = {id(group): index for index, group in enumerate(order)}
    _renumber(order)
    turns: list[Turn] = []
    messages: list[Message] = []
    for index, group in enumerate(order):
        turn, said = _united(group, index, lead, stale)
        turn.superseded = superseded.get(id(group))
        turn.branch = _branch(forks.get(id(group)), index_of)
        turn.traces = sorted(group.names) if len(traces) > 1 or own not in group.names else []
        turns.append(turn)
        messages += said
    lead.turns, lead.messages = turns, messages + loose


def _renumber(order: list[Group]) -> None:
    """Update the turn numbers of documents, and in the conflicts of conversations that were merged before."""
    numbers: dict[int, dict[int | None, int]] = {}
    conversations: dict[int, Conversation] = {}
    for index, group in enumerate(order):
        for view in group.views:
            conversations[id(view.conversation)] = view.conversation
            numbers.setdefault(id(view.conversation), {})[view.turn.index] = index
    for name, conversation in conversations.items():
        conversation.documents = [
            msgspec.structs.replace(document, turn=numbers[name].get(document.turn))
            for document in conversation.documents
        ]
        for place in conversation.provenance:
            if place.conflicts:
                place.conflicts = [
                    msgspec.structs.replace(conflict, turn=numbers[name].get(conflict.turn, conflict.turn))
                    for conflict in place.conflicts
                ]


def _branch(fork: Fork | None, index_of: dict[int, int]) -> Branch | None:
    if fork is None:
        return None
    leaves_from = index_of[id(fork.leaves_from)] if fork.leaves_from is not None else None
    return Branch(leaves_from=leaves_from, trace=fork.name)


def _united(group: Group, index: int, lead: Conversation, stale: set[int]) -> tuple[Turn, list[Message]]:
    """Return one turn merged from all its traces, with its messages."""
    first, *others = group.views
    turn = own_turn(first.turn)
    turn.index = index
    if first.conversation is not lead:
        turn.pointer = None  # it points into another file
    messages = [own_message(message) for message in first.messages]
    for view in others:
        if view.inside is not None:
            messages = unite_inside(messages, view, view.inside)
            continue
        is_stale = id(view.conversation) in stale
        was_answered = has_answer(messages)
        is_tied = is_equally_full(first.conversation, view.conversation)
        messages = unite_messages(messages, view, turn, is_stale=is_stale, is_tied=is_tied)
        if not was_answered and has_answer(messages):
            turn.status = view.turn.status or turn.status
        fill_turn(turn, view.turn, conflicts_of(view.conversation), is_stale=is_stale, is_secondary=view.is_secondary)
    if others:
        messages = put_in_order(messages, group.views, turn)
        texts = Texts(messages, turn)
        for view in group.views:
            conflicts_of(view.conversation).extend(overruled(view, texts, index, lost_values(view, messages)))
    for message in messages:
        message.turn = index
    return turn, messages


# --- outside turns ----------------------------------------------------------------------------------------------


def _take_loose_messages(lead: Conversation, others: list[Conversation]) -> None:
    """Copy the messages that belong to no turn, such as checkpoints, from every trace to the lead."""
    for other in others:
        if "resource" in other.marks:
            continue  # `join_full_results` attaches full results
        if loose := loose_messages(other):
            known = [message.parts for message in lead.messages if message.turn is None]
            lead.messages = [*lead.messages, *(message for message in loose if message.parts not in known)]
    lead.messages = without_repeated_checkpoints(lead.messages)


def loose_messages(conversation: Conversation) -> list[Message]:
    """Return copies of the messages that belong to no existing turn."""
    indexes = {turn.index for turn in conversation.turns}
    found = [own_message(message) for message in conversation.messages if message.turn not in indexes]
    for message in found:
        message.turn = None
    return found


def _take_id(lead: Conversation, others: list[Conversation]) -> None:
    """Give a conversation without an id the id of a trace that has one."""
    if lead.native_id is None:
        named = next((other for other in others if other.native_id is not None), None)
        if named is not None:
            lead.id, lead.native_id = named.id, named.native_id
