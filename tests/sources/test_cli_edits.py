"""Edits of files by the tools of Copilot CLI."""

from __future__ import annotations

from pathlib import Path

import pytest

from copilog.model import FileEdit, ToolResult
from tests.sources.cli_builders import Json, Log, only, parts_like, read_cleanly

DIFF = """
diff --git a/home/ana/shop/cart.py b/home/ana/shop/cart.py
index 0000000..0000000 100644
--- a/home/ana/shop/cart.py
+++ b/home/ana/shop/cart.py
@@ -1,2 +1,3 @@
-total = 0
+total = Decimal(0)
+tax = 0
 items = []
"""
NEW_FILE = """diff --git a/home/ana/shop/tax.py b/home/ana/shop/tax.py
create file mode 100644
--- a/dev/null
+++ b/home/ana/shop/tax.py
@@ -1,0 +1,1 @@
+rate = 7
"""


def test_an_edit_has_its_diff(tmp_path: Path) -> None:
    arguments = {"path": "/home/ana/shop/cart.py", "old_str": "a", "new_str": "b"}
    log = Log().start().ask().run("c1", "edit", arguments, result={"content": "updated", "detailedContent": DIFF})

    conversation = read_cleanly(tmp_path, log)

    edit, result = only(conversation, FileEdit), only(conversation, ToolResult)
    assert (edit.action, edit.path, edit.diff) == ("edit", "/home/ana/shop/cart.py", DIFF.lstrip("\n"))
    assert (edit.added, edit.removed, edit.is_done, edit.call_id) == (2, 1, True, "c1")
    assert (result.text, result.display) == ("updated", None)


@pytest.mark.parametrize(
    ("name", "arguments", "action"),
    [
        ("create", {"path": "/home/ana/x"}, "create"),
        ("insert", {"path": "/home/ana/x"}, "edit"),
        ("str_replace", {"path": "/home/ana/x"}, "edit"),
        ("str_replace_editor", {"command": "create", "path": "/home/ana/x"}, "create"),
        ("str_replace_editor", {"command": "insert", "path": "/home/ana/x"}, "edit"),
    ],
)
def test_the_tools_that_write(name: str, arguments: Json, action: str, tmp_path: Path) -> None:
    edit = only(read_cleanly(tmp_path, Log().start().ask().run("c1", name, arguments)), FileEdit)

    assert (edit.action, edit.path, edit.diff) == (action, "/home/ana/x", None)


@pytest.mark.parametrize(
    ("text", "shown", "added"),
    [("", "+\n", 0), ("a\nb\n", "+a\n+b\n+\n", 2), ("a\n\n", "+a\n+\n", 2), ("a\n", "+a\n", 1), ("\n", "+\n+\n", 1)],
)
def test_the_end_of_a_new_file_is_not_a_line(text: str, shown: str, added: int, tmp_path: Path) -> None:
    diff = NEW_FILE.replace("+1,1", f"+1,{shown.count('+')}").replace("+rate = 7\n", shown)
    log = Log().start().ask()
    log.run("c1", "create", {"path": "/home/ana/shop/tax.py", "file_text": text}, result={"detailedContent": diff})
    patch = "\n".join(["*** Begin Patch", "*** Add File: tax.py", *(f"+{line}" for line in text.splitlines())])
    log.run("c2", "apply_patch", f"{patch}\n*** End Patch", result={"detailedContent": diff})

    edits = parts_like(read_cleanly(tmp_path, log), FileEdit)
    assert [(edit.action, edit.added, edit.removed) for edit in edits] == [("create", added, 0)] * 2


def test_viewing_a_file_is_not_an_edit_even_if_shown_as_a_diff(tmp_path: Path) -> None:
    log = Log().start().ask().run("c1", "str_replace_editor", {"command": "view", "path": "/x"}, content=DIFF)

    assert parts_like(read_cleanly(tmp_path, log), FileEdit) == []


def test_an_edit_that_failed_changed_nothing(tmp_path: Path) -> None:
    log = Log().start().ask().run("c1", "edit", {"path": "/x"}, success=False, error={"message": "no match"})

    assert parts_like(read_cleanly(tmp_path, log), FileEdit) == []


def test_a_patch_may_touch_several_files(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: /home/ana/shop/cart.py\n@@\n*** Add File: /home/ana/shop/tax.py\n+x\n"
    result = {"content": "Modified 2", "detailedContent": DIFF + NEW_FILE}
    log = Log().start().ask().run("c1", "apply_patch", patch, result=result)

    edits = parts_like(read_cleanly(tmp_path, log), FileEdit)

    assert [(edit.action, edit.path, edit.added) for edit in edits] == [
        ("edit", "/home/ana/shop/cart.py", 2),
        ("create", "/home/ana/shop/tax.py", 1),
    ]


def test_a_patch_that_differs_from_its_diffs_is_read_from_the_diffs(tmp_path: Path) -> None:
    gone = "diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n"
    result = {"content": "Modified", "detailedContent": DIFF + NEW_FILE + gone}
    log = Log().start().ask().run("c1", "apply_patch", {"input": "*** Move to: x"}, result=result)

    edits = parts_like(read_cleanly(tmp_path, log), FileEdit)

    assert [(edit.action, edit.path) for edit in edits] == [
        ("edit", "home/ana/shop/cart.py"),
        ("create", "home/ana/shop/tax.py"),
        ("delete", "old"),
    ]


def test_a_patch_that_moves_and_deletes_without_diffs(tmp_path: Path) -> None:
    patch = "*** Update File: a\n*** Move to: b\n*** Delete File: c\n"

    edits = parts_like(read_cleanly(tmp_path, Log().start().ask().run("c1", "apply_patch", patch)), FileEdit)

    assert [(edit.action, edit.path, edit.diff) for edit in edits] == [("rename", "b", None), ("delete", "c", None)]
