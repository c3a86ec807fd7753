"""What the user decided about findings, in a private file beside the archive.

It has fingerprints under a key of its own, never a secret: from the file alone nobody learns what was found.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from copilog.atomic_files import atomic_file
from copilog.errors import BadFile, CopilogError
from copilog.intake.files import read_small
from copilog.redaction.findings import Finding
from copilog.redaction.redactor import KEY_BYTES, canonical, group

Decision = Literal["keep", "replace"]

ENDING = ".redaction.json"
MOST_BYTES = 64 << 20
_PRIVATE = 0o077  # only the user may read the file
_LENGTH = 32  # hexadecimal digits of a fingerprint


class _Stored(msgspec.Struct, omit_defaults=True):
    key: str
    version: int = 1
    decisions: dict[str, Decision] = {}
    seen: dict[str, list[str]] = {}  # by conversation, what `copilog secrets` has listed


class Decisions:
    """Remembered decisions, and what was listed before."""

    def __init__(self, path: Path | None) -> None:
        """Read the file, if there is one; without a path, nothing is remembered beyond this run."""
        self.path = path
        self._stored = _read(path) if path is not None else None
        self._made = self._stored or _Stored(key=secrets.token_hex(KEY_BYTES))
        self._key = bytes.fromhex(self._made.key)

    @property
    def is_stored(self) -> bool:
        """Return whether there was a file, so that fingerprints are the same when it is read again."""
        return self._stored is not None

    def fingerprint(self, finding: Finding) -> str:
        return fingerprint(self._key, finding)

    @property
    def key(self) -> bytes:
        """Return the key of the fingerprints, for worker processes."""
        return self._key

    def decided(self, finding: Finding) -> Decision | None:
        return self._made.decisions.get(self.fingerprint(finding))

    def keeps(self, finding: Finding) -> bool:
        """Return whether the user decided that this may stay."""
        return self.decided(finding) == "keep"

    def decide(self, finding: Finding, decision: Decision) -> None:
        self._made.decisions[self.fingerprint(finding)] = decision

    def is_new(self, conversation_id: str, mark: str) -> bool:
        """Return whether no earlier look listed this secret in this conversation."""
        return mark not in self._made.seen.get(conversation_id, ())

    def looked(self, conversation_id: str, marks: Iterable[str]) -> None:
        """Note what was listed."""
        seen = set(self._made.seen.get(conversation_id, ())) | set(marks)
        if seen:
            self._made.seen[conversation_id] = sorted(seen)

    def save(self) -> None:
        """Write the file; only the user may read it."""
        if self.path is None:
            return
        mask = os.umask(_PRIVATE)
        try:
            with atomic_file(self.path) as file:
                file.write(msgspec.json.format(msgspec.json.encode(self._made), indent=1) + b"\n")
        finally:
            os.umask(mask)


def decisions_path(archive: Path) -> Path:
    """Return the path of the decisions of an archive."""
    return archive.with_name(archive.name + ENDING)


def fingerprint(key: bytes, finding: Finding) -> str:
    """Return what stands for a secret under a key; the same secret has the same fingerprint in all places."""
    named = f"{group(finding.kind)}\0{canonical(finding)}".encode("utf-8", "surrogatepass")
    return hmac.digest(key, named, "sha256").hex()[:_LENGTH]


def _read(path: Path) -> _Stored | None:
    if not path.exists():
        return None
    try:
        stored = msgspec.json.decode(read_small(path, MOST_BYTES), type=_Stored)
        bytes.fromhex(stored.key)
    except (BadFile, msgspec.MsgspecError, ValueError) as error:
        raise CopilogError(f"{path}: what was decided about findings cannot be read: {error}") from None
    return stored
