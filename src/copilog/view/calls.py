"""Tool calls as blocks: arguments, commands, and results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from copilog.derive.exit_codes import exit_code_to_show
from copilog.derive.line_counts import lines_of_call
from copilog.derive.notes import notes_of
from copilog.derive.outcomes import is_done, is_failure, outcome_of
from copilog.derive.terminal_output import beyond_output
from copilog.derive.tool_names import key_of
from copilog.model import Terminal, ToolCall, ToolResult, prose_of
from copilog.view.arguments import HEADLINE_LIMIT, Arguments, displayed_text_of
from copilog.view.blocks import At, Call, Chip, Helper, Result, Shell, location_chip
from copilog.view.build_state import BuildState
from copilog.view.terminal_text import clean_line
from copilog.view.wording import (
    approval_text,
    counted,
    elapsed_text,
    location_text,
    outcome_details,
    outcome_text,
    path_text,
    size_text,
)

SHORT_ARGUMENT = 80  # characters: a single shorter argument is shown in the headline
BRIEF_LIST = 60  # characters of a result that reports that a list was written; a longer one contains a warning
BRIEF_EDIT = 300  # of one that names edited files; a longer one contains errors
READERS = ("readfile", "view")
EMPTY_ANSWER = "Intent logged"  # results without information

_LINES = re.compile(r":\d+(?:-\d+)?$")


def call_block(call: ToolCall, at: At, stage: BuildState) -> Call:
    """Return a call as a block. Messages of its sub-agent are given by number."""
    nesting = stage.nesting
    is_first = nesting.calls.get(call.id) == at  # a repeated id: its result is shown with the first
    terminals = _terminals_of(call.id, stage)
    shells = [shell_block(part, place, stage, call) for place, part in terminals] if is_first else []
    given = stage.given(call)
    results = [
        result_block(part, place, stage, call, [terminal for _, terminal in terminals])
        for place in (nesting.results.get(call.id, []) if is_first else [])
        if isinstance(part := stage.part_at(place), ToolResult)
    ]
    if results and is_done(call) and key_of(call) in READERS:
        results[0].path = _LINES.sub("", given.headline.partition("  ")[0])
    kind = outcome_of(call).kind
    return Call(
        at=at,
        id=clean_line(call.id, 200),
        name=clean_line(call.name, 80) or "a tool without a name",
        status=kind,
        headline=given.headline or _short(given, shells),
        said=displayed_text_of(call),
        lines=lines_of_call(call),
        length=counted(len(results[0].text.splitlines()), "line") if results and results[0].is_file else "",
        remarks=_remarks(call, results),
        details=[*outcome_details(call), f"called {clean_line(call.id, 200)}"],
        arguments="" if call.id in nesting.todos else call.arguments or "",
        given=given,
        has_patch=given.change is not None and call.id not in nesting.diffs,
        helper=_helper(call, stage, has_result=bool(results)) if is_first else None,
        shells=shells,
        results=results,
        below=nesting.below.get(call.id, []) if is_first else [],
        is_open=kind in ("failed", "denied"),
        is_faint=call.is_hidden,
        notes=notes_of(call),
    )


def _terminals_of(call_id: str, stage: BuildState) -> list[tuple[At, Terminal]]:
    places = stage.nesting.terminals.get(call_id, [])
    return [(place, part) for place in places if isinstance(part := stage.part_at(place), Terminal)]


def _short(given: Arguments, shells: list[Shell]) -> str:
    """Return the command, or the only argument, as one line."""
    if shells:
        return clean_line(shells[0].command.partition("\n")[0], HEADLINE_LIMIT)
    value = given.rest[0][1] if len(given.rest) == 1 else ""
    return value if len(value) <= SHORT_ARGUMENT and "\n" not in value else ""


def _remarks(call: ToolCall, results: list[Result]) -> list[str]:
    is_mcp = call.origin == "mcp"
    reason = clean_line(outcome_of(call).reason or "", 300)
    is_shown = any(reason in clean_line(text) for result in results for text in (result.text, result.display))
    words = [
        *outcome_text(call),
        approval_text(call.approval),
        reason if not is_shown and reason not in approval_text(call.approval) else "",
        f"MCP server {clean_line(call.server or '', 60)}".strip() if is_mcp else clean_line(call.server or "", 60),
        "hidden in VS Code" if call.is_hidden else "",
    ]
    return [clean_line(word) for word in words if word]


def _helper(call: ToolCall, stage: BuildState, *, has_result: bool) -> Helper | None:
    """Return the sub-agent: its name, its task, and its outcome if no result has it."""
    agent = call.subagent
    if agent is None:
        return Helper(name="Sub-agent") if stage.nesting.below.get(call.id) else None
    headline = stage.given(call).headline
    facts = [
        clean_line(agent.description or "", 160),
        clean_line(agent.model or "", 80),
        elapsed_text(agent.elapsed_ms) if agent.elapsed_ms is not None else "",
    ]
    return Helper(
        name=clean_line(agent.name or "", 80) or "Sub-agent",
        facts=[fact for fact in facts if fact and fact != headline],
        task=agent.prompt or "",
        answer=agent.result or "" if not has_result else "",
    )


# --- results ------------------------------------------------------------------------------------------------------


def result_block(
    result: ToolResult, at: At, stage: BuildState, call: ToolCall | None = None, terminals: Sequence[Terminal] = ()
) -> Result:
    """Return a result without the output of its terminals: text, pictures, files, what the user saw."""
    holders = stage.nesting.holders
    is_nested = 0 <= at[0] < len(holders) and holders[at[0]] != at[0]
    has_failed = is_failure(result, call)
    beyond = beyond_output(result, terminals)
    has_text = bool(beyond.text.strip())
    chips: list[Chip] = []
    pieces: list[tuple[int, str]] = []
    for index, item in enumerate(beyond.items):
        if item.data is not None:
            kind, size = item.mime_type or "data", size_text(len(item.data))
            chips.append(
                Chip(
                    at=at,
                    role="found",
                    label=clean_line(kind, 60),
                    name=size,
                    data=item.data,
                    mime_type=kind,
                    item=index,
                )
            )
        elif item.text and item.text.strip() not in beyond.text:
            pieces.append((index, item.text))
        if item.place is not None:
            chips.append(location_chip(location_text(item.place, stage.folder), "resource"))
    chips += [location_chip(location_text(place, stage.folder)) for place in beyond.places]
    return Result(
        at=at,
        tool=clean_line(call.name, 80) if call is not None else "",
        lost_call="" if call is not None else clean_line(result.call_id, 80),
        anchor=at[0] if is_nested and at[1] == 0 else None,
        is_error=has_failed,
        beside=_beside(call, result, stage) if call is not None else "",
        is_file=call is not None and has_text and is_done(call) and key_of(call) == "readfile",
        is_output=bool(result.text.strip()) and not has_text,
        text=beyond.text if has_text else "",
        display=beyond.display if beyond.display and beyond.display.strip() != beyond.text.strip() else "",
        full_text=beyond.full_text if beyond.full_text and beyond.full_text != beyond.text else "",
        full_path=clean_line(beyond.full_text_path or "", 300),
        pieces=pieces,
        chips=chips,
        notes=notes_of(result),
    )


def _beside(call: ToolCall, result: ToolResult, stage: BuildState) -> Literal["", "edit", "list", "output", "words"]:
    """Return what else shows the content of a result: an edit, a list, terminal output, a sub-agent's answer."""
    if result.items or not is_done(call):
        return ""
    size = len(result.text)
    if call.id in stage.nesting.todos and size <= BRIEF_LIST:
        return "list"
    if size <= BRIEF_EDIT and (call.id in stage.nesting.diffs or stage.shows_patch(call.id)):
        return "edit"
    if any(terminal.output for _, terminal in _terminals_of(call.id, stage)):
        return "output"
    text = result.text.strip()
    return "words" if text == EMPTY_ANSWER or (text and text == _last_text(call.id, stage)) else ""


def _last_text(call_id: str, stage: BuildState) -> str | None:
    """Return the last text of a sub-agent: its caller gets the same as the call's result."""
    messages = [stage.conversation.messages[number] for number in stage.nesting.below.get(call_id, [])]
    said = [message for message in messages if message.role == "assistant"]
    return prose_of(said[-1].parts).strip() if said else None


# --- terminals ----------------------------------------------------------------------------------------------------


def shell_block(part: Terminal, at: At, stage: BuildState, call: ToolCall | None = None) -> Shell:
    """Return the command, its output, and how it ended unless its call shows it."""
    is_changed = part.original is not None and part.original.strip() != part.command.strip()
    folder = (stage.folder or "").rstrip("/\\")
    facts = [
        elapsed_text(part.elapsed_ms) if part.elapsed_ms is not None else "",
        f"in {path_text(part.cwd, stage.folder)}" if part.cwd and part.cwd.rstrip("/\\") != folder else "",
        "in the background" if part.is_background else "",
        "VS Code kept only part of the output" if part.is_output_cut else "",
    ]
    output = (part.output or "").strip("\n")
    return Shell(
        at=at,
        command=part.command.strip(),
        asked=part.original or "" if is_changed else "",
        changed_by="the user" if part.edited_by_user else "the tool",
        output=output if output.strip() else "",
        exit_code=exit_code_to_show(call, part),
        facts=[fact for fact in facts if fact],
        notes=notes_of(part),
    )
