"""Agents with their tools, skills and hand-overs as an interactive graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from copilog.analysis.graphs import Graph, Node, graph, strongest
from copilog.analysis.graphs.shapes import AGENT, COUNTED, NAMES_OF_KINDS, SKILL, SUBAGENT, TOOL, WORDS
from copilog.analysis.selection import choose
from copilog.store.selection import exactly
from copilog.web.agent_views import agent_url
from copilog.web.filters import Filters, filters_from, library_link, measured_by, query_of
from copilog.web.viewer import page, viewer_of
from copilog.writers.html import markdown_html

if TYPE_CHECKING:
    from starlette.requests import Request

    from copilog.definitions import Definition

MOST_EDGES = 150
DEFAULT_AGENT = "(default)"
KINDS_OF_PAGES = {AGENT: "custom", SUBAGENT: "subagent", SKILL: "skill"}


def graph_page(request: Request) -> Response:
    """Return the page: the graph, and a table of the same."""
    filters = filters_from(request.query_params)
    whole, defined = _graph_of(request, filters)
    shown = strongest(whole, MOST_EDGES)
    return page(
        request,
        "graph.html",
        page_name="graph",
        graph=shown,
        left_out=len(whole.edges) - len(shown.edges),
        filters=filters,
        query=query_of(filters),
        names={node.id: node.name for node in shown.nodes},
        links={node.id: link for node in shown.nodes if (link := _conversations(node, filters)) is not None},
        kinds=NAMES_OF_KINDS,
        words=WORDS,
        counted=COUNTED,
        has_looked=defined is not None,
    )


def graph_data(request: Request) -> Response:
    """Return nodes and edges, with the link of each node."""
    filters = filters_from(request.query_params)
    whole, _ = _graph_of(request, filters)
    shown = strongest(whole, MOST_EDGES)
    nodes = [
        {**msgspec.to_builtins(node), "link": _conversations(node, filters), "counted": COUNTED[node.kind]}
        for node in shown.nodes
    ]
    return JSONResponse({"nodes": nodes, "edges": msgspec.to_builtins(shown.edges), "words": WORDS})


def definition(request: Request) -> Response:
    """Return the definition of a node: only files that were discovered as definitions are shown."""
    filters = filters_from(request.query_params)
    whole, defined = _graph_of(request, filters)
    wanted = request.query_params.get("node", "")
    node = next((node for node in whole.nodes if node.id == wanted), None)
    found = next((item for item in defined or () if node is not None and item.path == node.path), None)
    return page(
        request,
        "graph_definition.html",
        page_name="graph",
        node=node,
        definition=found,
        body=markdown_html(found.body) if found is not None else None,
        link=_conversations(node, filters) if node is not None else None,
        about=_about(node, filters) if node is not None else None,
        status=200 if node is not None else 404,
    )


def _graph_of(request: Request, filters: Filters) -> tuple[Graph, list[Definition] | None]:
    viewer = viewer_of(request)
    with viewer.archive() as archive:
        chosen = choose(archive, measured_by(filters))
        rows = chosen.connection.execute("SELECT DISTINCT workspace FROM temp.chosen WHERE workspace IS NOT NULL")
        defined = viewer.defined(sorted(folder for (folder,) in rows))
        return graph(chosen, defined), defined


def _conversations(node: Node, filters: Filters) -> str | None:
    """Return the conversations in which it was used."""
    if not node.is_used or node.name == DEFAULT_AGENT:
        return None
    field = {AGENT: "agent", SUBAGENT: "agent", TOOL: "tool", SKILL: "skill"}.get(node.kind)
    return library_link(filters, **{field: exactly(field, node.name)}) if field else None


def _about(node: Node, filters: Filters) -> str | None:
    """Return the page of an agent or a skill."""
    if node.name == DEFAULT_AGENT or node.kind not in KINDS_OF_PAGES:
        return None
    return agent_url(KINDS_OF_PAGES[node.kind], node.name, filters)


routes = [
    Route("/graph", graph_page),
    Route("/graph/data", graph_data),
    Route("/graph/definition", definition),
]
