"""The viewer: the archive in the browser, on this machine alone.

    app.py        the application: routes, errors as pages, what starts and stops with it
    viewer.py     what handlers use: the archive, conversations, pages
    security.py   who may ask, and what every answer carries
    assets.py     our scripts, styles and pictures, under an address that changes with them
    live.py       what changes while somebody looks, as events for the pages
    scans.py      what keeps the archive up to date meanwhile
    serving.py    the server itself
    routes/       one module per page

All requests are answered by functions that Starlette runs in threads; each opens the archive for itself, to read. What
conversations hold reaches a page only through `render`.
"""

from __future__ import annotations
