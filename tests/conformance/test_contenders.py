"""The mapping of what agentsview and ccusage answer to facts, with made-up answers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from conformance.compare import compare
from conformance.contenders.answers import from_agentsview, from_ccusage, turns_of
from conformance.contenders.claims import claim_about, claimed, claims_of, scope_of, unclaimed
from conformance.contenders.forms import in_form, model_name, place_in_form, texts_of, tool_name
from conformance.contenders.rows import TOOLS, Part, add
from conformance.contenders.table import section, stored_section
from conformance.contenders.tools import Archive, Reports, rows_of
from conformance.facts import Fact, Truth
from conformance.scenario import Gap

SESSION = "5e55-10"


def fact(kind: str, where: str, expected: Any, **more: Any) -> Fact:
    return Fact(kind=kind, where=where, expected=expected, **more)


def truth(*facts: Fact, program: str = "cli", gaps: list[Gap] | None = None, turns: Any = None) -> Truth:
    return Truth(
        scenario="made-up",
        program=program,
        version="1.0.102",
        sessions={"main": SESSION, "other": "5e55-20"},
        turns={"main": turns or [["[[ONE]]"], ["[[TWO]]"]]},
        facts=list(facts),
        gaps=gaps or [],
    )


def message(number: int, role: str, content: str, model: str = "") -> dict[str, Any]:
    return {
        "id": number,
        "ordinal": number,
        "session_id": f"copilot:{SESSION}",
        "role": role,
        "content": content,
        "model": model,
        "output_tokens": 4 if role == "assistant" else 0,
    }


def usage(model: str, fresh: int, output: int, cached: int, reasoning: int = 0) -> dict[str, Any]:
    return {
        "session_id": f"copilot:{SESSION}",
        "model": model,
        "input_tokens": fresh,
        "output_tokens": output,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 1,
        "reasoning_tokens": reasoning,
    }


def sums(fresh: int, output: int, cached: int, **more: Any) -> dict[str, Any]:
    return {
        "inputTokens": fresh,
        "outputTokens": output,
        "cacheReadTokens": cached,
        "cacheCreationTokens": 2,
        **more,
    }


ARCHIVE = Archive(
    sessions=[
        {
            "id": f"copilot:{SESSION}",
            "project": "my_shop",
            "cwd": "",
            "display_name": None,
            "session_name": "A title",
            "first_message": "Do one [[ONE]]",
            "user_message_count": 2,
            "has_total_output_tokens": 1,
            "total_output_tokens": 31,
        }
    ],
    messages=[
        message(3, "assistant", "Done  with\ntwo.", "claude-opus-4-5"),
        message(0, "user", "Do one [[ONE]]"),
        message(1, "assistant", "[Thinking]\nHm.\n[/Thinking]\n\nDone with one.", "claude-sonnet-4-5"),
        message(2, "user", "Do two [[TWO]]"),
    ],
    tool_calls=[
        {
            "message_id": 1,
            "tool_use_id": "call_ONE_0_0",
            "tool_name": "bash",
            "input_json": '{"command":"false"}',
            "result_content": None,
        }
    ],
    tool_result_events=[
        {"tool_use_id": "call_ONE_0_0", "status": "started", "content": ""},
        {"tool_use_id": "call_ONE_0_0", "status": "errored", "content": '{"content":"it fails"}'},
    ],
    usage_events=[usage("claude-sonnet-4-5", 100, 10, 50, 3), usage("claude-opus-4-5", 200, 20, 60)],
    daily=[sums(300, 30, 110, date="2026-11-18")],
)


def test_agentsview_rows_become_observations() -> None:
    facts = [fact("answer", "main/1/1", ""), fact("thinking", "main/1/1", "")]
    seen = from_agentsview(ARCHIVE, truth(*facts))
    assert seen["conversations", "all"] == 1
    assert seen["turns", "main"] == 2
    assert seen["title", "main"] == "A title"
    assert seen["folder", "main"] == "my_shop"
    assert seen["prompt", "main/2"] == "Do two [[TWO]]"
    assert seen["model", "main/1"] == "claude-sonnet-4-5"
    assert seen["model", "main/2"] == "claude-opus-4-5"
    assert "Done with one." in seen["answer", "main/1/1"]
    assert "Hm." in seen["thinking", "main/1/1"]
    assert seen["calls", "main/1"] == 1
    assert seen["calls", "main/2"] == 0
    at = "main/1/call_ONE_0_0"
    assert seen["call.name", at] == "bash"
    assert seen["call.arguments", at] == {"command": "false"}
    assert seen["call.outcome", at] == "failed"
    assert seen["call.result", at] == "it fails"


def test_agentsview_input_has_what_came_from_the_cache() -> None:
    seen = from_agentsview(ARCHIVE, truth())
    assert seen["tokens.input", "main"] == 100 + 1 + 50 + 200 + 1 + 60
    assert seen["tokens.cached", "main"] == 50 + 60
    assert seen["tokens.reasoning", "main"] == 3
    assert seen["tokens.output", "main"] == 31  # as the session's own row has it
    assert seen["tokens.output", "main/model claude-opus-4-5"] == 20
    assert seen["tokens.input", "all/day 2026-11-18"] == 300 + 2 + 110


def test_session_without_usage_has_the_output_of_its_messages() -> None:
    seen = from_agentsview(Archive(sessions=ARCHIVE.sessions, messages=ARCHIVE.messages), truth())
    assert seen["tokens.output", "main/model claude-opus-4-5"] == 4
    assert seen["tokens.input", "main/model claude-opus-4-5"] == 0


def test_turns_that_the_program_began_by_itself_are_not_compared() -> None:
    facts = [fact("turns", "main", 2), fact("prompt", "main/1", "[[ONE]]"), fact("title", "main", "A title")]

    kept = claimed("agentsview", truth(*facts, turns=[["[[ONE]]"], [""]])).facts

    assert [one.kind for one in kept] == ["title"]
    assert len(claimed("agentsview", truth(*facts)).facts) == 3


def test_tokens_of_a_fork_of_the_cli_are_not_compared() -> None:
    tokens = [fact("tokens.input", where, 7) for where in ("main", "other", "main/day 2026-11-18")]

    kept = claimed("ccusage", truth(fact("relations", "other", ["fork main"]), *tokens)).facts

    assert [one.where for one in kept] == ["main"]


def test_difference_in_what_the_program_does_not_record_is_not_counted_as_one() -> None:
    old = truth(fact("thinking", "main/1/1", "Unseen."), fact("call.outcome", "main/1/call_ONE_0_0", "succeeded"))
    old.version = "1.0.20"
    parts: dict[tuple[str, str, str], Part] = {}
    add(parts, "agentsview", old, from_agentsview(ARCHIVE, old))
    (part,) = parts.values()
    assert part.rows["thinking"].not_recorded == 1
    assert part.rows["success or failure of tools"].different == 1
    (difference,) = part.rows["success or failure of tools"].differences
    assert difference.reason is not None


def test_call_without_an_end_has_no_outcome_and_no_result() -> None:
    archive = Archive(
        sessions=ARCHIVE.sessions,
        messages=ARCHIVE.messages,
        tool_calls=ARCHIVE.tool_calls,
        tool_result_events=ARCHIVE.tool_result_events[:1],
    )
    seen = from_agentsview(archive, truth())
    assert seen["call.outcome", "main/1/call_ONE_0_0"] is None
    assert seen["call.result", "main/1/call_ONE_0_0"] is None


def test_messages_of_a_subagent_stay_in_the_turn() -> None:
    messages = [
        message(0, "user", "Do one [[ONE]]"),
        message(1, "user", "Help with it [[SUB]]"),
        message(2, "assistant", "Helped."),
        message(3, "user", "Do two [[TWO]]"),
    ]
    turns = dict(turns_of(messages, [["[[ONE]]"], [], ["[[TWO]]"]]))
    assert {number: [one["id"] for one in some] for number, some in turns.items()} == {1: [0, 1, 2], 3: [3]}


def test_ccusage_reports_become_observations() -> None:
    models = [sums(1, 2, 3, modelName="claude-sonnet-4.5")]
    reports = Reports(
        sessions=[sums(10, 20, 30, sessionId=SESSION, modelBreakdowns=models), sums(1, 1, 1, sessionId="unknown")],
        daily=[sums(11, 21, 31, date="2026-11-18")],
    )
    assert from_ccusage(reports, truth()) == {
        ("tokens.input", "main"): 10 + 30 + 2,
        ("tokens.output", "main"): 20,
        ("tokens.cached", "main"): 30,
        ("tokens.input", "main/model claude-sonnet-4-5"): 1 + 3 + 2,
        ("tokens.output", "main/model claude-sonnet-4-5"): 2,
        ("tokens.cached", "main/model claude-sonnet-4-5"): 3,
        ("tokens.input", "all/day 2026-11-18"): 11 + 31 + 2,
        ("tokens.output", "all/day 2026-11-18"): 21,
        ("tokens.cached", "all/day 2026-11-18"): 31,
    }


def test_report_without_usage_has_no_rows() -> None:
    assert rows_of([], "sessions") == []
    assert rows_of({"sessions": [{"a": 1}]}, "sessions") == [{"a": 1}]


def test_only_claimed_facts_are_compared() -> None:
    facts = [
        fact("prompt", "main/1", "Do one"),
        fact("duration", "main/1", [1, 2], how="between"),
        fact("call.outcome", "main/1/a", "failed"),
        fact("call.outcome", "main/1/b", "cancelled"),
        fact("tokens.input", "main", 5),
        fact("tokens.input", "main/1", 5),
        fact("unknown kinds", "all", []),
    ]
    about = truth(*facts)
    assert [one.key for one in claimed("agentsview", about).facts] == [
        ("prompt", "main/1"),
        ("call.outcome", "main/1/a"),
        ("tokens.input", "main"),
    ]
    assert [one.key for one in claimed("ccusage", about).facts] == [("tokens.input", "main")]
    assert list(unclaimed("agentsview", about)) == ["duration", "call.outcome", "tokens.input of a turn"]


def test_files_that_are_read_by_themselves_are_not_asked_for() -> None:
    facts = [fact("prompt", "stream/1", "Do one"), fact("tokens.output", "stream/day 2026-11-18", 3)]
    about = msgspec.structs.replace(truth(*facts), alone={"stream": "work/stream.jsonl"})
    assert (claimed("agentsview", about).facts, list(unclaimed("agentsview", about))) == ([], [])


def test_days_are_sums_of_all_sessions() -> None:
    facts = [fact("tokens.output", "main/day 2026-11-18", 3), fact("tokens.output", "other/day 2026-11-18", 4)]
    assert claimed("ccusage", truth(*facts)).facts == [fact("tokens.output", "all/day 2026-11-18", 7)]
    gap = Gap(kind="tokens.*", where="other*", reason="made up")
    assert claimed("ccusage", truth(*facts, gaps=[gap])).facts == []


def test_joined_texts_must_hold_the_expected_one() -> None:
    about = truth(fact("answer", "main/2/1", "Done with two."), fact("thinking", "main/1/1", "Hm."))
    verdicts = [one.verdict for one in compare(claimed("agentsview", about), from_agentsview(ARCHIVE, about))]
    assert verdicts == ["equal", "equal"]


@pytest.mark.parametrize(
    ("where", "scope"),
    [
        ("all", "all"),
        ("main", "session"),
        ("main/2", "turn"),
        ("main/model gpt-5", "model"),
        ("main/day 2026-11-18", "day"),
        ("main/2/call_A_0_0", "part"),
    ],
)
def test_scope_of_a_place(where: str, scope: str) -> None:
    assert scope_of(where) == scope


def test_names_have_one_form() -> None:
    assert model_name("customendpoint/Scripted/claude-sonnet-4.5") == model_name("claude-sonnet-4-5")
    assert place_in_form("main/model gpt-5.4") == "main/model gpt-5-4"
    assert place_in_form("main/2") == "main/2"
    assert tool_name("copilot_readFile") == tool_name("read_file")
    assert tool_name("copilot_findTextInFiles") == tool_name("grep_search")
    assert tool_name("read_file") != tool_name("create_file")
    assert in_form("folder", "/home/ada/My-Shop") == in_form("folder", "my_shop")
    assert in_form("prompt", " a\n b ") == "a b"
    assert in_form("call.arguments", {"a": " 1 "}) == {"a": " 1 "}


def test_texts_of_a_result() -> None:
    assert texts_of('{"content":"a","more":[{"text":"b"},null]}') == "a\nb"
    assert texts_of("plain") == "plain"
    assert texts_of("") is None


def test_every_claim_has_a_source_and_no_fact_two_claims() -> None:
    for tool in TOOLS:
        claims = claims_of(tool).claims
        assert all(claim.stated for claim in claims)
        keys = [(claim.program, claim.at, kind) for claim in claims for kind in claim.kinds]
        assert len(keys) == len(set(keys))
    assert claim_about("ccusage", "vscode", fact("tokens.input", "main", 1)) is None


def test_rows_count_verdicts_and_the_section_shows_them() -> None:
    gap = Gap(kind="tokens.reasoning", reason="made up")
    about = truth(
        fact("prompt", "main/1", "Do one [[ONE]]"),
        fact("prompt", "main/2", "Do three"),
        fact("tokens.reasoning", "main/model gpt-5", 7),
        fact("status", "main/1", "complete"),
        gaps=[gap],
    )
    parts: dict[tuple[str, str, str], Part] = {}
    add(parts, "agentsview", about, from_agentsview(ARCHIVE, about))
    add(parts, "ccusage", about, {})
    (part, other) = parts.values()
    assert [part.total(name) for name in ("claimed", "equal", "different", "not_recorded")] == [3, 1, 1, 1]
    assert part.not_claimed == {"status": 1}
    assert other.total("claimed") == 0
    (difference,) = part.rows["prompts"].differences
    assert (difference.expected, difference.answered) == ("Do three", "Do two [[TWO]]")
    text = section([part, other])
    assert "| Copilot CLI 1.0.102 | 1 | agentsview | 3 | 1 | 1 | 1 | 1 |" in text
    assert '`prompt` at `main/2` of the scenario `made-up` is `"Do three"`, read `"Do two [[TWO]]"`' in text


def test_stored_results_give_the_section() -> None:
    text = stored_section()
    assert "agentsview 0.46.1 and ccusage 20.0.24" in text
    assert "no reason found" not in text
