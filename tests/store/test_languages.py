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


def test_what_vs_code_recorded_counts_before_the_name_of_the_file() -> None:
    assert language_of("/home/ana/query.txt", "sql") == "SQL"


def test_plain_text_is_what_vs_code_says_when_it_does_not_know() -> None:
    assert language_of("/home/ana/lamp.zig", "plaintext") == "Zig"
    assert language_of("/home/ana/lamp.unheard", "plaintext") == "Plain text"


def test_an_id_that_nobody_has_heard_of_is_shown_as_it_is() -> None:
    assert language_of("/home/ana/lamp.lmp", "lampscript") == "lampscript"
    assert language_of("/home/ana/lamp.py", "lampscript") == "Python"


@pytest.mark.parametrize("path", [None, "", "/home/ana/go", "/home/ana/c", "/home/ana/v1.2/lamp", "/", "."])
def test_where_nothing_tells_there_is_no_language(path: str | None) -> None:
    assert language_of(path, None) is None
    assert language_of(path, "") is None
