"""Export a conversation as a chat.json, which VS Code's *Chat: Import Chat* opens; the steps are in docs/vscode.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from copilog.chat_json.sessions import count_what_is_left_out, export_root, in_order, json_text_of, requests_json
from copilog.exports.formats import Format, Making
from copilog.exports.index import Entry
from copilog.exports.vscode_releases import FIRST_WITHOUT_USER, is_before
from copilog.model import Conversation

USER = "requesterUsername"
INDENT = 2  # as VS Code writes it
FIRST_OF_ROOT = ("responderUsername", "initialLocation")
FIRST_OF_REQUEST = ("requestId", "timestamp", "message", "variableData", "response")


def chat_pieces(conversation: Conversation, left_out: Counter[str], *, names_user: bool = False) -> Iterator[str]:
    """Yield the file, request by request; the order of keys depends on nothing but the keys.

    `names_user`: for releases that import only what has a field with the user's name; it is empty.
    """
    root = {**({USER: ""} if names_user else {}), **export_root(conversation)}
    opening = json_text_of(in_order(root, FIRST_OF_ROOT), indent=INDENT).removesuffix("}").rstrip()
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
        is_early = is_before(making.options.release, FIRST_WITHOUT_USER)
        yield from chat_pieces(conversation, left_out, names_user=is_early)
        for what, count in left_out.items():
            making.left_out.add(conversation.id, what, count)


FORMAT = Format(
    "chat",
    "VS Code chat",
    ".json",
    "application/json",
    _pieces,
    shape="single",
    is_linear=True,
    options=frozenset({"release"}),
)
