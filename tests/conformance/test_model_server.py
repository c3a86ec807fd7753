"""The scripted model server: which step is served, in which wire format, and what is logged."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from conformance.model_server import ModelServer
from conformance.scenario import Call, Script, Step, Tokens

TOKENS = Tokens(input=1000, output=20, cached=300, reasoning=7)


def scripts(*steps: Step) -> dict[str, Script]:
    return {"A": Script(steps=list(steps))}


def ask(server: ModelServer, answers: int = 0, *, path: str = "chat/completions", **more: Any) -> httpx.Response:
    history: list[dict[str, Any]] = [{"role": "system", "content": "s"}, {"role": "user", "content": "do [[A]]"}]
    for number in range(answers):
        history += [{"role": "assistant", "content": f"{number}"}, {"role": "tool", "content": "id: t-42"}]
    messages = {"input": history} if path == "responses" else {"messages": history}
    return httpx.post(f"{server.url}/{path}", json={"model": "m", **messages, **more}, timeout=10)


def events_of(response: httpx.Response) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def test_number_of_answers_picks_the_step() -> None:
    with ModelServer(scripts(Step(text="one"), Step(text="two"))) as server:
        texts = [ask(server, answers).json()["choices"][0]["message"]["content"] for answers in (0, 1, 5)]
    assert texts == ["one", "two", "two"]
    assert [(served.script, served.step) for served in server.log] == [("A", 0), ("A", 1), ("A", 1)]


def test_error_is_repeated_and_then_passed_over() -> None:
    with ModelServer(scripts(Step(status=429, text="busy", times=2), Step(text="now"))) as server:
        statuses = [ask(server).status_code for _ in range(3)]
    assert statuses == [429, 429, 200]
    assert [served.tokens for served in server.log[:2]] == [None, None]


def test_streamed_completion_has_text_thinking_calls_and_usage() -> None:
    step = Step(text="x" * 90, thinking="hm", calls=[Call(name="view", arguments={"path": "p"})], tokens=TOKENS)
    with ModelServer(scripts(step)) as server:
        events = events_of(ask(server, stream=True))
    deltas = [event["choices"][0]["delta"] for event in events if event["choices"]]
    assert "".join(delta.get("content", "") for delta in deltas) == "x" * 90
    assert [delta["reasoning_content"] for delta in deltas if "reasoning_content" in delta] == ["hm"]
    (call,) = [delta["tool_calls"][0] for delta in deltas if "tool_calls" in delta]
    assert (call["id"], json.loads(call["function"]["arguments"])) == ("call_A_0_0", {"path": "p"})
    usage = events[-1]["usage"]
    assert (usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]) == (1000, 300)
    assert (usage["completion_tokens"], usage["completion_tokens_details"]["reasoning_tokens"]) == (20, 7)


@pytest.mark.parametrize("custom", [False, True])
def test_streamed_response_has_items_and_usage(custom: bool) -> None:
    step = Step(text="hello", thinking="hm", calls=[Call(name="t", arguments="free", custom=custom)], tokens=TOKENS)
    with ModelServer(scripts(step)) as server:
        events = events_of(ask(server, path="responses", stream=True))
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    done = events[-1]["response"]
    kind = "custom_tool_call" if custom else "function_call"
    assert [item["type"] for item in done["output"]] == ["reasoning", "message", kind]
    assert done["usage"]["input_tokens_details"] == {"cached_tokens": 300}
    assert "".join(e["delta"] for e in events if e["type"] == "response.output_text.delta") == "hello"


def test_cut_answer_has_no_end() -> None:
    with ModelServer(scripts(Step(text="partial", cut=True), Step(text="whole"))) as server:
        text = ask(server, stream=True).text
    assert "partial" in text
    assert "[DONE]" not in text


def test_match_is_replaced_by_what_a_tool_returned() -> None:
    call = Call(name="read", arguments={"id": "{match:id: ([a-z0-9-]+)}"})
    with ModelServer(scripts(Step(text="first"), Step(calls=[call]))) as server:
        ask(server, 1)
    assert server.log[0].answer.calls[0].arguments == {"id": "t-42"}


def test_request_without_marker_is_logged_as_unscripted() -> None:
    with ModelServer({}) as server:
        ask(server)
    assert [served.kind for served in server.log] == ["unscripted"]


def test_waiting_for_a_step_that_never_comes_ends() -> None:
    with ModelServer({}) as server, pytest.raises(TimeoutError, match="A 0 was not asked for"):
        server.wait("A", seconds=0.05)
