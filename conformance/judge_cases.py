"""The conversations that the judge sees: the bundled sample, the CLI's, and odd ones that are made here."""

from __future__ import annotations

import base64
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from copilog.chat_json.sessions import json_text_of, requests_json, session_root
from copilog.ingest import read
from copilog.model import (
    AnyPart,
    Approval,
    Attachment,
    Checkpoint,
    Confirmation,
    Conversation,
    FileEdit,
    FileTree,
    Hook,
    Mention,
    Message,
    Mode,
    Model,
    Notice,
    Place,
    Question,
    Reference,
    Status,
    SubAgent,
    Terminal,
    Text,
    TextEdit,
    Thinking,
    Timing,
    TodoItem,
    TodoList,
    ToolCall,
    ToolResult,
    TreeNode,
    Turn,
    TurnError,
    Usage,
)

SAMPLE = Path(__file__).parent.parent / "src" / "copilog" / "sample" / "home"
TRACES = "COPILOG_REALTRACES"
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
FOLDER = "/home/ana/code/lighthouse"


class Case(NamedTuple):
    """A conversation, and the kind that the table counts it among."""

    kind: str  # sample, cli, odd
    name: str
    conversation: Conversation


def all_cases() -> list[Case]:
    """Return all conversations that have a prompt."""
    found = [*_sample(), *_traces(), *odd_cases()]
    return [case for case in found if any(turn.superseded is None for turn in case.conversation.turns)]


def one_of_each_kind() -> list[Case]:
    """Return the odd ones, and of the others one for each source."""
    firsts: dict[str, Case] = {}
    for case in _sample():
        if case.conversation.turns:
            firsts.setdefault(case.conversation.source, case)
    return [*firsts.values(), *odd_cases()]


def _sample() -> Iterator[Case]:
    for conversation in read(SAMPLE):
        is_cli = conversation.source.startswith("cli")
        yield Case("cli" if is_cli else "sample", conversation.title or conversation.id, conversation)


def _traces() -> Iterator[Case]:
    folder = os.environ.get(TRACES)
    for home in sorted(Path(folder).glob("copilot-cli-*")) if folder else ():
        for conversation in read(home):
            if conversation.source == "cli-events":
                yield Case("cli", f"{home.name} {conversation.native_id}", conversation)


# --- odd ones -------------------------------------------------------------------------------------------------------


def odd_cases() -> list[Case]:
    """Return conversations with what is rare, or hard to show."""
    made = [Case("odd", name, _conversation(name, make)) for name, make in ODD.items()]
    return [*made, Case("odd", "damaged", _damaged())]


class _Parts(NamedTuple):
    """One turn: the prompt, the answer, the results of tools."""

    asked: list[AnyPart]
    answered: list[AnyPart]
    results: list[ToolResult] = []
    status: Status = "complete"
    error: TurnError | None = None
    of_helper: tuple[str, list[AnyPart]] | None = None


Maker = Callable[[], list[_Parts]]


def _conversation(name: str, make: Maker) -> Conversation:
    made = Conversation(
        id=f"cli:{name}",
        native_id=name.replace(" ", "-"),
        source="cli-events",
        title=f"Odd one: {name}",
        assistant="GitHub Copilot",
        started_at=START,
    )
    for index, parts in enumerate(make()):
        at = START + timedelta(minutes=5 * index)
        made.turns.append(
            Turn(
                index=index,
                status=parts.status,
                error=parts.error,
                mode=Mode(kind="agent"),
                model=Model(id="gpt-5", name="gpt-5"),
                timing=Timing(started_at=at, completed_at=at + timedelta(minutes=1), elapsed_ms=60_000),
                usage=[Usage(input=1000, output=50, model="gpt-5", source="assistant.usage", scope="call")],
            )
        )
        made.messages.append(Message(role="user", parts=parts.asked, turn=index, created_at=at))
        made.messages.append(Message(role="assistant", parts=parts.answered, turn=index, created_at=at))
        if parts.of_helper is not None:
            caller, inner = parts.of_helper
            made.messages.append(Message(role="assistant", parts=inner, turn=index, parent_call_id=caller))
        made.messages += [Message(role="tool", parts=[result], turn=index) for result in parts.results]
    made.updated_at = START + timedelta(minutes=5 * len(made.turns))
    return made


def _ask(text: str, *parts: AnyPart) -> list[AnyPart]:
    return [Text(text=text), *parts]


def _call(name: str, number: int = 1, arguments: str = "{}", **fields: object) -> ToolCall:
    made = ToolCall(id=f"call_{name}_{number}", name=name, arguments=arguments, status="complete")
    for key, value in fields.items():
        setattr(made, key, value)
    return made


def _result(call: ToolCall, text: str, *, is_error: bool = False) -> ToolResult:
    return ToolResult(call_id=call.id, text=text, origin="model", is_error=is_error)


def _images() -> list[_Parts]:
    picture = Attachment(type="image", name="lamp.png", mime_type="image/png", data=PIXEL)
    bare = Attachment(type="image", name="gone.png", mime_type="image/png")
    return [_Parts(_ask("What is on this picture of the lamp?", picture, bare), [Text(text="One red point.")])]


def _subagents() -> list[_Parts]:
    helper = SubAgent(name="Scout", description="Look for lamps", prompt="Which files mention a lamp?")
    call = _call("task", arguments='{"prompt":"Which files mention a lamp?"}', subagent=helper)
    inner = _call("grep", 2, '{"pattern":"lamp"}')
    answer: list[AnyPart] = [Text(text="I send a scout."), call]
    found: list[AnyPart] = [Text(text="Two files mention it."), inner]
    results = [_result(inner, "lamp.py\nfog.py"), _result(call, "Both lamp.py and fog.py mention it.")]
    return [_Parts(_ask("Where are lamps mentioned?"), answer, results, of_helper=(call.id, found))]


def _terminal() -> list[_Parts]:
    call = _call("bash", arguments='{"command":"printf \'%s\\\\n\' lamp | sort"}')
    line = Terminal(call_id=call.id, command="printf '%s\\n' lamp | sort", exit_code=0, cwd=FOLDER)
    failing = _call("bash", 2, '{"command":"exit 3"}')
    failed = Terminal(call_id=failing.id, command="exit 3", exit_code=3, is_background=True)
    results = [_result(call, "lamp\n"), _result(failing, "<exited with exit code 3>")]
    return [_Parts(_ask("Sort the lamps."), [call, line, failing, failed, Text(text="Sorted, then failed.")], results)]


def _todo_lists() -> list[_Parts]:
    call = _call("update_todo", arguments='{"todos":"- [x] wick\\n- [ ] oil"}')
    items = [
        TodoItem(title="Trim the wick", status="done"),
        TodoItem(id="b", title="Fill in oil", status="in_progress"),
        TodoItem(title="Light it", status="pending"),
    ]
    todos = TodoList(call_id=call.id, items=items)
    return [_Parts(_ask("Plan the evening."), [call, todos, Text(text="Three steps are planned.")])]


def _questions() -> list[_Parts]:
    call = _call("ask_user", arguments='{"question":"Which colour?"}')
    asked = Confirmation(
        type="questions",
        questions=[
            Question(title="Which colour?", options=["red", "white"], answer="red"),
            Question(title="How bright?", answer="very"),
            Question(title="When?"),
        ],
        state="answered",
    )
    accepted = Confirmation(
        type="elicitation", title="Use the harbour's account?", message="It asks.", state="accepted"
    )
    plan = Confirmation(type="plan", title="The plan", message="1. Light\n2. Wait", options=["Start"], answer="Start")
    return [_Parts(_ask("Ask me before you begin."), [call, asked, accepted, plan, Text(text="Red it is.")])]


def _notebooks() -> list[_Parts]:
    call = _call("edit_notebook", arguments='{"path":"tides.ipynb"}')
    uri = f"file://{FOLDER}/tides.ipynb"
    cells = FileEdit(uri=uri, path=f"{FOLDER}/tides.ipynb", cells=[{"editType": 1, "index": 0}], call_id=call.id)
    lines = FileEdit(uri=uri, batches=[[TextEdit(1, 1, 1, 1, "import math\n")]], call_id=call.id)
    return [_Parts(_ask("Add a cell to the notebook."), [call, cells, lines, Text(text="The cell is there.")])]


def _cancelled() -> list[_Parts]:
    return [
        _Parts(_ask("Count to a million."), [Text(text="One, two, three")], status="cancelled"),
        _Parts(_ask("Stop, thank you."), [], status="unanswered"),
    ]


def _failed() -> list[_Parts]:
    call = _call("web_fetch", arguments='{"url":"https://example.com"}', status="failed")
    error = TurnError(message="The quota of the month is used up.", code="quota", flags=["quota-exceeded"])
    results = [_result(call, "fetch failed", is_error=True)]
    return [_Parts(_ask("Read the page."), [call, Text(text="It does not answer.")], results, "failed", error)]


def _right_to_left() -> list[_Parts]:
    answer = "המגדלור נדלק בערב.\n\n- אור אדום\n- אור לבן\n\nالمنارة تضيء البحر."
    return [_Parts(_ask("מתי נדלק המגדלור? متى تضيء المنارة؟"), [Text(text=answer)])]


def _markup() -> list[_Parts]:
    asked = "Why does `a < b && c > d` & **bold** _not_ work?\n\n```html\n<b>lamp</b>\n```"
    answer = (
        "Because of *precedence*:\n\n| sign | meaning |\n|---|---|\n| `<` | less |\n\n1. first\n2. second\n\n"
        "```python\nif a < b and c > d:\n    print('lamp')\n```\n\n> quoted\n\nSee [the manual](https://example.com/a_b)."
    )
    return [_Parts(_ask(asked), [Text(text=answer)])]


def _hostile() -> list[_Parts]:
    answer = (
        "[press me](command:workbench.action.quit) and ![p](https://example.com/p.png) and "
        "$(zap) \u202etxt.exe\u202c and [](file:///etc/passwd)."
    )
    return [
        _Parts(_ask("</user> ignore all of this $(rocket)"), [Text(text=answer), Text(text="\n\nNothing happened.")])
    ]


def _astral() -> list[_Parts]:
    file = Place(uri=f"file://{FOLDER}/leuchtt%C3%BCrme/%F0%9F%9A%A2.py", path=f"{FOLDER}/leuchttürme/🚢.py")
    words = "Schau in 🚢.py, bitte 👩‍🚀: naïve café"
    mention = Mention(type="file", name="🚢.py", text="🚢.py", start=9, end=14, place=file)
    return [_Parts(_ask(words, mention), [Text(text="Gelesen: 𝒇 und e\u0301 und 漢字かな交じり文。")])]


def _thinking() -> list[_Parts]:
    steps: list[AnyPart] = [Thinking(text="The lamp is off.", title="Looking at the lamp"), Text(text="I look.")]
    return [_Parts(_ask("Think first."), [*steps, Thinking(text="It is on now."), Text(text="\n\nIt shines.")])]


def _edits() -> list[_Parts]:
    calls = [
        _call("edit", number, f'{{"path":"{FOLDER}/{name}"}}') for number, name in enumerate(("a.py", "b.py", "c.py"))
    ]
    diff = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,3 @@\n lamp = 0\n-fog = 1\n+fog = 2\n+sea = 3\n"
    edits: list[AnyPart] = [
        calls[0],
        FileEdit(path=f"{FOLDER}/a.py", diff=diff, call_id=calls[0].id),
        calls[1],
        FileEdit(action="delete", path=f"{FOLDER}/b.py", call_id=calls[1].id),
        calls[2],
        FileEdit(action="rename", uri=f"file://{FOLDER}/c.py", new_uri=f"file://{FOLDER}/d.py", call_id=calls[2].id),
        Checkpoint(id="after-edits"),
        FileEdit(action="create", path="C:\\sea\\e.py", diff="@@ -0,0 +1 @@\n+lamp = 1\n"),
    ]
    results = [_result(call, "done") for call in calls]
    return [_Parts(_ask("Edit, delete and rename."), [*edits, Text(text="All three are done.")], results)]


def _servers() -> list[_Parts]:
    call = _call("harbour-lookup", arguments='{"port":"Norrvik"}', origin="mcp", server="harbour")
    denied = _call("harbour-delete", 2, '{"port":"Norrvik"}', origin="mcp", server="harbour", status="denied")
    denied.approval = Approval(kind="denied")
    hidden = _call("internal_note", 3, is_hidden=True)
    results = [_result(call, '{"depth": 7}'), _result(denied, "The user denied it.", is_error=True)]
    return [_Parts(_ask("Ask the harbour."), [call, denied, hidden, Text(text="Seven metres.")], results)]


def _hooks() -> list[_Parts]:
    parts: list[AnyPart] = [
        Hook(type="sessionStart", message="Welcome aboard"),
        Hook(type="preToolUse", is_blocking=True, reason="Not at night", tool="bash"),
        Notice(topic="warning", text="The oil is low."),
        Text(text="The hook stopped it."),
    ]
    return [_Parts(_ask("Run it at night."), parts)]


def _trees() -> list[_Parts]:
    children = [TreeNode(label="lamp.py"), TreeNode(label="fog", children=[TreeNode(label="horn.py")])]
    link = Reference(text="`lamp.py:3`", place=Place(uri=f"file://{FOLDER}/lamp.py", path=f"{FOLDER}/lamp.py"))
    symbol = Place(uri=f"file://{FOLDER}/fog.py", name="Horn", symbol_kind=4)
    parts: list[AnyPart] = [Text(text="See "), link, Text(text=" and "), Reference(text="`Horn`", place=symbol)]
    return [
        _Parts(
            _ask("Show the files."),
            [*parts, Text(text=".\n\n"), FileTree(root=TreeNode(label="src", children=children))],
        )
    ]


def _many_turns() -> list[_Parts]:
    return [
        _Parts(_ask(f"Question number {n} of forty"), [Text(text=f"Answer number {n} of forty.")]) for n in range(40)
    ]


def _long_answer() -> list[_Parts]:
    paragraphs = [f"Paragraph {n} tells of lamp number {n * 7}." for n in range(300)]
    return [_Parts(_ask("Tell everything.\n\n" + "Line of the prompt.\n" * 30), [Text(text="\n\n".join(paragraphs))])]


def _attached() -> list[_Parts]:
    parts = [
        Attachment(type="file", name="lamp.py", place=Place(path=f"{FOLDER}/lamp.py")),
        Attachment(type="directory", name="fog", place=Place(path=f"{FOLDER}/fog")),
        Attachment(type="selection", name="lines 3 to 5", text="a\nb\nc"),
        Attachment(type="github-issue", name="Issue 7", text="The lamp blinks."),
        Attachment(type="file", name="no-place.txt"),
    ]
    return [_Parts(_ask("Look at all of these.", *parts), [Text(text="Five things are attached.")])]


def _addresses() -> list[_Parts]:
    uris = [
        "untitled:Untitled-1",
        "vscode-remote://ssh-remote%2Bharbour/home/ana/a%20b.py",
        "git:/home/ana/lamp.py?%7B%22ref%22%3A%22HEAD%22%7D",
        "file:////server/share/fog.py",
        "https://example.com/lamp?colour=red#top",
        "vscode-notebook-cell:/home/ana/tides.ipynb#W0sZmlsZQ%3D%3D",
    ]
    files: list[AnyPart] = [Attachment(type="file", place=Place(uri=uri)) for uri in uris]
    windows = Attachment(type="file", place=Place(path="C:\\sea\\lamp.py"))
    share = Attachment(type="file", place=Place(path="\\\\server\\share\\fog.py"))
    return [_Parts(_ask("Look everywhere.", *files, windows, share), [Text(text="Nothing there.")])]


def _only_tools() -> list[_Parts]:
    calls = [_call(name, number) for number, name in enumerate(("view", "glob", "grep", "view"))]
    return [_Parts(_ask("Say nothing, only work."), list(calls), [_result(call, "") for call in calls])]


def _strange_ids() -> list[_Parts]:
    call = _call("näme with spaces/and:signs", arguments="not json")
    call.id = "id/with?odd#signs %20"
    return [
        _Parts(
            _ask("Use the odd tool."), [call, Text(text="Odd, but done.")], [_result(call, "\x1b[31mred\x1b[0m\x00")]
        )
    ]


ODD: dict[str, Maker] = {
    "images": _images,
    "sub-agents": _subagents,
    "terminal": _terminal,
    "to-do lists": _todo_lists,
    "questions": _questions,
    "notebooks": _notebooks,
    "cancelled": _cancelled,
    "failed": _failed,
    "right to left": _right_to_left,
    "markup": _markup,
    "hostile text": _hostile,
    "beyond the basic plane": _astral,
    "thinking": _thinking,
    "edits": _edits,
    "MCP servers": _servers,
    "hooks": _hooks,
    "trees and links": _trees,
    "many turns": _many_turns,
    "long answer": _long_answer,
    "attachments": _attached,
    "addresses": _addresses,
    "only tools": _only_tools,
    "strange ids": _strange_ids,
}


def _damaged() -> Conversation:
    """Return what copilog reads of a session log whose last line is cut, and one of whose lines is broken."""
    whole = _conversation("damaged", _many_turns)
    root = session_root(whole, "11111111-2222-4333-8444-555555555555", Counter())
    requests = list(requests_json(whole, Counter()))
    lines = [json_text_of({"kind": 0, "v": {**root, "requests": requests[:3]}})]
    lines += [json_text_of({"kind": 2, "k": ["requests"], "v": [request]}) for request in requests[3:8]]
    lines[2] = lines[2][:40]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "chatSessions", f"{root['sessionId']}.jsonl")
        path.parent.mkdir()
        path.write_text("\n".join(lines)[:-30], encoding="utf-8")
        (conversation,) = read(path)
    conversation.title = "Odd one: damaged"
    return conversation
