"""Every code that the sources give to a diagnostic comes with advice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import copilog
from copilog.diagnostics import ADVICE

SOURCE_FILES = sorted(Path(copilog.__file__).parent.rglob("*.py"))
# Where the code stands among the arguments of each method and each class that takes one.
METHODS = {"note": 0, "reject": 0, "reject_part": 2}
CLASSES = {"Repair": 0, "Diagnostic": 0, "BadRecord": 1, "BadFile": 1}


def codes_in(tree: ast.AST) -> Iterator[str]:
    """Yield the codes that are written out in calls, and in the defaults of parameters named `code`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            position = position_of_code(node.func)
            if position is None:
                continue
            given = [*node.args[position : position + 1], *(word.value for word in node.keywords if word.arg == "code")]
            for argument in given:
                yield from texts_in(argument)
        elif isinstance(node, ast.FunctionDef):
            pairs = zip(reversed(node.args.args), reversed(node.args.defaults), strict=False)
            for parameter, default in pairs:
                if parameter.arg == "code":
                    yield from texts_in(default)


def position_of_code(called: ast.expr) -> int | None:
    if isinstance(called, ast.Attribute):
        return METHODS.get(called.attr, CLASSES.get(called.attr))
    return CLASSES.get(called.id) if isinstance(called, ast.Name) else None


def texts_in(node: ast.expr) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value


def test_every_code_has_its_advice() -> None:
    missing = {
        f"{path.name}: {code}"
        for path in SOURCE_FILES
        for code in codes_in(ast.parse(path.read_text(encoding="utf-8")))
        if code not in ADVICE
    }

    assert missing == set()


def test_the_codes_are_found_at_all() -> None:
    tree = ast.parse(
        'ledger.note("a" if x else "b", "reason")\n'
        'raise BadRecord("reason", "c")\n'
        'ledger.reject_part("reason", "/p", code="d")\n'
        'def reject(self, code: str = "e") -> None: ...\n'
        'ledger.note(error.code, "reason")\n'
    )

    assert sorted(codes_in(tree)) == ["a", "b", "c", "d", "e"]
