"""The context of trajectories: tags, the user's request, and mentions in it (R-36, R-37, R-39), in any text."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog.tags import Catalogue, Tag, is_injected, load_catalogue
from copilog.telemetry.scan import KEYS, context_of
from tests.telemetry.scan_builders import scan, user

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


def test_r36_a_catalogue_cannot_set_composed_keys() -> None:
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
def test_r36_names_begin_with_a_letter_then_letters_digits_dots_and_dashes(name: str) -> None:
    assert scan(f'<{name} a="1">x</{name}>')["other_tags"] == [{"name": name, "count": 1, "snippet": "x"}]


@pytest.mark.parametrize("text", ["<9a>x</9a>", "< a>x</a>", "<-a>x</-a>", "<a b>x</a>", "<äh>x</äh>"])
def test_r36_any_other_text_is_not_a_tag(text: str) -> None:
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


def test_r36_the_request_is_unchanged_except_for_white_space_around_it() -> None:
    words = 'Follow it.\n<attachment id="prompt:fix">b</attachment>\n\n```\ncode\n```'

    assert scan(f"<userRequest>\n\n{words}  \n</userRequest>")["user_request"] == words


def test_r36_an_empty_request_is_absent() -> None:
    assert "user_request" not in scan("words beside it <userRequest> \n</userRequest>")


def test_r36_without_a_request_tag_the_rest_of_the_message_is_the_request() -> None:
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


def test_r37_known_tags_without_a_key_are_not_unknown_tags() -> None:
    assert "other_tags" not in scan("<todoList>a</todoList><toolReferences>b</toolReferences>")


def test_r37_a_name_that_is_never_closed_is_not_a_tag() -> None:
    assert "other_tags" not in scan("a List<String> and Map<K, V>, if a<b and c>d")


def test_r37_html_in_attachments_and_in_code_is_ignored() -> None:
    html = "<div><B>x</B></div><svg></svg>"

    assert "other_tags" not in scan(f'<attachment id="a.html">{html}</attachment>')
    assert "other_tags" not in scan(f"<attachments>{html}</attachments>")
    assert "other_tags" not in scan(f"<selection>{html}</selection>")
    assert "other_tags" not in scan(f"```html\n{html}\n```")
    assert "other_tags" not in scan(f"what is `{html}`?")


def test_r37_html_outside_of_code_and_other_names_in_code_are_listed() -> None:
    def other(text: str) -> list[str]:
        return [tag["name"] for tag in scan(text)["other_tags"]]

    assert other("make it <b>bold</b>") == ["b"]
    assert other('<attachment id="a.xml"><tide><div>x</div></tide></attachment>') == ["tide"]
    assert other("```xml\n<tide>1</tide>\n```") == ["tide"]


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
