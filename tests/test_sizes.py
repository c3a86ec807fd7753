"""Code stays of a size that can be read, and docs/architecture.md states the sizes that this computes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
PACKAGE = PROJECT / "src" / "copilog"
PAGE = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")

MOST_LINES_OF_A_MODULE = 500
MOST_LINES_OF_A_FUNCTION = 60
MODULES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted(Path(__file__).parent.rglob("test_*.py"))
# Modules of writers/html that draw a single text.
TEXTS = {
    f"{name}.py"
    for name in (
        "changed_words", "characters", "code", "diff_lines", "diffs", "language_names", "links", "markdown", "terminal",
    )
}  # fmt: skip
OF_CONVERSATIONS = [
    *(PACKAGE / "writers").glob("*.py"),
    *(path for path in (PACKAGE / "writers" / "html").glob("*.py") if path.name not in TEXTS),
    *(PACKAGE / "exports" / name for name in ("html.py", "markdown.py")),
]
OF_RECORDS = [PACKAGE / "intake" / name for name in ("records.py", "joined_records.py")]


def lines_in(paths: Iterable[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def sizes_of_functions(path: Path) -> dict[str, int]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {function.name: (function.end_lineno or 0) - function.lineno + 1 for function in functions}


def test_modules_and_functions_are_of_a_readable_size() -> None:
    modules = {str(path.relative_to(PROJECT)): lines_in([path]) for path in [*MODULES, *TESTS]}
    functions = {(path.stem, name): size for path in MODULES for name, size in sizes_of_functions(path).items()}

    assert {name: size for name, size in modules.items() if size > MOST_LINES_OF_A_MODULE} == {}
    assert {name: size for name, size in functions.items() if size > MOST_LINES_OF_A_FUNCTION} == {}


@pytest.mark.parametrize(
    ("what", "paths", "goal"),
    [
        ("Writers of conversations", OF_CONVERSATIONS, 4_500),
        ("JSON lines and their damage", OF_RECORDS, 500),
    ],
)
def test_the_page_on_architecture_states_the_size(what: str, paths: list[Path], goal: int) -> None:
    entry = re.search(rf"^- {what}[^-]*?fewer\s+than\s+([\d,]+)\s+lines", PAGE, re.MULTILINE)
    assert entry is not None
    stated = int(entry[1].replace(",", ""))

    assert 0.9 * stated < lines_in(paths) < stated <= goal
