"""All traces of a conversation become one, whatever their order."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.identity import copy_of, fill, merge
from copilog.model import (
    Conversation,
    Draft,
    FileChange,
    FileEdit,
    FileState,
    Followup,
    Message,
    Provenance,
    Queued,
    Relation,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    TurnError,
    Vote,
    Workspace,
    prose_of,
)

STORAGE = "/home/ana/.config/Code/User/workspaceStorage/aaaa"
ELSEWHERE = "/home/ana/.config/Code/User/workspaceStorage/bbbb"
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
LOG, FILE = "vscode-session-log", "vscode-session"


def trace(
    source: str, *numbers: int, folder: str = STORAGE, marks: tuple[str, ...] = (), **fields: Any
) -> Conversation:
    """A session with the turns of these numbers, as one file has it."""
    suffix = ".jsonl" if source == LOG else ".json"
    made = Conversation(id="vscode:s", native_id="s", source=source, marks=list(marks), **fields)
    for index, number in enumerate(numbers):
        made.turns.append(Turn(index=index, pointer=f"/requests/{index}", request_id=f"r{number}"))
        made.turns[-1].timing.started_at = NOON + timedelta(minutes=number)
        made.messages.append(Message(role="user", parts=[Text(text=f"question {number}")], turn=index))
        made.messages.append(
            Message(role="assistant", parts=[Text(text=f"answer {number} of {folder[-4:]}{suffix}")], turn=index)
        )
    made.provenance = [Provenance(source=source, path=f"{folder}/chatSessions/s{suffix}")]
    return made


def stub(title: str | None = "From the index", folder: str = STORAGE, **fields: Any) -> Conversation:
    return Conversation(
        id="vscode:s",
        native_id="s",
        source="vscode-state",
        title=title,
        marks=["stub"],
        extra={"index": {"title": title}},
        provenance=[Provenance(source="vscode-state", path=f"{folder}/state.vscdb", role="index", row="index")],
        **fields,
    )


def edits(*changes: FileChange, folder: str = STORAGE, **fields: Any) -> Conversation:
    return Conversation(
        id="vscode:s",
        native_id="s",
        source="vscode-editing",
        file_changes=list(changes),
        marks=["orphan-edits"],
        provenance=[
            Provenance(source="vscode-editing", path=f"{folder}/chatEditingSessions/s/state.json", role="edits")
        ],
        **fields,
    )


def spilled(call_id: str, text: str, folder: str = STORAGE, name: str = "content.txt") -> Conversation:
    path = f"{folder}/GitHub.copilot-chat/chat-session-resources/s/{call_id}/{name}"
    result = ToolResult(call_id=call_id, text=text, full_text=text, full_text_path=path, origin="resource file")
    return Conversation(
        id="vscode:s",
        native_id="s",
        source="vscode-resources",
        messages=[Message(role="tool", parts=[result])],
        marks=["resource"],
        provenance=[Provenance(source="vscode-resources", path=path, role="resource")],
    )


def requests(conversation: Conversation) -> list[str | None]:
    return [turn.request_id for turn in conversation.turns]


def prose(conversation: Conversation) -> list[str]:
    return [prose_of(message.parts) for message in conversation.messages]


def roles(conversation: Conversation) -> list[tuple[str, str]]:
    return [(place.source, place.role) for place in conversation.provenance]


def is_numbered(conversation: Conversation) -> bool:
    """Whether turns and messages agree on which is which."""
    numbers = [message.turn for message in conversation.messages if message.turn is not None]
    return [turn.index for turn in conversation.turns] == list(range(len(conversation.turns))) and numbers == sorted(
        numbers
    )


# --- which trace leads ------------------------------------------------------------------------------------------


def test_a_sound_log_leads_even_if_the_stale_file_beside_it_has_more_turns() -> None:
    merged = merge([trace(FILE, 1, 2, 3, 4), trace(LOG, 1, 2)])

    assert merged.source == LOG
    assert requests(merged) == ["r1", "r2"]
    assert roles(merged) == [(LOG, "lead"), (FILE, "copy")]
    assert merged.marks == []


def test_an_empty_log_beside_a_full_file_is_what_a_failed_write_left() -> None:
    merged = merge([trace(LOG), trace(FILE, 1, 2)])

    assert merged.source == FILE
    assert requests(merged) == ["r1", "r2"]


def test_a_file_leads_a_store_that_it_was_taken_out_of() -> None:
    store = trace("vscode-state", 1, 2, 3)
    store.provenance = [Provenance(source="vscode-state", path=f"{STORAGE}/state.vscdb", row="interactive.sessions")]

    assert requests(merge([store, trace(FILE, 1, 2)])) == ["r1", "r2"]


def test_of_copies_in_several_workspaces_the_one_with_more_turns_leads() -> None:
    merged = merge([trace(LOG, 1, 2), trace(LOG, 1, 2, 3, folder=ELSEWHERE)])

    assert requests(merged) == ["r1", "r2", "r3"]
    assert [place.path for place in merged.provenance] == [
        f"{ELSEWHERE}/chatSessions/s.jsonl",
        f"{STORAGE}/chatSessions/s.jsonl",
    ]
    assert roles(merged) == [(LOG, "lead"), (LOG, "copy")]


def test_of_copies_with_as_many_turns_the_later_one_leads_and_a_sound_one_before_a_damaged_one() -> None:
    later = trace(FILE, 1, folder=ELSEWHERE, updated_at=NOON)
    assert merge([trace(FILE, 1), later]).provenance[0].path.startswith(ELSEWHERE)

    damaged = trace(LOG, 1, folder=ELSEWHERE, marks=("damaged",), updated_at=NOON)
    merged = merge([trace(LOG, 1), damaged])
    assert merged.provenance[0].path.startswith(STORAGE)
    assert merged.marks == []


def test_both_copies_of_a_stale_file_are_outdated_by_the_logs_beside_them() -> None:
    merged = merge(
        [
            trace(FILE, 1, 2, 3),
            trace(FILE, 1, 2, 3, folder=ELSEWHERE),
            trace(LOG, 1, folder=ELSEWHERE),
            trace(LOG, 1, 2),
        ]
    )

    assert requests(merged) == ["r1", "r2"]
    assert [role for _, role in roles(merged)].count("lead") == 1


def test_a_session_leads_whatever_else_there_is() -> None:
    merged = merge([stub(), edits(FileChange(uri="file:///a")), spilled("c", "out"), trace(LOG)])

    assert merged.source == LOG
    assert roles(merged)[0] == (LOG, "lead")
    assert sorted(role for _, role in roles(merged)) == ["edits", "index", "lead", "resource"]
    assert merged.marks == []


# --- gaps -------------------------------------------------------------------------------------------------------


def test_the_title_of_the_index_fills_a_session_without_one() -> None:
    assert merge([trace(LOG, 1), stub()]).title == "From the index"
    assert merge([trace(LOG, 1, title="Own"), stub()]).title == "Own"


def test_all_that_the_index_and_others_say_is_kept_under_names_of_its_own() -> None:
    merged = merge([stub(), trace(LOG, 1, extra={"version": 3}), edits(extra={"workingSet": []})])

    assert merged.extra == {"version": 3, "index": {"title": "From the index"}, "edits": {"workingSet": []}}


def test_of_two_index_entries_the_later_one_fills() -> None:
    older, newer = stub("older", updated_at=NOON), stub("newer", ELSEWHERE, updated_at=NOON + timedelta(days=1))

    merged = merge([trace(LOG, 1), older, newer])

    assert merged.title == "newer"
    assert merged.extra == {"index": {"title": "newer"}}


def test_what_is_said_by_one_trace_alone_is_not_lost() -> None:
    relation = Relation(kind="fork", other_id="vscode:t")
    merged = merge(
        [
            trace(LOG, 1),
            trace(FILE, 1, assistant="GitHub Copilot", extra={"requesterUsername": "ana"}, relations=[relation]),
            stub(None, application="Code", location="panel", has_pending_edits=True, started_at=NOON),
        ]
    )

    assert (merged.assistant, merged.application, merged.location) == ("GitHub Copilot", "Code", "panel")
    assert (merged.has_pending_edits, merged.started_at) == (True, NOON)
    assert merged.relations == [relation]
    assert merged.extra is not None
    assert merged.extra["requesterUsername"] == "ana"


def test_marks_of_the_conversation_are_united_and_those_of_a_trace_are_not() -> None:
    external = stub()
    external.marks += ["external", "empty"]

    assert merge([trace(LOG, 1), external, trace(FILE, 1, marks=("imported",))]).marks == ["imported", "external"]
    assert merge([trace(LOG, 1), trace(LOG, folder=ELSEWHERE, marks=("headless", "damaged"))]).marks == []


def test_the_workspace_is_filled_but_not_from_a_copy_in_another_one() -> None:
    here = Workspace(uri="file:///home/ana/a", folder="/home/ana/a")
    bare = Workspace(repository="https://example.com/tides.git", branch="main")
    there = Workspace(uri="file:///home/ana/b", folder="/home/ana/b", commit="abc")
    one = trace(LOG, 1, workspace=here)

    merged = merge([one, trace(FILE, 1, workspace=bare), trace(LOG, folder=ELSEWHERE, workspace=there)])

    assert merged.workspace == Workspace(
        uri="file:///home/ana/a", folder="/home/ana/a", repository="https://example.com/tides.git", branch="main"
    )
    assert here.repository is None  # other conversations of the folder share it


def test_a_session_from_an_empty_window_belongs_to_the_workspace_it_was_copied_to() -> None:
    window = trace(LOG, 1, 2)
    window.provenance[0].path = "/home/ana/.config/Code/User/globalStorage/emptyWindowChatSessions/s.jsonl"
    there = Workspace(uri="file:///home/ana/b", folder="/home/ana/b")

    merged = merge([window, trace(LOG, 1, folder=ELSEWHERE, workspace=there)])

    assert merged.provenance[0].path.endswith("emptyWindowChatSessions/s.jsonl")
    assert merged.workspace == there


def test_turns_get_what_a_log_does_not_record_but_nothing_that_was_taken_back() -> None:
    log, file = trace(LOG, 1, draft=None), trace(FILE, 1, draft=Draft(text="old"))
    old = file.turns[0]
    old.vote, old.followups, old.timing.waited_ms = Vote(is_up=True), [Followup(text="more?")], 7.0
    old.undone_from, old.error, old.extra = 2, TurnError(message="failed"), {"shouldBeRemovedOnSend": {}}

    [turn] = merge([log, file]).turns

    assert (turn.vote, turn.followups) == (Vote(is_up=True), [Followup(text="more?")])
    assert (turn.timing.started_at, turn.timing.waited_ms) == (NOON + timedelta(minutes=1), 7.0)
    assert (turn.undone_from, turn.error, turn.extra) == (None, None, None)
    assert (turn.index, turn.pointer) == (0, "/requests/0")
    assert log.draft is None


def test_fill_touches_only_what_is_absent_or_empty() -> None:
    lead = Workspace(uri="file:///a", branch="")

    fill(lead, Workspace(uri="file:///b", branch="main", commit="abc"), but=["commit"])

    assert lead == Workspace(uri="file:///a", branch="")


# --- broken logs ------------------------------------------------------------------------------------------------


def test_a_headless_log_is_completed_from_the_file_it_grew_out_of() -> None:
    file = trace(FILE, 1, 2, 3, title="Tides", draft=Draft(text="next"), queued=[queued("later")])
    log = trace(LOG, 4, 5, marks=("headless",))

    merged = merge([file, log])

    assert merged.source == LOG
    assert requests(merged) == ["r1", "r2", "r3", "r4", "r5"]
    assert is_numbered(merged)
    assert prose(merged)[0::2] == [f"question {number}" for number in range(1, 6)]
    assert [turn.pointer for turn in merged.turns] == [None, None, None, "/requests/0", "/requests/1"]
    assert (merged.title, merged.draft, len(merged.queued)) == ("Tides", Draft(text="next"), 1)
    assert merged.marks == ["headless"]
    assert roles(merged) == [(LOG, "lead"), (FILE, "copy")]


def queued(text: str) -> Queued:
    return Queued(message=Message(role="user", parts=[Text(text=text)]))


def test_a_headless_log_is_completed_even_if_its_file_lies_elsewhere() -> None:
    merged = merge([trace(FILE, 1, 2, 3, folder=ELSEWHERE), trace(LOG, 4, marks=("headless",))])

    assert requests(merged) == ["r1", "r2", "r3", "r4"]


def test_turns_that_a_damaged_log_has_lost_return_to_their_places() -> None:
    log = trace(LOG, 2, 4, 6, marks=("damaged",))

    merged = merge([log, trace(FILE, 1, 2, 3), trace(LOG, 2, 4, 5, folder=ELSEWHERE, marks=("damaged",))])

    assert requests(merged) == ["r1", "r2", "r3", "r4", "r5", "r6"]
    assert is_numbered(merged)


def test_turns_without_times_keep_their_order() -> None:
    log, file = trace(LOG, 2, 9, 4, marks=("damaged",)), trace(FILE, 2, 3)
    for turn in (*log.turns, *file.turns):
        turn.timing.started_at = None

    assert requests(merge([log, file])) == ["r2", "r3", "r9", "r4"]


def test_turns_that_no_trace_has_in_common_are_ordered_by_time() -> None:
    log = trace(LOG, 1, 5, marks=("damaged",))

    assert requests(merge([log, trace(FILE, 3, folder=ELSEWHERE)])) == ["r1", "r3", "r5"]


def test_an_answer_that_a_damaged_log_has_lost_comes_back() -> None:
    log, file = trace(LOG, 1, 2, marks=("damaged",)), trace(FILE, 1)
    del log.messages[1]
    log.turns[0].status, file.turns[0].status = "pending", "complete"

    merged = merge([log, file])

    assert prose(merged) == ["question 1", "answer 1 of aaaa.json", "question 2", "answer 2 of aaaa.jsonl"]
    assert merged.turns[0].status == "complete"
    assert is_numbered(merged)


def test_an_answer_that_comes_back_comes_once() -> None:
    log, file = trace(LOG, 3, marks=("damaged",)), trace(FILE, 1, 3)
    del log.messages[1]

    merged = merge([log, file])

    assert prose(merged) == ["question 1", "answer 1 of aaaa.json", "question 3", "answer 3 of aaaa.json"]


def test_an_answer_that_a_damaged_log_has_is_not_replaced() -> None:
    merged = merge([trace(LOG, 1, marks=("damaged",)), trace(FILE, 1)])

    assert prose(merged) == ["question 1", "answer 1 of aaaa.jsonl"]


def test_a_sound_log_stays_without_what_a_damaged_copy_has() -> None:
    merged = merge([trace(LOG, 1, 2, 3), trace(LOG, 1, 4, folder=ELSEWHERE, marks=("damaged",))])

    assert requests(merged) == ["r1", "r2", "r3"]


# --- edits ------------------------------------------------------------------------------------------------------


def change(number: int, uri: str = "file:///home/ana/tides.py", **fields: Any) -> FileChange:
    return FileChange(uri=uri, request_id=f"r{number}", diff=f"diff {number}", added=number, removed=0, **fields)


def test_file_changes_belong_to_the_turns_of_their_requests() -> None:
    state = FileState(uri="file:///home/ana/tides.py")
    merged = merge([edits(change(2), change(7), files=[state]), trace(LOG, 1, 2)])

    assert [(made.request_id, made.turn) for made in merged.file_changes] == [("r2", 1), ("r7", None)]
    assert merged.files == [state]
    assert roles(merged) == [(LOG, "lead"), ("vscode-editing", "edits")]


def test_the_only_edit_of_a_file_in_a_turn_gets_the_diff_of_its_history() -> None:
    log = trace(LOG, 1, 2)
    alone = FileEdit(uri="file:///home/ana/tides.py")
    twice = [FileEdit(uri="file:///home/ana/tides.py") for _ in range(2)]
    log.messages[1].parts.append(alone)
    log.messages[3].parts += twice

    merge([log, edits(change(1), change(1, checkpoint="step"), change(2))])

    assert (alone.diff, alone.added, alone.removed) == ("diff 1", 1, 0)
    assert [edit.diff for edit in twice] == [None, None]


def test_turns_that_come_back_take_their_file_changes_with_them() -> None:
    merged = merge([edits(change(1), change(4)), trace(FILE, 1, 2), trace(LOG, 4, marks=("headless",))])

    assert [(made.request_id, made.turn) for made in merged.file_changes] == [("r1", 0), ("r4", 2)]


def test_two_histories_of_one_conversation_are_united_by_request() -> None:
    merged = merge(
        [trace(LOG, 1, 2, 3), edits(change(1), change(2)), edits(change(2), change(3), change(3), folder="/b")]
    )

    assert sorted((made.request_id, made.turn) for made in merged.file_changes) == [
        ("r1", 0),
        ("r2", 1),
        ("r3", 2),
        ("r3", 2),
    ]


def test_edits_without_a_conversation_stay_orphans_with_the_title_of_the_index() -> None:
    merged = merge([stub(), edits(change(1))])

    assert merged.marks == ["orphan-edits"]
    assert merged.title == "From the index"
    assert merged.turns == []
    assert [made.turn for made in merged.file_changes] == [None]
    assert roles(merged) == [("vscode-editing", "edits"), ("vscode-state", "index")]


# --- spilled tool output ----------------------------------------------------------------------------------------


def with_call(*results: ToolResult, **fields: Any) -> Conversation:
    made = trace(LOG, 1, 2)
    made.messages[1].parts.append(ToolCall(id="call_1", name="read_file", **fields))
    made.messages[2:2] = [Message(role="tool", parts=[result], turn=0) for result in results]
    return made


def test_spilled_output_is_the_full_text_of_its_result() -> None:
    short = ToolResult(call_id="call_1", text="long ou...")

    merged = merge([spilled("call_1", "long output"), with_call(short)])

    assert short.text == "long ou..."
    assert short.full_text == "long output"
    assert short.full_text_path is not None
    assert short.full_text_path.endswith("/s/call_1/content.txt")
    assert len(merged.messages) == 5
    assert roles(merged) == [(LOG, "lead"), ("vscode-resources", "resource")]


def test_spilled_output_finds_its_call_by_every_spelling_of_the_id() -> None:
    short = ToolResult(call_id="call_1", text="")

    merge([with_call(short, native_ids=["tool-uuid"]), spilled("tool-uuid", "long output")])

    assert short.full_text == "long output"


def test_spilled_output_of_a_call_without_a_result_comes_behind_the_call() -> None:
    merged = merge([with_call(), spilled("call_1", "long output")])

    assert [(message.role, message.turn) for message in merged.messages] == [
        ("user", 0),
        ("assistant", 0),
        ("tool", 0),
        ("user", 1),
        ("assistant", 1),
    ]


def test_spilled_output_of_an_unknown_call_comes_last() -> None:
    merged = merge([trace(LOG, 1), spilled("call_9", "nine"), spilled("call_8", "eight")])

    results = [part for message in merged.messages[2:] for part in message.parts if isinstance(part, ToolResult)]
    assert {(result.call_id, result.full_text) for result in results} == {("call_9", "nine"), ("call_8", "eight")}
    assert [message.turn for message in merged.messages[2:]] == [None, None]


def test_copies_of_spilled_output_are_joined_once_and_other_output_is_kept() -> None:
    short = ToolResult(call_id="call_1", text="")
    merged = merge(
        [
            with_call(short),
            spilled("call_1", "long output"),
            spilled("call_1", "long output", folder=ELSEWHERE),
            spilled("call_1", "an image", name="content.bin"),
        ]
    )

    texts = [part.full_text for message in merged.messages for part in message.parts if isinstance(part, ToolResult)]
    assert sorted(str(text) for text in texts) == ["an image", "long output"]
    assert len(merged.provenance) == 4


def test_spilled_output_without_a_conversation_is_kept_together() -> None:
    merged = merge([spilled("call_1", "one"), spilled("call_2", "two"), stub()])

    texts = [part.full_text for message in merged.messages for part in message.parts if isinstance(part, ToolResult)]
    assert sorted(str(text) for text in texts) == ["one", "two"]
    assert (merged.marks, merged.title) == (["resource"], "From the index")


# --- laws -------------------------------------------------------------------------------------------------------


def test_a_copy_can_be_merged_without_changing_the_original() -> None:
    original = stub()
    before = msgspec.json.encode(original)

    merge([copy_of(original), spilled("call_1", "one"), stub("other", ELSEWHERE)])

    assert msgspec.json.encode(original) == before


Maker = Callable[[], Conversation]
folders = st.sampled_from([f"/storage/{name * 4}" for name in "abcd"])
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
