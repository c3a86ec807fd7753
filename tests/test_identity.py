"""All traces of a conversation become one: which of them leads, and what the others fill in."""

from __future__ import annotations

from datetime import timedelta

from copilog.derive import conclude
from copilog.identity import fill, merge
from copilog.model import (
    Compaction,
    Conversation,
    Draft,
    FileChange,
    Followup,
    Message,
    Provenance,
    Queued,
    Relation,
    Text,
    ToolCall,
    TurnError,
    Vote,
    Workspace,
    parts_of,
    prose_of,
)
from tests.trace_builders import (
    ELSEWHERE,
    FILE,
    LOG,
    NOON,
    STORAGE,
    edits,
    is_numbered,
    reasons,
    requests,
    roles,
    spilled,
    stub,
    trace,
)


def prose(conversation: Conversation) -> list[str]:
    return [prose_of(message.parts) for message in conversation.messages]


# --- which trace leads ------------------------------------------------------------------------------------------


def test_a_sound_log_leads_even_if_the_stale_file_beside_it_has_more_turns() -> None:
    merged = merge([trace(FILE, 1, 2, 3, 4), trace(LOG, 1, 2)])

    assert merged.source == LOG
    assert reasons(merged) == {"r1": None, "r2": None, "r3": "absent", "r4": "absent"}
    assert roles(merged) == [(LOG, "lead"), (FILE, "copy")]
    assert merged.marks == []


def test_an_empty_log_does_not_replace_a_full_file() -> None:
    merged = merge([trace(LOG), trace(FILE, 1, 2)])

    assert merged.source == FILE
    assert requests(merged) == ["r1", "r2"]


def test_a_file_leads_over_the_store_that_it_was_extracted_from() -> None:
    store = trace("vscode-state", 1, 2, 3)
    store.provenance = [Provenance(source="vscode-state", path=f"{STORAGE}/state.vscdb", row="interactive.sessions")]

    assert reasons(merge([store, trace(FILE, 1, 2)])) == {"r1": None, "r2": None, "r3": "absent"}


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

    assert reasons(merged) == {"r1": None, "r2": "absent", "r3": "absent"}
    assert [role for _, role in roles(merged)].count("lead") == 1


def test_a_session_leads_over_all_other_traces() -> None:
    merged = merge([stub(), edits(FileChange(uri="file:///a")), spilled("c", "out"), trace(LOG)])

    assert merged.source == LOG
    assert roles(merged)[0] == (LOG, "lead")
    assert sorted(role for _, role in roles(merged)) == ["edits", "index", "lead", "resource"]
    assert merged.marks == []


# --- gaps -------------------------------------------------------------------------------------------------------


def test_the_title_of_the_index_fills_a_session_without_one() -> None:
    assert merge([trace(LOG, 1), stub()]).title == "From the index"
    assert merge([trace(LOG, 1, title="Own"), stub()]).title == "Own"


def test_extra_data_of_the_index_and_other_traces_has_separate_keys() -> None:
    merged = merge([stub(), trace(LOG, 1, extra={"version": 3}), edits(extra={"workingSet": []})])

    assert merged.extra == {"version": 3, "index": {"title": "From the index"}, "edits": {"workingSet": []}}


def test_of_two_index_entries_the_later_one_fills() -> None:
    older, newer = stub("older", updated_at=NOON), stub("newer", ELSEWHERE, updated_at=NOON + timedelta(days=1))

    merged = merge([trace(LOG, 1), older, newer])

    assert merged.title == "newer"
    assert merged.extra == {"index": {"title": "newer"}}


def test_data_that_only_one_trace_has_is_not_lost() -> None:
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


def test_gaps_of_turns_are_filled_but_withdrawn_values_are_not() -> None:
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


def test_fill_sets_only_absent_or_empty_fields() -> None:
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


def test_a_headless_log_is_completed_even_if_its_file_is_elsewhere() -> None:
    merged = merge([trace(FILE, 1, 2, 3, folder=ELSEWHERE), trace(LOG, 4, marks=("headless",))])

    assert requests(merged) == ["r1", "r2", "r3", "r4"]


def test_turns_that_a_damaged_log_has_lost_return_to_their_positions() -> None:
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


def test_turns_that_only_a_damaged_copy_has_are_kept_with_their_trace() -> None:
    merged = merge([trace(LOG, 1, 2, 3), trace(LOG, 1, 4, folder=ELSEWHERE, marks=("damaged",))])

    assert reasons(merged) == {"r1": None, "r2": None, "r3": None, "r4": None}
    assert merged.turns[3].traces == [f"{ELSEWHERE}/chatSessions/s.jsonl"]
    assert merged.turns[3].branch is None  # what is damaged may have lost the turns between


# --- beside turns -------------------------------------------------------------------------------------------------


def test_data_of_a_store_outside_turns_is_kept_with_every_lead() -> None:
    store = trace("session-store", 1, marks=("store-row",), extra={"files": [{"path": "tides.py"}], "summary": "Tides"})
    store.provenance = [Provenance(source="session-store", path="/home/ana/.copilot/session-store.db", row="s")]
    store.relations = [Relation(kind="pr", other_id="7", reason="named in turn 0")]
    checkpoint = Compaction(text="<overview>Tides were drawn.</overview>", native="checkpoint")
    store.messages.append(Message(role="system", parts=[checkpoint], turn=0))

    merged = merge([store, trace(LOG, 1, 2, extra={"version": 3})])

    assert merged.source == LOG
    assert [part.text for part in parts_of(merged) if isinstance(part, Compaction)] == [checkpoint.text]
    assert merged.extra == {"version": 3, "files": [{"path": "tides.py"}], "summary": "Tides"}
    assert merged.relations == store.relations


def test_a_checkpoint_that_both_have_is_there_once() -> None:
    log, store = trace(LOG, 1), trace("session-store", 1, marks=("store-row",))
    store.provenance = [Provenance(source="session-store", path="/home/ana/.copilot/session-store.db", row="s")]
    log.messages.append(Message(role="system", parts=[Compaction(text="<overview>Tides.</overview>")], turn=0))
    text = "<overview>\nTides.\n</overview>"
    store.messages.append(Message(role="system", parts=[Compaction(text=text, native="checkpoint")], turn=0))

    assert [part.text for part in parts_of(merge([log, store])) if isinstance(part, Compaction)] == [
        "<overview>Tides.</overview>"
    ]


def test_turns_without_a_time_are_between_the_turns_that_each_trace_has_around_them() -> None:
    short = trace(LOG, 1, 4, marks=("damaged",))
    other = trace(LOG, 0, 4, 5, 6, folder=ELSEWHERE, marks=("damaged",))
    for one in (short, other):
        one.turns[1].timing.started_at = None

    merged = merge([short, other, trace(FILE, 0, 1, 2, 3)])

    assert requests(merged) == ["r0", "r1", "r4", "r2", "r3", "r5", "r6"]


def test_a_failure_that_only_a_transcript_records_is_the_outcome_of_the_call() -> None:
    log, transcript = trace(LOG, 1), trace("transcripts", 1, marks=("transcript",))
    transcript.provenance = [Provenance(source="transcripts", path="/traces/s.jsonl")]
    log.messages[1].parts.append(ToolCall(id="c1", name="read_file", status="complete"))
    transcript.messages[1].parts.append(ToolCall(id="c1", name="read_file", status="failed"))

    merged = merge([log, transcript])
    conclude(merged)

    [call] = [part for part in parts_of(merged) if isinstance(part, ToolCall)]
    assert call.outcome is not None
    assert call.outcome.kind == "failed"


def test_every_title_is_kept_with_its_origin() -> None:
    merged = merge([trace(LOG, 1, title="Own", title_origin="custom"), stub("From the index", title_origin="index")])

    assert [(title.text, title.origin) for title in merged.titles] == [("Own", "custom"), ("From the index", "index")]
    assert merged.title == "Own"
