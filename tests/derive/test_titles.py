"""Which title a conversation has, and where it is from."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from copilog.derive import add_title, conclude, unite_titles
from copilog.derive.titles import TITLE_ORIGINS
from copilog.model import Conversation, Message, Text, Title, TitleOrigin, Turn, title_of
from copilog.view.conversation_info import facts_of
from tests.stored import concluded_entry


def conversation(*prompts: str, **fields: object) -> Conversation:
    made = Conversation(id="vscode:s", source="vscode-session")
    for index, prompt in enumerate(prompts):
        made.turns.append(Turn(index=index))
        made.messages.append(Message(role="user", parts=[Text(text=prompt)], turn=index))
    return msgspec.structs.replace(made, **fields)


@pytest.mark.parametrize(("better", "worse"), list(itertools.pairwise(TITLE_ORIGINS)))
def test_of_two_titles_the_better_origin_is_shown_in_any_order(better: TitleOrigin, worse: TitleOrigin) -> None:
    if "first prompt" in (better, worse):
        return
    for order in ((better, worse), (worse, better)):
        made = conversation("A prompt")
        for origin in order:
            add_title(made, f"of {origin}", origin)
        conclude(made)
        assert (made.title, made.title_origin) == (f"of {better}", better)
        assert {title.origin for title in made.titles} == {better, worse}


def test_without_a_title_the_first_line_of_the_first_prompt_is_shown() -> None:
    made = conversation("Sum the tides\nof May", "And of June")

    conclude(made)

    assert (made.title, made.title_origin, made.titles) == ("Sum the tides", "first prompt", [])


def test_a_prompt_is_cut_where_vs_code_cuts_it() -> None:
    plain, waves = conversation("x" * 300), conversation("🌊" * 150)

    conclude(plain)
    conclude(waves)

    assert plain.title == "x" * 200
    assert waves.title == "🌊" * 100  # VS Code counts UTF-16 units


def test_the_first_prompt_replaces_a_placeholder_title_of_the_index() -> None:
    asked, empty = conversation("Sum the tides"), conversation()
    for made in (asked, empty):
        add_title(made, "Neuer Chat", "placeholder")
        conclude(made)

    assert (asked.title, asked.title_origin) == ("Sum the tides", "first prompt")
    assert (empty.title, empty.title_origin) == ("Neuer Chat", "placeholder")


def test_a_session_without_a_prompt_has_the_title_of_vs_code() -> None:
    made = conversation()
    for _ in range(2):
        conclude(made)
        assert (made.title, made.title_origin, made.titles) == ("New Chat", "placeholder", [])


def test_a_removed_first_prompt_gives_no_title_if_another_prompt_exists() -> None:
    made = conversation("Removed", "Kept")
    made.turns[0].superseded = "removed"

    conclude(made)

    assert made.title == "Kept"


def test_removed_prompts_give_no_title_even_without_other_prompts() -> None:
    made = conversation("Removed")
    made.turns[0].superseded = "removed"

    assert title_of(made) == "(untitled)"
    conclude(made)
    assert (made.title, made.title_origin) == ("New Chat", "placeholder")


def test_a_message_of_the_system_gives_no_title() -> None:
    made = conversation("A terminal finished", "Sum the tides")
    made.turns[0].is_system_initiated = True

    conclude(made)

    assert made.title == "Sum the tides"


def test_concluding_again_changes_nothing() -> None:
    for made in (conversation("Sum the tides"), conversation("x", titles=[Title(text="T", origin="index")])):
        conclude(made)
        once = msgspec.json.encode(made)
        conclude(made)
        assert msgspec.json.encode(made) == once


def test_a_title_of_an_earlier_version_stays_without_an_origin() -> None:
    made = conversation("Sum the tides", title="Tides")

    conclude(made)

    assert (made.title, made.title_origin) == ("Tides", None)


def test_titles_of_all_traces_are_united_and_the_best_is_shown() -> None:
    log, index, store = conversation("Sum the tides"), conversation(), conversation()
    add_title(index, "Tides", "index")
    add_title(store, "A summary", "store")

    unite_titles(log, [store, index])

    assert (log.title, log.title_origin) == ("Tides", "index")
    assert [title.text for title in log.titles] == ["A summary", "Tides"]


def test_the_viewer_exports_and_archive_have_the_concluded_title_and_its_origin() -> None:
    made = conversation("Sum the tides")
    add_title(made, "Tides", "index")
    add_title(made, "A summary", "store")
    entry = concluded_entry(made)
    facts = dict(facts_of(made))
    row = entry.row

    assert (row.title, row.title_origin, title_of(made)) == ("Tides", "index", "Tides")
    assert facts["Title from"] == "index · also “A summary” (store)"
