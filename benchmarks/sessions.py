"""Made-up sessions: requests with their responses and metadata, as flat objects or as logs of changes."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.tools import Call, make_call
from benchmarks.words import Json, Words, text_range, uri

Size = Literal["empty", "small", "medium", "large"]

FIRST_DAY_MS = 1_760_000_000_000
REQUESTS: dict[Size, tuple[int, int]] = {"empty": (0, 0), "small": (1, 2), "medium": (3, 5), "large": (8, 12)}
# Of all requests: those that call tools, and those whose metadata has the part named.
WITH_CALLS = 0.3
WITH_ROUNDS = 0.37  # of those that call no tool
WITH_PROMPT = 0.46
WITH_MESSAGES = 0.14  # of those without rounds
WITH_PLACES = 0.35  # answers that point to places in files
MOST_ROUNDS = 26
# Means.
CALLING_ROUNDS = 5
PROMPT_BYTES = 220
ANSWER_BYTES = 1_100
ROUND_BYTES = 450
ATTACHED_BYTES = 4_800
THINKING_BYTES = 500
ENCRYPTED_BYTES = 3_600
PLACES = 4.9
CALLS = (1, 1, 1, 1, 1, 2)  # in one round
MODELS = ("copilot/auto", "copilot/nova-4", "copilot/nova-5-mini")


@dataclass(slots=True)
class Session:
    """A session as VS Code holds it in memory, with what the generator needs to know about it."""

    state: Json
    folder: str  # the workspace's
    is_new: bool  # of the era of logs

    @property
    def native_id(self) -> str:
        return str(self.state["sessionId"])

    @property
    def requests(self) -> list[Json]:
        requests: list[Json] = self.state["requests"]
        return requests


class SessionMaker:
    """Makes sessions. The agents, which each request repeats in full, are made once."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.agents = [
            _agent(words, "github.copilot.editsAgent", "agent", 0),
            _agent(words, "github.copilot.default", "ask", 1),
            _agent(words, "github.copilot.workspace", "ask", 26),
        ]

    def session(self, folder: str, size: Size, is_new: bool) -> Session:
        words = self.words
        created = FIRST_DAY_MS + words.rng.randrange(20_000_000_000)
        session = Session({}, folder, is_new)
        count = words.rng.randint(*REQUESTS[size])
        requests = [self._request(session, created + number * 300_000) for number in range(count)]
        session.state = self._root(created, requests, is_new)
        return session

    def _root(self, created: int, requests: list[Json], is_new: bool) -> Json:
        words = self.words
        session_id = words.uuid()
        if is_new:
            state: Json = {
                "version": 3,
                "creationDate": created,
                "initialLocation": "panel",
                "responderUsername": "GitHub Copilot",
                "sessionId": session_id,
                "hasPendingEdits": False,
                "requests": requests,
                "pendingRequests": [],
                "inputState": _input_state(words),
            }
        else:
            state = {
                "version": 3,
                "requesterUsername": "ana",
                "requesterAvatarIconUri": {"$mid": 1, "path": "/u/7", "scheme": "https", "authority": "example.com"},
                "responderUsername": "GitHub Copilot",
                "responderAvatarIconUri": {"id": "copilot"},
                "initialLocation": "panel",
                "requests": requests,
                "sessionId": session_id,
                "creationDate": created,
                "isImported": False,
                "lastMessageDate": created + len(requests) * 300_000,
            }
        if requests and words.chance(0.6):
            state["customTitle"] = words.sentence()
        return state

    def _request(self, session: Session, started: int) -> Json:
        words = self.words
        is_agent = words.chance(WITH_CALLS)
        rounds = min(words.size(CALLING_ROUNDS, 0.9), MOST_ROUNDS) if is_agent else 0
        text = words.prose_of(words.size(PROMPT_BYTES, 1.5))
        calls = [
            [make_call(words, session.folder, started, session.is_new) for _ in range(words.rng.choice(CALLS))]
            for _ in range(rounds)
        ]
        answers = [words.prose_of(words.size(ROUND_BYTES)) if words.chance(0.5) else "" for _ in calls]
        answers.append(words.prose_of(words.size(ANSWER_BYTES)))
        request: Json = {
            "requestId": f"request_{words.uuid()}",
            "message": _message(text),
            "variableData": {"variables": _variables(words, session)},
            "response": _response(words, session, answers, calls),
            "responseId": f"response_{words.uuid()}",
            "result": _result(words, session, text, answers, calls),
            "responseMarkdownInfo": [{"suggestionId": words.uuid()}] if words.chance(0.3) else [],
            "followups": [],
            **({"modelState": {"value": 1, "completedAt": started + 60_000}} if session.is_new else {}),
            **({} if session.is_new else {"isCanceled": words.chance(0.05)}),
            "agent": self.agents[0 if is_agent else words.rng.choice((1, 1, 2, 2, 2))],
            "contentReferences": _references(words, session),
            "codeCitations": [],
            "timestamp": started,
            "modelId": words.rng.choice(MODELS),
        }
        if session.is_new:
            request["timeSpentWaiting"] = started
            request["elapsedMs"] = words.rng.randrange(60_000)
            request["completionTokens"] = words.rng.randrange(5_000)
            request["modeInfo"] = {"kind": "agent" if is_agent else "ask", "isBuiltin": True, "modeId": "agent"}
        if words.chance(0.2):
            request["editedFileEvents"] = [{"uri": uri(f"{session.folder}/{words.path()}"), "eventKind": 1}]
        return request


# --- the user's side ------------------------------------------------------------------------------------------------


def _message(text: str) -> Json:
    part = {
        "range": {"start": 0, "endExclusive": len(text.encode("utf-16-le")) // 2},
        "editorRange": text_range(1, text.count("\n") + 1, 80),
        "text": text,
        "kind": "text",
    }
    return {"parts": [part], "text": text}


def _variables(words: Words, session: Session) -> list[Json]:
    made: list[Json] = []
    for _ in range(words.rng.choice((0, 0, 1, 1, 2))):
        path = f"{session.folder}/{words.path()}"
        place = {"uri": uri(path), "range": {**text_range(1, 40), "positionLineNumber": 40, "positionColumn": 1}}
        made.append({"kind": "file", "id": "vscode.implicit.selection", "name": f"file:{path}", "value": place})
    if session.is_new and words.chance(0.2):
        made.append(
            {
                "id": "vscode.prompt.instructions.list",
                "name": "prompt:instructionsList",
                "value": words.prose(8, 20),
                "kind": "promptText",
                "automaticallyAdded": True,
                "toolReferences": [{"kind": "tool", "id": "copilot_readFile", "name": "Read File"}],
            }
        )
    if words.chance(0.01):
        data = words.rng.randbytes(2_000)
        value: Json = (
            {"$base64": base64.b64encode(data).decode()}
            if session.is_new
            else {str(index): byte for index, byte in enumerate(data)}
        )
        made.append({"kind": "image", "id": words.uuid(), "name": "Pasted Image", "value": value, "isPasted": True})
    return made


def _references(words: Words, session: Session) -> list[Json]:
    return [
        {
            "reference": {"uri": uri(f"{session.folder}/{words.path()}"), "range": text_range(1, 20)},
            "kind": "reference",
        }
        for _ in range(words.rng.choice((0, 0, 0, 0, 0, 1, 3)))
    ]


# --- the answer -----------------------------------------------------------------------------------------------------


def _response(words: Words, session: Session, answers: list[str], calls: list[list[Call]]) -> list[Json]:
    parts: list[Json] = []
    if words.chance(0.1):
        parts.append({"kind": "mcpServersStarting", "didStartServerIds": []})
    for answer, round_calls in zip(answers, [*calls, []], strict=True):
        if words.chance(0.5 if session.is_new else 0.1):
            parts.append({"kind": "thinking", "value": words.prose_of(words.size(THINKING_BYTES)), "id": words.uuid()})
            parts.append({"kind": "thinking", "value": "", "id": ""})
        if answer:
            parts.append(_markdown(answer, session))
        for call in round_calls:
            if not session.is_new and words.chance(0.6):
                parts.append({"kind": "prepareToolInvocation", "toolName": call.tool_id})
            parts += [call.shown, *call.edits]
    if words.chance(WITH_PLACES):
        for _ in range(words.size(PLACES, 0.9)):
            parts.append({"kind": "inlineReference", "inlineReference": _target(words, session)})
            parts.append(_markdown(f" {words.prose_of(words.size(80))} In ", session))
    if words.chance(0.2):
        parts.append(_markdown(f"\n\n```python\n{words.code_of(words.size(ANSWER_BYTES))}```\n", session))
    return parts


def _markdown(text: str, session: Session) -> Json:
    return {
        "value": text,
        "supportThemeIcons": False,
        "supportHtml": False,
        "baseUri": uri(f"{session.folder}/", with_caches=False),
    }


def _target(words: Words, session: Session) -> Json:
    """What an inline reference points to: a file, lines of one, or a symbol."""
    address = uri(f"{session.folder}/{words.path()}")
    shape = words.rng.randrange(10)
    if shape < 3:
        return address
    location = {"uri": address, "range": text_range(shape, 2 * shape)}
    return location if shape < 6 else {"name": words.word(), "kind": 11, "containerName": "", "location": location}


def _result(words: Words, session: Session, text: str, answers: list[str], calls: list[list[Call]]) -> Json:
    metadata: Json = {"codeBlocks": _code_blocks(words)}
    if words.chance(WITH_PROMPT):
        metadata["renderedUserMessage"] = _prompt(words, text)
    if calls or words.chance(WITH_ROUNDS):
        metadata["toolCallRounds"] = [
            _round(words, session, answer, round_calls)
            for answer, round_calls in zip(answers, [*calls, []], strict=True)
        ]
    elif words.chance(WITH_MESSAGES):
        metadata["messages"] = [{"role": "user", "content": text}, {"role": "assistant", "content": answers[-1]}]
    if calls:
        metadata["toolCallResults"] = {call.native_id: call.result for round_calls in calls for call in round_calls}
    metadata |= {
        "modelMessageId": words.uuid(),
        "responseId": words.uuid(),
        "sessionId": words.uuid(),
        "agentId": "github.copilot.editsAgent",
    }
    return {
        "timings": {"firstProgress": words.rng.randrange(5_000), "totalElapsed": words.rng.randrange(90_000)},
        "metadata": metadata,
        "details": "Nova 4 • 1x",
    }


def _round(words: Words, session: Session, answer: str, calls: list[Call]) -> Json:
    made: Json = {
        "response": answer,
        "toolCalls": [call.recorded() for call in calls],
        "toolInputRetry": 0,
        "id": words.uuid(),
    }
    if words.chance(0.15):
        made["statefulMarker"] = words.opaque(412)
        made["thinking"] = {
            "id": words.opaque(412),
            "text": words.sentence(),
            "encrypted": words.opaque(words.size(ENCRYPTED_BYTES)),
            "tokens": 0,
        }
    if session.is_new:
        made["timestamp"] = FIRST_DAY_MS
    return made


def _code_blocks(words: Words) -> list[Json]:
    return [
        {"code": words.code_of(words.size(750)), "language": "python", "markdownBeforeBlock": words.sentence()}
        for _ in range(words.rng.choice((0, 0, 0, 1, 1)))
    ]


def _prompt(words: Words, text: str) -> list[Json]:
    """What was sent to the model instead of the words that were typed."""
    sent = (
        f"<attachments>\n{words.code_of(words.size(ATTACHED_BYTES, 1.4))}\n</attachments>\n"
        f"<context>\n{words.prose_of(300)}\n</context>\n"
        f"<userRequest>\n{text}\n</userRequest>\n"
    )
    return [{"type": 1, "text": sent}, {"type": 3, "cacheType": "ephemeral"}]


# --- what repeats ---------------------------------------------------------------------------------------------------


def _agent(words: Words, native_id: str, mode: str, commands: int) -> Json:
    extension = "GitHub.copilot-chat"
    return {
        "extensionId": {"value": extension, "_lower": extension.lower()},
        "extensionVersion": "0.99.0",
        "publisherDisplayName": "GitHub",
        "extensionPublisherId": "GitHub",
        "extensionDisplayName": "GitHub Copilot Chat",
        "id": native_id,
        "description": words.sentence(),
        "when": f"config.chat.{mode}.enabled",
        "metadata": {"themeIcon": {"id": "tools"}, "hasFollowups": False, "supportIssueReporting": False},
        "name": mode,
        "fullName": "GitHub Copilot",
        "isDefault": True,
        "locations": ["panel"],
        "modes": [mode],
        "slashCommands": [{"name": words.word(), "description": words.sentence()} for _ in range(commands)],
        "disambiguation": [],
    }


def _input_state(words: Words) -> Json:
    place: dict[str, Any] = {**text_range(1, 1), "selectionStartLineNumber": 1, "positionLineNumber": 1}
    metadata = {
        "extension": {"value": "GitHub.copilot-chat", "_lower": "github.copilot-chat"},
        "id": "nova-4",
        "vendor": "copilot",
        "name": "Nova 4",
        "family": "nova",
        "tooltip": words.sentence(),
        "version": "nova-4",
        "maxInputTokens": 120_000,
        "maxOutputTokens": 64_000,
        "isUserSelectable": True,
        "capabilities": {"vision": True, "toolCalling": True, "agentMode": True},
    }
    return {
        "attachments": [],
        "mode": {"id": "agent", "kind": "agent"},
        "selectedModel": {"identifier": "copilot/nova-4", "metadata": metadata},
        "inputText": "",
        "selections": [place],
        "contrib": {"chatDynamicVariableModel": []},
    }
