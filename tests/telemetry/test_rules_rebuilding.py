"""Whose snapshot it is, and snapshots rebuilt from single messages: R-15 of docs/formats/telemetry.md."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.telemetry.streams import (
    Record,
    assistant,
    bad_codes,
    contents,
    ignored,
    model_call,
    model_event,
    model_message,
    model_options,
    modes,
    only,
    properties_of,
    reported,
    roles,
    session_response,
    snapshot,
    system,
    trajectories,
    user,
    user_text,
    write_lines,
)

GPT = {"request.option.model": '"gpt-4.1"'}


def asked() -> list[Record]:
    """Return a system message m-1 and a question m-2."""
    return [*model_message("m-1", system()), *model_message("m-2", user())]


def answered() -> list[Record]:
    """Return the answer m-3 of call-1."""
    return [
        *model_message("m-3", assistant(), direction="output"),
        *model_call("call-1", ["m-3"], direction="output"),
    ]


def asking(properties: Record | None = None, **where: Any) -> list[Record]:
    """Return the input of call-1: m-1 and m-2."""
    return model_call("call-1", ["m-1", "m-2"], properties=properties, **where)


# --- conversations --------------------------------------------------------------------------------------------------


def test_r15_the_conversation_has_the_id_of_its_snapshot(tmp_path: Path) -> None:
    assert only(write_lines(tmp_path, snapshot([system(), user()], "c-17"))).conversation_id == "c-17"


def test_r15_snapshots_without_a_conversation_are_skipped_and_counted(tmp_path: Path) -> None:
    lost = [snapshot([system(), user()], None), snapshot([system(), user("other")], "")]

    found, report = reported(write_lines(tmp_path, *lost, snapshot([system(), user()], "c-17")))

    assert [trajectory.conversation_id for trajectory in found] == ["c-17"]
    assert (ignored(report, "no_conversation_id"), bad_codes(report), report.balances()) == (2, [], True)


# --- calls ----------------------------------------------------------------------------------------------------------


def test_r15_a_call_is_rebuilt_from_its_messages_and_its_answer(tmp_path: Path) -> None:
    trajectory = only(write_lines(tmp_path, *asked(), *asking(), *answered()))

    assert trajectory.conversation_id == "talk"
    assert [(message.role, message.content) for message in trajectory.messages] == [
        ("system", "You help with gardens."),
        ("user", "When do I sow beans?"),
        ("assistant", "In May."),
    ]
    assert trajectory.metadata.incomplete is None


def test_r15_a_call_without_an_answer_is_used(tmp_path: Path) -> None:
    assert roles(only(write_lines(tmp_path, *asked(), *asking()))) == ["system", "user"]


def test_r15_messages_are_in_the_order_of_the_call(tmp_path: Path) -> None:
    write_lines(tmp_path, *answered(), *model_call("call-1", ["m-2", "m-1", "m-2"]), name="b.jsonl")
    write_lines(tmp_path, *reversed(asked()), name="c.jsonl")

    assert roles(only(tmp_path, require_system_first=False)) == ["user", "system", "user", "assistant"]


def test_r15_name_time_and_file_are_those_of_the_first_input_event(tmp_path: Path) -> None:
    first, second = asking(parts=2)
    first["time"], second["time"] = "2025-10-01T09:00:00Z", "2025-10-01T08:00:00Z"
    write_lines(tmp_path, *asked(), name="a.jsonl")
    write_lines(tmp_path, second, *answered(), name="b.jsonl")
    write_lines(tmp_path, first, name="c.jsonl")

    trajectory = only(tmp_path)

    assert trajectory.telemetry_type == "GitHub.copilot-chat/model.modelCall.input"
    assert trajectory.metadata.timestamp == "2025-10-01T08:00:00Z"
    assert trajectory.file_path == f"{tmp_path}/b.jsonl"


def test_r15_a_rebuilt_snapshot_competes_with_the_others(tmp_path: Path) -> None:
    longer = [system(), user(), assistant(), user("And peas?")]

    for chat, expected in ((longer, 4), (longer[:2], 3)):
        trajectory = only(write_lines(tmp_path, *asked(), *asking(), *answered(), snapshot(chat)))
        assert len(trajectory.messages) == expected


# --- chunks ---------------------------------------------------------------------------------------------------------


def test_r15_chunks_are_joined_by_number_and_not_by_order(tmp_path: Path) -> None:
    records = [
        *model_message("m-1", system(), parts=3),
        *model_message("m-2", user("word " * 50), parts=7),
        *asking({"requestOptionsId": "o-1"}, parts=3),
        *model_options("o-1", GPT, parts=2),
    ]

    for order in (records, records[::-1], records[::2] + records[1::2]):
        trajectory = only(write_lines(tmp_path, *order))
        assert contents(trajectory) == ["You help with gardens.", "word " * 50]
        assert trajectory.messages[-1].model == "gpt-4.1"


def test_r15_of_repeated_chunks_the_first_counts(tmp_path: Path) -> None:
    records = [
        *model_message("m-1", system()),
        *model_message("m-2", user("first")),
        *model_message("m-2", user("again")),
        *asking(),
        *model_call("call-1", ["m-2"]),
    ]

    assert contents(only(write_lines(tmp_path, *records))) == ["You help with gardens.", "first"]


def test_r15_without_numbers_a_chunk_is_the_only_one(tmp_path: Path) -> None:
    records = [*asked(), *asking(), *answered()]
    for record in records:
        del properties_of(record)["chunkIndex"], properties_of(record)["totalChunks"]

    assert roles(only(write_lines(tmp_path, *records))) == ["system", "user", "assistant"]


def test_r15_numbers_may_be_numbers(tmp_path: Path) -> None:
    records = [*model_message("m-1", system(), parts=2), *model_message("m-2", user()), *asking(parts=2)]
    for record in records:
        properties = properties_of(record)
        properties |= {key: int(properties[key]) for key in ("chunkIndex", "totalChunks")}

    assert roles(only(write_lines(tmp_path, *records))) == ["system", "user"]


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_r15_a_call_whose_list_is_incomplete_is_skipped_and_counted(tmp_path: Path, lost: int) -> None:
    chunks = asking(parts=3)
    del chunks[lost]

    found, report = reported(write_lines(tmp_path, *asked(), *chunks, *answered()))

    (ledger,) = report.files.values()
    assert found == []
    assert sum(ledger.ignored.values()) + len(ledger.bad) > 0
    assert report.balances()


def test_r15_an_answer_alone_is_not_a_snapshot(tmp_path: Path) -> None:
    assert trajectories(write_lines(tmp_path, *asked(), *answered()), require_system_first=False) == []


# --- missing messages -----------------------------------------------------------------------------------------------


def test_r15_an_unknown_message_leaves_its_place(tmp_path: Path) -> None:
    trajectory = only(write_lines(tmp_path, *asked(), *model_call("call-1", ["m-1", "m-0", "m-2"]), *answered()))

    hole = trajectory.messages[1]
    assert roles(trajectory) == ["system", "unknown", "user", "assistant"]
    assert (hole.content, hole.missing) == ("", True)
    assert trajectory.metadata.incomplete is True


@pytest.mark.parametrize("lost", [0, 1])
def test_r15_a_message_that_lacks_a_chunk_is_unknown(tmp_path: Path, lost: int) -> None:
    chunks = model_message("m-2", user("word " * 20), parts=2)
    del chunks[lost]

    trajectory = only(write_lines(tmp_path, *model_message("m-1", system()), *chunks, *asking()))

    assert roles(trajectory) == ["system", "unknown"]
    assert trajectory.metadata.incomplete is True


def test_r15_an_unknown_answer_leaves_a_placeholder_too(tmp_path: Path) -> None:
    trajectory = only(write_lines(tmp_path, *asked(), *asking(), *model_call("call-1", ["m-9"], direction="output")))

    assert roles(trajectory) == ["system", "user", "unknown"]


# --- properties -----------------------------------------------------------------------------------------------------


def test_r15_properties_are_its_own_then_of_the_request_then_of_the_options(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        *asked(),
        *asking({"requestOptionsId": "o-1", "intent": "own"}),
        model_event("request.added", {"intent": "request", "detectedIntent": "request", "turnIndex": "4"}),
        model_event("request.added", {"detectedIntent": "second", "messageId": "second"}),
        *model_options("o-1", {**GPT, "intent": "options", "detectedIntent": "options", "messageId": "options"}),
    )

    metadata = only(path).metadata

    assert (metadata.intent, metadata.detected_intent, metadata.turn_index) == ("own", "request", 4)
    assert metadata.message_id == "options"


def test_r15_the_request_must_be_the_same(tmp_path: Path) -> None:
    other = model_event("request.added", {"intent": "other"}, header="turn-2")

    assert only(write_lines(tmp_path, other, *asked(), *asking())).metadata.intent is None


@pytest.mark.parametrize("value", ['"gpt-4.1"', "gpt-4.1"])
@pytest.mark.parametrize("key", ["request.option.model", "request_option_model"])
def test_r15_the_model_is_among_the_options(tmp_path: Path, key: str, value: str) -> None:
    named, options = asking({"requestOptionsId": "o-1"}), model_options("o-1", {key: value})

    question = only(write_lines(tmp_path, *asked(), *named, *options)).messages[-1]
    answer = only(write_lines(tmp_path, *asked(), *named, *options, *answered())).messages[-1]

    assert (question.role, question.model, question.model_source) == ("user", "gpt-4.1", "engine-request")
    assert (answer.role, answer.model, answer.model_source) == ("assistant", "gpt-4.1", "engine-request")


def test_r15_the_system_prompt_may_be_among_the_options(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        *model_message("m-2", user()),
        *model_call("call-1", ["m-2"], properties={"requestOptionsId": "o-1"}),
        *model_options("o-1", {"request.option.system": '[{"type":"text","text":"You help."}]'}),
    )

    assert contents(only(path)) == ["You help.", "When do I sow beans?"]


def test_r15_facts_explain_a_rebuilt_snapshot(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        user_text("agent", None, header="turn-1"),
        session_response("gpt-4o", "turn-1"),
        *asked(),
        *asking(),
        *answered(),
    )

    trajectory = only(path)

    assert (modes(trajectory), trajectory.messages[1].model) == (["agent"], "gpt-4o")


# --- unknown ids ----------------------------------------------------------------------------------------------------


def test_r15_a_conversation_id_unknown_counts_as_absent(tmp_path: Path) -> None:
    found, report = reported(write_lines(tmp_path, *asked(), *asking(conversation="unknown"), *answered()))

    assert (found, ignored(report, "no_conversation_id")) == ([], 1)
    assert report.balances()


@pytest.mark.parametrize("conversation", ["unknown", None, ""])
def test_r15_the_request_may_name_the_conversation(tmp_path: Path, conversation: str | None) -> None:
    path = write_lines(
        tmp_path,
        model_event("request.added", {}, conversation="c-17"),
        *asked(),
        *asking(conversation=conversation),
    )

    assert only(path).conversation_id == "c-17"


def test_r15_a_request_id_unknown_counts_as_absent(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        user_text("agent", None, header="unknown"),
        session_response("gpt-4o", "unknown"),
        model_event("request.added", {"intent": "other"}, header="unknown"),
        *asked(),
        *asking(header="unknown"),
        *answered(),
    )

    trajectory = only(path)

    assert (modes(trajectory), trajectory.messages[1].model, trajectory.metadata.intent) == ([None], None, None)


def test_r15_the_order_of_files_does_not_matter_for_what_is_rebuilt(tmp_path: Path) -> None:
    pieces = [asked(), asking({"requestOptionsId": "o-1"}), model_options("o-1", GPT), answered()]
    seen = set()
    for number, order in enumerate(itertools.permutations(pieces)):
        folder = tmp_path / str(number)
        for place, records in enumerate(order):
            write_lines(folder, *records, name=f"{place}.jsonl")
        trajectory = only(folder)
        seen.add((tuple(contents(trajectory)), trajectory.messages[-1].model))

    assert seen == {(("You help with gardens.", "When do I sow beans?", "In May."), "gpt-4.1")}
