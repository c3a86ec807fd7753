"""What commands are for, and which two attempt the same."""

from __future__ import annotations

import pytest

from copilog.digest.command_kinds import kind_of, sort_of, words_of


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("python -m pytest -q tests", "test"),
        ("cd beds && npm run test:unit", "test"),
        ("FOO=1 go test ./...", "test"),
        ("./gradlew test", "test"),
        ("make test 2>&1 | tail -5", "test"),
        ("npm run build", "build"),
        ("make", "build"),
        ("cargo build --release", "build"),
        ("npx eslint src", "check"),
        ("npm run lint:fix", "check"),
        ("cargo clippy", "check"),
        ("python tides.py --station Norrvik", "run"),
        ("docker compose up -d", "run"),
        ("npm run dev", "run"),
        ("pip install -r requirements.txt", "install"),
        ("yarn", "install"),
        ("uv sync", "install"),
        ("git commit -m 'run the tests and build'", None),
        ("git restore src", None),
        ("kubectl get pods", None),
        ("gh run list", None),
        ("ls -la build", None),
        ("cat pytest.ini", None),
        ("grep -rn make src", None),
        ("python -c 'print(1)'", None),
        ("", None),
    ],
)
def test_what_a_command_is_for(command: str, kind: str | None) -> None:
    assert kind_of(command) == kind


def test_two_commands_of_a_program_attempt_the_same_and_two_scripts_do_not() -> None:
    assert sort_of("pytest -q") == sort_of("cd x && python -m pytest tests")
    assert sort_of("npm run build") != sort_of("npm run lint")
    assert sort_of("python a.py") == sort_of("python a.py --again")
    assert sort_of("python a.py") != sort_of("python b.py")


@pytest.mark.parametrize("command", ["grep -q tide x", "ls missing", "cd /nowhere", "test -f x", "python -c 'x'"])
def test_commands_that_look_at_something_attempt_nothing(command: str) -> None:
    assert sort_of(command) is None


def test_words_of_one_simple_command() -> None:
    assert words_of("pytest -k 'a b'") == ["pytest", "-k", "a b"]
    assert words_of("make test; rm x") is None
    assert words_of("make | tail") is None
    assert words_of("echo 'open") is None
