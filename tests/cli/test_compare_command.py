"""`copilog compare` and `copilog diff-messages`: what differs between two extractions, and where."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.homes import run

Trajectory = dict[str, Any]

QUESTION = "Beans:\nwhen do I sow them?\nAnd where?\n"


def trajectory(conversation_id: str, **fields: Any) -> Trajectory:
    return {
        "conversation_id": conversation_id,
        "messages": [
            {"role": "system", "content": "You help with gardens."},
            {"role": "user", "content": QUESTION, "mode": "ask"},
            {"role": "assistant", "content": "In May.", "model": "gpt-4.1", "model_source": "engine"},
        ],
        "context": {"message_contexts": [{"message_index": 1, "user_request": QUESTION.strip()}]},
        "metadata": {"mode": "ask", "intent": None, "timestamp": "2026-04-02T08:00:00Z"},
        "mode_distribution": {"ask": 1},
        "telemetry_type": "copilot-chat/engine.messages",
        "file_path": "monday.jsonl",
        **fields,
    }


def messages(**changed: Any) -> list[Trajectory]:
    """Return the messages of a trajectory, with other fields in the question."""
    usual: list[Trajectory] = trajectory("any")["messages"]
    return [usual[0], {**usual[1], **changed}, usual[2]]


class Files:
    """Write an old and a new file; a conversation is given by its id or completely, a text is one line."""

    def __init__(self, folder: Path) -> None:
        self.old, self.new = folder / "old.jsonl", folder / "new.jsonl"

    def write(self, old: list[Trajectory | str], new: list[Trajectory | str]) -> Files:
        for path, lines in ((self.old, old), (self.new, new)):
            path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return self


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.fixture
def differing(files: Files) -> Files:
    """Write pairs: one equal, one with another payload, one with another context, one in each file only."""
    return files.write(
        [trajectory("same"), trajectory("payload"), trajectory("around"), trajectory("gone")],
        [
            trajectory("same"),
            trajectory("payload", messages=messages(mode="agent")),
            trajectory("around", context={}),
            trajectory("come"),
        ],
    )


# --- compare --------------------------------------------------------------------------------------------------------


def test_equal_files_exit_with_0(files: Files) -> None:
    files.write([trajectory("a"), trajectory("b")], [trajectory("a"), trajectory("b")])

    outcome = run("compare", files.old, files.new)

    assert outcome.code == 0
    assert "     2  equal" in outcome.out
    assert outcome.err == "2 conversations in both files, 2 equal\n"


def test_differing_files_exit_with_1_and_list_the_differences(differing: Files) -> None:
    outcome = run("compare", differing.old, differing.new)

    assert outcome.code == 1
    assert "  payload  lines 2 and 2: messages\n" in outcome.out
    assert "  around  lines 3 and 3: context\n" in outcome.out
    assert "only in OLD\n  gone  line 4\n" in outcome.out
    assert "only in NEW\n  come  line 4\n" in outcome.out
    assert outcome.err == "3 conversations in both files, 1 equal; 2 in one of them alone\n"


def test_json_lists_everything(differing: Files) -> None:
    outcome = run("compare", "--json", differing.old, differing.new)

    document = outcome.json
    assert outcome.code == 1
    assert document["is_equal"] is False
    assert [(pair["conversation_id"], pair["verdict"], pair["sections"]) for pair in document["different"]] == [
        ("payload", "payload", ["messages"]),
        ("around", "context", ["context"]),
    ]
    assert document["only_in_old"] == [{"conversation_id": "gone", "line": 4}]
    assert document["only_in_new"] == [{"conversation_id": "come", "line": 4}]
    assert document["summary"]["order"] is None
    assert (document["summary"]["equal"], document["old"]["seen"], document["old"]["bad"]) == (1, 4, 0)


def test_a_different_order_is_reported(files: Files) -> None:
    files.write([trajectory("a"), trajectory("b")], [trajectory("b"), trajectory("a")])

    outcome = run("compare", files.old, files.new)

    assert outcome.code == 1
    assert "order differs; the first at a different position is a, lines 1 and 2" in outcome.out
    assert run("compare", "--json", files.old, files.new).json["summary"]["order"] == {
        "conversation_id": "a",
        "old_line": 1,
        "new_line": 2,
    }


def test_provenance_can_be_left_out(files: Files) -> None:
    files.write([trajectory("a")], [trajectory("a", file_path="tuesday.jsonl")])

    assert run("compare", files.old, files.new).code == 1
    assert run("compare", "--ignore-provenance", files.old, files.new).code == 0
    assert run("compare", "--ignore-provenance", "--id", "a", files.old, files.new).code == 0


def test_long_lists_are_cut_without_verbose(files: Files) -> None:
    files.write([trajectory(f"c-{number:02}") for number in range(14)], [])

    assert "and 4 more (-v lists them)" in run("compare", files.old, files.new).out
    assert "c-13" in run("compare", "-v", files.old, files.new).out
    assert len(run("compare", "--json", files.old, files.new).json["only_in_old"]) == 14


def test_bad_lines_and_repeated_ids_are_reported_with_their_position(files: Files) -> None:
    files.write([trajectory("a"), "{cut", '{"name": "no trajectory"}', trajectory("a")], [trajectory("a")])

    outcome = run("compare", files.old, files.new)

    assert outcome.code == 1
    assert f"{files.old}:2 (byte " in outcome.err
    assert f"{files.old}:3 (byte " in outcome.err
    assert outcome.err.endswith("; 2 bad lines\n")
    assert "repeated in OLD\n  a  line 4\n" in outcome.out
    assert "Traceback" not in outcome.err


def test_control_characters_in_ids_are_made_harmless(files: Files) -> None:
    files.write([trajectory("evil\x1b[31m")], [])

    for arguments in ([], ["--id", "evil"]):
        outcome = run("compare", files.old, files.new, *arguments)
        assert "evil␛[31m" in outcome.out
        assert "\x1b" not in outcome.out + outcome.err


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="file names are text there")
def test_a_file_name_that_is_not_utf_8_does_no_harm(files: Files) -> None:
    files.write([trajectory("a")], [trajectory("a")])
    odd = files.old.rename(os.fsdecode(os.fsencode(files.old) + b"\xff"))

    for arguments in (["compare", odd, files.new], ["compare", odd, files.new, "--id", "a"]):
        assert run(*arguments, "--json").json["old"]["path"].endswith("old.jsonl\ufffd")


def test_a_missing_file_is_a_usage_error(files: Files, tmp_path: Path) -> None:
    files.write([], [])

    assert run("compare", files.old, tmp_path / "nowhere.jsonl").code == 2
    assert run("compare", files.old, tmp_path).code == 2
    assert run("diff-messages", files.old, tmp_path, "a").code == 2


# --- compare --id ---------------------------------------------------------------------------------------------------


def test_one_conversation_is_compared_field_by_field(files: Files) -> None:
    changed = trajectory("talk-1", messages=messages(content="Beans?\n", mode="agent"), context={"fileExcerpt": "x"})
    files.write([trajectory("other"), trajectory("talk-1")], [changed])

    outcome = run("compare", files.old, files.new, "--id", "talk")

    assert outcome.code == 1
    assert outcome.out.startswith(f"talk-1\n  OLD  {files.old}:2 (byte ")
    assert "  messages[1].content  lines +1 -3\n" in outcome.out
    assert '  messages[1].mode  "ask" → "agent"\n' in outcome.out
    assert '  context.fileExcerpt  only in NEW  "x"\n' in outcome.out
    assert outcome.err == "4 differences\n"


def test_field_differences_are_available_as_json(differing: Files) -> None:
    document = run("compare", differing.old, differing.new, "--id", "payload", "--json").json

    assert (document["conversation_id"], document["old"]["line"], document["new"]["messages"]) == ("payload", 2, 3)
    assert document["differences"] == {
        "messages": [{"path": "messages[1].mode", "kind": "changed", "old": "ask", "new": "agent"}]
    }


def test_an_equal_conversation_exits_with_0(differing: Files) -> None:
    outcome = run("compare", differing.old, differing.new, "--id", "same")

    assert (outcome.code, outcome.err) == (0, "0 differences\n")


def test_a_conversation_in_only_one_file_is_a_difference(differing: Files) -> None:
    outcome = run("compare", differing.old, differing.new, "--id", "gone")

    assert outcome.code == 1
    assert f"NEW  {differing.new}  does not have it" in outcome.out
    assert run("compare", differing.old, differing.new, "--id", "gone", "--json").json["new"] is None


@pytest.mark.parametrize("command", [["compare", "--id"], ["diff-messages"]])
def test_a_wrong_id_is_reported_with_similar_ids(differing: Files, command: list[str]) -> None:
    words = [*command, "paylod"] if "--id" in command else command
    arguments = [differing.old, differing.new] if "--id" in command else [differing.old, differing.new, "paylod"]

    outcome = run(*words, *arguments)

    assert (outcome.code, outcome.out) == (2, "")
    assert "no conversation has the id 'paylod'" in outcome.err
    assert "similar ids: 'payload'" in outcome.err


# --- diff-messages --------------------------------------------------------------------------------------------------


def test_long_texts_are_shown_as_a_diff(files: Files) -> None:
    files.write(
        [trajectory("talk")],
        [
            trajectory(
                "talk", messages=messages(content=QUESTION.replace("sow them", "plant them\x1b[31m"), mode="agent")
            )
        ],
    )

    outcome = run("diff-messages", files.old, files.new, "talk", "--idx", "1")

    assert outcome.code == 1
    assert outcome.out.splitlines()[4:] == [
        "message 1  user",
        "  content",
        "    @@ -1,3 +1,3 @@",
        "     Beans:",
        "    -when do I sow them?",
        "    +when do I plant them␛[31m?",
        "     And where?",
        '  mode  "ask" → "agent"',
    ]
    assert outcome.err == "1 message differs\n"


def test_without_an_index_all_messages_that_differ_are_shown(files: Files) -> None:
    call = {"id": "call-1", "type": "function", "function": {"name": "read_soil", "arguments": '{"bed":3}'}}
    more = [*messages(mode="agent"), {"role": "assistant", "content": "", "tool_calls": [call]}]
    files.write([trajectory("talk")], [trajectory("talk", messages=more)])

    outcome = run("diff-messages", files.old, files.new, "talk")

    assert outcome.code == 1
    assert "message 0" not in outcome.out
    assert "message 1  user\n" in outcome.out
    assert "message 3  assistant  only in NEW\n" in outcome.out
    assert "  tool_calls  only in NEW\n    +[\n    +  {\n" in outcome.out
    assert outcome.err == "2 messages differ\n"


def test_negative_indexes_count_from_the_end_of_each_file(files: Files) -> None:
    files.write([trajectory("talk")], [trajectory("talk", messages=messages()[1:])])

    outcome = run("diff-messages", files.old, files.new, "talk", "--idx", "-1")

    assert outcome.code == 0
    assert "message 2 of OLD, 1 of NEW  assistant  equal\n" in outcome.out


def test_messages_as_json_with_their_diff(files: Files) -> None:
    files.write([trajectory("talk")], [trajectory("talk", messages=messages(content="Beans?\n"))])

    outcome = run("diff-messages", files.old, files.new, "talk", "--json")

    [message] = outcome.json["messages"]
    assert (message["old_index"], message["new_index"], message["role"]) == (1, 1, "user")
    [difference] = message["differences"]
    assert (difference["path"], difference["kind"], difference["old"]) == ("content", "changed", QUESTION)
    assert difference["diff"].endswith("+Beans?\n")


def test_messages_that_are_no_objects_do_no_harm(files: Files) -> None:
    files.write([trajectory("talk", messages=["hello", 7])], [trajectory("talk", messages="none")])

    outcome = run("diff-messages", files.old, files.new, "talk")

    assert outcome.code == 1
    assert 'the whole message  only in OLD  "hello"' in outcome.out


@pytest.mark.parametrize("index", [3, -4])
def test_a_wrong_index_is_reported_with_the_valid_range(files: Files, index: int) -> None:
    files.write([trajectory("talk")], [trajectory("talk", messages=[])])

    outcome = run("diff-messages", files.old, files.new, "talk", "--idx", index)

    assert outcome.code == 2
    assert f"there is no message {index}: OLD has 3 messages, 0 to 2, NEW has no messages" in outcome.err


def test_a_conversation_in_only_one_file_has_no_messages_to_compare(differing: Files) -> None:
    outcome = run("diff-messages", differing.old, differing.new, "come")

    assert outcome.code == 2
    assert f"only {differing.new} has the conversation 'come'" in outcome.err


def test_the_compared_line_is_reported_when_an_id_repeats(files: Files) -> None:
    files.write([trajectory("talk"), trajectory("talk")], [trajectory("talk")])

    outcome = run("diff-messages", files.old, files.new, "talk")

    assert outcome.code == 0
    assert "1 more line with this id; line 1 is compared" in outcome.err


def test_colours_can_be_requested(differing: Files) -> None:
    arguments = ("diff-messages", differing.old, differing.new, "payload")

    assert "\x1b[" not in run(*arguments).out
    assert "\x1b[31m" in run("--color", *arguments).out


@pytest.mark.parametrize("command", ["compare", "diff-messages"])
def test_each_command_has_help_with_examples(command: str) -> None:
    assert f"copilog {command}" in run(command, "--help").out.split("Examples:")[1]
