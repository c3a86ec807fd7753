"""Draw the front matter of a Markdown document: facts that notebooks, site builders and scripts read as YAML."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from copilog.derive.models import model_of
from copilog.model import Conversation, parts_of, title_of
from copilog.model.parts import ToolCall
from copilog.view.conversation_info import distinct
from copilog.writers.html.characters import visible_line

LONGEST = 300


def front_matter(conversation: Conversation) -> str:
    """Return the facts between two lines of dashes; those that were not recorded are left out."""
    import yaml

    facts = {name: value for name, value in _facts(conversation).items() if value not in (None, "", [])}
    text = yaml.safe_dump(facts, sort_keys=False, allow_unicode=True, width=10_000)
    return f"---\n{text}---"


def _facts(conversation: Conversation) -> dict[str, Any]:
    workspace = conversation.workspace
    turns = conversation.turns
    return {
        "title": _line(title_of(conversation)),
        "id": _line(conversation.id),
        "source": conversation.source,
        "date": _moment(conversation.started_at or conversation.updated_at),
        "updated": _moment(conversation.updated_at),
        "assistant": _line(conversation.assistant),
        "workspace": _line(workspace.folder or workspace.uri) if workspace is not None else None,
        "repository": _line(workspace.repository) if workspace is not None else None,
        "branch": _line(workspace.branch) if workspace is not None else None,
        "models": _lines(model_of(turn) for turn in turns),
        "modes": _lines(turn.mode.kind or turn.mode.name for turn in turns if turn.mode is not None),
        "agents": _lines(turn.custom_agent.name for turn in turns if turn.custom_agent is not None),
        "turns": len(turns),
        "tool_calls": sum(isinstance(part, ToolCall) for part in parts_of(conversation)),
    }


def _line(text: str | None) -> str | None:
    return visible_line(text, LONGEST) if text else None


def _lines(texts: Iterable[str | None]) -> list[str]:
    return [line for text in distinct(texts) if (line := _line(text))]


def _moment(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z") if moment is not None else None
