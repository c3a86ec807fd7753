"""Write the graph as DOT, for Graphviz and other programs that read it."""

from __future__ import annotations

from copilog.analysis.graphs.shapes import (
    AGENT,
    DEFINED,
    SERVER,
    SKILL,
    SUBAGENT,
    TOOL,
    Graph,
    Node,
    cut,
    edge_description,
    node_description,
    plain,
    thickness,
)

LONGEST_NAME = 60
STYLES = {
    AGENT: 'shape=box, fillcolor="#dbeafe"',
    SUBAGENT: 'shape=box, fillcolor="#ede9fe"',
    TOOL: 'shape=box, fillcolor="#f1f5f9"',
    SKILL: 'shape=note, fillcolor="#dcfce7"',
    SERVER: 'shape=component, fillcolor="#fef3c7"',
}


def to_dot(graph: Graph) -> str:
    """Return a directed graph. Nodes have numbers for ids; names are in labels, quoted and escaped."""
    ids = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    names = {node.id: node.name for node in graph.nodes}
    lines = [
        "digraph copilog {",
        "  rankdir=LR;",
        '  node [style="filled,rounded", fontname="Helvetica", fontsize=11];',
        '  edge [fontname="Helvetica", fontsize=9, color="#64748b"];',
    ]
    lines += [f"  {ids[node.id]} [{_node(node)}];" for node in graph.nodes]
    for edge in graph.edges:
        said = _quoted(edge_description(edge, names))
        taken = f'label="{edge.times}", penwidth={thickness(edge):.1f}'
        look = "style=dashed" if edge.kind == DEFINED else taken
        lines.append(f"  {ids[edge.source]} -> {ids[edge.target]} [{look}, tooltip={said}];")
    return "\n".join([*lines, "}", ""])


def _node(node: Node) -> str:
    name = plain(node.name)
    label = _quoted(cut(name, LONGEST_NAME) + (f" ({node.count:,})" if node.is_used else ""))
    look = STYLES[node.kind]
    if not node.is_used:
        look += ', style="filled,dashed"'
    elif node.is_defined is False:
        look += ', color="#dc2626"'
    return f"label={label}, {look}, tooltip={_quoted(node_description(node))}"


def _quoted(text: str) -> str:
    """Return a string of DOT: quotes, backslashes and entities would otherwise have a meaning."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
    return f'"{escaped}"'
