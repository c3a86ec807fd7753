"""Completion of ids, names and fields of queries: what is offered, how fast, and in real shells."""

from __future__ import annotations

import os
import re
import select
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from copilog.cli import COMMANDS
from copilog.cli.completion import SCRIPTS
from copilog.ingest import find_roots
from copilog.ingest.scanning import scan
from copilog.sample import home
from copilog.store.archive import Archive
from copilog.store.query_fields import NAMES
from tests.cli.homes import run

LOOKUP = "115d7669-fedf-4b5f-8567-9e11ee66c6cb"
PROMPT = "READY>"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "archive.db"
    with Archive(path, write=True) as archive:
        scan(archive, roots=find_roots([home()]))
        archive.label(LOOKUP, "To Do", "done")
    return path


def environment(archive: Path | None, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COPILOG")}
    return {**kept, "COPILOG_ARCHIVE": str(archive or "/nonexistent/archive.db"), **more}


def offered(archive: Path | None, *words: str, shell: str = "fish") -> dict[str, str]:
    """Return what is offered for the last word, with descriptions."""
    asked = {"COMP_WORDS": "\n".join(("copilog", *words)), "_COPILOG_COMPLETE": f"copilog-{shell}_complete"}
    done = subprocess.run(
        [sys.executable, "-m", "copilog"], env=environment(archive, **asked), capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    lines = [line.split("\t") for line in done.stdout.splitlines() if line]
    return {value: about for kind, value, about in lines if kind == "plain"}


def in_bash(archive: Path, line: str, *, kind: str = "9", breaks: str = " \"'><=;|&(:") -> list[str]:
    asked = {"COMP_LINE": line, "COMP_TYPE": kind, "COMP_WORDBREAKS": breaks}
    done = subprocess.run(
        [sys.executable, "-m", "copilog"],
        env=environment(archive, **asked, _COPILOG_COMPLETE="copilog-bash_complete"),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [text.partition("\t")[2] for text in done.stdout.splitlines() if text]


# --- what is offered ------------------------------------------------------------------------------------------------


def test_ids_are_offered_with_their_titles_newest_first(archive: Path) -> None:
    found = offered(archive, "show", "")
    with Archive(archive) as opened:
        expected = [summary.id.partition(":")[2] for summary in opened.list()]

    assert next(iter(found)) == "last"
    assert [name for name in found if name != "last"] == expected
    assert found[LOOKUP] == "Speed up the tide lookup"
    assert offered(archive, "show", "115d") == {LOOKUP: "Speed up the tide lookup"}
    assert offered(archive, "show", "vscode:115d") == {f"vscode:{LOOKUP}": "Speed up the tide lookup"}
    for before in (["diff"], ["commands"], ["similar"], ["star", "38a0"], ["label"], ["rm"], ["export"]):
        assert LOOKUP in offered(archive, *before, "115")


def test_names_are_those_of_the_archive(archive: Path) -> None:
    assert set(offered(archive, "list", "--workspace", "tide")) == {"tide-sensor", "tide-tables", "tide-tables.git"}
    assert "/home/ana/code/tide-tables" in offered(archive, "list", "-w", "/home/ana/code/t")
    assert set(offered(archive, "stats", "--model", "CLAUDE-O")) == {"claude-opus-4.5"}
    assert set(offered(archive, "list", "--label", "")) == {"To Do", "done"}
    assert "read_file" in offered(archive, "export", "--tool", "read")
    assert "--workspace=tide-tables" in offered(archive, "list", "--workspace=tide-t")
    assert "last week" in offered(archive, "list", "--since", "last")


def test_fields_of_queries_and_their_values_are_offered(archive: Path) -> None:
    assert set(offered(archive, "search", "wor")) == {"workspace:"}
    assert set(offered(archive, "search", "tide", "workspace:tide-s")) == {"workspace:tide-sensor"}
    assert "model:claude-opus-4.5" in offered(archive, "list", "-q", "model:cl")
    assert set(offered(archive, "search", "has:e")) == {"has:error", "has:edit"}
    assert set(offered(archive, "search", "NOT", "label:t")) == {'label:"To Do"'}
    assert "tool:read_file" in offered(archive, "search", "tool:rea")
    assert offered(archive, "search", "nonsense:x") == offered(archive, "search", "tide") == {}
    every = {name for name in NAMES if f"{name}:" in offered(archive, "search", name[:3])}
    assert every == set(NAMES)


def test_commands_are_offered_with_their_help_and_none_is_imported(archive: Path) -> None:
    found = offered(archive, "")
    assert {name: COMMANDS[name][1] for name in found if not name.startswith("-")} == {
        name: text for name, (_, text) in COMMANDS.items()
    }
    line = (
        "import sys\nsys.argv = ['copilog']\nfrom copilog.__main__ import main\ntry: main()\nexcept SystemExit: pass\n"
    )
    loaded = f"{line}print(sorted(name for name in sys.modules if name.startswith('copilog.')), file=sys.stderr)"
    asked = {"COMP_WORDS": "copilog\nsh", "_COPILOG_COMPLETE": "copilog-fish_complete"}
    done = subprocess.run(
        [sys.executable, "-c", loaded], env=environment(archive, **asked), capture_output=True, text=True, check=True
    )
    assert "copilog.cli.completing" in done.stderr
    assert "copilog.cli.show" not in done.stderr


@pytest.mark.parametrize(
    "words", [["show", ""], ["list", "-w", ""], ["search", "tool:"], ["list", "--label", ""], ["rm", "x"]]
)
def test_without_a_usable_archive_nothing_is_offered_and_nothing_fails(tmp_path: Path, words: list[str]) -> None:
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    empty = tmp_path / "none.db"

    assert offered(None, *words) == offered(broken, *words) == offered(empty, *words) == {}
    assert not empty.exists()


def test_other_sources_than_the_archive_offer_nothing(archive: Path, tmp_path: Path) -> None:
    assert offered(None, "--archive", str(archive), "show", "115") == offered(archive, "show", "115")
    assert offered(archive, "--sample", "show", "115") == {}
    assert offered(archive, "--root", str(tmp_path), "list", "-w", "t") == {}


def test_a_locked_archive_does_not_delay_the_shell(archive: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with sqlite3.connect(archive) as source:
        source.execute("VACUUM INTO ?", (str(copy),))
    holder = sqlite3.connect(copy)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    begun = time.monotonic()
    offered(copy, "show", "")
    holder.close()

    assert time.monotonic() - begun < 5  # of which most is the start of Python on a busy machine


def test_a_large_archive_is_read_for_a_limited_time(tmp_path: Path, archive: Path) -> None:
    from copilog.cli import completing

    copy = tmp_path / "large.db"
    with sqlite3.connect(archive) as source:
        source.execute("VACUUM INTO ?", (str(copy),))
    with Archive(copy) as opened:
        begun = time.perf_counter()
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
        context = click.Context(click.Command("list"))
        context.params = {"archive": copy}
        assert completing._rows(context, endless) == []
        assert opened.count() > 0
    assert time.perf_counter() - begun < 1


def test_candidates_for_bash_replace_what_follows_the_last_colon(archive: Path) -> None:
    assert in_bash(archive, "copilog show vscode:115d") == [LOOKUP]
    assert in_bash(archive, "copilog show vscode:115d", breaks=" ") == [f"vscode:{LOOKUP}"]
    assert in_bash(archive, "copilog list --label t") == ["To\\ Do"]
    assert in_bash(archive, "copilog search label:t") == ['\\"To\\ Do\\"']
    several = in_bash(archive, "copilog show 3")
    assert all(re.fullmatch(r"3[\w-]+  \(.+\)", line) for line in several)
    assert all("(" not in line for line in in_bash(archive, "copilog show 3", kind="37"))


# --- in real shells -------------------------------------------------------------------------------------------------

RC = {
    "bash": ("rc", "PS1='READY>'\nbind -x '\"\\C-p\": echo \"BUF=[$READLINE_LINE]\"'\n"),
    "zsh": (
        ".zshrc",
        (
            "PS1='READY>'\nunset zle_bracketed_paste\nshow-buffer() { print; print -r -- \"BUF=[$BUFFER]\" }\n"
            "zle -N show-buffer\nbindkey '^P' show-buffer\n"
        ),
    ),
    "fish": (
        ".config/fish/config.fish",
        "function fish_prompt; echo -n 'READY>'; end\nbind \\cp 'echo; echo \"BUF=[\"(commandline)\"]\"'\n",
    ),
}
STARTS = {"bash": ["bash", "--noprofile", "--rcfile", "rc", "-i"], "zsh": ["zsh", "-i"], "fish": ["fish", "-i"]}


def typed(shell: str, archive: Path, folder: Path, *keys: str) -> Iterator[str]:
    """Yield the command line of a shell after each of these keys and a tab."""
    pty = pytest.importorskip("pty", reason="there are no terminals here")
    name, start = RC[shell]
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(start + run("completion", shell).out)
    program = Path(sys.executable).parent
    variables = {
        "HOME": str(folder), "PATH": f"{program}:/usr/bin:/bin", "TERM": "dumb" if shell != "fish" else "xterm",
        "COPILOG_ARCHIVE": str(archive), "LANG": "C.UTF-8",
    }  # fmt: skip
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execvpe(STARTS[shell][0], STARTS[shell], variables)
    try:
        _read_until(terminal, PROMPT)
        for key in keys:
            os.write(terminal, f"\x15{key}\t\x10".encode())
            yield _read_until(terminal, r"BUF=\[([^\]]*)\]")
    finally:
        os.kill(process, 9)
        os.waitpid(process, 0)
        os.close(terminal)


def _read_until(terminal: int, pattern: str) -> str:
    text, end = "", time.monotonic() + 60
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            text += os.read(terminal, 65_536).decode(errors="replace")
            if (found := re.search(pattern, text)) is not None:
                return found[found.re.groups]
    raise AssertionError(f"no {pattern} in {text!r}")


@pytest.mark.parametrize("shell", list(RC))
def test_a_real_shell_completes(shell: str, archive: Path, tmp_path: Path) -> None:
    if shutil.which(shell) is None or not (Path(sys.executable).parent / "copilog").exists():
        reason = f"there is no {shell} here, or copilog is not installed"
        pytest.fail(reason) if "CI" in os.environ else pytest.skip(reason)
    expected = {
        "copilog show 115d": f"copilog show {LOOKUP}",
        "copilog show vscode:115d": f"copilog show vscode:{LOOKUP}",
        "copilog compl": "copilog completion",
        "copilog search worksp": "copilog search workspace:",
        "copilog search workspace:tide-s": "copilog search workspace:tide-sensor",
        "copilog list --workspace=gau": "copilog list --workspace=gauge-study",
        "copilog list -m claude-o": "copilog list -m claude-opus-4.5",
        "copilog list --label t": "copilog list --label To\\ Do",
    }

    lines = list(typed(shell, archive, tmp_path, *expected))

    assert [line.rstrip() for line in lines] == list(expected.values())


def test_every_shell_has_a_script() -> None:
    for shell, script in SCRIPTS.items():
        printed = run("completion", shell).out
        assert printed == script.strip("\n") + "\n"
        assert f"copilog-{shell}_complete" in printed
    assert "Register-ArgumentCompleter" in SCRIPTS["powershell"]


def test_powershell_gets_whole_words(archive: Path) -> None:
    assert offered(archive, "list", "--workspace=gau", shell="powershell") == {"--workspace=gauge-study": ""}
    assert offered(archive, "show", "115d", shell="powershell") == {LOOKUP: "Speed up the tide lookup"}
