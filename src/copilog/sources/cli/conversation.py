"""Convert a session to a conversation: turns from one prompt to the next, and what the files beside the log add."""

from __future__ import annotations

import hashlib
from typing import Any

from copilog.derive import add_title
from copilog.fields import Json
from copilog.model import Conversation, CustomAgent, Message, Relation, Turn, Workspace
from copilog.sources.base import Found, marks_of_trace, provenance_of
from copilog.sources.cli.companions import Companions
from copilog.sources.cli.event import APPLICATION, ASSISTANT, time_from_iso
from copilog.sources.cli.imports import settle_import
from copilog.sources.cli.reader import Reader
from copilog.sources.cli.turns import set_subagent_models

# A session as a conversation: the content of the log, and what the files beside it add.


def conversation_from(
    found: Found, reader: Reader, companions: Companions, messages: list[Message]
) -> Conversation | None:
    """Return the conversation of a log that was read to its end, or None if the log has no content."""
    facts, turns = reader.facts, reader.turns
    native_id = found.native_id or facts.session_id or companions.workspace.text("id")
    if facts.first_event is None and not companions.paths:
        return None
    reader.agents.settle(messages)
    set_subagent_models(messages)
    made = _beginning(found, native_id or None, companions)
    made.id = f"cli:{native_id or _content_id(reader, messages)}"
    add_title(made, facts.title, "generated")
    made.workspace = _workspace(made.workspace, facts.workspace)
    made.started_at = facts.started_at or facts.first_at or made.started_at
    made.updated_at = facts.last_at or made.updated_at
    made.turns, made.messages = turns.all, messages
    made.usage = reader.meter.usages()
    made.relations = _relations(reader, native_id)
    made.marks = _marks(reader)
    if settle_import(made, facts.header_at):
        made.marks.append("imported")
    made.provenance[0].marks = marks_of_trace(reader.ledger)
    made.extra = {**_extras(reader, native_id), **(made.extra or {})}
    left = _join_requests(companions.requests, made.turns)
    if left:
        made.extra["vscode_requests"] = left
    made.extra = made.extra or None
    return made


def stub_from(found: Found, companions: Companions) -> Conversation:
    """Return a stub of a session without messages, or whose log is lost."""
    native_id = found.native_id or companions.workspace.text("id") or (companions.folder or found.path).name
    made = _beginning(found, native_id, companions)
    made.id = f"cli:{native_id}"
    made.marks = ["stub"]
    if companions.requests:
        made.extra = {**(made.extra or {}), "vscode_requests": companions.requests}
    return made


def _beginning(found: Found, native_id: str | None, companions: Companions) -> Conversation:
    """Return a conversation with the fields of the files beside a log."""
    made = Conversation(
        id="",
        native_id=native_id,
        source=found.source,
        assistant=ASSISTANT,
        application=APPLICATION,
        workspace=companions.place(),
        started_at=time_from_iso(companions.workspace.text("created_at")),
        updated_at=time_from_iso(companions.workspace.text("updated_at")),
        documents=companions.documents(),
        extra=companions.extras() or None,
    )
    for title, origin in companions.titles():
        add_title(made, title, origin)
    made.provenance = [provenance_of(found)]
    for path in companions.paths:
        if path != found.path:
            made.provenance.append(provenance_of(Found(path, found.source), role="resource"))
    return made


def _workspace(beside: Workspace | None, said: Workspace | None) -> Workspace | None:
    """Return the folder from the files beside the log, which are newer; the log supplies the missing fields."""
    if beside is None or said is None:
        return beside or said
    for name in ("folder", "repository", "branch", "commit"):
        if getattr(beside, name) is None:
            setattr(beside, name, getattr(said, name))
    beside.extra = {**(said.extra or {}), **(beside.extra or {})} or None
    return beside


def _relations(reader: Reader, native_id: str | None) -> list[Relation]:
    relations = list(reader.facts.relations)
    inner = reader.facts.session_id
    if inner is not None and native_id is not None and inner != native_id:
        reason = "the log names another session than its folder: a copy"
        relations.append(Relation(kind="possible-duplicate", other_id=f"cli:{inner}", reason=reason))
        reader.ledger.note("other-session-id", "the log names another session than its folder", "info")
    return relations


def _marks(reader: Reader) -> list[str]:
    facts, marks = reader.facts, []
    if facts.is_damaged:
        marks.append("damaged")
    if facts.first_event is None:
        marks.append("stub")
    elif not facts.header and not facts.is_stream:
        marks.append("headless")
        reader.ledger.note("headless-log", "the log does not begin with the start of a session", line=1, offset=0)
    if facts.is_detached:
        marks.append("detached")
    return marks


def _extras(reader: Reader, native_id: str | None) -> Json:
    facts = reader.facts
    made: Json = {}
    if facts.header:
        made["session"] = facts.header
    if facts.session_id is not None and facts.session_id != native_id:
        made["session_id"] = facts.session_id
    changes = reader.meter.code_changes()
    if changes is not None:
        made["code_changes"] = changes
    if facts.is_stream:
        made["is_stream"] = True
    return made


def _content_id(reader: Reader, messages: list[Message]) -> str:
    """Return an id for a session without one, from its first events."""
    first = reader.facts.first_event
    digest = hashlib.sha256()
    for text in (first.id if first else None, *(message.id for message in messages[:20])):
        digest.update((text or "").encode("utf-8", "replace") + b"\0")
    return digest.hexdigest()[:32]


# --- what VS Code noted about the prompts that it sent ------------------------------------------------------------


def _join_requests(requests: list[Any], turns: list[Turn]) -> list[Any]:
    """Give each turn what VS Code noted about it, by the id of its prompt. Return the notes that are left."""
    by_id = {turn.request_id: turn for turn in turns if turn.request_id is not None}
    left: list[Any] = []
    for request in requests:
        request_id = request.get("copilotRequestId") if isinstance(request, dict) else None
        turn = by_id.get(request_id) if isinstance(request_id, str) else None
        if turn is None:
            left.append(request)
            continue
        turn.extra = {**(turn.extra or {}), "vscode": request}
        instructions = request.get("modeInstructions")
        if isinstance(instructions, dict) and instructions.get("isBuiltin") is not True:
            turn.custom_agent = _custom_agent(instructions)
    return left


def _custom_agent(instructions: Json) -> CustomAgent:
    name, content = instructions.get("name"), instructions.get("content")
    uri = instructions.get("uri")
    return CustomAgent(
        name=name if isinstance(name, str) else None,
        uri=uri if isinstance(uri, str) else None,
        instructions=content if isinstance(content, str) else None,
        evidence="vscode.requests.metadata.json",
    )
