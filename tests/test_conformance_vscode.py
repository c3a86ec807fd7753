"""The driver of VS Code: scenarios, set-up, and one run of the real program where that is installed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from conformance.cli_driver import ScenarioError
from conformance.programs import UnavailableError, cache_folder
from conformance.running import run_scenario
from conformance.scenario import SCENARIOS, Page, PageStep, Scenario, load, load_all
from conformance.vscode_driver import action_of, session_files
from conformance.vscode_masking import MASKED, VsCodeMask
from conformance.vscode_server import prepare
from conformance.vscode_setup import CODE_SERVERS, made_once

NEWEST = list(CODE_SERVERS)[-1]
CACHE = cache_folder()  # of the user: tests have a home folder of their own
QUICK = "plain"  # takes about 20 s


@pytest.mark.parametrize("scenario", load_all("vscode"), ids=lambda scenario: scenario.name)
def test_each_step_of_a_scenario_does_one_thing(scenario: Scenario) -> None:
    steps = [step for action in scenario.actions if isinstance(action, Page) for step in action.steps]
    assert steps
    assert {action_of(step) for step in steps} <= set(PageStep.__struct_fields__)
    assert action_of(steps[0]) in {"prompt", "mode", "image", "command"}


@pytest.mark.parametrize("step", [PageStep(), PageStep(wait=False), PageStep(keep=True, undo=True)])
def test_a_step_that_does_nothing_or_two_things_is_refused(step: PageStep) -> None:
    with pytest.raises(ScenarioError, match="a step says to do"):
        action_of(step)


def test_a_misspelt_step_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.convert({"promt": "Hello"}, PageStep)


def test_settings_of_a_scenario_replace_those_of_the_suite(tmp_path: Path) -> None:
    settings = {"chat.permissions.default": "default", "other": 1}
    user_data = prepare(tmp_path, settings, ["one", "two"], "http://127.0.0.1:1/v1", mcp=False)

    written = json.loads((user_data / "User/settings.json").read_bytes())
    assert {name: written[name] for name in settings} == settings
    assert written["chat.byokUtilityModelDefault"] == "mainAgent"
    (provider,) = json.loads((user_data / "User/chatLanguageModels.json").read_bytes())
    assert [(model["id"], model["url"]) for model in provider["models"]] == [
        ("one", "http://127.0.0.1:1/v1/chat/completions"),
        ("two", "http://127.0.0.1:1/v1/chat/completions"),
    ]
    assert not (user_data / "User/mcp.json").exists()


def test_a_program_is_installed_once_and_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOG_CONFORMANCE_CACHE", str(tmp_path))

    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise UnavailableError("no registry")

    with pytest.raises(UnavailableError, match="no registry"):
        made_once("program-1", fail)
    assert list((tmp_path / "vscode").iterdir()) == []

    folder = made_once("program-1", lambda scratch: (scratch / "whole").touch())
    assert made_once("program-1", fail) == folder
    assert [path.name for path in folder.iterdir()] == ["whole"]


def test_a_session_is_found_by_the_marker_of_its_prompt(tmp_path: Path) -> None:
    sessions = tmp_path / "User/workspaceStorage/1a/chatSessions"
    sessions.mkdir(parents=True)
    (sessions / "one.jsonl").write_text('{"text":"Line \\"one\\"\\nand two [[ONE]]"}')
    (sessions / "two.jsonl").write_text('{"text":"Something else [[TWO]]"}')

    assert [path.stem for path in session_files(tmp_path, 'Line "one"\nand two [[ONE]]')] == ["one"]
    assert [path.stem for path in session_files(tmp_path, "Something else")] == ["two"]


def test_prose_of_the_vendor_is_masked_and_text_of_the_scenario_is_not() -> None:
    prose = "Use read_file to read a file, and never, under any circumstances, do anything else at all."
    mask = VsCodeMask({"/tmp/scratch/home": "/home/ada"}, ["Read it [[ONE]]", "read_file"])
    prompt = f"<rules>\n{prose}\n</rules>\n<userRequest>\nRead it [[ONE]]\n</userRequest>"

    assert mask.text(prompt) == f"<rules>{MASKED}</rules>\n<userRequest>\nRead it [[ONE]]\n</userRequest>"
    inner = json.dumps([{"text": prose, "path": "/tmp/scratch/home/a b"}])
    assert json.loads(mask.value({"messages": inner})["messages"]) == [{"text": MASKED, "path": "/home/ada/a b"}]
    tool = {"name": "read_file", "description": prose, "parameters": {"type": "object"}}
    assert mask.value([tool, {**tool, "name": "second"}]) == [mask.value(tool)]
    assert mask.value(tool) == {"name": "read_file", "description": MASKED, "parameters": {}}
    calls = [{"type": "function", "name": name, "arguments": "{}"} for name in ("read_file", "list_dir")]
    assert mask.value(calls) == calls
    assert mask.value([{"type": "function", "name": "one"}, {"type": "function", "name": "two"}]) == [
        {"type": "function", "name": "one"}
    ]


def test_vs_code_runs_a_scenario_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes as scripted. What copilog reads of it is compared by `python -m conformance run`."""
    monkeypatch.setenv("COPILOG_CONFORMANCE_CACHE", str(CACHE))
    if not os.environ.get("COPILOG_CONFORMANCE"):
        pytest.skip("runs the real program: set COPILOG_CONFORMANCE, or call `make conformance`")
    result = run_scenario(load(SCENARIOS / "vscode" / f"{QUICK}.yaml"), NEWEST)

    assert result.error is None
    observed = {one.fact.key: one.verdict for one in result.compared}
    assert observed["prompt", "main/1"] == "equal"
    assert observed["answer", "main/1/2"] == "equal"
    assert observed["call.result", "main/1/call_PLAIN_0_0"] == "equal"
    assert observed["tokens.input", "main"] == "equal"
