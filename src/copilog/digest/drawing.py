"""Draw the items that pages of conversations and of workspaces share."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from copilog.digest.content import Attempt, CommandUse, FileWork, NamedReference, Pitfall, Task
from copilog.digest.safe_markdown import link, words
from copilog.uris import uri_to_path
from copilog.view.parts import STATES
from copilog.writers.html.characters import visible, visible_line
from copilog.writers.markdown_text import fence, span

LONGEST_COMMAND = 4000
BOXES = {"done": "x", "doing": " ", "open": " "}
KINDS = {"test": "Test", "build": "Build", "check": "Check", "run": "Run", "install": "Install"}
REFERENCES = {"commit": "commit", "pull-request": "pull request", "issue": "issue"}
MOST_NUMBERS = 8


class Turns:
    """Makes links to the turns of one conversation, from the page that they are on."""

    def __init__(self, page: str = "") -> None:
        self._page = page

    def of(self, number: int | None) -> str:
        """Return a link to a turn; nothing if the turn is not known."""
        return link(f"turn {number}", self._page, f"turn-{number}") if number is not None else ""

    def all(self, numbers: Iterable[int]) -> str:
        listed = list(numbers)
        more = f" and {len(listed) - MOST_NUMBERS} more" if len(listed) > MOST_NUMBERS else ""
        return ", ".join(self.of(number) for number in listed[:MOST_NUMBERS]) + more


def front_matter(facts: dict[str, Any]) -> str:
    """Return facts as YAML between two lines of dashes; those that are not known are left out."""
    import yaml

    known = {name: value for name, value in facts.items() if value not in (None, "", [])}
    return f"---\n{yaml.safe_dump(known, sort_keys=False, allow_unicode=True, width=10_000)}---"


def moment_text(moment: datetime | None) -> str:
    """Return a time in UTC, so that a page is the same wherever it is made."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if moment is not None else ""


def day_text(moment: datetime | None) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d") if moment is not None else ""


def period_text(first: datetime | None, last: datetime | None) -> str:
    """Return two times, or one if they are of the same minute."""
    texts = dict.fromkeys(text for text in (moment_text(first), moment_text(last)) if text)
    return " to ".join(texts)


def shown_path(path: str, folder: str | None) -> str:
    """Return a path below the workspace folder without it; a URI of a file as a path."""
    path = _plain_path(path).replace("\\", "/")
    if folder:
        above = _plain_path(folder).replace("\\", "/").rstrip("/") + "/"
        if path.lower().startswith(above.lower()) and len(path) > len(above):
            return str(PurePosixPath(path[len(above) :]))
    return path


def is_outside(shown: str) -> bool:
    """Return whether a path is not below the workspace folder, as that of a session's own plan."""
    return shown.startswith(("/", "~")) or shown[1:3] == ":/" or "://" in shown


def _plain_path(path: str) -> str:
    return (uri_to_path(path) or path) if "://" in path else path


def command_item(command: str, facts: str) -> str:
    """Return a command of one line as a list item, a longer one as a block with the facts above it."""
    text = visible(command).strip("\n")
    if "\n" not in text and len(text) <= 300:
        return f"- {span(text)}{f': {facts}' if facts else ''}"
    shown = text[:LONGEST_COMMAND] + ("\n…" if len(text) > LONGEST_COMMAND else "")
    return f"- A command of several lines{f': {facts}' if facts else ''}\n\n{fence(shown, 'sh')}\n"


def command_facts(use: CommandUse, turns: Turns) -> str:
    end = "its end is not recorded" if use.exit_code is None else f"exit code {use.exit_code}"
    runs = f", last of {use.runs:,} runs" if use.runs > 1 else ""
    directory = f", in {span(use.directory)}" if use.directory else ""
    return ", ".join(part for part in (f"{end}{runs}{directory}", turns.of(use.number)) if part)


def file_item(work: FileWork, folder: str | None, turns: Turns) -> str:
    facts = [" and ".join(work.actions), work.outcome or "", turns.all(work.numbers)]
    return f"- {span(shown_path(work.path, folder))}: {', '.join(fact for fact in facts if fact)}"


def reference_item(reference: NamedReference, turns: Turns) -> str:
    name = words(reference.name)
    shown = link_to_web(name, reference.url)
    message = f"“{words(reference.message, 200)}”" if reference.message else ""
    facts = [message, "made here" if reference.is_made else "", turns.of(reference.number)]
    said = ", ".join(fact for fact in facts if fact)
    return f"- {REFERENCES.get(reference.kind, reference.kind)} {shown}{f': {said}' if said else ''}"


def link_to_web(label: str, url: str | None) -> str:
    """Return a link to an address of the web, if it is one that cannot end its own brackets."""
    if url and url.startswith(("https://", "http://")) and not set(url) & set(" ()<>[]\\\"'`\n"):
        return f"[{label}]({url})"
    return label


def pitfall_item(pitfall: Pitfall, turns: Turns) -> str:
    """Return both attempts, and how many failed before."""
    more = f", after {pitfall.failures - 1:,} more that failed" if pitfall.failures > 2 else ""
    if pitfall.failures == 2:
        more = ", after one more that failed"
    failed, succeeded = pitfall.failed, pitfall.succeeded
    if (failed.text, failed.directory) == (succeeded.text, succeeded.directory):
        return (
            f"- {_attempt(failed)} failed{_code(failed)} in {turns.of(failed.number) or 'an unknown turn'}{more}; "
            f"it succeeded in {turns.of(succeeded.number) or 'an unknown turn'}"
        )
    return (
        f"- {_attempt(failed)} failed{_code(failed)} in {turns.of(failed.number) or 'an unknown turn'}{more}; "
        f"{_attempt(succeeded)} succeeded in {turns.of(succeeded.number) or 'an unknown turn'}"
    )


def task_item(task: Task) -> str:
    state = STATES.get(task.status or "", "open")
    doing = " (in progress)" if state == "doing" else ""
    return f"- [{BOXES[state]}] {words(task.title)}{doing}"


def _attempt(attempt: Attempt) -> str:
    where = f" in {span(attempt.directory)}" if attempt.is_command and attempt.directory else ""
    return span(visible_line(attempt.text, 300)) + where


def _code(attempt: Attempt) -> str:
    return f" (exit code {attempt.exit_code})" if attempt.exit_code is not None else ""
