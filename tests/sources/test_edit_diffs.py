"""Edits have the call that made them, and a diff made from its arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from copilog.model import FileEdit
from copilog.textdiff import count_changes
from tests.sources.vscode_builders import all_parts, read_parts
from tests.sources.vscode_part_samples import text_edit, uri
from tests.sources.vscode_tool_samples import tool_part

TILL = "/home/ana/till.py"


def edited(path: str = TILL, **fields: Any) -> dict[str, Any]:
    return {"kind": "textEditGroup", "uri": uri(path), "edits": [[text_edit(1, "x")]], **fields}


def edits_after(calls: list[tuple[str, str, Any]], *edits: dict[str, Any]) -> list[FileEdit]:
    """Return the edits that follow calls (tool, id, arguments)."""
    parts = [tool_part(tool_id, call_id) for tool_id, call_id, _ in calls]
    recorded = [
        {
            "id": call_id,
            "name": tool_id,
            "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
        }
        for tool_id, call_id, arguments in calls
    ]
    metadata = {"toolCallRounds": [{"id": "r", "toolCalls": recorded}]}
    messages, _ = read_parts(*parts, *edits, result={"metadata": metadata})
    return [part for part in all_parts(messages) if isinstance(part, FileEdit)]


def test_a_replaced_text_is_a_diff() -> None:
    arguments = {"filePath": TILL, "oldString": "def pay():\n    pass", "newString": "def pay():\n    return 1"}

    (edit,) = edits_after([("copilot_replaceString", "c1", arguments)], edited())

    assert edit.call_id == "c1"
    assert edit.diff == (
        "--- a/home/ana/till.py\n+++ b/home/ana/till.py\n@@ -1,2 +1,2 @@\n def pay():\n-    pass\n+    return 1\n"
    )
    assert (edit.action, edit.added, edit.removed) == ("edit", 1, 1)


@pytest.mark.parametrize(
    ("old", "new", "hunk"),
    [
        ("a", "", "@@ -1 +0,0 @@\n-a\n"),
        ("", "b", "@@ -0,0 +1 @@\n+b\n"),
        ("a\n", "b\n", "@@ -1 +1 @@\n-a\n+b\n"),
        ("a\n", "b", "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n"),
    ],
)
def test_fragments_without_a_final_line_break_are_compared(old: str, new: str, hunk: str) -> None:
    arguments = {"filePath": TILL, "oldString": old, "newString": new}

    (edit,) = edits_after([("copilot_replaceString", "c1", arguments)], edited())

    assert edit.diff == f"--- a{TILL}\n+++ b{TILL}\n{hunk}"


def test_several_replacements_make_one_diff_for_each_file() -> None:
    replacements = [
        {"filePath": TILL, "oldString": "a", "newString": "b"},
        {"filePath": "/home/ana/bag.py", "oldString": "c", "newString": "d"},
        {"filePath": TILL, "oldString": "e", "newString": "f"},
        {"filePath": 5},
        "odd",
    ]

    till, bag = edits_after(
        [("copilot_multiReplaceString", "c1", {"replacements": replacements})], edited(), edited("/home/ana/bag.py")
    )

    assert till.diff == f"--- a{TILL}\n+++ b{TILL}\n@@ -1 +1 @@\n-a\n+b\n@@ -1 +1 @@\n-e\n+f\n"
    assert bag.diff == "--- a/home/ana/bag.py\n+++ b/home/ana/bag.py\n@@ -1 +1 @@\n-c\n+d\n"
    assert (till.added, till.removed, till.call_id, bag.call_id) == (2, 2, "c1", "c1")


def test_a_new_file_is_a_diff_from_nothing() -> None:
    (edit,) = edits_after([("copilot_createFile", "c1", {"filePath": TILL, "content": "a\nb"})], edited())

    assert edit.diff == f"--- /dev/null\n+++ b{TILL}\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"
    assert (edit.action, edit.added, edit.removed) == ("create", 2, 0)


PATCH = """*** Begin Patch
*** Update File: /home/ana/till.py
@@ class Till:
@@   def pay(self):
 one
-two
+2

*** End of File
@@
-three
*** Add File: /home/ana/new.py
+first
+second
*** Delete File: /home/ana/old.py
*** Update File: shop/bag.py
*** Move to: shop/sack.py
-bag
+sack
*** End Patch
trailing words
"""


def test_a_patch_is_cut_into_the_hunks_of_each_file() -> None:
    calls = [("copilot_applyPatch", "c1", {"input": PATCH, "explanation": "tidy"})]
    paths = [TILL, "/home/ana/new.py", "/home/ana/old.py", "/home/ana/shop/bag.py", "/home/ana/else.py"]

    till, new, old, bag, other = edits_after(calls, *[edited(path) for path in paths])

    assert till.diff == (
        f"--- a{TILL}\n+++ b{TILL}\n"
        "@@ -1,2 +1,2 @@ class Till:   def pay(self):\n one\n-two\n+2\n"
        "@@ -1,1 +0,0 @@\n-three\n"
    )
    assert (till.added, till.removed) == (1, 2)
    assert new.diff == "--- /dev/null\n+++ b/home/ana/new.py\n@@ -0,0 +1,2 @@\n+first\n+second\n"
    assert new.action == "create"
    assert old.diff is None
    assert bag.diff == "--- a/home/ana/shop/bag.py\n+++ b/home/ana/shop/sack.py\n@@ -1,1 +1,1 @@\n-bag\n+sack\n"
    assert other.diff is None
    assert {edit.call_id for edit in (till, new, old, bag, other)} == {"c1"}


def test_a_file_renamed_by_a_patch_matches_its_new_name_too() -> None:
    (edit,) = edits_after([("copilot_applyPatch", "c1", {"input": PATCH})], edited("/home/ana/shop/sack.py"))

    assert edit.diff is not None
    assert edit.diff.startswith("--- a/home/ana/shop/bag.py\n+++ b/home/ana/shop/sack.py\n")


def test_a_truncated_patch_is_read() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-one"

    (edit,) = edits_after([("copilot_applyPatch", "c1", {"input": patch})], edited("/home/ana/a.py"))

    assert (edit.added, edit.removed) == (0, 1)


def test_a_patch_counts_its_blank_lines_as_context() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n one\n\n-two\nthree\n*** End Patch"

    (edit,) = edits_after([("copilot_applyPatch", "c1", {"input": patch})], edited("/home/ana/a.py"))

    assert edit.diff is not None
    assert edit.diff.partition("\n@@")[2] == " -1,4 +1,3 @@\n one\n \n-two\n three\n"
    assert count_changes(edit.diff) == (0, 1)


@pytest.mark.parametrize(
    "arguments",
    [
        {"filePath": TILL, "code": "// ...existing code...\nx", "explanation": "y"},
        {"filePath": TILL},
        {"filePath": TILL, "oldString": 5, "newString": "x"},
        {},
        [],
        "not json {",
        "",
        {"input": 5},
        {"replacements": 5},
    ],
)
@pytest.mark.parametrize("tool_id", ["copilot_insertEdit", "copilot_replaceString", "copilot_applyPatch"])
def test_arguments_without_texts_give_no_diff(tool_id: str, arguments: Any) -> None:
    (edit,) = edits_after([(tool_id, "c1", arguments)], edited())

    assert (edit.call_id, edit.diff, edit.added) == ("c1", None, None)


def test_an_edit_belongs_to_the_call_that_names_its_file() -> None:
    calls = [
        ("copilot_replaceString", "c1", {"filePath": TILL, "oldString": "a", "newString": "b"}),
        ("copilot_replaceString", "c2", {"filePath": "/home/ana/bag.py", "oldString": "c", "newString": "d"}),
    ]

    till, bag, other = edits_after(calls, edited(), edited("/home/ana/bag.py"), edited("/home/ana/other.py"))

    assert [edit.call_id for edit in (till, bag, other)] == ["c1", "c2", "c2"]
    assert other.diff is None


def test_the_latest_call_on_the_same_file_counts() -> None:
    calls = [
        ("copilot_replaceString", "c1", {"filePath": TILL, "oldString": "a", "newString": "b"}),
        ("copilot_readFile", "c2", {"filePath": TILL}),
        ("copilot_replaceString", "c3", {"filePath": TILL, "oldString": "c", "newString": "d"}),
    ]

    first, second = edits_after(calls, edited(), edited())

    assert (first.call_id, second.call_id) == ("c3", "c3")
    assert first.diff is not None
    assert second.diff is None  # the call's only change is shown once


@pytest.mark.parametrize(
    ("file_path", "path"),
    [
        ("file:///home/ana/till.py", TILL),
        ("C:\\shop\\till.py", "/c:/shop/till.py"),
        ("c:/shop/till.py", "/c:/shop/till.py"),
        ("src\\till.py", "/home/ana/src/till.py"),
        ("vscode-remote://ssh-remote%2Bbox/home/ana/till.py", TILL),
    ],
)
def test_spellings_of_a_file_name_are_matched(file_path: str, path: str) -> None:
    arguments = {"filePath": file_path, "oldString": "a", "newString": "b"}

    (edit,) = edits_after([("copilot_replaceString", "c1", arguments)], edited(path))

    assert edit.diff is not None


def test_an_edit_without_a_call_before_it_has_no_call() -> None:
    (edit,) = edits_after([("copilot_readFile", "c1", {"filePath": TILL})], edited())

    assert (edit.call_id, edit.diff) == (None, None)


def test_notebook_operations_have_a_call_and_no_diff() -> None:
    cells = {"kind": "notebookEditGroup", "uri": uri("/n.ipynb"), "edits": [[{"editType": 1}]]}

    (edit,) = edits_after([("copilot_editNotebook", "c1", {"filePath": "/n.ipynb", "newCode": "x"})], cells)

    assert (edit.call_id, edit.diff) == ("c1", None)


def test_lines_that_were_counted_already_are_not_counted_again() -> None:
    external = {"kind": "externalEdit", "uri": uri(TILL), "editKind": "edit", "diff": {"added": 8, "removed": 9}}
    arguments = {"filePath": TILL, "oldString": "a", "newString": "b"}

    (edit,) = edits_after([("copilot_replaceString", "c1", arguments)], external)

    assert edit.diff is not None
    assert (edit.added, edit.removed) == (8, 9)


REPLACED = {"filePath": TILL, "oldString": "a", "newString": "b"}
NO_MATCH = "String replacement failed: Could not find matching text to replace."


def edit_beside_failure(*calls: tuple[str, dict[str, Any]], first: bool = True) -> FileEdit:
    """Return the only edit of a response in which one call failed before or after others (tool, arguments)."""
    failed = ("copilot_replaceString", REPLACED)
    order = [failed, *calls] if first else [*calls, failed]
    ids = [f"c{number}" for number in range(1, len(order) + 1)]
    recorded = [
        {"id": call_id, "name": tool_id, "arguments": json.dumps(arguments)}
        for call_id, (tool_id, arguments) in zip(ids, order, strict=True)
    ]
    metadata = {
        "toolCallRounds": [{"id": "r", "toolCalls": recorded}],
        "toolCallResults": {ids[order.index(failed) if first else -1]: {"content": [{"value": NO_MATCH}]}},
    }
    parts = [tool_part(tool_id, call_id) for call_id, (tool_id, _) in zip(ids, order, strict=True)]

    messages, _ = read_parts(*parts, edited(), result={"metadata": metadata})

    (edit,) = [part for part in all_parts(messages) if isinstance(part, FileEdit)]
    return edit


def test_call_that_failed_did_not_make_the_edit_of_another() -> None:
    assert edit_beside_failure(("copilot_replaceString", REPLACED), first=False).call_id == "c1"


@pytest.mark.parametrize(
    ("calls", "made_by"),
    [
        ([("mcp_disk_write", {"path": TILL, "text": "b"})], "c2"),
        ([("mcp_disk_write", {"files": [{"name": "file://" + TILL}]})], "c2"),
        ([("mcp_disk_write", {"path": "/home/ana/other.py"})], None),
        ([("mcp_disk_write", {})], None),
        ([("copilot_createFile", {"filePath": "/home/ana/b.py", "content": "b"}), ("mcp_disk_write", {})], None),
        ([("copilot_createFile", {"filePath": "/home/ana/b.py", "content": "b"})], "c1"),
        ([("copilot_insertEdit", {}), ("mcp_disk_write", {})], "c2"),
        ([("copilot_readFile", {"filePath": TILL})], "c1"),
        ([], "c1"),
    ],
)
def test_edit_is_of_the_call_that_failed_only_if_no_other_can_have_made_it(
    calls: list[tuple[str, dict[str, Any]]], made_by: str | None
) -> None:
    edit = edit_beside_failure(*calls)

    assert edit.call_id == made_by
    assert (edit.diff is None) == (made_by != "c1")  # only the arguments of the first call give one
