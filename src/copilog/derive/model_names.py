"""Compare names of models: `copilot/gpt-4.1`, `GPT-4.1` and `gpt-4.1-2025-04-14` are one model."""

from __future__ import annotations

import re

from copilog.text_cache import cached_by_text

ROUTERS = frozenset({"auto", "copilot-auto", "default"})  # keys of names that let the product choose a model
DEPLOYMENT = "capi-"  # prefix of the name of a server where a model runs, which no user sees
NO_NAMES = frozenset({"", "unknown", "undefined", "none", "null"})  # names that identify no model

_REMARK = re.compile(r"\s*\([^()]*\)$")  # Claude Sonnet 4 (Preview)
_DATE = re.compile(r"[-@](?:20\d\d-?[01]\d-?[0-3]\d|(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01]))$")
_BETWEEN = re.compile(r"[\s._-]+")
_OLD_CLAUDE = re.compile(r"^claude-(sonnet|opus|haiku)-(3(?:-\d)?)(?=-|$)")  # Claude Sonnet 3.7 is claude-3.7-sonnet


@cached_by_text(4096)
def plain_name(name: str) -> str:
    """Return a model's name without vendor, remark and date: `gpt-4.1` for `copilot/gpt-4.1-2025-04-14`."""
    return _DATE.sub("", _REMARK.sub("", name.strip().rpartition("/")[2]))


@cached_by_text(4096)
def key_of(name: str) -> str:
    """Return the key that all names of a model share; empty if the name identifies no model."""
    key = _OLD_CLAUDE.sub(r"claude-\2-\1", _BETWEEN.sub("-", plain_name(name)).casefold())
    return "" if key in NO_NAMES else key


@cached_by_text(4096)
def name_in_details(details: str) -> str:
    """Return the model that the line under an answer names, as an id: `gpt-5-mini` for `GPT-5 mini • 7.5 credits`.

    Empty if the line names no model: it may only have a cost.
    """
    label = _SEPARATOR.split(details.strip(), maxsplit=1)[0].strip()
    if not label or _COST.match(label):
        return ""
    name = _SPACES.sub("-", plain_name(label)).casefold()
    name = _OLD_LABEL.sub(r"claude-\2-\1", name)
    return "" if key_of(name) in NO_NAMES or key_of(name) in ROUTERS else name


_SEPARATOR = re.compile(r"\s*[•·]\s*")
_COST = re.compile(r"[\d.,]+\s*(?:x|credits?)$")
_SPACES = re.compile(r"\s+")
_OLD_LABEL = re.compile(r"^claude-(sonnet|opus|haiku)-(3(?:\.\d)?)(?=-|$)")


def is_router(name: str) -> bool:
    """Return whether a name lets the product choose a model, and so identifies none."""
    return key_of(name) in ROUTERS


def is_same_model(one: str, other: str) -> bool:
    """Return whether two names are of one model; either may include a release: `gemini-3-pro-preview`."""
    return _without_release(one) == _without_release(other)


@cached_by_text(4096)
def _without_release(name: str) -> str:
    return _RELEASE.sub("", _THOUGHT.sub("-thinking", key_of(name)))


_RELEASE = re.compile(r"-(?:preview|latest|exp|00\d)$")
_THOUGHT = re.compile(r"-thought$")  # claude-3.7-sonnet-thought is labelled Claude Sonnet 3.7 Thinking
