"""What every source promises, tried on all made-up files."""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog import sources
from copilog.model import Conversation, is_recorded
from copilog.sources import BY_NAME, SOURCES, Source
from copilog.sources.known_places import LOCATED
from tests.samples import (
    BROKEN,
    EVERY,
    GOLDEN,
    SHARED,
    SOUND,
    Reading,
    Sample,
    as_golden,
    claiming,
    read,
    shelf_of,
    source_of,
)

ROOT = Path(__file__).parent.parent.parent
CUTS = 50
of_each_source = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
of_each_sample = pytest.mark.parametrize("sample", EVERY, ids=str)


# --- what there is ----------------------------------------------------------------------------------------------


def defined_sources() -> list[type[Source]]:
    """Return the classes of sources that any module of the package defines."""
    modules = [importlib.import_module(m.name) for m in pkgutil.walk_packages(sources.__path__, f"{sources.__name__}.")]
    values = [value for module in modules for value in vars(module).values() if isinstance(value, type)]
    return sorted({value for value in values if issubclass(value, Source)} - {Source}, key=lambda value: value.__name__)


def test_every_source_is_listed_once() -> None:
    assert sorted((type(source) for source in SOURCES), key=lambda value: value.__name__) == defined_sources()


def test_every_source_that_locates_files_is_among_the_known_places() -> None:
    locating = [type(source) for source in SOURCES if type(source).locate is not Source.locate]
    assert [type(source) for source in LOCATED] == locating


@of_each_source
def test_a_source_has_a_name_and_a_title(source: Source) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", source.name)
    assert source.title.strip()
    page = re.search(r"docs/formats/[\w-]+\.md", importlib.import_module(type(source).__module__).__doc__ or "")
    assert page is not None
    assert (ROOT / page[0]).is_file()


def test_names_and_titles_are_unique() -> None:
    assert len({source.name for source in SOURCES}) == len({source.title for source in SOURCES}) == len(SOURCES)


@of_each_source
def test_a_source_has_several_samples(source: Source) -> None:
    shelf = shelf_of(BY_NAME[SHARED.get(source.name, source.name)])
    assert len([sample for sample in SOUND if sample.shelf == shelf]) >= 2


def test_every_case_has_a_name_of_its_own_and_every_expectation_a_case() -> None:
    assert len({sample.golden for sample in EVERY}) == len(EVERY)
    expected = {path for sample in EVERY for path in sample.golden.parent.rglob(f"*{GOLDEN}")}
    assert expected <= {sample.golden for sample in EVERY}


# --- what it promises -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", SOUND, ids=str)
def test_a_valid_file_is_claimed_only_by_its_own_source(sample: Sample, tmp_path: Path) -> None:
    assert [name.replace("-", "_") for name in claiming(sample.laid_out(tmp_path))] == [sample.shelf]


@pytest.mark.parametrize("sample", BROKEN, ids=str)
def test_a_broken_file_is_claimed_by_one_source_that_reports_the_problem(sample: Sample, tmp_path: Path) -> None:
    path = sample.laid_out(tmp_path)

    assert len(claiming(path)) == 1
    assert read(path, source_of(path)).diagnostics()


# Sound samples that have something to tell: an item that is no session, an entry that its writer could not write.
TELLING = ("sessions_inside", "garden.chatreplay", "damaged")


@of_each_sample
def test_the_ledger_of_each_sample_balances(sample: Sample, tmp_path: Path) -> None:
    path = sample.laid_out(tmp_path)
    reading = read(path, source_of(path))

    assert_in_order(reading)
    if sample in SOUND and sample.case not in TELLING:
        assert reading.diagnostics() == []
        assert reading.ledger.seen > 0 or sample.case == "without_chat"


def assert_in_order(reading: Reading) -> None:
    """Assert that the ledger balances, and that the conversations survive encoding."""
    assert reading.ledger.balances()
    assert reading.index_ledger.balances()
    for conversation in (*reading.conversations, *reading.stubs):
        assert msgspec.json.decode(msgspec.json.encode(conversation), type=Conversation) == conversation
        is_own = is_recorded(conversation)  # a file of copilog's own has the sources of the traces that it names
        assert is_own or SHARED.get(conversation.source, conversation.source) == reading.source.name
        assert re.fullmatch(r"[a-z]+:.+", conversation.id, re.DOTALL)
        assert conversation.provenance[0].path == reading.ledger.path
        assert is_own or all(place.role != "lead" for place in conversation.provenance[1:])
        assert [turn.index for turn in conversation.turns] == list(range(len(conversation.turns)))


@of_each_sample
def test_reading_a_file_twice_gives_the_same_and_does_not_change_it(sample: Sample, tmp_path: Path) -> None:
    path = sample.laid_out(tmp_path)
    before = everything_below(tmp_path)

    first, second = (as_golden(read(path, source_of(path)), tmp_path) for _ in range(2))

    assert first == second
    assert everything_below(tmp_path) == before


def everything_below(folder: Path) -> dict[Path, tuple[int, str]]:
    return {
        path: (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "")
        for path in folder.rglob("*")
    }


@of_each_sample
def test_a_sample_is_read_as_expected(sample: Sample, tmp_path: Path, updates_golden: bool) -> None:
    path = sample.laid_out(tmp_path)
    golden = as_golden(read(path, source_of(path)), tmp_path)
    if updates_golden:
        sample.golden.write_bytes(golden)

    assert golden.decode() == sample.golden.read_text(encoding="utf-8")


# --- what it survives -------------------------------------------------------------------------------------------


@of_each_sample
def test_a_file_that_is_cut_anywhere_is_read_or_refused(sample: Sample, tmp_path: Path) -> None:
    path = sample.laid_out(tmp_path)
    source, data = source_of(path), path.read_bytes()

    for number in range(CUTS):
        path.write_bytes(data[: len(data) * number // CUTS])
        claiming(path)
        assert_in_order(read(path, source))


@pytest.mark.soak(kind="flips")
@of_each_sample
@settings(max_examples=30)
@given(data=st.data())
def test_a_file_with_wrong_bytes_is_read_or_refused(
    sample: Sample, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "wrong-bytes" / sample.shelf / sample.case
    path = sample.laid_out(folder)
    original = path.read_bytes()
    try:
        source = source_of(path)
        path.write_bytes(replaced(original, data.draw(wrong_bytes(original))))
        claiming(path)
        assert_in_order(read(path, source))
    finally:
        path.write_bytes(original)


Change = tuple[tuple[int, int], bytes]  # from where to where, and what stands there instead


def replaced(original: bytes, changes: list[Change]) -> bytes:
    made = original
    for (start, end), others in sorted(changes, reverse=True):
        made = made[:start] + others + made[end:]
    return made


def wrong_bytes(original: bytes) -> st.SearchStrategy[list[Change]]:
    places = st.integers(0, max(0, len(original) - 1)).map(lambda place: (place, place + 1))
    return st.lists(
        st.tuples(places, st.binary(min_size=1, max_size=1)), max_size=20, unique_by=lambda change: change[0]
    )


def as_text_of(sample: Sample) -> bool:
    return sample.path.suffix in (".json", ".jsonl")


@pytest.mark.soak(kind="flips")
@pytest.mark.parametrize("sample", [sample for sample in SOUND if as_text_of(sample)], ids=str)
@settings(max_examples=30)
@given(data=st.data())
def test_a_file_with_other_values_is_read_or_refused(
    sample: Sample, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Wrong bytes mostly make no JSON; so here a value is replaced by one of another type."""
    folder = tmp_path_factory.getbasetemp() / "other-values" / sample.shelf / sample.case
    path = sample.laid_out(folder)
    original = path.read_bytes()
    try:
        source = source_of(path)
        path.write_bytes(replaced(original, data.draw(other_values(original))))
        claiming(path)
        assert_in_order(read(path, source))
    finally:
        path.write_bytes(original)


VALUE = re.compile(rb'(?<=[:\[,])\s*("(?:[^"\\]|\\.)*"(?!\s*:)|-?[0-9]+(?:\.[0-9]+)?|true|false|null|\{\}|\[\])')
OTHERS = [b"null", b"true", b"0", b"-1", b"1e300", b'""', b'"text"', b"[]", b"[null]", b"[[]]", b"{}", b'{"a":{}}']


def other_values(original: bytes) -> st.SearchStrategy[list[Change]]:
    places = st.sampled_from([match.span(1) for match in VALUE.finditer(original)])
    return st.lists(st.tuples(places, st.sampled_from(OTHERS)), max_size=5, unique_by=lambda change: change[0])
