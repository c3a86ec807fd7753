"""Two files of trajectories compared: what is payload, what is context, and what counts as the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from copilog.errors import BadFile, BadRecord, UsageError
from copilog.trajectory_compare import (
    Difference,
    LinePosition,
    Summary,
    compare_files,
    compare_messages,
    compare_trajectories,
    find_conversation,
    read_back,
    text_diff,
)
from copilog.trajectory_compare.line_reader import MOST_NEAR

Trajectory = dict[str, Any]


def trajectory(conversation_id: str = "talk", **fields: Any) -> Trajectory:
    return {
        "conversation_id": conversation_id,
        "messages": [{"role": "user", "content": "When do I sow beans?"}, {"role": "assistant", "content": "In May."}],
        "context": {"message_contexts": [{"message_index": 0, "user_request": "When do I sow beans?"}]},
        "metadata": {"mode": "ask", "intent": None, "timestamp": "2026-04-02T08:00:00Z"},
        "mode_distribution": {"ask": 1},
        "telemetry_type": "copilot-chat/engine.messages",
        "file_path": "monday.jsonl",
        **fields,
    }


def write(path: Path, *lines: Trajectory | bytes) -> Path:
    encoded = (line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode() for line in lines)
    path.write_bytes(b"".join(line + b"\n" for line in encoded))
    return path


def summary_of(folder: Path, old: list[Any], new: list[Any], ignored: frozenset[str] = frozenset()) -> Summary:
    """Return the summary of two files with these lines."""
    with compare_files(write(folder / "old.jsonl", *old), write(folder / "new.jsonl", *new)) as comparison:
        return comparison.summary(ignored)


def differing_sections(folder: Path, old: Trajectory, new: Trajectory) -> list[list[str]]:
    with compare_files(write(folder / "old.jsonl", old), write(folder / "new.jsonl", new)) as comparison:
        return [pair.sections for pair in comparison.different()]


# --- whole files ----------------------------------------------------------------------------------------------------


def test_equal_files_are_equal(tmp_path: Path) -> None:
    lines = [trajectory("a"), trajectory("b")]

    summary = summary_of(tmp_path, lines, lines)

    assert summary.is_equal
    assert (summary.equal, summary.payload, summary.context) == (2, 0, 0)


@pytest.mark.parametrize(
    ("change", "sections"),
    [
        ({"messages": []}, ["messages"]),
        ({"metadata": {"mode": "agent"}}, ["metadata"]),
        ({"mode_distribution": {}}, ["mode_distribution"]),
        ({"file_path": "tuesday.jsonl"}, ["provenance"]),
        ({"telemetry_type": None}, ["provenance"]),
        ({"surprise": 1}, ["other"]),
        ({"context": {}}, ["context"]),
        ({"context": {}, "messages": []}, ["messages", "context"]),
    ],
)
def test_each_section_is_compared_for_itself(tmp_path: Path, change: Trajectory, sections: list[str]) -> None:
    assert differing_sections(tmp_path, trajectory(), trajectory(**change)) == [sections]


def test_payload_and_context_are_distinguished(tmp_path: Path) -> None:
    old = [trajectory("a"), trajectory("b"), trajectory("c")]
    new = [trajectory("a", context={}), trajectory("b", context={}, messages=[]), trajectory("c")]

    summary = summary_of(tmp_path, old, new)

    assert (summary.equal, summary.payload, summary.context) == (1, 1, 1)
    assert summary.by_section["context"] == 2
    assert not summary.is_equal


def test_null_equals_absent_and_the_order_of_keys_does_not_count(tmp_path: Path) -> None:
    old = trajectory(messages=[{"role": "user", "content": "Hello", "mode": None, "tool_calls": None}])
    new = dict(reversed(trajectory(messages=[{"content": "Hello", "role": "user"}]).items()))

    assert summary_of(tmp_path, [old], [new]).is_equal


def test_types_of_values_count_in_comparisons(tmp_path: Path) -> None:
    assert differing_sections(tmp_path, trajectory(n=1), trajectory(n=True)) == [["other"]]
    assert compare_messages({"n": 1}, {"n": 1.0}) == [Difference("n", "changed", 1, 1.0)]


def test_origins_of_merged_fields_are_provenance(tmp_path: Path) -> None:
    old = trajectory(metadata={"mode": "ask", "merge_log": [[0, "tool_calls", "monday.jsonl", 12]]})
    new = trajectory(metadata={"mode": "ask", "merge_log": [[0, "tool_calls", "tuesday.jsonl", 900]]})

    assert differing_sections(tmp_path, old, new) == [["provenance"]]
    assert summary_of(tmp_path, [old], [new], frozenset(["provenance"])).is_equal


def test_conversations_of_only_one_file_are_listed(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", trajectory("a"), trajectory("b"))
    new = write(tmp_path / "new.jsonl", trajectory("b"), trajectory("c"), trajectory("d"))

    with compare_files(old, new) as comparison:
        assert list(comparison.only_in(0)) == [("a", 1)]
        assert list(comparison.only_in(1)) == [("c", 2), ("d", 3)]
        summary = comparison.summary()

    assert (summary.only_in_old, summary.only_in_new, summary.equal) == (1, 2, 1)
    assert summary.order is None, "those that both have stand in the same order"


def test_another_order_is_a_difference(tmp_path: Path) -> None:
    summary = summary_of(
        tmp_path,
        [trajectory("a"), trajectory("b"), trajectory("c")],
        [trajectory("b"), trajectory("a"), trajectory("c")],
    )

    assert summary.equal == 3
    assert summary.order is not None
    assert summary.order.conversation_id == "a"
    assert (summary.order.old_line, summary.order.new_line) == (1, 2)
    assert not summary.is_equal


def test_repeated_ids_are_compared_in_their_order(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", trajectory("a"), trajectory("a", context={}), trajectory("a"))
    new = write(tmp_path / "new.jsonl", trajectory("a"), trajectory("a", context={}))

    with compare_files(old, new) as comparison:
        summary = comparison.summary()
        assert list(comparison.repeated_in(0)) == [("a", 2), ("a", 3)]
        assert list(comparison.only_in(0)) == [("a", 3)]

    assert (summary.equal, summary.repeated_in_old, summary.repeated_in_new) == (2, 2, 1)


def test_bad_lines_lose_only_themselves_and_are_never_equal(tmp_path: Path) -> None:
    lines = [b'{"conversation_id": "cut', b"", b"[1]", b'{"messages": []}', b'{"conversation_id": 7}']
    old = [*lines, trajectory("a")]

    summary = summary_of(tmp_path, old, [trajectory("a")])

    assert [(bad.line, bad.code) for bad in summary.old.bad] == [
        (1, "bad-json"),
        (3, "bad-record"),
        (4, "bad-record"),
        (5, "bad-record"),
    ]
    assert summary.old.bad[1].offset == len(lines[0]) + 2
    assert summary.old.ignored == {"blank-line": 1}
    assert summary.old.balances()
    assert summary.equal == 1
    assert not summary.is_equal


def test_a_line_nested_beyond_measure_is_a_bad_line(tmp_path: Path) -> None:
    deep = b'{"conversation_id":"deep","context":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}"

    summary = summary_of(tmp_path, [deep, trajectory("a")], [trajectory("a")])

    assert [bad.line for bad in summary.old.bad] == [1]
    assert "nested too deeply" in summary.old.bad[0].reason
    assert summary.equal == 1


def test_only_the_first_bad_lines_are_listed(tmp_path: Path) -> None:
    summary = summary_of(tmp_path, [b"no"] * 1250, [])

    assert (len(summary.old.bad), summary.old.bad_count()) == (1000, 1250)
    assert summary.old.balances()


def test_a_byte_order_mark_and_a_missing_last_line_break_are_accepted(tmp_path: Path) -> None:
    old = tmp_path / "old.jsonl"
    old.write_bytes(b"\xef\xbb\xbf" + json.dumps(trajectory("a")).encode())
    new = write(tmp_path / "new.jsonl", trajectory("a"))

    with compare_files(old, new) as comparison:
        assert comparison.summary().is_equal
    mine, _ = find_conversation(old, new, "a")
    assert mine is not None
    assert read_back(old, mine) == trajectory("a")


def test_empty_files_are_equal(tmp_path: Path) -> None:
    assert summary_of(tmp_path, [], []).is_equal


def test_the_number_of_bytes_read_is_reported(tmp_path: Path) -> None:
    old, new = write(tmp_path / "old.jsonl", trajectory("a")), write(tmp_path / "new.jsonl", trajectory("b"))
    heard: list[int] = []

    with compare_files(old, new, heard.append):
        pass

    assert sum(heard) == old.stat().st_size + new.stat().st_size


# --- one conversation -----------------------------------------------------------------------------------------------


def test_differences_are_listed_down_to_the_leaves() -> None:
    call = {"id": "1", "function": {"name": "read_soil", "arguments": "{}"}}
    old = trajectory(messages=[{"role": "assistant", "content": "", "tool_calls": [call]}])
    other = {"id": "1", "function": {"name": "read_soil", "arguments": '{"bed":3}'}}
    new = trajectory(
        messages=[{"role": "assistant", "content": "", "tool_calls": [other]}, {"role": "tool", "content": "dry"}],
        context={"message_contexts": [{"message_index": 0}], "fileExcerpt": "x"},
    )

    found = compare_trajectories(old, new)

    assert found == {
        "messages": [
            Difference("messages[0].tool_calls[0].function.arguments", "changed", "{}", '{"bed":3}'),
            Difference("messages[1]", "only-new", new={"role": "tool", "content": "dry"}),
        ],
        "context": [
            Difference("context.message_contexts[0].user_request", "only-old", old="When do I sow beans?"),
            Difference("context.fileExcerpt", "only-new", new="x"),
        ],
    }


def test_values_of_different_types_are_one_difference() -> None:
    assert compare_messages("hello", {"role": "user"}) == [Difference("", "changed", "hello", {"role": "user"})]
    assert compare_messages({"a": []}, {"a": {}}) == [Difference("a", "changed", [], {})]


def test_too_deep_nesting_is_refused() -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}

    with pytest.raises(BadRecord, match="nested too deeply"):
        compare_trajectories(trajectory(context=deep), trajectory())


def test_deep_values_are_compared_as_one() -> None:
    old: Any = 1
    new: Any = 2
    for _ in range(60):
        old, new = {"a": old}, {"a": new}

    [difference] = compare_messages(old, new)

    assert difference.kind == "changed"
    assert difference.path.count("a") < 60


def test_long_texts_have_a_diff_and_short_ones_have_none() -> None:
    assert text_diff(Difference("content", "changed", "one", "two")) is None
    assert text_diff(Difference("n", "changed", 1, "two\nlines")) is None
    diff = text_diff(Difference("content", "changed", "one\ntwo\n", "one\n2\n"))
    assert diff is not None
    assert diff.splitlines()[2:] == ["@@ -1,2 +1,2 @@", " one", "-two", "+2"]


def test_json_inside_a_text_is_laid_out_for_its_diff() -> None:
    old = '{"bed": 3, "note": "' + "x" * 80 + '"}'

    changed = text_diff(Difference("arguments", "changed", old, old.replace("3", "4")))
    respaced = text_diff(Difference("arguments", "changed", old, old.replace(": ", ":")))

    assert changed is not None
    assert '-  "bed": 3,' in changed
    assert '+  "bed": 4,' in changed
    assert respaced is not None
    assert "-" + old in respaced


# --- finding --------------------------------------------------------------------------------------------------------


def test_a_conversation_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", trajectory("5f0c2a9e-aa"), trajectory("77"))
    new = write(tmp_path / "new.jsonl", b"bad", trajectory("5f0c2a9e-aa"), trajectory("5f0c2a9e-aa"))

    mine, theirs = find_conversation(old, new, "5f0c")

    size = len(old.read_bytes().splitlines()[0])
    assert mine == LinePosition("5f0c2a9e-aa", 1, 0, size)
    assert theirs == LinePosition("5f0c2a9e-aa", 2, 4, size, repeats=1)


def test_line_separators_of_unicode_between_lines_lose_no_record(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", trajectory("a"), trajectory("b"))
    new = tmp_path / "new.jsonl"
    new.write_bytes(old.read_bytes().replace(b"\n", "\u2028".encode()))

    with compare_files(old, new) as comparison:
        assert comparison.summary().is_equal
    _, theirs = find_conversation(old, new, "b")
    assert theirs is not None
    assert read_back(new, theirs)["conversation_id"] == "b"


def test_a_complete_id_does_not_match_as_a_prefix(tmp_path: Path) -> None:
    many = [trajectory(f"talk#{number}") for number in range(MOST_NEAR + 5)]
    old = write(tmp_path / "old.jsonl", *many, trajectory("talk"))

    mine, _ = find_conversation(old, old, "talk")

    assert mine is not None
    assert mine.conversation_id == "talk"


def test_an_ambiguous_beginning_names_the_candidates(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", trajectory("talk#1"), trajectory("talk#2"))

    with pytest.raises(UsageError, match=r"'talk' matches several ids: 'talk#1', 'talk#2'"):
        find_conversation(old, old, "talk")


def test_an_unknown_id_names_near_ones(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", trajectory("garden-1"))
    new = write(tmp_path / "new.jsonl", trajectory("garden-2"), trajectory("winter"))

    with pytest.raises(UsageError, match=r"no conversation has the id 'gardn-2'.*similar ids: 'garden-2', 'garden-1'"):
        find_conversation(old, new, "gardn-2")


def test_a_file_that_changed_meanwhile_is_noticed(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", trajectory("a"))
    mine, _ = find_conversation(old, old, "a")
    write(old, trajectory("b"))

    assert mine is not None
    with pytest.raises(BadFile, match="changed while it was read"):
        read_back(old, mine)
