"""The causes by which a conversation is not shown, with what each means, and what to do about it.

docs/recover.md has the same table. The first of several causes is the one under which a conversation is listed.
"""

from __future__ import annotations

from typing import NamedTuple


class Cause(NamedTuple):
    """What a cause means, and what brings the conversation back."""

    meaning: str
    advice: str


AS_SESSION = "`copilog export ID --format vscode` writes the session and its index entry for another workspace"
COMPLETED = "`copilog repair FILE`, with the state.vscdb that is named, shows the completed index; --apply writes it"
AS_CHAT = "`copilog show ID` reads it, and `copilog export ID --format chat` makes a chat that VS Code imports"

CAUSES: dict[str, Cause] = {
    "refused": Cause(
        "VS Code refuses the file, and shows an empty chat",
        "`copilog repair ID` shows the smallest change by which VS Code loads it, and --apply makes it",
    ),
    "workspace-gone": Cause("the folder of the workspace does not exist", AS_SESSION),
    "workspace-replaced": Cause("VS Code uses another storage for the folder of the workspace", AS_SESSION),
    "index-discarded": Cause(
        "VS Code discards the index of the workspace, and lists none of its sessions",
        COMPLETED,
    ),
    "index-unreadable": Cause("VS Code cannot read the store that has the index", AS_SESSION),
    "not-in-index": Cause(
        "the file is there, and the index does not list it",
        COMPLETED,
    ),
    "hidden-entry": Cause("the index has an entry that VS Code does not list", COMPLETED),
    "left-in-transfer": Cause("it was on its way to another workspace, which never took it", AS_SESSION),
    "older-file": Cause("the log has fewer turns than the older file beside it, which VS Code ignores", AS_CHAT),
    "cli-refused": Cause("Copilot CLI refuses to resume the session", AS_CHAT),
    "backup-only": Cause("only a backup of VS Code's store has it", AS_CHAT),
    "store-only": Cause("only VS Code's store has it, in a place that is no longer read", AS_CHAT),
    "traces-only": Cause("the session is deleted or lost, and other programs' traces of it are left", AS_CHAT),
    "edits-only": Cause("the session is deleted or lost, and its edits are left", "`copilog diff ID` shows the edits"),
    "export-only": Cause("only a file that somebody saved or exported has it", AS_CHAT),
    "archive-only": Cause("only copilog's archive has it; its files are gone", AS_CHAT),
    "prompts-only": Cause("only the prompts are left, in a history of the input box", "`copilog show ID` lists them"),
    "entry-only": Cause("the index lists it, and its file is gone", "look for a copy or a backup of the file"),
}
ORDER = {code: position for position, code in enumerate(CAUSES)}
