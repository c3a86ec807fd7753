"""Conversations as HTML: every kind of part is drawn, in order."""

from __future__ import annotations

from markupsafe import Markup, escape

from copilog.model import (
    Approval,
    Attachment,
    Checkpoint,
    Compaction,
    Confirmation,
    FileChange,
    FileEdit,
    FileState,
    FileTree,
    Hook,
    Mention,
    Message,
    Notice,
    Place,
    Prompt,
    Question,
    Reference,
    ResultItem,
    SubAgent,
    Terminal,
    Text,
    Thinking,
    TodoItem,
    TodoList,
    ToolCall,
    ToolResult,
    TreeNode,
    Unknown,
)
from copilog.render.pages import environment
from copilog.view.nesting import Nesting
from copilog.view.prose import without_marks
from copilog.writers.html.addresses import ServedAddresses, picture_type
from copilog.writers.html.conversation import Pages
from copilog.writers.html.text_blocks import with_things
from tests.writers.html_builders import answered, asked, drawn, shown, told

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
DIFF = "--- a/src/tides.py\n+++ b/src/tides.py\n@@ -1,2 +1,2 @@\n import math\n-low = 1\n+low = 2\n"


# --- what was asked ---------------------------------------------------------------------------------------------


def test_prompts_are_shown_as_typed_with_lines_code_and_mentions() -> None:
    words = "Fix #file:tides.py\n<b>now</b>\n```python\nlow = 1\n```\nand `x`"
    html = shown(told(asked(Text(text=words), Mention(type="file", name="tides.py", start=4, end=18))))

    assert '<span class="mention" title="file">#file:tides.py</span>' in html
    assert "&lt;b&gt;now&lt;/b&gt;" in html
    assert 'class="code"' in html
    assert "<code>x</code>" in html


def test_a_mention_at_an_invalid_offset_does_no_harm() -> None:
    html = shown(told(asked(Text(text="short"), Mention(type="file", name="x", start=3, end=400))))

    assert "short" in html


def test_injected_context_is_folded_and_set_apart_from_the_users_words() -> None:
    sent = "<context>\nThe date is 4 May.\n</context>\n<userRequest>\nWhen is low tide?\n</userRequest>"
    html = shown(told(asked(Text(text="When is low tide?"), Prompt(text=sent))))

    assert '<details class="part context">' in html
    assert "&lt;context&gt;" in html
    assert "The date is 4 May." in html
    assert "the user's own words" in html


def test_tags_within_the_prompt_are_set_apart() -> None:
    html = shown(told(asked(Text(text="<context>\nThe date.\n</context>\n<userRequest>\nLow tide?\n</userRequest>"))))

    assert "Injected context" in html
    words = html.split('class="part words"')[1].split("</article>")[0]
    assert "Low tide?" in words
    assert "The date." not in words.split('class="part')[0]


def test_attachments_are_chips_and_pictures_are_drawn() -> None:
    conversation = told(
        asked(
            Attachment(type="image", name="chart.png", data=PNG, mime_type="image/png"),
            Attachment(type="file", name="tides.py", place=Place(path="/home/ana/tide-tables/src/tides.py")),
            Attachment(type="prompt-text", name="rules", text="Be brief.", is_automatic=True),
        )
    )

    assert 'src="data:image/png;base64,' in shown(conversation)
    assert 'src="/conversation/attachment?id=vscode%3A1&amp;message=0&amp;part=0"' in shown(
        conversation, is_served=True
    )
    assert "src/tides.py" in shown(conversation)
    assert "added by itself" in shown(conversation)


def test_a_file_that_is_not_really_a_picture_is_not_drawn() -> None:
    vector = Attachment(type="image", name="x.svg", data=b"<svg onload='alert(1)'/>", mime_type="image/svg+xml")
    html = shown(told(asked(vector)))

    assert "<img" not in html
    assert picture_type(b"<svg/>") is None
    assert picture_type(b"RIFF\0\0\0\0WEBPVP8 ") == "image/webp"
    assert picture_type(b"\xff\xd8\xff\xe0") == "image/jpeg"
    assert picture_type(b"GIF89a") == "image/gif"


def test_a_system_prompt_is_folded() -> None:
    html = shown(told(Message(role="system", parts=[Text(text="You are careful.")], turn=0)))

    assert "System prompt" in html
    assert "You are careful." in html


# --- what was answered ------------------------------------------------------------------------------------------


def test_prose_continues_across_parts_with_files_as_chips() -> None:
    html = shown(
        told(
            answered(
                Text(text="Look at "),
                Reference(text="`tides.py`", place=Place(path="/home/ana/tide-tables/src/tides.py")),
                Text(text=" and | **this**\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", vulnerabilities=["hard-coded name"]),
            )
        )
    )

    assert '<p>Look at <span class="ref" title="src/tides.py">tides.py</span> and | <strong>this</strong></p>' in html
    assert "<table>" in html
    assert "Possible vulnerability: hard-coded name" in html


def test_a_chip_cannot_break_out_of_the_title_of_a_link() -> None:
    evil = Reference(text='" onmouseover="alert(1)', place=Place(path="/x"))
    html = shown(told(answered(Text(text='[a](https://example.com "'), evil, Text(text='") end'))))

    assert '"alert(1)' not in html
    assert " onmouseover=" not in html.replace("&#34; onmouseover=", "").replace("&quot; onmouseover=", "")


def test_characters_that_serve_as_marks_do_no_harm_in_texts() -> None:
    things = [(Markup("<i>x</i>"), "x")]
    text = without_marks("a\U00100000b") + " \U00100000"

    assert with_things(escape(text), things) == "a\ufffdb <i>x</i>"
    assert with_things(Markup('<a title="\U00100000">'), things) == '<a title="x">'


def test_thinking_is_folded() -> None:
    html = shown(told(answered(Thinking(text="Hm.", title="Weighing"), Thinking(text="So."), Text(text="Yes."))))

    assert html.count('class="part thought"') == 1
    assert "Weighing" in html
    assert html.index("Hm.") < html.index("So.") < html.index("Yes.")


def test_a_tool_call_is_shown_in_order_with_arguments_and_result() -> None:
    html = shown(
        told(
            answered(
                Text(text="First."),
                ToolCall(
                    id="c1", name="station_info", arguments='{"station": "norrvik", "depth": 2}', status="complete"
                ),
                Text(text="Last."),
            ),
            Message(role="tool", turn=0, parts=[ToolResult(call_id="c1", text='{"zone": 7}')]),
        )
    )

    assert html.index("First.") < html.index("station_info") < html.index("zone") < html.index("Last.")
    assert 'id="m-1"' in html
    assert html.count("<article") == 1


def test_terminal_output_has_colours_and_the_exit_code() -> None:
    html = shown(
        told(
            answered(
                ToolCall(id="c1", name="run_in_terminal", arguments='{"command": "pytest"}', status="complete"),
                Terminal(call_id="c1", command="pytest", output="\x1b[31m2 failed\x1b[0m", exit_code=1, cwd="/tmp/x"),
            ),
            Message(role="tool", turn=0, parts=[ToolResult(call_id="c1", text="2 failed")]),
        )
    )

    assert '<span class="t-red">2 failed</span>' in html
    assert "exit code 1" in html
    assert "What the model received" in html


def test_results_show_pictures_files_errors_and_what_the_user_saw() -> None:
    call = ToolCall(id="c1", name="look", status="failed", approval=Approval(kind="denied"), origin="mcp", server="sea")
    result = ToolResult(
        call_id="c1",
        text="no such station",
        is_error=True,
        display="Nothing found",
        full_text="no such station, at all",
        full_text_path="/home/ana/output.txt",
        items=[ResultItem(data=PNG, mime_type="image/png"), ResultItem(text="more"), ResultItem(data=b"?")],
        places=[Place(path="/home/ana/tide-tables/a.py")],
    )
    html = shown(told(answered(call), Message(role="tool", turn=0, parts=[result])))

    for words in (
        "no such station",
        "Nothing found",
        "at all",
        "/home/ana/output.txt",
        "more",
        "a.py",
        "MCP server sea",
    ):
        assert words in html
    assert "<img" in html
    assert "is-failed" in html


def test_a_result_without_its_call_is_not_lost() -> None:
    html = shown(told(Message(role="tool", turn=0, parts=[ToolResult(call_id="gone", text="42 cm")])))

    assert "The result of a call that is not here (gone)" in html
    assert "42 cm" in html


def test_todo_lists_show_what_is_done() -> None:
    items = [TodoItem(title="Read", status="completed"), TodoItem(title="Write", status="in-progress")]
    html = shown(told(answered(TodoList(items=[*items, TodoItem(title="Test")]))))

    assert "1 of 3 done" in html
    assert '<li class="is-done">' in html
    assert '<li class="is-doing">' in html
    assert '<li class="is-open">' in html


def test_edits_have_diffs_in_both_layouts_and_show_their_outcome() -> None:
    edit = FileEdit(uri="file:///t/tides.py", path="/t/tides.py", diff=DIFF, added=1, removed=1)
    conversation = told(answered(edit), files=[FileState(uri="file:///t/tides.py", decision="rejected")])
    served = shown(conversation, is_served=True)

    assert 'class="unified-view"' in served
    assert 'class="split-view"' in served
    assert ">undone</span>" in served


def test_a_page_without_scripts_has_details_in_place_of_buttons() -> None:
    window = Pages(told(answered(FileEdit(path="/t/tides.py", diff=DIFF)))).whole()
    html = str(environment().get_template("turn.html").module.window(window, is_static=True))  # type: ignore[attr-defined]

    assert "<summary>Side by side</summary>" in html
    assert 'class="raw"' not in html


def test_changes_known_only_from_the_editing_history_are_below_the_turn() -> None:
    change = FileChange(uri="file:///t/a.py", path="/t/a.py", turn=0, diff=DIFF, added=1, removed=1, is_undone=True)
    stray = FileChange(uri="file:///t/b.py", path="/t/b.py", turn=7, diff=DIFF)
    html = shown(told(answered(Text(text="Done.")), file_changes=[change, stray]))

    assert "Changes of files in this turn" in html
    assert "Changes of requests that are not here" in html
    assert ">undone</span>" in html


def test_sub_agents_are_nested_below_the_call_that_started_them() -> None:
    agent = SubAgent(name="Explore", prompt="Find all stations.", model="gpt-5-mini", elapsed_ms=2100)
    conversation = told(
        answered(ToolCall(id="c1", name="runSubagent", status="complete", subagent=agent)),
        Message(
            role="assistant", parts=[ToolCall(id="c2", name="grep", status="complete")], turn=0, parent_call_id="c1"
        ),
        Message(role="tool", parts=[ToolResult(call_id="c2", text="3 hits")], turn=0, parent_call_id="c1"),
        Message(role="assistant", parts=[Text(text="Three stations.")], turn=0, parent_call_id="c1"),
        Message(role="tool", parts=[ToolResult(call_id="c1", text="Three stations.")], turn=0),
        answered(Text(text="There are three.")),
    )
    html = shown(conversation)

    outer = html[html.index('class="below"') : html.index("There are three.")]
    for words in ("Explore", "Find all stations.", "gpt-5-mini", "3 hits", "Three stations.", 'id="m-3"'):
        assert words in outer
    assert Nesting(conversation).holders == [0, 0, 0, 0, 0, 5]


def test_calls_that_start_each_other_are_shown() -> None:
    conversation = told(
        Message(role="assistant", parts=[ToolCall(id="a", name="first")], turn=0, parent_call_id="b"),
        Message(role="assistant", parts=[ToolCall(id="b", name="second")], turn=0, parent_call_id="a"),
    )

    html = shown(conversation)

    assert "first" in html
    assert "second" in html


def test_a_long_sub_agent_comes_in_pieces() -> None:
    below = [
        Message(role="assistant", parts=[Text(text=f"step {n}.")], turn=0, parent_call_id="c1") for n in range(100)
    ]
    view = Pages(told(answered(ToolCall(id="c1", name="task")), *below), ServedAddresses("vscode:1"))

    html = drawn(view.window())
    messages, more = view.messages_below("c1", 90)

    assert "step 29." in html
    assert "step 30." not in html
    assert "/conversation/below?id=vscode%3A1&amp;call=c1&amp;skip=30" in html
    assert [message.number for message in messages] == list(range(91, 101))
    assert more is None
    assert "step 70." in drawn(view.window_around(71))


def test_notices_of_all_kinds_are_shown() -> None:
    html = shown(
        told(
            answered(
                Confirmation(
                    type="confirmation", title="Go on?", options=["Yes", "No"], answer="Yes", state="accepted"
                ),
                Confirmation(type="questions", questions=[Question(text="Which?", options=["a"], answer="b")]),
                Notice(topic="warning", text="Careful with **tides**"),
                Notice(topic="mcp-servers"),
                Hook(type="PreToolUse", is_blocking=True, reason="not allowed", tool="rm"),
                Compaction(text="It was about tides.", trigger="manual"),
                Checkpoint(id="cp-1"),
                FileTree(root=TreeNode(label="src", children=[TreeNode(label="tides.py")])),
                Unknown(type="hologram", raw={"depth": 3}),
                Reference(type="pull-request", text="Fix tides", place=Place(uri="https://example.com/1")),
                Attachment(type="file", name="loose.txt"),
            )
        )
    )

    for words in ("Go on?", 'class="option taken">Yes', "Which?", "Careful with", "MCP servers started", "not allowed"):
        assert words in html
    for words in ("It was about tides.", "Checkpoint", "tides.py", "hologram", "depth", "Fix tides", "loose.txt"):
        assert words in html
