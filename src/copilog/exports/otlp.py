"""Export conversations as OpenTelemetry spans with the conventions for generative AI, in the JSON encoding of OTLP.

A line is a document of one conversation, as OpenTelemetry's file exporter writes it. A turn is a trace: `invoke_agent`
with `chat` for each answer of a model and `execute_tool` for each call; below the call of a sub-agent is an
`invoke_agent` of its own. `gen_ai.input.messages` of a `chat` has what was sent since the `chat` before it, so that the
size of the file is that of the conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from copilog.derive import ends_of
from copilog.exports.formats import Format, Making
from copilog.exports.index import Entry
from copilog.exports.otlp_json import Clock, Json, attributes
from copilog.exports.otlp_turns import TurnSpans
from copilog.exports.recorded_usage import Place, RecordedUsage
from copilog.exports.uncarried import count_uncarried
from copilog.model import Conversation
from copilog.trajectory import encoded
from copilog.trajectory.messages import MessageWriter

SCHEMA = "https://opentelemetry.io/schemas/1.41.0"
# Names of services by which a reader recognises the program.
SERVICES = {"cli": "github-copilot", "claude": "claude-code"}
CARRIED = frozenset(
    {"text", "prompt", "thinking", "tool-call", "tool-result", "attachment", "picture", "mention", "reference"}
    | {"turn.error", "turn.usage", "conversation.usage"}
)


def _lines(conversation: Conversation, making: Making) -> Iterator[bytes]:
    """Yield the document of each end of a conversation in pieces, a turn at a time."""
    for end in ends_of(conversation):
        spans = _spans(end, making)
        first = next(spans, None)
        if first is None:
            continue
        resource = {"attributes": attributes(_resource(end, making))}
        yield b'{"resourceSpans":[{"resource":' + encoded(resource)
        scope = {"name": "copilog", "version": making.by.rpartition(" ")[2]}
        yield b',"scopeSpans":[{"scope":' + encoded(scope) + b',"spans":[' + encoded(first)
        for span in spans:
            yield b"," + encoded(span)
        yield b']}],"schemaUrl":' + encoded(SCHEMA) + b"}]}\n"


def _resource(conversation: Conversation, making: Making) -> Json:
    return {
        "service.name": SERVICES.get(conversation.id.partition(":")[0], "copilot-chat"),
        "copilog.source": conversation.source,
        "copilog.written_by": making.by,
    }


def _spans(conversation: Conversation, making: Making) -> Iterator[Json]:
    writer, usage, clock = MessageWriter(conversation), RecordedUsage(conversation, making), Clock()
    by_turn: dict[int | None, list[int]] = {}
    for position, message in enumerate(conversation.messages):
        by_turn.setdefault(message.turn, []).append(position)
    for number, turn in enumerate(conversation.turns):
        messages = [conversation.messages[position] for position in by_turn.get(turn.index, ())]
        made = TurnSpans(conversation, turn, writer, clock)
        made.add(messages)
        made.finish(usage, is_first=number == 0)
        making.left_out.add(conversation.id, "results of tools without a call", made.results_without_call)
        yield from (span.as_json() for span in made.spans())
    if usage.of_turn(Place(None, None)):
        making.left_out.add(conversation.id, "sums of tokens or cost of no particular turn")


def _pieces(conversations: Iterable[Conversation], index: Sequence[Entry], making: Making) -> Iterator[bytes]:  # noqa: ARG001
    for conversation in conversations:
        count_uncarried(conversation, making, CARRIED)
        yield from _lines(conversation, making)


FORMAT = Format("otlp", "Spans (OpenTelemetry)", ".otlp.jsonl", "application/x-ndjson", _pieces, shape="lines")
