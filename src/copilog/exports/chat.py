"""Export a conversation as a chat.json, which VS Code's *Chat: Import Chat* opens; the steps are in docs/vscode.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from copilog.chat_json.sessions import count_what_is_left_out, export_root, in_order, json_text_of, requests_json
from copilog.exports.formats import Format, Making
from copilog.exports.index import Entry
from copilog.model import Conversation

INDENT = 2  # as VS Code writes it
FIRST_OF_ROOT = ("responderUsername", "initialLocation")
FIRST_OF_REQUEST = ("requestId", "timestamp", "message", "variableData", "response")


def chat_pieces(conversation: Conversation, left_out: Counter[str]) -> Iterator[str]:
    """Yield the file, request by request; the order of keys depends on nothing but the keys."""
    opening = json_text_of(in_order(export_root(conversation), FIRST_OF_ROOT), indent=INDENT).removesuffix("}").rstrip()
    yield f'{opening}{"" if opening == "{" else ","}\n  "requests": ['
    is_first = True
    for request in requests_json(conversation, left_out, as_written=True):
        text = json_text_of(in_order(request, FIRST_OF_REQUEST), indent=INDENT)
        yield f"{'' if is_first else ','}\n    " + text.replace("\n", "\n    ")
        is_first = False
    yield "]\n}\n" if is_first else "\n  ]\n}\n"
    count_what_is_left_out(conversation, left_out, is_session=False)


def _pieces(conversations: Iterable[Conversation], index: Sequence[Entry], making: Making) -> Iterator[str]:  # noqa: ARG001
    for conversation in conversations:
        left_out: Counter[str] = Counter()
        yield from chat_pieces(conversation, left_out)
        for what, count in left_out.items():
            making.left_out.add(conversation.id, what, count)


FORMAT = Format("chat", "VS Code chat", ".json", "application/json", _pieces, shape="single")
