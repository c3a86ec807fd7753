"""Write the pages into a folder, and write only what changed.

`copilog-digest.json` tells which page is of which conversation, so that names stay as they are. A later run covers the
conversations of the earlier ones, too. A page that a person changed outside of the marked lines is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from copilog.atomic_files import atomic_file
from copilog.digest.collecting import digest_of
from copilog.digest.collection import Entry, by_workspace, entry_of, workspace_name
from copilog.digest.conversation_page import conversation_page
from copilog.digest.drawing import front_matter
from copilog.digest.index_pages import files_page, home_page, topics_page
from copilog.digest.marked_lines import NOTHING, Page, page_in, page_text
from copilog.digest.workspace_page import workspace_page
from copilog.errors import CopilogError, UsageError
from copilog.exports.chosen import Chosen
from copilog.exports.file_names import numbered, stem_of
from copilog.version import __version__

NAME = "copilog-digest.json"
LARGEST = 64 << 20
CONVERSATIONS, WORKSPACES = "conversations", "workspaces"
HOME, TOPICS, FILES = "index.md", "topics.md", "files.md"


class _State(msgspec.Struct, omit_defaults=True):
    written_by: str = ""
    conversations: dict[str, str] = {}  # ids of conversations -> pages; empty if it has none
    workspaces: dict[str, str] = {}  # folders -> pages


class Written(NamedTuple):
    """What a run did."""

    folder: Path
    conversations: int  # that have a page
    without_page: int
    written: list[str]
    unchanged: int
    removed: list[str]
    edited: list[str]  # pages that were changed outside of the marked lines, and so were not written
    kept: list[str]  # pages of conversations that are no longer there, on which a person wrote
    failed: list[tuple[str, str]]  # ids of conversations that could not be read, and why


def covered_by(folder: Path) -> list[str]:
    """Return the ids of the conversations that earlier runs wrote into a folder."""
    return list(_read(folder).conversations)


def write_digest(chosen: Chosen, folder: Path, advance: Callable[[], None] = lambda: None) -> Written:
    """Write the pages of conversations, their workspaces and indexes."""
    run = _Run(folder, chosen)
    entries = list(run.conversations(advance))
    run.workspaces(entries)
    run.indexes(entries)
    run.remove_others()
    run.save()
    return run.result(entries)


class _Run:
    def __init__(self, folder: Path, chosen: Chosen) -> None:
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder}: is not a folder; name one for the pages")
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._chosen = chosen
        self._before = _read(folder)
        self._state = _State(written_by=f"copilog {__version__}")
        self._written: list[str] = []
        self._unchanged = 0
        self._removed: list[str] = []
        self._edited: list[str] = []
        self._kept: list[str] = []
        self._failed: list[tuple[str, str]] = []
        self._pages: set[str] = set()

    # --- pages --------------------------------------------------------------------------------------------------------

    def conversations(self, advance: Callable[[], None]) -> Iterator[Entry]:
        """Write the page of each conversation that has something to tell, and yield the entries of all."""
        self._state.workspaces = dict(self._before.workspaces)
        self._state.conversations = self._names()
        self.save()  # first, so that a run after an interruption uses the same names
        for each in self._chosen.entries:
            try:
                conversation = self._chosen.get(each.id)
            except CopilogError as error:
                self._failed.append((each.id, str(error)))
                self._pages.add(self._state.conversations[each.id])
                continue
            digest = digest_of(conversation, list(each.added.labels), each.added.note)
            name = self._state.conversations[each.id] if digest.is_worth_a_page else ""
            self._state.conversations[each.id] = name
            if name:
                label = workspace_name(digest.workspace)
                page = f"../{self._workspace(digest.workspace)}"
                self._write(name, conversation_page(digest, (label, page)))
            yield entry_of(digest, name)
            advance()

    def workspaces(self, entries: list[Entry]) -> None:
        for folder, found in by_workspace(entries).items():
            if any(entry.page for entry in found) or (folder is not None and any(entry.sections for entry in found)):
                self._write(self._workspace(folder), workspace_page(folder, found))

    def indexes(self, entries: list[Entry]) -> None:
        workspaces = {
            folder: name for folder in by_workspace(entries) if (name := self._workspace(folder)) in self._pages
        }
        left_out = sum(not entry.page and not entry.sections for entry in entries)
        self._write(HOME, home_page(entries, workspaces, left_out))
        self._write(TOPICS, topics_page(entries))
        self._write(FILES, files_page(entries))

    def remove_others(self) -> None:
        """Remove the pages of earlier runs that have nothing to tell any more, if nobody wrote on them."""
        before = {*self._before.conversations.values(), *self._before.workspaces.values()} - {""}
        for name in sorted(before - self._pages):
            path = self._folder / name
            page = _page_at(path)
            if page is not None and not page.own.strip():
                path.unlink()
                self._removed.append(name)
            elif path.exists():
                (self._edited if page is None else self._kept).append(name)
        self._state.workspaces = {
            folder: name for folder, name in self._state.workspaces.items() if (self._folder / name).exists()
        }

    def save(self) -> None:
        content = msgspec.json.format(msgspec.json.encode(self._state, order="sorted"), indent=1) + b"\n"
        path = self._folder / NAME
        with suppress(OSError):
            if path.read_bytes() == content:
                return
        with atomic_file(path, is_private=True) as file:
            file.write(content)

    def result(self, entries: list[Entry]) -> Written:
        with_page = sum(bool(entry.page) for entry in entries)
        return Written(
            self._folder,
            with_page,
            len(entries) - with_page,
            self._written,
            self._unchanged,
            self._removed,
            self._edited,
            self._kept,
            self._failed,
        )

    def _write(self, name: str, blocks: Iterable[str]) -> None:
        """Write a page unless it says the same already; what a person wrote stays."""
        path = self._folder / name
        body = "\n\n".join(block for block in blocks if block) + "\n\n"
        self._pages.add(name)
        page = Page("", NOTHING)
        if path.exists() or path.is_symlink():
            found = _page_at(path)
            if found is None:
                self._edited.append(name)
                return
            if found.body == body:
                self._unchanged += 1
                return
            page = found
        path.parent.mkdir(exist_ok=True)
        with atomic_file(path, is_private=True) as file:
            file.write(page_text(body, page.own).encode("utf-8", "replace"))
        self._written.append(name)

    # --- names --------------------------------------------------------------------------------------------------------

    def _names(self) -> dict[str, str]:
        """Return a page for each conversation: that of the last run, else one named after its day and title."""
        known = self._before.conversations
        taken = {name for name in known.values() if name}
        names: dict[str, str] = {}
        for each in self._chosen.entries:
            name = known.get(each.id)
            if not name:
                moment = each.started_at or each.moment
                day = f"{moment.date().isoformat()}-" if moment is not None else ""
                name = self._free(f"{CONVERSATIONS}/{day}{stem_of(each.title)}.md", taken, {"id": each.id})
                taken.add(name)
            names[each.id] = name
        return names

    def _workspace(self, folder: str | None) -> str:
        key = folder or ""
        if key not in self._state.workspaces:
            name = f"{WORKSPACES}/{stem_of(workspace_name(folder))}.md"
            facts = {"title": workspace_name(folder), "workspace": folder}
            self._state.workspaces[key] = self._free(name, set(self._state.workspaces.values()), facts)
        return self._state.workspaces[key]

    def _free(self, name: str, taken: set[str], facts: dict[str, str | None]) -> str:
        """Return a name that no other page has, and no file but a page of the same facts, which a person may own."""
        found, number = name, 1
        while found in taken or ((path := self._folder / found).exists() and not _has_facts(_page_at(path), facts)):
            number += 1
            found = numbered(name, number)
        return found


def _page_at(path: Path) -> Page | None:
    """Return the parts of a page on disk; None if it is no page of ours, or was changed."""
    if path.is_symlink():
        return None
    try:
        if path.stat().st_size > LARGEST:
            return None
        return page_in(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None


def _has_facts(page: Page | None, facts: dict[str, str | None]) -> bool:
    """Return whether the front matter of a page has these facts."""
    if page is None:
        return False
    head = page.body.partition("\n---\n")[0].split("\n")
    return set(front_matter(facts).split("\n")[1:-1]) <= set(head)


def _read(folder: Path) -> _State:
    """Return the state of a folder; an empty one if it has none, or one that is not ours."""
    path = folder / NAME
    state = _State()
    with suppress(OSError, msgspec.DecodeError):
        if path.is_file() and path.stat().st_size <= LARGEST:
            state = msgspec.json.decode(path.read_bytes(), type=_State)
    state.conversations = {key: name for key, name in state.conversations.items() if not name or _is_page(name)}
    state.workspaces = {key: name for key, name in state.workspaces.items() if _is_page(name)}
    return state


def _is_page(name: str) -> bool:
    """Return whether a name is of a page below the folder, and leads nowhere else."""
    folder, _, file = name.partition("/")
    return folder in (CONVERSATIONS, WORKSPACES) and file.endswith(".md") and not set(file) & set("/\\:\0")
