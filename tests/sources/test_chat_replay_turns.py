"""Debug exports: how requests that repeat each other become turns, rounds and conversations."""

from __future__ import annotations

import pytest

from copilog.model import Compaction, Prompt, Text, Thinking, ToolCall, parts_of
from copilog.sources.replay.chat_replay import ChatReplay
from copilog.sources.replay.entries import Purpose, Servers, request_name, subagent_name
from tests.sources.replay_builders import (
    Json,
    assistant,
    calls_in,
    export,
    prompt,
    read_document,
    request,
    results_in,
    system,
    tool_call,
    tool_message,
    turn_texts,
    user,
)

SOURCE = ChatReplay()


@pytest.mark.parametrize(
    ("name", "purpose", "retry"),
    [
        ("panel/editAgent", "main", None),
        ("inline/fix", "main", None),
        ("retry-error-panel/unknown", "main", "retry-error"),
        ("retry-tool/runSubagent", "subagent", "retry"),
        ("retry-server-error-title", "helper", "retry-server-error"),
        ("retryable", "other", None),
        ("nes.next", "helper", None),
        ("summarizeConversationHistory-full", "helper", None),
        ("Claude Copilot Proxy", "helper", None),
        ("", "other", None),
    ],
)
def test_the_purpose_of_a_request_is_read_from_its_name(name: str, purpose: Purpose, retry: str | None) -> None:
    found = request_name(name)

    assert (found.purpose, found.retry, found.full) == (purpose, retry, name)


def test_a_sub_agents_request_may_name_the_agent() -> None:
    assert subagent_name("tool/runSubagent-Plan") == "Plan"
    assert subagent_name("tool/runSubagent") is None


def test_tools_of_servers_begin_with_the_servers_label() -> None:
    servers = Servers([{"label": "io.example.tools/long-name"}, {"label": "bed"}, {"no": "label"}, 3])

    assert servers.of_tool("mcp_io_example_to_dig") == "io.example.tools/long-name"
    assert servers.of_tool("mcp_bed_water") == "bed"
    assert servers.of_tool("mcp_other_water") is None
    assert servers.of_tool("read_file") is None


# --- turns ------------------------------------------------------------------------------------------------------


def test_a_turn_may_be_spread_over_groups() -> None:
    """Join groups: the debug view starts a new group of the same name when other entries come in between."""
    asked = [system("Be kind."), user("dig")]
    repeated = [*asked, assistant("I dig.", ("c1", "shovel")), tool_message("c1", "a hole")]
    document = export(
        prompt("dig", request(asked, "I dig.", ourRequestId="t1"), tool_call("c1__vscode-1", "shovel", "a hole")),
        prompt("dig", request(repeated, "Done.", ourRequestId="t1")),
    )

    (conversation,), _ = read_document(SOURCE, document)

    assert turn_texts(conversation) == [(0, "user", "dig"), (0, "assistant", "I dig."), (0, "assistant", "Done.")]
    (turn,) = conversation.turns
    assert [made.call_ids for made in turn.rounds] == [["c1"], []]
    assert len((turn.extra or {})["groups"]) == 2


def test_groups_without_ids_are_joined_by_repeated_messages() -> None:
    asked = [user("dig")]
    goes_on = [*asked, assistant("I dig.")]
    again = [*goes_on, assistant("Done."), user("dig")]
    document = export(
        prompt("dig", request(asked, "I dig.")),
        prompt("dig", request(goes_on, "Done.")),
        prompt("dig", request(again, "Deeper.")),
    )

    (conversation,), _ = read_document(SOURCE, document)

    assert turn_texts(conversation) == [
        (0, "user", "dig"),
        (0, "assistant", "I dig."),
        (0, "assistant", "Done."),
        (1, "user", "dig"),
        (1, "assistant", "Deeper."),
    ]


def test_a_tool_call_that_no_request_repeats_follows_its_answer() -> None:
    document = export(prompt("dig", request([user("dig")], "I dig."), tool_call("c1", "shovel", "a hole")))

    (conversation,), _ = read_document(SOURCE, document)

    assert [message.role for message in conversation.messages] == ["user", "assistant", "tool"]
    assert [type(part) for part in conversation.messages[1].parts] == [Text, ToolCall]
    assert [result.text for result in results_in(conversation)] == ["a hole"]
    assert conversation.turns[0].status is None


def test_rounds_replaced_by_a_summary_are_included() -> None:
    asked = user("<userRequest>\ndig\n</userRequest>")
    summary = user("<conversation-summary>\nA hole was dug.\n</conversation-summary>")
    first = [asked, assistant("I dig.", ("c1", "shovel")), tool_message("c1", "a hole")]
    document = export(
        prompt(
            "dig",
            request([asked], "I dig."),
            tool_call("c1", "shovel", "a hole"),
            request(first, "", native_id="aaaa0002"),
            tool_call("c2", "rake", "smooth"),
            request(
                [summary, assistant("", ("c2", "rake")), tool_message("c2", "smooth")], "Done.", native_id="aaaa0003"
            ),
        )
    )

    (conversation,), _ = read_document(SOURCE, document)

    assert [call.id for call in calls_in(conversation)] == ["c1", "c2"]
    assert turn_texts(conversation) == [(0, "user", "dig"), (0, "assistant", "I dig."), (0, "assistant", "Done.")]
    assert [part.text for part in parts_of(conversation) if isinstance(part, Compaction)] == ["A hole was dug."]


def test_lost_white_space_does_not_duplicate_an_answer() -> None:
    document = export(
        prompt("dig", request([user("dig")], "I dig. \n"), request([user("dig"), assistant("I dig.")], "Done.")),
    )

    (conversation,), _ = read_document(SOURCE, document)

    assert [text for _, role, text in turn_texts(conversation) if role == "assistant"] == ["I dig.", "Done."]


def test_an_answer_given_twice_is_included_twice() -> None:
    again = [user("dig"), assistant("More."), assistant("More.")]
    document = export(prompt("dig", request([user("dig")], "More."), request(again, "Done.")))

    (conversation,), _ = read_document(SOURCE, document)

    assert [text for _, role, text in turn_texts(conversation) if role == "assistant"] == ["More.", "More.", "Done."]


def test_the_label_is_the_prompt_if_no_message_contains_it() -> None:
    context = user("<environment_info>\nLinux\n</environment_info>")
    document = export(
        prompt("dig here", request([context], "I dig.")), prompt("hidden", {"kind": "element", "name": "x"})
    )

    (conversation,), _ = read_document(SOURCE, document)

    assert turn_texts(conversation) == [(0, "user", "dig here"), (0, "assistant", "I dig."), (1, "user", "hidden")]


def test_thinking_that_only_the_log_records_comes_before_its_call() -> None:
    logged = tool_call("c1", "shovel", "a hole", thinking={"id": "t1", "text": "Deep?"})
    document = export(prompt("dig", request([user("dig")], ""), logged))

    (conversation,), _ = read_document(SOURCE, document)

    assert [type(part) for part in conversation.messages[1].parts] == [Thinking, ToolCall]
    assert conversation.turns[0].rounds[0].thinking == "Deep?"


def test_only_a_changed_system_prompt_is_repeated() -> None:
    first = [system("Be kind."), user("one")]
    second = [system("Be kind."), user("one"), assistant("1"), user("two")]
    third = [system("Be quick."), user("one"), assistant("1"), user("two"), assistant("2"), user("three")]
    document = export(
        prompt("one", request(first, "1")), prompt("two", request(second, "2")), prompt("three", request(third, "3"))
    )

    (conversation,), _ = read_document(SOURCE, document)

    prompts = [
        (message.turn, part.scope, part.text)
        for message in conversation.messages
        for part in message.parts
        if isinstance(part, Prompt)
    ]
    assert prompts == [(0, "system", "Be kind."), (2, "system", "Be quick.")]


def test_a_truncated_answer_is_included_and_marked() -> None:
    cut = request([user("dig")], None)
    cut |= {"type": "ChatMLFailure", "response": {"type": "truncated", "message": "I di"}}

    (conversation,), _ = read_document(SOURCE, export(prompt("dig", cut)))

    (turn,) = conversation.turns
    assert turn_texts(conversation)[1] == (0, "assistant", "I di")
    assert turn.status == "failed"
    assert turn.error is not None
    assert (turn.error.code, turn.error.flags) == ("length", ["incomplete"])


@pytest.mark.parametrize("spelling", ["canceled", "cancelled"])
def test_both_spellings_of_a_cancelled_request_are_recognized(spelling: str) -> None:
    stopped = request([user("dig")], None) | {"response": {"type": spelling}}

    (conversation,), _ = read_document(SOURCE, export(prompt("dig", stopped)))

    assert conversation.turns[0].status == "cancelled"


def test_a_retry_that_works_makes_a_turn_complete() -> None:
    failed = request([user("dig")], None) | {"type": "ChatMLFailure", "response": {"type": "failure", "reason": "busy"}}
    worked = request([user("dig")], "I dig.", name="retry-error-panel/editAgent", native_id="aaaa0002")

    (conversation,), _ = read_document(SOURCE, export(prompt("dig", failed, worked)))

    (turn,) = conversation.turns
    assert (turn.status, turn.error) == ("complete", None)
    assert [(made.extra or {}).get("reason") for made in turn.rounds] == ["busy", None]


# --- names that decide ------------------------------------------------------------------------------------------


def test_unknown_request_names_count_only_without_well_known_ones() -> None:
    alone = export(prompt("dig", request([user("dig")], "I dig.", name="somethingNew")))
    beside = export(
        prompt("dig", request([user("dig")], "I dig."), request([user("check")], "fine", name="somethingNew"))
    )

    (conversation,), ledger = read_document(SOURCE, alone)
    assert turn_texts(conversation)[1] == (0, "assistant", "I dig.")
    assert ledger.ignored == {}

    (conversation,), ledger = read_document(SOURCE, beside)
    assert turn_texts(conversation) == [(0, "user", "dig"), (0, "assistant", "I dig.")]
    assert ledger.ignored == {"helper-request": 1}


def test_a_user_may_type_the_name_of_a_helper() -> None:
    (conversation,), _ = read_document(SOURCE, export(prompt("ghost", request([user("ghost")], "Boo."))))

    assert turn_texts(conversation) == [(0, "user", "ghost"), (0, "assistant", "Boo.")]


# --- conversations ----------------------------------------------------------------------------------------------


def test_a_request_that_repeats_nothing_begins_another_conversation() -> None:
    title = request([user("write a title for: rake")], "Raking", name="title")
    document = export(
        prompt("dig", request([user("dig")], "I dig.")),
        prompt("rake", request([user("rake")], "I rake."), title),
        prompt("deeper", request([user("dig"), assistant("I dig."), user("deeper")], "Deeper.")),
    )

    first, second = read_document(SOURCE, document)[0]

    assert [text for _, role, text in turn_texts(first) if role == "user"] == ["dig", "deeper"]
    assert [text for _, role, text in turn_texts(second) if role == "user"] == ["rake"]
    assert (first.title, second.title) == (None, "Raking")
    assert first.id != second.id


def test_turns_that_are_only_in_the_history_come_first() -> None:
    history = [user("one"), assistant("1"), user("two"), assistant("2")]
    later = [*history, user("three"), assistant("3"), user("four"), assistant("4"), user("five")]
    document = export(
        prompt("three", request([*history, user("three")], "3")),
        prompt("five", request(later, "5")),
    )

    (conversation,), _ = read_document(SOURCE, document)

    assert [text for _, role, text in turn_texts(conversation) if role == "user"] == [
        "one",
        "two",
        "three",
        "four",
        "five",
    ]
    assert [(turn.extra or {}).get("from_history", False) for turn in conversation.turns] == [
        True,
        True,
        False,
        True,
        False,
    ]


def test_a_request_with_a_summary_continues_the_conversation() -> None:
    summary = user("<conversation-summary>\nWe dug.\n</conversation-summary>")
    document = export(
        prompt("dig", request([user("dig")], "I dig.")),
        prompt("rake", request([summary, user("rake")], "I rake.")),
    )

    (conversation,), _ = read_document(SOURCE, document)

    assert len(conversation.turns) == 2


# --- other spellings --------------------------------------------------------------------------------------------


def test_messages_of_other_producers_are_read_as_well() -> None:
    messages: list[Json] = [
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "dig"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "function": {"name": "shovel", "arguments": {"deep": True}}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a hole"},
    ]
    entry = request([], "Done.")
    entry["requestMessages"] = messages

    (conversation,), _ = read_document(SOURCE, export(prompt("dig", entry)))

    assert [message.role for message in conversation.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert [call.arguments for call in calls_in(conversation)] == ['{"deep":true}']


def test_unknown_parts_and_roles_are_stored_and_counted() -> None:
    messages: list[Json] = [
        {"role": 9, "content": "psst"},
        {"role": 1, "content": [{"type": 1, "text": "dig"}, {"type": 77, "smell": "roses"}]},
    ]

    (conversation,), ledger = read_document(SOURCE, export(prompt("dig", request(messages))))

    assert ledger.parts.unknown == {"role:9": 1, "content:77": 1}
    assert conversation.messages[0].extra == {"role": 9}
    assert "roses" in str(conversation.messages[1].parts)
