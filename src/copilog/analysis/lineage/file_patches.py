"""Show what a conversation did to files: a patch for each file, where the text before its edits is known.

The text before is that of the editing history or a backup, of an edit that wrote the whole file, of the commit that the
conversation began at, or of the work tree. In a commit and in the work tree, the old text of every edit must be found
exactly once. The edits are applied to it in their order, without those that were undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

import msgspec

from copilog.analysis.lineage.work_tree import OutsideError, WorkTree
from copilog.derive.edit_texts import FOUND_SEVERAL, NOT_FOUND, replaced
from copilog.derive.recorded_edits import FileText, NoText, RecordedEdit, recorded_edits
from copilog.errors import UsageError
from copilog.model import Conversation, FileState, turn_number
from copilog.textdiff import EditableText, count_changes, git_patch

Basis = Literal["snapshot", "whole-file write", "commit", "work tree"]
Now = Literal["as the conversation left it", "changed since", "undone since", "deleted since"]

NO_TEXT_BEFORE = "the text before is not known"
NOT_UTF8 = "the text is not valid Unicode"
BETWEEN = "something else changed the file between two edits, and the patch contains that, too"


class Piece(msgspec.Struct):
    """A text that an edit replaced, and the text it wrote."""

    old: str
    new: str


class ListedEdit(msgspec.Struct, kw_only=True):
    """An edit that is not in the patch, and why. `number` is that of its turn, from 1."""

    number: int | None
    tool: str | None
    action: str
    outcome: str | None
    reason: str
    pieces: list[Piece] = []


class FileDiff(msgspec.Struct, kw_only=True):
    """What a conversation did to one file."""

    path: str  # in the work tree; as recorded if it is outside
    old_path: str | None = None
    action: str = "edit"
    added: int | None = None
    removed: int | None = None
    numbers: list[int] = []  # of the turns with edits, from 1
    outcomes: list[str] = []  # recorded: kept, undone, changed, pending
    now: Now | None = None  # compared with the work tree; None if the text after is not known
    basis: Basis | None = None
    patch: str | None = None
    left_out: list[ListedEdit] = []
    undone: list[ListedEdit] = []
    notes: list[str] = []


class ConversationDiff(msgspec.Struct, kw_only=True):
    """What a conversation did to files."""

    id: str
    title: str | None
    work_tree: str
    files: list[FileDiff] = []

    @property
    def left_out(self) -> int:
        return sum(len(file.left_out) for file in self.files)

    @property
    def patch(self) -> str:
        return "".join(file.patch or "" for file in self.files)


def diff_of_conversation(
    conversation: Conversation,
    tree: WorkTree,
    *,
    file: str | None = None,
    turns: tuple[int, int] | None = None,
) -> ConversationDiff:
    """Return what a conversation did to its files, or to one of them; `turns` are the first and the last, from 1."""
    workspace = conversation.workspace
    commit = workspace.commit if workspace is not None and tree.has_commit(workspace.commit) else None
    chains, outside = _chains(recorded_edits(conversation), tree)
    states = _initial_states(conversation, tree)
    wanted = _wanted_name(tree, file, chains, outside) if file is not None else None
    result = ConversationDiff(id=conversation.id, title=conversation.title, work_tree=str(tree.top))
    for name, chain in chains.items():
        if wanted is None or wanted == name:
            made = _FileReader(name, chain, tree, turns).diff(states.get(chain.first_name), commit)
            if made is not None:
                result.files.append(made)
    for path, (reason, edits) in outside.items():
        selected = [edit for edit in edits if _is_selected(edit, turns)]
        if selected and (wanted is None or wanted == path):
            result.files.append(_diff_outside(path, reason, selected))
    return result


class _Chain(msgspec.Struct):
    """The edits of a file in their order, under its last name."""

    first_name: str
    edits: list[RecordedEdit]


def _chains(
    edits: Iterable[RecordedEdit], tree: WorkTree
) -> tuple[dict[str, _Chain], dict[str, tuple[str, list[RecordedEdit]]]]:
    """Return the edits by the file that they are of, and those of files outside of the work tree with the reason."""
    chains: dict[str, _Chain] = {}
    outside: dict[str, tuple[str, list[RecordedEdit]]] = {}
    for edit in edits:
        try:
            name = tree.relative(edit.path)
            old = tree.relative(edit.old_path) if edit.old_path is not None else name
        except OutsideError as error:
            outside.setdefault(edit.path, (str(error), []))[1].append(edit)
            continue
        if old != name and not edit.is_undone:
            chain = chains.pop(old, None) or _Chain(old, [])
            chains[name] = chain
        chains.setdefault(name, _Chain(name, [])).edits.append(edit)
    return chains, outside


def _initial_states(conversation: Conversation, tree: WorkTree) -> dict[str, FileState]:
    """Return the files whose text before the conversation is known, from backups and the editing history."""
    found: dict[str, FileState] = {}
    for state in conversation.files:
        if state.initial is not None:
            try:
                found.setdefault(tree.relative(state.path or state.uri), state)
            except OutsideError:
                continue
    return found


def _wanted_name(tree: WorkTree, file: str, *known: Iterable[str]) -> str:
    """Return the name of the requested file; raise UsageError if the conversation did not edit it."""
    names = [name for names in known for name in names]
    try:
        wanted = tree.relative(file)
    except OutsideError:
        wanted = file
    if wanted in names:
        return wanted
    ends = [name for name in names if name.endswith(f"/{file}")]
    if len(ends) == 1:
        return ends[0]
    listed = ", ".join(sorted(ends or names)[:20])
    problem = "several edited files end with" if ends else "no edit is recorded of"
    raise UsageError(f"{problem} {file!r}" + (f"; edited were {listed}" if names else ""))


def _is_selected(edit: RecordedEdit, turns: tuple[int, int] | None) -> bool:
    return turns is None or (edit.turn is not None and turns[0] <= turn_number(edit.turn) <= turns[1])


# --- one file ---------------------------------------------------------------------------------------------------------


class _Walk(NamedTuple):
    """The texts of a file before and after the selected edits, and the edits that could not be applied."""

    before: FileText
    after: FileText
    left_out: list[tuple[RecordedEdit, str]]
    basis: Basis
    has_gap: bool = False  # between two edits, something else changed the file


class _FileReader:
    def __init__(self, name: str, chain: _Chain, tree: WorkTree, turns: tuple[int, int] | None) -> None:
        self.name, self.tree, self.turns = name, tree, turns
        self.edits = [edit for edit in chain.edits if not edit.is_undone]
        self.selected = [edit for edit in self.edits if _is_selected(edit, turns)]
        self.undone = [edit for edit in chain.edits if edit.is_undone and _is_selected(edit, turns)]
        self.first_name = chain.first_name

    def diff(self, state: FileState | None, commit: str | None) -> FileDiff | None:
        if not self.selected and not self.undone:
            return None
        edits = sorted([*self.selected, *self.undone], key=lambda edit: -1 if edit.turn is None else edit.turn)
        made = FileDiff(
            path=self.name,
            action=_action_of(self.selected or self.undone),
            numbers=sorted({turn_number(edit.turn) for edit in edits if edit.turn is not None}),
            outcomes=list(dict.fromkeys(edit.outcome for edit in edits if edit.outcome is not None)),
            undone=[_listed(edit, "it was undone") for edit in self.undone],
        )
        if not self.selected:
            return made
        walk = self._best_walk(state, commit)
        old_name = self._old_name()
        made.old_path = old_name if old_name != self.name else None
        made.left_out = [_listed(edit, reason) for edit, reason in walk.left_out]
        self._add_patch(made, walk, old_name)
        return made

    def _old_name(self) -> str:
        """Return the file's name before the selected edits."""
        if not any(edit.old_path for edit in self.selected):
            return self.name
        if self.turns is None:
            return self.first_name
        old = next(edit.old_path for edit in self.selected if edit.old_path is not None)
        return self.tree.relative(old)

    def _add_patch(self, made: FileDiff, walk: _Walk, old_name: str) -> None:
        before, after = walk.before, walk.after
        if before is NoText.UNKNOWN or after is NoText.UNKNOWN:
            if old_name != self.name and len(walk.left_out) < len(self.selected):
                made.patch = git_patch("", "", self.name, old_name)
            return
        made.action = _action(before, after, is_renamed=old_name != self.name)
        patch = git_patch(_or_none(before), _or_none(after), self.name, old_name)
        if not _is_unicode(patch):
            applied = [edit for edit in self.selected if all(edit is not left for left, _ in walk.left_out)]
            made.left_out += [_listed(edit, NOT_UTF8) for edit in applied]
            return
        made.patch, made.basis = patch, walk.basis
        made.added, made.removed = count_changes(patch) if "\n@@ " in patch else (0, 0)
        made.notes = [BETWEEN] if walk.has_gap else []
        made.now = _state_now(self.tree.text(self.name), before, after)

    # --- the text before --------------------------------------------------------------------------------------------

    def _best_walk(self, state: FileState | None, commit: str | None) -> _Walk:
        """Apply the edits to each text that the file may have had before, and return the result that has most."""
        walks = []
        first = self.edits[0]
        if first.before is not NoText.UNKNOWN:
            basis: Basis = "snapshot" if first.origin == "snapshot" else "whole-file write"
            walks.append(_walk(first.before, self.edits, self._is_selected, basis))
        elif state is not None and state.initial is not None:
            walks.append(_walk(state.initial, self.edits, self._is_selected, "snapshot"))
            if walks[0].left_out and state.current is not None and self.turns is None:
                return _Walk(state.initial, state.current, [], "snapshot")
        elif commit is not None:
            text = self.tree.text_in_commit(commit, self.first_name)
            if text is not NoText.ABSENT:
                walks.append(_walk(text, self.edits, self._is_selected, "commit"))
        if not walks or walks[0].left_out:
            walks.append(self._walk_in_work_tree())
            walks.append(self._walk_without_start())
        return min(walks, key=lambda walk: len(walk.left_out))

    def _walk_without_start(self) -> _Walk:
        """Apply the edits from the first one on before which the text is known."""
        known = next((edit for edit in self.edits if isinstance(edit.after, str)), None)
        is_snapshot = known is not None and known.origin == "snapshot"
        basis: Basis = "snapshot" if is_snapshot else "whole-file write"
        return _walk(NoText.UNKNOWN, self.edits, self._is_selected, basis)

    def _walk_in_work_tree(self) -> _Walk:
        """Apply the selected edits to the file as it is now, if all of them replace texts."""
        text = self.tree.text(self.name)
        if not isinstance(text, str) or any(not edit.ways for edit in self.selected):
            return _walk(NoText.UNKNOWN, self.selected, self._is_selected, "work tree")
        walk = _walk(text, self.selected, self._is_selected, "work tree")
        left_out = [(edit, _about_work_tree(edit, reason, text)) for edit, reason in walk.left_out]
        return walk._replace(left_out=left_out)

    def _is_selected(self, edit: RecordedEdit) -> bool:
        return _is_selected(edit, self.turns)


def _walk(
    start: FileText, edits: list[RecordedEdit], is_selected: Callable[[RecordedEdit], bool], basis: Basis
) -> _Walk:
    text = start
    before: FileText = NoText.UNKNOWN
    after: FileText = NoText.UNKNOWN
    left_out: list[tuple[RecordedEdit, str]] = []
    has_begun = has_gap = False
    for edit in edits:
        if edit.before is not NoText.UNKNOWN:
            has_gap = has_gap or (has_begun and text is not NoText.UNKNOWN and text != edit.before)
            text = edit.before
        try:
            result = _applied(edit, text, is_exact=basis in ("snapshot", "whole-file write"))
        except ValueError as error:
            if is_selected(edit):
                left_out.append((edit, str(error)))
            continue
        if is_selected(edit):
            if text is NoText.UNKNOWN and not has_begun and result is not NoText.UNKNOWN:
                left_out.append((edit, NO_TEXT_BEFORE))
            elif not has_begun:
                has_begun, before = True, text
            if has_begun:
                after = result
        text = result
    return _Walk(before, after, left_out, basis, has_gap)


def _applied(edit: RecordedEdit, text: FileText, *, is_exact: bool) -> FileText:
    """Return the text after an edit; raise ValueError with the reason if it cannot be determined."""
    if edit.after is not NoText.UNKNOWN:
        return edit.after
    if edit.action == "rename" and not edit.ways and not edit.batches:
        return text
    if not edit.ways and not (edit.batches and is_exact):
        raise ValueError(edit.why_not)
    if text is NoText.UNKNOWN or text is NoText.ABSENT:
        raise ValueError(NO_TEXT_BEFORE)
    reason = edit.why_not
    for way in edit.ways:
        try:
            return replaced(text, way)
        except ValueError as error:
            reason = str(error) if reason == edit.why_not else reason
    if edit.ways or not is_exact:
        raise ValueError(reason)
    document = EditableText(text)
    for batch in edit.batches:
        document.apply(batch)
    return document.text()


def _about_work_tree(edit: RecordedEdit, reason: str, text: str) -> str:
    """Return why the work tree has no text before an edit."""
    if reason == NOT_FOUND and all(piece.new and piece.new in text for piece in edit.pieces):
        return "the file in the work tree has the new text already, and no text before is known"
    if reason in (NOT_FOUND, FOUND_SEVERAL):
        return f"{reason} in the work tree, and no other text before is known"
    return reason


# --- values -----------------------------------------------------------------------------------------------------------


def _listed(edit: RecordedEdit, reason: str) -> ListedEdit:
    pieces = [Piece(piece.old, piece.new) for piece in edit.pieces] or list(_whole_text(edit))
    return ListedEdit(
        number=turn_number(edit.turn),
        tool=edit.tool,
        action=edit.action,
        outcome=edit.outcome,
        reason=reason,
        pieces=pieces,
    )


def _whole_text(edit: RecordedEdit) -> Iterator[Piece]:
    old, new = (text if isinstance(text, str) else "" for text in (edit.before, edit.after))
    if old or new:
        yield Piece(old, new)


def _diff_outside(path: str, reason: str, edits: list[RecordedEdit]) -> FileDiff:
    made = [edit for edit in edits if not edit.is_undone]
    return FileDiff(
        path=path,
        action=_action_of(edits),
        numbers=sorted({turn_number(edit.turn) for edit in edits if edit.turn is not None}),
        outcomes=list(dict.fromkeys(edit.outcome for edit in edits if edit.outcome is not None)),
        left_out=[_listed(edit, reason) for edit in made],
        undone=[_listed(edit, "it was undone") for edit in edits if edit.is_undone],
    )


def _action_of(edits: list[RecordedEdit]) -> str:
    actions = [edit.action for edit in edits]
    return "create" if actions[0] == "create" and "delete" not in actions else actions[-1]


def _action(before: FileText, after: FileText, *, is_renamed: bool) -> str:
    if before is NoText.ABSENT:
        return "create"
    if after is NoText.ABSENT:
        return "delete"
    return "rename" if is_renamed else "edit"


def _state_now(now: FileText, before: FileText, after: FileText) -> Now | None:
    if now is NoText.UNKNOWN:
        return None
    if now == after:
        return "as the conversation left it"
    if now is NoText.ABSENT:
        return "deleted since"
    return "undone since" if now == before else "changed since"


def _or_none(text: FileText) -> str | None:
    return text if isinstance(text, str) else None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
