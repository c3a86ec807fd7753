"""Export a conversation as an agent trajectory (ATIF): the steps of the user and of the agent as one JSON document.

Results are in the step of their call. A sub-agent is a trajectory within the document, which the result of its call
refers to; its tokens are in its own totals, and in no other. Format notes: docs/formats/atif.md
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from copilog import tags
from copilog.derive import model_of
from copilog.derive.models import model_of_message
from copilog.exports.agent_runs import AgentRuns, Result, is_only_context, trunk_of
from copilog.exports.formats import Format, Making
from copilog.exports.index import Entry
from copilog.exports.paired_messages import arguments_object
from copilog.exports.recorded_usage import Amounts, Place, RecordedUsage
from copilog.exports.training import definitions_in
from copilog.exports.uncarried import count_uncarried, is_picture
from copilog.model import Attachment, Conversation, Message, ResultItem, ToolCall, prose_of
from copilog.trajectory import TrajectoryMessage, encoded

Json = dict[str, Any]

VERSION = "ATIF-v1.8"
UNKNOWN = "unknown"
OURS = "copilog"  # the key of `extra` for what the format has no field for
NOT_RECORDED = ("first prompt", "placeholder")  # origins of titles that copilog concluded
DEFAULT_AGENT = "GitHub Copilot"
PICTURE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
CARRIED = frozenset(
    {"text", "prompt", "thinking", "tool-call", "tool-result", "attachment", "picture", "mention", "reference"}
    | {"turn.error", "turn.usage", "conversation.usage"}
)


def document_of(conversation: Conversation, making: Making) -> Json:
    """Return the trajectory of a conversation."""
    trunk = trunk_of(conversation, making)
    runs, usage = AgentRuns(trunk), RecordedUsage(trunk, making)
    ids = {"session_id": trunk.native_id or trunk.id, "trajectory_id": trunk.id}
    document = _Trajectory(runs, usage, making, None).document(runs.main(), ids)
    notes = [each.text for each in trunk.documents if each.kind == "notes"]
    if notes:
        document["notes"] = "\n\n".join(notes)
    document["extra"] = {OURS: _about(trunk, making)}
    return document


def _about(conversation: Conversation, making: Making) -> Json:
    workspace = conversation.workspace
    about = {
        "id": conversation.id,
        "source": conversation.source,
        "title": conversation.title if conversation.title_origin not in NOT_RECORDED else None,
        "application": conversation.application,
        "workspace": workspace.folder if workspace else None,
        "repository": workspace.repository if workspace else None,
        "branch": workspace.branch if workspace else None,
        "commit": workspace.commit if workspace else None,
        "written_by": making.by,
    }
    return {key: value for key, value in about.items() if value is not None}


class _Trajectory:
    """Makes the document of one run, and those of its sub-agents inside."""

    def __init__(self, runs: AgentRuns, usage: RecordedUsage, making: Making, caller: str | None) -> None:
        self._runs = runs
        self._usage = usage
        self._making = making
        self._caller = caller
        self._steps: list[Json] = []
        self._inside: list[Json] = []
        self._turn: int | None = None  # of the last step
        self._answers: dict[int | None, list[Json]] = {}  # the steps of the agent, by turn

    def document(self, messages: list[Message], ids: Json) -> Json:
        for message in messages:
            self._add(message)
        if self._caller is None:
            for caller, own in self._runs.loose_runs():
                self._embed(caller, own)
        self._add_metrics()
        for number, step in enumerate(self._steps, 1):
            step["step_id"] = number
        document: Json = {"schema_version": VERSION, **ids, "agent": self._agent(), "steps": self._steps}
        totals = _metrics(self._usage.of_run(self._caller), "total_")
        document["final_metrics"] = {**totals, "total_steps": len(self._steps)}
        if self._inside:
            document["subagent_trajectories"] = self._inside
        return document

    def _agent(self) -> Json:
        conversation = self._runs.conversation
        agents = [turn.agent for turn in conversation.turns if turn.agent is not None]
        call = self._runs.call(self._caller) if self._caller is not None else None
        name = call.subagent.name if call is not None and call.subagent is not None else None
        versions = [agent.extension_version for agent in agents if agent.extension_version]
        made: Json = {
            "name": name or (agents[0].id if agents else conversation.assistant) or DEFAULT_AGENT,
            "version": versions[0] if versions else UNKNOWN,
        }
        models = {step.get("model_name") for step in self._steps if step["source"] == "agent"}
        if len(models) == 1 and None not in models:  # it would count for steps without a known model, too
            made["model_name"] = models.pop()
        if definitions := list(definitions_in(conversation).values()):
            made["tool_definitions"] = definitions
        return made

    # --- steps ---

    def _add(self, message: Message) -> None:
        written = self._runs.writer.write([message])
        results = self._runs.results_without_call(message)
        if results:
            self._add_step("agent", "", message)["observation"] = {"results": [*map(self._result, results)]}
        if is_only_context(message):
            written = [*written, TrajectoryMessage("none", "")]
        for prompt in written[:-1]:  # sent by the product in the user's name
            self._add_step("system", prompt.content, message, is_context=True)
        if not written:
            return
        last = written[-1]
        content = self._content(message, last)
        if message.role == "user" and content:
            self._add_prompt(message, last, content)
        elif message.role == "system" and content:
            self._add_step("system", content, message)
        if message.role == "assistant" or last.tool_calls:
            self._add_answer(message, last)

    def _add_step(self, source: str, content: Any, message: Message, **extra: Any) -> Json:
        """Add a step; one that begins a turn says so, because a prompt need not be the first of its turn."""
        step: Json = {"step_id": 0, "source": source, "message": content}
        if message.created_at is not None:
            step["timestamp"] = message.created_at.isoformat().replace("+00:00", "Z")
        if self._caller is None and message.turn is not None and (message.turn != self._turn or source == "user"):
            self._turn = extra["turn"] = message.turn
        if extra:
            step["extra"] = {OURS: extra}
        self._steps.append(step)
        return step

    def _content(self, message: Message, written: TrajectoryMessage) -> str | list[Json]:
        pictures = [self._picture(part) for part in _sent_pictures(message)]
        return _content(written.content, [picture for picture in pictures if picture is not None])

    def _add_prompt(self, message: Message, written: TrajectoryMessage, content: str | list[Json]) -> None:
        step = self._add_step("user", content, message)
        typed = prose_of(message.parts).strip()
        about: Json = {"typed": typed} if typed != (tags.user_text(written.content) or "") else {}
        turn = self._runs.turns.get(message.turn) if self._caller is None else None
        if turn is not None:
            about |= {"request_id": turn.request_id, "mode": written.mode, "status": turn.status}
            about["error"] = turn.error.message if turn.error is not None else None
        if turn is not None and "timestamp" not in step and turn.timing.started_at is not None:
            step["timestamp"] = turn.timing.started_at.isoformat().replace("+00:00", "Z")
        if about := {key: value for key, value in about.items() if value is not None}:
            step["extra"] = {OURS: step.get("extra", {}).get(OURS, {}) | about}

    def _add_answer(self, message: Message, written: TrajectoryMessage) -> None:
        step = self._add_step("agent", written.content if message.role == "assistant" else "", message)
        if message.role == "assistant":
            self._answers.setdefault(message.turn, []).append(step)
            self._add_model(step, message, written)
        else:
            step["llm_call_count"] = 0  # the program or the user used a tool
        calls = [part for part in message.parts if isinstance(part, ToolCall) and part.status != "prepared"]
        if not calls:
            return
        step["tool_calls"] = [self._call(call) for call in calls]
        results = [made for call in calls for made in self._results_of(call)]
        if results:
            step["observation"] = {"results": results}

    def _add_model(self, step: Json, message: Message, written: TrajectoryMessage) -> None:
        turn = self._runs.turns.get(message.turn)
        model = model_of_message(message, turn) or (model_of(turn) if turn and self._caller is None else None)
        if model:
            step["model_name"] = model
        if written.reasoning:
            step["reasoning_content"] = written.reasoning

    def _call(self, call: ToolCall) -> Json:
        arguments = arguments_object(call.arguments or "{}")
        made: Json = {"tool_call_id": self._runs.spelled(call.id), "function_name": call.name}
        made["arguments"] = arguments if arguments is not None else {"input": call.arguments}
        if call.outcome is not None:
            made["extra"] = {OURS: {"outcome": call.outcome.kind}}
        return made

    def _results_of(self, call: ToolCall) -> list[Json]:
        results = [self._result(result) for result in self._runs.take_results(self._caller, call.id)]
        messages = self._runs.begin(call)
        if messages:
            reference = {"trajectory_id": self._embed(call.id, messages)}
            if not results:
                results.append({"source_call_id": self._runs.spelled(call.id)})
            results[0]["subagent_trajectory_ref"] = [reference]
        return results

    def _embed(self, caller: str, messages: list[Message]) -> str:
        """Add the trajectory of a sub-agent, and return its id."""
        native_id = self._runs.conversation.native_id or self._runs.conversation.id
        trajectory_id = f"{native_id}#{self._runs.spelled(caller)}"
        inside = _Trajectory(self._runs, self._usage, self._making, caller)
        self._inside.append(inside.document(messages, {"trajectory_id": trajectory_id}))
        return trajectory_id

    def _result(self, result: Result) -> Json:
        pictures = [self._picture(item) for item in result.part.items if is_picture("", item.mime_type)]
        made: Json = {
            "source_call_id": self._runs.spelled(result.part.call_id),
            "content": _content(result.part.text, [picture for picture in pictures if picture is not None]),
        }
        if result.part.is_error:
            made["extra"] = {OURS: {"is_error": True}}
        return made

    def _picture(self, item: Attachment | ResultItem) -> Json | None:
        place = item.place
        path = (place.path or place.uri) if place is not None else None
        if item.data is not None:
            path = f"data:{item.mime_type};base64,{base64.b64encode(item.data).decode()}"
        if path is None or item.mime_type not in PICTURE_TYPES:
            self._making.left_out.add(self._runs.conversation.id, "pictures of other types or without content")
            return None
        return {"type": "image", "source": {"media_type": item.mime_type, "path": path}}

    # --- tokens ---

    def _add_metrics(self) -> None:
        """Add the tokens of each turn to its steps: one by one if they were recorded so, else to the last step."""
        for turn, steps in self._answers.items():
            place = Place(turn, self._caller)
            amounts = self._usage.of_answers(place, len(steps)) or [self._usage.of_turn(place)]
            for step, amount in zip(reversed(steps), reversed(amounts), strict=False):
                if amount:
                    step["metrics"] = _metrics(amount, "")


def _metrics(amounts: Amounts, prefix: str) -> Json:
    known = {
        f"{prefix}prompt_tokens": amounts.input,
        f"{prefix}completion_tokens": amounts.output,
        f"{prefix}cached_tokens": amounts.cache_read,
    }
    extra = {
        "cache_write_tokens": amounts.cache_write,
        "reasoning_tokens": amounts.reasoning,
        "premium_requests": amounts.premium_requests,
        "credits": amounts.credits,
    }
    made: Json = {key: value for key, value in known.items() if value is not None}
    if extra := {key: value for key, value in extra.items() if value is not None}:
        made["extra"] = extra
    return made


def _content(text: str, pictures: list[Json]) -> str | list[Json]:
    if not pictures:
        return text
    return [*([{"type": "text", "text": text}] if text else []), *pictures]


def _sent_pictures(message: Message) -> list[Attachment]:
    attachments = (part for part in message.parts if isinstance(part, Attachment) and part.is_sent)
    return [part for part in attachments if is_picture(part.type, part.mime_type)]


def _pieces(conversations: Iterable[Conversation], index: Sequence[Entry], making: Making) -> Iterator[bytes]:  # noqa: ARG001
    for conversation in conversations:
        document = document_of(conversation, making)
        if document["steps"]:
            count_uncarried(conversation, making, CARRIED)
            yield encoded(document) + b"\n"


FORMAT = Format("atif", "Trajectory (ATIF)", ".atif.json", "application/json", _pieces, shape="single", is_linear=True)
