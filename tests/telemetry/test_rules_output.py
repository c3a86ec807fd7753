"""R-32 to R-41: which trajectories are kept, the context found in them, and how they are written."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from copilog.errors import UsageError
from copilog.trajectory import encode_trajectory
from tests.telemetry.streams import (
    Paths,
    Record,
    assistant,
    call,
    contents,
    event,
    model_call,
    model_message,
    only,
    roles,
    session_response,
    snapshot,
    system,
    tool,
    trajectories,
    user,
    user_text,
    write_lines,
)


def ids(paths: Paths, **options: Any) -> list[str]:
    return [trajectory.conversation_id for trajectory in trajectories(paths, **options)]


def written(paths: Paths, **options: Any) -> Record:
    """Return the one trajectory as written in the output."""
    line: Record = json.loads(encode_trajectory(only(paths, **options)))
    return line


# --- system first -----------------------------------------------------------------------------------------------


def test_r32_only_conversations_that_begin_with_a_system_message_are_kept(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        snapshot([user(), assistant()], "a"),
        snapshot([system(), user()], "b"),
        snapshot([user(), system(), user()], "c"),
    )

    assert ids(path) == ["b"]
    assert ids(path, require_system_first=True) == ["b"]
    assert ids(path, require_system_first=False) == ["a", "b", "c"]


def test_r32_snapshots_are_judged_before_the_winner_is_chosen(tmp_path: Path) -> None:
    tail = snapshot([user("Tail"), assistant(), user(), assistant()])
    whole = snapshot([system(), user("Whole")])
    path = write_lines(tmp_path, tail, whole)

    assert contents(only(path))[1] == "Whole"
    assert contents(only(path, require_system_first=False))[0] == "Tail"


@pytest.mark.parametrize("first", ["developer", 0, "system"])
def test_r32_every_spelling_of_the_system_role_counts(tmp_path: Path, first: str | int) -> None:
    path = write_lines(tmp_path, snapshot([{"role": first, "content": "You help."}, user()]))

    assert roles(only(path)) == ["system", "user"]


def test_r32_a_synthesised_system_message_counts(tmp_path: Path) -> None:
    option = {"request_option_system": '[{"type":"text","text":"You help."}]'}

    path = write_lines(tmp_path, snapshot([user()], properties=option))

    assert contents(only(path)) == ["You help.", "When do I sow beans?"]


def test_r32_the_first_message_is_the_first_that_is_kept(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path, snapshot([user(""), system(), user()], "a"), snapshot([system(""), user(), assistant()], "b")
    )

    assert ids(path) == ["a"]


def test_r32_an_output_event_that_is_filtered_out_still_closes(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path, snapshot([system(), user()], header="h-1"), snapshot([assistant("In May.")], header="h-1")
    )

    assert contents(only(path))[-1] == "In May."


# --- sampling and the regular expression ------------------------------------------------------------------------

NAMES = [f"talk-{number}" for number in range(12)]


@pytest.fixture
def twelve(tmp_path: Path) -> Path:
    """Return twelve conversations about twelve beds."""
    return write_lines(
        tmp_path, *(snapshot([system(), user(f"Bed {number}")], name) for number, name in enumerate(NAMES))
    )


def smallest(number: int, seed: int, names: list[str]) -> list[str]:
    chosen = sorted(names, key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).digest())[:number]
    return [name for name in names if name in chosen]


def test_r33_random_selects_the_smallest_digests_and_keeps_the_order(twelve: Path) -> None:
    assert ids(twelve, sample=5) == smallest(5, 0, NAMES)
    assert ids(twelve, sample=5, seed=7) == smallest(5, 7, NAMES)
    assert ids(twelve, sample=5, seed=7, sample_mode="random") == smallest(5, 7, NAMES)
    assert smallest(5, 0, NAMES) != smallest(5, 7, NAMES)


def test_r33_first_selects_the_first_seen(twelve: Path) -> None:
    assert ids(twelve, sample=3, sample_mode="first", seed=7) == NAMES[:3]


@pytest.mark.parametrize("sample_mode", ["random", "first"])
def test_r33_a_sample_larger_than_all_is_all(twelve: Path, sample_mode: str) -> None:
    assert ids(twelve, sample=12, sample_mode=sample_mode) == NAMES
    assert ids(twelve, sample=500, sample_mode=sample_mode) == NAMES


def test_r33_the_choice_does_not_depend_on_the_order_of_files(tmp_path: Path) -> None:
    for number, name in enumerate(reversed(NAMES)):
        write_lines(tmp_path / "in", snapshot([system(), user()], name), name=f"{number:02}.jsonl")

    assert sorted(ids(tmp_path / "in", sample=5)) == sorted(smallest(5, 0, NAMES))


def test_r33_the_sample_is_taken_of_merged_and_filtered_conversations(tmp_path: Path) -> None:
    tails = [snapshot([user()], f"tail-{number}") for number in range(4)]
    repeated = [snapshot([system(), user()], "a"), snapshot([system(), user(), assistant()], "a")]
    path = write_lines(tmp_path, *tails, *repeated, snapshot([system(), user()], "b"))

    assert ids(path, sample=2, sample_mode="first") == ["a", "b"]
    assert ids(path, sample=2) == ["a", "b"]


def test_r33_a_subagent_is_sampled_by_its_own_id(tmp_path: Path) -> None:
    records = [
        snapshot([system(), user()], properties={"subType": "subagent", "messageId": f"m-{number}"})
        for number in range(6)
    ]

    path = write_lines(tmp_path, *records)

    assert ids(path, sample=3) == smallest(3, 0, [f"talk#m-{number}" for number in range(6)])


def test_r33_the_regex_selects_conversations_with_a_matching_user_message(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        snapshot([system(), user("Sow Beans")], "searched, not matched from the start"),
        snapshot([system(), user("Peas"), assistant(), user("and now Beans?")], "any user message"),
        snapshot([system("Beans"), user("Peas"), assistant("Beans"), tool("Beans")], "other roles"),
        snapshot([system(), user("beans")], "another case"),
    )

    assert ids(path, regex=r"B[e]ans\b") == ["searched, not matched from the start", "any user message"]
    assert ids(path, regex="(?i)^beans$") == ["another case"]
    assert ids(path, regex="turnips") == []


def test_r33_the_regex_is_applied_before_the_sample(twelve: Path) -> None:
    even = [name for number, name in enumerate(NAMES) if number % 2 == 0]

    assert ids(twelve, regex="[02468]$", sample=3, sample_mode="first") == even[:3]
    assert ids(twelve, regex="[02468]$", sample=3) == smallest(3, 0, even)


def test_r33_the_regex_searches_the_winner(tmp_path: Path) -> None:
    path = write_lines(tmp_path, snapshot([system(), user("Peas")]), snapshot([system(), user("Beans"), assistant()]))

    assert ids(path, regex="Peas") == []
    assert ids(path, regex="Beans") == ["talk"]


def test_r33_a_wrong_regex_is_an_error_of_the_caller(twelve: Path) -> None:
    with pytest.raises(UsageError, match="position"):
        trajectories(twelve, regex="Bed (")


# --- context, through the whole pipeline ----------------------------------------------------------------


def context_of(tmp_path: Path, text: str, **options: Any) -> Record:
    """Return the context of a conversation with one user message."""
    context: Record = written(write_lines(tmp_path, snapshot([system(), user(text)])), **options)["context"]
    return context


def test_r34_properties_are_copied_and_missing_ones_come_from_detection_events(tmp_path: Path) -> None:
    def detected(conversation: str = "talk", **properties: str) -> Record:
        return event("GitHub.copilot-chat/participantDetectionContext", {"conversationId": conversation, **properties})

    own = {
        "attachedContext": '[{"file":"beds.md"}]',
        "contextTypes": "file",
        "fileExcerpt": "12",
        "activeSelection": "",
        "assignedIntent": '{"broken',
    }
    path = write_lines(
        tmp_path,
        detected("elsewhere", activeSelection="not ours"),
        detected(detectedParticipant="workspace", fileExcerpt="not needed"),
        snapshot([system(), user()], properties={"activeSelection": "of a donor"}),
        snapshot([system(), user(), assistant()], properties=own),
        detected(detectedParticipant="later", activeSelection='{"line":3}'),
    )

    context = written(path)["context"]

    assert {key: context.get(key) for key in (*own, "detectedParticipant")} == {
        "attachedContext": [{"file": "beds.md"}],
        "contextTypes": "file",
        "fileExcerpt": "12",
        "activeSelection": {"line": 3},
        "assignedIntent": '{"broken',
        "detectedParticipant": "workspace",
    }


def test_r35_user_messages_of_the_winner_are_scanned(tmp_path: Path) -> None:
    first = "<environment_info>\nLinux\n</environment_info>\n<userRequest>\nSow beans\n</userRequest>"
    path = write_lines(
        tmp_path,
        user_text("ask", 0),
        snapshot([system("<context>not here</context>"), user("<context>gone</context> Peas")]),
        snapshot([system("<context>not here</context>"), user(first), assistant("<context>nor here</context>")]),
    )

    (found,) = written(path)["context"]["message_contexts"]

    assert (found["message_index"], found["mode"]) == (1, "ask")
    assert (found["environment_info"], found["user_request"]) == ("Linux", "Sow beans")
    assert "context_info" not in found


def test_r36_tags_come_from_the_catalogue_that_is_named(tmp_path: Path) -> None:
    catalogue = tmp_path / "tags.json"
    catalogue.write_text('[{"name":"weather","key":"environment_info","origin":"injected","roles":["user"]}]')
    text = "<weather>rain</weather><userRequest>Sow beans</userRequest>"

    (bundled,) = context_of(tmp_path, text)["message_contexts"]
    (own,) = context_of(tmp_path, text, context_tag_map=catalogue)["message_contexts"]

    assert "environment_info" not in bundled
    assert own["environment_info"] == "rain"


def test_r37_unknown_tags_are_listed_with_short_snippets(tmp_path: Path) -> None:
    text = f"<weather>{'rain ' * 100}</weather><weather>sun</weather>\n<userRequest>Sow beans</userRequest>"

    (found,) = context_of(tmp_path, text)["message_contexts"]

    (other,) = found["other_tags"]
    assert (other["name"], other["count"]) == ("weather", 2)
    assert 0 < len(other["snippet"]) <= 120
    assert other["snippet"].startswith("rain")


def test_r38_lists_have_each_item_once_and_booleans_mark_present_keys(tmp_path: Path) -> None:
    text = "#file:b.md #file:a.md #file:b.md\n<environment_info>Linux</environment_info>"

    context = context_of(tmp_path, text)

    (found,) = context["message_contexts"]
    assert found["file_references"] == ["b.md", "a.md"]
    assert context["message_context"]["has_environment_info"] is True
    assert context["message_context"]["has_file_references"] is True
    assert all(isinstance(value, bool) for value in context["message_context"].values())
    assert not context["message_context"].get("has_agent_mentions")


def test_r39_agents_are_found_in_the_request_of_the_user_only(tmp_path: Path) -> None:
    text = "<context>ask @nobody</context><userRequest>@workspace and ana@example.com, then @my-agent</userRequest>"

    (found,) = context_of(tmp_path, text)["message_contexts"]

    assert found["agent_mentions"] == ["workspace", "my-agent"]


# --- R-40, R-40a: how a line is written -------------------------------------------------------------------------------

MESSAGE_KEYS = [
    *("role", "content", "mode", "model", "model_source", "model_conflict", "tool_calls", "tool_call_id"),
    *("reasoning", "attachments", "merged", "appended", "missing"),
]
METADATA_KEYS = ["mode", "intent", "detectedIntent", "timestamp", "turnIndex", "messageId"]
FLAG_KEYS = ["truncated", "recovered", "incomplete", "subagent", "merge_log"]
KEYS = ["conversation_id", "messages", "context", "metadata", "mode_distribution", "telemetry_type", "file_path"]


def is_in_order(keys: Record, order: list[str]) -> bool:
    return list(keys) == [key for key in order if key in keys]


def rich_stream(folder: Path) -> Path:
    """Return events that fill nearly every field: merge, conflict, image, thinking, call, a missing message."""
    picture = [{"type": "text", "text": "Look, Frühbeet 🫘"}, {"type": "image_url"}]
    thinking = assistant("Let me see.", reasoning_text="May is warm.")
    return write_lines(
        folder,
        user_text("agent", 0),
        user_text("ask", 1),
        session_response("claude-sonnet-4", "h-1"),
        snapshot([system(), user(picture), assistant("", tool_calls=[call()])], header="h-1"),
        snapshot(
            [system(), user(picture), thinking, tool(), user("And?")],
            header="h-1",
            time="2026-04-12T10:00:00Z",
            properties={"request.option.model": '"gpt-5"', "turnIndex": "1", "messageId": "m-1", "intent": "edit"},
        ),
        snapshot([assistant("In May.")], header="h-1", time="2026-04-12T10:01:00Z", properties={"baseModel": "gpt-5"}),
        *model_message("u-1", system(), conversation="deltas"),
        *model_call("mc-1", ["u-1", "u-2"], conversation="deltas"),
    )


def test_r40_a_line_is_utf8_json_without_escapes_or_line_breaks(tmp_path: Path) -> None:
    text = "Frühbeet 🫘\u2028 and \x7f, two\nlines"

    line = encode_trajectory(only(write_lines(tmp_path, snapshot([system(), user(text)], "bohne-ü"))))

    assert b"\n" not in line
    assert "Frühbeet 🫘" in line.decode("utf-8")
    assert "bohne-ü" in line.decode("utf-8")
    assert json.loads(line)["messages"][1]["content"] == text


def test_r40a_keys_are_in_a_fixed_order(tmp_path: Path) -> None:
    for trajectory in trajectories(rich_stream(tmp_path)):
        line = json.loads(encode_trajectory(trajectory))

        assert list(line) == KEYS
        assert list(line["metadata"])[:6] == METADATA_KEYS
        assert is_in_order(line["metadata"], [*METADATA_KEYS, *FLAG_KEYS])
        assert all(is_in_order(message, MESSAGE_KEYS) for message in line["messages"])
        assert list(line["mode_distribution"]) == sorted(line["mode_distribution"])


def test_r40_null_fields_of_messages_are_left_out_but_role_and_content(tmp_path: Path) -> None:
    talk, deltas = (json.loads(encode_trajectory(found)) for found in trajectories(rich_stream(tmp_path)))

    assert [list(message) for message in talk["messages"]] == [
        ["role", "content"],
        ["role", "content", "mode", "model", "model_source", "attachments"],
        ["role", "content", "model", "model_source", "tool_calls", "reasoning", "merged"],
        ["role", "content", "tool_call_id"],
        ["role", "content", "mode", "model", "model_source", "model_conflict"],
        ["role", "content", "model", "model_source", "model_conflict", "appended"],
    ]
    assert deltas["messages"][1] == {"role": "unknown", "content": "", "missing": True}
    assert deltas["metadata"]["incomplete"] is True
    assert talk["mode_distribution"] == {"agent": 1, "ask": 1}


def test_r40a_missing_metadata_is_null_and_flags_are_written_only_if_set(tmp_path: Path) -> None:
    line = written(write_lines(tmp_path, snapshot([system(), user()])))

    assert line["metadata"] == dict.fromkeys(METADATA_KEYS)
    assert line["mode_distribution"] == {}
    assert line["telemetry_type"] == "copilot-chat/engine.messages"


HALF = "half \\ud83d here"


def test_r40_half_characters_are_written_as_replacement_characters(tmp_path: Path) -> None:
    record = snapshot([system(), user("HALF"), assistant("", tool_calls=[call("HALF", "HALF")])], "HALF")
    record["data"]["baseData"]["properties"] |= {"attachedContext": '["HALF"]', "fileExcerpt": "HALF", "intent": "HALF"}
    outside = json.dumps(record).replace("HALF", HALF)
    inside = json.dumps(record).replace("HALF", HALF.replace("\\", "\\\\"))

    for line in (outside, inside):
        text = encode_trajectory(only(write_lines(tmp_path, line))).decode("utf-8")

        assert "half \ufffd here" in text
        assert json.loads(text)["messages"][1]["content"] == "half \ufffd here"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_r40_numbers_that_json_does_not_have_are_never_written(tmp_path: Path, number: str) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    messages = json.dumps([system(), user(), assistant("", tool_calls=[{"id": "call-1", "weight": "NUMBER"}])])
    properties = {"attachedContext": f"[{number}]", "activeSelection": number}
    path = write_lines(
        tmp_path, snapshot([system(), user()]), snapshot(messages.replace('"NUMBER"', number), properties=properties)
    )

    for trajectory in trajectories(path):
        json.loads(encode_trajectory(trajectory), parse_constant=refuse)


# --- determinism ------------------------------------------------------------------------------------------------

PROGRAM = """
import sys, copilog
from copilog.telemetry import pipeline
from copilog.trajectory import encode_trajectory
pipeline.WORTH_PROCESSES = 0
for trajectory in copilog.extract(sys.argv[1], jobs=int(sys.argv[2])):
    sys.stdout.buffer.write(encode_trajectory(trajectory) + b"\\n")
"""


def test_r41_two_runs_yield_the_same_bytes_with_any_hash_seed_and_jobs(tmp_path: Path) -> None:
    tags = "".join(f"<tag{number}>x</tag{number}>" for number in range(9))
    for number in range(4):
        texts = [user_text(f"mode-{number}", 0, name) for name in NAMES]
        records = [snapshot([system(), user(f"{tags} {name}")], name) for name in NAMES]
        write_lines(tmp_path / "in", *texts, *records, name=f"{number}.jsonl")
    rich_stream(tmp_path / "in")

    outputs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path / "in"), jobs],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed, jobs in (("1", "1"), ("2", "1"), ("3", "2"))
    }

    assert len(outputs) == 1
    assert outputs.pop().count(b"\n") == len(NAMES) + 2
