"""Names that readers write into a conversation, and that other modules look for."""

from __future__ import annotations

# `Usage.source`: the event of Copilot CLI that recorded it.
SHUTDOWN = "session.shutdown"
COMPACTION = "session.compaction_complete"
USAGE_RECORD = "session.usage_record"
# "covers" in the `extra` of a `Usage`: the part of a log that a total is of.
AFTER_SHUTDOWN = "after the last shutdown"
OF_KILLED_RUNS = "runs that were killed"
COPIED_BY_FORK = "the run that the fork copied"
# Keys in the `extra` of a turn, and of a history of edits.
LEFT_OUT = "left_out_of_later_prompts"
UNDONE_REQUESTS = "undoneRequests"
