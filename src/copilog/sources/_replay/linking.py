"""Which tool call started a sub-agent's run: the log does not say, so it is found by task, name and time."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from copilog import jsonio
from copilog.errors import BadRecord
from copilog.sources._replay.groups import SubRun
from copilog.sources._replay.names import starts_subagent, subagent_name
from copilog.sources._replay.runs import Run


class Call(NamedTuple):
    """A call that may have started a sub-agent."""

    id: str
    run: Run
    arguments: dict[str, Any]
    agent: str | None
    description: str | None
    time: datetime | None  # when it came back


def calls_in(run: Run) -> list[Call]:
    """The calls of a run that started sub-agents."""
    found: dict[str, Call] = {}
    for step in run.steps:
        for call in step.message.calls if step.message else []:
            if starts_subagent(call.name) and call.id not in run.tools:
                found[call.id] = Call(call.id, run, parsed(call.arguments), None, None, None)
    for tool in run.tools.values():
        if starts_subagent(tool.name) or "subAgentInvocationId" in tool.metadata:
            agent, description = tool.metadata.get("agentName"), tool.metadata.get("description")
            found[tool.id] = Call(
                tool.id,
                run,
                parsed(tool.arguments),
                agent if isinstance(agent, str) else None,
                description if isinstance(description, str) else None,
                tool.time,
            )
    return list(found.values())


def parsed(arguments: str | None) -> dict[str, Any]:
    """The arguments of a call as an object; empty for anything else."""
    try:
        value = jsonio.decode((arguments or "{}").encode("utf-8", "replace"))[0]
    except BadRecord:
        return {}
    return value if isinstance(value, dict) else {}


def link(subruns: list[SubRun], calls: list[Call]) -> dict[int, Call]:
    """The call behind each run, by the place of the run in the list; runs of nobody are left out."""
    found: dict[int, Call] = {}
    taken: set[str] = set()
    earlier: set[int] = set()
    inside = {id(subrun.run) for subrun in subruns}
    for position, subrun in enumerate(subruns):
        open_to_it = [
            call for call in calls if call.id not in taken and (id(call.run) not in inside or id(call.run) in earlier)
        ]
        best = max(open_to_it, key=lambda call: _likeness(subrun, call), default=None)
        if best is not None and _likeness(subrun, best) > 0:
            found[position] = best
            taken.add(best.id)
        earlier.add(id(subrun.run))
    return found


def _likeness(subrun: SubRun, call: Call) -> int:
    """How much speaks for it that a call started a run; 0 when it cannot be."""
    ends = [request.ended_at for request in subrun.run.requests if request.ended_at is not None]
    if call.time is not None and ends and call.time < max(ends):
        return 0
    points = 1
    task, words = call.arguments.get("prompt") or call.arguments.get("query"), subrun.run.first_words()
    if isinstance(task, str) and task.strip() and words and (task.strip() in words or words in task):
        points += 8
    description = call.description or call.arguments.get("description")
    if subrun.label and description == subrun.label:
        points += 4
    agent = subagent_name(subrun.base)
    if agent is not None and agent in (call.agent, call.arguments.get("agentName")):
        points += 2
    return points
