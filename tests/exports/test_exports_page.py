"""docs/exports.md: the generated tables are current, and each format has a section."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from copilog.exports.dataset_card import schema_text
from copilog.exports.formats import MODULES
from tests.exports.field_table import table_text

PAGE = Path(__file__).parents[2] / "docs" / "exports.md"
OTHERS = {"html", "markdown"}  # described with the viewer and the command


@pytest.mark.parametrize("name", ["fields", "schema"])
def test_generated_tables_are_current(name: str, updates_golden: bool) -> None:
    text = table_text() if name == "fields" else schema_text(4).strip()
    page = PAGE.read_text(encoding="utf-8")
    expected = re.sub(
        rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)",
        lambda match: f"{match[1]}{text}{match[2]}",
        page,
        flags=re.DOTALL,
    )
    if updates_golden:
        PAGE.write_text(expected, encoding="utf-8")
    assert page == expected or updates_golden


@pytest.mark.parametrize("name", sorted(set(MODULES) - OTHERS))
def test_each_format_has_a_section(name: str) -> None:
    assert f"\n## {name}\n" in PAGE.read_text(encoding="utf-8")


def test_the_example_for_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    [example] = re.findall(r"```python\n(import tempfile.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec(example, {})
    assert int(capsys.readouterr().out.split()[0]) > 15
