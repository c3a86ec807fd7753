"""Walks through the texts of files that tests write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console

from copilog import ingest
from copilog.diagnostics import LeafCounts, Ledger
from copilog.model import Conversation
from copilog.writers.terminal import TextOptions, render_conversation

MARK = "zq planted words that nobody reads"


def walked(path: Path) -> LeafCounts:
    leaves = ingest.inspect_file(path).leaves
    assert leaves is not None
    return leaves


def written(folder: Path, state: Any) -> Path:
    path = folder / "chatSessions" / "s-1.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(state))
    return path


def unaccounted(ledgers: Iterator[Ledger]) -> dict[str, dict[str, int]]:
    return {ledger.path: ledger.leaves.unaccounted for ledger in ledgers if ledger.leaves and ledger.leaves.unaccounted}


def terminal(conversation: Conversation) -> str:
    console = Console(width=100, file=StringIO(), record=True)
    for renderable in render_conversation(conversation, TextOptions()):
        console.print(renderable)
    return console.export_text()
