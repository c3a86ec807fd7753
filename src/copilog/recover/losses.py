"""List the conversations that VS Code or Copilot CLI do not show, each with its causes, its place and what is left."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from copilog.derive.prompts import HISTORIES, keys_by_turn, prompt_key
from copilog.errors import BadFile
from copilog.fields import Json
from copilog.model import Conversation, title_of
from copilog.recover.causes import CAUSES, ORDER
from copilog.recover.indexes import Index, entries_of_backup, read_index
from copilog.recover.refusals import Examined, examine, examine_cli_events
from copilog.recover.workspaces import LikelyFolder, Memory, Unreachable, record_of, why_unreachable
from copilog.sources import BY_NAME, Found
from copilog.sources.roots import StorageFolder
from copilog.sources.vscode.state_rows import BACKUP, STORE
from copilog.store.summary import Summary

LOG, DOCUMENT, STATE, EVENTS = "vscode-session-log", "vscode-session", "vscode-state", "cli-events"
SESSIONS = (LOG, DOCUMENT)
SAVED = (
    "chat-export", "copilot-markdown", "atif", "chat-replay", "copilog-json", "copilog-bundle", "trajectory-file",
    "otlp-export",
)  # fmt: skip
TRANSFERS, NO_WORKSPACE = "transferredChatSessions", "no-workspace"
NOT_LOST = frozenset({"external", "helpers-only", "empty"})  # marks of conversations that nobody misses

Read = Callable[[Found], Iterable[Conversation]]


class Reason(msgspec.Struct, frozen=True, omit_defaults=True):
    """One cause of a loss, and the position of its evidence."""

    cause: str
    reason: str
    path: str
    line: int | None = None


class Loss(msgspec.Struct, frozen=True):
    """A conversation that its program does not show. The first reason names the cause that it is listed under."""

    id: str
    title: str
    turns: int
    reasons: list[Reason]
    left: list[str]  # all files that have something of it
    workspace: str | None = None
    likely_folder: LikelyFolder | None = None

    @property
    def cause(self) -> str:
        return self.reasons[0].cause


class Copy(NamedTuple):
    """A session's file in one storage folder, judged."""

    examined: Examined
    reasons: list[Reason]
    lost_folder: Path | None = None

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing in it, so that nobody misses it."""
        return not self.examined.refusals and not (self.examined.state or {}).get("requests") and not self.is_short

    @property
    def is_short(self) -> bool:
        return any(reason.cause == "older-file" for reason in self.reasons)


class Losses:
    """Looks for losses in what was discovered. `read` reads a conversation with all its traces."""

    def __init__(self, folders: Iterable[StorageFolder], read: Read) -> None:
        self.folders = {folder.path: folder for folder in folders}
        self.read = read
        self._indexes: dict[Path, Index] = {}
        self._unreachable: dict[Path, Unreachable | None] = {}
        self._memories: dict[Path, Memory] = {}
        self._shown: set[str] = set()  # native ids
        self._shown_by_cli: list[Found] = []
        self._known_prompts: set[int] = set()  # keys of the prompts of conversations that have an id

    def find(self, founds: Iterable[Found], archived: Iterable[Summary] = ()) -> list[Loss]:
        """Return the losses. Files that many conversations share, or that have no id, are read after all others."""
        late: list[Found] = []
        lost: dict[str, Loss] = {}
        ids: set[str | None] = set()
        for found in founds:
            ids.add(found.native_id)
            if found.native_id is None or {trace.source for trace in found.traces()} <= {*SAVED, *HISTORIES}:
                late.append(found)
            else:
                lost.update((loss.id, loss) for loss in self._of(found))
        if late:
            self._note_prompts_of_cli()
        for found in late:
            for loss in self._of_shared(found):
                if _native(loss.id) not in self._shown:
                    lost.setdefault(loss.id, loss)
        gone = (each for each in archived if each.gone_at is not None and each.native_id not in ids)
        lost.update((summary.id, _of_archive(summary)) for summary in gone if summary.id not in lost)
        return self._with_folders(list(lost.values()))

    # --- a conversation with an id ------------------------------------------------------------------------------------

    def _of(self, found: Found) -> list[Loss]:
        traces = found.traces() if not found.is_index_entry else ()
        copies = [self._judged(each) for each in read_by_vscode(traces)]
        for copy in copies:
            self._note_prompts(copy.examined.state)
        if copies and all(copy.is_empty for copy in copies):
            copies = []
            if {trace.source for trace in traces} <= {*SESSIONS, STATE}:
                return []
        if any(not copy.reasons for copy in copies):
            self._shown.add(found.native_id or "")
            return []
        if copies:
            best = min(copies, key=lambda copy: len(copy.reasons))
            return self._read_losses(found, best.reasons, best.lost_folder)
        events = next((trace.path for trace in traces if trace.source == EVENTS), None)
        if events is None:
            reason = self._reason_of_what_is_left(found)
            return self._read_losses(found, [reason]) if reason is not None else []
        reasons = [Reason("cli-refused", each.reason, str(events), each.line) for each in examine_cli_events(events)]
        if reasons:
            return self._read_losses(found, reasons)
        self._shown.add(found.native_id or "")
        self._shown_by_cli.append(found)
        return []

    def _judged(self, found: Found) -> Copy:
        """Return the reasons why VS Code does not show a session's file; none if it does."""
        place, storage = str(found.path), found.path.parent.parent
        try:
            examined = examine(found.path)
        except BadFile as error:
            return Copy(Examined(None, []), [Reason("refused", str(error), place)])
        reasons = [Reason("refused", each.reason, place, each.line) for each in examined.refusals[:1]]
        reasons += _older_file(found.path, examined)
        folder = self.folders.get(storage)
        if folder is None:  # a file that the user named, wherever it is
            return Copy(examined, reasons)
        if found.path.parent.name == TRANSFERS:
            return Copy(examined, [*reasons, Reason("left-in-transfer", "it still waits to be taken", place)])
        if storage not in self._unreachable:
            is_named = folder.root is not None and folder.root.named is not None
            self._unreachable[storage] = why_unreachable(storage, may_be_elsewhere=is_named)
        unreachable = self._unreachable[storage]
        if unreachable is not None:
            reasons.append(Reason(unreachable.cause, unreachable.reason, str(storage / "workspace.json")))
        reasons += self._why_not_listed(found, storage, examined)
        reasons.sort(key=lambda reason: ORDER[reason.cause])
        return Copy(examined, reasons, unreachable.folder if unreachable is not None else None)

    def _why_not_listed(self, found: Found, storage: Path, examined: Examined) -> list[Reason]:
        """Return why the index does not list a session; the sessions of empty windows are in the global one."""
        folder = storage.parent.parent / "globalStorage" if storage.name == NO_WORKSPACE else storage
        index = self._index_of(folder)
        if index.state == "no-store" and not (storage.parent.parent / "globalStorage" / STORE).exists():
            return []  # a VS Code in a browser, which has no stores on disk
        why = index.why_not_listed(found.native_id or "", _changed_ms(examined.state))
        if why is None:
            return []
        also = f"; {BACKUP} still has its entry" if found.native_id in entries_of_backup(folder) else ""
        return [Reason(why[0], why[1] + also, str(index.path))]

    def _reason_of_what_is_left(self, found: Found) -> Reason | None:
        """Return the reason for a conversation without a session file; None if there is only a remark about one."""
        place = str(found.path)
        entry = (found.hint.extra or {}).get("index") if found.hint is not None else None
        if found.is_index_entry:
            return Reason("entry-only", CAUSES["entry-only"].meaning, place) if entry is not None else None
        stores = [trace.path for trace in found.traces() if trace.source == STATE]
        if stores:
            is_read = any(path.name == STORE and self._index_of(path.parent).state == "no-index" for path in stores)
            cause = "store-only" if any(path.name == STORE for path in stores) else "backup-only"
            return None if is_read else Reason(cause, CAUSES[cause].meaning, place)
        titles = ", ".join(dict.fromkeys(BY_NAME[trace.source].title for trace in found.traces()))
        listed = "the index lists it, but its file is gone" if entry is not None else "there is no session file"
        return Reason("traces-only", f"{listed}; left: {titles}", place)

    def _index_of(self, folder: Path) -> Index:
        if folder not in self._indexes:
            self._indexes[folder] = read_index(folder)
        return self._indexes[folder]

    def _read_losses(self, found: Found, reasons: list[Reason], lost_folder: Path | None = None) -> list[Loss]:
        losses = []
        for conversation in self.read(found):
            has_edits = bool(conversation.file_changes or conversation.files)
            is_named = reasons[0].cause == "entry-only"
            if NOT_LOST & set(conversation.marks) or not (conversation.turns or has_edits or is_named):
                continue
            if reasons[0].cause == "traces-only" and not conversation.turns:
                reasons = [msgspec.structs.replace(reasons[0], cause="edits-only")]
            self._known_prompts.update(keys_by_turn(conversation).values())
            if lost_folder is not None:
                self._memories.setdefault(lost_folder, Memory(lost_folder)).add(conversation)
            losses.append(_loss(conversation, found, reasons, lost_folder))
        return losses

    # --- files without an id, and histories ---------------------------------------------------------------------------

    def _of_shared(self, found: Found) -> Iterator[Loss]:
        """Yield the conversations of a file that somebody saved, or that many share, which nothing else has."""
        cause = "prompts-only" if found.source in HISTORIES else "export-only"
        for conversation in self.read(found):
            unknown = set(keys_by_turn(conversation).values()) - self._known_prompts
            if unknown and not NOT_LOST & set(conversation.marks):
                loss = _loss(conversation, found, [Reason(cause, CAUSES[cause].meaning, str(found.path))])
                yield msgspec.structs.replace(loss, turns=len(unknown)) if cause == "prompts-only" else loss

    def _note_prompts(self, state: Json | None) -> None:
        requests = (state or {}).get("requests")
        for request in requests if isinstance(requests, list) else ():
            message = request.get("message") if isinstance(request, dict) else None
            text = message.get("text") if isinstance(message, dict) else message
            if isinstance(text, str) and (key := prompt_key(text)) is not None:
                self._known_prompts.add(key)

    def _note_prompts_of_cli(self) -> None:
        for found in self._shown_by_cli:
            for conversation in self.read(found):
                self._known_prompts.update(keys_by_turn(conversation).values())

    # --- where folders may be now -------------------------------------------------------------------------------------

    def _with_folders(self, losses: list[Loss]) -> list[Loss]:
        """Return the losses; those whose folder is gone with the folder that it has most likely become."""
        known = [Path(record.path) for path in self.folders if (record := record_of(path)) and record.path]
        likely = {
            str(folder): memory.likely_folder(known) for folder, memory in self._memories.items() if not folder.exists()
        }
        return [msgspec.structs.replace(loss, likely_folder=likely.get(loss.workspace or "")) for loss in losses]


def read_by_vscode(traces: Iterable[Found]) -> list[Found]:
    """Return the session files that VS Code reads: a log, and not the older file of the same name beside it."""
    sessions = [trace for trace in traces if trace.source in SESSIONS]
    logs = {trace.path.parent for trace in sessions if trace.source == LOG}
    return [trace for trace in sessions if trace.source == LOG or trace.path.parent not in logs]


def _older_file(path: Path, examined: Examined) -> list[Reason]:
    """Return a reason if a log has lost turns that the older file beside it has."""
    older = path.with_suffix(".json")
    requests = _requests_of(examined)
    if path.suffix != ".jsonl" or not older.is_file() or not (examined.is_headless or not requests) or examined.removed:
        return []
    try:
        others = _requests_of(examine(older))
    except BadFile:
        return []
    present = {request.get("requestId") for request in requests}
    missing = [request for request in others if request.get("requestId") not in present]
    what = f"{len(missing)} of its turns are not in the log, which VS Code reads instead"
    return [Reason("older-file", what, str(older))] if missing else []


def _requests_of(examined: Examined) -> list[Json]:
    requests = (examined.state or {}).get("requests")
    return [each for each in requests if isinstance(each, dict)] if isinstance(requests, list) else []


def _changed_ms(state: Json | None) -> float | None:
    """Return when a session was last changed, as an index dates it."""
    requests = (state or {}).get("requests")
    times = [each.get("timestamp") for each in requests if isinstance(each, dict)] if isinstance(requests, list) else []
    dates = [each for each in (*times, (state or {}).get("creationDate")) if isinstance(each, int | float)]
    return max(dates) if dates else None


def _loss(conversation: Conversation, found: Found, reasons: list[Reason], lost_folder: Path | None = None) -> Loss:
    folder = conversation.workspace.folder if conversation.workspace is not None else None
    return Loss(
        id=conversation.id,
        title=title_of(conversation),
        turns=len(conversation.turns),
        reasons=reasons,
        left=list(dict.fromkeys(str(trace.path) for trace in found.traces())),
        workspace=str(lost_folder) if lost_folder is not None else folder,
    )


def _of_archive(summary: Summary) -> Loss:
    """Return the loss of a conversation whose files are gone."""
    place = summary.paths[0] if summary.paths else ""
    reason = Reason("archive-only", CAUSES["archive-only"].meaning, place)
    return Loss(summary.id, summary.title, summary.turns, [reason], [], summary.workspace)


def _native(conversation_id: str) -> str:
    return conversation_id.partition(":")[2] or conversation_id
