"""How calls ended, read from files of several formats: each surface counts the same failures and command errors."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from copilog.exports.markdown import markdown_page
from copilog.ingest import discover, read
from copilog.model import Conversation, ToolCall, parts_of
from copilog.writers.mcp import pieces_of
from tests.cli.homes import Home, request, run, session
from tests.sources import replay_builders as replay
from tests.sources.cli_builders import Log, write_log
from tests.sources.extension_builders import write_lines
from tests.writers.html_builders import shown as html_of
from tests.writers.text_builders import shown as text_of

Json = dict[str, Any]

ERROR = "ERROR while calling tool: cannot open /x\nPlease check your input and try again."
EXISTS = "File already exists. You must use an edit tool to modify it."
SWITCHED_OFF = "Tool read_file is currently disabled by the user, and cannot be called."
SKIPPED = "The user chose to skip the tool call, they want to proceed without running it"
CANCELLED = "The user cancelled the tool call."
DENIED_BY_USER, NOT_NEEDED, CONFIRMED, SKIPPED_BY_USER = 0, 1, 4, 5

EXPECTED: dict[str, dict[str, tuple[str, int | None]]] = {
    "vscode:11111111-aaaa": {
        "v1": ("failed", None), "v2": ("failed", None), "v3": ("failed", None), "v4": ("succeeded", None),
        "v5": ("skipped", None), "v6": ("cancelled", None), "v7": ("denied", None), "v8": ("succeeded", 2),
        "v9": ("succeeded", 0),
    },
    "vscode:22222222-aaaa": {"t1": ("succeeded", None), "t2": ("failed", None), "t3": ("unknown", None)},
    "cli:": {
        "k1": ("succeeded", 2), "k2": ("succeeded", 0), "k3": ("failed", None), "k4": ("denied", None),
        "k5": ("succeeded", None), "k6": ("cancelled", None),
    },
    "replay:": {
        "p1": ("failed", None), "p2": ("succeeded", None), "p3": ("succeeded", 3), "p4": ("failed", None),
        "p5": ("cancelled", None),
    },
}  # fmt: skip


def expected_of(conversation_id: str) -> dict[str, tuple[str, int | None]]:
    return next(ends for name, ends in EXPECTED.items() if conversation_id.startswith(name))


def counts_of(conversation_id: str) -> tuple[int, int]:
    ends = expected_of(conversation_id).values()
    return sum(kind == "failed" for kind, _ in ends), sum(bool(code) for _, code in ends)


# --- files ----------------------------------------------------------------------------------------------------------


def vscode_session() -> Json:
    steps: list[tuple[str, int, str | None, Json | None]] = [
        ("read_file", NOT_NEEDED, ERROR, None),
        ("create_file", NOT_NEEDED, EXISTS, None),
        ("read_file", NOT_NEEDED, SWITCHED_OFF, None),
        ("read_file", NOT_NEEDED, "the content of a file", None),
        ("read_file", SKIPPED_BY_USER, SKIPPED, None),
        ("read_file", NOT_NEEDED, CANCELLED, None),
        ("run_in_terminal", DENIED_BY_USER, None, {"commandLine": {"original": "rm x"}}),
        ("run_in_terminal", CONFIRMED, "bad", {"terminalCommandState": {"exitCode": 2}}),
        ("run_in_terminal", CONFIRMED, "fine", {"terminalCommandState": {"exitCode": 0}}),
    ]
    response: list[Json] = []
    for number, (name, confirmed, _, terminal) in enumerate(steps, start=1):
        call: Json = {"kind": "toolInvocationSerialized", "toolCallId": f"v{number}", "toolId": name}
        call |= {"isComplete": True, "isConfirmed": {"type": confirmed}}
        if terminal is not None:
            given = {"kind": "terminal", "commandLine": {"original": "make"}, "language": "sh"}
            call["toolSpecificData"] = {**given, **terminal}
        response.append(call)
    told = {f"v{number}": text for number, (_, _, text, _) in enumerate(steps, start=1) if text is not None}
    metadata = {
        "toolCallRounds": [
            {
                "id": "r1",
                "response": "",
                "toolCalls": [{"id": name, "name": steps[int(name[1:]) - 1][0], "arguments": "{}"} for name in told],
            }
        ],
        "toolCallResults": {
            name: {"$mid": 20, "content": [{"$mid": 21, "value": text}]} for name, text in told.items()
        },
    }
    asked = request(1, "Do all of it", response=response, result={"metadata": metadata})
    return session("11111111-aaaa") | {"requests": [asked]}


def transcript() -> list[Json]:
    asked = [
        {"toolCallId": name, "name": "read_file", "arguments": "{}", "type": "function"} for name in ("t1", "t2", "t3")
    ]
    log = Log().start(sessionId="22222222-aaaa").ask("Look at the harbour, please")
    log.add("assistant.turn_start", {"turnId": "0"}).say("", toolRequests=asked)
    for name, success in (("t1", True), ("t2", False)):
        log.begin(name, "read_file").add("tool.execution_complete", {"toolCallId": name, "success": success})
    return log.add("assistant.turn_end", {"turnId": "0"}).events


def cli_log() -> Log:
    log = Log().start().ask("Do it in the shell, then")
    log.run("k1", "bash", {"command": "make"}, content="bad\n<exited with exit code 2>")
    log.run("k2", "bash", {"command": "ls"}, content="a\n<exited with exit code 0>")
    log.run(
        "k3", "view", {"path": "/x"}, success=False, result=None, error={"message": "no such file", "code": "failure"}
    )
    log.run("k4", "bash", {"command": "rm x"}, success=False, result=None, error={"message": "no", "code": "denied"})
    log.run("k5", "view", {"path": "/y"}, content=ERROR)  # a file that holds this text: Copilot CLI has flags
    log.call("k6", "view", {"path": "/z"}).begin("k6", "view", {"path": "/z"}).add(
        "abort", {"reason": "user initiated"}
    )
    return log.ask("and then?").say("ok").shut_down()


def replay_export() -> Json:
    results = {"p1": ERROR, "p2": "content", "p3": "x\n\nCommand exited with code 3", "p5": CANCELLED}
    names = {name: "run_in_terminal" if name == "p3" else "read_file" for name in ("p1", "p2", "p3", "p4", "p5")}
    calls = [replay.tool_call(f"{name}__vscode-1", names[name], text) for name, text in results.items()]
    calls.append(replay.tool_call("p4__vscode-1", "read_file", error="boom"))
    seen = [replay.tool_message(name, text) for name, text in results.items()]
    again = [replay.user("dig"), replay.assistant("I look.", *names.items()), *seen]
    return replay.export(
        replay.prompt("dig", replay.request([replay.user("dig")], "I look."), *calls, replay.request(again, "Dug."))
    )


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("ends")
    home = Home(folder / "home")
    workspace = home.workspace(1, "/home/ana/shop")
    home.add(workspace, vscode_session())
    write_lines(workspace / "GitHub.copilot-chat" / "transcripts" / "22222222-aaaa.jsonl", transcript())
    write_log(home.root, cli_log())
    file = folder / "dig.chatreplay.json"
    file.write_text(json.dumps(replay_export()), encoding="utf-8")
    return [home.root, file]


@pytest.fixture(scope="module")
def conversations(roots: list[Path]) -> list[Conversation]:
    home, file = roots
    return [*(one for found in discover([home]) for one in read(found)), *read(file)]


def named(roots: list[Path]) -> list[object]:
    return [word for root in roots for word in ("--root", root)]


# --- surfaces -------------------------------------------------------------------------------------------------------


def test_each_call_has_the_outcome_recorded_in_its_file(conversations: list[Conversation]) -> None:
    assert len(conversations) == len(EXPECTED)
    for one in conversations:
        calls = [part for part in parts_of(one) if isinstance(part, ToolCall)]
        found = {call.id: (call.outcome and call.outcome.kind, call.concluded_exit_code) for call in calls}
        assert found == expected_of(one.id)
        # A log that calls a call complete because it has a result says nothing to the contrary.
        assert [call.outcome.against for call in calls if call.outcome and call.outcome.kind == "failed"] == [
            [] for kind, _ in expected_of(one.id).values() if kind == "failed"
        ]


@pytest.mark.parametrize("options", [("--long", "--live"), ("--all",)], ids=["disk", "archive"])
def test_lists_count_call_outcomes(roots: list[Path], options: tuple[str, ...]) -> None:
    rows = run("list", "--json", *options, *named(roots)).json

    assert len(rows) == len(EXPECTED)
    for row in rows:
        assert (row["failed_calls"], row["command_errors"]) == counts_of(row["id"])


def test_figures_count_call_outcomes(roots: list[Path]) -> None:
    figures = run("stats", "tools", "--json", *named(roots)).json
    ends = [end for each in EXPECTED.values() for end in each.values()]
    kinds = Counter(kind for kind, _ in ends)

    assert (figures["calls"], figures["failed"], figures["denied"]) == (len(ends), kinds["failed"], kinds["denied"])
    assert figures["command_errors"] == sum(bool(code) for _, code in ends)
    for field in ("calls", "failed", "command_errors", "denied"):
        assert sum(row[field] for row in figures["tools"]) == figures[field]


@pytest.mark.parametrize(("query", "place"), [("has:error", 0), ("has:command-error", 1)])
def test_searches_find_call_outcomes(
    roots: list[Path], conversations: list[Conversation], query: str, place: int
) -> None:
    found = run("search", query, "--json", *named(roots)).json["groups"]

    assert {group["conversation"] for group in found} == {one.id for one in conversations if counts_of(one.id)[place]}


PAGES: dict[str, Callable[[Conversation], str]] = {
    "terminal": text_of,
    "viewer": lambda conversation: html_of(conversation, is_served=True),
    "exported page": html_of,
    "Markdown": markdown_page,
    "MCP": lambda conversation: repr(pieces_of(conversation)),
}


@pytest.mark.parametrize("page", PAGES)
def test_pages_show_call_outcomes(conversations: list[Conversation], page: str) -> None:
    for one in conversations:
        text = PAGES[page](one)
        for kind, code in expected_of(one.id).values():
            assert kind in text or kind in ("succeeded", "unknown"), (one.id, kind)
            assert f"exit code {code}" in text or not code, (one.id, code)


def test_the_header_counts_call_outcomes(conversations: list[Conversation]) -> None:
    for one in conversations:
        text = text_of(one)
        found = _number(r"(\d+) calls? failed", text), _number(r"(\d+) commands? ended with an error", text)
        assert found == counts_of(one.id)


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return int(found[1]) if found else 0
