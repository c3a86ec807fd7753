"""Turns that VS Code no longer had when it asked a model again: those that a retry or an edited prompt replaced.

The traces of the extension keep them, and nothing in them says that they were replaced. But the prompt of a later turn
repeats the conversation so far, and lacks them. It may lack turns for want of space, too, so this alone decides
nothing: `identity.superseding` asks whether the session file lacks the turn as well.
"""

from __future__ import annotations

from typing import NamedTuple

from copilog import tags
from copilog.model import Turn

LEFT_OUT = "left_out_of_later_prompts"  # in the extra of a turn


class Asking(NamedTuple):
    """A turn, its prompt, and the users' messages that a model was first sent in it; None if they were not recorded."""

    turn: Turn
    prompt: str
    sent: list[str] | None


def mark_left_out(asked: list[Asking]) -> None:
    """Mark the turns that are not in the last prompt that repeats the conversation as it was."""
    last = next((place for place in range(len(asked) - 1, 0, -1) if _is_whole(asked[place].sent)), None)
    if last is None:
        return
    sent = "\n".join(_squeezed(text) for text in asked[last].sent or [])
    if _squeezed(asked[last].prompt) not in sent:
        return  # its own prompt was sent in other words, and so may be those before it
    by_prompt: dict[str, list[Turn]] = {}
    for asking in asked[: last + 1]:
        by_prompt.setdefault(_squeezed(asking.prompt), []).append(asking.turn)
    for prompt, turns in by_prompt.items():
        missing = len(turns) - sent.count(prompt) if prompt else 0
        # The last of several with the same prompt was sent; it replaced those right before it.
        replaced = turns[-1 - missing : -1] if missing < len(turns) else turns
        for turn in replaced if missing > 0 else ():
            turn.extra = {**(turn.extra or {}), LEFT_OUT: True}


def _is_whole(sent: list[str] | None) -> bool:
    """Return whether messages repeat a conversation from its beginning, and not from a summary on."""
    return sent is not None and not any(tags.begins_with_summary(text) for text in sent)


def _squeezed(text: str) -> str:
    """Return a text without white space, which prompts have more or less of."""
    return "".join(text.split())
