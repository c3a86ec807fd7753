"""Every text at a path that the formats documents name is found again, or has a reason by its path."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from copilog import ingest
from tests.documented import filled, vscode
from tests.sources.cli_builders import write_log
from tests.sources.cli_samples import SAMPLES
from tests.sources.test_cli_event_types import session_with
from tests.sources.vscode_builders import request, session

SESSIONS: dict[str, Any] = {
    **{f"part {name}": session(request(response=[part])) for name, part in vscode.PARTS.items()},
    **{
        f"attachment {name}": session(request(variableData={"variables": [{"id": "v", "name": "a", **variable}]}))
        for name, variable in vscode.VARIABLES.items()
    },
    **{
        f"mention {name}": session(request(message={"text": ..., "parts": [{"range": vscode.WORDS, **part}]}))
        for name, part in vscode.MESSAGE_PARTS.items()
    },
    **{f"request {name}": session(request(**fields)) for name, fields in vscode.REQUESTS.items()},
    **{f"session {name}": session(request(), **fields) for name, fields in vscode.ROOTS.items()},
}


def assert_is_accounted_for(path: Path) -> None:
    ledger = ingest.inspect_file(path)

    assert ledger.leaves is not None
    assert ledger.leaves.found > 0
    assert (ledger.leaves.unaccounted, ledger.bad) == ({}, [])


def leaves_in(value: Any, names: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The ways to all strings of a record."""
    if isinstance(value, str):
        yield names
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in below:
        yield from leaves_in(item, (*names, name))


def replaced(value: Any, names: tuple[str | int, ...], text: str) -> Any:
    made = copy.deepcopy(value)
    node = made
    for name in names[:-1]:
        node = node[name]
    node[names[-1]] = text
    return made


# Ids and times are of another shape than a text; bytes too; another type of attachment is another record.
NOT_TEXTS = ("Id", "id", "Time", "At", "assetId", "data", "hash")
TYPES = (("attachments", 0, "type"),)


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_every_documented_text_of_an_event_is_accounted_for(tmp_path: Path, kind: str) -> None:
    for names in leaves_in(SAMPLES[kind]):
        if names in TYPES or str(names[-1]).endswith(NOT_TEXTS):
            continue
        data = replaced(SAMPLES[kind], names, "zq a text of its own, found nowhere else")
        log = session_with(kind)
        log.events[-1]["data"] |= {key: value for key, value in data.items() if key != "sessionId"}

        leaves = ingest.inspect_file(write_log(tmp_path, log)).leaves

        assert leaves is not None
        assert leaves.unaccounted == {}, names


@pytest.mark.parametrize("name", SESSIONS)
def test_every_documented_text_of_a_session_is_accounted_for(tmp_path: Path, name: str) -> None:
    path = tmp_path / "chatSessions" / "s-1.json"
    path.parent.mkdir()
    path.write_text(json.dumps(filled(SESSIONS[name])))

    assert_is_accounted_for(path)
