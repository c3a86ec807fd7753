"""Made-up texts that look like secrets and are none, generated at run time."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import struct
import zlib
from collections.abc import Callable

from tests.redaction.shapes import ALNUM, HEX, LOWER, UPPER, some, uuid

WORDS = [
    "tide", "parse", "table", "load", "read", "write", "file", "index", "token", "user", "name", "value",
    "list", "item", "state", "view", "page", "query", "result", "error", "handler", "request", "response",
    "config", "option", "message", "session", "context", "build", "test", "check", "cache", "store", "event",
    "time", "date",
]  # fmt: skip


def hashes(rng: random.Random) -> str:
    kinds = (hashlib.md5, hashlib.sha1, hashlib.sha256, hashlib.sha512)
    lines = [f"{rng.choice(kinds)(rng.randbytes(8)).hexdigest()}  dist/{some(rng, LOWER, 8)}.whl" for _ in range(60)]
    lines += [f"commit {some(rng, HEX, 40)}\nindex {some(rng, HEX, 7)}..{some(rng, HEX, 7)} 100644" for _ in range(40)]
    lines += [f"image@sha256:{some(rng, HEX, 64)}" for _ in range(20)]
    return "\n".join(lines)


def ids(rng: random.Random) -> str:
    kinds: list[Callable[[], str]] = [
        lambda: uuid(rng),
        lambda: f"call_{some(rng, ALNUM, 24)}",
        lambda: f"toolu_{some(rng, ALNUM, 24)}",
        lambda: f"chatcmpl-{some(rng, ALNUM, 29)}",
        lambda: f"request_{uuid(rng)}",
        lambda: f"resp_{some(rng, HEX, 48)}",
        lambda: f"msg_{some(rng, ALNUM, 24)}",
    ]
    return json.dumps([{"id": rng.choice(kinds)(), "requestId": uuid(rng), "key": f"row-{n}"} for n in range(120)])


def png(rng: random.Random) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + rng.randbytes(3 * 64) for _ in range(64))
    head = struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def images(rng: random.Random) -> str:
    packed = [base64.b64encode(png(rng)).decode() for _ in range(3)]
    return "\n".join(f"![a](data:image/png;base64,{image})" for image in packed)


def lock_files(rng: random.Random) -> str:
    npm = {}
    for _ in range(80):
        name = f"{some(rng, LOWER, 6)}-{some(rng, LOWER, 5)}"
        digest = base64.b64encode(rng.randbytes(64)).decode()
        npm[f"node_modules/{name}"] = {
            "version": f"{rng.randrange(20)}.{rng.randrange(20)}.0",
            "resolved": f"https://registry.example.org/{name}/-/{name}-1.0.0.tgz",
            "integrity": f"sha512-{digest}",
        }
    pip = [f"{some(rng, LOWER, 7)}==1.{n} \\\n    --hash=sha256:{some(rng, HEX, 64)}" for n in range(80)]
    go = [
        f"example.org/{some(rng, LOWER, 5)} v1.{n}.0 h1:{base64.b64encode(rng.randbytes(32)).decode()}"
        for n in range(60)
    ]
    return json.dumps({"packages": npm}, indent=2) + "\n" + "\n".join([*pip, *go])


def minified(rng: random.Random) -> str:
    pieces = []
    for _ in range(500):
        a, b, c = (some(rng, LOWER, 1) + some(rng, ALNUM, rng.randrange(3)) for _ in range(3))
        word, other = rng.choice(WORDS), rng.choice(WORDS).title()
        pieces.append(
            rng.choice(
                [
                    f"function {a}({b},{c}){{return {b}.{word}{other}({c}.key)}}",
                    f'{a}.token={b}.get{other}Token({c}),{a}.key="{word}-{other.lower()}";',
                    f"const {a}={b}=>({c}.password?{c}.{word}:null);",
                    f'{a}["{word}_{other.lower()}_key"]={b}||{rng.randrange(10**6)};',
                    f"var {a}=/[{word}]+@{b}/g,{c}=0x{some(rng, HEX, 8)};",
                    f'{a}({{secret:{b},apiKey:process.env.{word.upper()}_KEY,auth:"{word}"}});',
                ]
            )
        )
    return "".join(pieces)


def names(rng: random.Random) -> str:
    """Long names of code, and values that stand for secrets."""
    lines = []
    for _ in range(150):
        some_words = rng.sample(WORDS, 4)
        camel = some_words[0] + "".join(word.title() for word in some_words[1:])
        lines += [
            f"def {'_'.join(some_words)}(self, access_token: str, max_tokens=4096) -> None:",
            f"    {camel} = self.{'_'.join(some_words)}_key[{rng.randrange(99)}]",
            f'    "{camel}": os.environ["{"_".join(some_words).upper()}_TOKEN"],',
            f"export {'_'.join(some_words).upper()}_SECRET=${{{camel}}}",
            "password = getpass('Password: ')",
            'api_key = "your-api-key-here"',
            f"token: string; // {' '.join(some_words)}",
            "PASSWORD=<your password>",
            "Authorization: Bearer <token>",
            "postgres://user:password@localhost/db",
            f"{some(rng, UPPER, 4)}-{rng.randrange(9999)}",
        ]
    return "\n".join(lines)


LOOKALIKES: dict[str, Callable[[random.Random], str]] = {
    "hashes": hashes,
    "ids": ids,
    "base64 images": images,
    "lock files": lock_files,
    "minified code": minified,
    "names and stand-ins": names,
}
