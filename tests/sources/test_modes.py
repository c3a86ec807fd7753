"""Participants, modes and custom agents of a request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from copilog.model import Conversation, Turn
from tests.sources.vscode_builders import read_session, request, session

Json = dict[str, Any]
INSTRUCTIONS: Json = {
    "uri": {"$mid": 1, "scheme": "file", "path": "/home/ana/agents/reviewer.agent.md"},
    "name": "Reviewer",
    "content": "Review, change nothing.",
    "toolReferences": ["fetch", {"name": "search", "range": {"start": 0, "endExclusive": 6}}, {"toolName": "run"}, 5],
    "allowedSubagents": ["helper"],
}


def read_turn(tmp_path: Path, **fields: Any) -> Turn:
    return read_one(tmp_path, **fields).turns[0]


def read_one(tmp_path: Path, **fields: Any) -> Conversation:
    return read_session(session(request(**fields)), tmp_path)[0]


def test_a_mode_with_a_hashed_name_is_named_by_its_file(tmp_path: Path) -> None:
    info = {"kind": "agent", "isBuiltin": False, "telemetryModeId": "custom", "telemetryModeName": "-1436083026"}
    conversation = read_one(tmp_path, modeInfo={**info, "modeInstructions": INSTRUCTIONS})
    mode = conversation.turns[0].mode

    assert mode is not None
    assert mode.name == "Reviewer"
    assert mode.extra == {"telemetryModeName": "-1436083026"}
    assert conversation.messages[0].mode == "Reviewer"


def test_a_custom_agent_has_file_name_and_instructions(tmp_path: Path) -> None:
    conversation = read_one(
        tmp_path,
        modeInfo={
            "kind": "agent",
            "isBuiltin": False,
            "telemetryModeId": "custom",
            "permissionLevel": "default",
            "modeInstructions": INSTRUCTIONS,
        },
    )
    turn = conversation.turns[0]

    assert turn.mode is not None
    assert (turn.mode.kind, turn.mode.id, turn.mode.name) == ("agent", "custom", "Reviewer")
    assert (turn.mode.is_builtin, turn.mode.permission_level, turn.mode.evidence) == (False, "default", "modeInfo")
    agent = turn.custom_agent
    assert agent is not None
    assert (agent.name, agent.uri) == ("Reviewer", "file:///home/ana/agents/reviewer.agent.md")
    assert agent.instructions == "Review, change nothing."
    assert agent.tools == ["fetch", "search", "run"]
    assert agent.extra is not None
    assert agent.extra["allowedSubagents"] == ["helper"]
    assert conversation.messages[0].mode == "Reviewer"


@pytest.mark.parametrize(
    ("outer", "inner"),
    [({"isBuiltin": True}, {}), ({}, {"isBuiltin": True}), ({"isBuiltin": False}, {"isBuiltin": True})],
)
def test_a_vscode_mode_with_instructions_is_not_a_custom_agent(outer: Json, inner: Json, tmp_path: Path) -> None:
    instructions = INSTRUCTIONS | {"name": "Plan"} | inner
    turn = read_turn(tmp_path, modeInfo={"kind": "agent", "modeInstructions": instructions, **outer})

    assert turn.custom_agent is None
    assert turn.mode is not None
    assert turn.mode.name == "Plan"
    assert turn.mode.extra == {"modeInstructions": instructions}


def test_a_custom_agent_without_instructions_has_a_name(tmp_path: Path) -> None:
    named = read_turn(tmp_path, modeInfo={"kind": "agent", "telemetryModeId": "custom", "telemetryModeName": "Docs"})
    nameless = read_turn(tmp_path, modeInfo={"kind": "agent", "telemetryModeId": "custom", "isBuiltin": False})

    assert named.custom_agent is not None
    assert named.custom_agent.name == "Docs"
    assert nameless.custom_agent is not None
    assert nameless.custom_agent.name is None


def test_the_older_name_of_the_mode_id_counts(tmp_path: Path) -> None:
    turn = read_turn(tmp_path, modeInfo={"kind": "edit", "isBuiltin": True, "modeId": "edit"})

    assert turn.mode is not None
    assert (turn.mode.kind, turn.mode.id, turn.mode.is_builtin) == ("edit", "edit", True)
    assert turn.custom_agent is None


def test_applying_a_code_block_has_no_kind_of_mode(tmp_path: Path) -> None:
    info = {"isBuiltin": True, "telemetryModeId": "applyCodeBlock", "applyCodeBlockSuggestionId": "s-1"}
    mode = read_turn(tmp_path, modeInfo=info).mode

    assert mode is not None
    assert (mode.kind, mode.id, mode.extra) == (None, "applyCodeBlock", {"applyCodeBlockSuggestionId": "s-1"})


@pytest.mark.parametrize(
    ("agent_id", "kind"),
    [
        ("github.copilot.editsAgent", "agent"),
        ("github.copilot.editingSession", "edit"),
        ("github.copilot.default", "ask"),
        ("github.copilot.workspace", "ask"),
    ],
)
def test_without_a_recorded_mode_the_participant_implies_it(agent_id: str, kind: str, tmp_path: Path) -> None:
    mode = read_turn(tmp_path, agent={"id": agent_id}).mode

    assert mode is not None
    assert (mode.kind, mode.evidence) == (kind, "agent id")


@pytest.mark.parametrize("fields", [{}, {"agent": {"id": "someone.else"}}, {"modeInfo": {}}, {"modeInfo": "agent"}])
def test_a_mode_is_not_guessed(fields: Json, tmp_path: Path) -> None:
    assert read_turn(tmp_path, **fields).mode is None


def test_all_fields_of_a_participant_are_read(tmp_path: Path) -> None:
    agent = read_turn(
        tmp_path,
        agent={
            "id": "github.copilot.default",
            "name": "copilot",
            "fullName": "GitHub Copilot",
            "extensionId": {"value": "GitHub.copilot-chat", "_lower": "github.copilot-chat"},
            "extensionVersion": "0.40.1",
            "locations": ["panel"],
            "metadata": {"themeIcon": {"id": "copilot"}},
        },
    ).agent

    assert agent is not None
    assert (agent.id, agent.name, agent.full_name) == ("github.copilot.default", "copilot", "GitHub Copilot")
    assert (agent.extension, agent.extension_version) == ("GitHub.copilot-chat", "0.40.1")
    assert agent.extra is not None
    assert agent.extra.keys() == {"extensionId", "locations", "metadata"}


@pytest.mark.parametrize("odd", ["workspace", {"name": "nameless"}, 5])
def test_a_participant_without_an_id_stays_unchanged(odd: Any, tmp_path: Path) -> None:
    turn = read_turn(tmp_path, agent=odd)

    assert turn.agent is None
    assert turn.extra == {"agent": odd}


def test_a_slash_command_is_recognized_by_its_name(tmp_path: Path) -> None:
    plain = read_turn(tmp_path, slashCommand={"name": "fix"})
    described = read_turn(tmp_path, slashCommand={"name": "fix", "description": "Fix it"})

    assert (plain.command, plain.extra) == ("fix", None)
    assert (described.command, described.extra) == ("fix", {"slashCommand": {"description": "Fix it"}})
