"""Tool calls with all that belongs to them: arguments, what was run, what was changed, what came back."""

from __future__ import annotations

import re
from collections.abc import Sequence

from copilog.derive.exit_codes import code_beside
from copilog.derive.line_counts import lines_of_call
from copilog.derive.outcomes import is_done, is_failure, outcome_of
from copilog.derive.terminal_output import beyond_output
from copilog.derive.tool_names import key_of
from copilog.model import (
    Place,
    ResultItem,
    SubAgent,
    Terminal,
    TodoList,
    ToolCall,
    ToolResult,
    prose_of,
)
from copilog.render.arguments import HEADLINE_LIMIT, Arguments, arguments_of
from copilog.render.html.blocks import Call, Chip, Long, Result, Shell, Stage, Todo
from copilog.render.html.names import language_of_path
from copilog.render.html.nesting import At
from copilog.render.html.notes import notes_shown
from copilog.render.html.passages import diff_of, long_markdown, long_text
from copilog.render.safe import clean, clean_line, json_text
from copilog.render.words import (
    approval_words,
    counted,
    duration_words,
    outcome_words,
    path_words,
    place_words,
    size_words,
)

MOST_PLACES = 30
SHORT_ARGUMENT = 80  # characters: a single one is told in the line
MOST_COLOURED = 4_000  # characters of files that are highlighted in one window
MOST_COLOURED_WHOLE = 200_000
READERS = ("readfile", "view")
STATES = {"completed": "done", "in-progress": "doing", "in_progress": "doing"}

_LINES = re.compile(r":\d+(?:-\d+)?$")


def call_block(call: ToolCall, number: int, position: int, stage: Stage) -> Call:
    """A call without what its sub-agent did, which is a matter of messages."""
    nesting = stage.nesting
    is_first = nesting.calls.get(call.id) == (number, position)
    shells = [
        shell_block(part, *at, stage, call)
        for at in (nesting.terminals.get(call.id, []) if is_first else [])
        if isinstance(part := _part_at(at, stage), Terminal)
    ]
    terminals = [part for at in nesting.terminals.get(call.id, []) if isinstance(part := _part_at(at, stage), Terminal)]
    arguments = _arguments_of(call, stage, has_shell=bool(shells))
    patch = arguments.patch if call.id not in nesting.diffs else ""  # else the edit follows, with true line numbers
    results = [
        result_block(
            part,
            at,
            stage,
            call,
            terminals,
            is_said=_is_said(call, part, patch, shells, stage),
            language=_language_of(call, part, arguments, stage),
        )
        for at in (nesting.results.get(call.id, []) if is_first else [])
        if isinstance(part := _part_at(at, stage), ToolResult)
    ]
    added, removed = lines_of_call(call)
    kind = outcome_of(call).kind
    block = Call(
        id=clean_line(call.id, 200),
        name=clean_line(call.name, 80) or "a tool without a name",
        status=kind,
        headline=arguments.headline or _short(arguments, shells),
        added=added,
        removed=removed,
        remarks=_remarks(call, results, stage),
        arguments=_rest_of(arguments, call, number, position, stage),
        patch=diff_of(patch, (added, removed)) if patch else None,
        shells=shells,
        results=results,
        is_open=kind in ("failed", "denied"),
        is_faint=call.is_hidden,
        raw=stage.addresses.raw(number, position),
        notes=notes_shown(call, number, position, stage),
    )
    if call.subagent is not None:
        _add_helper(block, call.subagent, number, position, stage)
    return block


def _part_at(at: At, stage: Stage) -> object:
    return stage.conversation.messages[at[0]].parts[at[1]]


def _short(arguments: Arguments, shells: list[Shell]) -> str:
    """What was run, or the only argument, as one line."""
    if shells:
        return clean_line(shells[0].command.partition("\n")[0], HEADLINE_LIMIT)
    given = arguments.rest[0][1] if len(arguments.rest) == 1 else ""
    return given if len(given) <= SHORT_ARGUMENT and "\n" not in given else ""


# --- arguments --------------------------------------------------------------------------------------------------


def _arguments_of(call: ToolCall, stage: Stage, *, has_shell: bool) -> Arguments:
    hidden = {"command", "isBackground"} if has_shell else set()
    hidden |= {"todoList", "operation"} if call.id in stage.nesting.todos else set()
    hidden |= {"prompt", "agentName"} if call.subagent is not None and call.subagent.prompt else set()
    return arguments_of(call, stage.folder, hidden, full=True)


def _rest_of(arguments: Arguments, call: ToolCall, number: int, position: int, stage: Stage) -> Long | None:
    """Arguments that are shown nowhere else, as JSON; text where they are none."""
    link = stage.addresses.text(number, position, "arguments")
    if arguments.text:
        return long_text(arguments.text, link, is_whole=stage.is_whole)
    if not arguments.rest:
        return None
    if len(arguments.rest) == 1 and "\n" in arguments.rest[0][1]:
        name, value = arguments.rest[0]
        return long_text(f"{name}:\n{value}", link, is_whole=stage.is_whole)
    given = call.arguments or ""
    whole = len(arguments.rest) > 1 and len(given) < 100_000 and not arguments.patch and given.startswith("{")
    if whole:
        return long_text(given, link, is_whole=stage.is_whole)
    lines = [f"{name}: {value}" for name, value in arguments.rest]
    return long_text("\n".join(lines), link, is_whole=stage.is_whole)


def _remarks(call: ToolCall, results: list[Result], stage: Stage) -> list[str]:
    words = [
        _length_of_file(call, stage) if results else "",
        *outcome_words(call, full=False),
        approval_words(call.approval, full=False),
        f"MCP server {clean_line(call.server or '', 60)}".strip() if call.origin == "mcp" else "",
        clean_line(call.server or "", 60) if call.origin != "mcp" else "",
        "hidden in VS Code" if call.is_hidden else "",
    ]
    return [clean_line(word) for word in words if word]


def _length_of_file(call: ToolCall, stage: Stage) -> str:
    """Of a file that was read, the number of lines."""
    if key_of(call) != "readfile":
        return ""
    part = _part_at(stage.nesting.results[call.id][0], stage)
    text = part.text if isinstance(part, ToolResult) and is_done(call) else ""
    return counted(len(text.splitlines()), "line") if text else ""


def _language_of(call: ToolCall, result: ToolResult, arguments: Arguments, stage: Stage) -> str | None:
    """That of a file that was read. Colours take long, and these are folded: so there is an end to them."""
    if key_of(call) not in READERS or stage.coloured > (MOST_COLOURED_WHOLE if stage.is_whole else MOST_COLOURED):
        return None
    language = language_of_path(_LINES.sub("", arguments.headline.partition("  ")[0]))
    if language is not None:
        stage.coloured += len(result.text)
    return language


# --- sub-agents -------------------------------------------------------------------------------------------------


def _add_helper(block: Call, subagent: SubAgent, number: int, position: int, stage: Stage) -> None:
    """Who was called, what for, and what came of it where no result tells."""
    block.helper = clean_line(subagent.name or "", 80) or "Sub-agent"
    facts = [
        clean_line(subagent.description or "", 160),
        clean_line(subagent.model or "", 80),
        duration_words(subagent.elapsed_ms) if subagent.elapsed_ms is not None else "",
    ]
    block.helper_facts = [fact for fact in facts if fact and fact != block.headline]
    if subagent.prompt:
        link = stage.addresses.text(number, position, "task")
        block.task = long_markdown(subagent.prompt, link, is_whole=stage.is_whole)
    if subagent.result and not block.results:
        link = stage.addresses.text(number, position, "answer")
        block.answer = long_markdown(subagent.result, link, is_whole=stage.is_whole)


def _last_words(call_id: str, stage: Stage) -> str | None:
    """What a sub-agent said last: its caller gets the same as the call's result."""
    messages = [stage.conversation.messages[number] for number in stage.nesting.below.get(call_id, [])]
    said = [message for message in messages if message.role == "assistant"]
    return prose_of(said[-1].parts).strip() if said else None


# --- what came back ---------------------------------------------------------------------------------------------


def _is_said(call: ToolCall, result: ToolResult, patch: str, shells: list[Shell], stage: Stage) -> bool:
    """Whether a result says no more than the output, the list or the edit beside it."""
    if is_failure(result, call) or result.items or not is_done(call):
        return False
    if patch or call.id in stage.nesting.todos or call.id in stage.nesting.diffs:
        return True
    if any(shell.output is not None for shell in shells):
        return True
    return bool(result.text.strip()) and result.text.strip() == _last_words(call.id, stage)


def result_block(
    result: ToolResult,
    at: At,
    stage: Stage,
    call: ToolCall | None = None,
    terminals: Sequence[Terminal] = (),
    *,
    is_said: bool = False,
    language: str | None = None,
) -> Result:
    """What a tool gave back beyond the output of its terminals: text, pictures, files, what the user saw."""
    number, position = at
    is_whole = stage.is_whole
    has_text = bool(result.text.strip())
    result = beyond_output(result, terminals)

    def link(field: str) -> str | None:
        return stage.addresses.text(number, position, field)

    holds_text = bool(result.text.strip())
    is_nested = stage.nesting.holders[number] != number if 0 <= number < len(stage.nesting.holders) else False
    block = Result(
        anchor=number if is_nested and position == 0 else None,
        is_error=is_failure(result, call),
        is_said=is_said,
        body=long_text(result.text, link("text"), is_whole=is_whole, language=language) if holds_text else None,
        is_output=has_text and not holds_text,
        raw=stage.addresses.raw(number, position),
    )
    if result.display and result.display.strip() != result.text.strip():
        block.display = long_text(result.display, link("display"), is_whole=is_whole)
    if result.full_text is not None and result.full_text != result.text:
        block.full = long_text(result.full_text, link("full_text"), is_whole=is_whole)
        block.full_where = clean_line(result.full_text_path or "", 300)
    for index, item in enumerate(result.items):
        _add_item(block, item, index, result, at, stage)
    block.chips += [_place_chip(place, stage) for place in result.places[: None if is_whole else MOST_PLACES]]
    more = 0 if is_whole else len(result.places) - MOST_PLACES
    if more > 0:
        block.chips.append(Chip(label="file", name=f"and {more:,} more", is_faint=True))
    return block


def _add_item(block: Result, item: ResultItem, index: int, result: ToolResult, at: At, stage: Stage) -> None:
    if item.data is not None:
        words = f"{clean_line(item.mime_type or 'data', 60)}, {size_words(len(item.data))}"
        address = stage.addresses.picture(*at, index, item.data)
        if address is not None:
            block.pictures.append((address, words))
        else:
            block.chips.append(Chip(label="data", name=words))
    elif item.text and item.text.strip() not in result.text:
        link = stage.addresses.text(*at, f"item-{index}")
        block.pieces.append(long_text(item.text, link, is_whole=stage.is_whole))
    if item.place is not None:
        block.chips.append(_place_chip(item.place, stage))


def _place_chip(place: Place, stage: Stage) -> Chip:
    return Chip(label="file", name=place_words(place, stage.folder))


# --- terminals and lists ----------------------------------------------------------------------------------------


def shell_block(part: Terminal, number: int, position: int, stage: Stage, call: ToolCall | None = None) -> Shell:
    """What was run, what it printed, and how it ended, as far as its call does not tell that."""
    remark = ""
    if part.original is not None and part.original.strip() != part.command.strip():
        who = "the user" if part.edited_by_user else "the tool"
        remark = f"changed by {who}; the model asked for: {clean(part.original)}"
    facts = [
        duration_words(part.elapsed_ms) if part.elapsed_ms is not None else "",
        f"in {path_words(part.cwd, stage.folder)}" if part.cwd and part.cwd.rstrip("/\\") != stage.folder else "",
        "in the background" if part.is_background else "",
        "only part of the output was kept" if part.is_output_cut else "",
    ]
    output = (part.output or "").strip("\n")
    link = stage.addresses.text(number, position, "output")
    return Shell(
        command=clean(part.command.strip()),
        remark=remark,
        output=long_text(output, link, is_whole=stage.is_whole) if output.strip() else None,
        exit_code=code_beside(call, part),
        facts=[fact for fact in facts if fact],
        raw=stage.addresses.raw(number, position),
        notes=notes_shown(part, number, position, stage),
    )


def todo_block(part: TodoList, number: int, position: int, stage: Stage) -> Todo:
    items = [
        (STATES.get(item.status or "", "open"), clean_line(item.title, 300), clean_line(item.description or "", 500))
        for item in part.items
    ]
    done = sum(state == "done" for state, _, _ in items)
    return Todo(items=items, done=done, raw=stage.addresses.raw(number, position))


def cells_text(cells: list[object]) -> str:
    """Operations on the cells of a notebook."""
    return "\n".join(json_text(cell) for cell in cells)
