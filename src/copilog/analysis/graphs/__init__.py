"""Draw agents, their tools, skills and hand-overs as a graph of what was used and what is defined."""

from copilog.analysis.graphs.build import graph
from copilog.analysis.graphs.dot import to_dot
from copilog.analysis.graphs.shapes import Edge, Graph, Node, strongest
from copilog.analysis.graphs.svg import to_svg

__all__ = ["Edge", "Graph", "Node", "graph", "strongest", "to_dot", "to_svg"]
