"""Define the nodes and edges of a graph, and describe them in text."""

from __future__ import annotations

import math
import re
import unicodedata

from copilog.analysis.figures import Figures

AGENT, SUBAGENT, TOOL, SKILL, SERVER = "agent", "subagent", "tool", "skill", "mcp-server"
USES, LOADS, STARTS, HANDS_OVER, SERVED_BY, DEFINED = "uses", "loads", "starts", "hands-over", "served-by", "defined"

WORDS = {
    USES: "uses",
    LOADS: "loads",
    STARTS: "starts",
    HANDS_OVER: "hands over to",
    SERVED_BY: "is served by",
    DEFINED: "may use",
}
COUNTED = {AGENT: "turn", SUBAGENT: "run", TOOL: "call", SKILL: "turn", SERVER: "call"}
NAMES_OF_KINDS = {AGENT: "agent", SUBAGENT: "sub-agent", TOOL: "tool", SKILL: "skill", SERVER: "MCP server"}

# Names come from conversations and may contain any text. Some characters are not XML, some control a terminal.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_WIDE = ("W", "F")
WIDEST = 7.0


class Node(Figures, kw_only=True):
    """An agent, a sub-agent, a tool, a skill or an MCP server."""

    id: str
    kind: str  # agent, subagent, tool, skill, mcp-server
    name: str
    count: int = 0  # turns of an agent or with a skill, runs of a sub-agent, calls of a tool or a server
    is_used: bool = False
    is_defined: bool | None = None  # None: definitions were not read, or there is nothing to define
    path: str | None = None


class Edge(Figures, kw_only=True):
    """A use of one node by another, or a definition that allows it."""

    source: str  # ids of nodes
    target: str
    kind: str  # uses, loads, starts, hands-over, served-by; defined: a definition allows it, and it never happened
    times: int = 0
    is_defined: bool = False  # a definition names it among the tools or hand-offs of an agent


class Graph(Figures, kw_only=True):
    nodes: list[Node]
    edges: list[Edge]


def strongest(graph: Graph, most: int | None) -> Graph:
    """Return the edges that were used most often, and the nodes that they join."""
    if most is None or len(graph.edges) <= most:
        return graph
    edges = graph.edges[:most]
    ends = {end for edge in edges for end in (edge.source, edge.target)}
    return Graph(nodes=[node for node in graph.nodes if node.id in ends], edges=edges)


def thickness(edge: Edge) -> float:
    """Return how thick an edge is drawn: twice as much again for ten times as often, up to a thousand times."""
    return min(1.0 + 2.0 * math.log10(max(edge.times, 1)), WIDEST)


# --- texts ------------------------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """Return a text on one line, without characters that are not text."""
    return " ".join(_UNSAFE.sub("\ufffd", re.sub(r"\s+", " ", text)).split())


def width_of(text: str) -> int:
    """Return how many columns a text takes."""
    return sum(2 if unicodedata.east_asian_width(character) in _WIDE else 1 for character in text)


def cut(text: str, columns: int) -> str:
    """Return a text that takes no more than so many columns."""
    if width_of(text) <= columns:
        return text
    room, kept = columns - 1, ""
    for character in text:
        room -= width_of(character)
        if room < 0:
            break
        kept += character
    return kept + "…"


def node_description(node: Node) -> str:
    """Return a description of a node, in one line."""
    word = COUNTED[node.kind]
    facts = [NAMES_OF_KINDS[node.kind]]
    facts.append(f"{node.count:,} {word if node.count == 1 else word + 's'}" if node.is_used else "never used")
    if node.is_defined is False:
        facts.append("defined nowhere")
    if node.path:
        facts.append(plain(node.path))
    return f"{plain(node.name)}: {', '.join(facts)}"


def edge_description(edge: Edge, names: dict[str, str]) -> str:
    """Return a description of an edge, in one line."""
    verb = WORDS[edge.kind]
    if edge.kind == DEFINED and edge.target.startswith((f"{AGENT}:", f"{SUBAGENT}:")):
        verb = "may hand over to"
    words = f"{plain(names[edge.source])} {verb} {plain(names[edge.target])}"
    if edge.kind == DEFINED:
        return f"{words}, and never did"
    times = "once" if edge.times == 1 else f"{edge.times:,} times"
    return f"{words}, {times}"
