"""`copilog secrets`, and the redaction of what leaves the archive: report, extract, answers to agents, the review."""

from __future__ import annotations

import json
import re
import stat
import zipfile
from pathlib import Path
from typing import Any

import anyio
import click
import pytest
from click.testing import CliRunner
from mcp import Client

import copilog
from copilog.cli import redacting
from copilog.cli.common import Settings
from copilog.exports.formats import NAMES
from copilog.mcp.server import build_server
from copilog.model import Conversation, Message, Text
from copilog.redaction import NotRedacted, Redactor, leaves_in
from copilog.store.archive import Archive
from tests.cli.homes import Home, move_in, run, session
from tests.redaction.seeds import generator
from tests.redaction.shapes import TOKENS

RNG = generator("commands")
TOKEN = next(shape for shape in TOKENS if shape.name == "GitHub personal token").make(RNG).secret
OTHER = next(shape for shape in TOKENS if shape.name == "Slack bot token").make(RNG).secret
FOLDER = "/home/annika/tide-tables"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.add(
        made.workspace(1, FOLDER),
        session("11111111-aaaa", f"Why does {TOKEN} not work?", f"And {TOKEN}?", customTitle=f"About {TOKEN}"),
    )
    made.add(made.workspace(2, "/home/annika/garden"), session("22222222-bbbb", "Plan the beds for bo@firm.de"))
    monkeypatch.delenv("COPILOG_CONFIG", raising=False)
    move_in(monkeypatch, tmp_path, made)
    run("scan")
    return made


@pytest.fixture
def redacting_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    path.write_text('redact = true\n[private]\nwords = ["garden"]\n')
    monkeypatch.setenv("COPILOG_CONFIG", str(path))
    return path


def archive_path() -> Path:
    return Path(run("doctor", "--json").json["archive"]["path"])


# --- secrets --------------------------------------------------------------------------------------------------------


def test_secrets_are_listed_masked_with_conversation_turn_and_age() -> None:
    ended = run("secrets")

    assert ended.code == 4
    assert TOKEN not in ended.out + ended.err
    assert TOKEN[:4] + "… (40)" in ended.out
    assert "11111111" in ended.out
    assert "days old" in ended.out
    assert "garden" not in ended.out  # an e-mail address is no secret
    assert ended.err.startswith("1 secret in 1 of 2 conversations;")


def test_secrets_as_json_has_every_field_and_no_secret() -> None:
    ended = run("secrets", "--json", "--all")
    rows = ended.json
    (token,) = [row for row in rows if row["kind"] == "github-token"]

    assert TOKEN not in ended.out
    assert token["conversation"].endswith("11111111-aaaa")
    assert token["confidence"] == "certain"
    assert (token["number"], token["field"]) == (1, "Text.text")
    assert token["places"] >= 3
    assert token["at"] is not None
    assert {"user", "email", "github-token"} <= {row["kind"] for row in rows}


def test_new_lists_only_what_was_not_listed_before(home: Home) -> None:
    assert run("secrets", "--new").code == 4
    assert run("secrets", "--new").code == 0

    home.add(home.workspace(3, FOLDER), session("33333333-cccc", f"Use {OTHER}"))
    ended = run("secrets", "--new", "--json")

    assert [row["kind"] for row in ended.json] == ["slack-token"]
    assert run("secrets").code == 4


def test_what_is_remembered_has_no_secret_and_is_private() -> None:
    run("secrets")
    (path,) = archive_path().parent.glob("*.redaction.json")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert TOKEN not in path.read_text()
    assert json.loads(path.read_text())["seen"]


def test_filters_choose_conversations_and_nothing_found_is_0() -> None:
    ended = run("secrets", "-w", "garden")

    assert (ended.code, ended.out) == (0, "")
    assert ended.err.startswith("0 secrets in 0 of 1 conversation;")


def test_several_processes_list_the_same() -> None:
    run("secrets")
    rows = [run("secrets", "--json", "--jobs", jobs).json for jobs in (1, 2)]
    assert rows[0] == rows[1]


def test_a_conversation_that_cannot_be_scanned_is_3(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[Any]:
        raise NotRedacted("a text is odd")

    monkeypatch.setattr("copilog.cli.secrets.leaks_in", broken)
    ended = run("secrets", "--jobs", 1)

    assert ended.code == 3
    assert "not scanned" in ended.err


# --- what leaves the archive ----------------------------------------------------------------------------------------


def test_a_report_is_redacted_on_request(tmp_path: Path) -> None:
    plain, shared = tmp_path / "plain.html", tmp_path / "shared.html"
    run("report", "-o", plain)
    ended = run("report", "-o", shared, "--redact")

    assert TOKEN in plain.read_text()
    assert TOKEN not in shared.read_text()
    assert "redacted-github-token-" in shared.read_text()
    assert "redaction: " in ended.err
    assert "is not known" in ended.err
    assert TOKEN not in run("report", "--json", "--redact").out


def test_the_config_makes_redaction_the_default(redacting_config: Path, tmp_path: Path) -> None:
    shared, plain = tmp_path / "shared.html", tmp_path / "plain.html"
    run("report", "-o", shared)
    run("report", "-o", plain, "--no-redact")

    assert TOKEN not in shared.read_text()
    assert "garden" not in shared.read_text()
    assert TOKEN in plain.read_text()


def test_trajectories_are_redacted(tmp_path: Path) -> None:
    source, output = next(tmp_path.rglob("*11111111-aaaa.json")), tmp_path / "out.jsonl"
    ended = run("extract", source, "-o", output, "--redact", "--no-context-tag-summary")

    assert ended.code == 0, ended.err
    assert TOKEN not in output.read_text()
    assert "redacted-github-token-" in output.read_text()
    assert json.loads(output.read_text().splitlines()[0])["messages"]


def test_answers_to_agents_are_redacted() -> None:
    async def ask(tool: str, **arguments: Any) -> str:
        async with Client(build_server(archive_path(), None, Redactor())) as client:
            return str(await client.call_tool(tool, arguments))

    found = anyio.run(lambda: ask("search", query="work"))
    marked = anyio.run(lambda: ask("search", query="ghp"))
    window = anyio.run(lambda: ask("read", id="11111111-aaaa"))
    listed = anyio.run(lambda: ask("search"))

    for text in (found, marked, window, listed):
        assert TOKEN[4:14] not in text
        assert TOKEN[-12:] not in text
    assert "redacted-github-token-" in window
    assert "redacted-user-" in listed


def test_a_graph_is_redacted_where_the_config_says_so(redacting_config: Path, tmp_path: Path) -> None:
    drawn, plain = tmp_path / "agents.json", tmp_path / "plain.json"
    ended = run("graph", "-o", drawn, "-w", "garden")
    run("graph", "-o", plain, "--no-redact", "-w", "garden")

    assert ended.code == 0, ended.err
    assert "redaction: " in ended.err
    assert json.loads(drawn.read_text()).keys() == json.loads(plain.read_text()).keys()


def test_an_id_with_a_placeholder_can_be_used_in_the_next_question(home: Home) -> None:
    home.add(home.workspace(3, "/home/annika/tides"), session("ana.petrov@firm.de", "Draw the tides"))
    run("scan")

    async def ask() -> tuple[str, str]:
        async with Client(build_server(archive_path(), None, Redactor())) as client:
            listed = str(await client.call_tool("search", {}))
            (found,) = set(re.findall(r"vscode:redacted-[0-9a-f]{8}@example\.invalid", listed))
            return listed, str(await client.call_tool("read", {"id": found}))

    listed, window = anyio.run(ask)
    assert "ana.petrov" not in listed + window
    assert "Draw the tides" in window


def test_nothing_is_written_if_something_cannot_be_scanned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(*_: object) -> list[Any]:
        raise ValueError("in a detector")

    monkeypatch.setattr("copilog.redaction.scanning.private_keys", broken)
    ended = run("report", "-o", tmp_path / "report.html", "--redact")

    assert ended.code == 1
    assert "could not be scanned" in ended.err
    assert list(tmp_path.glob("*.html*")) == []


def test_the_config_refuses_lists_that_it_does_not_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("COPILOG_CONFIG", str(path))
    for text, reason in (('[private]\nword = ["x"]', "unknown list word"), ('[private]\nwords = ["x"]', "too short")):
        path.write_text(text)
        ended = run("list")
        assert ended.code == 2
        assert reason in ended.err


# --- the review -----------------------------------------------------------------------------------------------------


CONVERSATION = Conversation(
    id="vscode:1",
    source="x",
    messages=[Message(role="user", turn=0, parts=[Text(text=f"First {TOKEN}, then {OTHER}, mail bo@firm.de")])],
)


def reviewed(archive: Path, answers: str) -> tuple[str, str, BaseException | None]:
    """Return what remains of the conversation after a review with these answers, what was shown, and the exception."""
    made: list[Redactor] = []

    @click.command()
    def review() -> None:
        made.append(redacting.review(Settings(), [CONVERSATION], archive))

    ended = CliRunner().invoke(review, input=answers)
    left = "\n".join(leaf.text for leaf in leaves_in(made[0].value(CONVERSATION))) if made else ""
    return left, ended.stderr, ended.exception


def test_the_review_shows_each_finding_in_context_and_does_what_is_answered(tmp_path: Path) -> None:
    left, shown, error = reviewed(tmp_path / "archive.db", "k\nr\nr\n")

    assert error is None
    assert f"First {TOKEN}, then" in " ".join(shown.split())
    assert TOKEN in left
    assert OTHER not in left
    assert "bo@firm.de" not in left


def test_decisions_are_remembered_without_the_secret(tmp_path: Path) -> None:
    archive = tmp_path / "archive.db"
    reviewed(archive, "k\nr\nr\n")
    left, shown, error = reviewed(archive, "")
    stored = (tmp_path / "archive.db.redaction.json").read_text()

    assert error is None
    assert TOKEN in left
    assert "of 3" not in shown
    assert TOKEN not in stored
    assert OTHER not in stored


def test_stopping_the_review_remembers_nothing(tmp_path: Path) -> None:
    left, _, error = reviewed(tmp_path / "archive.db", "k\nq\n")

    assert (left, isinstance(error, redacting.Stopped)) == ("", True)
    assert list(tmp_path.glob("*.redaction.json")) == []
    assert "nothing was written, and no decision was remembered" in str(error)


def test_several_processes_redact_as_one_does(home: Home) -> None:
    for number in range(20):
        home.add(home.workspace(10 + number, FOLDER), session(f"{number:08}-dddd", f"Use {OTHER} for {number}"))
    run("scan")
    made = []
    with Archive(archive_path()) as archive:
        ids = [summary.id for summary in archive.list()]
        for jobs in (1, 2):
            redactor = Redactor(key=b"k" * 32)
            made.append((list(redacting.redacted_conversations(archive, ids, redactor, jobs)), redactor.counts))

    assert made[0] == made[1]
    assert made[0][1]["slack-token"] >= 20
    assert OTHER not in str(made[0][0])


# --- exports --------------------------------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an empty folder the current one."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def all_bytes(folder: Path) -> bytes:
    """Return the names and the contents of all files, those of packed ones too."""
    found = b""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as packed:
                    content += b"".join(name.encode() + packed.read(name) for name in packed.namelist())
            found += str(path.relative_to(folder)).encode() + b"\n" + content
    return found


@pytest.mark.parametrize("name", [name for name in NAMES if name != "parquet"])
def test_no_secret_is_in_a_redacted_export_of_any_format_nor_in_a_file_name(name: str, here: Path) -> None:
    plain = run("export", "--all", "--format", name, "-o", "plain/")
    assert plain.code == 0, plain.err
    ended = run("export", "--all", "--redact", "--format", name, "-o", "redacted/")

    assert ended.code == 0, ended.err
    if name not in ("csv", "parquet"):
        assert TOKEN.encode() in all_bytes(Path("plain"))
    written = all_bytes(Path("redacted"))
    for private in (TOKEN, TOKEN[:20], "annika", "bo@firm.de"):
        assert private.encode() not in written
        assert private.lower().encode() not in written.lower()
    assert "redacted-github-token-" in ended.err or "github-token" in ended.err
    assert "no program recognises" in ended.err


def test_what_is_written_says_what_redaction_is_not(here: Path) -> None:
    run("export", "--all", "--redact", "--format", "markdown", "-o", "notes/")
    run("export", "11111111", "--redact", "-o", "page.html")
    for path in (*Path("notes").glob("*.md"), Path("notes/copilog-export.json"), Path("page.html")):
        assert "no program recognises" in path.read_text(encoding="utf-8"), path


def test_the_config_makes_redaction_the_default_of_exports(redacting_config: Path) -> None:
    assert "redacted-github-token-" in run("export", "11111111", "-f", "markdown", "-o", "-").out
    assert TOKEN in run("export", "11111111", "-f", "markdown", "--no-redact", "-o", "-").out


def test_an_export_that_cannot_be_redacted_writes_nothing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Redactor.value
    seen: list[object] = []

    def fails_at_the_second(self: Redactor, value: Any) -> Any:
        seen.append(value)
        if len(seen) > 1:
            raise NotRedacted("a text could not be scanned (Test)")
        return whole(self, value)

    monkeypatch.setattr(Redactor, "value", fails_at_the_second)
    ended = run("export", "--all", "--redact", "-f", "markdown", "-o", "notes/")

    assert ended.code == 1
    assert "could not be scanned" in ended.err
    assert list(here.iterdir()) == []


def test_a_reviewed_export_keeps_what_the_user_keeps_and_writes_nothing_if_the_user_stops(here: Path) -> None:
    (here / "before").mkdir()
    stopped = run("export", "11111111", "--review", "-f", "markdown", "-o", "x.md", given="q\n")
    assert stopped.code != 0
    assert not Path("x.md").exists()
    kept = run("export", "11111111", "--review", "-f", "markdown", "-o", "x.md", given="k\nr\nr\n")
    assert kept.code == 0, kept.err
    assert f"Why does {TOKEN} not work?" in kept.err
    assert TOKEN in Path("x.md").read_text()


def test_python_programs_redact_with_a_redactor(tmp_path: Path) -> None:
    conversation = Conversation(
        id="vscode:1", source="vscode-session", messages=[Message(role="user", parts=[Text(text=f"Use {TOKEN}")])]
    )
    exported = copilog.export([conversation], "markdown", tmp_path / "one.md", redactor=Redactor())
    assert TOKEN not in exported.paths[0].read_text()
