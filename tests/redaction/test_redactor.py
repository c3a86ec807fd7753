"""What replaces secrets: stable within one export, keyed, valid in its place; and that it fails closed."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from copilog.model import Conversation, FileEdit, Message, ResultItem, Text, ToolCall, ToolResult, Unknown
from copilog.redaction import Finding, NotRedacted, Private, Redactor, find, leaves_in, places_in_value, walk
from tests.redaction.seeds import generator
from tests.redaction.shapes import TOKENS

RNG = generator("redactor")
TOKEN = next(shape for shape in TOKENS if shape.name == "GitHub personal token").make(RNG).secret
OTHER = next(shape for shape in TOKENS if shape.name == "Anthropic key").make(RNG).secret


def conversation(*parts: Any, **more: Any) -> Conversation:
    return Conversation(
        id="vscode:1", source="x", messages=[Message(role="assistant", parts=list(parts), turn=0)], **more
    )


def texts(value: object) -> str:
    return "\n".join(leaf.text for leaf in leaves_in(value))


def test_the_same_secret_has_the_same_placeholder_in_one_export_and_another_one_in_the_next() -> None:
    redactor = Redactor()
    first, second = redactor.text(f"a {TOKEN} b"), redactor.text(f"TOKEN={TOKEN}")
    placeholder = first.removeprefix("a ").removesuffix(" b")

    assert placeholder.startswith("redacted-github-token-")
    assert second == f"TOKEN={placeholder}"
    assert redactor.text(OTHER) != placeholder
    assert Redactor().text(TOKEN) != placeholder


def test_findings_are_counted_by_kind() -> None:
    redactor = Redactor()
    redactor.value(conversation(Text(text=f"{TOKEN} and {TOKEN}, {OTHER}"), Text(text="mail bo@firm.de")))

    assert redactor.counts == {"github-token": 2, "anthropic-key": 1, "email": 1}


def test_what_was_redacted_is_not_redacted_again() -> None:
    redactor = Redactor()
    once = redactor.text(f'password = "{TOKEN}"; mail bo@firm.de; cd /home/bo/src; ssh build7.corp')

    assert Redactor().text(once) == once


def test_json_stays_json_and_addresses_stay_addresses() -> None:
    arguments = json.dumps(
        {"token": TOKEN, "path": "C:\\Users\\bo\\x.txt", "url": f"https://bo:{OTHER}@db.corp/a?t={TOKEN}"}
    )
    made = json.loads(Redactor().text(arguments))

    assert TOKEN not in str(made)
    assert OTHER not in str(made)
    assert made["path"].startswith("C:\\Users\\redacted-user-")
    assert made["path"].endswith("\\x.txt")
    assert urlsplit(made["url"]).hostname


def test_base64_stays_base64_of_the_rest() -> None:
    packed = base64.b64encode(f"export A={TOKEN}\nexport B=plain\n".encode()).decode()
    made = Redactor().text(f"echo {packed} | base64 -d")
    read = base64.b64decode(made.split()[1]).decode()

    assert TOKEN not in read
    assert read.startswith("export A=redacted-github-token-")
    assert read.endswith("\nexport B=plain\n")


def test_keys_of_dictionaries_bytes_and_unknown_parts_are_redacted() -> None:
    value = conversation(
        Unknown(type="new", raw={TOKEN: [{"deep": ({"x": TOKEN},)}]}),
        ToolResult(call_id="1", items=[ResultItem(data=f"log {TOKEN}".encode())]),
        extra={"bytes": list(f"log {TOKEN} and more".encode())},
    )
    made = Redactor().value(value)

    assert TOKEN not in texts(made)
    assert TOKEN.encode() not in bytes(made.extra["bytes"]) if made.extra else False


def test_a_kind_of_part_that_nobody_has_seen_is_redacted() -> None:
    class Poll(msgspec.Struct):
        question: str
        votes: dict[str, list[str]]

    made = Redactor().value({"poll": Poll(question=f"Is it {TOKEN}?", votes={OTHER: [TOKEN]})})

    assert TOKEN not in texts(made)
    assert OTHER not in texts(made)


def test_pictures_are_left_as_they_are() -> None:
    data = bytes(range(256)) * 40
    value = conversation(ToolResult(call_id="1", items=[ResultItem(data=data, mime_type="image/png")]))

    assert Redactor().value(value) == value


def test_fixed_words_of_the_model_and_values_without_texts_stay() -> None:
    value = conversation(Text(text="The assistant is here"), started_at=datetime(2026, 1, 2, tzinfo=UTC))
    made = Redactor(Private(words=("assistant",))).value(value)

    assert made.messages[0].role == "assistant"
    assert "redacted-word-" in texts(made)
    assert made.started_at == value.started_at


def test_listed_words_hosts_and_users_are_replaced_in_any_case() -> None:
    redactor = Redactor(Private(words=("Project Heron",), hosts=("buildbox",), users=("annika",)))
    made = redactor.text("On BUILDBOX, Annika works at project heron; buildboxes and annikas stay.")

    assert "heron" not in made.lower()
    assert "On redacted-host-" in made
    assert ", redacted-user-" in made
    assert made.endswith("; buildboxes and annikas stay.")


def test_kept_findings_stay() -> None:
    def keeps(finding: Finding) -> bool:
        return finding.secret == TOKEN

    made = Redactor(keeps=keeps).text(f"{TOKEN} {OTHER} {base64.b64encode(f'is {TOKEN} here'.encode()).decode()}")

    assert TOKEN in made
    assert OTHER not in made
    assert made.endswith(base64.b64encode(f"is {TOKEN} here".encode()).decode())


def test_what_cannot_be_scanned_is_an_error() -> None:
    for value in (conversation(Unknown(type="x", raw=object())), conversation(Unknown(type="x", raw=deep(2000)))):
        with pytest.raises(NotRedacted):
            Redactor().value(value)


def test_an_error_of_a_detector_is_an_error_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[Finding]:
        raise ValueError("in a detector")

    monkeypatch.setattr("copilog.redaction.scanning.private_keys", broken)
    with pytest.raises(NotRedacted, match="ValueError"):
        Redactor().value(conversation(Text(text="harmless")))


def test_two_names_that_become_one_are_an_error() -> None:
    with pytest.raises(NotRedacted):
        walk({"a": 1, "b": 2}, lambda leaf: "same")


def test_a_conversation_without_findings_is_the_same_object() -> None:
    value = conversation(Text(text="nothing here"), FileEdit(path="/srv/app.py"), ToolCall(id="1", name="run"))

    assert Redactor().value(value) is value


def test_a_prompt_does_not_continue_the_answer_before_it() -> None:
    answer = Message(role="assistant", parts=[Text(text=f"TOKEN={TOKEN}")])
    prompt = Message(role="user", parts=[Text(text="word")])
    made = Redactor().value(Conversation(id="1", source="x", messages=[answer, prompt]))

    assert made.messages[1] == prompt


def test_places_say_in_which_text_a_finding_is() -> None:
    value = conversation(Text(text="no"), Text(text=f"yes {TOKEN}"))
    leaves = leaves_in(value)
    (place,) = places_in_value(value)

    assert leaves[place.leaf].text[place.finding.start : place.finding.end] == TOKEN
    assert place.finding.confidence == "certain"


def test_a_token_whose_checksum_does_not_fit_is_replaced_but_only_possible() -> None:
    wrong = TOKEN[:-1] + ("A" if TOKEN[-1] != "A" else "B")
    (finding,) = find(f"see {wrong}")

    assert finding.confidence == "possible"
    assert wrong not in Redactor().text(f"see {wrong}")


def test_texts_with_any_character_can_be_scanned() -> None:
    text = "\ud800 \x00 %ZZ %ff \\u12 \\ud800 " + "é" * 50 + f" {TOKEN} 🔑"

    assert TOKEN not in Redactor().text(text)


def deep(levels: int) -> object:
    value: object = "x"
    for _ in range(levels):
        value = [value]
    return value


def test_a_long_text_beside_another_one_is_redacted_as_if_it_were_alone() -> None:
    """What is looked at around a border must not cut a name in two."""
    long = "".join(f"/home/annika{number}/src/app.py\n" for number in range(2000))
    alone = Redactor(key=b"k" * 32).text(long)
    made = Redactor(key=b"k" * 32).value(conversation(Text(text=long.strip()), Text(text=long.strip())))

    assert [part.text for part in made.messages[0].parts if isinstance(part, Text)] == [alone.strip()] * 2
