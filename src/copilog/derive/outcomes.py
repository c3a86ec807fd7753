"""Conclude how each tool call ended, from everything that was recorded about it.

In this order: denied, skipped or cancelled, as recorded by VS Code's confirmation, by the trace, or in the extension's
own text; else failed, if any trace records it; else succeeded, if any does; else running, if the call began and the
conversation may still run; else unknown. A command that ran to its end has succeeded, whatever its exit code, which
is recorded separately. Records that contradict the outcome are listed in `against`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import msgspec

from copilog.derive.call_ids import make_call_ids_unique
from copilog.derive.exit_codes import exit_code_of, find_exit_code, forget_repeated
from copilog.derive.own_texts import SHOWN, failed_edits, first_line, own_text
from copilog.derive.running import OPEN, may_still_run
from copilog.derive.tool_names import SHELL_READERS, key_of
from copilog.model import (
    Conversation,
    FileEdit,
    Outcome,
    OutcomeKind,
    Terminal,
    ToolCall,
    ToolResult,
    Turn,
    Verdict,
    is_counted,
)

PRECEDENCE: tuple[OutcomeKind, ...] = ("denied", "skipped", "cancelled", "failed", "succeeded")
NOT_DONE: frozenset[OutcomeKind | None] = frozenset({"denied", "skipped", "cancelled", "failed"})
KINDS: dict[str, OutcomeKind] = {
    "complete": "succeeded", "failed": "failed", "denied": "denied", "skipped": "skipped", "cancelled": "cancelled",
}  # fmt: skip
# Sources whose "complete" only means that the call ended, not how.
ENDED_ONLY = frozenset({"toolInvocationSerialized", "toolCallRounds"})
ENDED_ONLY_SOURCES = frozenset({"chat-replay", "copilot-markdown", "atif", "trajectory-file"})  # it has a result
CLI = "cli:"  # ids of sessions of Copilot CLI, which has error flags and none of the extension's texts


PARTLY = "some of its edits: failed"


class Fact(NamedTuple):
    """One record of how a call ended. A weak one is not shown if others contradict it."""

    kind: OutcomeKind
    evidence: str
    reason: str | None = None
    is_weak: bool = False


class Walked(NamedTuple):
    """The calls and edits of a conversation, each with its turn, and results, for further conclusions."""

    calls: list[tuple[int | None, ToolCall]]
    edits: list[tuple[int | None, FileEdit]]
    results: dict[str, list[ToolResult]]  # by call


_RESULT = Fact("succeeded", "result")
_EXIT_CODE = Fact("succeeded", "exit code")
_NO_RESULTS: list[ToolResult] = []


def conclude_outcomes(conversation: Conversation) -> Walked:
    """Write the outcome and the exit code of each call, and the outcome of each edit, into the conversation."""
    calls: list[tuple[int | None, ToolCall]] = []
    results: dict[str, list[ToolResult]] = {}
    terminals: dict[str, Terminal] = {}
    edits: list[tuple[int | None, FileEdit]] = []
    for message in conversation.messages:
        for part in message.parts:
            if type(part) is ToolResult:
                if part.call_id in results:
                    results[part.call_id].append(part)
                else:
                    results[part.call_id] = [part]
            elif type(part) is ToolCall:
                calls.append((message.turn, part))
            elif type(part) is Terminal and part.call_id is not None:
                part.concluded_exit_code = None
                terminals[part.call_id] = part
            elif type(part) is FileEdit:
                edits.append((message.turn, part))
    if not calls:
        return Walked(calls, edits, results)
    if len(calls) > 1 and _share_ids(calls):
        make_call_ids_unique(conversation)
        return conclude_outcomes(conversation)  # results and edits were assigned to calls by these ids
    open_turn = _open_turn(conversation)
    has_own_texts, source = not conversation.id.startswith(CLI), conversation.source
    for turn, call in calls:
        given, terminal = results.get(call.id, _NO_RESULTS), terminals.get(call.id)
        exit_code = call.concluded_exit_code = _exit_code(call, given, terminal)
        if terminal is not None:
            terminal.concluded_exit_code = exit_code  # some surfaces show a terminal without its call
        facts = _facts(call, given, terminal, exit_code, source, has_own_texts)
        call.outcome = _weighed(tuple(facts), turn is not None and turn == open_turn)
    if any(call.concluded_exit_code is not None and key_of(call) in SHELL_READERS for _, call in calls):
        forget_repeated(call for _, call in calls)
    if edits:
        outcomes = {call.id: call.outcome.kind for _, call in calls if call.outcome is not None}
        for _, edit in edits:
            edit.outcome = outcomes.get(edit.call_id) if edit.call_id is not None else None
    return Walked(calls, edits, results)


def _share_ids(calls: list[tuple[int | None, ToolCall]]) -> bool:
    """Return whether calls of several turns share an id."""
    if len({call.id for _, call in calls}) == len(calls):
        return False
    turns: dict[str, int | None] = {}
    return any(turns.setdefault(call.id, turn) != turn for turn, call in calls)


def add_verdict(
    call: ToolCall,
    theirs: ToolCall,
    results: Iterable[ToolResult],
    terminal: Terminal | None,
    source: str,
    own: Verdict | None = None,
) -> None:
    """Record how a call ended according to another trace: `theirs` is the same call there, with its result.

    `own` is the verdict of the call's own trace: a copy of it that says the same says nothing new.
    """
    verdicts = {_verdict_key(verdict): verdict for verdict in (*call.verdicts, *theirs.verdicts)}
    verdict = verdict_of(theirs, results, terminal, source)
    if verdict is not None and verdict != own:
        verdicts[_verdict_key(verdict)] = verdict
    call.verdicts = [verdicts[key] for key in sorted(verdicts)]


def verdict_of(call: ToolCall, results: Iterable[ToolResult], terminal: Terminal | None, source: str) -> Verdict | None:
    """Return how a call ended according to its trace, whatever others say; None if the trace does not record it."""
    results = list(results)
    if call.verdicts:
        call = msgspec.structs.replace(call, verdicts=[one for one in call.verdicts if one.source == SHOWN])
    exit_code = _exit_code(call, results, terminal)
    facts = _facts(call, results, terminal, exit_code, source, has_own_texts=not source.startswith("cli"))
    facts = [fact for fact in facts if not fact.is_weak]
    if not facts and exit_code is None:
        return None
    outcome = _weighed(tuple(facts), may_go_on=False)
    return Verdict(source=source, kind=outcome.kind, reason=outcome.reason, exit_code=exit_code)


def settle_running(conversation: Conversation) -> None:
    """Replace the outcome `running` of calls that ended unfinished after the conversation was stored."""
    last = _last_turn(conversation)
    if last is None or last.status not in OPEN or _open_turn(conversation) is not None:
        return
    for message in conversation.messages:
        if message.turn != last.index:
            continue
        for part in message.parts:
            if type(part) is ToolCall and part.outcome is not None and part.outcome.kind == "running":
                part.outcome = Outcome(kind="unknown")
            elif type(part) is FileEdit and part.outcome == "running":
                part.outcome = "unknown"


def outcome_of(call: ToolCall) -> Outcome:
    """Return how a call ended; before conclusions are drawn, the status that the trace records."""
    return call.outcome or Outcome(kind=KINDS.get(call.status, "unknown"))


def is_done(call: ToolCall) -> bool:
    """Return whether a call is not known to have failed or to have been prevented from running."""
    return outcome_of(call).kind not in NOT_DONE


def count_failures(calls: Iterable[ToolCall]) -> tuple[int, int]:
    """Count the calls that failed, and separately the calls whose command ended with an error."""
    failed = errors = 0
    for call in calls:
        failed += outcome_of(call).kind == "failed"
        errors += bool(exit_code_of(call))
    return failed, errors


def is_partly_done(call: ToolCall) -> bool:
    """Return whether some edits of a call failed and others were applied; which lines is not recorded."""
    return call.outcome is not None and PARTLY in call.outcome.against


def is_failure(result: ToolResult, call: ToolCall | None) -> bool:
    """Return whether a result is the reason why its call failed, rather than its output."""
    return result.is_error or (call is not None and outcome_of(call).kind == "failed")


def is_made(edit: FileEdit) -> bool:
    """Return whether an edit counts: its call is not known to have failed, or not to have run."""
    return edit.outcome not in NOT_DONE


# --- evidence ---------------------------------------------------------------------------------------------------


def facts_of(
    call: ToolCall, results: list[ToolResult], terminal: Terminal | None, *, source: str, has_own_texts: bool
) -> list[Fact]:
    """Return all records of how a call ended."""
    return _facts(call, results, terminal, _exit_code(call, results, terminal), source, has_own_texts)


def _facts(
    call: ToolCall,
    results: list[ToolResult],
    terminal: Terminal | None,
    exit_code: int | None,
    source: str,
    has_own_texts: bool,
) -> list[Fact]:
    facts: list[Fact] = []
    approval, status = call.approval, KINDS.get(call.status)
    if approval is not None and approval.kind in ("denied", "skipped"):
        facts.append(Fact(KINDS[approval.kind], "confirmation", approval.detail))
    for result in results:
        own = own_text(result, call, terminal) if has_own_texts else None
        if own is not None:
            facts.append(Fact(own.kind, "text of the result", own.reason))
        if result.is_error:
            facts.append(Fact("failed", "error flag", first_line(result.text) or first_line(result.display or "")))
        elif own is None and has_own_texts and (failed := failed_edits(result, call)) is not None:
            facts.append(Fact("succeeded", PARTLY, failed))
        elif own is None and (result.text or result.items or result.places):
            facts.append(_RESULT)
    if status is not None and status not in [fact.kind for fact in facts]:
        is_weak = status == "succeeded" and (call.native in ENDED_ONLY or source in ENDED_ONLY_SOURCES)
        facts.append(Fact(status, "recorded state", is_weak=is_weak))
    if exit_code is not None:
        facts.append(_EXIT_CODE)
    if call.verdicts:
        facts += [Fact(verdict.kind, verdict.source, verdict.reason) for verdict in call.verdicts]
    return facts


@lru_cache(maxsize=256)
def _weighed(facts: tuple[Fact, ...], may_go_on: bool) -> Outcome:
    """Return the outcome that the facts support; all facts that report no success support each other.

    Most calls have the same few facts, so they share one outcome object, which must not be changed.
    """
    for kind in PRECEDENCE:
        first = next((fact for fact in facts if fact.kind == kind), None)
        if first is None:
            continue
        if kind == "succeeded":
            failed = next((fact for fact in facts if fact.evidence == PARTLY), None)
            if failed is None:
                return Outcome(kind=kind, evidence=_evidence(facts))
            whole = [_RESULT if fact is failed else fact for fact in facts]
            return Outcome(kind=kind, reason=failed.reason, evidence=_evidence(whole), against=[PARTLY])
        agreeing = sorted((fact for fact in facts if fact.kind in NOT_DONE), key=lambda fact: fact.kind != kind)
        disagreeing = [fact for fact in facts if fact.kind == "succeeded" and not fact.is_weak]
        return Outcome(
            kind=kind,
            reason=next((fact.reason for fact in agreeing if fact.reason), None),
            evidence=_evidence(agreeing),
            against=[f"{evidence}: succeeded" for evidence in _evidence(disagreeing)],
        )
    return Outcome(kind="running" if may_go_on else "unknown")


def _evidence(facts: Iterable[Fact]) -> list[str]:
    return list(dict.fromkeys(fact.evidence for fact in facts))


def _exit_code(call: ToolCall, results: list[ToolResult], terminal: Terminal | None) -> int | None:
    found = find_exit_code(call, results, terminal)
    if found is not None or not call.verdicts:
        return found
    return next((verdict.exit_code for verdict in call.verdicts if verdict.exit_code is not None), None)


def _verdict_key(verdict: Verdict) -> tuple[str, str, str, int]:
    return verdict.source, verdict.kind, verdict.reason or "", -1 if verdict.exit_code is None else verdict.exit_code


def _last_turn(conversation: Conversation) -> Turn | None:
    return next((turn for turn in reversed(conversation.turns) if is_counted(turn)), None)


def _open_turn(conversation: Conversation) -> int | None:
    """Return the index of the last turn if it may still run: it has no end, and was active recently."""
    last = _last_turn(conversation)
    if last is None:
        return None
    times = conversation.updated_at, last.timing.started_at, last.timing.completed_at
    return last.index if may_still_run(last.status, *times) else None
