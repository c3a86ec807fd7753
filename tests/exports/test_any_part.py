"""Every format writes every kind of part, with every field filled and with hostile texts, and counts what it drops."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import msgspec
import pytest

from copilog.exports import atif, otlp, parquet, training, trajectory
from copilog.exports.writing import NothingToWrite
from copilog.model import Conversation, Part, Turn
from tests.exports.conversations import HOSTILE, a_conversation, exported, format_of, left_out_of
from tests.view.test_writers_conformance import KINDS, conversation_with, fill, filled

CARRIES: dict[str, frozenset[str]] = {
    "trajectory": trajectory.CARRIED,
    "openai": training.CARRIED,
    "sharegpt": training.CARRIED,
    "atif": atif.CARRIED,
    "otlp": otlp.CARRIED,
    "parquet": parquet.CARRIED,
    "csv": frozenset(),
}
FORMATS = sorted(CARRIES)


def output(name: str, folder: Path) -> Path:
    return folder / f"out{format_of(name).ending}"


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_part_is_carried_or_counted(kind: type[Part], name: str, tmp_path: Path) -> None:
    whole = conversation_with(filled(kind))
    whole.messages += a_conversation().messages[1:]
    counted = left_out_of(exported([whole], name, output(name, tmp_path)))
    tag = str(kind.__struct_config__.tag)
    assert tag in CARRIES[name] or counted or name == "csv"


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_in_every_part_break_no_format(text: str, name: str, tmp_path: Path) -> None:
    for kind in KINDS:
        whole = conversation_with(with_text(filled(kind), HOSTILE[text][:5000]))
        whole.messages += copy.deepcopy(a_conversation().messages[1:])
        exported([whole], name, output(name, tmp_path))


@pytest.mark.parametrize("name", FORMATS)
def test_every_field_of_a_turn_and_of_a_conversation_breaks_no_format(name: str, tmp_path: Path) -> None:
    for field in msgspec.structs.fields(Turn):
        if field.name not in ("index", "branch", "superseded"):
            whole = a_conversation()
            value = fill(field.type, f"Turn.{field.name}")
            whole.turns[0] = msgspec.structs.replace(whole.turns[0], **{field.name: value})
            exported([whole], name, output(name, tmp_path))
    for field in msgspec.structs.fields(Conversation):
        if field.name not in ("id", "turns", "messages"):
            value = fill(field.type, f"Conversation.{field.name}")
            exported([msgspec.structs.replace(a_conversation(), **{field.name: value})], name, output(name, tmp_path))


@pytest.mark.parametrize("name", FORMATS)
def test_a_conversation_without_anything_breaks_no_format(name: str, tmp_path: Path) -> None:
    try:
        exported([Conversation(id="vscode:x", source="vscode-session")], name, output(name, tmp_path))
    except NothingToWrite:
        assert list(tmp_path.iterdir()) == []


def with_text(value: Any, text: str) -> Any:
    """Put a text into all fields of a part that are text, and that may have any."""
    names = [field.name for field in msgspec.structs.fields(value) if field.type in (str, str | None)]
    return msgspec.structs.replace(value, **dict.fromkeys(names, text))
