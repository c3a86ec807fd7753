"""Export conversations as trajectories: the lines of JSON that `copilog extract` writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from copilog.exports.formats import Format, Making
from copilog.exports.index import Entry
from copilog.exports.uncarried import count_uncarried
from copilog.model import Conversation
from copilog.tags import load_catalogue
from copilog.telemetry.scan import context_of
from copilog.trajectory import trajectories_of, trajectory_pieces

# The model's view: texts with their references, prompts, thinking, calls, results, and notes of what was attached.
CARRIED = frozenset({"text", "prompt", "thinking", "tool-call", "tool-result", "attachment", "mention", "reference"})


def _pieces(conversations: Iterable[Conversation], index: Sequence[Entry], making: Making) -> Iterator[bytes]:  # noqa: ARG001
    catalogue = load_catalogue(None)
    for conversation in conversations:
        count_uncarried(conversation, making, CARRIED)
        for trajectory in trajectories_of(conversation):
            trajectory.context = context_of(trajectory.messages, trajectory.context, catalogue, None)
            yield from trajectory_pieces(trajectory)
            yield b"\n"


FORMAT = Format("trajectory", "Trajectory", ".trajectory.jsonl", "application/x-ndjson", _pieces, shape="lines")
