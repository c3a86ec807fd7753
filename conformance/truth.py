"""The facts of a run, from the scenario and the log of the model server.

Nothing here looks at what the program wrote. A turn is a prompt of the driver; the requests of a turn are those of the
scripts that its prompt names, and of the scripts that calls of these hand to sub-agents.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import Any

import msgspec

from conformance.facts import Asked, Fact, Performed, Truth
from conformance.gaps import gaps_of
from conformance.scenario import MARKER, Call, Edit, Scenario, Step, Tokens, applies
from conformance.served import Served, call_id

NUMBERS = ("input", "output", "cached", "reasoning")
CLOCK_MS = 100.0  # what the program's clock may differ from the server's
MAIN = "main"  # the name of a session, if a scenario gives none
CUSTOM = "custom_"  # what the CLI puts before the id of a call of a tool with free text
OF_ITSELF = ("progress", "title", "unscripted")  # kinds of requests
Fill = Callable[[Any], Any]


def truth_of(scenario: Scenario, performed: Performed, fill: Fill) -> Truth:
    """Return all facts of a run. `fill` replaces the placeholders of the scenario's texts."""
    facts: list[Fact] = [*_whole(performed)]
    turns: dict[str, list[list[str]]] = defaultdict(list)
    facts.extend(_sums("all", [*_requests(scenario, performed, performed.asked), *_of_no_session(performed)]))
    for session in performed.sessions:
        asked = [one for one in performed.asked if one.session == session]
        turns[session] = [_marks(one) for one in asked]
        facts.extend(_session(scenario, performed, session, asked, fill))
    for name in scenario.alone:
        facts.extend(_alone(name, facts))
    facts.extend(
        Fact(kind=one.kind, where=one.where, expected=fill(one.value), how=one.how)
        for one in scenario.expect
        if applies(one.since, one.until, performed.version)
    )
    return Truth(
        scenario=scenario.name,
        program=performed.program,
        version=performed.version,
        sessions=performed.sessions,
        turns=dict(turns),
        facts=_last_of_each(facts),
        gaps=[
            *(gap for gap in scenario.gaps if applies(gap.since, gap.until, performed.version)),
            *gaps_of(performed.program, performed.version),
        ],
        alone=scenario.alone,
    )


def _alone(name: str, facts: list[Fact]) -> list[Fact]:
    """Return the facts that a file must tell by itself: those of the session `main`, and that nothing is left over."""
    place = f"{MAIN}/"
    whole = ("conversations", "unknown kinds", "bad records", "warnings", "balanced")
    found = [fact for fact in facts if fact.where == MAIN or fact.where.startswith(place)]
    found = [msgspec.structs.replace(fact, where=f"{name}{fact.where[len(MAIN) :]}") for fact in found]
    return [*found, *(msgspec.structs.replace(fact, where=f"{name} all") for fact in facts if fact.kind in whole)]


def _marks(asked: Asked) -> list[str]:
    """Return the texts by which a turn is recognized; none for one that does not count."""
    if asked.turn.superseded is not None:
        return []
    if not asked.text:
        return [""]  # the program asked by itself: the next turn
    return [f"[[{name}]]" for name in asked.scripts] or [asked.text]


def requests_of(scenario: Scenario, performed: Performed, asked: Asked) -> list[Served]:
    """Return the requests that were answered for a prompt: also those of its sub-agents, and those for summaries."""
    if asked.requests is not None:
        return [one for one in performed.served if one.number in asked.requests and is_answered(one)]
    names = set(_closure(scenario, asked.scripts))
    found: list[Served] = []
    is_inside = False
    for one in performed.served:
        if one.kind == "chat":
            is_inside = one.script in names
        if is_inside and one.kind in ("chat", "compaction") and is_answered(one):
            found.append(one)
    return found


def is_answered(served: Served) -> bool:
    """Return whether the program got the whole answer."""
    if served.script is None or served.status != 200 or served.is_closed_early:
        return False
    return not served.answer.cut and served.ended_at is not None


def _last_of_each(facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts, where one that the scenario states replaces the derived one."""
    return list({fact.key: fact for fact in facts}.values())


def _whole(performed: Performed) -> Iterator[Fact]:
    """Facts about everything that was read: nothing is left over, nothing is bad or unknown."""
    yield Fact(kind="conversations", where="all", expected=len(performed.sessions))
    yield Fact(kind="unknown kinds", where="all", expected=[])
    yield Fact(kind="bad records", where="all", expected=[])
    yield Fact(kind="warnings", where="all", expected=[])
    yield Fact(kind="files of no known format", where="all", expected=[])
    yield Fact(kind="texts not accounted for", where="all", expected=[])
    yield Fact(kind="balanced", where="all", expected=True)
    yield Fact(kind="credits", where="all", expected=None)  # the scripted model reports none


def _session(scenario: Scenario, performed: Performed, session: str, asked: list[Asked], fill: Fill) -> Iterator[Fact]:
    counted = [one for one in asked if one.turn.superseded is None]
    yield Fact(kind="turns", where=session, expected=len(counted))
    yield Fact(kind="folder", where=session, expected=performed.workspace)
    copied = [one for one in performed.asked if set(one.scripts) & set(scenario.copied.get(session, []))]
    # What superseded turns used was charged, and is in the figures (docs/metrics.md).
    served = list(_requests(scenario, performed, [*copied, *asked]))
    yield from _sums(session, served)
    by_model: dict[str, list[Served]] = defaultdict(list)
    by_day: dict[str, list[Served]] = defaultdict(list)
    for request in served:
        by_model[request.model].append(request)
        day = request.began_at - _days_back(scenario, performed, request)
        by_day[day.astimezone().date().isoformat()].append(request)
    for model, requests in by_model.items():
        yield from _sums(f"{session}/model {model}", requests)
    for day_name, requests in by_day.items():
        yield from _sums(f"{session}/day {day_name}", requests)
    yield Fact(kind="requests", where=session, expected=len(served))
    yield Fact(kind="compactions", where=session, expected=0)
    if performed.program == "cli":
        yield from _session_of_cli(scenario, performed, session, asked)
    else:
        yield from _session_of_vscode(performed, session, asked)
    for number, one in enumerate(asked, 1):
        if one.turn.superseded is None:
            yield from _turn(scenario, performed, one, f"{session}/{number}", fill)


def _session_of_cli(scenario: Scenario, performed: Performed, session: str, asked: list[Asked]) -> Iterator[Fact]:
    """What holds of a session unless the scenario says otherwise."""
    yield Fact(kind="title", where=session, expected=next((one.text for one in asked), None))
    yield Fact(kind="relations", where=session, expected=[])
    yield Fact(kind="documents", where=session, expected=[])
    superseded = sorted(one.turn.superseded for one in asked if one.turn.superseded is not None)
    yield Fact(kind="superseded", where=session, expected=superseded)
    is_new = session not in scenario.copied
    if is_new and asked and asked[0].ended_at is not None:  # at a terminal the session begins with the program
        yield from _began(scenario, performed, asked[0], session)


def _session_of_vscode(performed: Performed, session: str, asked: list[Asked]) -> Iterator[Fact]:
    """What holds of a session unless the scenario says otherwise.

    Why a prompt was taken back is not recorded, only that it is gone.
    """
    yield Fact(kind="superseded turns", where=session, expected=sum(one.turn.superseded is not None for one in asked))
    titles = [number for one in asked for number in one.own if performed.served[number - 1].kind == "title"]
    yield Fact(kind="documents", where=session, expected=["helper"] if titles else [])


def _answered_first(scenario: Scenario, performed: Performed, asked: Asked) -> Served | None:
    """Return the first request that a prompt caused, answered or not."""
    names = set(_closure(scenario, asked.scripts))
    return next((one for one in performed.served if one.script in names), None)


def _days_back(scenario: Scenario, performed: Performed, request: Served) -> timedelta:
    """Return how long ago the program believed to run; its sub-agents believe the same."""
    for asked in performed.asked:
        if request.script in list(_closure(scenario, asked.scripts)):
            return timedelta(days=next((performed.day_offsets.get(name, 0) for name in asked.scripts), 0))
    return timedelta(0)


def _began(scenario: Scenario, performed: Performed, asked: Asked, where: str) -> Iterator[Fact]:
    """It began after the prompt was given to the program, and before the program asked the model."""
    first = _answered_first(scenario, performed, asked)
    if asked.began_at is None or first is None:
        return
    days = _days_back(scenario, performed, first)
    low, high = ((at - days).timestamp() * 1000 for at in (asked.began_at, first.began_at))
    yield Fact(kind="began", where=where, expected=[low - CLOCK_MS, high + CLOCK_MS], how="between")


def _of_no_session(performed: Performed) -> list[Served]:
    """Return the requests that VS Code made for itself, such as those for its progress messages."""
    owned = {number for asked in performed.asked for number in asked.own}
    own = [one for one in performed.served if one.kind in OF_ITSELF and one.number not in owned]
    return [one for one in own if performed.program == "vscode" and one.ended_at is not None]


def _requests(scenario: Scenario, performed: Performed, asked: Iterable[Asked]) -> Iterator[Served]:
    """Yield the requests for some prompts, those that the program made for itself included."""
    for one in asked:
        yield from requests_of(scenario, performed, one)
        yield from (performed.served[number - 1] for number in one.own)


def _sums(where: str, requests: list[Served]) -> Iterator[Fact]:
    """The sums of tokens at one place."""
    all_numbers = [_numbers(request.tokens) for request in requests]
    for name in NUMBERS:
        yield Fact(kind=f"tokens.{name}", where=where, expected=sum(one[name] for one in all_numbers))


def _turn(scenario: Scenario, performed: Performed, asked: Asked, where: str, fill: Fill) -> Iterator[Fact]:
    expected = asked.turn
    if asked.text:
        yield Fact(kind="prompt", where=where, expected=expected.recorded_text or asked.text)
    yield Fact(kind="status", where=where, expected=expected.status)
    yield Fact(kind="agent", where=where, expected=expected.agent)
    yield Fact(kind="model.asked", where=where, expected=asked.model)
    yield Fact(kind="vote", where=where, expected=expected.vote)
    if performed.program == "cli":
        yield from _turn_of_cli(scenario, performed, asked, where)
    if expected.mode is not None:
        yield Fact(kind="mode", where=where, expected=expected.mode)
    if expected.images:
        yield Fact(kind="images", where=where, expected=expected.images)
    if expected.error is not None:
        yield Fact(kind="error", where=where, expected=fill(expected.error), how="holds")
    requests = requests_of(scenario, performed, asked)
    own = [request for request in requests if request.script in asked.scripts]
    if own:
        yield Fact(kind="model", where=where, expected=own[-1].model)
    yield from _sums(where, requests)
    for request in requests:
        at = f"{where}/{request.script} {request.step}"
        numbers = _numbers(request.tokens)
        yield Fact(kind="request", where=at, expected=numbers)
        yield Fact(kind="request.output", where=at, expected=numbers["output"])
    yield from _duration(asked, requests, where)
    steps = [(request, request.answer) for request in requests]
    yield from _texts([step for request, step in steps if request.script in asked.scripts], where)
    yield from _calls(scenario, asked, steps, where)
    for request in requests:
        yield from _lasted(performed, request, where)


def _turn_of_cli(scenario: Scenario, performed: Performed, asked: Asked, where: str) -> Iterator[Fact]:
    """What holds of a turn unless the scenario says otherwise."""
    yield Fact(kind="images", where=where, expected=0)
    if asked.turn.status == "complete":
        yield Fact(kind="error", where=where, expected=None)
    yield from _began(scenario, performed, asked, where)


def _numbers(tokens: Tokens | None) -> dict[str, int]:
    tokens = tokens or Tokens(input=0, output=0)
    return {name: getattr(tokens, name) for name in NUMBERS}


def _duration(asked: Asked, requests: list[Served], where: str) -> Iterator[Fact]:
    """The turn takes as long as the model, at least, and no longer than the program ran."""
    if asked.began_at is None or asked.ended_at is None or not requests or asked.turn.status != "complete":
        return
    began = min(request.began_at for request in requests)
    ended = max(request.ended_at or request.began_at for request in requests)
    low = (ended - began) / timedelta(milliseconds=1)
    high = (asked.ended_at - asked.began_at) / timedelta(milliseconds=1)
    yield Fact(kind="duration", where=where, expected=[max(0.0, low - CLOCK_MS), high], how="between")


def _texts(steps: list[Step], where: str) -> Iterator[Fact]:
    texts = [step.text.strip() for step in steps if step.text]  # VS Code adds a space where a call follows
    thoughts = [step.thinking for step in steps if step.thinking]
    yield Fact(kind="answers", where=where, expected=len(texts))
    yield Fact(kind="thoughts", where=where, expected=len(thoughts))
    for number, text in enumerate(texts, 1):
        yield Fact(kind="answer", where=f"{where}/{number}", expected=text)
    for number, text in enumerate(thoughts, 1):
        yield Fact(kind="thinking", where=f"{where}/{number}", expected=text)


def _calls(scenario: Scenario, asked: Asked, steps: list[tuple[Served, Step]], where: str) -> Iterator[Fact]:
    parents = dict(_callers(scenario))
    total, edits = 0, 0
    skills: list[str] = list(asked.turn.skills)
    for request, step in steps:
        caller = parents.get(request.script or "", "main") if request.script not in asked.scripts else "main"
        for call, id_ in zip(step.calls, request.call_ids, strict=True):
            total += 1
            edits += len(call.edits)
            if call.skill is not None:
                skills.append(call.skill)
            at = f"{where}/{CUSTOM if call.custom else ''}{id_}"
            yield from _call(call, at, caller)
            yield from _subagent(steps, call, at)
    yield Fact(kind="calls", where=where, expected=total)
    yield Fact(kind="edits", where=where, expected=edits)
    yield Fact(kind="skills", where=where, expected=sorted(set(skills)))


def _call(call: Call, where: str, caller: str) -> Iterator[Fact]:
    yield Fact(kind="call.name", where=where, expected=call.name)
    yield Fact(kind="call.arguments", where=where, expected=call.arguments)
    yield Fact(kind="call.outcome", where=where, expected=call.outcome)
    yield Fact(kind="call.caller", where=where, expected=caller)
    if call.exit_code is not None:
        yield Fact(kind="call.exit code", where=where, expected=call.exit_code)
    if call.result is not None:
        yield Fact(kind="call.result", where=where, expected=call.result, how="holds")
    if call.reason is not None:
        yield Fact(kind="call.reason", where=where, expected=call.reason, how="holds")
    if call.server is not None:
        yield Fact(kind="call.server", where=where, expected=call.server)
    if call.todos:
        yield Fact(kind="call.todos", where=where, expected=call.todos)
    for edit in call.edits:
        yield from _edit(edit, call, where)


def _lasted(performed: Performed, request: Served, where: str) -> Iterator[Fact]:
    """A call runs between the answer that asks for it and the next request; a sub-agent's as long as its requests."""
    following = [one for one in performed.served if one.script == request.script and one.number > request.number]
    if not following or request.ended_at is None:
        return
    next_at = following[0].began_at
    for call, id_ in zip(request.answer.calls, request.call_ids, strict=True):
        names = MARKER.findall(json.dumps(call.arguments))
        inner = [one for one in performed.served if one.script in names]
        ended = [one.ended_at for one in inner if one.ended_at is not None and one.ended_at < next_at]
        if call.outcome not in ("succeeded", "failed") or len(ended) < len(inner):
            continue  # it did not run, or its sub-agent runs on in the background
        low = max(ended) - min(one.began_at for one in inner) if ended else timedelta(seconds=call.lasts)
        high = next_at - request.ended_at
        limits = [low / timedelta(milliseconds=1) - CLOCK_MS, high / timedelta(milliseconds=1) + CLOCK_MS]
        at = f"{where}/{CUSTOM if call.custom else ''}{id_}"
        yield Fact(kind="call.duration", where=at, expected=[max(0.0, limits[0]), limits[1]], how="between")


def _edit(edit: Edit, call: Call, where: str) -> Iterator[Fact]:
    at = f"{where}/{edit.path}"
    yield Fact(kind="edit", where=at, expected=edit.action)
    yield Fact(kind="edit.outcome", where=at, expected=call.outcome)
    if edit.added is not None:
        yield Fact(kind="edit.added", where=at, expected=edit.added)
    if edit.removed is not None:
        yield Fact(kind="edit.removed", where=at, expected=edit.removed)


def _subagent(steps: list[tuple[Served, Step]], call: Call, where: str) -> Iterator[Fact]:
    """What a sub-agent was asked, and the texts that it answered with."""
    names = MARKER.findall(json.dumps(call.arguments))
    texts = [step.text for request, step in steps if request.script in names and step.text]
    if not names or not texts or not isinstance(call.arguments, dict):
        return
    yield Fact(kind="subagent.prompt", where=where, expected=call.arguments.get("prompt"))
    models = {request.model for request, _ in steps if request.script in names}
    named = call.arguments.get("agent_type", call.arguments.get("agentName"))  # as the CLI and as VS Code call it
    yield Fact(kind="subagent.name", where=where, expected=named)
    yield Fact(kind="subagent.model", where=where, expected=min(models))
    yield Fact(kind="subagent.answers", where=where, expected=len(texts))
    for number, text in enumerate(texts, 1):
        yield Fact(kind="subagent.answer", where=f"{where}/{number}", expected=text)


def _callers(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield each script that a call hands to a sub-agent, with the id of that call."""
    for name in scenario.scripts:
        for number, step in enumerate(scenario.script(name).steps):
            for position, call in enumerate(step.calls):
                for given in MARKER.findall(json.dumps(call.arguments)):
                    yield given, call_id(name, number, position)


def _closure(scenario: Scenario, names: Iterable[str]) -> Iterator[str]:
    """Yield scripts, and those that their calls hand to sub-agents, and so on."""
    waiting = list(names)
    seen: set[str] = set()
    while waiting:
        name = waiting.pop(0)
        if name in seen or name not in scenario.scripts:
            continue
        seen.add(name)
        yield name
        for step in scenario.script(name).steps:
            for call in step.calls:
                waiting.extend(MARKER.findall(json.dumps(call.arguments)))
