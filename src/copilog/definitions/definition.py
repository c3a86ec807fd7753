"""Convert a file to one definition."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from copilog.definitions.front_matter import Document, Values

Kind = Literal["agent", "skill", "mode", "prompt", "instruction"]
Scope = Literal["workspace", "user", "extension"]


class Definition(msgspec.Struct, omit_defaults=True, kw_only=True):
    """An agent, a skill, a mode, a prompt or instructions, as a file defines them.

    `extra` holds the fields of the front matter that are not fields here, `front_matter` its text unchanged.
    """

    kind: Kind
    name: str
    path: str
    scope: Scope = "workspace"
    description: str | None = None
    tools: list[str] = []
    model: str | None = None  # the first choice; a list of several stays in `extra`
    handoffs: list[str] = []  # the agents that can continue; the buttons' labels and prompts stay in `extra`
    argument_hint: str | None = None
    infer: bool | str | None = None  # the older name for the next two
    is_user_invocable: bool | None = None
    is_model_invocable: bool | None = None
    apply_to: str | None = None
    body: str = ""
    front_matter: str | None = None
    extra: dict[str, Any] = {}


def definition_from(document: Document, kind: Kind, name: str, path: str, scope: Scope) -> Definition:
    """Return a definition from a file's two halves; `name` is used if the file has none."""
    rest = dict(document.values)
    made = Definition(
        kind=kind,
        name=_take_text(rest, "name") or name,
        path=path,
        scope=scope,
        description=_take_text(rest, "description"),
        tools=_take_names(rest, "tools") or _take_names(rest, "allowed-tools"),
        model=_take_text(rest, "model") or _first_of(rest.get("model")),
        handoffs=_targets(rest.get("handoffs")),
        argument_hint=_take_text(rest, "argument-hint"),
        infer=_take_flag(rest, "infer") if isinstance(rest.get("infer"), bool) else _take_text(rest, "infer"),
        is_user_invocable=_take_flag(rest, "user-invocable"),
        apply_to=_take_text(rest, "applyTo") or ",".join(_take_names(rest, "applyTo")) or None,
        body=document.body,
        front_matter=document.front,
    )
    hidden_from_models = _take_flag(rest, "disable-model-invocation")
    made.is_model_invocable = None if hidden_from_models is None else not hidden_from_models
    made.extra = rest
    return made


def _take_text(values: Values, key: str) -> str | None:
    value = values.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    del values[key]
    return str(value).strip() or None


def _take_flag(values: Values, key: str) -> bool | None:
    if not isinstance(values.get(key), bool):
        return None
    return bool(values.pop(key))


def _take_names(values: Values, key: str) -> list[str]:
    """Take names from a list, or from one text that separates them by commas."""
    value = values.get(key)
    if isinstance(value, str):
        names = [name.strip() for name in value.split(",")]
    elif isinstance(value, list) and all(isinstance(name, str) for name in value):
        names = value
    else:
        return []
    del values[key]
    return [name for name in names if name]


def _first_of(value: object) -> str | None:
    first = value[0] if isinstance(value, list) and value else None
    return first if isinstance(first, str) else None


def _targets(handoffs: object) -> list[str]:
    """Return the agents that a list of hand-offs names, each once."""
    if not isinstance(handoffs, list):
        return []
    named = (handoff.get("agent") for handoff in handoffs if isinstance(handoff, dict))
    return list(dict.fromkeys(name for name in named if isinstance(name, str)))
