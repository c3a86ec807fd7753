"""How often definitions were used and offered, which never were, and which uses have no definition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from copilog import tags
from copilog.definitions import Definition
from copilog.detection.definition_index import AGENT_KINDS, BUILT_IN, address_of
from copilog.detection.evidence import path_of
from copilog.model import Attachment, Conversation, Mention, Prompt, ToolCall

Sign = tuple[str, str | None, str | None, bool]  # kind, name, file, whether it was used and not only offered


class DefinitionUse(msgspec.Struct, kw_only=True):
    """In how many turns a definition was used and offered, and in how many conversations it was used."""

    kind: str
    name: str
    path: str
    used: int = 0
    offered: int = 0
    conversations: int = 0


class DefinitionUsage(msgspec.Struct, kw_only=True):
    """The use of all definitions, in their order, and the turns with agents and skills without a definition."""

    definitions: list[DefinitionUse]
    undefined_agents: dict[str, int] = {}
    undefined_skills: dict[str, int] = {}

    @property
    def never_used(self) -> list[DefinitionUse]:
        return [use for use in self.definitions if not use.used]


def usage_of_definitions(conversations: Iterable[Conversation], definitions: Sequence[Definition]) -> DefinitionUsage:
    """Count the use of definitions in conversations that `detect` has processed."""
    uses = [DefinitionUse(kind=made.kind, name=made.name, path=made.path) for made in definitions]
    usage = DefinitionUsage(definitions=uses)
    finder = _Finder(uses)
    undefined = {"agent": usage.undefined_agents, "skill": usage.undefined_skills}
    for conversation in conversations:
        used_here: set[int] = set()
        for signs in _signs_by_turn(conversation).values():
            used, offered, strangers = finder.sort(signs)
            for position in used:
                uses[position].used += 1
            for position in offered:
                uses[position].offered += 1
            for kind, name in strangers:
                undefined[kind][name] = undefined[kind].get(name, 0) + 1
            used_here |= used
        for position in used_here:
            uses[position].conversations += 1
    return usage


class _Finder:
    """Definitions by file, and without a file by name: then the first of that name counts."""

    def __init__(self, uses: list[DefinitionUse]) -> None:
        self._by_file = {address_of(use.path): position for position, use in enumerate(uses)}
        self._by_name: dict[tuple[str, str], int] = {}
        for position, use in enumerate(uses):
            self._by_name.setdefault((_group(use.kind), use.name.casefold()), position)

    def sort(self, signs: Iterable[Sign]) -> tuple[set[int], set[int], set[tuple[str, str]]]:
        """Return the definitions used and offered in one turn, and the agents and skills used without one."""
        used: set[int] = set()
        offered: set[int] = set()
        strangers: set[tuple[str, str]] = set()
        for kind, name, file, is_used in signs:
            position = self._by_file.get(address_of(file)) if file else None
            if position is None and name:
                position = self._by_name.get((kind, name.casefold()))
            if position is not None:
                (used if is_used else offered).add(position)
            elif is_used and name and (kind == "skill" or (kind == "agent" and name.casefold() not in BUILT_IN)):
                strangers.add((kind, name))
        return used, offered, strangers


def _group(kind: str) -> str:
    return "agent" if kind in AGENT_KINDS else kind


def _signs_by_turn(conversation: Conversation) -> dict[int, list[Sign]]:
    signs: dict[int, list[Sign]] = {turn.index: [] for turn in conversation.turns}
    for turn in conversation.turns:
        if turn.custom_agent is not None:
            signs[turn.index].append(("agent", turn.custom_agent.name, turn.custom_agent.uri, True))
        signs[turn.index] += [("skill", skill.name, skill.file, skill.is_loaded) for skill in turn.skills]
    looked_at: dict[str, list[Sign]] = {}
    for message in conversation.messages:
        if message.turn in signs:
            for part in message.parts:
                signs[message.turn] += _signs_of(part, looked_at)
    return signs


def _signs_of(part: object, looked_at: dict[str, list[Sign]]) -> Iterator[Sign]:
    if isinstance(part, ToolCall):
        if part.subagent is not None and part.subagent.name:
            yield "agent", part.subagent.name, None, True
    elif isinstance(part, Mention):
        if part.type == "prompt":
            yield "prompt", part.name, path_of(part.place), True
    elif isinstance(part, Attachment) and part.type == "prompt-file":
        if part.is_sent and (path := path_of(part.place)):
            yield "file", None, path, True
    elif isinstance(part, Prompt) or (isinstance(part, Attachment) and part.type == "prompt-text"):
        yield from _offers_in(part.text or "", looked_at)


def _offers_in(text: str, looked_at: dict[str, list[Sign]]) -> list[Sign]:
    """Return the agents and instruction files that a text offers; skills are in the turns."""
    if "<agents" not in text and "<instruction>" not in text:
        return []
    if text not in looked_at:
        looked_at[text] = [(offer.kind, offer.name, offer.file, False) for offer in tags.offered(text)]
    return looked_at[text]
