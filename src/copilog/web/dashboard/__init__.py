"""The dashboard: the figures of `copilog stats` as charts, each with a table and with links.

parameters.py         the time range and the facets in the address
figures.py            the figures for them; cache.py caches them until the archive changes
links.py              links from a number to the conversations that it counts
time_buckets.py       consecutive days, weeks or months, as many as a chart has room for
panels.py             the elements of sections: charts and tables
page.py               all sections in order, and the JSON from which the browser draws charts
overview.py           the main figures, the calendar, hours and weekdays
spending.py           tokens and cost
composition.py        what prompts were made of
models_and_tools.py   models, tools and MCP servers
agents_and_skills.py  agents, skills and workspaces
work.py               edits and their outcomes, files, errors, votes
"""

from __future__ import annotations
