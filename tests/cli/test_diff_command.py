"""`copilog diff`: patches that git applies, and the edits that are left out of them."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from copilog.model import (
    AnyPart,
    Conversation,
    EditedFileEvent,
    FileChange,
    FileEdit,
    FileState,
    TextEdit,
    ToolCall,
    ToolResult,
    Workspace,
)
from tests.analysis.made_up_edits import Repo, Shelf, conversation_with
from tests.cli.homes import Outcome, run

TIDES = "def low_water(day):\n    return None\n\n\ndef high_water(day):\n    return None\n"
LATER = "def low_water(day):\n    return day.low\n\n\ndef high_water(day):\n    return None\n"
LOW = ("def low_water(day):\n    return None\n", "def low_water(day):\n    return day.low\n")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "tide-tables")


def called(name: str, call_id: str, **arguments: Any) -> list[AnyPart]:
    """Make a call that succeeded."""
    return [
        ToolCall(id=call_id, name=name, arguments=json.dumps(arguments), status="complete"),
        ToolResult(call_id=call_id, text="The edit was applied."),
    ]


def replacing(path: Path | str, old: str, new: str, call_id: str = "c1") -> list[AnyPart]:
    return called("replace_string_in_file", call_id, filePath=str(path), oldString=old, newString=new)


def creating(path: Path | str, content: str, call_id: str = "n1") -> list[AnyPart]:
    return called("create_file", call_id, filePath=str(path), content=content)


def begun_at(repo: Repo, commit: str | None) -> Workspace:
    return Workspace(folder=str(repo.folder), commit=commit)


def diff_of(tmp_path: Path, conversation: Conversation, *arguments: object) -> Outcome:
    shelf = Shelf(tmp_path).put(conversation)
    shelf.close()
    return run("diff", "last", *arguments, "--archive", tmp_path / "archive.db", "--no-scan")


def apply(repo: Repo, patch: str) -> None:
    """Apply a patch with git, as it is."""
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], cwd=repo.folder, input=patch.encode(), check=True)


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }


# --- the text before is known -----------------------------------------------------------------------------------------


def test_patch_on_the_commit_that_the_conversation_began_at(tmp_path: Path, repo: Repo) -> None:
    sha = repo.commit("tides", tides_py=TIDES)
    path = repo.folder / "tides.py"
    conversation = conversation_with("harbour", replacing(path, *LOW), workspace=begun_at(repo, sha))
    repo.write("tides.py", "something else by now\n")

    outcome = diff_of(tmp_path, conversation, "--patch")
    repo.git("checkout", "-q", "--", ".")
    apply(repo, outcome.out)

    assert outcome.code == 0
    assert path.read_text() == LATER


def test_patch_on_the_work_tree_where_the_old_text_is_found_once(tmp_path: Path, repo: Repo) -> None:
    path = repo.write("tides.py", TIDES)

    outcome = diff_of(tmp_path, conversation_with("harbour", replacing(path, *LOW), folder=repo.folder), "--patch")
    apply(repo, outcome.out)

    assert outcome.code == 0
    assert path.read_text() == LATER


def test_text_found_twice_in_the_work_tree_is_left_out(tmp_path: Path, repo: Repo) -> None:
    path = repo.write("tides.py", TIDES)
    conversation = conversation_with("harbour", replacing(path, "return None", "return 4"), folder=repo.folder)

    outcome = diff_of(tmp_path, conversation, "--patch")

    assert (outcome.code, outcome.out) == (3, "")
    assert "left out: tides.py, turn 1: the old text is in the file several times in the work tree" in outcome.err


def test_text_that_the_work_tree_has_already_is_left_out_with_its_texts(tmp_path: Path, repo: Repo) -> None:
    path = repo.write("tides.py", LATER)
    conversation = conversation_with("harbour", replacing(path, *LOW), folder=repo.folder)

    assert "has the new text already" in diff_of(tmp_path, conversation, "--patch").err
    shown = run("diff", "last", "--archive", tmp_path / "archive.db", "--no-scan").out

    assert "    -    return None" in shown
    assert "    +    return day.low" in shown


def test_new_file_is_edited_later(tmp_path: Path, repo: Repo) -> None:
    path = repo.folder / "docs" / "sea and moon ä.md"
    conversation = conversation_with(
        "harbour",
        creating(path, "# Sea\n\nno line break at the end"),
        replacing(path, "# Sea", "# Sea and moon"),
        folder=repo.folder,
    )

    outcome = diff_of(tmp_path, conversation, "--patch")
    apply(repo, outcome.out)

    assert outcome.code == 0
    assert path.read_text() == "# Sea and moon\n\nno line break at the end"


def test_empty_new_file(tmp_path: Path, repo: Repo) -> None:
    path = repo.folder / "tests" / "__init__.py"

    apply(repo, diff_of(tmp_path, conversation_with("h", creating(path, ""), folder=repo.folder), "--patch").out)

    assert path.read_bytes() == b""


def test_snapshots_of_the_editing_history(tmp_path: Path, repo: Repo) -> None:
    changes = [
        FileChange(uri=uri_of(repo, "a.py"), path=path_of(repo, "a.py"), turn=0, before="one\r\n", after="two\r\n"),
        FileChange(uri=uri_of(repo, "a.py"), path=path_of(repo, "a.py"), turn=1, before="two\r\n", after="three\r\n"),
        FileChange(uri=uri_of(repo, "b.py"), path=path_of(repo, "b.py"), turn=1, action="create", after="new\n"),
        FileChange(uri=uri_of(repo, "c.py"), path=path_of(repo, "c.py"), turn=1, action="delete", before="old\n"),
        FileChange(
            uri=uri_of(repo, "e.py"), path=path_of(repo, "e.py"), old_uri=uri_of(repo, "d.py"), turn=1,
            action="rename", before="same\nold\n", after="same\nnew\n",
        ),
    ]  # fmt: skip
    for name, text in {"a.py": "one\r\n", "c.py": "old\n", "d.py": "same\nold\n"}.items():
        repo.write(name, text)
    repo.commit("before")

    outcome = diff_of(tmp_path, conversation_with("h", [], [], folder=repo.folder, file_changes=changes), "--patch")
    apply(repo, outcome.out)

    assert outcome.code == 0
    assert files_in(repo.folder) == {"a.py": b"three\r\n", "b.py": b"new\n", "e.py": b"same\nnew\n"}


def test_change_between_two_snapshots_is_in_the_patch_and_noted(tmp_path: Path, repo: Repo) -> None:
    texts = [("one\n", "two\n"), ("two, by hand\n", "three\n")]
    changes = [
        FileChange(uri=uri_of(repo, "a.py"), path=path_of(repo, "a.py"), turn=turn, before=before, after=after)
        for turn, (before, after) in enumerate(texts)
    ]
    path = repo.write("a.py", "one\n")

    outcome = diff_of(tmp_path, conversation_with("h", [], [], folder=repo.folder, file_changes=changes), "--patch")
    apply(repo, outcome.out)

    assert path.read_text() == "three\n"
    assert "a.py: something else changed the file between two edits" in outcome.err


def test_lines_that_end_in_cr_lf(tmp_path: Path, repo: Repo) -> None:
    path = repo.write("tides.py", TIDES.replace("\n", "\r\n"))

    apply(repo, diff_of(tmp_path, conversation_with("h", replacing(path, *LOW), folder=repo.folder), "--patch").out)

    assert path.read_bytes() == LATER.replace("\n", "\r\n").encode()


def test_edits_of_which_some_failed_are_left_out(tmp_path: Path, repo: Repo) -> None:
    path = repo.write("tides.py", TIDES)
    pieces = [{"filePath": str(path), "oldString": old, "newString": "x"} for old in ("def low", "def none")]
    call, result = called("multi_replace_string_in_file", "m1", replacements=pieces)
    assert isinstance(result, ToolResult)
    result.text = f"String replacement failed: no match\nThe following files were successfully edited:\n{path}"

    outcome = diff_of(tmp_path, conversation_with("h", [call, result], folder=repo.folder), "--patch")

    assert (outcome.code, outcome.out) == (3, "")
    assert "some edits of the call failed, and which ones is not recorded" in outcome.err


def test_one_turn_of_several(tmp_path: Path, repo: Repo) -> None:
    sha = repo.commit("tides", tides_py=TIDES)
    path = repo.folder / "tides.py"
    conversation = conversation_with(
        "harbour",
        replacing(path, *LOW, "c1"),
        replacing(path, "return day.low", "return day.lowest", "c2"),
        workspace=begun_at(repo, sha),
    )
    repo.write("tides.py", LATER)

    outcome = diff_of(tmp_path, conversation, "tides.py", "--turn", "2", "--patch")
    apply(repo, outcome.out)

    assert path.read_text() == LATER.replace("day.low\n", "day.lowest\n")


def test_backup_of_the_file_is_the_text_before(tmp_path: Path, repo: Repo) -> None:
    path = repo.write("tides.py", TIDES)
    state = FileState(uri=f"file://{path}", path=str(path), initial=TIDES)
    batches = [[TextEdit(2, 12, 2, 16, "day.low")]]
    edit = FileEdit(path=str(path), uri=f"file://{path}", batches=batches)

    apply(repo, diff_of(tmp_path, conversation_with("h", [edit], folder=repo.folder, files=[state]), "--patch").out)

    assert path.read_text() == LATER


def test_patch_as_models_write_it(tmp_path: Path, repo: Repo) -> None:
    path = repo.write("tides.py", TIDES)
    text = f"""*** Begin Patch
*** Update File: {path}
@@ def low_water(day):
 def low_water(day):
-    return None
+    return day.low
*** Add File: {repo.folder}/new.py
+first
+
+third
*** End Patch
"""
    conversation = conversation_with("h", called("apply_patch", "p1", input=text), folder=repo.folder)

    outcome = diff_of(tmp_path, conversation, "--patch")
    apply(repo, outcome.out)

    assert outcome.code == 0
    assert files_in(repo.folder) == {"tides.py": LATER.encode(), "new.py": b"first\n\nthird\n"}


# --- what was kept, undone, changed -----------------------------------------------------------------------------------


def test_undone_edits_are_listed_and_not_in_the_patch(tmp_path: Path, repo: Repo) -> None:
    sha = repo.commit("tides", tides_py=TIDES)
    path = repo.folder / "tides.py"
    conversation = conversation_with(
        "harbour",
        [*replacing(path, *LOW, "c1"), FileEdit(path=str(path), uri=path.as_uri(), call_id="c1")],
        [],
        workspace=begun_at(repo, sha),
    )
    conversation.turns[1].edited_files = [EditedFileEvent(uri=path.as_uri(), action="undo")]

    outcome = diff_of(tmp_path, conversation, "--json")

    (file,) = outcome.json["files"]
    assert file["outcomes"] == ["undone"]
    assert [edit["pieces"] for edit in file["undone"]] == [[{"old": LOW[0], "new": LOW[1]}]]
    assert run("diff", "last", "--patch", "--archive", tmp_path / "archive.db", "--no-scan").out == ""


@pytest.mark.parametrize(
    ("now", "state"),
    [
        (LATER, "as the conversation left it"),
        (TIDES, "undone since"),
        ("x\n", "changed since"),
        (None, "deleted since"),
    ],
)
def test_file_is_compared_with_the_work_tree(tmp_path: Path, repo: Repo, now: str | None, state: str) -> None:
    sha = repo.commit("tides", tides_py=TIDES)
    path = repo.folder / "tides.py"
    if now is None:
        path.unlink()
    else:
        path.write_text(now)

    outcome = diff_of(tmp_path, conversation_with("h", replacing(path, *LOW), workspace=begun_at(repo, sha)), "--stat")

    assert outcome.out == f"M tides.py  +1 -1  turn 1; {state}\n"


# --- paths ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/etc/tides.conf", "outside of the work tree"),
        ("{}/../other.py", "outside of the work tree"),
        ("../other.py", "outside of the work tree"),
        ("{}/.git/hooks/post-checkout", "git's own"),
        ("{}/.GIT/config", "git's own"),
        ("untitled:Untitled-1", "does not name a file"),
        ("{}/linked/x.py", "symbolic link"),
    ],
)
def test_no_path_leads_out_of_the_work_tree(tmp_path: Path, repo: Repo, path: str, reason: str) -> None:
    (repo.folder / "linked").symlink_to(tmp_path)
    conversation = conversation_with("h", creating(path.format(repo.folder), "x\n"), folder=repo.folder)

    outcome = diff_of(tmp_path, conversation, "--patch")

    assert (outcome.code, outcome.out) == (3, "")
    assert reason in outcome.err


def test_file_of_another_machine_is_named_by_its_workspace(tmp_path: Path, repo: Repo) -> None:
    conversation = conversation_with("h", creating("/home/ana/tide-tables/src/x.py", "x\n"))

    outcome = diff_of(tmp_path, conversation, "--patch", "--work-tree", repo.folder)
    apply(repo, outcome.out)

    assert files_in(repo.folder) == {"src/x.py": b"x\n"}


def test_folder_of_the_records_may_be_named(tmp_path: Path, repo: Repo) -> None:
    conversation = conversation_with("h", creating("C:\\Users\\Ana\\tides\\src\\x.py", "x\n"), folder=None)

    there = ("--work-tree", repo.folder, "--recorded-folder", "c:\\Users\\Ana\\tides")
    outcome = diff_of(tmp_path, conversation, "--patch", *there)
    apply(repo, outcome.out)

    assert files_in(repo.folder) == {"src/x.py": b"x\n"}


def test_patch_names_files_from_the_top_of_the_repository(tmp_path: Path, repo: Repo) -> None:
    repo.write("web/app.js", "old();\n")
    conversation = conversation_with("h", replacing("app.js", "old", "new"), folder=repo.folder / "web")

    apply(repo, diff_of(tmp_path, conversation, "--patch").out)

    assert files_in(repo.folder) == {"web/app.js": b"new();\n"}


# --- any edits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_patch_of_random_edits_makes_the_files_of_the_end(tmp_path: Path, repo: Repo, seed: int) -> None:
    chance = random.Random(seed)
    files = {f"dir {number}/file{number}.txt": _random_text(chance) for number in range(4)}
    for name, text in files.items():
        repo.write(name, text)
    sha = repo.commit("before")
    turns: list[list[AnyPart]] = []
    for number in range(8):
        path = chance.choice(sorted(files))
        lines = files[path].split("\n")
        at = chance.randrange(len(lines))
        old = "\n".join(lines[at : at + 3])
        if chance.random() < 0.2 or files[path].count(old) != 1:
            path, text = f"new/{number}.txt", _random_text(chance)
            files[path] = text
            turns.append(creating(repo.folder / path, text, f"c{number}"))
        else:
            new = _random_text(chance)
            files[path] = files[path].replace(old, new)
            turns.append(replacing(repo.folder / path, old, new, f"c{number}"))

    outcome = diff_of(tmp_path, conversation_with("h", *turns, workspace=begun_at(repo, sha)), "--patch")
    apply(repo, outcome.out)

    assert outcome.code == 0
    assert files_in(repo.folder) == {name: text.encode() for name, text in files.items()}


def _random_text(chance: random.Random) -> str:
    words = ("sea", "moon", "tide ", "\tä", "", "-- dash", "@@ -1 +1 @@", "\\ No newline", "\x0cform")
    lines = [f"{chance.choice(words)}{chance.randrange(1000)}" for _ in range(chance.randrange(1, 12))]
    return "\n".join(lines) + chance.choice(["\n", "", "\n\n"])


# --- usage ------------------------------------------------------------------------------------------------------------


def test_file_that_was_not_edited_is_an_error(tmp_path: Path, repo: Repo) -> None:
    conversation = conversation_with("h", creating(repo.folder / "x.py", "x\n"), folder=repo.folder)

    outcome = diff_of(tmp_path, conversation, "y.py")

    assert outcome.code == 2
    assert outcome.err == "copilog: no edit is recorded of 'y.py'; edited were x.py\n"


def test_conversation_without_edits(tmp_path: Path) -> None:
    outcome = diff_of(tmp_path, conversation_with("h", []))

    assert (outcome.code, outcome.out, outcome.err) == (0, "", "no edits of files are recorded\n")


def path_of(repo: Repo, name: str) -> str:
    return str(repo.folder / name)


def uri_of(repo: Repo, name: str) -> str:
    return (repo.folder / name).as_uri()
