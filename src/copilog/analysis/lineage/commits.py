"""Find the conversations that a commit comes from: by its added lines, changed files, references and time.

Each line that the commit adds is counted for one conversation at most: the last that wrote it before the commit.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path

import msgspec

from copilog.analysis.lineage.commit_references import references_to
from copilog.analysis.lineage.conversations_of_files import (
    MOST_OPENED,
    ChosenConversation,
    chosen_conversations,
    editors,
    mentions,
    opened,
    writers,
)
from copilog.analysis.lineage.edited_lines import Edit
from copilog.analysis.lineage.evidence import Evidence, Origin, Strength, duration_text, rank_of, strongest, weakest
from copilog.analysis.lineage.git import ChangedFile, Commit, Repository
from copilog.analysis.lineage.line_origins import (
    CLOCK_SLACK,
    COMMIT_WINDOW,
    NEVER,
    Writings,
    has_content,
    is_distinctive,
    origin_from,
    time_of,
    without_repeated_edits,
)
from copilog.analysis.lineage.path_matching import ALLOWS, Project, RequestedFile, RequestedFiles, plain_path
from copilog.analysis.selection import Chosen
from copilog.store.times import time_text, timestamp_from

ENOUGH_LINES = 3  # distinctive ones, enough for strong evidence
RAN_BEFORE = timedelta(days=1)  # a conversation that ran in the folder at most so long before may belong to the commit
MOST_FILES = 2_000  # of a commit, to search for
MOST_NAMED = 50  # of its files, to search for in the arguments of tools
MOST_BY_TIME = 10  # conversations whose only evidence is the time


class CommitFile(msgspec.Struct, kw_only=True):
    """A file that the commit changed."""

    path: str  # from the top of the repository
    old_path: str | None = None
    added: int = 0
    removed: int = 0
    written: int = 0  # of the added lines, those that conversations wrote
    plain: int = 0  # of the added lines, those of nothing but blanks and signs
    is_binary: bool = False
    conversations: int = 0


class CommitTouch(Origin, kw_only=True):
    """A conversation that may have contributed to the commit. The strongest of its evidence counts."""

    lines: int = 0  # that the commit adds and the conversation wrote
    share: float = 0.0  # of all added lines that are not plain, 0 to 1
    telling: int = 0  # of its lines, those that are distinctive
    files: list[str] = []  # that both changed
    edited_at: str | None = None  # its last edit of them before the commit
    is_before: bool = False  # it ran in that folder within a day before the commit


class CommitResult(msgspec.Struct, kw_only=True):
    """The conversations of a commit."""

    sha: str
    subject: str
    repository: str
    authored_at: str | None = None
    committed_at: str | None = None
    parents: list[str] = []
    files: list[CommitFile] = []
    added: int = 0
    removed: int = 0
    written: int = 0  # of the added lines, those that conversations wrote
    unwritten: int = 0  # those that no conversation is found for
    plain: int = 0  # those of nothing but blanks and signs, which are not evidence
    touches: list[CommitTouch] = []  # the strongest first
    strength: Strength | None = None  # of the strongest
    is_uncertain: bool = True
    verdict: str = ""
    notes: list[str] = []


def trace_commit(chosen: Chosen, revision: str, folder: Path | str = ".") -> CommitResult:
    """Return the conversations that a commit of the repository in a folder comes from."""
    repository = Repository(Path(folder).absolute())
    commit = repository.commit(repository.find(revision))
    changed = repository.changes_of(commit)
    return _Tracer(chosen, repository, commit, changed).trace()


class _Tracer:
    """One commit while its conversations are searched for."""

    def __init__(self, chosen: Chosen, repository: Repository, commit: Commit, changed: list[ChangedFile]) -> None:
        self.chosen = chosen
        self.commit = commit
        self.made_at = commit.committed_at or commit.authored_at
        self.project = Project(str(repository.top), repository.remotes)
        self.conversations = chosen_conversations(chosen)
        self.changed: dict[str, ChangedFile] = {}  # by their paths on this disk
        self.files: list[RequestedFile] = []
        for file in changed[:MOST_FILES]:
            names = [f"{self.project.top}/{plain_path(file.path)}"]
            self.files.append(RequestedFile(names, self.project, [file.old_path] if file.old_path else []))
            self.changed[self.files[-1].path] = file
        self.wanted = RequestedFiles(self.files)
        self.telling = sum(is_distinctive(text) for file in changed for text in file.added)
        self.edits: dict[int, list[Edit]] = {}
        self.heads: dict[int, str] = {}  # the commit that was checked out
        self.lines: dict[int, dict[str, Counter[str]]] = {}  # added lines by conversation and file
        self.result = CommitResult(
            sha=commit.sha,
            subject=commit.subject,
            repository=self.project.top,
            authored_at=time_text(commit.authored_at),
            committed_at=time_text(commit.committed_at),
            parents=commit.parents,
        )
        if len(commit.parents) > 1:
            self._note("this is a merge; it was compared with its first parent")
        if len(changed) > MOST_FILES:
            self._note(f"the commit changes {len(changed):,} files; only the first {MOST_FILES:,} were searched for")

    def _note(self, text: str) -> None:
        self.result.notes.append(text)

    def trace(self) -> CommitResult:
        self._find_edits()
        for path, file in self.changed.items():
            self._assign_added_lines(path, file)
        references = references_to(self.chosen, self.conversations, self.commit, self.project)
        before = self._recent_conversations()
        shown = {*self.edits, *references, *[number for number in before if number not in self.edits][:MOST_BY_TIME]}
        touches = [
            self._touch(facts, references.get(number, []), is_before=number in before)
            for number, facts in self.conversations.items()
            if number in shown
        ]
        self.result.touches = sorted(touches, key=lambda touch: (-rank_of(touch.strength), -touch.lines))
        self._add_verdict()
        return self.result

    # --- edits ------------------------------------------------------------------------------------------------------

    def _find_edits(self) -> None:
        wanted = editors(self.chosen, self.conversations, self.wanted)
        for file in self.files[:MOST_NAMED]:
            wanted |= writers(self.chosen, mentions(self.chosen, self.conversations, file))
        if len(wanted) > MOST_OPENED:
            self._note(f"{len(wanted):,} conversations edited such files; the newest {MOST_OPENED:,} were opened")
        for conversation in opened(self.chosen, self.conversations, wanted):
            found = [edit for edit in conversation.edits_of(self.wanted) if self._is_before_commit(edit)]
            if found:
                self.edits[conversation.facts.number] = found
                workspace = conversation.conversation.workspace
                self.heads[conversation.facts.number] = (workspace.commit if workspace else None) or ""

    def _is_before_commit(self, edit: Edit) -> bool:
        """Return whether an edit was made before the commit, so that it may be in it."""
        at = time_of(edit)
        return self.made_at is None or at == NEVER or at <= self.made_at + CLOCK_SLACK

    def _assign_added_lines(self, path: str, file: ChangedFile) -> None:
        """Assign the lines that the commit adds to one file to their conversations."""
        editing = {
            number: edits
            for number, made in self.edits.items()
            if (edits := [edit for edit in made if edit.file == path])
        }
        counts = Counter(file.added)
        shares = Writings(
            (self.conversations[number], edit)
            for number, edits in editing.items()
            for edit in without_repeated_edits(edits)
        ).assign_lines(counts)
        for number, share in shares.items():
            self.lines.setdefault(number, {})[path] = share
        row = CommitFile(
            path=plain_path(file.path),
            old_path=plain_path(file.old_path) if file.old_path else None,
            added=len(file.added),
            removed=len(file.removed),
            written=sum(share.total() for share in shares.values()),
            plain=sum(times for text, times in counts.items() if not has_content(text)),
            is_binary=file.is_binary,
            conversations=len(editing),
        )
        self.result.files.append(row)
        self.result.added += row.added
        self.result.removed += row.removed
        self.result.written += row.written
        self.result.plain += row.plain
        self.result.unwritten += row.added - row.written - row.plain

    def _recent_conversations(self) -> list[int]:
        """Return the conversations in this project that ran within a day before the commit, newest first."""
        if self.made_at is None:
            return []
        found = []
        for number, facts in self.conversations.items():
            begun, ended = timestamp_from(facts.started_at or facts.at), timestamp_from(facts.at)
            if begun is None or ended is None or self.project.likeness_of(facts.home) is None:
                continue
            if begun <= self.made_at + CLOCK_SLACK and ended >= self.made_at - RAN_BEFORE:
                found.append(number)
        return found

    # --- one conversation -------------------------------------------------------------------------------------------

    def _touch(self, facts: ChosenConversation, references: list[Evidence], *, is_before: bool) -> CommitTouch:
        edits, by_file = self.edits.get(facts.number, []), self.lines.get(facts.number, {})
        lines = sum(by_file.values(), Counter[str]())
        evidence = [*references, *self._evidence_of_edits(edits, by_file, self.heads.get(facts.number, ""))]
        if is_before:
            text = "it ran in this project within a day before the commit"
            evidence.append(Evidence(kind="time", text=text, strength="weak", at=facts.at))
        evidence.sort(key=lambda item: -rank_of(item.strength))
        turn = next((item.turn for item in evidence if item.turn is not None), None)
        origin = origin_from(facts, turn, evidence)
        telling = self.result.written + self.result.unwritten
        return CommitTouch(
            **msgspec.structs.asdict(origin) | {"strength": strongest(item.strength for item in evidence)},
            lines=lines.total(),
            share=lines.total() / telling if telling else 0.0,
            telling=sum(times for text, times in lines.items() if is_distinctive(text)),
            files=sorted({plain_path(self.changed[edit.file].path) for edit in edits}),
            edited_at=time_text(max((time_of(edit) for edit in edits if edit.at is not None), default=None)),
            is_before=is_before,
        )

    def _evidence_of_edits(self, edits: list[Edit], lines: dict[str, Counter[str]], head: str) -> list[Evidence]:
        """Return one piece of evidence for each file, in the order of the commit."""
        telling = sum(times for share in lines.values() for text, times in share.items() if is_distinctive(text))
        is_enough = telling >= min(ENOUGH_LINES, max(self.telling, 1))
        found = [
            self._evidence_of_file(path, made, lines.get(path, Counter()), is_enough=is_enough)
            for path in self.changed
            if (made := [edit for edit in edits if edit.file == path])
        ]
        if found and head and head in self.commit.parents:
            found.append(Evidence(kind="head", text="it began at the commit before this one", strength="medium"))
        return found

    def _evidence_of_file(self, path: str, edits: list[Edit], lines: Counter[str], *, is_enough: bool) -> Evidence:
        file, last = self.changed[path], max(edits, key=time_of)
        if lines:
            text = f"it wrote {lines.total():,} of {len(file.added):,} added lines"
        elif removed := self._removed_by(edits):
            text = f"it removed {removed:,} of {len(file.removed):,} removed lines"
        else:
            text = "it edited the file, but none of these lines"
        against = self._against(edits, lines, last, is_enough=is_enough)
        strength: Strength = weakest(limit for _, limit in against)
        text = ", ".join([f"{plain_path(file.path)}: {text}", *(reason for reason, _ in against if reason)])
        return Evidence(kind=last.kind, text=text, strength=strength, turn=last.turn, at=time_text(last.at))

    def _against(
        self, edits: list[Edit], lines: Counter[str], last: Edit, *, is_enough: bool
    ) -> list[tuple[str, Strength]]:
        """Yield what limits the strength of edits, each with the reason if it needs one."""
        limits: list[tuple[str, Strength]] = []
        if not lines:
            limits.append(("", "medium" if self._removed_by(edits) >= ENOUGH_LINES else "weak"))
        elif not is_enough:
            limits.append(("too few or too short to be sure", "medium"))
        best = min((edit.likeness for edit in edits), key=list(ALLOWS).index)
        if best != "exact":
            limits.append((f"in {last.path}, which is not this file", ALLOWS[best]))
        if all(edit.kind == "tool-call" for edit in edits):
            limits.append(("as tool calls asked for", "medium"))
        if last.at is None or self.made_at is None:
            limits.append(("at a time that was not recorded", "medium"))
        else:
            passed = self.made_at - time_of(last)
            limits.append((f"{duration_text(passed)} before", "strong" if passed <= COMMIT_WINDOW else "medium"))
        return limits

    def _removed_by(self, edits: list[Edit]) -> int:
        """Return how many distinctive lines both these edits and the commit removed."""
        found = 0
        for path in {edit.file for edit in edits if edit.removed}:
            mine = Counter(text for edit in edits if edit.file == path for text in edit.removed)
            both = mine & Counter(self.changed[path].removed)
            found += sum(times for text, times in both.items() if is_distinctive(text))
        return found

    # --- result -----------------------------------------------------------------------------------------------------

    def _add_verdict(self) -> None:
        """Add a sentence that sums up the result."""
        result = self.result
        result.strength = result.touches[0].strength if result.touches else None
        result.is_uncertain = result.strength != "strong"
        telling = result.written + result.unwritten
        writers = sum(bool(touch.lines) for touch in result.touches)
        if not result.touches:
            result.verdict = "no conversation was found for the commit"
        elif not telling:
            result.verdict = "the commit adds no lines except blanks and signs"
        else:
            share = f"{result.written:,} of {telling:,} lines ({result.written / telling:.0%})"
            number = f"{writers:,} {'conversation' if writers == 1 else 'conversations'}"
            result.verdict = f"{share} were written in {number}; {result.unwritten:,} in none that was found"
