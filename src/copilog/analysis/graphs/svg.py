"""Draw the graph as SVG: one self-contained file, without scripts, for light and dark screens."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from itertools import pairwise

from copilog.analysis.graphs.layout import BOX_HEIGHT, MARGIN, PADDING, Box, Layout, Point, Route, layout_of
from copilog.analysis.graphs.shapes import (
    AGENT,
    DEFINED,
    HANDS_OVER,
    LOADS,
    SERVER,
    SKILL,
    STARTS,
    SUBAGENT,
    TOOL,
    Graph,
    Node,
    edge_description,
    node_description,
    thickness,
)

TITLES = {AGENT: "Agents", SUBAGENT: "Sub-agents", TOOL: "Tools", SKILL: "Skills", SERVER: "MCP servers"}
HEAD, FOOT = 44.0, 40.0
ARROW = 7.0

# fill and line of boxes, on light and on dark backgrounds
BOXES = {
    AGENT: ("#dbeafe", "#2563eb", "#172554", "#60a5fa"),
    SUBAGENT: ("#ede9fe", "#7c3aed", "#2e1065", "#a78bfa"),
    TOOL: ("#f1f5f9", "#64748b", "#1e293b", "#94a3b8"),
    SKILL: ("#dcfce7", "#16a34a", "#052e16", "#4ade80"),
    SERVER: ("#fef3c7", "#b45309", "#451a03", "#fbbf24"),
}
EDGES = {
    "uses": ("#64748b", "#94a3b8"),
    LOADS: ("#16a34a", "#4ade80"),
    STARTS: ("#7c3aed", "#a78bfa"),
    HANDS_OVER: ("#2563eb", "#60a5fa"),
    "served-by": ("#b45309", "#fbbf24"),
    DEFINED: ("#94a3b8", "#64748b"),
}
LEGEND = {"is-idle": "dashed: defined, never used", "is-lost": "red: used, defined nowhere"}


def to_svg(graph: Graph, title: str = "Agents, tools and skills") -> str:
    """Return the picture. Boxes and edges show a description when the pointer is over them."""
    layout = layout_of(graph)
    names = {node.id: node.name for node in graph.nodes}
    width, height = max(layout.width, 460.0), layout.height + HEAD + FOOT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="copilog-graph" role="img" {_sizes(width, height)}>',
        f"<title>{escape(title)}</title>",
        f"<style>{_style()}</style>",
        f"<defs>{''.join(map(_arrow, EDGES))}</defs>",
        '<rect class="ground" width="100%" height="100%"/>',
        *_headings(layout),
        f'<g transform="translate(0 {HEAD:.0f})">',
        *(_edge(route, edge_description(route.edge, names)) for route in reversed(layout.routes)),
        *map(_box, layout.boxes),
        "</g>",
        *_legend(graph, height),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _sizes(width: float, height: float) -> str:
    return f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'


def _headings(layout: Layout) -> Iterator[str]:
    for kinds, x, _ in layout.columns:
        first, *others = (title for kind, title in TITLES.items() if kind in kinds)
        words = " and ".join([first, *map(str.lower, others)])
        yield f'<text class="heading" x="{x:.1f}" y="{HEAD - 16:.0f}">{words}</text>'


def _legend(graph: Graph, height: float) -> Iterator[str]:
    """Yield the legend of the kinds of edges and boxes that the graph has."""
    x = MARGIN
    looks = {_style_class_of(node) for node in graph.nodes}
    for look, words in LEGEND.items():
        if look in looks:
            yield f'<rect class="node {look}" x="{x:.0f}" y="{height - 27:.0f}" width="18" height="12" rx="3"/>'
            yield f'<text class="legend" x="{x + 25:.0f}" y="{height - 17:.0f}">{words}</text>'
            x += 215


def _style_class_of(node: Node) -> str:
    if not node.is_used:
        return "is-idle"
    return "is-lost" if node.is_defined is False else ""


# --- boxes and edges --------------------------------------------------------------------------------------------


def _box(box: Box) -> str:
    look = f"node {box.node.kind} {_style_class_of(box.node)}".rstrip()
    top, baseline = box.y - BOX_HEIGHT / 2, box.y + 4
    right = box.x + box.width - PADDING
    count = f'<text class="count" x="{right:.1f}" y="{baseline:.1f}">{box.amount}</text>' if box.amount else ""
    return (
        f"<g><title>{escape(node_description(box.node))}</title>"
        f'<rect class="{look}" x="{box.x:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{BOX_HEIGHT:.0f}" rx="6"/>'
        f'<text x="{box.x + PADDING:.1f}" y="{baseline:.1f}">{escape(box.label)}</text>{count}</g>'
    )


def _edge(route: Route, said: str) -> str:
    edge = route.edge
    return (
        f'<g><title>{escape(said)}</title><path class="edge {edge.kind}" d="{_path(route)}" '
        f'stroke-width="{thickness(edge):.1f}" marker-end="url(#copilog-{edge.kind})"/></g>'
    )


def _path(route: Route) -> str:
    """Return curves between columns, straight lines through them."""
    points = route.points
    if route.bow:
        (x, y), (end_x, end_y) = points
        out = x - route.bow - ARROW
        return f"M{x:.1f} {y:.1f}C{out:.1f} {y:.1f} {out:.1f} {end_y:.1f} {end_x - ARROW:.1f} {end_y:.1f}"
    points = [*points[:-1], _end_before_arrow(points[-1], points[-2])]
    way = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x, y), (end_x, end_y) in pairwise(points):
        middle = (x + end_x) / 2
        curve = f"C{middle:.1f} {y:.1f} {middle:.1f} {end_y:.1f} {end_x:.1f} {end_y:.1f}"
        way += f"H{end_x:.1f}" if y == end_y else curve
    return way


def _end_before_arrow(end: Point, before: Point) -> Point:
    """Return the end of a line that leaves room for the arrow's head."""
    return (end[0] - math.copysign(ARROW, end[0] - before[0]), end[1])


def _arrow(kind: str) -> str:
    return (
        f'<marker id="copilog-{kind}" class="head {kind}" markerUnits="userSpaceOnUse" markerWidth="8" '
        f'markerHeight="10" refX="0" refY="5" orient="auto"><path d="M0 0L{ARROW:.0f} 5L0 10z"/></marker>'
    )


# --- style ------------------------------------------------------------------------------------------------------


def _style() -> str:
    """Return the style. Colours are repeated instead of being variables, as some programs lack those."""
    common = (
        ".copilog-graph text{font:12px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}"
        ".copilog-graph .heading{font-weight:600}.copilog-graph .legend{font-size:11px}"
        ".copilog-graph .count{text-anchor:end;font-size:11px}"
        ".copilog-graph .edge{fill:none;stroke-opacity:.55}.copilog-graph g:hover>.edge{stroke-opacity:1}"
        ".copilog-graph .defined,.copilog-graph .is-idle{stroke-dasharray:4 3}"
    )
    return f"{common}{_colours(is_dark=False)}@media (prefers-color-scheme:dark){{{_colours(is_dark=True)}}}"


def _colours(*, is_dark: bool) -> str:
    ground, ink, faint, lost = (
        ("#0f172a", "#e2e8f0", "#94a3b8", "#f87171") if is_dark else ("#ffffff", "#0f172a", "#475569", "#dc2626")
    )
    rules = [
        f".ground{{fill:{ground}}}",
        f"text{{fill:{ink}}}",
        f".count,.copilog-graph .legend,.copilog-graph .heading{{fill:{faint}}}",
        f".node{{fill:{ground};stroke:{faint}}}",
    ]
    for kind, (fill, line, dark_fill, dark_line) in BOXES.items():
        rules.append(f".node.{kind}{{fill:{dark_fill if is_dark else fill};stroke:{dark_line if is_dark else line}}}")
    rules.append(f".node.is-lost{{stroke:{lost};stroke-width:2}}")
    for kind, (line, dark_line) in EDGES.items():
        rules.append(f".edge.{kind}{{stroke:{dark_line if is_dark else line}}}")
        rules.append(f".head.{kind}{{fill:{dark_line if is_dark else line}}}")
    return "".join(f".copilog-graph {rule}" for rule in rules)
