"""The config file: extra roots and a few defaults. Each value records where it comes from."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

from copilog.errors import UsageError

Kind = TypeVar("Kind")

EXAMPLE = """\
# Folders to read besides the usual places.
roots = ["/mnt/backup/home/ana"]
# "auto", "always" or "never"
color = "auto"
# How many conversations `copilog list` shows.
list_limit = 50
# Exit code 1 when there were bad records.
strict = false
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


COLORS: dict[str, bool | None] = {"auto": None, "always": True, "never": False}


def config_path() -> tuple[Path, str]:
    """Return where the config file is expected, and why there."""
    named = os.environ.get("COPILOG_CONFIG")
    if named:
        return Path(named), "COPILOG_CONFIG"
    from platformdirs import user_config_path

    return user_config_path("copilog", appauthor=False) / "config.toml", "default place"


def read_config() -> Config:
    """Return the settings of the config file, or defaults if there is none. Raise UsageError for an invalid file."""
    path, why = config_path()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if why == "COPILOG_CONFIG":
            raise UsageError(f"{path}: no such config file (COPILOG_CONFIG names it)") from None
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: the config file cannot be read: {error}") from None
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
    if not isinstance(given, bool):
        raise UsageError(f"{path}: {key} must be true or false")
    return given
