"""Collect what is known about one conversation, from the best evidence first."""

from __future__ import annotations

from collections import Counter

from copilog.derive import without_superseded
from copilog.derive.commands import Command, commands_of
from copilog.derive.documents import is_collection
from copilog.derive.outcomes import NOT_DONE, outcome_of
from copilog.derive.recorded_edits import RecordedEdit, recorded_edits
from copilog.digest.command_kinds import kind_of
from copilog.digest.content import Asked, CommandUse, Digest, FileWork
from copilog.digest.pitfalls import pitfalls_of
from copilog.digest.recorded_texts import number_of, passages_of, task_lists_of
from copilog.digest.references import references_of
from copilog.model import Conversation, title_of, turn_number
from copilog.view.conversation_info import content_text, distinct
from copilog.view.turns import first_prompts
from copilog.view.wording import counted

_ACTIONS = {"edit": "edited", "create": "created", "delete": "deleted", "rename": "renamed"}


def digest_of(conversation: Conversation, labels: list[str] | None = None, note: str | None = None) -> Digest:
    """Return what is known about a conversation; its superseded turns say nothing."""
    superseded = len(conversation.turns)
    whole = conversation
    conversation = without_superseded(conversation)
    superseded -= len(conversation.turns)
    workspace = conversation.workspace
    commands = commands_of(conversation)
    counts = list(content_text(conversation, has_messages=False)) if conversation.turns else []
    if superseded:
        counts.append(f"{counted(superseded, 'turn')} undone or replaced")
    return Digest(
        id=conversation.id,
        title=title_of(whole),
        source=conversation.source,
        workspace=(workspace.folder or workspace.uri) if workspace is not None else None,
        repository=workspace.repository if workspace is not None else None,
        branch=workspace.branch if workspace is not None else None,
        started_at=conversation.started_at,
        updated_at=conversation.updated_at,
        agents=distinct(turn.custom_agent.name for turn in conversation.turns if turn.custom_agent is not None),
        labels=labels or [],
        note=note,
        is_collection=is_collection(conversation),
        counts=counts,
        prompts=_prompts(conversation),
        passages=passages_of(conversation),
        tasks=task_lists_of(conversation),
        files=_files(conversation),
        commands=_commands(commands),
        pitfalls=pitfalls_of(conversation, commands),
        references=references_of(conversation, commands),
    )


def _prompts(conversation: Conversation) -> list[Asked]:
    prompts = first_prompts(conversation)
    return [
        Asked(turn_number(turn.index), turn.timing.started_at, prompts.get(turn.index, ""))
        for turn in conversation.turns
    ]


def _files(conversation: Conversation) -> list[FileWork]:
    """Return the files that were changed, those of most turns first."""
    by_path: dict[str, list[RecordedEdit]] = {}
    for edit in recorded_edits(conversation):
        by_path.setdefault(edit.path, []).append(edit)
    made = [
        FileWork(
            path,
            tuple(dict.fromkeys(_ACTIONS.get(edit.action, edit.action) for edit in edits)),
            next((edit.outcome for edit in reversed(edits) if edit.outcome is not None), None),
            tuple(sorted({turn_number(edit.turn) for edit in edits if edit.turn is not None})),
        )
        for path, edits in by_path.items()
    ]
    return sorted(made, key=lambda work: (-len(work.numbers), work.numbers, work.path))


def _commands(commands: list[Command]) -> list[CommandUse]:
    """Return the commands that matter, each text and folder once, with how its last run ended."""
    runs: Counter[tuple[str, str | None]] = Counter()
    uses: dict[tuple[str, str | None], CommandUse] = {}
    for command in commands:
        kind = kind_of(command.command)
        if kind is None or (command.call is not None and outcome_of(command.call).kind in NOT_DONE):
            continue
        key = command.command.strip(), command.directory
        runs[key] += 1
        uses[key] = CommandUse(kind, *key, command.exit_code, runs[key], number_of(command.turn))
    return list(uses.values())
