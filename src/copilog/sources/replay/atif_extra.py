"""Read what writers put into the `extra` of agent trajectories (ATIF): conventions, and what copilog itself writes.

`reasoning_tokens` of metrics is the example of the specification; the other keys are those that copilog exports.
"""

from __future__ import annotations

import base64
import binascii
from typing import Literal

from copilog.derive import add_title
from copilog.fields import Json, put_back, take_dict, take_int, take_number, take_str
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
    extra = result.get("extra")
    if not isinstance(extra, dict) or extra.get("is_error") is not True:
        return False
    del extra["is_error"]
    _drop_empty(result)
    return True


def take_status(call: Json) -> CallStatus:
    """Take the outcome of a call."""
    extra = call.get("extra")
    name = extra.get("outcome") if isinstance(extra, dict) else None
    status = STATUSES.get(name) if isinstance(name, str) else None
    if status is None:
        return "unknown"
    del call["extra"]["outcome"]
    _drop_empty(call)
    return status


def take_typed_text(step: Json) -> str | None:
    """Take what the user typed, of a prompt that was sent with another text."""
    extra = step.get("extra")
    typed = take_str(extra, "typed") if isinstance(extra, dict) else None
    _drop_empty(step)
    return typed


def take_request(step: Json, turn: Turn) -> None:
    """Take the fields of a turn from the step of its prompt."""
    extra = step.get("extra")
    if not isinstance(extra, dict):
        return
    turn.request_id = take_str(extra, "request_id")
    status = extra.get("status")
    if isinstance(status, str) and status in TURN_STATUSES:
        turn.status = extra.pop("status")
    if (error := take_str(extra, "error")) is not None:
        turn.error = TurnError(message=error)
    _drop_empty(step)


def is_context(step: Json) -> bool:
    """Return whether a step of the system was sent in the user's name, without the user."""
    extra = step.get("extra")
    return isinstance(extra, dict) and extra.get("role") == "user" and extra.get("scope") == "conversation"


def take_turn(step: Json) -> int | None:
    """Take the number of the turn that a step belongs to, where the writer names it."""
    extra = step.get("extra")
    number = take_int(extra, "turn") if isinstance(extra, dict) else None
    _drop_empty(step)
    return number


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


def _drop_empty(holder: Json) -> None:
    if holder.get("extra") == {}:
        del holder["extra"]
