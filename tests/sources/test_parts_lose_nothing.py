"""Every value of a response part is somewhere in the model."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from copilog.model import Message
from tests.sources.vscode_builders import read_parts
from tests.sources.vscode_part_samples import PARTS, Json
from tests.sources.vscode_tool_samples import TOOL_DATA, tool_part

Path = tuple[str | int, ...]
SAMPLES: dict[str, Json] = {
    **PARTS,
    **{
        f"tool data: {name}": tool_part("some_tool", "call-99", toolSpecificData=data)
        for name, data in TOOL_DATA.items()
    },
    "a list of places": tool_part(resultDetails=[{"$mid": 1, "scheme": "file", "path": "/home/ana/found.py"}]),
    "output as text": tool_part(resultDetails={"input": "asked", "output": "answered", "isError": True}),
    "output as data": tool_part(
        resultDetails={"output": {"type": "data", "mimeType": "image/gif", "base64Data": "R0lG"}}
    ),
    "failed": tool_part(resultError="no such file"),
}
# Numbers and texts that become another text or a time, and marks of the writer's own.
TRANSLATED = {"$mid", "kind", "type", "timestamp", "startedAt", "editKind", "presentation"}


def nodes(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield all values below a value, with their paths."""
    if path:
        yield path, value
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in below:
        yield from nodes(item, (*path, key))


def replaced(part: Json, path: Path, value: Any) -> Json:
    """Return a copy of the part with another value at the path."""
    changed: Any = copy.deepcopy(part)
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return dict(changed)


def texts_and_numbers(messages: list[Message]) -> tuple[str, set[float]]:
    leaves = [leaf for _, leaf in nodes(msgspec.to_builtins(messages)) if not isinstance(leaf, dict | list)]
    texts = "\n".join(leaf for leaf in leaves if isinstance(leaf, str))
    return texts, {leaf for leaf in leaves if isinstance(leaf, int | float)}


@pytest.mark.parametrize("name", SAMPLES)
def test_every_text_and_number_of_a_part_is_in_the_model(name: str) -> None:
    messages, ledger = read_parts(SAMPLES[name])

    texts, numbers = texts_and_numbers(messages)
    assert (ledger.parts.used, ledger.parts.unknown) == (1, {})
    for path, leaf in nodes(SAMPLES[name]):
        if path[-1] in TRANSLATED or isinstance(leaf, bool | dict | list):
            continue
        assert str(leaf) in texts if isinstance(leaf, str) else leaf in numbers or str(leaf) in texts, path


@pytest.mark.parametrize("name", SAMPLES)
def test_every_leaf_of_a_part_makes_a_difference(name: str) -> None:
    part = SAMPLES[name]
    before = json.dumps(msgspec.to_builtins(read_parts(part)[0]))

    for path, leaf in nodes(part):
        if isinstance(leaf, dict | list) or path[-1] in ("$mid", "kind"):
            continue
        other = (not leaf) if isinstance(leaf, bool) else leaf + 1 if isinstance(leaf, int) else f"{leaf}x"
        if path[-2:] == ("output", "base64Data") or (path[-1] == "value" and leaf == "aGVsbG8="):
            other = "b3RoZXI="
        after = json.dumps(msgspec.to_builtins(read_parts(replaced(part, path, other))[0]))
        assert after != before, path


@pytest.mark.parametrize("stranger", ["zq-stranger", {"zq": "zq-stranger"}, ["zq-stranger"], [[{"a": "zq-stranger"}]]])
@pytest.mark.parametrize("name", SAMPLES)
def test_a_value_of_the_wrong_type_stays_or_the_part_is_bad(name: str, stranger: Any) -> None:
    for path, _ in nodes(SAMPLES[name]):
        if path[-1] in ("fsPath", "external", "$mid", "_sep"):
            continue
        messages, ledger = read_parts(replaced(SAMPLES[name], path, stranger))

        assert ledger.parts.seen == 1
        if not ledger.parts.bad:
            assert "zq-stranger" in texts_and_numbers(messages)[0] or "zq-stranger" in str(ledger.parts.unknown), path
