"""Put conversations into the archive, and join those that turn out to be the same.

An export does not record its conversation. It is stored like any other, and joins the one that it fits before
the scan of a scope ends. Both are stored as they were read, as parts, and the merged conversation is made again
whenever one of them is read again. So the result does not depend on their order, or on scans that were interrupted.
A part that no longer fits, because the conversation has changed since, becomes a separate conversation again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from copilog import identity
from copilog.derive import conclude
from copilog.derive.prompts import (
    HISTORIES,
    copied_prompts,
    is_owner_of_copies,
    keys_by_turn,
    linked_keys,
    owners_of,
    with_former,
    without_linked,
)
from copilog.identity.earlier import keep_documents, was_emptied, with_earlier
from copilog.ingest.archive_matches import NAMELESS, Comparison, Group, Regrouping
from copilog.ingest.export_merge import fitting, merge_members, prints_of, with_doubts
from copilog.ingest.forks import mark_stored_prompts_of_forks
from copilog.ingest.imports import add_import, is_lossy_export
from copilog.intake.folders import is_gone
from copilog.model import Conversation, Relation, is_recorded, read_traces
from copilog.similarity import GIVEN_GLOB, IMPORTED
from copilog.store.annotations import move
from copilog.store.archive import Archive
from copilog.store.database import transaction
from copilog.store.documents import conversation_from, stored_conversation
from copilog.store.entries import Entry, entry_of
from copilog.store.match_candidates import caller_of, exported_subagents, imported, mark_compared, nameless, uncompared
from copilog.store.parts import (
    DOUBT,
    conversations_doubting,
    doubtful_conversations,
    doubts_of,
    forget_single,
    is_removed,
    members_of,
    merged_id_of,
    move_part,
    number_of,
    put_part,
    signature_of,
    stored,
    without_doubts,
)
from copilog.store.prompts import histories, histories_near, histories_with, owners_with
from copilog.store.units import forget_reading, merged_by_part
from copilog.store.writing import Outcome, absorb, lacks_documents, lacks_something_stored, replace_rows

ATIF = "atif"


class Joined(NamedTuple):
    """A former conversation and the merged one that it became a part of, with the numbers of their messages."""

    id: str
    messages: int
    whole: str
    whole_messages: int


class Joining:
    """Puts the conversations of one scan into the archive, and joins them there."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.connection = archive.connection
        self._update_checked()

    def _update_checked(self) -> None:
        self._special = merged_by_part(self.connection).keys() | doubtful_conversations(self.connection)

    # --- one that was read -------------------------------------------------------------------------------------

    def put(self, entry: Entry, signature: str) -> tuple[Outcome, Entry]:
        """Store a reading; return what was stored: for a part, the merged conversation."""
        if entry.row.source in HISTORIES:
            entry = self._without_linked_prompts(entry)
        if entry.row.source == ATIF and caller_of(self.connection, entry.row.native_id or ""):
            return "unchanged", entry  # copilog exported it with its conversation, which is here
        if entry.id not in self._special:
            entry = self._with_earlier(entry)
            return self.archive.put(entry, signature, is_united=bool(entry.turns)), entry
        with transaction(self.connection):
            whole = merged_id_of(self.connection, entry.id)
            if whole is not None and is_removed(self.connection, whole):
                return "removed", entry
            entry = self._with_earlier(entry)
            if whole is not None:
                return self._put_part(whole, entry, signature)
            entry = self._with_stored_doubts(entry)
            return self.archive.put(entry, signature, is_united=bool(entry.turns)), entry

    def _with_earlier(self, entry: Entry) -> Entry:
        """Return a reading with what it lacks of what was stored: turns, texts and documents."""
        entry = self._with_earlier_turns(entry)
        if entry.row.source in HISTORIES or not lacks_documents(self.connection, entry):
            return entry
        now = _conversation_of(entry)
        before = members_of(self.connection, merged_id_of(self.connection, entry.id) or entry.id)[entry.id]
        if before.turns and not now.turns and not _paths_of([before]) <= _paths_of([now]):
            return entry  # an index that names it: what is stored stays, and its files are not those that were read
        keep_documents(now, before)
        conclude(now)
        return entry_of(now)

    def _with_earlier_turns(self, entry: Entry) -> Entry:
        """Return a reading with what its files contained when they were read before, and lack now.

        A file that lost all of its turns is the result of a failed write: then the stored conversation stays. A log of
        Copilot CLI may record that it was rewound to its beginning.
        """
        if entry.row.source in HISTORIES:
            return entry
        whole = merged_id_of(self.connection, entry.id)
        if whole is None and not lacks_something_stored(self.connection, entry):
            return entry
        before = members_of(self.connection, whole or entry.id)[entry.id]
        now = _conversation_of(entry)
        if before.turns and not entry.turns and not was_emptied(now):
            is_emptied = _paths_of([before]) <= _paths_of([now])
            return entry_of(before) if is_emptied else entry
        united = _united(now, before)
        conclude(united)
        return entry_of(united)

    def _without_linked_prompts(self, entry: Entry) -> Entry:
        """Leave out prompts that conversations contain, and those of conversations that the user removed."""
        history = _conversation_of(entry)
        number = number_of(self.connection, entry.id)
        before = stored_conversation(self.connection, number) if number is not None else None
        if before is not None:
            history = with_former(history, before)
        left = without_linked(history, self._owners_of(history, before))
        conclude(left)
        return entry_of(left)

    def _owners_of(self, history: Conversation, before: Conversation | None) -> dict[int, str]:
        """Return the conversations that contain prompts of a history; removed conversations stay recorded."""
        removed = {
            key: owner
            for key, owner in (linked_keys(before) if before is not None else {}).items()
            if is_removed(self.connection, owner)
        }
        linked = linked_keys(history)
        keys = {*keys_by_turn(history).values(), *linked}
        owners = removed | owners_of(history, owners_with(self.connection, keys))
        copied: dict[int, str] = {}
        near = histories_with(self.connection, keys, {*owners.values(), *linked.values()}, history.id)
        for number in near:
            original = stored_conversation(self.connection, number)
            if original is not None and is_owner_of_copies(original, history):
                copied = copied_prompts(history, original) | copied
        return copied | owners

    def _with_stored_doubts(self, entry: Entry) -> Entry:
        """Return a conversation with its stored doubts: they stay until it is compared again."""
        known = doubts_of(self.connection, entry.id)
        conversation = _conversation_of(entry)
        own_doubts = {relation.other_id for relation in conversation.relations if relation.kind == DOUBT}
        if own_doubts.issuperset(doubt.other_id for doubt in known):
            return entry
        return entry_of(with_doubts(conversation, known))

    def _put_part(self, name: str, entry: Entry, signature: str) -> tuple[Outcome, Entry]:
        members = members_of(self.connection, name)
        read = members[entry.id] = _conversation_of(entry)
        doubts = [*doubts_of(self.connection, name), *(each for each in read.relations if each.kind == DOUBT)]
        fits = fitting(name, prints_of(members))
        others = {part: member for part, member in members.items() if part not in fits}
        made = entry_of(merge_members(name, {part: members[part] for part in fits}, doubts))
        own_signature = signature if entry.id == name else signature_of(self.connection, name)
        outcome = self.archive.put(made, own_signature, _paths_of(others.values()))
        if self.archive.digest_of(name) == made.digest:  # else less was read than is stored
            put_part(self.connection, name, entry.id, signature, _conversation_of(entry))
            self._separate_parts(others)
            forget_single(self.connection, name)
        return outcome, made

    def _separate_parts(self, members: Mapping[str, Conversation]) -> None:
        for part, member in members.items():
            conclude(member)  # earlier versions stored parts without it
            self.archive.put(entry_of(member), signature_of(self.connection, part))
            move_part(self.connection, part, part)
            forget_single(self.connection, part)
            if all(map(is_gone, _paths_of([member]))):
                self.archive.mark_gone([part])

    # --- what is stored ----------------------------------------------------------------------------------------

    def join(self) -> list[Joined]:
        """Compare conversations without an id with those stored since the last call; return those that became parts."""
        if not uncompared(self.connection):
            return []
        with transaction(self.connection):
            joined = self._join_nameless() if any(self._nameless_and_imports()) else []
            joined += self._absorb_subagents()
            self._link_prompts()
            mark_stored_prompts_of_forks(self.connection, uncompared(self.connection))
            mark_compared(self.connection)
        self._update_checked()
        return joined

    def _absorb_subagents(self) -> list[Joined]:
        """Delete sub-agents of exports whose conversation was stored since, as it has them."""
        joined: list[Joined] = []
        for number, name, native_id, messages in exported_subagents(self.connection):
            home = caller_of(self.connection, native_id)
            if home is not None:
                move(self.connection, name, home)
                absorb(self.connection, number, home)
                joined.append(Joined(name, messages, home, self.archive.count_messages([home])))
        return joined

    def _link_prompts(self) -> None:
        """Remove prompts from histories if conversations that were stored since the last call contain them."""
        fresh = set(uncompared(self.connection))
        all_of_them = histories(self.connection)
        near = histories_near(self.connection, fresh) if all_of_them - fresh else set()
        for number in sorted(all_of_them & (fresh | near)):
            history = stored_conversation(self.connection, number)
            assert history is not None
            owners = self._owners_of(history, history)
            if linked_keys(history).keys() - owners.keys():  # a conversation has lost a prompt: read it again next time
                forget_reading(self.connection, history.id, _paths_of([history]))
            left = without_linked(history, owners)
            if left != history:
                conclude(left)
                replace_rows(self.connection, number, entry_of(left))

    def _join_nameless(self) -> list[Joined]:
        joined: list[Joined] = []
        comparison = self._compare()
        while regroupings := [regrouping for regrouping in comparison.regroupings() if regrouping.moved()]:
            joined += [each for regrouping in regroupings for each in self._regroup(regrouping)]
            comparison = self._compare()
        for name, doubts in comparison.doubts().items():
            self._store_doubts(name, doubts)
        return joined

    def _compare(self) -> Comparison:
        self.archive.index_pending()  # the comparison looks words up in the index
        return Comparison(self.connection, *self._nameless_and_imports())

    def _nameless_and_imports(self) -> tuple[list[int], list[int]]:
        return nameless(self.connection, NAMELESS), imported(self.connection, IMPORTED, GIVEN_GLOB)

    def _regroup(self, regrouping: Regrouping) -> list[Joined]:
        """Merge conversations again whose parts changed; some end, and new ones begin."""
        concerned: set[str] = set()
        for part, (old, home) in regrouping.moved().items():
            move_part(self.connection, part, home)
            concerned |= {old, home}
        ended = [group for group in regrouping.groups if regrouping.homes[group.id] != group.id]
        for name in sorted(concerned.difference(group.id for group in ended)):
            self._merge_again(name)
        return [self._end(group, regrouping.homes[group.id]) for group in ended]

    def _merge_again(self, name: str) -> None:
        made = entry_of(merge_members(name, members_of(self.connection, name), doubts_of(self.connection, name)))
        number = number_of(self.connection, name)
        if number is None:
            self.archive.put(made, signature_of(self.connection, name))
        else:
            replace_rows(self.connection, number, made)
        forget_single(self.connection, name)

    def _end(self, group: Group, home: str) -> Joined:
        for name in conversations_doubting(self.connection, group.id):
            self._store_doubts(name, {group.id: None})
        move(self.connection, group.id, home)
        absorb(self.connection, group.number, home)
        return Joined(group.id, group.messages, home, self.archive.count_messages([home]))

    def _store_doubts(self, name: str, doubts: Mapping[str, str | None]) -> None:
        """Store what a conversation may be the same as; a doubt without a reason is removed."""
        known = {doubt.other_id: doubt.reason for doubt in doubts_of(self.connection, name)}
        wanted = {other: reason for other, reason in {**known, **doubts}.items() if reason is not None}
        if wanted == known:
            return
        number, conversation = stored(self.connection, name)
        conversation.relations = without_doubts(conversation)
        relations = [Relation(kind=DOUBT, other_id=other, reason=reason) for other, reason in wanted.items()]
        replace_rows(self.connection, number, entry_of(with_doubts(conversation, relations)))


def _united(now: Conversation, before: Conversation) -> Conversation:
    """Return one conversation from a reading and what is stored.

    A file of copilog's own has all of a conversation, as another archive had it: it is one more trace, unless it was
    read before.
    """
    read = {trace.path for trace in read_traces(now)}
    if is_recorded(now) and read.isdisjoint(trace.path for trace in before.provenance):
        return identity.merge([before, now])
    if is_lossy_export(now) != is_lossy_export(before):
        whole, export = (now, before) if is_lossy_export(before) else (before, now)
        add_import(whole, export)
        return whole
    return with_earlier(now, before, is_gone=is_gone)


def _conversation_of(entry: Entry) -> Conversation:
    return conversation_from(entry.document, (chapter.data for chapter in entry.chapters))


def _paths_of(conversations: Iterable[Conversation]) -> set[str]:
    return {trace.path for conversation in conversations for trace in conversation.provenance}
