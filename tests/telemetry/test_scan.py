"""The context of trajectories: R-34 to R-39."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog.tags import Catalogue, Tag, is_injected, load_catalogue
from copilog.telemetry.scan import KEYS, PROPERTIES, context_of, message_context, property_value
from copilog.trajectory import TrajectoryMessage

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


def scan(text: str, catalogue: Catalogue | None = None) -> dict[str, Any]:
    """What a message holds, without its number and its mode."""
    context = message_context(text, 0, None, catalogue or load_catalogue())
    assert (context.pop("message_index"), context.pop("mode")) == (0, None)
    return context


def user(text: str, mode: str | None = None) -> TrajectoryMessage:
    return TrajectoryMessage("user", text, mode=mode)


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


def test_r35_keys_stand_in_a_fixed_order() -> None:
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


def test_r35_an_attachment_is_told_by_its_attributes_and_its_body() -> None:
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


def test_r35_attachments_count_wherever_they_stand() -> None:
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


def test_r35_what_a_file_holds_is_no_reference() -> None:
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
def test_r35_code_inside_a_code_to_edit_tag_is_kept_apart(name: str) -> None:
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


def test_r35_a_tag_that_an_attached_file_holds_is_no_context() -> None:
    text = '<attachment id="a.md"><context>of a file</context></attachment><context>real</context>'

    assert scan(text)["context_info"] == "real"
    assert "context_info" not in scan("<file>\n<context>of a file</context>\n</file>")


# the matcher and the user's request


def test_r36_tags_come_from_the_catalogue(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    entries = [
        {"name": "house", "key": "context_info", "origin": "injected", "roles": ["user"]},
        {"name": "sky", "key": "weather", "origin": "injected", "roles": ["user"]},
        {"name": "old-*", "pattern": "old-\\w+", "key": "repo_context", "origin": "injected", "roles": ["user"]},
    ]
    file.write_text(json.dumps(entries))
    catalogue = load_catalogue(file)
    text = "<house>a</house><sky>b</sky><old-repo>c</old-repo><environment_info>d</environment_info>"

    context = context_of([user(text)], {}, catalogue)

    assert context["message_contexts"] == [
        {
            "message_index": 0,
            "mode": None,
            "context_info": "a",
            "repo_context": "c",
            "user_request": "<house>a</house><sky>b</sky><old-repo>c</old-repo>",
            "other_tags": [{"name": "environment_info", "count": 1, "snippet": "d"}],
            "weather": "b",
        }
    ]
    assert context["message_context"]["has_weather"] is True


def test_r36_a_catalogue_cannot_fill_what_is_composed() -> None:
    keys = ("user_request", "file_references", "message_index", "other_tags")
    catalogue = Catalogue([Tag(f"t{index}", "injected", ("user",), key) for index, key in enumerate(keys)])

    assert scan("<t0>a</t0><t1>b</t1><t2>c</t2><t3>d</t3>hello", catalogue) == {
        "user_request": "<t0>a</t0><t1>b</t1><t2>c</t2><t3>d</t3>hello"
    }


def test_r36_a_block_ends_at_the_first_closing_tag_of_its_own_nesting() -> None:
    assert scan("<context>a<context>b</context>c</context>d</context>")["context_info"] == "a<context>b</context>c"
    assert scan("<context>a<todoList>b</context>c</todoList>")["context_info"] == "a<todoList>b"


def test_r36_upper_and_lower_case_differ() -> None:
    assert "context_info" not in scan("<Context>a</Context><CONTEXT>b</CONTEXT>")
    assert scan("<context>a</Context>b</context>")["context_info"] == "a</Context>b"


@pytest.mark.parametrize("name", ["weather", "_x", "a.b-c", "T9", "Größe"])
def test_r36_names_begin_with_a_letter_and_go_on_with_letters_digits_dots_and_strokes(name: str) -> None:
    assert scan(f'<{name} a="1">x</{name}>')["other_tags"] == [{"name": name, "count": 1, "snippet": "x"}]


@pytest.mark.parametrize("text", ["<9a>x</9a>", "< a>x</a>", "<-a>x</-a>", "<a b>x</a>", "<äh>x</äh>"])
def test_r36_what_does_not_is_no_tag(text: str) -> None:
    assert scan(text) == {"user_request": text}


def test_r36_fenced_code_of_the_request_is_not_scanned() -> None:
    code = '```\n<context>a</context>\n<weather filePath="/w/a.py">b</weather>\n```\n'

    found = scan(f"<userRequest>\n{code}<context>c</context>\n</userRequest>")

    assert found["context_info"] == "c"
    assert "other_tags" not in found
    assert "file_references" not in found
    assert scan(code)["context_info"] == "a", "only a request says for sure what the user typed"


def test_r36_unclosed_tags_end_at_the_end_of_the_message() -> None:
    assert scan("hello <context>\na\n<todoList>b")["context_info"] == "a\n<todoList>b"


def test_r36_unclosed_tags_reach_neither_into_the_request_nor_out_of_a_block() -> None:
    found = scan("<environment_info>a\n<userRequest>what is <context>?</userRequest>\n<workspace_info>b")

    assert found["environment_info"] == "a"
    assert found["context_info"] == "?"
    assert found["workspace_info"] == "b"
    text = '<attachments><attachment id="a">x</attachments><context>y</context>'
    assert scan(text)["context_info"] == "y"
    assert scan(text)["attachments"][0]["text"] == "x"


def test_r36_the_request_runs_from_the_last_opening_tag_to_the_last_closing_tag() -> None:
    text = "<userRequest>old</userRequest>\n<userRequest>\nwhy </userRequest> twice?\n</userRequest>\n"

    assert scan(text)["user_request"] == "why </userRequest> twice?"
    assert scan("<context>a</context>\n<user_query>\nhi\n</user_query>")["user_request"] == "hi"
    assert scan("<userRequest>cut o")["user_request"] == "cut o"


def test_r36_the_request_is_kept_as_it_is_but_for_its_edges() -> None:
    words = 'Follow it.\n<attachment id="prompt:fix">b</attachment>\n\n```\ncode\n```'

    assert scan(f"<userRequest>\n\n{words}  \n</userRequest>")["user_request"] == words


def test_r36_an_empty_request_is_absent() -> None:
    assert "user_request" not in scan("words beside it <userRequest> \n</userRequest>")


def test_r36_without_a_request_the_rest_of_the_message_is_it() -> None:
    text = "<context>a</context>\nfix\n<todoList>b</todoList>it<attachments>\nc\n</attachments>\n<skills>d</skills>"

    assert scan(text)["user_request"] == "fix\nit<attachments>\nc\n</attachments>"
    assert scan("  plain words\n")["user_request"] == "plain words"
    assert scan("<prompt>x</prompt>")["user_request"] == "<prompt>x</prompt>"


@pytest.mark.parametrize(
    "text",
    [
        "<environment_info>a</environment_info>\n<context>b</context>",
        "<context>cut off",
        " <conversation-summary>\nwe did\n</conversation-summary>\nThe transcript is elsewhere.",
        "",
    ],
)
def test_r36_a_message_of_the_product_has_no_request(text: str) -> None:
    assert "user_request" not in scan(text)


# tags that nobody knows


def test_r37_unknown_tags_are_counted_with_a_snippet_of_the_first() -> None:
    text = "<weather>\nsunny,\n  mild\n</weather><weather>rain</weather><moon phase=3 /><a.b>c<moon>d</moon></a.b>"

    assert scan(text)["other_tags"] == [
        {"name": "weather", "count": 2, "snippet": "sunny, mild"},
        {"name": "moon", "count": 2, "snippet": "<moon phase=3 />"},
        {"name": "a.b", "count": 1, "snippet": "c<moon>d</moon>"},
    ]


def test_r37_snippets_have_at_most_120_characters() -> None:
    [weather, moon] = scan(f"<weather>{'ab ' * 100}</weather><moon x={'9' * 200} />")["other_tags"]

    assert weather["snippet"] == "ab " * 39 + "ab"
    assert len(moon["snippet"]) == 120


def test_r37_known_tags_without_a_key_are_no_other_tags() -> None:
    assert "other_tags" not in scan("<todoList>a</todoList><toolReferences>b</toolReferences>")


def test_r37_a_name_that_is_never_closed_is_no_tag() -> None:
    assert "other_tags" not in scan("a List<String> and Map<K, V>, if a<b and c>d")


def test_r37_html_in_attachments_and_in_code_is_ignored() -> None:
    html = "<div><B>x</B></div><svg></svg>"

    assert "other_tags" not in scan(f'<attachment id="a.html">{html}</attachment>')
    assert "other_tags" not in scan(f"<attachments>{html}</attachments>")
    assert "other_tags" not in scan(f"<selection>{html}</selection>")
    assert "other_tags" not in scan(f"```html\n{html}\n```")
    assert "other_tags" not in scan(f"what is `{html}`?")


def test_r37_html_elsewhere_and_other_names_in_code_are_told() -> None:
    def other(text: str) -> list[str]:
        return [tag["name"] for tag in scan(text)["other_tags"]]

    assert other("make it <b>bold</b>") == ["b"]
    assert other('<attachment id="a.xml"><tide><div>x</div></tide></attachment>') == ["tide"]
    assert other("```xml\n<tide>1</tide>\n```") == ["tide"]


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


def test_r38_truth_values_say_which_keys_any_message_has() -> None:
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


# mentions


@pytest.mark.parametrize(
    ("words", "mentioned"),
    [
        ("@workspace where? ask @my-agent and @terminal, @vscode", ["workspace", "my-agent", "terminal", "vscode"]),
        ("mail me@home, see /@scope/x or @@double", None),
        ("(@terminal)", ["terminal"]),
        ("@9 @ x", None),
    ],
)
def test_r39_agents_are_mentioned_with_a_sign(words: str, mentioned: list[str] | None) -> None:
    assert scan(words).get("agent_mentions") == mentioned
    assert scan(f"<userRequest>{words}</userRequest>").get("agent_mentions") == mentioned


def test_r39_mentions_count_only_inside_the_request() -> None:
    text = "<context>@workspace</context>\n@terminal\n<userRequest>hi @vscode</userRequest>\n@ana"

    assert scan(text)["agent_mentions"] == ["vscode"]
    assert "agent_mentions" not in scan("<context>@workspace</context>")


# Any text


tangled = st.lists(
    st.sampled_from(
        [
            *("<context>", "</context>", "<userRequest>", "</userRequest>", "<user_query>", "</user_query>"),
            *('<attachment id="a" filePath="/w/a">', "</attachment>", "<attachments>", "</attachments>", "<selection>"),
            *("</selection>", "<weather>", "</weather>", "<b>", "</b>", "<editorContext>", "</editorContext>"),
            *("\n```\n", "```py\n", "~~~\n", "`", "@ana", "#file:a", "words", " ", "\n", "<x a=1 />", "\ud800"),
            *("The user's current file is ", "<conversation-summary>", "// filepath: /w/b\n", "<", ">"),
        ]
    ),
    max_size=30,
).map("".join)


@settings(deadline=None)
@given(tangled | st.text())
def test_any_text_can_be_scanned(text: str) -> None:
    found = scan(text)

    assert [key for key in KEYS if key in found] == list(found)
    assert all(found.values())
    if "<userRequest" not in text and "<user_query" not in text:
        assert not (is_injected(text) and "user_request" in found)
    for value in found.values():
        assert isinstance(value, str | list)
        if isinstance(value, str):
            assert value == value.strip()
        else:
            assert len({repr(item) for item in value}) == len(value)
    for tag in found.get("other_tags", []):
        assert 0 < len(tag["snippet"]) <= 120
        assert load_catalogue().get(tag["name"]) is None


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_context_is_json(text: str) -> None:
    context = context_of([user(text)], {"fileExcerpt": text}, load_catalogue())

    assert json.loads(msgspec.json.encode(context)) == json.loads(json.dumps(context))


@pytest.mark.parametrize(
    "unit",
    [
        *("<a>", "<context>", '<context a="', "<userRequest>", "<a></a>", "<b></b>`", "```\n", "~~~a\n"),
        *("@a", "#file:", "#file:'", '<attachment id="a">', '<attachment path="a"></attachment>', "<selection>"),
        *("<attachments><attachment>", "```\n<b>x</b>\n```\n", "<editorContext>current file is ", " ", "<x \n"),
    ],
)
def test_hostile_text_is_scanned_in_one_pass(unit: str) -> None:
    text = unit * (200_000 // len(unit))

    for prompt in (text, f"<userRequest>{text}</userRequest>", f"{text}<userRequest>x</userRequest>"):
        scan(prompt)  # a quadratic search would take minutes


def test_deep_nesting_copies_nothing_twice() -> None:
    depth = 30_000
    names = ("weather", "context", "attachment", "selection")

    for name in names:
        scan(f"<{name}>" * depth + "\n```\nx\n```\n" + f"</{name}>" * depth)
