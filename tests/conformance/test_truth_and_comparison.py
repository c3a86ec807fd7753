"""Facts are derived from scenario and log; a comparison catches every wrong one."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from conformance import schemas
from conformance.compare import compare
from conformance.contenders.table import stored_section
from conformance.facts import Asked, Fact, Performed, Truth
from conformance.known import Known, explain
from conformance.masking import LONG, Mask, prose_left
from conformance.observe import observe, requests_seen
from conformance.observe_turn import observe_turn
from conformance.recording import RECORDED, recorded
from conformance.running import Result
from conformance.scenario import Call, Gap, Run, Scenario, Step, Tokens, applies, load, load_all
from conformance.schemas import events_of, fields_of
from conformance.served import Served, call_id
from conformance.table import (
    BEGIN,
    CONTENDERS_BEGIN,
    CONTENDERS_END,
    DOCUMENT,
    END,
    Summary,
    stored_table,
    summaries_of,
    table_of,
)
from conformance.truth import truth_of
from copilog.model import Conversation, Message, Text, ToolCall, Turn, Usage

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def served(number: int, script: str, step: int, answer: Step, **more: Any) -> Served:
    began = NOON + timedelta(seconds=number)
    return Served(
        number=number,
        id=f"c{number}",
        kind="chat",
        script=script,
        step=step,
        model="m",
        tokens=answer.tokens,
        call_ids=[call_id(script, step, position) for position in range(len(answer.calls))],
        answer=answer,
        began_at=began,
        ended_at=began + timedelta(milliseconds=10),
        **more,
    )


def made_truth(**more: Any) -> Truth:
    task = Call(name="task", arguments={"prompt": "sub [[SUB]]"})
    main = [
        Step(text="hi", calls=[task], tokens=Tokens(input=10, output=1)),
        Step(text="end", tokens=Tokens(input=20, output=2)),
    ]
    sub = [
        Step(
            text="below",
            thinking="hm",
            calls=[Call(name="bash", exit_code=7, outcome="failed")],
            tokens=Tokens(input=5, output=3),
        )
    ]
    scenario = Scenario(name="s", about="", scripts={"A": main, "SUB": sub}, actions=[Run(prompt="do [[A]]")], **more)
    performed = Performed(
        scenario="s",
        program="cli",
        version="1.0.60",
        workspace="/w",
        home="/h",
        sessions={"main": "id"},
        asked=[Asked(session="main", text="do [[A]]", model="m", scripts=["A"])],
        served=[served(1, "A", 0, main[0]), served(2, "SUB", 0, sub[0]), served(3, "A", 1, main[1])],
    )
    return truth_of(scenario, performed, lambda value: value)


def as_observed(truth: Truth) -> dict[tuple[str, str], Any]:
    return {fact.key: fact.expected[0] if fact.how == "between" else fact.expected for fact in truth.facts}


def test_facts_follow_from_scripts_and_log() -> None:
    facts = {fact.key: fact.expected for fact in made_truth().facts}
    assert facts["tokens.input", "main"] == 35
    assert facts["tokens.input", "main/1"] == 35
    assert facts["answer", "main/1/2"] == "end"
    assert facts["thoughts", "main/1"] == 0
    assert facts["call.caller", "main/1/call_SUB_0_0"] == "call_A_0_0"
    assert facts["call.exit code", "main/1/call_SUB_0_0"] == 7
    assert facts["subagent.answer", "main/1/call_A_0_0/1"] == "below"
    assert facts["subagent.answers", "main/1/call_A_0_0"] == 1
    assert facts["calls", "main/1"] == 2


def test_call_lasts_from_its_answer_to_the_next_request_and_as_long_as_its_sub_agent() -> None:
    facts = {fact.key: fact.expected for fact in made_truth().facts if fact.kind == "call.duration"}
    # Answered after 1.01 s, the sub-agent from 2.00 to 2.01 s, the next request after 3 s; 100 ms leeway.
    assert facts == {("call.duration", "main/1/call_A_0_0"): [0.0, pytest.approx(2090)]}


@pytest.mark.parametrize(("ended", "expected"), [(1.5, [1400, 2090]), (3.5, None)])
def test_call_is_as_long_as_its_sub_agent_unless_that_runs_on(ended: float, expected: list[float] | None) -> None:
    call = Call(name="task", arguments={"prompt": "[[SUB]]"})
    steps = [Step(calls=[call]), Step(text="end")]
    below = Step(text="below", hold=ended)
    scenario = Scenario(name="s", about="", scripts={"A": steps, "SUB": [below]}, actions=[Run(prompt="[[A]]")])
    of_agent = served(1, "SUB", 0, below)
    of_agent.ended_at = of_agent.began_at + timedelta(seconds=ended)
    performed = Performed(
        scenario="s", program="cli", version="1", workspace="/w", home="/h", sessions={"main": "id"},
        asked=[Asked(session="main", text="[[A]]", model="m", scripts=["A"])],
        served=[served(1, "A", 0, steps[0]), of_agent, served(3, "A", 1, steps[1])],
    )  # fmt: skip
    facts = [fact.expected for fact in truth_of(scenario, performed, str).facts if fact.kind == "call.duration"]
    assert facts == ([pytest.approx(expected)] if expected is not None else [])


def test_answer_that_the_program_did_not_get_is_not_expected() -> None:
    step = Step(text="lost", tokens=Tokens(input=1, output=1))
    scenario = Scenario(name="s", about="", scripts={"A": [step]}, actions=[Run(prompt="[[A]]")])
    performed = Performed(
        scenario="s", program="cli", version="1", workspace="/w", home="/h", sessions={"main": "id"},
        asked=[Asked(session="main", text="[[A]]", model="m", scripts=["A"])],
        served=[served(1, "A", 0, step, is_closed_early=True)],
    )  # fmt: skip
    facts = {fact.key: fact.expected for fact in truth_of(scenario, performed, lambda value: value).facts}
    assert facts["answers", "main/1"] == 0
    assert facts["tokens.input", "main"] == 0


def test_right_observations_are_all_equal() -> None:
    truth = made_truth()
    assert {one.verdict for one in compare(truth, as_observed(truth))} == {"equal"}


def wrong(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1_000_000
    return ["something else"] if value is None or isinstance(value, list) else f"not {type(value)}"


@pytest.mark.parametrize("number", range(len(made_truth().facts)))
def test_each_fact_can_be_wrong_and_can_be_missing(number: int) -> None:
    truth = made_truth()
    fact = truth.facts[number]
    for value in (wrong(fact.expected), "missing"):
        observed = as_observed(truth)
        observed[fact.key] = value
        different = [one.fact.key for one in compare(truth, observed) if one.verdict == "different"]
        assert different == [fact.key]


def test_surplus_calls_and_texts_of_sub_agents_are_seen() -> None:
    asking = Message(role="assistant", turn=0, parts=[ToolCall(id="c1", name="task"), ToolCall(id="c2", name="view")])
    below = Message(role="assistant", turn=0, parent_call_id="c1", parts=[Text(text="below")])
    repeated = Message(
        role="assistant", turn=0, parent_call_id="c1", parts=[Text(text="end"), ToolCall(id="c2", name="view")]
    )
    own = Message(role="system", turn=0, parts=[ToolCall(id="c3", name="read_bash", origin="program")])

    def seen(*messages: Message) -> dict[tuple[str, str], Any]:
        turn = Turn(index=0)
        conversation = Conversation(
            id="cli:s", native_id="s", source="cli-events", turns=[turn], messages=list(messages)
        )
        return {(kind, where): value for kind, where, value in observe_turn(conversation, turn, "main/1")}

    right, wrong = seen(asking, below, own), seen(asking, below, repeated)
    assert (right["calls", "main/1"], right["calls of the program", "main/1"]) == (2, ["read_bash"])
    assert right["subagent.answers", "main/1/c1"] == 1
    assert (wrong["calls", "main/1"], wrong["subagent.answers", "main/1/c1"]) == (3, 2)


def test_gap_excuses_a_missing_value_and_never_a_wrong_one() -> None:
    gap = Gap(kind="tokens.*", where="main/*", reason="not by turn")
    fact = Fact(kind="tokens.input", where="main/1", expected=5)
    truth = Truth(scenario="s", program="cli", version="1", sessions={}, turns={}, facts=[fact], gaps=[gap])
    verdicts = [compare(truth, {fact.key: value})[0].verdict for value in (None, 0, 4, 5)]
    assert verdicts == ["not recorded", "not recorded", "different", "equal"]


def test_gap_with_a_value_excuses_that_value_alone() -> None:
    gap = Gap(kind="edit.added", records=3, reason="counts one more")
    fact = Fact(kind="edit.added", where="x", expected=2)
    truth = Truth(scenario="s", program="cli", version="1", sessions={}, turns={}, facts=[fact], gaps=[gap])
    assert [compare(truth, {fact.key: value})[0].verdict for value in (3, 4, None)] == [
        "not recorded",
        "different",
        "different",
    ]


def test_gap_of_a_scenario_holds_for_its_versions() -> None:
    late = Gap(kind="answer", since="1.0.99", reason="late")
    early = Gap(kind="answer", until="1.0.60", reason="early")
    reasons = [gap.reason for gap in made_truth(gaps=[late, early]).gaps]
    assert "early" in reasons
    assert "late" not in reasons


def test_known_difference_has_its_reason_and_a_new_one_has_none() -> None:
    fact = Fact(kind="call.outcome", where="main/1/c", expected="failed")
    truth = Truth(scenario="s", program="cli", version="1", sessions={}, turns={}, facts=[fact])
    rule = Known(kind="call.outcome", read="succeeded", reason="exit codes")
    found = [
        explain(compare(truth, {fact.key: value}), "cli", "s", "1.0.1", [rule])[0].reason
        for value in ("succeeded", "denied")
    ]
    assert found == ["exit codes", None]


def test_versions_are_compared_as_numbers() -> None:
    assert applies("1.0.20", "1.0.102", "1.0.89")
    assert not applies("1.0.102", None, "1.0.89")


def test_all_scenarios_of_the_cli_can_be_read() -> None:
    assert len(load_all("cli")) >= 40


def test_what_only_the_program_reports_is_marked() -> None:
    kinds = {"hooks", "notices", "call.title"}
    expected = [one for program in ("cli", "vscode") for scenario in load_all(program) for one in scenario.expect]
    assert [one for one in expected if one.kind in kinds and not one.seen] == []
    assert kinds == {one.kind for one in expected if one.seen} - {"call.outcome", "call.reason"}


@pytest.mark.parametrize("output", [3, None])
def test_calls_are_counted_where_only_what_goes_out_is_recorded(output: int | None) -> None:
    numbers: dict[str, Any] = {"scope": "call", "input": None, "output": output}
    once = Usage(source="events", **numbers)
    usage = [once, once, Usage(source="store", **numbers), Usage(source="store", **{**numbers, "output": 4})]
    facts = [Fact(kind="request.output", where=f"main/1/A {number}", expected=number) for number in (3, 5)]
    truth = Truth(scenario="s", program="cli", version="1", sessions={}, turns={}, facts=facts)
    conversation = Conversation(id="cli:id", source="cli", usage=usage)
    seen = [(kind, value) for kind, _, value in requests_seen(conversation, "main", truth)]
    assert seen == [("requests", 3), ("request.output", output), ("request.output", None)]


def test_scenario_with_an_unknown_script_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("{name: bad, about: x, scripts: {}, actions: [{do: run, prompt: 'a [[NONE]]'}]}")
    with pytest.raises(ValueError, match="no script NONE"):
        load(path)


def test_mask_hides_long_texts_of_others_and_keeps_ours() -> None:
    mask = Mask({"/tmp/s": "/home/ada"}, ["our own words"])
    theirs = "<rule>secret text </rule>" * 20
    masked = mask.text(theirs)
    assert len(masked) == len(theirs) > LONG
    assert "secret" not in masked
    assert "<rule>" in masked
    instructions = {"type": "system.message", "data": {"content": theirs + "our own words"}}
    assert "secret" not in str(mask.value(instructions))
    ours = "our own words " * 40 + "/tmp/s/work"
    assert mask.text(ours) == "our own words " * 40 + "/home/ada/work"


def test_mask_hides_prose_of_others_beside_a_text_of_ours() -> None:
    mask = Mask({}, ["our own words"])
    masked = mask.text(f"our own words\n<mode>{'Always work on, and never stop. ' * 20}</mode>")
    assert masked.startswith("our own words\n<mode>xxxxxx ")
    assert "never" not in masked
    diff = "diff --git a/new.py b/new.py\n" + "+a line of a file\n" * 20
    assert mask.text(diff) == diff
    assert [*prose_left(mask, {"content": "Work on and on. " * 20 + "our own words"}, 25)] == ["Work on and on. " * 20]
    assert [*prose_left(mask, ["our own words " * 40, json.dumps(["xxxx xx " * 40])], 25)] == []


def test_a_sub_agent_has_the_date_of_the_run_that_started_it() -> None:
    task = Call(name="task", arguments={"prompt": "sub [[SUB]]"})
    main, sub = Step(calls=[task], tokens=Tokens(input=1, output=1)), Step(text="x", tokens=Tokens(input=2, output=2))
    scenario = Scenario(name="s", about="", scripts={"A": [main], "SUB": [sub]}, actions=[Run(prompt="[[A]]", day=2)])
    performed = Performed(
        scenario="s", program="cli", version="1", workspace="/w", home="/h", sessions={"main": "id"},
        asked=[Asked(session="main", text="[[A]]", model="m", scripts=["A"])],
        served=[served(1, "A", 0, main), served(2, "SUB", 0, sub)], day_offsets={"A": 2},
    )  # fmt: skip
    facts = truth_of(scenario, performed, lambda value: value).facts
    days = {fact.where: fact.expected for fact in facts if fact.kind == "tokens.input" and "/day " in fact.where}
    assert days == {"main/day 2025-12-31": 3}


def test_a_file_of_no_known_format_in_the_home_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / ".copilot").mkdir()
    (tmp_path / "what.bin").write_bytes(b"\1\2\3")
    observed = observe(tmp_path, Truth(scenario="s", program="cli", version="1", sessions={}, turns={}, facts=[]))
    assert observed["files of no known format", "all"] == ["what.bin"]


def test_fields_of_a_schema_are_named_once_and_types_within_themselves_end() -> None:
    tree = {"type": "object", "properties": {"name": {}, "inner": {"$ref": "#/definitions/T"}}}
    data = {"properties": {"trees": {"items": {"$ref": "#/definitions/T"}}, "id": {}}}
    event = {"properties": {"type": {"const": "a.done"}, "data": data}}
    schema = {"definitions": {"SessionEvent": {"anyOf": [event]}, "T": tree}}
    fields = ["type", "data", "data.trees", "data.trees.name", "data.trees.inner", "data.id"]
    assert list(fields_of(schema)) == ["a.done", *(f"a.done {field}" for field in fields)]


def test_what_a_version_added_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def schema(version: str) -> dict[str, Any]:
        names = ["a.old", "a.gone"] if version == "1.0.92" else ["a.old", "a.new"]
        events = [{"properties": {"type": {"const": name}}} for name in names]
        return {"definitions": {"SessionEvent": {"anyOf": events}}}

    monkeypatch.setattr(schemas, "has_schema", lambda version: version in ("1.0.20", "1.0.92", "1.0.102"))
    monkeypatch.setattr(schemas, "_schema", schema)
    schemas.print_additions("1.0.102", sys.stdout)
    printed = capsys.readouterr().out
    assert "added since 1.0.92: 2\n    + a.new\n    + a.new type\n" in printed
    assert "no longer since 1.0.92: 2\n    - a.gone\n" in printed


def test_events_of_a_schema_are_persisted_or_not() -> None:
    streamed = {"properties": {"type": {"const": "a.delta"}, "ephemeral": {"const": True}}}
    written = {"properties": {"type": {"const": "a.done"}, "ephemeral": {"type": "boolean"}}}
    schema = {"definitions": {"SessionEvent": {"anyOf": [streamed, {"$ref": "#/definitions/W"}]}, "W": written}}
    assert dict(events_of(schema)) == {"a.delta": False, "a.done": True}


def test_table_counts_what_was_compared() -> None:
    truth = made_truth()
    observed = as_observed(truth)
    observed["prompt", "main/1"] = "other"
    result = Result(scenario="s", program="cli", version="1.0.60", seconds=1, compared=compare(truth, observed))
    table = table_of(summaries_of([result]))
    total = len(truth.facts)
    assert f"| Copilot CLI | 1.0.60 | 1 | {total} | {total - 1} | 1 | 0 | 0 |" in table
    assert "| prompt | **not known** | s | 1.0.60 | 1 |" in table
    assert "Made by" not in table


def test_table_names_the_commit_whose_comparison_made_it() -> None:
    made = [Summary(program="cli", version=version, commit=commit) for version, commit in (("1", "abc"), ("2", "abc"))]
    assert table_of(made).startswith("Made by the comparison of commit abc; ")


def test_documentation_has_the_tables_of_the_stored_results() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert f"{BEGIN}\n{stored_table()}{END}" in text
    assert f"{CONTENDERS_BEGIN}\n{stored_section()}{CONTENDERS_END}" in text


def test_recorded_runs_have_a_truth_with_facts() -> None:
    assert recorded()
    assert all((RECORDED / name / "written").is_dir() for name in recorded())
