"""What a chat participant is called. Copilot has had many names: `GitHubCopilot`, `Copilot`, `Github Copilot Chat`."""

from __future__ import annotations

from copilog.model import Agent, Conversation
from copilog.text_cache import remembered

COPILOT = "GitHub Copilot"
_COPILOT = frozenset({"copilot", "githubcopilot", "copilotchat", "githubcopilotchat"})  # letters of its names


@remembered(1024)
def one_agent(name: str) -> str:
    """Return the name that all spellings of an agent or assistant share."""
    letters = "".join(filter(str.isalnum, name)).casefold()
    return COPILOT if letters in _COPILOT else name


def agent_key(name: str) -> str:
    """Return what all spellings of an agent's name have in common."""
    return one_agent(name).casefold()


def agent_name(agent: Agent) -> str:
    """Return what a participant is called in lists, figures and filters."""
    return one_agent(agent.name or agent.id)


def conclude_assistant(conversation: Conversation) -> None:
    """Give the assistant the one name that it has."""
    if conversation.assistant:
        conversation.assistant = one_agent(conversation.assistant)
