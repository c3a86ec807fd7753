"""Made-up figures of a small team's spring, for tests of the report. Nothing in them was measured."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, get_args, get_origin, get_type_hints

from copilog.analysis.allowance import month_to_date
from copilog.analysis.figures import (
    ActivityRow,
    AgentRow,
    AgentsSection,
    CalibrationRow,
    ConflictRow,
    CountRow,
    CreditRow,
    CreditsSection,
    DefinedRow,
    EstimateEnd,
    Figures,
    FileRow,
    HandoverRow,
    LanguageRow,
    ModelRow,
    ModelsSection,
    OriginRow,
    PeriodSection,
    Prices,
    ProgramRow,
    ReferenceRow,
    SequenceRow,
    ServerRow,
    ShareRow,
    SkillRow,
    SkillsSection,
    SpendRow,
    Stats,
    SwitchRow,
    TimeSection,
    TokensSection,
    ToolRow,
    ToolsSection,
    TotalsSection,
    TouchedFileRow,
    WorkSection,
)
from copilog.analysis.plans import Plan

# Every one of these occurs in the figures, and none of them may occur in what is anonymous.
PRIVATE = (
    "/home/ana/tide-tables", "tide-tables", "garden-planner", "harbour-api", "/home/ana", "Ana",
    "Mail me when the water is high", "Plan the beds", "vscode:5a1e0001", "cli:5a1e0002", "5a1e0001",
    "harbour-pilot", "Seed Scout", "frost-guard", "old-keeper", "tide-reader", "almanac", "lost-skill", "unused-skill",
    "quay-weather", "mcp_quay-weather_frost_dates", "frost_dates", "spell_harbour", "quay-weather-wind",
    "forecast.py", "beds.tsx", "secret.acme", "acme", "./deploy-harbour.sh", "deploy-harbour", "tidectl",
    "Could not reach quay.example.com", "quay.example.com", "ana/harbour", "ana/harbour#12", "4f2a9c1",
    "because Ana said so", "Pilots ships into the harbour", "acme-lang", "harbour-llm", "Harbour prompts",
    "pilot notes",
)  # fmt: skip

FIRST = date(2026, 3, 2)


def _spend(name: str, weight: int, **more: Any) -> SpendRow:
    return SpendRow(
        name=name,
        **{
            "conversations": 1 + weight // 40,
            "turns": 2 + weight // 8,
            "input": weight * 41_000,
            "output": weight * 1_900,
            "cache_read": weight * 29_000,
            "cache_write": weight * 900,
            "reasoning": weight * 400,
            "estimated_input": weight * 700,
            "estimated_output": weight * 210,
            "premium_requests": weight / 3,
            "dollars": weight * 0.043,
            "estimated_dollars": weight * 0.0021,
            **more,
        },
    )


def weights(days: int) -> list[int]:
    """How busy each day was: weekends are quiet."""
    return [0 if (FIRST + timedelta(days=day)).weekday() == 6 else (day * 37) % 53 + day % 5 for day in range(days)]


def _days(days: int) -> list[tuple[str, int]]:
    return [((FIRST + timedelta(days=day)).isoformat(), weight) for day, weight in enumerate(weights(days)) if weight]


def _tool(name: str, calls: int, failed: int = 0, median_ms: float | None = 240.0) -> ToolRow:
    return ToolRow(
        name=name,
        calls=calls,
        conversations=1 + calls // 30,
        failed=failed,
        failure_rate=failed / calls,
        command_errors=55 if name == "run_in_terminal" else 0,
        retries=failed // 2,
        automatic=calls * 2 // 3,
        by_user=calls // 4,
        denied=calls // 60,
        timed=calls if median_ms else 0,
        median_ms=median_ms,
        p95_ms=median_ms * 7 if median_ms else None,
        total_ms=median_ms * calls * 1.6 if median_ms else None,
        result_bytes=calls * 3_100,
    )


def _tokens(days: int) -> TokensSection:
    return TokensSection(
        total=_spend("total", 2_200, unpriced=12_000),
        by_day=[_spend(day, weight) for day, weight in _days(days)] + [_spend("(no date)", 3)],
        by_workspace=[
            _spend("/home/ana/tide-tables", 1200),
            _spend("/home/ana/garden-planner", 700),
            _spend("/srv/harbour-api", 200),
            _spend("(no workspace)", 100),
        ],
        by_model=[
            _spend("claude-sonnet-4.5", 1500),
            _spend("gpt-5-mini", 480),
            _spend("gemini-2.5-pro", 160),
            _spend("harbour-llm", 60, dollars=None, estimated_dollars=None),
        ],
        by_agent=[_spend("agent", 1400), _spend("harbour-pilot", 500), _spend("(no agent)", 300)],
        by_subagent=[_spend("Seed Scout", 200), _spend("explore", 90)],
        by_skill=[_spend("tide-reader", 120), _spend("almanac", 40)],
        by_tool=[
            _spend("run_in_terminal", 90, input=0, output=0, cache_read=0, reasoning=0),
            _spend("mcp_quay-weather_frost_dates", 12, input=0, output=0, cache_read=0, reasoning=0),
        ],
        by_conversation=[
            _spend("Mail me when the water is high", 420, id="vscode:5a1e0001"),
            _spend("Plan the beds", 310, id="cli:5a1e0002"),
        ],
        by_turn=[_spend("Mail me when the water is high, turn 3", 90, id="vscode:5a1e0001#3")],
        by_system=[_spend("premium requests", 700), _spend("AI credits", 1500, credits=81.5)],
        by_payer=[_spend("Copilot", 2_100), _spend("unknown payer", 100)],
        by_outcome=[_spend("kept", 1_900), _spend("failed", 300)],
        by_repository=[_spend("ana/harbour", 2_000), _spend("(no repository)", 200)],
        by_branch=[_spend("ana/harbour pilots", 2_000)],
        cache_turns=90,
        missed_cache_turns=7,
        input_turns=590,
        credit_turns=120,
        month=month_to_date([_spend("2026-06-02", 30, credits=81.5)], date(2026, 6, 10), Plan(budget=1900)),
        period=PeriodSection(
            since="2026-06-01",
            until="2026-06-10",
            before_since="2026-05-22",
            before_until="2026-05-31",
            days=10,
            turns=41,
            turns_before=30,
            tokens=1_200_000,
            tokens_before=900_000,
            credits=81.5,
            credits_before=40,
            premium_requests=12,
            premium_requests_before=None,
            dollars=1.3,
            dollars_before=0.9,
        ),
        credits=CreditsSection(
            weeks=[
                CreditRow(name="2026-05-25", of="gpt-5-mini", recorded=40, computed=None),
                CreditRow(name="2026-06-01", of="gpt-5-mini", recorded=60, computed=21.5, before=40),
                CreditRow(
                    name="2026-06-01",
                    of="harbour-llm",
                    recorded=2,
                    computed=None,
                    estimated=12.5,
                    at_least=4,
                    at_most=20,
                ),
            ],
            repositories=[
                CreditRow(name="ana/harbour", of="gpt-5-mini", recorded=100, computed=21.5, period=81.5, before=40),
                CreditRow(name="(no repository)", of="harbour-llm", recorded=2, computed=None),
            ],
            outcomes=[
                CreditRow(name="2026-05", of="kept", recorded=40, computed=None),
                CreditRow(name="2026-06", of="failed or cancelled", recorded=62, computed=21.5, before=None),
            ],
        ),
        composition=[
            ShareRow(category="System", label="Tool Definitions", percent=31.5, turns=88),
            ShareRow(category="User Context", label="Files", percent=12.0, turns=88),
            ShareRow(category="Harbour prompts", label="pilot notes", percent=6.5, turns=4),
        ],
        origins=[
            OriginRow(source="session.shutdown", method="spread", conversations=12, input=52_000_000, output=2_400_000),
            OriginRow(source="modelTotals", method="recorded", conversations=30, input=38_000_000, output=1_700_000),
            OriginRow(source="replayed calls", method="estimated", conversations=9, input=1_540_000, output=462_000),
        ],
        calibration=[
            CalibrationRow(name="fixed part, agent", low=15_000, likely=24_000, high=38_000, conversations=3),
            CalibrationRow(name="text", low=0.9, likely=1.1, high=1.5, conversations=0),
        ],
        at_least=EstimateEnd(input=900_000, output=300_000, dollars=2.5),
        at_most=EstimateEnd(input=2_900_000, output=800_000, dollars=9.5),
        prices=Prices(
            source="genai-prices 0.0.1",
            date="2026-05-01",
            models={"claude-sonnet-4.5": "anthropic/claude-sonnet-4-5", "gpt-5-mini": "openai/gpt-5-mini"},
            unpriced=["harbour-llm"],
        ),
    )


def _models() -> ModelsSection:
    def model(name: str, turns: int, median_ms: float | None) -> ModelRow:
        return ModelRow(
            name=name,
            turns=turns,
            share=turns / 640,
            conversations=turns // 9 + 1,
            failed=turns // 50,
            median_ms=median_ms,
            p95_ms=median_ms * 5 if median_ms else None,
            first_median_ms=median_ms / 9 if median_ms else None,
            first_p95_ms=median_ms / 3 if median_ms else None,
        )

    return ModelsSection(
        models=[
            model("claude-sonnet-4.5", 410, 31_000),
            model("gpt-5-mini", 170, 9_500),
            model("gemini-2.5-pro", 42, 22_000),
            model("harbour-llm", 18, None),
        ],
        switches=[SwitchRow(before="gpt-5-mini", after="claude-sonnet-4.5", times=14)],
        switching_conversations=9,
        conflicts=[ConflictRow(asked="auto", answered="harbour-llm", times=3)],
        unknown_turns=11,
    )


def _tools() -> ToolsSection:
    return ToolsSection(
        calls=3_120,
        failed=187,
        command_errors=55,
        retries=64,
        automatic=2_010,
        by_user=700,
        denied=21,
        unknown_confirmations=389,
        tools=[
            _tool("read_file", 1_100, 12),
            _tool("run_in_terminal", 640, 96, 4_100.0),
            _tool("copilot_replaceString", 520, 31),
            _tool("grep_search", 300, 2, None),
            _tool("mcp_quay-weather_frost_dates", 44, 6, 900.0),
            _tool("quay-weather-wind", 12, 1, 700.0),
            _tool("spell_harbour", 9),
        ],
        servers=[ServerRow(name="quay-weather", tools=2, calls=56, failed=7, conversations=8)],
        programs=[
            ProgramRow(name="git commit", calls=120, failed=0, command_errors=3, conversations=31),
            ProgramRow(name="git push", calls=60, failed=0, command_errors=9, conversations=22),
            ProgramRow(name="pytest", calls=98, failed=0, command_errors=41, conversations=17),
            ProgramRow(name="./deploy-harbour.sh", calls=7, failed=0, command_errors=2, conversations=3),
            ProgramRow(name="tidectl", calls=2, failed=0, command_errors=0, conversations=1),
        ],
        sequences=[
            SequenceRow(tools=["grep_search", "read_file", "copilot_replaceString"], times=88, conversations=20),
            SequenceRow(tools=["mcp_quay-weather_frost_dates", "read_file"], times=11, conversations=5),
        ],
    )


def _agents() -> AgentsSection:
    def agent(name: str, kind: str, turns: int, **more: Any) -> AgentRow:
        given = {"tool_calls": turns * 4, "failed": turns // 40, "last_at": "2026-05-04T16:20:00.000Z", **more}
        return AgentRow(name=name, kind=kind, turns=turns, conversations=turns // 6 + 1, **given)

    return AgentsSection(
        agents=[
            agent("agent", "participant", 480, evidence=["recorded"]),
            agent(
                "harbour-pilot",
                "custom",
                90,
                evidence=["modeInfo", "the text of /home/ana/tide-tables/.github/agents/harbour-pilot.agent.md"],
                is_defined=True,
                path="/home/ana/tide-tables/.github/agents/harbour-pilot.agent.md",
            ),
            agent("Seed Scout", "subagent", 25, evidence=["runSubagent"], is_defined=False),
        ],
        handovers=[
            HandoverRow(before="(default)", after="harbour-pilot", kind="switch", times=12),
            HandoverRow(before="harbour-pilot", after="Seed Scout", kind="subagent", times=25),
        ],
        never_used=[
            DefinedRow(
                name="frost-guard",
                path="/home/ana/garden-planner/.github/agents/frost-guard.agent.md",
                scope="workspace",
                description="Pilots ships into the harbour",
            )
        ],
        no_longer_defined=["old-keeper", "Seed Scout"],
    )


def _skills() -> SkillsSection:
    return SkillsSection(
        skills=[
            SkillRow(
                name="tide-reader",
                offered=210,
                loaded=34,
                conversations=19,
                last_at="2026-05-03T08:00:00.000Z",
                evidence={"tool call": 20, "reading of /home/ana/tide-tables/skills/tide-reader/SKILL.md": 14},
                is_defined=True,
                path="/home/ana/tide-tables/skills/tide-reader/SKILL.md",
            ),
            SkillRow(name="almanac", offered=80, loaded=0, conversations=0, last_at=None, evidence={}),
        ],
        never_used=[DefinedRow(name="unused-skill", path="/home/ana/.copilot/skills/unused-skill", scope="user")],
        no_longer_defined=["lost-skill"],
    )


def _work() -> WorkSection:
    return WorkSection(
        edits=860,
        files=74,
        added=12_400,
        removed=5_300,
        kept=610,
        undone=88,
        changed=41,
        pending=9,
        undecided=112,
        turns=651,
        completed=590,
        cancelled=38,
        failed=17,
        retried=22,
        votes_up=31,
        votes_down=8,
        elapsed_ms=51_300_000.0,
        working_ms=42_000_000.0,
        waiting_ms=9_300_000.0,
        timed_turns=602,
        working_turns=600,
        top_files=[
            FileRow(
                path="/home/ana/tide-tables/src/forecast.py",
                edits=120,
                added=2_300,
                removed=900,
                undone=11,
                conversations=18,
            ),
            FileRow(
                path="C:\\Users\\Ana\\garden-planner\\beds.tsx",
                edits=64,
                added=800,
                removed=310,
                undone=2,
                conversations=9,
            ),
            FileRow(path="/srv/harbour-api/secret.acme", edits=5, added=20, removed=1, undone=0, conversations=2),
        ],
        important_files=[
            TouchedFileRow(
                path="/home/ana/tide-tables/src/forecast.py", conversations=21, turns=60, touches=240, changes=120
            ),
        ],
        languages=[
            LanguageRow(name="Python", edits=500, files=31, added=7_800, removed=3_000),
            LanguageRow(name="TypeScript", edits=220, files=22, added=3_100, removed=1_400),
            LanguageRow(name="acme-lang", edits=5, files=1, added=20, removed=1),
        ],
        vote_reasons=[CountRow(name="incorrectCode", times=5), CountRow(name="because Ana said so", times=1)],
        errors=[
            CountRow(name="rateLimited", times=9),
            CountRow(name="Could not reach quay.example.com", times=5),
            CountRow(name="canceled", times=3),
        ],
        references=[
            ReferenceRow(
                kind="pull-request",
                name="ana/harbour#12",
                url="https://github.com/ana/harbour/pull/12",
                times=8,
                conversations=3,
                is_made=False,
            ),
            ReferenceRow(kind="commit", name="4f2a9c1", url=None, times=2, conversations=1, is_made=True),
        ],
    )


def _time(days: int) -> TimeSection:
    def active(name: str, weight: int) -> ActivityRow:
        return ActivityRow(name=name, turns=weight, conversations=1 + weight // 9, tool_calls=weight * 5)

    weekdays = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    by_day = [active(day, weight) for day, weight in _days(days)]
    return TimeSection(
        first_at="2026-03-02T08:12:00.000Z",
        last_at="2026-05-04T16:20:00.000Z",
        active_days=len(by_day),
        longest_streak=6,
        longest_streak_end="2026-04-18",
        current_streak=2,
        most_parallel=3,
        most_parallel_at="2026-04-14T10:00:00.000Z",
        parallel_ms=2_700_000.0,
        by_day=by_day,
        by_weekday=[active(name, 130 - 20 * at) for at, name in enumerate(weekdays)],
        by_hour=[active(f"{hour:02}", 60 - 5 * abs(hour - 11)) for hour in range(6, 20)],
    )


def made_up_stats(days: int = 62) -> Stats:
    """Figures of every kind; `days` is how long the period is."""
    return Stats(
        since="2026-03-01T23:00:00.000Z",
        until=None,
        totals=TotalsSection(
            conversations=71,
            turns=651,
            messages=4_310,
            tool_calls=3_120,
            edits=860,
            workspaces=3,
            sources=[CountRow(name="vscode-session-log", times=49), CountRow(name="cli-events", times=22)],
            documents=[CountRow(name="plan", times=12), CountRow(name="checkpoint", times=7)],
        ),
        tokens=_tokens(days),
        models=_models(),
        tools=_tools(),
        agents=_agents(),
        skills=_skills(),
        work=_work(),
        time=_time(days),
    )


def empty_stats() -> Stats:
    """What is measured where nothing is."""
    made = _nothing_of(Stats)
    assert isinstance(made, Stats)
    return made


def _nothing_of(kind: Any) -> Any:
    """None where that may be, else nought, or a list without rows."""
    if isinstance(kind, type) and issubclass(kind, Figures):
        return kind(**{name: _nothing_of(inner) for name, inner in get_type_hints(kind).items()})
    if type(None) in get_args(kind):
        return None
    return (get_origin(kind) or kind)()
