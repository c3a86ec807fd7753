"""Write texts as cells of CSV: harmless in a terminal, and never a formula in a program for tables."""

from __future__ import annotations

from copilog.view.terminal_text import clean

FORMULA_SIGNS = ("=", "+", "-", "@", "\t")  # with which a program for tables takes a cell for a formula


def csv_cell(text: str) -> str:
    """Return a text as a cell: control characters are visible, and an apostrophe precedes what would be a formula."""
    text = clean(text)
    return f"'{text}" if text.startswith(FORMULA_SIGNS) else text
