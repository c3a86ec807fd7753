"""Secrets that are known by what is beside them: assignments, headers, connection strings, options of commands."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from copilog.redaction.checksums import entropy
from copilog.redaction.findings import Finding
from copilog.redaction.secret_names import (
    can_be_password,
    can_be_token,
    can_be_weak_password,
    is_standin,
    is_strong,
    is_telling,
)

# Pieces of names of secrets; each is searched as it is, which is fast.
_HINTS = (
    "assw",
    "PASS",
    "ecret",
    "ECRET",
    "oken",
    "OKEN",
    "pwd",
    "PWD",
    "Pwd",
    "key",
    "Key",
    "KEY",
    "redential",
    "REDENTIAL",
    "_auth",
    "_AUTH",
    'pass"',
    "pass\\",
    'auth"',
    "auth\\",
)
_NAME_BEFORE = re.compile(r"[\w.-]{0,40}")  # read backwards
# The rest of the name, perhaps quotes, an operator, and the value. Quotes may be escaped, as in JSON within JSON.
_ASSIGNMENT = re.compile(
    r"""(?P<rest>[\w.-]{0,40})(?P<close>\\*["'`]?\]?\)?)[ \t]{0,8}"""
    r"""(?:(?P<op>=>|:=|==?=?|\|\|=?|\?\?=|:|&quot;:|,(?=[ \t]*["'`])|>)[ \t]{0,8}(?:new [A-Z]\w+\()?|"""
    r"""[ \t]+(?:value[ \t]*=[ \t]*)?(?=\\*["']))"""
    r"""(?:[a-zA-Z]{1,2}(?=["']))?(?P<escape>\\*)(?P<quote>["'`]|&quot;)?""",
    re.ASCII,
)
_PLAIN_VALUE = re.compile(r"""[^\s"'`<>,;)}\]\\\x00&|]{6,2000}""")
_LONGEST = 2000
_OPTION = re.compile(
    r"(?:--?[\w-]*(?:password|passwd|passphrase|token|secret|api-?key)(?:=|[ \t]+)|(?:\b|(?<=\\[nrt]))sshpass -p ?)"
    r"['\"]?([^\s'\"\\\x00]{6,400})",
    re.IGNORECASE,
)
_USER_OPTION = re.compile(
    r"(?:\b|(?<=\\[nrt]))curl\b[^\r\n\x00]{0,400}?[ \t](?:-u|--user|--proxy-user)[ =]?['\"]?([^\s:'\"\\\x00]{1,100})"
    r":([^\s'\"\\\x00]{4,200})"
)
_HEADER = re.compile(
    r"uthorization\\*[\"']?\]?[ \t]{0,4}[:=,][ \t]{0,4}\\*[\"'`]?"
    r"(?P<scheme>Bearer|Basic|Token|SSWS|ApiKey|Digest|Negotiate|GenieKey)?"
    r"[ \t]{0,4}(?P<value>[\w+/=.~:!@-]{8,4000})",
    re.IGNORECASE,
)
_COOKIES = re.compile(r"ookie: ?([^\r\n\"'\x00]{8,4000})")
_COOKIE = re.compile(r"(?:^|[;\s])[\w.-]{1,60}=([^;\s\\]{16,2000})")
_MYSQL = re.compile(r"mysql(?:dump|admin|import)?\b[^\r\n\x00]{0,200}? -p([^\s'\"\\\x00-][^\s'\"\\\x00]{3,100})")
_NETRC = re.compile(r"login\s+\S{1,100}\s+password\s+(\S{4,200})")
_BEARER = re.compile(r"[Bb]earer[ \t]+(?P<value>[\w+/=.~-]{16,4000})")
_SSWS = re.compile(r"SSWS[ \t]+(?P<value>00[\w-]{40})(?![\w-])")
_BASIC = re.compile(r"\b[Bb]asic[ \t]+(?P<value>[A-Za-z0-9+/]{12,400}={0,2})(?![A-Za-z0-9+/=])")
_URL = re.compile(r"://([^\s/:@\"'<>\\\x00`]{0,120}):([^\s/\"'<>\\\x00`]{1,300})@(?=[\w.\[$-])")
_SIGNATURE = re.compile(
    r"(?:sig|Signature|X-Amz-Signature|X-Goog-Signature|X-Amz-Security-Token|code)=([A-Za-z0-9%+/_=-]{20,1200})"
)
_SETX = re.compile(r"setx[ \t]+(?:/\w[ \t]+)?(?P<name>\w{3,60})[ \t]+['\"]?(?P<value>[^\s'\"\\\x00]{6,400})")
_GO_ADDRESS = re.compile(r"(?:^|[^\w.%-])[\w.%-]{1,60}:(?P<value>[^\s:'\"`\\\x00]{4,100})\Z")  # before @tcp(
_PGPASS = re.compile(r":5432:[\w.*-]{1,60}:[\w.*-]{1,60}:(?P<value>[^\s:'\"\\\x00]{4,200})(?![^\s'\"\\\x00])")
_SHORT_OPTIONS = (  # what announces it, and the option from there on
    (" login ", re.compile(r" login [^\r\n\x00]{0,200}?(?<=[ \t])-p[ =]?['\"]?(?P<value>[^\s'\"\\\x00]{6,200})")),
    ("redis-cli ", re.compile(r"redis-cli [^\r\n\x00]{0,200}?(?<=[ \t])-a[ =]['\"]?(?P<value>[^\s'\"\\\x00]{6,200})")),
    (" pass:", re.compile(r" pass:(?P<value>[^\s'\"\\\x00]{6,200})")),
    ("configure set ", re.compile(r"configure set \S*(?:secret|token)\S* ['\"]?(?P<value>[^\s'\"\\\x00]{16,2000})")),
)
# A function that logs in, and the password among its arguments: login("ana", "...").
_GIVEN = r"[ \t\r\n]{0,8}(?:\w{1,30}[ \t]?=[ \t]?)?"  # before an argument: its name
_CALL = re.compile(
    rf"(?:log_?in|sign_?in|auth|authenticate|authentication|credentials?)\({_GIVEN}(?P<quote>\\*[\"'`])"
    rf"[^\"'`\r\n\\\x00]{{1,100}}(?P=quote),{_GIVEN}(?P=quote)(?P<value>[^\"'`\r\n\\\x00]{{4,200}})(?P=quote)",
    re.IGNORECASE,
)
_CALLED = (
    "ogin(",
    "og_in(",
    "ign_in(",
    "ignIn(",
    "uth(",
    "uthenticate(",
    "uthentication(",
    "redentials(",
    "redential(",
)
_WEAK = frozenset({
    "password", "passwd", "pass", "pwd", "secret", "user", "username", "token", "foo", "bar", "test", "x",
    "xxx", "xxxx", "example", "changeme", "postgres", "root", "admin",
})  # fmt: skip
_AWS = re.compile(r"(?:(?<![A-Za-z0-9/+=])|(?<=\\[nrt])|(?<=\n\+))[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")


def by_context(text: str) -> Iterator[Finding]:
    """Yield values that names, headers, addresses or options show to be secret."""
    for hint in _HINTS:
        yield from _assigned(text, hint)
    yield from _headers(text)
    yield from _urls(text)
    yield from _signatures(text)
    yield from _options(text)
    yield from _fields(text)
    yield from _called(text)
    yield from _beside_key_ids(text)


def _assigned(text: str, hint: str) -> Iterator[Finding]:
    size = len(hint)
    at = text.find(hint)
    while at >= 0:
        match = _ASSIGNMENT.match(text, at + size)
        if match is not None:
            before = _NAME_BEFORE.match(text[max(0, at - 40) : at][::-1])
            assert before is not None
            name = before[0][::-1] + hint + match["rest"]
            found = _value_at(text, match, name.rpartition(".")[2] if "." in match["rest"] else name)
            if found is not None:
                yield found
        at = text.find(hint, at + size)


def _value_at(text: str, match: re.Match[str], name: str) -> Finding | None:
    """Return the value that follows an assignment, if name and value are those of a secret."""
    start, quote = match.end(), match["quote"]
    if match["op"] == ">" and not name.isalpha():
        return None
    if not is_telling(name):
        return None
    if quote:
        closing = match["escape"] + quote
        end = text.find(closing, start, start + _LONGEST)
        while (
            end > 0 and not match["escape"] and text[end - 1] == "\\" and quote != "&quot;"
        ):  # an escaped quote inside
            end = text.find(closing, end + 1, start + _LONGEST)
        if end < 0 or "\n" in text[start:end]:
            return None
    else:
        plain = _PLAIN_VALUE.match(text, start)
        if plain is None or match["op"] in (",", None):
            return None
        end = plain.end() - (plain[0][-1] in ".:" and not plain[0].endswith(".."))
    value = text[start:end]
    if match["op"] == "," and " " in value:  # the next argument of a call, or item of a list: a sentence
        return None
    if can_be_token(value) or _is_basic(value):
        return Finding(start, end, _kind(name), value, "random value under a telling name")
    is_variable = name.isupper() and text[start - 1] == "=" and value.isalnum()  # in an environment, without quotes
    if is_strong(name) and can_be_password(value, is_quoted=bool(quote) or is_variable):
        return Finding(start, end, "password", value, "value under the name of a password")
    if quote and match["op"] in ("=", ":", "=>", ":=") and can_be_weak_password(name, value):
        return Finding(start, end, "password", value, "word under the name of a password", "possible")
    return None


def _kind(name: str) -> str:
    plain = name.lower()
    if "pass" in plain or "pwd" in plain:
        return "password"
    return "token" if "token" in plain else "key" if "key" in plain else "secret"


def _headers(text: str) -> Iterator[Finding]:
    for hint in ("uthorization", "UTHORIZATION"):
        at = text.find(hint)
        while at >= 0:
            match = _HEADER.match(text, at)
            if match is not None and _is_credential(match["value"], match["scheme"] is not None):
                yield Finding(*match.span("value"), "authorization", match["value"], "header of a request")
            at = text.find(hint, at + 8)
    yield from _cookies(text)
    for pattern, hint in ((_BEARER, "earer "), (_BASIC, "asic "), (_SSWS, "SWS ")):
        at = text.find(hint)
        while at >= 0:
            match = pattern.match(text, at - 1) if at else None
            if match is not None and (
                _is_basic(match["value"]) if pattern is _BASIC else _is_credential(match["value"], True)
            ):
                yield Finding(*match.span("value"), "authorization", match["value"], "credentials of a request")
            at = text.find(hint, at + 5)


def _cookies(text: str) -> Iterator[Finding]:
    at = text.find("ookie: ")
    while at >= 0:
        header = _COOKIES.match(text, at)
        if header is not None:
            for match in _COOKIE.finditer(header[1]):
                if can_be_token(match[1]):
                    start = header.start(1) + match.start(1)
                    yield Finding(start, start + len(match[1]), "cookie", match[1], "header of a request")
        at = text.find("ookie: ", at + 7)


def _is_credential(value: str, has_scheme: bool) -> bool:
    return can_be_token(value) or _is_basic(value) or (has_scheme and _is_long_token(value))


def _is_long_token(value: str) -> bool:
    return len(value) >= 20 and not is_standin(value) and entropy(value) > 3.5 and any(map(str.isdigit, value))


def _is_basic(value: str) -> bool:
    """Return whether a text is Base64 of a user and a password."""
    try:
        read = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (ValueError, binascii.Error):
        return False
    return ":" in read and read.isprintable()


def _urls(text: str) -> Iterator[Finding]:
    at = text.find("://")
    while at >= 0:
        match = _URL.match(text, at)
        if match is not None:
            user, password = match.groups()
            if password.lower() not in _WEAK and not is_standin(password) and password != "x-oauth-basic":  # noqa: S105
                yield Finding(*match.span(2), "password", password, "password in an address")
            elif can_be_token(user):
                yield Finding(*match.span(1), "token", user, "user name in an address")
        at = text.find("://", at + 3)


def _signatures(text: str) -> Iterator[Finding]:
    for hint in ("sig=", "ignature=", "Security-Token=", "?code=", "&code="):
        at = text.find(hint)
        while at >= 0:
            match = _SIGNATURE.search(text, max(0, at - 12), at + 1300)
            if match is not None and match.start() <= at + 1 and _is_long_token(match[1]):
                yield Finding(*match.span(1), "signature", match[1], "signature of an address")
            at = text.find(hint, at + 4)


def _options(text: str) -> Iterator[Finding]:
    if "--" in text or "sshpass" in text:
        for hint in (
            "--pass",
            "--token",
            "--secret",
            "--api-key",
            "--apikey",
            "--auth-token",
            "--access-token",
            "sshpass ",
        ):
            at = text.find(hint)
            while at >= 0:
                match = _OPTION.match(text, at)
                if match is not None and (can_be_token(match[1]) or can_be_password(match[1], is_quoted=False)):
                    yield Finding(*match.span(1), "password", match[1], "option of a command")
                at = text.find(hint, at + 5)
    for pattern, hint, group, evidence in (
        (_USER_OPTION, "curl ", 2, "option of a command"),
        (_NETRC, "login ", 1, "entry of a netrc file"),
        (_MYSQL, "mysql", 1, "option of a command"),
    ):
        at = text.find(hint)
        while at >= 0:
            match = pattern.match(text, at)
            if match is not None and not is_standin(match[group]) and match[group].lower() not in _WEAK:
                yield Finding(*match.span(group), "password", match[group], evidence)
            at = text.find(hint, at + len(hint))


def _fields(text: str) -> Iterator[Finding]:
    """Yield what is secret by its place: setx NAME VALUE, user:password@tcp(host), lines of a pgpass file."""
    for hint, pattern in (("setx ", _SETX), (":5432:", _PGPASS)):
        at = text.find(hint)
        while at >= 0:
            match = pattern.match(text, at)
            if match is not None and (pattern is _PGPASS or is_telling(match["name"])):
                yield from _field(*match.span("value"), text)
            at = text.find(hint, at + len(hint))
    for hint, pattern in _SHORT_OPTIONS:
        at = text.find(hint)
        while at >= 0:
            match = pattern.match(text, at)
            if match is not None and not match["value"].isdigit() and can_be_password(match["value"], is_quoted=True):
                yield from _field(*match.span("value"), text)
            at = text.find(hint, at + len(hint))
    for hint in ("@tcp(", "@unix("):
        at = text.find(hint)
        while at >= 0:
            match = _GO_ADDRESS.search(text[max(0, at - 170) : at])
            if match is not None:
                yield from _field(at - len(match["value"]), at, text)
            at = text.find(hint, at + len(hint))


def _called(text: str) -> Iterator[Finding]:
    """Yield passwords that a function gets beside the name of a user."""
    for hint in _CALLED:
        at = text.find(hint)
        while at >= 0:
            match = _CALL.search(text, max(0, at - 12), at + 400)
            if match is not None and match.start() <= at + len(hint):
                value = match["value"]
                is_known = can_be_password(value, is_quoted=True) or can_be_token(value)
                if is_known and " " not in value and not is_standin(value) and value.lower() not in _WEAK:
                    yield Finding(*match.span("value"), "password", value, "argument of a call that logs in")
            at = text.find(hint, at + len(hint))


def _field(start: int, end: int, text: str) -> Iterator[Finding]:
    value = text[start:end]
    if not is_standin(value) and value.lower() not in _WEAK:
        yield Finding(start, end, "password", value, "field of a command or file")


def _beside_key_ids(text: str) -> Iterator[Finding]:
    """Yield secret keys of AWS that stand near a key id, with or without a name."""
    for prefix in ("AKIA", "ASIA"):
        at = text.find(prefix)
        while at >= 0:
            for match in _AWS.finditer(text, max(0, at - 120), at + 240):
                value = match[0]
                if can_be_token(value) and entropy(value) > 4.0 and not re.fullmatch("[0-9a-f]{40}", value):
                    yield Finding(*match.span(), "aws-secret-key", value, "beside a key id")
            at = text.find(prefix, at + 4)
