"""Debug logs: the main log with the files beside it, sub-agents below their calls, and truncated texts completed."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.model import (
    Conversation,
    HelperDocument,
    Hook,
    Notice,
    Prompt,
    Skill,
    Thinking,
    Unknown,
    parts_of,
    prose_of,
)
from copilog.sources.base import Found, Probe
from copilog.sources.extension.debug_logs import DebugLogs
from copilog.sources.roots import StorageFolder
from tests.sources.extension_builders import (
    DATA,
    below,
    calls_in,
    codes,
    lost_texts,
    prose_by_role,
    read,
    read_one,
    read_or_refuse,
    results_in,
    spoiled,
    with_other_values,
    write_json,
    write_lines,
)

SOURCE = DebugLogs()
LOGS = DATA / "debug_logs" / "GitHub.copilot-chat" / "debug-logs"
SESSION = "7d1f0000-0000-4000-8000-00000000000a"
FLAT = LOGS / "7d1f0000-0000-4000-8000-00000000000c.jsonl"
FILES = sorted(path for path in (LOGS / SESSION).iterdir())

Json = dict[str, Any]


@pytest.fixture(scope="module")
def harbour() -> Conversation:
    return read_one(SOURCE, LOGS / SESSION / "main.jsonl")[0]


def entry(kind: str, span: str, ts: int, attrs: Json | None = None, **fields: Any) -> Json:
    made = {"ts": 1777888800000 + ts, "dur": 10, "sid": "s1", "type": kind, "name": kind, "spanId": span}
    return {**made, "status": "ok", "attrs": attrs or {}, **fields}


def asked(text: str, ts: int, span: str = "agent") -> Json:
    return entry("user_message", span, ts, {"content": text})


def chat(span: str, ts: int, text: str | None, *calls: tuple[str, str], parent: str = "agent") -> list[Json]:
    """Make a call of a model and its answer."""
    parts: list[Json] = [{"type": "text", "content": text}] if text else []
    parts += [{"type": "tool_call", "id": call, "name": name, "arguments": {}} for call, name in calls]
    response = json.dumps([{"role": "assistant", "parts": parts}])
    return [
        entry("llm_request", span, ts, {"model": "m", "inputTokens": 10, "outputTokens": 1}, parentSpanId=parent),
        entry("agent_response", f"agent-msg-{span}", ts + 10, {"response": response}, parentSpanId=parent),
    ]


def log(folder: Path, *entries: Any, name: str = "main.jsonl") -> Path:
    return write_lines(folder / "GitHub.copilot-chat" / "debug-logs" / "s1" / name, entries)


# --- where it is ------------------------------------------------------------------------------------------------


def test_files_of_a_session_are_located_including_the_early_flat_form() -> None:
    found = list(SOURCE.locate(StorageFolder(DATA / "debug_logs", "workspace", "Code", None)))

    assert [trace.path for trace in found] == [FLAT, *FILES]
    assert [trace.native_id for trace in found] == [FLAT.stem, *[SESSION] * len(FILES)]


def test_debug_logs_are_recognized_by_path_or_entries(tmp_path: Path) -> None:
    elsewhere = write_lines(tmp_path / "copied.jsonl", [asked("hi", 0)])
    others = [
        write_lines(tmp_path / "events.jsonl", [{"type": "user.message", "data": {}}]),
        write_json(tmp_path / "models.json", []),
        write_json(log(tmp_path).parent / "settings.json", {}),
    ]

    assert [SOURCE.claims(Probe(path)) for path in (elsewhere, *FILES, FLAT)] == [True] * (len(FILES) + 2)
    assert [SOURCE.claims(Probe(path)) for path in others] == [False] * 3
    assert SOURCE.native_id(Probe(elsewhere)) == "s1"


def test_cached_tokens_of_a_call_are_read(tmp_path: Path) -> None:
    call, answer = chat("c", 1, "At nine.")
    call["attrs"]["cachedTokens"] = 7
    conversation, _ = read_one(SOURCE, log(tmp_path, asked("hi", 0), call, answer))

    [usage] = conversation.turns[0].usage
    assert (usage.input, usage.output, usage.cache_read) == (10, 1, 7)


# --- content ----------------------------------------------------------------------------------------------------


def test_messages_of_a_log_are_in_order_of_time(harbour: Conversation) -> None:
    assert (harbour.id, harbour.marks) == (f"vscode:{SESSION}", ["debug-log"])
    main = [message for message in harbour.messages if message.parent_call_id is None]
    assert [(message.turn, message.role, prose_of(message.parts)) for message in main] == [
        (0, "system", ""),
        (0, "system", ""),
        (0, "user", "When is high water?"),
        (0, "system", ""),
        (0, "assistant", "I will look."),
        (0, "tool", ""),
        (0, "assistant", ""),
        (0, "tool", ""),
        (0, "assistant", "At 13:42, and the harbour is open."),
        (1, "user", "And tomorrow?"),
    ]
    assert harbour.started_at == datetime(2026, 5, 4, 10, 0, 0, 100000, UTC)
    assert harbour.extra is not None
    assert harbour.extra["debug_log"] == {"copilotVersion": "0.49.0", "vscodeVersion": "1.121.0"}


def test_each_call_of_a_model_has_its_tokens(harbour: Conversation) -> None:
    usage = harbour.turns[0].usage

    assert [(used.model, used.input, used.output, used.scope, used.source) for used in usage] == [
        ("large-model", 1200, 30, "call", "debug-logs"),
        ("large-model", 3400, 60, "call", "debug-logs"),
        ("small-model", 500, 10, "call", "debug-logs"),
        ("small-model", 700, 12, "call", "debug-logs"),
        ("large-model", 4000, 20, "call", "debug-logs"),
    ]
    assert usage[0].extra == {"first_token_ms": 400, "elapsed_ms": 1800.0}
    assert usage[2].extra == {"elapsed_ms": 900.0, "parent_call_id": "call_2"}
    assert harbour.turns[0].timing.first_progress_ms == 400
    assert next(message.model for message in harbour.messages if message.role == "assistant") == "large-model"


def test_a_call_is_paired_with_its_run_and_a_cut_result_is_completed_from_the_next_prompt(
    harbour: Conversation,
) -> None:
    call = calls_in(harbour)[0]
    result = results_in(harbour)[0]

    assert (call.id, call.name, call.status, call.round_id) == ("call_1", "read_file", "complete", "chat1")
    assert call.started_at == datetime(2026, 5, 4, 10, 0, 2, 100000, UTC)
    assert (result.call_id, result.text, result.extra) == ("call_1", "0123456789" * 600, None)


def test_a_sub_agent_is_below_the_call_that_started_it(harbour: Conversation) -> None:
    call = next(call for call in calls_in(harbour) if call.name == "runSubagent")

    assert call.subagent is not None
    assert call.subagent.name == "runSubagent-Harbour Master"
    assert (call.subagent.prompt, call.subagent.result) == ("Is the harbour open?", "It is open.")
    assert [(message.role, prose_of(message.parts)) for message in below(harbour, "call_2")] == [
        ("user", "Is the harbour open?"),
        ("assistant", ""),
        ("tool", ""),
        ("assistant", "It is open."),
    ]
    failed = next(result for result in results_in(harbour) if result.is_error)
    assert (failed.call_id, failed.text) == ("call_s1", "no connection")


def test_helpers_are_not_part_of_the_conversation_but_their_usage_is(harbour: Conversation) -> None:
    assert harbour.documents == [HelperDocument(title="title", text="High water today")]
    assert [(used.model, (used.extra or {})["helper"]) for used in harbour.usage] == [("tiny-model", "title")]
    assert "High water today" not in [words for _, words in prose_by_role(harbour)]


def test_discovered_skills_and_agents_are_available_but_not_loaded(harbour: Conversation) -> None:
    turn = harbour.turns[0]

    assert turn.skills == [
        Skill(name="tide-tables", evidence="debug log"),
        Skill(name="moon", evidence="debug log"),
    ]
    assert turn.extra is not None
    assert turn.extra["agents"] == ["Harbour Master"]
    assert [found["name"] for found in turn.extra["discoveries"]] == ["Load Skills", "Load Agents"]


def test_hooks_thoughts_prompts_and_notices_have_their_parts(harbour: Conversation) -> None:
    parts = list(parts_of(harbour))

    [hook] = [part for part in parts if isinstance(part, Hook)]
    assert (hook.type, hook.is_blocking, hook.message) == ("UserPromptSubmit", False, '{"continue":true}')
    assert [part.text for part in parts if isinstance(part, Thinking)] == ["The table has it."]
    assert [(part.scope, part.text) for part in parts if isinstance(part, Prompt)] == [
        ("system", "You are a harbour pilot."),
        ("turn", "<userRequest>\nWhen is high water?\n</userRequest>\n"),
        ("conversation", "<environment_info>\nLinux\n</environment_info>"),
    ]
    [notice] = [part for part in parts if isinstance(part, Notice)]
    assert (notice.topic, notice.native) == ("generic", "Resolve Customizations")


def test_a_call_that_failed_fails_its_turn(harbour: Conversation) -> None:
    first, second = harbour.turns

    assert (first.status, first.error) == ("complete", None)
    assert second.status == "failed"
    assert second.error is not None
    assert second.error.message == "rate limited"


def test_the_files_beside_a_log_are_part_of_it_and_are_counted_by_themselves(harbour: Conversation) -> None:
    assert harbour.extra is not None
    assert [model["id"] for model in harbour.extra["models"]] == ["large-model", "small-model"]
    assert harbour.extra["tools"] == [[{"type": "function", "name": "read_file", "description": "Reads a file"}]]
    counted = {path.name: read(SOURCE, path) for path in FILES}
    assert {name: len(made) for name, (made, _) in counted.items()} == {
        path.name: int(path.name == "main.jsonl") for path in FILES
    }
    assert {name: (books.seen, books.used, codes(books)) for name, (_, books) in counted.items()} == {
        "main.jsonl": (20, 20, []),
        "models.json": (1, 1, []),
        "runSubagent-Harbour Master-c0ffee00.jsonl": (7, 7, []),
        "system_prompt_0.json": (1, 1, []),
        "title-beef0001.jsonl": (3, 3, []),
        "tools_0.json": (1, 1, []),
    }


def test_all_content_of_debug_logs_is_read(harbour: Conversation) -> None:
    entries = []
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        entries += [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else [json.loads(text)]
    kinds = {made[key] for made in entries if isinstance(made, dict) and "ts" in made for key in ("type", "name")}
    spans = {made.get(key) for made in entries if isinstance(made, dict) for key in ("spanId", "parentSpanId", "sid")}
    repeated = {"<environment_info>\nLinux\n</environment_info>", "ok", "error", "tool_calls", "user", "role", "0"}

    lost = lost_texts(entries, [harbour], *map(str, kinds | spans | repeated))

    assert [text for text in lost if not text.endswith("[truncated]")] == ["tool_call_response"]


def test_the_flat_form_is_a_session_too() -> None:
    conversation, ledger = read_one(SOURCE, FLAT)

    assert conversation.id == f"vscode:{FLAT.stem}"
    assert prose_by_role(conversation) == [("user", "Hello"), ("assistant", "Hello, Ana.")]
    assert ledger.seen == 3


# --- odd logs ---------------------------------------------------------------------------------------------------


def test_a_truncated_answer_is_read_up_to_the_cut(tmp_path: Path) -> None:
    request, answer = chat("c1", 10, "A long story about the sea", ("t1", "read_file"))
    whole = answer["attrs"]["response"]
    answer["attrs"]["response"] = whole[: whole.index(" about")] + "[truncated]"

    conversation, _ = read_one(SOURCE, log(tmp_path, asked("Tell", 0), request, answer))

    text = conversation.messages[1].parts[0]
    assert prose_of([text]) == "A long story"
    assert text.extra == {"possibly_cut": True}
    assert calls_in(conversation) == []


def test_truncated_texts_are_marked(tmp_path: Path) -> None:
    tool = entry("tool_call", "t1", 30, {"args": '{"a": "x[truncated]', "result": "half[truncated]"}, name="grep")
    path = log(tmp_path, asked("long[truncated]", 0), *chat("c1", 10, "ok"), {**tool, "parentSpanId": "agent"})

    conversation, _ = read_one(SOURCE, path)

    cut = {"possibly_cut": True}
    assert conversation.messages[0].parts[0].extra == cut
    [call], [result] = calls_in(conversation), results_in(conversation)
    assert (call.id, call.name, call.arguments) == ("t1", "grep", '{"a": "x[truncated]')
    assert (call.extra or {})["possibly_cut"]
    assert result.extra == cut


def test_calls_of_the_same_tool_are_paired_by_their_arguments(tmp_path: Path) -> None:
    parts = [
        {"type": "tool_call", "id": f"call_{name}", "name": "read_file", "arguments": {"filePath": name}}
        for name in ("a", "b")
    ]
    request, answer = chat("c1", 10, None)
    answer["attrs"]["response"] = json.dumps([{"role": "assistant", "parts": parts}])
    runs = [
        entry("tool_call", f"t{name}", ts, {"args": json.dumps({"filePath": name}), "result": f"text of {name}"})
        | {"name": "read_file", "parentSpanId": "agent"}
        for name, ts in (("b", 30), ("a", 40))
    ]

    conversation, _ = read_one(SOURCE, log(tmp_path, asked("read", 0), request, answer, *runs))

    assert {result.call_id: result.text for result in results_in(conversation)} == {
        "call_b": "text of b",
        "call_a": "text of a",
    }


def test_a_sub_agent_in_the_main_log_is_below_its_call(tmp_path: Path) -> None:
    path = log(
        tmp_path,
        asked("go", 0),
        *chat("c1", 10, None, ("call_1", "runSubagent")),
        *chat("c2", 50, "found it", parent="inner"),
        entry(
            "subagent", "inner", 40, {"agentName": "Explore", "description": "Looks"}, parentSpanId="t1", name="Explore"
        ),
        entry("tool_call", "t1", 30, {"args": "{}", "result": "found it"}, parentSpanId="agent", name="runSubagent"),
    )

    conversation, _ = read_one(SOURCE, path)

    [call] = calls_in(conversation)
    assert call.subagent is not None
    assert (call.subagent.name, call.subagent.description) == ("Explore", "Looks")
    assert [prose_of(message.parts) for message in below(conversation, "call_1")] == ["found it"]


def test_a_log_without_its_beginning_has_a_turn_without_a_prompt(tmp_path: Path) -> None:
    conversation, _ = read_one(SOURCE, log(tmp_path, *chat("c1", 10, "so it ends"), asked("next", 100, "agent2")))

    assert [(message.turn, message.role) for message in conversation.messages] == [(0, "assistant"), (1, "user")]


def test_an_answer_whose_request_is_lost_is_shown(tmp_path: Path) -> None:
    _, answer = chat("c1", 10, "an answer")

    assert prose_by_role(read_one(SOURCE, log(tmp_path, asked("hi", 0), answer))[0])[-1] == ("assistant", "an answer")


def test_a_childs_log_without_the_main_one_is_its_own_conversation(tmp_path: Path) -> None:
    name = "runSubagent-Harbour Master-c0ffee00.jsonl"
    path = tmp_path / "debug-logs" / SESSION / name
    path.parent.mkdir(parents=True)
    shutil.copy(LOGS / SESSION / name, path)

    conversation, _ = read_one(SOURCE, path)

    assert conversation.id == f"vscode:{SESSION}"
    assert all(message.parent_call_id for message in conversation.messages)
    assert "It is open." in [words for _, words in prose_by_role(conversation)]


def test_unrecognized_entries_are_stored_and_counted(tmp_path: Path) -> None:
    path = log(tmp_path, asked("hi", 0), entry("song", "x", 10, {"tune": "la"}))

    conversation, ledger = read_one(SOURCE, path)

    assert ledger.unknown == {"song": 1}
    assert [part.raw["attrs"] for part in parts_of(conversation) if isinstance(part, Unknown)] == [{"tune": "la"}]


# --- damage -----------------------------------------------------------------------------------------------------


def test_a_broken_line_loses_only_itself(tmp_path: Path) -> None:
    path = log(tmp_path, asked("hi", 0), *chat("c1", 10, "hello"))
    path.write_bytes(path.read_bytes() + b'{"ts":17778' + b"\0\0\n" + b'[1]\n{"ts": 1}\n{"ts":1,"ty')

    conversation, ledger = read_one(SOURCE, path)

    assert prose_by_role(conversation) == [("user", "hi"), ("assistant", "hello")]
    assert [(bad.line, bad.code) for bad in ledger.bad] == [
        (4, "bad-json"),
        (5, "bad-record"),
        (6, "bad-record"),
        (7, "torn-tail"),
    ]


def test_a_repeated_entry_is_read_once(tmp_path: Path) -> None:
    path = log(tmp_path, asked("hi", 0), *chat("c1", 10, "hello"), *chat("c1", 10, "hello"))

    conversation, ledger = read_one(SOURCE, path)

    assert [words for _, words in prose_by_role(conversation)] == ["hi", "hello"]
    assert ledger.ignored == {"duplicate-entry": 1}


def test_a_broken_document_beside_a_log_is_reported_in_its_own_ledger(tmp_path: Path) -> None:
    main = log(tmp_path, asked("hi", 0))
    broken = main.with_name("models.json")
    broken.write_bytes(b"[{")

    assert codes(read_one(SOURCE, main)[1]) == []
    assert codes(read(SOURCE, broken)[1]) == ["bad-json"]
    broken.write_bytes(b"\0\0\0")
    assert codes(read(SOURCE, broken)[1]) == ["nul-tail"]
    broken.write_bytes(b"{}")
    assert codes(read(SOURCE, broken)[1]) == ["bad-record"]


def test_an_empty_log_is_reported(tmp_path: Path) -> None:
    assert codes(read(SOURCE, log(tmp_path))[1]) == ["empty-file"]


@pytest.mark.parametrize("name", [path.name for path in FILES])
@given(data=st.data())
def test_damaged_files_are_read_or_refused(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "damaged-debug-logs" / "debug-logs" / SESSION
    if not folder.exists():
        shutil.copytree(LOGS / SESSION, folder)
    original = (LOGS / SESSION / name).read_bytes()
    spoil = data.draw(st.sampled_from([spoiled, with_other_values]))
    (folder / name).write_bytes(data.draw(spoil(original)))
    try:
        read_or_refuse(SOURCE, folder / name)
        read_or_refuse(SOURCE, folder / "main.jsonl")
    finally:
        (folder / name).write_bytes(original)


# --- real files -------------------------------------------------------------------------------------------------


@pytest.mark.corpus
def test_ledgers_of_debug_logs_in_the_corpus_balance(corpus: Path) -> None:
    paths = [path for path in corpus.rglob("debug-logs/**/*") if path.is_file() and SOURCE.claims(Probe(path))]
    for path in paths:
        _, ledger = read(SOURCE, Found(path, SOURCE.name, SOURCE.native_id(Probe(path))))
        assert (ledger.bad, ledger.unknown) == ([], {})

    assert paths
