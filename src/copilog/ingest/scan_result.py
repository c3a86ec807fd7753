"""The outcome of a scan in numbers, and the conversations that it concerns."""

from __future__ import annotations

import msgspec


class ScanResult(msgspec.Struct):
    """The counts and ids of a scan."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    gone: int = 0
    removed: int = 0  # not stored again, because the user removed them
    refused: int = 0  # too large for the archive, as recorded in the ledgers of their files
    messages_new: int = 0
    messages_changed: int = 0
    messages_unchanged: int = 0
    files: int = 0
    files_read: int = 0
    bytes_read: int = 0
    new_ids: list[str] = []
    changed_ids: list[str] = []
    gone_ids: list[str] = []
    damage: str | None = None  # of the archive, if a sample of it shows any
