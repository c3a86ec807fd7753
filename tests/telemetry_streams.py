"""Small telemetry with a twist, by hand and by Hypothesis: few ids, so that events meet, tie and contradict."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]
T0, T1 = "2025-08-17T09:00:00.000Z", "2025-08-17T09:00:01.000Z"
T0_ELSEWHERE = "2025-08-17T11:00:00+02:00"


def event(name: str, properties: Json, time: str | None = T0) -> Json:
    base = {"name": f"copilot-chat/{name}", "properties": properties}
    return {"name": "Microsoft.ApplicationInsights.Event", "time": time, "data": {"baseData": base}}


def snapshot(messages: Any, time: str | None = T0, conversation: str = "c1", **properties: Any) -> Json:
    text = messages if isinstance(messages, str) else json.dumps(messages, ensure_ascii=False)
    return event("engine.messages", {"conversationId": conversation, "messagesJson": text, **properties}, time)


def says(role: str, content: Any = "", **more: Any) -> Json:
    return {"role": role, "content": content, **more}


SYSTEM = says("system", "Be brief.")
CALL = {"id": "t1", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
BLOCKS = [
    {"type": "thinking", "thinking": "Hm."},
    {"type": "text", "text": "Yes"},
    "!",
    {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"a": [1, None, "ü"]}},
    {"type": "image"},
    {"type": "new"},
]
RESULTS = [
    {"type": "text", "text": "and then"},
    {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "42"}, {"type": "image"}]},
    {"type": "tool_result", "tool_use_id": "t2", "content": "43"},
]


def model_event(name: str, text_key: str, value: Any, chunks: int = 1, **properties: Any) -> list[Json]:
    """Return a model.* event, in chunks that come in the wrong order."""
    text = json.dumps(value)
    size = -(-len(text) // chunks)
    made = []
    for index in range(chunks):
        chunk = {text_key: text[index * size : (index + 1) * size], "chunkIndex": str(index)}
        made.append(event(f"model.{name}", {**properties, **chunk, "totalChunks": str(chunks)}))
    return made[::-1]


MODEL_CALL = [
    *model_event("modelCall.output", "messageUuids", ["u4"], modelCallId="k1", conversationId="c1"),
    *model_event("message.added", "messageJson", SYSTEM, messageUuid="u1"),
    *model_event("message.added", "messageJson", says("user", "Why?"), 3, messageUuid="u2"),
    *model_event("message.added", "messageJson", says("assistant", "So."), messageUuid="u4"),
    *model_event(
        "modelCall.input",
        "messageUuids",
        ["u1", "u2", "u3"],
        2,
        modelCallId="k1",
        conversationId="c1",
        headerRequestId="h1",
        requestOptionsId="o1",
    ),
    event("model.request.added", {"headerRequestId": "h1", "intent": "why", "conversationId": "c2"}),
    *model_event(
        "request.options.added", "requestOptionsJson", {"request.option.model": '"gpt-5"'}, requestOptionsId="o1"
    ),
]

NASTY: dict[str, list[list[Json]]] = {
    "a shorter snapshot has what the longer one lacks": [
        [
            snapshot([says("assistant", tool_calls=[CALL]), says("tool", "ok", tool_call_id="t1")]),
            snapshot([says("assistant", "reply"), says("user", "next"), says("assistant", "ok")], T1),
        ]
    ],
    "contents that do not fit keep their own calls": [
        [
            snapshot([SYSTEM, says("assistant", "y", tool_calls=[CALL])]),
            snapshot([SYSTEM, says("assistant", "x"), says("user", "next")]),
        ]
    ],
    "white space is no difference": [
        [
            snapshot([SYSTEM, says("assistant", " a\u00a0 b", tool_calls=[CALL])]),
            snapshot([SYSTEM, says("assistant", "a b c"), says("user", "next")]),
        ]
    ],
    "ties go to the later time and then to the first": [
        [
            snapshot([SYSTEM, says("user", "one")], T0),
            snapshot([SYSTEM, says("user", "two")], T1),
            snapshot([SYSTEM, says("user", "three")], T1),
        ],
        [snapshot([SYSTEM, says("user", "four")], "2025-08-17T11:00:01+02:00")],
    ],
    "facts come from another file, repeat and contradict": [
        [snapshot([SYSTEM, says("user", "a"), says("user", "b")], headerRequestId="h1", messageId="m1")],
        [
            event("conversation.messageText", {"source": "user", "headerRequestId": "h1", "mode": "ask"}, T0),
            event("conversation.messageText", {"source": "user", "headerRequestId": "h1", "mode": "edit"}, T0),
            event("conversation.messageText", {"source": "user", "headerRequestId": "h1", "mode": ""}, T1),
            event(
                "inlineConversation.messageText",
                {"source": "user", "conversationId": "c1", "turnIndex": "0", "mode": "agent"},
            ),
            event(
                "conversation.messageText",
                {"source": "model", "conversationId": "c1", "turnIndex": "1", "mode": "plan"},
            ),
        ],
    ],
    "session models, placeholders and conflicts": [
        [
            snapshot(
                [SYSTEM, says("user", "a"), says("assistant", "b")],
                headerRequestId="h1",
                messageId="m1",
                baseModel="gpt-4o-2024-05-13",
            ),
            event("interactiveSessionResponse", {"sessionId": "c1", "requestId": "h1", "baseModel": " Auto "}),
            event(
                "interactiveSessionMessage",
                {"sessionId": "c1", "requestId": "h1", "baseModel": "auto", "model": " GPT-4o "},
            ),
            event("interactiveSessionResponse", {"conversationId": "c1", "requestId": "m1", "model": "other"}),
            snapshot([SYSTEM, says("user", "a")], T1, headerRequestId="m1", request_option_model='"gpt-4.1"'),
        ]
    ],
    "injected messages are no turns": [
        [
            snapshot(
                [
                    SYSTEM,
                    says("user", "<environment_info>\nx\n</environment_info>"),
                    says("user", "<context>c</context>\n<userRequest>\nWhy?\n</userRequest>"),
                    says("assistant", "So."),
                    says("user", "<conversation-summary>\nold"),
                ],
                headerRequestId="h1",
            ),
            event("conversation.messageText", {"source": "user", "headerRequestId": "h1", "mode": "ask"}),
            event(
                "conversation.messageText",
                {"source": "user", "conversationId": "c1", "turnIndex": 0, "mode": "edit"},
            ),
        ]
    ],
    "an answer closes the conversation": [
        [
            snapshot([SYSTEM, says("user", "a")], modelCallId="k1", headerRequestId="h1", request_option_n="1"),
            snapshot([says("assistant", "late")], T1, modelCallId="k2", headerRequestId="h1", baseModel="m-1"),
            snapshot([says("assistant", "early")], T0, modelCallId="k1", headerRequestId="h2", baseModel="m-2"),
        ],
        [
            snapshot([SYSTEM, says("user", "a")], T1, "c2", headerRequestId="h1", request_option_n="1"),
            snapshot([says("assistant", "before")], T0, "c2", headerRequestId="h1"),
            snapshot([says("assistant", "at once", tool_calls=[CALL])], T1, "c2", headerRequestId="h1", baseModel="x"),
            event("interactiveSessionResponse", {"sessionId": "c2", "requestId": "h1", "baseModel": "y"}),
        ],
    ],
    "a sub-agent has a conversation of its own": [
        [
            snapshot([SYSTEM, says("user", "a"), says("user", "b")], messageId="m1", subType="subagent/search"),
            snapshot([SYSTEM, says("user", "a")], messageId="m1", headerRequestId="h1"),
            snapshot([SYSTEM, says("user", "z")], messageId="m1", parentToolCallId="t9", subType="subagent"),
            event(
                "conversation.messageText",
                {"source": "user", "conversationId": "c1", "turnIndex": 0, "mode": "agent"},
            ),
        ]
    ],
    "other dialects": [
        [
            snapshot(
                [says("user", "go"), says("assistant", BLOCKS), says("user", RESULTS)],
                **{"request.option.system": '[{"type":"text","text":"Be "},{"type":"text","text":"kind."}]'},
            ),
            snapshot(
                [
                    {"role": 0, "content": "Sys"},
                    {"role": 1, "content": ["a", {"text": "b"}, {"type": "image_url"}]},
                    {"role": "function", "content": "", "tool_call_id": "t1"},
                    {"role": "assistant", "content": None, "cot_summary": "Thought."},
                    {"role": "assistant", "content": ""},
                    {"role": None, "content": "lost"},
                    {"content": "lost"},
                    "lost",
                ],
                conversation="c2",
            ),
        ]
    ],
    "cut and gapped messages": [
        [
            snapshot((json.dumps([SYSTEM, says("user", "x" * 20000)]) + " " * 8192)[: 8192 * 2], T0, "c1"),
            snapshot(json.dumps([SYSTEM, says("user", "ok"), says("user", "\\" * 9000)])[:8192], T0, "c2"),
            snapshot(json.dumps([SYSTEM, says("user", "gap")])[:-5], T0, "c3", messagesJson_03="tail"),
            snapshot(json.dumps([SYSTEM, says("user", "torn")])[:-5], T0, "c4"),
            snapshot(json.dumps([SYSTEM])[:-1], T0, "c5", messagesJson_002=', {"role":"user","content":"3 digits"}]'),
            snapshot({"messages": [SYSTEM]}, T0, "c6"),
            snapshot({"items": [SYSTEM]}, T0, "c7"),
            snapshot('[{"role":"system","content":"\ud83d', T0, "c8", messagesJson_02='\ude00"}]'),
        ]
    ],
    "calls rebuilt from their parts": [MODEL_CALL, MODEL_CALL],
    "context properties": [
        [
            event("participantDetectionContext", {"conversationId": "c1", "fileExcerpt": "[1, 2"}),
            event("participantDetectionContext", {"conversationId": "c1", "fileExcerpt": "x", "assignedIntent": "fix"}),
            snapshot([SYSTEM, says("user", "a")], attachedContext='["a"]', contextTypes="none"),
        ]
    ],
    "times of every kind": [
        [
            snapshot([SYSTEM, says("user", time)], time, timestamp=own)
            for time in (T0, T0_ELSEWHERE, "2025-08-17 09:00:01", "soon", "")
            for own in ("", "2025-08-17T09:00:00.0000019Z", 5)
        ]
    ],
}


# --- made up by Hypothesis ------------------------------------------------------------------------------------------

times = st.sampled_from((T0, T0, T1, T0_ELSEWHERE, "2025-08-17T09:00:00.0000009Z", "soon", "", None))
conversations = st.sampled_from(("c1", "c1", "c1", "c1", "c2", ""))
headers = st.sampled_from(("h1", "h1", "h1", "h2"))
message_ids = st.sampled_from(("m1", "h1"))
models = st.sampled_from(("gpt-4o", "gpt-4o-2024-05-13", "GPT-4o", "auto", "o3", " o3 ", "", "unknown"))
modes = st.sampled_from(("ask", "agent", "", "custom"))
turns = st.sampled_from(("0", "1", 0, 1, "2", "x", "", -1, None, 1.0, True, "01"))
texts = st.sampled_from(
    (
        "",
        "",
        "a",
        "a b",
        "a \n b",
        "<context>x</context>",
        "<context>x</context> <userRequest>@workspace a</userRequest>",
        "<conversation-summary>",
    )
)
blocks = st.sampled_from((*BLOCKS, *RESULTS, {"type": "tool_result"}, {"type": "text"}, None, 3, {"text": "t"}))
contents = st.one_of(texts, texts, texts, st.lists(blocks, max_size=3), st.sampled_from((None, 7, {"text": "t"})))
roles = st.sampled_from(
    ("system", "system", "user", "user", "assistant", "assistant", "tool", "tool", "developer", 1, 4, None, True, "odd")
)
messages = st.fixed_dictionaries(
    {"role": roles, "content": contents},
    optional={
        "tool_calls": st.sampled_from(([], [CALL], [CALL, {"id": "t2"}], None, "no")),
        "tool_call_id": st.sampled_from(("t1", "t2", "", None, 3)),
        "reasoning_text": st.sampled_from(("Hm.", "", None)),
        "name": st.just("ana"),
    },
)


HISTORIES: tuple[list[Any], ...] = (
    [SYSTEM, says("user", "a"), says("assistant", "", tool_calls=[CALL]), says("tool", "ok", tool_call_id="t1")],
    [SYSTEM, says("user", "a"), says("assistant", "a"), says("tool", "ok"), says("assistant", "a b c")],
    [SYSTEM, says("user", "<context>x</context>"), says("assistant", "a b", tool_calls=[CALL]), says("tool", "okay")],
    [says("user", "a b"), says("assistant", "a b", tool_calls=[CALL])],
)


@st.composite
def message_lists(draw: st.DrawFn) -> list[Any]:
    """Return histories with common beginnings."""
    common: list[Any] = draw(st.sampled_from(HISTORIES))
    cut = draw(st.integers(1, len(common)))
    return common[:cut] + draw(st.lists(st.one_of(messages, messages, messages, st.just("odd")), max_size=2))


answers = st.lists(
    st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": texts}, optional={"tool_calls": st.just([CALL]), "name": st.just("x")}
    ),
    min_size=1,
    max_size=2,
)
ids = {
    "headerRequestId": headers,
    "messageId": message_ids,
    "modelCallId": st.sampled_from(("k1", "k1", "k2")),
    "subType": st.sampled_from(("other", "other", "other", "subagent/search")),
    "parentToolCallId": st.sampled_from(("t1", "")),
}
inputs = st.fixed_dictionaries(
    {"messagesJson": message_lists(), "conversationId": conversations},
    optional={
        **ids,
        "baseModel": models,
        "request.option.model": st.sampled_from(('"gpt-4o"', '"auto"', "o3", '"o3', "undefined", "null", "7")),
        "request_option_model": st.sampled_from(('"o3"', "")),
        "request_option_system": st.sampled_from(('"Be kind."', "[]", '[{"text":"Be"}]', "Be", "undefined", "{}")),
        "turnIndex": turns,
        "intent": st.sampled_from(("fix", "", 3)),
        "timestamp": times,
        "attachedContext": st.sampled_from(('["a"]', "a", "{", "", [1])),
    },
)
outputs = st.fixed_dictionaries(
    {"messagesJson": answers, "conversationId": conversations}, optional={**ids, "baseModel": models}
)
text_properties = st.fixed_dictionaries(
    {"source": st.sampled_from(("user", "user", "user", "model")), "mode": modes, "conversationId": conversations},
    optional={"turnIndex": turns, "headerRequestId": headers, "messageId": message_ids},
)
session_properties = st.fixed_dictionaries(
    {"requestId": headers, "baseModel": models},
    optional={"sessionId": conversations, "conversationId": conversations, "model": models},
)
named_properties = st.one_of(
    st.tuples(st.just("engine.messages"), inputs),
    st.tuples(st.just("engine.messages"), inputs),
    st.tuples(st.just("engine.messages"), outputs),
    st.tuples(st.sampled_from(("conversation.messageText", "inlineConversation.messageText")), text_properties),
    st.tuples(st.sampled_from(("interactiveSessionMessage", "interactiveSessionResponse")), session_properties),
    st.tuples(st.sampled_from(("participantDetectionContext", "engine.messages.length")), inputs),
)


@st.composite
def single_events(draw: st.DrawFn) -> list[Json]:
    """Return one event in one of the envelopes; its messages as text, as parts with a gap or without, or as a list."""
    name, properties = draw(named_properties)
    found = properties.get("messagesJson")
    if found is not None and draw(st.integers(0, 4)):
        text = json.dumps(found)
        properties = {**properties, "messagesJson": text}
        cut = draw(st.sampled_from((None, None, None, 10, len(text) // 2, len(text) - 3)))
        if cut:
            number = draw(st.sampled_from(("02", "02", "03", "002")))
            properties |= {"messagesJson": text[:cut], f"messagesJson_{number}": text[cut:]}
    time = draw(times)
    full_name = draw(st.sampled_from((f"copilot-chat/{name}", name, f"GitHub.copilot.chat/{name}")))
    envelope = draw(st.integers(0, 3))
    if envelope == 0:
        return [{"name": full_name, "time": time, "properties": properties}]
    if envelope == 1:
        return [{"name": full_name, "timestamp": time, "customDimensions": json.dumps(properties)}]
    return [{"name": "Event", "time": time, "data": {"baseData": {"name": full_name, "properties": properties}}}]


@st.composite
def model_calls(draw: st.DrawFn) -> list[Json]:
    """Return the events of one model call, some of which may be lost or in another order."""
    call: Json = draw(
        st.fixed_dictionaries(
            {"modelCallId": st.sampled_from(("k1", "k3"))},
            optional={
                "conversationId": st.sampled_from(("c1", "c2", "unknown")),
                "headerRequestId": st.sampled_from(("h1", "h2", "unknown")),
                "requestOptionsId": st.just("o1"),
                "turnIndex": turns,
            },
        )
    )
    history = draw(message_lists())
    uuids = [f"u{number}-{draw(st.sampled_from('ab'))}" for number in range(len(history))]
    chunks = draw(st.integers(1, 2))
    made = model_event("modelCall.input", "messageUuids", uuids, chunks, **call)
    for uuid, item in zip(uuids, history, strict=True):
        made += model_event("message.added", "messageJson", item, draw(st.integers(1, 2)), messageUuid=uuid)
    if draw(st.booleans()):
        made += model_event("modelCall.output", "messageUuids", ["answer"], **call)
        made += model_event("message.added", "messageJson", says("assistant", "b"), messageUuid="answer")
    asked = {"conversationId": draw(conversations), "headerRequestId": "h1", "intent": "fix", "subType": "other"}
    made.append(event("model.request.added", asked))
    options = {"request.option.model": draw(models), "baseModel": "o3", "request.option.system": "Be kind."}
    made += model_event("request.options.added", "requestOptionsJson", options, requestOptionsId="o1")
    lost = draw(st.sets(st.integers(0, 3 * len(made)), max_size=2))
    made = [record for number, record in enumerate(made) if number not in lost]
    return draw(st.permutations(made)) if draw(st.booleans()) else made


@st.composite
def streams(draw: st.DrawFn) -> list[list[Json]]:
    """Return files that share some of their events."""
    some = st.one_of(*[single_events()] * 6, model_calls())
    pool = [record for records in draw(st.lists(some, min_size=4, max_size=12)) for record in records]
    numbers = st.lists(st.sampled_from(range(len(pool))), max_size=8)
    return [pool, *([pool[index] for index in again] for again in draw(st.lists(numbers, max_size=2)))]
