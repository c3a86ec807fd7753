"""The page: sections in their order, put into the template, with a policy that lets nothing in or out."""

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
from copilog.render.report.method import method, period_words
from copilog.render.report.models_and_tools import models, tools
from copilog.render.report.overview import activity, overview
from copilog.render.report.spending import spending
from copilog.render.report.work import work

TITLE = "Working with Copilot"
LONGEST_TEXT = 2000  # of any one piece of text on the page

_OWN = PackageLoader("copilog.render.report", "templates")


class Cover(msgspec.Struct, frozen=True, kw_only=True):
    """What a page says of itself."""

    made_at: datetime
    made_by: str  # "copilog 0.6"
    title: str | None = None
    selection: Sequence[tuple[str, str]] = ()  # what was asked for besides the period, in words
    is_anonymous: bool = False


def report_page(stats: Stats, cover: Cover) -> str:
    """All figures as one HTML document that needs nothing else."""
    sections = [
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
        return f"{words}, {period_words(stats)}"
    return words if first == NONE else f"{words}, {first} to {last}"


def render(template: str, *, sections: Sequence[Section], **context: Any) -> str:
    """A template with its stylesheet in it, and with a policy that allows this stylesheet and nothing else."""
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
        loader=ChoiceLoader([_OWN, PackageLoader("copilog.render", "templates")]),  # figures look as on the dashboard
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )


@cache
def stylesheet() -> str:
    """The colours that all pages share, and what is the report's own."""
    from copilog.render.pages import stylesheet as shared  # which needs the words of this package

    source, _, _ = _OWN.get_source(environment(), "style.css")
    return shared("tokens") + source.replace("\r\n", "\n")  # as a browser reads it, so that the hash is the same


def content_policy(style: str) -> str:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


def _finalize(value: Any) -> Any:
    """Whatever reaches a template as text is harmless text, even where a section forgot to see to it."""
    return shown(value, LONGEST_TEXT) if isinstance(value, str) and not isinstance(value, Markup) else value
