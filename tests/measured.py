"""A small corpus whose figures can be worked out by hand. All times are UTC.

harbour     VS Code, /home/ana/tide-tables
  turn 0    Mon 2026-05-04 09:00:00, 20 s working, 5 s waiting, first token 1.5 s; gpt-5; participant "agent"
            modelTotals gpt-5: input 12,000 (8,000 cached), output 600; last prompt 9,000; credits 1.5; "GPT-5 • 1x"
            prompt: System 20 %, Messages 50 %
            calls: read_file a0 (not needed to confirm), run_in_terminal a1 "pytest -q" (failed, allowed by the user,
            4,000 ms), run_in_terminal a2 "cd src && pytest -q" (fine, allowed by a setting, 6,000 ms)
  turn 1    Mon 2026-05-04 09:05:00, 40 s working, first token 2.5 s; claude-sonnet-4.5;
            custom agent Navigator (modeInfo)
            modelTotals claude-sonnet-4.5: input 20,000 (15,000 cached), output 900; credits 2.0;
            "Claude Sonnet 4.5 • 1x"
            skills: chart-reading loaded ("file read"), buoy-care offered; voted up
            calls: runSubagent a3 -> Sounder (15,000 ms), which calls read_file a4; edit_file a5
            edits: src/tides.py, +10 -2, which turn 2 says was kept
  turn 2    Tue 2026-05-05 10:00:00, 30 s working; claude-sonnet-4.5; Navigator; cancelled; voted down, "incorrectCode"
            nothing recorded: prompt of 80 characters, answer of 200, edit_file a6 with arguments of 20 characters
            edits: web/chart.ts, +4 -1, undone
            sessionCopilotCredits of 4.0 is recorded with it: half a credit more than the turns tell
lighthouse  Copilot CLI, /home/ana/lighthouse, Tue 2026-05-05
  turn 0    10:00:10, 60 s working; gpt-5-mini; output 600
            calls: bash b0 "git commit -m lamp" (result "[main 1a2b3c4] Light the lamp", 500 ms, granted),
            github-create_issue b1 of the MCP server github (fine, allowed by the user)
  turn 1    10:10:00, 10 s working; gpt-5-mini asked, claude-sonnet-4.5 answered; failed with rate_limit; output 300
            and, in the sub-agent Keeper (call b2, 2,000 ms, denied is its call b3 of bash "rm -rf build"), output 100
  session   shutdown, gpt-5-mini: input 30,000 (20,000 read from, 4,000 written to a cache), output 1,000 (reasoning
            300); 2 premium requests, 3.0 credits; a compaction took input 5,000 and output 200 more
lighthouse-2  Copilot CLI, forked from lighthouse: repeats its turn 0 (same request id), and adds
  turn 1    Wed 2026-05-06 08:00:00, 5 s working; gpt-5-mini; output 50
  session   shutdown, gpt-5-mini: input 13,000, output 650
beacon      VS Code, no workspace, Wed 2026-05-06
  turn 0    23:30:00, ask mode, asked for auto, gpt-4.1 answered; failed; last prompt 5,000, output 300; "GPT-4.1 • 0x"
            the prompt is https://github.com/ana/lighthouse/pull/12 (41 characters), the answer "Let me see."
  turn 1    23:40:00, the same prompt again; complete, 8 s working; last prompt 5,200, output 100; "GPT-4.1 • 0x"
draft       VS Code, empty: in no figure
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from copilog.model import (
    Agent,
    AnyPart,
    Approval,
    Conversation,
    CustomAgent,
    EditedFileEvent,
    FileEdit,
    Message,
    Mode,
    Model,
    PromptShare,
    Provenance,
    Relation,
    Skill,
    SubAgent,
    Terminal,
    Text,
    Timing,
    ToolCall,
    ToolResult,
    Turn,
    TurnError,
    Usage,
    Vote,
    Workspace,
)
from copilog.store.archive import Archive
from tests.stored import concluded_entry

TIDES, LIGHTHOUSE = "/home/ana/tide-tables", "/home/ana/lighthouse"
PULL_REQUEST = "https://github.com/ana/lighthouse/pull/12"


def at(day: int, clock: str) -> datetime:
    hour, minute, second = map(int, clock.split(":"))
    return datetime(2026, 5, day, hour, minute, second, tzinfo=UTC)


def measured_archive(path: Path) -> Archive:
    """An archive of all of them, open for writing; close it."""
    archive = Archive(path, write=True)
    for conversation in measured_conversations():
        archive.put(concluded_entry(conversation), "made up")
    archive.index_pending()
    return archive


def measured_conversations() -> list[Conversation]:
    return [harbour(), lighthouse(), lighthouse_again(), beacon(), draft()]


def harbour() -> Conversation:
    gpt, claude = Model(id="copilot/gpt-5", name="gpt-5"), Model(id="copilot/claude", name="claude-sonnet-4.5")
    navigator = CustomAgent(name="Navigator", evidence="modeInfo")
    participant = Agent(id="github.copilot.editsAgent", name="agent")
    agent_mode = Mode(kind="agent")
    turns = [
        Turn(
            index=0,
            request_id="harbour-0",
            status="complete",
            agent=participant,
            mode=agent_mode,
            model=gpt,
            details="GPT-5 • 1x",
            timing=_timing(at(4, "09:00:00"), 20, first=1.5, waited=5),
            usage=[
                Usage(model="gpt-5", input=12_000, cache_read=8_000, output=600, source="modelTotals"),
                Usage(
                    last_prompt=9_000,
                    output=600,
                    credits=1.5,
                    source="request",
                    by_category=[
                        PromptShare(category="System", label="Instructions", percent=20),
                        PromptShare(category="Messages", label="Conversation", percent=50),
                    ],
                ),
            ],
        ),
        Turn(
            index=1,
            request_id="harbour-1",
            status="complete",
            agent=participant,
            custom_agent=navigator,
            mode=agent_mode,
            model=claude,
            details="Claude Sonnet 4.5 • 1x",
            timing=_timing(at(4, "09:05:00"), 40, first=2.5),
            skills=[
                Skill(name="chart-reading", file="skills/chart-reading/SKILL.md", is_loaded=True, evidence="file read"),
                Skill(name="buoy-care", evidence="skill list"),
            ],
            vote=Vote(is_up=True),
            usage=[
                Usage(model="claude-sonnet-4.5", input=20_000, cache_read=15_000, output=900, source="modelTotals"),
                Usage(credits=2.0, source="request"),
            ],
        ),
        Turn(
            index=2,
            request_id="harbour-2",
            status="cancelled",
            agent=participant,
            custom_agent=navigator,
            mode=agent_mode,
            model=claude,
            timing=_timing(at(5, "10:00:00"), 30),
            vote=Vote(is_up=False, reason="incorrectCode"),
            edited_files=[EditedFileEvent(uri=f"file://{TIDES}/src/tides.py", action="keep")],
            is_undone=True,
            usage=[Usage(session_credits=4.0, source="request")],
        ),
    ]
    messages = [
        _asked(0, "Why do the tests fail?", at(4, "09:00:00")),
        _answered(
            0,
            Text(text="They expect another tide."),
            ToolCall(id="a0", name="read_file", status="complete", approval=Approval(kind="not-needed")),
            ToolResult(call_id="a0", text="HIGH = 4.2"),
            ToolCall(id="a1", name="run_in_terminal", status="failed", approval=Approval(kind="user")),
            Terminal(call_id="a1", command="pytest -q", exit_code=1, elapsed_ms=4_000),
            ToolCall(id="a2", name="run_in_terminal", status="complete", approval=Approval(kind="setting")),
            Terminal(call_id="a2", command="cd src && pytest -q", exit_code=0, elapsed_ms=6_000),
        ),
        _asked(1, "Mend the table.", at(4, "09:05:00")),
        _answered(
            1,
            Text(text="Done."),
            ToolCall(
                id="a3",
                name="runSubagent",
                status="complete",
                subagent=SubAgent(name="Sounder", prompt="How deep?", elapsed_ms=15_000),
            ),
        ),
        Message(
            role="assistant",
            turn=1,
            parent_call_id="a3",
            parts=[ToolCall(id="a4", name="read_file", status="complete")],
        ),
        _answered(
            1,
            ToolCall(id="a5", name="edit_file", status="complete"),
            FileEdit(
                uri=f"file://{TIDES}/src/tides.py",
                path=f"{TIDES}/src/tides.py",
                added=10,
                removed=2,
                call_id="a5",
                is_done=True,
            ),
        ),
        _asked(2, "tide" * 20, at(5, "10:00:00")),
        _answered(
            2,
            Text(text="tide" * 50),
            ToolCall(id="a6", name="edit_file", arguments='{"file":"chart.ts"} ', status="complete"),
            FileEdit(
                uri=f"file://{TIDES}/web/chart.ts", path=f"{TIDES}/web/chart.ts", added=4, removed=1, call_id="a6"
            ),
        ),
    ]
    return _conversation("vscode:harbour", "vscode-session", TIDES, turns, messages, title="Tide tables")


def lighthouse() -> Conversation:
    turns = [
        _first_turn_of_lighthouse(),
        Turn(
            index=1,
            request_id="light-1",
            status="failed",
            model=Model(id="gpt-5-mini", name="gpt-5-mini", resolved="claude-sonnet-4.5"),
            timing=_timing(at(5, "10:10:00"), 10),
            error=TurnError(message="Too many requests, wait a minute.", code="rate_limit"),
            usage=[
                Usage(model="gpt-5-mini", output=300, scope="call", source="assistant.message"),
                Usage(model="gpt-5-mini", output=100, scope="call", source="assistant.message", parent_call_id="b2"),
            ],
        ),
    ]
    messages = [
        *_first_messages_of_lighthouse(),
        _asked(1, "Clean up.", at(5, "10:10:00")),
        _answered(
            1,
            ToolCall(
                id="b2",
                name="task",
                status="complete",
                subagent=SubAgent(name="Keeper", prompt="Clean the lens.", elapsed_ms=2_000),
            ),
        ),
        Message(
            role="assistant",
            turn=1,
            parent_call_id="b2",
            parts=[
                ToolCall(id="b3", name="bash", status="denied", approval=Approval(kind="denied")),
                Terminal(call_id="b3", command="rm -rf build"),
            ],
        ),
    ]
    made = _conversation("cli:lighthouse", "cli-events", LIGHTHOUSE, turns, messages, title="Lighthouse")
    made.usage = [
        Usage(
            model="gpt-5-mini",
            input=30_000,
            output=1_000,
            cache_read=20_000,
            cache_write=4_000,
            reasoning=300,
            scope="session",
            source="session.shutdown",
        ),
        Usage(premium_requests=2, credits=3.0, scope="session", source="session.shutdown"),
        Usage(model="gpt-5-mini", input=5_000, output=200, scope="call", source="session.compaction_complete"),
    ]
    return made


def lighthouse_again() -> Conversation:
    turns = [
        _first_turn_of_lighthouse(),
        Turn(
            index=1,
            request_id="light-again-1",
            status="complete",
            model=Model(id="gpt-5-mini", name="gpt-5-mini"),
            timing=_timing(at(6, "08:00:00"), 5),
            usage=[Usage(model="gpt-5-mini", output=50, scope="call", source="assistant.message")],
        ),
    ]
    messages = [
        *_first_messages_of_lighthouse(),
        _asked(1, "And the fog horn?", at(6, "08:00:00")),
        _answered(1, Text(text="It is ready.")),
    ]
    made = _conversation("cli:lighthouse-2", "cli-events", LIGHTHOUSE, turns, messages, title="Lighthouse, again")
    made.started_at = at(6, "07:59:00")
    made.usage = [Usage(model="gpt-5-mini", input=13_000, output=650, scope="session", source="session.shutdown")]
    made.relations = [Relation(kind="fork", other_id="cli:lighthouse")]
    return made


def beacon() -> Conversation:
    model = Model(id="copilot/auto", name="auto", resolved="gpt-4.1")
    turns = [
        Turn(
            index=0,
            request_id="beacon-0",
            status="failed",
            mode=Mode(kind="ask"),
            model=model,
            details="GPT-4.1 • 0x",
            timing=Timing(started_at=at(6, "23:30:00")),
            error=TurnError(message="Sorry, no response was returned."),
            usage=[Usage(last_prompt=5_000, output=300, source="result.usage")],
        ),
        Turn(
            index=1,
            request_id="beacon-1",
            status="complete",
            mode=Mode(kind="ask"),
            model=model,
            details="GPT-4.1 • 0x",
            timing=_timing(at(6, "23:40:00"), 8),
            usage=[Usage(last_prompt=5_200, output=100, source="result.usage")],
        ),
    ]
    messages = [
        _asked(0, PULL_REQUEST, at(6, "23:30:00")),
        _answered(0, Text(text="Let me see.")),
        _asked(1, PULL_REQUEST, at(6, "23:40:00")),
        _answered(1, Text(text="It mends the lamp.")),
    ]
    return _conversation("vscode:beacon", "vscode-session", None, turns, messages, title="A pull request")


def draft() -> Conversation:
    return _conversation(
        "vscode:draft", "vscode-session", TIDES, [], [], title="Nothing yet", started_at=at(4, "08:00:00")
    )


def _first_turn_of_lighthouse() -> Turn:
    return Turn(
        index=0,
        request_id="light-0",
        status="complete",
        model=Model(id="gpt-5-mini", name="gpt-5-mini"),
        timing=_timing(at(5, "10:00:10"), 60),
        usage=[Usage(model="gpt-5-mini", output=600, scope="call", source="assistant.message")],
    )


def _first_messages_of_lighthouse() -> list[Message]:
    begun = at(5, "10:00:20")
    return [
        _asked(0, "Commit the lamp.", at(5, "10:00:10")),
        _answered(
            0,
            Text(text="Committed."),
            ToolCall(id="b0", name="bash", status="complete", started_at=begun, approval=Approval(kind="granted")),
            Terminal(call_id="b0", command="git commit -m lamp", exit_code=0),
            ToolCall(
                id="b1",
                name="github-create_issue",
                status="complete",
                origin="mcp",
                server="github",
                approval=Approval(kind="user"),
            ),
        ),
        Message(
            role="tool",
            turn=0,
            created_at=begun + timedelta(milliseconds=500),
            parts=[ToolResult(call_id="b0", text="[main 1a2b3c4] Light the lamp")],
        ),
    ]


def _timing(started: datetime, seconds: float, first: float | None = None, waited: float | None = None) -> Timing:
    return Timing(
        started_at=started,
        generated_ms=seconds * 1000,
        first_progress_ms=first * 1000 if first is not None else None,
        waited_ms=waited * 1000 if waited is not None else None,
    )


def _asked(turn: int, text: str, moment: datetime) -> Message:
    return Message(role="user", turn=turn, created_at=moment, parts=[Text(text=text)])


def _answered(turn: int, *parts: AnyPart) -> Message:
    return Message(role="assistant", turn=turn, parts=list(parts))


def _conversation(
    name: str,
    source: str,
    folder: str | None,
    turns: list[Turn],
    messages: list[Message],
    *,
    title: str,
    started_at: datetime | None = None,
) -> Conversation:
    started = started_at or turns[0].timing.started_at
    return Conversation(
        id=name,
        native_id=name.partition(":")[2],
        source=source,
        title=title,
        workspace=Workspace(folder=folder) if folder else None,
        started_at=started,
        updated_at=turns[-1].timing.started_at if turns else started,
        turns=turns,
        messages=messages,
        provenance=[Provenance(source=source, path=f"/home/ana/copilot/{name.partition(':')[2]}.json")],
    )
