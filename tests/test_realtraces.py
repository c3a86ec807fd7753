"""What real programs wrote, against what they were scripted to do.

`COPILOG_REALTRACES` names a folder with one folder for each version of a program: the files that it wrote, and
`truth.json`, which lists every call of the model with its tokens, and what happened. Sums are counted here from that
list alone, and compared with the archive's.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from copilog.analysis import measure
from copilog.diagnostics import Report
from copilog.ingest import find_roots, inspect
from copilog.ingest.scanning import scan
from copilog.model import Compaction, Conversation, ToolCall, Unknown, parts_of, prose_of
from copilog.store.archive import Archive

Json = dict[str, Any]
Sums = dict[Any, tuple[int, int]]  # tokens that went in, and came out

FOLDER = os.environ.get("COPILOG_REALTRACES")
FOLDERS = sorted(path.parent for path in Path(FOLDER).glob("*/truth.json")) if FOLDER else []
pytestmark = pytest.mark.skipif(not FOLDERS, reason="COPILOG_REALTRACES names no folder")

TUI = "copilot-cli-1.0.102-tui"
WALK = "copilot-cli-1.0.102"
VSCODE = "vscode-1.139.1-copilot-chat-0.67.0"
# Calls that were cut off before their tokens came, so that no program could record them.
CUT_OFF = {WALK: {"chatcmpl-fake0029"}, TUI: {"chatcmpl-fake0015"}, VSCODE: {"chatcmpl-fake0005"}}
WITHOUT_FOLDER = "44444444-dddd-4ddd-8ddd-000000000002"  # a run whose folder was moved away on purpose


class Run:
    """One folder: the truth, and an archive of what was written."""

    def __init__(self, folder: Path, archive: Archive, report: Report) -> None:
        self.folder = folder
        self.archive = archive
        self.report = report
        self.truth: Json = json.loads((folder / "truth.json").read_text(encoding="utf-8"))

    def conversations(self) -> list[Conversation]:
        rows = self.archive.connection.execute("SELECT id FROM conversation ORDER BY id").fetchall()
        return [self.archive.get(row[0]) for row in rows if WITHOUT_FOLDER not in row[0]]

    def calls(self, kind: str = "chat") -> list[Json]:
        """Calls that a program could record."""
        cut_off = CUT_OFF.get(self.folder.name, set())
        calls = [call for call in self.truth["model_calls"] if call["status"] == 200 and call["kind"] == kind]
        return [call for call in calls if call["apiCallId"] not in cut_off]

    def asked(self, call: Json) -> str:
        """The mark of the user's prompt that a call answers; a sub-agent's task is an argument of another call."""
        for other in self.truth["model_calls"]:
            if any(call["marker"] in json.dumps(tool["args"]) for tool in other["tools"]):
                return self.asked(other)
        return str(call["marker"])

    def spent(self, *columns: str, where: str = "method <> 'estimated'") -> Sums:
        rows = self.archive.connection.execute(
            f"SELECT {', '.join(columns)}, sum(coalesce(input, 0)), sum(coalesce(output, 0)) FROM spending"
            f" WHERE {where} AND conversation NOT LIKE ? GROUP BY {', '.join(columns)}",
            (f"%{WITHOUT_FOLDER}",),
        ).fetchall()
        made = {row[: len(columns)]: (row[-2], row[-1]) for row in rows}
        return {key if len(key) > 1 else key[0]: sums for key, sums in made.items() if sums != (0, 0)}


def sum_of(calls: list[Json]) -> tuple[int, int]:
    return sum(call["usage"]["in"] for call in calls), sum(call["usage"]["out"] for call in calls)


def typed(conversation: Conversation) -> dict[int, str]:
    """The prompts of the turns that count."""
    counted = {turn.index for turn in conversation.turns if turn.superseded is None}
    found: dict[int, str] = {}
    for message in conversation.messages:
        text = prose_of(message.parts)
        if message.role == "user" and message.turn in counted and message.parent_call_id is None and text:
            found.setdefault(message.turn, text)
    return found


@pytest.fixture(scope="module", params=FOLDERS, ids=lambda folder: folder.name)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    report = Report()
    with Archive(tmp_path_factory.mktemp("real") / "archive.db", write=True) as archive:
        scan(archive, roots=find_roots([request.param]), report=report)
        yield Run(request.param, archive, report)


def only(run: Run, *names: str) -> None:
    if run.folder.name not in names:
        pytest.skip("says nothing about this")


# --- files -----------------------------------------------------------------------------------------------------------


def test_nothing_is_bad_unknown_or_of_no_known_format(run: Run) -> None:
    ledgers = [ledger for ledger in inspect([run.folder]) if Path(ledger.path).name != "truth.json"]

    assert [ledger.path for ledger in ledgers if ledger.source is None] == []
    assert [(ledger.path, ledger.bad, ledger.parts.bad) for ledger in ledgers if ledger.bad or ledger.parts.bad] == []
    assert [(ledger.path, ledger.unknown, ledger.parts.unknown) for ledger in ledgers if ledger.unknown] == []
    assert [part for made in run.conversations() for part in parts_of(made) if isinstance(part, Unknown)] == []
    problems = "SELECT path, code, reason FROM problem WHERE level <> 'info'"
    assert run.archive.connection.execute(problems).fetchall() == []


# --- tokens ----------------------------------------------------------------------------------------------------------


def test_all_tokens_are_there_once(run: Run) -> None:
    total = sum_of(run.calls() + run.calls("compaction"))
    counted_twice = (0, 0)
    if run.folder.name == TUI:  # rows are of each conversation; a fork repeats the first three turns of its parent
        counted_twice = sum_of([call for call in run.calls() if call["apiCallId"] < "chatcmpl-fake0010"])

    sums = run.spent("source <> ''").values()

    assert tuple(map(sum, zip(*sums, strict=True))) == (total[0] + counted_twice[0], total[1] + counted_twice[1])


def test_figures_count_what_a_fork_copied_once(run: Run) -> None:
    only(run, TUI)
    stats = measure(run.archive, prices=False)

    truth = run.truth["input_tokens_true"]
    assert truth["both_without_double_count"] == sum_of(run.calls())[0]
    assert stats.tokens.total.input == truth["both_without_double_count"] + truth["compaction"]
    assert {row.id: row.input for row in stats.tokens.by_conversation} == {
        f"cli:{name}": tokens
        for name, tokens in zip(
            run.truth["sessions"], (truth["parent"], truth["fork_own"] + truth["compaction"]), strict=True
        )
    }
    assert [row.input for row in stats.tokens.by_day] == [stats.tokens.total.input]


def test_tokens_belong_to_the_turn_that_was_asked(run: Run) -> None:
    expected: dict[Any, list[Json]] = defaultdict(list)
    prompts = {(made.id, turn): text for made in run.conversations() for turn, text in _all_prompts(made).items()}
    if run.folder.name == TUI:
        expected = _by_log(run)
    else:
        for call in run.calls():
            places = [place for place, text in prompts.items() if run.asked(call) in text]
            expected[tuple(places)].append(call)  # of several prompts with the same mark, all together

    sums = run.spent("conversation", "turn", where="method <> 'estimated' AND source <> 'session.compaction_complete'")
    for places, calls in expected.items():
        got = [sums.get(place, (0, 0)) for place in places]
        if run.folder.name == TUI:
            got = [(tokens - 9999, out - 99) if tokens > 40_000 else (tokens, out) for tokens, out in got]
        assert tuple(map(sum, zip(*got, strict=True))) == sum_of(calls), places


def _all_prompts(conversation: Conversation) -> dict[int, str]:
    """The prompts of all turns; what the autopilot goes on with is the prompt before."""
    continued = {turn.index for turn in conversation.turns if turn.is_system_initiated}
    found: dict[int, str] = {}
    for message in conversation.messages:
        if message.role == "user" and message.turn is not None and message.parent_call_id is None:
            before = found.get(message.turn - 1, "") if message.turn in continued else ""
            found.setdefault(message.turn, before or prose_of(message.parts))
    return found


def _by_log(run: Run) -> dict[Any, list[Json]]:
    """The calls behind each prompt, by the ids of calls in the logs themselves."""
    calls = {call["apiCallId"]: call for call in run.calls()}
    made: dict[Any, list[Json]] = defaultdict(list)
    for conversation in run.conversations():
        if conversation.source != "cli-events":
            continue
        index_of = {turn.request_id: turn.index for turn in conversation.turns}
        path = run.folder / "session-state" / str(conversation.native_id) / "events.jsonl"
        turn = None
        for line in path.read_bytes().split(b"\n"):
            event = json.loads(line) if line else {}
            if event.get("type") == "user.message":
                turn = index_of[event["id"]]
            elif event.get("type") == "assistant.message":
                made[((conversation.id, turn),)].append(calls[event["data"]["apiCallId"]])
    return made


def test_a_sub_agent_has_its_own_tokens_where_they_were_recorded(run: Run) -> None:
    only(run, WALK, "copilot-cli-1.0.75", "copilot-cli-1.0.89", "copilot-cli-1.0.92", VSCODE)
    expected = sum_of([call for call in run.calls() if run.asked(call) != call["marker"]])

    sums = run.spent("subagent", where="subagent IS NOT NULL")

    assert tuple(map(sum, zip(*sums.values(), strict=True))) == expected


# --- what happened ---------------------------------------------------------------------------------------------------


def test_prompts_are_there_in_order(run: Run) -> None:
    if "prompts" in run.truth:
        (made,) = [one for one in run.conversations() if one.source == "cli-events"]
        prompts = [text for text in typed(made).values() if "skill-context" not in text]
        assert prompts == run.truth["prompts"][: len(prompts)]
        assert len(prompts) == len({run.asked(call) for call in run.calls()})
    for name, session in (run.truth["sessions"] if run.folder.name == WALK else {}).items():
        found = list(typed(run.archive.get(f"cli:{name}")).values())
        assert found[: len(session["prompts"])] == session["prompts"]


def test_commands_have_their_exit_codes(run: Run) -> None:
    walked = [made for made in run.conversations() if any("[[A1]]" in text for text in typed(made).values())]
    codes = {call.id: call.concluded_exit_code for made in walked for call in _calls(made)}
    walk = [call for call in run.calls() if run.asked(call) == "[[A1]]" and call["step"] in (0, 1)]
    if not walk:
        pytest.skip("says nothing about this")

    assert [codes[call["tools"][0]["id"]] for call in walk if call["marker"] == "[[A1]]"] == [0, 7]


def _calls(conversation: Conversation) -> list[ToolCall]:
    return [part for part in parts_of(conversation) if isinstance(part, ToolCall)]


def test_no_conversation_has_the_agent_of_a_sub_agent(run: Run) -> None:
    agents = {
        made.native_id: {turn.custom_agent.name for turn in made.turns if turn.custom_agent is not None}
        for made in run.conversations()
        if made.source == "cli-events"
    }
    sessions = run.truth.get("sessions", {})
    expected = {
        name: {agent} if (agent := sessions.get(name, {}).get("custom_agent")) else set() for name in agents if name
    }

    assert agents == expected


def test_the_walk_is_as_it_was_scripted(run: Run) -> None:
    only(run, WALK)
    name, session = next(iter(run.truth["sessions"].items()))
    made = run.archive.get(f"cli:{name}")
    calls = {call.id: call for call in _calls(made)}

    assert {turn.status for turn in made.turns[:2]} == {"complete"}
    assert (made.turns[2].status, made.turns[2].error and made.turns[2].error.message) == (
        "failed",
        session["status"][2].removeprefix("failed: "),
    )
    failed = {name for name, call in calls.items() if call.outcome is not None and call.outcome.kind == "failed"}
    assert failed == set(session["failed_tools"])
    assert {call.id: call.subagent.name for call in calls.values() if call.subagent} == {
        agent["call"]: agent["agent"] for agent in session["subagents"]
    }
    assert [skill.name for turn in made.turns for skill in turn.skills if skill.is_loaded] == session["skills"]
    assert [f"{call.server}/{call.tool_id}" for call in calls.values() if call.server] == session["mcp"]


def test_compactions_are_there_once(run: Run) -> None:
    found = [part for made in run.conversations() for part in parts_of(made) if isinstance(part, Compaction)]

    applied = {WALK: 1, TUI: 1}
    assert len(found) == applied.get(run.folder.name, 0)


def test_a_fork_is_related_to_its_parent(run: Run) -> None:
    only(run, TUI)
    (parent, fork) = run.truth["sessions"]

    assert ("fork", f"cli:{parent}") in {(one.kind, one.other_id) for one in run.archive.get(f"cli:{fork}").relations}
    assert ("forked-as", f"cli:{fork}") in {
        (one.kind, one.other_id) for one in run.archive.get(f"cli:{parent}").relations
    }
    assert [run.archive.get(f"cli:{name}").title for name in (parent, fork)] == [
        session["title"] for session in run.truth["sessions"].values()
    ]


def test_vscode_sessions_are_one_each(run: Run) -> None:
    only(run, VSCODE)
    made = {one.native_id: one for one in run.conversations() if one.id.startswith("vscode:")}

    assert {str(name)[:8] for name in made} == set(run.truth["sessions"])
    assert max(len({place.path for place in one.provenance}) for one in made.values()) == 9
    read = [call for one in made.values() for call in _calls(one) if call.name == "read_file"]
    assert {call.id for call in read if call.outcome is not None and call.outcome.kind == "failed"} == {
        tool["id"]
        for call in run.calls()
        for tool in call["tools"]
        if "nope" in json.dumps(tool["args"])
        if tool["name"] == "read_file"
    }
