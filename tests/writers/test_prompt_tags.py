"""How prompts with tags are labelled, in the terminal, in HTML and in Markdown."""

from __future__ import annotations

import pytest

from copilog.exports.markdown import markdown_page
from copilog.model import Conversation, Message, Prompt, Text
from copilog.tags import segments
from tests.writers.html_builders import answered, asked, told
from tests.writers.html_builders import shown as html_of
from tests.writers.text_builders import shown as text_of

SENT = (
    "<tideGauges>\nThree gauges are out of order.\n</tideGauges>\nUse `<tideGauges>` sparingly.\n"
    "```\n<Gauge>\n</Gauge>\n```\n<userRequest>\nWhen is low tide?\n</userRequest>"
)
RULES = "You are a harbour master. Answer in knots."


def asked_with(prompt: Prompt) -> Conversation:
    return told(asked(Text(text="When is low tide?"), prompt), answered(Text(text="At noon.")))


def in_system_message(part: Text | Prompt) -> Conversation:
    return told(Message(role="system", parts=[part], turn=0), asked(Text(text="When is low tide?")))


def test_a_tag_that_the_catalogue_does_not_know_shows_its_name_everywhere() -> None:
    made = asked_with(Prompt(text=SENT))

    assert "<tideGauges> · " in text_of(made, context=True)
    assert "<code>&lt;tideGauges&gt;</code>" in html_of(made)
    assert "<tideGauges>\nThree gauges" in markdown_page(made)


def test_a_tag_in_the_users_message_that_the_catalogue_does_not_know_shows_its_name() -> None:
    assert "<code>&lt;tideGauges&gt;</code>" in html_of(told(asked(Text(text=SENT))))


def test_an_unknown_name_within_a_line_or_in_code_is_text() -> None:
    pieces = segments(SENT)

    assert [piece.name for piece in pieces if not piece.is_own] == ["tideGauges", None, "userRequest", "userRequest"]
    assert "".join(piece.text for piece in pieces) == SENT


def test_a_tag_of_a_family_shows_the_name_that_it_has() -> None:
    assert "<tideExample> · " in text_of(
        asked_with(Prompt(text="<tideExample>\na\n</tideExample>\n" + SENT)), context=True
    )


@pytest.mark.parametrize("part", [Text(text=RULES), Prompt(text=RULES, scope="system")])
def test_a_system_prompt_without_tags_is_not_labelled_as_the_users_words(part: Text | Prompt) -> None:
    made = in_system_message(part)
    html, text = html_of(made), text_of(made, context=True)

    assert "the user's own words" not in html
    assert "System prompt" in html
    assert RULES in html
    assert "context · system prompt" in text
    assert "text without a tag" in text
    assert RULES in text
    assert "System prompt" in markdown_page(made)


def test_context_that_was_sent_once_is_not_labelled_as_the_users_words() -> None:
    prompt = Prompt(text="<environment_info>\nLinux\n</environment_info>\nThe date is 4 May.", scope="conversation")

    assert "the user's own words" not in html_of(asked_with(prompt))


def test_nothing_in_a_system_message_is_the_users_own() -> None:
    assert not any(
        piece.is_own for piece in segments("Answer like this:\n<userRequest>\nhi\n</userRequest>", is_system=True)
    )


UNKNOWN = {
    "before the words": "<zorble>\nTin\n</zorble>\nWhen is low tide?",
    "after a known tag": "<context>\nToday is Monday.\n</context>\n<zorble>\nTin\n</zorble>\nWhen is low tide?",
    "indented": "  <zorble>\n  Tin\n  </zorble>\n<userRequest>\nWhen is low tide?\n</userRequest>",
    "unclosed": "<zorble>\nTin\n<userRequest>\nWhen is low tide?\n</userRequest>",
    "unclosed before a known tag": "<zorble>\nTin\n<context>\nToday is Monday.\n</context>\nWhen is low tide?",
    "closed by itself": '<zorble metal="Tin"/>\n<userRequest>\nWhen is low tide?\n</userRequest>',
    "with attributes": '<zorble id="x">\nTin\n</zorble>\n<userRequest>\nWhen is low tide?\n</userRequest>',
}


@pytest.mark.parametrize("sent", UNKNOWN.values(), ids=UNKNOWN)
def test_an_unknown_tag_shows_its_name_and_text_in_every_form(sent: str) -> None:
    made = asked_with(Prompt(text=sent))
    text, html = text_of(made, context=True, full=True), html_of(made)

    assert "<zorble> · " in text
    assert "Tin" in text
    assert text.count("When is low tide?") == 2, "the title, and what was typed"
    assert "<code>&lt;zorble&gt;</code>" in html
    assert [
        (piece.name, "Tin" in piece.text) for piece in segments(sent, typed="When is low tide?") if piece.is_own
    ] in (
        [("userRequest", False)],
        [(None, False)],
    )


def test_a_sent_prompt_whose_words_differ_from_those_typed_is_shown() -> None:
    text = text_of(asked_with(Prompt(text="<userRequest>\nFind the next ebb.\n</userRequest>")), context=True)

    assert "<userRequest> · " in text
    assert "Find the next ebb." in text


def test_only_what_was_typed_is_the_users_own() -> None:
    sent = "Mind the tide.\nMind the tide.\n\nKeep dry."

    assert [piece.text for piece in segments(sent, typed="Mind the tide.") if piece.is_own] == ["Mind the tide."]
    assert not any(piece.is_own for piece in segments(sent, typed=""))
    assert "".join(piece.text for piece in segments(sent, typed="Mind the tide.")) == sent
