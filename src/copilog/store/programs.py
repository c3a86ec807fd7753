"""Find the programs that a terminal command runs: `cd x && sudo git -C y commit -m z | tail` runs "git commit".

Good enough for statistics over the commands of POSIX shells, PowerShell and cmd, and cheap: one look at every word,
no grammar. Programs that only prepare or report (`cd`, `export`, `echo`), and filters in a pipe (`| tail`), count
only if there is no other. Arguments are never part of a name, except the sub-command.
"""

from __future__ import annotations

import re

from copilog.text_cache import cached_by_text

MOST_CHARACTERS = 20_000  # characters of a command that are examined
MOST_PROGRAMS = 12  # of one command
MOST_LETTERS = 60  # of a name
MOST_WORDS = 200  # of a simple command
DEEPEST = 4  # bash -c 'uv run sh -c "..."'
MOST_BODIES = 20  # of here-documents

# --- what is known about programs -----------------------------------------------------------------------------------


def _names(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


PREPARATIONS = _names(
    ". : [ [[ activate activate.bat activate.ps1 alias cd chdir clear clear-host cls deactivate declare echo eval exit",
    "export false local popd printf pushd pwd read return set set-executionpolicy set-location setlocal setx shift",
    "shopt sleep source start-sleep test trap true ulimit umask unalias unset wait write-error write-host write-output",
    "write-verbose",
)
FILTERS = _names(
    "% ? awk cat column convertfrom-json convertto-json cut egrep fgrep findstr fl fmt fold foreach-object format-list",
    "format-table ft gawk grep head less measure-object more nl out-default out-file out-host out-null out-string",
    "paste rev rg sed select-object select-string sort sort-object tail tee tee-object tr uniq wc where where-object",
)
# Words before a command, and words that begin something other than a command.
KEYWORDS = _names("! if then else elif elseif while until do time try catch finally")
NO_COMMANDS = _names("fi done esac for foreach case select function param in break continue switch")

# Programs that run another one, and their options that take a value.
WRAPPERS = {
    "sudo": _names("-u -g -h -p -C --user --group"),
    "env": _names("-u -C -S --unset --chdir"),
    "nice": _names("-n"),
    "timeout": _names("-s -k --signal --kill-after"),
    "xargs": _names("-n -I -P -L -d -a -s -E"),
    "stdbuf": _names("-i -o -e"),
    "watch": _names("-n --interval"),
    "npx": _names("-p --package -c --call"),
    "uvx": _names("--from --with -p --python"),
    **dict.fromkeys(_names("builtin bunx call command doas exec ionice nohup setsid unbuffer winpty"), _names()),
}
# The same, with a sub-command: `uv run pytest` runs pytest.
RUNNERS = {
    "uv run": _names("--with --extra --group -p --python --package --env-file --directory"),
    "conda run": _names("-n --name -p --prefix"),
    "npm exec": _names("-p --package -c --call -w --workspace"),
    **dict.fromkeys(("bun x", "pnpm dlx", "pnpm exec", "yarn dlx", "yarn exec"), _names("-F --filter")),
    **dict.fromkeys(("bundle exec", "hatch run", "pdm run", "pipenv run", "pipx run", "poetry run"), _names()),
    **dict.fromkeys(("rye run", "uv tool run"), _names()),
}
# Programs with sub-commands, and their options that take a value.
_OF_FOLDERS = _names("-C --directory --project --manifest-path --config -f --file -R --repo")
SUB_COMMANDS = {
    **dict.fromkeys(_names("git hg jj svn"), _names("-C -c --git-dir --work-tree --namespace -R --repository")),
    **dict.fromkeys(
        _names("bun deno lerna ng npm nx pnpm rush turbo yarn"),
        _names("--prefix -C --dir -w --workspace -F --filter --cwd --loglevel"),
    ),
    **dict.fromkeys(
        _names("flux helm kind kubectl minikube oc"),
        _names("-n --namespace --context --kubeconfig --kube-context -s --server"),
    ),
    **dict.fromkeys(
        _names("docker docker-compose nerdctl podman podman-compose"),
        _names("-c --context -H --host --config -l --log-level -f --file -p --project-name --profile"),
    ),
    **dict.fromkeys(_names("bazel cargo cmake gh glab gmake go just make ninja rake task uv"), _OF_FOLDERS),
    **dict.fromkeys(
        _names("aws az firebase fly gcloud heroku netlify pulumi terraform tofu vercel wrangler"),
        _names("--profile --region --project --subscription -c --config -t --target"),
    ),
    **dict.fromkeys(
        _names(
            "alembic apt apt-get brew bundle cabal choco code composer conda copilot dart django-admin dnf dotnet",
            "flutter gem gradle gradlew hatch mamba mix mvn mvnw nuget pacman pdm pip pipenv pipx poetry pre-commit",
            "prisma rails ruff rustup rye scoop stack supabase swift systemctl winget yum",
        ),
        _names(),
    ),
}
# Sub-commands with sub-commands.
NESTED = {
    *("npm run", "npm run-script", "pnpm run", "yarn run", "bun run", "deno task", "go mod", "go tool", "uv pip"),
    *("uv tool", "docker compose", "docker image", "docker container", "docker volume", "docker network"),
    *("docker buildx", "podman compose", "gh pr", "gh issue", "gh repo", "gh run", "gh workflow", "gh release"),
    *("gh auth", "dotnet ef", "dotnet tool", "poetry env", "kubectl config", "kubectl rollout"),
}
SHELLS = _names("ash bash dash fish ksh sh zsh")
WINDOWS_SHELLS = _names("cmd powershell pwsh")
SAME = {"python3": "python", "py": "python", "pip3": "pip", "nodejs": "node"}

# --- words ----------------------------------------------------------------------------------------------------------

_BODY = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1")
_HERE_STRING = re.compile(r"""@(["'])[ \t]*\r?\n""")
_WORD = r"""(?:[^\s"'|&;()<>\\$]++|\\.|\$(?!\()|"(?:[^"\\$]++|\\.|\$\([^()]*\)|\$)*+"?|'[^']*+'?)++"""
_TOKEN = re.compile(
    rf"""
      (?P<space>(?:[^\S\n]|[\\`^]\r?\n)++)
    | (?P<comment>\#[^\n]*)
    | (?P<nested>\$\(|[<>]\()
    | (?P<redirect>(?:[0-9*]|&(?=>))?(?:>>?|<{{1,3}})(?:&[ ]?[0-9-]|[|&]?[ \t]*+(?:{_WORD})?))
    | (?P<pipe>\|&?(?!\|))
    | (?P<end>&&|\|\||[;&\n]+)
    | (?P<definition>\(\s*+\))
    | (?P<open>\()
    | (?P<close>\))
    | (?P<word>{_WORD})
    """,
    re.VERBOSE | re.DOTALL,
)
_ASSIGNMENT = re.compile(r"(?:\w+|\$[\w:{}]+)(?:\[[^\]]*\])?\+?=")
_NAME = re.compile(r"(?!\d+$)\w[\w.+-]*|[%?.:]|\[\[?")
_SUB_COMMAND = re.compile(r":?[A-Za-z][\w:.-]*")
_VERSIONED = re.compile(r"(python|pip)\d(?:\.\d+)?")
_ENDINGS = (".exe", ".cmd", ".bat", ".com")
_OPTION = re.compile(r"[-+]|\w+=|\d[\d.]*[smhd]?$")


_ARMOR = re.compile(r"-----BEGIN [A-Z0-9 ]{2,60}-----.*?(?:-----END [A-Z0-9 ]{2,60}-----|\Z)", re.DOTALL)


def programs_of(command: str) -> list[str]:
    """Return the programs of a command, each once, in their order: `["git commit", "pytest"]`."""
    found: dict[str, bool] = {}
    _collect(_without_armor(command[:MOST_CHARACTERS]), found, 0)
    main = [name for name, is_secondary in found.items() if not is_secondary]
    return (main or list(found)[-1:])[:MOST_PROGRAMS]


def _without_armor(command: str) -> str:
    """Return a command without the lines of keys and certificates, which are no commands if nobody quoted them."""
    return _ARMOR.sub("KEY", command) if "-----BEGIN " in command else command


def _collect(command: str, found: dict[str, bool], depth: int) -> None:
    """Add the programs to `found`: name -> whether it only prepares, reports or filters."""
    for words, is_piped in _simple_commands(_without_bodies(command)):
        _add(words, is_piped, found, depth)


def _simple_commands(command: str) -> list[tuple[list[str], bool]]:
    """Return the words of each simple command, with their quotes, and whether it reads from a pipe."""
    found: list[tuple[list[str], bool]] = []
    words: list[str] = []
    is_piped = False
    waiting: list[tuple[list[str], bool]] = []  # commands that contain another one in brackets
    for token in _TOKEN.finditer(command):
        kind = token.lastgroup
        if kind == "word" and token[0] not in ("{", "}"):
            if len(words) < MOST_WORDS:
                words.append(token[0])
        elif kind == "definition":  # of a function: f() { ... }
            words = []
        elif kind in ("nested", "open"):
            waiting.append((words, is_piped))
            words, is_piped = [], False
        elif kind in ("pipe", "end", "close", "word"):
            if words and (kind != "close" or waiting):  # else it is a pattern of `case`
                found.append((words, is_piped))
            words, is_piped = [], kind == "pipe"
            if kind == "close" and waiting:
                words, is_piped = waiting.pop()
    found += [(words, is_piped), *waiting]
    return found


def _without_bodies(command: str) -> str:
    """Return the command without the texts of here-documents and here-strings, which may look like commands."""
    for _ in range(MOST_BODIES if "<<" in command else 0):
        start = _BODY.search(command)
        if start is None:
            break
        line_end = command.find("\n", start.end())
        end = re.compile(rf"^[ \t]*{start[2]}\b", re.MULTILINE).search(command, line_end + 1) if line_end > 0 else None
        rest = command[end.end() :] if end is not None else ""
        command = command[: start.start()] + command[start.end() : max(line_end, start.end())] + rest
    for _ in range(MOST_BODIES if "@" in command else 0):
        start = _HERE_STRING.search(command)
        if start is None:
            break
        stop = command.find(f"\n{start[1]}@", start.end() - 1)
        command = f"{command[: start.start()]}''{command[stop + 3 :] if stop >= 0 else ''}"
    return command


# --- names ----------------------------------------------------------------------------------------------------------


def _add(words: list[str], is_piped: bool, found: dict[str, bool], depth: int) -> None:
    name, arguments = _program(words)
    while name in WRAPPERS and arguments:
        wrapped, left = _program(_after_options(arguments, WRAPPERS[name]))
        if not wrapped:
            break
        name, arguments = wrapped, left
    if not name:
        return
    if depth < DEEPEST and (script := _script_of(name.lower(), arguments)):
        _collect(script, found, depth + 1)
        return
    if name == "python":
        name, arguments = _module(arguments)
    if name in SUB_COMMANDS:
        name, runs = _with_sub_command(name, arguments)
        if runs and depth < DEEPEST:
            _add(runs, is_piped, found, depth + 1)
            return
    is_secondary = name.lower() in PREPARATIONS or (is_piped and name.lower() in FILTERS)
    name = name[:MOST_LETTERS]
    found[name] = found.get(name, True) and is_secondary


def _module(arguments: list[str]) -> tuple[str, list[str]]:
    """Return the module that python runs: `python -m pytest` runs pytest; scripts are not examined."""
    for at, word in enumerate(arguments[:-1]):
        if word == "-m":
            return _basename(arguments[at + 1]) or "python", arguments[at + 2 :]
        if word[0] != "-":
            break
    return "python", arguments


def _program(words: list[str]) -> tuple[str, list[str]]:
    """Return the name of the program and its arguments; an empty name if there is none."""
    at = 0
    while at < len(words):
        word = words[at]
        if word[0] == "$":  # PowerShell: $changes = git status
            if len(words) > at + 2 and words[at + 1] == "=" and words[at + 2][0] not in "\"'$@[({0123456789":
                at += 2
                continue
            return ("python", words[at + 1 :]) if "-m" in words[at + 1 : at + 2] else ("", [])  # $PYTHON -m pytest
        if word in KEYWORDS or _ASSIGNMENT.match(word):
            at += 1
            continue
        name = _basename(word)
        return ("", []) if name in NO_COMMANDS else (name, words[at + 1 :])
    return "", []


@cached_by_text(256)
def _basename(word: str) -> str:
    """Return the program that a word names: without its folder, its ending on Windows and its version."""
    name = _unquoted(word).rstrip("/\\").replace("\\", "/").rpartition("/")[2].partition("@")[0]  # vitest@latest
    if name.lower().endswith(_ENDINGS):
        name = name[:-4].lower()
    if not _NAME.fullmatch(name):
        return ""
    if _VERSIONED.fullmatch(name):
        return name.rstrip("0123456789.")
    return SAME.get(name, name)


def _unquoted(word: str) -> str:
    if word[0] in "\"'" and word[-1] == word[0] and len(word) > 1:
        return word[1:-1].replace('\\"', '"') if word[0] == '"' else word[1:-1]
    return word.replace('"', "").replace("'", "")


def _after_options(words: list[str], with_value: frozenset[str]) -> list[str]:
    """Return the words after the options, the assignments, and the numbers of `timeout` and `nice`."""
    at = 0
    while at < len(words) and _OPTION.match(words[at]):
        at += 2 if words[at] in with_value else 1
    return words[at:]


def _with_sub_command(name: str, arguments: list[str]) -> tuple[str, list[str]]:
    """Return a name such as `git commit`, `npm run build`; and the words of the program that e.g. `uv run` runs."""
    with_value = SUB_COMMANDS[name]
    rest = _after_options(arguments, with_value)
    for _ in range(2):
        if not rest or not _SUB_COMMAND.fullmatch(rest[0]):
            break
        name = f"{name} {rest[0]}"
        rest = _after_options(rest[1:], RUNNERS.get(name, with_value))
        if name in RUNNERS:
            return name, rest if rest and _basename(rest[0]) else []
        if name not in NESTED:
            break
    return name, []


def _script_of(shell: str, arguments: list[str]) -> str:
    """Return the script on the command line of a shell; None for other programs."""
    for at, word in enumerate(arguments[:-1]):
        rest = arguments[at + 1 :]
        if shell == "cmd" and word.lower() in ("/c", "/k"):
            return _unquoted(rest[0]) if len(rest) == 1 else " ".join(rest)
        if shell in WINDOWS_SHELLS and word.lower() in ("-command", "-c"):
            return _unquoted(rest[0]) if len(rest) == 1 else " ".join(rest)
        if shell in SHELLS and re.fullmatch(r"-[a-z]*c", word):
            return _unquoted(rest[0])
        if shell in SHELLS and word[0] != "-":
            break
    return ""
