"""Discovering and reading: what is found once, what belongs together, and what a broken file costs."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from copilog import ingest
from copilog.diagnostics import Report
from copilog.sources import BY_NAME
from copilog.sources.vscode import conversation as vscode_session
from tests.cli.homes import Home, entry, session

ONE, TWO = "11111111-aaaa", "22222222-bbbb"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def put_into_store(database: Path, key: str, value: object) -> None:
    connection = sqlite3.connect(database)
    connection.execute("INSERT INTO ItemTable VALUES (?, ?)", (key, json.dumps(value).encode()))
    connection.commit()
    connection.close()


def test_a_session_inside_the_store_that_the_store_also_lists_is_read(home: Home) -> None:
    workspace = home.workspace(1, "/home/ana/tide-tables")
    database = home.index(workspace, **{ONE: entry(ONE, "Tides")})
    put_into_store(database, "interactive.sessions", [session(ONE, "When is high tide?")])

    [found] = ingest.discover([home.root])
    [conversation] = ingest.read(found)

    assert len(conversation.turns) == 1
    assert conversation.title == "Tides"
    assert "stub" not in conversation.marks


def test_nested_roots_are_read_once(home: Home) -> None:
    home.add(home.workspace(1), session(ONE, "hello"))
    report = Report()

    founds = list(ingest.discover([home.root, home.user, home.user / "workspaceStorage"], report=report))
    for found in founds:
        list(ingest.read(found, report=report))

    assert len(founds) == 1
    assert founds[0].others == ()
    assert [ledger.seen for ledger in report.files.values()] == [2]


def test_a_file_that_a_tool_wrote_is_not_a_session_even_if_it_looks_like_one(home: Home) -> None:
    folder = home.workspace(1) / "GitHub.copilot-chat" / "chat-session-resources" / ONE / "call_1"
    folder.mkdir(parents=True)
    (folder / "content.json").write_text(json.dumps(session(TWO, "quoted")))

    [ledger] = ingest.inspect([folder])

    assert ledger.source == "vscode-resources"


def test_a_file_that_two_sources_claim_is_reported_and_the_rest_is_read(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.add(home.workspace(1), session(ONE, "hello"))
    (home.root / "odd.json").write_text("{}")
    for name in ("chat-export", "vscode-session"):
        claims = BY_NAME[name].claims
        monkeypatch.setattr(
            BY_NAME[name], "claims", lambda probe, claims=claims: probe.name == "odd.json" or claims(probe)
        )
    report = Report()

    conversations = list(ingest.read(home.root, report=report))

    assert [conversation.native_id for conversation in conversations] == [ONE]
    assert [diagnostic.code for diagnostic in report.diagnostics()] == ["ambiguous-format"]


def test_reading_any_folder_detects_application_and_workspace(home: Home) -> None:
    workspace = home.workspace(1, "/home/ana/tide-tables")
    home.add(workspace, session(ONE, "hello"))
    home.index(workspace, **{TWO: entry(TWO, "Only listed")})

    conversations = {conversation.native_id: conversation for conversation in ingest.read(home.root)}

    for native_id in (ONE, TWO):
        found = conversations[native_id]
        assert found.application == "Code"
        assert found.workspace is not None
        assert found.workspace.folder == "/home/ana/tide-tables"


def test_a_named_file_is_read_with_its_companions_but_not_its_twin(home: Home) -> None:
    workspace = home.workspace(1, "/home/ana/tide-tables")
    path = home.add(workspace, session(ONE, "hello"))
    home.add_log(workspace, ONE, [{"kind": 0, "v": session(ONE, "hello", "and more")}])
    home.index(workspace, **{ONE: entry(ONE, "Tides")})

    [conversation] = ingest.read(path)

    assert len(conversation.turns) == 1
    assert conversation.title == "Tides"
    assert [trace.role for trace in conversation.provenance] == ["lead", "index"]


def test_the_same_bytes_twice_are_one_conversation(tmp_path: Path) -> None:
    export = session(ONE, "hello there, what a fine day")
    for key in ("sessionId", "version", "creationDate"):
        del export[key]
    for name in ("chat.json", "copy of chat.json"):
        (tmp_path / name).write_text(json.dumps(export))

    [conversation] = ingest.read(tmp_path)

    assert sorted(Path(trace.path).name for trace in conversation.provenance) == ["chat.json", "copy of chat.json"]


def test_a_reader_that_breaks_costs_its_file_and_balances(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.add(home.workspace(1), session(ONE, "hello"))
    home.add_log(home.workspace(1), TWO, [{"kind": 0, "v": session(TWO, "hi")}])
    monkeypatch.delenv("COPILOG_RAISE", raising=False)
    works = vscode_session.conversation_from
    monkeypatch.setattr(
        vscode_session,
        "conversation_from",
        lambda *state, source, **how: 1 / 0 if source == "vscode-session" else works(*state, source=source, **how),
    )
    report = Report()

    conversations = [c for found in ingest.discover([home.root]) for c in ingest.read(found, report=report)]

    assert [conversation.native_id for conversation in conversations] == [TWO]
    assert report.balances()
    assert [diagnostic.code for diagnostic in report.diagnostics()] == ["crash"]


def export_of(*texts: str) -> dict[str, Any]:
    export = session(ONE, *texts)
    for key in ("sessionId", "version", "creationDate"):
        del export[key]
    return export


def test_an_export_that_continues_another_is_the_same_conversation(tmp_path: Path) -> None:
    (tmp_path / "monday.json").write_text(json.dumps(export_of("When is high tide in Norrvik?")))
    (tmp_path / "tuesday.json").write_text(json.dumps(export_of("When is high tide in Norrvik?", "And low tide?")))

    [conversation] = ingest.read(tmp_path)

    assert len(conversation.turns) == 2
    assert [Path(trace.path).name for trace in conversation.provenance] == ["tuesday.json", "monday.json"]


def test_an_export_joins_the_session_that_it_was_made_of(home: Home) -> None:
    home.add(home.workspace(1), session(ONE, "When is high tide in Norrvik?", "And low tide?"))
    (home.root / "chat.json").write_text(json.dumps(export_of("When is high tide in Norrvik?")))

    [conversation] = ingest.read(home.root)

    assert conversation.id == f"vscode:{ONE}"
    assert len(conversation.provenance) == 2


def test_a_doubtful_pair_stays_separate_with_the_reason(tmp_path: Path) -> None:
    for name, answer in (("one.json", "At six."), ("other.json", "At seven.")):
        export = export_of("When is high tide in Norrvik?")
        request = export["requests"][0]
        for key in ("requestId", "timestamp", "modelState"):
            del request[key]
        request["response"] = [{"value": answer}]
        (tmp_path / name).write_text(json.dumps(export))

    one, other = ingest.read(tmp_path)

    assert [(relation.kind, relation.other_id) for relation in one.relations] == [("possible-duplicate", other.id)]
    assert [(relation.kind, relation.other_id) for relation in other.relations] == [("possible-duplicate", one.id)]
    assert "other answers" in (one.relations[0].reason or "")


def test_agents_of_the_workspace_help_to_detect_which_was_used(home: Home, tmp_path: Path) -> None:
    project = tmp_path / "tide-tables"
    agents = project / ".github" / "agents"
    agents.mkdir(parents=True)
    (agents / "reviewer.agent.md").write_text("---\nname: Reviewer\n---\nRead the change twice, then complain.\n")
    state = session(ONE, "Look at this")
    prompt = "<customInstructions>\nRead the change twice, then complain.\n</customInstructions>\nLook at this"
    state["requests"][0]["result"] = {"metadata": {"renderedUserMessage": [{"type": 1, "text": prompt}]}}
    path = home.add(home.workspace(1, str(project)), state)

    [without] = ingest.read(path)
    [told] = ingest.read(path, definitions=ingest.WorkspaceDefinitions())

    assert without.turns[0].custom_agent is None or without.turns[0].custom_agent.name is None
    assert told.turns[0].custom_agent is not None
    assert told.turns[0].custom_agent.name == "Reviewer"
    assert "reviewer.agent.md" in told.turns[0].custom_agent.evidence


def test_an_error_in_merging_or_detection_affects_no_other_conversation(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.add(home.workspace(1), session(ONE, "hello"))
    home.add(home.workspace(2), session(TWO, "hi"))
    founds = list(ingest.discover([home.root]))
    monkeypatch.delenv("COPILOG_RAISE", raising=False)

    def breaks(*_: object) -> None:
        raise ZeroDivisionError

    report = Report()
    with monkeypatch.context() as patch:
        patch.setattr("copilog.ingest.reading.detect", breaks)
        assert len([c for found in founds for c in ingest.read(found, report=report)]) == 2
    with monkeypatch.context() as patch:
        patch.setattr("copilog.identity.merge", breaks)
        assert [c for found in founds for c in ingest.read(found, report=report)] == []

    assert [diagnostic.code for diagnostic in report.diagnostics()] == ["crash"] * 4


def test_names_of_the_package_are_imported_on_first_use() -> None:
    assert {name for name in dir(ingest) if getattr(ingest, name) is not None} == set(ingest.__all__)
    with pytest.raises(AttributeError, match="no attribute 'write'"):
        _ = ingest.write
