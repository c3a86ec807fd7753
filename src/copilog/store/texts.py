"""Make the searchable texts of a conversation: one row for each message and document, and one for the conversation.

| Column | What goes there |
|---|---|
| title | the conversation's title; only in the last row |
| user | what the user typed: prose, pasted text, answers to questions; queued prompts and the draft in the last row |
| answer | the assistant's prose, its questions to the user, summaries of the history so far |
| thinking | reasoning, with its title |
| arguments | tools' names and arguments, commands, things to do, the tasks of sub-agents, edits that no tool call has |
| result | texts of tools, terminals, sub-agents, hooks and the product, follow-ups, notes, attached text, errors |
| paths | each file once: listed, read, edited, attached, referred to, named in a tool's arguments |

Text sent around the user's own is left out, unless nothing else was recorded: then the user's text is extracted from
it. System prompts and texts that the product attaches by itself are left out, as they repeat; but the text of a loaded
skill is a result. A text that two parts of a call share is included once. Texts of a turn are with its last message.
Documents that no message shows are results of rows of their own, before the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from copilog import jsonio
from copilog.derive import without_superseded
from copilog.derive.call_paths import paths_in_arguments
from copilog.derive.documents import NumberedDocument, numbered_documents, searchable_text
from copilog.derive.notes import notes_of_turn
from copilog.derive.terminal_output import beyond_output, texts_to_search
from copilog.model import (
    AnyDocument,
    AnyPart,
    Attachment,
    Compaction,
    Confirmation,
    Conversation,
    FileEdit,
    FileTree,
    Hook,
    Mention,
    Message,
    Notice,
    Place,
    Prompt,
    Reference,
    SubAgent,
    Terminal,
    Text,
    Thinking,
    TodoList,
    ToolCall,
    ToolResult,
    TreeNode,
    Turn,
    Unknown,
    prose_of,
    title_of,
    unnamed_files,
)
from copilog.store.schema import UNNAMED
from copilog.tags import user_text

MAX_CHARACTERS = 1 << 20  # of one part
BEGINNING = 32  # prefix of a text that is searched first: searching for a long text is slow, comparing it is not
SKILLS = ("skill", "skill-context")  # attachments that a program adds, with instructions of the user
SKILL_TAG = "<skill-context"


class Texts(NamedTuple):
    """One row, in the order of the columns of the table; absent texts are None."""

    title: str | None = None
    user: str | None = None
    answer: str | None = None
    thinking: str | None = None
    arguments: str | None = None
    result: str | None = None
    paths: str | None = None


class Calls:
    """The tool calls, results and edits of a conversation, collected in one walk through it."""

    def __init__(self, conversation: Conversation) -> None:
        self.calls: list[tuple[int, int, ToolCall]] = []  # with the positions of the message, and of the part in it
        self.edits: list[tuple[int, FileEdit]] = []
        self.results: dict[str, ToolResult] = {}
        self.ended_at: dict[str, datetime] = {}  # time of a call's result, if recorded
        self.terminals: dict[str, Terminal] = {}  # by call
        self.delegated: list[tuple[ToolCall, SubAgent]] = []  # calls that started a sub-agent
        self.with_arguments: set[str] = set()
        for number, message in enumerate(conversation.messages):
            for position, part in enumerate(message.parts):
                # Kinds of parts have no subclasses, and isinstance would be slower.
                if type(part) is ToolResult:
                    self.results[part.call_id] = part
                    if message.created_at is not None:
                        self.ended_at[part.call_id] = message.created_at
                elif type(part) is ToolCall:
                    self.calls.append((number, position, part))
                    if part.arguments:
                        self.with_arguments.add(part.id)
                    if part.subagent is not None:
                        self.delegated.append((part, part.subagent))
                elif type(part) is FileEdit:
                    self.edits.append((number, part))
                elif type(part) is Terminal and part.call_id is not None:
                    self.terminals[part.call_id] = part
        self.subagents = {call.id: agent.name or UNNAMED for call, agent in self.delegated}  # by the call

    def result_text(self, call_id: str | None) -> str:
        """Return the recorded result of a call."""
        result = self.results.get(call_id or "")
        return (result.full_text or result.text) if result is not None else ""


def texts_of(
    conversation: Conversation, calls: Calls | None = None, documents: list[NumberedDocument] | None = None
) -> list[Texts]:
    """Return the rows of a conversation: its messages in order, documents that no message has, and the title."""
    calls = calls if calls is not None else Calls(conversation)
    documents = documents if documents is not None else numbered_documents(conversation)
    last_of_turn = {message.turn: position for position, message in enumerate(conversation.messages)}
    turns = {last_of_turn[turn.index]: turn for turn in conversation.turns if turn.index in last_of_turn}
    rows: list[Texts] = []
    row = Row(calls)
    for position, message in enumerate(conversation.messages):
        turn = turns.get(position)
        texts = _of_result_alone(message.parts, calls) if turn is None else None
        if texts is None:
            row.add_message(message)
            if turn is not None:
                row.add_turn(turn, conversation)
            texts = row.taken()
        rows.append(texts)
    rows += [_of_document(document) for document, _, is_own in documents if is_own]
    rows.append(_conversation_row_texts(conversation, row))
    return rows


def _of_document(document: AnyDocument) -> Texts:
    return Texts(result=_searchable(searchable_text(document)[:MAX_CHARACTERS]))


def _of_result_alone(parts: list[AnyPart], calls: Calls) -> Texts | None:
    """Return the row of a message that is only one result text, as every second message is; else None.

    It is equal to that of `Row`, in half the time.
    """
    if len(parts) != 1 or type(parts[0]) is not ToolResult:
        return None
    result = parts[0]
    if result.full_text or result.display or result.items or result.places or result.call_id in calls.terminals:
        return None
    return tuple.__new__(Texts, (None, None, None, None, None, _searchable(result.text[:MAX_CHARACTERS]), None))


class Row:
    """Collects the texts of one row; `taken` returns them and starts the next row."""

    __slots__ = ("answer", "arguments", "calls", "paths", "prose", "result", "thinking", "user")

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.prose: list[Text | Reference | Notice] = []  # the prose of the message; its column depends on the role
        self.user: list[str] = []
        self.answer: list[str] = []
        self.thinking: list[str] = []
        self.arguments: list[str] = []
        self.result: list[str] = []
        self.paths: dict[str, None] = {}

    def add_message(self, message: Message) -> None:
        prose = self.prose
        for part in message.parts:
            if type(part) is Text:
                prose.append(part)
            elif (add := ADDERS.get(type(part))) is not None:
                add(self, part)
                if part.notes:
                    self.add_notes(part.notes)
        if message.role == "user":
            words = prose_of(prose)
            # The prompt of a sub-agent was written by the assistant that called it.
            column = self.arguments if message.parent_call_id is not None else self.user
            _put_first(column, words if words.strip() else _user_text_in_prompt(message.parts))
        elif not prose:
            return
        elif message.role == "system":
            self.result += [part.text[:MAX_CHARACTERS] for part in prose if type(part) is Notice]
        else:
            _put_first(self.answer if message.role == "assistant" else self.result, prose_of(prose))
        prose.clear()

    def add_turn(self, turn: Turn, conversation: Conversation) -> None:
        for reference in turn.references:
            self.add_location(reference.place)
            if reference.status_text:
                _add_new(self.result, reference.status_text)
        for text in turn_texts(turn):
            _add_new(self.result, text)
        for note in notes_of_turn(turn, conversation):
            _add_new(self.answer, note.text)

    def add_notes(self, notes: dict[str, str]) -> None:
        for text in notes.values():
            _add_new(self.result, text)

    def add_location(self, place: Place | None) -> None:
        if place is not None and (path := place.path or place.uri):
            self.paths[path] = None

    def add_path(self, path: str | None) -> None:
        if path:
            self.paths[path] = None

    def taken(self, title: str | None = None) -> Texts:
        """Return the row and start a new one. Most columns are empty, so only used ones are replaced."""
        user = answer = thinking = arguments = result = paths = None
        if self.user:
            user, self.user = _searchable("\n\n".join(self.user)), []
        if self.answer:
            answer, self.answer = _searchable("\n\n".join(self.answer)), []
        if self.thinking:
            thinking, self.thinking = _searchable("\n\n".join(self.thinking)), []
        if self.arguments:
            arguments, self.arguments = _searchable("\n".join(self.arguments)), []
        if self.result:
            result, self.result = _searchable("\n".join(self.result)), []
        if self.paths:
            paths, self.paths = _searchable("\n".join(self.paths)), {}
        return tuple.__new__(
            Texts, (title, user, answer, thinking, arguments, result, paths)
        )  # takes a third of the time of Texts(...)


def turn_texts(turn: Turn) -> list[str]:
    """Return the texts of a turn: its error, a reason for a vote down, matching public code, suggested questions."""
    if turn.error is None and turn.vote is None and not turn.citations and not turn.followups:
        return []
    texts = [turn.error.message, *turn.error.buttons] if turn.error is not None else []
    texts += [turn.vote.reason] if turn.vote is not None and turn.vote.reason else []
    texts += [citation.snippet for citation in turn.citations if citation.snippet]
    for followup in turn.followups:
        texts += [text for text in dict.fromkeys((followup.title, followup.text, followup.tooltip)) if text]
    return texts


def _searchable(text: str) -> str | None:
    """Return the text without NULs, as SQLite searches nothing after one; None if it is empty."""
    return text.replace("\0", " ") if "\0" in text else text or None


def _conversation_row_texts(conversation: Conversation, row: Row) -> Texts:
    title = title_of(conversation)
    for queued in conversation.queued:
        row.add_message(queued.message)
    draft = conversation.draft
    if draft is not None:
        row.add_message(Message(role="user", parts=[Text(text=draft.text), *draft.attachments]))
    conversation = without_superseded(conversation)
    for change in conversation.file_changes:
        row.add_path(change.path or change.uri)
        row.add_path(change.old_uri)
    for file in conversation.files:
        row.add_path(file.path or file.uri)
    for file in unnamed_files(conversation):
        _add_new(row.result, file.current)
    return row.taken(title)


def _user_text_in_prompt(parts: list[AnyPart]) -> str:
    """Return the user's text within the sent prompt, if it was not recorded otherwise."""
    sent = (part.text for part in parts if isinstance(part, Prompt) and part.scope == "turn")
    return next((words for text in sent if (words := user_text(text))), "")


def _put_first(pieces: list[str], text: str) -> None:
    if text:
        pieces.insert(0, text[:MAX_CHARACTERS])


def _add_new(pieces: list[str], text: str | None) -> None:
    """Add a text, unless the piece before contains it."""
    if text and not (pieces and _holds(pieces[-1], text)):
        pieces.append(text[:MAX_CHARACTERS])


def _holds(text: str, piece: str) -> bool:
    """Return whether a text contains a piece at word boundaries."""
    piece = piece.strip()
    start = text.find(piece[:BEGINNING], 0, MAX_CHARACTERS)
    if start >= 0 and not text.startswith(piece, start, MAX_CHARACTERS):
        start = text.find(piece, start, MAX_CHARACTERS)
    if start < 0:
        return False
    end = start + len(piece)
    return not text[max(start - 1, 0) : start].isalnum() and not text[end : end + 1].isalnum()


# --- one function for each kind of part -----------------------------------------------------------------------------


def _add_reference(row: Row, part: Reference) -> None:
    row.prose.append(part)
    row.add_location(part.place)


def _add_notice(row: Row, part: Notice) -> None:
    if part.is_prose:
        row.prose.append(part)
    elif part.text:
        row.result.append(part.text[:MAX_CHARACTERS])


def _add_thinking(row: Row, part: Thinking) -> None:
    if part.title:
        row.thinking.append(part.title)
    if part.text:
        row.thinking.append(part.text[:MAX_CHARACTERS])


def _add_call(row: Row, part: ToolCall) -> None:
    arguments = _readable(part.arguments) if part.arguments else ""
    row.arguments.append(f"{part.name} {arguments[:MAX_CHARACTERS]}" if arguments else part.name)
    if part.tool_id and part.tool_id != part.name:
        row.arguments.insert(-1, part.tool_id)
    for path in paths_in_arguments(part.arguments):
        row.paths[path] = None
    if not arguments:
        _add_new(row.arguments, part.message)
    agent = part.subagent
    if agent is not None:
        asked = (agent.name, agent.description, agent.prompt)
        row.arguments += [text[:MAX_CHARACTERS] for text in asked if text and not _holds(arguments, text)]
        if agent.result and not _holds(row.calls.result_text(part.id), agent.result):
            row.result.append(agent.result[:MAX_CHARACTERS])


def _readable(arguments: str) -> str:
    r"""Return the JSON text of arguments without its escapes, as no user searches for `\nreturn`."""
    if "\\" not in arguments or not arguments.lstrip().startswith(("{", "[", '"')):
        return arguments
    if "\\\\" not in arguments:
        plain = _unescaped(arguments)
        if "\\" not in plain or "\\u" not in plain:
            return plain
    if "\\u" in arguments:
        with suppress(msgspec.MsgspecError, ValueError, RecursionError):
            arguments = jsonio.encode(jsonio.decode_strictly(arguments))
    return "\\".join(map(_unescaped, arguments.split("\\\\")))


def _unescaped(text: str) -> str:
    """Return a JSON text without literal backslashes with its escapes replaced by their characters."""
    text = text.replace("\\n", "\n").replace('\\"', '"')
    if "\\" not in text:
        return text
    text = text.replace("\\t", "\t")
    if "\\" not in text:
        return text
    return text.replace("\\r", "\r").replace("\\/", "/")


def _add_result(row: Row, part: ToolResult) -> None:
    text = part.full_text or part.text
    terminal = row.calls.terminals.get(part.call_id)
    if terminal is not None and terminal.output:
        _, text = texts_to_search(terminal.output, text)
        if part.full_text or part.display:
            part = beyond_output(part, [terminal])
    if text:
        row.result.append(text[:MAX_CHARACTERS])
    if part.full_text:
        _add_new(row.result, part.text)
    if part.display:
        _add_new(row.result, part.display)
    for item in part.items:
        if item.text and not _holds(text, item.text):
            row.result.append(item.text[:MAX_CHARACTERS])
        row.add_location(item.place)
    for place in part.places:
        row.add_location(place)


def _add_terminal(row: Row, part: Terminal) -> None:
    _add_new(row.arguments, part.command)
    if part.original and part.original != part.command:
        _add_new(row.arguments, part.original)
    if part.output:
        output, _ = texts_to_search(part.output, row.calls.result_text(part.call_id))
        row.result += [output[:MAX_CHARACTERS]] if output.strip() else []
    row.add_path(part.cwd)


def _add_todos(row: Row, part: TodoList) -> None:
    held = row.arguments[-1] if row.arguments else ""
    for item in part.items:
        row.arguments += [text for text in (item.title, item.description) if text and not _holds(held, text)]


def _add_attachment(row: Row, part: Attachment) -> None:
    row.add_location(part.place)
    path = (part.place.path or part.place.uri or "") if part.place is not None else ""
    if part.name and not path.endswith(part.name):
        row.add_path(part.name)
    if part.text and part.type == "paste":
        row.user.append(part.text[:MAX_CHARACTERS])
    elif part.text and (not part.is_automatic or part.type in SKILLS):
        row.result.append(part.text[:MAX_CHARACTERS])
    if part.type in SKILLS:
        _add_new(row.result, part.description)


def _add_prompt(row: Row, part: Prompt) -> None:
    """Add the text of a skill that was inserted as a prompt; other text around the user's text is left out."""
    if part.text.lstrip().startswith(SKILL_TAG):
        _add_new(row.result, part.text)


def _add_mention(row: Row, part: Mention) -> None:
    row.add_location(part.place)


def _add_edit(row: Row, part: FileEdit) -> None:
    row.add_path(part.path or part.uri)
    row.add_path(part.new_uri)
    if part.call_id not in row.calls.with_arguments:
        written = "".join(edit.text for batch in part.batches for edit in batch)
        _add_new(row.arguments, written or part.diff)


def _add_tree(row: Row, part: FileTree) -> None:
    waiting: list[TreeNode] = [part.root]
    while waiting:
        node = waiting.pop()
        row.add_path(node.uri or node.label)
        waiting += reversed(node.children)


def _add_confirmation(row: Row, part: Confirmation) -> None:
    asked: list[str | None] = [part.title, part.message, *part.options]
    answered = [part.answer]
    for question in part.questions:
        asked += [question.title, question.text, *question.options]
        answered.append(question.answer)
    row.answer += [text[:MAX_CHARACTERS] for text in dict.fromkeys(asked) if text]
    row.user += [text[:MAX_CHARACTERS] for text in answered if text]


def _add_compaction(row: Row, part: Compaction) -> None:
    _add_new(row.answer, part.title)
    _add_new(row.answer, part.text)
    _add_new(row.user, part.instructions)


def _add_hook(row: Row, part: Hook) -> None:
    _add_new(row.result, part.reason)
    _add_new(row.result, part.message)


def _add_unknown(row: Row, part: Unknown) -> None:
    _add_new(row.result, "\n".join(_strings_in(part.raw)))


def _strings_in(value: Any) -> Iterator[str]:
    """Yield all texts in a JSON value, in order, without the names of its fields."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += reversed(value.values())
        elif isinstance(value, list):
            waiting += reversed(value)


ADDERS: dict[type, Callable[[Row, Any], None]] = {
    Reference: _add_reference,
    Notice: _add_notice,
    Thinking: _add_thinking,
    ToolCall: _add_call,
    ToolResult: _add_result,
    Terminal: _add_terminal,
    TodoList: _add_todos,
    Attachment: _add_attachment,
    Prompt: _add_prompt,
    Mention: _add_mention,
    FileEdit: _add_edit,
    FileTree: _add_tree,
    Confirmation: _add_confirmation,
    Compaction: _add_compaction,
    Hook: _add_hook,
    Unknown: _add_unknown,
}
