"""Writes the sample home that the package brings along: `python -m tests.make_sample`.

One developer, Ana, and six weeks of her conversations. They span all forms that VS Code has written since sessions
were first kept, the oldest forms in the oldest conversations: as if six weeks were three years. Two are of Copilot
CLI, and the Copilot extension has left a transcript and an export. The same tree comes out each time.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from copilog.sample import home as sample_home
from tests import (
    sample_cli,
    sample_cli_release,
    sample_drag,
    sample_early,
    sample_elsewhere,
    sample_extension,
    sample_frost,
    sample_gauges,
    sample_last,
    sample_lookup,
    sample_map,
    sample_notebook,
    sample_phone,
    sample_release,
    sample_review,
)
from tests.sample_forms import encoded
from tests.sample_home import WORKSPACES, Home

GROUPS = (
    sample_early,
    sample_frost,
    sample_lookup,
    sample_elsewhere,
    sample_drag,
    sample_map,
    sample_gauges,
    sample_review,
    sample_notebook,
    sample_release,
    sample_phone,
    sample_last,
    sample_cli,
    sample_cli_release,
    sample_extension,
)
PAGE_BYTES = 512  # small pages make small databases


def make() -> Home:
    """The whole home, in memory."""
    home = Home()
    for folder, record in WORKSPACES.items():
        home.document(f"{folder}/workspace.json", record, indent=2)
    for group in GROUPS:
        group.put(home)
    return home


def write(target: Path) -> None:
    """Write the home into a folder, which is emptied first."""
    home = make()
    if target.exists():
        shutil.rmtree(target)
    for name, data in home.files.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for name, rows in home.rows.items():
        write_database(target / name, {key: stored(value) for key, value in rows.items()})


def stored(value: object) -> str:
    """A value as it stands in a row: text as it is, all else as JSON."""
    return value if isinstance(value, str) else encoded(value)


def write_database(path: Path, rows: dict[str, str]) -> None:
    """A key-value store like VS Code's."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        database.execute("PRAGMA user_version = 1")
        database.execute("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        database.executemany("INSERT INTO ItemTable VALUES (?, ?)", rows.items())


if __name__ == "__main__":
    write(sample_home())
