"""Real sessions of Copilot CLI, in the folder that COPILOG_CORPUS names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from copilog.diagnostics import Ledger
from copilog.sources.base import Found, Probe
from copilog.sources.cli.events import CliEvents, stream_messages

pytestmark = pytest.mark.corpus
SOURCE = CliEvents()


def corpus_files() -> list[Path]:
    folder = os.environ.get("COPILOG_CORPUS")
    if not folder:
        return []
    return sorted(_files_in(Path(folder)))


def _files_in(corpus: Path) -> Iterator[Path]:
    for home in (corpus / "homes").glob("*/.copilot/session-state"):
        yield from (path for path in home.rglob("*") if path.is_file())
    yield from (corpus / "files" / "cli-events").glob("*")


FILES = corpus_files()
needs_corpus = pytest.mark.skipif(not FILES, reason="COPILOG_CORPUS names no folder with sessions of Copilot CLI")


@needs_corpus
@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-4:]))
def test_real_files_are_read_without_loss(path: Path) -> None:
    probe = Probe(path)
    assert SOURCE.claims(probe)
    found = Found(path, SOURCE.name, SOURCE.native_id(probe))
    ledger, streamed = Ledger(path=str(path)), Ledger(path=str(path))

    conversations = list(SOURCE.read(found, ledger))

    assert ledger.balances()
    assert (ledger.bad, ledger.unknown, ledger.parts.bad, ledger.parts.unknown) == ([], {}, [], {})
    for conversation in conversations:
        if "stub" not in conversation.marks:
            assert conversation.messages == list(stream_messages(found, streamed))
            said = sum(usage.output or 0 for turn in conversation.turns for usage in turn.usage)
            summed = sum(usage.output or 0 for usage in conversation.usage if usage.scope == "session")
            assert summed in (said, 0) or not said
