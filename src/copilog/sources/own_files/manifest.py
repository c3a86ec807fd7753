"""The list of what a bundle contains, `copilog-bundle.json`. Format notes: docs/formats/own-files.md"""

from __future__ import annotations

from datetime import datetime

import msgspec

NAME = "copilog-bundle.json"
FORMAT, VERSION = "copilog-bundle", 1
LARGEST = 256 << 20


class Member(msgspec.Struct, kw_only=True):
    """One file of the bundle, as it is unpacked."""

    size: int
    sha256: str


class RawFile(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A file of another program, as it was on the disk."""

    member: str
    path: str
    source: str
    modified_at: datetime | None = None


class Bundled(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One conversation, with the names of the members that are about it."""

    id: str
    native_id: str | None = None
    source: str
    model: str
    files: list[RawFile] = []
    records: str | None = None
    is_starred: bool = False
    labels: list[str] = []
    note: str | None = None


class Manifest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """All conversations of a bundle, and all of its other members."""

    format: str = FORMAT
    version: int = VERSION
    written_by: str = ""
    written_at: datetime | None = None
    is_redacted: bool = False
    conversations: list[Bundled] = []
    members: dict[str, Member] = {}
