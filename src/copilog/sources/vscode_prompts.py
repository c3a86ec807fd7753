"""Prompts typed into VS Code's chat, also of sessions that are gone: rows of state.vscdb, which `vscode_state` finds.

Format notes: docs/formats/vscode-chat.md
"""

from __future__ import annotations

from collections.abc import Iterator

from copilog.diagnostics import Ledger
from copilog.model import Conversation
from copilog.sources._vscode.prompt_history import SOURCE, history_conversation
from copilog.sources._vscode.prompt_rows import PROMPT_ROWS, typed_in
from copilog.sources._vscode.store_rows import read_rows
from copilog.sources.base import Found, Probe, Source


class VSCodePrompts(Source):
    name = SOURCE
    title = "VS Code input history (state.vscdb)"
    is_index = True  # it shares a file with many conversations

    def claims(self, file: Probe) -> bool:  # noqa: ARG002 - the file is that of `vscode_state`
        return False

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """The prompts of the rows, which the index has counted."""
        found, rows = read_rows(found, PROMPT_ROWS, ledger, counts=False)
        history = history_conversation(typed_in(dict(rows), Ledger()), found, ledger)
        if history is not None:
            yield history
