"""docs/metrics.md defines every figure, and no others."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from copilog.analysis.figures import SpendRow, Stats
from copilog.analysis.graphs import Graph

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([\w.*]+)` \| (.+?) \| .+ \|$", PAGE, re.MULTILINE))
STATUSLINE = {name for name in ROWS if name.startswith("statusline.")}
EVIDENCE = {name for name in ROWS if name.startswith(("blame.", "commit.", "survival."))}


def figures_in(struct: type[msgspec.Struct], above: str = "") -> Iterator[str]:
    """Yield the full names of all fields, down to the columns of tables."""
    for name, kind in typing.get_type_hints(struct).items():
        rows = struct_in(kind)
        full = f"{above}.{name}" if above else name
        if not (rows is not None and not above):  # a section itself is not a figure
            yield full
        if rows is not None:
            yield from figures_in(rows, f"{above}.*" if rows is SpendRow else full)


def struct_in(kind: Any) -> type[msgspec.Struct] | None:
    """Return the struct that a field holds, whether alone, optional, or in a list."""
    if typing.get_origin(kind) is None and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    return next((found for part in typing.get_args(kind) if (found := struct_in(part)) is not None), None)


FIGURES = sorted({*figures_in(Stats), *(f"graph.{name}" for name in ("nodes", "edges")), *figures_in(Graph, "graph")})


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_is_defined(figure: str) -> None:
    assert figure in ROWS, f"docs/metrics.md has no row for {figure}"
    assert ROWS[figure].endswith("."), "a definition is a sentence"


def test_the_page_defines_no_missing_figures() -> None:
    assert ROWS.keys() - STATUSLINE - EVIDENCE - set(FIGURES) == set()


def test_every_line_of_the_status_line_is_defined() -> None:
    from copilog.analysis import statusline

    assert {f"statusline.{name}" for name in statusline.Status._fields} == STATUSLINE


@pytest.mark.parametrize("figure", sorted(EVIDENCE))
def test_every_figure_named_on_the_page_exists(figure: str) -> None:
    from copilog.analysis.lineage.blame import BlameResult
    from copilog.analysis.lineage.commits import CommitResult
    from copilog.analysis.lineage.survival import Survival

    kinds: dict[str, type[msgspec.Struct]] = {"blame": BlameResult, "commit": CommitResult, "survival": Survival}
    names = {name for above, kind in kinds.items() for name in figures_in(kind, above)}
    assert figure in names
