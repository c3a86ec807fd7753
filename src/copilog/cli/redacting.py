"""Redaction on the command line: its options, what they mean together with the config, and what is printed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from copilog.cli.common import Function, Settings, plural
from copilog.errors import CopilogError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from copilog.model import Conversation
    from copilog.redaction import Private, Redactor
    from copilog.redaction.decisions import Decisions
    from copilog.redaction.reviewing import Case
    from copilog.store.archive import Archive

TOGETHER = 8  # conversations that a process gets at once


class Stopped(CopilogError):  # noqa: N818 - it is what the user chose
    """The user stopped a review."""


def redact_option(function: Function) -> Function:
    """Add --redact; the function gets `redact`, None if the config decides."""
    return click.option(
        "--redact/--no-redact",
        "redact",
        default=None,
        help="Replace keys, tokens, passwords, e-mail addresses, user names in home paths, names of hosts, and what "
        "the config file lists. Default: what the config file says, else no.",
    )(function)


def review_option(function: Function) -> Function:
    """Add --review."""
    return click.option(
        "--review",
        is_flag=True,
        help="With redaction: show each finding, and ask whether to keep or replace it, before anything is written.",
    )(function)


def private_in(settings: Settings) -> Private:
    """Return what the config lists as private, and the name of this machine."""
    import socket

    from copilog.redaction import Private

    listed = settings.config.private.value
    hosts = [*listed.get("hosts", ()), *_names_of(socket.gethostname())]
    return Private(tuple(listed.get("words", ())), tuple(dict.fromkeys(hosts)), tuple(listed.get("users", ())))


def is_redacted(settings: Settings, redact: bool | None) -> bool:
    """Return whether to redact: as the option says, else as the config says."""
    return settings.config.redact.value if redact is None else redact


def redactor_for(settings: Settings, redact: bool | None, archive: Path | None = None) -> Redactor | None:
    """Return what redacts the output of this run, or None if it is not to be redacted.

    Findings stay that the user decided to keep for this archive.
    """
    if not is_redacted(settings, redact):
        return None
    from copilog.redaction import Redactor

    return Redactor(private_in(settings), keeps=decisions_for(archive).keeps)


def own_archive(settings: Settings) -> Path | None:
    """Return the path of the user's archive; None if a temporary one is used."""
    from copilog.store.database import archive_path

    return None if settings.reads_disk() else archive_path(settings.archive)


def decisions_for(archive: Path | None) -> Decisions:
    """Return what the user decided for an archive; none for a temporary one."""
    from copilog.redaction.decisions import Decisions, decisions_path

    return Decisions(None if archive is None else decisions_path(archive))


class _Batch(NamedTuple):
    """Conversations that one process redacts."""

    archive: Path
    ids: list[str]
    private: Private
    key: bytes


def redacted_conversations(
    archive: Archive, ids: Sequence[str], redactor: Redactor, jobs: int
) -> Iterator[Conversation]:
    """Yield conversations of an archive in this order, redacted on several cores; the redactor has the counts.

    Raise NotRedacted at the first one that could not be scanned.
    """
    from copilog.engine import engine_for

    batches = [list(ids[at : at + TOGETHER]) for at in range(0, len(ids), TOGETHER)]
    if len(batches) < 2 or jobs < 2:
        for conversation_id in ids:
            yield redactor.value(archive.get(conversation_id))
        return
    parts = [_Batch(archive.path, batch, redactor.private, redactor.key) for batch in batches]
    with engine_for(min(jobs, len(parts))) as engine:
        for conversations, counts in engine.map(redact_batch, parts):
            redactor.counts.update(counts)
            yield from conversations


def redact_batch(batch: _Batch) -> tuple[list[Conversation], Counter[str]]:
    """Return conversations without secrets, and what was replaced. Runs in a process of its own."""
    from copilog.redaction import Redactor
    from copilog.store.archive import Archive

    redactor = Redactor(batch.private, keeps=decisions_for(batch.archive).keeps, key=batch.key)
    with Archive(batch.archive) as archive:
        return [redactor.value(archive.get(conversation_id)) for conversation_id in batch.ids], redactor.counts


def print_replaced(counts: Counter[str]) -> None:
    """Print to standard error what was replaced, and what that does not mean."""
    from copilog.redaction.notice import NOTICE, replaced_line

    click.echo(replaced_line(counts), err=True)
    click.echo(NOTICE, err=True)


def review(settings: Settings, conversations: Iterable[Conversation], archive: Path | None) -> Redactor:
    """Show each secret that was not decided about, ask what to do with it, and return what redacts accordingly.

    The decisions are remembered beside the archive, once all are made. If the user stops, `Stopped` is raised, and
    nothing is remembered.
    """
    from copilog.redaction import Redactor
    from copilog.redaction.reviewing import cases_in

    decisions, private = decisions_for(archive), private_in(settings)
    cases = [case for case in cases_in(conversations, decisions, private) if case.decision is None]
    replaced_kinds: set[str] = set()
    for number, case in enumerate(cases, 1):
        kind = case.finding.kind
        answer = "r"
        if kind not in replaced_kinds:
            _show(settings, case, f"{number:,} of {len(cases):,}")
            answer = _answer(kind)
            if answer == "a":
                replaced_kinds.add(kind)
        decisions.decide(case.finding, "keep" if answer == "k" else "replace")
    if cases:
        decisions.save()
    return Redactor(private, keeps=decisions.keeps)


def _names_of(host: str) -> list[str]:
    """Return the name of this machine, complete and short, if it is a name of its own."""
    names = [host, host.partition(".")[0]]
    return [name for name in names if len(name) > 3 and not name.lower().startswith(("localhost", "127."))]


def _show(settings: Settings, case: Case, count: str) -> None:
    from rich.text import Text

    from copilog.view.terminal_text import clean_line

    finding, number = case.finding, len(case.places)
    title = Text(f"{count}  {finding.kind}", "bold")
    title.append(f"  {finding.evidence}, {finding.confidence}; {number:,} {plural(number, 'place')}", "dim")
    settings.err.print(title)
    for turn, before, found, after in case.shown:
        line = Text("    ")
        line.append(f"turn {turn}: " if turn is not None else "", "dim")
        line.append(clean_line(before) + " " * before.endswith((" ", "\n")))
        line.append(clean_line(found), "bold red")
        line.append(" " * after.startswith((" ", "\n")) + clean_line(after))
        settings.err.print(line)


def _answer(kind: str) -> str:
    answer = click.prompt(
        f"    [r]eplace, [k]eep, replace [a]ll of kind {kind}, [q]uit without writing",
        type=click.Choice(["r", "k", "a", "q"]),
        default="r",
        show_choices=False,
        err=True,
    )
    if answer == "q":
        raise Stopped("stopped: nothing was written, and no decision was remembered")
    return str(answer)
