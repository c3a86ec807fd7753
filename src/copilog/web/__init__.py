"""The viewer: the archive in the browser, on this machine alone.

    app.py        the application: routes, errors as pages, what starts and stops with it
    viewer.py     what handlers use: the archive, conversations, pages
    security.py   which requests are allowed, and the headers of every response
    assets.py     our scripts, styles and pictures, under an address that changes with them
    live.py       changes of the archive, as events for open pages
    scans.py      updates of the archive while the viewer runs
    serving.py    the server itself
    routes/       one module per page

Starlette runs all request handlers in threads; each opens the archive to read. Text of a conversation gets into a page
only through `render` and `writers`.
"""

from __future__ import annotations
