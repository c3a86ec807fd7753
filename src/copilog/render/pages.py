"""The templates of pages: those of the viewer and those that are exported.

All text in a template is escaped, and invisible characters and those that change the text direction are removed; only
`writers.html` makes HTML. An unknown name in a template is an error, never an empty text.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from copilog.render.report import amounts
from copilog.view.terminal_text import UNSEEN, clean, clean_line
from copilog.view.wording import counted, timestamp_text


def render_page(template: str, /, **values: Any) -> str:
    """Return a template with its values."""
    return environment().get_template(template).render(values)


@cache
def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("copilog.render", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=harmless,
    )
    made.filters.update(FILTERS)
    return made


def styles_folder() -> Path:
    """Return the folder of the stylesheets: the viewer serves them, exported pages include them."""
    return Path(__file__).parent / "styles"


@cache
def stylesheet(*names: str) -> str:
    """Return stylesheets as one text, by their names without `.css`."""
    texts = [(styles_folder() / f"{name}.css").read_text(encoding="utf-8") for name in names]
    return "\n".join(texts).replace("\r\n", "\n")  # line ends as in a browser, for the same hash


@cache
def script(name: str) -> str:
    """Return a script of an exported page, by its name without `.js`."""
    path = Path(__file__).parent / "scripts" / f"{name}.js"
    return path.read_text(encoding="utf-8").replace("\r\n", "\n")


def harmless(value: Any) -> Any:
    """Return text without invisible characters and those that change its direction; line breaks stay."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return clean(UNSEEN.sub("\ufffd", value))
    return value


# --- filters --------------------------------------------------------------------------------------------------------


def moment(value: datetime | str | None) -> str:
    """Return local time to the minute, `2026-05-04 08:45`; a dash if it is unknown."""
    return amounts.moment(value.isoformat() if isinstance(value, datetime) else value)


def moment_to_the_second(value: datetime | str | None) -> str:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return amounts.shown(str(value), 40)
    return timestamp_text(value) if value is not None else amounts.NONE


def iso(value: datetime | str | None) -> str:
    """Return a time for the attribute of `<time>`."""
    if value is None:
        return ""
    return value.isoformat() if isinstance(value, datetime) else value


def folder_name(folder: str | None) -> str:
    """Return the last part of a path of any system."""
    name = (folder or "").rstrip("/\\").replace("\\", "/").rpartition("/")[2]
    return amounts.shown(name or folder or "")


def line(text: str | None, limit: int = 200) -> str:
    """Return text as one line, cut to a length."""
    return clean_line(text or "", limit)


FILTERS: dict[str, Callable[..., Any]] = {
    "moment": moment,
    "moment_seconds": moment_to_the_second,
    "iso": iso,
    "number": amounts.whole,
    "short_number": amounts.short,
    "decimal": amounts.decimal,
    "percent": amounts.percent,
    "dollars": amounts.dollars,
    "duration": amounts.duration,
    "bytes": amounts.size,
    "counted": counted,
    "folder_name": folder_name,
    "clean": harmless,
    "line": line,
}
