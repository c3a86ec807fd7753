"""Find the parameters of estimates in what conversations record of their tokens.

`sample_of` extracts what a conversation records, `calibrate` computes the parameters from samples: one after the other,
each with the likely values of those before it, and each conversation counts once, however long it is. With a user's own
data, a parameter is set only if enough of their conversations have a value for it; otherwise that of the base
calibration is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median

import msgspec

from copilog.derive.estimating import (
    FRAME_TOKENS,
    KEPT,
    PRIOR,
    STORED,
    TEXT,
    Calibration,
    Range,
    counted_fixed_parts,
    family_of,
    family_part,
    fixed_part,
    tokens_of,
    written_part,
)
from copilog.derive.replayed_calls import Kind, Replay, Replays
from copilog.model import Conversation, Turn, Usage

SHUTDOWN, WHOLE_TURN = "session.shutdown", "request"
FIXED_CATEGORY = "System"  # of the shares of a prompt that VS Code records: instructions and definitions of tools
ENOUGH = 3  # of the user's own conversations, for parameters that differ little between users
ENOUGH_FIXED = 1  # the fixed part depends on the user's own servers and instructions more than on anything else
SPREAD = {TEXT: 0.5, KEPT: 0.3}  # of a parameter with a value from one conversation; less with more of them
OTHER_SPREAD = 0.6
LEAST_SPREAD = 0.5  # of that: however many values there are, the next conversation is not at their median
CONTEXT_THAT_TELLS = 0.2  # of a prompt: if the conversation is less than that, its size is not evidence


class Prompt(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The recorded prompt of the last call of a turn, with the tokens of its fixed part if these were recorded."""

    replay: Replay
    tokens: int
    fixed: float | None = None


class Sample(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The recorded tokens of a conversation, and the calls that they belong to. Unknown numbers are None."""

    id: str
    origin: str = ""  # the user: conversations of one user are similar
    replays: list[Replay] = []
    input: int | None = None  # of all these calls
    cached: int | None = None
    stored: int | None = None
    output: int | None = None
    counted: list[float] = []  # the fixed part, as the program itself counted it
    prompts: list[Prompt] = []
    outputs: list[tuple[Replay, int]] = []  # of turns, if `output` is not recorded


# --- what is recorded -----------------------------------------------------------------------------------------------


def sample_of(conversation: Conversation, origin: str = "", replays: Replays | None = None) -> Sample:
    """Return the recorded numbers of a conversation from which parameters of an estimate can be computed."""
    sample = Sample(id=conversation.id, origin=origin, counted=counted_fixed_parts(conversation))
    if not _has_records(conversation):
        return sample
    found = (replays or Replays(conversation)).all
    sample.replays, usages = recorded_calls(conversation, found)
    if usages:
        sample.input, sample.output = _sum(usages, "input"), _sum(usages, "output")
        sample.cached, sample.stored = _sum(usages, "cache_read"), _sum(usages, "cache_write")
    else:
        sample.replays, sample.output = found, _output_of_calls(conversation, found)
    main = {replay.turn: replay for replay in found if replay.parent is None}
    for turn in conversation.turns:
        sizes = [usage for usage in turn.usage if usage.last_prompt]
        if sizes and turn.index in main:
            sample.prompts.append(_prompt_of(sizes, main[turn.index]))
        if sample.output is None and turn.index in main:
            output = _output_of_turn(turn, main[turn.index])
            sample.outputs += [(main[turn.index], output)] if output else []
    return sample


def _has_records(conversation: Conversation) -> bool:
    """Return whether any tokens or prompts are recorded, so that its calls have to be replayed."""
    usages = (usage for turn in conversation.turns for usage in turn.usage)
    return any(usage.input or usage.output or usage.last_prompt for usage in (*conversation.usage, *usages))


def recorded_calls(conversation: Conversation, replays: list[Replay]) -> tuple[list[Replay], list[Usage]]:
    """Return the calls whose input is recorded, with these records: those of the session, else of its turns."""
    totals = [usage for usage in conversation.usage if usage.scope == "session" and usage.source == SHUTDOWN]
    totals = [usage for usage in totals if usage.input]
    if totals:
        return replays, totals
    rows: list[Usage] = []
    sampled: set[int] = set()
    for turn in conversation.turns:
        sources: dict[tuple[str, str], list[Usage]] = {}
        for usage in turn.usage:
            if usage.input:
                sources.setdefault((usage.source, usage.scope), []).append(usage)
        if sources:
            rows += max(sources.values(), key=lambda usages: _sum(usages, "input") or 0)
            sampled.add(turn.index)
    return [replay for replay in replays if replay.turn in sampled], rows


def _output_of_calls(conversation: Conversation, replays: list[Replay]) -> int | None:
    """Return the sum of the output of all calls; None unless every replayed call has a record of it."""
    outputs = [
        usage.output
        for turn in conversation.turns
        for usage in turn.usage
        if usage.scope == "call" and usage.output is not None
    ]
    return sum(outputs) if outputs and len(outputs) == sum(replay.calls for replay in replays) else None


def _output_of_turn(turn: Turn, replay: Replay) -> int | None:
    """Return the output that VS Code recorded of a turn: of all its calls in `request`, else of the last one alone."""
    usages = [usage for usage in turn.usage if usage.scope == "turn" and usage.output]
    return max((usage.output or 0 for usage in usages if usage.source == WHOLE_TURN or replay.calls == 1), default=None)


def _prompt_of(sizes: list[Usage], replay: Replay) -> Prompt:
    usage = max(sizes, key=lambda one: len(one.by_category))
    shares = [share.percent for share in usage.by_category if share.category == FIXED_CATEGORY and share.percent]
    tokens = usage.last_prompt or 0
    return Prompt(
        replay=replay,
        tokens=tokens,
        fixed=sum(shares) / 100 * tokens if shares else None,
    )


def _sum(usages: Iterable[Usage], name: str) -> int | None:
    counts = [count for usage in usages if (count := getattr(usage, name)) is not None]
    return sum(counts) if counts else None


# --- the parameters -------------------------------------------------------------------------------------------------


def calibrate(
    samples: Sequence[Sample],
    base: Calibration = PRIOR,
    *,
    is_own: bool = False,
    counts: dict[str, int] | None = None,
) -> dict[str, Range]:
    """Return the parameters computed from these samples; those with too few values are as in `base`.

    `is_own`: the samples are of one user, so a parameter needs a minimum number of values. Otherwise each user counts
    once, and so does `base`. `counts` gets the number of values that each parameter is computed from.
    """
    found = dict(base)
    fit = _Fit(samples, found, is_own, counts if counts is not None else {})
    fit.put(TEXT, [_text_of(sample, found) for sample in samples])
    fit.put(family_part("claude"), [_claude_of(sample, found) for sample in samples])
    kinds: tuple[Kind, ...] = ("cli", "agent", "chat")
    for kind in kinds:
        fit.put(fixed_part(kind), [_fixed_of(sample, kind, found) for sample in samples], enough=ENOUGH_FIXED)
        fit.put(written_part(kind), [_written_of(sample, kind) for sample in samples])
    for name, values in (
        (KEPT, [_kept_of(sample, found) for sample in samples]),
        (STORED, [_stored_of(sample) for sample in samples]),
    ):
        fit.put(name, values)
        found[name] = Range(*(min(1.0, value) for value in found[name]))
    return found


class _Fit:
    """Sets parameters from the values of samples."""

    def __init__(
        self, samples: Sequence[Sample], found: dict[str, Range], is_own: bool, counts: dict[str, int]
    ) -> None:
        self._samples = samples
        self._counts = counts
        self._found = found
        self._is_own = is_own

    def put(self, name: str, measured: list[float | None], enough: int = ENOUGH) -> None:
        """Set a parameter to the median of the samples' values, with a range that is wider for few values."""
        values = [value for value in measured if value is not None]
        if not values or (self._is_own and len(values) < enough):
            return
        self._counts[name] = len(values)
        before = self._found[name]
        if not self._is_own:
            values = [*self._by_origin(measured), *([before.likely] if before.likely else ())]
        values.sort()
        likely = median(values)
        width = 1 + SPREAD.get(name, OTHER_SPREAD) * max(LEAST_SPREAD, 1 / math.sqrt(len(values)))
        low, high = min(_at(values, 0.05), likely / width), max(_at(values, 0.95), likely * width)
        if not self._is_own and len(values) <= ENOUGH:
            low, high = min(low, before.low), max(high, before.high)
        self._found[name] = Range(low, likely, high)

    def _by_origin(self, measured: list[float | None]) -> list[float]:
        """Return one value for each user: the median of theirs."""
        origins: dict[str, list[float]] = {}
        for sample, value in zip(self._samples, measured, strict=True):
            if value is not None:
                origins.setdefault(sample.origin or sample.id, []).append(value)
        return [median(values) for values in origins.values()]


def _at(values: list[float], share: float) -> float:
    """Return the quantile of sorted values at this share, interpolated."""
    place = share * (len(values) - 1)
    before = math.floor(place)
    after = min(before + 1, len(values) - 1)
    return values[before] + (values[after] - values[before]) * (place - before)


def _prompts_of(sample: Sample) -> list[tuple[Replay, float, float, int, float | None]]:
    """Return recorded prompts: their replay, number of calls, context, tokens, and the fixed part of one call."""
    counted = median(sample.counted) if sample.counted else None
    made = [(one.replay, 1.0, one.replay.last_context, one.tokens, one.fixed or counted) for one in sample.prompts]
    models = {family_of(replay.model) for replay in sample.replays}
    kinds = {replay.kind for replay in sample.replays}
    if sample.input and len(models) == len(kinds) == 1:
        calls = sum(replay.calls for replay in sample.replays)
        context = sum(replay.context for replay in sample.replays)
        made.append((sample.replays[0], float(calls), context, sample.input, counted))
    return [one for one in made if one[1]]


def _text_of(sample: Sample, found: Calibration) -> float | None:
    """Return the tokens of a rough token, from prompts with a fixed part and a long conversation; None without."""
    ratios = []
    for replay, calls, context, tokens, fixed in _prompts_of(sample):
        family = found[family_part(replay.model)].likely
        tells_text = family_of(replay.model) != "claude"  # Claude's prompts are used for its tokenizer instead
        if fixed is not None and tells_text and context > CONTEXT_THAT_TELLS * tokens:
            ratios.append((tokens / family - _plain(fixed, replay, sample, family) * calls) / context)
    ratios = [value for value in ratios if value > 0]
    return median(ratios) if ratios else None


def _plain(fixed: float, replay: Replay, sample: Sample, family: float) -> float:
    """Return the fixed part as GPT counts it. The CLI counts like GPT; the shares of VS Code use the model's count."""
    return fixed if replay.kind == "cli" and sample.counted else fixed / family


def _claude_of(sample: Sample, found: Calibration) -> float | None:
    """Return how many tokens Claude counts for one of GPT's; None unless the CLI counted the fixed part as GPT does."""
    ratios = [
        tokens / (fixed * calls + found[TEXT].likely * context)
        for replay, calls, context, tokens, fixed in _prompts_of(sample)
        if family_of(replay.model) == "claude" and fixed is not None and sample.counted
    ]
    return median(ratios) if ratios else None


def _fixed_of(sample: Sample, kind: Kind, found: Calibration) -> float | None:
    """Return the fixed part as the program counted it, else the size of prompts less that of the conversation."""
    if kind == "cli" and sample.counted:
        return median(sample.counted)
    ratios = []
    for replay, calls, context, tokens, fixed in _prompts_of(sample):
        if replay.kind == kind:
            rest = tokens / found[family_part(replay.model)].likely - found[TEXT].likely * context
            ratios.append(fixed / found[family_part(replay.model)].likely if fixed is not None else rest / calls)
    ratios = [value for value in ratios if value > 0]
    return median(ratios) if ratios else None


def _written_of(sample: Sample, kind: Kind) -> float | None:
    outputs = [([replay], output) for replay, output in sample.outputs]
    if sample.output is not None:
        outputs = [(sample.replays, sample.output)]
    rates = []
    for replays, output in outputs:
        seen = sum(replay.written for replay in replays)
        hidden = output - FRAME_TOKENS * sum(replay.acting for replay in replays)
        if {replay.kind for replay in replays} == {kind} and seen > 0 and hidden > 0:
            rates.append(hidden / seen)
    return median(rates) if rates else None


def _kept_of(sample: Sample, found: Calibration) -> float | None:
    if sample.cached is None:
        return None
    values = {name: parameter.likely for name, parameter in found.items()} | {KEPT: 1.0}
    if sample.counted:
        values |= {fixed_part("cli"): median(sample.counted)}
    kept = sum(tokens_of(replay, values).cached for replay in sample.replays)
    return sample.cached / kept if kept else None


def _stored_of(sample: Sample) -> float | None:
    """Return the share of uncached tokens written to a cache; None for 0, which older programs always record."""
    if not sample.stored or not sample.input:
        return None
    fresh = sample.input - (sample.cached or 0)
    return sample.stored / fresh if fresh >= sample.stored else None
