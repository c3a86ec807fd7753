"""The archive's file: made for its user alone, kept up to date, and never anybody else's database."""

from __future__ import annotations

import os
import sqlite3
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from copilog.errors import CopilogError, UsageError
from copilog.store import database
from copilog.store.archive import Archive
from copilog.store.database import ScanLock, archive_path, open_database, transaction
from copilog.store.migrations import MIGRATIONS
from copilog.store.schema import APPLICATION_ID

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="rights are those of the user's folder there")


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


@pytest.fixture
def open_umask() -> Iterator[None]:
    """Set a umask that makes new files readable by every user by default."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "archive.db"
    open_database(path, write=True).close()
    return path


# --- where it is ----------------------------------------------------------------------------------------------------


def test_a_path_that_is_named_comes_before_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOG_ARCHIVE", "/home/ana/other.db")

    assert archive_path(Path("mine.db")) == Path("mine.db")
    assert archive_path() == Path("/home/ana/other.db")


@pytest.mark.parametrize(
    ("system", "variables", "expected"),
    [
        ("linux", {}, ".local/share/copilog/archive.db"),
        ("linux", {"XDG_DATA_HOME": "{home}/data"}, "data/copilog/archive.db"),
        ("linux", {"XDG_DATA_HOME": " "}, ".local/share/copilog/archive.db"),
        ("darwin", {}, "Library/Application Support/copilog/archive.db"),
        ("win32", {}, "AppData/Local/copilog/archive.db"),
        ("win32", {"LOCALAPPDATA": "{home}/Local"}, "Local/copilog/archive.db"),
    ],
)
def test_each_system_has_its_own_data_folder(
    system: str, variables: dict[str, str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("COPILOG_ARCHIVE", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(home=tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(sys, "platform", system)

    assert archive_path() == tmp_path / expected


# --- who may read it ------------------------------------------------------------------------------------------------


@posix_only
def test_other_users_cannot_read_a_new_archive(tmp_path: Path, open_umask: None) -> None:
    path = tmp_path / "data" / "copilog" / "archive.db"

    with ScanLock(path), closing(open_database(path, write=True)) as connection, transaction(connection):
        connection.execute("INSERT INTO meta VALUES ('a', 'b')")

        assert [mode_of(folder) for folder in (path.parent, path.parent.parent)] == [0o700, 0o700]
        assert {file.name: mode_of(file) for file in path.parent.iterdir()} == dict.fromkeys(
            ("archive.db", "archive.db-wal", "archive.db-shm", "archive.db.lock"), 0o600
        )


@posix_only
def test_an_archive_that_others_could_read_is_closed_to_them(archive: Path) -> None:
    archive.chmod(0o664)
    lock = archive.with_name("archive.db.lock")
    lock.touch(0o644)

    open_database(archive, write=True).close()

    assert mode_of(archive) == 0o600
    assert mode_of(lock) == 0o600


@posix_only
def test_the_default_folder_is_made_private_and_other_folders_are_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    own, shared = tmp_path / "copilog", tmp_path / "shared"
    for folder in (own, shared):
        folder.mkdir()
        folder.chmod(0o755)
        open_database(folder / "archive.db", write=True).close()

    assert (mode_of(own), mode_of(shared)) == (0o700, 0o755)


# --- opening --------------------------------------------------------------------------------------------------------


def test_a_new_archive_is_marked_as_an_archive(archive: Path) -> None:
    with closing(sqlite3.connect(archive)) as connection:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (journal,) = connection.execute("PRAGMA journal_mode").fetchone()

    assert (application, journal, version_of(archive)) == (APPLICATION_ID, "wal", len(MIGRATIONS))


def test_reading_a_missing_archive_reports_how_to_create_one(tmp_path: Path) -> None:
    with pytest.raises(CopilogError, match="no archive yet; `copilog scan` makes one"):
        open_database(tmp_path / "archive.db", write=False)

    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_made_and_never_written_becomes_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    path.touch()

    with pytest.raises(CopilogError, match="no archive yet"):
        open_database(path, write=False)
    open_database(path, write=True).close()

    assert version_of(path) == len(MIGRATIONS)


def test_an_empty_file_at_the_path_of_an_archive_becomes_one(archive: Path) -> None:
    """The file may have the inode number of the archive, by which the process recognises it."""
    archive.write_bytes(b"")

    with pytest.raises(CopilogError, match="no archive yet"):
        open_database(archive, write=False)
    open_database(archive, write=True).close()
    assert version_of(archive) == len(MIGRATIONS)


def test_creating_an_archive_can_be_continued_after_its_first_step(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    open_database(path, write=True).close()

    assert version_of(path) == len(MIGRATIONS)


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize("kind", ["text", "database", "wal"])
def test_a_file_that_is_not_an_archive_is_refused_and_unchanged(kind: str, write: bool, tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    if kind == "text":
        path.write_text("High water at noon.\n")
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = " + ("WAL" if kind == "wal" else "DELETE"))
            connection.execute("CREATE TABLE tide (height REAL)")
    path.chmod(0o644)
    before = path.read_bytes(), path.stat().st_mode, sorted(tmp_path.iterdir())

    with pytest.raises(UsageError, match="not an archive of copilog, and was not changed"):
        open_database(path, write=write)

    assert (path.read_bytes(), path.stat().st_mode, sorted(tmp_path.iterdir())) == before


@pytest.mark.parametrize("write", [True, False])
def test_another_file_with_the_inode_of_a_former_archive_is_refused_and_unchanged(write: bool, archive: Path) -> None:
    open_database(archive, write=True).close()
    archive.write_text("High water at noon.\n")  # in place: device and inode are the archive's
    archive.chmod(0o644)

    with pytest.raises(UsageError, match="not an archive of copilog, and was not changed"):
        open_database(archive, write=write)

    assert archive.stat().st_mode & 0o777 == 0o644


def test_a_folder_is_no_archive(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        open_database(tmp_path, write=True)


@pytest.mark.parametrize("write", [True, False])
def test_an_archive_of_a_newer_version_is_refused(write: bool, archive: Path) -> None:
    with closing(sqlite3.connect(archive)) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 2}")

    expected = (
        rf"^archive\.db was made by a newer copilog \(schema {len(MIGRATIONS) + 2}, "
        rf"this one supports {len(MIGRATIONS)}\); upgrade, or use --archive PATH$"
    )
    with pytest.raises(CopilogError, match=expected):
        open_database(archive, write=write)


def test_a_damaged_archive_is_an_error_with_its_name(archive: Path) -> None:
    data = bytearray(archive.read_bytes())
    data[100:] = b"\xff" * (len(data) - 100)
    archive.write_bytes(data)

    with pytest.raises(CopilogError, match=r"archive\.db: the archive is damaged\. Keep this file: .* archive salvage"):
        open_database(archive, write=True)


def test_damage_detected_later_is_reported_with_the_name_of_the_file(archive: Path) -> None:
    data = bytearray(archive.read_bytes())
    page = int.from_bytes(data[16:18], "big")
    data[3 * page :] = b"\xff" * (len(data) - 3 * page)
    archive.write_bytes(data)

    with (
        pytest.raises(CopilogError, match=r"archive\.db: the archive is damaged\. Keep this file: .* archive salvage"),
        Archive(archive) as opened,
    ):
        opened.fingerprint()


@pytest.mark.skipif(sys.platform == "win32", reason="rights of POSIX")
def test_an_archive_behind_a_link_is_private_too(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "real" / "archive.db")

    before = os.umask(0)
    try:
        open_database(link, write=True).close()
    finally:
        os.umask(before)

    assert (tmp_path / "real" / "archive.db").stat().st_mode & 0o777 == 0o600
    with ScanLock(link):
        assert (tmp_path / "real" / "archive.db.lock").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="rights of POSIX")
def test_files_beside_an_archive_that_could_once_only_be_read_are_made_writable(archive: Path) -> None:
    for suffix in ("-wal", "-shm"):
        beside = archive.with_name(archive.name + suffix)
        beside.touch()
        beside.chmod(0o400)

    with closing(open_database(archive, write=True)):
        modes = {archive.with_name(archive.name + suffix).stat().st_mode & 0o777 for suffix in ("-wal", "-shm")}

    assert modes == {0o600}


def test_a_reader_cannot_write(archive: Path) -> None:
    with (
        closing(open_database(archive, write=False)) as connection,
        pytest.raises(CopilogError, match="opened read-only"),
        transaction(connection),
    ):
        connection.execute("DELETE FROM meta")


def test_readers_go_on_while_one_writes(archive: Path) -> None:
    with (
        closing(open_database(archive, write=True)) as writer,
        closing(open_database(archive, write=False)) as reader,
    ):
        with transaction(writer):
            writer.execute("INSERT INTO meta VALUES ('a', 'b')")
            assert reader.execute("SELECT * FROM meta").fetchall() == []
        assert reader.execute("SELECT * FROM meta").fetchall() == [("a", "b")]


def test_a_transaction_that_fails_leaves_nothing_behind(archive: Path) -> None:
    with closing(open_database(archive, write=True)) as connection:
        with pytest.raises(sqlite3.IntegrityError), transaction(connection):
            connection.executemany("INSERT INTO meta VALUES (?, 'b')", [("a",), ("a",)])

        assert connection.execute("SELECT * FROM meta").fetchall() == []
        assert not connection.in_transaction


def test_a_transaction_within_another_ends_with_it(archive: Path) -> None:
    def write_and_fail(connection: sqlite3.Connection) -> None:
        with transaction(connection):
            with transaction(connection):
                connection.execute("INSERT INTO meta VALUES ('a', 'b')")
            assert connection.in_transaction
            connection.executemany("INSERT INTO meta VALUES (?, 'b')", [("c",), ("c",)])

    with closing(open_database(archive, write=True)) as connection:
        with pytest.raises(sqlite3.IntegrityError):
            write_and_fail(connection)
        assert connection.execute("SELECT * FROM meta").fetchall() == []


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """Yield a folder that every user can read, and only its owner can change."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield folder
        folder.chmod(0o700)


@posix_only
def test_an_archive_in_a_read_only_folder_can_be_read(public_folder: Path) -> None:
    path = public_folder / "archive.db"
    open_database(path, write=True).close()
    path.chmod(0o444)
    public_folder.chmod(0o555)
    user = os.geteuid()
    if user == 0:  # for whom rights mean nothing
        os.seteuid(65534)
    try:
        with closing(open_database(path, write=False)) as connection:
            assert connection.execute("SELECT * FROM conversations").fetchall() == []
    finally:
        os.seteuid(user)

    assert [file.name for file in public_folder.iterdir()] == ["archive.db"]


# --- migrations -----------------------------------------------------------------------------------------------------


OLDER = rf"made by an older copilog \(schema {len(MIGRATIONS)}, this one needs {len(MIGRATIONS) + 1}\); `copilog scan`"


def test_an_older_archive_is_migrated_with_its_content(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(open_database(archive, write=True)) as connection, connection:
        connection.execute("INSERT INTO meta VALUES ('a', 'b')")
    more = "CREATE TABLE tide (height REAL);\nCREATE INDEX tide_height ON tide (height);\n"
    monkeypatch.setattr(database, "MIGRATIONS", (*MIGRATIONS, more))

    with pytest.raises(CopilogError, match=OLDER):
        open_database(archive, write=False)
    with closing(open_database(archive, write=True)) as connection:
        assert connection.execute("SELECT * FROM meta").fetchall() == [("a", "b")]
        assert connection.execute("SELECT * FROM tide").fetchall() == []

    assert version_of(archive) == len(MIGRATIONS) + 1


def test_a_migration_that_fails_changes_nothing(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "CREATE TABLE tide (height REAL);\nCREATE TABLE meta (key TEXT);\n"
    monkeypatch.setattr(database, "MIGRATIONS", (*MIGRATIONS, wrong))

    with pytest.raises(CopilogError, match="table meta already exists"):
        open_database(archive, write=True)

    assert version_of(archive) == len(MIGRATIONS)
    with closing(sqlite3.connect(archive)) as connection:
        assert connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'tide'").fetchone() is None


def test_two_processes_can_create_the_archive_at_once(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    script = (
        "from pathlib import Path; from copilog.store.database import open_database; import sys\n"
        "open_database(Path(sys.argv[1]), write=True).close()"
    )
    command = [sys.executable, "-c", script, str(path)]

    started = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]

    assert [process.communicate()[1] for process in started] == [""] * 4
    assert version_of(path) == len(MIGRATIONS)


# --- one scan at a time ---------------------------------------------------------------------------------------------


def test_the_second_scan_names_the_process_that_it_waited_for(archive: Path) -> None:
    expected = rf"another scan \(process {os.getpid()}\) is running on this archive; gave up after 0\.1 s"
    with ScanLock(archive), pytest.raises(CopilogError, match=expected), ScanLock(archive, wait_seconds=0.1):
        pass


def test_the_second_scan_begins_when_the_first_has_ended(archive: Path) -> None:
    script = (
        "from pathlib import Path; from copilog.store.database import ScanLock; import sys\n"
        "with ScanLock(Path(sys.argv[1]), wait_seconds=60): print('scanning')"
    )
    with ScanLock(archive):
        second = subprocess.Popen([sys.executable, "-c", script, str(archive)], stdout=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            second.wait(0.5)

    assert second.communicate()[0] == "scanning\n"


def test_a_process_that_is_killed_lets_go_of_the_lock(archive: Path) -> None:
    script = (
        "from pathlib import Path; from copilog.store.database import ScanLock; import sys, time\n"
        "with ScanLock(Path(sys.argv[1])): print('scanning', flush=True); time.sleep(600)"
    )
    first = subprocess.Popen([sys.executable, "-c", script, str(archive)], stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    assert first.stdout.readline() == "scanning\n"
    first.kill()
    first.communicate()

    with ScanLock(archive, wait_seconds=5):
        assert archive.with_name("archive.db.lock").read_text() == f"{os.getpid()}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="there, locks are not lost with a handle")
def test_opening_an_archive_again_does_not_let_go_of_its_locks(archive: Path) -> None:
    other = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM meta').fetchall(); c.close()"
    )

    with closing(open_database(archive, write=True)) as first:
        with first:
            first.execute("INSERT INTO meta VALUES ('a', 'b')")
        with closing(open_database(archive, write=False)) as second:
            # Another process that thinks it is the last takes the log away when it closes the archive.
            subprocess.run([sys.executable, "-c", other, str(archive)], check=True)
            assert archive.with_name(archive.name + "-wal").exists()
            assert second.execute("SELECT * FROM meta").fetchall() == [("a", "b")]


def test_an_archive_whose_creation_was_interrupted_is_created_again(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    # What SQLite leaves when it is ended in that: the file has the mark, and the journal says that it was empty.
    journal = bytes.fromhex("d9d505f920a163d7") + struct.pack(">5I", 0, 1, 0, 512, 4096)
    path.with_name("archive.db-journal").write_bytes(journal.ljust(512, b"\0"))

    open_database(path, write=True).close()

    assert version_of(path) == len(MIGRATIONS)


def test_an_overwritten_archive_is_refused_and_unchanged(archive: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as other, other:
        other.execute("CREATE TABLE tide (height REAL)")
    for content in (b"no database at all" * 100, (tmp_path / "other.db").read_bytes()):
        open_database(archive, write=True).close()
        with archive.open("r+b") as file:  # in place: it is still the same file
            file.truncate()
            file.write(content)

        for write in (True, False):
            with pytest.raises(UsageError, match="is not an archive of copilog"):
                open_database(archive, write=write)

        assert archive.read_bytes() == content
        archive.unlink()
