"""Checksums that some token formats contain, and other facts that a token must satisfy."""

from __future__ import annotations

import base64
import binascii
import json
import math
import zlib
from collections import Counter

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_BECH32_GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_CRC_LENGTH = 6  # characters of a CRC-32 in base 62


def has_crc_base62(token: str) -> bool:
    """Return whether the last six characters are the CRC-32 of what follows the prefix, as at GitHub and npm."""
    secret = token[token.rindex("_") + 1 :]
    return secret[-_CRC_LENGTH:] == _in_base62(zlib.crc32(secret[:-_CRC_LENGTH].encode()))


def has_crc_hex(token: str) -> bool:
    """Return whether the last eight characters are the CRC-32 of what precedes them, as at Grafana."""
    body, _, given = token.rpartition("_")
    value = zlib.crc32(body.encode())
    return given.lower() in (value.to_bytes(4, "little").hex(), value.to_bytes(4, "big").hex())


def has_bech32_sum(token: str) -> bool:
    """Return whether a Bech32 text, such as an age key, has the right checksum."""
    name, _, data = token.lower().rpartition("1")
    values = [ord(char) >> 5 for char in name] + [0] + [ord(char) & 31 for char in name]
    values += [_BECH32.find(char) for char in data]
    total = 1
    for value in values:
        top = total >> 25
        total = (total & 0x1FFFFFF) << 5 ^ value
        for index, generator in enumerate(_BECH32_GENERATORS):
            total ^= generator if top >> index & 1 else 0
    return total == 1


def is_jwt(token: str) -> bool:
    """Return whether the first part of a token is a header of a JSON Web Token."""
    header = token.partition(".")[0]
    try:
        read = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return False
    return isinstance(read, dict) and ("alg" in read or "enc" in read or "typ" in read)


def entropy(text: str) -> float:
    """Return the entropy of a text in bits per character, from the frequency of its characters."""
    size = len(text)
    return -sum(count / size * math.log2(count / size) for count in Counter(text).values()) if size else 0.0


def _in_base62(value: int) -> str:
    digits = ""
    while value:
        value, rest = divmod(value, 62)
        digits = _BASE62[rest] + digits
    return digits.rjust(_CRC_LENGTH, "0")
