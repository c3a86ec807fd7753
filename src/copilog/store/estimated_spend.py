"""Estimate the tokens of one conversation that were not recorded, by replaying its calls of a model.

A conversation is stored by itself, so the parameters are the defaults at first; `calibrating` replaces them with those
of the user. What this conversation records of its own prompts goes first: the size of instructions and tools from the
CLI, the prompt of a turn's last call from VS Code.
"""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

import msgspec

from copilog.derive.estimating import (
    DEFAULTS,
    FRAME_TOKENS,
    KEPT,
    STORED,
    TEXT,
    Calibration,
    Range,
    Tokens,
    counted_fixed_parts,
    family_part,
    fixed_part,
    input_of,
    tokens_of,
    written_part,
)
from copilog.derive.replayed_calls import Kind, Replays
from copilog.model import Conversation
from copilog.store.message_counts import Slot

COUNTED_ELSEWHERE = 1.1  # tools and instructions may have been more, or fewer, in turns without a count


class ReplayedCalls(msgspec.Struct, array_like=True, frozen=True):
    """The calls of an agent in a turn, as a row of `spend` stores them: sizes are rough tokens, as in `Replay`."""

    kind: Kind
    model: str | None
    calls: int
    acting: int
    context: float
    last_context: float
    kept_calls: int
    kept_context: float
    written: float
    last_prompt: int | None  # as recorded
    counted: tuple[float, float, float] | None  # the fixed part, as the conversation records it

    def encoded(self) -> str:
        return msgspec.json.encode(self).decode()


class Estimated(NamedTuple):
    """The tokens of an agent in a turn. `input` and `output` are ranges around the likely tokens."""

    likely: Tokens
    input: Range
    output: Range

    def numbers(self) -> tuple[int, ...]:
        """Return input, cache reads, the ends of the input, output, the ends of the output."""
        given, answered = self.input, self.output
        ends = (self.likely.input, self.likely.cached, given.low, given.high, self.likely.output, *answered[::2])
        return tuple(map(round, ends))


def replayed_calls(conversation: Conversation, replays: Replays) -> dict[Slot, ReplayedCalls]:
    """Return the calls of each agent in each turn."""
    counted = counted_fixed_parts(conversation)
    own = (min(counted) / COUNTED_ELSEWHERE, median(counted), max(counted) * COUNTED_ELSEWHERE) if counted else None
    prompts = {
        turn.index: max(usage.last_prompt or 0 for usage in turn.usage) for turn in conversation.turns if turn.usage
    }
    return {
        Slot(one.turn, one.parent): ReplayedCalls(
            kind=one.kind,
            model=one.model,
            calls=one.calls,
            acting=one.acting,
            context=round(one.context, 1),
            last_context=round(one.last_context, 1),
            kept_calls=one.kept_calls,
            kept_context=round(one.kept_context, 1),
            written=round(one.written, 1),
            last_prompt=(prompts.get(one.turn) or None) if one.parent is None else None,
            counted=own if one.kind == "cli" else None,
        )
        for one in replays.all
    }


def estimate_of(calls: ReplayedCalls, calibration: Calibration = DEFAULTS) -> Estimated:
    """Return the tokens of these calls: at least, likely, at most."""
    names = fixed, family, written = fixed_part(calls.kind), family_part(calls.model), written_part(calls.kind)
    used = {name: calibration[name] for name in (*names, TEXT, KEPT, STORED)}
    if calls.counted is not None:
        used[fixed] = Range(*calls.counted)
    likely = tokens_of(calls, {name: parameter.likely for name, parameter in used.items()}, calls.last_prompt)
    given = input_of(calls, used[fixed], used[TEXT], used[family], calls.last_prompt)
    answered = Range(*(FRAME_TOKENS * calls.acting + end * calls.written for end in used[written]))
    return Estimated(likely, given, answered)
