"""The token that requests need: from an option, the environment, a file, or a new one for this run."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

from copilog.errors import BadFile, UsageError
from copilog.intake.files import read_small

SHORTEST_TOKEN = 16
MOST_BYTES = 4096


def new_token() -> str:
    return secrets.token_urlsafe(32)


def checked_token(token: str, origin: str) -> str:
    """Return the token, or raise UsageError if it is not one; `origin` names where it comes from."""
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or len(token.split()) != 1:
        raise UsageError(f"{origin}: a token is one word of at least {SHORTEST_TOKEN} ASCII characters")
    return token


def token_from(path: Path) -> str:
    """Return the token in a file; create the file with a new token, readable only by the user, if it does not exist."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read_token(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot create the token file: {error.strerror or error}") from None
    token = new_token()
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(token + "\n")
    return token


def _read_token(path: Path) -> str:
    try:
        token = read_small(path, MOST_BYTES).decode("utf-8").strip()
        is_open = sys.platform != "win32" and path.stat().st_mode & 0o077
    except BadFile as error:
        raise UsageError(f"{path}: the token file {error}") from None
    except OSError as error:
        raise UsageError(f"{path}: the token file cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: a token is one word of at least {SHORTEST_TOKEN} ASCII characters") from None
    if is_open:
        raise UsageError(f"{path}: other users can read this token; run `chmod 600` on the file, or name a new one")
    return checked_token(token, str(path))
