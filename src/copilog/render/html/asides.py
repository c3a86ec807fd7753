"""Parts of an answer that are neither prose nor tools nor edits: questions, notices, hooks, summaries, trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from copilog.model import (
    AnyPart,
    Attachment,
    Checkpoint,
    Compaction,
    Confirmation,
    FileTree,
    Hook,
    Mention,
    Notice,
    Prompt,
    Reference,
    Unknown,
)
from copilog.render.asides import TOPICS, tree_lines
from copilog.render.html.blocks import Aside, Asked, Block, Chip, Chips, Stage
from copilog.render.html.markdown import markdown_html
from copilog.render.html.notes import notes_shown
from copilog.render.html.passages import long_markdown, long_plain, long_text
from copilog.render.html.requests import attachment_chip, context_block, mention_chip
from copilog.render.safe import clean, clean_line, json_text
from copilog.render.words import counted, duration_words, place_words

LOOKS = {"warning": "warning", "mode-change": "switch", "model-change": "switch"}
NAMES = {"confirmation": "Confirmation", "elicitation": "Question", "questions": "Questions", "plan": "Plan to review"}


def aside_blocks(part: AnyPart, number: int, position: int, stage: Stage) -> Iterator[Block]:
    """What such a part shows; one without a word of its own shows that it is there."""
    reader = READERS.get(type(part))
    if reader is not None:
        for block in reader(part, number, position, stage):
            block.raw = block.raw or stage.addresses.raw(number, position)
            block.notes = [] if isinstance(part, Attachment) else notes_shown(part, number, position, stage)
            yield block


def _reference(part: Reference, number: int, position: int, stage: Stage) -> Iterator[Block]:  # noqa: ARG001
    where = place_words(part.place, stage.folder) if part.place is not None else ""
    name = clean_line(part.text, 200)
    label = clean_line(part.type, 40).replace("-", " ")
    yield Chips(chips=[Chip(label=label, name=name or where, where=where if name else "")])


def _tree(part: FileTree, number: int, position: int, stage: Stage) -> Iterator[Block]:  # noqa: ARG001
    lines = "\n".join(tree_lines(part.root))
    html = long_plain(lines, is_whole=stage.is_whole)
    yield Aside(look="tree", title="Files", html=html.html)


def _confirmation(part: Confirmation, number: int, position: int, stage: Stage) -> Iterator[Block]:  # noqa: ARG001
    title = clean_line(part.title or "", 300)
    questions = [
        (
            clean_line(question.text or question.title or "a question without words"),
            [clean_line(option, 200) for option in question.options],
            clean(question.answer) if question.answer is not None else None,
        )
        for question in part.questions
    ]
    if part.options or part.answer is not None:
        answer = clean(part.answer) if part.answer is not None else None
        questions.append(("", [clean_line(option, 200) for option in part.options], answer))
    yield Asked(
        title=title or NAMES.get(part.type, clean_line(part.type, 40).capitalize()),
        state=clean_line(part.state or "", 40),
        message=markdown_html(part.message) if part.message else None,
        questions=questions,
    )


def _checkpoint(part: Checkpoint, number: int, position: int, stage: Stage) -> Iterator[Block]:  # noqa: ARG001
    yield Aside(look="checkpoint", title="Checkpoint", facts=[clean_line(part.id, 80)])


def _compaction(part: Compaction, number: int, position: int, stage: Stage) -> Iterator[Block]:
    facts = [
        clean_line(part.trigger or "", 60),
        clean_line(part.model or "", 60),
        counted(len(part.text), "character"),
        duration_words(part.elapsed_ms) if part.elapsed_ms is not None else "",
    ]
    link = stage.addresses.text(number, position, "text")
    yield Aside(
        look="compaction",
        title="The history up to here was replaced by a summary",
        facts=[fact for fact in facts if fact],
        body=long_markdown(part.text, link, is_whole=stage.is_whole) if part.text.strip() else None,
    )


def _hook(part: Hook, number: int, position: int, stage: Stage) -> Iterator[Block]:  # noqa: ARG001
    facts = [
        clean_line(part.tool or "", 80),
        f"stopped it: {clean_line(part.reason or '', 300)}".rstrip(": ") if part.is_blocking else "",
        clean_line(part.message or "", 300),
    ]
    look = "warning" if part.is_blocking else "hook"
    yield Aside(look=look, title=f"Hook {clean_line(part.type, 60)}", facts=[fact for fact in facts if fact])


def _notice(part: Notice, number: int, position: int, stage: Stage) -> Iterator[Block]:  # noqa: ARG001
    if part.topic == "undone":
        yield Aside(look="undone", title=part.text)
        return
    if part.topic == "cleared":  # VS Code shows nothing of it, so it is folded
        if part.text.strip():
            body = long_plain(part.text, None, is_whole=stage.is_whole)
            yield Aside(look="notice", title="Text that was withdrawn", body=body)
        return
    label = clean_line(TOPICS.get(part.topic, part.topic), 60)
    html = markdown_html(part.text) if part.text.strip() else None
    look = LOOKS.get(part.topic, "notice")
    title = "" if look == "warning" else label
    if html is None and not title:
        title = clean_line(part.topic, 60)
    yield Aside(look=look, title=_sentence(title), html=html)


def _sentence(words: str) -> str:
    words = words.replace("-", " ")
    return words[:1].upper() + words[1:]


def _attachment(part: Attachment, number: int, position: int, stage: Stage) -> Iterator[Block]:
    yield Chips(chips=[attachment_chip(part, number, position, stage)])


def _mention(part: Mention, number: int, position: int, stage: Stage) -> Iterator[Block]:  # noqa: ARG001
    yield Chips(chips=[mention_chip(part, stage)])


def _prompt(part: Prompt, number: int, position: int, stage: Stage) -> Iterator[Block]:
    yield context_block(part.text, part.scope, number, position, stage)


def _unknown(part: Unknown, number: int, position: int, stage: Stage) -> Iterator[Block]:  # noqa: ARG001
    yield Aside(
        look="unknown",
        title="A part of unknown kind",
        facts=[clean_line(part.type, 80)],
        body=long_text(json_text(part.raw), is_whole=stage.is_whole),
    )


READERS: dict[type, Callable[[Any, int, int, Stage], Iterator[Block]]] = {
    Reference: _reference,
    FileTree: _tree,
    Confirmation: _confirmation,
    Checkpoint: _checkpoint,
    Compaction: _compaction,
    Hook: _hook,
    Notice: _notice,
    Attachment: _attachment,
    Mention: _mention,
    Prompt: _prompt,
    Unknown: _unknown,
}
