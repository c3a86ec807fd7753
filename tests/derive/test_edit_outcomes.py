"""What became of edits."""

from __future__ import annotations

from typing import Literal

import pytest

from copilog.derive.edit_outcomes import EditOutcomes
from copilog.model import Conversation, EditedFileEvent, FileState, Turn

LAMP, LENS = "file:///home/ana/lamp.py", "file:///home/ana/lens.py"


def conversation(*turns: list[tuple[str, str]], **decisions: str) -> Conversation:
    """Return a conversation of turns with the user's actions on files before each, and the last state of files."""
    uris = {"lamp": LAMP, "lens": LENS}
    return Conversation(
        id="vscode:lighthouse",
        source="vscode-session",
        turns=[
            Turn(index=index, edited_files=[EditedFileEvent(uri=uri, action=action) for uri, action in events])
            for index, events in enumerate(turns)
        ],
        files=[
            FileState(uri=uris[name], decision=decision)  # type: ignore[arg-type]
            for name, decision in decisions.items()
        ],
    )


def test_an_undone_edit_is_undone_without_further_records() -> None:
    assert EditOutcomes(conversation()).of(None, None, True) == "undone"
    assert EditOutcomes(conversation([], [(LAMP, "keep")])).of(LAMP, 0, True) == "undone"


@pytest.mark.parametrize(("action", "fate"), [("undo", "undone"), ("modify", "changed"), ("keep", "kept")])
def test_the_next_turn_records_what_the_user_did_with_edits(action: str, fate: str) -> None:
    assert EditOutcomes(conversation([], [(LAMP, action)])).of(LAMP, 0, False) == fate


def test_the_first_later_turn_that_names_the_file_counts() -> None:
    fates = EditOutcomes(conversation([(LAMP, "undo")], [], [(LENS, "undo")], [(LAMP, "modify")], [(LAMP, "undo")]))

    assert fates.of(LAMP, 0, False) == "changed"
    assert fates.of(LAMP, 2, False) == "changed"
    assert fates.of(LAMP, 3, False) == "undone"
    assert fates.of(LAMP, 4, False) is None


def test_a_user_action_outranks_a_record_that_the_file_was_kept() -> None:
    assert EditOutcomes(conversation([], [(LAMP, "keep"), (LAMP, "modify")])).of(LAMP, 0, False) == "changed"
    assert EditOutcomes(conversation([], [(LAMP, "undo"), (LAMP, "keep")])).of(LAMP, 0, False) == "undone"


@pytest.mark.parametrize(("decision", "fate"), [("accepted", "kept"), ("rejected", "undone"), ("undecided", "pending")])
def test_without_a_later_turn_the_file_state_decides_the_outcome_of_an_edit(
    decision: Literal["accepted", "rejected", "undecided"], fate: str
) -> None:
    fates = EditOutcomes(conversation([], [(LENS, "keep")], lamp=decision))

    assert fates.of(LAMP, 0, False) == fate
    assert fates.of(LAMP, None, False) == fate


def test_a_later_turn_counts_before_the_state_of_the_file() -> None:
    fates = EditOutcomes(conversation([], [(LAMP, "modify")], lamp="accepted"))

    assert fates.of(LAMP, 0, False) == "changed"
    assert fates.of(LAMP, 1, False) == "kept"


def test_without_any_record_the_outcome_of_an_edit_is_unknown() -> None:
    assert EditOutcomes(conversation()).of(LAMP, 0, False) is None
    assert EditOutcomes(conversation([], [(LENS, "keep")], lens="accepted")).of(LAMP, 0, False) is None
    assert EditOutcomes(conversation([], [(LAMP, "keep")])).of(None, 0, False) is None
    assert EditOutcomes(conversation([], [(LAMP, "stare")])).of(LAMP, 0, False) is None


def test_spellings_of_the_same_file_are_one() -> None:
    fates = EditOutcomes(conversation([], [("file:///C:/my%20lamp/lamp.py", "undo")]))

    assert fates.of("file:///c%3A/my lamp/lamp.py", 0, False) == "undone"
