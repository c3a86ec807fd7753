"""Our scripts, styles and pictures. All names are fixed at the start, so that no path leads outside of them.

Their address contains a digest of all of them: browsers may cache them for good, and modules that import each other by
relative names get files of the same version.
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
    """All static files, in memory: about a megabyte."""

    def __init__(self, static: Path | None = None) -> None:
        self._files = {
            **_files_below(static or STATIC, ""),
            **_files_below(styles_folder(), "css/"),  # included in exported pages
        }
        digest = hashlib.blake2b(digest_size=6)
        for name, asset in sorted(self._files.items()):
            digest.update(name.encode() + b"\0" + asset.content + b"\0")
        self._version = f"v-{digest.hexdigest()}"

    def address(self, name: str) -> str:
        """Return the address of a file: `/static/v-3f9a/js/app.js` for `js/app.js`."""
        return f"/static/{self._version}/{name}"

    def has_libraries(self) -> bool:
        """Return whether the build could fetch the browser libraries."""
        return any(name.startswith("vendor/") and name.endswith(".js") for name in self._files)

    def answer(self, path: str) -> Response:
        """Return the file at a path below `/static/`, with or without the version."""
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
