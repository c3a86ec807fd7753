"""The structs of all figures. docs/metrics.md defines each figure.

A section is a struct of single figures and of tables; a table is a list of rows. Figures that were not recorded are
None, never 0. Fields that end in `_ms` are in milliseconds; times are texts as in the archive, days are local.
"""

from __future__ import annotations

import msgspec


class Figures(msgspec.Struct, kw_only=True):
    """One section, or one row of a table in it."""


# --- tokens and cost ------------------------------------------------------------------------------------------------


class SpendRow(Figures, kw_only=True):
    """Tokens and cost of something: a day, a model, a conversation, or everything. None: not recorded."""

    name: str
    conversations: int = 0
    turns: int = 0
    calls: int | None = None  # of a model
    input: int | None = None  # recorded, including tokens from a cache
    output: int | None = None  # recorded, including reasoning
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    cache_share: float | None = None  # of the input with recorded cache reads, 0 to 1
    estimated_input: int | None = None  # of turns for which no input was recorded
    estimated_output: int | None = None
    spread: int | None = None  # the recorded tokens that are parts of a total of several turns
    premium_requests: float | None = None  # of turns that were answered
    unanswered_requests: float | None = None  # premium requests of turns that failed or were cancelled
    spread_requests: float | None = None  # the part of those of answered turns that is divided among turns
    credits: float | None = None  # recorded
    spread_credits: float | None = None  # the part of them that is divided among turns
    computed_credits: float | None = None  # of tokens without recorded credits, at list prices
    dollars: float | None = None  # recorded tokens at list prices; None if no model has a price
    averaged_dollars: float | None = None  # the part whose price, of long prompts or not, was chosen by an average
    estimated_dollars: float | None = None  # the same of estimated tokens
    unpriced: int | None = None  # recorded tokens of models without a price; None if no tokens are recorded
    id: str | None = None  # what `copilog show` takes, for conversations and turns


class AsModelRow(SpendRow, kw_only=True):
    """What the recorded tokens would have been with another model, and the turns that recorded none."""

    selected_turns: int
    turns_without_tokens: int


class EstimateEnd(Figures, kw_only=True):
    """An end of the estimates of tokens that were not recorded. Likely numbers are in the estimated fields."""

    input: int = 0
    output: int = 0
    dollars: float | None = None  # None: no model has a price


class CalibrationRow(Figures, kw_only=True):
    """A parameter of the estimates: a range."""

    name: str
    low: float
    likely: float
    high: float
    conversations: int  # of the user that it was calculated from; 0: a default


class OriginRow(Figures, kw_only=True):
    """Numbers by their source and method."""

    source: str  # "session.shutdown", "modelTotals", "replayed calls", ...
    method: str  # recorded, spread, estimated
    conversations: int
    input: int | None = None
    output: int | None = None
    premium_requests: float | None = None
    credits: float | None = None


class ShareRow(Figures, kw_only=True):
    """The mean share of a category in prompts, over the turns with recorded shares."""

    category: str
    label: str | None
    percent: float
    turns: int

    @property
    def name(self) -> str:
        return f"{self.category}: {self.label}" if self.label else self.category


class Prices(Figures, kw_only=True):
    """The prices that were used."""

    source: str  # "genai-prices 0.2.1"
    date: str | None  # of the table
    models: dict[str, str] = {}  # model as recorded -> the entry of the table it was priced by
    unpriced: list[str] = []
    unknown: dict[str, str] = {}  # models of the config file -> the model without a price that they are the `same_as`
    own: list[str] = []  # models that the config file prices
    discount: float | None = None  # of a contract, in the config file


class MonthSection(Figures, kw_only=True):
    """The billing month so far, against an allowance. It does not depend on the period that figures are taken of."""

    unit: str  # credits, requests
    since: str  # the first day
    until: str  # the first day of the next month
    recorded: float | None
    computed: float | None
    used: float | None  # both together
    spread: float | None = None  # the part that was recorded for several turns together
    estimated: float | None = None  # likely besides: of tokens that are not recorded
    at_least: float | None = None  # the ends of that estimate
    at_most: float | None = None
    budget: float | None  # of the config file
    left: float | None  # of the budget, after what was used
    pace: float | None  # by day, today included
    estimated_pace: float | None = None  # of the estimated credits
    days_left: int  # after today
    forecast: float | None  # for the end of the month, at this pace
    estimated_forecast: float | None = None  # likely besides
    forecast_at_least: float | None = None  # the ends of both forecasts together
    forecast_at_most: float | None = None
    before: float | None  # used in as many days right before the month
    before_since: str  # the first of these days
    before_until: str  # the last one


class CreditRow(Figures, kw_only=True):
    """AI credits of something, and of a part of it."""

    name: str  # a Monday, a repository, or a month
    of: str  # the model, or the outcome of the turns
    recorded: float | None
    computed: float | None  # at list prices, if none are recorded
    spread: float | None = None  # the part of the recorded ones that is divided among turns
    estimated: float | None = None  # likely, of tokens that are not recorded either
    at_least: float | None = None  # the lower end of that estimate
    at_most: float | None = None  # the upper end
    period: float | None = None  # recorded and computed in the compared period: of repositories
    before: float | None = None  # recorded and computed in the period before


class PeriodSection(Figures, kw_only=True):
    """Headline figures of a period, and of the same length of time right before it."""

    since: str  # the first day
    until: str  # the last day
    before_since: str
    before_until: str
    days: int  # rounded; of either period
    goes_on: bool = True  # whether the selection includes the days to come
    turns: int
    turns_before: int
    tokens: int | None  # recorded
    tokens_before: int | None
    credits: float | None  # recorded and computed
    credits_before: float | None
    premium_requests: float | None
    premium_requests_before: float | None
    dollars: float | None
    dollars_before: float | None


class CreditsSection(Figures, kw_only=True):
    """AI credits over time."""

    weeks: list[CreditRow]  # by model
    repositories: list[CreditRow]  # by model
    outcomes: list[CreditRow]  # of each month: kept, undone, failed or cancelled, asked again, unknown


class TokensSection(Figures, kw_only=True):
    """Tokens and cost."""

    total: SpendRow
    by_day: list[SpendRow]
    by_workspace: list[SpendRow]
    by_model: list[SpendRow]
    by_agent: list[SpendRow]
    by_subagent: list[SpendRow]
    by_skill: list[SpendRow]  # of the turns in which it was loaded: they overlap
    by_tool: list[SpendRow]  # estimated: arguments are output, results are input
    by_conversation: list[SpendRow]
    by_turn: list[SpendRow]
    by_system: list[SpendRow]  # premium requests and AI credits are never one sum
    by_payer: list[SpendRow]
    by_outcome: list[SpendRow]  # kept, undone, failed or cancelled, asked again, unknown
    by_repository: list[SpendRow]
    by_branch: list[SpendRow]
    cache_turns: int  # turns after the first with recorded cache reads
    missed_cache_turns: int  # those of them with nothing from a cache
    input_turns: int  # turns whose input is recorded
    credit_turns: int  # turns whose credits are recorded
    month: MonthSection
    period: PeriodSection  # the selected one; without one, the billing month so far
    credits: CreditsSection
    composition: list[ShareRow]
    composition_turns: int = 0  # turns whose composition is recorded
    origins: list[OriginRow]
    superseded_turns: int = 0  # turns with usage that are in no figure of work
    calibration: list[CalibrationRow] = []  # empty if nothing is estimated
    at_least: EstimateEnd | None = None
    at_most: EstimateEnd | None = None
    prices: Prices | None = None


# --- models ---------------------------------------------------------------------------------------------------------


class ModelRow(Figures, kw_only=True):
    name: str
    turns: int
    share: float  # of all turns whose model is known, 0 to 1
    conversations: int
    failed: int
    median_ms: float | None
    p95_ms: float | None
    first_median_ms: float | None  # to the first token
    first_p95_ms: float | None


class SwitchRow(Figures, kw_only=True):
    before: str
    after: str
    times: int


class ConflictRow(Figures, kw_only=True):
    asked: str
    answered: str
    times: int


class ModelsSection(Figures, kw_only=True):
    """Which models answered, and how fast."""

    models: list[ModelRow]
    switches: list[SwitchRow]
    switching_conversations: int
    conflicts: list[ConflictRow]
    unknown_turns: int  # no model was recorded


# --- tools ----------------------------------------------------------------------------------------------------------


class ToolRow(Figures, kw_only=True):
    name: str
    calls: int
    conversations: int
    failed: int
    failure_rate: float | None  # of the calls that are known to have succeeded or failed
    command_errors: int  # commands that ended with an exit code other than 0; the call itself may well have succeeded
    retries: int
    automatic: int  # confirmed by a setting, by an earlier grant, or not in need of it
    by_user: int
    denied: int
    timed: int  # calls whose time is known
    median_ms: float | None
    p95_ms: float | None
    total_ms: float | None
    result_bytes: int


class ServerRow(Figures, kw_only=True):
    name: str
    tools: int
    calls: int
    failed: int
    conversations: int


class ProgramRow(Figures, kw_only=True):
    name: str  # "git commit"
    calls: int
    failed: int
    command_errors: int
    conversations: int


class SequenceRow(Figures, kw_only=True):
    tools: list[str]
    times: int
    conversations: int


class ToolsSection(Figures, kw_only=True):
    """Which tools were called, and how that went."""

    calls: int
    failed: int
    command_errors: int
    retries: int
    automatic: int
    by_user: int
    denied: int
    unknown_confirmations: int
    tools: list[ToolRow]
    servers: list[ServerRow]
    programs: list[ProgramRow]
    sequences: list[SequenceRow]


# --- agents and skills ----------------------------------------------------------------------------------------------


class AgentRow(Figures, kw_only=True):
    name: str
    kind: str  # custom, participant, subagent
    turns: int  # of a sub-agent: its runs
    conversations: int
    tool_calls: int
    failed: int  # turns that failed; of a sub-agent: runs that did
    last_at: str | None
    evidence: list[str]
    is_defined: bool | None = None  # None: definitions were not read
    path: str | None = None  # of its definition
    also_named: list[str] = []  # other names of a custom agent with the same text: its file was renamed


class HandoverRow(Figures, kw_only=True):
    before: str
    after: str
    kind: str  # switch (from a turn to the next), subagent
    times: int


class DefinedRow(Figures, kw_only=True):
    """Something that is defined on this machine."""

    name: str
    path: str
    scope: str
    description: str | None = None


class AgentsSection(Figures, kw_only=True):
    agents: list[AgentRow]
    handovers: list[HandoverRow]
    never_used: list[DefinedRow]
    no_longer_defined: list[str]


class SkillRow(Figures, kw_only=True):
    name: str
    offered: int  # turns
    loaded: int  # turns
    conversations: int  # in which it was loaded
    last_at: str | None
    evidence: dict[str, int]  # the kind of record of its loading -> turns
    is_defined: bool | None = None
    path: str | None = None


class SkillsSection(Figures, kw_only=True):
    skills: list[SkillRow]
    never_used: list[DefinedRow]
    no_longer_defined: list[str]


# --- work, time, and everything --------------------------------------------------------------------------------------


class FileRow(Figures, kw_only=True):
    path: str
    edits: int
    added: int | None  # lines, as far as they are known
    removed: int | None
    undone: int
    conversations: int


class TouchedFileRow(Figures, kw_only=True):
    """A file that conversations worked with, edited or not."""

    path: str
    conversations: int
    turns: int
    touches: int
    changes: int  # of the touches: edits, and the creation and the deletion of the file


class LanguageRow(Figures, kw_only=True):
    name: str
    edits: int
    files: int
    added: int | None  # lines, as far as they are known
    removed: int | None


class CountRow(Figures, kw_only=True):
    """A name with its frequency."""

    name: str
    times: int


class ReferenceRow(Figures, kw_only=True):
    """A commit, a pull request or an issue that conversations refer to."""

    kind: str  # commit, pull-request, issue
    name: str  # "owner/name#12", or the id of a commit
    url: str | None
    times: int  # messages
    conversations: int
    is_made: bool  # a commit that the conversation itself made


class WorkSection(Figures, kw_only=True):
    """Outcomes of edits and turns."""

    edits: int
    files: int
    added: int | None  # lines, as far as they are known
    removed: int | None
    kept: int
    undone: int
    changed: int  # by the user, afterwards
    pending: int
    undecided: int  # nothing was recorded
    turns: int
    completed: int
    cancelled: int
    failed: int
    retried: int
    votes_up: int
    votes_down: int
    elapsed_ms: float  # of turns, as far as it is known
    working_ms: float  # without waiting
    waiting_ms: float  # for the user
    timed_turns: int  # whose elapsed time is known
    working_turns: int  # whose working time is known
    top_files: list[FileRow]
    important_files: list[TouchedFileRow]
    languages: list[LanguageRow]
    vote_reasons: list[CountRow]
    errors: list[CountRow]
    references: list[ReferenceRow]


class ActivityRow(Figures, kw_only=True):
    name: str  # "2026-05-04", "09" or "Monday"
    turns: int
    conversations: int
    tool_calls: int


class TimeSection(Figures, kw_only=True):
    """Activity over time."""

    first_at: str | None
    last_at: str | None
    active_days: int
    longest_streak: int  # days in a row
    longest_streak_end: str | None
    current_streak: int  # up to today or yesterday
    most_parallel: int  # conversations in which a turn was running at the same time
    most_parallel_at: str | None
    parallel_ms: float  # during which two or more were running
    by_day: list[ActivityRow]
    by_weekday: list[ActivityRow]
    by_hour: list[ActivityRow]


class TotalsSection(Figures, kw_only=True):
    """Numbers of conversations, turns, messages and more."""

    conversations: int
    turns: int
    messages: int
    tool_calls: int
    edits: int
    workspaces: int
    sources: list[CountRow]  # conversations by source
    documents: list[CountRow]  # by kind


class Stats(Figures, kw_only=True):
    """All sections, for a period and a selection."""

    since: str | None
    until: str | None
    totals: TotalsSection
    tokens: TokensSection
    models: ModelsSection
    tools: ToolsSection
    agents: AgentsSection
    skills: SkillsSection
    work: WorkSection
    time: TimeSection
