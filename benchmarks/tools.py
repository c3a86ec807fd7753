"""Made-up tool calls: the parts that show them in a response, and what the model sent and got back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from benchmarks.words import Json, Words, text_range, uri

SHOWN_PLACES = 20
HIGHEST_PRIORITY = 9007199254740991
# Means, in bytes of text. Around it, results have nodes and edits have ranges, which take up more than the text.
READ_BYTES = 3_800
FOUND_LINES = 16
OUTPUT_BYTES = 1_200
REPLACED_BYTES = 600
NEW_FILE_BYTES = 3_600
STREAMED_LINES = 115
STREAMED = 0.3  # part of the changes that stream in line by line
WITH_COMPLAINTS = 0.25  # part of the edits after which a checker complains
COMPLAINTS_BYTES = 1_800
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
    lines = words.lines_of(words.size(READ_BYTES, 0.9))
    first = words.rng.randint(1, 300)
    return Call(
        "read_file",
        "copilot_readFile",
        {"filePath": path, "startLine": first, "endLine": first + lines},
        _file_messages("Reading", "Read", path, f"#{first}-{first + lines}"),
        result=_tree_result(words, path, lines),
    )


def _search(words: Words, path: str) -> Call:
    found = words.size(FOUND_LINES) - 1
    shown = min(found, SHOWN_PLACES)
    places = [{"uri": uri(path), "range": text_range(line, line, 30)} for line in range(1, shown + 1)]
    return Call(
        "grep_search",
        "copilot_findTextInFiles",
        {"query": words.word(), "isRegexp": False, "includePattern": "**/*.py"},
        {"pastTenseMessage": _message(f"Searched text, {found} results"), "resultDetails": places},
        result=_tree_result(words, path, 2 * found + 1),
    )


def _list_folder(words: Words, path: str) -> Call:
    folder = path.rpartition("/")[0]
    names = "\n".join(f"{words.word()}.py" for _ in range(words.size(60)))
    call = Call("list_dir", "copilot_listDirectory", {"path": folder}, _file_messages("Reading", "Read", folder))
    call.result = _text_result(names)
    return call


def _replace(words: Words, path: str) -> Call:
    old, new = words.code_of(words.size(REPLACED_BYTES)), words.code_of(words.size(1.4 * REPLACED_BYTES))
    first = words.rng.randint(1, 400)
    batches = [[{"text": new, "range": text_range(first, first + old.count("\n"))}]]
    if words.chance(STREAMED):
        batches = _streamed(words.code(words.size(STREAMED_LINES)), first)
    return Call(
        "replace_string_in_file",
        "copilot_replaceString",
        {"filePath": path, "oldString": old, "newString": new},
        {"presentation": "hidden"},
        edit_parts(words, path, [*batches, []]),
        _edit_result(words, path),
    )


def _create_file(words: Words, path: str) -> Call:
    text = words.code_of(words.size(NEW_FILE_BYTES))
    return Call(
        "create_file",
        "copilot_createFile",
        {"filePath": path, "content": text},
        _file_messages("Creating", "Created", path),
        edit_parts(words, path, [*_streamed(text, 1), []]),
        _edit_result(words, path),
    )


def _streamed(text: str, first: int) -> list[list[Json]]:
    """A text that came in line by line."""
    return [
        [{"text": line + "\n", "range": text_range(number, number)}]
        for number, line in enumerate(text.split("\n")[:-1], start=first)
    ]


def _terminal(words: Words, path: str) -> Call:
    command = f"python -m {words.word()} --{words.word()} {words.word()}"
    output = words.code_of(words.size(OUTPUT_BYTES))
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
        for number in range(1, words.rng.randint(4, 11))
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
WEIGHTS = (26, 42, 5, 9, 7, 6, 3)


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


def _edit_result(words: Words, path: str) -> Json:
    """A few words, and now and then what a checker has to say about the file."""
    texts = [_text_node("The following files were changed:\n"), _text_node(path), _text_node(words.sentence())]
    pieces = [_piece("Vb", texts)]
    if words.chance(WITH_COMPLAINTS):
        lines = words.lines_of(words.size(COMPLAINTS_BYTES))
        pieces.append(_piece("Xd", [_numbered_line(words, path, lines - index) for index in range(lines)]))
    root = _piece("Rm", pieces)
    return {"$mid": 20, "content": [{"$mid": 23, "value": {"node": root}}]}
