"""Ana's home folder in the making: its workspaces, who answers there, and where each file goes."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from hashlib import md5
from typing import Any

from tests.sample_forms import Json, content_name, encoded, made_up_id, message, uri
from tests.sample_log import Log, replayed

CODE = ".config/Code/User"
INSIDERS = ".config/Code - Insiders/User"
POSITRON = ".config/Positron/User"
EXPORTS = "Documents/exports"
ANA = "ana"

TIDES = "/home/ana/code/tide-tables"
GARDEN = "/home/ana/code/garden-planner"
NOTES = "/home/ana/notes"
GAUGES = "/home/ana/code/gauge-study"
SENSOR = "/home/ana/tide-sensor"
SENSOR_HOST = "ssh-remote+harbour-pi"
SHORELINE = "/home/ana/code/shoreline.code-workspace"


def storage(address: str, application: str = CODE) -> str:
    """The storage folder of a workspace: its name is a hash of the workspace's address."""
    return f"{application}/workspaceStorage/{md5(address.encode(), usedforsecurity=False).hexdigest()}"


TIDES_STORAGE = storage(TIDES)
GARDEN_STORAGE = storage(GARDEN)
NOTES_STORAGE = storage(NOTES)
OLD_NOTES_STORAGE = storage(f"{NOTES} as it was")  # the folder was made anew, and so got another
SENSOR_STORAGE = storage(f"vscode-remote://ssh-remote%2Bharbour-pi{SENSOR}")
SHORELINE_STORAGE = storage(SHORELINE)
GARDEN_INSIDERS_STORAGE = storage(GARDEN, INSIDERS)  # the same name: the hash knows nothing of the application
GAUGES_STORAGE = storage(GAUGES, POSITRON)
GLOBAL_STORAGE = f"{CODE}/globalStorage"

WORKSPACES: dict[str, Json] = {
    TIDES_STORAGE: {"folder": f"file://{TIDES}"},
    GARDEN_STORAGE: {"folder": f"file://{GARDEN}"},
    NOTES_STORAGE: {"folder": f"file://{NOTES}"},
    OLD_NOTES_STORAGE: {"folder": f"file://{NOTES}"},
    SENSOR_STORAGE: {"folder": f"vscode-remote://ssh-remote%2Bharbour-pi{SENSOR}"},
    SHORELINE_STORAGE: {"workspace": f"file://{SHORELINE}"},
    GARDEN_INSIDERS_STORAGE: {"folder": f"file://{GARDEN}"},
    GAUGES_STORAGE: {"folder": f"file://{GAUGES}"},
}


@dataclass(slots=True)
class Home:
    """The files of the home, and the rows of its databases, by their path below it."""

    files: dict[str, bytes] = field(default_factory=dict)
    rows: dict[str, Json] = field(default_factory=dict)

    def document(self, path: str, value: Any, indent: int | None = None) -> None:
        text = json.dumps(value, ensure_ascii=False, indent=indent) if indent else encoded(value)
        self._add(path, text.encode())

    def session(self, folder: str, session: Json, below: str = "chatSessions") -> None:
        """A session as one document."""
        self.document(f"{folder}/{below}/{session['sessionId']}.json", session)

    def log(self, folder: str, session: Json, log: Log, below: str = "chatSessions", torn: bytes = b"") -> None:
        """A session as a log, whose last line may be torn."""
        assert replayed(log.lines) == session, session["sessionId"]
        self._add(f"{folder}/{below}/{session['sessionId']}.jsonl", log.data() + torn)

    def editing(self, folder: str, session_id: str, state: Json, texts: list[str]) -> None:
        """What was edited in a session, and the texts that it names by their hash."""
        base = f"{folder}/chatEditingSessions/{session_id}"
        self.document(f"{base}/state.json", state)
        for text in dict.fromkeys(texts):
            self._add(f"{base}/contents/{content_name(text)}", text.encode())

    def spilled(self, folder: str, session_id: str, call_id: str, text: str) -> str:
        """A tool's output that was too long for the prompt; gives back the path that the model was told."""
        path = f"{folder}/GitHub.copilot-chat/chat-session-resources/{session_id}/{call_id}/content.txt"
        self._add(path, text.encode())
        return f"/home/ana/{path}"

    def row(self, folder: str, key: str, value: Any) -> None:
        """A row of a folder's state.vscdb."""
        self.rows.setdefault(f"{folder}/state.vscdb", {})[key] = value

    def index(self, folder: str, session: Json, **facts: Any) -> None:
        """An entry in a folder's list of sessions; facts that are None are left out."""
        entry = {**index_entry(session), **facts}
        self.index_as(folder, session["sessionId"], {key: value for key, value in entry.items() if value is not None})

    def index_as(self, folder: str, key: str, entry: Json) -> None:
        rows = self.rows.setdefault(f"{folder}/state.vscdb", {})
        rows.setdefault("chat.ChatSessionStore.index", {"version": 1, "entries": {}})["entries"][key] = entry

    def _add(self, path: str, data: bytes) -> None:
        assert path not in self.files, path
        self.files[path] = data


def index_entry(session: Json) -> Json:
    """What the list of sessions says about one."""
    requests = session["requests"]
    created = session["creationDate"]
    timing = {"created": created}
    if requests:
        state = requests[-1].get("modelState", {})
        timing["lastRequestStarted"] = requests[-1]["timestamp"]
        timing["lastRequestEnded"] = state.get("completedAt", requests[-1]["timestamp"])
    first_line = requests[0]["message"]["text"].partition("\n")[0] if requests else "New Chat"
    last_state = requests[-1].get("modelState", {}).get("value", 1) if requests else 1
    return {
        "sessionId": session["sessionId"],
        "title": session.get("customTitle", first_line),
        "lastMessageDate": requests[-1]["timestamp"] if requests else created,
        "timing": timing,
        "initialLocation": session.get("initialLocation"),
        "hasPendingEdits": session.get("hasPendingEdits", False),
        "isEmpty": not requests,
        "isExternal": False,
        "lastResponseState": 2 if last_state in (0, 4) else last_state,
    }


def session_uri(session_id: str) -> Json:
    """The address of a session of VS Code's own."""
    name = base64.urlsafe_b64encode(session_id.encode()).decode().rstrip("=")
    return uri(f"/{name}", "vscode-chat-session", authority="local")


def session_address(session_id: str) -> str:
    return f"vscode-chat-session://local{session_uri(session_id)['path']}"


# --- who answers ------------------------------------------------------------------------------------------------

EXTENSION = {"value": "GitHub.copilot-chat", "_lower": "github.copilot-chat"}


def agent(native_id: str, name: str, mode: str, description: str, version: str, **more: Any) -> Json:
    """A chat participant as each request repeats it."""
    return {
        "extensionId": EXTENSION,
        "extensionVersion": version,
        "publisherDisplayName": "GitHub",
        "extensionPublisherId": "GitHub",
        "extensionDisplayName": "GitHub Copilot Chat",
        "id": native_id,
        "description": description,
        "metadata": {"themeIcon": {"id": "tools"}, "hasFollowups": False, "supportIssueReporting": False},
        "name": name,
        "fullName": "GitHub Copilot",
        "isDefault": True,
        "locations": ["panel"],
        "modes": [mode],
        "slashCommands": [{"name": "explain", "description": "Explain how this code works"}],
        "disambiguation": [],
        **more,
    }


def agent_mode(version: str, **more: Any) -> Json:
    description = "Edit files in agent mode"
    return agent(
        "github.copilot.editsAgent", "agent", "agent", description, version, when="config.chat.agent.enabled", **more
    )


def ask_mode(version: str, **more: Any) -> Json:
    return agent("github.copilot.default", "GitHubCopilot", "ask", "Ask or explore ideas", version, **more)


def edit_mode(version: str, **more: Any) -> Json:
    description = "Edit files"
    return agent("github.copilot.editingSession", "GitHubCopilot", "edit", description, version, **more)


def model(name: str, shown: str, family: str, **more: Any) -> Json:
    """A language model as the input box remembers it."""
    return {
        "identifier": f"copilot/{name}",
        "metadata": {
            "extension": EXTENSION,
            "id": name,
            "vendor": "copilot",
            "name": shown,
            "family": family,
            "version": name,
            "maxInputTokens": 127805,
            "maxOutputTokens": 16000,
            "isUserSelectable": True,
            "modelPickerCategory": {"label": "Standard Models", "order": 1},
            "capabilities": {"vision": True, "toolCalling": True, "agentMode": True},
        },
        **more,
    }


SONNET = model("claude-sonnet-4.5", "Claude Sonnet 4.5", "claude-sonnet-4.5")
GPT = model("gpt-4.1", "GPT-4.1", "gpt-4.1", modelConfiguration={})
AUTO = model("auto", "Auto", "auto")


# --- requests ---------------------------------------------------------------------------------------------------


def request(key: str, when: int, text: str | Json, response: list[Any], **fields: Any) -> Json:
    """One request with its answer."""
    made = {
        "requestId": f"request_{made_up_id(key, 'request')}",
        "timestamp": when,
        "message": message(text) if isinstance(text, str) else text,
        "variableData": {"variables": []},
        "response": response,
        "responseId": f"response_{made_up_id(key, 'response')}",
        "contentReferences": [],
        "codeCitations": [],
    }
    return {**made, **fields}


def request_id(key: str) -> str:
    return f"request_{made_up_id(key, 'request')}"


def complete(when: int) -> Json:
    """How a turn that went well ended."""
    return {"value": 1, "completedAt": when}


def builtin_mode(kind: str, **more: Any) -> Json:
    return {"kind": kind, "isBuiltin": True, "telemetryModeId": kind, **more}
