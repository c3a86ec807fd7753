"""How a conversation reads in a terminal: its head, what was asked and answered, and how each turn ended."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from copilog.model import (
    Agent,
    AnyPart,
    Attachment,
    Checkpoint,
    Citation,
    Compaction,
    Confirmation,
    Conversation,
    CustomAgent,
    Draft,
    Duration,
    EditedFileEvent,
    FileEdit,
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
    Text,
    Thinking,
    Timing,
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
from copilog.view.turns import first_prompts
from copilog.writers.terminal import TextOptions, render_conversation
from tests.writers.text_builders import FOLDER, conversation, edit, shown

# --- the head ---------------------------------------------------------------------------------------------------


def test_the_head_shows_title_facts_and_traces() -> None:
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


def test_the_prompt_comes_first_and_attachments_below_as_chips() -> None:
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


def test_tags_that_the_user_typed_are_shown_where_what_was_sent_is_recorded_beside() -> None:
    typed = "Look:\n<reminder>mine</reminder>\nhere"
    made = conversation(asked=[Text(text=typed), Prompt(text=f"<current_datetime>now</current_datetime>\n\n{typed}")])

    assert "You\n  Look:\n  <reminder>mine</reminder>\n  here\n" in shown(made)
    assert first_prompts(made) == {0: typed}


def test_context_is_shown_only_with_its_option_and_completely_only_with_full() -> None:
    text = "<environment_info>\nLinux\none\ntwo\nthree\nfour\n</environment_info>\n<userRequest>\nWhen?\n</userRequest>"
    made = conversation(asked=[Text(text="When?"), Prompt(text=text)])

    assert "Linux" not in shown(made, full=True)
    folded = shown(made, context=True)
    assert "context · sent with this prompt" in folded
    assert "<environment_info> · 63 characters\n      Linux\n      one\n      two\n      … 2 more lines" in folded
    assert folded.count("When?") == 1
    assert "      four\n" in shown(made, context=True, full=True)


def test_decisions_on_earlier_edits_and_pressed_buttons_are_shown() -> None:
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


def test_html_in_prose_is_shown_as_text() -> None:
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


def test_interrupted_code_continues_as_code() -> None:
    made = conversation(
        Text(text="```sh\nmake\n"), Notice(topic="warning", text="slow"), Text(text="make test\n```\nEnd.")
    )

    assert "  ```sh\n  make\n\n  ⚠ slow\n\n  ```sh\n  make test\n  ```\n  End.\n" in shown(made)


def test_a_block_that_was_never_closed_does_not_swallow_what_follows() -> None:
    made = conversation(Text(text="```sh\nmake\n"), ToolCall(id="c", name="x"), Text(text="All is **well**."))

    assert "  · x\n\n  All is well.\n" in shown(made, terminal=True)


def test_consecutive_thoughts_are_one_line_unless_thinking_is_shown() -> None:
    made = conversation(Thinking(text="Moon."), Thinking(text="Sun.", title="Weighing"), Text(text="Six."))

    assert "  thinking · Weighing · 11 characters\n\n  Six.\n" in shown(made)
    assert "Moon" not in shown(made, full=True)
    assert "  thinking · Weighing · 11 characters\n    Moon.\n\n    Sun.\n" in shown(made, thinking=True)
    assert "thinking" not in shown(conversation(Thinking(text=""), Text(text="Six.")))


# --- everything else in an answer -------------------------------------------------------------------------------


def test_questions_are_shown_with_their_answers() -> None:
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
    assert "  ≡ the history up to here was replaced by a summary · gpt-5-mini · 10 characters · 900 ms\n" in page
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


def test_the_footer_shows_outcome_model_and_time() -> None:
    made = conversation(
        Text(text="Six."),
        status="complete",
        model=Model(id="copilot/auto", name="auto", resolved="gpt-5"),
        details="GPT-5 • 1x",
        mode=Mode(kind="agent"),
        agent=Agent(id="github.copilot.editsAgent", name="agent"),
        command="fix",
        timing=Timing(first_progress_ms=850),
        duration=Duration(elapsed_ms=15_340, waiting_ms=3000, working_ms=12_340),
        usage=[Usage(input=1204, output=311, cache_read=900), Usage(credits=1.5)],
        vote=Vote(is_up=False, reason="wrong"),
        references=[UsedReference(place=Place(path=f"{FOLDER}/a.py")), UsedReference(text="the web", status="partial")],
        citations=[Citation(uri="https://example.com/code", license="MIT")],
        followups=[Followup(text="And low tide?")],
    )

    assert shown(made).endswith(
        "  complete · auto: gpt-5 · 1x · agent mode · @agent · /fix"
        " · 15.3 s (12.3 s working, first progress after 850 ms, waited 3.0 s for the user)"
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
        "\nNever sent (steering)\n  Hurry\n\nDraft in the input box\n  And then\n\n  [file] b.py\n"
    )


def test_single_turns_can_be_selected() -> None:
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


def test_on_a_narrow_terminal_indentation_is_reduced() -> None:
    made = conversation(Text(text="1. first\n2.\n3. third"), ToolResult(call_id="lost", text="forty-two " * 20))
    page = io.StringIO()
    console = Console(file=page, width=24, color_system=None)
    for piece in render_conversation(made, TextOptions()):
        console.print(piece)

    assert page.getvalue().count("forty-two") == 20
    assert max(map(len, page.getvalue().splitlines())) <= 24
    assert " 2.\n" in page.getvalue()


@pytest.mark.parametrize(("details", "recorded"), [("GPT-5 • 7.5 credits", 7.5), ("GPT-5 • 7.5 credits", 8), ("", 7.5)])
def test_credits_of_a_turn_are_shown_once(details: str, recorded: float) -> None:
    printed = shown(conversation(Text(text="At six."), details=details, usage=[Usage(credits=recorded)]))

    assert printed.count("7.5 credits") == 1
    assert ("8 credits" in printed) is (recorded == 8)  # where both differ, both are shown
