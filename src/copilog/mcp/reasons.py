"""Answer why a line is there, and which conversations a commit comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from copilog.analysis.lineage.commits import CommitTouch, trace_commit
from copilog.analysis.lineage.evidence import Origin
from copilog.analysis.lineage.why import Reasons, reasons_for
from copilog.analysis.selection import choose
from copilog.errors import UsageError
from copilog.mcp.answers import ReasonsAnswer
from copilog.mcp.fitting import REASONS_TOKENS, limited_remarks, within
from copilog.mcp.questions import framed
from copilog.mcp.redacted import cleaner_of
from copilog.model import turn_number
from copilog.writers.mcp_text import one_line, plain, tokens_of

if TYPE_CHECKING:
    from copilog.store.archive import Archive

MOST_TOUCHES = 5
MOST_EVIDENCE = 4
MOST_LINES = 12  # of a prompt or an excerpt
LONGEST_LINE = 300
FILES_INSTEAD = 'Call files(path="{}") for conversations that changed the file, or search for its text.'
SEARCH_INSTEAD = "Call search with words of its message, or files with a path that it changed."

Clean = Callable[[str], str]


def why_line(archive: Archive, line: str, repository: str | None) -> ReasonsAnswer:
    """Return why a line of a file is there, as the file is now."""
    name, _, number = line.strip().rpartition(":")
    if not name or not number.isdecimal() or not 0 < int(number) < 10**9:
        raise UsageError(f"{one_line(line)!r} names no line of a file; write it as src/tides.py:120")
    path = _folder(repository) / Path(name).expanduser()
    if not path.exists():
        raise UsageError(f"there is no file {path} on this machine now; give an absolute path, or call files for it")
    reasons = reasons_for(choose(archive), path, int(number))
    found = reasons.origin or next(iter(reasons.others), None)
    clean = cleaner_of(archive, found.conversation if found is not None else None)
    return ReasonsAnswer(
        subject=one_line(f"{reasons.path}:{reasons.line}"),
        lines=list(_lines(reasons, clean)),
        next_calls=[
            f'Call files(path="{one_line(name)}") for conversations that changed the file, or search for its text.'
        ]
        if found is None
        else [_read(found, reasons.number)],
        remarks=reasons.notes,
    )


def why_commit(archive: Archive, revision: str, repository: str | None) -> ReasonsAnswer:
    """Return the conversations that a commit comes from."""
    result = trace_commit(choose(archive), revision, _folder(repository))
    lines = [result.verdict] if result.verdict else []
    for touch in result.touches[:MOST_TOUCHES]:
        lines += _touch_lines(touch, cleaner_of(archive, touch.conversation))
    if len(result.touches) > MOST_TOUCHES:
        lines.append(f"and {len(result.touches) - MOST_TOUCHES} more conversations")
    return ReasonsAnswer(
        subject=one_line(f"commit {result.sha[:10]}: {cleaner_of(archive)(result.subject)}"),
        lines=lines,
        next_calls=[_read(touch) for touch in result.touches[:MOST_TOUCHES]] or [SEARCH_INSTEAD],
        remarks=result.notes,
    )


def _folder(repository: str | None) -> Path:
    return Path(repository).expanduser() if repository else Path()


def reasons_text(answer: ReasonsAnswer) -> str:
    """Return the answer as text that fits its budget."""
    after = [*limited_remarks(answer.remarks), *answer.next_calls]
    frame = "\n".join([answer.subject, *framed(""), *after])
    recorded = within("\n".join(answer.lines) or "(nothing is recorded)", REASONS_TOKENS - tokens_of(frame))
    return "\n".join([answer.subject, *framed(recorded), *after])


# --- lines of text ------------------------------------------------------------------------------------------------


def _lines(reasons: Reasons, clean: Clean) -> Iterator[str]:
    if reasons.origin is None:
        yield "No conversation is found that wrote this line."
        yield from (f"doubt: {one_line(doubt)}" for doubt in reasons.doubts)
        yield from (f"or: {_headline(other, clean)}" for other in reasons.others[:MOST_TOUCHES])
        return
    yield f"line: {one_line(clean(reasons.text), LONGEST_LINE)}"
    turn = f", turn {reasons.number}" if reasons.number is not None else ""
    yield f"written by: {_headline(reasons.origin, clean)}{turn}"
    yield from _evidence(reasons.origin, clean)
    yield from (f"doubt: {one_line(doubt)}" for doubt in reasons.doubts)
    for made in reasons.commands:
        code = "exit unknown" if made.exit_code is None else f"exit {made.exit_code}"
        yield f"ran after it: {one_line(clean(made.command), LONGEST_LINE)} ({code}, turn {made.number})"
    if reasons.commit is not None:
        yield f"commit: {reasons.commit.sha[:10]} {one_line(clean(reasons.commit.subject))}"
    if reasons.prompt is not None:
        yield from _block("prompt", clean(reasons.prompt))
    for asked in reasons.considered:
        yield from _block("asked", clean(asked.text))
        if asked.answer is not None:
            yield f"  answered: {one_line(clean(asked.answer), LONGEST_LINE)}"
    for record in reasons.records:
        yield from _block(one_line(clean(f"{record.kind} {record.title or ''}")), clean(record.excerpt))
    yield from (f"or: {_headline(other, clean)}" for other in reasons.others[:MOST_TOUCHES])


def _touch_lines(touch: CommitTouch, clean: Clean) -> Iterator[str]:
    lines = f", {touch.lines} of the added lines" if touch.lines else ""
    yield f"{_headline(touch, clean)}{lines}"
    yield from _evidence(touch, clean)


def _headline(origin: Origin, clean: Clean) -> str:
    day = f", {origin.at[:10]}" if origin.at else ""
    return f"{one_line(clean(origin.title), 100)} ({origin.conversation}{day}, {origin.strength})"


def _evidence(origin: Origin, clean: Clean) -> Iterator[str]:
    yield from (f"  {item.kind}: {one_line(clean(item.text))}" for item in origin.evidence[:MOST_EVIDENCE])


def _block(label: str, text: str) -> Iterator[str]:
    first, *others = [one_line(line, LONGEST_LINE) for line in plain(text).strip().split("\n")] or [""]
    yield f"{label}: {first}"
    yield from (f"  {line}" for line in others[: MOST_LINES - 1])
    if len(others) >= MOST_LINES:
        yield "  …"


def _read(origin: Origin, number: int | None = None) -> str:
    number = turn_number(origin.turn) if number is None else number
    turn = f", turn={number}" if number is not None else ""
    return f'Read it: read(id="{origin.conversation}"{turn})'
