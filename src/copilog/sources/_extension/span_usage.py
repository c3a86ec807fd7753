"""What a span says about tokens and cost."""

from __future__ import annotations

from copilog.model import Usage
from copilog.sources._extension.moments import ms_between
from copilog.sources._extension.spans import Span
from copilog.sources._vscode.take import Json

NANO = 1e9
TOKENS = "gen_ai.usage."


def usage_of(span: Span, source: str) -> Usage | None:
    """Take the tokens out of a span. Input holds the cached part and output the reasoning, as recorded.

    The CLI up to 1.0.60 has an underscore where the conventions now have a dot.
    """
    usage = Usage(
        input=span.take_whole(f"{TOKENS}input_tokens"),
        output=span.take_whole(f"{TOKENS}output_tokens"),
        cache_read=span.take_whole(f"{TOKENS}cache_read.input_tokens", f"{TOKENS}cache_read_input_tokens"),
        cache_write=span.take_whole(f"{TOKENS}cache_creation.input_tokens", f"{TOKENS}cache_creation_input_tokens"),
        reasoning=span.take_whole(
            f"{TOKENS}reasoning.output_tokens", f"{TOKENS}reasoning_output_tokens", f"{TOKENS}reasoning_tokens"
        ),
        model=span.text("gen_ai.response.model", "gen_ai.request.model"),
        premium_requests=span.take_number("github.copilot.cost"),
        scope="call",
        source=source,
    )
    nano = span.take_number("copilot_chat.copilot_usage_nano_aiu")
    usage.credits = nano / NANO if nano is not None else None
    extra: Json = {}
    first_token_ms = _first_token_ms(span)
    if first_token_ms is not None:
        extra["first_token_ms"] = first_token_ms
    elapsed_ms = ms_between(span.started_at, span.ended_at)
    if elapsed_ms is not None:
        extra["elapsed_ms"] = elapsed_ms
    counted = (usage.input, usage.output, usage.cache_read, usage.reasoning, usage.premium_requests, usage.credits)
    if all(number is None for number in counted):
        return None
    usage.extra = extra or None
    return usage


def _first_token_ms(span: Span) -> float | None:
    """How long the first word took: the extension counts milliseconds, the CLI's runtime seconds."""
    milliseconds = span.take_number("copilot_chat.time_to_first_token")
    seconds = span.take_number("gen_ai.response.time_to_first_chunk", "github.copilot.time_to_first_chunk")
    if milliseconds is None and seconds is not None:
        return seconds * 1000
    return milliseconds
