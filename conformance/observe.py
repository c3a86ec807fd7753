"""What copilog reads from the folder that a program wrote, in the terms of `truth`.

The folder is scanned into an archive of its own, as a user's is, and everything is read back from there: conversations
through `archive.get`, sums through `measure`.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import reduce
from itertools import chain
from operator import or_
from pathlib import Path, PurePath
from typing import Any

import msgspec
import yaml

import copilog
from conformance.facts import Truth
from conformance.observe_turn import observe_turn
from conformance.truth import MAIN
from copilog.analysis import Selection, measure
from copilog.analysis.figures import SpendRow, Stats
from copilog.derive.documents import documents_of
from copilog.ingest import find_roots, inspect
from copilog.ingest.inspection import inspect_file
from copilog.ingest.scanning import scan
from copilog.model import Compaction, Conversation, Hook, Notice, ToolCall, Turn, is_counted, messages_of, prose_of

OTHER_FILES = Path(__file__).with_name("other_files.yaml")
TODO = re.compile(r"^- \[(.)\] (.*)$", re.MULTILINE)
Seen = Iterator[tuple[str, str, Any]]  # kind, where, value
NO_CONVERSATION = {"prompts-only", "helpers-only", "memory"}  # marks of what belongs to no conversation
COLUMNS = {"input": "input", "output": "output", "cached": "cache_read", "reasoning": "reasoning"}


def observe(folder: Path, truth: Truth) -> dict[tuple[str, str], Any]:
    """Return all that was read of the sessions that a truth names, by kind and place."""
    with tempfile.TemporaryDirectory() as scratch, copilog.Archive(Path(scratch, "archive.db"), write=True) as archive:
        report = copilog.Report()
        scan(archive, roots=find_roots([folder]), report=report)
        seen = [*_whole(archive, report), *_files(folder, truth.program), *_sessions(archive, truth)]
    for name, pattern in truth.alone.items():
        seen += _alone(folder, name, pattern, truth)
    return {(kind, where): value for kind, where, value in seen}


def _alone(folder: Path, name: str, pattern: str, truth: Truth) -> Seen:
    """What the files of a pattern tell by themselves, as if they were the session `name`."""
    session, turns = truth.sessions[MAIN], truth.turns.get(MAIN, [])
    facts = [fact for fact in truth.facts if fact.where.startswith(name)]
    of_main = msgspec.structs.replace(truth, sessions={name: session}, turns={name: turns}, facts=facts)
    with tempfile.TemporaryDirectory() as scratch, copilog.Archive(Path(scratch, "archive.db"), write=True) as archive:
        report = copilog.Report()
        scan(archive, paths=sorted(folder.glob(pattern)), report=report)
        for kind, _, value in _whole(archive, report):
            yield kind, f"{name} all", value
        yield from _sessions(archive, of_main)


def _whole(archive: copilog.Archive, report: copilog.Report) -> Seen:
    marks = [archive.get(summary.id).marks for summary in archive.list()]
    yield "conversations", "all", sum(NO_CONVERSATION.isdisjoint(one) for one in marks)
    ledgers = [*report.files.values(), report.quiet]
    unknown = {kind for ledger in ledgers for kind in (*ledger.unknown, *ledger.parts.unknown)}
    yield "unknown kinds", "all", sorted(unknown)
    found = list(report.diagnostics())
    yield "bad records", "all", sorted({f"{one.code}: {one.reason}" for one in found if one.level == "error"})
    yield "warnings", "all", sorted({f"{one.code}: {one.reason}" for one in found if one.level == "warning"})
    yield "balanced", "all", report.balances()
    total = measure(archive, limit=None, prices=False).tokens.total
    yield from _row(total, "all")
    yield "credits", "all", total.credits


def _files(folder: Path, program: str) -> Seen:
    """What `copilog inspect` says of each file that the program wrote."""
    with OTHER_FILES.open(encoding="utf-8") as file:
        others = list(yaml.safe_load(file)[program])
    unread: list[str] = []
    unaccounted: set[str] = set()
    inner = sorted(path for path in folder.iterdir() if path.is_dir() and path.name != "work")
    loose = sorted(path for path in folder.iterdir() if path.is_file())
    for ledger in chain(inspect(inner), map(inspect_file, loose)):
        name = Path(ledger.path).relative_to(folder).as_posix()
        if ledger.source is None and not any(fnmatchcase(name, pattern) for pattern in others):
            unread.append(name)
        if ledger.leaves is not None:
            unaccounted |= set(ledger.leaves.unaccounted)
    yield "files of no known format", "all", unread
    yield "texts not accounted for", "all", sorted(unaccounted)


def _sessions(archive: copilog.Archive, truth: Truth) -> Seen:
    ids = {summary.id.partition(":")[2]: summary.id for summary in archive.list()}
    names = {id_: name for name, id_ in truth.sessions.items()}
    for session, native in truth.sessions.items():
        if native not in ids:
            continue
        conversation = archive.get(ids[native])
        stats = measure(archive, Selection(conversation=conversation.id), limit=None, prices=False)
        yield from _conversation(conversation, session, names)
        yield from _sums(conversation, stats, session, truth)
        lasted = _durations_of_calls(archive, conversation)
        for number, turn in _turns(conversation, truth.turns.get(session, [])):
            yield from observe_turn(conversation, turn, f"{session}/{number}")
            for call_id, elapsed_ms in lasted.get(turn.index, []):
                yield "call.duration", f"{session}/{number}/{call_id}", elapsed_ms


def _durations_of_calls(archive: copilog.Archive, conversation: Conversation) -> dict[int, list[tuple[str, float]]]:
    """Return the calls of each turn with their time in milliseconds, as figures have it."""
    sql = "SELECT turn, call_id, elapsed_ms FROM tool_calls WHERE conversation = ? AND turn IS NOT NULL"
    found: dict[int, list[tuple[str, float]]] = defaultdict(list)
    for turn, call_id, elapsed_ms in archive.connection.execute(sql, [conversation.id]):
        found[turn].append((call_id, elapsed_ms))
    return found


def _conversation(conversation: Conversation, session: str, names: dict[str, str]) -> Seen:
    yield "turns", session, sum(is_counted(turn) for turn in conversation.turns)
    yield "title", session, conversation.title
    yield "folder", session, conversation.workspace.folder if conversation.workspace else None
    yield "branch", session, conversation.workspace.branch if conversation.workspace else None
    yield "repository", session, conversation.workspace.repository if conversation.workspace else None
    yield "application", session, conversation.application
    relations = sorted(
        f"{one.kind} {names.get(one.other_id.partition(':')[2], one.other_id)}"
        for one in conversation.relations
        if not one.kind.startswith("prompts-")
    )
    yield "relations", session, relations
    yield "began", session, conversation.started_at.timestamp() * 1000 if conversation.started_at else None
    parts = [part for message in conversation.messages for part in message.parts]
    compactions = [part for part in parts if isinstance(part, Compaction)]
    yield "compactions", session, len(compactions)
    for number, compaction in enumerate(compactions, 1):
        yield "compaction", f"{session}/{number}", compaction.text
    for document in conversation.documents:
        yield f"document {document.kind}", f"{session}/{document.title or document.kind}", document.text
        yield f"document {document.kind}", session, document.text
        if document.kind == "todos":
            yield "to-dos", session, [[title, mark == "x"] for mark, title in TODO.findall(document.text)]
    for state in conversation.files:
        yield "decision", f"{session}/{PurePath(state.path or state.uri).name}", state.decision
    superseded = sorted(turn.superseded for turn in conversation.turns if turn.superseded)
    yield "superseded", session, superseded
    yield "superseded turns", session, len(superseded)
    notices = sorted({part.topic for part in parts if isinstance(part, Notice)})
    yield "notices", session, notices
    yield "marks", session, conversation.marks
    hooks = [part for part in parts if isinstance(part, Hook)]
    yield "hooks", session, [hook.type for hook in hooks]
    yield "hooks that blocked", session, [hook.reason for hook in hooks if hook.is_blocking]
    yield "documents", session, sorted(_kinds_beside_messages(conversation))
    commands = [part for part in parts if isinstance(part, ToolCall) and part.origin == "user"]
    yield "user's commands", session, [_command(command) for command in commands]


def _turns(conversation: Conversation, known: list[list[str]]) -> Iterator[tuple[int, Turn]]:
    """Yield each known turn with its number: the one that counts whose prompt holds the texts that tell it."""
    prompts = {
        turn.index: "\n".join(
            prose_of(message.parts)
            for message in messages_of(conversation, turn.index)
            if message.role == "user" and message.parent_call_id is None
        )
        for turn in conversation.turns
        if is_counted(turn)
    }
    taken: set[int] = set()
    for number, texts in enumerate(known, 1):
        for turn in conversation.turns if texts else []:
            if turn.index in taken or not all(text in prompts.get(turn.index, "") for text in texts):
                continue
            taken.add(turn.index)
            yield number, turn
            break


def _sums(conversation: Conversation, stats: Stats, session: str, truth: Truth) -> Seen:
    """Sums as the figures have them.

    Where those of the session are spread over its turns, only what goes out is recorded of each, so that the others are
    an estimate.
    """
    yield from _row(stats.tokens.total, session)
    for row in stats.tokens.by_model:
        yield from _row(row, f"{session}/model {row.name}")
    is_spread = any(origin.method == "spread" for origin in stats.tokens.origins)
    days = {turn.timing.started_at.date() for turn in conversation.turns if turn.timing.started_at is not None}
    for row in stats.tokens.by_day:
        yield from _row(row, f"{session}/day {row.name}", is_spread=is_spread and len(days) > 1)
    yield from requests_seen(conversation, session, truth)
    is_spread = is_spread and len(conversation.turns) > 1
    numbers = {turn.index: number for number, turn in _turns(conversation, truth.turns.get(session, []))}
    for row in stats.tokens.by_turn:
        index = int((row.id or "#0").rpartition("#")[2]) - 1
        if index in numbers:
            yield from _row(row, f"{session}/{numbers[index]}", is_spread=is_spread)


def _row(row: SpendRow, where: str, *, is_spread: bool = False) -> Seen:
    for name, column in COLUMNS.items():
        if name == "output" or not is_spread:
            yield f"tokens.{name}", where, getattr(row, column)


def requests_seen(conversation: Conversation, session: str, truth: Truth) -> Seen:
    """The tokens of each call of a model that was recorded by itself: for each known one, that with the same input.

    Several files may record the same calls: those of the one that records most calls, and most of each. What goes out
    may be recorded where nothing else is; then a call counts once, however many files have its number.
    """
    by_source: dict[str, list[dict[str, int]]] = defaultdict(list)
    outputs: dict[str, Counter[int | None]] = defaultdict(Counter)
    for usage in (*conversation.usage, *(usage for turn in conversation.turns for usage in turn.usage)):
        if usage.scope != "call":
            continue
        outputs[usage.source][usage.output] += 1
        if usage.input is not None:
            numbers = {name: getattr(usage, column) or 0 for name, column in COLUMNS.items()}
            by_source[usage.source].append(numbers)
    calls = max(by_source.values(), key=lambda each: (len(each), sum(map(sum, map(dict.values, each)))), default=[])
    recorded: Counter[int | None] = reduce(or_, outputs.values(), Counter())
    yield "requests", session, recorded.total()
    for fact in truth.facts:
        if fact.kind == "request" and fact.where.startswith(f"{session}/"):
            same = [call for call in calls if call["input"] == fact.expected["input"]]
            yield "request", fact.where, same[0] if same else None
        elif fact.kind == "request.output" and fact.where.startswith(f"{session}/"):
            yield "request.output", fact.where, fact.expected if recorded[fact.expected] else None


def _command(call: ToolCall) -> list[Any]:
    """What the user ran, and its exit code."""
    return [json.loads(call.arguments or "{}").get("command"), call.concluded_exit_code]


def _kinds_beside_messages(conversation: Conversation) -> set[str]:
    """Return the kinds of documents, without lists of a store and without what a compaction in a turn shows."""
    kinds = {document.kind for document, at in documents_of(conversation) if at is None or document.kind == "todos"}
    recorded = {document.kind for document in conversation.documents}
    return (kinds & recorded) - {"session-file", "reference"}
