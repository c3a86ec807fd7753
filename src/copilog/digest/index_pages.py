"""Draw the indexes: by time, by topic and by file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from copilog.digest.collection import Entry, by_workspace, newest_first, topics_of, workspace_name
from copilog.digest.drawing import day_text, front_matter, is_outside, shown_path
from copilog.digest.safe_markdown import link, passage, words
from copilog.digest.workspace_page import conversation_item, page_link
from copilog.view.wording import counted
from copilog.writers.markdown_text import span

MOST_FILES = 500  # of a workspace


def home_page(
    entries: list[Entry], workspaces: Mapping[str | None, str], left_out: int = 0, *, is_in_folder: bool = True
) -> Iterator[str]:
    """Yield the blocks of the first page: the workspaces, then all conversations by month."""
    pages = [entry for entry in newest_first(entries) if entry.page]
    yield front_matter({"title": "What was learnt"})
    yield "# What was learnt"
    yield (
        f"{counted(len(pages), 'conversation')} with GitHub Copilot. Indexes: {link('by topic', 'topics.md')}, "
        f"{link('by file', 'files.md')}."
    )
    yield "Everything here is copied or counted from what was recorded, and says where it is from."
    if is_in_folder:
        yield "Each page ends with two marked lines; what you write between them is kept."
    if left_out:
        yield f"{counted(left_out, 'conversation')} had nothing to tell: no answer, no change, no command, no record."
    yield from _memories_of_user(entries)
    if workspaces:
        yield "## Workspaces"
        yield "\n".join(
            f"- {link(words(workspace_name(folder)), workspaces[folder])}: "
            f"{counted(sum(bool(entry.page) for entry in found), 'conversation')}"
            for folder, found in by_workspace(entries).items()
            if folder in workspaces
        )
    by_month: dict[str, list[Entry]] = defaultdict(list)
    for entry in pages:
        by_month[day_text(entry.digest.updated_at or entry.digest.started_at)[:7]].append(entry)
    for month, found in by_month.items():
        yield f"## {month or 'Without a date'}"
        yield "\n".join(conversation_item(entry, up="") for entry in found)


def topics_page(entries: list[Entry]) -> Iterator[str]:
    """Yield the blocks of the index by topic."""
    yield front_matter({"title": "Topics"})
    yield "# Topics"
    yield "The labels that you gave, and the words that the titles of several conversations have."
    for topic, found in topics_of(entry for entry in entries if entry.page).items():
        yield f"## {words(topic, 60)}"
        yield "\n".join(conversation_item(entry, up="") for entry in found)


def files_page(entries: list[Entry]) -> Iterator[str]:
    """Yield the blocks of the index by file."""
    yield front_matter({"title": "Files"})
    yield "# Files"
    yield "The files that conversations changed, by workspace; those that most conversations changed come first."
    for folder, found in by_workspace(entry for entry in entries if entry.page).items():
        changed: dict[str, list[Entry]] = defaultdict(list)
        for entry in found:
            for work in entry.digest.files:
                changed[shown_path(work.path, folder)].append(entry)
        if not changed:
            continue
        yield f"## {words(workspace_name(folder))}"
        ranked = sorted(changed.items(), key=lambda item: (is_outside(item[0]), -len(item[1]), item[0]))
        yield "\n".join(
            f"- {span(path)}: {', '.join(page_link(entry, 'files-changed', up='') for entry in each)}"
            for path, each in ranked[:MOST_FILES]
        )
        if len(ranked) > MOST_FILES:
            yield f"{len(ranked) - MOST_FILES:,} more are on the pages of the conversations."


def _memories_of_user(entries: list[Entry]) -> Iterator[str]:
    """Yield the memories that belong to no workspace and no conversation with a page."""
    found = [
        each
        for entry in entries
        if not entry.page and entry.digest.workspace is None
        for each in entry.digest.passages
        if each.section == "memory"
    ]
    if found:
        yield "## Memories"
    for each in found:
        yield passage(each.text, 3)
        yield f"*From {words(each.origin.words)}*"
