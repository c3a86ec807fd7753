"""Find what custom agents and skills were told: the texts themselves, as a conversation recorded them.

The archive stores a row for each turn with the digest of the text, and not the text again: whoever shows a version
reads it from the conversation. Texts that differ only in white space, or in the front matter of their file, have the
same digest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from copilog import jsonio
from copilog.model import Attachment, Conversation, Message, Prompt, Skill, Text, ToolCall, ToolResult, Turn
from copilog.store.rows import ToldTextRow
from copilog.store.schema import UNNAMED
from copilog.store.told_tables import AGENT, SKILL

SKILL_FILE = "skill.md"
RANGES = frozenset({"startLine", "endLine", "offset", "limit", "view_range"})  # arguments of reading a part
PATHS = ("filePath", "path", "file_path")

_FRONT = re.compile(r"\A---[ \t]*\r?\n.*?^---[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_CONTEXT = re.compile(r'<skill-context name="([^"\n]{1,200})">(.*?)(?:</skill-context>|\Z)', re.DOTALL)
_BASE = re.compile(r"\A\s*Base directory for this skill: [^\n]*\n")


class ToldText(NamedTuple):
    """A text that an agent or a skill was told in a turn."""

    turn: int | None
    kind: str  # agent, skill
    name: str
    text: str
    file: str | None = None
    tools: tuple[str, ...] = ()


def told_texts(conversation: Conversation) -> Iterator[ToldText]:
    """Yield the texts of each turn; one that a turn has twice is yielded once."""
    known: set[tuple[int | None, str, str, str]] = set()
    for told in (*_of_agents(conversation.turns), *_of_skills(conversation)):
        key = (told.turn, told.kind, told.name.casefold(), told.text)
        if told.text and key not in known:
            known.add(key)
            yield told


def told_rows(conversation: Conversation) -> Iterator[ToldTextRow]:
    for position, told in enumerate(told_texts(conversation)):
        yield ToldTextRow(
            position=position,
            turn=told.turn,
            kind=told.kind,
            name=told.name,
            digest=digest_of(told.text),
            characters=len(told.text),
            file=told.file,
            tools=msgspec.json.encode(told.tools).decode() if told.tools else None,
        )


def text_with_digest(conversation: Conversation, digest: str) -> ToldText | None:
    """Return the text of a row."""
    return next((told for told in told_texts(conversation) if digest_of(told.text) == digest), None)


def digest_of(text: str) -> str:
    """Return what texts have in common that differ only in white space."""
    return blake2b(" ".join(text.split()).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def body_of(text: str) -> str:
    """Return the text of a file without its front matter."""
    return _FRONT.sub("", text, count=1).strip()


# --- agents and skills ----------------------------------------------------------------------------------------------


def _of_agents(turns: list[Turn]) -> Iterator[ToldText]:
    for turn in turns:
        agent = turn.custom_agent
        if agent is not None and agent.instructions:
            text = body_of(agent.instructions)
            yield ToldText(turn.index, AGENT, agent.name or UNNAMED, text, agent.uri, tuple(agent.tools))


def _of_skills(conversation: Conversation) -> Iterator[ToldText]:
    turns = {turn.index: turn for turn in conversation.turns}
    reads: dict[str, str] = {}  # the paths of calls that read the whole file of a skill
    for message in conversation.messages:
        for part in message.parts:
            if isinstance(part, ToolCall):
                path = _read_file(part)
                if path is not None:
                    reads[part.id] = path
            elif isinstance(part, ToolResult | Prompt | Text | Attachment):
                yield from _in_part(part, message, turns.get(message.turn or 0), reads)
    for document in conversation.documents:
        if document.kind == "skill" and document.title:
            yield ToldText(None, SKILL, document.title, body_of(document.text), document.path)


def _in_part(
    part: ToolResult | Prompt | Text | Attachment, message: Message, turn: Turn | None, reads: dict[str, str]
) -> Iterator[ToldText]:
    text = part.text or ""
    if isinstance(part, Attachment):
        if part.type == SKILL and part.name:
            file = part.place.uri or part.place.path if part.place is not None else None
            yield ToldText(message.turn, SKILL, part.name, body_of(text), file)
        return
    if isinstance(part, ToolResult) and part.call_id in reads:
        file = reads[part.call_id]
        if _FRONT.match(text):
            yield ToldText(message.turn, SKILL, _name_of(file, turn), body_of(text), file)
        return
    if message.role == "assistant" or not text.lstrip().startswith("<skill-context"):
        return
    for name, body in _CONTEXT.findall(text):
        yield ToldText(message.turn, SKILL, name, body_of(_BASE.sub("", body).strip()), _file_of(name, turn))


def _read_file(call: ToolCall) -> str | None:
    """Return the file of a skill that a call reads as a whole."""
    if not call.arguments or SKILL_FILE not in call.arguments.lower():
        return None
    try:
        arguments = jsonio.decode_strictly(call.arguments)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if not isinstance(arguments, dict):
        return None
    path = next((value for key in PATHS if isinstance(value := arguments.get(key), str)), None)
    if path is None or RANGES & arguments.keys() or not path.lower().endswith(SKILL_FILE):
        return None
    return path


def _loaded(turn: Turn | None) -> list[Skill]:
    return [skill for skill in turn.skills if skill.is_loaded] if turn is not None else []


def _name_of(file: str, turn: Turn | None) -> str:
    """Return the name of the skill that a turn loaded from a file, else that of its folder."""
    named = next((skill.name for skill in _loaded(turn) if skill.file == file), None)
    folders = file.replace("\\", "/").split("/")[:-1]
    return named or next(filter(None, reversed(folders)), UNNAMED)


def _file_of(name: str, turn: Turn | None) -> str | None:
    return next((skill.file for skill in _loaded(turn) if skill.name.casefold() == name.casefold()), None)
