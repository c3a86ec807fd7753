"""Read VS Code's list of agent sessions: its own chats, and those that other agents store elsewhere.

Two rows of a workspace's state.vscdb contain it: `agentSessions.model.cache` has the entries,
`agentSessions.state.cache` what the user did with them. Format notes: docs/formats/copilot-chat-extension.md
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from copilog.derive import add_title
from copilog.fields import (
    Json,
    markdown_text,
    put_back,
    rest,
    take_bool,
    take_dict,
    take_int,
    take_str,
    time_from_ms,
)
from copilog.model import Conversation, Relation
from copilog.sources.base import Found, provenance_of
from copilog.uris import uri_parts, uri_to_string

MODEL_CACHE = "agentSessions.model.cache"
STATE_CACHE = "agentSessions.state.cache"
TABLE = "ItemTable"
SOURCE = "vscode-state"
LOCAL = "vscode-chat-session"
CLI = "copilotcli"
STATUS = {0: "failed", 1: "complete", 2: "in-progress", 3: "needs-input"}


class SessionName(NamedTuple):
    """The session that an address refers to."""

    conversation_id: str
    native_id: str
    is_external: bool


def name_of(resource: str) -> SessionName:
    """Return the session that an address refers to: one of VS Code's own, of Copilot CLI, or of another agent."""
    uri = uri_parts(resource)
    path = uri.path.lstrip("/") if uri is not None else ""
    if uri is not None and uri.scheme == LOCAL and uri.authority == "local":
        native_id = _from_base64(path)
        if native_id is not None:
            return SessionName(f"vscode:{native_id}", native_id, False)
    if uri is not None and uri.scheme == CLI and path:
        return SessionName(f"cli:{path}", path, True)
    return SessionName(f"vscode:{resource}", resource, True)


def _from_base64(text: str) -> str | None:
    from base64 import b64decode

    encoded = text.rstrip("=")
    try:
        decoded = b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
    return decoded or None


def states_from_cache(value: Any) -> dict[str, Json]:
    """Return by address what the user did with each session: archived, pinned, and when it was last read."""
    states: dict[str, Json] = {}
    for item in value if isinstance(value, list) else []:
        resource = uri_to_string(item.get("resource")) if isinstance(item, dict) else None
        if resource is not None:
            states[resource] = {key: state for key, state in item.items() if key != "resource"}
    return states


def stubs_from_cache(value: Any, found: Found, states: Mapping[str, Json] | None = None) -> Iterator[Conversation]:
    """Yield one stub for each entry of the list, and for the sessions below it.

    Entries that are not objects are skipped.
    """
    waiting: list[tuple[Any, str | None]] = [(item, None) for item in value] if isinstance(value, list) else []
    while waiting:
        entry, parent = waiting.pop(0)
        resource = uri_to_string(entry.get("resource")) if isinstance(entry, dict) else None
        if resource is None:
            continue
        children = entry.pop("children", None)
        stub = _stub(entry, resource, found, states or {})
        if parent is not None:
            stub.relations.append(Relation(kind="subagent", other_id=parent, reason="listed below that session"))
        waiting[:0] = [(child, stub.id) for child in children] if isinstance(children, list) else []
        yield stub


def _stub(entry: Json, resource: str, found: Found, states: Mapping[str, Json]) -> Conversation:
    name = name_of(resource)
    stub = Conversation(
        id=name.conversation_id,
        native_id=name.native_id,
        source=SOURCE,
        workspace=found.workspace,
        application=found.application,
        marks=["stub", "external"] if name.is_external else ["stub"],
        provenance=[provenance_of(found, role="index", table=TABLE, row=MODEL_CACHE)],
    )
    _read_entry(entry, resource, stub, states)
    return stub


def _read_entry(entry: Json, resource: str, stub: Conversation, states: Mapping[str, Json]) -> None:
    add_title(stub, take_str(entry, "label"), "session list")
    timing = take_dict(entry, "timing") or {}
    stub.started_at = time_from_ms(timing.get("created")) or time_from_ms(timing.get("startTime"))
    last = [timing.get(key) for key in ("lastRequestEnded", "endTime", "lastRequestStarted")]
    stub.updated_at = next((moment for value in last if (moment := time_from_ms(value)) is not None), None)
    put_back(entry, "timing", timing)
    label = take_str(entry, "providerLabel")
    if "external" in stub.marks:
        stub.assistant = label
    elif label is not None:
        entry["providerLabel"] = label
    status = take_int(entry, "status")
    if status is not None:
        entry["status"] = STATUS.get(status, status)
    for key in ("description", "tooltip", "badge"):
        text = markdown_text(entry.get(key))
        if text is not None:
            entry[key] = text
    state = states.get(resource, {})
    archived = state.get("archived", take_bool(entry, "archived"))
    if archived is True:
        stub.marks.append("archived")
    if state:
        entry["state"] = dict(state)
    extra = rest(entry)
    stub.extra = {"agent_session": extra} if extra else None
