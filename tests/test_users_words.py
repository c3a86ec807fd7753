"""The user's own words among prompt tags, and the modes, offers and mentions that a prompt tells of."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog.tags import Offered, agent_mentions, blocks, is_injected, mode_name, offered, segments, user_text
from tests.agent_prompt import AGENT_PROMPT

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


def test_a_request_may_contain_the_other_request_tag() -> None:
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


def test_a_sentence_that_mentions_a_tag_stays_complete() -> None:
    for words in ("wrap it in <prompt>x</prompt> please", "how does the <context> tag work?", "parse <user>bob</user>"):
        assert user_text(words) == words


def test_nothing_but_context_is_no_text() -> None:
    assert (
        user_text("<environment_info>\nmacOS\n</environment_info>\n<workspace_info>\n/w\n</workspace_info>\n") is None
    )
    assert user_text("<context>\nx\n</context>\n<attachments>\ny\n</attachments>\n<resource>\nz\n</resource>") is None


def test_the_user_tag_counts_if_there_is_only_context_beside_it() -> None:
    assert user_text("<context>\nx\n</context>\n<user>\nhello\n</user>") == "hello"


def test_text_outside_of_context_is_the_users() -> None:
    assert user_text("<context>\nx\n</context>\nfix\n<attachments>\ny\n</attachments>\nit") == "fix\n\nit"
    assert user_text("<context>\nx\n</context>\n<note>mine</note>") == "<note>mine</note>", "no tag of user messages"


def test_notes_of_the_cli_around_a_typed_prompt_are_removed() -> None:
    before = "<current_datetime>2026-05-01T10:00:00Z</current_datetime>\n\n"
    for name in ("reminder", "system_reminder"):
        after = f"\n\n<{name}>\n<sql_tables>-</sql_tables>\n</{name}>"

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


def test_segments_separate_the_users_text_from_the_rest() -> None:
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
def test_segments_join_to_the_text_and_own_ones_to_the_users_text(text: str) -> None:
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
def test_a_wrapped_prompt_is_unwrapped_unchanged(words: str) -> None:
    text = f"<context>\nx\n</context>\n<userRequest>\n{words}\n</userRequest>"

    assert user_text(text) == (words.strip() or None)


# Modes, what is on offer, mentions


def test_the_name_of_a_mode_is_read_from_the_prompt() -> None:
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
