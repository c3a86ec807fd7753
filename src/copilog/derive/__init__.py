"""Draw conclusions from a conversation that many callers need. One function for each decision.

`conclude` runs once on a merged conversation and writes its conclusions into the model, so that every surface reads
the same ones. It may run again at any time: conclusions are drawn from recorded data, never from each other.
"""

from copilog.derive.agents import agent_key, agent_name, one_agent
from copilog.derive.conclude import conclude
from copilog.derive.counting import (
    Placed,
    ends_of,
    has_nothing,
    in_reading_order,
    is_branched,
    only_traces,
    reason_of,
    repeated_prompts,
    superseded_indexes,
    turns_before,
    without_superseded,
)
from copilog.derive.models import model_of
from copilog.derive.outcomes import NOT_DONE, add_verdict, is_made
from copilog.derive.running import may_still_run
from copilog.derive.titles import add_title, unite_titles
from copilog.model import is_counted

__all__ = [
    "NOT_DONE",
    "Placed",
    "add_title",
    "add_verdict",
    "agent_key",
    "agent_name",
    "conclude",
    "ends_of",
    "has_nothing",
    "in_reading_order",
    "is_branched",
    "is_counted",
    "is_made",
    "may_still_run",
    "model_of",
    "one_agent",
    "only_traces",
    "reason_of",
    "repeated_prompts",
    "superseded_indexes",
    "turns_before",
    "unite_titles",
    "without_superseded",
]
