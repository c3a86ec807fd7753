"""Calls that failed and commands that ended with an error are counted apart; edits that were not made, not at all."""

from __future__ import annotations

from pathlib import Path

from copilog.analysis import choose
from copilog.analysis.tools import tools
from copilog.analysis.work_outcomes import work
from copilog.model import (
    AnyPart,
    Approval,
    Conversation,
    FileEdit,
    Message,
    Terminal,
    ToolCall,
    ToolResult,
    Turn,
    TurnError,
)
from copilog.store.archive import Archive
from tests.stored import concluded_entry

ERROR = "ERROR while calling tool: File already exists.\nPlease check your input and try again."


def conversation(native_id: str, *parts: AnyPart, turn: Turn | None = None) -> Conversation:
    return Conversation(
        id=f"vscode:{native_id}",
        native_id=native_id,
        source="vscode-session",
        turns=[turn or Turn(index=0, status="complete")],
        messages=[Message(role="assistant", parts=list(parts), turn=0)],
    )


def stored(tmp_path: Path, *conversations: Conversation) -> Archive:
    archive = Archive(tmp_path / "archive.db", write=True)
    for one in conversations:
        archive.put(concluded_entry(one), one.id)
    archive.index_pending()
    return archive


def failing() -> Conversation:
    return conversation(
        "failing",
        ToolCall(id="c1", name="create_file", status="complete", native="toolInvocationSerialized"),
        FileEdit(path="/a.py", action="create", added=12, removed=0, call_id="c1"),
        ToolResult(call_id="c1", text=ERROR),
        ToolCall(id="c2", name="create_file", status="complete", native="toolInvocationSerialized"),
        FileEdit(path="/b.py", action="create", diff="--- /dev/null\n+++ b/b.py\n@@ -0,0 +1,1 @@\n+x\n", call_id="c2"),
        ToolResult(call_id="c2", text="The following files were successfully edited:\n/b.py"),
    )


def running() -> Conversation:
    return conversation(
        "running",
        ToolCall(id="c1", name="run_in_terminal", status="complete"),
        Terminal(call_id="c1", command="pytest -q", exit_code=2),
        ToolCall(id="c2", name="run_in_terminal", status="denied", approval=Approval(kind="denied")),
        Terminal(call_id="c2", command="rm -r build"),
    )


def test_figures_count_failed_calls_and_command_errors_apart(tmp_path: Path) -> None:
    with stored(tmp_path, failing(), running()) as archive:
        found = tools(choose(archive))

    assert (found.calls, found.failed, found.command_errors, found.denied) == (4, 1, 1, 1)
    assert {row.name: (row.failed, row.failure_rate, row.command_errors) for row in found.tools} == {
        "create_file": (1, 0.5, 0),
        "run_in_terminal": (0, 0.0, 1),
    }
    assert {row.name: (row.calls, row.failed, row.command_errors) for row in found.programs} == {
        "pytest": (1, 0, 1),
        "rm": (1, 0, 0),
    }


def test_lists_and_searches_distinguish_failures_from_exit_codes(tmp_path: Path) -> None:
    with stored(tmp_path, failing(), running()) as archive:
        summaries = {summary.native_id: summary for summary in archive.list()}
        found = {
            query: [hit.conversation for hit in archive.search(query).hits]
            for query in ("has:error", "has:command-error")
        }

    assert [(summaries[name].errors, summaries[name].failed_calls, summaries[name].command_errors)
            for name in ("failing", "running")] == [(1, 1, 0), (0, 0, 1)]  # fmt: skip
    assert set(found["has:error"]) == {"vscode:failing"}
    assert set(found["has:command-error"]) == {"vscode:running"}


def test_edit_of_a_failed_call_is_counted_nowhere(tmp_path: Path) -> None:
    with stored(tmp_path, failing()) as archive:
        found = work(choose(archive))
        (summary,) = archive.list()
        paths = archive.connection.execute("SELECT path, added, removed FROM file_edit").fetchall()

    assert (found.edits, found.added, found.removed, summary.edits) == (1, 1, 0, 1)
    assert paths == [("/b.py", 1, 0)]


def test_line_counts_that_were_not_recorded_are_empty_and_not_0(tmp_path: Path) -> None:
    unknown = conversation("unknown", FileEdit(path="/src/a.py", action="edit"))

    with stored(tmp_path, unknown) as archive:
        found = work(choose(archive))

    assert (found.edits, found.added, found.removed) == (1, None, None)
    assert [(row.added, row.removed) for row in found.top_files] == [(None, None)]
    assert [(row.added, row.removed) for row in found.languages] == [(None, None)]


def test_turn_that_was_cancelled_has_not_failed(tmp_path: Path) -> None:
    error = TurnError(message="Canceled", code="canceled")
    cancelled = conversation("cancelled", turn=Turn(index=0, status="cancelled", error=error))
    failed = conversation("failed", turn=Turn(index=0, error=TurnError(message="No network")))

    with stored(tmp_path, cancelled, failed) as archive:
        errors = {summary.native_id: summary.errors for summary in archive.list()}
        found = [hit.conversation for hit in archive.search("has:error").hits]
        states = dict(archive.connection.execute("SELECT c.native_id, t.status FROM turn t JOIN conversation c"
                                                 " ON c.rowid = t.conversation"))  # fmt: skip

    assert errors == {"cancelled": 0, "failed": 1}
    assert states == {"cancelled": "cancelled", "failed": "failed"}
    assert "vscode:cancelled" not in found
