"""Which spans belong together: trees of spans, and the sessions that the trees are of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from copilog.sources._extension.spans import (
    AGENT,
    CHAT,
    LABEL,
    PARENT_SESSION,
    SESSION_KEYS,
    TOOL,
    Asked,
    Span,
)

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
SUBAGENT = "runSubagent"
# Calls of a model that serve the product and not the conversation, by the names that the extension gives them.
HELPERS = frozenset(
    {
        "title",
        "categorization",
        "promptCategorization",
        "progressMessages",
        "contextualProgressMessage",
        "healStringReplace",
        "healApplyPatch",
        "notebookPlanning",
        "copilotLanguageModelWrapper",
    }
)


@dataclass(slots=True)
class Tree:
    """An operation with all that ran below it. The top may be missing: it was lost, or is never written."""

    key: str  # the id of the top
    top: Span | None
    spans: list[Span] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    session: str | None = None
    label: str | None = None  # of a helper
    caller: str | None = None  # of a sub-agent whose call is not there: what stands for that call

    @property
    def started_at(self) -> datetime | None:
        return min((span.started_at for span in self.spans if span.started_at is not None), default=None)

    @property
    def ended_at(self) -> datetime | None:
        return max((span.ended_at for span in self.spans if span.ended_at is not None), default=None)

    @property
    def is_agent(self) -> bool:
        """Whether an agent worked here, so that this is a turn."""
        if self.top is not None:
            return self.top.operation == AGENT
        return any(span.operation in (CHAT, TOOL) for span in self.spans)

    @property
    def has_chat(self) -> bool:
        return any(span.operation == CHAT for span in self.spans)


class Parents:
    """The way up from a span."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.by_id = {span.id: span for span in spans}

    def above(self, span: Span) -> list[Span]:
        """The spans above, nearest first. A circle ends where it closes."""
        found: list[Span] = []
        seen = {span.id}
        parent_id = span.parent_id
        while parent_id is not None and parent_id in self.by_id and parent_id not in seen:
            seen.add(parent_id)
            found.append(self.by_id[parent_id])
            parent_id = found[-1].parent_id
        return found


def trees_of(spans: list[Span], asked: list[Asked]) -> tuple[list[Tree], list[Asked]]:
    """The trees by their beginning, and the prompts that belong to none of them."""
    parents = Parents(spans)
    trees: dict[str, Tree] = {}
    tree_of: dict[str, Tree] = {}
    for span in spans:
        above = parents.above(span)
        top = above[-1] if above else span
        is_top_there = top.parent_id is None or top.parent_id in parents.by_id
        key = top.id if is_top_there else top.parent_id or ""
        tree = trees.setdefault(key, Tree(key, top if is_top_there else None))
        tree.spans.append(span)
        tree_of[span.id] = tree
    loose: list[Asked] = []
    for prompt in asked:
        owner = tree_of.get(prompt.span_id or "") or trees.get(prompt.span_id or "")
        (owner.asked if owner is not None else loose).append(prompt)
    for tree in trees.values():
        tree.spans.sort(key=lambda span: span.started_at or LONG_AGO)
        tree.asked.sort(key=lambda prompt: prompt.at or LONG_AGO)
        _name(tree)
    return sorted(trees.values(), key=lambda tree: tree.started_at or LONG_AGO), loose


def _name(tree: Tree) -> None:
    """Find the session of a tree, and whether it only helps another one. What stands deeper has its own names."""
    uppermost = [tree.top] if tree.top is not None else [span for span in tree.spans if span.parent_id == tree.key]
    parent = _first_text(uppermost, PARENT_SESSION)
    label = _first_text(uppermost, LABEL)
    named = _first_text(uppermost, "copilot_chat.debug_name")
    tree.session = parent or _first_text(uppermost, *SESSION_KEYS) or _first_text(tree.spans, *SESSION_KEYS)
    is_orphan = tree.top is None and all(span.operation == AGENT for span in uppermost)
    if is_orphan or (label or "").startswith(SUBAGENT):
        tree.caller = tree.key
    elif label is not None:
        tree.label = label
    elif not tree.is_agent and (named or "").rpartition("/")[2] in HELPERS:
        tree.label = named
    elif tree.session is None and tree.top is not None and tree.top.operation == CHAT:
        agent = tree.top.text("gen_ai.agent.name")
        tree.label = agent if agent in HELPERS else None


def _first_text(spans: list[Span], *keys: str) -> str | None:
    return next((text for span in spans if (text := span.text(*keys))), None)
