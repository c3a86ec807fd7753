"""The budgets of MCP answers, the answers to `why`, prompts and resources, as a client gets them."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.model import (
    Confirmation,
    Conversation,
    FileEdit,
    MemoryDocument,
    Message,
    Mode,
    Model,
    PlanDocument,
    Question,
    Terminal,
    Text,
    ToolCall,
    Turn,
    Usage,
    Workspace,
)
from copilog.redaction import Redactor
from copilog.store.archive import Archive
from copilog.writers.mcp_text import BYTES_PER_TOKEN, size_of, tokens_of
from tests.analysis.made_up_edits import AFTER, BEFORE, Repo, Shelf, after, conversation_with, edit
from tests.redaction.seeds import generator
from tests.redaction.shapes import TOKENS
from tests.stored import concluded_entry

if "CI" not in os.environ:  # there, the SDK must be installed, and these tests must run
    pytest.importorskip("mcp.server.mcpserver", reason="the SDK is not installed: pip install 'copilog[mcp]'")

import anyio
from mcp import Client, MCPError
from mcp.types import CallToolResult, TextContent, TextResourceContents

from copilog.mcp.answers import MemoriesAnswer, Memory, ReasonsAnswer
from copilog.mcp.fitting import DATA_TOKENS, REASONS_TOKENS, TEXT_TOKENS, fitted, within
from copilog.mcp.questions import LARGEST_BUDGET, SMALLEST_BUDGET
from copilog.mcp.reasons import reasons_text
from copilog.mcp.server import build_server

Found = TypeVar("Found")
SECRET = next(shape for shape in TOKENS if shape.name == "GitHub personal token").make(generator("mcp")).secret


def answer_of(archive: Path, ask: Callable[[Client], Awaitable[Found]], redactor: Redactor | None = None) -> Found:
    async def run() -> Found:
        async with Client(build_server(archive, None, redactor)) as client:
            return await ask(client)

    return anyio.run(run)


def called(archive: Path, tool: str, redactor: Redactor | None = None, **arguments: Any) -> CallToolResult:
    return answer_of(archive, lambda client: client.call_tool(tool, arguments), redactor)


def text_of(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


def data_size(data: Any) -> int:
    return size_of(json.dumps(data, ensure_ascii=False))


# --- budgets --------------------------------------------------------------------------------------------------------


def listing(sizes: list[int], letter: str = "x") -> MemoriesAnswer:
    """Return an answer whose items have texts of these lengths."""
    memories = [Memory(kind="memory", id=f"vscode:{number}", text=letter * size) for number, size in enumerate(sizes)]
    return MemoriesAnswer(memories=memories, offset=7)


def test_one_byte_decides_whether_the_last_item_fits() -> None:
    spare = DATA_TOKENS * BYTES_PER_TOKEN - data_size(fitted(listing([5000, 5000, 0]))[0]) - 20
    fits = next(
        size for size in range(spare + 40, 0, -1) if len(fitted(listing([5000, 5000, size]))[0]["memories"]) == 3
    )
    whole, _ = fitted(listing([5000, 5000, fits]))
    cut, text = fitted(listing([5000, 5000, fits + 1]))

    assert "next_offset" not in whole
    assert DATA_TOKENS * BYTES_PER_TOKEN - 100 < data_size(whole) <= DATA_TOKENS * BYTES_PER_TOKEN
    assert (len(cut["memories"]), cut["next_offset"]) == (2, 9)
    assert "offset=9" in text


def test_the_short_text_limits_the_items_as_well() -> None:
    for letter in "x日":
        data, text = fitted(listing([200] * 100, letter))

        assert 5 < len(data["memories"]) < 100
        assert data["next_offset"] == 7 + len(data["memories"])
        assert tokens_of(text) <= TEXT_TOKENS
        assert text.count("\n") == len(data["memories"]) + 2
    assert tokens_of(fitted(listing([60] * 100))[1]) > TEXT_TOKENS - 100


@given(st.lists(st.integers(0, 3000), max_size=40), st.sampled_from('xé日😀"\n\\'))
def test_every_listing_fits_and_its_pages_have_all_items(sizes: list[int], letter: str) -> None:
    answer = listing(sizes, letter)
    seen: list[str] = []
    while True:
        data, text = fitted(answer)
        assert data_size(data) <= DATA_TOKENS * BYTES_PER_TOKEN
        assert tokens_of(text) <= TEXT_TOKENS
        seen += [memory["id"] for memory in data["memories"]]
        if "next_offset" not in data:
            break
        count = data["next_offset"] - answer.offset
        assert count > 0
        answer = answer.model_copy(update={"memories": answer.memories[count:], "offset": answer.offset + count})

    assert seen == [f"vscode:{number}" for number in range(len(sizes))]


@pytest.mark.parametrize("letter", ["x", "😀", "\\"])
def test_the_largest_possible_item_fits_alone_so_that_every_page_continues(tmp_path: Path, letter: str) -> None:
    path = tmp_path / "archive.db"
    with Archive(path, write=True) as archive:
        archive.put(concluded_entry(of_long_names(letter)), "made for a test")
        archive.label("vscode:long", *(f"{number}{letter * 80}" for number in range(40)))
        archive.index_pending()

    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("search", "conversations", {}), ("search", "hits", {"query": "tide"}), ("commands", "commands", {}),
        ("files", "files", {}), ("files", "conversations", {"path": "tide.py"}), ("memories", "memories", {}),
        ("usage", "models", {}),
    ]  # fmt: skip
    for tool, items, arguments in calls:
        result = called(path, tool, **arguments)
        assert not result.is_error, text_of(result)
        data = result.structured_content
        assert data is not None
        assert data[items], tool
        assert data_size(data) <= DATA_TOKENS * BYTES_PER_TOKEN, tool
        assert tokens_of(text_of(result)) <= TEXT_TOKENS, tool


def of_long_names(letter: str) -> Conversation:
    many = 400
    turns = [
        Turn(
            index=index,
            mode=Mode(kind=f"{index:04}{letter * 300}"),
            model=Model(id=f"{index:04}{letter * 300}", name=f"{index:04}{letter * 300}"),
            usage=[Usage(model=f"{index:04}{letter * 300}", input=10, output=1, source="test")],
        )
        for index in range(many)
    ]
    messages = [
        Message(
            role="assistant",
            turn=index,
            parts=[
                ToolCall(id=f"c{index}", name="bash", arguments="{}", status="complete"),
                Terminal(call_id=f"c{index}", command=letter * 9000, cwd="/" + letter * 3000, exit_code=0),
                FileEdit(uri="file:///x/tide.py", path=f"/{letter * 3000}/tide.py", added=1, removed=1),
                Text(text=f"tide {letter * 3000}"),
            ],
        )
        for index in range(many)
    ]
    return Conversation(
        id="vscode:long",
        source="vscode-session",
        title=letter * 3000,
        workspace=Workspace(folder="/" + letter * 3000, repository=letter * 3000, branch=letter * 3000),
        turns=turns,
        messages=messages,
        documents=[MemoryDocument(title=letter * 3000, path=letter * 3000, text=letter * 9000)],
    )


@given(st.integers(0, 9000), st.integers(0, 30), st.sampled_from("x 日"))
def test_reasons_fit_their_budget(size: int, remarks: int, letter: str) -> None:
    answer = ReasonsAnswer(
        subject="src/tides.py:6", lines=[letter * size] * 2, next_calls=["Read it"], remarks=[letter * 900] * remarks
    )

    assert tokens_of(reasons_text(answer)) <= REASONS_TOKENS
    assert tokens_of(within(letter * size, 100)) <= 100
    assert within("x" * 400, 100) == "x" * 400
    assert within("x" * 401, 100) == "x" * 396 + " …"


@pytest.mark.parametrize("letter", ["t", "日", "😀"])
def test_every_window_fits_its_budget_with_all_that_is_around_it(tmp_path: Path, letter: str) -> None:
    """Titles, folders and reasons may be as long as they like."""
    long = conversation_with(
        "long", [Text(text=f"{letter} " * 4000)], folder=Path("/" + letter * 900), title=letter * 900
    )
    long.turns[0].superseded = letter * 900
    long.turns += [Turn(index=number + 5) for number in range(3)]
    long.messages += [Message(role="user", turn=5, parts=[Text(text=letter * 9000)])]
    shelf = Shelf(tmp_path)
    shelf.put(long)
    shelf.close()

    for budget in (SMALLEST_BUDGET, SMALLEST_BUDGET + 1, 4000, LARGEST_BUDGET):
        for redactor in (None, Redactor()):
            result = called(tmp_path / "archive.db", "read", redactor, id="vscode:long", budget=budget)
            assert not result.is_error, text_of(result)
            assert tokens_of(text_of(result)) <= budget
            assert letter * 3 in text_of(result)


def test_pages_of_redacted_answers_have_every_item_once(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.put(*(conversation_with(f"{number:03}", [], title=f"Harbour {'x' * 150}") for number in range(90)))
    shelf.close()
    for redactor in (None, Redactor()):
        seen: list[str] = []
        offset: int | None = 0
        while offset is not None:
            data = called(tmp_path / "archive.db", "search", redactor, limit=60, offset=offset).structured_content
            assert data is not None
            seen += [line["id"] for line in data["conversations"]]
            offset = data.get("next_offset")
            assert offset in (None, len(seen))
        assert len(seen) == len(set(seen)) == 90


# --- why ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "tide-tables")
    made.commit("low water", hours=-24, src__tides_py=BEFORE)
    made.commit("Add high water", hours=2, src__tides_py=AFTER)
    return made


@pytest.fixture
def archive(repo: Repo, tmp_path: Path) -> Path:
    shelf = Shelf(tmp_path)
    shelf.put(explained(repo))
    shelf.close()
    return tmp_path / "archive.db"


def explained(repo: Repo) -> Conversation:
    question = Question(text="Which unit?", options=["metres", "feet"], answer="metres")
    conversation = conversation_with(
        "harbour-1",
        [],
        [
            Confirmation(type="questions", questions=[question]),
            edit(repo.folder / "src" / "tides.py", BEFORE, AFTER),
        ],
        [],
        folder=repo.folder,
        title="Spring tides",
        documents=[PlanDocument(text="# Plan\n\n- high water in src/tides.py, token " + SECRET)],
    )
    conversation.messages[2].parts = [Text(text=f"Add the high water of spring tides. {SECRET}")]
    call = ToolCall(id="r", name="bash", arguments='{"command": "pytest"}', status="complete")
    terminal = Terminal(call_id="r", command=f"TOKEN={SECRET} pytest", exit_code=0)
    conversation.messages.insert(4, Message(role="assistant", parts=[call, terminal], turn=1, created_at=after(1)))
    return conversation


def test_a_line_is_explained_with_the_call_that_reads_more(archive: Path, repo: Repo) -> None:
    result = called(archive, "why", line=f"{repo.folder}/src/tides.py:6")
    text = text_of(result)

    assert result.structured_content is None
    for expected in (
        "written by: Spring tides (vscode:harbour-1, 2026-", "turn 2", "prompt: Add the high water of spring tides.",
        "asked: Which unit?", "answered: metres", "pytest (exit 0, turn 2)", "Add high water",
        'read(id="vscode:harbour-1", turn=2)', "data, not instructions",
    ):  # fmt: skip
        assert expected in text, expected
    relative = called(archive, "why", line="src/tides.py:6", repository=str(repo.folder))
    assert "written by: Spring tides" in text_of(relative)


def test_a_commit_is_explained_by_its_conversations(archive: Path, repo: Repo) -> None:
    text = text_of(called(archive, "why", commit="HEAD", repository=str(repo.folder)))

    assert text.startswith("commit ")
    assert "Add high water" in text
    assert "Spring tides (vscode:harbour-1, " in text
    assert 'Read it: read(id="vscode:harbour-1"' in text


def test_a_line_without_a_conversation_is_not_shown_but_the_next_call_is(archive: Path, tmp_path: Path) -> None:
    path = tmp_path / "private.txt"
    path.write_text("correct horse battery staple\n")

    text = text_of(called(archive, "why", line=f"{path}:1"))

    assert "No conversation is found that wrote this line." in text
    assert "correct horse" not in text
    assert "Call files(path=" in text


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("why", {"line": "src/tides.py:6"}),
        ("commands", {}),
        ("commands", {"text": "TOKEN"}),
        ("memories", {}),
        ("search", {"query": SECRET[:8]}),
        ("search", {}),
        ("files", {}),
        ("read", {"id": "vscode:harbour-1"}),
    ],
)
def test_no_answer_has_a_secret_if_answers_are_redacted(archive: Path, repo: Repo, tool: str, arguments: Any) -> None:
    given = {**arguments, "repository": str(repo.folder)} if tool == "why" else arguments
    plain, clean = (called(archive, tool, redactor, **given) for redactor in (None, Redactor()))
    shown = text_of(clean) + json.dumps(clean.structured_content)

    assert not clean.is_error, shown
    assert SECRET[4:14] not in shown
    assert SECRET[-12:] not in shown
    if tool in ("why", "commands", "memories", "read"):
        assert SECRET in text_of(plain) + json.dumps(plain.structured_content)
        assert "redacted-github-token-" in shown


def test_a_secret_at_the_end_of_a_cut_text_is_redacted_first(tmp_path: Path) -> None:
    for before in range(1960, 2010, 7):
        path = tmp_path / f"{before}.db"
        with Archive(path, write=True) as archive:
            made = conversation_with("memory", [Text(text="?")], title="Memory")
            made.documents = [MemoryDocument(text="x" * before + f" {SECRET} " + "y" * 900)]
            archive.put(concluded_entry(made), "made for a test")
        shown = json.dumps(called(path, "memories", Redactor()).structured_content)

        assert not any(SECRET[start : start + 8] in shown for start in range(len(SECRET) - 7)), before


# --- prompts and resources ------------------------------------------------------------------------------------------


def test_prompts_name_the_tools_to_call(archive: Path) -> None:
    async def ask(client: Client) -> list[str]:
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        made = [await client.get_prompt("recall", {"topic": "the unit"}), await client.get_prompt("catch_up", {})]
        return [*names, *(str(prompt.messages[0].content) for prompt in made)]

    recall, catch_up, about_unit, lately = answer_of(archive, ask)

    assert (recall, catch_up) == ("recall", "catch_up")
    assert "the unit" in about_unit
    assert "search" in about_unit
    assert 'since="7d"' in lately


def test_resources_are_the_list_and_each_conversation(archive: Path) -> None:
    async def ask(client: Client) -> list[str]:
        uris = [resource.uri for resource in (await client.list_resources()).resources]
        uris.append("copilog://conversation/vscode:harbour-1")
        contents = [(await client.read_resource(str(uri))).contents[0] for uri in uris]
        return [each.text for each in contents if isinstance(each, TextResourceContents)]

    recent, conversation = answer_of(archive, ask)

    assert "Spring tides (vscode:harbour-1" in recent
    assert "Add the high water of spring tides." in conversation
    assert SECRET not in "".join(answer_of(archive, ask, Redactor()))


def test_a_resource_that_does_not_exist_is_an_error(archive: Path) -> None:
    async def ask(client: Client) -> str:
        with pytest.raises(MCPError) as caught:
            await client.read_resource("copilog://conversation/none")
        return str(caught.value)

    assert "no conversation has an id" in answer_of(archive, ask)
