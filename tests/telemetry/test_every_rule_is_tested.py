"""The rule book and the tests know of each other: a rule without a test, or a test of no rule, is found here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
RULES = (ROOT / "docs" / "formats" / "telemetry.md").read_text(encoding="utf-8")
DEFINED = re.findall(r"^- \*\*R-(\d+)\*\*", RULES, flags=re.MULTILINE)


def rules_with_tests() -> dict[int, list[str]]:
    """Return the numbers that test functions have in their names, with those names."""
    tests: dict[int, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name, number in re.findall(r"^def (test_r(\d\d)_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            tests.setdefault(int(number), []).append(f"{path.name}::{name}")
    return tests


def test_the_rule_book_defines_each_rule_once_and_in_order() -> None:
    assert [int(number) for number in DEFINED] == list(range(1, 42))


@pytest.mark.parametrize("rule", ["R-40a", "N-1", "N-2", "N-3"])
def test_the_rule_book_has_its_smaller_rules(rule: str) -> None:
    assert RULES.count(f"**{rule}**") == 1


@pytest.mark.parametrize("rule", range(1, 42))
def test_every_rule_has_a_test_that_names_it(rule: int) -> None:
    assert rules_with_tests().get(rule, []) != []


def test_every_test_that_names_a_rule_names_one_that_exists() -> None:
    strangers = {number: names for number, names in rules_with_tests().items() if str(number) not in DEFINED}

    assert strangers == {}


def test_rules_that_are_mentioned_anywhere_in_the_book_are_defined() -> None:
    mentioned = set(re.findall(r"\bR-(\d+)\b", RULES))

    assert mentioned <= set(DEFINED)
