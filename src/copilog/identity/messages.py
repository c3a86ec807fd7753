"""Unite the messages of one turn from all its traces.

The best trace gives the messages. Others add the kinds of parts that it lacks: an answer, thinking, results, calls.
Whatever else they have, `conflicts` records.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from copilog.derive.outcomes import add_verdict, verdict_of
from copilog.identity.calls import Pairs, is_recorded, same_calls_of_turn
from copilog.identity.part_pairs import identity_of, unite_parts
from copilog.identity.part_union import united_part, united_result
from copilog.identity.traces import SESSION_FILES
from copilog.identity.turn_views import View, prompts_in
from copilog.model import (
    UNASKED,
    UNFINISHED,
    AnyPart,
    Attachment,
    Compaction,
    Confirmation,
    FileEdit,
    Hook,
    Mention,
    Message,
    Prompt,
    Reference,
    Role,
    Terminal,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    prose_of,
)
from copilog.similarity import without_blanks

# Parts that belong to prose or to a position in one file, and mean nothing without it.
OF_PROSE = (Text, Reference, Mention)
# Parts that are added one by one: by the id of their call, or by their text.
ONE_BY_ONE = (ToolCall, ToolResult, Terminal, Compaction)
OF_PROMPT = (Attachment, Prompt)
ADDED_BY_KEY = (Attachment, Confirmation, Hook)  # parts of which a copy of the session may have further ones
CONCLUDED = frozenset({"outcome", "concluded_exit_code", "edits"})
NOT_FILLED = CONCLUDED | {"id", "name", "status", "exit_code", "verdicts", "native_ids"}
CHECKPOINT = "checkpoint"  # as a store of sessions calls it


def unite_messages(
    mine: list[Message],
    view: View,
    turn: Turn,
    *,
    is_stale: bool,
    own_source: str | None = None,
    is_tied: bool = False,
) -> list[Message]:
    """Return the messages of a turn with what only another trace has.

    `own_source` is the source of the trace that the messages are from.
    `is_tied` tells that neither trace is fuller than the other.
    """
    theirs, is_cut = view.messages, view.is_late
    if not theirs:
        return mine
    if not mine:
        return [own_message(message) for message in theirs]
    _fill_names(mine, theirs)
    mine = _with_prompt(mine, theirs)
    if not any(message.role in ("assistant", "tool") for message in mine):
        answer = [own_message(message) for message in theirs if message.role in ("assistant", "tool")]
        mine = [*mine, *answer]
    else:
        mine = _with_answer(mine, theirs, turn, is_cut=is_cut)
        same = same_calls_of_turn(mine, theirs)
        mine = _with_calls(mine, theirs, view.source, same, own_source=own_source, is_tied=is_tied)
        unite_parts(mine, theirs, {name: own.id for name, (own, _) in same.items()}, is_tied=is_tied)
    mine = _with_other_kinds(mine, theirs)
    return _with_other_parts(mine, theirs) if view.source in SESSION_FILES and not is_stale else mine


def unite_inside(mine: list[Message], view: View, call_id: str) -> list[Message]:
    """Add messages of a part of the turn: those of the sub-agent of a call, or of the main agent."""
    theirs = [own_message(message) for message in view.messages]
    if call_id:
        for message in theirs:
            message.parent_call_id = call_id
        if not any(message.parent_call_id == call_id for message in mine):
            for message in reversed([message for message in theirs if message.role != "user"]):
                insert_after_call(mine, message, call_id)
                message.parent_call_id = call_id
            return mine
    theirs = [message for message in theirs if message.role != "user"]
    same = same_calls_of_turn(mine, theirs)
    return _with_other_kinds(_with_calls(mine, theirs, view.source, same), theirs)


def own_message(message: Message) -> Message:
    """Return a copy of a message whose parts can be added to, and whose calls can be filled."""
    parts = [msgspec.structs.replace(part) if type(part) is ToolCall else part for part in message.parts]
    return msgspec.structs.replace(message, parts=parts)


# --- what people read -------------------------------------------------------------------------------------------


def _with_prompt(mine: list[Message], theirs: list[Message]) -> list[Message]:
    """Add the prompt, or what belongs to it: attachments, and the text that was sent to the model."""
    my_prompt, their_prompt = next(prompts_in(mine), None), next(prompts_in(theirs), None)
    if their_prompt is None:
        return mine
    if my_prompt is None:
        return [own_message(their_prompt), *mine]
    for kind in OF_PROMPT:
        if not any(isinstance(part, kind) for message in prompts_in(mine) for part in message.parts):
            found = [part for message in prompts_in(theirs) for part in message.parts if isinstance(part, kind)]
            my_prompt.parts = [*my_prompt.parts, *found]
    torn = next((part for part in my_prompt.parts if isinstance(part, Text) and UNFINISHED in part.notes), None)
    if torn is not None and _rest_after(torn.text, _prose(prompts_in(theirs))):
        my_prompt.parts = [part for part in my_prompt.parts if part is not torn]
    if not _prose(prompts_in(mine)):
        my_prompt.parts = [*(part for part in their_prompt.parts if isinstance(part, OF_PROSE)), *my_prompt.parts]
    return mine


def _with_answer(mine: list[Message], theirs: list[Message], turn: Turn, *, is_cut: bool) -> list[Message]:
    """Add the answer, or the rest of one that broke off in the better trace."""
    said, also = _prose(_answers(mine)), _prose(_answers(theirs))
    if not also:
        return mine
    if not said:
        telling = [message for message in _answers(theirs) if prose_of(message.parts)]
        texts = [part for message in telling for part in message.parts if isinstance(part, OF_PROSE)]
        return [*mine, msgspec.structs.replace(telling[0], parts=texts, turn=turn.index)]
    rest = _rest_after(said, also)
    if rest and not is_cut:
        last = [message for message in _answers(mine) if prose_of(message.parts)][-1]
        last.parts = [*last.parts, Text(text=rest)]
    return mine


def _rest_after(said: str, also: str) -> str:
    """Return the rest of a text after its beginning, ignoring white space; empty if it begins otherwise."""
    begun, whole = without_blanks(said), without_blanks(also)
    if len(whole) == len(begun) or not whole.startswith(begun):
        return ""
    left = len(begun)
    for position, character in enumerate(also):
        if not left:
            return also[position:] if also[position:].strip() else ""
        left -= not character.isspace()
    return ""


def _answers(messages: list[Message]) -> list[Message]:
    return [message for message in messages if message.role == "assistant" and message.parent_call_id is None]


def _prose(messages: Iterable[Message]) -> str:
    return "\n".join(text for message in messages if (text := prose_of(message.parts)))


def without_repeated_checkpoints(messages: list[Message]) -> list[Message]:
    """Drop checkpoints of a store that the conversation's own record has as well."""
    own = {without_blanks(part.text) for part in _parts(messages, Compaction) if part.native != CHECKPOINT}
    made: list[Message] = []
    for message in messages:
        parts = [part for part in message.parts if not _is_repeated(part, own)]
        if len(parts) == len(message.parts):
            made.append(message)
        elif parts:
            made.append(msgspec.structs.replace(message, parts=parts))
    return made


def _is_repeated(part: AnyPart, own: set[str]) -> bool:
    """Return whether a checkpoint of a store, which lacks the title, is in the conversation's own record."""
    if not isinstance(part, Compaction) or part.native != CHECKPOINT:
        return False
    text = without_blanks(part.text)
    return text in own or (bool(text) and any(text in summary for summary in own))


def _fill_names(mine: list[Message], theirs: list[Message]) -> None:
    """Fill the mode of prompts, and the model of answers where the other trace names only one."""
    mode = next((message.mode for message in theirs if message.role == "user" and message.mode), None)
    known = {message.model: message for message in theirs if message.role == "assistant" and message.model}
    answer = known.popitem()[1] if len(known) == 1 else None
    for message in mine:
        if message.parent_call_id is not None:
            continue
        if message.role == "user" and message.mode is None:
            message.mode = mode
        elif message.role == "assistant" and message.model is None and answer is not None:
            message.model, message.model_source = answer.model, answer.model_source


# --- calls ------------------------------------------------------------------------------------------------------


def _with_calls(
    mine: list[Message],
    theirs: list[Message],
    source: str,
    same: Pairs,
    *,
    own_source: str | None = None,
    is_tied: bool = False,
) -> list[Message]:
    """Add arguments, results and verdicts of the same calls, and calls that only the other trace has."""
    results, terminals = _outputs_by_call(theirs)
    for name, (my_call, their_call) in same.items():
        if source != own_source:
            add_verdict(my_call, their_call, results.get(name, []), terminals.get(name), source)
        _fill_call(my_call, their_call, is_tied=is_tied)
    mine = _with_results(mine, theirs, {name: my_call for name, (my_call, _) in same.items()}, is_tied=is_tied)
    if source == own_source and same:
        # Of a copy only that counts which does not follow from what was taken from it.
        own_results, own_terminals = _outputs_by_call(mine)
        for name, (my_call, their_call) in same.items():
            own = verdict_of(my_call, own_results.get(my_call.id, []), own_terminals.get(my_call.id), source)
            add_verdict(my_call, their_call, results.get(name, []), terminals.get(name), source, own)
    missing = {call.id for call in _parts(theirs, ToolCall) if call.id not in same and call.native != UNASKED}
    mine = _with_missing_calls(mine, theirs, missing)
    return _with_texts_of_subagents(mine, theirs, {name: my_call.id for name, (my_call, _) in same.items()})


def _outputs_by_call(messages: list[Message]) -> tuple[dict[str, list[ToolResult]], dict[str | None, Terminal]]:
    """Return the results and the terminals of messages, by the call that they belong to."""
    results: dict[str, list[ToolResult]] = {}
    for part in _parts(messages, ToolResult):
        results.setdefault(part.call_id, []).append(part)
    return results, {part.call_id: part for part in _parts(messages, Terminal)}


def _with_texts_of_subagents(mine: list[Message], theirs: list[Message], ids: dict[str, str]) -> list[Message]:
    """Add texts of sub-agents that the turn lacks: VS Code stores their calls without their texts."""
    known = {call.id for call in _parts(mine, ToolCall)}
    callers_with_text = {
        message.parent_call_id for message in mine if message.role == "assistant" and prose_of(message.parts)
    }
    made = list(mine)
    for message in theirs:
        caller = ids.get(message.parent_call_id or "", message.parent_call_id)
        texts = [part for part in message.parts if isinstance(part, Text) and part.text.strip()]
        if (
            message.role != "assistant"
            or not texts
            or caller is None
            or caller not in known
            or caller in callers_with_text
        ):
            continue
        calls = {ids.get(part.id, part.id) for part in message.parts if isinstance(part, ToolCall)}
        said = msgspec.structs.replace(message, parts=texts, parent_call_id=caller)
        _insert_subagent_text(made, said, calls, caller)
    return made


def _insert_subagent_text(messages: list[Message], said: Message, calls: set[str], caller: str) -> None:
    """Insert a text of a sub-agent before the calls of the same message, else after all its messages so far."""
    for own in messages:
        for position, part in enumerate(own.parts):
            if isinstance(part, ToolCall) and part.id in calls:
                own.parts = [*own.parts[:position], *said.parts, *own.parts[position:]]
                return
    last = -1
    for position, own in enumerate(messages):
        is_caller = any(isinstance(part, ToolCall) and part.id == caller for part in own.parts)
        if is_caller or own.parent_call_id == caller:
            last = position
    messages.insert(last + 1, said)


def _fill_call(mine: ToolCall, theirs: ToolCall, *, is_tied: bool) -> None:
    """Fill the gaps of a call; its outcome in the other trace is recorded as a verdict."""
    is_alike = mine.native == theirs.native
    but = NOT_FILLED if is_alike else NOT_FILLED | {"extra"}
    united = united_part(mine, theirs, but=but, is_tied=is_tied, may_overrule=is_alike)
    assert isinstance(united, ToolCall)
    if mine.name == mine.tool_id and theirs.name and theirs.name != theirs.tool_id:
        united.name = theirs.name  # VS Code may record only the registered name, as for tools that sub-agents used
    if mine.status == "unknown":
        united.status = theirs.status
    if is_recorded(theirs.id) and theirs.id not in (mine.id, *mine.native_ids):
        united.native_ids = [*mine.native_ids, theirs.id]
    for name in mine.__struct_fields__:
        setattr(mine, name, getattr(united, name))


def _with_results(
    mine: list[Message], theirs: list[Message], calls: dict[str, ToolCall], *, is_tied: bool
) -> list[Message]:
    """Unite the results and terminals of calls that both have, and add those that only the other trace has."""
    made = list(mine)
    places: dict[tuple[type[AnyPart], str], list[tuple[Message, int]]] = {}
    for message in made:
        for position, part in enumerate(message.parts):
            if isinstance(part, ToolResult | Terminal) and part.call_id is not None:
                places.setdefault((type(part), part.call_id), []).append((message, position))
    is_added: set[tuple[type[AnyPart], str]] = set()
    for message in theirs:
        for part in message.parts:
            name = part.call_id if isinstance(part, ToolResult | Terminal) else None
            call = calls.get(name) if name is not None else None
            if call is None or not isinstance(part, ToolResult | Terminal):
                continue
            copied = msgspec.structs.replace(part, call_id=call.id)
            key = type(part), call.id
            if found := places.get(key):
                own, position = found.pop(0)
                own.parts[position] = _united_output(own.parts[position], copied, call, is_tied=is_tied)
                is_added.add(key)
            elif key not in is_added:
                is_added.add(key)
                role: Role = "tool" if isinstance(part, ToolResult) else "assistant"
                at = message.created_at if isinstance(part, ToolResult) else None
                insert_after_call(made, Message(role=role, parts=[copied], created_at=at), call.id)
    return made


def _united_output(mine: AnyPart, theirs: AnyPart, call: ToolCall, *, is_tied: bool) -> AnyPart:
    if isinstance(mine, ToolResult) and isinstance(theirs, ToolResult):
        return united_result(mine, theirs, call, is_tied=is_tied)
    if isinstance(mine, Terminal) and isinstance(theirs, Terminal):
        return united_part(mine, theirs, is_tied=is_tied)
    return mine


def insert_after_call(messages: list[Message], message: Message, call_id: str, turn: int | None = None) -> None:
    """Insert a message after the call that it belongs to, in the given turn if any, else at the end."""
    for position, asking in enumerate(messages):
        if turn is not None and asking.turn != turn:
            continue
        if any(isinstance(part, ToolCall) and part.id == call_id for part in asking.parts):
            message.turn, message.parent_call_id = asking.turn, asking.parent_call_id
            messages.insert(position + 1, message)
            return
    messages.append(message)


def _with_missing_calls(mine: list[Message], theirs: list[Message], missing: set[str]) -> list[Message]:
    """Add the calls with these ids and their results, each after the messages that precede it in its trace."""
    if not missing:
        return mine
    made = list(mine)
    place = len([message for message in made if message.role in ("user", "system")])
    for message in theirs:
        ids = [part.id for part in message.parts if isinstance(part, ToolCall)]
        known = [name for name in ids if name not in missing]
        for position, own in enumerate(made):
            if any(
                isinstance(part, ToolCall) and (part.id in known or set(part.native_ids) & set(known))
                for part in own.parts
            ):
                place = max(place, _index_after_results(made, position))
        parts = [part for part in message.parts if _call_of(part) in missing]
        if parts:
            made.insert(place, own_message(msgspec.structs.replace(message, parts=parts)))
            place += 1
    return made


def _index_after_results(messages: list[Message], position: int) -> int:
    """Return the index after a message with calls and the messages that only have results of these calls."""
    calls = {part.id for part in messages[position].parts if isinstance(part, ToolCall)}
    place = position + 1
    while place < len(messages) and all(getattr(part, "call_id", None) in calls for part in messages[place].parts):
        place += 1
    return place


def _call_of(part: AnyPart) -> str | None:
    return part.id if isinstance(part, ToolCall) else getattr(part, "call_id", None)


# --- everything else --------------------------------------------------------------------------------------------


def _with_other_kinds(mine: list[Message], theirs: list[Message]) -> list[Message]:
    """Add kinds of parts that the turn lacks, and further thinking and checkpoints."""
    present = {type(part) for message in mine for part in message.parts}
    has_system_prompt = any(
        isinstance(part, Prompt) for message in mine if message.role == "system" for part in message.parts
    )
    compacted = {without_blanks(part.text) for part in _parts(mine, Compaction)}
    thought = "\n".join(without_blanks(part.text) for part in _parts(mine, Thinking))
    made = list(mine)
    for message in theirs:
        parts = [
            part
            for part in message.parts
            if (type(part) not in present and not isinstance(part, OF_PROSE + ONE_BY_ONE + OF_PROMPT))
            or (isinstance(part, Thinking) and without_blanks(part.text) not in thought)
            or (isinstance(part, Compaction) and without_blanks(part.text) not in compacted)
            or (isinstance(part, Prompt) and message.role == "system" and not has_system_prompt)
        ]
        if not parts:
            continue
        added = msgspec.structs.replace(message, parts=parts)
        if all(isinstance(part, Thinking) for part in parts):
            _insert_thinking(made, added, message)
        elif message.role == "system" and any(isinstance(part, Prompt) for part in parts):
            made.insert(0, added)
        elif message.role == "user":  # what the prompt began with, such as a summary, is not what the user typed
            added.role = "system"
            made.insert(0, added)
        else:
            made.append(added)
    return made


def _with_other_parts(mine: list[Message], theirs: list[Message]) -> list[Message]:
    """Add edits of other files, attachments, questions and hooks that only another copy of the session has."""
    known = {_identity_key(part) for message in mine for part in message.parts}
    made = list(mine)
    for message in theirs:
        parts = [part for part in message.parts if _identity_key(part) is not None and _identity_key(part) not in known]
        if not parts:
            continue
        if message.role == "user" and (prompt := next(prompts_in(made), None)) is not None:
            prompt.parts = [*prompt.parts, *parts]
        else:
            made.append(msgspec.structs.replace(message, parts=parts))
    return made


def _identity_key(part: AnyPart) -> tuple[Any, ...] | None:
    """Return the key that identifies an edit, an attachment, a question or a hook; None for other parts."""
    if isinstance(part, FileEdit):
        return FileEdit, part.uri or part.path
    return identity_of(part) if isinstance(part, ADDED_BY_KEY) else None


def _insert_thinking(messages: list[Message], thinking: Message, origin: Message) -> None:
    """Insert thinking before the call or the text that came with it in its own trace, else before the answer."""
    ids = {part.id for part in origin.parts if isinstance(part, ToolCall)}
    text = without_blanks(prose_of(origin.parts))
    answers = [message for message in messages if message.role == "assistant"]
    for message in answers:
        for position, part in enumerate(message.parts):
            if (isinstance(part, ToolCall) and part.id in ids) or _begins_with(part, text):
                message.parts = [*message.parts[:position], *thinking.parts, *message.parts[position:]]
                return
    messages.insert(messages.index(answers[0]) if answers else len(messages), thinking)


def _begins_with(part: AnyPart, text: str) -> bool:
    """Return whether a text begins with a part, ignoring white space."""
    own = without_blanks(part.text) if isinstance(part, Text) else ""
    return bool(own) and text.startswith(own)


def _parts(messages: list[Message], kind: type[Any]) -> list[Any]:
    return [part for message in messages for part in message.parts if isinstance(part, kind)]
