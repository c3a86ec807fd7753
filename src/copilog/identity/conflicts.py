"""Record what a trace has in a turn and the united turn has not, as conflicts in the provenance.

This is the last step for each turn, so no text that a trace has is lost, whatever was chosen before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import msgspec

from copilog.identity.calls import have_same_arguments
from copilog.identity.contradictions import contradicted
from copilog.identity.part_pairs import partners
from copilog.identity.part_union import UNFINISHED_STATES, without_cut_mark
from copilog.identity.turn_views import View
from copilog.model import AnyPart, Conflict, Message, Text, ToolCall, Turn
from copilog.similarity import without_blanks

SHORTEST_TEXT = 4  # shorter texts are marks
# Keys whose values are ids, names and marks of one writer: they are recorded elsewhere, or not meant for readers.
NOT_TEXT = frozenset({
    "kind", "native", "position", "extra", "id", "call_id", "call_ids", "round_id", "native_ids", "run_id", "tool_id",
    "origin", "type", "status", "outcome", "verdicts", "evidence", "mime_type", "model", "language", "started_at",
    "uri", "path", "full_text_path", "cwd", "exit_code", "data",
})  # fmt: skip
LISTS_OF_TEXTS = ("rounds", "code_blocks")


class Texts:
    """All texts of a united turn. They are compared exactly first, which is cheap, then without white space."""

    def __init__(self, messages: list[Message], turn: Turn) -> None:
        self._messages = messages
        self._turn = turn

    @cached_property
    def _exact(self) -> set[str]:
        return set(self._all())

    @cached_property
    def _joined(self) -> str:
        return "\n".join(without_blanks(text) for text in self._exact)

    @cached_property
    def _calls(self) -> list[ToolCall]:
        return [part for message in self._messages for part in message.parts if isinstance(part, ToolCall)]

    @cached_property
    def _arguments(self) -> set[str | None]:
        return {call.arguments for call in self._calls}

    def _all(self) -> Iterator[str]:
        for message in self._messages:
            for part in message.parts:
                yield from texts_in(msgspec.to_builtins(part))
        for name in LISTS_OF_TEXTS:
            yield from texts_in(msgspec.to_builtins(getattr(self._turn, name)))

    def has(self, text: str, *, is_cut: bool = False) -> bool:
        if text in self._exact:
            return True
        squeezed = without_blanks(without_cut_mark(text) if text.endswith("]") else text)
        if is_cut:
            squeezed = squeezed.removesuffix("...").removesuffix("…")
        return len(squeezed) < SHORTEST_TEXT or squeezed in self._joined

    def has_arguments(self, call: ToolCall) -> bool:
        """Return whether some call has the arguments of this one, in whatever spelling."""
        if call.arguments in self._arguments:  # usually, and other comparisons decode the arguments of both
            return True
        return any(have_same_arguments(own, call) for own in self._calls)


def texts_in(value: dict[str, Any] | list[Any]) -> list[str]:
    """Return the texts of a JSON value that are meant for readers."""
    texts: list[str] = []
    _gather_texts(value, texts)
    return texts


def _gather_texts(value: dict[str, Any] | list[Any], texts: list[str]) -> None:
    """Add the texts of a JSON value to a list. A generator for each level is slow, and turns have thousands of them."""
    below: list[Any]
    if isinstance(value, list):
        below = value
    else:
        below = [
            one for key, one in value.items() if key not in NOT_TEXT and not (key == "state" and _is_unfinished(one))
        ]
    for one in below:
        if type(one) is str:
            texts.append(one)
        elif type(one) is dict or type(one) is list:
            _gather_texts(one, texts)


def _is_unfinished(state: Any) -> bool:
    return isinstance(state, str) and state in UNFINISHED_STATES


def overruled(
    view: View, texts: Texts, index: int, contradictions: Mapping[int, dict[str, Any]] = MappingProxyType({})
) -> Iterator[Conflict]:
    """Yield what a trace has in a turn and the united turn lacks: prompt, answer, and other parts by their kind.

    `contradictions` has the values of parts that lost, by the `id()` of the part. A part whose texts are missing is
    recorded as a whole.
    """
    for field, parts in _fields(view.messages):
        missing = [part for part in parts if not _is_there(part, texts, is_cut=view.is_late)]
        lost = [contradictions[id(part)] for part in parts if id(part) in contradictions and part not in missing]
        if not missing and not lost:
            continue
        value: Any = [*(msgspec.to_builtins(part) for part in missing), *lost]
        if not lost and all(isinstance(part, Text) and not part.vulnerabilities for part in missing):
            value = "\n".join(part.text for part in missing if isinstance(part, Text))
        yield Conflict(field=field, value=value, turn=index)
    for name in LISTS_OF_TEXTS:
        missing_items = [item for item in getattr(view.turn, name) if not _has_all(item, texts)]
        if missing_items:
            yield Conflict(field=name, value=msgspec.to_builtins(missing_items), turn=index)


def lost_values(view: View, messages: list[Message]) -> dict[int, dict[str, Any]]:
    """Return the values of a trace that the united turn contradicts, by the `id()` of their part."""
    found = ((id(part), contradicted(part, united)) for part, united in partners(view.messages, messages))
    return {name: lost for name, lost in found if lost is not None}


def _fields(messages: Iterable[Message]) -> Iterator[tuple[str, list[AnyPart]]]:
    """Yield the parts of messages by field: prompt, answer, or the kind of part."""
    fields: dict[str, list[AnyPart]] = {}
    for message in messages:
        for part in message.parts:
            name = part.__struct_config__.tag
            if isinstance(part, Text):
                name = "prompt" if message.role == "user" else "answer" if message.role == "assistant" else "text"
            fields.setdefault(str(name), []).append(part)
    yield from fields.items()


def _is_there(part: AnyPart, texts: Texts, *, is_cut: bool) -> bool:
    if isinstance(part, ToolCall) and part.arguments is not None and texts.has_arguments(part):
        part = msgspec.structs.replace(part, arguments=None)
    return all(texts.has(text, is_cut=is_cut) for text in texts_in(msgspec.to_builtins(part)))


def _has_all(item: Any, texts: Texts) -> bool:
    return all(texts.has(text) for text in texts_in(msgspec.to_builtins(item)))
