"""Lay out the nodes and edges of a graph: agents on the left, what they use on the right, with few crossings.

An edge that passes a column gets a narrow slot of its own there, so that it runs between the boxes and not behind them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from copilog.analysis.graphs.shapes import AGENT, SERVER, SKILL, SUBAGENT, TOOL, Edge, Graph, Node, cut, plain, width_of

COLUMN_OF = {AGENT: 0, SUBAGENT: 1, TOOL: 2, SKILL: 2, SERVER: 3}
LONGEST_NAME = 32  # columns of text
CHARACTER, PADDING, BOX_HEIGHT = 7.0, 12.0, 26.0
ROOM_OF_BOX, ROOM_OF_SLOT = BOX_HEIGHT + 12.0, 7.0
GAP, MARGIN = 150.0, 24.0
SMALLEST_BOW, LARGEST_BOW = 22.0, 80.0  # of edges between two boxes of one column
SWEEPS = 12

Slot = tuple[int, int]  # an edge, by its number, and a column that it passes
Item = str | Slot  # a node, by its id, or a slot
Point = tuple[float, float]


class Box(NamedTuple):
    """A node and its position; `y` is the middle."""

    node: Node
    label: str
    amount: str
    x: float
    y: float
    width: float


class Route(NamedTuple):
    """An edge and the points on its way; between two points of the same height it is straight."""

    edge: Edge
    points: list[Point]
    bow: float = 0.0  # how far it curves to the left, between boxes of one column


class Layout(NamedTuple):
    boxes: list[Box]
    routes: list[Route]
    columns: list[tuple[frozenset[str], float, float]]  # the kinds of nodes in it, x, width
    width: float
    height: float


def layout_of(graph: Graph) -> Layout:
    """Return the layout of a graph; it is the same for the same graph."""
    columns = _Columns(graph)
    columns.sort()
    columns.settle()
    return columns.placed()


class _Columns:
    def __init__(self, graph: Graph) -> None:
        self._nodes = {node.id: node for node in graph.nodes}
        present = sorted({COLUMN_OF[node.kind] for node in graph.nodes})
        self._column = {node.id: present.index(COLUMN_OF[node.kind]) for node in graph.nodes}
        self._items: list[list[Item]] = [[] for _ in present]
        for node in graph.nodes:
            self._items[self._column[node.id]].append(node.id)
        self._edges = graph.edges
        self._left: dict[Item, list[Item]] = defaultdict(list)
        self._right: dict[Item, list[Item]] = defaultdict(list)
        self._chains = [self._chain(number, edge) for number, edge in enumerate(graph.edges)]
        self._y: dict[Item, float] = {}

    def _chain(self, number: int, edge: Edge) -> list[Item]:
        """Return an edge from left to right, whichever way it points, with its slots. Empty within a column."""
        ends = sorted((edge.source, edge.target), key=self._column.__getitem__)
        first, last = (self._column[end] for end in ends)
        if first == last:
            return []
        chain: list[Item] = [ends[0], *((number, column) for column in range(first + 1, last)), ends[1]]
        for slot in chain[1:-1]:
            assert isinstance(slot, tuple)
            self._items[slot[1]].append(slot)
        for left, right in pairwise(chain):
            self._right[left].append(right)
            self._left[right].append(left)
        return chain

    # --- order and heights ------------------------------------------------------------------------------------------

    def sort(self) -> None:
        """Put each item near its neighbours, column by column, back and forth, until the order is stable."""
        for sweep in range(SWEEPS):
            is_forward = sweep % 2 == 0
            columns = self._items[1:] if is_forward else self._items[-2::-1]
            place = {item: rank / len(items) for items in self._items for rank, item in enumerate(items)}
            for items in columns:
                neighbours = self._left if is_forward else self._right
                wanted = {item: _mean([place[other] for other in neighbours[item]], place[item]) for item in items}
                items.sort(key=lambda item: wanted[item])
                place.update((item, rank / len(items)) for rank, item in enumerate(items))

    def settle(self) -> None:
        """Choose heights: as near to the neighbours as the room that each item needs allows."""
        for items in self._items:
            self._y.update(zip(items, _spread([0.0] * len(items), _rooms(items)), strict=True))
        for sweep in range(SWEEPS):
            for items in self._items if sweep % 2 else reversed(self._items):
                wanted = [
                    _mean([self._y[other] for other in (*self._left[item], *self._right[item])], self._y[item])
                    for item in items
                ]
                self._y.update(zip(items, _spread(wanted, _rooms(items)), strict=True))

    # --- positions --------------------------------------------------------------------------------------------------

    def placed(self) -> Layout:
        top = min(self._y.values(), default=0.0) - ROOM_OF_BOX / 2
        self._y = {item: y - top for item, y in self._y.items()}
        height = max(self._y.values(), default=0.0) + ROOM_OF_BOX / 2
        x = MARGIN + (LARGEST_BOW if self._has_bows(0) else 0.0)
        places: list[tuple[frozenset[str], float, float]] = []
        boxes: dict[str, Box] = {}
        for items in self._items:
            nodes = [self._nodes[item] for item in items if isinstance(item, str)]
            width = max(map(_width_of, nodes))
            for node in nodes:
                boxes[node.id] = Box(node, _label_of(node), _count_of(node), x, self._y[node.id], width)
            places.append((frozenset(node.kind for node in nodes), x, width))
            x += width + GAP
        width = x - GAP + MARGIN if places else 2 * MARGIN
        return Layout(list(boxes.values()), self._routes(boxes, places), places, width, height)

    def _has_bows(self, column: int) -> bool:
        return any(self._column[edge.source] == self._column[edge.target] == column for edge in self._edges)

    def _routes(self, boxes: dict[str, Box], places: Sequence[tuple[frozenset[str], float, float]]) -> list[Route]:
        ports = self._ports(boxes)
        routes = []
        for number, (edge, chain) in enumerate(zip(self._edges, self._chains, strict=True)):
            if not chain:
                routes.append(_bowed(edge, boxes[edge.source], boxes[edge.target]))
                continue
            first, last = boxes[str(chain[0])], boxes[str(chain[-1])]
            points: list[Point] = [(first.x + first.width, ports[number, True])]
            for slot in chain[1:-1]:
                _, x, width = places[int(slot[1])]
                points += [(x, self._y[slot]), (x + width, self._y[slot])]
            points.append((last.x, ports[number, False]))
            routes.append(Route(edge, points if edge.source == chain[0] else points[::-1]))
        return routes

    def _ports(self, boxes: dict[str, Box]) -> dict[tuple[int, bool], float]:
        """Return where edges join boxes: side by side, by the order of their targets.

        True is the right side of a box.
        """
        meeting: dict[tuple[str, bool], list[tuple[float, int]]] = defaultdict(list)
        for number, chain in enumerate(self._chains):
            if chain:
                meeting[str(chain[0]), True].append((self._y[chain[1]], number))
                meeting[str(chain[-1]), False].append((self._y[chain[-2]], number))
        ports = {}
        for (node_id, is_right), edges in meeting.items():
            step = min(4.0, (BOX_HEIGHT - 8.0) / len(edges))
            for rank, (_, number) in enumerate(sorted(edges)):
                ports[number, is_right] = boxes[node_id].y + (rank - (len(edges) - 1) / 2) * step
        return ports


def _bowed(edge: Edge, source: Box, target: Box) -> Route:
    """Return the route of an edge within a column, which starts and ends on the left."""
    way = abs(source.y - target.y)
    points = [(source.x, source.y + 5), (target.x, target.y - 5)]
    return Route(edge, points, min(SMALLEST_BOW + way / 5, LARGEST_BOW))


# --- sizes and sums -------------------------------------------------------------------------------------------------


def _label_of(node: Node) -> str:
    return cut(plain(node.name), LONGEST_NAME)


def _count_of(node: Node) -> str:
    return f"{node.count:,}" if node.is_used else ""


def _width_of(node: Node) -> float:
    columns = width_of(_label_of(node)) + (len(_count_of(node)) + 2 if node.is_used else 0)
    return 2 * PADDING + CHARACTER * columns


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _rooms(items: Sequence[Item]) -> list[float]:
    return [ROOM_OF_BOX if isinstance(item, str) else ROOM_OF_SLOT for item in items]


def _spread(wanted: Sequence[float], rooms: Sequence[float]) -> list[float]:
    """Return the heights nearest to the given ones that preserve the order and give every item its room.

    Less the room of the items above, heights must not decrease: an item that violates this is joined with those above,
    and all of them take their mean.
    """
    above = [0.0]
    for before, after in pairwise(rooms):
        above.append(above[-1] + (before + after) / 2)
    groups: list[tuple[float, int]] = []  # sum and number
    for want, offset in zip(wanted, above, strict=False):
        total, number = want - offset, 1
        while groups and groups[-1][0] / groups[-1][1] >= total / number:
            total, number = total + groups[-1][0], number + groups[-1][1]
            groups.pop()
        groups.append((total, number))
    levels = [total / number for total, number in groups for _ in range(number)]
    return [level + offset for level, offset in zip(levels, above, strict=False)]
