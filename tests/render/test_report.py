"""The page of all figures: self-contained, harmless with any text, accessible."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import UTC, date, datetime, timedelta
from html.parser import HTMLParser
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from copilog.analysis.allowance import month_to_date
from copilog.analysis.figures import ActivityRow, CreditsSection, Figures, ReferenceRow, SpendRow, Stats
from copilog.analysis.plans import Plan
from copilog.render.report import Cover, amounts, report_page
from copilog.render.report.page import stylesheet
from copilog.render.report.spending import folder_names, parts_of
from copilog.render.report.timeline import timeline_of
from copilog.render.report.work import host_of
from tests.report_figures import empty_stats, made_up_stats

COVER = Cover(made_at=datetime(2026, 5, 5, 9, tzinfo=UTC), made_by="copilog 1.2.3")
VOID = {"meta", "link", "br", "line", "rect", "polyline"}


class Page(HTMLParser):
    """A document that was read: its tags in order, its attributes, and its words."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID or tag == "rect":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def values(self, name: str) -> list[str]:
        return [attributes[name] for _, attributes in self.tags if name in attributes]


def page(stats: Stats | None = None, **cover: Any) -> Page:
    return Page(report_page(stats or made_up_stats(), replace(COVER, **cover)))


# --- the document -------------------------------------------------------------------------------------------------


def test_the_page_has_all_sections_and_a_way_to_each() -> None:
    made = page()

    keys = ["credits", "overview", "activity", "tokens", "models", "tools", "agents", "work", "method"]
    assert [attributes["id"] for tag, attributes in made.tags if tag == "section"] == keys
    assert [value for value in made.values("href") if value.startswith("#")][1:] == [f"#{key}" for key in keys]
    assert made.open == []


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    made = page()

    assert {tag for tag, _ in made.tags}.isdisjoint({"script", "iframe", "object", "embed", "img", "form", "base"})
    assert made.values("src") == []
    assert made.values("style") == []
    assert [name for _, attributes in made.tags for name in attributes if name.startswith("on")] == []
    elsewhere = [value for value in made.values("href") if not value.startswith(("#", "data:,"))]
    assert elsewhere == ["https://github.com/ana/harbour/pull/12"]
    assert "url(" not in stylesheet()
    assert "@import" not in stylesheet()


def test_the_policy_allows_the_one_stylesheet_and_nothing_else() -> None:
    html = report_page(made_up_stats(), COVER)
    [style] = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()

    [policy] = [value for value in Page(html).values("content") if "default-src" in value]

    assert policy.startswith("default-src 'none'; ")
    assert f"style-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_ids_are_there_once_and_all_that_is_pointed_to_exists() -> None:
    made = page()

    ids = made.values("id")
    assert len(ids) == len(set(ids))
    pointed = [name for value in made.values("aria-labelledby") for name in value.split()]
    assert set(pointed) <= set(ids)
    assert {value[1:] for value in made.values("href") if value.startswith("#")} <= set(ids)


def test_every_chart_says_what_it_shows() -> None:
    made = page()

    charts = [attributes for tag, attributes in made.tags if tag == "svg" and attributes["class"] != "key"]
    assert len(charts) > 10
    assert all(attributes["role"] == "img" and attributes["aria-labelledby"] for attributes in charts)


def test_a_report_without_data_has_a_page() -> None:
    made = page(empty_stats())

    assert "0 conversations" in made.text
    assert "Nothing in this period has a time." in made.text
    assert "Neither custom agents nor skills left a trace" in made.text
    assert "nan" not in made.text


def test_the_same_figures_give_the_same_page() -> None:
    assert report_page(made_up_stats(), COVER) == report_page(made_up_stats(), COVER)


# --- content ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        "Working with Copilot 71 conversations",
        "Conversations 71 in 3 workspaces",
        "Active days 53 longest streak 6 days",
        # (41,000 + 1,900) x 2,200; (700 + 210) x 2,200
        "Tokens 94.4 M recorded; at least 1.2 M, likely 2 M, at most 3.7 M more are estimated",
        "Cost $94.60 recorded tokens at list prices; at least $2.50, likely $4.62, at most $9.50 more",
        "Tool calls 3,120 187 failed",
        "Edits 860 +12,400 −5,300 lines in 74 files",
        "Elapsed 14 h 15 min 11 h 40 min working, 2 h 35 min waiting for the user",
        "Dollars are list prices from genai-prices 0.0.1 of 2026-05-01",
        "No price is known of harbour-llm.",
        "session.shutdown spread 12 52,000,000 2,400,000",
        "gpt-5-mini 170 26.6 % 19 3 9.5 s 47.5 s 1.1 s 3.2 s",
        "Of 11 turns no model was recorded.",
        "run_in_terminal 640 22 96 15.0 % 55 48 426 160 10 640 4.1 s 28.7 s 1 h 09 min 2.0 MB",
        "grep_search → read_file → copilot_replaceString 88 20",
        "frost-guard workspace Pilots ships into the harbour",
        "Agents that were used and are no longer defined old-keeper Seed Scout",
        "Edits kept 82.5 % of 739 edits of which the end is known",  # 610 of 610 + 88 + 41
        "Turns completed 90.6 % 38 cancelled, 17 failed, 22 retried",
        "ana/harbour#12 pull request github.com 8 3",
        "made here",
        "vscode-session-log 49",
        "by copilog 1.2.3",
    ],
)
def test_the_page_shows(words: str) -> None:
    assert words in page().text


def test_the_title_the_period_and_the_selection_are_on_the_page() -> None:
    made = page(title="Our spring", selection=[("Workspace", "tide-tables"), ("Search", '"flaky test"')])

    assert ("h1", {"dir": "auto"}) in made.tags
    assert "Our spring 71 conversations, since 2026-03-0" in made.text
    assert 'Workspace tide-tables Search "flaky test"' in made.text
    assert "This page is anonymous" not in made.text


def test_an_anonymous_page_says_so() -> None:
    assert "This page is anonymous" in page(is_anonymous=True).text


def test_what_was_not_recorded_is_a_dash_or_left_out() -> None:
    stats = made_up_stats()
    stats.tokens.total.dollars = stats.tokens.total.estimated_dollars = stats.tokens.total.premium_requests = None
    stats.tokens.prices = None
    stats.tokens.credits = CreditsSection(weeks=[], repositories=[], outcomes=[])
    stats.tokens.month = month_to_date([], date(2026, 6, 10), Plan())
    for rows in (stats.tokens.by_system, stats.tokens.by_payer):
        for row in rows:
            row.credits = None

    made = page(stats)

    assert "No price table was used, so nothing here is in dollars." in made.text
    assert "Premium requests 733" not in made.text
    assert "harbour-llm 18 2.8 % 3 0 – – – –" in made.text
    assert "Credits" not in made.text  # of nothing was it recorded


# --- credits --------------------------------------------------------------------------------------------------------


def test_the_page_begins_with_credits_by_week_stacked_by_model() -> None:
    html = report_page(made_up_stats(), COVER)
    made = page()

    assert "81.50 of 1,900 credits" in made.text or "Since 2026-06-01 81.50" in made.text
    assert "Forecast 244.50 at 8.15 a day, 20 days left" in made.text  # 81.5 in 10 of 30 days
    # Two models recorded, one of them with computed credits besides, the other with likely ones: these are hatched.
    assert html.count('fill="url(#credits-weeks-hatched-1)"') == 1
    assert html.count('fill="url(#credits-weeks-hatched-2)"') == 1
    assert "436.96. Where no tokens were recorded: at least 4, likely 12.50, at most 20." in made.text
    # At least 81.50 + 2 + 4, at most 20 + 83.50; besides, the forecast of this week and of three more.
    assert html.count('fill="url(#credits-weeks-hatched-6)"') == 4
    assert "2026-06-01: at least 87.50, at most 103.50" in html
    assert 'class="mark"' in html
    assert "The line is the allowance of a week: 436.96." in made.text  # 1,900 * 7 / 30.4375
    assert "Credits by repository and model" in made.text
    assert "Credits by month and what became of the turns" in made.text


def test_credits_are_compared_with_the_period_before() -> None:
    assert "2026-06-01 gpt-5-mini 60 21.50 81.50 40" in page().text


# --- untrusted ----------------------------------------------------------------------------------------------------

TURNING = "\x1b[31m\x00\u202eevil\u2066\u200f\ud800"
EVIL = f"</title></style><script>alert(1)</script><img src=x onerror=alert(2)>\" ' {{{{ 7 * 7 }}}} {TURNING}"


def poisoned(value: Any) -> Any:
    """Return the same figures with every text in them replaced by an attack."""
    if isinstance(value, str):
        return EVIL
    if isinstance(value, list):
        return [poisoned(item) for item in value]
    if isinstance(value, dict):
        return {f"{EVIL}{number}": poisoned(item) for number, item in enumerate(value.values())}
    if isinstance(value, Figures):
        return replace(value, **{name: poisoned(getattr(value, name)) for name in value.__struct_fields__})
    return value


def test_whatever_figures_name_is_text_on_the_page() -> None:
    stats = poisoned(made_up_stats())

    html = report_page(stats, replace(COVER, title=EVIL, selection=[(EVIL, EVIL)]))
    made = Page(html)

    assert {tag for tag, _ in made.tags} <= {tag for tag, _ in page().tags}
    assert not {name for _, attributes in made.tags for name in attributes if name.startswith("on")}
    assert [value for value in made.values("href") if not value.startswith(("#", "data:,"))] == []
    assert made.open == []
    assert "{{ 7 * 7 }}" in made.text
    assert not set("\x1b\x00\u202e\u2066\u200f\ud800") & set(html)
    html.encode()


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://github.com/ana/harbour/pull/12", "github.com"),
        ("https://dev.example.com:8443/x", "dev.example.com"),
        ("http://github.com/ana", None),
        ("javascript:alert(1)", None),
        ("data:text/html,<script>", None),
        ("https://github.com@evil.example/x", None),
        ("https://github.com/\u202ex", None),
        ("https://[::1", None),
        ("https:///nothing", None),
        ("https://example.com/" + "a" * 3000, None),
        (None, None),
    ],
)
def test_only_plain_web_addresses_become_links_with_their_host(url: str | None, host: str | None) -> None:
    assert host_of(url) == host


def test_a_reference_that_cannot_be_followed_is_still_named() -> None:
    stats = made_up_stats()
    reference = ReferenceRow(
        kind="issue", name="a#1", url="javascript:alert(1)", times=1, conversations=1, is_made=False
    )

    made = page(replace(stats, work=replace(stats.work, references=[reference])))

    assert "a#1 issue 1 1" in made.text
    assert not any("javascript" in value for value in made.values("href"))


def test_invisible_and_direction_changing_characters_are_made_visible() -> None:
    assert amounts.shown("a\u200bb\u202ec\nd\U000e0041") == "a\ufffdb\ufffdc d\ufffd"
    assert amounts.shown("👩‍🔧 نسخه‌ها") == "👩‍🔧 نسخه‌ها"
    assert len(amounts.shown("a" * 10_000)) == amounts.LONGEST_NAME


# --- numbers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (None, "–"),
        (0, "0"),
        (999, "999"),
        (1000, "1 k"),
        (12_345, "12.3 k"),
        (999_960, "1 M"),
        (4_200_000_000, "4.2 B"),
    ],
)
def test_big_numbers_are_short(number: float | None, words: str) -> None:
    assert amounts.short(number) == words


def test_amounts_are_formatted_for_reading() -> None:
    assert [amounts.dollars(value) for value in (None, 0, 0.001, 1.239, 12_345.6)] == [
        "–", "$0.00", "< $0.01", "$1.24", "$12,346",
    ]  # fmt: skip
    assert [amounts.percent(value) for value in (None, 0, 0.0004, 0.126, 1)] == [
        "–",
        "0 %",
        "< 0.1 %",
        "12.6 %",
        "100 %",
    ]
    assert [amounts.decimal(value) for value in (None, 3.0, 0.333)] == ["–", "3", "0.33"]
    assert amounts.duration(None) == "–"
    assert amounts.moment("2026-04-18") == "2026-04-18"
    assert amounts.moment("not a time") == "not a time"
    assert amounts.moment(None) == "–"


def test_tokens_from_a_cache_are_part_of_the_input() -> None:
    row = SpendRow(name="x", input=100, cache_read=70, output=5, estimated_input=3, estimated_output=2)

    assert parts_of(row) == (30, 70, 5, 5)
    assert sum(parts_of(replace(row, cache_read=500))) == 110


def test_folder_names_have_enough_parents_to_be_distinct() -> None:
    paths = ["/home/ana/api", "/srv/old/api", "C:\\work\\garden", "(no workspace)"]

    assert folder_names(paths) == ["ana/api", "old/api", "garden", "(no workspace)"]
    assert folder_names(["/same", "/same"]) == ["same", "same"]


# --- time ---------------------------------------------------------------------------------------------------------


def days(*names: str) -> list[ActivityRow]:
    return [ActivityRow(name=name, turns=1, conversations=1, tool_calls=0) for name in names]


@pytest.mark.parametrize(
    ("last", "unit", "count", "label"),
    [
        ("2026-03-02", "day", 1, "2 Mar"),
        ("2026-05-02", "day", 62, "2 May"),
        ("2026-05-03", "week", 9, "27 Apr"),
        ("2027-12-01", "month", 22, "Dec 2027"),
        ("2040-01-01", "year", 15, "2040"),
        ("9999-12-31", "year", 7974, "9999"),
    ],
)
def test_long_periods_are_grouped_into_longer_buckets_without_gaps(
    last: str, unit: str, count: int, label: str
) -> None:
    rows = days(*{"2026-03-02", last}, "(no date)")

    time = timeline_of(rows)

    assert (time.unit, len(time.buckets), time.labels[-1]) == (unit, count, label)
    assert sum(time.values(lambda row: row.turns)) == len(rows) - 1


def test_days_that_no_calendar_has_are_left_out_of_charts() -> None:
    assert timeline_of(days("(no date)", "2026-02-30", "0000-01-01")).buckets == []
    assert len(timeline_of(days("0001-01-01", "0001-03-20")).buckets) == 12


def test_each_year_has_a_calendar_up_to_a_limit() -> None:
    stats = made_up_stats()
    long_ago = [(date(2026, 3, 2) - timedelta(days=365 * step)).isoformat() for step in range(8, -1, -1)]

    made = page(replace(stats, time=replace(stats.time, by_day=days(*long_ago))))

    assert sum(value.startswith("calendar-") and value.endswith("-title") for value in made.values("id")) == 5
    assert "The calendar leaves out 4 earlier years." in made.text


# --- readable -----------------------------------------------------------------------------------------------------


def colours(scheme: str) -> dict[str, str]:
    """Return the custom properties of a colour scheme."""
    light, _, dark = stylesheet().partition("prefers-color-scheme: dark")
    properties = re.compile(r"--([\w-]+): (#[0-9a-f]{6});")
    found = dict(reversed(properties.findall(light)))  # the first rule applies until the user selects a theme
    return found if scheme == "light" else found | dict(properties.findall(dark))


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, as WCAG 2 defines it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_marks_have_enough_contrast(scheme: str) -> None:
    named = colours(scheme)

    for ink in ("ink", "muted", "link"):
        for paper in ("paper", "card"):
            assert contrast(named[ink], named[paper]) >= 4.5, (ink, paper)
    for tone in range(1, 6):
        assert contrast(named[f"tone-{tone}"], named["paper"]) >= 3, tone


def test_every_class_and_colour_that_is_used_is_defined() -> None:
    style = stylesheet()
    used = {name for value in page().values("class") for name in value.split()}

    assert set(re.findall(r"var\(--([\w-]+)\)", style)) <= set(colours("light"))  # pages share more than these
    assert set(colours("dark")) <= set(colours("light"))
    plain = {"key", "plot", "bars", "calendar", "name", "value"}  # what needs no rule of its own
    assert {name for name in used if f".{name}" not in style} <= plain


def test_figures_can_be_read_back_from_what_the_page_was_made_of() -> None:
    stats = made_up_stats()

    assert msgspec.json.decode(msgspec.json.encode(stats), type=Stats) == stats
