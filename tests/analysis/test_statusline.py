"""What the status line tells, worked out by hand from the measured corpus, and how it is written."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from copilog.analysis.fast_statusline import FIELDS, Wishes, clean, line_for, short_number, texts_of
from copilog.analysis.numbers import added
from copilog.analysis.selection import Selection, choose
from copilog.analysis.statusline import Month, Status, connect, last_scan, status_of, workspace_filter
from copilog.analysis.tokens import tokens
from copilog.analysis.work_outcomes import work
from copilog.errors import UsageError
from copilog.model import Conversation, Turn
from copilog.store.archive import Archive
from copilog.store.database import ArchiveError, ScanLock
from tests.measured import LIGHTHOUSE, TIDES, at, measured_archive
from tests.stored import concluded_entry, conversation

TUESDAY = datetime(2026, 5, 5, 18, 0, tzinfo=UTC)
WEDNESDAY = TUESDAY + timedelta(days=1)
NOTHING_YET = TUESDAY - timedelta(days=30)
EMPTY = Status("2026-05-05", 0, 0, 0, 0, 0, 0, None, None, None, None, None, None, None, None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    measured_archive(tmp_path / "archive.db").close()
    return tmp_path / "archive.db"


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(path)) as opened:
        yield opened


def store(path: Path, *made: Conversation) -> None:
    with Archive(path, write=True) as archive:
        for each in made:
            archive.put(concluded_entry(each), "made up")


# --- figures --------------------------------------------------------------------------------------------------------


def test_turns_of_a_day_are_counted_without_those_that_a_fork_repeats(connection: sqlite3.Connection) -> None:
    status = status_of(connection, TUESDAY)

    # the last turn of harbour, and both of lighthouse, one of which failed
    assert (status.day, status.turns_today, status.conversations_today) == ("2026-05-05", 3, 2)
    assert status.failed_today == 1


def test_tokens_are_those_of_the_days_turns_and_estimates_are_marked(connection: sqlite3.Connection) -> None:
    tuesday, wednesday = status_of(connection, TUESDAY), status_of(connection, WEDNESDAY)

    # lighthouse and its compaction; of harbour's last turn nothing was recorded
    assert tuesday.tokens_today - tuesday.estimated_tokens_today == 31_000 + 5_200
    assert tuesday.estimated_tokens_today > 0
    assert tuesday.least_tokens_today == 36_200 + 9_931 + 80
    # a thirteenth of the fork's 13,650 is new; beacon recorded outputs, and the prompts of two calls
    assert wednesday.estimated_tokens_today == 5_000 + 5_200
    assert wednesday.tokens_today == 1_050 + 400 + 10_200


def test_premium_requests_and_credits_are_those_of_the_day(connection: sqlite3.Connection) -> None:
    status = status_of(connection, TUESDAY)

    assert status.premium_requests_today == 1  # the turn that failed is apart
    # lighthouse, and what the session of harbour took beyond its turns
    assert status.credits_today == pytest.approx(3.0 + 0.5)


def test_the_latest_conversation_is_that_of_the_day_or_before(connection: sqlite3.Connection) -> None:
    tuesday, wednesday = status_of(connection, TUESDAY), status_of(connection, WEDNESDAY)

    assert (tuesday.title, tuesday.model, tuesday.workspace) == ("Lighthouse", "claude-sonnet-4.5", LIGHTHOUSE)
    assert (wednesday.title, wednesday.conversation) == ("A pull request", "vscode:beacon")
    assert wednesday.latest_at == "2026-05-06T23:40:00.000Z"


def test_a_day_before_everything_has_nothing(connection: sqlite3.Connection) -> None:
    assert status_of(connection, NOTHING_YET) == EMPTY._replace(day="2026-04-05")


def test_a_workspace_has_figures_of_its_own(connection: sqlite3.Connection) -> None:
    status = status_of(connection, WEDNESDAY, is_wanted=workspace_filter(LIGHTHOUSE))

    assert (status.turns_today, status.conversations_today, status.tokens_today) == (1, 1, 1_050)
    assert status.title == "Lighthouse, again"


def test_a_turn_without_a_time_is_as_old_as_its_conversation(tmp_path: Path) -> None:
    made = conversation("quay", ("How high?", "Four metres."), days=1)  # at noon of Tuesday
    made.turns.append(Turn(index=1, status="failed"))
    store(tmp_path / "archive.db", made)

    with closing(connect(tmp_path / "archive.db")) as opened:
        status = status_of(opened, TUESDAY)

    assert (status.turns_today, status.failed_today, status.model) == (2, 1, "gpt-5")


@pytest.mark.parametrize("day", [3, 4, 5, 6, 7])
def test_the_line_agrees_with_the_figures_of_the_same_day(archive: Archive, day: int) -> None:
    midnight = datetime(2026, 5, day, tzinfo=UTC)
    chosen = choose(archive, Selection(since=midnight, until=midnight + timedelta(days=1)))
    total = tokens(chosen, prices=False).total

    status = status_of(archive.connection, midnight + timedelta(hours=9))

    assert status.turns_today == chosen.turns
    assert status.failed_today == work(chosen).failed
    assert status.estimated_tokens_today == (added(total.estimated_input, total.estimated_output) or 0)
    assert status.tokens_today == (added(total.input, total.output) or 0) + status.estimated_tokens_today
    assert status.premium_requests_today == total.premium_requests
    assert status.credits_today == pytest.approx(total.credits)


def test_nothing_is_read_but_the_days_conversations(connection: sqlite3.Connection) -> None:
    """The plan of every query begins with the index of times."""
    from copilog.analysis import statusline

    connection.create_function("is_wanted", 2, lambda *_: True, deterministic=True)
    values = {"since": "2026-05-05", "until": "2026-05-06", "is_anywhere": 1, "conversations": None, "newest": 10}
    for query in (statusline.TURNS, statusline.SPENT, statusline.LATEST):
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", values)]
        assert any("conversation_touched" in step for step in plan)
        scans = [step for step in plan if step.startswith("SCAN") and "(subquery" not in step]
        assert [step for step in scans if "json_each" not in step] == []  # which is what somebody chose, if anything


# --- whose ----------------------------------------------------------------------------------------------------------


def test_a_folder_means_itself_and_everything_below_it() -> None:
    is_wanted = workspace_filter(TIDES)

    assert is_wanted(TIDES)
    assert is_wanted(f"{TIDES}/web")
    assert not is_wanted(f"{TIDES}-old")
    assert not is_wanted(None)


def test_a_word_means_every_folder_that_has_it_in_its_name() -> None:
    is_wanted = workspace_filter("Tide")

    assert is_wanted(TIDES)
    assert is_wanted(LIGHTHOUSE, "https://example.org/ana/tides")
    assert not is_wanted(LIGHTHOUSE, None)
    assert not is_wanted(None)


def test_a_dot_means_the_current_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "src").mkdir()
    (tmp_path / "bare").mkdir()
    monkeypatch.delenv("PWD", raising=False)
    monkeypatch.chdir(tmp_path / "shop" / "src")
    in_repository = workspace_filter(".")
    monkeypatch.chdir(tmp_path / "bare")
    in_folder = workspace_filter(".")

    assert in_repository(str(tmp_path / "shop"))
    assert not in_repository(str(tmp_path / "bare"))
    assert in_folder(str(tmp_path / "bare"))
    assert not in_folder(str(tmp_path))


def test_a_name_that_the_shell_gave_to_another_folder_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PWD", str(tmp_path / "there"))

    assert workspace_filter(".")(str(tmp_path / "here"))
    assert not workspace_filter(".")(str(tmp_path / "there"))


@pytest.mark.skipif(sys.platform == "win32", reason="a folder that is in use stays there")
def test_a_folder_that_is_gone_breaks_nothing(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.delenv("PWD", raising=False)

    assert line_for(Wishes(archive=path, workspace=".")) == "copilog: this folder is gone"
    assert line_for(Wishes(archive=Path("archive.db"))).startswith("copilog: no archive yet")


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_folder_is_known_by_a_link_and_by_what_it_leads_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path / "link")
    monkeypatch.setenv("PWD", str(tmp_path / "link"))  # as shells do

    is_wanted = workspace_filter(".")

    assert is_wanted(str(tmp_path / "link"))
    assert is_wanted(str(tmp_path / "real"))


# --- what is in the way ---------------------------------------------------------------------------------------------


def test_what_cannot_be_read_is_reported_in_one_short_line(tmp_path: Path, path: Path) -> None:
    (tmp_path / "empty.db").touch()
    (tmp_path / "notes.db").write_text("These are notes, and no archive. " * 50, encoding="utf-8")
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE boat (name)")
        other.commit()
    for name, version in (("old.db", 1), ("new.db", 999)):
        (tmp_path / name).write_bytes(path.read_bytes())
        with closing(sqlite3.connect(tmp_path / name)) as changed:
            changed.execute(f"PRAGMA user_version = {version}")

    def said(name: str) -> str:
        return line_for(Wishes(archive=tmp_path / name))

    assert said("nowhere.db") == said("empty.db") == "copilog: no archive yet; `copilog scan` makes one"
    assert said("notes.db") == "copilog: the archive cannot be read"
    assert said("other.db") == "copilog: this is not an archive of copilog"
    assert said("old.db") == "copilog: the archive was made by an older copilog; `copilog scan` brings it up to date"
    assert said("new.db") == "copilog: the archive was made by a newer copilog"
    assert said(".") == "copilog: the archive cannot be read"
    assert json.loads(line_for(Wishes(archive=tmp_path / "nowhere.db", as_json=True))) == {
        "problem": "no archive yet; `copilog scan` makes one"
    }


def test_an_exclusively_locked_archive_is_not_waited_for(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")

        assert line_for(Wishes(archive=path)) == "copilog: the archive is busy"
        with pytest.raises(ArchiveError, match="busy"):
            connect(path)


def test_a_damaged_archive_is_reported_as_damaged(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    with Archive(path, write=True):
        pass
    data = bytearray(path.read_bytes())
    page = int.from_bytes(data[16:18], "big")
    path.write_bytes(data[:page] + b"\xff" * (len(data) - page))

    assert line_for(Wishes(archive=path)) == "copilog: the archive is damaged"


def test_an_archive_that_is_being_written_is_read_as_it_was(path: Path) -> None:
    with Archive(path, write=True) as archive:
        archive.connection.execute("BEGIN IMMEDIATE")
        archive.connection.execute("DELETE FROM turn")

        assert line_for(Wishes(archive=path, at=TUESDAY)).startswith("3 turns")

        archive.connection.execute("ROLLBACK")


def test_nothing_is_written(path: Path) -> None:
    before = path.read_bytes()

    line_for(Wishes(archive=path, at=TUESDAY))

    assert path.read_bytes() == before
    with closing(connect(path)) as opened, pytest.raises(sqlite3.OperationalError, match="readonly"):
        opened.execute("DELETE FROM turn")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs the rights that POSIX knows")
def test_an_archive_in_a_folder_that_cannot_be_written_is_read(path: Path) -> None:
    with closing(sqlite3.connect(path)) as last:
        last.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        assert line_for(Wishes(archive=path, at=TUESDAY)).startswith("3 turns")
    finally:
        path.parent.chmod(0o700)


# --- how old it is --------------------------------------------------------------------------------------------------


def test_the_last_scan_is_when_the_lock_was_held_last(path: Path) -> None:
    os.utime(path, (1_000_000_000, 1_000_000_000))
    assert last_scan(path) == datetime.fromtimestamp(1_000_000_000, UTC)

    with ScanLock(path):
        pass
    os.utime(path.with_name("archive.db.lock"), (1_500_000_000, 1_500_000_000))

    assert last_scan(path) == datetime.fromtimestamp(1_500_000_000, UTC)
    assert last_scan(path.with_name("nowhere.db")) is None


def test_the_age_of_an_archive_older_than_a_day_is_shown() -> None:
    status = EMPTY._replace(scanned_at="2026-05-02T18:00:00.000Z")

    assert texts_of(status, TUESDAY)["stale"] == "scanned 3d ago"
    assert texts_of(status, TUESDAY - timedelta(days=2, hours=12))["stale"] == ""
    assert texts_of(status, TUESDAY - timedelta(days=2, hours=12))["scan_age"] == "12h"


# --- words ----------------------------------------------------------------------------------------------------------


def test_the_line_shows_the_available_figures(path: Path) -> None:
    with ScanLock(path):
        pass
    os.utime(path.with_name("archive.db.lock"), (TUESDAY.timestamp(), TUESDAY.timestamp()))

    line = line_for(Wishes(archive=path, at=TUESDAY))

    # At least: 36,200 recorded; of the estimated turn 80 out, 21,324 less the root of 10,000² + 19² + 5,459² in.
    assert line == (
        "3 turns · 2 conversations · ~58k÷ tokens (>=46k) · 1÷ premium · 3.5÷ credits · 1 failed · claude-sonnet-4.5"
    )
    assert line_for(Wishes(archive=path, at=NOTHING_YET)) == "no turns today"


def test_colours_are_there_only_when_asked_for(path: Path) -> None:
    assert "\x1b[31m1 failed\x1b[0m" in line_for(Wishes(archive=path, at=TUESDAY, in_colour=True))
    assert "\x1b" not in line_for(Wishes(archive=path, at=TUESDAY))


def test_a_template_has_the_fields_that_it_names(path: Path) -> None:
    template = "{turns_today} turns · {tokens_today} tokens in {workspace}: {title:.5}"

    assert line_for(Wishes(archive=path, at=TUESDAY, template=template)) == (
        "3 turns · ~58k÷ tokens in lighthouse: Light"
    )
    assert line_for(Wishes(archive=path, at=NOTHING_YET, template="{model} {credits_today} {latest_age}")) == "- - -"


def test_every_field_is_named() -> None:
    assert tuple(texts_of(EMPTY, TUESDAY)) == FIELDS


@pytest.mark.parametrize("template", ["{boat}", "{}", "{turns_today", "{turns_today.x}", "{turns_today:d}", "{0}"])
def test_a_wrong_template_is_refused_though_there_may_be_no_archive(template: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--format"):
        line_for(Wishes(archive=tmp_path / "nowhere.db", template=template))


def test_text_of_a_transcript_cannot_end_the_line_or_move_the_cursor(tmp_path: Path) -> None:
    store(
        tmp_path / "archive.db",
        conversation("quay", ("How?", "So."), title="a\x1b]0;b\x07\nc\x9bd\u202ee\u2028f", model="gpt\r-5", days=1),
    )
    wishes = Wishes(archive=tmp_path / "archive.db", at=TUESDAY)

    assert line_for(wishes._replace(template="{title}|{model}")) == "a ]0;b c d e f|gpt -5"
    assert line_for(wishes).isprintable()
    assert line_for(wishes._replace(as_json=True)).isprintable()


def test_a_template_keeps_the_icons_of_its_owner_but_stays_one_line(path: Path) -> None:
    assert line_for(Wishes(archive=path, at=TUESDAY, template="\ue0b0\n{turns_today}\x1b[0m\x9b\u2028")) == (
        "\ue0b0 3[0m "
    )


def test_a_long_title_is_cut() -> None:
    assert texts_of(EMPTY._replace(title="tide " * 20), TUESDAY)["title"] == "tide " * 7 + "tide…"
    assert clean(None) == ""


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (9_949, "9.9k"),
        (9_950, "10k"),
        (48_311, "48k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (3_400_000, "3.4M"),
        (2_100_000_000, "2.1G"),
    ],
)
def test_numbers_are_short(number: int, text: str) -> None:
    assert short_number(number) == text


# --- what is loaded -------------------------------------------------------------------------------------------------


def test_the_quick_way_loads_no_library(path: Path) -> None:
    code = (
        "import sys; from copilog.analysis.fast_statusline import print_quickly; "
        f"assert print_quickly(['--archive', {str(path)!r}]); "
        "heavy = {'click', 'msgspec', 'rich', 'json', 'copilog.store.archive', 'copilog.cli'} & set(sys.modules); "
        "sys.exit(', '.join(sorted(heavy)) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1


# --- the billing month ----------------------------------------------------------------------------------------------


def test_month_counts_up_to_the_day(connection: sqlite3.Connection) -> None:
    month = Month(budget=100, first_day=4)

    status = status_of(connection, at(5, "12:00:00"), month=month)

    # 3.5 credits on each of the two days since the 4th of May; the month has 31.
    assert status.month_used == pytest.approx(7)
    assert (status.month_budget, status.month_days_left) == (100, 29)
    assert status.month_forecast == pytest.approx(7 / 2 * 31)
    assert texts_of(status, at(5, "12:00:00"))["month_forecast"] == "108"
    assert status.month_pace == pytest.approx(7 / 2)  # 7 credits in two days
    assert texts_of(status, at(5, "12:00:00"))["month_pace"] == "3.5"


def test_month_says_at_least_where_something_has_no_record(connection: sqlite3.Connection) -> None:
    status = status_of(connection, at(6, "23:59:00"), month=Month(budget=100))

    assert status.month_is_partial  # what the fork used
    assert texts_of(status, at(6, "23:59:00"))["month_used"] == ">=7÷"


def test_month_of_premium_requests_counts_answered_ones(connection: sqlite3.Connection) -> None:
    status = status_of(connection, at(6, "23:59:00"), month=Month(budget=300, billing="requests"))

    assert (status.month_used, status.month_is_partial) == (3, False)


def test_credits_of_the_latest_conversation_and_its_last_turn(connection: sqlite3.Connection) -> None:
    status = status_of(connection, at(5, "12:00:00"))

    assert status.conversation == "cli:lighthouse"
    assert status.credits_conversation == pytest.approx(3)
    assert status.credits_turn == pytest.approx(1.2)


def test_line_has_the_month_where_there_is_an_allowance(path: Path) -> None:
    line = line_for(Wishes(archive=path, at=at(5, "12:00:00"), month=Month(budget=1900, first_day=4)))

    assert "month 7÷ of 1900, 3.5 a day, forecast 108" in line
