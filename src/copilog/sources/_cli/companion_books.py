"""The books of one companion, read by itself: one record for the file, or for each row of a table."""

from __future__ import annotations

from pathlib import Path

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.intake.files import read_bytes
from copilog.sources._cli.checkpoints import FOLDER as CHECKPOINTS
from copilog.sources._cli.checkpoints import INDEX, checkpoint_text, index_rows, text_of
from copilog.sources._cli.companions import WORKSPACE
from copilog.sources._cli.flat_yaml import read_flat_map
from copilog.sources._cli.places import SESSIONS
from copilog.sources._cli.saved_files import session_of_saved


def count_companion(path: Path, ledger: Ledger) -> None:
    """Check that a companion can be read, and count its records."""
    if path.name == INDEX and path.parent.name == CHECKPOINTS:
        _count_rows(path, ledger)
        return
    data = read_bytes(path)
    if session_of_saved(path, SESSIONS) is not None:  # whatever it is, it is kept as it is
        ledger.seen += 1
        ledger.used += 1
        return
    if not data.strip(b"\0 \r\n\t"):
        ledger.seen += 1
        ledger.ignore("nul-padding" if data.strip() else "empty-file")
        ledger.note("nul-tail" if data.strip() else "empty-file", "the file holds nothing")
        return
    with ledger.record(offset=0):
        if path.suffix.lower() == ".json":
            _check_json(path, data, ledger)
        elif path.name == WORKSPACE:
            for line, reason in read_flat_map(text_of(path)).problems:
                ledger.note("bad-yaml", reason, "info", line=line)


def _count_rows(path: Path, ledger: Ledger) -> None:
    for number, _, file in index_rows(text_of(path)):
        with ledger.record(pointer=f"/{number}"):
            if not file:
                raise BadRecord("a row of the table without a file")


def _check_json(path: Path, data: bytes, ledger: Ledger) -> None:
    if path.parent.name == CHECKPOINTS:
        checkpoint_text(path)
        return
    text, repairs = jsonio.as_utf8(data)
    value, more = jsonio.decode(text.strip(b"\0 \r\n\t"))
    for repair in (*repairs, *more):
        ledger.note(repair.code, repair.reason, "info", offset=0)
    if not isinstance(value, dict | list):
        raise BadRecord(f"the document is {type(value).__name__}")
