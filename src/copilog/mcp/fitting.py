"""Fit answers to budgets of tokens: an agent's context is limited, and a conversation is not.

A structured answer has as many items as fit, in the data and in its short text alike, and the offset of the next one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from copilog.mcp.answers import Answer, Listing
from copilog.writers.mcp_text import BYTES_PER_TOKEN, beginning_of, one_line, size_of

DATA_TOKENS = 4_000  # of structured content
TEXT_TOKENS = 1_500  # of the short text beside it
REASONS_TOKENS = 2_000  # of the text of `why`
LONGEST_REMARK = 300
MOST_REMARKS = 5


def data_of(answer: Answer) -> dict[str, Any]:
    """Return an answer as structured content."""
    return answer.model_dump(mode="json", exclude_none=True, exclude={"offset"})


def fitted(answer: Listing) -> tuple[dict[str, Any], str]:
    """Return an answer as structured content and as short text, both within their budgets."""
    answer = answer.model_copy(update={"remarks": limited_remarks(answer.remarks)})
    count = _count_that_fits(answer)
    answer = answer.with_items(count)
    return data_of(answer), short_text(answer)


def _count_that_fits(answer: Listing) -> int:
    """Return how many items fit."""
    items = answer.items()
    empty = answer.model_copy(update={answer.ITEMS: [], "next_offset": answer.offset + len(items)})
    data = DATA_TOKENS * BYTES_PER_TOKEN - size_of(_as_json(data_of(empty)))
    text = TEXT_TOKENS * BYTES_PER_TOKEN - size_of(short_text(empty))
    for count, item in enumerate(items):
        data -= size_of(_as_json(item.model_dump(mode="json", exclude_none=True))) + 2
        text -= size_of(item.line()) + len(f"\n{count + 1}. ")
        if data < 0 or text < 0:
            return count
    return len(items)


def short_text(answer: Listing) -> str:
    """Return the short text of an answer: a line for each item."""
    return "\n".join(_lines(answer))


def _lines(answer: Listing) -> Iterator[str]:
    yield answer.headline()
    yield from (f"{number}. {item.line()}" for number, item in enumerate(answer.items(), 1))
    yield from answer.remarks
    if answer.next_offset is not None:
        yield f"More: the same call with offset={answer.next_offset}"
    yield answer.notice


def limited_remarks(remarks: Iterable[str]) -> list[str]:
    return [one_line(remark, LONGEST_REMARK) for remark in list(remarks)[:MOST_REMARKS]]


def within(text: str, tokens: int) -> str:
    """Return the beginning of a text that is no longer than so many tokens."""
    size = tokens * BYTES_PER_TOKEN
    return text if size_of(text) <= size else beginning_of(text, size - len(" …".encode())).rstrip() + " …"


def _as_json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False)
