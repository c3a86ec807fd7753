"""Models, agents and skills behind a number: who answered, and where one gave way to another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from copilog.analysis.agents import CALLS, CUSTOM_TURNS, DEFAULT, PARTICIPANT_TURNS, RUNS, STEPS
from copilog.analysis.behind.found import CHOSEN_TURNS, Found, one_of
from copilog.analysis.models import with_model_before
from copilog.analysis.selection import Chosen
from copilog.analysis.skills import LOADED, OFFERS
from copilog.derive.model_names import ROUTERS, key_of
from copilog.errors import UsageError
from copilog.store.schema import MESSAGE_BITS

# --- models ---------------------------------------------------------------------------------------------------------


class _Turn(NamedTuple):
    conversation: int
    number: int
    asked: str  # as `key_of` has it; empty: not recorded
    answered: str
    has_failed: bool
    leaves_from: int | None  # of a branch
    trace: str | None  # of a branch

    @property
    def model(self) -> str:
        return self.answered or self.asked


def _turns(chosen: Chosen) -> Iterator[_Turn]:
    """The chosen turns, conversation by conversation, in their order."""
    rows = chosen.connection.execute(
        "SELECT c.conversation, c.turn, coalesce(t.model, ''), coalesce(t.resolved_model, ''), t.status IS 'failed',"  # noqa: S608
        f" t.branch_from, t.branch_trace FROM {CHOSEN_TURNS} ORDER BY c.conversation, c.turn"
    )
    for conversation, number, asked, answered, has_failed, *branch in rows:
        yield _Turn(conversation, number, key_of(asked), key_of(answered), bool(has_failed), *branch)


def with_model(chosen: Chosen, name: str) -> Found:
    wanted = key_of(name)
    return ((turn.conversation, turn.number, 1) for turn in _turns(chosen) if wanted and turn.model == wanted)


def failed_with_model(chosen: Chosen, name: str) -> Found:
    wanted = key_of(name)
    failed = (turn for turn in _turns(chosen) if turn.has_failed)
    return ((turn.conversation, turn.number, 1) for turn in failed if wanted and turn.model == wanted)


def without_model(chosen: Chosen) -> Found:
    return ((turn.conversation, turn.number, 1) for turn in _turns(chosen) if not turn.model)


def switches(chosen: Chosen, *names: str) -> Found:
    """Turns with another model than the one before, from this one to that, or all of them."""
    if len(names) == 1:
        raise UsageError("a switch is from one model to another")
    wanted = [key_of(name) for name in names]
    for turn, before in with_model_before(_turns(chosen)):
        if before and turn.model != before and wanted in ([], [before, turn.model]):
            yield turn.conversation, turn.number, 1


def conflicts(chosen: Chosen, asked: str, answered: str) -> Found:
    """Turns in which one model was asked for and another one answered."""
    wanted, other = key_of(asked), key_of(answered)
    if not wanted or wanted in ROUTERS or wanted == other:
        return
    turns = {(turn.conversation, turn.number): turn for turn in _turns(chosen) if turn.asked == wanted}
    places = {place for place, turn in turns.items() if turn.answered == other}
    if other not in ROUTERS:
        for conversation, number, model in _models_of_messages(chosen):
            if (conversation, number) in turns and key_of(model) == other:
                places.add((conversation, number))
    for conversation, number in sorted(places):
        yield conversation, number, 1


def _models_of_messages(chosen: Chosen) -> Iterator[tuple[int, int, str]]:
    """Conversation, turn and model of answers, those of sub-agents aside.

    The signs keep SQLite from making an index of its own by role.
    """
    return chosen.connection.execute(
        f"""
        SELECT DISTINCT m.conversation, m.turn, m.model
        FROM temp.chosen AS c CROSS JOIN message AS m
          ON m.rowid >= c.conversation << {MESSAGE_BITS} AND m.rowid < c.conversation + 1 << {MESSAGE_BITS}
        WHERE +m.role = 'assistant' AND +m.model IS NOT NULL AND +m.parent_call_id IS NULL AND m.turn IS NOT NULL
        """  # noqa: S608 - a number of our own
    )


# --- agents ---------------------------------------------------------------------------------------------------------

_OF_KIND = {"custom": CUSTOM_TURNS, "participant": PARTICIPANT_TURNS, "subagent": RUNS}

_SWITCHES = f"""
    {STEPS}
    SELECT s.before, s.name, s.conversation, s.position, 1
    FROM steps AS s JOIN temp.chosen_turn AS c ON c.conversation = s.conversation AND c.turn = s.position
    WHERE s.before IS NOT NULL AND s.before <> s.name
"""  # noqa: S608
_STARTS = f"""
    {CALLS}
    SELECT coalesce(inside, custom, '{DEFAULT}'), starts, conversation, NULL, count(*)
    FROM calls WHERE starts IS NOT NULL GROUP BY 1, 2, 3
"""  # noqa: S608


def with_agent(chosen: Chosen, kind: str, name: str) -> Found:
    """Turns of an agent, or runs of a sub-agent."""
    for conversation, times, _ in _of_agent(chosen, kind, name):
        yield conversation, None, times


def failed_with_agent(chosen: Chosen, kind: str, name: str) -> Found:
    for conversation, _, failed in _of_agent(chosen, kind, name):
        if failed:
            yield conversation, None, failed


def _of_agent(chosen: Chosen, kind: str, name: str) -> Iterator[tuple[int, int, int]]:
    """Conversation, turns or runs, and those that failed."""
    wanted = name.casefold()
    rows = chosen.connection.execute(_OF_KIND[one_of(kind, _OF_KIND)])
    for found, conversation, _, times, failed, _ in rows:
        if found.casefold() == wanted:
            yield conversation, times, failed


def handovers(chosen: Chosen, kind: str, before: str, after: str) -> Found:
    wanted = before.casefold(), after.casefold()
    is_switch = one_of(kind, ("switch", "subagent")) == "switch"
    if is_switch and wanted[0] == wanted[1]:
        return
    for one, other, conversation, turn, times in chosen.connection.execute(_SWITCHES if is_switch else _STARTS):
        if (one.casefold(), other.casefold()) == wanted:
            yield conversation, turn, times


# --- skills ---------------------------------------------------------------------------------------------------------


def loaded(chosen: Chosen, name: str) -> Found:
    wanted = name.casefold()
    for found, _, conversation, _, turns, _ in chosen.connection.execute(LOADED):
        if found.casefold() == wanted:
            yield conversation, None, turns


def offered(chosen: Chosen, name: str) -> Found:
    """Turns in which it was there to be had; of those that loaded it, the evidence tells."""
    wanted = name.casefold()
    rows = chosen.connection.execute(
        "SELECT s.name, s.conversation, s.turn, s.is_loaded, s.evidence"
        " FROM temp.chosen_turn AS c JOIN skill AS s ON s.conversation = c.conversation AND s.turn = c.turn"
    )
    for found, conversation, turn, is_loaded, evidence in rows:
        is_offered = not is_loaded or not OFFERS.isdisjoint((evidence or "").split("; "))
        if is_offered and found.casefold() == wanted:
            yield conversation, turn, 1
