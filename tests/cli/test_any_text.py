"""Whatever files are called and whatever they say: it is read, found again, and no terminal obeys it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from copilog.exports.json_text import json_text
from copilog.store.archive import Archive
from tests.cli.homes import Home, entry, move_in, run, session

OBEYED = ("\x1b", "\x9b", "\x07", "\x08", "\x7f", "\x00", "\x85", "\u2028", "\u202e", "\u2066")
EVIL = "\x1b]0;title\x07\x1b[2J\x9b5n\x08\x7f\u202eturned\u2066alone \ud83d half \x00 nul\r\nnew\u2028line\x85here"
LONG = "long" * 1250
NAMES = [b"plain", b"\xff\xfe", b"\xfe\xff", b"two\nlines", b"\x1b[31mred\x07", "\u202eturned".encode(), b"n" * 200]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    if sys.platform != "linux":
        pytest.skip("files cannot have such names here")
    made = Home(tmp_path / "home")
    move_in(monkeypatch, tmp_path, made)
    for number, name in enumerate(NAMES):
        workspace = made.user / "workspaceStorage" / os.fsdecode(name)
        chats = workspace / "chatSessions"
        chats.mkdir(parents=True)
        (workspace / "workspace.json").write_text(json.dumps({"folder": f"file:///home/ana/{EVIL}"}))
        state = session(
            f"{number}{EVIL}", f"Why beans? {EVIL}", LONG + EVIL, customTitle=f"Title {number} {EVIL}{LONG}"
        )
        state["requests"][0]["response"] += [{"kind": EVIL, "value": EVIL}]
        (chats / os.fsdecode(name + b".json")).write_text(json.dumps(state))
    return made


def test_each_file_is_read_once_and_not_taken_for_another(home: Home) -> None:
    first = run("scan", "--json").json
    second = run("scan", "--json").json
    next(home.user.rglob(os.fsdecode(b"\xff\xfe.json"))).unlink()
    third = run("scan", "--json").json

    assert first["conversations"]["new"] == len(NAMES)
    assert (second["conversations"]["unchanged"], second["files"]["read"]) == (len(NAMES), 0)
    assert (third["conversations"]["gone"], third["files"]["read"]) == (1, 0)
    assert third["conversations"]["unchanged"] == len(NAMES) - 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["list", "--live"],
        ["list", "--json"],
        ["show", "last"],
        ["show", "last", "--full"],
        ["show", "last", "--json"],
        ["show", "plain", "--live"],
        ["show", r"\xed\xb3\xbf\xed\xb3\xbe", "--live", "--json"],  # as the bytes 255 and 254 are spelled
        ["search", "beans"],
        ["search", "beans", "--json"],
        ["export", "last", "-o", "-"],
        ["export", "last", "-f", "markdown", "-o", "-"],
        ["problems", "--level", "all"],
        ["problems", "--level", "all", "--json"],
        ["stats", "models", "--csv"],
        ["stats", "--json"],
    ],
    ids=" ".join,
)
def test_no_control_characters_are_printed(home: Home, arguments: list[str]) -> None:
    run("scan")
    outcome = run("--no-color", *arguments)

    assert outcome.code == 0
    assert outcome.out
    assert [sign for sign in OBEYED if sign in outcome.out + outcome.err] == []


@pytest.mark.skipif(sys.platform != "linux", reason="folders cannot have such names here")
def test_a_home_of_any_name_may_have_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Home(tmp_path / os.fsdecode(b"h\xe4user"))
    workspace = made.workspace(1, "/home/ana/code/garden")
    made.add(workspace, session("one", "Why beans?"))
    made.index(workspace, one=entry("one", "Beans"), two=entry("two", "Peas"))
    monkeypatch.setenv("COPILOG_ARCHIVE", str(tmp_path / "archive.db"))

    first = run("scan", "--root", made.root, "--json").json
    second = run("scan", "--root", made.root, "--json").json

    assert first["conversations"]["new"] == 2
    assert (second["conversations"]["unchanged"], second["files"]["read"]) == (2, 0)


def test_a_folder_of_any_name_can_be_inspected(home: Home) -> None:
    books = run("inspect", home.root, "--json").json

    assert any("\udcff" in row["path"] for row in books["files"])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["show", EVIL], 2), (["search", EVIL], 0), (["list", "-w", EVIL], 0), (["stats", "-w", EVIL, "-q", EVIL], 0)],
)
def test_arguments_may_be_any_text(home: Home, arguments: list[str], code: int) -> None:
    run("scan")
    outcome = run(*arguments)

    assert outcome.code == code
    assert "broke off" not in outcome.err
    assert [sign for sign in OBEYED if sign in outcome.out + outcome.err] == []


def test_error_messages_make_titles_harmless(home: Home) -> None:
    run("scan")
    outcome = run("show", "\x1b[32")

    assert (outcome.code, "nearest are vscode:" in outcome.err, "\x1b" in outcome.err) == (2, True, False)


def test_removed_conversations_are_listed_without_control_characters(home: Home) -> None:
    run("scan")
    with Archive(Path(os.environ["COPILOG_ARCHIVE"]), write=True) as archive:
        archive.remove("vscode:\x1b[31mred\x07")

    assert "\x1b" not in run("restore").out


# --- JSON -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_compact", [True, False])
def test_json_escapes_characters_that_control_a_terminal(is_compact: bool) -> None:
    value = {EVIL.replace("\ud83d", ""): ["größer", 1, None], "\x9b": "\x7f"}
    text = json_text(value, is_compact=is_compact)

    assert json.loads(text) == value
    assert [sign for sign in OBEYED if sign in text] == []
    assert "größer" in text
    assert ("\n" in text) != is_compact


def test_json_escapes_bytes_that_are_not_utf_8() -> None:
    text = json_text({"path": "/home/\udcff\x7f"})

    assert json.loads(text) == {"path": "/home/\udcff\x7f"}
    assert text.isascii()
    assert "\x7f" not in text
