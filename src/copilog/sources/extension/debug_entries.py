"""Read the files of a debug log, and convert its entries back to spans, which they were before they were written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadFile, BadRecord
from copilog.fields import Json, take_dict, take_number, take_str, time_from_ms
from copilog.intake.files import read_bytes
from copilog.intake.records import read_records
from copilog.sources.extension.debug_files import FOLDER, MAIN, MODELS, is_document, is_log
from copilog.sources.extension.genai_messages import CUT, is_cut
from copilog.sources.extension.spans import (
    AGENT,
    CHAT,
    ERROR,
    HOOK,
    INPUT,
    OK,
    OPERATION,
    OUTPUT,
    TOOL,
    Span,
    UserPrompt,
)
from copilog.sources.folders import below, files_in

# The entries of a debug log as spans again, which they were before they were written.


ANSWER_PREFIX = "agent-msg-"
# The types of entry that are spans: the operation, and what each attribute is called there.
SPANS: dict[str, tuple[str, dict[str, str]]] = {
    "llm_request": (
        CHAT,
        {
            "model": "gen_ai.request.model",
            "inputTokens": "gen_ai.usage.input_tokens",
            "outputTokens": "gen_ai.usage.output_tokens",
            "cachedTokens": "gen_ai.usage.cache_read.input_tokens",
            "ttft": "copilot_chat.time_to_first_token",
            "userRequest": "copilot_chat.user_request",
            "inputMessages": INPUT,
            "maxTokens": "gen_ai.request.max_tokens",
            "temperature": "gen_ai.request.temperature",
            "topP": "gen_ai.request.top_p",
        },
    ),
    "tool_call": (TOOL, {"args": "gen_ai.tool.call.arguments", "result": "gen_ai.tool.call.result"}),
    "subagent": (AGENT, {"agentName": "gen_ai.agent.name", "description": "gen_ai.agent.description"}),
    "hook": (
        HOOK,
        {
            "command": "copilot_chat.hook_command",
            "input": "copilot_chat.hook_input",
            "output": "copilot_chat.hook_output",
            "resultKind": "copilot_chat.hook_result_kind",
        },
    ),
}
REMARKS = ("discovery", "generic", "error")


@dataclass(slots=True)
class Remark:
    """An entry of VS Code itself: what it discovered, or did."""

    type: str
    name: str
    at: datetime | None
    attributes: Json


class DebugLog:
    """The content of one file of a debug log."""

    def __init__(self, path: Path, ledger: Ledger) -> None:
        self._ledger = ledger
        self.spans: dict[str, Span] = {}
        self.asked: list[UserPrompt] = []
        self.remarks: list[Remark] = []
        self.children: list[Json] = []
        self.header: Json = {}
        self.session_id: str | None = None
        self.started_at: datetime | None = None
        self.count = 0
        self._answers: dict[str, tuple[Json, datetime | None, str | None]] = {}
        read_records(path, ledger, self._use, lambda entry: "ts" in entry and "type" in entry)
        self._join_answers()

    def _use(self, entry: Json, line: int) -> str | None:  # noqa: ARG002
        kind = take_str(entry, "type")
        if not kind:
            raise BadRecord("an object without a type, which is not an entry")
        self.count += 1
        attributes = take_dict(entry, "attrs") or {}
        at = time_from_ms(entry.get("ts"))
        name = take_str(entry, "name") or ""
        session_id = take_str(entry, "sid")
        self.session_id = self.session_id or session_id
        if kind in SPANS:
            return self._add_span(kind, name, at, entry, attributes)
        if kind == "user_message":
            text = take_str(attributes, "content") or ""
            self.asked.append(UserPrompt(text, at, take_str(entry, "spanId"), dict(CUT) if is_cut(text) else None))
        elif kind == "agent_response":
            span_id = (take_str(entry, "spanId") or "").removeprefix(ANSWER_PREFIX)
            self._answers[span_id] = (attributes, at, take_str(entry, "parentSpanId"))
        elif kind == "child_session_ref":
            self.children.append({"label": name, "parentSpanId": entry.get("parentSpanId"), **attributes})
        elif kind == "session_start":
            self.header = {**attributes, **self.header}
            self.started_at = self.started_at or at
        elif kind in ("turn_start", "turn_end"):
            return None  # each round already has a call of a model
        else:
            if kind not in REMARKS:
                self._ledger.count_unknown(kind)
            self.remarks.append(Remark(kind, name, at, attributes))
        return None

    def _add_span(self, kind: str, name: str, at: datetime | None, entry: Json, attributes: Json) -> str | None:
        span_id = take_str(entry, "spanId")
        if not span_id:
            raise BadRecord("an entry without the id of its span")
        if span_id in self.spans:
            return "duplicate-entry"
        operation, names = SPANS[kind]
        span = Span(span_id, name, parent_id=take_str(entry, "parentSpanId") or None, started_at=at)
        elapsed_ms = take_number(entry, "dur")
        if at is not None and elapsed_ms is not None and 0 <= elapsed_ms < 1e12:
            span.ended_at = at + timedelta(milliseconds=elapsed_ms)
        span.status = ERROR if entry.get("status") == "error" else OK
        span.status_message = take_str(attributes, "error")
        span.attributes = {names.get(key, key): value for key, value in attributes.items()}
        span.attributes[OPERATION] = operation
        if kind == "tool_call":
            span.attributes["gen_ai.tool.name"] = name
        elif kind == "hook":
            span.attributes["copilot_chat.hook_type"] = name
        if "rIdx" in entry:
            span.extra["rIdx"] = entry["rIdx"]
        self.spans[span_id] = span
        return None

    def _join_answers(self) -> None:
        """Give each call of a model its answer; an answer whose call is lost replaces the call."""
        for span_id, (attributes, at, parent_id) in self._answers.items():
            span = self.spans.get(span_id)
            if span is None:
                span = Span(span_id, parent_id=parent_id, started_at=at, ended_at=at, status=OK)
                span.attributes[OPERATION] = CHAT
                self.spans[span_id] = span
            response: Any = attributes.pop("response", None)
            if response is not None:
                span.attributes[OUTPUT] = response
            reasoning = take_str(attributes, "reasoning")
            if reasoning is not None:
                span.attributes["copilot_chat.reasoning_content"] = reasoning
            span.extra.update(attributes)


class Companions:
    """The files beside a main log. One that cannot be read is skipped here, as its own ledger reports it."""

    def __init__(self, log: Path) -> None:
        is_in_folder = log.name == MAIN and below(log, FOLDER) is not None
        files = files_in(log.parent) if is_in_folder else []
        self.logs = [path for path in files if is_log(path) and path != log]
        self.documents = {path.name: value for path in files if is_document(path) and (value := _value_of(path))}
        self.paths = [*self.logs, *(log.parent / name for name in self.documents)]

    def content(self, name: object) -> str | None:
        """Return the text of a document that an entry names."""
        value = self.documents.get(name) if isinstance(name, str) else None
        text = value.get("content") if isinstance(value, dict) else None
        return text if isinstance(text, str) else None


def _value_of(path: Path) -> Any:
    try:
        data, _ = jsonio.as_utf8(read_bytes(path))
        return jsonio.decode(data.strip(b"\0 \r\n\t"))[0]
    except (BadFile, BadRecord):
        return None


def count_document(path: Path, ledger: Ledger) -> None:
    """Count a document beside a log in its own ledger: it is one record."""
    data, repairs = jsonio.as_utf8(read_bytes(path))
    for repair in repairs:
        ledger.note(repair.code, repair.reason, offset=0)
    stripped = data.strip(b"\0 \r\n\t")
    if not stripped:
        ledger.note("nul-tail" if data.strip() else "empty-file", "the file is empty")
        return
    with ledger.record(offset=0):
        value, more = jsonio.decode(stripped)
        for repair in more:
            ledger.note(repair.code, repair.reason, "info", offset=0)
        is_right = isinstance(value, list) if path.name == MODELS else isinstance(value, dict) and "content" in value
        if not is_right:
            raise BadRecord("a document without the expected fields")
