"""Files that OpenTelemetry's file exporter writes for Copilot: spans, log records and metrics, one on each line.

Format notes: docs/formats/copilot-chat-extension.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from copilog.diagnostics import Ledger
from copilog.intake.records import read_records
from copilog.model import Conversation
from copilog.sources._vscode.places_on_disk import files_in
from copilog.sources._vscode.take import Json
from copilog.sources.base import Found, Probe, Source
from copilog.sources.roots import StorageFolder

if TYPE_CHECKING:
    from copilog.sources._extension.spans import Span

FOLDER = "otel"
SUFFIXES = (".jsonl", ".json", ".ndjson", ".log", ".txt")


class OtelFile(Source):
    name = "otel-file"
    title = "OpenTelemetry file of Copilot"
    is_index = True

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        """Copilot CLI has a folder for such files; VS Code writes them wherever the user likes."""
        if folder.kind == "copilot-home" and not (folder.path / FOLDER).is_symlink():
            for path in files_in(folder.path / FOLDER):
                if path.suffix.lower() == ".jsonl":
                    yield Found(path, self.name)

    def claims(self, file: Probe) -> bool:
        if file.suffix not in SUFFIXES or not file.may_hold_records:
            return False
        first = file.first_record
        return first is not None and _is_record(first)

    def index(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """One stub for each session; all lines are counted here, so that reading a session counts none again."""
        from copilog.sources._extension.span_source import stubs_from

        yield from stubs_from(Telemetry(found, ledger).spans, found)

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        from copilog.sources._extension.span_source import conversations_from

        ledger = ledger if found.native_id is None else Ledger()
        telemetry = Telemetry(found, ledger)
        for conversation in conversations_from(telemetry.spans, found, ledger):
            events = telemetry.events.get(conversation.native_id or "")
            if events:
                conversation.extra = {**(conversation.extra or {}), "events": events}
            yield conversation


class Telemetry:
    """What the lines of a file hold: spans, and log records that name a session."""

    def __init__(self, found: Found, ledger: Ledger) -> None:
        self.spans: list[Span] = []
        self.events: dict[str, list[Json]] = {}
        self._known: set[str] = set()
        read_records(found.path, ledger, self._use, _is_record)

    def _use(self, value: Json, line: int) -> str | None:  # noqa: ARG002
        from copilog.sources._extension.span_forms import span_from_sdk

        if not value:
            return "empty-record"  # what the exporter leaves when it fails
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
        """Most log records repeat a span; those that name their session are kept."""
        from copilog.sources._extension.spans import SESSION_KEYS

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
