"""`copilog tags`: the inventory of tags, for people and for programs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.homes import Home, run, session

PROMPT = "<context>\nMay 1\n</context>\n<weather wind=3>sun | `rain`</weather>\n<userRequest>\nhello\n</userRequest>"
MESSAGES = [
    {"role": "system", "content": "<instructions>be brief</instructions>"},
    {"role": "user", "content": PROMPT},
    {"role": "assistant", "content": "hi"},
]


def trajectory(conversation_id: str = "c-1") -> dict[str, Any]:
    return {
        "conversation_id": conversation_id,
        "messages": MESSAGES,
        "context": {},
        "metadata": {"mode": "ask"},
        "mode_distribution": {"ask": 1},
    }


def event(conversation_id: str, messages: list[dict[str, str]]) -> dict[str, Any]:
    properties = {"conversationId": conversation_id, "messagesJson": json.dumps(messages)}
    return {"name": "copilot-chat/engine.messages", "time": "2026-05-01T10:00:00Z", "properties": properties}


def lines_of(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def trajectories(tmp_path: Path) -> Path:
    file = tmp_path / "trajectories.jsonl"
    file.write_text(lines_of(trajectory("c-1"), trajectory("c-2")))
    return file


def names(outcome: Any) -> set[str]:
    return {tag["name"] for tag in outcome.json["tags"]}


def test_the_inventory_is_a_page_of_markdown(trajectories: Path) -> None:
    outcome = run("tags", trajectories)

    assert outcome.code == 0
    assert outcome.out == (
        "# Tags\n\n"
        "6 messages of 2 conversations: 3 known and 1 new tags.\n\n"
        "## New tags\n\n"
        "Not in the catalogue: a tag of a newer Copilot, or text that only looks like a tag.\n\n"
        "| Tag | Blocks | Messages | Conversations | Roles | Attributes |\n"
        "| --- | ---: | ---: | ---: | --- | --- |\n"
        "| `weather` | 2 | 2 | 2 | user 2 | `wind` |\n\n"
        "### Examples\n\n"
        "- `weather`: `` sun | `rain` ``\n\n"
        "## Known tags\n\n"
        "Origin: who wrote its content. Key: the field of the context in which `copilog extract` stores it.\n\n"
        "| Tag | Blocks | Messages | Conversations | Roles | Attributes | Origin | Key |\n"
        "| --- | ---: | ---: | ---: | --- | --- | --- | --- |\n"
        "| `context` | 2 | 2 | 2 | user 2 |  | injected | context_info |\n"
        "| `instructions` | 2 | 2 | 2 | system 2 |  | injected |  |\n"
        "| `userRequest` | 2 | 2 | 2 | user 2 |  | user | user_request |\n\n"
        "### Examples of known tags\n\n"
        "- `context`: `May 1`\n"
        "- `instructions`: `be brief`\n"
        "- `userRequest`: `hello`\n"
    )
    assert outcome.err == "6 messages of 2 conversations: 4 tags, 1 of them new\n"


def test_the_older_name_of_the_command_does_the_same(trajectories: Path) -> None:
    assert run("conversation-tags", trajectories) == run("tags", trajectories)


def test_the_inventory_as_json(trajectories: Path) -> None:
    document = run("tags", "--json", trajectories).json

    assert (document["conversations"], document["messages"]) == (2, 6)
    assert (document["known_tags"], document["new_tags"]) == (3, 1)
    [weather] = [tag for tag in document["tags"] if not tag["is_known"]]
    assert weather["name"] == "weather"
    assert weather["snippets"] == ["sun | `rain`"]


def test_raw_telemetry_is_read_as_conversations(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(lines_of(event("c-1", MESSAGES[:2]), event("c-1", MESSAGES)))
    with gzip.open(tmp_path / "b.jsonl.gz", "wt") as file:
        file.write(lines_of(event("c-2", [{"role": "user", "content": "<moon>3</moon>"}])))

    outcome = run("tags", "--json", tmp_path)

    assert outcome.code == 0
    assert outcome.json["conversations"] == 2, "one without a system message, too"
    assert names(outcome) == {"context", "instructions", "moon", "userRequest", "weather"}
    assert all(tag["count"] == 1 for tag in outcome.json["tags"]), "snapshots of one conversation count once"


def test_conversations_of_other_sources_are_read_as_they_are(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    workspace = home.workspace(1, "/home/ana/tide-tables")
    state = session("11111111-aaaa", "what is <weather>sun</weather>?")
    state["requests"][0]["variableData"]["variables"] = [
        {"kind": "file", "name": "a.py", "value": {"$mid": 1, "path": "/home/ana/a.py", "scheme": "file"}}
    ]
    home.add(workspace, state)

    assert names(run("tags", "--json", tmp_path / "home")) == {"weather"}, "no tag is made up for attachments"


def test_several_paths_are_one_inventory(tmp_path: Path, trajectories: Path) -> None:
    telemetry = tmp_path / "events.jsonl"
    telemetry.write_text(lines_of(event("c-3", MESSAGES), event("c-1", MESSAGES)))

    assert run("tags", "--json", trajectories, telemetry).json["conversations"] == 3, "c-1 stands in both"


def test_a_file_takes_the_page(tmp_path: Path, trajectories: Path) -> None:
    page = tmp_path / "tags.md"

    outcome = run("tags", trajectories, "-o", page)

    assert (outcome.code, outcome.out) == (0, "")
    assert page.read_text() == run("tags", trajectories).out
    assert run("tags", "--json", trajectories, "-o", page).code == 0
    assert json.loads(page.read_text())["conversations"] == 2


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path, trajectories: Path) -> None:
    before = sorted(tmp_path.iterdir())

    assert run("tags", trajectories, "-o", tmp_path / "nowhere" / "tags.md").code == 2
    assert run("tags", trajectories, "-o", trajectories).code == 2
    assert sorted(tmp_path.iterdir()) == before
    assert trajectories.read_text() == lines_of(trajectory("c-1"), trajectory("c-2"))


def test_a_custom_catalogue_determines_which_tags_are_known(
    tmp_path: Path, trajectories: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue = tmp_path / "mine.json"
    catalogue.write_text('[{"name": "weather", "key": "sky", "origin": "user", "roles": ["user"]}]')

    outcome = run("tags", "--json", trajectories, "--context-tag-map", catalogue)
    assert [(tag["name"], tag["key"]) for tag in outcome.json["tags"] if tag["is_known"]] == [("weather", "sky")]

    monkeypatch.setenv("PROMPT_CONTEXT_TAG_MAP", str(catalogue))
    assert run("tags", "--json", trajectories).json == outcome.json


@pytest.mark.parametrize("content", ["{}", "[{]", None])
def test_a_catalogue_that_cannot_be_used_is_named(tmp_path: Path, trajectories: Path, content: str | None) -> None:
    catalogue = tmp_path / "mine.json"
    if content is not None:
        catalogue.write_text(content)

    outcome = run("tags", trajectories, "--context-tag-map", catalogue)

    assert (outcome.code, outcome.out) == (2, "")
    assert "mine.json" in outcome.err


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    outcome = run("tags", tmp_path / "nowhere.jsonl")

    assert (outcome.code, outcome.out) == (2, "")
    assert "nowhere.jsonl" in outcome.err


def test_broken_lines_are_counted(tmp_path: Path) -> None:
    telemetry = tmp_path / "events.jsonl"
    telemetry.write_text(lines_of(event("c-1", MESSAGES)) + '{"name": "cut\n')

    outcome = run("tags", telemetry)

    assert outcome.code == 0
    assert "events.jsonl:2 (byte " in outcome.err
    assert outcome.err.endswith("4 tags, 1 of them new; 1 bad record (copilog inspect shows them)\n")
    assert run("tags", "--strict", telemetry).code == 1


def test_no_control_characters_are_passed_on(tmp_path: Path) -> None:
    telemetry = tmp_path / "events.jsonl"
    messages = [{"role": "user", "content": "<weather>\x1b[31mred\u202e</weather>"}]
    telemetry.write_text(lines_of(event("c-1", messages)))

    assert "\x1b" not in run("tags", telemetry).out
    assert "\u202e" not in run("tags", telemetry).out


def test_conversations_without_tags_make_a_short_page(tmp_path: Path) -> None:
    telemetry = tmp_path / "events.jsonl"
    telemetry.write_text(lines_of(event("c-1", [{"role": "user", "content": "hello"}])))

    assert run("tags", telemetry).out == "# Tags\n\n1 message of 1 conversation: 0 known and 0 new tags.\n"
