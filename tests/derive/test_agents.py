"""One agent has one name, whatever it was called."""

from __future__ import annotations

import pytest

from copilog.derive import agent_key, agent_name, conclude
from copilog.model import Agent, Conversation, Turn
from copilog.store.details import agent_of
from tests.stored import concluded_entry


@pytest.mark.parametrize(
    "name", ["Copilot", "GitHub Copilot", "githubcopilot", "github-copilot", "Github Copilot Chat"]
)
def test_all_names_of_copilot_are_one_agent(name: str) -> None:
    agent = Agent(id="github.copilot.default", name=name)
    turn = Turn(index=0, agent=agent)
    made = Conversation(id="vscode:s", source="vscode-session", assistant=name, turns=[turn])
    conclude(made)
    entry = concluded_entry(made)

    assert (agent_name(agent), agent_of(turn), made.assistant) == ("GitHub Copilot",) * 3
    assert agent_key(name) == agent_key("GitHub Copilot")
    assert entry.row.agents == '["GitHub Copilot"]'
    assert entry.row.assistant == "GitHub Copilot"
    assert entry.turns[0].agent == "GitHub Copilot"


@pytest.mark.parametrize("name", ["agent", "workspace", "Copilot Coach", "GitHub Copilot for Xcode"])
def test_others_keep_their_names(name: str) -> None:
    assert agent_name(Agent(id="x", name=name)) == name
