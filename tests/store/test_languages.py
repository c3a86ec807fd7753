"""The language of a file, by the id that VS Code recorded and by its name."""

from __future__ import annotations

import pytest

from copilog.store.languages import language_of


@pytest.mark.parametrize(
    ("path", "recorded", "language"),
    [
        ("/home/ana/tides.py", None, "Python"),
        ("/home/ana/tides.py", "python", "Python"),
        ("c:\\src\\Chart.TSX", None, "TypeScript"),
        ("/home/ana/chart", "typescriptreact", "TypeScript"),
        ("/home/ana/run.sh", "shellscript", "Shell"),
        ("/home/ana/Dockerfile", None, "Docker"),
        ("/home/ana/Dockerfile.dev", None, "Docker"),
        ("/home/ana/Makefile", None, "Makefile"),
        ("/home/ana/.gitignore", None, "Ignore list"),
        ("/home/ana/.env.local", None, "Environment"),
        ("/home/ana/CMakeLists.txt", "plaintext", "CMake"),
        ("/home/ana/notes.txt", None, "Plain text"),
        ("requirements.txt", "pip-requirements", "Requirements"),
        (None, "csharp", "C#"),
    ],
)
def test_ids_and_names_lead_to_one_name(path: str | None, recorded: str | None, language: str) -> None:
    assert language_of(path, recorded) == language


def test_the_language_that_vs_code_recorded_outranks_the_file_name() -> None:
    assert language_of("/home/ana/query.txt", "sql") == "SQL"


def test_plain_text_means_that_vs_code_does_not_know_the_language() -> None:
    assert language_of("/home/ana/lamp.zig", "plaintext") == "Zig"
    assert language_of("/home/ana/lamp.unheard", "plaintext") == "Plain text"


def test_an_unknown_language_id_is_shown_unchanged() -> None:
    assert language_of("/home/ana/lamp.lmp", "lampscript") == "lampscript"
    assert language_of("/home/ana/lamp.py", "lampscript") == "Python"


@pytest.mark.parametrize("path", [None, "", "/home/ana/go", "/home/ana/c", "/home/ana/v1.2/lamp", "/", "."])
def test_a_file_without_evidence_has_no_language(path: str | None) -> None:
    assert language_of(path, None) is None
    assert language_of(path, "") is None
