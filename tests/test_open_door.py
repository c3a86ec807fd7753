"""What welcomes others: workflows, templates, guides, and the version are true, and name no address."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from copilog import __version__
from tests.docs_site import linked, pages, write_site
from tests.soak import table_of

PROJECT = Path(__file__).parent.parent
WORKFLOWS = sorted((PROJECT / ".github" / "workflows").glob("*.yml"))
YAML = [*WORKFLOWS, *sorted((PROJECT / ".github").rglob("*.yml")), PROJECT / ".pre-commit-config.yaml"]
GUIDES = [PROJECT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")]
CONTACTS = PROJECT / "docs" / "contacts.md"
MAKEFILE = (PROJECT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
ADDRESS = re.compile(r"\w+://|\b[\w.]+@[\w-]+\.\w+|\bwww\.")


def steps_of(workflow: Path) -> Iterator[dict[str, Any]]:
    for job in yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"].values():
        yield from job["steps"]


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_configuration_is_valid_yaml(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_only_what_there_is(workflow: Path) -> None:
    content = yaml.safe_load(workflow.read_text(encoding="utf-8"))
    assert content["permissions"] == {"contents": "read"}, "rights are given to single jobs"
    for step in steps_of(workflow):
        command = step.get("run", "")
        assert command or re.fullmatch(r"[\w-]+/[\w-]+@[\w./]+", step["uses"])
        for target in re.findall(r"\bmake ([a-z-]+)", command):
            assert target in TARGETS, target
        for file in re.findall(r"(?<![\w/])((?:\.ci|src|requirements|tests)/[\w./-]+)", command):
            assert (PROJECT / file).exists(), file


def test_the_tests_run_on_three_systems_with_every_python_that_is_named() -> None:
    jobs = yaml.safe_load((PROJECT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))["jobs"]
    matrix = jobs["systems"]["strategy"]["matrix"]
    classifiers = (PROJECT / "pyproject.toml").read_text(encoding="utf-8")

    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert re.findall(r"Python :: (3\.\d+)", classifiers) == matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]


def test_a_release_needs_the_tag_of_the_version_and_stores_no_token() -> None:
    text = (PROJECT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    module = (PROJECT / "src" / "copilog" / "version.py").read_text(encoding="utf-8")
    [version] = re.findall(r'^__version__ = "(.*)"', module, re.MULTILINE)

    assert 's/^__version__ = "\\(.*\\)"/\\1/p' in text
    assert version == __version__
    assert "id-token: write" in text
    assert "secrets." not in text


def test_dependencies_that_are_updated_are_where_the_locks_are() -> None:
    updates = yaml.safe_load((PROJECT / ".github" / "dependabot.yml").read_text(encoding="utf-8"))["updates"]

    for update in updates:
        assert (PROJECT / update["directory"].strip("/")).is_dir()
    assert {update["package-ecosystem"] for update in updates} == {"pip", "npm", "github-actions"}


def test_the_newest_section_of_the_changelog_is_that_of_the_version() -> None:
    changelog = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")

    first = re.search(r"^## (\S+)", changelog, re.MULTILINE)
    assert first is not None
    assert first[1] == __version__


@pytest.mark.parametrize(
    "path",
    [*GUIDES, *YAML, PROJECT / "pyproject.toml", PROJECT / ".github/pull_request_template.md"],
    ids=lambda path: path.name,
)
def test_addresses_are_only_on_the_page_of_contacts(path: Path) -> None:
    assert ADDRESS.findall(path.read_text(encoding="utf-8")) == []


def test_contacts_are_all_empty_or_all_there() -> None:
    rows = re.findall(r"^\| (.+?) \|(.*)\|$", CONTACTS.read_text(encoding="utf-8"), re.MULTILINE)[1:]

    assert len(rows) == 6
    assert len({bool(address.strip()) for _, address in rows}) == 1
    for guide in GUIDES:
        assert "docs/contacts.md" in guide.read_text(encoding="utf-8")


def test_the_guide_names_only_files_folders_and_targets_that_exist() -> None:
    guide = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")

    for name in re.findall(r"`((?:src|tests|docs|conformance|benchmarks|assets|requirements)/[\w./-]*)`", guide):
        assert (PROJECT / name).exists(), name
    for target in re.findall(r"(?:`|^)make ([a-z-]+)", guide, re.MULTILINE):
        assert target in TARGETS, target


def test_every_page_can_be_reached_from_the_index() -> None:
    reached: set[Path] = set()
    waiting = [PROJECT / "docs" / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        links = re.findall(r"\]\(([^)\s#]+)", page.read_text(encoding="utf-8"))
        waiting += [(page.parent / target).resolve() for target in links if "://" not in target]

    assert set((PROJECT / "docs").rglob("*.md")) <= reached


def test_the_site_has_every_page_and_no_dead_link(tmp_path: Path) -> None:
    write_site(tmp_path / "site")

    for file in (tmp_path / "site").rglob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#]+)', file.read_text(encoding="utf-8")):
            meant = (file.parent / target).resolve()
            if "://" not in target and meant.is_relative_to(tmp_path / "site"):
                assert meant.exists() or not target.endswith((".html", ".png", ".css")), (file.name, target)
    assert len(list((tmp_path / "site").rglob("*.html"))) == len(pages())


def test_links_between_pages_become_links_between_pages_of_the_site() -> None:
    assert linked('<a href="docs/cli.md#copilog-list">', Path("README.md")) == '<a href="docs/cli.html#copilog-list">'
    assert linked('<a href="../README.md">', Path("docs/cli.md")) == '<a href="../index.html">'


def test_a_soak_becomes_a_table_with_its_seed(tmp_path: Path) -> None:
    properties = '<properties><property name="soak" value="{}"/><property name="cases" value="{}"/></properties>'
    case = f"<testcase>{properties}{{}}</testcase>"
    cases = [case.format("fuzz", 300, ""), case.format("fuzz", 12, "<failure/>"), case.format("kills", 30, "")]
    (tmp_path / "soak.xml").write_text(f"<testsuites><testsuite>{''.join(cases)}<testcase/></testsuite></testsuites>")

    table = table_of(tmp_path / "soak.xml", 10, 4711, 90)

    assert "seed 4711, 10 times" in table
    assert re.search(r"^\| `fuzz` .* \| 2 \| 312 \| 1 \| 0 \|$", table, re.MULTILINE)
    assert re.search(r"^\| `kills` .* \| 1 \| 30 \| 0 \| 0 \|$", table, re.MULTILINE)


COUNTED = """
from hypothesis import given, settings, strategies as st

@settings(max_examples=20)
@given(st.integers())
def test_anything(number): pass
"""


def test_a_soak_multiplies_the_examples_of_a_test_and_counts_them(tmp_path: Path) -> None:
    (tmp_path / "test_counted.py").write_text(COUNTED)
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(tmp_path), "-p", "tests.soaking"]
    options = ["-m", "soak(kind='fuzz')", f"--junit-xml={tmp_path / 'soak.xml'}", str(tmp_path)]

    done = subprocess.run(
        [*command, *options],
        cwd=PROJECT,
        env={**os.environ, "COPILOG_SOAK": "3"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "| 1 | 60 | 0 | 0 |" in table_of(tmp_path / "soak.xml", 3, 1, 1)
