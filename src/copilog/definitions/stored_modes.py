"""Read custom agents as VS Code stores them: rows of a state.vscdb, with their instructions.

They outlive the files that defined them, and include those that extensions install.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from copilog import jsonio
from copilog.definitions.definition import Definition, Scope
from copilog.definitions.locations import SUFFIXES
from copilog.errors import BadRecord
from copilog.intake.folders import is_regular_file

UNNAMED = "unnamed"  # an agent without a name and a file
TABLE = "ItemTable"
ROWS = ("chat.customModes", "chat.customModes.local")  # each begins with the first
STORES = ("state.vscdb", "state.vscdb.backup")
SCOPES: dict[Any, Scope] = {"local": "workspace", "workspace": "workspace", "user": "user", "extension": "extension"}
_TAKEN = frozenset({"id", "name", "description", "customTools", "argumentHint", "modeInstructions", "uri", "body"})


def definitions_in_store(folder: Path) -> Iterator[Definition]:
    """Yield the agents that the store of a storage folder has; of the backup if the store cannot be read."""
    for name in STORES:
        path = folder / name
        if not is_regular_file(path):
            continue
        definitions = definitions_in_file(path)
        if definitions is not None:
            yield from definitions
            return


def definitions_in_file(path: Path) -> list[Definition] | None:
    """Return the agents that one store has, or None if it cannot be read."""
    from copilog import sqliteio  # here: most folders have no store

    try:
        modes = _modes_in(path)
    except (sqliteio.UnreadableDatabase, BadRecord, OSError):
        return None  # the reader of the store reports the error
    return [made for mode in modes if (made := _definition_from(mode, path)) is not None]


def _modes_in(path: Path) -> list[Any]:
    from copilog import sqliteio

    if sqliteio.lacks(path, TABLE, ROWS[0]):  # most stores do, and each copy takes time
        return []
    with sqliteio.open_copy(path) as snapshot:
        query = f"SELECT value FROM {TABLE} WHERE key IN (?, ?) ORDER BY key"  # noqa: S608 - constants only
        rows = list(sqliteio.query(snapshot.connection, query, ROWS))
    modes: list[Any] = []
    for (raw,) in rows:
        value = jsonio.decode(raw if isinstance(raw, bytes) else str(raw).encode())[0]
        modes += [mode for mode in value if mode not in modes] if isinstance(value, list) else []
    return modes


def _definition_from(mode: Any, store: Path) -> Definition | None:
    if not isinstance(mode, dict) or not mode:
        return None  # the reader of the store reports what is not an object
    path = _path_of(mode)
    source, visible = _object(mode.get("source")), _object(mode.get("visibility"))
    instructions = mode.get("modeInstructions")
    body = (instructions.get("content") if isinstance(instructions, dict) else instructions) or mode.get("body")
    models = mode.get("model")
    handoffs = mode["handOffs"] if isinstance(mode.get("handOffs"), list) else []
    return Definition(
        kind="agent",
        name=_text(mode.get("name")) or _name_of_file(path) or UNNAMED,
        path=path or str(store),
        scope=SCOPES.get(source.get("storage"), "user"),
        description=_text(mode.get("description")),
        tools=_names(mode.get("customTools")),
        model=_text(models) or next(iter(_names(models)), None),
        handoffs=list(dict.fromkeys(_names([each.get("agent") for each in handoffs if isinstance(each, dict)]))),
        argument_hint=_text(mode.get("argumentHint")),
        is_user_invocable=_flag(visible, "userInvocable", "userInvokable"),
        is_model_invocable=_flag(visible, "agentInvocable", "agentInvokable"),
        body=body if isinstance(body, str) else "",
        extra={**{key: value for key, value in mode.items() if key not in _TAKEN}, "recorded_in": str(store)},
    )


def _name_of_file(path: str) -> str:
    name = PurePosixPath(path.replace("\\", "/")).name
    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name)


def _path_of(mode: dict[str, Any]) -> str:
    """Return the file that defines an agent, or nothing if the record does not say."""
    uri = mode.get("uri")
    if isinstance(uri, dict):
        for key in ("fsPath", "path"):
            if isinstance(uri.get(key), str) and uri[key]:
                return str(uri[key])
    address = uri if isinstance(uri, str) else mode.get("id")
    try:
        return unquote(urlsplit(address).path) if isinstance(address, str) and ":" in address else ""
    except ValueError:
        return ""


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str) and name] if isinstance(value, list) else []


def _flag(values: dict[str, Any], *keys: str) -> bool | None:
    return next((values[key] for key in keys if isinstance(values.get(key), bool)), None)
