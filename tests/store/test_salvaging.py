"""A damaged archive gives back every conversation whose pages are intact, and names the others."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from copilog.store.archive import Archive
from copilog.store.pages import PagedFile
from copilog.store.salvaging import fill, read_damaged
from tests.cli.homes import Home, move_in, run, session
from tests.soaking import SEED, counted
from tests.store.archive_rows import HARBOUR, MOORING
from tests.stored import entry

NAMES = [f"c{number}" for number in range(12)]
ARCHIVES, KILLS = 20, 20  # of which `make soak` does ten times as many


def exchanges(number: int) -> tuple[tuple[str, str], ...]:
    chance = random.Random(number)
    words = " ".join(f"{chance.randrange(1 << 40):x}" for _ in range(900))
    return ((f"Question {number} of {words}", f"Answer {number}"), *((f"More {n}", words) for n in range(70)))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of some short and some long conversations, with what a person added."""
    path = tmp_path_factory.mktemp("sound") / "archive.db"
    with Archive(path, write=True) as archive:
        for number, name in enumerate(NAMES):
            archive.put(entry(name, *exchanges(number)[: 2 if number % 2 else 71]), "files")
        archive.put(entry("removed", HARBOUR), "files")
        archive.index_pending()
        archive.note("c1", "the dates of November were wrong")
        archive.star("c2")
        archive.label("c3", "harbour", "tides")
        archive.remove("removed")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def salvaged(path: Path, folder: Path) -> tuple[dict[str, bytes | None], set[str | None]]:
    """Return the digests of what is salvaged, and the ids of what is named as lost."""
    with Archive(folder / "new.db", write=True) as archive:
        kept, lost = fill(archive.connection, read_damaged(path))
        archive.index_pending()
        assert archive.check() == []
        return {name: archive.digest_of(name) for name in kept}, {each.id for each in lost}


def digests(path: Path) -> dict[str, bytes | None]:
    with Archive(path) as archive:
        return {summary.id: archive.digest_of(summary.id) for summary in archive.list()}


def test_a_sound_archive_is_salvaged_completely(sound: Path, tmp_path: Path) -> None:
    found, lost = salvaged(sound, tmp_path)

    assert found == digests(sound)
    assert lost == set()
    with Archive(tmp_path / "new.db") as archive, Archive(sound) as before:
        stored = archive.list(include_gone=True)
        assert all(each.gone_at for each in stored)  # their files are not there
        assert [replace(each, gone_at=None) for each in stored] == before.list()
        assert archive.removed() == before.removed()
        assert archive.labels() == {"harbour": 1, "tides": 1}


def test_what_only_the_log_holds_is_salvaged(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    with Archive(path, write=True) as archive:
        archive.put(entry("a1", HARBOUR), "files")
        archive.put(entry("a1", HARBOUR, MOORING), "files")
        assert path.with_name("archive.db-wal").stat().st_size > 0
        found, _ = salvaged(path, tmp_path)
        assert found == {"vscode:a1": archive.digest_of("vscode:a1")}


def test_the_first_page_is_not_needed(sound: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "archive.db"
    damaged.write_bytes(bytes(4096) + sound.read_bytes()[4096:])

    found, _ = salvaged(damaged, tmp_path)

    assert found == digests(sound)


def flips(data: bytearray, chance: random.Random, pages: int) -> set[int]:
    places = [chance.randrange(len(data)) for _ in range(chance.randint(1, 12))]
    for place in places:
        data[place] ^= 1 << chance.randrange(8)
    return {place // 4096 + 1 for place in places}


def zeros(data: bytearray, chance: random.Random, pages: int) -> set[int]:
    lost = {chance.randint(1, pages) for _ in range(chance.randint(1, 6))}
    for number in lost:
        data[(number - 1) * 4096 : number * 4096] = bytes(4096)
    return lost


def cut(data: bytearray, chance: random.Random, pages: int) -> set[int]:
    left = chance.randint(1, pages - 1)
    del data[left * 4096 :]
    return set(range(left + 1, pages + 1))


def pages_by_id(path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, set[int]]:
    """Return the pages that hold the document and chapters of each conversation, by reading them without SQLite."""
    with closing(sqlite3.connect(path)) as connection:
        names = dict(connection.execute("SELECT rowid, id FROM conversation"))
    found: dict[str, set[int]] = {}
    with PagedFile(path) as pages:
        read = pages.page
        for number in range(1, pages.count + 1):
            touched: set[int] = set()

            def counting(wanted: int, touched: set[int] = touched) -> bytes:
                touched.add(wanted)
                return read(wanted)

            monkeypatch.setattr(pages, "page", counting)
            for rowid, values in pages._records_of(number):
                if not isinstance(values[-1], bytes) or values[-1][:4] != b"\x28\xb5\x2f\xfd":
                    continue
                number_of = rowid if len(values) == 2 else values[0]  # of a document, or of a chapter
                if number_of in names:
                    found.setdefault(names[number_of], set()).update(touched)
    return found


@pytest.mark.soak(kind="archives")
def test_damage_is_named_and_intact_conversations_are_salvaged(
    sound: Path,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record_property("cases", counted(ARCHIVES))
    before, pages = digests(sound), pages_by_id(sound, monkeypatch)
    assert pages.keys() == before.keys()
    whole = sound.read_bytes()
    chance = random.Random(SEED)
    for number in range(counted(ARCHIVES)):
        folder = tmp_path / str(number)
        folder.mkdir()
        data = bytearray(whole)
        hurt = chance.choice((flips, zeros, cut))(data, chance, len(whole) // 4096)
        damaged = folder / "archive.db"
        damaged.write_bytes(data)

        found, lost = salvaged(damaged, folder)

        for name, digest in before.items():
            if not pages[name] & hurt:
                assert found.get(name) == digest, (number, name)
            elif found.get(name) != digest and 1 not in hurt:
                assert name in lost or None in lost, (number, name)
        assert "vscode:removed" not in found
        told = run("archive", "check", "--archive", damaged, "--json")
        if any(found.get(name) != digest for name, digest in before.items()):
            assert told.code != 0, number


@pytest.mark.soak(kind="kills")
def test_a_salvage_that_is_killed_leaves_no_archive_or_a_whole_one(
    sound: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("cases", counted(KILLS))
    target, whole = tmp_path / "new.db", sound.read_bytes()
    named = ["--archive", str(sound), "--to", str(target)]
    command = [sys.executable, "-m", "copilog", "archive", "salvage", *named, "--no-scan"]
    started = time.monotonic()
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    seconds = time.monotonic() - started
    chance = random.Random(SEED)
    for _ in range(counted(KILLS)):
        target.unlink(missing_ok=True)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, seconds))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert sound.read_bytes() == whole
        if target.exists():
            assert digests(target) == digests(sound)


def test_the_command_reads_the_rest_from_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path / "home")
    path = move_in(monkeypatch, tmp_path, home)
    gone = home.add(home.workspace(1), session("gone", "Where is the only copy?"))
    home.add(home.workspace(1), session("kept", "Beans?"))
    assert run("scan").code == 0
    gone.unlink()
    assert run("scan").code == 0
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        query = "SELECT data FROM document JOIN conversation AS c ON c.rowid = conversation WHERE id = 'vscode:kept'"
        (document,) = connection.execute(query).fetchone()
    data = path.read_bytes()
    path.write_bytes(data.replace(document, bytes(len(document))))
    damaged = path.read_bytes()

    told = run("archive", "salvage", "--json")

    assert (told.code, told.json["lost"], told.json["conversations"]) == (0, [], 2)
    assert path.read_bytes() == damaged
    new = path.with_name("archive.salvaged.db")
    assert run("archive", "check", "--archive", new).code == 0
    with Archive(new) as archive:
        assert {each.id: bool(each.gone_at) for each in archive.list(include_gone=True)} == {
            "vscode:gone": True,
            "vscode:kept": False,
        }
    assert run("archive", "salvage").code == 2  # the file exists
    assert not list(path.parent.glob(".*"))  # no draft


def test_the_command_names_what_is_lost(tmp_path: Path, sound: Path) -> None:
    path = tmp_path / "archive.db"
    with closing(sqlite3.connect(sound)) as connection:
        (document,) = connection.execute("SELECT data FROM document WHERE conversation = 2").fetchone()
    path.write_bytes(sound.read_bytes().replace(document[:32], bytes(32)))

    told = run("archive", "salvage", "--archive", path, "--no-scan")

    assert told.code == 1
    assert told.out.startswith("vscode:c1 (")
    assert f"{len(NAMES) - 1} conversations salvaged" in told.err
