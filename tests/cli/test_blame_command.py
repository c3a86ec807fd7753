"""`copilog blame` and `copilog commit`: output and exit codes."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from copilog.cli.blame import target_from
from copilog.model import FileEdit
from tests.analysis.made_up_edits import AFTER, BEFORE, Repo, Shelf, conversation_with, edit, ran
from tests.cli.homes import Outcome, run


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "tide-tables")
    made.commit("low water", hours=-24, src__tides_py=BEFORE)
    made.commit("high water", hours=2, src__tides_py=AFTER)
    return made


@pytest.fixture
def tides(repo: Repo) -> Path:
    return repo.folder / "src" / "tides.py"


@pytest.fixture
def archive(repo: Repo, tides: Path, tmp_path: Path) -> Path:
    sha = repo.git("rev-parse", "HEAD")
    shelf = Shelf(tmp_path).put(
        conversation_with(
            "harbour-1", [], [edit(tides, BEFORE, AFTER)], folder=repo.folder, title="Spring \x1b[31mtides"
        ),
        conversation_with(
            "maker-22", ran("git commit -m x", f"[main {sha[:7]}] x"), folder=repo.folder, hours=2, title="Commit it"
        ),
        conversation_with("boats-33", [FileEdit(path="/home/ben/boats/main.py", added=1)], folder="/home/ben/boats"),
    )
    shelf.close()
    return tmp_path / "archive.db"


def asked(archive: Path, *arguments: object) -> Outcome:
    return run(*arguments, "--archive", archive, "--no-scan")


def test_blame_of_a_file_lists_the_conversations_that_edited_it(archive: Path, tides: Path) -> None:
    outcome = asked(archive, "blame", tides)

    assert outcome.code == 0
    assert outcome.out.splitlines() == [
        f"{tides}  8 lines, 3 written in conversations, 3 in no known conversation",
        "",
        outcome.out.splitlines()[2],
        "  1 edit, +4 -0, 3 lines still there",
        "  --turn 2   edit       edited the file, +4 -0",
    ]
    assert outcome.out.splitlines()[2].startswith("strong  harbour-  ")
    assert outcome.out.splitlines()[2].endswith("  tide-tables  Spring \ufffd[31mtides")
    assert outcome.err == "1 conversation edited the file; `copilog show ID --turn N` opens one\n"


def test_blame_of_a_line_shows_its_evidence(archive: Path, tides: Path) -> None:
    outcome = asked(archive, "blame", f"{tides}:6")

    assert outcome.code == 0
    assert "     6  def high_water_of_spring(day):" in outcome.out
    assert "--turn 2   edit       an edit has exactly this line" in outcome.out
    assert "the line was committed 1 hour after" in outcome.out
    assert "uncertain" not in outcome.out


def test_uncertain_answers_are_marked(archive: Path, tides: Path) -> None:
    outcome = asked(archive, "blame", f"{tides}:1-4")

    assert "  uncertain: the line is blank, or only signs: its origin cannot be determined" in outcome.out
    assert "  uncertain: no recorded edit contains this line" in outcome.out
    assert outcome.err.startswith("0 of 4 lines attributed with certainty;")


def test_blame_as_json_has_everything(archive: Path, tides: Path) -> None:
    document = asked(archive, "blame", f"{tides}:6-7", "--json").json

    assert [origin["origin"]["conversation"] for origin in document["origins"]] == ["vscode:harbour-1"] * 2
    assert [touch["conversation"] for touch in document["touches"]] == ["vscode:harbour-1"]
    assert (document["first"], document["last"], document["is_uncertain"]) == (6, 7, False)


def test_blame_of_a_file_without_edits_exits_with_1(archive: Path, repo: Repo) -> None:
    outcome = asked(archive, "blame", repo.folder / "never.py")

    assert (outcome.code, outcome.out) == (1, f"{repo.folder / 'never.py'}  (not on disk)\n")
    assert "no conversation was found that touched the file" in outcome.err
    assert "the file does not exist" in outcome.err


def test_a_commit_is_traced_with_shares_and_verdict(archive: Path, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo.folder / "src")
    outcome = asked(archive, "commit", "HEAD")

    lines = outcome.out.splitlines()
    assert outcome.code == 0
    assert lines[0].endswith("  high water")
    assert lines[1] == "  src/tides.py  +4 -0, 3 written in conversations"
    assert "  3 lines (100%) in 1 file" in lines
    assert "  --turn 1   commit     it ran `git commit`, which answered with this commit" in lines
    assert outcome.err.startswith("3 of 3 lines (100%) were written in 1 conversation; 0 in none that was found;")


def test_a_commit_of_another_repository_as_json(archive: Path, repo: Repo) -> None:
    outcome = asked(archive, "commit", "HEAD~1", "--repository", repo.folder, "--json", "-w", "boats")

    assert (outcome.code, outcome.json["subject"], outcome.json["touches"]) == (1, "low water", [])
    assert outcome.json["is_uncertain"] is True


def test_a_selection_limits_both(archive: Path, repo: Repo, tides: Path) -> None:
    assert asked(archive, "blame", tides, "--until", "2026-05-01").code == 1
    assert asked(archive, "commit", "HEAD", "--repository", repo.folder, "-q", "nothing-like-it").code == 1


def test_an_invalid_blame_target_exits_with_2(archive: Path, repo: Repo, tides: Path, tmp_path: Path) -> None:
    for arguments, said in (
        (["blame", f"{tides}:99"], "has 8 lines"),
        (["blame", repo.folder], "is a folder"),
        (["commit", "no-such-thing", "--repository", repo.folder], "is not a commit of"),
        (["commit", "HEAD", "--repository", tmp_path], "is not in a git repository"),
    ):
        outcome = asked(archive, *arguments)
        assert (outcome.code, said in outcome.err) == (2, True), outcome.err


def test_the_sample_can_be_blamed_too() -> None:
    assert run("blame", "/home/nobody/at/all.py", "--sample").code == 1


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("a.py", ("a.py", None, None)),
        ("a.py:12", ("a.py", 12, 12)),
        ("a.py:12-15", ("a.py", 12, 15)),
        ("C:\\src\\a.py:3", ("C:\\src\\a.py", 3, 3)),
        ("C:\\src\\a.py", ("C:\\src\\a.py", None, None)),
        ("a:b", ("a:b", None, None)),
        (":5", (":5", None, None)),
    ],
)
def test_a_target_is_a_file_and_perhaps_lines(target: str, expected: tuple[str, int | None, int | None]) -> None:
    path, first, last = target_from(target)

    assert (str(path), first, last) == expected


@pytest.mark.skipif(os.name == "nt", reason="Windows knows no such names")
def test_a_file_whose_name_looks_like_a_line_is_a_file(tmp_path: Path) -> None:
    odd = tmp_path / "a.py:12"
    odd.touch()

    assert target_from(str(odd)) == (odd, None, None)


def test_a_commit_has_its_evidence_file_by_file(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "tide-tables")
    repo.commit("begin", hours=-24, src__tides_py=BEFORE, src__moon_py=BEFORE)
    repo.commit("both", hours=2, src__tides_py=AFTER, src__moon_py=AFTER)
    files = [repo.folder / "src" / name for name in ("moon.py", "tides.py")]
    talked = conversation_with(
        "harbour-1", [edit(files[1], BEFORE, AFTER), edit(files[0], BEFORE, AFTER)], folder=repo.folder
    )
    Shelf(tmp_path).put(talked).close()

    lines = asked(tmp_path / "archive.db", "commit", "HEAD", "--repository", repo.folder).out.splitlines()

    evidence = [line for line in lines if line.startswith("  --turn") and " edit " in line]
    assert [line.split()[3] for line in evidence] == ["src/moon.py:", "src/tides.py:"]
    assert all("it wrote 3 of 4 added lines" in line for line in evidence), evidence


# --- survival -------------------------------------------------------------------------------------------------------


def test_survival_compares_what_was_written_with_what_is_there(archive: Path, repo: Repo, tides: Path) -> None:
    whole = asked(archive, "blame", "--survival", repo.folder, "--json").json

    assert (whole["repository"], whole["files"], whole["files_known"], whole["files_gone"]) == (
        str(repo.folder), 1, 1, 0,
    )  # fmt: skip
    assert [(row["id"], row["added"], row["still_there"], row["share"]) for row in whole["rows"]] == [
        ("vscode:harbour-1", 4, 3, 0.75)
    ]

    tides.write_text("nothing of it\n")
    after = asked(archive, "blame", "--survival", repo.folder)

    assert (after.code, after.out.splitlines()[-2:]) == (
        0,
        ["0 of 4 lines are still there (0%)", "1 of 1 edited files compared"],
    )


def test_nothing_is_left_of_a_file_that_is_gone_from_the_work_tree(archive: Path, repo: Repo, tides: Path) -> None:
    tides.unlink()  # and not committed yet

    gone = asked(archive, "blame", "--survival", repo.folder, "--json").json

    assert (gone["files_gone"], gone["added"], gone["still_there"], gone["share"]) == (1, 4, 0, 0.0)


@pytest.mark.parametrize("option", [(), ("--no-scan",)])
def test_survival_is_kept_with_its_date_and_coverage(archive: Path, repo: Repo, option: tuple[str, ...]) -> None:
    assert run("blame", "--survival", repo.folder, "--archive", archive, *option).code == 0

    with closing(sqlite3.connect(archive)) as connection:
        rows = connection.execute("SELECT * FROM survival").fetchall()
    assert [(row[0], row[1], row[2], row[3], row[4], row[6], row[7]) for row in rows] == [
        (str(repo.folder), "vscode:harbour-1", 4, 3, 1, 1, 1)
    ]
    assert rows[0][5].endswith("Z")


def test_survival_needs_a_repository(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()

    assert asked(archive, "blame", "--survival", tmp_path / "plain").code == 2
