"""A number in words, for the list of the conversations behind it."""

from __future__ import annotations

from copilog.render.report.amounts import moment, shown

WORDS = {
    "turn": "Turns",
    "dated": "Turns on active days",
    "vote": "Turns that were voted {}",
    "vote-reason": "Turns that were voted down: {}",
    "status": "Turns that ended {}",
    "retry": "Turns that asked the same again",
    "weekday": "Turns on a {}",
    "hour": "Turns that began between {0}:00 and {0}:59",
    "error": "Turns that failed with {}",
    "elapsed": "Turns whose elapsed time is known",
    "working": "Turns whose working time is known",
    "waiting": "Turns that waited for a person",
    "parallel": "Turns at work at the same time, {}",
    "model": "Turns answered by {}",
    "failed-model": "Failed turns of {}",
    "no-model": "Turns of which no model was recorded",
    "switch": "Switches from {} to {}",
    "conflict": "Turns that asked for {} and were answered by {}",
    "agent": "Turns or runs of the {} {}",
    "failed-agent": "Failed turns or runs of the {} {}",
    "handover": "{} from {} to {}",
    "offered-skill": "Turns that were offered the skill {}",
    "loaded-skill": "Turns that loaded the skill {}",
    "call": "Calls of {}",
    "failed-call": "Failed calls of {}",
    "command-error": "Calls of {} whose command ended with an error",
    "timed-call": "Calls of {} whose time is known",
    "retried-call": "Calls of {} that tried again after a failure",
    "confirmation": "Calls of {1} that {0}",
    "server": "Calls of the MCP server {}",
    "failed-server": "Failed calls of the MCP server {}",
    "program": "Calls of {} in a terminal",
    "failed-program": "Failed calls of {} in a terminal",
    "command-error-program": "Calls of {} in a terminal that ended with an error",
    "sequence": "Calls one after another: {}",
    "edit": "Edits",
    "fate": "Edits that were {}",
    "file": "Edits of {}",
    "undone-file": "Edits of {} that were undone",
    "language": "Edits of files in {}",
    "spent": "Records of {}",
    "priced": "Records of tokens that have a price",
    "spent-by-model": "Records of what {} used",
    "origin": "Numbers from {}, {}",
}
# What stands where no names are given.
ANY = {
    "switch": ("one model", "another"),
    "call": ("any tool",),
    "failed-call": ("any tool",),
    "command-error": ("any tool",),
    "retried-call": ("any tool",),
    "confirmation": ("any tool",),
}
# What we call things by ourselves, in other words.
SAID = {
    "fate": {
        "undecided": "made and of which no more is known",
        "pending": "still pending",
        "changed": "changed afterwards",
    },
    "status": {"unknown": "in a way that nobody knows"},
    "agent": {"custom": "custom agent", "participant": "chat participant", "subagent": "sub-agent"},
    "failed-agent": {"custom": "custom agent", "participant": "chat participant", "subagent": "sub-agent"},
    "handover": {"switch": "Switches of agents", "subagent": "Sub-agents started,"},
    "confirmation": {
        "denied": "were denied",
        "automatic": "ran by themselves",
        "user": "a person confirmed",
        "unknown": "ran nobody knows by whose leave",
    },
    "spent": {
        "recorded": "tokens",
        "estimated": "tokens, estimated",
        "premium-requests": "premium requests",
        "credits": "AI credits",
    },
}


def words_of(what: str, *values: str) -> str:
    """The heading of such a list; the values are those that `conversations_behind` took."""
    if not values:
        return WORDS[what].format(*ANY.get(what, ()))
    if what == "sequence":
        return WORDS[what].format(" → ".join(shown(value, 60) for value in values))
    if what == "parallel":
        return WORDS[what].format(moment(values[0]))
    first = SAID.get(what, {}).get(values[0], values[0])
    named = [first, *values[1:]]
    if what == "confirmation" and len(values) == 1:
        named += ANY[what]
    return WORDS[what].format(*map(shown, named))
