"""Ask the archive on behalf of a client, and word what is wrong with a question."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from mcp.server.mcpserver.exceptions import ToolError

from copilog.errors import CopilogError
from copilog.mcp.answers import Answer
from copilog.mcp.redacted import RedactedArchive, redacted
from copilog.mcp.refreshing import Refresher
from copilog.redaction import Redactor
from copilog.store.archive import Archive
from copilog.writers.mcp_text import plain

Found = TypeVar("Found", bound=Answer)


class Desk:
    """Answers questions: each opens the archive again, so that it sees conversations that were stored meanwhile."""

    def __init__(self, archive: Path, refresher: Refresher | None, redactor: Redactor | None = None) -> None:
        self._path = archive
        self._refresher = refresher
        self._redactor = redactor

    def ask(self, question: Callable[[Archive], Found]) -> Found:
        """Return the answer; raise errors that the client can correct as a tool error with the reason."""
        remarks = self._refresher.wait() if self._refresher is not None else []
        try:
            answer = self._answer(question)
        except CopilogError as error:
            raise self.refusal(error) from error
        except sqlite3.OperationalError as error:
            raise ToolError(f"the archive cannot be read now ({error}); try again") from error
        answer.remarks += remarks
        return answer

    def refusal(self, error: CopilogError) -> ToolError:
        """Return an error as the client gets it."""
        reason = str(error)
        return ToolError(plain(reason if self._redactor is None else self._redactor.text(reason)))

    def _answer(self, question: Callable[[Archive], Found]) -> Found:
        if self._redactor is None:
            with Archive(self._path) as archive:
                return question(archive)
        redacting = RedactedArchive(self._path, self._redactor)
        with redacting:
            return redacted(question(redacting), redacting)
