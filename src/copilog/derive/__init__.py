"""Draw conclusions from a conversation that many callers need. One function for each decision.

`conclude` runs once on a merged conversation and writes its conclusions into the model, so that every surface reads
the same ones. It may run again at any time: conclusions are drawn from recorded data, never from each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from copilog.lazy_names import names_on_first_use

if TYPE_CHECKING:
    from copilog.derive.agents import agent_key, agent_name, one_agent
    from copilog.derive.conclusions import conclude
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

_NAMES = {
    "copilog.derive.agents": ("agent_key", "agent_name", "one_agent"),
    "copilog.derive.conclusions": ("conclude",),
    "copilog.derive.counting": (
        "Placed", "ends_of", "has_nothing", "in_reading_order", "is_branched", "only_traces", "reason_of",
        "repeated_prompts", "superseded_indexes", "turns_before", "without_superseded",
    ),
    "copilog.derive.models": ("model_of",),
    "copilog.derive.outcomes": ("NOT_DONE", "add_verdict", "is_made"),
    "copilog.derive.running": ("may_still_run",),
    "copilog.derive.titles": ("add_title", "unite_titles"),
    "copilog.model": ("is_counted",),
}  # fmt: skip
__getattr__ = names_on_first_use(__name__, {name: module for module, names in _NAMES.items() for name in names})
