"""The memory tool's files: whose they are, going by the folders they lie in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from copilog.sources._extension.places import below

FOLDERS = ("memory-tool", "memories")
REPO = "repo"
FOLDER_NAMES_IN_KEY = 7  # enough to tell two users of a machine apart, and the same when a home is copied elsewhere
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SCOPES = {"user": "/memories/", "workspace": "/memories/", "session": "/memories/session/", REPO: "/memories/repo/"}


class Memory(NamedTuple):
    """Where a file of memory belongs."""

    scope: str  # user, repo, session, workspace
    conversation_id: str
    native_id: str
    path: str  # as the tool calls it

    @property
    def is_plan(self) -> bool:
        return self.scope == "session" and self.path == "/memories/session/plan.md"


def memory_at(path: Path) -> Memory | None:
    """What a path says about a file of memory; None when it is none."""
    inner = below(path, *FOLDERS)
    if not inner:
        return None
    root = Path(*path.parts[: len(path.parts) - len(inner)])
    extension = root.parent.parent
    if extension.parent.name == "globalStorage":
        return _of_all(root, "user", inner)
    if len(inner) == 1:
        return _of_all(root, "workspace", inner)
    folder, *rest = inner
    if folder == REPO:
        return _of_all(root, REPO, tuple(rest))
    session_id = session_of_folder(folder)
    # Local chats are named in base64; the bare id is that of a session of Copilot CLI, shown in VS Code.
    namespace = "cli" if session_id == folder and _UUID.fullmatch(folder) else "vscode"
    return Memory("session", f"{namespace}:{session_id}", session_id, _SCOPES["session"] + "/".join(rest))


def _of_all(root: Path, scope: str, inner: tuple[str, ...]) -> Memory:
    """Memory that belongs to no conversation: that of a user, of a repository, of a workspace."""
    import hashlib

    key = "/".join(root.parent.parent.absolute().parts[-FOLDER_NAMES_IN_KEY:])
    native_id = f"{scope}:{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:16]}"
    return Memory(scope, f"memory:{native_id}", native_id, _SCOPES[scope] + "/".join(inner))


def session_of_folder(name: str) -> str:
    """The session behind a folder's name: base64 of its id without padding, or the id itself."""
    if _UUID.fullmatch(name):
        return name
    import base64
    import binascii

    for alphabet in (b"-_", b"+/"):
        try:
            decoded = base64.b64decode(name + "=" * (-len(name) % 4), altchars=alphabet, validate=True).decode("ascii")
        except (binascii.Error, ValueError):
            continue
        if decoded and decoded.isprintable():
            return decoded
    return name
