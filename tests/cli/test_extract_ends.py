"""How `copilog extract` ends as a process of its own: done, interrupted, on a full disk, with its reader gone."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.telemetry.streams import assistant, snapshot, system, user, write_lines

TALKS = 140
WORDS = "<weather>rain</weather> ```\nsow(beans)\n``` #file:beds.md @workspace " * 1_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write about 20 MiB in two files: enough for several processes, and for a signal in the middle of a run."""
    folder = tmp_path_factory.mktemp("large") / "in"
    for half in range(2):
        write_lines(
            folder,
            *(
                snapshot([system(), user(f"Bed {number}\n{WORDS}"), assistant(WORDS)], f"talk-{number}")
                for number in range(half, TALKS, 2)
            ),
            name=f"{half}.jsonl",
        )
    return folder


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lines(tmp_path_factory.mktemp("small"), snapshot([system(), user()]))


@pytest.fixture
def places(tmp_path: Path) -> Iterator[dict[str, Path]]:
    """Yield folders for output, temporary files, the current folder and the home; the first two must end empty."""
    folders = {name: tmp_path / name for name in ("out", "temporary", "current", "home")}
    for folder in folders.values():
        folder.mkdir()
    yield folders
    assert [path for path in folders["temporary"].iterdir() if not is_a_trial_of_python(path)] == []


def is_a_trial_of_python(path: Path) -> bool:
    """Return files except those with which Python's tempfile tests a folder; an interruption may leave one."""
    return path.is_file() and len(path.name) == 8 and path.read_bytes() in (b"blat", b"")


def environment(places: dict[str, Path]) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("COPILOG", "PROMPT_", "COVERAGE"))}
    home = str(places["home"])
    return {**kept, "TMPDIR": str(places["temporary"]), "HOME": home, "XDG_CONFIG_HOME": home}


def start(
    places: dict[str, Path],
    *arguments: object,
    stdout: IO[bytes] | int = subprocess.PIPE,
    preexec_fn: Callable[[], None] | None = None,
) -> subprocess.Popen[bytes]:
    """Begin a run in a group of its own, so that a signal reaches it and its workers as Ctrl-C does."""
    return subprocess.Popen(
        [sys.executable, "-m", "copilog", "extract", "--no-context-tag-summary", *map(str, arguments)],
        env=environment(places),
        cwd=places["current"],
        stdout=stdout,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=preexec_fn,
    )


def finish(process: subprocess.Popen[bytes]) -> tuple[int, bytes, str]:
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err.decode()


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """Return the running processes that a run has started; none if the system cannot list them."""
    try:
        return [int(child) for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    except OSError:
        return []


def are_gone(workers: list[int]) -> bool:
    """Return whether processes have ended, after a short wait."""
    for _ in range(100):
        if not any(Path(f"/proc/{worker}").exists() for worker in workers):
            return True
        time.sleep(0.1)
    return False


def wait_until(process: subprocess.Popen[bytes], is_so: Callable[[], object]) -> None:
    """Look again and again, until something is so or the run has ended."""
    while process.poll() is None and not is_so():
        time.sleep(0.002)


def interrupt(process: subprocess.Popen[bytes]) -> list[int]:
    """Press Ctrl-C; the workers that were at work are given back."""
    workers = workers_of(process)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
    return workers


def test_the_number_of_processes_changes_no_byte(large: Path, places: dict[str, Path]) -> None:
    outputs = []
    for jobs in (1, 2):
        target = places["out"] / f"{jobs}.jsonl"
        code, out, err = finish(start(places, large, "-o", target, "--jobs", jobs))

        assert (code, out) == (0, b""), err
        outputs.append(target.read_bytes())
    code, printed, err = finish(start(places, large))
    assert code == 0, err

    assert outputs[0].count(b"\n") == TALKS
    assert outputs[0] == outputs[1] == printed


def test_a_large_run_with_two_jobs_has_workers_and_ends_them(large: Path, places: dict[str, Path]) -> None:
    process = start(places, large, "-o", places["out"] / "talks.jsonl", "--jobs", 2)
    wait_until(process, lambda: len(workers_of(process)) == 2)
    workers = workers_of(process)

    assert finish(process)[0] == 0
    assert len(workers) == 2
    assert are_gone(workers)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("existing", [b"old\n", None])
@pytest.mark.parametrize("written", [0, 1])
def test_an_interrupted_run_leaves_no_half_file(
    large: Path, places: dict[str, Path], jobs: int, existing: bytes | None, written: int
) -> None:
    target = places["out"] / "talks.jsonl"
    if existing is not None:
        target.write_bytes(existing)
    process = start(places, large, "-o", target, "--jobs", jobs)

    def has_begun_to_write() -> bool:
        drafts = (path for path in places["out"].iterdir() if path != target)
        return any(path.stat().st_size >= written for path in drafts)

    wait_until(process, has_begun_to_write)
    workers = interrupt(process)
    code, out, err = finish(process)

    assert (code, out) == (130, b""), err
    assert "interrupted" in err
    assert "Traceback" not in err
    assert [path.name for path in places["out"].iterdir()] == ([] if existing is None else ["talks.jsonl"])
    assert existing is None or target.read_bytes() == existing
    assert are_gone(workers)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("written", [0, 1])
def test_a_run_that_the_system_ends_leaves_no_half_file_and_no_worker(
    large: Path, places: dict[str, Path], jobs: int, written: int
) -> None:
    target = places["out"] / "talks.jsonl"
    target.write_bytes(b"old\n")
    process = start(places, large, "-o", target, "--jobs", jobs)

    def has_begun_to_write() -> bool:
        drafts = (path for path in places["out"].iterdir() if path != target)
        return any(path.stat().st_size >= written for path in drafts)

    wait_until(process, has_begun_to_write)
    workers = workers_of(process)
    process.terminate()
    code, out, err = finish(process)

    assert (code, out) == (143, b""), err
    assert "Traceback" not in err
    assert [path.name for path in places["out"].iterdir()] == ["talks.jsonl"]
    assert target.read_bytes() == b"old\n"
    assert are_gone(workers)
    assert list(places["temporary"].iterdir()) == []


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("moment", [0.0, 0.02, 0.05, 0.1, 0.2, 0.5])
def test_an_interruption_at_any_time_leaves_no_file(
    large: Path, places: dict[str, Path], jobs: int, moment: float
) -> None:
    target = places["out"] / "talks.jsonl"
    process = start(places, large, "-o", target, "--jobs", jobs)
    wait_until(process, lambda: has_opened_input(process) or workers_of(process))
    time.sleep(moment)
    workers = interrupt(process)
    code, _, err = finish(process)

    assert "Traceback" not in err
    assert code in (0, 130), err
    if code == 0 or target.exists():  # it was faster than the signal
        assert target.read_bytes().count(b"\n") == TALKS
    assert [path for path in places["out"].iterdir() if path != target] == []
    assert are_gone(workers)


def has_opened_input(process: subprocess.Popen[bytes]) -> bool:
    """Return whether Python itself has started, which is not what is tested."""
    try:
        return any(entry.readlink().suffix == ".jsonl" for entry in Path(f"/proc/{process.pid}/fd").iterdir())
    except OSError:  # closed between two looks
        return False


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("existing", [b"old\n", None])
def test_a_disk_that_fills_up_leaves_no_half_file(
    large: Path, places: dict[str, Path], jobs: int, existing: bytes | None
) -> None:
    def allow_one_mebibyte() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    target = places["out"] / "talks.jsonl"
    if existing is not None:
        target.write_bytes(existing)
    process = start(places, large, "-o", target, "--jobs", jobs, preexec_fn=allow_one_mebibyte)
    code, out, err = finish(process)

    assert (code, out) == (1, b"")
    assert "Traceback" not in err
    assert "talks.jsonl" in err or "too large" in err.lower()
    assert [path.name for path in places["out"].iterdir()] == ([] if existing is None else ["talks.jsonl"])
    assert existing is None or target.read_bytes() == existing


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("size", ["large", "small"])
def test_a_full_disk_behind_standard_output_is_reported(
    size: str, places: dict[str, Path], request: pytest.FixtureRequest
) -> None:
    path = request.getfixturevalue(size)
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        code, _, err = finish(start(places, path, stdout=full))

    assert code == 1
    assert "No space left" in err
    assert "Traceback" not in err
    assert "Exception ignored" not in err


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_reader_that_goes_away_ends_the_run_quietly(large: Path, places: dict[str, Path], jobs: int) -> None:
    process = start(places, large, "--jobs", jobs)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith(b'{"conversation_id":"talk-0"')
    process.stdout.close()
    err = process.stderr.read().decode()
    process.stderr.close()

    assert process.wait(timeout=300) == 0
    assert "Traceback" not in err
    assert "Exception ignored" not in err


def test_a_killed_worker_is_reported(large: Path, places: dict[str, Path]) -> None:
    target = places["out"] / "talks.jsonl"
    process = start(places, large, "-o", target, "--jobs", 2)
    wait_until(process, lambda: len(workers_of(process)) == 2)
    workers = workers_of(process)
    os.kill(workers[0], signal.SIGKILL)
    code, _, err = finish(process)

    assert "Traceback" not in err
    if code == 0:  # the worker had done its part already
        assert target.read_bytes().count(b"\n") == TALKS
    else:
        assert code == 1
        assert "worker" in err
        assert list(places["out"].iterdir()) == []
    assert are_gone(workers)


def test_workers_end_when_the_run_is_killed(large: Path, tmp_path: Path) -> None:
    places = dict.fromkeys(("temporary", "current", "home"), tmp_path)  # no process can clean up after SIGKILL
    process = start(places, large, "-o", tmp_path / "talks.jsonl", "--jobs", 2)
    wait_until(process, lambda: len(workers_of(process)) == 2)
    workers = workers_of(process)
    process.kill()
    _, _, err = finish(process)

    assert are_gone(workers)
    assert "Traceback" not in err
    assert not (tmp_path / "talks.jsonl").exists()


def test_packed_input_leaves_nothing_in_the_temporary_folder(large: Path, places: dict[str, Path]) -> None:
    packed = places["current"] / "events.jsonl.gz"
    with packed.open("wb") as file:
        subprocess.run(["gzip", "-1", "-c", str(large / "0.jsonl")], stdout=file, check=True)

    code, out, err = finish(start(places, packed, "--jobs", 2))
    assert code == 0, err
    assert out.count(b"\n") == TALKS // 2

    process = start(places, packed, "--jobs", 2)
    wait_until(process, lambda: list(places["temporary"].glob("copilog-*")))
    workers = interrupt(process)
    code, _, err = finish(process)
    assert code == 130, err
    assert "Traceback" not in err
    assert are_gone(workers)
