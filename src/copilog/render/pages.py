"""The templates of pages: those of the viewer and those that are exported.

Everything that reaches a template as text is escaped, and loses what hides or turns the text around it; only what
`writers.html` has made is HTML. A name that a template does not know is an error, never an empty place.
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
from copilog.view.wording import counted, moment_words


def render_page(template: str, /, **values: Any) -> str:
    """A template with its values."""
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
    """Where the stylesheets are: the viewer serves them, exported pages hold them."""
    return Path(__file__).parent / "styles"


@cache
def stylesheet(*names: str) -> str:
    """Stylesheets as one text, by their names without `.css`."""
    texts = [(styles_folder() / f"{name}.css").read_text(encoding="utf-8") for name in names]
    return "\n".join(texts).replace("\r\n", "\n")  # as a browser reads it, so that a hash of it is the same


def harmless(value: Any) -> Any:
    """Text without characters that nobody sees or that turn its direction, line breaks kept; all else as it is."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return clean(UNSEEN.sub("\ufffd", value))
    return value


# --- filters --------------------------------------------------------------------------------------------------------


def moment(value: datetime | str | None) -> str:
    """Local time to the minute, `2026-05-04 08:45`; a dash where it is not known."""
    return amounts.moment(value.isoformat() if isinstance(value, datetime) else value)


def moment_to_the_second(value: datetime | str | None) -> str:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return amounts.shown(str(value), 40)
    return moment_words(value) if value is not None else amounts.NONE


def iso(value: datetime | str | None) -> str:
    """For the attribute of `<time>`."""
    if value is None:
        return ""
    return value.isoformat() if isinstance(value, datetime) else value


def folder_name(folder: str | None) -> str:
    """The last part of a path of any system."""
    name = (folder or "").rstrip("/\\").replace("\\", "/").rpartition("/")[2]
    return amounts.shown(name or folder or "")


def line(text: str | None, limit: int = 200) -> str:
    """Text as one line, cut to a length."""
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
