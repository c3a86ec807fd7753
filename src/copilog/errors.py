"""Everything copilog raises on purpose.

CopilogError
├── UsageError        the caller's request is impossible: a wrong path, an ambiguous id (exit code 2)
├── BadRecord         one record cannot be used; `Ledger.record` counts it, and reading the file continues
└── BadFile           a file cannot be read; one diagnostic, and the run continues
    └── UnreadableDatabase   (in sqliteio) another program's database could not be copied or queried
"""

from __future__ import annotations


class CopilogError(Exception):
    """The root of all errors that copilog raises on purpose."""


class UsageError(CopilogError):
    """The request is impossible; the message says what to do instead."""


class BadRecord(CopilogError):  # noqa: N818 - it is a verdict on data, not a fault of ours
    """One record cannot be used. `code` is the stable name of the reason."""

    def __init__(self, reason: str, code: str = "bad-record") -> None:
        super().__init__(reason)
        self.code = code


class BadFile(CopilogError):  # noqa: N818
    """A file cannot be read. `code` is the stable name of the reason."""

    def __init__(self, reason: str, code: str = "bad-file") -> None:
        super().__init__(reason)
        self.code = code
