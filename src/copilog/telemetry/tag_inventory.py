"""How often each tag occurs, and where: the summary of a run, and the inventory that `copilog tags` prints.

Summaries of parts add up to the summary of all, in any order and any grouping.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from copilog import tags
from copilog.model import Conversation, Message, Prompt, Text, ToolResult
from copilog.tags import Catalogue, Mark, Tag
from copilog.telemetry.message_tags import SplitMessage, snippet_of, split_message

MOST_SNIPPETS = 3
ROLES = ("system", "user", "assistant", "tool")

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


class TagCount(msgspec.Struct):
    """The occurrences of one tag; `tag` is its entry in the catalogue."""

    tag: Tag | None = None
    count: int = 0
    messages: int = 0
    conversations: int = 0
    roles: dict[str, int] = {}
    attributes: dict[str, int] = {}
    snippets: list[str] = []

    def add(self, role: str, text: str, marks: list[Mark], *, with_snippet: bool) -> None:
        """Add the blocks of one message."""
        self.count += len(marks)
        self.messages += 1
        self.roles[role] = self.roles.get(role, 0) + len(marks)
        for mark in marks:
            for name in tags.attributes_of(mark):
                self.attributes[name] = self.attributes.get(name, 0) + 1
        if with_snippet:
            self.snippets = _chosen([*self.snippets, snippet_of(text, marks[0])])

    def combine(self, other: TagCount) -> TagCount:
        return TagCount(
            self.tag or other.tag,
            self.count + other.count,
            self.messages + other.messages,
            self.conversations + other.conversations,
            _sum_of(self.roles, other.roles),
            _sum_of(self.attributes, other.attributes),
            _chosen([*self.snippets, *other.snippets]),
        )


class TagSummary(msgspec.Struct):
    """The tags of some conversations. Known ones have snippets only for an inventory that needs them."""

    conversations: int = 0
    messages: int = 0
    tags: dict[str, TagCount] = {}

    def add_conversation(
        self, messages: Iterable[tuple[str, SplitMessage]], *, with_all_snippets: bool = False
    ) -> None:
        """Add the messages of one conversation, each with its role."""
        self.conversations += 1
        met: set[str] = set()
        for role, message in messages:
            self.messages += 1
            marks: dict[str, list[Mark]] = {}
            for mark, tag, _ in message.tags:
                marks.setdefault(mark.name, []).append(mark)
                if mark.name not in self.tags:
                    self.tags[mark.name] = TagCount(tag)
            for name, found in marks.items():
                count = self.tags[name]
                count.add(role, message.text, found, with_snippet=with_all_snippets or count.tag is None)
            met.update(marks)
        for name in met:
            self.tags[name].conversations += 1

    def combine(self, other: TagSummary) -> TagSummary:
        """Add another summary to this one."""
        nothing = TagCount()
        return TagSummary(
            self.conversations + other.conversations,
            self.messages + other.messages,
            {
                name: self.tags.get(name, nothing).combine(other.tags.get(name, nothing))
                for name in {**self.tags, **other.tags}
            },
        )

    def to_json(self) -> dict[str, Any]:
        """Return the summary as data, the most frequent tags first."""
        entries = [_entry(name, count) for name, count in self.tags.items()]
        entries.sort(key=lambda entry: (-entry["count"], entry["name"]))
        new = sum(not entry["is_known"] for entry in entries)
        return {
            "conversations": self.conversations,
            "messages": self.messages,
            "known_tags": len(entries) - new,
            "new_tags": new,
            "tags": entries,
        }


def inventory_of(conversations: Iterable[Iterable[tuple[str, str]]], catalogue: Catalogue) -> TagSummary:
    """Return the tags in all messages, whatever their role; messages are pairs of role and text."""
    inventory = TagSummary()
    for messages in conversations:
        taken_apart = ((role, split_message(text, role, catalogue)) for role, text in messages)
        inventory.add_conversation(taken_apart, with_all_snippets=True)
    return inventory


def texts_of(conversation: Conversation) -> list[tuple[str, str]]:
    """Return the texts to and from the model, each with its role; prompts as sent, if they are available."""
    contexts: set[str] = set()  # sent again with each request
    return [pair for message in conversation.messages for pair in _texts_of(message, contexts)]


def _texts_of(message: Message, contexts: set[str]) -> Iterator[tuple[str, str]]:
    is_sent = message.role == "user" and any(
        isinstance(part, Prompt) and part.scope == "turn" for part in message.parts
    )
    for part in message.parts:
        if isinstance(part, Prompt):
            if part.scope == "turn" or part.text not in contexts:
                yield "system" if part.scope == "system" else message.role, part.text
            if part.scope != "turn":
                contexts.add(part.text)
        elif isinstance(part, Text) and not is_sent:  # the prompt contains the user's text, too
            yield message.role, part.text
        elif isinstance(part, ToolResult):
            yield "tool", part.text


def _entry(name: str, count: TagCount) -> dict[str, Any]:
    tag = count.tag
    return {
        "name": name,
        "is_known": tag is not None,
        "origin": tag.origin if tag else None,
        "key": tag.key if tag else None,
        "count": count.count,
        "messages": count.messages,
        "conversations": count.conversations,
        "roles": dict(sorted(count.roles.items(), key=lambda role: _role_order(role[0]))),
        "attributes": dict(sorted(count.attributes.items())),
        "snippets": [_HALF_CHARACTER.sub("\ufffd", snippet) for snippet in count.snippets],
    }


def _role_order(role: str) -> tuple[int, str]:
    return (ROLES.index(role) if role in ROLES else len(ROLES), role)


def _chosen(snippets: list[str]) -> list[str]:
    """Return a few different snippets. They are sorted, so that the order of reading does not matter."""
    return sorted(set(snippets))[:MOST_SNIPPETS]


def _sum_of(left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
    return {name: left.get(name, 0) + right.get(name, 0) for name in {**left, **right}}
