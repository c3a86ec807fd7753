"""The path of the config file."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def config_path() -> tuple[Path, str]:
    """Return the path of the config file, and what sets it: "COPILOG_CONFIG" or "default place"."""
    named = os.environ.get("COPILOG_CONFIG")
    if named:
        return Path(named), "COPILOG_CONFIG"
    return _config_folder() / "config.toml", "default place"


def _config_folder() -> Path:
    """Return the folder of the config file, by the conventions of the system."""
    if sys.platform != "linux":
        from platformdirs import user_config_path

        return user_config_path("copilog", appauthor=False)
    # The same as platformdirs returns, whose import takes longer than all else here.
    named = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".config") / "copilog"
