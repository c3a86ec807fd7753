"""The context of trajectories: properties, the keys of a message, and what there is at all (R-34, R-35, R-38)."""

from __future__ import annotations

from typing import Any

import pytest

from copilog.tags import load_catalogue
from copilog.telemetry.scan import KEYS, PROPERTIES, context_of, message_context, property_value
from copilog.trajectory import TrajectoryMessage
from tests.telemetry.scan_builders import scan, user

PROMPT = """\
<environment_info>
The user's current OS is: Linux
</environment_info>
<workspace_info>
I am working in a workspace with the following folders:
- /home/ana/tides
</workspace_info>
<attachments>
<attachment id="main.py" filePath="/home/ana/tides/main.py">
```python
print("<context>")
```
</attachment>
</attachments>
<context>
The current date is May 1, 2026.
</context>
<editorContext>
The user's current file is /home/ana/tides/moon phases.py. The current selection is from line 1 to line 3.
</editorContext>
<repoContext>
Repository name: tides
</repoContext>
<reminderInstructions>
Think first.
</reminderInstructions>
<userRequest>
@workspace why does #file:main.py print that?
</userRequest>
"""


# properties


def test_r34_properties_come_first_and_in_their_order() -> None:
    properties = dict.fromkeys(reversed(PROPERTIES), "x") | {"headerRequestId": "h-1"}

    context = context_of([user("hello")], properties, load_catalogue())

    assert list(context) == [*PROPERTIES, "message_contexts", "message_context"]


def test_r34_properties_that_are_absent_stay_absent() -> None:
    context = context_of([], {"contextTypes": "none"}, load_catalogue())

    assert list(context) == ["contextTypes", "message_contexts", "message_context"]
    assert context["contextTypes"] == "none"


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ('[{"path": "a.py"}]', [{"path": "a.py"}]),
        (' {"start": 1} ', {"start": 1}),
        ("[]", []),
        ('"main.py"', '"main.py"'),
        ("12", "12"),
        ("null", "null"),
        ("[half", "[half"),
        ("{tides}", "{tides}"),
        ("file", "file"),
        ("", ""),
        (["a"], ["a"]),
        ({"a": "[1]"}, {"a": "[1]"}),
        (7, 7),
    ],
)
def test_r34_json_text_is_decoded_when_it_is_a_list_or_an_object(value: Any, meant: Any) -> None:
    assert property_value(value) == meant
    assert context_of([], {"fileExcerpt": value}, load_catalogue())["fileExcerpt"] == meant


# the keys of a message


def test_r35_a_prompt_is_filed_under_its_keys() -> None:
    assert scan(PROMPT) == {
        "environment_info": "The user's current OS is: Linux",
        "workspace_info": "I am working in a workspace with the following folders:\n- /home/ana/tides",
        "context_info": "The current date is May 1, 2026.",
        "editor_context": "The user's current file is /home/ana/tides/moon phases.py. "
        "The current selection is from line 1 to line 3.",
        "repo_context": "Repository name: tides",
        "reminder_instructions": "Think first.",
        "user_request": "@workspace why does #file:main.py print that?",
        "attachments": [
            {
                "id": "main.py",
                "path": "/home/ana/tides/main.py",
                "kind": "file",
                "text": '```python\nprint("<context>")\n```',
            }
        ],
        "file_references": ["/home/ana/tides/main.py", "/home/ana/tides/moon phases.py", "main.py"],
        "code_snippets": [{"language": "python", "path": "/home/ana/tides/main.py", "text": 'print("<context>")'}],
        "agent_mentions": ["workspace"],
    }


def test_r35_only_user_messages_are_scanned_and_keep_their_number_and_mode() -> None:
    messages = [
        TrajectoryMessage("system", "<context>rules</context>"),
        user("<context>one</context>", "ask"),
        TrajectoryMessage("assistant", "<context>no</context>"),
        TrajectoryMessage("tool", "<context>no</context>", tool_call_id="c-1"),
        user("<context>two</context>"),
    ]

    assert context_of(messages, {}, load_catalogue())["message_contexts"] == [
        {"message_index": 1, "mode": "ask", "context_info": "one"},
        {"message_index": 4, "mode": None, "context_info": "two"},
    ]


def test_r35_a_message_that_holds_nothing_has_an_entry_of_its_own() -> None:
    context = context_of([user(" \n")], {}, load_catalogue())

    assert context["message_contexts"] == [{"message_index": 0, "mode": None}]


def test_r35_keys_are_in_a_fixed_order() -> None:
    text = "<weather>x</weather>\n<selection>\n```py\na = 1\n```\n</selection>\n" + PROMPT

    found = message_context(text, 3, "agent", load_catalogue())

    assert list(found) == ["message_index", "mode", *KEYS]


def test_r35_the_text_of_a_tag_is_trimmed_and_an_empty_one_is_absent() -> None:
    assert scan("<context>\n\n  a\n b  \n</context><environment_info> \n </environment_info>") == {
        "context_info": "a\n b"
    }


def test_r35_tags_of_one_key_are_joined() -> None:
    text = "<reminder>one</reminder><reminderInstructions>two</reminderInstructions><reminder>one</reminder>"

    assert scan(text)["reminder_instructions"] == "one\n\ntwo"


def test_r35_an_attachment_has_its_attributes_and_its_body() -> None:
    text = (
        '<attachments>\n<attachment id="a.py" filePath="/home/ana/a.py">a</attachment>\n'
        '<attachment folderPath="/home/ana/src">b</attachment>\n<attachment tool="tests">c</attachment>\n'
        '<attachment id="prompt:fix" filePath="/home/ana/fix.prompt.md">d</attachment>\n'
        '<attachment id=7 kind="note" path="e.md" />\n<attachment>\nf\n</attachment>\n</attachments>'
    )

    assert [tuple(attachment.values()) for attachment in scan(text)["attachments"]] == [
        ("a.py", "/home/ana/a.py", "file", "a"),
        (None, "/home/ana/src", "folder", "b"),
        (None, None, "tool", "c"),
        ("prompt:fix", "/home/ana/fix.prompt.md", "prompt", "d"),
        ("7", "e.md", "note", ""),
        (None, None, None, "f"),
    ]
    assert list(scan(text)["attachments"][0]) == ["id", "path", "kind", "text"]


def test_r35_the_body_of_an_attachment_is_cut_at_400_characters() -> None:
    [attachment] = scan(f'<attachment id="long">\n{"é" * 401}\n</attachment>')["attachments"]

    assert attachment["text"] == "é" * 400


def test_r35_attachments_count_at_any_position() -> None:
    text = (
        '<instructions>\n<attachment filePath="/w/py.instructions.md">a</attachment>\n</instructions>\n'
        '<userRequest>\nFollow it.\n<attachment id="prompt:fix">b</attachment>\n</userRequest>'
    )

    assert [attachment["text"] for attachment in scan(text)["attachments"]] == ["a", "b"]


def test_r35_an_attachment_inside_an_attachment_is_part_of_it() -> None:
    [attachment] = scan('<attachment id="a">x <attachment id="b">y</attachment></attachment>')["attachments"]

    assert (attachment["id"], attachment["text"]) == ("a", 'x <attachment id="b">y</attachment>')


def test_r35_references_come_from_attributes_mentions_and_the_editor() -> None:
    text = (
        '<error path="/w/late.py" line=3>undefined</error>\n<future filePath="/w/new.py">x</future>\n'
        "<editorContext>The user's current notebook is /w/tides v2.ipynb.</editorContext>\n"
        "<userRequest>compare #file:a.py, (#file:'b c.py') and #file:\"d.py\" with #file:/w/late.py.</userRequest>"
    )

    assert scan(text)["file_references"] == [
        *("/w/late.py", "/w/new.py", "/w/tides v2.ipynb"),
        *("a.py", "b c.py", "d.py"),
    ]


def test_r35_text_in_a_file_is_not_a_reference() -> None:
    text = (
        '<attachment id="app.tsx">\n<Route path="/tides">#file:x.py @ana</Route>\n</attachment>\n'
        "see\n```\n#file:y.py @bob\n```\nmail ana#file:z"
    )

    assert "file_references" not in scan(text)
    assert "agent_mentions" not in scan(text)


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ("The user's current file is /w/a.b/c.py. ", "/w/a.b/c.py"),
        ("The user's current file is c:\\w\\a.ts", "c:\\w\\a.ts"),
        ("The user's current file is /w/a.py. The current selection is from line 1 to line 2.", "/w/a.py"),
    ],
)
def test_r35_the_editor_context_names_the_current_file(said: str, path: str) -> None:
    assert scan(f"<editorContext>\n{said}\n</editorContext>")["file_references"] == [path]


def test_r35_fenced_code_has_a_language_a_path_and_a_text() -> None:
    text = (
        "```ts\n// filepath: /w/a.ts\nlet a = 1;\n```\n"
        "~~~~html title\n<!-- filepath: /w/b.html -->\n<p>b</p>\n~~~~\n"
        "```\n  c\n```\n````md\n```\nd\n```\n````\n```\n```\n"
    )

    assert [tuple(code.values()) for code in scan(text)["code_snippets"]] == [
        ("ts", "/w/a.ts", "// filepath: /w/a.ts\nlet a = 1;"),
        ("html", "/w/b.html", "<!-- filepath: /w/b.html -->\n<p>b</p>"),
        (None, None, "  c"),
        ("md", None, "```\nd\n```"),
    ]
    assert list(scan(text)["code_snippets"][0]) == ["language", "path", "text"]


@pytest.mark.parametrize("name", ["selection", "file-selection", "selected-code", "codeToEdit", "code_to_edit"])
def test_r35_code_inside_a_code_to_edit_tag_is_listed_separately(name: str) -> None:
    text = f'```py\na\n```\n<{name} path="/w/b.py">\n```py\nb\n```\nand\n```\nc\n```\n</{name}>\n```py\nd\n```'

    found = scan(text)

    assert [code["text"] for code in found["code_snippets"]] == ["a", "d"]
    assert found["code_to_edit"] == [
        {"language": "py", "path": "/w/b.py", "text": "b"},
        {"language": None, "path": "/w/b.py", "text": "c"},
    ]


def test_r35_a_fence_that_a_file_leaves_open_ends_with_the_file() -> None:
    text = (
        '<attachments>\n<attachment id="a.md">\n```py\nx = 1\n</attachment>\n'
        '<attachment id="b.md" filePath="/w/b.md">\n```py\ny = 2\n```\n</attachment>\n</attachments>'
    )

    assert [code["text"] for code in scan(text)["code_snippets"]] == ["y = 2"]


def test_r35_a_tag_in_an_attached_file_is_not_context() -> None:
    text = '<attachment id="a.md"><context>of a file</context></attachment><context>real</context>'

    assert scan(text)["context_info"] == "real"
    assert "context_info" not in scan("<file>\n<context>of a file</context>\n</file>")


# once each, and what there is at all


def test_r38_lists_hold_each_item_where_it_came_first() -> None:
    attachment = '<attachment id="a" filePath="/w/a.py">\n```py\nx\n```\n</attachment>\n'
    text = (
        f'{attachment}<error path="/w/b.py">e</error>{attachment}\n<userRequest>@b @a @b #file:b #file:a</userRequest>'
    )

    found = scan(text)

    assert [attachment["id"] for attachment in found["attachments"]] == ["a"]
    assert [code["text"] for code in found["code_snippets"]] == ["x"]
    assert found["file_references"] == ["/w/a.py", "/w/b.py", "b", "a"]
    assert found["agent_mentions"] == ["b", "a"]


def test_r38_items_that_differ_in_anything_are_different() -> None:
    text = "```py\nx\n```\n```js\nx\n```\n<selection>\n```\nx\n```\n</selection>"

    assert [code["language"] for code in scan(text)["code_snippets"]] == ["py", "js"]
    assert len(scan(text)["code_to_edit"]) == 1


def test_r38_booleans_mark_the_keys_that_any_message_has() -> None:
    context = context_of([user("<context>a</context>"), user("@workspace hi")], {}, load_catalogue())

    has = context["message_context"]
    assert list(has) == [f"has_{key}" for key in KEYS]
    assert {key for key, value in has.items() if value is True} == {
        "has_context_info",
        "has_user_request",
        "has_agent_mentions",
    }
    assert sum(value is False for value in has.values()) == len(KEYS) - 3


def test_r38_a_conversation_without_user_messages_has_nothing() -> None:
    context = context_of([TrajectoryMessage("system", "<context>a</context>")], {}, load_catalogue())

    assert context["message_contexts"] == []
    assert set(context["message_context"].values()) == {False}
