"""The one place that takes whatever escapes from a file: the run goes on, and the file's books say what happened."""

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
    """Pass conversations on; a file that cannot be read, or that breaks its reader, ends there and is told."""
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
        except Exception as error:  # noqa: BLE001 - a bug of ours must not end the run
            _tell_crash(error, ledger)
            _balance(ledger)
            return
        yield conversation


def enriched(enrich: Callable[[], None], ledger: Ledger) -> None:
    """Add to a conversation that was read; should that break, the conversation stays as it is, and it is told."""
    try:
        enrich()
    except Exception as error:  # noqa: BLE001 - as above
        _tell_crash(error, ledger)


def _tell_crash(error: Exception, ledger: Ledger) -> None:
    """Note a bug of ours with its place; tests and --debug want to see it raised."""
    if os.environ.get("COPILOG_RAISE"):
        raise error
    last = traceback.extract_tb(error.__traceback__)[-1]
    ledger.note("crash", f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}", "error")


def _balance(ledger: Ledger) -> None:
    """Count what was under way when a reader broke."""
    for tally in (ledger, ledger.parts):
        missing = tally.seen - tally.used - sum(tally.ignored.values()) - tally.bad_count()
        if missing > 0:
            tally.ignore("reader-crashed", missing)
