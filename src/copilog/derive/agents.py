"""Name chat participants. Copilot has had many names: `GitHubCopilot`, `Copilot`, `Github Copilot Chat`."""

from __future__ import annotations

from copilog.model import Agent, Conversation
from copilog.text_cache import cached_by_text

COPILOT = "GitHub Copilot"
_COPILOT = frozenset(
    {"copilot", "githubcopilot", "copilotchat", "githubcopilotchat"}
)  # letters and digits of its names


@cached_by_text(1024)
def one_agent(name: str) -> str:
    """Return the name that all spellings of an agent or assistant share."""
    letters = "".join(filter(str.isalnum, name)).casefold()
    return COPILOT if letters in _COPILOT else name


def agent_key(name: str) -> str:
    """Return the key that all spellings of an agent's name share."""
    return one_agent(name).casefold()


def agent_name(agent: Agent) -> str:
    """Return the name of a participant for lists, figures and filters."""
    return one_agent(agent.name or agent.id)


def conclude_assistant(conversation: Conversation) -> None:
    """Replace the assistant by the name that all its spellings share."""
    if conversation.assistant:
        conversation.assistant = one_agent(conversation.assistant)
