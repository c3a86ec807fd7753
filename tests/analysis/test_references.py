"""Commits, pull requests and issues that conversations refer to."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from copilog.analysis.figures import ReferenceRow
from copilog.analysis.references import MOST_IN_A_RESULT, Reference, references, references_in
from copilog.analysis.selection import Selection, choose
from copilog.model import (
    Conversation,
    Message,
    Relation,
    Role,
    Terminal,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    Workspace,
)
from copilog.store.archive import Archive
from tests.stored import concluded_entry

FULL = "1a2b3c4d5e6f708192a3b4c5d6e7f80912345678"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "own.db", write=True) as archive:
        yield archive


def store(archive: Archive, *conversations: Conversation, is_indexed: bool = True) -> None:
    for conversation in conversations:
        archive.put(concluded_entry(conversation), "made up")
    if is_indexed:
        archive.index_pending()


def found(archive: Archive, limit: int | None = None, **selection: str) -> list[ReferenceRow]:
    return references(choose(archive, Selection(**selection)), limit=limit)  # type: ignore[arg-type]


def message(text: str, role: Role = "user") -> Message:
    return Message(role=role, turn=0, parts=[Text(text=text)])


def conversation(*messages: Message, name: str = "lamp", repository: str | None = None) -> Conversation:
    return Conversation(
        id=f"cli:{name}",
        source="cli-events",
        updated_at=datetime(2026, 5, 4, 12, tzinfo=UTC),
        workspace=Workspace(folder=f"/home/ana/{name}", repository=repository),
        turns=[Turn(index=0, request_id=name)],
        messages=list(messages),
    )


def committing(*answers: str, command: str = "git add . && git commit -m lamp") -> list[Message]:
    """Make a call of the terminal, whose results are in messages of their own."""
    call = Message(
        role="assistant",
        turn=0,
        parts=[ToolCall(id="c0", name="bash", status="complete"), Terminal(call_id="c0", command=command)],
    )
    results = [Message(role="tool", turn=0, parts=[ToolResult(call_id="c0", text=text)]) for text in answers]
    return [call, *results]


# --- addresses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "name", "url"),
    [
        (
            "see https://github.com/ana/lighthouse/pull/12.",
            "pull-request",
            "ana/lighthouse#12",
            "https://github.com/ana/lighthouse/pull/12",
        ),
        (
            "[this](https://github.com/ana/lighthouse/issues/7#issuecomment-1)",
            "issue",
            "ana/lighthouse#7",
            "https://github.com/ana/lighthouse/issues/7",
        ),
        (
            "github.com/ana/fog-horn.js/pull/3/files",
            "pull-request",
            "ana/fog-horn.js#3",
            "https://github.com/ana/fog-horn.js/pull/3",
        ),
        (
            f"https://git.example.com:8443/ana/lighthouse/commit/{FULL.upper()}",
            "commit",
            FULL,
            f"https://git.example.com:8443/ana/lighthouse/commit/{FULL}",
        ),
        (
            "https://api.github.com/repos/ana/lighthouse/pulls/12",
            "pull-request",
            "ana/lighthouse#12",
            "https://github.com/ana/lighthouse/pull/12",
        ),
        (
            "https://git.example.com/api/v3/repos/ana/lighthouse/issues/7",
            "issue",
            "ana/lighthouse#7",
            "https://git.example.com/ana/lighthouse/issues/7",
        ),
        (
            "https://ana:pass@github.com/ana/lighthouse/pull/1",
            "pull-request",
            "ana/lighthouse#1",
            "https://github.com/ana/lighthouse/pull/1",
        ),
        (
            "https://dev.azure.com/harbour/Light%20House/_git/lamp/pullrequest/41?_a=files",
            "pull-request",
            "harbour/Light House/lamp#41",
            "https://dev.azure.com/harbour/Light%20House/_git/lamp/pullrequest/41",
        ),
        (
            "https://harbour.visualstudio.com/lighthouse/_git/lamp/pullrequest/41",
            "pull-request",
            "harbour/lighthouse/lamp#41",
            "https://harbour.visualstudio.com/lighthouse/_git/lamp/pullrequest/41",
        ),
    ],
)
def test_addresses_are_recognized_by_their_shape(text: str, kind: str, name: str, url: str) -> None:
    assert list(references_in(text)) == [Reference(kind, name, url)]


@pytest.mark.parametrize(
    "text",
    [
        "https://github.com/ana/lighthouse",
        "https://github.com/ana/lighthouse/pulls",
        "https://github.com/ana/lighthouse/pull/new",
        "https://github.com/ana/lighthouse/commits/main",
        "https://github.com/ana/lighthouse/commits/feed-me-now",
        "https://github.com/ana/pull/12",
        "src/ana/lighthouse/pull/12",
        "/home/ana/github.com/ana/lighthouse/pull/12",
        "/pull/12",
        "a commit/1a2b3c4d and issues/7",
        "https://example.com/pullrequest/12",
    ],
)
def test_other_addresses_and_paths_are_not_references(text: str) -> None:
    assert list(references_in(text)) == []


def test_the_commits_of_a_pull_request_are_the_pull_request() -> None:
    text = f"https://github.com/ana/lighthouse/pull/12/commits/{FULL}"

    assert [reference.name for reference in references_in(text)] == ["ana/lighthouse#12"]


# --- messages -------------------------------------------------------------------------------------------------------


def test_messages_are_counted_each_once_whatever_the_host(own: Archive) -> None:
    lamp = "https://git.example.com/ana/Lamp/pull/12"
    store(
        own,
        conversation(message(f"{lamp} and {lamp} again"), message(f"I read {lamp.lower()}", "assistant")),
        conversation(message(lamp), message("Pull the lamp, see the issues."), name="lens"),
    )

    assert found(own) == [
        ReferenceRow(kind="pull-request", name="ana/Lamp#12", url=lamp, times=3, conversations=2, is_made=False)
    ]


def test_arguments_and_results_of_tools_count_as_well(own: Archive) -> None:
    call = ToolCall(id="c0", name="fetch", arguments='{"url": "https://github.com/ana/lamp/issues/7"}')
    result = ToolResult(call_id="c0", text="It was mended by https://github.com/ana/lamp/pull/8")
    store(own, conversation(Message(role="assistant", turn=0, parts=[call, result])))

    assert [(row.kind, row.name) for row in found(own)] == [
        ("issue", "ana/lamp#7"),
        ("pull-request", "ana/lamp#8"),
    ]


def test_a_result_that_lists_many_addresses_is_not_counted(own: Archive) -> None:
    many = " ".join(f"https://github.com/ana/lamp/pull/{number}" for number in range(MOST_IN_A_RESULT + 1))
    fetched = Message(role="tool", turn=0, parts=[ToolResult(call_id="c0", text=many)])
    store(own, conversation(message("https://github.com/ana/lamp/pull/3"), fetched))

    assert [(row.name, row.times) for row in found(own)] == [("ana/lamp#3", 1)]


def test_messages_that_are_not_indexed_yet_are_read(own: Archive) -> None:
    store(own, conversation(message("https://github.com/ana/lamp/pull/12")), is_indexed=False)

    assert [row.name for row in found(own)] == ["ana/lamp#12"]


def test_only_the_chosen_conversations_count(own: Archive) -> None:
    store(
        own,
        conversation(message("https://github.com/ana/lamp/pull/12")),
        conversation(*committing(f"[main {FULL[:7]}] Light"), name="horn"),
        conversation(message("https://github.com/ana/lens/pull/1"), name="lens"),
    )

    assert [row.name for row in found(own, workspace="lens")] == ["ana/lens#1"]


def test_references_are_sorted_by_frequency_and_limited(own: Archive) -> None:
    texts = ["pull/2", "pull/1", "issues/3", "pull/1"]
    store(own, conversation(*(message(f"https://github.com/ana/lamp/{text}") for text in texts)))

    assert [row.name for row in found(own)] == ["ana/lamp#1", "ana/lamp#3", "ana/lamp#2"]
    assert [row.name for row in found(own, limit=1)] == ["ana/lamp#1"]


# --- commits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        f"[main {FULL[:7]}] Light the lamp\n 1 file changed",
        f"On branch main\n[main (root-commit) {FULL[:7]}] Light the lamp",
        f"[detached HEAD {FULL[:7]}] Light the lamp",
        f"  [fix/lamp-2 {FULL[:7]}] Light the lamp\r\n",
    ],
)
def test_a_made_commit_is_recognized_by_the_answer_of_git(own: Archive, answer: str) -> None:
    store(own, conversation(*committing("something else", answer)))

    assert found(own) == [ReferenceRow(kind="commit", name=FULL[:7], url=None, times=1, conversations=1, is_made=True)]


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("git log --oneline", f"[main {FULL[:7]}] Light the lamp"),
        ("git commit -m lamp", "nothing to commit, working tree clean"),
        ("git commit -m lamp", f"see [main {FULL[:7]}] there"),
    ],
)
def test_other_answers_make_no_commit(own: Archive, command: str, answer: str) -> None:
    store(own, conversation(*committing(answer, command=command)))

    assert found(own) == []


def test_short_and_long_ids_are_one_commit(own: Archive) -> None:
    url = f"https://github.com/ana/lamp/commit/{FULL}"
    made = conversation(*committing(f"[main {FULL[:7]}] Light"), message(f"Pushed: {url}", "assistant"))
    made.relations = [Relation(kind="commit", other_id=FULL[:10])]
    store(own, made)

    assert found(own) == [ReferenceRow(kind="commit", name=FULL, url=url, times=2, conversations=1, is_made=True)]


# --- what the command line recorded ---------------------------------------------------------------------------------


def with_relations(name: str, repository: str | None, *relations: tuple[str, str]) -> Conversation:
    made = conversation(message("Hello"), name=name, repository=repository)
    made.relations = [Relation(kind=kind, other_id=value) for kind, value in relations]
    return made


def test_recorded_numbers_belong_to_the_repository_of_the_session(own: Archive) -> None:
    store(
        own,
        with_relations("a", "ana/lamp", ("pr", "17"), ("issue", "4"), ("commit", FULL[:10]), ("ref", "main")),
        with_relations("b", "https://github.com/ana/lamp.git", ("pr", "17"), ("fork", "cli:a")),
        with_relations("c", "git@github.com:ana/lamp.git", ("pr", "#17")),
    )

    assert [(row.kind, row.name, row.times, row.conversations) for row in found(own)] == [
        ("pull-request", "ana/lamp#17", 3, 3),
        ("commit", FULL[:10], 1, 1),
        ("issue", "ana/lamp#4", 1, 1),
    ]


def test_what_is_recorded_and_named_is_counted_by_its_messages(own: Archive) -> None:
    made = with_relations("a", "ana/lamp", ("pr", "17"))
    made.messages = [message("https://github.com/ana/lamp/pull/17"), message("github.com/ana/lamp/pull/17")]
    store(own, made)

    assert [(row.name, row.url, row.times) for row in found(own)] == [
        ("ana/lamp#17", "https://github.com/ana/lamp/pull/17", 2)
    ]


def test_numbers_without_a_repository_are_distinguished_by_folder(own: Archive) -> None:
    store(own, with_relations("a", None, ("pr", "17")), with_relations("b", None, ("pr", "17")))

    assert [(row.name, row.conversations) for row in found(own)] == [("#17", 1), ("#17", 1)]
