"""Answer the questions of the tools from the archive. All answers are limited, and without invisible characters."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from copilog.derive import is_branched, is_counted
from copilog.derive.counting import reasons_of, superseded_indexes
from copilog.errors import UsageError
from copilog.mcp.answers import (
    ConversationLine,
    FileAnswer,
    FileWork,
    Hit,
    ListAnswer,
    ModelUsage,
    SearchAnswer,
    UsageAnswer,
    WindowAnswer,
)
from copilog.mcp.usage import TOKENS, total_usage
from copilog.mcp.window import Cursor, Reader, ToolResults
from copilog.model import Conversation, title_of
from copilog.store.archive import Archive
from copilog.store.selection import Selection
from copilog.view.wording import counted
from copilog.writers.mcp_text import one_line, plain

if TYPE_CHECKING:
    from copilog.store.reading import Reading
    from copilog.store.search import Hit as Match
    from copilog.store.summary import Summary

MOST_LINES = 100
MOST_HITS = 50
SMALLEST_BUDGET, LARGEST_BUDGET = 200, 20_000
LONGEST_SNIPPET = 500
MOST_NAMES = 20  # models, modes or labels of one conversation
LAST = "last"

_WORK = """
    SELECT c.id, c.title, c.workspace, c.updated_at, e.path, json_group_array(DISTINCT e.turn),
           json_group_array(DISTINCT e.action), sum(e.added), sum(e.removed)
    FROM file_edits AS e JOIN conversations AS c ON c.id = e.conversation
    WHERE (replace(e.path, '\\', '/') = ?1 OR replace(e.path, '\\', '/') LIKE ?2 ESCAPE '!')
      AND e.is_counted AND e.superseded IS NULL
    GROUP BY c.id, e.path ORDER BY c.updated_at DESC, c.id, e.path LIMIT ?3
"""


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
            raise UsageError("give only one of start_turn, around and cursor")
        if self.cursor is not None:
            return Cursor.parse(self.cursor)
        if self.around is not None:
            return reader.around(self.around, budget, self.tool_results, thinking=self.thinking)
        return reader.at_turn(self.turn or 1, self.tool_results, thinking=self.thinking)


# --- searching and listing ----------------------------------------------------------------------------------------


def search(
    archive: Archive, query: str, limit: int, offset: int, per_conversation: int, reading: Reading | None = None
) -> SearchAnswer:
    """Return the best matching messages, at most some of each conversation."""
    most = {"limit": limit + 1, "offset": offset, "per_conversation": per_conversation}
    found = archive.search(query, reading=reading, **most)
    return SearchAnswer(
        query=plain(query),
        reading=found.reading,
        total=found.total,
        total_is_exact=found.total_is_exact,
        hits=[_hit_of(match) for match in found.hits[:limit]],
        next_offset=offset + limit if len(found.hits) > limit else None,
        remarks=[one_line(note, LONGEST_SNIPPET) for note in found.notes],
    )


def _hit_of(match: Match) -> Hit:
    return Hit(
        conversation=match.conversation,
        title=one_line(match.title),
        workspace=_named(match.workspace),
        updated_at=match.updated_at,
        turn=match.turn + 1 if match.turn is not None else None,
        message=match.position,
        role=match.role,
        superseded=match.superseded,
        field=match.field,
        snippet=one_line(_marked(match.snippet, match.highlights), LONGEST_SNIPPET),
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
    return ListAnswer(
        conversations=[_line_of(summary) for summary in found[:limit]],
        next_offset=offset + limit if len(found) > limit else None,
    )


def _line_of(summary: Summary) -> ConversationLine:
    return ConversationLine(
        id=summary.id,
        title=one_line(summary.title),
        workspace=_named(summary.workspace),
        repository=_named(summary.repository),
        branch=_named(summary.branch),
        source=summary.source,
        started_at=_time(summary.started_at),
        updated_at=_time(summary.updated_at),
        turns=summary.turns,
        tool_calls=summary.tool_calls,
        edits=summary.edits,
        models=[one_line(name, 80) for name in summary.models[:MOST_NAMES]],
        modes=[one_line(name, 80) for name in summary.modes[:MOST_NAMES]],
        labels=[one_line(name, 80) for name in summary.labels[:MOST_NAMES]],
        is_starred=summary.is_starred,
        is_gone=summary.gone_at is not None,
    )


# --- reading ------------------------------------------------------------------------------------------------------


def read_window(archive: Archive, name: str, start: Start, budget: int) -> WindowAnswer:
    """Return a part of a conversation that fits a budget of tokens."""
    conversation = archive.get(_id_of(archive, name))
    reader = Reader(conversation)
    window = reader.window(start.cursor_in(reader, budget), budget, focus=start.around)
    return WindowAnswer(
        id=conversation.id,
        title=one_line(title_of(conversation)),
        workspace=_named(conversation.workspace.folder if conversation.workspace else None),
        turns=len(conversation.turns) - len(superseded_indexes(conversation)),
        superseded=len(superseded_indexes(conversation)),
        first_turn=window.first_turn,
        last_turn=window.last_turn,
        text=window.text,
        tokens=window.tokens,
        tool_results_shortened=window.is_shortened,
        thinking_left_out=window.thinking_left_out,
        next_cursor=window.next_cursor,
        remarks=list(_remarks_on(conversation)),
    )


def _remarks_on(conversation: Conversation) -> Iterator[str]:
    """Yield notes about the turns that are left out, and about branches."""
    superseded = [turn for turn in conversation.turns if not is_counted(turn)]
    if superseded:
        verb = "counts and is" if len(superseded) == 1 else "count and are"
        said = ", ".join(one_line(reason, 80) for reason in reasons_of(superseded))
        yield f"{len(superseded)} of its turns no longer {verb} left out ({said})."
    if is_branched(conversation):
        yield "Copies of it continued separately: the turns of each branch come after the turn that it leaves from."


def _id_of(archive: Archive, name: str) -> str:
    """Resolve the id of a conversation: `last` is the last active one."""
    if name == LAST:
        for summary in archive.list(limit=1):
            return summary.id
    return archive.find_id(name)


def window_text(answer: WindowAnswer) -> str:
    """Return the window as text, between marks that the recorded text cannot predict."""
    mark = secrets.token_hex(4)
    facts = [f"{answer.title} ({answer.id})", answer.workspace or "", counted(answer.turns, "turn")]
    if answer.superseded:
        facts[-1] += f" ({answer.superseded} more no longer {'count' if answer.superseded > 1 else 'counts'})"
    lines = [
        " · ".join(filter(None, facts)),
        answer.notice,
        f"--- recorded text {mark} begins ---",
        answer.text or "(no messages)",
        f"--- recorded text {mark} ends ---",
    ]
    lines += answer.remarks
    if answer.tool_results_shortened:
        lines.append('Arguments and results of tools were shortened; use tool_results="full" for the full text.')
    if answer.next_cursor is not None:
        lines.append(f'There is more: read_conversation(id="{answer.id}", cursor="{answer.next_cursor}")')
    return "\n".join(lines)


# --- usage and files ----------------------------------------------------------------------------------------------


def get_usage(archive: Archive, name: str | None, selection: Selection) -> UsageAnswer:
    """Return the usage of one conversation, or of a selection."""
    if name is not None and selection != Selection():
        raise UsageError("give either an id, or a period and filters, not both")
    if name is not None:
        selection = Selection(conversation=_id_of(archive, name), include_empty=True)
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


def work_on_file(archive: Archive, file: str, limit: int) -> FileAnswer:
    """Return the conversations that changed a file, given its path or the end of it."""
    path = file.strip().replace("\\", "/").removeprefix("./")
    if not path.strip("/"):
        raise UsageError("name a file, such as lookup.py or src/app/lookup.py")
    escaped = path.lstrip("/").replace("!", "!!").replace("%", "!%").replace("_", "!_")
    rows = archive.connection.execute(_WORK, (path, f"%/{escaped}", limit + 1)).fetchall()
    return FileAnswer(file=plain(file), work=[_work_of(row) for row in rows[:limit]], more=len(rows) > limit)


def _work_of(row: tuple[Any, ...]) -> FileWork:
    name, title, workspace, updated_at, path, turns, actions, added, removed = row
    return FileWork(
        id=name,
        title=one_line(title),
        workspace=_named(workspace),
        updated_at=updated_at,
        path=one_line(path, 500),
        turns=sorted(turn + 1 for turn in msgspec.json.decode(turns, type=list[int | None]) if turn is not None),
        actions=sorted(action for action in msgspec.json.decode(actions, type=list[str | None]) if action is not None),
        added=added,
        removed=removed,
    )


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 6)


def _named(text: str | None) -> str | None:
    return one_line(text, 500) if text else None


def _time(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z") if moment is not None else None
