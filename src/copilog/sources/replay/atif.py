"""Read agent trajectories (ATIF): the steps of an agent as one JSON document.

Format notes: docs/formats/atif.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PureWindowsPath
from typing import Any

from copilog import jsonio, tags
from copilog.derive import one_agent
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord, CopilogError
from copilog.fields import Json, put_back, rest, take_dict, take_int, take_list, take_number, take_str
from copilog.intake.files import read_bytes
from copilog.intake.folders import is_regular_file
from copilog.model import (
    Agent,
    AnyPart,
    Attachment,
    Compaction,
    Conversation,
    Message,
    Model,
    NotesDocument,
    Notice,
    Prompt,
    Relation,
    ResultItem,
    Role,
    Round,
    SubAgent,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    Unknown,
    Usage,
    prose_of,
)
from copilog.sources.base import Found, Probe, Source, provenance_of
from copilog.sources.replay.atif_extra import (
    is_of_copilog,
    picture_from,
    read_about,
    take_amounts,
    take_context_flag,
    take_error_flag,
    take_request,
    take_status,
    take_turn,
    take_typed_text,
)
from copilog.sources.replay.content import arguments_text
from copilog.sources.replay.entries import take_timestamp
from copilog.sources.tool_rounds import clean_id

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
        from copilog.sources.documents import read_document

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
    """Yield the trajectory of a document, and those of sub-agents that newer versions put inside."""
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
        made.documents = [NotesDocument(text=notes)]
    totals = take_dict(document, "final_metrics")
    if totals is not None:
        made.usage = [usage_from(totals, "total_")]
        made.usage[0].scope = "session"
    for turn in made.turns:
        turn.agent = agent
    times = [message.created_at for message in made.messages if message.created_at is not None]
    made.started_at, made.updated_at = min(times, default=None), max(times, default=None)
    made.extra = rest(document)
    read_about(made)
    if not made.id:
        made.id = f"atif:{_content_hash(made)}"
    return made


def _ids(document: Json, *, is_inside: bool) -> tuple[str | None, str]:
    """Return the trajectory's own id, and ours. Parts of a continued run may share one: they are numbered."""
    session, trajectory = document.get("session_id"), document.get("trajectory_id")
    candidates = (trajectory, session) if is_inside else (session, trajectory)
    native_id = next((value for value in candidates if isinstance(value, str) and value), None)
    if native_id is None:
        return None, ""
    if native_id == session:
        del document["session_id"]
    else:
        del document["trajectory_id"]
    if not is_inside and native_id == session and is_of_copilog(document):
        return native_id, str(trajectory)  # the conversation that copilog exported
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
    """Return the agent that took the steps; all its fields also stay in the conversation's `extra`."""
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str):
        return None
    version = raw.get("version")
    return Agent(id=raw["name"], name=raw["name"], extension_version=version if isinstance(version, str) else None)


def _assistant(agent: Agent | None) -> str | None:
    return one_agent(agent.id) if agent is not None else None


def _resolve_continuation(conversation: Conversation, path: Path) -> None:
    """Set the id of the next part of a run, which is named by its file; that file beside this one contains the id."""
    reference = (conversation.extra or {}).get("continued_trajectory_ref")
    if not isinstance(reference, str) or not reference:
        return
    other = path.parent / PureWindowsPath(reference).name
    relation = Relation(kind="continuation", other_id=f"atif:{reference}", reason=reference)
    conversation.relations.append(relation)
    if other == path or not is_regular_file(other):
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


# The steps of an ATIF trajectory as turns and messages. Format notes: docs/formats/atif.md


ROLES: dict[str, Role] = {"system": "system", "user": "user", "agent": "assistant"}


class StepReader:
    """Reads the steps of one trajectory in order. A step of the user begins a turn."""

    def __init__(self, ledger: Ledger, model: str | None) -> None:
        self.turns: list[Turn] = []
        self.messages: list[Message] = []
        self.relations: list[Relation] = []
        self._ledger = ledger
        self._model = model  # of the agent, for all steps
        self._calls: dict[str, ToolCall] = {}
        self._number: int | None = None  # of the turn, where the writer has numbers

    def read(self, step: object, pointer: str) -> None:
        """Add one step; raise BadRecord if the value is not a step."""
        if not isinstance(step, dict):
            raise BadRecord(f"a step that is {type(step).__name__}, not an object")
        source = step.get("source")
        if not isinstance(source, str):
            raise BadRecord("a step without a source")
        role = ROLES.get(source)
        self._begin_turn(role, take_turn(step), pointer)
        if role == "system" and take_context_flag(step):
            del step["source"]
            texts = [part.text for part in _content_parts(step) if isinstance(part, Text)]
            parts: list[AnyPart] = [Prompt(text=text, scope="conversation") for text in texts]
            self._add(Message(role="user", parts=parts, created_at=take_timestamp(step, "timestamp")), pointer)
            return
        if role is None:
            self._ledger.count_unknown(f"source:{source}")
            self._add(Message(role="system", parts=[Unknown(type=f"source:{source}", raw=step)]), pointer)
            return
        del step["source"]
        message = Message(role=role, parts=[], created_at=take_timestamp(step, "timestamp"))
        number = take_int(step, "step_id")
        message.id = None if number is None else str(number)
        if role == "user" and self.turns:
            take_request(step, self.turns[-1])
        observation = take_dict(step, "observation")
        if role == "assistant":
            self._read_answer(step, message, pointer)
        else:
            message.parts = _prompt_message(step, role)
            self._add(message, pointer)
        if observation is not None:
            put_back(step, "observation", self._read_observation(observation, pointer))
        message.extra = rest(step)

    def _begin(self, pointer: str) -> None:
        self.turns.append(Turn(index=len(self.turns), pointer=pointer))

    def _begin_turn(self, role: Role | None, number: int | None, pointer: str) -> None:
        """Begin a turn at a step of the user, or where the writer's number of the turn changes."""
        begins = role == "user" if number is None else number != self._number
        if begins and not self._is_waiting():
            self._begin(pointer)
        self._number = self._number if number is None else number

    def _is_waiting(self) -> bool:
        """Return whether the only turn has nothing but the system's messages yet."""
        return len(self.turns) == 1 and all(
            message.role == "system"
            or all(isinstance(part, Prompt) and part.scope == "conversation" for part in message.parts)
            for message in self.messages
        )

    def _add(self, message: Message, pointer: str) -> Turn:
        if not self.turns:
            self._begin(pointer)
        turn = self.turns[-1]
        message.turn = turn.index
        timing = turn.timing
        if message.created_at is not None:
            timing.started_at = min(timing.started_at or message.created_at, message.created_at)
            if message.role == "assistant":
                timing.completed_at = max(timing.completed_at or message.created_at, message.created_at)
        self.messages.append(message)
        return turn

    # --- steps of the agent ---

    def _read_answer(self, step: Json, message: Message, pointer: str) -> None:
        turn = self._add(message, pointer)
        model = take_str(step, "model_name")
        message.model, message.model_source = (model or self._model), ("step" if model else "agent")
        if message.model is None:
            message.model_source = None
        elif turn.model is None:
            turn.model = Model(id=message.model, name=message.model.rpartition("/")[2])
        thinking = take_str(step, "reasoning_content")
        message.parts = [Thinking(text=thinking)] if thinking else []
        message.parts += _content_parts(step)
        said = "".join(part.text for part in message.parts if isinstance(part, Text))
        calls = take_list(step, "tool_calls")
        made = Round(id=message.id, text=said, thinking=thinking, started_at=message.created_at, model=message.model)
        if calls is not None:
            put_back(step, "tool_calls", self._read_calls(calls, message, made))
        metrics = take_dict(step, "metrics")
        if metrics is not None:
            self._read_metrics(metrics, turn, made)
        turn.rounds.append(made)

    def _read_calls(self, calls: list[Any], message: Message, made: Round) -> list[Any]:
        unread: list[Any] = []
        for item in calls:
            native_id = item.get("tool_call_id") if isinstance(item, dict) else None
            name = item.get("function_name") if isinstance(item, dict) else None
            if not isinstance(native_id, str) or not isinstance(name, str):
                unread.append(item)
                continue
            del item["tool_call_id"], item["function_name"]
            call = ToolCall(
                id=clean_id(native_id),
                name=name,
                arguments=arguments_text(item.pop("arguments", None)),
                native_ids=[native_id] if clean_id(native_id) != native_id else [],
                round_id=message.id,
                status=take_status(item),
            )
            call.extra = rest(item)
            message.parts.append(call)
            made.call_ids.append(call.id)
            self._calls[call.id] = call
        return unread

    def _read_metrics(self, metrics: Json, turn: Turn, made: Round) -> None:
        first, elapsed = take_number(metrics, "time_to_first_token_ms"), take_number(metrics, "duration_ms")
        times = {"first_token_ms": first, "elapsed_ms": elapsed}
        made.extra = rest({key: value for key, value in times.items() if value is not None})
        if not turn.rounds:
            turn.timing.first_progress_ms = first
        usage = usage_from(metrics, "")
        usage.scope = "call"
        usage.model = made.model
        if made.id is not None:
            usage.extra = {**(usage.extra or {}), "round_id": made.id}
        turn.usage.append(usage)

    # --- results ---

    def _read_observation(self, observation: Json, pointer: str) -> Json:
        """Add a message for each result; return what cannot be read."""
        unread: list[Any] = []
        for result in take_list(observation, "results") or []:
            if not isinstance(result, dict):
                unread.append(result)
                continue
            parts = self._result_parts(result)
            self._add(Message(role="tool", parts=parts), pointer)
        put_back(observation, "results", unread)
        return observation

    def _result_parts(self, result: Json) -> list[AnyPart]:
        native_id = take_str(result, "source_call_id")
        if result.get("source_call_id", "") is None:
            del result["source_call_id"]
        text, items = _result_content(result)
        call = self._calls.get(clean_id(native_id)) if native_id is not None else None
        references = take_list(result, "subagent_trajectory_ref")
        if references:
            self._read_references(references, call, result)
        if native_id is None:
            return [Notice(topic="observation", text=text, data=rest(result)), *_as_attachments(items)]
        is_error = take_error_flag(result)
        if call is not None and call.status == "unknown":
            call.status = "failed" if is_error else "complete"
        made = ToolResult(call_id=clean_id(native_id), text=text, items=items, origin="model", is_error=is_error)
        made.extra = rest(result)
        return [made]

    def _read_references(self, references: list[Any], call: ToolCall | None, result: Json) -> None:
        """Add the trajectories of sub-agents, each in a file of its own, as references."""
        for reference in references:
            known = reference if isinstance(reference, dict) else {}
            run_id = known.get("session_id") or known.get("trajectory_id")
            if isinstance(run_id, str):
                reason = call.id if call is not None else None
                self.relations.append(Relation(kind="subagent", other_id=f"atif:{run_id}", reason=reason))
        first = references[0]
        if call is None or len(references) > 1 or not isinstance(first, dict):
            result["subagent_trajectory_ref"] = references
            return
        call.subagent = SubAgent(run_id=take_str(first, "session_id"), extra=rest(first))


def usage_from(metrics: Json, prefix: str) -> Usage:
    """Return the token counts of a step, or with the prefix `total_` of a trajectory.

    Costs in dollars stay in `extra`.
    """
    usage = Usage(
        input=take_int(metrics, f"{prefix}prompt_tokens"),
        output=take_int(metrics, f"{prefix}completion_tokens"),
        cache_read=take_int(metrics, f"{prefix}cached_tokens"),
        source="atif",
    )
    take_amounts(metrics, usage)
    usage.extra = rest(metrics)
    return usage


def _prompt_message(step: Json, role: Role) -> list[AnyPart]:
    """Return the parts of a message of the user or the system: its text, and the full prompt around it."""
    parts = _content_parts(step)
    text = "".join(part.text for part in parts if isinstance(part, Text))
    others: list[AnyPart] = [part for part in parts if not isinstance(part, Text)]
    if not text:
        return others
    if role == "system":
        return [Compaction(text=text) if _is_compaction(step) else Prompt(text=text, scope="system"), *others]
    typed = take_typed_text(step)
    words = tags.user_text(text) if typed is None else typed
    if words == text.strip():
        return parts
    return [*([Text(text=words)] if words else []), Prompt(text=text), *others]


def _is_compaction(step: Json) -> bool:
    extra = step.get("extra")
    management = extra.get("context_management") if isinstance(extra, dict) else None
    return isinstance(management, dict) and management.get("type") == "compaction"


def _content_parts(step: Json) -> list[AnyPart]:
    """Return the message of a step: a text, or since version 1.6 a list of texts and images."""
    message = step.get("message")
    if isinstance(message, str):
        del step["message"]
        return [Text(text=message)] if message else []
    if not isinstance(message, list):
        return []
    del step["message"]
    return [_content_part(item, position) for position, item in enumerate(message)]


def _content_part(item: Any, position: int) -> AnyPart:
    if isinstance(item, dict) and item.get("type") == "text" and isinstance(item.get("text"), str):
        more = {key: value for key, value in item.items() if key not in ("type", "text")}
        return Text(text=item["text"], extra=more or None)
    source = item.get("source") if isinstance(item, dict) and item.get("type") == "image" else None
    if not isinstance(source, dict):
        return Unknown(type="content", raw=item, position=position)
    made = picture_from(take_str(source, "path"), take_str(source, "media_type"))
    more = {key: value for key, value in item.items() if key not in ("type", "source")}
    put_back(more, "source", source)
    made.position, made.extra = position, more or None
    return made


def _result_content(result: Json) -> tuple[str, list[ResultItem]]:
    content = result.get("content")
    if content is None or isinstance(content, str):
        result.pop("content", None)
        return content or "", []
    if not isinstance(content, list):
        return "", []
    del result["content"]
    texts: list[str] = []
    items: list[ResultItem] = []
    for position, item in enumerate(content):
        part = _content_part(item, position)
        if isinstance(part, Text):
            texts.append(part.text)
        elif isinstance(part, Attachment):
            items.append(ResultItem(mime_type=part.mime_type, data=part.data, place=part.place, extra=part.extra))
        else:
            items.append(ResultItem(extra={"value": item}))
    return "".join(texts), items


def _as_attachments(items: list[ResultItem]) -> list[AnyPart]:
    return [
        Attachment(type="image", mime_type=item.mime_type, data=item.data, place=item.place, extra=item.extra)
        for item in items
    ]
