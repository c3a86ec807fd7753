"""Find what was written down to be kept: checkpoints, summaries, plans, memories, research, to-do lists."""

from __future__ import annotations

import re
from collections.abc import Iterator

from copilog.derive.documents import documents_of
from copilog.digest.content import Origin, Passage, Section, Task, TaskList
from copilog.model import (
    AnyDocument,
    CheckpointDocument,
    Conversation,
    MemoryDocument,
    PlanDocument,
    ResearchDocument,
    SummaryDocument,
    TodosDocument,
    turn_number,
)
from copilog.view.wording import document_text

_SECTIONS: dict[str, Section] = {
    "overview": "overview",
    "history": "history",
    "work_done": "work done",
    "technical_details": "technical details",
    "important_files": "important files",
    "next_steps": "next steps",
}
_SUMMARY = re.compile(r"<summary>(.*?)(?:</summary>|\Z)", re.DOTALL)
_WHOLE: dict[type, Section] = {PlanDocument: "plan", MemoryDocument: "memory", ResearchDocument: "research"}


def passages_of(conversation: Conversation) -> list[Passage]:
    """Return the passages, each text once.

    A later checkpoint contains what an earlier one says, so only the last with a section counts; of the summaries,
    which are about the whole, only the last one.
    """
    latest: dict[tuple[Section, type], Passage] = {}
    others: list[Passage] = []
    for document in documents_of(conversation):
        for passage in _passages(document.document):
            if isinstance(document.document, CheckpointDocument | SummaryDocument):
                latest[passage.section, type(document.document)] = passage
            else:
                others.append(passage)
    kept: dict[tuple[Section, str], Passage] = {}
    for passage in [*latest.values(), *others]:
        kept.setdefault((passage.section, passage.text.strip()), passage)
    return list(kept.values())


def task_lists_of(conversation: Conversation) -> list[TaskList]:
    """Return the last state of the to-do list; of two lists without a common task, the last state of each."""
    states = [
        (document, message)
        for document, message in documents_of(conversation)
        if isinstance(document, TodosDocument) and document.items
    ]
    in_messages = [each for each in states if each[1] is not None]
    beside = [document for document, message in states if message is None]
    last = [max(in_messages, key=lambda each: each[1] or 0)[0]] if in_messages else []
    known = {item.title for document in last for item in document.items}
    if beside and known.isdisjoint(item.title for item in beside[-1].items):
        last.append(beside[-1])
    return [
        TaskList([Task(item.title, item.status) for item in document.items], _origin(document)) for document in last
    ]


def number_of(turn: int | None) -> int | None:
    """Return the number of a turn, from 1."""
    return None if turn is None else turn_number(turn)


def _passages(document: AnyDocument) -> Iterator[Passage]:
    """Yield the sections of a checkpoint, or the whole text of another document."""
    origin = _origin(document)
    match document:
        case CheckpointDocument():
            sections = {_SECTIONS.get(name): text for name, text in document.sections.items() if text.strip()}
            for section, text in sections.items():
                if section is not None:
                    yield Passage(section, text, origin)
            if document.text.strip() and not any(sections):
                yield Passage("overview", document.text, origin)
        case SummaryDocument() if document.text.strip():
            inner = _SUMMARY.search(document.text)  # what is before it is the model's reasoning
            yield Passage("overview", inner[1] if inner is not None else document.text, origin)
        case PlanDocument() | MemoryDocument() | ResearchDocument() if document.text.strip():
            yield Passage(_WHOLE[type(document)], document.text, origin)
        case _:
            pass


def _origin(document: AnyDocument) -> Origin:
    return Origin(document_text(document), number_of(document.turn), document.updated_at or document.created_at)
