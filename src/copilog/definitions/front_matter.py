"""Read the lines of YAML on top of a Markdown file, between two lines of `---`."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from copilog.jsonio import replace_lone_surrogates

Values = dict[str, Any]

# A front matter is a handful of lines; the reader of YAML is slow, and on purpose-made texts very slow.
MAX_CHARACTERS = 16 * 1024
MAX_DEPTH = 16
MAX_VALUES = 2000
LARGEST_INTEGER = 2**63

_FRONT = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_OPENING = re.compile(r"---[ \t]*\r?\n")
_KEY = re.compile(r"^(?=[A-Za-z][\w-]*:)", re.MULTILINE)
_PLAIN_LINE = re.compile(r"([A-Za-z][\w-]*):[ \t]+(\S[^\r\n]*?)[ \t]*\r?$", re.MULTILINE)


class Fault(NamedTuple):
    """A problem of a front matter, and its line in the file; it quotes nothing."""

    reason: str
    line: int | None = None


class Document(NamedTuple):
    """A Markdown file in two halves. `front` is the text between the lines, `values` its content."""

    body: str
    front: str | None = None
    values: Values = {}
    fault: Fault | None = None


class _UnfitError(ValueError):
    """YAML that can be read, but not used."""


def split(text: str) -> Document:
    """Return the two halves of a file. From a front matter that is not YAML, read the keys that matter."""
    if not _OPENING.match(text):
        return Document(text)
    found = _FRONT.match(text)
    if found is None:
        return Document(text, fault=Fault("the front matter has no end", 1))
    front, body = found[1], text[found.end() :]
    values, fault = _read(front)
    return Document(body, front, _readable_values(front) if fault else values, fault)


def _read(front: str) -> tuple[Values, Fault | None]:
    import yaml  # not needed by most commands, and slow to import

    if len(front) > MAX_CHARACTERS:
        return {}, Fault("the front matter is too long to be read", 1)
    try:
        # The pure reader, not the one in C: that ends the process on brackets nested some ten thousand deep.
        value = _plain(yaml.safe_load(front), [MAX_VALUES])
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return {}, Fault("the front matter is not YAML", mark.line + 2 if mark else None)
    except _UnfitError as error:
        return {}, Fault(str(error), 1)
    except RecursionError:
        return {}, Fault("the front matter is nested too deeply", 1)
    except (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        return {}, Fault("the front matter has a value that YAML does not allow", 1)
    if value is None:
        return {}, None
    if not isinstance(value, dict):
        return {}, Fault("the front matter is not a list of keys and values", 2)
    return value, None


def _plain(value: Any, left: list[int], depth: int = 0) -> Any:
    """Return the value as JSON. `left` counts down: a few aliases can produce more values than fit in memory."""
    left[0] -= 1
    if left[0] < 0 or depth > MAX_DEPTH:
        raise _UnfitError("the front matter holds too many values or is nested too deeply")
    if isinstance(value, dict):
        return {_text(key): _plain(item, left, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, left, depth + 1) for item in value]
    if isinstance(value, bool | float) or value is None:
        return value
    if isinstance(value, int) and abs(value) < LARGEST_INTEGER:
        return value
    return _text(value)


def _text(value: Any) -> str:
    """Return any value as text, with U+FFFD for half characters, which are possible in YAML and not in JSON."""
    text = value if isinstance(value, str) else str(value)
    return replace_lone_surrogates(text)


def _readable_values(front: str) -> Values:
    """Return the keys that can be read from broken YAML.

    `applyTo: **` and descriptions with a colon are usual cases.
    """
    values: Values = {}
    for piece in _KEY.split(front) if len(front) <= MAX_CHARACTERS else ():
        read, fault = _read(piece)
        words = _PLAIN_LINE.match(piece)
        if fault is None:
            values.update(read)
        elif words is not None:
            values[words[1]] = words[2]
    return values
