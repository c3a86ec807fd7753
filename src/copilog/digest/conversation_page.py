"""Draw the page of one conversation. A section is there only if a record says something about it."""

from __future__ import annotations

from collections.abc import Iterator

from copilog.digest.content import CommandUse, Digest, Passage, Section
from copilog.digest.drawing import (
    KINDS,
    Turns,
    command_facts,
    command_item,
    file_item,
    front_matter,
    moment_text,
    period_text,
    pitfall_item,
    reference_item,
    task_item,
)
from copilog.digest.safe_markdown import link, passage, words
from copilog.writers.html.characters import visible_line
from copilog.writers.markdown_text import span

LONGEST_PROMPT = 2000
PASSAGES: tuple[tuple[Section, str], ...] = (
    ("overview", "Overview"),
    ("work done", "Work done"),
    ("technical details", "Technical details"),
    ("important files", "Important files"),
    ("plan", "Plan"),
    ("research", "Research"),
    ("memory", "Memories"),
    ("history", "History"),
)
NO_RECORDS = (
    "No checkpoint, summary, plan, memory or to-do list was recorded. What follows is counted from the conversation."
)


def conversation_page(digest: Digest, workspace: tuple[str, str] | None = None) -> Iterator[str]:
    """Yield the blocks of the page; `workspace` is the name and the page of its workspace."""
    turns = Turns()
    yield _front_matter(digest)
    yield f"# {words(digest.title)}"
    yield " · ".join(_facts(digest, workspace))
    if digest.counts:
        yield ", ".join(digest.counts) + "."
    yield f"The whole conversation: {span(f'copilog show {digest.id}')}"
    if digest.note:
        yield f"Your note: {words(digest.note, 2000)}"
    if not digest.has_records:
        yield NO_RECORDS
    for section, heading in PASSAGES:
        yield from _passages(digest, section, heading, turns)
    yield from _tasks(digest, turns)
    yield from _list("Files changed", [file_item(work, digest.workspace, turns) for work in digest.files])
    yield from _list("Commits, pull requests and issues", [reference_item(each, turns) for each in digest.references])
    yield from commands(digest.commands, turns)
    yield from _list("Pitfalls", [pitfall_item(each, turns) for each in digest.pitfalls])
    yield from _passages(digest, "next steps", "Next steps", turns)
    yield from _prompts(digest)


def commands(uses: list[CommandUse], turns: Turns) -> Iterator[str]:
    """Yield the commands by what they are for."""
    if uses:
        yield "## Commands that matter"
    for kind, heading in KINDS.items():
        items = [command_item(use.command, command_facts(use, turns)) for use in uses if use.kind == kind]
        if items:
            yield f"### {heading}"
            yield "\n".join(items)


def origin_text(passage: Passage, turns: Turns) -> str:
    """Return where a passage is from."""
    origin = passage.origin
    facts = [words(origin.words), turns.of(origin.number), moment_text(origin.at)]
    return f"*From {', '.join(fact for fact in facts if fact)}*"


def _front_matter(digest: Digest) -> str:
    return front_matter(
        {
            "title": visible_line(digest.title, 300),
            "id": digest.id,
            "source": digest.source,
            "date": moment_text(digest.started_at or digest.updated_at),
            "updated": moment_text(digest.updated_at),
            "workspace": digest.workspace,
            "repository": digest.repository,
            "branch": digest.branch,
            "agents": digest.agents,
            "tags": digest.labels,
        }
    )


def _facts(digest: Digest, workspace: tuple[str, str] | None) -> Iterator[str]:
    period = period_text(digest.started_at or digest.updated_at, digest.updated_at)
    if period:
        yield period
    if workspace is not None:
        yield link(words(workspace[0]), workspace[1])
    if digest.repository:
        yield words(digest.repository)
    if digest.branch:
        yield f"branch {span(digest.branch)}"
    if digest.agents:
        yield f"agent {', '.join(words(agent) for agent in digest.agents)}"
    yield words(digest.source)


def _passages(digest: Digest, section: Section, heading: str, turns: Turns) -> Iterator[str]:
    found = [each for each in digest.passages if each.section == section]
    if found:
        yield f"## {heading}"
    for each in found:
        yield passage(each.text, 3)
        yield origin_text(each, turns)


def _tasks(digest: Digest, turns: Turns) -> Iterator[str]:
    if digest.tasks:
        yield "## To do"
    for tasks in digest.tasks:
        yield "\n".join(map(task_item, tasks.tasks))
        facts = ["the last state of the list", turns.of(tasks.origin.number), moment_text(tasks.origin.at)]
        yield f"*{', '.join(fact for fact in facts if fact)}*"


def _list(heading: str, items: list[str]) -> Iterator[str]:
    if items:
        yield f"## {heading}"
        yield "\n".join(items)


def _prompts(digest: Digest) -> Iterator[str]:
    """Yield the prompts, each under a heading that other pages lead to."""
    if digest.prompts:
        yield "## Prompts"
    for asked in digest.prompts:
        yield f"### Turn {asked.number}"
        text = asked.text
        yield passage(text if len(text) <= LONGEST_PROMPT else f"{text[:LONGEST_PROMPT]}…", 4) or "(no words)"
        if asked.at is not None:
            yield moment_text(asked.at)
