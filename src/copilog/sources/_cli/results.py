"""What a tool gave back: as the model got it, as the user saw it, and all that is no text."""

from __future__ import annotations

from typing import Any

import msgspec

from copilog.model import Place, ResultItem, ToolResult
from copilog.sources._cli.assets import Assets, bytes_from_base64
from copilog.sources._cli.calls import Call, CallStatus
from copilog.sources._cli.event import Event
from copilog.sources._cli.reader import Reader
from copilog.sources._vscode.take import (
    Json,
    put_back,
    rest,
    strings_at,
    take_dict,
    take_int,
    take_list,
    take_str,
    text_from,
)

DENIALS = ("denied", "rejected")
OBJECTS = ("structuredContent", "citableSources")  # of a result, beside its text
INTERRUPTED = "interrupted"  # written when a session is resumed whose program was killed
FAILURES = ("failed", "denied")
CONTENT_TYPES = frozenset({"text", "terminal", "shell_exit", "image", "audio", "resource_link", "resource"})


class Outcome(msgspec.Struct, gc=False):
    """How a call ended, and what came back."""

    result: ToolResult
    status: CallStatus
    detail: str | None = None
    exits: list[Json] = []  # shells that ended
    exit_code: int | None = None  # as recorded beside the result


def outcome_from(reader: Reader, event: Event, call_id: str) -> Outcome:
    """Take the outcome out of the data of an end."""
    data = event.data
    success = data.pop("success", None)
    raw = data.pop("result", None)
    error = take_dict(data, "error")
    exit_code = _recorded_exit_code(data)
    is_exit_alone = success is False and exit_code is not None and (error is None or "code" not in error)
    if is_exit_alone:
        data["success"] = False  # of a command that the user ran: it ended, and its exit code is all that this repeats
    status = "complete" if success is True or is_exit_alone else _status_of(success, raw, error)
    result = ToolResult(call_id=call_id, origin="model", is_error=status in FAILURES)
    made = Outcome(result, status, exit_code=exit_code)
    if isinstance(raw, dict):
        _read_result(reader, event, raw, made)
        if raw:
            data["result"] = raw
    elif raw is not None:
        result.text = text_from(raw) or ""  # a bare text in old logs
    if error is not None:
        message = take_str(error, "message")
        if not result.text and message is not None:
            result.text = message
        elif message is not None and message not in result.text:
            if result.display is None:
                result.display = message
            else:
                result.items.append(ResultItem(text=message))
        put_back(data, "error", error)
    if success is not None and not isinstance(success, bool):
        data["success"] = success
    return made


def _recorded_exit_code(data: Json) -> int | None:
    """Return the exit code that newer releases record beside the result. The data keeps it."""
    telemetry = data.get("toolTelemetry")
    metrics = telemetry.get("metrics") if isinstance(telemetry, dict) else None
    for holder, key in ((data.get("shellExecution"), "exitCode"), (metrics, "exit_code")):
        code = holder.get(key) if isinstance(holder, dict) else None
        if type(code) is int:
            return code
        if isinstance(code, float) and code.is_integer():
            return int(code)
    return None


def _status_of(success: Any, result: Any, error: Json | None) -> CallStatus:
    """How a call ended that is not said to have succeeded."""
    if error is not None and error.get("code") == INTERRUPTED:
        return "cancelled"
    if error is not None:
        return "denied" if error.get("code") in DENIALS else "failed"
    if result is None:
        return "cancelled"  # an end without anything: the call was aborted
    return "failed" if success is False else "complete"


def _read_result(reader: Reader, event: Event, raw: Json, made: Outcome) -> None:
    result = made.result
    content = raw.pop("content", None)
    result.text = content if isinstance(content, str) else text_from(content) or ""
    if not raw:
        return  # as with most tools
    detail = take_str(raw, "detailedContent")
    if detail is not None and detail != result.text:
        made.detail = result.display = detail
    elif detail is not None:
        made.detail = detail
    contents, binaries = take_list(raw, "contents"), take_list(raw, "binaryResultsForLlm")
    if contents:
        _read_contents(reader, event, contents, made)
    result.items += [ResultItem(text=text) for key in OBJECTS if (text := strings_at(raw, key))]
    if binaries:
        for _, block in reader.count_parts(binaries, event, "/data/result/binaryResultsForLlm"):
            result.items.append(_binary_item(block, reader.assets))


def _read_contents(reader: Reader, event: Event, contents: list[Any], made: Outcome) -> None:
    for _, block in reader.count_parts(contents, event, "/data/result/contents"):
        kind = block.get("type")
        if kind in ("shell_exit", "terminal"):
            made.exits.append(block)  # the terminal takes it
        else:
            if not isinstance(kind, str) or kind not in CONTENT_TYPES:
                reader.ledger.parts.meet_unknown(f"content:{kind}")
            made.result.items.append(_content_item(block, reader.assets))


def _content_item(block: Json, assets: Assets) -> ResultItem:
    """One typed block. Types that nobody has described keep what they hold in `extra`."""
    kind = block.get("type")
    if kind in ("text", "image", "audio"):
        del block["type"]
    if kind == "resource":
        inner = take_dict(block, "resource") or {}
        item = ResultItem(mime_type=take_str(inner, "mimeType"), text=take_str(inner, "text"))
        item.data = bytes_from_base64(inner, "blob")
        item.place = _place_from(inner, "uri")
        put_back(block, "resource", inner)
    else:
        item = ResultItem(mime_type=take_str(block, "mimeType"), text=take_str(block, "text"))
        item.data = bytes_from_base64(block, "data") or assets.take(block)
        item.place = _place_from(block, "uri")
    item.extra = rest(block)
    return item


def _binary_item(block: Json, assets: Assets) -> ResultItem:
    """Bytes for the model: inline, kept elsewhere in the log, or left out."""
    item = ResultItem(mime_type=take_str(block, "mimeType"))
    item.data = bytes_from_base64(block, "data") or assets.take(block)
    item.extra = rest(block)
    return item


def _place_from(block: Json, key: str) -> Place | None:
    uri = take_str(block, key)
    return Place(uri=uri, name=take_str(block, "name")) if uri is not None else None


def end_terminal(call: Call | None, outcome: Outcome) -> None:
    """Give a terminal its output and exit code; without a terminal these stay with the result."""
    terminal, result = call.terminal if call is not None else None, outcome.result
    if terminal is not None:
        terminal.output = outcome.detail if outcome.detail is not None else result.text
    left: list[Json] = []
    for block in outcome.exits:
        if terminal is not None:
            exit_code = take_int(block, "exitCode")
            terminal.exit_code = exit_code if terminal.exit_code is None else terminal.exit_code
            terminal.cwd = take_str(block, "cwd") or terminal.cwd
            terminal.is_output_cut = block.pop("outputTruncated", False) is True or terminal.is_output_cut
            for key in ("outputPreview", "text"):
                preview = block.get(key)
                if isinstance(preview, str):
                    del block[key]
                    if preview.strip() not in (terminal.output or ""):
                        terminal.notes = {**terminal.notes, "shown in the terminal": preview}
        elif isinstance(text := block.get("text", block.get("outputPreview")), str) and text.strip() not in result.text:
            result.items.append(ResultItem(text=text))
        left.append(block)
    if terminal is not None and terminal.exit_code is None:
        terminal.exit_code = outcome.exit_code
    if left:
        result.extra = {**(result.extra or {}), "shells": left}
