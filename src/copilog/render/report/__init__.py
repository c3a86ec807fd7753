"""One page of all figures, to be handed to a team: no script, nothing from elsewhere, readable on paper and on a phone.

    page.py        the page: its sections in order, the template, the content policy
    overview.py    big numbers, the calendar, hours and weekdays
    spending.py    tokens and cost
    machinery.py   models and tools
    agents.py      agents and skills
    work.py        what came of it
    method.py      what the page covers, and what of it is estimated
    blocks.py      what sections are made of: tables, charts, figures
    amounts.py     numbers in words
    timeline.py    days, weeks or months in a row

What the figures name comes from transcripts, and is nothing but text here: control characters and those that turn the
direction of writing are replaced, and the templates escape the rest.
"""

from __future__ import annotations

from copilog.render.report.page import Cover, report_page

__all__ = ["Cover", "report_page"]
