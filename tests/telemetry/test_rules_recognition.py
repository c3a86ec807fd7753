"""Which records are events, and where their names and properties stand: R-6 of docs/formats/telemetry.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.telemetry.streams import (
    ENGINE,
    Record,
    assistant,
    bad_codes,
    event,
    ignored,
    model_call,
    model_message,
    modes,
    only,
    properties_of,
    reported,
    roles,
    snapshot,
    system,
    trajectories,
    user,
    user_text,
    write_lines,
)

CHAT = [system(), user(), assistant()]


def talk(name: str) -> Record:
    """Return a conversation by its id."""
    return snapshot(CHAT, name)


def ids(paths: Any, **options: Any) -> list[str]:
    """Return the conversations in the order of the output."""
    return [trajectory.conversation_id for trajectory in trajectories(paths, **options)]


@pytest.mark.parametrize("prefix", ["GitHub.copilot.chat/", "GitHub.copilot-chat/", "copilot-chat/", "a/b/", ""])
def test_r06_any_prefix_will_do(tmp_path: Path, prefix: str) -> None:
    path = write_lines(
        tmp_path,
        user_text("ask", 0, name=f"{prefix}conversation.messageText"),
        snapshot(CHAT, name=f"{prefix}engine.messages"),
    )

    trajectory = only(path)

    assert (trajectory.telemetry_type, modes(trajectory)) == (f"{prefix}engine.messages", ["ask"])


@pytest.mark.parametrize(
    "base",
    ["engine.messages.length", "engine.messagesX", "Engine.Messages", "xengine.messages", "engine.messages/", "engine"],
)
def test_r06_a_base_name_must_match_exactly(tmp_path: Path, base: str) -> None:
    found, report = reported(write_lines(tmp_path, snapshot(CHAT, name=f"copilot-chat/{base}")))

    assert (found, bad_codes(report)) == ([], [])


@pytest.mark.parametrize("prefix", ["conversation", "inlineConversation", "editingSession"])
def test_r06_text_events_are_recognised_from_three_sources(tmp_path: Path, prefix: str) -> None:
    path = write_lines(tmp_path, user_text("edit", 0, name=f"copilot-chat/{prefix}.messageText"), snapshot(CHAT))

    assert modes(only(path)) == ["edit"]


@pytest.mark.parametrize("base", ["conversation.message", "notebook.messageText", "conversation.messagetext"])
def test_r06_other_text_events_are_not_recognised(tmp_path: Path, base: str) -> None:
    path = write_lines(tmp_path, user_text("edit", 0, name=f"copilot-chat/{base}"), snapshot(CHAT))

    assert modes(only(path)) == [None]


def test_r06_participant_events_have_context(tmp_path: Path) -> None:
    seen = {"conversationId": "talk", "detectedParticipant": "workspace"}
    path = write_lines(tmp_path, event("copilot-chat/participantDetectionContext", seen), snapshot(CHAT))

    assert only(path).context["detectedParticipant"] == "workspace"


def test_r06_the_model_family_is_ignored_with_compat(tmp_path: Path) -> None:
    path = write_lines(tmp_path, *model_message("m-1", system()), *model_call("call-1", ["m-1"]))

    assert roles(only(path)) == ["system"]
    assert trajectories(path, compat=True) == []


def test_r06_the_inner_name_has_priority(tmp_path: Path) -> None:
    record = snapshot(CHAT, name="inner/engine.messages")
    record["name"] = "outer/engine.messages"

    assert only(write_lines(tmp_path, record)).telemetry_type == "inner/engine.messages"


@pytest.mark.parametrize(
    "inner", ["other/event", "engine.messages.length", "", None, 7, ["copilot-chat/engine.messages"]]
)
def test_r06_the_outer_name_counts_if_the_inner_one_is_unknown(tmp_path: Path, inner: object) -> None:
    record = snapshot(CHAT)
    record["data"]["baseData"]["name"] = inner
    record["name"] = "outer/engine.messages"

    assert only(write_lines(tmp_path, record)).telemetry_type == "outer/engine.messages"


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("place", ["data.baseData.properties", "properties", "customDimensions"])
def test_r06_properties_are_at_three_paths_as_an_object_or_its_text(tmp_path: Path, place: str, as_text: bool) -> None:
    properties: object = properties_of(talk("found"))
    value = json.dumps(properties) if as_text else properties
    record: Record = {"name": ENGINE, place: value}
    if place.startswith("data."):
        record = {"name": ENGINE, "data": {"baseData": {"properties": value}}}

    assert ids(write_lines(tmp_path, record)) == ["found"]


def test_r06_of_several_properties_objects_the_first_counts(tmp_path: Path) -> None:
    one, two, three = (properties_of(talk(name)) for name in ("one", "two", "three"))
    path = write_lines(
        tmp_path,
        {"name": ENGINE, "data": {"baseData": {"properties": one}}, "properties": two, "customDimensions": three},
        {"name": ENGINE, "data": {"baseData": {"properties": "[]"}}, "properties": two, "customDimensions": three},
        {"name": ENGINE, "data": {"baseData": []}, "properties": None, "customDimensions": json.dumps(three)},
    )

    assert ids(path) == ["one", "two", "three"]


def test_r06_an_empty_object_is_an_object(tmp_path: Path) -> None:
    record = {"name": ENGINE, "data": {"baseData": {"properties": {}}}, "properties": properties_of(talk("hidden"))}

    assert ids(write_lines(tmp_path, record)) == []


@pytest.mark.parametrize("identity", ["", None, 7, True, ["talk"], {"id": "talk"}])
def test_r06_an_id_that_is_empty_or_not_text_is_absent(tmp_path: Path, identity: object) -> None:
    record = talk("talk")
    properties_of(record)["conversationId"] = identity

    found, report = reported(write_lines(tmp_path, record))

    assert (found, ignored(report, "no_conversation_id")) == ([], 1)


def test_r06_an_empty_property_is_skipped_for_the_next_one(tmp_path: Path) -> None:
    path = write_lines(tmp_path, snapshot(CHAT, properties={"baseModel": "", "request.option.model": '"gpt-4.1"'}))

    last = only(path).messages[-1]

    assert (last.model, last.model_source) == ("gpt-4.1", "engine-request")


@pytest.mark.parametrize(
    ("properties", "model"),
    [
        ({"request.option.model": '"dots"'}, "dots"),
        ({"request_option_model": '"lines"'}, "lines"),
        ({"request_option_model": '"lines"', "request.option.model": '"dots"'}, "dots"),
        ({"request_option_model": '"lines"', "request.option.model": ""}, "lines"),
    ],
)
def test_r06_dots_in_keys_may_have_become_underscores(tmp_path: Path, properties: dict[str, str], model: str) -> None:
    path = write_lines(tmp_path, snapshot([system(), user()], properties=properties))

    assert only(path).messages[-1].model == model


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"name": None},
        {"name": ENGINE},
        {"name": ENGINE, "data": None},
        {"name": ENGINE, "data": {"baseData": None}},
        {"name": ENGINE, "data": {"baseData": {"properties": 7}}, "properties": "oops", "customDimensions": "7"},
        {"name": [ENGINE], "data": {"baseData": {"name": {}, "properties": {}}}},
        {"name": ENGINE, "properties": {"conversationId": "talk"}},
        {"name": ENGINE, "properties": {"conversationId": "talk", "messagesJson": 7}},
        {
            "name": "copilot-chat/conversation.messageText",
            "properties": {"turnIndex": [], "mode": {}, "source": "user"},
        },
        {"name": "copilot-chat/interactiveSessionResponse", "properties": {"sessionId": 1, "requestId": {}}},
        {"name": "copilot-chat/model.modelCall.input", "properties": {"messageUuids": 3, "chunkIndex": "x"}},
        {"name": "copilot-chat/model.message.added", "properties": {"messageJson": [], "totalChunks": -1}},
    ],
)
def test_r06_records_of_wrong_types_are_ignored(tmp_path: Path, record: Record) -> None:
    found, report = reported(write_lines(tmp_path, record, talk("other")))

    assert [trajectory.conversation_id for trajectory in found] == ["other"]
    assert report.balances()
