"""Tool calls as VS Code shows them and as the Copilot extension records them, and the prompts around a request."""

from __future__ import annotations

import json
from typing import Any

from tests.sample_forms import Json, made_up_id, made_up_word, tool_md, uri

BUILT_IN: Json = {"type": "internal", "label": "Built-In"}
NOT_NEEDED: Json = {"type": 1}
BY_USER: Json = {"type": 4}
HIGHEST_PRIORITY = 9007199254740991


class Call:
    """One call of a tool by the model. Its recorded id has a suffix that the id VS Code shows lacks."""

    def __init__(self, name: str, arguments: Json, result: Json | None, call_id: str, suffix: int) -> None:
        self.name = name
        self.arguments = arguments
        self.result = result
        self.id = call_id
        self.recorded_id = f"{call_id}__vscode-{suffix}"

    def part(self, tool_id: str, doing: str | Json, done: str | Json | None = None, **fields: Any) -> Json:
        """The call as a part of the answer."""
        return tool_part(self.id, tool_id, doing, done, **fields)


def tool_part(call_id: str, tool_id: str, doing: str | Json, done: str | Json | None = None, **fields: Any) -> Json:
    """A call as a part of the answer, allowed without asking unless the fields say otherwise."""
    made: Json = {"kind": "toolInvocationSerialized", "invocationMessage": _shown(doing)}
    if done is not None:
        made["pastTenseMessage"] = _shown(done)
    made |= {
        "isConfirmed": NOT_NEEDED,
        "isComplete": True,
        "source": BUILT_IN,
        "toolCallId": call_id,
        "toolId": tool_id,
    }
    made |= fields
    return {key: value for key, value in made.items() if value is not None}


def _shown(text: str | Json) -> str | Json:
    return tool_md(text) if isinstance(text, str) and "](" in text else text


class Calls:
    """Makes the calls of one conversation, numbered as the extension does from the moment the window opened."""

    def __init__(self, key: str, opened: int, prefix: str = "toolu_01") -> None:
        self.key = key
        self.prefix = prefix
        self._next = opened + 1041

    def new(self, name: str, arguments: Json, result: Json | None = None) -> Call:
        self._next += 1
        call_id = self.prefix + made_up_word(22, self.key, str(self._next))
        return Call(name, arguments, result, call_id, self._next)


def terminal(original: str, output: str | None = None, exit_code: int | None = None, **more: Any) -> Json:
    """What VS Code keeps about a command that ran in a terminal."""
    command_id = f"tool-{made_up_id(original, 'terminal command')}"
    made: Json = {"kind": "terminal", "terminalToolSessionId": made_up_id(original, "terminal")}
    made |= {"terminalCommandId": command_id, "commandLine": {"original": original}, "language": "sh"}
    if output is not None:
        made["terminalCommandUri"] = uri("/0ea7ec38/4", "vscode-terminal", query=f"command={command_id}")
        made["terminalCommandOutput"] = {"text": output, "lineCount": output.count("\n") + 1}
    if exit_code is not None:
        made["terminalCommandState"] = {"exitCode": exit_code}
    return made | more


# --- what the extension records ---------------------------------------------------------------------------------


def one_round(key: str, when: int, text: str, *calls: Call, **more: Any) -> tuple[Json, tuple[Call, ...]]:
    """One call of the model: what it said, and which tools it asked for."""
    recorded = [{"name": call.name, "arguments": json.dumps(call.arguments), "id": call.recorded_id} for call in calls]
    made = {"response": text, "toolCalls": recorded, "toolInputRetry": 0, "id": made_up_id(key, "round", str(when))}
    return {**made, **more, "timestamp": when}, calls


def recorded(*rounds: tuple[Json, tuple[Call, ...]]) -> Json:
    """The rounds of a turn with the results of their calls, as the extension's metadata holds them."""
    results = {call.recorded_id: call.result for _, calls in rounds for call in calls if call.result is not None}
    return {"toolCallRounds": [made for made, _ in rounds], "toolCallResults": results}


def metadata(key: str, session_id: str, agent_id: str = "github.copilot.editsAgent", **more: Any) -> Json:
    """What the extension keeps with a result."""
    return {
        "modelMessageId": made_up_id(key, "model message"),
        "responseId": made_up_id(key, "extension response"),
        "sessionId": session_id,
        "agentId": agent_id,
        "codeBlocks": [],
        **more,
    }


# --- results ----------------------------------------------------------------------------------------------------


def text_result(text: str, **more: Any) -> Json:
    return {"$mid": 20, "content": [{"$mid": 21, "value": text, **more}]}


def tree_result(node: Json) -> Json:
    return {"$mid": 20, "content": [{"$mid": 23, "value": {"node": node}}]}


def piece(*children: Json, ctor: int = 2, name: str = "gp", **more: Any) -> Json:
    return {
        "type": 1,
        "ctor": ctor,
        "ctorName": name,
        "children": list(children),
        "props": {},
        "references": [],
        **more,
    }


def words(text: str, *, breaks: bool = False, priority: int = HIGHEST_PRIORITY, **more: Any) -> Json:
    return {"type": 2, "priority": priority, "text": text, "lineBreakBefore": breaks, **more}


def lines_read(path: str, text: str, scheme: str = "file") -> Json:
    """What the model gets for a file: a tree with a piece for each line."""
    lines = text.splitlines(keepends=True)
    pieces = [
        piece(words(line, breaks=True, priority=len(lines) - number), name="Hl") for number, line in enumerate(lines)
    ]
    pieces[0]["children"][0]["references"] = [{"anchor": uri(path, scheme), "options": {"isFromTool": True}}]
    return tree_result(piece(piece(*pieces, name="tn"), name="Fe"))


def files_edited(*paths: str) -> Json:
    """What the model gets after an edit."""
    texts = [words("The following files were successfully edited:"), words("\n")]
    for path in paths:
        texts += [words(path), words("\n")]
    return tree_result(piece(*texts, name="Ew"))


# --- prompts ----------------------------------------------------------------------------------------------------


def tag(name: str, body: str = "", **attributes: Any) -> str:
    """A block of a prompt."""
    head = name + "".join(f" {key}={json.dumps(value)}" for key, value in attributes.items())
    if not body:
        return f"<{head} />\n" if attributes else ""
    return f"<{head}>\n{body.rstrip()}\n</{name}>\n"


def rendered(*blocks: str) -> list[Json]:
    """A message as it was sent to the model."""
    return [{"type": 1, "text": "".join(blocks)}, {"type": 3, "cacheType": "ephemeral"}]


def today(date: str, *more: str) -> str:
    """The context block of a prompt: the date, and what else the product noticed."""
    return tag("context", "\n".join([f"The current date is {date}.", *more]))


def surroundings(folder: str, listing: str, system: str = "Linux") -> list[Json]:
    """The first message of a conversation: the system and the workspace."""
    return rendered(
        tag("environment_info", f"The user's current OS is: {system}"),
        tag(
            "workspace_info",
            f"I am working in a workspace with the following folders:\n- {folder}\n"
            f"I am working in a workspace that has the following structure:\n```\n{listing}\n```",
        ),
    )
