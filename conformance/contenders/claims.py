"""What each program claims to read, and the facts of a run that this covers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from conformance.compare import is_about
from conformance.contenders.forms import in_form, place_in_form
from conformance.facts import Compared, Fact, How, Truth
from conformance.scenario import applies

CLAIMS = Path(__file__).with_name("claims.yaml")
ToolName = Literal["agentsview", "ccusage"]
Scope = Literal["all", "session", "model", "day", "turn", "part"]
PROMPTLESS = [""]  # the texts of a turn that the program began by itself


class Claim(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Facts that a program claims to read from what one program writes, with where it says so.

    `how` replaces the way to compare: a program that joins texts is asked whether its text holds the expected one.
    `only` limits the claim to some expected values.
    """

    program: Literal["cli", "vscode"]
    label: str  # of the table's row
    kinds: list[str]
    at: Scope
    stated: str
    how: How | None = None
    only: list[Any] | None = None


class Reason(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Why some differences are there, found by looking at the rows and at what the program wrote."""

    program: Literal["cli", "vscode"]
    kinds: list[str]  # shell patterns
    reason: str
    scenarios: tuple[str, ...] = ("*",)  # shell patterns
    since: str | None = None  # versions of the program, as in scenarios
    until: str | None = None
    is_recorded: bool = True  # False if the program does not record the fact, so that it cannot be read


class Claims(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """All about one program."""

    claims: list[Claim]
    reasons: list[Reason] = []


@cache
def claims_of(tool: ToolName) -> Claims:
    """Return what a program claims."""
    with CLAIMS.open(encoding="utf-8") as file:
        return msgspec.convert(yaml.safe_load(file), dict[str, Claims])[tool]


def scope_of(where: str) -> Scope:
    """Return what a place is: a session, a turn, a day, ..."""
    session, _, rest = where.partition("/")
    if not rest:
        return "all" if session == "all" else "session"
    if rest.startswith("model "):
        return "model"
    if rest.startswith("day "):
        return "day"
    return "turn" if rest.isdigit() else "part"


def claim_about(tool: ToolName, program: str, fact: Fact) -> Claim | None:
    """Return the claim that covers a fact, or None."""
    scope = scope_of(fact.where)
    for claim in claims_of(tool).claims:
        if claim.program != program or claim.at != scope or fact.kind not in claim.kinds:
            continue
        if claim.only is None or fact.expected in claim.only:
            return claim
    return None


def reason_of(tool: ToolName, truth: Truth, compared: Compared) -> Reason | None:
    """Return the stated reason for a difference, or None."""
    for one in claims_of(tool).reasons:
        if one.program != truth.program or not applies(one.since, one.until, truth.version):
            continue
        if not any(fnmatchcase(truth.scenario, pattern) for pattern in one.scenarios):
            continue
        if any(fnmatchcase(compared.fact.kind, pattern) for pattern in one.kinds):
            return one
    return None


def claimed(tool: ToolName, truth: Truth) -> Truth:
    """Return a truth with only the facts that a program claims to read, in the form in which they are compared."""
    facts: list[Fact] = []
    for fact in (*_sessions_apart(truth), *_days(truth)):
        claim = claim_about(tool, truth.program, fact)
        if claim is not None:
            facts.append(
                Fact(
                    kind=fact.kind,
                    where=place_in_form(fact.where),
                    expected=in_form(fact.kind, fact.expected),
                    how=claim.how or fact.how,
                )
            )
    return msgspec.structs.replace(truth, facts=facts)


def unclaimed(tool: ToolName, truth: Truth) -> Iterator[str]:
    """Yield the kind of each fact about sessions that a program does not claim to read."""
    for fact in (*_sessions_apart(truth), *_days(truth)):
        is_about_copilog = fact.where == "all" and fact.kind != "conversations"
        if not is_about_copilog and claim_about(tool, truth.program, fact) is None:
            yield f"{fact.kind} of a {scope_of(fact.where)}" if fact.kind.startswith("tokens.") else fact.kind


def _facts(truth: Truth) -> Iterator[Fact]:
    """Yield the facts of the home folder: files that are read by themselves are not given to the programs.

    Where the program went on by itself, in autopilot, what counts as a turn is a matter of taste: none is compared.
    Nor are the tokens of a fork of the CLI, whose log has the calls of its parent, and the sums of its days.
    """
    alone = tuple(truth.alone)
    forks = {fact.where for fact in truth.facts if fact.kind == "relations" and _is_of_fork(fact.expected)}
    on_its_own = {session for session, turns in truth.turns.items() if PROMPTLESS in turns}
    for fact in truth.facts:
        session = fact.where.partition("/")[0]
        is_of_turns = scope_of(fact.where) in ("turn", "part") or fact.kind == "turns"
        if fact.where.startswith(alone) or (session in on_its_own and is_of_turns):
            continue
        is_shared = session in forks or (bool(forks) and scope_of(fact.where) == "day")
        if not (is_shared and truth.program == "cli" and fact.kind.startswith("tokens.")):
            yield fact


def _is_of_fork(relations: list[str]) -> bool:
    return any(relation.startswith("fork ") for relation in relations)


def _sessions_apart(truth: Truth) -> Iterator[Fact]:
    return (fact for fact in _facts(truth) if scope_of(fact.where) != "day")


def _days(truth: Truth) -> Iterator[Fact]:
    """Yield the sums of all sessions by day, as reports on days have them; without those that are not recorded."""
    sums: dict[tuple[str, str], int] = defaultdict(int)
    missing: set[tuple[str, str]] = set()
    for fact in _facts(truth):
        if scope_of(fact.where) == "day":
            key = fact.kind, f"all/day {fact.where.partition('/day ')[2]}"
            sums[key] += fact.expected
            if any(is_about(gap, fact) for gap in truth.gaps):
                missing.add(key)
    return (Fact(kind=key[0], where=key[1], expected=total) for key, total in sums.items() if key not in missing)
