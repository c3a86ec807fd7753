"""Prompt tags: the blocks that they mark in a text, however they are nested, broken off or meant to harm."""

import time
from collections.abc import Callable

import pytest

from copilog.tags import (
    agent_mentions,
    attributes_of,
    blocks,
    is_injected,
    marks,
    mode_name,
    offered,
    segments,
    user_text,
)
from tests.agent_prompt import AGENT_PROMPT


def names(text: str, any_name: bool = False) -> list[str]:
    return [block.name for block in blocks(text, any_name=any_name)]


def test_a_prompt_falls_into_its_outermost_blocks() -> None:
    found = blocks(AGENT_PROMPT)

    assert [block.name for block in found] == ["attachments", "context", "reminderInstructions", "userRequest"]
    assert all(block.is_closed for block in found)
    assert found[3].text == "\nWhy does it print that?\n"
    for block in found:
        assert AGENT_PROMPT[block.start : block.end].startswith(f"<{block.name}>")
        assert AGENT_PROMPT[block.start : block.end].endswith(f"</{block.name}>")
        assert AGENT_PROMPT[block.body_start : block.body_end] == block.text


def test_inner_blocks_come_from_the_body_of_the_outer_one() -> None:
    (attachments, *_) = blocks(AGENT_PROMPT)
    (attachment,) = blocks(attachments.text, within=attachments.name)

    assert attachment.attributes == {"id": "main.py", "filePath": "/repo/main.py"}


def test_a_block_ends_at_the_closing_tag_of_its_own_nesting() -> None:
    (block,) = blocks("<context>a<context>b</context>c</context>d")

    assert block.text == "a<context>b</context>c"


def test_attributes_are_json_literals() -> None:
    (block,) = blocks(r'<attachment id="a \"b\" > \u00e9" isSummarized=true endByte=12 share=-0.5>x</attachment>')

    assert block.attributes == {"id": 'a "b" > é', "isSummarized": True, "endByte": 12, "share": -0.5}
    assert block.text == "x"


def test_attributes_that_are_no_json_stay_text() -> None:
    (block,) = blocks(r'<attachment filePath="C:\Data\src" kind=plain size=NaN>x</attachment>')

    assert block.attributes == {"filePath": r"C:\Data\src", "kind": "plain", "size": "NaN"}


def test_a_tag_may_close_itself() -> None:
    first, second = blocks('<attachment id="a" />\n<context>x</context>')

    assert (first.text, first.is_closed, first.attributes) == ("", True, {"id": "a"})
    assert second.name == "context"


def test_an_unclosed_tag_runs_to_the_end_of_the_message() -> None:
    (block,) = blocks("a <context>\nb\n<todoList>c</todoList>")

    assert (block.text, block.is_closed, block.end) == ("\nb\n<todoList>c</todoList>", False, 36)


def test_an_unclosed_tag_does_not_swallow_the_request() -> None:
    first, second = blocks("<context>\nb\n<userRequest>hi</userRequest>")

    assert (first.name, first.text, first.is_closed) == ("context", "\nb\n", False)
    assert (second.name, second.text) == ("userRequest", "hi")


def test_names_match_in_their_exact_spelling() -> None:
    assert names("<Context>a</Context> <context.x>b</context.x> <context-x>c</context-x>") == []
    assert names("<context>a</Context></context>") == ["context"]


def test_markup_and_generics_are_no_blocks() -> None:
    assert names("a List<String> and <div>x</div> and <b>y</b>") == []


def test_the_inventory_sees_unknown_names_when_they_are_closed() -> None:
    assert names("List<String> <weather>x</weather> <div>y</div>", any_name=True) == ["weather", "div"]


def test_the_inventory_ignores_markup_in_code_and_in_attachments() -> None:
    code = "```html\n<div>x</div><weather>y</weather>\n```\n<div>z</div>"
    (attachment,) = blocks(f'<attachment id="a">{code}</attachment>', any_name=True)

    assert names(code, any_name=True) == ["weather", "div"]
    assert [block.name for block in blocks(attachment.text, any_name=True, within="attachment")] == ["weather"]


def test_code_in_the_users_own_text_is_not_searched() -> None:
    words = "<context>a</context>\n```\n<todoList>b</todoList>\n```\n"

    assert [block.name for block in blocks(words, within="userRequest")] == ["context"]
    assert names(words) == ["context", "todoList"]


@pytest.mark.parametrize("read", [blocks, segments, user_text, is_injected, mode_name, offered, agent_mentions])
@pytest.mark.parametrize(
    "unit",
    [
        *(
            "<a>",
            "<",
            "<context>",
            "<context ",
            '<context a="',
            '<context a="x" ',
            "<userRequest>",
            "<userRequest",
            "@a",
        ),
        *(
            "```x\n",
            "```\n<userRequest>\n",
            "x<prompt>y</prompt>",
            "<context>\n</context><file>",
            "<skills><skill><name>",
        ),
        '<modeInstructions>You are currently running in "',
    ],
)
def test_hostile_text_takes_linear_time(read: Callable[[str], object], unit: str) -> None:
    text = unit * (200_000 // len(unit))
    started = time.process_time()

    read(text)

    assert time.process_time() - started < 5, "a quadratic search takes minutes here"


def test_hostile_text_takes_linear_time_in_the_inventory() -> None:
    started = time.process_time()

    assert blocks("<a>" * 70_000, any_name=True) == []
    assert len(blocks("<x></x>" * 30_000, any_name=True)) == 30_000

    assert time.process_time() - started < 5


def test_marks_list_nested_blocks_without_copies() -> None:
    text = "<context>a<todoList n=1>b</todoList><x/><context>c</context></context><weather>"

    found = list(marks(text, (0, len(text))))

    assert [mark.name for mark in found] == ["context", "todoList", "x", "context", "weather"]
    assert [text[mark.body_start : mark.body_end] for mark in found[1:]] == ["b", "", "c", ""]
    assert [attributes_of(mark) for mark in found[:2]] == [{}, {"n": 1}]
    assert [mark.is_closed for mark in found] == [True, True, True, True, False]
    assert (found[0].end, found[-1].end) == (len(text) - len("<weather>"), len(text))


def test_a_tag_inside_an_attribute_does_not_count() -> None:
    (block,) = blocks('<attachment id="the <context> tag">x</attachment> </context>')

    assert (block.name, block.attributes) == ("attachment", {"id": "the <context> tag"})
