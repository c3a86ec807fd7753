"""Find all documents of a conversation, each once: recorded ones, and those that only a message has.

A summary of the history and a to-do list are parts of messages, where the turn shows them. As documents they are the
same things as the files and rows of a store that record them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from copilog.derive.document_union import is_same_text, sections_in, title_in, united
from copilog.model import (
    AnyDocument,
    CheckpointDocument,
    Compaction,
    Conversation,
    Message,
    ReferenceDocument,
    SessionFileDocument,
    SummaryDocument,
    TodoItem,
    TodoList,
    TodosDocument,
)

FROM_STORE = "checkpoint"  # `native` of a summary that a session store numbers
COLLECTION = "collection"  # mark: documents that belong to no conversation
_MARKS = {"completed": "x", "in-progress": "~"}


class Named(Protocol):
    """What a list has of a conversation."""

    @property
    def id(self) -> str: ...
    @property
    def marks(self) -> list[str]: ...


class DocumentAt(NamedTuple):
    """A document, and the position of the message that has its text, if one has."""

    document: AnyDocument
    message: int | None


def documents_of(conversation: Conversation) -> list[DocumentAt]:
    """Return all documents of a conversation: the recorded ones in their order, then those of its messages."""
    found = [DocumentAt(document, None) for document in conversation.documents]
    recorded = len(found)
    for number, made in _in_messages(conversation):
        among = recorded if isinstance(made, TodosDocument) else len(found)  # a list that returns is another state
        for position, known in enumerate(found[:among]):
            if (both := united(made, known.document)) is not None:
                is_shown = known.message is None and is_same_text(both, made)
                found[position] = DocumentAt(both, number if is_shown else known.message)
                break
        else:
            found.append(DocumentAt(made, number))
    return found


def is_collection(conversation: Conversation | Named) -> bool:
    """Return whether something stored is no conversation, but memories of a user, a repository or a workspace."""
    return COLLECTION in conversation.marks or conversation.id.startswith("memory:")  # as earlier versions marked them


class NumberedDocument(NamedTuple):
    """A document, and the number of the message with its text; None if it has no text to search.

    A document that no message shows counts as one after the last message: its number is its place in the archive, and
    its address on pages.
    """

    document: AnyDocument
    number: int | None
    is_own: bool  # whether no message has the text


def numbered_documents(conversation: Conversation) -> list[NumberedDocument]:
    """Return the documents of a conversation with their numbers."""
    following = len(conversation.messages)
    found: list[NumberedDocument] = []
    for document, message in documents_of(conversation):
        is_own = message is None and searchable_text(document) != ""
        found.append(NumberedDocument(document, following if is_own else message, is_own))
        following += is_own
    return found


def kinds_of_documents(conversation: Conversation) -> Counter[str]:
    """Count the documents that no message has, by kind, as a list of what a file lacks names them."""
    return Counter(f"documents of the kind {document.kind}" for document in conversation.documents)


def searchable_text(document: AnyDocument) -> str:
    """Return the text of a document with its title; of a reference what it names, and nothing of a session's file."""
    if isinstance(document, ReferenceDocument):
        return f"{document.type or 'reference'} {document.value or ''}".strip()
    if isinstance(document, SessionFileDocument):
        return ""
    title = document.title
    has_title = not title or title in document.text[: 2 * len(title)]
    return document.text if has_title else f"{title}\n{document.text}"


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
