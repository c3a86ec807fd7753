"""The sources, in the order in which people see them. A new source is one file and one line here."""

from __future__ import annotations

from copilog.errors import UsageError
from copilog.sources.base import Probe, Source
from copilog.sources.cli.events import CliEvents
from copilog.sources.cli.history import CliHistory
from copilog.sources.cli.rewind_snapshots import RewindSnapshots
from copilog.sources.cli.session_todos import SessionTodos
from copilog.sources.cli.typed_prompts import CliPrompts
from copilog.sources.extension.agent_traces import AgentTraces
from copilog.sources.extension.debug_logs import DebugLogs
from copilog.sources.extension.memories import Memories
from copilog.sources.extension.otel_files import OtelFile, OtlpExport
from copilog.sources.extension.session_store import SessionStore
from copilog.sources.extension.transcripts import Transcripts
from copilog.sources.program_state import ProgramState
from copilog.sources.replay.atif import Atif
from copilog.sources.replay.chat_replay import ChatReplay
from copilog.sources.replay.copilot_markdown import CopilotMarkdown
from copilog.sources.trajectories.trajectory_file import TrajectoryFile
from copilog.sources.vscode.editing import VSCodeEditing
from copilog.sources.vscode.prompt_history import VSCodePrompts
from copilog.sources.vscode.session_json import ChatExport, VSCodeSession
from copilog.sources.vscode.session_log import VSCodeSessionLog
from copilog.sources.vscode.state_database import VSCodeState
from copilog.sources.vscode.tool_resources import VSCodeResources
from copilog.sources.vscode.workspace import VSCodeWorkspace

SOURCES: tuple[Source, ...] = (
    VSCodeSessionLog(),
    VSCodeSession(),
    CliEvents(),
    CliHistory(),
    ChatExport(),
    ChatReplay(),
    CopilotMarkdown(),
    Atif(),
    Transcripts(),
    DebugLogs(),
    AgentTraces(),
    OtelFile(),
    OtlpExport(),
    TrajectoryFile(),
    SessionStore(),
    VSCodeState(),
    VSCodeEditing(),
    VSCodeResources(),
    SessionTodos(),
    RewindSnapshots(),
    Memories(),
    VSCodeWorkspace(),
    VSCodePrompts(),
    CliPrompts(),
    ProgramState(),
)

BY_NAME: dict[str, Source] = {source.name: source for source in SOURCES}


def identify(probe: Probe) -> Source | None:
    """Return the source of a file, or None for an unknown format."""
    claiming = [source for source in SOURCES if source.claims(probe)]
    if len(claiming) > 1:
        names = " and ".join(source.name for source in claiming)
        raise UsageError(f"{probe.path} is claimed by both {names}; choose one with --source")
    return claiming[0] if claiming else None
