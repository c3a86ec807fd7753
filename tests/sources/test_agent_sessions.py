"""VS Code's list of agent sessions, as two rows of its store remember it."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog import jsonio, sqliteio
from copilog.model import Conversation, Relation
from copilog.sources.base import Found
from copilog.sources.vscode.agent_sessions import (
    MODEL_CACHE,
    STATE_CACHE,
    name_of,
    states_from_cache,
    stubs_from_cache,
)
from copilog.sqliteio import UnreadableDatabase

SESSION = "7d1f0000-0000-4000-8000-00000000000a"
LOCAL = "vscode-chat-session://local/" + base64.b64encode(SESSION.encode()).decode().rstrip("=")
CLI = "copilotcli:/5a3e0c11-0000-4000-8000-000000000001"
FOUND = Found(Path("/home/ana/state.vscdb"), "vscode-state", application="Code")

Json = dict[str, Any]


def entry(resource: Any, label: str = "Tide curve", **fields: Any) -> Json:
    timing = {"created": 1777888800000, "lastRequestStarted": 1777888860000, "lastRequestEnded": 1777888870000}
    made = {"providerType": "copilotcli", "providerLabel": "Copilot CLI", "resource": resource, "icon": "worktree"}
    return {**made, "label": label, "status": 1, "timing": timing, **fields}


def stubs(*entries: Any, states: Any = None) -> list[Conversation]:
    made = list(stubs_from_cache(list(entries), FOUND, states_from_cache(states)))
    for stub in made:
        assert msgspec.json.decode(msgspec.json.encode(stub), type=Conversation) == stub
    return made


def test_an_entry_is_a_stub_with_all_its_fields() -> None:
    full = entry(
        CLI,
        description={"value": "**2 files**"},
        tooltip="In a worktree",
        changes={"files": 2, "insertions": 10, "deletions": 3},
        metadata={"pullRequestNumber": 17},
    )

    [stub] = stubs(full)

    assert (stub.id, stub.native_id) == (
        "cli:5a3e0c11-0000-4000-8000-000000000001",
        "5a3e0c11-0000-4000-8000-000000000001",
    )
    assert (stub.title, stub.assistant, stub.application) == ("Tide curve", "Copilot CLI", "Code")
    assert (stub.started_at, stub.updated_at) == (
        datetime(2026, 5, 4, 10, 0, tzinfo=UTC),
        datetime(2026, 5, 4, 10, 1, 10, tzinfo=UTC),
    )
    assert stub.marks == ["stub", "external"]
    [place] = stub.provenance
    assert (place.role, place.table, place.row) == ("index", "ItemTable", MODEL_CACHE)
    assert stub.extra is not None
    kept = stub.extra["agent_session"]
    assert (kept["status"], kept["description"], kept["tooltip"]) == ("complete", "**2 files**", "In a worktree")
    assert kept["changes"] == {"files": 2, "insertions": 10, "deletions": 3}
    assert (kept["metadata"], kept["icon"]) == ({"pullRequestNumber": 17}, "worktree")


@pytest.mark.parametrize(
    ("resource", "conversation_id", "is_external"),
    [
        (LOCAL, f"vscode:{SESSION}", False),
        (CLI, "cli:5a3e0c11-0000-4000-8000-000000000001", True),
        ("copilotcli:///s-1", "cli:s-1", True),
        ("claude-code:/abc", "vscode:claude-code:/abc", True),
        ("vscode-chat-session://local/not*base64", "vscode:vscode-chat-session://local/not*base64", True),
    ],
)
def test_an_address_identifies_the_agent_of_a_session(resource: str, conversation_id: str, is_external: bool) -> None:
    name = name_of(resource)

    assert (name.conversation_id, name.is_external) == (conversation_id, is_external)


def test_addresses_are_objects_in_older_caches() -> None:
    [stub] = stubs(entry({"$mid": 1, "scheme": "copilotcli", "path": "/s-1"}))

    assert stub.id == "cli:s-1"


def test_states_of_sessions_are_read_from_their_own_row() -> None:
    states = [{"resource": CLI, "archived": True, "pinned": False, "read": 1777888900000}, {"archived": True}, 7]

    archived, other, by_provider = stubs(
        entry(CLI), entry(LOCAL), entry("claude-code:/x", archived=True), states=states
    )

    assert archived.marks == ["stub", "external", "archived"]
    assert (archived.extra or {})["agent_session"]["state"]["read"] == 1777888900000
    assert other.marks == ["stub"]
    assert by_provider.marks == ["stub", "external", "archived"]


def test_sessions_below_a_session_are_listed_with_it() -> None:
    parent, child, sibling = stubs(entry(CLI, children=[entry("copilotcli:/child", "Inner")]), entry(LOCAL))

    assert (child.title, child.relations) == (
        "Inner",
        [Relation(kind="subagent", other_id=parent.id, reason="listed below that session")],
    )
    assert sibling.native_id == SESSION


def test_items_that_are_not_entries_are_skipped() -> None:
    assert stubs(7, None, {}, {"resource": "no address"}) == []
    assert list(stubs_from_cache({"not": "a list"}, FOUND)) == []
    assert states_from_cache(None) == {}


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8), st.just(CLI)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["resource", "timing", "status", "label", "children", "created"]), inner),
    ),
    max_leaves=12,
)


@given(json_values, json_values)
def test_any_value_in_the_cache_is_read_without_an_error(value: Any, states: Any) -> None:
    for stub in stubs_from_cache(value, FOUND, states_from_cache(states)):
        assert msgspec.json.encode(stub)


@pytest.mark.corpus
def test_lists_of_agent_sessions_in_the_corpus_are_read(corpus: Path) -> None:
    count = 0
    for path in corpus.rglob("state.vscdb"):
        try:
            with sqliteio.open_copy(path) as snapshot:
                query = "SELECT key, value FROM ItemTable WHERE key IN (?, ?)"
                rows = dict(sqliteio.query(snapshot.connection, query, (MODEL_CACHE, STATE_CACHE)))
        except UnreadableDatabase:
            continue
        values = {key: jsonio.decode(value)[0] for key, value in rows.items()}
        states = states_from_cache(values.get(STATE_CACHE.encode()))
        entries = values.get(MODEL_CACHE.encode(), [])
        made = list(stubs_from_cache(entries, Found(path, "vscode-state"), states))
        assert len(made) == len(entries)
        count += len(made)

    assert count
