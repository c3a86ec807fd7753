"""Compare names of tools: the name that the model uses, and the name that VS Code registered."""

from __future__ import annotations

import re

from copilog.model import ToolCall
from copilog.text_cache import cached_by_text

# Tools whose name for the model and registered name cannot be derived from each other.
REGISTERED_NAMES = {
    "list_dir": "listdirectory",
    "grep_search": "findtextinfiles",
    "file_search": "findfiles",
    "semantic_search": "searchcodebase",
    "test_search": "findtestfiles",
    "run_tests": "runtests1",
    "replace_string_in_file": "replacestring",
    "multi_replace_string_in_file": "multireplacestring",
    "insert_edit_into_file": "insertedit",
    "edit_notebook_file": "editnotebook",
    "get_search_view_results": "getsearchresults",
}
EDITING_TOOLS = frozenset(
    {"replacestring", "multireplacestring", "createfile", "applypatch", "insertedit", "editnotebook"}
)
OF_SEVERAL_FILES = frozenset({"multireplacestring", "applypatch"})
# Tools of Copilot CLI that wait for a command that another call started; those that write may start another.
SHELL_READERS = frozenset({"readbash", "readpowershell"})
SHELL_WRITERS = frozenset({"writebash", "writepowershell"})
SHELLS = frozenset({"runinterminal", "bash", "powershell", "localshell", "shell"}) | SHELL_READERS | SHELL_WRITERS
# Tools of VS Code that another tool uses to do its work, and that other tool.
INNER_TOOLS = {"editfileinternal": "insertedit", "fetchwebpageinternal": "fetchwebpage"}
_NOT_IN_KEY = re.compile(r"[^a-z0-9]")


@cached_by_text(1024)
def tool_key(name: str) -> str:
    """Return one key for the name that the model uses and the name that is registered."""
    known = REGISTERED_NAMES.get(name)
    return known or _NOT_IN_KEY.sub("", name.removeprefix("copilot_").removeprefix("vscode_").lower())


def key_of(call: ToolCall) -> str:
    """Return the key of the tool that a call uses."""
    return tool_key(call.tool_id or call.name)
