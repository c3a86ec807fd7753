"""Made-up tool calls: the parts that show them in a response, and what the model sent and got back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from benchmarks.words import Json, Words, text_range, uri

HIGHEST_PRIORITY = 9007199254740991
FENCE = {"value": "\n```\n", "supportThemeIcons": False, "supportHtml": False}


@dataclass(slots=True)
class Call:
    """One call: what VS Code shows of it, and what the extension records."""

    name: str
    tool_id: str
    arguments: Json = field(default_factory=dict)
    shown: Json = field(default_factory=dict)
    edits: list[Json] = field(default_factory=list)  # the parts that follow the call
    result: Json = field(default_factory=dict)
    native_id: str = ""

    def recorded(self) -> Json:
        return {"name": self.name, "arguments": msgspec.json.encode(self.arguments).decode(), "id": self.native_id}


def make_call(words: Words, folder: str, started_ms: int, is_new: bool) -> Call:
    """A call of some tool on some file below a folder. New releases use one id in both records, old ones two."""
    maker = words.rng.choices(MAKERS, WEIGHTS)[0]
    call = maker(words, f"{folder}/{words.path()}")
    plain_id = f"call_{words.rng.getrandbits(96):024x}"
    call.native_id = f"{plain_id}__vscode-{started_ms}"
    details = call.shown
    call.shown = {
        "kind": "toolInvocationSerialized",
        "invocationMessage": details.pop("invocationMessage", f'Using "{call.name}"'),
        **({"pastTenseMessage": details.pop("pastTenseMessage")} if "pastTenseMessage" in details else {}),
        "isConfirmed": {"type": words.rng.choice((1, 1, 1, 1, 4, 3))},
        "isComplete": True,
        "source": {"type": "internal", "label": "Built-In"},
        **details,
        "toolCallId": plain_id if is_new else words.uuid(),
        "toolId": call.tool_id,
    }
    return call


def _read_file(words: Words, path: str) -> Call:
    lines = words.rng.choice((4, 8, 20, 50, 120))
    first = words.rng.randint(1, 300)
    return Call(
        "read_file",
        "copilot_readFile",
        {"filePath": path, "startLine": first, "endLine": first + lines},
        _file_messages("Reading", "Read", path, f"#{first}-{first + lines}"),
        result=_tree_result(words, path, lines),
    )


def _search(words: Words, path: str) -> Call:
    found = words.rng.randint(0, 12)
    places = [{"uri": uri(path), "range": text_range(line, line, 30)} for line in range(1, found + 1)]
    return Call(
        "grep_search",
        "copilot_findTextInFiles",
        {"query": words.word(), "isRegexp": False, "includePattern": "**/*.py"},
        {"pastTenseMessage": _message(f"Searched text, {found} results"), "resultDetails": places},
        result=_tree_result(words, path, 2 * found + 2),
    )


def _list_folder(words: Words, path: str) -> Call:
    folder = path.rpartition("/")[0]
    names = "\n".join(f"{words.word()}.py" for _ in range(words.rng.randint(2, 30)))
    call = Call("list_dir", "copilot_listDirectory", {"path": folder}, _file_messages("Reading", "Read", folder))
    call.result = _text_result(names)
    return call


def _replace(words: Words, path: str) -> Call:
    old, new = words.code(words.rng.randint(2, 8)), words.code(words.rng.randint(2, 14))
    first = words.rng.randint(1, 400)
    edit = {"text": new, "range": text_range(first, first + old.count("\n"))}
    return Call(
        "replace_string_in_file",
        "copilot_replaceString",
        {"filePath": path, "oldString": old, "newString": new},
        {"presentation": "hidden"},
        edit_parts(words, path, [[edit], []]),
        _small_tree_result(words, path),
    )


def _create_file(words: Words, path: str) -> Call:
    text = words.code(words.rng.choice((5, 20, 60, 160)))
    # A new file streams in line by line.
    batches = [
        [{"text": line + "\n", "range": text_range(number, number)}]
        for number, line in enumerate(text.split("\n")[:-1], start=1)
    ]
    return Call(
        "create_file",
        "copilot_createFile",
        {"filePath": path, "content": text},
        _file_messages("Creating", "Created", path),
        edit_parts(words, path, [*batches, []]),
        _small_tree_result(words, path),
    )


def _terminal(words: Words, path: str) -> Call:
    command = f"python -m {words.word()} --{words.word()} {words.word()}"
    output = words.code(words.rng.choice((1, 3, 20, 100)))
    data = {
        "kind": "terminal",
        "terminalToolSessionId": words.uuid(),
        "terminalCommandId": f"command-{words.uuid()}",
        "commandLine": {"original": command},
        "cwd": uri(path.rpartition("/")[0]),
        "language": "sh",
        "isBackground": False,
        "terminalCommandState": {"exitCode": words.rng.choice((0, 0, 0, 1)), "timestamp": 1768000000000, "duration": 9},
        "terminalCommandOutput": {"text": output.replace("\n", "\r\n"), "lineCount": output.count("\n")},
    }
    arguments = {"command": command, "explanation": words.sentence(), "isBackground": False}
    return Call(
        "run_in_terminal", "run_in_terminal", arguments, {"toolSpecificData": data}, result=_text_result(output)
    )


def _todo_list(words: Words, path: str) -> Call:  # noqa: ARG001 - all makers are called alike
    states = ("completed", "in-progress", "not-started")
    items = [
        {"id": str(number), "title": words.sentence(), "status": words.rng.choice(states)}
        for number in range(1, words.rng.randint(3, 8))
    ]
    data = {"kind": "todoList", "todoList": items}
    return Call(
        "manage_todo_list",
        "manage_todo_list",
        {"operation": "write", "todoList": items},
        {"pastTenseMessage": _message("Updated todo list"), "toolSpecificData": data},
        result=_text_result("Written."),
    )


MAKERS: list[Callable[[Words, str], Call]] = [
    _read_file,
    _replace,
    _terminal,
    _search,
    _create_file,
    _todo_list,
    _list_folder,
]
WEIGHTS = (34, 22, 14, 9, 8, 8, 5)


def edit_parts(words: Words, path: str, batches: list[list[Json]]) -> list[Json]:
    """The parts that an edit leaves in a response: an empty code block around a checkpoint, a file and its edits."""
    return [
        FENCE,
        {"id": words.uuid(), "kind": "undoStop"},
        {"kind": "codeblockUri", "uri": uri(path), "isEdit": True},
        {"kind": "textEditGroup", "uri": uri(path), "edits": batches, "done": True},
        FENCE,
    ]


# --- messages and results -------------------------------------------------------------------------------------------


def _message(text: str, uris: Json | None = None) -> Json:
    return {
        "value": text,
        "supportThemeIcons": False,
        "supportHtml": False,
        "supportAlertSyntax": False,
        "uris": uris or {},
    }


def _file_messages(present: str, past: str, path: str, lines: str = "") -> Json:
    address = f"file://{path}{lines}"
    target = {**uri(path, with_caches=False), **({"fragment": lines[1:]} if lines else {})}
    return {
        "invocationMessage": _message(f"{present} [](<{address}>)", {address: target}),
        "pastTenseMessage": _message(f"{past} [](<{address}>)", {address: target}),
    }


def _text_result(text: str) -> Json:
    return {"$mid": 20, "content": [{"$mid": 21, "value": text}]}


def _text_node(text: str, priority: int = HIGHEST_PRIORITY, *, breaks: bool = False) -> Json:
    return {"type": 2, "priority": priority, "text": text, "lineBreakBefore": breaks}


def _piece(name: str, children: list[Json], priority: int | None = None) -> Json:
    props = {} if priority is None else {"priority": priority}
    return {"type": 1, "ctor": 2, "ctorName": name, "children": children, "props": props, "references": []}


def _tree_result(words: Words, path: str, lines: int) -> Json:
    """A result as a tree of small nodes: a flat one, or one piece for each line."""
    if words.chance(0.5):
        header = [_text_node("```"), _text_node(path), _text_node("\n", breaks=True)]
        root = _piece("Zq", [*header, *(_text_node(words.line(), breaks=True) for _ in range(lines))])
    else:
        pieces = [_piece("Wn", [_numbered_line(words, path, lines - index)], lines - index) for index in range(lines)]
        root = _piece("Kt", [_piece("Vb", pieces)])
    return {"$mid": 20, "content": [{"$mid": 23, "value": {"node": root}}]}


def _numbered_line(words: Words, path: str, priority: int) -> Json:
    node = _text_node(words.line(), priority, breaks=True)
    is_first = words.chance(0.05)
    node["references"] = [{"anchor": uri(path), "options": {"isFromTool": True}}] if is_first else []
    return node


def _small_tree_result(words: Words, path: str) -> Json:
    texts = [_text_node("The following files were changed:\n"), _text_node(path), _text_node(words.sentence())]
    root = _piece("Rm", [_piece("Vb", texts)])
    return {"$mid": 20, "content": [{"$mid": 23, "value": {"node": root}}]}
