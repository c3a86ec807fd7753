"""The dashboard: what the figures of `copilog stats` look like as pictures, each with a table and with links.

asked.py       the time range and the facets that stand in the address
measured.py    the figures for them, kept for as long as the archive is the same
links.py       from a number to the conversations behind it
spans.py       days, weeks or months in a row, as many as a picture has room for
panels.py      what sections are made of: tiles, charts, tables
page.py        all sections in their order, and the document that pictures are drawn from
overview.py    the big numbers, the calendar, hours and weekdays
spending.py    tokens and cost
machinery.py   models, tools and MCP servers
people.py      agents, skills and workspaces
work.py        edits and what became of them, files, errors, votes
"""

from __future__ import annotations
