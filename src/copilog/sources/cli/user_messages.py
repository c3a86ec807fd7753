"""Prompts of users, skills, schedules, autopilot and other agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from copilog import jsonio, tags
from copilog.errors import BadRecord
from copilog.fields import Json, take_list, take_str
from copilog.model import AnyPart, Attachment, Mode, Notice, Prompt, Skill, Text, Turn
from copilog.sources.cli.attachments import attachment_from, is_described
from copilog.sources.cli.companions import OWN_CLIENT
from copilog.sources.cli.event import Event

if TYPE_CHECKING:
    from copilog.sources.cli.reader import Reader

# Prompts: typed by the user, or sent by skills, schedules, the autopilot and other agents.


HUMAN_SOURCES = ("user", "human")
SKILL_SOURCE = "skill-"
SHELL_MODE = "shell"
EMBEDDED_VERSION = "unknown"  # the name that VS Code uses for the version of the CLI


def user_message(reader: Reader, event: Event) -> None:
    """Read a prompt: typed by the user, or sent by a skill, a schedule, the autopilot or another agent."""
    data = event.data
    parent = reader.agents.parent_of(event)
    interaction = reader.take_interaction(event, parent)
    label = _label_of(data)
    if parent is None and _begins_turn(reader, interaction, label):
        turn = reader.begin_turn(event, interaction)
        turn.is_system_initiated = label is not None
        turn.system_label = label
        is_injected = False
    else:
        turn = reader.answering(interaction)
        is_injected = label is not None
    if label is not None and label.startswith(SKILL_SOURCE):
        add_skill(turn, Skill(name=label.removeprefix(SKILL_SOURCE), is_loaded=True, evidence="user.message"))
    message = reader.add(event, "user", _prompt_parts(reader, event, is_injected), turn=turn, parent=parent)
    mode = take_str(data, "agentMode")
    if mode is not None:
        message.mode = mode
        if not is_injected and parent is None:
            level = turn.mode.permission_level if turn.mode else None
            turn.mode = mode_named(mode, level, "agentMode")
    elif turn.mode is not None:
        message.mode = turn.mode.id
    message.extra = event.extra()


def mode_named(name: str, permission_level: str | None, evidence: str) -> Mode:
    """Return a mode of the program. All but the shell, in which the user runs commands, are modes of the agent."""
    kind = None if name == SHELL_MODE else "agent"
    return Mode(kind=kind, id=name, name=name, permission_level=permission_level, evidence=evidence)


def _label_of(data: Json) -> str | None:
    """Return the sender of a prompt; None for the user."""
    source = data.get("source")
    if isinstance(source, str) and source and source not in HUMAN_SOURCES:
        return source
    if data.get("isAutopilotContinuation") is True:
        return "autopilot"
    return None


def _begins_turn(reader: Reader, interaction: str | None, label: str | None) -> bool:
    """Return whether a prompt begins a turn. One of a running interaction does not, nor does a loaded skill."""
    if reader.turns.is_of(interaction):
        return False
    is_skill = label is not None and label.startswith(SKILL_SOURCE)
    return interaction is not None or not is_skill or not reader.turns.all


def _prompt_parts(reader: Reader, event: Event, is_injected: bool) -> list[AnyPart]:
    data = event.data
    content = take_str(data, "content")
    sent = take_str(data, "transformedContent")
    parts: list[AnyPart] = []
    if content is not None:
        typed = [Text(text=content)] if _is_typed(reader, sent) else user_text_parts(content)
        parts += [Prompt(text=content, native="content")] if is_injected else typed
    if sent is not None and sent != content:
        parts.append(Prompt(text=sent, native="transformedContent"))
    items = take_list(data, "attachments")
    if items:
        parts += _attachments(reader, event, items)
    return parts


def _is_typed(reader: Reader, sent: str | None) -> bool:
    """Return whether a prompt is the typed text, tags included: the CLI writes it beside the text for the model.

    Other programs, such as VS Code, put reminders into the prompts that they give to the CLI.
    """
    if reader.client is not None:
        return reader.client == OWN_CLIENT
    return sent is not None and reader.facts.header.get("copilotVersion") != EMBEDDED_VERSION


def _attachments(reader: Reader, event: Event, items: list[Any]) -> list[Attachment]:
    made: list[Attachment] = []
    for position, item in reader.count_parts(items, event, "/data/attachments"):
        kind = item.get("type")
        if not is_described(kind):
            reader.ledger.parts.count_unknown(f"attachment:{kind}")
        attachment = attachment_from(item, reader.assets)
        attachment.position = position
        made.append(attachment)
    return made


def user_text_parts(content: str) -> list[AnyPart]:
    """Return the user's text of a prompt. Early logs, and those of VS Code, also hold text of the program around it."""
    own = tags.user_text(content) if "<" in content else None
    if own is None or own == content.strip():
        return [Text(text=content)]
    return [Text(text=own), Prompt(text=content, native="content")]


def add_skill(turn: Turn, skill: Skill) -> None:
    """Add a skill to a turn: once, with the data of all its records."""
    known = next((known for known in turn.skills if known.name == skill.name), None)
    if known is None:
        turn.skills.append(skill)
        return
    known.file = known.file or skill.file
    known.description = known.description or skill.description
    known.is_loaded = known.is_loaded or skill.is_loaded
    if skill.evidence and skill.evidence not in known.evidence.split("; "):
        known.evidence = f"{known.evidence}; {skill.evidence}" if known.evidence else skill.evidence


def messages_sent(reader: Reader, event: Event) -> None:
    """Read the messages sent to the model: all of the conversation so far. Each text is stored the first time."""
    data = event.data
    key = "messages" if "messages" in data else "requestMessages"
    sent = data.get(key)
    if isinstance(sent, str):
        try:
            sent = jsonio.decode(sent.encode("utf-8", "replace"))[0]
        except BadRecord:
            sent = None
    parts: list[AnyPart] = []
    for message in sent if isinstance(sent, list) else []:
        text = message.get("content") if isinstance(message, dict) else None
        if isinstance(text, str) and text not in reader.sent:
            reader.sent.add(text)
            is_system = message.get("role") == "system"
            parts.append(Prompt(text=text, scope="system" if is_system else "conversation", native=event.native))
    parent = reader.agents.parent_of(event)
    parts.insert(0, Notice(topic="messages-sent", data=event.extra(), native=event.native))
    reader.add(event, "system", parts, parent=parent)


def system_message(reader: Reader, event: Event) -> None:
    """Read the system prompt, which is repeated when it changes."""
    text = take_str(event.data, "content") or ""
    parent = reader.agents.parent_of(event)
    interaction = reader.started_interaction(event)
    if event.data.get("role") == "system":
        del event.data["role"]
    parts: list[AnyPart] = [Prompt(text=text, scope="system", native=event.native)]
    for block in event.data.get("contentBlocks") or []:
        said = block.get("content") if isinstance(block, dict) else None
        if isinstance(said, str) and said not in text:
            parts.append(Prompt(text=said, scope="system", native="contentBlocks"))
            del block["content"]
    reader.add(event, "system", parts, interaction=interaction, parent=parent).extra = event.extra()
