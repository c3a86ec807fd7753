"""docs/recover.md has the table of causes."""

from __future__ import annotations

from pathlib import Path

from copilog.recover.causes import CAUSES

PAGE = Path(__file__).parents[2] / "docs" / "recover.md"


def test_each_cause_is_documented_as_it_is_printed() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("<!-- causes: begin -->")[2].partition("<!-- causes: end -->")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| `")]
    assert rows == [[f"`{name}`", cause.meaning] for name, cause in CAUSES.items()]
