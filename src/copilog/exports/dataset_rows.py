"""Make the rows of the dataset from those of the archive, so that both say the same, and add the texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from copilog import jsonio
from copilog.derive.estimating import DEFAULTS, Calibration
from copilog.derive.models import model_of_message
from copilog.exports.dataset_schema import CONVERSATIONS, EDITS, MESSAGES, SPENDING, TABLES, TOOL_CALLS, TURNS, Table
from copilog.exports.uncarried import PICTURE, kinds_of
from copilog.model import Conversation, Message, Prompt, Thinking, Turn, prose_of, turn_number
from copilog.store import details
from copilog.store.calibrating import with_parameters
from copilog.store.documents import without_half_characters
from copilog.store.entries import conversation_row
from copilog.store.spending import spends_of
from copilog.store.texts import Calls, Texts, texts_of

Row = dict[str, Any]
UNKNOWN_MONTH = "unknown"
_BY_NAME = {table.name: table for table in TABLES}


def month_of(conversation: Conversation) -> str:
    """Return the month in which a conversation began."""
    moment = conversation.started_at or conversation.updated_at
    return f"{moment:%Y-%m}" if moment is not None else UNKNOWN_MONTH


def rows_of(conversation: Conversation, calibration: Calibration = DEFAULTS) -> Iterator[tuple[Table, Row]]:
    """Yield all rows of a conversation with their tables; estimates are made with the parameters of `calibration`."""
    try:
        made = list(_rows_of(conversation, calibration))
    except UnicodeEncodeError:
        made = list(_rows_of(without_half_characters(conversation), calibration))
    for name, row in made:
        table = _BY_NAME[name]
        yield table, {column.name: _cell(row.get(column.name), column.type) for column in table.columns}


def _rows_of(conversation: Conversation, calibration: Calibration) -> Iterator[tuple[str, Row]]:
    calls = Calls(conversation)
    texts = texts_of(conversation, calls)
    superseded: dict[Any, str | None] = {turn.index: turn.superseded for turn in conversation.turns}
    tables: tuple[tuple[Table, Callable[[], Iterator[Row]]], ...] = (
        (CONVERSATIONS, lambda: iter([_fields(conversation_row(conversation)) | {"conversation": conversation.id}])),
        (TURNS, lambda: _turn_rows(conversation, texts)),
        (MESSAGES, lambda: _message_rows(conversation)),
        (TOOL_CALLS, lambda: _call_rows(conversation, calls)),
        (EDITS, lambda: ({**_fields(row), "outcome": row.fate} for row in details.edit_rows(conversation, calls))),
        (SPENDING, lambda: map(_fields, with_parameters(spends_of(conversation, texts, calls), calibration))),
    )
    for table, rows in tables:
        for row in rows():
            turn = row.get("turn")
            also = {"number": turn_number(turn), "superseded": superseded.get(turn)}
            yield table.name, {"conversation": conversation.id, **also, **row}


def _turn_rows(conversation: Conversation, texts: list[Texts]) -> Iterator[Row]:
    for row in details.turn_rows(conversation, texts):
        yield {**_fields(row), "turn": row.position}


def _message_rows(conversation: Conversation) -> Iterator[Row]:
    turns: dict[int | None, Turn] = {turn.index: turn for turn in conversation.turns}
    for position, message in enumerate(conversation.messages):
        turn = turns.get(message.turn)
        yield {
            "message": position,
            "turn": message.turn,
            "role": message.role,
            "created_at": message.created_at,
            "mode": message.mode or (details.mode_of(turn) if turn is not None else None),
            "model": model_of_message(message, turn),
            "parent_call_id": message.parent_call_id,
            "text": prose_of(message.parts) or None,
            "prompt": _prompts(message),
            "thinking": "\n\n".join(part.text for part in message.parts if isinstance(part, Thinking)) or None,
            "pictures": sum(kind == PICTURE for part in message.parts for kind in kinds_of(part)),
        }


def _prompts(message: Message) -> str | None:
    return "\n\n".join(part.text for part in message.parts if isinstance(part, Prompt)) or None


def _call_rows(conversation: Conversation, calls: Calls) -> Iterator[Row]:
    for row, (_, _, call) in zip(details.call_rows(conversation, calls), calls.calls, strict=True):
        terminal = calls.terminals.get(call.id)
        yield {
            **_fields(row),
            "arguments": call.arguments,
            "result": calls.result_text(call.id) or None,
            "command": terminal.command if terminal is not None else None,
        }


def _fields(row: Any) -> Row:
    return {name: getattr(row, name) for name in row.__struct_fields__}


def _cell(value: Any, kind: str) -> Any:
    """Return a value as its column has it: times and lists of the archive's tables are text."""
    if value is None:
        return [] if kind == "texts" else None
    if kind == "texts":
        return [jsonio.replace_lone_surrogates(str(item)) for item in jsonio.decode(value.encode())[0]]
    if kind == "time" and isinstance(value, str):
        return datetime.fromisoformat(value)
    if kind == "integer":
        return details.number(value)
    if kind == "flag":
        return bool(value)
    return jsonio.replace_lone_surrogates(value) if isinstance(value, str) else value
