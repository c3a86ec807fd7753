"""Which links are allowed, and their titles.

Only addresses of the web and of mail become links. Everything else (files, commands of an editor, scripts, data) is
text with the address as its title: VS Code may act on it, a page of ours must not.
"""

from __future__ import annotations

import re

from markupsafe import Markup

from copilog.writers.html.characters import visible_line

LONGEST_ADDRESS = 2_000
# The host is in ASCII (a look-alike letter makes it begin with xn--), and has no user name before it.
_WEB = re.compile(r"https?://((?:[a-z0-9_-]+\.?)+|\[[0-9a-f:.]+\])(?::\d{1,5})?(?:[/?#][!-~]*)?", re.IGNORECASE)
_MAIL = re.compile(r"mailto:([!-~]+)", re.IGNORECASE)
_LOOKS_LIKE_HOST = re.compile(r"(?:https?://)?((?:[\w-]+\.)+[a-z]{2,})(?![\w.-]*@)(?:[:/?#]\S*)?", re.IGNORECASE)
_INTERNAL_HOSTS = frozenset({"_vscodecontentref_"})
REL = "noopener noreferrer nofollow"


def host_of(address: str) -> str | None:
    """Return the host of this address, if it may be a link."""
    if len(address) > LONGEST_ADDRESS:
        return None
    web = _WEB.fullmatch(address)
    if web:
        host = web[1].lower()
        return None if host in _INTERNAL_HOSTS else host
    mail = _MAIL.fullmatch(address)
    return mail[1].partition("?")[0] if mail else None


def link_start(address: str, title: str = "") -> Markup:
    """Return the start tag of a link, or the text that replaces it."""
    host = host_of(address)
    said = visible_line(title, 200)
    if host is None:
        shown = visible_line(address, 200)
        return Markup('<span class="no-link" title="{}">').format(f"{said} ({shown})" if said else shown)
    return Markup('<a href="{}" title="{}" rel="{}" target="_blank">').format(
        address, f"{said} ({host})" if said else host, REL
    )


def link_end(address: str, label: str) -> Markup:
    """Return the end tag of a link; if the label looks like another host, the true one follows it."""
    host = host_of(address)
    if host is None:
        return Markup("</span>")
    claimed = _LOOKS_LIKE_HOST.fullmatch(label.strip()[:LONGEST_ADDRESS])
    if claimed and not _is_same_host(claimed[1].lower(), host):
        return Markup('</a><span class="host"> ({})</span>').format(host)
    return Markup("</a>")


def image_chip(address: str, alt: str, *, is_linked: bool) -> Markup:
    """Return a chip instead of a picture from the web, whose host would learn that the page is read."""
    host = host_of(address)
    where = host or visible_line(address, 60)
    words = f"image: {visible_line(alt, 200)} ({where})" if alt else f"image ({where})"
    if host is None or is_linked:
        return Markup('<span class="chip image" title="{}">{}</span>').format(visible_line(address, 200), words)
    return Markup('<a class="chip image" href="{}" title="{}" rel="{}" target="_blank">{}</a>').format(
        address, host, REL, words
    )


def _is_same_host(one: str, other: str) -> bool:
    return one.removeprefix("www.") == other.removeprefix("www.")
