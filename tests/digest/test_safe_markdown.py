"""Recorded texts on pages: no HTML, no picture and no link to anything but the web, in any dialect of Markdown."""

from __future__ import annotations

import random
import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from copilog.digest.safe_markdown import link, passage, words
from copilog.writers.markdown_text import prose, span

PIECES = (
    "`", "``", "```", "~~~", "\n", "\n\n", "\n    ", "- ", "> ", "1. ", "<script>alert(1)</script>", "<b", "x>", "</p>",
    "<img src=x onerror=alert(1)>", "<!--", "-->", "<?php", "<![CDATA[", "[a](javascript:alert(1))", "[r]", "[a][r]",
    "![p](http://e/x.png)", "[r]: javascript:x\n", "# h\n", "===\n", "|a|b|\n|-|-|\n|`x|<i>`|\n", "\\", "&lt;", "&#60;",
    "<https://a.b>", "<javascript:alert(1)>", "word ", "\t", "[[w]]", "{: onclick=x}", "<a@b.c>", "*", "_", "\r",
    "[^1]: <svg onload=x>\n", "<https://a.b onclick=x>", "<http://x`y>",
    "{onclick=x}", "{:onclick=x}", "\n{: onclick=x }\n", "*a*{: onclick=x }", "# h {onclick=x}\n", "{{ x }}", "%% ",
)  # fmt: skip
TAGS = frozenset(
    "p ul ol li blockquote pre code h1 h2 h3 h4 h5 h6 a em strong hr br table thead tbody tr th td".split()  # noqa: SIM905
)


class Harm(HTMLParser):
    """Collects what no page may contain."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name.startswith("on") or (name in ("href", "src") and not re.match(r"https?://|#", value or "")):
                self.found.append(f"{tag} {name}={value}")
        if tag not in TAGS:
            self.found.append(tag)

    def handle_comment(self, data: str) -> None:
        self.found.append(f"comment {data}")

    def handle_pi(self, data: str) -> None:
        self.found.append(f"instruction {data}")

    def unknown_decl(self, data: str) -> None:
        self.found.append(f"declaration {data}")


def harm_in(html: str) -> list[str]:
    parser = Harm()
    parser.feed(html)
    return parser.found


def page_of(text: str) -> str:
    line = text.replace("\n", " ")
    return f"# x\n\n- item `c`\n\n{passage(text, 3)}\n\n*From x*\n\n- {words(text)}\n- {span(line)}\n"


def random_texts(number: int) -> list[str]:
    choice = random.Random()
    return ["".join(choice.choices(PIECES, k=choice.randint(1, 14))) for _ in range(number)]


def test_no_text_does_harm_in_commonmark() -> None:
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    for text in random_texts(1500):
        assert harm_in(reader.render(page_of(text))) == [], repr(text)


@pytest.mark.parametrize(
    "extensions", [["toc", "tables", "fenced_code"], ["extra", "toc", "admonition", "sane_lists", "attr_list"]]
)
def test_no_text_does_harm_in_python_markdown(extensions: list[str]) -> None:
    markdown = pytest.importorskip("markdown", reason="Markdown for Python, which MkDocs uses, is not installed")
    reader = markdown.Markdown(extensions=extensions)
    for text in random_texts(1500):
        assert harm_in(reader.reset().convert(page_of(text))) == [], repr(text)


def test_what_looks_like_a_code_span_across_items_is_none() -> None:
    reader = MarkdownIt("commonmark", {"html": True})
    for text in ("- `a\n- <img src=x onerror=y> `", "`a\n b` <img src=x onerror=y> `c`"):
        assert harm_in(reader.render(prose(text))) == []
        assert harm_in(reader.render(passage(text, 3))) == []
    assert "`Vec<T>`" in prose("see `Vec<T>`")
    assert "`Vec<T>`" in passage("see `Vec<T>`", 3)


def test_headings_are_below_those_of_the_page_and_keep_their_order() -> None:
    made = passage("# Plan\n\ntext\n\n## Steps\n\nOther\n=====\n", 3)

    assert re.findall(r"^#+ .*", made, re.MULTILINE) == ["### Plan", "#### Steps", "### Other"]


def test_code_and_addresses_stay() -> None:
    assert passage("```py\nif a < b: x()\n```", 3) == "```py\nif a < b: x()\n```"
    assert passage("[docs](https://a.example/b)", 3) == "[docs](https://a.example/b)"
    assert "src/a.py" in passage("[a](src/a.py)", 3)
    assert link("a", "pages/ä b.md", "turn-2") == "[a](pages/%C3%A4%20b.md#turn-2)"


def test_prose_has_no_lists_of_attributes_and_no_comments_of_obsidian() -> None:
    made = passage("# h {onclick=x}\n\n*a*{: onclick=x } %% hidden\n\n`{kept}` and `%%`", 3)

    assert "{" not in made.replace("`{kept}`", "")
    assert "%%" not in made.replace("`%%`", "")
    assert "`{kept}`" in made
