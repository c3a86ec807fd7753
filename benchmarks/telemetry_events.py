"""The parts of made-up telemetry that all events share: texts, common properties, long properties, envelopes."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from benchmarks.words import Words

Properties = dict[str, Any]

PART = 8192  # UTF-16 units
MOST_PARTS = 50
BEGINNING = datetime(2025, 8, 17, 6, tzinfo=UTC)
TOOL_NAMES = ("read_file", "grep_search", "run_in_terminal", "replace_string_in_file", "list_dir", "semantic_search")

_encode = msgspec.json.Encoder().encode


def json_text(value: object) -> str:
    """JSON as JavaScript writes it: no spaces, characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class TextPool:
    """Texts made once and used again: their number decides how much memory a generator needs, not how much it writes.

    Longer ones are kept as JSON strings without the opening quote, so that something of its own can stand before each.
    """

    def __init__(self, rng: random.Random, *, is_ascii: bool) -> None:
        self.rng = rng
        self.words = Words(rng)
        self.is_ascii = is_ascii
        self.systems = [self._clean(self._long_prose(rng.randint(10_000, 20_000))) for _ in range(5)]
        self.tools = [self._tools(rng.randint(30_000, 60_000)) for _ in range(5)]
        self.results = [json_text(self._clean(self._result()))[1:] for _ in range(300)]
        self.answers = [json_text(self._clean(self.words.prose(4, 40)))[1:] for _ in range(200)]

    def prose(self, least: int, most: int) -> str:
        return self._clean(self.words.prose(least, most))

    def code(self, lines: int) -> str:
        return self._clean(self.words.code(lines))

    def _clean(self, text: str) -> str:
        return text.encode("ascii", "ignore").decode() if self.is_ascii else text

    def _long_prose(self, size: int) -> str:
        text = (
            "You are an expert AI programming assistant, working with a user in the VS Code editor.\n<instructions>\n"
        )
        while len(text) < size:
            text += self.words.prose(5, 15) + "\n"
        return text + "</instructions>"

    def _result(self) -> str:
        """What a tool gave back: 0.2 to 20 KB, most of it short."""
        size = int(200 * 100 ** (self.rng.random() ** 1.4))
        text = self.words.code(size // 30 + 1)
        return text[:size].rstrip()

    def _tools(self, size: int) -> str:
        tools: list[Properties] = []
        length = 0
        while length < size:
            about = {"type": "string", "description": self.prose(2, 6)}
            schema = {"type": "object", "properties": {"filePath": about, "query": about}, "required": ["filePath"]}
            name = f"{self.rng.choice(TOOL_NAMES)}_{len(tools)}"
            tools.append({"type": "function", "function": {"name": name, "description": self.prose(5, 20)}})
            tools[-1]["function"]["parameters"] = schema
            length += len(json_text(tools[-1]))
        return json_text(tools)


class Sender:
    """One person's editor: it knows the time, and how a sink spells an event."""

    def __init__(self, rng: random.Random, number: int) -> None:
        self.rng = rng
        self.is_github = rng.random() < 0.7
        self.is_flat = rng.random() < 0.1
        self.at = BEGINNING + timedelta(seconds=rng.uniform(0, 60) + number * 20)
        self.common = self._common_properties()

    def uuid(self) -> str:
        digits = f"{self.rng.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def line(self, name: str, properties: Properties, measurements: dict[str, float] | None = None) -> bytes:
        """One event as a line; MS spells with dots, GH with underscores, and leaves out what is empty."""
        self.at += timedelta(milliseconds=self.rng.randint(1, 2500))
        time = self.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        if self.is_github:
            properties = {key.replace(".", "_"): value for key, value in properties.items() if value != ""}
        properties = {**properties, "unique_id": self.uuid(), **self.common}
        full_name = f"copilot-chat/{name}" if self.is_github else f"GitHub.copilot-chat/{name}"
        if self.is_flat:
            record: Properties = {"name": full_name, "time": time, "properties": properties}
            record["measurements"] = measurements or {}
        else:
            base = {"ver": 2, "name": full_name, "properties": properties, "measurements": measurements or {}}
            record = {"name": "Microsoft.ApplicationInsights.Event", "time": time, "iKey": "ikey-made-up"}
            record |= {"tags": {"ai.session.id": self.common["vscodesession"], "ai.cloud.roleInstance": "REDACTED"}}
            record["data"] = {"baseType": "EventData", "baseData": base}
        try:
            return _encode(record)
        except UnicodeEncodeError:  # half a character at the end of a part: JavaScript writes it as an escape
            return json_text(record).encode("utf-8", "backslashreplace")

    def _common_properties(self) -> Properties:
        rng = self.rng
        dot = "_" if self.is_github else "."
        machine = f"{rng.randrange(40):064x}"
        values = {
            "editor_version": "vscode/1.103.1",
            "editor_plugin_version": "copilot-chat/0.30.1",
            "client_machineid": machine,
            "client_sessionid": self.uuid(),
            "client_deviceid": machine[-36:],
            "copilot_version": "0.30.1",
            "copilot_build": "1",
            "copilot_buildType": "prod",
            "copilot_trackingId": machine[-32:],
            "organizations_list": "[]",
            "enterprise_list": "[]",
            "abexp.assignmentcontext": ";".join(f"flight{rng.randrange(10_000)}" for _ in range(25)),
            "vscodesession": self.uuid(),
        }
        names = "extname extversion vscodeversion os platformversion arch cpu vscodemachineid vscodesessionid uikind"
        names += " remotename isnewappinstall tid sku"
        values |= {f"common{dot}{name}": f"{name}-{rng.randrange(9)}" for name in names.split()}
        settings = "enable inlineSuggest.enable nextEditSuggestions.enabled chat.agent.autoFix chat.localeOverride"
        settings += " chat.useProjectTemplates chat.scopeSelection chat.edits.enabled chat.startDebugging.enabled"
        settings += (
            " chat.codesearch.enabled chat.summarizeAgentConversationHistory.enabled chat.virtualTools.threshold"
        )
        values |= {f"github.copilot.{name}".replace(".", dot): "true" for name in settings.split()}
        return values


def put(properties: Properties, key: str, text: str) -> None:
    """Set a long property as the extension does: cut into parts of 8,192 UTF-16 units, at most 50 of them."""
    if text.isascii():
        parts = [text[start : start + PART] for start in range(0, min(len(text), PART * MOST_PARTS), PART)]
    else:
        units = text.encode("utf-16-le")
        starts = range(0, min(len(units), 2 * PART * MOST_PARTS), 2 * PART)
        parts = [units[start : start + 2 * PART].decode("utf-16-le", "surrogatepass") for start in starts]
    for number, part in enumerate(parts, start=1):
        properties[key if number == 1 else f"{key}_{number:02}"] = part
