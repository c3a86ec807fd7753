"""Which tools were called, how that went, and in which order."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from copilog.analysis.figures import ProgramRow, SequenceRow, ServerRow, ToolRow, ToolsSection
from copilog.analysis.selection import Chosen, Selection, choose
from copilog.analysis.tools import tools
from copilog.model import Approval, Conversation, Message, Terminal, ToolCall, Turn
from copilog.store.archive import Archive
from tests.measured import at
from tests.stored import concluded_entry


def test_calls_and_confirmations_of_the_sample(chosen: Chosen) -> None:
    found = tools(chosen)

    assert (found.calls, found.failed, found.retries) == (11, 1, 1)
    assert (found.automatic, found.by_user, found.denied, found.unknown_confirmations) == (3, 2, 1, 5)
    assert found.sequences == []


def test_figures_of_each_tool(chosen: Chosen) -> None:
    found = tools(chosen).tools

    assert [(row.name, row.calls) for row in found] == [
        ("bash", 2),
        ("edit_file", 2),
        ("read_file", 2),
        ("run_in_terminal", 2),
        ("github-create_issue", 1),
        ("runSubagent", 1),
        ("task", 1),
    ]
    assert found[0] == ToolRow(
        name="bash",
        calls=2,
        conversations=1,
        failed=0,
        failure_rate=0.0,
        command_errors=0,
        retries=0,
        automatic=1,
        by_user=0,
        denied=1,
        timed=1,
        median_ms=500,
        p95_ms=500,
        total_ms=500,
        result_bytes=29,
    )
    assert found[3] == ToolRow(
        name="run_in_terminal",
        calls=2,
        conversations=1,
        failed=1,
        failure_rate=0.5,
        command_errors=1,
        retries=1,
        automatic=1,
        by_user=1,
        denied=0,
        timed=2,
        median_ms=4_000,
        p95_ms=6_000,
        total_ms=10_000,
        result_bytes=0,
    )
    assert (found[1].timed, found[1].median_ms, found[1].p95_ms, found[1].total_ms) == (0, None, None, None)


def test_servers_and_programs(chosen: Chosen) -> None:
    found = tools(chosen)

    assert found.servers == [ServerRow(name="github", tools=1, calls=1, failed=0, conversations=1)]
    assert found.programs == [
        ProgramRow(name="pytest", calls=2, failed=1, command_errors=1, conversations=1),
        ProgramRow(name="git commit", calls=1, failed=0, command_errors=0, conversations=1),
        ProgramRow(name="rm", calls=1, failed=0, command_errors=0, conversations=1),
    ]


def test_only_calls_of_the_chosen_turns_are_counted(archive: Archive) -> None:
    found = tools(choose(archive, Selection(until=at(4, "09:05:00"))))

    assert [(row.name, row.calls) for row in found.tools] == [("run_in_terminal", 2), ("read_file", 1)]
    assert found.servers == []
    assert [row.name for row in found.programs] == ["pytest"]


def test_a_limit_cuts_tables_and_nothing_else(chosen: Chosen) -> None:
    found = tools(chosen, limit=1)

    assert [row.name for row in found.tools] == ["bash"]
    assert [row.name for row in found.programs] == ["pytest"]
    assert (found.calls, found.retries, found.automatic) == (11, 1, 3)


def test_a_failure_rate_needs_a_known_end(tmp_path: Path) -> None:
    calls = [_call("peek", "unknown"), _call("look", "failed"), _call("look", "unknown"), _call("look", "complete")]

    found = _tools_of(tmp_path, _conversation_with("ends", calls))

    assert [(row.name, row.failed, row.failure_rate) for row in found.tools] == [("look", 1, 0.5), ("peek", 0, None)]


def test_a_denial_outweighs_a_grant_and_a_skipped_call_counts_as_undecided(tmp_path: Path) -> None:
    calls = [
        ToolCall(id="c0", name="bash", status="denied", approval=Approval(kind="setting", detail="hook")),
        ToolCall(id="c1", name="bash", status="skipped", approval=Approval(kind="skipped")),
        ToolCall(id="c2", name="bash", status="complete", approval=Approval(kind="unknown")),
        ToolCall(id="c3", name="bash", status="complete"),
    ]

    talk = _conversation_with("decided", [])
    talk.messages = [Message(role="assistant", turn=0, parts=list(calls))]
    found = _tools_of(tmp_path, talk)

    assert (found.automatic, found.by_user, found.denied, found.unknown_confirmations) == (0, 0, 1, 3)


def test_a_call_is_a_retry_until_one_succeeds(tmp_path: Path) -> None:
    calls = [
        _call("bash", "failed"),
        _call("look", "complete"),
        _call("bash", "failed"),  # once more
        _call("bash", "unknown"),  # once more, with an unrecorded outcome
        _call("bash", "complete"),  # once more
        _call("bash", "failed"),  # the last one went well
        _call("bash", "failed", parent="c1"),  # of another level
    ]

    found = _tools_of(tmp_path, _conversation_with("again", calls, [_call("bash", "complete")]))

    assert [(row.name, row.retries) for row in found.tools] == [("bash", 3), ("look", 0)]


def test_a_sequence_that_is_always_part_of_a_longer_one_is_left_out(tmp_path: Path) -> None:
    mend = [_call("find"), _call("read"), _call("edit"), _call("test")]
    other = [_call("read"), _call("edit")]

    found = _tools_of(tmp_path, _conversation_with("one", mend, mend), _conversation_with("two", mend, other, other))

    # find-read, find-read-edit, edit-test and read-edit-test occur only within the full sequence; read-edit also
    # without.
    assert found.sequences == [
        SequenceRow(tools=["read", "edit"], times=5, conversations=2),
        SequenceRow(tools=["find", "read", "edit", "test"], times=3, conversations=2),
    ]


def test_sequences_recur_three_times_and_have_several_tools(tmp_path: Path) -> None:
    twice = [_call("read"), _call("edit")]
    same = [_call("read")] * 9

    assert _tools_of(tmp_path, _conversation_with("dull", twice, twice, same)).sequences == []


def test_calls_follow_each_other_within_a_turn_and_a_level(tmp_path: Path) -> None:
    inside = [_call("ask"), _call("read", parent="c0"), _call("grep", parent="c0"), _call("edit")]
    alone = [[_call("lint")], [_call("test")]] * 4

    found = _tools_of(tmp_path, _conversation_with("levels", inside, inside, inside, *alone))

    assert [(row.tools, row.times) for row in found.sequences] == [(["ask", "edit"], 3), (["read", "grep"], 3)]


def test_servers_without_a_name_and_programs_of_one_command(tmp_path: Path) -> None:
    calls = [
        ToolCall(id="c0", name="stars", status="complete", origin="mcp", server="sky"),
        ToolCall(id="c1", name="moons", status="failed", origin="mcp", server="sky"),
        ToolCall(id="c2", name="lamps", status="complete", origin="mcp"),
        ToolCall(id="c3", name="bash", status="failed"),
    ]
    terminal = Terminal(call_id="c3", command="git add . && git commit -m x && git add .")
    talk = _conversation_with("servers", [])
    talk.messages = [Message(role="assistant", turn=0, parts=[*calls, terminal])]

    found = _tools_of(tmp_path, talk)

    assert found.servers == [
        ServerRow(name="sky", tools=2, calls=2, failed=1, conversations=1),
        ServerRow(name="(unnamed)", tools=1, calls=1, failed=0, conversations=1),
    ]
    assert found.programs == [
        ProgramRow(name="git add", calls=1, failed=1, command_errors=0, conversations=1),
        ProgramRow(name="git commit", calls=1, failed=1, command_errors=0, conversations=1),
    ]


def test_calls_without_a_turn_count_but_follow_nothing(tmp_path: Path) -> None:
    talk = _conversation_with("loose", [_call("read")])
    calls = [
        call
        for number in range(3)
        for call in (
            ToolCall(id=f"b{number}", name="bash", status="failed"),
            ToolCall(id=f"l{number}", name="look", status="complete"),
        )
    ]
    talk.messages.append(Message(role="assistant", parts=list(calls)))

    found = _tools_of(tmp_path, talk)

    assert (found.calls, found.failed, found.retries, found.sequences) == (7, 3, 0, [])


def test_an_empty_archive_has_no_tools(tmp_path: Path) -> None:
    found = _tools_of(tmp_path)

    assert (found.calls, found.tools, found.servers, found.programs, found.sequences) == (0, [], [], [], [])


Status = Literal["complete", "failed", "unknown"]


class Call(NamedTuple):
    name: str
    status: Status
    parent: str | None  # the call whose sub-agent makes this one


def _call(name: str, status: Status = "complete", *, parent: str | None = None) -> Call:
    return Call(name, status, parent)


def _conversation_with(name: str, *turns: list[Call]) -> Conversation:
    """Make a conversation with these calls in its turns."""
    messages = [
        Message(
            role="assistant",
            turn=index,
            parent_call_id=call.parent,
            parts=[ToolCall(id=f"{index}-{number}", name=call.name, status=call.status)],
        )
        for index, calls in enumerate(turns)
        for number, call in enumerate(calls)
    ]
    return Conversation(
        id=f"vscode:{name}",
        native_id=name,
        source="vscode-session",
        started_at=at(4, "09:00:00"),
        turns=[Turn(index=index, status="complete") for index in range(len(turns))],
        messages=messages,
    )


def _tools_of(folder: Path, *conversations: Conversation) -> ToolsSection:
    with Archive(folder / "tools.db", write=True) as archive:
        for conversation in conversations:
            archive.put(concluded_entry(conversation), "made up")
        return tools(choose(archive))
