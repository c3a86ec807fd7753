"""What a million tokens cost, and where that is remembered."""

from __future__ import annotations

import importlib.metadata
import socket
import stat
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import msgspec
import pytest

from copilog.analysis.prices import PricedModel, PriceTable, UnitPrice, cache_folder, normalised, price_table


def table_of(*models: str, folder: Path) -> PriceTable:
    table = price_table(models, folder)
    assert table is not None
    return table


def entry_of(model: str, folder: Path) -> str | None:
    entry = table_of(model, folder=folder).models[model]
    return entry.name if entry is not None else None


@pytest.mark.parametrize(
    ("recorded", "entry"),
    [
        ("claude-sonnet-4.6", "anthropic/claude-sonnet-4-6"),
        ("claude-opus-4-6-20260205", "anthropic/claude-opus-4-6"),
        ("claude-3.7-sonnet-thought", "anthropic/claude-3-7-sonnet-latest"),
        ("Claude Sonnet 4.5 (Preview)", "anthropic/claude-sonnet-4-5"),
        ("proxy/anthropic/claude-haiku-4.5", "anthropic/claude-haiku-4-5"),
        ("gpt-5-mini", "openai/gpt-5-mini"),
        ("GPT-5 mini", "openai/gpt-5-mini"),
        ("copilot/gpt-5", "openai/gpt-5"),
        ("gpt-4o-2024-11-20", "openai/gpt-4o"),
        ("gpt-4o-2024-05-13", "openai/gpt-4o-2024-05-13"),  # a version with a price of its own
        ("o4-mini", "openai/o4-mini"),
        ("gemini-3-pro", "google/gemini-3-pro-preview"),
        ("gemini-2.0-flash-001", "google/gemini-2.0-flash"),
        ("grok-code-fast-1", "x-ai/grok-code-fast-1"),
        ("gpt-4.1", "openai/gpt-4.1"),  # which Copilot does not charge for; the maker does
        ("claude-opus-4.8-fast", "github-copilot/claude-opus-4.8-fast"),  # which costs twice as much as without "fast"
    ],
)
def test_models_are_found_by_the_names_that_copilot_gives_them(recorded: str, entry: str, tmp_path: Path) -> None:
    assert entry_of(recorded, tmp_path) == entry


@pytest.mark.parametrize(
    "recorded",
    ["auto", "copilot/auto", "", "gpt-99", "claude-sonnet-4.99", "gpt-5-nano-tiny", "gemini-2.5-pro-copy", "harbour-1"],
)
def test_what_is_merely_similar_has_no_price(recorded: str, tmp_path: Path) -> None:
    assert entry_of(recorded, tmp_path) is None


def test_a_name_is_reduced_to_what_matters() -> None:
    assert normalised(" Vendor/GPT-4.1_mini (Preview)") == "gpt-4-1-mini"


def test_the_cache_costs_as_much_as_other_input_where_the_table_has_no_price_for_it(tmp_path: Path) -> None:
    price = table_of("gpt-4o-2024-05-13", folder=tmp_path).price_at("gpt-4o-2024-05-13", None)

    assert price is not None
    assert price.cache_read == price.cache_write == price.input > 0


def test_the_price_is_that_of_the_day() -> None:
    dear = UnitPrice(input=10, output=40, cache_read=5, cache_write=10)
    cheap = UnitPrice(since="2026-05-05", input=2, output=8, cache_read=1, cache_write=2)
    table = PriceTable(source="made up", models={"tide-1": PricedModel(name="x/tide-1", prices=[dear, cheap])})

    assert table.price_at("tide-1", "2026-05-04") == dear
    assert table.price_at("tide-1", "2026-05-05") == cheap
    assert table.price_at("tide-1", None) == cheap
    assert table.price_at("tide-2", "2026-05-05") is None
    assert table.price_at(None, "2026-05-05") is None


def test_a_price_that_changed_has_its_days(tmp_path: Path) -> None:
    table = table_of("o3", folder=tmp_path)  # the day of its cut is history, and will not change

    before, after = table.price_at("o3", "2025-06-09"), table.price_at("o3", "2025-06-10")

    assert before is not None
    assert after is not None
    assert (before.input, before.output) == (10, 40)
    assert (after.input, after.output) == (2, 8)


def test_the_table_says_where_it_is_from_and_how_old_it_is(tmp_path: Path) -> None:
    table = table_of("gpt-5", folder=tmp_path)

    assert table.source == f"genai-prices {importlib.metadata.version('genai-prices')}"
    assert table.date is not None
    assert date(2026, 1, 1) < date.fromisoformat(table.date) <= datetime.now(UTC).date()


def test_nothing_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("somebody wants to go online")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)

    assert entry_of("gpt-5", tmp_path) == "openai/gpt-5"


# --- what is remembered ---------------------------------------------------------------------------------------------


def test_the_package_is_not_imported_for_what_is_known(tmp_path: Path) -> None:
    table_of("gpt-5", "auto", folder=tmp_path)  # the second has no price, which is known then

    program = """if True:
        import sys
        from pathlib import Path
        from copilog.analysis.prices import price_table
        table = price_table(["gpt-5", "auto"], Path(sys.argv[1]))
        print(table.models["gpt-5"].name, table.models["auto"], "genai_prices" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["openai/gpt-5", "None", "False"]


def test_what_was_found_before_is_kept_beside_what_is_new(tmp_path: Path) -> None:
    table_of("gpt-5", folder=tmp_path)
    table_of("o4-mini", folder=tmp_path)

    assert set(table_of(folder=tmp_path).models) == {"gpt-5", "o4-mini"}


@pytest.mark.skipif(sys.platform == "win32", reason="rights are of another kind there")
def test_the_file_is_for_this_user_alone_and_nothing_else_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "copilog"
    table_of("gpt-5", folder=folder)

    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"source": 1}',
        b'{"source": "x", "models": {"gpt-5": {}}}',
        b"[" * 100_000,
        b'{"source": "x", "models": {"gpt-5": {"name": "x/gpt-5", "prices": []}}}',
    ],
)
def test_a_damaged_file_is_written_anew(damage: bytes, tmp_path: Path) -> None:
    table_of("gpt-5", folder=tmp_path)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage)

    assert entry_of("gpt-5", tmp_path) == "openai/gpt-5"
    assert file.read_bytes() == whole


def test_prices_are_used_even_if_they_cannot_be_cached(tmp_path: Path) -> None:
    in_the_way = tmp_path / "cache"
    in_the_way.write_text("a file")

    assert entry_of("gpt-5", in_the_way) == "openai/gpt-5"
    assert in_the_way.read_text() == "a file"


def test_another_version_of_the_package_is_asked_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table_of("gpt-5", folder=tmp_path)
    (file,) = tmp_path.iterdir()
    stale = msgspec.json.decode(file.read_bytes(), type=PriceTable)
    stale.models["gpt-5"] = None
    file.write_bytes(msgspec.json.encode(stale))
    packages = tmp_path / "packages"
    (packages / "genai_prices-99.0.dist-info").mkdir(parents=True)
    monkeypatch.syspath_prepend(packages)

    table = table_of("gpt-5", folder=tmp_path)

    assert table.source == "genai-prices 99.0"
    assert table.models["gpt-5"] is not None


def test_without_the_package_there_are_no_prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])

    assert price_table(["gpt-5"], tmp_path) is None


def test_the_version_is_also_found_where_no_folder_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(importlib.metadata, "version", {"genai-prices": "99.0"}.__getitem__)

    assert table_of("gpt-5", folder=tmp_path).source == "genai-prices 99.0"


def test_a_package_that_cannot_be_read_gives_no_prices_and_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "genai_prices", None)
        assert entry_of("gpt-5", tmp_path) is None

    assert entry_of("gpt-5", tmp_path) == "openai/gpt-5"


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, ".cache/copilog"),
        ("linux", {"XDG_CACHE_HOME": "{home}/kept"}, "kept/copilog"),
        ("linux", {"XDG_CACHE_HOME": " "}, ".cache/copilog"),
        ("darwin", {}, "Library/Caches/copilog"),
        ("win32", {"LOCALAPPDATA": "{home}/Local"}, "Local/copilog/Cache"),
        ("win32", {}, "AppData/Local/copilog/Cache"),
    ],
)
def test_the_folder_is_where_the_system_wants_such_files(
    platform: str, variables: dict[str, str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(home=tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(sys, "platform", platform)

    assert cache_folder() == tmp_path / expected
