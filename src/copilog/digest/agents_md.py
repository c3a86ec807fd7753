"""Make a section for AGENTS.md: commands that a user approved, and that succeeded in several conversations.

Nothing but commands goes into it: a file that agents read as instructions must not repeat what a transcript says.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from copilog.analysis.commands import CommandRun
from copilog.digest.collection import workspace_name
from copilog.digest.command_kinds import kind_of, words_of
from copilog.digest.drawing import KINDS
from copilog.digest.safe_markdown import words
from copilog.redaction.scanning import find
from copilog.view.wording import counted
from copilog.writers.html.characters import visible
from copilog.writers.markdown_text import span

FEWEST = 3  # conversations in which a command succeeded
LONGEST = 160  # characters of a command
MOST_PLAIN = 4  # words of letters in a row, as in `make clean build test`; more of them may be a sentence
LONGEST_NAME = 40
_SENTENCE = re.compile(
    rf"(?<!\S)[^\W\d_]+[,!?:.]?(?:\s+[^\W\d_]+[,!?:.]?){{{MOST_PLAIN},}}"  # plain words in a row
    rf"|(?<![\w/.:-])[^\W\d_]+(?:[-_.:][^\W\d_]+){{{MOST_PLAIN},}}(?![\w/.:-])"  # or as one word that is no path
)
_NAME = re.compile(rf"\w(?:[\w.]|-(?!-)){{0,{LONGEST_NAME - 1}}}")
BY_USER = frozenset({"user", "granted"})


def agents_section(runs: Iterable[CommandRun]) -> str:
    """Return the section as Markdown; empty if no command qualifies."""
    found: dict[str | None, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for run in runs:
        if run.exit_code == 0 and (run.approval in BY_USER or run.origin == "user"):
            found[run.workspace][run.command.strip()].add(run.id)
    blocks: list[str] = []
    for workspace, commands in sorted(found.items(), key=lambda item: (item[0] is None, item[0] or "")):
        lines = _lines(commands)
        if lines:
            blocks.append("\n".join([f"### {_heading(workspace)}", "", *lines]))
    if not blocks:
        return ""
    if len(blocks) == 1:
        blocks = [blocks[0].partition("\n\n")[2]]
    return "\n\n".join(["## Commands", "Commands that people approved here, and that ended with exit code 0.", *blocks])


def _lines(commands: dict[str, set[str]]) -> list[str]:
    """Return the commands by what they are for, those of most conversations first."""
    lines = []
    ranked = sorted(commands.items(), key=lambda item: (-len(item[1]), item[0]))
    for kind, heading in KINDS.items():
        for command, conversations in ranked:
            if len(conversations) >= FEWEST and kind_of(command) == kind and _is_plain(command):
                lines.append(f"- {heading}: {span(command)} ({counted(len(conversations), 'conversation')})")
    return lines


def _heading(workspace: str | None) -> str:
    """Return the name of a workspace, unless it may be a sentence."""
    name = workspace_name(workspace)
    return words(name) if workspace is None or _NAME.fullmatch(name) else "Another workspace"


def _is_plain(command: str) -> bool:
    """Return whether a command is one line without prose, secrets and invisible characters.

    An argument with a space in it may be a sentence, and so may many plain words.
    """
    if len(command) > LONGEST or "\n" in command or visible(command) != command or set("#`$") & set(command):
        return False
    if _SENTENCE.search(command):
        return False
    each = command.split(" && ")
    arguments = [words_of(part) for part in each]
    if any(not part or any(" " in word for word in part) for part in arguments):
        return False
    return not find(command)
