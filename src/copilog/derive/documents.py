"""Find all documents of a conversation, each once: recorded ones, and those that only a message has.

A summary of the history and a to-do list are parts of messages, where the turn shows them. As documents they are the
same things as the files and rows of a store that record them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from copilog.derive.document_union import sections_in, title_in, united
from copilog.model import (
    AnyDocument,
    CheckpointDocument,
    Compaction,
    Conversation,
    Message,
    SummaryDocument,
    TodoItem,
    TodoList,
    TodosDocument,
)

FROM_STORE = "checkpoint"  # `native` of a summary that a session store numbers
_MARKS = {"completed": "x", "in-progress": "~"}


class DocumentAt(NamedTuple):
    """A document, and the position of the message that has its text, if one has."""

    document: AnyDocument
    message: int | None


def documents_of(conversation: Conversation) -> list[DocumentAt]:
    """Return all documents of a conversation: the recorded ones in their order, then those of its messages."""
    found = [DocumentAt(document, None) for document in conversation.documents]
    for number, made in _in_messages(conversation):
        for position, known in enumerate(found):
            if (both := united(made, known.document)) is not None:
                found[position] = DocumentAt(both, number if known.message is None else known.message)
                break
        else:
            found.append(DocumentAt(made, number))
    return found


def todos_text(items: list[TodoItem]) -> str:
    """Return a to-do list as Markdown: an item on each line, with its description below it."""
    lines: list[str] = []
    for item in items:
        lines.append(f"- [{_MARKS.get(item.status or '', ' ')}] {item.title or item.id or ''}".rstrip())
        lines += [f"  {line}" for line in (item.description or "").split("\n") if line.strip()]
    return "\n".join(lines)


def _in_messages(conversation: Conversation) -> Iterator[tuple[int, AnyDocument]]:
    """Yield the documents that parts of messages are, with the position of the message."""
    todos: list[TodoItem] = []
    for number, message in enumerate(conversation.messages):
        for part in message.parts:
            if type(part) is Compaction:
                yield number, _summary(part, message)
            elif type(part) is TodoList and part.items != todos:
                todos = part.items
                text = todos_text(todos)
                yield number, TodosDocument(text=text, items=todos, turn=message.turn, created_at=message.created_at)


def _summary(part: Compaction, message: Message) -> AnyDocument:
    """Return the summary that a part is: a checkpoint if it has a number, or a checkpoint's sections."""
    number, path = _number_and_path(part)
    sections = sections_in(part.text)
    if number is not None or sections or part.native == FROM_STORE:
        return CheckpointDocument(
            text=part.text,
            title=part.title or title_in(part.text),
            number=number,
            sections=sections,
            path=path,
            turn=message.turn,
            created_at=message.created_at,
        )
    return SummaryDocument(text=part.text, title=part.title, turn=message.turn, created_at=message.created_at)


def _number_and_path(part: Compaction) -> tuple[int | None, str | None]:
    """Return the number and the file of a checkpoint, as the event or the row of a store names them."""
    extra = part.extra or {}
    file = extra.get("checkpoint")
    file = file if isinstance(file, dict) else {}
    numbers = (file.get("number"), extra.get("checkpointNumber"), extra.get("checkpoint_number"))
    number = next((one for one in numbers if isinstance(one, int) and not isinstance(one, bool)), None)
    name = file.get("file")
    return number, f"checkpoints/{name}" if isinstance(name, str) else None
