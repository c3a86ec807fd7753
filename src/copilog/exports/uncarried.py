"""Count what a conversation has and a format does not carry: each format lists what it carries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator

from copilog.derive import superseded_indexes
from copilog.derive.documents import kinds_of_documents
from copilog.exports.formats import Making
from copilog.exports.left_out import UNCOUNTED_TURNS
from copilog.model import Attachment, Conversation, Part, ToolResult, Turn

PICTURE = "picture"
SWITCHED_OFF = "switched-off"
FULL_TEXT = "full-text"
# Kinds of part by their tag, as a reader would call them.
PARTS = {
    "text": "texts",
    "prompt": "prompts as they were sent",
    "thinking": "thoughts of models",
    "tool-call": "tool calls",
    "tool-result": "tool results",
    "terminal": "terminal records",
    "todo-list": "to-do lists",
    "attachment": "attachments",
    PICTURE: "pictures",
    SWITCHED_OFF: "attachments that were switched off",
    FULL_TEXT: "full outputs of which the model got a part",
    "mention": "mentions",
    "reference": "links to files and symbols",
    "file-edit": "file edits",
    "file-tree": "file trees",
    "confirmation": "questions to the user",
    "checkpoint": "checkpoints",
    "compaction": "summaries of the history",
    "hook": "hooks",
    "notice": "notices of the product",
    "unknown": "parts of unknown kinds",
}
TURNS: dict[str, tuple[str, Callable[[Turn], int]]] = {
    "error": ("errors of turns", lambda turn: turn.error is not None),
    "vote": ("votes", lambda turn: turn.vote is not None),
    "followups": ("suggested prompts", lambda turn: len(turn.followups)),
    "references": ("references of answers", lambda turn: len(turn.references)),
    "citations": ("citations of public code", lambda turn: len(turn.citations)),
    "edited_files": ("decisions on edits", lambda turn: len(turn.edited_files)),
    "skills": ("skills", lambda turn: len(turn.skills)),
    "usage": ("records of tokens and cost", lambda turn: len(turn.usage)),
}
CONVERSATION: dict[str, tuple[str, Callable[[Conversation], int]]] = {
    "file_changes": ("texts of files before and after changes", lambda whole: len(whole.file_changes)),
    "files": ("texts of files", lambda whole: len(whole.files)),
    "queued": ("prompts that were waiting", lambda whole: len(whole.queued)),
    "draft": ("drafts", lambda whole: whole.draft is not None and bool(whole.draft.text)),
    "relations": ("relations to other conversations", lambda whole: len(whole.relations)),
    "usage": ("records of tokens and cost", lambda whole: len(whole.usage)),
}
SUPERSEDED = UNCOUNTED_TURNS
SHORTENED = "texts that the model got in place of full outputs"


def count_uncarried(conversation: Conversation, making: Making, carried: Collection[str]) -> None:
    """Count everything of a conversation that the format does not carry.

    `carried` has tags of parts, `turn.<field>` and `conversation.<field>`; `superseded` if those turns are carried.
    """
    missing: Counter[str] = Counter()
    superseded = frozenset[int]() if "superseded" in carried else superseded_indexes(conversation)
    missing[SUPERSEDED] = len(superseded)
    for message in conversation.messages:
        if message.turn not in superseded:
            for kind in (kind for part in message.parts for kind in kinds_of(part)):
                missing[PARTS[kind]] += kind not in carried
            if FULL_TEXT in carried:  # is written in place of the text
                missing[SHORTENED] += sum(map(_is_shortened, message.parts))
    for turn in conversation.turns:
        if turn.index not in superseded:
            for field, (what, count_in) in TURNS.items():
                missing[what] += 0 if f"turn.{field}" in carried else count_in(turn)
    for name, (label, count_of) in CONVERSATION.items():
        missing[label] += 0 if f"conversation.{name}" in carried else count_of(conversation)
    if "conversation.documents" not in carried:
        missing.update(kinds_of_documents(conversation))
    for what, count in missing.items():
        making.left_out.add(conversation.id, what, count)


def _is_shortened(part: Part) -> bool:
    return isinstance(part, ToolResult) and bool(part.full_text) and part.text.strip() not in (part.full_text or "")


def kinds_of(part: Part) -> Iterator[str]:
    """Yield what a part counts as: its tag, or what is special about it."""
    if isinstance(part, Attachment) and not part.is_sent:
        yield SWITCHED_OFF
        return
    if isinstance(part, Attachment) and is_picture(part.type, part.mime_type):
        yield PICTURE
        return
    if isinstance(part, ToolResult):
        yield from (PICTURE for item in part.items if is_picture("", item.mime_type))
        if part.full_text and part.full_text != part.text:
            yield FULL_TEXT
    yield str(part.__struct_config__.tag)


def is_picture(kind: str, mime_type: str | None) -> bool:
    return kind == "image" or (mime_type or "").startswith("image/")
