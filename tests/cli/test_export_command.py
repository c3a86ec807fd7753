"""`copilog export`: which conversations, in which form, and where they go."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.homes import Home, move_in, request, run, session

FOLDER = "/home/ana/tide-tables"
QUESTION = "Parse the tide file of Quillhaven"


@pytest.fixture(autouse=True)
def archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    home = Home(tmp_path / "home")
    home.add(home.workspace(1, FOLDER), session("11111111-aaaa", QUESTION, "And test it", customTitle="Tide parser"))
    home.add(
        home.workspace(2, "/home/ana/garden-planner"),
        session("22222222-bbbb", requests=[request(9, "Plan the beds")], customTitle="Garden"),
    )
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    kept = move_in(monkeypatch, tmp_path, home)
    run("scan")
    return kept


def test_one_conversation_goes_to_a_file_named_after_it() -> None:
    outcome = run("export", "11111111")
    (path,) = Path().iterdir()
    assert outcome.code == 0, outcome.err
    assert outcome.out == ""
    assert outcome.err.startswith(f"{path}: 1 conversation\n")
    assert path.name.endswith("-tide-parser.html")
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert QUESTION in page


def test_a_file_that_is_there_is_not_replaced_unless_it_was_named() -> None:
    run("export", "11111111", "-f", "markdown")
    run("export", "11111111", "-f", "markdown")
    first, second = sorted(Path().iterdir(), key=lambda path: len(path.name))
    assert second.name == first.name.replace(".md", "-2.md")
    first.write_text("old")
    assert run("export", "11111111", "-f", "markdown", "-o", first).code == 0
    assert QUESTION in first.read_text(encoding="utf-8")


@pytest.mark.skipif(os.name == "nt", reason="rights of this kind are those of other systems")
def test_exported_files_are_readable_only_by_the_user() -> None:
    run("export", "last")
    (path,) = Path().iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_selection_goes_to_one_file_or_to_a_file_each() -> None:
    outcome = run("export", "--since", "2020-01-01", "-o", "all.html")
    assert outcome.err.startswith("all.html: 2 conversations\n")
    page = Path("all.html").read_text(encoding="utf-8")
    assert QUESTION in page
    assert "Plan the beds" in page
    assert 'href="#c2"' in page

    outcome = run("export", "--since", "2020-01-01", "--format", "markdown", "-o", "notes/")
    assert outcome.err.startswith("notes: 2 conversations\n")
    assert sorted(path.name[11:] for path in Path("notes").glob("20*")) == ["garden.md", "tide-parser.md"]

    outcome = run("export", "-w", "garden", "--format", "markdown", "-o", "-")
    assert outcome.out.startswith("---\ntitle: Garden\n")
    assert QUESTION not in outcome.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no conversation is named"),
        (["nonsense"], "nonsense"),
        (["last", "--starred"], "cannot be used together"),
        (["last", "--all"], "cannot be used together"),
        (["last", "--unique"], "the format html has no use for --unique; openai and sharegpt have one"),
        (["last", "-f", "parquet", "-o", "-"], "cannot be written as one file; name a folder"),
        (["last", "-f", "openai", "--max-tokens", "0"], "0 is not in the range x>=1"),
        (["last", "--prompts-only"], "the format html has no use for --prompts-only"),
        (["-w", "nowhere"], "no conversation has 'nowhere' in the name of its workspace"),
        (["--until", "2001"], "no conversation matches"),
        (["last", "-o", "there/is/no/folder.html"], "there is no folder"),
    ],
)
def test_invalid_exports_are_reported_in_one_line(arguments: list[str], words: str) -> None:
    outcome = run("export", *arguments)
    assert outcome.code == 2
    assert words in outcome.err
    assert list(Path().iterdir()) == []


def test_the_same_conversation_named_twice_is_written_once() -> None:
    outcome = run("export", "11111111", "vscode:11111111-aaaa", "-o", "-", "-f", "markdown")
    assert outcome.out.count("# Tide parser") == 1


def test_options_of_fine_tuning_reach_the_format_and_what_was_left_out_is_listed() -> None:
    outcome = run(
        "export", "--all", "-f", "openai", "--no-system-prompt", "--max-tokens", "100", "--unique", "-o", "a.jsonl"
    )
    assert outcome.code == 0, outcome.err
    lines = [json.loads(line) for line in Path("a.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {message["content"] for line in lines for message in line["messages"]} >= {QUESTION, "Plan the beds"}

    outcome = run("export", "--all", "-f", "openai", "--max-tokens", "1", "-o", "b.jsonl")
    assert outcome.code == 1
    assert "have nothing that a Chat fine-tuning (OpenAI) file contains" in outcome.err
    assert not Path("b.jsonl").exists()


def test_a_dataset_goes_to_a_folder() -> None:
    outcome = run("export", "--all", "-f", "parquet", "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["folder"] == "conversations-parquet"
    assert Path("conversations-parquet", "README.md") in [Path(file) for file in outcome.json["files"]]


# --- a full disk ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_standard_output_is_reported_with_what_to_do() -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "copilog", "export", "--all", "-f", "json", "-o", "-"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    message = done.stderr.decode()
    assert "standard output: cannot be written: No space left on device (make room there, and repeat" in message
    assert "Exception" not in message


@pytest.mark.parametrize("kind", ["vscode", "parquet"])
def test_a_full_disk_leaves_the_folder_as_it_was(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run("export", "--all", "-f", kind, "-o", "sessions")
    before = sorted(path.name for path in Path("sessions").rglob("*"))

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("copilog.exports.vscode_session._write", fail)
    monkeypatch.setattr("copilog.exports.parquet._Files._write", fail)
    outcome = run("export", "--all", "-f", kind, "-o", "sessions")
    assert outcome.code == 1
    assert "sessions: cannot be written: No space left on device (make room there" in outcome.err
    assert sorted(path.name for path in Path("sessions").rglob("*")) == before
    assert [path.name for path in Path().iterdir()] == ["sessions"]


@pytest.mark.skipif(os.name == "nt", reason="permissions of Windows are others")
def test_a_note_says_that_a_replaced_file_can_be_read_by_others() -> None:
    Path("tide.md").touch()
    Path("tide.md").chmod(0o644)
    outcome = run("export", "11111111", "-f", "markdown", "-o", "tide.md")
    assert stat.S_IMODE(Path("tide.md").stat().st_mode) == 0o644
    assert "it can be read by others: a file that is replaced keeps its permissions" in outcome.err
