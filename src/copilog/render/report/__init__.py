"""One page of all figures, to share: no script, nothing from the network, readable on paper and on a phone.

    page.py              the page: its sections in order, the template, the content policy
    overview.py          main figures, the calendar, hours and weekdays
    spending.py          tokens and cost
    models_and_tools.py  models and tools
    agents.py            agents and skills
    work.py              results: edits, turns, votes, errors
    method.py            what the page covers, and what of it is estimated
    blocks.py            what sections consist of: tables, charts, figures
    amounts.py           numbers as text
    columns.py           columns of tables
    timeline.py          consecutive days, weeks or months

Names come from conversations, and are only text here: control characters and those that change the text direction are
replaced, and the templates escape the rest.
"""

from __future__ import annotations

from copilog.render.report.page import Cover, report_page

__all__ = ["Cover", "report_page"]
