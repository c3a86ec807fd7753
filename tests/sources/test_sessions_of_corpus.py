"""Real session files and exports, where the folder with them is at hand."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from copilog.diagnostics import Ledger
from copilog.model import Conversation
from copilog.sources import identify
from copilog.sources.base import Found, Probe

CORPUS = os.environ.get("COPILOG_CORPUS")
pytestmark = [pytest.mark.corpus, pytest.mark.skipif(not CORPUS, reason="COPILOG_CORPUS names no folder")]


def documents() -> Iterator[Path]:
    """Yield session documents and exports of the corpus."""
    root = Path(CORPUS or ".")
    for pattern in ("homes/**/*hatSessions/*.json", "files/vscode-session-json/*.json", "files/chat-export/*.json"):
        yield from sorted(root.glob(pattern))


def read_one(path: Path) -> tuple[Conversation, Ledger]:
    probe = Probe(path)
    source = identify(probe)
    assert source is not None
    assert source.name in ("vscode-session", "chat-export")
    ledger = Ledger(path=path.name)
    (conversation,) = source.read(Found(path, source.name, native_id=source.native_id(probe)), ledger)
    return conversation, ledger


def requests_of(path: Path) -> list[Any]:
    found: list[Any] = json.loads(path.read_text(encoding="utf-8"))["requests"]
    return found


def test_every_request_of_the_corpus_is_a_turn_or_reported() -> None:
    for path in documents():
        conversation, ledger = read_one(path)

        assert ledger.balances()
        assert len(requests_of(path)) == len(conversation.turns) + len(ledger.bad) + sum(ledger.ignored.values())
        assert {bad.code for bad in ledger.bad} <= {"no-message"}
        assert ledger.parts.bad == []
        assert ledger.parts.unknown == {}


def test_conversations_of_the_corpus_are_valid_models() -> None:
    for path in documents():
        conversation, _ = read_one(path)

        assert msgspec.json.decode(msgspec.json.encode(conversation), type=Conversation) == conversation


def test_exports_of_the_corpus_have_stable_distinct_ids() -> None:
    exports = [path for path in documents() if path.parent.name == "chat-export"]
    ids = [read_one(path)[0].id for path in exports]

    assert len(set(ids)) == len({path.read_bytes() for path in exports})
    assert [read_one(path)[0].id for path in exports] == ids
