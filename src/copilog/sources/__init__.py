"""The sources, in the order in which people see them. A new source is one file and one line here."""

from __future__ import annotations

from copilog.errors import UsageError
from copilog.sources.agent_traces import AgentTraces
from copilog.sources.atif import Atif
from copilog.sources.base import Found, Probe, Source
from copilog.sources.chat_export import ChatExport
from copilog.sources.chat_replay import ChatReplay
from copilog.sources.cli_events import CliEvents
from copilog.sources.cli_history import CliHistory
from copilog.sources.cli_prompts import CliPrompts
from copilog.sources.copilot_markdown import CopilotMarkdown
from copilog.sources.debug_logs import DebugLogs
from copilog.sources.memories import Memories
from copilog.sources.otel_file import OtelFile
from copilog.sources.otlp_export import OtlpExport
from copilog.sources.program_state import ProgramState
from copilog.sources.rewind_snapshots import RewindSnapshots
from copilog.sources.session_store import SessionStore
from copilog.sources.session_todos import SessionTodos
from copilog.sources.trajectory_file import TrajectoryFile
from copilog.sources.transcripts import Transcripts
from copilog.sources.vscode_editing import VSCodeEditing
from copilog.sources.vscode_prompts import VSCodePrompts
from copilog.sources.vscode_resources import VSCodeResources
from copilog.sources.vscode_session import VSCodeSession
from copilog.sources.vscode_session_log import VSCodeSessionLog
from copilog.sources.vscode_state import VSCodeState
from copilog.sources.vscode_workspace import VSCodeWorkspace

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
    """The source whose file this is; None for a file of no known format."""
    claiming = [source for source in SOURCES if source.claims(probe)]
    if len(claiming) > 1:
        names = " and ".join(source.name for source in claiming)
        raise UsageError(f"{probe.path} is claimed by both {names}; choose one with --source")
    return claiming[0] if claiming else None


__all__ = ["BY_NAME", "SOURCES", "Found", "Probe", "Source", "identify"]
