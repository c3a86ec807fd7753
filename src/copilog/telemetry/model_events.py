"""The chunked `model.*` family, first half: store the positions of its pieces (section 6 of the rules, R-15).

A model call consists of many events: a list of message ids, each message in chunks of its own, the options of the
request in more chunks. They may be in any file and in any order, so a range of the input only stores positions.
`Pieces` of all ranges are combined; then `model_calls.py` rebuilds the calls.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from copilog.telemetry.events import Event, Json, Place, Seq, prop, text_prop
from copilog.telemetry.messages import Retention, join_split_characters, messages_from, parsed
from copilog.telemetry.shapes import Shape, shape_of

MESSAGE_JSON, MESSAGE_IDS, OPTIONS_JSON = "messageJson", "messageUuids", "requestOptionsJson"
CHUNK_NUMBERS = ("chunkIndex", "totalChunks")

_LONGEST_NUMBER = 9  # digits; nothing has more chunks


class Piece(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The position and fields of one event. There may be millions, hence no collector and no inner tuple."""

    file: int
    offset: int
    length: int
    total: int = 1  # number of chunks, according to this event
    shape: Shape | None = None  # only of a message in one chunk; None if that is broken

    @property
    def seq(self) -> Seq:
        return self.file, self.offset

    @property
    def place(self) -> Place:
        return self.file, self.offset, self.length


class Chunked(msgspec.Struct):
    """Values of one kind by their id, each in chunks; of a repeated chunk the first event counts."""

    heads: dict[str, Piece] = {}  # chunk 0, mostly the only one
    tails: dict[str, dict[int, Piece]] = {}

    def add(self, name: str, index: int, piece: Piece) -> None:
        if index == 0:
            _keep_first(self.heads, name, piece)
        else:
            _keep_first(self.tails.setdefault(name, {}), index, piece)

    def absorb(self, other: Chunked) -> None:
        _keep_all_first(self.heads, other.heads)
        for name, chunks in other.tails.items():
            _keep_all_first(self.tails.setdefault(name, {}), chunks)

    def first(self, name: str) -> Piece | None:
        """Return the piece whose event came first, whatever its chunk."""
        pieces = [*self.tails.get(name, {}).values()]
        if name in self.heads:
            pieces.append(self.heads[name])
        return min(pieces, key=_seq_of, default=None)

    def whole(self, name: str) -> list[Piece] | None:
        """Return all chunks in their order, as many as the first event announces; None if one is missing."""
        head = self.heads.get(name)
        tail = self.tails.get(name)
        if head is None or tail is None:  # the fast path, for nearly all
            return [head] if head is not None and head.total == 1 else None
        total = min((head, *tail.values()), key=_seq_of).total
        if len(tail) < total - 1:  # before a loop up to a number that may be wrong
            return None
        chunks = [head, *(tail[index] for index in range(1, total) if index in tail)]
        return chunks if len(chunks) == total else None


class Pieces(msgspec.Struct):
    """The pieces of the family in a range of the input."""

    messages: Chunked = msgspec.field(default_factory=Chunked)  # by messageUuid
    options: Chunked = msgspec.field(default_factory=Chunked)  # by requestOptionsId
    inputs: Chunked = msgspec.field(default_factory=Chunked)  # by modelCallId
    outputs: Chunked = msgspec.field(default_factory=Chunked)  # by modelCallId
    requests: dict[str, Piece] = {}  # by headerRequestId

    def is_empty(self) -> bool:
        kinds = (self.messages, self.options, self.inputs, self.outputs)
        return not self.requests and not any(kind.heads or kind.tails for kind in kinds)


def take(pieces: Pieces, event: Event, place: Place, retention: Retention = "full") -> str | None:
    """Add one event of the family. Return why it is not usable, or None if it is.

    A broken message is added all the same: it came first, so a repetition does not replace it.
    """
    properties = event.properties
    match event.base:
        case "model.message.added":
            return _take_message(pieces, properties, place, retention)
        case "model.modelCall.input":
            return _take_chunk(pieces.inputs, properties, place, _LIST)
        case "model.modelCall.output":
            return _take_chunk(pieces.outputs, properties, place, _LIST)
        case "model.request.options.added":
            return _take_chunk(pieces.options, properties, place, _OPTIONS)
        case "model.request.added":
            return _take_request(pieces, properties, place)
    return "not_of_the_family"


def combine(left: Pieces, right: Pieces) -> Pieces:
    """Add the pieces of another range to `left`, and return it. Order, grouping and repetition do not matter."""
    left.messages.absorb(right.messages)
    left.options.absorb(right.options)
    left.inputs.absorb(right.inputs)
    left.outputs.absorb(right.outputs)
    _keep_all_first(left.requests, right.requests)
    return left


def id_of(properties: Json, key: str) -> str | None:
    """Return an id, unless it is the text that clients send when they have none."""
    value = text_prop(properties, key)
    return None if value == "unknown" else value


def shape_of_item(item: Any, retention: Retention) -> Shape:
    """Return what one item of a list of messages adds to the shape of the list: none, one or several letters."""
    return _shared(shape_of(messages_from([item], retention)))


def joined_value(chunks: list[Any]) -> Any:
    """Decode the JSON value of ordered chunks; None if it is broken. A collector may have decoded a single chunk."""
    if len(chunks) == 1 and not isinstance(chunks[0], str):
        return chunks[0]
    if not all(isinstance(chunk, str) for chunk in chunks):
        return None
    try:
        return parsed(join_split_characters("".join(chunks)))
    except ValueError:
        return None


class _Kind(NamedTuple):
    """How events of one kind name their value and its chunk, and why events without these names are not usable."""

    id_key: str
    no_id: str
    payload_key: str
    no_payload: str


_LIST = _Kind("modelCallId", "no_model_call_id", MESSAGE_IDS, "no_message_uuids")
_MESSAGE = _Kind("messageUuid", "no_message_uuid", MESSAGE_JSON, "no_message_json")
_OPTIONS = _Kind("requestOptionsId", "no_request_options_id", OPTIONS_JSON, "no_request_options_json")


def _take_request(pieces: Pieces, properties: Json, place: Place) -> str | None:
    name = id_of(properties, "headerRequestId")
    if name is None:
        return "no_header_request_id"
    _keep_first(pieces.requests, name, Piece(*place))
    return None


def _take_message(pieces: Pieces, properties: Json, place: Place, retention: Retention) -> str | None:
    chunk = _chunk_of(properties, _MESSAGE)
    if isinstance(chunk, str):
        return chunk
    name, index, total = chunk
    if total > 1:
        pieces.messages.add(name, index, Piece(*place, total))
        return None
    item = joined_value([properties[MESSAGE_JSON]])
    shape = None if item is None else shape_of_item(item, retention)
    pieces.messages.add(name, index, Piece(*place, total, shape))
    return "broken_message_json" if shape is None else None


def _take_chunk(things: Chunked, properties: Json, place: Place, kind: _Kind) -> str | None:
    chunk = _chunk_of(properties, kind)
    if isinstance(chunk, str):
        return chunk
    name, index, total = chunk
    things.add(name, index, Piece(*place, total))
    return None


def _chunk_of(properties: Json, kind: _Kind) -> tuple[str, int, int] | str:
    """Return id, index and total of a chunk; or why it is not usable."""
    name = id_of(properties, kind.id_key)
    if name is None:
        return kind.no_id
    if not isinstance(prop(properties, kind.payload_key), str | dict | list):
        return kind.no_payload
    numbers = _chunk_numbers(properties)
    return "bad_chunk_number" if numbers is None else (name, *numbers)


def _chunk_numbers(properties: Json) -> tuple[int, int] | None:
    """Return index and total of a chunk, 0 of 1 if they are missing; None if they are invalid."""
    index, total = (prop(properties, key) for key in CHUNK_NUMBERS)
    index = 0 if index is None else _integer_from(index)
    total = 1 if total is None else _integer_from(total)
    return (index, total) if index is not None and total is not None and 0 <= index < total else None


def _integer_from(value: Any) -> int | None:
    if isinstance(value, str):
        is_number = value.isascii() and value.isdigit() and len(value) <= _LONGEST_NUMBER
        return int(value) if is_number else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value < 10**_LONGEST_NUMBER else None


def _keep_first(pieces: dict[Any, Piece], key: Any, piece: Piece) -> None:
    held = pieces.get(key)
    if held is None or (piece.file, piece.offset) < (held.file, held.offset):
        pieces[key] = piece


def _keep_all_first(pieces: dict[Any, Piece], others: dict[Any, Piece]) -> None:
    for key, piece in others.items():
        _keep_first(pieces, key, piece)


def _seq_of(piece: Piece) -> Seq:
    return piece.seq


@lru_cache(maxsize=1024)
def _shared(shape: Shape) -> Shape:
    """Return the same object for equal shapes, as nearly all messages have one of five."""
    return shape
