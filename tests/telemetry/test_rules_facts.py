"""What the small events tell about modes and models: R-11 to R-14 of docs/formats/telemetry.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.telemetry.streams import (
    Record,
    assistant,
    modes,
    only,
    session_response,
    snapshot,
    system,
    user,
    user_text,
    write_lines,
)

EARLY, LATE = "2025-08-17T09:00:00Z", "2025-08-17T10:00:00Z"
CHAT = [system(), user("one"), assistant("1"), user("two"), assistant("2")]

# The three ways in which a text event is found again by the snapshot of `asked`: it belongs to the turn with index 0,
# to the request turn-1 or to the message m-1.
KEYS: list[Record] = [
    {"turn": 0},
    {"turn": None, "header": "turn-1", "conversation": None},
    {"turn": None, "message": "m-1", "conversation": None},
]
BY_EACH_KEY = pytest.mark.parametrize("key", KEYS, ids=["turn", "request", "message"])


def asked() -> Record:
    """Return a snapshot with a single user message that facts under any of the keys apply to."""
    return snapshot([system(), user("one")], header="turn-1", properties={"messageId": "m-1"})


def mode_by(folder: Path, key: Record, *said: tuple[str | None, str | None]) -> str | None:
    """Return the mode of the message for text events given as pairs of mode and time, in file order."""
    texts = [user_text(mode, time=time, **key) for mode, time in said]
    return modes(only(write_lines(folder, *texts, asked())))[0]


# --- modes ----------------------------------------------------------------------------------------------------


def test_r11_a_user_text_event_has_the_mode_of_its_turn(tmp_path: Path) -> None:
    path = write_lines(tmp_path, user_text("ask", 0), user_text("agent", 1), snapshot(CHAT))

    assert modes(only(path)) == ["ask", "agent"]


@BY_EACH_KEY
def test_r11_a_mode_is_found_by_turn_by_request_and_by_message(tmp_path: Path, key: Record) -> None:
    assert mode_by(tmp_path, key, ("agent", EARLY)) == "agent"


@BY_EACH_KEY
@pytest.mark.parametrize("source", ["model", "offTopic", "USER", ""])
def test_r11_only_texts_of_the_user_have_a_mode(tmp_path: Path, source: str, key: Record) -> None:
    path = write_lines(tmp_path, user_text("agent", source=source, **key), asked())

    assert modes(only(path)) == [None]


def test_r11_turns_of_the_model_count_from_one_and_do_not_matter(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        user_text("ask", "0"),
        user_text("agent", "1", source="model"),
        user_text("edit", "2", source="model"),
        snapshot(CHAT),
    )

    assert modes(only(path)) == ["ask", None]


def test_r11_the_same_turn_of_another_conversation_is_another_turn(tmp_path: Path) -> None:
    path = write_lines(tmp_path, user_text("ask", 0, "other"), snapshot(CHAT))

    assert modes(only(path)) == [None, None]


@pytest.mark.parametrize("mode", ["ask", "agent", "edit", "custom", "inlineChatIntent", "plan", "a new one"])
def test_r11_any_mode_is_accepted(tmp_path: Path, mode: str) -> None:
    assert modes(only(write_lines(tmp_path, user_text(mode, 0), snapshot(CHAT))))[0] == mode


# --- repeats --------------------------------------------------------------------------------------------------


@BY_EACH_KEY
@pytest.mark.parametrize("texts", [[("ask", EARLY), ("agent", LATE)], [("agent", LATE), ("ask", EARLY)]])
def test_r12_the_later_event_wins_at_any_position(
    tmp_path: Path, key: Record, texts: list[tuple[str | None, str | None]]
) -> None:
    assert mode_by(tmp_path, key, *texts) == "agent"


@BY_EACH_KEY
@pytest.mark.parametrize("time", [EARLY, None, "yesterday"])
def test_r12_of_events_at_the_same_time_the_first_wins(tmp_path: Path, key: Record, time: str | None) -> None:
    assert mode_by(tmp_path, key, ("ask", time), ("agent", time), ("edit", time)) == "ask"


@BY_EACH_KEY
@pytest.mark.parametrize("time", [None, "yesterday", ""])
def test_r12_an_event_without_a_time_is_the_earliest(tmp_path: Path, key: Record, time: str | None) -> None:
    assert mode_by(tmp_path, key, ("ask", time), ("agent", EARLY)) == "agent"


@BY_EACH_KEY
@pytest.mark.parametrize("nothing", ["", None])
def test_r12_a_mode_is_never_replaced_by_an_absent_one(tmp_path: Path, key: Record, nothing: str | None) -> None:
    assert mode_by(tmp_path, key, ("ask", EARLY), (nothing, LATE)) == "ask"
    assert mode_by(tmp_path, key, (nothing, LATE), ("ask", EARLY)) == "ask"


@pytest.mark.parametrize("turn", [0, "0", "00"])
def test_r12_a_turn_is_an_integer_or_digits(tmp_path: Path, turn: object) -> None:
    path = write_lines(tmp_path, user_text("ask", None, properties={"turnIndex": turn}), snapshot(CHAT))

    assert modes(only(path)) == ["ask", None]


@pytest.mark.parametrize("turn", [-1, "-1", "1.0", 1.5, "one", " 1", "+1", "1_0", True, [1], {"1": 1}])
def test_r12_any_other_turn_is_ignored(tmp_path: Path, turn: object) -> None:
    path = write_lines(tmp_path, user_text("ask", None, properties={"turnIndex": turn}), snapshot(CHAT))

    assert modes(only(path)) == [None, None]


# --- models of the session ------------------------------------------------------------------------------------


def filled_model(folder: Path, *facts: Record) -> str | None:
    """Return the model that the question of a snapshot with the request turn-1 gets from the session."""
    path = write_lines(folder, *facts, snapshot([system(), user("one"), assistant("1")], header="turn-1"))
    return only(path).messages[1].model


@pytest.mark.parametrize("kind", ["Response", "Message"])
def test_r13_session_events_have_the_model_of_a_request(tmp_path: Path, kind: str) -> None:
    assert filled_model(tmp_path, session_response("gpt-4o", "turn-1", kind=kind)) == "gpt-4o"


def test_r13_inline_responses_name_the_conversation_instead_of_the_session(tmp_path: Path) -> None:
    inline = session_response("gpt-4o", "turn-1", None, properties={"conversationId": "talk"})

    assert filled_model(tmp_path, inline) == "gpt-4o"


def test_r13_the_session_has_priority_over_the_conversation(tmp_path: Path) -> None:
    elsewhere = session_response("gpt-4o", "turn-1", "other", properties={"conversationId": "talk"})

    assert filled_model(tmp_path, elsewhere) is None


@pytest.mark.parametrize(
    ("properties", "model"),
    [
        ({"baseModel": "gpt-4o", "model": "gpt-4.1"}, "gpt-4o"),
        ({"baseModel": "auto", "model": "gpt-4.1"}, "gpt-4.1"),
        ({"baseModel": None, "model": "gpt-4.1"}, "gpt-4.1"),
        ({"baseModel": " gpt-4o\t"}, "gpt-4o"),
        ({"baseModel": 7, "model": "gpt-4.1"}, "gpt-4.1"),
        ({"baseModel": "auto", "model": "auto"}, None),
        ({"baseModel": "gpt-4o", "requestId": None}, None),
        ({"baseModel": "gpt-4o", "sessionId": None}, None),
    ],
)
def test_r13_the_model_is_the_first_real_one(tmp_path: Path, properties: Record, model: str | None) -> None:
    assert filled_model(tmp_path, session_response(None, "turn-1", properties=properties)) == model


@pytest.mark.parametrize("name", ["auto", "Auto", " AUTO ", "unknown", "Unknown", "undefined", "UNDEFINED ", "", "  "])
def test_r13_placeholders_are_not_models(tmp_path: Path, name: str) -> None:
    assert filled_model(tmp_path, session_response(name, "turn-1")) is None


def test_r13_a_placeholder_does_not_replace_a_model(tmp_path: Path) -> None:
    real, placeholder = session_response("gpt-4o", "turn-1", time=EARLY), session_response("auto", "turn-1", time=LATE)

    assert filled_model(tmp_path, real, placeholder) == "gpt-4o"


@pytest.mark.parametrize("kind", ["Response", "Message"])
def test_r13_the_later_event_of_a_kind_wins_and_then_the_first(tmp_path: Path, kind: str) -> None:
    early, late, as_late = (
        session_response(model, "turn-1", kind=kind, time=time)
        for model, time in (("gpt-4o", EARLY), ("gpt-4.1", LATE), ("gpt-5", LATE))
    )

    assert filled_model(tmp_path, early, late, as_late) == "gpt-4.1"
    assert filled_model(tmp_path, late, early) == "gpt-4.1"
    assert filled_model(tmp_path, as_late, late) == "gpt-5"


# --- facts of the whole run -----------------------------------------------------------------------------------


@pytest.mark.parametrize("facts_first", [True, False])
@pytest.mark.parametrize(("compat", "mode", "model"), [(False, "ask", "gpt-4o"), (True, None, None)])
def test_r14_facts_of_one_file_apply_to_another_unless_compat_is_on(
    tmp_path: Path, facts_first: bool, compat: bool, mode: str | None, model: str | None
) -> None:
    facts, chat = ("a.jsonl", "b.jsonl") if facts_first else ("b.jsonl", "a.jsonl")
    write_lines(tmp_path, user_text("ask", 0), session_response("gpt-4o", "turn-1"), name=facts)
    write_lines(tmp_path, snapshot([system(), user(), assistant()], header="turn-1"), name=chat)

    question = only(tmp_path, compat=compat).messages[1]

    assert (question.mode, question.model) == (mode, model)


@pytest.mark.parametrize("compat", [False, True])
def test_r14_within_a_file_facts_may_come_later(tmp_path: Path, compat: bool) -> None:
    path = write_lines(
        tmp_path,
        snapshot([system(), user(), assistant()], header="turn-1"),
        user_text("ask", 0),
        session_response("gpt-4o", "turn-1"),
    )

    question = only(path, compat=compat).messages[1]

    assert (question.mode, question.model) == ("ask", "gpt-4o")


def test_r14_facts_of_several_files_are_compared(tmp_path: Path) -> None:
    write_lines(tmp_path, user_text("agent", 0, time=LATE), name="a.jsonl")
    write_lines(tmp_path, user_text("ask", 0, time=EARLY), snapshot(CHAT), name="b.jsonl")

    assert modes(only(tmp_path))[0] == "agent"
    assert modes(only(tmp_path, compat=True))[0] == "ask"


def test_r14_the_examples_of_the_first_description_belong_together(tmp_path: Path) -> None:
    said = {
        "conversationId": "abc-123",
        "mode": "ask",
        "turnIndex": 0,
        "source": "user",
        "messageText": "How do I sow?",
    }
    chat = '[{"role":"system","content":"S"},{"role":"user","content":"U"},{"role":"assistant","content":"A"}]'
    answered = {"sessionId": "abc-123", "requestId": "rid-001", "baseModel": "gpt-4o-mini"}
    path = write_lines(
        tmp_path,
        {"name": "GitHub.copilot-chat/conversation.messageText", "data": {"baseData": {"properties": said}}},
        {
            "name": "GitHub.copilot.chat/engine.messages",
            "data": {
                "baseData": {
                    "properties": {
                        "conversationId": "abc-123",
                        "headerRequestId": "rid-001",
                        "messagesJson": chat,
                        "baseModel": "gpt-4o-mini",
                    }
                }
            },
        },
        {"name": "GitHub.copilot-chat/interactiveSessionResponse", "data": {"baseData": {"properties": answered}}},
    )

    trajectory = only(path)

    assert (trajectory.conversation_id, trajectory.metadata.mode) == ("abc-123", "ask")
    assert [(m.role, m.content, m.mode, m.model, m.model_source, m.model_conflict) for m in trajectory.messages] == [
        ("system", "S", None, None, None, None),
        ("user", "U", "ask", "gpt-4o-mini", "interactiveSession", None),
        ("assistant", "A", None, "gpt-4o-mini", "engine", None),
    ]
    assert trajectory.mode_distribution == {"ask": 1}
    assert trajectory.telemetry_type == "GitHub.copilot.chat/engine.messages"
