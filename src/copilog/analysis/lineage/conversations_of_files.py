"""Find conversations that may have touched files: those that edited them, and those that name them.

The tables have the conversations that edited a path, the full-text index those that name it, so that only these are
opened. Turns that repeat those of another conversation are left out, and so are those outside the period.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from copilog.analysis.lineage.edited_lines import Edit, edits_in
from copilog.analysis.lineage.path_matching import Home, RequestedFile, RequestedFiles, file_name
from copilog.analysis.selection import NO_TURN, Chosen
from copilog.derive import without_superseded
from copilog.model import Conversation
from copilog.store.documents import stored_conversation
from copilog.store.schema import MESSAGE_BITS

MOST_OPENED = 400  # conversations, the newest first
MOST_MENTIONS = 5_000  # messages

# Names of tools that write, of any product; the files that they wrote are searched for in their arguments.
_WRITERS = ("edit", "replace", "create", "patch", "write", "insert")


class ChosenConversation(NamedTuple):
    """The rows that the tables have of a conversation."""

    number: int
    id: str
    title: str
    source: str
    workspace: str | None
    repository: str | None
    started_at: str | None
    at: str | None

    @property
    def home(self) -> Home:
        return Home(self.workspace, self.repository)


class Mention(NamedTuple):
    """A message that names a file."""

    conversation: int
    turn: int | None
    at: str | None
    place: str  # "paths", "arguments"
    is_whole: bool  # of the conversation, not of a turn: its editing history


def chosen_conversations(chosen: Chosen) -> dict[int, ChosenConversation]:
    """Return the chosen conversations, newest first."""
    rows = chosen.connection.execute(
        "SELECT c.rowid, c.id, c.title, c.source, c.workspace, c.repository, c.started_at,"
        " coalesce(c.updated_at, c.started_at) FROM temp.chosen AS s JOIN conversation AS c ON c.rowid = s.conversation"
        " ORDER BY coalesce(c.updated_at, c.started_at) DESC, c.rowid DESC"
    )
    return {row[0]: ChosenConversation(*row) for row in rows}


def editors(chosen: Chosen, conversations: dict[int, ChosenConversation], files: RequestedFiles) -> set[int]:
    """Return the conversations that edited one of the files, as far as edits were recorded as such."""
    names = files.by_name
    paths = [path for path in _edited_paths(chosen.connection, list(names)) if file_name(path) in names]
    rows = chosen.connection.execute(
        "SELECT DISTINCT conversation, path FROM file_edit WHERE path IN (SELECT value FROM json_each(?))",
        (msgspec.json.encode(paths).decode(),),
    )
    return {
        number
        for number, path in rows
        if number in conversations and files.match(path, conversations[number].home) is not None
    }


def _edited_paths(connection: sqlite3.Connection, names: list[str]) -> list[str]:
    """Return paths that may end in one of the names; each once, from the index alone."""
    sql = "SELECT DISTINCT path FROM file_edit WHERE path IS NOT NULL"
    if len(names) == 1 and names[0].isascii():
        escaped = names[0].replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        # A URI writes some characters in another way.
        rows = connection.execute(
            f"{sql} AND (path LIKE ? ESCAPE '\\' OR path LIKE '%\\%%' ESCAPE '\\')", (f"%{escaped}",)
        )
    else:
        rows = connection.execute(sql)
    return [path for (path,) in rows]


# --- mentions -------------------------------------------------------------------------------------------------------


def mentions(chosen: Chosen, conversations: dict[int, ChosenConversation], file: RequestedFile) -> list[Mention]:
    """Return the messages whose paths or arguments name the file, in this project or in a copy of it."""
    at_home = [number for number, facts in conversations.items() if file.is_at_home(facts.home)]
    rows: dict[int, Mention] = {}
    for path in file.paths:
        names = _Names(file, path)
        folder, _, name = path.rpartition("/")
        # With its folder a name is rare enough to be looked up everywhere; without it, it is not.
        for spelled, where in ((f"{folder.rpartition('/')[2]}/{name}", None), (name, at_home)):
            for row, mention, paths, arguments in _naming(chosen, spelled, where):
                home = conversations[mention.conversation].home
                if names.in_arguments(arguments, home):  # whose paths are among the paths, too
                    rows[row] = mention._replace(place="arguments")
                elif names.in_paths(paths, home):
                    rows[row] = mention
    return [rows[row] for row in sorted(rows)]


def _naming(
    chosen: Chosen, name: str, conversations: list[int] | None
) -> Iterator[tuple[int, Mention, str | None, str | None]]:
    """Yield messages that have the words of a name in a row, the newest first: number, mention, paths and arguments."""
    numbers = None if conversations is None else msgspec.json.encode(conversations).decode()
    found = chosen.connection.execute(
        "SELECT m.rowid, m.conversation, m.turn, m.created_at, m.role, m.paths, m.arguments"
        " FROM words JOIN message AS m ON m.rowid = words.rowid"
        " JOIN temp.chosen_turn AS t ON t.conversation = m.conversation AND t.turn = coalesce(m.turn, ?1)"
        " WHERE words MATCH ?2 AND (?3 IS NULL OR m.conversation IN (SELECT value FROM json_each(?3)))"
        " ORDER BY m.rowid DESC LIMIT ?4",
        (NO_TURN, f'{{paths arguments}} : "{_quoted(name)}"', numbers, MOST_MENTIONS),
    )
    for row, conversation, turn, at, role, paths, arguments in found:
        yield row, Mention(conversation, turn, at, "paths", role in ("title", "document")), paths, arguments


def _quoted(name: str) -> str:
    return name.replace('"', '""').replace("\0", "")


class _Names:
    """One name of a file, to be found in texts."""

    def __init__(self, file: RequestedFile, path: str) -> None:
        self.file = file
        self.path = path
        self.is_whole = re.compile(_bounded(path))

    def in_paths(self, paths: str | None, home: Home) -> bool:
        listed = paths.split("\n") if paths else ()
        return any(self.file.likeness_of(path, home) in ("exact", "elsewhere") for path in listed)

    def in_arguments(self, arguments: str | None, home: Home) -> bool:
        if not arguments:
            return False
        if self.is_whole.search(arguments):
            return True
        plain = arguments.replace("\\", "/")
        return any(re.search(_bounded(name), plain) for name in self.file.names_at(self.path, home))


def _bounded(path: str) -> str:
    """Return a pattern for a path that does not continue in a longer name."""
    return rf"(?<![\w.-]){re.escape(path)}(?![\w-]|\.\w)"


def writers(chosen: Chosen, named: Sequence[Mention]) -> set[int]:
    """Return the conversations that name a file and in which a tool that writes may have written to it."""
    numbers = msgspec.json.encode(sorted({mention.conversation for mention in named})).decode()
    like = " OR ".join(f"name LIKE '%{word}%'" for word in _WRITERS)
    rows = chosen.connection.execute(
        f"SELECT DISTINCT conversation, turn FROM tool_call WHERE ({like})"  # noqa: S608 - words of our own
        " AND conversation IN (SELECT value FROM json_each(?))",
        (numbers,),
    )
    turns = set(rows.fetchall())
    return {
        mention.conversation for mention in named if mention.is_whole or (mention.conversation, mention.turn) in turns
    }


# --- opened conversations -------------------------------------------------------------------------------------------


class Opened:
    """A conversation that was opened, and which of its turns count."""

    def __init__(self, chosen: Chosen, facts: ChosenConversation) -> None:
        self.facts = facts
        conversation = stored_conversation(chosen.connection, facts.number)
        assert conversation is not None
        self.conversation: Conversation = without_superseded(conversation)
        rows = chosen.connection.execute("SELECT turn FROM temp.chosen_turn WHERE conversation = ?", (facts.number,))
        self.turns = {turn for (turn,) in rows}

    def edits_of(self, files: RequestedFiles) -> list[Edit]:
        """Return the conversation's changes of files."""
        home = self.facts.home
        found = edits_in(self.conversation, lambda recorded: files.match(recorded, home))
        return [edit for edit in found if self.counts(edit.turn)]

    def counts(self, turn: int | None) -> bool:
        return (NO_TURN if turn is None else turn) in self.turns


def opened(chosen: Chosen, conversations: dict[int, ChosenConversation], wanted: set[int]) -> Iterator[Opened]:
    """Yield the wanted conversations, newest first, but at most as many as can be opened in a short time."""
    for number in [number for number in conversations if number in wanted][:MOST_OPENED]:
        yield Opened(chosen, conversations[number])


def messages_with(chosen: Chosen, match: str) -> list[tuple[int, int | None, str | None, str]]:
    """Return conversation, turn, time and role of the messages that the full-text index finds."""
    return chosen.connection.execute(
        f"SELECT w.rowid >> {MESSAGE_BITS}, m.turn, m.created_at, m.role"  # noqa: S608 - a number of our own
        " FROM words AS w JOIN message AS m ON m.rowid = w.rowid"
        " JOIN temp.chosen_turn AS t ON t.conversation = m.conversation AND t.turn = coalesce(m.turn, ?)"
        " WHERE words MATCH ? ORDER BY w.rowid LIMIT ?",
        (NO_TURN, match, MOST_MENTIONS),
    ).fetchall()
