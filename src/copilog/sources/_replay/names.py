"""What the name of a logged request tells: the conversation itself, a sub-agent, or help behind the scenes."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Purpose = Literal["main", "subagent", "helper", "other"]

TITLE = "title"
HELPERS = frozenset(
    {
        TITLE,
        "promptCategorization",
        "progressMessages",
        "contextualProgressMessage",
        "healStringReplace",
        "healApplyPatch",
        "notebookPlanning",
        "copilotLanguageModelWrapper",  # calls that other extensions make
        "oaiLMServer",
        "Claude Copilot Proxy",
        "modelList",
        "contentExclusion",
        "Model List Request",  # the last two as Markdown calls them
        "Content Exclusion Rules",
    }
)
HELPER_LABELS = ("ghost", "NES |")
MAIN_PREFIXES = ("panel/", "inline/")

_SUBAGENT = re.compile(r"tool/\w*subagent(?:-(.+))?", re.IGNORECASE | re.DOTALL)
_SUBAGENT_TOOL = re.compile(r"\w*subagent", re.IGNORECASE)
_RETRY = re.compile(r"(retry(?:-server-error|-error)?)-")


class RequestName(NamedTuple):
    """A name in its pieces: `retry-server-error-panel/editAgent` is a retry of `panel/editAgent`."""

    full: str
    base: str
    retry: str | None
    purpose: Purpose


def request_name(name: str) -> RequestName:
    """Take a name apart."""
    found = _RETRY.match(name)
    base = name[found.end() :] if found else name
    return RequestName(name, base, found[1] if found else None, _purpose(base))


def _purpose(base: str) -> Purpose:
    if base.startswith(MAIN_PREFIXES):
        return "main"
    if _SUBAGENT.fullmatch(base):
        return "subagent"
    if base in HELPERS or base.startswith("nes.") or "summarize" in base.lower():
        return "helper"
    return "other"


def subagent_name(base: str) -> str | None:
    """Which agent a sub-agent's request names, if it names one."""
    found = _SUBAGENT.fullmatch(base)
    return found[1] if found else None


def starts_subagent(tool: str) -> bool:
    """Whether a tool of this name runs a sub-agent."""
    return _SUBAGENT_TOOL.fullmatch(tool) is not None


def is_helper_label(label: str | None) -> bool:
    """Whether the label of a group is one that no user typed. It counts only where no request says otherwise."""
    return label is not None and (label == HELPER_LABELS[0] or label.startswith(HELPER_LABELS[1:]))
