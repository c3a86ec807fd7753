"""Read a map of scalars in YAML, which is all that `workspace.yaml` holds."""

from __future__ import annotations

import re

from copilog.jsonio import replace_lone_surrogates

Scalar = str | int | float | bool | None

_KEY = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#:'"\-?&*!|>%@`{\[][^:]*?|-[^\s:][^:]*?)\s*:(?:[ \t]+(.*)|)$"""
)
_BLOCK = re.compile(r"([|>])(?:([+-])([1-9])?|([1-9])([+-])?)?[ \t]*(?:#.*)?$")
_COMMENT = re.compile(r"(?:^|[ \t])#.*$")
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}$")
_FLOAT = re.compile(r"[-+]?(?:[0-9]{1,18}\.[0-9]{0,18}|\.[0-9]{1,18})(?:[eE][-+]?[0-9]{1,2})?$")
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([^xuU]))", re.DOTALL)
_SIMPLE_ESCAPES = dict(zip('0abt\tnvfre "/\\N_LP', '\0\a\b\t\t\n\v\f\r\x1b "/\\\x85\xa0\u2028\u2029', strict=True))
_PLAIN = re.compile(r"([a-z_]+): ([A-Za-z0-9/][^#]*)$")  # the form of nearly all lines: a key and a plain scalar
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_BEGIN_NUMBERS = frozenset("+-.0123456789")
_NO_SCALAR = ("&", "*", "!", "{", "[", "@", "`", "%", "- ")


class FlatMap:
    """The values of a YAML text by key, and, line by line, what is not part of a flat map."""

    __slots__ = ("problems", "values")

    def __init__(self) -> None:
        self.values: dict[str, Scalar] = {}
        self.problems: list[tuple[int, str]] = []

    def text(self, key: str) -> str | None:
        """Return a value as text, or None if it is absent, empty or a boolean."""
        value = self.values.get(key)
        if value is None or isinstance(value, bool) or value == "":
            return None
        return str(value)


def read_flat_map(text: str) -> FlatMap:
    """Read a flat map. Never raise: what cannot be parsed is in `problems`."""
    made = FlatMap()
    lines = text.replace("\r\n", "\n").removeprefix("\ufeff").split("\n")
    if lines[-1] == "":
        lines.pop()  # the empty line that split() returns for the last line break
    at = 0
    while at < len(lines):
        line = lines[at]
        plain = _PLAIN.match(line)
        if plain is not None and plain[1] not in made.values and not _continues_below(lines, at):
            made.values[plain[1]] = _typed(plain[2].strip())
            at += 1
            continue
        stripped = line.strip()
        if not stripped or stripped.startswith("#") or line.rstrip() in ("---", "...") or line.startswith("%"):
            at += 1
            continue
        match = _KEY.match(line)
        if match is None:
            made.problems.append((at + 1, "a line that is not `key: value`"))
            at += 1
            continue
        key = _key_from(match[1])
        if key in made.values:
            made.problems.append((at + 1, "a repeated key; the last one counts"))
        at = _read_value(key, (match[2] or "").strip(" \t"), lines, at, made)
    return made


def _continues_below(lines: list[str], at: int) -> bool:
    """Return whether the line below may be a part of the scalar on this one."""
    return at + 1 < len(lines) and lines[at + 1].startswith((" ", "\t"))


def _key_from(text: str) -> str:
    if text.startswith('"'):
        return _unescaped(text[1:-1])
    return text[1:-1].replace("''", "'") if text.startswith("'") else text


def _read_value(key: str, first: str, lines: list[str], at: int, made: FlatMap) -> int:
    """Read the value that begins on a line. Return the number of the line where the next key may be."""
    block = _BLOCK.match(first)
    end = at + 1
    if block is not None:
        while end < len(lines) and (not lines[end].strip() or lines[end][0] in " \t"):
            end += 1
        made.values[key] = _block_scalar(block, lines[at + 1 : end])
        return end
    if first[:1] in ('"', "'"):
        return _read_quoted(key, first, lines, at, made)
    while end < len(lines) and lines[end][:1] in (" ", "\t") and lines[end].strip():
        end += 1
    below = lines[at + 1 : end]
    if first.startswith(_NO_SCALAR) or (not first and any(_is_nested(line) for line in below)):
        made.problems.append((at + 1, f"`{key}` is not a scalar; read as text"))
        made.values[key] = "\n".join([first, *below]).strip("\n")
        return end
    pieces = [_COMMENT.sub("", piece.strip()).strip() for piece in (first, *below)]
    made.values[key] = _typed(" ".join(piece for piece in pieces if piece))
    return end


def _is_nested(line: str) -> bool:
    stripped = line.strip()
    return stripped.startswith("- ") or stripped == "-" or _KEY.match(stripped) is not None


def _typed(text: str) -> Scalar:
    """Return the typed value of a plain scalar. Times remain text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _BEGIN_NUMBERS:
        return text
    if _INTEGER.match(text):
        return int(text)
    return float(text) if _FLOAT.match(text) else text


# --- quoted scalars ---------------------------------------------------------------------------------------------


def _read_quoted(key: str, first: str, lines: list[str], at: int, made: FlatMap) -> int:
    quote = first[0]
    text = first
    end = at + 1
    close = _closing_quote(text, quote)
    while close is None and end < len(lines) and (not lines[end].strip() or lines[end][0] in " \t"):
        text += "\n" + lines[end]
        end += 1
        close = _closing_quote(text, quote)
    if close is None:
        made.problems.append((at + 1, f"`{key}` has a quote that is never closed"))
        made.values[key] = text[1:]
        return end
    if _COMMENT.sub("", text[close + 1 :]).strip():
        made.problems.append((at + 1, f"text after the closing quote of `{key}`"))
    inner = _folded_quoted(text[1:close], is_double=quote == '"')
    made.values[key] = _unescaped(inner) if quote == '"' else inner.replace("''", "'")
    return end


def _closing_quote(text: str, quote: str) -> int | None:
    at = 1
    while at < len(text):
        if text[at] == "\\" and quote == '"':
            at += 2
        elif text[at] != quote:
            at += 1
        elif quote == "'" and text[at + 1 : at + 2] == "'":
            at += 2
        else:
            return at
    return None


def _folded_quoted(text: str, *, is_double: bool) -> str:
    """Fold line breaks: one becomes a space, an empty line a line break."""
    if "\n" not in text:
        return text
    lines = text.split("\n")
    made = lines[0].rstrip(" \t")
    empty = 0
    for index, line in enumerate(lines[1:], start=1):
        stripped = line.lstrip(" \t")
        if not stripped.strip() and index < len(lines) - 1:
            empty += 1
            continue
        if is_double and (len(made) - len(made.rstrip("\\"))) % 2 == 1:
            made = made[:-1] + "\n" * empty
        else:
            made += "\n" * empty or " "
        empty = 0
        made += stripped.rstrip(" \t") if index < len(lines) - 1 else stripped
    return made


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text

    def character(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        if code is None:
            return _SIMPLE_ESCAPES.get(match[4], match[0])
        number = int(code, 16)
        return chr(number) if number < 0x110000 else "\ufffd"

    return replace_lone_surrogates(_ESCAPE.sub(character, text))


# --- block scalars ----------------------------------------------------------------------------------------------


def _block_scalar(header: re.Match[str], lines: list[str]) -> str:
    """Return a literal (|) or folded (>) block without its indentation."""
    chomping = header[2] or header[5] or ""
    indent = int(header[3] or header[4] or 0) or _indent_of(lines)
    texts = [line[indent:] if line[:indent].strip(" ") == "" else line.lstrip(" ") for line in lines]
    while texts and not texts[-1].strip():
        texts.pop()
    empty_at_end = len(lines) - len(texts)
    body = "\n".join(texts) if header[1] == "|" else _folded_block(texts)
    if chomping == "+":
        return body + "\n" * (empty_at_end + bool(body))
    return body if chomping == "-" or not body else body + "\n"


def _indent_of(lines: list[str]) -> int:
    first = next((line for line in lines if line.strip()), "")
    return len(first) - len(first.lstrip(" "))


def _folded_block(lines: list[str]) -> str:
    made = ""
    breaks = 0
    was_kept = True  # the line before keeps its break: it is indented further, or there is none
    for line in lines:
        if not line.strip():
            breaks += 1
            continue
        keeps = line[0] in " \t"
        if not made:
            made = "\n" * breaks + line
        elif keeps or was_kept:
            made += "\n" * (breaks + 1) + line
        else:
            made += ("\n" * breaks or " ") + line
        breaks, was_kept = 0, keeps
    return made
