"""Code, JSON and plain text: nothing added, nothing lost, colours that can be read."""

from __future__ import annotations

import json
import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.render.pages import stylesheet
from copilog.writers.html import code, code_html, json_html, language_of_path, text_html
from copilog.writers.html.characters import visible
from copilog.writers.html.language_names import LANGUAGES, language_called
from copilog.writers.html.terminal import NAMES
from tests.safe_html import confusing_text, harmless

STYLE = stylesheet("tokens", "code")
LEAST_CONTRAST = 4.5  # WCAG AA for text of any size


def code_of(html: str) -> str:
    return harmless(html).text.partition("Copy")[2]


@given(confusing_text, st.sampled_from([*LANGUAGES, "nonsense", "", None]))
def test_no_character_of_code_is_lost(text: str, language: str | None) -> None:
    assert code_of(code_html(text, language)) == visible(text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_of_the_list_can_be_highlighted(language: str) -> None:
    sample = "if x == 'a':  # note\n  /* b */ f(12)\n"
    assert code_of(code_html(sample, language)) == sample


def test_a_language_goes_by_many_names() -> None:
    assert language_called("PY") == "python"
    assert language_called("{.python}") == "python"
    assert language_called("c++") == "cpp"
    assert language_called("../../etc") is None
    assert language_of_path("/home/ana/src/app.test.tsx") == "typescript"
    assert language_of_path("C:\\work\\Dockerfile") == "docker"
    assert language_of_path("README") is None


def test_an_unknown_language_keeps_its_name_but_only_so_much_of_it() -> None:
    assert harmless(code_html("x", "klingon")).text == "klingonCopyx"
    assert len(harmless(code_html("x", "<b>" * 500)).text) < 60


def test_huge_code_is_shown_without_colours() -> None:
    long = "x = 1\n" * 50_000
    assert code_of(code_html(long, "python")) == long
    assert "hl-number" not in code_html(long, "python")


def test_json_is_laid_out_exactly_as_it_was_written() -> None:
    text = r'{"a":[1.50,{"b":null,"b":1e999}],"c":{},"d":[ ],"e":"\u00e9, {x}: \"y\""}'
    assert code_of(json_html(text)) == (
        '{\n  "a": [\n    1.50,\n    {\n      "b": null,\n      "b": 1e999\n    }\n  ],\n  "c": {},\n  "d": [],\n'
        '  "e": "\\u00e9, {x}: \\"y\\""\n}'
    )


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
        max_leaves=12,
    )
)
def test_laid_out_json_has_the_same_value(value: object) -> None:
    assert json.loads(code.laid_out(json.dumps(value))) == value


def test_invalid_json_is_shown_as_text() -> None:
    assert harmless(json_html('{"half": ')).text == '{"half": '
    assert harmless(json_html("[" * 100_000)).text == "[" * 100_000


def test_json_nested_very_deeply_does_not_grow_by_its_indents() -> None:
    text = "[" * 900 + "]" * 900
    assert len(json_html(text)) < 200 * len(text)


@given(confusing_text)
def test_any_json_and_text_are_harmless(text: str) -> None:
    harmless(json_html(text))
    assert harmless(text_html(text)).text == visible(text)


# --- colours --------------------------------------------------------------------------------------------------------


def themes() -> dict[str, dict[str, str]]:
    """Return the custom properties of the stylesheets: light, dark by choice, dark by the system."""
    light: dict[str, str] = {}
    chosen: dict[str, str] = {}
    system: dict[str, str] = {}
    for selector, body in re.findall(r"(:root[^{]*)\{([^{}]*)\}", STYLE):
        properties = dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6});", body))
        (system if "not(" in selector else chosen if "dark" in selector else light).update(properties)
    return {"light": light, "dark by choice": light | chosen, "dark by the system": light | system}


def luminance(colour: str) -> float:
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark by choice", "dark by the system"])
def test_every_colour_is_readable_on_its_background(theme: str) -> None:
    colours = themes()[theme]
    on_code = {*(name for name in colours if name.startswith("hl-")), "ink", "muted"}
    pairs = [*product(on_code, ("code-paper", "paper", "card"))]
    pairs += product([f"t-{name}" for name in NAMES], ["code-paper", *(f"t-on-{name}" for name in NAMES)])
    pairs += product(
        ("ink",), ("good-paper", "bad-paper", "added-word", "removed-word", *(f"t-on-{name}" for name in NAMES))
    )
    pairs += [
        ("muted", "good-paper"),
        ("muted", "bad-paper"),
        ("good", "card"),
        ("bad", "card"),
        ("link", "card"),
        ("paper", "ink"),
    ]
    poor = {(ink, paper): contrast(colours[ink], colours[paper]) for ink, paper in pairs}
    assert {pair: ratio for pair, ratio in poor.items() if ratio < LEAST_CONTRAST} == {}


def test_both_ways_to_be_dark_look_the_same() -> None:
    assert themes()["dark by choice"] == themes()["dark by the system"]


def test_every_written_class_has_a_style() -> None:
    written = {*code.CLASSES.values(), *(f"t-{name}" for name in NAMES), *(f"t-on-{name}" for name in NAMES)}
    assert {name for name in written if f".{name} " not in STYLE and f".{name}," not in STYLE} == set()


def test_code_within_markdown_loads_no_other_lexer() -> None:
    text = "# Head\n\n```ocaml\nlet x = 0\n```\n"
    html = code_html(text, "markdown")
    assert code_of(html) == text
    assert "hl-keyword" not in html
