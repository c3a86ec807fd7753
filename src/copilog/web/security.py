"""Who may ask, and what every answer carries.

Any web page that a browser shows can send requests to this machine, and any name on the web can be made to point to
it. So a request must be for a name of ours, must bring the token, and must come from one of our own pages unless
somebody just opens an address. Nothing that a conversation holds may load, run or send anything: see POLICY.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "copilog_token"
READING = frozenset({"GET", "HEAD"})
SOURCES = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self' 'unsafe-inline'",  # Plot brings a style element with each picture
    "img-src": "'self' data: blob:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
    "frame-src": "'none'",
    "object-src": "'none'",
}
POLICY = "; ".join(f"{what} {where}" for what, where in SOURCES.items())
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
LEADING_ON = (
    '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>copilog</title><p>Opening the viewer …</p></html>'
)

RefusalPage = Callable[[int, str, str], Response]  # status, what happened, what next


class SafeHeaders:
    """Puts the headers on every answer, errors too; a route may give one of them itself, such as for caching."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class Guard:
    """Lets requests through that are for us, from us, and from somebody who has the token."""

    def __init__(
        self, app: ASGIApp, token: str, hosts: Iterable[str], refusal: RefusalPage, entry: str | None = None
    ) -> None:
        self._app = app
        self._token = token
        self._entry = entry
        self._hosts = frozenset(host.lower() for host in hosts)
        self._refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        answer = self._answer_to(scope)
        await (self._app if answer is None else answer)(scope, receive, send)

    def _answer_to(self, scope: Scope) -> Response | None:
        """The answer to a request that goes no further; None lets it pass."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_ours(hosts[0].lower()):
            return self._refusal(
                400, "This server answers to its own address only.", "Open the address that `copilog serve` printed."
            )
        if not is_from_us(scope["method"], headers):
            return self._refusal(
                403,
                "This request came from another web page, and was not carried out.",
                "Open the address that `copilog serve` printed, and do it there.",
            )
        given = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in given if name == "token"]
        if scope["method"] in READING and tokens:
            if self._is_right(tokens[0]) or self._is_entry(tokens[0]):
                return _entrance(scope, headers, self._token, [pair for pair in given if pair[0] != "token"])
        elif self._brings_token(headers):
            return None
        return self._refusal(
            403,
            "The token is missing or is not that of this server.",
            "Open the whole address that `copilog serve` printed, with its token. If you came here by a link from "
            "another page, and had opened the viewer before, go on to the library.",
        )

    def _is_ours(self, host: str) -> bool:
        """By name and port, or by the name alone where any port will do: forwarded ports have other numbers."""
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        return host in self._hosts or name in self._hosts

    def _brings_token(self, headers: Headers) -> bool:
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self._is_right(token.strip())
        return any(self._is_right(value) for name, value in _cookies(headers) if name.startswith(COOKIE))

    def _is_right(self, token: str) -> bool:
        return _are_equal(token, self._token)

    def _is_entry(self, token: str) -> bool:
        """Whether it is the one that lets in once; from then on it is worth nothing."""
        if self._entry is None or not _are_equal(token, self._entry):
            return False
        self._entry = None
        return True


def _are_equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())


def is_from_us(method: str, headers: Headers) -> bool:
    """Whether one of our own pages asks, or a person who opens an address, or a program that is no browser.

    Browsers tell where a request comes from by Sec-Fetch-Site, and by Origin when it is to change something. A page on
    another port of this machine is "same-site", and a stranger all the same.
    """
    site = headers.get("sec-fetch-site")
    if method in READING:
        is_opened = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        return site in (None, "same-origin", "none") or is_opened
    origin = headers.get("origin")
    if origin is not None and not (origin == "null" and site == "same-origin"):  # forms without a referrer say "null"
        scheme, _, host = origin.lower().partition("://")
        if scheme not in ("http", "https") or host != headers["host"].lower():
            return False
    return site in (None, "same-origin")


def _entrance(scope: Scope, headers: Headers, token: str, rest: list[tuple[str, str]]) -> Response:
    """Keep the token as a cookie, and go to the same address without it, so that it stays in no history."""
    path = "/" + quote(scope["path"].lstrip("/\\"))  # two slashes would lead to another host
    address = f"{path}?{urlencode(rest)}" if rest else path
    if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        # After a link from elsewhere browsers send no strict cookie along a redirect; our own page leads on instead.
        answer: Response = HTMLResponse(LEADING_ON, headers={"Refresh": f"0; url={address}"})
    else:
        answer = RedirectResponse(address, 303)
    answer.set_cookie(cookie_name(headers["host"]), token, httponly=True, samesite="strict", path="/")
    return answer


def cookie_name(host: str) -> str:
    """Cookies are shared by all ports of a machine, so each viewer's has its own name."""
    port = host.rpartition(":")[2]
    return f"{COOKIE}_{port}" if port.isdigit() else COOKIE


def _cookies(headers: Headers) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for header in headers.getlist("cookie"):
        for piece in header.split(";"):  # one by one: a broken cookie of another server on this machine is its own
            try:
                found += [(name, morsel.value) for name, morsel in SimpleCookie(piece.strip()).items()]
            except CookieError:
                continue
    return found
