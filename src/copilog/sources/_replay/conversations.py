"""The conversations of a debug export, from its groups."""

from __future__ import annotations

import hashlib

from copilog.diagnostics import Ledger
from copilog.model import Conversation, Provenance, ToolCall, prose_of
from copilog.sources._replay.groups import Group
from copilog.sources._replay.messages import MessageMaker
from copilog.sources._replay.servers import Servers
from copilog.sources._replay.threads import Thread, threads_from
from copilog.sources._replay.turns import location_of, thinking_of, turn_from
from copilog.sources._vscode.take import Json, rest


def conversations_from(
    groups: list[Group], ledger: Ledger, *, source: str, servers: object, extra: Json, provenance: Provenance
) -> list[Conversation]:
    """All conversations that the groups hold; `extra` is what the export says about itself."""
    threads = threads_from(groups)
    known = Servers(servers)
    helpers = [name for group in groups for name in [*group.helpers, *([group.label] if group.is_helper else [])]]
    extra = {**extra, "helpers": list(dict.fromkeys(name for name in helpers if name))}
    extra = {key: value for key, value in extra.items() if value}
    made = [_conversation(thread, ledger, known, source, dict(extra)) for thread in threads]
    for conversation in made:
        conversation.provenance = [provenance]
    _give_titles(made, groups)
    return made


def _conversation(thread: Thread, ledger: Ledger, servers: Servers, source: str, extra: Json) -> Conversation:
    conversation = Conversation(id="", source=source, assistant="GitHub Copilot", extra=rest(extra))
    maker = MessageMaker(ledger, servers)
    for index, draft in enumerate(thread.drafts):
        turn, messages = turn_from(draft, index, maker, servers)
        for usage in turn.usage:
            usage.source = source
        for made in turn.rounds:
            made.thinking = thinking_of(messages, made.id)
        conversation.turns.append(turn)
        conversation.messages += messages
        conversation.location = conversation.location or location_of(draft)
    times = [time for turn in conversation.turns for time in (turn.timing.started_at, turn.timing.completed_at) if time]
    conversation.started_at = min(times, default=None)
    conversation.updated_at = max(times, default=None)
    conversation.id = f"replay:{_content_hash(conversation)}"
    return conversation


def _content_hash(conversation: Conversation) -> str:
    """A name for what was said: the same in every copy of the export."""
    digest = hashlib.sha256()
    for message in conversation.messages:
        if message.role in ("user", "assistant"):
            calls = [part.id for part in message.parts if isinstance(part, ToolCall)]
            told = "\0".join([message.role, message.id or "", prose_of(message.parts), *calls, ""])
            digest.update(told.encode("utf-8", "replace"))
    return digest.hexdigest()[:32]


def _give_titles(conversations: list[Conversation], groups: list[Group]) -> None:
    """A title belongs to the conversation whose first words it was made from."""
    for asked, title in [found for group in groups for found in group.titles]:
        untitled = [conversation for conversation in conversations if conversation.title is None]
        matching = [conversation for conversation in untitled if _is_about(asked, conversation)]
        chosen = matching or (untitled if len(conversations) == 1 else [])
        if chosen:
            chosen[0].title = title


def _is_about(asked: str, conversation: Conversation) -> bool:
    asked_for = (prose_of(message.parts).strip() for message in conversation.messages if message.role == "user")
    words = next((words for words in asked_for if words), None)
    return words is not None and words in asked
