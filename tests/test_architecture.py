"""Arrows point one way: who may import whom, checked in the source code itself."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "copilog"

FOUNDATIONS = {
    "model", "errors", "diagnostics", "jsonio", "sqliteio", "tags", "textdiff", "atomic_files", "text_cache",
    "derive", "intake", "fields", "uris", "version", "lazy_names", "patterns", "chat_json",
}  # fmt: skip
ANYTHING = {"*"}
MAY_IMPORT: dict[str, set[str]] = {
    "model": set(),
    "errors": set(),
    "version": set(),
    "diagnostics": {"model", "errors"},
    "jsonio": {"model", "errors"},
    "sqliteio": {"model", "errors", "intake"},
    "tags": {"model", "errors", "intake"},
    "textdiff": {"model", "errors"},
    "atomic_files": {"model", "errors"},
    "text_cache": {"model", "errors"},
    "patterns": {"model", "errors"},
    "intake": {"model", "errors", "diagnostics", "jsonio"},
    "lazy_names": set(),
    "derive": {"model", "errors", "textdiff", "text_cache", "lazy_names"},
    "fields": {"model", "errors", "jsonio"},
    "uris": {"model", "errors", "fields", "text_cache"},
    "chat_json": {"model", "errors", "jsonio", "fields", "uris", "derive"},
    "sources": FOUNDATIONS,
    "identity": FOUNDATIONS | {"similarity"},
    "similarity": FOUNDATIONS,
    "definitions": FOUNDATIONS,
    "detection": FOUNDATIONS | {"definitions"},
    "view": FOUNDATIONS,
    "render": FOUNDATIONS | {"analysis", "view"},
    "writers": FOUNDATIONS | {"view", "render"},
    "engine": FOUNDATIONS,
    "trajectory": FOUNDATIONS,
    "trajectory_compare": FOUNDATIONS,
    "redaction": FOUNDATIONS,
    "telemetry": FOUNDATIONS | {"engine", "trajectory"},
    "store": FOUNDATIONS,
    "analysis": FOUNDATIONS | {"store", "definitions", "detection"},
    "ingest": FOUNDATIONS
    | {"sources", "identity", "similarity", "detection", "definitions", "store", "engine", "telemetry", "trajectory"},
    "summaries": FOUNDATIONS | {"sources", "ingest"},
    "exports": FOUNDATIONS
    | {"trajectory", "telemetry", "view", "writers", "render", "redaction", "store", "analysis", "sources"},
    "digest": FOUNDATIONS | {"view", "writers", "redaction", "store", "analysis", "exports"},
    "recover": FOUNDATIONS | {"sources", "identity", "store", "exports"},
    "mcp": FOUNDATIONS | {"store", "analysis", "view", "writers", "redaction"},
    "sample": set(),
    "web": ANYTHING,
    "cli": ANYTHING,
    "__main__": {"cli", "analysis"},  # the status line has a quick way around the former
    # for type checkers; at run time names are looked up when used
    "__init__": FOUNDATIONS | {"sources", "ingest", "trajectory", "store", "analysis", "exports"},
}
# Nothing imports these, but for the modules named here.
SKINS = {"cli": {"__main__"}, "web": {"cli.serve"}}
# Libraries that belong to one room; msgspec is at home everywhere.
AT_HOME = {
    "click": {"cli"},
    "genai_prices": {"analysis"},
    "platformdirs": {"store"},
    "rich": {"cli", "writers"},
    "starlette": {"web"},
    "jinja2": {"web", "render"},
}


def wrong_imports(module: str, code: str) -> list[str]:
    """What a module, such as `sources.vscode.session_json`, imports and may not."""
    return [wrong for name in imported(ast.parse(code)) if (wrong := what_is_wrong(module, name))]


def imported(tree: ast.AST) -> Iterator[str]:
    """The full names of all that is imported, wherever in the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield from (f"{base}.{alias.name}" for alias in node.names)


def what_is_wrong(module: str, name: str) -> str | None:
    top, *inner = name.split(".")
    if top == "":
        return f"{module} imports {name}, which is relative"
    if top != "copilog":
        homes = AT_HOME.get(top)
        is_known = homes is None or module.split(".")[0] in homes
        return None if is_known else f"{module} imports {top}, which belongs to {' and '.join(sorted(homes or ()))}"
    return what_is_wrong_inside(module, inner)


def what_is_wrong_inside(module: str, target: list[str]) -> str | None:
    room, *place = module.split(".")
    other = target[0] if target and target[0] in MAY_IMPORT else "__init__"
    shown = ".".join(target)
    if other in SKINS and room != other and module not in SKINS[other]:
        return f"{module} imports {shown}, and nobody knows {other}"
    if other not in (room, *MAY_IMPORT.get(room, ())) and MAY_IMPORT.get(room) is not ANYTHING:
        return f"{module} imports {shown}, which {room} may not"
    if room == other == "sources" and place not in ([], ["catalogue"], ["known_places"]):
        neighbour = target[1] if len(target) > 1 else ""
        is_shared = (PACKAGE / "sources" / f"{neighbour}.py").is_file()  # families are folders
        if not is_shared and neighbour != place[0]:
            return f"{module} imports {shown}, and families of sources do not know each other"
    return None


def modules() -> list[tuple[str, Path]]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        parts = parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts
        found.append((".".join(parts), path))
    return found


@pytest.mark.parametrize(("module", "path"), modules(), ids=[name for name, _ in modules()])
def test_a_module_imports_only_what_its_room_may(module: str, path: Path) -> None:
    assert module.split(".")[0] in MAY_IMPORT, "a new room: say in MAY_IMPORT what it may import"
    assert wrong_imports(module, path.read_text(encoding="utf-8")) == []


def test_foundations_need_nothing_but_the_standard_library_and_msgspec() -> None:
    for module, path in modules():
        if module.split(".")[0] in FOUNDATIONS | {"sources", "identity", "ingest"}:
            names = {name.split(".")[0] for name in imported(ast.parse(path.read_text(encoding="utf-8")))}
            assert names - sys.stdlib_module_names <= {"copilog", "msgspec"}, module


def test_no_circle_of_rooms_is_allowed() -> None:
    def reached(room: str) -> set[str]:
        others = set() if MAY_IMPORT[room] is ANYTHING else MAY_IMPORT[room]
        return others.union(*(reached(other) for other in others))

    assert all(room not in reached(room) for room in MAY_IMPORT)


# Rooms that read what other programs wrote; the modules that open files of our own are named.
READS_FOREIGN_FILES = {"sources", "ingest", "definitions", "detection", "identity", "telemetry", "summaries"}
OPENS_OWN_FILES = {"ingest.named_paths", "ingest.file_notifications", "telemetry.spool"}


def files_opened(code: str) -> list[str]:
    """The calls that open or read a file by another way than the gate."""
    calls = [node.func for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    names = [call.id for call in calls if isinstance(call, ast.Name) and call.id == "open"]
    for call in calls:
        is_report = isinstance(call, ast.Attribute) and ast.unparse(call.value).endswith(("report", "tarfile"))
        if isinstance(call, ast.Attribute) and call.attr in ("open", "read_bytes", "read_text") and not is_report:
            names.append(ast.unparse(call))
    return names


def test_foreign_files_are_opened_by_the_gate_alone() -> None:
    for module, path in modules():
        if module.split(".")[0] in READS_FOREIGN_FILES and module not in OPENS_OWN_FILES:
            assert files_opened(path.read_text(encoding="utf-8")) == [], module


def test_the_check_finds_opened_files() -> None:
    assert files_opened("path.open('rb')\npath.read_bytes()\nopen(x)\nreport.open(x)") == [
        "open",
        "path.open",
        "path.read_bytes",
    ]


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("model.parts", "from copilog.diagnostics import Ledger"),
        ("errors", "import copilog.model"),
        ("jsonio", "from copilog import sqliteio"),
        ("jsonio", "from copilog import __version__"),
        ("identity", "from copilog.sources import Found"),
        ("writers.terminal", "from copilog.ingest import read"),
        ("sources.vscode.session_json", "from copilog import ingest"),
        ("sources.vscode.session_json", "from copilog.sources.cli.events import CliEvents"),
        ("sources.vscode.session_json", "from copilog.sources import cli"),
        ("sources.documents", "from copilog.sources.vscode.session_log import VSCodeSessionLog"),
        ("sources.vscode.session_json", "from copilog.sources import SOURCES"),
        ("sources.vscode.session_json", "from .base import Source"),
        ("sources.vscode.session_json", "def late():\n    import copilog.identity"),
        ("ingest", "from copilog.cli import run"),
        ("ingest", "from copilog.summaries import Summary"),
        ("cli.listing", "from copilog.web import app"),
        ("web.app", "from copilog.cli import run"),
        ("summaries", "import rich.table"),
        ("sources.base", "from click import echo"),
    ],
)
def test_the_check_finds_a_wrong_import(module: str, code: str) -> None:
    assert len(wrong_imports(module, code)) == 1


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("model.conversation", "import msgspec\nfrom copilog.model.parts import AnyPart"),
        ("sources.catalogue", "from copilog.sources.vscode.session_json import VSCodeSession"),
        ("sources.vscode.session_json", "from copilog.sources.vscode.conversation import conversation_from"),
        ("sources.vscode.session_json", "from copilog.sources.base import Found\nfrom copilog import jsonio, sqliteio"),
        (
            "sources.vscode.request",
            "from copilog.fields import rest\nfrom copilog.sources.roots import Root",
        ),
        ("ingest", "from copilog.sources.vscode.workspace import workspace_from\nfrom copilog import identity"),
        ("cli.listing", "import click\nfrom rich import table\nfrom copilog import __version__, ingest"),
        ("cli.serve", "from copilog.web import app"),
        ("__main__", "from copilog.cli import run"),
    ],
)
def test_the_check_lets_a_right_import_pass(module: str, code: str) -> None:
    assert wrong_imports(module, code) == []
