"""The commands that conversations ran in a shell, newest conversation first, and a script of those shown."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from copilog.analysis.commands import CommandRun, command_runs
from copilog.analysis.selection import choose
from copilog.errors import UsageError
from copilog.exports.command_script import facts_of_run, script_lines
from copilog.render.report import amounts
from copilog.view.wording import counted, elapsed_text
from copilog.web.dashboard.parameters import this_minute
from copilog.web.filters import Filters, filters_from, measured_by
from copilog.web.sections_page import sections_page
from copilog.web.viewer import viewer_of
from copilog.writers.html.characters import visible
from copilog.writers.html.code import code_html

if TYPE_CHECKING:
    from starlette.requests import Request

ADDRESS = "/commands"
MOST_COMMANDS = 200
LONGEST = 500  # characters of a parameter


class Wanted(NamedTuple):
    """What the address asks for besides the filters."""

    conversation: str | None
    text: str | None
    exit_code: str | None


class RunView(NamedTuple):
    """A command as it is listed."""

    command: str
    requested: str | None
    turn: int | None
    facts: list[str]


class GroupView(NamedTuple):
    """The commands of a conversation."""

    id: str
    title: str
    runs: list[RunView]


def commands_page(request: Request) -> Response:
    filters = filters_from(request.query_params)
    wanted = Wanted(
        *(request.query_params.get(name, "").strip()[:LONGEST] or None for name in ("id", "command", "exit"))
    )
    runs: list[CommandRun] = []
    problem = None
    try:
        runs = _runs(request, filters, wanted)
    except UsageError as error:
        problem = str(error)
    shown = runs[:MOST_COMMANDS]
    script = "\n".join(script_lines(shown, _facts))
    conversations = len({run.id for run in runs})
    return sections_page(
        request,
        "commands.html",
        filters,
        400 if problem else 200,
        address=ADDRESS,
        heading="Commands",
        lead=f"{counted(len(runs), 'command')} of {counted(conversations, 'conversation')}, as they were executed.",
        shown=[],
        problem=problem,
        wanted=wanted,
        script=code_html(f"{script}\n", "bash") if shown else None,
        groups=[_group(list(group)) for _, group in groupby(shown, key=lambda run: run.id)],
        left_out=len(runs) - len(shown),
    )


def _runs(request: Request, filters: Filters, wanted: Wanted) -> list[CommandRun]:
    now = this_minute()
    with viewer_of(request).archive() as archive:
        selection = measured_by(filters, now)
        if wanted.conversation is not None:
            try:
                found = archive.find_id(wanted.conversation)
            except UsageError as error:
                raise HTTPException(404, str(error)) from None
            selection = msgspec.structs.replace(selection, conversation=found)
        chosen = choose(archive, selection, now=now)
        return command_runs(chosen, text=wanted.text, exit_code=wanted.exit_code)


def _group(runs: list[CommandRun]) -> GroupView:
    return GroupView(runs[0].id, runs[0].title or runs[0].id, [_view(run) for run in runs])


def _view(run: CommandRun) -> RunView:
    turn = run.number - 1 if run.number is not None else None
    facts = _facts(run)[1 if turn is not None else 0 :]  # the number of the turn is a link
    return RunView(visible(run.command.rstrip("\n")), run.requested, turn, facts)


def _facts(run: CommandRun) -> list[str]:
    return facts_of_run(run, when=amounts.moment, duration=elapsed_text)


routes = [Route(ADDRESS, commands_page)]
