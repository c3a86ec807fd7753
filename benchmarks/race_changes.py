"""What happens to a home between two scans."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import msgspec

from benchmarks.generate_home import STATE_FOLDER
from benchmarks.words import Json

AN_HOUR_MS = 3_600_000


def leave_alone(home: Path) -> None:
    """Nothing."""


def lengthen_a_log(home: Path) -> None:
    """One more question and its answer at the end of the longest log of Copilot CLI."""
    log = _largest(home.glob(f"{STATE_FOLDER}/*/events.jsonl"))
    interaction = str(uuid4())
    asked = {"content": "One more thing.", "attachments": [], "interactionId": interaction}
    answer = {"messageId": str(uuid4()), "content": "Done.", "toolRequests": [], "interactionId": interaction}
    with log.open("ab") as file:
        file.write(_event("user.message", asked))
        file.write(_event("assistant.message", answer))


def replace_a_session(home: Path) -> None:
    """The largest flat session of VS Code, written anew with its last request once more."""
    path = _largest(home.glob("*/Code/User/workspaceStorage/*/chatSessions/*.json"))
    state = msgspec.json.decode(path.read_bytes())
    last = state["requests"][-1]
    again = {**last, "requestId": f"request_{uuid4()}", "responseId": f"response_{uuid4()}"}
    again["timestamp"] = last["timestamp"] + AN_HOUR_MS
    if "completedAt" in last.get("modelState", {}):
        again["modelState"] = {**last["modelState"], "completedAt": last["modelState"]["completedAt"] + AN_HOUR_MS}
    state["requests"].append(again)
    new = path.with_suffix(".new")
    new.write_bytes(msgspec.json.format(msgspec.json.encode(state), indent=2))
    new.replace(path)


def _event(kind: str, data: Json) -> bytes:
    moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    event = {"type": kind, "data": data, "id": str(uuid4()), "timestamp": moment, "parentId": None}
    return msgspec.json.encode(event) + b"\n"


def _largest(paths: Iterable[Path]) -> Path:
    return max(paths, key=lambda path: (path.stat().st_size, path))
