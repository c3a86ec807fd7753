"""The blocks of a message as pieces of terminal output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import assert_never

from rich.console import Group, RenderableType
from rich.text import Text

from copilog.derive.line_counts import Lines, signed_lines
from copilog.derive.notes import Note
from copilog.view import View
from copilog.view.arguments import VALUE_LIMIT
from copilog.view.blocks import (
    AnyBlock,
    Call,
    Chip,
    Chips,
    Context,
    Edit,
    EventNote,
    Link,
    Prose,
    QuestionForm,
    Result,
    Shell,
    Thought,
    Todo,
    TypedText,
)
from copilog.view.prose import with_links
from copilog.view.terminal_text import clean, clean_line, clean_output
from copilog.view.wording import counted, in_sentence, markdown_as_plain
from copilog.writers.terminal_layout import TAB_COLUMNS, Piece, TextOptions, folded, joined
from copilog.writers.terminal_prose import prose

CONTEXT_LINES = 3
RESULT_LINES = 4
OUTPUT_LINES = 10
COMMAND_LINES = 8
DIFF_LINES = 20
MESSAGE_LINES = 6
TREE_LINES = 40
MOST_ARGUMENTS = 6
SHORT_ARGUMENT = 50  # characters: shorter ones share a line
MOST_PLACES = 5
NOTE_LIMIT = 300  # characters of a note, unless everything is shown

ICONS = {
    "succeeded": ("✓", "green"),
    "failed": ("✗", "red"),
    "denied": ("⊘", "red"),
    "skipped": ("⊘", "yellow"),
    "cancelled": ("⊘", "yellow"),
    "running": ("…", "yellow"),
    "unknown": ("·", "yellow"),
}
BOXES = {"done": ("[x]", "dim"), "doing": ("[~]", "bold"), "open": ("[ ]", "")}
SIGNS = {"compaction": "≡ ", "hook": "⚙ ", "warning": "⚠ ", "undone": "⚠ "}
LINE_STYLES = {"+": "green", "-": "red", "@": "cyan"}
PATCH_STYLES = {**LINE_STYLES, "*": "bold"}


class Drawer:
    """Draws blocks as the options require."""

    def __init__(self, view: View, options: TextOptions) -> None:
        self._view = view
        self._options = options
        self._full = options.full

    def blocks(self, blocks: Iterable[AnyBlock], level: int) -> Iterator[Piece]:
        """Yield consecutive blocks; warnings about prose are below all of it."""
        warned: list[str] = []
        for block in blocks:
            if isinstance(block, Prose):
                warned += block.warnings
            yield from self._block(block, level)
        if warned:
            yield Piece(Text("⚠ vulnerabilities: " + clean_line(", ".join(warned)), "yellow"), level)

    def notes(self, notes: Iterable[Note], level: int) -> Iterator[Piece]:
        """Yield a line for each note, without details; if everything is shown, all notes with all of their lines."""
        for note in notes:
            label = clean_line(note.label, 80)
            if self._full:
                yield Piece(folded(f"{label}: {clean_output(note.text)}", None, "dim"), level, hangs=True)
            elif not note.is_detail:
                text = clean_line(markdown_as_plain(note.text), NOTE_LIMIT)
                yield Piece(folded(f"{label}: {text}", None, "dim"), level, hangs=True)

    def _block(self, block: AnyBlock, level: int) -> Iterator[Piece]:
        match block:
            case Prose():
                text = with_links(clean(block.text), block.links, _link)
                yield Piece(prose(text, markdown=self._options.markdown), level, is_prose=True)
                targets = [
                    clean_line(link.where) for link in block.links if link.target and (self._full or not link.is_named)
                ]
                if targets:
                    yield Piece(Text(f"leads to {', '.join(dict.fromkeys(targets))}", "dim"), level, hangs=True)
                yield from self.notes(block.notes, level)
            case TypedText():
                yield Piece(_typed_text(block), level, is_prose=True)
                yield from self.notes(block.notes, level)
            case Thought():
                yield from self._thought(block, level)
            case Context():
                yield from self._context(block, level)
            case Chips():
                yield from self._chips(block, level)
            case Chip():
                yield from self._chip(block, level)
            case Call():
                yield from self._call(block, level)
            case Shell():
                yield from self._shell(block, level + 2)
            case Result():
                yield from self._lost_result(block, level)
            case Edit():
                if self._full or not block.is_in_call:
                    yield from self.edit(block, level)
            case Todo():
                yield self._todo(block, level + 2)
                yield from self.notes(block.notes, level + 2)
            case QuestionForm():
                yield from self._form(block, level)
            case EventNote():
                yield from self._notice(block, level)
            case _:
                assert_never(block)

    def _folded(self, text: str, lines: int, style: str = "") -> Text:
        """Return the first lines of a text; all of them if everything is shown."""
        return folded(clean_output(text), None if self._full else lines, style)

    # --- prose and context ----------------------------------------------------------------------------------------

    def _thought(self, block: Thought, level: int) -> Iterator[Piece]:
        size = counted(len(block.text), "character") if block.text else ""
        yield Piece(joined(["thinking", clean_line(block.title, 120), size, block.elapsed], style="dim italic"), level)
        if self._options.thinking and block.text:
            yield Piece(Text(clean(block.text), "dim italic"), level + 1)
        yield from self.notes(block.notes, level + 1)

    def _context(self, block: Context, level: int) -> Iterator[Piece]:
        """Yield the context that Copilot added to the prompt, piece by piece; nothing unless an option asks for it."""
        if not self._options.context:
            return
        title = (
            f"context · {in_sentence(block.title).removeprefix('context ')} · {counted(len(block.text), 'character')}"
        )
        yield Piece(Text(title, "dim italic"), level)
        for piece in block.pieces:
            if piece.is_own and piece.inside in block.typed:  # shown already
                continue
            name = f"<{clean_line(piece.name, 80)}>" if piece.name is not None else "text without a tag"
            yield Piece(Text(f"{name} · {counted(len(piece.text), 'character')}", "dim bold"), level + 1)
            yield Piece(self._folded(piece.inside, CONTEXT_LINES, "dim"), level + 2)
        yield from self.notes(block.notes, level + 1)

    def _chips(self, block: Chips, level: int) -> Iterator[Piece]:
        mentions = [Text(chip.name, "bold cyan") for chip in block.chips if chip.role == "mentioned"]
        if mentions and not self._full:
            yield Piece(Text("  ").join(mentions), level)
        for chip in block.chips:
            if chip.role != "mentioned" or self._full:
                yield from self._chip(chip, level)
        yield from self.notes(block.notes, level + 1)

    def _chip(self, chip: Chip, level: int) -> Iterator[Piece]:
        """Yield `[file] src/app.py:3-10`, and some of its text."""
        if chip.is_hidden and not self._options.context:
            return
        line = Text(f"[{chip.label}] ", "cyan")
        if chip.where and chip.name and chip.name not in chip.where:
            line.append(f"{chip.name}  ").append(chip.where, "dim")
        else:
            line.append(chip.where or chip.name)
        known = ", ".join(chip.facts)
        yield Piece(line.append(f"  ({known})", "dim") if known else line, level, hangs=True)
        if chip.text and (self._options.context or self._full):
            yield Piece(self._folded(chip.text, CONTEXT_LINES, "dim"), level + 1)
        yield from self.notes(chip.notes, level + 1)

    # --- calls ----------------------------------------------------------------------------------------------------

    def _call(self, call: Call, level: int) -> Iterator[Piece]:
        yield Piece(self._call_line(call), level, hangs=True)
        rest = self._arguments(call)
        if rest.plain:
            yield Piece(rest, level + 2)
        if call.has_patch:
            yield Piece(self._diff(call.patch, PATCH_STYLES), level + 2)
        if self._full and call.said not in ("", call.headline):
            yield Piece(Text(f"shown as: {call.said}", "dim"), level + 2)
        yield from self.notes(call.notes, level + 2)
        if call.helper is not None and (call.helper.facts or call.helper.task or call.helper.name != "Sub-agent"):
            named = "" if call.helper.name == "Sub-agent" else call.helper.name
            line = Text("↳ ", "cyan").append_text(joined([f"sub-agent {named}".strip(), *call.helper.facts]))
            yield Piece(line, level + 1)
            if call.helper.task:
                yield Piece(self._folded(call.helper.task, RESULT_LINES, "dim"), level + 2)
        for shell in call.shells:
            yield from self._shell(shell, level + 2)
        for message in self._view.messages(call.below):
            inner = list(self.blocks(message.blocks, level + 2 + (message.role in ("user", "system"))))
            if inner and message.role in ("user", "system"):
                yield Piece(Text(message.speaker, "bold green"), level + 2)
            yield from inner
        if call.helper is not None and call.helper.answer:
            yield Piece(self._folded(call.helper.answer, RESULT_LINES, "dim"), level + 2)
        for result in call.results:
            if self._full or not (result.is_said or result.is_file or result.is_output):
                yield from self._result(result, level + 2)

    def _call_line(self, call: Call) -> Text:
        icon, style = ICONS[call.status]
        line = Text.assemble((icon, style), " ", (call.name, "bold"))
        if call.headline and not (call.shells and not call.given.headline):
            line.append(f"  {call.headline}")
        append_lines(line, call.lines)
        remarks = joined(
            [clean_line(word) for word in (call.length, *call.remarks, *(call.details if self._full else ()))]
        )
        return line.append("  ").append_text(remarks) if remarks.plain else line

    def _arguments(self, call: Call) -> Text:
        """Return arguments that the headline does not show."""
        given = call.given
        if self._full:
            lines = [f"{name}: {value}" for name, value in given.rest]
            return folded("\n".join([given.text, *lines] if given.text else lines), None, "dim")
        if given.text:
            return folded(given.text, RESULT_LINES, "dim")
        rest = [(name, value) for name, value in given.rest if value != call.headline]
        shown = [f"{name}: {clean_line(value, VALUE_LIMIT)}" for name, value in rest[:MOST_ARGUMENTS]]
        short = [words for words in shown if len(words) <= SHORT_ARGUMENT]
        lines = [" · ".join(short)] if short else []
        lines += [words for words in shown if len(words) > SHORT_ARGUMENT]
        if len(rest) > len(shown):
            lines.append(f"… {counted(len(rest) - len(shown), 'more argument')}")
        return Text("\n".join(lines), "dim")

    def _lost_result(self, result: Result, level: int) -> Iterator[Piece]:
        yield Piece(Text(f"? the result of a call that is not here ({result.lost_call})", "dim"), level)
        yield from self._result(result, level + 2)

    def _result(self, result: Result, level: int) -> Iterator[Piece]:
        """Yield the result of a tool, shortened unless everything is shown."""
        style = "red" if result.is_error else "dim"
        text = (result.full_text if self._full else "") or result.text
        if text:
            yield Piece(self._folded(text, RESULT_LINES, style), level)
        elif result.is_error:
            words = "the output above" if result.is_output else "failed without a message"
            yield Piece(Text(words, style), level)
        if self._full and result.display:
            yield Piece(Text("shown in VS Code:", "dim italic"), level)
            yield Piece(folded(clean_output(result.display), None, "dim"), level)
        places = [chip.name for chip in result.chips if chip.label == "file"]
        if places and (self._full or not text):
            shown = places if self._full else places[:MOST_PLACES]
            more = f" and {len(places) - len(shown):,} more" if len(places) > len(shown) else ""
            yield Piece(Text(("\n" if self._full else ", ").join(shown) + more, "dim"), level)
        for chip in result.chips:
            if chip.label != "file":
                yield Piece(Text(f"[{chip.label}] {chip.name}", "dim"), level)
        for _, piece in result.pieces:
            yield Piece(self._folded(piece, RESULT_LINES, "dim"), level)
        if result.full_text:
            where = f" in {result.full_path}" if result.full_path else ""
            length = counted(len(result.full_text), "character")
            yield Piece(Text(f"the whole output, {length}{where}", "dim italic"), level)
        yield from self.notes(result.notes, level)

    def _shell(self, shell: Shell, level: int) -> Iterator[Piece]:
        """Yield the command, the end of its output, and how it ended."""
        command = folded(clean(shell.command), None if self._full else COMMAND_LINES, "bold")
        yield Piece(Text("$ ", "green").append_text(command), level)
        if shell.asked:
            asked = clean(shell.asked) if self._full else clean_line(shell.asked, VALUE_LIMIT)
            yield Piece(Text(f"changed by {shell.changed_by}; the model asked for: {asked}", "dim"), level)
        output = clean_output(shell.output).strip("\n")
        if output.strip():
            yield Piece(folded(output, None if self._full else OUTPUT_LINES, "dim", keep="tail"), level)
        code = shell.exit_code
        ended = Text(f"exit code {code}", "green" if code == 0 else "red") if code is not None else ""
        end = joined([ended, *shell.facts])
        if end.plain:
            yield Piece(end, level)
        yield from self.notes(shell.notes, level)

    # --- edits, lists, and the rest -------------------------------------------------------------------------------

    def edit(self, edit: Edit, level: int, *, has_diff: bool = True) -> Iterator[Piece]:
        """Yield an edit of a file: `✎ edited src/app.py  +12 -3`, and its diff."""
        line = Text.assemble(("✎ ", "cyan"), (edit.verb, "cyan"), " ", (edit.path, "bold"))
        if edit.new_path:
            line.append(f" to {edit.new_path}")
        append_lines(line, edit.lines)
        for fact in edit.facts:
            line.append(f"  {fact}", "dim")
        for warning in edit.warnings:
            line.append(f"  {warning}", "yellow")
        if edit.outcome_words:
            line.append(f"  {edit.outcome_words}", "dim" if edit.outcome == "kept" else "yellow")
        yield Piece(line, level, hangs=True)
        if edit.diff and has_diff:
            yield Piece(self._diff(edit.diff), level + 2)
        if edit.cells and self._full:
            yield Piece(folded(edit.cells, None, "dim"), level + 2)
        yield from self.notes(edit.notes, level + 2)

    def _diff(self, diff: str, styles: dict[str, str] = LINE_STYLES) -> RenderableType:
        """Return a diff in colours, without its file names, and shortened unless everything is shown."""
        lines = clean(diff).strip("\n").split("\n")
        first = next((index for index, line in enumerate(lines) if line.startswith("@@")), 0)
        if lines[0].startswith(("--- ", "diff --git ")):
            lines = lines[first:]
        shown = folded("\n".join(lines), None if self._full else DIFF_LINES)
        pieces: list[RenderableType] = []
        for style, group in groupby(shown.plain.split("\n"), key=lambda line: styles.get(line[:1], "dim")):
            pieces.append(Text("\n".join(group), style, tab_size=TAB_COLUMNS))
        return Group(*pieces)

    def _todo(self, todo: Todo, level: int) -> Piece:
        """Return the list with a box before each item."""
        lines: list[Text] = []
        for state, title, description in todo.tasks:
            box, style = BOXES[state]
            lines.append(Text(f"{box} {title}", style))
            if self._full and description:
                lines.append(Text(f"    {description}", "dim"))
        return Piece(Group(*lines) if lines else Text("[ ] an empty list", "dim"), level)

    def _form(self, asked: QuestionForm, level: int) -> Iterator[Piece]:
        line = Text.assemble(("? ", "yellow"), (asked.title, "bold"))
        if asked.state:
            line.append(f"  {asked.state}", "dim")
        yield Piece(line, level)
        if asked.message:
            limit = None if self._full or asked.is_plan else MESSAGE_LINES
            yield Piece(folded(clean(asked.message), limit), level + 1)
        for words, options, answer in asked.questions:
            inner = level + 2 if words else level + 1
            if words:
                yield Piece(Text(words), level + 1)
            if options:
                yield Piece(Text(" ".join(f"[{option}]" for option in options), "dim"), inner)
            if answer is not None:
                yield Piece(Text.assemble(("→ ", "green"), clean(answer)), inner)
        yield from self.notes(asked.notes, level + 1)

    def _notice(self, aside: EventNote, level: int) -> Iterator[Piece]:
        if aside.is_detail and not self._full:
            return
        words = clean(markdown_as_plain(aside.words)).strip()
        if aside.look == "tree":
            yield Piece(self._folded(aside.text, TREE_LINES), level)
        elif aside.look == "checkpoint":
            yield Piece(Text(f"checkpoint {', '.join(aside.facts)}", "dim"), level)
        elif aside.look == "unknown":
            yield Piece(Text(f"unknown part {', '.join(aside.facts)}", "yellow"), level)
        else:
            title = in_sentence(aside.title)
            is_loud = aside.is_serious or aside.look in ("warning", "undone", "compaction")
            style = "yellow" if is_loud else "dim"
            said = Text(SIGNS.get(aside.look, "· "), style)
            label = ": ".join(word for word in (title, words) if word)
            named = style if aside.look in ("undone", "warning") else "dim"
            yield Piece(said.append_text(joined([Text(label, named), *aside.facts])), level, hangs=True)
        if aside.text and self._full and aside.look != "tree":
            yield Piece(folded(clean(aside.text), None, "dim"), level + 1)
        yield from self.notes(aside.notes, level + 1)


def append_lines(line: Text, lines: Lines) -> None:
    """Add `  +12 -3`; unknown numbers are left out."""
    for number, words in enumerate(signed_lines(lines)):
        line.append(" " if number else "  ").append(words, "green" if words.startswith("+") else "red")


def _link(link: Link) -> str:
    return (clean(link.words) or link.where) + (f" ({clean(link.remark)})" if link.remark else "")


def _typed_text(block: TypedText) -> Text:
    """Return the text as typed, with mentions in colour."""
    body = Text(clean(block.text).rstrip())
    if body.plain == block.text.rstrip():  # else the offsets are invalid
        for start, end, _ in block.mentions:
            body.stylize("bold cyan", start, end)
    return body
