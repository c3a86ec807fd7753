"""Files with conversations outside of all folders that the search found are reported, not skipped in silence."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from copilog.errors import UsageError
from copilog.ingest import find_roots
from tests.cli.homes import Home, run, session

ONE, TWO = "11111111-aaaa", "22222222-bbbb"


def test_files_outside_of_the_found_folders_are_counted_and_the_first_is_named(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.add(home.workspace(1, "/home/ana/tides"), session(ONE, "Parse the tide file"))
    (tmp_path / "exports").mkdir()
    for name in ("a.json", "b.json"):
        (tmp_path / "exports" / name).write_text(json.dumps(session(TWO, "And the other one")))
    (tmp_path / "package.json").write_text('{"name": "tides", "version": "1.0.0"}')
    skipped: list[tuple[Path, str]] = []

    roots = find_roots([tmp_path], skipped)

    assert [root.kind for root in roots] == ["vscode"]
    [(path, reason)] = skipped
    assert path == tmp_path / "exports" / "a.json"
    assert reason.startswith("was not searched, and 1 more")
    assert "1 not searched" in run("list", "--root", tmp_path).err
    assert find_roots([path])[0].kind == "file"


@pytest.mark.skipif(sys.platform == "win32", reason="needs links that anyone may make")
def test_a_named_link_says_where_it_leads(tmp_path: Path) -> None:
    one, other, broken = tmp_path / "one", tmp_path / "other", tmp_path / "broken"
    one.symlink_to(other)
    other.symlink_to(one)
    broken.symlink_to(tmp_path / "nothing")

    for command in (("show",), ("inspect",), ("list", "--root")):
        assert f"{one}: is a link that leads back to itself" in run(*command, one).err
        assert f"{broken}: is a link that leads nowhere" in run(*command, broken).err
    with pytest.raises(UsageError, match="no such file or folder"):
        find_roots([tmp_path / "nothing"])
