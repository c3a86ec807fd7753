"""Answer what was run, which files were worked with, and what was remembered, from the tables of the archive."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from copilog.analysis.commands import CommandRun, command_runs
from copilog.analysis.selection import choose
from copilog.errors import UsageError
from copilog.mcp.answers import (
    CommandLine,
    CommandsAnswer,
    FileAnswer,
    FilesAnswer,
    FileWork,
    MemoriesAnswer,
    Memory,
    TouchedFile,
)
from copilog.mcp.memories import MOST_OPENED, Recorded, recorded_memories
from copilog.mcp.questions import id_of, named
from copilog.mcp.redacted import cleaner_of
from copilog.model import turn_number
from copilog.writers.mcp_text import one_line, plain, shortened

if TYPE_CHECKING:
    from copilog.store.archive import Archive
    from copilog.store.selection import Selection

LONGEST_COMMAND = 1_500
LONGEST_MEMORY = 2_000
MOST_NUMBERS = 50  # turns of one conversation that are named

_WORK = """
    SELECT c.id, c.title, c.workspace, c.updated_at, e.path, json_group_array(DISTINCT e.turn),
           json_group_array(DISTINCT e.action), sum(e.added), sum(e.removed)
    FROM file_edits AS e JOIN conversations AS c ON c.id = e.conversation JOIN temp.chosen AS k ON k.id = c.id
    WHERE (replace(e.path, '\\', '/') LIKE ?1 ESCAPE '!' OR replace(e.path, '\\', '/') LIKE ?2 ESCAPE '!')
      AND e.is_counted AND e.superseded IS NULL
    GROUP BY c.id, e.path ORDER BY c.updated_at DESC, c.id, e.path LIMIT ?3 OFFSET ?4
"""


def with_id(archive: Archive, selection: Selection, name: str | None) -> Selection:
    """Return the selection, of one conversation if one is named."""
    return selection if name is None else msgspec.structs.replace(selection, conversation=id_of(archive, name))


# --- commands -----------------------------------------------------------------------------------------------------


def commands(
    archive: Archive, selection: Selection, text: str | None, exit_code: str | None, limit: int, offset: int
) -> CommandsAnswer:
    """Return the different commands that were run, the last one first.

    Commands that have the text in their first line come before those that have it in a script further down.
    """
    groups: dict[tuple[str, str | None], list[CommandRun]] = {}
    for run in command_runs(choose(archive, selection), text=text, exit_code=exit_code):
        groups.setdefault((run.command.strip(), run.directory), []).append(run)
    part = (text or "").partition("*")[0].casefold()
    found = sorted(groups.values(), key=lambda runs: max(run.at or "" for run in runs), reverse=True)
    found.sort(key=lambda runs: part not in runs[0].command.strip().partition("\n")[0].casefold())
    page = found[offset : offset + limit]
    none = 'No such command was recorded. Call search(query="...") for the text, or commands without text.'
    return CommandsAnswer(
        total=len(found),
        commands=[_command_of(archive, runs) for runs in page],
        offset=offset,
        next_offset=offset + limit if len(found) > offset + limit else None,
        remarks=[] if found else [none],
    )


def _command_of(archive: Archive, runs: list[CommandRun]) -> CommandLine:
    last = max(runs, key=lambda run: run.at or "")
    clean = cleaner_of(archive)
    return CommandLine(
        command=shortened(plain(clean(last.command.strip())), LONGEST_COMMAND),
        directory=named(last.directory),
        workspace=named(last.workspace),
        runs=len(runs),
        succeeded=sum(run.exit_code == 0 for run in runs),
        failed=sum(run.exit_code not in (0, None) for run in runs),
        last_exit=last.exit_code,
        last_outcome=last.outcome,
        last_approval=last.approval,
        last_at=last.at,
        id=last.id,
        number=last.number,
    )


# --- files --------------------------------------------------------------------------------------------------------


def conversations_of_file(archive: Archive, selection: Selection, path: str, limit: int, offset: int) -> FileAnswer:
    """Return the conversations that changed a file, given its path or the end of it."""
    name = path.strip().replace("\\", "/").removeprefix("./")
    if not name.strip("/"):
        raise UsageError("name a file, such as lookup.py or src/app/lookup.py")
    escaped = name.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    choose(archive, selection)
    rows = archive.connection.execute(_WORK, (escaped, f"%/{escaped.lstrip('/')}", limit + 1, offset)).fetchall()
    none = f'No conversation changed it. Call search(query="file:{one_line(name, 100)}") for those that read it.'
    return FileAnswer(
        path=one_line(path, 500),
        conversations=[_work_of(row) for row in rows[:limit]],
        offset=offset,
        next_offset=offset + limit if len(rows) > limit else None,
        remarks=[] if rows or offset else [none],
    )


def _work_of(row: tuple[Any, ...]) -> FileWork:
    name, title, workspace, updated_at, path, turns, actions, added, removed = row
    return FileWork(
        id=name,
        title=one_line(title),
        workspace=named(workspace),
        updated_at=updated_at,
        path=one_line(path, 500),
        numbers=sorted(turn_number(turn) for turn in _decoded(turns) if turn is not None)[:MOST_NUMBERS],
        actions=sorted(filter(None, _decoded(actions))),
        added=added,
        removed=removed,
    )


def _decoded(names: str) -> list[Any]:
    found: list[Any] = msgspec.json.decode(names)
    return found


def files(archive: Archive, selection: Selection, limit: int, offset: int) -> FilesAnswer:
    """Return the files that most conversations worked with."""
    from copilog.analysis.work_outcomes import important_files

    rows = important_files(choose(archive, selection), limit=offset + limit + 1)
    none = "No file was touched there. Call search without a query for a list of conversations."
    return FilesAnswer(
        files=[
            TouchedFile(
                path=one_line(row.path, 500), conversations=row.conversations, turns=row.turns, changes=row.changes
            )
            for row in rows[offset : offset + limit]
        ],
        offset=offset,
        next_offset=offset + limit if len(rows) > offset + limit else None,
        remarks=[] if rows else [none],
    )


# --- memories -----------------------------------------------------------------------------------------------------


def memories(archive: Archive, selection: Selection, text: str | None, limit: int, offset: int) -> MemoriesAnswer:
    """Return memories and plans that have all words of a text, newest first."""
    words = (text or "").casefold().split()
    recorded = recorded_memories(archive, selection)
    found = [each for each in recorded.found if _has(each, words)]
    none = "No memory or plan has this. Call search(query=...) for the conversations themselves."
    partial = f"Only the {MOST_OPENED} last active conversations were read; give workspace, since or until for others."
    return MemoriesAnswer(
        memories=[_memory_of(archive, each) for each in found[offset : offset + limit]],
        offset=offset,
        next_offset=offset + limit if len(found) > offset + limit else None,
        remarks=[*([] if found else [none]), *([] if recorded.is_complete else [partial])],
    )


def _has(recorded: Recorded, words: Iterable[str]) -> bool:
    text = " ".join(filter(None, (recorded.title, recorded.path, recorded.text))).casefold()
    return all(word in text for word in words)


def _memory_of(archive: Archive, recorded: Recorded) -> Memory:
    text = plain(cleaner_of(archive)(recorded.text)).strip()
    return Memory(
        kind=recorded.kind,
        title=named(recorded.title),
        path=named(recorded.path),
        id=recorded.id,
        workspace=named(recorded.workspace),
        updated_at=recorded.updated_at,
        text=shortened(text, LONGEST_MEMORY),
        is_cut=len(text) > LONGEST_MEMORY,
    )
