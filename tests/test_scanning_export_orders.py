"""Exports and sessions in any order: the archive is the same in the end."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from copilog.ingest.scan_result import ScanResult
from copilog.ingest.scanning import scan
from copilog.store.archive import Archive
from tests.export_places import Places, asked, beans, rows_of, without_ids

Step = Callable[[Archive], ScanResult]
Rows = dict[str, list[str]]


class Garden:
    """Homes and exports of some conversations, in all ways of belonging together."""

    def __init__(self, folder: Path) -> None:
        places, elsewhere = Places(folder / "one"), Places(folder / "two")
        places.keep("beans", *beans(3))
        places.keep("sage", *(asked("sage", number) for number in range(3)))
        elsewhere.keep("peas", asked("peas", 0), asked("peas", 1, "Another answer."), customTitle="Peas")
        exports = [
            places.export("beans-1.json", *beans(1), kept="first"),
            places.export("beans-4.json", *beans(4), kept="second"),
            places.export("beans-tail.json", beans(4)[3], kept="third"),
            places.export("peas.json", without_ids(asked("peas", 0)), kept="fourth"),
            places.export("peas-doubtful.json", *(without_ids(asked("peas", number)) for number in (0, 1))),
            places.export("beans-words.json", without_ids(beans(1)[0])),
            places.export("thyme-1.json", asked("thyme", 0)),
            places.export("thyme-2.json", asked("thyme", 0), asked("thyme", 1)),
            places.export("sage-1.json", asked("sage", 0)),
            places.export("sage-2.json", asked("sage", 0), asked("mint", 1), asked("mint", 2)),
        ]
        self.steps: list[Step] = [places.scan_home, elsewhere.scan_home, *map(scanning_of, exports)]
        self.in_order = self.rows_after(range(len(self.steps)))

    def rows_after(self, order: Sequence[int]) -> Rows:
        with tempfile.TemporaryDirectory() as folder, Archive(Path(folder, "archive.db"), write=True) as archive:
            for number in order:
                self.steps[number](archive)
            assert archive.check() == []
            return rows_of(archive)

    def __repr__(self) -> str:
        return "the garden"


def scanning_of(path: Path) -> Step:
    return lambda archive: scan(archive, paths=[path])


@pytest.fixture(scope="module")
def garden(tmp_path_factory: pytest.TempPathFactory) -> Garden:
    return Garden(tmp_path_factory.mktemp("garden"))


def test_sessions_and_their_exports_are_merged(garden: Garden) -> None:
    sizes = {name: sum(f"'whole': '{name}'" in row for row in garden.in_order["part"]) for name in ("vscode:beans",)}
    assert sizes == {"vscode:beans": 4}
    assert len(garden.in_order["part"]) == 4 + 2 + 2 + 2  # beans, peas, thyme, sage
    assert len(garden.in_order["conversation"]) == 3 + 4  # the tail, the doubtful one, thyme, sage with mint
    assert len(garden.in_order["relation"]) == 6


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(order=st.permutations(range(12)), again=st.lists(st.integers(0, 11), max_size=3))
def test_the_archive_does_not_depend_on_the_order_of_scans(order: list[int], again: list[int], garden: Garden) -> None:
    assert garden.rows_after([*order, *again]) == garden.in_order
