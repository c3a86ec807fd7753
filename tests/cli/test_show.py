"""`copilog show`: which conversation is selected, and what is printed and saved."""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from copilog.cli.attachments import Binary, file_name
from copilog.model import Conversation
from tests.cli.homes import Home, entry, request, run, session

ONE, TWO, THREE = "11111111-aaaa", "11112222-bbbb", "33333333-cccc"
DATA = Path(__file__).parents[1] / "data"
PNG = b"\x89PNG\r\n\x1a\nmade up"


@pytest.fixture(autouse=True)
def no_config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the config file of the user who runs the tests."""
    for name in ("XDG_CONFIG_HOME", "HOME", "APPDATA", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "nobody"))
    for name in ("COPILOG_CONFIG", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    tides = home.workspace(1, "/home/ana/tide-tables")
    garden = home.workspace(2, "/home/ana/garden-planner")
    home.add(tides, session(ONE, "Parse the tide file", "And test it", customTitle="Tide parser"))
    late = session(TWO, "Plan the beds")
    late["requests"][0] |= {"timestamp": 1_777_000_000_000, "modelState": {"value": 1}}
    home.add(garden, late)
    home.add(garden, session(THREE))
    return home


def picture(name: str, mime_type: str = "image/png", data: bytes = PNG) -> dict[str, Any]:
    value = {"$base64": base64.b64encode(data).decode()}
    return {"kind": "image", "id": name, "name": name, "mimeType": mime_type, "value": value}


# --- which one --------------------------------------------------------------------------------------------------


def test_an_id_of_both_vs_code_and_copilot_cli_is_ambiguous(home: Home) -> None:
    home.index(home.user / "workspaceStorage" / f"{1:032x}", **{ONE: entry(ONE, "Tide parser")})
    log = home.root / ".copilot/session-state" / ONE / "events.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text(json.dumps({"type": "user.message", "data": {"content": "Moor the boat"}, "id": "e1"}) + "\n")

    listed = run("list", "--all", "--json", "--root", home.root).json
    assert {f"vscode:{ONE}", f"cli:{ONE}"} <= {row["id"] for row in listed}
    assert "Moor the boat" in run("show", f"cli:{ONE}", "--root", home.root).out
    assert "Parse the tide file" in run("show", f"vscode:{ONE}", "--root", home.root).out
    either = run("show", ONE, "--root", home.root)
    assert either.code == 2
    assert f"'{ONE}' matches 2 ids" in either.err


@pytest.mark.parametrize("target", ["11111", ONE, f"vscode:{ONE}", "vscode:11111"])
def test_the_beginning_of_an_id_is_enough(home: Home, target: str) -> None:
    outcome = run("show", target, "--root", home.root)

    assert outcome.code == 0
    assert outcome.out.startswith(f"Tide parser\ntitle from custom\nid         vscode:{ONE}\n")
    assert "workspace  /home/ana/tide-tables\n" in outcome.out
    assert "You\n  Parse the tide file\n\nGitHub Copilot\n  Answer 1.\n" in outcome.out
    assert "Turn 2 of 2" in outcome.out
    assert outcome.err == "1 conversation from 1 file\n"


@pytest.mark.parametrize("command", ["show", "diff"])
def test_the_short_id_of_a_file_without_an_id_is_found_in_the_archive(command: str, tmp_path: Path) -> None:
    """Its id is made of its content; lists show the beginning of that."""
    archive = tmp_path / "archive.db"
    assert run("--archive", archive, "scan", "tests/data/chat_replay/garden.chatreplay.json").code == 0
    listed = run("--archive", archive, "--no-scan", "list")
    short = listed.out.splitlines()[1].split()[0]
    [row] = run("--archive", archive, "--no-scan", "list", "--json").json

    assert row["id"].startswith(f"replay:{short}")
    for target in (short, row["id"], row["id"].partition(":")[2]):
        assert run("--archive", archive, "--no-scan", command, target).code == 0


@pytest.mark.parametrize(
    "name",
    [
        "chat_replay/garden.chatreplay.json",
        "copilot_markdown/request.copilotmd",
        "chat_export/without_ids.json",
        "atif/garden.trajectory.cont-1.json",
        "trajectory_file/plain.jsonl",
    ],
)
def test_every_listed_id_can_be_shown_in_full_and_shortened(name: str) -> None:
    path = DATA / name
    for row in run("list", "--root", path, "--all", "--json").json:
        for wanted in (row["id"], row["id"].partition(":")[2][:8]):
            assert run("show", wanted, "--json", "--root", path).json["id"] == row["id"]


def test_an_ambiguous_id_lists_its_candidates(home: Home) -> None:
    outcome = run("show", "1111", "--root", home.root)

    assert outcome.code == 2
    assert outcome.out == ""
    lines = outcome.err.splitlines()
    assert lines[0] == "copilog: '1111' matches 2 ids; type more characters of one of these:"
    assert [line.split()[0] for line in lines[1:]] == [f"vscode:{TWO}", f"vscode:{ONE}"]
    assert lines[1].endswith("Plan the beds")
    assert lines[2].endswith("Tide parser")


def test_an_unknown_id_says_what_to_do_next(home: Home) -> None:
    outcome = run("show", "9999", "--root", home.root)

    assert outcome.code == 2
    assert outcome.out == ""
    assert "no conversation has an id that begins with '9999'" in outcome.err
    assert "copilog list --all" in outcome.err


def test_last_is_the_newest_conversation_with_messages(home: Home) -> None:
    assert f"vscode:{TWO}\n" in run("show", "last", "--root", home.root).out


def test_last_depends_on_message_times_and_not_on_file_times(home: Home) -> None:
    for path in home.user.rglob("*.json"):
        later = 1_800_000_000 if ONE in path.name else 1_790_000_000
        os.utime(path, (later, later))

    assert f"vscode:{TWO}\n" in run("show", "last", "--root", home.root).out


def test_without_conversations_there_is_no_last(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.add(home.workspace(1), session(THREE))

    outcome = run("show", "last", "--root", home.root)

    assert outcome.code == 2
    assert "copilog doctor" in outcome.err


def test_a_file_can_be_named(home: Home, tmp_path: Path) -> None:
    export = tmp_path / "chat.json"
    export.write_text(json.dumps({"responderUsername": "GitHub Copilot", "requests": [request(1, "Exported words")]}))

    outcome = run("show", export)

    assert outcome.code == 0
    assert "  Exported words\n" in outcome.out
    assert f"found in   {export}  (lead, chat-export)\n" in outcome.out


def test_a_folder_with_one_conversation_can_be_named_and_one_with_more_lists_them(home: Home) -> None:
    one = home.user / "workspaceStorage" / f"{1:032x}"
    two = home.user / "workspaceStorage" / f"{2:032x}"

    assert "Tide parser" in run("show", one).out
    outcome = run("show", two)
    assert outcome.code == 2
    assert outcome.out == ""
    assert f"{two} contains 2 conversations" in outcome.err
    assert f"{two}/chatSessions/{TWO}.json" in outcome.err


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("missing.json", None, "no such file or folder"),
        ("notes.json", '{"milk": 2}', "the format is not known"),
        ("empty", "", "contains no conversation"),
    ],
)
def test_a_path_without_a_conversation_is_reported(tmp_path: Path, name: str, content: str | None, reason: str) -> None:
    path = tmp_path / name
    if content:
        path.write_text(content)
    elif content is not None:
        path.mkdir()

    outcome = run("show", path)

    assert outcome.code == 2
    assert str(path) in outcome.err
    assert reason in outcome.err


def test_a_name_that_is_too_long_for_a_file_is_an_unknown_id(home: Home) -> None:
    assert run("show", "1" * 5000, "--root", home.root).code == 2


# --- what is printed --------------------------------------------------------------------------------------------


def test_json_has_the_complete_model(home: Home) -> None:
    outcome = run("show", "11111", "--json", "--root", home.root)

    assert outcome.code == 0
    made = msgspec.json.decode(outcome.out, type=Conversation)
    assert made.title == "Tide parser"
    assert len(made.turns) == 2
    assert outcome.json["messages"][0]["parts"][0] == {"kind": "text", "text": "Parse the tide file"}


def test_bytes_are_base64_in_json(home: Home) -> None:
    state = session("44444444-dddd", "Look")
    state["requests"][0]["variableData"]["variables"] = [picture("shot.png")]

    parts = run("show", home.add(home.workspace(1), state), "--json").json["messages"][0]["parts"]

    assert base64.b64decode(parts[1]["data"]) == PNG


@pytest.mark.skipif(os.name == "nt", reason="file names are Unicode there")
def test_a_file_name_that_is_not_utf_8_is_printed(home: Home) -> None:
    folder = Path(os.fsdecode(os.fsencode(home.root) + b"/od\xffd"))
    folder.mkdir()
    path = folder / "chat.json"
    path.write_text(json.dumps({"responderUsername": "x", "requests": [request(1, "Odd")]}))

    assert run("show", path, "--json").json["provenance"][0]["path"] == str(path)
    assert "od\ufffdd/chat.json" in run("show", path).out


def test_single_turns_can_be_selected(home: Home) -> None:
    outcome = run("show", "11111", "--turn", "2", "--root", home.root)

    assert "Answer 2." in outcome.out
    assert "Answer 1." not in outcome.out
    assert run("show", "11111", "--turn", "1-2", "--root", home.root).out.count("Answer") == 2


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--turn", "5"], "there is no turn 5; the conversation has 2 turns"),
        (["--turn", "0"], "is not a turn"),
        (["--turn", "3-1"], "is not a turn"),
        (["--turn", "two"], "is not a turn"),
        (["--turn", "1", "--json"], "--turn cannot be used with --json"),
    ],
)
def test_invalid_turn_ranges_are_reported(home: Home, options: list[str], reason: str) -> None:
    outcome = run("show", "11111", *options, "--root", home.root)

    assert outcome.code == 2
    assert outcome.out == ""
    assert reason in outcome.err


def test_thinking_results_and_context_are_folded_unless_an_option_shows_them(home: Home, tmp_path: Path) -> None:
    state = session("44444444-dddd", "Think")
    state["requests"][0] |= {
        "response": [
            {"kind": "thinking", "value": "The moon pulls."},
            {
                "kind": "toolInvocationSerialized",
                "toolCallId": "c1",
                "toolId": "grep",
                "isComplete": True,
                "isConfirmed": {"type": 4},
                "resultDetails": {"input": '{"query": "moon"}', "output": "\n".join("abcdefgh")},
            },
            {"value": "Done."},
        ],
        "result": {"metadata": {"renderedUserMessage": [{"type": 1, "text": "<context>\nNovember\n</context>"}]}},
    }
    path = home.add(home.workspace(1), state)

    folded = run("show", path).out
    whole = run("show", path, "--full", "--thinking", "--context").out

    assert "  thinking · 15 characters\n  ✓ grep  moon  approved by the user\n" in folded
    assert "… 4 more lines" in folded
    assert "November" not in folded
    assert "The moon pulls." in whole
    assert "\n      h\n" in whole
    assert "November" in whole


def test_without_a_terminal_text_has_no_colours_and_lines_are_not_cut(home: Home) -> None:
    state = session("44444444-dddd", "Long")
    state["requests"][0]["response"] = [{"value": "# Head\n\n" + "word " * 60 + "end\n\n| a |\n|---|\n| b |"}]

    out = run("show", home.add(home.workspace(1), state)).out

    assert "  # Head\n" in out
    assert "word " * 60 + "end\n" in out
    assert "  | a |\n" in out
    assert "\x1b" not in out
    assert "─" not in out


def test_colours_can_be_forced(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")

    assert "\x1b[1mTide parser" in run("--color", "show", "11111", "--root", home.root).out


def test_bad_records_are_reported_and_change_the_exit_code_only_with_strict(home: Home) -> None:
    state = session("44444444-dddd", "Good")
    state["requests"].append({"requestId": "bad"})
    path = home.add(home.workspace(1), state)

    outcome = run("show", path)

    assert outcome.code == 0
    assert "1 bad record" in outcome.err
    assert run("show", path, "--strict").code == 1


def test_titles_in_the_list_of_candidates_cannot_control_the_terminal(home: Home) -> None:
    home.add(home.workspace(1), session("55555555-a", "x", customTitle="\x1b]0;owned\x07\n  fake line"))
    home.add(home.workspace(1), session("55555555-b", "y"))

    outcome = run("show", "5555", "--root", home.root)

    assert "\x1b" not in outcome.err
    assert len(outcome.err.splitlines()) == 3


def test_the_index_is_listed_among_the_traces(home: Home) -> None:
    home.index(home.workspace(1), **{ONE: entry(ONE, "Tide parser", minutes=3)})

    outcome = run("show", "11111", "--root", home.root)

    assert outcome.err == "1 conversation from 2 files\n"
    assert "(index, vscode-state)" in outcome.out


def test_a_pager_gets_the_same_text(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    home.add(home.workspace(1), session("44444444-dddd", *(f"Question {number}" for number in range(20))))

    plain = run("--color", "show", "4444", "--root", home.root).out
    paged = run("--color", "show", "4444", "--pager", "--root", home.root).out

    assert "Question 19" in paged
    assert re.sub(r"\x1b\[[\d;]*m", "", paged).split() == re.sub(r"\x1b\[[\d;]*m", "", plain).split()


# --- attachments ------------------------------------------------------------------------------------------------


def test_images_are_written_and_nothing_is_overwritten(home: Home, tmp_path: Path) -> None:
    state = session("44444444-dddd", "Look", "Again")
    state["requests"][0]["variableData"]["variables"] = [picture("shot.png"), picture("shot.png", data=PNG + b"2")]
    state["requests"][1]["variableData"]["variables"] = [picture("../../escape.png")]
    path = home.add(home.workspace(1), state)
    folder = tmp_path / "out" / "pictures"

    outcome = run("show", path, "--save-attachments", folder)

    assert outcome.code == 0
    assert sorted(file.name for file in folder.iterdir()) == [
        "turn01-shot-2.png",
        "turn01-shot.png",
        "turn02-escape.png",
    ]
    assert (folder / "turn01-shot.png").read_bytes() == PNG
    assert f"wrote {folder / 'turn01-shot.png'} (15 bytes)\n" in outcome.err
    assert "wrote" not in outcome.out
    again = run("show", path, "--save-attachments", folder)
    assert len(list(folder.iterdir())) == 3
    assert f"already there: {folder / 'turn01-shot.png'}" in again.err


def test_a_link_is_not_followed_when_writing(home: Home, tmp_path: Path) -> None:
    state = session("44444444-dddd", "Look")
    state["requests"][0]["variableData"]["variables"] = [picture("shot.png")]
    path = home.add(home.workspace(1), state)
    victim = tmp_path / "victim"
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "turn01-shot.png").symlink_to(victim)

    run("show", path, "--save-attachments", folder)

    assert not victim.exists()
    assert (folder / "turn01-shot-2.png").read_bytes() == PNG


def test_it_says_when_there_is_nothing_to_write_or_nowhere_to_write_to(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")

    nothing = run("show", "11111", "--root", home.root, "--save-attachments", tmp_path / "out")
    nowhere = run("show", "11111", "--root", home.root, "--save-attachments", file)

    assert nothing.code == 0
    assert "nothing written" in nothing.err
    assert not (tmp_path / "out").exists()
    assert nowhere.code == 2
    assert "not a folder" in nowhere.err
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "mime_type", "expected"),
    [
        ("shot.png", "image/png", "turn07-shot.png"),
        ("photo.jpeg", "image/jpeg", "turn07-photo.jpg"),
        ("Pasted Image", "image/png", "turn07-Pasted_Image.png"),
        ("shot.png", "image/webp", "turn07-shot.png.webp"),
        ("data.tar", None, "turn07-data.tar"),
        ("thing", "application/x-strange", "turn07-thing.bin"),
        ("image/../../etc/passwd", "image/png", "turn07-passwd.png"),
        ("C:\\Windows\\con.png", "image/png", "turn07-con.png"),
        ("..", "image/png", "turn07-attachment.png"),
        ("a\x00b\x1b[1m:*?.png", "image/png", "turn07-a_b_1m.png"),
        ("x" * 500, "image/png; charset=x", f"turn07-{'x' * 60}.png"),
        ("Flut 🌊 Höhe.gif", "image/gif", "turn07-Flut_Höhe.gif"),
    ],
)
def test_names_of_files_are_made_safe(name: str, mime_type: str | None, expected: str) -> None:
    assert file_name(Binary(7, name, mime_type, b"")) == expected


def test_an_attachment_that_was_never_sent_has_no_turn_in_its_file_name() -> None:
    assert file_name(Binary(None, "shot.png", "image/png", b"")) == "unsent-shot.png"
