"""Live changes: detected in the archive, sent to pages, and made by scans."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from copilog.sources.roots import Root, roots_from
from copilog.store.archive import Archive
from copilog.web.app import create_app
from copilog.web.live import Change, ChangeDetector, Changes, DetectorThread, event_of, missed_since
from copilog.web.scans import Places, Scanning
from copilog.web.serving import ViewerServer
from copilog.web.viewer import ViewerSettings
from tests.cli.homes import Home, session
from tests.web.serving import TOKEN

PATIENCE_SECONDS = 60.0  # how long a slow machine may take


def ids_in(archive: Path) -> list[str]:
    with Archive(archive) as opened:
        return [summary.id for summary in opened.list(include_empty=True)]


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


# --- noticing ---------------------------------------------------------------------------------------------------


def test_no_change_is_reported_at_first_nor_without_writes(own_archive: Path) -> None:
    lookout = ChangeDetector(own_archive)

    assert lookout.look() is None
    assert lookout.look() is None


def test_changes_of_other_processes_are_noticed_once(own_archive: Path) -> None:
    first, second, *_ = ids_in(own_archive)
    lookout = ChangeDetector(own_archive)
    lookout.look()

    with Archive(own_archive, write=True) as archive:
        archive.star(first)
    change = lookout.look()
    assert change is not None
    assert (change.ids, change.new, change.count) == ([first], 0, 1)
    assert lookout.look() is None

    with Archive(own_archive, write=True) as archive:
        archive.note(second, "to be read again")
    change = lookout.look()
    assert change is not None
    assert change.ids == [second]


def test_a_new_conversation_is_reported_as_new(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    archive = tmp_path / "archive.db"
    scan(home, archive)
    lookout = ChangeDetector(archive)
    lookout.look()

    home.add(home.workspace(1), session("11111111-aaaa", "Parse the tide file"))
    scan(home, archive)

    change = lookout.look()
    assert change is not None
    assert (change.ids, change.new) == (["vscode:11111111-aaaa"], 1)


def test_a_conversation_that_was_removed_is_a_change_too(own_archive: Path) -> None:
    lookout = ChangeDetector(own_archive)
    lookout.look()
    with Archive(own_archive, write=True) as archive:
        archive.remove(ids_in(own_archive)[0])

    change = lookout.look()

    assert change is not None
    assert change.ids == []


def test_a_missing_archive_has_not_changed(tmp_path: Path) -> None:
    lookout = ChangeDetector(tmp_path / "archive.db")

    assert lookout.look() is None
    Archive(tmp_path / "archive.db", write=True).close()
    assert lookout.look() is None


def test_a_page_that_reconnects_gets_what_it_missed(own_archive: Path) -> None:
    mark = missed_since(own_archive, None).mark
    assert missed_since(own_archive, mark).ids == []
    starred = ids_in(own_archive)[0]
    with Archive(own_archive, write=True) as archive:
        archive.star(starred)

    missed = missed_since(own_archive, mark)

    assert missed.ids == [starred]
    assert missed.mark > mark
    assert missed_since(own_archive, missed.mark).ids == []


# --- telling ----------------------------------------------------------------------------------------------------


def test_all_listeners_get_changes_from_any_thread_until_closed() -> None:
    changes = Changes()

    async def listen() -> list[Change | None]:
        heard: list[Change | None] = []
        with changes.listening() as first, changes.listening() as second:
            threading.Thread(target=changes.publish, args=(Change(["a"]),)).start()
            heard += [await first.get(), await second.get()]
            changes.close()
            heard += [await first.get(), await second.get()]
        with changes.listening() as late:
            heard.append(await late.get())
        return heard

    assert asyncio.run(listen()) == [Change(["a"]), Change(["a"]), None, None, None]
    changes.publish(Change(["b"]))  # no listener remains


def test_an_event_is_one_block_of_lines_for_any_id() -> None:
    event = event_of("changed", Change(["a\nevent: evil\n\ndata: x"], mark="2026\n\nevent: evil")).decode()

    assert event.count("\n\n") == 1
    assert [line.partition(":")[0] for line in event.strip().splitlines()] == ["event", "id", "data"]


@contextmanager
def running(archive: Path, places: Places | None = None) -> Iterator[str]:
    """Yield a live viewer that runs in a thread."""
    settings = ViewerSettings(archive=archive, token=TOKEN, hosts=frozenset({"127.0.0.1"}))
    server = ViewerServer(create_app(settings, places))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            wait_until(lambda: server.started)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()


@contextmanager
def listening(address: str, **headers: str) -> Iterator[Iterator[tuple[str, dict[str, Any]]]]:
    """Return the events that a page gets."""
    headers = {"Authorization": f"Bearer {TOKEN}", **headers}
    with httpx.Client(timeout=PATIENCE_SECONDS) as client, client.stream("GET", address, headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield events_of(answer.iter_lines())


def events_of(lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    name = ""
    for line in lines:
        key, _, value = line.partition(": ")
        if key == "event":
            name = value
        elif key == "data":
            yield name, json.loads(value)


def test_a_page_gets_a_star_event_and_is_disconnected_at_the_end(own_archive: Path) -> None:
    starred = ids_in(own_archive)[0]
    with running(own_archive) as address, listening(f"{address}/events") as events:
        name, ready = next(events)
        assert (name, ready["ids"]) == ("ready", [])
        with Archive(own_archive, write=True) as archive:
            archive.star(starred)

        name, changed = next(events)

        assert (name, changed["ids"], changed["new"]) == ("changed", [starred], 0)
        assert changed["mark"] > ready["mark"]


def test_a_reloaded_page_gets_missed_changes_at_once(own_archive: Path) -> None:
    mark = missed_since(own_archive, None).mark
    starred = ids_in(own_archive)[0]
    with Archive(own_archive, write=True) as archive:
        archive.star(starred)
    with running(own_archive) as address:
        with listening(f"{address}/events?since={mark}") as events:
            assert next(events)[1]["ids"] == [starred]
        with listening(f"{address}/events", **{"Last-Event-ID": mark}) as events:
            assert next(events)[1]["ids"] == [starred]


def test_a_written_conversation_reaches_the_page(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    workspace = home.workspace(1)
    home.add(workspace, session("11111111-aaaa", "Parse the tide file"))
    archive = tmp_path / "archive.db"
    scan(home, archive)

    with running(archive, places(home, archive)) as address, listening(f"{address}/events") as events:
        next(events)
        home.add(workspace, session("11111111-aaaa", "Parse the tide file", "And test it"))
        assert next(events)[1]["ids"] == ["vscode:11111111-aaaa"]

        home.add(workspace, session("22222222-bbbb", "Plan the beds"))
        assert next(events)[1] | {"mark": ""} == {"ids": ["vscode:22222222-bbbb"], "new": 1, "count": 1, "mark": ""}


def test_the_watching_thread_can_be_stopped(own_archive: Path) -> None:
    looking = DetectorThread(own_archive, Changes())
    looking.start()
    looking.stop()

    assert not [thread for thread in threading.enumerate() if thread.name == "copilog lookout"]


# --- scans ------------------------------------------------------------------------------------------------------


def places(home: Home, archive: Path) -> Places:
    def roots() -> list[Root]:
        return roots_from(home.root, "--root")

    return Places(archive, roots, has_definitions=False)


def scan(home: Home, archive: Path) -> None:
    from copilog.ingest.scanning import scan

    with Archive(archive, write=True) as opened:
        scan(opened, roots=roots_from(home.root, "--root"))


def test_scans_follow_the_disk_and_end_with_their_process(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    archive = tmp_path / "archive.db"
    Archive(archive, write=True).close()
    scanning = Scanning(places(home, archive))
    scanning.start()
    try:
        home.add(home.workspace(1), session("11111111-aaaa", "Parse the tide file"))
        wait_until(lambda: ids_in(archive) == ["vscode:11111111-aaaa"])
    finally:
        scanning.stop()

    assert not [thread for thread in threading.enumerate() if thread.name == "copilog scans"]
    assert not subprocess._active  # type: ignore[attr-defined] # nobody was left behind


def test_a_scan_that_fails_is_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    home = Home(tmp_path / "home")
    home.add(home.workspace(1), session("11111111-aaaa", "Parse the tide file"))
    archive = tmp_path / "archive.db"
    archive.write_text("this is no archive yet")
    scanning = Scanning(places(home, archive))
    scanning.start()
    try:
        wait_until(lambda: "is not an archive" in caplog.text)
        archive.unlink()
        wait_until(lambda: archive.exists() and "vscode:11111111-aaaa" in _ids_if_any(archive))
    finally:
        scanning.stop()

    assert caplog.text.count("is not an archive") == 1


def _ids_if_any(archive: Path) -> list[str]:
    from copilog.errors import CopilogError

    try:
        return ids_in(archive)
    except CopilogError:  # it is just being made
        return []


# --- stars, labels, notes ---------------------------------------------------------------------------------------


@pytest.fixture
def annotated(client_of: Callable[[Path], TestClient], own_archive: Path) -> Callable[..., Any]:
    client = client_of(own_archive)
    return lambda **wanted: client.post("/annotate", json={"id": ids_in(own_archive)[0], **wanted})


def test_stars_labels_and_notes_are_stored_and_removed(annotated: Callable[..., Any]) -> None:
    assert annotated(star=True).json()["is_starred"] is True
    assert annotated(add_label="  harbour  walls ").json()["labels"] == ["harbour walls"]
    assert annotated(note="Read <this> again").json()["note"] == "Read <this> again"

    now = annotated(star=False, remove_label="harbour walls", note=None).json()

    assert (now["is_starred"], now["labels"], now["note"]) == (False, [], None)


def test_annotating_does_not_create_a_missing_archive(
    client_of: Callable[[Path], TestClient], own_archive: Path
) -> None:
    named = ids_in(own_archive)[0]
    own_archive.unlink()
    answer = client_of(own_archive).post("/annotate", json={"id": named, "star": True})

    assert answer.status_code == 503
    assert "copilog scan" in answer.json()["error"]
    assert not own_archive.exists()


def test_annotations_that_are_not_sent_do_not_change(annotated: Callable[..., Any]) -> None:
    annotated(star=True, note="kept")

    now = annotated(add_label="tides").json()

    assert (now["is_starred"], now["note"], now["labels"]) == (True, "kept", ["tides"])


def test_a_form_can_annotate_as_json_does(client_of: Callable[[Path], TestClient], own_archive: Path) -> None:
    client = client_of(own_archive)
    wanted = {"id": ids_in(own_archive)[0], "star": "1", "note": ""}

    assert client.post("/annotate", data=wanted).json()["is_starred"] is True
    assert client.post("/annotate", data=wanted | {"star": "0"}).json()["is_starred"] is False


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("application/json", b"{", 400),
        ("application/json", b"[]", 400),
        ("application/json", b'{"star": true}', 400),
        ("application/json", b'{"id": 1}', 400),
        ("application/json", b'{"id": "vscode:nothing", "star": true}', 404),
        ("application/json", b'{"id": "vscode:nothing", "path": "/etc/passwd"}', 400),
        ("application/json", b'{"id": "' + b"x" * 300_000 + b'"}', 413),
        ("application/x-www-form-urlencoded", b"nonsense", 400),
        ("text/plain", b'{"id": "x", "star": true}', 415),
        ("multipart/form-data; boundary=x", b"--x--", 415),
    ],
)
def test_invalid_annotations_are_refused_with_a_reason(client: TestClient, kind: str, body: bytes, status: int) -> None:
    answer = client.post("/annotate", content=body, headers={"Content-Type": kind})

    assert answer.status_code == status
    assert answer.json()["error"]


def test_labels_must_not_be_empty_or_too_long(annotated: Callable[..., Any]) -> None:
    assert annotated(add_label=" ").status_code == 400
    assert annotated(add_label="x" * 101).status_code == 400
