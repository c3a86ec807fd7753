"""Exports of VS Code's agent debug panel: spans as an OTLP document, or several such documents, one on each line.

Format notes: docs/formats/copilot-chat-extension.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from copilog import jsonio
from copilog.derive import add_title
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.intake.files import read_bytes
from copilog.intake.records import first_record, read_records
from copilog.model import Conversation
from copilog.sources._vscode.take import Json, take_str
from copilog.sources.base import LOG_SUFFIXES, Found, Probe, Source

if TYPE_CHECKING:
    from copilog.sources._extension.spans import Span

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
        from copilog.sources._extension.span_source import stubs_from

        yield from stubs_from(Document(found, ledger).spans, found)

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        from copilog.sources._extension.span_source import conversations_from

        ledger = ledger if found.native_id is None else Ledger()
        document = Document(found, ledger)
        for conversation in conversations_from(document.spans, found, ledger):
            about = document.about.pop(conversation.native_id or "", None)
            if about is not None:
                add_title(conversation, take_str(about, "sessionTitle"), "generated")
                conversation.extra = {**(conversation.extra or {}), "export": about}
            yield conversation


class Document:
    """The spans of an export; each is one record, and so is a document that cannot be read."""

    def __init__(self, found: Found, ledger: Ledger) -> None:
        self.spans: list[Span] = []
        self.about: dict[str, Json] = {}
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
        """Read what stands before the place where a document breaks off."""
        from copilog.sources._extension.cut_json import decode_cut

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
            service = _service_of(group.get("resource"))
            for inner, scope in _objects(group.get("scopeSpans"), f"{place}/scopeSpans", self._ledger):
                for where, span in _objects(scope.get("spans"), f"{inner}/spans", self._ledger):
                    self._add(span, service, where)

    def _add(self, value: Json, service: str | None, pointer: str) -> None:
        from copilog.sources._extension.span_forms import span_from_otlp

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


def _service_of(resource: object) -> str | None:
    from copilog.sources._extension.span_forms import attributes_from

    attributes = attributes_from(resource.get("attributes")) if isinstance(resource, dict) else {}
    name = attributes.get("service.name")
    return name if isinstance(name, str) else None


def _objects(value: object, pointer: str, ledger: Ledger) -> Iterator[tuple[str, Json]]:
    """The objects of a list with their places; anything else in it is one bad record."""
    for position, item in enumerate(value if isinstance(value, list) else []):
        place = f"{pointer}/{position}"
        if isinstance(item, dict):
            yield place, item
        else:
            ledger.seen += 1
            ledger.reject("bad-record", f"{type(item).__name__} instead of an object", pointer=place)
