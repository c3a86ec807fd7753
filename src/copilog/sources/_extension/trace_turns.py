"""Turns out of trees of spans and prompts: a prompt begins a turn, and what ran below it belongs to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from copilog.sources._extension.forest import LONG_AGO, Tree
from copilog.sources._extension.spans import Asked


@dataclass(slots=True)
class Outline:
    """A turn in the making: its prompts, the first of which begins it, and the trees that belong to it."""

    at: datetime | None = None
    asked: list[Asked] = field(default_factory=list)
    trees: list[Tree] = field(default_factory=list)

    def add(self, tree: Tree) -> None:
        self.trees.append(tree)
        self.asked += tree.asked


def outlines_of(trees: list[Tree], loose: list[Asked]) -> list[Outline]:
    """Sort trees and prompts into turns, by time.

    The tree of an agent is a turn. What ran outside of any agent goes with the turn that it fell into.
    """
    items: list[tuple[datetime, int, Tree | Asked]] = [(prompt.at or LONG_AGO, 0, prompt) for prompt in loose]
    for tree in trees:
        first = min((prompt.at for prompt in tree.asked if prompt.at is not None), default=None)
        items.append((first or tree.started_at or LONG_AGO, 1, tree))
    outlines: list[Outline] = []
    early: list[Tree] = []
    for moment, _, item in sorted(items, key=lambda entry: entry[:2]):
        at = moment if moment != LONG_AGO else None
        if isinstance(item, Asked):
            outlines.append(Outline(at, [item]))
        elif outlines and _goes_on(outlines[-1], item):
            outlines[-1].add(item)
        elif item.asked or item.has_chat or item.is_agent:
            outlines.append(Outline(at))
            outlines[-1].add(item)
        else:
            early.append(item)
    if early and not outlines:
        outlines.append(Outline(early[0].started_at))
    for tree in early:
        outlines[0].add(tree)
    return outlines


def _goes_on(current: Outline, tree: Tree) -> bool:
    """Whether a tree belongs to the turn before it."""
    if tree.caller is not None:
        return True
    if tree.asked:
        return False
    is_awaited = not any(known.is_agent for known in current.trees)  # the agent that the prompt was put to
    return is_awaited or not tree.is_agent
