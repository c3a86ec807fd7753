"""Any conversation can be written as trajectories, and a trajectory that is read comes out as it went in."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog import ingest, sample, tags
from copilog.diagnostics import Ledger
from copilog.model import (
    AnyPart,
    Attachment,
    Compaction,
    Conversation,
    Message,
    Mode,
    Notice,
    Place,
    Prompt,
    Provenance,
    Reference,
    ResultItem,
    Role,
    SubAgent,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
)
from copilog.sources import Found
from copilog.sources.trajectories.trajectory_file import TrajectoryFile
from copilog.trajectory import (
    ConversationTrajectory,
    TrajectoryMessage,
    TrajectoryMetadata,
    encode_trajectory,
    trajectories_of,
    trajectory_of,
)
from tests.samples import SOUND, read, source_of

DATA = Path(__file__).parent / "data" / "trajectory_file"
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def message(role: Role, *parts: AnyPart, **fields: Any) -> Message:
    return Message(role=role, parts=list(parts), turn=fields.pop("turn", 0), **fields)


def conversation(*messages: Message, **fields: Any) -> Conversation:
    fields.setdefault("turns", [Turn(index=0)])
    return Conversation(
        id="vscode:s-1",
        native_id="s-1",
        source="vscode-session",
        messages=list(messages),
        provenance=[Provenance(source="vscode-session", path="/home/ana/s-1.json")],
        **fields,
    )


def written(*messages: Message, **fields: Any) -> list[TrajectoryMessage]:
    return trajectory_of(conversation(*messages, **fields)).messages


def the_only(*messages: Message, **fields: Any) -> TrajectoryMessage:
    [made] = written(*messages, **fields)
    return made


# --- messages ---------------------------------------------------------------------------------------------------


def test_the_sent_prompt_has_priority_over_the_typed_text() -> None:
    sent = "<userRequest>\nhello\n</userRequest>"
    parts = (Text(text="hello"), Prompt(text="hello there"), Prompt(text=sent))

    assert the_only(message("user", *parts)).content == sent
    assert the_only(message("user", Text(text="hello"))).content == "hello"


def test_context_is_written_once_as_a_message_before_the_prompt() -> None:
    context = Prompt(text="<context>\nx\n</context>", scope="conversation")

    made = written(message("user", context, Text(text="one")), message("user", context, Text(text="two")))

    assert [(it.role, it.content) for it in made] == [("user", context.text), ("user", "one"), ("user", "two")]


def test_attachments_are_written_as_tags_for_the_context_scan() -> None:
    made = the_only(
        message(
            "user",
            Text(text="Explain this."),
            Attachment(type="file", name='a "b".md', place=Place(path="/home/ana/a.md"), text="# A"),
            Attachment(type="file", name="off.md", is_sent=False),
            Attachment(type="image", name="bay.png"),
        )
    )

    assert tags.user_text(made.content) == "Explain this."
    [block] = tags.blocks(made.content)[0:1]
    [attachment] = tags.blocks(block.text, within="attachments")
    assert attachment.attributes == {"id": 'a "b".md', "filePath": "/home/ana/a.md"}
    assert attachment.text.strip() == "# A"
    assert made.attachments == 1


def test_system_prompts_lead() -> None:
    made = written(message("system", Prompt(text="You help.", scope="system")), message("user", Text(text="hi")))

    assert [(it.role, it.content) for it in made] == [("system", "You help."), ("user", "hi")]


def test_an_answer_is_its_prose_its_calls_and_its_thoughts() -> None:
    call = ToolCall(id="c-1", name="read_file", arguments='{"a": 1}')
    parts = (Thinking(text="Hm."), Text(text="See "), Reference(text="a.md"), Thinking(text="So."), call)

    made = the_only(message("assistant", *parts, model="gpt-5", model_source="session"))

    assert made == TrajectoryMessage(
        "assistant",
        "See a.md",
        model="gpt-5",
        model_source="session",
        tool_calls=[{"id": "c-1", "type": "function", "function": {"name": "read_file", "arguments": '{"a": 1}'}}],
        reasoning="Hm.\n\nSo.",
    )


def test_results_are_messages_of_their_own_under_the_id_that_the_model_saw() -> None:
    call = ToolCall(id="c-1", name="look", native_ids=["9f0c", "c-1__vscode-7"])
    picture = ToolResult(call_id="c-1", text="a bay", items=[ResultItem(mime_type="image/png")])

    made = written(message("assistant", call), message("tool", picture, ToolResult(call_id="c-2", text="late")))

    assert made[0].tool_calls == [
        {"id": "c-1__vscode-7", "type": "function", "function": {"name": "look", "arguments": ""}}
    ]
    assert made[1:] == [
        TrajectoryMessage("tool", "a bay", tool_call_id="c-1__vscode-7", attachments=1),
        TrajectoryMessage("tool", "late", tool_call_id="c-2"),
    ]


def test_messages_without_content_for_a_model_are_left_out() -> None:
    made = written(
        message("system", Notice(topic="info", text="Loaded.")),
        message("assistant", Compaction(text="So far.")),
        message("assistant", ToolCall(id="prepared-1", name="edit", status="prepared")),
        message("assistant"),
    )

    assert made == []
    assert list(trajectories_of(conversation(message("assistant")))) == []


def test_the_mode_is_that_of_the_message_else_of_its_turn() -> None:
    turns = [Turn(index=0, mode=Mode(kind="agent")), Turn(index=1, mode=Mode(kind="agent", name="Reviewer"))]
    context = Prompt(text="<context>\nx\n</context>", scope="conversation")
    made = trajectory_of(
        conversation(
            message("user", context),
            message("user", Text(text="one"), mode="ask"),
            message("assistant", Text(text="yes")),
            message("user", Text(text="two"), turn=1),
            turns=turns,
        )
    )

    assert [it.mode for it in made.messages] == [None, "ask", None, "Reviewer"]
    assert made.mode_distribution == {"Reviewer": 1, "ask": 1}
    assert made.metadata.mode == "ask"


# --- the line ---------------------------------------------------------------------------------------------------


def test_the_line_names_source_file_time_and_turn() -> None:
    turns = [Turn(index=0), Turn(index=1, request_id="r", extra={"result": {"metadata": {"responseId": "m-1"}}})]
    made = trajectory_of(
        conversation(
            message("user", Text(text="one")),
            message("user", Text(text="two"), turn=1),
            turns=turns,
            updated_at=NOON,
            marks=["damaged"],
        )
    )

    assert (made.conversation_id, made.telemetry_type, made.file_path) == (
        "s-1",
        "vscode-session",
        "/home/ana/s-1.json",
    )
    assert made.metadata == TrajectoryMetadata(None, None, None, "2026-05-04T12:00:00.000Z", 1, "m-1", incomplete=True)
    assert made.context == {}


def test_a_conversation_without_an_id_gets_one_from_copilog() -> None:
    nameless = conversation(message("user", Text(text="one")))
    nameless.id, nameless.native_id = "export:0123", None

    assert trajectory_of(nameless).conversation_id == "export:0123"


def test_a_sub_agent_has_a_line_of_its_own() -> None:
    call = ToolCall(id="c-1", name="runSubagent", subagent=SubAgent(prompt="Find it.", result="Found.", model="gpt-5"))
    inner = message("assistant", ToolCall(id="c-2", name="grep"), parent_call_id="c-1", created_at=NOON)

    main, sub = trajectories_of(
        conversation(
            message("user", Text(text="go")),
            message("assistant", call),
            inner,
            message("tool", ToolResult(call_id="c-2", text="x"), parent_call_id="c-1"),
            message("tool", ToolResult(call_id="c-1", text="Found.")),
        )
    )

    assert [it.role for it in main.messages] == ["user", "assistant", "tool"]
    assert sub.conversation_id == "s-1#c-1"
    assert sub.metadata.subagent is True
    assert sub.metadata.timestamp == "2026-05-04T12:00:00.000Z"
    assert [(it.role, it.content) for it in sub.messages] == [
        ("user", "Find it."),
        ("assistant", ""),
        ("tool", "x"),
        ("assistant", "Found."),
    ]
    assert (sub.messages[-1].appended, sub.messages[-1].model) == (True, "gpt-5")


def test_half_a_character_in_the_name_of_a_file_can_be_written() -> None:
    made = trajectory_of(conversation(message("user", Text(text="hi"))))
    made.file_path = "/home/ana/\udcff.json"

    assert json.loads(encode_trajectory(made))["file_path"] == "/home/ana/\ufffd.json"


@pytest.mark.parametrize("path", [sample_.path for sample_ in SOUND], ids=lambda path: path.name)
def test_every_sample_of_every_source_gives_lines(path: Path, tmp_path: Path) -> None:
    [found] = [sample_ for sample_ in SOUND if sample_.path == path]
    place = found.laid_out(tmp_path)
    for known in read(place, source_of(place)).conversations:
        for made in trajectories_of(known):
            assert msgspec.json.decode(encode_trajectory(made), type=ConversationTrajectory) == made


# --- there and back ---------------------------------------------------------------------------------------------


def read_back(lines: list[bytes]) -> list[Conversation]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "out.jsonl")
        path.write_bytes(b"\n".join(lines) + b"\n")
        return list(TrajectoryFile().read(Found(path, "trajectory-file"), Ledger()))


def there_and_back(lines: list[bytes]) -> list[bytes]:
    return [encode_trajectory(made) for known in read_back(lines) for made in trajectories_of(known)]


def test_telemetry_survives_writing_and_reading() -> None:
    tides, ferry, colours = (DATA / "norrvik.jsonl").read_bytes().splitlines()

    assert there_and_back([tides, ferry, colours]) == [tides, colours, ferry]


def test_the_sample_survives_writing_and_reading() -> None:
    home = Path(sample.__file__).parent / "home"
    conversations = [known for found in ingest.discover([home]) for known in ingest.read(found)]
    lines = [encode_trajectory(made) for known in conversations for made in trajectories_of(known)]

    assert len(lines) > 20
    assert there_and_back(lines) == lines


def test_a_plain_line_keeps_its_messages() -> None:
    lines = (DATA / "plain.jsonl").read_bytes().splitlines()

    for before, after in zip(lines, there_and_back(lines), strict=True):
        said = [
            {key: value for key, value in it.items() if value is not None and key != "name"}
            for it in json.loads(before)["messages"]
        ]
        assert json.loads(after)["messages"] == said


TEXTS = st.sampled_from(
    [
        "",
        " ",
        "hello",
        "  hello\n",
        "<context>\nx\n</context>",
        "<context>\nx\n</context>\n<userRequest>\nhello\n</userRequest>",
        "<userRequest>\n</userRequest>",
        "<conversation-summary>so far</conversation-summary> and on",
        '<attachments>\n<attachment id="a">b</attachment>\n</attachments>',
    ]
) | st.text(max_size=12)
WORDS = st.none() | st.text(min_size=1, max_size=5)
IDS = st.sampled_from(["c-1", "c-2", "c-2__vscode-1", "c-2__vscode-2", "c-3__vscode-1"])
CALLS = st.lists(
    st.builds(
        lambda name, arguments: {"id": name, "type": "function", "function": {"name": "f", "arguments": arguments}},
        IDS,
        st.text(max_size=3),
    )
    | st.just({"id": None, "type": "function", "function": {"name": "f", "arguments": ""}}),
    min_size=1,
    max_size=3,
)
MESSAGES = st.builds(
    TrajectoryMessage,
    role=st.sampled_from(["system", "user", "assistant", "tool", "unknown", "critic"]),
    content=TEXTS,
    mode=WORDS,
    model=WORDS,
    model_source=WORDS,
    model_conflict=st.sampled_from([None, True]),
    tool_calls=st.none() | CALLS,
    tool_call_id=st.none() | IDS,
    reasoning=st.none() | st.text(min_size=1, max_size=5),
    attachments=st.none() | st.integers(1, 3),
    merged=st.none() | st.just(["tool_calls"]),
    appended=st.sampled_from([None, True]),
    missing=st.sampled_from([None, True]),
).filter(
    lambda it: bool(it.content or it.tool_calls or it.tool_call_id or it.attachments or it.reasoning or it.missing)
)


@settings(max_examples=300, deadline=None)
@given(st.lists(MESSAGES, min_size=1, max_size=6))
def test_any_messages_survive_writing_and_reading(messages: list[TrajectoryMessage]) -> None:
    metadata = TrajectoryMetadata(None, None, None, "yesterday", 3, "m-1", merge_log=[(1, "tool_calls", "x", 5)])
    line = ConversationTrajectory("s-1", messages, {"a": [1]}, metadata, {}, "copilot-chat/engine.messages", "x.jsonl")

    [known] = read_back([encode_trajectory(line)])
    made = trajectory_of(known)

    assert made.messages == messages
    made.mode_distribution = {}
    assert made == line
