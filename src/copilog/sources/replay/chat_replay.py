"""Read debug exports of the Copilot extension ("chat replay"): what was sent to the models, and the responses.

Format notes: docs/formats/chat-replay.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from copilog.diagnostics import Ledger
from copilog.fields import Json
from copilog.model import Conversation
from copilog.sources.base import Found, Probe, Source, provenance_of
from copilog.sources.folders import SESSION_FOLDERS

if TYPE_CHECKING:
    from copilog.sources.replay.groups import Group

REQUEST_KEYS = frozenset({"kind", "metadata", "requestMessages"})
TOOL_KEYS = frozenset({"kind", "tool", "args", "response"})


class ChatReplay(Source):
    name = "chat-replay"
    title = "Chat debug export (.chatreplay.json)"
    is_nameless = True

    def claims(self, file: Probe) -> bool:
        keys = file.keys
        if "requests" in keys or file.is_directly_in(*SESSION_FOLDERS):
            return False
        if "prompts" in keys and {"totalPrompts", "exportedAt"} & keys:
            return True
        if {"prompt", "logs"} <= keys:
            return "logCount" in keys or "kind" in file.first_item_keys("logs")
        return keys >= REQUEST_KEYS or keys >= TOOL_KEYS

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        from copilog.sources.documents import read_document
        from copilog.sources.replay.conversations import conversations_from

        document = read_document(found.path, ledger)
        if document is None:
            return
        ledger.seen += 1
        groups = _groups_in(document, ledger)
        if groups is None:
            ledger.reject("bad-record", "neither a list of prompts nor a prompt with its log", pointer="")
            return
        servers = document.pop("mcpServers", None)
        conversations = conversations_from(
            groups,
            ledger,
            source=self.name,
            servers=servers,
            extra={"export": document, "mcp_servers": servers},
            provenance=provenance_of(found),
        )
        if conversations:
            ledger.used += 1
        else:
            ledger.ignore("no-conversation")
        yield from conversations


def _groups_in(document: Json, ledger: Ledger) -> list[Group] | None:
    """Take the prompts out of an export of any variant: all prompts, one prompt, one entry."""
    from copilog.sources.replay.groups import group_from

    prompts = document.get("prompts")
    if isinstance(prompts, list):
        del document["prompts"]
        read = [group_from(prompt, f"/prompts/{position}", ledger) for position, prompt in enumerate(prompts)]
        return [group for group in read if group is not None]
    whole = dict(document)
    if isinstance(document.get("logs"), list):
        group = group_from(whole, "", ledger)
    elif isinstance(document.get("kind"), str):
        group = group_from({"logs": [whole]}, "", ledger)
    else:
        return None
    document.clear()
    return [group] if group is not None else []
