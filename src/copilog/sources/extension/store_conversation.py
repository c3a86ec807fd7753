"""Convert a session of a store to a conversation: the texts of its turns, which may be truncated, and its usage."""

from __future__ import annotations

import re
from typing import Any

from copilog import jsonio
from copilog.derive import add_title
from copilog.derive.document_union import sections_in
from copilog.errors import BadRecord
from copilog.fields import Json, rest, take_str, take_timestamp
from copilog.model import (
    SECTIONS,
    AnyDocument,
    AnyPart,
    CheckpointDocument,
    Compaction,
    Conversation,
    FileState,
    IndexedDocument,
    Message,
    Model,
    Place,
    ReferenceDocument,
    Relation,
    Role,
    SessionFileDocument,
    SummaryDocument,
    Text,
    Turn,
    Usage,
    UsedReference,
    Workspace,
)
from copilog.sources.database_rows import Row, take_integer
from copilog.sources.documents_of_sessions import saved_document
from copilog.sources.extension.store_rows import ARTIFACT, SessionRows

NANO = 1e9  # the unit of account is a billionth of a credit
SOURCE = "session-store"
USAGE = "assistant_usage_events"
READ = ("turns", "checkpoints", "session_files", "session_refs", USAGE)
SIDE_INITIATORS = ("sub-agent", "compaction", "mcp-sampling")  # calls of a model that are not the main agent's
REF = "ref"  # what a store calls a commit, but is none: a branch
_COMMIT = re.compile(r"[0-9a-fA-F]{7,40}")


def stub_of(rows: SessionRows, namespace: str) -> Conversation:
    """Return the stub of a session for lists."""
    session = dict(rows.session)
    made = Conversation(id=f"{namespace}:{rows.id}", native_id=rows.id, source=SOURCE, marks=["stub"])
    _read_session(session, made, _is_prompt(rows))
    return made


def conversation_of(rows: SessionRows, namespace: str, version: int | None) -> Conversation:
    """Return the conversation of a session from all rows of the store."""
    made = Conversation(id=f"{namespace}:{rows.id}", native_id=rows.id, source=SOURCE, marks=["store-row"])
    extra = _read_session(dict(rows.session), made, _is_prompt(rows))
    for row in rows.rows("turns"):
        _add_turn(row, made)
    made.usage = [_usage_from(dict(row.values)) for row in rows.rows(USAGE)]
    _set_models(rows, made)
    for row in rows.rows("checkpoints"):
        _add_checkpoint(row, made)
    made.relations = [_relation_from(row.values) for row in rows.rows("session_refs") if _is_reference(row.values)]
    made.documents += [_reference_from(row.values, made) for row in rows.rows("session_refs")]
    made.documents += [_indexed_from(row, rows.id) for row in rows.indexed]
    _add_files(rows, made)
    extra |= _extras(rows)
    if version is not None:
        extra["store_version"] = version
    made.extra = extra or None
    return made


def _is_prompt(rows: SessionRows) -> bool:
    """Return whether the summary of a session is one of its later prompts, possibly truncated, and so not a title."""
    summary = rows.session.get("summary")
    text = summary.strip().removesuffix("...").removesuffix("…") if isinstance(summary, str) else ""
    prompts = [row.values.get("user_message") for row in rows.rows("turns")]
    later = [prompt.strip() for prompt in prompts[1:] if isinstance(prompt, str)]
    return bool(text) and any(prompt.startswith(text) for prompt in later)


def _read_session(session: Json, made: Conversation, is_prompt: bool) -> Json:
    """Take the fields of the session's own row; return those that are left."""
    summary = take_str(session, "summary")
    if is_prompt:
        summary = None
    lines = [line.strip() for line in (summary or "").split("\n")]
    add_title(made, next((line for line in lines if line), None), "store")
    made.started_at = take_timestamp(session, "created_at")
    made.updated_at = take_timestamp(session, "updated_at")
    workspace = Workspace(
        folder=take_str(session, "cwd"),
        repository=take_str(session, "repository"),
        branch=take_str(session, "branch"),
    )
    host = take_str(session, "host_type")
    if host is not None:
        workspace.extra = {"host_type": host}
    if workspace.folder:
        workspace.kind = "folder"
    if workspace.folder or workspace.repository or workspace.branch:
        made.workspace = workspace
    elif host is not None:
        session["host_type"] = host
    extra: Json = {"session": session} if session else {}
    if summary and summary != made.title:
        made.documents.append(SummaryDocument(text=summary))
    return extra


# --- turns ------------------------------------------------------------------------------------------------------


def _add_turn(row: Row, made: Conversation) -> None:
    values = dict(row.values)
    values.pop("id", None)
    turn = Turn(index=len(made.turns), pointer=f"turns:{row.name}")
    number = take_integer(values, "turn_index")
    turn.timing.started_at = take_timestamp(values, "timestamp")
    roles: tuple[tuple[str, Role], ...] = (("user_message", "user"), ("assistant_response", "assistant"))
    for column, role in roles:
        text = take_str(values, column)
        if text is not None:
            part = Text(text=text, extra={"possibly_cut": True})
            created_at = turn.timing.started_at if role == "user" else None
            made.messages.append(Message(role=role, parts=[part], turn=turn.index, created_at=created_at))
    if number is not None and number != turn.index:
        values["turn_index"] = number
    turn.extra = rest(values)
    made.turns.append(turn)


def _turn_numbered(made: Conversation, number: object) -> Turn | None:
    """Return the turn with a number of the store, which counts prompts from 0 and may leave some out."""
    for turn in made.turns:
        if (turn.extra or {}).get("turn_index", turn.index) == number:
            return turn
    return None


def _set_models(rows: SessionRows, made: Conversation) -> None:
    """Set the model of each turn: the one that the main agent called first."""
    for row in rows.rows(USAGE):
        model, turn = row.values.get("model"), _turn_numbered(made, row.values.get("turn_index"))
        is_main = "agent_id" not in row.values and row.values.get("initiator") not in SIDE_INITIATORS
        if is_main and turn is not None and turn.model is None and isinstance(model, str) and model:
            turn.model = Model(id=model, name=model)


def _add_checkpoint(row: Row, made: Conversation) -> None:
    """Add a checkpoint, the text that replaced the history in later prompts, after the turn that it was made in."""
    values = dict(row.values)
    values.pop("id", None)
    created_at = take_timestamp(values, "created_at")
    sections = [(name, take_str(values, name)) for name in SECTIONS]
    text = "\n\n".join(f"<{name}>\n{section}\n</{name}>" for name, section in sections if section)
    title, number = take_str(values, "title"), values.get("checkpoint_number")
    parts: list[AnyPart] = [Compaction(text=text, title=title, native="checkpoint", extra=rest(values))]
    begun = [
        turn.index
        for turn in made.turns
        if created_at is not None and turn.timing.started_at is not None and turn.timing.started_at <= created_at
    ]
    last = max(begun) if begun else None
    place = len(made.messages)
    if last is not None:
        place = next((i for i, m in enumerate(made.messages) if m.turn is not None and m.turn > last), place)
    made.messages.insert(place, Message(role="system", parts=parts, turn=last, created_at=created_at))
    made.documents.append(
        CheckpointDocument(
            text=text,
            title=title,
            number=number if isinstance(number, int) else None,
            sections=sections_in(text),
            turn=last,
            created_at=created_at,
        )
    )


# --- usage, relations and files ---------------------------------------------------------------------------------


def _usage_from(row: Json) -> Usage:
    """Return the usage of one call of a model. Input includes the cache, and output the reasoning, as recorded."""
    row.pop("id", None)
    usage = Usage(
        input=take_integer(row, "input_tokens"),
        output=take_integer(row, "output_tokens"),
        cache_read=take_integer(row, "cache_read_tokens"),
        cache_write=take_integer(row, "cache_write_tokens"),
        reasoning=take_integer(row, "reasoning_tokens"),
        model=take_str(row, "model"),
        scope="call",
        source=SOURCE,
    )
    nano = row.get("total_nano_aiu")
    if isinstance(nano, int | float):
        usage.credits = row.pop("total_nano_aiu") / NANO
    details = row.get("token_details_json")
    if isinstance(details, str):
        try:
            row["token_details"] = jsonio.decode(details.encode())[0]
            del row["token_details_json"]
        except BadRecord:
            pass  # it stays text
    usage.extra = rest(row)
    return usage


def _is_reference(values: Json) -> bool:
    return isinstance(values.get("ref_type"), str) and isinstance(values.get("ref_value"), str | int)


def _relation_from(values: Json) -> Relation:
    """Return a pull request, issue or commit that the session names. What is called a commit may be a branch."""
    kind, value = values["ref_type"], str(values["ref_value"])
    turn = values.get("turn_index")
    reason = f"named in turn {turn}" if isinstance(turn, int) else None
    if kind == "commit" and not _COMMIT.fullmatch(value):
        return Relation(kind=REF, other_id=value, reason=reason)
    return Relation(kind=kind, other_id=value, reason=reason)


def _add_files(rows: SessionRows, made: Conversation) -> None:
    """Add the files that a tool touched: as documents, and as references of their turns or files of the whole."""
    for row in rows.rows("session_files"):
        made.documents.append(_file_from(row.values, made))
        path, turn = row.values.get("file_path"), _turn_numbered(made, row.values.get("turn_index"))
        if turn is not None and isinstance(path, str):
            turn.references.append(UsedReference(place=Place(path=path)))
        elif isinstance(path, str):
            made.files.append(FileState(uri=path, path=path))


def _extras(rows: SessionRows) -> Json:
    """Return rows without a field of the model: tables of newer releases, rows that are not as expected."""
    made: Json = {}
    tables = {name: [row.values for row in found] for name, found in rows.tables.items() if name not in READ}
    if tables:
        made["tables"] = tables
    return made


def _file_from(values: Json, made: Conversation) -> SessionFileDocument:
    """Return a file that a tool touched, at the first time. In VS Code's store, reading counts as well."""
    row = _without_id(values)
    turn = _take_turn(row, made)
    return SessionFileDocument(
        path=take_str(row, "file_path"),
        tool=take_str(row, "tool_name"),
        turn=turn,
        created_at=take_timestamp(row, "first_seen_at"),
        extra=rest(row),
    )


def _reference_from(values: Json, made: Conversation) -> ReferenceDocument:
    """Return a commit, pull request or issue that the session named."""
    row = _without_id(values)
    turn = _take_turn(row, made)
    value = row.get("ref_value")
    if isinstance(value, str | int):
        del row["ref_value"]
    kind = take_str(row, "ref_type")
    value = str(value) if isinstance(value, str | int) else None
    return ReferenceDocument(
        type=REF if kind == "commit" and value is not None and not _COMMIT.fullmatch(value) else kind,
        value=value,
        turn=turn,
        created_at=take_timestamp(row, "created_at"),
        extra=rest(row),
    )


def _without_id(values: Json) -> Json:
    return {key: value for key, value in values.items() if key not in ("id", "session_id")}


def _take_turn(row: Json, made: Conversation) -> int | None:
    """Take the number of a turn; return the turn's index. The number of a turn that is gone stays."""
    turn = _turn_numbered(made, row.get("turn_index"))
    if turn is None:
        return None
    del row["turn_index"]
    return turn.index


def _indexed_from(entry: Json, native_id: str) -> AnyDocument:
    """Return a text that only the search index has: a file of the session, or the text of a turn that is gone."""
    source_id: Any = entry.get("source_id")
    path = source_id.removeprefix(f"{native_id}:workspace:") if isinstance(source_id, str) else None
    text = str(entry.get("content") or "")
    if entry.get("source_type") == ARTIFACT:
        return saved_document(path, text, None, [])
    left = {key: value for key, value in entry.items() if key != "content"}
    return IndexedDocument(text=text, extra=left or None)
