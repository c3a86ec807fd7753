"""Give calls unique ids: some models count their calls anew in each turn, so calls of several turns share an id.

Everything that belongs to a call is found by its id: the result, the terminal, edits, the messages of a sub-agent.
"""

from __future__ import annotations

from copilog.model import Conversation, ToolCall

Key = tuple[int | None, str]  # the turn, and the recorded id


def make_call_ids_unique(conversation: Conversation) -> None:
    """Give each call an id that no call of another turn has; the recorded id stays in its native ids.

    What belongs to a call follows the call of its own turn, else the last such call before it.
    """
    final_ids = _final_ids(conversation)
    latest: dict[str, str] = {}  # by recorded id: the id of the last call so far

    def renamed(turn: int | None, name: str) -> str:
        return final_ids.get((turn, name)) or latest.get(name, name)

    for message in conversation.messages:
        if message.parent_call_id is not None:
            message.parent_call_id = renamed(message.turn, message.parent_call_id)
        for part in message.parts:
            if isinstance(part, ToolCall):
                recorded, part.id = part.id, renamed(message.turn, part.id)
                latest[recorded] = part.id
                if recorded != part.id and recorded not in part.native_ids:
                    part.native_ids = [*part.native_ids, recorded]
            elif (name := getattr(part, "call_id", None)) is not None:
                part.call_id = renamed(message.turn, name)  # type: ignore[union-attr]
    for turn in conversation.turns:
        for each in turn.rounds:
            each.call_ids = [final_ids.get((turn.index, name), name) for name in each.call_ids]
        for usage in turn.usage:
            if usage.parent_call_id is not None:
                usage.parent_call_id = renamed(turn.index, usage.parent_call_id)


def _final_ids(conversation: Conversation) -> dict[Key, str]:
    """Return the id of each call: the recorded id for the first turn with it, else a longer spelling or a number."""
    found: dict[Key, str] = {}
    taken: set[str] = set()
    for message in conversation.messages:
        for call in message.parts:
            if isinstance(call, ToolCall) and (message.turn, call.id) not in found:
                numbered = (f"{call.id}~{number}" for number in range(2, len(found) + 3))
                spellings = sorted(name for name in call.native_ids if name.startswith(call.id))
                final = next(name for name in (call.id, *spellings, *numbered) if name not in taken)
                taken.add(final)
                found[message.turn, call.id] = final
    return found
