"""Remove names, paths, ids and texts from figures, for users who want to show numbers without their work.

Names become numbers, the same number wherever a name occurs in the figures; public names stay: models, languages, days,
Copilot's own tools and modes, well-known programs. Any other name is replaced. Rows that get the same name are added
up; how many conversations they have in common cannot be determined, so that the number of the largest row is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from msgspec.structs import replace

from copilog.analysis import public_names as public
from copilog.analysis.breakdowns import OUTCOMES, PAYERS, SYSTEMS
from copilog.analysis.figures import (
    AgentRow,
    AgentsSection,
    ConflictRow,
    CountRow,
    CreditsSection,
    DefinedRow,
    Figures,
    FileRow,
    HandoverRow,
    LanguageRow,
    ModelsSection,
    Prices,
    ProgramRow,
    ReferenceRow,
    ShareRow,
    SkillRow,
    SkillsSection,
    SpendRow,
    Stats,
    SwitchRow,
    TimeSection,
    TokensSection,
    ToolsSection,
    TotalsSection,
    TouchedFileRow,
    WorkSection,
)
from copilog.derive.document_kinds import KINDS
from copilog.derive.line_counts import sum_of_lines

OTHER_ERROR, OTHER_REASON, OTHER_PROGRAM, OTHER_LANGUAGE = "other error", "other", "other program", "other language"
NO_DATE, OTHER = "(no date)", "other"
SCOPES = ("workspace", "user", "extension")
REFERENCES = {"commit": "commit", "pull-request": "pull request", "issue": "issue", OTHER: "other"}

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MONTH = re.compile(r"\d{4}-\d\d")
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]{5,15}(?:Z|[+-]\d\d:\d\d)")
_NOT_ALIKE = re.compile(r"[^a-z0-9]+")

Row = TypeVar("Row", bound=Figures)


def anonymous(stats: Stats) -> Stats:
    """Return the same figures without anything that identifies the user. The original is not changed."""
    names = _Names(stats)
    return Stats(
        since=_coarse_time(stats.since),
        until=_coarse_time(stats.until),
        totals=_totals(stats.totals, names),
        tokens=_tokens(stats.tokens, names),
        models=_models(stats.models, names),
        tools=_tools(stats.tools, names),
        agents=_agents(stats.agents, names),
        skills=_skills(stats.skills, names),
        work=_work(stats.work),
        time=_time(stats.time),
    )


def _totals(totals: TotalsSection, names: _Names) -> TotalsSection:
    """Return the totals; a kind of document that this version does not know may be any text."""
    documents = [replace(row, name=names.document(row.name)) for row in totals.documents]
    return replace(totals, documents=documents)


# --- names ----------------------------------------------------------------------------------------------------------


class _Numbered:
    """Numbers for names, in the order in which they are requested; public names stay."""

    def __init__(self, word: str, stays: Callable[[str], bool] = public.PLACEHOLDERS.__contains__) -> None:
        self._word = word
        self._stays = stays
        self._numbers: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        if name in public.PLACEHOLDERS or self._stays(name):
            return name
        # Agents and skills are compared without regard to case, and no two models differ by it alone.
        return f"{self._word} {self._numbers.setdefault(name.casefold(), len(self._numbers) + 1)}"


class _Names:
    """The replacement of each name."""

    def __init__(self, stats: Stats) -> None:
        self.workspace = _Numbered("workspace")
        self.conversation = _Numbered("conversation")
        self.agent = _Numbered("agent", lambda name: name.casefold() in public.AGENTS)
        self.skill = _Numbered("skill")
        self.model = _Numbered("model", public.is_model)
        self.server = _Numbered("server")
        self.document = _Numbered("kind", KINDS.__contains__)
        self._tools: dict[str, str] = {}
        self._own = _Numbered("tool")
        self._of_servers: dict[str, _Numbered] = {}
        self._servers = [row.name for row in stats.tools.servers]
        for name in self._servers:  # by rank, in whatever order they are requested
            self.server(name)

    def tool(self, name: str) -> str:
        """Return a Copilot tool's own name; a server's tool by the server's number, any other by a number."""
        if name in public.PLACEHOLDERS or name in public.TOOLS:
            return name
        server = self._server_of(name)
        if server is None:
            return self._own(name)
        numbered = self._of_servers.setdefault(server, _Numbered("tool"))
        return f"{numbered(name)} of {self.server(server)}"

    def _server_of(self, tool: str) -> str | None:
        """Return the server of a tool: VS Code writes `mcp_server_tool`, with a truncated name; Copilot CLI
        `server-tool`.
        """
        name = _alike(tool.removeprefix("mcp_"))
        fitting = [server for server in self._servers if _alike(server) and name.startswith(_alike(server))]
        return max(fitting, key=len, default=None)

    def turn(self, row: SpendRow) -> str:
        """Return the replacement of a turn: its conversation's, and its number in it."""
        conversation, mark, number = (row.id or "").rpartition("#")
        if not mark or not number.isdecimal():
            return self.conversation(row.id or row.name)
        return f"{self.conversation(conversation)} #{int(number)}"


def _alike(name: str) -> str:
    return _NOT_ALIKE.sub("", name.casefold())


def _day(text: str | None) -> str | None:
    """Return the day of a timestamp; the hour would reveal the user's habits."""
    found = _DAY.match(text) if text else None
    return found[0] if found else None


def _coarse_time(text: str | None) -> str | None:
    return text if text and _TIMESTAMP.fullmatch(text) else _day(text)


# --- tokens and models ----------------------------------------------------------------------------------------------


def _tokens(section: TokensSection, names: _Names) -> TokensSection:
    return TokensSection(
        total=_spent(section.total, "total"),
        by_day=[_spent(row, _day(row.name) or NO_DATE) for row in section.by_day],
        by_workspace=[_spent(row, names.workspace(row.name)) for row in section.by_workspace],
        by_model=[_spent(row, names.model(row.name)) for row in section.by_model],
        by_agent=[_spent(row, names.agent(row.name)) for row in section.by_agent],
        by_subagent=[_spent(row, names.agent(row.name)) for row in section.by_subagent],
        by_skill=[_spent(row, names.skill(row.name)) for row in section.by_skill],
        by_tool=[_spent(row, names.tool(row.name)) for row in section.by_tool],
        by_conversation=[_spent(row, names.conversation(row.id or row.name)) for row in section.by_conversation],
        by_turn=[_spent(row, names.turn(row)) for row in section.by_turn],
        by_system=[_spent(row, _one_of(row.name, SYSTEMS.values())) for row in section.by_system],
        by_payer=[_spent(row, _one_of(row.name, PAYERS.values())) for row in section.by_payer],
        by_outcome=[_spent(row, _one_of(row.name, OUTCOMES)) for row in section.by_outcome],
        by_repository=[_spent(row, f"repository {place}") for place, row in enumerate(section.by_repository, start=1)],
        by_branch=[_spent(row, f"branch {place}") for place, row in enumerate(section.by_branch, start=1)],
        cache_turns=section.cache_turns,
        missed_cache_turns=section.missed_cache_turns,
        input_turns=section.input_turns,
        credit_turns=section.credit_turns,
        superseded_turns=section.superseded_turns,
        credits=_credits(section.credits, section.by_repository, names),
        month=replace(
            section.month,
            unit=section.month.unit if section.month.unit in ("credits", "requests") else "",
            since=_day(section.month.since) or "",
            until=_day(section.month.until) or "",
            before_since=_day(section.month.before_since) or "",
            before_until=_day(section.month.before_until) or "",
        ),
        period=replace(
            section.period,
            since=_day(section.period.since) or "",
            until=_day(section.period.until) or "",
            before_since=_day(section.period.before_since) or "",
            before_until=_day(section.period.before_until) or "",
        ),
        calibration=section.calibration,
        composition=_composition(section.composition),
        composition_turns=section.composition_turns,
        origins=section.origins,
        at_least=section.at_least,
        at_most=section.at_most,
        prices=_prices(section.prices, names) if section.prices is not None else None,
    )


def _spent(row: SpendRow, name: str) -> SpendRow:
    return replace(row, name=name, id=None)


def _credits(section: CreditsSection, known: Sequence[SpendRow], names: _Names) -> CreditsSection:
    """Credits with the numbers that repositories have in the table of them."""
    places = {row.name: f"repository {place}" for place, row in enumerate(known, start=1)}
    return CreditsSection(
        weeks=[replace(row, name=_day(row.name) or NO_DATE, of=names.model(row.of)) for row in section.weeks],
        repositories=[
            replace(row, name=places.get(row.name, OTHER), of=names.model(row.of)) for row in section.repositories
        ],
        outcomes=[
            replace(row, name=row.name if _MONTH.fullmatch(row.name) else NO_DATE, of=_one_of(row.of, OUTCOMES))
            for row in section.outcomes
        ],
    )


def _one_of(name: str, known: Collection[str]) -> str:
    return name if name in known else OTHER


def _composition(rows: Sequence[ShareRow]) -> list[ShareRow]:
    return [
        replace(
            row,
            category=row.category if row.category in public.CATEGORIES else OTHER,
            label=row.label if row.label in public.LABELS else None,
        )
        for row in rows
    ]


def _prices(prices: Prices, names: _Names) -> Prices:
    return replace(
        prices,
        models={names.model(model): OTHER if model in prices.own else entry for model, entry in prices.models.items()},
        unpriced=[names.model(model) for model in prices.unpriced],
        unknown={names.model(model): names.model(other) for model, other in prices.unknown.items()},
        own=[names.model(model) for model in prices.own],
    )


def _models(section: ModelsSection, names: _Names) -> ModelsSection:
    return replace(
        section,
        models=[replace(row, name=names.model(row.name)) for row in section.models],
        switches=[
            SwitchRow(before=names.model(row.before), after=names.model(row.after), times=row.times)
            for row in section.switches
        ],
        conflicts=[
            ConflictRow(asked=names.model(row.asked), answered=names.model(row.answered), times=row.times)
            for row in section.conflicts
        ],
    )


# --- tools, agents and skills ---------------------------------------------------------------------------------------


def _tools(section: ToolsSection, names: _Names) -> ToolsSection:
    programs = [replace(row, name=_program(row.name)) for row in section.programs]
    return replace(
        section,
        tools=[replace(row, name=names.tool(row.name)) for row in section.tools],
        servers=[replace(row, name=names.server(row.name)) for row in section.servers],
        programs=_added_up(programs, lambda row: row.name, _two_programs, lambda row: row.calls),
        sequences=[replace(row, tools=[names.tool(tool) for tool in row.tools]) for row in section.sequences],
    )


def _program(name: str) -> str:
    first = name.split(maxsplit=1)[0].casefold() if name.strip() else ""
    return first if first in public.PROGRAMS else OTHER_PROGRAM


def _two_programs(one: ProgramRow, other: ProgramRow) -> ProgramRow:
    return ProgramRow(
        name=one.name,
        calls=one.calls + other.calls,
        failed=one.failed + other.failed,
        command_errors=one.command_errors + other.command_errors,
        conversations=max(one.conversations, other.conversations),
    )


def _agents(section: AgentsSection, names: _Names) -> AgentsSection:
    return AgentsSection(
        agents=[_agent(row, names) for row in section.agents],
        handovers=[
            HandoverRow(
                before=names.agent(row.before),
                after=names.agent(row.after),
                kind=row.kind if row.kind in ("switch", "subagent") else OTHER,
                times=row.times,
            )
            for row in section.handovers
        ],
        never_used=_defined(section.never_used, names.agent),
        no_longer_defined=[names.agent(name) for name in section.no_longer_defined],
    )


def _agent(row: AgentRow, names: _Names) -> AgentRow:
    return replace(
        row,
        name=names.agent(row.name),
        kind=row.kind if row.kind in ("custom", "participant", "subagent") else OTHER,
        last_at=_day(row.last_at),
        evidence=list(dict.fromkeys(_evidence(how) for how in row.evidence)),
        path=None,
        also_named=[names.agent(name) for name in row.also_named],
    )


def _skills(section: SkillsSection, names: _Names) -> SkillsSection:
    return SkillsSection(
        skills=[_skill(row, names) for row in section.skills],
        never_used=_defined(section.never_used, names.skill),
        no_longer_defined=[names.skill(name) for name in section.no_longer_defined],
    )


def _skill(row: SkillRow, names: _Names) -> SkillRow:
    evidence: dict[str, int] = {}
    for how, turns in row.evidence.items():
        evidence[_evidence(how)] = evidence.get(_evidence(how), 0) + turns
    return replace(row, name=names.skill(row.name), last_at=_day(row.last_at), evidence=evidence, path=None)


def _evidence(how: str) -> str:
    """Return evidence without what it quotes: `modeInstructions, defined in ...`, `skill.invoked (...)`."""
    kind = how.partition(", ")[0].partition(" (")[0]
    return kind if kind in public.EVIDENCE or kind in public.TOOLS else OTHER


def _defined(rows: Sequence[DefinedRow], numbered: Callable[[str], str]) -> list[DefinedRow]:
    return [
        DefinedRow(name=numbered(row.name), path="", scope=row.scope if row.scope in SCOPES else OTHER) for row in rows
    ]


# --- work and time --------------------------------------------------------------------------------------------------


def _work(section: WorkSection) -> WorkSection:
    languages = [replace(row, name=_language(row.name)) for row in section.languages]
    named: list[FileRow | TouchedFileRow] = [*section.top_files, *section.important_files]
    paths = dict.fromkeys(row.path for row in named)
    numbers = {path: number for number, path in enumerate(paths, start=1)}  # the same file in both tables
    return replace(
        section,
        top_files=[replace(row, path=_file(row, numbers[row.path])) for row in section.top_files],
        important_files=[replace(row, path=_file(row, numbers[row.path])) for row in section.important_files],
        languages=_added_up(languages, lambda row: row.name, _two_languages, lambda row: row.edits),
        vote_reasons=_counts(section.vote_reasons, lambda name: name if name in public.VOTE_REASONS else OTHER_REASON),
        errors=_counts(section.errors, lambda name: name if public.is_error(name) else OTHER_ERROR),
        references=_references(section.references),
    )


def _file(row: FileRow | TouchedFileRow, number: int) -> str:
    name = row.path[max(row.path.rfind("/"), row.path.rfind("\\")) + 1 :]
    ending = name.rpartition(".")[2].casefold()
    return f"file {number}.{ending}" if "." in name and ending in public.ENDINGS else f"file {number}"


def _language(name: str) -> str:
    return name if name in public.LANGUAGES else OTHER_LANGUAGE


def _two_languages(one: LanguageRow, other: LanguageRow) -> LanguageRow:
    added, removed = sum_of_lines([(one.added, one.removed), (other.added, other.removed)])
    return LanguageRow(
        name=one.name,
        edits=one.edits + other.edits,
        files=one.files + other.files,
        added=added,
        removed=removed,
    )


def _counts(rows: Sequence[CountRow], name_of: Callable[[str], str]) -> list[CountRow]:
    named = [CountRow(name=name_of(row.name), times=row.times) for row in rows]
    return _added_up(named, lambda row: row.name, _two_counts, lambda row: row.times)


def _two_counts(one: CountRow, other: CountRow) -> CountRow:
    return CountRow(name=one.name, times=one.times + other.times)


def _references(rows: Sequence[ReferenceRow]) -> list[ReferenceRow]:
    """Return the number of references of each kind, instead of the references."""
    groups: dict[tuple[str, bool], list[ReferenceRow]] = {}
    for row in rows:
        kind = row.kind if row.kind in REFERENCES else OTHER
        groups.setdefault((kind, row.is_made), []).append(row)
    made = [
        ReferenceRow(
            kind=kind,
            name=f"{len(group):,} {REFERENCES[kind]}{'' if len(group) == 1 else 's'}",
            url=None,
            times=sum(row.times for row in group),
            conversations=max(row.conversations for row in group),
            is_made=is_made,
        )
        for (kind, is_made), group in groups.items()
    ]
    return sorted(made, key=lambda row: (-row.times, row.name))


def _time(section: TimeSection) -> TimeSection:
    return replace(
        section,
        first_at=_day(section.first_at),
        last_at=_day(section.last_at),
        longest_streak_end=_day(section.longest_streak_end),
        most_parallel_at=_day(section.most_parallel_at),
    )


def _added_up(
    rows: Sequence[Row],
    key: Callable[[Row], str],
    two: Callable[[Row, Row], Row],
    figure: Callable[[Row], float],
) -> list[Row]:
    """Return rows with the same name added up, the largest first."""
    sums: dict[str, Row] = {}
    for row in rows:
        known = sums.get(key(row))
        sums[key(row)] = row if known is None else two(known, row)
    return sorted(sums.values(), key=lambda row: (-figure(row), key(row)))
