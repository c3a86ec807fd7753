"""Tool calls in a Markdown document: what was asked, what was run and changed, and what came back."""

from __future__ import annotations

from collections.abc import Iterator

from copilog import jsonio
from copilog.errors import BadRecord
from copilog.export.markdown_text import details, fence, plain, prose, span
from copilog.export.missing import Missing
from copilog.model import FileChange, FileEdit, ResultItem, Terminal, TodoList, ToolCall, ToolResult
from copilog.render.changes import VERBS
from copilog.render.html.characters import visible_line
from copilog.render.html.code import laid_out
from copilog.render.safe import clean_output, json_text
from copilog.render.words import approval_words, counted, duration_words, path_words, place_words, size_words

CHECKS = {"completed": "x", "done": "x"}
DOING = ("in-progress", "in_progress")
FATES = {"kept": "accepted", "undone": "undone", "changed": "changed by the user afterwards", "pending": "not decided"}


def call_head(call: ToolCall) -> str:
    """The line of a call."""
    facts = [
        call.status if call.status != "unknown" else "",
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


def result_blocks(result: ToolResult, folder: str | None, missing: Missing) -> Iterator[str]:
    """What a tool gave back, and what the user saw where that differs."""
    label = "**Error**" if result.is_error else "**Result**"
    text = clean_output(result.text)
    if text.strip():
        yield label
        yield fence(text, "json" if _is_json(text) else "text")
    elif not (result.items or result.places or result.full_text or result.display):
        yield f"{label}: {'failed without a message' if result.is_error else 'empty'}"
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


def terminal_blocks(part: Terminal, folder: str | None) -> Iterator[str]:
    """A command as it was run, with what it printed and how it ended."""
    command = part.command.strip("\n")
    output = clean_output(part.output or "").strip("\n")
    yield fence(f"$ {command}" + (f"\n{output}" if output.strip() else ""), "console")
    if part.original is not None and part.original.strip() != part.command.strip():
        yield f"Changed by {'the user' if part.edited_by_user else 'the tool'}; the model had asked for:"
        yield fence(part.original, "console")
    facts = [
        f"exit code {part.exit_code}" if part.exit_code is not None else "",
        duration_words(part.elapsed_ms) if part.elapsed_ms is not None else "",
        f"in {path_words(part.cwd, folder)}" if part.cwd else "",
        "in the background" if part.is_background else "",
        "VS Code kept only part of the output" if part.is_output_cut else "",
    ]
    said = ", ".join(plain(fact) for fact in facts if fact)
    if said:
        yield f"*{said}*"


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
    ]
    target = f" to {span(path_words(part.new_uri, folder))}" if part.new_uri else ""
    yield _edit_line(part.action, part.path or part.uri, target, part.added, part.removed, facts, folder)
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
    yield _edit_line(
        change.action, old or path, target, change.added, change.removed, [FATES.get(fate or "", "")], folder
    )
    if change.diff:
        yield fence(change.diff, "diff")


def _edit_line(
    action: str,
    path: str | None,
    target: str,
    added: int | None,
    removed: int | None,
    facts: list[str],
    folder: str | None,
) -> str:
    counts = f" +{added or 0:,} −{removed or 0:,}" if added is not None or removed is not None else ""
    said = ", ".join(fact for fact in facts if fact)
    name = span(path_words(path, folder)) if path else "an unknown file"
    return f"**{VERBS.get(action, action).capitalize()}** {name}{target}{counts}" + (f" ({said})" if said else "")


def helper_task(call: ToolCall) -> str:
    """What a sub-agent was asked."""
    return prose(call.subagent.prompt) if call.subagent is not None and call.subagent.prompt else ""
