"""Response parts: the type of each kind, in the order shown."""

from __future__ import annotations

from typing import Any

import pytest

from copilog.model import (
    AnyPart,
    Checkpoint,
    Confirmation,
    FileEdit,
    FileTree,
    Hook,
    Notice,
    Place,
    Range,
    Reference,
    Text,
    TextEdit,
    Thinking,
    ToolCall,
    TreeNode,
    prose_of,
)
from copilog.sources.vscode.response import undone_from
from tests.sources.vscode_builders import all_parts, read_parts
from tests.sources.vscode_part_samples import PARTS, span, text_edit, uri
from tests.sources.vscode_tool_samples import tool_part


def only_part(part: Any) -> AnyPart:
    """Return what a single part becomes, without its remaining fields."""
    (made,) = all_parts(read_parts(part)[0])
    made.extra = None
    made.native = made.position = None
    return made


def prose(*parts: Any) -> str:
    return prose_of(all_parts(read_parts(*parts)[0]))


PUBLIC_CODE = "Response cleared due to possible match to public code, retrying with modified prompt."


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("markdown", Text(text="Some *words*")),
        ("markdownContent", Text(text="old words")),
        ("markdownVuln", Text(text="risky words", vulnerabilities=["Injection: Text goes into SQL"])),
        ("thinking", Thinking(text="Firstthen", id="thought-1", title="Weighing options", elapsed_ms=1234)),
        ("undoStop", Checkpoint(id="stop-1")),
        ("progressMessage", Notice(topic="progress", text="Searching")),
        ("progressTask", Notice(topic="task", text="Task", is_prose=True)),
        (
            "progressTaskSerialized",
            Notice(
                topic="task",
                text="Asked the index",
                is_prose=True,
                notes={"progress": "slow index", "files": "/home/ana/found.py"},
            ),
        ),
        ("progressTaskResult", Notice(topic="task", text="Done")),
        (
            "systemNotification",
            Notice(
                topic="system",
                text="The workspace changed",
                is_prose=True,
                notes={"label": "moved to a new workspace", "workspace": "shop"},
            ),
        ),
        ("warning", Notice(topic="warning", text="Careful", is_prose=True)),
        ("info", Notice(topic="info", text="By the way", is_prose=True)),
        (
            "command",
            Notice(
                topic="command",
                text="Open the shop",
                is_prose=True,
                notes={"tooltip": "Opens it", "other buttons": "Close", "arguments of the button": '["now",5]'},
            ),
        ),
        ("extensions", Notice(topic="extensions", text="example.linter, example.theme")),
        ("mcpServersStarting", Notice(topic="mcp-servers", text="books, maps")),
        ("mcpServersStartingSlow", Notice(topic="mcp-servers")),
        (
            "mcpServersInteractionRequired",
            Notice(topic="mcp-servers", text="Books", notes={"error": "who are you", "button": "Start"}),
        ),
        ("mcpAuthenticationRequired", Notice(topic="mcp-servers")),
        ("autoModeResolution", Notice(topic="model-resolution", text="GPT X")),
        ("clearToPreviousToolInvocation", Notice(topic="warning", text=PUBLIC_CODE, is_prose=True)),
        ("disabledClaudeHooks", Notice(topic="hooks-disabled")),
        ("voiceProgress", Notice(topic="voice", text="listening")),
        ("multiDiffData", Notice(topic="changes", text="Two files", notes={"files": "/g"})),
        ("usage", Notice(topic="usage")),
        ("usedContext", Notice(topic="used-context")),
        ("reference", Notice(topic="reference")),
        ("codeCitation", Notice(topic="code-citation", text="for x", notes={"license": "MIT", "in": "https:/x"})),
        ("move", Notice(topic="move")),
        ("externalToolInvocationUpdate", Notice(topic="tool-update")),
        ("externalEdits", Notice(topic="external-edits")),
        ("prepareToolInvocation", ToolCall(id="prepared-0", name="copilot_findFiles", status="prepared")),
        (
            "hook",
            Hook(
                type="PreToolUse",
                is_blocking=True,
                reason="not on Fridays",
                message="The hook said no",
                tool="Terminal",
            ),
        ),
        (
            "pullRequest",
            Reference(
                text="",
                type="pull-request",
                place=Place(uri="https:/ana/shop/pull/12", name="Add a bag"),
                notes={"description": "It holds things", "author": "Ana", "number": "#12", "button": "Open it"},
            ),
        ),
        (
            "codeblockUri",
            Reference(
                text="",
                type="code-block",
                is_edit=True,
                place=Place(uri="file:///home/ana/shop/bag.py", path="/home/ana/shop/bag.py"),
            ),
        ),
        (
            "confirmation",
            Confirmation(
                type="confirmation",
                title="Go on?",
                message="It costs money",
                options=["Yes, go on", "No"],
                state="answered",
            ),
        ),
        ("elicitation", Confirmation(type="elicitation", title="Name?", message="Who", state="pending")),
        (
            "elicitationSerialized",
            Confirmation(
                type="elicitation",
                title="Which port?",
                message="A number please",
                state="accepted",
                answer='{"port":8080}',
                notes={"subtitle": "Web server", "asked by": "web"},
            ),
        ),
        (
            "planReview",
            Confirmation(
                type="plan",
                title="The plan",
                message="1. Begin\n2. End",
                options=["Start"],
                notes={"Start": "at once", "file": "/home/ana/plan.md"},
                answer="Start it\nfine\nok",
                state="accepted",
            ),
        ),
        (
            "externalEdit",
            FileEdit(
                action="rename",
                uri="file:///home/ana/shop/before.py",
                path="/home/ana/shop/before.py",
                new_uri="file:///home/ana/shop/renamed.py",
                added=12,
                removed=34,
            ),
        ),
        (
            "textEdit",
            FileEdit(
                uri="file:///home/ana/live.py",
                path="/home/ana/live.py",
                batches=[[TextEdit(start_line=11, start_column=12, end_line=13, end_column=14, text="live", eol=7)]],
                is_done=True,
            ),
        ),
    ],
)
def test_each_kind_of_part_has_a_type(kind: str, expected: AnyPart) -> None:
    assert only_part(PARTS[kind]) == expected


def test_every_part_has_its_native_kind_and_position() -> None:
    messages, _ = read_parts({"value": "a"}, PARTS["warning"], None, PARTS["undoStop"], "bare words")

    assert [(part.native, part.position) for part in all_parts(messages)] == [
        (None, 0),
        ("warning", 1),
        ("undoStop", 3),
        ("string", 4),
    ]


def test_parts_stay_in_the_order_shown() -> None:
    shown = [PARTS["thinking"], {"value": "Now "}, tool_part(), PARTS["textEditGroup"], {"value": "done."}]

    messages, _ = read_parts(*shown)

    assert [type(part) for part in all_parts(messages)] == [Thinking, Text, ToolCall, FileEdit, Text]


def test_markdown_is_joined_without_separator_and_references_stay_in_position() -> None:
    reference = {"kind": "inlineReference", "inlineReference": uri("/home/ana/shop/till.py")}

    assert (
        prose({"value": "Look at "}, reference, {"value": ", then"}, {"value": " go."}) == "Look at `till.py`, then go."
    )


def test_thinking_is_never_prose() -> None:
    assert (
        prose({"kind": "thinking", "value": "hm"}, {"value": "Yes."}, {"kind": "thinking", "value": ["a", "b"]})
        == "Yes."
    )


@pytest.mark.parametrize(
    ("target", "name", "text", "place"),
    [
        (uri("/home/ana/a.py"), None, "`a.py`", Place(uri="file:///home/ana/a.py", path="/home/ana/a.py")),
        ("file:///home/ana/b.py", None, "`b.py`", Place(uri="file:///home/ana/b.py", path="/home/ana/b.py")),
        (
            {"uri": uri("/c.py"), "range": {**span(4), "endLineNumber": 4}},
            None,
            "`c.py:4`",
            Place(
                uri="file:///c.py", path="/c.py", range=Range(start_line=4, start_column=5, end_line=4, end_column=7)
            ),
        ),
        (
            {"uri": uri("/c.py"), "range": span(4)},
            None,
            "`c.py:4-6`",
            Place(
                uri="file:///c.py", path="/c.py", range=Range(start_line=4, start_column=5, end_line=6, end_column=7)
            ),
        ),
        (
            {"name": "Till", "kind": 4, "containerName": "shop", "location": {"uri": uri("/d.py")}},
            None,
            "`Till`",
            Place(uri="file:///d.py", path="/d.py", name="Till", symbol_kind=4, extra={"containerName": "shop"}),
        ),
        (
            uri("/home/ana/e.py"),
            "the e file",
            "`the e file`",
            Place(uri="file:///home/ana/e.py", path="/home/ana/e.py"),
        ),
    ],
)
def test_an_inline_reference_reads_as_vs_code_shows_it(target: Any, name: str | None, text: str, place: Place) -> None:
    part = {"kind": "inlineReference", "inlineReference": target, **({"name": name} if name else {})}

    notes = {"in": target["containerName"]} if "containerName" in target else {}
    assert only_part(part) == Reference(text=text, place=place, notes=notes)


def test_a_location_with_further_fields_is_stored_completely() -> None:
    target = {"uri": uri("/a.py"), "range": span(1), "colour": "red"}

    ((part,),) = [message.parts for message in read_parts({"kind": "inlineReference", "inlineReference": target})[0]]

    assert part.extra == {"inlineReference": target}


def test_a_part_without_kind_may_be_a_file_tree() -> None:
    tree = {"label": "shop", "uri": uri("/shop"), "children": [{"label": "till.py", "uri": uri("/shop/till.py")}]}
    expected = FileTree(
        root=TreeNode(
            label="shop", uri="file:///shop", children=[TreeNode(label="till.py", uri="file:///shop/till.py")]
        )
    )

    assert only_part(tree) == expected
    assert only_part({"kind": "treeData", "treeData": tree}) == expected


def test_a_very_deep_tree_is_cut_in_the_model_and_complete_in_extra() -> None:
    tree: dict[str, Any] = {"label": "leaf 300"}
    for depth in range(299, -1, -1):
        tree = {"label": f"folder {depth}", "children": [tree]}

    (part,) = all_parts(read_parts(tree)[0])

    assert isinstance(part, FileTree)
    assert part.extra == tree


def test_edits_come_in_batches() -> None:
    part = only_part(PARTS["textEditGroup"])

    assert isinstance(part, FileEdit)
    assert [[edit.text for edit in batch] for batch in part.batches] == [["one\n", "two\n"], ["three\n"]]
    assert (part.path, part.is_done, part.is_applied) == ("/home/ana/shop/bag.py", True, True)


def test_notebook_operations_stay_unchanged() -> None:
    part = only_part(PARTS["notebookEditGroup"])

    assert isinstance(part, FileEdit)
    assert part.cells == [cell for batch in PARTS["notebookEditGroup"]["edits"] for cell in batch]
    assert part.batches == []


def test_a_workspace_edit_creates_deletes_and_renames() -> None:
    parts = all_parts(read_parts(PARTS["workspaceEdit"])[0])

    assert [(part.action, part.path, part.new_uri) for part in parts if isinstance(part, FileEdit)] == [
        ("create", "/home/ana/new.py", None),
        ("delete", "/home/ana/gone.py", None),
        ("rename", "/home/ana/from.py", "file:///home/ana/to.py"),
    ]


def test_a_workspace_edit_of_nothing_is_a_notice() -> None:
    assert only_part({"kind": "workspaceEdit", "edits": []}) == Notice(topic="changes")


def test_questions_are_shown_with_their_answers() -> None:
    part = only_part(PARTS["questionCarousel"])

    assert isinstance(part, Confirmation)
    assert (part.type, part.state, part.message) == ("questions", "answered", "Two questions")
    assert [(question.title, question.options, question.answer) for question in part.questions] == [
        ("Colour", ["Red", "Blue"], "ff0000, dark"),
        ("Name", [], "Ana"),
    ]


@pytest.mark.parametrize(
    ("data", "state"),
    [({"rejected": True}, "rejected"), ({"rejected": False, "action": "Go"}, "accepted"), (None, "unanswered")],
)
def test_a_plan_was_accepted_or_not(data: Any, state: str) -> None:
    part = only_part({"kind": "planReview", "title": "t", "content": "c", "data": data})

    assert isinstance(part, Confirmation)
    assert part.state == state


def test_a_withdrawn_answer_is_not_prose() -> None:
    reference = {"kind": "inlineReference", "inlineReference": uri("/a.py")}
    withdrawn = [{"value": "Copied "}, reference, PARTS["warning"], PARTS["clearToPreviousToolInvocation"]]

    messages, _ = read_parts({"value": "Kept. "}, tool_part(), *withdrawn, {"value": "New."})

    assert prose_of(all_parts(messages)) == f"Kept. \n\n{PUBLIC_CODE}\n\nNew."
    notices = [part for part in all_parts(messages) if isinstance(part, Notice)]
    assert [(part.topic, part.text) for part in notices] == [
        ("cleared", "Copied "),
        ("cleared", "`a.py`"),
        ("cleared", "Careful"),
        ("warning", PUBLIC_CODE),
    ]


def test_text_that_was_withdrawn_without_a_reason_leaves_no_message() -> None:
    messages, _ = read_parts(
        {"value": "Copied "}, {"kind": "clearToPreviousToolInvocation", "reason": 0}, {"value": "New."}
    )

    assert prose_of(all_parts(messages)) == "New."


def test_parts_that_carry_text_count_as_prose_and_the_others_do_not() -> None:
    assert prose(PARTS["progressMessage"], PARTS["warning"], PARTS["confirmation"], {"value": "!"}) == "Careful\n\n!"


def test_the_undone_tail_begins_at_the_checkpoint() -> None:
    stop = {"kind": "undoStop", "id": "s"}
    block = {"kind": "codeblockUri", "uri": uri("/a"), "isEdit": True}

    assert undone_from([{"value": "text"}, stop, {"value": "more"}], "s") == 1
    assert undone_from([{"value": "```"}, stop, block], "s") == 0
    assert undone_from([tool_part(), stop, block], "s") == 1
    assert undone_from([stop], "other") is None


def test_edits_of_other_shapes_are_stored_beside_the_others() -> None:
    odd = {**text_edit(5, "x"), "reason": "why not"}

    ((part,),) = [message.parts for message in read_parts({"kind": "textEditGroup", "uri": "/a", "edits": [[odd]]})[0]]

    assert isinstance(part, FileEdit)
    assert [edit.text for edit in part.batches[0]] == ["x"]
    assert part.extra == {"uri": "/a", "edits": [odd]}
