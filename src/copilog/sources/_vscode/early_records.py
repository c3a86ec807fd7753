"""What early releases of the extension recorded about a request: its messages, or its edits, in the result's metadata.

Format notes: docs/formats/vscode-chat.md
"""

from __future__ import annotations

from typing import Any, NamedTuple

from copilog.model import AnyPart, Attachment, Place, Prompt, Round
from copilog.sources._vscode.take import Json, put_back, take_dict, take_list, take_str
from copilog.sources._vscode.take_place import take_uri
from copilog.sources._vscode.uris import uri_to_path


class EarlyRecords(NamedTuple):
    """What was sent, and what the model answered, in each round."""

    asked: list[AnyPart]
    rounds: list[Round]


def early_records_from(metadata: Json) -> EarlyRecords:
    """Take `messages` and `edits` out of a result's metadata."""
    made = EarlyRecords([], [])
    if "messages" in metadata:
        put_back(metadata, "messages", [item for item in take_list(metadata, "messages") or [] if not _add(item, made)])
    if isinstance(metadata.get("edits"), dict):
        edits = take_dict(metadata, "edits") or {}
        _read_edits(edits, made)
        put_back(metadata, "edits", edits)
    return made


def _add(message: Any, made: EarlyRecords) -> bool:
    """Add one message as it went to the model or came from it; False for what is not one."""
    if not isinstance(message, dict) or not message.keys() <= {"role", "content", "name"}:
        return False
    role, text = message.get("role"), message.get("content")
    if not isinstance(text, str) or role not in ("user", "assistant", "system"):
        return False
    if role == "assistant":
        made.rounds.append(Round(text=text))
    else:
        made.asked.append(Prompt(text=text, scope="system" if role == "system" else "turn", native="messages"))
    return True


def _read_edits(edits: Json, made: EarlyRecords) -> None:
    """The edits of a request: what was asked for with which files, and the answer that has them."""
    request, response = take_str(edits, "request"), take_str(edits, "response")
    if request is not None:
        made.asked.append(Prompt(text=request, native="edits"))
    left: list[Any] = []
    for item in take_list(edits, "workingSet") or []:
        text = take_str(item, "text") if isinstance(item, dict) else None
        if text is not None:
            uri = take_uri(item, "uri")
            place = Place(uri=uri, path=uri_to_path(uri))
            made.asked.append(Attachment(type="file", place=place, text=text, is_automatic=True, native="workingSet"))
        if item:
            left.append(item)
    put_back(edits, "workingSet", left)
    if response is not None:
        made.rounds.append(Round(text=response))
