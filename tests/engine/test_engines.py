"""Engines: the same results in the same order, however the work is spread."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from copilog.engine import Engine, Serial, WorkerLost, engine_for
from copilog.engine.processes import Processes
from copilog.engine.worker import MOST_BYTES_IN_MEMORY
from copilog.errors import BadRecord


def double(number: int) -> int:
    return number * 2


def slow_when_even(number: int) -> int:
    time.sleep(0.05 if number % 2 == 0 else 0)
    return number


def fail_at_three(number: int) -> int:
    if number == 3:
        raise BadRecord("three is too much", "bad-json")
    return number


class Unpicklable(Exception):  # noqa: N818
    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


def fail_strangely(number: int) -> int:
    raise Unpicklable(number, number)


def large_result(number: int) -> list[str]:
    return [f"é{number}" * MOST_BYTES_IN_MEMORY, "end"]


def large_result_that_cannot_be_pickled(number: int) -> list[object]:
    return [*large_result(number), lambda: number]


def many_texts(number: int) -> list[str]:
    return [f"{position:08} " * 222 for position in range(number)]


def peak_memory(_number: int) -> int:
    """Return the most memory that this process had so far, in MB."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) >> 10


def die(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def chatter(number: int) -> int:
    print("this must not get between results")  # noqa: T201
    return number


def process_id(_number: int) -> int:
    time.sleep(0.05)
    return os.getpid()


@pytest.fixture(params=[1, 2, 3])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with engine_for(request.param) as made:
        yield made


def test_results_come_in_the_order_of_the_parts(engine: Engine) -> None:
    assert list(engine.map(slow_when_even, range(20))) == list(range(20))


def test_an_engine_can_be_used_again(engine: Engine) -> None:
    assert list(engine.map(double, [1, 2])) == [2, 4]
    assert list(engine.map(double, [])) == []
    assert list(engine.map(double, [3])) == [6]


def test_results_are_combined_into_one(engine: Engine) -> None:
    assert engine.run(double, range(5), lambda left, right: left + right, 100) == 120


def test_an_error_in_a_worker_is_raised_unchanged(engine: Engine) -> None:
    with pytest.raises(BadRecord, match="three is too much") as caught:
        list(engine.map(fail_at_three, range(10)))
    assert caught.value.code == "bad-json"


def test_parts_are_read_on_demand(engine: Engine) -> None:
    asked: list[int] = []

    def parts() -> Iterator[int]:
        for number in range(1000):
            asked.append(number)
            yield number

    results = engine.map(double, parts())
    assert next(results) == 0
    assert len(asked) < 50


def test_nothing_is_started_before_there_is_work() -> None:
    engine = Processes(2)
    assert engine._workers == []
    assert list(engine.map(double, [])) == []
    assert engine._workers == []


def test_work_is_spread_over_processes() -> None:
    with Processes(2) as engine:
        workers = set(engine.map(process_id, range(8)))
    assert len(workers) == 2
    assert os.getpid() not in workers
    assert set(Serial().map(process_id, range(2))) == {os.getpid()}


def test_an_error_that_cannot_be_pickled_is_raised_as_text() -> None:
    with Processes(2) as engine, pytest.raises(RuntimeError, match="Unpicklable: 0 and 0"):
        list(engine.map(fail_strangely, range(1)))


def test_large_result_comes_complete() -> None:
    with Processes(2) as engine:
        assert list(engine.map(large_result, [0, 1])) == [large_result(0), large_result(1)]


def test_large_result_that_cannot_be_pickled_is_an_error_and_the_next_one_is_not() -> None:
    with Processes(1) as engine:
        with pytest.raises((AttributeError, pickle.PicklingError), match="pickle"):
            list(engine.map(large_result_that_cannot_be_pickled, [0]))
        assert list(engine.map(double, [2])) == [4]


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is counted otherwise here")
def test_large_result_is_not_in_memory_a_second_time_while_it_is_sent() -> None:
    with Processes(1) as engine:
        (before,) = engine.map(peak_memory, [0])
        sizes = [len(answer) for answer in engine.map(many_texts, [20_000])]
        (after,) = engine.map(peak_memory, [0])

    assert sizes == [20_000]
    assert after - before < 1.5 * 20_000 * 2_000 / (1 << 20)


def test_a_worker_that_is_killed_ends_the_run() -> None:
    with Processes(2) as engine, pytest.raises(WorkerLost, match="ended before its work was done"):
        list(engine.map(die, range(4)))


def test_output_of_a_worker_goes_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    with Processes(2) as engine:
        assert list(engine.map(chatter, range(3))) == [0, 1, 2]
    out, err = capfd.readouterr()
    assert out == ""
    assert "must not get between" in err


def test_no_worker_is_left_when_the_engine_is_closed() -> None:
    with Processes(2) as engine:
        workers = set(engine.map(process_id, range(8)))
    for worker in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)


def test_a_plain_script_needs_no_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import math\n"
        "from copilog.engine.processes import Processes\n"
        "print('started')\n"
        "with Processes(2) as engine:\n"
        "    print(list(engine.map(math.sqrt, [4, 9])))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "started\n[2.0, 3.0]\n"


def test_a_worker_does_not_import_from_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "msgspec.py").write_text("raise SystemExit('somebody put this here')\n")
    code = (
        "from copilog.engine.processes import Processes\n"
        "with Processes(2) as engine:\n"
        "    print(list(engine.map(len, ['ab'])))\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[2]\n"
