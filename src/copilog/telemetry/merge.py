"""Which snapshot wins, and what the others add to it (R-16 to R-19 as far as they need no text, R-23 to R-31).

Pure functions over evidence: a `Plan` has all steps for a conversation, and the records that they need.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from copilog.telemetry.collect import Reading
from copilog.telemetry.events import Place, Seq
from copilog.telemetry.evidence import Closing, Closings, Evidence, Snapshot
from copilog.telemetry.facts import Facts, same_model

ENGINE, ENGINE_REQUEST, SESSION = "engine", "engine-request", "interactiveSession"


class Plan(msgspec.Struct):
    """One conversation of the output: the winner, and what its messages get from others."""

    key: str
    first_seen: Seq
    winner: Snapshot
    modes: dict[int, str] = {}  # by message
    models: dict[int, tuple[str, str]] = {}  # model and its origin, by message
    conflicts: set[int] = set()
    tool_donors: dict[int, list[Snapshot]] = {}  # donors of tool metadata that the winner's message lacks
    closing: Closing | None = None
    closing_conflicts: bool = False
    is_unguarded: bool = False  # tool metadata is used whatever the texts are (--compat)
    contexts: dict[str, Place] = {}


def plans(evidence: Evidence, reading: Reading, *, merge_tools: bool) -> list[Plan]:
    """Return all conversations, in the order in which they first appear (R-31)."""
    found = [
        plan_of(key, list(snapshots.values()), evidence, reading, merge_tools=merge_tools)
        for key, snapshots in evidence.snapshots.items()
    ]
    found.sort(key=lambda plan: plan.first_seen)
    return found


def plan_of(key: str, snapshots: list[Snapshot], evidence: Evidence, reading: Reading, *, merge_tools: bool) -> Plan:
    snapshots.sort(key=lambda snapshot: snapshot.seq)
    winner = max(snapshots, key=_rank)
    contexts = evidence.contexts.get(winner.conversation, {})
    plan = Plan(key, snapshots[0].seq, winner, contexts=contexts, is_unguarded=reading.compat)
    facts = evidence.facts
    session = _session_model(winner, facts, reading)
    plan.modes = modes_of(winner, facts, reading)
    plan.models = _models_of(winner, session)
    if _is_conflict(session, winner.model):
        plan.conflicts.add(len(winner.letters) - 1)
    donors = [snapshot for snapshot in snapshots if snapshot is not winner]
    _fill_modes(plan, donors, facts, reading)
    _fill_models(plan, donors, facts, reading)
    if merge_tools and reading.correlate:
        plan.tool_donors = _tool_donors(winner, donors)
    if not reading.compat:
        _close(plan, evidence.closings.get(key), facts, reading)
    return plan


def _rank(snapshot: Snapshot) -> tuple[int, int, int, int]:
    """Rank by most messages, then the latest, then the first in the stream (R-23)."""
    return len(snapshot.letters), snapshot.instant, -snapshot.file, -snapshot.offset


# --- what facts add to a snapshot's messages --------------------------------------------------------------------


def modes_of(snapshot: Snapshot, facts: Facts, reading: Reading) -> dict[int, str]:
    """Return the modes of its user messages: of the last one by the request, of the rest by turn numbers (R-16)."""
    scope = reading.scope(snapshot.file)
    of_request = facts.mode_of(scope, snapshot.request_id, snapshot.message_id)
    by_turn = {} if snapshot.is_subagent else facts.turn_modes(scope, snapshot.conversation)
    if of_request is None and not by_turn:
        return {}
    positions = turns_of(snapshot.letters, plainly=reading.compat)
    modes = {position: by_turn[turn].value for turn, position in enumerate(positions) if turn in by_turn}
    if of_request is not None and positions:
        modes[positions[-1]] = of_request
    return modes


def turns_of(letters: str, *, plainly: bool) -> list[int]:
    """Return where the user's turns begin. Messages that Copilot wrote only count if there are no others."""
    if plainly:
        return [position for position, letter in enumerate(letters) if letter in "uU"]
    wanted = "u" if "u" in letters else "U"
    return [position for position, letter in enumerate(letters) if letter == wanted]


def _session_model(snapshot: Snapshot, facts: Facts, reading: Reading) -> str | None:
    scope = reading.scope(snapshot.file)
    return facts.session_model(scope, snapshot.conversation, snapshot.request_id, snapshot.message_id)


def _models_of(snapshot: Snapshot, session: str | None) -> dict[int, tuple[str, str]]:
    last = len(snapshot.letters) - 1
    models: dict[int, tuple[str, str]] = {}
    if session is not None:
        models = {
            position: (session, SESSION) for position, letter in enumerate(snapshot.letters[:last]) if letter in "uUaA"
        }
    if snapshot.model is not None:
        models[last] = (snapshot.model, _source_of(snapshot))
    return models


def _source_of(snapshot: Snapshot) -> str:
    return ENGINE if snapshot.is_base_model else ENGINE_REQUEST


def _is_conflict(session: str | None, engine: str | None) -> bool:
    return session is not None and engine is not None and not same_model(session, engine)


# --- what other snapshots add -----------------------------------------------------------------------------------


def _fill_modes(plan: Plan, donors: Iterable[Snapshot], facts: Facts, reading: Reading) -> None:
    letters = plan.winner.letters
    lacking = {position for position, letter in enumerate(letters) if letter in "uU" and position not in plan.modes}
    for donor in donors:
        if not lacking:
            return
        modes = modes_of(donor, facts, reading)
        for position in lacking & modes.keys():  # both are user messages: the roles agree
            plan.modes[position] = modes[position]
            lacking.discard(position)


def _fill_models(plan: Plan, donors: Iterable[Snapshot], facts: Facts, reading: Reading) -> None:
    """Fill in models, with their origins and conflicts: the first donor with a model counts (R-25, R-26)."""
    winner = plan.winner
    roles = winner.letters.lower()
    lacking = {position for position, role in enumerate(roles) if role in "ua" and position not in plan.models}
    for donor in donors:
        session = _session_model(donor, facts, reading)
        last = len(donor.letters) - 1
        if session is not None and lacking:
            donor_roles = donor.letters.lower()
            for position in [p for p in lacking if p < last and donor_roles[p] == roles[p]]:
                plan.models[position] = (session, SESSION)
                lacking.discard(position)
        if donor.model is not None and _same_role(winner, donor, last):
            if last not in plan.models:
                plan.models[last] = (donor.model, _source_of(donor))
                lacking.discard(last)
            if _is_conflict(session, donor.model):
                plan.conflicts.add(last)


def _same_role(winner: Snapshot, donor: Snapshot, position: int) -> bool:
    left, right = winner.letters[position].lower(), donor.letters[position].lower()
    return left == right and (left != "o" or _other_role(winner, position) == _other_role(donor, position))


def _other_role(snapshot: Snapshot, position: int) -> str:
    return snapshot.others[snapshot.letters.count("o", 0, position)]


def _tool_donors(winner: Snapshot, donors: Iterable[Snapshot]) -> dict[int, list[Snapshot]]:
    """Return the donors of tool metadata for each message; whether it fits depends on their texts (R-27, R-28)."""
    lacking = [(position, letter.upper()) for position, letter in enumerate(winner.letters) if letter in "at"]
    found: dict[int, list[Snapshot]] = {}
    for donor in donors:
        letters = donor.letters
        length = len(letters)
        for position, wanted in lacking:
            if position >= length:
                break
            if letters[position] == wanted:
                found.setdefault(position, []).append(donor)
    return found


def _close(plan: Plan, closings: Closings | None, facts: Facts, reading: Reading) -> None:
    """Find the answer that the winner cannot hold, as it has only what was sent (R-30)."""
    winner = plan.winner
    if closings is None or winner.letters[-1] in "aA":
        return
    closing = closings.by_call.get(winner.call_id) if winner.call_id is not None else None
    if closing is None and winner.request_id is not None:
        closing = closings.by_request.get(winner.request_id)
        if closing is not None and closing.instant < winner.instant:
            closing = None
    if closing is None:
        return
    plan.closing = closing
    session = facts.session_model(
        reading.scope(closing.place[0]), winner.conversation, closing.request_id, closing.message_id
    )
    plan.closing_conflicts = _is_conflict(session, closing.model)
