"""One pass over a conversation that collects evidence of agents and skills, turn by turn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from copilog import jsonio, tags
from copilog.derive.outcomes import is_done
from copilog.model import Attachment, Conversation, Mention, Message, Place, Prompt, Text, ToolCall, ToolResult

# Tools that read a file, under the names that models use and under those of their registration.
READERS = frozenset(
    {"read_file", "readFile", "copilot_readFile", "view", "str_replace_editor", "read", "Read", "vscode_readFile"}
)
PATH_KEYS = ("filePath", "path", "file_path", "uri")
MAX_PATH_CHARACTERS = 4096
SKILL_TOOL = "skill"
LOOKED_AT = READERS | {SKILL_TOOL}
NOT_RUN = frozenset({"failed", "denied", "skipped", "cancelled", "prepared"})
SHOWN = ("pastTenseMessage", "invocationMessage")
# Texts of which a prompt must contain one to be searched further.
MARKS = ("<modeInstructions>", "<customInstructions>", "<skills>")
MARKS_OF_USER_MESSAGES = (*MARKS, "<skill-context", "SKILL.md", "skill.md")
# Blocks of a user message that hold other people's text: a file about Copilot is no evidence.
CARRIED = frozenset(
    {"attachments", "attachment", "conversation-summary", *tags.REQUEST_NAMES, *tags.OLDER_REQUEST_NAMES}
)

_CONTEXT = re.compile(r'<skill-context name="([^"\n]{1,200})"')
_CONTEXT_FIRST = re.compile(rf"\s*{_CONTEXT.pattern}")
_LINK = re.compile(r"\]\(([^()\s]+)\)")


class PromptText(NamedTuple):
    """The prompt text that Copilot itself wrote, without text from other sources."""

    text: str
    is_main: bool  # not to a sub-agent


@dataclass(slots=True)
class Clues:
    """The evidence in a turn."""

    prompts: list[PromptText] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)  # texts attached as an index of what is offered
    asked_skills: list[str] = field(default_factory=list)
    given_skills: list[str] = field(default_factory=list)
    read_files: list[str] = field(default_factory=list)
    prompt_files: list[str] = field(default_factory=list)
    mentions: list[Mention] = field(default_factory=list)
    words: list[str] = field(default_factory=list)  # text of the user that contains an @


def clues_of(conversation: Conversation) -> dict[int, Clues]:
    """Return the evidence of each turn that has any."""
    found: dict[int, Clues] = {}
    for turn, message in _messages(conversation):
        for part in message.parts:
            # Few parts are evidence, and comparing types is faster than isinstance.
            if type(part) is ToolCall:
                if part.name in LOOKED_AT or part.tool_id in LOOKED_AT:
                    _collect_from_call(part, found, turn)
            elif type(part) is ToolResult:
                if given := _CONTEXT_FIRST.match(part.text):
                    _at(found, turn).given_skills.append(given[1])
            elif type(part) is Text or type(part) is Prompt:
                _collect_from_text(part, message, found, turn)
            elif type(part) is Mention:
                if part.type in ("agent", "prompt") and message.parent_call_id is None:
                    _at(found, turn).mentions.append(part)
            elif type(part) is Attachment:
                _collect_from_attachment(part, found, turn)
    return found


def _messages(conversation: Conversation) -> Iterator[tuple[int, Message]]:
    """Yield all messages with their turn. Messages before the first turn belong to that one."""
    turns = {turn.index for turn in conversation.turns}
    first: int | None = min(turns, default=None)
    for message in conversation.messages:
        if message.turn is not None:
            first = None
        turn = message.turn if message.turn is not None else first
        if turn is not None and turn in turns:
            yield turn, message


def _collect_from_text(part: Text | Prompt, message: Message, found: dict[int, Clues], turn: int) -> None:
    text = part.text
    if message.role == "system":
        if any(mark in text for mark in MARKS):
            _at(found, turn).prompts.append(PromptText(text, message.parent_call_id is None))
    elif isinstance(part, Prompt):
        if any(mark in text for mark in MARKS_OF_USER_MESSAGES):
            _collect_from_prompt(text, message, _at(found, turn))
    elif message.role == "user" and "@" in text and message.parent_call_id is None:
        _at(found, turn).words.append(text)


def _at(found: dict[int, Clues], turn: int) -> Clues:
    clues = found.get(turn)
    if clues is None:
        clues = found[turn] = Clues()
    return clues


# --- prompts ----------------------------------------------------------------------------------------------------


def _collect_from_prompt(text: str, message: Message, clues: Clues) -> None:
    """Split a user message: in text from other sources only the files of a slash command count."""
    pieces: list[str] = []
    end = 0
    for block in tags.blocks(text):
        if block.name in tags.REQUEST_NAMES:
            clues.prompt_files += _prompt_files_in(block)
        if block.name in CARRIED:
            pieces.append(text[end : block.start])
            end = block.end
    own = "".join((*pieces, text[end:]))
    clues.given_skills += _CONTEXT.findall(own)
    clues.prompts.append(PromptText(own, message.parent_call_id is None))


def _prompt_files_in(request: tags.Block) -> Iterator[str]:
    """Yield the files that a slash command of the user added to the request."""
    for block in tags.blocks(request.text, within=request.name):
        for key in ("filePath", "id"):
            value = block.attributes.get(key)
            if block.name == "attachment" and isinstance(value, str):
                yield value


def _collect_from_attachment(part: Attachment, found: dict[int, Clues], turn: int) -> None:
    if part.type == "prompt-text":
        if part.text and "<skills>" in part.text:
            _at(found, turn).indexes.append(part.text)
    elif part.type == "prompt-file" and part.is_sent and (path := path_of(part.place)):
        _at(found, turn).prompt_files.append(path)


def path_of(place: Place | None) -> str | None:
    """Return the path of a location."""
    return (place.uri or place.path) if place is not None else None


# --- tools ------------------------------------------------------------------------------------------------------


def _collect_from_call(call: ToolCall, found: dict[int, Clues], turn: int) -> None:
    if call.status in NOT_RUN or not is_done(call):
        return
    arguments = _arguments_of(call)
    if SKILL_TOOL in (call.name, call.tool_id):
        name = arguments.get("skill")
        if isinstance(name, str) and name.strip():
            _at(found, turn).asked_skills.append(name.strip())
        return
    if arguments.get("command", "view") != "view":  # of an editor that reads and writes
        return
    path = next((value for key in PATH_KEYS if isinstance(value := arguments.get(key), str)), None) or _shown_path(call)
    if path and len(path) <= MAX_PATH_CHARACTERS:
        _at(found, turn).read_files.append(path)


def _arguments_of(call: ToolCall) -> dict[str, Any]:
    if not call.arguments:
        return {}
    try:
        value = jsonio.decode_strictly(call.arguments)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _shown_path(call: ToolCall) -> str | None:
    """Return the file that the user interface showed as read, if the arguments are missing."""
    if call.arguments is not None or call.extra is None:
        return None
    for key in SHOWN:
        shown = call.extra.get(key)
        text = shown.get("value") if isinstance(shown, dict) else shown
        link = _LINK.search(text) if isinstance(text, str) else None
        if link:
            return link[1].partition("#")[0]
    return None
