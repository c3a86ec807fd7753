"""How calls ended: what counts as evidence, and which evidence outweighs which."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from copilog.derive import add_verdict, conclude, is_made
from copilog.derive.exit_codes import exit_code_of
from copilog.model import (
    AnyPart,
    Approval,
    Conversation,
    FileEdit,
    Message,
    Place,
    Round,
    Terminal,
    Timing,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
    Verdict,
)

CALL_ERROR = "ERROR while calling tool: cannot open /src/missing.py\nPlease check your input and try again."
INPUT_ERROR = (
    "ERROR: Your input to the tool was invalid (must have required property 'endLine')\n"
    "Please check your input and try again."
)
NO_TOOL = 'ERROR: The tool "fly" does not exist\nPlease check your input and try again.'
SKIPPED = "The user chose to skip the tool call, they want to proceed without running it"
CANCELLED = "The user cancelled the tool call."


def concluded(*parts: AnyPart, id: str = "vscode:1", turn: Turn | None = None) -> ToolCall:  # noqa: A002
    """Conclude a conversation of these parts, and return its first call."""
    turn = turn or Turn(index=0, status="complete")
    message = Message(role="assistant", parts=list(parts), turn=0)
    conversation = Conversation(id=id, source="vscode-session", turns=[turn], messages=[message])
    conclude(conversation)
    return next(part for part in parts if isinstance(part, ToolCall))


def ended(name: str = "read_file", **more: object) -> ToolCall:
    """Return a call that VS Code recorded as ended, as it does whatever came of it."""
    return ToolCall(id="c1", name=name, status="complete", native="toolInvocationSerialized", **more)  # type: ignore[arg-type]


def result(text: str, **more: object) -> ToolResult:
    return ToolResult(call_id="c1", text=text, origin="model", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [CALL_ERROR, INPUT_ERROR, NO_TOOL])
@pytest.mark.parametrize("name", ["read_file", "run_in_terminal", "grep_search", "create_file", "mcp_shop_order"])
def test_error_text_of_the_extension_is_a_failure(text: str, name: str) -> None:
    call = concluded(ended(name), result(text))

    assert call.outcome is not None
    assert (call.outcome.kind, call.outcome.evidence) == ("failed", ["text of the result"])
    assert call.outcome.reason is not None
    assert "Please check" not in call.outcome.reason


def test_reason_of_a_failure_is_the_message_without_its_wrapping() -> None:
    call = concluded(ended(), result(CALL_ERROR))

    assert call.outcome is not None
    assert call.outcome.reason == "cannot open /src/missing.py"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("read_file", "ERROR while calling tool: third time this week\nERROR while calling tool: fourth time\n"),
        ("read_file", f"File: `/src/log.txt`. Lines 1 to 2 (2 lines total): \n```\n{CALL_ERROR}\n```"),
        ("read_file", f"```\n{CALL_ERROR}\n```"),
        ("copilot_readFile", "ERROR: Your input to the tool was invalid\nand more of the file"),
        ("grep_search", f'1 match\n<match path="/src/log.txt" line=1>\n{CALL_ERROR}\n</match>'),
        ("grep_search", "ERROR while calling tool: /src/log.txt:7: as a hit"),
        ("run_in_terminal", "ERROR while calling tool: printed by a script\ndone\n"),
        ("run_in_terminal", "The user cancelled the tool call. Or so the log says.\n"),
        ("run_in_terminal", f"{SKIPPED}\nprinted, with more\n"),
        ("fetch_webpage", "ERROR while calling tool: how to mend it, a page about it"),
    ],
)
def test_content_that_begins_like_an_error_is_content(name: str, text: str) -> None:
    call = concluded(ended(name), result(text))

    assert call.outcome is not None
    assert call.outcome.kind == "succeeded"


@pytest.mark.parametrize("text", [CALL_ERROR, CANCELLED, SKIPPED])
def test_output_of_a_command_that_ran_is_output_even_if_it_looks_like_a_failure(text: str) -> None:
    with_code = concluded(ended("run_in_terminal"), Terminal(call_id="c1", command="cat a", exit_code=0), result(text))
    with_output = concluded(
        ended("run_in_terminal"), Terminal(call_id="c1", command="cat a", output=text), result(text)
    )
    without = concluded(ended("run_in_terminal"), Terminal(call_id="c1", command="cat a"), result(text))

    assert [call.outcome.kind for call in (with_code, with_output) if call.outcome] == ["succeeded", "succeeded"]
    assert without.outcome is not None
    assert without.outcome.kind != "succeeded"


@pytest.mark.parametrize(("text", "kind"), [(CALL_ERROR, "failed"), (CANCELLED, "cancelled")])
def test_an_exit_code_above_0_alone_does_not_prove_that_the_text_is_output(text: str, kind: str) -> None:
    killed = Terminal(call_id="c1", command="sleep 99", exit_code=130)
    printed = Terminal(call_id="c1", command="cat a; false", exit_code=1, output=text)

    call = concluded(ended("run_in_terminal"), killed, result(text))
    content = concluded(ended("run_in_terminal"), printed, result(text))

    assert call.outcome is not None
    assert content.outcome is not None
    assert (call.outcome.kind, call.outcome.against, exit_code_of(call)) == (kind, ["exit code: succeeded"], 130)
    assert (content.outcome.kind, exit_code_of(content)) == ("succeeded", 1)


@pytest.mark.parametrize(("text", "kind"), [(CALL_ERROR, "failed"), (CANCELLED, "cancelled"), (SKIPPED, "skipped")])
def test_text_that_hooks_add_is_not_part_of_the_text_of_the_extension(text: str, kind: str) -> None:
    behind = concluded(ended(), result(f"{text}\n<PostToolUse-context>\nlint: fine\n</PostToolUse-context>"))
    before = concluded(ended(), result(f"<PreToolUse-context>\nlint: fine\n</PreToolUse-context>\n{text}"))

    assert [call.outcome.kind for call in (behind, before) if call.outcome] == [kind, kind]


def test_search_hits_prove_that_the_text_is_output() -> None:
    found = [Place(uri="file:///src/log.txt")]

    searched = concluded(ended("grep_search"), result(CALL_ERROR, places=found))
    edited = concluded(ended("create_file"), result(CALL_ERROR, places=found))

    assert [call.outcome.kind for call in (searched, edited) if call.outcome] == ["succeeded", "failed"]


@pytest.mark.parametrize(
    "text",
    [
        "String replacement failed: Could not find matching text to replace.",
        "Applying patch failed with error: Invalid context at character 204:\n    end",
        "ERROR while calling tool: File already exists.",
        "ERROR: File already exists. You must use an edit tool to modify it.",
        "File already exists. You must use an edit tool to modify it.",
        "File already exists. You must use the edit_notebook_file tool to modify it.",
        "File already exists. Please provide a non-empty old_string for replacement.",
        "Could not find matching text to replace. The string to replace must match exactly.",
        "Could not find matching text",
        "Multiple matches found for the text to replace. Please provide a more specific string.",
        "Original and edited file match exactly. Failed to apply edit.",
        "Input and output are identical",
        "None of the edits were applied as newCode is required for edit operation",
        "File /src/a.py is not in the set of allowed files for this edit request.",
    ],
)
def test_result_of_an_editing_tool_is_a_text_of_the_extension(text: str) -> None:
    edited = concluded(ended("replace_string_in_file"), result(text))
    read = concluded(ended("read_file"), result(text))

    assert edited.outcome is not None
    assert read.outcome is not None
    assert (edited.outcome.kind, read.outcome.kind) == ("failed", "succeeded")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("memory", "Error: File /memories/a.md already exists"),
        ("copilot_memory", "No replacement was performed, old_str `a` did not appear verbatim in /memories/a.md."),
        ("memory", "The path /memories/a.md does not exist. Please provide a valid path."),
        ("install_extension", "Failed to install Jupyter extension."),
        ("run_vscode_command", "Failed to find command `Do it`."),
        ("run_vscode_command", "Command `Do it` exists, but its preconditions are not currently met. Ask the user"),
        ("run_notebook_cell", "Cell #VSC-1 is not a code cell so it can't be executed. If this is unexpected"),
        ("create_new_jupyter_notebook", "Planning stage did not return a success code."),
        ("create_new_workspace", "The user has not opened a valid workspace folder in VS Code. Ask them"),
        ("view_image", "Cannot view image file /src/a.png: file size (30MB) exceeds the maximum"),
        ("get_changed_files", "The workspace does not contain a git repository"),
    ],
)
@pytest.mark.parametrize("reader", ["read_file", "grep_search", "run_in_terminal", "fetch_webpage", "mcp_shop_order"])
def test_failure_text_of_a_tool_is_a_failure_only_for_that_tool(name: str, text: str, reader: str) -> None:
    outcomes = [concluded(ended(each), result(text)).outcome for each in (name, reader)]

    assert [outcome.kind for outcome in outcomes if outcome] == ["failed", "succeeded"]
    assert outcomes[0] is not None
    assert outcomes[0].reason == text


def test_disabled_tool_has_failed_only_if_the_result_is_exactly_that_message() -> None:
    text = "Tool read_file is currently disabled by the user, and cannot be called."
    named = [concluded(ended(name), result(text)).outcome for name in ("read_file", "copilot_readFile")]
    printed = Terminal(call_id="c1", command="cat a", exit_code=0, output=text)
    others = [
        concluded(ended("grep_search"), result(text)),
        concluded(ended("read_file"), result(f"{text}\nThe next line of a file.")),
        concluded(ended("run_in_terminal"), printed, result(text.replace("read_file", "run_in_terminal"))),
    ]

    assert [(outcome.kind, outcome.reason) for outcome in named if outcome] == [("failed", text)] * 2
    assert [call.outcome.kind for call in others if call.outcome] == ["succeeded"] * 3


@pytest.mark.parametrize(
    "text",
    [
        "String replacement failed: no match\nThe edit to /src/a.py was applied successfully.",
        "The following files were successfully edited:\n/src/a.py\nString replacement failed: no match",
    ],
)
def test_call_that_edited_some_of_its_files_has_succeeded(text: str) -> None:
    call = concluded(ended("multi_replace_string_in_file"), result(text))

    assert call.outcome is not None
    assert (call.outcome.kind, call.outcome.reason) == ("succeeded", "String replacement failed: no match")
    assert (call.outcome.evidence, call.outcome.against) == (["result"], ["some of its edits: failed"])


def test_copilot_cli_records_flags_and_none_of_the_texts_of_the_extension() -> None:
    call = concluded(ToolCall(id="c1", name="view", status="complete"), result(CALL_ERROR), id="cli:1")

    assert call.outcome is not None
    assert call.outcome.kind == "succeeded"


# --- precedence -------------------------------------------------------------------------------------------------


def test_confirmation_outweighs_texts_and_flags() -> None:
    denied = concluded(ended(approval=Approval(kind="denied")), result(CANCELLED, is_error=True))
    skipped = concluded(ended(approval=Approval(kind="skipped")), result(SKIPPED))

    assert denied.outcome is not None
    assert skipped.outcome is not None
    assert (denied.outcome.kind, skipped.outcome.kind) == ("denied", "skipped")
    assert denied.outcome.evidence == ["confirmation", "text of the result", "error flag"]
    assert denied.outcome.against == []


def test_texts_of_the_extension_mark_calls_as_skipped_and_cancelled() -> None:
    skipped = concluded(ended("run_in_terminal"), result(f"{SKIPPED}\n"))
    cancelled = concluded(ended("install", approval=Approval(kind="user")), result(CANCELLED, is_error=True))
    flagged = concluded(ended("install"), result("Canceled: Canceled", is_error=True))

    kinds = [call.outcome.kind for call in (skipped, cancelled, flagged) if call.outcome]
    assert kinds == ["skipped", "cancelled", "cancelled"]


def test_call_has_failed_if_any_trace_records_it_and_contradictions_are_listed() -> None:
    call = ended()
    call.verdicts = [Verdict(source="transcripts", kind="failed"), Verdict(source="debug-logs", kind="succeeded")]

    concluded(call, result("1. total = 0"))

    assert call.outcome is not None
    assert (call.outcome.kind, call.outcome.evidence) == ("failed", ["transcripts"])
    assert call.outcome.against == ["result: succeeded", "debug-logs: succeeded"]


def test_that_a_call_ended_does_not_disprove_its_failure() -> None:
    call = concluded(ended("create_file"), result(CALL_ERROR))

    assert call.outcome is not None
    assert call.outcome.against == []


def test_verdicts_of_other_traces_are_the_same_in_any_order() -> None:
    failed = ToolCall(id="c1", name="read_file", status="failed", native="tool.execution_complete")
    went_well = ToolCall(id="c1", name="read_file", status="complete")
    one, other = ended(), ended()

    add_verdict(one, failed, [], None, "transcripts")
    add_verdict(one, went_well, [result("text")], None, "debug-logs")
    add_verdict(other, went_well, [result("text")], None, "debug-logs")
    add_verdict(other, failed, [], None, "transcripts")
    add_verdict(other, failed, [], None, "transcripts")

    assert one.verdicts == other.verdicts
    assert [(verdict.source, verdict.kind) for verdict in one.verdicts] == [
        ("debug-logs", "succeeded"),
        ("transcripts", "failed"),
    ]
    concluded(one)
    assert one.outcome is not None
    assert one.outcome.kind == "failed"


def test_trace_that_only_records_that_a_call_ended_adds_no_verdict() -> None:
    call = ToolCall(id="c1", name="read_file", status="unknown")

    add_verdict(call, ended(), [], None, "vscode-session")

    assert call.verdicts == []


def test_outcome_without_records_is_unknown_or_running_while_the_turn_may_run() -> None:
    now = datetime.now(UTC)
    started = ToolCall(id="c1", name="bash", status="unknown")
    going = Turn(index=0, status="pending", timing=Timing(started_at=now))
    left = Turn(index=0, status="pending", timing=Timing(started_at=now - timedelta(days=90)))

    kinds = []
    for turn in (going, left, Turn(index=0, status="complete")):
        call = concluded(started, turn=turn)
        assert call.outcome is not None
        kinds.append(call.outcome.kind)

    assert kinds == ["running", "unknown", "unknown"]


# --- exit codes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bash", "read_bash", "read_powershell", "write_bash", "write_powershell"])
@pytest.mark.parametrize(
    ("last_line", "code"),
    [
        ("<exited with exit code 3>", 3),
        ("<shellId: 4 completed with exit code 1>", 1),
        ("<shellId: build-7 completed with exit code 0>\n", 0),
        ("Command exited with code 127", 127),
        ("<command with id: 0 exited with exit code 1>", 1),
        ("<exited with error: no shell>", None),
        ("the test <exited with exit code 3> again", None),
    ],
)
def test_last_line_of_a_shell_names_the_exit_code(last_line: str, code: int | None, name: str) -> None:
    call = concluded(ToolCall(id="c1", name=name, status="complete"), result(f"output\n{last_line}"), id="cli:1")

    assert call.outcome is not None
    assert (call.outcome.kind, exit_code_of(call)) == ("succeeded", code)


def test_exit_code_of_a_command_that_is_read_again_is_that_of_the_first_call_that_names_it() -> None:
    steps = [
        ("bash", "<command is still running>"),
        ("read_bash", "<command with id: 0 exited with exit code 1>"),
        ("read_bash", "<command with id: 0 exited with exit code 1>"),
        ("write_bash", "<exited with exit code 1>"),
        ("read_bash", "<exited with exit code 1>"),
    ]
    given = '{"shellId": "0"}'
    calls = [
        ToolCall(id=f"c{number}", name=name, arguments=given, status="complete")
        for number, (name, _) in enumerate(steps)
    ]
    results = [ToolResult(call_id=f"c{number}", text=f"output\n{text}") for number, (_, text) in enumerate(steps)]

    concluded(*calls, *results, id="cli:1")
    concluded(*calls, *results, id="cli:1")

    assert [exit_code_of(call) for call in calls] == [None, 1, None, 1, None]


def test_exit_code_that_was_recorded_outweighs_the_last_line() -> None:
    terminal = Terminal(call_id="c1", command="make", exit_code=2)

    call = concluded(ended("run_in_terminal"), terminal, result("Command exited with code 1"))

    assert call.outcome is not None
    assert (call.outcome.kind, exit_code_of(call)) == ("succeeded", 2)


def test_file_that_ends_in_an_exit_code_has_none() -> None:
    assert concluded(ended("read_file"), result("log\n<exited with exit code 3>")).concluded_exit_code is None


# --- edits ------------------------------------------------------------------------------------------------------


def test_edit_of_a_call_that_failed_was_not_made() -> None:
    failed, made, free = FileEdit(call_id="c1"), FileEdit(call_id="c2"), FileEdit()
    concluded(ended("create_file"), failed, ToolCall(id="c2", name="create_file", status="complete"), made, free,
              result(CALL_ERROR))  # fmt: skip

    assert [is_made(edit) for edit in (failed, made, free)] == [False, True, True]


def test_file_that_was_there_already_was_not_created() -> None:
    arguments = '{"filePath": "/src/a.py", "content": "one\\ntwo\\n"}'
    text = "File already exists. You must use an edit tool to modify it."

    made = concluded(ended("create_file", arguments=arguments), result("File created at /src/a.py"))
    kept = concluded(ended("create_file", arguments=arguments), result(text))

    assert [(edit.path, edit.added) for edit in made.edits] == [("/src/a.py", 2)]
    assert kept.edits == []


def test_conclusions_are_the_same_when_they_are_made_again() -> None:
    terminal = Terminal(call_id="c1", command="make")
    parts = (ToolCall(id="c1", name="bash", status="complete"), terminal, result("x\n<exited with exit code 2>"))

    first = concluded(*parts, id="cli:1").outcome
    again = concluded(*parts, id="cli:1").outcome

    assert (first, exit_code_of(terminal)) == (again, 2)


# --- ids that turns share ---------------------------------------------------------------------------------------


def counted_anew(*, spelled: bool) -> Conversation:
    """Return a conversation where the first call of each turn has the id `c1`: one fails, one writes a file."""
    messages = []
    for turn, (name, text) in enumerate([("read_file", CALL_ERROR), ("create_file", "Created the file.")]):
        call = ended(name)
        call.native_ids = [f"c1__vscode-{turn}"] if spelled else []
        edit = [FileEdit(call_id="c1", path="/src/tide.py")] if name == "create_file" else []
        messages += [
            Message(role="assistant", turn=turn, parts=[call, *edit]),
            Message(role="assistant", turn=turn, parent_call_id="c1", parts=[Terminal(call_id="c1", command="ls")]),
            Message(role="tool", turn=turn, parts=[result(text)]),
        ]
    turns = [
        Turn(index=index, rounds=[Round(call_ids=["c1"])], usage=[Usage(parent_call_id="c1")]) for index in range(2)
    ]
    return Conversation(id="vscode:1", source="vscode-session", turns=turns, messages=messages)


@pytest.mark.parametrize(("spelled", "name"), [(True, "c1__vscode-1"), (False, "c1~2")])
def test_a_call_that_shares_its_id_with_another_turn_ends_as_its_own_turn_records(spelled: bool, name: str) -> None:
    conversation = counted_anew(spelled=spelled)

    conclude(conversation)
    conclude(conversation)

    parts = [part for message in conversation.messages for part in message.parts]
    calls = [part for part in parts if isinstance(part, ToolCall)]
    assert [(call.id, call.outcome.kind) for call in calls if call.outcome] == [("c1", "failed"), (name, "succeeded")]
    assert "c1" in calls[1].native_ids
    assert [is_made(part) for part in parts if isinstance(part, FileEdit)] == [True]
    assert [part.call_id for part in parts if not isinstance(part, ToolCall)] == ["c1", "c1", name, name, name]  # type: ignore[union-attr]
    assert [message.parent_call_id for message in conversation.messages] == [None, "c1", None, None, name, None]
    assert [turn.rounds[0].call_ids for turn in conversation.turns] == [["c1"], [name]]
    assert [turn.usage[0].parent_call_id for turn in conversation.turns] == ["c1", name]
