"""Every text at a path that the formats documents name is found again, or has a reason by its path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from copilog import ingest
from tests.documented import filled, vscode
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


@pytest.mark.parametrize("name", SESSIONS)
def test_every_documented_text_of_a_session_is_accounted_for(tmp_path: Path, name: str) -> None:
    path = tmp_path / "chatSessions" / "s-1.json"
    path.parent.mkdir()
    path.write_text(json.dumps(filled(SESSIONS[name])))

    assert_is_accounted_for(path)
