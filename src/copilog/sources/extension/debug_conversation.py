"""Build a conversation from a session's debug logs: the main log, those of helpers and sub-agents, and documents."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from copilog.diagnostics import Ledger
from copilog.fields import Json
from copilog.model import AnyPart, Conversation, Message, Notice, Skill, Turn, Unknown
from copilog.sources.extension.debug_entries import REMARKS, Companions, DebugLog, Remark
from copilog.sources.extension.debug_files import MODELS
from copilog.sources.extension.span_conversations import Session, conversation_of
from copilog.sources.extension.span_trees import LONG_AGO, SUBAGENT, trees_of
from copilog.sources.extension.spans import (
    AGENT,
    CHAT,
    LABEL,
    OK,
    OPERATION,
    SYSTEM,
    TOOL_DEFINITIONS,
    Span,
    UserPrompt,
)

SOURCE, MARK = "debug-logs", "debug-log"
EVIDENCE = "debug log"
_FOUND = re.compile(r"(?:^|\| )loaded: \[(.*?)\](?= \| |$)", re.DOTALL)
_MORE = re.compile(r" \(\+\d+ more\)$")


def conversation_from(log: DebugLog, companions: Companions, native_id: str, ledger: Ledger) -> Conversation:
    """Return the conversation that the debug logs of a session record."""
    spans, asked = dict(log.spans), list(log.asked)
    children = [DebugLog(child, Ledger()) for child in companions.logs]
    for child, place in zip(children, companions.logs, strict=True):
        _join_child(child, place, log, spans, asked)
    if log.header.get("label"):
        _label(log.spans.values(), str(log.header["label"]))  # a helper's or sub-agent's log without a main log
    named = _attach_documents(spans, companions)
    session = Session(native_id)
    session.trees, session.loose = trees_of(list(spans.values()), asked)
    made = conversation_of(session, ledger, SOURCE, MARK)
    made.id = f"vscode:{native_id}"
    made.started_at = made.started_at or log.started_at
    for remark in log.remarks:
        _add_remark(remark, made)
    made.extra = {**(made.extra or {}), **_extras(log, companions, named)} or None
    return made


# --- the logs of helpers and sub-agents -------------------------------------------------------------------------


def _join_child(child: DebugLog, path: Path, log: DebugLog, spans: dict[str, Span], asked: list[UserPrompt]) -> None:
    """Put the spans of a child below the call that started it; those of a helper become separate trees."""
    reference = next((ref for ref in log.children if ref.get("childLogFile") == path.name), {})
    named = reference.get("label") or child.header.get("label")
    label = named if isinstance(named, str) else path.stem.partition("-")[0]
    log.remarks += child.remarks
    for span_id, span in child.spans.items():
        spans.setdefault(span_id, span)
    if not label.startswith(SUBAGENT):
        _label(child.spans.values(), label)
        asked += child.asked
        return
    tool = reference.get("parentSpanId")
    agent = Span(f"child:{path.stem}", name=label, parent_id=tool if isinstance(tool, str) else None, status=OK)
    agent.attributes = {OPERATION: AGENT, LABEL: label}
    orphans = [span for span in child.spans.values() if span.parent_id not in spans]
    if orphans or not child.spans:
        begun = [span.started_at for span in child.spans.values() if span.started_at is not None]
        ended = [span.ended_at for span in child.spans.values() if span.ended_at is not None]
        agent.started_at, agent.ended_at = min(begun, default=None), max(ended, default=None)
        spans[agent.id] = agent
        for span in orphans:
            span.parent_id = agent.id
    anchor = agent.id if agent.id in spans else next(iter(child.spans))
    for prompt in child.asked:
        prompt.span_id = prompt.span_id if prompt.span_id in spans else anchor
    asked += child.asked


def _label(spans: Iterable[Span], label: str) -> None:
    for span in spans:
        span.attributes.setdefault(LABEL, label)


def _attach_documents(spans: dict[str, Span], companions: Companions) -> set[str]:
    """Give each call of a model the system prompt and the tools that its entry names; return the names."""
    used: set[str] = set()
    for span in spans.values():
        if span.operation != CHAT:
            continue
        for key, attribute in (("systemPromptFile", SYSTEM), ("toolsFile", TOOL_DEFINITIONS)):
            name = span.attributes.get(key)
            content = companions.content(name)
            if content is not None:
                span.attributes[attribute] = content
                used.add(str(name))
    return used


# --- remarks of VS Code -----------------------------------------------------------------------------------------


def _add_remark(remark: Remark, made: Conversation) -> None:
    turn = _turn_at(made, remark.at)
    if remark.type == "discovery" and turn is not None:
        _add_discovery(remark, turn)
        return
    details = remark.attributes.pop("details", None)
    part: AnyPart
    if remark.type in REMARKS:
        text = details if isinstance(details, str) else ""
        part = Notice(topic=remark.type, text=text, native=remark.name, data=remark.attributes or None)
    else:
        part = Unknown(type=remark.type, raw={"name": remark.name, "attrs": remark.attributes})
    message = Message(role="system", parts=[part], turn=turn.index if turn else None, created_at=remark.at)
    at = remark.at or LONG_AGO
    later = (
        position
        for position, other in enumerate(made.messages)
        if other.turn == message.turn and (other.created_at or LONG_AGO) > at
    )
    behind = [position + 1 for position, other in enumerate(made.messages) if other.turn == message.turn]
    made.messages.insert(next(later, behind[-1] if behind else len(made.messages)), message)


def _turn_at(made: Conversation, at: datetime | None) -> Turn | None:
    """Return the turn that ran at a time; the first turn for times before it."""
    if not made.turns:
        return None
    begun = [turn for turn in made.turns if at is not None and (turn.timing.started_at or LONG_AGO) <= at]
    return begun[-1] if begun else made.turns[0]


def _add_discovery(remark: Remark, turn: Turn) -> None:
    """Add what VS Code found for the model to use: skills by name, everything else unchanged."""
    details = remark.attributes.get("details")
    names = _names_in(details) if isinstance(details, str) else []
    if "skill" in remark.name.lower():
        known = {skill.name for skill in turn.skills}
        turn.skills += [Skill(name=name, evidence=EVIDENCE) for name in names if name not in known]
    extra = turn.extra or {}
    extra.setdefault("discoveries", []).append({"name": remark.name, "loaded": names, **remark.attributes})
    if "agent" in remark.name.lower() and names:
        extra.setdefault("agents", []).extend(name for name in names if name not in extra.get("agents", []))
    turn.extra = extra


def _names_in(details: str) -> list[str]:
    """Return the names in `Resolved 2 skills in 3.1ms | loaded: [one, two] | folders: [...]`."""
    match = _FOUND.search(details)
    if match is None:
        return []
    return [name for name in _MORE.sub("", match[1]).split(", ") if name]


def _extras(log: DebugLog, companions: Companions, named: set[str]) -> Json:
    made: Json = {}
    if log.header:
        made["debug_log"] = log.header
    if log.children:
        made["children"] = log.children
    models = companions.documents.get(MODELS)
    if models is not None:
        made["models"] = models
    unnamed = {name: value for name, value in companions.documents.items() if name not in named and name != MODELS}
    if unnamed:
        made["documents"] = unnamed
    return made
