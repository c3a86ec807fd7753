"""Tokens and cost of a turn, from each of the places where VS Code and the extension have kept them.

`promptTokens` is the size of the last call's prompt, not a sum: it never becomes `input`.
"""

from __future__ import annotations

from typing import Any

from copilog.model import PromptShare, Usage
from copilog.sources._vscode.take import Json, rest, take_dict, take_int, take_list, take_number, take_str


def usages_from(request: Json, result: Json, metadata: Json) -> list[Usage]:
    """All that was recorded, each with its source."""
    totals = take_list(request, "modelTotals") or []
    usages = [_model_total(entry) for entry in totals if isinstance(entry, dict)]
    usages += _beside_the_request(request)
    recorded = take_dict(result, "usage")
    if recorded is not None:
        usages += _from_counts(recorded, "result.usage")
    last_prompt, output = take_int(metadata, "promptTokens"), take_int(metadata, "outputTokens")
    if last_prompt is not None or output is not None:
        usages.append(Usage(last_prompt=last_prompt, output=output, source="result.metadata"))
    return usages


def _model_total(entry: Json) -> Usage:
    return Usage(
        model=take_str(entry, "model"),
        input=take_int(entry, "inputTokens"),
        cache_read=take_int(entry, "cachedTokens"),
        output=take_int(entry, "outputTokens"),
        source="modelTotals",
        extra=rest(entry),
    )


def _beside_the_request(request: Json) -> list[Usage]:
    usages = _from_counts(request, "request", leave_rest=True)
    credits_spent = take_number(request, "copilotCredits")
    session_credits = take_number(request, "sessionCopilotCredits")
    if credits_spent is None and session_credits is None:
        return usages
    if not usages:
        usages = [Usage(source="request")]
    usages[0].credits = credits_spent
    usages[0].session_credits = session_credits
    return usages


def _from_counts(counts: Json, source: str, leave_rest: bool = False) -> list[Usage]:
    usage = Usage(
        last_prompt=take_int(counts, "promptTokens"),
        output=take_int(counts, "completionTokens"),
        by_category=_shares(take_list(counts, "promptTokenDetails")),
        source=source,
    )
    if usage.last_prompt is None and usage.output is None and not usage.by_category:
        return []
    if not leave_rest:
        usage.extra = rest(counts)
    return [usage]


def _shares(details: list[Any] | None) -> list[PromptShare]:
    return [
        PromptShare(
            category=str(item.get("category", "")),
            label=take_str(item, "label"),
            percent=take_number(item, "percentageOfPrompt"),
        )
        for item in details or []
        if isinstance(item, dict)
    ]
