"""Read what the `extra` of agent trajectories (ATIF) has: tokens of metrics, and under `copilog` what copilog exports.

`reasoning_tokens` of metrics is the example of the specification; the other names are those that copilog writes.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from copilog.derive import add_title
from copilog.fields import Json, put_back, take_bool, take_dict, take_int, take_number, take_str
from copilog.model import Attachment, Conversation, Place, Turn, TurnError, Usage, Workspace

CallStatus = Literal["complete", "failed", "denied", "skipped", "cancelled", "unknown"]

STATUSES: dict[str, CallStatus] = {
    "succeeded": "complete",
    "failed": "failed",
    "denied": "denied",
    "skipped": "skipped",
    "cancelled": "cancelled",
}
TURN_STATUSES = ("complete", "cancelled", "failed", "needs-input", "pending", "unanswered")
DATA = "data:"


def take_amounts(metrics: Json, usage: Usage) -> None:
    """Take tokens and cost that the metrics of the format have no field for."""
    extra = take_dict(metrics, "extra")
    if extra is None:
        return
    usage.reasoning = take_int(extra, "reasoning_tokens")
    usage.cache_write = take_int(extra, "cache_write_tokens")
    usage.premium_requests = take_number(extra, "premium_requests")
    usage.credits = take_number(extra, "credits")
    put_back(metrics, "extra", extra)


def take_error_flag(result: Json) -> bool:
    """Take the flag that a result is an error."""
    with _ours(result) as ours:
        return take_bool(ours, "is_error") is True


def take_status(call: Json) -> CallStatus:
    """Take the outcome of a call."""
    with _ours(call) as ours:
        return STATUSES.get(take_str(ours, "outcome") or "", "unknown")


def take_typed_text(step: Json) -> str | None:
    """Take what the user typed, of a prompt that was sent with another text."""
    with _ours(step) as ours:
        return take_str(ours, "typed")


def take_request(step: Json, turn: Turn) -> None:
    """Take the fields of a turn from the step of its prompt."""
    with _ours(step) as ours:
        turn.request_id = take_str(ours, "request_id") or turn.request_id
        status = ours.get("status")
        if status in TURN_STATUSES:
            turn.status = ours.pop("status")
        if (error := take_str(ours, "error")) is not None:
            turn.error = TurnError(message=error)


def take_context_flag(step: Json) -> bool:
    """Take the flag that a step of the system was sent in the user's name, without the user."""
    with _ours(step) as ours:
        return take_bool(ours, "is_context") is True


def take_turn(step: Json) -> int | None:
    """Take the number of the turn that a step belongs to."""
    with _ours(step) as ours:
        return take_int(ours, "turn")


def is_of_copilog(document: Json) -> bool:
    """Return whether copilog wrote the document, under the id of its conversation."""
    extra = document.get("extra")
    about = extra.get("copilog") if isinstance(extra, dict) else None
    name = about.get("id") if isinstance(about, dict) else None
    return isinstance(name, str) and ":" in name and name == document.get("trajectory_id")


@contextmanager
def _ours(holder: Json) -> Iterator[Json]:
    """Give what copilog wrote into an `extra`; what is not taken out of it stays there."""
    extra = holder.get("extra")
    ours = extra.get("copilog") if isinstance(extra, dict) else None
    yield ours if isinstance(ours, dict) else {}
    if isinstance(extra, dict) and ours == {}:
        del extra["copilog"]
        if not extra:
            del holder["extra"]


def read_about(made: Conversation) -> None:
    """Read the title and the workspace of a conversation that copilog exported. The record stays in `extra`."""
    extra = (made.extra or {}).get("extra")
    about = extra.get("copilog") if isinstance(extra, dict) else None
    if not isinstance(about, dict):
        return
    known = {key: value for key, value in about.items() if isinstance(value, str)}
    add_title(made, known.get("title"), "custom")
    made.application = known.get("application")
    workspace = Workspace(
        folder=known.get("workspace"),
        repository=known.get("repository"),
        branch=known.get("branch"),
        commit=known.get("commit"),
    )
    made.workspace = workspace if workspace != Workspace() else None


def picture_from(path: str | None, mime_type: str | None) -> Attachment:
    """Return a picture by its path, or by the data in a `data:` URL."""
    made = Attachment(type="image", mime_type=mime_type)
    if path is not None and path.startswith(DATA):
        try:
            made.data = base64.b64decode(path.partition(",")[2], validate=True)
            return made
        except (binascii.Error, ValueError):
            pass  # the path stays as it is
    made.place = Place(path=path) if path is not None else None
    return made
