"""`copilog memories`, and collections of memories in `copilog list`."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.cli.homes import run

HOME = Path(__file__).parent.parent / "data" / "memories" / "ana"
PATHS = [
    "/memories/notes/moon.md",
    "/memories/preferences.md",
    "/memories/repo/build.md",
    "/memories/session/findings.md",
    "/memories/session/plan.md",
]


@pytest.fixture
def archive(tmp_path: Path) -> str:
    path = str(tmp_path / "archive.db")
    assert run("--archive", path, "scan", "--root", str(HOME)).code == 0
    return path


def test_memories_of_all_scopes_are_listed_with_their_size_and_age(archive: str) -> None:
    outcome = run("--archive", archive, "--no-scan", "memories")

    assert (outcome.code, outcome.err) == (0, "5 memories\n")
    assert [line for line in outcome.out.splitlines() if line and not line.startswith(" ")] == [
        "user", "repository", "session",
    ]  # fmt: skip
    assert "/memories/preferences.md  46 characters; changed " in outcome.out
    assert "Metric units" not in outcome.out
    assert "Metric units" in run("--archive", archive, "--no-scan", "memories", "--full").out


def test_json_and_csv_have_the_same_fields(archive: str) -> None:
    found = run("--archive", archive, "--no-scan", "memories", "--json", "--full").json
    rows = list(csv.DictReader(io.StringIO(run("--archive", archive, "--no-scan", "memories", "--csv").out)))

    assert [each["path"] for each in found] == PATHS
    assert [row["path"] for row in rows] == PATHS
    assert {each["scope"] for each in found} == {"user", "repository", "session"}
    assert {row["uses"] for row in rows} == {""}  # unknown: no conversation records any
    assert found[1]["text"].startswith("# Preferences")


def test_a_scope_and_a_workspace_choose(archive: str) -> None:
    def paths(*options: str) -> list[str]:
        return [each["path"] for each in run("--archive", archive, "--no-scan", "memories", "--json", *options).json]

    assert paths("--scope", "repository", "--scope", "user") == PATHS[:3]
    assert paths("-w", "no such folder") == []
    assert run("--archive", archive, "--no-scan", "memories", "--scope", "moon").code == 2


def test_collections_are_no_conversations_and_what_only_a_memory_is_left_of_says_so(archive: str) -> None:
    outcome = run("--archive", archive, "--no-scan", "list")

    assert outcome.err == "1 conversation; 2 collections of memories (copilog memories)\n"
    assert "[memory]" in outcome.out
    assert run("--archive", archive, "--no-scan", "stats", "totals", "--json").json["conversations"] == 1
    assert "only a memory of it is left" in run("--archive", archive, "--no-scan", "show", "7d1f0000").out


def test_a_hit_names_its_document(archive: str) -> None:
    outcome = run("--archive", archive, "--no-scan", "search", "moon in:memory")

    assert outcome.out.splitlines()[1].split()[:2] == ["memory", "/memories/notes/moon.md:"]


@pytest.mark.parametrize(("kind", "name"), [("bundle", "all.copilog.zip"), ("json", "all.jsonl")])
def test_what_is_exported_whole_has_the_memories_of_no_conversation(
    archive: str, tmp_path: Path, kind: str, name: str
) -> None:
    path, other = tmp_path / name, str(tmp_path / "other.db")
    assert run("--archive", archive, "--no-scan", "export", "--all", "-f", kind, "-o", str(path)).code == 0
    assert run("--archive", other, "scan", str(path)).code == 0

    assert [each["path"] for each in run("--archive", other, "--no-scan", "memories", "--json").json] == PATHS
