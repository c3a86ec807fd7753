"""Models: which of them answered, how fast, where conversations changed them, and where another one answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol, TypeVar

from copilog.analysis.figures import ConflictRow, ModelRow, ModelsSection, SwitchRow
from copilog.analysis.model_names import ModelNames
from copilog.analysis.numbers import percentile
from copilog.analysis.selection import Chosen
from copilog.derive.model_names import ROUTERS
from copilog.store.schema import MESSAGE_BITS


class _Turn(NamedTuple):
    conversation: int
    number: int
    asked: str  # as `key_of` has it, as are all names below; empty: not recorded
    answered: str
    has_failed: bool
    working_ms: float | None
    first_progress_ms: float | None
    leaves_from: int | None  # of a branch
    trace: str | None  # of a branch

    @property
    def model(self) -> str:
        return self.answered or self.asked


def models(chosen: Chosen, *, limit: int | None = 20) -> ModelsSection:
    """Shares, speed, switches and conflicts of models."""
    names = ModelNames()
    turns = list(_turns(chosen, names))
    conflicts = Counter(_conflicts(chosen, turns, names))
    switches, conversations = _switches(turns)
    shown = names.shown
    return ModelsSection(
        models=_model_rows(turns, shown)[:limit],
        switches=[
            SwitchRow(before=before, after=after, times=times)
            for before, after, times in _ranked(switches, shown)[:limit]
        ],
        switching_conversations=conversations,
        conflicts=[
            ConflictRow(asked=asked, answered=answered, times=times)
            for asked, answered, times in _ranked(conflicts, shown)[:limit]
        ],
        unknown_turns=sum(not turn.model for turn in turns),
    )


# --- turns ----------------------------------------------------------------------------------------------------------


def _turns(chosen: Chosen, names: ModelNames) -> Iterator[_Turn]:
    """The chosen turns, conversation by conversation, in their order."""
    rows = chosen.connection.execute(
        """
        SELECT t.conversation, t.position, t.model, t.resolved_model,
               t.status IS 'failed', t.working_ms, t.first_progress_ms, t.branch_from, t.branch_trace
        FROM temp.chosen_turn AS c JOIN turn AS t ON t.conversation = c.conversation AND t.position = c.turn
        ORDER BY c.conversation, c.turn
        """
    )
    for conversation, number, asked, resolved, has_failed, *rest in rows:
        models = names.key_of(asked), names.key_of(resolved)
        yield _Turn(conversation, number, *models, bool(has_failed), *rest)


def _model_rows(turns: list[_Turn], shown: Callable[[str], str]) -> list[ModelRow]:
    by_model: dict[str, list[_Turn]] = {}
    for turn in turns:
        if turn.model:
            by_model.setdefault(turn.model, []).append(turn)
    known = sum(map(len, by_model.values()))
    rows = [_model_row(shown(model), group, known) for model, group in by_model.items()]
    return sorted(rows, key=lambda row: (-row.turns, row.name))


def _model_row(name: str, turns: list[_Turn], known: int) -> ModelRow:
    worked = sorted(turn.working_ms for turn in turns if turn.working_ms is not None)
    first = sorted(turn.first_progress_ms for turn in turns if turn.first_progress_ms is not None)
    return ModelRow(
        name=name,
        turns=len(turns),
        share=len(turns) / known,
        conversations=len({turn.conversation for turn in turns}),
        failed=sum(turn.has_failed for turn in turns),
        median_ms=percentile(worked, 0.5),
        p95_ms=percentile(worked, 0.95),
        first_median_ms=percentile(first, 0.5),
        first_p95_ms=percentile(first, 0.95),
    )


# --- switches and conflicts -----------------------------------------------------------------------------------------


def _switches(turns: Iterable[_Turn]) -> tuple[Counter[tuple[str, str]], int]:
    """From which model to which the turns of a conversation went, and how many conversations did.

    Turns of which we do not know the model are passed over, and so are those that a router gave to nobody knows whom.
    """
    switches: Counter[tuple[str, str]] = Counter()
    conversations: set[int] = set()
    for turn, before in with_model_before(turns):
        if before and turn.model != before:
            switches[before, turn.model] += 1
            conversations.add(turn.conversation)
    return switches, len(conversations)


class InConversation(Protocol):
    """What a turn must say so that the model before it can be found."""

    @property
    def conversation(self) -> int: ...
    @property
    def number(self) -> int: ...
    @property
    def leaves_from(self) -> int | None: ...
    @property
    def trace(self) -> str | None: ...
    @property
    def model(self) -> str: ...


AnyTurn = TypeVar("AnyTurn", bound=InConversation)


def with_model_before(turns: Iterable[AnyTurn]) -> Iterator[tuple[AnyTurn, str]]:
    """Yield the turns whose model is known, each with the model before it; before a branch is where it leaves."""
    conversation = -1
    last: dict[tuple[int | None, str | None], str] = {}  # of the trunk and of each branch
    known: dict[int, str] = {}  # up to a turn
    for turn in turns:
        if turn.conversation != conversation:
            conversation, last, known = turn.conversation, {}, {}
        line = turn.leaves_from, turn.trace
        before = last.get(line) or ""
        if not before and turn.leaves_from is not None:
            before = next((known[number] for number in range(turn.leaves_from, -1, -1) if number in known), "")
        model = turn.model if turn.model not in ROUTERS else ""
        known[turn.number] = last[line] = model or before
        if model:
            yield turn, before


def _conflicts(chosen: Chosen, turns: list[_Turn], names: ModelNames) -> Iterator[tuple[str, str]]:
    """The model that was asked for and another one that answered, once for every turn."""
    asked: dict[tuple[int, int], str] = {}
    answered: dict[tuple[int, int], set[str]] = {}
    for turn in turns:
        if turn.asked and turn.asked not in ROUTERS:
            place = turn.conversation, turn.number
            asked[place] = turn.asked
            if turn.answered and turn.answered != turn.asked:
                answered[place] = {turn.answered}
    for conversation, number, name in _models_of_messages(chosen):
        place = conversation, number
        model = names.key_of(name)
        if place in asked and model and model not in ROUTERS and model != asked[place]:
            answered.setdefault(place, set()).add(model)
    for place, others in answered.items():
        for model in others:
            yield asked[place], model


def _models_of_messages(chosen: Chosen) -> Iterator[tuple[int, int, str]]:
    """Conversation, turn and model of answers, those of sub-agents aside: they may well run on another model.

    The signs keep SQLite from making an index of its own by role, with which it would go through all messages for each
    conversation.
    """
    return chosen.connection.execute(
        f"""
        SELECT DISTINCT m.conversation, m.turn, m.model
        FROM temp.chosen AS c CROSS JOIN message AS m
          ON m.rowid >= c.conversation << {MESSAGE_BITS} AND m.rowid < c.conversation + 1 << {MESSAGE_BITS}
        WHERE +m.role = 'assistant' AND +m.model IS NOT NULL AND +m.parent_call_id IS NULL AND m.turn IS NOT NULL
        """  # noqa: S608 - a number of our own
    )


def _ranked(pairs: Counter[tuple[str, str]], shown: Callable[[str], str]) -> list[tuple[str, str, int]]:
    """Pairs of names and how often they occurred, most often first."""
    rows = [(shown(one), shown(other), times) for (one, other), times in pairs.items()]
    return sorted(rows, key=lambda row: (-row[2], row[0], row[1]))
