"""Read OpenTelemetry files: those of the file exporter, and exports of VS Code's agent debug panel (OTLP).

Format notes: docs/formats/copilot-chat-extension.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from copilog import jsonio
from copilog.derive import add_title
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.fields import Json, take_str
from copilog.intake.files import read_bytes
from copilog.intake.folders import is_link
from copilog.intake.records import first_record, read_records
from copilog.model import Conversation
from copilog.sources.base import LOG_SUFFIXES, Found, Probe, Source
from copilog.sources.folders import files_in
from copilog.sources.roots import StorageFolder

# Files that OpenTelemetry's file exporter writes for Copilot: spans, log records and metrics, one on each line.
# Format notes: docs/formats/copilot-chat-extension.md


if TYPE_CHECKING:
    from copilog.sources.extension.spans import Span

FOLDER = "otel"
SUFFIXES = (".jsonl", ".json", ".ndjson", ".log", ".txt")


class OtelFile(Source):
    name = "otel-file"
    title = "OpenTelemetry file of Copilot"
    is_index = True

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        """Yield files of the folder that Copilot CLI has for them; VS Code writes to any path that the user sets."""
        if folder.kind == "copilot-home" and not is_link(folder.path / FOLDER):
            for path in files_in(folder.path / FOLDER):
                if path.suffix.lower() == ".jsonl":
                    yield Found(path, self.name)

    def claims(self, file: Probe) -> bool:
        if file.suffix not in SUFFIXES or not file.may_hold_records:
            return False
        first = file.first_record
        return first is not None and _is_record(first)

    def index(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Yield one stub for each session; all lines are counted here, so that reading a session counts none again."""
        from copilog.sources.extension.span_conversations import stubs_from

        yield from stubs_from(Telemetry(found, ledger).spans, found)

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        from copilog.sources.extension.span_conversations import conversations_from

        ledger = ledger if found.native_id is None else Ledger()
        telemetry = Telemetry(found, ledger)
        for conversation in conversations_from(telemetry.spans, found, ledger):
            events = telemetry.events.get(conversation.native_id or "")
            if events:
                conversation.extra = {**(conversation.extra or {}), "events": events}
            yield conversation


class Telemetry:
    """The content of a file's lines: spans, and log records that name a session."""

    def __init__(self, found: Found, ledger: Ledger) -> None:
        self.spans: list[Span] = []
        self.events: dict[str, list[Json]] = {}
        self._known: set[str] = set()
        read_records(found.path, ledger, self._use, _is_record)

    def _use(self, value: Json, line: int) -> str | None:  # noqa: ARG002
        from copilog.sources.extension.spans import span_from_sdk

        if not value:
            return "empty-record"  # the exporter writes such lines when it fails
        if _is_metrics(value):
            return "metrics"
        if _is_log(value):
            return self._use_log(value)
        span = span_from_sdk(value)
        if span.id in self._known:
            return "duplicate-span"
        self._known.add(span.id)
        self.spans.append(span)
        return None

    def _use_log(self, value: Json) -> str | None:
        """Use a log record if it names its session, else return why it is ignored; most others repeat a span."""
        from copilog.sources.extension.spans import SESSION_KEYS

        attributes = value.get("attributes")
        if not isinstance(attributes, dict):
            return "log-record"
        for key in (*SESSION_KEYS, "session.id"):
            session = attributes.get(key)
            if isinstance(session, str) and session:
                name = attributes.get("event.name", value.get("eventName"))
                self.events.setdefault(session, []).append(
                    {"name": name, "body": value.get("body", value.get("_body")), **attributes}
                )
                return None
        return "log-record"


def _is_record(value: Json) -> bool:
    return _is_span(value) or _is_log(value) or _is_metrics(value)


def _is_span(value: Json) -> bool:
    if isinstance(value.get("_spanContext"), dict):
        return True
    return isinstance(value.get("traceId"), str) and isinstance(value.get("spanId"), str) and "startTime" in value


def _is_log(value: Json) -> bool:
    return "hrTime" in value or ("severityNumber" in value and "startTime" not in value)


def _is_metrics(value: Json) -> bool:
    """Return whether a line has figures: one of the CLI (since 1.0.102), or a batch of VS Code."""
    return "scopeMetrics" in value or (value.get("type") == "metric" and "spanId" not in value)


# Exports of VS Code's agent debug panel: spans as an OTLP document, or several such documents, one on each line.
# Format notes: docs/formats/copilot-chat-extension.md


SPANS, ABOUT = "resourceSpans", "copilotChat"
SIGNS = (b"gen_ai.", b"copilot")  # other programs write OTLP too


class OtlpExport(Source):
    name = "otlp-export"
    title = "Agent debug export (OTLP)"
    is_index = True

    def claims(self, file: Probe) -> bool:
        if file.suffix not in (".json", ".jsonl") or not file.may_hold_records:
            return False
        keys = file.keys or frozenset(file.first_record or {})
        return SPANS in keys and (ABOUT in keys or any(sign in file.head for sign in SIGNS))

    def index(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        from copilog.sources.extension.span_conversations import stubs_from

        yield from stubs_from(Document(found, ledger).spans, found)

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        from copilog.sources.extension.span_conversations import conversations_from

        ledger = ledger if found.native_id is None else Ledger()
        document = Document(found, ledger)
        for conversation in conversations_from(document.spans, found, ledger):
            about = document.about.pop(conversation.native_id or "", None)
            if about is not None:
                add_title(conversation, take_str(about, "sessionTitle"), "generated")
                conversation.extra = {**(conversation.extra or {}), "export": about}
            if document.written_by is not None:
                conversation.extra = {**(conversation.extra or {}), "copilog": {"written_by": document.written_by}}
            yield conversation


class Document:
    """The spans of an export; each is one record, and so is a document that cannot be read."""

    def __init__(self, found: Found, ledger: Ledger) -> None:
        self.spans: list[Span] = []
        self.about: dict[str, Json] = {}
        self.written_by: str | None = None  # the copilog that exported the spans
        self._ledger = ledger
        self._known: set[str] = set()
        if found.path.suffix.lower() in LOG_SUFFIXES and first_record(found.path) is not None:
            read_records(found.path, ledger, self._use_line, lambda value: SPANS in value)
            return
        data, repairs = jsonio.as_utf8(read_bytes(found.path))
        data = data.strip(b"\0 \r\n\t")
        try:
            value, more = jsonio.decode(data)
        except BadRecord as error:
            if first_record(found.path) is not None:
                read_records(found.path, ledger, self._use_line, lambda value: SPANS in value)
            else:
                self._salvage(data, error)
            return
        for repair in (*repairs, *more):
            ledger.note(repair.code, repair.reason, "info", offset=0)
        self._use(value, "")

    def _salvage(self, data: bytes, error: BadRecord) -> None:
        """Read the spans before the position at which a document breaks off."""
        from copilog.sources.extension.genai_messages import decode_cut

        self._ledger.seen += 1
        value, _ = decode_cut(data.decode("utf-8", "replace"))
        if not isinstance(value, dict) or SPANS not in value:
            self._ledger.reject(error.code, str(error), offset=0)
            return
        self._ledger.reject("torn-document", "the document breaks off", offset=len(data))
        self._use(value, "")
        self._ledger.note("salvaged-document", f"{len(self.spans)} spans were read")

    def _use_line(self, value: Json, line: int) -> str | None:
        if SPANS not in value:
            raise BadRecord("a line without spans")
        self._use(value, f"/{line}")
        return "document"  # its spans are counted one by one

    def _use(self, value: Any, pointer: str) -> None:
        if not isinstance(value, dict) or not isinstance(value.get(SPANS), list):
            self._ledger.seen += 1
            self._ledger.reject("bad-record", "a document without spans", pointer=pointer)
            return
        about = value.get(ABOUT)
        if isinstance(about, dict) and isinstance(about.get("sessionId"), str):
            self.about[about["sessionId"]] = about
        for place, group in _objects(value[SPANS], f"{pointer}/{SPANS}", self._ledger):
            service = _text_of(group.get("resource"), "service.name")
            self.written_by = self.written_by or _text_of(group.get("resource"), "copilog.written_by")
            for inner, scope in _objects(group.get("scopeSpans"), f"{place}/scopeSpans", self._ledger):
                for where, span in _objects(scope.get("spans"), f"{inner}/spans", self._ledger):
                    self._add(span, service, where)

    def _add(self, value: Json, service: str | None, pointer: str) -> None:
        from copilog.sources.extension.spans import span_from_otlp

        self._ledger.seen += 1
        try:
            span = span_from_otlp(value, service)
        except BadRecord as error:
            self._ledger.reject(error.code, str(error), pointer=pointer)
            return
        if span.id in self._known:
            self._ledger.ignore("duplicate-span")
            return
        self._ledger.used += 1
        self._known.add(span.id)
        self.spans.append(span)


def _text_of(resource: object, key: str) -> str | None:
    from copilog.sources.extension.spans import attributes_from

    attributes = attributes_from(resource.get("attributes")) if isinstance(resource, dict) else {}
    value = attributes.get(key)
    return value if isinstance(value, str) else None


def _objects(value: object, pointer: str, ledger: Ledger) -> Iterator[tuple[str, Json]]:
    """Yield the objects of a list with their pointers; any other item is one bad record."""
    for position, item in enumerate(value if isinstance(value, list) else []):
        place = f"{pointer}/{position}"
        if isinstance(item, dict):
            yield place, item
        else:
            ledger.seen += 1
            ledger.reject("bad-record", f"{type(item).__name__} instead of an object", pointer=place)
