"""Commands that conversations ran as a script: what is not a command is a comment, which no text of others can end."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from copilog.analysis.commands import CommandRun
from copilog.view.wording import approval_words

DID_NOT_RUN = frozenset({"denied", "skipped", "cancelled"})

Facts = Callable[[CommandRun], list[str]]


def facts_of_run(run: CommandRun, *, when: Callable[[str], str], duration: Callable[[float], str]) -> list[str]:
    """Return what is known of a command, in words: turn, time, exit code, outcome, duration, approval, directory."""
    facts = [
        f"turn {run.number}" if run.number is not None else "",
        when(run.at) if run.at else "",
        "" if run.exit_code is None else f"exit {run.exit_code}",
        _outcome(run),
        duration(run.elapsed_ms) if run.elapsed_ms is not None else "",
        _approved(run),
        f"edited by the {run.edited_by}" if run.edited_by else "",
        f"in {_one_line(run.directory)}" if run.directory else "",
    ]
    return [fact for fact in facts if fact]


def script_lines(runs: Sequence[CommandRun], facts: Facts) -> Iterator[str]:
    """Yield the lines of a script of these commands, in their order. It is not run."""
    directory: str | None = None
    for conversation, group in groupby(runs, key=lambda run: run.id):
        made = list(group)
        yield f"# {_one_line(conversation)}: {_one_line(made[0].title or '')}"
        for run in made:
            yield f"# {_one_line('; '.join(facts(run)))}"
            reason = _why_left_out(run)
            if reason is not None:
                yield f"# left out, {reason}: {_one_line(run.command)}"
                continue
            if run.directory is not None and run.directory != directory and _is_printable(run.directory):
                directory = run.directory
                yield f"cd {shlex.quote(directory)}"
            yield run.command.rstrip("\n")


def _outcome(run: CommandRun) -> str:
    """Return how the call ended, unless its approval or the exit code says so."""
    is_plain = run.outcome in (None, "succeeded", "unknown", run.approval)
    return "" if is_plain else str(run.outcome)


def _approved(run: CommandRun) -> str:
    if run.origin == "user":
        return "typed by the user"
    return approval_words(run.approval, run.approval_detail) if run.approval is not None else ""


def _why_left_out(run: CommandRun) -> str | None:
    if run.outcome in DID_NOT_RUN:
        return f"it did not run ({run.outcome})"
    return None if _is_printable(run.command) else "it has control characters"


def _one_line(text: str) -> str:
    return " ".join("".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text).split())


def _is_printable(text: str) -> bool:
    return all(char.isprintable() or char in "\n\t" for char in text)
