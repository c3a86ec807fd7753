"""Telemetry at the edges of the rules, one small file each: where two readings of a rule would first differ."""

from __future__ import annotations

import json
from typing import Any

from tests.telemetry_streams import CALL, MODEL_CALL, RESULTS, SYSTEM, T0, T1, event, says, snapshot

Json = dict[str, Any]

USER = says("user", "a")
OTHER: Json = {"name": "copilot-chat/request.sent"}  # so that no file is a single object
ONE, TWO, THREE = (json.dumps(snapshot([SYSTEM, USER], conversation=name)).encode() for name in ("c1", "c2", "c3"))
LONG_SYSTEM = json.dumps([{"type": "text", "text": "x" * 9000}])
SYSTEM_TEXT = json.dumps(SYSTEM)


def lines(*records: Json) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in (*records, OTHER))


def mode(mode: Any, **properties: Any) -> Json:
    return event("conversation.messageText", {"source": "user", "mode": mode, **properties})


def session(event_name: str = "Response", time: str = T0, **properties: Any) -> Json:
    return event(f"interactiveSession{event_name}", {"sessionId": "c1", "requestId": "h1", **properties}, time)


def call(uuids: str, **properties: Any) -> Json:
    ids = {"modelCallId": "k1", "conversationId": "c1", "messageUuids": uuids}
    return event("model.modelCall.input", {**ids, **properties})


def message(text: str, uuid: str = "u1", **properties: Any) -> Json:
    return event("model.message.added", {"messageUuid": uuid, "messageJson": text, **properties})


FILES = {
    "an array": b"[" + ONE + b"," + TWO + b"]",
    "an array after a mark and space": b"\xef\xbb\xbf \n[" + ONE + b"]",
    "an array that breaks": b"[\n" + ONE + b",\n" + TWO + b",\n{bad}," + THREE + b"\n]",
    "an array with broken characters": b"[\n" + ONE + b',{"x":"\xff"},' + TWO + b"]",
    "an array of this and that": b"[1,\n" + ONE + b",null,[{}],\n" + TWO + b"]",
    "an array and then more": b"[\n" + ONE + b"]\n" + TWO,
    "a short array before lines": b"[1]\n" + ONE + b"\n",
    "objects over several lines": b"".join(json.dumps(json.loads(one), indent=1).encode() for one in (ONE, TWO)),
    "objects on one line": ONE + TWO,
    "objects on the first of some lines": ONE + TWO + b"\n" + THREE + b"\n",
    "one object": ONE,
    "a first line cut in a text": b'{"name":"x","a":"cut\n' + ONE + b"\n" + TWO + b"\n",
    "a first line cut after a comma": b'{"name":"x",\n' + ONE + b"\n" + TWO + b"\n",
    "a broken first line": b"{bad}\n" + ONE + b"\n",
    "blank lines and carriage returns": b"\r\n\r\n" + ONE + b"\r\n \r\n" + TWO + b"\r\n",
    "lines after a mark": b"\xef\xbb\xbf" + ONE + b"\n" + TWO + b"\n",
    "control characters": ONE.replace(b'"c1"', b'"c\x01\t4"') + b"\n" + TWO + b"\x00\n" + THREE + b" and more\n",
    "broken characters": ONE.replace(b'"c1"', b'"c\xc3"') + b"\n" + TWO + b"\n",
    "two objects on a line": TWO + ONE + b"\n" + b"xx" + THREE + b"\n" + lines(),
}

MODELS: tuple[Any, ...] = (
    "7",
    '["x"]',
    "true",
    '"undefined"',
    '"null"',
    '" "',
    "'x'",
    ' "x" ',
    '""x"',
    "null",
    7,
    None,
    "",
)
PARTS: list[tuple[str, Json]] = [
    ('[{"role":"system",', {"02": '"content":"two"}]', "002": '"content":"three"}]'}),
    ('[{"role":"system",', {"002": '"content":"three"}]', "02": '"content":"two"}]'}),
    ('[{"role":"system","content":"x"}, {', {"02": "", "03": "}]"}),
    ('[{"role":"system","content":"x"}, {', {"02": ""}),
    ('[{"role":"system","content":"x"}', {"2": "]"}),
    ('[{"role":"system","content":"x"}', {"01": "x", "02": "]"}),
    ('[{"role":"system","content":"x"}', {"02": 5, "03": "]"}),
    ('[{"role":"system","content":"x"}', {"02": 5}),
    ('[{"role":"system","content":"x"}', {"0002": "]"}),
    ('[{"role":"system","content":"x"}][{"role":"user","content":"a"}, {', {"09": "x"}),
    ('[{"role":"system","content":"x"}, 5, "a]}", {"a":[{}', {"09": "x"}),
    ('[{"role":"system","content":"x"}}, {"role":"user"}', {"09": "x"}),
    (' [{"role":"system","content":"x"}, {', {"09": "x"}),
]
PROPERTIES: dict[str, list[Json]] = {
    "request models": [
        snapshot([SYSTEM, USER], T0, f"c{number}", **{"request.option.model": model})
        for number, model in enumerate(MODELS)
    ],
    "system options": [
        snapshot([USER], conversation=f"c{number}", request_option_system=system)
        for number, system in enumerate(('{"text":"Be"}', [{"text": "Be"}], "undefined", "5", '"Be"', "Be", ""))
    ],
    "a system option and messages": [
        snapshot([], conversation="c1", request_option_system='"Be"'),
        snapshot([says("system", ""), USER], conversation="c2", request_option_system='"Be"'),
        snapshot([says("developer", "x"), USER], conversation="c3", request_option_system='"Be"'),
    ],
    "a long system option": [
        snapshot(
            [USER],
            conversation=f"c{number}",
            **{"request.option.system": LONG_SYSTEM[:8192], f"request.option.system_{number:02}": LONG_SYSTEM[8192:]},
        )
        for number in (2, 3)
    ],
    "a short system option with a part": [
        snapshot([USER], **{"request.option.system": '"Be"', "request.option.system_02": "x"})
    ],
    "last roles nobody knows": [
        snapshot([SYSTEM, says("odd", "x")], baseModel="b", **{"request.option.model": '"x"'}),
        snapshot([SYSTEM, says("odd", "x")], conversation="c2", baseModel="b"),
        snapshot([SYSTEM, says("", "x"), says(" user ", "y")], conversation="c3"),
    ],
    "messages in an object": [
        event("engine.messages", {"conversationId": "c1", "messagesJson": {"messages": [SYSTEM]}}),
        event("engine.messages", {"conversationId": "c2", "messagesJson": {"items": [SYSTEM]}}),
        event("engine.messages", {"conversationId": "c3", "messagesJson": [SYSTEM], "messagesJson_02": "[]"}),
        event("engine.messages", {"conversationId": "c4", "messagesJson_02": "[]"}),
    ],
    "odd parts": [
        snapshot(text, conversation=f"c{number}", **{f"messagesJson_{key}": part for key, part in parts.items()})
        for number, (text, parts) in enumerate(PARTS)
    ],
    "answers and options": [
        snapshot([SYSTEM, USER], headerRequestId="h1"),
        snapshot([says("assistant", "empty")], T1, headerRequestId="h1", request_option_n="", request_options="x"),
        snapshot([SYSTEM, USER], None, "c2", headerRequestId="h1"),
        snapshot([says("assistant", "no time")], None, "c2", headerRequestId="h1"),
        snapshot([SYSTEM, USER], T1, "c3", modelCallId="k1"),
        snapshot([says("assistant", "sooner")], T0, "c3", modelCallId="k1"),
        snapshot([says("assistant", RESULTS)], T1, "c3", modelCallId="k1"),
    ],
    "an answer that the session contradicts": [
        snapshot([SYSTEM, USER], headerRequestId="h2", messageId="h1"),
        snapshot([says("assistant", "z")], T1, headerRequestId="h2", messageId="m2", baseModel="b"),
        session(requestId="m2", baseModel="q"),
        session(baseModel="b"),
    ],
    "an answer for a sub-agent": [
        snapshot([SYSTEM, USER], headerRequestId="h1", subType="subagent"),
        snapshot([SYSTEM, USER], subType="subagent"),
        snapshot([SYSTEM, USER], subType="Subagent"),
        snapshot([says("assistant", "z")], T1, headerRequestId="h1"),
        snapshot([says("assistant", "y")], T1, headerRequestId="h1", subType="subagent"),
    ],
    "two donors": [
        snapshot([SYSTEM, says("assistant", "a"), says("tool", "b", tool_call_id="t1")]),
        snapshot([SYSTEM, says("assistant", "a", tool_calls=[CALL])]),
        snapshot([SYSTEM, says("assistant", "a"), says("tool", "b"), USER], T1),
    ],
    "a conflict that is handed on": [
        snapshot([SYSTEM, USER], headerRequestId="h1", **{"request.option.model": '"x"'}),
        session(baseModel="q"),
        snapshot([SYSTEM, USER, USER], headerRequestId="h2"),
    ],
    "names that contradict": [
        {"name": "a/engine.messages", "data": {"baseData": {"name": "x/other", "properties": {}}}},
        {"name": "engine.messages", "time": T0, "properties": json.dumps({"conversationId": "c1"})},
        {"name": "/engine.messages", "timestamp": T0, "customDimensions": {"messagesJson": [SYSTEM]}},
    ],
    "contents of any kind": [
        snapshot(
            [
                SYSTEM,
                says("assistant", "", tool_calls={"a": 1}),
                says("assistant", "", tool_calls=[None]),
                says("user", "", tool_calls=[1]),
                says("tool", RESULTS, tool_call_id="own"),
                says("user", [{"type": "tool_result", "tool_use_id": 5, "content": {"a": 1}}, [{"text": "no"}]]),
                says("user", [{"type": ["text"], "text": "u"}, {"type": "image", "text": "t"}]),
                says("assistant", [{"type": "redacted_thinking", "data": "d", "text": "r"}], cot_id="x"),
                says("assistant", [{"type": "thinking", "text": "T"}], reasoning_opaque="x"),
                says("user", "x", missing=True, merged=["a"], mode="ask", model="m", appended=True),
                says("user", '\u2028\x7f\x00\x1f\b\f\n\r\t"\\/é\U0001f600\ud83d'),
            ]
        )
    ],
    "odd facts": [
        snapshot([SYSTEM, USER], headerRequestId="h1", messageId=["a"], intent={"a": 1}),
        mode(5, headerRequestId="h1"),
        mode(["ask"], headerRequestId="h1"),
        mode(" ask ", conversationId="c1", turnIndex="00"),
        session(baseModel=5, model="X"),
        session("Request", T1, conversationId="c1", model="other"),
        session(sessionId="", conversationId="c1", baseModel="UNDEFINED", model=" q "),
        session(sessionId="zz", conversationId="c1", model="zz"),
    ],
    "context properties": [
        snapshot([SYSTEM], attachedContext=5, contextTypes=[], fileExcerpt={}, activeSelection=False),
        snapshot([SYSTEM], conversation="c2", detectedParticipant=" [1] ", assignedIntent="null", contextTypes=""),
        event("participantDetectionContext", {"conversationId": "c2", "contextTypes": "later"}),
        snapshot([SYSTEM], conversation="c2", subType="subagent", messageId="m1"),
    ],
    "odd chunks": [call('["u1","u2",5,null]', chunkIndex="x"), message(SYSTEM_TEXT), message("[1]", "u2")],
    "no chunks at all": [call('["u1"]', totalChunks="0"), message(SYSTEM_TEXT)],
    "a message of no chunks": [call('["u1","u2"]'), message(SYSTEM_TEXT), message(SYSTEM_TEXT, "u2", totalChunks=0)],
    "a message that is none": [call('["u1","u2"]'), message(SYSTEM_TEXT), message("5", "u2")],
    "totals that contradict": [
        call('["u1"]'),
        message(SYSTEM_TEXT[:10], totalChunks="2"),
        message(SYSTEM_TEXT[10:], chunkIndex=1, totalChunks="3"),
    ],
    "a call whose chunks contradict": [
        call('["u1"', chunkIndex=0, totalChunks=2),
        call("]", conversationId="c2", chunkIndex=1, totalChunks=2),
        message(SYSTEM_TEXT),
    ],
    "ids that are unknown": [
        call('["u1","u2"]', headerRequestId="unknown"),
        call('["u1"]', modelCallId="unknown", conversationId="c2"),
        event("model.request.added", {"headerRequestId": "unknown", "intent": "i"}),
        message(SYSTEM_TEXT),
        message(json.dumps(USER), "u2"),
        mode("ask", headerRequestId="unknown"),
    ],
    "a call without an answer": [*MODEL_CALL[1:], snapshot([says("assistant", "So!")], T1, modelCallId="k1")],
    "a call that knows no message": [call('["u1"]')],
    "calls against snapshots": [*MODEL_CALL, snapshot([SYSTEM, USER, USER, USER])],
}
FILES |= {name: lines(*records) for name, records in PROPERTIES.items()}
