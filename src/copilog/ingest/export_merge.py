"""Merge a conversation from its parts: what was read under its own id, and the exports that joined it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from copilog import identity
from copilog.derive import conclude
from copilog.identity.traces import CLI_LOGS
from copilog.ingest.imports import add_import
from copilog.model import Conversation, Relation
from copilog.similarity import Fingerprint, Likeness, compare, fingerprint_of
from copilog.store.parts import DOUBT, without_doubts

Prints = Mapping[str, Fingerprint]  # fingerprints of the parts of a conversation, by id


def prints_of(members: Mapping[str, Conversation]) -> dict[str, Fingerprint]:
    return {name: fingerprint_of(member) for name, member in members.items()}


def likeness_of(one: Prints, other: Prints) -> Likeness:
    """Compare two conversations: same if any parts are the same, else doubtful if any may be."""
    verdicts = [compare(mine, theirs) for _, mine in sorted(one.items()) for _, theirs in sorted(other.items())]
    for verdict in ("same", "doubtful"):
        for likeness in verdicts:
            if likeness.verdict == verdict:
                return likeness
    return verdicts[0]


def fitting(name: str, prints: Prints) -> set[str]:
    """Return the part with this id, and all parts that are the same."""
    return {part for part in prints if part == name or compare(prints[name], prints[part]).verdict == "same"}


def merge_members(name: str, members: Mapping[str, Conversation], doubts: Iterable[Relation]) -> Conversation:
    """Merge all parts into the conversation with this id. The parts are changed."""
    native_id = members[name].native_id
    imports = [part for part in sorted(members) if part != name and _is_import(members[part], members[name])]
    for member in members.values():
        member.relations = without_doubts(member)
    whole = identity.merge([members[part] for part in sorted(members) if part not in imports])
    for part in imports:
        add_import(whole, members[part])
    whole.id, whole.native_id = name, native_id
    conclude(whole)
    return with_doubts(whole, (doubt for doubt in doubts if doubt.other_id not in members))


def _is_import(part: Conversation, whole: Conversation) -> bool:
    """Return whether a part has only added turns to tell: it has another id, or is a chat made of a CLI log."""
    return part.native_id is not None or (part.source == "chat-export" and whole.source in CLI_LOGS)


def with_doubts(conversation: Conversation, doubts: Iterable[Relation]) -> Conversation:
    """Set what a conversation may be the same as, besides its own such relations, and return it."""
    by_other = {doubt.other_id: doubt for doubt in doubts}
    by_other |= {relation.other_id: relation for relation in conversation.relations if relation.kind == DOUBT}
    conversation.relations = [*without_doubts(conversation), *(by_other[name] for name in sorted(by_other))]
    return conversation
