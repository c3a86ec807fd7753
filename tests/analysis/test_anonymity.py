"""Anonymous figures: nothing is left of whose they are, and the numbers are the same."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import PurePosixPath
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import pytest

from copilog.analysis import public_names
from copilog.analysis.anonymity import anonymous
from copilog.analysis.figures import CountRow, Figures, ProgramRow, ServerRow, SpendRow, Stats
from copilog.detection.definition_index import BUILT_IN
from copilog.render.report import Cover, report_page
from tests.report_figures import PRIVATE, empty_stats, made_up_stats


def texts_of(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text in the figures, with its path."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, list):
        for item in value:
            yield from texts_of(item, place)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield f"{place}.keys", key
            yield from texts_of(item, f"{place}.values")
    elif isinstance(value, Figures):
        for name in value.__struct_fields__:
            yield from texts_of(getattr(value, name), f"{place}.{name}".lstrip("."))


def page_of(stats: Stats) -> str:
    cover = Cover(made_at=datetime(2026, 5, 5, tzinfo=UTC), made_by="copilog 1.2.3", is_anonymous=True)
    return report_page(stats, cover)


# --- nothing is left ----------------------------------------------------------------------------------------------


def test_private_texts_are_in_the_original_figures() -> None:
    everything = "\n".join(text for _, text in texts_of(made_up_stats()))

    assert [name for name in PRIVATE if name not in everything] == []


def test_private_texts_are_neither_in_anonymous_figures_nor_on_the_page() -> None:
    stats = anonymous(made_up_stats())

    for place, text in texts_of(stats):
        assert [name for name in PRIVATE if name.casefold() in text.casefold()] == [], place
    page = page_of(stats)
    assert [name for name in PRIVATE if name.casefold() in page.casefold()] == []


def secrets_for(kind: Any, numbers: Iterator[int]) -> Any:
    """Make figures in which every text is a secret of its own."""
    if type(None) in get_args(kind):
        kind = next(inner for inner in get_args(kind) if inner is not type(None))
    if isinstance(kind, type) and issubclass(kind, Figures):
        return kind(**{name: secrets_for(inner, numbers) for name, inner in get_type_hints(kind).items()})
    if kind is str:
        return f"sekret{next(numbers)}/x y.zz"
    if get_origin(kind) is list:
        return [secrets_for(get_args(kind)[0], numbers), secrets_for(get_args(kind)[0], numbers)]
    if get_origin(kind) is dict:
        inner = get_args(kind)[1]
        return {secrets_for(str, numbers): secrets_for(inner, numbers)}
    return kind(3)


# What copilog itself writes: names of formats and of fields, and the price table.
OUR_OWN = {
    "totals.sources.name", "tokens.origins.source", "tokens.origins.method", "tokens.prices.source",
    "tokens.prices.date", "tokens.prices.models.values", "time.by_day.name", "time.by_weekday.name",
    "time.by_hour.name", "tokens.calibration.name",
}  # fmt: skip


def test_every_text_field_is_replaced_unless_it_is_a_public_name() -> None:
    stats = secrets_for(Stats, count())

    kept = {place for place, text in texts_of(anonymous(stats)) if "sekret" in text}

    assert kept == OUR_OWN


def test_anonymizing_does_not_change_the_original() -> None:
    stats = made_up_stats()

    anonymous(stats)

    assert stats == made_up_stats()


def test_numbers_are_not_anonymized() -> None:
    before, after = made_up_stats(), anonymous(made_up_stats())

    assert after.totals == before.totals
    assert msgspec.structs.replace(after.tokens.total, name="") == msgspec.structs.replace(before.tokens.total, name="")
    assert [row.output for row in after.tokens.by_day] == [row.output for row in before.tokens.by_day]
    assert [row.calls for row in after.tools.tools] == [row.calls for row in before.tools.tools]
    assert sum(row.calls for row in after.tools.programs) == sum(row.calls for row in before.tools.programs)
    assert sum(row.times for row in after.work.errors) == sum(row.times for row in before.work.errors)
    assert (after.work.kept, after.work.working_ms) == (before.work.kept, before.work.working_ms)
    assert after.time.by_day == before.time.by_day


def test_empty_figures_stay_empty_when_anonymous() -> None:
    assert [text for _, text in texts_of(anonymous(empty_stats())) if text] == ["total"]


# --- replacements -----------------------------------------------------------------------------------------------


def test_names_become_numbers_in_the_order_of_their_rank_and_the_same_everywhere() -> None:
    stats = anonymous(made_up_stats())

    assert [row.name for row in stats.tokens.by_workspace] == [
        "workspace 1", "workspace 2", "workspace 3", "(no workspace)",
    ]  # fmt: skip
    assert [row.name for row in stats.tokens.by_agent] == ["agent", "agent 1", "(no agent)"]
    assert [row.name for row in stats.tokens.by_subagent] == ["agent 2", "explore"]
    assert [row.name for row in stats.agents.agents] == ["agent", "agent 1", "agent 2"]
    assert [(row.before, row.after) for row in stats.agents.handovers] == [
        ("(default)", "agent 1"),
        ("agent 1", "agent 2"),
    ]
    assert stats.agents.no_longer_defined == ["agent 4", "agent 2"]
    assert [(row.name, row.path, row.scope, row.description) for row in stats.agents.never_used] == [
        ("agent 3", "", "workspace", None)
    ]
    assert [row.name for row in stats.skills.skills] == [row.name for row in stats.tokens.by_skill]


def test_conversations_and_turns_are_numbered_and_have_no_id() -> None:
    tokens = anonymous(made_up_stats()).tokens

    assert [(row.name, row.id) for row in tokens.by_conversation] == [
        ("conversation 1", None),
        ("conversation 2", None),
    ]
    assert [(row.name, row.id) for row in tokens.by_turn] == [("conversation 1 #3", None)]


def test_two_conversations_of_one_title_are_two() -> None:
    stats = made_up_stats()
    stats.tokens.by_conversation = [SpendRow(name="Fix it", id="cli:1"), SpendRow(name="Fix it", id="cli:2")]

    assert [row.name for row in anonymous(stats).tokens.by_conversation] == ["conversation 1", "conversation 2"]


def test_public_models_keep_their_names() -> None:
    stats = anonymous(made_up_stats())

    names = ["claude-sonnet-4.5", "gpt-5-mini", "gemini-2.5-pro", "model 1"]
    assert [row.name for row in stats.models.models] == names
    assert [row.name for row in stats.tokens.by_model] == names
    assert stats.models.conflicts[0].answered == "model 1"
    assert stats.tokens.prices is not None
    assert stats.tokens.prices.unpriced == ["model 1"]


@pytest.mark.parametrize(
    "name",
    [
        "gpt-4o", "gpt-4.1-2025-04-14", "copilot/gpt-5", "Claude Sonnet 4.5 (Preview)", "claude-opus-4-6-20260205",
        "o3", "o4-mini", "gemini-2.0-flash-001", "grok-code-fast-1", "gpt-5.1-codex-max", "auto", "deepseek-r1",
        "gpt-oss:20b",
    ],
)  # fmt: skip
def test_names_of_public_models_are_recognized(name: str) -> None:
    assert public_names.is_model(name)


@pytest.mark.parametrize("name", ["", "gpt-5-ana", "harbour/gpt-5", "azure/ana-deployment", "claude-for-acme", "-"])
def test_names_of_private_models_are_not_public(name: str) -> None:
    assert not public_names.is_model(name)


def test_copilot_tools_keep_names_and_server_tools_get_numbers() -> None:
    tools = anonymous(made_up_stats()).tools

    assert [row.name for row in tools.tools] == [
        "read_file", "run_in_terminal", "copilot_replaceString", "grep_search", "tool 1 of server 1",
        "tool 2 of server 1", "tool 1",
    ]  # fmt: skip
    assert [row.name for row in tools.servers] == ["server 1"]
    assert tools.sequences[1].tools == ["tool 1 of server 1", "read_file"]


def test_a_tool_belongs_to_the_server_with_the_longest_matching_prefix() -> None:
    stats = made_up_stats()
    stats.tools.servers = [
        ServerRow(name=name, tools=1, calls=1, failed=0, conversations=1) for name in ("quay", "Quay Weather", "---")
    ]

    assert anonymous(stats).tools.tools[4].name == "tool 1 of server 2"


def test_unknown_programs_are_summed_up_as_others() -> None:
    assert anonymous(made_up_stats()).tools.programs == [
        ProgramRow(name="git", calls=180, failed=0, command_errors=12, conversations=31),
        ProgramRow(name="pytest", calls=98, failed=0, command_errors=41, conversations=17),
        ProgramRow(name="other program", calls=9, failed=0, command_errors=2, conversations=3),
    ]


def test_files_keep_the_ending_of_a_known_language() -> None:
    names = [row.path for row in anonymous(made_up_stats()).work.top_files]

    assert names == ["file 1.py", "file 2.tsx", "file 3"]
    assert PurePosixPath(names[0]).suffix == ".py"


def test_unknown_languages_errors_and_reasons_become_others() -> None:
    work = anonymous(made_up_stats()).work

    assert [(row.name, row.edits) for row in work.languages] == [
        ("Python", 500),
        ("TypeScript", 220),
        ("other language", 5),
    ]
    assert work.errors == [
        CountRow(name="rateLimited", times=9),
        CountRow(name="other error", times=5),
        CountRow(name="canceled", times=3),
    ]
    assert work.vote_reasons == [CountRow(name="incorrectCode", times=5), CountRow(name="other", times=1)]


def test_references_are_counts_of_their_kinds() -> None:
    references = anonymous(made_up_stats()).work.references

    assert [(row.name, row.url, row.times, row.is_made) for row in references] == [
        ("1 pull request", None, 8, False),
        ("1 commit", None, 2, True),
    ]


def test_anonymous_evidence_quotes_nothing() -> None:
    stats = anonymous(made_up_stats())

    assert stats.agents.agents[1].evidence == ["modeInfo", "other"]
    assert stats.agents.agents[2].evidence == ["runSubagent"]
    assert stats.skills.skills[0].evidence == {"tool call": 20, "other": 14}


def test_timestamps_become_days_and_the_period_is_unchanged() -> None:
    stats = anonymous(made_up_stats())

    assert (stats.time.first_at, stats.time.most_parallel_at) == ("2026-03-02", "2026-04-14")
    assert stats.agents.agents[0].last_at == "2026-05-04"
    assert stats.since == "2026-03-01T23:00:00.000Z"


def test_only_copilots_prompt_categories_keep_their_names() -> None:
    shares = anonymous(made_up_stats()).tokens.composition

    assert [(row.category, row.label) for row in shares] == [
        ("System", "Tool Definitions"),
        ("User Context", "Files"),
        ("other", None),
    ]


def test_names_that_detection_treats_as_built_in_are_public() -> None:
    assert {name for name in BUILT_IN if name not in public_names.AGENTS} <= {"applycodeblock"}
