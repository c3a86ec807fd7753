"""Answer the questions of the tools from the archive. All answers are limited, and without invisible characters."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from copilog.derive import is_branched, is_counted
from copilog.derive.counting import reasons_of, superseded_indexes
from copilog.errors import UsageError
from copilog.mcp.answers import (
    NOTICE,
    ConversationLine,
    Hit,
    ListAnswer,
    ModelUsage,
    SearchAnswer,
    UsageAnswer,
    WindowAnswer,
)
from copilog.mcp.fitting import limited_remarks, within
from copilog.mcp.usage import TOKENS, total_usage
from copilog.mcp.window import Cursor, Reader, ToolResults
from copilog.model import Conversation, title_of
from copilog.store.archive import Archive
from copilog.store.selection import Selection
from copilog.store.summary import count_summaries
from copilog.view.wording import counted
from copilog.writers.mcp_text import one_line, tokens_of

if TYPE_CHECKING:
    from copilog.store.reading import Reading
    from copilog.store.search import Hit as Match
    from copilog.store.summary import Summary

MOST_LINES = 100
MOST_HITS = 50
SMALLEST_BUDGET, LARGEST_BUDGET = 500, 20_000
LONGEST_SNIPPET = 500
NONE_SELECTED = "The last conversation of the archive was active {}. Call search with another period or workspace."
LONGEST_HEAD = 75  # tokens of the line above a window
LATER_TOKENS = 60  # for remarks that are added to an answer: on redaction, on a running scan
LONGEST_CURSOR = "0" * 24
MOST_NAMES = 8  # models, modes or labels of one conversation
LAST = "last"
NO_HITS = (
    "Nothing matches. Call search with fewer or other words, or without a query for a list by time; memories, commands "
    "and files answer without words."
)


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a window as the client gave it."""

    turn: int | None = None
    around: int | None = None
    cursor: str | None = None
    tool_results: ToolResults = "short"
    thinking: bool = False

    def cursor_in(self, reader: Reader, budget: int) -> Cursor:
        if sum(given is not None for given in (self.turn, self.around, self.cursor)) > 1:
            raise UsageError("give only one of turn, around and cursor")
        if self.cursor is not None:
            return Cursor.parse(self.cursor)
        if self.around is not None:
            return reader.around(self.around, budget, self.tool_results, thinking=self.thinking)
        return reader.at_turn(self.turn or 1, self.tool_results, thinking=self.thinking)


# --- searching and listing ----------------------------------------------------------------------------------------


def search(
    archive: Archive,
    query: str,
    selection: Selection,
    limit: int,
    offset: int,
    per_conversation: int,
    reading: Reading | None = None,
) -> SearchAnswer:
    """Return the best matching messages of selected conversations, at most some of each conversation."""
    from copilog.store.search import search_in

    most = {"limit": limit + 1, "offset": offset, "per_conversation": per_conversation}
    found = search_in(archive.connection, archive.with_id(selection), query, reading=reading, **most)
    notes = found.notes if found.hits or offset else [*found.notes, NO_HITS]
    return SearchAnswer(
        query=one_line(query, LONGEST_SNIPPET),
        reading=found.reading,
        total=found.total,
        total_is_exact=found.total_is_exact,
        hits=[_hit_of(match) for match in found.hits[:limit]],
        offset=offset,
        next_offset=offset + limit if len(found.hits) > limit else None,
        remarks=list(notes),
    )


def _hit_of(match: Match) -> Hit:
    return Hit(
        id=match.conversation,
        title=one_line(match.title),
        workspace=named(match.workspace),
        updated_at=match.updated_at,
        number=match.number,
        message=match.position,
        role=match.role,
        superseded=match.superseded,
        field=match.field,
        snippet=one_line(_marked(match.snippet, match.highlights), LONGEST_SNIPPET),
        document=match.document,
        document_title=named(match.document_title),
    )


def _marked(text: str, highlights: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end in highlights:
        pieces += [text[at:start], "**", text[start:end], "**"]
        at = end
    return "".join([*pieces, text[at:]])


def list_conversations(archive: Archive, selection: Selection, limit: int, offset: int) -> ListAnswer:
    """Return conversations, the last active one first."""
    found = archive.list_selected(selection, limit + 1, offset)
    last = archive.list(limit=1)[:1] if not found and not offset else []
    return ListAnswer(
        total=count_summaries(archive.connection, archive.with_id(selection)),
        conversations=[_line_of(summary) for summary in found[:limit]],
        offset=offset,
        next_offset=offset + limit if len(found) > limit else None,
        remarks=[NONE_SELECTED.format(_time(summary.updated_at) or "at an unknown time") for summary in last],
    )


def _line_of(summary: Summary) -> ConversationLine:
    return ConversationLine(
        id=summary.id,
        title=one_line(summary.title),
        workspace=named(summary.workspace),
        repository=named(summary.repository),
        branch=named(summary.branch),
        source=summary.source,
        started_at=_time(summary.started_at),
        updated_at=_time(summary.updated_at),
        turns=summary.turns,
        tool_calls=summary.tool_calls,
        edits=summary.edits,
        models=[one_line(name, 60) for name in summary.models[:MOST_NAMES]],
        modes=[one_line(name, 60) for name in summary.modes[:MOST_NAMES]],
        labels=[one_line(name, 60) for name in summary.labels[:MOST_NAMES]],
        is_starred=summary.is_starred,
        is_gone=summary.gone_at is not None,
    )


# --- reading ------------------------------------------------------------------------------------------------------


def read_window(archive: Archive, name: str, start: Start, budget: int) -> WindowAnswer:
    """Return a part of a conversation; its text, as `window_text` frames it, fits a budget of tokens."""
    conversation = archive.get(id_of(archive, name))
    reader = Reader(conversation)
    answer = WindowAnswer(
        id=conversation.id,
        title=one_line(title_of(conversation), 100),
        workspace=one_line((conversation.workspace and conversation.workspace.folder) or "") or None,
        turns=len(conversation.turns) - len(superseded_indexes(conversation)),
        superseded=len(superseded_indexes(conversation)),
        text="",
        tokens=0,
        tool_results_shortened=True,
        thinking_left_out=0,
        next_cursor=LONGEST_CURSOR,
        remarks=list(_remarks_on(conversation)),
    )
    room = budget - tokens_of(window_text(answer)) - LATER_TOKENS
    window = reader.window(start.cursor_in(reader, room), room, focus=start.around)
    return answer.model_copy(
        update={
            "first_turn": window.first_turn,
            "last_turn": window.last_turn,
            "text": window.text,
            "tokens": window.tokens,
            "tool_results_shortened": window.is_shortened,
            "thinking_left_out": window.thinking_left_out,
            "next_cursor": window.next_cursor,
        }
    )


def _remarks_on(conversation: Conversation) -> Iterator[str]:
    """Yield notes about the turns that are left out, and about branches."""
    superseded = [turn for turn in conversation.turns if not is_counted(turn)]
    if superseded:
        verb = "counts and is" if len(superseded) == 1 else "count and are"
        said = ", ".join(one_line(reason, 40) for reason in reasons_of(superseded))
        yield f"{len(superseded)} of its turns no longer {verb} left out ({said})."
    if is_branched(conversation):
        yield "Copies of it continued separately: the turns of each branch come after the turn that it leaves from."


def id_of(archive: Archive, name: str) -> str:
    """Resolve the id of a conversation: `last` is the last active one."""
    if name == LAST:
        for summary in archive.list(limit=1):
            return summary.id
    return archive.find_id(name)


def window_text(answer: WindowAnswer) -> str:
    """Return the window as text, between marks that the recorded text cannot predict."""
    facts = [f"{answer.title} ({answer.id})", answer.workspace or "", counted(answer.turns, "turn")]
    if answer.superseded:
        facts[-1] += f" ({answer.superseded} more no longer {'count' if answer.superseded > 1 else 'counts'})"
    lines = [within(" · ".join(filter(None, facts)), LONGEST_HEAD), *framed(answer.text or "(no messages)")]
    lines += limited_remarks(answer.remarks)
    if answer.tool_results_shortened:
        lines.append('Arguments and results of tools were shortened; results="full" returns all.')
    if answer.next_cursor is not None:
        lines.append(f'There is more: read(id="{answer.id}", cursor="{answer.next_cursor}")')
    return "\n".join(lines)


def framed(text: str) -> list[str]:
    """Return recorded text between marks that it cannot predict, with the notice."""
    mark = secrets.token_hex(4)
    return [NOTICE, f"--- recorded text {mark} begins ---", text, f"--- recorded text {mark} ends ---"]


# --- usage ----------------------------------------------------------------------------------------------


def get_usage(archive: Archive, name: str | None, selection: Selection) -> UsageAnswer:
    """Return the usage of one conversation, or of a selection."""
    if name is not None and selection != Selection():
        raise UsageError("give either an id, or a period and filters, not both")
    if name is not None:
        selection = Selection(conversation=id_of(archive, name), include_empty=True)
    total = total_usage(archive, selection)
    models = [
        ModelUsage(model=one_line(row.name, 80), **{field: getattr(row, field) for field in TOKENS})
        for row in total.models
    ]
    return UsageAnswer(
        conversations=total.conversations,
        without_usage=total.conversations - total.with_tokens,
        models=sorted(models, key=lambda usage: (-(usage.input or 0), -(usage.output or 0), usage.model)),
        premium_requests=_rounded(total.whole.premium_requests),
        unanswered_requests=_rounded(total.whole.unanswered_requests),
        credits=_rounded(total.whole.credits),
        is_estimated=total.is_estimated,
        is_partial=total.is_estimated or total.with_tokens < total.conversations,
    )


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 6)


def named(text: str | None) -> str | None:
    return one_line(text, 300) if text else None


def _time(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z") if moment is not None else None
