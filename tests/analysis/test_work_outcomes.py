"""What came of conversations, counted by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from copilog.analysis.figures import CountRow, FileRow, LanguageRow, ReferenceRow
from copilog.analysis.selection import Chosen, Selection, choose
from copilog.analysis.work_outcomes import LONGEST_NAME, work
from copilog.model import (
    Conversation,
    EditedFileEvent,
    FileChange,
    FileEdit,
    FileState,
    Message,
    Status,
    Timing,
    Turn,
    TurnError,
    Vote,
)
from copilog.store.archive import Archive
from tests.measured import PULL_REQUEST, at
from tests.stored import concluded_entry

LAMP, LENS = "/home/ana/lamp.py", "/home/ana/lens.md"
Choose = Callable[..., Chosen]


@pytest.fixture
def choose_of(tmp_path: Path) -> Iterator[Choose]:
    """Store conversations and choose all of them."""
    with Archive(tmp_path / "own.db", write=True) as archive:

        def chosen_of(*conversations: Conversation) -> Chosen:
            for conversation in conversations:
                archive.put(concluded_entry(conversation), "made up")
            archive.index_pending()
            return choose(archive)

        yield chosen_of


def edit(path: str, added: int = 1, removed: int = 0) -> FileEdit:
    return FileEdit(uri=f"file://{path}", path=path, added=added, removed=removed)


def change(path: str, turn: int, added: int = 1, removed: int = 0, *, is_undone: bool = False) -> FileChange:
    return FileChange(
        uri=f"file://{path}",
        path=path,
        turn=turn,
        request_id=f"request-{turn}",
        added=added,
        removed=removed,
        is_undone=is_undone,
    )


def conversation(*edits: list[FileEdit], name: str = "lamp", **more: object) -> Conversation:
    """A conversation with a turn for each list of edits."""
    return Conversation(
        id=f"vscode:{name}",
        source="vscode-session",
        updated_at=datetime(2026, 5, 4, 12, tzinfo=UTC),
        turns=[Turn(index=turn, request_id=f"{name}-{turn}") for turn in range(len(edits))],
        messages=[Message(role="assistant", turn=turn, parts=list(made)) for turn, made in enumerate(edits)],
        **more,  # type: ignore[arg-type]
    )


def test_what_came_of_the_measured_conversations(chosen: Chosen) -> None:
    made = work(chosen)

    # tides.py was kept, chart.ts undone
    assert (made.edits, made.files, made.added, made.removed) == (2, 2, 14, 3)
    assert (made.kept, made.undone, made.changed, made.pending, made.undecided) == (1, 1, 0, 0, 0)
    # three turns of harbour, two of lighthouse, one more of lighthouse-2, two of beacon
    assert (made.turns, made.completed, made.cancelled, made.failed, made.retried) == (8, 5, 1, 2, 1)
    assert (made.votes_up, made.votes_down) == (1, 1)
    # 20 + 40 + 30, 60 + 10, 5, 8 seconds; the first turn of beacon has no time
    assert (made.working_ms, made.waiting_ms, made.timed_turns) == (173_000, 5_000, 7)
    assert (made.elapsed_ms, made.working_turns) == (178_000, 7)
    assert made.vote_reasons == [CountRow(name="incorrectCode", times=1)]
    assert made.errors == [
        CountRow(name="Sorry, no response was returned.", times=1),
        CountRow(name="rate_limit", times=1),
    ]


def test_files_and_languages_of_the_measured_conversations(chosen: Chosen) -> None:
    made = work(chosen)

    assert made.top_files == [
        FileRow(path="/home/ana/tide-tables/src/tides.py", edits=1, added=10, removed=2, undone=0, conversations=1),
        FileRow(path="/home/ana/tide-tables/web/chart.ts", edits=1, added=4, removed=1, undone=1, conversations=1),
    ]
    assert made.languages == [
        LanguageRow(name="Python", edits=1, files=1, added=10, removed=2),
        LanguageRow(name="TypeScript", edits=1, files=1, added=4, removed=1),
    ]


def test_what_the_measured_conversations_refer_to(chosen: Chosen) -> None:
    # the prompt of beacon, asked twice; the commit of lighthouse, not again that of its fork
    assert work(chosen).references == [
        ReferenceRow(
            kind="pull-request", name="ana/lighthouse#12", url=PULL_REQUEST, times=2, conversations=1, is_made=False
        ),
        ReferenceRow(kind="commit", name="1a2b3c4", url=None, times=1, conversations=1, is_made=True),
    ]


def test_a_period_cuts_turns_and_what_belongs_to_them(archive: Archive) -> None:
    made = work(choose(archive, Selection(since=datetime(2026, 5, 5, tzinfo=UTC))))

    assert (made.turns, made.edits, made.kept, made.undone) == (6, 1, 0, 1)
    assert (made.working_ms, made.waiting_ms) == (113_000, 0)


def test_an_edit_in_answer_and_history_is_counted_once(choose_of: Choose) -> None:
    made = conversation([edit(LAMP, 5), edit(LAMP, 6), edit(LENS, 2)], [edit(LAMP, 3)])
    made.file_changes = [change(LAMP, 0, 10, 1)]

    counted = work(choose_of(made))

    # of turn 0 the history of the lamp and the answer about the lens, of turn 1 the answer
    assert (counted.edits, counted.files, counted.added, counted.removed) == (3, 2, 15, 1)
    assert [(row.path, row.edits) for row in counted.top_files] == [(LAMP, 2), (LENS, 1)]


def test_edits_end_as_one_of_five(choose_of: Choose) -> None:
    paths = [f"/home/ana/{name}.py" for name in ("undone", "changed", "kept", "pending", "unknown")]
    made = conversation([edit(path) for path in paths], [])
    made.turns[1].edited_files = [
        EditedFileEvent(uri=f"file://{path}", action=action)
        for path, action in zip(paths, ("undo", "modify", "keep"), strict=False)
    ]
    made.files = [FileState(uri=f"file://{paths[3]}", decision="undecided")]

    counted = work(choose_of(made))

    assert (counted.undone, counted.changed, counted.kept, counted.pending, counted.undecided) == (1, 1, 1, 1, 1)
    assert counted.edits == 5


def test_an_edit_without_a_turn_or_a_path_is_still_an_edit(choose_of: Choose) -> None:
    made = conversation([FileEdit(added=2, removed=1)])
    made.file_changes = [FileChange(uri=f"file://{LAMP}", path=LAMP, added=3, removed=0, is_undone=True)]

    counted = work(choose_of(made))

    assert (counted.edits, counted.files, counted.added, counted.undone) == (2, 1, 5, 1)
    assert [row.path for row in counted.top_files] == [LAMP]


def test_a_window_that_is_opened_again_days_later_did_not_work_for_days(choose_of: Choose) -> None:
    def ended(index: int, status: Status, hours: float) -> Turn:
        begun = at(4, "09:00:00")
        return Turn(
            index=index, status=status, timing=Timing(started_at=begun, completed_at=begun + timedelta(hours=hours))
        )

    turns = [ended(0, "cancelled", 48), ended(1, "cancelled", 1), ended(2, "complete", 2)]

    found = work(choose_of(Conversation(id="cli:c", native_id="c", source="cli-events", turns=turns)))

    assert (found.turns, found.timed_turns, found.working_ms) == (3, 2, 3 * 3_600_000)


def test_errors_have_the_code_or_the_first_line_and_cancelling_is_none(choose_of: Choose) -> None:
    made = conversation([], [], [], [], [])
    errors = [
        TurnError(message="Slow down\nfor a while", code="rate_limit"),
        TurnError(message="The lamp  is out.\nAsk ana", code=""),
        TurnError(message="The lamp is out."),
        TurnError(message="x" * 500),
        TurnError(message="Canceled", code="canceled"),
    ]
    for turn, error in zip(made.turns, errors, strict=True):
        turn.status, turn.error = "failed", error
    made.turns[-1].status = "cancelled"

    counted = work(choose_of(made))

    assert counted.errors == [
        CountRow(name="The lamp is out.", times=2),
        CountRow(name="rate_limit", times=1),
        CountRow(name="x" * (LONGEST_NAME - 1) + "…", times=1),
    ]
    assert (counted.failed, counted.cancelled) == (4, 1)


def test_reasons_of_votes_are_counted(choose_of: Choose) -> None:
    made = conversation([], [], [])
    votes = [Vote(is_up=False, reason="refused"), Vote(is_up=False, reason="refused"), Vote(is_up=True)]
    for turn, vote in zip(made.turns, votes, strict=True):
        turn.vote = vote

    counted = work(choose_of(made))

    assert counted.vote_reasons == [CountRow(name="refused", times=2)]
    assert (counted.votes_up, counted.votes_down) == (1, 2)


def test_a_limit_cuts_tables_and_no_totals(choose_of: Choose) -> None:
    made = conversation([edit(f"/home/ana/{number}.py") for number in range(5)] + [edit(LENS), edit(LENS)])

    counted = work(choose_of(made), limit=1)

    assert [(row.path, row.edits) for row in counted.top_files] == [(LENS, 2)]
    assert [(row.name, row.files) for row in counted.languages] == [("Python", 5)]
    assert (counted.edits, counted.files) == (7, 6)
    assert len(work(choose_of(made), limit=None).top_files) == 6


def test_an_archive_without_anything_has_no_work(choose_of: Choose) -> None:
    made = work(choose_of())

    assert (made.edits, made.turns, made.working_ms, made.added) == (0, 0, 0, 0)
    tables = (made.top_files, made.languages, made.vote_reasons, made.errors, made.references)
    assert not any(tables)


def test_an_archive_that_is_only_read_can_be_measured(tmp_path: Path, archive: Archive) -> None:
    with Archive(archive.path) as reader:
        assert work(choose(reader)).edits == 2
        assert not reader.connection.in_transaction
