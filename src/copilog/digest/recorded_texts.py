"""Find what was written down to be kept: checkpoints, summaries, plans, memories, research, to-do lists."""

from __future__ import annotations

import re
from collections.abc import Iterator

from copilog.digest.content import Origin, Passage, Section, Task, TaskList
from copilog.model import Compaction, Conversation, Document, TodoList

_BY_TAG: dict[str, Section] = {
    "overview": "overview",
    "history": "history",
    "work_done": "work done",
    "technical_details": "technical details",
    "important_files": "important files",
    "next_steps": "next steps",
}
_BY_KIND: dict[str, Section] = {
    "checkpoint": "overview",
    "summary": "overview",
    "plan": "plan",
    "memory": "memory",
    "research": "research",
}
_TAG = re.compile(rf"<({'|'.join(_BY_TAG)})>\s*\n?(.*?)\n?\s*</\1>", re.DOTALL)
_INNER = re.compile(r"<summary>(.*?)</summary>", re.DOTALL)
_TASK = re.compile(r"\s*[-*]?\s*\[(.)\]\s*(.*)")
_BOXES = {"x": "completed", "X": "completed", " ": "not-started"}


def passages_of(conversation: Conversation) -> list[Passage]:
    """Return the passages, each text once: of several summaries of a conversation, the latest that has the section."""
    found = [*_of_documents(conversation), *_of_compactions(conversation)]
    latest: dict[tuple[Section, bool], Passage] = {}
    others: list[Passage] = []
    for passage in found:
        if passage.section in ("plan", "memory", "research"):
            others.append(passage)
        else:
            latest[passage.section, passage.origin.words.startswith("summary")] = passage
    kept: dict[tuple[Section, str], Passage] = {}
    for passage in [*latest.values(), *others]:
        kept.setdefault((passage.section, passage.text.strip()), passage)
    return list(kept.values())


def task_lists_of(conversation: Conversation) -> list[TaskList]:
    """Return the last state of the to-do list, of those in the answers and of those beside the conversation."""
    found: list[TaskList] = []
    for message in conversation.messages:
        for part in message.parts:
            if type(part) is TodoList and part.items:
                tasks = [Task(item.title, item.status) for item in part.items]
                found = [TaskList(tasks, Origin("to-do list", number_of(message.turn), message.created_at))]
    found += [
        TaskList(tasks, Origin("to-do list"))
        for document in conversation.documents
        if document.kind == "todos" and (tasks := _tasks_in(document.text))
    ]
    return found


def _of_documents(conversation: Conversation) -> Iterator[Passage]:
    for document in sorted(conversation.documents, key=_number):
        section = _BY_KIND.get(document.kind)
        if section is not None and document.text.strip():
            origin = Origin(_name(document))
            yield from _passages(document.text, section, origin)


def _of_compactions(conversation: Conversation) -> Iterator[Passage]:
    for message in conversation.messages:
        for part in message.parts:
            if type(part) is Compaction and part.text.strip():
                name = f"checkpoint “{part.title}”" if part.title else "compaction of the history"
                yield from _passages(part.text, "overview", Origin(name, number_of(message.turn), message.created_at))


def _passages(text: str, section: Section, origin: Origin) -> Iterator[Passage]:
    """Yield the sections of a text that has them; else the text itself."""
    sections = list(_TAG.finditer(text))
    for match in sections:
        if match[2].strip():
            yield Passage(_BY_TAG[match[1]], match[2], origin)
    if not sections:
        inner = _INNER.search(text)
        yield Passage(section, inner[1] if inner is not None else text, origin)


def number_of(turn: int | None) -> int | None:
    """Return the number of a turn, from 1."""
    return None if turn is None else turn + 1


def _number(document: Document) -> int:
    number = (document.extra or {}).get("number")
    return number if isinstance(number, int) else 0


def _name(document: Document) -> str:
    number = _number(document)
    words = document.kind + (f" {number}" if number else "")
    name = document.title or document.path
    return f"{words} “{name}”" if name else words


def _tasks_in(text: str) -> list[Task]:
    tasks = []
    for line in text.split("\n"):
        match = _TASK.match(line)
        if match is not None:
            tasks.append(Task(match[2], _BOXES.get(match[1], "in-progress")))
    return tasks
