"""`copilog tags`"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from copilog.cli.common import Settings, finish, json_option, pass_settings, plural, strict_option, unread_files
from copilog.exports.json_text import json_text

if TYPE_CHECKING:
    from copilog.diagnostics import Report
    from copilog.ingest.trajectories import Inputs
    from copilog.tags import Catalogue

HEADS = ("Tag", "Blocks", "Messages", "Conversations", "Roles", "Attributes")
NEW = "Not in the catalogue: a tag of a newer Copilot, or text that only looks like a tag."
KNOWN = "Origin: who wrote its content. Key: the field of the context in which `copilog extract` stores it."
SHOWN_BAD = 5


@click.command(
    "tags",
    epilog="""\b
Examples:
  copilog tags trajectories.jsonl
  copilog tags ~/.config/Code/User/workspaceStorage -o tags.md
  copilog tags --json telemetry/ | jq '.tags[] | select(.is_known | not) | .name'""",
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write to this file, once it is complete. Default: standard output.",
)
@click.option(
    "--context-tag-map",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="PROMPT_CONTEXT_TAG_MAP",
    show_envvar=True,
    metavar="FILE",
    help="Use this tag catalogue instead of the built-in one.",
)
@json_option
@strict_option
@pass_settings
def command(
    settings: Settings,
    paths: tuple[Path, ...],
    output: Path | None,
    context_tag_map: Path | None,
    as_json: bool,
    strict: bool | None,
) -> int:
    """List the tags in the messages of conversations, known and new.

    Tags are markers such as <attachment> that Copilot writes around the context of a prompt. PATHs are trajectories,
    raw telemetry, or any file or folder of conversations. The list is a page of Markdown: how often each tag occurs,
    where, with which attributes, and what it encloses.
    """
    from copilog.diagnostics import Report
    from copilog.ingest.trajectories import sort_inputs
    from copilog.telemetry.tag_inventory import inventory_of

    catalogue = _catalogue(context_tag_map)
    inputs = sort_inputs(paths)
    if output is not None and output.exists() and any(output.samefile(path) for path in inputs.paths()):
        raise click.UsageError(f"{output} is one of the inputs; name another output")
    report = Report()
    document = inventory_of(_conversations(settings, inputs, report), catalogue).to_json()
    _write(_as_json(document) if as_json else page_of(document), output)
    _print_bad_records(report)
    return finish(
        settings,
        report,
        strict,
        _closing_line(document),
        unread_files(Counter(note.code for note in report.diagnostics())),
    )


def _catalogue(path: Path | None) -> Catalogue:
    from copilog.errors import UsageError
    from copilog.tags import load_catalogue

    try:
        return load_catalogue(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"the tag map cannot be used: {error}") from None


def _conversations(settings: Settings, inputs: Inputs, report: Report) -> Iterator[list[tuple[str, str]]]:
    """Yield the texts of each conversation, with their roles. One that is in telemetry is not read again."""
    import msgspec

    from copilog.cli.common import default_jobs
    from copilog.cli.extract import progress_bar
    from copilog.derive import without_superseded
    from copilog.telemetry.pipeline import Extraction, Options
    from copilog.telemetry.tag_inventory import texts_of
    from copilog.trajectory import ConversationTrajectory
    from copilog.trajectory.conversations import conversation_id

    decode = msgspec.json.Decoder(ConversationTrajectory).decode
    extracted: frozenset[str] = frozenset()
    if inputs.telemetry:
        options = Options(require_system_first=False, jobs=default_jobs())
        with progress_bar(settings) as progress:
            extraction = Extraction(inputs.telemetry, options, report, progress)
            for line in extraction.lines():
                yield [(message.role, message.content) for message in decode(line).messages]
            extracted = extraction.keys
    with settings.progress("reading") as advance:
        for conversation in inputs.conversations(report):
            if conversation_id(conversation) not in extracted:
                yield texts_of(without_superseded(conversation))
            advance()


def _write(text: str, output: Path | None) -> None:
    from copilog.atomic_files import atomic_file

    if output is None:
        click.echo(text, nl=False)
        return
    with atomic_file(output, is_private=True) as file:
        file.write(text.encode())


def _as_json(document: dict[str, Any]) -> str:

    return json_text(document) + "\n"


def _print_bad_records(report: Report) -> None:
    """Print the positions of bad records in telemetry; `copilog inspect` shows those of other files."""
    from copilog.cli.ledger_output import print_bad_records
    from copilog.telemetry.run_ledgers import SOURCE

    print_bad_records([ledger for ledger in report.files.values() if ledger.source == SOURCE], SHOWN_BAD)


def _closing_line(document: dict[str, Any]) -> str:
    tags = len(document["tags"])
    return f"{_counts_text(document)}: {tags:,} {plural(tags, 'tag')}, {document['new_tags']:,} of them new"


def _counts_text(document: dict[str, Any]) -> str:
    conversations, messages = document["conversations"], document["messages"]
    return f"{messages:,} {plural(messages, 'message')} of {conversations:,} {plural(conversations, 'conversation')}"


# --- the page -----------------------------------------------------------------------------------------------------


def page_of(document: dict[str, Any]) -> str:
    """Return the list of tags as Markdown, new tags first, because those are what the reader looks for."""
    tags = document["tags"]
    new = [tag for tag in tags if not tag["is_known"]]
    known = [tag for tag in tags if tag["is_known"]]
    lines = ["# Tags", "", f"{_counts_text(document)}: {len(known):,} known and {len(new):,} new tags.", ""]
    if new:
        lines += ["## New tags", "", NEW, "", *_table(new, HEADS), "", "### Examples", "", *_examples(new), ""]
    if known:
        heads = (*HEADS, "Origin", "Key")
        lines += ["## Known tags", "", KNOWN, "", *_table(known, heads), "", "### Examples of known tags", ""]
        lines += [*_examples(known), ""]
    return "\n".join(lines)


def _table(tags: list[dict[str, Any]], heads: tuple[str, ...]) -> Iterator[str]:
    yield _row(list(heads))
    yield _row(["---:" if head in ("Blocks", "Messages", "Conversations") else "---" for head in heads])
    for tag in tags:
        numbers = [f"{tag[key]:,}" for key in ("count", "messages", "conversations")]
        roles = ", ".join(f"{role} {number:,}" for role, number in tag["roles"].items())
        attributes = ", ".join(f"`{name}`" for name in tag["attributes"])
        cells = [f"`{tag['name']}`", *numbers, roles, attributes, tag["origin"] or "", tag["key"] or ""]
        yield _row(cells[: len(heads)])


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _examples(tags: list[dict[str, Any]]) -> Iterator[str]:
    for tag in tags:
        for snippet in tag["snippets"]:
            yield f"- `{tag['name']}`: {_as_code(snippet)}"


def _as_code(text: str) -> str:
    """Return text as Markdown code, without characters that control a terminal."""
    from copilog.view.terminal_text import clean_line

    line = clean_line(text)
    longest = max(map(len, re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {line} {fence}" if longest else f"{fence}{line}{fence}"
