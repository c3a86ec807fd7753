"""Make the rows of documents, and of uses of memories."""

from __future__ import annotations

from collections.abc import Iterator

from copilog.derive.documents import NumberedDocument
from copilog.derive.memory_uses import memory_uses
from copilog.model import (
    CheckpointDocument,
    Conversation,
    MemoryDocument,
    ReferenceDocument,
    SessionFileDocument,
    TodosDocument,
)
from copilog.store.rows import DocumentRow, MemoryUseRow
from copilog.store.times import time_text

LARGEST = 1 << 63


def document_rows(documents: list[NumberedDocument]) -> Iterator[DocumentRow]:
    for position, (document, row, _) in enumerate(documents):
        todos = document.items if isinstance(document, TodosDocument) else None
        number = document.number if isinstance(document, CheckpointDocument) else None
        yield DocumentRow(
            position=position,
            kind=document.kind,
            title=document.title,
            path=document.path,
            turn=document.turn,
            message=row,
            number=number if number is not None and abs(number) < LARGEST else None,
            scope=document.scope if isinstance(document, MemoryDocument) else None,
            type=document.type if isinstance(document, ReferenceDocument) else None,
            value=document.value if isinstance(document, ReferenceDocument) else None,
            tool=document.tool if isinstance(document, SessionFileDocument) else None,
            items=len(todos) if todos is not None else None,
            done=sum(item.status == "completed" for item in todos) if todos is not None else None,
            created_at=time_text(document.created_at),
            updated_at=time_text(document.updated_at),
            characters=len(document.text),
            trace=document.traces[0] if document.traces else None,
        )


def memory_rows(conversation: Conversation) -> Iterator[MemoryUseRow]:
    for position, use in enumerate(memory_uses(conversation)):
        yield MemoryUseRow(position, *use)
