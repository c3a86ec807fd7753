"""Estimate tokens that no file records, with a range, from the calls that a conversation shows.

Each number is a sum of a few terms, and each term has a parameter: the length of the fixed part of a prompt, the tokens
of a rough token of text, the factor of a family of models, the tokens of an answer for each rough token that is visible
of it (reasoning is billed and hidden), the share of a repeated prompt that came from a cache, and the share of the rest
that was written to one. A parameter is a range, measured on data that records tokens.

The likely number is computed from the likely values. For its range, each parameter is set to its two ends in turn;
the deviations are treated as independent, so their squares are added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

import msgspec

from copilog.derive.replayed_calls import Kind, Replay
from copilog.model import Conversation, Notice

FRAME_TOKENS = 40  # of output, in each call of a model that calls tools: the syntax around their arguments
COUNTED_BY_CLI = ("systemTokens", "toolDefinitionsTokens")


class Range(NamedTuple):
    """An estimated number: at least, likely, at most."""

    low: float
    likely: float
    high: float


Calibration = Mapping[str, Range]  # by the names that the functions below make
Values = Mapping[str, float]

TEXT, KEPT, STORED = "text", "kept in cache", "written to cache"


def fixed_part(kind: Kind) -> str:
    """Name the parameter: tokens of system prompt and tool definitions in each prompt."""
    return f"fixed part, {kind}"


def written_part(kind: Kind) -> str:
    """Name the parameter: tokens of output for each rough token of it that is visible."""
    return f"output, {kind}"


def family_of(model: str | None) -> str:
    """Return the family of a model: models of a family count the tokens of a text alike."""
    name = (model or "").lower()
    if "claude" in name:
        return "claude"
    return "unknown" if not name or name.rpartition("/")[2] == "auto" else "other"


def family_part(model: str | None) -> str:
    """Name the parameter: tokens that the model counts for one of GPT's."""
    return f"tokenizer, {family_of(model)}"


# Assumptions without any measurement. The fixed parts are those of programs without MCP servers and instructions of the
# user (Copilot CLI 1.0.20 to 1.0.102, VS Code 1.139), the rest are rules of thumb.
PRIOR: dict[str, Range] = {
    fixed_part("cli"): Range(11_000, 13_000, 60_000),
    fixed_part("agent"): Range(9_000, 17_000, 40_000),
    fixed_part("chat"): Range(500, 2_500, 8_000),
    TEXT: Range(0.85, 1.15, 1.6),
    family_part("gpt-5"): Range(0.95, 1.0, 1.05),
    family_part("claude"): Range(1.1, 1.25, 1.45),
    family_part("auto"): Range(1.0, 1.1, 1.35),
    written_part("cli"): Range(0.9, 1.3, 2.2),
    written_part("agent"): Range(0.7, 1.1, 2.2),
    written_part("chat"): Range(0.7, 1.1, 2.2),
    KEPT: Range(0.6, 0.95, 1.0),
    STORED: Range(0.0, 0.0, 1.0),
}

# Measured on sessions of several users, and used until a user's own data has values: the output of
# `benchmarks/bench_estimates.py --parameters`, rounded.
DEFAULTS: dict[str, Range] = PRIOR | {
    fixed_part("cli"): Range(14_000, 21_000, 64_000),
    family_part("claude"): Range(0.93, 1.25, 1.69),
    written_part("cli"): Range(1.09, 1.42, 1.85),
    KEPT: Range(0.85, 0.97, 1.0),
}


class Sizes(Protocol):
    """The calls of one agent in one turn, in rough tokens: a `Replay`, or what is stored of one."""

    @property
    def kind(self) -> Kind: ...
    @property
    def model(self) -> str | None: ...
    @property
    def calls(self) -> int: ...
    @property
    def acting(self) -> int: ...
    @property
    def context(self) -> float: ...
    @property
    def last_context(self) -> float: ...
    @property
    def kept_calls(self) -> int: ...
    @property
    def kept_context(self) -> float: ...
    @property
    def written(self) -> float: ...


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of some calls. Of `input`, `cached` was read from a cache, and `stored` was written to it."""

    input: float = 0.0
    cached: float = 0.0
    stored: float = 0.0
    output: float = 0.0


def tokens_of(replay: Sizes, values: Values, last_prompt: int | None = None) -> Tokens:
    """Return the tokens of the calls of one agent in one turn. `last_prompt`: the recorded prompt of the last call."""
    family = values[family_part(replay.model)]
    fixed, text = _fitted(replay, family * values[fixed_part(replay.kind)], family * values[TEXT], last_prompt)
    prompts = fixed * replay.calls + text * replay.context
    kept = values[KEPT] * (fixed * replay.kept_calls + text * replay.kept_context)
    written = FRAME_TOKENS * replay.acting + values[written_part(replay.kind)] * replay.written
    cached = min(kept, prompts)
    return Tokens(input=prompts, cached=cached, stored=values[STORED] * (prompts - cached), output=written)


def input_of(replay: Sizes, fixed: Range, text: Range, family: Range, last_prompt: int | None = None) -> Range:
    """Return the input of `tokens_of` with its range from these parameters, as `range_of` does, only faster."""

    def measure(fixed: float, text: float, family: float) -> float:
        fixed, text = _fitted(replay, family * fixed, family * text, last_prompt)
        return fixed * replay.calls + text * replay.context

    ends = [
        (measure(fixed.low, text.likely, family.likely), measure(fixed.high, text.likely, family.likely)),
        (measure(fixed.likely, text.low, family.likely), measure(fixed.likely, text.high, family.likely)),
        (measure(fixed.likely, text.likely, family.low), measure(fixed.likely, text.likely, family.high)),
    ]
    return _range_around(measure(fixed.likely, text.likely, family.likely), ends)


def _fitted(replay: Sizes, fixed: float, text: float, last_prompt: int | None) -> tuple[float, float]:
    """Return the tokens of the fixed part and of a rough token, fitted to the recorded prompt of the last call."""
    if last_prompt is None:
        return fixed, text
    rest = max(0.0, last_prompt - text * replay.last_context)
    return rest, min(text, last_prompt / replay.last_context) if replay.last_context else text


def counted_fixed_parts(conversation: Conversation) -> list[float]:
    """Return the sizes of the fixed part that the CLI records when it ends or compacts the history."""
    found = []
    for message in conversation.messages:
        for part in message.parts if message.role == "system" else ():
            if type(part) is Notice and part.data:
                sizes = [size for name in COUNTED_BY_CLI if isinstance(size := part.data.get(name), int) and size > 0]
                if len(sizes) == len(COUNTED_BY_CLI):
                    found.append(float(sum(sizes)))
    return found


def range_of(calibration: Calibration, used: Iterable[str], measure: Callable[[Values], float]) -> Range:
    """Return the number that `measure` computes, with its range from the parameters in `used`."""
    values = {name: parameter.likely for name, parameter in calibration.items()}
    ends = [
        (measure(values | {name: calibration[name].low}), measure(values | {name: calibration[name].high}))
        for name in used
    ]
    return _range_around(measure(values), ends)


def _range_around(likely: float, ends: Iterable[tuple[float, float]]) -> Range:
    """Return a number with its range: `ends` are what it would be at the two ends of each parameter."""
    below = above = 0.0
    for low, high in ends:
        below += min(0.0, low - likely, high - likely) ** 2
        above += max(0.0, low - likely, high - likely) ** 2
    return Range(max(0.0, likely - math.sqrt(below)), likely, likely + math.sqrt(above))


def parameters_of(replays: Iterable[Replay]) -> set[str]:
    """Return the names of the parameters that some calls depend on."""
    names = {TEXT, KEPT, STORED}
    for replay in replays:
        names |= {fixed_part(replay.kind), written_part(replay.kind), family_part(replay.model)}
    return names
