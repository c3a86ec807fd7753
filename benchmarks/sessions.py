"""Made-up sessions: requests with their responses and metadata, as flat objects or as logs of changes."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.tools import Call, make_call
from benchmarks.words import Json, Words, text_range, uri

Size = Literal["empty", "small", "medium", "large"]

FIRST_DAY_MS = 1_760_000_000_000
REQUESTS: dict[Size, tuple[int, int]] = {"empty": (0, 0), "small": (1, 2), "medium": (3, 7), "large": (10, 10)}
ROUNDS: dict[Size, tuple[int, int]] = {"empty": (0, 0), "small": (1, 2), "medium": (1, 5), "large": (4, 11)}
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
            _agent(words, "github.copilot.editsAgent", "agent", 14),
            _agent(words, "github.copilot.default", "ask", 10),
        ]

    def session(self, folder: str, size: Size, is_new: bool) -> Session:
        words = self.words
        created = FIRST_DAY_MS + words.rng.randrange(20_000_000_000)
        session = Session({}, folder, is_new)
        count = words.rng.randint(*REQUESTS[size])
        requests = [
            self._request(session, words.rng.randint(*ROUNDS[size]), created + number * 300_000)
            for number in range(count)
        ]
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

    def _request(self, session: Session, rounds: int, started: int) -> Json:
        words = self.words
        is_agent = rounds > 1
        text = words.prose(1, 8)
        calls = [
            [make_call(words, session.folder, started, session.is_new) for _ in range(words.rng.randint(1, 3))]
            for _ in range(rounds - 1)
        ]
        answers = [words.prose(1, 4) for _ in calls]
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
            "agent": self.agents[0 if is_agent else 1],
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
    for _ in range(words.rng.choice((0, 1, 1, 2))):
        path = f"{session.folder}/{words.path()}"
        place = {"uri": uri(path), "range": {**text_range(1, 40), "positionLineNumber": 40, "positionColumn": 1}}
        made.append({"kind": "file", "id": "vscode.implicit.selection", "name": f"file:{path}", "value": place})
    if session.is_new:
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
    if words.chance(0.02):
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
        for _ in range(words.rng.choice((0, 0, 0, 1, 3)))
    ]


# --- the answer -----------------------------------------------------------------------------------------------------


def _response(words: Words, session: Session, answers: list[str], calls: list[list[Call]]) -> list[Json]:
    parts: list[Json] = [{"kind": "mcpServersStarting", "didStartServerIds": []}]
    for answer, round_calls in zip(answers, calls, strict=True):
        if session.is_new and words.chance(0.6):
            parts.append({"kind": "thinking", "value": words.prose(1, 5), "id": words.uuid()})
            parts.append({"kind": "thinking", "value": "", "id": ""})
        parts.append(_markdown(answer, session))
        for call in round_calls:
            if not session.is_new:
                parts.append({"kind": "prepareToolInvocation", "toolName": call.tool_id})
            parts += [call.shown, *call.edits]
    for _ in range(words.rng.randint(1, 6)):
        parts.append(_markdown(words.prose(1, 6) + " In ", session))
        parts.append({"kind": "inlineReference", "inlineReference": _target(words, session)})
    parts.append(_markdown(f"\n\n```python\n{words.code(words.rng.randint(3, 25))}```\n", session))
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
    if shape < 6:
        return address
    location = {"uri": address, "range": text_range(shape, 2 * shape)}
    return location if shape < 8 else {"name": words.word(), "kind": 11, "containerName": "", "location": location}


def _result(words: Words, session: Session, text: str, answers: list[str], calls: list[list[Call]]) -> Json:
    rounds: list[Json] = []
    for answer, round_calls in zip([*answers, words.prose(1, 4)], [*calls, []], strict=True):
        made: Json = {
            "response": answer,
            "toolCalls": [call.recorded() for call in round_calls],
            "toolInputRetry": 0,
            "id": words.uuid(),
        }
        if session.is_new:
            made["timestamp"] = FIRST_DAY_MS
        rounds.append(made)
    prompt = (
        f"<attachments>\n{words.code(words.rng.choice((5, 40, 150)))}\n</attachments>\n"
        f"<context>\n{words.prose(1, 4)}\n</context>\n"
        f"<userRequest>\n{text}\n</userRequest>\n"
    )
    metadata: Json = {
        "codeBlocks": [
            {"code": words.code(8), "language": "python", "markdownBeforeBlock": words.sentence()}
            for _ in range(words.rng.choice((0, 0, 1)))
        ],
        "renderedUserMessage": [{"type": 1, "text": prompt}, {"type": 3, "cacheType": "ephemeral"}],
        "toolCallRounds": rounds,
        "toolCallResults": {call.native_id: call.result for round_calls in calls for call in round_calls},
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
