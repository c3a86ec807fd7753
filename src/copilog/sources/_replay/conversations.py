"""The conversations of a debug export, from its groups."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime

from copilog import jsonio
from copilog.derive import add_title
from copilog.derive.helper_usage import HELPERS_ONLY
from copilog.diagnostics import Ledger
from copilog.model import Conversation, Document, Prompt, Provenance, Text, ToolCall, prose_of
from copilog.sources._replay.entries import UNREAD, Remark, Request
from copilog.sources._replay.groups import Group
from copilog.sources._replay.messages import MessageMaker
from copilog.sources._replay.raw import text_of
from copilog.sources._replay.servers import Servers
from copilog.sources._replay.threads import Thread, threads_from
from copilog.sources._replay.turns import location_of, thinking_of, turn_from
from copilog.sources._vscode.take import Json, rest, strings_at


def conversations_from(
    groups: list[Group], ledger: Ledger, *, source: str, servers: object, extra: Json, provenance: Provenance
) -> list[Conversation]:
    """All conversations that the groups hold; `extra` is what the export says about itself.

    Requests of helpers alone are a conversation without turns, so that what they used counts.
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
    _give_titles(made, groups)
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
    """Say of a conversation that it has nothing but requests of helpers, and when and as what these were made."""
    conversation.marks.append(HELPERS_ONLY)
    _set_times(conversation, [(request.started_at, request.ended_at) for request in requests])
    told = [text for request in requests for text in (request.id, request.name.full, request.text)]
    said = [document.text for document in conversation.documents]
    conversation.id = f"replay:{_hash(text or '' for text in [*told, *said])}"


def _content_hash(conversation: Conversation) -> str:
    """A name for what was said: the same in every copy of the export."""
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


def _give_titles(conversations: list[Conversation], groups: list[Group]) -> None:
    """A title belongs to the conversation whose first words it was made from."""
    for asked, title in [found for group in groups for found in group.titles]:
        untitled = [conversation for conversation in conversations if conversation.title is None]
        matching = [conversation for conversation in untitled if _is_about(asked, conversation)]
        chosen = matching or (untitled if len(conversations) == 1 else [])
        if chosen:
            add_title(chosen[0], title, "generated")


def _is_about(asked: str, conversation: Conversation) -> bool:
    asked_for = (prose_of(message.parts).strip() for message in conversation.messages if message.role == "user")
    words = next((words for words in asked_for if words), None)
    return words is not None and words in asked


# --- what is beside the turns -------------------------------------------------------------------------------------


def _add_helpers(conversations: list[Conversation], threads: list[Thread], groups: list[Group], source: str) -> None:
    """Give each conversation what its helpers were asked, said and used, and what else its models answered."""
    owner_of: dict[int, Conversation] = {}  # by the identity of groups and requests
    for conversation, thread in zip(conversations, threads, strict=True):
        for draft in thread.drafts:
            runs = [draft.run, *(subrun.run for subruns in draft.subruns.values() for subrun in subruns)]
            owned = [*draft.groups, *(request for run in runs for request in run.requests)]
            owner_of.update((id(each), conversation) for each in owned)
    for group in groups:
        of_group = owner_of.get(id(group))
        if of_group is not None and group.label and not _has_prompt(of_group, group.label):
            of_group.documents.append(Document(kind="prompt", text=group.label))
        for entry in group.helper_entries:
            helped = of_group or _helped(entry, conversations)
            _add_helper(helped, entry, group, source)
            if isinstance(entry, Request):
                helped.documents += _other_answers(entry)
        for request in [*group.run.requests, *(one for subrun in group.subruns for one in subrun.run.requests)]:
            owner = owner_of.get(id(request)) or of_group or conversations[0]
            owner.documents += _other_answers(request)


def _add_helper(owner: Conversation, entry: Request | Remark, group: Group, source: str) -> None:
    """Add what a helper was asked and said as a document, and what it used, marked with the helper's name."""
    if isinstance(entry, Request):
        name, texts, usage = entry.name.base, list(_texts_of(entry)), entry.usage
    else:
        name, texts, usage = entry.name, [entry.text], None
    title = f"{name} · {group.label}" if group.is_helper and group.label else name
    owner.documents.append(Document(kind="helper", title=title, text="\n\n".join(text for text in texts if text)))
    if usage is not None:
        usage.source = source
        usage.extra = {**(usage.extra or {}), "helper": name}
        owner.usage.append(usage)


def _has_prompt(conversation: Conversation, label: str) -> bool:
    """Whether the label of a group is in what the user said, as it mostly is."""
    parts = (part for message in conversation.messages if message.role == "user" for part in message.parts)
    return any(isinstance(part, Text | Prompt) and label in part.text for part in parts)


def _texts_of(request: Request) -> Iterator[str | None]:
    """Yield what a helper was sent and what it answered: texts, thinking, arguments; why it failed."""
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
    """What arguments say, as JSON where they are."""
    try:
        return jsonio.decode_strictly(arguments or "null")
    except ValueError:
        return arguments


def _other_answers(request: Request) -> Iterator[Document]:
    """Yield what a request has beside its answer: other answers, what was predicted, lines of no message."""
    for choice in request.extra.get("choices") or []:
        yield Document(kind="choice", text=choice)
    sent = request.extra.get("requestMessages")
    prediction = sent.get("prediction") if isinstance(sent, dict) else None
    content = prediction.get("content") if isinstance(prediction, dict) else None
    if isinstance(content, str):
        yield Document(kind="prediction", text=content)
    if isinstance(unread := request.extra.get(UNREAD), str):
        yield Document(kind="unread", text=unread)


def _helped(entry: Request | Remark, conversations: list[Conversation]) -> Conversation:
    """Return the conversation whose first words a helper was given, else the one that was going on at the time."""
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
