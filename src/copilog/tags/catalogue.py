"""The catalogue of tags, as data: context_tags.json, or a file of the same shape."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from copilog.errors import BadFile
from copilog.intake.files import read_small

Origin = Literal["injected", "user", "file"]
Role = Literal["system", "user", "tool", "assistant"]

REQUEST_NAMES = ("userRequest", "user_query")
OLDER_REQUEST_NAMES = frozenset({"prompt", "userPrompt", "UserRequest"})

# A user message made of nothing but these is not a turn of the user. Turns are counted by this set, so it is fixed
# and does not change with a custom catalogue.
INJECTED_ALONE = frozenset(
    {
        "environment_info",
        "workspace_info",
        "context",
        "todoList",
        "editorContext",
        "repoContext",
        "reminderInstructions",
        "toolReferences",
        "userMemory",
        "sessionMemory",
        "repoMemory",
        "repository_memories",
        "instructions",
        "modeInstructions",
        "customInstructions",
        "skills",
        "agents",
    }
)

NAME = re.compile(r"[A-Za-z_][\w.\-]*")
_HTML = """
a abbr address area article aside audio b base bdi bdo blockquote body br button canvas caption center circle cite
code col colgroup data datalist dd defs del details dfn dialog div dl dt em embed fieldset figcaption figure font
footer form g h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li line link main
map mark math menu meta meter nav noscript object ol optgroup option output p param path picture polygon pre
progress q rect rp rt ruby s samp script search section select slot small source span strike strong style sub
summary sup svg table tbody td template text textarea tfoot th thead time title tr track tt u ul use var video wbr
"""
HTML_NAMES = frozenset(_HTML.split())
_MOST_NAMES_KEPT = 10_000
_MOST_BYTES = 16 << 20


class Tag(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the catalogue: a tag, or with a pattern a family of tags."""

    name: str
    origin: Origin
    roles: tuple[Role, ...]
    key: str | None = None  # the category of a context scan
    pattern: str | None = None
    is_context: bool = False  # never the user's text, anywhere in a user message
    note: str | None = None


class Catalogue:
    """The tags by name."""

    def __init__(self, tags: Iterable[Tag]) -> None:
        self.tags = tuple(tags)
        self._by_name: dict[str, Tag] = {}
        for tag in self.tags:
            if tag.name in self._by_name:
                raise ValueError(f'the tag "{tag.name}" is listed twice')
            if tag.pattern is None and not NAME.fullmatch(tag.name):
                raise ValueError(f'"{tag.name}" cannot be a tag name; a family of tags needs a pattern')
            self._by_name[tag.name] = tag
        self._families = [(_compiled(tag.pattern, tag.name), tag) for tag in self.tags if tag.pattern is not None]
        self.context_names = frozenset(tag.name for tag in self.tags if tag.is_context)
        self.keys = tuple(dict.fromkeys(tag.key for tag in self.tags if tag.key))
        self._cached: dict[str, Tag | None] = {}

    def get(self, name: str) -> Tag | None:
        """Return the tag of that exact name, or else the first family it belongs to."""
        try:
            return self._cached[name]
        except KeyError:
            pass
        tag = self._find(name)
        if len(self._cached) >= _MOST_NAMES_KEPT:  # a text may hold any number of names
            self._cached.clear()
        self._cached[name] = tag
        return tag

    def _find(self, name: str) -> Tag | None:
        tag = self._by_name.get(name)
        if tag is not None and tag.pattern is None:
            return tag
        return next((tag for pattern, tag in self._families if pattern.fullmatch(name)), None)


def load_catalogue(path: Path | None = None) -> Catalogue:
    """Return the bundled catalogue, or the one in a file of the same shape. Raise ValueError if it is invalid."""
    return _bundled_catalogue() if path is None else _read_catalogue(path)


def is_html_name(name: str) -> bool:
    """Return whether a name is one of HTML or SVG, in any case: in code it is markup, not a tag of a prompt."""
    return name.lower() in HTML_NAMES


@cache
def _bundled_catalogue() -> Catalogue:
    return _read_catalogue(Path(__file__).parent.with_name("context_tags.json"))


def _read_catalogue(path: Path) -> Catalogue:
    try:
        return Catalogue(msgspec.json.decode(read_small(path, _MOST_BYTES), type=list[Tag]))
    except BadFile as error:
        raise ValueError(f"{path}: {error}") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise ValueError(
            f"{path} is not a tag catalogue: {error}; it should be a list of objects with name, origin and roles"
        ) from error


def _compiled(pattern: str, name: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f'the pattern of the tag "{name}" is not a regular expression: {error}') from error
