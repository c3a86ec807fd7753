"""What several requests of an export contain together: answers, the order of messages, usage of helpers."""

from __future__ import annotations

import copy

from copilog.exports.markdown import markdown_page
from copilog.model import Conversation
from copilog.sources.replay.chat_replay import ChatReplay
from copilog.store.entries import entry_of
from copilog.view.conversation_info import panel_of
from tests.sources.replay_builders import (
    Json,
    assistant,
    calls_in,
    export,
    prompt,
    read_document,
    request,
    results_in,
    tool_call,
    tool_message,
    turn_texts,
    user,
)
from tests.writers.text_builders import shown as text_of

SOURCE = ChatReplay()


def only(document: Json) -> Conversation:
    (conversation,), _ = read_document(SOURCE, document)
    return conversation


def tokens(sent: int, received: int) -> Json:
    return {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}


# --- answers that only a later request has --------------------------------------------------------------------------


def test_an_answer_that_only_a_later_request_repeats_is_included() -> None:
    unanswered = request([user("dig")], None)
    later = request([user("dig"), assistant("I dug two beds."), user("rake")], "I raked.")

    assert turn_texts(only(export(prompt("dig", unanswered), prompt("rake", later)))) == [
        (0, "user", "dig"),
        (0, "assistant", "I dug two beds."),
        (1, "user", "rake"),
        (1, "assistant", "I raked."),
    ]


def test_calls_and_results_that_only_a_later_request_repeats_are_included_in_order() -> None:
    first = request([user("dig")], "I look first.")
    looked = [assistant("I look first.", ("c1", "list_dir")), tool_message("c1", "bed.txt"), assistant("Dug.")]
    later = request([user("dig"), *looked, user("rake")], "I raked.")

    conversation = only(export(prompt("dig", first), prompt("rake", later)))

    assert [text for _, role, text in turn_texts(conversation) if role == "assistant"] == [
        "I look first.",
        "Dug.",
        "I raked.",
    ]
    assert [call.id for call in calls_in(conversation)] == ["c1"]
    assert [result.text for result in results_in(conversation)] == ["bed.txt"]


def test_an_answer_that_a_later_request_shortens_stays_complete() -> None:
    first = request([user("dig")], "I dug two beds, one of them for the roses.")
    call = tool_call("c1", "list_dir", "bed.txt and much more")
    shortened = [assistant("I dug two beds", ("c1", "list_dir")), tool_message("c1", "(cleared)"), user("rake")]
    later = request([user("dig"), *shortened], "I raked.")

    conversation = only(export(prompt("dig", first, call), prompt("rake", later)))

    assert [result.text for result in results_in(conversation)] == ["bed.txt and much more"]
    assert [text for _, role, text in turn_texts(conversation) if role == "assistant"] == [
        "I dug two beds, one of them for the roses.",
        "I raked.",
    ]


# --- prompts before their answers -----------------------------------------------------------------------------------


def test_a_prompt_precedes_a_call_whose_request_is_lost() -> None:
    shown = [user("dig"), assistant("I look.", ("c1", "list_dir")), tool_message("c1", "bed.txt")]

    conversation = only(export(prompt("dig", tool_call("c1", "list_dir", "bed.txt"), request(shown, "Dug."))))

    assert [message.role for message in conversation.messages] == ["user", "assistant", "tool", "assistant"]
    assert [text for _, role, text in turn_texts(conversation) if role != "tool"] == ["dig", "I look.", "Dug."]


def test_turns_come_in_the_order_in_which_they_began() -> None:
    later = request([user("dig"), assistant("Dug."), user("rake")], "Raked.", startTime="2026-05-04T10:05:00.000Z")
    first = request([user("dig")], "Dug.", native_id="aaaa0002", startTime="2026-05-04T10:00:00.000Z")

    assert [text for *_, text in turn_texts(only(export(prompt("rake", later), prompt("dig", first))))] == [
        "dig",
        "Dug.",
        "rake",
        "Raked.",
    ]


# --- helpers --------------------------------------------------------------------------------------------------------


def test_helpers_count_in_the_tokens_and_are_marked() -> None:
    title = request([user("write a title for: dig")], "Digging", "title", "aaaa0003", usage=tokens(50, 5))
    wrapper = request([user("who?")], "I.", "copilotLanguageModelWrapper", "aaaa0004", usage=tokens(7, 1))
    main = request([user("dig")], "Dug.", usage=tokens(1000, 100))

    conversation = only(export(prompt("dig", main, wrapper), prompt("title", title)))
    entry = entry_of(conversation)

    assert [(usage.extra or {}).get("helper") for usage in conversation.usage] == [
        "copilotLanguageModelWrapper",
        "title",
    ]
    spends = [(row.agent, row.input, row.output) for row in entry.spends]
    assert sorted((agent or "", sent, received) for agent, sent, received in spends) == [
        ("", 1000, 100),
        ("(helper)", 57, 6),
    ]
    assert [row.helper for row in entry.usages] == [None, "copilotLanguageModelWrapper", "title"]
    for page in (text_of(conversation), str(panel_of(conversation)), markdown_page(conversation)):
        assert "helpers" in page
        assert "copilotLanguageModelWrapper, title" in page


def test_helpers_alone_are_a_conversation_that_is_marked_and_counts() -> None:
    at = {"startTime": "2026-05-04T10:00:00.000Z", "endTime": "2026-05-04T10:00:02.000Z"}
    title = request([user("write a title for: dig")], "Digging", "title", "aaaa0003", usage=tokens(50, 5), **at)
    summary = request([user("dig, rake")], "Dug.", "summarizeConversationHistory", "aaaa0004", usage=tokens(7, 1))
    document = export(prompt("title", title), prompt("dig", summary))

    (conversation,), ledger = read_document(SOURCE, copy.deepcopy(document))
    (row,) = entry_of(conversation).spends

    assert (conversation.turns, conversation.messages, conversation.marks) == ([], [], ["helpers-only"])
    assert (conversation.title, str(conversation.started_at)) == ("Digging", "2026-05-04 10:00:00+00:00")
    assert [(usage.extra or {}).get("helper") for usage in conversation.usage] == [
        "title",
        "summarizeConversationHistory",
    ]
    assert (row.agent, row.input, row.output) == ("(helper)", 57, 6)
    assert [document.text for document in conversation.documents] == [
        "write a title for: dig\n\nDigging",
        "dig, rake\n\nDug.",
    ]
    assert "helpers-only" in text_of(conversation)
    assert (ledger.seen, ledger.used, ledger.ignored) == (3, 1, {"helper-request": 2})
    # A copy of the export is the same conversation, and other requests are another one.
    assert only(copy.deepcopy(document)).id == conversation.id
    assert only(export(prompt("title", copy.deepcopy(title) | {"id": "aaaa0009"}))).id != conversation.id


def test_a_helper_in_its_own_group_counts_for_the_conversation_of_its_text() -> None:
    title = request([user("write a title for: rake")], "Raking", "title", "aaaa0003", usage=tokens(50, 5))
    document = export(
        prompt("dig", request([user("dig")], "I dig.")),
        prompt("rake", request([user("rake")], "I rake.", native_id="aaaa0002")),
        prompt("title", title),
    )

    first, second = read_document(SOURCE, document)[0]

    assert (len(first.usage), len(second.usage)) == (0, 1)
    assert [document.text for document in first.documents] == []
    assert [document.text for document in second.documents] == ["write a title for: rake\n\nRaking"]


def test_a_helper_within_a_group_and_other_answers_belong_to_the_conversation_of_the_group() -> None:
    helper = request([user("is it raining?")], "It is.", "copilotLanguageModelWrapper", "aaaa0003")
    raking = request([user("rake")], "I rake.", native_id="aaaa0002")
    raking["response"]["message"] = ["I rake.", "I would rather not."]
    document = export(prompt("dig", request([user("dig")], "I dig.")), prompt("rake", raking, helper))

    first, second = read_document(SOURCE, document)[0]

    assert first.documents == []
    assert [(each.kind, each.text) for each in second.documents] == [
        ("helper", "is it raining?\n\nIt is."),
        ("choice", "I would rather not."),
    ]
