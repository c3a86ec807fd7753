"""Which file is meant: recorded paths, other names, odd files, repositories, and lines of diffs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.analysis.lineage import current_file
from copilog.analysis.lineage.blame import blame
from copilog.analysis.lineage.current_file import numbers_before
from copilog.analysis.lineage.path_matching import Home, Project, RequestedFile, repository_name
from copilog.errors import UsageError
from copilog.jsonio import encode
from copilog.model import FileEdit
from copilog.textdiff import count_changes, unified_diff
from copilog.textdiff.changed_lines import added_and_removed, lines_of
from tests.analysis.made_up_edits import (
    AFTER,
    BEFORE,
    Repo,
    Shelf,
    conversation_with,
    edit,
    found,
    only,
    origin_and_strength,
)


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path)
    yield made
    made.close()


@pytest.fixture
def tides(tmp_path: Path) -> Path:
    """Write a file outside of any repository, in its present state."""
    path = tmp_path / "tide-tables" / "src" / "tides.py"
    path.parent.mkdir(parents=True)
    path.write_text(AFTER)
    return path


# --- paths ------------------------------------------------------------------------------------------------------

OURS = "/home/ana/src/tide-tables/src/tides.py"
PROJECT = Project("/home/ana/src/tide-tables", ["git@example.com:ana/tide-tables.git"])


@pytest.mark.parametrize(
    ("recorded", "folder", "repository", "likeness"),
    [
        (OURS, None, None, "exact"),
        (f"file://{OURS}", None, None, "exact"),
        (OURS.lstrip("/"), None, None, "exact"),
        ("src/tides.py", "/home/ana/src/tide-tables", None, "exact"),
        ("./src/../src/tides.py", "/home/ana/src/tide-tables", None, "exact"),
        ("vscode-remote://wsl%2Bubuntu" + OURS, None, None, "exact"),
        ("vscode-remote://ssh-remote%2Bbox" + OURS, None, None, "elsewhere"),
        ("/home/ben/tide-tables/src/tides.py", "/home/ben/tide-tables", None, "elsewhere"),
        ("/home/ben/tide-tables/src/tides.py", None, None, "elsewhere"),
        ("c:/code/tide-tables/src/tides.py", "c:/code/tide-tables", None, "elsewhere"),
        ("C:\\code\\tide-tables\\src\\tides.py", None, None, "elsewhere"),
        ("/mnt/c/code/tide-tables/src/tides.py", "/mnt/c/code/tide-tables", None, "elsewhere"),
        ("/srv/checkout/src/tides.py", "/srv/checkout", "ana/tide-tables", "elsewhere"),
        ("/srv/checkout/src/tides.py", "/srv/checkout", "https://example.com/ana/tide-tables.git", "elsewhere"),
        ("/home/ana/src/tide-tables.worktrees/fix-1/src/tides.py", "/home/ana/src/tide-tables", None, "elsewhere"),
        ("/srv/checkout/src/tides.py", "/srv/checkout", "ben/boats", "relative"),
        ("src/tides.py", None, None, "relative"),
        ("tides.py", None, None, "name"),
        ("/home/ben/other/tides.py", "/home/ben/other", None, None),
        ("/home/ana/src/tide-tables/lib/tides.py", "/home/ana/src/tide-tables", None, None),
        ("/home/ana/src/tide-tables/src/tides.pyc", None, None, None),
        ("", None, None, None),
    ],
)
def test_likeness_of_recorded_paths_to_a_file(
    recorded: str, folder: str | None, repository: str | None, likeness: str | None
) -> None:
    assert RequestedFile([OURS], PROJECT).likeness_of(recorded, Home(folder, repository)) == likeness


def test_a_further_work_tree_is_a_copy_of_the_project() -> None:
    project = Project("/home/ana/src/tide-tables.worktrees/fix-1")
    readme = RequestedFile([f"{project.top}/README.md"], project)

    assert project.name == "tide-tables"
    assert project.likeness_of(Home("/home/ana/src/tide-tables.worktrees/fix-2")) == "elsewhere"
    assert readme.likeness_of("/home/ana/src/tide-tables/README.md", Home("/home/ana/src/tide-tables")) == "elsewhere"
    assert readme.likeness_of("/home/ana/src/tide-tables/docs/README.md", Home("/home/ana/src/tide-tables")) is None


def test_windows_paths_ignore_case() -> None:
    file = RequestedFile(["C:\\Code\\Boats\\Main.cs"])

    assert file.likeness_of("c:/code/boats/main.cs", Home()) == "exact"
    assert RequestedFile(["/srv/Boats/Main.cs"]).likeness_of("/srv/boats/Main.cs", Home()) is None


def test_a_readme_of_another_project_is_another_file() -> None:
    readme = RequestedFile(["/home/ana/src/tide-tables/README.md"], PROJECT)

    assert readme.likeness_of("/home/ana/boats/README.md", Home("/home/ana/boats")) is None
    assert readme.likeness_of("/home/ben/tide-tables/README.md", Home("/home/ben/tide-tables")) == "elsewhere"


@pytest.mark.parametrize(
    "address",
    [
        "ana/boats",
        "https://example.com/ana/boats",
        "https://ana@example.com/Ana/Boats.git/",
        "git@example.com:ana/boats.git",
    ],
)
def test_all_addresses_of_a_repository_give_the_same_name(address: str) -> None:
    assert repository_name(address) == "ana/boats"


def test_edits_in_a_clone_are_medium_and_a_bare_name_is_weak(shelf: Shelf, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "tide-tables")
    repo.commit("high water", hours=20, src__tides_py=AFTER)
    path = repo.folder / "src" / "tides.py"
    shelf.put(
        conversation_with(
            "clone", [edit("/home/ben/tide-tables/src/tides.py", BEFORE, AFTER)], folder="/home/ben/tide-tables"
        ),
        conversation_with("named", [edit("tides.py", BEFORE, AFTER)], folder=None, hours=2),
        conversation_with(
            "boats", [edit("/home/ben/boats/tides.py", BEFORE, AFTER)], folder="/home/ben/boats", hours=4
        ),
    )

    result = blame(shelf.choose(), path, 6)

    assert found(result) == [("vscode:named", "weak"), ("vscode:clone", "medium")]
    assert origin_and_strength(only(result)) == ("vscode:clone", "medium")
    assert "in a copy of the project" in (only(result).reason or "")


def test_a_file_is_found_under_the_name_that_it_had_before(shelf: Shelf, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "tide-tables")
    repo.commit("high water", hours=1, src__water_py=AFTER)
    repo.git("mv", "src/water.py", "src/tides.py")
    repo.commit("rename", hours=30)
    shelf.put(conversation_with("harbour", [edit(repo.folder / "src" / "water.py", BEFORE, AFTER)], folder=repo.folder))

    result = blame(shelf.choose(), repo.folder / "src" / "tides.py", 6)

    assert origin_and_strength(only(result)) == ("vscode:harbour", "strong")
    assert result.former_paths == [str(repo.folder / "src" / "water.py")]


def test_a_link_to_a_file_is_the_same_file(shelf: Shelf, tides: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tides.parent.parent)
    shelf.put(conversation_with("harbour", [edit(tides, BEFORE, AFTER)]))

    assert found(blame(shelf.choose(), link / "src" / "tides.py")) == [("vscode:harbour", "strong")]


# --- odd files --------------------------------------------------------------------------------------------------


def test_a_deleted_file_is_still_blamed_by_its_path(shelf: Shelf, tides: Path) -> None:
    shelf.put(conversation_with("harbour", [edit(tides, BEFORE, AFTER)]))
    tides.unlink()
    tides.parent.rmdir()

    result = blame(shelf.choose(), tides, 6)

    assert (found(result), result.exists, result.origins) == ([("vscode:harbour", "strong")], False, [])
    assert "the file does not exist" in result.notes


def test_lines_of_a_deleted_file_come_from_the_last_commit(shelf: Shelf, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "tide-tables")
    repo.commit("high water", hours=1, src__tides_py=AFTER)
    path = repo.folder / "src" / "tides.py"
    shelf.put(conversation_with("harbour", [edit(path, BEFORE, AFTER)], folder=repo.folder))
    path.unlink()

    result = blame(shelf.choose(), path, 6)

    assert (origin_and_strength(only(result)), result.exists) == (("vscode:harbour", "strong"), False)


def test_a_binary_and_a_huge_file_are_blamed_without_their_lines(
    shelf: Shelf, tides: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.put(conversation_with("harbour", [edit(tides, BEFORE, AFTER)]))
    tides.write_bytes(b"\x89PNG\0\0")
    binary = blame(shelf.choose(), tides, 6)
    tides.write_text(AFTER)
    monkeypatch.setattr(current_file, "MOST_BYTES", 16)
    huge = blame(shelf.choose(), tides, 6)

    assert (found(binary), binary.lines, binary.origins) == (found(huge), None, huge.origins)
    assert any("binary" in note for note in binary.notes)
    assert any("MiB" in note for note in huge.notes)


def test_line_breaks_and_encodings_make_no_difference(shelf: Shelf, tides: Path) -> None:
    shelf.put(conversation_with("harbour", [edit(tides, BEFORE, AFTER)]))
    for data in (AFTER.replace("\n", "\r\n").encode("utf-8-sig"), AFTER.encode("utf-16"), AFTER.encode() + b"# \xff\n"):
        tides.write_bytes(data)
        assert origin_and_strength(only(blame(shelf.choose(), tides, 6))) == ("vscode:harbour", "strong")


@pytest.mark.skipif(os.name == "nt", reason="Windows knows no such names")
@pytest.mark.parametrize("name", [b'odd\n"name".py', b"\xff\xfe.py", b"*.py", b":(top)x.py", b"-x.py", b"a%20b.py"])
def test_a_file_may_have_any_name(shelf: Shelf, tmp_path: Path, name: bytes) -> None:
    repo = Repo(tmp_path / "tide-tables")
    path = repo.write(os.fsdecode(name), AFTER)
    repo.commit("high water", hours=1)
    recorded = FileEdit(path=str(path), diff=unified_diff(BEFORE, AFTER, "file"))
    shelf.put(conversation_with("harbour", [recorded], folder=repo.folder))

    result = blame(shelf.choose(), path, 6)

    assert origin_and_strength(only(result)) == ("vscode:harbour", "strong")
    assert only(result).commit is not None
    assert encode(result.path)


def test_a_file_name_that_is_invalid_on_disk_does_not_exist(shelf: Shelf, tmp_path: Path) -> None:
    long = "a" * 5_000
    assert blame(shelf.put().choose(), tmp_path / long).touches == []
    assert blame(shelf.choose(), tmp_path / long / "b.py").exists is False


def test_blame_of_a_folder_is_refused(shelf: Shelf, tides: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        blame(shelf.put().choose(), tides.parent)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_is_not_waited_for(shelf: Shelf, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert (
        "this is not a plain file; its lines are not compared" in blame(shelf.put().choose(), tmp_path / "pipe").notes
    )


# --- git --------------------------------------------------------------------------------------------------------


def test_blame_works_without_git_and_notes_it(shelf: Shelf, tides: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.put(conversation_with("harbour", [edit(tides, BEFORE, AFTER)]))
    monkeypatch.setenv("PATH", str(tides.parent))

    result = blame(shelf.choose(), tides, 6)

    assert origin_and_strength(only(result)) == ("vscode:harbour", "strong")
    assert result.notes == ["git is not installed, or is not on the PATH; the result is without data from git"]


def test_blame_works_outside_of_a_repository_and_notes_it(shelf: Shelf, tides: Path) -> None:
    Repo(tides.parent / "other")  # where git is missing, that is another note

    result = blame(shelf.put(conversation_with("harbour", [edit(tides, BEFORE, AFTER)])).choose(), tides)

    assert found(result) == [("vscode:harbour", "strong")]
    assert [note for note in result.notes if "is not in a git repository" in note] == result.notes


def test_blame_works_in_a_repository_without_commits(shelf: Shelf, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "tide-tables")
    path = repo.write("src/tides.py", AFTER)
    shelf.put(conversation_with("harbour", [edit(path, BEFORE, AFTER)], folder=repo.folder))

    assert origin_and_strength(only(blame(shelf.choose(), path, 6))) == ("vscode:harbour", "strong")


# --- lines of diffs ---------------------------------------------------------------------------------------------

SOME_LINES = st.lists(st.sampled_from(["a", "b", "--- c", "+++ d", "@@ -1 +1 @@", "", "\\ no"]), max_size=12)


@given(SOME_LINES, SOME_LINES)
def test_diffs_have_as_many_lines_as_their_headers_state(old: list[str], new: list[str]) -> None:
    diff = unified_diff("".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new), "file")
    added, removed = added_and_removed(diff)

    assert (len(added), len(removed)) == count_changes(diff)
    assert sorted([*old, *added]) == sorted([*new, *removed])


@given(SOME_LINES, SOME_LINES)
def test_unchanged_lines_map_between_old_and_new_numbers(old: list[str], new: list[str]) -> None:
    numbers = numbers_before(old, new)

    assert all(new[now - 1] == old[before - 1] for now, before in numbers.items())
    assert list(numbers.values()) == sorted(numbers.values())


def test_any_line_ending_ends_a_line() -> None:
    assert lines_of("a\r\nb\rc\n\nd") == ["a", "b", "c", "", "d"]
    assert lines_of("") == []
