"""Build the graph of agents, sub-agents, tools, MCP servers and skills, from usage and definitions."""

from __future__ import annotations

from collections.abc import Sequence

from copilog.analysis.agents import CALLS, CUSTOM_AGENT, DEFAULT, handovers
from copilog.analysis.defined_usage import AGENTS, SKILLS, Defined
from copilog.analysis.graphs.shapes import (
    AGENT,
    DEFINED,
    HANDS_OVER,
    LOADS,
    SERVED_BY,
    SERVER,
    SKILL,
    STARTS,
    SUBAGENT,
    TOOL,
    USES,
    Edge,
    Graph,
    Node,
)
from copilog.analysis.name_keys import Spellings
from copilog.analysis.selection import Chosen
from copilog.definitions import Definition

TURNS = f"""
    SELECT coalesce({CUSTOM_AGENT}, '{DEFAULT}'), count(*)
    FROM temp.chosen_turn AS c JOIN turn AS t ON t.conversation = c.conversation AND t.position = c.turn GROUP BY 1
"""  # noqa: S608
# Calls that started a sub-agent have their own edges.
TOOL_USES = f"""
    {CALLS}
    SELECT inside IS NOT NULL, coalesce(inside, custom, '{DEFAULT}'), name,
           CASE WHEN origin = 'mcp' THEN nullif(server, '') END, count(*)
    FROM calls WHERE starts IS NULL GROUP BY 1, 2, 3, 4
"""  # noqa: S608
RUNS = f"""
    {CALLS}
    SELECT inside IS NOT NULL, coalesce(inside, custom, '{DEFAULT}'), starts, count(*)
    FROM calls WHERE starts IS NOT NULL GROUP BY 1, 2, 3
"""  # noqa: S608
SKILL_LOADS = f"""
    SELECT coalesce({CUSTOM_AGENT}, '{DEFAULT}'), s.name, count(*)
    FROM temp.chosen_turn AS c
    JOIN turn AS t ON t.conversation = c.conversation AND t.position = c.turn
    JOIN skill AS s ON s.conversation = c.conversation AND s.turn = c.turn
    WHERE s.is_loaded GROUP BY 1, 2
"""  # noqa: S608


def graph(chosen: Chosen, defined: Sequence[Definition] | None = None) -> Graph:
    """Return the graph, strongest edges first. Without definitions it holds only what was used."""
    builder = _Builder()
    builder.add_uses(chosen)
    builder.add_definitions(defined)
    return builder.graph()


class _Builder:
    """Collects and counts nodes and edges. Names are compared without regard to case."""

    def __init__(self) -> None:
        self._spellings: dict[str, Spellings] = {}
        self._nodes: dict[str, Node] = {}
        self._edges: dict[tuple[str, str], Edge] = {}

    # --- usage ------------------------------------------------------------------------------------------------------

    def add_uses(self, chosen: Chosen) -> None:
        execute = chosen.connection.execute
        for name, turns in execute(TURNS):
            self._count(AGENT, name, turns)
        for is_inside, caller, name, runs in execute(RUNS):
            self._join(self._caller(is_inside, caller), self._count(SUBAGENT, name, runs), STARTS, runs)
        for is_inside, caller, name, server, calls in execute(TOOL_USES):
            tool = self._count(TOOL, name, calls)
            self._join(self._caller(is_inside, caller), tool, USES, calls)
            if server is not None:
                self._join(tool, self._count(SERVER, server, calls), SERVED_BY, calls)
        for agent, name, turns in execute(SKILL_LOADS):
            self._join(self._count(AGENT, agent, 0), self._count(SKILL, name, turns), LOADS, turns)
        for row in handovers(chosen):
            if row.kind == "switch":
                before, after = self._count(AGENT, row.before, 0), self._count(AGENT, row.after, 0)
                self._join(before, after, HANDS_OVER, row.times)

    def _caller(self, is_inside: int, name: str) -> str:
        return self._count(SUBAGENT if is_inside else AGENT, name, 0)

    def _count(self, kind: str, name: str, times: int) -> str:
        """Count a node that was used, and return its id."""
        node = self._node(kind, name, times)
        node.count += times
        node.is_used = True
        return node.id

    def _node(self, kind: str, name: str, times: int = 0) -> Node:
        key = self._spellings.setdefault(kind, Spellings()).key(name, times)
        return self._nodes.setdefault(f"{kind}:{key}", Node(id=f"{kind}:{key}", kind=kind, name=name))

    def _join(self, source: str, target: str, kind: str, times: int = 0) -> Edge:
        edge = self._edges.setdefault((source, target), Edge(source=source, target=target, kind=kind))
        edge.times += times
        return edge

    # --- definitions ------------------------------------------------------------------------------------------------

    def add_definitions(self, definitions: Sequence[Definition] | None) -> None:
        if definitions is None:
            return
        shelves = {kind: Defined(definitions, AGENTS) for kind in (AGENT, SUBAGENT)}
        shelves[SKILL] = Defined(definitions, SKILLS)
        for made in shelves[AGENT].definitions:
            self._add_agent(made)
        for made in shelves[SKILL].definitions:
            self._node(SKILL, made.name)
        for node in self._nodes.values():
            if node.kind in shelves and node.name != DEFAULT:
                node.is_defined = shelves[node.kind].is_defined(node.name)
                node.path = shelves[node.kind].path_of(node.name)

    def _add_agent(self, made: Definition) -> None:
        """Add an agent with what its definition names. One that only ran as a sub-agent is that sub-agent."""
        source = self._agent_called(made.name)
        targets = [target for name in made.tools for target in self._tools_called(name, source)]
        for target in (*targets, *map(self._agent_called, made.handoffs)):
            self._join(source, target, DEFINED).is_defined = True

    def _agent_called(self, name: str) -> str:
        key = name.casefold()
        known = (node_id for kind in (AGENT, SUBAGENT) if (node_id := f"{kind}:{key}") in self._nodes)
        return next(known, None) or self._node(AGENT, name).id

    def _tools_called(self, name: str, caller: str) -> list[str]:
        """Return the tools that a name in a definition refers to: `read_file`, `server/tool`, or `server/*` for all of
        one.
        """
        server, _, tool = name.rpartition("/")
        served = f"{SERVER}:{server.casefold()}"
        of_server = [node for node in self._nodes.values() if server and (node.id, served) in self._edges]
        if tool == "*":
            used = [node.id for node in of_server if (caller, node.id) in self._edges]
            return used or ([self._node(SERVER, server).id] if server else [])
        same = [node.id for node in of_server if _is_called(node.name, tool)]
        return same or [self._node(TOOL, name).id]

    # --- result -----------------------------------------------------------------------------------------------------

    def graph(self) -> Graph:
        for node in self._nodes.values():
            node.name = self._spellings[node.kind].shown(node.id.partition(":")[2])
        order = (AGENT, SUBAGENT, TOOL, SKILL, SERVER)
        return Graph(
            nodes=sorted(self._nodes.values(), key=lambda node: (order.index(node.kind), -node.count, node.id)),
            edges=sorted(self._edges.values(), key=lambda edge: (-edge.times, edge.source, edge.target)),
        )


def _is_called(name: str, tool: str) -> bool:
    """Return whether a tool of a server was called under this name: `tool`, `server-tool` or `mcp_server_tool`."""
    name, tool = name.casefold(), tool.casefold()
    return name == tool or name.endswith(f"-{tool}") or (name.startswith("mcp_") and name.endswith(f"_{tool}"))
