"""A small made-up home folder, for use without any Copilot data, and for tests.

It is Ana's: a few projects and six weeks of conversations, in every form that VS Code has given them.
`tests/make_sample.py` writes it; nothing in it is real.
"""

from __future__ import annotations

from pathlib import Path


def home() -> Path:
    """Return the folder of the sample home."""
    return Path(__file__).parent / "home"
