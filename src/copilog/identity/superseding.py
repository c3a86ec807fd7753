"""Find united turns that are superseded: removed by a record of some trace. Absence alone is not removal.

docs/identity.md has a table of every pair of traces.
"""

from __future__ import annotations

from datetime import datetime

from copilog.identity.order import sequence_of
from copilog.identity.traces import CLI_LOGS, EARLIER, FILE, LOG, Trace, is_newer, name_of, names_of, own_name
from copilog.identity.turn_views import Group, View
from copilog.model import AnyPart, Conversation, Notice
from copilog.model.recorded_names import LEFT_OUT

REASONS = ("removed", "replaced", "rewound", "undone", "hidden", "absent")  # in order of precedence
# Conclusions from other traces, which are drawn again; a rewind in a program's own stream is "removed".
CONCLUDED = frozenset({"absent", "rewound"})
REWIND = "rewind"


def superseded_in(order: list[Group], traces: dict[str, Trace], emptied_at: datetime | None = None) -> dict[int, str]:
    """Return the reasons why turns are superseded, by the `id()` of their groups.

    `emptied_at` is the time at which a log of Copilot CLI without turns was rewound to its beginning.
    """
    newest = newest_files(traces)
    replaced = {name for group in order for view in group.views if (name := _replaced_request_id(view)) is not None}
    found: dict[int, str] = {}
    rewound = {id(group) for group in _rewound(order, traces)}
    if emptied_at is not None:
        rewound |= {id(group) for group in order if group.time is None or group.time <= emptied_at}
    left_out = {id(group) for group in _left_out(order, traces)}
    for group in order:
        reasons = {reason for view in group.views if (reason := _recorded(view, group, newest)) is not None}
        if any(newest[name] not in group.names for name in group.names if name in newest):
            reasons.add("absent")
        if id(group) in left_out:
            reasons.add("absent")
        if any(view.turn.request_id in replaced for view in group.views):
            reasons.add("replaced")
        if id(group) in rewound:
            reasons.add("rewound")
        if reasons:
            found[id(group)] = min(reasons, key=_precedence)
    return found


def _left_out(order: list[Group], traces: dict[str, Trace]) -> list[Group]:
    """Return the turns that VS Code had dropped: its session lacks them, and so do later requests to a model."""
    files = {trace.name for trace in traces.values() if trace.place.source in (LOG, FILE) and trace.is_session_file}
    if not files or any(traces[name].is_broken for name in files):
        return []
    places = [place for place, group in enumerate(order) if not files.isdisjoint(group.names)]
    return [
        group
        for group in order[: places[-1] if places else 0]
        if files.isdisjoint(group.names) and any((view.turn.extra or {}).get(LEFT_OUT) for view in group.views)
    ]


def _precedence(reason: str) -> tuple[int, str]:
    return (REASONS.index(reason) if reason in REASONS else len(REASONS), reason)


def newest_files(traces: dict[str, Trace]) -> dict[str, str]:
    """Return, for each file that was continued elsewhere, the newest intact file of its home that continues it."""
    found: dict[str, str] = {}
    for older in traces.values():
        if not older.is_session_file:
            continue
        newer = [trace for trace in traces.values() if not trace.is_broken and _continues(trace, older)]
        # Of a log and a flat file that both continue an old store, one continues the other.
        last = [one for one in newer if not any(_continues(two, one) for two in newer)]
        if last:
            found[older.name] = last[0].name
    return found


def _continues(newer: Trace, older: Trace) -> bool:
    return newer is not older and is_newer(newer.place, newer.last_at, older.place, older.last_at)


def _replaced_request_id(view: View) -> str | None:
    """Return the id of the request that this one replaces."""
    mark = (view.turn.extra or {}).get("shouldBeRemovedOnSend")
    name = mark.get("requestId") if isinstance(mark, dict) else None
    return name if isinstance(name, str) and name != view.turn.request_id else None


def _recorded(view: View, group: Group, newest: dict[str, str]) -> str | None:
    """Return the removal that a turn itself records, unless a newer file of the folder has the turn without it."""
    reason = view.turn.superseded
    if reason is None or (reason in CONCLUDED and not _is_sticky(view)):
        return None
    successors = {newest[name] for name in view.names if name in newest}
    for other in group.views:
        is_sound = other is not view and other.turn.superseded is None
        if is_sound and not successors.isdisjoint(other.names):
            return None
    return reason


def _is_sticky(view: View) -> bool:
    """Return whether a conclusion cannot be drawn again, because its evidence no longer exists."""
    own = {name_of(place) for place in view.conversation.provenance if place.role == EARLIER}
    return view.turn.superseded == "rewound" or not own.isdisjoint(view.names)


def _rewound(order: list[Group], traces: dict[str, Trace]) -> list[Group]:
    """Return the turns that a log of Copilot CLI lacks where it records that the conversation was rewound."""
    found: list[Group] = []
    for conversation in {id(view.conversation): view.conversation for group in order for view in group.views}.values():
        for name, turn in _rewinds(conversation, traces):
            log = sequence_of(order, name)
            kept = [group for group in log if _index_in(group, conversation) <= turn]
            later = [group for group in log if _index_in(group, conversation) > turn]
            start = order.index(kept[-1]) + 1 if kept else 0
            end = order.index(later[0]) if later else len(order)
            found += [group for group in order[start:end] if name not in group.names]
    return found


def _rewinds(conversation: Conversation, traces: dict[str, Trace]) -> list[tuple[str, int]]:
    """Return the rewinds that a log records: the log's name, and the index of the last turn that it kept."""
    logs = [trace.name for trace in traces.values() if trace.place.source in CLI_LOGS]
    own = [name for name in logs if any(name in names_of(conversation, turn.traces) for turn in conversation.turns)]
    if len(own) != 1:
        return []
    found: list[tuple[str, int]] = []
    last = -1
    for message in conversation.messages:
        if message.role != "system" and message.turn is not None:  # notices before a prompt belong to its turn
            last = message.turn
        if any(_is_rewind(part) for part in message.parts):
            found.append((own[0], last))
    return found


def emptied_at(conversations: list[Conversation]) -> datetime | None:
    """Return when a log of Copilot CLI, which has no turn any more, was rewound to its beginning; None if none was."""
    times = (
        message.created_at
        for conversation in conversations
        if conversation.source in CLI_LOGS and not _has_own_turns(conversation)
        for message in conversation.messages
        if message.created_at is not None and any(_is_rewind(part) for part in message.parts)
    )
    return max(times, default=None)


def _has_own_turns(conversation: Conversation) -> bool:
    own = own_name(conversation)
    return any(own in names_of(conversation, turn.traces) for turn in conversation.turns)


def _is_rewind(part: AnyPart) -> bool:
    return type(part) is Notice and (part.topic == REWIND or (part.data or {}).get("infoType") == REWIND)


def _index_in(group: Group, conversation: Conversation) -> int:
    return min(view.turn.index for view in group.views if view.conversation is conversation)
