"""Sort the log entries of each prompt of a debug export by their purpose."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.fields import Json, take_str
from copilog.sources.replay.entries import (
    MARKDOWN,
    TITLE,
    Entry,
    Remark,
    Request,
    Tool,
    entry_from,
    is_helper_label,
    request_name,
    starts_subagent,
)
from copilog.sources.replay.runs import Run, Sent, split

# The groups of an export: one for each prompt, with its log entries sorted by purpose. Every entry is a record of the
# ledger and ends here as used, ignored or bad.


@dataclass(slots=True, eq=False)
class SubRun:
    """A run of a sub-agent, and the group that contains it."""

    run: Run
    base: str  # the name of its requests
    label: str | None
    pointer: str
    extra: Json = field(default_factory=dict)  # the other fields of the group


@dataclass(slots=True, eq=False)
class Group:
    """One prompt of an export."""

    pointer: str
    label: str | None
    extra: Json = field(default_factory=dict)
    run: Run = field(default_factory=Run)
    sent: list[Sent] = field(default_factory=list)  # by main request
    subruns: list[SubRun] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    errors: list[Json] = field(default_factory=list)
    helpers: list[str] = field(default_factory=list)
    helper_entries: list[Request | Remark] = field(default_factory=list)  # the program's own requests to a model
    titles: list[tuple[str, str]] = field(default_factory=list)  # the text sent, and the title that came back
    is_helper: bool = False

    @property
    def user_text(self) -> str | None:
        """Return the prompt of the user."""
        return next((sent.user_text for sent in self.sent if sent.user_text is not None), None) or self.label or None


def group_from(raw: object, pointer: str, ledger: Ledger) -> Group | None:
    """Read one prompt; return None, and count one bad record, if the value is not a prompt."""
    if not isinstance(raw, dict):
        ledger.seen += 1
        ledger.reject("bad-record", f"a prompt that is {type(raw).__name__}, not an object", pointer=pointer)
        return None
    logs = raw.get("logs")
    if not isinstance(logs, list):
        ledger.seen += 1
        ledger.reject("bad-record", "a prompt without a list of log entries", pointer=pointer)
        return None
    del raw["logs"]
    group = Group(pointer, take_str(raw, "prompt"), raw)
    read_entries(group, [(entry, f"{pointer}/logs/{position}") for position, entry in enumerate(logs)], ledger)
    return group


def read_entries(group: Group, logs: list[tuple[Any, str]], ledger: Ledger, is_known: bool = False) -> None:
    """Read the entries of a group, each with its pointer, in the order of the log.

    `is_known`: the export has requests with well-known names, so that others are not the conversation.
    """
    entries: list[Entry] = []
    for raw, pointer in logs:
        ledger.seen += 1
        if _is_about_log(raw, pointer, group, ledger):
            continue
        try:
            entries.append(entry_from(raw, pointer))
        except BadRecord as error:
            ledger.reject(error.code, str(error), pointer=pointer)
    names = [entry.name.purpose for entry in entries if isinstance(entry, Request)]
    _sort(group, entries, ledger, is_known or "main" in names or "subagent" in names)


def _is_about_log(raw: Any, pointer: str, group: Group, ledger: Ledger) -> bool:
    """Return whether an entry is about the log itself: sizes of prompt elements, and entries that failed."""
    kind = raw.get("kind") if isinstance(raw, dict) else None
    if kind == "element":
        ledger.ignore("element")
        return True
    if kind == "error":
        ledger.ignore("export-error")
        ledger.note("export-error", "the extension could not write this entry", pointer=pointer)
        group.errors.append({key: value for key, value in raw.items() if key != "kind"})
        return True
    return False


def _sort(group: Group, entries: list[Entry], ledger: Ledger, is_known: bool) -> None:
    """Give each entry to the run it belongs to."""
    is_helper = is_helper_label(group.label) and not is_known
    runs: dict[tuple[str, str | None], SubRun] = {}
    owner_of_call: dict[str, Run] = {}
    run_of: dict[int, Run] = {}
    kept: list[Entry] = []
    for entry in entries:
        if _is_helper_entry(entry, is_known, is_helper or (group.label is None and isinstance(entry, Remark))):
            _add_helper(group, entry)
            ledger.ignore("helper-request")
            continue
        ledger.used += 1
        kept.append(entry)
        if isinstance(entry, Request):
            run_of[id(entry)] = run = _run_for(entry, group, runs)
            for message in entry.messages:
                owner_of_call.update((call.id, run) for call in message.calls)
    group.is_helper = not kept and (bool(group.helpers) or is_helper_label(group.label))
    group.subruns = list(runs.values())
    _play(group, kept, run_of, owner_of_call, ledger)


def _is_helper_entry(entry: Entry, is_known: bool, is_helper: bool) -> bool:
    """Return whether an entry is not part of the conversation. Unrecognized names count if there are no others."""
    if isinstance(entry, Tool):
        return False
    if isinstance(entry, Remark):
        return entry.kind == MARKDOWN and (is_helper or request_name(entry.name).purpose == "helper")
    purpose = entry.name.purpose
    return purpose == "helper" or (purpose == "other" and (is_known or is_helper))


def _add_helper(group: Group, entry: Entry) -> None:
    if isinstance(entry, Request):
        group.helpers.append(entry.name.base)
        group.helper_entries.append(entry)
        if entry.name.base == TITLE and entry.text and entry.text.strip():
            asked = "\n".join(message.text for message in entry.messages if message.role == "user")
            group.titles.append((asked, entry.text.strip()))
    elif isinstance(entry, Remark):
        group.helpers.append(entry.name)
        group.helper_entries.append(entry)


def _run_for(request: Request, group: Group, runs: dict[tuple[str, str | None], SubRun]) -> Run:
    """Return the run of a request: the turn's own, or that of the sub-agent with the same task."""
    if request.name.purpose != "subagent":
        return group.run
    key = (request.name.base, split(request.messages, None).user_text)
    if key not in runs:
        runs[key] = SubRun(Run(), request.name.base, group.label, request.pointer, group.extra)
    return runs[key].run


def _play(
    group: Group, entries: list[Entry], run_of: dict[int, Run], owner_of_call: dict[str, Run], ledger: Ledger
) -> None:
    current = group.run
    for entry in entries:
        if isinstance(entry, Request):
            current = run_of[id(entry)]
            sent = split(entry.messages, group.label if current is group.run else None)
            current.add_request(entry, sent.prompts, sent.own)
            if current is group.run:
                group.sent.append(sent)
        elif isinstance(entry, Tool):
            is_starting = starts_subagent(entry.name) and bool(group.run.requests)
            owner_of_call.get(entry.id, group.run if is_starting else current).add_tool(entry)
        else:
            if entry.kind != MARKDOWN:
                ledger.count_unknown(f"log:{entry.kind}")
            group.remarks.append(entry)
