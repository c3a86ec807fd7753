"""Which models answered, and how fast."""

from __future__ import annotations

from pathlib import Path

import pytest

from copilog.analysis.figures import ConflictRow, ModelRow, ModelsSection, SwitchRow
from copilog.analysis.models import models
from copilog.analysis.selection import Chosen, Selection, choose
from copilog.derive.model_names import key_of
from copilog.model import Conversation, Message, Model, Text, Timing, Turn
from copilog.store.archive import Archive
from tests.measured import at
from tests.stored import concluded_entry

Asked = tuple[str | None, str | None]  # the model that was asked for, the one that answered


def test_shares_and_speed_of_each_model(chosen: Chosen) -> None:
    assert models(chosen).models == [
        ModelRow(
            name="claude-sonnet-4.5",
            turns=3,
            share=0.375,
            conversations=2,
            failed=1,
            median_ms=30_000,
            p95_ms=40_000,
            first_median_ms=2_500,
            first_p95_ms=2_500,
        ),
        ModelRow(
            name="gpt-4.1",
            turns=2,
            share=0.25,
            conversations=1,
            failed=1,
            median_ms=8_000,
            p95_ms=8_000,
            first_median_ms=None,
            first_p95_ms=None,
        ),
        ModelRow(
            name="gpt-5-mini",
            turns=2,
            share=0.25,
            conversations=2,
            failed=0,
            median_ms=5_000,
            p95_ms=60_000,
            first_median_ms=None,
            first_p95_ms=None,
        ),
        ModelRow(
            name="gpt-5",
            turns=1,
            share=0.125,
            conversations=1,
            failed=0,
            median_ms=20_000,
            p95_ms=20_000,
            first_median_ms=1_500,
            first_p95_ms=1_500,
        ),
    ]


def test_switches_and_conflicts(chosen: Chosen) -> None:
    found = models(chosen)

    assert found.switches == [
        SwitchRow(before="gpt-5", after="claude-sonnet-4.5", times=1),
        SwitchRow(before="gpt-5-mini", after="claude-sonnet-4.5", times=1),
    ]
    assert found.switching_conversations == 2
    assert found.conflicts == [ConflictRow(asked="gpt-5-mini", answered="claude-sonnet-4.5", times=1)]
    assert found.unknown_turns == 0


def test_only_the_turns_of_a_period_are_looked_at(archive: Archive) -> None:
    found = models(choose(archive, Selection(since=at(6, "00:00:00"))))

    assert [(row.name, row.turns, row.share) for row in found.models] == [
        ("gpt-4.1", 2, 2 / 3),
        ("gpt-5-mini", 1, 1 / 3),
    ]
    assert found.switches == []
    assert found.conflicts == []


def test_a_limit_cuts_tables_and_nothing_else(chosen: Chosen) -> None:
    found = models(chosen, limit=1)

    assert [row.name for row in found.models] == ["claude-sonnet-4.5"]
    assert found.models[0].share == 0.375
    assert len(found.switches) == 1
    assert found.switching_conversations == 2


@pytest.mark.parametrize(
    "spelling",
    ["gpt-4.1", "GPT-4.1", "copilot/gpt-4.1", "gpt-4.1-2025-04-14", "gpt-4.1-20250414", "GPT 4.1 (Preview)", "gpt-4-1"],
)
def test_spellings_of_one_model(spelling: str) -> None:
    assert key_of(spelling) == "gpt-4-1"


@pytest.mark.parametrize("other", ["gpt-4", "gpt-4.1-mini", "gpt-5", "gpt-4o"])
def test_other_models_are_not_taken_for_spellings(other: str) -> None:
    assert key_of(other) != key_of("gpt-4.1")


def test_a_model_has_one_row_whatever_its_spelling(tmp_path: Path) -> None:
    found = _models_of(
        tmp_path,
        _talk("spelt", ("gpt-4.1", "gpt-4.1-2025-04-14"), ("copilot/gpt-4.1", None), ("GPT-4.1", None)),
    )

    assert [(row.name, row.turns, row.conversations) for row in found.models] == [("gpt-4.1", 3, 1)]
    assert found.switches == []
    assert found.conflicts == []


def test_turns_without_a_known_model_are_passed_over(tmp_path: Path) -> None:
    found = _models_of(
        tmp_path,
        _talk("gaps", ("gpt-5", None), (None, None), ("auto", None), ("unknown", None), ("o3", None), ("gpt-5", None)),
        _talk("other", ("o3", None)),
    )

    assert found.unknown_turns == 2
    assert [(row.name, row.turns) for row in found.models] == [("gpt-5", 2), ("o3", 2), ("auto", 1)]
    assert found.switches == [
        SwitchRow(before="gpt-5", after="o3", times=1),
        SwitchRow(before="o3", after="gpt-5", times=1),
    ]
    assert found.switching_conversations == 1


def test_a_message_may_record_that_another_model_answered(tmp_path: Path) -> None:
    talk = _talk("swapped", ("gpt-5", None), ("gpt-5", None), ("auto", None))
    talk.messages = [
        Message(role="assistant", turn=0, model="o3-2025-04-16", parts=[Text(text="High tide at noon.")]),
        Message(role="assistant", turn=0, model="o3", parts=[Text(text="Low tide at six.")]),
        Message(role="assistant", turn=1, model="copilot/gpt-5", parts=[Text(text="At noon.")]),
        Message(role="assistant", turn=1, model="o3", parent_call_id="s1", parts=[Text(text="A sub-agent's.")]),
        Message(role="user", turn=1, model="o3", parts=[Text(text="When?")]),
        Message(role="assistant", turn=2, model="o3", parts=[Text(text="Whoever was free.")]),
    ]

    found = _models_of(tmp_path, talk)

    assert found.conflicts == [ConflictRow(asked="gpt-5", answered="o3", times=1)]
    assert [(row.name, row.turns) for row in found.models] == [("o3", 2), ("gpt-5", 1)]


def test_an_archive_of_nothing_has_no_models(tmp_path: Path) -> None:
    assert _models_of(tmp_path) == ModelsSection(
        models=[], switches=[], switching_conversations=0, conflicts=[], unknown_turns=0
    )


def _talk(name: str, *asked: Asked) -> Conversation:
    return Conversation(
        id=f"vscode:{name}",
        native_id=name,
        source="vscode-session",
        started_at=at(4, "09:00:00"),
        turns=[
            Turn(
                index=index,
                status="complete",
                model=Model(id=model, name=model, resolved=resolved) if model else None,
                timing=Timing(started_at=at(4, f"09:{index:02}:00")),
            )
            for index, (model, resolved) in enumerate(asked)
        ],
        messages=[],
    )


def _models_of(folder: Path, *conversations: Conversation) -> ModelsSection:
    with Archive(folder / "models.db", write=True) as archive:
        for conversation in conversations:
            archive.put(concluded_entry(conversation), "made up")
        return models(choose(archive))
