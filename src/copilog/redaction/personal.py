"""What names people and machines: e-mail addresses, user names in home paths, hosts, and words of the config."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from copilog.redaction.findings import Finding
from copilog.redaction.provider_tokens import lead_of_escape


class Private(NamedTuple):
    """What only the user can know to be private: words, hosts and users of this machine. It may be pickled."""

    words: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    users: tuple[str, ...] = ()


_LOCAL_PART = re.compile(r"[A-Za-z0-9._+'-]{1,64}")  # read backwards
_DOMAIN = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,6}([A-Za-z]{2,24})(?![A-Za-z0-9-])", re.ASCII
)
_PROMPT_HOST = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]{1,62})(?=:[~/])")
# What follows an @ and a dot and is no top-level domain: endings of files, names of properties.
_NO_DOMAINS = frozenset({
    "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "js", "ts", "tsx", "jsx", "mjs", "cjs", "py", "rb", "go",
    "rs", "java", "kt", "cs", "cpp", "css", "scss", "less", "html", "htm", "md", "json", "yaml", "yml", "toml",
    "txt", "lock", "log", "xml", "sh", "bat", "ps1", "tgz", "gz", "zip", "tar", "whl", "jar", "exe", "dll",
    "map", "vue", "svelte", "setter", "getter", "deleter", "property", "fixture", "mark", "parametrize",
    "route", "get", "post", "put", "command", "option", "argument", "group", "cached", "dataclass", "latest",
    "next", "beta", "alpha", "rc", "canary",
})  # fmt: skip
_NOBODY = frozenset({"noreply", "no-reply", "git", "donotreply", "hg", "svn", "x-access-token", "npm"})

_SEPARATORS = r"(?:/|\\{1,8}|%2[fF]|%5[cC])"
_HOME = re.compile(rf"{_SEPARATORS}((?:[^/\\\s\"'<>:|?*%,;()\[\]{{}}\x00`$&#!=]|%20){{1,64}})")
_SPACED_HOME = re.compile(
    r"\\{1,8}([^/\\\r\n\t\"'<>:|?*%,;()\[\]{}\x00`$]{1,40} [^/\\\r\n\t\"'<>:|?*%\x00]{1,40})(?=\\)"
)
_SPACED_SLASHES = re.compile(r"/([A-Z][^\W\d_]{1,30} [A-Z][^\W\d_]{1,30})(?=/)")
_NOT_NAMES = frozenset({
    "shared", "public", "default", "all", "user", "users", "username", "runner", "runneradmin", "vscode",
    "node", "codespace", "app", "me", "you", "name", "guest", "administrator", "containeradministrator", "root",
    "ubuntu", "circleci", "vsts", "jovyan", "gitpod", "linuxbrew", "xxx", "foo", "bar", "...", "..", ".",
})  # fmt: skip
_PATH_BEFORE = re.compile(r"[^\s\"'<>(){}\[\],;=`|\x00]{0,200}")  # read backwards: what the path begins with
_LINE_END = re.compile(r".*\\[nrt](?=[/\\+-]|[A-Za-z](?::|%3[aA])|\Z)")  # escaped, before a path
_WEB = re.compile(r"https?:|www\.", re.IGNORECASE)

_SUFFIXES = (".local", ".internal", ".corp", ".lan", ".intranet", ".home.arpa", ".intra")
_HOST_BEFORE = re.compile(r"[A-Za-z0-9.-]{1,100}")  # read backwards
_NO_HOSTS = frozenset({
    "this", "self", "window", "process", "module", "settings", "config", "env", "app", "global", "std", "state",
    "props", "store", "cls", "node", "mod", "pkg", "crate", "java", "com", "org", "net", "sun", "obj", "object",
    "it", "scope", "storage", "package", "request", "response", "options", "context", "err", "error", "data",
    "user", "session", "types", "go", "src", "compose", "override", "vars", "values", "docker-compose",
    "appsettings", "params", "secrets", "claude", "agents", "copilot", "gitignore",
})  # fmt: skip
_EVERYWHERE = frozenset({"host.docker", "gateway.docker", "kubernetes.docker", "metadata.google"})  # .internal
_FILE_ENDING = re.compile(r"\.(?:txt|log|pem|crt|cer|csv|conf|cfg|md|zip|tar|gz|sql|bak)\b")  # of files about a host
_CAMEL = re.compile("[a-z][A-Z]")
_REMOTE = re.compile(
    r"(?<![A-Za-z0-9+])(?<![^/]/)(?:ssh-remote|tunnel|dev-container|attached-container|wsl)(?:\+|%2[bB])([A-Za-z0-9._@%-]{2,400})"
)
_UNC = re.compile(r"(\\{2,16})([A-Za-z0-9][\w.-]{1,62})(\\{1,8})[A-Za-z0-9$_-]{2}")
_NO_UNC_AFTER = frozenset("\\:.$)]*+?^|_")  # characters before two backslashes that make them something else
_FILE_HOST = re.compile(r"file:(?://|%2[fF]%2[fF])([A-Za-z][\w.-]{1,62})(?:/|%2[fF])")


def personal(text: str, private: Private) -> Iterator[Finding]:
    """Yield addresses of people, names of users and hosts, and the words that the config lists."""
    yield from _emails(text)
    for hint in ("home", "Users", "USERS", "users"):
        yield from _homes(text, hint)
    yield from _hosts(text)
    yield from _listed(text, private)


def _emails(text: str) -> Iterator[Finding]:
    at = text.find("@")
    while at >= 0:
        before = _LOCAL_PART.match(text[max(0, at - 64) : at][::-1])
        if before is not None:
            yield from _email(text, at, at - len(before[0].rstrip(".'-")))
        at = text.find("@", at + 1)


def _email(text: str, at: int, start: int) -> Iterator[Finding]:
    if _is_in_address(text, start):
        return
    start += lead_of_escape(text, start)
    local = text[start:at]
    if not local or local.lower() in _NOBODY or not any(map(str.isalnum, local)):
        return
    domain = _DOMAIN.match(text, at + 1)
    if domain is not None:
        end = domain.end()
        if domain[1].lower() in _NO_DOMAINS:  # the ending of a file; what is before it may be a domain
            shorter = _DOMAIN.fullmatch(text, at + 1, end - len(domain[1]) - 1)
            if shorter is None or shorter[1].lower() in _NO_DOMAINS:
                return
            end = shorter.end()
        if text[end : end + 1] != "(":
            yield Finding(start, end, "email", text[start:end], "address")
        return
    host = _PROMPT_HOST.match(text, at + 1)
    if host is not None:  # user@host:~$
        if local.lower() not in _NOT_NAMES:
            yield Finding(start, at, "user", local, "before the name of a host")
        yield Finding(*host.span(1), "host", host[1], "after the name of a user")


def _is_in_address(text: str, start: int) -> bool:
    """Return whether what is before an @ are user and password of an address, or part of something longer."""
    before = text[max(0, start - 3) : start]
    if before == "://" or before.endswith("@"):
        return True
    is_mail = text[max(0, start - 7) : start].lower() == "mailto:"
    return before.endswith(":") and not is_mail and "://" in text[max(0, start - 80) : start]


def _homes(text: str, hint: str) -> Iterator[Finding]:
    size = len(hint)
    at = text.find(hint)
    while at >= 0:
        end = at + size
        if (at and text[at - 1] in "/\\") or text[max(0, at - 3) : at].lower() in ("%2f", "%5c"):
            match = _HOME.match(text, end)
            if hint != "home":
                match = _SPACED_HOME.match(text, end) or _SPACED_SLASHES.match(text, end) or match
            if match is not None and _is_home(text, at, match[1]):
                name = match[1].rstrip(".")
                yield Finding(match.start(1), match.start(1) + len(name), "user", name, "home folder")
        at = text.find(hint, end)


def _is_home(text: str, at: int, name: str) -> bool:
    """Return whether `home` or `Users` at a place is in an absolute path, and the name that of a person."""
    if name.lower().strip(".") in _NOT_NAMES or not any(map(str.isalpha, name)) or name[0] in "*.~":
        return False
    found = _PATH_BEFORE.match(text[max(0, at - 200) : at][::-1])
    path = found[0][::-1] if found is not None else ""
    if _WEB.search(path):
        return False
    if text[at] == "u" and "\\" not in path:  # `/users/` of an interface; C:\users\ is a home
        return False
    path = _LINE_END.sub("", path).lstrip("+-")  # signs of a diff
    head = path.rstrip("/\\")
    if (
        not head
        or path[0] in "/\\@%"
        or "://" in path
        or re.search(r"(?:^|[^A-Za-z])[A-Za-z](?::|%3[aA])[/\\%]*", path[:12])
    ):
        return True
    return ":" in path or "+++" in path or re.match(r"(?:[ab]|\\*[nrt]|-[A-Za-z]+)$", head) is not None


def _hosts(text: str) -> Iterator[Finding]:
    for suffix in _SUFFIXES:
        at = text.find(suffix)
        while at >= 0:
            yield from _internal_host(text, at, at + len(suffix))
            at = text.find(suffix, at + 1)
    for hint in ("-remote", "container", "tunnel", "wsl"):
        at = text.find(hint)
        while at >= 0:
            match = _REMOTE.search(text, max(0, at - 10), at + 420)
            if match is not None and match.start() <= at <= match.end():
                yield Finding(*match.span(1), "host", match[1], "remote folder")
            at = text.find(hint, at + 4)
    yield from _shares(text)
    for match in _FILE_HOST.finditer(text):
        if match[1].lower() not in ("localhost", "wsl.localhost"):
            yield Finding(*match.span(1), "host", match[1], "network path")


def _shares(text: str) -> Iterator[Finding]:
    """Yield the hosts of network paths, as they are or escaped: two backslashes and one, four and two, ..."""
    at = text.find("\\\\")
    while at >= 0:
        match = _UNC.match(text, at)
        end = at + 2
        if match is not None:
            end = match.end(1)
            before = text[max(0, at - 2) : at]
            is_start = (
                not before
                or before in ("\n+", "\n-", "\\n", "\\r", "\\t")
                or not (before[-1] in _NO_UNC_AFTER or before[-1].isalnum())
            )
            is_path = len(match[1]) == 2 * len(match[3]) and len(match[1]) in (2, 4, 8, 16)
            if is_start and is_path and match[2].lower() not in ("wsl", "wsl.localhost", "localhost"):
                yield Finding(*match.span(2), "host", match[2], "network path")
        else:
            while text.startswith("\\", end):
                end += 1
        at = text.find("\\\\", end)


def _internal_host(text: str, at: int, end: int) -> Iterator[Finding]:
    after = text[end : end + 2]
    if after[:1].isalnum() or after[:1] in ("-", "_", "("):
        return
    is_file = after[:1] == "." and after[1:].isalnum()
    if is_file and not (text[at - 1].isdigit() and _FILE_ENDING.match(text, end)):  # not settings.local.json
        return
    before = _HOST_BEFORE.match(text[max(0, at - 100) : at][::-1])
    if before is None:
        return
    start = at - len(before[0])
    start += lead_of_escape(text, start)
    host = text[start:at]
    if not host or host[0] in ".-" or not host[-1].isalnum() or not any(map(str.isalpha, host)):
        return
    if host.lower() in _EVERYWHERE or _CAMEL.search(host):
        return
    left = text[start - 1] if start else " "
    labels = host.lower().split(".")
    is_address = left in "/@+" or after[:1] in (":", "/") or any(char.isdigit() or char == "-" for char in host)
    if labels[0] in _NO_HOSTS and not is_address:
        return
    if left in "_$~" or (text[at:end] in (".local", ".internal") and not is_address and len(labels) < 2):
        return
    yield Finding(start, end, "host", text[start:end], "internal name")


def _listed(text: str, private: Private) -> Iterator[Finding]:
    for kind, listed in (("word", private.words), ("host", private.hosts), ("user", private.users)):
        if listed:
            for match in _listed_pattern(listed, kind != "word").finditer(text):
                yield Finding(*match.span(), kind, match[0], "listed", "certain")


@lru_cache(maxsize=32)
def _listed_pattern(listed: tuple[str, ...], is_word: bool) -> re.Pattern[str]:
    """Return a pattern for any of these texts; names of hosts and users only as whole words."""
    either = "|".join(map(re.escape, sorted(filter(None, listed), key=len, reverse=True)))
    edges = (r"(?<![A-Za-z0-9])(?:", r")(?![A-Za-z0-9])") if is_word else ("(?:", ")")
    return re.compile(f"{edges[0]}{either or '(?!)'}{edges[1]}", re.IGNORECASE)
