"""Compare terminal output that is recorded twice: as the terminal showed it, and in the result for the model.

The two are laid out differently: one has colours and cursor movements, the other has lines that end where the
terminal was full, notes of the tool before them, and a gap where the output was too long. So they are compared without
escape sequences and white space.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from copilog.model import Terminal, ToolResult

_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-~]"
)


def texts_to_search(output: str, result: str) -> tuple[str, str]:
    """Return the output of a terminal and the result of its call for the search index, common text only once.

    The result is preferred, unless it breaks or omits words of the output.
    """
    output = _without_escapes(output)
    if _is_plainly_in(output, result) or _padded_words(output) in _padded_words(result):
        return "", result
    return output, _beyond(result, _squeezed(output))


def beyond_output(result: ToolResult, terminals: Sequence[Terminal]) -> ToolResult:
    """Return the result with only those lines that are not in the output of its terminals.

    Return the result itself if it is not the output.
    """
    output = _squeezed("\n".join(terminal.output for terminal in terminals if terminal.output))
    if not output:
        return result
    return msgspec.structs.replace(
        result,
        text=_beyond(result.text, output),
        display=_beyond(result.display, output) or None if result.display else result.display,
        full_text=_beyond(result.full_text, output) or None if result.full_text else result.full_text,
    )


def _beyond(text: str, output: str) -> str:
    squeezed = _squeezed(text)
    if not squeezed or squeezed in output:
        return ""
    lines = text.splitlines()
    kept = [line for line in lines if (short := _squeezed(line)) and short not in output]
    repeated = len(squeezed) - sum(len(_squeezed(line)) for line in kept)
    if output in squeezed or 2 * repeated >= len(squeezed):
        return "\n".join(kept)
    return text


def _squeezed(text: str) -> str:
    return "".join(_without_escapes(text).split())


def _is_plainly_in(output: str, result: str) -> bool:
    """Return whether the result contains the output unchanged: a quick check that suffices for most."""
    output = output.strip()
    start = result.find(output) if output else -1
    if start < 0:
        return False
    end = start + len(output)
    return (start == 0 or result[start - 1].isspace()) and (end == len(result) or result[end].isspace())


def _padded_words(text: str) -> str:
    return f" {' '.join(text.split())} "


def _without_escapes(text: str) -> str:
    if "\x1b" in text or "\x9b" in text or "\x9d" in text:
        return _ESCAPE_SEQUENCE.sub(lambda found: " " if found[0].endswith("C") else "", text)  # C: to the right
    return text
