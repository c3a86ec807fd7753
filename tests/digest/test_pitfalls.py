"""Pitfalls: what failed, with the next attempt of the same sort that succeeded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from copilog.derive import conclude
from copilog.digest import digest_of
from copilog.digest.content import Pitfall
from copilog.model import AnyPart, ToolCall, ToolResult
from tests.analysis.made_up_edits import conversation_with


def ran(call_id: str, command: str, code: int | None) -> list[AnyPart]:
    text = "" if code is None else f"SECRET OUTPUT\n<exited with exit code {code}>"
    return [
        ToolCall(id=call_id, name="bash", arguments=json.dumps({"command": command}), status="complete"),
        ToolResult(call_id=call_id, text=text),
    ]


def edit_of(call_id: str, path: str, *, fails: bool) -> list[AnyPart]:
    arguments = json.dumps({"path": path, "old_str": "a", "new_str": "b"})
    return [
        ToolCall(id=call_id, name="edit", arguments=arguments, status="complete"),
        ToolResult(call_id=call_id, text="no match" if fails else "done", is_error=fails),
    ]


def pitfalls(*turns: list[AnyPart], **more: Any) -> list[Pitfall]:
    conversation = conversation_with("tides", *turns, **more)
    conclude(conversation)
    return digest_of(conversation).pitfalls


def test_a_failure_is_told_with_the_success_that_came_later() -> None:
    [found] = pitfalls(ran("a", "pytest -q", 1), ran("b", "pytest -q tests/test_a.py", 0))

    assert (found.failed.text, found.failed.number, found.failed.exit_code) == ("pytest -q", 1, 1)
    assert (found.succeeded.text, found.succeeded.number) == ("pytest -q tests/test_a.py", 2)


def test_the_last_of_several_failures_counts_them() -> None:
    [found] = pitfalls([*ran("a", "make", 2), *ran("b", "make -j1", 2), *ran("c", "make", 0)])

    assert (found.failed.text, found.failures) == ("make -j1", 2)


def test_no_pitfall_without_a_later_success_of_the_same_sort() -> None:
    assert pitfalls(ran("a", "pytest", 1)) == []
    assert pitfalls(ran("a", "pytest", 0), ran("b", "pytest", 1)) == []
    assert pitfalls(ran("a", "pytest", 1), ran("b", "npm test", 0)) == []
    assert pitfalls(ran("a", "pytest", 1), ran("b", "pytest", None)) == []
    assert pitfalls(ran("a", "grep -q x y", 1), ran("b", "grep -q y", 0)) == []


def test_a_call_that_failed_needs_a_success_on_the_same_file() -> None:
    [found] = pitfalls([*edit_of("a", "/x/a.py", fails=True), *edit_of("b", "/x/a.py", fails=False)])

    assert (found.failed.text, found.failed.is_command) == ("edit a.py", False)
    assert pitfalls([*edit_of("a", "/x/a.py", fails=True), *edit_of("b", "/x/b.py", fails=False)]) == []


def test_superseded_turns_say_nothing() -> None:
    conversation = conversation_with("tides", ran("a", "pytest", 1), ran("b", "pytest", 0))
    conversation.turns[0].superseded = "removed"
    conclude(conversation)

    assert digest_of(conversation).pitfalls == []


@pytest.mark.parametrize(
    "command",
    ["pytest -q | tail -5", "pytest || true", "pytest; echo $?", "pytest &", "! pytest", "pytest\necho done",
     "for each in a b; do pytest $each; done"],
)  # fmt: skip
def test_an_exit_code_of_another_program_is_no_success(command: str) -> None:
    assert pitfalls(ran("a", "pytest", 1), ran("b", command, 0)) == []


@pytest.mark.parametrize(
    "command",
    ["cd x && pytest -q 2>&1", "pytest -k 'a | b; c'", "set -o pipefail; pytest | tail", "cd x; pytest",
     "export A=1\npytest \\\n  -q", 'pytest -k "a || b"'],
)  # fmt: skip
def test_an_exit_code_of_the_same_program_is_a_success(command: str) -> None:
    [found] = pitfalls(ran("a", "pytest", 1), ran("b", command, 0))

    assert found.succeeded.text == command


def test_sub_commands_of_an_interpreter_are_of_a_sort() -> None:
    assert len(pitfalls(ran("a", "bun test", 1), ran("b", "bun test a.ts", 0))) == 1
