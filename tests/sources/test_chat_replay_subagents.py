"""Debug exports: the runs of sub-agents, below the calls that started them."""

from __future__ import annotations

from copilog.model import Message, Text
from copilog.sources.replay.chat_replay import ChatReplay
from tests.sources.replay_builders import (
    assistant,
    calls_in,
    export,
    nested,
    prompt,
    read_document,
    request,
    tool_call,
    tool_message,
    turn_texts,
    user,
)

SOURCE = ChatReplay()


def test_runs_of_sub_agents_in_one_group_are_separated() -> None:
    """Read older exports, which have all entries of a turn in one group."""
    document = export(
        prompt(
            "plant",
            request([user("plant")], "I ask two."),
            request([user("find beds")], "South.", name="tool/runSubagent", native_id="bbbb0001"),
            request([user("find seeds")], "", name="tool/runSubagent", native_id="cccc0001"),
            tool_call("s1", "file_search", "beans"),
            tool_call("c1", "runSubagent", "South.", args={"prompt": "find beds"}),
            request(
                [user("find seeds"), assistant("", ("s1", "file_search")), tool_message("s1", "beans")],
                "Beans.",
                name="tool/runSubagent",
                native_id="cccc0002",
            ),
            tool_call("c2", "runSubagent", "Beans.", args={"prompt": "find seeds"}),
        )
    )

    (conversation,), _ = read_document(SOURCE, document)

    assert [text for _, _, text in _texts(nested(conversation, "c1"))] == ["find beds", "South."]
    assert [text for _, _, text in _texts(nested(conversation, "c2"))] == ["find seeds", "Beans."]
    assert [message.role for message in nested(conversation, "c2")] == ["user", "assistant", "tool", "assistant"]
    assert [call.id for call in calls_in(conversation)] == ["c1", "c2", "s1"]


def test_a_sub_agent_without_its_caller_is_a_turn() -> None:
    document = export(prompt("South beds", request([user("find beds")], "South.", name="tool/runSubagent-Explore")))

    (conversation,), _ = read_document(SOURCE, document)

    (turn,) = conversation.turns
    assert turn_texts(conversation) == [(0, "user", "find beds"), (0, "assistant", "South.")]
    assert (turn.is_system_initiated, turn.system_label) == (True, "tool/runSubagent-Explore")


def test_sub_agents_of_sub_agents_nest() -> None:
    document = export(
        prompt("plant", request([user("plant")], ""), tool_call("c1", "runSubagent", "x", args={"prompt": "outer"})),
        prompt(
            "outer",
            request([user("outer")], "", name="tool/runSubagent", native_id="bbbb0001"),
            tool_call("c2", "runSubagent", "y", args={"prompt": "inner"}),
        ),
        prompt("inner", request([user("inner")], "y", name="tool/runSubagent", native_id="cccc0001")),
    )

    (conversation,), _ = read_document(SOURCE, document)

    assert [text for _, _, text in _texts(nested(conversation, "c1"))] == ["outer"]
    assert [text for _, _, text in _texts(nested(conversation, "c2"))] == ["inner", "y"]
    assert len(conversation.turns) == 1


def _texts(messages: list[Message]) -> list[tuple[int | None, str, str]]:
    return [
        (message.turn, message.role, part.text)
        for message in messages
        for part in message.parts
        if isinstance(part, Text)
    ]


def test_a_run_that_ended_after_the_calls_result_is_not_linked_to_it() -> None:
    early = tool_call("c1", "runSubagent", "x", args={"prompt": "beds"}, time="2026-05-04T10:00:00Z")
    late = request([user("beds")], "South.", name="tool/runSubagent", endTime="2026-05-04T10:05:00Z")

    (conversation,), _ = read_document(
        SOURCE, export(prompt("plant", request([user("plant")], ""), early), prompt("beds", late))
    )

    assert nested(conversation, "c1") == []
    assert len(conversation.turns) == 2


def test_two_runs_with_the_same_task_stay_two() -> None:
    name = "tool/runSubagent"
    runs = [
        [
            request([user("beds")], "I look.", name=name, native_id=f"bbbb000{number}"),
            request([user("beds"), assistant("I look.")], f"Bed {number}.", name=name, native_id=f"cccc000{number}"),
        ]
        for number in (1, 2)
    ]
    calls = [tool_call(f"c{number}", "runSubagent", "x", args={"prompt": "beds"}) for number in (1, 2)]
    document = export(
        prompt("plant", request([user("plant")], ""), *calls), prompt("beds", *runs[0]), prompt("beds", *runs[1])
    )

    (conversation,), _ = read_document(SOURCE, document)

    assert [text for _, _, text in _texts(nested(conversation, "c1"))] == ["beds", "I look.", "Bed 1."]
    assert [text for _, _, text in _texts(nested(conversation, "c2"))] == ["beds", "I look.", "Bed 2."]


def test_a_run_spread_over_groups_is_joined() -> None:
    name = "tool/runSubagent"
    going_on = [user("beds"), assistant("I look.")]
    document = export(
        prompt("plant", request([user("plant")], ""), tool_call("c1", "runSubagent", "x", args={"prompt": "beds"})),
        prompt("beds", request([user("beds")], "I look.", name=name, native_id="bbbb0001")),
        prompt("beds", request(going_on, "South.", name=name, native_id="bbbb0002")),
    )

    (conversation,), _ = read_document(SOURCE, document)

    assert [text for _, _, text in _texts(nested(conversation, "c1"))] == ["beds", "I look.", "South."]
