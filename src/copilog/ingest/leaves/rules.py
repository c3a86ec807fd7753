"""Define which leaves need not be stored, and why: reasons, and the paths that each covers.

A rule depends on the path, never on whether the text is stored. Paths of texts of users and models are protected: no
rule covers them, so a text at such a path is stored or reported. In a pattern `*` is one name, `**` any number of
names, `{a,b}` either, and `*x` a name that ends in x. The first match counts; an empty reason means no reason.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from copilog.ingest.leaves import cli_rules, extension_rules, replay_rules, vscode_rules

REASONS: dict[str, str] = {
    "account": "who was signed in, and with what",
    "address": "another spelling of a stored address, or an internal one: a session, a base of links",
    "bad-record": "in a record or part that the ledger reports as bad",
    "definition": "parts of a custom agent that its definition has in `extra`: buttons, other models",
    "diagnostic": "for the developers of the program: stack traces, telemetry about a call, request numbers",
    "icon": "pictures and style names that the program shows with a text",
    "kind": "a name from a fixed list: the kind of a record, a state, a source",
    "other-program": "not about chat: settings and view states of the editor and of other extensions",
    "overwritten": "an earlier value of a field of a session log, which a later line replaced",
    "passing": "shown only while something ran, and replaced by what was shown when it had ended",
    "program-info": "what the program says about itself: its agents, commands, help texts, models, endpoints",
    "search-index": "texts of other tables, stored again for searching",
    "sealed": "encrypted or signed for a service, and unreadable for anyone else",
    "tool-definition": "tools, skills and servers that the model was offered, with their parameters",
    "without-a-field": "in `extra` of the model, where it has what no field is for; the original has it elsewhere",
    "workspace": "about the folder that was worked on: its repository, remotes and branches",
}

# --- ids and times ------------------------------------------------------------------------------------------------
# By shape: UUIDs, hexadecimal, numbers, times; known prefixes. By path: a name that contains id, and no space.

_SHAPES = re.compile(
    r"""(?: [\w.]{0,40}[-_:.]? )? \{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}? [\w:.-]{0,40}
    | (?:sha(?:1|256|512)[:-])? [0-9a-f]{12,}
    | [0-9.:,-]+
    | \d{4}-\d\d-\d\d[T\ ][\d:.]+ (?:Z|[+-]\d\d:?\d\d)?
    | (?:call|toolu|tooluse|chatcmpl|request|response|msg|resp|rs|fc|sgt)[_-][\w-]+
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NAMES = re.compile(r"(?:.*[a-z_.-])?(?:Id|ID|Ids|IDs|_id|_ids|\.id|uuid|Uuid|Hash|_hash|sha1|etag)|id|ids|hash|sha")
_NO_SPACE = re.compile(r"\S{1,500}")


def is_id_or_time(path: str, text: str) -> bool:
    """Return whether a leaf is an id or a time, by its shape, or by its name and the absence of spaces."""
    if _SHAPES.fullmatch(text):
        return True
    name = path.removesuffix("/*").rpartition("/")[2]
    return _NAMES.fullmatch(name) is not None and _NO_SPACE.fullmatch(text) is not None


# --- rules --------------------------------------------------------------------------------------------------------

Rules = tuple[tuple[str, str], ...]
RULES: dict[str, Rules] = {**vscode_rules.RULES, **cli_rules.RULES, **extension_rules.RULES, **replay_rules.RULES}
PROTECTED: dict[str, tuple[str, ...]] = {
    **vscode_rules.PROTECTED,
    **cli_rules.PROTECTED,
    **extension_rules.PROTECTED,
    **replay_rules.PROTECTED,
}
_TOKENS = re.compile(r"\*\*|\*|\{[^}]*\}|[^*{}]+")


@lru_cache(maxsize=100_000)
def reason_for(source: str, path: str) -> str | None:
    """Return the reason that covers a path in files of a source; None if no rule covers it, or if it is protected."""
    if is_protected(source, path):
        return None
    return next((reason or None for pattern, reason in RULES.get(source, ()) if matches(pattern, path)), None)


@lru_cache(maxsize=100_000)
def is_protected(source: str, path: str) -> bool:
    """Return whether a path is of texts of users or models, which no reason may cover; also if it was replaced."""
    path = path.removeprefix(vscode_rules.OVERWRITTEN)
    return any(matches(pattern, path) for pattern in PROTECTED.get(source, ()))


def matches(pattern: str, path: str) -> bool:
    return _compiled(pattern).fullmatch(path) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(_regex_of(pattern), re.DOTALL)


def _regex_of(pattern: str) -> str:
    return "".join(map(_as_regex, _TOKENS.findall(pattern)))


def _as_regex(token: str) -> str:
    if token == "**":  # noqa: S105 - a pattern, not a password
        return ".*"
    if token == "*":  # noqa: S105
        return "[^/]*"
    if token.startswith("{"):
        return f"(?:{'|'.join(_regex_of(choice) for choice in token[1:-1].split(','))})"
    return re.escape(token)
