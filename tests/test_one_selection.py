"""Every surface answers the same for the same selection: what the conversations themselves say, read without it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from copilog.analysis import choose, measure
from copilog.cli.selection_options import selects
from copilog.derive import agent_name, model_of, without_superseded
from copilog.derive.line_counts import counted_edits
from copilog.errors import UsageError
from copilog.ingest import find_roots
from copilog.ingest.scanning import scan
from copilog.mcp.server import build_server
from copilog.model import Conversation, ToolCall, is_empty, parts_of
from copilog.sample import home
from copilog.store.archive import Archive
from copilog.store.query_fields import FIELDS
from copilog.store.selection import FLAGS, NAME_FIELDS, Selected, Selection, selection_of
from copilog.store.texts import Calls
from copilog.web.filters import Filters, filters_from, listed_by, measured_by
from copilog.web.library_view import library_view, part_view
from tests.cli.homes import run

Expected = Callable[[Conversation], bool]
Fields = dict[str, Any]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield an archive of the sample, with some stars and labels, and one conversation whose files are gone."""
    before = os.environ.get("TZ")
    folder = tmp_path_factory.mktemp("selection")
    copy = folder / "home"
    shutil.copytree(home(), copy)
    with Archive(folder / "archive.db", write=True) as archive:
        scan(archive, roots=find_roots([copy]))
        ids = sorted(summary.id for summary in archive.list())
        for name in ids[::3]:
            archive.star(name)
        for name in ids[::4]:
            archive.label(name, "To Do")
        archive.label(ids[1], "done")
        archive.mark_gone([ids[2]])
    yield folder / "archive.db"
    assert os.environ.get("TZ") == before


@pytest.fixture(scope="module")
def read(path: Path) -> dict[str, Conversation]:
    """Return all conversations as they were read, without turns that no longer count."""
    with Archive(path) as archive:
        ids = [name for (name,) in archive.connection.execute("SELECT id FROM conversation")]
        return {name: without_superseded(archive.get(name)) for name in ids}


# --- what is expected, from the conversations alone -----------------------------------------------------------------


def has(names: Callable[[Conversation], Any], test: Callable[[str], bool]) -> Expected:
    return lambda conversation: any(test(name.casefold()) for name in names(conversation) if name)


def part(text: str) -> Callable[[str], bool]:
    return lambda name: text in name


def workspaces(one: Conversation) -> list[str | None]:
    return [one.workspace.folder, one.workspace.repository] if one.workspace else []


def branches(one: Conversation) -> list[str | None]:
    return [one.workspace.branch] if one.workspace else []


def sources(one: Conversation) -> list[str]:
    return [trace.source for trace in one.provenance]


def models(one: Conversation) -> list[str | None]:
    return [model_of(turn) for turn in one.turns]


def modes(one: Conversation) -> list[str | None]:
    kinds = [turn.mode.kind for turn in one.turns if turn.mode]
    return [*kinds, *(turn.custom_agent.name for turn in one.turns if turn.custom_agent)]


def agents(one: Conversation) -> list[str | None]:
    named = [agent_name(turn.agent) for turn in one.turns if turn.agent]
    custom = [turn.custom_agent.name for turn in one.turns if turn.custom_agent]
    return [*named, *custom, *(agent.name for _, agent in Calls(one).delegated)]


def skills(one: Conversation) -> list[str]:
    return [skill.name for turn in one.turns for skill in turn.skills if skill.is_loaded]


def tools(one: Conversation) -> list[str]:
    return [call.name for call in parts_of(one) if isinstance(call, ToolCall)]


def failed(one: Conversation) -> bool:
    calls = [call for call in parts_of(one) if isinstance(call, ToolCall)]
    return any(turn.status == "failed" for turn in one.turns) or any(
        call.outcome is not None and call.outcome.kind == "failed" for call in calls
    )


def active(since: str | None = None, until: str | None = None) -> Expected:
    """Check for last activity in a period, or a turn that began in it; days in UTC, `until` not included."""
    first, end = (datetime.fromisoformat(f"{day}T00:00Z") if day else None for day in (since, until))

    def holds(one: Conversation) -> bool:
        times = [one.updated_at or one.started_at, *(turn.timing.started_at for turn in one.turns)]
        return any((not first or at >= first) and (not end or at < end) for at in times if at is not None)

    return holds


def annotated(sql: str) -> Callable[[Archive], set[str]]:
    return lambda archive: {name for (name,) in archive.connection.execute(sql)}


STARRED = annotated("SELECT id FROM annotation WHERE is_starred")
TO_DO = annotated("SELECT id FROM label WHERE lower(label) = 'to do'")
GONE = annotated("SELECT id FROM conversation WHERE gone_at IS NOT NULL")

CASES: list[tuple[Fields, Expected | Callable[[Archive], set[str]]]] = [
    ({}, lambda _: True),
    ({"workspace": "TIDE"}, has(workspaces, part("tide"))),
    ({"workspace": "*/tide-tables"}, has(workspaces, lambda name: name.endswith("/tide-tables"))),
    ({"workspace": "=/home/ana/code/tide-tables"}, has(workspaces, lambda name: name == "/home/ana/code/tide-tables")),
    ({"workspace": "(no workspace)"}, lambda one: not (one.workspace and one.workspace.folder)),
    ({"branch": "Release"}, has(branches, part("release"))),
    ({"source": "vscode-editing"}, has(sources, lambda name: name == "vscode-editing")),
    ({"source": "vscode-state"}, has(sources, lambda name: name == "vscode-state")),
    ({"source": "VSCode-Session"}, has(sources, lambda name: name == "vscode-session")),
    ({"source": "cli-*"}, has(sources, lambda name: name.startswith("cli-"))),
    ({"model": "gpt"}, has(models, part("gpt"))),
    ({"model": "claude*4.5"}, has(models, lambda name: name.startswith("claude") and name.endswith("4.5"))),
    ({"model": "(unknown model)"}, lambda one: not any(models(one))),
    ({"mode": "Agent"}, has(modes, lambda name: name == "agent")),
    ({"mode": "Revi*"}, has(modes, lambda name: name.startswith("revi"))),
    ({"agent": "review"}, has(agents, part("review"))),
    ({"skill": "e"}, has(skills, part("e"))),
    ({"tool": "read"}, has(tools, part("read"))),
    ({"tool": "=read_file"}, has(tools, lambda name: name == "read_file")),
    ({"label": "to do"}, TO_DO),
    ({"starred": True}, STARRED),
    ({"gone": True}, GONE),
    ({"error": True}, failed),
    ({"edit": True}, lambda one: bool(counted_edits(one))),
    ({"since": "2026-05-02"}, active("2026-05-02")),
    ({"until": "2026-05-04"}, active(None, "2026-05-05")),
    ({"until": "2026-04"}, active(None, "2026-05-01")),
    ({"since": "2026/04", "until": "2026-04-15"}, active("2026-04-01", "2026-04-16")),
    ({"workspace": "tide", "source": "vscode-*", "edit": True}, lambda one: has(workspaces, part("tide"))(one)
     and has(sources, part("vscode-"))(one) and bool(counted_edits(one))),
]  # fmt: skip


def expected_of(archive: Archive, read: dict[str, Conversation], expected: Any) -> set[str]:
    """Return the conversations of a selection, without empty ones."""
    full = {name for name, one in read.items() if not is_empty(one)}
    if expected in (STARRED, TO_DO, GONE):
        return full & set(expected(archive))
    return {name for name in full if expected(read[name])}


# --- surfaces -------------------------------------------------------------------------------------------------------


def options_of(fields: Fields) -> list[str]:
    return [f"--{name}" if value is True else f"--{name}={value}" for name, value in fields.items()]


def query_of(fields: Fields) -> str:
    flags = {"starred": "is:starred", "gone": "is:gone", "error": "has:error", "edit": "has:edit"}
    return " ".join(flags[name] if value is True else f'{name}:"{value}"' for name, value in fields.items())


def by_list(path: Path, fields: Fields) -> set[str]:
    return {row["id"] for row in run("list", "--json", "--archive", path, "--no-scan", *options_of(fields)).json}


def by_query_option(path: Path, fields: Fields) -> set[str]:
    options = ["-q", query_of(fields)] if fields else []
    return {row["id"] for row in run("list", "--json", "--archive", path, "--no-scan", *options).json}


def by_search(path: Path, fields: Fields) -> set[str]:
    query = query_of(fields) or "role:title"
    found = run("search", "--json", "-n", "100000", "--archive", path, "--no-scan", query).json
    return {group["conversation"] for group in found["groups"]}


def by_stats(path: Path, fields: Fields) -> int:
    totals = run("stats", "totals", "--json", "--archive", path, "--no-scan", *options_of(fields)).json
    return int(totals["conversations"])


def by_export(path: Path, fields: Fields) -> int:
    target = path.parent / "exported"
    shutil.rmtree(target, ignore_errors=True)
    options = options_of(fields) or ["--since=2000"]
    told = run("export", "-f", "markdown", "-o", target, "--archive", path, "--no-scan", *options)
    assert told.code == 0, told.err
    return len(list(target.glob("2*.md")))


def by_library(path: Path, fields: Fields) -> set[str]:
    filters = filters_from({name: "1" if value is True else value for name, value in fields.items()})
    with Archive(path) as archive:
        view = library_view(archive, filters)
        listed = list(view.listed)
        while len(listed) < view.matching:
            listed += part_view(archive, filters, len(listed)).listed
    assert view.trouble is None
    return {each.row.id for each in listed}


def by_search_box(path: Path, fields: Fields) -> set[str]:
    return by_library(path, {"q": query_of(fields)} if fields else {})


def by_dashboard(path: Path, fields: Fields) -> set[str]:
    filters = filters_from({name: "1" if value is True else value for name, value in fields.items()})
    with Archive(path) as archive:
        rows = choose(archive, measured_by(filters)).connection.execute("SELECT id FROM temp.chosen").fetchall()
    return {name for (name,) in rows}


def by_mcp(path: Path, fields: Fields) -> set[str]:
    async def ask() -> Any:
        async with Client(build_server(path)) as client:
            return await client.call_tool("search", {"limit": 100, **fields})

    result = anyio.run(ask)
    assert not result.is_error
    return {line["id"] for line in result.structured_content["conversations"]}


def by_mcp_usage(path: Path, fields: Fields) -> int:
    async def ask() -> Any:
        async with Client(build_server(path)) as client:
            return await client.call_tool("usage", fields)

    return int(anyio.run(ask).structured_content["conversations"])


def by_python_list(path: Path, fields: Fields) -> set[str]:
    with Archive(path) as archive:
        found = archive.list(**fields)
        assert archive.count(**fields) == len(found)
        return {summary.id for summary in found}


def by_python_measure(path: Path, fields: Fields) -> int:
    with Archive(path) as archive:
        return measure(archive, selection_of(**fields), prices=False).totals.conversations


SURFACES = [
    by_list, by_query_option, by_search, by_stats, by_export, by_library, by_search_box, by_dashboard, by_mcp,
    by_mcp_usage, by_python_list, by_python_measure,
]  # fmt: skip
IDS: dict[str, Any] = {"ids": lambda value: query_of(value) or "all" if isinstance(value, dict) else ""}


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    import time

    if not hasattr(time, "tzset"):
        pytest.skip("the time zone cannot be set here")
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize("surface", SURFACES, ids=lambda surface: surface.__name__)
@pytest.mark.parametrize(("fields", "expected"), CASES, **IDS)
def test_every_surface_selects_the_same_conversations(
    path: Path, read: dict[str, Conversation], surface: Callable[..., Any], fields: Fields, expected: Any
) -> None:
    with Archive(path) as archive:
        wanted = expected_of(archive, read, expected)
    assert wanted, "the sample has something of it"

    found = surface(path, fields)

    assert found == (wanted if isinstance(found, set) else len(wanted))


@pytest.mark.parametrize(
    ("fields", "expected"), [case for case in CASES if not {"starred", "label", "gone"} & set(case[0])][::3], **IDS
)
def test_a_list_of_the_disk_is_selected_by_the_same_rules(
    path: Path, read: dict[str, Conversation], fields: Fields, expected: Any
) -> None:
    with Archive(path) as archive:
        wanted = expected_of(archive, read, expected)

    rows = run("list", "--json", "--root", path.parent / "home", "--long", *options_of(fields)).json

    assert {row["id"] for row in rows} == wanted


def test_every_field_has_a_case() -> None:
    tried = {name for fields, _ in CASES for name in fields}
    assert tried == {*NAME_FIELDS, *FLAGS, "since", "until"}


@pytest.mark.parametrize("fields", [{name: "no such name"} for name in NAME_FIELDS], **IDS)
def test_every_surface_reports_an_unknown_name_in_the_same_way(path: Path, fields: Fields) -> None:
    with Archive(path) as archive, pytest.raises(UsageError) as caught:
        archive.list(**fields)
    words = str(caught.value)

    for command in ("list", "stats", "agents", "skills", "export", "report", "graph"):
        more = ["-o", path.parent / "made"] if command == "report" else []
        told = run(command, "--archive", path, "--no-scan", *more, *options_of(fields))
        assert (told.code, told.out, told.err) == (2, "", f"copilog: {words}\n")
    told = run("search", "--json", "--archive", path, "--no-scan", query_of(fields))
    assert (told.code, json.loads(told.out)["error"]["reason"]) == (2, words)
    with Archive(path) as archive:
        for asked in (filters_from(fields), Filters(q=query_of(fields))):
            view = library_view(archive, asked)
            assert view.trouble is not None
            assert view.trouble.reason == words
            with pytest.raises(UsageError, match="no conversation has"):
                choose(archive, measured_by(asked))

    async def ask() -> Any:
        async with Client(build_server(path)) as client:
            return await client.call_tool("search", fields)

    assert words in anyio.run(ask).content[0].text


# --- empty conversations --------------------------------------------------------------------------------------------


def test_empty_conversations_are_found_only_if_selected(path: Path, read: dict[str, Conversation]) -> None:
    empty = {name for name, one in read.items() if is_empty(one)}
    assert empty

    listed = run("list", "--all", "--json", "--archive", path, "--no-scan").json
    assert {row["id"] for row in listed} == set(read)
    with Archive(path) as archive:
        assert {summary.id for summary in archive.list(include_empty=True)} == set(read)
        assert {hit.conversation for hit in archive.search("is:empty").hits} == empty
        assert {hit.conversation for hit in archive.search("role:title", limit=1000).hits} == set(read) - empty


def test_with_utc_dates_are_those_of_utc(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a zone nine hours ahead, the last hours of a day in UTC are on the next day."""
    import time

    with Archive(path) as archive:
        rows = archive.connection.execute(
            "SELECT id, date(at, '+1 day') FROM"
            " (SELECT id, coalesce(updated_at, started_at) AS at FROM conversation WHERE NOT is_empty)"
            " WHERE time(at) >= '15:00' ORDER BY at DESC"
        )
        name, next_day = rows.fetchone()

    def is_listed(*options: str) -> set[bool]:
        commands = [("list", f"--since={next_day}"), ("list", "-q", f"since:{next_day}")]
        listed = [run(*command, *options, "--json", "--archive", path, "--no-scan").json for command in commands]
        return {name in [row["id"] for row in rows] for rows in listed}

    with monkeypatch.context() as patch:
        patch.setenv("TZ", "XXX-9")
        time.tzset()
        assert (is_listed(), is_listed("--utc")) == ({True}, {False})


# --- nothing of it is written twice ---------------------------------------------------------------------------------


def test_every_surface_has_every_field() -> None:
    fields = {*NAME_FIELDS, *FLAGS, "since", "until"}

    @selects
    def command() -> None: ...

    options = {option for parameter in command.__click_params__ for option in parameter.opts}  # type: ignore[attr-defined]
    assert {f"--{name}" for name in fields} <= options
    assert set(NAME_FIELDS) <= set(FIELDS)
    assert fields <= set(Filters.__struct_fields__)
    assert fields <= set(Selection.__struct_fields__)


def test_conditions_are_written_in_one_module() -> None:
    """No other module decides which conversations a name, a star or a period means."""
    source = Path(__file__).parents[1] / "src" / "copilog"
    writers = {
        file.relative_to(source).as_posix()
        for file in source.rglob("*.py")
        if any(
            words in file.read_text()
            for words in ("WHERE NOT is_empty", "NOT c.is_empty", "FROM annotation WHERE is_starred")
        )
    }
    assert writers == {"store/selection.py", "analysis/statusline.py"}


def test_the_library_and_the_dashboard_take_the_same_address(path: Path) -> None:
    filters = filters_from({"workspace": "tide", "month": "2026-04", "q": "tide"})
    with Archive(path) as archive:
        listed = Selected(archive.connection, listed_by(filters)).where()
        (number,) = archive.connection.execute(f"SELECT count(*) FROM conversation AS c WHERE {listed[0]}", listed[1])
    assert number[0] > 0
    assert measured_by(filters).since == datetime(2026, 4, 1, tzinfo=UTC)
