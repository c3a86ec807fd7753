"""Estimates of an archive follow what its own conversations record. All figures are worked out by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from copilog.model import Conversation, Message, Mode, Model, PromptShare, Text, Turn, Usage
from copilog.store.archive import Archive
from copilog.store.calibration import calibration_of, is_settled
from tests.stored import concluded_entry

DEFAULT_ESTIMATE = (17_115, 9_069, 40_131)  # 17,000 + 1.15 x 100, less 8,046, and 23,016 more


def agent_turn(name: str, *usages: Usage) -> Conversation:
    """Return a turn of an agent with one call: 400 characters asked, 40 answered, which are 100 and 10 rough tokens."""
    turn = Turn(
        index=0,
        request_id=name,
        mode=Mode(id="agent", kind="agent"),
        model=Model(id="copilot/gpt-5", name="gpt-5", vendor="copilot"),
        usage=list(usages),
        status="complete",
    )
    texts = [
        Message(role="user", parts=[Text(text="u" * 400)], turn=0),
        Message(role="assistant", parts=[Text(text="a" * 40)], turn=0),
    ]
    return Conversation(id=f"vscode:{name}", source="vscode-session", turns=[turn], messages=texts)


def recorded(name: str, tokens: int) -> Conversation:
    """Return a conversation that records its prompt, 80 % of which are instructions and tools."""
    shares = [PromptShare(category="System", label="Tools", percent=80)]
    return agent_turn(name, Usage(last_prompt=tokens, by_category=shares, source="request", scope="call"))


def estimates(archive: Archive, name: str) -> list[tuple[int, ...]]:
    return archive.connection.execute(
        "SELECT s.input, s.input_at_least, s.input_at_most FROM spend AS s"
        " JOIN conversation AS c ON c.rowid = s.conversation WHERE c.id = ? AND s.method = 'estimated'",
        (f"vscode:{name}",),
    ).fetchall()


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "archive.db", write=True) as made:
        made.put(concluded_entry(agent_turn("unrecorded")), "made up")
        yield made


def test_defaults_are_used_where_nothing_is_recorded(archive: Archive) -> None:
    archive.recalibrate()

    # By squares: 8,000 of the fixed part, 30 of the text and 856 of the tokenizer less; 23,000, 45 and 856 more.
    assert estimates(archive, "unrecorded") == [DEFAULT_ESTIMATE]
    assert {row.conversations for row in calibration_of(archive.connection)} == {0}


def test_fixed_part_of_the_user_replaces_the_default(archive: Archive) -> None:
    archive.put(concluded_entry(recorded("first", 30_000)), "made up")
    archive.recalibrate()

    # 80 % of 30,000 tokens. One conversation: a factor of 1.6 in both directions, rounded to two digits.
    fixed = {row.name: row for row in calibration_of(archive.connection)}["fixed part, agent"]
    assert (fixed.low, fixed.likely, fixed.high, fixed.conversations) == (15_000, 24_000, 38_000, 1)
    # 24,000 + 115; 9,000, 30 and 1,205.75 less by squares are 9,080; 14,000, 45 and 1,205.75 more are 14,052.
    assert estimates(archive, "unrecorded") == [(24_115, 15_035, 38_167)]


def test_conversations_that_come_later_are_estimated_alike(archive: Archive) -> None:
    archive.put(concluded_entry(recorded("first", 30_000)), "made up")
    archive.recalibrate()
    archive.put(concluded_entry(agent_turn("later")), "made up")
    assert estimates(archive, "later") == [DEFAULT_ESTIMATE]

    archive.recalibrate()

    assert estimates(archive, "later") == estimates(archive, "unrecorded") == [(24_115, 15_035, 38_167)]


def test_estimates_are_settled_until_a_conversation_is_stored_that_has_others(archive: Archive) -> None:
    assert is_settled(archive.connection)  # the defaults

    archive.put(concluded_entry(recorded("first", 30_000)), "made up")
    assert not is_settled(archive.connection)
    archive.recalibrate()
    assert is_settled(archive.connection)

    archive.put(concluded_entry(agent_turn("later")), "made up")
    assert not is_settled(archive.connection)
    archive.recalibrate()
    assert is_settled(archive.connection)


def test_removed_conversation_no_longer_tells_anything(archive: Archive) -> None:
    archive.put(concluded_entry(recorded("first", 30_000)), "made up")
    archive.recalibrate()

    archive.remove("vscode:first")
    archive.recalibrate()

    assert estimates(archive, "unrecorded") == [DEFAULT_ESTIMATE]


def test_recorded_prompt_of_a_turn_goes_before_the_calibration(archive: Archive) -> None:
    archive.put(concluded_entry(recorded("first", 30_000)), "made up")
    archive.put(concluded_entry(recorded("second", 10_000)), "made up")
    archive.recalibrate()

    assert [row[0] for row in estimates(archive, "first") + estimates(archive, "second")] == [30_000, 10_000]


def test_order_of_storing_makes_no_difference(archive: Archive, tmp_path: Path) -> None:
    conversations = [recorded("first", 30_000), recorded("second", 10_000), recorded("third", 51_000)]
    for one in conversations:
        archive.put(concluded_entry(one), "made up")
        archive.recalibrate()
    with Archive(tmp_path / "other.db", write=True) as other:
        for one in (*reversed(conversations), agent_turn("unrecorded")):
            other.put(concluded_entry(one), "made up")
        other.recalibrate()

        assert estimates(other, "unrecorded") == estimates(archive, "unrecorded")
        assert calibration_of(other.connection) == calibration_of(archive.connection)


def test_sample_is_small(archive: Archive) -> None:
    archive.put(concluded_entry(recorded("first", 30_000)), "made up")

    ((size,),) = archive.connection.execute("SELECT length(sample) FROM estimate_sample").fetchall()
    assert size < 500
