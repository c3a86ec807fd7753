"""Hold discovered conversations that are not yet read: their traces, and a signature that shows changes.

Traces wait as tuples of plain values: there may be very many, and objects take several times as long to pack.
"""

from __future__ import annotations

import json
import os
import pickle
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from copilog.ingest.footprints import digest_of, lines_of, states_of
from copilog.ingest.traces import ORDER, found_from_hint, found_of
from copilog.model import Workspace
from copilog.sources import Found


class Trace(NamedTuple):
    """One trace of a conversation: a `Found` without its siblings, and without hints of an index."""

    path: str
    source: str
    native_id: str | None
    workspace: Workspace | None
    application: str | None
    state: str | None

    def found(self) -> Found:
        path, source, native_id, workspace, application, state = self
        return Found(Path(path), source, native_id, workspace, application, state=state)


def trace_of(found: Found) -> Trace:
    return Trace(str(found.path), found.source, found.native_id, found.workspace, found.application, found.state)


class Unread(NamedTuple):
    """A unit whose files have not been read."""

    number: int | None  # number of its first trace
    hint: int | None  # number of the hint of an index
    traces: list[Trace]  # the one that represents the conversation comes first
    lines: list[bytes]  # states of its files
    hint_json: bytes

    @property
    def key(self) -> str:
        return self.traces[0].native_id or self.traces[0].path

    def signature(self) -> str:
        """Return a short digest of the states of all files that a conversation is read from."""
        first = self.traces[0]
        digest = blake2b(digest_size=16)
        for trace in self.traces:
            if trace.state is not None:
                digest.update(f"{trace.path}\0{trace.state}\n".encode("utf-8", "surrogateescape"))
        digest.update(digest_of(self.lines).encode())
        known = as_json([first.source, first.native_id, first.application, first.workspace])
        digest.update(known[:-1] + b"," + self.hint_json + b"]")
        return digest.hexdigest()

    def size(self) -> int:
        """Return the bytes to read; a file of many conversations counts for each of them."""
        return sum(_size_of(trace.path) for trace in self.traces)


class Packed(NamedTuple):
    """A unit packed for the process that reads it."""

    key: str
    signature: str
    traces: list[bytes]
    stub: bytes | None  # the hint of an index, which is everything if there are no traces

    def found(self) -> Found:
        stub: Any = unpack(self.stub) if self.stub is not None else None
        traces = [Trace(*unpack(packed)).found() for packed in self.traces]
        return replace(found_of(traces) if traces else found_from_hint(stub), hint=stub)

    def changed_files(self) -> list[str]:
        """Return the files of the unit if any of them is no longer as the signature says, else nothing."""
        stub: Any = unpack(self.stub) if self.stub is not None else None
        traces = [Trace(*unpack(packed)) for packed in self.traces] or [trace_of(found_from_hint(stub))]
        traces.sort(key=lambda trace: ORDER[trace.source])
        states = [states_of(trace.path) for trace in traces if trace.state is None]
        lines = sorted({line for found in states for line in lines_of(found)})
        if Unread(None, None, traces, lines, b"null" if stub is None else as_json(stub)).signature() == self.signature:
            return []
        return [*{path for found in states for path in found} | {trace.path for trace in traces}]


def as_json(value: object) -> bytes:
    """Encode a value as JSON to compare it; file names that are not valid text are allowed."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value)).encode()


def pack(value: object) -> bytes:
    return pickle.dumps(value, protocol=5)


def unpack(packed: bytes) -> Any:
    return pickle.loads(packed)  # noqa: S301 - packed by ourselves


def _size_of(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - thousands of them
    except OSError:
        return 0
