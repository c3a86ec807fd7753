"""List the edits of files that a conversation records, in order, each once, with all that is known of its texts.

The editing history has the texts of a file before and after a turn, so it counts before the answer, where it is
complete. Of an edit in the answer, the arguments of its call have the exact old and new text; else its diff has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

import msgspec

from copilog.derive.argued_edits import WRITING_TOOLS, is_among
from copilog.derive.edit_outcomes import EditOutcomes, is_edit_undone
from copilog.derive.edit_texts import Replacement, Written, pieces_of_diff, written_by
from copilog.derive.line_counts import total_changes
from copilog.derive.outcomes import is_done, is_made, is_partly_done
from copilog.derive.tool_names import key_of
from copilog.model import Conversation, FileChange, FileEdit, TextEdit, ToolCall, Turn, is_counted

NOT_RECORDED = "the text is not recorded"
PARTLY_FAILED = "some edits of the call failed, and which ones is not recorded"


class NoText(Enum):
    """Why there is no text of a file."""

    ABSENT = "the file does not exist"
    UNKNOWN = "the text is not recorded"


FileText = str | NoText


class RecordedEdit(msgspec.Struct, kw_only=True):
    """One edit of one file. `ways` are its texts, from each record of it, the best first."""

    path: str
    turn: int | None
    action: str = "edit"
    old_path: str | None = None  # of a renamed file
    tool: str | None = None
    call_id: str | None = None
    before: FileText = NoText.UNKNOWN
    after: FileText = NoText.UNKNOWN
    ways: list[list[Replacement]] = []
    batches: list[list[TextEdit]] = []
    origin: str = "answer"  # snapshot, answer, arguments
    outcome: str | None = None  # undone, changed, kept, pending; None if not recorded
    why_not: str = NOT_RECORDED  # why the edit cannot be repeated where no text of it is known

    @property
    def is_undone(self) -> bool:
        return self.outcome == "undone"

    @property
    def pieces(self) -> list[Replacement]:
        """Return the old and new texts, as far as they are recorded."""
        if self.ways:
            return self.ways[0]
        return [Replacement("", edit.text) for batch in self.batches for edit in batch]


def recorded_edits(conversation: Conversation) -> list[RecordedEdit]:
    """Return the edits of a conversation that were made, in order. Those of superseded turns are undone."""
    return _Reader(conversation).edits()


class _Reader:
    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.outcomes = EditOutcomes(conversation)
        self.turns = {turn.index: turn for turn in conversation.turns}
        self.calls: dict[str, ToolCall] = {}
        self.written: dict[str, list[Written]] = {}  # by call
        self.used: set[tuple[str, str]] = set()  # calls and files whose arguments are taken
        self.by_turn: dict[int | None, list[ToolCall]] = {}
        self.joined: set[tuple[int | None, str]] = set()  # files whose edits without a call have the texts of calls
        for message in conversation.messages:
            for part in message.parts:
                if isinstance(part, ToolCall):
                    self.calls[part.id] = part
                    self.by_turn.setdefault(message.turn, []).append(part)
        self.exact: dict[int | None, list[str]] = {}  # files whose texts the editing history has, by turn
        for change in total_changes(conversation.file_changes):
            if _is_complete(change):
                self.exact.setdefault(change.turn, []).extend(filter(None, (change.path or change.uri, change.old_uri)))

    def edits(self) -> list[RecordedEdit]:
        made = [*self._of_answers(), *self._of_history()]
        if not made:
            made = list(self._of_states())
        return sorted(made, key=lambda edit: -1 if edit.turn is None else edit.turn)

    # --- answers ----------------------------------------------------------------------------------------------------

    def _of_answers(self) -> Iterator[RecordedEdit]:
        for message in self.conversation.messages:
            exact = self.exact.get(message.turn, ())
            for part in message.parts:
                made: Iterator[RecordedEdit] = iter(())
                if isinstance(part, FileEdit) and is_made(part):
                    made = self._of_part(part, message.turn)
                elif isinstance(part, ToolCall) and part.edits:
                    made = self._of_call(part, message.turn)
                yield from (edit for edit in made if not is_among(edit.path, exact))

    def _of_part(self, part: FileEdit, turn: int | None) -> Iterator[RecordedEdit]:
        path = part.path or part.uri
        if path is None:
            return
        call = self.calls.get(part.call_id or "")
        if (turn, path) in self.joined and call is None:
            return
        edit = RecordedEdit(
            path=part.new_uri if part.action == "rename" and part.new_uri else path,
            old_path=path if part.action == "rename" and part.new_uri else None,
            turn=turn,
            action=part.action,
            tool=call.name if call is not None else None,
            call_id=part.call_id,
            batches=part.batches,
            outcome=self._outcome(part.uri or f"file://{path}", turn, part),
        )
        if part.action == "delete":
            edit.after = NoText.ABSENT
        written = self._written(call, path) if call is not None else None
        if call is not None and written is not None and (call.id, written.path) in self.used:
            return  # the answer has several parts of one call to this file
        if call is not None and written is not None:
            self.used.add((call.id, written.path))
            self._add_written(edit, call, written)
        if call is None and part.batches and not part.diff:
            edit.ways = self._ways_of_turn(turn, path)
        if part.diff and not (call is not None and is_partly_done(call)) and edit.after is NoText.UNKNOWN:
            pieces = pieces_of_diff(part.diff)
            if edit.action == "create" and len(pieces) == 1 and not pieces[0].old:
                edit.before, edit.after = NoText.ABSENT, pieces[0].new
            elif pieces:
                edit.ways = [*edit.ways, pieces]
        yield edit

    def _ways_of_turn(self, turn: int | None, path: str) -> list[list[Replacement]]:
        """Return the texts in the arguments of the turn's calls that edit a file, where no edit names its call."""
        pieces: list[Replacement] = []
        for call in self.by_turn.get(turn, ()):
            written = self._written(call, path)
            if written is None or (call.id, written.path) in self.used:
                continue
            if written.why_not is not None or written.whole is not None or is_partly_done(call):
                return []
            pieces += written.pieces
        if not pieces:
            return []
        self.joined.add((turn, path))
        return [pieces]

    def _of_call(self, call: ToolCall, turn: int | None) -> Iterator[RecordedEdit]:
        for argued in call.edits:
            edit = RecordedEdit(
                path=argued.path,
                turn=turn,
                action=argued.action,
                tool=call.name,
                call_id=call.id,
                origin="arguments",
                outcome=self._outcome(f"file://{argued.path}", turn),
            )
            if argued.action == "delete":
                edit.after = NoText.ABSENT
            written = self._written(call, argued.path)
            if written is not None and (call.id, written.path) not in self.used:
                self.used.add((call.id, written.path))
                self._add_written(edit, call, written)
            yield edit

    def _written(self, call: ToolCall, path: str) -> Written | None:
        """Return what the arguments of a call write to a file."""
        if key_of(call) not in WRITING_TOOLS or not is_done(call):
            return None
        if call.id not in self.written:
            self.written[call.id] = written_by(call.arguments)
        files = self.written[call.id]
        return next((file for file in files if is_among(path, filter(None, (file.path, file.new_path)))), None)

    def _add_written(self, edit: RecordedEdit, call: ToolCall, written: Written) -> None:
        if is_partly_done(call):
            edit.why_not = PARTLY_FAILED
            return
        if written.why_not is not None:
            edit.why_not = written.why_not
            return
        if written.new_path is not None and edit.old_path is None:
            edit.old_path, edit.path, edit.action = written.path, written.new_path, "rename"
        if written.whole is not None:
            edit.after = written.whole
            if edit.action == "create":
                edit.before = NoText.ABSENT
        elif written.pieces and edit.action == "create":
            edit.before, edit.after = NoText.ABSENT, "".join(piece.new for piece in written.pieces)
        elif written.pieces:
            edit.ways = [written.pieces]

    # --- the editing history ----------------------------------------------------------------------------------------

    def _of_history(self) -> Iterator[RecordedEdit]:
        answered = set(self._answered())
        for change in total_changes(self.conversation.file_changes):
            path = change.path or change.uri
            if not _is_complete(change) and (change.turn, path) in answered:
                continue
            yield RecordedEdit(
                path=path,
                old_path=change.old_uri if change.action == "rename" else None,
                turn=change.turn,
                action=change.action,
                before=_text(change.before, is_absent=change.action == "create"),
                after=_text(change.after, is_absent=change.action == "delete"),
                origin="snapshot",
                outcome=self._outcome(change.uri, change.turn, change=change),
            )

    def _answered(self) -> Iterator[tuple[int | None, str]]:
        """Yield turn and path of each edit in the answers."""
        for message in self.conversation.messages:
            for part in message.parts:
                if isinstance(part, FileEdit) and is_made(part):
                    yield message.turn, part.path or part.uri or ""
                elif isinstance(part, ToolCall):
                    yield from ((message.turn, edit.path) for edit in part.edits)

    def _of_states(self) -> Iterator[RecordedEdit]:
        """Yield the entire change of each file, where only its first and its last text were recorded."""
        for state in self.conversation.files:
            before, after = state.initial, state.current
            if before is None or (after is None and not state.is_deleted) or before == after:
                continue
            turn = next((turn for turn in self.conversation.turns if turn.request_id == state.request_id), None)
            yield RecordedEdit(
                path=state.path or state.uri,
                turn=turn.index if turn is not None else None,
                action="delete" if state.is_deleted else "edit",
                before=before,
                after=NoText.ABSENT if state.is_deleted or after is None else after,
                origin="snapshot",
                outcome=self.outcomes.of(state.uri, turn.index if turn is not None else None, is_undone=False),
            )

    def _outcome(
        self, uri: str, turn_index: int | None, part: FileEdit | None = None, change: FileChange | None = None
    ) -> str | None:
        turn = self.turns.get(turn_index) if turn_index is not None else None
        is_undone = change is not None and change.is_undone
        if turn is not None:
            is_undone = is_undone or not is_counted(turn) or _is_undone_in(turn, part)
        return self.outcomes.of(uri, turn_index, is_undone)


def _is_undone_in(turn: Turn, part: FileEdit | None) -> bool:
    if part is not None:
        return is_edit_undone(part, turn)
    return turn.is_undone and turn.undone_from is None


def _is_complete(change: FileChange) -> bool:
    has_before = change.before is not None or change.action == "create"
    return has_before and (change.after is not None or change.action == "delete")


def _text(text: str | None, *, is_absent: bool) -> FileText:
    if is_absent:
        return NoText.ABSENT
    return NoText.UNKNOWN if text is None else text
