"""Variables: what went with a prompt."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from copilog.diagnostics import Ledger
from copilog.model import AnyPart, Attachment, Place, Range, Unknown
from tests.sources.vscode_builders import read_session, request, session

Json = dict[str, Any]
FILE: Json = {"$mid": 1, "scheme": "file", "path": "/home/ana/a.py"}
LINES: Json = {"startLineNumber": 3, "startColumn": 1, "endLineNumber": 5, "endColumn": 9}
PLACE = Place(uri="file:///home/ana/a.py", path="/home/ana/a.py")
PLACE_WITH_LINES = Place(
    uri="file:///home/ana/a.py",
    path="/home/ana/a.py",
    range=Range(start_line=3, start_column=1, end_line=5, end_column=9),
)
PIXEL = b"\x89PNG\x00\xff"
PIXEL_TEXT = base64.b64encode(PIXEL).decode()


def read_variables(tmp_path: Path, *variables: Any) -> tuple[list[AnyPart], Ledger]:
    conversation, ledger = read_session(session(request(variableData={"variables": list(variables)})), tmp_path)
    return conversation.messages[0].parts[1:], ledger


def read_one(tmp_path: Path, **variable: Any) -> Attachment:
    (part,), _ = read_variables(tmp_path, variable)
    assert isinstance(part, Attachment)
    return part


# Each kind as VS Code writes it, its type in the model, its location and text, and the remaining fields.
KINDS: list[tuple[Json, str, Place | None, str | None, Json | None]] = [
    ({"kind": "file", "value": FILE}, "file", PLACE, None, None),
    ({"kind": "file", "value": {"uri": FILE, "range": LINES}}, "file", PLACE_WITH_LINES, None, None),
    ({"kind": "file", "value": "file:///home/ana/a.py"}, "file", PLACE, None, None),
    ({"kind": "directory", "value": FILE, "imageCount": 2}, "directory", PLACE, None, {"imageCount": 2}),
    (
        {"kind": "symbol", "value": {"uri": FILE, "range": LINES}, "symbolKind": 11},
        "symbol",
        PLACE_WITH_LINES,
        None,
        {"symbolKind": 11},
    ),
    ({"kind": "image", "value": FILE, "isPasted": True}, "image", PLACE, None, {"isPasted": True}),
    (
        {"kind": "image", "value": "https://example.com/i.png"},
        "image",
        Place(uri="https://example.com/i.png"),
        None,
        None,
    ),
    ({"kind": "notebookOutput", "value": FILE, "outputIndex": 1}, "notebook-output", PLACE, None, {"outputIndex": 1}),
    (
        {
            "kind": "paste",
            "value": "x = 1",
            "code": "x = 1",
            "language": "python",
            "copiedFrom": {"uri": FILE, "range": LINES},
        },
        "paste",
        PLACE_WITH_LINES,
        "x = 1",
        {"language": "python"},
    ),
    ({"kind": "paste", "value": "x", "code": "y"}, "paste", None, "x", None),
    ({"kind": "implicit", "value": FILE, "isFile": True}, "implicit", PLACE, None, {"isFile": True}),
    ({"kind": "implicit", "uri": FILE, "isSelection": False}, "implicit", PLACE, None, {"isSelection": False}),
    (
        {"kind": "implicit", "value": {"uri": FILE, "value": "from elsewhere", "handle": 4}},
        "implicit",
        PLACE,
        "from elsewhere",
        {"value": {"uri": FILE, "handle": 4}},
    ),
    ({"kind": "string", "value": "words", "uri": FILE, "handle": 4}, "string", PLACE, "words", {"handle": 4}),
    ({"kind": "workspace", "value": "a tree"}, "workspace", None, "a tree", None),
    (
        {"kind": "promptFile", "value": FILE, "isRoot": True, "automaticallyAdded": True, "originLabel": "o"},
        "prompt-file",
        PLACE,
        None,
        {"isRoot": True, "automaticallyAdded": True, "originLabel": "o"},
    ),
    (
        {"kind": "promptText", "value": "be brief", "settingId": "s"},
        "prompt-text",
        None,
        "be brief",
        {"settingId": "s"},
    ),
    ({"kind": "tool"}, "tool", None, None, None),
    (
        {"kind": "toolset", "value": [{"kind": "tool", "id": "t"}]},
        "toolset",
        None,
        None,
        {"value": [{"kind": "tool", "id": "t"}]},
    ),
    (
        {"kind": "diagnostic", "value": {"owner": "o"}, "owner": "o", "filterUri": FILE},
        "diagnostic",
        PLACE,
        None,
        {"value": {"owner": "o"}, "owner": "o", "filterUri": FILE},
    ),
    (
        {"kind": "terminalCommand", "value": "$ ls\na.py", "command": "ls", "output": "a.py", "exitCode": 0},
        "terminal-command",
        None,
        "$ ls\na.py",
        {"command": "ls", "output": "a.py", "exitCode": 0},
    ),
    ({"kind": "terminalCommand", "command": "ls"}, "terminal-command", None, "ls", None),
    (
        {"kind": "debugVariable", "value": "5", "expression": "n", "type": "int"},
        "debug-variable",
        None,
        "5",
        None,
    ),
    ({"kind": "element", "value": "<b>", "innerText": "i"}, "element", None, "<b>", None),
    (
        {"kind": "scmHistoryItem", "value": FILE, "historyItem": {"id": "c"}},
        "commit",
        PLACE,
        None,
        {"historyItem": {"id": "c"}},
    ),
    ({"kind": "scmHistoryItemChange", "value": FILE}, "commit-change", PLACE, None, None),
    (
        {"kind": "scmHistoryItemChangeRange", "value": FILE, "historyItemChangeStart": {"uri": FILE}},
        "commit-range",
        PLACE,
        None,
        {"historyItemChangeStart": {"uri": FILE}},
    ),
    ({"kind": "command", "value": {"any": 1}}, "command", None, '{"any":1}', None),
    ({"kind": "generic", "value": "words", "tooltip": "t"}, "generic", None, "words", None),
    ({"kind": "generic", "value": {"any": 1}}, "generic", None, '{"any":1}', None),
    ({"kind": "transcriptContext", "value": "words", "uri": FILE}, "transcript-context", PLACE, "words", None),
    (
        {"kind": "agentFeedback", "feedbackItems": [{"id": "1", "text": "no"}]},
        "agent-feedback",
        None,
        None,
        {"feedbackItems": [{"id": "1", "text": "no"}]},
    ),
    ({"kind": "debugEvents", "snapshotTime": 5}, "debug-events", None, None, {"snapshotTime": 5}),
    ({"kind": "sessionReference", "value": FILE}, "session-reference", PLACE, None, None),
    ({"kind": "chatReference", "value": FILE, "endTurn": 3}, "chat-reference", PLACE, None, {"endTurn": 3}),
    ({"kind": "browserView", "value": FILE, "browserId": "b"}, "browser-view", PLACE, None, {"browserId": "b"}),
]


@pytest.mark.parametrize(("variable", "type_", "place", "text", "extra"), KINDS)
def test_every_kind_of_attachment(
    variable: Json, type_: str, place: Place | None, text: str | None, extra: Json | None, tmp_path: Path
) -> None:
    (part,), ledger = read_variables(tmp_path, {"id": "i", "name": "n", **variable})

    assert isinstance(part, Attachment)
    assert (part.type, part.native, part.position) == (type_, variable["kind"], 0)
    assert (part.id, part.name, part.place, part.text, part.extra) == ("i", "n", place, text, extra)
    assert not ledger.parts.unknown


@pytest.mark.parametrize(
    "value",
    [
        {"$base64": PIXEL_TEXT},
        {str(index): byte for index, byte in enumerate(PIXEL)},
        {"type": "Buffer", "data": list(PIXEL)},
        list(PIXEL),
        PIXEL_TEXT,
        f"data:image/png;base64,{PIXEL_TEXT}",
    ],
)
@pytest.mark.parametrize("kind", ["image", "notebookOutput"])
def test_bytes_in_every_form(kind: str, value: Any, tmp_path: Path) -> None:
    part = read_one(tmp_path, kind=kind, value=value, mimeType="image/png")

    assert part.data == PIXEL
    assert part.mime_type == "image/png"
    assert part.extra is None


def test_a_data_address_contains_its_type(tmp_path: Path) -> None:
    assert read_one(tmp_path, kind="image", value=f"data:image/gif;base64,{PIXEL_TEXT}").mime_type == "image/gif"


@pytest.mark.parametrize(
    "value",
    [{"$base64": "*"}, {"0": 1, "1": 999}, {"$base64": PIXEL_TEXT, "more": 1}, {"type": "Odd", "data": [1]}, [1, "x"]],
)
def test_bytes_that_cannot_be_restored_exactly_stay_unchanged(value: Any, tmp_path: Path) -> None:
    assert read_one(tmp_path, kind="image", value=value).extra == {"value": value}


def test_the_picture_of_an_element_is_in_its_attachment(tmp_path: Path) -> None:
    part = read_one(tmp_path, kind="element", value="<b>", imageData={"$base64": PIXEL_TEXT}, imageMimeType="image/png")

    assert (part.text, part.data, part.mime_type, part.extra) == ("<b>", PIXEL, "image/png", None)


def test_context_that_was_switched_off_was_not_sent(tmp_path: Path) -> None:
    assert not read_one(tmp_path, kind="implicit", value=FILE, enabled=False).is_sent
    assert read_one(tmp_path, kind="implicit", value=FILE, enabled=True).is_sent
    assert read_one(tmp_path, kind="implicit", value=FILE).is_sent


def test_attachments_added_by_the_product_are_marked(tmp_path: Path) -> None:
    assert read_one(tmp_path, kind="promptFile", value=FILE, automaticallyAdded=True).is_automatic
    assert read_one(tmp_path, kind="implicit", value=FILE).is_automatic
    assert not read_one(tmp_path, kind="promptFile", value=FILE, automaticallyAdded=False).is_automatic
    assert not read_one(tmp_path, kind="file", value=FILE).is_automatic


@pytest.mark.parametrize(("state", "omitted"), [(0, None), (1, "partial"), (2, "full"), (3, "image-limit")])
def test_the_omitted_state_of_an_attachment_is_read(state: int, omitted: str | None, tmp_path: Path) -> None:
    part = read_one(tmp_path, kind="file", value=FILE, omittedState=state)

    assert (part.omitted, part.extra) == (omitted, None)


def test_an_unrecognized_omitted_state_stays_in_extra(tmp_path: Path) -> None:
    part = read_one(tmp_path, kind="file", value=FILE, omittedState=9)

    assert (part.omitted, part.extra) == (None, {"omittedState": 9})


def test_fields_that_any_kind_may_have(tmp_path: Path) -> None:
    common = {
        "fullName": "full",
        "icon": {"id": "i"},
        "range": {"start": 1, "endExclusive": 2},
        "references": [{"reference": FILE}],
        "_meta": {"a": 1},
    }
    part = read_one(tmp_path, kind="file", value=FILE, modelDescription="for the model", **common)

    assert part.description == "for the model"
    assert part.extra == common


@pytest.mark.parametrize(
    ("variable", "type_"),
    [
        ({"value": FILE}, "file"),
        ({"value": {"uri": FILE, "range": LINES}}, "file"),
        ({"isFile": True, "value": "a.py"}, "file"),
        ({"isDirectory": True, "value": FILE}, "directory"),
        ({"isImage": True, "value": {"$base64": PIXEL_TEXT}}, "image"),
        ({"mimeType": "image/png", "value": {"$base64": PIXEL_TEXT}}, "image"),
        ({"value": "words"}, "generic"),
        ({}, "generic"),
    ],
)
def test_entries_without_a_kind_are_recognized_by_their_fields(variable: Json, type_: str, tmp_path: Path) -> None:
    (part,), ledger = read_variables(tmp_path, {"name": "n", **variable})

    assert isinstance(part, Attachment)
    assert part.type == type_
    assert not ledger.parts.unknown


def test_of_old_lists_of_values_the_first_counts_and_the_others_stay(tmp_path: Path) -> None:
    one = read_one(tmp_path, name="old", values=[{"value": "first"}])
    two = read_one(tmp_path, name="old", values=[{"value": FILE, "level": "full"}, {"value": "second"}])

    assert (one.text, one.extra) == ("first", None)
    assert (two.type, two.place) == ("file", PLACE)
    assert two.extra == {"values": [{"level": "full"}, {"value": "second"}]}


def test_a_location_with_further_fields_stays_in_extra(tmp_path: Path) -> None:
    value = {"uri": FILE, "range": LINES, "hint": "h"}
    part = read_one(tmp_path, kind="file", value=value)

    assert part.place == PLACE_WITH_LINES
    assert part.extra == {"value": value}


def test_an_unknown_kind_is_stored_and_counted(tmp_path: Path) -> None:
    variable = {"kind": "hologram", "id": "i", "value": {"rays": 3}}
    parts, ledger = read_variables(tmp_path, variable, {"kind": "hologram"}, {"kind": 5})

    assert parts[0] == Unknown(type="variable:hologram", raw=variable, position=0)
    assert ledger.parts.unknown == {"variable:hologram": 2, "variable:5": 1}
    assert ledger.parts.used == 3


def test_a_variable_that_is_not_an_object_is_counted_as_bad(tmp_path: Path) -> None:
    parts, ledger = read_variables(tmp_path, None, "text", {"kind": "tool", "id": "t"})

    assert [part.position for part in parts] == [2]
    assert ledger.parts.ignored == {"null-part": 1}
    assert [bad.pointer for bad in ledger.parts.bad] == ["/requests/0/variableData/variables/1"]


@pytest.mark.parametrize("odd", [{"variables": "none"}, {"variables": None}, [], "none", None])
def test_variables_that_are_not_a_list_stay_unchanged(odd: Any, tmp_path: Path) -> None:
    conversation, _ = read_session(session(request(variableData=odd)), tmp_path)

    assert len(conversation.messages[0].parts) == 1
    assert conversation.turns[0].extra == {"variableData": odd}
