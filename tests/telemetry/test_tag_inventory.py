"""Counting tags: the summary of a run, and the inventory of all roles."""

from __future__ import annotations

import pickle
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog.model import Attachment, Conversation, Message, Prompt, Text, Thinking, ToolResult
from copilog.tags import load_catalogue
from copilog.telemetry.scan import context_of
from copilog.telemetry.tag_inventory import MOST_SNIPPETS, TagSummary, inventory_of, texts_of
from copilog.trajectory import TrajectoryMessage

CATALOGUE = load_catalogue()

Texts = list[tuple[str, str]]


def summary_of(*conversations: list[str]) -> TagSummary:
    """Return the tag summary of these user messages."""
    summary = TagSummary()
    for texts in conversations:
        messages = [TrajectoryMessage("system", "<rules>x</rules>")]
        messages += [TrajectoryMessage("user", text) for text in texts]
        context_of(messages, {}, CATALOGUE, summary)
    return summary


def entry(document: dict[str, Any], name: str) -> dict[str, Any]:
    [found] = [tag for tag in document["tags"] if tag["name"] == name]
    assert isinstance(found, dict)
    return found


# The summary of a run


def test_a_run_counts_the_tags_of_its_user_messages() -> None:
    summary = summary_of(
        ["<context>a</context><weather>sun</weather><weather>rain</weather>", "<weather x=1 y=2>fog</weather>"],
        ["<context>b</context>", "words"],
    )

    assert summary.to_json() == {
        "conversations": 2,
        "messages": 4,
        "known_tags": 1,
        "new_tags": 1,
        "tags": [
            {
                "name": "weather",
                "is_known": False,
                "origin": None,
                "key": None,
                "count": 3,
                "messages": 2,
                "conversations": 1,
                "roles": {"user": 3},
                "attributes": {"x": 1, "y": 1},
                "snippets": ["fog", "sun"],
            },
            {
                "name": "context",
                "is_known": True,
                "origin": "injected",
                "key": "context_info",
                "count": 2,
                "messages": 2,
                "conversations": 2,
                "roles": {"user": 2},
                "attributes": {},
                "snippets": [],
            },
        ],
    }


def test_a_run_without_tags_has_an_empty_summary() -> None:
    assert TagSummary().to_json() == {"conversations": 0, "messages": 0, "known_tags": 0, "new_tags": 0, "tags": []}


def test_a_few_different_snippets_are_kept() -> None:
    summary = summary_of([f"<weather>{number % 7}</weather>" for number in range(50, 0, -1)])

    assert entry(summary.to_json(), "weather")["snippets"] == ["0", "1", "2"][:MOST_SNIPPETS]


def test_half_characters_in_a_snippet_can_be_written() -> None:
    document = summary_of(["<weather>\ud83d sun</weather>"]).to_json()

    assert msgspec.json.decode(msgspec.json.encode(document))["tags"][0]["snippets"] == ["\ufffd sun"]


def test_a_summary_travels_between_processes() -> None:
    summary = summary_of(["<weather>sun</weather><context>a</context>"])

    assert pickle.loads(pickle.dumps(summary)) == summary


tagged_texts = st.lists(
    st.sampled_from(
        ["<weather>sun</weather>", "<weather a=1>rain</weather>", "<moon>3</moon>", "<context>c</context>"]
    ),
    max_size=4,
).map("".join)
conversations = st.lists(st.lists(tagged_texts, max_size=3), max_size=3)


@settings(deadline=None)
@given(conversations, conversations, conversations)
def test_summaries_add_up_in_any_order_and_grouping(a: list[Any], b: list[Any], c: list[Any]) -> None:
    one, two, three = summary_of(*a), summary_of(*b), summary_of(*c)
    whole = summary_of(*a, *b, *c).to_json()

    assert one.combine(two).combine(three).to_json() == whole
    assert three.combine(one.combine(two)).to_json() == whole
    assert TagSummary().combine(one).to_json() == one.to_json() == summary_of(*a).to_json()


# The inventory


def test_an_inventory_counts_tags_of_all_roles() -> None:
    first: Texts = [
        ("system", "<instructions>be brief</instructions>"),
        ("user", "<context>a</context>"),
        ("tool", '<match path="a.py" line=1>x</match>'),
        ("developer", "<weather>sun</weather>"),
        ("assistant", "<weather>rain</weather>"),
    ]
    document = inventory_of([first, [("user", "hello")]], CATALOGUE).to_json()

    assert (document["conversations"], document["messages"]) == (2, 6)
    assert entry(document, "weather")["roles"] == {"assistant": 1, "developer": 1}
    assert entry(document, "match")["attributes"] == {"line": 1, "path": 1}
    assert entry(document, "instructions")["snippets"] == ["be brief"]
    assert entry(document, "context")["snippets"] == ["a"], "an inventory has examples of known tags, too"


def test_an_inventory_counts_nested_tags() -> None:
    text = '<attachments><attachment id="a"><weather>x</weather></attachment></attachments>'

    document = inventory_of([[("user", text)]], CATALOGUE).to_json()

    assert {tag["name"] for tag in document["tags"]} == {"attachments", "attachment", "weather"}


def test_markup_in_tool_output_is_not_a_tag() -> None:
    page = "<html><body><main-menu>x</main-menu></body></html>"

    document = inventory_of([[("tool", page)]], CATALOGUE).to_json()

    assert [tag["name"] for tag in document["tags"]] == ["main-menu"]


def test_only_a_user_message_has_a_request() -> None:
    text = "<userRequest>a</userRequest><userRequest>b <userRequest>c</userRequest></userRequest>"

    document = inventory_of([[("system", text), ("user", text)]], CATALOGUE).to_json()

    assert entry(document, "userRequest")["roles"] == {"system": 3, "user": 3}


def test_the_texts_of_a_conversation_are_what_the_model_saw() -> None:
    conversation = Conversation(
        id="vscode:1",
        source="vscode-session",
        messages=[
            Message(role="system", parts=[Prompt(text="rules", scope="system")]),
            Message(
                role="user",
                parts=[
                    Prompt(text="<environment_info>Linux</environment_info>", scope="conversation"),
                    Prompt(text="<userRequest>hello</userRequest>"),
                    Text(text="hello"),
                    Attachment(type="file", name="a.py", text="<b>x</b>"),
                ],
            ),
            Message(
                role="assistant", parts=[Thinking(text="hm"), Text(text="hi"), ToolResult(call_id="1", text="out")]
            ),
            Message(
                role="user",
                parts=[
                    Prompt(text="<environment_info>Linux</environment_info>", scope="conversation"),
                    Text(text="again"),
                ],
            ),
        ],
    )

    assert texts_of(conversation) == [
        ("system", "rules"),
        ("user", "<environment_info>Linux</environment_info>"),
        ("user", "<userRequest>hello</userRequest>"),
        ("assistant", "hi"),
        ("tool", "out"),
        ("user", "again"),
    ]
