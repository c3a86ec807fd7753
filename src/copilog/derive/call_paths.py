"""Find the files and folders that the arguments of a tool call name."""

from __future__ import annotations

from typing import Any

import msgspec

LONGEST_PATH = 1000
LONGEST_SEARCHED = 1 << 20  # bytes of arguments; after that there is file content, not paths


class _Arguments(msgspec.Struct, gc=False):
    """The arguments of Copilot's tools that are paths. The decoder skips others, so content costs little."""

    path: Any = None  # view, edit, create, grep, glob of Copilot CLI; list_dir of VS Code
    paths: Any = None  # grep, rg
    file: Any = None  # lsp
    files: Any = None
    filePath: Any = None  # noqa: N815
    filePaths: Any = None  # noqa: N815
    file_path: Any = None
    dirPath: Any = None  # noqa: N815
    directory: Any = None
    notebookPath: Any = None  # noqa: N815


_decode = msgspec.json.Decoder(_Arguments).decode


def paths_in_arguments(arguments: str | None) -> list[str]:
    """Return the paths among the arguments of a call, in a fixed order; none if the arguments are not a JSON object."""
    if not arguments or len(arguments) > LONGEST_SEARCHED or arguments[0] != "{":
        return []
    try:
        found = _decode(arguments)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return []
    return [path for value in msgspec.structs.astuple(found) if value is not None for path in _paths_in(value)]


def _paths_in(value: Any) -> list[str]:
    if isinstance(value, list):
        return [path for path in value if isinstance(path, str) and _is_path(path)]
    return [value] if isinstance(value, str) and _is_path(value) else []


def _is_path(text: str) -> bool:
    return 0 < len(text) <= LONGEST_PATH and "\n" not in text and not text.isspace()
