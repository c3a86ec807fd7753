"""Two readings of the rules of telemetry give the same bytes: `copilog extract`, and the plain way of benchmarks/."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import copilog
from benchmarks.contender_telemetry import Options, extract_lines
from benchmarks.generate_telemetry import MIB, write_telemetry
from copilog.trajectory import encode_trajectory
from tests.telemetry_oddities import FILES
from tests.telemetry_streams import NASTY, streams

Json = dict[str, Any]


def both_ways(path: Path, *, jobs: int = 1, **options: Any) -> tuple[list[Json], list[Json]]:
    """Return the trajectories of the plain reduction and of copilog, as lists that show differences."""
    plain = list(extract_lines([path], Options(**options)))
    fast = [encode_trajectory(trajectory) for trajectory in copilog.extract(path, jobs=jobs, **options)]
    if plain == fast:
        return [], []
    return [json.loads(line) for line in plain], [json.loads(line) for line in fast]


def agree(path: Path, **options: Any) -> bool:
    plain, fast = both_ways(path, **options)
    assert plain == fast
    assert plain == [], "equal values, but other bytes"
    return True


# --- what is made up ------------------------------------------------------------------------------------------------


def digest_of(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.jsonl")):
        digest.update(f"{path.relative_to(folder)}:".encode() + path.read_bytes())
    return digest.hexdigest()


def test_the_same_seed_and_size_write_the_same_telemetry(tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        write_telemetry(tmp_path / name, MIB, seed)

    assert digest_of(tmp_path / "one") == digest_of(tmp_path / "again")
    assert digest_of(tmp_path / "one") != digest_of(tmp_path / "other")


def test_written_records_are_counted(tmp_path: Path) -> None:
    written = write_telemetry(tmp_path, MIB, 3)

    files = list(tmp_path.rglob("*.jsonl"))
    assert written.files == len(files) >= 3
    assert written.bytes == sum(path.stat().st_size for path in files) >= MIB
    assert written.events == sum(path.read_bytes().count(b"\n") for path in files)


def test_made_up_telemetry_holds_what_real_agents_send(tmp_path: Path) -> None:
    write_telemetry(tmp_path, 24 * MIB, 1)

    data = b"".join(path.read_bytes() for path in tmp_path.rglob("*.jsonl"))
    for wanted in (
        b'"name":"copilot-chat/engine.messages"',
        b'"name":"GitHub.copilot-chat/engine.messages"',
        b'"request_option_tools_02":',
        b'"request.option.tools_02":',
        b'"messagesJson_05":',
        b"tool_result",
        b"previous_response_id",
        b'"subType":"subagent/search"',
        b"/interactiveSessionResponse",
        b"\xf0\x9f\x9a\x80",
    ):
        assert wanted in data
    assert any(len(line) > 100_000 for line in data.splitlines())


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_both_ways_agree_on_made_up_telemetry(tmp_path: Path, seed: int) -> None:
    write_telemetry(tmp_path, seed * MIB // 2, seed)

    assert agree(tmp_path)
    assert agree(tmp_path, jobs=2)
    assert list(copilog.extract(tmp_path))


@pytest.mark.parametrize(
    "options",
    [
        {"compat": True},
        {"require_system_first": False},
        {"json_recovery": True},
        {"merge_tool_metadata": False},
        {"sample": 2, "seed": 5},
        {"sample": 2, "sample_mode": "first"},
        {"regex": "[Bb]a"},
    ],
    ids=repr,
)
def test_both_ways_agree_with_every_option(tmp_path: Path, options: Json) -> None:
    write_telemetry(tmp_path, MIB, 7)

    assert agree(tmp_path, **options)
    assert agree(tmp_path, jobs=2, **options)


# --- small and nasty --------------------------------------------------------------------------------------------------


def write_files(folder: Path, files: list[list[Json]]) -> None:
    for number, records in enumerate(files):
        lines = [json.dumps(record, ensure_ascii=number % 2 == 0) + "\n" for record in records]
        (folder / f"{number}.jsonl").write_bytes("".join(lines).encode("utf-8", "backslashreplace"))


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("compat", [False, True], ids=["plain", "compat"])
@pytest.mark.parametrize("system_first", [True, False], ids=["system-first", "all"])
def test_both_ways_agree_on_small_and_nasty_telemetry(
    tmp_path: Path, name: str, compat: bool, system_first: bool
) -> None:
    write_files(tmp_path, NASTY[name])

    for recovery in (False, True):
        assert agree(tmp_path, compat=compat, require_system_first=system_first, json_recovery=recovery)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("compat", [False, True], ids=["plain", "compat"])
def test_both_ways_agree_at_the_edges_of_the_rules(tmp_path: Path, name: str, compat: bool) -> None:
    (tmp_path / "events.jsonl").write_bytes(FILES[name])

    for system_first, recovery in ((True, False), (False, False), (False, True)):
        assert agree(tmp_path, compat=compat, require_system_first=system_first, json_recovery=recovery)


def test_both_ways_agree_on_all_of_it_together_in_two_processes(tmp_path: Path) -> None:
    for number, files in enumerate(NASTY.values()):
        (tmp_path / f"{number}").mkdir()
        write_files(tmp_path / f"{number}", files)

    assert agree(tmp_path, jobs=2)
    assert agree(tmp_path, jobs=2, compat=True)
    assert agree(tmp_path, jobs=2, require_system_first=False)


def test_both_ways_read_several_inputs_in_the_same_order(tmp_path: Path) -> None:
    for name in ("z/a.jsonl", "y/b.JSON", "y/Z/c.ndjson", "é.jsonl", "y/skipped.txt", "named.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(FILES["calls against snapshots"].replace(b'"c1"', json.dumps(name).encode()))
    given = [tmp_path / name for name in ("z", "named.txt", "é.jsonl", "y")]

    plain = list(extract_lines(given))
    fast = [encode_trajectory(trajectory) for trajectory in copilog.extract(given)]

    assert plain == fast
    assert [json.loads(line)["conversation_id"] for line in fast] == [
        "named.txt",
        "y/Z/c.ndjson",
        "y/b.JSON",
        "z/a.jsonl",
        "é.jsonl",
    ]


@settings(max_examples=150)
@given(streams(), st.booleans(), st.booleans(), st.booleans())
def test_both_ways_agree_on_any_stream_of_events(
    files: list[list[Json]], compat: bool, system_first: bool, recovery: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), files)

        assert agree(Path(folder), compat=compat, require_system_first=system_first, json_recovery=recovery)


# --- the benchmark --------------------------------------------------------------------------------------------------


def test_the_benchmark_of_extract_runs_and_prints_its_ratios(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.bench_extract", "--mib", "1", "--big-mib", "2", "--rounds", "1"]
    root = Path(__file__).parent.parent

    shown = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    measured = subprocess.run(
        [*command, "--data", str(tmp_path), "--json"], cwd=root, capture_output=True, text=True, check=True
    )
    again = subprocess.run([*command, "--data", str(tmp_path)], cwd=root, capture_output=True, text=True, check=False)

    assert "the same bytes from both: yes" in shown.stdout
    assert "What these numbers do not show" in shown.stdout
    assert "free" in shown.stderr
    numbers = json.loads(measured.stdout)
    assert numbers["contenders"]["orjson, lines and messages"]["ratio"] == 1
    assert numbers["contenders"]["copilog extract"]["ratio"] > 0
    assert numbers["same_output"] is True
    assert again.returncode == 1
    assert "already there" in again.stderr
