"""Find definitions and read their files. Each file is one record in the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from copilog import jsonio
from copilog.definitions.definition import Definition, Kind, Scope, definition_from
from copilog.definitions.front_matter import split
from copilog.diagnostics import Diagnostic, Ledger, Level
from copilog.errors import BadFile
from copilog.intake.files import opened

MAX_BYTES = 1 << 20
MAX_DEPTH = 8
SKILL_FILE = "skill.md"
EXTENSION = "github.copilot-chat"


class FilePattern(NamedTuple):
    """Files of one kind: those of a folder, of the folders in it (for skills one each), of a tree, or a single one."""

    kind: Kind
    path: str
    suffix: str = ".md"
    shape: Literal["folder", "folders", "tree", "skills", "file"] = "folder"


IN_WORKSPACE = (
    FilePattern("agent", ".github/agents"),
    FilePattern("agent", ".claude/agents"),
    FilePattern("mode", ".github/chatmodes", ".chatmode.md"),
    FilePattern("prompt", ".github/prompts", ".prompt.md"),
    FilePattern("instruction", ".github/instructions", ".instructions.md", "tree"),
    FilePattern("instruction", ".github/copilot-instructions.md", shape="file"),
    FilePattern("instruction", "AGENTS.md", shape="file"),
    FilePattern("skill", ".github/skills", shape="skills"),
    FilePattern("skill", ".claude/skills", shape="skills"),
    FilePattern("skill", ".agents/skills", shape="skills"),
)
IN_COPILOT_HOME = (
    FilePattern("agent", "agents"),
    FilePattern("skill", "skills", shape="skills"),
    FilePattern("instruction", "instructions", ".instructions.md", "tree"),
    FilePattern("instruction", "copilot-instructions.md", shape="file"),
)
IN_PROMPTS = (
    FilePattern("agent", "prompts", ".agent.md"),
    FilePattern("mode", "prompts", ".chatmode.md"),
    FilePattern("prompt", "prompts", ".prompt.md"),
    FilePattern("instruction", "prompts", ".instructions.md"),
)
SUFFIXES = (".agent.md", ".chatmode.md", ".prompt.md", ".instructions.md", ".md")


def definitions_in(folder: Path, ledger: Ledger | None = None) -> Iterator[Definition]:
    """Yield the definitions of a workspace folder, by path and then by name."""
    yield from _Shelf(folder, "workspace", ledger).read(IN_WORKSPACE)


def definitions_of_user(
    home_copilot: Path, user_folder: Path | None = None, ledger: Ledger | None = None
) -> Iterator[Definition]:
    """Yield the user's definitions for all workspaces: in `~/.copilot`, and in VS Code's `User` and its profiles."""
    yield from _Shelf(home_copilot, "user", ledger).read(IN_COPILOT_HOME)
    if user_folder is None:
        return
    shelf = _Shelf(user_folder, "user", ledger)
    yield from shelf.read(IN_PROMPTS)
    profiles = shelf.entries(user_folder / "profiles")
    for profile in profiles:
        yield from shelf.read(place._replace(path=f"profiles/{profile.name}/prompts") for place in IN_PROMPTS)
    for above in ("", *(f"profiles/{profile.name}/" for profile in profiles)):
        yield from _of_extension(user_folder, f"{above}globalStorage", ledger)


def _of_extension(user_folder: Path, storage: str, ledger: Ledger | None) -> Iterator[Definition]:
    """Yield the agents that the Copilot Chat extension writes for VS Code to find, such as Plan."""
    shelf = _Shelf(user_folder, "extension", ledger)
    for entry in shelf.entries(user_folder / storage):
        if entry.name.lower() == EXTENSION:
            yield from shelf.read([FilePattern("agent", f"{storage}/{entry.name}", ".agent.md", "folders")])


class _Shelf:
    """A folder whose definitions are read, and its ledger."""

    def __init__(self, root: Path, scope: Scope, ledger: Ledger | None) -> None:
        self.root = root
        self.scope = scope
        self.ledger = ledger if ledger is not None else Ledger(path=str(root))

    def read(self, places: Iterable[FilePattern]) -> Iterator[Definition]:
        for place in places:
            for path in self._files_of(place):
                definition = self._definition(path, place)
                if definition is not None:
                    yield definition

    # --- finding ------------------------------------------------------------------------------------------------

    def _files_of(self, place: FilePattern) -> Iterator[Path]:
        path = self.root / place.path
        if place.shape == "file":
            wanted = path.name.lower()
            return (entry for entry in self.entries(path.parent) if entry.name.lower() == wanted and _is_file(entry))
        if place.shape == "skills":
            inner = (file for folder in self.entries(path) for file in self.entries(folder))
            return (file for file in inner if file.name.lower() == SKILL_FILE and _is_file(file))
        if place.shape == "folders":
            files = [file for folder in self.entries(path) for file in self.entries(folder)]
        else:
            files = list(self._tree(path, 0)) if place.shape == "tree" else self.entries(path)
        return (file for file in files if file.name.endswith(place.suffix) and _is_file(file))

    def _tree(self, folder: Path, depth: int) -> Iterator[Path]:
        for entry in self.entries(folder):
            if depth < MAX_DEPTH and entry.is_dir() and not entry.is_symlink():
                yield from self._tree(entry, depth + 1)
            else:
                yield entry

    def entries(self, folder: Path) -> list[Path]:
        """Return the entries of a folder by name; none if it is not a folder, or is a link to elsewhere."""
        try:
            if not folder.is_dir():
                return []
            if self._leads_out(folder):
                self._note(folder, "broken-link", "a link that leads out of the folder")
                return []
            return sorted(folder.iterdir())
        except OSError as error:
            self._note(folder, "unreadable", f"cannot be read: {error.strerror or error}")
            return []

    def _leads_out(self, path: Path) -> bool:
        try:
            return not path.resolve(strict=True).is_relative_to(self.root.resolve())
        except (OSError, RuntimeError):  # a link to nowhere, or to itself
            return True

    # --- reading ------------------------------------------------------------------------------------------------

    def _definition(self, path: Path, place: FilePattern) -> Definition | None:
        self.ledger.seen += 1
        if not _is_of(path.name, place):
            self.ledger.ignore("no-definition")
            return None
        if self._leads_out(path):
            self.ledger.ignore("link")
            self._note(path, "broken-link", "a broken link, or one that leads out of the folder")
            return None
        try:
            with opened(path) as file:
                data = file.read(MAX_BYTES + 1)
        except BadFile as error:
            self.ledger.bad.append(Diagnostic(error.code, str(path), str(error), "error"))
            return None
        self.ledger.used += 1
        document = split(self._text(data, path))
        if document.fault is not None:
            self._note(path, "bad-record", document.fault.reason, line=document.fault.line)
        return definition_from(document, place.kind, _name_of(path), str(path), self.scope)

    def _text(self, data: bytes, path: Path) -> str:
        if len(data) > MAX_BYTES:
            self._note(path, "bad-file", f"larger than {MAX_BYTES} bytes; what comes after them was not read")
            data = data[:MAX_BYTES]
        data, repairs = jsonio.as_utf8(data)
        for repair in repairs:
            if repair.code != "byte-order-mark":  # editors on Windows write one, and Copilot does not mind
                self._note(path, repair.code, repair.reason)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            if len(data) < MAX_BYTES:  # else the cut may have split a character
                self._note(path, "invalid-utf8", f"invalid UTF-8 at byte {error.start}", "info")
            return data.decode("utf-8", errors="replace")

    def _note(self, path: Path, code: str, reason: str, level: Level = "warning", *, line: int | None = None) -> None:
        self.ledger.notes.append(Diagnostic(code, str(path), reason, level, line=line))


def _is_file(path: Path) -> bool:
    """Return whether there is a file to count. A link to nowhere counts, because it is reported."""
    try:
        return path.is_file() or (path.is_symlink() and not path.exists())
    except (OSError, RuntimeError):
        return path.is_symlink()


def _is_of(name: str, place: FilePattern) -> bool:
    """Return whether a file in a folder of agents is an agent: neither a readme nor of another kind."""
    if place.kind != "agent" or place.suffix != ".md":
        return True
    return name != "README.md" and not name.endswith((".prompt.md", ".instructions.md"))


def _name_of(path: Path) -> str:
    if path.name.lower() == SKILL_FILE:
        return path.parent.name
    return next((path.name.removesuffix(suffix) for suffix in SUFFIXES if path.name.endswith(suffix)), path.stem)
