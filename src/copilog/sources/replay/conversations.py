"""Convert the groups of a debug export to turns, and the turns to conversations."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from copilog import jsonio
from copilog.derive import add_title
from copilog.derive.helper_usage import HELPERS_ONLY
from copilog.diagnostics import Ledger
from copilog.fields import Json, rest, strings_at
from copilog.model import (
    AnyDocument,
    ChoiceDocument,
    Conversation,
    HelperDocument,
    PredictionDocument,
    Prompt,
    PromptDocument,
    Provenance,
    Text,
    ToolCall,
    UnreadDocument,
    prose_of,
)
from copilog.sources.replay.content import RawMessage, text_of
from copilog.sources.replay.entries import UNREAD, Remark, Request, Servers
from copilog.sources.replay.groups import Group, SubRun
from copilog.sources.replay.messages import MessageMaker
from copilog.sources.replay.runs import Run, user_text_of
from copilog.sources.replay.turns import Draft, calls_in, link, location_of, thinking_of, turn_from

# Groups joined to turns, and turns to conversations. A turn may be spread over several groups, and an export may hold
# turns of several conversations. Both show in what the requests repeat: a request that continues a turn has the same
# text of the user in it, and one that continues a conversation repeats the turns before it.


class Thread:
    """The turns of one conversation."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []

    def texts(self) -> list[str | None]:
        return [draft.user_text for draft in self.drafts]

    def add(self, draft: Draft) -> None:
        """Add a turn, and before it the turns of its history that are still missing."""
        position = 0
        texts = self.texts()
        for earlier in draft.opening.earlier if draft.opening else []:
            user_text = user_text_of(earlier)
            if user_text in texts[position:]:
                position = texts.index(user_text, position) + 1
                self.drafts[position - 1].run.add_answers(earlier)
                continue
            self.drafts.insert(position, _from_history(earlier, user_text))
            texts.insert(position, user_text)
            position += 1
        self.drafts.append(draft)


def threads_from(groups: list[Group]) -> list[Thread]:
    """Return the conversations of an export, in the order in which they begin."""
    drafts, loose = _drafts_from(groups)
    _nest(drafts, loose)
    threads: list[Thread] = []
    for draft in _by_time(drafts):
        _thread_for(draft, threads).add(draft)
    return threads


def _by_time(drafts: list[Draft]) -> list[Draft]:
    """Return the turns in the order in which they began; one without a time stays after the one before it."""
    times: list[datetime] = []
    for draft in drafts:
        began = [request.started_at for request in draft.run.requests if request.started_at is not None]
        times.append(min(began) if began else times[-1] if times else datetime.min.replace(tzinfo=UTC))
    return [draft for _, draft in sorted(zip(times, drafts, strict=True), key=lambda pair: pair[0])]


# --- turns ------------------------------------------------------------------------------------------------------


def _drafts_from(groups: list[Group]) -> tuple[list[Draft], list[SubRun]]:
    drafts: list[Draft] = []
    loose: list[SubRun] = []
    for group in groups:
        for subrun in group.subruns:
            _add_subrun(loose, subrun)
        if group.is_helper or (group.run.is_empty and not group.remarks and (group.subruns or not group.label)):
            continue
        draft = _continued(drafts, group)
        if draft is None:
            drafts.append(Draft(group.run, group.user_text, group.pointer, [group], group.sent))
        else:
            _join(draft, group)
    return drafts, loose


def _continued(drafts: list[Draft], group: Group) -> Draft | None:
    """Return the turn that a group continues."""
    ids = {request.our_id for request in group.run.requests if request.our_id}
    for draft in reversed(drafts):
        if ids & draft.our_ids:
            return draft
    last = drafts[-1] if drafts else None
    if last is None or group.label != last.groups[-1].label:
        return None
    if not group.sent:
        return last if not group.run.is_empty else None
    return last if group.run.is_continued and group.sent[0].user_text == last.user_text else None


def _add_subrun(loose: list[SubRun], subrun: SubRun) -> None:
    """Add a sub-agent's run, or join it to the run of another group that it continues."""
    key = (subrun.base, subrun.run.first_user_text())
    for known in loose:
        if subrun.run.is_continued and (known.base, known.run.first_user_text()) == key:
            known.run.add_all(subrun.run)
            return
    loose.append(subrun)


def _join(draft: Draft, group: Group) -> None:
    draft.groups.append(group)
    draft.sent = draft.sent + group.sent
    draft.run.add_all(group.run)


def _from_history(messages: list[RawMessage], user_text: str | None) -> Draft:
    """Return a turn from before the beginning of the log."""
    run = Run()
    run.add_history(messages)
    return Draft(run, user_text, messages[0].pointer)


def _nest(drafts: list[Draft], loose: list[SubRun]) -> None:
    """Put the runs of sub-agents under the calls that started them; those without such a call become turns."""
    draft_of: dict[int, Draft] = {id(draft.run): draft for draft in drafts}
    calls = [call for draft in drafts for call in calls_in(draft.run)]
    calls += [call for subrun in loose for call in calls_in(subrun.run)]
    found = link(loose, calls)
    for position, subrun in enumerate(loose):
        call = found.get(position)
        if call is not None and id(call.run) in draft_of:
            draft = draft_of[id(call.run)]
            draft.subruns.setdefault(call.id, []).append(subrun)
        else:
            draft = Draft(subrun.run, subrun.run.first_user_text() or subrun.label, subrun.pointer, orphan=subrun)
            drafts.append(draft)
        draft_of[id(subrun.run)] = draft


# --- conversations ----------------------------------------------------------------------------------------------


def _thread_for(draft: Draft, threads: list[Thread]) -> Thread:
    """Return the conversation that a turn belongs to: the one whose turns it repeats, else a new one."""
    sent = draft.opening
    if threads and (sent is None or draft.orphan is not None or (sent.has_summary and not sent.earlier)):
        return threads[-1]
    earlier = [user_text_of(turn) for turn in sent.earlier] if sent else []
    best = max(reversed(threads), key=lambda thread: _overlap(thread, earlier), default=None)
    if best is not None and _overlap(best, earlier) > (0, 0):
        return best
    threads.append(Thread())
    return threads[-1]


def _overlap(thread: Thread, earlier: list[str | None]) -> tuple[int, int]:
    """Return how well the turns of a conversation match those that a request repeats."""
    texts = thread.texts()
    is_continued = int(bool(earlier and texts) and texts[-1] == earlier[-1])
    return is_continued, len({text for text in texts if text is not None} & set(earlier))


# The conversations of a debug export, from its groups.


def conversations_from(
    groups: list[Group], ledger: Ledger, *, source: str, servers: object, extra: Json, provenance: Provenance
) -> list[Conversation]:
    """Return all conversations in the groups; `extra` has the other fields of the export.

    Requests of helpers alone are a conversation without turns, so that their usage counts.
    """
    threads = threads_from(groups)
    requests = [entry for group in groups for entry in group.helper_entries if isinstance(entry, Request)]
    is_helpers_only = not threads and any(group.helper_entries for group in groups)
    if is_helpers_only:
        threads = [Thread()]
    known = Servers(servers)
    helpers = [name for group in groups for name in [*group.helpers, *([group.label] if group.is_helper else [])]]
    extra = {**extra, "helpers": list(dict.fromkeys(name for name in helpers if name))}
    extra = {key: value for key, value in extra.items() if value}
    made = [_conversation(thread, ledger, known, source, dict(extra)) for thread in threads]
    for conversation in made:
        conversation.provenance = [provenance]
    _assign_titles(made, groups)
    if made:
        _add_helpers(made, threads, groups, source)
    if is_helpers_only:
        _mark_as_helpers(made[0], requests)
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
    _set_times(conversation, [(turn.timing.started_at, turn.timing.completed_at) for turn in conversation.turns])
    conversation.id = f"replay:{_content_hash(conversation)}"
    return conversation


def _set_times(conversation: Conversation, spans: list[tuple[datetime | None, datetime | None]]) -> None:
    times = [time for span in spans for time in span if time is not None]
    conversation.started_at = min(times, default=None)
    conversation.updated_at = max(times, default=None)


def _mark_as_helpers(conversation: Conversation, requests: list[Request]) -> None:
    """Mark a conversation that has nothing but requests of helpers, with the times and names of these."""
    conversation.marks.append(HELPERS_ONLY)
    _set_times(conversation, [(request.started_at, request.ended_at) for request in requests])
    told = [text for request in requests for text in (request.id, request.name.full, request.text)]
    said = [document.text for document in conversation.documents]
    conversation.id = f"replay:{_hash(text or '' for text in [*told, *said])}"


def _content_hash(conversation: Conversation) -> str:
    """Return a hash of the messages: the same in every copy of the export."""
    told: list[str] = []
    for message in conversation.messages:
        if message.role in ("user", "assistant"):
            calls = [part.id for part in message.parts if isinstance(part, ToolCall)]
            told += [message.role, message.id or "", prose_of(message.parts), *calls]
    return _hash(told)


def _hash(texts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(f"{text}\0".encode("utf-8", "replace"))
    return digest.hexdigest()[:32]


def _assign_titles(conversations: list[Conversation], groups: list[Group]) -> None:
    """Give each title to the conversation whose first text it was made from."""
    for asked, title in [found for group in groups for found in group.titles]:
        untitled = [conversation for conversation in conversations if conversation.title is None]
        matching = [conversation for conversation in untitled if _is_about(asked, conversation)]
        chosen = matching or (untitled if len(conversations) == 1 else [])
        if chosen:
            add_title(chosen[0], title, "generated")


def _is_about(asked: str, conversation: Conversation) -> bool:
    asked_for = (prose_of(message.parts).strip() for message in conversation.messages if message.role == "user")
    user_text = next((user_text for user_text in asked_for if user_text), None)
    return user_text is not None and user_text in asked


# --- helpers and other answers --------------------------------------------------------------------------------


def _add_helpers(conversations: list[Conversation], threads: list[Thread], groups: list[Group], source: str) -> None:
    """Give each conversation its helpers' prompts, answers and usage, and the other answers of its models."""
    owner_of: dict[int, Conversation] = {}  # by the identity of groups and requests
    for conversation, thread in zip(conversations, threads, strict=True):
        for draft in thread.drafts:
            runs = [draft.run, *(subrun.run for subruns in draft.subruns.values() for subrun in subruns)]
            owned = [*draft.groups, *(request for run in runs for request in run.requests)]
            owner_of.update((id(each), conversation) for each in owned)
    for group in groups:
        of_group = owner_of.get(id(group))
        if of_group is not None and group.label and not _has_prompt(of_group, group.label):
            of_group.documents.append(PromptDocument(text=group.label))
        for entry in group.helper_entries:
            helped = of_group or _conversation_of_helper(entry, conversations)
            _add_helper(helped, entry, group, source)
            if isinstance(entry, Request):
                helped.documents += _other_answers(entry)
        for request in [*group.run.requests, *(one for subrun in group.subruns for one in subrun.run.requests)]:
            owner = owner_of.get(id(request)) or of_group or conversations[0]
            owner.documents += _other_answers(request)


def _add_helper(owner: Conversation, entry: Request | Remark, group: Group, source: str) -> None:
    """Add a helper's prompt and answer as a document, and its usage, marked with the helper's name."""
    if isinstance(entry, Request):
        name, texts, usage = entry.name.base, list(_texts_of(entry)), entry.usage
    else:
        name, texts, usage = entry.name, [entry.text], None
    title = f"{name} · {group.label}" if group.is_helper and group.label else name
    owner.documents.append(HelperDocument(title=title, text="\n\n".join(text for text in texts if text)))
    if usage is not None:
        usage.source = source
        usage.extra = {**(usage.extra or {}), "helper": name}
        owner.usage.append(usage)


def _has_prompt(conversation: Conversation, label: str) -> bool:
    """Return whether the label of a group is in the user's text, as it usually is."""
    parts = (part for message in conversation.messages if message.role == "user" for part in message.parts)
    return any(isinstance(part, Text | Prompt) and label in part.text for part in parts)


def _texts_of(request: Request) -> Iterator[str | None]:
    """Yield the texts of a helper's request and answer: texts, thinking, arguments, and the error."""
    for message in [*request.messages, *([request.answer] if request.answer is not None else [])]:
        for part in message.content:
            if isinstance(part, dict) and text_of(part) is None:
                yield strings_at({"part": {**part, "type": None}}, "part")
        yield message.text
        for call in message.calls:
            yield f"{call.name}\n{strings_at({'arguments': _decoded(call.arguments)}, 'arguments')}"
    if request.answer is None:
        yield request.text
    yield request.reason


def _decoded(arguments: str | None) -> object:
    """Return arguments decoded if they are JSON, else unchanged."""
    try:
        return jsonio.decode_strictly(arguments or "null")
    except ValueError:
        return arguments


def _other_answers(request: Request) -> Iterator[AnyDocument]:
    """Yield what a request has beside its answer: other answers, predictions, lines that belong to no message."""
    for choice in request.extra.get("choices") or []:
        yield ChoiceDocument(text=choice)
    sent = request.extra.get("requestMessages")
    prediction = sent.get("prediction") if isinstance(sent, dict) else None
    content = prediction.get("content") if isinstance(prediction, dict) else None
    if isinstance(content, str):
        yield PredictionDocument(text=content)
    if isinstance(unread := request.extra.get(UNREAD), str):
        yield UnreadDocument(text=unread)


def _conversation_of_helper(entry: Request | Remark, conversations: list[Conversation]) -> Conversation:
    """Return the conversation whose first text a helper was sent, else the one that was running at the time."""
    if isinstance(entry, Request):
        at, asked = entry.started_at, "\n".join(message.text for message in entry.messages if message.role == "user")
    else:
        at, asked = entry.time, entry.text or ""
    about = next((conversation for conversation in conversations if _is_about(asked, conversation)), None)
    if about is not None:
        return about
    begun = [
        conversation
        for conversation in conversations
        if at is not None and conversation.started_at is not None and conversation.started_at <= at
    ]
    return begun[-1] if begun else conversations[0]
