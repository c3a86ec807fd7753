"""`copilog digest`"""

from __future__ import annotations

import hmac
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from copilog.cli.archives import meant_in, reads_archive, searched_archive
from copilog.cli.common import Settings, default_jobs, json_option, pass_settings, plural, printable
from copilog.cli.redacting import (
    decisions_for,
    is_redacted,
    print_replaced,
    private_in,
    redact_option,
    redacted_conversations,
)
from copilog.cli.selection_options import selects
from copilog.diagnostics import Report
from copilog.errors import UsageError

if TYPE_CHECKING:
    from copilog.digest import Digest, Written
    from copilog.exports.chosen import Chosen
    from copilog.redaction import Redactor
    from copilog.store.archive import Archive
    from copilog.store.selection import Selection

MOST_LISTED = 20
INCOMPLETE = 3  # exit code: some pages could not be written


@click.command(
    "digest",
    epilog="""\b
Examples:
  copilog digest -o notes/
  copilog digest -w tide-tables --since 3mo -o docs/learnt/ --redact
  copilog digest last
  copilog digest -w tide-tables --prompt > prompt.txt
  copilog digest -w tide-tables --agents-md >> AGENTS.md""",
)
@click.argument("targets", metavar="[ID|last]...", nargs=-1)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The folder for the pages: one for each conversation and workspace, and indexes by time, topic and file.",
)
@click.option(
    "--prompt", "as_prompt", is_flag=True, help="Print the sources as a prompt, for a model that is to write the prose."
)
@click.option(
    "--agents-md",
    "as_section",
    is_flag=True,
    help="Print a section for AGENTS.md: commands that a user approved and that succeeded in three conversations.",
)
@redact_option
@json_option
@pass_settings
@selects
@reads_archive
def command(
    settings: Settings,
    /,
    targets: tuple[str, ...],
    output: Path | None,
    as_prompt: bool,
    as_section: bool,
    redact: bool | None,
    as_json: bool,
    selection: Selection,
) -> int:
    """Write pages about what was learnt, from what conversations recorded.

    Checkpoints, summaries, plans, memories and to-do lists come first, then files, commands with their exit codes,
    commits, and what failed before it succeeded. Each statement says where it is from. No model is called, and output
    of tools is left out. Without -o, the pages of the named conversations are printed.

    A later run into the same folder changes only what changed, and covers the conversations of the earlier ones, too.
    What you write between the marked lines at the end of a page is kept. A page that was changed elsewhere is not
    written again; then the exit code is 3.
    """
    from copilog.store.selection import Selection

    if sum((output is not None, as_prompt, as_section)) > 1:
        raise UsageError("-o, --prompt and --agents-md cannot be combined")
    if as_json and output is None:
        raise UsageError("--json describes what was written to a folder; name one with -o")
    if targets and selection != Selection():
        raise UsageError("ids cannot be used together with options that select conversations")
    with searched_archive(settings, Report()) as archive, ExitStack() as open_files:
        if as_section:
            return _print_section(archive, targets, selection)
        ids = _selected(archive, targets, selection)
        if output is None and not as_prompt and not targets:
            raise UsageError("name a folder for the pages, as in `copilog digest -o notes/`, or conversations to print")
        redactor = _redactor(settings, archive, redact, output)
        chosen = _chosen(archive, ids, output, redactor, open_files)
        if output is None:
            _print(chosen, as_prompt)
            result = 0
        else:
            with settings.progress("writing pages", len(chosen.entries)) as advance:
                from copilog.digest import write_digest

                written = write_digest(chosen, output, advance)
            result = _summarize(written, as_json)
        if redactor is not None:
            print_replaced(redactor.counts)
        return result


# --- which conversations --------------------------------------------------------------------------------------------


def _selected(archive: Archive, targets: tuple[str, ...], selection: Selection) -> list[str]:
    if targets:
        return list(dict.fromkeys(meant_in(archive, target) for target in targets))
    ids = [summary.id for summary in archive.list_selected(selection)]
    if not ids:
        raise UsageError("no conversation matches; `copilog list` lists all")
    return ids


def _chosen(
    archive: Archive, ids: list[str], output: Path | None, redactor: Redactor | None, open_files: ExitStack
) -> Chosen:
    """Return the conversations, with those that the folder covers already."""
    from copilog.digest import covered_by, with_memories
    from copilog.exports.chosen import chosen_in, held

    if output is not None:
        ids = with_memories(archive, list(dict.fromkeys([*ids, *covered_by(output)])))
    chosen = chosen_in(archive, ids)
    if redactor is None:
        return chosen
    conversations = redacted_conversations(archive, [each.id for each in chosen.entries], redactor, default_jobs())
    return open_files.enter_context(held(chosen, conversations, redactor))


def _redactor(settings: Settings, archive: Archive, redact: bool | None, output: Path | None) -> Redactor | None:
    """Return what redacts the pages; in a folder, a later run makes the same placeholders, so that pages stay equal.

    Their key is made from one that stays beside the archive, and differs from folder to folder.
    """
    if not is_redacted(settings, redact):
        return None
    from copilog.redaction import Redactor

    own = None if settings.reads_disk() else archive.path
    decisions = decisions_for(own)
    key = None
    if output is not None and own is not None:
        if not decisions.is_stored:
            decisions.save()
        key = hmac.digest(decisions.key, f"digest {output.resolve()}".encode("utf-8", "replace"), "sha256")
    return Redactor(private_in(settings), keeps=decisions.keeps, key=key)


# --- output ---------------------------------------------------------------------------------------------------------


def _print(chosen: Chosen, as_prompt: bool) -> None:
    from copilog.digest import source_prompt
    from copilog.digest.conversation_page import conversation_page

    digests = _digests(chosen)
    if as_prompt:
        click.echo(source_prompt(digests), nl=False)
        return
    for digest in digests:
        click.echo("\n\n".join(block for block in conversation_page(digest) if block))


def _digests(chosen: Chosen) -> list[Digest]:
    from copilog.digest import digest_of

    return [digest_of(chosen.get(each.id), list(each.added.labels), each.added.note) for each in chosen.entries]


def _print_section(archive: Archive, targets: tuple[str, ...], selection: Selection) -> int:
    from copilog.analysis.commands import command_runs
    from copilog.analysis.selection import choose
    from copilog.digest import agents_section

    if targets:
        raise UsageError("--agents-md compares conversations; select them with options such as -w")
    section = agents_section(command_runs(choose(archive, selection)))
    if section:
        click.echo(section)
    else:
        click.echo(
            "no build, test, check, run or install command was approved by a user and ended with exit code 0 in three "
            "conversations",
            err=True,
        )
    return 0


def _summarize(written: Written, as_json: bool) -> int:
    """Print what was written, and what was not."""
    pages = len(written.written)
    facts = [f"{pages:,} {plural(pages, 'page')} written", f"{written.unchanged:,} unchanged"]
    if written.removed:
        facts.append(f"{len(written.removed):,} removed")
    conversations = f"{written.conversations:,} {plural(written.conversations, 'conversation')}"
    click.echo(f"{printable(str(written.folder))}: {conversations}; {', '.join(facts)}", err=True)
    if written.without_page:
        number = f"{written.without_page:,} {plural(written.without_page, 'conversation')}"
        click.echo(f"{number} without a page: nothing was recorded but prompts or memories", err=True)
    for name in written.kept[:MOST_LISTED]:
        click.echo(f"kept: {printable(name)}: its conversation is no longer there, and you wrote on it", err=True)
    for name in written.edited[:MOST_LISTED]:
        click.echo(
            f"not written: {printable(name)}: was changed outside of the marked lines; move your text between them, "
            "or delete the file, and run this again",
            err=True,
        )
    for conversation_id, reason in written.failed[:MOST_LISTED]:
        click.echo(f"not written: {printable(conversation_id)}: {printable(reason)}", err=True)
    if len(written.kept) > MOST_LISTED:
        click.echo(f"kept: {len(written.kept) - MOST_LISTED:,} more", err=True)
    more = len(written.edited[MOST_LISTED:]) + len(written.failed[MOST_LISTED:])
    if more:
        click.echo(f"not written: {more:,} more", err=True)
    if as_json:
        from copilog.cli.json_output import print_json

        print_json(written._asdict() | {"folder": str(written.folder)})
    return INCOMPLETE if written.edited or written.failed else 0
