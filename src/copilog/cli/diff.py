"""`copilog diff`: what a conversation did to files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from copilog.cli.archives import meant_in, reads_archive, searched_archive
from copilog.cli.common import Settings, json_option, one_line, pass_settings, plural, printable
from copilog.cli.show import as_turns
from copilog.diagnostics import Report
from copilog.errors import UsageError

if TYPE_CHECKING:
    from copilog.analysis.lineage.file_patches import ConversationDiff, FileDiff, ListedEdit
    from copilog.analysis.lineage.work_tree import WorkTree
    from copilog.model import Conversation

DONE, IS_INCOMPLETE = 0, 3  # exit codes
COLOURS = {"+": "green", "-": "red", "@": "cyan"}
MOST_LINES = 40  # of a text that is not in a patch
LETTERS = {"create": "A", "delete": "D", "rename": "R", "edit": "M"}


@click.command(
    "diff",
    epilog="""\b
Examples:
  copilog diff last
  copilog diff 5f0c2a9e src/tides.py --turn 2
  copilog diff last --stat
  copilog diff 5f0c2a9e --patch | git apply --3way""",
)
@click.argument("target", metavar="ID|last")
@click.argument("file", metavar="[FILE]", required=False)
@click.option(
    "-t", "--turn", "turns", metavar="N[-M]", callback=as_turns, help="Only edits of this turn, or this range of turns."
)
@click.option("--stat", "as_stat", is_flag=True, help="Print one line for each file.")
@click.option("--patch", "as_patch", is_flag=True, help="Print a patch for `git apply`, and nothing else.")
@click.option(
    "--work-tree",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="The folder that the patch is for; default: that of the conversation, else the current one. In a git "
    "repository it is the top of its work tree.",
)
@click.option(
    "--recorded-folder",
    metavar="PATH",
    help="The folder in the recorded paths that is the work tree here; default: that of the conversation.",
)
@json_option
@pass_settings
@reads_archive
def command(
    settings: Settings,
    /,
    target: str,
    file: str | None,
    turns: tuple[int, int] | None,
    as_stat: bool,
    as_patch: bool,
    work_tree: Path | None,
    recorded_folder: str | None,
    as_json: bool,
) -> int:
    """Show what a conversation did to files.

    For each file, its diff is printed, with the turns of the edits, what the user did with them as far as it was
    recorded (kept, undone, changed), and how the file in the work tree compares now. The text before is that of a
    snapshot, of an edit that wrote the whole file, of the commit that the conversation began at, or of the work tree,
    where the old text of every edit must be found exactly once. Edits without such a text are listed with their old
    and new text, and the reason. Edits that were undone are in no diff.

    --patch prints the diffs as one patch, to be applied by git at the top of the work tree. No path in it leads out of
    the work tree. The exit code is 3 if an edit was left out, and standard error says which.
    """
    if sum((as_stat, as_patch, as_json)) > 1:
        raise click.UsageError("--stat, --patch and --json cannot be combined")
    from copilog.analysis.lineage.file_patches import diff_of_conversation

    with searched_archive(settings, Report()) as archive:
        conversation = archive.get(meant_in(archive, target))
    if turns is not None and turns[0] > len(conversation.turns):
        number = len(conversation.turns)
        raise UsageError(f"there is no turn {turns[0]}; the conversation has {number:,} {plural(number, 'turn')}")
    tree = _work_tree(conversation, work_tree, recorded_folder)
    result = diff_of_conversation(conversation, tree, file=file, turns=turns)
    if as_patch:
        _write_patch(result.patch)
        for line in _left_out_lines(result):
            click.echo(line, err=True)
    elif as_json:
        from copilog.cli.json_output import print_json

        print_json(result)
    else:
        for line in _stat_lines(result) if as_stat else _lines(result):
            click.echo(line, color=settings.in_color())
    click.echo(_summary(result), err=True)
    return IS_INCOMPLETE if as_patch and result.left_out else DONE


def _work_tree(conversation: Conversation, named: Path | None, recorded: str | None) -> WorkTree:
    from copilog.analysis.lineage.work_tree import WorkTree

    workspace = conversation.workspace.folder if conversation.workspace is not None else None
    folder = named
    if folder is None and workspace is not None and _is_folder(workspace):
        folder = Path(workspace)
    return WorkTree(folder or Path(), [home for home in (recorded, workspace) if home])


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_absolute() and Path(path).is_dir()
    except (OSError, ValueError):
        return False


def _write_patch(patch: str) -> None:
    """Write the patch as it is, for git; to a terminal, without characters that control it."""
    if sys.stdout.isatty():
        click.echo(printable(patch), nl=False)
    else:
        click.echo(patch.encode(), nl=False)


# --- for people -------------------------------------------------------------------------------------------------------


def _lines(result: ConversationDiff) -> Iterator[str]:
    for index, file in enumerate(result.files):
        if index:
            yield ""
        yield from _head(file)
        for line in (file.patch or "").split("\n")[:-1]:
            yield click.style(printable(line), fg=COLOURS.get(line[:1]))
        for edit in file.left_out:
            yield from _edit_lines(edit, "left out")
        for edit in file.undone:
            yield from _edit_lines(edit, "undone")


def _head(file: FileDiff) -> Iterator[str]:
    name = one_line(file.path if file.old_path is None else f"{file.old_path} -> {file.path}")
    yield f"{LETTERS.get(file.action, 'M')} {click.style(name, bold=True)}{_counts(file)}"
    facts = [_turns(file.numbers), ", ".join(file.outcomes), file.now or ""]
    if file.basis is not None:
        facts.append(f"text before: {file.basis}")
    yield click.style("  " + "; ".join([*filter(None, facts), *file.notes]), dim=True)


def _turns(numbers: list[int]) -> str:
    return f"{plural(len(numbers), 'turn')} {', '.join(map(str, numbers))}" if numbers else ""


def _counts(file: FileDiff) -> str:
    return "" if file.added is None else f"  +{file.added:,} -{file.removed or 0:,}"


def _edit_lines(edit: ListedEdit, label: str) -> Iterator[str]:
    words = [f"  {label}:", f"turn {edit.number}," if edit.number is not None else "", edit.tool or edit.action]
    yield click.style(f"{one_line(' '.join(filter(None, words)))}: {one_line(edit.reason)}", fg="yellow")
    for piece in edit.pieces:
        for sign, text in (("-", piece.old), ("+", piece.new)):
            lines = printable(text).split("\n")
            lines = lines[:-1] if not lines[-1] else lines
            yield from (click.style(f"    {sign}{line}", fg=COLOURS[sign]) for line in lines[:MOST_LINES])
            if len(lines) > MOST_LINES:
                yield f"    and {len(lines) - MOST_LINES:,} more lines (--json has all)"


def _stat_lines(result: ConversationDiff) -> Iterator[str]:
    for file in result.files:
        name = one_line(file.path if file.old_path is None else f"{file.old_path} -> {file.path}")
        facts = [
            _turns(file.numbers),
            ", ".join(file.outcomes),
            file.now or "",
            f"{len(file.left_out)} left out" if file.left_out else "",
            f"{len(file.undone)} undone" if file.undone else "",
        ]
        yield f"{LETTERS.get(file.action, 'M')} {name}{_counts(file)}  " + click.style(
            "; ".join(filter(None, facts)), dim=True
        )


def _left_out_lines(result: ConversationDiff) -> Iterator[str]:
    """Yield what a reader of the patch must know: notes on files, and the edits that are not in it."""
    for file in result.files:
        yield from (f"{one_line(file.path)}: {note}" for note in file.notes)
        for edit in file.left_out:
            turn = f", turn {edit.number}" if edit.number is not None else ""
            yield f"left out: {one_line(file.path)}{turn}: {one_line(edit.reason)}"


def _summary(result: ConversationDiff) -> str:
    if not result.files:
        return "no edits of files are recorded"
    number = sum(file.patch is not None for file in result.files)
    what = f"{number:,} of {len(result.files):,} {plural(len(result.files), 'file')} as a patch for {result.work_tree}"
    left_out = f"; {result.left_out:,} {plural(result.left_out, 'edit')} left out" if result.left_out else ""
    return printable(what + left_out)
