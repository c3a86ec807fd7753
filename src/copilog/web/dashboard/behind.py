"""A number in words, for the list of the conversations behind it."""

from __future__ import annotations

from copilog.render.report.amounts import shown

WORDS = {
    "vote": "Turns that were voted {}",
    "vote-reason": "Turns that were voted down: {}",
    "status": "Turns that ended {}",
    "retry": "Turns that asked the same again",
    "weekday": "Turns on a {}",
    "hour": "Turns that began between {0}:00 and {0}:59",
    "error": "Turns that failed with {}",
    "server": "Calls of the MCP server {}",
    "failed-tool": "Failed calls of {}",
    "program": "Calls of {} in a terminal",
    "denied": "Calls that were denied",
    "fate": "Edits that were {}",
}
FATES = {"undecided": "made and of which no more is known", "pending": "still pending", "changed": "changed afterwards"}


def words_of(what: str, value: str) -> str:
    value = FATES.get(value, value) if what == "fate" else value
    return WORDS[what].format(shown(value)) if what in WORDS else shown(what)
