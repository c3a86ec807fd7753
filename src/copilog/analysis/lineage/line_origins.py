"""Find who wrote a line: the recorded edits that contain its text, with evidence for and against each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec

from copilog.analysis.lineage.conversations_of_files import ChosenConversation
from copilog.analysis.lineage.edited_lines import Edit
from copilog.analysis.lineage.evidence import Evidence, Origin, duration_text, rank_of, weakest
from copilog.analysis.lineage.path_matching import ALLOWS
from copilog.store.times import time_text

SHORTEST_TELLING = 12  # characters of a line that is distinctive
FEWEST_LETTERS = 6
COMMIT_WINDOW = timedelta(days=30)  # from an edit to the commit that contains it
CLOCK_SLACK = timedelta(minutes=5)
MOST_OTHERS = 5
NEVER = datetime.min.replace(tzinfo=UTC)


class LineOrigin(msgspec.Struct, kw_only=True):
    """The origin of one line."""

    line: int  # from 1
    text: str
    origin: Origin | None = None  # the likeliest conversation; None if none is found
    others: list[Origin] = []  # further ones that may have written it
    is_uncertain: bool = True
    reason: str | None = None  # why it is uncertain
    commit: str | None = None  # that git blames
    committed_at: str | None = None


class Write(NamedTuple):
    """An edit of a conversation."""

    facts: ChosenConversation
    edit: Edit
    at: datetime


class Committed(NamedTuple):
    """When a line was committed."""

    sha: str
    at: datetime | None


class Writings:
    """All that conversations wrote into a file, by the text of the lines, the latest last."""

    def __init__(self, edits: Iterable[tuple[ChosenConversation, Edit]]) -> None:
        self.writes = sorted((Write(facts, edit, time_of(edit)) for facts, edit in edits), key=lambda write: write.at)
        self.exact: dict[str, list[Write]] = {}
        self.loose: dict[str, list[Write]] = {}
        self.removed: dict[str, list[Write]] = {}
        self.times: Counter[tuple[int, str]] = Counter()  # how often a conversation wrote a line
        for write in self.writes:
            for text in dict.fromkeys(write.edit.added):
                self.exact.setdefault(text, []).append(write)
                if text.strip() not in self.loose or self.loose[text.strip()][-1] is not write:
                    self.loose.setdefault(text.strip(), []).append(write)
            for text in write.edit.added:
                self.times[write.facts.number, text.strip()] += 1
            for text in dict.fromkeys(write.edit.removed):
                self.removed.setdefault(text, []).append(write)

    def of(self, text: str) -> tuple[list[Write], bool]:
        """Return the edits that contain a line, and whether exactly; else those with different spaces."""
        exact = self.exact.get(text)
        return (exact, True) if exact else (self.loose.get(text.strip(), []), False)

    def assign_lines(
        self, counts: Counter[str], may_have: Callable[[Write], bool] | None = None
    ) -> dict[int, Counter[str]]:
        """Assign lines to conversations: to each as many as it wrote, and of several the latest first."""
        shares: dict[int, Counter[str]] = {}
        for text, left in counts.items():
            if not has_content(text):
                continue
            writes, _ = self.of(text)
            kept = [write for write in writes if write.edit.fate != "undone" and (may_have is None or may_have(write))]
            for number in dict.fromkeys(write.facts.number for write in reversed(kept)):
                share = min(left, self.times[number, text.strip()])
                if share:
                    shares.setdefault(number, Counter())[text] += share
                left -= share
        return shares


def without_repeated_edits(edits: Sequence[Edit]) -> list[Edit]:
    """Return the edits without those that the editing history records as well, and better."""
    better = {edit.turn for edit in edits if edit.kind == "snapshot" and (edit.added or edit.removed)}
    return [edit for edit in edits if edit.kind == "snapshot" or edit.turn not in better]


def time_of(edit: Edit) -> datetime:
    if edit.at is None:
        return NEVER
    return edit.at if edit.at.tzinfo is not None else edit.at.replace(tzinfo=UTC)


def has_content(text: str) -> bool:
    """Return whether a line has content: brackets and blanks may be from anywhere."""
    return any(map(str.isalnum, text))


def is_distinctive(text: str) -> bool:
    """Return whether a line is so distinctive that two authors would hardly write it by chance."""
    text = text.strip()
    return len(text) >= SHORTEST_TELLING and sum(map(str.isalnum, text)) >= FEWEST_LETTERS


# --- one line -------------------------------------------------------------------------------------------------------


def origin_of_line(
    number: int, text: str, times_in_file: int, writings: Writings, committed: Committed | None
) -> LineOrigin:
    """Return the conversations that may have written a line, the likeliest first."""
    made = LineOrigin(line=number, text=text)
    if committed is not None:
        made.commit, made.committed_at = committed.sha, time_text(committed.at)
    if not has_content(text):
        made.reason = "the line is blank, or only signs: its origin cannot be determined"
        return made
    writes, is_exact = writings.of(text)
    ranked = _ranked([_weighed(write, text, is_exact, times_in_file, writings, committed) for write in _latest(writes)])
    if not ranked:
        ranked = _origins_by_file(writings, committed)
        made.reason = "no recorded edit contains this line" + ("; these only edited the file" if ranked else "")
    made.origin = ranked[0] if ranked else None
    made.others = ranked[1 : 1 + MOST_OTHERS]
    if made.origin is not None and made.reason is None:
        made.reason = "; ".join(item.text for item in made.origin.evidence if item.strength != "strong") or None
        made.is_uncertain = made.origin.strength != "strong"
    return made


def _latest(writes: Sequence[Write]) -> list[Write]:
    """Return the last write of each conversation, one that remained before one that was undone; the latest first."""
    latest: dict[int, Write] = {}
    for write in sorted(writes, key=lambda write: (write.edit.fate != "undone", write.at)):
        latest[write.facts.number] = write
    return sorted(latest.values(), key=lambda write: (write.edit.fate != "undone", write.at), reverse=True)


def _weighed(
    write: Write, text: str, is_exact: bool, times_in_file: int, writings: Writings, committed: Committed | None
) -> tuple[Write, list[Evidence]]:
    edit = write.edit
    time = _evidence_of_time(write, committed)
    is_soon = time is not None and time.strength == "strong"
    evidence = [_evidence_of_edit(edit, is_exact, is_soon=is_soon)]
    evidence += about_edit(edit)
    if edit.is_rough:
        text_of_doubt = "the text before the edit was not recorded, the line may be older"
        evidence.append(Evidence(kind="text", text=text_of_doubt, strength="medium"))
    if edit.at is None:
        evidence.append(Evidence(kind="time", text="the time of the edit was not recorded", strength="medium"))
    if not is_distinctive(text):
        evidence.append(
            Evidence(kind="text", text="the line is short, others may have written the same", strength="medium")
        )
    elif times_in_file > 1:
        evidence.append(
            Evidence(kind="text", text=f"the line occurs {times_in_file:,} times in the file", strength="medium")
        )
    removal = next((other for other in reversed(writings.removed.get(text, ())) if _is_later(other, write)), None)
    if removal is not None:
        where = "the same conversation" if removal.facts.number == write.facts.number else f"{removal.facts.title!r}"
        evidence.append(Evidence(kind="edit", text=f"{where} removed the line later", strength="medium"))
    if time is not None:
        evidence.append(time)
    return write, evidence


def _evidence_of_edit(edit: Edit, is_exact: bool, *, is_soon: bool) -> Evidence:
    what = {"edit": "an edit", "snapshot": "the editing history", "tool-call": "a tool call"}[edit.kind]
    how = "exactly this line" if is_exact else "this line with other spaces"
    return Evidence(
        kind=edit.kind,
        text=f"{what} has {how}",
        # A formatter that ran before the commit moves lines in or out.
        strength="strong" if is_exact or is_soon else "medium",
        turn=edit.turn,
        at=time_text(edit.at),
    )


def about_edit(edit: Edit) -> list[Evidence]:
    """Return the evidence against an edit, whatever it wrote."""
    found: list[Evidence] = []
    if edit.likeness != "exact":
        words = {
            "elsewhere": "in a copy of the project",
            "relative": "in a project that may be another one",
            "name": "in an unknown folder",
        }
        text = f"the file was {edit.path}, {words[edit.likeness]}"
        found.append(Evidence(kind="place", text=text, strength=ALLOWS[edit.likeness]))
    if edit.kind == "tool-call":
        found.append(Evidence(kind=edit.kind, text="no record confirms that the file was written", strength="medium"))
    if edit.fate == "undone":
        found.append(Evidence(kind="fate", text="the edit was undone", strength="weak"))
    elif edit.fate == "changed":
        found.append(Evidence(kind="fate", text="the user changed the file afterwards", strength="strong"))
    return found


def _evidence_of_time(write: Write, committed: Committed | None) -> Evidence | None:
    if committed is None or committed.at is None or write.at == NEVER:
        return None
    passed = committed.at - write.at
    short = committed.sha[:10]
    if passed < -CLOCK_SLACK:
        text = f"the line was committed {duration_text(passed)} before ({short})"
        return Evidence(kind="time", text=text, strength="weak", at=time_text(committed.at))
    text = f"the line was committed {duration_text(passed)} after ({short})"
    return Evidence(
        kind="time", text=text, strength="strong" if passed <= COMMIT_WINDOW else "medium", at=time_text(committed.at)
    )


def _is_later(one: Write, other: Write) -> bool:
    if one.facts.number == other.facts.number and one.edit is other.edit:
        return False
    return one.at > other.at


def _ranked(weighed: list[tuple[Write, list[Evidence]]]) -> list[Origin]:
    """Return origins, the strongest first, of equals the latest. Only one can have written the line last."""
    ordered = sorted(weighed, key=lambda pair: -rank_of(weakest(item.strength for item in pair[1])))
    for write, evidence in ordered[1:]:
        first = ordered[0][0]
        if first.at >= write.at:
            text = f"{first.facts.title!r} wrote the line again later"
            evidence.append(Evidence(kind="edit", text=text, strength="medium", at=time_text(first.edit.at)))
    return [origin_from(write.facts, write.edit.turn, evidence) for write, evidence in ordered]


def origin_from(facts: ChosenConversation, turn: int | None, evidence: list[Evidence]) -> Origin:
    return Origin(
        conversation=facts.id,
        title=facts.title,
        source=facts.source,
        workspace=facts.workspace,
        at=facts.at,
        turn=turn,
        strength=weakest(item.strength for item in evidence),
        evidence=evidence,
    )


def _origins_by_file(writings: Writings, committed: Committed | None) -> list[Origin]:
    """Return conversations that edited the file before the line was committed; the nearest to that first."""
    found = []
    for write in _latest(writings.writes):
        time = _evidence_of_time(write, committed)
        if time is not None and time.strength != "strong":
            continue
        text = "edited the file, but did not write this line"
        evidence = [
            Evidence(
                kind=write.edit.kind, text=text, strength="weak", turn=write.edit.turn, at=time_text(write.edit.at)
            )
        ]
        found.append(origin_from(write.facts, write.edit.turn, [*evidence, *([time] if time else [])]))
    return found
