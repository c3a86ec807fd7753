"""What is left of conversations that are lost: texts without a state, prompts without a session."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.homes import Home, entry, move_in, run, session

ONE = "11111111-aaaa"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture(autouse=True)
def archive(home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_in(monkeypatch, tmp_path, home)


def add_content(workspace: Path, session_id: str, text: str) -> str:
    folder = workspace / "chatEditingSessions" / session_id / "contents"
    folder.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha1(text.encode()).hexdigest()[:7]
    (folder / name).write_text(text)
    return name


def test_a_text_without_a_state_is_shown_searched_and_exported(home: Home) -> None:
    tides = home.workspace(1, "/home/ana/tide-tables")
    name = add_content(tides, "22222222-bbbb", "def ebb():\n    return 'kelpforest'\n")

    [row] = run("list", "--json").json
    assert (row["id"], row["marks"]) == ("vscode:22222222-bbbb", ["orphan-edits"])
    shown = run("show", "22222222").out
    assert f"contents/{name}" in shown
    assert "kelpforest" in shown
    assert "22222222" in run("search", "kelpforest").out
    for style in ("html", "markdown"):
        assert "kelpforest" in run("export", "22222222", "--format", style, "-o", "-").out


def test_a_text_that_the_state_does_not_name_goes_with_its_conversation(home: Home) -> None:
    tides = home.workspace(1, "/home/ana/tide-tables")
    home.add(tides, session(ONE, "Parse the tide file"))
    add_content(tides, ONE, "kelp\n")
    (tides / "chatEditingSessions" / ONE / "state.json").write_text('{"version": 2, "initialFileContents": []}')

    [row] = run("list", "--json").json
    assert (row["id"], row["turns"], row["marks"]) == (f"vscode:{ONE}", 1, [])
    assert "kelp" in run("show", ONE).out


def test_things_to_do_that_vscode_keeps_go_with_their_session(home: Home) -> None:
    tides = home.workspace(1, "/home/ana/tide-tables")
    home.add(tides, session(ONE, "Parse the tide file"))
    todos = {ONE: [{"id": 1, "title": "Write the kelpforest migration", "status": "not-started"}]}
    with closing(sqlite3.connect(tides / "state.vscdb", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        connection.execute("INSERT INTO ItemTable VALUES (?, ?)", ("memento/chat-todo-list", json.dumps(todos)))

    [row] = run("list", "--json").json
    assert (row["id"], row["turns"], row["marks"]) == (f"vscode:{ONE}", 1, [])
    assert "Write the kelpforest migration" in run("show", ONE).out
    assert "kelpforest" in run("search", "kelpforest").out


# --- prompts without a session ----------------------------------------------------------------------------------

HISTORY = "memento/interactive-session"
LOST = "Explain the harmonic constants of Cuxhaven"
TIDES = "Parse the tide file and print the table"


def type_in(workspace: Path, *texts: str) -> Path:
    """Write the input history of a workspace."""
    path = workspace / "state.vscdb"
    value = json.dumps({"history": {"copilot": [{"text": text} for text in texts]}})
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        connection.execute("INSERT INTO ItemTable VALUES (?, ?)", (HISTORY, value))
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1_000_000 * len(texts)))
    return path


def prompts_of(row: dict[str, Any]) -> list[str]:
    """Return the prompts of a conversation of the archive."""
    shown = run("show", row["id"], "--json").json
    return [message["parts"][0]["text"] for message in shown["messages"]]


def histories(*arguments: object) -> list[dict[str, Any]]:
    rows = run("list", "--json", *arguments).json
    return [row for row in rows if "prompts-only" in row["marks"]]


@pytest.fixture
def tides(home: Home) -> Path:
    return home.workspace(1, "/home/ana/tide-tables")


@pytest.mark.parametrize("live", [(), ("--live", "--long")], ids=["archive", "live"])
def test_prompts_that_no_conversation_has_are_a_conversation_marked_so(
    home: Home, tides: Path, live: tuple[str, ...]
) -> None:
    home.add(tides, session(ONE, TIDES, "continue"))
    type_in(tides, TIDES, LOST, "continue")

    [row] = histories(*live)
    assert (row["title"], row["turns"], row["workspace"]) == (LOST, 1, "/home/ana/tide-tables")
    assert (row["source"], row["updated_at"]) == ("vscode-prompts", None)
    shown = run("show", row["id"], "--json", *live[:1]).json
    assert [message["role"] for message in shown["messages"]] == ["user"]
    assert shown["turns"][0].get("status") is None
    assert shown["relations"] == [
        {"kind": "prompts-of", "other_id": f"vscode:{ONE}", "reason": "2 prompts of this history are in it"}
    ]
    assert shown["provenance"][0]["row"] == HISTORY
    assert "prompts-only" in run("list", *live).out
    assert "prompts-only: typed prompts that are in no other conversation" in run("show", row["id"], *live[:1]).out
    [other] = [other for other in run("list", "--json", *live).json if other["id"] != row["id"]]
    assert other["turns"] == 2  # no turn was invented there
    if not live:
        relations = run("show", ONE, "--json").json["relations"]
        assert [(relation["kind"], relation["other_id"]) for relation in relations] == [("prompts-in", row["id"])]
        assert f"has prompts in {row['id']}" in run("show", ONE).out
        assert f"has prompts of vscode:{ONE}" in run("show", row["id"]).out


def test_a_history_whose_prompts_are_all_known_is_empty(home: Home, tides: Path) -> None:
    home.add(tides, session(ONE, TIDES))
    type_in(tides, TIDES)

    assert histories() == []
    [row] = histories("--all")
    assert (row["is_empty"], row["turns"]) == (True, 0)
    assert histories("--live", "--long") == []


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1)])
def test_a_copied_history_is_no_conversation_of_its_own(home: Home, order: tuple[int, ...]) -> None:
    typed = [LOST, TIDES, "continue", "Draw the harbour of Cuxhaven, please"]
    copies = {1: typed, 2: typed[:3], 3: [*typed[1:], "And another one that is lost, too"]}
    for number in order:
        type_in(home.workspace(number, "/home/ana/tide-tables"), *copies[number])
        rows = histories()
    type_in(home.workspace(order[0], "/home/ana/tide-tables"), *copies[order[0]])  # written again

    rows = histories()
    found = [prompt for row in rows for prompt in prompts_of(row)]
    assert sorted(found) == sorted({*typed, *copies[3]})
    assert len(histories("--all")) == 3
    home.add(home.workspace(1, "/home/ana/tide-tables"), session(ONE, *typed))
    assert [prompt for row in histories() for prompt in prompts_of(row)] == ["And another one that is lost, too"]


def test_histories_of_other_folders_keep_the_prompts_that_both_have(home: Home, tides: Path) -> None:
    garden = home.workspace(2, "/home/ana/garden")
    for folder in (tides, garden):
        type_in(folder, LOST, "continue")

    assert [prompts_of(row) for row in histories()] == [[LOST, "continue"]] * 2


@pytest.mark.parametrize("live", [(), ("--live", "--long")], ids=["archive", "live"])
def test_a_long_prompt_is_lost_though_another_begins_like_it(home: Home, tides: Path, live: tuple[str, ...]) -> None:
    pasted = "a line of the pasted log\n" * 2000
    home.add(tides, session(ONE, f"{pasted} Why does it fail?"))
    type_in(tides, f"{pasted} Why does it fail?", f"{pasted} And why at high water?")

    [row] = histories(*live)
    shown = run("show", row["id"], "--json", *live[:1]).json
    assert [message["parts"][0]["text"][-20:] for message in shown["messages"]] == ["d why at high water?"]


@pytest.mark.parametrize("live", [(), ("--live", "--long")], ids=["archive", "live"])
def test_a_prompt_that_waits_in_a_session_is_linked_to_it(home: Home, tides: Path, live: tuple[str, ...]) -> None:
    waiting = session(ONE, TIDES)
    queued = "And then draw the harbour of Cuxhaven"
    waiting["pendingRequests"] = [{"id": "p1", "kind": "queued", "request": {"message": {"text": queued}}}]
    home.add(tides, waiting)
    type_in(tides, queued, LOST)

    [row] = histories(*live)
    shown = run("show", row["id"], "--json", *live[:1]).json
    assert [message["parts"][0]["text"] for message in shown["messages"]] == [LOST]
    assert [relation["other_id"] for relation in shown["relations"]] == [f"vscode:{ONE}"]


def test_a_prompt_that_is_queued_later_is_taken_out_of_the_history(home: Home, tides: Path) -> None:
    type_in(tides, "Draw the harbour of Cuxhaven, please", LOST)
    assert histories()[0]["turns"] == 2
    waiting = session(ONE, TIDES)
    request = {"message": {"text": "Draw the harbour of Cuxhaven, please"}}
    home.add(tides, {**waiting, "pendingRequests": [{"id": "p1", "kind": "queued", "request": request}]})

    assert prompts_of(histories()[0]) == [LOST]


def test_the_order_in_which_things_are_found_makes_no_difference(home: Home, tides: Path) -> None:
    type_in(tides, TIDES, LOST)
    [row] = histories()
    assert prompts_of(row) == [TIDES, LOST]

    home.add(tides, session(ONE, TIDES))
    [row] = histories()
    assert prompts_of(row) == [LOST]

    home.add(tides, session("22222222-bbbb", LOST))
    assert histories() == []
    type_in(tides, TIDES, LOST, "And another one that is lost, too")
    [row] = histories()
    assert prompts_of(row) == ["And another one that is lost, too"]


def test_a_prompt_is_listed_again_when_its_conversation_loses_it(home: Home, tides: Path) -> None:
    path = home.add(tides, session(ONE, TIDES, LOST))
    type_in(tides, TIDES, LOST)
    assert histories() == []

    path.write_text(json.dumps(session(ONE, TIDES, "The same request with another prompt")))
    run("scan")
    [row] = histories()
    assert prompts_of(row) == [LOST]


def test_prompts_that_a_full_history_dropped_stay(home: Home, tides: Path) -> None:
    type_in(tides, TIDES, LOST)
    [row] = histories()
    assert prompts_of(row) == [TIDES, LOST]

    type_in(tides, LOST, "And another one that is lost, too")
    [row] = histories()
    assert prompts_of(row) == [TIDES, LOST, "And another one that is lost, too"]


def test_a_prompt_that_its_file_lost_stays_with_its_conversation(home: Home, tides: Path) -> None:
    path = home.add(tides, session(ONE, TIDES, LOST))
    type_in(tides, TIDES, LOST)
    assert histories() == []

    path.write_text(json.dumps(session(ONE, TIDES)))
    run("scan")
    assert histories() == []
    assert LOST in run("show", ONE, "--superseded").out


def test_a_prompt_of_a_conversation_whose_file_is_gone_stays_known(home: Home, tides: Path) -> None:
    path = home.add(tides, session(ONE, TIDES, LOST))
    type_in(tides, TIDES, LOST)
    assert histories() == []

    path.unlink()
    run("scan")
    assert histories() == []  # the archive still has the conversation
    [row] = histories("--live", "--long")
    assert row["turns"] == 2  # the disk has not


def test_prompts_of_a_removed_conversation_do_not_come_back(home: Home, tides: Path, archive: Path) -> None:
    home.add(tides, session(ONE, TIDES))
    type_in(tides, TIDES)
    run("scan")
    run("rm", ONE, "--yes")
    assert TIDES.encode() not in archive.read_bytes()

    type_in(tides, TIDES, LOST)
    [row] = histories()
    assert prompts_of(row) == [LOST]
    assert TIDES.encode() not in archive.read_bytes()


def test_common_prompts_match_only_within_their_workspace(home: Home, tides: Path) -> None:
    garden = home.workspace(2, "/home/ana/garden-planner")
    home.add(garden, session(ONE, "continue", TIDES))
    type_in(tides, "continue", TIDES)

    [row] = histories()
    assert prompts_of(row) == ["continue"]


def test_without_a_workspace_the_storage_folder_counts(home: Home) -> None:
    here, elsewhere = home.workspace(1), home.workspace(2)  # their workspace.json is lost
    home.add(here, session(ONE, "continue"))
    type_in(here, "continue")
    type_in(elsewhere, "continue")

    [row] = histories()
    assert row["paths"] == [str(elsewhere / "state.vscdb")]


def test_the_history_of_copilot_cli_has_the_newest_first(home: Home) -> None:
    copilot = home.root / ".copilot"
    events = copilot / "session-state" / "33333333-cccc" / "events.jsonl"
    events.parent.mkdir(parents=True)
    lines = [
        {
            "type": "session.start",
            "data": {"sessionId": "33333333-cccc"},
            "id": "e1",
            "timestamp": "2026-01-05T08:00:00Z",
        },
        {"type": "user.message", "data": {"content": "continue"}, "id": "e2", "timestamp": "2026-01-05T08:01:00Z"},
    ]
    events.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (copilot / "command-history-state.json").write_text(json.dumps({"commandHistory": ["later", "continue", LOST]}))

    for arguments in ((), ("--live", "--long")):
        [row] = histories(*arguments)
        assert (row["source"], row["title"], row["turns"]) == ("cli-prompts", LOST, 2)
    assert prompts_of(histories()[0]) == [LOST, "later"]
    assert "harmonic" in run("search", "harmonic").out


def test_every_file_of_the_folder_of_prompts_is_read_or_reported(home: Home) -> None:
    folder = home.root / ".copilot" / "command-history-state"
    (folder / "older").mkdir(parents=True)
    (folder / "older" / "2026.json").write_text(json.dumps({"commandHistory": ["Draw the harbour of Cuxhaven"]}))
    (folder / "log.jsonl").write_text('"Explain neap tides to a child"\n{"text": "And spring tides as well"}\n')
    (folder / "plain").write_text("Explain the moon\n")

    assert "1 bad record" in run("scan").err
    assert sorted(text for row in histories() for text in prompts_of(row)) == [
        "And spring tides as well",
        "Draw the harbour of Cuxhaven",
        "Explain neap tides to a child",
    ]
    assert str(folder / "plain") in run("problems").out


def test_a_backup_has_the_history_of_a_store_that_is_gone(tides: Path) -> None:
    path = type_in(tides, LOST)
    [before] = histories()
    path.rename(path.with_name("state.vscdb.backup"))

    [row] = histories()
    assert (row["id"], prompts_of(row)) == (before["id"], [LOST])
    assert "read-from-backup" in run("problems", "--json").out


def test_a_backup_beside_its_store_doubles_nothing(home: Home, tides: Path) -> None:
    path = type_in(tides, LOST, "continue")
    path.with_name("state.vscdb.backup").write_bytes(path.read_bytes())
    home.add(tides, session(ONE, "continue"))

    run("scan", tides)
    [row] = histories()
    assert prompts_of(row) == [LOST]


def test_the_quick_list_of_the_disk_says_that_it_leaves_histories_out(tides: Path) -> None:
    type_in(tides, LOST)

    assert histories("--live") == []
    assert "1 list of typed prompts not read (--long or --all)" in run("list", "--live").err
    assert len(histories("--live", "--all")) == 1
    assert "typed prompts not read" not in run("list", "--live", "--all").err
    assert len(histories("--live", "--source", "vscode-prompts")) == 1


# --- agents whose files are elsewhere ---------------------------------------------------------------------------

PILOT = "You are the pilot. You know every shoal between Cuxhaven and Heligoland."


def remember_agent(workspace: Path, path: str) -> None:
    mode = {"id": f"file://{path}", "name": "pilot", "modeInstructions": {"content": PILOT}, "uri": {"path": path}}
    with closing(sqlite3.connect(workspace / "state.vscdb", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        connection.execute("INSERT INTO ItemTable VALUES (?, ?)", ("chat.customModes", json.dumps([mode])))


def test_agents_that_vscode_remembers_below_a_named_root_are_known(home: Home, tides: Path) -> None:
    home.add(tides, session(ONE, TIDES))
    type_in(tides, TIDES)
    remember_agent(tides, "/gone/pilot.agent.md")

    found = run("agents", "--root", home.root, "--json").json
    assert [row["name"] for row in found["never_used"]] == ["pilot"]
    assert [(row["name"], row["body"]) for row in found["definitions"]] == [("pilot", PILOT)]
    assert found["no_longer_defined"] == []


def test_agents_that_vscode_remembers_are_known(home: Home, tides: Path) -> None:
    lost = "/home/ana/tide-tables/.github/agents/pilot.agent.md"
    prompt = f"<customInstructions>{PILOT}</customInstructions>"
    state = session(ONE, TIDES)
    state["requests"][0]["result"] = {"metadata": {"renderedUserMessage": [{"type": 1, "text": prompt}]}}
    home.add(tides, state)
    remember_agent(tides, lost)

    shown = run("show", ONE, "--json").json
    assert shown["turns"][0]["custom_agent"]["name"] == "pilot"
    assert lost in shown["turns"][0]["custom_agent"]["evidence"]
    agents = run("agents", "--json").json
    [pilot] = [agent for agent in agents["agents"] if agent["name"] == "pilot"]
    assert (pilot["is_defined"], pilot["path"]) == (True, lost)


def test_a_session_with_a_draft_stays_when_only_the_index_names_it(home: Home, tides: Path) -> None:
    typed = ({"kind": 1, "k": ["inputState"], "v": {"inputText": text}} for text in ("And draw the harbour", ""))
    path = home.add_log(tides, ONE, [{"kind": 0, "v": session(ONE, TIDES)}, *typed])
    home.index(tides, **{ONE: entry(ONE, "Tides")})
    assert [row["turns"] for row in run("list", "--json").json] == [1]

    path.unlink()

    assert [row["turns"] for row in run("list", "--json").json] == [1]
    shown = run("show", ONE).out
    assert TIDES in shown
    assert "And draw the harbour" in shown
