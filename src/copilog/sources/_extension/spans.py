"""Spans, the common form of traces, span files, exports and debug logs: what ran, when, below what, with what."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from copilog.model import Document
from copilog.sources._vscode.take import Json, text_from
from copilog.sources._vscode.uris import uri_to_path

OPERATION = "gen_ai.operation.name"
CHAT, AGENT, TOOL, HOOK = "chat", "invoke_agent", "execute_tool", "execute_hook"
EMBEDDINGS, CONTENT, CORE = "embeddings", "content_event", "core_event"
PERMISSION = "permission"  # of the CLI before 1.0.46, by its name alone
ERROR, OK = 2, 1

INPUT, OUTPUT, SYSTEM = "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"
TOOL_DEFINITIONS = "gen_ai.tool.definitions"
SESSION_KEYS = ("copilot_chat.chat_session_id", "gen_ai.conversation.id", "copilot_chat.session_id")
PARENT_SESSION = "copilot_chat.parent_chat_session_id"
LABEL = "copilot_chat.debug_log_label"
ASKED = "user_message"


@dataclass(slots=True)
class SpanEvent:
    """Something that happened within a span."""

    name: str
    at: datetime | None = None
    attributes: Json = field(default_factory=dict)


@dataclass(slots=True)
class Span:
    """One operation. Readers take out of `attributes` what they understand; the rest is kept."""

    id: str
    name: str = ""
    trace_id: str | None = None
    parent_id: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    status: int = 0  # 0 not said, 1 well, 2 failed
    status_message: str | None = None
    attributes: Json = field(default_factory=dict)
    events: list[SpanEvent] = field(default_factory=list)
    service: str | None = None  # which program made it
    extra: Json = field(default_factory=dict)

    @property
    def operation(self) -> str:
        """What kind of operation it is; some writers only say so in the name."""
        named = self.attributes.get(OPERATION)
        if isinstance(named, str) and named:
            return named
        first = self.name.partition(" ")[0]
        return first if first in (CHAT, AGENT, TOOL, HOOK, PERMISSION) else HOOK if first == "hook" else ""

    def text(self, *keys: str) -> str | None:
        """The first of these attributes that is text, left where it is."""
        for key in keys:
            value = self.attributes.get(key)
            if isinstance(value, str) and value:
                return value
        return None

    def take_text(self, *keys: str) -> str | None:
        """The first of these attributes that has something to say, as text; all of them are taken out."""
        values = [self.attributes.pop(key) for key in keys if key in self.attributes]
        return next((text_from(value) for value in values if value not in (None, "")), None)

    def take_number(self, *keys: str) -> float | None:
        """The first of these attributes that is a number, also as text; what is none stays."""
        found: float | None = None
        for key in keys:
            number = number_from(self.attributes.get(key))
            if number is not None:
                del self.attributes[key]
                found = number if found is None else found
        return found

    def take_whole(self, *keys: str) -> int | None:
        number = self.take_number(*keys)
        return int(number) if number is not None else None

    def take_flag(self, key: str) -> bool:
        return self.attributes.pop(key, None) in (True, "true", 1, "1")


SKILL_CONTENT, SKILL_NAME = "github.copilot.skill.content", "gen_ai.skill.name"
SKILL_DESCRIPTION, SKILL_URI = "gen_ai.skill.description", "gen_ai.skill.source.uri"


def take_skills(spans: list[Span]) -> list[Document]:
    """Take the texts of skills that were loaded out of spans and their events, each once."""
    made: list[Document] = []
    for span in spans:
        for holder in (span.attributes, *(event.attributes for event in span.events)):
            content = holder.get(SKILL_CONTENT)
            if not isinstance(content, str) or not content.strip():
                continue
            del holder[SKILL_CONTENT]
            name, description = text_from(holder.get(SKILL_NAME)), text_from(holder.get(SKILL_DESCRIPTION))
            text = content if not description or description in content else f"{description}\n\n{content}"
            document = Document(kind="skill", title=name, text=text, path=uri_to_path(holder.get(SKILL_URI)))
            if document not in made:
                made.append(document)
    return made


@dataclass(slots=True)
class Asked:
    """What a user asked, and the span it was asked in."""

    text: str
    at: datetime | None
    span_id: str | None
    extra: Json | None = None


def number_from(value: Any) -> float | None:
    """A number, also one that was stored as text; no infinities."""
    if isinstance(value, str):
        try:
            value = float(value) if not value.strip().lstrip("-").isdigit() else int(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < 1e18 else None


def asked_in(spans: list[Span]) -> list[Asked]:
    """Take the users' words out of the events of spans."""
    asked: list[Asked] = []
    for span in spans:
        for event in [event for event in span.events if event.name == ASKED]:
            text = event.attributes.pop("content", None)
            if isinstance(text, str) and text.strip():
                span.events.remove(event)
                event.attributes.pop(SESSION_KEYS[0], None)
                asked.append(Asked(text, event.at, span.id, event.attributes or None))
    return asked
