"""Tool calls as the Copilot extension recorded them beside the response, and which part of it each belongs to.

VS Code's own record of a call (`toolInvocationSerialized`) lacks the arguments and what the model got back; the
extension keeps both in `toolCallRounds` and `toolCallResults`. Ids agree in newer files only, so calls are paired
by id first, then in order by the name of the tool. Format notes: docs/formats/vscode-chat.md, "Tool calls".
"""

from __future__ import annotations

from typing import Any

from copilog import jsonio
from copilog.model import Round
from copilog.sources._vscode.take import Json, rest, take_list, take_str, take_time

# Where the name the model uses and the registered name do not follow from each other.
REGISTERED_NAMES = {
    "list_dir": "listdirectory",
    "grep_search": "findtextinfiles",
    "file_search": "findfiles",
    "semantic_search": "searchcodebase",
    "replace_string_in_file": "replacestring",
    "multi_replace_string_in_file": "multireplacestring",
    "insert_edit_into_file": "insertedit",
    "edit_notebook_file": "editnotebook",
    "run_notebook_cell": "runnotebookcell",
    "fetch_webpage": "fetchwebpage",
    "test_failure": "testfailure",
    "get_search_view_results": "getsearchresults",
    "list_code_usages": "listcodeusages",
}


class RecordedCall:
    """One call of a tool by the model: arguments, and later the result that went back."""

    __slots__ = ("arguments", "id", "is_placed", "name", "native_id", "round")

    def __init__(self, native_id: str, name: str, arguments: str | None, of_round: Round) -> None:
        self.native_id = native_id
        self.id = clean_id(native_id)
        self.name = name
        self.arguments = arguments
        self.round = of_round
        self.is_placed = False


class RecordedCalls:
    """All calls of a turn in order, to be paired with the parts of the response."""

    def __init__(self, rounds: list[Round], calls: list[RecordedCall], results: Json) -> None:
        self.rounds = rounds
        self.calls = calls
        self.results = results
        self._by_id = {call.id: call for call in calls}
        self._waiting: dict[str, list[RecordedCall]] = {}
        for call in calls:
            self._waiting.setdefault(tool_key(call.name), []).append(call)

    def match(self, native_id: str, tool_id: str) -> RecordedCall | None:
        """The recorded call behind an invocation, by id, else the next one of the same tool."""
        call = self._by_id.get(clean_id(native_id)) if native_id else None
        if call is None:
            waiting = self._waiting.get(tool_key(tool_id), [])
            call = next((call for call in waiting if not call.is_placed), None)
        if call is None or call.is_placed:
            return None
        call.is_placed = True
        return call

    def reserve(self, native_ids: list[str]) -> None:
        """Keep calls whose own id occurs in the response from being given away by name."""
        known = {clean_id(native_id) for native_id in native_ids}
        for waiting in self._waiting.values():
            waiting[:] = [call for call in waiting if call.id not in known]

    def result_of(self, call: RecordedCall | None, native_id: str) -> Any:
        """What the model got back, None when that was not recorded."""
        if call is not None and call.native_id in self.results:
            return self.results[call.native_id]
        found = self.results.get(native_id)
        return found if found is not None else self.results.get(clean_id(native_id))


def calls_from(metadata: Json) -> RecordedCalls:
    """Take the rounds and results out of a result's metadata."""
    rounds: list[Round] = []
    calls: list[RecordedCall] = []
    raw_rounds = take_list(metadata, "toolCallRounds") or []
    unread: list[Any] = []
    for raw in raw_rounds:
        if isinstance(raw, dict):
            rounds.append(_round_from(raw, calls))
        elif raw is not None:
            unread.append(raw)
    if unread:
        metadata["toolCallRounds"] = unread
    results = metadata.get("toolCallResults")
    if isinstance(results, dict):
        del metadata["toolCallResults"]
    else:
        results = {}
    return RecordedCalls(rounds, calls, results)


def _round_from(raw: Json, calls: list[RecordedCall]) -> Round:
    made = Round(
        id=take_str(raw, "id"),
        text=take_str(raw, "response") or "",
        thinking=_thinking_text(raw),
        started_at=take_time(raw, "timestamp"),
        model=take_str(raw, "modelId"),
    )
    unread: list[Any] = []
    for item in take_list(raw, "toolCalls") or []:
        native_id = item.get("id") if isinstance(item, dict) else None
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(native_id, str) or not isinstance(name, str):
            unread.append(item)
            continue
        arguments = item.get("arguments")
        if arguments is not None and not isinstance(arguments, str):
            arguments = jsonio.encode(arguments)
        calls.append(RecordedCall(native_id, name, arguments, made))
        made.call_ids.append(clean_id(native_id))
    if unread:
        raw["toolCalls"] = unread
    if raw.get("toolInputRetry") == 0:
        del raw["toolInputRetry"]
    made.extra = rest(raw)
    return made


def _thinking_text(raw: Json) -> str | None:
    """The readable part of a round's thinking; ids, marks and encrypted parts stay in `extra`."""
    thinking = raw.get("thinking")
    if isinstance(thinking, str):
        del raw["thinking"]
        return thinking
    if not isinstance(thinking, dict):
        return None
    text = thinking.get("text")
    if isinstance(text, list):
        text = "".join(item for item in text if isinstance(item, str))
    if not isinstance(text, str):
        return None
    del thinking["text"]
    return text


def clean_id(native_id: str) -> str:
    """A call's id without the suffix that the extension adds."""
    return native_id.partition("__vscode-")[0] or native_id


def tool_key(name: str) -> str:
    """One key for the name the model uses and the name the tool is registered by."""
    known = REGISTERED_NAMES.get(name)
    if known is not None:
        return known
    return name.removeprefix("copilot_").replace("_", "").lower()
