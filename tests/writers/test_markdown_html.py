"""Prose: reads as its writer meant it, and can do nothing else, however it was written."""

from __future__ import annotations

import pytest
from hypothesis import given

from copilog.writers.html import markdown, markdown_html
from tests.safe_html import confusing_text, harmless


def test_an_answer_is_rendered_as_markdown() -> None:
    page = harmless(
        markdown_html(
            "# Plan\n\nRun **both** and ~~one~~ *two*, then `make`.\n\n1. first\n2. second\n\n> said\n\n---\n\n"
            "| name | count |\n|:--|--:|\n| a | 12 |\n"
        )
    )
    tags = [tag for tag, _ in page.tags]
    for tag in ("h3", "strong", "s", "em", "code", "ol", "blockquote", "hr", "table", "th"):
        assert tag in tags
    assert page.attributes("td")[1] == {"class": "right"}
    assert "Run both and one two, then make." in page.text


def test_a_list_of_things_to_do_has_boxes() -> None:
    assert harmless(markdown_html("- [ ] sow\n- [x] reap\n- [y] rest")).text.split() == [
        "☐", "sow", "☑", "reap", "[y]", "rest",
    ]  # fmt: skip


def test_code_has_its_language_its_colours_and_a_button() -> None:
    page = harmless(markdown_html("```py title=a\ndef f():\n    return '</code>'\n```"))
    assert page.text == "py title=aCopydef f():\n    return '</code>'"
    assert {"code", "code-bar", "copy", "hl-keyword", "hl-string"} <= page.classes()


def test_an_answer_that_breaks_off_in_a_code_block_is_shown_to_its_end() -> None:
    page = harmless(markdown_html("Here:\n\n```python\nx = 'half"))
    assert page.text.endswith("x = 'half")
    assert page.attributes("pre")


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JAVASCRIPT:alert(1)",
        "java&#115;cript:alert(1)",
        "&#x6A;avascript:alert(1)",
        "data:text/html;base64,PHNjcmlwdD4=",
        "data:image/png;base64,AAAA",
        "vbscript:x",
        "file:///etc/passwd",
        "command:workbench.action.terminal.new",
        "vscode://ana.extension/run",
        "//example.com/x",
        "src/app.py",
        "../../etc/passwd",
        "#here",
        "http:\\\\example.com",
        "https://github.com\\@example.com/",
        "https://github.com@example.com/",
        "http://[::1",
        "http://_vscodecontentref_/1",
        "https://",
        "mailto:",
        "https://example.com/" + "x" * 5000,
    ],
)
def test_links_that_are_not_web_addresses_are_text_with_a_title(address: str) -> None:
    for text in (f"[label](<{address}>)", f"[label][1]\n\n[1]: <{address}>", f"![label](<{address}>)"):
        page = harmless(markdown_html(text))
        assert not page.attributes("a")
        assert not page.attributes("img")
        assert "label" in page.text


def test_a_link_says_where_it_leads() -> None:
    page = harmless(markdown_html('[docs](https://Example.com/a?b#c "The docs") and <mailto:ana@example.com>'))
    first, second = page.attributes("a")
    assert first["title"] == "The docs (example.com)"
    assert first["target"] == "_blank"
    assert second["href"] == "mailto:ana@example.com"


def test_a_link_that_looks_like_another_host_shows_the_true_one() -> None:
    assert "(evil.example)" in harmless(markdown_html("[https://github.com/login](https://evil.example/)")).text
    assert "(evil.example)" in harmless(markdown_html("[github.com](https://evil.example/)")).text
    assert "(" not in harmless(markdown_html("[www.example.com/x](https://example.com/x)")).text
    assert "(" not in harmless(markdown_html("[the docs](https://example.com/x)")).text


def test_a_host_of_look_alike_letters_is_spelled_in_ascii() -> None:
    page = harmless(markdown_html("[gіthub](https://gіthub.com/) https://gіthub.com/x"))
    for link in page.attributes("a"):
        assert link["href"].startswith("https://xn--")
        assert link["title"].startswith("xn--")


def test_bare_addresses_become_links_without_the_punctuation_behind_them() -> None:
    page = harmless(markdown_html("See https://example.com/a_(b), or (http://example.org). `https://example.net`"))
    assert [link["href"] for link in page.attributes("a")] == ["https://example.com/a_(b)", "http://example.org"]


def test_pictures_from_the_web_are_not_fetched() -> None:
    page = harmless(
        markdown_html("![a chart](https://example.com/p.png) [![badge](https://a.example/b.svg)](https://b.example)")
    )
    assert "image: a chart (example.com)" in page.text
    assert [link["href"] for link in page.attributes("a")] == ["https://example.com/p.png", "https://b.example"]


def test_html_is_text() -> None:
    text = "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n</div></div><b>bold</b> <!-- hidden -->"
    page = harmless(markdown_html(text))
    for piece in (
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "</div></div><b>bold</b> <!-- hidden -->",
    ):
        assert piece in page.text


def test_invisible_characters_are_named() -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey me")
    page = harmless(markdown_html(f"safe\u202etxt.exe zero\u200b\u200b\u200bwidth tag{hidden} nul\x00 half\ud83d"))
    assert page.text.strip() == "safe⟨U+202E⟩txt.exe zero⟨U+200B ×3⟩width tag⟨hidden: obey me⟩ nul␀ half\ufffd"


def test_letters_that_are_joined_by_joiners_stay_joined() -> None:
    family = "👩\u200d👧 می\u200cخواهم"
    assert harmless(markdown_html(family)).text.strip() == family


def test_a_thousand_nested_quotes_lose_no_text() -> None:
    page = harmless(markdown_html("> " * 1000 + "deep down\n\nand on"))
    assert "deep down" in page.text
    assert "and on" in page.text
    assert len(page.attributes("blockquote")) <= markdown.DEEPEST_BLOCK


def test_deeply_nested_lists_lose_no_text() -> None:
    page = harmless(markdown_html("\n".join("  " * depth + f"- item{depth}" for depth in range(300))))
    assert all(f"item{depth}" in page.text for depth in range(300))


def test_a_table_of_ten_thousand_columns_does_not_grow_with_every_row() -> None:
    columns = 10_000
    text = "|".join("a" * columns) + "\n" + "|".join("-" * columns) + "\n" + "|\n" * 2_000
    assert len(markdown_html(text)) < 20 * len(text)


def test_a_short_name_for_a_long_address_does_not_multiply_it() -> None:
    text = "[a]: https://example.com/" + "x" * 1_900 + "\n\n" + "[a] " * 20_000
    assert len(markdown_html(text)) < 5_000_000
    assert len(harmless(markdown_html(text)).text) >= len("[a] " * 20_000)


@pytest.mark.parametrize(
    "text", ["[" * 150_000, "![" * 50_000, "a*" * 60_000, "`a``" * 30_000, "<" * 150_000, "a\n" * 70_000]
)
def test_texts_made_to_be_slow_are_rendered_completely(text: str) -> None:
    page = harmless(markdown_html(text))
    assert [page.text.count(sign) for sign in "a[<"] == [text.count(sign) for sign in "a[<"]


def test_a_huge_text_is_shown_plainly_and_cut_with_a_note() -> None:
    text = "# word\n" * 40_000
    page = harmless(markdown_html(text))
    assert page.text == text
    long = harmless(markdown_html("x" * 2_500_000))
    assert long.text.endswith("500,000 more characters not shown here")


@given(confusing_text)
def test_any_markdown_gives_valid_html(text: str) -> None:
    harmless(markdown_html(text))
