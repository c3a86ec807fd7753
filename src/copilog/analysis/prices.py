"""List prices of models, per million tokens, from the package genai-prices. Nothing is downloaded.

Importing that package takes a third of a second. So the prices of models are cached in a small file of the user's cache
folder, and the package is imported only for a model that is not in the file. Models without a price are cached too.

Models are named in many ways: "copilot/gpt-5", "claude-opus-4-6-20260205", "Claude Sonnet 4.5 (Preview)". A name
matches if it is equal to one that the table lists for a model, ignoring vendors in front, dots for dashes, and a date
or "preview" at the end. A merely similar name has no price: a related model may cost ten times more.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from copilog.analysis.plans import OwnPrice, Plan

if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices.types import ConditionalPrice, MatchLogic, ModelInfo, ModelPrice, TieredPrices

PACKAGE = "genai-prices"
# Vendors of models, then Copilot itself, for models that only Copilot has.
PROVIDERS = (
    "anthropic", "openai", "google", "x-ai", "mistral", "deepseek", "moonshotai", "zai", "minimax", "meta",
    "github-copilot",
)  # fmt: skip
# The version of the rules that match names: raising it discards the cached prices.
RULES = 2

_IN_BRACKETS = re.compile(r"\s*\([^)]*\)")
_ENDINGS = re.compile(r"([-@](\d{8}|\d{4}-\d\d-\d\d|00\d|latest|preview|thought|thinking))+$")


class UnitPrice(msgspec.Struct, frozen=True, kw_only=True):
    """Dollars for a million tokens, from a day on. Long prompts may have a price of their own."""

    since: str = ""  # a day; empty: from the beginning
    input: float
    output: float
    cache_read: float
    cache_write: float
    above: int | None = None  # prompts with more tokens have the prices in `long`
    long: UnitPrice | None = None

    def of_prompts(self, tokens: float) -> UnitPrice:
        """Return the price for prompts of this length."""
        is_long = self.long is not None and self.above is not None and tokens > self.above
        return self.long.of_prompts(tokens) if is_long and self.long is not None else self


class PricedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model of the price table."""

    name: str  # "anthropic/claude-sonnet-4-6"
    prices: list[UnitPrice]  # in the order of time

    def price_at(self, day: str | None) -> UnitPrice:
        """Return the price of the model on a day; the latest price if the day is None."""
        if day is None or len(self.prices) == 1:
            return self.prices[-1]
        return next(price for price in reversed(self.prices) if price.since <= day)


class PriceTable(msgspec.Struct, kw_only=True):
    """The prices of some models, by the names they were recorded with. None: the model has no price."""

    source: str  # "genai-prices 0.2.1"
    date: str | None = None
    models: dict[str, PricedModel | None] = {}
    own: list[str] = []  # models that the config file prices
    unknown: dict[str, str] = {}  # models of the config file, and the unknown ones that their `same_as` names

    def price_at(self, model: str | None, day: str | None) -> UnitPrice | None:
        """Return the price of a model on a day, or its latest price if the day is None; None without a price."""
        entry = self.models.get(model) if model is not None else None
        return entry.price_at(day) if entry is not None else None


def price_table(models: Iterable[str], folder: Path | None = None, plan: Plan | None = None) -> PriceTable | None:
    """Return the prices of these models, and maybe of others; None without the package and prices in the plan.

    Those of the plan take precedence over those of the package. `folder` is the cache folder, by default the user's.
    """
    models = set(models)
    own = plan.prices if plan is not None else {}
    named = {price.same_as for price in own.values() if price.same_as is not None}
    table = _table_of_package(models | named, folder)
    if not own:
        return table
    table = table or PriceTable(source="the config file")
    prices = {normalised(name): (name, price) for name, price in own.items()}
    found = {model: prices.get(normalised(model)) for model in models}
    made = {model: _own_model(*entry, table) for model, entry in found.items() if entry is not None}
    others = {name: price.same_as for name, price in own.items() if price.same_as is not None}
    unknown = {name: other for name, other in others.items() if table.models.get(other) is None}
    return replace(table, models=table.models | made, own=sorted(made), unknown=unknown)


def _own_model(name: str, price: OwnPrice, table: PriceTable) -> PricedModel | None:
    """Return a model with the prices of the plan, completed by those of the package's model."""
    known = table.models.get(price.same_as or name)
    first = known.prices[-1] if known is not None else None
    paid = price.input if price.input is not None else first.input if first is not None else None
    answered = price.output if price.output is not None else first.output if first is not None else None
    if paid is None or answered is None:
        return None
    own = (price.input, price.output, price.cache_read, price.cache_write, price.long)
    if known is not None and all(one is None for one in own):
        return known
    known_read, known_written = (first.cache_read, first.cache_write) if first is not None else (paid, paid)
    read = price.cache_read if price.cache_read is not None else known_read
    written = price.cache_write if price.cache_write is not None else known_written
    unit = UnitPrice(input=paid, output=answered, cache_read=read, cache_write=written)
    if price.long is None and first is not None and first.long is not None:
        return PricedModel(name=f"{name} (config file)", prices=[_with_tiers_of(first, unit)])
    if price.long is not None:
        more = price.long
        part = more.input / paid if paid else 0  # what is left out costs the same part of the input as usual
        longer = UnitPrice(
            input=more.input,
            output=more.output,
            cache_read=more.cache_read if more.cache_read is not None else read * part,
            cache_write=more.cache_write if more.cache_write is not None else written * part,
        )
        unit = replace(unit, above=more.above, long=longer)
    return PricedModel(name=f"{name} (config file)", prices=[unit])


def _with_tiers_of(known: UnitPrice, own: UnitPrice) -> UnitPrice:
    """Return a price with long prompts that cost as much more as they do in the package."""

    def scaled(name: str) -> float:
        usual = getattr(known, name)
        return float(getattr(known.long, name) * getattr(own, name) / usual) if usual else float(getattr(own, name))

    if known.long is None:
        return own
    longer = UnitPrice(
        input=scaled("input"),
        output=scaled("output"),
        cache_read=scaled("cache_read"),
        cache_write=scaled("cache_write"),
    )
    return replace(own, above=known.above, long=_with_tiers_of(known.long, longer))


def _table_of_package(models: Iterable[str], folder: Path | None) -> PriceTable | None:
    number = _installed_version()
    if number is None:
        return None
    file = (folder or cache_folder()) / f"prices-{number}-{RULES}.json"
    table = _read(file) or PriceTable(source=f"{PACKAGE} {number}")
    missing = {model for model in models if model not in table.models}
    if missing:
        try:
            table = _looked_up(table, missing)
        except ImportError:  # a version that has its data elsewhere
            table.models.update(dict.fromkeys(missing))
        else:
            _keep(file, table)
    return table


def _installed_version() -> str | None:
    """Return the version of the package; None if it is not installed.

    Its metadata are in a folder with the version in its name. Only where they are elsewhere is `importlib.metadata`
    asked, whose import takes longer than all prices.
    """
    start, end = f"{PACKAGE.replace('-', '_')}-", ".dist-info"
    for folder in sys.path:
        with suppress(OSError):
            for name in os.listdir(folder or "."):  # noqa: PTH208 - names are all that is needed
                if name.startswith(start) and name.endswith(end):
                    return name[len(start) : -len(end)]
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return None


def cache_folder() -> Path:
    """Return the cache folder of the user."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "copilog" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "copilog"
    return Path(os.environ.get("XDG_CACHE_HOME", "").strip() or Path.home() / ".cache") / "copilog"


# --- the cache file ---------------------------------------------------------------------------------------------


def _read(file: Path) -> PriceTable | None:
    """Return the cached table; None if the file is missing or damaged."""
    try:
        table = msgspec.json.decode(file.read_bytes(), type=PriceTable)
    except (OSError, ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return None
    is_whole = all(entry is None or (entry.prices and not entry.prices[0].since) for entry in table.models.values())
    return table if is_whole else None


def _keep(file: Path, table: PriceTable) -> None:
    """Write the cache file atomically, readable only by the user. Ignore errors: the package is imported again then."""
    import secrets

    draft = file.with_name(f".{file.name}.{secrets.token_hex(6)}.part")
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            with os.fdopen(handle, "wb") as stream:
                stream.write(msgspec.json.encode(table))
            draft.replace(file)
        finally:
            draft.unlink(missing_ok=True)


# --- the package ------------------------------------------------------------------------------------------------


def _looked_up(table: PriceTable, missing: Iterable[str]) -> PriceTable:
    """Return the table with these models added. The data is read as installed: the package's updater is not started."""
    from genai_prices import data

    models = {
        provider.id: [model for model in provider.models if _unit_prices(model)]
        for provider in data.providers
        if provider.id in PROVIDERS
    }
    index = _Index(models)
    found = {model: index.entry_of(model) for model in sorted(missing)}
    everything = (model for provider in data.providers for model in provider.models)
    return PriceTable(
        source=table.source, date=_date_of(everything, _day_of(data.__file__)), models=table.models | found
    )


class _Index:
    """Models by all names that the package has for them. The first model with a name gets it."""

    def __init__(self, models: dict[str, list[ModelInfo]]) -> None:
        self.exact: dict[str, PricedModel] = {}
        self.plain: dict[str, PricedModel] = {}  # by names without dates and the like
        for provider in PROVIDERS:
            entries = [
                (model, PricedModel(name=f"{provider}/{model.id}", prices=_unit_prices(model)))
                for model in models.get(provider, ())
            ]
            for model, entry in entries:
                for name in (model.id, *_names_in(model.match)):
                    self._add(name, entry)
            for model, entry in entries:
                if model.name is not None:
                    self._add(model.name, entry)

    def _add(self, name: str, entry: PricedModel) -> None:
        name = normalised(name)
        self.exact.setdefault(name, entry)
        self.plain.setdefault(_ENDINGS.sub("", name), entry)

    def entry_of(self, model: str) -> PricedModel | None:
        name = normalised(model)
        plain = _ENDINGS.sub("", name)
        return self.exact.get(name) or self.exact.get(plain) or self.plain.get(plain)


def normalised(name: str) -> str:
    """Return a model's name without vendors in front and text in brackets, with dashes only: "gpt-5-mini"."""
    name = _IN_BRACKETS.sub("", name.lower()).rpartition("/")[2]
    return re.sub(r"[\s._]+", "-", name.strip()).strip("-@:")


def _names_in(clause: MatchLogic) -> Iterator[str]:
    """Yield all names that a matching rule of the package mentions. Patterns are skipped: they only add dates."""
    for kind in ("equals", "starts_with", "contains", "ends_with"):
        if hasattr(clause, kind):
            yield str(getattr(clause, kind))
    for kind in ("or_", "and_"):
        for inner in getattr(clause, kind, ()):
            yield from _names_in(inner)


def _unit_prices(model: ModelInfo) -> list[UnitPrice]:
    """Return the prices of a model in the order of time; an empty list if it has no price per token."""
    found: list[UnitPrice] = []
    for since, price in sorted(dict(_steps(model.prices)).items(), key=itemgetter(0)):
        unit = _unit_price(since if found else "", price)  # the first price is used for earlier days, too
        if unit is not None and (not found or replace(unit, since=found[-1].since) != found[-1]):
            found.append(unit)
    return found


def _steps(prices: ModelPrice | list[ConditionalPrice]) -> Iterator[tuple[str, ModelPrice]]:
    if not isinstance(prices, list):
        yield "", prices
        return
    for number, step in enumerate(prices):
        start = getattr(step.constraint, "start_date", None)
        if start is not None:
            yield start.isoformat(), step.prices
        elif step.constraint is None or number == 0:  # prices by hour of the day are not distinguished
            yield "", step.prices


def _unit_price(since: str, price: ModelPrice) -> UnitPrice | None:
    """Return a price with its tiers: a longer prompt has a higher price as a whole."""
    prices = (price.input_mtok, price.output_mtok, price.cache_read_mtok, price.cache_write_mtok)
    made: UnitPrice | None = None
    above: int | None = None
    starts = {tier.start for one in prices for tier in getattr(one, "tiers", ())}
    for start in (*sorted(starts, reverse=True), 0):
        paid, answered, read, written = (_dollars(one, start) for one in prices)
        if paid is None or answered is None:
            return None
        made = UnitPrice(
            input=paid,
            output=answered,
            cache_read=paid if read is None else read,
            cache_write=paid if written is None else written,
            above=above,
            long=made,
        )
        above = start
    return replace(made, since=since) if made is not None else None


def _dollars(price: Decimal | TieredPrices | None, start: int) -> float | None:
    """Return a price as a number: that of the tier of prompts with more than `start` tokens."""
    found: Any = price
    for tier in getattr(price, "tiers", ()):
        if tier.start <= start:
            found = tier.price
    base: Any = getattr(found, "base", found)
    return float(base) if base is not None else None


def _date_of(models: Iterable[ModelInfo], installed: date) -> str | None:
    """Return the latest start date of a price, up to the installation: the table was made on that day or later.

    The package does not record when its table was made, and its files have the date of their installation. Prices
    announced for later days are ignored; if all are later than the installation, those up to today count.
    """
    starts: set[date] = set()
    for model in models:
        steps = model.prices if isinstance(model.prices, list) else []
        for step in (*steps, *(model.price_variants or ())):
            start = getattr(step.constraint, "start_date", None)
            if start is not None:
                starts.add(start)
    known = [day for day in starts if day <= installed] or [day for day in starts if day <= _today()]
    return max(known).isoformat() if known else None


def _day_of(file: str | None) -> date:
    """Return the day when a file was modified; today if it cannot be read."""
    try:
        return datetime.fromtimestamp(Path(file or "").stat().st_mtime, UTC).date()
    except OSError:
        return _today()


def _today() -> date:
    return datetime.now(UTC).date()
