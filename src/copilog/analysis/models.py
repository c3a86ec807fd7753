"""Models: which of them answered, how fast, where conversations changed them, and where another one answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from copilog.analysis.figures import ConflictRow, ModelRow, ModelsSection, SwitchRow
from copilog.analysis.model_names import ModelNames
from copilog.analysis.numbers import percentile
from copilog.analysis.selection import Chosen
from copilog.store.schema import MESSAGE_BITS

ROUTERS = frozenset({"auto", "copilot-auto", "default"})  # names that ask for whichever model suits


class _Turn(NamedTuple):
    conversation: int
    number: int
    asked: str  # as `key_of` has it, as are all names below; empty: not recorded
    answered: str
    has_failed: bool
    elapsed_ms: float | None
    first_progress_ms: float | None

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
               t.status IS 'failed', t.elapsed_ms, t.first_progress_ms
        FROM temp.chosen_turn AS c JOIN turn AS t ON t.conversation = c.conversation AND t.position = c.turn
        ORDER BY c.conversation, c.turn
        """
    )
    for conversation, number, asked, resolved, has_failed, elapsed_ms, first_ms in rows:
        models = names.key_of(asked), names.key_of(resolved)
        yield _Turn(conversation, number, *models, bool(has_failed), elapsed_ms, first_ms)


def _model_rows(turns: list[_Turn], shown: Callable[[str], str]) -> list[ModelRow]:
    by_model: dict[str, list[_Turn]] = {}
    for turn in turns:
        if turn.model:
            by_model.setdefault(turn.model, []).append(turn)
    known = sum(map(len, by_model.values()))
    rows = [_model_row(shown(model), group, known) for model, group in by_model.items()]
    return sorted(rows, key=lambda row: (-row.turns, row.name))


def _model_row(name: str, turns: list[_Turn], known: int) -> ModelRow:
    elapsed = sorted(turn.elapsed_ms for turn in turns if turn.elapsed_ms is not None)
    first = sorted(turn.first_progress_ms for turn in turns if turn.first_progress_ms is not None)
    return ModelRow(
        name=name,
        turns=len(turns),
        share=len(turns) / known,
        conversations=len({turn.conversation for turn in turns}),
        failed=sum(turn.has_failed for turn in turns),
        median_ms=percentile(elapsed, 0.5),
        p95_ms=percentile(elapsed, 0.95),
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
    last: tuple[int, str] = (-1, "")
    for turn in turns:
        model = turn.model
        if not model or model in ROUTERS:
            continue
        if turn.conversation == last[0] and model != last[1]:
            switches[last[1], model] += 1
            conversations.add(turn.conversation)
        last = turn.conversation, model
    return switches, len(conversations)


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
