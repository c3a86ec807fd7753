"""Bundles of conversations, `*.copilog.zip`: their models, their own files, and their records of shared files.

Conversations are read from their models. The files of other programs beside them are checked, and never opened.
Format notes: docs/formats/own-files.md
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadFile, BadRecord
from copilog.intake.zipped import MAGIC, Zipped, opened_zip
from copilog.model import Conversation
from copilog.sources.base import Found, Probe, Source
from copilog.sources.own_files.manifest import FORMAT, LARGEST, NAME, VERSION, Bundled, Manifest
from copilog.sources.own_files.recorded import Name, conversation_from, is_id, name_in, stub_of

SUFFIX = ".zip"
DAMAGED = "damaged-archive"


class CopilogBundle(Source):
    name = "copilog-bundle"
    title = "Bundle of conversations (.copilog.zip)"
    is_index = True

    def claims(self, file: Probe) -> bool:
        """Claim an archive with our list of contents, and any `*.copilog.zip`, to report why it cannot be read."""
        if file.suffix != SUFFIX or file.is_content or not file.head.startswith(MAGIC):
            return False
        if file.name.lower().endswith(".copilog.zip"):
            return True
        try:
            with opened_zip(file.path) as archive:
                return NAME in archive.names()
        except BadFile:
            return False

    def index(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Yield one stub for each conversation. All are counted here, and every member is checked."""
        with opened_zip(found.path) as archive:
            manifest = _manifest_of(archive)
            _check(archive, manifest)
            for bundled in manifest.conversations:
                if _counted(archive, bundled, found, ledger) is not None:
                    yield stub_of(_name_of(bundled), found, self.name, _pointer(bundled))

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Yield all conversations; with a `native_id` that one, which `index` has counted."""
        with opened_zip(found.path) as archive:
            manifest = _manifest_of(archive)
            if found.native_id is None:
                _check(archive, manifest)
            counting = ledger if found.native_id is None else Ledger()
            for bundled in manifest.conversations:
                if found.native_id in (None, _name_of(bundled).key):
                    made = _counted(archive, bundled, found, counting)
                    if made is not None:
                        yield made


def read_manifest(path: Path) -> Manifest:
    """Return the list of what a bundle contains. Raise BadFile if it is not a bundle."""
    with opened_zip(path) as archive:
        return _manifest_of(archive)


def models_of(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the JSON of each conversation of a bundle, with its position."""
    with opened_zip(path) as archive:
        for bundled in _manifest_of(archive).conversations:
            yield _pointer(bundled), jsonio.decode(archive.read(bundled.model))[0]


def _manifest_of(archive: Zipped) -> Manifest:
    try:
        value, _ = jsonio.decode(archive.read(NAME, LARGEST))
        manifest = msgspec.convert(value, Manifest)
    except (BadRecord, msgspec.ValidationError) as error:
        raise BadFile(f"its list of contents, {NAME}, cannot be read: {error}", DAMAGED) from None
    if manifest.format != FORMAT or manifest.version > VERSION:
        raise BadFile(f"was made by a newer copilog (version {manifest.version}); upgrade to read it", "unknown-format")
    return manifest


def _check(archive: Zipped, manifest: Manifest) -> None:
    """Raise BadFile if the members are not those that the list names, with the sums that it has of them."""
    present, listed = set(archive.names()) - {NAME}, manifest.members.keys()
    if present != listed:
        what = "members that its list does not name" if present - listed else "no member of some names in its list"
        raise BadFile(f"has {what}", DAMAGED)
    named = [bundled.model for bundled in manifest.conversations]
    if not listed >= set(named):
        raise BadFile("lacks a conversation that its list names", DAMAGED)
    for number, (name, member) in enumerate(manifest.members.items(), 1):
        digest = hashlib.sha256()
        for piece in archive.pieces(name):
            digest.update(piece)
        if digest.hexdigest() != member.sha256 or archive.size_of(name) != member.size:
            raise BadFile(f"the sum of member {number} of {len(listed)} is not the one in its list", DAMAGED)


def _counted(archive: Zipped, bundled: Bundled, found: Found, ledger: Ledger) -> Conversation | None:
    """Return a conversation, counted as used; None if it is bad, which is counted, too."""
    pointer = _pointer(bundled)
    with ledger.record(pointer=pointer):
        try:
            value, _ = jsonio.decode(archive.read(bundled.model))
        except BadFile as error:  # one that is too large costs none of the others
            raise BadRecord(str(error), error.code) from None
        if not isinstance(value, dict) or not is_id(bundled.id) or name_in(value) != _name_of(bundled):
            raise BadRecord("not the conversation that the list of contents names")
        return conversation_from(value, found, pointer)
    return None


def _name_of(bundled: Bundled) -> Name:
    return Name(bundled.id, bundled.source, bundled.native_id)


def _pointer(bundled: Bundled) -> str:
    return f"/{bundled.model}"
