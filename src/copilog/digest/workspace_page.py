"""Draw the page of a workspace: what its conversations have in common, each with links to where it is from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from copilog.digest.collection import Entry, newest_first, workspace_name
from copilog.digest.content import CommandUse
from copilog.digest.conversation_page import origin_text
from copilog.digest.drawing import (
    KINDS,
    Turns,
    command_item,
    day_text,
    front_matter,
    is_outside,
    period_text,
    pitfall_item,
    reference_item,
    shown_path,
    task_item,
)
from copilog.digest.safe_markdown import link, passage, words
from copilog.view.parts import STATES
from copilog.view.wording import counted
from copilog.writers.markdown_text import span

MOST_FILES = 50
MOST_COMMANDS = 20  # of a kind
MOST_PITFALLS = 100
MOST_LINKS = 6
UP = "../"
READ_MORE = {
    "overview": "Overviews",
    "work done": "Work done",
    "technical details": "Technical details",
    "plan": "Plans",
    "research": "Research",
}


class _Ran(NamedTuple):
    entry: Entry
    use: CommandUse


def workspace_page(folder: str | None, entries: list[Entry]) -> Iterator[str]:
    """Yield the blocks of the page; `entries` are all of the workspace's conversations."""
    entries = newest_first(entries)
    pages = [entry for entry in entries if entry.page]
    yield front_matter({"title": workspace_name(folder), "workspace": folder})
    yield f"# {words(workspace_name(folder))}"
    moments = [moment for entry in entries if (moment := entry.digest.updated_at or entry.digest.started_at)]
    facts = [
        span(folder) if folder else "",
        counted(len(pages), "conversation"),
        period_text(min(moments), max(moments)) if moments else "",
    ]
    yield " · ".join(fact for fact in facts if fact)
    yield from _memories(entries)
    yield from _important_files(folder, pages)
    yield from _references(pages)
    yield from _commands(pages)
    yield from _pitfalls(pages)
    yield from _next_steps(pages)
    yield from _read_more(pages)
    yield from _conversations(pages)


def page_link(entry: Entry, anchor: str = "", *, up: str = UP) -> str:
    """Return a link to the page of a conversation."""
    return link(words(entry.digest.title, 120), f"{up}{entry.page}", anchor)


def conversation_item(entry: Entry, *, up: str = UP) -> str:
    """Return a line about a conversation: when, what, and how much."""
    day = day_text(entry.digest.updated_at or entry.digest.started_at)
    counts = ", ".join(entry.digest.counts)
    return f"- {f'{day}: ' if day else ''}{page_link(entry, up=up)}{f' ({counts})' if counts else ''}"


def _memories(entries: list[Entry]) -> Iterator[str]:
    found = [(entry, each) for entry in entries for each in entry.digest.passages if each.section == "memory"]
    if found:
        yield "## Memories"
    for entry, each in found:
        yield passage(each.text, 3)
        where = f" of {page_link(entry)}" if entry.page else ""
        yield origin_text(each, _turns(entry))[:-1] + f"{where}*"


def _important_files(folder: str | None, pages: list[Entry]) -> Iterator[str]:
    """Yield the files that most conversations changed, those of the workspace before others."""
    found: dict[str, list[Entry]] = defaultdict(list)
    for entry in pages:
        for work in entry.digest.files:
            found[shown_path(work.path, folder)].append(entry)
    ranked = sorted(found.items(), key=lambda item: (is_outside(item[0]), -len(item[1]), item[0]))
    if ranked:
        yield "## Important files"
        yield "\n".join(
            f"- {span(path)}: changed in {counted(len(changed), 'conversation')}: {_links(changed)}"
            for path, changed in ranked[:MOST_FILES]
        )
    if len(ranked) > MOST_FILES:
        yield f"{len(ranked) - MOST_FILES:,} more are in {link('the index of files', f'{UP}files.md')}."


def _references(pages: list[Entry]) -> Iterator[str]:
    items = [
        f"{reference_item(reference, _turns(entry))}, {page_link(entry)}"
        for entry in pages
        for reference in entry.digest.references
    ]
    if items:
        yield "## Commits, pull requests and issues"
        yield "\n".join(items)


def _commands(pages: list[Entry]) -> Iterator[str]:
    """Yield the commands by what they are for, those that succeeded in most conversations first."""
    found: dict[str, dict[str, list[_Ran]]] = defaultdict(lambda: defaultdict(list))
    for entry in pages:
        for use in entry.digest.commands:
            found[use.kind][use.command].append(_Ran(entry, use))
    if found:
        yield "## Commands that matter"
    for kind, heading in KINDS.items():
        ranked = sorted(found.get(kind, {}).items(), key=_rank)
        if ranked:
            yield f"### {heading}"
            yield "\n".join(command_item(command, _ran_facts(ran)) for command, ran in ranked[:MOST_COMMANDS])
        if len(ranked) > MOST_COMMANDS:
            yield f"{len(ranked) - MOST_COMMANDS:,} more are on the pages of the conversations."


def _rank(item: tuple[str, list[_Ran]]) -> tuple[int, int, str]:
    command, ran = item
    return -len({each.entry.page for each in ran if each.use.exit_code == 0}), -len(ran), command


def _ran_facts(ran: list[_Ran]) -> str:
    pages = {each.entry.page: each.entry for each in ran}
    succeeded = {each.entry.page for each in ran if each.use.exit_code == 0}
    unknown = {each.entry.page for each in ran if each.use.exit_code is None} - succeeded
    said = f"exit code 0 in {len(succeeded):,} of {counted(len(pages), 'conversation')}"
    if unknown:
        said += f", not recorded in {len(unknown):,}"
    return f"{said}: {_links(list(pages.values()))}"


def _pitfalls(pages: list[Entry]) -> Iterator[str]:
    items = [
        f"{pitfall_item(pitfall, _turns(entry))}, {page_link(entry)}"
        for entry in pages
        for pitfall in entry.digest.pitfalls
    ]
    if items:
        yield "## Pitfalls"
        yield "\n".join(items[:MOST_PITFALLS])
    if len(items) > MOST_PITFALLS:
        yield f"{len(items) - MOST_PITFALLS:,} more are on the pages of the conversations."


def _next_steps(pages: list[Entry]) -> Iterator[str]:
    """Yield what checkpoints name as next steps, and the tasks that were not done, of each conversation."""
    is_first = True
    for entry in pages:
        steps = [each for each in entry.digest.passages if each.section == "next steps"]
        tasks = [
            task_item(task)
            for listed in entry.digest.tasks
            for task in listed.tasks
            if STATES.get(task.status or "", "open") != "done"
        ]
        if not steps and not tasks:
            continue
        if is_first:
            yield "## Next steps"
            is_first = False
        yield f"### {words(entry.digest.title, 120)}"
        for each in steps:
            yield passage(each.text, 4)
            yield origin_text(each, _turns(entry))
        if tasks:
            yield "\n".join(tasks)
        yield f"Of {page_link(entry)}"


def _read_more(pages: list[Entry]) -> Iterator[str]:
    lines = []
    for section, heading in READ_MORE.items():
        having = [entry for entry in pages if section in entry.sections]
        if having:
            anchor = section.replace(" ", "-")
            lines.append(f"- {heading}: {', '.join(page_link(entry, anchor) for entry in having)}")
    if lines:
        yield "## What was written down"
        yield "\n".join(lines)


def _conversations(pages: list[Entry]) -> Iterator[str]:
    if pages:
        yield "## Conversations"
        yield "\n".join(map(conversation_item, pages))


def _links(entries: list[Entry]) -> str:
    each = list({entry.page: entry for entry in entries}.values())
    more = f" and {len(each) - MOST_LINKS:,} more" if len(each) > MOST_LINKS else ""
    return ", ".join(map(page_link, each[:MOST_LINKS])) + more


def _turns(entry: Entry) -> Turns:
    return Turns(f"{UP}{entry.page}")
