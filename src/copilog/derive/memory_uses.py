"""Find where a conversation used memories: calls of the memory tool, and memories that a prompt contained."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

from copilog.derive.tool_names import key_of
from copilog.model import Conversation, Prompt, ToolCall

ROOT = "/memories/"
TOOL = "memory"
_BELOW = {"userMemory": ROOT, "sessionMemory": f"{ROOT}session/", "repoMemory": f"{ROOT}repo/"}
_TAG = re.compile(r"<(userMemory|sessionMemory|repoMemory)>(.*?)</\1>", re.DOTALL)
_NAMED = re.compile(r"^(?:##|[-*])[ \t]+`?([^`\n]{1,300}?)`?[ \t]*$", re.MULTILINE)
_IS_FILE = re.compile(r"[\w./ -]+\.\w{1,10}")


class _Arguments(msgspec.Struct):
    path: str | None = None
    old_path: str | None = None
    new_path: str | None = None


_decode = msgspec.json.Decoder(_Arguments).decode


class MemoryUse(NamedTuple):
    """A memory that was read, written or sent in a turn, by its path as the tool names it."""

    turn: int | None
    path: str
    how: Literal["tool", "prompt"]


def memory_uses(conversation: Conversation) -> list[MemoryUse]:
    """Return each use once for each turn."""
    found: dict[MemoryUse, None] = {}
    for message in conversation.messages:
        for part in message.parts:
            if type(part) is ToolCall and key_of(part) == TOOL:
                found |= {MemoryUse(message.turn, path, "tool"): None for path in _of_call(part.arguments)}
            elif type(part) is Prompt and "Memory>" in part.text:
                found |= {MemoryUse(message.turn, path, "prompt"): None for path in _in_prompt(part.text)}
    return list(found)


def _of_call(arguments: str | None) -> Iterator[str]:
    try:
        given = _decode(arguments or "{}")
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return
    for path in (given.path, given.old_path, given.new_path):
        if path is not None and path.startswith(ROOT):
            yield path


def _in_prompt(text: str) -> Iterator[str]:
    """Yield the memories that tags of a prompt contain: headings of texts, or lists of files."""
    for tag in _TAG.finditer(text):
        for named in _NAMED.finditer(tag[2]):
            name = named[1]
            if _IS_FILE.fullmatch(name):
                yield name if name.startswith(ROOT) else _BELOW[tag[1]] + name
