"""`blame`: which conversations touched a file, which wrote a line, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from copilog.analysis.lineage.blame import blame
from copilog.derive.edit_arguments import lines_in_arguments
from copilog.errors import UsageError
from copilog.jsonio import encode
from copilog.model import (
    AnyPart,
    Attachment,
    EditedFileEvent,
    FileChange,
    FileEdit,
    FileState,
    Place,
    TextEdit,
    ToolCall,
    ToolResult,
    Turn,
)
from copilog.textdiff import unified_diff
from tests.analysis.made_up_edits import (
    AFTER,
    BEFORE,
    NOON,
    Repo,
    Shelf,
    after,
    conversation_with,
    edit,
    found,
    only,
    origin_and_strength,
)

LINE = "def high_water_of_spring(day):"  # line 6 of AFTER


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path)
    yield made
    made.close()


@pytest.fixture
def tides(tmp_path: Path) -> Path:
    """Write a file outside of any repository, in its present state."""
    path = tmp_path / "tide-tables" / "src" / "tides.py"
    path.parent.mkdir(parents=True)
    path.write_text(AFTER)
    return path


# --- a line -----------------------------------------------------------------------------------------------------


def test_a_line_that_an_edit_wrote_is_traced_to_its_turn(shelf: Shelf, tides: Path) -> None:
    shelf.put(
        conversation_with("harbour", [], [edit(tides, BEFORE, AFTER)]),
        conversation_with("other", [edit("/home/ana/x.py", None, AFTER)]),
    )

    line = only(blame(shelf.choose(), tides, 6))

    assert (line.text, origin_and_strength(line), line.is_uncertain) == (LINE, ("vscode:harbour", "strong"), False)
    assert line.origin is not None
    assert line.origin.turn == 1
    assert [(item.kind, item.turn) for item in line.origin.evidence] == [("edit", 1)]


def test_a_commit_soon_after_the_edit_is_evidence_for_it(shelf: Shelf, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "tide-tables")
    repo.commit("low water", hours=-1, src__tides_py=BEFORE)
    sha = repo.commit("high water", hours=2, src__tides_py=AFTER)
    path = repo.folder / "src" / "tides.py"
    shelf.put(conversation_with("harbour", [edit(path, BEFORE, AFTER)], folder=repo.folder))

    line = only(blame(shelf.choose(), path, 6))

    assert (line.commit, line.committed_at, origin_and_strength(line)) == (
        sha,
        "2026-05-04T14:00:00.000Z",
        ("vscode:harbour", "strong"),
    )
    assert line.origin is not None
    assert line.origin.evidence[-1].text == f"the line was committed 2 hours after ({sha[:10]})"


def test_a_line_committed_before_the_edit_is_not_attributed_to_it(shelf: Shelf, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "tide-tables")
    repo.commit("high water", hours=-48, src__tides_py=AFTER)
    path = repo.folder / "src" / "tides.py"
    shelf.put(conversation_with("harbour", [edit(path, BEFORE, AFTER)], folder=repo.folder))

    line = only(blame(shelf.choose(), path, 6))

    assert (origin_and_strength(line), line.is_uncertain) == (("vscode:harbour", "weak"), True)
    assert "committed 2 days before" in (line.reason or "")


def test_a_commit_long_after_the_edit_is_weaker_evidence(shelf: Shelf, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "tide-tables")
    repo.commit("high water", hours=24 * 31, src__tides_py=AFTER)
    path = repo.folder / "src" / "tides.py"
    shelf.put(conversation_with("harbour", [edit(path, BEFORE, AFTER)], folder=repo.folder))

    assert origin_and_strength(only(blame(shelf.choose(), path, 6))) == ("vscode:harbour", "medium")


def test_lines_that_moved_since_the_last_commit_are_found_in_it(shelf: Shelf, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "tide-tables")
    first = repo.commit("low water", src__tides_py=BEFORE)
    path = repo.write("src/tides.py", "# a new line that nobody committed yet\n" + BEFORE)

    result = blame(shelf.put().choose(), path, 1, 5)

    assert [line.commit for line in result.origins] == [None, first, first, first, first]


def test_the_latest_edit_with_the_line_wins(shelf: Shelf, tides: Path) -> None:
    shelf.put(
        conversation_with("early", [edit(tides, BEFORE, AFTER)]),
        conversation_with("late", [edit(tides, BEFORE, AFTER)], hours=5, title="Written anew"),
    )

    line = only(blame(shelf.choose(), tides, 6))

    assert origin_and_strength(line) == ("vscode:late", "strong")
    assert [(other.conversation, other.strength) for other in line.others] == [("vscode:early", "medium")]
    assert line.others[0].evidence[-1].text == "'Written anew' wrote the line again later"


def test_a_line_that_another_conversation_removed_later_is_uncertain(shelf: Shelf, tides: Path) -> None:
    shelf.put(
        conversation_with("harbour", [edit(tides, BEFORE, AFTER)]),
        conversation_with("remover", [edit(tides, AFTER, BEFORE)], hours=3, title="Clean up"),
    )

    line = only(blame(shelf.choose(), tides, 6))

    assert origin_and_strength(line) == ("vscode:harbour", "medium")
    assert line.reason == "'Clean up' removed the line later"


def test_short_and_repeated_lines_are_uncertain(shelf: Shelf, tides: Path) -> None:
    text = "x = 1\nprint('the same line twice')\nprint('the same line twice')\n"
    tides.write_text(text)
    shelf.put(conversation_with("harbour", [edit(tides, None, text)]))

    short, twice, _ = blame(shelf.choose(), tides, 1, 3).origins

    assert (origin_and_strength(short), short.reason) == (
        ("vscode:harbour", "medium"),
        "the line is short, others may have written the same",
    )
    assert (origin_and_strength(twice), twice.reason) == (
        ("vscode:harbour", "medium"),
        "the line occurs 2 times in the file",
    )


def test_a_line_with_different_spaces_is_certain_only_if_committed_soon(shelf: Shelf, tmp_path: Path) -> None:
    moved_in = AFTER.replace("    moon = phase_of_moon(day)", "        moon = phase_of_moon(day)")
    repo = Repo(tmp_path / "tide-tables")
    repo.commit("high water", hours=1, src__tides_py=moved_in)
    inside, outside = repo.folder / "src" / "tides.py", tmp_path / "outside.py"
    outside.write_text(moved_in)
    shelf.put(
        conversation_with("harbour", [edit(inside, BEFORE, AFTER), edit(outside, BEFORE, AFTER)], folder=repo.folder)
    )

    assert origin_and_strength(only(blame(shelf.choose(), inside, 7))) == ("vscode:harbour", "strong")
    assert origin_and_strength(only(blame(shelf.choose(), outside, 7))) == ("vscode:harbour", "medium")


def test_an_edit_that_was_undone_is_weak(shelf: Shelf, tides: Path) -> None:
    by_turn = conversation_with("turn", [edit(tides, BEFORE, AFTER)])
    by_turn.turns[0].is_undone = True
    by_user = conversation_with("user", [edit(tides, BEFORE, AFTER)], [], hours=-5)
    by_user.turns[1].edited_files = [EditedFileEvent(uri=f"file://{tides}", action="undo")]
    shelf.put(by_turn, by_user)

    result = blame(shelf.choose(), tides, 6)

    assert found(result) == [("vscode:turn", "weak"), ("vscode:user", "weak")]
    assert [touch.undone for touch in result.touches] == [1, 1]
    assert origin_and_strength(only(result)) == ("vscode:turn", "weak")


def test_edits_of_other_lines_of_the_file_are_reported_as_such(shelf: Shelf, tides: Path) -> None:
    shelf.put(conversation_with("harbour", [FileEdit(path=str(tides), added=3, removed=0)]))

    line = only(blame(shelf.choose(), tides, 6))

    assert (origin_and_strength(line), line.is_uncertain) == (("vscode:harbour", "weak"), True)
    assert line.reason == "no recorded edit contains this line; these only edited the file"


def test_a_line_without_a_recorded_edit_has_no_origin(shelf: Shelf, tides: Path) -> None:
    line = only(blame(shelf.put().choose(), tides, 6))

    assert (line.origin, line.reason) == (None, "no recorded edit contains this line")


def test_a_blank_line_has_no_origin(shelf: Shelf, tides: Path) -> None:
    shelf.put(conversation_with("harbour", [edit(tides, BEFORE, AFTER)]))

    line = only(blame(shelf.choose(), tides, 5))

    assert (line.origin, line.is_uncertain) == (None, True)
    assert "blank" in (line.reason or "")


@pytest.mark.parametrize(("first", "last"), [(0, 3), (5, 4), (9, 9), (1, 9)])
def test_line_numbers_outside_of_the_file_are_refused(shelf: Shelf, tides: Path, first: int, last: int) -> None:
    with pytest.raises(UsageError):
        blame(shelf.put().choose(), tides, first, last)


# --- records of edits -------------------------------------------------------------------------------------------


def test_the_editing_history_replaces_the_same_edits_of_the_answer(shelf: Shelf, tides: Path) -> None:
    change = FileChange(
        uri=f"file://{tides}",
        path=str(tides),
        turn=0,
        before=BEFORE,
        after=AFTER,
        diff=unified_diff(BEFORE, AFTER, "x"),
    )
    rough = FileEdit(path=str(tides), uri=f"file://{tides}", batches=[[TextEdit(1, 1, 9, 1, AFTER)]])
    shelf.put(conversation_with("harbour", [rough], file_changes=[change]))

    result = blame(shelf.choose(), tides, 6)

    (touch,) = result.touches
    assert (touch.edits, touch.added, touch.removed, touch.still_there) == (1, 4, 0, 3)
    assert origin_and_strength(only(result)) == ("vscode:harbour", "strong")


def test_the_first_and_last_state_of_a_file_are_enough(shelf: Shelf, tides: Path) -> None:
    state = FileState(uri=f"file://{tides}", path=str(tides), initial=BEFORE, current=AFTER, request_id="harbour-1")
    shelf.put(conversation_with("harbour", [], [], files=[state]))

    line = only(blame(shelf.choose(), tides, 6))

    assert origin_and_strength(line) == ("vscode:harbour", "strong")
    assert line.origin is not None
    assert line.origin.turn == 1


def test_an_edit_of_unrecorded_text_is_uncertain_without_a_backup(shelf: Shelf, tides: Path) -> None:
    rough = FileEdit(path=str(tides), uri=f"file://{tides}", batches=[[TextEdit(1, 1, 9, 1, AFTER)]])
    state = FileState(uri=f"file://{tides}", path=str(tides), initial=BEFORE)
    shelf.put(conversation_with("rough", [rough]))
    assert origin_and_strength(only(blame(shelf.choose(), tides, 6))) == ("vscode:rough", "medium")

    shelf.put(conversation_with("rough", [rough], files=[state]))
    old, new = blame(shelf.choose(), tides, 3).origins[0], only(blame(shelf.choose(), tides, 6))

    assert (origin_and_strength(old), origin_and_strength(new)) == (
        ("vscode:rough", "weak"),
        ("vscode:rough", "strong"),
    )


def test_an_insertion_needs_no_previous_text(shelf: Shelf, tides: Path) -> None:
    inserted = TextEdit(5, 1, 5, 1, "\n" + "\n".join(AFTER.split("\n")[5:]))
    shelf.put(conversation_with("harbour", [FileEdit(path=str(tides), batches=[[inserted]])]))

    assert origin_and_strength(only(blame(shelf.choose(), tides, 6))) == ("vscode:harbour", "strong")


def test_an_edit_without_a_diff_takes_its_lines_from_the_arguments(shelf: Shelf, tides: Path) -> None:
    arguments = encode({"path": str(tides), "old_str": "    return None\n", "new_str": f"    return None\n\n{LINE}\n"})
    call = ToolCall(id="c1", name="str_replace", arguments=arguments, status="complete")
    shelf.put(conversation_with("harbour", [call, FileEdit(path=str(tides), call_id="c1")]))

    result = blame(shelf.choose(), tides, 6)

    assert origin_and_strength(only(result)) == ("vscode:harbour", "strong")
    assert (result.touches[0].edits, result.touches[0].added, result.touches[0].removed) == (1, 2, 0)


def test_a_call_recorded_only_by_its_arguments_is_medium_evidence(shelf: Shelf, tides: Path) -> None:
    arguments = encode({"filePath": str(tides), "content": AFTER})
    done = ToolCall(id="c1", name="create_file", arguments=arguments)
    failed = ToolCall(id="c2", name="create_file", arguments=arguments, status="failed")
    call = ToolCall(id="c3", name="create_file", arguments=arguments)
    broken: list[AnyPart] = [call, ToolResult(call_id="c3", is_error=True)]
    shelf.put(
        conversation_with("done", [done]),
        conversation_with("failed", [failed], hours=1),
        conversation_with("broken", broken, hours=2),
    )

    result = blame(shelf.choose(), tides, 6)

    assert origin_and_strength(only(result)) == ("vscode:done", "medium")
    assert found(result) == [("vscode:broken", "weak"), ("vscode:failed", "weak"), ("vscode:done", "medium")]


@pytest.mark.parametrize("status", ["failed", "denied", "skipped", "cancelled"])
def test_an_edit_of_a_call_that_failed_is_no_evidence(shelf: Shelf, tides: Path, status: Any) -> None:
    call = ToolCall(id="c1", name="replace_string_in_file", status=status)
    shelf.put(conversation_with("harbour", [call, edit(tides, BEFORE, AFTER, call_id="c1")]))

    result = blame(shelf.choose(), tides, 6)

    assert origin_and_strength(only(result)) is None
    assert [(touch.edits, touch.added, touch.removed) for touch in result.touches] in ([], [(0, None, None)])
    assert {item.kind for touch in result.touches for item in touch.evidence} <= {"mention"}


def test_a_failed_call_does_not_take_lines_from_a_successful_one(shelf: Shelf, tides: Path) -> None:
    call = ToolCall(id="c1", name="replace_string_in_file", status="failed")
    shelf.put(
        conversation_with("made", [edit(tides, BEFORE, AFTER)]),
        conversation_with("failed", [call, edit(tides, BEFORE, AFTER, call_id="c1")], hours=1),
    )

    assert origin_and_strength(only(blame(shelf.choose(), tides, 6))) == ("vscode:made", "strong")


def test_paths_in_a_patch_are_relative_to_the_workspace(shelf: Shelf, tides: Path) -> None:
    patch = f"*** Begin Patch\n*** Update File: src/tides.py\n@@\n     return None\n+\n+{LINE}\n*** End Patch"
    call = ToolCall(id="c1", name="apply_patch", arguments=encode({"input": patch}))
    shelf.put(conversation_with("harbour", [call], folder=tides.parent.parent))

    assert origin_and_strength(only(blame(shelf.choose(), tides, 6))) == ("vscode:harbour", "medium")

    shelf.put(
        conversation_with("harbour", [call, FileEdit(path="src/tides.py", call_id="c1")], folder=tides.parent.parent)
    )
    assert origin_and_strength(only(blame(shelf.choose(), tides, 6))) == ("vscode:harbour", "strong")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "a.py", "file_text": "x\ny\n"}, [("a.py", ["x", "y"], [])]),
        ({"filePath": "a.py", "oldString": "x", "newString": "x\ny"}, [("a.py", ["y"], [])]),
        ({"filePath": "a.py", "startLine": 1}, []),
        ({"replacements": [{"filePath": "b.py", "oldString": "x", "newString": "z"}]}, [("b.py", ["z"], ["x"])]),
        ("*** Begin Patch\n*** Add File: c.py\n+new\n*** End Patch", [("c.py", ["new"], [])]),
        (["not", "an", "object"], []),
    ],
)
def test_lines_to_write_are_read_from_arguments(
    arguments: object, expected: list[tuple[str, list[str], list[str]]]
) -> None:
    told_lines = [(path, lines.added, lines.removed) for path, lines in lines_in_arguments(encode(arguments))]
    assert told_lines == expected


@pytest.mark.parametrize("arguments", [None, "", "{", "*** Begin Patch", '"\\ud800"'])
def test_broken_arguments_are_no_evidence(arguments: str | None) -> None:
    assert list(lines_in_arguments(arguments)) == []


# --- a file -----------------------------------------------------------------------------------------------------


def test_conversations_of_a_file_are_listed_newest_first_with_remaining_lines(shelf: Shelf, tides: Path) -> None:
    reading = ToolCall(id="r1", name="read_file", arguments=encode({"filePath": str(tides)}), status="complete")
    shelf.put(
        conversation_with("first", [edit(tides, None, BEFORE + "# a line that is gone today\n")]),
        conversation_with("second", [edit(tides, BEFORE, AFTER)], [edit(tides, AFTER, AFTER)], hours=5),
        conversation_with("reader", [reading], hours=9),
        conversation_with("elsewhere", [edit("/home/ana/tide-tables/src/moon.py", None, AFTER)], hours=10),
    )

    result = blame(shelf.choose(), tides)

    assert found(result) == [("vscode:reader", "weak"), ("vscode:second", "strong"), ("vscode:first", "strong")]
    reader, second, first = result.touches
    assert (reader.edits, reader.mentions, [item.kind for item in reader.evidence]) == (0, 1, ["tool-call"])
    assert (second.edits, second.added, second.removed, second.still_there) == (2, 4, 0, 3)
    assert (first.edits, first.added, first.removed, first.still_there) == (1, 5, 0, 3)
    assert (result.still_there, result.unexplained, result.plain, result.lines) == (6, 0, 2, 8)
    assert result.verdict == "2 conversations edited the file"


def test_attaching_a_file_is_a_mention_of_it(shelf: Shelf, tides: Path) -> None:
    attached = Attachment(type="file", name="tides.py", place=Place(path=str(tides)))
    shelf.put(conversation_with("harbour", [attached]))

    result = blame(shelf.choose(), tides)

    assert found(result) == [("vscode:harbour", "weak")]
    assert (result.is_uncertain, result.touches[0].evidence[0].kind) == (True, "mention")
    assert result.verdict == "1 conversation names the file, but no edit of it was found"


def test_a_line_written_once_is_counted_once_in_the_file(shelf: Shelf, tides: Path) -> None:
    tides.write_text("value = compute()\n" * 3)
    shelf.put(conversation_with("harbour", [edit(tides, None, "value = compute()\n")]))

    result = blame(shelf.choose(), tides)

    assert (result.still_there, result.unexplained) == (1, 2)


def test_turns_that_a_fork_repeats_count_for_the_first_conversation(shelf: Shelf, tides: Path) -> None:
    first, fork = (
        conversation_with("first", [edit(tides, BEFORE, AFTER)]),
        conversation_with("fork", [edit(tides, BEFORE, AFTER)], [], hours=1),
    )
    fork.turns[0] = first.turns[0]
    shelf.put(first, fork)

    assert found(blame(shelf.choose(), tides)) == [("vscode:first", "strong")]


def test_a_selection_limits_the_candidates(shelf: Shelf, tides: Path) -> None:
    shelf.put(
        conversation_with("ours", [edit(tides, BEFORE, AFTER)]),
        conversation_with(
            "theirs", [edit(tides, BEFORE, AFTER)], [edit(tides, BEFORE, AFTER)], folder="/home/ben/boats", hours=9
        ),
    )

    assert found(blame(shelf.choose(workspace="tide-tables"), tides)) == [("vscode:ours", "strong")]
    assert found(blame(shelf.choose(until=after(2)), tides)) == [("vscode:ours", "strong")]
    assert [touch.edits for touch in blame(shelf.choose(since=after(9.5)), tides).touches] == [1]


def test_a_turn_without_a_time_takes_that_of_the_conversation(shelf: Shelf, tides: Path) -> None:
    conversation = conversation_with("harbour", [edit(tides, BEFORE, AFTER)])
    conversation.turns = [Turn(index=0)]
    for message in conversation.messages:
        message.created_at = None
    shelf.put(conversation)

    (touch,) = blame(shelf.choose(), tides).touches

    assert touch.first_at == f"{NOON:%Y-%m-%dT%H:%M:%S}.000Z"
