"""The records and files that could not be read, file by file, with what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby, islice
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from copilog.store.archive import Archive
from copilog.store.ledgers import Problem
from copilog.store.summary import Summary
from copilog.web.viewer import page, viewer_of

LEVELS = {"error": "errors", "warning": "warnings", "info": "remarks"}
SERIOUS = "serious"  # errors and warnings: the default
FILES_AT_ONCE = 50
REASONS_AT_ONCE = 20  # for one kind of problem in one file
PLACES_AT_ONCE = 8  # of one reason
CONVERSATIONS_AT_ONCE = 5  # of one file


class Choice(msgspec.Struct, frozen=True):
    """The filters of the page."""

    level: str = SERIOUS
    code: str = ""
    path: str = ""
    start: int = 0

    def takes(self, problem: Problem) -> bool:
        return self.takes_level(problem.level) and self.code in ("", problem.code)

    def takes_level(self, level: str) -> bool:
        return self.level in ("all", level) or (self.level == SERIOUS and level != "info")

    def address(self, **changes: object) -> str:
        """Return the address of the page with another filter."""
        values = msgspec.structs.asdict(msgspec.structs.replace(self, **{"start": 0, **changes}))
        asked = {name: value for name, value in values.items() if value != getattr(Choice(), name)}
        return f"/problems?{urlencode(asked)}" if asked else "/problems"


class Reason(msgspec.Struct, frozen=True):
    """A reason, with its positions."""

    words: str
    places: list[str]
    more: int  # positions that are not listed


class Kind(msgspec.Struct, frozen=True):
    """All problems of one code in a file, with their advice."""

    level: str
    code: str
    advice: str | None
    reasons: list[Reason]
    more: int  # problems with other reasons


class TroubledFile(msgspec.Struct, frozen=True):
    """A file with its problems, and the conversations that were read from it."""

    path: str
    source: str | None
    is_gone: bool
    kinds: list[Kind]
    conversations: list[Summary]  # the first few
    other_conversations: int  # that are not listed


def problems_page(request: Request) -> Response:
    choice = choice_from(request.query_params)
    with viewer_of(request).archive() as archive:
        found = archive.problems(path=choice.path or None)
        taken = _by_file(problem for problem in found if choice.takes(problem))
        shown = taken[choice.start : choice.start + FILES_AT_ONCE]
        return page(
            request,
            "problems.html",
            page_name="problems",
            choice=choice,
            books=archive.ledger_totals(),
            levels=[(name, words, count_of(found, level=name)) for name, words in LEVELS.items()],
            codes=sorted(Counter(problem.code for problem in found if choice.takes_level(problem.level)).items()),
            files=_with_conversations(archive, shown),
            total=len(taken),
            following=choice.start + FILES_AT_ONCE if choice.start + FILES_AT_ONCE < len(taken) else None,
        )


def choice_from(params: Mapping[str, str]) -> Choice:
    """Return the filters in an address; invalid ones are ignored."""
    level = params.get("level", "")
    start = params.get("start", "")
    return Choice(
        level=level if level in {*LEVELS, "all"} else SERIOUS,
        code=params.get("code", ""),
        path=params.get("path", ""),
        start=int(start) if start.isascii() and start.isdecimal() and len(start) < 10 else 0,
    )


def count_of(problems: Iterable[Problem], level: str) -> int:
    return sum(problem.level == level for problem in problems)


def _by_file(problems: Iterable[Problem]) -> list[list[Problem]]:
    """Return the problems of each file together; files with errors come first, as in the archive."""
    files: dict[str, list[Problem]] = {}
    for problem in problems:
        files.setdefault(problem.path, []).append(problem)
    return list(files.values())


def _with_conversations(archive: Archive, files: list[list[Problem]]) -> list[TroubledFile]:
    read = _conversations_of(archive, [problems[0].path for problems in files])
    first = {path: ids[:CONVERSATIONS_AT_ONCE] for path, ids in read.items()}
    summaries = archive.summaries(sorted({name for ids in first.values() for name in ids}))
    return [
        TroubledFile(
            path=path,
            source=problems[0].source,
            is_gone=problems[0].is_gone,
            kinds=_kinds_of(problems),
            conversations=[summaries[name] for name in first.get(path, []) if name in summaries],
            other_conversations=max(0, len(read.get(path, [])) - CONVERSATIONS_AT_ONCE),
        )
        for problems in files
        for path in [problems[0].path]
    ]


def _kinds_of(problems: list[Problem]) -> list[Kind]:
    order = {level: number for number, level in enumerate(LEVELS)}
    problems = sorted(problems, key=lambda problem: (order.get(problem.level, len(order)), problem.code))
    kinds = []
    for (level, code), group in groupby(problems, key=lambda problem: (problem.level, problem.code)):
        same = list(group)
        places: dict[str, list[str]] = {}
        for problem in same:
            places.setdefault(problem.reason, []).append(_position_text(problem.place))
        reasons = [
            Reason(words, where[:PLACES_AT_ONCE], max(0, len(where) - PLACES_AT_ONCE))
            for words, where in islice(places.items(), REASONS_AT_ONCE)
        ]
        listed = sum(len(places[reason.words]) for reason in reasons)
        kinds.append(Kind(level, code, same[0].advice, reasons, len(same) - listed))
    return kinds


def _position_text(place: str | None) -> str:
    """Return `line 12 (byte 90412)` for `:12 (byte 90412)`; JSON pointers and tables as they are."""
    words = (place or "").strip()
    return f"line {words[1:]}" if words.startswith(":") else words.removeprefix("#") or "whole file"


def _conversations_of(archive: Archive, paths: list[str]) -> dict[str, list[str]]:
    """Return the ids of the conversations that were read from these files."""
    rows = archive.connection.execute(
        "SELECT DISTINCT path, conversation FROM traces WHERE path IN (SELECT value FROM json_each(?)) ORDER BY 1, 2",
        (msgspec.json.encode(paths).decode(),),
    )
    read: dict[str, list[str]] = {}
    for path, conversation in rows:
        read.setdefault(path, []).append(conversation)
    return read


routes = [Route("/problems", problems_page)]
