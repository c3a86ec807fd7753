"""Read the user's side of a request: the prompt as typed, its mentions, and the agent and mode it was sent to."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from typing import Any, Literal

from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.fields import Json, rest, take_bool, take_dict, take_list, take_notes, take_str
from copilog.model import Agent, AnyPart, Attachment, CustomAgent, Mention, Mode, Place, Prompt, Text, Turn, Unknown
from copilog.sources.vscode.attachments import attachments_from
from copilog.uris import location_from, take_uri, uri_to_string

# The user's side of a request: the text as typed, its mentions, the attachments, and the prompt sent to the model.


NameOf = Callable[[Json], str | None]
MENTION_NOTES = {"displayText": "text", "modelDescription": "description", "variableArg": "argument"}
PLAIN_KEYS = frozenset({"kind", "text", "range", "editorRange"})


def user_parts(request: Json, ledger: Ledger, pointer: str) -> list[AnyPart]:
    """Return the parts of the user's message. Takes `message` and `variableData` out of the request."""
    message = request.get("message")
    if message is None:
        raise BadRecord("a request without a message", "no-message")
    if isinstance(message, str):
        parts: list[AnyPart] = [Text(text=message)]
    elif isinstance(message, dict):
        parts = _typed_parts(message, ledger, f"{pointer}/message/parts")
    else:
        raise BadRecord(f"a message that is neither text nor an object but {type(message).__name__}", "no-message")
    del request["message"]
    return parts + attached_parts(request, ledger, pointer)


def attached_parts(request: Json, ledger: Ledger, pointer: str) -> list[AnyPart]:
    """Return the attachments of the user's message. Takes `variableData` out of the request."""
    variable_data = take_dict(request, "variableData")
    if variable_data is None:
        return []
    variables = take_list(variable_data, "variables")
    parts = attachments_from(variables, ledger, f"{pointer}/variableData/variables")
    if variable_data:
        request["variableData"] = variable_data
    return parts


def _typed_parts(message: Json, ledger: Ledger, pointer: str) -> list[AnyPart]:
    items = take_list(message, "parts") or []
    text = take_str(message, "text")
    if text is None:  # most kinds store no text of their own: only the available texts can be joined
        text = "".join(item["text"] for item in items if isinstance(item, dict) and isinstance(item.get("text"), str))
    words = Text(text=text)
    parts: list[AnyPart] = [words]
    unsaid: list[str] = []  # texts of the parts that are missing from the message's own text
    untold: list[Any] = []
    tally = ledger.parts
    tally.seen += len(items)
    for position, item in enumerate(items):
        if isinstance(item, dict):
            tally.used += 1
            if not _is_plain(item):
                parts.append(_mention_from(item, text, position, ledger))
                continue
            if item["text"] not in text:
                unsaid.append(item.pop("text"))
            if not item.keys() <= PLAIN_KEYS:
                untold.append(item)
        elif isinstance(item, str):
            tally.used += 1
            if item not in text:
                unsaid.append(item)
        elif item is None:
            tally.ignore("null-part")
        else:
            ledger.reject_part("a message part that is not an object", f"{pointer}/{position}")
    if untold:
        message["parts"] = untold
    words.extra = rest(message)
    if unsaid:
        parts.append(Prompt(text="\n\n".join(unsaid), native="message.parts"))
    return parts


def _is_plain(item: Json) -> bool:
    """Return whether a part is plain text, which the message's text contains anyway."""
    return item.get("kind") in ("text", None) and isinstance(item.get("text"), str)


def _mention_from(item: Json, text: str, position: int, ledger: Ledger) -> AnyPart:
    kind = item.get("kind")
    known = MENTIONS.get(kind) if isinstance(kind, str) else None
    if known is None:
        ledger.parts.count_unknown(f"message:{kind}")
        return Unknown(type=f"message:{kind}", raw=item, position=position)
    del item["kind"]
    mention_type, name_of = known
    data = item.get("data")
    place = location_from(data) if isinstance(data, dict) or uri_to_string(data) is not None else None
    start, end = _offsets(item, text)
    notes = take_notes(item, MENTION_NOTES)
    if isinstance(data, str) and place is None and data not in text:
        notes["value"] = data
    if start is not None and isinstance(own := item.get("text"), str) and own not in text:
        notes["text"] = own
    return Mention(
        type="file" if kind == "dynamic" and _is_file(item, place) else mention_type,
        name=name_of(item) or "",
        text=text[start:end] if start is not None else take_str(item, "text"),
        start=start,
        end=end,
        id=take_str(item, "id") or take_str(item, "toolId") or take_str(item, "variableId"),
        place=place,
        native=kind,
        position=position,
        notes=notes,
        extra=rest(item),
    )


def _is_file(item: Json, place: Place | None) -> bool:
    """Return whether a dynamic reference is to a file or folder; it may be to anything, but most are."""
    return place is not None or item.get("isFile") is True or item.get("isDirectory") is True


def _offsets(item: Json, text: str) -> tuple[int | None, int | None]:
    """Return the offsets of a part in the text. VS Code counts UTF-16 units, Python counts characters."""
    span = item.get("range")
    if not isinstance(span, dict):
        return None, None
    start, end = span.get("start"), span.get("endExclusive")
    if type(start) is not int or type(end) is not int or not 0 <= start <= end:
        return None, None
    if text.isascii() or max(text) < "\U00010000":
        return (start, end) if end <= len(text) else (None, None)
    units = text.encode("utf-16-le", "surrogatepass")
    if 2 * end > len(units):
        return None, None
    before = len(units[: 2 * start].decode("utf-16-le", "replace"))
    inside = len(units[2 * start : 2 * end].decode("utf-16-le", "replace"))
    return before, before + inside


def _own(*keys: str) -> NameOf:
    """Return a reader for the part's own name, under the first of these keys that has one."""

    def name_of(item: Json) -> str | None:
        return next((item[key] for key in keys if isinstance(item.get(key), str)), None)

    return name_of


def _inner(key: str, *names: str) -> NameOf:
    """Return a reader for the name of an object inside the part."""
    own = _own(*names)

    def name_of(item: Json) -> str | None:
        inner = item.get(key)
        return own(inner) if isinstance(inner, dict) else None

    return name_of


def _prompt_name(item: Json) -> str | None:
    """Return the name of a prompt file; some releases put it into an object."""
    command = item.get("slashPromptCommand")
    return _own("name", "slashPromptCommand")(item) or (_own("command")(command) if isinstance(command, dict) else None)


# VS Code's kinds, the kinds of mention of the model, and readers for the name.
MENTIONS: dict[str, tuple[str, NameOf]] = {
    "agent": ("agent", _inner("agent", "name", "id")),
    "subcommand": ("command", _inner("command", "name")),
    "slash": ("command", _inner("slashCommand", "command")),
    "prompt": ("prompt", _prompt_name),
    "tool": ("tool", _own("toolName")),
    "toolset": ("toolset", _own("name")),
    "dynamic": ("variable", _own("fullName", "text")),
    "var": ("variable", _own("variableName")),
}


PROMPTS: dict[str, Literal["turn", "conversation", "system"]] = {
    "systemPrompt": "system",
    "renderedGlobalContext": "conversation",
    "renderedUserMessage": "turn",
}


def prompts_from(metadata: Json) -> list[AnyPart]:
    """Return the prompt as it was sent: this turn's last user message, and the context that preceded it."""
    prompts: list[AnyPart] = []
    for key, scope in PROMPTS.items():
        value = metadata.get(key)
        if not isinstance(value, str | list):
            continue
        del metadata[key]
        text, others = _raw_text([value] if isinstance(value, str) else value)
        if text or others:
            pictures = [picture for part in others if (picture := _picture_from(part)) is not None]
            others = [part for part in others if part]
            extra = {"parts": others} if others else None
            prompts += [Prompt(text=text, scope=scope, native=key, extra=extra), *pictures]
    return prompts


def _picture_from(part: Any) -> Attachment | None:
    """Return a picture that was sent with a prompt, as a data URL."""
    holder = part.get("imageUrl") if isinstance(part, dict) else None
    url = holder.get("url") if isinstance(holder, dict) else None
    head, _, data = url.partition(",") if isinstance(url, str) else ("", "", "")
    if not isinstance(holder, dict) or not isinstance(url, str):
        return None
    del part["imageUrl"]
    made = Attachment(type="image", is_automatic=True, native="imageUrl")
    try:
        made.data = b64decode(data, validate=True) if head.endswith(";base64") else None
    except ValueError:
        made.data = None
    if made.data:
        made.mime_type = head.removeprefix("data:").removesuffix(";base64")
    else:
        made.text = url
    del holder["url"]
    made.extra = holder or None
    return made


def _raw_text(parts: list[Any]) -> tuple[str, list[Any]]:
    """Return the text of raw prompt parts, and the parts that are not text (images, cache marks)."""
    texts: list[str] = []
    others: list[Any] = []
    for part in parts:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            texts.append(text)
            if isinstance(part, dict) and not (part.keys() <= {"type", "text"} and part.get("type", 1) == 1):
                del part["text"]
                others.append(part)
        elif part is not None:
            others.append(part)
    return "".join(texts), others


# How a request ran: the participant that answered, the mode, and the custom agent within it.


# Participants that run in one mode only, from before the mode itself was recorded.
MODE_OF_AGENT = {
    "github.copilot.editsAgent": "agent",
    "github.copilot.editingSession": "edit",
    "github.copilot.editingSession2": "edit",
    "github.copilot.editingSessionEditor": "edit",
    "github.copilot.default": "ask",
    "github.copilot.workspace": "ask",
    "github.copilot.vscode": "ask",
    "github.copilot.terminal": "ask",
}
KINDS = ("ask", "edit", "agent")


def agent_from(request: Json) -> Agent | None:
    """Take the participant out of a request."""
    raw = request.get("agent")
    if not isinstance(raw, dict):
        return None
    native_id = take_str(raw, "id")
    if native_id is None:
        return None
    del request["agent"]
    extension = raw.get("extensionId")
    extension_id = extension.get("value") if isinstance(extension, dict) else extension
    return Agent(
        id=native_id,
        name=take_str(raw, "name"),
        full_name=take_str(raw, "fullName"),
        extension=extension_id if isinstance(extension_id, str) else None,
        extension_version=take_str(raw, "extensionVersion"),
        extra=rest(raw),
    )


def read_mode(request: Json, turn: Turn) -> None:
    """Take the mode out of a request; before it was recorded, some participants imply it."""
    info = take_dict(request, "modeInfo")
    if not info:
        kind = MODE_OF_AGENT.get(turn.agent.id) if turn.agent else None
        turn.mode = Mode(kind=kind, evidence="agent id") if kind else None
        return
    turn.mode, turn.custom_agent = mode_and_agent_from(info)


def mode_and_agent_from(info: Json) -> tuple[Mode, CustomAgent | None]:
    """Return a mode, and the custom agent that was active. VS Code's own modes may carry instructions, too."""
    mode = Mode(
        kind=take_str(info, "kind"),
        id=take_str(info, "telemetryModeId") or take_str(info, "modeId"),
        name=take_str(info, "telemetryModeName"),
        is_builtin=take_bool(info, "isBuiltin"),
        permission_level=take_str(info, "permissionLevel"),
        evidence="modeInfo",
    )
    instructions = info.get("modeInstructions")
    agent = None
    if isinstance(instructions, dict):
        name = instructions.get("name")
        if isinstance(name, str) and name and (mode.name is None or _is_hash(mode.name)):
            if mode.name is not None:
                info["telemetryModeName"] = mode.name
            mode.name = name
        if not mode.is_builtin and instructions.get("isBuiltin") is not True:
            del info["modeInstructions"]
            agent = _custom_agent_from(instructions)
    elif mode.id == "custom" and not mode.is_builtin:
        agent = CustomAgent(name=mode.name, evidence="modeInfo")
    mode.extra = rest(info)
    return mode, agent


def name_of_mode(info: object) -> str | None:
    """Return the name of a mode whose object stays where it is recorded."""
    if not isinstance(info, dict):
        return None
    name = info.get("telemetryModeName")
    if not isinstance(name, str) or _is_hash(name):
        instructions = info.get("modeInstructions")
        own = instructions.get("name") if isinstance(instructions, dict) else None
        name = own or name or info.get("kind")
    return name if isinstance(name, str) else None


def _is_hash(name: str) -> bool:
    """Return whether a name is the hash that VS Code writes instead of the names of custom agents."""
    return name.removeprefix("-").isdigit()


def _custom_agent_from(instructions: Json) -> CustomAgent:
    tools = instructions.get("toolReferences")
    names = [_tool_name(tool) for tool in tools] if isinstance(tools, list) else []
    return CustomAgent(
        name=take_str(instructions, "name"),
        uri=take_uri(instructions, "uri"),
        instructions=take_str(instructions, "content"),
        tools=[name for name in names if name],
        evidence="modeInfo",
        extra=rest(instructions),
    )


def _tool_name(tool: object) -> str:
    if isinstance(tool, dict):
        name = tool.get("name", tool.get("toolName", ""))
        return name if isinstance(name, str) else ""
    return tool if isinstance(tool, str) else ""


def mode_of_input(value: str | Json) -> Mode:
    """Return the mode that was selected in the input box: its id, or an object with the id and possibly a kind."""
    raw = {"id": value} if isinstance(value, str) else value
    mode = Mode(id=take_str(raw, "id"), kind=take_str(raw, "kind"), evidence="input box", extra=rest(raw))
    if mode.kind is None and mode.id in KINDS:
        mode.kind = mode.id
    return mode
