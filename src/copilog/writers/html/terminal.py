"""Terminal output: colours and weights are shown, other control sequences are left out.

Colours become classes of sixteen names (code.css defines them for light and dark themes); other colours become the
nearest of them. Carriage returns, backspaces and erasing work within a line, which is what progress bars need; other
movements of the cursor, titles and links are left out. Text that was made invisible is shown.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from copilog.writers.html.characters import cut, visible
from copilog.writers.html.code import LONGEST_TEXT, cut_note

COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
NAMES = (*COLOURS, *(f"bright-{name}" for name in COLOURS))
# The sixteen colours of xterm; used only to find the nearest.
_VALUES = (
    (0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229),
    (127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255), (255, 0, 255), (0, 255, 255),
    (255, 255, 255),
)  # fmt: skip
LONGEST_STYLE = 200  # of the numbers in one sequence

_CUBE = (0, 95, 135, 175, 215, 255)

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)([0-?]*)[ -/]*([@-~]?)"  # colours, cursor movements; the last may be cut off
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # titles, links
    r"|\x1b[ -/]*[0-~]?"
    r"|(\n|\r(?!\n)|\x08)"
    r"|[\x07\x0e\x0f]|\r(?=\n)"
)


class Style(NamedTuple):
    """The style of the text from here on."""

    ink: str = ""
    paper: str = ""
    is_bold: bool = False
    is_dim: bool = False
    is_italic: bool = False
    is_underlined: bool = False
    is_struck: bool = False
    is_reversed: bool = False


PLAIN = Style()


def terminal_html(text: str) -> Markup:
    """Return output as `<pre class="terminal">`."""
    text, left_out = cut(text, LONGEST_TEXT)
    note = cut_note(left_out, "character") if left_out else ""
    return Markup('<pre class="terminal" tabindex="0"><samp>{}</samp></pre>{}').format(_coloured(text), note)


def _coloured(text: str) -> Markup:
    screen = _Screen()
    style = PLAIN
    at = 0
    for match in _SEQUENCE.finditer(text):
        if at < match.start():
            screen.write(text[at : match.start()], style)
        at = match.end()
        parameters, final, control = match.groups()
        if control:
            screen.control(control)
        elif final == "m":
            style = _styled(style, parameters[:LONGEST_STYLE])
        elif final == "K":
            screen.erase(parameters)
    screen.write(text[at:], style)
    return screen.html()


class _Screen:
    """Lines of styled text. A line is stored in pieces, and split into characters only when some are overwritten."""

    def __init__(self) -> None:
        self._done: list[tuple[str, Style]] = []
        self._pieces: list[tuple[str, Style]] = []  # of the current line
        self._cells: list[tuple[str, Style]] | None = None  # the same, character by character
        self._column = 0

    def write(self, text: str, style: Style) -> None:
        if not text:
            return
        text = visible(text)
        if self._cells is None:
            self._pieces.append((text, style))
            return
        self._cells[self._column : self._column + len(text)] = [(character, style) for character in text]
        self._column += len(text)

    def control(self, control: str) -> None:
        if control == "\n":
            self._end_line()
            self._done.append(("\n", PLAIN))
            return
        cells = self._as_cells()
        self._column = 0 if control == "\r" else max(0, self._column - 1)
        if not cells:
            self._cells = None

    def erase(self, parameters: str) -> None:
        """Erase to the end of the line, or all of it; then the next text begins at column 0, as it usually does."""
        cells = self._as_cells()
        if parameters == "2":
            self._column = 0
        if parameters in ("", "0", "2"):
            del cells[self._column :]

    def html(self) -> Markup:
        self._end_line()
        pieces: list[str] = []
        opened = PLAIN
        for text, style in self._done:
            if style != opened:
                if opened != PLAIN:
                    pieces.append("</span>")
                if style != PLAIN:
                    pieces.append(f'<span class="{_classes(style)}">')
                opened = style
            pieces.append(str(escape(text)))
        if opened != PLAIN:
            pieces.append("</span>")
        return Markup("".join(pieces))  # noqa: S704 - every text was escaped above

    def _as_cells(self) -> list[tuple[str, Style]]:
        if self._cells is None:
            self._cells = [(character, style) for text, style in self._pieces for character in text]
            self._column = len(self._cells)
            self._pieces = []
        return self._cells

    def _end_line(self) -> None:
        self._done += self._pieces if self._cells is None else self._cells
        self._pieces, self._cells, self._column = [], None, 0


@lru_cache(maxsize=1024)
def _classes(style: Style) -> str:
    ink, paper = (style.paper, style.ink) if style.is_reversed else (style.ink, style.paper)
    names = {
        f"t-{ink}": ink,
        f"t-on-{paper}": paper,
        "t-bold": style.is_bold,
        "t-dim": style.is_dim and not ink and not (style.is_reversed and not paper),
        "t-italic": style.is_italic,
        "t-underline": style.is_underlined,
        "t-strike": style.is_struck,
        "t-reverse": style.is_reversed and not paper,
    }
    return " ".join(name for name, is_set in names.items() if is_set)


@lru_cache(maxsize=4096)
def _styled(style: Style, parameters: str) -> Style:
    """Return the style after a sequence such as `1;31` or `38;5;208`."""
    words = re.split("[;:]", parameters.replace(":2::", ":2:"))  # some programs write a colour space there
    numbers = [int(word) if word.isdigit() else 0 for word in words if len(word) < 6]
    at = 0
    while at < len(numbers):
        code = numbers[at]
        if code in (38, 48):
            colour, used = _fine_colour(numbers[at + 1 : at + 5])
            style = style._replace(ink=colour) if code == 38 else style._replace(paper=colour)
            at += 1 + used
        else:
            style = _after(style, code)
            at += 1
    return style


def _after(style: Style, code: int) -> Style:
    if code == 0:
        return PLAIN
    if code in SWITCHES:
        return style._replace(**SWITCHES[code])
    for first, names in ((30, NAMES[:8]), (90, NAMES[8:])):
        if first <= code < first + 8:
            return style._replace(ink=names[code - first])
        if first + 10 <= code < first + 18:
            return style._replace(paper=names[code - first - 10])
    return style


SWITCHES: dict[int, dict[str, Any]] = {
    1: {"is_bold": True},
    2: {"is_dim": True},
    3: {"is_italic": True},
    4: {"is_underlined": True},
    7: {"is_reversed": True},
    9: {"is_struck": True},
    22: {"is_bold": False, "is_dim": False},
    23: {"is_italic": False},
    24: {"is_underlined": False},
    27: {"is_reversed": False},
    29: {"is_struck": False},
    39: {"ink": ""},
    49: {"paper": ""},
}


def _fine_colour(numbers: list[int]) -> tuple[str, int]:
    """Return the nearest named colour of `5;n` or `2;r;g;b`, and how many numbers were read."""
    if numbers[:1] == [5] and len(numbers) > 1:
        return _of_256(min(numbers[1], 255)), 2
    if numbers[:1] == [2] and len(numbers) > 3:
        red, green, blue = (min(number, 255) for number in numbers[1:4])
        return _nearest(red, green, blue), 4
    return "", len(numbers)


def _of_256(number: int) -> str:
    if number < 16:
        return NAMES[number]
    if number >= 232:
        grey = 8 + 10 * (number - 232)
        return _nearest(grey, grey, grey)
    number -= 16
    return _nearest(_CUBE[number // 36], _CUBE[number // 6 % 6], _CUBE[number % 6])


@lru_cache(maxsize=4096)
def _nearest(red: int, green: int, blue: int) -> str:
    def distance(index: int) -> int:
        other = _VALUES[index]
        return 2 * (red - other[0]) ** 2 + 4 * (green - other[1]) ** 2 + 3 * (blue - other[2]) ** 2

    return NAMES[min(range(16), key=distance)]
