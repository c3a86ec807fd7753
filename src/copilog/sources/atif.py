"""Agent trajectories (ATIF): the steps of an agent as one JSON document. Format notes: docs/formats/atif.md"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PureWindowsPath

from copilog import jsonio
from copilog.derive import one_agent
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord, CopilogError
from copilog.intake.files import read_bytes
from copilog.model import Agent, Conversation, Document, Relation, prose_of
from copilog.sources._vscode.take import Json, rest, take_dict, take_list, take_str
from copilog.sources.base import Found, Probe, Source, provenance_of

SCHEMA = "ATIF-"


class Atif(Source):
    name = "atif"
    title = "Agent trajectory (ATIF)"

    def claims(self, file: Probe) -> bool:
        if not {"schema_version", "steps"} <= file.keys:
            return False
        return (file.text_value("schema_version") or "").startswith(SCHEMA)

    def native_id(self, file: Probe) -> str | None:
        return file.text_value("session_id") or file.text_value("trajectory_id")

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        from copilog.sources._vscode.documents import read_document

        document = read_document(found.path, ledger)
        if document is None:
            return
        for conversation, pointer in _trajectories(document, "", ledger):
            conversation.source = self.name
            where = {"pointer": pointer} if pointer else {}
            conversation.provenance = [provenance_of(found, **where)]
            _resolve_continuation(conversation, found.path)
            yield conversation


def _trajectories(document: Json, pointer: str, ledger: Ledger) -> Iterator[tuple[Conversation, str]]:
    """The trajectory of a document, and those of sub-agents that newer versions put inside."""
    inside = take_list(document, "subagent_trajectories") or []
    ledger.seen += 1
    try:
        conversation = _conversation(document, pointer, ledger)
    except BadRecord as error:
        ledger.reject(error.code, str(error), pointer=pointer)
    else:
        ledger.used += 1
        yield conversation, pointer
    for position, trajectory in enumerate(inside):
        place = f"{pointer}/subagent_trajectories/{position}"
        if isinstance(trajectory, dict):
            yield from _trajectories(trajectory, place, ledger)
        else:
            ledger.seen += 1
            ledger.reject(
                "bad-record", f"a trajectory that is {type(trajectory).__name__}, not an object", pointer=place
            )


def _conversation(document: Json, pointer: str, ledger: Ledger) -> Conversation:
    from copilog.sources._replay.trajectory import StepReader, usage_from

    steps = take_list(document, "steps")
    if steps is None:
        raise BadRecord("a trajectory without a list of steps")
    native_id, conversation_id = _ids(document, is_inside=bool(pointer))
    agent = _agent_from(document.get("agent"))
    reader = StepReader(ledger, _model_of(document.get("agent")))
    for position, step in enumerate(steps):
        place = f"{pointer}/steps/{position}"
        with ledger.record(pointer=place):
            reader.read(step, place)
    made = Conversation(id=conversation_id, native_id=native_id, source="", assistant=_assistant(agent))
    made.turns, made.messages, made.relations = reader.turns, reader.messages, reader.relations
    if notes := take_str(document, "notes"):
        made.documents = [Document(kind="notes", text=notes)]
    totals = take_dict(document, "final_metrics")
    if totals is not None:
        made.usage = [usage_from(totals, "total_")]
        made.usage[0].scope = "session"
    for turn in made.turns:
        turn.agent = agent
    times = [message.created_at for message in made.messages if message.created_at is not None]
    made.started_at, made.updated_at = min(times, default=None), max(times, default=None)
    made.extra = rest(document)
    if not made.id:
        made.id = f"atif:{_content_hash(made)}"
    return made


def _ids(document: Json, *, is_inside: bool) -> tuple[str | None, str]:
    """The trajectory's own id, and ours. Parts of a run that was continued may share one: they are numbered."""
    session, trajectory = document.get("session_id"), document.get("trajectory_id")
    candidates = (trajectory, session) if is_inside else (session, trajectory)
    native_id = next((value for value in candidates if isinstance(value, str) and value), None)
    if native_id is None:
        return None, ""
    if native_id == session:
        del document["session_id"]
    else:
        del document["trajectory_id"]
    return native_id, f"atif:{native_id}{_continuation_mark(document, native_id)}"


def _continuation_mark(document: Json, native_id: str) -> str:
    agent = document.get("agent")
    extra = agent.get("extra") if isinstance(agent, dict) else None
    number = extra.get("continuation_index") if isinstance(extra, dict) else None
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        return ""
    mark = f"-cont-{number}"
    return "" if native_id.endswith(mark) else mark


def _model_of(agent: object) -> str | None:
    name = agent.get("model_name") if isinstance(agent, dict) else None
    return name if isinstance(name, str) else None


def _agent_from(raw: object) -> Agent | None:
    """Who took the steps; all that is said about it stays in the conversation's `extra`, too."""
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str):
        return None
    version = raw.get("version")
    return Agent(id=raw["name"], name=raw["name"], extension_version=version if isinstance(version, str) else None)


def _assistant(agent: Agent | None) -> str | None:
    return one_agent(agent.id) if agent is not None else None


def _resolve_continuation(conversation: Conversation, path: Path) -> None:
    """The next part of a run is named by its file; the file beside this one tells its id."""
    reference = (conversation.extra or {}).get("continued_trajectory_ref")
    if not isinstance(reference, str) or not reference:
        return
    other = path.parent / PureWindowsPath(reference).name
    relation = Relation(kind="continuation", other_id=f"atif:{reference}", reason=reference)
    conversation.relations.append(relation)
    if other == path or other.is_symlink() or not other.is_file():
        return
    try:
        values = jsonio.top_level_values(jsonio.as_utf8(read_bytes(other))[0])
        document: Json = {
            key: jsonio.decode(bytes(values[key]))[0]
            for key in ("session_id", "trajectory_id", "agent")
            if key in values
        }
    except CopilogError:
        return
    relation.other_id = _ids(document, is_inside=False)[1] or relation.other_id


def _content_hash(conversation: Conversation) -> str:
    import hashlib

    digest = hashlib.sha256()
    for message in conversation.messages:
        digest.update(f"{message.role}\0{message.id or ''}\0{prose_of(message.parts)}\0".encode("utf-8", "replace"))
    return digest.hexdigest()[:32]
