"""Find, read, search and measure the conversations that GitHub Copilot leaves on disk.

    import copilog

    for found in copilog.discover():
        for conversation in copilog.read(found):
            print(copilog.title_of(conversation), len(conversation.turns))

`discover` finds what is on this machine, `read` reads what was found, a file, or a folder. Both are iterators, read
only, and never stop at a bad record: pass a `Report` to see what could not be used, and why.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from copilog.lazy_names import names_on_first_use
from copilog.version import __version__

if sys.version_info < (3, 11):  # noqa: UP036 - run from a checkout, where no installer has compared versions
    raise ImportError(f"copilog needs Python 3.11 or newer; this is Python {sys.version.split()[0]} ({sys.executable})")

# Name -> module, with the name there if it is another. Looked up on first use, so that `copilog --help` stays light.
_EXPORTS = {
    "Archive": "copilog.store.archive",
    "Conversation": "copilog.model",
    "Diagnostic": "copilog.diagnostics",
    "CopilogError": "copilog.errors",
    "Found": "copilog.sources",
    "Ledger": "copilog.diagnostics",
    "Report": "copilog.diagnostics",
    "Selection": "copilog.analysis",
    "UsageError": "copilog.errors",
    "WorkspaceDefinitions": "copilog.ingest",
    "ConversationTrajectory": "copilog.trajectory",
    "discover": "copilog.ingest",
    "export": "copilog.exports.writing",
    "extract": "copilog.ingest.trajectories",
    "measure": "copilog.analysis",
    "open": "copilog.store.archive:open_archive",
    "read": "copilog.ingest",
    "title_of": "copilog.model",
    "user_text": "copilog.tags",
}

__all__ = [
    "Archive",
    "Conversation",
    "ConversationTrajectory",
    "CopilogError",
    "Diagnostic",
    "Found",
    "Ledger",
    "Report",
    "Selection",
    "UsageError",
    "WorkspaceDefinitions",
    "__version__",
    "discover",
    "export",
    "extract",
    "measure",
    "open",
    "read",
    "title_of",
    "user_text",
]

if TYPE_CHECKING:
    from copilog.analysis import Selection, measure
    from copilog.diagnostics import Diagnostic, Ledger, Report
    from copilog.errors import CopilogError, UsageError
    from copilog.exports.writing import export
    from copilog.ingest import WorkspaceDefinitions, discover, read
    from copilog.ingest.trajectories import extract
    from copilog.model import Conversation, title_of
    from copilog.sources import Found
    from copilog.store.archive import Archive
    from copilog.store.archive import open_archive as open  # noqa: A004 - as in `copilog.open()`
    from copilog.tags import user_text
    from copilog.trajectory import ConversationTrajectory


__getattr__ = names_on_first_use(__name__, _EXPORTS)


def __dir__() -> list[str]:
    return sorted(__all__)
