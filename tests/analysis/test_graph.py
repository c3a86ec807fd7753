"""Who uses what, as a graph, as DOT and as a picture."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from copilog.analysis.graphs import Edge, Graph, Node, graph, strongest, to_dot, to_svg
from copilog.analysis.graphs.layout import BOX_HEIGHT, Box, layout_of
from copilog.analysis.selection import Chosen, choose
from copilog.model import Skill
from copilog.store.archive import Archive
from tests.analysis.agent_turns import call, calls, conversation, defined, start, store, turn

NASTY = '<b>&"\\N\n\x1b[31m\u202e</title><script>alert(1)</script>'
SVG = "{http://www.w3.org/2000/svg}"
# A statement of DOT: a node or an edge, whose values are numbers, words or strings in which quotes are escaped.
VALUE = r'(?:[\w.]+|"(?:[^"\\]|\\.)*")'
STATEMENT = re.compile(rf"  n\d+(?: -> n\d+)? \[\w+={VALUE}(?:, \w+={VALUE})*\];")


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "empty.db", write=True) as archive:
        yield archive


def edges_of(made: Graph) -> list[tuple[str, str, str, int]]:
    return [(edge.source, edge.kind, edge.target, edge.times) for edge in made.edges]


def nasty_graph() -> Graph:
    """Make names that would break out of any syntax that they are put into."""
    nodes = [
        Node(id="agent:x", kind="agent", name=NASTY, count=2, is_used=True, is_defined=False),
        Node(id="tool:y", kind="tool", name=NASTY * 9, count=1, is_used=True, path=NASTY),
    ]
    return Graph(nodes=nodes, edges=[Edge(source="agent:x", target="tool:y", kind="uses", times=1)])


# --- nodes and edges --------------------------------------------------------------------------------------------


def test_every_used_name_is_a_node(chosen: Chosen) -> None:
    assert [(node.id, node.name, node.count) for node in graph(chosen).nodes] == [
        ("agent:(default)", "(default)", 6),
        ("agent:navigator", "Navigator", 2),
        ("subagent:keeper", "Keeper", 1),
        ("subagent:sounder", "Sounder", 1),
        ("tool:bash", "bash", 2),
        ("tool:edit_file", "edit_file", 2),
        ("tool:read_file", "read_file", 2),
        ("tool:run_in_terminal", "run_in_terminal", 2),
        ("tool:github-create_issue", "github-create_issue", 1),
        ("skill:chart-reading", "chart-reading", 1),
        ("mcp-server:github", "github", 1),
    ]
    assert {(node.is_used, node.is_defined) for node in graph(chosen).nodes} == {(True, None)}


def test_edges_count_uses(chosen: Chosen) -> None:
    assert edges_of(graph(chosen)) == [
        ("agent:(default)", "uses", "tool:run_in_terminal", 2),
        ("agent:navigator", "uses", "tool:edit_file", 2),
        ("agent:(default)", "hands-over", "agent:navigator", 1),
        ("agent:(default)", "starts", "subagent:keeper", 1),
        ("agent:(default)", "uses", "tool:bash", 1),
        ("agent:(default)", "uses", "tool:github-create_issue", 1),
        ("agent:(default)", "uses", "tool:read_file", 1),
        ("agent:navigator", "loads", "skill:chart-reading", 1),
        ("agent:navigator", "starts", "subagent:sounder", 1),
        ("subagent:keeper", "uses", "tool:bash", 1),
        ("subagent:sounder", "uses", "tool:read_file", 1),
        ("tool:github-create_issue", "served-by", "mcp-server:github", 1),
    ]


def test_the_strongest_edges_keep_the_nodes_that_they_join(chosen: Chosen) -> None:
    whole = graph(chosen)

    kept = strongest(whole, 2)

    assert edges_of(kept) == edges_of(whole)[:2]
    assert [node.name for node in kept.nodes] == ["(default)", "Navigator", "edit_file", "run_in_terminal"]
    assert strongest(whole, None) == strongest(whole, 12) == whole


def test_definitions_add_unused_nodes(chosen: Chosen) -> None:
    navigator = defined("navigator", tools=["edit_file", "fetch", "*"], handoffs=["Helmsman", "Stranger"])
    made = graph(chosen, [navigator, defined("Helmsman"), defined("knots", "skill")])

    nodes = {node.id: (node.is_used, node.is_defined, node.path) for node in made.nodes}
    assert nodes["agent:navigator"] == (True, True, navigator.path)
    assert nodes["agent:helmsman"] == (False, True, "/home/ana/tide-tables/.github/agents/Helmsman.md")
    assert nodes["agent:stranger"] == (False, False, None)  # a hand-over to an agent without a definition
    assert nodes["agent:(default)"] == (True, None, None)
    assert nodes["subagent:keeper"] == (True, False, None)
    assert nodes["skill:knots"] == (False, True, "/home/ana/tide-tables/.github/skills/knots/SKILL.md")
    assert nodes["skill:chart-reading"] == (True, False, None)
    assert nodes["tool:fetch"] == (False, None, None)
    assert [(edge.target, edge.kind, edge.times) for edge in made.edges if edge.is_defined] == [
        ("tool:edit_file", "uses", 2),
        ("agent:helmsman", "defined", 0),
        ("agent:stranger", "defined", 0),
        ("tool:fetch", "defined", 0),
    ]


def test_an_agent_that_only_ran_as_a_sub_agent_is_that_sub_agent(chosen: Chosen) -> None:
    made = graph(chosen, [defined("Sounder", tools=["read_file"], handoffs=["Navigator"])])

    assert "agent:sounder" not in {node.id for node in made.nodes}
    assert [(edge.source, edge.target, edge.kind) for edge in made.edges if edge.is_defined] == [
        ("subagent:sounder", "tool:read_file", "uses"),
        ("subagent:sounder", "agent:navigator", "defined"),
    ]


def test_tools_of_servers_have_many_spellings(empty: Archive) -> None:
    made = conversation(
        "a",
        [turn(0, "Planner")],
        calls(0, call("1", "github-create_issue", "GitHub"), call("2", "mcp_weather_frost_dates", "weather")),
    )
    planner = defined("Planner", tools=["github/create_issue", "weather/frost_dates", "github/issue", "harbour/*"])

    found = graph(store(empty, made), [planner])

    assert [(edge.target, edge.kind) for edge in found.edges if edge.is_defined] == [
        ("tool:github-create_issue", "uses"),
        ("tool:mcp_weather_frost_dates", "uses"),
        ("mcp-server:harbour", "defined"),
        ("tool:github/issue", "defined"),
    ]


def test_all_tools_of_a_server_are_those_that_were_used(empty: Archive) -> None:
    made = conversation("a", [turn(0, "Planner")], calls(0, call("1", "github-create_issue", "GitHub")))

    found = graph(store(empty, made), [defined("Planner", tools=["github/*"])])

    assert [(edge.target, edge.kind) for edge in found.edges if edge.is_defined] == [
        ("tool:github-create_issue", "uses")
    ]


def test_spellings_of_a_name_are_one_node(empty: Archive) -> None:
    turns = [turn(0, "planner", skills=[Skill(name="Knots", is_loaded=True)]), turn(1, "Planner"), turn(2, "Planner")]
    made = conversation("a", turns, calls(0, start("1", "Scout"), start("2", "scout"), start("3", "scout")))

    assert [(node.id, node.name, node.count) for node in graph(store(empty, made)).nodes] == [
        ("agent:planner", "Planner", 3),
        ("subagent:scout", "scout", 3),
        ("skill:knots", "Knots", 1),
    ]


# --- DOT --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("of", ["corpus", "nasty", "nothing"])
def test_every_statement_of_dot_is_well_formed(chosen: Chosen, of: str) -> None:
    made = {"corpus": graph(chosen), "nasty": nasty_graph(), "nothing": Graph(nodes=[], edges=[])}[of]

    first, *lines, last = to_dot(made).splitlines()

    assert (first, last) == ("digraph copilog {", "}")
    statements = lines[3:]
    assert len(statements) == len(made.nodes) + len(made.edges)
    assert [line for line in statements if not STATEMENT.fullmatch(line)] == []


def test_dot_shows_names_as_they_are() -> None:
    label = '<b>&amp;\\"\\\\N \ufffd[31m\ufffd</title>'  # no entity, no escape, no line, nothing that steers a terminal

    assert f'n0 [label="{label}' in to_dot(nasty_graph())


def test_dot_draws_unused_edges_with_dashes(chosen: Chosen) -> None:
    dot = to_dot(graph(chosen, [defined("Helmsman", tools=["fetch"])]))

    assert '[style=dashed, tooltip="Helmsman may use fetch, and never did"]' in dot
    assert '[label="2", penwidth=1.6, tooltip="Navigator uses edit_file, 2 times"]' in dot


# --- the picture ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("of", ["corpus", "nasty", "nothing"])
def test_the_svg_is_xml_without_scripts_and_external_resources(chosen: Chosen, of: str) -> None:
    made = {"corpus": graph(chosen), "nasty": nasty_graph(), "nothing": Graph(nodes=[], edges=[])}[of]

    picture = ElementTree.fromstring(to_svg(made))

    tags = {element.tag.removeprefix(SVG) for element in picture.iter()}
    assert tags <= {"svg", "title", "style", "defs", "marker", "path", "rect", "g", "text"}
    attributes = [(name, value) for element in picture.iter() for name, value in element.items()]
    assert not [name for name, _ in attributes if name.startswith("on") or name.endswith(("href", "src"))]
    assert {value[:13] for _, value in attributes if "url(" in value} <= {"url(#copilog-"}


def test_the_svg_has_names_counts_and_descriptions(chosen: Chosen) -> None:
    picture = ElementTree.fromstring(to_svg(graph(chosen, [defined("Helmsman")])))

    texts = [element.text for element in picture.iter(f"{SVG}text")]
    titles = {element.text for element in picture.iter(f"{SVG}title")}
    assert texts[:4] == ["Agents", "Sub-agents", "Tools and skills", "MCP servers"]
    assert "github-create_issue" in texts
    assert "Navigator uses edit_file, 2 times" in titles
    assert "(default) hands over to Navigator, once" in titles
    assert "Helmsman: agent, never used, /home/ana/tide-tables/.github/agents/Helmsman.md" in titles
    assert "Keeper: sub-agent, 1 run, defined nowhere" in titles
    assert texts[-2:] == ["dashed: defined, never used", "red: used, defined nowhere"]


def test_the_svg_has_colours_for_dark_screens(chosen: Chosen) -> None:
    assert "@media (prefers-color-scheme:dark){.copilog-graph .ground{" in to_svg(graph(chosen))


def test_the_same_graph_gives_the_same_picture(archive: Archive) -> None:
    assert to_svg(graph(choose(archive))) == to_svg(graph(choose(archive)))


def test_boxes_are_in_columns_and_do_not_overlap(chosen: Chosen) -> None:
    boxes = layout_of(graph(chosen, [defined("Helmsman", tools=["fetch"])])).boxes

    columns: dict[float, list[Box]] = {}
    for box in boxes:
        columns.setdefault(box.x, []).append(box)
    kinds = [{box.node.kind for box in columns[x]} for x in sorted(columns)]
    assert kinds == [{"agent"}, {"subagent"}, {"tool", "skill"}, {"mcp-server"}]
    for column in columns.values():
        heights = sorted(box.y for box in column)
        assert all(below - above > BOX_HEIGHT for above, below in pairwise(heights))


def test_edges_pass_between_the_boxes_of_a_column(chosen: Chosen) -> None:
    layout = layout_of(graph(chosen))
    between = {box.node.id: box for box in layout.boxes if box.node.kind == "subagent"}
    passing = [route for route in layout.routes if len(route.points) > 2]

    assert len(passing) == 6  # from agents to tools and skills
    for route in passing:
        (_, y) = route.points[1]
        assert all(abs(box.y - y) > BOX_HEIGHT / 2 for box in between.values())


def test_an_agent_may_start_itself(empty: Archive) -> None:
    made = conversation("a", [turn(0)], calls(0, start("1", "Scout")), calls(0, start("2", "Scout"), inside="1"))

    found = graph(store(empty, made))

    assert ("subagent:scout", "starts", "subagent:scout", 1) in edges_of(found)
    assert "Scout starts Scout, once" in to_svg(found)
