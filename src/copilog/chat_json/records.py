"""Write what Copilot Chat records beside a response: the prompt as sent, rounds of the model, results, usage.

Copilot Chat reads them again when a conversation continues: else the model would not know the results of its tools.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from copilog.chat_json.calls import Called, is_shown, recorded_id
from copilog.chat_json.values import bytes_json, ms_of, number_json, place_json, uri_json, with_texts
from copilog.fields import Json
from copilog.model import (
    AnyPart,
    Attachment,
    CodeBlock,
    Compaction,
    Message,
    Prompt,
    ResultItem,
    Round,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
)

PROMPT_KEYS = {"system": "systemPrompt", "conversation": "renderedGlobalContext", "turn": "renderedUserMessage"}
EARLY = ("messages", "edits")
NO_ROUND = ("toolCallRounds", "summaries")  # natives of parts that are in a round or a summary
RESULT_MARK, TEXT_MARK, DATA_MARK = 20, 21, 24  # the $mid of results and their parts


# --- prompts and summaries ------------------------------------------------------------------------------------------


def prompts_json(parts: Sequence[AnyPart], left_out: Counter[str], *, is_own: bool) -> Json:
    """Return the prompt as it was sent, by the extension's keys."""
    made: Json = {}
    key = PROMPT_KEYS["turn"]
    for part in parts:
        if isinstance(part, Prompt):
            if is_own and part.native in EARLY:
                continue
            is_known = is_own and part.native in PROMPT_KEYS.values()
            if not is_known and part.scope == "system":
                left_out["system prompts"] += 1
                continue
            key = part.native if is_known and part.native else PROMPT_KEYS[part.scope]
            left = part.extra.get("parts", []) if is_known and part.extra else []
            made.setdefault(key, []).extend([{"type": 1, "text": part.text}, *left])
        elif isinstance(part, Attachment) and part.native == "imageUrl":
            made.setdefault(key, []).append(_picture(part))
    return made


def early_json(parts: Sequence[AnyPart], rounds: Sequence[Round]) -> Json:
    """Return what the first releases of the extension recorded: messages, or edits with their files."""
    answers = [one for one in rounds if one.id is None and not one.call_ids]
    said = [part for part in parts if isinstance(part, Prompt) and part.native == "messages"]
    if said:
        asked = [{"role": "system" if part.scope == "system" else "user", "content": part.text} for part in said]
        return {"messages": [*asked, *({"role": "assistant", "content": one.text} for one in answers)]}
    request = next((part.text for part in parts if isinstance(part, Prompt) and part.native == "edits"), None)
    files = [part for part in parts if isinstance(part, Attachment) and part.native == "workingSet"]
    if request is None and not files:
        return {}
    working_set = [
        with_texts({"text": part.text}, uri=place_json(part.place) if part.place is not None else None)
        for part in files
    ]
    edits = with_texts({"workingSet": working_set}, request=request, response=answers[0].text if answers else None)
    return {"edits": edits}


def _picture(part: Attachment) -> Json:
    url = part.text or ""
    if part.data is not None:
        url = f"data:{part.mime_type};base64,{bytes_json(part.data)['$base64']}"
    return {"type": 2, "imageUrl": {**(part.extra or {}), "url": url}}


def summaries_json(parts: Sequence[AnyPart]) -> list[Json]:
    """Return the summaries that replaced the history, with the model's thinking about them."""
    made: list[Json] = []
    thought: str | None = None
    for part in parts:
        if isinstance(part, Thinking) and part.native == "summaries":
            thought = part.text
        elif isinstance(part, Compaction):
            summary = {**(part.extra or {}), "text": part.text}
            summary = with_texts(summary, toolCallRoundId=part.round_id, model=part.model, source=part.trigger)
            elapsed = number_json(part.elapsed_ms) if part.elapsed_ms is not None else None
            made.append(with_texts(summary, durationMs=elapsed, thinking=thought))
            thought = None
    return made


# --- rounds and results ---------------------------------------------------------------------------------------------


def rounds_json(turn: Turn, calls: Mapping[str, ToolCall]) -> list[Json]:
    """Return the rounds of the model as the extension recorded them."""
    return [_round(one, [calls[name] for name in one.call_ids if name in calls]) for one in turn.rounds]


def _round(one: Round, calls: Sequence[ToolCall]) -> Json:
    made: Json = {"response": one.text, "toolCalls": [_call(call) for call in calls], "toolInputRetry": 0}
    left = dict(one.extra or {})
    if one.thinking is not None:
        held = left.get("thinking")
        left["thinking"] = {**(held if isinstance(held, dict) else {}), "text": one.thinking}
    made |= {key: value for key, value in left.items() if key != "toolCalls"}
    started = ms_of(one.started_at) if one.started_at is not None else None
    return with_texts(made, id=one.id, timestamp=started, modelId=one.model, hookContext=one.hook_context)


def _call(call: ToolCall) -> Json:
    left = (call.extra or {}).get("toolCallRounds")
    made = {"id": recorded_id(call), "name": call.name}
    made = with_texts(made, arguments=call.arguments)
    return {**made, **(left if isinstance(left, dict) else {})}


def made_rounds(messages: Sequence[Message]) -> list[Json]:
    """Return the rounds of a conversation of another program: one for each answer of the model."""
    made: list[Json] = []
    for message in messages:
        if message.role != "assistant" or message.parent_call_id is not None:
            continue
        text = "".join(part.text for part in message.parts if isinstance(part, Text))
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        if not text and not calls:
            continue
        one = Round(id=message.id, text=text, started_at=message.created_at)
        thoughts = "\n\n".join(part.text for part in message.parts if isinstance(part, Thinking) and part.text)
        one.thinking = thoughts or None
        made.append(_round(one, [_without_extra(call) for call in calls]))
    return made


def _without_extra(call: ToolCall) -> ToolCall:
    return ToolCall(id=call.id, name=call.name, arguments=call.arguments or "{}")


def results_json(all_called: Sequence[Called], orphans: Sequence[ToolResult], *, is_own: bool) -> Json:
    """Return the results as the model received them, by the calls' ids."""
    made: Json = {}
    for called in all_called:
        result = called.result
        if result is not None and (result.origin == "model" if is_own else called.run_id is None):
            made[recorded_id(called.call)] = _result(result)
    for result in orphans:
        made[result.call_id] = _result(result)
    return made


def _result(result: ToolResult) -> Json:
    content: list[Any] = [{"$mid": TEXT_MARK, "value": result.text}] if result.text else []
    content += [_content(item) for item in result.items if not is_shown(item)]
    left = result.extra or {}
    return {"$mid": RESULT_MARK, "content": content, **left}


def _content(item: ResultItem) -> Any:
    left = dict(item.extra or {})
    if item.data is not None:
        return {"$mid": DATA_MARK, **left, "mimeType": item.mime_type or "", "data": bytes_json(item.data)}
    if item.place is not None:
        return {"$mid": TEXT_MARK, **left, "value": str(item.place.uri or item.place.path or place_json(item.place))}
    if item.text is not None:
        return {"$mid": TEXT_MARK, **left, "value": item.text}
    return left.get("value", left) if left.keys() == {"value"} else with_texts(left, mimeType=item.mime_type)


def code_block_json(block: CodeBlock) -> Json:
    made = {"code": block.code, **(block.extra or {})}
    made = with_texts(made, language=block.language, markdownBeforeBlock=block.before)
    return {"resource": uri_json(block.uri), **made} if block.uri is not None else made


# --- usage ----------------------------------------------------------------------------------------------------------


def put_usage(turn: Turn, request: Json, result: Json, metadata: Json, left_out: Counter[str]) -> None:
    """Write the tokens and the cost of a turn into the fields that they are from; else into totals by model."""
    others: list[Usage] = []
    for usage in turn.usage:
        if usage.source == "modelTotals":
            request.setdefault("modelTotals", []).append(_total(usage))
        elif usage.source == "request":
            request |= _counts(usage)
            request |= with_texts({}, copilotCredits=usage.credits, sessionCopilotCredits=usage.session_credits)
        elif usage.source == "result.usage":
            result["usage"] = {**_counts(usage), **(usage.extra or {})}
        elif usage.source in ("result", "result.metadata"):
            holder = result if usage.source == "result" else metadata
            holder |= with_texts({}, promptTokens=usage.last_prompt, outputTokens=usage.output)
        else:
            others.append(usage)
    if others and "modelTotals" not in request and not _has_counts(request):
        request |= _totals_of(others, left_out)
    elif others:
        left_out["usage that repeats the turn's totals"] += len(others)


def _has_counts(request: Json) -> bool:
    return "promptTokens" in request or "completionTokens" in request


def _total(usage: Usage) -> Json:
    texts = {"model": usage.model, "inputTokens": usage.input, "outputTokens": usage.output}
    return with_texts(dict(usage.extra or {}), **texts, cachedTokens=usage.cache_read)


def _counts(usage: Usage) -> Json:
    made = with_texts({}, promptTokens=usage.last_prompt, completionTokens=usage.output)
    shares = [
        with_texts({"category": share.category}, label=share.label, percentageOfPrompt=share.percent)
        for share in usage.by_category
    ]
    return {**made, "promptTokenDetails": shares} if shares else made


def _totals_of(usages: Sequence[Usage], left_out: Counter[str]) -> Json:
    """Return the sum of another program's records by model: of totals of the turn where there are some."""
    whole = [usage for usage in usages if usage.scope == "turn" and not usage.is_estimated]
    counted = whole or [usage for usage in usages if usage.scope == "call" and not usage.is_estimated]
    totals: dict[str, Json] = {}
    for usage in counted:
        left_out["usage: cache writes"] += bool(usage.cache_write)
        left_out["usage: reasoning tokens"] += bool(usage.reasoning)
        if usage.input is None:
            continue
        held = totals.setdefault(
            usage.model or "", {"model": usage.model or "", "inputTokens": 0, "cachedTokens": 0, "outputTokens": 0}
        )
        held["inputTokens"] += usage.input
        held["cachedTokens"] += usage.cache_read or 0
        held["outputTokens"] += usage.output or 0
    left_out["usage: premium requests"] += any(usage.premium_requests for usage in counted)
    outputs = [usage.output for usage in counted if usage.output is not None]
    credits_spent = [usage.credits for usage in counted if usage.credits is not None]
    prompts = [usage.input for usage in counted if usage.scope == "call" and usage.parent_call_id is None]
    made: Json = {"modelTotals": list(totals.values())} if totals and all(u.input is not None for u in counted) else {}
    made = with_texts(made, promptTokens=prompts[-1] if prompts else None)
    made = with_texts(made, completionTokens=sum(outputs) if outputs else None)
    return with_texts(made, copilotCredits=sum(credits_spent) if credits_spent else None)
