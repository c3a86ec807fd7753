"""The structs of what is known of each agent and skill: cost, outcomes, texts. docs/metrics.md defines the figures."""

from __future__ import annotations

from copilog.analysis.figures import AgentRow, CountRow, DefinedRow, Figures, HandoverRow, ShareRow, SkillRow, SpendRow


class UseRow(Figures, kw_only=True):
    """What the turns of an agent or a skill cost, and what became of them. A turn may count for several."""

    kind: str  # custom, participant, subagent, skill
    name: str
    turns: int  # of a sub-agent: its runs
    token_turns: int = 0  # whose tokens are recorded; of a sub-agent: turns in which a part of them is its own
    credit_turns: int = 0  # whose credits are recorded
    spend: SpendRow | None = None  # None: nothing is known
    outcomes: dict[str, int] = {}  # kept, undone, ..., unknown; of a sub-agent: how its calls ended


class TextVersion(Figures, kw_only=True):
    """Instructions that an agent or a skill had, or that a file contains now."""

    digest: str
    names: list[str]  # that the agent had then
    first_at: str | None  # None: only a file has it, or no time is recorded
    last_at: str | None
    turns: int
    conversations: int
    characters: int
    paths: list[str] = []  # of files on this machine that have it now
    text: str | None = None  # None: none of the conversations opened has it
    tools: list[str] = []
    diff: str | None = None  # from the version before


class DefinitionRow(DefinedRow, kw_only=True):
    """A file that defines an agent or a skill."""

    kind: str  # agent, mode, skill
    tools: list[str] = []
    handoffs: list[str] = []
    model: str | None = None
    body: str = ""
    recorded_in: str | None = None  # the database of VS Code that remembers it


class AboutRow(Figures, kw_only=True):
    """Everything about one agent or skill."""

    kind: str
    name: str
    also_named: list[str] = []
    agent: AgentRow | None = None  # None: it is a skill, or was not used
    skill: SkillRow | None = None
    resource_turns: int = 0  # turns in which a tool read other files of a skill's folder
    use: UseRow | None = None
    definitions: list[DefinitionRow] = []
    handovers: list[HandoverRow] = []
    tools: list[CountRow] = []  # that it called
    versions: list[TextVersion] = []  # the newest first
    versions_left_out: int = 0
    composition: list[ShareRow] = []
    composition_turns: int = 0  # turns whose composition is recorded
    is_checked: bool = False  # whether definitions of this machine were read
