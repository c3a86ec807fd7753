"""Export conversations as copilog has them: one as a document, as `copilog show --json` prints it, several as lines.

`sources/own_files` reads them again. Format notes: docs/formats/own-files.md
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from copilog.exports.formats import Format, Making
from copilog.exports.index import Entry
from copilog.exports.json_text import document_pieces, json_text
from copilog.model import Conversation


def _pieces(conversations: Iterable[Conversation], index: Sequence[Entry], making: Making) -> Iterator[str]:  # noqa: ARG001
    for conversation in conversations:
        if len(index) > 1:
            yield json_text(conversation, is_compact=True)
        else:
            yield from document_pieces(conversation)
        yield "\n"


FORMAT = Format("json", "JSON", ".json", "application/json", _pieces)
