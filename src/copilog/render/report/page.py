"""The page: sections in order, put into the template, with a policy that blocks all network access."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any

import msgspec
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from copilog.analysis.figures import Stats
from copilog.render.report.agents import agents_and_skills
from copilog.render.report.amounts import NONE, counted, moment, shown
from copilog.render.report.blocks import Section
from copilog.render.report.credits import credits  # noqa: A004
from copilog.render.report.method import method, period_text
from copilog.render.report.models_and_tools import models, tools
from copilog.render.report.overview import activity, overview
from copilog.render.report.spending import spending
from copilog.render.report.work import work

TITLE = "Working with Copilot"
LONGEST_TEXT = 2000  # characters of any one text on the page

_OWN = PackageLoader("copilog.render.report", "templates")


class Cover(msgspec.Struct, frozen=True, kw_only=True):
    """The title and the notes of the page."""

    made_at: datetime
    made_by: str  # "copilog 0.6"
    title: str | None = None
    selection: Sequence[tuple[str, str]] = ()  # filters besides the period, as text
    is_anonymous: bool = False


def report_page(stats: Stats, cover: Cover) -> str:
    """Return all figures as one self-contained HTML document."""
    first = credits(stats)
    sections = [
        *([first] if first is not None else []),
        overview(stats),
        activity(stats),
        spending(stats),
        models(stats),
        tools(stats),
        agents_and_skills(stats),
        work(stats),
        method(
            stats,
            made_at=cover.made_at,
            made_by=cover.made_by,
            selection=cover.selection,
            is_anonymous=cover.is_anonymous,
        ),
    ]
    return render("report.html", title=cover.title or TITLE, sections=sections, subtitle=_subtitle(stats))


def _subtitle(stats: Stats) -> str:
    words = counted(stats.totals.conversations, "conversation")
    first, last = moment(stats.time.first_at)[:10], moment(stats.time.last_at)[:10]
    if stats.since or stats.until:
        return f"{words}, {period_text(stats)}"
    return words if first == NONE else f"{words}, {first} to {last}"


def render(template: str, *, sections: Sequence[Section], **context: Any) -> str:
    """Return a template with its stylesheet, and with a policy that allows only this stylesheet."""
    style = stylesheet()
    return (
        environment()
        .get_template(template)
        .render(
            style=Markup(style),  # noqa: S704 - a file of ours
            policy=content_policy(style),
            sections=sections,
            **context,
        )
    )


@cache
def environment() -> Environment:
    return Environment(
        loader=ChoiceLoader([_OWN, PackageLoader("copilog.render", "templates")]),  # as on the dashboard
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )


@cache
def stylesheet() -> str:
    """Return the colours that all pages share, and the report's own styles."""
    from copilog.render.pages import stylesheet as shared  # which imports this package

    source, _, _ = _OWN.get_source(environment(), "style.css")
    return shared("tokens") + source.replace("\r\n", "\n")  # line ends as in a browser, for the same hash


def content_policy(style: str, script: str = "") -> str:
    """Return a policy that allows the styles and the script of a page, and pictures in it, and nothing else."""
    rules = ["default-src 'none'", f"style-src {_hash_of(style)}", "img-src data:", "base-uri 'none'"]
    if script:
        rules.insert(1, f"script-src {_hash_of(script)}")
    return "; ".join([*rules, "form-action 'none'"])


def _hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _finalize(value: Any) -> Any:
    """Make all text in a template harmless, even if a section did not."""
    return shown(value, LONGEST_TEXT) if isinstance(value, str) and not isinstance(value, Markup) else value
