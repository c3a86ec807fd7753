"""A conversation with every kind of document that people search for, each with a word of its own."""

from __future__ import annotations

from datetime import UTC, datetime

from copilog.model import (
    ArtifactDocument,
    CheckpointDocument,
    Compaction,
    Conversation,
    MemoryDocument,
    Message,
    PlanDocument,
    Prompt,
    Provenance,
    ReferenceDocument,
    ResearchDocument,
    SessionFileDocument,
    SummaryDocument,
    Text,
    Timing,
    TodoItem,
    TodoList,
    TodosDocument,
    ToolCall,
    Turn,
    Workspace,
)

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
STORE, FOLDER = "/home/ana/.copilot/session-store.db", "/home/ana/.copilot/session-state/t1"
SUMMARY = "<overview>\nThe lantern burns.\n</overview>\n\n<next_steps>\nTrim the wick.\n</next_steps>"
# A word that only the document of a kind has.
WORDS = {
    "checkpoint": "mizzen",
    "summary": "capstan",
    "plan": "halyard",
    "memory": "binnacle",
    "research": "sextant",
    "artifact": "bowsprit",
    "todos": "scupper",
    "reference": "a1b2c3d4e5",
}


def documented_conversation() -> Conversation:
    """Return two turns with a compaction, a to-do list and uses of memories, and documents of all kinds."""
    todos = [TodoItem(id="1", title="Trim the scupper", status="completed"), TodoItem(id="2", title="Light it")]
    return Conversation(
        id="cli:t1",
        native_id="t1",
        source="cli-events",
        title="The lantern",
        started_at=NOON,
        updated_at=NOON,
        workspace=Workspace(folder="/home/ana/lantern", kind="folder"),
        turns=[Turn(index=0, timing=Timing(started_at=NOON)), Turn(index=1, timing=Timing(started_at=NOON))],
        messages=[
            Message(
                role="user",
                turn=0,
                created_at=NOON,
                parts=[
                    Prompt(text="<userMemory>\n## preferences.md\nMetric units\n</userMemory>"),
                    Text(text="Light the lantern"),
                ],
            ),
            Message(
                role="assistant",
                turn=0,
                created_at=NOON,
                parts=[
                    ToolCall(id="c1", name="memory", arguments='{"command":"view","path":"/memories/session/wick.md"}'),
                    TodoList(call_id="c2", items=todos[1:]),
                    Text(text="It burns."),
                ],
            ),
            Message(role="system", turn=0, created_at=NOON, parts=[Compaction(text=SUMMARY, title="Lantern")]),
            Message(role="user", turn=1, parts=[Text(text="Thanks")]),
        ],
        documents=[
            CheckpointDocument(text=SUMMARY, number=1, turn=0, created_at=NOON, traces=[STORE]),
            CheckpointDocument(
                text="The mizzen came down.", title="Masts", number=2, path="checkpoints/002-masts.md", traces=[FOLDER]
            ),
            SummaryDocument(text="About the lantern\nand the capstan", path="workspace.yaml"),
            PlanDocument(text="# Plan\n\n1. Hoist the halyard", path="plan.md"),
            MemoryDocument(text="The binnacle is lit by oil.", path="/memories/session/wick.md", scope="session"),
            ResearchDocument(text="# The sextant\n\nMeasure twice.", path="research/angles.md"),
            ArtifactDocument(text="bowsprit: 12 m", path="files/ship.txt"),
            ArtifactDocument(path="files/ship.png", size=4096),
            TodosDocument(text="- [x] Trim the scupper\n- [ ] Light it", items=todos, path="session.db"),
            SessionFileDocument(path="/home/ana/lantern/wick.py", tool="edit", turn=0, created_at=NOON),
            ReferenceDocument(type="commit", value="a1b2c3d4e5", turn=1, created_at=NOON),
        ],
        provenance=[Provenance(source="cli-events", path=f"{FOLDER}/events.jsonl")],
    )
