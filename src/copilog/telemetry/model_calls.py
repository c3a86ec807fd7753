"""The chunked `model.*` family, second half: model calls as snapshots (section 6 of the rules, R-15).

`calls` returns the outline of each call, without its texts; that is enough to find winners and donors. For those,
`recipe` has the positions of all records, and `rebuilt_from` makes the snapshot from them, in any process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from copilog.telemetry.events import Event, Json, Place, Seq, prop, text_prop, timestamp_of
from copilog.telemetry.messages import Retention
from copilog.telemetry.model_events import (
    CHUNK_NUMBERS,
    MESSAGE_IDS,
    MESSAGE_JSON,
    OPTIONS_JSON,
    Chunked,
    Piece,
    Pieces,
    id_of,
    joined_value,
    shape_of_item,
)
from copilog.telemetry.shapes import Shape

Fetch = Callable[[Place], Event]

PLACEHOLDER: Json = {"role": "unknown", "missing": True}

_NOT_OF_THE_SNAPSHOT = frozenset({MESSAGE_IDS, *CHUNK_NUMBERS})
_KEPT_AT_ANY_LENGTH = (
    "request.option.system",
    "request_option_system",
    "request.option.model",
    "request_option_model",
)
_LONGEST_VALUE = 4096
_REMEMBERED = 256  # cached requests and options; calls that share them follow each other closely


class Call(msgspec.Struct, frozen=True):
    """A model call as a snapshot without its texts. Sequence number, name and time are its first input event's."""

    call_id: str
    seq: Seq
    length: int  # of that event's record
    name: str
    time: str | None
    properties: Json  # without long values that no rule reads
    shape: Shape
    incomplete: bool  # a message is unknown


class Skipped(msgspec.Struct, frozen=True):
    """A model call that cannot be used, and why."""

    call_id: str
    seq: Seq
    reason: str


class Recipe(msgspec.Struct, frozen=True):
    """Positions of everything that one snapshot is made of; an unknown message has none."""

    call: Place
    request: Place | None
    options: tuple[Place, ...]
    messages: list[tuple[Place, ...]]


class _Opened(NamedTuple):
    """A call with its decoded lists of messages."""

    event: Event
    piece: Piece
    message_ids: list[Any]
    request: Place | None
    options: tuple[Place, ...]


def calls(pieces: Pieces, fetch: Fetch, retention: Retention = "full") -> Iterator[Call | Skipped]:
    """Yield every model call in order of its sequence number. `retention` must be the one of `take`."""

    @lru_cache(_REMEMBERED)
    def request_layer(place: Place) -> Json:
        return _without_long_values(_request_layer(place, fetch))

    @lru_cache(_REMEMBERED)
    def options_layer(places: tuple[Place, ...]) -> Json:
        return _without_long_values(_options_layer(places, fetch))

    shapes = _Shapes(pieces.messages, fetch, retention)
    for first, call_id in _in_order(pieces):
        opened = _open(pieces, call_id, fetch)
        if isinstance(opened, str):
            yield Skipped(call_id, first.seq, opened)
            continue
        layers = [_without_long_values(_layer(opened.event.properties))]
        if opened.request is not None:
            layers.append(request_layer(opened.request))
        if opened.options:
            layers.append(options_layer(opened.options))
        properties = _merged(layers)
        if text_prop(properties, "conversationId") is None:
            yield Skipped(call_id, first.seq, "no_conversation_id")
            continue
        shape, incomplete = shapes.of_list(opened.message_ids)
        if not shape.letters:
            yield Skipped(call_id, first.seq, "no_messages")
            continue
        name, time = opened.event.name, timestamp_of(opened.event)
        yield Call(call_id, first.seq, first.length, name, time, properties, shape, incomplete)


def recipe(pieces: Pieces, call_id: str, fetch: Fetch) -> Recipe:
    """Return the records needed to rebuild a call that `calls` returned."""
    opened = _open(pieces, call_id, fetch)
    assert not isinstance(opened, str), opened
    chunks = (_chunks_of(pieces.messages, message_id) for message_id in opened.message_ids)
    return Recipe(opened.piece.place, opened.request, opened.options, [_positions_of(found) for found in chunks])


def rebuilt_from(recipe: Recipe, fetch: Fetch) -> Event:
    """Return the snapshot, as if the client had sent it in one event."""
    event = fetch(recipe.call)
    layers = [_layer(event.properties)]
    if recipe.request is not None:
        layers.append(_request_layer(recipe.request, fetch))
    if recipe.options:
        layers.append(_options_layer(recipe.options, fetch))
    items = [_item(places, fetch) for places in recipe.messages]
    messages = [dict(PLACEHOLDER) if item is None else item for item in items]
    return event._replace(properties=_merged(layers) | {"messagesJson": messages})


def rebuilt(pieces: Pieces, call_id: str, fetch: Fetch) -> Event:
    """Return the snapshot of a call that `calls` returned."""
    return rebuilt_from(recipe(pieces, call_id, fetch), fetch)


def _in_order(pieces: Pieces) -> list[tuple[Piece, str]]:
    """Return every call with its first input event, or without one with its first output event."""
    found: dict[str, Piece] = {}
    for lists in (pieces.inputs, pieces.outputs):
        for call_id in (*lists.heads, *lists.tails):
            if call_id not in found:
                first = lists.first(call_id)
                assert first is not None
                found[call_id] = first
    return sorted(((piece, call_id) for call_id, piece in found.items()), key=lambda entry: entry[0].seq)


def _open(pieces: Pieces, call_id: str, fetch: Fetch) -> _Opened | str:
    """Return the call with the ids of its messages, input before output; or why it cannot be used."""
    first = pieces.inputs.first(call_id)
    if first is None:
        return "no_input_list"
    chunks = pieces.inputs.whole(call_id)
    if chunks is None:
        return "incomplete_input_list"
    events = [fetch(chunk.place) for chunk in chunks]
    message_ids = _value(events, MESSAGE_IDS)
    if not isinstance(message_ids, list):
        return "broken_input_list"
    answers = _value([fetch(chunk.place) for chunk in pieces.outputs.whole(call_id) or ()], MESSAGE_IDS)
    event = events[chunks.index(first)]
    request = pieces.requests.get(id_of(event.properties, "headerRequestId") or "")
    options = pieces.options.whole(id_of(event.properties, "requestOptionsId") or "")
    return _Opened(
        event,
        first,
        [*message_ids, *(answers if isinstance(answers, list) else ())],
        None if request is None else request.place,
        _positions_of(options),
    )


class _Shapes:
    """Shapes of messages; those in several chunks are read once and cached."""

    def __init__(self, messages: Chunked, fetch: Fetch, retention: Retention) -> None:
        self.messages = messages
        self.fetch = fetch
        self.retention = retention
        self.placeholder = shape_of_item(PLACEHOLDER, retention)
        self.read: dict[str, Shape | None] = {}

    def of_list(self, message_ids: list[Any]) -> tuple[Shape, bool]:
        """Return the shape of a list of messages, and whether one of them is unknown."""
        shapes = [self._of(message_id) for message_id in message_ids]
        known = [self.placeholder if shape is None else shape for shape in shapes]
        letters = "".join(shape.letters for shape in known)
        return Shape(letters, tuple(name for shape in known for name in shape.others)), None in shapes

    def _of(self, message_id: Any) -> Shape | None:
        chunks = _chunks_of(self.messages, message_id)
        if chunks is None:
            return None
        if len(chunks) == 1:
            return chunks[0].shape
        if message_id not in self.read:
            item = _item(_positions_of(chunks), self.fetch)
            self.read[message_id] = None if item is None else shape_of_item(item, self.retention)
        return self.read[message_id]


def _chunks_of(messages: Chunked, message_id: Any) -> list[Piece] | None:
    return messages.whole(message_id) if isinstance(message_id, str) else None


def _positions_of(chunks: list[Piece] | None) -> tuple[Place, ...]:
    return tuple(chunk.place for chunk in chunks or ())


def _item(places: tuple[Place, ...], fetch: Fetch) -> Any:
    """Return a message as the client had it, or None if it is unknown or broken."""
    return _value([fetch(place) for place in places], MESSAGE_JSON)


def _value(events: Iterable[Event], key: str) -> Any:
    chunks = [prop(event.properties, key) for event in events]
    return joined_value(chunks) if chunks else None


def _request_layer(place: Place, fetch: Fetch) -> Json:
    return _added_layer(fetch(place).properties)


def _options_layer(places: tuple[Place, ...], fetch: Fetch) -> Json:
    options = _value([fetch(place) for place in places], OPTIONS_JSON)
    return _added_layer(options) if isinstance(options, dict) else {}


def _added_layer(properties: Json) -> Json:
    """Return the properties in another event of the call; not the time, which is that of the call's own event."""
    layer = _layer(properties)
    layer.pop("timestamp", None)
    return layer


def _layer(properties: Json) -> Json:
    """Return properties that describe the call, rather than the chunk that holds them."""
    return {
        key: value
        for key, value in properties.items()
        if not (
            value is None
            or value == ""
            or key in _NOT_OF_THE_SNAPSHOT
            or key.startswith("messagesJson")
            or (key.endswith("Id") and (value == "unknown" or not isinstance(value, str)))
        )
    }


def _without_long_values(layer: Json) -> Json:
    """Return the same keys, with None for values too long to be held."""
    return {key: value if _is_small(key, value) else None for key, value in layer.items()}


def _is_small(key: str, value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST_VALUE or key.endswith("Id") or key.startswith(_KEPT_AT_ANY_LENGTH)
    return not isinstance(value, dict | list) or key.startswith(_KEPT_AT_ANY_LENGTH)


def _merged(layers: Iterable[Json]) -> Json:
    """Return each property from the first layer that has it, in either spelling."""
    merged: Json = {}
    taken: set[str] = set()
    for layer in layers:
        spellings = {key: key.replace(".", "_") for key in layer}
        merged |= {key: value for key, value in layer.items() if spellings[key] not in taken and value is not None}
        taken.update(spellings.values())
    return merged
