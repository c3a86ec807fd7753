"""Results that are cached, results that are not, and equal texts that are in memory once."""

from __future__ import annotations

import gc
import weakref

from copilog.text_cache import LONGEST_TEXT, SharedTexts, cached_by_text


class Name(str):
    """A text that can be watched while it is held."""


def test_a_result_is_computed_once_and_cached() -> None:
    asked: list[str] = []

    @cached_by_text(2)
    def size_of(text: str) -> int:
        """Return how long a text is."""
        asked.append(text)
        return len(text)

    assert [size_of(text) for text in ("a", "b", "a", "c", "a", "b")] == [1] * 6
    assert asked == ["a", "b", "c", "b"]
    assert (size_of.__name__, size_of.__doc__) == ("size_of", "Return how long a text is.")


def test_a_result_for_a_long_text_is_not_cached() -> None:
    @cached_by_text(8)
    def last_of(text: str) -> str:
        return text[-1:]

    short, long = Name("a" * LONGEST_TEXT), Name("b" * (LONGEST_TEXT + 1))
    watched = [weakref.ref(text) for text in (short, long)]

    assert (last_of(short), last_of(long)) == ("a", "b")
    del short, long
    gc.collect()
    assert [reference() is None for reference in watched] == [False, True]


def test_long_texts_of_a_json_value_become_those_that_are_in_memory_already() -> None:
    text = "long " * 100
    shared = SharedTexts([text, "short"])

    value = shared.share_in({"a": ["".join(["long "] * 100), 1, None, "another"], "b": {"c": "".join(["long "] * 100)}})

    assert value == {"a": [text, 1, None, "another"], "b": {"c": text}}
    assert value["a"][0] is text
    assert value["b"]["c"] is text
