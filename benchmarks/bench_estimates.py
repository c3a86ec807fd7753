"""How far estimated tokens are from recorded ones, on sessions whose records are hidden from the estimate.

    COPILOG_CORPUS=FOLDER python -m benchmarks.bench_estimates [--generated FOLDER] [--strangers]
                                                             [--parameters] [--json]

Every session that records its tokens is estimated as if it did not: the parameters come from the other sessions of the
corpus, those of the same home being the user's own; with --strangers, from those of other homes alone. Then likely
input, output and dollars are printed beside the recorded ones. A file of VS Code records the prompt of the last call of
a turn, and the output of some turns: these are compared as "prompts" and "outputs". Dollars are list
prices of a fixed date; where a session records credits and not tokens, a credit is a cent. Earlier versions of a
session stand for no session of their own, and are left out with it. Fixtures, which some tool or person made up, and
generated homes are printed apart, take no part in the parameters, and count for nothing.

The corpus has folders `homes/NN` with the home of a user each, and `files/FORMAT` with single files; files with
"fixture" in their names are fixtures.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import copilog
from copilog.analysis.estimates import Sample, calibrate, estimate, recorded_calls, sample_of
from copilog.analysis.prices import PriceTable, price_table
from copilog.derive.estimating import Calibration, Range
from copilog.derive.replayed_calls import Replay, replayed
from copilog.model import Conversation, Notice

DAY = "2026-06-01"  # of the prices
DOLLARS_OF_CREDIT = 0.01
EACH, TOGETHER, INSIDE = (0.5, 2.0), (0.7, 1.4), 0.9
MEASURES = ("input", "output", "dollars", "prompts", "outputs")


class Compared(NamedTuple):
    """A likely number with its range beside the recorded one."""

    session: str
    measure: str
    estimated: Range
    truth: float

    @property
    def ratio(self) -> float:
        return self.estimated.likely / self.truth

    @property
    def is_inside(self) -> bool:
        return self.estimated.low <= self.truth <= self.estimated.high


class Session(NamedTuple):
    name: str
    conversation: Conversation
    sample: Sample
    is_real: bool


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench_estimates", description="How far estimates are from recorded tokens.")
    parser.add_argument("--generated", type=Path, action="append", default=[], help="a folder with generated homes")
    parser.add_argument("--strangers", action="store_true", help="leave out the whole home of the session under test")
    parser.add_argument("--parameters", action="store_true", help="print what the whole corpus says of each parameter")
    parser.add_argument("--json", action="store_true", help="print as JSON")
    options = parser.parse_args()
    corpus = os.environ.get("COPILOG_CORPUS")
    if not corpus:
        sys.exit("COPILOG_CORPUS names no folder")
    sessions = sessions_of(Path(corpus))
    for folder in options.generated:
        sessions += [session._replace(is_real=False) for session in sessions_of(folder)]
    real = [session for session in sessions if session.is_real]
    with tempfile.TemporaryDirectory() as folder:
        prices = price_table(_models_of(sessions), Path(folder))
    if options.parameters:
        for name, found in calibrate([session.sample for session in real]).items():
            print(f"{name:24} {found.low:12,.2f} {found.likely:12,.2f} {found.high:12,.2f}")
        return
    knows_own = not options.strangers
    counted = [one for session in real for one in compare(session, real, prices, knows_own)]
    apart = [one for session in sessions if not session.is_real for one in compare(session, real, prices, knows_own)]
    if options.json:
        print(json.dumps({"counted": _as_json(counted), "apart": _as_json(apart)}, indent=1))
        return
    _print_table("Recorded sessions", counted)
    _print_verdict(counted)
    _print_table("Fixtures and generated sessions: these count for nothing", apart)


# --- the sessions ---------------------------------------------------------------------------------------------------


def sessions_of(corpus: Path) -> list[Session]:
    """All conversations, each in its longest version."""
    folders = [*_folders(corpus / "homes"), *_folders(corpus / "files")] or _folders(corpus)
    found: dict[str, Session] = {}
    for folder in folders:
        for conversation in copilog.read(folder):
            is_home = folder.parent.name == "homes"
            name = f"{folder.relative_to(corpus)} {conversation.id[-12:]}"
            origin = str(folder) if is_home else conversation.id
            files = {Path(trace.path).name for trace in conversation.provenance}
            is_real = not any("fixture" in file for file in files)
            session = Session(name, conversation, sample_of(conversation, origin), is_real)
            other = found.get(conversation.id)
            if other is None or len(other.conversation.turns) < len(conversation.turns):
                found[conversation.id] = session
    return list(found.values())


def _folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def _models_of(sessions: Iterable[Session]) -> set[str]:
    models: set[str | None] = set()
    for session in sessions:
        models.update(replay.model for replay in replayed(session.conversation))
        models.update(usage.model for usage in session.conversation.usage)
        models.update(usage.model for turn in session.conversation.turns for usage in turn.usage)
    return {model for model in models if model}


def stripped(conversation: Conversation) -> list[Replay]:
    """The calls of a conversation from which all that tells tokens, prompts or costs was taken."""
    conversation.usage = []
    for turn in conversation.turns:
        turn.usage, turn.details = [], None
    for message in conversation.messages:
        for part in message.parts:
            if isinstance(part, Notice):
                part.data = None
    return replayed(conversation)


# --- estimates beside records ---------------------------------------------------------------------------------------


def compare(session: Session, real: list[Session], prices: PriceTable | None, knows_own: bool) -> list[Compared]:
    """What a session records beside what its texts alone let expect."""
    sample, name = session.sample, session.name
    truth_in_dollars = _dollars_recorded(session.conversation, prices)
    replays = stripped(session.conversation)
    calibration = calibration_without(session, real, knows_own)
    whole = estimate(replays, calibration, prices, DAY)
    made: list[Compared] = []
    if sample.input is not None:
        covered = {(replay.turn, replay.parent) for replay in sample.replays}
        whole = estimate([one for one in replays if (one.turn, one.parent) in covered], calibration, prices, DAY)
        made.append(Compared(name, "input", whole.input, sample.input))
    if sample.output:
        made.append(Compared(name, "output", whole.output, sample.output))
    if truth_in_dollars and whole.dollars is not None and not whole.unpriced:
        made.append(Compared(name, "dollars", whole.dollars, truth_in_dollars))
    if sample.prompts:
        last = [_last_call(one.replay) for one in sample.prompts]
        prompts = estimate(last, calibration).input
        made.append(Compared(name, "prompts", prompts, sum(one.tokens for one in sample.prompts)))
    if sample.outputs:
        outputs = estimate([replay for replay, _ in sample.outputs], calibration).output
        made.append(Compared(name, "outputs", outputs, sum(output for _, output in sample.outputs)))
    return made


def calibration_without(session: Session, real: list[Session], knows_own: bool = True) -> Calibration:
    """The parameters as the other sessions tell them."""
    others = [one.sample for one in real if one.sample.id != session.sample.id]
    of_others = [one for one in others if one.origin != session.sample.origin]
    own = [one for one in others if one.origin == session.sample.origin]
    base = calibrate(of_others)
    return calibrate(own, base, is_own=True) if knows_own else base


def _last_call(replay: Replay) -> Replay:
    return Replay(
        turn=replay.turn, parent=None, model=replay.model, kind=replay.kind, calls=1, context=replay.last_context
    )


def _dollars_recorded(conversation: Conversation, prices: PriceTable | None) -> float | None:
    _, usages = recorded_calls(conversation, replayed(conversation))
    if not usages:
        return sum(usage.credits or 0 for usage in conversation.usage) * DOLLARS_OF_CREDIT or None
    dollars = 0.0
    for usage in usages:
        price = prices.price_at(usage.model, DAY) if prices is not None else None
        if price is None:
            return None
        read, written = usage.cache_read or 0, usage.cache_write or 0
        plain = (usage.input or 0) - read - written
        cost = plain * price.input + read * price.cache_read + written * price.cache_write
        dollars += (cost + (usage.output or 0) * price.output) / 1e6
    return dollars


# --- what is printed ------------------------------------------------------------------------------------------------


def _print_table(title: str, rows: list[Compared]) -> None:
    print(f"\n{title}\n")
    print("| session | what | at least | likely | at most | recorded | likely / recorded | inside |")
    print("|---|---|---:|---:|---:|---:|---:|---|")
    for row in rows:
        number = _dollars if row.measure == "dollars" else _count
        numbers = " | ".join(number(value) for value in (*row.estimated, row.truth))
        inside = "yes" if row.is_inside else "no"
        print(f"| {row.session} | {row.measure} | {numbers} | {row.ratio:.2f} | {inside} |")


def _print_verdict(rows: list[Compared]) -> None:
    far = [row for row in rows if not EACH[0] <= row.ratio <= EACH[1]]
    inside = sum(row.is_inside for row in rows)
    print(f"\nwithin {EACH[0]} to {EACH[1]}: {len(rows) - len(far)} of {len(rows)}", *(row.session for row in far))
    print(f"inside the printed range: {inside} of {len(rows)} (wanted: {INSIDE:.0%})")
    for measure in MEASURES:
        of_measure = [row for row in rows if row.measure == measure]
        if of_measure:
            ratio = sum(row.estimated.likely for row in of_measure) / sum(row.truth for row in of_measure)
            verdict = "" if TOGETHER[0] <= ratio <= TOGETHER[1] else f": not within {TOGETHER[0]} to {TOGETHER[1]}"
            print(f"sum of {measure}, {len(of_measure)} sessions: {ratio:.2f}{verdict}")


def _as_json(rows: list[Compared]) -> list[dict[str, Any]]:
    return [row._asdict() | {"estimated": row.estimated._asdict(), "ratio": row.ratio} for row in rows]


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _dollars(value: float) -> str:
    return f"{value:.3f}"


if __name__ == "__main__":
    main()
