"""How calls of tools and edits read in a terminal."""

from __future__ import annotations

import pytest

from copilog.derive import conclude
from copilog.model import (
    Approval,
    FileChange,
    FileEdit,
    FileState,
    Message,
    Place,
    ResultItem,
    SubAgent,
    Terminal,
    Text,
    TodoItem,
    TodoList,
    ToolCall,
    ToolResult,
)
from tests.writers.text_builders import FOLDER, conversation, edit, shown

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
        (ToolCall(id="c", name="slow", status="prepared"), "  · slow  prepared"),
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


def test_a_command_that_the_user_ran_before_the_answer_is_shown() -> None:
    made = conversation(Text(text="At noon."))
    call = ToolCall(id="u", name="local_shell", origin="user", arguments='{"command": "date"}')
    made.messages.insert(1, Message(role="user", parts=[call, Terminal(call_id="u", command="date")], turn=0))
    made.messages.insert(2, Message(role="tool", parts=[ToolResult(call_id="u", text="noon")], turn=0))

    page = shown(made)

    assert "$ date" in page
    assert "a call that is not here" not in page


def test_arguments_and_results_are_shortened_unless_full() -> None:
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


def test_full_output_loses_nothing_of_a_long_argument() -> None:
    call = ToolCall(id="c", name="search", arguments='{"query": "%send"}' % ("word " * 60))

    assert "end" not in shown(conversation(call)).partition("search")[2]
    assert "      query: word word" in shown(conversation(call), full=True)
    assert "word end\n" in shown(conversation(call), full=True)


def test_a_read_file_shows_only_its_number_of_lines() -> None:
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


def test_results_show_locations_and_binary_items() -> None:
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


def test_a_result_without_its_call_is_shown() -> None:
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


def test_the_result_is_shown_if_the_terminal_output_was_not_recorded() -> None:
    call = ToolCall(id="c", name="run_in_terminal", status="complete")

    page = shown(conversation(call, Terminal(call_id="c", command="ls"), ToolResult(call_id="c", text="a.py")))

    assert "      a.py\n" in page
    assert "      $ ls\n" in page


def test_a_command_that_was_not_run_is_shown_before_the_reason() -> None:
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


def test_sub_agents_are_shown_below_their_caller() -> None:
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


def test_a_change_known_only_from_arguments_is_shown_as_a_diff() -> None:
    call = ToolCall(
        id="c",
        name="replace_string_in_file",
        status="complete",
        arguments=f'{{"filePath": "{FOLDER}/tide.py", "oldString": "a\\nlow\\nb", "newString": "a\\nhigh\\nb"}}',
    )
    made = conversation(call, FileEdit(call_id="c", path=f"{FOLDER}/tide.py", batches=[[edit(2, 1, "high")]]))
    conclude(made)

    page = shown(made)

    assert "  ✓ replace_string_in_file  tide.py  +1 -1\n       a\n      -low\n      +high\n       b\n" in page
    assert "✎" not in page


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ('{"filePath": "/x/new.py", "content": "a\\nb\\n"}', "/x/new.py  +2 -0\n      +a\n      +b\n"),
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
    made = conversation(ToolCall(id="c", name="edit", status="complete", arguments=arguments))
    conclude(made)

    assert lines in shown(made)


def test_long_diffs_are_cut_unless_full() -> None:
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

    assert "  file changes of this turn\n  ✎ created /x/other.py  +2 -0  accepted\n      @@ -1 +1,2 @@\n" in page
    assert page.count("shown.py") == 1
    assert "File changes of requests that are not here\n  ✎ edited /x/lost.py  +2 -1  undone\n" in page
    assert "Files\n  /x/other.py  accepted\n" in page


def test_a_renamed_file_is_shown_with_both_names() -> None:
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
