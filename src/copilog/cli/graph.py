"""`copilog graph`"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from copilog.cli.archives import reads_archive, searched_archive
from copilog.cli.common import COUNT, Settings, json_option, one_line, pass_settings, plural
from copilog.cli.redacting import own_archive, print_replaced, redact_option, redactor_for
from copilog.cli.selection_options import selects
from copilog.diagnostics import Report
from copilog.exports.json_text import json_text

if TYPE_CHECKING:
    from copilog.analysis import Selection
    from copilog.analysis.graphs.shapes import Edge, Graph, Node

FORMATS = ("text", "dot", "json", "svg")
BY_SUFFIX = {".svg": "svg", ".dot": "dot", ".gv": "dot", ".json": "json"}
MOST_IN_PICTURE = 80  # edges: a picture with more is unreadable
LONGEST_NAME = 60


@click.command(
    "graph",
    epilog="""\b
Examples:
  copilog graph
  copilog graph -o agents.svg --since 30d
  copilog graph --format dot --most 40 | dot -Tpdf -o agents.pdf
  copilog graph --format json -w tide-tables""",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="The output format. Default: from the file name's extension, or text.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write to this file, once it is complete. Default: standard output.",
)
@click.option(
    "--most",
    type=COUNT,
    metavar="N",
    help=f"Draw only the N strongest edges, and what they connect. Default: {MOST_IN_PICTURE} in a picture, else all.",
)
@redact_option
@json_option
@pass_settings
@selects
@reads_archive
def command(
    settings: Settings,
    /,
    form: str | None,
    output: Path | None,
    most: int | None,
    selection: Selection,
    redact: bool | None,
    as_json: bool,
) -> int:
    """Draw which agents use which sub-agents, tools, MCP servers and skills.

    The graph has what was used, and what is defined on this machine: dashed if a definition names it but it was never
    used, red if it was used but is no longer defined. With --root, only definitions below that folder are drawn; with
    --sample, none.
    """
    from copilog.analysis import choose
    from copilog.analysis.graphs import graph, strongest
    from copilog.cli.agents import definitions_for

    form = "json" if as_json and form is None else _form(form, output)
    with searched_archive(settings, Report()) as archive:
        chosen = choose(archive, selection)
        whole = graph(chosen, definitions_for(settings, chosen))
    kept = strongest(whole, most or (MOST_IN_PICTURE if form == "svg" else None))
    redactor = redactor_for(settings, redact, own_archive(settings))
    _write(_written(kept if redactor is None else redactor.value(kept), form), output)
    click.echo(_summary_line(whole, kept), err=True)
    if redactor is not None:
        print_replaced(redactor.counts)
    return 0


def _form(form: str | None, output: Path | None) -> str:
    by_name = BY_SUFFIX.get(output.suffix.lower()) if output is not None else None
    return form or by_name or "text"


def _written(graph: Graph, form: str) -> str:
    from copilog.analysis.graphs import to_dot, to_svg

    if form == "svg":
        return to_svg(graph)
    if form == "dot":
        return to_dot(graph)
    if form == "json":
        return json_text(graph) + "\n"
    return "".join(f"{line}\n" for line in _tree(graph))


def _write(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    from copilog.atomic_files import atomic_file

    with atomic_file(output, is_private=True) as file:
        file.write(text.encode())


def _summary_line(whole: Graph, kept: Graph) -> str:
    nodes, edges = len(kept.nodes), len(kept.edges)
    line = f"{nodes:,} {plural(nodes, 'node')}, {edges:,} {plural(edges, 'edge')}"
    if edges < len(whole.edges):
        line += f", the strongest of {len(whole.edges):,} (--most N for more or fewer)"
    return line


# --- as text ----------------------------------------------------------------------------------------------------


def _tree(graph: Graph) -> Iterator[str]:
    """Yield each agent with what it uses, a line each, then what is defined and was never used."""
    from copilog.analysis.graphs.shapes import AGENT, DEFINED, SERVED_BY, SUBAGENT

    nodes = {node.id: node for node in graph.nodes}
    servers = {edge.source: _name(nodes[edge.target]) for edge in graph.edges if edge.kind == SERVED_BY}
    for node in graph.nodes:
        edges = [edge for edge in graph.edges if edge.source == node.id and edge.kind != DEFINED]
        if node.kind not in (AGENT, SUBAGENT) or not node.is_used:
            continue
        yield _headline(node)
        for edge in edges:
            branch = "└─" if edge is edges[-1] else "├─"
            yield f"{branch} {_edge_text(edge, nodes[edge.target], servers.get(edge.target))}"
        yield ""
    idle = [node for node in graph.nodes if not node.is_used]
    if idle:
        yield "defined, but never used"
        yield from (f"   {_headline(node)}" for node in idle)


def _name(node: Node) -> str:
    return one_line(node.name, LONGEST_NAME)


def _headline(node: Node) -> str:
    from copilog.analysis.graphs.shapes import COUNTED, NAMES_OF_KINDS

    details = [NAMES_OF_KINDS[node.kind]]
    if node.is_used:
        details.append(f"{node.count:,} {plural(node.count, COUNTED[node.kind])}")
    if node.is_defined is False:
        details.append("defined nowhere")
    if node.path:
        details.append(one_line(node.path))
    return f"{_name(node)}  ({', '.join(details)})"


def _edge_text(edge: Edge, target: Node, server: str | None) -> str:
    from copilog.analysis.graphs.shapes import WORDS

    place = f" of {server}" if server else ""
    return f"{WORDS[edge.kind]} {_name(target)}{place}  {edge.times:,}×"
