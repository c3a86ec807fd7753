"""Laws of making one conversation out of all its traces, whatever these are and in whatever order."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.identity import copy_of, merge
from copilog.model import Conversation, FileEdit, ToolCall, Workspace
from tests.trace_builders import ELSEWHERE, FILE, LOG, NOON, change, edits, is_numbered, requests, spilled, stub, trace


def test_a_copy_can_be_merged_without_changing_the_original() -> None:
    original = stub()
    before = msgspec.json.encode(original)

    merge([copy_of(original), spilled("call_1", "one"), stub("other", ELSEWHERE)])

    assert msgspec.json.encode(original) == before


Maker = Callable[[], Conversation]
FOLDERS = [f"/storage/{name * 4}" for name in "abcd"]
folders = st.sampled_from(FOLDERS)
numbers = st.lists(st.integers(0, 6), unique=True, max_size=5).map(sorted)
moments = st.none() | st.integers(0, 9).map(lambda hours: NOON + timedelta(hours=hours))
titles = st.none() | st.sampled_from(["Tides", "Ebb"])
broken = st.sampled_from([(), (), ("damaged",), ("headless",), ("imported",)])
changes = st.lists(st.integers(0, 6).map(change), max_size=3)


@st.composite
def sessions(draw: st.DrawFn) -> Conversation:
    made = trace(
        draw(st.sampled_from([LOG, FILE])),
        *draw(numbers),
        folder=draw(folders),
        marks=draw(broken),
        title=draw(titles),
        updated_at=draw(moments),
        workspace=draw(st.none() | folders.map(lambda folder: Workspace(uri=f"file://{folder}"))),
    )
    for turn in made.turns:
        turn.timing.started_at = draw(st.sampled_from([turn.timing.started_at, None]))
        turn.details = draw(st.none() | st.sampled_from(["x", "y"]))
    made.messages = [message for message in made.messages if message.role == "user" or draw(st.booleans())]
    for message in made.messages:
        if message.role == "assistant" and draw(st.booleans()):
            message.parts.append(ToolCall(id=f"call_{message.turn}", name="run"))
            message.parts.append(FileEdit(uri="file:///home/ana/tides.py"))
    return made


traces = (
    sessions()
    | st.builds(stub, titles, folders, updated_at=moments)
    | st.builds(lambda folder, made: edits(*made, folder=folder), folders, changes)
    | st.builds(spilled, st.sampled_from(["call_0", "call_1", "call_7"]), st.sampled_from(["a", "b"]), folders)
)
several = st.lists(traces, min_size=1, max_size=6, unique_by=lambda made: made.provenance[0].path)


def clone(conversation: Conversation) -> Conversation:
    return msgspec.json.decode(msgspec.json.encode(conversation), type=Conversation)


def essence(conversation: Conversation) -> Any:
    return msgspec.to_builtins(
        {
            "title": conversation.title,
            "workspace": conversation.workspace,
            "turns": conversation.turns,
            "messages": conversation.messages,
            "file_changes": conversation.file_changes,
            "marks": sorted(conversation.marks),
            "provenance": sorted((place.path, place.role) for place in conversation.provenance),
        }
    )


@given(several, st.randoms(use_true_random=False))
def test_the_order_of_the_traces_makes_no_difference(made: list[Conversation], random: Any) -> None:
    shuffled = [clone(one) for one in made]
    random.shuffle(shuffled)

    assert essence(merge([clone(one) for one in made])) == essence(merge(shuffled))


@given(several, st.permutations(FOLDERS))
def test_it_makes_no_difference_where_the_files_are(made: list[Conversation], moved_to: list[str]) -> None:
    moved = [clone(one) for one in made]
    for one in moved:
        for place in one.provenance:
            place.path = elsewhere(place.path, moved_to)
    merged, other = merge([clone(one) for one in made]), merge(moved)

    assert without_places(other) == without_places(merged)
    assert lost_values(other) == lost_values(merged)


def elsewhere(path: str, moved_to: list[str]) -> str:
    folder = next(folder for folder in FOLDERS if path.startswith(f"{folder}/"))
    return moved_to[FOLDERS.index(folder)] + path.removeprefix(folder)


def without_places(conversation: Conversation) -> Any:
    told = essence(conversation)
    del told["provenance"]
    for turn in told["turns"]:
        turn.pop("traces", None)
        turn.pop("pointer", None)
        turn.get("branch", {}).pop("trace", None)
    return told


def lost_values(conversation: Conversation) -> list[str]:
    return sorted(str(conflict) for place in conversation.provenance for conflict in place.conflicts)


@given(several)
def test_every_trace_stays_in_the_provenance_and_at_most_one_leads(made: list[Conversation]) -> None:
    paths = {one.provenance[0].path for one in made}
    has_session = any(one.source in (LOG, FILE) for one in made)

    merged = merge(made)

    assert {place.path for place in merged.provenance} == paths
    assert [place.role for place in merged.provenance].count("lead") == has_session
    assert (merged.provenance[0].role == "lead") == has_session


@given(several)
def test_turns_are_numbered_and_no_turn_of_the_lead_is_lost(made: list[Conversation]) -> None:
    of_path = {one.provenance[0].path: requests(one) for one in made}

    merged = merge(made)

    assert is_numbered(merged)
    assert len(set(requests(merged))) == len(merged.turns)
    own = of_path[merged.provenance[0].path]
    assert [request for request in requests(merged) if request in own] == own


@given(traces)
def test_one_trace_alone_is_the_conversation(made: Conversation) -> None:
    before = msgspec.json.encode(made)

    assert merge([made]) is made
    assert msgspec.json.encode(made) == before


@pytest.mark.parametrize("marks", [("damaged",), ()])
def test_merging_a_conversation_with_its_own_copy_changes_nothing_but_the_provenance(marks: tuple[str, ...]) -> None:
    alone = trace(LOG, 1, 2, marks=marks, title="Tides")

    merged = merge([trace(LOG, 1, 2, marks=marks, title="Tides"), trace(LOG, 1, 2, marks=marks, title="Tides")])

    assert merged == alone
