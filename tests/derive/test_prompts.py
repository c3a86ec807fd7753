"""Typed prompts, and the conversations that have them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from copilog.derive.prompts import (
    PROMPTS_ONLY,
    Owner,
    keys_by_turn,
    linked_keys,
    owners_of,
    prompt_key,
    without_linked,
)
from copilog.model import Conversation, Message, Provenance, Text, Turn, Workspace

LONG = "Tabulate the neap tides of Husum"


def history(*texts: str, folder: str | None = "/tides", name: str = "vscode:h") -> Conversation:
    return Conversation(
        id=name,
        source="vscode-prompts",
        workspace=Workspace(folder=folder) if folder else None,
        marks=[PROMPTS_ONLY],
        turns=[Turn(index=index) for index in range(len(texts))],
        messages=[Message(role="user", parts=[Text(text=text)], turn=n) for n, text in enumerate(texts)],
        provenance=[Provenance(source="vscode-prompts", path="/storage/1/state.vscdb")],
    )


def owner(text: str, name: str = "vscode:c", folder: str | None = "/tides", path: str | None = None) -> Owner:
    key = prompt_key(text)
    assert key is not None
    return Owner(key, name, folder, path)


def left(made: Conversation) -> list[str]:
    return [part.text for message in made.messages for part in message.parts if isinstance(part, Text)]


def test_prompt_keys_ignore_white_space_but_not_words() -> None:
    assert prompt_key(" high  water?\n") == prompt_key("high water?")
    assert prompt_key("high water?") != prompt_key("High water?")
    assert prompt_key(" \n") is None


def test_a_short_prompt_needs_the_same_workspace_and_a_long_one_does_not() -> None:
    elsewhere = [owner(text, folder="/garden") for text in ("continue", LONG)]

    assert left(without_linked(*_with_owners(history("continue", LONG), elsewhere))) == ["continue"]
    near = owner("continue", name="vscode:near")
    assert left(without_linked(*_with_owners(history("continue", LONG), [*elsewhere, near]))) == []


def test_all_sessions_of_copilot_cli_are_near_its_history() -> None:
    made = history("continue", "stop", folder=None, name="cli:h")
    owners = [owner("continue", "cli:c", "/anywhere"), owner("stop", "vscode:c", None)]

    assert left(without_linked(*_with_owners(made, owners))) == ["stop"]


def test_unlinked_prompts_are_renumbered_and_the_others_are_linked_once() -> None:
    made = without_linked(*_with_owners(history("a", "b", "a", "c"), [owner("a"), owner("a", "vscode:a")]))

    assert left(made) == ["b", "c"]
    assert [turn.index for turn in made.turns] == [message.turn for message in made.messages] == [0, 1]
    assert [(relation.kind, relation.other_id) for relation in made.relations] == [("prompts-of", "vscode:a")]
    assert linked_keys(made) == {prompt_key("a"): "vscode:a"}


def test_a_history_of_many_prompts_is_one_conversation() -> None:
    texts = [f"Prompt number {number} of a long year" for number in range(500)]

    made = without_linked(*_with_owners(history(*texts), [owner(text) for text in texts[:200]]))
    assert left(made) == texts[200:]


@given(st.lists(st.sampled_from(["a", "b", LONG, "d"])), st.permutations(["a", "b", LONG]), st.integers(0, 3))
def test_links_of_prompts_do_not_depend_on_the_order_of_conversations(
    typed: list[str], known: list[str], first: int
) -> None:
    owners = [owner(text, f"vscode:{text[:1]}") for text in known]
    at_once = without_linked(*_with_owners(history(*typed), owners))

    part = without_linked(*_with_owners(history(*typed), owners[:first]))
    assert without_linked(*_with_owners(part, owners)) == at_once
    assert without_linked(*_with_owners(at_once, owners)) == at_once


def _with_owners(made: Conversation, owners: list[Owner]) -> tuple[Conversation, dict[int, str]]:
    keys = {*keys_by_turn(made).values(), *linked_keys(made)}
    return made, owners_of(made, [owner for owner in owners if owner.key in keys])
