"""The documentation says what the code does: every code, source, command, room and kind is in it, and examples run."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from pathlib import Path

import pytest

from copilog.cli import COMMANDS
from copilog.diagnostics import ADVICE, Ledger
from copilog.model import Notice
from copilog.sources import SOURCES
from copilog.sources.vscode import attachments, parts, prompt, tool_data
from copilog.sources.vscode.session_log import replay
from tests.test_architecture import ANYTHING, FOUNDATIONS, MAY_IMPORT

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
ROOMS = ROOT / "src" / "copilog"
CHAT = "formats/vscode-chat.md"
FILE = {"$mid": 1, "path": "/home/ana/notes.md", "scheme": "file"}
# Enough for a part of any kind.
ANY_PART = {
    "content": "words",
    "edits": [{"newResource": FILE}],
    "id": "1",
    "inlineReference": FILE,
    "treeData": {"label": "notes", "uri": FILE},
    "uri": FILE,
    "value": "words",
}


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def rows_of(text: str) -> list[list[str]]:
    """The cells of all table rows of a page."""
    lines = (line for line in text.splitlines() if line.startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def section(text: str, heading: str) -> str:
    """What stands below a heading, up to the next one of its level."""
    level = heading.partition(" ")[0]
    after = text.partition(f"\n{heading}\n")[2]
    return re.split(rf"^#{{1,{len(level)}}} ", after, maxsplit=1, flags=re.MULTILINE)[0]


def code_names(text: str) -> set[str]:
    """All that is set as code."""
    return set(re.findall(r"`([^`\n]+)`", text))


# --- diagnostics ----------------------------------------------------------------------------------------------------


def test_every_diagnostic_code_is_documented_with_its_advice() -> None:
    documented = {row[0].strip("`"): row[3] for row in rows_of(page("diagnostics.md")) if len(row) == 4}

    advice = {code: text for code, text in documented.items() if code not in ("Code", "---")}
    assert advice == ADVICE


@pytest.mark.parametrize("name", ["diagnostics.md", "identity.md"])
def test_every_row_of_a_table_has_as_many_cells_as_its_heading(name: str) -> None:
    tables = re.findall(r"(?:^\|.*\n)+", page(name), re.MULTILINE)

    assert tables
    assert [{len(row) for row in rows_of(table)} for table in tables] == [{len(rows_of(table)[0])} for table in tables]


def test_the_modules_that_the_page_on_merging_names_exist() -> None:
    named = set(re.findall(r"`(\w+\.py)`", page("identity.md")))

    assert named
    assert named <= {path.name for path in (ROOMS / "identity").glob("*.py")}


def test_the_documented_levels_are_levels() -> None:
    table = [row for row in rows_of(page("diagnostics.md")) if len(row) == 4][2:]

    assert {level for row in table for level in row[1].split(", ")} == {"error", "warning", "info"}


# --- formats --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [source.name for source in SOURCES])
def test_every_source_is_documented(source: str) -> None:
    assert source in code_names(page("formats/README.md"))
    pages = [path for path in DOCS.glob("formats/*.md") if path.name != "README.md"]
    assert any(source in code_names(path.read_text(encoding="utf-8")) for path in pages)


@pytest.mark.parametrize("heading", ["The session log", "Tool calls", "Tool results"])
def test_the_headings_that_the_code_refers_to_exist(heading: str) -> None:
    assert section(page(CHAT), f"## {heading}").strip()


def test_every_kind_of_response_part_is_in_the_table() -> None:
    described = code_names(section(page(CHAT), "## Response parts"))

    assert set(parts.READERS) | {"toolInvocationSerialized", "prepareToolInvocation"} <= described


@pytest.mark.parametrize("kind", parts.READERS)
def test_a_kind_of_response_part_becomes_what_the_table_says(kind: str) -> None:
    row = next(row for row in rows_of(section(page(CHAT), "## Response parts")) if f"`{kind}`" in row[0])

    made = parts.READERS[kind](copy.deepcopy(ANY_PART))
    part = made[0] if isinstance(made, list) else made

    said = re.fullmatch(r"`(\w+)`(?: \((.*)\))?", row[1])
    assert said is not None
    assert said[1] == type(part).__name__
    if said[2] is not None:
        assert (part.topic if isinstance(part, Notice) else getattr(part, "type", None)) in said[2].split(", ")


def test_every_kind_of_tool_data_and_every_mention_is_in_a_table() -> None:
    assert set(tool_data.READERS) <= code_names(section(page(CHAT), "## Tool calls"))
    assert set(prompt.MENTIONS) <= code_names(section(page(CHAT), "### The message"))


def test_every_kind_of_variable_is_in_the_table_with_our_type() -> None:
    described: dict[str, str] = {}
    for row in rows_of(section(page(CHAT), "### Variables")):
        described[row[0].strip("`")], described[row[3].strip("`")] = row[1], row[4]

    assert attachments.TYPES.items() <= described.items()


def test_the_example_of_a_log_replays_as_the_page_says() -> None:
    lines = re.findall(r"```jsonl\n(.*?)```", section(page(CHAT), "## The session log"), re.DOTALL)[0]
    ledger = Ledger()

    state = replay(lines.encode(), ledger).state

    assert [part["value"] for part in state["requests"][0]["response"]] == ["Good morning"]
    assert (ledger.used, ledger.bad, ledger.notes) == (4, [], [])


# --- commands and rooms ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented(command: str) -> None:
    assert f"copilog {command}" in page("cli.md")


def rooms() -> list[str]:
    """What stands in the package: its modules and folders."""
    names = [path.stem for path in ROOMS.iterdir() if path.suffix == ".py"]
    names += [path.name for path in ROOMS.iterdir() if (path / "__init__.py").exists()]
    return sorted(names)


def documented_imports() -> dict[str, str]:
    table = {row[0].strip("`"): row[2] for row in rows_of(page("architecture.md")) if len(row) == 3}
    return {room: allowed for room, allowed in table.items() if room not in ("Room", "---")}


def test_the_architecture_table_lists_exactly_the_rooms() -> None:
    assert sorted(documented_imports()) == rooms()


@pytest.mark.parametrize("room", rooms())
def test_the_architecture_table_matches_the_allowed_imports(room: str) -> None:
    said = documented_imports().get(room, "")

    if said == "anything":
        assert MAY_IMPORT[room] is ANYTHING
    else:
        named = code_names(said) | (FOUNDATIONS if "foundations" in said else set())
        assert named == MAY_IMPORT[room] & set(rooms())


# --- examples and links ---------------------------------------------------------------------------------------------


def test_the_example_of_a_source_runs(tmp_path: Path) -> None:
    module, test = re.findall(r"```python\n(.*?)```", page("adding-a-source.md"), re.DOTALL)
    script = tmp_path / "polly.py"
    script.write_text(module + test, encoding="utf-8")

    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.md")), ids=lambda path: str(path.relative_to(DOCS)))
def test_links_in_the_documentation_are_valid(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        other = (path.parent / file).resolve() if file else path
        assert other.exists(), f"{target} leads nowhere"
        if anchor:
            assert anchor in anchors_of(other), f"{target} names no heading"


def anchors_of(path: Path) -> set[str]:
    """The anchors that headings get where Markdown is shown on the web."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
