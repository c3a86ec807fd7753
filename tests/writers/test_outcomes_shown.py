"""Every view shows how calls ended by the same conclusion, and no lines of an edit that was not made."""

from __future__ import annotations

import re

import pytest

from copilog.derive import conclude
from copilog.derive.line_counts import counted_edits, total_lines
from copilog.exports.markdown import markdown_page
from copilog.model import AnyPart, Conversation, FileChange, FileEdit, Terminal, Text, ToolCall, ToolResult, Verdict
from copilog.writers.mcp import pieces_of
from tests.writers.html_builders import answered, asked, told
from tests.writers.html_builders import shown as html_of
from tests.writers.text_builders import shown as text_of

ERROR = "ERROR while calling tool: File already exists.\nPlease check your input and try again."
DIFF = "--- /dev/null\n+++ b/b.py\n@@ -0,0 +1,2 @@\n+x\n+y\n"
LINES = re.compile(r"\+2 [−-]0")


def surfaces(*parts: AnyPart, result: str, call: ToolCall | None = None) -> dict[str, str]:
    """Return the pages that show a call with these parts and this result."""
    call = call or ToolCall(id="c1", name="create_file", status="complete", native="toolInvocationSerialized")
    made = told(asked(Text(text="Write it.")), answered(call, *parts), answered(ToolResult(call_id="c1", text=result)))
    conclude(made)
    pages = {
        "terminal": text_of(made),
        "HTML": html_of(made),
        "Markdown": markdown_page(made),
        "MCP": "\n".join(piece.written(None) for piece in pieces_of(made)),
    }
    return {name: " ".join(re.sub("<[^>]*>", "", page).split()) for name, page in pages.items()}


def edit() -> FileEdit:
    return FileEdit(path="/x/b.py", action="create", diff=DIFF, added=2, removed=0, call_id="c1")


def test_edit_that_was_made_shows_its_lines_on_every_surface() -> None:
    found = surfaces(edit(), result="The following files were successfully edited:\n/x/b.py")

    assert {name for name, page in found.items() if LINES.search(page)} == set(found)


def test_edit_of_a_failed_call_shows_no_lines_and_the_failure_on_every_surface() -> None:
    found = surfaces(edit(), result=ERROR)

    assert [name for name, page in found.items() if LINES.search(page)] == []
    assert [name for name, page in found.items() if "failed" not in page or "not made" not in page] == []
    assert "✗ create_file" in found["terminal"]
    assert "Error ERROR while" in found["HTML"]
    assert "**Error**" in found["Markdown"]
    assert "error of `create_file`" in found["MCP"]
    assert [name for name, page in found.items() if "File already exists." not in page] == []


def test_content_that_a_failed_call_was_to_write_is_not_drawn_as_added_lines() -> None:
    arguments = '{"filePath": "/x/b.py", "content": "alpha\\nbeta\\n"}'
    call = ToolCall(id="c1", name="create_file", status="complete", arguments=arguments)
    found = surfaces(result=ERROR, call=call)

    assert [name for name, page in found.items() if "+alpha" in page or "+beta" in page] == []
    assert "alpha" in found["terminal"]


def test_call_that_failed_by_another_trace_and_gave_back_nothing_says_so_on_every_page() -> None:
    call = ToolCall(id="c1", name="create_file", verdicts=[Verdict(source="vscode-transcript", kind="failed")])

    found = surfaces(result="", call=call)

    del found["MCP"]  # has no empty results
    assert [name for name, page in found.items() if "failed without a message" not in page.lower()] == []


def test_file_that_was_read_is_known_by_the_registered_name_of_its_tool() -> None:
    call = ToolCall(id="c1", name="Read", tool_id="copilot_readFile", status="complete")

    found = surfaces(result="x\ny\n", call=call)

    assert [name for name in ("terminal", "HTML") if "2 lines" not in found[name]] == []


def test_patch_in_the_arguments_of_a_failed_call_counts_no_lines() -> None:
    arguments = '{"filePath": "/x/b.py", "content": "x\\ny\\n"}'
    pages = {
        result: surfaces(
            result=result, call=ToolCall(id="c1", name="create_file", status="complete", arguments=arguments)
        )
        for result in ("The following files were successfully edited:\n/x/b.py", ERROR)
    }

    shown = [[bool(LINES.search(found[name])) for name in ("terminal", "HTML")] for found in pages.values()]
    assert shown == [[True, True], [False, False]]


def test_failed_read_shows_its_error_and_not_a_number_of_lines() -> None:
    call = ToolCall(id="c1", name="read_file", status="complete", native="toolInvocationSerialized")

    found = surfaces(result=ERROR, call=call)

    assert "File already exists." in found["terminal"]
    assert "2 lines" not in found["terminal"]


def test_what_was_recorded_to_the_contrary_is_shown_on_every_surface() -> None:
    call = ToolCall(
        id="c1", name="read_file", status="complete", verdicts=[Verdict(source="transcripts", kind="failed")]
    )

    found = surfaces(result="1. total", call=call)

    assert [name for name, page in found.items() if "recorded to the contrary: result: succeeded" not in page] == []


def test_command_that_ended_with_an_error_is_a_success_with_an_exit_code() -> None:
    call = ToolCall(id="c1", name="bash", status="complete")

    found = surfaces(Terminal(call_id="c1", command="make"), result="no rule\n<exited with exit code 2>", call=call)

    assert "✓ bash" in found["terminal"]
    assert [name for name, page in found.items() if "exit code 2" not in page] == []
    assert "1 command ended with an error" in found["terminal"]
    assert "call failed" not in found["terminal"]


@pytest.mark.parametrize(("added", "removed", "words"), [(3, None, "+3"), (None, None, "")])
def test_lines_that_are_not_known_are_left_out(added: int | None, removed: int | None, words: str) -> None:
    part = FileEdit(path="/x/b.py", action="edit", added=added, removed=removed, call_id="c1")

    found = surfaces(part, result="The following files were successfully edited:\n/x/b.py")

    assert [name for name, page in found.items() if words not in page] == []
    assert [name for name, page in found.items() if re.search(r"[−-]0\b", page.partition("b.py")[2][:40])] == []


def test_edit_that_the_history_knows_too_counts_once() -> None:
    made: Conversation = told(asked(Text(text="Write it.")), answered(edit(), FileEdit(path="/x/c.py", added=1)))
    made.file_changes = [FileChange(uri="file:///x/b.py", path="/x/b.py", turn=0, request_id="r", added=5, removed=1)]

    assert total_lines(counted_edits(made)) == (6, 1)


@pytest.mark.parametrize("code", [0, 2])
def test_exit_code_of_a_command_is_shown_once_beside_its_terminal(code: int) -> None:
    call = ToolCall(id="c1", name="run_in_terminal", status="complete")

    found = surfaces(Terminal(call_id="c1", command="make", output="done", exit_code=code), result="done", call=call)

    assert {name: page.count(f"exit code {code}") for name, page in found.items()} == dict.fromkeys(found, 1)


def test_exit_code_of_a_terminal_without_its_call_is_shown() -> None:
    found = surfaces(Terminal(call_id="c2", command="make", output="done", exit_code=2), result="done")

    assert {name: page.count("exit code 2") for name, page in found.items()} == dict.fromkeys(found, 1)
