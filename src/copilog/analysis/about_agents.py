"""Everything about one agent or one skill: its instructions, tools, cost, outcomes and conversations."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from copilog.analysis.agent_costs import SKILL, uses_of
from copilog.analysis.agent_figures import AboutRow, DefinitionRow
from copilog.analysis.agents import CALLS, CUSTOM_AGENT, WORK_OF, agents
from copilog.analysis.defined_usage import AGENTS, SKILLS, Defined
from copilog.analysis.drill_down import DrillDown, drill_down
from copilog.analysis.facts import CHOSEN_TURNS
from copilog.analysis.figures import CountRow
from copilog.analysis.selection import Chosen
from copilog.analysis.skills import skills
from copilog.analysis.tokens import Among, composed_turns, composition
from copilog.analysis.told_versions import versions_of
from copilog.definitions import Definition
from copilog.errors import UsageError
from copilog.store.archive import Archive

CUSTOM, PARTICIPANT, SUBAGENT = WORK_OF  # the kinds of agents
DEFINED_ONLY = CUSTOM  # the kind of an agent that was not used
RESOURCE = "skill resource"

_TOOLS = f"{CALLS} SELECT name, inside, custom, participant, count(*) FROM calls GROUP BY 1, 2, 3, 4"  # noqa: S608
_CALLER = {SUBAGENT: 1, CUSTOM: 2, PARTICIPANT: 3}
_AGENT_TURNS = {CUSTOM: CUSTOM_AGENT, PARTICIPANT: "t.agent"}


class _Names:
    """The names of one agent or skill, without regard to case."""

    def __init__(self, names: Iterable[str]) -> None:
        self._keys = frozenset(map(str.casefold, names))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.casefold() in self._keys


def about_agent(
    chosen: Chosen, archive: Archive, kind: str, name: str, defined: Sequence[Definition] | None = None
) -> AboutRow:
    """Return everything about an agent of this kind. Raise UsageError if it was neither used nor defined."""
    section = agents(chosen, defined, limit=None)
    row = next((one for one in section.agents if one.kind == kind and _is(name, one.name, *one.also_named)), None)
    shown = row.name if row is not None else name
    names = _Names((shown, *(row.also_named if row is not None else ())))
    files = [made for made in Defined(defined, AGENTS).definitions if made.name in names] if kind != PARTICIPANT else []
    if row is None and not files:
        raise UsageError(f"no agent is called {name!r} in these conversations or on this machine")
    versions = versions_of(chosen, archive, "agent", _spellings(chosen, "agent", names), files)
    among = _turns_of_agent(chosen, kind, names)
    return AboutRow(
        kind=kind,
        name=shown if row is not None else files[0].name,
        also_named=row.also_named if row is not None else [],
        agent=row,
        use=uses_of(chosen, only=(kind, shown)).of(kind, shown),
        definitions=[_definition(made) for made in files],
        handovers=[one for one in section.handovers if one.before in names or one.after in names],
        tools=_tools(chosen, kind, names),
        versions=versions.rows if kind != PARTICIPANT else [],
        versions_left_out=versions.left_out,
        composition=composition(chosen, among) if among is not None else [],
        composition_turns=composed_turns(chosen, among) if among is not None else 0,
        is_checked=defined is not None,
    )


def about_agents(
    chosen: Chosen, archive: Archive, name: str, defined: Sequence[Definition] | None = None
) -> list[AboutRow]:
    """Return everything about the agents of this name, of each kind. Raise UsageError if there is none."""
    kinds = {row.kind for row in agents(chosen, defined, limit=None).agents if _is(name, row.name, *row.also_named)}
    ordered = [kind for kind in (CUSTOM, SUBAGENT, PARTICIPANT) if kind in kinds]
    return [about_agent(chosen, archive, kind, name, defined) for kind in ordered or [DEFINED_ONLY]]


def about_skill(chosen: Chosen, archive: Archive, name: str, defined: Sequence[Definition] | None = None) -> AboutRow:
    """Return everything about a skill. Raise UsageError if it was neither offered nor defined."""
    section = skills(chosen, defined, limit=None)
    row = next((one for one in section.skills if _is(name, one.name)), None)
    names = _Names((name,))
    files = [made for made in Defined(defined, SKILLS).definitions if made.name in names]
    if row is None and not files:
        raise UsageError(f"no skill is called {name!r} in these conversations or on this machine")
    versions = versions_of(chosen, archive, "skill", _spellings(chosen, "skill", names), files)
    loaded = [*_names_of_skills(chosen, names)]
    among = Among(
        "(SELECT DISTINCT c.conversation, c.turn FROM temp.chosen_turn AS c JOIN skill AS s"
        " ON s.conversation = c.conversation AND s.turn = c.turn"
        " WHERE s.is_loaded AND s.name IN (SELECT value FROM json_each(?)))",
        (json.dumps(loaded),),
    )
    return AboutRow(
        kind=SKILL,
        name=row.name if row is not None else files[0].name,
        skill=row,
        resource_turns=_resource_turns(chosen, loaded),
        use=uses_of(chosen, only=(SKILL, name)).of(SKILL, name),
        definitions=[_definition(made) for made in files],
        versions=versions.rows,
        versions_left_out=versions.left_out,
        composition=composition(chosen, among),
        composition_turns=composed_turns(chosen, among),
        is_checked=defined is not None,
    )


def conversations_with(chosen: Chosen, about: AboutRow) -> DrillDown:
    """Return the conversations in which an agent ran, or a skill was loaded; of one never loaded, was offered."""
    if about.kind != SKILL:
        return drill_down(chosen, "agents.agents.turns", about.kind, about.name)
    is_loaded = about.skill is not None and about.skill.loaded
    return drill_down(chosen, f"skills.skills.{'loaded' if is_loaded else 'offered'}", about.name)


def _is(name: str, *names: str) -> bool:
    return name.casefold() in map(str.casefold, names)


def _turns_of_agent(chosen: Chosen, kind: str, names: _Names) -> Among | None:
    """Return the turns of an agent. The prompts of a sub-agent are not recorded by category."""
    if kind not in _AGENT_TURNS:
        return None
    column = _AGENT_TURNS[kind]
    rows = chosen.connection.execute(f"SELECT DISTINCT {column} FROM {CHOSEN_TURNS}")  # noqa: S608
    wanted = json.dumps([name for (name,) in rows if name in names])
    return Among(
        f"(SELECT c.conversation, c.turn FROM {CHOSEN_TURNS}"  # noqa: S608
        f" WHERE {column} IN (SELECT value FROM json_each(?)))",
        (wanted,),
    )


def _spellings(chosen: Chosen, kind: str, names: _Names) -> list[str]:
    rows = chosen.connection.execute("SELECT DISTINCT name FROM told_text WHERE kind = ?", (kind,))
    return [name for (name,) in rows if name in names]


def _names_of_skills(chosen: Chosen, names: _Names) -> Iterable[str]:
    rows = chosen.connection.execute(
        "SELECT DISTINCT s.name FROM temp.chosen AS c CROSS JOIN skill AS s ON s.conversation = c.conversation"
    )
    return (name for (name,) in rows if name in names)


def _resource_turns(chosen: Chosen, names: list[str]) -> int:
    """Return the number of turns in which a tool read another file of a skill's folder."""
    (turns,) = chosen.connection.execute(
        "SELECT count(DISTINCT c.conversation << 32 | c.turn) FROM temp.chosen_turn AS c JOIN skill AS s"
        " ON s.conversation = c.conversation AND s.turn = c.turn"
        " WHERE s.name IN (SELECT value FROM json_each(?)) AND instr('; ' || s.evidence || '; ', ?)",
        (json.dumps(names), f"; {RESOURCE}; "),
    ).fetchone()
    return int(turns)


def _tools(chosen: Chosen, kind: str, names: _Names) -> list[CountRow]:
    """Return the tools that an agent called itself, most calls first."""
    counts: Counter[str] = Counter()
    for row in chosen.connection.execute(_TOOLS):
        is_own = kind == SUBAGENT or row[_CALLER[SUBAGENT]] is None
        if is_own and row[_CALLER[kind]] in names:
            counts[row[0]] += row[4]
    return [
        CountRow(name=name, times=times) for name, times in sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    ]


def _definition(made: Definition) -> DefinitionRow:
    recorded_in = made.extra.get("recorded_in")
    return DefinitionRow(
        kind=made.kind,
        name=made.name,
        path=made.path,
        scope=made.scope,
        description=made.description,
        tools=made.tools,
        handoffs=made.handoffs,
        model=made.model,
        body=made.body,
        recorded_in=recorded_in if isinstance(recorded_in, str) else None,
    )
