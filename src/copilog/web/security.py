"""Which requests are allowed, and the headers of every response.

Any web page in the browser can send requests to this machine, and any host name can be made to resolve to it. So a
request must be for a host name of ours, must have the token, and must come from one of our own pages unless the user
opened the address. No content of a conversation may load, run or send anything: see POLICY.
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
    "style-src": "'self' 'unsafe-inline'",  # Plot adds a style element to each chart
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

RefusalPage = Callable[[int, str, str], Response]  # status, what happened, what to do next


class SafeHeaders:
    """Adds the headers to every response, including errors; a route may set one itself, such as for caching."""

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
    """Allows requests that are for this server, from our own pages, and have the token."""

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
        """Return the response to a request that is refused; None if it is allowed."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_ours(hosts[0].lower()):
            return self._refusal(
                400,
                "This server only accepts requests to its own address.",
                "Open the address that `copilog serve` printed.",
            )
        if not is_from_us(scope["method"], headers):
            return self._refusal(
                403,
                "This request came from another web page, and was refused.",
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
            "The token is missing, or is not the one of this server.",
            "Open the complete address that `copilog serve` printed, including its token. If a link on another page "
            "led here, and you have opened the viewer before, continue to the library.",
        )

    def _is_ours(self, host: str) -> bool:
        """Return whether name and port are ours; any port is, if the name is allowed alone, as with forwarded ports."""
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
        """Return whether the token is the one for a single entrance, and use it up."""
        if self._entry is None or not _are_equal(token, self._entry):
            return False
        self._entry = None
        return True


def _are_equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())


def is_from_us(method: str, headers: Headers) -> bool:
    """Return whether a request is from one of our pages, from the user, or from a program that is not a browser.

    Browsers send the origin of a request in Sec-Fetch-Site, and in Origin if it may change something. A page on another
    port of this machine is "same-site", but not ours.
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
    """Store the token as a cookie, and redirect to the address without it, so that it is in no history."""
    path = "/" + quote(scope["path"].lstrip("/\\"))  # two slashes would lead to another host
    address = f"{path}?{urlencode(rest)}" if rest else path
    if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        # After a link from another site, browsers send no strict cookie with a redirect; our own page leads on instead.
        answer: Response = HTMLResponse(LEADING_ON, headers={"Refresh": f"0; url={address}"})
    else:
        answer = RedirectResponse(address, 303)
    answer.set_cookie(cookie_name(headers["host"]), token, httponly=True, samesite="strict", path="/")
    return answer


def cookie_name(host: str) -> str:
    """Return the name of the cookie. All ports of a machine share cookies, so each viewer has a name of its own."""
    port = host.rpartition(":")[2]
    return f"{COOKIE}_{port}" if port.isdigit() else COOKIE


def _cookies(headers: Headers) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for header in headers.getlist("cookie"):
        for piece in header.split(";"):  # one by one, as another server on this machine may have set a malformed cookie
            try:
                found += [(name, morsel.value) for name, morsel in SimpleCookie(piece.strip()).items()]
            except CookieError:
                continue
    return found
