"""Complete ids, names and the fields of queries from the archive, for the shells of `completion`.

A completion must never be slow or wrong: the archive is read as it is, for a limited time, and if that fails there are
no candidates. What an argument takes is known from its metavar, and what an option takes from its name.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem, ShellComplete, add_completion_class, split_arg_string

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_SECONDS = 0.08  # of reading the archive
MOST_IDS = 200
MOST_NAMES = 200
LONGEST_HELP = 70
STEPS_BETWEEN_CHECKS = 2_000  # of SQLite's virtual machine
DATE_EXAMPLES = ("today", "yesterday", "7d", "30d", "last week", "last month")
QUERY_FIELD = re.compile(r"(?P<before>[-+(]*)(?P<name>[a-z]+):(?P<value>.*)", re.DOTALL)
LISTING = ("", "9", "33", "63", "64")  # COMP_TYPE of bash, unless the candidates are inserted one by one
_TAKES_ID = re.compile(r"\bID\b")
_IDS = """
    SELECT id, title FROM conversation AS c
    WHERE {listed} AND (substr(id, 1, length(?1)) = ?1 OR substr(id, instr(id, ':') + 1, length(?1)) = ?1)
    ORDER BY coalesce(updated_at, started_at) DESC LIMIT ?2
"""


# --- what may follow ------------------------------------------------------------------------------------------------


def prepare(command: click.Command) -> click.Command:
    """Let the parameters of a command complete what the archive has."""
    for parameter in command.params:
        complete = _completer_of(parameter)
        if complete is not None:
            parameter.shell_complete = complete  # type: ignore[method-assign, assignment]
    return command


def _completer_of(parameter: click.Parameter) -> Callable[[click.Context, str], list[CompletionItem]] | None:
    from copilog.store.selection import NAME_FIELDS

    name, metavar = parameter.name or "", parameter.metavar or ""
    if isinstance(parameter, click.Argument) and _TAKES_ID.search(metavar):
        return lambda context, incomplete: _ids(context, incomplete, metavar)
    if metavar.startswith("QUERY"):
        return _query
    if isinstance(parameter, click.Option) and name in NAME_FIELDS:
        return lambda context, incomplete: _values(context, name, incomplete)
    if metavar == "WHEN":
        return lambda _, incomplete: [CompletionItem(date) for date in DATE_EXAMPLES if date.startswith(incomplete)]
    return None


def _ids(context: click.Context, incomplete: str, metavar: str) -> list[CompletionItem]:
    """Return ids, the last active conversation first, without the part before the colon unless it was typed."""
    from copilog.store.selection import LISTED

    rows = _rows(context, _IDS.format(listed=LISTED), incomplete, MOST_IDS)
    has_colon = ":" in incomplete
    items = [CompletionItem("last", help="the last active conversation")] if rows and "last" in metavar else []
    items += [CompletionItem(_id(name, has_colon=has_colon), help=_line(title)) for name, title in rows]
    items = [item for item in items if item.value.startswith(incomplete)]
    if (not items and "PATH" in metavar) or incomplete[:1] in ("/", ".", "~"):
        return [CompletionItem(incomplete, type="file")]
    return items


def _id(name: str, *, has_colon: bool) -> str:
    native = name.partition(":")[2]
    return name if has_colon or not re.fullmatch(r"[\w.-]+", native) else native


def _values(context: click.Context, field: str, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in _names(context, field, incomplete)]


def _names(context: click.Context, field: str, incomplete: str) -> list[str]:
    """Return existing names of a field that begin with a text, or the last parts of paths that do."""
    from copilog.store.selection import NAME_FIELDS

    start = incomplete.casefold()
    names = [str(name) for (name,) in _rows(context, NAME_FIELDS[field].names)]
    forms = {form for name in names for form in (_folder(name) if field == "workspace" else name, name)}
    plain = (form for form in forms if form.isprintable() and form.casefold().startswith(start))
    return sorted(plain, key=lambda form: ("/" in form, form.casefold()))[:MOST_NAMES]


def _folder(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]


def _query(context: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the fields of a query, or the values of the field that is being typed."""
    from copilog.store.query_fields import DATES, NAMES, VALUES
    from copilog.store.selection import NAME_FIELDS

    typed = QUERY_FIELD.fullmatch(incomplete)
    if typed is None:
        before = incomplete[: len(incomplete) - len(incomplete.lstrip("-+("))]
        start = incomplete[len(before) :]
        return [CompletionItem(f"{before}{name}:") for name in NAMES if name.startswith(start)] if start else []
    field, start = typed["name"], typed["value"].lstrip('"')
    if field in VALUES:
        values = [value for value in VALUES[field] if value.startswith(start)]
    elif field in NAME_FIELDS:
        values = _names(context, field, start)
    elif field in DATES:
        values = [date for date in DATE_EXAMPLES if date.startswith(start)]
    else:
        values = []
    return [CompletionItem(f"{typed['before']}{field}:{_in_query(value)}") for value in values if '"' not in value]


def _in_query(value: str) -> str:
    return value if re.fullmatch(r"[\w./\\:@+-]+", value) else f'"{value}"'


def _line(text: str) -> str:
    from copilog.view.terminal_text import clean_line

    return clean_line(text, LONGEST_HELP)


# --- the archive ----------------------------------------------------------------------------------------------------


def _rows(context: click.Context, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """Return rows of the archive; none if there is no archive, or if it takes too long."""
    from copilog.errors import CopilogError
    from copilog.store.database import archive_path, open_database

    chosen = _chosen(context)
    if chosen.get("sample") or chosen.get("root") or chosen.get("roots") or chosen.get("live"):
        return []
    deadline = time.monotonic() + MOST_SECONDS
    with suppress(CopilogError, sqlite3.Error, OSError):
        named = chosen.get("archive")
        path = archive_path(Path(named) if named else None)
        if not path.is_file():
            return []
        with closing(open_database(path, write=False, wait_seconds=0)) as connection:
            connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS_BETWEEN_CHECKS)
            return connection.execute(sql, values).fetchall()
    return []


def _chosen(context: click.Context | None) -> dict[str, Any]:
    """Return the options before and after the command."""
    chosen: dict[str, Any] = {}
    while context is not None:
        chosen = {**{name: value for name, value in context.params.items() if value}, **chosen}
        context = context.parent
    return chosen


# --- the shells -----------------------------------------------------------------------------------------------------


class Answers(ShellComplete):
    """Candidates for one of our scripts: a line for each, with its type, value and description between tabs.

    The scripts pass the words up to the cursor on lines of COMP_WORDS, the last one perhaps in COMP_LAST. bash passes
    the line as it was typed, because its own words end at colons.
    """

    source_template = ""

    def source(self) -> str:
        from copilog.cli.completion import SCRIPTS

        return SCRIPTS[self.name.partition("-")[2]]

    def get_completion_args(self) -> tuple[list[str], str]:
        words = self.words()
        return words[1:-1], words[-1] if len(words) > 1 else ""

    def words(self) -> list[str]:
        words = os.environ.get("COMP_WORDS", "").split("\n")
        return [*words, os.environ["COMP_LAST"]] if "COMP_LAST" in os.environ else words

    def complete(self) -> str:
        args, incomplete = self.get_completion_args()
        items = self.get_completions(args, incomplete)
        return "\n".join(filter(None, (self.format_completion(item) for item in items)))

    def format_completion(self, item: CompletionItem) -> str:
        value = str(item.value)
        if item.type == "plain" and not value.isprintable():
            return ""
        return f"{item.type}\t{self.inserted(value)}\t{_line(item.help or '')}"

    def inserted(self, value: str) -> str:
        return value


class Bash(Answers):
    name = "copilog-bash"

    def words(self) -> list[str]:
        line = os.environ.get("COMP_LINE", "")
        words = split_arg_string(line)
        return [*words, ""] if not line or line[-1].isspace() else words

    def complete(self) -> str:
        lines = super().complete().splitlines()
        plain = [line.split("\t") for line in lines]
        if len(plain) == 1 or os.environ.get("COMP_TYPE", "") not in LISTING:
            return "\n".join(f"{kind}\t{value}" for kind, value, _ in plain)
        return "\n".join(
            f"{kind}\t{value}{f'  ({help_text})' if help_text else ''}" for kind, value, help_text in plain
        )

    def inserted(self, value: str) -> str:
        """Return what replaces the word, which begins after the last colon, with special characters escaped."""
        typed = self.words()[-1].rpartition("=")[2] if self.words()[-1].startswith("--") else self.words()[-1]
        breaks = ":" in os.environ.get("COMP_WORDBREAKS", ":")
        known = typed[: typed.rfind(":") + 1] if breaks else ""
        rest = value.removeprefix(known)
        return re.sub(r"""([\s"'\\$`&|;<>()*?!#~\[\]{}])""", r"\\\1", rest)


class WholeWords(Answers):
    """A shell that replaces the whole word, including the option before an equals sign."""

    def inserted(self, value: str) -> str:
        option, equals, _ = self.words()[-1].partition("=")
        return f"{option}={value}" if equals and option.startswith("--") else value


class Zsh(WholeWords):
    name = "copilog-zsh"


class Fish(WholeWords):
    name = "copilog-fish"


class PowerShell(WholeWords):
    name = "copilog-powershell"


def register() -> None:
    """Make the shells of our scripts known to click."""
    for shell in (Bash, Zsh, Fish, PowerShell):
        add_completion_class(shell)
