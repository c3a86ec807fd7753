"""Our scripts, styles and pictures. They are known by name from the start, so that no path can lead anywhere else.

Their address holds a digest of all of them: browsers may keep them for good, and modules that import each other by
relative names get the same ones.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from copilog.render.pages import styles_folder

STATIC = Path(__file__).parent / "static"
KINDS = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".txt": "text/plain; charset=utf-8",
}
FOREVER = "private, max-age=31536000, immutable"


class Asset(msgspec.Struct, frozen=True):
    content: bytes
    kind: str


class Assets:
    """All files that may be asked for, in memory: about a megabyte."""

    def __init__(self, static: Path | None = None) -> None:
        self._files = {
            **_files_below(static or STATIC, ""),
            **_files_below(styles_folder(), "css/"),  # which exported pages hold in themselves
        }
        digest = hashlib.blake2b(digest_size=6)
        for name, asset in sorted(self._files.items()):
            digest.update(name.encode() + b"\0" + asset.content + b"\0")
        self._version = f"v-{digest.hexdigest()}"

    def address(self, name: str) -> str:
        """Where a file is found: `/static/v-3f9a/js/app.js` for `js/app.js`."""
        return f"/static/{self._version}/{name}"

    def has_libraries(self) -> bool:
        """Whether the browser libraries are there, which the build could fetch or not."""
        return any(name.startswith("vendor/") and name.endswith(".js") for name in self._files)

    def answer(self, path: str) -> Response:
        """The file at a path below `/static/`, with or without the version."""
        version, _, rest = path.partition("/")
        asset = self._files.get(rest if version.startswith("v-") else path)
        if asset is None:
            return Response("no such file\n", 404, media_type="text/plain")
        caching = FOREVER if version == self._version else "no-cache"
        return Response(asset.content, headers={"Content-Type": asset.kind, "Cache-Control": caching})


def _files_below(folder: Path, prefix: str) -> dict[str, Asset]:
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in KINDS:
            name = prefix + path.relative_to(folder).as_posix()
            found[name] = Asset(path.read_bytes(), KINDS[path.suffix])
    return found


def _static(request: Request) -> Response:
    assets: Assets = request.app.state.assets
    return assets.answer(request.path_params["path"])


routes = [Route("/static/{path:path}", _static, name="static")]
