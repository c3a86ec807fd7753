"""Walk every string of a file, with its path.

A path is written with `*` for the items of a list and for keys that are data; `#` means JSON inside a string. The
first name of a path in a log is the kind of the record, in a database the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from copilog import jsonio, sqliteio
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord, CopilogError
from copilog.ingest.leaves.lookup import SHORTEST
from copilog.ingest.leaves.markdown_lines import lines_of
from copilog.ingest.leaves.vscode_rules import OVERWRITTEN
from copilog.intake.files import read_bytes
from copilog.intake.long_documents import LongDocument
from copilog.intake.records import JsonLines
from copilog.text_cache import SharedTexts

_DATA = re.compile(
    r"|.*[/:\s%\\|].*|\d+|.{60,}|[0-9a-f-]{12,}|(?:call|toolu|request|response)_.*", re.IGNORECASE | re.DOTALL
)
_KINDS = ("type", "name", "kind")
MAPS = ("/toolCallResults",)  # objects whose keys are always data
ENTRY = "entry:"  # prefix of the position of a log entry that is a file or a member of an archive
# Texts that are stored as two: a prompt and its answer, or the texts before and after a call that is not shown.
JOINED = ("/search_index/content", "/requests/*/response/*/value")
PIECES = {
    "assistant.tool_call_delta": ("toolCallId", "inputDelta")
}  # kind -> the key of the complete text, the key of the piece


class Raw(NamedTuple):
    """One record of a file: its position, the path that its leaves begin with, and its value."""

    place: str  # the number of its line, a JSON pointer, or ENTRY and the name of a file
    path: str
    value: Any


def leaves_below(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the strings of a value with their paths."""
    if isinstance(value, str):
        if len(value) >= SHORTEST:
            yield path, value
    elif isinstance(value, dict):
        is_map = path.endswith(MAPS)
        for key, item in value.items():
            yield from leaves_below(item, f"{path}/{'*' if is_map else name_in_path(key)}")
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict) and item.keys() == {"key", "value"}:  # attributes, as OTLP writes them
                yield from leaves_below(item["value"], f"{path}/{name_in_path(str(item['key']))}")
            else:
                yield from leaves_below(item, f"{path}/*")


def name_in_path(key: str) -> str:
    """Return a key as paths contain it: `*` if it is data, such as an address or an id."""
    return "*" if _DATA.fullmatch(key) else key


def records_of(path: Path, source: str, shared: SharedTexts) -> Iterator[Raw]:
    """Yield the records of a file; records that cannot be decoded are left out, as the ledger reports them.

    The texts of a session log that are among the shared ones take no more memory.
    """
    if source == "vscode-session-log":
        from copilog.sources.vscode.session_log import replay

        log = replay(path, Ledger(), shared)
        yield Raw("", "", log.state)
        yield Raw("removed", "", removed := {"requests": log.removed_requests()})
        last = {text for value in (log.state, removed) for _, text in leaves_below(value, "")}
        yield from _overwritten(path, last)
    elif source in ("vscode-session", "chat-export"):
        yield from _values_of_session(path)
    elif path.name == "workspace.yaml":
        from copilog.sources.cli.companions import text_of
        from copilog.sources.cli.flat_yaml import read_flat_map

        yield Raw("", "", dict(read_flat_map(text_of(path)).values))
    elif source == "cli-events" and path.name == "index.md":
        from copilog.sources.cli.companions import index_rows, text_of

        yield Raw("", "/rows", [{"title": title, "file": file} for _, title, file in index_rows(text_of(path))])
    elif source == "copilot-markdown":
        from copilog.sources.replay.copilot_markdown import shown_in

        for shown in shown_in(path, Ledger()):
            for line_path, line in lines_of(shown.text):
                yield Raw(f"{ENTRY}{shown.place}", line_path, line)
    elif source == "copilog-bundle":
        yield from _models_of(path)
    elif path.is_file():
        yield from _records_by_content(path)


def _models_of(path: Path) -> Iterator[Raw]:
    from copilog.sources.own_files.bundle import models_of

    for pointer, value in models_of(path):
        yield Raw(pointer, "", value)


def _values_of_session(path: Path) -> Iterator[Raw]:
    """Yield the session of a document; the requests of a large one follow one by one."""
    from copilog.sources.documents import REQUESTS, read_session_document

    document = read_session_document(path, Ledger())
    if document is None:
        return
    requests = document.state.get(REQUESTS)
    if isinstance(requests, LongDocument):
        del document.state[REQUESTS]
        for position, request in enumerate(requests.values()):
            yield Raw(f"/{REQUESTS}/{position}", f"/{REQUESTS}/*", request)
    yield Raw("", "", document.state)


def _overwritten(path: Path, last: set[str]) -> Iterator[Raw]:
    """Yield the values that lines of a session log wrote and its last state lacks."""
    from copilog.sources.vscode.session_log import is_change

    for change, line, _, _ in JsonLines(path, Ledger(), is_change):
        names = change.get("k")
        names = names if isinstance(names, list) else []
        if change.get("kind") == 2 and not names:  # requests that were pushed without a path
            names = ["requests"]
        below = "".join(f"/{'*' if isinstance(name, int) else name_in_path(str(name))}" for name in names)
        for leaf_path, text in leaves_below(change.get("v"), f"{OVERWRITTEN}{below}"):
            if text not in last:
                yield Raw(str(line), leaf_path, text)


def _records_by_content(path: Path) -> Iterator[Raw]:
    data = read_bytes(path)
    if sqliteio.is_sqlite(data):
        yield from _rows_of(path)
        return
    text = jsonio.as_utf8(data)[0].strip(b"\0 \r\n\t")
    if path.suffix.lower() not in (".json", ".jsonl", ".ndjson"):
        yield Raw("", "/text", text.decode("utf-8", "replace"))
        return
    if path.suffix.lower() != ".json" and b"\n" not in text:  # a log of one line
        yield from _lines_of(path)
        return
    try:
        yield Raw("", "", jsonio.decode(text)[0])
    except BadRecord:
        yield from _lines_of(path)


def _lines_of(path: Path) -> Iterator[Raw]:
    """Yield the records of a log, each below the name of its kind; pieces of one text are joined."""
    joined: dict[tuple[str, str], str] = {}
    for value, line, _, _ in JsonLines(path, Ledger(), lambda value: any(key in value for key in _KINDS)):
        kind = _kind_of(value)
        whole, piece = PIECES.get(kind, ("", ""))
        inner = value.get("data") if piece else None
        if isinstance(inner, dict) and isinstance(inner.get(piece), str):
            key = (kind, str(inner.get(whole)))
            joined[key] = joined.get(key, "") + inner.pop(piece)
        yield Raw(str(line), f"/{kind}" if kind else "", value)
    for (kind, _), text in joined.items():
        yield Raw("", f"/{kind}/data/{PIECES[kind][1]}", text)


def _kind_of(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    kind = next((value[key] for key in _KINDS if isinstance(value.get(key), str)), "")
    return name_in_path(kind) if kind else ""


def _rows_of(path: Path) -> Iterator[Raw]:
    """Yield the rows of a database below the names of their tables; of a key-value table, below the key."""
    try:
        with sqliteio.open_copy(path) as snapshot:
            for table, columns in sqliteio.tables(snapshot.connection).items():
                if columns and not table.startswith("sqlite_"):
                    rows = sqliteio.query(snapshot.connection, f'SELECT * FROM "{table}"', ())  # noqa: S608
                    for row in rows:
                        yield _row(table, dict(zip(columns, map(_as_text, row), strict=False)))
    except CopilogError:
        return


def _row(table: str, values: dict[str, Any]) -> Raw:
    key = values.get("key")
    if isinstance(key, str) and "value" in values:
        return Raw(f"{table}/{key}", f"/{table}/{key.replace('/', '~1')}", values["value"])
    return Raw("", f"/{table}", values)


def _as_text(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
