"""What is measured: each contender reads a home once and says how many bytes of it it looked at."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.generate import EXPORT_FOLDER

SESSION_FOLDERS = ("chatSessions", "emptyWindowChatSessions", EXPORT_FOLDER)


def files_below(home: Path) -> Iterator[Path]:
    for folder, names, files in os.walk(home):
        names.sort()
        for name in sorted(files):
            yield Path(folder, name)


def session_files(home: Path) -> list[Path]:
    """The files that hold conversations."""
    return [path for path in files_below(home) if path.parent.name in SESSION_FOLDERS]


def json_files(home: Path) -> list[Path]:
    """All files of JSON: also workspaces and editing sessions."""
    return [path for path in files_below(home) if path.suffix in (".json", ".jsonl")]


def decode_all(paths: Iterable[Path], loads: Callable[[bytes], Any]) -> int:
    """Decode documents whole, and logs line by line; the values are dropped."""
    size = 0
    for path in paths:
        data = path.read_bytes()
        size += len(data)
        if path.suffix == ".jsonl":
            for line in data.split(b"\n"):
                if line:
                    loads(line)
        else:
            loads(data)
    return size


def orjson_sessions(home: Path) -> Callable[[], int]:
    import orjson

    paths = session_files(home)
    return lambda: decode_all(paths, orjson.loads)


def orjson_all(home: Path) -> Callable[[], int]:
    import orjson

    paths = json_files(home)
    return lambda: decode_all(paths, orjson.loads)


def json_sessions(home: Path) -> Callable[[], int]:
    paths = session_files(home)
    return lambda: decode_all(paths, json.loads)


def copilog_sessions(home: Path) -> Callable[[], int]:
    """Session files through their sources, each by itself: nothing is looked for, and nothing merged."""
    from copilog.diagnostics import Ledger
    from copilog.sources import BY_NAME, Found

    def source_name(path: Path) -> str:
        if path.parent.name == EXPORT_FOLDER:
            return "chat-export"
        return "vscode-session-log" if path.suffix == ".jsonl" else "vscode-session"

    paths = [(path, source_name(path)) for path in session_files(home)]

    def run() -> int:
        size = 0
        for path, name in paths:
            ledger = Ledger(path=str(path), source=name)
            for _ in BY_NAME[name].read(Found(path, name, path.stem), ledger):
                pass
            size += path.stat().st_size
        return size

    return run


def copilog_all(home: Path) -> Callable[[], int]:
    """Everything, as the commands do it: discover, read all traces of a conversation, merge them."""
    from copilog import ingest
    from copilog.diagnostics import Report
    from copilog.sources import Found

    size = sum(path.stat().st_size for path in files_below(home))
    exports = sorted((home / EXPORT_FOLDER).glob("*.json"))

    def run() -> int:
        report = Report()
        targets: Iterable[Found | Path] = chain(ingest.discover([home], report=report), exports)
        for target in targets:
            for _ in ingest.read(target, report=report):
                pass
        if report.bad_records() or not report.balances():
            raise SystemExit("the made-up home was not read cleanly; its numbers mean nothing")
        return size

    return run


CONTENDERS: dict[str, Callable[[Path], Callable[[], int]]] = {
    "orjson, session files": orjson_sessions,
    "orjson, all JSON": orjson_all,
    "json, session files": json_sessions,
    "copilog, session files": copilog_sessions,
    "copilog, everything": copilog_all,
}

# Whom a contender is compared with: orjson over the same JSON.
BASELINES = {
    "orjson, session files": "orjson, session files",
    "json, session files": "orjson, session files",
    "copilog, session files": "orjson, session files",
    "orjson, all JSON": "orjson, all JSON",
    "copilog, everything": "orjson, all JSON",
}
