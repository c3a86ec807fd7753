"""`copilog extract`: what goes to which stream, options, packed input, and how a run ends."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest

import copilog
from copilog.trajectory import encode_trajectory
from tests.cli.homes import Outcome, run
from tests.telemetry.streams import (
    Record,
    assistant,
    call,
    line_of,
    snapshot,
    system,
    tool,
    user,
    user_text,
    write_lines,
)

NAMES = [f"talk-{number}" for number in range(6)]


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Change to an empty current folder, and hide the files of the user who runs the tests."""
    nobody = tmp_path / "nobody"
    nobody.mkdir()
    for name in ("XDG_CONFIG_HOME", "HOME", "APPDATA", "USERPROFILE"):
        monkeypatch.setenv(name, str(nobody))
    for name in ("COPILOG_CONFIG", "PROMPT_CONTEXT_TAG_MAP"):
        monkeypatch.delenv(name, raising=False)
    current = tmp_path / "current"
    current.mkdir()
    monkeypatch.chdir(current)
    return current


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """Six conversations, one without a system message, a broken line, and two records that say nothing of use."""
    talks = [
        snapshot([system(), user(f"<weather>rain</weather> Bed {number}")], name) for number, name in enumerate(NAMES)
    ]
    tail = snapshot([user("Tail"), assistant()], "tail")
    return write_lines(
        tmp_path, user_text("ask", 0, "talk-1"), *talks[:3], "broken", {"name": "other"}, *talks[3:], tail
    )


def ids(outcome: Outcome) -> list[str]:
    assert outcome.code == 0, outcome.err
    return [json.loads(line)["conversation_id"] for line in outcome.out.splitlines()]


def extract(*arguments: object) -> Outcome:
    """Run the command without the summary of tags, which has tests of its own."""
    return run("extract", "--no-context-tag-summary", *arguments)


def expected(path: Path, **options: Any) -> str:
    found = copilog.extract(path, **options)
    return "".join(encode_trajectory(trajectory).decode() + "\n" for trajectory in found)


# --- streams and files ------------------------------------------------------------------------------------------------


def test_trajectories_go_to_standard_output_and_messages_to_standard_error(events: Path, folder: Path) -> None:
    outcome = extract(events)

    assert outcome.code == 0
    assert outcome.out == expected(events)
    assert ids(outcome) == NAMES
    assert list(folder.iterdir()) == []


def test_the_last_line_on_standard_error_has_the_totals_of_the_ledgers(events: Path) -> None:
    *places, line = extract(events).err.strip().splitlines()

    assert re.search(r"\b6 conversations\b", line)
    assert re.search(r"\b10 records\b", line)
    assert re.search(r"\b7 used\b", line)
    assert re.search(r"\b2 ignored\b", line)
    assert re.search(r"\b1 bad\b", line)
    assert len(places) == 1
    assert places[0].startswith(f"{events}:5 (byte ")


def test_an_output_file_holds_the_same_bytes_and_nothing_is_printed(events: Path, tmp_path: Path) -> None:
    target = tmp_path / "out" / "talks.jsonl"
    target.parent.mkdir()

    outcome = extract(events, "-o", target)

    assert (outcome.code, outcome.out) == (0, "")
    assert target.read_text(encoding="utf-8") == expected(events)
    assert [path.name for path in target.parent.iterdir()] == ["talks.jsonl"]


def test_only_the_owner_can_read_a_new_output_file(events: Path, tmp_path: Path) -> None:
    target = tmp_path / "lines.jsonl"
    assert run("extract", events, "-o", target, "--context-tag-summary-dir", tmp_path / "tags").code == 0
    (summary,) = (tmp_path / "tags").iterdir()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (target, summary)] == [0o600, 0o600]


def test_an_output_file_that_was_there_is_replaced(events: Path, tmp_path: Path) -> None:
    target = tmp_path / "out" / "talks.jsonl"
    target.parent.mkdir()
    target.write_text("old\n" * 100_000)

    assert extract(events, "-o", target).code == 0

    assert target.read_text(encoding="utf-8") == expected(events)
    assert [path.name for path in target.parent.iterdir()] == ["talks.jsonl"]


def test_a_run_that_cannot_begin_leaves_the_output_file_alone(events: Path, tmp_path: Path) -> None:
    target = tmp_path / "out" / "talks.jsonl"
    target.parent.mkdir()
    target.write_text("old\n")

    for wrong in (
        [tmp_path / "gone.jsonl"],
        [events, "--regex", "("],
        [events, "--context-tag-map", tmp_path / "gone"],
    ):
        outcome = extract(*wrong, "-o", target)

        assert outcome.code == 2
        assert "Traceback" not in outcome.err
        assert target.read_text() == "old\n"
        assert [path.name for path in target.parent.iterdir()] == ["talks.jsonl"]


def test_an_output_file_that_cannot_be_written_is_named(events: Path, tmp_path: Path) -> None:
    for target in (tmp_path / "no" / "folder" / "talks.jsonl", tmp_path):
        outcome = extract(events, "-o", target)

        assert outcome.code in (1, 2)
        assert str(target) in outcome.err.replace("\n", "")
        assert "Traceback" not in outcome.err
        assert "broke off" not in outcome.err


def test_input_is_never_written_over(events: Path) -> None:
    before = events.read_bytes()

    outcome = extract(events, "-o", events)

    assert outcome.code == 2
    assert events.read_bytes() == before


def test_conversations_without_an_end_are_an_empty_output(tmp_path: Path) -> None:
    path = write_lines(tmp_path, user_text("ask", 0))
    target = tmp_path / "talks.jsonl"

    assert extract(path).out == ""
    assert extract(path, "-o", target).code == 0
    assert target.read_bytes() == b""


def test_several_files_and_folders_may_be_named(events: Path, tmp_path: Path) -> None:
    other = tmp_path / "more"
    write_lines(other, snapshot([system(), user()], "other"), name="deep/a.jsonl")

    assert set(ids(extract(events, other))) == {*NAMES, "other"}


def test_paths_are_reported_as_they_were_given(events: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(events.parent)
    (events.parent / "in").mkdir()
    events.rename(events.parent / "in" / "events.jsonl")

    for given, told in (("in/events.jsonl", "in/events.jsonl"), ("in", "in/events.jsonl")):
        line = json.loads(extract(given).out.splitlines()[0])

        assert line["file_path"] == told


# --- wrong use --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        ["--sample", "many"],
        ["--sample", "-1"],
        ["--sample-mode", "last"],
        ["--seed", "x"],
        ["--jobs", "0"],
        ["--jobs", "some"],
        ["--require-system-first", "maybe"],
        ["--no-such-option"],
    ],
)
def test_wrong_options_end_with_2_and_a_message(events: Path, wrong: list[str]) -> None:
    outcome = extract(events, *wrong)

    assert (outcome.code, outcome.out) == (2, "")
    assert "Traceback" not in outcome.err
    assert wrong[0].removeprefix("--") in outcome.err or wrong[-1] in outcome.err


def test_without_a_path_it_says_what_is_missing() -> None:
    outcome = run("extract")

    assert outcome.code == 2
    assert "PATH" in outcome.err


def test_a_folder_without_telemetry_and_a_path_that_is_not_there_are_named(tmp_path: Path) -> None:
    (tmp_path / "hollow").mkdir()

    for path in (tmp_path / "hollow", tmp_path / "gone.jsonl"):
        outcome = extract(path)

        assert (outcome.code, outcome.out) == (2, "")
        assert path.name in outcome.err


def test_a_wrong_regex_says_where_it_is_wrong(events: Path) -> None:
    outcome = extract(events, "--regex", "Bed (unclosed")

    assert (outcome.code, outcome.out) == (2, "")
    assert "position 4" in outcome.err
    assert "Traceback" not in outcome.err


# --- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "has_tail"),
    [
        ([], False),
        (["--require-system-first"], False),
        (["--require-system-first", "true"], False),
        (["--require-system-first", "false"], True),
        (["--require-system-first", "False"], True),
        (["--require-system-first=false"], True),
        (["--no-require-system-first"], True),
    ],
)
def test_every_spelling_of_require_system_first(events: Path, option: list[str], has_tail: bool) -> None:
    wanted = [*NAMES, "tail"] if has_tail else NAMES

    assert ids(extract(events, *option)) == wanted
    assert ids(extract(*option, events)) == wanted
    assert ids(extract(*option, "--seed", 1, events)) == wanted


def test_samples_are_chosen_by_seed_and_mode(events: Path) -> None:
    def smallest(seed: int) -> list[str]:
        chosen = sorted(NAMES, key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).digest())[:3]
        return [name for name in NAMES if name in chosen]

    assert ids(extract(events, "--sample", 3)) == smallest(0)
    assert ids(extract(events, "--sample", 3, "--seed", 5)) == smallest(5)
    assert ids(extract(events, "--sample", 3, "--seed", 5, "--sample-mode", "random")) == smallest(5)
    assert ids(extract(events, "--sample", 3, "--seed", 5, "--sample-mode", "first")) == NAMES[:3]


def test_a_regex_keeps_what_matches(events: Path) -> None:
    assert ids(extract(events, "--regex", "Bed [13]")) == ["talk-1", "talk-3"]
    assert ids(extract(events, "--regex", "turnips")) == []


def test_tool_metadata_can_be_left_unmerged(tmp_path: Path) -> None:
    donor = snapshot([system(), user(), assistant("", tool_calls=[call()])])
    winner = snapshot([system(), user(), assistant("Let me see."), tool()])
    path = write_lines(tmp_path, donor, winner)

    assert '"merged":["tool_calls"]' in extract(path).out
    assert '"merged"' not in extract(path, "--no-merge-tool-metadata").out
    assert extract(path, "--no-merge-tool-metadata").out == expected(path, merge_tool_metadata=False)


def test_recovery_is_off_unless_asked_for(tmp_path: Path) -> None:
    path = write_lines(tmp_path, user_text("ask", 0), line_of(snapshot([system(), user()])) + b" and more")

    assert ids(extract(path)) == []
    recovered = extract(path, "--json-recovery")
    assert ids(recovered) == ["talk"]
    assert json.loads(recovered.out)["metadata"]["recovered"] is True


def test_compat_is_the_plain_behaviour(tmp_path: Path) -> None:
    agent = snapshot([system(), user(), assistant()], properties={"subType": "subagent", "messageId": "m-1"})
    path = write_lines(tmp_path, snapshot([system(), user()]), agent)

    assert ids(extract(path)) == ["talk", "talk#m-1"]
    assert ids(extract(path, "--compat")) == ["talk"]


def test_verbose_reports_more_and_changes_no_data(events: Path) -> None:
    plain, verbose = extract(events), extract(events, "-v")

    assert verbose.out == plain.out
    assert len(verbose.err) > len(plain.err)
    assert verbose.err.splitlines()[-1] == plain.err.splitlines()[-1]


def test_of_many_bad_records_some_are_shown_and_with_verbose_all(tmp_path: Path) -> None:
    path = write_lines(tmp_path, snapshot([system(), user()]), *["broken"] * 40)

    plain, verbose = extract(path), extract(path, "-v")

    assert 1 <= plain.err.count("malformed-record") < 40
    assert verbose.err.count("malformed-record") == 40
    assert "40 bad" in plain.err.splitlines()[-1]


def test_help_names_every_option() -> None:
    text = run("extract", "--help").out

    for option in (
        *("--output", "--sample", "--seed", "--sample-mode", "--regex", "--require-system-first", "--json-recovery"),
        *("--context-tag-map", "--context-tag-summary-dir", "--no-context-tag-summary", "--no-merge-tool-metadata"),
        *("--jobs", "--compat", "-v", "PROMPT_CONTEXT_TAG_MAP"),
    ):
        assert option in text


# --- tags -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def weather_map(tmp_path: Path) -> Path:
    path = tmp_path / "tags.json"
    path.write_text('[{"name":"weather","key":"environment_info","origin":"injected","roles":["user"]}]')
    return path


def found_in_first(outcome: Outcome) -> Record:
    assert outcome.code == 0, outcome.err
    found: Record = json.loads(outcome.out.splitlines()[0])["context"]["message_contexts"][0]
    return found


def test_a_custom_catalogue_can_be_set_by_option_or_variable(
    events: Path, weather_map: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [tag["name"] for tag in found_in_first(extract(events))["other_tags"]] == ["weather"]
    assert found_in_first(extract(events, "--context-tag-map", weather_map))["environment_info"] == "rain"

    monkeypatch.setenv("PROMPT_CONTEXT_TAG_MAP", str(weather_map))
    assert found_in_first(extract(events))["environment_info"] == "rain"

    other = tmp_path / "other.json"
    other.write_text(weather_map.read_text().replace("environment_info", "repo_context"))
    assert found_in_first(extract(events, "--context-tag-map", other))["repo_context"] == "rain"


@pytest.mark.parametrize("text", [None, "{", '{"weather": 3}', '[{"name": "weather"}]'])
def test_an_invalid_catalogue_is_named(
    events: Path, tmp_path: Path, text: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "wrong.json"
    if text is not None:
        path.write_text(text)

    outcome = extract(events, "--context-tag-map", path)
    assert (outcome.code, outcome.out) == (2, "")
    assert "wrong.json" in outcome.err

    monkeypatch.setenv("PROMPT_CONTEXT_TAG_MAP", str(path))
    assert extract(events).code == 2


def test_the_summary_of_tags_is_written_below_the_current_folder(events: Path, folder: Path) -> None:
    outcome = run("extract", events)

    (path,) = folder.rglob("*.json")
    assert path.name == "tag_scan_summary.json"
    assert path.parent.parent == folder / "analysis" / "prompt_context"
    assert str(path.relative_to(folder)) in outcome.err.replace("\n", "")
    assert "weather" in json.dumps(json.loads(path.read_text(encoding="utf-8")))
    assert outcome.out == expected(events)


def test_the_folder_of_the_summary_of_tags_can_be_set(events: Path, folder: Path, tmp_path: Path) -> None:
    wanted = tmp_path / "new" / "place"

    assert run("extract", events, "--context-tag-summary-dir", wanted).code == 0
    assert [path.name for path in wanted.rglob("*") if path.is_file()] == ["tag_scan_summary.json"]

    assert run("extract", events, "--no-context-tag-summary").code == 0
    assert list(folder.iterdir()) == []


def test_the_summary_of_tags_is_the_same_for_any_number_of_processes(events: Path, tmp_path: Path) -> None:
    texts = []
    for jobs in (1, 2):
        place = tmp_path / f"jobs-{jobs}"
        assert run("extract", events, "--context-tag-summary-dir", place, "--jobs", jobs).code == 0
        (path,) = place.rglob("tag_scan_summary.json")
        texts.append(path.read_text())

    assert texts[0] == texts[1]


# --- packed input -----------------------------------------------------------------------------------------------------


def without_paths(outcome: Outcome) -> list[Record]:
    assert outcome.code == 0, outcome.err
    lines: list[Record] = [json.loads(line) for line in outcome.out.splitlines()]
    for line in lines:
        assert line.pop("file_path")
    return lines


def test_packed_files_give_the_same_trajectories(events: Path, tmp_path: Path) -> None:
    zstd = pytest.importorskip("backports.zstd")
    packed = {
        "a.jsonl.gz": gzip.compress(events.read_bytes()),
        "two members.jsonl.gz": gzip.compress(events.read_bytes()[:700]) + gzip.compress(events.read_bytes()[700:]),
        "a.jsonl.zst": zstd.compress(events.read_bytes()),
        "SHOUTED.JSONL.GZ": gzip.compress(events.read_bytes()),
    }
    plain = without_paths(extract(events))
    assert len(plain) == 6

    for name, data in packed.items():
        path = tmp_path / name
        path.write_bytes(data)
        outcome = extract(path)

        assert without_paths(outcome) == plain
        assert json.loads(outcome.out.splitlines()[0])["file_path"] == str(path)


def test_parquet_files_give_the_same_trajectories(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    said = {"conversationId": "a", "source": "user", "turnIndex": "0", "mode": "ask"}
    talk = {"conversationId": "a", "messagesJson": json.dumps([system(), user()])}
    records: list[Record] = [
        {"name": "engine.messages", "time": "2026-04-12T10:00:00Z", "properties": talk},
        {"name": "conversation.messageText", "time": "2026-04-12T10:00:01Z", "properties": said},
    ]
    plain = without_paths(extract(write_lines(tmp_path, *records, name="plain.jsonl")))
    assert plain[0]["messages"][1]["mode"] == "ask"
    columns = {key: [record[key] for record in records] for key in ("name", "time")}
    as_texts = [json.dumps(record["properties"]) for record in records]
    as_maps = [list(record["properties"].items()) for record in records]
    tables = {
        "event": {"event": [json.dumps(record) for record in records]},
        "texts": columns | {"properties": as_texts, "measurements": ["{}", '{"n": 1.5}']},
        "maps": columns | {"properties": arrow.array(as_maps, arrow.map_(arrow.string(), arrow.string()))},
        "structs": columns | {"properties": [record["properties"] for record in records]},
    }

    for name, table in tables.items():
        path = tmp_path / f"{name}.parquet"
        parquet.write_table(arrow.table(table), path)

        assert without_paths(extract(path)) == plain, name
