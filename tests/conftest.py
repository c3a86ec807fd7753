"""What all tests share: crashes are raised, golden files can be refreshed, and real files may be at hand."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.soaking import pytest_collection_modifyitems, pytest_runtest_call

__all__ = ["pytest_collection_modifyitems", "pytest_runtest_call"]

# A bug in a reader is contained in a run; here it must be seen.
os.environ["COPILOG_RAISE"] = "1"

# A shell without job control starts what it puts into the background with Ctrl-C ignored, which programs inherit: tests
# that interrupt one would wait forever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Machines differ, and no test asserts a time. CI tries the same examples each time, so that a change fails for its own
# faults; everywhere else new ones are tried.
settings.register_profile(
    "copilog",
    deadline=None,
    derandomize="CI" in os.environ and "COPILOG_SOAK" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("copilog")


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whatever is cached for a user is not the cache of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def private_temp(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files that no other test looks into."""
    folder = tmp_path_factory.mktemp("temp")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the expected results anew, to be reviewed")


@pytest.fixture
def updates_golden(request: pytest.FixtureRequest) -> bool:
    """Whether expected results are to be written instead of compared."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real files; the test is skipped when there is none."""
    named = os.environ.get("COPILOG_CORPUS")
    if not named:
        pytest.skip("COPILOG_CORPUS names no folder")
    folder = Path(named)
    if not folder.is_dir():
        pytest.fail(f"COPILOG_CORPUS names {folder}, which is no folder")
    return folder
