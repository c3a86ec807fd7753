"""What can be searched for, and where it is found."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from copilog.model import (
    AnyPart,
    Attachment,
    Checkpoint,
    Compaction,
    Confirmation,
    Conversation,
    Draft,
    FileChange,
    FileEdit,
    FileTree,
    Followup,
    Hook,
    Message,
    Notice,
    Place,
    Prompt,
    Question,
    Queued,
    Reference,
    ResultItem,
    Role,
    SubAgent,
    Terminal,
    Text,
    TextEdit,
    Thinking,
    TodoItem,
    TodoList,
    ToolCall,
    ToolResult,
    TreeNode,
    Turn,
    TurnError,
    Unknown,
    UsedReference,
)
from copilog.store.schema import TEXT_COLUMNS
from copilog.store.texts import MAX_CHARACTERS, Texts, texts_of


def conversation_of(*messages: Message, **facts: Any) -> Conversation:
    return Conversation(id="vscode:tides", source="vscode-session", messages=list(messages), **facts)


def message(role: Role, *parts: AnyPart, **facts: Any) -> Message:
    return Message(role=role, parts=list(parts), **facts)


def texts_of_message(role: Role, *parts: AnyPart, **facts: Any) -> Texts:
    return texts_of(conversation_of(message(role, *parts, **facts)))[0]


def filled(texts: Texts) -> dict[str, str]:
    return {name: text for name, text in zip(Texts._fields, texts, strict=True) if text is not None}


def test_a_row_has_the_columns_of_the_index() -> None:
    assert Texts._fields == TEXT_COLUMNS


def test_each_message_has_a_row_and_the_title_has_the_last() -> None:
    rows = texts_of(conversation_of(message("user", Text(text="Hello")), message("assistant", Text(text="Hi"))))

    assert [filled(row) for row in rows] == [{"user": "Hello"}, {"answer": "Hi"}, {"title": "Hello"}]


# --- the user -------------------------------------------------------------------------------------------------------


def test_only_the_users_text_of_a_prompt_is_searchable() -> None:
    sent = "<context>\nToday is Monday.\n</context>\n<userRequest>\nWhen is high tide?\n</userRequest>"

    with_words = texts_of_message("user", Text(text="When is high tide?"), Prompt(text=sent))
    without = texts_of_message("user", Prompt(text=sent))

    assert filled(with_words) == filled(without) == {"user": "When is high tide?"}


def test_a_prompt_that_copilot_made_up_is_not_the_users() -> None:
    assert filled(texts_of_message("user", Prompt(text="<reminder>\nBe short.\n</reminder>"))) == {}


def test_system_prompts_are_not_searchable() -> None:
    assert filled(texts_of_message("system", Text(text="You help."), Prompt(text="Be kind.", scope="system"))) == {}


def test_the_prompt_of_a_sub_agent_is_not_a_text_of_the_user() -> None:
    asked = texts_of_message("user", Text(text="Count the ports."), parent_call_id="call_1")

    assert filled(asked) == {"arguments": "Count the ports."}


def test_pasted_text_is_the_users_and_other_attached_text_is_not() -> None:
    texts = texts_of_message(
        "user",
        Text(text="Why?"),
        Attachment(type="paste", text="Error 17"),
        Attachment(type="generic", name="notes", text="Low water"),
        Attachment(type="prompt-text", text="<skills></skills>", is_automatic=True),
    )

    assert filled(texts) == {"user": "Why?\n\nError 17", "result": "Low water", "paths": "notes"}


def test_the_text_of_a_skill_is_searchable_though_the_program_attaches_it() -> None:
    skill = Attachment(
        type="skill", name="lamp-care", text="Trim the wick.", description="For lamps", is_automatic=True
    )

    assert filled(texts_of_message("system", skill)) == {"result": "Trim the wick.\nFor lamps", "paths": "lamp-care"}


def test_answers_to_questions_are_the_users() -> None:
    question = Question(title="Port", text="Which port?", options=["Norrvik", "Stenudden"], answer="Norrvik")

    texts = texts_of_message("assistant", Confirmation(type="questions", title="One thing", questions=[question]))

    assert texts.user == "Norrvik"
    assert texts.answer == "One thing\n\nPort\n\nWhich port?\n\nNorrvik\n\nStenudden"


def test_unsent_prompts_are_in_the_row_of_the_title() -> None:
    queued = Queued(message=message("user", Text(text="And then?")))
    draft = Draft(text="One more", attachments=[Attachment(type="file", place=Place(path="/home/ana/tides.csv"))])

    [row] = texts_of(conversation_of(title="Tides", queued=[queued], draft=draft))

    assert filled(row) == {"title": "Tides", "user": "One more\n\nAnd then?", "paths": "/home/ana/tides.csv"}


# --- the assistant --------------------------------------------------------------------------------------------------


def test_prose_reads_on_over_its_references() -> None:
    place = Place(uri="file:///home/ana/app.py", path="/home/ana/app.py")

    texts = texts_of_message(
        "assistant",
        Thinking(text="Look first.", title="Looking"),
        Text(text="See "),
        Reference(text="app.py", place=place),
        Text(text=" for more."),
    )

    assert filled(texts) == {
        "answer": "See app.py for more.",
        "thinking": "Looking\n\nLook first.",
        "paths": "/home/ana/app.py",
    }


def test_notices_are_prose_or_texts_of_the_product() -> None:
    texts = texts_of_message(
        "assistant",
        Text(text="Done."),
        Notice(topic="warning", text="Slow today.", is_prose=True),
        Notice(topic="model-change", text="tern-4"),
    )

    assert filled(texts) == {"answer": "Done.\n\nSlow today.", "result": "tern-4"}


def test_notices_of_the_system_are_searchable() -> None:
    texts = texts_of_message(
        "system",
        Notice(topic="system", text="Taken over.", is_prose=True),
        Hook(type="PreToolUse", reason="not allowed", message="ask Ana"),
    )

    assert texts.result is not None
    assert sorted(texts.result.split("\n")) == ["Taken over.", "ask Ana", "not allowed"]


def test_a_summary_of_the_history_is_searchable() -> None:
    assert texts_of_message("system", Compaction(text="We read tides.")).answer == "We read tides."


# --- tools ----------------------------------------------------------------------------------------------------------


def test_a_call_is_found_by_name_and_arguments_and_its_result_by_text() -> None:
    rows = texts_of(
        conversation_of(
            message("assistant", ToolCall(id="c1", name="read_file", tool_id="readFile", arguments='{"path":"a.py"}')),
            message("tool", ToolResult(call_id="c1", text="import csv", places=[Place(path="/a.py")])),
        )
    )

    assert filled(rows[0]) == {"arguments": 'readFile\nread_file {"path":"a.py"}', "paths": "a.py"}
    assert filled(rows[1]) == {"result": "import csv", "paths": "/a.py"}


def test_a_call_without_arguments_is_found_by_its_displayed_text() -> None:
    call = ToolCall(id="c1", name="find", message="Searched for `tide`")

    assert texts_of_message("assistant", call).arguments == "find\nSearched for `tide`"


def test_escapes_are_not_part_of_words() -> None:
    written = 'def tide():\n\treturn "C:\\new"  # é'
    escaped = json.dumps({"code": written})
    assert "\\u" in escaped

    for arguments in (escaped, json.dumps({"code": written}, ensure_ascii=False)):
        texts = texts_of_message("assistant", ToolCall(id="c1", name="write", arguments=arguments))
        assert texts.arguments is not None
        assert written in texts.arguments


@given(st.text())
def test_any_argument_is_searchable_without_escapes(text: str) -> None:
    printable = "".join(character for character in text if character >= " " or character in "\n\t\r")
    arguments = json.dumps({"text": printable}, ensure_ascii=False)

    found = texts_of_message("assistant", ToolCall(id="c1", name="write", arguments=arguments)).arguments

    assert found is not None
    assert printable in found


@given(st.text('\\ntru/"0041 \n\t\r'))
def test_escapes_next_to_backslashes_are_decoded(text: str) -> None:
    arguments = json.dumps({"text": text})

    found = texts_of_message("assistant", ToolCall(id="c1", name="write", arguments=arguments)).arguments

    assert found in (f'write {{"text": "{text}"}}', f'write {{"text":"{text}"}}')  # without the space if decoded


def test_arguments_that_are_not_json_are_unchanged() -> None:
    patch = '*** Begin Patch\n+print("a\\n")'

    texts = texts_of_message("assistant", ToolCall(id="c1", name="apply_patch", arguments=patch))

    assert texts.arguments == f"apply_patch {patch}"


def test_a_command_and_its_output_are_found_once() -> None:
    rows = texts_of(
        conversation_of(
            message(
                "assistant",
                ToolCall(id="c1", name="bash", arguments='{"command":"ls tides"}'),
                Terminal(call_id="c1", command="ls tides", output="norrvik.csv\n", cwd="/home/ana"),
            ),
            message("tool", ToolResult(call_id="c1", text="norrvik.csv\n<exited with exit code 0>")),
        )
    )

    assert filled(rows[0]) == {"arguments": 'bash {"command":"ls tides"}', "paths": "/home/ana"}
    assert rows[1].result == "norrvik.csv\n<exited with exit code 0>"


@given(st.text(st.sampled_from("ab\0\n ")))
def test_a_result_reads_the_same_alone_and_among_others(text: str) -> None:
    result = ToolResult(call_id="c1", text=text)

    assert texts_of_message("tool", result) == texts_of_message("tool", result, Checkpoint(id="x"))


def test_an_output_is_found_after_a_text_with_the_same_beginning() -> None:
    heading = "Tides at Norrvik, in hours and metres\n"
    output = f"{heading}04:12  0.3\n"
    found = {f"{heading}10:30  2.1\n{output}": None, f"{heading}10:30  2.1\n": output}
    for text, told in found.items():
        rows = texts_of(
            conversation_of(
                message("assistant", Terminal(call_id="c1", command="tides", output=output)),
                message("tool", ToolResult(call_id="c1", text=text)),
            )
        )
        assert rows[0].result == told


def test_a_text_that_occurs_only_inside_a_longer_word_is_added() -> None:
    rows = texts_of(
        conversation_of(
            message("assistant", Terminal(call_id="c1", command="ls", output="tide")),
            message("tool", ToolResult(call_id="c1", text="tides")),
        )
    )

    assert rows[0].result == "tide"


def test_todos_are_searchable() -> None:
    todos = TodoList(items=[TodoItem(title="Read the table"), TodoItem(title="Write", description="in ink")])

    assert texts_of_message("assistant", todos).arguments == "Read the table\nWrite\nin ink"


def test_the_work_of_a_sub_agent_is_searchable() -> None:
    agent = SubAgent(name="scout", prompt="Find the ports", result="There are two.")

    texts = texts_of_message("assistant", ToolCall(id="c1", name="task", subagent=agent))

    assert filled(texts) == {"arguments": "task\nscout\nFind the ports", "result": "There are two."}


def test_every_form_of_a_result_is_searchable_once() -> None:
    result = ToolResult(
        call_id="c1",
        text="[cut] 64 passed",
        full_text="64 tests\n64 passed",
        display="All is well",
        items=[ResultItem(text="All is well"), ResultItem(text="64 tests"), ResultItem(place=Place(uri="mem:/x"))],
    )

    texts = texts_of_message("tool", result)

    assert filled(texts) == {
        "result": "64 tests\n64 passed\n[cut] 64 passed\nAll is well\nAll is well",
        "paths": "mem:/x",
    }


# --- files ----------------------------------------------------------------------------------------------------------


def test_an_edit_without_a_call_is_found_by_its_text() -> None:
    edit = FileEdit(path="/a.py", batches=[[TextEdit(1, 1, 1, 1, "import csv")]])
    of_call = FileEdit(path="/a.py", call_id="c1", batches=[[TextEdit(1, 1, 1, 1, "import os")]])
    call = ToolCall(id="c1", name="insert", arguments='{"code":"import os"}')

    assert filled(texts_of_message("assistant", edit)) == {"arguments": "import csv", "paths": "/a.py"}
    assert texts_of_message("assistant", call, of_call).arguments == 'insert {"code":"import os"}'


def test_each_path_is_there_once() -> None:
    place = Place(path="/home/ana/tides.csv")
    tree = FileTree(root=TreeNode(label="tides", children=[TreeNode(label="a", uri="file:///a"), TreeNode(label="b")]))

    texts = texts_of_message("assistant", Reference(text="", place=place), Reference(text="", place=place), tree)

    assert texts.paths == "/home/ana/tides.csv\ntides\nfile:///a\nb"


def test_changed_files_are_in_the_row_of_the_title() -> None:
    change = FileChange(uri="file:///b.py", path="/b.py", old_uri="file:///a.py")

    assert texts_of(conversation_of(file_changes=[change]))[-1].paths == "/b.py\nfile:///a.py"


# --- turns, and the rest --------------------------------------------------------------------------------------------


def test_texts_of_a_turn_are_in_the_row_of_its_last_message() -> None:
    turn = Turn(
        index=0,
        error=TurnError(message="Rate limit"),
        references=[UsedReference(place=Place(path="/ports.md"))],
        followups=[Followup(text="What about tomorrow?")],
    )

    rows = texts_of(
        conversation_of(
            message("user", Text(text="Go"), turn=0), message("assistant", Text(text="Sorry"), turn=0), turns=[turn]
        )
    )

    assert filled(rows[0]) == {"user": "Go"}
    assert filled(rows[1]) == {
        "answer": "Sorry",
        "result": "Rate limit\nWhat about tomorrow?",
        "paths": "/ports.md",
    }


def test_an_unknown_part_is_searchable() -> None:
    part = Unknown(type="canvas", raw={"kind": "canvas", "values": [{"text": "a tide"}, 3, None]})

    assert texts_of_message("assistant", part).result == "canvas\na tide"


def test_the_beginning_of_a_very_long_text_is_searchable() -> None:
    rows = texts_of(conversation_of(message("tool", ToolResult(call_id="c1", text="tide " * MAX_CHARACTERS))))

    assert rows[0].result is not None
    assert len(rows[0].result) == MAX_CHARACTERS
