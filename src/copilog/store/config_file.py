"""The path of the config file."""

from __future__ import annotations

import os
from pathlib import Path


def config_path() -> tuple[Path, str]:
    """Return the path of the config file, and what sets it: "COPILOG_CONFIG" or "default place"."""
    named = os.environ.get("COPILOG_CONFIG")
    if named:
        return Path(named), "COPILOG_CONFIG"
    from platformdirs import user_config_path

    return user_config_path("copilog", appauthor=False) / "config.toml", "default place"
