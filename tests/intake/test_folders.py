"""Links, pipes and closed folders: what is read, what is reported, and that nothing of it counts as gone."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from copilog import Report
from copilog.ingest import discover, find_roots
from copilog.ingest.scanning import scan
from copilog.intake import folders
from copilog.intake.folders import names_in, take_skipped_paths
from copilog.sample import home as sample_home
from copilog.sources.roots import roots_from
from copilog.store.archive import Archive
from copilog.store.units import recorded_origins
from tests.cli.homes import Home, run, session


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home" / ".config")
    made.add(made.workspace(1), session("s-1", "Where are the beans?"))
    return made


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "archive.db", write=True) as opened:
        yield opened


def moved(path: Path, target: Path) -> Path:
    """Move a folder elsewhere, with a link in its place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(path, target)
    path.symlink_to(target)
    return target


def found(*roots: Path) -> tuple[list[str], Report]:
    report = Report()
    return sorted(found.native_id or "" for found in discover(list(roots), report=report)), report


@pytest.mark.parametrize("name", ["Code", "Code/User", "Code/User/workspaceStorage"])
def test_a_link_where_a_program_keeps_its_data_is_followed(home: Home, tmp_path: Path, name: str) -> None:
    target = moved(tmp_path / "home" / ".config" / name, tmp_path / "dotfiles" / "some")

    ids, report = found(tmp_path / "home")

    assert ids == ["s-1"]
    assert list(report.diagnostics()) == []
    whys = {root.path: root.why for root in roots_from(tmp_path / "home")}
    assert whys[target] == f"link at {tmp_path / 'home' / '.config' / name}"


def test_a_linked_home_of_copilot_cli_is_read_at_its_target(tmp_path: Path, archive: Archive) -> None:
    home = Path(shutil.copytree(sample_home(), tmp_path / "home"))
    before = found(home)[0]
    target = moved(home / ".copilot", tmp_path / "dotfiles" / "copilot")

    ids, report = found(home)
    checked = run("doctor", "--root", home)
    scan(archive, roots=find_roots([home]))

    assert ids == before
    assert [note for note in report.diagnostics() if note.code == "broken-link"] == []
    assert f"{target}  (link at {home / '.copilot'})" in checked.out
    assert "not followed" not in checked.out + checked.err
    assert [problem for problem in archive.problems() if problem.code == "broken-link"] == []
    assert {str(target)} == {str(Path(path).parents[2]) for path in paths_of_the_cli(archive)}


def paths_of_the_cli(archive: Archive) -> list[str]:
    rows = archive.connection.execute(
        "SELECT path FROM trace WHERE source = 'cli-events' AND path LIKE '%events.jsonl'"
    )
    return [path for (path,) in rows]


def test_roots_that_a_link_leads_to_belong_to_the_folder_that_was_named(
    home: Home, tmp_path: Path, archive: Archive
) -> None:
    moved(tmp_path / "home" / ".config" / "Code" / "User", tmp_path / "dotfiles" / "User")

    scan(archive, roots=find_roots([tmp_path / "home"]))

    assert recorded_origins(archive.connection) == [(str(tmp_path / "home"), "roots", None)]


def test_a_link_to_a_link_is_followed(home: Home, tmp_path: Path) -> None:
    user = moved(tmp_path / "home" / ".config" / "Code" / "User", tmp_path / "dotfiles" / "user")
    moved(user / "workspaceStorage", tmp_path / "big-disk" / "storage")

    assert found(tmp_path / "home")[0] == ["s-1"]


def test_links_in_a_circle_end(home: Home, tmp_path: Path) -> None:
    user = tmp_path / "home" / ".config" / "Code" / "User"
    (user / "globalStorage").mkdir()
    shutil.rmtree(user / "globalStorage")
    (user / "globalStorage").symlink_to(tmp_path / "home")
    (user / "profiles").symlink_to(user)

    assert found(tmp_path / "home")[0] == ["s-1"]


def test_a_home_that_is_a_link_is_read(home: Home, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "home")

    assert found(tmp_path / "link")[0] == ["s-1"]


@pytest.mark.parametrize("name", ["chatSessions", "chatSessions/s-1.json"])
def test_a_link_further_down_is_reported_with_its_target_and_not_followed(
    home: Home, tmp_path: Path, name: str
) -> None:
    link = home.workspace(1) / name
    target = moved(link, tmp_path / "elsewhere" / "x")

    ids, report = found(tmp_path / "home")

    assert ids == []
    assert [(told.path, told.code) for told in report.diagnostics()] == [(str(link), "broken-link")]
    assert str(target) in next(report.diagnostics()).reason


def test_a_linked_folder_of_sessions_of_the_cli_is_reported_and_not_followed(tmp_path: Path) -> None:
    sessions = tmp_path / "home" / ".copilot" / "session-state"
    (sessions / "s1").mkdir(parents=True)
    (sessions / "s1" / "events.jsonl").write_text('{"type": "user.message", "data": {"content": "hi"}}\n')
    target = moved(sessions, tmp_path / "elsewhere")

    ids, report = found(tmp_path / "home")

    assert ids == []
    assert [(told.path, told.code) for told in report.diagnostics()] == [(str(sessions), "broken-link")]
    assert str(target) in next(report.diagnostics()).reason


def test_a_pipe_named_by_hand_is_refused_by_every_command(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    pipe = str(tmp_path / "pipe.jsonl")

    for command in (
        ["show", pipe],
        ["inspect", pipe],
        ["scan", pipe],
        ["list", "--root", pipe],
        ["extract", pipe, "-"],
    ):
        done = run(*command)

        assert done.code in (1, 2), command
        assert "a pipe" in done.err, command


def closed(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Refuse to list a folder, as the system does without permission."""
    scandir, lstat, stat = os.scandir, os.lstat, os.stat

    def refuse(path: Any) -> None:
        if str(path).startswith(f"{folder}{os.sep}"):
            raise PermissionError(13, "Permission denied", str(path))

    def listed(path: Any = ".") -> Any:
        refuse(f"{path}{os.sep}")
        return scandir(path)

    def looked(function: Any) -> Any:
        def look(path: Any, **options: Any) -> Any:
            if not isinstance(path, int):
                refuse(path)
            return function(path, **options)

        return look

    monkeypatch.setattr(os, "scandir", listed)
    monkeypatch.setattr(os, "lstat", looked(lstat))
    monkeypatch.setattr(os, "stat", looked(stat))


@pytest.mark.parametrize("name", [".", "chatSessions"])
def test_files_in_an_unreadable_folder_are_reported_and_do_not_count_as_gone(
    home: Home, tmp_path: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    roots = find_roots([tmp_path / "home"])
    assert scan(archive, roots=roots).new == 1
    folder = home.workspace(1) / name

    with monkeypatch.context() as patched:
        closed(patched, folder)
        report = Report()
        result = scan(archive, roots=roots, report=report)

    assert (result.gone, result.gone_ids) == (0, [])
    assert [(told.path, told.code) for told in report.diagnostics()] == [(str(folder), "unreadable")]
    assert [summary.id for summary in archive.list()] == ["vscode:s-1"]
    assert scan(archive, roots=roots).gone == 0


@pytest.fixture
def home_with_specials(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[Path, str]:
    """Put a pipe, a socket and a link among the sessions of a home; returns why each is not read."""
    sessions, target = home.workspace(1) / "chatSessions", tmp_path / "elsewhere.json"
    target.write_text("{}")
    os.mkfifo(sessions / "pipe.json")
    (sessions / "link.json").symlink_to(target)
    monkeypatch.chdir(sessions)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.json")
    return {
        sessions / "pipe.json": "is a pipe",
        sessions / "socket.json": "is a socket",
        sessions / "link.json": str(target),
    }


def test_every_command_reports_pipes_sockets_and_links_among_files(
    home_with_specials: dict[Path, str], tmp_path: Path
) -> None:
    home, archive = tmp_path / "home", tmp_path / "archive.db"
    for command in (
        ["scan", "--root", home, "--archive", archive],
        ["scan", "--archive", archive],
        ["list", "--archive", archive],
        ["list", "--archive", archive, "--root", home],
        ["problems", "--archive", archive, "--no-scan"],
        ["list", "--root", home, "--live"],
        ["show", "--root", home, "s-1"],
        ["doctor", "--root", home],
        ["inspect", home],
        ["inspect", home, "--json"],
        ["extract", home, "-o", tmp_path / "out.jsonl"],
    ):
        done = run(*command)

        assert done.code == 0, (command, done.err)
        for path, reason in home_with_specials.items():
            lines = [line for line in (done.out + done.err).splitlines() if path.name in line]
            assert any(reason in line for line in lines) or reason in done.out, (command, path)


def test_inspect_counts_what_was_not_read_by_itself(home_with_specials: dict[Path, str], tmp_path: Path) -> None:
    assert "; 0 of unknown format; 0 bad records; 3 not read" in run("inspect", tmp_path / "home").err


def test_a_problem_ends_with_what_caused_it(
    home_with_specials: dict[Path, str], tmp_path: Path, archive: Archive
) -> None:
    roots = find_roots([tmp_path / "home"])
    scan(archive, roots=roots)
    assert {problem.code for problem in archive.problems()} == {"broken-link", "not-a-file"}

    for path in home_with_specials:
        path.unlink()
    scan(archive, roots=roots)

    assert archive.problems() == []


# --- listings -------------------------------------------------------------------------------------------------------


@pytest.fixture
def old_folder(tmp_path: Path) -> Path:
    """Return a folder that was changed so long ago that its names may be cached."""
    folder = tmp_path / "old"
    (folder / "inner").mkdir(parents=True)
    (folder / "one.json").touch()
    (folder / "elsewhere").symlink_to(tmp_path)
    return folder


def test_an_unchanged_folder_is_listed_once(old_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "JUST_NOW_SECONDS", -1.0)
    first = names_in(old_folder)
    take_skipped_paths()
    monkeypatch.setattr(os, "scandir", None)

    assert names_in(old_folder) == first == (("one.json",), ("inner",), ("elsewhere",))
    assert [path for path, _ in take_skipped_paths()] == [old_folder / "elsewhere"], "a link is noted each time"


def test_a_folder_is_listed_again_when_its_names_change(old_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "JUST_NOW_SECONDS", -1.0)
    names_in(old_folder)
    (old_folder / "two.json").touch()
    os.utime(old_folder, (1, 1))

    assert set(names_in(old_folder).files) == {"one.json", "two.json"}


def test_a_folder_that_was_just_changed_is_not_cached(old_folder: Path) -> None:
    names_in(old_folder)

    assert not [key for key in folders._listed if key[0] == str(old_folder)]
