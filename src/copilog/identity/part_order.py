"""Order the calls, thinking and answers of a turn that several traces have.

Parts keep the order that they have in a trace. Where no trace decides, thinking comes before calls and texts last,
so that the order does not depend on which traces were merged first. Then the turn keeps the orders of its traces: a
trace that is merged later may decide.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
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
    turn.part_orders = [] if is_decided else _smallest(chains, order)
    return messages if order == current else _rearranged(messages, keys, order)


def _names_in(messages: list[Message]) -> dict[str, str]:
    """Return the ids of calls by each of their spellings."""
    calls = [part for message in messages for part in message.parts if isinstance(part, ToolCall)]
    spellings = {name: call.id for call in calls for name in call.native_ids}
    return spellings | {call.id: call.id for call in calls}


def _chains_of(view: View, names: dict[str, str]) -> Iterable[Iterable[str]]:
    """Return the orders of the traces of a view: one, unless it was merged and no order decided."""
    if not view.turn.part_orders:
        return [_keys_in(view.messages, names).values()]
    return [[_renamed(key, names) for key in order] for order in view.turn.part_orders]


def _renamed(key: str, names: dict[str, str]) -> str:
    name = key.removeprefix(CALL)
    return key if name == key else CALL + names.get(name, name)


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
        return kind + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
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


def _smallest(chains: Iterable[tuple[str, ...]], order: Sequence[str]) -> list[list[str]]:
    """Return the fewest chains from which the same follows, so that the result does not depend on the order of merges.

    Merged traces have one chain for several of their own. What follows from another pair is left out, and keys that
    contradict each other are one chain of their own, with a pair back to its first.
    """
    after: dict[str, set[str]] = {key: set() for key in order}
    for chain in chains:
        for one, following in pairwise(chain):
            after[one].add(following)
    reached = _reached(after, order)
    bits = {key: 1 << index for index, key in enumerate(order)}
    rings: dict[int, list[str]] = {}
    for key in sorted(order):
        if reached[key] & bits[key]:
            rings.setdefault(reached[key] | bits[key], []).append(key)
    first = {key: ring[0] for ring in rings.values() for key in ring}
    pairs = {
        (first.get(one, one), first.get(following, following))
        for one in order
        for following in after[one]
        if not reached[following] & bits[one]
    }
    nearest: dict[str, list[str]] = {}
    for one, following in sorted(pairs):
        nearest.setdefault(one, []).append(following)
    for followers in nearest.values():
        others = tuple(followers)
        followers[:] = [
            key for key in others if not any(reached[other] & bits[key] for other in others if other != key)
        ]
    made = [chain for ring in rings.values() for chain in (ring, [ring[-1], ring[0]])]
    made += [[key] for key in order if not after[key] and not any(key in followers for followers in after.values())]
    return sorted([*made, *_paths(nearest)])


def _reached(after: dict[str, set[str]], order: Sequence[str]) -> dict[str, int]:
    """Return by key the set of all keys that follow it, as bits by their index in the order."""
    bits = {key: 1 << index for index, key in enumerate(order)}
    reached = dict.fromkeys(order, 0)
    is_complete = False
    while not is_complete:  # once, and once more for what contradicts itself
        is_complete = True
        for key in reversed(order):
            found = reached[key]
            for following in after[key]:
                found |= bits[following] | reached[following]
            is_complete = is_complete and found == reached[key]
            reached[key] = found
    return reached


def _paths(nearest: dict[str, list[str]]) -> Iterable[list[str]]:
    """Yield the pairs of a key and one that follows it, joined to chains where a key has one on either side."""
    before = Counter(key for followers in nearest.values() for key in followers)
    inner = {key for key, followers in nearest.items() if len(followers) == 1 and before[key] == 1}
    for start, followers in nearest.items():
        if start not in inner:
            for key in followers:
                path = [start, key]
                while path[-1] in inner:
                    path.append(nearest[path[-1]][0])
                yield path


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
