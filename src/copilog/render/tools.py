"""Tool calls: one line each, and below it what was asked, what was changed, what was run, and what came back."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group
from rich.text import Text

from copilog.derive.exit_codes import code_beside
from copilog.derive.line_counts import lines_of_call
from copilog.derive.notes import notes_of
from copilog.derive.outcomes import is_failure, outcome_of
from copilog.model import SubAgent, Terminal, TodoList, ToolCall, ToolResult
from copilog.render.arguments import VALUE_LIMIT, Arguments
from copilog.render.changes import PATCH_STYLES, append_lines, diff_lines
from copilog.render.layout import Block, Scene, folded, joined
from copilog.render.notes import note_blocks
from copilog.render.safe import clean, clean_line, clean_output
from copilog.render.words import (
    approval_words,
    counted,
    duration_words,
    outcome_words,
    path_words,
    place_words,
    size_words,
)

RESULT_LINES = 4
OUTPUT_LINES = 10
COMMAND_LINES = 8
MOST_ARGUMENTS = 6
SHORT_ARGUMENT = 50  # characters: several of these share a line
MOST_PLACES = 5

ICONS = {
    "succeeded": ("✓", "green"),
    "failed": ("✗", "red"),
    "denied": ("⊘", "red"),
    "skipped": ("⊘", "yellow"),
    "cancelled": ("⊘", "yellow"),
    "running": ("…", "yellow"),
    "unknown": ("·", "yellow"),
}
CHECKS = {"completed": "[x]", "in-progress": "[~]", "in_progress": "[~]", "not-started": "[ ]"}


def call_blocks(call: ToolCall, arguments: Arguments, scene: Scene, level: int, remark: str = "") -> Iterator[Block]:
    """The call itself: its line, with a remark at its end, and its arguments below."""
    yield Block(_headline(call, arguments, scene, remark), level, hangs=True)
    rest = _rest_of(arguments, scene)
    if rest.plain:
        yield Block(rest, level + 2)
    if arguments.patch:
        yield Block(diff_lines(arguments.patch, scene, PATCH_STYLES), level + 2)
    yield from note_blocks(notes_of(call), scene, level + 2)
    if call.subagent is not None:
        yield from _subagent_blocks(call.subagent, scene, level + 1)


def _headline(call: ToolCall, arguments: Arguments, scene: Scene, remark: str) -> Text:
    kind = outcome_of(call).kind
    icon, style = ICONS[kind]
    line = Text.assemble((icon, style), " ", (clean_line(call.name, 80) or "a tool without a name", "bold"))
    if arguments.headline:
        line.append(f"  {arguments.headline}")
    append_lines(line, lines_of_call(call))
    words: list[str] = [remark, *outcome_words(call, full=scene.options.full)]
    words.append(approval_words(call.approval, full=scene.options.full))
    if call.origin == "mcp":
        words.append(f"MCP server {clean_line(call.server or '', 60)}".strip())
    elif call.server:
        words.append(clean_line(call.server, 60))
    if scene.options.full:
        words += [f"called {call.id}", "hidden in VS Code" if call.is_hidden else ""]
    remarks = joined([clean_line(word) for word in words])
    if remarks.plain:
        line.append("  ").append_text(remarks)
    return line


def _rest_of(arguments: Arguments, scene: Scene) -> Text:
    """Arguments that the line does not show."""
    if scene.options.full:
        lines = [f"{name}: {value}" for name, value in arguments.rest]
        return folded("\n".join([arguments.text, *lines] if arguments.text else lines), None, "dim")
    if arguments.text:
        return folded(arguments.text, RESULT_LINES, "dim")
    shown = [f"{name}: {clean_line(value, VALUE_LIMIT)}" for name, value in arguments.rest[:MOST_ARGUMENTS]]
    short = [words for words in shown if len(words) <= SHORT_ARGUMENT]
    lines = [" · ".join(short)] if short else []
    lines += [words for words in shown if len(words) > SHORT_ARGUMENT]
    more = len(arguments.rest) - len(shown)
    if more > 0:
        lines.append(f"… {counted(more, 'more argument')}")
    return Text("\n".join(lines), "dim")


def _subagent_blocks(subagent: SubAgent, scene: Scene, level: int) -> Iterator[Block]:
    facts = [
        f"sub-agent {clean_line(subagent.name or '', 80)}".strip(),
        clean_line(subagent.model or "", 80),
        duration_words(subagent.elapsed_ms) if subagent.elapsed_ms is not None else "",
    ]
    yield Block(Text("↳ ", "cyan").append_text(joined(facts)), level)
    if subagent.prompt:
        yield Block(shortened(subagent.prompt, scene), level + 1)


def shortened(text: str, scene: Scene, style: str = "dim") -> Text:
    """The first lines of a text, all of them if all is to be shown."""
    return folded(clean_output(text), None if scene.options.full else RESULT_LINES, style)


# --- what came back ---------------------------------------------------------------------------------------------


def result_blocks(result: ToolResult, scene: Scene, level: int, call: ToolCall | None = None) -> Iterator[Block]:
    """What a tool gave back, shortened unless all is to be shown."""
    full = scene.options.full
    has_failed = is_failure(result, call)
    style = "red" if has_failed else "dim"
    text = (result.full_text if full else None) or result.text
    if text.strip():
        yield Block(shortened(text, scene, style), level)
    elif has_failed:
        yield Block(Text("failed without a message", style), level)
    if full and result.display and result.display != result.text:
        yield Block(Text("shown in VS Code:", "dim italic"), level)
        yield Block(folded(clean_output(result.display), None, "dim"), level)
    if result.places and (full or not text.strip()):
        yield Block(_places_line(result, scene), level)
    for item in result.items:
        if item.data is not None:
            kind = clean_line(item.mime_type or "data", 60)
            yield Block(Text(f"[{kind}] {size_words(len(item.data))}", "dim"), level)
        elif item.place is not None:
            yield Block(Text(f"[resource] {place_words(item.place, scene.folder)}", "dim"), level)
        elif item.text:
            yield Block(shortened(item.text, scene), level)
    if result.full_text is not None and not full:
        where = f" in {clean_line(result.full_text_path)}" if result.full_text_path else ""
        length = counted(len(result.full_text), "character")
        yield Block(Text(f"the whole output, {length}{where}", "dim italic"), level)


def _places_line(result: ToolResult, scene: Scene) -> Text:
    shown = result.places if scene.options.full else result.places[:MOST_PLACES]
    more = len(result.places) - len(shown)
    names = [place_words(place, scene.folder) for place in shown]
    if scene.options.full:
        return Text("\n".join(names), "dim")
    return Text(", ".join(names) + (f" and {more:,} more" if more else ""), "dim")


# --- terminals and lists ----------------------------------------------------------------------------------------


def terminal_blocks(part: Terminal, scene: Scene, level: int, call: ToolCall | None = None) -> Iterator[Block]:
    """What was run, the end of what it printed, and how it ended, as far as its call does not tell that."""
    full = scene.options.full
    command = folded(clean(part.command.strip()), None if full else COMMAND_LINES, "bold")
    yield Block(Text("$ ", "green").append_text(command), level)
    if part.original is not None and part.original.strip() != part.command.strip():
        who = "the user" if part.edited_by_user else "the tool"
        asked = clean(part.original) if full else clean_line(part.original, VALUE_LIMIT)
        yield Block(Text(f"changed by {who}; the model asked for: {asked}", "dim"), level)
    output = clean_output(part.output or "").strip("\n")
    if output.strip():
        yield Block(folded(output, None if full else OUTPUT_LINES, "dim", keep="tail"), level)
    end = _how_it_ended(part, scene, call)
    if end.plain:
        yield Block(end, level)
    yield from note_blocks(notes_of(part), scene, level)


def _how_it_ended(part: Terminal, scene: Scene, call: ToolCall | None) -> Text:
    facts: list[Text | str] = []
    if (code := code_beside(call, part)) is not None:
        facts.append(Text(f"exit code {code}", "green" if code == 0 else "red"))
    if part.elapsed_ms is not None:
        facts.append(duration_words(part.elapsed_ms))
    if part.cwd and part.cwd.rstrip("/\\") != (scene.folder or "").rstrip("/\\"):
        facts.append(f"in {path_words(part.cwd, scene.folder)}")
    if part.is_background:
        facts.append("in the background")
    if part.is_output_cut:
        facts.append("VS Code kept only part of the output")
    return joined(facts)


def todo_block(part: TodoList, scene: Scene, level: int) -> Block:
    """The list with a box before each item."""
    lines: list[Text] = []
    for item in part.items:
        check = CHECKS.get(item.status or "", "[ ]")
        style = {"[x]": "dim", "[~]": "bold"}.get(check, "")
        lines.append(Text(f"{check} {clean_line(item.title, 200)}", style))
        if scene.options.full and item.description:
            lines.append(Text(f"    {clean_line(item.description)}", "dim"))
    return Block(Group(*lines) if lines else Text("[ ] an empty list", "dim"), level)
