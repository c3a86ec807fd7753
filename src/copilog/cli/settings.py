"""The config file: extra roots and a few defaults. Each value records where it comes from."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from copilog.errors import BadFile, UsageError
from copilog.intake.files import read_small
from copilog.intake.folders import is_gone
from copilog.store.config_file import config_path

if TYPE_CHECKING:
    from copilog.analysis.plans import Plan

Kind = TypeVar("Kind")

MOST_BYTES = 1 << 20
LAST_BILLING_DAY = 28  # every month has it
SHORTEST_PRIVATE = 2  # characters of a listed word

EXAMPLE = """\
# Folders to read besides the usual places.
roots = ["/mnt/backup/home/ana"]
# "auto", "always" or "never"
color = "auto"
# How many conversations `copilog list` shows.
list_limit = 50
# Exit code 1 when there were bad records.
strict = false
# Redact whatever leaves the archive, without --redact: exports, reports, trajectories, answers to agents (MCP).
redact = false
# AI credits (or premium requests, see billing) that a billing month has, and the day on which it begins.
budget = 1900
billing_day = 1
# "requests": a plan that is still billed by premium requests, also after 1 June 2026.
# billing = "requests"
# What a contract takes from list prices: 0.1 is a tenth.
discount = 0
# Prices of your own, in dollars for a million tokens, by model. `same_as` takes those of another model; what is left
# out is as in the table of list prices. `long` holds for prompts of more tokens than `above`; without prices of cached
# tokens of its own, these cost the same part of the input as usual.
# [prices."copilot-swe"]
# same_as = "gpt-5"
# [prices."my-model"]
# input = 3.0
# output = 15.0
# cache_read = 0.3
# long = { above = 200000, input = 6.0, output = 22.5 }
# What redaction replaces besides what it recognises, in any case; hosts and users only as whole words.
# [private]
# words = ["Project Heron"]
# hosts = ["buildbox"]
# users = ["ana"]
"""


@dataclass(frozen=True)
class Value(Generic[Kind]):
    """A setting and where it comes from."""

    value: Kind
    origin: str = "default"


@dataclass(frozen=True)
class Config:
    """The settings of the config file."""

    roots: Value[tuple[Path, ...]] = field(default_factory=lambda: Value(()))
    color: Value[bool | None] = field(default_factory=lambda: Value(None))
    list_limit: Value[int] = field(default_factory=lambda: Value(50))
    strict: Value[bool] = field(default_factory=lambda: Value(False))
    billing: Value[str | None] = field(default_factory=lambda: Value(None))
    budget: Value[float | None] = field(default_factory=lambda: Value(None))
    billing_day: Value[int] = field(default_factory=lambda: Value(1))
    discount: Value[float] = field(default_factory=lambda: Value(0.0))
    prices: Value[dict[str, Any]] = field(default_factory=lambda: Value({}))
    redact: Value[bool] = field(default_factory=lambda: Value(False))
    private: Value[dict[str, list[str]]] = field(default_factory=lambda: Value({}))

    @property
    def plan(self) -> Plan:
        """Return how the user pays for Copilot."""
        import msgspec

        from copilog.analysis.plans import Plan

        names = ("billing", "budget", "billing_day", "discount", "prices")
        return msgspec.convert({name: getattr(self, name).value for name in names}, Plan)


COLORS: dict[str, bool | None] = {"auto": None, "always": True, "never": False}


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given)


def _price_problem(given: Any) -> str | None:
    from copilog.analysis.plans import OwnPrice

    if not isinstance(given, dict):
        return 'must be tables with prices, such as [prices."my-model"]'
    known = ", ".join(OwnPrice.__struct_fields__)
    for model, price in given.items():
        name = f'."{model}"'
        if not isinstance(price, dict):
            return f"{name} must be a table with some of {known}"
        for key, value in price.items():
            problem = _problem_of_price(key, value, known)
            if problem is not None:
                return f"{name}{problem}"
    return None


def _problem_of_price(key: str, value: Any, known: str) -> str | None:
    """Return what is wrong with a field of a model's prices; None if nothing is."""
    if key == "same_as":
        return None if isinstance(value, str) and value else ".same_as must be the name of a model, in quotes"
    if key in PRICES:
        return None if _is_price(value) else f".{key} {A_PRICE}"
    if key != "long":
        return f" has no setting {key!r}; known are {known}"
    if not isinstance(value, dict):
        return f".long must be a table with {LONG}"
    for name in ("above", "input", "output"):
        if name not in value:
            return f".long has no {name}; it needs {LONG}"
    for name, number in value.items():
        if name == "above":
            if not isinstance(number, int) or isinstance(number, bool) or number < 1:
                return ".long.above must be a whole number of tokens from 1"
        elif name not in PRICES:
            return f".long has no setting {name!r}; it needs {LONG}"
        elif not _is_price(number):
            return f".long.{name} {A_PRICE}"
    return None


def _is_price(given: Any) -> bool:
    return _is_number(given) and given >= 0


PRICES = ("input", "output", "cache_read", "cache_write")
A_PRICE = "must be a number from 0: dollars for a million tokens"
LONG = "above, input and output, and may have cache_read and cache_write"


def _private_problem(given: Any) -> str | None:
    import msgspec

    from copilog.redaction import Private

    try:
        listed = msgspec.convert(given, dict[str, list[str]])
    except msgspec.ValidationError as error:
        return f"cannot be read: {error}"
    unknown = [name for name in listed if name not in Private._fields]
    if unknown:
        return f"cannot be read: unknown list {unknown[0]}; known are {', '.join(Private._fields)}"
    short = [text for texts in listed.values() for text in texts if len(text.strip()) < SHORTEST_PRIVATE]
    return f"has {short[0]!r}, which is too short: it would be replaced in every text" if short else None


# What is wrong with a value, in words; None if nothing is.
CHECKS: dict[str, Callable[[Any], str | None]] = {
    "billing": lambda given: None if given in ("credits", "requests") else 'must be "credits" or "requests"',
    "budget": lambda given: None if _is_number(given) and given > 0 else "must be a number above 0",
    "billing_day": lambda given: (
        None
        if isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= LAST_BILLING_DAY
        else f"must be a whole number from 1 to {LAST_BILLING_DAY}"
    ),
    "discount": lambda given: (
        None if _is_number(given) and 0 <= given < 1 else "must be a number from 0 and below 1: 0.1 is a tenth"
    ),
    "prices": _price_problem,
    "private": _private_problem,
}


def read_config() -> Config:
    """Return the settings of the config file, or defaults if there is none. Raise UsageError for an invalid file."""
    path, why = config_path()
    try:
        text = read_small(path, MOST_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: the config file is not UTF-8: {error}") from None
    except BadFile as error:
        if is_gone(os.path.realpath(path)):
            if why == "COPILOG_CONFIG":
                raise UsageError(f"{path}: no such config file (COPILOG_CONFIG names it)") from None
            return Config()
        raise UsageError(f"{path}: the config file {error}") from None
    import tomllib

    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: the config file is not TOML: {error}") from None
    return _config_from(raw, path)


def _config_from(raw: dict[str, Any], path: Path) -> Config:
    known = {setting.name for setting in fields(Config)}
    for key in raw:
        if key not in known:
            raise UsageError(f"{path}: unknown setting {key!r}; known are {', '.join(sorted(known))}")
    values: dict[str, Value[Any]] = {}
    for key, given in raw.items():
        values[key] = Value(_checked(key, given, path), str(path))
    return Config(**values)


def _checked(key: str, given: Any, path: Path) -> Any:
    if key == "roots":
        if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
            raise UsageError(f"{path}: roots must be a list of folders")
        return tuple(Path(item).expanduser() for item in given)
    if key == "color":
        if given not in COLORS:
            raise UsageError(f"{path}: color must be one of {', '.join(COLORS)}")
        return COLORS[given]
    if key == "list_limit":
        if not isinstance(given, int) or isinstance(given, bool) or given < 1:
            raise UsageError(f"{path}: list_limit must be a number from 1")
        return given
    if key in CHECKS:
        problem = CHECKS[key](given)
        if problem is not None:
            raise UsageError(f"{path}: {key}{'' if problem.startswith('.') else ' '}{problem}")
        return given
    if not isinstance(given, bool):
        raise UsageError(f"{path}: {key} must be true or false")
    return given
