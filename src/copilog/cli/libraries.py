"""The browser libraries that a build fetches. If an installation lacks them, pages work, but draw no charts."""

from __future__ import annotations

from pathlib import Path

VENDOR = Path(__file__).parent.parent / "web" / "static" / "vendor"
LIBRARIES = ("d3.min.js", "htmx.min.js", "plot.umd.min.js")
HOW_TO_GET = (
    "They come from the npm registry when copilog is built: with a network, build it again (`make libraries` in a "
    "checkout, else `pip install --force-reinstall --no-deps copilog`). Behind a proxy with a certificate of its own, "
    "set NODE_EXTRA_CA_CERTS to a file with that certificate first."
)


def missing_libraries() -> list[str]:
    """Return the names of the libraries that this installation lacks."""
    return [name for name in LIBRARIES if not (VENDOR / name).is_file()]
