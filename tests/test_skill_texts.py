"""The text of a skill that was loaded is in the conversation, and a search for a phrase of it finds that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from copilog import ingest
from copilog.model import SkillDocument
from tests.cli.homes import run
from tests.sources.cli_builders import Log, write_log
from tests.sources.extension_builders import write_lines
from tests.test_notes import EVERYWHERE, WHERE_ALL_IS_SHOWN, WORDS, has_words

SKILL = f"# Tides\n{WORDS}\n"
PLACED = f'<skill-context name="tides">\nBase directory for this skill: /x\n\n{SKILL}</skill-context>'
LOGS = {
    "skill.invoked": {"name": "tides", "path": "/home/ana/skills/tides/SKILL.md", "content": SKILL},
    "skill.context_delivered": {"name": "tides", "content": SKILL},
    "user.message": {"content": PLACED, "source": "skill-tides"},
}


def span(**fields: Any) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "s-1"}
    times = {"startTime": [1777888800, 0], "endTime": [1777888801, 0]}
    made = {"traceId": "t1", "spanId": "c1", "name": "invoke_agent", **times, "attributes": attributes}
    return {**made, **fields}


def event(**attributes: str) -> dict[str, Any]:
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    return {"name": "github.copilot.skill.invoked", "time": [1777888800, 0], "attributes": named}


@pytest.mark.parametrize("kind", LOGS)
def test_a_search_finds_the_text_of_a_skill_of_copilot_cli(tmp_path: Path, kind: str) -> None:
    write_log(tmp_path, Log().start().ask().add(kind, LOGS[kind]))
    archive = tmp_path / "archive.db"
    run("scan", "--archive", archive, tmp_path)

    assert WORDS.split()[-1] in run("search", "--archive", archive, f'"{WORDS}"').out


def test_a_skill_of_copilot_cli_is_where_all_is_shown(tmp_path: Path) -> None:
    [conversation] = ingest.read(write_log(tmp_path, Log().start().ask().add("skill.invoked", LOGS["skill.invoked"])))

    assert has_words(conversation) == {**WHERE_ALL_IS_SHOWN, "mcp": True, "search": True}


def test_a_skill_in_a_span_is_a_document_on_every_surface(tmp_path: Path) -> None:
    loaded = event(
        gen_ai__skill__name="tides",
        gen_ai__skill__description="Knows about the sea",
        gen_ai__skill__source__uri="file:///home/ana/skills/tides/SKILL.md",
        github__copilot__skill__content=SKILL,
    )
    path = write_lines(tmp_path / "otel.jsonl", [span(events=[loaded, loaded])])
    ledger = ingest.inspect_file(path)
    [conversation] = ingest.read(path)

    text = f"Knows about the sea\n\n{SKILL}"
    skill = SkillDocument(title="tides", text=text, path="/home/ana/skills/tides/SKILL.md", traces=[str(path)])
    assert conversation.documents == [skill]
    assert has_words(conversation) == EVERYWHERE
    assert ledger.leaves is not None
    assert ledger.leaves.unaccounted == {}
