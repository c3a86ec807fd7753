"""Order the calls, thinking and answers of a turn that several traces have.

Parts keep the order that they have in a trace. Where no trace decides, thinking comes before calls and texts last,
so that the order does not depend on which traces were merged first. Then the turn keeps the orders of its traces: a
trace that is merged later may decide.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise

import msgspec

from copilog.identity.turn_views import View
from copilog.model import AnyPart, Message, Text, Thinking, ToolCall, Turn
from copilog.similarity import without_blanks

CALL, THINKING, TEXT = "call:", "thinking:", "text:"
_RANKS = {THINKING: 0, CALL: 1, TEXT: 2}


def put_in_order(messages: list[Message], views: Sequence[View], turn: Turn) -> list[Message]:
    """Return the messages of a turn with their parts in the order of all traces."""
    names = _names_in(messages)
    keys = _keys_in(messages, names)
    present = set(keys.values())
    names |= _names_of_cut_thinking(messages, views, present)
    chains = {
        tuple(key for key in dict.fromkeys(chain) if key in present)
        for view in views
        if view.inside is None
        for chain in _chains_of(view, names)
    } - {()}
    shared = {key for chain in chains for key in chain}
    keys = {place: key for place, key in keys.items() if key in shared}
    current = list(keys.values())
    order, is_decided = _united(chains, current)
    turn.part_orders = [] if is_decided else _stored_orders(chains, order)
    return messages if order == current else _rearranged(messages, keys, order)


def _names_in(messages: list[Message]) -> dict[str, str]:
    """Return the ids of calls by each of their spellings."""
    calls = [part for message in messages for part in message.parts if isinstance(part, ToolCall)]
    spellings = {name: call.id for call in calls for name in call.native_ids}
    return spellings | {call.id: call.id for call in calls}


def _names_of_cut_thinking(messages: list[Message], views: Sequence[View], present: set[str]) -> dict[str, str]:
    """Return the keys of thinking by the keys of its beginnings in other traces."""
    found: dict[str, str] = {}
    whole: dict[str, str] = {}
    for view in views:
        for part in _thinking_in(view.messages):
            text = without_blanks(part.text)
            key = _key_of(part, {})
            if key is None or key in present or key in found:
                continue
            whole = whole or {without_blanks(own.text): _key_of(own, {}) or "" for own in _thinking_in(messages)}
            continued = next((name for longer, name in whole.items() if longer.startswith(text)), None)
            if continued is not None:
                found[key] = continued
    return found


def _thinking_in(messages: list[Message]) -> Iterator[Thinking]:
    return (part for message in messages for part in message.parts if isinstance(part, Thinking))


def _chains_of(view: View, names: dict[str, str]) -> Iterable[Iterable[str]]:
    """Return the orders of the traces of a view: one, unless it was merged and no order decided."""
    if not view.turn.part_orders:
        return [_keys_in(view.messages, names).values()]
    return [[_renamed(key, names) for key in order] for order in view.turn.part_orders]


def _renamed(key: str, names: dict[str, str]) -> str:
    name = key.removeprefix(CALL)
    return names.get(key, key) if name == key else CALL + names.get(name, name)


def _keys_in(messages: list[Message], names: dict[str, str]) -> dict[tuple[int, int], str]:
    """Return the key of each part of the main agent, by the indexes of its message and the part."""
    found: dict[tuple[int, int], str] = {}
    seen: dict[str, int] = {}
    for place, message in enumerate(messages):
        if message.role != "assistant" or message.parent_call_id is not None:
            continue
        for position, part in enumerate(message.parts):
            key = _key_of(part, names)
            if key is not None:
                seen[key] = seen.get(key, 0) + 1
                found[place, position] = key if seen[key] == 1 else f"{key}#{seen[key]}"
    return found


def _key_of(part: AnyPart, names: dict[str, str]) -> str | None:
    if isinstance(part, ToolCall):
        return CALL + names.get(part.id, part.id)
    if isinstance(part, Text | Thinking) and (text := without_blanks(part.text)):
        kind = TEXT if isinstance(part, Text) else THINKING
        key = kind + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
        return names.get(key, key)
    return None


def _rank(key: str) -> tuple[int, str]:
    return _RANKS[key[: key.index(":") + 1]], key


def _united(chains: Iterable[tuple[str, ...]], current: list[str]) -> tuple[list[str], bool]:
    """Return all keys in an order that respects every chain, and whether no other order does; built from the end.

    Where traces contradict each other the current order decides.
    """
    before: dict[str, set[str]] = {key: set() for key in current}
    for chain in chains:
        for one, following in pairwise(chain):
            before[following].add(one)
    following_count = dict.fromkeys(current, 0)
    for earlier in before.values():
        for key in earlier:
            following_count[key] += 1
    ready = [_latest_first(key) for key in current if not following_count[key]]
    heapify(ready)
    left = dict.fromkeys(current)
    made: list[str] = []
    is_decided = True
    while left:
        is_decided = is_decided and len(ready) == 1
        key = heappop(ready)[-1] if ready else next(reversed(left))
        if key not in left:
            continue
        del left[key]
        made.append(key)
        for earlier_key in before[key]:
            following_count[earlier_key] -= 1
            if not following_count[earlier_key] and earlier_key in left:
                heappush(ready, _latest_first(earlier_key))
    return made[::-1], is_decided


def _latest_first(key: str) -> tuple[int, tuple[int, ...], str]:
    """Return the sort key by which the last part comes first."""
    rank, name = _rank(key)
    return -rank, tuple(-ord(character) for character in name), key


def _stored_orders(chains: set[tuple[str, ...]], order: list[str]) -> list[list[str]]:
    """Return the orders to store, which depend on what follows what, and not on how the chains divide it."""
    place = {key: at for at, key in enumerate(order)}
    following: dict[str, set[str]] = {key: set() for key in order}
    for chain in chains:
        for one, after in pairwise(chain):
            if place[one] > place[after]:  # the traces contradict each other
                return sorted(map(list, _longest(chains)))
            following[one].add(after)
    next_steps = _direct_steps(following, order)
    is_after = {key for steps in next_steps.values() for key in steps}
    made: list[list[str]] = []
    starts = sorted(key for key in order if key not in is_after)
    while starts or (starts := sorted(key for key in order if next_steps[key])):
        path = [starts.pop(0)]
        while steps := next_steps[path[-1]]:
            path.append(steps.pop(0))
        if len(path) > 1 or path[0] not in is_after:
            made.append(path)
    return sorted(made)


def _direct_steps(following: dict[str, set[str]], order: list[str]) -> dict[str, list[str]]:
    """Return what directly follows each key, sorted: without the steps that others imply."""
    place = {key: at for at, key in enumerate(order)}
    reached: dict[str, int] = {}  # as bits
    made: dict[str, list[str]] = {}
    for key in reversed(order):
        made[key] = []
        reached[key] = 1 << place[key]
        for after in sorted(following[key], key=place.__getitem__):
            if not reached[key] >> place[after] & 1:
                made[key].append(after)
                reached[key] |= reached[after]
        made[key].sort()
    return made


def _longest(chains: set[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the chains that are not part of another one."""
    return [chain for chain in chains if not any(chain != other and _is_within(chain, other) for other in chains)]


def _is_within(chain: tuple[str, ...], other: tuple[str, ...]) -> bool:
    rest = iter(other)
    return all(key in rest for key in chain)


def _rearranged(messages: list[Message], keys: dict[tuple[int, int], str], order: list[str]) -> list[Message]:
    """Return the messages with parts in this order; what follows a part, or belongs to a call, moves with it."""
    blocks: dict[str, list[tuple[int, list[AnyPart]]]] = {"": []}
    block_of_call: dict[str, str] = {}
    current = ""
    for place, message in enumerate(messages):
        if message.parent_call_id is not None:
            block = block_of_call.get(message.parent_call_id, current)
            block_of_call.update({part.id: block for part in message.parts if isinstance(part, ToolCall)})
            blocks.setdefault(block, []).append((place, message.parts))
            continue
        pieces: list[tuple[str, list[AnyPart]]] = []
        for position, part in enumerate(message.parts):
            current = keys.get((place, position), current)
            if isinstance(part, ToolCall):
                block_of_call[part.id] = current
            block = block_of_call.get(getattr(part, "call_id", None) or "", current)
            if pieces and pieces[-1][0] == block:
                pieces[-1][1].append(part)
            else:
                pieces.append((block, [part]))
        for block, parts in pieces or [(current, [])]:
            blocks.setdefault(block, []).append((place, parts))
    made: list[Message] = []
    last = -1
    for place, parts in (piece for block in ("", *order) for piece in blocks.get(block, ())):
        if place == last:
            made[-1].parts = [*made[-1].parts, *parts]
        else:
            made.append(msgspec.structs.replace(messages[place], parts=list(parts)))
        last = place
    return made
