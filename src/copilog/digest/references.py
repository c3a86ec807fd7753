"""Find the commits, pull requests and issues that a conversation made, recorded, or named in its words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from copilog.analysis.references import commits_in_answer, references_in
from copilog.derive.commands import Command
from copilog.digest.content import NamedReference
from copilog.digest.recorded_texts import number_of
from copilog.model import Conversation, ReferenceDocument, Text, results_by_call
from copilog.store.programs import programs_of

_COMMITTING = frozenset({"git commit", "git cherry-pick", "git revert", "git merge"})
_COMMIT = re.compile(r"[0-9a-fA-F]{7,40}")  # what a store calls a commit may be a branch
_MESSAGE = re.compile(r"""\s(?:-[a-z]*m|--message)[ =]?(["'])([^\n]+?)(?:\1|\n)""")
_RECORDED = {"pr": "pull-request", "issue": "issue", "commit": "commit"}


def references_of(conversation: Conversation, commands: list[Command]) -> list[NamedReference]:
    """Return each reference once, with the first turn that has it; those that were made come first."""
    found: dict[tuple[str, str], NamedReference] = {}
    for each in [*_made(conversation, commands), *_recorded(conversation), *_named(conversation)]:
        key = each.kind, each.name
        known = found.get(key)
        found[key] = each if known is None else known._replace(url=known.url or each.url)
    return list(found.values())


def _made(conversation: Conversation, commands: list[Command]) -> Iterator[NamedReference]:
    """Yield the commits that git reported after a command that makes commits."""
    results = results_by_call(conversation)
    for command in commands:
        if command.call is None or not _COMMITTING.intersection(programs_of(command.command)):
            continue
        result = results.get(command.call.id)
        texts = [result.text if result is not None else None, command.terminal.output if command.terminal else None]
        commits = {commit: None for text in texts if text for commit in commits_in_answer(text)}
        message = _message_in(command.command) if len(commits) == 1 else None
        for commit in commits:
            yield NamedReference("commit", commit, None, True, number_of(command.turn), message)


def _message_in(command: str) -> str | None:
    """Return the first line of the message that a command commits with, if it is among its arguments."""
    match = _MESSAGE.search(command)
    return (match[2].strip() or None) if match is not None else None


def _recorded(conversation: Conversation) -> Iterator[NamedReference]:
    """Yield what a session store lists, with the turn if it has one."""
    listed = [
        (document.type, document.value or "", document.turn)
        for document in conversation.documents
        if isinstance(document, ReferenceDocument)
    ]
    listed += [(relation.kind, relation.other_id, None) for relation in conversation.relations]
    for recorded, value, turn in listed:
        kind = _RECORDED.get(recorded or "")
        if kind is not None and value and not (kind == "commit" and not _COMMIT.fullmatch(value)):
            named = next(references_in(value), None)
            name, url = (named.name, named.url) if named is not None else (value, None)
            yield NamedReference(kind, name, url, False, number_of(turn))


def _named(conversation: Conversation) -> Iterator[NamedReference]:
    """Yield what the user and the answers name, not what tools returned."""
    for message in conversation.messages:
        for part in message.parts:
            if type(part) is Text and ("/pull" in part.text or "/issues/" in part.text or "/commit" in part.text):
                for named in references_in(part.text):
                    yield NamedReference(named.kind, named.name, named.url, False, number_of(message.turn))
