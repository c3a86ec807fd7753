"""What the Copilot extension keeps beside VS Code's own sessions: a transcript, and an export of its debug view."""

from __future__ import annotations

import json
from typing import Any

from tests.sample_cli_log import iso
from tests.sample_drag import SESSION as DRAG_SESSION
from tests.sample_drag import drag_beds
from tests.sample_forms import Json, encoded, made_up_id, ms
from tests.sample_home import EXPORTS, GARDEN_STORAGE, Home
from tests.sample_lookup import tide_lookup

EXPORT = f"{EXPORTS}/copilot_all_prompts_2026-04-02T08-55-10.chatreplay.json"
MODEL = "claude-sonnet-4.5"
SYSTEM = "You are an expert AI programming assistant, working with a user in the VS Code editor."


def put(home: Home) -> None:
    lines = transcript(drag_beds())
    path = f"{GARDEN_STORAGE}/GitHub.copilot-chat/transcripts/{DRAG_SESSION}.jsonl"
    home.files[path] = "".join(f"{encoded(line)}\n" for line in lines).encode()
    home.document(EXPORT, replay(tide_lookup()), indent=2)


def shown_id(recorded_id: str) -> str:
    """The id of a call without what the extension adds to it."""
    return recorded_id.partition("__vscode-")[0]


# --- the transcript ---------------------------------------------------------------------------------------------


def transcript(session: Json) -> list[Json]:
    """A session once more, in short. It is written because hooks may want to read it."""
    made: list[Json] = []
    header = {"sessionId": session["sessionId"], "version": 1, "producer": "copilot-agent", "copilotVersion": "0.39.1"}
    began = session["requests"][0]["timestamp"]
    _note(made, began, "session.start", {**header, "vscodeVersion": "1.111.0", "startTime": iso(began)})
    for request in session["requests"]:
        _note(made, request["timestamp"], "user.message", {"content": request["message"]["text"], "attachments": []})
        before = request["timestamp"] + 400
        for number, one in enumerate(request["result"]["metadata"]["toolCallRounds"]):
            _note_round(made, before, number, one)
            before = one["timestamp"] + 900
    return made


def _note(made: list[Json], when: int, kind: str, data: Json) -> None:
    line_id = made_up_id("transcript", str(len(made)))
    parent_id = made[-1]["id"] if made else None
    made.append({"type": kind, "data": data, "id": line_id, "timestamp": iso(when), "parentId": parent_id})


def _note_round(made: list[Json], began: int, number: int, one: Json) -> None:
    when = one["timestamp"]
    _note(made, began, "assistant.turn_start", {"turnId": str(number)})
    calls = [(shown_id(call["id"]), call["name"], call["arguments"]) for call in one["toolCalls"]]
    requests = [
        {"toolCallId": call_id, "name": name, "arguments": arguments, "type": "function"}
        for call_id, name, arguments in calls
    ]
    said: Json = {"messageId": made_up_id("transcript message", one["id"]), "content": one["response"]}
    said["toolRequests"] = requests
    if "thinking" in one:
        said["reasoningText"] = "".join(one["thinking"]["text"])
    _note(made, when, "assistant.message", said)
    for place, (call_id, name, arguments) in enumerate(calls):
        start = when + 100 + 200 * place
        begun = {"toolCallId": call_id, "toolName": name, "arguments": json.loads(arguments)}
        _note(made, start, "tool.execution_start", begun)
        is_stopped = "rm " in arguments  # a hook wants files to be deleted in the editor
        _note(made, start + 90, "tool.execution_complete", {"toolCallId": call_id, "success": not is_stopped})
    _note(made, when + 800, "assistant.turn_end", {"turnId": str(number)})


# --- the export -------------------------------------------------------------------------------------------------


def replay(session: Json) -> Json:
    """The debug view of one morning: the first two prompts, with all that was sent for them."""
    history = [_message(0, SYSTEM)]
    prompts = [_prompt(request, history) for request in session["requests"][:2]]
    return {
        "exportedAt": iso(ms("2026-04-02 08:55:10")),
        "totalPrompts": len(prompts),
        "totalLogEntries": sum(prompt["logCount"] for prompt in prompts),
        "prompts": prompts,
        "mcpServers": [],
    }


def _prompt(request: Json, history: list[Json]) -> Json:
    """One prompt with its log. The history grows with all that is said."""
    metadata = request["result"]["metadata"]
    text = request["message"]["text"]
    rendered = [metadata[key] for key in ("renderedGlobalContext", "renderedUserMessage") if key in metadata]
    history += [{"role": 1, "content": content} for content in rendered]
    if "renderedUserMessage" not in metadata:
        history.append(_message(1, f"<userRequest>\n{text}\n</userRequest>\n"))
    first_id = _entry_id(metadata["toolCallRounds"][0])
    logs: list[Json] = [{"id": first_id[::-1], "kind": "element", "name": "AgentPrompt", "tokens": 3120}]
    logs[0]["maxTokens"] = 127805
    began = request["timestamp"]
    for one in metadata["toolCallRounds"]:
        logs.append(_request(one, began, metadata["responseId"], history))
        logs += _answered(one, metadata["toolCallResults"], history)
        began = one["timestamp"] + 2000
    return {"prompt": text, "promptId": f"{first_id}-prompt", "hasSeen": False, "logCount": len(logs), "logs": logs}


def _entry_id(one: Json) -> str:
    return str(one["id"])[:8]


def _request(one: Json, began: int, response_id: str, history: list[Json]) -> Json:
    """One call of the model: all that was sent, and what it said."""
    sent = sum(len(encoded(message)) for message in history) // 4 + 9800
    said = len(one["response"]) // 4 + 60 * len(one["toolCalls"])
    metadata: Json = {
        "requestType": "ChatMessages",
        "model": MODEL,
        "maxPromptTokens": 127805,
        "maxResponseTokens": 16000,
        "location": 7,
        "startTime": iso(began),
        "endTime": iso(one["timestamp"]),
        "duration": one["timestamp"] - began,
        "ourRequestId": response_id,
        "requestId": made_up_id("service", one["id"]),
        "serverRequestId": made_up_id("service", one["id"]),
        "timeToFirstToken": 1840,
        "usage": {
            "prompt_tokens": sent,
            "completion_tokens": said,
            "total_tokens": sent + said,
            "prompt_tokens_details": {"cached_tokens": sent * 3 // 4},
        },
        "tools": [{"name": "read_file", "description": "Read a file.", "input_schema": {"type": "object"}}],
    }
    return {
        "id": _entry_id(one),
        "kind": "request",
        "type": "ChatMLSuccess",
        "name": "panel/editAgent",
        "metadata": metadata,
        "requestMessages": {"messages": list(history)},
        "response": {"type": "success", "message": [one["response"]]},
    }


def _answered(one: Json, results: Json, history: list[Json]) -> list[Json]:
    """The calls that the model asked for, which then belong to the history."""
    said = _message(2, one["response"])
    history.append(said)
    if one["toolCalls"]:
        said["toolCalls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in one["toolCalls"]
        ]
    logs: list[Json] = []
    for place, call in enumerate(one["toolCalls"]):
        texts = [_text_of(part["value"]) for part in results[call["id"]]["content"]]
        about = {"id": call["id"], "kind": "toolCall", "tool": call["name"], "args": call["arguments"]}
        logs.append({**about, "time": iso(one["timestamp"] + 400 * (place + 1)), "response": texts})
        history.append({**_message(3, "".join(texts)), "toolCallId": call["id"]})
    return logs


def _message(role: int, text: str) -> Json:
    return {"role": role, "content": [{"type": 1, "text": text}] if text else []}


def _text_of(value: Any) -> str:
    """The text of a result, or of the tree that it is."""
    if isinstance(value, str):
        return value
    node = value.get("node", value)
    if node["type"] == 2:
        return str(node["text"])
    return "".join(_text_of(child) for child in node["children"])
