"""Measure custom agents, chat participants and sub-agents, and how they handed over to one another.

A turn has a participant and may have a custom agent within it, so rows of these two kinds overlap. A sub-agent's work
counts for the sub-agent, and not for the agent which started it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from copilog.analysis.defined_usage import AGENTS, Defined
from copilog.analysis.facts import CHOSEN_TURNS, DISTINCT, Amount, SqlTable, TableByKind, WalkedTable
from copilog.analysis.figures import AgentRow, AgentsSection, HandoverRow
from copilog.analysis.name_keys import Spellings, most_common
from copilog.analysis.renames import current_name, earlier_names
from copilog.analysis.selection import Chosen
from copilog.definitions import Definition
from copilog.store.schema import UNNAMED
from copilog.store.told_tables import AGENT, SHORTEST_SHARED

DEFAULT = "(default)"  # a turn without a custom agent
RECORDED = "recorded"  # participants are named in the turn's own record

# Custom agents may lack a name; there is evidence for each.
CUSTOM_AGENT = (
    f"coalesce(nullif({current_name('t.custom_agent')}, ''),"
    f" CASE WHEN t.agent_evidence IS NOT NULL THEN '{UNNAMED}' END)"
)

# The author of a message with a parent call is the sub-agent that this call started.
STARTED = """
    started AS (
        SELECT f.conversation, f.call_id, min(f.subagent) AS subagent
        FROM temp.chosen AS c JOIN tool_call AS f ON f.conversation = c.conversation
        WHERE f.subagent IS NOT NULL GROUP BY f.conversation, f.call_id
    )
"""
CALLERS = f"""
    {CUSTOM_AGENT} AS custom, t.agent AS participant,
    CASE WHEN f.parent_call_id IS NOT NULL THEN coalesce(s.subagent, '{UNNAMED}') END AS inside
"""
_JOINED = """
    CROSS JOIN temp.chosen_turn AS c ON c.conversation = f.conversation AND c.turn = coalesce(f.turn, -1)
    LEFT JOIN turn AS t ON t.conversation = f.conversation AND t.position = f.turn
    LEFT JOIN started AS s ON s.conversation = f.conversation AND s.call_id = f.parent_call_id
"""
# Calls with their callers.
CALLS = f"""
    WITH {STARTED},
    calls AS (
        SELECT f.conversation, c.turn, f.name, f.origin, f.server, f.outcome, f.subagent AS starts, c.at, {CALLERS}
        FROM temp.chosen AS k CROSS JOIN tool_call AS f ON f.conversation = k.conversation {_JOINED}
    )
"""  # noqa: S608

# The calls of a message have one caller, and are adjacent in the table: to count them first needs no sorting.
TOOL_CALLS = f"""
    WITH {STARTED},
    counted AS (
        SELECT f.conversation, f.turn, f.parent_call_id, count(*) AS calls
        FROM temp.chosen AS k CROSS JOIN tool_call AS f ON f.conversation = k.conversation
        GROUP BY k.conversation, f.message
    )
    SELECT {CALLERS}, sum(f.calls) FROM counted AS f {_JOINED} GROUP BY 1, 2, 3
"""  # noqa: S608

# The turn before is that of the conversation, whether it is within the period or not. Requests that the product makes
# by itself are not a choice of an agent, and are skipped, and so are conversations without a custom agent. The turn
# before the first one of a branch is the one that it starts from.
STEPS = f"""
    WITH changing AS (
        SELECT DISTINCT t.conversation FROM temp.chosen AS c CROSS JOIN turn AS t ON t.conversation = c.conversation
        WHERE {CUSTOM_AGENT} IS NOT NULL
    ),
    named AS (
        SELECT t.conversation, t.position, t.branch_from, t.branch_trace,
               coalesce({CUSTOM_AGENT}, '{DEFAULT}') AS name
        FROM changing AS c CROSS JOIN turn AS t ON t.conversation = c.conversation
        WHERE t.is_system IS NOT 1 AND t.superseded IS NULL
    ),
    steps AS (
        SELECT conversation, position, name, coalesce(
            lag(name) OVER (PARTITION BY conversation, branch_from, branch_trace ORDER BY position),
            CASE WHEN branch_from IS NOT NULL THEN (
                SELECT o.name FROM named AS o WHERE o.conversation = named.conversation
                AND o.position <= named.branch_from ORDER BY o.position DESC LIMIT 1
            ) END
        ) AS before
        FROM named
    )
"""  # noqa: S608
SWITCHES = f"""
    {STEPS}
    SELECT s.before, s.name, s.conversation, s.position
    FROM steps AS s JOIN temp.chosen_turn AS c ON c.conversation = s.conversation AND c.turn = s.position
    WHERE s.before IS NOT NULL AND s.before <> s.name
"""  # noqa: S608
STARTS = f"""
    {CALLS} SELECT coalesce(inside, custom, '{DEFAULT}'), starts, conversation, turn FROM calls WHERE starts IS NOT NULL
"""  # noqa: S608

# --- figures --------------------------------------------------------------------------------------------------------

_OF_TURNS = {
    "turns": Amount("1", "Turns", head="Turns or runs"),
    "failed": Amount("t.status IS 'failed'", "Failed turns"),
}
_OF_NAME: dict[str, Any] = {"keys": ("name",), "of": " of {}", "fold": str.casefold}
WORK_OF = {
    "custom": SqlTable(
        name="agents.agents",
        amounts=_OF_TURNS,
        source=CHOSEN_TURNS,
        by=(CUSTOM_AGENT,),
        where=f"{CUSTOM_AGENT} <> ''",
        **_OF_NAME,
    ),
    "participant": SqlTable(
        name="agents.agents", amounts=_OF_TURNS, source=CHOSEN_TURNS, by=("t.agent",), where="t.agent <> ''", **_OF_NAME
    ),
    "subagent": SqlTable(
        name="agents.agents",
        amounts={"turns": Amount("1", "Runs"), "failed": Amount("c.outcome IS 'failed'", "Failed runs")},
        before=CALLS,
        source="calls AS c",
        by=("c.starts",),
        where="c.starts IS NOT NULL",
        **_OF_NAME,
    ),
}
EVIDENCE = {"custom": "t.agent_evidence", "participant": f"'{RECORDED}'", "subagent": "c.name"}
WORDS = {
    "custom": "the custom agent",
    "participant": "the chat participant",
    "subagent": "the sub-agent",
    "switch": "Switches of agents",
}
_CONVERSATIONS = {"conversations": Amount("c.conversation", "Conversations", DISTINCT)}
_OF_AGENT: dict[str, Any] = {"name": "agents.agents", "keys": ("kind", "name"), "of": " of {} {}", "words": WORDS}
AGENTS_AT_WORK = TableByKind(tables=WORK_OF, **_OF_AGENT)
CONVERSATIONS_OF_AGENTS = TableByKind(
    tables={kind: replace(table, amounts=_CONVERSATIONS) for kind, table in WORK_OF.items()}, **_OF_AGENT
)


class _CallOf(NamedTuple):
    """A call of a tool, and one of those that made it."""

    conversation: int
    turn: int | None
    kind: str
    name: str


class Handover(NamedTuple):
    """A turn of another agent than the turn before it, or a sub-agent that was started."""

    conversation: int
    turn: int | None
    kind: str
    before: str
    after: str


def _calls_of(chosen: Chosen) -> Iterator[_CallOf]:
    sql = f"{CALLS} SELECT conversation, turn, inside, custom, participant FROM calls"  # noqa: S608 - of our own
    for conversation, turn, *callers in chosen.connection.execute(sql):
        for kind, name in _callers(*callers):
            yield _CallOf(conversation, turn, kind, name.casefold())


def _handovers(chosen: Chosen) -> Iterator[Handover]:
    """Yield hand-overs with the names as they are spelled."""
    for kind, sql in (("switch", SWITCHES), ("subagent", STARTS)):
        for before, after, conversation, turn in chosen.connection.execute(sql):
            if kind == "subagent" or before.casefold() != after.casefold():
                yield Handover(conversation, turn, kind, before, after)


CALLS_OF_AGENTS = WalkedTable(
    amounts={"tool_calls": Amount(lambda _: 1, "Tool calls")},
    **_OF_AGENT,
    fold=str.casefold,
    walk=_calls_of,
    key=lambda call: (call.kind, call.name),
)
HANDOVERS = WalkedTable(
    name="agents.handovers",
    amounts={"times": Amount(lambda _: 1, "")},
    keys=("kind", "before", "after"),
    of="{} from {} to {}",
    words={"switch": "Switches of agents", "subagent": "Starts of sub-agents,"},
    fold=str.casefold,
    walk=_handovers,
    key=lambda handover: (handover.kind, handover.before.casefold(), handover.after.casefold()),
)


def agents(chosen: Chosen, defined: Sequence[Definition] | None = None, *, limit: int | None = 50) -> AgentsSection:
    """Return the agents that ran and their hand-overs; with definitions, also unused and missing ones."""
    shelf = Defined(defined, AGENTS)
    shelf.match_by_text(told_digests(chosen))
    rows = list(_rows(chosen, shelf))
    rows.sort(key=lambda row: (-row.turns, row.name, row.kind))
    used = {row.name for row in rows if row.kind != "participant"}
    return AgentsSection(
        agents=rows[:limit],
        handovers=handovers(chosen)[:limit],
        never_used=shelf.never_used(used)[:limit],
        no_longer_defined=shelf.missing(used)[:limit],
    )


def told_digests(chosen: Chosen) -> dict[str, set[str]]:
    """Return the digests of the instructions that custom agents had, by the present name of the agent."""
    digests: dict[str, set[str]] = {}
    sql = f"SELECT DISTINCT {current_name('t.name')}, digest FROM told_text AS t WHERE kind = ? AND characters >= ?"  # noqa: S608
    for name, digest in chosen.connection.execute(sql, (AGENT, SHORTEST_SHARED)):
        digests.setdefault(name, set()).add(digest)
    return digests


def handovers(chosen: Chosen) -> list[HandoverRow]:
    """Return the hand-overs from one turn's agent to that of the next, and from callers to their sub-agents."""
    spellings = {kind: Spellings() for kind in ("switch", "subagent")}
    times: Counter[tuple[str, str, str]] = Counter()
    for _, _, kind, before, after in _handovers(chosen):
        times[kind, spellings[kind].key(before), spellings[kind].key(after)] += 1
    rows = [
        HandoverRow(before=spellings[kind].shown(before), after=spellings[kind].shown(after), kind=kind, times=count)
        for (kind, before, after), count in times.items()
    ]
    return sorted(rows, key=lambda row: (-row.times, row.before, row.after, row.kind))


# --- rows -------------------------------------------------------------------------------------------------------


class _Tally:
    """The counts of one agent."""

    def __init__(self) -> None:
        self.turns = 0
        self.failed = 0
        self.tool_calls = 0
        self.conversations: set[int] = set()
        self.evidence: Counter[str] = Counter()
        self.last_at: str | None = None

    def add(self, conversation: int, evidence: str | None, turns: int, failed: int, last_at: str | None) -> None:
        self.turns += turns
        self.failed += failed
        self.conversations.add(conversation)
        if evidence:
            self.evidence[_shortened(evidence)] += turns
        self.last_at = max(filter(None, (self.last_at, last_at)), default=None)


def _rows(chosen: Chosen, shelf: Defined) -> Iterator[AgentRow]:
    spellings = {kind: Spellings() for kind in ("custom", "participant", "subagent")}
    earlier = earlier_names(chosen.connection)
    for (kind, key), tally in _tallies(chosen, spellings).items():
        name = spellings[kind].shown(key)
        is_definable = kind != "participant"
        yield AgentRow(
            name=name,
            kind=kind,
            turns=tally.turns,
            conversations=len(tally.conversations),
            tool_calls=tally.tool_calls,
            failed=tally.failed,
            last_at=tally.last_at,
            evidence=most_common(tally.evidence),
            is_defined=shelf.is_defined(name) if is_definable else None,
            path=shelf.path_of(name) if is_definable else None,
            also_named=[*earlier.get(key, ()), *shelf.other_names(name)] if kind == "custom" else [],
        )


def _tallies(chosen: Chosen, spellings: dict[str, Spellings]) -> dict[tuple[str, str], _Tally]:
    tallies: dict[tuple[str, str], _Tally] = {}
    for kind, table in WORK_OF.items():
        columns = (*table.by, "c.conversation", EVIDENCE[kind], "c.at")
        for name, conversation, evidence, at, turns, failed in table.grouped(chosen, *columns):
            key = spellings[kind].key(name, turns)
            tallies.setdefault((kind, key), _Tally()).add(conversation, evidence, turns, failed, at)
    for custom, participant, inside, count in chosen.connection.execute(TOOL_CALLS):
        for kind, name in _callers(inside, custom, participant):
            tally = tallies.get((kind, name.casefold()))
            if tally is not None:
                tally.tool_calls += count
    return tallies


def _callers(inside: str | None, custom: str | None, participant: str | None) -> Iterator[tuple[str, str]]:
    if inside is not None:
        yield "subagent", inside
        return
    if custom is not None:
        yield "custom", custom
    if participant is not None:
        yield "participant", participant


def _shortened(evidence: str) -> str:
    """Return evidence without the file that it names: `modeInstructions, defined in ...`."""
    return evidence.partition(", ")[0]
