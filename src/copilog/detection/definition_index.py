"""The definitions by name and by file, and which spellings mean the same file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePath
from urllib.parse import unquote

from copilog.definitions import Definition
from copilog.text_cache import cached_by_text

AGENT_KINDS = ("agent", "mode")
# Modes and agents that come with VS Code and Copilot CLI. Some have instructions like a custom one.
BUILT_IN = frozenset(
    {
        *("ask", "edit", "agent", "plan", "explore", "inline", "applycodeblock"),
        *("interactive", "autopilot", "shell", "task", "general-purpose", "code-review", "research"),
    }
)
SHORTEST_BODY = 40  # a shorter text occurs in others by chance

_SCHEME = re.compile(r"[A-Za-z][\w+.-]+:")
_DRIVE = re.compile(r"/[A-Za-z]:")


class DefinitionIndex:
    """Definitions by name and by file; of several with a name the first counts."""

    def __init__(self, definitions: Sequence[Definition]) -> None:
        self.agents: dict[str, Definition] = {}
        self.prompts: dict[str, Definition] = {}
        self.skill_files: dict[str, Definition] = {}
        for definition in definitions:
            name = definition.name.casefold()
            if definition.kind in AGENT_KINDS:
                self.agents.setdefault(name, definition)
            elif definition.kind == "skill":
                self.skill_files.setdefault(address_of(definition.path), definition)
            elif definition.kind == "prompt":
                self.prompts.setdefault(name, definition)
        self._agents = [definition for definition in definitions if definition.kind in AGENT_KINDS]

    def agent_with_text(self, text: str) -> tuple[Definition, bool] | None:
        """Return the agent whose instructions a text is, or contains; and whether it contains nothing else."""
        if not self._agents:
            return None
        wanted = _one_line(text)
        best: Definition | None = None
        longest = SHORTEST_BODY
        for definition in self._agents:
            body = _one_line_of(definition.body)
            if body and body == wanted:
                return definition, True
            if len(body) > longest and body in wanted:
                best, longest = definition, len(body)
        return (best, False) if best is not None else None


def _one_line(text: str) -> str:
    return " ".join(text.split())


_one_line_of = lru_cache(maxsize=512)(_one_line)  # of definitions, which are repeated in each conversation


@cached_by_text(2048)  # the same files are read repeatedly
def address_of(text: str) -> str:
    """Return a path or URI in a form that can be compared."""
    return plain_path(text).casefold()


def plain_path(text: str) -> str:
    """Return a path or URI with slashes and without escapes; of a file's URI the path."""
    if _SCHEME.match(text):
        text = unquote(text)
    text = text.replace("\\", "/")
    if text[:7].lower() == "file://":
        text = text[7:]
    if _DRIVE.match(text):
        text = text[1:]
    return text


def uri_of(path: str) -> str | None:
    """Return the URI of a file that is defined on this machine."""
    try:
        return PurePath(path).as_uri()
    except ValueError:
        return None
