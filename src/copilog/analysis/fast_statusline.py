"""The text of the status line, and a fast path to it without importing click, which parses all other command lines.

Importing click takes longer than everything the line needs. So `print_quickly` runs before that; for options that it
does not support, and on a terminal, it prints nothing and the command `copilog statusline` prints the line.
"""

from __future__ import annotations

import io
import os
import sqlite3
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from copilog.analysis.statusline import Month, Status, connect, last_scan, status_of, text_of, workspace_filter
from copilog.errors import UsageError
from copilog.store.config_file import config_path
from copilog.store.database import ArchiveError, archive_path

STALE = timedelta(days=1)
LONGEST_TITLE = 40
NOTHING = "-"  # in a template, for what was not recorded
SEPARATOR = " · "
SPREAD = "÷"  # after a number of which a part was recorded for several turns together
RED, YELLOW, PLAIN = "\x1b[31m", "\x1b[33m", "\x1b[0m"
ROUNDS_TO_ONE, ROUNDS_TO_TEN = 0.9995, 9.95
STEPS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


class Wishes(NamedTuple):
    """The options of the status line."""

    template: str | None = None
    workspace: str | None = None
    archive: Path | None = None
    as_json: bool = False
    in_colour: bool = False
    at: datetime | None = None  # instead of now
    since: datetime | None = None  # instead of the beginning of the day
    until: datetime | None = None
    conversations: str | None = None  # a JSON list: the numbers of the selected ones; None: all
    month: Month | None = None  # the plan in the config file
    utc: bool = False  # days and months are those of UTC, instead of the user's
    is_quick: bool = False  # on the fast path, before the command line is parsed


def print_quickly(arguments: list[str]) -> bool:
    """Print the line if the output is not a terminal and all options are simple; return whether it was printed."""
    wishes = _wishes_of(arguments)
    if wishes is None or sys.stdout.isatty() or os.environ.get("FORCE_COLOR"):
        return False
    try:
        line = line_for(wishes)
    except UsageError:  # the command reports it
        return False
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has closed the pipe; Python would report it again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True


def line_for(wishes: Wishes) -> str:
    """Return the line without a line break, or a line with the problem if the archive cannot be read."""
    now = wishes.at or datetime.now(UTC)
    archive = archive_path(wishes.archive)
    if wishes.template is not None:
        _filled(wishes.template, dict.fromkeys(FIELDS, ""))  # a wrong template is an error even without an archive
    try:
        connection = connect(archive)
        try:
            status = _status(connection, archive, wishes, now)
        finally:
            connection.close()
    except ArchiveError as error:
        return _excuse(str(error), wishes)
    except sqlite3.Error as error:
        is_damaged = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT
        return _excuse(f"the archive is {'damaged' if is_damaged else 'busy'}", wishes)
    except OSError:  # the current folder was removed
        return _excuse("this folder is gone", wishes)
    if wishes.is_quick and wishes.workspace is not None and status.conversation is None:
        raise UsageError("there may be no such workspace")
    if wishes.as_json:
        return _json({**status._asdict(), "problem": None})
    if wishes.template is not None:
        return _filled(wishes.template, texts_of(status, now))
    nothing = "no turns today" if wishes.since is None and wishes.until is None else "no turns then"
    return _usual_line(status, now, nothing, in_colour=wishes.in_colour)


def _excuse(problem: str, wishes: Wishes) -> str:
    return _json({"problem": problem}) if wishes.as_json else f"copilog: {problem}"


def _status(connection: sqlite3.Connection, archive: Path, wishes: Wishes, now: datetime) -> Status:
    scan = last_scan(archive)
    return status_of(
        connection,
        now,
        period=(wishes.since, wishes.until),
        conversations=wishes.conversations,
        is_wanted=workspace_filter(wishes.workspace) if wishes.workspace is not None else None,
        scanned_at=text_of(scan) if scan is not None else None,
        month=wishes.month or Month(),
        zone=UTC if wishes.utc else None,
    )


# --- arguments ------------------------------------------------------------------------------------------------------

_VALUES = {"--format": "template", "--workspace": "workspace", "-w": "workspace", "--archive": "archive", "--at": "at"}


def _wishes_of(arguments: list[str]) -> Wishes | None:
    """Parse the few options that are common in prompts; return None for any other option or a wrong value."""
    given: dict[str, str] = {}
    flags: set[str] = set()
    rest = iter(arguments)
    for argument in rest:
        option, has_value, value = argument.partition("=")
        if argument in ("--json", "--no-scan"):
            flags.add(argument)
        elif option in _VALUES and has_value and option.startswith("--"):
            given[_VALUES[option]] = value
        elif argument in _VALUES:
            following = next(rest, None)
            if following is None:
                return None
            given[_VALUES[argument]] = following
        else:
            return None
    archive, at, workspace = given.get("archive"), given.get("at"), given.get("workspace")
    if workspace is not None and ("*" in workspace or workspace.startswith("=")):
        return None
    try:
        moment = datetime.fromisoformat(at).astimezone() if at is not None else None
        month = _month_in_config()
    except ValueError:  # a date such as yesterday, or the config file has to be parsed
        return None
    return Wishes(
        template=given.get("template"),
        workspace=workspace,
        archive=Path(archive) if archive is not None else None,
        as_json="--json" in flags,
        at=moment,
        month=month,
        is_quick=True,
    )


def _month_in_config() -> Month:
    """Return an empty plan if the config file has none. Raise ValueError if it cannot be read or must be parsed.

    A file that COPILOG_CONFIG names but that does not exist raises ValueError, too.
    """
    path, why = config_path()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if why == "COPILOG_CONFIG":
            raise ValueError from None
        return Month()
    except OSError:
        raise ValueError from None
    if "budget" not in text and "billing" not in text:
        return Month()
    raise ValueError  # parsing it is slow, so the fast path has no advantage


# --- text -----------------------------------------------------------------------------------------------------------


def texts_of(status: Status, now: datetime) -> dict[str, str]:
    """Return the text of every field of a template."""
    mark = "~" if status.estimated_tokens_today else ""
    recorded = status.tokens_today - status.estimated_tokens_today
    folder = (status.workspace or "").replace("\\", "/").rstrip("/").rpartition("/")[2]
    return {
        "day": status.day,
        "conversations_today": str(status.conversations_today),
        "turns_today": str(status.turns_today),
        "failed_today": str(status.failed_today),
        "tokens_today": mark + short_number(status.tokens_today) + _spread(status.spread_tokens_today),
        "recorded_tokens_today": short_number(recorded) + _spread(status.spread_tokens_today),
        "estimated_tokens_today": mark + short_number(status.estimated_tokens_today),
        "least_tokens_today": (">=" if mark else "") + short_number(status.least_tokens_today),
        "premium_requests_today": _amount(status.premium_requests_today)
        + _spread(status.spread_premium_requests_today),
        "credits_today": _amount(status.credits_today) + _spread(status.spread_credits_today),
        "credits_conversation": _amount(status.credits_conversation),
        "credits_turn": _amount(status.credits_turn) + _spread(status.spread_credits_turn),
        "month_used": _least(status) + _amount(status.month_used) + _spread(status.spread_month),
        "month_budget": _amount(status.month_budget),
        "month_pace": _least(status) + _amount(_tenth(status.month_pace)),
        "month_forecast": _least(status) + _amount(_whole(status.month_forecast)),
        "month_days_left": NOTHING if status.month_days_left is None else str(status.month_days_left),
        "model": clean(status.model) or NOTHING,
        "title": _cut(clean(status.title)) or NOTHING,
        "workspace": clean(folder) or NOTHING,
        "conversation": clean(status.conversation) or NOTHING,
        "latest_age": _age(status.latest_at, now) or NOTHING,
        "scan_age": _age(status.scanned_at, now) or NOTHING,
        "stale": _stale(status, now),
    }


FIELDS = (
    "day", "conversations_today", "turns_today", "failed_today", "tokens_today", "recorded_tokens_today",
    "estimated_tokens_today", "least_tokens_today", "premium_requests_today", "credits_today", "credits_conversation",
    "credits_turn", "month_used", "month_budget", "month_pace", "month_forecast", "month_days_left", "model", "title",
    "workspace", "conversation", "latest_age", "scan_age", "stale",
)  # fmt: skip


def _usual_line(status: Status, now: datetime, nothing: str, *, in_colour: bool) -> str:
    """Return the default line, without figures that are 0 or unknown."""
    texts = texts_of(status, now)
    red, yellow, plain = (RED, YELLOW, PLAIN) if in_colour else ("", "", "")
    pieces = [_counted(status.turns_today, "turn") if status.turns_today else nothing]
    if status.conversations_today:
        pieces.append(_counted(status.conversations_today, "conversation"))
    if status.tokens_today:
        least = f" ({texts['least_tokens_today']})" if status.estimated_tokens_today else ""
        pieces.append(f"{texts['tokens_today']} tokens{least}")
    if status.premium_requests_today:
        pieces.append(f"{texts['premium_requests_today']} premium")
    if status.credits_today:
        pieces.append(f"{texts['credits_today']} credits")
    if status.month_budget is not None:
        pace, forecast = texts["month_pace"], texts["month_forecast"]
        pieces.append(f"month {texts['month_used']} of {texts['month_budget']}, {pace} a day, forecast {forecast}")
    if status.failed_today:
        pieces.append(f"{red}{status.failed_today} failed{plain}")
    if status.turns_today and status.model:
        pieces.append(texts["model"])
    if texts["stale"]:
        pieces.append(f"{yellow}{texts['stale']}{plain}")
    return SEPARATOR.join(pieces)


def _filled(template: str, texts: Mapping[str, str]) -> str:
    try:
        line = template.format_map(texts)
    except KeyError as error:
        known = ", ".join(FIELDS)
        raise UsageError(f"--format has no field {{{error.args[0]}}}; there are {known}") from None
    except (ValueError, IndexError, AttributeError, TypeError) as error:
        raise UsageError(f"--format cannot be filled in: {error}; write {{{{ and }}}} for braces") from None
    # A template may contain characters of an icon font, but no line breaks.
    return "".join(" " if sign in "\n\r\t\v\f\x85\u2028\u2029" else sign for sign in line if not _is_control(sign))


def _is_control(sign: str) -> bool:
    return (sign < " " and sign not in "\n\r\t\v\f") or "\x7f" <= sign <= "\x84" or "\x86" <= sign <= "\x9f"


def clean(text: str | None) -> str:
    """Return text of a transcript as one line, without control characters."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text or "").split())


def short_number(number: int) -> str:
    """Return a number with a unit prefix and few digits: 950, 1.2k, 48k, 3.4M."""
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        share = number / size
        if share >= ROUNDS_TO_ONE:
            return f"{share:.1f}{unit}" if share < ROUNDS_TO_TEN else f"{share:.0f}{unit}"
    return str(number)


def _amount(number: float | None) -> str:
    return NOTHING if number is None else f"{number:.2f}".rstrip("0").rstrip(".")


def _least(status: Status) -> str:
    """Return the prefix ">=" if a part of the month's usage has no record, else an empty text."""
    return ">=" if status.month_is_partial and status.month_used is not None else ""


def _spread(number: float | None) -> str:
    """Return the mark of a number of which a part is divided among several turns; empty without such a part."""
    return SPREAD if number else ""


def _tenth(number: float | None) -> float | None:
    return round(number, 1) if number is not None else None


def _whole(number: float | None) -> float | None:
    return round(number) if number is not None else None


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TITLE else text[: LONGEST_TITLE - 1] + "…"


def _stale(status: Status, now: datetime) -> str:
    """Return a text with the age of the last scan if that is a day or more, else an empty text."""
    if status.scanned_at is None or now - datetime.fromisoformat(status.scanned_at) < STALE:
        return ""
    return f"scanned {_age(status.scanned_at, now)} ago"


def _age(text: str | None, now: datetime) -> str:
    if text is None:
        return ""
    seconds = max(int((now - datetime.fromisoformat(text)).total_seconds()), 0)
    size, unit = next((step for step in STEPS if seconds >= step[0]), STEPS[-1])
    return f"{seconds // size}{unit}"


def _json(document: Mapping[str, object]) -> str:
    import json

    return json.dumps(document)  # in ASCII, so that it has no control characters for a terminal
