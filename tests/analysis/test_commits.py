"""`trace_commit`: the conversations that a commit comes from, and how git is run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from copilog.analysis.lineage import git
from copilog.analysis.lineage.blame import blame
from copilog.analysis.lineage.commits import CommitResult, CommitTouch, trace_commit
from copilog.analysis.lineage.git import GitError, Repository, unquoted
from copilog.jsonio import encode
from copilog.model import FileEdit, Relation, Terminal, Text, ToolCall, Workspace
from copilog.textdiff import unified_diff
from tests.analysis.made_up_edits import AFTER, BEFORE, Repo, Shelf, after, conversation_with, edit, ran


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path)
    yield made
    made.close()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Make a repository with one commit, a day before noon."""
    made = Repo(tmp_path / "tide-tables")
    made.commit("low water", hours=-24, src__tides_py=BEFORE)
    return made


def found(result: CommitResult) -> list[tuple[str, str, int]]:
    return [(touch.conversation.removeprefix("vscode:"), touch.strength, touch.lines) for touch in result.touches]


def kinds(touch: CommitTouch) -> list[tuple[str, str]]:
    return [(item.kind, item.strength) for item in touch.evidence]


# --- lines ------------------------------------------------------------------------------------------------------


def test_lines_of_a_commit_are_assigned_to_the_conversations_that_wrote_them(shelf: Shelf, repo: Repo) -> None:
    tides, moon = repo.folder / "src" / "tides.py", repo.folder / "src" / "moon.py"
    by_hand = AFTER + "\n# this line was typed by a person\n"
    phases = "def phase_of_moon(day):\n    return day % 29.53\nEPOCH_OF_THE_MOON = 2451550\n"
    sha = repo.commit("high water", hours=3, src__tides_py=by_hand, src__moon_py=phases)
    shelf.put(
        conversation_with("tides", [edit(tides, BEFORE, AFTER)], folder=repo.folder),
        conversation_with("moon", [edit(moon, None, phases)], folder=repo.folder, hours=1),
    )

    result = trace_commit(shelf.choose(), sha, repo.folder)

    # tides.py: a blank line, three of the conversation's, a blank one and the person's; moon.py: three lines.
    assert (result.added, result.removed) == (9, 0)
    assert (result.written, result.unwritten, result.plain) == (6, 1, 2)
    assert found(result) == [("moon", "strong", 3), ("tides", "strong", 3)]
    assert [(touch.share, touch.telling, touch.files) for touch in result.touches] == [
        (3 / 7, 3, ["src/moon.py"]),
        (3 / 7, 3, ["src/tides.py"]),
    ]
    assert [(file.path, file.added, file.written, file.plain) for file in result.files] == [
        ("src/moon.py", 3, 3, 0),
        ("src/tides.py", 6, 3, 2),
    ]
    assert (result.sha, result.subject, result.strength, result.is_uncertain) == (sha, "high water", "strong", False)
    assert result.verdict == "6 of 7 lines (86%) were written in 2 conversations; 1 in none that was found"


def test_edits_of_failed_calls_are_not_origins_of_a_commit(shelf: Shelf, repo: Repo) -> None:
    tides = repo.folder / "src" / "tides.py"
    sha = repo.commit("high water", hours=3, src__tides_py=AFTER)
    call = ToolCall(id="c1", name="replace_string_in_file", status="failed")
    shelf.put(conversation_with("failed", [call, edit(tides, BEFORE, AFTER, call_id="c1")], folder=repo.folder))

    result = trace_commit(shelf.choose(), sha, repo.folder)

    assert (result.written, result.unwritten) == (0, 3)
    assert [lines for _, _, lines in found(result)] in ([], [0])
    assert all(strength == "weak" for _, strength, _ in found(result))


def test_a_line_counts_for_the_last_conversation_that_wrote_it(shelf: Shelf, repo: Repo) -> None:
    tides = repo.folder / "src" / "tides.py"
    repo.commit("high water", hours=9, src__tides_py=AFTER)
    shelf.put(
        conversation_with("first", [edit(tides, BEFORE, AFTER)], folder=repo.folder),
        conversation_with("second", [edit(tides, BEFORE, AFTER)], folder=repo.folder, hours=2),
    )

    result = trace_commit(shelf.choose(), "HEAD", repo.folder)

    assert found(result) == [("second", "strong", 3), ("first", "weak", 0)]
    assert result.written == 3


def test_edits_after_the_commit_do_not_count(shelf: Shelf, repo: Repo) -> None:
    tides = repo.folder / "src" / "tides.py"
    repo.commit("high water", hours=1, src__tides_py=AFTER)
    late = conversation_with("late", [edit(tides, BEFORE, AFTER)], folder=repo.folder, hours=3)
    long_ago = conversation_with("old", [edit(tides, BEFORE, AFTER)], folder=repo.folder, hours=-24 * 60)

    result = trace_commit(shelf.put(late, long_ago).choose(), "HEAD", repo.folder)

    assert found(result) == [("old", "medium", 3)]
    assert "60 days before" in result.touches[0].evidence[0].text


def test_few_or_short_lines_are_not_strong_evidence(shelf: Shelf, repo: Repo) -> None:
    tides = repo.folder / "src" / "tides.py"
    some = BEFORE + "value_of_the_tide = 4\n"
    repo.commit(
        "high water", hours=1, src__tides_py=some + "one_more_line = 1\nand_another_line = 2\nthe_last_one = 3\n"
    )
    shelf.put(conversation_with("harbour", [edit(tides, BEFORE, some)], folder=repo.folder))

    result = trace_commit(shelf.choose(), "HEAD", repo.folder)

    assert (found(result), result.unwritten, result.is_uncertain) == ([("harbour", "medium", 1)], 3, True)


def test_one_line_is_strong_evidence_for_a_commit_of_one_line(shelf: Shelf, repo: Repo) -> None:
    some = BEFORE + "value_of_the_tide = 4\n"
    repo.commit("high water", hours=1, src__tides_py=some)
    shelf.put(conversation_with("harbour", [edit(repo.folder / "src" / "tides.py", BEFORE, some)], folder=repo.folder))

    assert found(trace_commit(shelf.choose(), "HEAD", repo.folder)) == [("harbour", "strong", 1)]


def test_lines_written_in_a_clone_are_medium_evidence(shelf: Shelf, repo: Repo) -> None:
    repo.commit("high water", hours=1, src__tides_py=AFTER)
    shelf.put(
        conversation_with(
            "clone", [edit("/home/ben/tide-tables/src/tides.py", BEFORE, AFTER)], folder="/home/ben/tide-tables"
        )
    )

    assert found(trace_commit(shelf.choose(), "HEAD", repo.folder)) == [("clone", "medium", 3)]


def test_a_commit_that_only_removes_is_traced_by_its_removed_lines(shelf: Shelf, repo: Repo) -> None:
    tides = repo.folder / "src" / "tides.py"
    repo.commit("high water", hours=-20, src__tides_py=AFTER)
    repo.commit("back", hours=1, src__tides_py=BEFORE)
    shelf.put(conversation_with("remover", [edit(tides, AFTER, BEFORE)], folder=repo.folder))

    result = trace_commit(shelf.choose(), "HEAD", repo.folder)

    assert found(result) == [("remover", "medium", 0)]
    assert "removed 3 of 4 removed lines" in result.touches[0].evidence[0].text
    assert result.verdict == "the commit adds no lines except blanks and signs"


def test_an_edit_recorded_only_by_its_arguments_is_medium_evidence(shelf: Shelf, repo: Repo) -> None:
    repo.commit("high water", hours=1, src__tides_py=AFTER)
    arguments = encode({"filePath": str(repo.folder / "src" / "tides.py"), "oldString": BEFORE, "newString": AFTER})
    shelf.put(
        conversation_with("harbour", [ToolCall(id="c", name="replace_string", arguments=arguments)], folder=repo.folder)
    )

    assert found(trace_commit(shelf.choose(), "HEAD", repo.folder)) == [("harbour", "medium", 3)]


def test_turns_that_a_fork_repeats_and_conversations_not_chosen_do_not_count(shelf: Shelf, repo: Repo) -> None:
    tides = repo.folder / "src" / "tides.py"
    repo.commit("high water", hours=30, src__tides_py=AFTER)
    first = conversation_with("first", [edit(tides, BEFORE, AFTER)], folder=repo.folder)
    fork = conversation_with("fork", [edit(tides, BEFORE, AFTER)], folder=repo.folder, hours=1)
    fork.turns[0] = first.turns[0]
    shelf.put(first, fork)

    assert found(trace_commit(shelf.choose(), "HEAD", repo.folder))[0] == ("first", "strong", 3)
    alone = shelf.choose(conversation="vscode:fork")
    assert found(trace_commit(alone, "HEAD", repo.folder)) == [("fork", "strong", 3)]


# --- references -------------------------------------------------------------------------------------------------


def test_the_conversation_that_ran_git_commit_made_it(shelf: Shelf, repo: Repo) -> None:
    sha = repo.commit("high water", hours=1, src__tides_py=AFTER)
    shelf.put(
        conversation_with(
            "maker", ran("git add -A && git commit -m x", f"[main {sha[:7]}] x\n 1 file changed"), hours=1
        ),
        conversation_with("viewer", ran("git show", f"commit {sha}\n"), hours=1.5),
        conversation_with("other", ran("git commit -m y", "[main 0000000] y"), hours=1),
        conversation_with(
            "output", [Terminal(command="git commit -am x", output=f"[wip/a (root-commit) {sha[:12]}] x")], hours=1
        ),
    )

    result = trace_commit(shelf.choose(), sha, repo.folder)

    assert sorted(found(result)[:2]) == [("maker", "strong", 0), ("output", "strong", 0)]
    assert ("viewer", "medium", 0) in found(result)
    assert kinds(result.touches[0])[0] == ("commit", "strong")


def test_naming_a_commit_soon_is_stronger_evidence_than_naming_it_later(shelf: Shelf, repo: Repo) -> None:
    sha = repo.commit("high water", hours=1, src__tides_py=AFTER)
    shelf.put(
        conversation_with("soon", [Text(text=f"Committed as {sha[:8]}.")], folder=None, hours=1.5),
        conversation_with("later", [Text(text=f"What did {sha} do?")], folder=None, hours=90),
        conversation_with(
            "store", [], folder=None, relations=[Relation(kind="commit", other_id=sha[:10], reason="named in turn 0")]
        ),
        conversation_with("branch", [], folder=None, relations=[Relation(kind="ref", other_id=sha[:10])]),
        conversation_with("nothing", [Text(text=f"Not {sha[:6]}.")], folder=None),
    )

    result = trace_commit(shelf.choose(), sha, repo.folder)

    assert sorted(found(result)) == [("later", "weak", 0), ("soon", "medium", 0), ("store", "medium", 0)]
    assert (result.is_uncertain, result.strength) == (True, "medium")


def test_git_commit_run_at_the_same_time_in_the_project_is_evidence(shelf: Shelf, repo: Repo) -> None:
    repo.commit("high water", hours=1, src__tides_py=AFTER)
    parts = ran("git commit -qm high", "")
    assert isinstance(parts[0], ToolCall)
    parts[0].started_at = after(1)
    shelf.put(
        conversation_with("quiet", parts, folder=repo.folder, hours=1),
        conversation_with("boats", parts, folder="/home/ben/boats", hours=1),
    )

    result = trace_commit(shelf.choose(), "HEAD", repo.folder)

    assert found(result) == [("quiet", "medium", 0)]
    assert kinds(result.touches[0]) == [("commit", "medium"), ("time", "weak")]


def test_running_in_the_folder_before_the_commit_is_weak_evidence(shelf: Shelf, repo: Repo) -> None:
    repo.commit("high water", hours=6, src__tides_py=AFTER)
    shelf.put(
        conversation_with("before", [], folder=repo.folder / "src"),
        conversation_with("long-before", [], folder=repo.folder, hours=-30),
        conversation_with("after", [], folder=repo.folder, hours=7),
        conversation_with("elsewhere", [], folder="/home/ben/boats"),
    )

    result = trace_commit(shelf.choose(), "HEAD", repo.folder)

    assert found(result) == [("before", "weak", 0)]
    assert (result.touches[0].is_before, result.is_uncertain) == (True, True)


def test_starting_at_the_parent_commit_is_evidence(shelf: Shelf, repo: Repo) -> None:
    parent = repo.git("rev-parse", "HEAD")
    repo.commit("high water", hours=1, src__tides_py=AFTER)
    place = Workspace(folder=str(repo.folder), commit=parent)
    shelf.put(conversation_with("harbour", [edit(repo.folder / "src" / "tides.py", BEFORE, AFTER)], workspace=place))

    (touch,) = trace_commit(shelf.choose(), "HEAD", repo.folder).touches

    assert kinds(touch) == [("edit", "strong"), ("head", "medium"), ("time", "weak")]


def test_a_commit_without_conversations_is_reported_as_such(shelf: Shelf, repo: Repo) -> None:
    result = trace_commit(shelf.put().choose(), "HEAD", repo.folder)

    assert (result.touches, result.strength, result.unwritten, result.plain) == ([], None, 3, 1)
    assert result.verdict == "no conversation was found for the commit"


# --- odd commits ------------------------------------------------------------------------------------------------


def test_a_merge_is_compared_with_its_first_parent(shelf: Shelf, repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("high water", hours=1, src__tides_py=AFTER)
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "side", at=after(2))
    shelf.put(conversation_with("harbour", [edit(repo.folder / "src" / "tides.py", BEFORE, AFTER)], folder=repo.folder))

    result = trace_commit(shelf.choose(), "main", repo.folder)

    assert (found(result), len(result.parents)) == ([("harbour", "strong", 3)], 2)
    assert result.notes == ["this is a merge; it was compared with its first parent"]


def test_a_renamed_file_is_found_under_its_old_name_too(shelf: Shelf, repo: Repo) -> None:
    repo.git("mv", "src/tides.py", "src/water.py")
    repo.commit("rename", hours=1, src__water_py=BEFORE + "value_of_the_tide = 4\n")
    shelf.put(
        conversation_with(
            "harbour",
            [edit(repo.folder / "src/tides.py", BEFORE, BEFORE + "value_of_the_tide = 4\n")],
            folder=repo.folder,
        )
    )

    result = trace_commit(shelf.choose(), "HEAD", repo.folder)

    assert [(file.path, file.old_path, file.written) for file in result.files] == [("src/water.py", "src/tides.py", 1)]


@pytest.mark.skipif(os.name == "nt", reason="Windows knows no such names")
def test_a_commit_may_have_binary_files_links_and_odd_names(shelf: Shelf, repo: Repo) -> None:
    odd = repo.write('odd\n"na me"\t.py', AFTER)
    raw = repo.write(os.fsdecode(b"\xff.py"), "plain_looking_line = 1\n")
    repo.write("picture.png", b"\x89PNG\0\1")
    (repo.folder / "src" / "tides.py").unlink()
    (repo.folder / "src" / "tides.py").symlink_to("elsewhere")
    repo.write("not-a-header.txt", "--- a/x\n+++ b/x\n@@ -1 +1 @@\ndiff --git a/x b/x\n")
    repo.commit("odd", hours=1)
    shelf.put(
        conversation_with("odd", [FileEdit(path=str(odd), diff=unified_diff(BEFORE, AFTER, "x"))], folder=repo.folder),
        conversation_with(
            "raw", [FileEdit(path=str(raw), diff="@@ -0,0 +1 @@\n+plain_looking_line = 1\n")], folder=repo.folder
        ),
    )

    result = trace_commit(shelf.choose(), "HEAD", repo.folder)

    files = {file.path: file for file in result.files}
    assert set(files) == {"not-a-header.txt", 'odd\n"na me"\t.py', "picture.png", "src/tides.py", "\ufffd.py"}
    assert (files["picture.png"].is_binary, files["not-a-header.txt"].added) == (True, 4)
    assert sorted(found(result)) == [("odd", "strong", 3), ("raw", "medium", 1)]
    assert encode(result.verdict)


def test_an_empty_commit_adds_nothing(shelf: Shelf, repo: Repo) -> None:
    repo.commit("nothing", hours=1)

    assert trace_commit(shelf.put().choose(), "HEAD", repo.folder).files == []


# --- git --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", ["nothing-like-that", "--all", "-x", "", "HEAD..HEAD", "HEAD:src", "a\0b"])
def test_invalid_revisions_are_refused(shelf: Shelf, repo: Repo, revision: str) -> None:
    with pytest.raises(GitError, match=r"is not a (commit|revision)"):
        trace_commit(shelf.put().choose(), revision, repo.folder)


@pytest.mark.parametrize("revision", ["HEAD", "main", "HEAD~0", "@", "v1.0", ":/low water"])
def test_every_form_of_revision_is_accepted(shelf: Shelf, repo: Repo, revision: str) -> None:
    repo.git("tag", "-a", "v1.0", "-m", "first")

    assert trace_commit(shelf.put().choose(), revision, repo.folder / "src").subject == "low water"


def test_commit_without_repository_or_git_is_an_error(
    shelf: Shelf, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(GitError, match="is not in a git repository"):
        trace_commit(shelf.put().choose(), "HEAD", tmp_path / "plain")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitError, match="git is not installed"):
        trace_commit(shelf.choose(), "HEAD", repo.folder)


@pytest.mark.skipif(os.name == "nt", reason="the programs are shell scripts")
def test_a_repository_cannot_make_git_run_anything(shelf: Shelf, repo: Repo, tmp_path: Path) -> None:
    trap = tmp_path / "trap.sh"
    caught = tmp_path / "caught"
    trap.write_text(f"#!/bin/sh\necho $0 $* >> '{caught}'\ncat\n")
    trap.chmod(0o755)
    repo.write(".gitattributes", "* diff=trap filter=trap\n")
    repo.commit("high water", hours=1, src__tides_py=AFTER)
    for name in (
        "core.fsmonitor", "core.pager", "core.editor", "diff.external", "diff.trap.command", "diff.trap.textconv",
        "filter.trap.clean", "filter.trap.smudge", "filter.trap.process", "gpg.program", "core.sshCommand",
        "pager.blame", "pager.log", "interactive.diffFilter",
    ):  # fmt: skip
        repo.git("config", name, str(trap))
    repo.git("config", "log.showSignature", "true")
    hooks = repo.folder / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "post-checkout", "reference-transaction"):
        (hooks / name).write_text(trap.read_text())
        (hooks / name).chmod(0o755)
    caught.unlink(missing_ok=True)
    path = repo.write("src/tides.py", AFTER + "# not committed, so that git would look at the file\n")
    shelf.put(conversation_with("harbour", [edit(path, BEFORE, AFTER)], folder=repo.folder))

    commit = trace_commit(shelf.choose(), "HEAD", repo.folder)
    lines = blame(shelf.choose(), path, 1, 9)

    assert not caught.exists()
    assert commit.written == 3
    assert [line.commit == commit.sha for line in lines.origins] == [False, False, False, False, *[True] * 4, False]


def test_the_environment_does_not_lead_git_elsewhere(
    shelf: Shelf, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Repo(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other.folder / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.folder))

    assert Repository(repo.folder).top.resolve() == repo.folder.resolve()


def test_git_is_read_only_here(shelf: Shelf, repo: Repo) -> None:
    def state() -> dict[str, int]:
        return {str(path): path.stat().st_mtime_ns for path in sorted(repo.folder.rglob("*"))}

    before = state()
    trace_commit(shelf.put().choose(), "HEAD", repo.folder)
    blame(shelf.choose(), repo.folder / "src" / "tides.py", 1)

    assert state() == before


def test_output_of_git_is_limited(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "MOST_BYTES", 10)

    with pytest.raises(GitError, match="printed more than"):
        Repository(repo.folder)


@pytest.mark.skipif(os.name == "nt", reason="the program is a shell script")
def test_run_time_of_git_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(git, "TIMEOUT_SECONDS", 0.1)

    with pytest.raises(GitError, match="did not answer"):
        Repository(tmp_path)


@pytest.mark.parametrize(
    ("written", "name"),
    [(b"plain.py", "plain.py"), (b'"a\\nb\\"c\\\\d"', 'a\nb"c\\d'), (b'"\\303\\274"', "ü"), (b'"\\377"', "\udcff")],
)
@pytest.mark.skipif(os.name == "nt", reason="names are no bytes there")
def test_quoted_names_of_git_are_unquoted(written: bytes, name: str) -> None:
    assert unquoted(written) == name
