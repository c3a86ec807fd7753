"""VS Code as the judge of exports: what it looks for, and, where it is installed, what it says."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from conformance import judge_report
from conformance.commands import main
from conformance.judge_cases import ODD, Case, all_cases, odd_cases, one_of_each_kind
from conformance.judge_equal import COMPUTED, NEWER, Difference, differences_of
from conformance.judge_expected import NOT_DRAWN, lines_of, missing_from
from conformance.judge_page import Screen
from conformance.judge_report import BEGIN, DOCUMENT, END, table_of
from conformance.judging import Verdict, judge
from conformance.programs import cache_folder
from conformance.vscode_setup import JUDGES
from copilog.model import Conversation, Message, Reference, Terminal, Text, ToolCall, Turn
from tests.round_trips import chat_of

NEWEST = list(JUDGES)[-1]
CACHE = cache_folder()  # of the user: tests have a home folder of their own


# --- what is looked for ---------------------------------------------------------------------------------------------


def a_screen(prompt: str, answer: str) -> Screen:
    screen = Screen()
    screen.add([("0", True, prompt), ("1", False, answer)])
    return screen


def a_conversation(*parts: Text | Reference | ToolCall | Terminal) -> Conversation:
    messages = [
        Message(role="user", parts=[Text(text="Light the *lamp*")], turn=0),
        Message(role="assistant", parts=list(parts), turn=0),
    ]
    return Conversation(id="cli:1", source="cli-events", turns=[Turn(index=0)], messages=messages)


def test_what_is_on_the_screen_is_not_missing() -> None:
    call = ToolCall(id="c", name="bash")
    line = Terminal(call_id="c", command="ls -l\nmore")
    conversation = a_conversation(Text(text="# It is **on**\n\n- in `lamp.py`"), call, line)

    assert not missing_from(a_screen("Light the lamp", "It is on\nin lamp.py\nls -l"), conversation)


def test_what_is_not_on_the_screen_is_named() -> None:
    call = ToolCall(id="c", name="view")
    conversation = a_conversation(Text(text="One.\n\nTwo."), call, ToolCall(id="d", name="view"))

    missing = missing_from(a_screen("Light it", f"One. view {NOT_DRAWN}"), conversation)

    assert missing.prompts == ["Light the lamp"]
    assert missing.answers == ["Two.", NOT_DRAWN]
    assert missing.calls == ["1 of 2 view"]
    assert missing.expected_calls == 2


def test_a_link_to_a_file_is_shown_as_vs_code_likes() -> None:
    conversation = a_conversation(Text(text="See "), Reference(text="`lamp.py:3`"), Text(text=" first."))

    assert not missing_from(a_screen("Light the lamp", "See lamp.py#3 first."), conversation)


def test_turns_that_do_not_count_need_not_be_shown() -> None:
    conversation = a_conversation(Text(text="It is on."))
    conversation.turns[0].superseded = "rewound"

    assert not missing_from(a_screen("", ""), conversation)


def test_lines_are_what_a_reader_sees() -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    text = f"{table}\n\n> quoted [link](file:///x) ![p](https://example.com/p)\n\n```py\nif a < b:\n```"

    assert lines_of(text) == ["a", "b", "1", "2", "quoted link", "if a < b:"]


# --- cases ----------------------------------------------------------------------------------------------------------


def test_there_are_twenty_odd_conversations_and_more() -> None:
    cases = odd_cases()

    assert len(cases) > 20
    assert len({case.conversation.id for case in cases}) == len(cases) == len(ODD) + 1
    assert "damaged" in cases[-1].conversation.marks


def test_all_of_the_sample_is_judged_and_one_of_each_kind_in_ci() -> None:
    kinds = [case.kind for case in all_cases()]
    firsts = [case.conversation.source for case in one_of_each_kind() if case.kind != "odd"]

    assert {"sample", "cli", "odd"} == set(kinds)
    assert len(firsts) == len(set(firsts)) > 3


# --- what VS Code exports -------------------------------------------------------------------------------------------


def placed(case: Case, folder: Path) -> tuple[Path, str]:
    """A session as it was placed, and the same as an export."""
    path = folder / "chatSessions" / "11111111-2222-4333-8444-555555555555.json"
    path.parent.mkdir()
    text = chat_of(case.conversation)
    path.write_text(json.dumps({"version": 3, "sessionId": path.stem, **json.loads(text)}), encoding="utf-8")
    return path, text


def changed(text: str, **fields: object) -> str:
    root = json.loads(text)
    root["requests"][0].update(fields)
    return json.dumps(root)


def test_the_same_has_no_differences(tmp_path: Path) -> None:
    for case in odd_cases()[:3]:
        (folder := tmp_path / case.name).mkdir()
        path, text = placed(case, folder)
        assert differences_of(path, text, NEWEST) == []


def test_a_changed_field_is_named_and_known_changes_are_explained(tmp_path: Path) -> None:
    path, text = placed(odd_cases()[0], tmp_path)

    (time, *_) = differences_of(path, changed(text, elapsedMs=7), NEWEST)
    assert time.reason == COMPUTED
    (other,) = differences_of(path, changed(text, requestId="other"), NEWEST)[:1]
    assert (other.reason, other.field) == (None, "turns.request_id")
    (mode, *_) = differences_of(path, changed(text, modeInfo={}), "1.110.0")
    assert mode.reason == NEWER
    (mode, *_) = differences_of(path, changed(text, modeInfo={}), NEWEST)
    assert mode.reason is None


# --- the table ------------------------------------------------------------------------------------------------------


def test_the_table_counts_by_kind_and_tells_what_is_wrong() -> None:
    good = Verdict(kind="odd", name="one", calls=3)
    bad = Verdict(kind="odd", name="a | b", chat=["not imported: it says no"])
    known = Difference(field="turns.duration", example="1 became 2", count=1, reason=COMPUTED)
    changed_by_it = Verdict(kind="sample", name="two", exported=[known])

    text = table_of({"1.0": [good, bad, changed_by_it]})

    assert "| 1.0 | generated odd ones | 2 | 1 | 3 | 2 | 2 |" in text
    assert "| 1.0 | the bundled sample | 1 | 1 | 0 | 1 | 1 |" in text
    assert f"| 1.0 | {COMPUTED} | `turns.duration` | 1 |" in text
    assert "| 1.0 | a \\| b | chat: not imported: it says no |" in text
    assert "Nothing else differs." in table_of({"1.0": [good]})


def test_saved_verdicts_are_explained_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = tmp_path / "vscode.md"
    document.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(judge_report, "DOCUMENT", document)
    verdict = Verdict(kind="odd", name="one", exported=[Difference(field="turns.duration", example="1 became 2")])
    saved = tmp_path / "saved.json"
    saved.write_bytes(msgspec.json.encode({NEWEST: [verdict]}))

    assert main(["judge", "--load", str(saved)]) == 0

    text = document.read_text(encoding="utf-8")
    assert COMPUTED in text
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")


def test_the_document_has_a_table_of_two_generations() -> None:
    table = DOCUMENT.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]

    assert all(f"| {version} | " in table for version in JUDGES)


# --- VS Code itself -------------------------------------------------------------------------------------------------


def test_vs_code_takes_one_conversation_of_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.environ.get("CI"):
        pytest.skip("CI calls `make judge`")
    if not (CACHE / "vscode" / f"code-server-{JUDGES[NEWEST]}").is_dir():
        pytest.skip(f"VS Code {NEWEST} is not in {CACHE}: `make judge` installs it")
    monkeypatch.setenv("COPILOG_CONFORMANCE_CACHE", str(CACHE))

    verdicts = list(judge(NEWEST, one_of_each_kind()))

    assert [verdict for verdict in verdicts if not verdict.is_good] == []
