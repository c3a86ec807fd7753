"""The folder that installed programs are kept in, by name and version: outside the repository, shared by all runs."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def cache_folder() -> Path:
    """Return what COPILOG_CONFORMANCE_CACHE names, or a folder in the user's cache."""
    named = os.environ.get("COPILOG_CONFORMANCE_CACHE")
    return Path(named) if named else platformdirs.user_cache_path("copilog-conformance")
