"""Writes the documentation as a website of plain pages: `make site`, into build/site."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from posixpath import relpath

from markdown_it import MarkdownIt

PROJECT = Path(__file__).parent.parent
ROOT_PAGES = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "benchmarks/results.md",
)
STYLE = """
:root { color-scheme: light dark; }
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.55 system-ui, sans-serif; }
pre { overflow-x: auto; padding: 0.75rem; border: 1px solid color-mix(in srgb, currentColor 20%, transparent); }
code { font-size: 0.9em; } table { display: block; overflow-x: auto; border-collapse: collapse; }
th, td { padding: 0.3rem 0.6rem; border: 1px solid color-mix(in srgb, currentColor 20%, transparent); }
th, td { vertical-align: top; }
img { max-width: 100%; } nav { font-size: 0.9rem; }
"""
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link rel="stylesheet" href="{root}style.css"></head>
<body><nav><a href="{root}index.html">copilog</a> · <a href="{root}docs/README.html">Documentation</a></nav>
<main>
{text}</main></body></html>
"""


def pages() -> list[Path]:
    """Return all pages, by their paths in the project."""
    named = [Path(name) for name in ROOT_PAGES]
    return [*named, *sorted(path.relative_to(PROJECT) for path in (PROJECT / "docs").rglob("*.md"))]


def write_site(folder: Path) -> None:
    """Write every page, with links between them, and the pictures."""
    shutil.rmtree(folder, ignore_errors=True)
    markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for page in pages():
        text = (PROJECT / page).read_text(encoding="utf-8")
        title = re.search(r"^# (.*)$", text, re.MULTILINE)
        html = with_anchors(markdown.render(text))
        target = folder / address_of(page)
        target.parent.mkdir(parents=True, exist_ok=True)
        root = "../" * (len(address_of(page).parts) - 1)
        written = PAGE.format(title=title[1] if title else page.stem, root=root, text=linked(html, page))
        target.write_text(written, encoding="utf-8")
    shutil.copytree(PROJECT / "docs" / "images", folder / "docs" / "images")
    (folder / "style.css").write_text(STYLE.lstrip(), encoding="utf-8")


def address_of(page: Path) -> Path:
    return Path("index.html") if page == Path("README.md") else page.with_suffix(".html")


def linked(html: str, page: Path) -> str:
    """Let links to pages lead to the HTML, from where the page is."""
    here = address_of(page).parent.as_posix()

    def new_address(found: re.Match[str]) -> str:
        file, mark, anchor = found[1].partition("#")
        if not file.endswith(".md") or "://" in file:
            return found[0]
        meant = (PROJECT / page.parent / file).resolve().relative_to(PROJECT)
        return f'href="{relpath(address_of(meant).as_posix(), here)}{mark}{anchor}"'

    return re.sub(r'href="([^"]+)"', new_address, html)


def with_anchors(html: str) -> str:
    """Give headings the ids that links in the documentation use."""

    def with_id(found: re.Match[str]) -> str:
        plain = re.sub(r"<[^>]+>", "", found[2])
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        return f'<h{found[1]} id="{anchor}">{found[2]}</h{found[1]}>'

    return re.sub(r"<h([1-6])>(.*?)</h\1>", with_id, html)


if __name__ == "__main__":
    write_site(Path(sys.argv[1]) if sys.argv[1:] else PROJECT / "build" / "site")
