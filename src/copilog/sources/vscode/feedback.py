"""Read what is recorded beside a response: votes, suggested questions, used documents, outcomes of earlier edits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from copilog.fields import Json, rest, take_str
from copilog.model import Citation, EditedFileEvent, Followup, Turn, UsedReference, Vote
from copilog.uris import take_location, take_uri

EDIT_ACTIONS = {1: "keep", 2: "undo", 3: "modify"}
REFERENCE_STATES = {1: "complete", 2: "partial", 3: "omitted"}
_FILE_URIS = ("file://", "vscode-remote://")

Made = TypeVar("Made")


def read_feedback(request: Json, turn: Turn) -> None:
    """Take the feedback of the user and of the product about its response out of a request."""
    vote = request.get("vote")
    if vote is not None and not isinstance(vote, bool) and vote in (0, 1):
        del request["vote"]
        turn.vote = Vote(is_up=vote == 1, reason=take_str(request, "voteDownReason"))
    elif "voteDownReason" in request:
        turn.reason_without_vote = take_str(request, "voteDownReason")
    turn.followups = _each(request, "followups", _followup)
    turn.references = _each(request, "contentReferences", _reference)
    context = request.get("usedContext")
    if isinstance(context, dict):
        turn.references += _used_documents(request, context)
    if request.get("workingSet"):
        turn.references += _each(request, "workingSet", _file_of_working_set)
    turn.citations = _each(request, "codeCitations", _citation)
    turn.edited_files = _edited_files(request)


def _file_of_working_set(item: Json) -> UsedReference | None:
    """Return a file that the user had selected to be edited; releases of 2024 recorded them with each request."""
    holder: Json = {"file": item}
    place = take_location(holder, "file")
    return None if place is None else UsedReference(place=place, extra=rest(holder))


def _each(holder: Json, key: str, reader: Callable[[Json], Made | None]) -> list[Made]:
    """Read a list item by item; items that cannot be read remain for `extra`."""
    items = holder.get(key)
    if not isinstance(items, list):
        return []
    made: list[Made] = []
    left: list[Any] = []
    for item in items:
        value = reader(item) if isinstance(item, dict) else None
        if value is None:
            left.append(item)
        else:
            made.append(value)
    if left:
        holder[key] = left
    else:
        del holder[key]
    return made


def _drop_kind(item: Json, expected: str) -> None:
    """Drop the kind if it is the expected one; any other remains for `extra`."""
    if item.get("kind") == expected:
        del item["kind"]


def _followup(item: Json) -> Followup | None:
    text = take_str(item, "message")
    if text is None:
        return None
    _drop_kind(item, "reply")
    return Followup(
        text=text,
        title=take_str(item, "title"),
        tooltip=take_str(item, "tooltip"),
        agent=take_str(item, "agentId"),
        command=take_str(item, "subCommand"),
        extra=rest(item),
    )


def next_question(result: Json) -> list[Followup]:
    """Take the follow-up question that a participant suggested."""
    item = result.get("nextQuestion")
    text = take_str(item, "prompt") if isinstance(item, dict) else None
    if text is None or not isinstance(item, dict):
        return []
    made = Followup(text=text, agent=take_str(item, "participant"), command=take_str(item, "command"))
    if not item:
        del result["nextQuestion"]
    return [made]


def _reference(item: Json) -> UsedReference | None:
    target = item.get("reference")
    made = UsedReference()
    if isinstance(target, str):
        place = take_location({"reference": target}, "reference") if target.startswith(_FILE_URIS) else None
        made.place, made.text = (place, None) if place is not None and place.path else (None, target)
        del item["reference"]
    elif isinstance(target, dict) and isinstance(target.get("variableName"), str):
        made.variable = take_str(target, "variableName")
        made.place = take_location(target, "value")
        if not target:
            del item["reference"]
    else:
        made.place = take_location(item, "reference")
        if made.place is None:
            return None
    _drop_kind(item, "reference")
    options = item.get("options")
    status = options.get("status") if isinstance(options, dict) else None
    kind = status.get("kind") if isinstance(status, dict) else None
    made.status = REFERENCE_STATES.get(kind) if isinstance(kind, int) else None
    made.status_text = take_str(status, "description") if isinstance(status, dict) else None
    made.extra = rest(item)
    return made


def _used_documents(request: Json, context: Json) -> list[UsedReference]:
    """Return the documents that old releases recorded as the context they used."""
    made = _each(context, "documents", _used_document)
    _drop_kind(context, "usedContext")
    if not context:
        del request["usedContext"]
    return made


def _used_document(document: Json) -> UsedReference | None:
    place = take_location(document, "uri")
    return None if place is None else UsedReference(place=place, extra={"usedContext": document})


def _citation(item: Json) -> Citation:
    _drop_kind(item, "codeCitation")
    return Citation(
        uri=take_uri(item, "value"),
        license=take_str(item, "license"),
        snippet=take_str(item, "snippet"),
        extra=rest(item),
    )


def _edited_files(request: Json) -> list[EditedFileEvent]:
    """Return what the user did with earlier edits. If an entry has other fields, the list also stays in the request."""
    items = request.get("editedFileEvents")
    if not isinstance(items, list):
        return []
    made: list[EditedFileEvent] = []
    is_complete = True
    for item in items:
        kind = item.get("eventKind") if isinstance(item, dict) else None
        action = EDIT_ACTIONS.get(kind) if isinstance(kind, int) else None
        if action is None:
            is_complete = False
            continue
        fields = dict(item)
        made.append(EditedFileEvent(uri=take_uri(fields, "uri"), action=action))
        is_complete = is_complete and fields.keys() == {"eventKind"}
    if is_complete:
        del request["editedFileEvents"]
    return made
