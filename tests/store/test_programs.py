"""Which programs a terminal command runs."""

from __future__ import annotations

import random

import pytest

from copilog.store.programs import MOST_LETTERS, MOST_PROGRAMS, programs_of

POSIX = {
    "ls": ["ls"],
    "cd x && FOO=1 sudo git -C y commit -m z | tail": ["git commit"],
    "git -c user.name=ana --no-pager log --oneline|head -3": ["git log"],
    "git add . && git commit -m 'a && rm b; c' && git push": ["git add", "git commit", "git push"],
    "npm ci; npm ci; npm run build": ["npm ci", "npm run build"],
    "pnpm -F web test || yarn --cwd api lint": ["pnpm test", "yarn lint"],
    "make -C sub -j 4 VERBOSE=1 test": ["make test"],
    "docker compose -f dev.yml up -d": ["docker compose up"],
    "kubectl -n lamps get pods": ["kubectl get"],
    'gh pr create --title "Light; lamp"': ["gh pr create"],
    "cargo +nightly test && go mod tidy && dotnet build -c Release": ["cargo test", "go mod tidy", "dotnet build"],
    "./gradlew :app:build": ["gradlew :app:build"],
    "python script.py -m three": ["python"],
    "python3.12 -m pytest -q 2>&1 | tail -20": ["pytest"],
    ".venv/bin/python -m pip install -r all.txt": ["pip install"],
    "$PYTHON -m mypy .": ["mypy"],
    "pip3 list": ["pip list"],
    "uv run --with tides pytest -k 'a or b'": ["pytest"],
    "poetry run python -m mypy .": ["mypy"],
    "npx -y vitest@latest run": ["vitest"],
    "timeout 30 nohup node server.js > log 2>&1 &\nsleep 2; curl -s localhost:3000": ["node", "curl"],
    "env A=1 B=2 time ./run.sh": ["run.sh"],
    "find . -name '*.py' | xargs -n 1 rm": ["find", "rm"],
    "bash -lc \"cd x && npm test\"": ["npm test"],
    "sudo -u ana bash -c 'sh -c \"git status\"'": ["git status"],
    "bash build.sh": ["bash"],
    "for f in *.py; do ruff check $f; done": ["ruff check"],
    "if [ -f x ]; then mypy x; else touch x; fi": ["mypy", "touch"],
    "while read line; do wc -c $line; done < list": ["wc"],
    "case $x in a) ls;; b) rm c;; esac": ["ls", "rm"],
    "build() { make all; }; build": ["make all", "build"],
    "HEAD=$(git rev-parse HEAD) && (cd x && ruff format) | grep y": ["git rev-parse", "ruff format"],
    "diff <(sort a) <(sort b)": ["sort", "diff"],
    "cat a | grep b": ["cat"],
    "grep b a": ["grep"],
    "# first\nls -l # then\nrm x": ["ls", "rm"],
    "mypy \\\n  --strict \\\n  src": ["mypy"],
    "mkdir -p a >/dev/null 2>&1 </dev/null": ["mkdir"],
}  # fmt: skip
WINDOWS = {
    '& "C:\\Program Files\\Git\\bin\\git.exe" status': ["git status"],
    ".\\.venv\\Scripts\\Activate.ps1; python -m pytest": ["pytest"],
    "$changes = git status; $env:MODE = 'test'; $n=3; npm test": ["git status", "npm test"],
    "Set-Location web; npm.cmd run build": ["npm run build"],
    "Get-ChildItem -Recurse | Where-Object { $_.Length -gt 3 } | Select-Object Name": ["Get-ChildItem"],
    "if (Test-Path x) { npm test } else { npm ci }": ["Test-Path", "npm test", "npm ci"],
    'powershell -NoProfile -Command "cd x; dotnet test"': ["dotnet test"],
    "cmd /c \"dir & type a.txt\"": ["dir", "type"],
    "set MODE=test&& npm test": ["npm test"],
    "cargo build `\n  --release": ["cargo build"],
    "@\"\nrm everything\n\"@ | Set-Content notes.txt": ["Set-Content"],
}  # fmt: skip


@pytest.mark.parametrize(("command", "programs"), POSIX.items())
def test_the_programs_of_a_shell_command(command: str, programs: list[str]) -> None:
    assert programs_of(command) == programs


@pytest.mark.parametrize(("command", "programs"), WINDOWS.items())
def test_the_programs_of_a_command_on_windows(command: str, programs: list[str]) -> None:
    assert programs_of(command) == programs


@pytest.mark.parametrize(
    ("command", "programs"),
    [("cd src", ["cd"]), ("cd src && echo done", ["echo"]), ("export MODE=test", ["export"]), ("", []), ("$x", [])],
)
def test_programs_that_only_prepare_count_if_there_is_no_other(command: str, programs: list[str]) -> None:
    assert programs_of(command) == programs


def test_the_text_of_a_here_document_is_not_a_command() -> None:
    written = "cat > a.py <<'EOF'\nimport os\nrm -rf /\nEOF\npython a.py"
    message = 'git commit -m "$(cat <<\'EOF\'\nSay "hi" (don\'t)\n\nrm x\nEOF\n)" && git push'

    assert programs_of(written) == ["cat", "python"]
    assert programs_of(message) == ["git commit", "git push"]
    assert programs_of("cat <<EOF\nrm x") == ["cat"]


def test_arguments_are_no_part_of_a_name() -> None:
    assert programs_of("curl -H 'Authorization: made-up' https://example.com/?a=1&b=2") == ["curl"]
    assert programs_of("git $SUB; make $TARGET; npm --token=made-up publish") == ["git", "make", "npm publish"]


def test_a_command_of_any_length_gives_few_short_names() -> None:
    many = programs_of(" && ".join(f"program-{number}" for number in range(500)))

    assert many == [f"program-{number}" for number in range(MOST_PROGRAMS)]
    assert programs_of("x" * 1_000_000) == ["x" * MOST_LETTERS]


@pytest.mark.parametrize(
    "piece",
    ["<<a\n", '@"\n', '"', "$(", '"$(', "\\", "<", "(", ")", "bash -c ", "uv run ", "sudo ", "$x = ", "{ ", "'"],
)
def test_very_long_commands_give_few_programs(piece: str) -> None:
    assert len(programs_of(piece * 20_000)) <= MOST_PROGRAMS


def test_any_text_gives_short_program_names() -> None:
    dice = random.Random(6)
    for _ in range(3_000):
        command = "".join(dice.choice("\"'$()|&;<>\\ \n\t@#=-{}`[]^%~agit EOFé\0") for _ in range(dice.randint(0, 60)))
        assert all(0 < len(name) <= MOST_LETTERS for name in programs_of(command))


@pytest.mark.parametrize(
    "end", ["\n-----END RSA PRIVATE KEY-----", "\n-----END RSA PRIVATE KEY----- > key.pem && ls", ""]
)
def test_lines_of_a_key_that_nobody_quoted_are_no_programs(end: str) -> None:
    lines = ["".join(random.choice("abcdefghiJKLMNOPQ0123456789+/") for _ in range(64)) for _ in range(12)]
    command = "\n".join(["git add key.pem; export KEY=-----BEGIN RSA PRIVATE KEY-----", *lines]) + end
    assert set(programs_of(command)) <= {"git add", "ls"}
