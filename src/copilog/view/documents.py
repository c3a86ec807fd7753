"""Documents as a reader sees them: texts that no turn shows, and lists of the files and references of a session."""

from __future__ import annotations

from collections.abc import Iterator

from copilog.derive.document_kinds import scope_of
from copilog.derive.documents import numbered_documents
from copilog.model import (
    AnyDocument,
    ArtifactDocument,
    CheckpointDocument,
    Conversation,
    MemoryDocument,
    ReferenceDocument,
    ResearchDocument,
    SessionFileDocument,
)
from copilog.view.blocks import ShownDocument
from copilog.view.terminal_text import clean_line
from copilog.view.wording import document_text, path_text

FILES, REFERENCES, NO_TEXT = "Files of the session store", "References of the session store", "Saved files without text"


def shown_documents(conversation: Conversation) -> list[ShownDocument]:
    """Return the documents with a text that no message shows; the others are read in their turns."""
    return [
        ShownDocument(_title(document), document.text, number)
        for document, number, is_own in numbered_documents(conversation)
        if is_own and not isinstance(document, ReferenceDocument) and not is_without_text(document)
    ]


def documents_named(conversation: Conversation, name: str) -> list[ShownDocument]:
    """Return the documents with a text that have this in their kind, title or path, also those that a message shows."""
    wanted = name.strip().casefold()
    found = []
    for document, number, _ in numbered_documents(conversation):
        names = (document.kind, _title(document), document.path or "", document.title or "")
        if document.text and any(wanted in each.casefold() for each in names):
            found.append(ShownDocument(_title(document), document.text, number))
    return found


def is_without_text(document: AnyDocument) -> bool:
    return isinstance(document, ArtifactDocument | ResearchDocument) and not document.text


def document_lists(conversation: Conversation, folder: str | None) -> list[tuple[str, list[str]]]:
    """Return the documents that are lines of lists, by headings."""
    lists: dict[str, list[str]] = {FILES: [], REFERENCES: [], NO_TEXT: []}
    for document in conversation.documents:
        if isinstance(document, SessionFileDocument):
            lists[FILES].append(_line(path_text(document.path or "", folder), document.tool, document))
        elif isinstance(document, ReferenceDocument):
            lists[REFERENCES].append(_line(f"{document.type or 'reference'} {document.value or ''}", None, document))
        elif isinstance(document, ArtifactDocument | ResearchDocument) and is_without_text(document):
            size = f"{document.size:,} bytes" if document.size is not None else None
            lists[NO_TEXT].append(_line(document.path or "", size, document))
    return [(heading, lines) for heading, lines in lists.items() if lines]


def _line(name: str, fact: str | None, document: AnyDocument) -> str:
    turn = f"turn {document.turn + 1}" if document.turn is not None else None
    return " · ".join(clean_line(word, 300) for word in (name, fact, turn) if word)


def _title(document: AnyDocument) -> str:
    return document_text(document, " · ".join(_facts(document)))


def _facts(document: AnyDocument) -> Iterator[str]:
    if document.title and document.path:
        yield clean_line(document.path, 300)
    if isinstance(document, CheckpointDocument) and document.number is not None:
        yield f"number {document.number}"
    if isinstance(document, MemoryDocument) and (scope := scope_of(document)) is not None:
        yield f"of the {scope}"
    if document.turn is not None:
        yield f"turn {document.turn + 1}"
