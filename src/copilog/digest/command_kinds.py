"""Tell commands that build, test, check, run or install a project from those that look at it."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from copilog.digest.content import CommandKind
from copilog.store.programs import FILTERS, PREPARATIONS, programs_of


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Programs that do one thing, whatever their arguments.
_PROGRAMS: dict[CommandKind, frozenset[str]] = {
    "test": _names(
        "ava behave bats ctest cypress jest karma mocha nose2 nox phpunit pytest rspec tap testem tox unittest vitest"
    ),
    "check": _names(
        "actionlint ansible-lint bandit biome black clippy cspell eslint flake8 golangci-lint hadolint isort knip "
        "ktlint markdownlint mypy oxlint phpstan prettier pylint pyright rubocop ruff shellcheck shfmt standard "
        "staticcheck stylelint tflint vulture yamllint"
    ),
    "build": _names(
        "ant bazel build cc clang clang++ cl cmake esbuild g++ gcc hugo javac kotlinc make meson mkdocs msbuild ninja "
        "parcel rollup rustc sbt scons sphinx-build swc tsc tsup turbo vite webpack xcodebuild"
    ),
    "run": _names("flask gunicorn hypercorn nodemon streamlit uvicorn ts-node tsx"),
}
# The last word of a program with a sub-command: `npm run build`, `cargo test`, `make lint`.
_SUB_COMMANDS: dict[CommandKind, frozenset[str]] = {
    "test": _names("check-tests coverage e2e spec test tests unit verify"),
    "check": _names("clippy fmt format lint pre-commit typecheck type-check vet"),
    "build": _names("assemble build bundle compile dist make package publish release"),
    "run": _names("dev preview run serve server start up watch"),
    "install": _names("add bootstrap ci deps get install restore setup sync"),
}
_BY_SUB_COMMAND = {word: kind for kind, words in _SUB_COMMANDS.items() for word in words}
_BY_PROGRAM = {program: kind for kind, programs in _PROGRAMS.items() for program in programs}
# Programs whose sub-commands have other meanings.
_OTHER = _names(
    "az aws brew code copilot firebase flux fly gcloud gh git glab helm heroku hg jj kind kubectl minikube netlify oc "
    "pulumi stack supabase svn systemctl terraform tofu vercel wrangler"
)
_ALONE: dict[str, CommandKind] = {
    "yarn": "install", "bundle": "install", "gradle": "build", "gradlew": "build", "mvn": "build", "mvnw": "build",
    "just": "build", "task": "build", "rake": "build", "pre-commit run": "check", "ruff check": "check",
    "ruff format": "check", "make check": "test", "gradle check": "test", "gradlew check": "test",
    "cargo check": "check", "go vet": "check", "docker compose up": "run", "docker-compose up": "run",
}  # fmt: skip
# Programs that run the script they are given: of two runs of them, only those of the same script are of a kind.
_INTERPRETERS = _names("bash bun cmd deno dart java lua node perl php powershell pwsh python R Rscript ruby sh zsh")
# Programs that look at something: that they find nothing is not a failure to learn from.
_READERS = _names(
    "bat cmp comm curl dir diff du fd file find get-childitem get-content get-item hexdump jq ls lsof pgrep ping ps "
    "pwd stat test-path tree type wget where which xxd"
)
_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\\n""", re.DOTALL)
_OTHER_END = re.compile(r"\|\||\A\s*!\s|(?<![>&])&\s*\Z|\|(?!\|)")  # `|| true`, `! test`, `serve &`, `test | tail`
_SEQUENCE = re.compile(r"[;\n]")
_SCRIPT = re.compile(r"[\w./\\~-]+\.\w{1,5}\Z|[\w.]+\Z")


class Sort(NamedTuple):
    """What a command is: two of the same sort attempt the same."""

    program: str
    script: str | None = None


def kind_of(command: str) -> CommandKind | None:
    """Return what a command is for; None if it is for anything else. The first program of such a kind decides."""
    for program in programs_of(command):
        kind = _kind_of_program(program)
        if kind is not None:
            return kind
        if program in _INTERPRETERS and _script_of(command, program) is not None:
            return "run"
    return None


def _kind_of_program(program: str) -> CommandKind | None:
    first, _, rest = program.partition(" ")
    known = _ALONE.get(program) or _BY_PROGRAM.get(program)
    if known is not None or first in _OTHER:
        return known
    words = re.split(r"[ :]", rest) if rest else []
    for word in words:
        kind = _BY_SUB_COMMAND.get(word.lower())
        if kind is not None and not (word == "run" and len(words) > 1):
            return kind
    return _BY_PROGRAM.get(first)


def sort_of(command: str) -> Sort | None:
    """Return the sort of a command; None if it only prepares, filters or looks at something."""
    for program in programs_of(command):
        first = program.partition(" ")[0].lower()
        if first in PREPARATIONS or first in FILTERS or first in _READERS:
            continue
        if first in _INTERPRETERS and _kind_of_program(program) is None:
            script = _script_of(command, program)
            return Sort(program, script) if script is not None else None
        return Sort(program)
    return None


def ends_as_program(command: str) -> bool:
    """Return whether the exit code of a command is that of the program of its sort.

    After `pytest | tail` and `pytest || true` it is not, nor after `pytest; echo $?`.
    """
    plain = _QUOTED.sub("q", command).strip()
    if "pipefail" not in plain and _OTHER_END.search(plain):
        return False
    last = [part for part in _SEQUENCE.split(plain) if part.strip()][-1:]
    return _SEQUENCE.search(plain) is None or sort_of(last[0]) == sort_of(plain)


def words_of(command: str) -> list[str] | None:
    """Return the words of one simple command as a shell reads them; None if it is anything more."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return None
    return None if any(set(word) <= set(";&|<>()") for word in words) else words


def _script_of(command: str, program: str) -> str | None:
    """Return the script that an interpreter runs, if the command names one."""
    words = command.replace("\n", " ").split()
    names = (program, f"{program}3", f"{program}.exe")
    start = next((at for at, word in enumerate(words) if re.split(r"[/\\]", word)[-1] in names), None)
    if start is None:
        return None
    argument = next((word for word in words[start + 1 :] if not word.startswith("-")), None)
    if argument is None or any(word in ("-c", "-e", "-m", "-") for word in words[start + 1 : start + 3]):
        return None
    return argument if _SCRIPT.match(argument.strip("\"'")) else None
