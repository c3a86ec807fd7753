"""Terminal output is recorded twice, and appears once: in the terminal, in HTML, in Markdown, over MCP, in search."""

from __future__ import annotations

import re

import pytest

from copilog.derive.terminal_output import beyond_output
from copilog.exports.markdown import markdown_page
from copilog.model import Conversation, Terminal, Text, ToolCall, ToolResult
from copilog.store.texts import texts_of
from copilog.writers.mcp import pieces_of
from tests.writers.html_builders import answered, asked, told
from tests.writers.html_builders import shown as html_of
from tests.writers.text_builders import shown as text_of

NOTE = "Note: The tool simplified the command."
COLOURED = "\x1b[32mlow water\x1b[0m\x1b[7Cat noon\r\nhigh water at six in the evening\r\n"
PLAIN = "low water       at noon\nhigh water at six\n in the evening\n"
WORDS = re.compile(r"high water at six")


def ran(output: str | None, result: str, *, is_error: bool = False) -> Conversation:
    call = ToolCall(id="c1", name="run_in_terminal", arguments='{"command":"tides"}', status="complete")
    return told(
        asked(Text(text="When?")),
        answered(call, Terminal(call_id="c1", command="tides", output=output)),
        answered(ToolResult(call_id="c1", text=result, is_error=is_error)),
    )


def times_on_each_surface(made: Conversation) -> dict[str, int]:
    rows = texts_of(made)
    surfaces = {
        "terminal": text_of(made),
        "terminal, all": text_of(made, full=True),
        "HTML": html_of(made),
        "Markdown": markdown_page(made),
        "MCP": "\n".join(piece.written(None) for piece in pieces_of(made)),
        "search": "\n".join(text for row in rows for text in row if text),
    }
    return {name: len(WORDS.findall(" ".join(re.sub("<[^>]*>", "", page).split()))) for name, page in surfaces.items()}


@pytest.mark.parametrize(
    ("output", "result"),
    [
        (COLOURED, PLAIN),
        (COLOURED, f"{NOTE}\n{PLAIN}"),
        (COLOURED + "and so on", PLAIN),  # the result was cut
        (COLOURED, "error: no tide\n" + PLAIN),
        (None, PLAIN),
    ],
)
def test_output_appears_once_on_every_surface(output: str | None, result: str) -> None:
    found = times_on_each_surface(ran(output, result))

    assert found == dict.fromkeys(found, 1)


def test_output_of_a_failed_call_appears_once() -> None:
    found = times_on_each_surface(ran(COLOURED, PLAIN, is_error=True))

    assert found == dict.fromkeys(found, 1)


def test_output_that_is_also_what_the_user_saw_appears_once() -> None:
    made = ran(COLOURED, PLAIN)
    made.messages[-1].parts = [ToolResult(call_id="c1", text=PLAIN, display=COLOURED)]
    found = times_on_each_surface(made)

    assert found == dict.fromkeys(found, 1)


def test_a_word_that_the_result_breaks_is_found() -> None:
    assert any(
        "evening" in (row.result or "") for row in texts_of(ran(COLOURED, PLAIN.replace("evening", "eve\nning")))
    )


def test_text_of_a_result_besides_the_output_is_shown() -> None:
    made = ran(COLOURED, f"{NOTE}\n{PLAIN}")

    assert NOTE in text_of(made, full=True)
    assert NOTE in html_of(made)
    assert NOTE in markdown_page(made)
    assert any(NOTE in piece.body for piece in pieces_of(made))


def test_a_result_that_is_not_the_output_stays_whole() -> None:
    result = ToolResult(call_id="c1", text="The command still runs.\n}\nLook at it later.")

    assert beyond_output(result, [Terminal(command="x", output="{\n}\n")]).text == result.text
    assert beyond_output(result, [Terminal(command="x")]) is result


def test_output_that_only_the_terminal_has_is_given_to_agents() -> None:
    bodies = [piece.body for piece in pieces_of(ran(COLOURED, "The command ended."))]

    assert any("high water" in body for body in bodies)
    assert "The command ended." in bodies
