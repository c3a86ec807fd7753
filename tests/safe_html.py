"""Reads HTML that was made from untrusted text, and insists that nothing in it could do any harm."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import strategies as st

VOID = {"br", "hr", "img", "meta", "link", "input"}
TAGS = {
    "a", "blockquote", "br", "button", "code", "del", "details", "div", "em", "h3", "h4", "h5", "h6", "hr", "li",
    "mark", "ol", "p", "pre", "s", "samp", "span", "strong", "summary", "table", "tbody", "td", "th", "thead", "tr",
    "ul",
}  # fmt: skip
ATTRIBUTES = {"class", "href", "rel", "start", "tabindex", "target", "title", "type"}

# Text in which whatever means something to a parser, a terminal or a browser comes up again and again.
CONFUSING = [
    "```", "~~~", "`", "**", "*", "_", "~~", "[", "](", ")", "![", "<", ">", "&", "&lt;", "&#x27;", '"', "'", "|",
    "|-|-|", "\n", "\n\n", "\r", "\r\n", "\t", "    ", "- ", "1. ", "> ", "# ", "---", "===", "\\", "[a]: ", "[ ] ",
    "{", "}", ",", "<script>", "</script>", "</pre>", "</code></pre></div>", "<!--", "-->", "<![CDATA[",
    "<img src=x onerror=x()>", "<svg onload=x()>", "<style>", "</textarea>", "<iframe src=", "<a href=",
    "javascript:x()", "JaVaScRiPt&colon;x()", "data:text/html,", "file:///etc/passwd", "command:x", "vscode://x",
    "https://example.com/", "http://a@b.example/", "//host", "mailto:ana@example.com", "\x1b[", "\x1b]8;;", "\x07",
    "\x9b31m", "\x1b[38;5;200m", "\x1b[1;31m", "\x1b[K", "\x1b[2K", "\x08", "\x00", "\u202e", "\u2066", "\u200b",
    "\ufeff", "\ud83d", "\U000e0041", "@@ -1,2 +1,2 @@", "--- a/x", "+++ b/x", "+", "-", "@@ -999999999,1 +0,0 @@",
    "\\ No newline", "diff --git a/x b/x", "é", "漢", "🙂", "word ",
]  # fmt: skip
confusing_text = st.one_of(
    st.lists(st.sampled_from(CONFUSING), max_size=40).map("".join),
    st.lists(st.one_of(st.sampled_from(CONFUSING), st.text(max_size=8)), max_size=25).map("".join),
    st.text(max_size=200),
)


class Page(HTMLParser):
    """HTML that was read: its tags in order with their attributes, its words, and whether every tag was closed."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)

    def attributes(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def classes(self) -> set[str]:
        return {name for _, attributes in self.tags for name in attributes.get("class", "").split()}


def harmless(html: str) -> Page:
    """The page, if every element is closed and none is of a kind that we do not write ourselves."""
    page = Page(html)
    for tag, attributes in page.tags:
        assert tag in TAGS, tag
        assert set(attributes) <= ATTRIBUTES, attributes
        if "href" in attributes:
            assert attributes["href"].lower().startswith(("http://", "https://", "mailto:")), attributes
            assert attributes["rel"] == "noopener noreferrer nofollow"
    return page
