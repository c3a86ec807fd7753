"""Explain a line of a file: the conversation that wrote it, what the user wanted, and what ran afterwards.

Everything is a record, with its turn. Nothing is inferred from prose: a record names the file, a question has an
answer, a command has an exit code. That a command tests this very line is recorded nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from copilog.analysis.lineage.blame import blame
from copilog.analysis.lineage.evidence import Origin
from copilog.analysis.lineage.git import GitError, Repository
from copilog.analysis.selection import Chosen
from copilog.derive.argued_edits import is_among
from copilog.derive.commands import commands_of
from copilog.derive.file_touches import CHANGES, file_touches
from copilog.errors import UsageError
from copilog.model import AnyDocument, Confirmation, Conversation, Text
from copilog.store.documents import stored_conversation

MOST_COMMANDS = 5
MOST_EXCERPTS = 5
LONGEST_EXCERPT = 400
RECORDS = ("plan", "checkpoint", "summary")


class BlamedCommit(msgspec.Struct, kw_only=True):
    """The commit that git blames for the line."""

    sha: str
    subject: str
    committed_at: str | None


class Considered(msgspec.Struct, kw_only=True):
    """A question to the user in the turn, or a plan that the user reviewed, and the answer."""

    number: int
    kind: str
    text: str
    options: list[str] = []
    answer: str | None = None


class CommandAfter(msgspec.Struct, kw_only=True):
    """A command that ran after the edit. `number` is that of its turn, from 1."""

    number: int | None
    command: str
    exit_code: int | None


class NamedIn(msgspec.Struct, kw_only=True):
    """A record of the conversation that names the file: a plan, a checkpoint, a summary."""

    kind: str
    title: str | None
    excerpt: str


class Reasons(msgspec.Struct, kw_only=True):
    """Why a line is there."""

    path: str
    line: int
    text: str
    origin: Origin | None = None
    others: list[Origin] = []
    commit: BlamedCommit | None = None
    number: int | None = None  # of the turn, from 1
    prompt: str | None = None
    considered: list[Considered] = []
    commands: list[CommandAfter] = []
    verified_by: CommandAfter | None = None  # the first of them that ended with 0
    records: list[NamedIn] = []
    doubts: list[str] = []
    notes: list[str] = []


def reasons_for(chosen: Chosen, path: Path, line: int) -> Reasons:
    """Return why a line of a file is there, as far as it was recorded."""
    result = blame(chosen, path, line)
    if not result.origins:
        raise UsageError(f"{result.path} has no line {line:,} to explain; " + "; ".join(result.notes or ["no text"]))
    (blamed,) = result.origins
    reasons = Reasons(
        path=result.path,
        line=line,
        text=blamed.text,
        origin=blamed.origin,
        others=blamed.others,
        commit=_commit(path, blamed.commit, blamed.committed_at),
        notes=result.notes,
    )
    if blamed.is_uncertain:
        reasons.doubts.append(blamed.reason or "no record of its origin")
    if blamed.origin is not None:
        (number,) = chosen.connection.execute(
            "SELECT rowid FROM conversation WHERE id = ?", (blamed.origin.conversation,)
        ).fetchone()
        conversation = stored_conversation(chosen.connection, number)
        if conversation is not None:
            _add_conversation(reasons, conversation, blamed.origin.turn)
    return reasons


def _commit(path: Path, sha: str | None, committed_at: str | None) -> BlamedCommit | None:
    if sha is None:
        return None
    try:
        subject = Repository(path.absolute().parent).commit(sha).subject
    except (GitError, OSError):
        subject = ""
    return BlamedCommit(sha=sha, subject=subject, committed_at=committed_at)


def _add_conversation(reasons: Reasons, conversation: Conversation, turn: int | None) -> None:
    reasons.records = list(_records(conversation, reasons.path))
    if turn is None:
        reasons.doubts.append("the turn of the edit is not recorded")
        return
    reasons.number = turn + 1
    reasons.prompt = _prompt(conversation, turn)
    reasons.considered = list(_considered(conversation, turn))
    reasons.commands = _commands_after(conversation, turn, _last_edit(conversation, turn, reasons.path))
    reasons.verified_by = next((made for made in reasons.commands if made.exit_code == 0), None)
    if reasons.prompt is None:
        reasons.doubts.append("the turn has no prompt of the user")
    if reasons.verified_by is None:
        ran = "no command that ran after the edit ended with exit code 0"
        reasons.doubts.append(ran if reasons.commands else "no command ran after the edit")


def _prompt(conversation: Conversation, turn: int) -> str | None:
    texts = [
        part.text.strip()
        for message in conversation.messages
        if message.turn == turn and message.role == "user" and message.parent_call_id is None
        for part in message.parts
        if isinstance(part, Text) and part.text.strip()
    ]
    return "\n".join(texts) or None


def _considered(conversation: Conversation, turn: int) -> Iterator[Considered]:
    for message in conversation.messages:
        for part in message.parts if message.turn == turn else ():
            if not isinstance(part, Confirmation):
                continue
            if part.questions:
                for question in part.questions:
                    text = question.text or question.title
                    if text:
                        yield Considered(
                            number=turn + 1,
                            kind=part.type,
                            text=text,
                            options=question.options,
                            answer=question.answer or part.answer,
                        )
            elif part.type != "confirmation" and (part.message or part.title):
                yield Considered(
                    number=turn + 1,
                    kind=part.type,
                    text=part.message or part.title or "",
                    options=part.options,
                    answer=part.answer or part.state,
                )


def _last_edit(conversation: Conversation, turn: int, path: str) -> int | None:
    """Return the position of the turn's last message that changed the file; None if only the history records it."""
    edits = [
        (touch.path, touch.message)
        for touch in file_touches(conversation)
        if touch.turn == turn and touch.message is not None and touch.action in CHANGES
    ]
    same = [message for edited, message in edits if is_among(edited, [path])]
    alike = [message for edited, message in edits if Path(edited).name == Path(path).name]  # in another clone
    return max(same or alike, default=None)


def _commands_after(conversation: Conversation, turn: int, edited_at: int | None) -> list[CommandAfter]:
    """Return the commands after the edit in its turn; if there are none, those of the next turn that has any."""
    by_turn: dict[int, list[CommandAfter]] = {}
    for made in commands_of(conversation):
        is_before = made.turn == turn and edited_at is not None and made.message < edited_at
        if made.turn is None or made.turn < turn or is_before:
            continue
        by_turn.setdefault(made.turn, []).append(
            CommandAfter(number=made.turn + 1, command=made.command, exit_code=made.exit_code)
        )
    return by_turn[min(by_turn)][:MOST_COMMANDS] if by_turn else []


def _records(conversation: Conversation, path: str) -> Iterator[NamedIn]:
    """Yield the plans, checkpoints and summaries that name the file, each with the paragraph that does."""
    name = Path(path).name
    found = 0
    for document in conversation.documents:
        if document.kind in RECORDS and found < MOST_EXCERPTS and (excerpt := _paragraph_with(document, name)):
            found += 1
            yield NamedIn(kind=document.kind, title=document.title, excerpt=excerpt)


def _paragraph_with(document: AnyDocument, name: str) -> str | None:
    for paragraph in document.text.split("\n\n"):
        if name in paragraph:
            lines = paragraph.strip().split("\n")
            if len(paragraph) > LONGEST_EXCERPT:
                lines = [line for line in lines if name in line]
            return "\n".join(lines)[:LONGEST_EXCERPT]
    return None
