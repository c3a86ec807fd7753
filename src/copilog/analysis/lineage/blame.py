"""Find the conversations that touched a file, and those that wrote a line of it.

A file is searched for under its absolute path, under the same path in copies of its project, and under its former
names. The conversations that edited it are opened; those that only name it come from the index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from copilog.analysis.lineage.conversations_of_files import (
    MOST_OPENED,
    ChosenConversation,
    Mention,
    chosen_conversations,
    editors,
    mentions,
    opened,
    writers,
)
from copilog.analysis.lineage.current_file import CurrentFile
from copilog.analysis.lineage.edited_lines import Edit
from copilog.analysis.lineage.evidence import Evidence, Origin, Strength, rank_of, strongest, weakest
from copilog.analysis.lineage.line_origins import (
    LineOrigin,
    Writings,
    about_edit,
    origin_from,
    origin_of_line,
    without_repeated_edits,
)
from copilog.analysis.lineage.path_matching import Likeness, RequestedFiles
from copilog.analysis.selection import Chosen
from copilog.derive.line_counts import Lines, line_counts_text, sum_of_lines
from copilog.errors import UsageError
from copilog.store.times import time_text

MOST_LINES = 2_000  # to look up one by one
MOST_TURNS = 5  # to name as evidence


class Touch(Origin, kw_only=True):
    """A conversation that touched a file."""

    path: str | None = None  # as it was recorded
    likeness: Likeness | None = None  # of that path to the file
    edits: int = 0
    added: int | None = None  # lines; None if unknown
    removed: int | None = None
    still_there: int = 0  # of the file's lines now, those that it wrote last
    undone: int = 0  # edits
    mentions: int = 0  # messages that name the file
    first_at: str | None = None
    last_at: str | None = None


class BlameResult(msgspec.Struct, kw_only=True):
    """The conversations of a file, or of some of its lines."""

    path: str
    repository: str | None = None  # the folder
    former_paths: list[str] = []
    exists: bool
    lines: int | None = None  # of the file
    first: int | None = None  # the lines that were requested
    last: int | None = None
    touches: list[Touch] = []  # newest first
    origins: list[LineOrigin] = []
    still_there: int = 0  # lines that some conversation wrote
    unexplained: int = 0  # lines that no conversation is found for
    plain: int = 0  # lines of nothing but blanks and signs
    is_uncertain: bool = True
    verdict: str = ""
    notes: list[str] = []


def blame(chosen: Chosen, path: Path | str, first: int | None = None, last: int | None = None) -> BlameResult:
    """Return the conversations that touched a file; with `first`, where its lines from there to `last` come from."""
    file = CurrentFile(Path(path))
    last = first if last is None else last
    _check_lines(file, first, last)
    conversations = chosen_conversations(chosen)
    named = mentions(chosen, conversations, file.wanted)
    files = RequestedFiles([file.wanted])
    wanted = editors(chosen, conversations, files) | writers(chosen, named)
    if len(wanted) > MOST_OPENED:
        file.notes.append(
            f"{len(wanted):,} conversations may have edited the file; the newest {MOST_OPENED:,} were opened"
        )
    edits: dict[int, list[Edit]] = {}
    for conversation in opened(chosen, conversations, wanted):
        found = conversation.edits_of(files)
        if found:
            edits[conversation.facts.number] = found
    writings = Writings(
        (conversations[number], edit) for number, made in edits.items() for edit in without_repeated_edits(made)
    )
    result = BlameResult(
        path=file.shown_path,
        repository=str(file.repository.top) if file.repository else None,
        former_paths=file.wanted.former,
        exists=file.exists,
        lines=len(file.lines) if file.lines is not None else None,
        first=first,
        last=last,
        notes=file.notes,
    )
    _add_touches(result, file, conversations, edits, named, writings)
    if first is not None and last is not None and file.lines is not None:
        result.origins = _origins(file, first, last, writings)
    _add_verdict(result)
    return result


def _check_lines(file: CurrentFile, first: int | None, last: int | None) -> None:
    if first is None or last is None:
        return
    if first < 1 or last < first:
        raise UsageError(
            f"{first}-{last} is not a range of lines; lines count from 1, and the smaller number comes first"
        )
    if last - first >= MOST_LINES:
        raise UsageError(f"at most {MOST_LINES:,} lines can be requested at once")
    if file.lines is not None and last > len(file.lines):
        raise UsageError(f"{file.shown_path} has {len(file.lines):,} lines")


# --- conversations --------------------------------------------------------------------------------------------------


def _add_touches(
    result: BlameResult,
    file: CurrentFile,
    conversations: dict[int, ChosenConversation],
    edits: dict[int, list[Edit]],
    named: Sequence[Mention],
    writings: Writings,
) -> None:
    counts = Counter(file.lines or ())
    shares = {number: share.total() for number, share in writings.assign_lines(counts).items()}
    telling = sum(times for text, times in counts.items() if any(map(str.isalnum, text)))
    result.still_there = sum(shares.values())
    result.unexplained = telling - result.still_there
    result.plain = counts.total() - telling
    by_conversation: dict[int, list[Mention]] = {}
    for mention in named:
        if not mention.is_whole:
            by_conversation.setdefault(mention.conversation, []).append(mention)
    for number, facts in conversations.items():  # newest first
        if number in edits or number in by_conversation:
            touch = _touch(facts, edits.get(number, []), by_conversation.get(number, []))
            touch.still_there = shares.get(number, 0)
            result.touches.append(touch)


def _touch(facts: ChosenConversation, edits: list[Edit], named: list[Mention]) -> Touch:
    evidence = _evidence_of_edits(edits) + _evidence_of_mentions(named, has_edits=bool(edits))
    counted = [edit for edit in edits if edit.kind != "snapshot"] or edits
    exact = {edit.turn for edit in edits if edit.kind == "snapshot"}  # as figures count
    added, removed = _lines([edit for edit in edits if edit.kind == "snapshot" or edit.turn not in exact])
    best = max(edits, key=lambda edit: rank_of(_strength_of(edit)), default=None)
    origin = origin_from(facts, next((item.turn for item in evidence if item.turn is not None), None), evidence)
    times = sorted(at for at in (*(time_text(edit.at) for edit in edits), *(mention.at for mention in named)) if at)
    return Touch(
        **msgspec.structs.asdict(origin)
        | {"strength": _strength_of(best) if best is not None else "weak", "workspace": facts.workspace},
        path=best.path if best is not None else None,
        likeness=best.likeness if best is not None else None,
        edits=len(counted),
        added=added,
        removed=removed,
        undone=sum(edit.fate == "undone" for edit in counted),
        mentions=len(named),
        first_at=times[0] if times else None,
        last_at=times[-1] if times else None,
    )


def _lines(edits: list[Edit]) -> Lines:
    """Return lines added and removed, as far as any edit records them."""
    return sum_of_lines((edit.added_count, edit.removed_count) for edit in edits)


def _strength_of(edit: Edit) -> Strength:
    return weakest(item.strength for item in about_edit(edit))


def _evidence_of_edits(edits: list[Edit]) -> list[Evidence]:
    """Return one for each turn that edited the file, the last first, and what limits their strength."""
    by_turn: dict[int | None, list[Edit]] = {}
    for edit in reversed(edits):
        by_turn.setdefault(edit.turn, []).append(edit)
    found: list[Evidence] = []
    for turn, made in list(by_turn.items())[:MOST_TURNS]:
        distinct = without_repeated_edits(made)
        lines = line_counts_text(_lines(distinct))
        against = [item.text for item in about_edit(made[0]) if item.strength != "strong"]
        text = ", ".join([f"{_WORDS[made[0].action]} the file", *filter(None, [lines]), *against])
        found.append(
            Evidence(
                kind=made[0].kind,
                text=text,
                strength=strongest(map(_strength_of, made)),
                turn=turn,
                at=time_text(made[0].at),
            )
        )
    return found


_WORDS = {"edit": "edited", "create": "made", "delete": "deleted", "rename": "renamed"}


def _evidence_of_mentions(named: list[Mention], *, has_edits: bool) -> list[Evidence]:
    if not named or has_edits:
        return []
    by_place = Counter(mention.place for mention in named)
    found = []
    for place, text in (("arguments", "a tool call names the file"), ("paths", "a message names the file")):
        if by_place[place]:
            first = next(mention for mention in named if mention.place == place)
            times = f" ({by_place[place]:,} times)" if by_place[place] > 1 else ""
            kind = "tool-call" if place == "arguments" else "mention"
            found.append(Evidence(kind=kind, text=text + times, strength="weak", turn=first.turn, at=first.at))
    return found


# --- lines ----------------------------------------------------------------------------------------------------------


def _origins(file: CurrentFile, first: int, last: int, writings: Writings) -> list[LineOrigin]:
    assert file.lines is not None
    counts = Counter(file.lines)
    commits = file.commits_of(first, last)
    return [
        origin_of_line(number, text, counts[text], writings, commits.get(number))
        for number, text in enumerate(file.lines[first - 1 : last], first)
    ]


def _add_verdict(result: BlameResult) -> None:
    """Add a sentence that sums up the result."""
    if result.first is not None and result.lines is not None:
        sure = [origin for origin in result.origins if not origin.is_uncertain]
        found = {origin.origin.conversation for origin in sure if origin.origin is not None}
        result.is_uncertain = len(sure) < len(result.origins)
        number = len(result.origins)
        result.verdict = f"{len(sure):,} of {number:,} {'line' if number == 1 else 'lines'} attributed with certainty"
        if found:
            result.verdict += f", in {len(found):,} {'conversation' if len(found) == 1 else 'conversations'}"
        return
    editing = [touch for touch in result.touches if touch.edits]
    result.is_uncertain = not any(touch.strength == "strong" for touch in editing)
    if not result.touches:
        result.verdict = "no conversation was found that touched the file"
    elif not editing:
        naming = len(result.touches)
        names = f"{naming:,} conversations name" if naming > 1 else "1 conversation names"
        result.verdict = f"{names} the file, but no edit of it was found"
    else:
        result.verdict = f"{len(editing):,} {'conversation' if len(editing) == 1 else 'conversations'} edited the file"
