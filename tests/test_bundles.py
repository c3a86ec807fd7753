"""Bundles: the chosen conversations and nothing of others, equal again elsewhere, and refused if not as written."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import copilog
from copilog.diagnostics import Report
from copilog.exports.chosen import chosen_in
from copilog.exports.formats import Making, format_named
from copilog.exports.options import Options
from copilog.exports.writing import write
from copilog.ingest import find_roots
from copilog.ingest.scanning import scan
from copilog.sample import home
from copilog.store.archive import Archive
from tests.cli.homes import run
from tests.export_places import Places, beans, ids
from tests.neighbours import CANARY, make_home
from tests.test_own_json import assert_equal, figures

MANIFEST = "copilog-bundle.json"


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "data" / "archive.db", write=True) as opened:
        yield opened


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def bundle_of(archive: Archive, path: Path, names: list[str], **fields: Any) -> Path:
    kind = format_named("bundle")
    assert kind is not None
    return write(chosen_in(archive, names), kind, path, Making(by="copilog 1.0", **fields)).paths[0]


def members_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as bundle:
        return {name: bundle.read(name) for name in bundle.namelist()}


def manifest_of(path: Path) -> Any:
    return json.loads(members_of(path)[MANIFEST])


def assert_round_trip(archive: Archive, path: Path) -> None:
    exported = copilog.export(archive, "bundle", path)
    back = {conversation.id: conversation for conversation in copilog.read(path)}
    assert len(back) == exported.conversations == len(ids(archive))
    for name, conversation in back.items():
        assert_equal(conversation, archive.get(name), path)


# --- equal again ----------------------------------------------------------------------------------------------------


def test_all_conversations_of_the_sample_are_equal_elsewhere(archive: Archive, tmp_path: Path) -> None:
    scan(archive, roots=find_roots([home()]), paths=[home() / "Documents"])
    path = tmp_path / "all.copilog.zip"
    assert_round_trip(archive, path)

    with Archive(tmp_path / "other.db", write=True) as other:
        scan(other, paths=[path])
        assert ids(other) == ids(archive)
        assert figures(other) == figures(archive)
        scan(other, roots=find_roots([home()]))
        assert figures(other) == figures(archive)


@pytest.mark.corpus
def test_all_conversations_of_real_homes_are_equal_elsewhere(archive: Archive, tmp_path: Path, corpus: Path) -> None:
    scan(archive, roots=find_roots([corpus]), paths=[corpus / "files"])
    assert_round_trip(archive, tmp_path / "all.copilog.zip")


def test_a_bundle_can_be_shown_listed_and_scanned_as_a_root(archive: Archive, places: Places, tmp_path: Path) -> None:
    places.keep("kept", *beans(2))
    places.scan_home(archive)
    path = bundle_of(archive, tmp_path / "one.copilog.zip", ["vscode:kept"])
    shown = run("show", "vscode:kept", "--json", "--root", places.home.root).json
    for again in (run("show", path, "--json").json, run("show", "kept", "--json", "--root", path).json):
        assert again["provenance"][1:] == shown["provenance"]
        assert {**again, "provenance": []} == {**shown, "provenance": []}
    assert [line["id"] for line in run("list", "--root", path, "--json").json] == ["vscode:kept"]
    with Archive(tmp_path / "other.db", write=True) as other:
        scan(other, roots=find_roots([path]))
        assert ids(other) == ["vscode:kept"]
        assert scan(other, roots=find_roots([path])).unchanged == 1


def test_session_files_are_in_the_bundle_as_they_are_and_unpacked_they_are_a_home(
    archive: Archive, tmp_path: Path
) -> None:
    scan(archive, roots=find_roots([home()]))
    path = tmp_path / "all.copilog.zip"
    copilog.export(archive, "bundle", path)
    with zipfile.ZipFile(path) as bundle:
        bundle.extractall(tmp_path / "unpacked")
    unpacked = tmp_path / "unpacked" / "files"
    for conversation in manifest_of(path)["conversations"]:
        for file in conversation.get("files", []):
            assert (tmp_path / "unpacked" / file["member"]).read_bytes() == Path(file["path"]).read_bytes()
    names = {found.parent.name for found in unpacked.rglob("*")}
    assert names >= {"chatSessions", "contents", "checkpoints", "transcripts", "emptyWindowChatSessions"}
    with Archive(tmp_path / "other.db", write=True) as other:
        scan(other, roots=find_roots([unpacked]))
        left = set(ids(archive)) - set(ids(other))
    # A conversation that only a database has is in it as a record.
    records = {each["id"] for each in manifest_of(path)["conversations"] if not each.get("files")}
    assert left == records
    assert all(
        json.loads(line)["conversation"]["id"] == each["id"]
        for each in manifest_of(path)["conversations"]
        if "records" in each
        for line in members_of(path)[each["records"]].splitlines()
    )


# --- nothing of others ----------------------------------------------------------------------------------------------


def test_nothing_of_a_neighbour_is_in_a_bundle(archive: Archive, tmp_path: Path) -> None:
    folder = make_home(tmp_path / "home")
    scan(archive, roots=find_roots([folder]), paths=[folder / "Documents"])
    whole = {name: msgspec.json.encode(archive.get(name)).decode() for name in ids(archive)}
    chosen = [name for name, text in whole.items() if CANARY not in text and "0e0e" not in name]
    others = set(whole) - set(chosen)
    stores = {trace.path for name in chosen for trace in archive.get(name).provenance}
    shared = {trace.path for name in others for trace in archive.get(name).provenance} & stores
    names = {"state.vscdb", "session-store.db", "agent-traces.db", "ferry.jsonl", "norrvik.jsonl"}
    assert {Path(path).name for path in shared} == names
    assert len([path for path in shared if path.endswith("session-store.db")]) == 2
    for path in shared:
        assert CANARY.encode() in Path(path).read_bytes()

    store = bundle_of(archive, tmp_path / "mine.copilog.zip", chosen)
    assert CANARY.encode() not in store.read_bytes()
    members = members_of(store)
    for name, content in members.items():
        assert CANARY not in name
        assert CANARY.encode() not in content, name
        assert b"0e0e" not in content, name
    recorded = {
        (json.loads(line)["source"], Path(json.loads(line)["path"]).name)
        for name, content in members.items()
        if name.startswith("records/")
        for line in content.splitlines()
    }
    assert {name for _, name in recorded} == names
    raw = [name for name in members if name.startswith("files/")]
    assert not [name for name in raw if name.endswith((".db", ".vscdb")) and "session-state" not in name]
    assert len([name for name in raw if "/contents/" in name]) == 2
    assert any("debug-logs" in name for name in raw)
    assert any(name.endswith("session-state/5a5a5a5a-1111-4222-8333-444444444444/plan.md") for name in raw)


def test_the_shared_file_of_several_chosen_conversations_is_packed_for_each(archive: Archive, tmp_path: Path) -> None:
    folder = make_home(tmp_path / "home")
    scan(archive, roots=find_roots([folder]))
    path = tmp_path / "all.copilog.zip"
    assert_round_trip(archive, path)
    assert CANARY in " ".join(content.decode("utf-8", "replace") for content in members_of(path).values())


def test_nothing_is_packed_because_a_file_names_it(archive: Archive, places: Places, tmp_path: Path) -> None:
    places.keep("kept", *beans(1))
    places.scan_home(archive)
    secret = tmp_path / "elsewhere" / "chatSessions" / "secret.json"
    secret.parent.mkdir(parents=True)
    secret.write_text(json.dumps({"sessionId": "secret", "requests": [], "text": CANARY}))
    hostile = tmp_path / "hostile.json"
    named = [{"source": "vscode-session", "path": str(secret), "role": "lead"}]
    content = msgspec.to_builtins(archive.get("vscode:kept"))
    hostile.write_text(json.dumps({**content, "provenance": [*named, *content["provenance"]]}))
    for order in ((), (places.home.root,)):
        scan(archive, paths=[hostile], roots=find_roots(order) if order else [])
        assert str(secret) in {trace.path for trace in archive.get("vscode:kept").provenance}
        members = members_of(bundle_of(archive, tmp_path / "kept.copilog.zip", ["vscode:kept"]))
        assert not [name for name in members if "secret" in name]
        assert not [name for name, data in members.items() if CANARY.encode() in data]


def test_with_redaction_only_the_model_is_in_a_bundle(archive: Archive, places: Places, tmp_path: Path) -> None:
    places.keep("kept", *beans(2))
    places.scan_home(archive)
    archive.note("vscode:kept", "Ask Ana")
    kind = format_named("bundle")
    assert kind is not None
    path = tmp_path / "kept.copilog.zip"
    exported = write(chosen_in(archive, ["vscode:kept"]), kind, path, Making(by="copilog 1.0", is_redacted=True))
    assert set(members_of(path)) == {"conversations/0001.json", MANIFEST}
    assert "Ask Ana" not in str(members_of(path))
    assert {left.what: left.number for left in exported.left_out} == {
        "files as their programs wrote them": 1,
        "stars, labels and notes": 1,
    }
    assert [conversation.id for conversation in copilog.read(path)] == ["vscode:kept"]


# --- what the user added --------------------------------------------------------------------------------------------


def test_stars_labels_and_notes_go_along_and_are_added_to_those_there(
    archive: Archive, places: Places, tmp_path: Path
) -> None:
    places.keep("kept", *beans(2))
    places.scan_home(archive)
    archive.star("vscode:kept")
    archive.label("vscode:kept", "tides", "done")
    archive.note("vscode:kept", "Ask Ana")
    path = bundle_of(archive, tmp_path / "kept.copilog.zip", ["vscode:kept"])
    with Archive(tmp_path / "other.db", write=True) as other:
        scan(other, paths=[path])
        [summary] = other.list()
        assert (summary.is_starred, sorted(summary.labels), summary.note) == (True, ["done", "tides"], "Ask Ana")
        other.star("vscode:kept", on=False)
        other.note("vscode:kept", "Mine")
        scan(other, paths=[path])  # unchanged, so that nothing comes back
        [summary] = other.list()
        assert (summary.is_starred, summary.note) == (False, "Mine")
        bundle_of(archive, path, ["vscode:kept"])
        path.touch()
        scan(other, paths=[path])
        [summary] = other.list()
        assert (summary.is_starred, summary.note) == (True, "Mine\n\nAsk Ana")


def test_they_stay_at_home_if_the_user_says_so(archive: Archive, places: Places, tmp_path: Path) -> None:
    places.keep("kept", *beans(2))
    places.scan_home(archive)
    archive.note("vscode:kept", "Ask Ana")
    path = bundle_of(archive, tmp_path / "kept.copilog.zip", ["vscode:kept"], options=Options(no_annotations=True))
    assert "Ask Ana" not in str(members_of(path))


# --- refused --------------------------------------------------------------------------------------------------------


def rewritten(path: Path, change: Callable[[zipfile.ZipFile, dict[str, bytes]], None]) -> Path:
    """Write a bundle again, as a program would that means ill."""
    members = members_of(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        change(bundle, members)
    return path


def put_all(bundle: zipfile.ZipFile, members: dict[str, bytes]) -> None:
    for name, content in members.items():
        bundle.writestr(name, content)


def with_member(name: str) -> Callable[[zipfile.ZipFile, dict[str, bytes]], None]:
    def change(bundle: zipfile.ZipFile, members: dict[str, bytes]) -> None:
        put_all(bundle, members)
        bundle.writestr(zipfile.ZipInfo(name), b"x")

    return change


def with_a_link(bundle: zipfile.ZipFile, members: dict[str, bytes]) -> None:
    put_all(bundle, members)
    link = zipfile.ZipInfo("files/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    bundle.writestr(link, "/etc/passwd")


def twice(bundle: zipfile.ZipFile, members: dict[str, bytes]) -> None:
    put_all(bundle, members)
    with pytest.warns(UserWarning, match="Duplicate name"):
        bundle.writestr("conversations/0001.json", b"{}")


def with_a_bomb(bundle: zipfile.ZipFile, members: dict[str, bytes]) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_LZMA) as packed:
        packed.writestr("bomb", bytes(1 << 20))
    put_all(bundle, members)
    bundle.writestr("bomb", bytes(1 << 20), zipfile.ZIP_LZMA)


def with_another_sum(bundle: zipfile.ZipFile, members: dict[str, bytes]) -> None:
    put_all(bundle, {name: content.replace(b"Answer 0", b"Answer 9") for name, content in members.items()})


def without_its_list(bundle: zipfile.ZipFile, members: dict[str, bytes]) -> None:
    put_all(bundle, {name: content for name, content in members.items() if name != MANIFEST})


def of_a_later_version(bundle: zipfile.ZipFile, members: dict[str, bytes]) -> None:
    manifest = {**json.loads(members[MANIFEST]), "version": 99}
    put_all(bundle, {**members, MANIFEST: json.dumps(manifest).encode()})


def of_another_conversation(bundle: zipfile.ZipFile, members: dict[str, bytes]) -> None:
    model = members["conversations/0001.json"].replace(b"vscode:kept", b"vscode:else")
    manifest = json.loads(members[MANIFEST])
    listed = manifest["members"]["conversations/0001.json"]
    listed |= {"sha256": hashlib.sha256(model).hexdigest(), "size": len(model)}
    put_all(bundle, {**members, "conversations/0001.json": model, MANIFEST: json.dumps(manifest).encode()})


WRONG = {
    "out_of_the_folder": (with_member("../../evil.json"), "could lead out of the folder"),
    "from_the_root": (with_member("/etc/evil"), "could lead out of the folder"),
    "with_a_drive": (with_member("C:evil"), "could lead out of the folder"),
    "with_backslashes": (with_member("files\\..\\evil"), "could lead out of the folder"),
    "not_in_the_list": (with_member("files/more"), "does not name"),
    "a_link": (with_a_link, "a link"),
    "a_name_twice": (twice, "two members of one name"),
    "otherwise_packed": (with_a_bomb, "packed in another way"),
    "another_sum": (with_another_sum, "the sum of"),
    "without_its_list": (without_its_list, "has no member copilog-bundle.json"),
    "of_a_later_version": (of_a_later_version, "newer copilog"),
    "of_another_conversation": (of_another_conversation, "not the conversation"),
}


@pytest.mark.parametrize(("change", "reason"), WRONG.values(), ids=WRONG)
def test_a_bundle_that_copilog_did_not_write_so_is_refused(
    archive: Archive, places: Places, tmp_path: Path, change: Any, reason: str
) -> None:
    places.keep("kept", *beans(2))
    places.scan_home(archive)
    path = rewritten(bundle_of(archive, tmp_path / "kept.copilog.zip", ["vscode:kept"]), change)
    report = Report()
    with Archive(tmp_path / "other.db", write=True) as other:
        scan(other, paths=[path], report=report)
        assert ids(other) == []
    assert [diagnostic for diagnostic in report.diagnostics() if reason in diagnostic.reason]
    assert run("show", path).code != 0


def test_a_member_that_unpacks_to_far_more_than_it_says_is_refused(
    archive: Archive, places: Places, tmp_path: Path
) -> None:
    places.keep("kept", *beans(2))
    places.scan_home(archive)
    path = bundle_of(archive, tmp_path / "kept.copilog.zip", ["vscode:kept"])
    members = members_of(path)
    bomb = bytes(8 << 20)
    manifest = json.loads(members[MANIFEST])
    manifest["members"]["files/bomb"] = {"size": 1 << 40, "sha256": hashlib.sha256(bomb).hexdigest()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        put_all(bundle, {**members, MANIFEST: json.dumps(manifest).encode(), "files/bomb": bomb})
        bundle.getinfo("files/bomb").file_size = 1 << 31
    report = Report()
    list(copilog.read(path, report=report))
    assert [diagnostic.code for diagnostic in report.diagnostics()] == ["unsafe-archive"]


def test_members_that_share_their_bytes_are_refused(archive: Archive, places: Places, tmp_path: Path) -> None:
    places.keep("kept", *beans(2))
    places.scan_home(archive)
    path = bundle_of(archive, tmp_path / "kept.copilog.zip", ["vscode:kept"])
    members = members_of(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        put_all(bundle, {**members, "files/a": b"a" * 100, "files/b": b"a" * 100})
        bundle.getinfo("files/b").header_offset = bundle.getinfo("files/a").header_offset
    report = Report()
    list(copilog.read(path, report=report))
    assert [diagnostic.code for diagnostic in report.diagnostics()] == ["unsafe-archive"]


@pytest.mark.parametrize("length", [0, 4, 100, -1, -300])
def test_a_bundle_that_was_cut_off_is_refused(archive: Archive, places: Places, tmp_path: Path, length: int) -> None:
    places.keep("kept", *beans(2))
    places.scan_home(archive)
    path = bundle_of(archive, tmp_path / "kept.copilog.zip", ["vscode:kept"])
    path.write_bytes(path.read_bytes()[:length])
    outcome = run("show", path)
    assert outcome.code != 0
    assert "Traceback" not in outcome.err


def test_an_archive_of_other_things_is_not_a_bundle(tmp_path: Path) -> None:
    path = tmp_path / "pictures.zip"
    with zipfile.ZipFile(path, "w") as other:
        other.writestr("picture.png", b"")
    assert "the format is not known" in run("show", path).err


def test_a_bundle_says_what_could_not_be_packed(archive: Archive, places: Places, tmp_path: Path) -> None:
    session = places.keep("kept", *beans(2))
    places.scan_home(archive)
    session.unlink()
    exported = copilog.export(archive, "bundle", tmp_path / "kept.copilog.zip")
    assert [(left.what, left.number) for left in exported.left_out] == [
        ("files that are not on this machine any more", 1)
    ]
