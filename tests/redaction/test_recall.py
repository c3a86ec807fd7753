"""Secrets of published formats, generated anew in each run, are found wherever they stand."""

from __future__ import annotations

import pytest

from copilog.redaction import Redactor
from tests.redaction.lookalikes import LOOKALIKES
from tests.redaction.places import PLACES, Place, conversation_with, fits, is_left
from tests.redaction.seeds import generator
from tests.redaction.shapes import PERSONAL, PROVIDERS, SHAPES, TOKENS, Shape

CASES = 4  # of each shape in each place
MISSED_AT_MOST = 0.01  # of the secrets in context that are cut where what shows them ends, and of hosts


def test_the_shapes_are_of_thirty_providers_or_more() -> None:
    assert len(PROVIDERS) >= 30


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
@pytest.mark.parametrize("shape", TOKENS, ids=lambda shape: shape.name)
def test_a_token_is_found_in_every_place(shape: Shape, place: Place) -> None:
    if not fits(shape, place):
        pytest.skip("cannot stand there")
    rng = generator(shape.name, place.name)
    for _ in range(CASES):
        planted = shape.make(rng)
        made = Redactor().value(conversation_with(planted, place, rng))
        assert not is_left(planted, place, made), planted


def test_nearly_all_other_secrets_are_found() -> None:
    rng = generator("others")
    tried, left = 0, []
    for shape in [*(shape for shape in SHAPES if shape not in TOKENS)]:
        for place in PLACES:
            if not fits(shape, place):
                continue
            for _ in range(CASES):
                planted = shape.make(rng)
                tried += 1
                if is_left(planted, place, Redactor().value(conversation_with(planted, place, rng))):
                    left.append((shape.name, place.name, planted))

    assert len(left) <= tried * MISSED_AT_MOST, left


@pytest.mark.parametrize("name", LOOKALIKES)
def test_lookalikes_are_left_as_they_are(name: str) -> None:
    rng = generator(name)
    text = LOOKALIKES[name](rng)

    assert Redactor().text(text) == text


@pytest.mark.parametrize("shape", PERSONAL, ids=lambda shape: shape.name)
def test_what_replaces_names_keeps_the_form_of_its_place(shape: Shape) -> None:
    planted = shape.make(generator(shape.name))
    made = Redactor().text(planted.text)

    before, _, after = planted.text.partition(planted.secret)
    assert made.startswith(before)
    assert made.endswith(after)
    assert not set(made[len(before) : len(made) - len(after)]) & set(" /\\\"'%:")
