"""Prompt tags: the catalogue, the matcher, and the user's own words."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog.tags import (
    INJECTED_ALONE,
    Offered,
    Origin,
    Role,
    agent_mentions,
    attributes_of,
    blocks,
    is_html_name,
    is_injected,
    load_catalogue,
    marks,
    mode_name,
    offered,
    segments,
    user_text,
)

CONVERSATION_TAGS = {
    *("userRequest", "user_query", "prompt", "userPrompt", "UserRequest", "user"),
    *("environment_info", "workspace_info", "context", "todoList", "editorContext", "repoContext"),
    *("reminderInstructions", "additional_skills_reminder", "attachments", "attachment", "error", "toolReferences"),
    *("conversation-summary", "analysis", "summary", "instructions", "instruction", "modeInstructions"),
    *("customInstructions", "skills", "skill", "agents", "agent"),
    *("userMemory", "sessionMemory", "repoMemory", "repository_memories"),
    *("memoryInstructions", "memoryScopes", "memoryGuidelines", "repoMemoryInstructions", "examples", "factsCriteria"),
    *("availableDeferredTools", "toolSearchInstructions", "dynamicToolDiscovery", "resource"),
    *("match", "file", "cell-output", "notebook-cell-output", "execution-summaries", "cell-execution-error"),
    *("skill-context", "skill_instructions"),
}
RULE_TAGS = {"toolUseInstructions", "good-example", "values", "principle", "principles", "extensionSearchResponseRules"}
OTHER_TAGS = {
    "file-selection",
    "selected-code",
    "reminder",
    "codeToTest",
    "code-changes",
    "settings",
    "Response",
    "schema",
}

AGENT_PROMPT = """\
<attachments>
<attachment id="main.py" filePath="/repo/main.py">
print("<context>")
</attachment>
</attachments>
<context>
The current date is May 1, 2026.
<todoList>
1. rest
</todoList>
</context>
<reminderInstructions>
Think first.
</reminderInstructions>
<userRequest>
Why does it print that?
</userRequest>
"""

# Fragments that meet each other in the wrong order more often than random letters would.
tangled_text = st.lists(
    st.sampled_from(
        [
            *("<context>", "</context>", "<userRequest>", "</userRequest>", "<user_query>", "</user_query>"),
            *(
                "<attachment id=1>",
                '<attachment id="a" />',
                "</attachment>",
                "<prompt>",
                "</prompt>",
                "<user>",
                "</user>",
            ),
            *("<conversation-summary>", "<note>", "</note>", "<div>", "</div>", "```\n", "```py\n", "~~~\n", "\n", " "),
            *("hello", "<", ">", '"', "\\", "<skills><skill><name>n</name></skill>", "\ud800", "é"),
        ]
    )
).map("".join)
any_text = st.text() | tangled_text


def names(text: str, any_name: bool = False) -> list[str]:
    return [block.name for block in blocks(text, any_name=any_name)]


# The catalogue


def test_the_catalogue_lists_each_name_once_with_valid_origin_and_roles() -> None:
    tags = load_catalogue().tags

    assert len({tag.name for tag in tags}) == len(tags)
    assert {tag.origin for tag in tags} == set(get_args(Origin))
    assert all(tag.roles and set(tag.roles) <= set(get_args(Role)) for tag in tags)
    assert all(re.compile(tag.pattern) for tag in tags if tag.pattern)


@pytest.mark.parametrize("expected", [CONVERSATION_TAGS, RULE_TAGS, OTHER_TAGS])
def test_the_catalogue_knows_the_tags_of_every_surface(expected: set[str]) -> None:
    assert expected <= {tag.name for tag in load_catalogue().tags}


def test_rules_of_the_product_belong_to_the_system_message() -> None:
    found = [load_catalogue().get(name) for name in sorted(RULE_TAGS)]

    assert {(tag.origin, tag.roles) for tag in found if tag} == {("injected", ("system",))}


def test_context_that_makes_a_message_injected_is_never_the_users_words() -> None:
    assert load_catalogue().context_names >= INJECTED_ALONE


def test_tags_say_where_a_context_scan_files_them() -> None:
    keys = {tag.name: tag.key for tag in load_catalogue().tags}

    assert keys["context"] == "context_info"
    assert keys["editorContext"] == "editor_context"
    assert keys["user_query"] == "user_request"
    assert keys["selected-code"] == "code_to_edit"
    assert keys["toolUseInstructions"] is None


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("channel_use_instructions", "channel_*_instructions"),
        ("settingExample", "*Example"),
        ("testExample", "testExample"),
    ],
)
def test_a_family_answers_for_names_that_have_no_entry(name: str, family: str) -> None:
    tag = load_catalogue().get(name)

    assert tag is not None
    assert tag.name == family


def test_an_unknown_name_and_the_name_of_a_family_are_no_tags() -> None:
    assert load_catalogue().get("div") is None
    assert load_catalogue().get("channel_*_instructions") is None


def test_the_bundled_catalogue_is_read_once() -> None:
    assert load_catalogue() is load_catalogue()


def test_a_catalogue_of_ones_own_replaces_the_bundled_one(tmp_path: Path) -> None:
    file = tmp_path / "tags.json"
    file.write_text('[{"name": "house", "key": null, "origin": "injected", "roles": ["user"], "is_context": true}]')
    catalogue = load_catalogue(file)

    assert user_text("<house>\nrules\n</house>\nhello", catalogue) == "hello"
    assert user_text("<context>\nmine\n</context>", catalogue) is None, "what makes a message injected is fixed"
    assert [block.name for block in blocks("<context>x</context><house>y</house>", catalogue=catalogue)] == ["house"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{}", "array"),
        ("[{", "truncated"),
        ('[{"name": "a", "origin": "heaven", "roles": []}]', "heaven"),
        ('[{"name": "a", "origin": "user", "roles": ["boss"]}]', "boss"),
        ('[{"name": "a", "origin": "user", "roles": [], "keys": 1}]', "keys"),
        ('[{"name": "a b", "origin": "user", "roles": []}]', '"a b" cannot be a tag name'),
        ('[{"name": "a*", "pattern": "(", "origin": "user", "roles": []}]', 'pattern of the tag "a*"'),
        (
            '[{"name": "a", "origin": "user", "roles": []}, {"name": "a", "origin": "user", "roles": []}]',
            '"a" is listed',
        ),
    ],
)
def test_a_malformed_catalogue_is_named_with_the_reason(tmp_path: Path, content: str, reason: str) -> None:
    file = tmp_path / "mine.json"
    file.write_text(content)

    with pytest.raises(ValueError) as failure:
        load_catalogue(file)

    assert "mine.json is no tag catalogue" in str(failure.value)
    assert reason in str(failure.value)


# Blocks


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


def test_names_are_matched_as_they_are_spelled() -> None:
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


def test_code_in_the_users_own_words_is_not_searched() -> None:
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


def test_marks_tell_of_nested_blocks_without_copies() -> None:
    text = "<context>a<todoList n=1>b</todoList><x/><context>c</context></context><weather>"

    found = list(marks(text, (0, len(text))))

    assert [mark.name for mark in found] == ["context", "todoList", "x", "context", "weather"]
    assert [text[mark.body_start : mark.body_end] for mark in found[1:]] == ["b", "", "c", ""]
    assert [attributes_of(mark) for mark in found[:2]] == [{}, {"n": 1}]
    assert [mark.is_closed for mark in found] == [True, True, True, True, False]
    assert (found[0].end, found[-1].end) == (len(text) - len("<weather>"), len(text))


def test_a_tag_inside_an_attribute_is_none() -> None:
    (block,) = blocks('<attachment id="the <context> tag">x</attachment> </context>')

    assert (block.name, block.attributes) == ("attachment", {"id": "the <context> tag"})


def test_a_catalogue_remembers_no_more_names_than_it_should() -> None:
    catalogue = load_catalogue()

    for number in range(30_000):
        assert catalogue.get(f"name{number}") is None
    assert catalogue.get("context") is not None
    assert catalogue.get("channel_x_instructions") is not None


def test_names_of_html_are_known_in_any_case() -> None:
    assert is_html_name("div")
    assert is_html_name("TABLE")
    assert not is_html_name("context")


# The user's own words


def test_the_request_is_what_the_user_typed() -> None:
    assert user_text(AGENT_PROMPT) == "Why does it print that?"
    assert user_text("<context>x</context>\n<user_query>\nhi\n</user_query>") == "hi"


def test_plain_text_is_the_users_own() -> None:
    assert user_text("  how do I parse List<String>? \n") == "how do I parse List<String>?"
    assert user_text(" \n") is None
    assert user_text("") is None


def test_the_last_opening_and_the_last_closing_tag_hold_the_request() -> None:
    text = "<userRequest>old</userRequest>\n<userRequest>\nwhy </userRequest> twice?\n</userRequest>"

    assert user_text(text) == "why </userRequest> twice?"


def test_a_request_quoted_in_code_is_part_of_the_request() -> None:
    question = 'Explain:\n```ts\nconst a = "<userRequest>";\n```\nand </userRequest>, please'

    assert user_text(f"<userRequest>\n{question}\n</userRequest>") == question


def test_a_stray_fence_does_not_hide_the_request() -> None:
    text = "<attachments>\n```\n<userRequest>\n</attachments>\n<userRequest>\nsee\n```\ncode\n```\n</userRequest>"

    assert user_text(text) == "see\n```\ncode\n```"


def test_a_request_may_talk_about_the_other_request_tag() -> None:
    assert user_text("<userRequest>what is <user_query>?</userRequest>") == "what is <user_query>?"
    quoted = "what is <user_query>this</user_query> for?"
    assert user_text(f"<userRequest>{quoted}</userRequest>") == quoted


def test_a_request_that_was_cut_off_runs_to_the_end() -> None:
    assert user_text("<context>x</context>\n<userRequest>\nplease he") == "please he"


def test_an_empty_request_is_no_text() -> None:
    assert user_text("<context>x</context>\nnoise\n<userRequest>\n\n</userRequest>") is None


def test_a_prompt_file_inside_the_request_is_not_typed() -> None:
    prompt_file = '<attachment id="prompt:fix" filePath="/repo/fix.prompt.md">\nbody\n</attachment>'
    text = f"<userRequest>\nFollow it.\n{prompt_file}\nNow!\n</userRequest>"

    assert user_text(text) == "Follow it.\n\nNow!"


def test_an_attachment_tag_in_the_users_code_or_sentence_stays() -> None:
    for words in ('```\n<attachment id="a">b</attachment>\n```', "what is <attachment>?", 'an <attachment id="a"> tag'):
        assert user_text(f"<userRequest>\n{words}\n</userRequest>") == words


@pytest.mark.parametrize("name", ["prompt", "userPrompt", "UserRequest"])
def test_older_surfaces_name_the_request_differently(name: str) -> None:
    context = "Some files follow.\n<file>\nx = 1\n</file>\n<reminder>\nbe brief\n</reminder>\n"

    assert user_text(f"{context}<{name}>\nadd a test\n</{name}>") == "add a test"


def test_a_sentence_about_a_tag_is_kept_whole() -> None:
    for words in ("wrap it in <prompt>x</prompt> please", "how does the <context> tag work?", "parse <user>bob</user>"):
        assert user_text(words) == words


def test_nothing_but_context_is_no_text() -> None:
    assert (
        user_text("<environment_info>\nmacOS\n</environment_info>\n<workspace_info>\n/w\n</workspace_info>\n") is None
    )
    assert user_text("<context>\nx\n</context>\n<attachments>\ny\n</attachments>\n<resource>\nz\n</resource>") is None


def test_the_user_tag_counts_when_only_context_is_beside_it() -> None:
    assert user_text("<context>\nx\n</context>\n<user>\nhello\n</user>") == "hello"


def test_words_beside_context_are_the_users() -> None:
    assert user_text("<context>\nx\n</context>\nfix\n<attachments>\ny\n</attachments>\nit") == "fix\n\nit"
    assert user_text("<context>\nx\n</context>\n<note>mine</note>") == "<note>mine</note>", "no tag of user messages"


def test_the_cli_puts_its_notes_around_what_was_typed() -> None:
    before = "<current_datetime>2026-05-01T10:00:00Z</current_datetime>\n\n"
    after = "\n\n<reminder>\n<sql_tables>-</sql_tables>\n</reminder>"

    assert user_text(f"{before}run it{after}") == "run it"


def test_messages_of_the_product_alone_are_injected() -> None:
    assert is_injected("\n<environment_info>\nLinux\n</environment_info>\n<context>x</context>\n")
    assert is_injected("<skills>\n<skill>…</skill>\n</skills>")
    assert is_injected(" <conversation-summary>\nwe did\n</conversation-summary>\nThe transcript is elsewhere.")
    assert is_injected("<context>\ncut off")


def test_messages_with_anything_of_the_user_are_not_injected() -> None:
    assert not is_injected(AGENT_PROMPT)
    assert not is_injected("<context>x</context> hello")
    assert not is_injected("<context>x</context><userRequest></userRequest>")
    assert not is_injected("<attachments>\nx\n</attachments>")
    assert not is_injected("hello")
    assert not is_injected("")


def test_segments_tell_own_words_from_the_rest() -> None:
    pieces = [(piece.tag.name if piece.tag else None, piece.text, piece.is_own) for piece in segments(AGENT_PROMPT)]

    assert [(name, is_own) for name, text, is_own in pieces if text.strip()] == [
        ("attachments", False),
        ("context", False),
        ("reminderInstructions", False),
        ("userRequest", False),
        ("userRequest", True),
        ("userRequest", False),
    ]
    assert ("userRequest", "\nWhy does it print that?\n", True) in pieces


@settings(deadline=None)
@given(any_text)
def test_segments_join_to_the_text_and_own_ones_to_the_users_words(text: str) -> None:
    pieces = segments(text)

    assert "".join(piece.text for piece in pieces) == text
    assert all(piece.text for piece in pieces)
    assert ("".join(piece.text for piece in pieces if piece.is_own).strip() or None) == user_text(text)


@settings(deadline=None)
@given(any_text)
def test_any_text_can_be_read(text: str) -> None:
    words = user_text(text)

    assert words is None or words == words.strip() != ""
    assert not (is_injected(text) and words)
    mode_name(text)
    offered(text)
    for block in blocks(text, any_name=True):
        assert text[block.body_start : block.body_end] == block.text
        assert text.startswith(f"<{block.name}", block.start)


@settings(deadline=None)
@given(any_text, st.booleans())
def test_blocks_follow_each_other(text: str, any_name: bool) -> None:
    position = 0
    for block in blocks(text, any_name=any_name):
        assert position <= block.start < block.body_start <= block.body_end <= block.end <= len(text)
        position = block.end


@settings(deadline=None)
@given(st.text().filter(lambda text: "<" not in text))
def test_what_was_wrapped_comes_out_again(words: str) -> None:
    text = f"<context>\nx\n</context>\n<userRequest>\n{words}\n</userRequest>"

    assert user_text(text) == (words.strip() or None)


# Modes, what is on offer, mentions


def test_a_mode_says_its_name() -> None:
    text = '<modeInstructions>\nYou are currently running in "Plan "B"" mode. Below are your instructions.\n\nbody\n'

    assert mode_name(text) == 'Plan "B"'
    assert mode_name("<customInstructions>\nbody\n</customInstructions>") is None
    assert mode_name('You are currently running in "X" mode.') is None


def test_an_index_lists_what_is_on_offer() -> None:
    text = """\
<instructions>
Here is a list of instruction files.
<instruction>
<description>Python rules</description>
<file>/w/.github/py.instructions.md</file>
<applyTo>**/*.py</applyTo>
</instruction>
<instruction forToolsWithPrefix="mcp_x">no file</instruction>
</instructions>
<skills>
Each <skill> has a file.
<skill>
<name>release</name>
<description>Cut a release.
Read <file> & <b>tag</b>.</description>
<file>/w/skills/release/SKILL.md</file>
</skill>
<skill>
<name>lint</name>
<location>vscode-userdata:/skills/lint/SKILL.md</location>
</skill>
</skills>
<agents>
<agent>
<name>Explore</name>
<description>Looks around</description>
<argumentHint>what to look for</argumentHint>
</agent>
</agents>
"""

    assert offered(text) == [
        Offered("instruction", None, "Python rules", "/w/.github/py.instructions.md", apply_to="**/*.py"),
        Offered("skill", "release", "Cut a release.\nRead <file> & <b>tag</b>.", "/w/skills/release/SKILL.md"),
        Offered("skill", "lint", file="vscode-userdata:/skills/lint/SKILL.md"),
        Offered("agent", "Explore", "Looks around", argument_hint="what to look for"),
    ]


def test_an_entry_outside_an_index_is_not_on_offer() -> None:
    assert offered("<skill>\n<name>x</name>\n</skill>") == []


@pytest.mark.parametrize(
    ("words", "mentioned"),
    [
        ("@workspace where is it? ask @my-agent, @workspace", ["workspace", "my-agent"]),
        ("mail me@home or see /@scope and @@double", []),
        ("(@terminal) @workspaces", ["terminal", "workspaces"]),
        ("@1 @ x", []),
    ],
)
def test_agents_are_mentioned_with_a_sign(words: str, mentioned: list[str]) -> None:
    assert agent_mentions(words) == mentioned
