"""Definitions: their paths, their front matter, and what is reported when it is broken."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.definitions import Definition, definitions_in, definitions_in_store, definitions_of_user
from copilog.definitions.front_matter import split
from copilog.definitions.locations import MAX_BYTES
from copilog.diagnostics import Ledger
from tests.sources.state_builders import make_store

DATA = Path(__file__).parent / "data" / "definitions"
WORKSPACE = DATA / "workspace"


def found_in(folder: Path) -> tuple[list[Definition], Ledger]:
    ledger = Ledger(path=str(folder))
    return list(definitions_in(folder, ledger)), ledger


def agent_file(folder: Path, content: str | bytes, name: str = "helper.agent.md") -> Path:
    path = folder / ".github" / "agents" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def the_one_in(folder: Path) -> tuple[Definition, Ledger]:
    [definition], ledger = found_in(folder)
    assert ledger.balances()
    return definition, ledger


def codes(ledger: Ledger) -> list[str]:
    return [diagnostic.code for diagnostic in ledger.diagnostics()]


# --- paths ------------------------------------------------------------------------------------------------------


def test_definitions_of_a_workspace_are_read_from_all_paths() -> None:
    definitions, ledger = found_in(WORKSPACE)

    assert [(made.kind, made.name, Path(made.path).relative_to(WORKSPACE).as_posix()) for made in definitions] == [
        ("agent", "gardener", ".github/agents/gardener.md"),
        ("agent", "Reviewer", ".github/agents/reviewer.agent.md"),
        ("agent", "archivist", ".claude/agents/archivist.md"),
        ("mode", "tutor", ".github/chatmodes/tutor.chatmode.md"),
        ("prompt", "release", ".github/prompts/release.prompt.md"),
        ("instruction", "style", ".github/instructions/python/style.instructions.md"),
        ("instruction", "copilot-instructions", ".github/copilot-instructions.md"),
        ("instruction", "AGENTS", "AGENTS.md"),
        ("skill", "Frost chart", ".github/skills/frost-chart/SKILL.md"),
        ("skill", "pressing", ".claude/skills/pressing/SKILL.md"),
        ("skill", "sorting", ".agents/skills/Sorting/skill.md"),
    ]
    assert {made.scope for made in definitions} == {"workspace"}
    assert (ledger.seen, ledger.used, ledger.ignored) == (12, 11, {"no-definition": 1})
    assert ledger.balances()


def test_definitions_of_a_user_are_read_from_all_paths() -> None:
    ledger = Ledger()

    definitions = list(definitions_of_user(DATA / "copilot_home", DATA / "user", ledger))

    assert [(made.kind, made.name) for made in definitions] == [
        ("agent", "packer"),
        ("skill", "packing"),
        ("instruction", "tone"),
        ("instruction", "copilot-instructions"),
        ("agent", "Critic"),
        ("prompt", "weekly"),
        ("mode", "calm"),
    ]
    assert {made.scope for made in definitions} == {"user"}
    assert (ledger.seen, ledger.used) == (7, 7)


def test_a_missing_folder_has_no_definitions(tmp_path: Path) -> None:
    assert list(definitions_in(tmp_path / "nowhere")) == []
    assert list(definitions_of_user(tmp_path / "nowhere")) == []
    assert list(definitions_of_user(tmp_path, tmp_path / "nowhere")) == []


def test_prompts_and_folders_among_the_agents_are_not_agents(tmp_path: Path) -> None:
    agent_file(tmp_path, "Do it.", "do.prompt.md")
    (tmp_path / ".github" / "agents" / "folder.agent.md").mkdir()

    definitions, ledger = found_in(tmp_path)

    assert definitions == []
    assert ledger.ignored == {"no-definition": 1}


# --- front matter -----------------------------------------------------------------------------------------------


def test_the_front_matter_fills_the_fields_and_the_rest_is_in_extra() -> None:
    [reviewer] = [made for made in definitions_in(WORKSPACE) if made.name == "Reviewer"]

    assert reviewer.description == "Reads changes and says what is wrong with them"
    assert reviewer.tools == ["search", "read/readFile"]
    assert reviewer.model == "GPT-5 (copilot)"
    assert reviewer.argument_hint == "which change to read"
    assert reviewer.handoffs == ["gardener"]
    assert (reviewer.is_user_invocable, reviewer.is_model_invocable, reviewer.infer) == (True, False, None)
    assert reviewer.body.startswith("You read changes to the herbarium with care.")
    assert reviewer.front_matter is not None
    assert reviewer.front_matter.startswith("name: Reviewer\n")
    assert reviewer.extra["target"] == "vscode"
    assert reviewer.extra["model"] == ["GPT-5 (copilot)", "Claude Sonnet 4.5 (copilot)"]
    assert [handoff["label"] for handoff in reviewer.extra["handoffs"]] == ["Mend it", "Ask again"]


def test_tools_may_be_one_line_and_skills_have_their_own_key() -> None:
    tools = {made.name: made.tools for made in definitions_in(WORKSPACE)}

    assert tools["tutor"] == ["search", "fetch"]
    assert tools["Frost chart"] == ["read", "run"]


@pytest.mark.parametrize(
    ("line", "value"), [("infer: false", False), ("infer: hidden", "hidden"), ("infer: [1]", None)]
)
def test_infer_is_a_flag_or_a_text(tmp_path: Path, line: str, value: object) -> None:
    agent_file(tmp_path, f"---\n{line}\n---\n")

    definition, _ = the_one_in(tmp_path)

    assert definition.infer == value
    assert definition.extra == ({"infer": [1]} if value is None else {})


def test_values_of_the_wrong_type_stay_in_extra(tmp_path: Path) -> None:
    agent_file(tmp_path, "---\nname: [a]\ntools: {search: true}\nhandoffs: none\nuser-invocable: perhaps\n---\n")

    definition, ledger = the_one_in(tmp_path)

    assert (definition.name, definition.tools, definition.handoffs) == ("helper", [], [])
    assert sorted(definition.extra) == ["handoffs", "name", "tools", "user-invocable"]
    assert ledger.diagnostics() == []


def test_a_file_without_front_matter_is_all_body(tmp_path: Path) -> None:
    agent_file(tmp_path, "Be kind.\n---\nAlways.\n")

    definition, _ = the_one_in(tmp_path)

    assert (definition.name, definition.body, definition.front_matter) == ("helper", "Be kind.\n---\nAlways.\n", None)


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path: Path) -> None:
    agent_file(tmp_path, b"\xef\xbb\xbf---\r\nname: Helper\r\ndescription: Helps\r\n---\r\nHelp.\r\n")

    definition, ledger = the_one_in(tmp_path)

    assert (definition.name, definition.description, definition.body) == ("Helper", "Helps", "Help.\r\n")
    assert ledger.diagnostics() == []


def test_broken_yaml_loses_one_value(tmp_path: Path) -> None:
    path = agent_file(tmp_path, "---\nname: Helper\ndescription: helps: always\ntools: [read]\n---\nHelp.\n")

    definition, ledger = the_one_in(tmp_path)

    assert (definition.name, definition.description, definition.tools) == ("Helper", "helps: always", ["read"])
    assert definition.body == "Help.\n"
    [note] = ledger.notes
    assert (note.code, note.path, note.line) == ("bad-record", str(path), 3)
    assert "helps" not in note.reason


def test_a_pattern_without_quotes_is_read() -> None:
    [style] = [made for made in definitions_in(WORKSPACE) if made.name == "style"]

    assert (style.apply_to, style.description) == ("**/*.py", "How we write Python: short")


def test_a_front_matter_without_an_end_is_reported_and_read_as_text(tmp_path: Path) -> None:
    agent_file(tmp_path, "---\nname: Helper\n\nHelp.\n")

    definition, ledger = the_one_in(tmp_path)

    assert (definition.name, definition.body) == ("helper", "---\nname: Helper\n\nHelp.\n")
    assert codes(ledger) == ["bad-record"]


@pytest.mark.parametrize(
    "front",
    [
        "a: " + "[" * 5000,
        "- " * 5000,
        "a: &a [x, x, x, x]\n" + "".join(f"k{n}: &k{n} [*{'a' if n == 0 else f'k{n - 1}'}, x]\n" for n in range(40)),
        "a: &a [*a]",
        "n: " + "9" * 5000,
        "d: 2024-13-45",
        "!!bool maybe",
        "!!python/object/apply:os.getcwd []",
        "just words",
        "- a list",
        "x: " + "y" * 20_000,
        'a: "open',
    ],
    ids=lambda front: front[:12],
)
def test_any_front_matter_is_read_without_an_error(tmp_path: Path, front: str) -> None:
    agent_file(tmp_path, f"---\n{front}\n---\nHelp.\n")

    definition, ledger = the_one_in(tmp_path)

    assert definition.body == "Help.\n"
    assert codes(ledger) == ["bad-record"]
    assert msgspec.json.decode(msgspec.json.encode(definition), type=Definition) == definition


def test_values_that_are_missing_in_json_become_text(tmp_path: Path) -> None:
    front = 'day: 2026-05-01\nn: 123456789012345678901\nhalf: "\\ud800"\n1: one\nset: !!set {a}\n'
    agent_file(tmp_path, f"---\n{front}---\n")

    definition, ledger = the_one_in(tmp_path)

    assert ledger.diagnostics() == []
    assert definition.extra == {
        "day": "2026-05-01",
        "n": "123456789012345678901",
        "half": "\ufffd",
        "1": "one",
        "set": "{'a'}",
    }
    assert msgspec.json.decode(msgspec.json.encode(definition), type=Definition) == definition


@given(st.text(alphabet="ab:-[]{}*&!|>#'\"%@` \n\t", max_size=80), st.text(max_size=40))
def test_any_text_can_be_split_into_front_matter_and_body(front: str, body: str) -> None:
    document = split(f"---\n{front}\n---\n{body}")

    assert document.body.endswith(body)
    msgspec.json.encode(document.values)


# --- files ------------------------------------------------------------------------------------------------------


def test_a_huge_file_is_read_up_to_a_limit(tmp_path: Path) -> None:
    agent_file(tmp_path, "---\nname: Huge\n---\n" + "ä" * MAX_BYTES)

    definition, ledger = the_one_in(tmp_path)

    assert definition.name == "Huge"
    assert len(definition.body.encode()) <= MAX_BYTES + 3
    assert codes(ledger) == ["bad-file"]


def test_other_encodings_are_read_and_reported(tmp_path: Path) -> None:
    agent_file(tmp_path, "---\nname: Wide\n---\n".encode("utf-16"), "a.agent.md")
    agent_file(tmp_path, b"---\nname: Old\n---\ncaf\xe9", "b.agent.md")

    definitions, ledger = found_in(tmp_path)

    assert [(made.name, made.body) for made in definitions] == [("Wide", ""), ("Old", "caf\ufffd")]
    assert codes(ledger) == ["utf-16", "invalid-utf8"]


def test_a_file_that_cannot_be_read_is_bad_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = agent_file(tmp_path, "", "a.agent.md")
    agent_file(tmp_path, "Help.", "b.agent.md")
    really_open = os.open

    def refuse(path: str | Path, *rest: int) -> int:
        if Path(path) == locked:
            raise PermissionError(13, "Permission denied")
        return really_open(path, *rest)

    monkeypatch.setattr(os, "open", refuse)
    definitions, ledger = found_in(tmp_path)

    assert [made.name for made in definitions] == ["b"]
    assert [(bad.code, bad.path) for bad in ledger.bad] == [("unreadable", str(locked))]
    assert ledger.balances()


def test_links_are_followed_within_the_folder_only(tmp_path: Path) -> None:
    workspace, elsewhere = tmp_path / "workspace", tmp_path / "elsewhere"
    inside = agent_file(workspace, "Help.")
    agent_file(elsewhere, "Secret.")
    links = inside.parent
    (links / "again.agent.md").symlink_to(inside)
    (links / "out.agent.md").symlink_to(elsewhere / ".github" / "agents" / "helper.agent.md")
    (links / "nowhere.agent.md").symlink_to(workspace / "nothing")
    (links / "round.agent.md").symlink_to(links / "round.agent.md")
    (workspace / ".claude").symlink_to(elsewhere / ".github")

    definitions, ledger = found_in(workspace)

    assert [(made.name, made.body) for made in definitions] == [("again", "Help."), ("helper", "Help.")]
    assert ledger.ignored == {"link": 3}
    assert set(codes(ledger)) == {"broken-link"}
    assert ledger.balances()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(agent_file(tmp_path, "Help.").with_name("pipe.agent.md"))

    assert [made.name for made in found_in(tmp_path)[0]] == ["helper"]


# --- what VS Code keeps -----------------------------------------------------------------------------------------

BODY = "You plan, and you never build."
MODES: list[Any] = [
    {
        "id": "vscode-userdata:/home/ana/Code/User/globalStorage/github.copilot-chat/plan-agent/Plan.agent.md",
        "name": "Plan",
        "description": "Outlines plans",
        "kind": "agent",
        "customTools": ["search", "read"],
        "modeInstructions": {"content": BODY, "toolReferences": []},
        "uri": {"$mid": 1, "path": "/home/ana/Code/User/globalStorage/github.copilot-chat/plan-agent/Plan.agent.md"},
        "handOffs": [{"agent": "agent", "label": "Start"}, {"agent": "agent", "label": "Open"}],
        "source": {"storage": "extension", "extensionId": "GitHub.copilot-chat"},
        "visibility": {"userInvokable": True, "agentInvokable": False},
    },
    {"id": "file:///home/ana/tide%20tables/.github/agents/pilot.agent.md", "name": "pilot", "model": ["Tern 4"]},
    {"name": "nameless file", "source": {"storage": "user"}, "model": "Gull"},
    {"id": "vscode-userdata:/home/ana/prompts/night%20watch.chatmode.md", "body": "You watch the harbour."},
    {"name": " ", "modeInstructions": {"content": "You count the gulls."}},
    {},
    "no mode",
]


def test_agents_stored_by_vscode_are_definitions(tmp_path: Path) -> None:
    store = make_store(tmp_path / "state.vscdb", {"chat.customModes": MODES})

    plan, pilot, other, *_ = definitions_in_store(tmp_path)
    assert (plan.kind, plan.name, plan.scope, plan.body) == ("agent", "Plan", "extension", BODY)
    assert plan.path == "/home/ana/Code/User/globalStorage/github.copilot-chat/plan-agent/Plan.agent.md"
    assert (plan.tools, plan.handoffs) == (["search", "read"], ["agent"])
    assert (plan.is_user_invocable, plan.is_model_invocable) == (True, False)
    assert plan.extra["recorded_in"] == str(store)
    assert (pilot.path, pilot.model) == ("/home/ana/tide tables/.github/agents/pilot.agent.md", "Tern 4")
    assert (other.path, other.scope, other.model) == (str(store), "user", "Gull")


def test_an_agent_without_a_name_is_named_by_its_file(tmp_path: Path) -> None:
    make_store(tmp_path / "state.vscdb", {"chat.customModes": MODES})

    watch, gulls = list(definitions_in_store(tmp_path))[3:]
    assert (watch.name, watch.body) == ("night watch", "You watch the harbour.")
    assert (gulls.name, gulls.body) == ("unnamed", "You count the gulls.")


def test_local_agents_stored_by_vscode_are_definitions_once(tmp_path: Path) -> None:
    local = {"id": "file:///home/ana/a.agent.md", "name": "Gull", "modeInstructions": {"content": "You review gulls."}}
    rows = {"chat.customModes": MODES[:1], "chat.customModes.local": [*MODES[:1], local]}
    make_store(tmp_path / "state.vscdb", rows)

    assert [(made.name, made.body) for made in definitions_in_store(tmp_path)] == [
        ("Plan", BODY),
        ("Gull", "You review gulls."),
    ]


@pytest.mark.parametrize("value", ["{}", "no JSON", "null", "[[]]"])
def test_a_store_whose_agents_cannot_be_read_defines_nothing(tmp_path: Path, value: str) -> None:
    make_store(tmp_path / "state.vscdb", {"chat.customModes": value})

    assert list(definitions_in_store(tmp_path)) == []


def test_agents_are_read_from_the_backup_of_a_broken_store(tmp_path: Path) -> None:
    (tmp_path / "state.vscdb").write_bytes(b"no database")
    make_store(tmp_path / "state.vscdb.backup", {"chat.customModes": MODES[:1]})

    assert [made.name for made in definitions_in_store(tmp_path)] == ["Plan"]


def test_the_plan_agent_that_the_extension_stores_is_a_definition(tmp_path: Path) -> None:
    for above in ("", "profiles/7f3a/"):
        path = tmp_path / f"{above}globalStorage/github.copilot-chat/plan-agent/Plan.agent.md"
        path.parent.mkdir(parents=True)
        path.write_text("---\nname: Plan\ndescription: Outlines plans\n---\nYou plan.\n")
    (path.parent / "notes.md").write_text("no agent")

    found = list(definitions_of_user(tmp_path / "no copilot", tmp_path))
    assert [(made.name, made.scope, made.kind) for made in found] == [("Plan", "extension", "agent")] * 2
    assert found[1].path == str(path)
