"""Who was at work: custom agents, chat participants and sub-agents, and how they handed over to one another.

A turn has a participant and may have a custom agent on top of it, so rows of these two kinds overlap. What a sub-agent
did is its own, and not that of the agent which started it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from copilog.analysis.defined import AGENTS, Defined
from copilog.analysis.figures import AgentRow, AgentsSection, HandoverRow
from copilog.analysis.names import Spellings, most_common
from copilog.analysis.selection import Chosen
from copilog.definitions import Definition
from copilog.store.texts import UNNAMED

DEFAULT = "(default)"  # a turn without a custom agent
RECORDED = "recorded"  # participants are named in the turn's own record

# Custom agents may lack a name; there is evidence for each.
CUSTOM_AGENT = f"coalesce(nullif(t.custom_agent, ''), CASE WHEN t.agent_evidence IS NOT NULL THEN '{UNNAMED}' END)"

# Whoever writes a message with a parent call is the sub-agent that this call started.
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
        SELECT f.conversation, f.name, f.origin, f.server, f.outcome, f.subagent AS starts, c.at, {CALLERS}
        FROM temp.chosen AS k CROSS JOIN tool_call AS f ON f.conversation = k.conversation {_JOINED}
    )
"""  # noqa: S608

_TURNS = """
    SELECT {name} AS name, t.conversation, {evidence} AS evidence, count(*), sum(t.status IS 'failed'), max(c.at)
    FROM temp.chosen_turn AS c JOIN turn AS t ON t.conversation = c.conversation AND t.position = c.turn
    GROUP BY 1, 2, 3 HAVING name <> ''
"""
CUSTOM_TURNS = _TURNS.format(name=CUSTOM_AGENT, evidence="t.agent_evidence")
PARTICIPANT_TURNS = _TURNS.format(name="t.agent", evidence=f"'{RECORDED}'")
RUNS = f"""
    {CALLS}
    SELECT starts, conversation, name, count(*), sum(outcome IS 'failed'), max(at)
    FROM calls WHERE starts IS NOT NULL GROUP BY 1, 2, 3
"""  # noqa: S608
# The calls of a message have one caller, and lie together in the table: to count them first needs no sorting.
TOOL_CALLS = f"""
    WITH {STARTED},
    counted AS (
        SELECT f.conversation, f.turn, f.parent_call_id, count(*) AS calls
        FROM temp.chosen AS k CROSS JOIN tool_call AS f ON f.conversation = k.conversation
        GROUP BY k.conversation, f.message
    )
    SELECT {CALLERS}, sum(f.calls) FROM counted AS f {_JOINED} GROUP BY 1, 2, 3
"""  # noqa: S608

# The turn before is that of the conversation, whether it is within the period or not. What the product asks by itself
# is nobody's choice of an agent, and is passed over.
# After a branch has left, the turn before its first is the one that it leaves from.
STEPS = f"""
    WITH named AS (
        SELECT t.conversation, t.position, t.branch_from, t.branch_trace,
               coalesce({CUSTOM_AGENT}, '{DEFAULT}') AS name
        FROM temp.chosen AS c JOIN turn AS t ON t.conversation = c.conversation
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
    SELECT s.before, s.name, count(*)
    FROM steps AS s JOIN temp.chosen_turn AS c ON c.conversation = s.conversation AND c.turn = s.position
    WHERE s.before IS NOT NULL AND s.before <> s.name GROUP BY 1, 2
"""  # noqa: S608
STARTS = f"""
    {CALLS}
    SELECT coalesce(inside, custom, '{DEFAULT}'), starts, count(*) FROM calls WHERE starts IS NOT NULL GROUP BY 1, 2
"""  # noqa: S608


def agents(chosen: Chosen, defined: Sequence[Definition] | None = None, *, limit: int | None = 50) -> AgentsSection:
    """Which agents ran and how they handed over; with definitions, which never ran and which are defined no more."""
    shelf = Defined(defined, AGENTS)
    rows = list(_rows(chosen, shelf))
    rows.sort(key=lambda row: (-row.turns, row.name, row.kind))
    used = {row.name for row in rows if row.kind != "participant"}
    return AgentsSection(
        agents=rows[:limit],
        handovers=handovers(chosen)[:limit],
        never_used=shelf.never_used(used)[:limit],
        no_longer_defined=shelf.missing(used)[:limit],
    )


def handovers(chosen: Chosen) -> list[HandoverRow]:
    """From one turn's agent to that of the next, and from callers to the sub-agents that they started."""
    rows: list[HandoverRow] = []
    for kind, sql in (("switch", SWITCHES), ("subagent", STARTS)):
        spellings = Spellings()
        times: Counter[tuple[str, str]] = Counter()
        for before, after, count in chosen.connection.execute(sql):
            times[spellings.key(before, count), spellings.key(after, count)] += count
        rows += [
            HandoverRow(before=spellings.shown(before), after=spellings.shown(after), kind=kind, times=count)
            for (before, after), count in times.items()
            if kind == "subagent" or before != after
        ]
    return sorted(rows, key=lambda row: (-row.times, row.before, row.after, row.kind))


# --- rows -------------------------------------------------------------------------------------------------------


class _Tally:
    """What is counted of one agent."""

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
        )


def _tallies(chosen: Chosen, spellings: dict[str, Spellings]) -> dict[tuple[str, str], _Tally]:
    tallies: dict[tuple[str, str], _Tally] = {}
    for kind, sql in (("custom", CUSTOM_TURNS), ("participant", PARTICIPANT_TURNS), ("subagent", RUNS)):
        for name, conversation, evidence, turns, *rest in chosen.connection.execute(sql):
            key = spellings[kind].key(name, turns)
            tallies.setdefault((kind, key), _Tally()).add(conversation, evidence, turns, *rest)
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
    """Evidence without the file that it names: `modeInstructions, defined in ...`."""
    return evidence.partition(", ")[0]
