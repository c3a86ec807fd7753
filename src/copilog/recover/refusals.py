"""Judge session files by the rules of the program that reads them: what it refuses, where, and why.

copilog's readers continue where the programs give up, so the files are read by them, and what they had to repair is
what the programs refuse. Format notes: docs/formats/vscode-chat.md, docs/formats/copilot-cli.md
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import msgspec

from copilog import jsonio
from copilog.diagnostics import Diagnostic, Ledger
from copilog.errors import BadRecord
from copilog.fields import Json
from copilog.intake.files import read_bytes
from copilog.intake.long_documents import LongDocument
from copilog.intake.records import BLANK, JsonLines
from copilog.sources.documents import read_session_document
from copilog.sources.vscode.session_log import INITIAL, PUSH, Replayed, apply_mutation, is_change

# Repairs that VS Code makes as well: broken bytes become U+FFFD, and its JSON may hold half characters.
ACCEPTED = frozenset({"invalid-utf8", "lone-surrogate", "raw-line-separator", "value-truncated"})
# The kinds of parts of a prompt that VS Code knows; any other one costs the whole session.
PROMPT_PARTS = frozenset({"text", "agent", "subcommand", "slash", "prompt", "tool", "toolset", "dynamic", "var"})


class Refusal(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a program refuses a file, and where."""

    code: str
    reason: str
    line: int | None = None
    pointer: str | None = None


class LogLine(NamedTuple):
    """A line of a log: its bytes, what of it can be applied, and whether that is the line as it is."""

    data: bytes
    usable: list[bytes]
    is_intact: bool


class Examined(NamedTuple):
    """A session file, judged: its state as copilog reads it, and why VS Code refuses it."""

    state: Json | None
    refusals: list[Refusal]
    lines: list[LogLine] = []  # of a log
    is_headless: bool = False
    removed: list[Any] = []  # requests that lines of the log took back


def is_json(data: bytes) -> bool:
    """Return whether JavaScript can parse the bytes, read as UTF-8 with U+FFFD for what is none."""
    try:
        jsonio.decode_strictly(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    else:
        return True
    try:
        json.loads(data.decode("utf-8", "replace"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def examine(path: Path) -> Examined:
    """Judge a session file of VS Code, `.jsonl` or `.json`; raise BadFile if it cannot be read at all."""
    return examine_log(read_bytes(path)) if path.suffix.lower() == ".jsonl" else examine_document(path)


def refused_requests(state: Json) -> list[Refusal]:
    """Return the requests of a session by which VS Code shows the whole session empty."""
    requests = state.get("requests", [])
    if not isinstance(requests, list):
        return [Refusal("bad-request", "the requests are not a list", pointer="/requests")]
    found = []
    for index, request in enumerate(requests):
        reason = why_request_is_refused(request)
        if reason is not None:
            found.append(Refusal("bad-request", f"request {index + 1} {reason}", pointer=f"/requests/{index}"))
    return found


def why_request_is_refused(request: Any) -> str | None:
    if not isinstance(request, dict):
        return "is a hole" if request is None else "is not an object"
    message = request.get("message")
    if isinstance(message, str):
        return None
    if not isinstance(message, dict):
        return "has no message"
    parts = message.get("parts")
    if not isinstance(parts, list):
        return "has a message without parts"
    return None if all(map(is_prompt_part, parts)) else "has a prompt with a part that VS Code does not know"


def is_prompt_part(part: Any) -> bool:
    return isinstance(part, dict) and part.get("kind") in PROMPT_PARTS and isinstance(part.get("range"), dict)


# --- logs -----------------------------------------------------------------------------------------------------------


def examine_log(data: bytes) -> Examined:
    """Judge a log of VS Code: every line has to be JSON and has to apply, after an initial state."""
    text, repairs = jsonio.as_utf8(data)
    found = [Refusal(repair.code, repair.reason, 1) for repair in repairs]
    log, ledger = Replayed(), Ledger()
    raw = text.split(b"\n")
    usable: dict[int, list[bytes]] = {}
    by_line: dict[int, Refusal] = {}
    first_state = None
    for record, number, offset, _ in JsonLines(text, ledger, is_change):
        as_written = jsonio.encode(_with_path(record)).encode()  # applying it may change it
        was_pathless, was_headless = log.is_pathless, log.is_headless
        try:
            apply_mutation(record, log)
        except BadRecord as error:
            ledger.reject(error.code, str(error), line=number, offset=offset)
            continue
        if log.is_pathless and not was_pathless:
            log.is_pathless = False
            by_line.setdefault(number, Refusal("pathless-change", "requests are added without a path", number))
        if log.is_headless and not was_headless:
            by_line.setdefault(number, Refusal("headless-log", "a change before there is an initial state", number))
        if record.get("kind") == INITIAL and first_state is None:
            first_state = number
        usable.setdefault(number, []).append(as_written)
    if not usable:
        found.append(Refusal("empty-file", "the log is empty", 1))
    for problem in (*ledger.bad, *ledger.notes):
        _add_by_line(problem, by_line)
    lines = [_line(each, usable.get(number, []), number, by_line) for number, each in enumerate(raw, start=1)]
    if not log.is_headless and first_state is not None:  # what was changed before an initial state does not count
        lines = [_lost(line) if number < first_state else line for number, line in enumerate(lines, start=1)]
    found += sorted(by_line.values(), key=lambda refusal: refusal.line or 0)
    state = log.state if isinstance(log.state, dict) else None
    if state is not None:
        found += refused_requests(state)
    return Examined(state, found, lines, log.is_headless, log.removed_requests())


def _with_path(record: Json) -> Json:
    """Return a change with the path that copilog's reader takes it to have."""
    is_pathless = record.get("kind") == PUSH and not isinstance(record.get("k"), list)
    return {**record, "k": ["requests"]} if is_pathless else record


def _add_by_line(problem: Diagnostic, by_line: dict[int, Refusal]) -> None:
    if problem.line is not None and problem.code not in ACCEPTED:
        by_line.setdefault(problem.line, Refusal(problem.code, problem.reason, problem.line))


def _line(data: bytes, usable: list[bytes], number: int, by_line: dict[int, Refusal]) -> LogLine:
    """Return a line, and note why VS Code refuses it if no repair has said so."""
    is_blank = not data.strip(BLANK)
    is_intact = is_blank or (is_json(data) and len(usable) == 1 and number not in by_line)
    if not is_intact and number not in by_line:
        by_line[number] = Refusal("bad-json", "the line is not one JSON value", number)
    return LogLine(data, usable, is_intact)


def _lost(line: LogLine) -> LogLine:
    return line._replace(usable=[], is_intact=not line.data.strip(BLANK))


# --- documents ------------------------------------------------------------------------------------------------------


def examine_document(path: Path) -> Examined:
    """Judge a session that is one JSON document."""
    data, ledger = read_bytes(path), Ledger()
    document = read_session_document(path, ledger)
    state = document.state if document is not None else None
    if state is not None and isinstance(state.get("requests"), LongDocument):
        state = {**state, "requests": list(state["requests"].values())}
    found: list[Refusal] = []
    if not is_json(data):
        problems = [problem for problem in (*ledger.bad, *ledger.notes) if problem.code not in ACCEPTED]
        found = [Refusal(problem.code, problem.reason, _line_at(data, problem.offset)) for problem in problems[:1]]
        found = found or [Refusal("bad-json", "the file is not one JSON value", 1)]
    elif state is None:
        found = [Refusal("bad-record", "the file is not one JSON object", 1)]
    return Examined(state, found + (refused_requests(state) if state is not None else []))


def _line_at(data: bytes, offset: int | None) -> int:
    return data.count(b"\n", 0, offset or 0) + 1


# --- Copilot CLI ----------------------------------------------------------------------------------------------------


def examine_cli_events(path: Path) -> list[Refusal]:
    """Return why `copilot --resume` refuses a session; it skips lines that are broken, so only the head is judged."""
    begin = next(iter(JsonLines(path, Ledger(), lambda _: True)), None)
    if begin is None:
        return [Refusal("empty-file", "the log of events is empty", 1)]
    first, number, _, _ = begin
    if first.get("type") != "session.start":
        return [Refusal("headless-log", "the first event is not session.start", number)]
    data = first.get("data")
    missing = [name for name in ("id", "timestamp") if not isinstance(first.get(name), str)]
    if not isinstance(data, dict) or "version" not in data:
        missing.append("version")
    return [Refusal("bad-record", f"session.start has no {' and no '.join(missing)}", number)] if missing else []
