"""Find conversations that made a commit, or name it: by git's answers, texts and recorded references.

The id of a commit exists once it is made. A conversation that names it soon after probably made it; one that names it
later only refers to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

from copilog.analysis.lineage.conversations_of_files import ChosenConversation, Opened, messages_with
from copilog.analysis.lineage.evidence import Evidence, duration_text
from copilog.analysis.lineage.git import Commit
from copilog.analysis.lineage.path_matching import Project
from copilog.analysis.selection import Chosen
from copilog.model import Terminal, ToolCall, ToolResult
from copilog.store.times import time_text, timestamp_from

SHORTEST_ID = 7  # of abbreviated ones, as git shows them
SHORTEST_NUMBER = 10  # of those without a letter, which may be any number
SOON = timedelta(hours=1)
AT_ONCE = timedelta(minutes=2)
MOST_OPENED = 50

_COMMITS = re.compile(r"\bgit\b[^\n|;&]*\bcommit\b")
_MADE = re.compile(r"\[[^\]\n]{1,300}\b([0-9a-f]{7,64})\]")


def references_to(
    chosen: Chosen, conversations: dict[int, ChosenConversation], commit: Commit, project: Project
) -> dict[int, list[Evidence]]:
    """Return the evidence that conversations have of a commit."""
    found: dict[int, list[Evidence]] = {}
    for number, evidence in _relations(chosen, commit):
        found.setdefault(number, []).append(evidence)
    naming = _naming(chosen, commit)
    makers = dict(_committing_conversations(chosen, conversations, commit, list(naming)))
    for number, evidence in naming.items():
        found.setdefault(number, []).append(makers.get(number, evidence))
    for number, evidence in _running_git(chosen, conversations, commit, project):
        if number not in makers:
            found.setdefault(number, []).append(evidence)
    return found


def _relations(chosen: Chosen, commit: Commit) -> Iterator[tuple[int, Evidence]]:
    rows = chosen.connection.execute(
        "SELECT r.conversation, r.reason, s.at FROM relation AS r JOIN temp.chosen AS s USING (conversation)"
        " WHERE r.kind = 'commit' AND length(r.other_id) >= ?1"
        " AND substr(?2, 1, length(r.other_id)) = lower(r.other_id)"
        " ORDER BY r.conversation, r.position",
        (SHORTEST_ID, commit.sha),
    )
    for number, reason, at in rows:
        text = "its record refers to the commit" + (f" ({reason})" if reason else "")
        yield number, Evidence(kind="reference", text=text, strength="medium", at=at)


def _naming(chosen: Chosen, commit: Commit) -> dict[int, Evidence]:
    """Return the first message of each conversation that has the commit's id, or the beginning of it."""
    ids = [commit.sha[:length] for length in range(SHORTEST_ID, len(commit.sha) + 1)]
    told = [name for name in ids if len(name) >= SHORTEST_NUMBER or not name.isdigit()]
    found: dict[int, Evidence] = {}
    for number, turn, at, role in messages_with(chosen, " OR ".join(f'"{name}"' for name in told)):
        if number in found or role in ("title", "document"):
            continue
        said, made = timestamp_from(at), commit.committed_at
        is_soon = said is not None and made is not None and said - made <= SOON
        text = "a message names the commit" + (f", {duration_text(said - made)} after it" if said and made else "")
        found[number] = Evidence(
            kind="reference", text=text, strength="medium" if is_soon else "weak", turn=turn, at=at
        )
    return found


def _committing_conversations(
    chosen: Chosen, conversations: dict[int, ChosenConversation], commit: Commit, naming: list[int]
) -> Iterator[tuple[int, Evidence]]:
    """Yield the conversations in which `git commit` was run and answered with this commit."""
    for number in [number for number in conversations if number in naming][:MOST_OPENED]:
        conversation = Opened(chosen, conversations[number])
        for turn, command, output in _commands(conversation):
            made = (match[1] for match in _MADE.finditer(output))
            if _COMMITS.search(command) and any(commit.sha.startswith(name) for name in made):
                text = "it ran `git commit`, which answered with this commit"
                yield number, Evidence(kind="commit", text=text, strength="strong", turn=turn)
                break


def _commands(opened: Opened) -> Iterator[tuple[int | None, str, str]]:
    """Yield turn, command and output of all terminal commands. The output may be in either of two parts."""
    commands: dict[str, tuple[int | None, str]] = {}
    results: dict[str, str] = {}
    for message in opened.conversation.messages:
        if not opened.counts(message.turn):
            continue
        for part in message.parts:
            if isinstance(part, Terminal):
                if part.output:
                    yield message.turn, part.command, part.output
                if part.call_id is not None:
                    commands[part.call_id] = message.turn, part.command
            elif isinstance(part, ToolCall) and part.arguments and "commit" in part.arguments:
                commands.setdefault(part.id, (message.turn, part.arguments))
            elif isinstance(part, ToolResult):
                results[part.call_id] = part.full_text or part.text
    for call_id, (turn, command) in commands.items():
        if call_id in results:
            yield turn, command, results[call_id]


def _running_git(
    chosen: Chosen, conversations: dict[int, ChosenConversation], commit: Commit, project: Project
) -> Iterator[tuple[int, Evidence]]:
    """Yield the conversations that ran `git commit` in this project just when the commit was made."""
    if commit.committed_at is None:
        return
    rows = chosen.connection.execute(
        "SELECT f.conversation, f.turn, f.started_at FROM tool_call AS f JOIN temp.chosen_turn AS c"
        " ON c.conversation = f.conversation AND c.turn = coalesce(f.turn, -1)"
        " WHERE f.programs LIKE '%\"git commit\"%' AND f.started_at BETWEEN ? AND ? ORDER BY f.started_at DESC",
        (time_text(commit.committed_at - AT_ONCE), time_text(commit.committed_at + AT_ONCE)),
    )
    seen: set[int] = set()
    for number, turn, at in rows:
        if number not in seen and project.likeness_of(conversations[number].home) is not None:
            seen.add(number)
            text = "it ran `git commit` in this project at that time"
            yield number, Evidence(kind="commit", text=text, strength="medium", turn=turn, at=at)
