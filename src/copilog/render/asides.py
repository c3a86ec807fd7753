"""Parts of an answer that are neither prose nor tools: questions, notices, hooks, summaries, trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rich.text import Text as Line

from copilog.derive.notes import notes_of
from copilog.model import (
    AnyPart,
    Attachment,
    Checkpoint,
    Compaction,
    Confirmation,
    FileTree,
    Hook,
    Notice,
    Prompt,
    Reference,
    TreeNode,
    Unknown,
)
from copilog.render.layout import Block, Scene, folded, joined
from copilog.render.notes import note_blocks
from copilog.render.request import chip, context_blocks
from copilog.render.safe import clean, clean_line, json_text
from copilog.render.words import counted, duration_words, markdown_words, place_words

MESSAGE_LINES = 6
TREE_LINES = 40
TOPICS = {
    "progress": "",
    "task": "",
    "info": "",
    "system": "",
    "cleared": "withdrawn",
    "command": "button",
    "mcp-servers": "MCP servers started",
    "model-resolution": "model chosen",
    "session-created": "session created",
}


def aside_blocks(part: AnyPart, scene: Scene, level: int) -> Iterator[Block]:
    """What such a part shows, with its notes; nothing for one that only programs read."""
    reader = READERS.get(type(part))
    blocks = list(reader(part, scene, level)) if reader is not None else []
    yield from blocks
    if blocks:
        yield from note_blocks(notes_of(part), scene, level + 1)


def _reference(part: Reference, scene: Scene, level: int) -> Iterator[Block]:
    where = place_words(part.place, scene.folder) if part.place is not None else ""
    yield Block(joined([f"[{clean_line(part.type, 40)}]", clean_line(part.text), where], " "), level)


def _tree(part: FileTree, scene: Scene, level: int) -> Iterator[Block]:
    limit = None if scene.options.full else TREE_LINES
    yield Block(folded("\n".join(tree_lines(part.root)), limit), level)


def _confirmation(part: Confirmation, scene: Scene, level: int) -> Iterator[Block]:
    title = clean_line(part.title or "") or clean_line(part.type, 40).capitalize()
    line = Line.assemble(("? ", "yellow"), (title, "bold"))
    if part.state:
        line.append(f"  {clean_line(part.state, 40)}", "dim")
    yield Block(line, level)
    if part.message:
        limit = None if scene.options.full or part.type == "plan" else MESSAGE_LINES
        yield Block(folded(clean(part.message), limit), level + 1)
    for question in part.questions:
        words = clean_line(question.text or question.title or "a question without words")
        yield Block(Line(words), level + 1)
        yield from _options_and_answer(question.options, question.answer, level + 2)
    yield from _options_and_answer(part.options, part.answer, level + 1)


def _checkpoint(part: Checkpoint, scene: Scene, level: int) -> Iterator[Block]:
    if scene.options.full:
        yield Block(Line(f"checkpoint {clean_line(part.id, 80)}", "dim"), level)


def _compaction(part: Compaction, scene: Scene, level: int) -> Iterator[Block]:
    facts = ["the history up to here was summarised", clean_line(part.trigger or "", 60)]
    facts += [clean_line(part.model or "", 60), counted(len(part.text), "character")]
    facts.append(duration_words(part.elapsed_ms) if part.elapsed_ms is not None else "")
    yield Block(Line("≡ ", "yellow").append_text(joined(facts)), level, hangs=True)
    if scene.options.full:
        yield Block(folded(clean(part.text), None, "dim"), level + 1)


def _hook(part: Hook, scene: Scene, level: int) -> Iterator[Block]:  # noqa: ARG001
    facts = [f"hook {clean_line(part.type, 60)}", clean_line(part.tool or "", 80)]
    if part.is_blocking:
        facts.append(f"stopped it: {clean_line(part.reason or '', 300)}".rstrip(": "))
    facts.append(clean_line(part.message or "", 300))
    yield Block(Line("⚙ ", "yellow" if part.is_blocking else "dim").append_text(joined(facts)), level, hangs=True)


def _notice(part: Notice, scene: Scene, level: int) -> Iterator[Block]:
    text = clean(markdown_words(part.text)).strip()
    if not scene.options.full and (
        not (text or part.notes) or part.topic == "cleared"
    ):  # VS Code shows nothing of what it withdrew
        return
    if part.topic in ("warning", "undone"):
        yield Block(Line("⚠ " + text, "yellow"), level, hangs=True)
        return
    label = clean_line(TOPICS.get(part.topic, part.topic), 60)
    words = [label if text or label else part.topic, text]
    yield Block(Line("· " + ": ".join(word for word in words if word), "dim"), level, hangs=True)


def _attachment(part: Attachment, scene: Scene, level: int) -> Iterator[Block]:
    yield Block(chip(part, scene), level)
    if part.text and scene.options.full:
        yield Block(folded(clean(part.text), None, "dim"), level + 1)


def _prompt(part: Prompt, scene: Scene, level: int) -> Iterator[Block]:
    yield from context_blocks(part, scene, level)


def _unknown(part: Unknown, scene: Scene, level: int) -> Iterator[Block]:
    yield Block(Line(f"unknown part {clean_line(part.type, 80)}", "yellow"), level)
    if scene.options.full:
        yield Block(folded(json_text(part.raw), None, "dim"), level + 1)


def _options_and_answer(options: list[str], answer: str | None, level: int) -> Iterator[Block]:
    if options:
        yield Block(Line(" ".join(f"[{clean_line(option, 100)}]" for option in options), "dim"), level)
    if answer is not None:
        yield Block(Line.assemble(("→ ", "green"), clean(answer)), level)


def tree_lines(root: TreeNode) -> Iterator[str]:
    """The tree as indented lines, without recursion: a tree may be as deep as its writer liked."""
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        yield "  " * min(depth, 20) + clean_line(node.label or "/") + ("/" if node.children else "")
        waiting += [(child, depth + 1) for child in reversed(node.children)]


READERS: dict[type, Callable[[Any, Scene, int], Iterator[Block]]] = {
    Reference: _reference,
    FileTree: _tree,
    Confirmation: _confirmation,
    Checkpoint: _checkpoint,
    Compaction: _compaction,
    Hook: _hook,
    Notice: _notice,
    Attachment: _attachment,
    Prompt: _prompt,
    Unknown: _unknown,
}
