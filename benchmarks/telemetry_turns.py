"""Made-up conversations of Copilot Chat as the telemetry of their turns and rounds."""

from __future__ import annotations

import json
from collections.abc import Iterator

from benchmarks.telemetry_events import TOOL_NAMES, Properties, Sender, TextPool, json_text, put

MODELS = ("gpt-4.1", "claude-sonnet-4", "gpt-5-mini", "gemini-2.5-pro", "auto")
MODES = ("agent", "agent", "agent", "ask", "edit", "custom", "plan")
CHAT, RESPONSES, ANTHROPIC = "chatCompletions", "responses", "messages"  # the dialects, by the names of their APIs


class ConversationMaker:
    """Makes up one conversation: its history as JSON texts of single messages, and the events of each round."""

    def __init__(self, pool: TextPool, sender: Sender) -> None:
        self.pool = pool
        self.sender = sender
        self.rng = sender.rng
        self.id = sender.uuid()
        self.api = self.rng.choices((CHAT, RESPONSES, ANTHROPIC), (80, 10, 10))[0]
        self.model = "claude-sonnet-4" if self.api == ANTHROPIC else self.rng.choice(MODELS)
        self.system = self.rng.choice(pool.systems)
        self.tools = self.rng.choice(pool.tools)
        self.is_long = self.rng.random() < 0.04  # its last snapshots are cut when they are sent
        self.history: list[str] = []
        self.calls = 0

    def rounds(self) -> Iterator[list[bytes]]:
        """The lines of the conversation, round by round."""
        self.history = self._beginning()
        for index in range(10 if self.is_long else 1 + int(10 * self.rng.random() ** 2.2)):
            if index > 3 and self.rng.random() < 0.05:
                summary = f"<conversation-summary>\n{self.pool.prose(5, 20)}\n</conversation-summary>"
                self.history = [*self._beginning(), self._message("user", summary)]
            yield from self._turn(index)

    def _beginning(self) -> list[str]:
        context = (
            "<environment_info>\nThe user's current OS is: Linux\n</environment_info>\n<workspace_info>\n"
            f"I am working in a workspace with the following folders:\n- /home/ana/{self.pool.words.word()}\n"
            f"{self.pool.code(self.rng.randint(5, 40))}</workspace_info>"
        )
        system = [] if self.api == ANTHROPIC else [self._message("system", self.system)]
        return [*system, self._message("user", context)]

    # --- turns and rounds -------------------------------------------------------------------------------------------

    def _turn(self, index: int) -> Iterator[list[bytes]]:
        rng, sender = self.rng, self.sender
        message_id = sender.uuid()
        header_id = sender.uuid() if rng.random() < 0.1 else message_id  # the server may have given another one
        turn: Properties = {"conversationId": self.id, "messageId": message_id, "headerRequestId": header_id}
        turn |= {"mode": rng.choice(MODES), "turnIndex": index, "request": self.pool.prose(1, 6)}
        self.history.append(self._message("user", self._user_text(turn["request"])))
        count = rng.randint(8, 15) if self.is_long else 1 + int(15 * rng.random() ** 1.7)
        after_marker = len(self.history)
        for number in range(count):
            answer = "" if number < count - 1 and rng.random() < 0.6 else rng.choice(self.pool.answers)
            calls = 0 if number == count - 1 else rng.choice((1, 1, 1, 2, 3))
            is_suffix = self.api == RESPONSES and number > 0 and rng.random() < 0.6
            sent = self.history[after_marker:] if is_suffix else self.history
            after_marker = len(self.history)
            yield [
                *self._engine_events(turn, sent, answer, calls, is_suffix=is_suffix),
                *self._text_events(turn, answer),
                *self._small_events(turn, number),
            ]
            self._answer(answer, calls)
            if calls and rng.random() < 0.02:
                yield from self._subagent(turn)
        if rng.random() < 0.3:
            yield [self._title_event(turn)]

    def _engine_events(
        self, turn: Properties, sent: list[str], answer: str, calls: int, *, is_suffix: bool = False, **more: str
    ) -> list[bytes]:
        """The snapshot that a round sends, and what came back."""
        ids = {key: turn[key] for key in ("conversationId", "messageId", "headerRequestId")}
        ids |= {"modelCallId": self.sender.uuid(), "messageSource": "chat.editAgent", "uiKind": "conversationPanel"}
        ids |= more
        asked = {**ids, "endpoint": "completions", "engineName": "chat", "transport": "http"}
        asked |= self._options(is_suffix=is_suffix)
        put(asked, "messagesJson", f"[{','.join(sent)}]")
        resolved = "gpt-4.1-2025-04-14" if self.model in ("auto", "gpt-4.1") else self.model
        given = {**ids, "baseModel": resolved, "completionId": self.sender.uuid(), "created": "1755421964"}
        message: Properties = {"role": "assistant", "content": self._text_of(answer)}
        if self.api == ANTHROPIC and calls:
            message["tool_calls"] = [self._call(number) for number in range(calls)]
        put(given, "messagesJson", json_text([message]))
        lengths = {**ids, "message_direction": "input", "messagesJson": json_text([{"role": "user", "content": 812}])}
        tokens = {"promptTokens": 9000.0, "completionTokens": 120.0, "totalTokens": 9120.0}
        return [
            self.sender.line("engine.messages", asked, {"maxTokenWindow": 128000.0, "totalTimeMs": 5120.0}),
            self.sender.line("engine.messages.length", lengths),
            self.sender.line("engine.messages", given, tokens),
        ]

    def _options(self, *, is_suffix: bool) -> Properties:
        options: Properties = {"request.option.model": json_text(self.model), "request.option.stream": "true"}
        options |= {"request.option.temperature": "0", "request.option.top_p": "1", "request.option.n": "1"}
        options |= {"request.option.max_tokens": "16000", "request.option.prediction": "undefined"}
        put(options, "request.option.tools", self.tools)
        if self.api == ANTHROPIC:
            put(options, "request.option.system", json_text([{"type": "text", "text": self.system}]))
        if is_suffix:
            options["request.option.previous_response_id"] = json_text(f"resp_{self.sender.uuid()}")
        return options

    def _answer(self, answer: str, calls: int) -> None:
        """Let the history grow by what the assistant did."""
        requests = [self._call(number) for number in range(calls)]
        if self.api == ANTHROPIC:
            self._answer_in_blocks(answer, requests)
            return
        asked = f',"tool_calls":{json_text(requests)}' if requests else ""
        if answer or asked:
            self.history.append(f'{{"role":"assistant","content":"{answer or chr(34)}{asked}}}')
        self.history += [
            f'{{"role":"tool","content":"{self._result()},"tool_call_id":"{request["id"]}"}}' for request in requests
        ]
        self.calls += calls

    def _answer_in_blocks(self, answer: str, requests: list[Properties]) -> None:
        blocks = [f'{{"type":"text","text":"{answer}}}'] if answer else []
        if self.rng.random() < 0.3:
            thought = json_text({"type": "thinking", "thinking": self.pool.prose(1, 5), "signature": "opaque"})
            blocks.insert(0, thought)
        for request in requests:
            call = {"id": request["id"], "name": request["function"]["name"], "input": {"filePath": "/home/ana/a.py"}}
            blocks.append(json_text({"type": "tool_use", **call}))
        if blocks:
            self.history.append(f'{{"role":"assistant","content":[{",".join(blocks)}]}}')
        results = [
            f'{{"type":"tool_result","tool_use_id":"{request["id"]}","content":[{{"type":"text","text":"'
            f"{self._result()}}}]}}"
            for request in requests
        ]
        if results:
            self.history.append(f'{{"role":"user","content":[{",".join(results)}]}}')
        self.calls += len(requests)

    def _subagent(self, turn: Properties) -> Iterator[list[bytes]]:
        """A few rounds of a helper that shares the conversation's id."""
        history = [self._message("system", self.pool.prose(20, 60)), self._message("user", self.pool.prose(1, 4))]
        if self.api == ANTHROPIC:
            history = history[1:]
        more = {"subType": "subagent/search", "parentRequestId": turn["messageId"]}
        if self.rng.random() < 0.5:
            more["parentToolCallId"] = f"call_{self.id[:8]}_{self.calls - 1}"
        own = {**turn, "headerRequestId": self.sender.uuid()}
        for _ in range(self.rng.randint(1, 4)):
            yield self._engine_events(own, history, self.rng.choice(self.pool.answers), 0, **more)
            history.append(self._message("assistant", self.pool.prose(1, 3)))
            history.append(self._message("user", self.pool.prose(1, 3)))

    # --- events around the snapshots --------------------------------------------------------------------------------

    def _text_events(self, turn: Properties, answer: str) -> list[bytes]:
        line = self.sender.line
        ids = {key: turn[key] for key in ("conversationId", "messageId", "headerRequestId", "mode")}
        ids["uiKind"] = "conversationPanel"
        asked = {**ids, "source": "user", "turnIndex": str(turn["turnIndex"]), "messageText": turn["request"]}
        given = {**ids, "source": "model", "turnIndex": str(turn["turnIndex"] + 1), "replyType": "none"}
        given["messageText"] = self._text_of(answer)
        session = {"sessionId": self.id, "requestId": turn["messageId"], "chatLocation": "panel", "apiType": self.api}
        session |= {"baseModel": "gpt-4o" if self.rng.random() < 0.03 else self.model, "intent": "editAgent"}
        size = {"promptTokenLen": 100.0, "messageCharLen": float(len(turn["request"]))}
        lines = [line("conversation.messageText", asked, size), line("conversation.messageText", given)]
        if not self.sender.is_github or self.rng.random() < 0.5:
            lines.append(line("interactiveSessionMessage", {**session, "query": turn["request"]}, {"turnNumber": 1.0}))
            session |= {"request": turn["request"], "response": self._text_of(answer)}
            lines.append(line("interactiveSessionResponse", session))
        return lines

    def _small_events(self, turn: Properties, number: int) -> list[bytes]:
        """Events without text: they say nothing of the conversation, but they are most of what is sent."""
        line = self.sender.line
        ids = {key: turn[key] for key in ("conversationId", "messageId", "headerRequestId", "mode")}
        ids["turnIndex"] = str(turn["turnIndex"])
        options = {**ids, "request.option.model": json_text(self.model), "request.option.stream": "true"}
        counts = json_text({name: self.rng.randrange(9) for name in TOOL_NAMES})
        lines = [
            line("request.sent", options),
            line("request.response", options, {"totalTimeMs": 2412.0}),
            line("conversation.message", {**ids, "source": "user"}, {"messageCharLen": 231.0}),
            line("conversation.message", {**ids, "source": "model"}, {"messageCharLen": 1201.0}),
        ]
        if number == 0:
            panel = {"conversationId": self.id, "requestId": turn["messageId"], "model": self.model}
            panel |= {"toolCounts": counts, "promptTypes": "0:12000,1:800,1-name:300", "responseType": "success"}
            lines.append(line("panel.request", panel, {"turn": 1.0, "round": 4.0, "timeToFirstToken": 812.0}))
            lines.append(line("toolCallDetails", {**ids, "toolCounts": counts}, {"numRequests": 5.0}))
        return lines

    def _title_event(self, turn: Properties) -> bytes:
        """A helper's call: it belongs to no conversation."""
        asked: Properties = {"headerRequestId": self.sender.uuid(), "messageSource": "title", "uiKind": "none"}
        asked |= {"request.option.model": '"gpt-4o-mini"', "modelCallId": self.sender.uuid()}
        system, request = self._message("system", "Write a title."), self._message("user", turn["request"])
        put(asked, "messagesJson", f"[{system},{request}]")
        return self.sender.line("engine.messages", asked)

    # --- messages ---------------------------------------------------------------------------------------------------

    def _message(self, role: str, text: str) -> str:
        if self.api == ANTHROPIC:
            return json_text({"role": role, "content": [{"type": "text", "text": text}]})
        return json_text({"role": role, "content": text})

    def _user_text(self, request: str) -> str:
        rng, pool = self.rng, self.pool
        path = f"/home/ana/shop/{pool.words.path()}"
        pieces = []
        if rng.random() < 0.4:
            pieces.append(
                f'<attachments>\n<attachment id="file:{path}" filePath="{path}">\n```python\n'
                f"{pool.code(rng.randint(5, 60))}```\n</attachment>\n</attachments>\n"
            )
        pieces.append("<context>\nThe current date is August 17, 2025.\nTodo list: Empty\n</context>\n")
        pieces.append(f"<editorContext>\nThe user's current file is {path}.\n</editorContext>\n")
        pieces.append(f"<reminderInstructions>\n{pool.prose(2, 8)}\n</reminderInstructions>\n")
        mention = rng.choice(("", "", "@workspace ", "#file:README.md "))
        pieces.append(f"<userRequest>\n{mention}{request}\n</userRequest>")
        return "".join(pieces)

    def _call(self, number: int) -> Properties:
        name = self.rng.choice(TOOL_NAMES)
        arguments = {"filePath": f"/home/ana/shop/{self.pool.words.path()}", "explanation": self.pool.prose(1, 1)}
        call_id = f"call_{self.id[:8]}_{self.calls + number}"
        return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json_text(arguments)}}

    def _result(self) -> str:
        """The rest of a JSON string, closing quote included."""
        return f"Result {self.calls}: {self.rng.choice(self.pool.results)}"

    @staticmethod
    def _text_of(answer: str) -> str:
        """The text of an answer that is kept as the rest of a JSON string."""
        return str(json.loads(f'"{answer}')) if answer else ""
