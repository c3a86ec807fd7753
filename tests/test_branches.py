"""Superseded turns and branches on every surface that is text: show, list, export, extract, MCP."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from markdown_it import MarkdownIt

from copilog.derive import without_superseded
from copilog.exports.html import html_page
from copilog.exports.markdown import markdown_page
from copilog.mcp import questions, records
from copilog.mcp.window import Reader
from copilog.model import Conversation, Turn
from copilog.store.archive import Archive
from copilog.store.selection import Selection
from copilog.summaries import of_conversation
from copilog.trajectory import trajectories_of, trajectory_of
from tests.branched import ANSWERS, COPY, PROMPTS, THIRD, TRUNK, branched_conversation
from tests.cli.homes import Home, move_in, run
from tests.stored import concluded_entry
from tests.writers.text_builders import conversation, shown

GHOST = re.compile("ghost", re.IGNORECASE)
ID = "vscode:1c"


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Archive]:
    path = move_in(monkeypatch, tmp_path, Home(tmp_path / "home"))
    path.parent.mkdir(parents=True, exist_ok=True)
    with Archive(path, write=True) as opened:
        opened.put(concluded_entry(branched_conversation()), "made up")
        opened.index_pending()
        yield opened


def turn_lines(text: str) -> list[str]:
    return re.findall(r"^\s*(Turn \d|Branch from turn \d|End of the branch from turn \d)", text, re.MULTILINE)


# --- show -----------------------------------------------------------------------------------------------------------


def test_show_leaves_superseded_turns_out_and_says_how_many_there_are() -> None:
    text = shown(branched_conversation())

    assert not GHOST.search(text)
    assert "2 turns no longer count (removed, undone); --superseded shows them" in text
    assert "5 turns · 10 tool calls · 5 files edited" in text
    assert re.search(r"^ *Turn 3 · ", text, re.MULTILINE)
    assert "of 7" not in text


def test_show_superseded_shows_them_in_their_place_with_the_reason() -> None:
    text = shown(branched_conversation(), superseded=True)

    assert all(prompt in text for prompt in PROMPTS)
    assert re.search(r"Turn 2 · 2026-05-04 12:01:00 · removed, no longer counts", text)
    assert text.index(PROMPTS[0]) < text.index(PROMPTS[1]) < text.index(PROMPTS[2])
    assert "--superseded" not in text


def test_the_reason_why_a_turn_no_longer_counts_is_shown_once() -> None:
    undone = conversation(is_undone=True, superseded="undone")
    hidden = conversation(is_hidden=True, superseded="hidden")

    assert shown(undone, superseded=True).count("undone") == 2  # in the head, and at the turn
    assert shown(hidden, superseded=True).count("hidden in VS Code") == 2
    assert "undone" in shown(conversation(is_undone=True))


def test_show_draws_a_branch_where_it_leaves() -> None:
    text = shown(branched_conversation())

    assert [line.strip() for line in turn_lines(text)] == [
        "Turn 1",
        "Turn 3",
        "Branch from turn 3",
        "Turn 5",
        "Branch from turn 5",
        "Turn 7",
        "End of the branch from turn 5",
        "End of the branch from turn 3",
        "Turn 4",
    ]
    assert re.search(rf"^  Branch from turn 3 · 1 turn · {COPY}$", text, re.MULTILINE)
    assert re.search(rf"^    Branch from turn 5 · 1 turn · {THIRD}$", text, re.MULTILINE)
    assert re.search(rf"^      {re.escape(PROMPTS[6])}$", text, re.MULTILINE)


def test_show_says_which_trace_alone_has_a_turn() -> None:
    text = shown(branched_conversation())

    assert text.count(f"only in {TRUNK}") == 1
    assert "only in" not in text.replace(f"only in {TRUNK}", "")  # a branch says so itself


def test_show_says_what_a_trace_said_and_another_overruled() -> None:
    text = shown(branched_conversation())

    assert "overruled: title: Tides elsewhere" in text
    assert "overruled: status of turn 3: cancelled" in text


def test_a_turn_that_is_named_and_superseded_is_explained() -> None:
    made = branched_conversation()

    assert "1 turn no longer counts (removed); --superseded shows it" in shown(made, turns=(2, 2))
    assert PROMPTS[1] in shown(made, turns=(2, 2), superseded=True)
    assert turn_lines(shown(made, turns=(5, 5)))[1:2] == ["Turn 5"]


def test_the_command_shows_them_by_name_and_json_has_everything(archive: Archive) -> None:
    plain, named = run("show", ID), run("show", ID, "--superseded")

    assert plain.code == named.code == 0
    assert not GHOST.search(plain.out)
    assert PROMPTS[1] in named.out
    assert msgspec.json.decode(run("show", ID, "--json").out, type=Conversation) == archive.get(ID)


# --- lists ----------------------------------------------------------------------------------------------------------


def test_a_list_counts_the_turns_that_count(archive: Archive) -> None:
    [row] = json.loads(run("list", "--json").out)
    summary = of_conversation(branched_conversation())

    assert (row["turns"], row["tool_calls"], row["edits"]) == (5, 10, 5)
    assert (summary.turns, summary.tool_calls, summary.edits) == (5, 10, 5)
    assert not GHOST.search(str(row))
    assert not GHOST.search(str(msgspec.to_builtins(summary)))


def test_rm_removes_superseded_turns_with_the_rest(archive: Archive) -> None:
    assert run("rm", ID, "--yes").code == 0

    assert run("search", "is:superseded").out == ""
    for table in ("turn", "message", "tool_call", "spend", "document"):
        assert archive.connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


# --- exports --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", [markdown_page, lambda made: html_page(made, made_by="copilog")])
def test_exports_leave_superseded_turns_out(write: object) -> None:
    page = write(branched_conversation())  # type: ignore[operator]

    assert not GHOST.search(page)
    assert all(ANSWERS[index] in page for index in (0, 2, 3, 4, 6))
    assert "2 turns no longer count (removed, undone)" in page


def test_markdown_draws_a_branch_as_a_quotation_where_it_leaves() -> None:
    page = markdown_page(branched_conversation())

    headings = re.findall(r"^([> ]*)## ((?:Turn|Branch).*)$", page, re.MULTILINE)
    assert [(mark.strip(), words) for mark, words in headings] == [
        ("", "Turn 1"),
        ("", "Turn 3"),
        (">", "Branch from turn 3"),
        (">", "Turn 5"),
        ("> >", "Branch from turn 5"),
        ("> >", "Turn 7"),
        ("", "Turn 4"),
    ]
    assert f"> *1 turn, in* `{COPY}`" in page
    assert page.count("only in ") == 1
    html = MarkdownIt().render(page)
    assert re.search(r"<blockquote>\s*<h2>Branch from turn 3", html)
    assert re.search(
        r"<blockquote>\s*<h2>Branch from turn 5.*?</blockquote>\s*</blockquote>\s*<h2>Turn 4", html, re.DOTALL
    )


def test_markdown_says_what_was_overruled() -> None:
    assert "  - overruled: title: Tides elsewhere" in markdown_page(branched_conversation())


# --- trajectories ---------------------------------------------------------------------------------------------------


def test_there_is_a_trajectory_for_each_end() -> None:
    lines = [line for line in trajectories_of(branched_conversation()) if not line.metadata.subagent]

    asked = {
        line.conversation_id: [message.content for message in line.messages if message.role == "user"] for line in lines
    }
    assert asked == {
        "1c": [PROMPTS[index] for index in (0, 2, 3)],
        "1c~request_00000000000000000004": [PROMPTS[index] for index in (0, 2, 4)],
        "1c~request_00000000000000000006": [PROMPTS[index] for index in (0, 2, 4, 6)],
    }
    assert not GHOST.search(msgspec.json.encode(lines).decode())


def test_a_sub_agent_of_shared_turns_has_one_trajectory() -> None:
    names = [line.conversation_id for line in trajectories_of(branched_conversation()) if line.metadata.subagent]

    assert [name.partition("#")[2] for name in names] == ["scout-0", "scout-2", "scout-3", "scout-4", "scout-6"]


def test_the_trajectory_of_a_conversation_is_its_trunk() -> None:
    assert trajectory_of(branched_conversation()).conversation_id == "1c"
    assert len(trajectory_of(branched_conversation()).messages) == 9


# --- MCP ------------------------------------------------------------------------------------------------------------


def test_agents_read_no_superseded_turns(archive: Archive) -> None:
    answer = questions.read_window(archive, ID, questions.Start(thinking=True, tool_results="full"), 20_000)

    assert not GHOST.search(answer.text)
    assert (answer.turns, answer.superseded) == (5, 2)
    assert "· 5 turns (2 more no longer count)\n" in questions.window_text(answer)
    assert "## Turn 3 · " in answer.text
    assert "of 7" not in answer.text
    assert all(ANSWERS[index] in answer.text for index in (0, 2, 3, 4, 6))
    assert answer.remarks == [
        "2 of its turns no longer count and are left out (removed, undone).",
        "Copies of it continued separately: the turns of each branch come after the turn that it leaves from.",
    ]


def test_agents_find_superseded_turns_only_by_name(archive: Archive) -> None:
    assert questions.search(archive, "harbour", Selection(), 10, 0, 3).hits == []
    [hit] = questions.search(archive, "is:superseded harbour", Selection(), 10, 0, 3).hits

    assert (hit.number, hit.superseded) == (2, "removed")


def test_agents_get_the_branch_of_a_turn() -> None:
    reader = Reader(branched_conversation())
    headings = re.findall(r"^## .*$", reader.window(reader.at_turn(1), 20_000).text, re.MULTILINE)

    assert [heading.split(" · ")[-1] for heading in headings] == [
        "agent mode",
        "agent mode",
        f"branch from turn 3, in {COPY}",
        f"branch from turn 5, in {THIRD}",
        f"only in {TRUNK}",
    ]


def test_positions_of_messages_are_those_that_search_gives(archive: Archive) -> None:
    [hit] = archive.search("instead").hits
    answer = questions.read_window(archive, ID, questions.Start(around=hit.position), 500)

    assert PROMPTS[4] in answer.text


def test_agents_get_the_usage_of_superseded_turns_but_not_their_files(archive: Archive) -> None:
    usage = questions.get_usage(archive, None, Selection())
    [work] = records.conversations_of_file(archive, Selection(), "tide2.py", 10, 0).conversations

    assert [(model.model, model.input) for model in usage.models] == [
        ("ghost-tern-5", 1_800_000),
        ("tern-5", 4011),
        ("gull-2", 1004),
    ]
    assert work.numbers == [3]
    assert records.conversations_of_file(archive, Selection(), "ghost-tide1.py", 10, 0).conversations == []


# --- conversations without any of this ------------------------------------------------------------------------------


def test_a_conversation_of_one_trace_says_nothing_of_it() -> None:
    made = without_superseded(branched_conversation())
    for turn in made.turns:
        turn.branch, turn.traces = None, []
    text = shown(made)

    assert not re.search("branch|only in|no longer", text, re.IGNORECASE)
    assert isinstance(made.turns[0], Turn)
