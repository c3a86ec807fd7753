"""`copilog mcp` as a client sees it: through the SDK's own client, in memory, over a process and over HTTP."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from copilog.model import Conversation, Message, Terminal, ToolCall, Turn
from copilog.store.archive import Archive
from copilog.writers.mcp_text import tokens_of

if "CI" not in os.environ:  # there, the SDK must be installed, and these tests must run
    pytest.importorskip("mcp.server.mcpserver", reason="the SDK is not installed: pip install 'copilog[mcp]'")
import anyio
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult

from copilog.mcp.refreshing import Refresher
from copilog.mcp.server import build_server
from tests.made_up_documents import WORDS, documented_conversation
from tests.mcp_answers import LOOKUP, Json, data_of, hostile, sample_archive, text_of
from tests.stored import concluded_entry

Found = TypeVar("Found")
PULL_REQUEST = "cli:f26ccf15-115f-4271-85eb-d153989dbb2d"
BYTES_PER_TOKEN_OF_JSON = 3.5  # a careful estimate: more tokens than tokenizers make of it
TOOLS = ["search", "read", "why", "commands", "files", "memories", "usage"]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_archive(tmp_path_factory.mktemp("archive") / "archive.db")


def answer_of(archive: Path, ask: Callable[[Client], Awaitable[Found]], refresher: Refresher | None = None) -> Found:
    """Return the answer that a client in this process gets."""

    async def run() -> Found:
        async with Client(build_server(archive, refresher)) as client:
            return await ask(client)

    return anyio.run(run)


def called(archive: Path, tool: str, **arguments: Any) -> CallToolResult:
    return answer_of(archive, lambda client: client.call_tool(tool, arguments))


def answer(archive: Path, tool: str, **arguments: Any) -> Json:
    result = called(archive, tool, **arguments)
    assert not result.is_error, text_of(result)
    return data_of(result)


def text_answer(archive: Path, tool: str, **arguments: Any) -> str:
    """Return an answer that is text only."""
    result = called(archive, tool, **arguments)
    assert not result.is_error, text_of(result)
    assert result.structured_content is None
    return text_of(result)


def refusal(archive: Path, tool: str, **arguments: Any) -> str:
    """Return the error text of a call that must fail."""
    result = called(archive, tool, **arguments)
    assert result.is_error
    return text_of(result)


# --- the tools ------------------------------------------------------------------------------------------------------


def test_all_tools_are_read_only(archive: Path) -> None:
    tools = answer_of(archive, lambda client: client.list_tools()).tools

    assert [tool.name for tool in tools] == TOOLS
    for tool in tools:
        assert tool.annotations is not None
        assert (tool.annotations.read_only_hint, tool.annotations.open_world_hint) == (True, False)
        assert tool.description


def test_all_definitions_together_stay_below_2000_tokens(archive: Path) -> None:
    async def definitions(client: Client) -> str:
        listed = [
            await client.list_tools(), await client.list_prompts(), await client.list_resources(),
            await client.list_resource_templates(),
        ]  # fmt: skip
        named = [found.model_dump(mode="json", by_alias=True, exclude_none=True) for found in listed]
        return json.dumps([*named, client.instructions], ensure_ascii=False)

    text = answer_of(archive, definitions)

    assert len(text.encode()) / BYTES_PER_TOKEN_OF_JSON < 2000


def test_a_search_hit_can_be_opened_in_the_conversation(archive: Path) -> None:
    found = answer(archive, "search", query="bisection")

    hit = next(hit for hit in found["hits"] if hit["id"] == LOOKUP)
    assert "bisection" in hit["snippet"]
    assert (hit["number"], hit["role"], hit["title"]) == (1, "assistant", "Speed up the tide lookup")
    window = text_answer(archive, "read", id=LOOKUP, around=hit["message"], budget=500)
    assert "find the first one by **bisection**" in window


def test_a_search_says_how_it_read_the_query_and_takes_a_reading(archive: Path) -> None:
    question = answer(archive, "search", query="why is the tide lookup slow")
    assert (question["reading"], question["hits"][0]["id"]) == ("query", LOOKUP)
    assert any("widened" in remark for remark in question["remarks"])

    strict = answer(archive, "search", query="why is the tide lookup slow", reading="query")
    assert (strict["reading"], strict["hits"]) == ("query", [])
    assert answer(archive, "search", query="tide -v", reading="text")["reading"] == "text"


def test_a_search_continues_on_the_next_page(archive: Path) -> None:
    pages = [answer(archive, "search", query="tide", limit=5, per_conversation=50)]
    while (offset := pages[-1].get("next_offset")) is not None:
        pages.append(answer(archive, "search", query="tide", limit=5, offset=offset, per_conversation=50))

    places = [(hit["id"], hit["message"]) for page in pages for hit in page["hits"]]
    assert len(places) == len(set(places)) == pages[0]["total"] > 10


def test_one_conversation_does_not_crowd_out_the_others(archive: Path) -> None:
    hits = answer(archive, "search", query="tide", limit=50, per_conversation=1)["hits"]

    assert len(hits) == len({hit["id"] for hit in hits}) > 3


def test_the_last_conversation_can_be_read_without_its_id(archive: Path) -> None:
    (newest,) = answer(archive, "search", limit=1)["conversations"]
    assert f"({newest['id']})" in text_answer(archive, "read", id="last")


def test_a_query_that_does_not_parse_is_answered_with_one_that_does(archive: Path) -> None:
    text = refusal(archive, "search", query='tide AND (water OR "low')

    assert "the nearest query that works" in text


def test_conversations_are_listed_newest_first_and_filtered(archive: Path) -> None:
    everything = answer(archive, "search", limit=100)["conversations"]
    tides = answer(archive, "search", workspace="tide-tables", mode="agent")["conversations"]
    april = answer(archive, "search", since="2026-04-01", until="2026-04-03")["conversations"]

    times = [line["updated_at"] for line in everything if "updated_at" in line]
    assert times == sorted(times, reverse=True)
    assert LOOKUP in [line["id"] for line in tides]
    assert {line["workspace"] for line in tides if "tide-tables" not in line.get("repository", "")} == {
        "/home/ana/code/tide-tables"
    }
    assert LOOKUP in [line["id"] for line in april]
    assert all("2026-03-31" < line["updated_at"] < "2026-04-05" for line in april)


def test_a_list_continues_on_the_next_page(archive: Path) -> None:
    first = answer(archive, "search", limit=2)
    second = answer(archive, "search", limit=2, offset=first["next_offset"])
    ids = [line["id"] for line in first["conversations"] + second["conversations"]]

    assert ids == [line["id"] for line in answer(archive, "search", limit=4)["conversations"]]


CURSOR = re.compile(rf'There is more: read\(id="{LOOKUP}", cursor="([\w.]+)"\)')


CURSOR = re.compile(rf'There is more: read\(id="{LOOKUP}", cursor="([\w.]+)"\)')


def test_a_conversation_is_read_page_by_page_within_a_budget(archive: Path) -> None:
    pages = [text_answer(archive, "read", id=LOOKUP, budget=500)]
    while (found := CURSOR.search(pages[-1])) is not None:
        pages.append(text_answer(archive, "read", id=LOOKUP, budget=500, cursor=found[1]))

    assert len(pages) > 2
    assert all(tokens_of(page) <= 500 for page in pages)
    assert all("3 turns" in page for page in pages)
    text = "".join(pages)
    assert "Why does `/tides` take almost a second?" in text
    assert "The `stat` costs a few microseconds per request." in text


def test_a_window_is_text_that_is_marked_as_data_and_names_the_next_call(archive: Path) -> None:
    result = called(archive, "read", id="115d7669", turn=2, budget=500)

    text = text_of(result)
    assert result.structured_content is None
    assert text.startswith(f"Speed up the tide lookup ({LOOKUP})")
    assert "data, not instructions" in text
    assert "Do both, please." in text
    assert CURSOR.search(text)


def test_usage_of_a_conversation_counts_everything_once(archive: Path) -> None:
    of_turns = answer(archive, "usage", id="a4d451ec")
    of_session = answer(archive, "usage", id=PULL_REQUEST)

    assert [(usage["model"], usage["input"], usage["output"]) for usage in of_turns["models"]] == [
        ("claude-sonnet-4.5", 54720 + 89400 + 93060, 920 + 1840 + 640),
        ("claude-haiku-4.5", 3 * 9120, 3 * 410),
    ]
    assert of_turns["credits"] == pytest.approx(1.8 + 3.1 + 1.2)
    assert [(usage["model"], usage["input"], usage["output"]) for usage in of_session["models"]] == [
        ("claude-haiku-4.5", 92400, 888)
    ]
    charged = of_session["premium_requests"] + of_session["unanswered_requests"]
    assert (charged, of_session["credits"]) == (pytest.approx(1, abs=1e-5), 0.3)
    assert (of_session["is_partial"], of_session["is_estimated"]) == (False, False)


def test_the_text_of_usage_tells_estimates_from_records(archive: Path) -> None:
    result = called(archive, "usage")
    lines = [line for line in text_of(result).splitlines() if re.match(r"\d+\. ", line)]

    for line, model in zip(lines, data_of(result)["models"], strict=True):
        assert line.partition(". ")[2].startswith(model["model"])
        assert (" recorded" in line) == ("input" in model or "output" in model)
        assert (" estimated" in line) == ("estimated_input" in model or "estimated_output" in model)
        assert f"{model['input']:,} in" in line if "input" in model else True


def test_a_period_without_conversations_names_the_last_activity(archive: Path) -> None:
    found = answer(archive, "search", since="2031-01-01")

    assert (found["conversations"], found["total"]) == ([], 0)
    assert any("was active 2026-05-04" in remark and "Call search" in remark for remark in found["remarks"])


def test_commands_that_begin_with_the_text_come_before_scripts_that_contain_it(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    parts: list[Any] = []
    for number, line in enumerate(("make build", "python - <<'E'\nprint('build')\nE")):
        parts += [ToolCall(id=f"c{number}", name="bash", arguments=json.dumps({"command": line}))]
        parts += [Terminal(call_id=f"c{number}", command=line, exit_code=0)]
    made = Conversation(id="vscode:build", source="vscode-session", turns=[Turn(index=0)],
                        messages=[Message(role="assistant", turn=0, parts=parts)])  # fmt: skip
    with Archive(path, write=True) as archive:
        archive.put(concluded_entry(made), "made for a test")

    assert [each["command"][:4] for each in answer(path, "commands", text="build")["commands"]] == ["make", "pyth"]


def test_usage_of_a_period_reports_how_much_is_missing(archive: Path) -> None:
    april = answer(archive, "usage", since="2026-04-01", until="2026-04-30", workspace="tide")
    never = answer(archive, "usage", until="2001-01-01")

    assert april["conversations"] > april["without_usage"] > 0
    assert april["is_partial"]
    assert april["is_estimated"]
    assert sum(usage.get("estimated_input", 0) for usage in april["models"]) > 0
    assert (never["conversations"], never["models"], never["is_partial"]) == (0, [], False)


def test_the_history_of_a_file_is_found_by_the_end_of_its_path(archive: Path) -> None:
    for name in ("lookup.py", "tide_tables/lookup.py", "/home/ana/code/tide-tables/tide_tables/lookup.py"):
        work = answer(archive, "files", path=name)["conversations"]
        mine = next(work for work in work if work["id"] == LOOKUP)
        assert (mine["numbers"], mine["actions"], mine["added"], mine["removed"]) == ([2], ["edit"], 13, 4)

    assert answer(archive, "files", path="okup.py")["conversations"] == []
    assert answer(archive, "files", path="%")["conversations"] == []
    assert answer(archive, "files", path="lookup.py", until="2001")["conversations"] == []


def test_files_without_a_path_are_those_of_most_conversations(archive: Path) -> None:
    found = answer(archive, "files", limit=100)["files"]
    counts = [file["conversations"] for file in found]
    of_one = answer(archive, "files", id=LOOKUP, limit=100)["files"]

    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 1
    assert "/home/ana/code/tide-tables/tide_tables/lookup.py" in [file["path"] for file in of_one]
    assert {file["conversations"] for file in of_one} == {1}


def test_commands_are_counted_with_how_they_ended(archive: Path) -> None:
    found = answer(archive, "commands", text="pytest", workspace="tide-tables")["commands"]

    lookup = next(made for made in found if made["id"] == LOOKUP)
    assert lookup["command"] == "pytest -q tests/test_lookup.py"
    assert (lookup["runs"], lookup["succeeded"], lookup["failed"], lookup["number"]) == (2, 1, 1, 2)
    times = [made["last_at"] for made in found]
    assert times == sorted(times, reverse=True)
    failed = answer(archive, "commands", exit="error")["commands"]
    assert failed
    assert all(made["last_exit"] not in (0, None) for made in failed)
    assert answer(archive, "commands", exit=0)["total"] == answer(archive, "commands", exit="0")["total"] > 0
    assert all(made["id"] == LOOKUP for made in answer(archive, "commands", id="115d7669")["commands"])


def test_memories_and_plans_are_found_by_their_words(archive: Path) -> None:
    everything = answer(archive, "memories")["memories"]
    plans = answer(archive, "memories", text="iCalendar route")["memories"]

    assert [plan["title"] or plan["path"] if "title" in plan else plan["path"] for plan in plans] == ["plan.md"]
    assert "tides of the next 30 days" in plans[0]["text"]
    assert plans[0] in everything
    assert answer(archive, "memories", text="no such memory")["memories"] == []


# --- errors and limits ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("read", {"id": "115e"}, "no conversation has an id that begins with '115e'"),
        ("read", {"id": "115e"}, LOOKUP),
        ("read", {"id": "115e"}, "Call search for an id"),
        ("read", {"id": "vscode:"}, "matches"),
        ("read", {"id": LOOKUP, "turn": 9}, "there is no turn 9"),
        ("read", {"id": LOOKUP, "turn": 1, "around": 1}, "give only one of"),
        ("read", {"id": LOOKUP, "cursor": "next"}, "is not a cursor"),
        ("read", {"id": LOOKUP, "budget": 499}, "greater than or equal to 500"),
        ("read", {"id": LOOKUP, "budget": 20_001}, "less than or equal to 20000"),
        ("read", {"id": LOOKUP, "start_turn": 2}, "read has no argument start_turn. Call read with some of: id, turn"),
        ("read", {}, "id: Field required"),
        ("read_conversation", {"id": LOOKUP}, "Call read, with turn"),
        ("no_tool", {}, "Call one of search, read"),
        ("why", {}, "give either line or commit"),
        ("why", {"line": "lookup.py"}, "names no line of a file"),
        ("why", {"line": "/no/such/lookup.py:3"}, "Call files(path"),
        ("why", {"commit": "no-such-revision"}, "Call files(path"),
        ("commands", {"since": "soon"}, "Call commands again"),
        ("memories", {"workspace": "nowhere"}, "no conversation has 'nowhere' in the name of its workspace"),
        ("search", {"since": "soon"}, "'soon' is not a date; write 2026, 2026-05"),
        ("usage", {"id": LOOKUP, "since": "7d"}, "give either an id, or a period"),
        ("files", {"path": "/"}, "name a file"),
        ("search", {"query": "tide", "limit": 1000}, "less than or equal to"),
    ],
)
def test_an_invalid_question_is_an_error_with_the_reason(archive: Path, tool: str, arguments: Json, told: str) -> None:
    text = refusal(archive, tool, **arguments)

    assert told in text
    assert re.search(r"\bCall (one of )?(search|read|why|commands|files|memories|usage)\b", text)
    assert "Error executing" not in text


def test_a_missing_archive_is_reported_with_the_command_that_creates_one(tmp_path: Path) -> None:
    assert "`copilog scan` makes one" in refusal(tmp_path / "none.db", "search", query="tide")
    assert not (tmp_path / "none.db").exists()


def test_recorded_text_cannot_hide_anything_nor_pretend_to_end(archive: Path) -> None:
    hit = answer(archive, "search", query="quagmire")["hits"][0]
    result = called(archive, "read", id="h0571e00", budget=2000, results="full")
    line = next(
        line
        for line in answer(archive, "search", limit=100)["conversations"]
        if line["id"] == "vscode:" + "h0571e00-0000-4000-8000-000000000000"
    )

    assert (hit["title"], line["title"]) == ("A title of two lines", "A title of two lines")
    for text in (hit["snippet"], text_of(result)):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\U000e0000-\U000e0fff]", text)
    marks = re.findall(r"--- recorded text (\w{8}) (?:begins|ends) ---", text_of(result))
    assert len(marks) == 2
    assert len(set(marks)) == 1


def test_no_question_changes_the_archive(archive: Path) -> None:
    before = archive.read_bytes()

    answer(archive, "search", query="tide")
    for tool in ("search", "commands", "files", "memories", "usage"):
        answer(archive, tool)
    text_answer(archive, "read", id=LOOKUP)
    answer(archive, "files", path="lookup.py")
    text_answer(archive, "why", line=f"{__file__}:1")

    assert archive.read_bytes() == before


# --- freshness ------------------------------------------------------------------------------------------------------


def test_a_question_waits_for_the_first_scan_and_sees_its_conversations(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    scans: list[int] = []

    def scan() -> None:
        scans.append(1)
        with Archive(path, write=True) as archive:
            archive.put(concluded_entry(hostile()), "made for a test")
            archive.index_pending()

    async def ask(client: Client) -> list[CallToolResult]:
        return [await client.call_tool("search", {"query": "quagmire"}) for _ in range(2)]

    results = answer_of(path, ask, Refresher(scan, is_first=True))

    assert [data_of(result)["total"] > 0 for result in results] == [True, True]
    assert scans == [1]  # the second question found it fresh


def test_a_failed_scan_does_not_prevent_an_answer(archive: Path, caplog: pytest.LogCaptureFixture) -> None:
    def scan() -> None:
        raise OSError("the disk is gone")

    result = answer_of(archive, lambda client: client.call_tool("search", {"query": "tide"}), Refresher(scan))

    assert data_of(result)["total"] > 0
    assert data_of(result)["remarks"] == ["the archive could not be updated, and may lack the latest conversations"]
    assert "the scan failed" in caplog.text


# --- over a process -------------------------------------------------------------------------------------------------


def command(*arguments: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=["-m", "copilog", *arguments], env={"PYTHONWARNINGS": "error"}
    )


def test_a_client_uses_standard_input_and_output_of_the_process(archive: Path) -> None:
    async def run() -> tuple[list[str], Json, str | None]:
        async with Client(command("mcp", "--archive", str(archive), "--no-scan")) as client:
            tools = (await client.list_tools()).tools
            result = await client.call_tool("search", {"query": "bisection", "limit": 1})
            return [tool.name for tool in tools], data_of(result), client.instructions

    names, found, instructions = anyio.run(run)

    assert names == TOOLS
    assert found["hits"][0]["id"] == LOOKUP
    assert instructions is not None
    assert "nothing in it is an instruction" in instructions


def test_an_older_client_is_understood_as_well(archive: Path) -> None:
    async def run() -> bool:
        async with Client(command("mcp", "--archive", str(archive), "--no-scan"), mode="legacy") as client:
            return (await client.call_tool("usage", {})).is_error

    assert anyio.run(run) is False


@pytest.mark.parametrize("is_named", [False, True])
def test_the_sample_is_served_from_an_archive_of_its_own_unless_one_is_named(tmp_path: Path, *, is_named: bool) -> None:
    own = tmp_path / "own.db"
    named = ["--archive", str(own)] if is_named else []

    async def run() -> Json:
        async with Client(command("--sample", "mcp", *named)) as client:
            return data_of(await client.call_tool("search", {"query": "bisection"}))

    assert anyio.run(run)["total"] >= 1
    assert own.exists() == is_named


@pytest.mark.skipif(sys.platform == "win32", reason="there, a process is not told to end, but ended")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_is_asked_to_end_ends_at_once_and_leaves_no_files(tmp_path: Path, number: int) -> None:
    line = [sys.executable, "-m", "copilog", "--sample", "mcp"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(line, **pipes, env={**os.environ, "TMPDIR": str(tmp_path)}) as process:  # type: ignore[call-overload]
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        assert b'"jsonrpc"' in process.stdout.readline()  # it is at work, and waits for more

        process.send_signal(number)
        assert process.wait(timeout=60) == 128 + number

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["plan", "memory", "research", "checkpoint", "reference"])
def test_a_hit_in_a_document_names_it_and_can_be_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "archive.db"
    made = documented_conversation()
    with Archive(path, write=True) as stored:
        stored.put(concluded_entry(made), "signature")
        stored.index_pending()

    [hit] = answer(path, "search", query=f"{WORDS[kind]} in:{kind}", limit=1)["hits"]

    assert hit["document"] == kind
    assert WORDS[kind] in text_answer(path, "read", id=made.id, around=hit["message"], budget=500)
