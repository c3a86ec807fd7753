"""Large documents that are read item by item: the same as when they are read whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from copilog.diagnostics import Ledger
from copilog.errors import BadFile
from copilog.ingest.inspection import inspect_file
from copilog.intake import long_documents
from copilog.intake.long_documents import long_document
from copilog.sources.base import Found, Probe
from copilog.sources.vscode.session_json import ChatExport, VSCodeSession
from tests.sources.vscode_builders import SESSION_ID, request, session

LONG = 'a "quoted" text with [brackets] and {braces} \\ ' * 20
STATE = session(
    request(LONG, [{"value": LONG}, {"value": "ünïcode"}]),
    request("two", [{"value": LONG}]),
    request("three"),
    customTitle='"requests": [',
    inputState={"attachments": [], "requests": [{}]},
)


def read(path: Path) -> tuple[dict[str, Any], Ledger]:
    """Return what is made of a session, and the ledger of its file."""
    ledger = Ledger(path=str(path))
    (conversation,) = VSCodeSession().read(Found(path, "vscode-session", native_id=SESSION_ID), ledger)
    assert ledger.balances()
    return msgspec.to_builtins(conversation), ledger


def changed(data: bytes, old: bytes, new: bytes) -> bytes:
    """Return the data with one replacement."""
    assert data.count(old) == 1
    return data.replace(old, new)


PLAIN = json.dumps(STATE).encode()
SHAPES = {
    "compact": json.dumps(STATE, separators=(",", ":")).encode(),
    "indented": json.dumps(STATE, indent=2, ensure_ascii=False).encode(),
    "no requests": json.dumps(session()).encode(),
    "a cut value": changed(PLAIN, b'"three"', b'"three: value truncated for persistence"'),
    "two lists": PLAIN[:-1] + b', "requests": [' + json.dumps(request("last")).encode() + b"]}",
    "an empty slot": changed(PLAIN, b'"requests": [{"req', b'"requests": [null, {"req'),
    "a broken request": changed(PLAIN, b'"three"', b'"thr\xffee"'),
    "a stray comma": changed(PLAIN, b'"requests": [{"req', b'"requests": [, {"req'),
    "torn": PLAIN[:-40],
    "NULs at the end": PLAIN + b"\0" * 100,
    "a byte order mark": b"\xef\xbb\xbf" + PLAIN,
    "a text between the requests": changed(PLAIN, b'"requests": [{"req', b'"requests": ["one, [two", {"req'),
    "a word between the requests": changed(PLAIN, b'"requests": [{"req', b'"requests": [two, {"req'),
    "torn between requests": PLAIN[: PLAIN.rindex(b'{"requestId"')],
    "torn after its requests": PLAIN[: PLAIN.index(b"customTitle")],
    "a broken request in UTF-16": PLAIN.decode().replace('"three"', '"thr\\qee"').encode("utf-16"),
    "UTF-32, torn": PLAIN[:-40].decode().encode("utf-32"),
    "UTF-16": b"\xff\xfe" + PLAIN.decode().encode("utf-16-le"),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("piece", [7, 1 << 20])
def test_a_session_read_by_request_equals_one_read_whole(
    shape: str, piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "chatSessions" / f"{SESSION_ID}.json"
    path.parent.mkdir()
    path.write_bytes(SHAPES[shape])
    whole = read(path)
    keys, leaves = Probe(path).keys, inspect_file(path).leaves

    monkeypatch.setattr(long_documents, "LARGE_BYTES", 0)
    monkeypatch.setattr(long_documents, "_PIECE_BYTES", piece)

    assert read(path) == whole
    assert inspect_file(path).leaves == leaves
    # Of a broken document, those of its requests are not among them, and those after its requests are.
    assert Probe(path).keys <= keys | STATE.keys()


def test_the_items_of_the_list_are_found_in_any_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "some.json"
    path.write_bytes(PLAIN)
    monkeypatch.setattr(long_documents, "LARGE_BYTES", 0)
    for piece in (1, 2, 3, 50, 1000):
        monkeypatch.setattr(long_documents, "_PIECE_BYTES", piece)
        document = long_document(path, "requests")
        assert document is not None
        assert list(document.values()) == STATE["requests"]
        assert json.loads(document.shell() or b"") == {**STATE, "requests": []}


def test_a_small_document_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    path.write_bytes(PLAIN)

    assert long_document(path, "requests") is None


def test_an_export_is_recognised_by_its_first_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"requests": [request("one", [])], "version": 3}), encoding="utf-8")
    monkeypatch.setattr(long_documents, "LARGE_BYTES", 0)

    assert ChatExport().claims(Probe(path))


def test_a_file_that_changes_while_it_is_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "some.json"
    path.write_bytes(PLAIN)
    monkeypatch.setattr(long_documents, "LARGE_BYTES", 0)
    document = long_document(path, "requests")
    assert document is not None
    path.write_bytes(PLAIN[100:])

    with pytest.raises(BadFile, match="changed while it was read"):
        list(document.values())
