"""The files beside a log of Copilot CLI: workspace.yaml, checkpoints, the plan, what VS Code wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from copilog.derive.documents import documents_of
from copilog.diagnostics import Ledger
from copilog.errors import BadFile
from copilog.model import ArtifactDocument, CheckpointDocument, Compaction, ResearchDocument
from copilog.sources.base import Found, Probe
from copilog.sources.cli.companions import index_rows
from tests.sources.cli_builders import (
    SESSION,
    SOURCE,
    Log,
    log_path,
    only,
    read_cleanly,
    read_log,
    read_path,
    write_log,
)

WORKSPACE = """\
id: 0f1e2d3c-0000-4000-8000-000000000001
cwd: /home/ana/shop
git_root: /home/ana
repository: ana/shop
host_type: github
branch: fix/cart
name: "Cart: rounding bug"
user_named: true
summary: |-
  Why does the total drift?
  And the tax?
summary_count: 0
created_at: 2026-06-01T08:00:01.120Z
updated_at: 2026-06-03T09:12:44.003Z
"""
INDEX = """\
# Checkpoint History

| # | Title | File |
|---|-------|------|
| 1 | Cart \\| tax | 001-cart.md |
| 2 | More | 002-more.md |
"""


def folder_of(tmp_path: Path) -> Path:
    return log_path(tmp_path).parent


def write(tmp_path: Path, name: str, text: str | bytes) -> Path:
    path = folder_of(tmp_path) / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_workspace_yaml_says_where_the_session_ran(tmp_path: Path) -> None:
    write(tmp_path, "workspace.yaml", WORKSPACE)
    log = Log().start(context={"cwd": "/elsewhere", "headCommit": "c0ffee", "baseCommit": "b0"}).ask().say()

    conversation = read_cleanly(tmp_path, log)

    workspace = conversation.workspace
    assert workspace is not None
    assert (workspace.folder, workspace.repository, workspace.branch) == ("/home/ana/shop", "ana/shop", "fix/cart")
    assert workspace.commit == "c0ffee"
    # The forge of the repository, and not the program that was used.
    assert workspace.extra == {"baseCommit": "b0", "git_root": "/home/ana", "host_type": "github"}
    assert conversation.title == "Cart: rounding bug"
    assert (conversation.extra or {})["workspace"]["summary_count"] == 0
    assert conversation.started_at is not None
    assert conversation.started_at.isoformat() == "2026-06-02T07:59:59+00:00"
    assert [Path(trace.path).name for trace in conversation.provenance] == ["events.jsonl", "workspace.yaml"]
    assert [trace.role for trace in conversation.provenance] == ["lead", "resource"]


@pytest.mark.parametrize(
    ("yaml", "custom", "title"),
    [
        ("name: AI's\nuser_named: false\nsummary: older", None, "AI's"),
        ("name: mine\nuser_named: true", "from VS Code", "from VS Code"),
        ("name: mine", "  ", "mine"),
        ("summary: |-\n\n  first line\n  second", None, "first line"),
        ('name: ""', None, None),
    ],
)
def test_the_title_with_the_highest_priority_counts(
    yaml: str, custom: str | None, title: str | None, tmp_path: Path
) -> None:
    write(tmp_path, "workspace.yaml", yaml)
    write(tmp_path, "vscode.metadata.json", json.dumps({"customTitle": custom} if custom else {}))

    assert read_cleanly(tmp_path, Log().start().ask()).title == title


def test_a_folder_without_a_log_is_a_stub(tmp_path: Path) -> None:
    path = write(tmp_path, "workspace.yaml", WORKSPACE)

    (conversation,), ledger = read_path(path)

    assert (conversation.id, conversation.marks, conversation.turns) == (f"cli:{SESSION}", ["stub"], [])
    assert conversation.title == "Cart: rounding bug"
    assert conversation.updated_at is not None
    assert conversation.updated_at.isoformat() == "2026-06-03T09:12:44.003000+00:00"
    assert (ledger.seen, ledger.used) == (1, 1)


def test_the_plan_is_a_document(tmp_path: Path) -> None:
    write(tmp_path, "plan.md", "# Plan\n1. Decimals")

    conversation = read_cleanly(tmp_path, Log().start().ask())

    assert [(it.kind, it.text) for it in conversation.documents] == [("plan", "# Plan\n1. Decimals")]


# --- checkpoints --------------------------------------------------------------------------------------------------


def compacted(text: str | None, path: str = "C:\\Users\\ana\\checkpoints\\001-cart.md") -> Log:
    data = {"success": True, "checkpointNumber": 1, "checkpointPath": path, "summaryContent": text}
    return Log().start().ask().add("session.compaction_complete", data)


def test_a_compaction_has_its_checkpoint(tmp_path: Path) -> None:
    write(tmp_path, "checkpoints/index.md", INDEX)
    write(tmp_path, "checkpoints/001-cart.md", "<overview>\nfrom disk\n</overview>\n")
    write(tmp_path, "checkpoints/002-more.md", "never named by the log")

    conversation = read_cleanly(tmp_path, compacted("<overview>\nfrom disk\n</overview>"))

    compaction = only(conversation, Compaction)
    assert compaction.title == "Cart | tax"
    assert (compaction.extra or {})["checkpoint"] == {"number": 1, "file": "001-cart.md"}
    folder = Path(conversation.provenance[0].path).parent / "checkpoints"
    assert conversation.documents == [
        CheckpointDocument(
            text="<overview>\nfrom disk\n</overview>\n",
            title="Cart | tax",
            number=1,
            sections={"overview": "from disk"},
            path="checkpoints/001-cart.md",
            traces=[str(folder / "001-cart.md")],
        ),
        CheckpointDocument(
            text="never named by the log",
            title="More",
            number=2,
            path="checkpoints/002-more.md",
            traces=[str(folder / "002-more.md")],
        ),
    ]
    assert [(made.kind, at) for made, at in documents_of(conversation)] == [("checkpoint", 1), ("checkpoint", None)]


def test_a_checkpoint_supplies_text_that_the_log_lacks_or_has_differently(tmp_path: Path) -> None:
    write(tmp_path, "checkpoints/001-cart.md", "from disk")

    lacking = only(read_cleanly(tmp_path, compacted(None, path="")), Compaction)
    otherwise = read_cleanly(tmp_path, compacted("from the log"))

    assert lacking.text == "from disk"
    assert only(otherwise, Compaction).text == "from the log"
    assert [document.text for document in otherwise.documents] == ["from disk"]


def test_a_checkpoint_as_json_is_put_into_sections(tmp_path: Path) -> None:
    write(tmp_path, "checkpoints/001.json", json.dumps({"title": "x", "overview": "The cart.", "next_steps": "Tax."}))

    compaction = only(read_cleanly(tmp_path, compacted(None, path="")), Compaction)

    assert compaction.text == "<overview>\nThe cart.\n</overview>\n\n<next_steps>\nTax.\n</next_steps>"


def test_rows_of_the_table_of_checkpoints() -> None:
    assert index_rows(INDEX) == [(1, "Cart | tax", "001-cart.md"), (2, "More", "002-more.md")]
    assert index_rows("# Checkpoint History\n\n| # | Title | File |\n|---|---|---|\n") == []


# --- what VS Code wrote -------------------------------------------------------------------------------------------


def test_vscodes_record_has_the_repository_of_a_worktree(tmp_path: Path) -> None:
    write(tmp_path, "workspace.yaml", "cwd: /home/ana/trees/1\nbranch: main")
    worktree = {"version": 2, "repositoryPath": "/home/ana/shop", "worktreePath": "/home/ana/trees/1"}
    data = {"worktreeProperties": {**worktree, "branchName": "copilot/fix"}, "workspaceFolder": {"folderPath": "/x"}}
    write(tmp_path, "vscode.metadata.json", json.dumps(data))

    workspace = read_cleanly(tmp_path, Log().start().ask()).workspace

    assert workspace is not None
    assert (workspace.folder, workspace.branch) == ("/home/ana/shop", "copilot/fix")
    assert (workspace.extra or {})["cwd"] == "/home/ana/trees/1"


def test_vscodes_record_has_the_folder_if_no_other_file_has_it(tmp_path: Path) -> None:
    write(tmp_path, "vscode.metadata.json", json.dumps({"workspaceFolder": {"folderPath": "/home/ana/shop"}}))

    workspace = read_cleanly(tmp_path, Log().start().ask()).workspace

    assert workspace is not None
    assert workspace.folder == "/home/ana/shop"


def test_vscodes_notes_about_a_prompt_are_in_its_turn(tmp_path: Path) -> None:
    instructions = {"name": "reviewer", "content": "Be strict.", "uri": "file:///home/ana/r.md"}
    noted = [
        {"vscodeRequestId": "request_1", "copilotRequestId": "e1", "modeInstructions": instructions},
        {"vscodeRequestId": "request_2", "copilotRequestId": "gone"},
        7,
    ]
    write(tmp_path, "vscode.requests.metadata.json", json.dumps(noted))

    conversation = read_cleanly(tmp_path, Log().start().ask().say())

    (turn,) = conversation.turns
    assert (turn.extra or {})["vscode"] == noted[0]
    assert turn.custom_agent is not None
    assert (turn.custom_agent.name, turn.custom_agent.instructions) == ("reviewer", "Be strict.")
    assert (conversation.extra or {})["vscode_requests"] == noted[1:]


# --- damage -------------------------------------------------------------------------------------------------------


def test_broken_companions_are_reported_and_lose_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, "workspace.yaml", "name: Cart\n- odd")
    write(tmp_path, "vscode.metadata.json", b"{broken")
    write(tmp_path, "vscode.requests.metadata.json", b"\0" * 64)
    write(tmp_path, "checkpoints/001.json", "[1]")

    conversation, ledger = read_log(tmp_path, Log().start().ask())

    assert conversation.title == "Cart"
    assert sorted(note.code for note in ledger.notes) == ["bad-companion", "bad-companion", "bad-yaml"]
    assert ledger.bad == []


def test_links_beside_a_log_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.yaml"
    secret.write_text("name: secret")
    (folder_of(tmp_path) / "workspace.yaml").symlink_to(secret)
    (tmp_path / "cp").mkdir()
    (tmp_path / "cp" / "001-x.md").write_text("secret")
    (folder_of(tmp_path) / "checkpoints").symlink_to(tmp_path / "cp")

    conversation = read_cleanly(tmp_path, Log().start().ask())

    assert conversation.title is None
    assert len(conversation.provenance) == 1


@pytest.mark.parametrize(
    ("name", "text", "seen", "used", "codes"),
    [
        ("workspace.yaml", WORKSPACE, 1, 1, []),
        ("workspace.yaml", "a:\n  - b", 1, 1, ["bad-yaml"]),
        ("plan.md", "# Plan", 1, 1, []),
        ("checkpoints/index.md", INDEX, 2, 2, []),
        ("checkpoints/index.md", "| 1 | no file | |", 1, 0, ["bad-record"]),
        ("checkpoints/001-cart.md", "text", 1, 1, []),
        ("checkpoints/001.json", "{}", 1, 1, []),
        ("checkpoints/001.json", "7", 1, 0, ["bad-record"]),
        ("vscode.metadata.json", "{}", 1, 1, []),
        ("vscode.metadata.json", "7", 1, 0, ["bad-record"]),
        ("vscode.metadata.json", "{", 1, 0, ["bad-json"]),
        ("vscode.metadata.json", "\0\0", 1, 0, ["nul-tail"]),
        ("vscode.requests.metadata.json", "[]", 1, 1, []),
        ("plan.md", "", 1, 0, ["empty-file"]),
    ],
)
def test_the_ledger_of_a_single_companion(
    name: str, text: str, seen: int, used: int, codes: list[str], tmp_path: Path
) -> None:
    write_log(tmp_path, Log().start())
    path = write(tmp_path, name, text)

    assert SOURCE.claims(Probe(path))
    assert SOURCE.native_id(Probe(path)) == SESSION
    _, ledger = read_path(path)

    assert (ledger.seen, ledger.used) == (seen, used)
    assert [told.code for told in ledger.diagnostics()] == codes


def test_only_one_companion_represents_a_session_without_a_log(tmp_path: Path) -> None:
    names = ("plan.md", "vscode.metadata.json", "checkpoints/001-cart.md")
    paths = [write(tmp_path, name, "{}") for name in names]

    found = [read_path(path)[0] for path in paths]

    assert [len(conversations) for conversations in found] == [1, 0, 0]
    assert [document.kind for document in found[0][0].documents] == ["plan", "checkpoint"]


def test_the_ledger_of_a_missing_file(tmp_path: Path) -> None:
    path = write(tmp_path, "plan.md", "x")
    path.unlink()

    with pytest.raises(BadFile, match="cannot be read"):
        list(SOURCE.read(Found(path, SOURCE.name, SESSION), Ledger()))


def test_files_that_a_session_saved_are_documents(tmp_path: Path) -> None:
    folder = write_log(tmp_path, Log().start().ask("save it").say()).parent
    (folder / "files" / "deep").mkdir(parents=True)
    (folder / "research").mkdir()
    (folder / "files" / "paste-1780000000000.txt").write_text("a long paste")
    (folder / "files" / "deep" / "chart.png").write_bytes(b"\x89PNG\r\n")
    (folder / "research" / "report.md").write_text("# Tides")
    (folder / "files" / "link.txt").symlink_to(tmp_path / "elsewhere.txt")

    [conversation], _ = read_path(folder / "events.jsonl")

    assert conversation.documents == [
        ArtifactDocument(
            path="files/paste-1780000000000.txt",
            text="a long paste",
            traces=[str(folder / "files/paste-1780000000000.txt")],
        ),
        ArtifactDocument(path="files/deep/chart.png", size=6, traces=[str(folder / "files/deep/chart.png")]),
        ResearchDocument(path="research/report.md", text="# Tides", traces=[str(folder / "research/report.md")]),
    ]


def test_a_summary_of_many_lines_is_a_document(tmp_path: Path) -> None:
    write(tmp_path, "workspace.yaml", "summary: |-\n  The first line\n  and what follows")

    conversation = read_cleanly(tmp_path, Log().start().ask())

    assert [(it.kind, it.text) for it in conversation.documents] == [("summary", "The first line\nand what follows")]


def test_a_saved_file_is_a_companion_with_any_content(tmp_path: Path) -> None:
    folder = write_log(tmp_path, Log().start().ask("save it").say()).parent
    (folder / "files").mkdir()
    path = folder / "files" / "chat.json"
    path.write_text(json.dumps({"responderUsername": "x", "requests": []}))

    ledger = Ledger(path=str(path))
    conversations = list(SOURCE.read(Found(path, SOURCE.name, SOURCE.native_id(Probe(path))), ledger))

    assert SOURCE.claims(Probe(path))
    assert SOURCE.native_id(Probe(path)) == folder.name
    assert conversations == []
    assert (ledger.seen, ledger.used) == (1, 1)
