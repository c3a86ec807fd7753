"""The files in a session's folder of debug logs, told apart by their names."""

from __future__ import annotations

import re
from pathlib import Path

from copilog.sources.folders import below, is_plain_file

FOLDER = "debug-logs"
MAIN = "main.jsonl"
MODELS = "models.json"
_DOCUMENT = re.compile(r"(?:models|system_prompt_\d+|tools_\d+)\.json")


def is_log(path: Path) -> bool:
    return path.suffix.lower() == ".jsonl"


def is_document(path: Path) -> bool:
    return _DOCUMENT.fullmatch(path.name) is not None


def is_debug_file(path: Path) -> bool:
    """Return whether a file is where debug logs are: in a session's folder, or in the common one of early releases."""
    inner = below(path, FOLDER)
    if inner is None or len(inner) > 2:
        return False
    return is_log(path) or (len(inner) == 2 and is_document(path))


def session_of(path: Path) -> str | None:
    """Return the session that a file belongs to, by its path."""
    inner = below(path, FOLDER)
    if inner is None or not is_debug_file(path):
        return None
    return inner[0] if len(inner) == 2 else path.stem


def is_conversation_log(path: Path) -> bool:
    """Return whether a file is read as the conversation: the main log, or a log without a main log beside it."""
    inner = below(path, FOLDER)
    if path.name == MAIN or inner is None or len(inner) == 1:
        return True
    return is_log(path) and not is_plain_file(path.parent / MAIN)
