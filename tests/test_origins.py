"""An archive remembers what it was made from, and is updated from that and from nothing else."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from copilog.ingest.origins import origins_of
from copilog.sources.roots import Root
from copilog.store.archive import Archive
from copilog.store.units import recorded_origins
from tests.cli.homes import Home, Outcome, move_in, run, session
from tests.older_archives import make_older

SCHEMA_WITHOUT_ORIGINS = 5
MINE, YOURS, BACKUP = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "123")


def home_with(folder: Path, name: str) -> Home:
    made = Home(folder)
    made.add(made.workspace(1, "/home/ana/code/tide-tables"), session(name, f"A question in {folder.name}"))
    return made


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Return the home of this machine."""
    made = home_with(tmp_path / "mine", MINE)
    move_in(monkeypatch, tmp_path, made)
    return made


@pytest.fixture
def yours(tmp_path: Path) -> Home:
    return home_with(tmp_path / "yours", YOURS)


@pytest.fixture
def other(tmp_path: Path, mine: Home, yours: Home) -> Path:
    """Return an archive that was made from another home."""
    path = tmp_path / "other.db"
    assert run("scan", "--archive", path, "--root", yours.root).code == 0
    return path


def listed(*options: object) -> set[str]:
    return ids_of(run("list", "--json", *options))


def ids_of(outcome: Outcome) -> set[str]:
    return {row["id"].removeprefix("vscode:") for row in outcome.json}


def gone(path: Path) -> set[str]:
    return {row["id"].removeprefix("vscode:") for row in run("list", "--json", "--archive", path, "--no-scan").json
            if row["gone_at"]}  # fmt: skip


def forget_origins(path: Path) -> None:
    """Make it one of an earlier version, which remembered only what a scan is called."""
    make_older(path, SCHEMA_WITHOUT_ORIGINS)


# --- from those, and from nothing else ------------------------------------------------------------------------------


@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize("command", [("list",), ("search", "question"), ("stats",), ("scan",), ("export", "last")])
def test_an_archive_of_another_home_is_not_updated_from_this_machine(
    other: Path, yours: Home, command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_old: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    if is_old:
        forget_origins(other)
    yours.add(yours.workspace(2), session(BACKUP, "A later question"))

    assert run(*command, "--archive", other).code == 0

    assert listed("--archive", other, "--no-scan") == {YOURS, BACKUP}
    assert listed() == {MINE}


@pytest.mark.parametrize("command", [("list",), ("search", "question"), ("stats",), ("scan",), ("export", "last")])
def test_an_archive_of_another_home_in_the_environment_is_not_updated_from_this_machine(
    other: Path, yours: Home, command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COPILOG_ARCHIVE", str(other))
    yours.add(yours.workspace(2), session(BACKUP, "A later question"))

    assert run(*command).code == 0

    assert listed("--no-scan") == {YOURS, BACKUP}


def test_a_new_archive_that_the_environment_names_is_made_from_this_machine(
    tmp_path: Path, mine: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPILOG_ARCHIVE", str(tmp_path / "new.db"))
    assert listed() == {MINE}
    mine.add(mine.workspace(2), session(BACKUP, "A later question"))

    assert listed() == {MINE, BACKUP}


def test_an_archive_of_this_machine_is_updated_from_it(tmp_path: Path, mine: Home) -> None:
    path = tmp_path / "work.db"
    assert listed("--archive", path) == {MINE}
    mine.add(mine.workspace(2), session(BACKUP, "A later question"))

    assert listed("--archive", path) == {MINE, BACKUP}
    forget_origins(path)
    mine.add(mine.workspace(2), session(YOURS, "The last question"))
    assert listed("--archive", path) == {MINE, BACKUP, YOURS}
    with Archive(path) as archive:
        assert recorded_origins(archive.connection) == [("this machine", "machine", str(Path.home()))]


@pytest.mark.parametrize("is_old", [False, True])
def test_an_archive_of_the_home_of_another_user_is_not_updated(
    tmp_path: Path, mine: Home, monkeypatch: pytest.MonkeyPatch, *, is_old: bool
) -> None:
    path = tmp_path / "work.db"
    assert listed("--archive", path) == {MINE}
    if is_old:
        forget_origins(path)
    away = home_with(tmp_path / "away", YOURS)
    (tmp_path / "elsewhere").mkdir()
    move_in(monkeypatch, tmp_path / "elsewhere", away)

    told = run("list", "--json", "--archive", path)

    assert ids_of(told) == {MINE}
    assert "which is not this home folder; it is not updated" in told.err
    assert gone(path) == set()
    assert mine.root.exists()
    monkeypatch.setenv("COPILOG_ARCHIVE", str(path))
    assert listed() == {MINE}


def test_a_separately_scanned_folder_or_file_is_the_origin_of_the_archive(tmp_path: Path, mine: Home) -> None:
    folder, path = tmp_path / "exports", tmp_path / "exports.db"
    folder.mkdir()
    shutil.copy(next(mine.user.rglob("*.json")), folder / "one.json")  # its workspace.json
    (folder / "chat.json").write_text(json.dumps(session(YOURS, "Was this exported?")))
    run("scan", "--archive", path, folder)
    (folder / "more.json").write_text(json.dumps(session(BACKUP, "And this?")))

    assert listed("--archive", path) == {YOURS, BACKUP}


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_your_own_archive_is_made_from_this_machine_whatever_is_added_to_it(
    mine: Home, yours: Home, *, is_elsewhere: bool
) -> None:
    path = Path.home() / "copilog" / "archive.db"  # XDG_DATA_HOME is the home folder here
    own = () if is_elsewhere else ("--archive", path)
    assert listed(*own) == {MINE}
    run("scan", *own, "--root", yours.root)
    mine.add(mine.workspace(2), session(BACKUP, "A later question"))

    assert listed(*own) == {MINE, YOURS, BACKUP}


def test_an_archive_without_recorded_origins_is_not_updated(tmp_path: Path, mine: Home, yours: Home) -> None:
    path = tmp_path / "made.db"
    run("scan", "--archive", path, "--root", yours.root)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM origin")

    told = run("list", "--json", "--archive", path)

    assert ids_of(told) == {YOURS}
    assert "it has no record of what it was made from" in told.err
    assert mine.root.exists()


# --- an archive together with a root ------------------------------------------------------------------------------


def test_an_archive_together_with_a_root_is_filled_from_that_root(tmp_path: Path, mine: Home, yours: Home) -> None:
    path = tmp_path / "both.db"

    assert listed("--archive", path, "--root", yours.root) == {YOURS}
    assert path.exists()
    assert listed("--archive", path) == {YOURS}
    assert listed("--archive", path, "--root", mine.root) == {MINE, YOURS}
    assert listed("--root", mine.root) == {MINE}
    assert listed("--archive", path, "--root", mine.root, "--live") == {MINE}


def test_the_sample_can_be_put_into_an_archive_that_is_named(tmp_path: Path, mine: Home) -> None:
    path = tmp_path / "sample.db"
    sample = listed("--sample", "--long")

    assert listed("--archive", path, "--sample") == listed("--archive", path) == sample
    assert MINE not in sample
    assert mine.root.exists()


# --- origins that do not exist now ---------------------------------------------------------------------------------


def test_conversations_of_an_unmounted_root_are_not_gone(tmp_path: Path, other: Path, yours: Home) -> None:
    yours.root.rename(tmp_path / "unmounted")

    told = run("list", "--json", "--archive", other)
    assert (ids_of(told), gone(other)) == ({YOURS}, set())
    assert f"{yours.root}: does not exist now; its conversations stay in the archive" in told.err
    yours.root.mkdir()  # where it is mounted on other days
    assert (listed("--archive", other), gone(other)) == ({YOURS}, set())
    yours.root.rmdir()
    (tmp_path / "unmounted").rename(yours.root)
    again = run("scan", "--archive", other)
    assert "1 unchanged; 0 of" in again.err


def test_of_several_roots_those_that_are_there_are_read(tmp_path: Path, mine: Home, yours: Home) -> None:
    path = tmp_path / "two.db"
    mine.add(mine.workspace(1), session(BACKUP, "On both"))
    yours.add(yours.workspace(1), session(BACKUP, "On both", "with more on the disk"))
    run("scan", "--archive", path, "--root", mine.root, "--root", yours.root)
    yours.root.rename(tmp_path / "unmounted")
    mine.add(mine.workspace(2), session(YOURS.replace("2", "4"), "A later question"))

    found = {row["id"].removeprefix("vscode:"): row for row in run("list", "--json", "--archive", path).json}

    assert set(found) == {MINE, YOURS, BACKUP, YOURS.replace("2", "4")}
    assert gone(path) == set()
    assert found[BACKUP]["turns"] == 2, "what the disk had of it stays, too"
    next((mine.user / "workspaceStorage").rglob(f"{MINE}.json")).unlink()
    run("scan", "--archive", path)
    assert gone(path) == {MINE}, "what was removed from a root that is there is gone"


def test_a_root_of_the_config_file_that_is_not_mounted_lets_its_conversations_be(
    tmp_path: Path, yours: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = home_with(tmp_path / "backup", BACKUP)
    path = move_in(monkeypatch, tmp_path, yours, backup)
    assert listed() == {YOURS, BACKUP}
    backup.root.rename(tmp_path / "unmounted")
    yours.add(yours.workspace(2), session(MINE, "A later question"))

    assert listed() == {MINE, YOURS, BACKUP}
    assert gone(path) == set()
    assert "0 of" in run("scan").err, "and nothing is read again while it is away"


def test_the_origins_of_the_archive_are_watched(other: Path, yours: Home, mine: Home) -> None:
    def machine() -> list[Root]:
        raise AssertionError("nobody asks for the places of this machine")

    with Archive(other) as archive:
        origins = origins_of(archive, machine)

    assert [root.path for root in origins.roots] == [yours.root / "Code"]
    assert not origins.has_machine
    assert mine.root.exists()
