"""Exports that were scanned by their path are one with the conversation that they are of, whichever came first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from copilog.ingest import find_roots, joining, scanning
from copilog.ingest.scanning import scan
from copilog.store.archive import Archive
from tests.export_places import Places, asked, beans, files_of, ids, rows_of, without_ids
from tests.test_one_conversation import write_replay, write_session


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "data" / "archive.db", write=True) as opened:
        yield opened


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def test_both_orders_give_the_same_archive(places: Places, tmp_path: Path) -> None:
    places.keep("kept", *beans(3))
    export = places.export("chat.json", *beans(2))
    told = []
    for number, is_home_first in enumerate((True, False)):
        with Archive(tmp_path / f"{number}.db", write=True) as archive:
            if is_home_first:
                places.scan_home(archive)
            scan(archive, paths=[export])
            if not is_home_first:
                places.scan_home(archive)
            assert ids(archive) == ["vscode:kept"]
            assert files_of(archive, "vscode:kept") == {"kept.json", "chat.json"}
            assert len(archive.search("beans").hits) > 0
            assert archive.check() == []
            told.append(rows_of(archive))
    assert told[0] == told[1]


def test_merged_exports_are_found_once_and_not_read_again(archive: Archive, places: Places) -> None:
    places.keep("kept", *beans(2))
    export = places.export("chat.json", *beans(2))
    places.scan_home(archive)
    joined = scan(archive, paths=[export])
    before = rows_of(archive)

    assert (joined.new, joined.changed, joined.unchanged) == (0, 1, 0)
    assert (joined.new_ids, joined.changed_ids) == ([], ["vscode:kept"])
    assert (joined.messages_new, joined.messages_changed) == (0, 4)
    for again in (scan(archive, paths=[export]), places.scan_home(archive)):
        assert (again.new, again.changed, again.unchanged, again.files_read) == (0, 0, 1, 0)
        assert again.messages_unchanged == 4
    assert rows_of(archive) == before


def test_one_scan_of_both_counts_the_conversations_of_each_folder(archive: Archive, places: Places) -> None:
    places.keep("kept", *beans(2))
    export = places.export("chat.json", *beans(1))
    result = scan(archive, roots=find_roots([places.home.root]), paths=[export])

    assert (result.new, result.changed, result.new_ids, result.changed_ids) == (1, 1, ["vscode:kept"], [])
    assert scan(archive, roots=find_roots([places.home.root]), paths=[export]).unchanged == 2


def test_a_file_that_was_only_touched_changes_nothing(archive: Archive, places: Places) -> None:
    kept = places.keep("kept", *beans(2))
    export = places.export("chat.json", *beans(1))
    places.scan_home(archive)
    scan(archive, paths=[export])
    for path in (kept, export):
        path.write_text(path.read_text() + " ")

    assert (places.scan_home(archive).unchanged, scan(archive, paths=[export]).unchanged) == (1, 1)
    assert files_of(archive, "vscode:kept") == {"kept.json", "chat.json"}


def test_an_export_is_still_merged_when_the_session_continues(archive: Archive, places: Places) -> None:
    places.keep("kept", *beans(2))
    places.scan_home(archive)
    scan(archive, paths=[places.export("chat.json", *beans(1))])
    places.keep("kept", *beans(4))
    result = places.scan_home(archive)

    assert (result.changed, result.changed_ids) == (1, ["vscode:kept"])
    assert len(archive.get("vscode:kept").turns) == 4
    assert files_of(archive, "vscode:kept") == {"kept.json", "chat.json"}


@pytest.mark.parametrize("length", [1, 2, 3, 6])
def test_an_export_from_before_turns_were_removed_stays_with_its_session(
    archive: Archive, places: Places, length: int
) -> None:
    places.keep("kept", *beans(5))
    places.scan_home(archive)
    scan(archive, paths=[places.export("chat.json", *beans(5))])

    places.keep("kept", beans(1)[0], *(asked("melons", number) for number in range(1, length + 1)))
    places.scan_home(archive)

    kept = archive.get("vscode:kept")
    assert ids(archive) == ["vscode:kept"]
    assert kept.source == "vscode-session"
    assert {turn.request_id for turn in kept.turns if turn.superseded == "absent"} == {
        f"request_beans_{number}" for number in range(1, 5)
    }
    assert len([turn for turn in kept.turns if turn.superseded is None]) == length + 1
    assert archive.search("melons").conversations == 1


def rewritten(*requests: dict[str, Any]) -> list[dict[str, Any]]:
    """Return requests with the ids of those about beans, and other texts."""
    return [{**request, "requestId": f"request_beans_{number}"} for number, request in enumerate(requests)]


def test_an_export_is_separate_again_when_the_session_differs(archive: Archive, places: Places) -> None:
    places.keep("kept", *beans(3))
    places.scan_home(archive)
    scan(archive, paths=[places.export("chat.json", *map(without_ids, beans(3)))])
    assert ids(archive) == ["vscode:kept"]
    places.keep("kept", *rewritten(beans(1)[0], asked("leeks", 1), asked("leeks", 2)))
    places.scan_home(archive)

    (export,) = [name for name in ids(archive) if name != "vscode:kept"]
    assert files_of(archive, "vscode:kept") == {"kept.json"}
    assert len(archive.get("vscode:kept").turns) == 3
    assert archive.search("leeks").conversations == 1
    assert len(archive.get(export).turns) == 3
    assert len(rows_of(archive)["part"]) == 0


def test_an_export_that_is_separate_again_is_gone_if_its_file_is(archive: Archive, places: Places) -> None:
    places.keep("kept", *beans(3))
    places.scan_home(archive)
    export = places.export("chat.json", *map(without_ids, beans(3)))
    scan(archive, paths=[places.exports])
    export.unlink()
    scan(archive, paths=[places.exports])

    places.keep("kept", *rewritten(beans(1)[0], asked("melons", 1), asked("melons", 2)))
    places.scan_home(archive)

    (other,) = set(ids(archive)) - {"vscode:kept"}
    assert [summary.id for summary in archive.list(include_gone=True) if summary.gone_at] == [other]


def test_texts_of_a_deleted_export_stay(archive: Archive, places: Places) -> None:
    places.keep("kept", *beans(1))
    places.scan_home(archive)
    export = places.export("chat.json", *beans(3))
    places.export("other.json", asked("leeks", 0))
    scan(archive, paths=[places.exports])
    export.unlink()
    places.keep("kept", *beans(2))
    places.scan_home(archive)
    result = scan(archive, paths=[places.exports])

    assert result.gone == 0
    assert len(archive.get("vscode:kept").turns) == 3
    (gone_at,) = archive.connection.execute("SELECT gone_at FROM traces WHERE path = ?", (str(export),)).fetchone()
    assert gone_at is not None


def test_a_conversation_is_gone_when_its_files_and_its_exports_are(archive: Archive, places: Places) -> None:
    kept = places.keep("kept", *beans(2))
    export = places.export("chat.json", *beans(2))
    places.export("other.json", asked("leeks", 0))
    places.scan_home(archive)
    scan(archive, paths=[places.exports])
    kept.unlink()
    assert places.scan_home(archive).gone == 0
    export.unlink()

    assert scan(archive, paths=[places.exports]).gone_ids == ["vscode:kept"]


def test_an_export_that_is_longer_than_the_session_adds_the_rest(archive: Archive, places: Places) -> None:
    places.keep("kept", *beans(1), customTitle="Beans")
    places.scan_home(archive)
    scan(archive, paths=[places.export("chat.json", *beans(3))])

    conversation = archive.get("vscode:kept")
    assert (conversation.native_id, conversation.title, len(conversation.turns)) == ("kept", "Beans", 3)
    assert [trace.role for trace in conversation.provenance] == ["lead", "copy"]


def test_a_long_conversation_is_complete_as_a_part_too(archive: Archive, places: Places) -> None:
    places.keep("kept", *beans(200))
    places.scan_home(archive)
    scan(archive, paths=[places.export("chat.json", *beans(150))])
    places.keep("kept", *beans(201))
    places.scan_home(archive)

    conversation = archive.get("vscode:kept")
    assert (len(conversation.turns), len(conversation.messages)) == (201, 402)
    assert files_of(archive, "vscode:kept") == {"kept.json", "chat.json"}


def test_exports_of_one_conversation_are_one_without_it_as_well(archive: Archive, places: Places) -> None:
    for number in (2, 3, 1):
        scan(archive, paths=[places.export(f"{number}.json", *beans(number))])
    (name,) = ids(archive)

    assert len(archive.get(name).turns) == 3
    places.keep("kept", *beans(3))
    places.scan_home(archive)
    assert ids(archive) == ["vscode:kept"]
    assert files_of(archive, "vscode:kept") == {"kept.json", "1.json", "2.json", "3.json"}
    assert archive.find_id(name) == "vscode:kept"


def test_exports_without_ids_are_matched_by_their_texts(archive: Archive, places: Places) -> None:
    requests = beans(3)
    places.keep("kept", *requests)
    places.keep("other", asked("leeks", 0))
    places.scan_home(archive)
    scan(archive, paths=[places.export("chat.json", *map(without_ids, requests[:2]))])

    assert files_of(archive, "vscode:kept") == {"kept.json", "chat.json"}
    assert ids(archive) == ["vscode:kept", "vscode:other"]


@pytest.mark.parametrize("is_session_first", [True, False])
@pytest.mark.parametrize("first", [0, 1])
def test_a_debug_export_joins_its_session_wherever_it_begins(
    first: int, is_session_first: bool, archive: Archive, tmp_path: Path
) -> None:
    session, replay = (write(tmp_path) for write in (write_session, write_replay))
    exported = json.loads(replay.read_text())
    exported["prompts"] = exported["prompts"][first:]
    for prompt in exported["prompts"]:
        sent = prompt["logs"][0]["requestMessages"]
        sent["messages"] = [sent["messages"][0], *sent["messages"][1 + 2 * first :]]  # without what was said before
    replay.write_text(json.dumps(exported))
    for path in (session, replay) if is_session_first else (replay, session):
        scan(archive, paths=[path])

    (name,) = ids(archive)
    assert files_of(archive, name) == {session.name, replay.name}


def doubts(archive: Archive, wanted: str) -> list[str]:
    return [relation.other_id for relation in archive.get(wanted).relations if relation.kind == "possible-duplicate"]


@pytest.mark.parametrize("is_home_first", [True, False])
def test_doubtful_conversations_stay_separate(archive: Archive, places: Places, is_home_first: bool) -> None:
    places.keep("kept", *beans(2))
    export = places.export("chat.json", without_ids(beans(1)[0], response=[{"value": "Another answer."}]))
    if is_home_first:
        places.scan_home(archive)
    scan(archive, paths=[export])
    if not is_home_first:
        places.scan_home(archive)

    (name,) = [name for name in ids(archive) if name != "vscode:kept"]
    assert (doubts(archive, "vscode:kept"), doubts(archive, name)) == ([name], ["vscode:kept"])

    kept = places.keep("kept", *beans(2))
    kept.write_text(kept.read_text() + " ")
    assert places.scan_home(archive).unchanged == 1
    places.keep("kept", *beans(3))
    assert places.scan_home(archive).changed == 1
    assert (doubts(archive, "vscode:kept"), doubts(archive, name)) == ([name], ["vscode:kept"])

    places.keep("kept", *rewritten(*(asked("leeks", number) for number in range(3))))
    places.scan_home(archive)
    assert (doubts(archive, "vscode:kept"), doubts(archive, name)) == ([], [])


def test_a_doubt_ends_when_the_export_turns_out_to_be_of_another(archive: Archive, places: Places) -> None:
    export = without_ids(beans(1)[0], response=[{"value": "Another answer."}])
    places.keep("kept", *beans(2))
    places.scan_home(archive)
    scan(archive, paths=[places.export("chat.json", export)])
    places.keep("really", {**export, "requestId": "request_of_its_own"})
    places.scan_home(archive)

    assert ids(archive) == ["vscode:kept", "vscode:really"]
    assert (doubts(archive, "vscode:kept"), doubts(archive, "vscode:really")) == ([], [])


def test_a_removed_export_does_not_come_back(archive: Archive, places: Places) -> None:
    export = places.export("chat.json", *beans(2))
    scan(archive, paths=[export])
    (name,) = ids(archive)
    archive.remove(name)
    export.write_text(export.read_text() + " ")
    assert scan(archive, paths=[export]).removed == 1

    places.keep("kept", *beans(2))
    places.scan_home(archive)
    assert files_of(archive, "vscode:kept") == {"kept.json"}


def test_a_removed_conversation_does_not_come_back_through_its_export(archive: Archive, places: Places) -> None:
    places.keep("kept", *beans(2))
    export = places.export("chat.json", *beans(2))
    places.scan_home(archive)
    scan(archive, paths=[export])
    archive.remove("vscode:kept")
    export.write_text(export.read_text() + " ")
    kept = places.keep("kept", *beans(3))

    assert (scan(archive, paths=[export]).removed, places.scan_home(archive).removed) == (1, 1)
    assert ids(archive) == []
    assert [len(data) for (data,) in archive.connection.execute("SELECT data FROM part")] == [0, 0]

    archive.restore("vscode:kept")
    scan(archive, paths=[export])
    places.scan_home(archive)
    assert kept.exists()
    assert files_of(archive, "vscode:kept") == {"kept.json", "chat.json"}


def test_annotations_of_an_export_move_with_it(archive: Archive, places: Places) -> None:
    places.keep("kept", asked("leeks", 0))
    places.scan_home(archive)
    scan(archive, paths=[places.export("chat.json", *beans(2))])
    (name,) = [name for name in ids(archive) if name != "vscode:kept"]
    archive.star(name)
    archive.label(name, "garden", "beans")
    archive.note(name, "Seen in spring.")
    archive.label("vscode:kept", "beans")
    archive.note("vscode:kept", "Ask Ben.")
    places.keep("kept", *beans(2))
    places.scan_home(archive)

    (summary,) = archive.list()
    assert (summary.id, summary.is_starred, sorted(summary.labels)) == ("vscode:kept", True, ["beans", "garden"])
    assert summary.note == "Ask Ben.\n\nSeen in spring."
    assert archive.labels() == {"beans": 1, "garden": 1}


def scan_anyway(archive: Archive, path: Path) -> None:
    with suppress(KeyboardInterrupt):
        scan(archive, paths=[path])


@pytest.mark.parametrize("where", ["before", "within", "after"])
def test_a_scan_that_is_interrupted_while_joining_is_continued(
    where: str, archive: Archive, places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places.keep("kept", *beans(2))
    exports = [places.export(f"{number}.json", *beans(number), sub=number) for number in (1, 3)]

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    target: tuple[object, str] = {
        "before": (joining, "nameless"),
        "within": (joining, "move"),
        "after": (scanning, "put_states"),
    }[where]

    def all_of(archive: Archive) -> None:
        scan(archive, paths=exports, roots=find_roots([places.home.root]))

    with monkeypatch.context() as patched:
        patched.setattr(*target, end)
        with pytest.raises(KeyboardInterrupt):
            all_of(archive)
        scan_anyway(archive, exports[1])
    all_of(archive)

    with Archive(tmp_path / "undisturbed.db", write=True) as undisturbed:
        all_of(undisturbed)
        assert rows_of(undisturbed) == rows_of(archive)
    assert ids(archive) == ["vscode:kept"]


def test_unchanged_conversations_are_not_compared_again(
    archive: Archive, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    places.keep("kept", *beans(1))
    places.keep("other", asked("leeks", 0))
    scan(archive, paths=[places.export("chat.json", asked("peas", 0), asked("peas", 1))])
    places.scan_home(archive)
    monkeypatch.setattr("copilog.ingest.joining.Comparison", None)

    places.scan_home(archive)
    places.keep("kept", *beans(1)).touch()
    assert places.scan_home(archive).unchanged == 2
