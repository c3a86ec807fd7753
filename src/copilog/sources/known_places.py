"""The sources of files at known places, in the order of `catalogue`: a look at the disk imports no others."""

from __future__ import annotations

from copilog.sources.base import Source
from copilog.sources.cli.events import CliEvents
from copilog.sources.cli.history import CliHistory
from copilog.sources.cli.rewind_snapshots import RewindSnapshots
from copilog.sources.cli.session_todos import SessionTodos
from copilog.sources.cli.typed_prompts import CliPrompts
from copilog.sources.extension.agent_traces import AgentTraces
from copilog.sources.extension.debug_logs import DebugLogs
from copilog.sources.extension.memories import Memories
from copilog.sources.extension.otel_files import OtelFile
from copilog.sources.extension.session_store import SessionStore
from copilog.sources.extension.transcripts import Transcripts
from copilog.sources.vscode.editing import VSCodeEditing
from copilog.sources.vscode.session_json import VSCodeSession
from copilog.sources.vscode.session_log import VSCodeSessionLog
from copilog.sources.vscode.state_database import VSCodeState
from copilog.sources.vscode.tool_resources import VSCodeResources

# Those with a `locate` of their own.
LOCATED: tuple[Source, ...] = (
    VSCodeSessionLog(),
    VSCodeSession(),
    CliEvents(),
    CliHistory(),
    Transcripts(),
    DebugLogs(),
    AgentTraces(),
    OtelFile(),
    SessionStore(),
    VSCodeState(),
    VSCodeEditing(),
    VSCodeResources(),
    SessionTodos(),
    RewindSnapshots(),
    Memories(),
    CliPrompts(),
)
