"""Every pair of traces of one conversation, and the outcome for a turn that only one of them has.

The table in docs/identity.md has a row for each of these pairs with the same outcome.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from copilog.identity import merge
from copilog.model import Conversation, Message, Notice, Provenance, Text, Turn, prose_of
from copilog.model.recorded_names import LEFT_OUT
from tests.trace_builders import ELSEWHERE, FILE, LOG, NOON, STORAGE, trace

PAGE = Path(__file__).parent.parent / "docs" / "identity.md"


def retold(mark: str, source: str, *numbers: int) -> Conversation:
    """Return a trace of the extension or of a store: prompts with times, but without ids of requests."""
    made = trace(LOG, *numbers, marks=(mark,))
    made.source = source
    made.provenance = [Provenance(source=source, path=f"/traces/{source}")]
    for turn in made.turns:
        turn.request_id = None
    for message in made.messages:
        message.parts = [Text(text=f"{prose_of(message.parts).split(' of ')[0]}, as the harbour master asked")]
    return made


def left_out(number: int, made: Conversation) -> Conversation:
    """Mark a turn as one that the prompt of a later turn lacks."""
    made.turns[number - 1].extra = {LEFT_OUT: True}
    return made


def session(source: str, *numbers: int, folder: str = STORAGE) -> Conversation:
    made = trace(source, *numbers, folder=folder)
    for message in made.messages:
        message.parts = [Text(text=f"{prose_of(message.parts).split(' of ')[0]}, as the harbour master asked")]
    return made


def cli(*numbers: int, home: str = "/home/ana/.copilot") -> Conversation:
    made = session("cli-events", *numbers)
    made.id = "cli:s"
    made.provenance = [Provenance(source="cli-events", path=f"{home}/session-state/s/events.jsonl")]
    return made


def headless(conversation: Conversation) -> Conversation:
    conversation.marks = [*conversation.marks, "headless"]
    return conversation


def rewound(conversation: Conversation, after: int) -> Conversation:
    notice = Message(
        role="system",
        turn=after if after >= 0 else None,
        created_at=NOON + timedelta(days=1),
        parts=[Notice(topic="info", text="Rewound", data={"infoType": "rewind"})],
    )
    place = next((at for at, one in enumerate(conversation.messages) if (one.turn or 0) > after), None)
    conversation.messages.insert(place if place is not None else len(conversation.messages), notice)
    return conversation


def marked(conversation: Conversation, number: int, reason: str) -> Conversation:
    for turn in conversation.turns:
        if turn.request_id == f"r{number}":
            turn.superseded = reason
            turn.is_undone = reason == "undone"
    return conversation


def state(*numbers: int, folder: str = STORAGE) -> Conversation:
    made = session("vscode-state", *numbers)
    made.provenance = [Provenance(source="vscode-state", path=f"{folder}/state.vscdb", row="interactive.sessions")]
    return made


def earlier(conversation: Conversation) -> Conversation:
    """Return a trace of an earlier scan: the turns that the file lacks now."""
    conversation.provenance[0].role = "earlier"
    return conversation


def torn(conversation: Conversation) -> Conversation:
    conversation.provenance[0].marks = ["torn"]
    return conversation


class Pair(NamedTuple):
    """Two traces, and the turns in their order: the number, `~reason` if superseded, `^n` if it branches off turn n."""

    name: str
    make: Callable[[], list[Conversation]]
    result: str


PAIRS = [
    Pair("log, older flat file in the same folder",
         lambda: [session(LOG, 1, 2), session(FILE, 1, 2, 3)], "1 2 3~absent"),
    Pair("damaged log, flat file in the same folder",
         lambda: [trace(LOG, 1, 3, marks=("damaged",)), trace(FILE, 1, 2)], "1 2 3"),
    Pair("empty log, flat file in the same folder", lambda: [trace(LOG), session(FILE, 1, 2)], "1 2"),
    Pair("log or file, older `interactive.sessions` of the same workspace",
         lambda: [session(FILE, 1, 2), state(1, 2, 3)], "1 2 3~absent"),
    Pair("log that removed a turn, file elsewhere that has it",
         lambda: [marked(session(LOG, 1, 2, 3), 2, "removed"), session(FILE, 1, 2, folder=ELSEWHERE)], "1 2~removed 3"),
    Pair("file with an undone turn, log elsewhere that has it",
         lambda: [marked(session(FILE, 1, 2), 2, "undone"), session(LOG, 1, 2, folder=ELSEWHERE)], "1 2~undone"),
    Pair("file with an undone turn, newer log in the same folder without the mark",
         lambda: [marked(session(FILE, 1, 2), 2, "undone"), session(LOG, 1, 2)], "1 2"),
    Pair("copy that stopped, copy elsewhere that continued",
         lambda: [session(LOG, 1, 2), session(LOG, 1, 2, 3, folder=ELSEWHERE)], "1 2 3"),
    Pair("two copies that both continued",
         lambda: [session(LOG, 1, 2, 3), session(LOG, 1, 2, 4, 5, folder=ELSEWHERE)], "1 2 4 5 3^2"),
    Pair("two copies without a common turn",
         lambda: [session(LOG, 1, 2), session(LOG, 3, folder=ELSEWHERE)], "3 1^- 2^-"),
    Pair("copy that lost its beginning, copy that lost its end",
         lambda: [session(LOG, 1, 2), session(LOG, 2, 3, folder=ELSEWHERE)], "1 2 3"),
    Pair("damaged copy, copy elsewhere that continued",
         lambda: [trace(LOG, 1, 2, 3), trace(LOG, 1, 4, folder=ELSEWHERE, marks=("damaged",))], "1 2 3 4"),
    Pair("damaged copy with turns from before the last one of a copy elsewhere",
         lambda: [trace(LOG, 1, 3, 5), trace(LOG, 1, 2, 4, folder=ELSEWHERE, marks=("damaged",))], "1 3 5 2^1 4^1"),
    Pair("damaged copy that was used last, copy elsewhere with turns between",
         lambda: [trace(LOG, 1, 3), trace(LOG, 1, 2, 4, folder=ELSEWHERE, marks=("damaged",))], "1 2 4 3^1"),
    Pair("two damaged copies with turns between each other's",
         lambda: [trace(LOG, 1, 3, 5, marks=("damaged",)), trace(LOG, 1, 2, 4, folder=ELSEWHERE, marks=("damaged",))],
         "1 2 3 4 5"),
    Pair("copy whose file breaks off, copy elsewhere that continued",
         lambda: [trace(LOG, 1, 2, 3), trace(FILE, 1, 4, folder=ELSEWHERE, marks=("damaged", "cut"))], "1 4 2^1 3^1"),
    Pair("copy whose file breaks off, copy elsewhere that continued after that",
         lambda: [trace(LOG, 1, 3, 4), trace(FILE, 1, 2, folder=ELSEWHERE, marks=("damaged", "cut"))], "1 3 4 2^1"),
    Pair("copy whose file breaks off, damaged copy elsewhere that continued after that",
         lambda: [trace(FILE, 1, 2, marks=("damaged", "cut")),
                  trace(LOG, 1, 3, 4, folder=ELSEWHERE, marks=("damaged",))],
         "1 2 3 4"),
    Pair("CLI log without its beginning, copy from before it that continued",
         lambda: [headless(cli(2, 5)), cli(1, 2, 3, home="/backup/.copilot")], "1 2 5 3^2"),
    Pair("CLI log without its beginning, copy from before it without a common turn",
         lambda: [headless(cli(4, 5)), cli(1, 2, 3, home="/backup/.copilot")], "1 2 3 4 5"),
    Pair("session, transcript with another turn",
         lambda: [session(LOG, 1, 3), retold("transcript", "transcripts", 1, 2, 3)], "1 2 3"),
    Pair("session, debug log with another turn",
         lambda: [session(LOG, 1, 3), retold("debug-log", "debug-logs", 2, 3)], "1 2 3"),
    Pair("session, spans with another turn", lambda: [session(LOG, 1), retold("trace", "agent-traces", 1, 2)], "1 2"),
    Pair("session, spans with another turn that the prompt of a later one lacks",
         lambda: [session(LOG, 2), left_out(1, retold("trace", "agent-traces", 1, 2))], "1~absent 2"),
    Pair("session, session store with more turns",
         lambda: [session(LOG, 1), retold("store-row", "session-store", 1, 2)], "1 2"),
    Pair("session, trajectory of telemetry with more turns",
         lambda: [session(LOG, 2), retold("trajectory", "trajectory-file", 1, 2)], "1 2"),
    Pair("session with a removed turn, transcript that has it",
         lambda: [marked(session(LOG, 1, 2, 3), 2, "removed"), retold("transcript", "transcripts", 1, 2, 3)],
         "1 2~removed 3"),
    Pair("session, export with the same turns", lambda: [session(LOG, 1, 2), export(1, 2)], "1 2"),
    Pair("CLI log, session store with more turns",
         lambda: [cli(1, 3), retold("store-row", "session-store", 1, 2, 3)], "1 2 3"),
    Pair("CLI log with a rewind, session store with the turn that was rewound",
         lambda: [rewound(cli(1, 3), 0), retold("store-row", "session-store", 1, 2, 3)], "1 2~rewound 3"),
    Pair("CLI log that was rewound to its beginning, session store with its turns",
         lambda: [rewound(cli(), -1), retold("store-row", "session-store", 1, 2)], "1~rewound 2~rewound"),
    Pair("CLI log with a rewind, copy of the log from before it",
         lambda: [rewound(cli(1, 4), 0), cli(1, 2, 3, home="/backup/.copilot")], "1 2~rewound 3~rewound 4"),
    Pair("two copies of a CLI session that both continued",
         lambda: [cli(1, 2, 3), cli(1, 2, 4, home="/backup/.copilot")], "1 2 4 3^2"),
    Pair("file, the same file as an earlier scan read it",
         lambda: [session(FILE, 1, 2), earlier(session(FILE, 3))], "1 2 3~absent"),
    Pair("damaged log, the same log as an earlier scan read it",
         lambda: [trace(LOG, 1, 2, marks=("damaged",)), earlier(trace(LOG, 3))], "1 2 3"),
    Pair("log whose last line breaks off, the same log as an earlier scan read it",
         lambda: [torn(session(LOG, 1, 2)), earlier(session(LOG, 3))], "1 2 3"),
    Pair("transcript, session store, no session file",
         lambda: [retold("transcript", "transcripts", 1, 2), retold("store-row", "session-store", 2, 3)], "1 2 3"),
]  # fmt: skip


def export(*numbers: int) -> Conversation:
    made = session(FILE, *numbers)
    made.source, made.native_id = "chat-export", None
    made.provenance = [Provenance(source="chat-export", path="/home/ana/chat.json")]
    return made


def drawn(conversation: Conversation) -> str:
    """Return the turns in the notation of the table."""
    return " ".join(_drawn(turn, conversation) for turn in conversation.turns)


def _drawn(turn: Turn, conversation: Conversation) -> str:
    text = _number(turn, conversation)
    if turn.superseded is not None:
        text += f"~{turn.superseded}"
    if turn.branch is not None:
        leaves_from = turn.branch.leaves_from
        text += f"^{_number(conversation.turns[leaves_from], conversation) if leaves_from is not None else '-'}"
    return text


def _number(turn: Turn, conversation: Conversation) -> str:
    [prompt] = [one for one in conversation.messages if one.turn == turn.index and one.role == "user"]
    return prose_of(prompt.parts).split()[1].strip(",")


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_each_pair_of_traces_merges_as_the_documented_table_states(pair: Pair) -> None:
    assert drawn(merge(pair.make())) == pair.result
    assert drawn(merge(pair.make()[::-1])) == pair.result


def test_the_page_has_a_row_for_each_pair() -> None:
    rows = re.findall(r"^\| (.+?) \| `(.+?)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    assert rows == [(pair.name, pair.result) for pair in PAIRS]


# --- what a turn says about where it is from ----------------------------------------------------------------------


def test_a_turn_lists_its_traces() -> None:
    merged = merge([cli(1), retold("store-row", "session-store", 1, 2)])

    log, store = "/home/ana/.copilot/session-state/s/events.jsonl", "/traces/session-store"
    assert [turn.traces for turn in merged.turns] == [[log, store], [store]]


def test_a_branch_names_the_trace_that_has_it_and_the_turn_it_leaves() -> None:
    merged = merge([session(LOG, 1, 2, 3), session(LOG, 1, 2, 4, folder=ELSEWHERE)])

    assert [turn.branch and (turn.branch.leaves_from, turn.branch.trace) for turn in merged.turns] == [
        None, None, None, (1, f"{STORAGE}/chatSessions/s.jsonl"),
    ]  # fmt: skip


def test_a_branch_of_a_branch_is_numbered_after_it() -> None:
    third = "/home/ana/.config/Code/User/workspaceStorage/cccc"
    copies = [
        session(LOG, 1, 2, 7),
        session(LOG, 1, 3, 6, folder=ELSEWHERE),
        session(LOG, 1, 3, 5, folder=third),
    ]

    assert drawn(merge(copies)) == "1 2 7 3^1 6^1 5^3"


def test_turns_after_a_removed_branch_turn_stay_on_the_branch() -> None:
    third = "/home/ana/.config/Code/User/workspaceStorage/cccc"
    copies = [
        session(LOG, 1, 2, 7),
        marked(session(LOG, 1, 3, 6, folder=ELSEWHERE), 6, "removed"),
        session(LOG, 1, 3, 5, folder=third),
    ]

    assert drawn(merge(copies)) == "1 2 7 3^1 5^1 6~removed^1"


def test_requests_of_other_ids_are_other_turns_in_whichever_file_they_are() -> None:
    file, log = session(FILE, 1), session(LOG, 1, folder=ELSEWHERE)
    log.turns[0].request_id = "another"

    assert len(merge([file, log]).turns) == 2


def test_a_flat_file_that_was_written_later_and_has_later_turns_is_the_newer_one() -> None:
    log, file = session(LOG, 1, 2), session(FILE, 1, 2, 3)
    log.provenance[0].modified_at, file.provenance[0].modified_at = NOON, NOON + timedelta(hours=1)

    assert drawn(merge([log, file])) == "1 2 3"


def test_a_retry_that_one_copy_names_is_superseded_in_the_other() -> None:
    one, other = session(LOG, 1, 3, 4), session(LOG, 1, 2, folder=ELSEWHERE)
    one.turns[1].extra = {"shouldBeRemovedOnSend": {"requestId": "r2"}}

    assert drawn(merge([one, other])) == "1 2~replaced 3 4"


def test_a_branch_leaves_from_a_turn_that_counts() -> None:
    copies = [session(FILE, 1, 2, 3), session(LOG, 1, 2, 7), session(FILE, 1, 2, 3, 8, folder=ELSEWHERE)]

    assert drawn(merge(copies)) == "1 2 3~absent 8 7^2"


def test_without_times_of_turns_the_trunk_is_the_copy_updated_last() -> None:
    one, other = session(LOG, 1, 2, 3), session(LOG, 1, 2, 4, folder=ELSEWHERE)
    for turn in (*one.turns, *other.turns):
        turn.timing.started_at = None
    one.updated_at, other.updated_at = NOON + timedelta(days=8), NOON

    assert drawn(merge([one, other])) == "1 2 3 4^2"


def test_a_store_of_the_same_home_belongs_to_its_copy() -> None:
    store = retold("store-row", "session-store", 1, 2, 8)
    store.provenance = [Provenance(source="session-store", path="/home/ana/.copilot/session-store.db", row="s")]

    assert drawn(merge([cli(1, 2, 3), store, cli(1, 2, 4, home="/backup/.copilot")])) == "1 2 3 8 4^2"


def test_files_beside_each_other_in_plain_folders_are_copies() -> None:
    one, other = session(FILE, 1, 2, 3), session(FILE, 1, 2, 4)
    one.provenance[0].path, other.provenance[0].path = "/home/ana/a/x.json", "/home/ana/b/x.json"

    assert drawn(merge([one, other])) == "1 2 4 3^2"


def test_a_conversation_was_used_last_when_any_of_its_traces_was() -> None:
    log, store = cli(1), retold("store-row", "session-store", 1, 9)
    log.updated_at = NOON

    assert merge([log, store]).updated_at == NOON + timedelta(minutes=9)
