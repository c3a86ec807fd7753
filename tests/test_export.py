"""Conversations as files: complete, harmless, and with a list of what they leave out."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import click
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from copilog.cli.export import command as export_command
from copilog.exports.chosen import chosen_of
from copilog.exports.file_names import content_disposition, file_name, stem_of
from copilog.exports.formats import MODULES, NAMES, Format, Making, format_named, formats
from copilog.exports.html import FORMAT, html_page, html_pieces
from copilog.exports.index import entry_of
from copilog.exports.markdown import markdown_page, markdown_pieces
from copilog.exports.writing import write
from copilog.model import (
    Attachment,
    Conversation,
    FileEdit,
    Message,
    Place,
    Prompt,
    ResultItem,
    SubAgent,
    Terminal,
    Text,
    Thinking,
    TodoItem,
    TodoList,
    ToolCall,
    ToolResult,
    Turn,
    TurnError,
    Unknown,
    Vote,
)
from copilog.view.blocks import Shown
from copilog.view.messages import Speaker
from copilog.writers.markdown_text import fence, plain, prose, span
from tests.safe_html import Page, confusing_text

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
MADE_BY = "copilog 1.2.3"
DIFF = "--- a/tides.py\n+++ b/tides.py\n@@ -1 +1 @@\n-low = 1\n+low = 2\n"


def a_conversation(answer: str = "It is **done**.", title: str = "Fix the tide table") -> Conversation:
    call = ToolCall(id="call1", name="read_file", arguments='{"filePath":"/home/ana/tides.py"}', status="complete")
    helper = ToolCall(id="call2", name="runSubagent", status="complete", subagent=SubAgent(name="Scout", prompt="Look"))
    return Conversation(
        id="vscode:1",
        source="vscode-session",
        title=title,
        assistant="GitHub Copilot",
        started_at=datetime(2026, 5, 4, 8, tzinfo=UTC),
        turns=[
            Turn(index=0, status="complete", vote=Vote(is_up=False, reason="too slow")),
            Turn(index=1, status="failed", error=TurnError(message="The network is gone", code="net")),
        ],
        messages=[
            Message(
                role="user",
                turn=0,
                parts=[
                    Text(text="Why is it wrong?"),
                    Attachment(type="image", name="shot.png", mime_type="image/png", data=PIXEL),
                    Attachment(type="file", name="../../etc/passwd", place=Place(path="/home/ana/tides.py")),
                    Prompt(text="<context>\nToday\n```\n</context>"),
                ],
            ),
            Message(
                role="assistant",
                turn=0,
                parts=[
                    Thinking(text="Hm, let me see."),
                    call,
                    helper,
                    Terminal(call_id="call9", command="make", output="\x1b[31mred\x1b[0m", exit_code=2),
                    TodoList(items=[TodoItem(title="Read it", status="completed"), TodoItem(title="Mend it")]),
                    FileEdit(path="/home/ana/tides.py", diff=DIFF, added=1, removed=1),
                    Text(text=answer),
                    Unknown(type="hologram", raw={"a": 1}),
                ],
            ),
            Message(role="tool", turn=0, parts=[ToolResult(call_id="call1", text="low = 1\n```\nfence", items=[])]),
            Message(
                role="tool",
                turn=0,
                parts=[ToolResult(call_id="call2", text="", items=[ResultItem(mime_type="image/png", data=PIXEL)])],
            ),
            Message(role="assistant", turn=0, parent_call_id="call2", parts=[Text(text="I looked.")]),
            Message(role="user", turn=1, parts=[Text(text="And now?")]),
        ],
    )


# --- HTML -----------------------------------------------------------------------------------------------------------


def test_an_html_page_contains_everything_and_loads_nothing() -> None:
    html = html_page(a_conversation(), made_by=MADE_BY)
    page = Page(html.replace("<!DOCTYPE html>", ""))
    for words in ("Fix the tide table", "Why is it wrong?", "Hm, let me see.", "I looked.", "low = 2", "hologram"):
        assert words in page.text
    assert "The network is gone" in page.text
    assert "too slow" in page.text
    assert MADE_BY in page.text
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"link", "iframe", "object", "form", "base"}
    assert [tag for tag, _ in page.tags].count("script") == 1
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "srcset", "data-load")]
        assert tag != "script" or not attributes  # it is in the page, not loaded
        for name in ("src", "href"):
            assert attributes.get(name, "#").startswith(("#", "data:image/png;base64,")), (tag, attributes)


def test_the_policy_allows_the_styles_and_the_script_of_the_page_and_nothing_else() -> None:
    html = html_page(a_conversation("<script>window.ran = 1</script>"), made_by=MADE_BY)
    digests = {}
    for tag in ("style", "script"):
        (found,) = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digests[tag] = base64.b64encode(hashlib.sha256(found.encode()).digest()).decode()
    policy = next(
        attributes["content"]
        for tag, attributes in Page(html[16:]).tags
        if tag == "meta" and "http-equiv" in attributes
    )
    assert f"style-src 'sha256-{digests['style']}'" in policy
    assert f"script-src 'sha256-{digests['script']}';" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_several_conversations_share_a_page_with_an_index_and_no_anchor_twice() -> None:
    both = [a_conversation(), a_conversation('It says id="m-0" here', title="<b>Another</b>")]
    html = "".join(html_pieces(both, [entry_of(each) for each in both], made_by=MADE_BY))
    page = Page(html[16:])
    anchors = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(anchors) == len(set(anchors))
    links = [attributes["href"][1:] for _, attributes in page.tags if attributes.get("href", "").startswith("#")]
    assert set(links) <= set(anchors)
    assert {"c1", "c2", "c1-m-0", "c2-m-0", "c2-t-1"} <= set(anchors)
    assert 'id="m-0" here' in page.text
    assert "<b>Another</b>" in page.text


def test_a_long_conversation_is_yielded_while_it_is_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    shown = Speaker.shown

    def counted(speaker: Speaker, number: int, before: Shown | None) -> Shown:
        drawn.append(number)
        return shown(speaker, number, before)

    monkeypatch.setattr(Speaker, "shown", counted)
    conversation = a_conversation()
    conversation.messages = [Message(role="user", turn=0, parts=[Text(text=f"word{at}")]) for at in range(50)]
    pieces = html_pieces([conversation], [entry_of(conversation)], made_by=MADE_BY)

    assert any("word3" in piece for piece in pieces)
    assert drawn == [0, 1, 2, 3]
    assert any("word49" in piece for piece in pieces)


def test_a_conversation_without_messages_says_so() -> None:
    assert "Nothing was said here." in html_page(Conversation(id="vscode:1", source=""), made_by=MADE_BY)
    assert "Nothing was said here." not in html_page(a_conversation(), made_by=MADE_BY)


@settings(max_examples=40, deadline=None)
@given(confusing_text)
def test_any_message_gives_a_valid_page(text: str) -> None:
    conversation = a_conversation(text, title=text)
    conversation.messages[0].parts[0] = Text(text=text)
    conversation.messages[2].parts[0] = ToolResult(call_id="call1", text=text)
    page = Page(html_page(conversation, made_by=MADE_BY)[16:])
    assert not {tag for tag, _ in page.tags} & {"iframe", "svg", "object", "embed", "form"}
    assert [tag for tag, _ in page.tags].count("script") == 1


# --- Markdown -------------------------------------------------------------------------------------------------------


def test_a_document_contains_everything_in_order() -> None:
    text = markdown_page(a_conversation())
    places = [
        text.index(words)
        for words in (
            "# Fix the tide table",
            "## Turn 1",
            "### You",
            "Why is it wrong?",
            "- Attached image `shot.png` (image/png, ",
            "### GitHub Copilot",
            "<summary>Thinking</summary>",
            "Hm, let me see.",
            "<summary>Tool call read_file (succeeded)</summary>",
            '"filePath": "/home/ana/tides.py"',
            "<summary>Tool call runSubagent (succeeded)</summary>",
            "<summary>Sub-agent, Scout: 1 message</summary>",
            "I looked.",
            "```console\n$ make\nred\n```",
            "- [x] Read it",
            "**Edited** `/home/ana/tides.py` +1 −1",
            "```diff",
            "It is **done**.",
            "voted down: too slow",
            "## Turn 2",
            "**Error** (net)",
            "The network is gone",
            "## About this conversation",
            "- **Id**: vscode:1",
            "## Not in this file",
        )
    ]
    assert places == sorted(places)
    assert "2 files of type image/png" in text
    assert "````text\nlow = 1\n```\nfence\n````" in text


def test_front_matter_is_yaml_of_recorded_facts_whatever_the_title_is() -> None:
    conversation = a_conversation(title="--- a: [b]\n---\n# &x: *y \x00")
    text = markdown_page(conversation)
    beginning, matter, document = re.split(r"^---$", text, maxsplit=2, flags=re.MULTILINE)
    facts = yaml.safe_load(matter)
    assert beginning == ""
    assert facts["id"] == "vscode:1"
    assert facts["title"].startswith("--- a: [b]")
    assert facts["date"] == "2026-05-04T08:00:00Z"
    assert facts["turns"] == 2
    assert facts["tool_calls"] == 2
    assert "repository" not in facts
    assert document.lstrip().startswith("# ")


def test_a_document_of_prompts_has_what_the_user_wrote_and_attached_and_nothing_else() -> None:
    text = "".join(markdown_pieces([a_conversation()], [], prompts_only=True))
    for words in ("## Turn 1", "Why is it wrong?", "`shot.png`", "## Turn 2", "And now?"):
        assert words in text
    for words in ("It is **done**.", "I looked.", "read_file", "Hm, let me see.", "low = 1", "Today"):
        assert words not in text


def test_one_document_of_several_has_no_front_matter_between_them() -> None:
    both = [a_conversation(), a_conversation()]
    text = "".join(markdown_pieces(both, [entry_of(each) for each in both]))
    assert "id: vscode:1" not in text
    assert text.count("# Fix the tide table") == 2


def structure_of(text: str) -> list[str]:
    """Return the headings and folds of copilog, as a reader of Markdown sees them."""
    seen: list[str] = []
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "html_block":
            seen += re.findall(r"</?details>", token.content)
        elif token.type == "heading_open" and token.level == 0 and following is not None:
            seen.append(following.content)
    return seen


@pytest.mark.parametrize(
    "answer",
    [
        "An open block\n\n```python\nx = 1",
        "~~~~\nopen\n~~~",
        "</details>\n\n</details></section>",
        "a </details> b <details> c <!-- d",
        "<!-- never closed",
        "<script>\nalert(1)",
        "<pre>\nopen",
        "`</details>` and \\</details> and \\\\</details>",
        "```\n</details>\n```",
        "- item\n\n  ```\n  open in a list",
        "> ```\n> open in a quote",
        "    </details> as code",
        "text\n    </details>",
        "> " * 300 + "</details>",
        "<?php",
        "<![CDATA[",
        "``` `</details>` ```",
        "`a\n\n</details>`",
    ],
)
def test_an_answer_cannot_break_the_markdown_around_it(answer: str) -> None:
    assert structure_of(markdown_page(a_conversation(answer))) == structure_of(markdown_page(a_conversation("calm")))


def test_prose_is_unchanged_except_for_active_content() -> None:
    calm = "# Head\n\n* `a < b` and 1 < 2\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```html\n<b>code</b>\n```\n<https://example.com>"
    assert prose(calm) == calm
    assert prose("<b>bold</b>") == "\\<b>bold\\</b>"
    assert prose("![chart](https://example.com/c.png)") == "\\![chart](https://example.com/c.png)"
    assert prose("\u202eturned") == "⟨U+202E⟩turned"


@given(confusing_text)
def test_a_fence_is_longer_than_any_inside(text: str) -> None:
    made = fence(text, "text")
    (block,) = MarkdownIt("commonmark").parse(made)
    assert (block.type, block.info) == ("fence", "text")


@given(confusing_text)
def test_names_stay_on_their_line(text: str) -> None:
    for made in (plain(text), span(text)):
        tokens = MarkdownIt("commonmark").parse(f"a {made} b")
        assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
        kinds = {child.type for child in tokens[1].children or []}
        assert kinds <= {"text", "code_inline", "text_special"}


@settings(max_examples=60, deadline=None)
@given(confusing_text)
def test_any_message_gives_a_markdown_document(text: str) -> None:
    conversation = a_conversation(text, title=text)
    conversation.messages[2].parts[0] = ToolResult(call_id="call1", text=text)
    made = markdown_page(conversation)
    assert made.encode()
    assert "## Not in this file" in made


def test_several_conversations_share_a_document_with_an_index() -> None:
    both = [a_conversation(), a_conversation(title="Another")]
    text = "".join(markdown_pieces(both, [entry_of(each) for each in both]))
    assert text.startswith("# 2 conversations\n\n1. Fix the tide table (2026-05-04")
    assert "2. Another" in text
    assert "\n# Another\n" in text


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "stem"),
    [
        ("Fix the tide table!", "fix-the-tide-table"),
        ("../../etc/passwd", "etc-passwd"),
        ("CON", "conversation-con"),
        ("com1", "conversation-com1"),
        ("a" * 300, "a" * 60),
        ("...", "conversation"),
        ('a:b*c?d"e<f>g|h\\i/j\x00k', "a-b-c-d-e-f-g-h-i-j-k"),
        ("Gezeiten für Süßwasser", "gezeiten-für-süßwasser"),
        ("潮汐表", "潮汐表"),
        ("trailing. ", "trailing"),
    ],
)
def test_a_title_becomes_a_file_name_that_every_system_accepts(title: str, stem: str) -> None:
    assert stem_of(title) == stem


@given(st.text(max_size=100))
def test_no_title_gives_a_path_outside_the_folder(title: str) -> None:
    name = file_name(a_conversation(title=title), FORMAT)
    assert Path(name).name == name
    assert not re.search(r'[\x00-\x1f<>:"/\\|?*]', name)
    assert len(name.encode()) < 255
    header = content_disposition(name)
    assert header.isascii()
    assert "\n" not in header
    assert header.count('"') == 2


# --- formats --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", formats(), ids=lambda kind: kind.name)
def test_a_format_of_the_registry_writes_a_conversation_and_is_offered(kind: Format, tmp_path: Path) -> None:
    conversation = a_conversation()
    done = write(chosen_of([conversation]), kind, tmp_path / f"one{kind.ending}", Making(by=MADE_BY))
    content = b"".join(path.read_bytes() for path in done.paths)
    help_text = next(option for option in export_command.params if option.name == "format_name")

    assert kind.shape == "dataset" or b"Fix the tide table" in content or b"It is **done**." in content
    assert file_name(conversation, kind).endswith(kind.ending)
    assert isinstance(help_text.type, click.Choice)
    assert kind.name in help_text.type.choices
    assert format_named(kind.name) is kind


def test_a_new_format_is_a_module_and_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("titles")
    made = Format("titles", "Titles", ".txt", "text/plain", lambda several, *_: (each.title or "" for each in several))
    module.FORMAT = made  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "titles", module)
    monkeypatch.setitem(MODULES, "titles", "titles")

    assert [each.name for each in formats()] == [*NAMES, "titles"]
    assert format_named("titles") is made
    assert format_named("no-such-format") is None
