"""The smaller commands, the overview, and how a run ends."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from copilog import __version__
from copilog.cli import COMMANDS, GROUPS
from tests.cli.homes import Home, entry, run, session

ONE = "11111111-aaaa"


@pytest.fixture(autouse=True)
def no_config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the config file and the Copilot data of the user who runs the tests."""
    empty = tmp_path / "nobody"
    empty.mkdir()
    for name in ("XDG_CONFIG_HOME", "HOME", "APPDATA", "USERPROFILE"):
        monkeypatch.setenv(name, str(empty))
    for name in ("COPILOG_CONFIG", "VSCODE_PORTABLE", "VSCODE_APPDATA", "COPILOT_HOME", "VSCODE_AGENT_FOLDER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    workspace = home.workspace(1, "/home/ana/tide-tables")
    home.add(workspace, session(ONE, "Parse the tide file"))
    home.index(workspace, **{ONE: entry(ONE, "Tide parser", minutes=3)})
    return home


def test_without_a_command_a_summary_and_next_steps_are_printed(home: Home) -> None:
    outcome = run("--root", home.root)

    assert outcome.code == 0
    assert outcome.out.startswith("1 conversation")
    assert "1 workspace of Code (1)" in outcome.out
    assert "Tide parser" in outcome.out
    assert "copilog show 11111111" in outcome.out


def test_without_copilot_data_it_says_so_and_shows_the_sample() -> None:
    outcome = run()

    assert outcome.code == 0
    assert "No Copilot data in the" in outcome.err
    assert "Here is the made-up sample" in outcome.err
    assert "copilog --sample list" in outcome.out


def test_doctor_reports_folders_and_problems(home: Home) -> None:
    broken = home.workspace(2)
    (broken / "workspace.json").write_text("{")
    (broken / "state.vscdb").write_bytes(b"this is no database")

    place = run("doctor", "--json", "--root", home.root).json["roots"][0]

    assert place["exists"]
    assert place["conversations"] == 1
    assert {Path(problem["place"].split("#")[0]).name for problem in place["problems"]} == {
        "workspace.json",
        "state.vscdb",
    }
    text = run("doctor", "--root", home.root).out
    assert "1 conversation in 1 workspace" in text
    assert "state.vscdb" in text


def test_doctor_counts_folders_that_do_not_exist() -> None:
    roots = run("doctor", "--json").json["roots"]

    assert roots
    assert not any(root["exists"] for root in roots)
    assert "searched for, not found" in run("doctor").out


def test_config_shows_each_setting_and_its_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('list_limit = 7\nroots = ["/mnt/backup"]\n')
    monkeypatch.setenv("COPILOG_CONFIG", str(path))

    settings = run("config", "--json").json["settings"]

    assert settings["list_limit"] == {"value": 7, "origin": str(path)}
    assert settings["roots"]["value"] == ["/mnt/backup"]
    assert settings["strict"] == {"value": False, "origin": "default"}
    assert f"list_limit   7  ({path})" in run("config").out


def test_roots_of_the_config_file_are_read_unless_others_are_named(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(f"roots = [{json.dumps(str(home.root))}]\n")
    monkeypatch.setenv("COPILOG_CONFIG", str(path))
    other = Home(tmp_path / "other")

    assert [item["id"] for item in run("list", "--json").json] == [f"vscode:{ONE}"]
    assert run("list", "--json", "--root", other.root).json == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("lists = 3", "unknown setting 'lists'"),
        ("list_limit = 'many'", "list_limit must be a number"),
        ("color = 'green'", "color must be one of"),
        ("roots = 'x'", "roots must be a list"),
        ("strict = 1", "strict must be true or false"),
        ("= 3", "not TOML"),
    ],
)
def test_an_invalid_config_file_is_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, reason: str
) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(text)
    monkeypatch.setenv("COPILOG_CONFIG", str(path))

    outcome = run("list")

    assert outcome.code == 2
    assert reason in outcome.err
    assert outcome.err.count("\n") == 1


def test_the_example_config_is_a_valid_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(run("config", "--example").out)
    monkeypatch.setenv("COPILOG_CONFIG", str(path))

    assert run("config", "--json").json["settings"]["roots"]["value"] == ["/mnt/backup/home/ana"]


def test_the_schema_describes_what_show_prints(home: Home) -> None:
    schema = run("schema").json
    conversation = run("show", "--json", ONE, "--root", home.root).json

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(conversation, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**conversation, "turns": "many"}, schema)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_program(shell: str) -> None:
    outcome = run("completion", shell)

    assert outcome.code == 0
    assert "_COPILOG_COMPLETE" in outcome.out


@pytest.mark.skipif(shutil.which("zsh") is None and "CI" not in os.environ, reason="there is no zsh here")
def test_a_zsh_that_knows_no_completions_yet_takes_the_script(tmp_path: Path) -> None:
    (tmp_path / ".zshrc").write_text(run("completion", "zsh").out)

    done = subprocess.run(
        ["zsh", "-i", "-c", "print $_comps[copilog]"],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout.strip(), done.stderr) == ("_copilog_completion", "")


def test_the_script_for_zsh_begins_as_one_that_is_found_by_its_name() -> None:
    lines = run("completion", "zsh").out.splitlines()

    assert lines[0] == "#compdef copilog"
    assert "compinit" in lines[1]


def test_completion_completes_commands() -> None:
    environment = {**os.environ, "_COPILOG_COMPLETE": "bash_complete", "COMP_WORDS": "copilog in", "COMP_CWORD": "1"}

    done = subprocess.run(
        [sys.executable, "-m", "copilog"], env=environment, capture_output=True, text=True, check=False
    )

    assert "inspect" in done.stdout


def test_version() -> None:
    assert run("--version").out == f"copilog {__version__}\n"


def test_a_mistyped_command_names_the_nearest() -> None:
    outcome = run("lsit")

    assert outcome.code == 2
    assert "Did you mean 'list'?" in outcome.err


def test_an_invalid_root_is_reported_in_one_line(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()

    for path, reason in (
        (tmp_path / "gone", "no such file or folder"),
        (empty, "this is not a home folder or a data folder"),
    ):
        outcome = run("list", "--root", path)
        assert outcome.code == 2
        assert f"copilog: {path}: {reason}" in outcome.err


def test_a_folder_of_plain_chats_is_a_root(tmp_path: Path) -> None:
    """What `scan FOLDER` reads, `--root FOLDER` reads as well, also files that are added later."""
    folder = tmp_path / "chats"
    (folder / "old").mkdir(parents=True)
    (folder / "notes.txt").write_text("no chat")
    (folder / "old" / "one.json").write_text(json.dumps(session("plain-1", "Which beans?")))
    requests = [{**request, "requestId": "request_peas"} for request in session("x", "Which peas?")["requests"]]
    exported = {"responderUsername": "GitHub Copilot", "requests": requests}
    (folder / "chat.json").write_text(json.dumps(exported))
    listed = run("list", "--root", folder)

    assert listed.code == 0
    assert "Which beans?" in listed.out
    assert "Which peas?" in listed.out
    assert "Which beans?" in run("show", "plain-1", "--root", folder).out
    archive = tmp_path / "archive.db"
    assert "2 new" in run("--archive", archive, "scan", "--root", folder).err
    requests = [{**request, "requestId": "request_leeks"} for request in session("x", "Which leeks?")["requests"]]
    (folder / "two.json").write_text(json.dumps({**session("plain-2"), "requests": requests}))
    assert "1 new" in run("--archive", archive, "scan", "--root", folder).err


def test_a_reader_that_raises_is_reported_and_exits_with_1(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    from copilog.sources import BY_NAME

    def breaks(*_: object) -> object:
        raise RuntimeError("a bug")

    monkeypatch.delenv("COPILOG_RAISE", raising=False)
    monkeypatch.setattr(BY_NAME["vscode-session"], "read", breaks)

    outcome = run("list", "--long", "--root", home.root)

    assert outcome.code == 1
    assert "copilog failed on 1 file" in outcome.err
    assert "Traceback" not in outcome.err
    monkeypatch.setenv("COPILOG_RAISE", "")  # so that the variable that --debug sets is removed
    with pytest.raises(RuntimeError, match="a bug"):
        run("--debug", "list", "--long", "--root", home.root)


INTERRUPTED_RUN = """
import os, signal, sys
from copilog import summaries
from copilog.cli import run

def interrupted(*_, **__):
    os.kill(os.getpid(), signal.SIGINT)
    while True:
        pass

summaries.read = interrupted
sys.argv = ["copilog", "list", "--long", "--root", sys.argv[1]]
run()
"""


def test_an_interrupt_ends_with_130_and_no_traceback(home: Home) -> None:
    command = [sys.executable, "-c", INTERRUPTED_RUN, str(home.root)]

    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert done.returncode == 130
    assert done.stderr.strip() == "copilog: interrupted"
    assert done.stdout == ""


def modules_after(*arguments: object, home: Path | None = None) -> set[str]:
    """The modules that a command has imported when it ends."""
    script = """
import sys
from copilog.__main__ import main
try:
    main()
except SystemExit:
    print("MODULES", *sys.modules)
"""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    environment = dict(os.environ) if home is None else {"HOME": str(home), "PATH": os.defpath}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return set(done.stdout.rpartition("MODULES ")[2].split())


def test_help_imports_nothing_heavy() -> None:
    loaded = modules_after("--help")

    assert not loaded & {"msgspec", "rich.console", "sqlite3", "copilog.model", "copilog.ingest", "platformdirs"}


def test_figures_of_an_archive_import_no_readers(home: Home, tmp_path: Path) -> None:
    archive = tmp_path / "archive.db"
    assert run("scan", "--root", home.root, "--archive", archive).code == 0
    modules_after("stats", "--archive", archive, "--no-scan", "--json", home=tmp_path)  # looks the prices up

    loaded = modules_after("stats", "--archive", archive, "--no-scan", "--json", home=tmp_path)

    assert "copilog.analysis.tokens" in loaded
    assert not loaded & {
        "copilog.sources.catalogue", "copilog.sqliteio", "copilog.store.entries", "copilog.detection.detecting",
        "rich.console", "genai_prices", "importlib.metadata", "hashlib", "difflib", "tomllib",
    }  # fmt: skip


def test_a_list_of_the_archive_imports_no_readers(home: Home, tmp_path: Path) -> None:
    archive = tmp_path / "archive.db"
    assert run("scan", "--root", home.root, "--archive", archive).code == 0

    loaded = modules_after("list", "--archive", archive, "--no-scan", home=tmp_path)

    assert "rich.console" in loaded
    assert not loaded & {"copilog.sources.catalogue", "copilog.summaries", "copilog.identity", "copilog.sqliteio"}


def test_doctor_reports_the_path_of_the_archive(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept" / "archive.db"
    monkeypatch.setenv("COPILOG_ARCHIVE", str(path))
    assert "copilog scan" in run("doctor", "--root", home.root).out
    assert run("scan", "--root", home.root).code == 0

    archive = run("doctor", "--json", "--root", home.root).json["archive"]
    assert (archive["path"], archive["exists"], archive["problem"]) == (str(path), True, None)
    assert archive["conversations"] > 0

    path.write_bytes(b"something else")
    assert "not an archive" in run("doctor", "--root", home.root).out


def test_help_groups_all_commands_by_purpose() -> None:
    lines = run("--help").out.splitlines()
    titles = [line.rstrip(":") for line in lines if line.rstrip(":") in GROUPS]
    named = [
        line.split()[0] for line in lines if line.startswith("  ") and line.split() and line.split()[0] in COMMANDS
    ]

    assert titles == ["Read", "Search", "Measure", "Share", "Repair", "Telemetry", "Manage"]
    assert named == [name for group in GROUPS.values() for name in group]
    assert len(named) == len(set(named)) == len(COMMANDS)
