"""The answer's Markdown, laid out for a terminal."""

from __future__ import annotations

from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, ListItem, Markdown, MarkdownElement
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

from copilog.view.terminal_text import clean, clean_line
from copilog.writers.terminal_layout import ABSURD_LINE, INDENT, Indented, Labelled

PROSE_LIMIT = 300_000  # characters: laying out more would take too long
HIGHLIGHT_LIMIT = 30_000
COLUMNS_LIMIT = 30


class _AnyLink(MarkdownIt):
    """Accepts links of any scheme, as no link can be followed here."""

    def validateLink(self, url: str) -> bool:  # noqa: ARG002, N802 - the parser's own name
        return True


_PARSER = _AnyLink("commonmark", {"html": False}).enable(["strikethrough", "table"])
# Colours of the terminal's own palette, and no background: both must be readable on black and on white.
_THEME = Theme(
    {
        "markdown.code": "cyan",
        "markdown.h1": "bold underline",
        "markdown.h2": "bold underline",
        "markdown.h3": "bold",
        "markdown.h4": "bold italic",
        "markdown.hr": "dim",
        "markdown.link": "underline",
        "markdown.link_url": "dim",
        "markdown.block_quote": "italic",
        "markdown.item.bullet": "dim",
        "markdown.item.number": "dim",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)


# --- laying out -------------------------------------------------------------------------------------------------


def prose(text: str, *, markdown: bool, style: str = "") -> RenderableType:
    """Return Markdown, laid out or as source text."""
    text = clean(text)
    if not markdown or len(text) > PROSE_LIMIT or any(len(line) > ABSURD_LINE for line in text.split("\n")):
        return Text(text, style)
    return _Prose(text, style)


class _Prose:
    """Markdown in our colours."""

    def __init__(self, text: str, style: str) -> None:
        self.text = text
        self.style = style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        page = _Page(self.text, self.style)
        if page.widest_table > COLUMNS_LIMIT:
            yield Text(self.text, self.style)
            return
        with console.use_theme(_THEME):
            yield from list(console.render(page, options.update(no_wrap=False, overflow="fold")))


class _Code(CodeBlock):
    """A code block: a caption with its file, then the code, indented."""

    def __init__(self, lexer_name: str, theme: str, caption: str = "") -> None:
        super().__init__(lexer_name, theme)
        self.caption = caption

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> _Code:
        language, _, caption = (token.info or "").strip().partition(" ")
        return cls(language or "text", markdown.code_theme, clean_line(caption))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = self.text.plain.rstrip()
        if len(code) <= HIGHLIGHT_LIMIT:
            body = Syntax(code, self.lexer_name, theme=self.theme, background_color="default").highlight(code)
            body.rstrip()
        else:
            body = Text(code)
        lines: list[RenderableType] = [body]
        if self.caption:
            lines.insert(0, Text(self.caption, "dim italic"))
        yield Indented(Group(*lines), INDENT)


class _Heading(Heading):
    """A heading, always left-aligned."""

    LEVEL_ALIGN: ClassVar = {}


class _Item(ListItem):
    """A list item; numbers have a dot."""

    def render_number(
        self,
        console: Console,
        options: ConsoleOptions,  # noqa: ARG002
        number: int,
        last_number: int,
    ) -> RenderResult:
        columns = len(str(last_number)) + 3
        numeral = Text(f"{number}.".rjust(columns - 1), console.get_style("markdown.item.number"))
        yield Labelled(numeral, self.elements, columns)


class _Page(Markdown):
    """Markdown without links that a terminal would follow, and with HTML as text."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "fence": _Code,
        "code_block": _Code,
        "heading_open": _Heading,
        "list_item_open": _Item,
    }

    def __init__(self, text: str, style: str) -> None:
        super().__init__("", code_theme="ansi_dark", style=style, hyperlinks=False)
        self.markup = text
        self.parsed = _PARSER.parse(text)
        for token in self.parsed:
            token.children = [_as_text(child) for child in token.children] if token.children else token.children
        self.widest_table = _widest_table(self.parsed)


def _as_text(token: Token) -> Token:
    """Return an image as its name and address; any other token as it is."""
    if token.type != "image":
        return token
    address = str(token.attrs.get("src", ""))
    return Token("text", "", 0, content=f"[image: {token.content or 'unnamed'}] ({clean_line(address, 200)})")


def _widest_table(tokens: list[Token]) -> int:
    widest = columns = 0
    for token in tokens:
        if token.type == "tr_open":
            columns = 0
        elif token.type in ("th_open", "td_open"):
            columns += 1
            widest = max(widest, columns)
    return widest
