"""Compare a session that was placed with VS Code's own export of it, both as copilog reads them."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from copilog.ingest import read

# An export has no positions of a session's file, and no identity; its parts are counted anew where VS Code drops some.
NOT_COMPARED = frozenset({"position", "pointer", "written", "traces"})


def differences_of(session: Path, exported: str) -> list[str]:
    """Return the fields of turns and messages that differ, each with an example."""
    (before,) = read(session)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "chat.json")
        path.write_text(exported, encoding="utf-8")
        (after,) = read(path)
    found: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for name in ("turns", "messages"):
        old, new = (msgspec.to_builtins(getattr(each, name)) for each in (before, after))
        for field, example in _differences(old, new, name):
            counts[field] += 1
            found.setdefault(field, example)
    return [f"{field} ({counts[field]}): {example}" for field, example in found.items()]


def _differences(old: Any, new: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(old, dict) and isinstance(new, dict):
        here = f"{path}<{old['kind']}>" if "kind" in old and path.endswith("parts") else path
        for key in sorted((old.keys() | new.keys()) - NOT_COMPARED):
            yield from _differences(old.get(key), new.get(key), f"{here}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for one, other in zip(old, new, strict=True):
            yield from _differences(one, other, path)
    elif old != new and (old or new):
        yield path, f"{_short(old)} became {_short(new)}"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
