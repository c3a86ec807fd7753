"""What a tool gave to the model: parts, trees, pictures, bytes."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.model import Place, ResultItem
from copilog.sources.tool_results import bytes_from, data_url, fields_beside_content, result_content, tree_text

Node = dict[str, Any]
PIXEL = b"\x89PNG\r\n"
PIXEL_TEXT = base64.b64encode(PIXEL).decode()


def piece(*children: Any, **fields: Any) -> Node:
    return {"type": 1, "ctor": 2, "children": list(children), **fields}


def text(words: str, breaks: bool | None = None) -> Node:
    return {"type": 2, "text": words, **({} if breaks is None else {"lineBreakBefore": breaks})}


def image(source: str, **props: Any) -> Node:
    return {"type": 1, "ctor": 3, "children": [], "props": {"src": source, **props}}


OPAQUE: Node = {"type": 3, "value": {"cache": "here"}}


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (piece(text("one")), "one"),
        (piece(text("one "), text("two")), "one two"),
        (piece(text("one"), text("two", True)), "one\ntwo"),
        (piece(text("one\n"), text("two", True)), "one\ntwo"),
        (piece(text("one"), text("two", False)), "onetwo"),
        (piece(piece(text("one")), piece(text("two"))), "one\ntwo"),
        (piece(piece(text("one\n")), piece(text("two"))), "one\ntwo"),
        (piece(text("one"), piece(text("two"))), "onetwo"),
        (piece(text("one"), piece(piece(text("two")))), "onetwo"),
        (piece(text("one"), piece(text("two")), piece(text("three"))), "onetwo\nthree"),
        (piece(text("one"), piece(text("two")), text("three")), "onetwothree"),
        (piece(piece(text("one")), text("two")), "onetwo"),
        (piece(piece(), text("one"), piece(text("two", True))), "one\ntwo"),
        (piece(text("one"), piece(), piece(text("two"))), "one\ntwo"),
        (piece(piece(text("one"), text("", True)), piece(text("two"))), "one\ntwo"),
        (piece(piece(text("one")), OPAQUE, piece(text("two"))), "onetwo"),
        (piece(text("one"), OPAQUE, text("two", True)), "onetwo"),
        (piece(text("one"), image("https://example.com/a.png"), piece(text("two", True))), "onetwo"),
        (piece(OPAQUE, text("one"), text("two", True)), "one\ntwo"),
        (piece(text("  one  "), text("\n"), text("two", True)), "  one  \ntwo"),
        (piece(), ""),
        (text("alone"), "alone"),
        ({"type": 1, "ctor": 1, "children": [piece(text("in a message"))]}, "in a message"),
    ],
)
def test_a_tree_reads_as_it_was_rendered(tree: Node, expected: str) -> None:
    assert tree_text(tree)[0] == expected


def simply_rendered(tree: Node) -> str:
    """The same, written for clarity: runs of text, a new one after whatever is no text."""
    runs = [""]

    def add(node: Node, follows_text: bool) -> None:
        for index, child in enumerate(node["children"]):
            if child["type"] == 2:
                starts_line = child.get("lineBreakBefore") or (index == 0 and not follows_text)
                if starts_line and runs[-1] and not runs[-1].endswith("\n"):
                    runs[-1] += "\n"
                runs[-1] += child["text"]
                follows_text = True
            elif child["type"] == 3 or child["ctor"] in (3, 4):
                runs.append("")
            else:
                add(child, follows_text)
                follows_text = False

    add(tree, False)
    return "".join(runs)


leaves = (
    st.builds(text, st.sampled_from(["", "a", "b\n", "\n", " c"]), st.sampled_from([None, True, False]))
    | st.just(OPAQUE)
    | st.just(image("https://example.com/a.png"))
)
trees = st.recursive(leaves, lambda inner: st.lists(inner, max_size=4).map(lambda found: piece(*found)), max_leaves=25)


@given(st.lists(trees, max_size=5))
def test_any_tree_reads_as_by_the_simple_algorithm(children: list[Node]) -> None:
    assert tree_text(piece(*children))[0] == simply_rendered(piece(*children))


def test_a_tree_may_be_deeper_than_the_recursion_limit() -> None:
    tree = piece(text("bottom"))
    for _ in range(5000):
        tree = piece(tree)

    assert tree_text(tree) == ("bottom", [])


def test_pictures_documents_and_opaque_nodes_are_separate_from_the_text() -> None:
    document = {"type": 1, "ctor": 4, "props": {"data": PIXEL_TEXT, "mediaType": "application/pdf", "priority": 5}}
    tree = piece(
        text("see "),
        image(f"data:image/png;base64,{PIXEL_TEXT}", detail="high"),
        image("https://example.com/a.png"),
        document,
        OPAQUE,
    )

    assert tree_text(tree) == (
        "see ",
        [
            ResultItem(mime_type="image/png", data=PIXEL, extra={"detail": "high"}),
            ResultItem(place=Place(uri="https://example.com/a.png")),
            ResultItem(mime_type="application/pdf", data=PIXEL, extra={"priority": 5}),
            ResultItem(extra=OPAQUE),
        ],
    )


def test_the_root_itself_may_be_a_picture() -> None:
    assert tree_text(image(PIXEL_TEXT)) == ("", [ResultItem(data=PIXEL)])


@pytest.mark.parametrize("node", [{}, {"type": 1}, {"type": 1, "children": 5}, piece(None, 5, "x", []), piece({})])
def test_a_damaged_tree_has_no_text(node: Node) -> None:
    assert tree_text(node) == ("", [])


def test_a_picture_without_a_source_is_kept_as_it_is() -> None:
    assert tree_text(piece({"type": 1, "ctor": 3, "props": {"src": 5}}))[1] == [ResultItem(extra={"src": 5})]
    assert tree_text(piece({"type": 1, "ctor": 3}))[1] == [ResultItem(extra={"type": 1, "ctor": 3})]


# --- results ----------------------------------------------------------------------------------------------------

TREE = {"node": piece(text("one"), text("two", True))}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([{"$mid": 21, "value": "plain"}], "plain"),
        ([{"value": "plain"}], "plain"),
        ([{"kind": "text", "value": "plain"}], "plain"),
        ([{"$mid": 23, "value": TREE}], "one\ntwo"),
        ([{"$mid": 22, "value": TREE}], "one\ntwo"),  # the number that trees had before thinking took it
        ([{"value": TREE}], "one\ntwo"),
        ([{"value": json.dumps(TREE)}], "one\ntwo"),
        ([{"$mid": 23, "value": json.dumps(TREE)}], "one\ntwo"),
        ([{"$mid": 21, "value": json.dumps(TREE)}], json.dumps(TREE)),  # a text that happens to be a tree
        ([{"value": '{"node" broken'}], '{"node" broken'),
        ([{"value": "a"}, {"value": TREE}, {"value": "b"}], "aone\ntwob"),
        (["a", {"value": "b"}], "ab"),
        ([], ""),
    ],
)
def test_the_text_of_a_result(content: list[Any], expected: str) -> None:
    assert result_content({"$mid": 20, "content": content}) == (expected, [])
    assert result_content(content) == (expected, [])


def test_a_result_may_be_a_text() -> None:
    assert result_content("words") == ("words", [])
    assert result_content({"content": "words"}) == ("words", [])


@pytest.mark.parametrize("value", [None, 5, {}, {"content": 5}, True])
def test_a_result_of_another_shape_has_no_text(value: Any) -> None:
    assert result_content(value) == ("", [])


@pytest.mark.parametrize(
    "data",
    [
        {"$base64": PIXEL_TEXT},
        {"type": "Buffer", "data": list(PIXEL)},
        {str(index): byte for index, byte in enumerate(PIXEL)},
        dict(reversed([(str(index), byte) for index, byte in enumerate(PIXEL)])),
        list(PIXEL),
        PIXEL_TEXT,
    ],
)
def test_bytes_come_in_many_shapes(data: Any) -> None:
    part = {"$mid": 24, "mimeType": "image/png", "data": data}

    assert bytes_from(data) == PIXEL
    assert result_content([part]) == ("", [ResultItem(mime_type="image/png", data=PIXEL)])
    assert result_content([{"kind": "data", "value": part}]) == ("", [ResultItem(mime_type="image/png", data=PIXEL)])


@pytest.mark.parametrize(
    "data",
    [None, 5, "no base64!", {}, {"$base64": 5}, {"data": [1, 256]}, {"0": 1, "2": 2}, {"0": "a"}, [1.5], {"x": 1}],
)
def test_values_that_are_not_bytes_stay_unchanged(data: Any) -> None:
    assert bytes_from(data) is None
    ((item,),) = [result_content([{"mimeType": "image/png", "data": data}])[1]]
    assert item == ResultItem(mime_type="image/png", extra={"data": data})


def test_bytes_of_a_text_are_text() -> None:
    content = [
        {"value": "a "},
        {"mimeType": "text/markdown", "data": {"$base64": base64.b64encode(b"*b*").decode()}, "audience": ["user"]},
        {"mimeType": "text/plain", "data": [0xFF]},
    ]

    assert result_content(content) == (
        "a *b*",
        [
            ResultItem(mime_type="text/markdown", extra={"audience": ["user"]}),
            ResultItem(mime_type="text/plain", data=b"\xff"),
        ],
    )


def test_reasoning_inside_a_result_is_not_text() -> None:
    thought = {"$mid": 22, "value": ["let me", "see"], "id": "t"}

    item = ResultItem(text="let me\nsee", extra={"$mid": 22, "id": "t"})
    assert result_content([thought, {"value": "x"}]) == ("x", [item])


def test_further_fields_of_a_part_are_in_extra() -> None:
    assert result_content([{"$mid": 21, "value": "x", "audience": ["user"]}]) == (
        "x",
        [ResultItem(extra={"audience": ["user"]})],
    )
    assert result_content([{"odd": 1}, 5, None]) == ("", [ResultItem(extra={"odd": 1}), ResultItem(extra={"value": 5})])


def test_further_fields_of_a_result_are_in_extra() -> None:
    assert fields_beside_content({"$mid": 20, "content": []}) is None
    assert fields_beside_content({"content": [], "toolMetadata": {"pages": 2}}) == {"toolMetadata": {"pages": 2}}
    assert fields_beside_content({"content": 5}) == {"content": 5}
    assert fields_beside_content(5) == {"value": 5}
    assert fields_beside_content("words") is None


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (f"data:image/png;base64,{PIXEL_TEXT}", ("image/png", PIXEL)),
        (f"data:;base64,{PIXEL_TEXT}", (None, PIXEL)),
        ("data:text/plain,hello", (None, None)),
        ("data:image/png;base64", (None, None)),
        ("data:image/png;base64,?", ("image/png", None)),
        ("https://example.com/a.png", (None, None)),
        ("é", (None, None)),
    ],
)
def test_data_addresses(address: str, expected: tuple[str | None, bytes | None]) -> None:
    assert data_url(address) == expected
