"""Tool calls in a Markdown document: what was asked, what was run and changed, and what came back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from copilog import jsonio
from copilog.derive.exit_codes import code_beside, exit_code_of
from copilog.derive.line_counts import Lines, changed_lines, lines_of_call, lines_words
from copilog.derive.notes import Note, notes_of
from copilog.derive.outcomes import is_failure, is_made, outcome_of
from copilog.derive.unapplied import shown_diff
from copilog.errors import BadRecord
from copilog.export.markdown_text import details, fence, plain, prose, span
from copilog.export.missing import Missing
from copilog.model import FileChange, FileEdit, ResultItem, Terminal, TodoList, ToolCall, ToolResult
from copilog.render.changes import UNMADE, VERBS
from copilog.render.html.characters import visible_line
from copilog.render.html.code import laid_out
from copilog.render.safe import clean_output, json_text
from copilog.render.words import approval_words, counted, duration_words, path_words, place_words, size_words

MOST_IN_LINE = 300  # characters of a note
CHECKS = {"completed": "x", "done": "x"}
DOING = ("in-progress", "in_progress")
FATES = {"kept": "accepted", "undone": "undone", "changed": "changed by the user afterwards", "pending": "not decided"}


def call_head(call: ToolCall) -> str:
    """The line of a call."""
    facts = [
        outcome_of(call).kind if outcome_of(call).kind != "unknown" else "",
        *(f"recorded to the contrary: {words}" for words in outcome_of(call).against),
        f"exit code {exit_code_of(call)}" if exit_code_of(call) else "",
        lines_words(lines_of_call(call), "−"),
        approval_words(call.approval, full=False),
        f"MCP server {call.server}" if call.origin == "mcp" and call.server else "",
        call.server if call.origin != "mcp" and call.server else "",
        "hidden in VS Code" if call.is_hidden else "",
    ]
    said = ", ".join(plain(fact, 100) for fact in facts if fact)
    return f"**Tool call** {span(call.name or 'without a name', 80)}" + (f" ({said})" if said else "")


def arguments_block(call: ToolCall) -> str:
    """The arguments, laid out where they are JSON."""
    given = call.arguments or ""
    if not given.strip() or given.strip() == "{}":
        return ""
    try:
        jsonio.decode(given.encode("utf-8", "surrogatepass"))
    except BadRecord:
        return fence(given, "text")
    return fence(laid_out(given), "json")


def helper_facts(call: ToolCall) -> str:
    """What is known of a sub-agent, on one line."""
    helper = call.subagent
    if helper is None:
        return "Sub-agent"
    facts = [
        helper.name or "",
        helper.model or "",
        duration_words(helper.elapsed_ms) if helper.elapsed_ms is not None else "",
        helper.description or "",
    ]
    return ", ".join(["Sub-agent", *(visible_line(fact, 160) for fact in facts if fact)])


def result_blocks(
    result: ToolResult, folder: str | None, missing: Missing, recorded: str = "", call: ToolCall | None = None
) -> Iterator[str]:
    """What a tool gave back, and what the user saw where that differs.

    `recorded` is the text of the result with the output of a terminal that is written already.
    """
    has_failed = is_failure(result, call)
    label = "**Error**" if has_failed else "**Result**"
    text = clean_output(result.text)
    if text.strip():
        yield label
        yield fence(text, "json" if _is_json(text) else "text")
    elif not (result.items or result.places or result.full_text or result.display):
        empty = "failed without a message" if has_failed else "empty"
        yield f"{label}: {'the output above' if recorded.strip() else empty}"
    for item in result.items:
        yield from _item(item, folder, missing)
    if result.places:
        yield "\n".join(f"- {span(place_words(place, folder))}" for place in result.places)
    if result.display and result.display.strip() != result.text.strip():
        yield details("What the user saw", fence(clean_output(result.display), "text"))
    if result.full_text is not None and result.full_text != result.text:
        where = f" ({visible_line(result.full_text_path, 200)})" if result.full_text_path else ""
        yield details(f"The whole output{where}", fence(clean_output(result.full_text), "text"))


def _item(item: ResultItem, folder: str | None, missing: Missing) -> Iterator[str]:
    if item.data is not None:
        kind = item.mime_type or "data"
        missing.add_bytes(kind, len(item.data))
        yield f"- {plain(kind, 60)}, {size_words(len(item.data))} (not in this file)"
    elif item.place is not None:
        yield f"- {span(place_words(item.place, folder))}"
    if item.text and item.text.strip():
        yield fence(clean_output(item.text), "text")


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[") and text.rstrip()[-1:] in ("}", "]")


# --- terminals, lists, edits ----------------------------------------------------------------------------------------


def terminal_blocks(part: Terminal, folder: str | None, call: ToolCall | None = None) -> Iterator[str]:
    """A command as it was run, with what it printed, and how it ended as far as its call does not tell that."""
    code = code_beside(call, part)
    command = part.command.strip("\n")
    output = clean_output(part.output or "").strip("\n")
    yield fence(f"$ {command}" + (f"\n{output}" if output.strip() else ""), "console")
    if part.original is not None and part.original.strip() != part.command.strip():
        yield f"Changed by {'the user' if part.edited_by_user else 'the tool'}; the model had asked for:"
        yield fence(part.original, "console")
    facts = [
        f"exit code {code}" if code is not None else "",
        duration_words(part.elapsed_ms) if part.elapsed_ms is not None else "",
        f"in {path_words(part.cwd, folder)}" if part.cwd else "",
        "in the background" if part.is_background else "",
        "VS Code kept only part of the output" if part.is_output_cut else "",
    ]
    said = ", ".join(plain(fact) for fact in facts if fact)
    if said:
        yield f"*{said}*"
    yield from note_blocks(notes_of(part))


def note_blocks(notes: Iterable[Note]) -> Iterator[str]:
    """What is shown with a part or a turn beyond its own text: a line each, a block where it is long."""
    for note in notes:
        if len(note.text) <= MOST_IN_LINE and "\n" not in note.text.strip():
            yield f"- {plain(note.label, 80)}: {plain(note.text)}"
        else:
            yield details(visible_line(note.label, 80), fence(note.text, "text"))


def todo_block(part: TodoList) -> str:
    """The list with its boxes."""
    lines = []
    for item in part.items:
        box = CHECKS.get(item.status or "", " ")
        doing = " (in progress)" if item.status in DOING else ""
        described = f": {plain(item.description)}" if item.description else ""
        lines.append(f"- [{box}] {plain(item.title)}{doing}{described}")
    return "\n".join(["**To do**", "", *(lines or ["an empty list"])])


def edit_blocks(part: FileEdit, fate: str | None, folder: str | None, missing: Missing) -> Iterator[str]:
    """An edit of the answer."""
    facts = [
        FATES.get(fate or "", ""),
        "not finished" if part.is_done is False else "",
        "not applied" if part.is_applied is False else "",
        f"not made: the call {UNMADE.get(part.outcome or '', '')}" if not is_made(part) else "",
    ]
    target = f" to {span(path_words(part.new_uri, folder))}" if part.new_uri else ""
    yield _edit_line(part.action, part.path or part.uri, target, changed_lines(part), facts, folder)
    if part.diff:
        yield fence(part.diff, "diff")
    elif part.batches:
        yield from _text_edits(part)
    if part.cells:
        yield details(counted(len(part.cells), "notebook operation"), fence(json_text(part.cells), "json"))
    if not (part.diff or part.batches or part.cells or part.action in ("delete", "rename")):
        missing.edits += 1


def _text_edits(part: FileEdit) -> Iterator[str]:
    """Edits by range, where nobody knows the text they were made to."""
    for batch in part.batches:
        for edit in batch:
            where = f"Lines {edit.start_line}:{edit.start_column} to {edit.end_line}:{edit.end_column}"
            yield f"{where} {'became' if edit.text else 'were removed'}"
            if edit.text:
                yield fence(edit.text)


def change_blocks(change: FileChange, fate: str | None, folder: str | None) -> Iterator[str]:
    """A change that the editing history tells of."""
    old = change.old_uri if change.action == "rename" else None
    path = change.path or change.uri
    target = f" to {span(path_words(path, folder))}" if old else ""
    yield _edit_line(change.action, old or path, target, changed_lines(change), [FATES.get(fate or "", "")], folder)
    if diff := shown_diff(change):
        yield fence(diff, "diff")


def _edit_line(action: str, path: str | None, target: str, lines: Lines, facts: list[str], folder: str | None) -> str:
    counts = f" {words}" if (words := lines_words(lines, "−")) else ""
    said = ", ".join(fact for fact in facts if fact)
    name = span(path_words(path, folder)) if path else "an unknown file"
    return f"**{VERBS.get(action, action).capitalize()}** {name}{target}{counts}" + (f" ({said})" if said else "")


def helper_task(call: ToolCall) -> str:
    """What a sub-agent was asked."""
    return prose(call.subagent.prompt) if call.subagent is not None and call.subagent.prompt else ""
