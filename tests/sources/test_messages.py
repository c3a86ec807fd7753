"""The user's side of a request: the text as typed, its mentions, and the prompt that was sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from copilog.diagnostics import Ledger
from copilog.model import AnyPart, Attachment, Mention, Place, Prompt, Text, Unknown, prose_of
from copilog.tags import user_text
from tests.sources.vscode_builders import read_session, request, session

Json = dict[str, Any]
FILE: Json = {"$mid": 1, "scheme": "file", "path": "/home/ana/a.py"}
PLACE = Place(uri="file:///home/ana/a.py", path="/home/ana/a.py")


def read_message(tmp_path: Path, message: Any, **fields: Any) -> tuple[list[AnyPart], Ledger]:
    conversation, ledger = read_session(session(request(message=message, **fields)), tmp_path)
    return conversation.messages[0].parts, ledger


def read_mention(tmp_path: Path, text: str, part: Json) -> Mention:
    (_, mention), _ = read_message(tmp_path, {"text": text, "parts": [part]})
    assert isinstance(mention, Mention)
    return mention


def span(text: str, words: str) -> Json:
    """Return the range of a text, as VS Code counts."""
    start = len(text[: text.index(words)].encode("utf-16-le")) // 2
    return {"start": start, "endExclusive": start + len(words.encode("utf-16-le")) // 2}


@pytest.mark.parametrize(
    ("words", "fields", "type_", "name", "native_id"),
    [
        ("@workspace", {"kind": "agent", "agent": {"id": "a.w", "name": "workspace"}}, "agent", "workspace", None),
        ("@old", {"kind": "agent", "agent": {"id": "old"}}, "agent", "old", None),
        ("/tests", {"kind": "subcommand", "command": {"name": "tests"}}, "command", "tests", None),
        ("/clear", {"kind": "slash", "slashCommand": {"command": "clear", "detail": "d"}}, "command", "clear", None),
        ("/plan", {"kind": "prompt", "name": "plan", "displayText": "/plan"}, "prompt", "plan", None),
        ("/plan", {"kind": "prompt", "slashPromptCommand": "plan"}, "prompt", "plan", None),
        ("/plan", {"kind": "prompt", "slashPromptCommand": {"command": "plan"}}, "prompt", "plan", None),
        ("#fetch", {"kind": "tool", "toolName": "fetch", "toolId": "t-1"}, "tool", "fetch", "t-1"),
        (
            "#edit",
            {"kind": "toolset", "id": "s-1", "name": "edit", "tools": [{"toolId": "t"}]},
            "toolset",
            "edit",
            "s-1",
        ),
        ("#a.py", {"kind": "dynamic", "text": "#a.py", "id": "d-1", "data": FILE}, "file", "#a.py", "d-1"),
        ("#src", {"kind": "dynamic", "text": "#src", "isDirectory": True, "fullName": "/src"}, "file", "/src", None),
        ("#sel", {"kind": "dynamic", "text": "#sel", "data": "chosen: words"}, "variable", "#sel", None),
        (
            "#file:x",
            {"kind": "var", "variableName": "file", "variableArg": "x", "variableId": "v"},
            "variable",
            "file",
            "v",
        ),
    ],
)
def test_every_kind_of_mention(
    words: str, fields: Json, type_: str, name: str, native_id: str | None, tmp_path: Path
) -> None:
    text = f"please 🦀 {words} now"
    mention = read_mention(tmp_path, text, {**fields, "range": span(text, words)})

    assert (mention.type, mention.native, mention.name, mention.id) == (type_, fields["kind"], name, native_id)
    assert mention.text == words
    assert text[mention.start : mention.end] == words


def test_a_mention_of_a_file_has_its_location(tmp_path: Path) -> None:
    as_object = read_mention(tmp_path, "#a", {"kind": "dynamic", "text": "#a", "data": FILE})
    as_text = read_mention(tmp_path, "#a", {"kind": "dynamic", "text": "#a", "data": "file:///home/ana/a.py"})
    as_words = read_mention(tmp_path, "#a", {"kind": "dynamic", "text": "#a", "data": "a.py and others"})

    assert as_object.place == as_text.place == PLACE
    assert as_words.place is None


@pytest.mark.parametrize(
    "odd",
    [
        None,
        {},
        {"start": 0},
        {"start": 2, "endExclusive": 1},
        {"start": -1, "endExclusive": 1},
        {"start": 0, "endExclusive": 99},
        {"start": False, "endExclusive": 1},
        {"start": 0, "endExclusive": True},
    ],
)
@pytest.mark.parametrize("text", ["see #a", "see 🦀 #a"])
def test_an_offset_outside_of_the_text_is_none(text: str, odd: Any, tmp_path: Path) -> None:
    mention = read_mention(tmp_path, text, {"kind": "dynamic", "text": "#a", "range": odd})

    assert (mention.start, mention.end, mention.text) == (None, None, "#a")
    assert mention.extra == {"range": odd}


def test_the_text_is_the_one_that_was_typed_not_the_sum_of_its_parts(tmp_path: Path) -> None:
    message = {
        "text": "@agent do it",
        "parts": [{"kind": "agent", "agent": {"name": "agent"}}, {"kind": "text", "text": " do it"}],
    }
    parts, ledger = read_message(tmp_path, message)

    assert parts[0] == Text(text="@agent do it")
    assert [part.native for part in parts[1:]] == ["agent"]
    assert (ledger.parts.seen, ledger.parts.used) == (2, 2)


def test_without_a_text_the_parts_are_joined(tmp_path: Path) -> None:
    parts, _ = read_message(tmp_path, {"parts": [{"kind": "text", "text": "one "}, {"text": "two"}, {"kind": "tool"}]})

    assert parts[0] == Text(text="one two")


def test_plain_parts_missing_from_the_text_are_included(tmp_path: Path) -> None:
    others = [{"kind": "text", "text": "others"}, {"kind": "text", "text": "words", "style": "bold"}, "loose"]
    parts, ledger = read_message(
        tmp_path, {"text": "words", "parts": [*others, {"kind": "text", "text": "words"}, "or"]}
    )

    assert parts == [
        Text(text="words", extra={"parts": others[1:2]}),
        Prompt(text="others\n\nloose", native="message.parts"),
    ]
    assert ledger.parts.used == 5


def test_an_unknown_kind_of_part_is_stored_and_counted(tmp_path: Path) -> None:
    odd = {"kind": "sticker", "image": "cat"}
    parts, ledger = read_message(tmp_path, {"text": "hi", "parts": [odd, {"range": {}}, None, 5]})

    assert parts[1] == Unknown(type="message:sticker", raw=odd, position=0)
    assert ledger.parts.unknown == {"message:sticker": 1, "message:None": 1}
    assert ledger.parts.ignored == {"null-part": 1}
    assert [bad.pointer for bad in ledger.parts.bad] == ["/requests/0/message/parts/3"]


def test_further_fields_of_a_message_are_in_extra(tmp_path: Path) -> None:
    parts, _ = read_message(tmp_path, {"text": "hi", "parts": "none", "mood": "good"})

    assert parts == [Text(text="hi", extra={"parts": "none", "mood": "good"})]


# --- the prompt that was really sent ----------------------------------------------------------------------------

RENDERED = """\
<attachments>
<attachment id="a.py" filePath="/home/ana/a.py">
# the words of a file, not of the user
</attachment>
</attachments>
<context>
The current date is a fine day.
</context>
<reminderInstructions>
Be brief.
</reminderInstructions>
<userRequest>
rename it, please
</userRequest>
"""


def test_the_users_text_is_separate_from_the_context_of_the_prompt(tmp_path: Path) -> None:
    parts, _ = read_message(
        tmp_path,
        {"text": "rename it, please", "parts": []},
        result={
            "metadata": {
                "renderedUserMessage": [{"type": 1, "text": RENDERED}, {"type": 3, "cacheType": "ephemeral"}],
                "renderedGlobalContext": [{"type": 1, "text": "<environment_info>\n"}, {"type": 1, "text": "x"}],
            }
        },
    )

    words, conversation_wide, sent = parts
    assert prose_of(parts) == "rename it, please"
    assert isinstance(sent, Prompt)
    assert (sent.text, sent.scope, sent.native) == (RENDERED, "turn", "renderedUserMessage")
    assert sent.extra == {"parts": [{"type": 3, "cacheType": "ephemeral"}]}
    assert user_text(sent.text) == "rename it, please"
    assert isinstance(conversation_wide, Prompt)
    assert (conversation_wide.text, conversation_wide.scope) == ("<environment_info>\nx", "conversation")
    assert isinstance(words, Text)


def test_a_prompt_may_be_a_plain_text(tmp_path: Path) -> None:
    parts, _ = read_message(
        tmp_path, "hi", result={"metadata": {"renderedUserMessage": "<userRequest>hi</userRequest>"}}
    )

    assert parts[1] == Prompt(text="<userRequest>hi</userRequest>", native="renderedUserMessage")


def test_pictures_of_a_prompt_stay_beside_its_text(tmp_path: Path) -> None:
    picture = {"type": 2, "imageUrl": {"url": "https://example.com/i.png"}}
    named = {"type": 1, "text": "look: ", "name": "n"}
    parts, _ = read_message(tmp_path, "hi", result={"metadata": {"renderedUserMessage": [named, picture, None]}})

    assert parts[1:] == [
        Prompt(text="look: ", native="renderedUserMessage", extra={"parts": [{"type": 1, "name": "n"}, {"type": 2}]}),
        Attachment(type="image", text="https://example.com/i.png", is_automatic=True, native="imageUrl"),
    ]


def test_a_picture_that_was_sent_as_data_is_an_attachment(tmp_path: Path) -> None:
    picture = {"type": 2, "imageUrl": {"url": "data:image/gif;base64,R0lGODdh", "detail": "low"}}
    parts, _ = read_message(tmp_path, "hi", result={"metadata": {"renderedUserMessage": [picture]}})

    assert parts[2] == Attachment(
        type="image",
        mime_type="image/gif",
        data=b"GIF87a",
        is_automatic=True,
        native="imageUrl",
        extra={"detail": "low"},
    )


def test_a_picture_that_was_attached_and_sent_is_included_once(tmp_path: Path) -> None:
    picture = {"type": 2, "imageUrl": {"url": "data:image/gif;base64,R0lGODdh"}}
    pasted = {"kind": "image", "id": "p", "name": "Pasted", "mimeType": "image/gif", "value": {"$base64": "R0lGODdh"}}
    parts, _ = read_message(
        tmp_path,
        "hi",
        variableData={"variables": [pasted]},
        result={"metadata": {"renderedUserMessage": [picture]}},
    )

    assert [part.name for part in parts if isinstance(part, Attachment)] == ["Pasted"]


def test_records_of_early_releases_are_read(tmp_path: Path) -> None:
    metadata = {
        "messages": [{"role": "user", "content": "sent to it"}, {"role": "assistant", "content": "came from it"}, 5],
        "edits": {
            "request": "change these files",
            "response": "changed them",
            "workingSet": [{"uri": {"$mid": 1, "scheme": "file", "path": "/w/a.py"}, "text": "a = 1", "version": 3}],
        },
    }
    conversation, _ = read_session(session(request(result={"metadata": metadata})), tmp_path)
    turn = conversation.turns[0]

    sent = [part for part in conversation.messages[0].parts if isinstance(part, Prompt | Attachment)]
    assert [part.text for part in sent] == ["sent to it", "change these files", "a = 1"]
    assert [one.text for one in turn.rounds] == ["came from it", "changed them"]
    assert turn.extra is not None
    assert turn.extra["result"]["metadata"] == {"messages": [5], "edits": {"workingSet": [{"version": 3}]}}


@pytest.mark.parametrize("nothing", [[], "", [None]])
def test_an_empty_prompt_has_no_parts(nothing: Any, tmp_path: Path) -> None:
    parts, _ = read_message(tmp_path, "hi", result={"metadata": {"renderedUserMessage": nothing}})

    assert parts == [Text(text="hi")]


def test_the_system_prompt_of_another_assistant_is_a_prompt(tmp_path: Path) -> None:
    parts, _ = read_message(tmp_path, "hi", result={"metadata": {"systemPrompt": "You help with data."}})

    assert parts[1] == Prompt(text="You help with data.", scope="system", native="systemPrompt")
