"""Catch every exception while a file is read: the run continues, and the file's ledger records the exception."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from copilog.diagnostics import Ledger
from copilog.errors import BadFile
from copilog.model import Conversation
from copilog.sources import Found

Reader = Callable[[Found, Ledger], Iterator[Conversation]]


def contained(reader: Reader, found: Found, ledger: Ledger) -> Iterator[Conversation]:
    """Yield the conversations of a file; stop at an error of the file or its reader, and record it in the ledger."""
    conversations: Iterator[Conversation] | None = None
    while True:
        try:
            if conversations is None:
                conversations = reader(found, ledger)
            conversation = next(conversations)
        except StopIteration:
            return
        except BadFile as error:
            ledger.note(error.code, str(error), "error")
            return
        except Exception as error:  # noqa: BLE001 - a bug of copilog must not end the run
            _record_crash(error, ledger)
            _balance(ledger)
            return
        yield conversation


def enriched(enrich: Callable[[], None], ledger: Ledger) -> None:
    """Call `enrich` on a conversation; if it raises, keep the conversation as it is and record the error."""
    try:
        enrich()
    except Exception as error:  # noqa: BLE001 - as above
        _record_crash(error, ledger)


def _record_crash(error: Exception, ledger: Ledger) -> None:
    """Record a bug of copilog with its source line; raise it for tests and --debug."""
    if os.environ.get("COPILOG_RAISE"):
        raise error
    last = traceback.extract_tb(error.__traceback__)[-1]
    ledger.note("crash", f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}", "error")


def _balance(ledger: Ledger) -> None:
    """Count the records that were being read when a reader crashed as ignored."""
    for tally in (ledger, ledger.parts):
        missing = tally.seen - tally.used - sum(tally.ignored.values()) - tally.bad_count()
        if missing > 0:
            tally.ignore("reader-crashed", missing)
