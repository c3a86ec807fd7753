"""Read each format into conversations. `catalogue` lists the sources; it imports all of them, on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from copilog.lazy_names import names_on_first_use

if TYPE_CHECKING:
    from copilog.sources.base import Found, Probe, Source
    from copilog.sources.catalogue import BY_NAME, SOURCES, identify

__all__ = ["BY_NAME", "SOURCES", "Found", "Probe", "Source", "identify"]

__getattr__ = names_on_first_use(
    __name__,
    dict.fromkeys(("BY_NAME", "SOURCES", "identify"), "copilog.sources.catalogue")
    | dict.fromkeys(("Found", "Probe", "Source"), "copilog.sources.base"),
)
