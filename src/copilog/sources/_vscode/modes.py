"""How a request ran: the participant that answered, the mode, and the custom agent on top of it."""

from __future__ import annotations

from copilog.model import Agent, CustomAgent, Mode, Turn
from copilog.sources._vscode.take import Json, rest, take_bool, take_dict, take_str
from copilog.sources._vscode.take_place import take_uri

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
    """Take the mode out of a request; before it was recorded, some participants tell it."""
    info = take_dict(request, "modeInfo")
    if not info:
        kind = MODE_OF_AGENT.get(turn.agent.id) if turn.agent else None
        turn.mode = Mode(kind=kind, evidence="agent id") if kind else None
        return
    turn.mode, turn.custom_agent = mode_and_agent_from(info)


def mode_and_agent_from(info: Json) -> tuple[Mode, CustomAgent | None]:
    """A mode, and the custom agent that was active. Modes of VS Code's own may carry instructions, too."""
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
    """What to call a mode that stays where it is recorded."""
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
    """The mode that was chosen in the input box: its id, or an object with the id and perhaps a kind."""
    raw = {"id": value} if isinstance(value, str) else value
    mode = Mode(id=take_str(raw, "id"), kind=take_str(raw, "kind"), evidence="input box", extra=rest(raw))
    if mode.kind is None and mode.id in KINDS:
        mode.kind = mode.id
    return mode
