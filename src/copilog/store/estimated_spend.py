"""Estimate the tokens of one conversation that were not recorded, by replaying its calls of a model.

A conversation is stored by itself, so the parameters are the defaults. What this conversation records of its own
prompts replaces them: the size of instructions and tools from the CLI, the prompt of a turn's last call from VS Code.
"""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

from copilog.derive.estimating import (
    DEFAULTS,
    FRAME_TOKENS,
    TEXT,
    Calibration,
    Range,
    Tokens,
    counted_fixed_parts,
    family_part,
    fixed_part,
    parameters_of,
    range_of,
    tokens_of,
    written_part,
)
from copilog.derive.replayed_calls import Replay, replayed
from copilog.model import Conversation
from copilog.store.message_counts import Slot

COUNTED_ELSEWHERE = 1.1  # tools and instructions may have been more, or fewer, in turns without a count


class Estimated(NamedTuple):
    """The tokens of an agent in a turn."""

    likely: Tokens
    input_at_least: float
    output_at_least: float


def estimated_tokens(conversation: Conversation) -> dict[Slot, Estimated]:
    """Return the tokens of each agent in each turn, likely and at least."""
    calibration: Calibration = DEFAULTS
    counted = counted_fixed_parts(conversation)
    if counted:
        own = Range(min(counted) / COUNTED_ELSEWHERE, median(counted), max(counted) * COUNTED_ELSEWHERE)
        calibration = DEFAULTS | {fixed_part("cli"): own}
    prompts = {
        turn.index: max(usage.last_prompt or 0 for usage in turn.usage) for turn in conversation.turns if turn.usage
    }
    found = {}
    for replay in replayed(conversation):
        last_prompt = prompts.get(replay.turn) if replay.parent is None else None
        found[Slot(replay.turn, replay.parent)] = _estimated(replay, calibration, last_prompt or None)
    return found


def _estimated(replay: Replay, calibration: Calibration, last_prompt: int | None) -> Estimated:
    used = {name: calibration[name] for name in parameters_of([replay])}
    of_input = (fixed_part(replay.kind), TEXT, family_part(replay.model))
    given = range_of(used, of_input, lambda values: tokens_of(replay, values, last_prompt).input)
    likely = tokens_of(replay, {name: parameter.likely for name, parameter in used.items()}, last_prompt)
    least_output = FRAME_TOKENS * replay.acting + used[written_part(replay.kind)].low * replay.written
    return Estimated(likely, given.low, least_output)
