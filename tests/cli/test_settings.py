"""Settings that hold for many commands: a broken config file, limits, colours, an empty id, the archive of `doctor`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.cli.homes import run

HUGE = "99999999999999999999"  # does not fit into 64 bits


@pytest.fixture
def broken_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    path.write_text("roots = [")
    monkeypatch.setenv("COPILOG_CONFIG", str(path))
    return path


def test_doctor_runs_with_a_broken_config_file_and_reports_it(broken_config: Path) -> None:
    ended = run("doctor", "--sample")

    assert ended.code == 0
    assert "bundled sample" in ended.out
    assert f"{broken_config}: the config file is not TOML" in ended.out
    assert "the config file is not TOML" in run("doctor", "--sample", "--json").json["config_problem"]


def test_other_commands_refuse_a_broken_config_file(broken_config: Path) -> None:
    for command in (["list", "--sample"], ["config"]):
        ended = run(*command)
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith(f"copilog: {broken_config}: the config file is not TOML")


def test_an_example_can_be_printed_in_place_of_a_broken_config_file(broken_config: Path) -> None:
    assert run("config", "--example").code == 0


@pytest.mark.parametrize("place", ["before", "after"])
def test_doctor_reports_the_archive_that_was_named(place: str, tmp_path: Path) -> None:
    archive = tmp_path / "other.db"
    run("scan", "--sample", "--archive", archive)

    named = ["--archive", archive]
    ended = run(*(named if place == "before" else []), "doctor", "--json", *(named if place == "after" else []))

    assert ended.json["archive"]["path"] == str(archive)
    assert ended.json["archive"]["conversations"] > 10


def test_doctor_says_how_to_get_browser_libraries_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copilog.cli.libraries.VENDOR", tmp_path)

    ended = run("doctor", "--sample")

    assert "the viewer draws no charts" in ended.out
    assert "make libraries" in ended.out
    assert "NODE_EXTRA_CA_CERTS" in ended.out
    assert "d3.min.js" in run("doctor", "--sample", "--json").json["viewer"]["missing_libraries"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "-n", HUGE],
        ["search", "tide", "-n", HUGE],
        ["search", "tide", "--offset", HUGE],
        ["stats", "tools", "-n", HUGE],
        ["agents", "-n", HUGE],
        ["report", "-n", HUGE, "-o", "-"],
        ["graph", "--most", HUGE],
        ["scan", "--jobs", HUGE],
        ["extract", "x.jsonl", "--sample", HUGE],
    ],
    ids=lambda arguments: " ".join(arguments[:3]),
)
def test_a_number_out_of_range_is_a_usage_error(arguments: list[str]) -> None:
    ended = run("--sample", *arguments)

    assert ended.code == 2
    assert f"{HUGE} is not in the range" in ended.err


@pytest.mark.parametrize("target", ["", "  "])
def test_an_empty_id_is_a_usage_error(target: str) -> None:
    ended = run("--sample", "show", target)

    assert (ended.code, ended.out) == (2, "")
    assert "ID is empty" in ended.err


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (["show", "115d"], {"NO_COLOR": "1"}),
        (["list"], {"NO_COLOR": "1"}),
        (["search", "tide"], {"NO_COLOR": "1"}),
        (["stats"], {"NO_COLOR": "1"}),
        (["doctor"], {"NO_COLOR": "1"}),
        (["blame", "/home/ana/code/tide-tables/tide_tables/lookup.py"], {"NO_COLOR": "1"}),
        (["list", "--no-color"], {}),
    ],
    ids=lambda value: " ".join(value),
)
def test_without_colours_a_terminal_gets_no_escape_sequence(
    arguments: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    shown = on_a_terminal(["--sample", *arguments], environment, tmp_path)

    assert "tide" in shown.lower() or "sample" in shown
    assert "\x1b" not in shown


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals")
def test_a_terminal_gets_colours_by_default(tmp_path: Path) -> None:
    assert "\x1b[" in on_a_terminal(["--sample", "list"], {}, tmp_path)


def on_a_terminal(arguments: list[str], environment: dict[str, str], home: Path) -> str:
    """Return all that a command writes where standard output and standard error are a terminal."""
    import pty

    if "--no-color" in arguments:
        arguments = ["--no-color", *(argument for argument in arguments if argument != "--no-color")]
    script = f"import sys; from copilog.cli import main; sys.exit(main({arguments!r}))"
    known = {name: os.environ[name] for name in ("PATH", "VIRTUAL_ENV") if name in os.environ}
    child, terminal = pty.fork()
    if not child:
        settings = {"HOME": str(home), "TERM": "xterm-256color", "COPILOG_ARCHIVE": str(home / "archive.db")}
        os.execve(sys.executable, [sys.executable, "-c", script], {**known, **settings, **environment})
    written = bytearray()
    while True:
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:  # how Linux reports that the other end was closed
            break
        if not piece:
            break
        written += piece
    os.waitpid(child, 0)
    os.close(terminal)
    return written.decode()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('budget = "1900"', "budget must be a number above 0"),
        ("budget = 0", "budget must be a number above 0"),
        ("budget = true", "budget must be a number above 0"),
        ("budget = inf", "budget must be a number above 0"),
        ('billing = "yearly"', 'billing must be "credits" or "requests"'),
        ("billing = 1", 'billing must be "credits" or "requests"'),
        ("billing = []", 'billing must be "credits" or "requests"'),
        ("billing_day = 29", "billing_day must be a whole number from 1 to 28"),
        ("billing_day = 1.5", "billing_day must be a whole number from 1 to 28"),
        ('billing_day = "1"', "billing_day must be a whole number from 1 to 28"),
        ("discount = 10", "discount must be a number from 0 and below 1: 0.1 is a tenth"),
        ('discount = "10%"', "discount must be a number from 0 and below 1: 0.1 is a tenth"),
        ("prices = 3", 'prices must be tables with prices, such as [prices."my-model"]'),
        (
            "prices.mine = 3",
            'prices."mine" must be a table with some of same_as, input, output, cache_read, cache_write, long',
        ),
        (
            'prices.mine.input = "3"',
            'prices."mine".input must be a number from 0: dollars for a million tokens',
        ),
        ("prices.mine.output = -1", 'prices."mine".output must be a number from 0: dollars for a million tokens'),
        ("prices.mine.cache_read = true", 'prices."mine".cache_read must be a number from 0'),
        ("prices.mine.same_as = 5", 'prices."mine".same_as must be the name of a model, in quotes'),
        (
            "prices.mine.inputs = 3",
            "prices.\"mine\" has no setting 'inputs'; known are same_as, input, output, cache_read, cache_write, long",
        ),
        ("prices.mine.long = 6", 'prices."mine".long must be a table with above, input and output'),
        (
            "prices.mine.long = { above = 200000, input = 6 }",
            'prices."mine".long has no output; it needs above, input and output',
        ),
        (
            'prices.mine.long = { above = "200k", input = 6, output = 9 }',
            'prices."mine".long.above must be a whole number of tokens from 1',
        ),
        (
            'prices.mine.long = { above = 200000, input = "6", output = 9 }',
            'prices."mine".long.input must be a number from 0: dollars for a million tokens',
        ),
        (
            "prices.mine.long = { above = 200000, input = 6, output = 9, per = 1 }",
            "prices.\"mine\".long has no setting 'per'; it needs above, input and output",
        ),
    ],
)
def test_wrong_value_of_the_plan_is_named_with_its_file_and_what_is_accepted(
    line: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(line)
    monkeypatch.setenv("COPILOG_CONFIG", str(path))

    ended = run("config")

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"copilog: {path}: {problem}")


def test_right_values_of_the_plan_are_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        "budget = 1900\nbilling = 'requests'\nbilling_day = 15\ndiscount = 0.1\n"
        "prices.mine = { input = 0, output = 2.5, long = { above = 200000, input = 6, output = 9, cache_read = 1 } }\n"
        "prices.other.same_as = 'gpt-5'\n"
    )
    monkeypatch.setenv("COPILOG_CONFIG", str(path))

    settings = run("config", "--json").json["settings"]

    assert [settings[name]["value"] for name in ("budget", "billing", "billing_day", "discount")] == [
        1900, "requests", 15, 0.1,
    ]  # fmt: skip
    assert settings["prices"]["value"]["mine"]["long"]["above"] == 200_000
