"""How a conversation reads in a terminal, and that nothing in it can harm one."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from copilog.model import (
    Agent,
    AnyPart,
    Approval,
    Attachment,
    Checkpoint,
    Citation,
    Compaction,
    Confirmation,
    Conversation,
    CustomAgent,
    Draft,
    EditedFileEvent,
    FileChange,
    FileEdit,
    FileState,
    FileTree,
    Followup,
    Hook,
    Mention,
    Message,
    Mode,
    Model,
    Notice,
    Place,
    Prompt,
    Provenance,
    Question,
    Queued,
    Range,
    Reference,
    Relation,
    ResultItem,
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
    Unknown,
    Usage,
    UsedReference,
    Vote,
    Workspace,
)
from copilog.render.text import TextOptions, render_conversation

FOLDER = "/home/ana/tide-tables"


def conversation(*answer: AnyPart, asked: Sequence[AnyPart] = (), **turn: Any) -> Conversation:
    """A conversation of one turn."""
    question: list[AnyPart] = list(asked) or [Text(text="When is high tide?")]
    return Conversation(
        id="vscode:5f0c2a9e",
        source="vscode-session",
        title="High tide",
        assistant="GitHub Copilot",
        workspace=Workspace(folder=FOLDER),
        turns=[Turn(index=0, **turn)],
        messages=[
            Message(role="user", parts=question, turn=0),
            Message(role="assistant", parts=list(answer), turn=0),
        ],
    )


def shown(made: Conversation, *, terminal: bool = False, **options: Any) -> str:
    """The text without colours: as a pipe gets it, or as a terminal of 100 columns lays it out."""
    page = io.StringIO()
    console = Console(file=page, width=100, no_color=True, color_system=None)
    for piece in render_conversation(made, TextOptions(markdown=terminal, **options)):
        console.print(piece, soft_wrap=not terminal)
    return page.getvalue()


def edit(line: int, column: int, text: str) -> TextEdit:
    return TextEdit(start_line=line, start_column=column, end_line=line, end_column=column, text=text)


# --- the head ---------------------------------------------------------------------------------------------------


def test_the_head_tells_what_it_is_and_where_it_was_found() -> None:
    made = conversation(
        ToolCall(id="c1", name="list_dir"),
        FileEdit(uri="file:///a.py", added=3, removed=1),
        model=Model(id="copilot/gpt-5", name="gpt-5"),
        mode=Mode(kind="agent"),
        custom_agent=CustomAgent(name="Tide keeper"),
    )
    made.application, made.location = "Code", "panel"
    made.marks = ["damaged"]
    made.has_pending_edits = True
    made.workspace = Workspace(folder=FOLDER, branch="main", repository="https://example.com/tides.git")
    made.relations = [Relation(kind="fork", other_id="vscode:77")]
    made.provenance = [
        Provenance(source="vscode-session-log", path="/data/5f0c2a9e.jsonl"),
        Provenance(source="vscode-state", path="/data/state.vscdb", role="index", table="ItemTable", row="index"),
    ]

    assert shown(made).split("\n\n")[0].splitlines() == [
        "High tide",
        "id         vscode:5f0c2a9e",
        "assistant  GitHub Copilot (Code, panel)",
        "workspace  /home/ana/tide-tables · branch main · https://example.com/tides.git",
        "models     gpt-5",
        "mode       agent, custom agent Tide keeper",
        "content    1 turn · 1 tool call · 1 file edited +3 -1",
        "marks      damaged: parts of its file could not be used",
        "           pending-edits: some edits were neither kept nor undone",
        "related    fork of vscode:77",
        "found in   /data/5f0c2a9e.jsonl  (lead, vscode-session-log)",
        "           /data/state.vscdb [ItemTable index]  (index, vscode-state)",
    ]


def test_an_empty_conversation_has_a_head_and_nothing_else() -> None:
    made = Conversation(id="vscode:1", source="vscode-session")

    assert shown(made).splitlines() == ["(untitled)", "id         vscode:1", "content    0 turns"]


# --- what was asked ---------------------------------------------------------------------------------------------


def test_words_stand_first_and_attachments_below_as_chips() -> None:
    place = Place(path=f"{FOLDER}/src/app.py", range=Range(start_line=3, end_line=10))
    asked: list[AnyPart] = [
        Text(text="Look at this,\nplease."),
        Mention(type="agent", name="workspace"),
        Attachment(type="file", name="app.py", place=place),
        Attachment(type="image", name="shot.png", mime_type="image/png", data=b"0" * 12_345),
        Attachment(type="file", name="old.py", is_sent=False, omitted="partial"),
        Attachment(type="prompt-text", name="instructions", text="be kind", is_automatic=True),
        Unknown(type="variable:hologram", raw={"a": 1}),
    ]

    page = shown(conversation(asked=asked))

    assert "You\n  Look at this,\n  please.\n\n  @workspace\n" in page
    assert "  [file] src/app.py:3-10\n" in page
    assert "  [image] shot.png  (image/png, 12 kB)\n" in page
    assert "  [file] old.py  (not sent, omitted: partial)\n" in page
    assert "  unknown part variable:hologram\n" in page
    assert "instructions" not in page, "what the product adds by itself is context"


def test_context_is_shown_only_when_asked_for_and_whole_only_in_full() -> None:
    text = "<environment_info>\nLinux\none\ntwo\nthree\nfour\n</environment_info>\n<userRequest>\nWhen?\n</userRequest>"
    made = conversation(asked=[Text(text="When?"), Prompt(text=text)])

    assert "Linux" not in shown(made, full=True)
    folded = shown(made, context=True)
    assert "context · sent with this prompt" in folded
    assert "<environment_info> · 63 characters\n      Linux\n      one\n      two\n      … 2 more lines" in folded
    assert folded.count("When?") == 1
    assert "      four\n" in shown(made, context=True, full=True)


def test_it_tells_what_the_user_did_with_earlier_edits_and_which_button_was_pressed() -> None:
    events = [EditedFileEvent(uri=f"file://{FOLDER}/a.py", action="keep"), EditedFileEvent(uri=None, action="undo")]

    page = shown(conversation(edited_files=events, confirmation="Continue"))

    assert "  before this, kept the edits to a.py\n  before this, undid the edits to a file\n" in page
    assert "  pressed [Continue]\n" in page


def test_what_the_user_says_in_the_middle_of_an_answer_stays_there() -> None:
    made = conversation(Text(text="First."))
    made.messages += [
        Message(role="user", turn=0, parts=[Text(text="Hurry!")]),
        Message(role="assistant", turn=0, parts=[Text(text="Second.")]),
    ]

    assert "  First.\n\n  You\n\n    Hurry!\n\n  Second.\n" in shown(made)


def test_system_messages_are_context() -> None:
    made = conversation(Text(text="Six."))
    made.messages.insert(0, Message(role="system", turn=0, parts=[Text(text="You are a harbour master.")]))

    assert "harbour master" not in shown(made, full=True)
    assert "context · system prompt · 25 characters\n" in shown(made, context=True)
    assert "      You are a harbour master.\n" in shown(made, context=True)


# --- the answer's prose -----------------------------------------------------------------------------------------


def test_markdown_is_laid_out_on_a_terminal_and_left_as_written_in_a_pipe() -> None:
    made = conversation(Text(text="# Tides\n\nHigh at **six**.\n\n1. first\n2. second\n"))

    assert "  # Tides\n\n  High at **six**.\n\n  1. first\n  2. second\n" in shown(made)
    assert "  Tides\n\n  High at six.\n\n   1. first\n   2. second\n" in shown(made, terminal=True)


def test_lines_are_wrapped_on_a_terminal_only() -> None:
    made = conversation(Text(text="word " * 60))

    assert max(map(len, shown(made, terminal=True).splitlines())) <= 100
    assert "  " + "word " * 59 + "word\n" in shown(made)


def test_references_stand_in_place_within_the_prose() -> None:
    made = conversation(
        Text(text="See "), Reference(text="`app.py`", place=Place(path="/a/app.py")), Text(text=" first.")
    )

    assert "  See `app.py` first.\n" in shown(made)
    assert "  See app.py first.\n" in shown(made, terminal=True)


def test_html_is_shown_and_not_swallowed() -> None:
    made = conversation(Text(text="Use `List<String>` or List<String>, <b>not</b> this.\n\n<div>block</div>"))

    page = shown(made, terminal=True)

    assert "Use List<String> or List<String>, <b>not</b> this." in page
    assert "<div>block</div>" in page


def test_a_code_block_names_its_file() -> None:
    place = Place(path=f"{FOLDER}/src/tide.py")
    made = conversation(
        Text(text="Write:\n\n```python\n"),
        Reference(text="", type="code-block", place=place),
        Text(text="x = 1\n```\n"),
    )

    assert "  ```python src/tide.py\n  x = 1\n  ```\n" in shown(made)
    assert "    src/tide.py\n    x = 1\n" in shown(made, terminal=True)


def test_the_empty_code_block_around_an_edit_is_left_out() -> None:
    made = conversation(
        Text(text="I change it.\n\n```\n"),
        Checkpoint(id="k1"),
        Reference(text="", type="code-block", is_edit=True, place=Place(path=f"{FOLDER}/a.py")),
        FileEdit(path=f"{FOLDER}/a.py", batches=[[edit(1, 1, "x = 1\n")]]),
        Text(text="\n```\nDone."),
    )

    page = shown(made)

    assert "```" not in page
    assert "  I change it.\n\n  ✎ edited a.py  1 text edit\n      @ line 1\n      +x = 1\n\n  Done.\n" in page


def test_code_that_is_interrupted_goes_on_as_code() -> None:
    made = conversation(
        Text(text="```sh\nmake\n"), Notice(topic="warning", text="slow"), Text(text="make test\n```\nEnd.")
    )

    assert "  ```sh\n  make\n\n  ⚠ slow\n\n  ```sh\n  make test\n  ```\n  End.\n" in shown(made)


def test_a_block_that_was_never_closed_does_not_swallow_what_follows() -> None:
    made = conversation(Text(text="```sh\nmake\n"), ToolCall(id="c", name="x"), Text(text="All is **well**."))

    assert "  · x\n\n  All is well.\n" in shown(made, terminal=True)


def test_thinking_is_one_line_for_thoughts_in_a_row_unless_wanted_whole() -> None:
    made = conversation(Thinking(text="Moon."), Thinking(text="Sun.", title="Weighing"), Text(text="Six."))

    assert "  thinking · Weighing · 11 characters\n\n  Six.\n" in shown(made)
    assert "Moon" not in shown(made, full=True)
    assert "  thinking · Weighing · 11 characters\n    Moon.\n\n    Sun.\n" in shown(made, thinking=True)
    assert "thinking" not in shown(conversation(Thinking(text=""), Text(text="Six.")))


# --- tools ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (
            ToolCall(
                id="c",
                name="read_file",
                status="complete",
                arguments=f'{{"filePath": "{FOLDER}/src/app.py", "startLine": 1, "endLine": 40}}',
                approval=Approval(kind="setting", detail="chat.tools.autoApprove"),
            ),
            "  ✓ read_file  src/app.py:1-40  auto-approved (chat.tools.autoApprove)",
        ),
        (
            ToolCall(id="c", name="copilot_readFile", status="complete", message="Read `app.py`"),
            "  ✓ copilot_readFile  Read app.py",
        ),
        (
            ToolCall(id="c", name="fetch", status="denied", message="Ran `fetch`", approval=Approval(kind="denied")),
            "  ⊘ fetch  denied",
        ),
        (
            ToolCall(id="c", name="get_tides", status="failed", origin="mcp", server="Harbour"),
            "  ✗ get_tides  failed · MCP server Harbour",
        ),
        (ToolCall(id="c", name="slow", status="prepared"), "  … slow  prepared"),
        (
            ToolCall(
                id="c", name="pr", status="complete", message="Made [#52](https://example.com/52) of **all** `a_b`"
            ),
            "  ✓ pr  Made #52 of all a_b",
        ),
        (
            ToolCall(id="c", name="x", status="complete", approval=Approval(kind="granted", detail="session")),
            "  ✓ x  approved for the session",
        ),
        (ToolCall(id="c", name="x", status="complete", approval=Approval(kind="not-needed")), "  ✓ x"),
        (ToolCall(id="c", name="", arguments="not json"), "  · a tool without a name"),
    ],
)
def test_a_call_is_one_line(call: ToolCall, line: str) -> None:
    assert line in shown(conversation(call)).splitlines()


def test_other_arguments_and_the_result_follow_shortened_and_whole_in_full() -> None:
    call = ToolCall(
        id="c",
        name="grep_search",
        status="complete",
        arguments='{"query": "tide", "isRegexp": false, "why": "%s"}' % ("y" * 300),
    )
    made = conversation(call)
    made.messages.append(Message(role="tool", turn=0, parts=[ToolResult(call_id="c", text="\n".join("abcdefgh"))]))

    page = shown(made)

    assert "  ✓ grep_search  tide\n      isRegexp: false\n      why: yyy" in page
    assert "      a\n      b\n      c\n      d\n      … 4 more lines\n" in page
    assert "y" * 200 not in page
    assert "y" * 300 in shown(made, full=True)
    assert "      h\n" in shown(made, full=True)


def test_in_full_nothing_of_a_long_argument_is_lost() -> None:
    call = ToolCall(id="c", name="search", arguments='{"query": "%send"}' % ("word " * 60))

    assert "end" not in shown(conversation(call)).partition("search")[2]
    assert "      query: word word" in shown(conversation(call), full=True)
    assert "word end\n" in shown(conversation(call), full=True)


def test_of_a_file_that_was_read_the_number_of_lines_is_enough() -> None:
    call = ToolCall(id="c", name="read_file", status="complete", arguments='{"filePath": "/x/a.py"}')
    made = conversation(call, ToolResult(call_id="c", text="one\ntwo\nthree"))

    assert "  ✓ read_file  /x/a.py  3 lines\n" in shown(made)
    assert "two" not in shown(made)
    assert "      two\n" in shown(made, full=True)


def test_a_failed_result_says_why() -> None:
    call = ToolCall(id="c", name="read_file", status="failed")

    assert "  ✗ read_file  failed\n      no such file\n" in shown(
        conversation(call, ToolResult(call_id="c", text="no such file", is_error=True))
    )
    assert "      failed without a message\n" in shown(conversation(call, ToolResult(call_id="c", is_error=True)))


def test_results_tell_places_and_binary_items() -> None:
    result = ToolResult(
        call_id="c",
        places=[Place(path=f"{FOLDER}/{name}.py") for name in "abcdefg"],
        items=[ResultItem(mime_type="image/png", data=b"123"), ResultItem(place=Place(uri="mcp://harbour/1"))],
        full_text="long " * 100,
        full_text_path="/data/content.txt",
    )

    page = shown(conversation(ToolCall(id="c", name="find"), result))

    assert "      a.py, b.py, c.py, d.py, e.py and 2 more\n" in page
    assert "      [image/png] 3 bytes\n      [resource] mcp://harbour/1\n" in page
    assert "      the whole output, 500 characters in /data/content.txt\n" in page


def test_a_result_without_its_call_is_told() -> None:
    page = shown(conversation(ToolResult(call_id="gone", text="forty-two")))

    assert "  ? the result of a call that is not here (gone)\n      forty-two\n" in page


def test_a_command_shows_what_was_run_and_the_end_of_what_it_printed() -> None:
    call = ToolCall(
        id="c", name="run_in_terminal", status="complete", arguments='{"command": "make", "explanation": "Build"}'
    )
    terminal = Terminal(
        call_id="c",
        command="make -j4",
        original="make",
        edited_by_user="make -j4",
        output="\n".join(f"\x1b[32mline {number}\x1b[0m" for number in range(30)) + "\n10%\r100%",
        exit_code=2,
        elapsed_ms=3210,
        cwd=f"{FOLDER}/src",
        is_output_cut=True,
    )
    made = conversation(call, terminal, ToolResult(call_id="c", text="line 1 and so on"))

    page = shown(made)

    assert "  ✓ run_in_terminal\n      explanation: Build\n      $ make -j4\n" in page
    assert "      changed by the user; the model asked for: make\n      … 21 lines before\n      line 21\n" in page
    assert "      100%\n      exit code 2 · 3.2 s · in src · VS Code kept only part of the output\n" in page
    assert "10%\n" not in page.replace("100%", "")
    assert "and so on" not in page
    assert "      line 0\n" in shown(made, full=True)


def test_the_result_stands_in_for_output_that_a_terminal_did_not_keep() -> None:
    call = ToolCall(id="c", name="run_in_terminal", status="complete")

    page = shown(conversation(call, Terminal(call_id="c", command="ls"), ToolResult(call_id="c", text="a.py")))

    assert "      a.py\n" in page
    assert "      $ ls\n" in page


def test_a_command_that_was_not_run_stands_before_the_reason() -> None:
    call = ToolCall(id="c", name="run_in_terminal", status="skipped", approval=Approval(kind="skipped"))
    made = conversation(
        call, Terminal(call_id="c", command=" rm -r .", original="rm -r ."), ToolResult(call_id="c", text="Not run.")
    )

    assert "  ⊘ run_in_terminal  skipped by the user\n      $ rm -r .\n      Not run.\n" in shown(made)


def test_todo_lists_have_boxes() -> None:
    items = [
        TodoItem(title="Read", status="completed"),
        TodoItem(title="Write", status="in-progress"),
        TodoItem(title="Sleep", status="not-started"),
    ]
    call = ToolCall(
        id="c", name="manage_todo_list", status="complete", arguments='{"todoList": []}', message="Two left"
    )

    page = shown(conversation(call, TodoList(call_id="c", items=items)))

    assert "  ✓ manage_todo_list  Two left\n      [x] Read\n      [~] Write\n      [ ] Sleep\n" in page


def test_sub_agents_stand_below_their_caller() -> None:
    made = conversation(
        ToolCall(
            id="c1",
            name="runSubagent",
            status="complete",
            arguments='{"description": "Look around", "prompt": "Find the buoys."}',
            subagent=SubAgent(name="Scout", model="gpt-5-mini", elapsed_ms=61_000, prompt="Find the buoys."),
        ),
        Text(text="Found them."),
    )
    made.messages += [
        Message(
            role="assistant", turn=0, parent_call_id="c1", parts=[ToolCall(id="c2", name="list_dir", status="complete")]
        ),
        Message(role="assistant", turn=0, parent_call_id="c2", parts=[ToolCall(id="c3", name="deeper")]),
        Message(role="assistant", turn=0, parent_call_id="lost", parts=[ToolCall(id="c4", name="stray")]),
    ]

    page = shown(made)

    assert (
        "  ✓ runSubagent  Look around\n"
        "    ↳ sub-agent Scout · gpt-5-mini · 1 min 01 s\n"
        "      Find the buoys.\n"
        "      ✓ list_dir\n"
        "          · deeper\n"
        "\n"
        "  Found them.\n"
        "\n"
        "    · stray\n" in page
    )


def test_calls_that_are_nested_in_a_circle_or_very_deeply_are_all_shown() -> None:
    made = conversation()
    made.messages += [
        Message(
            role="assistant",
            turn=0,
            parent_call_id=f"c{number - 1}" if number else "c499",
            parts=[ToolCall(id=f"c{number}", name=f"tool{number}")],
        )
        for number in range(500)
    ]

    page = shown(made)

    assert all(f"· tool{number}\n" in page for number in range(500))


# --- edits ------------------------------------------------------------------------------------------------------

DIFF = "--- a/tide.py\n+++ b/tide.py\n@@ -1 +1,2 @@\n-low\n+high\n+higher\n"


def test_an_edit_shows_its_diff_and_not_the_arguments_once_more() -> None:
    call = ToolCall(
        id="c",
        name="replace_string_in_file",
        status="complete",
        arguments=f'{{"filePath": "{FOLDER}/tide.py", "oldString": "low", "newString": "high\\nhigher"}}',
    )
    made = conversation(call, FileEdit(call_id="c", path=f"{FOLDER}/tide.py", diff=DIFF, added=2, removed=1))

    page = shown(made)

    assert (
        "  ✓ replace_string_in_file  tide.py\n  ✎ edited tide.py  +2 -1\n      @@ -1 +1,2 @@\n      -low\n      +high\n"
        in page
    )
    assert page.count("+higher") == 1


def test_where_only_the_arguments_tell_the_change_they_are_the_diff() -> None:
    call = ToolCall(
        id="c",
        name="replace_string_in_file",
        status="complete",
        arguments=f'{{"filePath": "{FOLDER}/tide.py", "oldString": "a\\nlow\\nb", "newString": "a\\nhigh\\nb"}}',
    )
    made = conversation(call, FileEdit(call_id="c", path=f"{FOLDER}/tide.py", batches=[[edit(2, 1, "high")]]))

    page = shown(made)

    assert "  ✓ replace_string_in_file  tide.py  +1 -1\n       a\n      -low\n      +high\n       b\n" in page
    assert "✎" not in page


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ('{"filePath": "/x/new.py", "content": "a\\nb\\n"}', "/x/new.py  +2\n      +a\n      +b\n"),
        (
            '{"input": "*** Begin Patch\\n*** Update File: /x/a.py\\n-low\\n+high\\n*** End Patch"}',
            "  +1 -1\n      *** Begin Patch\n      *** Update File: /x/a.py\n      -low\n      +high\n",
        ),
        (
            '{"replacements": [{"filePath": "/x/a.py", "oldString": "low", "newString": "high"}]}',
            "  +1 -1\n      @ /x/a.py\n      @@\n      -low\n      +high\n",
        ),
    ],
)
def test_every_way_of_describing_a_change_is_a_diff(arguments: str, lines: str) -> None:
    assert lines in shown(conversation(ToolCall(id="c", name="edit", status="complete", arguments=arguments)))


def test_long_diffs_are_cut_unless_wanted_whole() -> None:
    diff = "".join(f"+line {number}\n" for number in range(100))
    made = conversation(FileEdit(path="/x/a.py", diff=diff, added=100, removed=0))

    assert "      +line 19\n      … 80 more lines\n" in shown(made)
    assert "      +line 99\n" in shown(made, full=True)


def test_text_that_arrived_line_by_line_is_one_edit() -> None:
    batches = [[edit(1, 1, "one")], [edit(1, 4, "\n🌊wo")], [edit(2, 5, "\nthree")], [edit(9, 1, "far")]]

    page = shown(conversation(FileEdit(action="create", path="/x/a.txt", batches=batches)))

    assert "  ✎ created /x/a.txt  4 text edits\n" in page
    assert "      @ line 1\n      +one\n      +🌊wo\n      +three\n      @ line 9\n      +far\n" in page


def test_changes_of_the_editing_history_fill_in_what_the_answer_does_not_show() -> None:
    made = conversation(FileEdit(uri="file:///x/shown.py", path="/x/shown.py", diff=DIFF, added=2, removed=1))
    made.file_changes = [
        FileChange(uri="file:///x/shown.py", path="/x/shown.py", turn=0, diff=DIFF, added=2, removed=1),
        FileChange(
            uri="file:///x/other.py", path="/x/other.py", turn=0, action="create", diff=DIFF, added=2, removed=0
        ),
        FileChange(uri="file:///x/lost.py", path="/x/lost.py", diff=DIFF, is_undone=True),
    ]
    made.files = [FileState(uri="file:///x/other.py", path="/x/other.py", decision="accepted")]

    page = shown(made)

    assert "  file changes of this turn\n  ✎ created /x/other.py  +2 -0\n      @@ -1 +1,2 @@\n" in page
    assert page.count("shown.py") == 1
    assert "File changes of requests that are not here\n  ✎ edited /x/lost.py  undone\n" in page
    assert "Files\n  /x/other.py  accepted\n" in page


def test_a_renamed_file_is_told_with_both_names() -> None:
    edit = FileEdit(
        action="rename", uri=f"file://{FOLDER}/a.py", new_uri=f"file://{FOLDER}/b%20c.py", added=0, removed=0
    )
    made = conversation(edit)
    made.file_changes = [
        FileChange(action="rename", uri=edit.new_uri or "", old_uri=edit.uri, turn=0, added=0, removed=0)
    ]

    page = shown(made)

    assert "  ✎ renamed a.py to b c.py\n" in page
    assert page.count("renamed") == 1


# --- everything else in an answer -------------------------------------------------------------------------------


def test_questions_come_with_their_answers() -> None:
    asked = Confirmation(
        type="questions",
        title="Two things",
        questions=[Question(text="Which harbour?", options=["North", "South"], answer="North"), Question(title="Why?")],
        state="answered",
    )

    page = shown(conversation(asked, Confirmation(type="confirmation", title="Go on?", options=["Yes"], answer="Yes")))

    assert "  ? Two things  answered\n    Which harbour?\n      [North] [South]\n      → North\n    Why?\n" in page
    assert "  ? Go on?\n    [Yes]\n    → Yes\n" in page


def test_small_parts_have_a_line_each() -> None:
    root = TreeNode(
        label="tides", children=[TreeNode(label="src", children=[TreeNode(label="a.py")]), TreeNode(label="b")]
    )
    made = conversation(
        Notice(topic="progress", text="Looking"),
        Notice(topic="mcp-servers"),
        Compaction(text="All so far", model="gpt-5-mini", elapsed_ms=900),
        Hook(type="PreToolUse", tool="fetch", is_blocking=True, reason="not today"),
        Checkpoint(id="k1"),
        FileTree(root=root),
        Reference(text="", type="pull-request", place=Place(uri="https://example.com/7", name="Add buoys")),
        Unknown(type="response:hologram", raw={"colour": "blue"}),
    )

    page = shown(made)

    assert "  · Looking\n" in page
    assert "  ≡ the history up to here was summarised · gpt-5-mini · 10 characters · 900 ms\n" in page
    assert "  ⚙ hook PreToolUse · fetch · stopped it: not today\n" in page
    assert "  tides/\n    src/\n      a.py\n    b\n" in page
    assert "  [pull-request] Add buoys in https://example.com/7\n" in page
    assert "  unknown part response:hologram\n" in page
    assert "checkpoint" not in page
    whole = shown(made, full=True)
    assert "  checkpoint k1\n" in whole
    assert "    All so far\n" in whole
    assert '    {"colour":"blue"}\n' in whole


# --- the end of a turn ------------------------------------------------------------------------------------------


def test_the_footer_tells_how_it_went() -> None:
    made = conversation(
        Text(text="Six."),
        status="complete",
        model=Model(id="copilot/auto", name="auto", resolved="gpt-5"),
        details="GPT-5 • 1x",
        mode=Mode(kind="agent"),
        agent=Agent(id="github.copilot.editsAgent", name="agent"),
        command="fix",
        timing=Timing(generated_ms=12_340, first_progress_ms=850, waited_ms=3000),
        usage=[Usage(input=1204, output=311, cache_read=900), Usage(credits=1.5)],
        vote=Vote(is_up=False, reason="wrong"),
        references=[UsedReference(place=Place(path=f"{FOLDER}/a.py")), UsedReference(text="the web", status="partial")],
        citations=[Citation(uri="https://example.com/code", license="MIT")],
        followups=[Followup(text="And low tide?")],
    )

    assert shown(made).endswith(
        "  complete · auto: gpt-5 · 1x · agent mode · @agent · /fix"
        " · 12.3 s (first progress after 850 ms, waited 3.0 s for the user)"
        " · tokens: 1,204 in, 311 out, 900 from cache · 1.5 credits · voted down wrong\n"
        "  used a.py, the web (partial)\n"
        "  similar to public code: 1 place, licences MIT\n"
        "  → And low tide?\n"
    )


def test_failed_cancelled_and_undone_turns_are_marked() -> None:
    failed = shown(
        conversation(status="failed", error=TurnError(message="Too many", code="rateLimited", flags=["quota-exceeded"]))
    )
    undone = shown(conversation(Text(text="Kept."), Text(text="Gone.", position=3), undone_from=3, status="complete"))

    assert "Turn 1 of 1 · failed\n" in failed
    assert "  ✗ Too many  (rateLimited, quota-exceeded)\n  failed\n" in failed
    assert "Turn 1 of 1 · cancelled\n" in shown(conversation(status="cancelled"))
    assert "Turn 1 of 1 · undone\n" in shown(conversation(is_undone=True))
    assert "Turn 1 of 1 · partly undone\n" in undone
    assert "  Kept.\n\n  ⚠ from here on undone\n\n  Gone.\n" in undone


def test_prompts_that_were_not_sent_and_the_draft_come_last() -> None:
    made = conversation(Text(text="Six."))
    made.queued = [Queued(type="steering", message=Message(role="user", parts=[Text(text="Hurry")]))]
    made.draft = Draft(text="And then", attachments=[Attachment(type="file", name="b.py")])

    assert shown(made).endswith(
        "\nNever sent · steering\n  Hurry\n\nDraft in the input box\n  And then\n\n  [file] b.py\n"
    )


def test_single_turns_can_be_picked() -> None:
    made = conversation(Text(text="Zero."))
    made.turns = [Turn(index=number) for number in range(3)]
    made.messages = [Message(role="user", turn=number, parts=[Text(text=f"Ask {number}")]) for number in range(3)]
    made.draft = Draft(text="later")

    page = shown(made, turns=(2, 3))

    assert "High tide" in page
    assert re.findall(r"Ask \d", page) == ["Ask 1", "Ask 2"]
    assert "later" not in page


def test_messages_outside_of_the_turns_are_not_lost() -> None:
    made = conversation(Text(text="Six."))
    made.messages.append(Message(role="tool", parts=[ToolResult(call_id="lost", text="washed ashore")]))

    page = shown(made)

    assert "Outside of the turns\n" in page
    assert "washed ashore" in page


def test_on_a_narrow_terminal_indentation_gives_way_to_words() -> None:
    made = conversation(Text(text="1. first\n2.\n3. third"), ToolResult(call_id="lost", text="forty-two " * 20))
    page = io.StringIO()
    console = Console(file=page, width=24, color_system=None)
    for piece in render_conversation(made, TextOptions()):
        console.print(piece)

    assert page.getvalue().count("forty-two") == 20
    assert max(map(len, page.getvalue().splitlines())) <= 24
    assert " 2.\n" in page.getvalue()


# --- hostile content --------------------------------------------------------------------------------------------

NASTY = (
    "\x1b[31mred\x1b]0;title\x07\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\ \x9b2J \x00\x07\x08\x7f "
    "[red]markup[/red] [link=https://example.com]x[/link] :smile: \ud800 \u202egnp.exe\u2066 \u2028end"
)


def hostile() -> Conversation:
    """A conversation with such text wherever text can stand."""
    place = Place(path=NASTY, name=NASTY, uri=NASTY)
    made = conversation(
        Text(text=f"{NASTY}\n\n[{NASTY}](https://example.com/{NASTY})\n\n```{NASTY}\n{NASTY}\n```\n"),
        Text(text=f"| a |\n|---|\n| {NASTY} |\n\n![{NASTY}](<{NASTY}>)"),
        Thinking(text=NASTY, title=NASTY),
        ToolCall(
            id=NASTY,
            name=NASTY,
            arguments='{"filePath": "\\u001b[1mx", "other": "\\u001b]8;;x\\u0007"}',
            message=NASTY,
            server=NASTY,
            approval=Approval(kind="setting", detail=NASTY),
            subagent=SubAgent(name=NASTY, prompt=NASTY, model=NASTY),
        ),
        ToolResult(call_id=NASTY, text=NASTY, display=NASTY + "x", places=[place], items=[ResultItem(text=NASTY)]),
        ToolCall(id="2", name="x", arguments=NASTY),
        Terminal(command=NASTY, original=NASTY + "x", output=NASTY, cwd=NASTY),
        TodoList(items=[TodoItem(title=NASTY, status=NASTY)]),
        FileEdit(path=NASTY, new_uri=NASTY, diff=NASTY, cells=[{"nasty": NASTY}]),
        FileTree(root=TreeNode(label=NASTY)),
        Confirmation(type=NASTY, title=NASTY, message=NASTY, options=[NASTY], answer=NASTY, state=NASTY),
        Checkpoint(id=NASTY),
        Compaction(text=NASTY, model=NASTY, trigger=NASTY),
        Hook(type=NASTY, reason=NASTY, message=NASTY, tool=NASTY, is_blocking=True),
        Notice(topic=NASTY, text=NASTY),
        Reference(text=NASTY, type=NASTY, place=place),
        Unknown(type=NASTY, raw={NASTY: NASTY}),
        asked=[
            Text(text=NASTY),
            Mention(type="agent", name=NASTY, start=0, end=999),
            Mention(type="agent", name=NASTY),
            Attachment(type=NASTY, name=NASTY, place=place, text=NASTY),
            Attachment(type="image", name=NASTY, mime_type=NASTY, data=b"x"),
            Prompt(text=f"<context>{NASTY}</context>"),
        ],
        model=Model(id=NASTY, name=NASTY, resolved=NASTY + "x"),
        details=NASTY,
        mode=Mode(name=NASTY),
        agent=Agent(id=NASTY),
        command=NASTY,
        confirmation=NASTY,
        error=TurnError(message=NASTY, code=NASTY, flags=[NASTY]),
        vote=Vote(is_up=False, reason=NASTY),
        followups=[Followup(text=NASTY)],
        references=[UsedReference(text=NASTY)],
        citations=[Citation(uri=NASTY, license=NASTY)],
        edited_files=[EditedFileEvent(uri=NASTY, action=NASTY)],
        is_system_initiated=True,
        system_label=NASTY,
    )
    made.id = made.title = made.assistant = made.application = NASTY
    made.marks = [NASTY]
    made.workspace = Workspace(folder=NASTY, branch=NASTY)
    made.relations = [Relation(kind=NASTY, other_id=NASTY)]
    made.provenance = [Provenance(source="x", path=NASTY, pointer=NASTY)]
    made.file_changes = [FileChange(uri=NASTY, turn=0, diff=NASTY)]
    made.files = [FileState(uri=NASTY)]
    made.queued = [Queued(type=NASTY, message=Message(role="user", parts=[Text(text=NASTY)]))]
    made.draft = Draft(text=NASTY)
    return made


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("full", [False, True])
def test_nothing_in_a_conversation_reaches_the_terminal_as_a_command(terminal: bool, full: bool) -> None:
    page = shown(hostile(), terminal=terminal, full=full, thinking=True, context=True)

    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028]", page)
    page.encode("utf-8")
    assert "[red]markup[/red]" in page, "content is no markup"
    assert ":smile:" in page
    assert "␛[31mred" in page


def test_on_a_coloured_terminal_nothing_but_colours_is_sent() -> None:
    page = io.StringIO()
    console = Console(file=page, width=100, force_terminal=True, color_system="truecolor", legacy_windows=False)
    for piece in render_conversation(hostile(), TextOptions(full=True, thinking=True, context=True)):
        console.print(piece)

    without_colours = re.sub(r"\x1b\[[\d;]*m", "", page.getvalue())
    assert "\x1b" in page.getvalue()
    assert "\x1b" not in without_colours


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "x" * 500_000,
        "[" * 50_000,
        "> " * 5_000 + "deep",
        "\n".join("  " * depth + "- item" for depth in range(300)),
        "|" + "a|" * 3_000 + "\n|" + "-|" * 3_000 + "\n",
        "```python\n" + "(" * 100_000 + "\n```",
        "\n" * 20_000 + "end",
    ],
    ids=["line", "brackets", "quotes", "lists", "table", "code", "blank"],
)
def test_absurd_text_is_printed_all_the_same(text: str, terminal: bool) -> None:
    parts: list[AnyPart] = [Text(text=text), ToolCall(id="c", name="x"), ToolResult(call_id="c", text=text)]

    assert "Turn 1 of 1" in shown(conversation(*parts, asked=[Text(text=text)]), terminal=terminal)


def test_arguments_nested_beyond_reason_are_shown_as_text() -> None:
    call = ToolCall(id="c", name="x", arguments='{"a":' * 5_000)
    whole = ToolCall(id="d", name="y", arguments='{"a":' + "[" * 5_000 + "]" * 5_000 + "}")

    page = shown(conversation(call, whole))

    assert '      {"a":{"a":' in page
    assert "  · y\n" in page


def test_a_moment_without_local_time_is_printed() -> None:
    timing = Timing(started_at=datetime(1, 1, 1, tzinfo=UTC))

    assert "Turn 1 of 1 · " in shown(conversation(timing=timing))
