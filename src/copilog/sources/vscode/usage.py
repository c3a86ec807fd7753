"""Read tokens and cost of a turn, from each of the fields where VS Code and the extension have stored them.

`promptTokens` is the size of the last call's prompt, not a sum: it never becomes `input`.
"""

from __future__ import annotations

from copilog.fields import Json, rest, take_int, take_number, take_str
from copilog.model import PromptShare, Usage

SHARE_KEYS = frozenset({"category", "label", "percentageOfPrompt"})


def usages_from(request: Json, result: Json, metadata: Json) -> list[Usage]:
    """Return all recorded usages, each with its source."""
    usages = _model_totals(request)
    usages += _beside_the_request(request)
    recorded = result.get("usage")
    if isinstance(recorded, dict):
        usages += _from_result(result, recorded)
    for holder, source in ((result, "result"), (metadata, "result.metadata")):
        last_prompt, output = take_int(holder, "promptTokens"), take_int(holder, "outputTokens")
        if last_prompt is not None or output is not None:
            usages.append(Usage(last_prompt=last_prompt, output=output, source=source))
    return usages


def _model_totals(request: Json) -> list[Usage]:
    """Return the totals of each model over the turn, sub-agents included."""
    totals = request.get("modelTotals")
    if not isinstance(totals, list) or not all(isinstance(entry, dict) for entry in totals):
        return []
    del request["modelTotals"]
    return [_model_total(entry) for entry in totals]


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
    usage = _from_counts(request, "request")
    credits_spent = take_number(request, "copilotCredits")
    session_credits = take_number(request, "sessionCopilotCredits")
    if usage is None:
        if credits_spent is None and session_credits is None:
            return []
        usage = Usage(source="request")
    usage.credits = credits_spent
    usage.session_credits = session_credits
    return [usage]


def _from_result(result: Json, recorded: Json) -> list[Usage]:
    usage = _from_counts(recorded, "result.usage")
    if usage is None:
        return []
    del result["usage"]
    usage.extra = rest(recorded)
    return [usage]


def _from_counts(counts: Json, source: str) -> Usage | None:
    last_prompt, output = take_int(counts, "promptTokens"), take_int(counts, "completionTokens")
    shares = _take_shares(counts)
    if last_prompt is None and output is None and not shares:
        return None
    return Usage(last_prompt=last_prompt, output=output, by_category=shares, source=source)


def _take_shares(counts: Json) -> list[PromptShare]:
    """Take the composition of the prompt; a list with any other content stays unchanged."""
    details = counts.get("promptTokenDetails")
    if not isinstance(details, list) or not all(_is_share(item) for item in details):
        return []
    del counts["promptTokenDetails"]
    return [
        PromptShare(category=item["category"], label=item.get("label"), percent=item.get("percentageOfPrompt"))
        for item in details
    ]


def _is_share(item: object) -> bool:
    if not isinstance(item, dict) or not item.keys() <= SHARE_KEYS:
        return False
    category, label, percent = item.get("category"), item.get("label", ""), item.get("percentageOfPrompt", 0)
    return isinstance(category, str) and isinstance(label, str) and type(percent) in (int, float)
