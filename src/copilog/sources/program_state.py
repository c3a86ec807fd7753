"""Files that hold no conversation: what Copilot CLI and VS Code note about windows, locks and settings.

They are listed by name, so that they do not count as unknown files. Their content is not read, as settings may hold
keys. Format notes: docs/formats/copilot-cli.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from copilog.diagnostics import Ledger
from copilog.model import Conversation
from copilog.sources.base import Found, Probe, Source

STATE, SETTINGS = "program-state", "settings"
OPEN_SESSIONS = "open-sessions-state.json"
STATE_FOLDERS = ("sidebar-sessions-state", ".session-operation-locks")
_LOCK = re.compile(r"\.workspace-fork\.lock|inuse\.\d+\.(lock|hold)")
_SETTINGS = ("settings.json", "chatLanguageModels.json")


class ProgramState(Source):
    name = "program-state"
    title = "State and settings of the programs"
    is_companion = True

    def claims(self, file: Probe) -> bool:
        return _reason(file) is not None

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        ledger.seen += 1
        ledger.ignore(_reason(Probe(found.path)) or STATE)
        return iter(())


def _reason(file: Probe) -> str | None:
    """Return why a file is skipped, by its name and path; None for other files."""
    if file.name == OPEN_SESSIONS or file.is_directly_in(*STATE_FOLDERS) or _LOCK.fullmatch(file.name):
        return STATE
    if file.name in _SETTINGS and file.is_directly_in("User"):
        return SETTINGS
    if file.name == "meta.json" and file.folders[-2:-1] == ("workspaceStorage",):
        return STATE  # the name of a window's storage
    return None
