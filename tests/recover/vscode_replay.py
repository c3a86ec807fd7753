"""What VS Code loads of a session file, by the rules of docs/formats/vscode-chat.md and without copilog's readers."""

from __future__ import annotations

import json
from typing import Any

KNOWN_PARTS = {"text", "agent", "subcommand", "slash", "prompt", "tool", "toolset", "dynamic", "var"}
MISSING: Any = object()


class RefusedError(Exception):
    """VS Code shows the session empty."""


def loaded(data: bytes, *, is_log: bool = True) -> dict[str, Any]:
    """Return the session that VS Code loads; raise RefusedError where it shows none."""
    text = data.decode("utf-8", "replace")
    try:
        state = _replayed(text) if is_log else _parsed(text)
        _require_requests(state)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, AssertionError) as error:
        raise RefusedError(str(error)) from error
    assert isinstance(state, dict)
    return state


def _parsed(text: str) -> Any:
    def refuse(name: str) -> None:
        raise ValueError(name)

    return json.loads(text, parse_constant=refuse)


def _replayed(text: str) -> Any:
    state: Any = MISSING
    for line in text.split("\n"):
        if not line.strip(" \t\r\n"):
            continue
        change = _parsed(line)
        kind = change["kind"]
        assert type(kind) is int
        assert kind in (0, 1, 2, 3)
        if kind == 0:
            state = change["v"]
            continue
        assert state is not MISSING
        *path, last = change["k"] or [MISSING]
        if last is MISSING:
            assert kind != 2
            continue
        parent = state
        for key in path:
            parent = parent[key if isinstance(parent, list) else str(key)]
        if kind == 2:
            array = _get(parent, last) or []
            assert isinstance(array, list)
            if change.get("i") is not None:
                del array[change["i"] :]
            array += change.get("v") or []
            _set(parent, last, array)
        else:
            _set(parent, last, change.get("v", MISSING) if kind == 1 else MISSING)
    assert state is not MISSING
    return state


def _get(parent: Any, key: Any) -> Any:
    if isinstance(parent, list):
        return parent[key] if key < len(parent) else None
    return parent.get(str(key))


def _set(parent: Any, key: Any, value: Any) -> None:
    if isinstance(parent, list):
        while len(parent) <= key:
            parent.append(None)
        parent[key] = None if value is MISSING else value
    elif value is MISSING:
        parent.pop(str(key), None)
    else:
        parent[str(key)] = value


def _require_requests(state: Any) -> None:
    requests = state.get("requests", [])
    assert isinstance(requests, list)
    for request in requests:
        message = request["message"]
        if not isinstance(message, str):
            for part in message["parts"]:
                assert part["kind"] in KNOWN_PARTS
                assert isinstance(part["range"], dict)
